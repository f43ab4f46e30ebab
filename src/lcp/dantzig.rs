//! Dantzig's principal pivoting for boxed problems, one row after the other.
//!
//! Cottle & Dantzig 1968; Baraff 1994, *Fast Contact Force Computation for Nonpenetrating Rigid Bodies*, with bounds on
//! both sides as in ODE. Rows that are done obey their laws; the next one is driven towards `w_i = 0`, the free ones
//! compensate so that their `w` stay zero, and whatever reaches a bound (or a zero of `w`) on the way changes its set:
//!
//! ```text
//! z_i += s,   z_F -= s W_FF⁻¹ W_Fi,   w changes by s (W_·i - W_·F W_FF⁻¹ W_Fi)
//! ```
//!
//! For symmetric positive semidefinite `W` it ends. Box friction bounds follow their normals: the bounds of the last
//! answer are held, solved again, until they stop moving (a fixed point, contracting for small μ).

use super::problem::{Group, Law, Problem, SolveStatus};
use super::residual::{bounds, natural_map_residual};
use super::stewart_trinkle::solve_general;
use super::work::{Work, factorization, square};
use nalgebra::{DMatrix, DVector};

/// Bound updates for box friction.
const ROUNDS: usize = 60;
/// Rates of change below this share of the diagonal are zero.
const FLAT: f64 = 1e-11;

/// Solves a problem without cones; at most `pivots` exchanges, until the natural map is at most `tolerance` (m/s) or the
/// budget is spent.
///
/// Returns the impulse (N·s), the exchanges, and how the pivoting itself ended.
pub(crate) fn dantzig(
    problem: &Problem,
    tolerance: f64,
    pivots: usize,
    work: &Work,
) -> (DVector<f64>, usize, SolveStatus) {
    let n = problem.rows();
    let mut z = DVector::zeros(n);
    let mut best = (natural_map_residual(problem, &z), z.clone());
    let mut done = 0;
    let mut status = SolveStatus::IterationLimit;
    let rounds = if problem.has_box_friction() { ROUNDS } else { 1 };
    for round in 0..rounds {
        let limits: Vec<(f64, f64)> = problem
            .groups()
            .map(|Group { law, .. }| match law {
                // first the normals alone
                Law::Friction { .. } if round == 0 => (0.0, 0.0),
                _ => bounds(law, z.as_slice()),
            })
            .collect();
        let (next, used, ended) = boxed(problem, &limits, pivots.saturating_sub(done), work);
        done += used;
        status = ended;
        if next.iter().any(|x| !x.is_finite()) {
            return (best.1, done, SolveStatus::NotFinite);
        }
        z = next;
        work.pay(square(n));
        let residual = natural_map_residual(problem, &z);
        if residual < best.0 {
            best = (residual, z.clone());
        }
        if best.0 <= tolerance || ended != SolveStatus::Solved {
            break;
        }
    }
    (best.1, done, status)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Set {
    /// Not reached yet.
    Later,
    /// At a bound.
    Lower,
    Upper,
    /// `w = 0`.
    Free,
}

/// Fixed bounds. Unbounded rows come first, so that the rest moves within them.
fn boxed(problem: &Problem, limits: &[(f64, f64)], pivots: usize, work: &Work) -> (DVector<f64>, usize, SolveStatus) {
    let (n, w, b) = (problem.rows(), &problem.delassus, &problem.bias);
    let mut z = DVector::from_fn(n, |i, _| 0.0_f64.max(limits[i].0).min(limits[i].1));
    let mut v = w * &z + b;
    let mut set = vec![Set::Later; n];
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&i| limits[i].0.is_finite() || limits[i].1.is_finite());
    let mut done = 0;
    for &i in &order {
        loop {
            let (lower, upper) = limits[i];
            let noise = 1e-13 * (b.amax() + w.row(i).iter().zip(z.iter()).map(|(a, z)| (a * z).abs()).sum::<f64>());
            set[i] = match v[i] {
                x if z[i] <= lower && x >= -noise => Set::Lower,
                x if z[i] >= upper && x <= noise => Set::Upper,
                x if x.abs() <= noise => Set::Free,
                _ => Set::Later,
            };
            if set[i] != Set::Later {
                break;
            }
            // the system of the free rows, the rates, and the velocity anew
            let free = set.iter().filter(|&&s| s == Set::Free).count();
            let pivot_work = 2 * factorization(free) + 3 * square(n);
            if done >= pivots || !work.affords(pivot_work) {
                return (z, done, SolveStatus::IterationLimit);
            }
            done += 1;
            work.pay(pivot_work);
            let Some((direction, rate)) = response(w, &set, i, -v[i].signum(), work) else {
                return (z, done, SolveStatus::IterationLimit);
            };
            // the first event on the way
            let mut event = (f64::INFINITY, i, Set::Later);
            let mut offer = |step: f64, row: usize, to: Set| {
                if step < event.0 {
                    event = (step.max(0.0), row, to);
                }
            };
            if rate[i] * direction[i] > FLAT * w[(i, i)].abs() {
                offer(-v[i] / rate[i], i, Set::Free);
            }
            offer(if direction[i] > 0.0 { upper - z[i] } else { z[i] - lower }, i, Set::Later);
            for j in (0..n).filter(|&j| j != i) {
                match set[j] {
                    Set::Later => {}
                    Set::Free => {
                        if direction[j] > 0.0 {
                            offer((limits[j].1 - z[j]) / direction[j], j, Set::Upper);
                        } else if direction[j] < 0.0 {
                            offer((limits[j].0 - z[j]) / direction[j], j, Set::Lower);
                        }
                    }
                    Set::Lower | Set::Upper => {
                        let fixed = limits[j].0 >= limits[j].1;
                        let falling = if set[j] == Set::Lower { -rate[j] } else { rate[j] };
                        if !fixed && falling > FLAT * w[(j, j)].abs() {
                            offer(v[j].abs() / falling, j, Set::Free);
                        }
                    }
                }
            }
            let (step, row, to) = event;
            if !step.is_finite() {
                return (z, done, SolveStatus::SecondaryRay);
            }
            z.axpy(step, &direction, 1.0);
            match to {
                Set::Lower => z[row] = limits[row].0,
                Set::Upper => z[row] = limits[row].1,
                Set::Later => z[row] = if direction[i] > 0.0 { upper } else { lower },
                Set::Free => {}
            }
            if row != i {
                set[row] = to;
            }
            v = w * &z + b;
            if to == Set::Free {
                v[row] = 0.0;
            }
            for j in 0..n {
                if set[j] == Set::Free {
                    v[j] = 0.0;
                }
            }
        }
    }
    (z, done, SolveStatus::Solved)
}

/// How `z` and `w` change when `z_i` moves by `sign` and the free rows compensate.
fn response(w: &DMatrix<f64>, set: &[Set], i: usize, sign: f64, work: &Work) -> Option<(DVector<f64>, DVector<f64>)> {
    let free: Vec<usize> = (0..set.len()).filter(|&j| set[j] == Set::Free && j != i).collect();
    let mut direction = DVector::zeros(set.len());
    direction[i] = sign;
    if !free.is_empty() {
        let block = DMatrix::from_fn(free.len(), free.len(), |a, b| w[(free[a], free[b])]);
        let right = DMatrix::from_fn(free.len(), 1, |a, _| -sign * w[(free[a], i)]);
        // a free row may depend on others (it came with w = 0): the smallest answer keeps all their w at zero
        let x = solve_general(&block, &right, work)?;
        for (&j, x) in free.iter().zip(x.iter()) {
            direction[j] = *x;
        }
    }
    if direction.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let rate = w * &direction;
    Some((direction, rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(problem: &Problem) {
        let (z, _, status) = dantzig(problem, 1e-11, 10_000, &Work::new(None));
        assert_eq!(status, SolveStatus::Solved, "{}", problem.name);
        let residual = natural_map_residual(problem, &z);
        assert!(residual < 1e-11, "{}: {residual:e}", problem.name);
    }

    #[test]
    fn boxes_and_box_friction_of_any_rank() {
        for seed in 0..60 {
            let x = |k: usize| (f64::from(seed) * 12.9898 + k as f64 * 78.233).sin();
            let (n, rank) = (9, [9, 5, 3][seed as usize % 3]);
            let j = DMatrix::from_fn(n, rank, |i, k| x(31 * i + k));
            // bias in the range of J, so that bilateral rows can be satisfied
            let bias = &j * DVector::from_fn(rank, |k, _| x(1000 + k));
            let mut laws = vec![Law::UNILATERAL; n];
            laws[1] = Law::Interval { lower: -0.3, upper: 0.4 };
            laws[2] = Law::BILATERAL;
            laws[3] = Law::Interval { lower: f64::NEG_INFINITY, upper: 0.0 };
            let delassus = &j * j.transpose();
            check(&Problem {
                name: format!("box {seed}"),
                delassus: delassus.clone(),
                bias: bias.clone(),
                laws: laws.clone(),
            });
            if rank == 9 {
                laws[5] = Law::Friction { normal: 4, friction: 0.3 };
                laws[7] = Law::Friction { normal: 6, friction: 0.2 };
                check(&Problem { name: format!("friction {seed}"), delassus, bias, laws });
            }
        }
    }

    #[test]
    fn what_nothing_can_stop_ends_on_a_ray() {
        let p = Problem::standard("", DMatrix::zeros(1, 1), DVector::from_element(1, -1.0));
        assert_eq!(dantzig(&p, 1e-9, 100, &Work::new(None)).2, SolveStatus::SecondaryRay);
    }
}
