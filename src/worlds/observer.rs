//! What a thread needs to evaluate quantities of a tile of worlds, and what several of them ask for.

use super::loads::Loads;
use super::seen::{Seen, pose_in};
use crate::dynamics::{actuator_force, clamp};
use crate::kinematics::{Kinematics, triple};
use crate::lane::{Pack, Scalar};
use crate::limit::{JointRow, joint_rows};
use crate::model::{Frame, Model};
use crate::spatial::{Motion, Quat, Vec3};

/// What a thread needs to evaluate quantities of a tile.
#[derive(Debug)]
pub(super) struct Observer<R: Pack> {
    pub(super) k: Kinematics<R>,
    /// Spatial velocity of every body about O of its tree, shape \[body\].
    pub velocity: Vec<Motion<R>>,
    /// Mass, first moment and momentum of every body and what hangs from it, shape \[body\].
    pub(super) subtree: Vec<(R, Vec3<R>, Vec3<R>)>,
    /// The child of the world that every body hangs from, shape \[body\].
    pub(super) root: Vec<usize>,
    pub(super) joint_rows: Vec<JointRow>,
    /// What the last substep did, if a quantity asks.
    pub loads: Loads<R>,
    /// The numbers, one quantity after the other.
    pub row: Vec<R>,
}

impl<R: Pack> Observer<R> {
    pub fn new(model: &Model) -> Self {
        let mut root: Vec<usize> = (0..model.bodies.len()).collect();
        for (b, body) in model.bodies.iter().enumerate() {
            if body.parent != 0 {
                root[b] = root[body.parent];
            }
        }
        Self {
            k: Kinematics::new(model),
            velocity: vec![Motion::zero(); model.bodies.len()],
            subtree: vec![(R::zero(), Vec3::zero(), Vec3::zero()); model.bodies.len()],
            root,
            joint_rows: joint_rows(model),
            loads: Loads::new(model),
            row: Vec::new(),
        }
    }
}

/// Mass, first moment and momentum of subtrees: Σ m, Σ m c, Σ m ċ.
#[inline(always)]
pub(super) fn subtrees<R: Pack>(seen: &Seen<'_, R>, o: &mut Observer<R>) {
    let model = seen.model;
    for (b, body) in model.bodies.iter().enumerate() {
        let mass = R::constant(body.mass) * seen.parameters.mass_scale[b];
        let com = o.k.body_pose[b].point(triple(seen.parameters.com, 3 * b));
        o.subtree[b] = (mass, com.scale(mass), velocity_at(seen, o, b, com).scale(mass));
    }
    for b in (1..model.bodies.len()).rev() {
        let (child, parent) = (o.subtree[b], &mut o.subtree[model.bodies[b].parent]);
        *parent = (parent.0 + child.0, parent.1 + child.1, parent.2 + child.2);
    }
}

/// Velocity of the point of body `b` that is at `p` now.
#[inline(always)]
pub(super) fn velocity_at<R: Pack>(seen: &Seen<'_, R>, o: &Observer<R>, b: usize, p: Vec3<R>) -> Vec3<R> {
    match seen.model.bodies[b].tree {
        Some(tree) => o.velocity[b].at(p - o.k.reference[tree]),
        None => Vec3::zero(),
    }
}

/// Centre of mass of a subtree; the origin of its body without mass.
#[inline(always)]
pub(super) fn subtree_com<R: Pack>(o: &Observer<R>, b: usize) -> Vec3<R> {
    let (mass, moment, _) = o.subtree[b];
    let massive = R::zero().lt(mass);
    let inverse = R::one() / R::select(massive, mass, R::one());
    Vec3::select(massive, moment.scale(inverse), o.k.body_pose[b].position)
}

/// Velocity of the centre of mass of a subtree; zero without mass.
#[inline(always)]
pub(super) fn subtree_velocity<R: Pack>(o: &Observer<R>, b: usize) -> Vec3<R> {
    let (mass, _, momentum) = o.subtree[b];
    momentum.scale(R::one() / R::select(R::zero().lt(mass), mass, R::one()))
}

/// Velocity of the origin of a frame.
#[inline(always)]
pub(super) fn linear_velocity<R: Pack>(seen: &Seen<'_, R>, o: &Observer<R>, frame: Frame) -> Vec3<R> {
    velocity_at(seen, o, frame.body(seen.model), pose(seen, o, frame).0)
}

/// Origin and orientation of a frame.
#[inline(always)]
pub(super) fn pose<R: Pack>(seen: &Seen<'_, R>, o: &Observer<R>, frame: Frame) -> (Vec3<R>, Quat<R>) {
    pose_in(seen, &o.k, frame)
}

#[inline(always)]
pub(super) fn push<R: Pack>(row: &mut Vec<R>, v: Vec3<R>) {
    row.extend_from_slice(&[v.x, v.y, v.z]);
}

/// R I_c Rᵀ + m (r·r 1 − r rᵀ), m r and m, r from the centre of mass of the tree to that of the body.
#[inline(always)]
pub(super) fn central_inertia<R: Pack>(seen: &Seen<'_, R>, o: &mut Observer<R>, b: usize) {
    let (body, scale) = (&seen.model.bodies[b], seen.parameters.mass_scale[b]);
    let pose = o.k.body_pose[b];
    let r = pose.point(triple(seen.parameters.com, 3 * b)) - subtree_com(o, o.root[b]);
    let m = R::constant(body.mass) * scale;
    let [x, y, z] = pose.rotation.columns;
    let about_com = |i: usize, j: usize| {
        let part = |v: Vec3<R>, k: usize| [v.x, v.y, v.z][k];
        let row = |k: usize| {
            R::constant(body.inertia[(k, 0)]) * part(x, j)
                + R::constant(body.inertia[(k, 1)]) * part(y, j)
                + R::constant(body.inertia[(k, 2)]) * part(z, j)
        };
        (part(x, i) * row(0) + part(y, i) * row(1) + part(z, i) * row(2)) * scale
    };
    o.row.extend_from_slice(&[
        about_com(0, 0) + m * (r.y * r.y + r.z * r.z),
        about_com(1, 1) + m * (r.x * r.x + r.z * r.z),
        about_com(2, 2) + m * (r.x * r.x + r.y * r.y),
        about_com(0, 1) - m * r.x * r.y,
        about_com(0, 2) - m * r.x * r.z,
        about_com(1, 2) - m * r.y * r.z,
        m * r.x,
        m * r.y,
        m * r.z,
        m,
    ]);
}

/// Appends the force of every actuator, or of all of them on every degree of freedom.
#[inline(always)]
pub(super) fn actuator_forces<R: Pack>(joints: bool, seen: &Seen<'_, R>, o: &mut Observer<R>) {
    let model = seen.model;
    let (start, nu) = (o.row.len(), model.nu());
    o.row.resize(start + if joints { model.nv() } else { nu }, R::zero());
    for u in 0..nu {
        let mut control = R::zero();
        for world in 0..seen.reports.len() {
            control.set(world, R::Scalar::from_f64(seen.control[world * nu + u]));
        }
        let force = actuator_force(model, u, &seen.parameters, seen.q, seen.v, control).force;
        if !joints {
            o.row[start + u] = force;
            continue;
        }
        let joint = &model.joints[model.actuators[u].joint];
        for i in 0..joint.kind.nv() {
            let tau = &mut o.row[start + joint.v_start + i];
            *tau = R::constant(model.actuators[u].gear[i]).mul_add(force, *tau);
        }
    }
    if joints {
        for joint in &model.joints {
            for i in joint.v_start..joint.v_start + joint.kind.nv() {
                o.row[start + i] = clamp(o.row[start + i], joint.actuator_force_range);
            }
        }
    }
}

/// f = ± λ / Δt, from what every world remembers of its rows.
#[inline(always)]
pub(super) fn limit_force<R: Pack>(seen: &Seen<'_, R>, o: &mut Observer<R>) {
    let start = o.row.len();
    o.row.resize(start + seen.model.nv(), R::zero());
    let inverse = R::constant(1.0 / seen.dt);
    // A snapshot may bring rows that no joint has.
    for (i, row) in o.joint_rows.iter().enumerate() {
        let impulse = seen.memory.joint_row(i);
        let (dof, sign) = match *row {
            JointRow::Lower(joint) => (seen.model.joints[joint].v_start, 1.0),
            JointRow::Upper(joint) => (seen.model.joints[joint].v_start, -1.0),
            JointRow::DryFriction(dof) => (dof, 1.0),
            JointRow::Ball(_) => continue,
        };
        o.row[start + dof] += R::constant(sign) * impulse * inverse;
    }
}
