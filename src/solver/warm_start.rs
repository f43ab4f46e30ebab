//! Stage `warm_start`, the twin of `shaders/warm_start.wgsl`: makes the first guess feasible.

use super::project::{is_finite, project_disc, project_interval};
use super::{Header, LAW_CONE, REPORT_FLOOR, REPORT_LIVE, REPORT_NEWTON_STEPS, REPORT_RESIDUAL, REPORT_SWEEPS};
use crate::lane::{Pack, Real};

/// The impulse that a contact may have, made of a guess: λ_n ≥ 0; λ_t into the disc or the box of μ λ_n.
#[inline(always)]
pub(crate) fn feasible<R: Real>(law: u32, [normal, t1, t2]: [R; 3], friction: R) -> [R; 3] {
    let normal = normal.max(R::zero());
    let radius = friction * normal;
    let [t1, t2] = if law == LAW_CONE {
        project_disc([t1, t2], radius)
    } else {
        [project_interval(t1, -radius, radius), project_interval(t2, -radius, radius)]
    };
    [normal, t1, t2]
}

/// Projects the first guess of one tile onto the feasible set and starts its report: no sweeps, live.
///
/// λ_n ≥ 0; λ_t into the disc or the box of μ λ_n; scalar rows into their bounds. A guess that is not finite counts as 0.
/// Shapes as in [`super::Group`], one tile of each.
#[inline(always)]
pub fn warm_start<R: Pack>(header: &Header, friction: &[R], bounds: &[R], impulse: &mut [R], report: &mut [R]) {
    let contact_count = header.contact_count as usize;
    for i in 0..header.row_count() {
        impulse[i] = R::select(is_finite(impulse[i]), impulse[i], R::zero());
    }
    for c in 0..contact_count {
        let i = 3 * c;
        let guess = feasible(header.law, [impulse[i], impulse[i + 1], impulse[i + 2]], friction[c]);
        impulse[i..i + 3].copy_from_slice(&guess);
    }
    for s in 0..header.scalar_count as usize {
        let i = 3 * contact_count + s;
        impulse[i] = project_interval(impulse[i], bounds[2 * s], bounds[2 * s + 1]);
    }
    report[REPORT_RESIDUAL] = R::zero();
    report[REPORT_FLOOR] = R::zero();
    report[REPORT_SWEEPS] = R::zero();
    report[REPORT_LIVE] = R::one();
    report[REPORT_NEWTON_STEPS] = R::zero();
}
