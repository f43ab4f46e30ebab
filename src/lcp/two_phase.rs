//! The recommended solver: Gauss-Seidel sweeps while they contract, then Newton on the modes they found.
//!
//! A problem leaves as soon as its residual is small; the stages grow in cost (measured on 2159 problems):
//!
//! 1. Gauss-Seidel, five sweeps (one from a warm start), and on while the residual falls 3 times every 3 sweeps; then
//!    one sweep with exact contacts, which finishes problems of one contact;
//! 2. if `W` is rank-deficient and n > 12 (stacks): ten steps of [`super::admm`] with ρ = 0.01, α = 1.6;
//! 3. [`super::newton`] on modes, at most 15 steps, as long as the merit falls 4 times every 4 steps;
//! 4. ten steps of [`super::interior`], which press every contact, then Newton again, at most 40 steps;
//! 5. the long adaptive ADMM (above 800 rows, exact sweeps), and Newton from where it ends.

use super::admm::{self, AdmmSettings};
use super::interior;
use super::newton::{NewtonSettings, mode_newton};
use super::nsgs::exact_sweep;
use super::problem::Problem;
use super::scaled::Scaled;
use super::sweeps::{repeat, sweep};
use super::work::{Work, factorization};
use nalgebra::DVector;

/// Most sweeps of the first stage.
const SWEEPS: usize = 200;
/// Above this size a dense factorization for each step is too dear, and sweeps go on instead.
const LARGE: usize = 200;

/// Solves from `warm` or zero until the natural map is at most `tolerance` (m/s).
///
/// `steps` bounds the ADMM steps of the last stage. Returns the impulse (N·s) and the outer iterations: linear systems
/// of Newton and interior steps, one for the ten ADMM steps of stage 2 (they share a factorization), each ADMM step of
/// stage 5. Sweeps are not counted.
pub(crate) fn two_phase(
    problem: &Problem,
    warm: Option<&DVector<f64>>,
    tolerance: f64,
    steps: usize,
    work: &Work,
) -> (DVector<f64>, usize) {
    let s = Scaled::new(problem, work);
    let mut y = s.start(warm);
    let iterations = run(&s, &mut y, warm.is_some(), tolerance, steps);
    (s.impulse(&y), iterations)
}

/// The stages on a scaled problem, in place.
pub(crate) fn run(s: &Scaled<'_>, y: &mut DVector<f64>, warm: bool, tolerance: f64, steps: usize) -> usize {
    // 1. Gauss-Seidel while it contracts
    let mut best = Best::new(s, y);
    contract(s, y, if warm { 1 } else { 5 }, tolerance);
    if best.offer(s, y) <= tolerance {
        return best.give(y, 0);
    }
    let mut v = s.velocity(y);
    if s.work.affords(3 * s.sweep_work()) {
        exact_sweep(s, y, &mut v);
    }
    if best.offer(s, y) <= tolerance {
        return best.give(y, 0);
    }
    let mut iterations = 0;
    // 2. modes of stacks
    let stacked = !warm && s.rows() > 12 && s.rows() <= LARGE;
    if stacked && s.work.affords(factorization(s.rows()) / 2) && s.is_rank_deficient() {
        let settings = AdmmSettings { rho: 0.01, relaxation: 1.6, steps: 10, adaptive: false };
        admm::run(s, y, settings, tolerance);
        iterations += 1;
    }
    // 3. Newton
    let mut v = s.velocity(y);
    let first = NewtonSettings { delta: 1e-4, steps: 15, stall: 4 };
    iterations += mode_newton(s, y, &mut v, first, tolerance).1;
    if best.offer(s, y) <= tolerance {
        return best.give(y, iterations);
    }
    // 4. from the interior
    if let Some(inside) = interior::start(s, 10) {
        *y = inside;
        let mut v = s.velocity(y);
        let again = NewtonSettings { delta: 1e-5, steps: 40, stall: 0 };
        iterations += 10 + mode_newton(s, y, &mut v, again, tolerance).1;
        if best.offer(s, y) <= tolerance {
            return best.give(y, iterations);
        }
    }
    // 5. slowly but surely
    if s.rows() <= 4 * LARGE {
        y.fill(0.0);
        iterations += admm::run(s, y, AdmmSettings { steps, ..admm::LONG }, tolerance);
    } else {
        *y = best.point().clone();
        repeat(s, y, tolerance, SWEEPS, |y, v| exact_sweep(s, y, v));
    }
    if best.offer(s, y) > tolerance {
        let mut v = s.velocity(y);
        let last = NewtonSettings { delta: 1e-5, steps: 60, stall: 0 };
        iterations += mode_newton(s, y, &mut v, last, tolerance).1;
        best.offer(s, y);
    }
    best.give(y, iterations)
}

/// `least` sweeps, and on while the residual falls 3 times every 3 sweeps.
fn contract(s: &Scaled<'_>, y: &mut DVector<f64>, least: usize, tolerance: f64) {
    let mut v = s.velocity(y);
    let mut past = [f64::INFINITY; 3];
    for k in 0..SWEEPS {
        let residual = s.residual(y, &v);
        let slow = k >= least && residual > past[k % 3] / 3.0;
        if residual <= tolerance || slow || !residual.is_finite() || !s.work.affords(s.sweep_work()) {
            break;
        }
        past[k % 3] = residual;
        sweep(s, y, &mut v, 1.0);
    }
}

/// The best point of all stages.
pub(crate) struct Best {
    pub residual: f64,
    y: DVector<f64>,
}

impl Best {
    pub fn new(s: &Scaled<'_>, y: &DVector<f64>) -> Self {
        let zero = DVector::zeros(s.rows());
        let mut best = Self { residual: s.residual(&zero, &s.bias), y: zero };
        best.offer(s, y);
        best
    }

    /// Keeps `y` if it is better; the residual of the best so far, m/s.
    pub fn offer(&mut self, s: &Scaled<'_>, y: &DVector<f64>) -> f64 {
        let residual = s.residual(y, &s.velocity(y));
        if residual < self.residual {
            self.residual = residual;
            self.y.copy_from(y);
        }
        self.residual
    }

    fn give(&self, y: &mut DVector<f64>, iterations: usize) -> usize {
        y.copy_from(&self.y);
        iterations
    }

    pub fn point(&self) -> &DVector<f64> {
        &self.y
    }
}
