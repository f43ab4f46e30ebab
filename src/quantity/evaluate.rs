//! Quantities that state, parameters and control tell.

use super::evaluation::{
    Evaluation, Now, actuator_forces, central_inertia, frame_orientation, pose, push, subtree_com, subtree_velocity,
    velocity_at,
};
use super::{Axes, Quantity, sensors};
use crate::kinematics::triple;
use crate::lane::Real;
use crate::spatial::{Mat3, Pose, Vec3};
use crate::tendon;

/// Appends a quantity that state, parameters and control tell, see [`Quantity::is_of_state`].
#[inline(always)]
pub(crate) fn evaluate<R: Real>(quantity: Quantity, now: &Now<'_, R>, e: &mut Evaluation<R>) {
    let (model, start) = (now.model, e.row.len());
    let sensor = match quantity {
        Quantity::Sensor(i) => Some(&model.sensors[i]),
        _ => None,
    };
    match sensor.and_then(|sensor| sensor.reading).and_then(sensors::quantity).unwrap_or(quantity) {
        Quantity::Positions => e.row.extend_from_slice(now.q),
        Quantity::Velocities => e.row.extend_from_slice(now.v),
        Quantity::Position(frame) => {
            let position = pose(now, e, frame).position;
            push(&mut e.row, position);
        }
        Quantity::Orientation(frame) => {
            let quat = frame_orientation(now, e, frame);
            e.row.push(quat.w);
            push(&mut e.row, quat.v);
        }
        Quantity::LinearVelocity(frame, axes) => {
            let Pose { position, rotation } = pose(now, e, frame);
            let velocity = velocity_at(now, e, frame.body(model), position);
            push(&mut e.row, in_axes(axes, rotation, velocity));
        }
        Quantity::AngularVelocity(frame, axes) => {
            let turn = pose(now, e, frame).rotation;
            let velocity = e.velocity[frame.body(model)].angular;
            push(&mut e.row, in_axes(axes, turn, velocity));
        }
        Quantity::ProjectedGravity(frame) => {
            let turn = pose(now, e, frame).rotation;
            let gravity = triple(now.parameters.gravity, 0);
            let strength = gravity.norm();
            // g / |g|, or 0
            let some = R::zero().lt(strength);
            let down = gravity.scale(R::one() / R::select(some, strength, R::one()));
            push(&mut e.row, in_axes(Axes::Local, turn, down));
        }
        Quantity::SubtreeCom(b) => {
            let com = subtree_com(e, b);
            push(&mut e.row, com);
        }
        Quantity::SubtreeVelocity(b) => {
            let velocity = subtree_velocity(e, b);
            push(&mut e.row, velocity);
        }
        Quantity::CentralInertia(b) => central_inertia(now, e, b),
        Quantity::CentralVelocity(b) => {
            let at = velocity_at(now, e, b, subtree_com(e, e.root[b]));
            let angular = e.velocity[b].angular;
            push(&mut e.row, angular);
            push(&mut e.row, at);
        }
        Quantity::ActuatorForce | Quantity::JointActuatorForce => {
            actuator_forces(quantity == Quantity::JointActuatorForce, now, e);
        }
        Quantity::TendonLength => {
            for t in 0..now.model.tendons.len() {
                e.row.push(tendon::length(now.model, &e.k, t, now.q));
            }
        }
        Quantity::TendonVelocity => {
            for t in 0..now.model.tendons.len() {
                e.row.push(tendon::rate(now.model, &e.k, t, now.v));
            }
        }
        Quantity::Sensor(i) => sensors::read(i, now, e),
        // of contacts, impulses or the past, which no state tells
        Quantity::CentralContact(_) | Quantity::Contact(_) | Quantity::ContactBetween(..) | Quantity::LimitForce => {}
    }
    if let Some(sensor) = sensor {
        sensors::within_cutoff(sensor, &mut e.row[start..]);
    }
}

#[inline(always)]
fn in_axes<R: Real>(axes: Axes, turn: Mat3<R>, v: Vec3<R>) -> Vec3<R> {
    match axes {
        Axes::World => v,
        // Rᵀ v
        Axes::Local => turn.transpose_mul(v),
    }
}
