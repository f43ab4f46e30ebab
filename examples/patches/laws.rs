//! What pushes the bodies of the paper's scenarios: feedback from the state, impulses a step.

use delassus::ecp::State;
use nalgebra::{Vector3, Vector6};

/// A wrench of a force (N) and a moment about the centre of mass (N·m).
fn wrench(force: Vector3<f64>, moment: Vector3<f64>) -> Vector6<f64> {
    Vector6::new(force.x, force.y, force.z, moment.x, moment.y, moment.z)
}

/// Scenario 2: 3 N·m·s about the vertical whenever the spin has stopped.
pub fn kick_when_spin_stops(state: &State) -> Vector6<f64> {
    let kick = if state.angular_velocity.z.abs() < 1e-9 { 3.0 } else { 0.0 };
    wrench(Vector3::zeros(), Vector3::new(0.0, 0.0, kick))
}

/// Scenario 4: a hand tips a standing cylinder (75 kg, radius 0.1 m, height 0.3 m) over its rim, rolls it, turns it, rolls
/// it on and stands it up again. The wrench at time `t`, N and N·m.
pub fn hand(state: &State, t: f64) -> Vector6<f64> {
    let (up, u) = (Vector3::z(), state.orientation * Vector3::z());
    let across = u - up * u.dot(&up);
    let (lean, weight) = (across.norm(), 75.0 * 9.8);
    // u and ω without what turns about the axis
    let damping = -(state.angular_velocity - u * state.angular_velocity.dot(&u)) * 60.0;
    let roll = |until: f64| {
        let along = up.cross(&u).normalize();
        let speed = state.velocity.dot(&along);
        wrench(along * (400.0 * if t < until { 0.4 - speed } else { -speed }), Vector3::zeros())
    };
    match t {
        t if t < 0.2 => wrench(Vector3::zeros(), Vector3::new(0.0, 130.0, 0.0)),
        t if (0.65..1.5).contains(&t) => roll(1.3),
        t if (1.5..2.15).contains(&t) => {
            let s = (t - 1.5) / 0.65;
            if s >= 0.8 {
                return wrench(Vector3::zeros(), state.angular_velocity * -20.0);
            }
            let elevation = 20f64.to_radians() * (s / 0.25).min(1.0);
            let azimuth = -90f64.to_radians() * ((s - 0.2) / 0.55).clamp(0.0, 1.0);
            let wanted =
                Vector3::new(azimuth.cos() * elevation.cos(), azimuth.sin() * elevation.cos(), elevation.sin());
            let hold = (across / lean).cross(&up) * (weight * 0.15 * lean);
            wrench(Vector3::zeros(), u.cross(&wanted) * 600.0 + damping + hold)
        }
        t if (2.15..3.25).contains(&t) => roll(3.0),
        t if (3.25..4.25).contains(&t) => {
            let elevation = u.z.atan2(lean);
            let wanted = 90f64.to_radians() * (t - 3.25).min(1.0);
            let axis = if lean > 0.0 { (across / lean).cross(&up) } else { Vector3::zeros() };
            let lift = 600.0 * (wanted - elevation) + weight * (0.15 * elevation.cos() - 0.1 * elevation.sin());
            wrench(Vector3::zeros(), axis * lift + damping)
        }
        _ => Vector6::zeros(),
    }
}
