//! Newton on contact modes, in lanes: for blocks on which Gauss-Seidel contracts slowly.
//!
//! The unknowns are scaled, y = λ √w_c and u / √w_c with w_c the mean diagonal of a contact (or of a scalar row), so that the diagonal is
//! about 1. Every contact guesses its [`Mode`] from p = y − u, and one linear system follows from all guesses:
//!
//! (Lᵀ W R + δ I + D) x = Lᵀ(δ y − b − W c),   y' = R x + c
//!
//! The proximal term δ carries rank-deficient W without moving the solution. Along y' − y the velocity is linear, so the line search on the sum
//! of squares of the natural map needs one product with W. Modes that a contact lacks are identity rows: all lanes take the same steps.

use super::batch::{REPORT_FLOOR, REPORT_LEN, REPORT_LIVE, goal};
use super::modes::{Mode, expand};
use super::project::{corrected_normal, is_finite, project_cone, project_interval};
use super::settings::Header;
use super::size::BlockSize;
use super::tiles::OneTile;
use crate::lane::{Compiled, Level, Mask, Pack, PackMask, Scalar, Task};

/// Sweeps on a block that a step brought nothing.
const SWEEPS: u32 = 5;
/// Share of its goal that a residual is brought to in finer numbers than the block's own: room for the answer to be rounded.
const AIM: f64 = 0.5;
/// First proximal term, in units of the mean diagonal.
const FIRST_DELTA: f64 = 1e-4;
/// Over-relaxation α of alternating directions.
const RELAXATION: f64 = 1.6;
/// Shorter steps that are tried where the full one does not lower the merit to [`ENOUGH`] of what it was.
const SHORTER: [f64; 4] = [0.4, 0.16, 0.064, 0.0256];
const ENOUGH: f64 = 0.1;
/// Least proximal term of whole steps, in units of the mean diagonal: it asks for f64.
pub(super) const WHOLE_DELTA: f64 = 1e-10;

/// A round of Newton.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// Steps at most on every problem, or turns where sweeps follow.
    pub steps: usize,
    /// Whether rows that are open in the answer so far are left out.
    pub acting: bool,
    /// Where Newton starts.
    pub start: Start,
}

/// Where a round of Newton starts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Start {
    /// At the answer so far.
    Here,
    /// There too, with sweeps after every step.
    Swept,
    /// From no impulse on, with these shares of the friction in turn.
    Friction(&'static [f64]),
    /// After some steps of alternating directions from the answer so far, ρ in units of the mean diagonal.
    Split { steps: usize, rho: f64 },
    /// At the answer so far, or `anew` from no impulse on, with whole steps, whatever becomes of the merit: the proximal term fades from `delta` by `share` a step, to [`WHOLE_DELTA`].
    Whole { delta: f64, share: f64, anew: bool },
}

impl Round {
    /// Whether the answer of a round replaces the one before: what starts elsewhere must end well, on the rows that take part in it.
    pub fn keeps(&self, unsolved: bool) -> bool {
        matches!(self.start, Start::Here | Start::Swept) || !unsolved
    }
}

/// W of a tile of blocks, as Newton asks for it.
pub(super) trait Matrix<R: Pack>: Form<R> {
    /// out ← out + W x
    fn product(&mut self, x: &[R], out: &mut [R]);
    /// The unknowns x of (Lᵀ W R + δ I + D) x = Lᵀ(δ y − b − W c), three a contact and one a scalar row.
    fn unknowns(&mut self, guess: &Guess<'_, R>) -> &[R];
    /// Factors W + ρ I.
    fn shift(&mut self, rho: R);
    /// x ← (W + ρ I)⁻¹ x, after [`Matrix::shift`].
    fn shifted(&mut self, x: &mut [R]);
    /// [`pgs`](super::pgs()) sweeps over the live lanes, the tile brings no W; and u = W y + b afterwards, of all lanes.
    fn sweep(&mut self, header: &Header, tile: &mut OneTile<'_, R>, velocity: &mut [R]);
}

/// W in one form or another: what of [`Matrix`] each form has of its own.
pub(super) trait Form<R: Pack> {
    /// The instruction set that it is worked on with.
    fn level(&self) -> Level;
    /// Makes room for blocks of `size`: all zero, or those whose factors stand ready.
    fn clear(&mut self, size: BlockSize);
    /// Finds the unit √w_c of every row, and scales W by them: W_ij ← W_ij / (unit_i unit_j).
    fn scale(&mut self, size: BlockSize, unit: &mut [R]);
    /// [`Matrix::product`].
    fn add_product(&mut self, x: &[R], out: &mut [R]);
    /// Finds [`Matrix::unknowns`].
    fn find_unknowns(&mut self, guess: &Guess<'_, R>);
    /// What was found.
    fn found(&self) -> &[R];
    /// [`Matrix::shift`].
    fn factor_shifted(&mut self, rho: R);
    /// [`Matrix::shifted`].
    fn solve_shifted(&mut self, x: &mut [R]);
    /// [`Matrix::sweep`].
    fn sweep_all(&mut self, header: &Header, tile: &mut OneTile<'_, R>, velocity: &mut [R]);
}

/// The modes that are guessed, and the problem that they are guessed for.
pub(super) struct Guess<'a, R: Pack> {
    pub size: BlockSize,
    /// Shape \[contact\].
    pub modes: &'a [Mode<R>],
    /// 1 where a scalar row is free, else 0, shape \[scalar\].
    pub free: &'a [R],
    /// c: the bounds where a scalar row is at one, else 0, shape \[row\].
    pub fixed: &'a [R],
    /// Proximal term δ.
    pub delta: R,
    /// The blocks whose unknowns are asked for; those of others mean nothing. (W as a matrix takes all.)
    pub lanes: R::Mask,
    /// Of these, the ones whose modes and δ are those of their last system, so that its factors still stand.
    pub known: R::Mask,
    /// y, shape \[row\].
    pub impulse: &'a [R],
    /// b, shape \[row\].
    pub bias: &'a [R],
}

/// One tile of blocks, scaled, with what Newton needs.
#[derive(Debug, Clone)]
pub(super) struct NewtonTile<R, W> {
    /// Room of the blocks.
    pub size: BlockSize,
    /// W, scaled.
    pub matrix: W,
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
    pub velocity: Vec<R>,
    /// Proximal term δ, in units of the mean diagonal.
    pub delta: R,
    modes: Vec<Mode<R>>,
    /// Where a scalar row is free (1 or 0), shape \[scalar\].
    free: Vec<R>,
    /// The bound that a scalar row is at, scaled, else 0, shape \[row\].
    fixed: Vec<R>,
    /// y' − y, and W times it, shape \[row\].
    pub direction: Vec<R>,
    pub change: Vec<R>,
    /// y before a step, where sweeps follow it, shape \[row\].
    pub before: Vec<R>,
}

impl<R: Pack, W: Matrix<R>> NewtonTile<R, W> {
    /// No room yet.
    pub fn new(matrix: W) -> Self {
        Self {
            size: BlockSize::default(),
            matrix,
            bias: Vec::new(),
            impulse: Vec::new(),
            friction: Vec::new(),
            whole_friction: Vec::new(),
            bounds: Vec::new(),
            unit: Vec::new(),
            tolerance: R::zero(),
            velocity: Vec::new(),
            delta: R::zero(),
            modes: Vec::new(),
            free: Vec::new(),
            fixed: Vec::new(),
            direction: Vec::new(),
            change: Vec::new(),
            before: Vec::new(),
        }
    }

    /// Makes room for the blocks of `header`, no lane in use: blocks of zeros.
    #[inline(always)]
    pub fn clear(&mut self, header: &Header) {
        let size =
            BlockSize { contact_count: header.contact_count as usize, scalar_count: header.scalar_count as usize };
        let n = size.row_count();
        self.size = size;
        self.matrix.clear(size);
        for (array, len) in [
            (&mut self.bias, n),
            (&mut self.impulse, n),
            (&mut self.friction, size.contact_count),
            (&mut self.bounds, 2 * size.scalar_count),
            (&mut self.unit, n),
            (&mut self.velocity, n),
            (&mut self.free, size.scalar_count),
            (&mut self.fixed, n),
            (&mut self.direction, n),
            (&mut self.change, n),
        ] {
            array.resize(len, R::zero());
        }
        let zero = R::zero();
        let idle = Mode { pressed: zero, drag: [zero; 2], across: [zero; 2], stick: zero, curvature: [zero; 3] };
        self.modes.resize(size.contact_count, idle);
        // an idle lane is solved from the start
        self.tolerance = R::constant(f64::INFINITY);
        for array in [&mut self.bias, &mut self.impulse, &mut self.friction, &mut self.bounds] {
            array.fill(R::zero());
        }
    }

    /// Scales all but W of what was gathered.
    #[inline(always)]
    pub(super) fn scale(&mut self) {
        for (i, unit) in self.unit.iter().enumerate() {
            self.bias[i] = self.bias[i] * (R::one() / *unit);
            self.impulse[i] = self.impulse[i] * *unit;
        }
        let first = 3 * self.size.contact_count;
        for s in 0..self.size.scalar_count {
            for bound in &mut self.bounds[2 * s..2 * s + 2] {
                *bound = *bound * self.unit[first + s];
            }
        }
    }

    /// Turns y into λ, N·s.
    #[inline(always)]
    pub(super) fn unscale(&mut self) {
        for (y, unit) in self.impulse.iter_mut().zip(&self.unit) {
            *y = *y / *unit;
        }
    }

    /// The residual that `lane` has to reach: see [`goal`]; the floor is that of the block in lane `from` of `report`; in
    /// finer numbers than those of the report, [`AIM`] of it.
    #[inline(always)]
    pub fn set_goal<P: Pack>(&mut self, lane: usize, header: &Header, report: &[P], from: usize) {
        let tolerance = P::Scalar::from_f64(f64::from(header.tolerance));
        let share = if R::EPSILON < P::EPSILON { AIM } else { 1.0 };
        let goal = share * goal(tolerance, report[REPORT_FLOOR].get(from)).to_f64();
        self.tolerance.set(lane, R::Scalar::from_f64(goal));
    }

    /// A damped round where all is scaled already.
    #[inline(always)]
    pub fn run_scaled(&mut self, header: &Header, round: &Round) -> (R, R::Mask) {
        let mut shares: &[f64] = &[];
        match round.start {
            // swept rounds have a loop of their own
            Start::Here | Start::Swept => {}
            Start::Friction(ramp) => {
                self.impulse.fill(R::zero());
                shares = ramp;
            }
            Start::Split { steps, rho } => self.split(steps, R::constant(rho)),
            Start::Whole { delta, share, anew } => {
                if anew {
                    self.impulse.fill(R::zero());
                }
                return self.cross(round.steps, [delta, share]);
            }
        }
        self.whole_friction.resize(self.friction.len(), R::zero());
        self.whole_friction.copy_from_slice(&self.friction);
        let (mut steps, mut unsolved) = (R::zero(), R::Mask::splat(false));
        for &share in shares.iter().chain(&[1.0]) {
            for (part, &whole) in self.friction.iter_mut().zip(&self.whole_friction) {
                *part = whole * R::constant(share);
            }
            let (taken, left) = self.solve(header, round.steps);
            (steps, unsolved) = (steps + taken, left);
        }
        (steps, unsolved)
    }

    /// Alternating directions: a solve with W + ρ I, then a projection onto the laws, De Saxcé's term lagged. A few steps find the modes of stacks.
    ///
    /// x = (W + ρ I)⁻¹ (ρ z + l − b − μ‖l_t‖ e_n),   h = α x + (1 − α) z,   z = Π(h − l/ρ),   l ← l − ρ (h − z)
    #[inline(always)]
    fn split(&mut self, steps: usize, rho: R) {
        let (over, relaxation) = (R::one() / rho, R::constant(RELAXATION));
        self.matrix.shift(rho);
        // l of the start: what its projection leaves of u
        self.update_velocity();
        let (n, contacts) = (self.impulse.len(), self.size.contact_count);
        for c in 0..contacts {
            let i = 3 * c;
            let u = [self.velocity[i], self.velocity[i + 1], self.velocity[i + 2]];
            self.velocity[i] = corrected_normal(u, self.friction[c]);
        }
        for i in 0..n {
            // h − l/ρ with h = y and l = û
            self.direction[i] = (-self.velocity[i]).mul_add(over, self.impulse[i]);
        }
        for step in 0..=steps {
            // z = Π(h − l/ρ), l ← ρ (z − (h − l/ρ))
            for c in 0..contacts {
                let i = 3 * c;
                let p = &self.direction[i..i + 3];
                let z = project_cone([p[0], p[1], p[2]], self.friction[c]);
                self.impulse[i..i + 3].copy_from_slice(&z);
            }
            for s in 0..self.size.scalar_count {
                let i = 3 * contacts + s;
                self.impulse[i] = project_interval(self.direction[i], self.bounds[2 * s], self.bounds[2 * s + 1]);
            }
            if step == steps {
                break;
            }
            for i in 0..n {
                self.velocity[i] = rho * (self.impulse[i] - self.direction[i]);
                self.change[i] = rho.mul_add(self.impulse[i], self.velocity[i]) - self.bias[i];
            }
            for c in 0..contacts {
                let i = 3 * c;
                let l = [self.change[i], self.velocity[i + 1], self.velocity[i + 2]];
                self.change[i] = corrected_normal(l, -self.friction[c]);
            }
            self.matrix.shifted(&mut self.change);
            for i in 0..n {
                let h = relaxation.mul_add(self.change[i] - self.impulse[i], self.impulse[i]);
                self.direction[i] = (-self.velocity[i]).mul_add(over, h);
            }
        }
    }

    /// Sweeps in some lanes; then u = W y + b in all.
    #[inline(always)]
    pub(super) fn sweep(&mut self, header: &Header, sweep_count: u32, lanes: R::Mask) {
        let mut report = [R::zero(); REPORT_LEN];
        report[REPORT_LIVE] = R::select(lanes, R::one(), R::zero());
        let header = Header { sweep_count, ..*header };
        let Self { matrix, bias, friction, bounds, impulse, velocity, .. } = self;
        let mut tile = OneTile { delassus: &[], friction, bounds, bias, impulse, report: &mut report };
        matrix.sweep(&header, &mut tile, velocity);
    }

    /// At most `most` Newton steps on all lanes, each as long as lowers the merit, until each has reached its tolerance. Returns the steps of every lane, and the lanes that have
    /// not.
    #[inline(always)]
    fn solve(&mut self, header: &Header, most: usize) -> (R, R::Mask) {
        let least_delta = R::constant(f64::max(1e-9, 8.0 * R::EPSILON));
        let (one, ten) = (R::one(), R::constant(10.0));
        self.update_velocity();
        let (mut merit, residual) = self.natural_map();
        let mut live = self.tolerance.lt(residual).and(is_finite(residual));
        self.delta = R::constant(FIRST_DELTA);
        let mut steps = R::zero();
        for _ in 0..most {
            if !live.any() {
                break;
            }
            self.guess_modes(R::Mask::splat(false));
            self.point(live, R::Mask::splat(false));
            let mut best = (self.natural_map_along(one).0, one);
            let enough = best.0.lt(merit * R::constant(ENOUGH));
            for length in SHORTER {
                if !live.and(enough.not()).any() {
                    break;
                }
                let length = R::constant(length);
                let (m, _) = self.natural_map_along(length);
                let better = enough.not().and(m.lt(best.0).or(is_finite(best.0).not()));
                best = (R::select(better, m, best.0), R::select(better, length, best.1));
            }
            // a lane that got nothing regularizes more, and sweeps
            let moves = live.and(best.0.lt(merit));
            for (y, d) in self.impulse.iter_mut().zip(&self.direction) {
                *y = R::select(moves, d.mul_add(best.1, *y), *y);
            }
            let full = moves.and(best.1.lt(one).not());
            let grown = R::select(moves, self.delta * R::constant(2.0), self.delta * ten).min(one);
            self.delta = R::select(full, (self.delta / ten).max(least_delta), grown);
            steps += R::select(live, one, R::zero());
            if live.and(moves.not()).any() {
                self.sweep(header, SWEEPS, live.and(moves.not()));
            } else {
                self.update_velocity();
            }
            let (now, residual) = self.natural_map();
            merit = now;
            live = live.and(self.tolerance.lt(residual)).and(is_finite(residual));
        }
        (steps, live)
    }

    /// Whole steps on all lanes until each has reached its tolerance. Returns the steps of every lane, and the lanes that have not, or are not finite. Where W says next to nothing about
    /// some direction (four feet that stand, each pulling against the others), the answer is far along a valley that bends as contacts turn from stick to slip: steps that lower the merit
    /// are short, and whole ones cross it, once the proximal term has faded that holds them back.
    #[inline(always)]
    fn cross(&mut self, most: usize, [delta, share]: [f64; 2]) -> (R, R::Mask) {
        let (share, least) = (R::constant(share), R::constant(WHOLE_DELTA));
        self.delta = R::constant(delta);
        let (mut steps, mut turn) = (R::zero(), 0);
        loop {
            self.update_velocity();
            let (_, residual) = self.natural_map();
            let finite = is_finite(residual);
            let live = self.tolerance.lt(residual).and(finite);
            if turn == most || !live.any() {
                return (steps, live.or(finite.not()));
            }
            self.guess_modes(R::Mask::splat(false));
            self.point(live, R::Mask::splat(false));
            for (y, d) in self.impulse.iter_mut().zip(&self.direction) {
                *y = R::select(live, *y + *d, *y);
            }
            steps += R::select(live, R::one(), R::zero());
            turn += 1;
            self.delta = (self.delta * share).max(least);
        }
    }

    /// u = W y + b
    #[inline(always)]
    pub(super) fn update_velocity(&mut self) {
        self.velocity.copy_from_slice(&self.bias);
        self.matrix.product(&self.impulse, &mut self.velocity);
    }

    /// Sum of squares of the natural map, and the largest residual, m/s.
    #[inline(always)]
    pub(super) fn natural_map(&self) -> (R, R) {
        self.matrix.level().run(NaturalMap { newton: self, along: None })
    }

    /// [`Self::natural_map`] at y + a · direction.
    #[inline(always)]
    pub(super) fn natural_map_along(&self, a: R) -> (R, R) {
        self.matrix.level().run(NaturalMap { newton: self, along: Some(a) })
    }

    /// See [`NaturalMap`].
    #[inline(always)]
    fn find_natural_map(&self) -> (R, R) {
        let (mut merit, mut largest) = (R::zero(), R::zero());
        for c in 0..self.size.contact_count {
            let i = 3 * c;
            let (y, u) = (&self.impulse[i..i + 3], &self.velocity[i..i + 3]);
            let square = contact_error([y[0], y[1], y[2]], [u[0], u[1], u[2]], self.friction[c]);
            merit += square;
            largest = (square * (self.unit[i] * self.unit[i])).max(largest);
        }
        for s in 0..self.size.scalar_count {
            let i = 3 * self.size.contact_count + s;
            let error = row_error(self.impulse[i], self.velocity[i], self.bounds[2 * s], self.bounds[2 * s + 1]);
            let square = error * error;
            merit += square;
            largest = (square * (self.unit[i] * self.unit[i])).max(largest);
        }
        // a maximum drops what is not a number; a sum does not
        (merit, merit.mul_add(R::zero(), largest.sqrt()))
    }

    /// y and u of a row at y + a · direction.
    #[inline(always)]
    fn along(&self, i: usize, a: R) -> (R, R) {
        (self.direction[i].mul_add(a, self.impulse[i]), self.change[i].mul_add(a, self.velocity[i]))
    }

    /// See [`NaturalMap`].
    #[inline(always)]
    fn find_natural_map_along(&self, a: R) -> (R, R) {
        let (mut merit, mut largest) = (R::zero(), R::zero());
        for c in 0..self.size.contact_count {
            let i = 3 * c;
            let (mut y, mut u) = ([R::zero(); 3], [R::zero(); 3]);
            for k in 0..3 {
                (y[k], u[k]) = self.along(i + k, a);
            }
            let square = contact_error(y, u, self.friction[c]);
            merit += square;
            largest = (square * (self.unit[i] * self.unit[i])).max(largest);
        }
        for s in 0..self.size.scalar_count {
            let i = 3 * self.size.contact_count + s;
            let (y, u) = self.along(i, a);
            let error = row_error(y, u, self.bounds[2 * s], self.bounds[2 * s + 1]);
            merit = error.mul_add(error, merit);
            largest = (error * error * (self.unit[i] * self.unit[i])).max(largest);
        }
        (merit, merit.mul_add(R::zero(), largest.sqrt()))
    }

    /// What every contact and row does, from p = y − u, but in the lanes where that is `known`.
    #[inline(always)]
    pub(super) fn guess_modes(&mut self, known: R::Mask) {
        let (zero, one) = (R::zero(), R::one());
        for (c, mode) in self.modes.iter_mut().enumerate() {
            let i = 3 * c;
            let mut p = [zero; 3];
            for k in 0..3 {
                p[k] = self.impulse[i + k] - self.velocity[i + k];
            }
            *mode = Mode::select(known, mode, &Mode::of(p, self.friction[c]));
        }
        for s in 0..self.size.scalar_count {
            let i = 3 * self.size.contact_count + s;
            let p = self.impulse[i] - self.velocity[i];
            let (lower, upper) = (self.bounds[2 * s], self.bounds[2 * s + 1]);
            let (above, below) = (lower.lt(p), p.lt(upper));
            self.free[s] = R::select(known, self.free[s], R::select(above.and(below), one, zero));
            self.fixed[i] = R::select(known, self.fixed[i], R::select(above, R::select(below, zero, upper), lower));
        }
    }

    /// direction = R x + c − y with the unknowns x of the modes, change = W · direction, in `lanes`. `known`: where modes and δ are those of the last time.
    #[inline(always)]
    pub(super) fn point(&mut self, lanes: R::Mask, known: R::Mask) {
        let guess = Guess {
            size: self.size,
            modes: &self.modes,
            free: &self.free,
            fixed: &self.fixed,
            delta: self.delta,
            lanes,
            known,
            impulse: &self.impulse,
            bias: &self.bias,
        };
        let x = self.matrix.unknowns(&guess);
        for (c, mode) in self.modes.iter().enumerate() {
            let i = 3 * c;
            let y = expand(mode, [x[i], x[i + 1], x[i + 2]]);
            for k in 0..3 {
                self.direction[i + k] = R::select(lanes, y[k] - self.impulse[i + k], self.direction[i + k]);
            }
        }
        for s in 0..self.size.scalar_count {
            let i = 3 * self.size.contact_count + s;
            let y = self.free[s].mul_add(x[i], self.fixed[i]);
            self.direction[i] = R::select(lanes, y - self.impulse[i], self.direction[i]);
        }
        self.change.fill(R::zero());
        self.matrix.product(&self.direction, &mut self.change);
    }
}

/// [`NewtonTile::natural_map`], or [`NewtonTile::natural_map_along`] so much of the direction: one function for all who ask.
struct NaturalMap<'a, R, W> {
    newton: &'a NewtonTile<R, W>,
    along: Option<R>,
}

impl<R: Pack, W: Matrix<R>> Task for NaturalMap<'_, R, W> {
    const COMPILED: Compiled = R::PIECES;
    type Output = (R, R);
    #[inline(always)]
    fn run(self) -> (R, R) {
        match self.along {
            None => self.newton.find_natural_map(),
            Some(a) => self.newton.find_natural_map_along(a),
        }
    }
}

/// ‖y − P_K(y − û)‖² of a contact with entries (y, u), û = u + μ‖u_t‖ e_n.
#[inline(always)]
fn contact_error<R: Pack>([y0, y1, y2]: [R; 3], [u0, u1, u2]: [R; 3], friction: R) -> R {
    let normal = corrected_normal([u0, u1, u2], friction);
    let nearest = project_cone([y0 - normal, y1 - u1, y2 - u2], friction);
    let (e0, e1, e2) = (y0 - nearest[0], y1 - nearest[1], y2 - nearest[2]);
    e0.mul_add(e0, e1.mul_add(e1, e2 * e2))
}

/// y − Π(y − u) of a scalar row.
#[inline(always)]
fn row_error<R: Pack>(y: R, u: R, lower: R, upper: R) -> R {
    y - project_interval(y - u, lower, upper)
}
