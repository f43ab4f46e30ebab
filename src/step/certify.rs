//! The certificates of a step, world by world.

use super::chunk::Chunk;
use super::exact::Certificate;
use super::plan::Plan;
use super::worker::Worker;
use crate::lane::{MOST_LANES, Pack, Real, Scalar};
use crate::report::{WorldReport, WorldStatus};
use crate::solver::{REPORT_NEWTON_STEPS, REPORT_SWEEPS};

impl<R: Pack> Worker<R> {
    /// Adds what this step did to the reports of the worlds of tile `t`, after their state was moved on; not of those that take it once more.
    pub(super) fn report(&self, plan: &Plan, t: usize, chunk: &mut Chunk<'_, R>) {
        let worlds = t * R::LANES..((t + 1) * R::LANES).min(chunk.reports.len());
        let elsewhere = self.elsewhere(t);
        let mut steps = [WorldReport::default(); MOST_LANES];
        for (step, struck) in steps.iter_mut().zip(&self.posed[t].struck.reports) {
            *step = *struck;
        }
        self.blocks_of(t, &mut steps);
        for (step, count) in steps.iter_mut().zip(self.posed[t].contacts.slots.counts()) {
            step.contact_count = count as usize;
        }
        for (world, step) in worlds.zip(&mut steps) {
            if elsewhere >> (world % R::LANES) & 1 != 0 {
                continue;
            }
            self.world(plan, t, world % R::LANES, step);
            if step.status == WorldStatus::NotFinite {
                chunk.memory[t].forget(world % R::LANES);
            }
            chunk.reports[world].add(step);
        }
    }

    /// What is told of a world as a whole.
    fn world(&self, plan: &Plan, t: usize, lane: usize, step: &mut WorldReport) {
        let (w, mended) = (&self.posed[t], &self.mended[t * R::LANES + lane]);
        step.capacity_needed = w.contacts.found[lane];
        step.overflow = step.capacity_needed > step.contact_count;
        step.penetration = step.penetration.max(w.penetration.get(lane).to_f64());
        step.fallback = mended.called;
        let denied = (1.0 - w.granted.get(lane).to_f64()) * plan.settings.push_speed;
        step.push_denied = mended.push_denied.max(denied);
        step.status = step.status.max(of_speed(plan, w.speed.get(lane).to_f64()));
    }

    /// What the blocks of a tile tell, shape \[lane\].
    pub(super) fn blocks_of(&self, t: usize, steps: &mut [WorldReport]) {
        for (b, block) in self.posed[t].islands.blocks.iter().enumerate() {
            let step = &mut steps[block.lane];
            step.row_count += 3 * block.contact_count + block.scalar_count;
            let reports = self.block_reports(t, b);
            let count = |entry: usize| (reports[0][entry] + reports[1][entry]) as u32;
            let (sweeps, newton_steps) = (count(REPORT_SWEEPS), count(REPORT_NEWTON_STEPS));
            if sweeps + newton_steps > step.iterations {
                (step.iterations, step.sweeps, step.newton_steps) = (sweeps + newton_steps, sweeps, newton_steps);
            }
            for report in &reports {
                let Certificate { residual, floor, solved } = Certificate::of(report);
                step.residual = step.residual.max(residual);
                step.floor = step.floor.max(floor);
                if !solved {
                    step.status = step.status.max(WorldStatus::IterationLimit);
                }
            }
        }
    }
}

/// What the largest speed of a world tells of it.
pub(super) fn of_speed(plan: &Plan, speed: f64) -> WorldStatus {
    match speed {
        speed if !speed.is_finite() => WorldStatus::NotFinite,
        speed if speed > plan.settings.speed_limit => WorldStatus::Exploded,
        _ => WorldStatus::Solved,
    }
}

/// Largest entry of |v|; infinite or not a number where an entry of q or v is.
#[inline(always)]
pub(super) fn largest_speed<R: Real>(q: &[R], v: &[R]) -> R {
    let mut speed = R::zero();
    for x in v {
        speed = x.abs().max(speed);
    }
    not_finite(v, not_finite(q, speed))
}

/// `so_far`, or not a number where any of `numbers` is infinite or not a number: 0 · x is 0 for every finite x, and not a number else.
#[inline(always)]
pub(super) fn not_finite<R: Real>(numbers: &[R], so_far: R) -> R {
    let mut sum = so_far;
    for x in numbers {
        sum = x.mul_add(R::zero(), sum);
    }
    sum
}
