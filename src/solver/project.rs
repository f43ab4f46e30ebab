//! Projections onto the sets that impulses must lie in: the twin of `shaders/common.wgsl`.

use crate::lane::{Mask, Real};

/// 1/d, or 0 where d is not positive: the row of an idle or immovable direction is left as it is.
#[inline(always)]
pub fn inverse<R: Real>(d: R) -> R {
    R::select(R::zero().lt(d), R::one() / d, R::zero())
}

/// d, or 1 where d is not positive: the residual of an immovable direction is its plain velocity, so it cannot hide.
#[inline(always)]
pub fn scale<R: Real>(d: R) -> R {
    R::select(R::zero().lt(d), d, R::one())
}

/// Whether x is neither infinite nor NaN.
#[inline(always)]
pub fn is_finite<R: Real>(x: R) -> R::Mask {
    x.abs().lt(R::constant(f64::INFINITY))
}

/// The point of [lower, upper] nearest to x.
#[inline(always)]
pub fn project_interval<R: Real>(x: R, lower: R, upper: R) -> R {
    x.max(lower).min(upper)
}

/// The point of the disc of `radius` nearest to x.
#[inline(always)]
pub fn project_disc<R: Real>(x: [R; 2], radius: R) -> [R; 2] {
    let length = x[0].mul_add(x[0], x[1] * x[1]).sqrt();
    let outside = radius.lt(length);
    let factor = R::select(outside, radius / length, R::one());
    // Adding 0 turns -0 into 0, so that idle rows never show in the bits.
    [x[0].mul_add(factor, R::zero()), x[1].mul_add(factor, R::zero())]
}

/// û_n = u_n + μ‖u_t‖: the normal velocity with De Saxcé's correction.
#[inline(always)]
pub fn corrected_normal<R: Real>([u0, u1, u2]: [R; 3], friction: R) -> R {
    friction.mul_add(u1.mul_add(u1, u2 * u2).sqrt(), u0)
}

/// The point of the cone K = { ‖x_t‖ ≤ μ x_n } nearest to x = (x_n, x_t).
#[inline(always)]
pub fn project_cone<R: Real>(x: [R; 3], friction: R) -> [R; 3] {
    let length = x[1].mul_add(x[1], x[2] * x[2]).sqrt();
    let inside = (friction * x[0]).lt(length).or(x[0].lt(R::zero())).not();
    // On the surface: n = max(0, (x_n + μ ‖x_t‖) / (1 + μ²)), t = μ n x_t / ‖x_t‖
    let normal = (friction.mul_add(length, x[0]) / friction.mul_add(friction, R::one())).max(R::zero());
    let factor = friction * normal * inverse(length);
    [R::select(inside, x[0], normal), R::select(inside, x[1], x[1] * factor), R::select(inside, x[2], x[2] * factor)]
}
