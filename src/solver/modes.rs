//! What a contact may do, as Newton guesses it from p = y − u (Alart & Curnier 1991): λ = R x, and the equations for x.
//!
//! | mode | when | λ = R x | equations Lᵀ(W λ + b) + D x = 0 |
//! |---|---|---|---|
//! | open | p_n ≤ 0 | 0 | – |
//! | stick | ‖p_t‖ ≤ μ p_n | x | u = 0 |
//! | slide | else, d = p_t/‖p_t‖, e ⟂ d, k = μ p_n/‖p_t‖ | x₀ (1, μ d) + x₁ (0, e) | u_n = 0, e·u_t + (1 − k)/k x₁ = 0 |
//! | row at a bound | p beyond it | the bound c | – |
//! | row between | else | x | w = 0 |

use super::project::inverse;
use crate::lane::{Mask, Real};

/// Least k of a sliding contact: bounds the curvature (1 − k)/k.
const LEAST_SHARE: f64 = 1e-3;

/// What a contact is taken to do: the entries of R and L that are not zero, and D; lacking unknowns have D = 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode<R> {
    /// 1 where the contact is pressed.
    pub pressed: R,
    /// Tangents of the first column of R: μ d where it slides.
    pub drag: [R; 2],
    /// Tangents of the second and third columns.
    pub across: [R; 2],
    /// Second tangent of the third column: 1 where it sticks.
    pub stick: R,
    /// Diagonal of D.
    pub curvature: [R; 3],
}

impl<R: Real> Mode<R> {
    /// What a contact does, from p = y − u.
    #[inline(always)]
    pub fn of(p: [R; 3], friction: R) -> Self {
        let (zero, one) = (R::zero(), R::one());
        let pressed = zero.lt(p[0]);
        let length = p[1].mul_add(p[1], p[2] * p[2]).sqrt();
        let radius = friction * p[0];
        let slides = radius.lt(length);
        let sticks = slides.not().and(pressed);
        let slides = slides.and(pressed);
        let over = inverse(length);
        let d = [p[1] * over, p[2] * over];
        // k = μ p_n / ‖p_t‖; without friction nothing is across
        let share = (radius * over).max(R::constant(LEAST_SHARE));
        let rough = slides.and(zero.lt(friction));
        let drag = R::select(slides, friction, zero);
        Self {
            pressed: R::select(pressed, one, zero),
            drag: [drag * d[0], drag * d[1]],
            across: [R::select(sticks, one, R::select(rough, -d[1], zero)), R::select(rough, d[0], zero)],
            stick: R::select(sticks, one, zero),
            curvature: [
                R::select(pressed, zero, one),
                R::select(sticks, zero, R::select(rough, (one - share) / share, one)),
                R::select(sticks, zero, one),
            ],
        }
    }

    /// `yes` in the lanes of the mask, `no` elsewhere.
    #[inline(always)]
    pub fn select(mask: R::Mask, yes: &Self, no: &Self) -> Self {
        let pick = |yes: R, no: R| R::select(mask, yes, no);
        Self {
            pressed: pick(yes.pressed, no.pressed),
            drag: [pick(yes.drag[0], no.drag[0]), pick(yes.drag[1], no.drag[1])],
            across: [pick(yes.across[0], no.across[0]), pick(yes.across[1], no.across[1])],
            stick: pick(yes.stick, no.stick),
            curvature: [
                pick(yes.curvature[0], no.curvature[0]),
                pick(yes.curvature[1], no.curvature[1]),
                pick(yes.curvature[2], no.curvature[2]),
            ],
        }
    }
}

/// R x
#[inline(always)]
pub(crate) fn expand<R: Real>(mode: &Mode<R>, x: [R; 3]) -> [R; 3] {
    [
        mode.pressed * x[0],
        mode.drag[0].mul_add(x[0], mode.across[0] * x[1]),
        mode.drag[1].mul_add(x[0], mode.across[1].mul_add(x[1], mode.stick * x[2])),
    ]
}

/// Lᵀ t: like Rᵀ, but for the drag.
#[inline(always)]
pub(crate) fn tests<R: Real>(mode: &Mode<R>, t: [R; 3]) -> [R; 3] {
    [mode.pressed * t[0], mode.across[0].mul_add(t[1], mode.across[1] * t[2]), mode.stick * t[2]]
}
