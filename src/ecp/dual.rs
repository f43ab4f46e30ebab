//! Numbers with one derivative, for the Jacobian of the paper's equations.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// `value + slope ε`, ε² = 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Dual {
    pub value: f64,
    pub slope: f64,
}

/// A vector in space.
pub(super) type Dual3 = [Dual; 3];

impl Dual {
    pub fn constant(value: f64) -> Self {
        Self { value, slope: 0.0 }
    }

    /// √x; its slope at 0 is taken as 0.
    pub fn sqrt(self) -> Self {
        let root = self.value.max(0.0).sqrt();
        Self { value: root, slope: if root > 0.0 { self.slope / (2.0 * root) } else { 0.0 } }
    }

    /// The smaller one.
    pub fn min(self, other: Self) -> Self {
        if self.value <= other.value { self } else { other }
    }

    /// The larger one.
    pub fn max(self, other: Self) -> Self {
        if self.value >= other.value { self } else { other }
    }
}

impl Add for Dual {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        Self { value: self.value + b.value, slope: self.slope + b.slope }
    }
}
impl Sub for Dual {
    type Output = Self;
    fn sub(self, b: Self) -> Self {
        Self { value: self.value - b.value, slope: self.slope - b.slope }
    }
}
impl Mul for Dual {
    type Output = Self;
    fn mul(self, b: Self) -> Self {
        Self { value: self.value * b.value, slope: self.slope * b.value + self.value * b.slope }
    }
}
impl Mul<f64> for Dual {
    type Output = Self;
    fn mul(self, b: f64) -> Self {
        Self { value: self.value * b, slope: self.slope * b }
    }
}
impl Div for Dual {
    type Output = Self;
    fn div(self, b: Self) -> Self {
        let value = self.value / b.value;
        Self { value, slope: (self.slope - value * b.slope) / b.value }
    }
}
impl Neg for Dual {
    type Output = Self;
    fn neg(self) -> Self {
        Self { value: -self.value, slope: -self.slope }
    }
}

/// a · b
pub(super) fn dot(a: Dual3, b: Dual3) -> Dual {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// a × b
pub(super) fn cross(a: Dual3, b: Dual3) -> Dual3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// a + s b
pub(super) fn along(a: Dual3, s: Dual, b: Dual3) -> Dual3 {
    std::array::from_fn(|k| a[k] + s * b[k])
}

/// a / |a|
pub(super) fn unit(a: Dual3) -> Dual3 {
    let length = dot(a, a).sqrt();
    a.map(|x| x / length)
}

/// `φ(a, b) = a + b − √(a² + b²)`, zero exactly where `a ≥ 0`, `b ≥ 0`, `a b = 0`.
///
/// At a = b = 0, where it has no derivative, that along `(1, 1)`: an element of the generalized one.
pub(super) fn fischer_burmeister(a: Dual, b: Dual) -> Dual {
    let size = a.value.hypot(b.value);
    let (da, db) = if size > 0.0 {
        (1.0 - a.value / size, 1.0 - b.value / size)
    } else {
        (1.0 - std::f64::consts::FRAC_1_SQRT_2, 1.0 - std::f64::consts::FRAC_1_SQRT_2)
    };
    // a + b − h = 2 a b / (a + b + h) avoids cancellation where a + b > 0
    let sum = a.value + b.value;
    let value = if sum > 0.0 { 2.0 * a.value * b.value / (sum + size) } else { sum - size };
    Dual { value, slope: da * a.slope + db * b.slope }
}
