//! Newton on contact modes, in lanes: for blocks on which Gauss-Seidel contracts slowly.
//!
//! The unknowns are scaled, y = λ √w_c and u / √w_c with w_c the mean diagonal of a contact (or of a scalar row), so that the diagonal is
//! about 1. Every contact guesses its mode from p = y − u (Alart & Curnier 1991), and one linear system follows from all guesses:
//!
//! | mode | when | λ = R x | equations Lᵀ(W λ + b) + D x = 0 |
//! |---|---|---|---|
//! | open | p_n ≤ 0 | 0 | – |
//! | stick | ‖p_t‖ ≤ μ p_n | x | u = 0 |
//! | slide | else, d = p_t/‖p_t‖, e ⟂ d, k = μ p_n/‖p_t‖ | x₀ (1, μ d) + x₁ (0, e) | u_n = 0, e·u_t + (1 − k)/k x₁ = 0 |
//! | row at a bound | p beyond it | the bound c | – |
//! | row between | else | x | w = 0 |
//!
//! (Lᵀ W R + δ I + D) x = Lᵀ(δ y − b − W c),   y' = R x + c
//!
//! The proximal term δ carries rank-deficient W without moving the solution. Along y' − y the velocity is linear, so the line search on the sum
//! of squares of the natural map needs one product with W. Modes that a contact lacks are identity rows: all lanes take the same steps.

use super::block_lu::{BLOCK, factor, solve};
use super::cpu::OneTile;
use super::pgs::pgs;
use super::project::{inverse, is_finite, project_cone, project_interval, scale};
use super::{BlockSize, Header, REPORT_FLOOR, REPORT_LEN, REPORT_LIVE};
use crate::lane::{Mask, Real, Scalar};

/// Sweeps on a block that a step brought nothing.
const SWEEPS: u32 = 5;
/// First proximal term, in units of the mean diagonal.
const FIRST_DELTA: f64 = 1e-4;
/// Least k of a sliding contact: bounds the curvature (1 − k)/k.
const LEAST_SHARE: f64 = 1e-3;
/// Shorter steps that are tried where the full one does not lower the merit enough.
const SHORTER: [f64; 4] = [0.4, 0.16, 0.064, 0.0256];

/// One tile of blocks, scaled, with what Newton needs.
#[derive(Debug, Clone)]
pub(super) struct NewtonTile<R> {
    /// Room of the blocks.
    pub size: BlockSize,
    /// W scaled, shape \[row\]\[column\].
    pub delassus: Vec<R>,
    /// b scaled, shape \[row\].
    pub bias: Vec<R>,
    /// y, shape \[row\].
    pub impulse: Vec<R>,
    /// Friction coefficient μ, shape \[contact\].
    pub friction: Vec<R>,
    /// μ while another stands in its place, shape \[contact\].
    whole_friction: Vec<R>,
    /// Bounds of the scalar rows, scaled, shape \[scalar\]\[2\].
    pub bounds: Vec<R>,
    /// √w_c of every row, m/s a unit of u; λ = y / √w_c, shape \[row\].
    pub unit: Vec<R>,
    /// Residual to reach, m/s.
    pub tolerance: R,
    /// u = W y + b, shape \[row\].
    velocity: Vec<R>,
    modes: Vec<Mode<R>>,
    /// Where a scalar row is free (1 or 0), shape \[scalar\].
    free: Vec<R>,
    /// y' − y, and W times it, shape \[row\].
    direction: Vec<R>,
    change: Vec<R>,
    /// The system, padded to whole blocks, and its right-hand side.
    system: Vec<R>,
    right: Vec<R>,
}

/// What a contact is taken to do: the entries of R and L that are not zero, and D; lacking unknowns have D = 1.
#[derive(Debug, Clone, Copy)]
struct Mode<R> {
    /// 1 where the contact is pressed.
    pressed: R,
    /// Tangents of the first column of R: μ d where it slides.
    drag: [R; 2],
    /// Tangents of the second and third columns.
    across: [R; 2],
    /// Second tangent of the third column: 1 where it sticks.
    stick: R,
    /// Diagonal of D.
    curvature: [R; 3],
}

impl<R: Real> NewtonTile<R> {
    /// Room for blocks of `size`.
    pub fn new() -> Self {
        Self {
            size: BlockSize::default(),
            delassus: Vec::new(),
            bias: Vec::new(),
            impulse: Vec::new(),
            friction: Vec::new(),
            whole_friction: Vec::new(),
            bounds: Vec::new(),
            unit: Vec::new(),
            tolerance: R::zero(),
            velocity: Vec::new(),
            modes: Vec::new(),
            free: Vec::new(),
            direction: Vec::new(),
            change: Vec::new(),
            system: Vec::new(),
            right: Vec::new(),
        }
    }

    /// Makes room for the blocks of `header`, no lane in use: blocks of zeros.
    #[inline(always)]
    pub fn clear(&mut self, header: &Header) {
        let size =
            BlockSize { contact_count: header.contact_count as usize, scalar_count: header.scalar_count as usize };
        let n = size.row_count();
        let padded = n.next_multiple_of(BLOCK);
        self.size = size;
        for (array, len) in [
            (&mut self.delassus, n * n),
            (&mut self.bias, n),
            (&mut self.impulse, n),
            (&mut self.friction, size.contact_count),
            (&mut self.bounds, 2 * size.scalar_count),
            (&mut self.unit, n),
            (&mut self.velocity, n),
            (&mut self.free, size.scalar_count),
            (&mut self.direction, n),
            (&mut self.change, n),
            (&mut self.system, padded * padded),
            (&mut self.right, padded),
        ] {
            array.resize(len, R::zero());
        }
        let zero = R::zero();
        let idle = Mode { pressed: zero, drag: [zero; 2], across: [zero; 2], stick: zero, curvature: [zero; 3] };
        self.modes.resize(size.contact_count, idle);
        // an idle lane is solved from the start
        self.tolerance = R::constant(f64::INFINITY);
        for array in [&mut self.delassus, &mut self.bias, &mut self.impulse, &mut self.friction, &mut self.bounds] {
            array.fill(R::zero());
        }
    }

    /// Copies a tile of a group as it stands.
    #[inline(always)]
    pub fn load(&mut self, tile: &OneTile<'_, R>) {
        self.delassus.copy_from_slice(tile.delassus);
        self.bias.copy_from_slice(tile.bias);
        self.friction.copy_from_slice(tile.friction);
        self.bounds.copy_from_slice(tile.bounds);
        self.impulse.copy_from_slice(tile.impulse);
    }

    /// Scales what was gathered.
    #[inline(always)]
    pub fn scale(&mut self) {
        let (n, contacts) = (self.size.row_count(), 3 * self.size.contact_count);
        for c in 0..self.size.contact_count {
            let i = 3 * c;
            let w = &self.delassus;
            let sum = w[i * n + i] + w[(i + 1) * n + i + 1] + w[(i + 2) * n + i + 2];
            let w = scale(sum * R::constant(1.0 / 3.0)).sqrt();
            for k in 0..3 {
                self.unit[i + k] = w;
            }
        }
        for i in contacts..n {
            self.unit[i] = scale(self.delassus[i * n + i]).sqrt();
        }
        for i in 0..n {
            self.change[i] = R::one() / self.unit[i];
        }
        for i in 0..n {
            let inverse = self.change[i];
            for (w, other) in self.delassus[i * n..(i + 1) * n].iter_mut().zip(&self.change) {
                // the product of the units first, so that W stays symmetric to the bit
                *w = *w * (inverse * *other);
            }
            self.bias[i] = self.bias[i] * inverse;
            self.impulse[i] = self.impulse[i] * self.unit[i];
        }
        for s in 0..self.size.scalar_count {
            for bound in &mut self.bounds[2 * s..2 * s + 2] {
                *bound = *bound * self.unit[contacts + s];
            }
        }
    }

    /// Turns y into λ, N·s.
    #[inline(always)]
    pub fn unscale(&mut self) {
        for (y, unit) in self.impulse.iter_mut().zip(&self.unit) {
            *y = *y / *unit;
        }
    }

    /// Residual above which a lane with this report is not solved.
    #[inline(always)]
    pub fn goal(report: &[R], tolerance: f64) -> R {
        R::constant(tolerance).max(report[REPORT_FLOOR])
    }

    /// Solves with each of `shares` of μ in turn, from no impulse on if there are any, and then with μ itself. Returns the steps of every lane, and
    /// the lanes that have not reached their tolerance.
    #[inline(always)]
    pub fn climb(&mut self, header: &Header, shares: &[f64], most: usize) -> (R, R::Mask) {
        self.whole_friction.resize(self.friction.len(), R::zero());
        self.whole_friction.copy_from_slice(&self.friction);
        if !shares.is_empty() {
            self.impulse.fill(R::zero());
        }
        let (mut steps, mut unsolved) = (R::zero(), R::Mask::splat(false));
        for &share in shares.iter().chain(&[1.0]) {
            for (part, &whole) in self.friction.iter_mut().zip(&self.whole_friction) {
                *part = whole * R::constant(share);
            }
            let (taken, left) = self.solve(header, most);
            (steps, unsolved) = (steps + taken, left);
        }
        (steps, unsolved)
    }

    /// Sweeps in some lanes.
    #[inline(always)]
    fn sweep(&mut self, header: &Header, sweep_count: u32, lanes: R::Mask) {
        let mut report = [R::zero(); REPORT_LEN];
        report[REPORT_LIVE] = R::select(lanes, R::one(), R::zero());
        let header = Header { sweep_count, ..*header };
        let Self { delassus, bias, friction, bounds, impulse, .. } = self;
        pgs(&header, delassus, bias, friction, bounds, impulse, &mut report);
    }

    /// At most `most` Newton steps on all lanes, until each has reached its tolerance. Returns the steps of every lane, and the lanes that have
    /// not.
    #[inline(always)]
    fn solve(&mut self, header: &Header, most: usize) -> (R, R::Mask) {
        let least_delta = R::constant(f64::max(1e-9, 8.0 * R::Scalar::EPSILON));
        let (one, ten) = (R::one(), R::constant(10.0));
        self.update_velocity();
        let (mut merit, residual) = self.natural_map();
        let mut live = self.tolerance.lt(residual).and(is_finite(residual));
        let mut delta = R::constant(FIRST_DELTA);
        let mut steps = R::zero();
        for _ in 0..most {
            if !live.any() {
                break;
            }
            self.guess_modes();
            self.assemble(delta);
            factor(&mut self.system, self.right.len());
            solve(&self.system, &mut self.right);
            self.point();
            let mut best = (self.merit_along(one), one);
            let enough = best.0.lt(merit * R::constant(0.1));
            for length in SHORTER {
                if !live.and(enough.not()).any() {
                    break;
                }
                let length = R::constant(length);
                let m = self.merit_along(length);
                let better = enough.not().and(m.lt(best.0).or(is_finite(best.0).not()));
                best = (R::select(better, m, best.0), R::select(better, length, best.1));
            }
            // a lane that got nothing regularizes more, and sweeps
            let moves = live.and(best.0.lt(merit));
            for (y, d) in self.impulse.iter_mut().zip(&self.direction) {
                *y = R::select(moves, d.mul_add(best.1, *y), *y);
            }
            let full = moves.and(best.1.lt(one).not());
            let grown = R::select(moves, delta * R::constant(2.0), delta * ten).min(one);
            delta = R::select(full, (delta / ten).max(least_delta), grown);
            steps += R::select(live, one, R::zero());
            if live.and(moves.not()).any() {
                self.sweep(header, SWEEPS, live.and(moves.not()));
            }
            self.update_velocity();
            let (now, residual) = self.natural_map();
            merit = now;
            live = live.and(self.tolerance.lt(residual)).and(is_finite(residual));
        }
        (steps, live)
    }

    /// u = W y + b
    #[inline(always)]
    fn update_velocity(&mut self) {
        let n = self.size.row_count();
        for i in 0..n {
            let row = &self.delassus[i * n..(i + 1) * n];
            let mut u = self.bias[i];
            for (w, y) in row.iter().zip(&self.impulse) {
                u = w.mul_add(*y, u);
            }
            self.velocity[i] = u;
        }
    }

    /// Sum of squares of the natural map, and the largest residual, m/s.
    #[inline(always)]
    fn natural_map(&self) -> (R, R) {
        let (mut merit, mut residual) = (R::zero(), R::zero());
        for c in 0..self.size.contact_count {
            let i = 3 * c;
            let (y, u) = (&self.impulse[i..i + 3], &self.velocity[i..i + 3]);
            let square = contact_error([y[0], y[1], y[2]], [u[0], u[1], u[2]], self.friction[c]);
            merit += square;
            residual = (square.sqrt() * self.unit[i]).max(residual);
        }
        for s in 0..self.size.scalar_count {
            let i = 3 * self.size.contact_count + s;
            let error = row_error(self.impulse[i], self.velocity[i], self.bounds[2 * s], self.bounds[2 * s + 1]);
            merit = error.mul_add(error, merit);
            residual = (error.abs() * self.unit[i]).max(residual);
        }
        // a maximum drops what is not a number; a sum does not
        (merit, merit.mul_add(R::zero(), residual))
    }

    /// y and u of a row at y + a · direction.
    #[inline(always)]
    fn along(&self, i: usize, a: R) -> (R, R) {
        (self.direction[i].mul_add(a, self.impulse[i]), self.change[i].mul_add(a, self.velocity[i]))
    }

    /// The merit at y + a · direction.
    #[inline(always)]
    fn merit_along(&self, a: R) -> R {
        let mut merit = R::zero();
        for c in 0..self.size.contact_count {
            let i = 3 * c;
            let (mut y, mut u) = ([R::zero(); 3], [R::zero(); 3]);
            for k in 0..3 {
                (y[k], u[k]) = self.along(i + k, a);
            }
            merit += contact_error(y, u, self.friction[c]);
        }
        for s in 0..self.size.scalar_count {
            let (y, u) = self.along(3 * self.size.contact_count + s, a);
            let error = row_error(y, u, self.bounds[2 * s], self.bounds[2 * s + 1]);
            merit = error.mul_add(error, merit);
        }
        merit
    }

    /// What every contact and row does, from p = y − u. `direction` holds c, the rows at their bounds.
    #[inline(always)]
    fn guess_modes(&mut self) {
        let (zero, one) = (R::zero(), R::one());
        self.direction.fill(zero);
        for (c, mode) in self.modes.iter_mut().enumerate() {
            let i = 3 * c;
            let mut p = [zero; 3];
            for k in 0..3 {
                p[k] = self.impulse[i + k] - self.velocity[i + k];
            }
            let pressed = zero.lt(p[0]);
            let length = p[1].mul_add(p[1], p[2] * p[2]).sqrt();
            let radius = self.friction[c] * p[0];
            let slides = radius.lt(length);
            let sticks = slides.not().and(pressed);
            let slides = slides.and(pressed);
            let over = inverse(length);
            let d = [p[1] * over, p[2] * over];
            // k = μ p_n / ‖p_t‖; without friction nothing is across
            let share = (radius * over).max(R::constant(LEAST_SHARE));
            let rough = slides.and(zero.lt(self.friction[c]));
            mode.pressed = R::select(pressed, one, zero);
            let drag = R::select(slides, self.friction[c], zero);
            mode.drag = [drag * d[0], drag * d[1]];
            mode.across = [R::select(sticks, one, R::select(rough, -d[1], zero)), R::select(rough, d[0], zero)];
            mode.stick = R::select(sticks, one, zero);
            mode.curvature = [
                R::select(pressed, zero, one),
                R::select(sticks, zero, R::select(rough, (one - share) / share, one)),
                R::select(sticks, zero, one),
            ];
        }
        for s in 0..self.size.scalar_count {
            let i = 3 * self.size.contact_count + s;
            let p = self.impulse[i] - self.velocity[i];
            let (lower, upper) = (self.bounds[2 * s], self.bounds[2 * s + 1]);
            let (above, below) = (lower.lt(p), p.lt(upper));
            self.free[s] = R::select(above.and(below), one, zero);
            self.direction[i] = R::select(above, R::select(below, zero, upper), lower);
        }
    }

    /// Lᵀ W R + δ I + D and Lᵀ(δ y − b − W c).
    #[inline(always)]
    fn assemble(&mut self, delta: R) {
        let (n, contacts) = (self.size.row_count(), self.size.contact_count);
        let padded = self.right.len();
        let first = 3 * contacts;
        // δ y − b − W c, kept in `change`
        for i in 0..n {
            let mut r = delta.mul_add(self.impulse[i], -self.bias[i]);
            for j in first..n {
                r = (-self.delassus[i * n + j]).mul_add(self.direction[j], r);
            }
            self.change[i] = r;
        }
        for a in 0..contacts {
            let i = 3 * a;
            let mode = self.modes[a];
            let (row0, rest) = self.delassus[i * n..(i + 3) * n].split_at(n);
            let (row1, row2) = rest.split_at(n);
            for b in 0..contacts {
                let (j, other) = (3 * b, &self.modes[b]);
                let (t0, t1, t2) =
                    (columns(&row0[j..j + 3], other), columns(&row1[j..j + 3], other), columns(&row2[j..j + 3], other));
                for k in 0..3 {
                    let [x, y, z] = tests(&mode, [t0[k], t1[k], t2[k]]);
                    self.system[i * padded + j + k] = x;
                    self.system[(i + 1) * padded + j + k] = y;
                    self.system[(i + 2) * padded + j + k] = z;
                }
            }
            for s in 0..n - first {
                let (j, free) = (first + s, self.free[s]);
                let [x, y, z] = tests(&mode, [row0[j] * free, row1[j] * free, row2[j] * free]);
                self.system[i * padded + j] = x;
                self.system[(i + 1) * padded + j] = y;
                self.system[(i + 2) * padded + j] = z;
                // from the symmetry of W
                let t = columns(&self.delassus[j * n + i..j * n + i + 3], &mode);
                for k in 0..3 {
                    self.system[j * padded + i + k] = t[k] * self.free[s];
                }
            }
            let [x, y, z] = tests(&mode, [self.change[i], self.change[i + 1], self.change[i + 2]]);
            (self.right[i], self.right[i + 1], self.right[i + 2]) = (x, y, z);
            for k in 0..3 {
                self.system[(i + k) * padded + i + k] += delta + mode.curvature[k];
            }
        }
        for i in first..n {
            for j in first..n {
                self.system[i * padded + j] = self.delassus[i * n + j] * self.free[i - first] * self.free[j - first];
            }
            self.right[i] = self.change[i] * self.free[i - first];
            self.system[i * padded + i] += delta + (R::one() - self.free[i - first]);
        }
        for i in n..padded {
            for j in 0..padded {
                self.system[i * padded + j] = R::zero();
                self.system[j * padded + i] = R::zero();
            }
            self.system[i * padded + i] = R::one();
            self.right[i] = R::zero();
        }
    }

    /// direction = R x + c − y, change = W · direction.
    #[inline(always)]
    fn point(&mut self) {
        let n = self.size.row_count();
        for (c, mode) in self.modes.iter().enumerate() {
            let i = 3 * c;
            let [x0, x1, x2] = [self.right[i], self.right[i + 1], self.right[i + 2]];
            self.direction[i] = mode.pressed * x0 - self.impulse[i];
            self.direction[i + 1] = mode.drag[0].mul_add(x0, mode.across[0] * x1) - self.impulse[i + 1];
            let across = mode.across[1].mul_add(x1, mode.stick * x2);
            self.direction[i + 2] = mode.drag[1].mul_add(x0, across) - self.impulse[i + 2];
        }
        for s in 0..self.size.scalar_count {
            let i = 3 * self.size.contact_count + s;
            self.direction[i] = self.free[s].mul_add(self.right[i], self.direction[i]) - self.impulse[i];
        }
        for i in 0..n {
            let mut sum = R::zero();
            for (w, d) in self.delassus[i * n..(i + 1) * n].iter().zip(&self.direction) {
                sum = w.mul_add(*d, sum);
            }
            self.change[i] = sum;
        }
    }
}

/// w R for three entries w of a row of W.
#[inline(always)]
fn columns<R: Real>(w: &[R], mode: &Mode<R>) -> [R; 3] {
    [
        w[0].mul_add(mode.pressed, w[1].mul_add(mode.drag[0], w[2] * mode.drag[1])),
        w[1].mul_add(mode.across[0], w[2] * mode.across[1]),
        w[2] * mode.stick,
    ]
}

/// Lᵀ t: like Rᵀ, but for the drag.
#[inline(always)]
fn tests<R: Real>(mode: &Mode<R>, t: [R; 3]) -> [R; 3] {
    [mode.pressed * t[0], mode.across[0].mul_add(t[1], mode.across[1] * t[2]), mode.stick * t[2]]
}

/// ‖y − P_K(y − û)‖² of a contact with entries (y, u), û = u + μ‖u_t‖ e_n.
#[inline(always)]
fn contact_error<R: Real>([y0, y1, y2]: [R; 3], [u0, u1, u2]: [R; 3], friction: R) -> R {
    let normal = friction.mul_add(u1.mul_add(u1, u2 * u2).sqrt(), u0);
    let nearest = project_cone([y0 - normal, y1 - u1, y2 - u2], friction);
    let (e0, e1, e2) = (y0 - nearest[0], y1 - nearest[1], y2 - nearest[2]);
    e0.mul_add(e0, e1.mul_add(e1, e2 * e2))
}

/// y − Π(y − u) of a scalar row.
#[inline(always)]
fn row_error<R: Real>(y: R, u: R, lower: R, upper: R) -> R {
    y - project_interval(y - u, lower, upper)
}
