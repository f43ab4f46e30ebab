//! Block Gauss-Seidel with the exact solution of each contact (nonsmooth Gauss-Seidel, NSGS).
//!
//! One contact `u = W r + q` with d = 2 or 3 rows has three cases:
//!
//! ```text
//! take-off  q_n >= 0                       r = 0
//! stick     r = -W⁻¹ q in the cone          u = 0
//! slide     u_n = 0, u_t = -λ r_t, λ > 0    r(λ) = -(W + λ diag(0, 1, 1))⁻¹ q,   |r_t(λ)| = μ r_n(λ)
//! ```
//!
//! In the sliding case the friction opposes the sliding with a factor λ (kg⁻¹, as `W`), and what is left is one
//! equation in one unknown: `g(λ) = |r_t(λ)| - μ r_n(λ)` is positive at λ = 0 (sticking failed) and negative for large
//! λ, where `r_t` vanishes and `r_n → -q_n / W_nn > 0`. Its root is bracketed, so the solution is exact to rounding.

use super::cone::length;
use super::problem::{Law, Problem};
use super::scaled::Scaled;
use super::sweeps::{repeat, sweep_row};
use super::work::{TRIAL, Work};
use nalgebra::DVector;

/// Sweeps until the natural map is at most `tolerance` (m/s) or `sweeps` are done, from `warm` or zero.
///
/// Returns the impulse (N·s) and the sweeps done.
pub(crate) fn nsgs(
    problem: &Problem,
    warm: Option<&DVector<f64>>,
    tolerance: f64,
    sweeps: usize,
    work: &Work,
) -> (DVector<f64>, usize) {
    let s = Scaled::new(problem, work);
    let mut y = s.start(warm);
    let done = repeat(&s, &mut y, tolerance, sweeps, |y, v| exact_sweep(&s, y, v));
    (s.impulse(&y), done)
}

/// One sweep over all rows and contacts, each solved exactly with the others held.
pub(crate) fn exact_sweep(s: &Scaled<'_>, y: &mut DVector<f64>, v: &mut DVector<f64>) {
    for &group in &s.groups {
        let Law::Cone { friction, dimension: d } = group.law else {
            sweep_row(s, group, y, v, 1.0);
            continue;
        };
        let row = group.row;
        let (mut block, mut q) = ([[0.0; 3]; 3], [0.0; 3]);
        for i in 0..d {
            q[i] = v[row + i];
            for j in 0..d {
                block[i][j] = s.matrix[(row + i, row + j)];
                q[i] -= block[i][j] * y[row + j];
            }
        }
        let r = contact(friction, &block, &q, d, s.work);
        for k in 0..d {
            let change = r[k] - y[row + k];
            y[row + k] = r[k];
            s.push(v, row + k, change);
        }
    }
    s.work.pay(s.product_work);
}

/// The exact solution of one contact `u = W r + q` with `d` rows, normal first; entries beyond `d` are ignored.
///
/// A normal row without positive diagonal cannot be pressed: 0 is returned.
pub fn one_contact(friction: f64, block: &[[f64; 3]; 3], q: &[f64; 3], d: usize) -> [f64; 3] {
    contact(friction, block, q, d, &Work::new(None))
}

/// [`one_contact`], its trials paid for.
fn contact(friction: f64, block: &[[f64; 3]; 3], q: &[f64; 3], d: usize, work: &Work) -> [f64; 3] {
    let normal = block[0][0];
    if q[0] >= 0.0 || normal <= 0.0 {
        return [0.0; 3];
    }
    let frictionless = [-q[0] / normal, 0.0, 0.0];
    if friction == 0.0 {
        return frictionless;
    }
    // g(λ) = |r_t(λ)| - μ r_n(λ)
    let excess = |r: &[f64; 3]| length(&r[1..d]) - friction * r[0];
    let trial = |lambda: f64| {
        work.pay(TRIAL);
        solve_shifted(block, q, d, lambda).map(|r| (excess(&r), r))
    };
    let scale = block[1][1].max(block[d - 1][d - 1]).max(f64::MIN_POSITIVE);
    let mut low = 0.0;
    match trial(low) {
        Some((g, r)) if g <= 0.0 => return r,
        Some(_) => {}
        // a singular block: sticking is the limit λ → 0
        None => low = 1e-14 * scale,
    }
    let mut high = scale;
    let mut inside = None;
    for _ in 0..60 {
        match trial(high) {
            Some((g, r)) if g <= 0.0 => {
                inside = Some(r);
                break;
            }
            _ => {
                low = high;
                high *= 8.0;
            }
        }
    }
    let Some(mut best) = inside else { return frictionless };
    if low == 0.0
        && let Some((g, r)) = trial(1e-14 * scale)
        && g <= 0.0
    {
        return r;
    }
    let mut low_excess = trial(low).map_or(f64::INFINITY, |(g, _)| g);
    let mut high_excess = excess(&best);
    // regula falsi (Illinois) with bisection whenever it does not halve the bracket
    for step in 0..200 {
        let width = high - low;
        if width <= 4.0 * f64::EPSILON * high || high_excess == 0.0 {
            break;
        }
        let secant = high - high_excess * width / (high_excess - low_excess);
        let inner = secant.is_finite() && secant > low && secant < high && step % 3 != 2;
        let middle = if inner { secant } else { f64::midpoint(low, high) };
        match trial(middle) {
            Some((g, r)) if g <= 0.0 => {
                (high, high_excess, best) = (middle, g, r);
                low_excess *= 0.5;
            }
            other => {
                (low, low_excess) = (middle, other.map_or(f64::INFINITY, |(g, _)| g));
                high_excess *= 0.5;
            }
        }
    }
    best
}

/// `r = -(W + λ diag(0, 1, 1))⁻¹ q` by elimination with the diagonal as pivots; `None` if it is singular.
fn solve_shifted(block: &[[f64; 3]; 3], q: &[f64; 3], d: usize, lambda: f64) -> Option<[f64; 3]> {
    let mut a = *block;
    let mut r = [0.0; 3];
    for i in 0..d {
        r[i] = -q[i];
        if i > 0 {
            a[i][i] += lambda;
        }
    }
    for k in 0..d {
        let pivot = a[k][k];
        if pivot <= 1e-13 * block[k][k].abs() || pivot <= 0.0 {
            return None;
        }
        for i in k + 1..d {
            let factor = a[i][k] / pivot;
            for j in k..d {
                a[i][j] -= factor * a[k][j];
            }
            r[i] -= factor * r[k];
        }
    }
    for k in (0..d).rev() {
        for j in k + 1..d {
            r[k] -= a[k][j] * r[j];
        }
        r[k] /= a[k][k];
    }
    r[..d].iter().all(|x| x.is_finite()).then_some(r)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lcp::residual::natural_map_residual;
    use nalgebra::DMatrix;

    #[test]
    fn one_contact_is_solved_to_rounding() {
        let mut cases = [0; 3];
        for k in 0..500 {
            let x = |i: usize| (f64::from(k) * 1.618 + i as f64 * 2.39996).sin();
            let a = DMatrix::from_fn(3, 3, |i, j| x(3 * i + j) + 1.2 * f64::from(u8::from(i == j)));
            let w = &a * a.transpose() + DMatrix::identity(3, 3) * 0.02;
            for d in [2, 3] {
                let friction = [0.0, 0.1, 0.5, 1.0, 10.0][k as usize % 5];
                let (mut block, mut q) = ([[0.0; 3]; 3], [0.0; 3]);
                for i in 0..d {
                    q[i] = x(20 + i);
                    for j in 0..d {
                        block[i][j] = w[(i, j)];
                    }
                }
                let r = one_contact(friction, &block, &q, d);
                let problem = Problem {
                    name: String::new(),
                    delassus: w.view((0, 0), (d, d)).clone_owned(),
                    bias: DVector::from_row_slice(&q[..d]),
                    laws: vec![Law::Cone { friction, dimension: d }],
                };
                let residual = natural_map_residual(&problem, &DVector::from_row_slice(&r[..d]));
                assert!(residual < 1e-12, "case {k}, d = {d}, mu = {friction}: {residual:e}");
                let sliding = length(&r[1..d]) >= friction * r[0] * (1.0 - 1e-9);
                cases[if r[0] == 0.0 { 0 } else { 1 + usize::from(sliding) }] += 1;
            }
        }
        assert!(cases.iter().all(|&c| c > 50), "{cases:?}");
    }
}
