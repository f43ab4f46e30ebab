//! Projected Jacobi with a step that is always safe for a symmetric positive semidefinite `W`.
//!
//! All rows move at once from the same velocity, as on a GPU with one thread a row:
//!
//! ```text
//! row      y_i ← Π(y_i - v_i / d_i)          d_i = Σ_j |W_ij|
//! contact  r   ← P_K(r - v̂ / d)              d   = the largest d_i of its rows,  v̂ = v + μ |v_t| e_n
//! ```
//!
//! `W ≼ diag(Σ_j |W_ij|)`, so each step lowers the quadratic `½ yᵀWy + bᵀy` (a projected gradient step in a metric that
//! dominates `W`): no damping factor to choose.

use super::cone::{corrected_normal, project_cone, project_interval};
use super::problem::{Law, Problem};
use super::residual::bounds;
use super::scaled::Scaled;
use super::sweeps::{positive, repeat};
use super::work::Work;
use nalgebra::DVector;

/// Iterates until the natural map is at most `tolerance` (m/s) or `sweeps` are done, from `warm` or zero.
///
/// Returns the impulse (N·s) and the sweeps done.
pub(crate) fn jacobi(
    problem: &Problem,
    warm: Option<&DVector<f64>>,
    tolerance: f64,
    sweeps: usize,
    work: &Work,
) -> (DVector<f64>, usize) {
    let s = Scaled::new(problem, work);
    let n = s.rows();
    // d_i = Σ_j |W_ij|
    let mut d = DVector::from_fn(n, |i, _| positive(s.matrix.row(i).iter().map(|x| x.abs()).sum()));
    for group in &s.groups {
        let rows = group.law.rows();
        let largest = d.rows(group.row, rows).max();
        d.rows_mut(group.row, rows).fill(largest);
    }
    let mut y = s.start(warm);
    let done = repeat(&s, &mut y, tolerance, sweeps, |y, v| {
        let old = y.clone();
        for &group in &s.groups {
            let i = group.row;
            if let Law::Cone { friction, dimension } = group.law {
                let rows = i..i + dimension;
                let mut r = [0.0; 3];
                for k in 0..dimension {
                    r[k] = y[i + k] - v[i + k] / d[i];
                }
                r[0] = y[i] - corrected_normal(friction, &v.as_slice()[rows]) / d[i];
                project_cone(friction, &mut r[..dimension]);
                for k in 0..dimension {
                    y[i + k] = r[k];
                }
            } else {
                let (lower, upper) = bounds(group.law, old.as_slice());
                y[i] = project_interval(lower, upper, y[i] - v[i] / d[i]);
            }
        }
        *v = s.velocity(y);
    });
    (s.impulse(&y), done)
}
