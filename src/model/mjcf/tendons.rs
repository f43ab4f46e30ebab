//! `<tendon>`: fixed and spatial ones.

use super::Reader;
use super::values::Switch;
use super::xml::Element;
use crate::error::Result;
use crate::model::{Tendon, Waypoint};

/// What an attribute that names a tendon refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// There is no such attribute.
    Nothing,
    /// A tendon.
    Tendon(usize),
    /// One that was left out.
    Other,
}

impl Found {
    pub fn tendon(self) -> Option<usize> {
        if let Self::Tendon(tendon) = self { Some(tendon) } else { None }
    }
}

impl Reader {
    pub fn read_tendon(&mut self, e: &Element) -> Result<()> {
        let path = &e.children;
        let e = &self.defaults.complete(e, "tendon", "main")?;
        // MuJoCo's further coefficients are those of higher powers.
        let first = |name: &str| -> Result<(f64, bool)> {
            let list = e.list(name)?.unwrap_or_default();
            match list.first() {
                Some(x) if *x < 0.0 => Err(e.error(format!("attribute \"{name}\" is {x}; it must not be negative"))),
                x => Ok((x.copied().unwrap_or(0.0), list.iter().skip(1).any(|x| *x != 0.0))),
            }
        };
        let ((stiffness, stiffens), (damping, dampens)) = (first("stiffness")?, first("damping")?);
        let friction_loss = e.magnitude("frictionloss")?.unwrap_or(0.0);
        let automatic = self.compiler(e).automatic_limits;
        let range = e.limit("range", "limited", automatic)?;
        let bounded = e.switch("actuatorfrclimited")? == Some(Switch::On)
            || e.limit("actuatorfrcrange", "actuatorfrclimited", automatic)?.is_some();
        let acts = [
            ("armature", e.magnitude("armature")?.unwrap_or(0.0) > 0.0),
            ("actuatorfrcrange", bounded),
            ("a polynomial of stiffness", stiffens),
            ("a polynomial of damping", dampens),
        ];
        let acting: Vec<&str> = acts.iter().filter(|(_, acts)| *acts).map(|(name, _)| *name).collect();
        if !acting.is_empty() {
            self.register("other tendon", 0, e)?;
            let (kind, what) = (&e.tag, acting.join(", "));
            return self.notes.refuse(e, format!("{kind} tendons with {what} are not supported; use joint parameters"));
        }
        let tendon = if e.tag == "spatial" {
            Tendon::along(self.read_path(e, path)?)
        } else {
            Tendon::new(self.read_coefficients(path)?)
        };
        let slack = match e.list("springlength")?.as_deref() {
            None | Some([-1.0] | [-1.0, -1.0]) => {
                let at_rest = |&(joint, c): &(usize, f64)| {
                    self.builder.model.joints.get(joint).map_or(0.0, |joint| c * joint.spring_reference)
                };
                // that of a path is found when the model is whole
                if tendon.joints.is_empty() {
                    self.slack_at_rest.push(self.builder.model.tendons.len());
                }
                [tendon.joints.iter().map(at_rest).sum(); 2]
            }
            Some(&[length]) => [length; 2],
            Some(&[low, high]) => [low, high],
            Some(_) => return Err(e.error("attribute \"springlength\" needs one or two numbers")),
        };
        let tendon = Tendon {
            name: e.name().into(),
            range,
            limit_margin: e.magnitude("margin")?.unwrap_or(0.0),
            limit_softness: e.softness("solreflimit", "solimplimit")?,
            stiffness,
            slack,
            damping,
            friction_loss,
            friction_softness: e.softness("solreffriction", "solimpfriction")?,
            ..tendon
        };
        let index = self.builder.add_tendon(tendon);
        self.register("tendon", index, e)
    }

    /// The joints of a fixed tendon, with their coefficients.
    fn read_coefficients(&self, path: &[Element]) -> Result<Vec<(usize, f64)>> {
        let mut joints: Vec<(usize, f64)> = Vec::with_capacity(path.len());
        for part in path {
            let (joint, c) = (self.find_required(part, "joint", "joint")?, part.number("coef")?);
            let c = c.ok_or_else(|| part.error("needs the attribute \"coef\""))?;
            // as in MuJoCo, what stands there twice counts twice
            match joints.iter_mut().find(|(other, _)| *other == joint) {
                Some((_, sum)) => *sum += c,
                None => joints.push((joint, c)),
            }
        }
        Ok(joints)
    }

    /// The path of a spatial tendon.
    fn read_path(&self, e: &Element, path: &[Element]) -> Result<Vec<Waypoint>> {
        if path.is_empty() {
            return Err(e.error("needs a path of sites, of geoms to go around, and of pulleys"));
        }
        let part = |part: &Element| {
            Ok(match part.tag.as_str() {
                "site" => Waypoint::Site(self.find_required(part, "site", "site")?),
                "geom" => Waypoint::Around {
                    geom: self.find_required(part, "geom", "geom")?,
                    side: self.find(part, "sidesite", "site")?,
                },
                "pulley" => {
                    let divisor = part.number("divisor")?;
                    Waypoint::Pulley(divisor.ok_or_else(|| part.error("needs the attribute \"divisor\""))?)
                }
                _ => return Err(part.error("is not part of a path")),
            })
        };
        path.iter().map(part).collect()
    }

    /// The tendon that an attribute names.
    pub(super) fn find_tendon(&self, e: &Element, attribute: &str) -> Result<Found> {
        let other = |name: &str| self.names.contains_key(&("other tendon", name.to_owned()));
        Ok(match e.attribute(attribute) {
            Some(name) if other(name) => Found::Other,
            _ => self.find(e, attribute, "tendon")?.map_or(Found::Nothing, Found::Tendon),
        })
    }
}
