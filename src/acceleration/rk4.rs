//! The classical Runge-Kutta method on contact that lasts, between events.

use super::{AccelerationSolution, RestingContact, contact_forces};
use crate::error::Result;
use crate::kinematics::{quaternion, triple};
use crate::model::{JointKind, Model};
use crate::spatial::Quat;

/// Weights of the four evaluations over 6, and how far the next one lies ahead, over Δt.
const TABLEAU: [(f64, f64); 4] = [(1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)];

/// One step of the classical Runge-Kutta method over y = (q, v), ẏ = (q̇, v̇), with contact forces at each of its four evaluations:
///
/// y⁺ = y + Δt/6 (k₁ + 2 k₂ + 2 k₃ + k₄)
///
/// - `dt`: Δt, s. `q`, `v`: position and velocity, shapes \[nq\] and \[nv\]; unchanged after an error.
/// - `forces(q, v)`: generalized forces but gravity, shape \[nv\].
/// - `contacts(q, v)`: the contacts at that state, the same ones at each evaluation of a step; [`super::resting_contacts`] finds them where its
///   tolerances are wide enough for states inside a step.
///
/// The answer is that of the first evaluation: forces and accelerations at the start of the step. The error is of order Δt⁴ as long as the same
/// contacts press; a contact that breaks or is made inside of a step is an event, which the caller finds and steps up to.
///
/// # Errors
/// Those of the closures and of [`contact_forces`].
pub fn rk4_step(
    model: &Model,
    dt: f64,
    q: &mut [f64],
    v: &mut [f64],
    mut forces: impl FnMut(&[f64], &[f64]) -> Result<Vec<f64>>,
    mut contacts: impl FnMut(&[f64], &[f64]) -> Result<Vec<RestingContact>>,
) -> Result<AccelerationSolution> {
    let (mut q_at, mut v_at) = (q.to_vec(), v.to_vec());
    let (mut q_sum, mut v_sum) = (vec![0.0; q.len()], vec![0.0; v.len()]);
    let mut evaluate = |q: &[f64], v: &[f64]| contact_forces(model, q, v, &forces(q, v)?, &contacts(q, v)?);
    let start = evaluate(q, v)?;
    let mut solution = start.clone();
    for (stage, (weight, ahead)) in TABLEAU.into_iter().enumerate() {
        if stage > 0 {
            solution = evaluate(&q_at, &v_at)?;
        }
        let q_dot = position_rate(model, &q_at, &v_at);
        advance(&mut q_sum, weight, &q_dot);
        advance(&mut v_sum, weight, solution.v_dot.as_slice());
        q_at.copy_from_slice(q);
        v_at.copy_from_slice(v);
        advance(&mut q_at, ahead * dt, &q_dot);
        advance(&mut v_at, ahead * dt, solution.v_dot.as_slice());
    }
    advance(q, dt / 6.0, &q_sum);
    advance(v, dt / 6.0, &v_sum);
    normalize(model, q);
    Ok(start)
}

/// x += s y
fn advance(x: &mut [f64], s: f64, y: &[f64]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += s * y;
    }
}

/// First entry of the quaternion in q and of its angular velocity in v, for every joint that has one.
fn rotations(model: &Model) -> impl Iterator<Item = (usize, usize)> + '_ {
    model.joints.iter().filter_map(|joint| match joint.kind {
        JointKind::Free => Some((joint.q_start + 3, joint.v_start + 3)),
        JointKind::Ball => Some((joint.q_start, joint.v_start)),
        JointKind::Hinge | JointKind::Slide => None,
    })
}

/// q̇: velocities as they are; for a quaternion ½ q (0, ω), ω in body axes.
fn position_rate(model: &Model, q: &[f64], v: &[f64]) -> Vec<f64> {
    let mut rate = vec![0.0; model.nq()];
    for joint in &model.joints {
        let translations = match joint.kind {
            JointKind::Free => 3,
            JointKind::Ball => 0,
            JointKind::Hinge | JointKind::Slide => 1,
        };
        rate[joint.q_start..joint.q_start + translations]
            .copy_from_slice(&v[joint.v_start..joint.v_start + translations]);
    }
    for (qs, vs) in rotations(model) {
        let turned = Quat { w: q[qs], v: triple(q, qs + 1) } * Quat { w: 0.0, v: triple(v, vs).scale(0.5) };
        rate[qs..qs + 4].copy_from_slice(&[turned.w, turned.v.x, turned.v.y, turned.v.z]);
    }
    rate
}

/// Makes every quaternion of q one of unit length.
fn normalize(model: &Model, q: &mut [f64]) {
    for (qs, _) in rotations(model) {
        let Quat { w, v } = quaternion(q, qs);
        q[qs..qs + 4].copy_from_slice(&[w, v.x, v.y, v.z]);
    }
}
