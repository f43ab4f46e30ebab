//! A chunk of tiles: what one thread steps at a time, and what it needs for it.

use super::assemble::assemble;
use super::exact::Mended;
use super::patches::patch_record;
use super::places::{reserve, reserve_in_place};
use super::profile::{Stage, StageTimes, StopWatch};
use super::redo::{Redo, Redone};
use super::rows::slot_rows;
use super::{Impacts, Memory, Plan, Posed, Scratch, Tile, find_problem, finish};
use crate::island::{Part, islands};
use crate::lane::{Compiled, Pack, Scalar, Task};
use crate::lcp::Problem;
use crate::model::Model;
use crate::parameters::TileParameters;
use crate::report::WorldReport;
use crate::solver::{self, Batch, BlockSize, FrictionLaw, solve_reusing};
use crate::spatial::Vec3;
use nalgebra::{DVector, Vector3};

/// Blocks with room for so many rows are kept as the factor of W and solved one by one through velocities.
const FACTORED_FROM: usize = 48;

/// A contact of a step, for people and records. SI units, world axes.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactRecord {
    /// First geom.
    pub geom_a: usize,
    /// Second geom.
    pub geom_b: usize,
    /// Contact point, m.
    pub position: Vector3<f64>,
    /// Normal from the first geom to the second, then two tangents.
    pub frame: [Vector3<f64>; 3],
    /// Gap between the surfaces with their margins before the step, m, negative = overlap.
    pub gap: f64,
    /// Impulse on the second geom along the axes of the frame, N·s.
    pub impulse: [f64; 3],
    /// If it is a patch, whose contact point is its equivalent contact point: what else it has.
    pub patch: Option<PatchRecord>,
}

/// What a patch has beside what a point has. SI units, world axes.
#[derive(Debug, Clone, PartialEq)]
pub struct PatchRecord {
    /// Impulse of torsion on the second geom about the normal at the equivalent contact point, N·m·s.
    pub torsion: f64,
    /// Vertices, m; of a disc its centre.
    pub vertices: Vec<Vector3<f64>>,
    /// Normal impulse of every vertex, N·s; of a disc all of it.
    pub pressure: Vec<f64>,
    /// Radius of a disc that leans by nothing or little, m; none: there are vertices.
    pub disc: Option<f64>,
}

/// A block as it was posed and answered.
#[derive(Debug)]
pub struct BlockRecord<'a> {
    /// The world.
    pub world: usize,
    /// The problem: contacts first (normal, two tangents), then scalar rows. In the precision of the step, widened.
    pub problem: &'a Problem,
    /// The answer, N·s.
    pub impulse: &'a DVector<f64>,
    /// Its certificate: natural-map residual, m/s.
    pub residual: f64,
    /// Whether it met the tolerance.
    pub solved: bool,
    /// Whether this is the problem that moves positions (with push-out) rather than the one that gives the velocity.
    pub position: bool,
}

/// Worlds next to each other, borrowed from the state of a batch.
pub struct Chunk<'a, R: Pack> {
    /// First world.
    pub first_world: usize,
    /// Position, shape `[tile][nq][lane]`.
    pub q: &'a mut [R],
    /// Velocity, shape `[tile][nv][lane]`.
    pub v: &'a mut [R],
    /// Control, shape `[tile][nu][lane]`.
    pub control: &'a mut [R],
    /// Generalized force from outside, N or N·m, shape `[tile][nv][lane]`.
    pub external: &'a mut [R],
    /// Parameters of a tile of the whole batch.
    pub parameters: &'a (dyn Fn(usize) -> TileParameters<'a, R> + Sync),
    /// What the last step leaves for the next, shape `[tile]`.
    pub memory: &'a mut [Memory<R>],
    /// Report of every world.
    pub reports: &'a mut [WorldReport],
    /// Contacts of the last step of every world that is watched.
    pub watched: &'a mut [Option<Vec<ContactRecord>>],
}

impl<R: Pack> Chunk<'_, R> {
    /// Number of tiles.
    pub fn tile_count(&self) -> usize {
        self.memory.len()
    }

    /// Reads control and outside force, shapes `[world][nu]` and `[world][nv]`, of all worlds of the batch.
    pub fn load(&mut self, model: &Model, control: &[f64], external: &[f64]) {
        let worlds = self.first_world..self.first_world + self.reports.len();
        for (from, to, len) in [(control, &mut *self.control, model.nu()), (external, &mut *self.external, model.nv())]
        {
            for (i, world) in worlds.clone().enumerate() {
                let tile = &mut to[i / R::LANES * len..(i / R::LANES + 1) * len];
                for (entry, x) in tile.iter_mut().zip(&from[world * len..(world + 1) * len]) {
                    entry.set(i % R::LANES, R::Scalar::from_f64(*x));
                }
            }
        }
    }

    /// Whether the state and the inputs of a world are finite.
    pub(super) fn is_finite(&mut self, model: &Model, world: usize) -> bool {
        let (tile, lane) = (self.tile(model, world / R::LANES), world % R::LANES);
        [&*tile.q, &*tile.v, tile.control, tile.external]
            .iter()
            .all(|numbers| numbers.iter().all(|x| x.get(lane).is_finite()))
    }

    /// Number of worlds of tile `t`.
    pub fn lane_count(&self, t: usize) -> usize {
        (self.reports.len() - t * R::LANES).min(R::LANES)
    }

    /// Tile `t` of the chunk.
    pub fn tile(&mut self, model: &Model, t: usize) -> Tile<'_, R> {
        let (nq, nv, nu, lanes) = (model.nq(), model.nv(), model.nu(), R::LANES);
        Tile {
            lane_count: self.lane_count(t),
            q: &mut self.q[t * nq..(t + 1) * nq],
            v: &mut self.v[t * nv..(t + 1) * nv],
            control: &self.control[t * nu..(t + 1) * nu],
            external: &self.external[t * nv..(t + 1) * nv],
            parameters: (self.parameters)(self.first_world / lanes + t),
            memory: &mut self.memory[t],
        }
    }
}

/// What a thread needs to step a chunk; kept from step to step.
#[derive(Debug)]
pub struct Worker<R: Pack> {
    scratch: Scratch<R>,
    /// What every tile poses.
    pub(super) posed: Vec<Posed<R>>,
    /// The blocks of the chunk.
    pub batch: Batch<R>,
    solver: solver::Scratch<R>,
    /// What became of the blocks of every world after the batched solver, shape \[tile\]\[lane\].
    pub(super) mended: Vec<Mended>,
    /// What steps a world in f64; none until one needs it.
    pub(super) redo: Option<Box<Redo<R::Exact>>>,
    /// The worlds that were stepped again in f64.
    pub(super) redone: Vec<Redone>,
    /// Time spent in every stage, while [`Plan::profile`] is on.
    pub times: StageTimes,
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
stage_task!(FindProblem { plan: &'a Plan, tile: &'a Tile<'b, R>, scratch: &'a mut Scratch<R>, w: &'a mut Posed<R>, watch: &'a mut StopWatch<'b> } { find_problem(plan, tile, scratch, w, watch); });
stage_task!(Assemble { plan: &'a Plan, tile: &'a Tile<'b, R>, w: &'a Posed<R>, batch: &'a mut Batch<R> } { assemble(plan, tile, w, batch); });
stage_task!(Finish { plan: &'a Plan, tile: &'a mut Tile<'b, R>, scratch: &'a mut Scratch<R>, w: &'a mut Posed<R> } { finish(plan, tile, scratch, w); });

impl<R: Pack> Worker<R> {
    /// A worker for chunks of at most `tile_count` tiles. `dense`: whether somebody else solves its batch, who wants all of W.
    pub fn new(plan: &Plan, tile_count: usize, dense: bool) -> Self {
        let mut batch = Batch::new();
        if !dense && plan.settings.solve().uses_newton() && plan.settings.friction == FrictionLaw::Cone {
            batch.factored_from = FACTORED_FROM;
        }
        Self {
            scratch: Scratch::new(&plan.model),
            posed: (0..tile_count).map(|_| Posed::new(&plan.model)).collect(),
            batch,
            solver: solver::Scratch::new(),
            mended: Vec::new(),
            redo: None,
            redone: Vec::new(),
            times: StageTimes::default(),
        }
    }

    /// Stages 1–7: fills the batch with the blocks of the chunk. Impacts one after another come before the last of them, and are shown to `see`.
    pub fn begin(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>, see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>) {
        self.start_mending(&plan.settings, chunk.tile_count() * R::LANES);
        self.redone.clear();
        for t in 0..chunk.tile_count() {
            let (tile, w, scratch) = (&chunk.tile(&plan.model, t), &mut self.posed[t], &mut self.scratch);
            let watch = &mut StopWatch::start(plan.profile, &mut self.times);
            plan.level.run(FindProblem { plan, tile, scratch, w, watch });
        }
        if plan.settings.impacts == Impacts::Sequential {
            self.impacts(plan, chunk, see);
        }
        self.pose(plan, chunk, false);
    }

    /// Fills the batch with the blocks of the islands; `strikes`: of what strikes alone.
    pub(super) fn pose(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>, strikes: bool) {
        let tile_count = chunk.tile_count();
        let in_place = plan.in_place && !self.any_large(tile_count);
        if plan.in_place && !in_place {
            // A block so large that it is kept as a factor is solved by itself. The others are the same blocks, to the bit, dealt out.
            for (t, w) in self.posed[..tile_count].iter_mut().enumerate() {
                let part = if strikes { Part::Contacts(&w.struck.striking) } else { Part::All };
                islands(&plan.islands, chunk.lane_count(t), &w.contacts, &w.limits, part, &mut w.islands);
            }
        }
        let mut watch = StopWatch::start(plan.profile, &mut self.times);
        self.batch.clear();
        for (t, w) in self.posed[..tile_count].iter_mut().enumerate() {
            let (contact_slots, patch_slots) = (w.contacts.gap.len(), w.contacts.patches.len());
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
            self.batch.allocate();
        }
        watch.lap(Stage::Rows);
        for t in 0..tile_count {
            let (tile, w) = (&chunk.tile(&plan.model, t), &self.posed[t]);
            plan.level.run(Assemble { plan, tile, w, batch: &mut self.batch });
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

    /// Stage 8 on this thread.
    pub fn solve(&mut self, plan: &Plan) {
        let mut watch = StopWatch::start(plan.profile, &mut self.times);
        solve_reusing(&mut self.batch, plan.level, &plan.settings.solve(), &mut self.solver);
        watch.lap(Stage::Solve);
    }

    /// What of stage 8 is left to the CPU after sweeps over one problem on a device.
    #[cfg(feature = "gpu")]
    pub fn polish(&mut self, plan: &Plan, which: solver::Which) {
        let mut watch = StopWatch::start(plan.profile, &mut self.times);
        solver::polish(&mut self.batch, plan.level, &plan.settings.solve(), which);
        watch.lap(Stage::Solve);
    }

    /// What follows the solve: the exact solver where it is needed, worlds once more in f64, stages 9 and 10, the memory for the next step, and the
    /// reports.
    pub fn complete(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>, see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>) {
        let mut times = std::mem::take(&mut self.times);
        let mut watch = StopWatch::start(plan.profile, &mut times);
        self.fall_back(plan, chunk);
        self.step_again(plan, chunk, see);
        if let Some(see) = see {
            self.inspect(plan, chunk, see);
        }
        watch.lap(Stage::Fallback);
        for t in 0..chunk.tile_count() {
            let mut tile = chunk.tile(&plan.model, t);
            self.gather(t);
            let (w, scratch) = (&mut self.posed[t], &mut self.scratch);
            plan.level.run(Finish { plan, tile: &mut tile, scratch, w });
            let lanes = t * R::LANES..t * R::LANES + tile.lane_count;
            self.watch(plan, t, &mut chunk.watched[lanes]);
            self.report(plan, t, chunk);
        }
        self.put_back(plan, chunk);
        watch.lap(Stage::Finish);
        self.times = times;
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
        let (lanes, slots) = (R::LANES, w.contacts.gap.len());
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
    fn watch(&self, plan: &Plan, t: usize, watched: &mut [Option<Vec<ContactRecord>>]) {
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
                    impulse: [0, 1, 2].map(|i| w.impulse[3 * slot + i].get(lane).to_f64()),
                    patch: None,
                };
                record.push(if slot < w.contacts.patches.len() { patch_record(w, slot, lane, &point) } else { point });
            }
        }
    }
}
