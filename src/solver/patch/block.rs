//! A problem with patches in the unknowns of Newton's method, over lanes: what misses its laws, and the Jacobian of that.

use super::super::project::scale;
use super::law::{Pressure, Rows, Shape, project_disc_cone};
use super::tile::{Room, add_product};
use crate::contact::PATCH_ROWS;
use crate::lane::{Mask, Pack, PackMask, Real};
use crate::lcp::patch::ellipsoid::length;

/// Added to the diagonal of the normals: small beside 1, large beside rounding.
fn normal_shift<R: Pack>() -> f64 {
    if R::EPSILON > 1e-10 { 1e-5 } else { 1e-7 }
}

/// The problem of one tile.
#[derive(Debug, Clone)]
pub(super) struct Block<R> {
    pub room: Room,
    /// W, shape \[row\]\[column\].
    pub delassus: Vec<R>,
    /// b, shape \[row\].
    pub bias: Vec<R>,
    /// μ, shape \[contact\].
    pub friction: Vec<R>,
    /// Bounds of all scalar rows; those of patches are not looked at; shape \[scalar\]\[2\].
    pub bounds: Vec<R>,
    /// What the patches are, shape \[patch\]\[[`PATCH_LEN`]\].
    pub shapes: Vec<R>,
    /// 1/ρ of every row, 1/kg, shape \[row\].
    pub scale: Vec<R>,
    /// ρ of every row, kg, shape \[row\].
    pub rho: Vec<R>,
}

/// Where a tile stands: unknowns and what follows from them, shape \[row\] each.
#[derive(Debug, Clone)]
pub(super) struct Point<R> {
    pub x: Vec<R>,
    pub z: Vec<R>,
    pub w: Vec<R>,
    /// F/ρ, m/s.
    pub defect: Vec<R>,
    /// Sum of the squares of the defects.
    pub merit: R,
    /// Largest natural map, m/s; not a number where any part of it is not.
    pub residual: R,
}

impl<R: Pack> Point<R> {
    pub fn new() -> Self {
        let (x, z, w, defect) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { x, z, w, defect, merit: R::zero(), residual: R::zero() }
    }

    pub fn resize(&mut self, n: usize) {
        for array in [&mut self.x, &mut self.z, &mut self.w, &mut self.defect] {
            array.resize(n, R::zero());
        }
    }

    /// Takes the unknowns and all else of `other` in some lanes.
    #[inline(always)]
    pub fn take(&mut self, lanes: R::Mask, other: &Self) {
        for (to, from) in [
            (&mut self.x, &other.x),
            (&mut self.z, &other.z),
            (&mut self.w, &other.w),
            (&mut self.defect, &other.defect),
        ] {
            for (to, from) in to.iter_mut().zip(from) {
                *to = R::select(lanes, *from, *to);
            }
        }
        self.merit = R::select(lanes, other.merit, self.merit);
        self.residual = R::select(lanes, other.residual, self.residual);
    }
}

/// Derivatives of a pressure by the impulses of its normals.
pub(super) struct Slopes<R> {
    /// ∂N/∂λ_k
    pub sum: [R; 4],
    /// ∂d/∂λ_k, m/(N·s).
    pub centre: [[R; 2]; 4],
}

impl<R: Real> Slopes<R> {
    /// `∂d/∂λ_i = (x_i − c − d)/N`, and the same through the rim of a disc; `discs`: whether there may be one. Where nothing presses, what begins to press is the sum.
    #[inline(always)]
    pub fn of(shape: &Shape<R>, z: [R; 4], pressure: &Pressure<R>, discs: bool) -> Self {
        let (zero, one) = (R::zero(), R::one());
        let Pressure { sum, centre: [d_t, d_o], share } = *pressure;
        let pressed = zero.lt(sum);
        let inverse = R::select(pressed, one / R::select(pressed, sum, one), zero);
        let (mut by_sum, mut by_lever) = ([zero; 4], [[zero; 2]; 4]);
        for k in 0..4 {
            let counts = z[k].lt(zero).not().or(pressed.not());
            let weight = R::select(counts, one, zero);
            by_sum[k] = weight;
            for a in 0..2 {
                by_lever[k][a] = weight * shape.lever[k][a];
            }
        }
        if discs {
            let size = z[1].mul_add(z[1], z[2] * z[2]).sqrt();
            let beyond = share.lt(one);
            let over = R::select(beyond, one / R::select(beyond, size, one), zero);
            let unit = [z[1] * over, z[2] * over];
            for a in 0..2 {
                // moments within the rim count as they are; beyond it λ m/|m| does
                let along = shape.lever[1][a].mul_add(unit[0], shape.lever[2][a] * unit[1]);
                by_lever[0][a] = R::select(shape.disc, by_sum[0] * (shape.lever[0][a] + along), by_lever[0][a]);
                for j in 0..2 {
                    let moment = share * (shape.lever[j + 1][a] - along * unit[j]);
                    by_lever[j + 1][a] = R::select(shape.disc, moment, by_lever[j + 1][a]);
                }
                by_lever[3][a] = R::select(shape.disc, zero, by_lever[3][a]);
            }
            for k in 1..4 {
                by_sum[k] = R::select(shape.disc, zero, by_sum[k]);
            }
        }
        let mut centre = [[zero; 2]; 4];
        for k in 0..4 {
            centre[k] = [(by_lever[k][0] - by_sum[k] * d_t) * inverse, (by_lever[k][1] - by_sum[k] * d_o) * inverse];
        }
        Self { sum: by_sum, centre }
    }
}

/// P′ of the cone of a disc at p.
///
/// ```text
/// rim   ½ [[1, m̂ᵀ], [m̂, m̂ m̂ᵀ + (2 n/|m|)(1 − m̂ m̂ᵀ)]],   n = (λ + |m|)/2
/// ```
#[inline(always)]
fn disc_slope<R: Pack>(p: [R; 3]) -> [[R; 3]; 3] {
    let (zero, one, half) = (R::zero(), R::one(), R::constant(0.5));
    let size = p[1].mul_add(p[1], p[2] * p[2]).sqrt();
    let (inside, open) = (p[0].lt(size).not(), (-p[0]).lt(size).not());
    let some = zero.lt(size);
    let over = R::select(some, one / R::select(some, size, one), zero);
    let m = [p[1] * over, p[2] * over];
    let across = half * (p[0] + size) * over;
    let mut slope = [[half; 3]; 3];
    for i in 0..2 {
        slope[0][i + 1] = half * m[i];
        slope[i + 1][0] = half * m[i];
        for j in 0..2 {
            let own = if i == j { one } else { zero };
            slope[i + 1][j + 1] = (half * m[i]).mul_add(m[j], across * (own - m[i] * m[j]));
        }
    }
    for i in 0..3 {
        for j in 0..3 {
            let own = if i == j { one } else { zero };
            slope[i][j] = R::select(inside, own, R::select(open, zero, slope[i][j]));
        }
    }
    slope
}

impl<R: Pack> Block<R> {
    pub fn new() -> Self {
        Self {
            room: Room::default(),
            delassus: Vec::new(),
            bias: Vec::new(),
            friction: Vec::new(),
            bounds: Vec::new(),
            shapes: Vec::new(),
            scale: Vec::new(),
            rho: Vec::new(),
        }
    }

    #[inline(always)]
    pub fn rows(&self, c: usize) -> (Rows, Shape<R>) {
        let rows = Rows::new(c, self.room.contacts, self.room.patches);
        (rows, Shape::new(&self.shapes, c, rows.is_patch))
    }

    /// Finds 1/ρ of every row.
    #[inline(always)]
    pub fn find_scales(&mut self) {
        let n = self.room.row_count();
        self.scale.resize(n, R::one());
        for i in 0..n {
            self.scale[i] = scale(self.delassus[i * n + i]);
        }
        for c in 0..self.room.contacts {
            let (rows, shape) = self.rows(c);
            let mut diagonal = [R::zero(); 4];
            for k in 0..rows.normal_count() {
                diagonal[k] = self.delassus[rows.normal[k] * n + rows.normal[k]];
            }
            let disc = Shape::disc_scale(diagonal);
            for k in 0..rows.normal_count().min(3) {
                let scale = &mut self.scale[rows.normal[k]];
                *scale = R::select(shape.disc, disc, *scale);
            }
            let mut own = [R::zero(); 3];
            for (k, row) in rows.friction().into_iter().enumerate().take(if rows.is_patch { 3 } else { 2 }) {
                own[k] = self.delassus[row * n + row];
            }
            let a = shape.friction_scale(own);
            for row in rows.friction().into_iter().take(if rows.is_patch { 3 } else { 2 }) {
                self.scale[row] = a;
            }
        }
        self.rho.clear();
        for scale in &self.scale {
            self.rho.push(R::one() / *scale);
        }
    }

    /// The first scalar row that belongs to no patch.
    #[inline(always)]
    fn first_scalar(&self) -> usize {
        3 * self.room.contacts + PATCH_ROWS * self.room.patches
    }

    /// z of x.
    #[inline(always)]
    pub fn impulses(&self, x: &[R], z: &mut [R]) {
        z.copy_from_slice(x);
        for c in 0..self.room.patches {
            let (rows, shape) = self.rows(c);
            let centre = shape.pressure(rows.normals(x)).centre;
            let f = shape.impulses(rows.frictions(x), centre);
            for (k, row) in rows.friction().into_iter().enumerate() {
                z[row] = f[k];
            }
        }
    }

    /// x of z.
    #[inline(always)]
    pub fn unknowns(&self, z: &[R], x: &mut [R]) {
        x.copy_from_slice(z);
        for c in 0..self.room.patches {
            let (rows, shape) = self.rows(c);
            let centre = shape.pressure(rows.normals(z)).centre;
            let s = shape.scaled(rows.frictions(z), centre);
            for (k, row) in rows.friction().into_iter().enumerate() {
                x[row] = s[k];
            }
        }
    }

    /// All that follows from the unknowns of `p`.
    #[inline(always)]
    pub fn evaluate(&self, p: &mut Point<R>) {
        let (n, zero) = (self.room.row_count(), R::zero());
        self.impulses(&p.x, &mut p.z);
        let Point { x, z, w, defect, .. } = p;
        w.copy_from_slice(&self.bias);
        add_product(&self.delassus, z, w);
        let (mut residual, mut sum) = (zero, zero);
        for c in 0..self.room.contacts {
            let (rows, shape) = self.rows(c);
            for k in 0..rows.normal_count() {
                let i = rows.normal[k];
                let d = self.scale[i];
                let open = (x[i] - w[i] / d).lt(zero);
                defect[i] = R::select(open, x[i] * d, w[i]);
            }
            if rows.is_patch && shape.disc.any() {
                let [i, j, k] = [rows.normal[0], rows.normal[1], rows.normal[2]];
                let d = self.scale[i];
                let p = project_disc_cone([x[i] - w[i] / d, x[j] - w[j] / d, x[k] - w[k] / d]);
                for (row, p) in [(i, p[0]), (j, p[1]), (k, p[2])] {
                    defect[row] = R::select(shape.disc, (x[row] - p) * d, defect[row]);
                }
            }
            let normal = rows.normals(defect);
            let cone = length([normal[0], normal[1], normal[2]]);
            let mut worst = normal[3].abs();
            for k in 0..3 {
                worst = normal[k].abs().max(worst);
            }
            residual = R::select(shape.disc, cone, worst).max(residual);
            let pressure = shape.pressure(rows.normals(z));
            let (s, y) = (rows.frictions(x), shape.slip(rows.frictions(w), pressure.centre));
            let a = self.scale[rows.tangent];
            let q = [s[0] - y[0] / a, s[1] - y[1] / a, s[2] - y[2] / a];
            let (size, radius) = (length(q), self.friction[c] * pressure.sum);
            let slides = radius.lt(size);
            let share = R::select(slides, radius / size, zero);
            for (k, row) in rows.friction().into_iter().enumerate().take(if rows.is_patch { 3 } else { 2 }) {
                let rough = zero.lt(shape.ellipsoid[k]);
                let kept = R::select(slides, (s[k] - share * q[k]) * a, y[k]);
                defect[row] = R::select(rough, kept, s[k] * a);
            }
            residual = length(rows.frictions(defect)).max(residual);
        }
        for i in self.first_scalar()..n {
            let s = 2 * (i - 3 * self.room.contacts);
            let (d, lower, upper) = (self.scale[i], self.bounds[s], self.bounds[s + 1]);
            let q = x[i] - w[i] / d;
            let at = R::select(q.lt(lower), lower, upper);
            let bound = q.lt(lower).or(upper.lt(q));
            defect[i] = R::select(bound, (x[i] - R::select(bound, at, zero)) * d, w[i]);
            residual = defect[i].abs().max(residual);
        }
        for f in &*defect {
            sum = f.mul_add(*f, sum);
        }
        p.merit = sum;
        // a maximum drops what is not a number; a sum does not
        p.residual = sum.mul_add(zero, residual);
    }

    /// The Jacobian of F/ρ by x/ρ at `p`, row-major. `shift`: added to the diagonals of friction.
    #[inline(always)]
    pub fn jacobian(&self, p: &Point<R>, shift: R, out: &mut [R]) {
        let (n, zero) = (self.room.row_count(), R::zero());
        let normal_shift = shift.max(R::constant(normal_shift::<R>()));
        let (x, z, w) = (&p.x, &p.z, &p.w);
        out.copy_from_slice(&self.delassus);
        // A = ∂w/∂x = W ∂z/∂x; of points ∂z/∂x = 1
        for c in 0..self.room.patches {
            let (rows, shape) = self.rows(c);
            let pressure = shape.pressure(rows.normals(z));
            let slopes = Slopes::of(&shape, rows.normals(z), &pressure, shape.disc.any());
            let ([d_t, d_o], e) = (pressure.centre, shape.ellipsoid);
            let [f_t, f_o, _] = rows.frictions(z);
            let mut twist = [zero; 4];
            for k in 0..4 {
                // ∂τ/∂λ = ∂d_t f_o − ∂d_o f_t
                twist[k] = slopes.centre[k][0] * f_o - slopes.centre[k][1] * f_t;
            }
            let [t, o, r] = rows.friction();
            for row in out.chunks_exact_mut(n) {
                let torsion = row[r];
                row[t] = e[0] * (row[t] - d_o * torsion);
                row[o] = e[1] * d_t.mul_add(torsion, row[o]);
                row[r] = e[2] * torsion;
                for k in 0..4 {
                    row[rows.normal[k]] = torsion.mul_add(twist[k], row[rows.normal[k]]);
                }
            }
        }
        for c in 0..self.room.contacts {
            let (rows, shape) = self.rows(c);
            if rows.is_patch && shape.disc.any() {
                self.disc_rows(&rows, &shape, (x, w), normal_shift, out);
            }
            for k in 0..rows.normal_count() {
                let i = rows.normal[k];
                let d = self.scale[i];
                let open = (x[i] - w[i] / d).lt(zero).and(shape.disc.not().or(R::Mask::splat(k == 3)));
                let shifted = shape.disc.not().or(R::Mask::splat(k == 3));
                let row = &mut out[i * n..(i + 1) * n];
                for a in row.iter_mut() {
                    *a = R::select(open, zero, *a);
                }
                row[i] = R::select(open, d, R::select(shifted, normal_shift.mul_add(d, row[i]), row[i]));
            }
            self.friction_rows(c, &rows, &shape, p, shift, out);
        }
        for i in self.first_scalar()..n {
            let s = 2 * (i - 3 * self.room.contacts);
            let d = self.scale[i];
            let q = x[i] - w[i] / d;
            let bound = q.lt(self.bounds[s]).or(self.bounds[s + 1].lt(q));
            let row = &mut out[i * n..(i + 1) * n];
            for a in row.iter_mut() {
                *a = R::select(bound, zero, *a);
            }
            row[i] = R::select(bound, d, normal_shift.mul_add(d, row[i]));
        }
        for row in out.chunks_exact_mut(n) {
            for (entry, rho) in row.iter_mut().zip(&self.rho) {
                *entry = *entry * *rho;
            }
        }
    }

    /// The rows of a disc, where there is one: ∂F/ρ = (1 − P′)/ρ + P′ A.
    #[inline(always)]
    fn disc_rows(&self, rows: &Rows, shape: &Shape<R>, (x, w): (&[R], &[R]), shift: R, out: &mut [R]) {
        let (n, zero, one) = (self.room.row_count(), R::zero(), R::one());
        let at = [rows.normal[0], rows.normal[1], rows.normal[2]];
        let d = self.scale[at[0]];
        let slope = disc_slope([x[at[0]] - w[at[0]] / d, x[at[1]] - w[at[1]] / d, x[at[2]] - w[at[2]] / d]);
        for j in 0..n {
            let a = [out[at[0] * n + j], out[at[1] * n + j], out[at[2] * n + j]];
            for i in 0..3 {
                let sum = slope[i][0].mul_add(a[0], slope[i][1].mul_add(a[1], slope[i][2] * a[2]));
                out[at[i] * n + j] = R::select(shape.disc, sum, a[i]);
            }
        }
        for i in 0..3 {
            for k in 0..3 {
                let own = if i == k { one } else { zero };
                let entry = &mut out[at[i] * n + at[k]];
                let new = (own - slope[i][k] + shift * slope[i][k]).mul_add(d, *entry);
                *entry = R::select(shape.disc, new, *entry);
            }
        }
    }

    /// The rows of the friction of contact `c`: of those that stick y, of those that slide s − r p̂.
    ///
    /// ```text
    /// ∂F = ∂s − (r/|p|)(1 − p̂ p̂ᵀ)(∂s − ρ ∂y) − p̂ μ ∂N
    /// ```
    #[inline(always)]
    fn friction_rows(&self, c: usize, rows: &Rows, shape: &Shape<R>, p: &Point<R>, shift: R, out: &mut [R]) {
        let (n, zero, one) = (self.room.row_count(), R::zero(), R::one());
        let pressure = shape.pressure(rows.normals(&p.z));
        let slopes = Slopes::of(shape, rows.normals(&p.z), &pressure, shape.disc.any());
        let (s, w, e) = (rows.frictions(&p.x), rows.frictions(&p.w), shape.ellipsoid);
        let ([d_t, d_o], y) = (pressure.centre, shape.slip(w, pressure.centre));
        let (a, mu) = (self.scale[rows.tangent], self.friction[c]);
        let q = [s[0] - y[0] / a, s[1] - y[1] / a, s[2] - y[2] / a];
        let (size, radius) = (length(q), mu * pressure.sum);
        let slides = radius.lt(size);
        let share = R::select(slides, radius / size, one);
        let mut unit = [zero; 3];
        for k in 0..3 {
            unit[k] = R::select(slides, q[k] / size, zero);
        }
        let at = rows.friction();
        let count = if rows.is_patch { 3 } else { 2 };
        for j in 0..n {
            let torsion = if rows.is_patch { out[at[2] * n + j] } else { zero };
            let (t, o) = (out[at[0] * n + j], out[at[1] * n + j]);
            let mut slip = [e[0] * (t - d_o * torsion), e[1] * d_t.mul_add(torsion, o), e[2] * torsion];
            if rows.is_patch {
                for k in 0..4 {
                    if rows.normal[k] == j {
                        slip[0] -= e[0] * slopes.centre[k][1] * w[2];
                        slip[1] += e[1] * slopes.centre[k][0] * w[2];
                    }
                }
            }
            let along = unit[0].mul_add(slip[0], unit[1].mul_add(slip[1], unit[2] * slip[2]));
            for k in 0..count {
                let rough = zero.lt(e[k]);
                out[at[k] * n + j] = R::select(rough, share * (slip[k] - unit[k] * along), zero);
            }
        }
        for k in 0..count {
            let rough = zero.lt(e[k]);
            for l in 0..count {
                let own = if k == l { one } else { zero };
                let local = (own - share * (own - unit[k] * unit[l])) * a;
                let local = R::select(rough, local, own * a);
                out[at[k] * n + at[l]] += local;
            }
            out[at[k] * n + at[k]] += R::select(slides.not().and(rough), shift * a, zero);
            for m in 0..rows.normal_count() {
                let entry = &mut out[at[k] * n + rows.normal[m]];
                let pressed = unit[k] * mu * slopes.sum[m] * a;
                *entry = R::select(rough, *entry - pressed, *entry);
            }
        }
    }
}
