//! Newton on contact modes with a proximal term that stays large, and sweeps of Gauss-Seidel after every step: for blocks whose sweeps are cheap beside
//! a step.
//!
//! ```text
//! δ = δ₀
//! until the residual is the tolerance, in every turn:
//!   where a step is next: y' from the modes of y, with δ;   d = y' − y;   if y' is the answer: done;   a = 1
//!   c = project(y + a d), swept
//!   y = c if its merit is less than the largest of the last three: a step is next;   δ = max(δ₀, δ/10) after a full step, else 2 δ
//!   else a = a fifth, and then 0, which counts whatever comes of it;   δ = 10 δ after that
//! at the end y is what it was before a step that has not counted
//! ```
//!
//! A full step guesses all modes at once and may be far worse than y until sweeps have settled what it got wrong: so it is judged after them, and against more
//! than one step before. A step that fails is tried again in the turn after, so that all blocks of a tile sweep in every turn, whatever becomes of their steps. With δ far below δ₀ impulses
//! that W does not feel jump, and modes with them; with δ₀ the way is long where W is weak but not zero: what some turns do not solve is left to other rounds.

use super::newton::{Matrix, NewtonTile, Round, Start};
use super::project::{is_finite, project_cone, project_interval};
use super::settings::Header;
use crate::lane::{Mask, Pack, PackMask};

/// Sweeps in a turn.
const SWEEPS: u32 = 6;
/// How far a step goes that failed as a whole.
const SHORTER: f64 = 0.2;
/// δ₀: the first proximal term, and the least, in units of the mean diagonal.
const LEAST_DELTA: f64 = 3e-4;

impl<R: Pack, W: Matrix<R>> NewtonTile<R, W> {
    /// A round of Newton on W as it was gathered. Returns the steps of every lane, and the lanes that have not reached their tolerance.
    #[inline(always)]
    pub(super) fn run(&mut self, header: &Header, round: &Round) -> (R, R::Mask) {
        self.matrix.scale(self.size, &mut self.unit);
        self.scale();
        let answer = if matches!(round.start, Start::Swept) {
            self.update_velocity();
            self.solve_swept(header, round.steps, R::Mask::splat(false))
        } else {
            self.run_scaled(header, round)
        };
        self.unscale();
        answer
    }

    /// At most `most` turns, a try of a step each, until every lane has reached its tolerance. `known`: where the factors of the last system still stand, and the first step is one
    /// with them. Returns the steps with factors of their own, and the lanes that have not reached their tolerance.
    #[inline(always)]
    pub(super) fn solve_swept(&mut self, header: &Header, most: usize, mut known: R::Mask) -> (R, R::Mask) {
        let (zero, one, ten, least_delta) = (R::zero(), R::one(), R::constant(10.0), R::constant(LEAST_DELTA));
        let (merit, residual) = self.natural_map();
        let mut recent = [merit, zero, zero];
        let mut live = self.unfinished(residual);
        let (mut steps, mut delta) = (zero, least_delta);
        // how far the step at hand goes: 0 once it counts, so that another one is next; below 0 once it has failed
        let mut length = zero;
        self.before.clone_from(&self.impulse);
        for _ in 0..most {
            let next = live.and(zero.lt(length.abs()).not());
            if next.any() {
                let keep = known.or(next.not());
                self.guess_modes(keep);
                self.delta = R::select(keep, self.delta, delta);
                steps += R::select(next.and(known.not()), one, zero);
                self.point(next, known);
                known = R::Mask::splat(false);
                let (_, residual) = self.natural_map_along(one);
                let done = next.and(is_finite(residual)).and(self.unfinished(residual).not());
                for (before, y) in self.before.iter_mut().zip(&self.impulse) {
                    *before = R::select(next, *y, *before);
                }
                self.step(R::select(done, one, zero));
                live = live.and(done.not());
                length = R::select(next, one, length);
            }
            if !live.any() {
                break;
            }
            for (y, before) in self.impulse.iter_mut().zip(&self.before) {
                *y = R::select(live, *before, *y);
            }
            self.step(R::select(live, length.max(zero), zero));
            self.project(live);
            self.sweep(header, SWEEPS, live);
            let (merit, residual) = self.natural_map();
            let highest = recent[0].max(recent[1]).max(recent[2]);
            let counts = live.and(merit.lt(highest).or(length.lt(zero)));
            let whole = length.lt(one).not();
            // all of the way: less of δ; part of it: more; none: much more
            let part = R::select(zero.lt(length), delta * R::constant(2.0), delta * ten).min(one);
            delta = R::select(counts, R::select(whole, (delta / ten).max(least_delta), part), delta);
            recent = [
                R::select(counts, merit, recent[0]),
                R::select(counts, recent[0], recent[1]),
                R::select(counts, recent[1], recent[2]),
            ];
            length = R::select(counts, zero, R::select(whole, R::constant(SHORTER), -one));
            // what is not finite goes back, unless it was so without the step
            let answered = is_finite(residual).and(self.unfinished(residual).not());
            live = live.and(answered.not()).and(counts.not().or(is_finite(residual)));
        }
        // a step that has failed is taken back
        for (y, before) in self.impulse.iter_mut().zip(&self.before) {
            *y = R::select(live.and(zero.lt(length.abs())), *before, *y);
        }
        (steps, live)
    }

    /// Whether a residual is above the tolerance, and finite.
    #[inline(always)]
    fn unfinished(&self, residual: R) -> R::Mask {
        self.tolerance.lt(residual).and(is_finite(residual))
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
