//! Lengths of tendons, and how they change with v: L = Σ c q of joints, or that of a path ([`crate::model::Tendon`]). A force along one acts on every degree of freedom as much as that changes its length.

use crate::kinematics::Kinematics;
use crate::lane::Real;
use crate::model::Model;

/// L of tendon `t`, of one joint rad or m.
#[inline(always)]
pub(crate) fn length<R: Real>(model: &Model, k: &Kinematics<R>, t: usize, q: &[R]) -> R {
    let tendon = &model.tendons[t];
    if tendon.is_spatial() {
        return k.tendon_length[t];
    }
    let mut sum = R::zero();
    for &(joint, c) in &tendon.joints {
        sum = R::constant(c).mul_add(q[model.joints[joint].q_start], sum);
    }
    sum
}

/// L̇, of one joint rad/s or m/s.
#[inline(always)]
pub(crate) fn rate<R: Real>(model: &Model, k: &Kinematics<R>, t: usize, v: &[R]) -> R {
    let (tendon, mut sum) = (&model.tendons[t], R::zero());
    if tendon.is_spatial() {
        for (moment, v) in moment(model, k, t).iter().zip(v) {
            sum = moment.mul_add(*v, sum);
        }
        return sum;
    }
    for &(joint, c) in &tendon.joints {
        sum = R::constant(c).mul_add(v[model.joints[joint].v_start], sum);
    }
    sum
}

/// x ← x + ∂L/∂q `by`, of a force or a row of J, shape \[nv\].
#[inline(always)]
pub(crate) fn add_along<R: Real>(model: &Model, k: &Kinematics<R>, t: usize, by: R, x: &mut [R]) {
    let tendon = &model.tendons[t];
    if tendon.is_spatial() {
        for (moment, x) in moment(model, k, t).iter().zip(x) {
            *x = moment.mul_add(by, *x);
        }
        return;
    }
    for &(joint, c) in &tendon.joints {
        let dof = model.joints[joint].v_start;
        x[dof] = R::constant(c).mul_add(by, x[dof]);
    }
}

/// The worlds in which L of a spatial tendon changes with v at all: it does not at a dead centre.
#[inline(always)]
pub(crate) fn pulls<R: Real>(model: &Model, k: &Kinematics<R>, t: usize) -> R::Mask {
    let mut most = R::zero();
    for moment in moment(model, k, t) {
        most = moment.abs().max(most);
    }
    R::zero().lt(most)
}

/// ∂L/∂q of a spatial tendon, shape \[nv\].
#[inline(always)]
fn moment<'a, R: Real>(model: &Model, k: &'a Kinematics<R>, t: usize) -> &'a [R] {
    &k.tendon_moment[t * model.nv()..(t + 1) * model.nv()]
}
