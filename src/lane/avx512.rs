//! The packs as one AVX-512 register: the same bits as the array packs, without the compiler having to find the vectors again.

use super::avx2::{gather_eight, scatter_eight};
use super::{Compiled, MOST_LANES, Mask, Pack, PackMask, Real, STRIP, Scalar, angles, sin_cos_parts};
use std::arch::x86_64::{
    __m256, __m512, __m512d, __mmask8, __mmask16, _CMP_LT_OQ, _mm512_abs_pd, _mm512_abs_ps, _mm512_add_epi32,
    _mm512_add_pd, _mm512_add_ps, _mm512_and_si512, _mm512_castpd_si512, _mm512_castps_si512, _mm512_castps256_ps512,
    _mm512_castps512_ps256, _mm512_castsi512_pd, _mm512_castsi512_ps, _mm512_cmp_pd_mask, _mm512_cmp_ps_mask,
    _mm512_div_pd, _mm512_div_ps, _mm512_extractf32x8_ps, _mm512_fmadd_pd, _mm512_fmadd_ps, _mm512_insertf32x8,
    _mm512_mask_blend_pd, _mm512_mask_blend_ps, _mm512_max_pd, _mm512_max_ps, _mm512_min_pd, _mm512_min_ps,
    _mm512_mul_pd, _mm512_mul_ps, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_set1_pd, _mm512_set1_ps,
    _mm512_slli_epi32, _mm512_sqrt_pd, _mm512_sqrt_ps, _mm512_sub_pd, _mm512_sub_ps, _mm512_test_epi32_mask,
    _mm512_xor_si512,
};
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// 16 f32 in a register.
///
/// Private to the crate: values of it are made and used only within tasks compiled for [`super::Level::Avx512`], which run on machines that
/// have it ([`Real::COMPILED`]), and within `worlds`, which chooses it after [`super::Level::detect`].
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Wide(__m512);

/// 8 f64 in a register; as [`Wide`].
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Wide64(__m512d);

// SAFETY: an __m512 is 16 f32; all bits 0 are zeros.
#[allow(unsafe_code)]
unsafe impl bytemuck::Zeroable for Wide {}
// SAFETY: transparent over __m512: 64 bytes, no padding, every bit pattern valid, Copy and 'static.
#[allow(unsafe_code)]
unsafe impl bytemuck::Pod for Wide {}
// SAFETY: an __m512d is 8 f64; all bits 0 are zeros.
#[allow(unsafe_code)]
unsafe impl bytemuck::Zeroable for Wide64 {}
// SAFETY: transparent over __m512d: 64 bytes, no padding, every bit pattern valid, Copy and 'static.
#[allow(unsafe_code)]
unsafe impl bytemuck::Pod for Wide64 {}

/// One bit a lane of [`Wide`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct WideMask(__mmask16);

/// One bit a lane of [`Wide64`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wide64Mask(__mmask8);

/// An intrinsic of AVX-512F or AVX-512DQ.
macro_rules! intrinsic {
    ($call:expr) => {{
        // SAFETY: needs nothing but AVX-512F and AVX-512DQ, which every machine has on which a `Wide` or `Wide64` exists (see there).
        #[allow(unsafe_code)]
        unsafe {
            $call
        }
    }};
}

/// The operations of a register type, by the intrinsics that do them.
macro_rules! register {
    (
        $wide:ident, $mask:ident, $scalar:ty, $bits:ty, $lanes:literal, $splat:ident,
        $add:ident, $sub:ident, $mul:ident, $div:ident, $fmadd:ident, $sqrt:ident, $abs:ident, $min:ident, $max:ident,
        $less:ident, $blend:ident, $sign:expr, $to_bits:ident, $from_bits:ident
        $(, $join:ident, $low:ident, $high:ident)?
    ) => {
        impl Mask for $mask {
            #[inline(always)]
            fn splat(bit: bool) -> Self {
                Self(if bit { !0 } else { 0 })
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
            #[inline(always)]
            fn not(self) -> Self {
                Self(!self.0)
            }
        }

        impl PackMask for $mask {
            const LANES: usize = $lanes;
            #[inline(always)]
            fn bits(self) -> u32 {
                u32::from(self.0)
            }
            #[inline(always)]
            fn from_bits(bits: u32) -> Self {
                Self(bits as $bits)
            }
            #[inline(always)]
            fn any(self) -> bool {
                self.0 != 0
            }
            #[inline(always)]
            fn get(self, lane: usize) -> bool {
                self.0 >> lane & 1 != 0
            }
            #[inline(always)]
            fn set(&mut self, lane: usize, bit: bool) {
                self.0 = self.0 & !(1 << lane) | <$bits>::from(bit) << lane;
            }
        }

        impl Default for $wide {
            #[inline(always)]
            fn default() -> Self {
                Self::splat(0.0)
            }
        }
        impl Add for $wide {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Self(intrinsic!($add(self.0, other.0)))
            }
        }
        impl Sub for $wide {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                Self(intrinsic!($sub(self.0, other.0)))
            }
        }
        impl Mul for $wide {
            type Output = Self;
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                Self(intrinsic!($mul(self.0, other.0)))
            }
        }
        impl Div for $wide {
            type Output = Self;
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                Self(intrinsic!($div(self.0, other.0)))
            }
        }
        impl Neg for $wide {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self(intrinsic!($from_bits(_mm512_xor_si512($to_bits(self.0), $sign))))
            }
        }
        assigning!($wide);

        impl Real for $wide {
            type Mask = $mask;
            const COMPILED: Compiled = Compiled::Avx512;
            const EPSILON: f64 = <$scalar>::EPSILON as f64;
            #[inline(always)]
            fn constant(x: f64) -> Self {
                Self::splat(<$scalar>::from_f64(x))
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                Self(intrinsic!($fmadd(self.0, a.0, b.0)))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Self(intrinsic!($sqrt(self.0)))
            }
            #[inline(always)]
            fn abs(self) -> Self {
                Self(intrinsic!($abs(self.0)))
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                // the instruction's answer is its second operand where either is not a number, as the trait wants
                Self(intrinsic!($min(self.0, other.0)))
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                Self(intrinsic!($max(self.0, other.0)))
            }
            #[inline(always)]
            fn sin_cos(self) -> (Self, Self) {
                self.both()
            }
            #[inline(always)]
            fn atan2(self, x: Self) -> Self {
                angles(self, x)
            }
            #[inline(always)]
            fn lt(self, other: Self) -> $mask {
                $mask(intrinsic!($less::<_CMP_LT_OQ>(self.0, other.0)))
            }
            #[inline(always)]
            fn select(mask: $mask, yes: Self, no: Self) -> Self {
                Self(intrinsic!($blend(mask.0, no.0, yes.0)))
            }
        }

        impl Pack for $wide {
            type Scalar = $scalar;
            type Exact = Wide64;
            const LANES: usize = $lanes;
            const PIECES: Compiled = Self::COMPILED;
            #[inline(always)]
            fn splat(x: $scalar) -> Self {
                Self(intrinsic!($splat(x)))
            }
            #[inline(always)]
            fn lanes(&self) -> &[$scalar] {
                let array: &[$scalar; $lanes] = bytemuck::must_cast_ref(self);
                array
            }
            #[inline(always)]
            fn lanes_mut(&mut self) -> &mut [$scalar] {
                let array: &mut [$scalar; $lanes] = bytemuck::must_cast_mut(self);
                array
            }
            $(
                #[inline(always)]
                fn gather(rows: &[[$scalar; STRIP]], at: &[u32; MOST_LANES]) -> [Self; STRIP] {
                    let (low, high) = (gather_eight(rows, at, 0), gather_eight(rows, at, 8));
                    let mut packs = [Self::splat(0.0); STRIP];
                    for k in 0..STRIP {
                        packs[k] = $join(low[k], high[k]);
                    }
                    packs
                }
                #[inline(always)]
                fn scatter(packs: &[Self; STRIP], rows: &mut [[$scalar; STRIP]], at: &[u32; MOST_LANES]) {
                    let (mut low, mut high) = ([$low(packs[0]); STRIP], [$high(packs[0]); STRIP]);
                    for k in 1..STRIP {
                        (low[k], high[k]) = ($low(packs[k]), $high(packs[k]));
                    }
                    scatter_eight(&low, rows, at, 0);
                    scatter_eight(&high, rows, at, 8);
                }
            )?
        }
    };
}

/// A register of two halves.
#[inline(always)]
fn join(low: __m256, high: __m256) -> Wide {
    Wide(intrinsic!(_mm512_insertf32x8::<1>(_mm512_castps256_ps512(low), high)))
}

/// Lanes 0 to 7.
#[inline(always)]
fn low(x: Wide) -> __m256 {
    intrinsic!(_mm512_castps512_ps256(x.0))
}

/// Lanes 8 to 15.
#[inline(always)]
fn high(x: Wide) -> __m256 {
    intrinsic!(_mm512_extractf32x8_ps::<1>(x.0))
}

register!(
    Wide,
    WideMask,
    f32,
    u16,
    16,
    _mm512_set1_ps,
    _mm512_add_ps,
    _mm512_sub_ps,
    _mm512_mul_ps,
    _mm512_div_ps,
    _mm512_fmadd_ps,
    _mm512_sqrt_ps,
    _mm512_abs_ps,
    _mm512_min_ps,
    _mm512_max_ps,
    _mm512_cmp_ps_mask,
    _mm512_mask_blend_ps,
    _mm512_set1_epi32(i32::MIN),
    _mm512_castps_si512,
    _mm512_castsi512_ps,
    join,
    low,
    high
);
register!(
    Wide64,
    Wide64Mask,
    f64,
    u8,
    8,
    _mm512_set1_pd,
    _mm512_add_pd,
    _mm512_sub_pd,
    _mm512_mul_pd,
    _mm512_div_pd,
    _mm512_fmadd_pd,
    _mm512_sqrt_pd,
    _mm512_abs_pd,
    _mm512_min_pd,
    _mm512_max_pd,
    _mm512_cmp_pd_mask,
    _mm512_mask_blend_pd,
    _mm512_set1_epi64(i64::MIN),
    _mm512_castpd_si512,
    _mm512_castsi512_pd
);

impl Wide {
    /// Sine and cosine: as `sin_cos_f32`, operation by operation.
    #[inline(always)]
    fn both(self) -> (Self, Self) {
        let [shifted, sin, cos] = sin_cos_parts(self);
        intrinsic!({
            let quadrant = _mm512_castps_si512(shifted.0);
            let two = _mm512_set1_epi32(2);
            let odd = _mm512_test_epi32_mask(quadrant, _mm512_set1_epi32(1));
            let flip = |x: __m512, bits| {
                let sign = _mm512_slli_epi32(_mm512_and_si512(bits, two), 30);
                Self(_mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(x), sign)))
            };
            let s = _mm512_mask_blend_ps(odd, sin.0, cos.0);
            let c = _mm512_mask_blend_ps(odd, cos.0, sin.0);
            (flip(s, quadrant), flip(c, _mm512_add_epi32(quadrant, _mm512_set1_epi32(1))))
        })
    }
}

impl Wide64 {
    /// Sine and cosine, lane by lane.
    #[inline(always)]
    fn both(self) -> (Self, Self) {
        let (mut sin, mut cos) = (self, self);
        for lane in 0..8 {
            let (s, c) = self.get(lane).sin_cos();
            sin.set(lane, s);
            cos.set(lane, c);
        }
        (sin, cos)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::lane::{F32x16, F64x8, Level, Scalar, Task};
    use std::marker::PhantomData;

    /// Every operation in array packs P and in registers W.
    pub(in crate::lane) struct All<P, W>(pub PhantomData<(P, W)>);
    impl<P: Pack + bytemuck::Pod, W: Pack<Scalar = P::Scalar> + bytemuck::Pod> Task for All<P, W> {
        const COMPILED: Compiled = W::COMPILED;
        type Output = ();
        #[inline(always)]
        fn run(self) {
            let special =
                [0.0, -0.0, 1.0, -2.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-40, 3e38, 7.7, -1e5, 0.3];
            let mut random = 12345u32;
            for round in 0..2000usize {
                let [mut a, mut b] = [P::zero(); 2];
                for lane in 0..P::LANES {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let x = if round % 3 == 0 {
                        special[(round + lane) % 12]
                    } else {
                        f64::from(random >> 8) * 1e-5 - 80.0
                    };
                    let y = if round % 5 == 0 {
                        special[(7 * lane + round / 5) % 12]
                    } else {
                        f64::from(random >> 3) * 1e-8
                    };
                    a.set(lane, P::Scalar::from_f64(x));
                    b.set(lane, P::Scalar::from_f64(y));
                }
                let (wa, wb): (W, W) = (bytemuck::must_cast(a), bytemuck::must_cast(b));
                let same = |name: &str, narrow: P, wide: W| {
                    for lane in 0..P::LANES {
                        let (x, y) = (narrow.get(lane).to_f64(), wide.get(lane).to_f64());
                        assert!(x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(), "{name}: {x} {y}");
                    }
                };
                same("+", a + b, wa + wb);
                same("-", a - b, wa - wb);
                same("*", a * b, wa * wb);
                same("/", a / b, wa / wb);
                same("neg", -a, -wa);
                same("fma", a.mul_add(b, a), wa.mul_add(wb, wa));
                same("sqrt", a.sqrt(), wa.sqrt());
                same("abs", a.abs(), wa.abs());
                same("min", a.min(b), wa.min(wb));
                same("max", a.max(b), wa.max(wb));
                same("sin", a.sin_cos().0, wa.sin_cos().0);
                same("cos", a.sin_cos().1, wa.sin_cos().1);
                same("select", P::select(a.lt(b), a, b), W::select(wa.lt(wb), wa, wb));
                let (mut rows, mut at) = ([[P::Scalar::from_f64(0.0); STRIP]; 20], [0; MOST_LANES]);
                for (i, row) in rows.iter_mut().enumerate() {
                    for (k, x) in row.iter_mut().enumerate() {
                        *x = a.get((i + k) % P::LANES);
                    }
                }
                for (lane, at) in at.iter_mut().enumerate() {
                    *at = ((7 * lane + round) % 20) as u32;
                }
                let (strips, wide_strips) = (P::gather(&rows, &at), W::gather(&rows, &at));
                for k in 0..STRIP {
                    same("gather", strips[k], wide_strips[k]);
                }
                let mut wide_rows = rows;
                at.rotate_left(3);
                P::scatter(&strips, &mut rows, &at);
                W::scatter(&wide_strips, &mut wide_rows, &at);
                for (row, wide) in rows.as_flattened().iter().zip(wide_rows.as_flattened()) {
                    assert_eq!(row.to_f64().to_bits(), wide.to_f64().to_bits(), "scatter");
                }
                let (mut narrow, mut wide) = (a.lt(b).not(), wa.lt(wb).not());
                narrow.set(round % P::LANES, true);
                wide.set(round % P::LANES, true);
                for lane in 0..P::LANES {
                    assert_eq!(narrow.get(lane), wide.get(lane));
                    assert_eq!(narrow.and(a.lt(a)).any(), wide.and(wa.lt(wa)).any());
                }
            }
        }
    }

    #[test]
    fn every_operation_gives_the_bits_of_the_array_pack() {
        if Level::detect() == Level::Avx512 {
            Level::Avx512.run(All::<F32x16, Wide>(PhantomData));
            Level::Avx512.run(All::<F64x8, Wide64>(PhantomData));
        }
    }
}
