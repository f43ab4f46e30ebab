//! Stage 1, `kinematics`: body poses, joint axes and geom poses from q.
//!
//! Everything is in world axes. Spatial quantities of a tree refer to the point O of the tree: the origin of its root body.

use crate::lane::Real;
use crate::model::{JointKind, Model};
use crate::spatial::{Motion, Pose, Quat, Vec3, vec3};

/// What `kinematics` computes, for one tile of worlds.
#[derive(Debug, Clone)]
pub struct Kinematics<R> {
    /// World pose of every body, shape \[body\].
    pub body_pose: Vec<Pose<R>>,
    /// Orientation of every body, shape \[body\].
    pub body_quat: Vec<Quat<R>>,
    /// World pose of every geom, shape \[geom\].
    pub geom_pose: Vec<Pose<R>>,
    /// Motion subspace S about O of the tree: the spatial velocity per unit of every entry of v, shape \[nv\].
    pub motion_subspace: Vec<Motion<R>>,
    /// Reference point O of every tree, m, shape \[tree\].
    pub reference: Vec<Vec3<R>>,
    /// Anchor of every joint, m, shape \[joint\].
    anchor: Vec<Vec3<R>>,
    /// Axis of every joint, shape \[joint\].
    axis: Vec<Vec3<R>>,
}

impl<R: Real> Kinematics<R> {
    /// Room for `model`; the poses of everything that cannot move are filled here, once.
    pub fn new(model: &Model) -> Self {
        let mut k = Self {
            body_pose: vec![Pose::identity(); model.bodies.len()],
            body_quat: vec![Quat::constant(&nalgebra::UnitQuaternion::identity()); model.bodies.len()],
            geom_pose: vec![Pose::identity(); model.geoms.len()],
            motion_subspace: vec![Motion::zero(); model.nv()],
            reference: vec![Vec3::zero(); model.trees.len()],
            anchor: vec![Vec3::zero(); model.joints.len()],
            axis: vec![Vec3::zero(); model.joints.len()],
        };
        // Exactly, in f64, and rounded once.
        let mut poses = vec![(nalgebra::Vector3::zeros(), nalgebra::UnitQuaternion::identity()); model.bodies.len()];
        for (b, body) in model.bodies.iter().enumerate().skip(1) {
            let (p, r) = poses[body.parent];
            poses[b] = (p + r * body.position, r * body.orientation);
            k.body_quat[b] = Quat::constant(&poses[b].1);
            k.body_pose[b] = Pose { position: Vec3::constant(&poses[b].0), rotation: k.body_quat[b].matrix() };
        }
        for (g, geom) in model.geoms.iter().enumerate() {
            let (p, r) = poses[geom.body];
            k.geom_pose[g] = Pose {
                position: Vec3::constant(&(p + r * geom.position)),
                rotation: Quat::constant(&(r * geom.orientation)).matrix(),
            };
        }
        k
    }
}

/// The three numbers from `start`.
#[inline(always)]
pub fn triple<R: Real>(x: &[R], start: usize) -> Vec3<R> {
    vec3(x[start], x[start + 1], x[start + 2])
}

/// The quaternion w x y z from `start`, normalised.
#[inline(always)]
pub fn quaternion<R: Real>(x: &[R], start: usize) -> Quat<R> {
    Quat { w: x[start], v: triple(x, start + 1) }.normalized()
}

/// The rotation vector (axis times angle, rad) of a unit quaternion, angle in [0, π].
#[inline(always)]
pub fn rotation_vector<R: Real>(q: Quat<R>) -> Vec3<R> {
    // r = v · 2 atan2(|v|, |w|) / |v|, of the one of ±q with w ≥ 0; the quotient tends to 2 at zero
    let (n, tiny) = (q.v.norm(), R::constant(1e-12));
    let angle = R::constant(2.0) * n.atan2(q.w.abs());
    let k = R::select(tiny.lt(n), angle / n.max(tiny), R::constant(2.0));
    q.v.scale(R::select(q.w.lt(R::zero()), -k, k))
}

/// Poses of bodies and geoms, and the motion subspace, of one tile.
///
/// `q`: position, shape \[nq\]. Quaternions are normalised as they are read.
#[inline(always)]
pub fn kinematics<R: Real>(model: &Model, q: &[R], k: &mut Kinematics<R>) {
    body_poses(model, q, k);
    geom_poses(model, k);
}

/// The part of [`kinematics`] that the dynamics need: poses of bodies, and the motion subspace.
#[inline(always)]
pub fn body_poses<R: Real>(model: &Model, q: &[R], k: &mut Kinematics<R>) {
    for (b, body) in model.bodies.iter().enumerate() {
        let Some(tree) = body.tree else { continue };
        let (mut quat, mut position);
        if body.joints.len() == 1 && model.joints[body.joints.start].kind == JointKind::Free {
            let start = model.joints[body.joints.start].q_start;
            position = triple(q, start);
            quat = quaternion(q, start + 3);
            k.anchor[body.joints.start] = position;
        } else {
            let parent = &k.body_pose[body.parent];
            position = parent.point(Vec3::constant(&body.position));
            quat = k.body_quat[body.parent] * Quat::constant(&body.orientation);
            for j in body.joints.clone() {
                let joint = &model.joints[j];
                let rotation = quat.matrix();
                let local_anchor = Vec3::constant(&joint.anchor);
                let anchor = position + rotation * local_anchor;
                let axis = rotation * Vec3::constant(&joint.axis);
                match joint.kind {
                    JointKind::Slide => {
                        position = axis.mul_add(q[joint.q_start] - R::constant(joint.reference), position);
                    }
                    JointKind::Hinge => {
                        let angle = q[joint.q_start] - R::constant(joint.reference);
                        quat = quat * Quat::axis_angle(Vec3::constant(&joint.axis), angle);
                        position = anchor - quat.matrix() * local_anchor;
                    }
                    JointKind::Ball | JointKind::Free => {
                        quat = quat * quaternion(q, joint.q_start);
                        position = anchor - quat.matrix() * local_anchor;
                    }
                }
                k.anchor[j] = anchor;
                k.axis[j] = axis;
            }
        }
        k.body_quat[b] = quat;
        k.body_pose[b] = Pose { position, rotation: quat.matrix() };
        if model.trees[tree].root == b {
            k.reference[tree] = position;
        }
        motion_subspace(model, b, k.reference[tree], k);
    }
}

/// The part of [`kinematics`] that contacts need: poses of geoms, from those of their bodies.
#[inline(always)]
pub fn geom_poses<R: Real>(model: &Model, k: &mut Kinematics<R>) {
    for (g, geom) in model.geoms.iter().enumerate() {
        if model.bodies[geom.body].tree.is_some() {
            let rotation = (k.body_quat[geom.body] * Quat::constant(&geom.orientation)).matrix();
            let position = k.body_pose[geom.body].point(Vec3::constant(&geom.position));
            k.geom_pose[g] = Pose { position, rotation };
        }
    }
}

/// S of the joints of `body`: a rotation about axis a through p moves the point O with (p − O) × a.
#[inline(always)]
fn motion_subspace<R: Real>(model: &Model, body: usize, o: Vec3<R>, k: &mut Kinematics<R>) {
    for j in model.bodies[body].joints.clone() {
        let joint = &model.joints[j];
        let arm = k.anchor[j] - o;
        let rotation = |axis: Vec3<R>| Motion { angular: axis, linear: arm.cross(axis) };
        let translation = |axis: Vec3<R>| Motion { angular: Vec3::zero(), linear: axis };
        let s = &mut k.motion_subspace[joint.v_start..joint.v_start + joint.kind.nv()];
        let columns = k.body_pose[body].rotation.columns;
        match joint.kind {
            JointKind::Hinge => s[0] = rotation(k.axis[j]),
            JointKind::Slide => s[0] = translation(k.axis[j]),
            JointKind::Ball => {
                for i in 0..3 {
                    s[i] = rotation(columns[i]);
                }
            }
            JointKind::Free => {
                for i in 0..3 {
                    s[i] = translation(Vec3::unit(i));
                    s[3 + i] = rotation(columns[i]);
                }
            }
        }
    }
}
