//! Large blocks, one by one, through velocities: W = Y Yᵀ is never formed.
//!
//! With z = Yᵀ λ a product is u = b + Y z, a change of a contact's impulse adds Y_cᵀ Δλ to z, and the system of Newton on modes,
//!
//! (Lᵀ Y Yᵀ R + E) x = r,   E = δ I + D + ε,
//!
//! has as many unknowns as there are degrees of freedom (Woodbury's identity): with K = R E⁻¹ Lᵀ, 3 × 3 for each contact,
//!
//! (I + Yᵀ K Y) g = Yᵀ R E⁻¹ r,   x = E⁻¹ (r − Lᵀ Y g)
//!
//! E⁻¹ is as large as 1/δ, so r must be small where the answer is near: x is sought from Lᵀ y on, what the modes can say of the present impulse.

use super::block_lu::{BLOCK, factor_sparse, solve};
use super::cpu::{OneTile, Stages, sweep};
use super::factor::Factor;
use super::newton::{Guess, Matrix, Mode, NewtonTile, expand, tests};
use super::pgs::update_contact;
use super::project::{inverse, is_finite, project_interval, scale};
use super::residual::{contact_residual, row_residual, write_report};
use super::rounds::{Round, Start};
use super::{BlockSize, Header, REPORT_ITERATIONS, REPORT_LEN, REPORT_LIVE, SolveSettings};
use crate::lane::{Compiled, Real, Scalar, Task};

/// Rounds of Newton, of all rows of a block. Alternating directions cost little here: two products and two triangles a step.
const ROUNDS: [Round; 6] = [
    Round { steps: 20, acting: false, start: Start::Here },
    Round { steps: 20, acting: false, start: Start::Split { steps: 20, rho: 1e-3 } },
    Round { steps: 20, acting: false, start: Start::Split { steps: 100, rho: 1e-3 } },
    Round { steps: 20, acting: false, start: Start::Split { steps: 100, rho: 1e-4 } },
    Round { steps: 40, acting: false, start: Start::Split { steps: 200, rho: 3e-3 } },
    Round { steps: 20, acting: false, start: Start::Friction(&[0.0, 0.2, 0.4, 0.6, 0.8]) },
];
/// Entries of a row that are worked on together.
const STRIP: usize = 8;

/// W of one block as its factor, and memory for what is done with it.
#[derive(Debug, Clone, Default)]
pub(super) struct Factored<S> {
    factor: Factor<S>,
    /// The 3 × 3 block of W of every contact, and the diagonal of every scalar row, shape \[unit\].
    own: Vec<[[S; 3]; 3]>,
    /// Compliance of every unit, scaled, shape \[unit\].
    compliance: Vec<S>,
    /// Yᵀ λ, padded, shape \[column\].
    velocity: Vec<S>,
    /// Σ|terms of Yᵀ λ|, shape \[column\].
    magnitude: Vec<S>,
    /// K of every unit, shape \[unit\].
    weight: Vec<[[S; 3]; 3]>,
    /// I + Yᵀ K Y, padded to whole blocks.
    system: Vec<S>,
    /// What units of the same columns add to it, shape \[column\]\[column\], rows padded to strips.
    patch: Vec<S>,
    /// K Y of a unit, shape \[row\]\[column\], rows padded to strips.
    product: Vec<S>,
    /// x, E⁻¹, r and R E⁻¹ r or Y g, shape \[row\].
    unknown: Vec<S>,
    inverse: Vec<S>,
    right: Vec<S>,
    row: Vec<S>,
}

impl<S: Scalar> Factored<S> {
    /// Loads a block as it stands.
    #[inline(always)]
    fn load(&mut self, factor: &Factor<S>) {
        self.factor.copy_from(factor);
        self.compliance.clear();
        for unit in 0..factor.size.contact_count + factor.size.scalar_count {
            self.compliance.push(factor.compliance(unit));
        }
        self.find_own();
    }

    /// The blocks on the diagonal of W.
    #[inline(always)]
    fn find_own(&mut self) {
        self.own.clear();
        for unit in 0..self.compliance.len() {
            let (columns, entries) = self.factor.unit(unit);
            let k = columns.len();
            let mut own = [[S::zero(); 3]; 3];
            for i in 0..self.factor.rows(unit) {
                for j in 0..=i {
                    let mut w = S::zero();
                    for (x, y) in entries[i * k..(i + 1) * k].iter().zip(&entries[j * k..(j + 1) * k]) {
                        w = x.mul_add(*y, w);
                    }
                    (own[i][j], own[j][i]) = (w, w);
                }
            }
            own[0][0] += self.compliance[unit];
            self.own.push(own);
        }
    }

    /// z = Yᵀ λ
    #[inline(always)]
    fn find_velocity(&mut self, impulse: &[S]) {
        self.velocity.clear();
        self.velocity.resize(self.factor.column_count, S::zero());
        for unit in 0..self.compliance.len() {
            let i = self.factor.row(unit);
            self.push(unit, &impulse[i..i + self.factor.rows(unit)]);
        }
    }

    /// z ← z + Y_cᵀ λ_c
    #[inline(always)]
    fn push(&mut self, unit: usize, impulse: &[S]) {
        let (columns, entries) = self.factor.unit(unit);
        let k = columns.len();
        if let [x0, x1, x2] = *impulse {
            let (y0, y1, y2) = (&entries[..k], &entries[k..2 * k], &entries[2 * k..3 * k]);
            for (i, &column) in columns.iter().enumerate() {
                let z = &mut self.velocity[column as usize];
                *z = y2[i].mul_add(x2, y1[i].mul_add(x1, y0[i].mul_add(x0, *z)));
            }
        } else {
            for (y, &column) in entries.iter().zip(columns) {
                let z = &mut self.velocity[column as usize];
                *z = y.mul_add(impulse[0], *z);
            }
        }
    }

    /// u = b + Y_c z + ε λ of a unit; a scalar row has the first entry only.
    #[inline(always)]
    fn velocity_of(&self, unit: usize, bias: &[S], impulse: &[S]) -> [S; 3] {
        let (columns, entries) = self.factor.unit(unit);
        let (k, i) = (columns.len(), self.factor.row(unit));
        let mut u = [self.compliance[unit].mul_add(impulse[i], bias[i]), S::zero(), S::zero()];
        if unit < self.factor.size.contact_count {
            (u[1], u[2]) = (bias[i + 1], bias[i + 2]);
            let (y0, y1, y2) = (&entries[..k], &entries[k..2 * k], &entries[2 * k..3 * k]);
            for (i, &column) in columns.iter().enumerate() {
                let z = self.velocity[column as usize];
                u = [y0[i].mul_add(z, u[0]), y1[i].mul_add(z, u[1]), y2[i].mul_add(z, u[2])];
            }
        } else {
            for (y, &column) in entries.iter().zip(columns) {
                u[0] = y.mul_add(self.velocity[column as usize], u[0]);
            }
        }
        u
    }

    /// The factors of I + Yᵀ K Y.
    #[inline(always)]
    fn factor_system(&mut self) {
        let padded = self.factor.column_count.next_multiple_of(BLOCK);
        self.system.clear();
        self.system.resize(padded * padded, S::zero());
        for i in 0..padded {
            self.system[i * padded + i] = S::one();
        }
        let count = self.weight.len();
        let mut unit = 0;
        while unit < count {
            // units of the same columns, mostly contacts of one pair, go together
            let first = unit;
            let k = self.factor.unit(first).0.len();
            let stride = k.next_multiple_of(STRIP);
            self.patch.clear();
            self.patch.resize(k * stride, S::zero());
            let mut any = false;
            while unit < count && self.factor.unit(unit).0 == self.factor.unit(first).0 {
                if self.weight[unit] != [[S::zero(); 3]; 3] {
                    self.add_to_patch(unit, stride);
                    any = true;
                }
                unit += 1;
            }
            if any {
                let columns = self.factor.unit(first).0;
                for (&a, patch) in columns.iter().zip(self.patch.chunks_exact(stride)) {
                    let row = &mut self.system[a as usize * padded..(a as usize + 1) * padded];
                    for (&b, x) in columns.iter().zip(patch) {
                        row[b as usize] += *x;
                    }
                }
            }
        }
        factor_sparse(&mut self.system, padded);
    }

    /// Adds Y_cᵀ K Y_c of a unit to the patch.
    #[inline(always)]
    fn add_to_patch(&mut self, unit: usize, stride: usize) {
        let (columns, entries) = self.factor.unit(unit);
        let (k, weight) = (columns.len(), &self.weight[unit]);
        let product = &mut self.product;
        product.clear();
        product.resize(3 * stride, S::zero());
        let (x0, rest) = product.split_at_mut(stride);
        let (x1, x2) = rest.split_at_mut(stride);
        if self.factor.rows(unit) == 1 {
            for (x, y) in x0.iter_mut().zip(entries) {
                *x = weight[0][0] * *y;
            }
            for (y, patch) in entries.iter().zip(self.patch.chunks_exact_mut(stride)) {
                for (out, x) in patch.iter_mut().zip(&*x0) {
                    *out = y.mul_add(*x, *out);
                }
            }
            return;
        }
        let (y0, y1, y2) = (&entries[..k], &entries[k..2 * k], &entries[2 * k..3 * k]);
        // K Y_c
        for j in 0..k {
            let y = [y0[j], y1[j], y2[j]];
            x0[j] = weight[0][0].mul_add(y[0], weight[0][1].mul_add(y[1], weight[0][2] * y[2]));
            x1[j] = weight[1][0].mul_add(y[0], weight[1][1].mul_add(y[1], weight[1][2] * y[2]));
            x2[j] = weight[2][0].mul_add(y[0], weight[2][1].mul_add(y[1], weight[2][2] * y[2]));
        }
        for (a, patch) in self.patch.chunks_exact_mut(stride).enumerate() {
            let (y0, y1, y2) = (y0[a], y1[a], y2[a]);
            let strips = x0.chunks_exact(STRIP).zip(x1.chunks_exact(STRIP)).zip(x2.chunks_exact(STRIP));
            for (out, ((x0, x1), x2)) in patch.chunks_exact_mut(STRIP).zip(strips) {
                for lane in 0..STRIP {
                    out[lane] = y2.mul_add(x2[lane], y1.mul_add(x1[lane], y0.mul_add(x0[lane], out[lane])));
                }
            }
        }
    }

    /// g = (I + Yᵀ K Y)⁻¹ Yᵀ x
    #[inline(always)]
    fn solve_system(&mut self, x: &[S]) {
        self.find_velocity(x);
        self.velocity.resize(self.factor.column_count.next_multiple_of(BLOCK), S::zero());
        solve(&self.system, &mut self.velocity);
    }

    /// `header.sweep_count` projected Gauss-Seidel sweeps, as in stage `pgs`.
    #[inline(always)]
    fn pgs(&mut self, header: &Header, tile: &mut OneTile<'_, S>) {
        if !S::zero().lt(tile.report[REPORT_LIVE]) {
            return;
        }
        self.find_velocity(tile.impulse);
        let contacts = self.factor.size.contact_count;
        for _ in 0..header.sweep_count {
            for unit in 0..self.compliance.len() {
                let i = self.factor.row(unit);
                let u = self.velocity_of(unit, tile.bias, tile.impulse);
                if unit < contacts {
                    let old = [tile.impulse[i], tile.impulse[i + 1], tile.impulse[i + 2]];
                    let new = update_contact(header.law, u, old, &self.own[unit], tile.friction[unit]);
                    tile.impulse[i..i + 3].copy_from_slice(&new);
                    self.push(unit, &[new[0] - old[0], new[1] - old[1], new[2] - old[2]]);
                } else {
                    let (old, s) = (tile.impulse[i], unit - contacts);
                    let target = (-u[0]).mul_add(inverse(self.own[unit][0][0]), old);
                    let new = project_interval(target, tile.bounds[2 * s], tile.bounds[2 * s + 1]);
                    tile.impulse[i] = new;
                    self.push(unit, &[new - old]);
                }
            }
        }
        tile.report[REPORT_ITERATIONS] += S::from_f64(f64::from(header.sweep_count));
    }
}

impl<S: Scalar> Stages<S> for Factored<S> {
    #[inline(always)]
    fn sweep(&mut self, header: &Header, tile: &mut OneTile<'_, S>) {
        self.pgs(header, tile);
    }

    /// As stage `residual`; the floor follows the terms of z and those of u.
    #[inline(always)]
    fn residual(&mut self, header: &Header, tile: &mut OneTile<'_, S>) {
        self.find_velocity(tile.impulse);
        self.magnitude.clear();
        self.magnitude.resize(self.factor.column_count, S::zero());
        for unit in 0..self.compliance.len() {
            let (columns, entries) = self.factor.unit(unit);
            let (k, i) = (columns.len(), self.factor.row(unit));
            for r in 0..self.factor.rows(unit) {
                let x = tile.impulse[i + r].abs();
                for (y, &column) in entries[r * k..(r + 1) * k].iter().zip(columns) {
                    let sum = &mut self.magnitude[column as usize];
                    *sum = y.abs().mul_add(x, *sum);
                }
            }
        }
        let contacts = self.factor.size.contact_count;
        let (mut largest, mut magnitude, mut finite) = (S::zero(), S::zero(), true);
        for unit in 0..self.compliance.len() {
            let (columns, entries) = self.factor.unit(unit);
            let (k, i) = (columns.len(), self.factor.row(unit));
            let mut sum = S::zero();
            for r in 0..self.factor.rows(unit) {
                let mut row = tile.bias[i + r].abs();
                for (y, &column) in entries[r * k..(r + 1) * k].iter().zip(columns) {
                    row = y.abs().mul_add(self.magnitude[column as usize], row);
                }
                finite &= is_finite(row);
                sum = Real::max(row, sum);
            }
            let (u, own) = (self.velocity_of(unit, tile.bias, tile.impulse), &self.own[unit]);
            let error = if unit < contacts {
                let x = [tile.impulse[i], tile.impulse[i + 1], tile.impulse[i + 2]];
                contact_residual(header.law, u, x, [own[0][0], own[1][1], own[2][2]], tile.friction[unit])
            } else {
                let bounds = &tile.bounds[2 * (unit - contacts)..];
                row_residual(u[0], tile.impulse[i], own[0][0], bounds[0], bounds[1])
            };
            finite &= is_finite(error);
            largest = Real::max(error, largest);
            magnitude = Real::max(sum, magnitude);
        }
        write_report(header, largest, magnitude, finite, tile.report);
    }
}

impl<S: Scalar> Matrix<S> for Factored<S> {
    #[inline(always)]
    fn clear(&mut self, size: BlockSize) {
        for array in [&mut self.unknown, &mut self.inverse, &mut self.right, &mut self.row] {
            array.clear();
            array.resize(size.row_count(), S::zero());
        }
    }

    #[inline(always)]
    fn scale(&mut self, _size: BlockSize, unit: &mut [S]) {
        for k in 0..self.compliance.len() {
            let (i, rows, own) = (self.factor.row(k), self.factor.rows(k), &self.own[k]);
            let mean = if rows == 3 { (own[0][0] + own[1][1] + own[2][2]) * S::constant(1.0 / 3.0) } else { own[0][0] };
            let root = scale(mean).sqrt();
            unit[i..i + rows].fill(root);
            let inverse = S::one() / root;
            for y in self.factor.entries_mut(k) {
                *y = *y * inverse;
            }
            self.compliance[k] = self.compliance[k] * (inverse * inverse);
        }
        self.find_own();
    }

    #[inline(always)]
    fn add_product(&mut self, x: &[S], out: &mut [S]) {
        self.find_velocity(x);
        for unit in 0..self.compliance.len() {
            let (i, rows) = (self.factor.row(unit), self.factor.rows(unit));
            let u = self.velocity_of(unit, out, x);
            out[i..i + rows].copy_from_slice(&u[..rows]);
        }
    }

    #[inline(always)]
    fn unknowns(&mut self, guess: &Guess<'_, S>) -> &[S] {
        let (contacts, count) = (self.factor.size.contact_count, self.compliance.len());
        let (delta, n) = (guess.delta, self.unknown.len());
        // x = Lᵀ y, and y there: R x + c
        let mut there = std::mem::take(&mut self.row);
        for c in 0..contacts {
            let i = 3 * c;
            let x = tests(&guess.modes[c], [guess.impulse[i], guess.impulse[i + 1], guess.impulse[i + 2]]);
            self.unknown[i..i + 3].copy_from_slice(&x);
            there[i..i + 3].copy_from_slice(&expand(&guess.modes[c], x));
        }
        for i in 3 * contacts..n {
            self.unknown[i] = guess.free[i - 3 * contacts] * guess.impulse[i];
            there[i] = self.unknown[i] + guess.fixed[i];
        }
        // u = b + W there
        let mut u = std::mem::take(&mut self.right);
        u.copy_from_slice(guess.bias);
        self.add_product(&there, &mut u);
        // r = Lᵀ(δ y − u) − (δ I + D) x, K and R E⁻¹ r; ε is part of u already
        self.weight.clear();
        for c in 0..contacts {
            let (i, mode) = (3 * c, &guess.modes[c]);
            let mut t = [S::zero(); 3];
            for k in 0..3 {
                t[k] = delta.mul_add(guess.impulse[i + k], -u[i + k]);
            }
            let t = tests(mode, t);
            let mut scaled = [S::zero(); 3];
            for k in 0..3 {
                let d = delta + mode.curvature[k];
                u[i + k] = (-d).mul_add(self.unknown[i + k], t[k]);
                let own = if k == 0 { mode.pressed * self.compliance[c] } else { S::zero() };
                self.inverse[i + k] = S::one() / (d + own);
                scaled[k] = u[i + k] * self.inverse[i + k];
            }
            there[i..i + 3].copy_from_slice(&expand(mode, scaled));
            self.weight.push(weight(mode, &self.inverse[i..i + 3]));
        }
        for i in 3 * contacts..n {
            let free = guess.free[i - 3 * contacts];
            let d = delta + (S::one() - free);
            let t = delta.mul_add(guess.impulse[i], -u[i]) * free;
            u[i] = (-d).mul_add(self.unknown[i], t);
            self.inverse[i] = S::one() / free.mul_add(self.compliance[i - 2 * contacts], d);
            there[i] = free * (u[i] * self.inverse[i]);
            let mut weight = [[S::zero(); 3]; 3];
            weight[0][0] = free * self.inverse[i];
            self.weight.push(weight);
        }
        self.factor_system();
        self.solve_system(&there);
        // x ← x + E⁻¹(r − Lᵀ Y g)
        there.fill(S::zero());
        for unit in 0..count {
            let i = self.factor.row(unit);
            let v = self.velocity_of(unit, &there, &there);
            let (rows, v) = if unit < contacts {
                (3, tests(&guess.modes[unit], v))
            } else {
                (1, [v[0] * guess.free[unit - contacts], S::zero(), S::zero()])
            };
            for k in 0..rows {
                self.unknown[i + k] = (u[i + k] - v[k]).mul_add(self.inverse[i + k], self.unknown[i + k]);
            }
        }
        (self.row, self.right) = (there, u);
        &self.unknown
    }

    /// (W + ρ I)⁻¹ = E⁻¹ − E⁻¹ Y (I + Yᵀ E⁻¹ Y)⁻¹ Yᵀ E⁻¹,   E = ρ I + ε
    #[inline(always)]
    fn shift(&mut self, rho: S) {
        self.weight.clear();
        for unit in 0..self.compliance.len() {
            let (mut weight, i) = ([[S::zero(); 3]; 3], self.factor.row(unit));
            for k in 0..self.factor.rows(unit) {
                weight[k][k] = S::one() / if k == 0 { rho + self.compliance[unit] } else { rho };
                self.inverse[i + k] = weight[k][k];
            }
            self.weight.push(weight);
        }
        self.factor_system();
    }

    #[inline(always)]
    fn solve_shifted(&mut self, x: &mut [S]) {
        for (x, inverse) in x.iter_mut().zip(&self.inverse) {
            *x = *x * *inverse;
        }
        self.solve_system(x);
        self.row.fill(S::zero());
        for unit in 0..self.compliance.len() {
            let i = self.factor.row(unit);
            let v = self.velocity_of(unit, &self.row, &self.row);
            for k in 0..self.factor.rows(unit) {
                x[i + k] = (-v[k]).mul_add(self.inverse[i + k], x[i + k]);
            }
        }
    }

    #[inline(always)]
    fn sweep(&mut self, header: &Header, tile: &mut OneTile<'_, S>) {
        self.pgs(header, tile);
    }
}

/// K = R E⁻¹ Lᵀ of a contact.
#[inline(always)]
fn weight<S: Scalar>(mode: &Mode<S>, inverse: &[S]) -> [[S; 3]; 3] {
    let mut weight = [[S::zero(); 3]; 3];
    for j in 0..3 {
        let mut one = [S::zero(); 3];
        one[j] = S::one();
        let x = tests(mode, one);
        let column = expand(mode, [x[0] * inverse[0], x[1] * inverse[1], x[2] * inverse[2]]);
        for r in 0..3 {
            weight[r][j] = column[r];
        }
    }
    weight
}

/// Memory for blocks that are solved through velocities.
#[derive(Debug, Clone)]
pub(super) struct FactoredScratch<S> {
    whole: Factored<S>,
    newton: NewtonTile<S, Factored<S>>,
    bias: Vec<S>,
    friction: Vec<S>,
    bounds: Vec<S>,
    impulse: Vec<S>,
}

impl<S: Scalar> FactoredScratch<S> {
    pub fn new() -> Self {
        Self {
            whole: Factored::default(),
            newton: NewtonTile::new(Factored::default()),
            bias: Vec::new(),
            friction: Vec::new(),
            bounds: Vec::new(),
            impulse: Vec::new(),
        }
    }
}

/// One problem of one block: sweeps while they contract, then the rounds of Newton that take all rows.
pub(super) struct ThroughVelocities<'a, 'b, R: Real> {
    pub factor: &'a Factor<R::Scalar>,
    /// The tile that the block is in, with room for blocks of `size`.
    pub tile: OneTile<'b, R>,
    pub size: BlockSize,
    pub lane: usize,
    pub settings: &'a SolveSettings,
    pub scratch: &'a mut FactoredScratch<R::Scalar>,
}

impl<R: Real> Task for ThroughVelocities<'_, '_, R> {
    const COMPILED: Compiled = if R::LANES == 1 { R::COMPILED } else { Compiled::Everywhere };
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { factor, tile, size, lane, settings, scratch } = self;
        let FactoredScratch { whole, newton, bias, friction, bounds, impulse } = scratch;
        let zero = R::Scalar::zero();
        // the entries of this block, without what its class pads
        let (own, contacts) = (factor.size, 3 * factor.size.contact_count);
        // rows of scalars come after all that there is room for
        let pad = 3 * size.contact_count - contacts;
        for array in [&mut *bias, &mut *impulse] {
            array.clear();
            array.resize(own.row_count(), zero);
        }
        for i in 0..own.row_count() {
            let row = if i < contacts { i } else { i + pad };
            bias[i] = tile.bias[row].get(lane);
            impulse[i] = tile.impulse[row].get(lane);
        }
        friction.clear();
        for x in &tile.friction[..own.contact_count] {
            friction.push(x.get(lane));
        }
        bounds.clear();
        for x in &tile.bounds[..2 * own.scalar_count] {
            bounds.push(x.get(lane));
        }
        let header = Header::new(own, 1, 1, settings);
        let mut report = [zero; REPORT_LEN];
        whole.load(factor);
        let mut one = OneTile { delassus: &[], friction, bounds, bias, impulse, report: &mut report };
        sweep(header, settings, &mut one, whole);
        for round in ROUNDS {
            if !zero.lt(one.report[REPORT_LIVE]) {
                break;
            }
            newton.clear(&header);
            newton.matrix.load(factor);
            newton.load(&one);
            newton.set_goal(0, &header, one.report, 0);
            let (steps, unsolved) = newton.run(&header, &round);
            one.report[REPORT_ITERATIONS] += steps;
            if round.keeps(unsolved) {
                one.impulse.copy_from_slice(&newton.impulse);
                whole.residual(&header, &mut one);
            }
        }
        for i in 0..own.row_count() {
            let row = if i < contacts { i } else { i + pad };
            tile.impulse[row].set(lane, one.impulse[i]);
        }
        for i in 0..REPORT_LEN {
            tile.report[i].set(lane, one.report[i]);
        }
    }
}
