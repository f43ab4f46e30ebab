//! The iteration of Newton on contact modes: a proximal term that stays large, and sweeps of Gauss-Seidel after every step.
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

use super::cpu::OneTile;
use super::newton::{Matrix, NewtonTile};
use super::project::{is_finite, project_cone, project_interval};
use super::{Header, REPORT_LEN, REPORT_LIVE};
use crate::lane::{Mask, Real};

/// Sweeps on a block that a step brought nothing.
const SWEEPS_INSTEAD: u32 = 5;
/// δ₀: the first proximal term, and the least, in units of the mean diagonal.
const LEAST_DELTA: f64 = 3e-4;
/// Shorter steps that are tried where the full one does not lower the merit to [`ENOUGH`] of what it was.
const SHORTER: [f64; 4] = [0.4, 0.16, 0.064, 0.0256];
const ENOUGH: f64 = 0.1;

impl<R: Real, W: Matrix<R>> NewtonTile<R, W> {
    /// At most `most` Newton steps on all lanes, until each has reached its tolerance. Returns the steps of every lane, and the lanes that have
    /// not.
    #[inline(always)]
    pub(super) fn solve(&mut self, header: &Header, most: usize) -> (R, R::Mask) {
        let (one, ten, least_delta) = (R::one(), R::constant(10.0), R::constant(LEAST_DELTA));
        self.update_velocity();
        let (mut merit, residual) = self.natural_map();
        let mut recent = [merit, R::zero(), R::zero()];
        let mut live = self.unfinished(residual);
        self.delta = least_delta;
        let mut steps = R::zero();
        for _ in 0..most {
            if !live.any() {
                break;
            }
            self.guess_modes();
            self.point(false);
            steps += R::select(live, one, R::zero());
            let (full, residual) = self.natural_map_ahead();
            let length = self.length(live, full, merit);
            self.before.copy_from_slice(&self.impulse);
            let arrives = live.and(is_finite(residual)).and(self.unfinished(residual).not());
            self.step(live, R::select(arrives, one, length));
            live = live.and(arrives.not());
            if !live.any() {
                break;
            }
            self.project(live);
            self.sweep(header, W::SWEEPS, live);
            let (mut now, mut residual) = self.natural_map();
            let mut whole = length.lt(one).not();
            let short = live.and(whole.not());
            if short.any() {
                self.candidate.copy_from_slice(&self.impulse);
                self.candidate_velocity.copy_from_slice(&self.velocity);
                self.restore(short);
                self.step(short, one);
                self.project(short);
                self.sweep(header, W::SWEEPS, short);
                let (other, other_residual) = self.natural_map();
                let better = short.and(other.lt(now));
                for i in 0..self.impulse.len() {
                    self.impulse[i] = R::select(better, self.impulse[i], self.candidate[i]);
                    self.velocity[i] = R::select(better, self.velocity[i], self.candidate_velocity[i]);
                }
                (now, residual) = (R::select(better, other, now), R::select(better, other_residual, residual));
                whole = whole.or(better);
            }
            let accepted = now.lt(recent[0].max(recent[1]).max(recent[2]));
            let refused = live.and(accepted.not());
            if refused.any() {
                self.restore(refused);
                self.sweep(header, SWEEPS_INSTEAD, refused);
                (now, residual) = self.natural_map();
            }
            let grown = R::select(accepted, self.delta * R::constant(2.0), self.delta * ten).min(one);
            self.delta = R::select(accepted.and(whole), (self.delta / ten).max(least_delta), grown);
            merit = now;
            recent = [now, recent[0], recent[1]];
            live = self.unfinished(residual).and(live);
        }
        (steps, live)
    }

    /// Where a residual is above the tolerance, and finite.
    #[inline(always)]
    pub(super) fn unfinished(&self, residual: R) -> R::Mask {
        self.tolerance.lt(residual).and(is_finite(residual))
    }

    /// y ← y before the step in some lanes.
    #[inline(always)]
    fn restore(&mut self, lanes: R::Mask) {
        for (y, before) in self.impulse.iter_mut().zip(&self.before) {
            *y = R::select(lanes, *before, *y);
        }
    }

    /// How far to go along the step: all the way, unless less lowers the merit more.
    #[inline(always)]
    fn length(&self, lanes: R::Mask, full: R, merit: R) -> R {
        let (mut best, mut chosen) = (full, R::one());
        let tries = lanes.and(full.lt(merit * R::constant(ENOUGH)).not());
        for length in SHORTER {
            if !tries.any() {
                break;
            }
            let length = R::constant(length);
            let m = self.merit_along(length);
            let better = tries.and(m.lt(best).or(is_finite(best).not()));
            (best, chosen) = (R::select(better, m, best), R::select(better, length, chosen));
        }
        chosen
    }

    /// y ← y + length · direction in some lanes.
    #[inline(always)]
    pub(super) fn step(&mut self, lanes: R::Mask, length: R) {
        for (y, d) in self.impulse.iter_mut().zip(&self.direction) {
            *y = R::select(lanes, d.mul_add(length, *y), *y);
        }
    }

    /// y ← its nearest feasible impulses in some lanes.
    #[inline(always)]
    pub(super) fn project(&mut self, lanes: R::Mask) {
        let contacts = self.size.contact_count;
        for c in 0..contacts {
            let y = &mut self.impulse[3 * c..3 * c + 3];
            let nearest = project_cone([y[0], y[1], y[2]], self.friction[c]);
            for k in 0..3 {
                y[k] = R::select(lanes, nearest[k], y[k]);
            }
        }
        for s in 0..self.size.scalar_count {
            let y = &mut self.impulse[3 * contacts + s];
            *y = R::select(lanes, project_interval(*y, self.bounds[2 * s], self.bounds[2 * s + 1]), *y);
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
}
