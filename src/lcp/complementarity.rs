//! Functions that vanish where two numbers, or two vectors of a cone, are complementary.

use super::cone::length;

/// The larger of two, where NaN counts as infinite.
pub(crate) fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::INFINITY } else { a.max(b) }
}

/// `φ(a, b) = √(a² + b²) - a - b`, zero exactly when `a >= 0`, `b >= 0`, `a b = 0`.
pub fn fischer_burmeister(a: f64, b: f64) -> f64 {
    let h = a.hypot(b);
    // h - (a + b) = -2 a b / (h + a + b) avoids cancellation where a + b > 0
    if a + b > 0.0 { -2.0 * a * b / (h + a + b) } else { h - a - b }
}

/// `|(x² + y²)^½ - x - y|` in the Jordan algebra of the second-order cone `{ |x_t| <= x_n }`.
///
/// ```text
/// x² = (|x|², 2 x_n x_t),   the eigenvalues of s are s_n ± |s_t|,   s^½ takes their roots
/// ```
pub(crate) fn jordan_fischer_burmeister(x: &[f64], y: &[f64]) -> f64 {
    let d = x.len();
    let mut s = [0.0; 4];
    s[0] = x.iter().chain(y).map(|v| v * v).sum();
    for k in 1..d {
        s[k] = 2.0 * (x[0] * x[k] + y[0] * y[k]);
    }
    let t = length(&s[1..d]);
    let (low, high) = ((s[0] - t).max(0.0).sqrt(), (s[0] + t).sqrt());
    let mut f = [0.0; 4];
    f[0] = f64::midpoint(low, high) - x[0] - y[0];
    for k in 1..d {
        let direction = if t > 0.0 { s[k] / t } else { 0.0 };
        f[k] = 0.5 * (high - low) * direction - x[k] - y[k];
    }
    length(&f[..d])
}
