//! Fixed tendons: lengths that are sums of joint coordinates, L = Σ c q, and change by L̇ = Σ c v. A force along one acts on each of its joints, times c.

use crate::lane::Real;
use crate::model::{Model, Tendon};

/// L = Σ c q, rad or m.
#[inline(always)]
pub(crate) fn length<R: Real>(model: &Model, tendon: &Tendon, q: &[R]) -> R {
    let mut sum = R::zero();
    for &(joint, c) in &tendon.joints {
        sum = R::constant(c).mul_add(q[model.joints[joint].q_start], sum);
    }
    sum
}

/// L̇ = Σ c v, rad/s or m/s.
#[inline(always)]
pub(crate) fn rate<R: Real>(model: &Model, tendon: &Tendon, v: &[R]) -> R {
    let mut sum = R::zero();
    for &(joint, c) in &tendon.joints {
        sum = R::constant(c).mul_add(v[model.joints[joint].v_start], sum);
    }
    sum
}

/// τ ← τ + c `force`.
#[inline(always)]
pub(crate) fn pull<R: Real>(model: &Model, tendon: &Tendon, force: R, tau: &mut [R]) {
    for &(joint, c) in &tendon.joints {
        let dof = model.joints[joint].v_start;
        tau[dof] = R::constant(c).mul_add(force, tau[dof]);
    }
}
