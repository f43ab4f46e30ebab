//! A chunk of tiles: what one thread steps at a time, and what it needs for it.

use super::exact::Mended;
use super::places::reserve;
use super::profile::{Stage, StageTimes, StopWatch};
use super::redo::{Redo, Redone};
use super::rows::slot_rows;
use super::warm::{Remembered, contact_key, equality_key, joint_key};
use super::{Impacts, Plan, Tile, Workspace, blocks, find_contacts, find_rows, finish, free_motion};
use crate::dynamics::TileParameters;
use crate::lane::{Compiled, Real, Scalar, Task};
use crate::lcp::Problem;
use crate::model::Model;
use crate::report::WorldReport;
use crate::runge_kutta::RungeKutta;
use crate::solver::{Batch, polish, solve_cpu};
use crate::spatial::{Vec3, vec3};
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
pub struct Chunk<'a, R: Real> {
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
    /// What the last step leaves for the next, shape `[tile][lane]`.
    pub memory: &'a mut [Vec<Remembered<R::Scalar>>],
    /// Report of every world.
    pub reports: &'a mut [WorldReport],
    /// Contacts of the last step of every world that is watched.
    pub watched: &'a mut [Option<Vec<ContactRecord>>],
}

impl<R: Real> Chunk<'_, R> {
    /// Number of tiles.
    pub fn tile_count(&self) -> usize {
        self.memory.len() / R::LANES
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

    /// Tile `t` of the chunk.
    pub fn tile(&mut self, model: &Model, t: usize) -> Tile<'_, R> {
        let (nq, nv, nu, lanes) = (model.nq(), model.nv(), model.nu(), R::LANES);
        Tile {
            lane_count: (self.reports.len() - t * lanes).min(lanes),
            q: &mut self.q[t * nq..(t + 1) * nq],
            v: &mut self.v[t * nv..(t + 1) * nv],
            control: &self.control[t * nu..(t + 1) * nu],
            external: &self.external[t * nv..(t + 1) * nv],
            parameters: (self.parameters)(self.first_world / lanes + t),
            memory: &mut self.memory[t * lanes..(t + 1) * lanes],
        }
    }
}

/// What a thread needs to step a chunk; kept from step to step.
#[derive(Debug)]
pub struct Worker<R: Real> {
    /// One workspace a tile.
    pub(super) workspaces: Vec<Workspace<R>>,
    /// For what is evaluated inside of a step.
    inside: RungeKutta<R>,
    /// The blocks of the chunk.
    pub batch: Batch<R>,
    /// What became of the blocks of every world after the batched solver, shape \[tile\]\[lane\].
    pub(super) mended: Vec<Mended>,
    /// What steps a world in f64; none until one needs it.
    pub(super) redo: Option<Box<Redo<R::Exact>>>,
    /// The worlds that were stepped again in f64.
    pub(super) redone: Vec<Redone>,
    /// Time spent in every stage, while [`Plan::profile`] is on.
    pub times: StageTimes,
}

/// A stage of the step, or some, as a task that is compiled for every level.
macro_rules! stage_task {
    ($name:ident { $($field:ident: $type:ty),+ } $body:block) => {
        struct $name<'a, 'b, R: Real> { $($field: $type),+ }
        impl<'b, R: Real> Task for $name<'_, 'b, R> {
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
stage_task!(FreeMotion { plan: &'a Plan, tile: &'a Tile<'b, R>, inside: &'a mut RungeKutta<R>, w: &'a mut Workspace<R> } { free_motion(plan, tile, inside, w); });
stage_task!(Contacts { plan: &'a Plan, tile: &'a Tile<'b, R>, w: &'a mut Workspace<R> } { find_contacts(plan, tile, w); });
stage_task!(ConstraintRows { plan: &'a Plan, tile: &'a Tile<'b, R>, w: &'a mut Workspace<R> } { find_rows(plan, tile, w); });
stage_task!(Blocks { plan: &'a Plan, tile: &'a Tile<'b, R>, w: &'a Workspace<R>, batch: &'a mut Batch<R> } { blocks(plan, tile, w, batch); });
stage_task!(Finish { plan: &'a Plan, tile: &'a mut Tile<'b, R>, w: &'a mut Workspace<R> } { finish(plan, tile, w); });

impl<R: Real> Worker<R> {
    /// A worker for chunks of at most `tile_count` tiles. `dense`: whether somebody else solves its batch, who wants all of W.
    pub fn new(plan: &Plan, tile_count: usize, dense: bool) -> Self {
        let workspaces = (0..tile_count).map(|_| Workspace::new(&plan.model)).collect();
        let mut batch = Batch::new();
        if !dense && plan.settings.solve().uses_newton() {
            batch.factored_from = FACTORED_FROM;
        }
        let inside = RungeKutta::new(&plan.model);
        let (mended, redone) = (Vec::new(), Vec::new());
        Self { workspaces, inside, batch, mended, redo: None, redone, times: StageTimes::default() }
    }

    /// Stages 1–7: fills the batch with the blocks of the chunk. Impacts one after another come before the last of them, and are shown to `see`.
    pub fn begin(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>, see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>) {
        self.start_mending(&plan.settings, chunk.tile_count() * R::LANES);
        self.redone.clear();
        let mut watch = StopWatch::start(plan.profile);
        for t in 0..chunk.tile_count() {
            let (tile, workspace) = (&chunk.tile(&plan.model, t), &mut self.workspaces[t]);
            plan.level.run(FreeMotion { plan, tile, inside: &mut self.inside, w: workspace });
            watch.lap(&mut self.times, Stage::FreeMotion);
            plan.level.run(Contacts { plan, tile, w: workspace });
            watch.lap(&mut self.times, Stage::Collide);
            plan.level.run(ConstraintRows { plan, tile, w: workspace });
            watch.lap(&mut self.times, Stage::Rows);
        }
        if plan.settings.impacts == Impacts::Sequential {
            self.impacts(plan, chunk, see);
        }
        self.pose(plan, chunk);
    }

    /// Fills the batch with the blocks of the islands.
    pub(super) fn pose(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>) {
        let mut watch = StopWatch::start(plan.profile);
        self.batch.clear();
        for w in &mut self.workspaces[..chunk.tile_count()] {
            reserve(w.contacts.gap.len(), &w.islands, &mut self.batch, &mut w.places);
        }
        watch.lap(&mut self.times, Stage::Rows);
        self.batch.allocate();
        for t in 0..chunk.tile_count() {
            let (tile, workspace) = (&chunk.tile(&plan.model, t), &self.workspaces[t]);
            plan.level.run(Blocks { plan, tile, w: workspace, batch: &mut self.batch });
        }
        watch.lap(&mut self.times, Stage::Assemble);
    }

    /// Stage 8 on this thread.
    pub fn solve(&mut self, plan: &Plan) {
        let mut watch = StopWatch::start(plan.profile);
        solve_cpu(&mut self.batch, plan.level, &plan.settings.solve());
        watch.lap(&mut self.times, Stage::Solve);
    }

    /// What of stage 8 is left to the CPU after sweeps on a device.
    pub fn polish(&mut self, plan: &Plan) {
        let mut watch = StopWatch::start(plan.profile);
        polish(&mut self.batch, plan.level, &plan.settings.solve());
        watch.lap(&mut self.times, Stage::Solve);
    }

    /// What follows the solve: the exact solver where it is needed, worlds once more in f64, stages 9 and 10, the memory for the next step, and the
    /// reports.
    pub fn complete(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>, see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>) {
        let mut watch = StopWatch::start(plan.profile);
        self.fall_back(plan, chunk);
        self.step_again(plan, chunk, see);
        if let Some(see) = see {
            self.inspect(plan, chunk, see);
        }
        watch.lap(&mut self.times, Stage::Fallback);
        for t in 0..chunk.tile_count() {
            let mut tile = chunk.tile(&plan.model, t);
            self.gather(t);
            self.remember(t, &mut tile);
            let w = &mut self.workspaces[t];
            w.struck.add_to(&mut w.impulse, R::one());
            // where q moves by v̄ + ½ M⁻¹ Jᵀ λ, what came before the motion counts in full
            w.struck.add_to(&mut w.position_impulse, R::constant(if w.rows.centered() { 2.0 } else { 1.0 }));
            plan.level.run(Finish { plan, tile: &mut tile, w: &mut self.workspaces[t] });
            let lanes = t * R::LANES..t * R::LANES + tile.lane_count;
            self.watch(plan, t, &mut chunk.watched[lanes]);
            self.report(plan, t, chunk);
        }
        self.put_back(plan, chunk);
        watch.lap(&mut self.times, Stage::Finish);
    }

    /// Collects the impulses of every row of tile `t` from the batch.
    pub(super) fn gather(&mut self, t: usize) {
        let w = &mut self.workspaces[t];
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

    /// Remembers the impulses of every row of tile `t` by identity.
    fn remember(&self, t: usize, tile: &mut Tile<'_, R>) {
        let w = &self.workspaces[t];
        let (lanes, slots) = (R::LANES, w.contacts.gap.len());
        for (lane, memory) in tile.memory.iter_mut().enumerate() {
            memory.clear();
            for slot in 0..w.contacts.count[lane] {
                let [n, t1, t2] = &w.rows.frame[slot];
                let (n, t1, t2) = (n.get(lane), t1.get(lane), t2.get(lane));
                let i = 3 * slot;
                let along = |k: usize| w.impulse[i + k].get(lane);
                // λ = n λ_n + t₁ λ₁ + t₂ λ₂ in world axes
                let impulse: Vec3<R::Scalar> = n.scale(along(0)) + t1.scale(along(1)) + t2.scale(along(2));
                let key = contact_key(w.contacts.pair[slot * lanes + lane], w.contacts.feature[slot * lanes + lane]);
                memory.push(Remembered { key, impulse });
            }
            for slot in 0..w.limits.count[lane] {
                let zero = R::Scalar::from_f64(0.0);
                let impulse = vec3(w.impulse[3 * slots + slot].get(lane), zero, zero);
                memory.push(Remembered { key: joint_key(w.limits.row[slot * lanes + lane]), impulse });
            }
            let first = 3 * slots + w.limits.gap.len();
            for i in 0..if lane < tile.lane_count { w.equalities.error.len() } else { 0 } {
                let zero = R::Scalar::from_f64(0.0);
                let impulse = vec3(w.impulse[first + i].get(lane), zero, zero);
                memory.push(Remembered { key: equality_key(i), impulse });
            }
        }
    }

    /// Writes down the contacts of the watched worlds of tile `t`.
    fn watch(&self, plan: &Plan, t: usize, watched: &mut [Option<Vec<ContactRecord>>]) {
        let w = &self.workspaces[t];
        for (lane, record) in watched.iter_mut().enumerate() {
            let Some(record) = record else { continue };
            record.clear();
            for slot in 0..w.contacts.count[lane] {
                let pair = &plan.model.pairs[w.contacts.pair[slot * R::LANES + lane] as usize];
                let vector = |v: Vec3<R>| {
                    let v = v.get(lane);
                    Vector3::new(v.x.to_f64(), v.y.to_f64(), v.z.to_f64())
                };
                record.push(ContactRecord {
                    geom_a: pair.geom_a,
                    geom_b: pair.geom_b,
                    position: vector(w.contacts.position[slot]),
                    frame: w.rows.frame[slot].map(vector),
                    gap: w.contacts.gap[slot].get(lane).to_f64(),
                    impulse: [0, 1, 2].map(|i| w.impulse[3 * slot + i].get(lane).to_f64()),
                });
            }
        }
    }
}
