//! W = Y Yᵀ of as many blocks as a pack has lanes, side by side, used through velocities: W is never formed.
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
//!
//! All is in lanes ([`Abreast`]) but the systems, which differ in what they couple and are eliminated one by one ([`StripLu`]).

use super::abreast::Abreast;
use super::batch::REPORT_LIVE;
use super::modes::{Mode, expand, tests};
use super::newton::{Form, Guess};
use super::pgs::{contact_steps, update_contact};
use super::project::{inverse, is_finite, project_interval, scale};
use super::residual::{contact_residual, row_residual, write_report};
use super::settings::{Header, LAW_CONE};
use super::size::BlockSize;
use super::strip_lu::{BODY, Eliminate, StripLu, Substitute};
use super::tiles::OneTile;
use crate::lane::{Level, Mask, Pack, PackMask, Real, STRIP, Scalar};

/// What Newton scales of a problem, as it was posed.
#[derive(Debug, Clone, Default)]
pub(super) struct Posed<R> {
    /// b, shape \[row\].
    pub bias: Vec<R>,
    /// Bounds of the scalar rows, shape \[scalar\]\[2\].
    pub bounds: Vec<R>,
    /// The guess λ, shape \[row\].
    pub impulse: Vec<R>,
}

impl<R: Copy> Posed<R> {
    /// Keeps a copy.
    #[inline(always)]
    pub fn keep(&mut self, bias: &[R], bounds: &[R], impulse: &[R]) {
        for (to, from) in [(&mut self.bias, bias), (&mut self.bounds, bounds), (&mut self.impulse, impulse)] {
            to.clear();
            to.extend_from_slice(from);
        }
    }
}

/// W of the blocks of a tile as their factors, and memory for what is done with it.
#[derive(Debug, Clone)]
pub(super) struct Factored<R: Pack> {
    /// The instruction set that it is worked on with.
    pub level: Level,
    /// Y.
    pub y: Abreast<R>,
    /// The problem at hand, while Newton has it scaled.
    pub posed: Posed<R>,
    /// The 3 × 3 block of W of every contact, and the diagonal of every scalar row, shape \[unit\].
    own: Vec<[[R; 3]; 3]>,
    /// 1/√w_c, own blocks scaled with it twice, what sweeps multiply velocities with, and ε scaled, shape \[unit\].
    over: Vec<R>,
    scaled: Vec<[[R; 3]; 3]>,
    step: Vec<[R; 3]>,
    spring: Vec<R>,
    /// K of every unit, shape \[unit\].
    weight: Vec<[[R; 3]; 3]>,
    /// I + Yᵀ K Y, shape \[lane\], and K of the units of the block at hand.
    systems: Vec<StripLu<R::Scalar>>,
    weights: Vec<[[R::Scalar; 3]; 3]>,
    /// x, E⁻¹, r and R E⁻¹ r or Y g, shape \[row\].
    unknown: Vec<R>,
    inverse: Vec<R>,
    right: Vec<R>,
    row: Vec<R>,
}

impl<R: Pack> Factored<R> {
    /// No blocks yet.
    pub fn new() -> Self {
        Self {
            level: Level::default(),
            y: Abreast::new(),
            posed: Posed::default(),
            own: Vec::new(),
            over: Vec::new(),
            scaled: Vec::new(),
            step: Vec::new(),
            spring: Vec::new(),
            weight: Vec::new(),
            systems: vec![StripLu::default(); R::LANES],
            weights: Vec::new(),
            unknown: Vec::new(),
            inverse: Vec::new(),
            right: Vec::new(),
            row: Vec::new(),
        }
    }

    /// z = Yᵀ λ of y = λ √w_c
    #[inline(always)]
    fn find_velocity(&mut self, impulse: &[R]) {
        let Self { y, over, .. } = self;
        y.find_velocity(|unit, row| impulse[row] * over[unit]);
    }

    /// u = b + (Y_c z) / √w_c + ε y of a unit, all scaled; a scalar row has the first entry only.
    #[inline(always)]
    fn velocity_of(&self, unit: usize, bias: &[R], impulse: &[R]) -> [R; 3] {
        let ((rows, i), sums) = (self.y.rows(unit), self.y.sum(unit));
        velocity(sums, self.over[unit], self.spring[unit], &bias[i..i + rows], impulse[i])
    }

    /// As stage `residual`; the floor follows the terms of z and those of u, if it is asked for, and is 0 else.
    #[inline(always)]
    pub fn residual(&mut self, header: &Header, floor: bool, tile: &mut OneTile<'_, R>) {
        self.y.find_velocity(|_, row| tile.impulse[row]);
        if floor {
            self.y.find_magnitude(tile.impulse);
        }
        let contacts = self.y.size.contact_count;
        let (mut largest, mut magnitude, mut finite) = (R::zero(), R::zero(), R::Mask::splat(true));
        for unit in 0..self.y.unit_count() {
            let (_, i) = self.y.rows(unit);
            if floor {
                let sum = self.y.magnitude_of(unit, tile.bias);
                finite = finite.and(is_finite(sum));
                magnitude = sum.max(magnitude);
            }
            let ([s0, s1, s2], own) = (self.y.sum(unit), &self.own[unit]);
            let u0 = self.y.compliance[unit].mul_add(tile.impulse[i], tile.bias[i] + s0);
            let error = if unit < contacts {
                let x = [tile.impulse[i], tile.impulse[i + 1], tile.impulse[i + 2]];
                let u = [u0, tile.bias[i + 1] + s1, tile.bias[i + 2] + s2];
                contact_residual(header.law, u, x, [own[0][0], own[1][1], own[2][2]], tile.friction[unit])
            } else {
                let bounds = &tile.bounds[2 * (unit - contacts)..];
                row_residual(u0, tile.impulse[i], own[0][0], bounds[0], bounds[1])
            };
            finite = finite.and(is_finite(error));
            largest = error.max(largest);
        }
        write_report(header, largest, magnitude, finite, tile.report);
    }

    /// The system of the block in `lane`.
    #[inline(always)]
    fn factor_system(&mut self, lane: usize) {
        let factor = &self.y.factors[lane];
        let none = [[R::Scalar::from_f64(0.0); 3]; 3];
        self.weights.clear();
        self.weights.resize(factor.unit_count(), none);
        for (unit, own) in self.y.units_of(lane) {
            // Y is as it was posed: the scale goes into K
            let (weight, over) = (&mut self.weights[own], self.over[unit].get(lane));
            let square = over * over;
            for i in 0..3 {
                for j in 0..3 {
                    weight[i][j] = self.weight[unit][i][j].get(lane) * square;
                }
            }
        }
        self.level.run(Eliminate { system: &mut self.systems[lane], factor, weight: &self.weights });
    }

    /// z ← (I + Yᵀ K Y)⁻¹ z of the block in `lane`.
    #[inline(always)]
    fn solve_system(&mut self, lane: usize) {
        let first = lane * self.y.stride;
        let strips = self.y.factors[lane].strip_count();
        let z = &mut self.y.velocity[first..first + strips];
        self.level.run(Substitute { system: &mut self.systems[lane], z });
    }

    /// Sweeps of Gauss-Seidel in some lanes. `N`: columns of a strip that are looked at.
    #[inline(always)]
    fn sweep_columns<const N: usize>(&mut self, header: &Header, tile: &mut OneTile<'_, R>, lanes: R::Mask) {
        let Self { y, over, spring, step, scaled, .. } = self;
        let (contacts, scalars, zero) = (y.size.contact_count, y.size.scalar_count, R::zero());
        for _ in 0..header.sweep_count {
            for c in 0..contacts {
                let (bias, x) = (&tile.bias[3 * c..3 * c + 3], &mut tile.impulse[3 * c..3 * c + 3]);
                y.change::<N>(c, |sums| {
                    let (u, old) = (velocity(sums, over[c], spring[c], bias, x[0]), [x[0], x[1], x[2]]);
                    let new = update_contact(header.law, u, old, &scaled[c], step[c], tile.friction[c]);
                    let mut change = [zero; 3];
                    for k in 0..3 {
                        change[k] = R::select(lanes, (new[k] - old[k]) * over[c], zero);
                        x[k] = R::select(lanes, new[k], old[k]);
                    }
                    change
                });
            }
            for s in 0..scalars {
                let (unit, i) = (contacts + s, 3 * contacts + s);
                let (bias, x) = (&tile.bias[i..=i], &mut tile.impulse[i]);
                y.change::<N>(unit, |sums| {
                    let ([u, ..], old) = (velocity(sums, over[unit], spring[unit], bias, *x), *x);
                    let new = (-u).mul_add(step[unit][0], old);
                    let new = project_interval(new, tile.bounds[2 * s], tile.bounds[2 * s + 1]);
                    *x = R::select(lanes, new, old);
                    [R::select(lanes, (new - old) * over[unit], zero), zero, zero]
                });
            }
        }
    }
}

/// u = b + (Y_c z) / √w_c + ε y of a unit from Y_c z, all scaled; a scalar row has the first entry only.
#[inline(always)]
fn velocity<R: Pack>([s0, s1, s2]: [R; 3], over: R, spring: R, bias: &[R], normal: R) -> [R; 3] {
    let u0 = spring.mul_add(normal, s0.mul_add(over, bias[0]));
    if let [_, b1, b2] = *bias { [u0, s1.mul_add(over, b1), s2.mul_add(over, b2)] } else { [u0, R::zero(), R::zero()] }
}

impl<R: Pack> Form<R> for Factored<R> {
    fn level(&self) -> Level {
        self.level
    }

    /// The blocks are those of `factors`.
    #[inline(always)]
    fn clear(&mut self, size: BlockSize) {
        for array in [&mut self.unknown, &mut self.inverse, &mut self.right, &mut self.row] {
            array.clear();
            array.resize(size.row_count(), R::zero());
        }
        self.y.load(size);
        self.y.find_own(&mut self.own);
    }

    /// Y stays as it is: what is asked of it is scaled. The law is the cone, as of all blocks that Newton solves.
    #[inline(always)]
    fn scale(&mut self, _size: BlockSize, unit: &mut [R]) {
        for array in [&mut self.over, &mut self.spring] {
            array.clear();
        }
        self.scaled.clear();
        self.step.clear();
        for k in 0..self.y.unit_count() {
            let ((rows, i), mut own) = (self.y.rows(k), self.own[k]);
            let mean = if rows == 3 { (own[0][0] + own[1][1] + own[2][2]) * R::constant(1.0 / 3.0) } else { own[0][0] };
            let root = scale(mean).sqrt();
            unit[i..i + rows].fill(root);
            let over = R::one() / root;
            let square = over * over;
            for w in own.as_flattened_mut() {
                *w = *w * square;
            }
            self.over.push(over);
            self.spring.push(self.y.compliance[k] * square);
            self.step.push(if rows == 3 {
                contact_steps(LAW_CONE, &own)
            } else {
                [inverse(own[0][0]), R::zero(), R::zero()]
            });
            self.scaled.push(own);
        }
    }

    #[inline(always)]
    fn add_product(&mut self, x: &[R], out: &mut [R]) {
        self.find_velocity(x);
        for unit in 0..self.y.unit_count() {
            let (rows, i) = self.y.rows(unit);
            let u = self.velocity_of(unit, out, x);
            out[i..i + rows].copy_from_slice(&u[..rows]);
        }
    }

    #[inline(always)]
    fn find_unknowns(&mut self, guess: &Guess<'_, R>) {
        let (contacts, count) = (self.y.size.contact_count, self.y.unit_count());
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
            let mut t = [R::zero(); 3];
            for k in 0..3 {
                t[k] = delta.mul_add(guess.impulse[i + k], -u[i + k]);
            }
            let t = tests(mode, t);
            let mut scaled = [R::zero(); 3];
            for k in 0..3 {
                let d = delta + mode.curvature[k];
                u[i + k] = (-d).mul_add(self.unknown[i + k], t[k]);
                let own = if k == 0 { mode.pressed * self.spring[c] } else { R::zero() };
                self.inverse[i + k] = R::one() / (d + own);
                scaled[k] = u[i + k] * self.inverse[i + k];
            }
            there[i..i + 3].copy_from_slice(&expand(mode, scaled));
            self.weight.push(weight(mode, &self.inverse[i..i + 3]));
        }
        for i in 3 * contacts..n {
            let free = guess.free[i - 3 * contacts];
            let d = delta + (R::one() - free);
            let t = delta.mul_add(guess.impulse[i], -u[i]) * free;
            u[i] = (-d).mul_add(self.unknown[i], t);
            self.inverse[i] = R::one() / free.mul_add(self.spring[i - 2 * contacts], d);
            there[i] = free * (u[i] * self.inverse[i]);
            let mut weight = [[R::zero(); 3]; 3];
            weight[0][0] = free * self.inverse[i];
            self.weight.push(weight);
        }
        let r = u;
        self.find_velocity(&there);
        for lane in 0..R::LANES {
            if guess.lanes.get(lane) {
                if !guess.known.get(lane) {
                    self.factor_system(lane);
                }
                self.solve_system(lane);
            }
        }
        // x ← x + E⁻¹(r − Lᵀ Y g)
        there.fill(R::zero());
        for unit in 0..count {
            let (_, i) = self.y.rows(unit);
            let v = self.velocity_of(unit, &there, &there);
            let (rows, v) = if unit < contacts {
                (3, tests(&guess.modes[unit], v))
            } else {
                (1, [v[0] * guess.free[unit - contacts], R::zero(), R::zero()])
            };
            for k in 0..rows {
                self.unknown[i + k] = (r[i + k] - v[k]).mul_add(self.inverse[i + k], self.unknown[i + k]);
            }
        }
        (self.row, self.right) = (there, r);
    }

    #[inline(always)]
    fn found(&self) -> &[R] {
        &self.unknown
    }

    /// (W + ρ I)⁻¹ = E⁻¹ − E⁻¹ Y (I + Yᵀ E⁻¹ Y)⁻¹ Yᵀ E⁻¹,   E = ρ I + ε
    #[inline(always)]
    fn factor_shifted(&mut self, rho: R) {
        self.weight.clear();
        for unit in 0..self.y.unit_count() {
            let (mut weight, (rows, i)) = ([[R::zero(); 3]; 3], self.y.rows(unit));
            for k in 0..rows {
                weight[k][k] = R::one() / if k == 0 { rho + self.spring[unit] } else { rho };
                self.inverse[i + k] = weight[k][k];
            }
            self.weight.push(weight);
        }
        for lane in 0..R::LANES {
            self.factor_system(lane);
        }
    }

    #[inline(always)]
    fn solve_shifted(&mut self, x: &mut [R]) {
        for (x, inverse) in x.iter_mut().zip(&self.inverse) {
            *x = *x * *inverse;
        }
        self.find_velocity(x);
        for lane in 0..R::LANES {
            self.solve_system(lane);
        }
        self.row.fill(R::zero());
        for unit in 0..self.y.unit_count() {
            let (rows, i) = self.y.rows(unit);
            let v = self.velocity_of(unit, &self.row, &self.row);
            for k in 0..rows {
                x[i + k] = (-v[k]).mul_add(self.inverse[i + k], x[i + k]);
            }
        }
    }

    #[inline(always)]
    fn sweep_all(&mut self, header: &Header, tile: &mut OneTile<'_, R>, velocity: &mut [R]) {
        self.find_velocity(tile.impulse);
        let lanes = R::zero().lt(tile.report[REPORT_LIVE]);
        if self.y.bodies {
            self.sweep_columns::<BODY>(header, tile, lanes);
        } else {
            self.sweep_columns::<STRIP>(header, tile, lanes);
        }
        for unit in 0..self.y.unit_count() {
            let (rows, i) = self.y.rows(unit);
            let u = self.velocity_of(unit, tile.bias, tile.impulse);
            velocity[i..i + rows].copy_from_slice(&u[..rows]);
        }
    }
}

/// K = R E⁻¹ Lᵀ of a contact.
#[inline(always)]
fn weight<R: Real>(mode: &Mode<R>, inverse: &[R]) -> [[R; 3]; 3] {
    let mut weight = [[R::zero(); 3]; 3];
    for j in 0..3 {
        let mut one = [R::zero(); 3];
        one[j] = R::one();
        let x = tests(mode, one);
        let column = expand(mode, [x[0] * inverse[0], x[1] * inverse[1], x[2] * inverse[2]]);
        for r in 0..3 {
            weight[r][j] = column[r];
        }
    }
    weight
}
