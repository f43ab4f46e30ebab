//! The packs as two AVX registers: the same bits as the array packs, without the compiler having to find the vectors again.

use super::{Compiled, MOST_LANES, Mask, Pack, PackMask, Real, STRIP, Scalar, angles, sin_cos_parts};
use std::arch::x86_64::{
    __m256, __m256d, _CMP_LT_OQ, _mm_loadu_ps, _mm256_add_epi32, _mm256_add_pd, _mm256_add_ps, _mm256_and_pd,
    _mm256_and_ps, _mm256_and_si256, _mm256_andnot_pd, _mm256_andnot_ps, _mm256_blendv_ps, _mm256_castps_si256,
    _mm256_castps128_ps256, _mm256_castsi256_pd, _mm256_castsi256_ps, _mm256_cmp_pd, _mm256_cmp_ps, _mm256_div_pd,
    _mm256_div_ps, _mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_insertf128_ps, _mm256_max_pd, _mm256_max_ps, _mm256_min_pd,
    _mm256_min_ps, _mm256_movemask_pd, _mm256_movemask_ps, _mm256_mul_pd, _mm256_mul_ps, _mm256_or_pd, _mm256_or_ps,
    _mm256_permute2f128_ps, _mm256_set_epi32, _mm256_set1_epi32, _mm256_set1_pd, _mm256_set1_ps, _mm256_shuffle_ps,
    _mm256_sign_epi32, _mm256_slli_epi32, _mm256_sqrt_pd, _mm256_sqrt_ps, _mm256_storeu_ps, _mm256_sub_pd,
    _mm256_sub_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps, _mm256_xor_pd, _mm256_xor_ps,
};
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// 16 f32 in two registers.
///
/// Private to the crate: values of it are made and used only within tasks compiled for [`super::Level::Avx2`], which run on machines that have it
/// ([`Real::COMPILED`]), and within `worlds` and `solver`, which choose it after [`super::Level::detect`].
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Pair([__m256; 2]);

/// 8 f64 in two registers; as [`Pair`].
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Pair64([__m256d; 2]);

// SAFETY: an __m256 is 8 f32; all bits 0 are zeros.
#[allow(unsafe_code)]
unsafe impl bytemuck::Zeroable for Pair {}
// SAFETY: 64 bytes with alignment 64, no padding, every bit pattern valid, Copy and 'static.
#[allow(unsafe_code)]
unsafe impl bytemuck::Pod for Pair {}
// SAFETY: an __m256d is 4 f64; all bits 0 are zeros.
#[allow(unsafe_code)]
unsafe impl bytemuck::Zeroable for Pair64 {}
// SAFETY: 64 bytes with alignment 64, no padding, every bit pattern valid, Copy and 'static.
#[allow(unsafe_code)]
unsafe impl bytemuck::Pod for Pair64 {}
// The proofs' sizes.
const _: () = assert!(size_of::<Pair>() == 64 && size_of::<Pair64>() == 64);

/// All bits of a lane of [`Pair`] set, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairMask([__m256; 2]);

/// All bits of a lane of [`Pair64`] set, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair64Mask([__m256d; 2]);

/// Intrinsics of AVX2 and FMA.
macro_rules! intrinsic {
    ($call:expr) => {{
        // SAFETY: needs nothing but AVX2 and FMA, which every machine has on which a `Pair`, a `Pair64`, or a register of AVX-512 exists (see there). What reads or writes memory says so beside.
        #[allow(unsafe_code)]
        unsafe {
            $call
        }
    }};
}

/// The operations of a pair of registers, by the intrinsics that do them.
macro_rules! pair {
    (
        $pair:ident, $mask:ident, $scalar:ty, $lanes:literal, $splat:ident,
        $add:ident, $sub:ident, $mul:ident, $div:ident, $fmadd:ident, $sqrt:ident, $min:ident, $max:ident,
        $less:ident, $and:ident, $or:ident, $xor:ident, $and_not:ident, $signs:ident, $spread:ident, $cast:ident
        $(, $gather:ident, $scatter:ident)?
    ) => {
        impl Mask for $mask {
            #[inline(always)]
            fn splat(bit: bool) -> Self {
                intrinsic!(Self([$cast(_mm256_set1_epi32(-i32::from(bit))); 2]))
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, other.0);
                intrinsic!(Self([$and(a, c), $and(b, d)]))
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, other.0);
                intrinsic!(Self([$or(a, c), $or(b, d)]))
            }
            #[inline(always)]
            fn not(self) -> Self {
                let ([a, b], [c, d]) = (self.0, Self::splat(true).0);
                intrinsic!(Self([$xor(a, c), $xor(b, d)]))
            }
        }

        impl PackMask for $mask {
            const LANES: usize = $lanes;
            #[inline(always)]
            fn from_bits(bits: u32) -> Self {
                Self([$spread(bits), $spread(bits >> ($lanes / 2))])
            }
            #[inline(always)]
            fn bits(self) -> u32 {
                let [a, b] = self.0;
                intrinsic!($signs(a) as u32 | ($signs(b) as u32) << ($lanes / 2))
            }
            #[inline(always)]
            fn any(self) -> bool {
                self.bits() != 0
            }
            #[inline(always)]
            fn get(self, lane: usize) -> bool {
                self.bits() >> lane & 1 != 0
            }
            #[inline(always)]
            fn set(&mut self, lane: usize, bit: bool) {
                *self = Self::from_bits(self.bits() & !(1 << lane) | u32::from(bit) << lane);
            }
        }

        impl Default for $pair {
            #[inline(always)]
            fn default() -> Self {
                Self::splat(0.0)
            }
        }
        impl Add for $pair {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, other.0);
                intrinsic!(Self([$add(a, c), $add(b, d)]))
            }
        }
        impl Sub for $pair {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, other.0);
                intrinsic!(Self([$sub(a, c), $sub(b, d)]))
            }
        }
        impl Mul for $pair {
            type Output = Self;
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, other.0);
                intrinsic!(Self([$mul(a, c), $mul(b, d)]))
            }
        }
        impl Div for $pair {
            type Output = Self;
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, other.0);
                intrinsic!(Self([$div(a, c), $div(b, d)]))
            }
        }
        impl Neg for $pair {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                let ([a, b], [sign, _]) = (self.0, Self::splat(-0.0).0);
                intrinsic!(Self([$xor(a, sign), $xor(b, sign)]))
            }
        }
        assigning!($pair);

        impl Real for $pair {
            type Mask = $mask;
            const COMPILED: Compiled = Compiled::Avx2;
            const EPSILON: f64 = <$scalar>::EPSILON as f64;
            #[inline(always)]
            fn constant(x: f64) -> Self {
                Self::splat(<$scalar>::from_f64(x))
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                let ([x, y], [a0, a1], [b0, b1]) = (self.0, a.0, b.0);
                intrinsic!(Self([$fmadd(x, a0, b0), $fmadd(y, a1, b1)]))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                let [a, b] = self.0;
                intrinsic!(Self([$sqrt(a), $sqrt(b)]))
            }
            #[inline(always)]
            fn abs(self) -> Self {
                let ([a, b], [sign, _]) = (self.0, Self::splat(-0.0).0);
                intrinsic!(Self([$and_not(sign, a), $and_not(sign, b)]))
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                // the instruction's answer is its second operand where either is not a number, as the trait wants
                let ([a, b], [c, d]) = (self.0, other.0);
                intrinsic!(Self([$min(a, c), $min(b, d)]))
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, other.0);
                intrinsic!(Self([$max(a, c), $max(b, d)]))
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
                let ([a, b], [c, d]) = (self.0, other.0);
                intrinsic!($mask([$less::<_CMP_LT_OQ>(a, c), $less::<_CMP_LT_OQ>(b, d)]))
            }
            #[inline(always)]
            fn select(mask: $mask, yes: Self, no: Self) -> Self {
                // yes ∧ mask ∨ no ∧ ¬mask. A blend that is stored where `no` came from, the compiler turns into a masked store, which is slow on AMD's cores before Zen 4
                let ([m, n], [a, b], [c, d]) = (mask.0, yes.0, no.0);
                intrinsic!(Self([$or($and(m, a), $and_not(m, c)), $or($and(n, b), $and_not(n, d))]))
            }
        }

        impl Pack for $pair {
            type Scalar = $scalar;
            type Exact = Pair64;
            const LANES: usize = $lanes;
            const PIECES: Compiled = Self::COMPILED;
            #[inline(always)]
            fn splat(x: $scalar) -> Self {
                intrinsic!(Self([$splat(x); 2]))
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
                    let (low, high) = ($gather(rows, at, 0), $gather(rows, at, 8));
                    let mut packs = [Self::splat(0.0); STRIP];
                    for k in 0..STRIP {
                        packs[k] = Self([low[k], high[k]]);
                    }
                    packs
                }
                #[inline(always)]
                fn scatter(packs: &[Self; STRIP], rows: &mut [[$scalar; STRIP]], at: &[u32; MOST_LANES]) {
                    let (mut low, mut high) = ([packs[0].0[0]; STRIP], [packs[0].0[1]; STRIP]);
                    for k in 1..STRIP {
                        (low[k], high[k]) = (packs[k].0[0], packs[k].0[1]);
                    }
                    $scatter(&low, rows, at, 0);
                    $scatter(&high, rows, at, 8);
                }
            )?
        }
    };
}

/// Number k of the strips of eight lanes, from `first` on, in register k.
#[inline(always)]
pub(super) fn gather_eight(rows: &[[f32; STRIP]], at: &[u32; MOST_LANES], first: usize) -> [__m256; STRIP] {
    let mut columns = [intrinsic!(_mm256_set1_ps(0.0)); STRIP];
    let mut strips = [&rows[at[first] as usize]; 8];
    for lane in 1..8 {
        strips[lane] = &rows[at[first + lane] as usize];
    }
    for half in 0..2 {
        // numbers 4 half to 4 half + 3 of lanes i and i + 4, in the two halves of a register
        let mut r = [columns[0]; 4];
        for i in 0..4 {
            let (low, high): (&[f32; 4], &[f32; 4]) = (quarter(strips[i], half), quarter(strips[i + 4], half));
            // SAFETY: reads of four numbers that are there
            r[i] = intrinsic!(_mm256_insertf128_ps::<1>(
                _mm256_castps128_ps256(_mm_loadu_ps(low.as_ptr())),
                _mm_loadu_ps(high.as_ptr())
            ));
        }
        let turned = turn(r);
        columns[4 * half..4 * half + 4].copy_from_slice(&turned);
    }
    columns
}

/// The way back of [`gather_eight`].
#[inline(always)]
pub(super) fn scatter_eight(
    columns: &[__m256; STRIP],
    rows: &mut [[f32; STRIP]],
    at: &[u32; MOST_LANES],
    first: usize,
) {
    let [a, b, c, d, e, f, g, h] = *columns;
    let (low, high) = (turn([a, b, c, d]), turn([e, f, g, h]));
    for i in 0..4 {
        intrinsic!({
            let row = &mut rows[at[first + i] as usize];
            // SAFETY: writes of all eight numbers of a strip
            _mm256_storeu_ps(row.as_mut_ptr(), _mm256_permute2f128_ps::<0x20>(low[i], high[i]));
            let row = &mut rows[at[first + i + 4] as usize];
            _mm256_storeu_ps(row.as_mut_ptr(), _mm256_permute2f128_ps::<0x31>(low[i], high[i]));
        });
    }
}

/// Four of the eight numbers of a strip.
#[inline(always)]
fn quarter(strip: &[f32; STRIP], half: usize) -> &[f32; 4] {
    &strip.as_chunks::<4>().0[half]
}

/// Rows and columns of the two 4 × 4 matrices in the halves of four registers, exchanged.
#[inline(always)]
fn turn([a, b, c, d]: [__m256; 4]) -> [__m256; 4] {
    intrinsic!({
        let (e, f) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (g, h) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        [
            _mm256_shuffle_ps::<0x44>(e, g),
            _mm256_shuffle_ps::<0xee>(e, g),
            _mm256_shuffle_ps::<0x44>(f, h),
            _mm256_shuffle_ps::<0xee>(f, h),
        ]
    })
}

/// The lowest 8 bits, each over a lane: −1 with the sign of what is chosen. Where the compiler sees a comparison, it makes a blend of what [`Real::select`] does.
#[inline(always)]
fn spread(bits: u32) -> __m256 {
    intrinsic!({
        let each = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
        let chosen = _mm256_and_si256(_mm256_set1_epi32(bits as i32), each);
        _mm256_castsi256_ps(_mm256_sign_epi32(_mm256_set1_epi32(-1), chosen))
    })
}

/// The lowest 4 bits, each over a lane; as [`spread`].
#[inline(always)]
fn spread64(bits: u32) -> __m256d {
    intrinsic!({
        let each = _mm256_set_epi32(8, 8, 4, 4, 2, 2, 1, 1);
        let chosen = _mm256_and_si256(_mm256_set1_epi32(bits as i32), each);
        _mm256_castsi256_pd(_mm256_sign_epi32(_mm256_set1_epi32(-1), chosen))
    })
}

pair!(
    Pair,
    PairMask,
    f32,
    16,
    _mm256_set1_ps,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_mul_ps,
    _mm256_div_ps,
    _mm256_fmadd_ps,
    _mm256_sqrt_ps,
    _mm256_min_ps,
    _mm256_max_ps,
    _mm256_cmp_ps,
    _mm256_and_ps,
    _mm256_or_ps,
    _mm256_xor_ps,
    _mm256_andnot_ps,
    _mm256_movemask_ps,
    spread,
    _mm256_castsi256_ps,
    gather_eight,
    scatter_eight
);
pair!(
    Pair64,
    Pair64Mask,
    f64,
    8,
    _mm256_set1_pd,
    _mm256_add_pd,
    _mm256_sub_pd,
    _mm256_mul_pd,
    _mm256_div_pd,
    _mm256_fmadd_pd,
    _mm256_sqrt_pd,
    _mm256_min_pd,
    _mm256_max_pd,
    _mm256_cmp_pd,
    _mm256_and_pd,
    _mm256_or_pd,
    _mm256_xor_pd,
    _mm256_andnot_pd,
    _mm256_movemask_pd,
    spread64,
    _mm256_castsi256_pd
);

impl Pair {
    /// Sine and cosine: as `sin_cos_f32`, operation by operation.
    #[inline(always)]
    fn both(self) -> (Self, Self) {
        let [shifted, sin, cos] = sin_cos_parts(self);
        let (mut s, mut c) = (sin, cos);
        for half in 0..2 {
            intrinsic!({
                let quadrant = _mm256_castps_si256(shifted.0[half]);
                // the lowest bit of the quadrant where a blend looks: swap where it is odd
                let odd = _mm256_castsi256_ps(_mm256_slli_epi32(quadrant, 31));
                let two = _mm256_set1_epi32(2);
                let next = _mm256_add_epi32(quadrant, _mm256_set1_epi32(1));
                let flip_sin = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_and_si256(quadrant, two), 30));
                let flip_cos = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_and_si256(next, two), 30));
                s.0[half] = _mm256_xor_ps(_mm256_blendv_ps(sin.0[half], cos.0[half], odd), flip_sin);
                c.0[half] = _mm256_xor_ps(_mm256_blendv_ps(cos.0[half], sin.0[half], odd), flip_cos);
            });
        }
        (s, c)
    }
}

impl Pair64 {
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
mod tests {
    use super::super::avx512::tests::All;
    use super::*;
    use crate::lane::{F32x16, F64x8, Level};
    use std::marker::PhantomData;

    #[test]
    fn every_operation_gives_the_bits_of_the_array_pack() {
        if Level::available().contains(&Level::Avx2) {
            Level::Avx2.run(All::<F32x16, Pair>(PhantomData));
            Level::Avx2.run(All::<F64x8, Pair64>(PhantomData));
        }
    }
}
