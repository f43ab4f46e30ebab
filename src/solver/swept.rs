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
//! than one step before. With δ far below δ₀ impulses that W does not feel jump, and modes with them; with δ₀ the way is long where W is weak but not zero: what
//! some steps do not solve is left to other rounds.

use super::batch::REPORT_SWEEPS;
use super::factored::Factored;
use super::newton::{ENOUGH, NewtonTile, SHORTER};
use super::project::{is_finite, project_cone, project_interval};
use super::settings::Header;
use crate::lane::{Real, Scalar};

/// Sweeps after a step, and instead of one that brought nothing.
const SWEEPS: u32 = 6;
/// Sweeps before the first step, where no factors stand for one.
const FIRST_SWEEPS: u32 = 4;
/// δ₀: the first proximal term, and the least, in units of the mean diagonal.
const LEAST_DELTA: f64 = 3e-4;

impl<S: Scalar> NewtonTile<S, Factored<S>> {
    /// At most `most` Newton steps, until the tolerance is reached. `follows`: the factors of the last system still stand, and a step with them takes the place of the
    /// first sweeps. Returns the steps with factors of their own, and whether the tolerance is not reached; `report` counts the first sweeps.
    #[inline(always)]
    pub(super) fn solve_swept(&mut self, header: &Header, most: usize, follows: bool, report: &mut [S]) -> (S, bool) {
        let (one, ten, least_delta) = (S::one(), S::constant(10.0), S::constant(LEAST_DELTA));
        let first_sweeps = if follows { 0 } else { FIRST_SWEEPS };
        self.sweep(header, first_sweeps, true);
        report[REPORT_SWEEPS] += S::from_f64(f64::from(first_sweeps));
        let (mut merit, residual) = self.natural_map();
        let mut recent = [merit, S::zero(), S::zero()];
        let mut live = self.unfinished(residual);
        let (mut steps, mut delta) = (0, least_delta);
        let mut known = follows;
        while live && steps < most {
            if !known {
                self.guess_modes();
                self.delta = delta;
                steps += 1;
            }
            self.point(known);
            known = false;
            let (full, residual) = self.natural_map_ahead();
            if is_finite(residual) && !self.unfinished(residual) {
                self.step(one);
                live = false;
                break;
            }
            let length = self.length(full, merit);
            self.before.clone_from(&self.impulse);
            // this length; the full one, where it is another; and where neither helps, none
            let highest = Real::max(Real::max(recent[0], recent[1]), recent[2]);
            let mut best = (S::constant(f64::INFINITY), residual, S::zero());
            for length in [length, one, S::zero()] {
                let none = length <= S::zero();
                if if none { best.0.lt(highest) } else { length <= best.2 } {
                    continue;
                }
                self.impulse.copy_from_slice(&self.before);
                self.step(length);
                self.project();
                self.sweep(header, SWEEPS, true);
                let (merit, residual) = self.natural_map();
                if none || merit.lt(best.0) {
                    best = (merit, residual, length);
                    self.candidate.clone_from(&self.impulse);
                    self.candidate_velocity.clone_from(&self.velocity);
                }
            }
            self.impulse.copy_from_slice(&self.candidate);
            self.velocity.copy_from_slice(&self.candidate_velocity);
            delta = if best.2 <= S::zero() {
                Real::min(delta * ten, one)
            } else if best.2 < one {
                Real::min(delta * S::constant(2.0), one)
            } else {
                Real::max(delta / ten, least_delta)
            };
            merit = best.0;
            recent = [merit, recent[0], recent[1]];
            live = self.unfinished(best.1);
        }
        (S::from_f64(steps as f64), live)
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

    /// y ← y + length · direction
    #[inline(always)]
    fn step(&mut self, length: S) {
        for (y, d) in self.impulse.iter_mut().zip(&self.direction) {
            *y = d.mul_add(length, *y);
        }
    }

    /// y ← its nearest feasible impulses.
    #[inline(always)]
    fn project(&mut self) {
        let contacts = self.size.contact_count;
        for (y, friction) in self.impulse.as_chunks_mut::<3>().0.iter_mut().zip(&self.friction) {
            *y = project_cone(*y, *friction);
        }
        for (y, bounds) in self.impulse[3 * contacts..].iter_mut().zip(self.bounds.as_chunks::<2>().0) {
            *y = project_interval(*y, bounds[0], bounds[1]);
        }
    }
}
