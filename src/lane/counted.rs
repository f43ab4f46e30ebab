//! A number type that counts: run through the stages of the step, it tells the floating-point operations of one world.

use super::operations::{SIN_COS, count_operations};
use super::{Compiled, Pack, Real, Scalar, angles};
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// An `f32` that counts what is done with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub(crate) struct Counted(f32);

#[inline(always)]
fn counted(operations: u64, x: f32) -> Counted {
    count_operations(operations);
    Counted(x)
}

// Calls, not inlined: nothing waits for what is counted, and with these inlined the stages in this type were 0.4 MB longer.
impl Add for Counted {
    type Output = Self;
    #[inline(never)]
    fn add(self, b: Self) -> Self {
        counted(1, self.0 + b.0)
    }
}
impl Sub for Counted {
    type Output = Self;
    #[inline(never)]
    fn sub(self, b: Self) -> Self {
        counted(1, self.0 - b.0)
    }
}
impl Mul for Counted {
    type Output = Self;
    #[inline(never)]
    fn mul(self, b: Self) -> Self {
        counted(1, self.0 * b.0)
    }
}
impl Div for Counted {
    type Output = Self;
    #[inline(never)]
    fn div(self, b: Self) -> Self {
        counted(1, self.0 / b.0)
    }
}
impl Neg for Counted {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}
assigning!(Counted);
impl std::fmt::Display for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Real for Counted {
    type Mask = bool;
    const COMPILED: Compiled = Compiled::Baseline;
    const EPSILON: f64 = f32::EPSILON as f64;
    fn constant(x: f64) -> Self {
        Self(x as f32)
    }
    #[inline(never)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        counted(2, self.0.mul_add(a.0, b.0))
    }
    #[inline(never)]
    fn sqrt(self) -> Self {
        counted(1, self.0.sqrt())
    }
    fn abs(self) -> Self {
        Self(self.0.abs())
    }
    #[inline(never)]
    fn min(self, other: Self) -> Self {
        Self(Real::min(self.0, other.0))
    }
    #[inline(never)]
    fn max(self, other: Self) -> Self {
        Self(Real::max(self.0, other.0))
    }
    #[inline(never)]
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = Real::sin_cos(self.0);
        (counted(SIN_COS, sin), Self(cos))
    }
    fn atan2(self, x: Self) -> Self {
        angles(self, x)
    }
    fn lt(self, other: Self) -> bool {
        self.0 < other.0
    }
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
}

impl Pack for Counted {
    type Scalar = Self;
    type Exact = f64;
    const LANES: usize = 1;
    const PIECES: Compiled = Self::COMPILED;
    fn splat(x: Self) -> Self {
        x
    }
    fn lanes(&self) -> &[Self] {
        std::slice::from_ref(self)
    }
    fn lanes_mut(&mut self) -> &mut [Self] {
        std::slice::from_mut(self)
    }
}

impl Scalar for Counted {
    fn from_f64(x: f64) -> Self {
        Self(x as f32)
    }
    fn to_f64(self) -> f64 {
        f64::from(self.0)
    }
    fn is_finite(self) -> bool {
        self.0.is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::operations;

    #[test]
    fn operations_are_counted_and_bits_are_those_of_f32() {
        let before = operations();
        let (a, b) = (Counted(0.3), Counted(0.7));
        let x = a.mul_add(b, a / b).sqrt() - a;
        assert_eq!(operations() - before, 2 + 1 + 1 + 1);
        assert_eq!(x.0.to_bits(), (0.3f32.mul_add(0.7, 0.3 / 0.7).sqrt() - 0.3).to_bits());
    }
}
