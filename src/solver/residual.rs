//! The certificate, the twin of `shaders/residual.wgsl`.

use super::batch::{REPORT_FLOOR, REPORT_LIVE, REPORT_RESIDUAL, goal};
use super::project::{corrected_normal, is_finite, project_cone, project_interval, scale};
use super::settings::{Header, LAW_CONE};
use crate::lane::{Mask, Pack, Real};

/// Natural-map residual of one tile, m/s, from the impulse and the original W, b; and whether a block is still live.
///
/// - Scalar row, normal, or tangent under the box law: |λ − Π(λ − w/W_ii)| W_ii with Π onto the bounds, [0, ∞) or ±μ λ_n.
/// - Contact under the cone law: W_c ‖λ − P_K(λ − û/W_c)‖, û = u + μ‖u_t‖ e_n (De Saxcé), W_c the mean of the three W_ii.
///
/// The report gets the largest over the rows; the rounding floor 4 ε max_i (|b_i| + Σ_j |W_ij λ_j|); and live = 1 where the residual is above
/// what counts as solved ([`goal`]). A block whose numbers are not finite gets residual +∞, floor 0, live 0. Where W_ii ≤ 0, 1 takes its place.
#[inline(always)]
pub fn residual<R: Pack>(
    header: &Header,
    delassus: &[R],
    bias: &[R],
    friction: &[R],
    bounds: &[R],
    impulse: &[R],
    report: &mut [R],
) {
    let contact_count = header.contact_count as usize;
    let n = header.row_count();
    let impulse = &impulse[..n];
    let mut largest = R::zero();
    let mut magnitude = R::zero();
    let mut finite = R::Mask::splat(true);
    for c in 0..contact_count {
        let i = 3 * c;
        let (row0, rest) = delassus[n * i..n * (i + 3)].split_at(n);
        let (row1, row2) = rest.split_at(n);
        // u = b + W λ
        let (mut u0, mut u1, mut u2) = (bias[i], bias[i + 1], bias[i + 2]);
        let (mut sum0, mut sum1, mut sum2) = (u0.abs(), u1.abs(), u2.abs());
        for j in 0..n {
            u0 = row0[j].mul_add(impulse[j], u0);
            u1 = row1[j].mul_add(impulse[j], u1);
            u2 = row2[j].mul_add(impulse[j], u2);
            sum0 += (row0[j] * impulse[j]).abs();
            sum1 += (row1[j] * impulse[j]).abs();
            sum2 += (row2[j] * impulse[j]).abs();
        }
        let x = [impulse[i], impulse[i + 1], impulse[i + 2]];
        let diagonal = [row0[i], row1[i + 1], row2[i + 2]];
        let error = contact_residual(header.law, [u0, u1, u2], x, diagonal, friction[c]);
        finite = finite.and(is_finite(sum0 + sum1 + sum2)).and(is_finite(error));
        largest = error.max(largest);
        magnitude = sum0.max(sum1).max(sum2).max(magnitude);
    }
    for s in 0..header.scalar_count as usize {
        let i = 3 * contact_count + s;
        let row = &delassus[n * i..n * (i + 1)];
        // w = b + W λ
        let mut w = bias[i];
        let mut sum = w.abs();
        for j in 0..n {
            w = row[j].mul_add(impulse[j], w);
            sum += (row[j] * impulse[j]).abs();
        }
        let error = row_residual(w, impulse[i], row[i], bounds[2 * s], bounds[2 * s + 1]);
        finite = finite.and(is_finite(sum)).and(is_finite(error));
        largest = error.max(largest);
        magnitude = sum.max(magnitude);
    }
    write_report(header, largest, magnitude, finite, report);
}

/// Residual of a contact with impulse x and velocity u, m/s; not a number where any part of it is not.
#[inline(always)]
pub(crate) fn contact_residual<R: Real>(
    law: u32,
    [u0, u1, u2]: [R; 3],
    [x0, x1, x2]: [R; 3],
    [w0, w1, w2]: [R; 3],
    friction: R,
) -> R {
    if law == LAW_CONE {
        // ‖y − P_K(y − û)‖ with y = W_c λ: a cone has no size, and velocities are squared without underflow where impulses are not
        let weight = scale((w0 + w1 + w2) * R::constant(1.0 / 3.0));
        let (y0, y1, y2) = (weight * x0, weight * x1, weight * x2);
        let nearest = project_cone([y0 - corrected_normal([u0, u1, u2], friction), y1 - u1, y2 - u2], friction);
        let (e0, e1, e2) = (y0 - nearest[0], y1 - nearest[1], y2 - nearest[2]);
        e0.mul_add(e0, e1.mul_add(e1, e2 * e2)).sqrt()
    } else {
        let radius = friction * x0;
        let (d0, d1, d2) = (scale(w0), scale(w1), scale(w2));
        let e0 = (x0 - (x0 - u0 / d0).max(R::zero())).abs() * d0;
        let e1 = (x1 - project_interval(x1 - u1 / d1, -radius, radius)).abs() * d1;
        let e2 = (x2 - project_interval(x2 - u2 / d2, -radius, radius)).abs() * d2;
        // a maximum drops what is not a number; a sum does not
        (e0 + e1 + e2).mul_add(R::zero(), e0.max(e1).max(e2))
    }
}

/// Residual of a scalar row with impulse x, velocity w and diagonal W_ii, m/s.
#[inline(always)]
pub(crate) fn row_residual<R: Real>(w: R, x: R, diagonal: R, lower: R, upper: R) -> R {
    let d = scale(diagonal);
    (x - project_interval(x - w / d, lower, upper)).abs() * d
}

/// The certificate of blocks whose largest residual is `largest` and whose largest Σ|terms of u| is `magnitude`.
#[inline(always)]
pub(super) fn write_report<R: Pack>(header: &Header, largest: R, magnitude: R, finite: R::Mask, report: &mut [R]) {
    let floor = R::constant(4.0 * R::EPSILON) * magnitude;
    let live = finite.and(goal(R::constant(f64::from(header.tolerance)), floor).lt(largest));
    report[REPORT_RESIDUAL] = R::select(finite, largest, R::constant(f64::INFINITY));
    report[REPORT_FLOOR] = R::select(finite, floor, R::zero());
    report[REPORT_LIVE] = R::select(live, R::one(), R::zero());
}
