//! Force of a muscle: by its activation, its length and how fast that changes, with the curves of MuJoCo 4.0.

use crate::lane::{Mask, Real};
use crate::model::Muscle;

/// Force before the gear, N: −F (FL(L) FV(V) a + FP(L)).
#[inline(always)]
pub(crate) fn muscle_force<R: Real>(muscle: &Muscle, activation: R, length: R, rate: R) -> R {
    let rest = muscle.rest_length();
    // in lengths at rest
    let l = R::constant(1.0 / rest).mul_add(length, R::constant(muscle.range[0] - muscle.length_range[0] / rest));
    let v = R::constant(1.0 / (rest * muscle.fastest)) * rate;
    let active = force_of_length(muscle, l) * force_of_velocity(muscle, v);
    R::constant(-muscle.force) * active.mul_add(activation, passive_force(muscle, l))
}

/// FL: 1 at rest, 0 where it cannot pull, and four parts of parabolas in between.
#[inline(always)]
fn force_of_length<R: Real>(muscle: &Muscle, l: R) -> R {
    let ([least, most], half, one) = (muscle.reach, R::constant(0.5), R::one());
    let (rising, falling) = (f64::midpoint(least, 1.0), f64::midpoint(most, 1.0));
    let share = |from: f64, to: f64| (l - R::constant(from)) * R::constant(1.0 / (to - from));
    // from either end, and from the middle
    let low = R::select(l.lt(R::constant(rising)), share(least, rising), share(1.0, rising));
    let high = R::select(l.lt(R::constant(falling)), share(1.0, falling), share(most, falling));
    let shortened = l.lt(one);
    let x = R::select(shortened, low, high);
    let middle = l.lt(R::constant(rising)).not().and(l.lt(R::constant(falling)));
    let curve = half * x * x;
    let curve = R::select(middle, one - curve, curve);
    let beyond = l.lt(R::constant(least)).or(R::constant(most).lt(l));
    R::select(beyond, R::zero(), curve)
}

/// FV: 0 where it shortens as fast as it can, 1 at rest, and more as it is stretched.
#[inline(always)]
fn force_of_velocity<R: Real>(muscle: &Muscle, v: R) -> R {
    let (zero, one, most) = (R::zero(), R::one(), R::constant(muscle.stretched));
    let more = muscle.stretched - 1.0;
    let shortening = (v + one).max(zero);
    let left = (R::constant(more) - v).max(zero);
    let stretching = most - left * left * R::constant(1.0 / more.max(1e-15));
    R::select(zero.lt(v), stretching, shortening * shortening)
}

/// FP: 0 up to the length at rest, then a parabola, then a line.
#[inline(always)]
fn passive_force<R: Real>(muscle: &Muscle, l: R) -> R {
    let falling = f64::midpoint(muscle.reach[1], 1.0);
    let scale = 1.0 / (falling - 1.0);
    let near = ((l - R::one()) * R::constant(scale)).max(R::zero());
    let far = (l - R::constant(falling)) * R::constant(scale);
    let half = R::constant(0.5);
    R::constant(muscle.passive) * R::select(R::constant(falling).lt(l), half + far, half * near * near)
}
