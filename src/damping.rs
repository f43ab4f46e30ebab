//! When damping acts that is not simply in M + Δt D ([`crate::dynamics::factor`]): by the mean velocity of a step, after constraints, or as it was evaluated.

use crate::dynamics::{Dynamics, factor, solve_lower, solve_transposed};
use crate::lane::{Real, copies};
use crate::model::{ImplicitDamping, Model};
use crate::parameters::TileParameters;

/// D ← Θ D, for a step that is to be of second order in the damping: Θ = (1 + z)/(2 + z) with z = Δt D / M_ii for every degree of freedom.
///
/// (M + Δt Θ D) (v⁺ − v) = −Δt D v is the trapezoidal rule for z → 0, stable for every Θ ≥ ½, and one mass alone slows down by 1 / (1 + z + z²/2) a
/// step: it never turns around, however stiff its damper.
#[inline(always)]
pub fn center_damping<R: Real>(model: &Model, dt: R, d: &mut Dynamics<R>) {
    let two = R::constant(2.0);
    for (i, dof) in model.dofs.iter().enumerate() {
        // Θ = 1 − M_ii/(2 M_ii + Δt D)
        let (mass, damping) = (d.mass_matrix[dof.row_start], d.damping[i]);
        d.damping[i] = damping * (R::one() - mass / two.mul_add(mass, dt * damping));
    }
}

/// The step of MuJoCo, implicit in damping after constraints were solved without: (M + Δt D)(v⁺ − v) = M (v° − v), v° being the velocity that they gave.
#[derive(Debug, Clone)]
pub struct Damped<R> {
    /// D, shape \[nv\].
    damping: Vec<R>,
    /// L and 1/d of M + Δt D = Lᵀ diag(d) L, as in [`crate::dynamics::Response`] and [`Dynamics`].
    factor: Vec<R>,
    inverse_diagonal: Vec<R>,
}

impl<R: Real> Damped<R> {
    /// Room for `model`.
    pub fn new(model: &Model) -> Self {
        let zero = copies(R::zero(), model.nv());
        Self { damping: zero.clone(), factor: copies(R::zero(), model.packed_len()), inverse_diagonal: zero }
    }
}

/// Takes D out of the dynamics: what is not implicit in damping has none.
#[inline(always)]
pub fn no_damping<R: Real>(d: &mut Dynamics<R>) {
    d.damping.fill(R::zero());
}

/// Takes D out of the dynamics for [`damp`], after the constraints: of it what the model has implicit.
#[inline(always)]
pub fn later_damping<R: Real>(
    model: &Model,
    p: &TileParameters<'_, R>,
    dt: R,
    d: &mut Dynamics<R>,
    out: &mut Damped<R>,
) {
    if model.implicit_damping == ImplicitDamping::Joints {
        for (joint, damping) in model.joints.iter().zip(p.damping) {
            d.damping[joint.v_start..joint.v_start + joint.kind.nv()].fill(*damping);
        }
    }
    factor(model, dt, d);
    // what was in their place is room for what follows
    std::mem::swap(&mut out.damping, &mut d.damping);
    std::mem::swap(&mut out.factor, &mut d.response.factor);
    std::mem::swap(&mut out.inverse_diagonal, &mut d.inverse_diagonal);
    no_damping(d);
}

/// v⁺ = v° − (M + Δt D)⁻¹ Δt D (v° − v): `v` goes from v° to v⁺, `before` is v. `x`: room, shape \[nv\].
#[inline(always)]
pub fn damp<R: Real>(model: &Model, dt: R, damped: &Damped<R>, before: &[R], x: &mut [R], v: &mut [R]) {
    for i in 0..model.nv() {
        x[i] = dt * damped.damping[i] * (v[i] - before[i]);
    }
    solve_transposed(model, &damped.factor, x);
    for i in 0..model.nv() {
        x[i] = x[i] * damped.inverse_diagonal[i];
    }
    solve_lower(model, &damped.factor, &mut [&mut *x]);
    for i in 0..model.nv() {
        v[i] -= x[i];
    }
}
