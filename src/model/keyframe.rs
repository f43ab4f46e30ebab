//! Named states, and poses of mocap bodies.

use super::Model;
use nalgebra::{Quaternion, UnitQuaternion, Vector3};
use std::borrow::Cow;

/// Numbers of a pose: position (m) and orientation (w x y z).
pub(crate) const POSE_LEN: usize = 7;

/// A named state.
#[derive(Debug, Clone)]
pub struct Keyframe {
    /// Name; empty if it has none.
    pub name: String,
    /// Time, s.
    pub time: f64,
    /// Position, shape nq.
    pub q: Vec<f64>,
    /// Velocity, shape nv.
    pub v: Vec<f64>,
    /// Control, shape nu.
    pub control: Vec<f64>,
    /// Activation, shape na.
    pub activation: Vec<f64>,
    /// Poses of the mocap bodies, see [`Parameter::MocapPose`](crate::worlds::Parameter::MocapPose), shape \[mocap body\]\[7\].
    pub mocap_pose: Vec<f64>,
}

impl Keyframe {
    /// `model` with its mocap bodies where this state has them.
    pub fn placed<'a>(&self, model: &'a Model) -> Cow<'a, Model> {
        if self.mocap_pose == model.mocap_rest() {
            return Cow::Borrowed(model);
        }
        let mut placed = model.clone();
        for (body, own) in model.mocap_bodies().into_iter().zip(self.mocap_pose.as_chunks().0) {
            (placed.bodies[body].position, placed.bodies[body].orientation) = pose(own);
        }
        Cow::Owned(placed)
    }
}

impl Model {
    /// The mocap bodies, ascending.
    pub(crate) fn mocap_bodies(&self) -> Vec<usize> {
        (0..self.bodies.len()).filter(|b| self.bodies[*b].mocap).collect()
    }

    /// Where the file puts them, shape `[mocap body][POSE_LEN]`.
    pub(crate) fn mocap_rest(&self) -> Vec<f64> {
        let pose = |b: usize| {
            let (p, q) = (self.bodies[b].position, self.bodies[b].orientation);
            [p.x, p.y, p.z, q.w, q.i, q.j, q.k]
        };
        self.mocap_bodies().into_iter().flat_map(pose).collect()
    }
}

/// Position (m) and orientation, made of unit length.
pub(crate) fn pose([x, y, z, w, i, j, k]: &[f64; POSE_LEN]) -> (Vector3<f64>, UnitQuaternion<f64>) {
    (Vector3::new(*x, *y, *z), UnitQuaternion::from_quaternion(Quaternion::new(*w, *i, *j, *k)))
}
