//! Projected Gauss-Seidel, the twin of `shaders/pgs.wgsl`.

use super::project::{inverse, project_disc, project_interval};
use super::settings::{Header, LAW_CONE};
use crate::lane::{Pack, Real};

/// One projected Gauss-Seidel sweep over the blocks of one tile in `lanes`; the others stay as they are.
///
/// The three rows of a contact are read in one pass, u = b + W λ; a change of λ_n then adds its column to u_t.
/// - λ_n ← max(0, λ_n − u_n/W_nn)
/// - cone: λ_t ← disc(λ_t − u_t/a, μ λ_n), a = max(W_11, W_22) + |W_12| ≥ the 2×2 block
/// - box: each tangent by itself, λ_t ← clamp(λ_t − u_t/W_tt, ±μ λ_n)
/// - scalar row: λ ← clamp(λ − w/W_ii, lower, upper)
#[inline(always)]
pub fn pgs<R: Pack>(
    header: &Header,
    delassus: &[R],
    bias: &[R],
    friction: &[R],
    bounds: &[R],
    lanes: R::Mask,
    impulse: &mut [R],
) {
    let contact_count = header.contact_count as usize;
    let n = header.row_count();
    let impulse = &mut impulse[..n];
    for c in 0..contact_count {
        let i = 3 * c;
        let (row0, rest) = delassus[n * i..n * (i + 3)].split_at(n);
        let (row1, row2) = rest.split_at(n);
        // u = b + W λ
        let (mut u0, mut u1, mut u2) = (bias[i], bias[i + 1], bias[i + 2]);
        for j in 0..n {
            u0 = row0[j].mul_add(impulse[j], u0);
            u1 = row1[j].mul_add(impulse[j], u1);
            u2 = row2[j].mul_add(impulse[j], u2);
        }
        let old = [impulse[i], impulse[i + 1], impulse[i + 2]];
        let own = [
            [row0[i], row0[i + 1], row0[i + 2]],
            [row1[i], row1[i + 1], row1[i + 2]],
            [row2[i], row2[i + 1], row2[i + 2]],
        ];
        let steps = contact_steps(header.law, &own);
        let new = update_contact(header.law, [u0, u1, u2], old, &own, steps, friction[c]);
        for k in 0..3 {
            impulse[i + k] = R::select(lanes, new[k], old[k]);
        }
    }
    for s in 0..header.scalar_count as usize {
        let i = 3 * contact_count + s;
        let row = &delassus[n * i..n * (i + 1)];
        // w = b + W λ
        let mut w = bias[i];
        for j in 0..n {
            w = row[j].mul_add(impulse[j], w);
        }
        // λ ← clamp(λ − w/W_ii, lower, upper)
        let old = impulse[i];
        let new = project_interval((-w).mul_add(inverse(row[i]), old), bounds[2 * s], bounds[2 * s + 1]);
        impulse[i] = R::select(lanes, new, old);
    }
}

/// Change of the impulse per velocity, from the contact's own 3 × 3 block of W.
/// - cone: 1/W_nn, 1/a, a = max(W_11, W_22) + |W_12| ≥ the 2×2 block
/// - box: 1/W_nn, 1/W_11, 1/W_22
#[inline(always)]
pub(crate) fn contact_steps<R: Real>(law: u32, own: &[[R; 3]; 3]) -> [R; 3] {
    if law == LAW_CONE {
        let step = inverse(own[1][1].max(own[2][2]) + own[1][2].abs());
        [inverse(own[0][0]), step, step]
    } else {
        [inverse(own[0][0]), inverse(own[1][1]), inverse(own[2][2])]
    }
}

/// New impulse of a contact with velocity u, its own 3 × 3 block of W, and [`contact_steps`].
#[inline(always)]
pub(crate) fn update_contact<R: Real>(
    law: u32,
    [u0, mut u1, mut u2]: [R; 3],
    [old0, old1, old2]: [R; 3],
    own: &[[R; 3]; 3],
    steps: [R; 3],
    friction: R,
) -> [R; 3] {
    // λ_n ← max(0, λ_n − u_n/W_nn)
    let new0 = (-u0).mul_add(steps[0], old0).max(R::zero());
    let change0 = new0 - old0;
    u1 = own[1][0].mul_add(change0, u1);
    u2 = own[2][0].mul_add(change0, u2);
    let radius = friction * new0;
    if law == LAW_CONE {
        // λ_t ← disc(λ_t − u_t/a, μ λ_n)
        let tangent = project_disc([(-u1).mul_add(steps[1], old1), (-u2).mul_add(steps[2], old2)], radius);
        [new0, tangent[0], tangent[1]]
    } else {
        // λ_t ← clamp(λ_t − u_t/W_tt, ±μ λ_n), one after the other
        let new1 = project_interval((-u1).mul_add(steps[1], old1), -radius, radius);
        u2 = own[2][1].mul_add(new1 - old1, u2);
        [new0, new1, project_interval((-u2).mul_add(steps[2], old2), -radius, radius)]
    }
}
