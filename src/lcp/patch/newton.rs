//! Damped semismooth Newton on a [`System`], and two ways to lead it there where it fails: softness, and friction by and by.

use super::linear::{Shift, eliminate};
use super::system::System;
use crate::lane::Scalar;
use crate::lcp::work::{Work, factorization, square};

/// Halvings of a step.
const HALVINGS: usize = 8;
/// Steps in a row that may bring nothing: the way through other sets of acting rows is seldom downhill.
const PATIENCE: usize = 10;
/// Newton steps of an attempt.
pub(super) const STEPS: usize = 50;
/// Share of the friction at the start of [`Homotopy::Friction`].
const LEAST_FRICTION: f64 = 1e-9;
/// σ at the start and end of [`Homotopy::Softness`].
const MOST_SOFTNESS: f64 = 10.0;
const LEAST_SOFTNESS: f64 = 1e-8;
/// First stride of a homotopy, and the least.
const FIRST_STRIDE: f64 = 0.25;
const LEAST_STRIDE: f64 = 1e-3;
/// Added to the diagonal of the stick rows where normals alone do not make the system regular, and to try again.
const SHIFTS: [f64; 4] = [0.0, 1e-7, 1e-5, 1e-3];

/// Where a solver stands: unknowns and all that follows from them.
#[derive(Clone, Debug)]
pub(super) struct Point<R> {
    pub x: Vec<R>,
    pub z: Vec<R>,
    pub w: Vec<R>,
    /// m/s.
    pub residual: f64,
}

impl<R: Scalar> Point<R> {
    pub fn at(system: &System<R>, x: Vec<R>) -> Self {
        let z = system.impulse(&x);
        let w = system.velocity(&z);
        let residual = system.residual(&x, &z, &w);
        Self { x, z, w, residual }
    }
}

/// Sum of squares of the defects, (m/s)².
fn merit<R: Scalar>(defect: &[R]) -> f64 {
    defect.iter().map(|f| f.to_f64().powi(2)).sum()
}

/// Added to the diagonal of the normals: small beside 1, large beside rounding.
fn normal_shift<R: Scalar>() -> f64 {
    if R::EPSILON > 1e-10 { 1e-5 } else { 1e-7 }
}

/// Newton steps from `point`, which holds the best point afterwards; returns how many.
///
/// Ends at `tolerance` (m/s), after `limit` steps, where the merit no longer falls, or with the budget.
pub(super) fn newton<R: Scalar>(
    system: &System<R>,
    point: &mut Point<R>,
    tolerance: f64,
    limit: usize,
    work: &Work,
) -> usize {
    let n = system.rows();
    let mut now = point.clone();
    let mut taken = 0;
    let mut stalled = 0;
    while point.residual > tolerance && taken < limit && stalled < PATIENCE {
        if !work.affords(factorization(n) + (HALVINGS as u64 + 2) * square(n)) {
            break;
        }
        taken += 1;
        let defect = system.defect(&now.x, &now.z, &now.w);
        let before = merit(&defect);
        let mut chosen: Option<(f64, Point<R>)> = None;
        for frictions in SHIFTS {
            if !work.affords(factorization(n) + (HALVINGS as u64 + 2) * square(n)) {
                break;
            }
            let shift = Shift { normals: normal_shift::<R>().max(frictions), frictions };
            work.pay(factorization(n) + square(n));
            let mut step = defect.clone();
            if !eliminate(&mut system.jacobian(&now.x, &now.z, &now.w, shift), &mut step) {
                continue;
            }
            let mut length = R::one();
            for _ in 0..=HALVINGS {
                work.pay(square(n));
                // the columns of the Jacobian were scaled by ρ
                let x = (0..n).map(|i| now.x[i] - length * system.steps[i] * step[i]).collect();
                let next = Point::at(system, x);
                let after = merit(&system.defect(&next.x, &next.z, &next.w));
                if next.residual.is_finite() && chosen.as_ref().is_none_or(|(best, _)| after < *best) {
                    chosen = Some((after, next));
                }
                if chosen.as_ref().is_some_and(|(best, _)| *best < 0.9 * before) {
                    break;
                }
                length = length * R::constant(0.5);
            }
            if chosen.as_ref().is_some_and(|(best, _)| *best < before) {
                break;
            }
        }
        let Some((after, next)) = chosen else { break };
        stalled = if after < 0.9 * before { 0 } else { stalled + 1 };
        now = next;
        if now.residual < point.residual {
            point.clone_from(&now);
        }
    }
    taken
}

/// What is led from a problem that Newton solves from anywhere to the one that is meant.
#[derive(Clone, Copy, Debug)]
pub(super) enum Homotopy {
    /// Friction, from hardly any to all of it.
    Friction,
    /// `w = (W + σ diag W) z + b` with less and less σ: what a large one leaves is nearly a problem a row.
    Softness,
}

impl Homotopy {
    /// The problem at t, from 0 to 1.
    fn set<R: Scalar>(self, system: &System<R>, partial: &mut System<R>, t: f64) {
        match self {
            Self::Friction => {
                let share = R::constant(t.max(LEAST_FRICTION));
                for (block, whole) in partial.frictions.iter_mut().zip(&system.frictions) {
                    block.friction = whole.friction * share;
                }
            }
            Self::Softness => {
                // 10 at the start, 1e-8 at the end
                let softness = MOST_SOFTNESS * (LEAST_SOFTNESS / MOST_SOFTNESS).powf(t);
                let n = system.rows();
                for i in 0..n {
                    partial.matrix[i * n + i] = system.entry(i, i) * R::constant(1.0 + softness);
                }
            }
        }
    }
}

/// Newton on one problem after the other, each from the answer of the last, from `point`; returns the steps. The last
/// problem aims at `aim`; for the others `tolerance` (m/s) is enough.
///
/// A problem that is not solved is approached in half the stride.
pub(super) fn follow<R: Scalar>(
    system: &System<R>,
    point: &mut Point<R>,
    homotopy: Homotopy,
    (tolerance, aim): (f64, f64),
    work: &Work,
) -> usize {
    let mut partial = system.clone();
    let mut from = point.x.clone();
    let (mut t, mut stride, mut taken, mut begun) = (0.0f64, 0.0, 0, false);
    while !begun || t < 1.0 && stride >= LEAST_STRIDE {
        let next = (t + stride).min(1.0);
        homotopy.set(system, &mut partial, next);
        let mut now = Point::at(&partial, from.clone());
        taken += newton(&partial, &mut now, tolerance, STEPS, work);
        let reached = now.residual <= tolerance;
        if reached || !begun {
            from = now.x;
        }
        if !begun && !reached {
            break;
        }
        (t, stride) = match (reached, begun) {
            (true, true) => (next, 2.0 * stride),
            (true, false) => (next, FIRST_STRIDE),
            (false, _) => (t, 0.5 * stride),
        };
        begun = true;
    }
    let mut end = Point::at(system, from);
    taken += newton(system, &mut end, aim, STEPS, work);
    if end.residual < point.residual {
        *point = end;
    }
    taken
}
