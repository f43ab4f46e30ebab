//! What the sweeping solvers share: one projected Gauss-Seidel sweep, and the loop that repeats sweeps.

use super::cone::{project_disc, project_interval};
use super::problem::{Group, Law};
use super::residual::bounds;
use super::scaled::Scaled;
use nalgebra::DVector;

/// One Gauss-Seidel sweep, in place; `v = W y + b` is kept up to date.
///
/// ```text
/// row      y_i ← Π(y_i - ω v_i / W_ii)
/// contact  n ← max(0, y_n - ω v_n / W_nn);  update v_t;  t ← disc(y_t - ω v_t / a, μ n),  a = max(W_11, W_22) + |W_12|
/// ```
pub(crate) fn sweep(s: &Scaled<'_>, y: &mut DVector<f64>, v: &mut DVector<f64>, relaxation: f64) {
    for &group in &s.groups {
        match group.law {
            Law::Interval { .. } | Law::Friction { .. } => sweep_row(s, group, y, v, relaxation),
            Law::Cone { friction, dimension } => sweep_contact(s, group.row, (friction, dimension), y, v, relaxation),
            // has sweeps of its own
            Law::Patch(_) => {}
        }
    }
    s.work.pay(s.product_work + s.law_work());
}

/// The scalar row of a group: `y_i ← Π(y_i - ω v_i / W_ii)`, `W_ii` replaced by 1 where it is not positive.
pub(crate) fn sweep_row(s: &Scaled<'_>, group: Group, y: &mut DVector<f64>, v: &mut DVector<f64>, relaxation: f64) {
    let i = group.row;
    let (lower, upper) = bounds(group.law, y.as_slice());
    let new = project_interval(lower, upper, y[i] - relaxation * v[i] / positive(s.matrix[(i, i)]));
    let change = new - y[i];
    y[i] = new;
    s.push(v, i, change);
}

fn sweep_contact(
    s: &Scaled<'_>,
    row: usize,
    (friction, dimension): (f64, usize),
    y: &mut DVector<f64>,
    v: &mut DVector<f64>,
    relaxation: f64,
) {
    // n ← max(0, y_n - ω v_n / W_nn)
    let n = (y[row] - relaxation * v[row] / positive(s.matrix[(row, row)])).max(0.0);
    let change = n - y[row];
    y[row] = n;
    s.push(v, row, change);
    // t ← disc(y_t - ω v_t / a, μ n)
    let curvature = positive(tangential_bound(s, row, dimension));
    let mut t = [0.0; 2];
    for k in 1..dimension {
        t[k - 1] = y[row + k] - relaxation * v[row + k] / curvature;
    }
    project_disc(friction * n, &mut t[..dimension - 1]);
    for k in 1..dimension {
        let change = t[k - 1] - y[row + k];
        y[row + k] = t[k - 1];
        s.push(v, row + k, change);
    }
}

/// `a = max(W_11, W_22) + |W_12|`, at least the largest eigenvalue of the tangential block.
fn tangential_bound(s: &Scaled<'_>, row: usize, dimension: usize) -> f64 {
    let w = |i: usize, j: usize| s.matrix[(row + i, row + j)];
    if dimension == 2 { w(1, 1) } else { w(1, 1).max(w(2, 2)) + w(1, 2).abs().max(w(2, 1).abs()) }
}

/// `x` if it is positive, otherwise 1: a row without a diagonal moves by `v` itself.
pub(crate) fn positive(x: f64) -> f64 {
    if x > 0.0 { x } else { 1.0 }
}

/// After so many sweeps `v = W y + b` is computed anew.
const REFRESH: usize = 16;

/// Repeats `sweep` from `y` until the residual is at most `tolerance` (m/s), `limit` sweeps are done or the budget is;
/// leaves the best `y` that was seen and returns the number of sweeps.
pub(crate) fn repeat(
    s: &Scaled<'_>,
    y: &mut DVector<f64>,
    tolerance: f64,
    limit: usize,
    mut sweep: impl FnMut(&mut DVector<f64>, &mut DVector<f64>),
) -> usize {
    if !s.work.affords(2 * s.sweep_work()) {
        return 0;
    }
    let mut v = s.velocity(y);
    let mut best = (s.residual(y, &v), y.clone());
    let mut sweeps = 0;
    let mut price = s.sweep_work();
    while best.0 > tolerance && sweeps < limit && s.work.affords(price) {
        let before = s.work.spent();
        sweep(y, &mut v);
        sweeps += 1;
        let mut residual = s.residual(y, &v);
        if sweeps % REFRESH == 0 || residual <= tolerance {
            v = s.velocity(y);
            residual = s.residual(y, &v);
        }
        if !residual.is_finite() {
            break;
        }
        if residual < best.0 {
            best.0 = residual;
            best.1.copy_from(y);
        }
        price = price.max(s.work.spent() - before);
    }
    y.copy_from(&best.1);
    sweeps
}
