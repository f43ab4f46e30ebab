//! Keyframes and custom numbers.

use super::Reader;
use super::attach::{Indices, is_attached};
use super::values::parse_numbers;
use super::xml::Element;
use crate::error::Result;
use crate::model::{JointKind, Keyframe, Model, POSE_LEN};
use nalgebra::UnitQuaternion;

/// Custom numbers with this prefix set the restitution of the geom that follows.
const RESTITUTION: &str = "restitution:";
/// Those with this one its friction ellipsoid.
const ELLIPSOID: &str = "ellipsoid:";

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

    /// Poses of the mocap bodies in a state; what it does not give is as at rest.
    fn mocap_pose(e: &Element, model: &Model) -> Result<Vec<f64>> {
        let mut poses = model.mocap_rest();
        let count = poses.len() / POSE_LEN;
        for (name, start, size) in [("mpos", 0, 3), ("mquat", 3, 4)] {
            let Some(values) = e.list(name)?.filter(|values| !values.is_empty()) else { continue };
            if values.len() != size * count {
                return Err(e.error(format!(
                    "\"{name}\" has {} numbers, the model needs {}",
                    values.len(),
                    size * count
                )));
            }
            for (pose, own) in poses.chunks_exact_mut(POSE_LEN).zip(values.chunks_exact(size)) {
                pose[start..start + size].copy_from_slice(own);
            }
        }
        for pose in poses.as_chunks_mut::<POSE_LEN>().0 {
            let given = [pose[3], pose[4], pose[5], pose[6]];
            if is_unsaid(given) {
                pose[3] = 1.0;
            } else {
                e.unit_quaternion("mquat", given)?;
            }
        }
        Ok(poses)
    }

    /// A named state of the finished model; what it does not give is as at rest. None: it is of a file of which a part is attached without the rest.
    pub fn read_key(&mut self, e: &Element, at: &Indices, model: &Model) -> Result<Option<Keyframe>> {
        let numbers = [("qpos", &at.q), ("qvel", &at.v), ("ctrl", &at.control), ("act", &at.activation)];
        let mut fits = true;
        for (name, places) in numbers {
            fits &= e.list(name)?.is_none_or(|values| values.len() == places.len());
        }
        let moves = e.attribute("mpos").or(e.attribute("mquat")).is_some();
        if is_attached(e) && (!fits || moves) {
            self.notes.add(e, "left out: it is of more than is attached, or poses mocap bodies");
            return Ok(None);
        }
        let values = |name: &str, places: &[usize], mut rest: Vec<f64>| -> Result<Vec<f64>> {
            let Some(values) = e.list(name)? else { return Ok(rest) };
            if values.len() != places.len() {
                let needed = places.len();
                return Err(e.error(format!("\"{name}\" has {} numbers, the model needs {needed}", values.len())));
            }
            for (value, &place) in values.iter().zip(places) {
                rest[place] = *value;
            }
            Ok(rest)
        };
        let mut q = values("qpos", &at.q, model.q0.clone())?;
        for joint in &model.joints {
            let start = match joint.kind {
                JointKind::Free => joint.q_start + 3,
                JointKind::Ball => joint.q_start,
                JointKind::Hinge | JointKind::Slide => continue,
            };
            let given = [q[start], q[start + 1], q[start + 2], q[start + 3]];
            let orientation =
                if is_unsaid(given) { UnitQuaternion::identity() } else { e.unit_quaternion("qpos", given)? };
            q[start..start + 4].copy_from_slice(&[orientation.w, orientation.i, orientation.j, orientation.k]);
        }
        Ok(Some(Keyframe {
            name: e.name().into(),
            time: e.number("time")?.unwrap_or(0.0),
            q,
            v: values("qvel", &at.v, vec![0.0; model.nv()])?,
            control: values("ctrl", &at.control, vec![0.0; model.nu()])?,
            activation: values("act", &at.activation, vec![0.0; model.na()])?,
            mocap_pose: Self::mocap_pose(e, model)?,
        }))
    }
}

/// Whether nothing is said of a turn of a state, which is none then, as in MuJoCo.
fn is_unsaid(quaternion: [f64; 4]) -> bool {
    quaternion.iter().all(|x| x.abs() < 1e-15)
}
