//! Mocap bodies: no force moves them; where they are is said from outside, world by world ([`Parameter::MocapPose`](crate::worlds::Parameter::MocapPose)).

use crate::lane::Real;
use crate::model::{Model, POSE_LEN, pose};
use crate::spatial::{Mat3, Pose, Quat, vec3};
use nalgebra::{UnitQuaternion, Vector3};

/// The mocap bodies of a model, what is fixed to them, and how they are turned.
#[derive(Debug, Clone)]
pub(crate) struct Mocap<R> {
    /// The mocap bodies, ascending.
    bodies: Vec<usize>,
    /// These and all bodies without joints that hang from them, ascending.
    carried: Vec<usize>,
    /// The geoms of those.
    geoms: Vec<usize>,
    /// Orientation of every mocap body, shape \[mocap body\].
    orientation: Vec<Quat<R>>,
}

impl<R: Real> Mocap<R> {
    /// Of `model`, where its file puts them.
    pub fn new(model: &Model) -> Self {
        let (bodies, is_carried) = (model.mocap_bodies(), is_carried(model));
        Self {
            carried: (0..is_carried.len()).filter(|b| is_carried[*b]).collect(),
            geoms: (0..model.geoms.len()).filter(|g| is_carried[model.geoms[*g].body]).collect(),
            orientation: bodies.iter().map(|b| Quat::constant(&model.bodies[*b].orientation)).collect(),
            bodies,
        }
    }

    /// Orientation of a mocap body; none of another body.
    #[inline(always)]
    pub fn orientation_of(&self, body: usize) -> Option<Quat<R>> {
        self.bodies.iter().position(|b| *b == body).map(|k| self.orientation[k])
    }

    /// Puts the mocap bodies of a tile, and what is fixed to them, where `numbers` say: see [`completed`]. `body`, `geom`: poses, shapes \[body\] and \[geom\].
    #[inline(always)]
    pub fn place(&mut self, numbers: &[R], body: &mut [Pose<R>], geom: &mut [Pose<R>]) {
        let mut at = POSE_LEN * self.bodies.len();
        for q in &mut self.orientation {
            *q = Quat { w: numbers[at], v: vec3(numbers[at + 1], numbers[at + 2], numbers[at + 3]) };
            at += 4;
        }
        for (moved, poses) in [(&self.carried, body), (&self.geoms, geom)] {
            for &i in moved {
                let triple = |k: usize| vec3(numbers[at + k], numbers[at + k + 1], numbers[at + k + 2]);
                poses[i] = Pose { position: triple(0), rotation: Mat3 { columns: [triple(3), triple(6), triple(9)] } };
                at += 12;
            }
        }
    }
}

/// Where something at `position` (m) in a frame, turned against it, is in the world: of what does not move, exactly in f64.
pub(crate) fn placed(
    (p, r): (Vector3<f64>, UnitQuaternion<f64>),
    position: &Vector3<f64>,
    orientation: &UnitQuaternion<f64>,
) -> (Vector3<f64>, UnitQuaternion<f64>) {
    (p + r * position, r * orientation)
}

/// Whether a body is a mocap body, or has no joints and hangs from one, shape \[body\].
pub(crate) fn is_carried(model: &Model) -> Vec<bool> {
    let mut is_carried = vec![false; model.bodies.len()];
    for (b, body) in model.bodies.iter().enumerate().skip(1) {
        is_carried[b] = body.mocap || body.tree.is_none() && is_carried[body.parent];
    }
    is_carried
}

/// Poses of mocap bodies, shape `[mocap body][POSE_LEN]`, and what follows of them, found in f64 so that a world that stays at rest has the constants of the model:
/// orientations of unit length, shape `[mocap body][4]`; position (m) and rotation matrix by columns of all bodies that they carry, and of the geoms of those, shape \[12\] each.
pub(crate) fn completed(model: &Model, values: &[f64]) -> Vec<f64> {
    let mocap = Mocap::<f64>::new(model);
    let mut all = values.to_vec();
    let mut poses = vec![(Vector3::zeros(), UnitQuaternion::identity()); model.bodies.len()];
    for (&b, x) in mocap.bodies.iter().zip(values.as_chunks::<POSE_LEN>().0) {
        let own = model.bodies[b].orientation;
        let (position, turn) = pose(x);
        // what has unit length to rounding stays as it is
        let turn = if x[3..] == [own.w, own.i, own.j, own.k] { own } else { turn };
        poses[b] = (position, turn);
        all.extend([turn.w, turn.i, turn.j, turn.k]);
    }
    let mut add = |(p, r): (Vector3<f64>, UnitQuaternion<f64>)| {
        all.extend_from_slice(p.as_slice());
        all.extend_from_slice(r.to_rotation_matrix().matrix().as_slice());
    };
    for &b in &mocap.carried {
        let body = &model.bodies[b];
        if !body.mocap {
            poses[b] = placed(poses[body.parent], &body.position, &body.orientation);
        }
        add(poses[b]);
    }
    for geom in mocap.geoms.iter().map(|g| &model.geoms[*g]) {
        add(placed(poses[geom.body], &geom.position, &geom.orientation));
    }
    all
}
