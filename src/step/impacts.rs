//! Impacts one after another ([`super::Impacts::Sequential`]): passes before the problem of the step.
//!
//! In a pass only those contacts are posed that *strike*: they approach faster than the restitution threshold and reach the surface within Δt. Each gets its
//! rebound as target, all of them at once, a patch with all of its vertices if any of them strikes; bilateral rows keep the velocity that they have; all other rows are left out, so what is hit flies on as if it
//! touched nothing. Then every row of the world gets its new velocity, u ← u + W λ, and who strikes now is in the next pass. What has no restitution
//! strikes too, if something elastic did in the first pass; a world without that has no passes, and is stepped as with [`super::Impacts::Simultaneous`].
//!
//! The passes have the forces of the step in them (u* is what they change, and what must reach the rebound), so the problem of the step goes on from where they
//! end, and finds no impact left. Their impulses are part of those of the step; positions move with the velocity after the last impact.
//!
//! Two equal balls hand on their speed in one pass, a cradle of n in n − 1. A light ball between a heavy one and a wall strikes π √(M/m) times (Galperin), and inelastic
//! bodies may strike without end: after [`IMPACT_PASSES`] what still strikes becomes part of the problem of the step, as with the other law.

use super::chunk::Chunk;
use super::patches::striker;
use super::plan::Plan;
use super::posed::{Posed, Tile};
use super::records::BlockRecord;
use super::rows::{find_islands, strike};
use super::targets::{Approach, surface, targets};
use super::worker::{Worker, stage_task};
use crate::contact::PATCH_ROWS;
use crate::island::Part;
use crate::lane::{Compiled, Mask, Pack, PackMask, Scalar, Task};

/// Most passes of a step.
pub const IMPACT_PASSES: u32 = 100;

/// Finds who strikes now, in the worlds that have passes; the first pass says which do.
#[inline(always)]
fn find_strikes<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, first: bool, w: &mut Posed<R>) {
    let mut elastic = 0;
    w.struck.striking.clear();
    for slot in 0..w.contacts.gap.len() {
        let [strikes, bounces] = strikes(plan, tile, w, slot);
        w.struck.striking.push(strikes);
        elastic |= bounces;
    }
    if first {
        w.struck.worlds = elastic;
    }
    for lanes in &mut w.struck.striking {
        *lanes &= w.struck.worlds;
    }
}

/// u ← u + W λ for all rows of the worlds in which something strikes, and the impulses are kept.
#[inline(always)]
fn throw<R: Pack>(plan: &Plan, w: &mut Posed<R>) {
    let which = R::Mask::from_bits(w.struck.now());
    w.struck.change.resize(plan.model.nv(), R::zero());
    strike(plan.rows.words, which, &w.impulse, &mut w.struck.change, &mut w.rows);
    for (sum, x) in w.struck.impulse.iter_mut().zip(&w.impulse) {
        *sum = R::select(which, *sum + *x, *sum);
    }
}

stage_task!(FindStrikes { plan: &'a Plan, tile: &'a Tile<'b, R>, first: bool, w: &'a mut Posed<R> } { find_strikes(plan, tile, first, w); });

struct Throw<'a, R: Pack> {
    plan: &'a Plan,
    w: &'a mut Posed<R>,
}

impl<R: Pack> Task for Throw<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        throw(self.plan, self.w);
    }
}

impl<R: Pack> Worker<R> {
    /// All passes of a step, from rows to rows.
    pub(super) fn impacts(
        &mut self,
        plan: &Plan,
        chunk: &mut Chunk<'_, R>,
        see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>,
    ) {
        let tile_count = chunk.tile_count();
        for w in &mut self.posed[..tile_count] {
            w.struck.clear(w.islands.row_count);
        }
        for pass in 0..=IMPACT_PASSES {
            let mut any = false;
            for t in 0..tile_count {
                let (tile, w) = (&chunk.tile(&plan.model, t), &mut self.posed[t]);
                plan.level.run(FindStrikes { plan, tile, first: pass == 0, w });
                any |= self.posed[t].struck.now() != 0;
            }
            if !any {
                // Without a pass the islands are still those of all rows.
                if pass == 0 {
                    return;
                }
                break;
            }
            if pass == IMPACT_PASSES {
                for w in &mut self.posed[..tile_count] {
                    let left = w.struck.now();
                    for (lane, report) in w.struck.reports.iter_mut().enumerate() {
                        report.impacts_left = left >> lane & 1 != 0;
                    }
                }
                break;
            }
            self.pose_strikes(plan, chunk);
            self.solve(plan);
            self.fall_back(plan, chunk);
            if let Some(see) = see {
                self.inspect(plan, chunk, see);
            }
            for t in 0..tile_count {
                self.certify_pass(t);
                self.gather(t);
                plan.level.run(Throw { plan, w: &mut self.posed[t] });
            }
        }
        for t in 0..tile_count {
            let (lane_count, w) = (chunk.tile(&plan.model, t).lane_count, &mut self.posed[t]);
            find_islands(plan, lane_count, Part::All, &w.contacts, &w.limits, &mut w.islands);
        }
    }

    /// Poses what strikes now.
    fn pose_strikes(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>) {
        for t in 0..chunk.tile_count() {
            let (lane_count, w) = (chunk.tile(&plan.model, t).lane_count, &mut self.posed[t]);
            let part = Part::Contacts(&w.struck.striking);
            find_islands(plan, lane_count, part, &w.contacts, &w.limits, &mut w.islands);
        }
        self.pose(plan, chunk, true);
        // Equalities keep the velocity that they have: b = 0.
        for w in &self.posed[..chunk.tile_count()] {
            let first = w.contacts.gap.len() + w.limits.gap.len();
            for slot in first..first + w.equalities.error.len() {
                for lane in 0..R::LANES {
                    let Some(p) = w.places.of(R::LANES, slot, lane) else { continue };
                    self.batch.groups[p.group].bias[p.tile * p.row_count + p.row].set(p.lane, R::Scalar::from_f64(0.0));
                }
            }
        }
        // Nothing moves yet: the second problem is the first.
        for group in &mut self.batch.groups {
            group.position_bias.copy_from_slice(&group.bias);
        }
    }

    /// Adds a pass to the certificates of the worlds of tile `t`: the worst of each.
    fn certify_pass(&mut self, t: usize) {
        let mut reports = std::mem::take(&mut self.posed[t].struck.reports);
        self.blocks_of(t, &mut reports);
        let struck = &mut self.posed[t].struck;
        let now = struck.now();
        for (lane, report) in reports.iter_mut().enumerate() {
            // The rows that count are those of the problem of the step.
            report.row_count = 0;
            report.impact_passes += now >> lane & 1;
        }
        struck.reports = reports;
    }
}

/// The contacts of `slot` that strike, and those of them that bounce: one bit a lane. A patch strikes with all of its vertices if any of them does, a disc if its lowest point does.
#[inline(always)]
fn strikes<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &Posed<R>, slot: usize) -> [u32; 2] {
    let contacts = &posed.contacts;
    let [_, restitution] = surface(plan, tile.parameters, contacts, slot);
    let (mut gap, mut motion) = (contacts.gap[slot], posed.rows.motion(3 * slot));
    let more = contacts.patches.get(slot);
    if more.is_some_and(|more| more.disc != 0) {
        (gap, motion, _) = striker(R::constant(plan.dt), posed, slot);
    }
    let mut strikes = row_strikes(plan, posed, motion, gap, restitution);
    if let Some(more) = more {
        let first = 3 * contacts.gap.len() + PATCH_ROWS * slot;
        for k in 0..PATCH_ROWS - 1 {
            let vertices = R::Mask::from_bits(more.present[k] & !more.disc);
            strikes = strikes.or(vertices.and(row_strikes(
                plan,
                posed,
                posed.rows.motion(first + k),
                more.gap[k],
                restitution,
            )));
        }
    }
    let strikes = strikes.bits() & contacts.slots.present[slot];
    [strikes, strikes & R::zero().lt(restitution).bits()]
}

/// Where a point at `gap` with this motion (u, u*, ū) along its normal strikes. What has reached its target strikes no more, whatever forces do.
#[inline(always)]
fn row_strikes<R: Pack>(plan: &Plan, posed: &Posed<R>, motion: [R; 3], gap: R, restitution: R) -> R::Mask {
    let dt = R::constant(plan.dt);
    let threshold = R::constant(plan.settings.restitution_threshold);
    let approach = Approach::new(motion, posed.rows.centered(), gap, restitution, threshold, dt);
    let (closing, _) = targets(&plan.settings, dt, gap);
    let target = R::select(R::zero().lt(restitution), closing.max(approach.rebound), closing);
    approach.strikes.and(threshold.lt(target - motion[1]))
}
