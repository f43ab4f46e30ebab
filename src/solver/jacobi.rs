//! Projected Jacobi, the twin of `shaders/jacobi.wgsl`.

use super::project::{inverse, project_disc, project_interval};
use super::settings::{Header, LAW_CONE};
use crate::lane::Pack;

/// One projected Jacobi sweep over the blocks of one tile in `lanes`; the others stay as they are.
///
/// All w come from the last sweep's λ. Each step is divided by the row sum D_i = Σ_j |W_ij|: D − W is diagonally dominant, so
/// D bounds W and the steps cannot overshoot, whatever the size of the block.
/// - λ_n ← max(0, λ_n − u_n/D_n)
/// - cone: λ_t ← disc(λ_t − u_t/max(D_1, D_2), μ λ_n);  box: λ_t ← clamp(λ_t − u_t/D_t, ±μ λ_n)
/// - scalar row: λ ← clamp(λ − w/D_i, lower, upper)
///
/// `next_impulse`, shape `[row]`, is scratch.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "what the stage `sweeps` has, and the lanes")]
pub fn jacobi<R: Pack>(
    header: &Header,
    delassus: &[R],
    bias: &[R],
    friction: &[R],
    bounds: &[R],
    lanes: R::Mask,
    next_impulse: &mut [R],
    impulse: &mut [R],
) {
    let contact_count = header.contact_count as usize;
    let n = header.row_count();
    let impulse = &mut impulse[..n];
    for c in 0..contact_count {
        let i = 3 * c;
        let (row0, rest) = delassus[n * i..n * (i + 3)].split_at(n);
        let (row1, row2) = rest.split_at(n);
        // u = b + W λ, D = Σ |W|
        let (mut u0, mut u1, mut u2) = (bias[i], bias[i + 1], bias[i + 2]);
        let (mut d0, mut d1, mut d2) = (R::zero(), R::zero(), R::zero());
        for j in 0..n {
            u0 = row0[j].mul_add(impulse[j], u0);
            u1 = row1[j].mul_add(impulse[j], u1);
            u2 = row2[j].mul_add(impulse[j], u2);
            d0 += row0[j].abs();
            d1 += row1[j].abs();
            d2 += row2[j].abs();
        }
        // λ_n ← max(0, λ_n − u_n/D_n)
        let new0 = (-u0).mul_add(inverse(d0), impulse[i]).max(R::zero());
        let radius = friction[c] * new0;
        let (new1, new2) = if header.law == LAW_CONE {
            // λ_t ← disc(λ_t − u_t/max(D_1, D_2), μ λ_n)
            let step = inverse(d1.max(d2));
            let tangent =
                project_disc([(-u1).mul_add(step, impulse[i + 1]), (-u2).mul_add(step, impulse[i + 2])], radius);
            (tangent[0], tangent[1])
        } else {
            // λ_t ← clamp(λ_t − u_t/D_t, ±μ λ_n)
            let new1 = project_interval((-u1).mul_add(inverse(d1), impulse[i + 1]), -radius, radius);
            let new2 = project_interval((-u2).mul_add(inverse(d2), impulse[i + 2]), -radius, radius);
            (new1, new2)
        };
        next_impulse[i] = new0;
        next_impulse[i + 1] = new1;
        next_impulse[i + 2] = new2;
    }
    for s in 0..header.scalar_count as usize {
        let i = 3 * contact_count + s;
        let row = &delassus[n * i..n * (i + 1)];
        // w = b + W λ, D = Σ |W|
        let mut w = bias[i];
        let mut d = R::zero();
        for j in 0..n {
            w = row[j].mul_add(impulse[j], w);
            d += row[j].abs();
        }
        // λ ← clamp(λ − w/D_i, lower, upper)
        next_impulse[i] = project_interval((-w).mul_add(inverse(d), impulse[i]), bounds[2 * s], bounds[2 * s + 1]);
    }
    for i in 0..n {
        impulse[i] = R::select(lanes, next_impulse[i], impulse[i]);
    }
}
