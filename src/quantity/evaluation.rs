//! What is needed to evaluate quantities, and what several of them ask for.

use crate::activation::actuator_inputs;
use crate::dynamics::{actuator_force, clamp, free_body_velocity};
use crate::kinematics::{Kinematics, body_poses, mocap_poses, orientation, triple};
use crate::lane::{Compiled, Real, Task, copies};
use crate::model::{Frame, Model};
use crate::parameters::TileParameters;
use crate::spatial::{Mat3, Motion, Pose, Quat, Vec3};
use crate::transmission::add_actuator_force;
use nalgebra::{Matrix3, UnitQuaternion, Vector3};

/// State, parameters, control and activation of worlds as they are now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now<'a, R> {
    pub model: &'a Model,
    /// Shape \[nq\].
    pub q: &'a [R],
    /// Shape \[nv\].
    pub v: &'a [R],
    pub parameters: TileParameters<'a, R>,
    /// Control, and then activation, shape \[nu + na\].
    pub drive: &'a [R],
    /// Step Δt, s.
    pub dt: f64,
}

/// What quantities are evaluated with.
#[derive(Debug)]
pub(crate) struct Evaluation<R> {
    pub k: Kinematics<R>,
    /// Spatial velocity of every body about O of its tree, shape \[body\].
    pub(super) velocity: Vec<Motion<R>>,
    /// Mass, first moment and momentum of every body and what hangs from it, shape \[body\].
    pub(super) subtree: Vec<(R, Vec3<R>, Vec3<R>)>,
    /// The child of the world that every body hangs from, shape \[body\].
    pub root: Vec<usize>,
    /// The numbers, one quantity after the other.
    pub row: Vec<R>,
    /// Of actuators, shape \[nu\].
    inputs: Vec<R>,
}

impl<R: Real> Evaluation<R> {
    pub fn new(model: &Model) -> Self {
        let mut root: Vec<usize> = (0..model.bodies.len()).collect();
        for (b, body) in model.bodies.iter().enumerate() {
            if body.parent != 0 {
                root[b] = root[body.parent];
            }
        }
        Self {
            k: Kinematics::new(model),
            velocity: copies(Motion::zero(), model.bodies.len()),
            subtree: copies((R::zero(), Vec3::zero(), Vec3::zero()), model.bodies.len()),
            root,
            row: Vec::new(),
            inputs: copies(R::zero(), model.nu()),
        }
    }

    /// Finds what all quantities ask for, and has no numbers yet.
    #[inline(always)]
    pub fn begin(&mut self, now: &Now<'_, R>) {
        mocap_poses(now.parameters.mocap_pose, &mut self.k);
        body_poses(now.model, now.q, &mut self.k);
        free_body_velocity(now.model, now.v, &self.k, &mut self.velocity);
        subtrees(now, self);
        self.row.clear();
    }

    /// Origin of a frame.
    #[inline(always)]
    pub fn position(&self, now: &Now<'_, R>, frame: Frame) -> Vec3<R> {
        pose(now, self, frame).position
    }
}

/// Mass, first moment and momentum of subtrees: Σ m, Σ m c, Σ m ċ.
#[inline(always)]
fn subtrees<R: Real>(now: &Now<'_, R>, e: &mut Evaluation<R>) {
    let model = now.model;
    for (b, body) in model.bodies.iter().enumerate() {
        let mass = R::constant(body.mass) * now.parameters.mass_scale[b];
        let com = e.k.body_pose[b].point(triple(now.parameters.com, 3 * b));
        e.subtree[b] = (mass, com.scale(mass), velocity_at(now, e, b, com).scale(mass));
    }
    for b in (1..model.bodies.len()).rev() {
        let (child, parent) = (e.subtree[b], &mut e.subtree[model.bodies[b].parent]);
        *parent = (parent.0 + child.0, parent.1 + child.1, parent.2 + child.2);
    }
}

/// Velocity of the point of body `b` that is at `p` now.
#[inline(always)]
pub(super) fn velocity_at<R: Real>(now: &Now<'_, R>, e: &Evaluation<R>, b: usize, p: Vec3<R>) -> Vec3<R> {
    match now.model.bodies[b].tree {
        Some(tree) => e.velocity[b].at(p - e.k.reference[tree]),
        None => Vec3::zero(),
    }
}

/// Centre of mass of a subtree; the origin of its body without mass.
#[inline(always)]
pub(crate) fn subtree_com<R: Real>(e: &Evaluation<R>, b: usize) -> Vec3<R> {
    let (mass, moment, _) = e.subtree[b];
    let massive = R::zero().lt(mass);
    let inverse = R::one() / R::select(massive, mass, R::one());
    Vec3::select(massive, moment.scale(inverse), e.k.body_pose[b].position)
}

/// Velocity of the centre of mass of a subtree; zero without mass.
#[inline(always)]
pub(super) fn subtree_velocity<R: Real>(e: &Evaluation<R>, b: usize) -> Vec3<R> {
    let (mass, _, momentum) = e.subtree[b];
    momentum.scale(R::one() / R::select(R::zero().lt(mass), mass, R::one()))
}

/// Pose of a frame, of given poses of bodies.
#[inline(always)]
pub(crate) fn pose_in<R: Real>(now: &Now<'_, R>, k: &Kinematics<R>, frame: Frame) -> Pose<R> {
    R::run(PoseIn { now, k, frame })
}

/// [`pose_in`], for which most quantities ask, as one function.
struct PoseIn<'a, 'b, R> {
    now: &'a Now<'b, R>,
    k: &'a Kinematics<R>,
    frame: Frame,
}

impl<R: Real> Task for PoseIn<'_, '_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = Pose<R>;
    #[inline(always)]
    fn run(self) -> Pose<R> {
        let Self { now, k, frame } = self;
        let b = frame.body(now.model);
        let body = k.body_pose[b];
        match (frame, within(now.model, frame)) {
            (Frame::Com(_), _) => Pose { position: body.point(triple(now.parameters.com, 3 * b)), ..body },
            (_, None) => body,
            (_, Some((position, turn))) => {
                let turn = turn.to_rotation_matrix();
                let rotation = body.rotation * Mat3::constant(turn.matrix());
                Pose { position: body.constant_point(position), rotation }
            }
        }
    }
}

/// Where a frame is in that of its body, where it is a geom or a site.
fn within(model: &Model, frame: Frame) -> Option<(&Vector3<f64>, &UnitQuaternion<f64>)> {
    match frame {
        Frame::Body(_) | Frame::Com(_) => None,
        Frame::Geom(g) => Some((&model.geoms[g].position, &model.geoms[g].orientation)),
        Frame::Site(s) => Some((&model.sites[s].position, &model.sites[s].orientation)),
    }
}

/// Orientation of a frame, with the sign of [`orientation`].
#[inline(always)]
pub(super) fn frame_orientation<R: Real>(now: &Now<'_, R>, e: &Evaluation<R>, frame: Frame) -> Quat<R> {
    let body = orientation(now.model, now.q, &e.k, frame.body(now.model));
    match within(now.model, frame) {
        Some((_, turn)) => body * Quat::constant(turn),
        None => body,
    }
}

/// Pose of a frame.
#[inline(always)]
pub(super) fn pose<R: Real>(now: &Now<'_, R>, e: &Evaluation<R>, frame: Frame) -> Pose<R> {
    pose_in(now, &e.k, frame)
}

#[inline(always)]
pub(super) fn push<R: Real>(row: &mut Vec<R>, v: Vec3<R>) {
    row.extend_from_slice(&[v.x, v.y, v.z]);
}

/// R I Rᵀ of a constant I.
#[inline(always)]
fn turned_inertia<R: Real>(rotation: &Mat3<R>, inertia: &Matrix3<f64>) -> [[R; 3]; 3] {
    let [x, y, z] = rotation.columns;
    // the rows of R
    let axes = [[x.x, y.x, z.x], [x.y, y.y, z.y], [x.z, y.z, z.z]];
    let mut turned = [[R::zero(); 3]; 3];
    for j in 0..3 {
        let mut column = [R::zero(); 3];
        for k in 0..3 {
            for l in 0..3 {
                column[k] = R::constant(inertia[(k, l)]).mul_add(axes[j][l], column[k]);
            }
        }
        for i in 0..3 {
            for k in 0..3 {
                turned[i][j] = axes[i][k].mul_add(column[k], turned[i][j]);
            }
        }
    }
    turned
}

/// R I_c Rᵀ + m (r·r 1 − r rᵀ), m r and m, r from the centre of mass of the tree to that of the body.
#[inline(always)]
pub(super) fn central_inertia<R: Real>(now: &Now<'_, R>, e: &mut Evaluation<R>, b: usize) {
    let (body, scale) = (&now.model.bodies[b], now.parameters.mass_scale[b]);
    let pose = e.k.body_pose[b];
    let r = pose.point(triple(now.parameters.com, 3 * b)) - subtree_com(e, e.root[b]);
    let m = R::constant(body.mass) * scale;
    let turned = turned_inertia(&pose.rotation, &body.inertia);
    e.row.extend_from_slice(&[
        turned[0][0] * scale + m * (r.y * r.y + r.z * r.z),
        turned[1][1] * scale + m * (r.x * r.x + r.z * r.z),
        turned[2][2] * scale + m * (r.x * r.x + r.y * r.y),
        turned[0][1] * scale - m * r.x * r.y,
        turned[0][2] * scale - m * r.x * r.z,
        turned[1][2] * scale - m * r.y * r.z,
        m * r.x,
        m * r.y,
        m * r.z,
        m,
    ]);
}

/// Appends the force of every actuator, or of all of them on every degree of freedom.
#[inline(always)]
pub(super) fn actuator_forces<R: Real>(joints: bool, now: &Now<'_, R>, e: &mut Evaluation<R>) {
    let model = now.model;
    let (start, nu) = (e.row.len(), model.nu());
    e.row.resize(start + if joints { model.nv() } else { nu }, R::zero());
    actuator_inputs(model, &now.parameters, now.dt, 0, now.drive, &mut e.inputs);
    for u in 0..nu {
        let force = actuator_force(model, u, &now.parameters, [now.q, now.v], &e.k, e.inputs[u]).force;
        if !joints {
            e.row[start + u] = force;
            continue;
        }
        add_actuator_force(model, &e.k, u, force, &mut e.row[start..]);
    }
    if joints && nu > 0 {
        for joint in &model.joints {
            for i in joint.v_start..joint.v_start + joint.kind.nv() {
                e.row[start + i] = clamp(e.row[start + i], joint.actuator_force_range);
            }
        }
    }
}
