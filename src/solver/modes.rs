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
}

impl<R: Real> Mode<R> {
    /// This mode in `lanes`, and another one elsewhere.
    #[inline(always)]
    pub fn or(&self, lanes: R::Mask, other: Self) -> Self {
        let pick = |own: R, other: R| R::select(lanes, own, other);
        Self {
            pressed: pick(self.pressed, other.pressed),
            drag: [pick(self.drag[0], other.drag[0]), pick(self.drag[1], other.drag[1])],
            across: [pick(self.across[0], other.across[0]), pick(self.across[1], other.across[1])],
            stick: pick(self.stick, other.stick),
            curvature: [
                pick(self.curvature[0], other.curvature[0]),
                pick(self.curvature[1], other.curvature[1]),
                pick(self.curvature[2], other.curvature[2]),
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
