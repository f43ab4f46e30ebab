//! Keyframes and custom numbers.

use super::Reader;
use super::values::parse_numbers;
use super::xml::Element;
use crate::error::Result;
use crate::model::{JointKind, Keyframe, Model};

/// Custom numbers with this prefix set the restitution of the geom that follows.
const RESTITUTION: &str = "restitution:";
/// Those with this one its friction ellipsoid.
const ELLIPSOID: &str = "ellipsoid:";
/// A mocap body is where the file puts it if it is no farther away, m and rad: files are written with six digits.
const MOCAP_REST: f64 = 1e-6;

impl Reader {
    /// `<numeric name="restitution:GEOM" data="e"/>` sets the restitution of a geom, `<numeric name="ellipsoid:GEOM" data="e_t e_o e_r"/>` its friction ellipsoid
    /// (e_r in m); other numbers are the user's own.
    pub fn read_custom(&mut self, parts: &[&Element]) -> Result<()> {
        for e in parts {
            let find = |geom: &str| {
                let index = self.names.get(&("geom", geom.to_owned())).copied();
                index.ok_or_else(|| e.error(format!("there is no geom called \"{geom}\"")))
            };
            let numbers = parse_numbers(e.attribute("data").unwrap_or(""));
            if let Some(geom) = e.name().strip_prefix(ELLIPSOID) {
                let index = find(geom)?;
                let ellipsoid = match numbers.as_deref() {
                    Ok(&[t, o, r]) if [t, o, r].iter().all(|e| *e >= 0.0 && e.is_finite()) => [t, o, r],
                    _ => return Err(e.error("an ellipsoid needs e_t, e_o and e_r (m), none negative, in \"data\"")),
                };
                self.builder.model.geoms[index].ellipsoid = Some(ellipsoid);
                continue;
            }
            let Some(geom) = e.name().strip_prefix(RESTITUTION) else { continue };
            let index = find(geom)?;
            let restitution = match numbers.as_deref() {
                Ok(&[restitution]) if (0.0..=1.0).contains(&restitution) => restitution,
                _ => return Err(e.error("restitution needs one number from 0 (no bounce) to 1 (no loss) in \"data\"")),
            };
            self.builder.model.geoms[index].restitution = Some(restitution);
        }
        Ok(())
    }

    /// Refuses a state in which mocap bodies are not where they stay.
    fn check_mocap(&mut self, e: &Element, model: &Model) -> Result<()> {
        let bodies = self.mocap.iter().map(|&body| &model.bodies[body]);
        let positions: Vec<f64> = bodies.clone().flat_map(|body| body.position.iter().copied()).collect();
        for (name, needed) in [("mpos", positions.len()), ("mquat", 4 * self.mocap.len())] {
            let Some(values) = e.list(name)?.filter(|values| !values.is_empty()) else { continue };
            if values.len() != needed {
                return Err(e.error(format!("\"{name}\" has {} numbers, the model needs {needed}", values.len())));
            }
            let same = if name == "mpos" {
                values.iter().zip(&positions).all(|(a, b)| (a - b).abs() <= MOCAP_REST)
            } else {
                let mut same = true;
                for (body, q) in bodies.clone().zip(values.as_chunks::<4>().0) {
                    same &= e.unit_quaternion(name, *q)?.angle_to(&body.orientation) <= MOCAP_REST;
                }
                same
            };
            if !same {
                self.notes.refuse(
                    e,
                    format!("\"{name}\" moves a mocap body, and those start where the file puts them; move the body, or set mocap_pose"),
                )?;
            }
        }
        Ok(())
    }

    /// A named state of the finished model; what it does not give is as at rest.
    pub fn read_key(&mut self, e: &Element, model: &Model) -> Result<Keyframe> {
        self.check_mocap(e, model)?;
        let values = |name: &str, rest: Vec<f64>| -> Result<Vec<f64>> {
            match e.list(name)? {
                Some(values) if values.len() == rest.len() => Ok(values),
                Some(values) => {
                    Err(e.error(format!("\"{name}\" has {} numbers, the model needs {}", values.len(), rest.len())))
                }
                None => Ok(rest),
            }
        };
        let mut q = values("qpos", model.q0.clone())?;
        for joint in &model.joints {
            let start = match joint.kind {
                JointKind::Free => joint.q_start + 3,
                JointKind::Ball => joint.q_start,
                JointKind::Hinge | JointKind::Slide => continue,
            };
            let orientation = e.unit_quaternion("qpos", [q[start], q[start + 1], q[start + 2], q[start + 3]])?;
            q[start..start + 4].copy_from_slice(&[orientation.w, orientation.i, orientation.j, orientation.k]);
        }
        Ok(Keyframe {
            name: e.name().into(),
            time: e.number("time")?.unwrap_or(0.0),
            q,
            v: values("qvel", vec![0.0; model.nv()])?,
            control: values("ctrl", vec![0.0; model.nu()])?,
            activation: values("act", vec![0.0; model.na()])?,
        })
    }
}
