//! Stage 1, `kinematics`: body poses, joint axes and geom poses from q.
//!
//! Everything is in world axes. Spatial quantities of a tree refer to the point O of the tree: the origin of its root body.

use crate::lane::{Compiled, Real, Task, copies};
use crate::mocap::{Mocap, placed};
use crate::model::{JointKind, Model, Stretch, Tendon, Transmission, stretches};
use crate::spatial::{Mat3, Motion, Pose, Quat, Vec3, vec3};
use nalgebra::{Matrix3, UnitQuaternion, Vector3};

/// What `kinematics` computes, for one tile of worlds.
#[derive(Debug, Clone)]
pub struct Kinematics<R> {
    /// World pose of every body, shape \[body\].
    pub body_pose: Vec<Pose<R>>,
    /// World pose of every geom, shape \[geom\].
    pub geom_pose: Vec<Pose<R>>,
    /// Motion subspace S about O of the tree: the spatial velocity per unit of every entry of v, shape \[nv\].
    pub motion_subspace: Vec<Motion<R>>,
    /// Reference point O of every tree, m, shape \[tree\].
    pub reference: Vec<Vec3<R>>,
    /// How every body is turned against its parent at rest, if it is, shape \[body\].
    body_turn: Vec<Option<Matrix3<f64>>>,
    /// How every geom is turned against its body, if it is, shape \[geom\].
    geom_turn: Vec<Option<Matrix3<f64>>>,
    /// Sine and cosine of the angle of every hinge, shape \[joint\].
    pub(crate) sin_cos: Vec<(R, R)>,
    /// Anchor of every joint, m, shape \[joint\].
    anchor: Vec<Vec3<R>>,
    /// Axis of every joint, shape \[joint\].
    axis: Vec<Vec3<R>>,
    /// What is where it is said from outside.
    mocap: Mocap<R>,
    /// Length of every tendon that is spatial, m, and 0 of the others, shape \[tendon\]; nothing where none is.
    pub(crate) tendon_length: Vec<R>,
    /// How these lengths change with v, shape \[tendon\]\[nv\]; nothing where none is spatial.
    pub(crate) tendon_moment: Vec<R>,
    /// How much of one of them is rounding, shape \[nv\]; nothing where none is spatial.
    tendon_rounding: Vec<R>,
    /// What a unit of force of every actuator that adheres does, as the step has found it, shape \[nu\]\[nv\]; nothing where none does.
    pub(crate) adhesion_moment: Vec<R>,
    /// The straight parts of a path.
    stretches: Vec<Stretch<R>>,
}

impl<R: Real> Kinematics<R> {
    /// Room for `model`; the poses of everything that cannot move are filled here, once.
    pub fn new(model: &Model) -> Self {
        let turn = |q: UnitQuaternion<f64>| (q.w.abs() != 1.0).then(|| q.to_rotation_matrix().into_inner());
        let mut k = Self {
            body_pose: copies(Pose::identity(), model.bodies.len()),
            body_turn: model.bodies.iter().map(|body| turn(body.orientation)).collect(),
            geom_turn: model.geoms.iter().map(|geom| turn(geom.orientation)).collect(),
            geom_pose: copies(Pose::identity(), model.geoms.len()),
            motion_subspace: copies(Motion::zero(), model.nv()),
            reference: copies(Vec3::zero(), model.trees.len()),
            sin_cos: copies((R::zero(), R::one()), model.joints.len()),
            anchor: copies(Vec3::zero(), model.joints.len()),
            axis: copies(Vec3::zero(), model.joints.len()),
            mocap: Mocap::new(model),
            tendon_length: Vec::new(),
            tendon_moment: Vec::new(),
            tendon_rounding: Vec::new(),
            adhesion_moment: Vec::new(),
            stretches: Vec::new(),
        };
        if model.tendons.iter().any(Tendon::is_spatial) {
            k.tendon_length = copies(R::zero(), model.tendons.len());
            k.tendon_moment = copies(R::zero(), model.tendons.len() * model.nv());
            k.tendon_rounding = copies(R::zero(), model.nv());
        }
        if model.actuators.iter().any(|actuator| matches!(actuator.transmission, Transmission::Body(_))) {
            k.adhesion_moment = copies(R::zero(), model.nu() * model.nv());
        }
        // Exactly, in f64, and rounded once.
        let mut poses = vec![(Vector3::zeros(), UnitQuaternion::identity()); model.bodies.len()];
        let pose = |(p, r): (Vector3<f64>, UnitQuaternion<f64>)| Pose {
            position: Vec3::constant(&p),
            rotation: Mat3::constant(r.to_rotation_matrix().matrix()),
        };
        for (b, body) in model.bodies.iter().enumerate().skip(1) {
            poses[b] = placed(poses[body.parent], &body.position, &body.orientation);
            k.body_pose[b] = pose(poses[b]);
        }
        for (g, geom) in model.geoms.iter().enumerate() {
            k.geom_pose[g] = pose(placed(poses[geom.body], &geom.position, &geom.orientation));
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

/// Puts mocap bodies, and what is fixed to them, where a tile of worlds has them: [`TileParameters::mocap_pose`](crate::parameters::TileParameters::mocap_pose).
#[inline(always)]
pub fn mocap_poses<R: Real>(numbers: &[R], k: &mut Kinematics<R>) {
    if !numbers.is_empty() {
        k.mocap.place(numbers, &mut k.body_pose, &mut k.geom_pose);
    }
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
    R::run(BodyPoses { model, q, k });
}

/// [`body_poses`], which is long and asked for in many places, as one function.
struct BodyPoses<'a, R> {
    model: &'a Model,
    q: &'a [R],
    k: &'a mut Kinematics<R>,
}

impl<R: Real> Task for BodyPoses<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { model, q, k } = self;
        // ahead of the chain of poses, which would wait for one after another
        hinge_turns(model, q, k);
        for (b, body) in model.bodies.iter().enumerate() {
            let Some(tree) = body.tree else { continue };
            // in place: a pose does not fit the registers of most machines
            let (above, here) = k.body_pose.split_at_mut(b);
            let pose = &mut here[0];
            if body.joints.len() == 1 && model.joints[body.joints.start].kind == JointKind::Free {
                let start = model.joints[body.joints.start].q_start;
                *pose = Pose { position: triple(q, start), rotation: quaternion(q, start + 3).matrix() };
                k.anchor[body.joints.start] = pose.position;
            } else {
                let parent = &above[body.parent];
                pose.position = parent.constant_point(&body.position);
                pose.rotation = turned(&parent.rotation, k.body_turn[b].as_ref());
                for j in body.joints.clone() {
                    let joint = &model.joints[j];
                    let anchor = pose.constant_point(&joint.anchor);
                    let axis = pose.rotation.mul_constant(&joint.axis);
                    (k.anchor[j], k.axis[j]) = (anchor, axis);
                    match joint.kind {
                        JointKind::Slide => {
                            let way = q[joint.q_start] - R::constant(joint.reference);
                            pose.position = axis.mul_add(way, pose.position);
                            continue;
                        }
                        JointKind::Hinge => pose.rotation.turn(&joint.axis, k.sin_cos[j]),
                        JointKind::Ball | JointKind::Free => {
                            pose.rotation = pose.rotation * quaternion(q, joint.q_start).matrix();
                        }
                    }
                    if joint.anchor != Vector3::zeros() {
                        pose.position = anchor - pose.rotation.mul_constant(&joint.anchor);
                    }
                }
            }
            if model.trees[tree].root == b {
                k.reference[tree] = k.body_pose[b].position;
            }
            motion_subspace(model, b, k.reference[tree], k);
        }
        if !k.tendon_length.is_empty() {
            spatial_tendons(model, k);
        }
    }
}

/// Lengths of spatial tendons, and how they change with v.
#[inline(always)]
fn spatial_tendons<R: Real>(model: &Model, k: &mut Kinematics<R>) {
    k.tendon_moment.fill(R::zero());
    for (t, tendon) in model.tendons.iter().enumerate().filter(|(_, tendon)| tendon.is_spatial()) {
        let mut length = stretches(model, &tendon.path, &k.body_pose, &mut k.stretches);
        let moment = &mut k.tendon_moment[t * model.nv()..(t + 1) * model.nv()];
        let rounding = &mut k.tendon_rounding[..];
        rounding.fill(R::zero());
        for Stretch { bodies, ends, share } in &k.stretches {
            let way = ends[1] - ends[0];
            let distance = way.norm();
            length = share.mul_add(distance, length);
            let distance = distance.max(R::constant(1e-15));
            if bodies[0] == bodies[1] {
                continue;
            }
            // L̇ = e · (v_b − v_a)
            let along = way.scale(*share / distance);
            for side in [0, 1] {
                let Some(last) = model.last_dof(bodies[side]) else { continue };
                let arm = ends[side] - k.reference[model.dofs[last].tree];
                // of ends that are known to rounding
                let off = R::constant(4.0 * R::EPSILON) * (R::one() + (ends[0].norm() + ends[1].norm()) / distance);
                for &dof in &model.dofs[last].ancestors {
                    let velocity = k.motion_subspace[dof].at(arm);
                    let change = along.dot(velocity);
                    moment[dof] = if side == 0 { moment[dof] - change } else { moment[dof] + change };
                    rounding[dof] = (off * share.abs()).mul_add(velocity.norm(), rounding[dof]);
                }
            }
        }
        k.tendon_length[t] = length;
        // at a dead centre nothing but rounding is left, and dividing by it would be no answer
        for (moment, rounding) in moment.iter_mut().zip(&*rounding) {
            *moment = R::select(moment.abs().lt(*rounding), R::zero(), *moment);
        }
    }
}

/// Sine and cosine of the angle of every hinge.
#[inline(always)]
pub fn hinge_turns<R: Real>(model: &Model, q: &[R], k: &mut Kinematics<R>) {
    for (j, joint) in model.joints.iter().enumerate() {
        if joint.kind == JointKind::Hinge {
            k.sin_cos[j] = (q[joint.q_start] - R::constant(joint.reference)).sin_cos();
        }
    }
}

/// The part of [`kinematics`] that contacts need: poses of geoms, from those of their bodies.
#[inline(always)]
pub fn geom_poses<R: Real>(model: &Model, k: &mut Kinematics<R>) {
    for (g, geom) in model.geoms.iter().enumerate() {
        if model.bodies[geom.body].tree.is_some() {
            let body = &k.body_pose[geom.body];
            let rotation = turned(&body.rotation, k.geom_turn[g].as_ref());
            k.geom_pose[g] = Pose { position: body.constant_point(&geom.position), rotation };
        }
    }
}

/// A rotation, turned by a constant one from the right.
#[inline(always)]
fn turned<R: Real>(rotation: &Mat3<R>, turn: Option<&Matrix3<f64>>) -> Mat3<R> {
    match turn {
        Some(turn) => *rotation * Mat3::constant(turn),
        None => *rotation,
    }
}

/// The orientation of `body`, of the sign that products of quaternions from the world on have, as MuJoCo's.
///
/// `q`: position, shape \[nq\]; `k` knows how mocap bodies are turned.
#[inline(always)]
pub fn orientation<R: Real>(model: &Model, q: &[R], k: &Kinematics<R>, body: usize) -> Quat<R> {
    let mut below = Quat::constant(&UnitQuaternion::identity());
    let mut b = body;
    while b != 0 {
        let joints = &model.joints[model.bodies[b].joints.clone()];
        let mut own = k.mocap.orientation_of(b).unwrap_or_else(|| Quat::constant(&model.bodies[b].orientation));
        for joint in joints {
            match joint.kind {
                JointKind::Slide => {}
                JointKind::Hinge => {
                    let angle = q[joint.q_start] - R::constant(joint.reference);
                    own = own * Quat::axis_angle(Vec3::constant(&joint.axis), angle);
                }
                JointKind::Ball => own = own * quaternion(q, joint.q_start),
                JointKind::Free => own = quaternion(q, joint.q_start + 3),
            }
        }
        below = own * below;
        b = model.bodies[b].parent;
    }
    below
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
