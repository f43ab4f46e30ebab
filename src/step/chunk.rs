//! A chunk of tiles: what one thread steps at a time, and what it needs for it.

use super::places::reserve;
use super::profile::{Stage, StageTimes, StopWatch};
use super::rows::slot_rows;
use super::warm::{Remembered, contact_key, equality_key, joint_key};
use super::{Plan, Tile, Workspace, blocks, find_contacts, find_rows, finish, free_motion};
use crate::dynamics::TileParameters;
use crate::lane::{Compiled, Real, Scalar, Task};
use crate::lcp::{self, Law, Problem};
use crate::model::Model;
use crate::report::{WorldReport, WorldStatus};
use crate::runge_kutta::RungeKutta;
use crate::solver::{
    Batch, FrictionLaw, Group, REPORT_FLOOR, REPORT_ITERATIONS, REPORT_LEN, REPORT_LIVE, REPORT_RESIDUAL, polish,
    solve_cpu,
};
use crate::spatial::{Vec3, vec3};
use nalgebra::{DMatrix, DVector, Vector3};

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
    /// Gap before the step, m, negative = overlap.
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
    workspaces: Vec<Workspace<R>>,
    /// For what is evaluated inside of a step.
    inside: RungeKutta<R>,
    /// The blocks of the chunk.
    pub batch: Batch<R>,
    /// Blocks (tile, block) that the exact solver was asked for.
    fallbacks: Vec<(usize, usize)>,
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
        Self { workspaces, inside, batch, fallbacks: Vec::new(), times: StageTimes::default() }
    }

    /// Stages 1–7: fills the batch with the blocks of the chunk.
    pub fn begin(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>) {
        self.batch.clear();
        self.fallbacks.clear();
        let mut watch = StopWatch::start(plan.profile);
        for t in 0..chunk.tile_count() {
            let (tile, workspace) = (&chunk.tile(&plan.model, t), &mut self.workspaces[t]);
            plan.level.run(FreeMotion { plan, tile, inside: &mut self.inside, w: workspace });
            watch.lap(&mut self.times, Stage::FreeMotion);
            plan.level.run(Contacts { plan, tile, w: workspace });
            watch.lap(&mut self.times, Stage::Collide);
            plan.level.run(ConstraintRows { plan, tile, w: workspace });
            let contact_slots = workspace.contacts.gap.len();
            reserve(contact_slots, &workspace.islands, &mut self.batch, &mut workspace.places);
            watch.lap(&mut self.times, Stage::Rows);
        }
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

    /// Hands every block that missed its tolerance to the exact solver, and keeps the better answer.
    pub fn fall_back(&mut self, plan: &Plan, chunk: &Chunk<'_, R>) {
        let settings = &plan.settings;
        if !settings.fallback {
            return;
        }
        let tolerance = settings.tolerance();
        let mut watch = StopWatch::start(plan.profile);
        for t in 0..chunk.tile_count() {
            for b in 0..self.workspaces[t].islands.blocks.len() {
                for position in [false, true] {
                    let (tile, lane, group) = self.home(t, b);
                    let group = &self.batch.groups[group];
                    let report = if position { &group.position_report } else { &group.report };
                    let get = |entry: usize| report[tile * REPORT_LEN + entry].get(lane).to_f64();
                    // A live block is finite and above its tolerance.
                    if get(REPORT_LIVE) == 0.0 {
                        continue;
                    }
                    let before = get(REPORT_RESIDUAL);
                    let (problem, impulse) = self.problem(settings.friction, t, b, position);
                    // The problem is known to the precision of the step only: asking for less than its floor would be asking for noise.
                    let wanted = 0.5 * tolerance.max(get(REPORT_FLOOR));
                    // Where all starts fail, long sweeps rarely help, and a rollout must go on.
                    let exact =
                        lcp::SolveSettings { tolerance: wanted, iterations: 200, ..lcp::SolveSettings::default() };
                    let solution = lcp::solve(&problem, lcp::Solver::Auto, &exact, Some(&impulse));
                    if solution.residual < before && solution.impulse.iter().all(|x| x.is_finite()) {
                        self.replace(settings, t, b, position, &problem, &solution.impulse);
                        if !self.fallbacks.contains(&(t, b)) {
                            self.fallbacks.push((t, b));
                        }
                    }
                }
            }
        }
        watch.lap(&mut self.times, Stage::Fallback);
    }

    /// Tile, lane and group of the batch that hold block `b` of tile `t`.
    fn home(&self, t: usize, b: usize) -> (usize, usize, usize) {
        let place = self.workspaces[t].places.block[b];
        (place.block / R::LANES, place.block % R::LANES, place.group)
    }

    /// Rows of the group that block `b` of tile `t` really has: contacts, then scalars.
    fn real_rows(&self, t: usize, b: usize) -> Vec<usize> {
        let block = &self.workspaces[t].islands.blocks[b];
        let contacts = self.batch.groups[self.workspaces[t].places.block[b].group].size.contact_count;
        (0..3 * block.contact_count).chain(3 * contacts..3 * contacts + block.scalar_count).collect()
    }

    /// Block `b` of tile `t` as a dense problem, and its present impulse.
    fn problem(&self, law: FrictionLaw, t: usize, b: usize, position: bool) -> (Problem, DVector<f64>) {
        let (tile, lane, group) = self.home(t, b);
        let block = &self.workspaces[t].islands.blocks[b];
        let group: &Group<R> = &self.batch.groups[group];
        let rows = self.real_rows(t, b);
        let n = group.size.row_count();
        let get = |x: &[R], i: usize| x[i].get(lane).to_f64();
        let (bias, impulse) =
            if position { (&group.position_bias, &group.position_impulse) } else { (&group.bias, &group.impulse) };
        let delassus = if group.factored {
            let factor = &group.factors[tile * R::LANES + lane];
            DMatrix::from_fn(rows.len(), rows.len(), |i, j| factor.delassus(i, j))
        } else {
            let entry = |i: usize, j: usize| get(&group.delassus, (tile * n + rows[i]) * n + rows[j]);
            DMatrix::from_fn(rows.len(), rows.len(), entry)
        };
        let mut laws = Vec::new();
        for c in 0..block.contact_count {
            let friction = get(&group.friction, tile * group.size.contact_count + c);
            match law {
                FrictionLaw::Cone => laws.push(Law::Cone { friction, dimension: 3 }),
                FrictionLaw::Box => {
                    laws.push(Law::Interval { lower: 0.0, upper: f64::INFINITY });
                    laws.extend([Law::Friction { normal: 3 * c, friction }, Law::Friction { normal: 3 * c, friction }]);
                }
            }
        }
        for s in 0..block.scalar_count {
            let bounds = 2 * (tile * group.size.scalar_count + s);
            laws.push(Law::Interval { lower: get(&group.bounds, bounds), upper: get(&group.bounds, bounds + 1) });
        }
        let vector = |x: &[R]| DVector::from_iterator(rows.len(), rows.iter().map(|r| get(x, tile * n + r)));
        let problem = Problem { name: String::new(), delassus, bias: vector(bias), laws };
        (problem, vector(impulse))
    }

    /// Writes an answer back and certifies it anew, as rounded.
    fn replace(
        &mut self,
        settings: &super::Settings,
        t: usize,
        b: usize,
        position: bool,
        problem: &Problem,
        answer: &DVector<f64>,
    ) {
        let (tile, lane, group) = self.home(t, b);
        let rows = self.real_rows(t, b);
        let group = &mut self.batch.groups[group];
        let n = group.size.row_count();
        let (impulse, report) = if position {
            (&mut group.position_impulse, &mut group.position_report)
        } else {
            (&mut group.impulse, &mut group.report)
        };
        let rounded = answer.map(|x| R::Scalar::from_f64(x).to_f64());
        for (row, x) in rows.iter().zip(rounded.iter()) {
            impulse[tile * n + row].set(lane, R::Scalar::from_f64(*x));
        }
        let residual = lcp::natural_map_residual(problem, &rounded);
        let floor = report[tile * REPORT_LEN + REPORT_FLOOR].get(lane).to_f64();
        let live = if residual > settings.tolerance().max(floor) { 1.0 } else { 0.0 };
        report[tile * REPORT_LEN + REPORT_RESIDUAL].set(lane, R::Scalar::from_f64(residual));
        report[tile * REPORT_LEN + REPORT_LIVE].set(lane, R::Scalar::from_f64(live));
    }

    /// Shows every block of the chunk, as posed and answered.
    pub fn inspect(&self, plan: &Plan, chunk: &Chunk<'_, R>, see: &(dyn Fn(&BlockRecord<'_>) + Sync)) {
        for t in 0..chunk.tile_count() {
            for (b, block) in self.workspaces[t].islands.blocks.iter().enumerate() {
                for position in [false, true] {
                    let (tile, lane, group) = self.home(t, b);
                    let group = &self.batch.groups[group];
                    let report = if position { &group.position_report } else { &group.report };
                    let get = |entry: usize| report[tile * REPORT_LEN + entry].get(lane).to_f64();
                    let (mut problem, impulse) = self.problem(plan.settings.friction, t, b, position);
                    let world = chunk.first_world + t * R::LANES + block.lane;
                    problem.name = format!("world {world}, block {b}{}", if position { ", position" } else { "" });
                    see(&BlockRecord {
                        world,
                        problem: &problem,
                        impulse: &impulse,
                        residual: get(REPORT_RESIDUAL),
                        solved: get(REPORT_LIVE) == 0.0 && get(REPORT_RESIDUAL).is_finite(),
                        position,
                    });
                }
            }
        }
    }

    /// Stages 9 and 10, the memory for the next step, and the reports.
    pub fn finish(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>) {
        let mut watch = StopWatch::start(plan.profile);
        for t in 0..chunk.tile_count() {
            let mut tile = chunk.tile(&plan.model, t);
            self.gather(t, &mut tile);
            plan.level.run(Finish { plan, tile: &mut tile, w: &mut self.workspaces[t] });
            let lanes = t * R::LANES..t * R::LANES + tile.lane_count;
            self.report(t, &mut chunk.reports[lanes.clone()]);
            self.watch(plan, t, &mut chunk.watched[lanes.clone()]);
            for (lane, report) in chunk.reports[lanes].iter_mut().enumerate() {
                if self.workspaces[t].finite.get(lane) != R::Scalar::from_f64(1.0) {
                    report.status = WorldStatus::NotFinite;
                    chunk.memory[t * R::LANES + lane].clear();
                }
            }
        }
        watch.lap(&mut self.times, Stage::Finish);
    }

    /// Collects the impulses of every row of tile `t` from the batch, and remembers them by identity.
    fn gather(&mut self, t: usize, tile: &mut Tile<'_, R>) {
        let w = &mut self.workspaces[t];
        let (lanes, slots) = (R::LANES, w.contacts.gap.len());
        for impulse in [&mut w.impulse, &mut w.position_impulse] {
            impulse.clear();
            impulse.resize(w.islands.row_count, R::zero());
        }
        for memory in tile.memory.iter_mut() {
            memory.clear();
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
        for (lane, memory) in tile.memory.iter_mut().enumerate() {
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

    /// Adds what this step did to the reports of the worlds of tile `t`.
    fn report(&self, t: usize, reports: &mut [WorldReport]) {
        let w = &self.workspaces[t];
        for (lane, report) in reports.iter_mut().enumerate() {
            report.steps += 1;
            report.contact_count = w.contacts.count[lane];
            report.row_count = 0;
            report.capacity_needed = report.capacity_needed.max(w.contacts.found[lane]);
            report.overflow |= w.contacts.found[lane] > w.contacts.count[lane];
            for slot in 0..w.contacts.count[lane] {
                report.penetration = report.penetration.max(-w.contacts.gap[slot].get(lane).to_f64());
            }
        }
        for (b, block) in w.islands.blocks.iter().enumerate() {
            let Some(report) = reports.get_mut(block.lane) else { continue };
            let (tile, lane, group) = self.home(t, b);
            let group = &self.batch.groups[group];
            report.row_count += 3 * block.contact_count + block.scalar_count;
            let mut sweeps = 0;
            for certificate in [&group.report, &group.position_report] {
                let get = |entry: usize| certificate[tile * REPORT_LEN + entry].get(lane).to_f64();
                sweeps += get(REPORT_ITERATIONS) as u32;
                report.residual = report.residual.max(get(REPORT_RESIDUAL));
                report.floor = report.floor.max(get(REPORT_FLOOR));
                if get(REPORT_LIVE) > 0.0 && report.status == WorldStatus::Solved {
                    report.status = WorldStatus::IterationLimit;
                }
            }
            report.iterations = report.iterations.max(sweeps);
            report.fallback |= self.fallbacks.contains(&(t, b));
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
