//! The sensors of the model that the state tells.

use super::evaluation::{
    Evaluation, Now, actuator_forces, frame_orientation, linear_velocity, pose, push, subtree_com, subtree_velocity,
};
use crate::dynamics::clamp;
use crate::kinematics::{quaternion, triple};
use crate::lane::Real;
use crate::model::{Frame, FrameReading, Reading, Sensor};
use crate::spatial::{Pose, Quat, Vec3};

/// Appends what sensor `i` reads, within its cutoff.
#[inline(always)]
pub(super) fn read<R: Real>(i: usize, now: &Now<'_, R>, e: &mut Evaluation<R>) {
    let (model, start) = (now.model, e.row.len());
    let sensor = &model.sensors[i];
    let Some(reading) = sensor.reading else { return };
    match reading {
        Reading::JointPosition(j) => e.row.push(now.q[model.joints[j].q_start]),
        Reading::JointVelocity(j) => e.row.push(now.v[model.joints[j].v_start]),
        Reading::BallOrientation(j) => push_quat(&mut e.row, quaternion(now.q, model.joints[j].q_start)),
        Reading::BallVelocity(j) => push(&mut e.row, triple(now.v, model.joints[j].v_start)),
        Reading::ActuatorPosition(u) => {
            let actuator = &model.actuators[u];
            e.row.push(R::constant(actuator.gear[0]) * now.q[model.joints[actuator.joint].q_start]);
        }
        Reading::ActuatorVelocity(u) => {
            let actuator = &model.actuators[u];
            e.row.push(R::constant(actuator.gear[0]) * now.v[model.joints[actuator.joint].v_start]);
        }
        Reading::ActuatorForce(u) => one_force(false, u, now, e),
        Reading::JointActuatorForce(j) => one_force(true, model.joints[j].v_start, now, e),
        Reading::Frame(what, frame, reference) => frame_reading(what, frame, reference, now, e),
        Reading::Gyro(s) => {
            let turn = pose(now, e, Frame::Site(s)).rotation;
            let velocity = e.velocity[model.sites[s].body].angular;
            push(&mut e.row, turn.transpose_mul(velocity));
        }
        Reading::Velocimeter(s) => {
            let turn = pose(now, e, Frame::Site(s)).rotation;
            let velocity = linear_velocity(now, e, Frame::Site(s));
            push(&mut e.row, turn.transpose_mul(velocity));
        }
        Reading::SubtreeCom(b) => {
            let com = subtree_com(e, b);
            push(&mut e.row, com);
        }
        Reading::SubtreeVelocity(b) => {
            let velocity = subtree_velocity(e, b);
            push(&mut e.row, velocity);
        }
        // they look back, which no state does
        Reading::Accelerometer(_) | Reading::Force(_) | Reading::Torque(_) | Reading::Touch(_) => {}
    }
    within_cutoff(sensor, &mut e.row[start..]);
}

/// Bounds what a sensor reads by its cutoff.
#[inline(always)]
pub(crate) fn within_cutoff<R: Real>(sensor: &Sensor, row: &mut [R]) {
    if sensor.cutoff > 0.0 && sensor.reading.is_some_and(Reading::is_bounded) {
        for x in row {
            *x = clamp(*x, Some([-sensor.cutoff, sensor.cutoff]));
        }
    }
}

#[inline(always)]
fn push_quat<R: Real>(row: &mut Vec<R>, quat: Quat<R>) {
    row.push(quat.w);
    push(row, quat.v);
}

/// One of all actuator forces.
#[inline(always)]
fn one_force<R: Real>(joints: bool, index: usize, now: &Now<'_, R>, e: &mut Evaluation<R>) {
    let start = e.row.len();
    actuator_forces(joints, now, e);
    e.row[start] = e.row[start + index];
    e.row.truncate(start + 1);
}

/// Something of a frame; relative to another: as that one's axes see it, with its own motion taken off.
#[inline(always)]
fn frame_reading<R: Real>(
    what: FrameReading,
    frame: Frame,
    reference: Option<Frame>,
    now: &Now<'_, R>,
    e: &mut Evaluation<R>,
) {
    let Pose { position, rotation } = pose(now, e, frame);
    let angular = e.velocity[frame.body(now.model)].angular;
    let mut vector = match what {
        FrameReading::Orientation => {
            // q_r⁻¹ q
            let relative = match reference {
                Some(reference) => conjugate(frame_orientation(now, reference)) * frame_orientation(now, frame),
                None => frame_orientation(now, frame),
            };
            return push_quat(&mut e.row, relative);
        }
        FrameReading::Position => position,
        FrameReading::Axis(axis) => rotation.columns[axis],
        FrameReading::LinearVelocity => linear_velocity(now, e, frame),
        FrameReading::AngularVelocity => angular,
        // they look back
        FrameReading::LinearAcceleration | FrameReading::AngularAcceleration => return,
    };
    if let Some(reference) = reference {
        let Pose { position: origin, rotation: axes } = pose(now, e, reference);
        let turning = e.velocity[reference.body(now.model)].angular;
        vector = match what {
            FrameReading::Position => position - origin,
            // v − v_r − ω_r × (p − p_r)
            FrameReading::LinearVelocity => {
                vector - linear_velocity(now, e, reference) - turning.cross(position - origin)
            }
            FrameReading::AngularVelocity => vector - turning,
            _ => vector,
        };
        vector = axes.transpose_mul(vector);
    }
    push(&mut e.row, vector);
}

#[inline(always)]
fn conjugate<R: Real>(quat: Quat<R>) -> Quat<R> {
    let v: Vec3<R> = -quat.v;
    Quat { w: quat.w, v }
}
