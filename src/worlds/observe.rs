//! Quantities of a tile of worlds, in lanes.

use super::observer::{
    Observer, actuator_forces, central_inertia, limit_force, linear_velocity, pose, push, subtree_com,
    subtree_velocity, subtrees, velocity_at,
};
use super::past::Felt;
use super::quantity::{Axes, Quantity};
use super::seen::{Seen, felt};
use crate::dynamics::free_body_velocity;
use crate::kinematics::{body_poses, triple};
use crate::lane::{Compiled, Pack, Task};
use crate::model::Frame;
use crate::spatial::{Quat, Vec3};

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
