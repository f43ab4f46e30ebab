//! Packs as plain arrays: for every machine, vectorised by the compiler.

use super::{Compiled, Mask, Pack, PackMask, Real, Scalar, angles};
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A body for every lane `i` of `$n`. A loop that ends with its test is already in the form that the compiler wants loops in; turning thousands of
/// tiny ones, one an operation, took it a good part of the build.
macro_rules! every_lane {
    ($n:expr, $i:ident, $body:expr) => {
        let mut $i = 0;
        loop {
            $body;
            $i += 1;
            if $i >= $n {
                break;
            }
        }
    };
}

/// `N` numbers of type `S`, lane i belonging to the i-th world of a tile.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub struct Lanes<S, const N: usize>(pub [S; N]);

// SAFETY: 16 f32 are 64 bytes with alignment 64 and no padding, and every bit pattern is a valid f32.
#[allow(unsafe_code)]
unsafe impl bytemuck::Zeroable for Lanes<f32, 16> {}
// SAFETY: as above; `repr(C)` fixes the layout, and the type is Copy and 'static.
#[allow(unsafe_code)]
unsafe impl bytemuck::Pod for Lanes<f32, 16> {}
// SAFETY: 8 f64 are 64 bytes with alignment 64 and no padding, and every bit pattern is a valid f64.
#[allow(unsafe_code)]
unsafe impl bytemuck::Zeroable for Lanes<f64, 8> {}
// SAFETY: as above; `repr(C)` fixes the layout, and the type is Copy and 'static.
#[allow(unsafe_code)]
unsafe impl bytemuck::Pod for Lanes<f64, 8> {}
// The proofs' sizes: as many bytes as the numbers themselves, so no padding.
const _: () = assert!(size_of::<F32x16>() == 16 * size_of::<f32>() && size_of::<F64x8>() == 8 * size_of::<f64>());

/// The pack of the f32 backend: 16 worlds, one AVX-512 register or two AVX registers.
pub type F32x16 = Lanes<f32, 16>;
/// The pack of the f64 backend: 8 worlds.
pub type F64x8 = Lanes<f64, 8>;

/// One bit for each of `N` lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneMask<const N: usize>(pub [bool; N]);

impl<const N: usize> LaneMask<N> {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(bool, bool) -> bool) -> Self {
        let mut out = self;
        every_lane!(N, i, out.0[i] = f(self.0[i], other.0[i]));
        out
    }
}

impl<const N: usize> Mask for LaneMask<N> {
    #[inline(always)]
    fn splat(bit: bool) -> Self {
        Self([bit; N])
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }
    #[inline(always)]
    fn not(self) -> Self {
        self.zip(self, |a, _| !a)
    }
}

impl<const N: usize> PackMask for LaneMask<N> {
    const LANES: usize = N;
    #[inline(always)]
    fn any(self) -> bool {
        let mut any = false;
        every_lane!(N, i, any |= self.0[i]);
        any
    }
    #[inline(always)]
    fn get(self, lane: usize) -> bool {
        self.0[lane]
    }
    #[inline(always)]
    fn set(&mut self, lane: usize, bit: bool) {
        self.0[lane] = bit;
    }
}

impl<S: Scalar, const N: usize> Lanes<S, N> {
    #[inline(always)]
    fn map(self, f: impl Fn(S) -> S) -> Self {
        let mut out = self;
        every_lane!(N, i, out.0[i] = f(self.0[i]));
        out
    }
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(S, S) -> S) -> Self {
        let mut out = self;
        every_lane!(N, i, out.0[i] = f(self.0[i], other.0[i]));
        out
    }
}

impl<S: Scalar, const N: usize> Default for Lanes<S, N> {
    #[inline(always)]
    fn default() -> Self {
        Self([S::default(); N])
    }
}

macro_rules! lane_operator {
    ($trait:ident, $method:ident, $op:tt) => {
        impl<S: Scalar, const N: usize> $trait for Lanes<S, N> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.zip(other, |a, b| a $op b)
            }
        }
    };
}
lane_operator!(Add, add, +);
lane_operator!(Sub, sub, -);
lane_operator!(Mul, mul, *);
lane_operator!(Div, div, /);

impl<S: Scalar, const N: usize> Neg for Lanes<S, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}
assigning!(Lanes<S, N>, S, N);

impl<S: Scalar, const N: usize> Real for Lanes<S, N> {
    type Mask = LaneMask<N>;
    // On x86-64 registers take their place, and on machines without fused multiply-adds (before AVX2) the scalar types.
    const COMPILED: Compiled = if cfg!(target_arch = "x86_64") { Compiled::Nowhere } else { Compiled::Everywhere };
    const EPSILON: f64 = S::EPSILON;
    #[inline(always)]
    fn constant(x: f64) -> Self {
        Self::splat(S::from_f64(x))
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        let mut out = self;
        every_lane!(N, i, out.0[i] = self.0[i].mul_add(a.0[i], b.0[i]));
        out
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(S::sqrt)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.map(S::abs)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, S::min)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, S::max)
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let (mut sin, mut cos) = (self, self);
        for i in 0..N {
            (sin.0[i], cos.0[i]) = self.0[i].sin_cos();
        }
        (sin, cos)
    }
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        angles(self, x)
    }
    #[inline(always)]
    fn lt(self, other: Self) -> LaneMask<N> {
        let mut out = [false; N];
        every_lane!(N, i, out[i] = self.0[i] < other.0[i]);
        LaneMask(out)
    }
    #[inline(always)]
    fn select(mask: LaneMask<N>, yes: Self, no: Self) -> Self {
        let mut out = no;
        every_lane!(N, i, out.0[i] = if mask.0[i] { yes.0[i] } else { no.0[i] });
        out
    }
}

impl<S: Scalar, const N: usize> Pack for Lanes<S, N> {
    type Scalar = S;
    type Exact = F64x8;
    const LANES: usize = N;
    const PIECES: Compiled = Self::COMPILED;
    #[inline(always)]
    fn splat(x: S) -> Self {
        Self([x; N])
    }
    #[inline(always)]
    fn lanes(&self) -> &[S] {
        &self.0
    }
    #[inline(always)]
    fn lanes_mut(&mut self) -> &mut [S] {
        &mut self.0
    }
}
