//! What a thread needs to step a chunk, and what of it is about all of its tiles.

use super::assemble::assemble;
use super::chunk::Chunk;
use super::delassus::{Dealt, Delassus, make_room};
use super::felt::Feel;
use super::memory::{Memory, Remembered};
use super::patches::patch_record;
use super::places::{reserve, reserve_in_place, slot_rows};
use super::plan::Plan;
use super::posed::{Posed, Scratch, Tile};
use super::profile::{Stage, StageTimes, StopWatch};
use super::records::ContactRecord;
use super::sorted::Sorted;
use crate::island::{Part, islands};
use crate::lane::{Compiled, Pack, Scalar, Task};
use crate::parameters::PARAMETERS;
use crate::report::WorldReport;
use crate::runge_kutta::Path;
use crate::slots::first_lanes;
use crate::solver::{self, Batch, BlockSize, FrictionLaw};
use crate::spatial::Vec3;
use nalgebra::Vector3;

/// Blocks of so many rows are kept as the factor of W and solved through velocities.
const FACTORED_FROM: usize = 40;
/// The same where rows stay in place, in lanes that nobody has to gather: they are faster until Newton's system leaves the cache.
const FACTORED_IN_PLACE: usize = 112;

/// What a thread needs to step a chunk; kept from step to step.
#[derive(Debug)]
pub struct Worker<R: Pack> {
    pub(super) scratch: Scratch<R>,
    /// What every tile poses.
    pub(super) posed: Vec<Posed<R>>,
    /// The blocks of the chunk.
    pub batch: Batch<R>,
    /// Rows that were dealt out to the dense blocks of every group of it.
    dealt: Vec<Dealt<R>>,
    pub(super) solver: solver::Scratch<R>,
    /// What became of the blocks of every world after the batched solver, shape \[tile\]\[lane\].
    pub(super) mended: Vec<Mended>,
    /// Position problems that give way, see [`super::giving`].
    pub(super) giving: Batch<R>,
    /// Whether it poses all rows within reach.
    pub(super) all_rows: bool,
    /// Where an evaluation is not the whole step.
    pub(super) evaluations: Evaluations<R>,
    /// Its worlds, where they are sorted.
    pub(super) sorted: Sorted<R>,
    /// What steps worlds again in f64; none until one needs it.
    pub(super) redo: Option<Box<Redo<R::Exact>>>,
    /// What steps worlds once more with all rows within reach; none until one needs it.
    pub(super) again: Option<Box<Redo<R>>>,
    /// Time spent in every stage, while [`Plan::profile`] is on.
    pub times: StageTimes,
}

/// What became of a world's blocks in a step, after the batched solver.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mended {
    /// Whether the exact solver was called in.
    pub called: bool,
    /// Multiply-adds that it may still spend on this world in this step.
    pub work_left: u64,
    /// Whether some block is not solved.
    pub unsolved: bool,
    /// Largest push-out that a row was denied, m/s (rad/s).
    pub push_denied: f64,
}

/// Worlds of a chunk that take a step once more, in tiles of their own.
#[derive(Debug)]
pub(super) struct Redo<E: Pack> {
    pub(super) worker: Worker<E>,
    /// The worlds, counted from the first of the chunk.
    pub(super) worlds: Vec<usize>,
    /// As in [`Chunk`].
    pub(super) q: Vec<E>,
    pub(super) v: Vec<E>,
    pub(super) drive: Vec<E>,
    pub(super) external: Vec<E>,
    /// In the order of [`Parameter::ALL`], shape `[tile][len]`.
    pub(super) parameters: [Vec<E>; PARAMETERS],
    pub(super) memory: Vec<Memory<E>>,
    pub(super) reports: Vec<WorldReport>,
    pub(super) watched: Vec<Option<Vec<ContactRecord>>>,
    /// What their geoms feel in this step.
    pub(super) felt: Vec<E>,
    /// What one world remembers, on its way.
    pub(super) remembered: Vec<Remembered>,
}

/// What a thread keeps of a chunk from one evaluation of a step to the next.
#[derive(Debug)]
pub(super) struct Evaluations<R> {
    /// Position `q_j`, shape `[tile][nq][lane]`.
    pub(super) q: Vec<R>,
    /// Velocity `v_j`, and then v_j + Δt a_j, shape `[tile][nv][lane]`.
    pub(super) v: Vec<R>,
    /// Shape \[tile\].
    pub(super) path: Vec<Path<R>>,
    /// The worst of the evaluations, shape \[tile\]\[lane\].
    pub(super) reports: Vec<WorldReport>,
    /// Nothing: contacts are shown as the first evaluation has them.
    pub(super) unwatched: Vec<Option<Vec<ContactRecord>>>,
}

impl<R> Default for Evaluations<R> {
    fn default() -> Self {
        let (q, v) = (Vec::new(), Vec::new());
        Self { q, v, path: Vec::new(), reports: Vec::new(), unwatched: Vec::new() }
    }
}

/// A part of the step on one tile, as a task that is compiled for every level.
macro_rules! stage_task {
    ($name:ident { $($field:ident: $type:ty),+ } $body:block) => {
        struct $name<'a, 'b, R: Pack> { $($field: $type),+ }
        impl<'b, R: Pack> Task for $name<'_, 'b, R> {
            const COMPILED: Compiled = R::COMPILED;
            type Output = ();
            #[inline(always)]
            fn run(self) {
                let Self { $($field),+ } = self;
                $body
            }
        }
    };
}

pub(super) use stage_task;

stage_task!(Assemble { plan: &'a Plan, tile: &'a Tile<'b, R>, w: &'a Posed<R>, batch: &'a mut Batch<R>, dealt: &'a mut [Dealt<R>] } { assemble(plan, tile, w, batch, dealt); });

impl<R: Pack> Worker<R> {
    /// A worker for chunks of at most `tile_count` tiles. `dense`: whether somebody else solves its batch, who wants all of W.
    pub fn new(plan: &Plan, tile_count: usize, dense: bool) -> Self {
        let mut batch = Batch::new();
        // The form of large blocks, a factor of W, has no room for compliance along the surface.
        let dense = dense || plan.soft.is_some();
        if !dense && plan.settings.solve().uses_newton() && plan.settings.friction == FrictionLaw::Cone {
            batch.factored_from = if plan.in_place { FACTORED_IN_PLACE } else { FACTORED_FROM };
        }
        Self {
            scratch: Scratch::new(&plan.model),
            posed: (0..tile_count).map(|_| Posed::new(&plan.model)).collect(),
            batch,
            dealt: Vec::new(),
            solver: solver::Scratch::new(),
            mended: Vec::new(),
            giving: Batch::new(),
            all_rows: false,
            evaluations: Evaluations::default(),
            sorted: Sorted::default(),
            redo: None,
            again: None,
            times: StageTimes::default(),
        }
    }

    /// Makes it one for so many tiles.
    pub(super) fn have_tiles(&mut self, plan: &Plan, tile_count: usize) {
        while self.posed.len() < tile_count {
            self.posed.push(Posed::new(&plan.model));
        }
    }

    /// Fills the batch with the blocks of the islands; `strikes`: of what strikes alone.
    pub(super) fn pose(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>, strikes: bool) {
        let tile_count = chunk.tile_count();
        let in_place = plan.in_place && !self.any_large(tile_count);
        if plan.in_place && !in_place {
            // A block so large that it is kept as a factor is gathered with its like. The others are the same blocks, to the bit, dealt out.
            for (t, w) in self.posed[..tile_count].iter_mut().enumerate() {
                let part = if strikes { Part::Contacts(&w.struck.striking) } else { Part::All };
                islands(&plan.islands, chunk.lane_count(t), &w.contacts, &w.limits, part, &mut w.islands);
            }
        }
        let mut watch = StopWatch::start(plan.profile, &mut self.times);
        self.batch.clear();
        for (t, w) in self.posed[..tile_count].iter_mut().enumerate() {
            let (contact_slots, patch_slots) = (w.rows.three_rows(), w.contacts.patches.len());
            if in_place {
                reserve_in_place([contact_slots, patch_slots], t, &w.islands, &mut self.batch, &mut w.places);
            } else {
                let patches = plan.settings.friction == FrictionLaw::Patch;
                reserve(contact_slots, patches, &w.islands, &mut self.batch, &mut w.places);
            }
        }
        if in_place {
            self.batch.truncate(tile_count);
        } else {
            self.batch.allocate_all_but_delassus();
            make_room(plan.rows.most_strips, &self.batch, &mut self.dealt);
        }
        watch.lap(Stage::Rows);
        for t in 0..tile_count {
            let (tile, w) = (&chunk.tile(&plan.model, t), &self.posed[t]);
            plan.level.run(Assemble { plan, tile, w, batch: &mut self.batch, dealt: &mut self.dealt });
        }
        if !in_place {
            let (room, width) = (plan.rows.most_strips, plan.rows.width);
            for (group, dealt) in self.batch.groups.iter_mut().zip(&self.dealt).filter(|(group, _)| !group.factored) {
                plan.level.run(Delassus { room, width, dealt, group });
            }
        }
        watch.lap(Stage::Assemble);
    }

    /// Whether some block is to be factored.
    fn any_large(&self, tile_count: usize) -> bool {
        let blocks = self.posed[..tile_count].iter().flat_map(|w| &w.islands.blocks);
        blocks.into_iter().any(|b| {
            let size = BlockSize { contact_count: b.contact_count, scalar_count: b.scalar_count };
            self.batch.factors(size, b.dof_count)
        })
    }

    /// Collects the impulses of every row of tile `t` from the batch.
    pub(super) fn gather(&mut self, t: usize) {
        let w = &mut self.posed[t];
        if let Some(group) = w.places.whole() {
            // The rows of the batch are those of the tile.
            let group = &mut self.batch.groups[group];
            std::mem::swap(&mut w.impulse, &mut group.impulse);
            std::mem::swap(&mut w.position_impulse, &mut group.position_impulse);
            return;
        }
        let (lanes, slots) = (R::LANES, w.rows.three_rows());
        for impulse in [&mut w.impulse, &mut w.position_impulse] {
            impulse.clear();
            impulse.resize(w.islands.row_count, R::zero());
        }
        for slot in 0..w.islands.row_count - 2 * slots {
            let (first, _) = slot_rows(slots, slot);
            for lane in 0..lanes {
                let Some(p) = w.places.of(lanes, slot, lane) else { continue };
                let group = &self.batch.groups[p.group];
                let entry = p.tile * p.row_count + p.row;
                for i in 0..p.count {
                    w.impulse[first + i].set(lane, group.impulse[entry + i].get(p.lane));
                    w.position_impulse[first + i].set(lane, group.position_impulse[entry + i].get(p.lane));
                }
            }
        }
    }

    /// Writes down the contacts of the watched worlds of tile `t`.
    pub(super) fn watch(&self, plan: &Plan, t: usize, watched: &mut [Option<Vec<ContactRecord>>]) {
        let w = &self.posed[t];
        for (lane, record) in watched.iter_mut().enumerate() {
            let Some(record) = record else { continue };
            record.clear();
            for slot in 0..w.contacts.gap.len() {
                let Some(pair) = w.contacts.slots.origin(slot, lane) else { continue };
                let pair = &plan.model.pairs[pair];
                let vector = |v: Vec3<R>| {
                    let v = v.get(lane);
                    Vector3::new(v.x.to_f64(), v.y.to_f64(), v.z.to_f64())
                };
                let point = ContactRecord {
                    geom_a: pair.geom_a,
                    geom_b: pair.geom_b,
                    position: vector(w.contacts.position[slot]),
                    frame: w.rows.frame[slot].map(vector),
                    gap: w.contacts.gap[slot].get(lane).to_f64(),
                    impulse: w.rows.contact_impulse(slot, &w.impulse).map(|x| x.get(lane).to_f64()),
                    torque: w.rows.contact_torque(slot, &w.impulse).map(|x| x.get(lane).to_f64()),
                    patch: None,
                };
                record.push(if slot < w.contacts.patches.len() { patch_record(w, slot, lane, &point) } else { point });
            }
        }
    }

    /// Adds what the contacts of tile `t` do in this step; not those of worlds that were stepped again, which are added as they were then.
    pub(super) fn feel(&self, plan: &Plan, t: usize, chunk: &mut Chunk<'_, R>) {
        if !chunk.felt.plan.is_asked {
            return;
        }
        let lanes = first_lanes(chunk.lane_count(t)) & !self.elsewhere(t);
        let (felt, evaluation) = (chunk.felt.plan, chunk.felt.evaluation);
        let sums = chunk.felt.tile(t);
        plan.level.run(Feel { felt, posed: &self.posed[t], lanes, sums, evaluation });
    }
}
