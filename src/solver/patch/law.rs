//! The law of one patch over lanes: its pressure, its friction at the equivalent contact point, and what misses it. See [`crate::lcp::patch`] for the formulas.

use super::super::batch::PATCH_LEN;
use super::super::project::scale;
use crate::contact::PATCH_ROWS;
use crate::lane::{Mask, Pack, PackMask, Real};
use crate::lcp::patch::ellipsoid::{length, natural_map};

/// The rows of a contact: a point has one normal and no torsion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub normal: [usize; 4],
    /// First tangent; the other comes next.
    pub tangent: usize,
    pub torsion: usize,
    pub is_patch: bool,
}

impl Rows {
    /// Of contact `c` among `contacts`, the first `patches` of which are patches.
    #[inline(always)]
    pub fn new(c: usize, contacts: usize, patches: usize) -> Self {
        let (first, more) = (3 * c, 3 * contacts + PATCH_ROWS * c);
        let is_patch = c < patches;
        let normal = if is_patch { [first, more, more + 1, more + 2] } else { [first; 4] };
        Self { normal, tangent: first + 1, torsion: if is_patch { more + 3 } else { first }, is_patch }
    }

    /// t, o and torsion; of a point the first two are meant.
    #[inline(always)]
    pub fn friction(&self) -> [usize; 3] {
        [self.tangent, self.tangent + 1, self.torsion]
    }

    /// Number of normals.
    #[inline(always)]
    pub fn normal_count(&self) -> usize {
        if self.is_patch { 4 } else { 1 }
    }

    /// The entries of the normals.
    #[inline(always)]
    pub fn normals<R: Real>(&self, of: &[R]) -> [R; 4] {
        let mut out = [R::zero(); 4];
        for k in 0..self.normal_count() {
            out[k] = of[self.normal[k]];
        }
        out
    }

    /// The entries of t, o and torsion; 0 for the torsion of a point.
    #[inline(always)]
    pub fn frictions<R: Real>(&self, of: &[R]) -> [R; 3] {
        let torsion = if self.is_patch { of[self.torsion] } else { R::zero() };
        [of[self.tangent], of[self.tangent + 1], torsion]
    }
}

/// What a patch is, in every lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape<R: Real> {
    /// e_t, e_o, e_r.
    pub ellipsoid: [R; 3],
    /// Where it is a disc.
    pub disc: R::Mask,
    /// What the impulse of each normal adds to N d, m.
    pub lever: [[R; 2]; 4],
}

/// The pressure of a patch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pressure<R> {
    /// N, N·s.
    pub sum: R,
    /// d, the ECP seen from the reference point, along t and o, m.
    pub centre: [R; 2],
    /// min(1, λ/|m|) of a disc, 1 else: what brings its moments back to the rim.
    pub share: R,
}

/// Below this a sum of impulses counts as none, N·s.
const TINY: f64 = 1e-30;

impl<R: Real> Shape<R> {
    /// Of contact `c`: a patch as `shapes` says, or a point.
    #[inline(always)]
    pub fn new(shapes: &[R], c: usize, is_patch: bool) -> Self {
        let (zero, one) = (R::zero(), R::one());
        if !is_patch {
            return Self { ellipsoid: [one, one, zero], disc: R::Mask::splat(false), lever: [[zero; 2]; 4] };
        }
        let s = &shapes[c * PATCH_LEN..(c + 1) * PATCH_LEN];
        let mut lever = [[zero; 2]; 4];
        for k in 0..4 {
            lever[k] = [s[4 + 2 * k], s[5 + 2 * k]];
        }
        Self { ellipsoid: [s[0], s[1], s[2]], disc: zero.lt(s[3]), lever }
    }

    /// N = Σ λ_i, d = Σ λ_i (x_i − c)/N of normal impulses `z`; what pulls does not count, nor do moments beyond a disc's rim.
    #[inline(always)]
    pub fn pressure(&self, z: [R; 4]) -> Pressure<R> {
        let (zero, one) = (R::zero(), R::one());
        let first = z[0].max(zero);
        let size = z[1].mul_add(z[1], z[2] * z[2]).sqrt();
        let share = R::select(self.disc.and(first.lt(size)), first / size, one);
        let (mut sum, mut moment) = (first, [self.lever[0][0] * first, self.lever[0][1] * first]);
        for k in 1..4 {
            let pushed = z[k].max(zero);
            sum += R::select(self.disc, zero, pushed);
            let impulse = R::select(self.disc, z[k] * share, pushed);
            for a in 0..2 {
                moment[a] = self.lever[k][a].mul_add(impulse, moment[a]);
            }
        }
        let inverse = one / sum.max(R::constant(TINY));
        Pressure { sum, centre: [moment[0] * inverse, moment[1] * inverse], share }
    }

    /// s = (f_t/e_t, f_o/e_o, τ_r/e_r) with τ_r = τ − d_t f_o + d_o f_t; 0 along an axis without friction.
    #[inline(always)]
    pub fn scaled(&self, f: [R; 3], centre: [R; 2]) -> [R; 3] {
        let at_ecp = Self::at_ecp(f, centre);
        let mut s = [R::zero(); 3];
        for k in 0..3 {
            let rough = R::zero().lt(self.ellipsoid[k]);
            s[k] = R::select(rough, at_ecp[k] / R::select(rough, self.ellipsoid[k], R::one()), R::zero());
        }
        s
    }

    /// (f_t, f_o, τ_r)
    #[inline(always)]
    pub fn at_ecp(f: [R; 3], centre: [R; 2]) -> [R; 3] {
        [f[0], f[1], centre[1].mul_add(f[0], f[2] - centre[0] * f[1])]
    }

    /// f = e ∘ s, τ = e_r s_r + d_t f_o − d_o f_t
    #[inline(always)]
    pub fn impulses(&self, s: [R; 3], centre: [R; 2]) -> [R; 3] {
        let (t, o) = (self.ellipsoid[0] * s[0], self.ellipsoid[1] * s[1]);
        [t, o, self.ellipsoid[2].mul_add(s[2], centre[0] * o - centre[1] * t)]
    }

    /// y = e ∘ (w_t − d_o w_r, w_o + d_t w_r, w_r), m/s
    #[inline(always)]
    pub fn slip(&self, w: [R; 3], centre: [R; 2]) -> [R; 3] {
        let e = self.ellipsoid;
        [e[0] * (w[0] - centre[1] * w[2]), e[1] * centre[0].mul_add(w[2], w[1]), e[2] * w[2]]
    }

    /// D = Sᵀ W_ff S with S = [[e_t, 0, 0], [0, e_o, 0], [−d_o e_t, d_t e_o, e_r]], 1/kg
    #[inline(always)]
    pub fn inverse_inertia(&self, own: &[[R; 3]; 3], centre: [R; 2]) -> [[R; 3]; 3] {
        let e = self.ellipsoid;
        let (zero, twist) = (R::zero(), [-(centre[1] * e[0]), centre[0] * e[1], e[2]]);
        // W S, then Sᵀ (W S)
        let (mut right, mut out) = ([[zero; 3]; 3], [[zero; 3]; 3]);
        for i in 0..3 {
            right[i][0] = e[0].mul_add(own[i][0], twist[0] * own[i][2]);
            right[i][1] = e[1].mul_add(own[i][1], twist[1] * own[i][2]);
            right[i][2] = twist[2] * own[i][2];
        }
        for j in 0..3 {
            out[0][j] = e[0].mul_add(right[0][j], twist[0] * right[2][j]);
            out[1][j] = e[1].mul_add(right[1][j], twist[1] * right[2][j]);
            out[2][j] = twist[2] * right[2][j];
        }
        out
    }

    /// a: the mean of e_k² W_kk over the tangents with friction, that of torsion if there are none; 1 where it is not positive. 1/kg.
    #[inline(always)]
    pub fn friction_scale(&self, diagonal: [R; 3]) -> R {
        let (zero, one) = (R::zero(), R::one());
        let (mut sum, mut count) = (zero, zero);
        for k in 0..2 {
            let e = self.ellipsoid[k];
            sum = (e * e).mul_add(diagonal[k], sum);
            count += R::select(zero.lt(e), one, zero);
        }
        let torsion = self.ellipsoid[2] * self.ellipsoid[2] * diagonal[2];
        scale(R::select(zero.lt(count), sum / count.max(one), torsion))
    }

    /// What of a disc's rows gives their scale, 1/kg: the mean of their diagonal.
    #[inline(always)]
    pub fn disc_scale(diagonal: [R; 4]) -> R {
        scale((diagonal[0] + diagonal[1] + diagonal[2]) * R::constant(1.0 / 3.0))
    }
}

impl<R: Pack> Shape<R> {
    /// The natural map, m/s, of impulses and velocities of the normals, and of t, o and torsion; not a number where any part of it is not. `normal` and `friction`:
    /// the diagonal of W there; `mu`: μ.
    #[inline(always)]
    pub fn residual(&self, z: [[R; 4]; 2], f: [[R; 3]; 2], normal: [R; 4], friction: [R; 3], mu: R) -> R {
        let ([z, w], [f, u], zero) = (z, f, R::zero());
        let pressure = self.pressure(z);
        let (mut worst, mut sum) = (zero, zero);
        for k in 0..4 {
            // D |λ − max(0, λ − w/D)|
            let own = z[k] * scale(normal[k]);
            let error = R::select(own.lt(w[k]), own, w[k]).abs();
            let error = R::select(self.disc, zero, error);
            (worst, sum) = (error.max(worst), sum + error);
        }
        if self.disc.any() {
            let d = Self::disc_scale(normal);
            let p = project_disc_cone([z[0] - w[0] / d, z[1] - w[1] / d, z[2] - w[2] / d]);
            let error = d * length([z[0] - p[0], z[1] - p[1], z[2] - p[2]]);
            let error = R::select(self.disc, error, zero);
            (worst, sum) = (error.max(worst), sum + error);
        }
        let a = self.friction_scale(friction);
        let (s, y) = (self.scaled(f, pressure.centre), self.slip(u, pressure.centre));
        let error = natural_map(s, y, mu * pressure.sum, a);
        (worst, sum) = (error.max(worst), sum + error);
        let at_ecp = Self::at_ecp(f, pressure.centre);
        for k in 0..3 {
            // along an axis without friction: √(a W_kk) |f_k|
            let rough = zero.lt(self.ellipsoid[k]);
            let error = R::select(rough, zero, (a * scale(friction[k])).sqrt() * at_ecp[k].abs());
            (worst, sum) = (error.max(worst), sum + error);
        }
        // a maximum drops what is not a number; a sum does not
        sum.mul_add(zero, worst)
    }
}

/// The point of the cone { |m| ≤ λ } nearest to p = (λ, m).
#[inline(always)]
pub(super) fn project_disc_cone<R: Real>(p: [R; 3]) -> [R; 3] {
    let (zero, half) = (R::zero(), R::constant(0.5));
    let m = p[1].mul_add(p[1], p[2] * p[2]).sqrt();
    let inside = p[0].lt(m).not();
    // (n, n m/|m|) with n = max(0, (λ + |m|)/2)
    let n = (half * (p[0] + m)).max(zero);
    let factor = R::select(zero.lt(m), n / R::select(zero.lt(m), m, R::one()), zero);
    [R::select(inside, p[0], n), R::select(inside, p[1], p[1] * factor), R::select(inside, p[2], p[2] * factor)]
}
