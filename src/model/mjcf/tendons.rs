//! `<tendon>`: fixed ones are read; spatial ones are checked to have no effect.

use super::Reader;
use super::values::Switch;
use super::xml::Element;
use crate::error::Result;
use crate::model::Tendon;

/// What an attribute that names a tendon refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// There is no such attribute.
    Nothing,
    /// A fixed tendon.
    Fixed(usize),
    /// A spatial tendon, or one that was left out.
    Other,
}

impl Found {
    pub fn fixed(self) -> Option<usize> {
        if let Self::Fixed(tendon) = self { Some(tendon) } else { None }
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
        let automatic = self.compiler.automatic_limits;
        let range = e.limit("range", "limited", automatic)?;
        let bounded = e.switch("actuatorfrclimited")? == Some(Switch::On)
            || e.limit("actuatorfrcrange", "actuatorfrclimited", automatic)?.is_some();
        let fixed = e.tag == "fixed";
        let acts = [
            ("armature", e.magnitude("armature")?.unwrap_or(0.0) > 0.0),
            ("actuatorfrcrange", bounded),
            ("a polynomial of stiffness", stiffens),
            ("a polynomial of damping", dampens),
            ("stiffness", !fixed && stiffness > 0.0),
            ("damping", !fixed && damping > 0.0),
            ("frictionloss", !fixed && friction_loss > 0.0),
            ("range", !fixed && range.is_some()),
        ];
        let acting: Vec<&str> = acts.iter().filter(|(_, acts)| *acts).map(|(name, _)| *name).collect();
        if !acting.is_empty() || !fixed {
            self.register("other tendon", 0, e)?;
            if acting.is_empty() {
                self.notes.add(e, "a spatial tendon without effect is not used");
                return Ok(());
            }
            let (kind, what) = (&e.tag, acting.join(", "));
            return self.notes.refuse(e, format!("{kind} tendons with {what} are not supported; use joint parameters"));
        }
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
        let slack = match e.list("springlength")?.as_deref() {
            None | Some([-1.0] | [-1.0, -1.0]) => {
                let at_rest = |&(joint, c): &(usize, f64)| {
                    self.builder.model.joints.get(joint).map_or(0.0, |joint| c * joint.spring_reference)
                };
                [joints.iter().map(at_rest).sum(); 2]
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
            ..Tendon::new(joints)
        };
        let index = self.builder.add_tendon(tendon);
        self.register("tendon", index, e)
    }

    /// The tendon that an attribute names.
    pub(super) fn find_tendon(&self, e: &Element, attribute: &str) -> Result<Found> {
        let other = |name: &str| self.names.contains_key(&("other tendon", name.to_owned()));
        Ok(match e.attribute(attribute) {
            Some(name) if other(name) => Found::Other,
            _ => self.find(e, attribute, "tendon")?.map_or(Found::Nothing, Found::Fixed),
        })
    }
}
