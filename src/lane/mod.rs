//! Number types: one formula, many precisions and widths.
//!
//! Every stage of the step is written once over [`Real`]: `f64` (the oracle), `f32`, or [`Lanes`], a pack whose
//! lanes are worlds. The operations are branch-free (select instead of `if`), so a lane never sees its neighbours,
//! and every operation is correctly rounded or a fixed sequence of such, so the bits of a lane are those of the scalar type.
//!
//! A body written `#[inline(always)]` over [`Real`] and run by [`Level::run`] is compiled once for every instruction
//! set that the machine may have; all levels give the same bits, because fused multiply-adds are written out
//! ([`Real::mul_add`]) and never left to the compiler.

/// `+=` and `-=` by `+` and `-`.
macro_rules! assigning {
    ($type:ty $(, $s:ident, $n:ident)?) => {
        impl$(<$s: Scalar, const $n: usize>)? AddAssign for $type {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl$(<$s: Scalar, const $n: usize>)? SubAssign for $type {
            #[inline(always)]
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(any(scalar, test))]
mod counted;
mod level;
mod operations;
mod pack;
#[cfg(feature = "gpu")]
mod recorded;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::{Pair, Pair64};
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::{Wide, Wide64};
#[cfg(any(scalar, test))]
pub(crate) use counted::Counted;
#[cfg(target_arch = "x86_64")]
pub(crate) use level::HAS_AVX512;
pub use level::{Compiled, Level, Task};
pub(crate) use level::{HAS_SCALAR, NO_SCALAR};
#[cfg(feature = "gpu")]
pub(crate) use operations::count_operations;
pub(crate) use operations::operations;
pub use pack::{F32x16, F64x8, LaneMask, Lanes};
#[cfg(feature = "gpu")]
pub(crate) use recorded::{Program, Recorded, record};

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// One bit a lane.
pub trait Mask: Copy + Debug + 'static {
    /// All lanes equal to `bit`.
    fn splat(bit: bool) -> Self;
    /// Lane-wise and.
    fn and(self, other: Self) -> Self;
    /// Lane-wise or.
    fn or(self, other: Self) -> Self;
    /// Lane-wise not.
    fn not(self) -> Self;
}

/// A mask whose bits can be read.
pub trait PackMask: Mask + Send + Sync {
    /// Number of lanes.
    const LANES: usize;
    /// Lane i set where bit i is.
    #[inline(always)]
    fn from_bits(bits: u32) -> Self {
        let mut mask = Self::splat(false);
        for lane in 0..Self::LANES {
            mask.set(lane, bits >> lane & 1 != 0);
        }
        mask
    }
    /// One bit a lane.
    #[inline(always)]
    fn bits(self) -> u32 {
        let mut bits = 0;
        for lane in 0..Self::LANES {
            bits |= u32::from(self.get(lane)) << lane;
        }
        bits
    }
    /// Whether any lane is set.
    fn any(self) -> bool;
    /// The bit of `lane`.
    fn get(self, lane: usize) -> bool;
    /// Sets the bit of `lane`.
    fn set(&mut self, lane: usize, bit: bool);
}

/// What formulas are made of: a number, a pack of numbers whose lanes are worlds, or the record of what would be done with them.
///
/// All operations act lane by lane. Nothing here looks into a lane: what must, asks for a [`Pack`].
pub trait Real:
    Copy
    + Debug
    + Default
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    /// One bit a lane.
    type Mask: Mask;
    /// The levels that large bodies, such as the stages of the step, are compiled for where worlds are kept in this type.
    const COMPILED: Compiled;
    /// Unit roundoff ε of the type (distance from 1 to the next number).
    const EPSILON: f64;

    /// All lanes equal to `x`, rounded to the lane type.
    fn constant(x: f64) -> Self;
    /// `self · a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// The smaller one; `other` where `self` is not a number.
    fn min(self, other: Self) -> Self;
    /// The larger one; `other` where `self` is not a number.
    fn max(self, other: Self) -> Self;
    /// Sine and cosine of an angle in rad.
    fn sin_cos(self) -> (Self, Self);
    /// Angle of the point (x, self) of the plane, rad, in (−π, π].
    fn atan2(self, x: Self) -> Self;
    /// `self < other`; false where either is not a number.
    fn lt(self, other: Self) -> Self::Mask;
    /// `yes` where the mask is set, `no` elsewhere.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// All lanes 0.
    #[inline(always)]
    fn zero() -> Self {
        Self::constant(0.0)
    }
    /// All lanes 1.
    #[inline(always)]
    fn one() -> Self {
        Self::constant(1.0)
    }
    /// Runs a part of a body, on numbers of this type and so on the level that they are compiled for, as a function of its own: bodies that call it have no copies of it, and the compiler's time goes
    /// with more than the length of a function.
    #[inline(always)]
    fn run<T: Task>(part: T) -> T::Output {
        // what is recorded, and arrays, which stand in for registers in unit tests, have no level
        if const { matches!(T::COMPILED, Compiled::Nowhere) } { part.run() } else { Level::default().run(part) }
    }
}

/// `count` times `x`. A function of its own for every type, since `vec!` writes out how so large an x is copied wherever it stands.
#[inline(never)]
pub(crate) fn copies<T: Copy>(x: T, count: usize) -> Vec<T> {
    vec![x; count]
}

/// No number type has more lanes.
pub const MOST_LANES: usize = 16;
/// Every lane's own number: where [`Pack::gather`] finds strips that stand lane by lane.
pub(crate) const EVERY_LANE: [u32; MOST_LANES] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// Numbers of a lane that are moved together, see [`Pack::gather`].
pub const STRIP: usize = 8;

/// A number, or a pack of numbers whose lanes are worlds: [`Real`] numbers that can be looked into. `LANES` is 1 for the scalar types.
pub trait Pack: Real<Mask: PackMask> + Send + Sync {
    /// The type of one lane.
    type Scalar: Scalar;
    /// The number type in which a world is stepped once more that this one is too coarse for: f64, in packs where packs run.
    type Exact: Pack<Exact = Self::Exact>;
    /// Number of lanes.
    const LANES: usize;
    /// The levels that pieces of a solve are compiled for: all of a scalar type, in which blocks of packs are solved by themselves.
    const PIECES: Compiled;

    /// All lanes equal to `x`.
    fn splat(x: Self::Scalar) -> Self;
    /// The lanes as a slice.
    fn lanes(&self) -> &[Self::Scalar];
    /// The lanes as a slice.
    fn lanes_mut(&mut self) -> &mut [Self::Scalar];

    /// The value of `lane`.
    #[inline(always)]
    fn get(&self, lane: usize) -> Self::Scalar {
        self.lanes()[lane]
    }
    /// Sets the value of `lane`.
    #[inline(always)]
    fn set(&mut self, lane: usize, x: Self::Scalar) {
        self.lanes_mut()[lane] = x;
    }
    /// The strips `rows[at[lane]]` of all lanes, turned: number k of a lane's strip goes into its lane of pack k.
    #[inline(always)]
    fn gather(rows: &[[Self::Scalar; STRIP]], at: &[u32; MOST_LANES]) -> [Self; STRIP] {
        let mut packs = [Self::zero(); STRIP];
        for (lane, &at) in at.iter().enumerate().take(Self::LANES) {
            let row = &rows[at as usize];
            for k in 0..STRIP {
                packs[k].set(lane, row[k]);
            }
        }
        packs
    }
    /// The way back of [`Pack::gather`]; every lane has a place of its own.
    #[inline(always)]
    fn scatter(packs: &[Self; STRIP], rows: &mut [[Self::Scalar; STRIP]], at: &[u32; MOST_LANES]) {
        for (lane, &at) in at.iter().enumerate().take(Self::LANES) {
            let row = &mut rows[at as usize];
            for k in 0..STRIP {
                row[k] = packs[k].get(lane);
            }
        }
    }
}

/// [`Real::atan2`], lane by lane, in f64.
#[inline(always)]
fn angles<P: Pack>(y: P, x: P) -> P {
    let mut angles = y;
    for lane in 0..P::LANES {
        let angle = y.get(lane).to_f64().atan2(x.get(lane).to_f64());
        angles.set(lane, P::Scalar::from_f64(angle));
    }
    angles
}

/// A lane type: `f32` or `f64`.
pub trait Scalar: Pack<Scalar = Self> + Real<Mask = bool> + PartialOrd + bytemuck::Pod + std::fmt::Display {
    /// Nearest value to `x`.
    fn from_f64(x: f64) -> Self;
    /// Exact value as `f64`.
    fn to_f64(self) -> f64;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

impl Mask for bool {
    #[inline(always)]
    fn splat(bit: bool) -> Self {
        bit
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn not(self) -> Self {
        !self
    }
}

impl PackMask for bool {
    const LANES: usize = 1;
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
    #[inline(always)]
    fn get(self, _lane: usize) -> bool {
        self
    }
    #[inline(always)]
    fn set(&mut self, _lane: usize, bit: bool) {
        *self = bit;
    }
}

/// What sine and cosine in f32 are made of: the quadrant, in the low bits of a number, and the sine and cosine of the angle from its middle.
/// (Cody-Waite reduction by π/2; minimax polynomials on [−π/4, π/4].)
#[inline(always)]
#[expect(clippy::excessive_precision, reason = "the split of π/2 is given to its last bit")]
fn sin_cos_parts<R: Pack<Scalar = f32>>(x: R) -> [R; 3] {
    let c = R::splat;
    // Adding 1.5·2²³ rounds to the nearest integer and leaves it in the low bits.
    let round = c(12_582_912.0);
    let shifted = x.mul_add(c(std::f32::consts::FRAC_2_PI), round);
    let k = shifted - round;
    // π/2 = 1.5707964 − 4.3711388e-8 − 1.7151245e-15
    let r = (-k).mul_add(c(1.570_796_37), x);
    let r = (-k).mul_add(c(-4.371_138_83e-8), r);
    let r = (-k).mul_add(c(-1.715_124_51e-15), r);
    let r2 = r * r;
    let sin = c(-1.951_529_6e-4).mul_add(r2, c(8.332_161e-3)).mul_add(r2, c(-1.666_665_5e-1));
    let sin = (sin * r2).mul_add(r, r);
    let cos = c(2.443_315_7e-5).mul_add(r2, c(-1.388_731_6e-3)).mul_add(r2, c(4.166_664_6e-2));
    let cos = (cos * r2).mul_add(r2, c(-0.5).mul_add(r2, c(1.0)));
    [shifted, sin, cos]
}

/// Sine and cosine in f32, within 2 ulp for |x| < 10⁵ rad, from fused multiply-adds only, so that scalars and lanes agree to
/// the bit on every machine.
#[inline(always)]
fn sin_cos_f32(x: f32) -> (f32, f32) {
    let [shifted, sin, cos] = sin_cos_parts(x);
    let quadrant = shifted.to_bits();
    let (s, c) = if quadrant & 1 == 0 { (sin, cos) } else { (cos, sin) };
    let s = f32::from_bits(s.to_bits() ^ ((quadrant & 2) << 30));
    let c = f32::from_bits(c.to_bits() ^ ((quadrant.wrapping_add(1) & 2) << 30));
    (s, c)
}

macro_rules! scalar {
    ($t:ty, $sin_cos:expr) => {
        impl Real for $t {
            type Mask = bool;
            // For machines on which packs do not pay.
            const COMPILED: Compiled = Compiled::Baseline;
            const EPSILON: f64 = <$t>::EPSILON as f64;
            #[inline(always)]
            fn constant(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                <$t>::mul_add(self, a, b)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$t>::sqrt(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$t>::abs(self)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                if self < other { self } else { other }
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if self > other { self } else { other }
            }
            #[inline(always)]
            fn sin_cos(self) -> (Self, Self) {
                $sin_cos(self)
            }
            #[inline(always)]
            fn atan2(self, x: Self) -> Self {
                angles(self, x)
            }
            #[inline(always)]
            fn lt(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }
        }
        impl Pack for $t {
            type Scalar = $t;
            type Exact = f64;
            const LANES: usize = 1;
            const PIECES: Compiled = if HAS_SCALAR { Compiled::Everywhere } else { Compiled::Packs };
            #[inline(always)]
            fn splat(x: $t) -> Self {
                x
            }
            #[inline(always)]
            fn lanes(&self) -> &[$t] {
                std::slice::from_ref(self)
            }
            #[inline(always)]
            fn lanes_mut(&mut self) -> &mut [$t] {
                std::slice::from_mut(self)
            }
        }
        impl Scalar for $t {
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                <$t>::is_finite(self)
            }
        }
    };
}
scalar!(f32, sin_cos_f32);
scalar!(f64, f64::sin_cos);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sin_cos_f32_is_within_two_ulp_and_lanes_agree_to_the_bit() {
        let mut worst = 0.0f64;
        for k in -200_000..200_000 {
            let x = k as f32 * 0.01;
            let (s, c) = sin_cos_f32(x);
            let (es, ec) = (f64::from(x).sin(), f64::from(x).cos());
            worst = worst.max((f64::from(s) - es).abs()).max((f64::from(c) - ec).abs());
            let (ls, lc) = F32x16::splat(x).sin_cos();
            assert_eq!(ls.0[7].to_bits(), s.to_bits());
            assert_eq!(lc.0[7].to_bits(), c.to_bits());
        }
        // Two units in the last place of 1.
        assert!(worst < 2.0 * f64::from(f32::EPSILON), "worst error {worst:e}");
    }

    struct Dot(F32x16, F32x16);
    impl Task for Dot {
        type Output = F32x16;
        #[inline(always)]
        fn run(self) -> F32x16 {
            let mut sum = F32x16::zero();
            for _ in 0..100 {
                sum = self.0.mul_add(self.1, sum) / (self.0 + self.1).sqrt();
            }
            sum
        }
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        let mut a = F32x16::zero();
        let mut b = F32x16::zero();
        for i in 0..16 {
            a.0[i] = 0.1 + i as f32;
            b.0[i] = 0.7 + (i * i) as f32;
        }
        let reference = Level::Baseline.run(Dot(a, b));
        for level in Level::available() {
            assert_eq!(level.run(Dot(a, b)), reference, "{level:?}");
        }
    }

    #[test]
    fn maximum_and_minimum_drop_a_nan_on_the_left() {
        assert_eq!(Real::max(f32::NAN, 0.0), 0.0);
        assert_eq!(Real::min(F32x16::splat(f32::NAN), F32x16::one()), F32x16::one());
    }
}
