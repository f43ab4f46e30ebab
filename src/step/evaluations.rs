//! Soft constraints with Runge-Kutta: every evaluation of a step finds and solves its own, as in MuJoCo.
//!
//! a_j is the acceleration at (q_j, v_j) with all forces, those of constraints among them, that would give v_j + Δt a_j at the end of a step of Euler: the
//! stages of the step pose and solve just that. [`crate::runge_kutta`] says where the states of the evaluations are. Damping is not implicit here: it is
//! that of v_j.

use super::certify::{largest_speed, not_finite, of_speed};
use super::chunk::Chunk;
use super::felt::Felt;
use super::plan::Plan;
use super::posed::Tile;
use super::records::BlockRecord;
use super::worker::{Evaluations, Worker, stage_task};
use crate::activation::activate;
use crate::dynamics::integrate;
use crate::lane::{Compiled, Pack, Scalar, Task};
use crate::report::{WorldReport, WorldStatus};
use crate::runge_kutta::{self, EVALUATIONS, Path, Turning};

impl<R: Pack> Evaluations<R> {
    /// The first evaluation: at the start of the step.
    fn start(&mut self, plan: &Plan, chunk: &Chunk<'_, R>) {
        let (nq, nv) = (plan.model.nq(), plan.model.nv());
        self.q.clear();
        self.q.extend_from_slice(chunk.q);
        self.v.clear();
        self.v.extend_from_slice(chunk.v);
        while self.path.len() < chunk.tile_count() {
            self.path.push(Path::new(&plan.model, Turning::Vectors));
        }
        for (t, path) in self.path[..chunk.tile_count()].iter_mut().enumerate() {
            runge_kutta::start(&self.q[t * nq..(t + 1) * nq], &self.v[t * nv..(t + 1) * nv], path);
        }
        self.reports.clear();
        self.reports.resize(chunk.reports.len(), WorldReport::default());
        self.unwatched.resize(chunk.reports.len(), None);
    }

    /// Does `work` with the worlds of `chunk` at evaluation `j`.
    fn at(&mut self, j: usize, chunk: &mut Chunk<'_, R>, work: impl FnOnce(&mut Chunk<'_, R>)) {
        let parameters = chunk.parameters;
        work(&mut Chunk {
            first_world: chunk.first_world,
            q: &mut self.q,
            v: &mut self.v,
            drive: &mut *chunk.drive,
            external: &mut *chunk.external,
            parameters: &|tile| parameters(tile),
            memory: &mut *chunk.memory,
            reports: &mut self.reports,
            watched: if j == 0 { &mut *chunk.watched } else { &mut self.unwatched },
            felt: Felt { plan: chunk.felt.plan, sums: &mut *chunk.felt.sums, evaluation: j },
        });
    }

    /// From the answer of evaluation `j` to the state of the next, or to the end of the step.
    fn go_on(&mut self, plan: &Plan, j: usize, chunk: &mut Chunk<'_, R>) {
        let (nq, nv) = (plan.model.nq(), plan.model.nv());
        for (t, path) in self.path[..chunk.tile_count()].iter_mut().enumerate() {
            let (tile, mut speed) = (&mut chunk.tile(&plan.model, t), R::zero());
            let (q, v) = (&mut self.q[t * nq..(t + 1) * nq], &mut self.v[t * nv..(t + 1) * nv]);
            plan.level.run(GoOn { plan, j, tile, path, q, v, speed: &mut speed });
            let worlds = t * R::LANES..t * R::LANES + tile.lane_count;
            if j < EVALUATIONS - 1 {
                continue;
            }
            for (lane, world) in worlds.enumerate() {
                let report = &mut self.reports[world];
                report.status = report.status.max(of_speed(plan, speed.get(lane).to_f64()));
                if report.status == WorldStatus::NotFinite {
                    chunk.memory[t].forget(lane);
                }
                chunk.reports[world].add(report);
            }
        }
    }
}

stage_task!(GoOn { plan: &'a Plan, j: usize, tile: &'a mut Tile<'b, R>, path: &'a mut Path<R>, q: &'a mut [R], v: &'a mut [R], speed: &'a mut R } {
    let (model, dt) = (&*plan.model, R::constant(plan.dt));
    // v + Δt a_j
    for (i, end) in v.iter_mut().enumerate() {
        *end = tile.v[i] + (*end - path.v[i]);
    }
    runge_kutta::advance(model, plan.dt, j, tile.q, tile.v, v, path);
    if j < EVALUATIONS - 1 {
        q.copy_from_slice(&path.q);
        v.copy_from_slice(&path.v);
    } else {
        tile.v.copy_from_slice(&path.free_velocity);
        integrate(model, dt, &path.mean_velocity, tile.q);
        activate(model, &tile.parameters, plan.dt, EVALUATIONS, tile.drive);
        *speed = not_finite(&tile.drive[model.nu()..], largest_speed(tile.q, tile.v));
    }
});

impl<R: Pack> Worker<R> {
    /// What comes before the solve: of the step, or of evaluation `j` of it where each solves its own.
    pub fn begin(
        &mut self,
        plan: &Plan,
        chunk: &mut Chunk<'_, R>,
        j: usize,
        see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>,
    ) {
        if plan.evaluations == 1 {
            return self.ask(plan, chunk, see);
        }
        let mut evaluations = std::mem::take(&mut self.evaluations);
        if j == 0 {
            evaluations.start(plan, chunk);
        }
        evaluations.at(j, chunk, |chunk| self.ask(plan, chunk, see));
        self.evaluations = evaluations;
    }

    /// What follows the solve.
    pub fn complete(
        &mut self,
        plan: &Plan,
        chunk: &mut Chunk<'_, R>,
        j: usize,
        see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>,
    ) {
        if plan.evaluations == 1 {
            return self.answer(plan, chunk, see);
        }
        let mut evaluations = std::mem::take(&mut self.evaluations);
        evaluations.at(j, chunk, |chunk| self.answer(plan, chunk, see));
        evaluations.go_on(plan, j, chunk);
        self.evaluations = evaluations;
    }
}
