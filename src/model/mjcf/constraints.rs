//! Contact pairs and exclusions, and equality constraints.

use super::Reader;
use super::tendons::Found;
use super::xml::Element;
use crate::error::Result;
use crate::model::{CollisionPair, Equality, EqualityKind, PairFriction, Site, check, pairs};
use nalgebra::Vector3;

impl Reader {
    /// `<pair>` or `<exclude>`. `weld`: what every body is welded to, see [`pairs::welds`].
    pub fn read_contact(&mut self, e: &Element, weld: &[usize]) -> Result<()> {
        if e.tag == "exclude" {
            let bodies = (self.find_required(e, "body1", "body")?, self.find_required(e, "body2", "body")?);
            self.builder.exclude(bodies.0, bodies.1);
            return Ok(());
        }
        let e = &self.defaults.complete(e, "pair", "main")?;
        let (a, b) = (self.find_required(e, "geom1", "geom")?, self.find_required(e, "geom2", "geom")?);
        // Two sliding, one torsional and two rolling coefficients.
        let friction = e.leading_numbers("friction", [1.0, 1.0, 0.005, 0.0001, 0.0001])?;
        if friction.iter().any(|x| *x < 0.0) {
            return Err(e.error("friction must not be negative"));
        }
        if friction[0] != friction[1] {
            self.notes.differs(e, "the two sliding coefficients differ: the first is used along both tangents");
        }
        // What a pair does not say is as in MuJoCo: its own defaults, nothing of the geoms'. Restitution, which MJCF lacks, is the geoms'.
        let condim = self.condim(e)?.unwrap_or(3);
        let geoms = &self.builder.model.geoms;
        if weld[geoms[a].body] == weld[geoms[b].body] {
            self.notes.add(e, "left out: its geoms are of one body, or of bodies that are welded together, and nothing moves between them");
        }
        let pair = CollisionPair {
            friction: PairFriction::Fixed(friction[0]),
            condim,
            ellipsoid: None,
            torsion: (condim > 3).then_some(friction[2]),
            rolling: (condim > 4).then_some([friction[3], friction[4]]),
            margin: e.magnitude("margin")?.unwrap_or(0.0),
            gap: e.magnitude("gap")?.unwrap_or(0.0),
            softness: e.softness("solref", "solimp")?,
            ..pairs::mix(a, b, &geoms[a], &geoms[b])
        };
        self.places.insert(format!("contact pair ({a}, {b})"), e.place());
        self.builder.add_pair(pair);
        Ok(())
    }

    /// `<connect>`, `<weld>`, `<joint>` or `<tendon>`.
    pub fn read_equality(&mut self, e: &Element) -> Result<()> {
        let e = &self.defaults.complete(e, "equality", "main")?;
        let kind = match e.tag.as_str() {
            "joint" => EqualityKind::Joint {
                joint_a: self.find_required(e, "joint1", "joint")?,
                joint_b: self.find(e, "joint2", "joint")?,
                polynomial: e.leading_numbers("polycoef", [0.0, 1.0, 0.0, 0.0, 0.0])?,
            },
            "tendon" => {
                let polynomial = e.leading_numbers("polycoef", [0.0, 1.0, 0.0, 0.0, 0.0])?;
                let tendon_b = self.find_tendon(e, "tendon2")?;
                match self.find_tendon(e, "tendon1")? {
                    Found::Tendon(tendon_a) if !matches!(tendon_b, Found::Other) => {
                        EqualityKind::Tendon { tendon_a, tendon_b: tendon_b.tendon(), polynomial }
                    }
                    Found::Nothing => return Err(e.error("needs the attribute \"tendon1\", the name of a tendon")),
                    _ => return self.notes.refuse(e, "names a tendon that is not supported"),
                }
            }
            "connect" => self.connect(e)?,
            _ => self.weld(e)?,
        };
        let active = e.boolean("active")?.unwrap_or(true);
        let softness = e.softness("solref", "solimp")?;
        let index = self.builder.add_equality(Equality { name: e.name().into(), kind, active, softness });
        self.places.insert(check::label("equality", index, e.name()), e.place());
        Ok(())
    }

    fn connect(&self, e: &Element) -> Result<EqualityKind> {
        if let Some([a, b]) = self.site_pair(e, &["body1", "body2", "anchor"])? {
            let (anchor, anchor_b) = (a.position, Some(b.position));
            return Ok(EqualityKind::Connect { body_a: a.body, body_b: b.body, anchor, anchor_b });
        }
        let (body_a, body_b) = self.body_pair(e)?;
        let anchor = e.vector("anchor")?.ok_or_else(|| e.error("needs the attribute \"anchor\""))?;
        Ok(EqualityKind::Connect { body_a, body_b, anchor, anchor_b: None })
    }

    fn weld(&mut self, e: &Element) -> Result<EqualityKind> {
        if e.number("torquescale")?.is_some_and(|scale| scale != 1.0) {
            self.notes.differs(
                e,
                "torquescale is taken to be 1: with soft constraints it would weigh turning against moving",
            );
        }
        if let Some([a, b]) = self.site_pair(e, &["body1", "body2", "anchor", "relpose"])? {
            // where b is in a when the frames of the sites are one
            let turn = a.orientation * b.orientation.inverse();
            let relative = Some((a.position - turn * b.position, turn));
            return Ok(EqualityKind::Weld { body_a: a.body, body_b: b.body, anchor: b.position, relative });
        }
        let (body_a, body_b) = self.body_pair(e)?;
        let relative = e.numbers::<7>("relpose")?.unwrap_or([0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let [x, y, z, quaternion @ ..] = relative;
        // MJCF's default, a zero quaternion, stands for the pose at rest.
        let relative = if quaternion == [0.0; 4] {
            None
        } else {
            Some((Vector3::new(x, y, z), e.unit_quaternion("relpose", quaternion)?))
        };
        Ok(EqualityKind::Weld { body_a, body_b, anchor: e.vector("anchor")?.unwrap_or_default(), relative })
    }

    /// The two sites that a constraint ties together, if it names sites; then nothing of `others` goes with them.
    fn site_pair(&self, e: &Element, others: &[&str]) -> Result<Option<[&Site; 2]>> {
        if e.attribute("site1").or(e.attribute("site2")).is_none() {
            return Ok(None);
        }
        if let Some(other) = others.iter().find(|other| e.attribute(other).is_some()) {
            return Err(
                e.error(format!("names sites, and so \"{other}\" does not go with it; remove it, or the sites"))
            );
        }
        let sites = [self.find_required(e, "site1", "site")?, self.find_required(e, "site2", "site")?];
        Ok(Some(sites.map(|site| &self.builder.model.sites[site])))
    }

    /// The two bodies; the world, if only one is named.
    fn body_pair(&self, e: &Element) -> Result<(usize, usize)> {
        let body_a = self.find(e, "body1", "body")?;
        let body_a = body_a.ok_or_else(|| e.error("needs the attributes \"body1\", or \"site1\" and \"site2\""))?;
        Ok((body_a, self.find(e, "body2", "body")?.unwrap_or(0)))
    }
}
