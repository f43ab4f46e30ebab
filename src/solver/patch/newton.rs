//! Damped semismooth Newton over lanes, for blocks with patches: the method of [`crate::lcp::patch`], whose `System` and `linear` have the formulas.
//!
//! ```text
//! x = (impulses of the normals and scalar rows, s of the friction),   z = z(x),   w = W z + b
//! row       F = x − Π(x − ρ w)                 ρ = 1/W_ii
//! disc      F = x − P_K(x − ρ w)               ρ = 1/mean W_ii
//! friction  F = s − P(s − ρ y), |·| ≤ μ N      ρ = 1/a
//! ```
//!
//! `F/ρ`, in m/s, is what must vanish. Its Jacobian is scaled by columns, so that its diagonal is about 1, and eliminated without pivoting, so that all lanes
//! do the same; the diagonals of the normals, whose impulses are not unique, are raised a little.

use super::super::batch::PATCH_LEN;
use super::super::newton::WHOLE_DELTA;
use super::super::project::is_finite;
use super::block::{Block, Point};
use super::pieces::{evaluate, full_step, sweep};
use super::sweeps::Carried;
use super::tile::Room;
use crate::lane::{Level, Mask, Pack, PackMask, Scalar};

/// Where a round of Newton starts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Start {
    /// At the answer so far, with sweeps after every step.
    Swept,
    /// There too, in whole steps, whatever becomes of the merit.
    Whole,
    /// After so many sweeps from there.
    Sweeps(u32),
    /// From no impulse on, with these shares of the friction in turn.
    Friction(&'static [f64]),
    /// From no impulse on, with these shares of the diagonal of W added to it in turn.
    Softness(&'static [f64]),
}

/// Halvings of a step.
const HALVINGS: usize = 8;
/// A step counts that leaves less than this share of the merit.
const ENOUGH: f64 = 0.9;
/// Added to the diagonal of the friction rows where the system is not regular without; tried in turn.
const SHIFTS: [f64; 4] = [0.0, 1e-7, 1e-5, 1e-3];
/// Least share of its diagonal that is added to the Jacobian of steps with sweeps: with less, impulses that are not unique jump, and rows with them.
pub const LEAST_DELTA: f64 = 3e-4;
/// The share with which whole steps begin; it halves to [`WHOLE_DELTA`].
const FIRST_DELTA: f64 = 1e-4;
/// Sweeps after a step with sweeps.
const SWEEPS_AFTER: u32 = 10;
/// Newton aims this far below the tolerance: points are certified by another form of their law.
const AIM: f64 = 0.3;

/// The length of the step from `now` with the least merit, of the halves, quarters and so on of the full one; `trial`: room.
#[inline(always)]
fn shorten<R: Pack>(
    level: Level,
    block: &Block<R>,
    now: &Point<R>,
    step: &[R],
    lanes: R::Mask,
    trial: &mut Point<R>,
) -> R {
    let (mut length, mut best) = (R::constant(0.5), R::constant(0.5));
    let (mut least, mut falling) = (R::constant(f64::INFINITY), lanes);
    for _ in 0..HALVINGS {
        if !falling.any() {
            break;
        }
        for (i, x) in trial.x.iter_mut().enumerate() {
            *x = (-length).mul_add(step[i], now.x[i]);
        }
        evaluate(level, block, trial);
        let better = falling.and(trial.merit.lt(least));
        (least, best) = (R::select(better, trial.merit, least), R::select(better, length, best));
        // once it is better than nothing, it gets worse again with less
        falling = falling.and(better.or(least.lt(now.merit).not()));
        length = length * R::constant(0.5);
    }
    best
}

/// One tile of blocks with what Newton needs.
#[derive(Debug, Clone)]
pub(super) struct NewtonTile<R: Pack> {
    /// The instruction set that it is worked on with.
    level: Level,
    pub block: Block<R>,
    /// z, N·s, shape \[row\].
    pub impulse: Vec<R>,
    /// Residual to reach, m/s.
    tolerance: R,
    /// Diagonal of W, and friction, while others stand in their place.
    whole: Vec<R>,
    now: Point<R>,
    trial: Point<R>,
    next: Point<R>,
    best: Point<R>,
    jacobian: Vec<R>,
    /// What a full step takes off x, shape \[row\].
    step: Vec<R>,
    carried: Carried<R>,
}

impl<R: Pack> NewtonTile<R> {
    pub fn new() -> Self {
        Self {
            level: Level::Baseline,
            block: Block::new(),
            impulse: Vec::new(),
            tolerance: R::zero(),
            whole: Vec::new(),
            now: Point::new(),
            trial: Point::new(),
            next: Point::new(),
            best: Point::new(),
            jacobian: Vec::new(),
            step: Vec::new(),
            carried: Carried::new(),
        }
    }

    /// Makes room, no lane in use: blocks of zeros.
    #[inline(always)]
    pub fn clear(&mut self, room: Room, level: Level) {
        self.level = level;
        let n = room.row_count();
        self.block.room = room;
        for (array, len) in [
            (&mut self.block.delassus, n * n),
            (&mut self.block.bias, n),
            (&mut self.block.friction, room.contacts),
            (&mut self.block.bounds, 2 * (n - 3 * room.contacts)),
            (&mut self.block.shapes, room.patches * PATCH_LEN),
            (&mut self.impulse, n),
            (&mut self.jacobian, n * n),
            (&mut self.step, n),
        ] {
            array.clear();
            array.resize(len, R::zero());
        }
        for point in [&mut self.now, &mut self.trial, &mut self.next, &mut self.best] {
            point.resize(n);
        }
        // an idle lane is solved from the start
        self.tolerance = R::constant(f64::INFINITY);
    }

    /// The residual at which `lane` will be certified, m/s.
    pub fn set_goal(&mut self, lane: usize, goal: R::Scalar) {
        self.tolerance.set(lane, goal * R::Scalar::from_f64(AIM));
    }

    /// Solves from where the round starts. Returns the steps of every lane, the lanes that have not reached their tolerance, and those that end nearer to
    /// it than they began.
    #[inline(always)]
    pub fn run(&mut self, start: Start, most: usize) -> (R, R::Mask, R::Mask) {
        let (n, zero) = (self.block.room.row_count(), R::zero());
        self.block.find_scales();
        self.block.unknowns(&self.impulse, &mut self.now.x);
        evaluate(self.level, &self.block, &mut self.now);
        let before = self.now.residual;
        let shares = match start {
            Start::Swept => {
                let (taken, unsolved) = self.solve_swept(most);
                self.impulse.copy_from_slice(&self.now.z);
                return (taken, unsolved, self.now.residual.lt(before));
            }
            Start::Whole => {
                let (taken, unsolved) = self.cross(most);
                self.impulse.copy_from_slice(&self.now.z);
                return (taken, unsolved, self.now.residual.lt(before));
            }
            Start::Sweeps(count) => {
                sweep(self.level, &self.block, count, R::Mask::splat(true), &mut self.carried, &mut self.now);
                &[]
            }
            Start::Friction(shares) | Start::Softness(shares) => {
                self.now.x.fill(zero);
                shares
            }
        };
        let softens = matches!(start, Start::Softness(_));
        self.whole.clear();
        for i in 0..n {
            self.whole.push(self.block.delassus[i * n + i]);
        }
        self.whole.extend_from_slice(&self.block.friction);
        // with each share, and then as it is
        let (mut steps, mut unsolved) = (zero, R::Mask::splat(true));
        for k in 0..=shares.len() {
            let (softness, friction) = match shares.get(k) {
                Some(share) if softens => (1.0 + share, 1.0),
                Some(share) => (1.0, *share),
                None => (1.0, 1.0),
            };
            let (diagonal, whole) = self.whole.split_at(n);
            for i in 0..n {
                self.block.delassus[i * n + i] = diagonal[i] * R::constant(softness);
            }
            for (part, whole) in self.block.friction.iter_mut().zip(whole) {
                *part = *whole * R::constant(friction);
            }
            let (taken, left) = self.solve(most);
            (steps, unsolved) = (steps + taken, left);
        }
        self.impulse.copy_from_slice(&self.now.z);
        (steps, unsolved, self.now.residual.lt(before))
    }

    /// The same with a Jacobian that stays well away from singular, and sweeps after every step: they find which rows act, the step how much. What the full step and its
    /// sweeps reach counts, or else what a shorter one and its sweeps do.
    ///
    /// ```text
    /// δ = δ₀;  until it is solved:
    ///   full step of the Jacobian with δ on its diagonal; done where that is the answer
    ///   sweeps; where that does not help, the best of shorter steps, sweeps
    ///   accept if the merit is below the largest of the last three:  δ ← max(δ/10, δ₀) after a full step, min(1, 2 δ) after a shorter one
    ///   else:  δ ← min(1, 10 δ), sweeps
    /// ```
    #[inline(always)]
    fn solve_swept(&mut self, most: usize) -> (R, R::Mask) {
        let (zero, one) = (R::zero(), R::one());
        let Self { level, block, now, trial, next, best, jacobian, step, carried, .. } = self;
        let n = block.room.row_count();
        best.take(R::Mask::splat(true), now);
        let mut live = self.tolerance.lt(now.residual).and(is_finite(now.residual));
        let (mut delta, mut steps) = (R::constant(LEAST_DELTA), zero);
        let mut merits = [now.merit; 3];
        for k in 0..most {
            if !live.any() {
                break;
            }
            steps += R::select(live, one, zero);
            full_step(*level, block, now, delta, jacobian, step);
            // where the full step is the answer, nothing is left to sweep
            for i in 0..n {
                trial.x[i] = now.x[i] - step[i];
            }
            evaluate(*level, block, trial);
            let done = live.and(is_finite(trial.residual)).and(self.tolerance.lt(trial.residual).not());
            now.take(done, trial);
            best.take(done, trial);
            live = live.and(done.not());
            if !live.any() {
                break;
            }
            next.merit = R::constant(f64::INFINITY);
            let most_allowed = merits[0].max(merits[1]).max(merits[2]);
            let (mut length, mut shorter) = (one, R::Mask::splat(false));
            // the full step, where that does not help shorter ones, where nothing does sweeps from where it stands
            let mut wanting = live;
            for attempt in 0..3 {
                if !wanting.any() {
                    break;
                }
                if attempt == 1 {
                    length = shorten(*level, block, now, step, wanting, trial);
                } else if attempt == 2 {
                    length = zero;
                }
                for i in 0..n {
                    trial.x[i] = (-length).mul_add(step[i], now.x[i]);
                }
                sweep(*level, block, SWEEPS_AFTER, wanting, carried, trial);
                evaluate(*level, block, trial);
                let better = wanting.and(trial.merit.lt(next.merit));
                next.take(better, trial);
                shorter = shorter.or(better.and(R::Mask::splat(attempt == 1)));
                let limit = if attempt == 0 { R::constant(ENOUGH) * now.merit } else { most_allowed };
                wanting = wanting.and(next.merit.lt(limit).not());
            }
            // what is still wanting takes the sweeps, if they help at all, and regularizes more
            let accepted = live.and(next.merit.lt(most_allowed));
            let after = R::select(shorter, delta + delta, (R::constant(0.1) * delta).max(R::constant(LEAST_DELTA)));
            delta = R::select(wanting, R::constant(10.0) * delta, after).min(one);
            now.take(accepted, next);
            merits[k % 3] = R::select(accepted, now.merit, merits[k % 3]);
            best.take(now.residual.lt(best.residual), now);
            live = live.and(self.tolerance.lt(now.residual)).and(is_finite(now.residual));
        }
        now.take(R::Mask::splat(true), best);
        (steps, self.tolerance.lt(now.residual).or(is_finite(now.residual).not()))
    }

    /// Whole steps from `now`, which holds the best point afterwards, with a share of the diagonal on it that halves; see the points' [`super::super::newton`]. Returns as [`Self::solve`] does.
    #[inline(always)]
    fn cross(&mut self, most: usize) -> (R, R::Mask) {
        let Self { level, block, now, best, jacobian, step, .. } = self;
        best.take(R::Mask::splat(true), now);
        let (mut delta, mut steps) = (R::constant(FIRST_DELTA), R::zero());
        let mut live = self.tolerance.lt(now.residual).and(is_finite(now.residual));
        for _ in 0..most {
            if !live.any() {
                break;
            }
            steps += R::select(live, R::one(), R::zero());
            full_step(*level, block, now, delta, jacobian, step);
            for (x, step) in now.x.iter_mut().zip(step.iter()) {
                *x = R::select(live, *x - *step, *x);
            }
            evaluate(*level, block, now);
            best.take(now.residual.lt(best.residual), now);
            live = live.and(self.tolerance.lt(now.residual)).and(is_finite(now.residual));
            delta = (delta * R::constant(0.5)).max(R::constant(WHOLE_DELTA));
        }
        now.take(R::Mask::splat(true), best);
        (steps, self.tolerance.lt(now.residual).or(is_finite(now.residual).not()))
    }

    /// At most `most` Newton steps on all lanes from the unknowns of `now`, which holds the best point afterwards. Returns the steps of every lane, and the lanes that
    /// have not reached their tolerance.
    #[inline(always)]
    fn solve(&mut self, most: usize) -> (R, R::Mask) {
        let (zero, one) = (R::zero(), R::one());
        let Self { level, block, now, trial, next, best, jacobian, step, .. } = self;
        let n = block.room.row_count();
        evaluate(*level, block, now);
        best.take(R::Mask::splat(true), now);
        let mut live = self.tolerance.lt(now.residual).and(is_finite(now.residual));
        let (mut shift, mut steps) = (zero, zero);
        for _ in 0..most {
            if !live.any() {
                break;
            }
            steps += R::select(live, one, zero);
            full_step(*level, block, now, shift, jacobian, step);
            next.merit = R::constant(f64::INFINITY);
            let (mut length, mut searching) = (one, live);
            for _ in 0..=HALVINGS {
                if !searching.any() {
                    break;
                }
                for i in 0..n {
                    trial.x[i] = (-length).mul_add(step[i], now.x[i]);
                }
                evaluate(*level, block, trial);
                let better = searching.and(trial.merit.lt(next.merit));
                next.take(better, trial);
                searching = searching.and(next.merit.lt(R::constant(ENOUGH) * now.merit).not());
                length = length * R::constant(0.5);
            }
            // what got nothing regularizes more; at last it goes uphill
            let down = live.and(next.merit.lt(now.merit));
            let last = R::constant(SHIFTS[SHIFTS.len() - 1]);
            let uphill = live.and(down.not()).and(shift.lt(last).not()).and(is_finite(next.merit));
            let mut raised = last;
            for other in SHIFTS.into_iter().rev() {
                let other = R::constant(other);
                raised = R::select(shift.lt(other), other, raised);
            }
            shift = R::select(down.or(uphill), zero, raised);
            now.take(down.or(uphill), next);
            best.take(now.residual.lt(best.residual), now);
            live = live.and(self.tolerance.lt(now.residual)).and(is_finite(now.residual));
        }
        now.take(R::Mask::splat(true), best);
        let unsolved = self.tolerance.lt(now.residual).or(is_finite(now.residual).not());
        (steps, unsolved)
    }
}
