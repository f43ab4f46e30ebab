//! Newton on contact modes with a proximal term that stays large, and sweeps of Gauss-Seidel after every step: for blocks whose sweeps are cheap beside
//! a step.
//!
//! ```text
//! δ = δ₀
//! until the residual is the tolerance:
//!   y' from the modes of y, with δ;   d = y' − y
//!   if y' is the answer: done
//!   a = 1, or the best of some shorter steps where that lowers the merit too little
//!   c = project(y + a d), swept;   where a < 1 also project(y'), swept: the better of the two
//!   y = c if its merit is less than the largest of the last three;   δ = max(δ₀, δ/10) after a full step, else 2 δ
//!   else y is swept;   δ = 10 δ
//! ```
//!
//! A full step guesses all modes at once and may be far worse than y until sweeps have settled what it got wrong: so it is judged after them, and against more
//! than one step before. With δ far below δ₀ impulses that W does not feel jump, and modes with them; with δ₀ the way is long where W is weak but not zero: what
//! some steps do not solve is left to other rounds.

use super::newton::{ENOUGH, Matrix, NewtonTile, Round, SHORTER, Start};
use super::project::{is_finite, project_cone, project_interval};
use super::settings::Header;
use crate::lane::{Mask, Pack, PackMask};

/// Sweeps after a step, and instead of one that brought nothing.
const SWEEPS: u32 = 6;
/// δ₀: the first proximal term, and the least, in units of the mean diagonal.
const LEAST_DELTA: f64 = 3e-4;

impl<R: Pack, W: Matrix<R>> NewtonTile<R, W> {
    /// A round of Newton on W as it was gathered. Returns the steps of every lane, and the lanes that have not reached their tolerance.
    #[inline(always)]
    pub(super) fn run(&mut self, header: &Header, round: &Round) -> (R, R::Mask) {
        self.matrix.scale(self.size, &mut self.unit);
        if !matches!(round.start, Start::Swept) {
            return self.run_scaled(header, round);
        }
        self.scale();
        self.update_velocity();
        let answer = self.solve_swept(header, round.steps, false);
        self.unscale();
        answer
    }

    /// At most `most` Newton steps on all lanes, until each has reached its tolerance. `follows`: the factors of the last system still stand, and the first step is one
    /// with them. Returns the steps with factors of their own, and the lanes that have not reached their tolerance.
    #[inline(always)]
    pub(super) fn solve_swept(&mut self, header: &Header, most: usize, follows: bool) -> (R, R::Mask) {
        let (zero, one, ten, least_delta) = (R::zero(), R::one(), R::constant(10.0), R::constant(LEAST_DELTA));
        let (mut merit, residual) = self.natural_map();
        let mut recent = [merit, zero, zero];
        let mut live = self.unfinished(residual);
        let (mut taken, mut steps, mut delta) = (0, zero, least_delta);
        let mut known = follows;
        while live.any() && taken < most {
            if !known {
                self.guess_modes();
                self.delta = delta;
                taken += 1;
                steps += R::select(live, one, zero);
            }
            self.point(known);
            known = false;
            let (full, residual) = self.natural_map_ahead();
            let done = live.and(is_finite(residual)).and(self.unfinished(residual).not());
            self.step(R::select(done, one, zero));
            live = live.and(done.not());
            if !live.any() {
                break;
            }
            let length = self.length(full, merit, live);
            self.before.clone_from(&self.impulse);
            self.candidate.resize(self.impulse.len(), zero);
            self.candidate_velocity.resize(self.impulse.len(), zero);
            // this length; the full one, where it is another; and where neither helps, none
            let highest = recent[0].max(recent[1]).max(recent[2]);
            let (mut least, mut left, mut chosen) = (R::constant(f64::INFINITY), residual, zero);
            for (length, none) in [(length, false), (one, false), (zero, true)] {
                let enough = if none { least.lt(highest) } else { chosen.lt(length).not() };
                let tries = live.and(enough.not());
                if !tries.any() {
                    continue;
                }
                for (y, before) in self.impulse.iter_mut().zip(&self.before) {
                    *y = R::select(tries, *before, *y);
                }
                self.step(R::select(tries, length, zero));
                self.project(tries);
                self.sweep(header, SWEEPS, tries);
                let (merit, residual) = self.natural_map();
                let better = tries.and(R::Mask::splat(none).or(merit.lt(least)));
                least = R::select(better, merit, least);
                left = R::select(better, residual, left);
                chosen = R::select(better, length, chosen);
                for i in 0..self.impulse.len() {
                    self.candidate[i] = R::select(better, self.impulse[i], self.candidate[i]);
                    self.candidate_velocity[i] = R::select(better, self.velocity[i], self.candidate_velocity[i]);
                }
            }
            for i in 0..self.impulse.len() {
                self.impulse[i] = R::select(live, self.candidate[i], self.impulse[i]);
                self.velocity[i] = R::select(live, self.candidate_velocity[i], self.velocity[i]);
            }
            let shorter = R::select(chosen.lt(one), delta * R::constant(2.0), delta);
            let grown = R::select(zero.lt(chosen), shorter, delta * ten).min(one);
            delta = R::select(chosen.lt(one), grown, (delta / ten).max(least_delta));
            merit = least;
            recent = [merit, recent[0], recent[1]];
            live = live.and(self.unfinished(left));
        }
        (steps, live)
    }

    /// Whether a residual is above the tolerance, and finite.
    #[inline(always)]
    fn unfinished(&self, residual: R) -> R::Mask {
        self.tolerance.lt(residual).and(is_finite(residual))
    }

    /// How far to go along the step: all the way, unless less lowers the merit more.
    #[inline(always)]
    fn length(&self, full: R, merit: R, live: R::Mask) -> R {
        let (mut best, mut chosen) = (full, R::one());
        let searches = full.lt(merit * R::constant(ENOUGH)).not();
        if !live.and(searches).any() {
            return chosen;
        }
        for length in SHORTER {
            let length = R::constant(length);
            let m = self.merit_along(length);
            let better = searches.and(m.lt(best).or(is_finite(best).not()));
            best = R::select(better, m, best);
            chosen = R::select(better, length, chosen);
        }
        chosen
    }

    /// y ← y + length · direction
    #[inline(always)]
    fn step(&mut self, length: R) {
        let some = length.lt(R::zero()).or(R::zero().lt(length));
        for (y, d) in self.impulse.iter_mut().zip(&self.direction) {
            *y = R::select(some, d.mul_add(length, *y), *y);
        }
    }

    /// y ← its nearest feasible impulses.
    #[inline(always)]
    fn project(&mut self, lanes: R::Mask) {
        let contacts = self.size.contact_count;
        for (y, friction) in self.impulse.as_chunks_mut::<3>().0.iter_mut().zip(&self.friction) {
            let nearest = project_cone(*y, *friction);
            for k in 0..3 {
                y[k] = R::select(lanes, nearest[k], y[k]);
            }
        }
        for (y, bounds) in self.impulse[3 * contacts..].iter_mut().zip(self.bounds.as_chunks::<2>().0) {
            *y = R::select(lanes, project_interval(*y, bounds[0], bounds[1]), *y);
        }
    }
}
