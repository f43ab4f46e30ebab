//! Activation: the state a that an actuator may have between its control u and its force, a first-order filter or an integral of u.
//!
//! It depends on nothing but u and itself, so where it is inside of a step, at the evaluations of Runge-Kutta, follows from where it was at the start.

use crate::dynamics::between;
use crate::lane::Real;
use crate::model::{Activation, ActivationLaw, Model, MuscleTimes};
use crate::parameters::TileParameters;
use crate::runge_kutta::{AHEAD, EVALUATIONS, WEIGHT};

/// What every actuator makes its force of at evaluation `j` of a step (0: its start), shape \[nu\]: its control, within bounds, or its activation.
///
/// `drive`: control, and then activation at the start of the step, shape \[nu + na\].
#[inline(always)]
pub(crate) fn actuator_inputs<R: Real>(
    model: &Model,
    p: &TileParameters<'_, R>,
    dt: f64,
    j: usize,
    drive: &[R],
    inputs: &mut [R],
) {
    for u in 0..model.nu() {
        inputs[u] = bounded_control(model, p, u, drive);
    }
    for (k, activation) in model.activations.iter().enumerate() {
        let (input, start) = (&mut inputs[activation.actuator], drive[model.nu() + k]);
        let a = at_evaluation(activation.law, dt, j, *input, start);
        *input = if activation.early { after(activation, dt, rate(activation.law, *input, a), a) } else { a };
    }
}

/// Moves the activations in `drive` to the end of a step of so many evaluations.
#[inline(always)]
pub(crate) fn activate<R: Real>(
    model: &Model,
    p: &TileParameters<'_, R>,
    dt: f64,
    evaluations: usize,
    drive: &mut [R],
) {
    for (k, activation) in model.activations.iter().enumerate() {
        let (input, start) = (bounded_control(model, p, activation.actuator, drive), drive[model.nu() + k]);
        let mut mean = rate(activation.law, input, start);
        if evaluations == EVALUATIONS {
            mean = mean * R::constant(WEIGHT[0]);
            for j in 1..EVALUATIONS {
                let a = at_evaluation(activation.law, dt, j, input, start);
                mean = R::constant(WEIGHT[j]).mul_add(rate(activation.law, input, a), mean);
            }
        }
        drive[model.nu() + k] = after(activation, dt, mean, start);
    }
}

#[inline(always)]
fn bounded_control<R: Real>(model: &Model, p: &TileParameters<'_, R>, u: usize, drive: &[R]) -> R {
    if model.actuators[u].control_range.is_some() {
        between(drive[u], [p.control_range[2 * u], p.control_range[2 * u + 1]])
    } else {
        drive[u]
    }
}

/// ȧ
#[inline(always)]
fn rate<R: Real>(law: ActivationLaw, input: R, a: R) -> R {
    match law {
        ActivationLaw::Integrator => input,
        ActivationLaw::Filter(time) | ActivationLaw::FilterExact(time) => (input - a) * R::constant(1.0 / time),
        ActivationLaw::Muscle(times) => muscle_rate(times, input, a),
    }
}

/// ȧ of a muscle.
#[inline(always)]
fn muscle_rate<R: Real>(times: MuscleTimes, input: R, a: R) -> R {
    let (zero, one) = (R::zero(), R::one());
    let ahead = between(input, [zero, one]) - a;
    let slow = R::constant(1.5).mul_add(between(a, [zero, one]), R::constant(0.5));
    let (rise, fall) = (R::constant(times.rise) * slow, R::constant(times.fall) / slow);
    let time = if times.blend < 1e-15 {
        R::select(zero.lt(ahead), rise, fall)
    } else {
        // x³ (6 x² − 15 x + 10) between 0 and 1
        let x = R::constant(1.0 / times.blend).mul_add(ahead, R::constant(0.5)).max(zero).min(one);
        let step = R::constant(6.0).mul_add(x, R::constant(-15.0)).mul_add(x, R::constant(10.0)) * (x * x * x);
        (rise - fall).mul_add(step, fall)
    };
    ahead / time
}

/// `a_j`, as [`crate::runge_kutta`] has the states of its evaluations.
#[inline(always)]
fn at_evaluation<R: Real>(law: ActivationLaw, dt: f64, j: usize, input: R, start: R) -> R {
    let mut a = start;
    for ahead in &AHEAD[..j] {
        a = R::constant(ahead * dt).mul_add(rate(law, input, a), start);
    }
    a
}

/// a⁺ = a + Δt ȧ within its bounds; of an exact filter, a + τ (1 − exp(−Δt/τ)) ȧ.
#[inline(always)]
fn after<R: Real>(activation: &Activation, dt: f64, rate: R, a: R) -> R {
    let time = match activation.law {
        ActivationLaw::Integrator | ActivationLaw::Filter(_) | ActivationLaw::Muscle(_) => dt,
        ActivationLaw::FilterExact(time) => -time * (-dt / time).exp_m1(),
    };
    let a = R::constant(time).mul_add(rate, a);
    match activation.range {
        Some(range) => between(a, range.map(R::constant)),
        None => a,
    }
}
