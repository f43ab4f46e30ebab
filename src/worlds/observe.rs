//! Quantities of a tile of worlds, in lanes.

use super::loads::Loads;
use super::past::{Felt, PastSeen};
use super::quantity::{Axes, Quantity};
use crate::dynamics::{actuator_force, clamp, free_body_velocity};
use crate::equality::EqualityPlan;
use crate::kinematics::{Kinematics, body_poses, triple};
use crate::lane::{Compiled, Pack, PackMask, Scalar, Task};
use crate::limit::{JointRow, joint_rows};
use crate::model::{Frame, Model};
use crate::parameters::TileParameters;
use crate::report::WorldReport;
use crate::spatial::{Motion, Quat, Vec3, vec3};
use crate::step::Memory;
use nalgebra::Vector3;

/// State of a tile of worlds, as far as quantities need it.
pub(super) struct Seen<'a, R: Pack> {
    pub model: &'a Model,
    /// Step Δt, s.
    pub dt: f64,
    /// Shape \[nq\].
    pub q: &'a [R],
    /// Shape \[nv\].
    pub v: &'a [R],
    pub parameters: TileParameters<'a, R>,
    /// Control, shape `[world][nu]`, of the worlds of the tile.
    pub control: &'a [f64],
    pub memory: &'a Memory<R>,
    pub equalities: &'a EqualityPlan,
    /// What the worlds have kept of the last call of `step`; none if nobody asked.
    pub past: Option<PastSeen<'a, R>>,
    /// Shape \[world\].
    pub reports: &'a [WorldReport],
}

/// What a thread needs to evaluate quantities of a tile.
#[derive(Debug)]
pub(super) struct Observer<R: Pack> {
    k: Kinematics<R>,
    /// Spatial velocity of every body about O of its tree, shape \[body\].
    pub velocity: Vec<Motion<R>>,
    /// Mass, first moment and momentum of every body and what hangs from it, shape \[body\].
    subtree: Vec<(R, Vec3<R>, Vec3<R>)>,
    /// The child of the world that every body hangs from, shape \[body\].
    root: Vec<usize>,
    joint_rows: Vec<JointRow>,
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

/// Evaluates `quantities` into the row of `observer`.
pub(super) struct Evaluate<'a, 'b, R: Pack> {
    pub quantities: &'a [Quantity],
    pub seen: &'a Seen<'b, R>,
    pub observer: &'a mut Observer<R>,
}

impl<R: Pack> Task for Evaluate<'_, '_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { quantities, seen, observer: o } = self;
        body_poses(seen.model, seen.q, &mut o.k);
        free_body_velocity(seen.model, seen.v, &o.k, &mut o.velocity);
        subtrees(seen, o);
        if let Some(past) = &seen.past
            && quantities.iter().any(|quantity| quantity.looks_back(seen.model))
        {
            o.loads.find(seen, past);
        }
        o.row.clear();
        for &quantity in quantities {
            evaluate(quantity, seen, o);
        }
    }
}

/// Mass, first moment and momentum of subtrees: Σ m, Σ m c, Σ m ċ.
#[inline(always)]
fn subtrees<R: Pack>(seen: &Seen<'_, R>, o: &mut Observer<R>) {
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
fn velocity_at<R: Pack>(seen: &Seen<'_, R>, o: &Observer<R>, b: usize, p: Vec3<R>) -> Vec3<R> {
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

/// Origin and orientation of a frame, of given poses of bodies.
#[inline(always)]
pub(super) fn pose_in<R: Pack>(seen: &Seen<'_, R>, k: &Kinematics<R>, frame: Frame) -> (Vec3<R>, Quat<R>) {
    let model = seen.model;
    let b = frame.body(model);
    let (body, quat) = (&k.body_pose[b], k.body_quat[b]);
    match frame {
        Frame::Body(_) => (body.position, quat),
        Frame::Com(_) => (body.point(triple(seen.parameters.com, 3 * b)), quat),
        Frame::Geom(g) => {
            let geom = &model.geoms[g];
            (body.point(Vec3::constant(&geom.position)), quat * Quat::constant(&geom.orientation))
        }
        Frame::Site(s) => {
            let site = &model.sites[s];
            (body.point(Vec3::constant(&site.position)), quat * Quat::constant(&site.orientation))
        }
    }
}

#[inline(always)]
pub(super) fn push<R: Pack>(row: &mut Vec<R>, v: Vec3<R>) {
    row.extend_from_slice(&[v.x, v.y, v.z]);
}

#[inline(always)]
fn evaluate<R: Pack>(quantity: Quantity, seen: &Seen<'_, R>, o: &mut Observer<R>) {
    let model = seen.model;
    match quantity {
        Quantity::Positions => o.row.extend_from_slice(seen.q),
        Quantity::Velocities => o.row.extend_from_slice(seen.v),
        Quantity::Position(frame) => {
            let (position, _) = pose(seen, o, frame);
            push(&mut o.row, position);
        }
        Quantity::Orientation(frame) => {
            let (_, quat) = pose(seen, o, frame);
            o.row.push(quat.w);
            push(&mut o.row, quat.v);
        }
        Quantity::LinearVelocity(frame, axes) => {
            let (_, quat) = pose(seen, o, frame);
            let velocity = linear_velocity(seen, o, frame);
            push(&mut o.row, in_axes(axes, quat, velocity));
        }
        Quantity::AngularVelocity(frame, axes) => {
            let (_, quat) = pose(seen, o, frame);
            let velocity = o.velocity[frame.body(model)].angular;
            push(&mut o.row, in_axes(axes, quat, velocity));
        }
        Quantity::ProjectedGravity(frame) => {
            let (_, quat) = pose(seen, o, frame);
            let gravity = triple(seen.parameters.gravity, 0);
            let strength = gravity.norm();
            // g / |g|, or 0
            let some = R::zero().lt(strength);
            let down = gravity.scale(R::one() / R::select(some, strength, R::one()));
            push(&mut o.row, in_axes(Axes::Local, quat, down));
        }
        Quantity::SubtreeCom(b) => {
            let com = subtree_com(o, b);
            push(&mut o.row, com);
        }
        Quantity::SubtreeVelocity(b) => {
            let velocity = subtree_velocity(o, b);
            push(&mut o.row, velocity);
        }
        Quantity::CentralInertia(b) => central_inertia(seen, o, b),
        Quantity::CentralVelocity(b) => {
            let at = velocity_at(seen, o, b, subtree_com(o, o.root[b]));
            let angular = o.velocity[b].angular;
            push(&mut o.row, angular);
            push(&mut o.row, at);
        }
        Quantity::CentralContact(b) => {
            let (moment, force) = felt(seen, Felt::LastOf(Frame::Body(b)), subtree_com(o, o.root[b]));
            push(&mut o.row, moment);
            push(&mut o.row, force);
        }
        Quantity::Contact(frame) => {
            let (position, _) = pose(seen, o, frame);
            let (moment, force) = felt(seen, Felt::Of(frame), position);
            push(&mut o.row, force);
            push(&mut o.row, moment);
        }
        Quantity::ContactBetween(frame, other) => {
            let (position, _) = pose(seen, o, frame);
            let (moment, force) = felt(seen, Felt::Between([frame, other]), position);
            push(&mut o.row, force);
            push(&mut o.row, moment);
        }
        Quantity::ActuatorForce => actuator_forces(false, seen, o),
        Quantity::JointActuatorForce => actuator_forces(true, seen, o),
        Quantity::LimitForce => limit_force(seen, o),
        Quantity::Sensor(i) => super::sensors::read(i, seen, o),
    }
}

#[inline(always)]
fn in_axes<R: Pack>(axes: Axes, quat: Quat<R>, v: Vec3<R>) -> Vec3<R> {
    match axes {
        Axes::World => v,
        // Rᵀ v
        Axes::Local => quat.matrix().transpose_mul(v),
    }
}

/// R I_c Rᵀ + m (r·r 1 − r rᵀ), m r and m, r from the centre of mass of the tree to that of the body.
#[inline(always)]
fn central_inertia<R: Pack>(seen: &Seen<'_, R>, o: &mut Observer<R>, b: usize) {
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

/// Moment about `p` (N·m) and force (N) of contacts, mean over the time that they are of.
#[inline(always)]
pub(super) fn felt<R: Pack>(seen: &Seen<'_, R>, whose: Felt, p: Vec3<R>) -> (Vec3<R>, Vec3<R>) {
    let (mut moment, mut force) = (Vec3::zero(), Vec3::zero());
    let Some(past) = &seen.past else { return (moment, force) };
    for (world, report) in seen.reports.iter().enumerate() {
        let substeps = if matches!(whose, Felt::LastOf(_)) { 1 } else { report.steps.max(1) };
        let duration = seen.dt * f64::from(substeps);
        let sum = past.felt(seen.model, world, whose);
        // τ_p = τ_0 − p × f, in f64: far from the origin both are large
        let at = p.get(world);
        let at = Vector3::new(at.x.to_f64(), at.y.to_f64(), at.z.to_f64());
        let f = Vector3::new(sum[3], sum[4], sum[5]) / duration;
        let tau = Vector3::new(sum[0], sum[1], sum[2]) / duration - at.cross(&f);
        moment.set(world, scalars(&tau));
        force.set(world, scalars(&f));
    }
    (moment, force)
}

fn scalars<S: Scalar>(v: &Vector3<f64>) -> Vec3<S> {
    vec3(S::from_f64(v.x), S::from_f64(v.y), S::from_f64(v.z))
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
fn limit_force<R: Pack>(seen: &Seen<'_, R>, o: &mut Observer<R>) {
    let start = o.row.len();
    o.row.resize(start + seen.model.nv(), R::zero());
    let inverse = R::constant(1.0 / seen.dt);
    for (row, lanes, impulse) in seen.memory.joint_rows() {
        // A snapshot may bring rows that no joint has.
        let Some(row) = o.joint_rows.get(row) else { continue };
        let (dof, sign) = match *row {
            JointRow::Lower(joint) => (seen.model.joints[joint].v_start, 1.0),
            JointRow::Upper(joint) => (seen.model.joints[joint].v_start, -1.0),
            JointRow::DryFriction(dof) => (dof, 1.0),
            JointRow::Ball(_) => continue,
        };
        let force = R::select(R::Mask::from_bits(lanes), R::constant(sign) * impulse * inverse, R::zero());
        o.row[start + dof] += force;
    }
}
