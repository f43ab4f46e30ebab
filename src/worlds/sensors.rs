//! The sensors of the model that look back at the last substep, in lanes.

use super::loads::Loads;
use super::seen::Seen;
use crate::lane::Pack;
use crate::model::{Frame, FrameReading, Reading};
use crate::quantity::within_cutoff;
use crate::spatial::Vec3;

/// Appends what sensor `i` reads, within its cutoff.
#[inline(always)]
pub(super) fn read<R: Pack>(i: usize, seen: &Seen<'_, R>, loads: &Loads<R>, row: &mut Vec<R>) {
    let sensor = &seen.now.model.sensors[i];
    let Some(reading) = sensor.reading else { return };
    let start = row.len();
    match reading {
        Reading::Accelerometer(s) => push(row, loads.acceleration(seen, Frame::Site(s), true)),
        Reading::Frame(FrameReading::LinearAcceleration, frame, _) => {
            push(row, loads.acceleration(seen, frame, false));
        }
        Reading::Frame(FrameReading::AngularAcceleration, frame, _) => {
            push(row, loads.angular_acceleration(seen, frame));
        }
        Reading::Force(s) => push(row, loads.force(seen, s).0),
        Reading::Torque(s) => push(row, loads.force(seen, s).1),
        Reading::Touch(s) => row.push(loads.touch(seen, s)),
        // of the state
        _ => {}
    }
    within_cutoff(sensor, &mut row[start..]);
}

#[inline(always)]
fn push<R: Pack>(row: &mut Vec<R>, v: Vec3<R>) {
    row.extend_from_slice(&[v.x, v.y, v.z]);
}
