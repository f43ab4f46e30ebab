//! The sensors of the model, in lanes.

use super::observer::{Observer, actuator_forces, linear_velocity, pose, push, subtree_com, subtree_velocity};
use super::seen::Seen;
use crate::dynamics::clamp;
use crate::kinematics::{quaternion, triple};
use crate::lane::Pack;
use crate::model::{Frame, FrameReading, Reading};
use crate::spatial::{Quat, Vec3};

/// Appends what sensor `i` reads, within its cutoff.
#[inline(always)]
pub(super) fn read<R: Pack>(i: usize, seen: &Seen<'_, R>, o: &mut Observer<R>) {
    let (model, start) = (seen.model, o.row.len());
    let sensor = &model.sensors[i];
    let Some(reading) = sensor.reading else { return };
    match reading {
        Reading::JointPosition(j) => o.row.push(seen.q[model.joints[j].q_start]),
        Reading::JointVelocity(j) => o.row.push(seen.v[model.joints[j].v_start]),
        Reading::BallOrientation(j) => push_quat(&mut o.row, quaternion(seen.q, model.joints[j].q_start)),
        Reading::BallVelocity(j) => push(&mut o.row, triple(seen.v, model.joints[j].v_start)),
        Reading::ActuatorPosition(u) => {
            let actuator = &model.actuators[u];
            o.row.push(R::constant(actuator.gear[0]) * seen.q[model.joints[actuator.joint].q_start]);
        }
        Reading::ActuatorVelocity(u) => {
            let actuator = &model.actuators[u];
            o.row.push(R::constant(actuator.gear[0]) * seen.v[model.joints[actuator.joint].v_start]);
        }
        Reading::ActuatorForce(u) => one_force(false, u, seen, o),
        Reading::JointActuatorForce(j) => one_force(true, model.joints[j].v_start, seen, o),
        Reading::Accelerometer(s) => push(&mut o.row, o.loads.acceleration(seen, Frame::Site(s), true)),
        Reading::Frame(FrameReading::LinearAcceleration, frame, _) => {
            push(&mut o.row, o.loads.acceleration(seen, frame, false));
        }
        Reading::Frame(FrameReading::AngularAcceleration, frame, _) => {
            push(&mut o.row, o.loads.angular_acceleration(seen, frame));
        }
        Reading::Force(s) => push(&mut o.row, o.loads.force(seen, s).0),
        Reading::Torque(s) => push(&mut o.row, o.loads.force(seen, s).1),
        Reading::Touch(s) => o.row.push(o.loads.touch(seen, s)),
        Reading::Frame(what, frame, reference) => frame_reading(what, frame, reference, seen, o),
        Reading::Gyro(s) => {
            let (_, quat) = pose(seen, o, Frame::Site(s));
            let velocity = o.velocity[model.sites[s].body].angular;
            push(&mut o.row, quat.matrix().transpose_mul(velocity));
        }
        Reading::Velocimeter(s) => {
            let (_, quat) = pose(seen, o, Frame::Site(s));
            let velocity = linear_velocity(seen, o, Frame::Site(s));
            push(&mut o.row, quat.matrix().transpose_mul(velocity));
        }
        Reading::SubtreeCom(b) => {
            let com = subtree_com(o, b);
            push(&mut o.row, com);
        }
        Reading::SubtreeVelocity(b) => {
            let velocity = subtree_velocity(o, b);
            push(&mut o.row, velocity);
        }
    }
    if sensor.cutoff > 0.0 && reading.is_bounded() {
        for x in &mut o.row[start..] {
            *x = clamp(*x, Some([-sensor.cutoff, sensor.cutoff]));
        }
    }
}

#[inline(always)]
fn push_quat<R: Pack>(row: &mut Vec<R>, quat: Quat<R>) {
    row.push(quat.w);
    push(row, quat.v);
}

/// One of all actuator forces.
#[inline(always)]
fn one_force<R: Pack>(joints: bool, index: usize, seen: &Seen<'_, R>, o: &mut Observer<R>) {
    let start = o.row.len();
    actuator_forces(joints, seen, o);
    o.row[start] = o.row[start + index];
    o.row.truncate(start + 1);
}

/// Something of a frame; relative to another: as that one's axes see it, with its own motion taken off.
#[inline(always)]
fn frame_reading<R: Pack>(
    what: FrameReading,
    frame: Frame,
    reference: Option<Frame>,
    seen: &Seen<'_, R>,
    o: &mut Observer<R>,
) {
    let (position, quat) = pose(seen, o, frame);
    let angular = o.velocity[frame.body(seen.model)].angular;
    let mut vector = match what {
        FrameReading::Orientation => {
            // q_r⁻¹ q
            let relative = match reference {
                Some(reference) => conjugate(pose(seen, o, reference).1) * quat,
                None => quat,
            };
            return push_quat(&mut o.row, relative);
        }
        FrameReading::Position => position,
        FrameReading::Axis(axis) => quat.matrix().columns[axis],
        FrameReading::LinearVelocity => linear_velocity(seen, o, frame),
        FrameReading::AngularVelocity => angular,
        // of the last substep, see `loads`
        FrameReading::LinearAcceleration | FrameReading::AngularAcceleration => Vec3::zero(),
    };
    if let Some(reference) = reference {
        let (origin, axes) = pose(seen, o, reference);
        let turning = o.velocity[reference.body(seen.model)].angular;
        vector = match what {
            FrameReading::Position => position - origin,
            // v − v_r − ω_r × (p − p_r)
            FrameReading::LinearVelocity => {
                vector - linear_velocity(seen, o, reference) - turning.cross(position - origin)
            }
            FrameReading::AngularVelocity => vector - turning,
            _ => vector,
        };
        vector = axes.matrix().transpose_mul(vector);
    }
    push(&mut o.row, vector);
}

#[inline(always)]
fn conjugate<R: Pack>(quat: Quat<R>) -> Quat<R> {
    let v: Vec3<R> = -quat.v;
    Quat { w: quat.w, v }
}
