//! Newton on contact modes with a proximal term that stays large, and sweeps of Gauss-Seidel after every step: for factored blocks, whose sweeps are cheap beside
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
//! than one step before. With δ far below δ₀ impulses that W does not feel jump, and modes with them.

use super::Header;
use super::factored::Factored;
use super::newton::{ENOUGH, NewtonTile, SHORTER};
use super::project::{is_finite, project_cone, project_interval};
use crate::lane::{Real, Scalar};

/// Sweeps after a step, and instead of one that brought nothing.
const SWEEPS: u32 = 6;
const SWEEPS_INSTEAD: u32 = 5;
/// δ₀: the first proximal term, and the least, in units of the mean diagonal.
const LEAST_DELTA: f64 = 3e-4;

impl<S: Scalar> NewtonTile<S, Factored<S>> {
    /// At most `most` Newton steps, until the tolerance is reached. Returns the steps, and whether it is not.
    #[inline(always)]
    pub(super) fn solve_swept(&mut self, header: &Header, most: usize) -> (S, bool) {
        self.update_velocity();
        self.go_on(header, most)
    }

    /// [`Self::solve_swept`] where u is that of y already.
    #[inline(always)]
    pub(super) fn go_on(&mut self, header: &Header, most: usize) -> (S, bool) {
        let (one, ten, least_delta) = (S::one(), S::constant(10.0), S::constant(LEAST_DELTA));
        let (mut merit, residual) = self.natural_map();
        let mut recent = [merit, S::zero(), S::zero()];
        let mut live = self.unfinished(residual);
        let mut steps = S::zero();
        self.delta = least_delta;
        for _ in 0..most {
            if !live {
                break;
            }
            self.guess_modes();
            self.point(false);
            steps += one;
            let (full, residual) = self.natural_map_ahead();
            if is_finite(residual) && !self.unfinished(residual) {
                self.step(one);
                return (steps, false);
            }
            let length = self.length(full, merit);
            self.before.clone_from(&self.impulse);
            let (mut now, mut residual) = self.step_and_sweep(header, length);
            let mut whole = !length.lt(one);
            if !whole {
                self.candidate.clone_from(&self.impulse);
                self.candidate_velocity.clone_from(&self.velocity);
                self.impulse.copy_from_slice(&self.before);
                let other = self.step_and_sweep(header, one);
                if other.0.lt(now) {
                    (now, residual, whole) = (other.0, other.1, true);
                } else {
                    self.impulse.copy_from_slice(&self.candidate);
                    self.velocity.copy_from_slice(&self.candidate_velocity);
                }
            }
            if now.lt(Real::max(Real::max(recent[0], recent[1]), recent[2])) {
                self.delta = if whole {
                    Real::max(self.delta / ten, least_delta)
                } else {
                    Real::min(self.delta * S::constant(2.0), one)
                };
            } else {
                self.impulse.copy_from_slice(&self.before);
                self.sweep(header, SWEEPS_INSTEAD, true);
                (now, residual) = self.natural_map();
                self.delta = Real::min(self.delta * ten, one);
            }
            merit = now;
            recent = [now, recent[0], recent[1]];
            live = self.unfinished(residual);
        }
        (steps, live)
    }

    /// Whether a residual is above the tolerance, and finite.
    #[inline(always)]
    fn unfinished(&self, residual: S) -> bool {
        self.tolerance.lt(residual) && is_finite(residual)
    }

    /// How far to go along the step: all the way, unless less lowers the merit more.
    #[inline(always)]
    fn length(&self, full: S, merit: S) -> S {
        let (mut best, mut chosen) = (full, S::one());
        if full.lt(merit * S::constant(ENOUGH)) {
            return chosen;
        }
        for length in SHORTER {
            let length = S::constant(length);
            let m = self.merit_along(length);
            if m.lt(best) || !is_finite(best) {
                (best, chosen) = (m, length);
            }
        }
        chosen
    }

    /// y ← project(y + length · direction), swept. Returns the natural map, see [`Self::natural_map`].
    #[inline(always)]
    fn step_and_sweep(&mut self, header: &Header, length: S) -> (S, S) {
        self.step(length);
        self.project();
        self.sweep(header, SWEEPS, true);
        self.natural_map()
    }

    /// y ← y + length · direction
    #[inline(always)]
    pub(super) fn step(&mut self, length: S) {
        for (y, d) in self.impulse.iter_mut().zip(&self.direction) {
            *y = d.mul_add(length, *y);
        }
    }

    /// y ← its nearest feasible impulses.
    #[inline(always)]
    pub(super) fn project(&mut self) {
        let contacts = self.size.contact_count;
        for (y, friction) in self.impulse.as_chunks_mut::<3>().0.iter_mut().zip(&self.friction) {
            *y = project_cone(*y, *friction);
        }
        for (y, bounds) in self.impulse[3 * contacts..].iter_mut().zip(self.bounds.as_chunks::<2>().0) {
            *y = project_interval(*y, bounds[0], bounds[1]);
        }
    }
}
