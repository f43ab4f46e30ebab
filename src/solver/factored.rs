//! W = Y Yᵀ of one block, used through velocities: W is never formed.
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

use super::batch::{REPORT_LIVE, REPORT_SWEEPS};
use super::factor::{Factor, STRIP, Strip, add_strip, add_strips, sizes, three_rows, total};
use super::modes::{Mode, expand, tests};
use super::newton::{Form, Guess};
use super::project::{is_finite, scale};
use super::residual::{contact_residual, row_residual, write_report};
use super::settings::Header;
use super::size::BlockSize;
use super::strip_lu::StripLu;
use super::tiles::OneTile;
use super::turns::{ABREAST, Turns};
use crate::lane::{Level, Real, Scalar};

/// W of one block as its factor, and memory for what is done with it.
#[derive(Debug, Clone, Default)]
pub(super) struct Factored<S> {
    /// The instruction set that it is worked on with.
    pub level: Level,
    factor: Factor<S>,
    /// The 3 × 3 block of W of every contact, and the diagonal of every scalar row, shape \[unit\].
    own: Vec<[[S; 3]; 3]>,
    /// In which order, and with which steps, sweeps go over it.
    turns: Turns<S>,
    /// z = Yᵀ λ, shape \[strip\].
    velocity: Vec<Strip<S>>,
    /// Σ|terms of z|, shape \[strip\].
    magnitude: Vec<Strip<S>>,
    /// K of every unit, shape \[unit\].
    weight: Vec<[[S; 3]; 3]>,
    /// I + Yᵀ K Y.
    system: StripLu<S>,
    /// x, E⁻¹, r and R E⁻¹ r or Y g, shape \[row\].
    unknown: Vec<S>,
    inverse: Vec<S>,
    right: Vec<S>,
    row: Vec<S>,
}

impl<S: Scalar> Factored<S> {
    /// Loads a block as it stands.
    #[inline(always)]
    pub fn load(&mut self, factor: &Factor<S>) {
        self.factor.copy_from(factor);
        self.find_own();
    }

    /// Loads what another one has loaded.
    #[inline(always)]
    pub fn load_from(&mut self, other: &Self) {
        self.level = other.level;
        self.factor.copy_from(&other.factor);
        self.own.clone_from(&other.own);
        self.turns.list.clear();
    }

    /// The blocks on the diagonal of W.
    #[inline(always)]
    fn find_own(&mut self) {
        self.own.clear();
        for unit in 0..self.factor.unit_count() {
            let entries = self.factor.unit(unit).1;
            let mut own = [[S::zero(); 3]; 3];
            if unit < self.factor.size.contact_count {
                let mut sums = [[[S::zero(); STRIP]; 3]; 3];
                for y in entries.as_chunks::<3>().0 {
                    for i in 0..3 {
                        for j in 0..=i {
                            sums[i][j] = add_strip(sums[i][j], &y[i], &y[j]);
                        }
                    }
                }
                for i in 0..3 {
                    for j in 0..=i {
                        own[i][j] = total(&sums[i][j]);
                        own[j][i] = own[i][j];
                    }
                }
            } else {
                let mut sum = [S::zero(); STRIP];
                for y in entries {
                    sum = add_strip(sum, y, y);
                }
                own[0][0] = total(&sum);
            }
            own[0][0] += self.factor.compliance(unit);
            self.own.push(own);
        }
    }

    /// z = Yᵀ λ
    #[inline(always)]
    fn find_velocity(&mut self, impulse: &[S]) {
        self.velocity.clear();
        self.velocity.resize(self.factor.strip_count(), [S::zero(); STRIP]);
        for unit in 0..self.factor.unit_count() {
            let i = self.factor.row(unit);
            self.push(unit, &impulse[i..i + self.factor.rows(unit)]);
        }
    }

    /// z ← z + Y_cᵀ λ_c
    #[inline(always)]
    fn push(&mut self, unit: usize, impulse: &[S]) {
        let (strips, entries) = self.factor.unit(unit);
        if let [x0, x1, x2] = *impulse {
            for k in 0..strips.len() {
                let (strip, y) = (strips[k], three_rows(entries, k));
                let z = &mut self.velocity[strip as usize];
                *z = add_strips(*z, &y, [x0, x1, x2]);
            }
        } else {
            for k in 0..strips.len() {
                let (strip, y) = (strips[k], &entries[k]);
                let z = &mut self.velocity[strip as usize];
                *z = add_strip(*z, y, &[impulse[0]; STRIP]);
            }
        }
    }

    /// u = b + Y_c z + ε λ of a unit; a scalar row has the first entry only.
    #[inline(always)]
    fn velocity_of(&self, unit: usize, bias: &[S], impulse: &[S]) -> [S; 3] {
        let (i, [s0, s1, s2]) = (self.factor.row(unit), self.sum(unit));
        let u0 = self.factor.compliance(unit).mul_add(impulse[i], bias[i] + s0);
        if unit < self.factor.size.contact_count {
            [u0, bias[i + 1] + s1, bias[i + 2] + s2]
        } else {
            [u0, S::zero(), S::zero()]
        }
    }

    /// Y_c z of a unit; a scalar row has the first entry only.
    #[inline(always)]
    fn sum(&self, unit: usize) -> [S; 3] {
        let (strips, entries) = self.factor.unit(unit);
        let zero = [S::zero(); STRIP];
        let (mut s0, mut s1, mut s2) = (zero, zero, zero);
        if unit < self.factor.size.contact_count {
            for k in 0..strips.len() {
                let (strip, y) = (strips[k], three_rows(entries, k));
                let z = &self.velocity[strip as usize];
                s0 = add_strip(s0, &y[0], z);
                s1 = add_strip(s1, &y[1], z);
                s2 = add_strip(s2, &y[2], z);
            }
            return [total(&s0), total(&s1), total(&s2)];
        }
        for k in 0..strips.len() {
            let (strip, y) = (strips[k], &entries[k]);
            s0 = add_strip(s0, y, &self.velocity[strip as usize]);
        }
        [total(&s0), S::zero(), S::zero()]
    }

    /// z = Yᵀ λ, and m = |Y|ᵀ |λ|: what its terms add up to.
    #[inline(always)]
    fn find_magnitude(&mut self, impulse: &[S]) {
        self.find_velocity(impulse);
        self.magnitude.clear();
        self.magnitude.resize(self.factor.strip_count(), [S::zero(); STRIP]);
        for unit in 0..self.factor.unit_count() {
            let (strips, entries) = self.factor.unit(unit);
            let i = self.factor.row(unit);
            if unit < self.factor.size.contact_count {
                let x = [impulse[i].abs(), impulse[i + 1].abs(), impulse[i + 2].abs()];
                for k in 0..strips.len() {
                    let (strip, y) = (strips[k], three_rows(entries, k));
                    let m = &mut self.magnitude[strip as usize];
                    *m = add_strips(*m, &[sizes(&y[0]), sizes(&y[1]), sizes(&y[2])], x);
                }
            } else {
                for k in 0..strips.len() {
                    let (strip, y) = (strips[k], &entries[k]);
                    let m = &mut self.magnitude[strip as usize];
                    *m = add_strip(*m, &sizes(y), &[impulse[i].abs(); STRIP]);
                }
            }
        }
    }

    /// The largest entry of |b| + |Y_c| m of a unit: what the terms of u add up to.
    #[inline(always)]
    fn magnitude_of(&self, unit: usize, bias: &[S]) -> S {
        let (strips, entries) = self.factor.unit(unit);
        let i = self.factor.row(unit);
        let mut sums = [[S::zero(); STRIP]; 3];
        if unit < self.factor.size.contact_count {
            for k in 0..strips.len() {
                let (strip, y) = (strips[k], three_rows(entries, k));
                let m = &self.magnitude[strip as usize];
                for row in 0..3 {
                    sums[row] = add_strip(sums[row], &sizes(&y[row]), m);
                }
            }
        } else {
            for k in 0..strips.len() {
                let (strip, y) = (strips[k], &entries[k]);
                sums[0] = add_strip(sums[0], &sizes(y), &self.magnitude[strip as usize]);
            }
        }
        let mut largest = S::zero();
        for (row, sum) in sums.iter().enumerate().take(self.factor.rows(unit)) {
            let sum = bias[i + row].abs() + total(sum);
            // a maximum drops what is not a number; a sum does not
            largest = sum.mul_add(S::zero(), Real::max(sum, largest));
        }
        largest
    }

    /// z = (I + Yᵀ K Y)⁻¹ Yᵀ x
    #[inline(always)]
    fn solve_system(&mut self, x: &[S]) {
        self.find_velocity(x);
        self.system.solve(&mut self.velocity);
    }
}

impl<S: Scalar> Factored<S> {
    /// As stage `residual`; the floor follows the terms of z and those of u.
    #[inline(always)]
    pub fn residual(&mut self, header: &Header, tile: &mut OneTile<'_, S>) {
        self.find_magnitude(tile.impulse);
        let contacts = self.factor.size.contact_count;
        let (mut largest, mut magnitude, mut finite) = (S::zero(), S::zero(), true);
        for unit in 0..self.factor.unit_count() {
            let i = self.factor.row(unit);
            let sum = self.magnitude_of(unit, tile.bias);
            finite &= is_finite(sum);
            magnitude = Real::max(sum, magnitude);
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
        }
        write_report(header, largest, magnitude, finite, tile.report);
    }
}

impl<S: Scalar> Form<S> for Factored<S> {
    fn level(&self) -> Level {
        self.level
    }

    #[inline(always)]
    fn clear(&mut self, size: BlockSize) {
        for array in [&mut self.unknown, &mut self.inverse, &mut self.right, &mut self.row] {
            array.clear();
            array.resize(size.row_count(), S::zero());
        }
    }

    #[inline(always)]
    fn scale(&mut self, _size: BlockSize, unit: &mut [S]) {
        for k in 0..self.factor.unit_count() {
            let (i, rows, own) = (self.factor.row(k), self.factor.rows(k), &self.own[k]);
            let mean = if rows == 3 { (own[0][0] + own[1][1] + own[2][2]) * S::constant(1.0 / 3.0) } else { own[0][0] };
            let root = scale(mean).sqrt();
            unit[i..i + rows].fill(root);
            let inverse = S::one() / root;
            self.factor.scale(k, inverse);
            let square = inverse * inverse;
            for row in &mut self.own[k] {
                for w in row {
                    *w = *w * square;
                }
            }
        }
    }

    #[inline(always)]
    fn add_product(&mut self, x: &[S], out: &mut [S]) {
        self.find_velocity(x);
        for unit in 0..self.factor.unit_count() {
            let (i, rows) = (self.factor.row(unit), self.factor.rows(unit));
            let u = self.velocity_of(unit, out, x);
            out[i..i + rows].copy_from_slice(&u[..rows]);
        }
    }

    #[inline(always)]
    fn find_unknowns(&mut self, guess: &Guess<'_, S>) {
        let (contacts, count) = (self.factor.size.contact_count, self.factor.unit_count());
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
        // u = b + W there, which r takes the place of
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
                let own = if k == 0 { mode.pressed * self.factor.compliance(c) } else { S::zero() };
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
            self.inverse[i] = S::one() / free.mul_add(self.factor.compliance(i - 2 * contacts), d);
            there[i] = free * (u[i] * self.inverse[i]);
            let mut weight = [[S::zero(); 3]; 3];
            weight[0][0] = free * self.inverse[i];
            self.weight.push(weight);
        }
        let r = u;
        if !guess.known {
            self.system.factor(&self.factor, &self.weight);
        }
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
                self.unknown[i + k] = (r[i + k] - v[k]).mul_add(self.inverse[i + k], self.unknown[i + k]);
            }
        }
        (self.row, self.right) = (there, r);
    }

    #[inline(always)]
    fn found(&self) -> &[S] {
        &self.unknown
    }

    /// (W + ρ I)⁻¹ = E⁻¹ − E⁻¹ Y (I + Yᵀ E⁻¹ Y)⁻¹ Yᵀ E⁻¹,   E = ρ I + ε
    #[inline(always)]
    fn factor_shifted(&mut self, rho: S) {
        self.weight.clear();
        for unit in 0..self.factor.unit_count() {
            let (mut weight, i) = ([[S::zero(); 3]; 3], self.factor.row(unit));
            for k in 0..self.factor.rows(unit) {
                weight[k][k] = S::one() / if k == 0 { rho + self.factor.compliance(unit) } else { rho };
                self.inverse[i + k] = weight[k][k];
            }
            self.weight.push(weight);
        }
        self.system.factor(&self.factor, &self.weight);
    }

    #[inline(always)]
    fn solve_shifted(&mut self, x: &mut [S]) {
        for (x, inverse) in x.iter_mut().zip(&self.inverse) {
            *x = *x * *inverse;
        }
        self.solve_system(x);
        self.row.fill(S::zero());
        for unit in 0..self.factor.unit_count() {
            let i = self.factor.row(unit);
            let v = self.velocity_of(unit, &self.row, &self.row);
            for k in 0..self.factor.rows(unit) {
                x[i + k] = (-v[k]).mul_add(self.inverse[i + k], x[i + k]);
            }
        }
    }

    #[inline(always)]
    fn sweep_all(&mut self, header: &Header, tile: &mut OneTile<'_, S>, velocity: &mut [S]) {
        self.find_velocity(tile.impulse);
        let mut turns = std::mem::take(&mut self.turns);
        if turns.list.is_empty() {
            turns.find(&self.factor, &self.own, header.law);
        }
        let live = S::zero().lt(tile.report[REPORT_LIVE]);
        if live {
            for turn in &mut turns.list {
                turn.load(&self.factor, tile);
            }
        }
        for _ in 0..if live { header.sweep_count } else { 0 } {
            for turn in &mut turns.list {
                let mut sums = [[S::zero(); ABREAST]; 3];
                for (lane, &unit) in turn.units().iter().enumerate() {
                    let sum = self.sum(unit as usize);
                    for k in 0..3 {
                        sums[k][lane] = sum[k];
                    }
                }
                let change = turn.update(header.law, &sums);
                for (lane, &unit) in turn.units().iter().enumerate() {
                    let change = [change[0][lane], change[1][lane], change[2][lane]];
                    self.push(unit as usize, &change[..self.factor.rows(unit as usize)]);
                }
            }
        }
        if live {
            for turn in &turns.list {
                turn.store(&self.factor, tile.impulse);
            }
            tile.report[REPORT_SWEEPS] += S::from_f64(f64::from(header.sweep_count));
        }
        self.turns = turns;
        for unit in 0..self.factor.unit_count() {
            let (i, rows) = (self.factor.row(unit), self.factor.rows(unit));
            let u = self.velocity_of(unit, tile.bias, tile.impulse);
            velocity[i..i + rows].copy_from_slice(&u[..rows]);
        }
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
