//! The sensors of the model that the state tells.

use super::evaluation::{Evaluation, Now, actuator_forces, frame_orientation, pose, push, velocity_at};
use super::rays::range;
use super::{Axes, Quantity};
use crate::dynamics::clamp;
use crate::kinematics::{quaternion, triple};
use crate::lane::Real;
use crate::model::{Frame, FrameReading, Reading, Sensor};
use crate::spatial::{Mat3, Quat, Vec3};
use crate::tendon;
use crate::transmission::transmitted;

/// The quantity that a sensor reads under another name, if it does.
pub(super) fn quantity(reading: Reading) -> Option<Quantity> {
    Some(match reading {
        Reading::Frame(FrameReading::Position, frame, None) => Quantity::Position(frame),
        Reading::Frame(FrameReading::Orientation, frame, None) => Quantity::Orientation(frame),
        Reading::Frame(FrameReading::LinearVelocity, frame, None) => Quantity::LinearVelocity(frame, Axes::World),
        Reading::Frame(FrameReading::AngularVelocity, frame, None) => Quantity::AngularVelocity(frame, Axes::World),
        Reading::Gyro(site) => Quantity::AngularVelocity(Frame::Site(site), Axes::Local),
        Reading::Velocimeter(site) => Quantity::LinearVelocity(Frame::Site(site), Axes::Local),
        Reading::SubtreeCom(body) => Quantity::SubtreeCom(body),
        Reading::SubtreeVelocity(body) => Quantity::SubtreeVelocity(body),
        _ => return None,
    })
}

/// Appends what sensor `i` reads that is no [`quantity`].
#[inline(always)]
pub(super) fn read<R: Real>(i: usize, now: &Now<'_, R>, e: &mut Evaluation<R>) {
    let model = now.model;
    let Some(reading) = model.sensors[i].reading else { return };
    match reading {
        Reading::JointPosition(j) => e.row.push(now.q[model.joints[j].q_start]),
        Reading::JointVelocity(j) => e.row.push(now.v[model.joints[j].v_start]),
        Reading::TendonPosition(t) => e.row.push(tendon::length(model, &e.k, t, now.q)),
        Reading::TendonVelocity(t) => e.row.push(tendon::rate(model, &e.k, t, now.v)),
        Reading::BallOrientation(j) => push_quat(&mut e.row, quaternion(now.q, model.joints[j].q_start)),
        Reading::BallVelocity(j) => push(&mut e.row, triple(now.v, model.joints[j].v_start)),
        Reading::ActuatorPosition(u) | Reading::ActuatorVelocity(u) => {
            let actuator = &model.actuators[u];
            let [length, rate] = transmitted(model, &e.k, actuator, [now.q, now.v]);
            e.row.push(if matches!(reading, Reading::ActuatorPosition(_)) { length } else { rate });
        }
        Reading::ActuatorForce(_) | Reading::JointActuatorForce(_) => {
            // one of all
            let (joints, index) = match reading {
                Reading::JointActuatorForce(j) => (true, model.joints[j].v_start),
                Reading::ActuatorForce(u) => (false, u),
                _ => return,
            };
            let start = e.row.len();
            actuator_forces(joints, now, e);
            e.row[start] = e.row[start + index];
            e.row.truncate(start + 1);
        }
        Reading::Range(site) => {
            let range = range(site, now, e);
            e.row.push(range);
        }
        Reading::Frame(what, frame, reference) => frame_reading(what, [Some(frame), reference], now, e),
        // quantities; and what looks back, which no state does
        Reading::Gyro(_)
        | Reading::Velocimeter(_)
        | Reading::SubtreeCom(_)
        | Reading::SubtreeVelocity(_)
        | Reading::Accelerometer(_)
        | Reading::Force(_)
        | Reading::Torque(_)
        | Reading::Touch(_) => {}
    }
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

/// Something of the first of two frames; relative to the second, where there is one: as that one's axes see it, with its own motion taken off.
#[inline(always)]
fn frame_reading<R: Real>(what: FrameReading, frames: [Option<Frame>; 2], now: &Now<'_, R>, e: &mut Evaluation<R>) {
    let mut position = [Vec3::zero(); 2];
    let mut axes = [Mat3 { columns: [Vec3::zero(); 3] }; 2];
    let (mut linear, mut angular) = (position, position);
    let mut turn = [Quat { w: R::one(), v: Vec3::zero() }; 2];
    for (i, frame) in frames.into_iter().enumerate() {
        let Some(frame) = frame else { continue };
        if what == FrameReading::Orientation {
            turn[i] = frame_orientation(now, e, frame);
            continue;
        }
        let (pose, body) = (pose(now, e, frame), frame.body(now.model));
        (position[i], axes[i]) = (pose.position, pose.rotation);
        (linear[i], angular[i]) = (velocity_at(now, e, body, pose.position), e.velocity[body].angular);
    }
    let is_seen = frames[1].is_some();
    let vector = match what {
        // q_r⁻¹ q
        FrameReading::Orientation => return push_quat(&mut e.row, conjugate(turn[1]) * turn[0]),
        FrameReading::Axis(axis) => axes[0].columns[axis],
        FrameReading::Position => position[0] - position[1],
        // v − v_r − ω_r × (p − p_r)
        FrameReading::LinearVelocity => linear[0] - linear[1] - angular[1].cross(position[0] - position[1]),
        FrameReading::AngularVelocity => angular[0] - angular[1],
        // they look back
        FrameReading::LinearAcceleration | FrameReading::AngularAcceleration => return,
    };
    push(&mut e.row, if is_seen { axes[1].transpose_mul(vector) } else { vector });
}

#[inline(always)]
fn conjugate<R: Real>(quat: Quat<R>) -> Quat<R> {
    let v: Vec3<R> = -quat.v;
    Quat { w: quat.w, v }
}
