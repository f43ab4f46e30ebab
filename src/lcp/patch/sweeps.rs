//! Block Gauss-Seidel on a [`System`]: rows one by one, then each friction block exactly.
//!
//! ```text
//! λ_i ← Π(λ_i − w_i / W_ii);   d anew;   s ← argmin ½ sᵀ D s + gᵀ s, |s| ≤ μ N
//! ```
//!
//! with `D = Sᵀ W_ff S` and `g = y − D s`: one projection in place of the last would take up to ten times the sweeps.

use super::ellipsoid::least_on_ball;
use super::newton::Point;
use super::system::{Row, System, project_disc_cone};
use crate::lane::Scalar;
use crate::lcp::work::{ROW, TRIAL, Work, square};

/// Projected steps on the three rows of a disc in one sweep.
const DISC_STEPS: usize = 8;

/// Sweeps from `point`, which holds the best point afterwards; returns how many.
pub(super) fn sweeps<R: Scalar>(
    system: &System<R>,
    point: &mut Point<R>,
    tolerance: f64,
    limit: usize,
    work: &Work,
) -> usize {
    let n = system.rows();
    let price = 2 * square(n) + ROW * n as u64 + TRIAL * system.frictions.len() as u64;
    let mut now = point.clone();
    let mut done = 0;
    while point.residual > tolerance && done < limit && work.affords(price) {
        work.pay(price);
        sweep(system, &mut now);
        done += 1;
        // the unknowns as they are, or rounding walks through them
        now = Point::at(system, std::mem::take(&mut now.x));
        if !now.residual.is_finite() {
            break;
        }
        if now.residual < point.residual {
            point.clone_from(&now);
        }
    }
    done
}

/// Adds `change` to impulse `row`, and what it does to w.
fn push<R: Scalar>(system: &System<R>, now: &mut Point<R>, row: usize, change: R) {
    if change == R::zero() {
        return;
    }
    now.z[row] += change;
    for i in 0..system.rows() {
        now.w[i] += system.entry(i, row) * change;
    }
}

fn sweep<R: Scalar>(system: &System<R>, now: &mut Point<R>) {
    for &Row { row, bounds: [lower, upper] } in &system.bounded {
        let new = (now.z[row] - system.steps[row] * now.w[row]).max(lower).min(upper);
        let change = new - now.z[row];
        push(system, now, row, change);
        now.x[row] = new;
    }
    for &row in &system.discs {
        // no eigenvalue of a positive semidefinite block exceeds its trace, 3 / ρ
        let rho = system.steps[row] / R::constant(3.0);
        for _ in 0..DISC_STEPS {
            let p = project_disc_cone(std::array::from_fn(|k| now.z[row + k] - rho * now.w[row + k])).0;
            for k in 0..3 {
                let change = p[k] - now.z[row + k];
                push(system, now, row + k, change);
                now.x[row + k] = p[k];
            }
        }
    }
    for block in &system.frictions {
        let pressure = block.pressure(&now.z);
        let mut s = block.unknowns(&now.x);
        // the ECP has moved: s acts at the new one
        let mut z = now.z.clone();
        block.put(s, pressure.centre, &mut z);
        for k in 0..block.dimension {
            let change = z[block.rows[k]] - now.z[block.rows[k]];
            push(system, now, block.rows[k], change);
        }
        let d = block.inverse_inertia(|i, j| system.entry(i, j), pressure.centre);
        let y = block.slip(&now.w, pressure.centre);
        let g = std::array::from_fn(|i| y[i] - (0..3).fold(R::zero(), |sum, j| sum + d[i][j] * s[j]));
        s = least_on_ball(&d, g, block.friction * pressure.sum, &mut R::zero(), true);
        block.put(s, pressure.centre, &mut z);
        for k in 0..block.dimension {
            let row = block.rows[k];
            let change = z[row] - now.z[row];
            push(system, now, row, change);
            now.x[row] = s[k];
        }
    }
}
