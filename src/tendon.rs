//! Fixed tendons: lengths that are sums of joint coordinates, L = Σ c q, and change by L̇ = Σ c v. A force along one acts on each of its joints, times c. Joints and their
//! coefficients are those of [`crate::model::Tendon::joints`].

use crate::lane::Real;
use crate::model::Model;

/// L = Σ c q, of one joint rad or m.
#[inline(always)]
pub(crate) fn length<R: Real>(model: &Model, joints: &[(usize, f64)], q: &[R]) -> R {
    let mut sum = R::zero();
    for &(joint, c) in joints {
        sum = R::constant(c).mul_add(q[model.joints[joint].q_start], sum);
    }
    sum
}

/// L̇ = Σ c v, of one joint rad/s or m/s.
#[inline(always)]
pub(crate) fn rate<R: Real>(model: &Model, joints: &[(usize, f64)], v: &[R]) -> R {
    let mut sum = R::zero();
    for &(joint, c) in joints {
        sum = R::constant(c).mul_add(v[model.joints[joint].v_start], sum);
    }
    sum
}

/// x ← x + c `by`, of a force or a row of J, shape \[nv\].
#[inline(always)]
pub(crate) fn add_along<R: Real>(model: &Model, joints: &[(usize, f64)], by: R, x: &mut [R]) {
    for &(joint, c) in joints {
        let dof = model.joints[joint].v_start;
        x[dof] = R::constant(c).mul_add(by, x[dof]);
    }
}
