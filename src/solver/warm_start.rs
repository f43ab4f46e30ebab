//! Makes the first guess feasible: the twin of `shaders/warm_start.wgsl`.

use super::project::{is_finite, project_disc, project_interval};
use super::settings::{Header, LAW_CONE};
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

/// A guess, or 0 where it is not finite.
#[inline(always)]
fn guess<R: Real>(x: R) -> R {
    R::select(is_finite(x), x, R::zero())
}

/// Projects the first guess of the blocks of one tile in `lanes` onto the feasible set; the others stay as they are.
///
/// λ_n ≥ 0; λ_t into the disc or the box of μ λ_n; scalar rows into their bounds. A guess that is not finite counts as 0.
/// Shapes as in [`super::Group`], one tile of each.
#[inline(always)]
pub fn warm_start<R: Pack>(header: &Header, friction: &[R], bounds: &[R], lanes: R::Mask, impulse: &mut [R]) {
    let contact_count = header.contact_count as usize;
    for c in 0..contact_count {
        let i = 3 * c;
        let old = [impulse[i], impulse[i + 1], impulse[i + 2]];
        let new = feasible(header.law, [guess(old[0]), guess(old[1]), guess(old[2])], friction[c]);
        for k in 0..3 {
            impulse[i + k] = R::select(lanes, new[k], old[k]);
        }
    }
    for s in 0..header.scalar_count as usize {
        let i = 3 * contact_count + s;
        let new = project_interval(guess(impulse[i]), bounds[2 * s], bounds[2 * s + 1]);
        impulse[i] = R::select(lanes, new, impulse[i]);
    }
}
