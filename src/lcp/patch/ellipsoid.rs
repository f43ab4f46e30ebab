//! Friction of one patch: where its pressure acts, what it transmits there, and the problem of one ellipsoid.
//!
//! All of it without branches over [`Pack`], so that lanes can hold patches.

use super::{Patch, Support};
use crate::lane::{Mask, Pack, PackMask, Real, Scalar};

/// Most rows that press on one friction block: the vertices of a box, or two discs.
pub const MOST_NORMALS: usize = 8;
/// Steps of the secular equation: from its safe side Newton at least doubles the digits once near, and is near after a few.
pub const SECULAR_STEPS: usize = 12;
/// What counts as rounding, in ε.
const ROUNDING: f64 = 16.0;

/// A row of pressure as the friction block sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Normal<R> {
    /// Its row.
    pub row: usize,
    /// What its impulse adds to N: 1 for a force, 0 for the moments of a disc.
    pub weight: R,
    /// What its impulse adds to N d: the lever along t and o, m.
    pub lever: [R; 2],
}

/// One friction block: up to two tangents and torsion under the pressure of some rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Friction<R> {
    /// Rows of t, o and torsion; the first `dimension` are meant.
    pub rows: [usize; 3],
    /// 1 (one tangent), 2 (two) or 3 (two and torsion).
    pub dimension: usize,
    /// μ, without unit.
    pub friction: R,
    /// e_t, e_o (without unit), e_r (m).
    pub ellipsoid: [R; 3],
    /// The rows that press; the first `normal_count` are meant.
    pub normals: [Normal<R>; MOST_NORMALS],
    /// How many rows press.
    pub normal_count: usize,
}

/// The pressure of a block and its first moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pressure<R> {
    /// N, N·s.
    pub sum: R,
    /// d, the ECP from the reference point along t and o, m.
    pub centre: [R; 2],
}

impl<R: Scalar> Friction<R> {
    /// The block of a patch whose first row is `row`.
    pub fn new(row: usize, patch: &Patch) -> Self {
        let c = R::constant;
        let mut normals = [Normal::default(); MOST_NORMALS];
        let mut put = |k: usize, weight: f64, lever: [f64; 2]| {
            normals[k] = Normal { row: row + k, weight: c(weight), lever: lever.map(c) };
        };
        match patch.support {
            Support::Vertices { count, points } => {
                for (k, point) in points[..count].iter().enumerate() {
                    put(k, 1.0, *point);
                }
            }
            Support::Disc { radius } => {
                put(0, 1.0, [0.0; 2]);
                put(1, 0.0, [radius, 0.0]);
                put(2, 0.0, [0.0, radius]);
            }
        }
        let first = row + patch.normal_rows();
        Self {
            rows: [first, first + 1, first + 2],
            dimension: 3,
            friction: c(patch.friction),
            ellipsoid: patch.ellipsoid.map(c),
            normals,
            normal_count: patch.normal_rows(),
        }
    }

    /// The block of a point whose normal has row `normal` and whose `dimension` tangents start at `first`.
    pub fn point(normal: usize, first: usize, dimension: usize, friction: R) -> Self {
        let mut normals = [Normal::default(); MOST_NORMALS];
        normals[0] = Normal { row: normal, weight: R::one(), lever: [R::zero(); 2] };
        let ellipsoid = [R::one(), R::one(), R::zero()];
        Self { rows: [first, first + 1, first + 2], dimension, friction, ellipsoid, normals, normal_count: 1 }
    }

    /// The rows that press.
    pub fn normals(&self) -> &[Normal<R>] {
        &self.normals[..self.normal_count]
    }

    /// N and d of the impulses `z` (n, N·s). A row that pulls does not count, nor do moments beyond a disc's rim.
    pub fn pressure(&self, z: &[R]) -> Pressure<R> {
        let (mut sum, mut moment) = (R::zero(), [R::zero(); 2]);
        let mut share = R::one();
        for (k, normal) in self.normals().iter().enumerate() {
            let mut impulse = z[normal.row];
            if normal.weight > R::zero() {
                impulse = impulse.max(R::zero());
                share = self.rim_share(k, z);
            } else {
                impulse = impulse * share;
            }
            sum = normal.weight.mul_add(impulse, sum);
            for a in 0..2 {
                moment[a] = normal.lever[a].mul_add(impulse, moment[a]);
            }
        }
        // d = Σ λ_i (x_i − c) / max(N, tiny)
        let inverse = R::one() / sum.max(R::constant(tiny::<R>()));
        Pressure { sum, centre: moment.map(|m| m * inverse) }
    }

    /// For the disc whose first row is normal `k`: `min(1, λ/|m|)`, which brings moments back to its rim. 1 for a vertex.
    pub(super) fn rim_share(&self, k: usize, z: &[R]) -> R {
        let Some((a, b)) = self.moments(k) else { return R::one() };
        let (a, b) = (z[a], z[b]);
        let length = (a * a + b * b).sqrt();
        let normal = z[self.normals[k].row].max(R::zero());
        if length > normal { normal / length } else { R::one() }
    }

    /// The moment rows of the disc whose first row is normal `k`.
    pub(super) fn moments(&self, k: usize) -> Option<(usize, usize)> {
        let of = |k: usize| self.normals().get(k).filter(|n| n.weight == R::zero()).map(|n| n.row);
        Some((of(k + 1)?, of(k + 2)?))
    }

    /// `s` of Newton's unknowns `x`.
    pub(super) fn unknowns(&self, x: &[R]) -> [R; 3] {
        let mut s = [R::zero(); 3];
        for k in 0..self.dimension {
            s[k] = x[self.rows[k]];
        }
        s
    }

    /// The impulses at the ECP in units of the ellipsoid, `s` (N·s); along an axis without friction 0.
    pub fn scaled_impulse(&self, z: &[R], centre: [R; 2]) -> [R; 3] {
        let f = self.at_ecp(z, centre);
        let mut s = [R::zero(); 3];
        for k in 0..self.dimension {
            if self.ellipsoid[k] > R::zero() {
                s[k] = f[k] / self.ellipsoid[k];
            }
        }
        s
    }

    /// `(f_t, f_o, τ_r)`: the impulses of `z` at the ECP, `τ_r = τ − d_t f_o + d_o f_t`.
    pub fn at_ecp(&self, z: &[R], centre: [R; 2]) -> [R; 3] {
        let mut f = [R::zero(); 3];
        for k in 0..self.dimension {
            f[k] = z[self.rows[k]];
        }
        if self.dimension == 3 {
            f[2] = f[2] - centre[0] * f[1] + centre[1] * f[0];
        }
        f
    }

    /// Puts `s` into the rows of `z`: `f = e ∘ s`, `τ = e_r s_r + d_t f_o − d_o f_t`.
    pub fn put(&self, s: [R; 3], centre: [R; 2], z: &mut [R]) {
        for k in 0..self.dimension {
            z[self.rows[k]] = self.ellipsoid[k] * s[k];
        }
        if self.dimension == 3 {
            let [t, o, r] = self.rows;
            z[r] = z[r] + centre[0] * z[o] - centre[1] * z[t];
        }
    }

    /// The velocity at the ECP in units of the ellipsoid, `y = e ∘ (w_t − d_o w_r, w_o + d_t w_r, w_r)` (m/s).
    pub fn slip(&self, w: &[R], centre: [R; 2]) -> [R; 3] {
        let mut u = [R::zero(); 3];
        for k in 0..self.dimension {
            u[k] = w[self.rows[k]];
        }
        if self.dimension == 3 {
            u[0] -= centre[1] * u[2];
            u[1] += centre[0] * u[2];
        }
        std::array::from_fn(|k| self.ellipsoid[k] * u[k])
    }

    /// `D = Sᵀ W_ff S`, the block's inverse inertia at the ECP in units of the ellipsoid (1/kg); `entry` is W.
    ///
    /// ```text
    /// S = [[e_t, 0, 0], [0, e_o, 0], [−d_o e_t, d_t e_o, e_r]]
    /// ```
    pub fn inverse_inertia(&self, entry: impl Fn(usize, usize) -> R, centre: [R; 2]) -> [[R; 3]; 3] {
        let zero = R::zero();
        let e = self.ellipsoid;
        let mut map = [[e[0], zero, zero], [zero, e[1], zero], [zero, zero, e[2]]];
        if self.dimension == 3 {
            map[2] = [-(centre[1] * e[0]), centre[0] * e[1], e[2]];
        }
        let n = self.dimension;
        let mut product = [[zero; 3]; 3];
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            for (k, l) in (0..n).flat_map(|k| (0..n).map(move |l| (k, l))) {
                product[i][j] += map[k][i] * entry(self.rows[k], self.rows[l]) * map[l][j];
            }
        }
        product
    }
}

/// Below this a sum of impulses counts as none.
fn tiny<R: Scalar>() -> f64 {
    if R::EPSILON > 1e-10 { 1e-30 } else { 1e-200 }
}

/// `|s − P(s − y/scale)| scale`, P onto the ball `|s| ≤ radius`: the natural map of one block, m/s.
#[inline(always)]
pub fn natural_map<R: Real>(s: [R; 3], y: [R; 3], radius: R, scale: R) -> R {
    // loops, not closures, which packs of lanes would call one by one
    let (mut own, mut p) = (s, s);
    for k in 0..3 {
        own[k] = scale * s[k];
        p[k] = own[k] - y[k];
    }
    let factor = shortening(length(p), scale * radius);
    for k in 0..3 {
        own[k] -= factor * p[k];
    }
    length(own)
}

/// What takes a vector of this length into the ball: `min(1, radius / length)`.
#[inline(always)]
fn shortening<R: Real>(length: R, radius: R) -> R {
    let radius = radius.max(R::zero());
    R::select(radius.lt(length), radius / length, R::one())
}

/// |v|
#[inline(always)]
pub fn length<R: Real>(v: [R; 3]) -> R {
    v[0].mul_add(v[0], v[1].mul_add(v[1], v[2] * v[2])).sqrt()
}

/// The x that makes `½ xᵀ D x + gᵀ x` least on the ball `|x| ≤ radius` (D symmetric, positive semidefinite).
///
/// ```text
/// x(λ) = −(D + λ I)⁻¹ g;    λ = 0 if |x(0)| ≤ radius, else the root of 1/radius = 1/|x(λ)|
/// λ ← λ + (|x|²/ xᵀ (D + λ I)⁻¹ x) (|x| − radius)/radius          (Moré & Sorensen 1983)
/// ```
///
/// which rises to the root from any λ below it, and is below it after one step from above. `multiplier` is where λ begins, 0 if nothing is known, and what it came to: for a
/// ball like this one it mostly does at once. A least λ of the size of rounding replaces 0, so that D may be singular. A lane that is there waits for those of
/// `lanes` that are not; other lanes mean nothing.
#[inline(always)]
pub fn least_on_ball<R: Pack>(d: &[[R; 3]; 3], g: [R; 3], radius: R, multiplier: &mut R, lanes: R::Mask) -> [R; 3] {
    let (zero, one) = (R::zero(), R::one());
    let trace = (d[0][0] + d[1][1] + d[2][2]).max(zero);
    let radius = radius.max(zero);
    let safe = R::select(zero.lt(radius), radius, one);
    // no eigenvalue exceeds the largest sum of magnitudes of a row, so (|g| − that |x|)/|x| is below the root; D = 0: x lies on the rim against g
    let mut largest = zero;
    for row in d {
        largest = (row[0].abs() + row[1].abs() + row[2].abs()).max(largest);
    }
    let pull = length(g) / safe;
    let alone = R::select(zero.lt(pull), pull, one);
    let rounding = ROUNDING * R::EPSILON;
    let least = R::select(zero.lt(trace), (trace * R::constant(rounding)).max(pull - largest), alone);
    let (beyond, short) = (safe * R::constant(1.0 + rounding), safe * R::constant(1.0 - rounding));
    let mut lambda = R::select(least.lt(*multiplier), *multiplier, least);
    let (mut x, mut factor, mut going) = ([zero; 3], zero, lanes);
    for _ in 0..=SECULAR_STEPS {
        // D + λ I = L diag(p) Lᵀ
        let i0 = one / (d[0][0] + lambda).max(lambda);
        let (l10, l20) = (d[1][0] * i0, d[2][0] * i0);
        let i1 = one / (d[1][1] + lambda - l10 * d[1][0]).max(lambda);
        let below = d[2][1] - l20 * d[1][0];
        let l21 = below * i1;
        let i2 = one / (d[2][2] + lambda - l20 * d[2][0] - l21 * below).max(lambda);
        // L q = −g,  Lᵀ x = q/p
        let q0 = -g[0];
        let q1 = -g[1] - l10 * q0;
        let q2 = -g[2] - l20 * q0 - l21 * q1;
        let x2 = q2 * i2;
        let x1 = q1 * i1 - l21 * x2;
        let x0 = q0 * i0 - l10 * x1 - l20 * x2;
        let size = length([x0, x1, x2]);
        // on the rim, unless λ is least and x within
        let slides = least.lt(lambda).or(safe.lt(size));
        let scale = R::select(slides.and(zero.lt(size)), safe / size, one);
        x = [R::select(going, x0, x[0]), R::select(going, x1, x[1]), R::select(going, x2, x[2])];
        factor = R::select(going, scale, factor);
        going = going.and(beyond.lt(size).or(slides.and(size.lt(short))));
        if !going.any() {
            break;
        }
        // xᵀ (D + λ I)⁻¹ x = Σ r²/p,  L r = x
        let r1 = x1 - l10 * x0;
        let r2 = x2 - l20 * x0 - l21 * r1;
        let slope = (x0 * x0).mul_add(i0, (r1 * r1).mul_add(i1, r2 * r2 * i2)) * safe;
        let some = zero.lt(slope);
        let rise = R::select(some, size * size * (size - safe) / R::select(some, slope, one), zero);
        lambda = R::select(going, (lambda + rise).max(least), lambda);
    }
    *multiplier = lambda;
    let factor = R::select(zero.lt(radius), factor, zero);
    [x[0] * factor, x[1] * factor, x[2] * factor]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(seed: f64, rank: usize) -> [[f64; 3]; 3] {
        let a = |k: usize, i: usize| (seed * 12.9898 + (3 * k + i) as f64 * 78.233).sin();
        std::array::from_fn(|i| std::array::from_fn(|j| (0..rank).map(|k| a(k, i) * a(k, j)).sum()))
    }

    #[test]
    fn the_ball_problem_meets_its_conditions() {
        for seed in 1..400 {
            let seed = f64::from(seed);
            for rank in 0..=3 {
                let d = matrix(seed, rank);
                let g = [(3.1 * seed).sin(), (1.7 * seed).cos(), (0.9 * seed).sin()];
                for radius in [0.0, 1e-9, 1e-3, 0.3, 2.0, 1e3] {
                    // from wherever the search begins
                    for mut multiplier in [0.0, 1e-12, 1e-3, 1.0, 1e3, 1e9] {
                        let x = least_on_ball(&d, g, radius, &mut multiplier, true);
                        let y: [f64; 3] = std::array::from_fn(|i| g[i] + (0..3).map(|j| d[i][j] * x[j]).sum::<f64>());
                        assert!(length(x) <= radius * (1.0 + 1e-14));
                        // the gradient is opposite to x on the rim and zero within
                        let size = (0..3).map(|i| d[i][i]).sum::<f64>() * length(x) + length(g);
                        let error = natural_map(x, y, radius, 1.0);
                        assert!(error <= 1e-9 * (size + radius), "{seed} {rank} {radius}: {error:e}");
                    }
                }
            }
        }
    }

    #[test]
    fn lanes_agree_with_scalars() {
        use crate::lane::{F64x8, Lanes, Real};
        let lane = |f: &dyn Fn(usize) -> f64| {
            let mut x = F64x8::zero();
            for i in 0..8 {
                x.set(i, f(i));
            }
            x
        };
        let _: Lanes<f64, 8> = lane(&|_| 0.0);
        let d: [[F64x8; 3]; 3] =
            std::array::from_fn(|i| std::array::from_fn(|j| lane(&|k| matrix(k as f64 + 1.0, k % 4)[i][j])));
        let g = std::array::from_fn(|i| lane(&|k| ((k + i) as f64).sin()));
        let x = least_on_ball(&d, g, lane(&|k| 0.1 * k as f64), &mut F64x8::zero(), Mask::splat(true));
        for k in 0..8 {
            let g = std::array::from_fn(|i| ((k + i) as f64).sin());
            let one = least_on_ball(&matrix(k as f64 + 1.0, k % 4), g, 0.1 * k as f64, &mut 0.0, true);
            assert_eq!(x.map(|x| x.get(k)), one);
        }
    }
}
