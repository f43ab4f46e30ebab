//! Worlds that a device could not step to the end, as tiles of their own, in which the CPU does.

use super::core::Core;
use super::fields::parameters_of;
use super::past::{Past, carry};
use super::{BlockRecord, Call};
use crate::lane::{Pack, Scalar};
use crate::parameters::{PARAMETERS, Parameter, TileParameters};
use crate::report::WorldReport;
use crate::step::{Chunk, ContactRecord, Memory, Plan, Remembered, Worker};
use std::sync::{Mutex, PoisonError};

/// A world that has halted.
pub(super) struct HaltedWorld {
    /// Substeps behind it.
    pub done: u32,
    pub world: usize,
    /// q, and then v; none: as the host has them.
    pub state: Option<Vec<f32>>,
    pub memory: Vec<Remembered>,
    pub report: WorldReport,
}

/// Some worlds out of their tiles, as tiles of their own.
pub(super) struct Gathered<R: Pack> {
    /// Substeps behind them.
    done: u32,
    /// Which worlds they are.
    pub worlds: Vec<usize>,
    /// Of these in their order: q, v, control (no activation is on a device) and force from outside, shapes `[tile][nq]`, `[tile][nv]`, `[tile][nu]` and `[tile][nv]`.
    q: Vec<R>,
    v: Vec<R>,
    control: Vec<R>,
    external: Vec<R>,
    /// In the order of [`Parameter::ALL`], shape `[tile][len]`.
    parameters: [Vec<R>; PARAMETERS],
    memory: Vec<Memory<R>>,
    reports: Vec<WorldReport>,
    /// The contacts of those that are watched.
    pub watched: Vec<Option<Vec<ContactRecord>>>,
    past: Past<R>,
}

impl<R: Pack> Core<R> {
    /// Worlds that halted, together those that have as many substeps behind them.
    pub(super) fn gathered(&self, mut halted: Vec<HaltedWorld>, call: &Call<'_>) -> Vec<Gathered<R>> {
        halted.sort_unstable_by_key(|halted| (halted.done, halted.world));
        // few worlds, and hard ones: every thread has its share; who looks at blocks is shown whole tiles
        let share = halted.len().div_ceil(self.threads.count()).max(1);
        let most = if call.see.is_some() { usize::MAX } else { share }.min(self.plan.most_tiles() * R::LANES);
        let together = halted.chunk_by(|a, b| a.done == b.done).flat_map(|alike| alike.chunks(most));
        together.map(|part| self.gather(part, call)).collect()
    }

    fn gather(&self, halted: &[HaltedWorld], call: &Call<'_>) -> Gathered<R> {
        let model = &*self.plan.model;
        let (nq, nv, nu, tiles) = (model.nq(), model.nv(), model.nu(), halted.len().div_ceil(R::LANES));
        let zeros = |len: usize| vec![R::zero(); tiles * len];
        let lens = Parameter::ALL.map(|parameter| parameters_of(&self.fields, 0).of(parameter).len());
        let mut some = Gathered {
            done: halted.first().map_or(0, |halted| halted.done),
            q: zeros(nq),
            v: zeros(nv),
            control: zeros(nu.max(1)),
            external: zeros(nv),
            parameters: lens.map(zeros),
            memory: vec![Memory::default(); tiles],
            reports: Vec::new(),
            watched: vec![None; halted.len()],
            past: self.past.alike(halted.len()),
            worlds: halted.iter().map(|halted| halted.world).collect(),
        };
        let mut control = vec![0.0; nu];
        for (at, HaltedWorld { world, state, memory, report, .. }) in halted.iter().enumerate() {
            let (world, tile, lane) = (*world, at / R::LANES, at % R::LANES);
            carry(&self.q, world, &mut some.q, at, nq);
            carry(&self.v, world, &mut some.v, at, nv);
            if let Some(state) = state {
                let [q, v] = [&mut some.q[tile * nq..][..nq], &mut some.v[tile * nv..][..nv]];
                for (to, x) in q.iter_mut().chain(v).zip(state) {
                    to.set(lane, R::Scalar::from_f64(f64::from(*x)));
                }
            }
            call.control.of(world, &mut control);
            let external = &call.external[world * nv..(world + 1) * nv];
            for (from, to) in [(&control[..], &mut some.control), (external, &mut some.external)] {
                for (i, x) in from.iter().enumerate() {
                    to[tile * from.len() + i].set(lane, R::Scalar::from_f64(*x));
                }
            }
            let own = parameters_of(&self.fields, world / R::LANES);
            for ((parameter, len), to) in Parameter::ALL.into_iter().zip(lens).zip(&mut some.parameters) {
                for (i, x) in own.of(parameter).iter().enumerate() {
                    to[tile * len + i].set(lane, x.get(world % R::LANES));
                }
            }
            some.memory[tile].set(lane, memory);
            some.reports.push(*report);
        }
        some
    }

    /// Makes them those of the host again.
    pub(super) fn put_back(&mut self, some: Gathered<R>) {
        let (nq, nv) = (self.plan.model.nq(), self.plan.model.nv());
        let Gathered { worlds, q, v, memory, reports, watched, past, .. } = some;
        for (at, (world, watched)) in worlds.iter().zip(watched).enumerate() {
            carry(&q, at, &mut self.q, *world, nq);
            carry(&v, at, &mut self.v, *world, nv);
            let all = memory[at / R::LANES].of(at % R::LANES);
            self.memory[world / R::LANES].set(world % R::LANES, &all);
            self.reports[*world] = WorldReport { halted: true, ..reports[at] };
            self.watched[*world] = watched;
            self.past.take(*world, &past, at);
        }
    }
}

impl<R: Pack> Gathered<R> {
    /// Steps them through what they missed of a call, with one of the workers, or a new one.
    pub(super) fn step_with(&mut self, plan: &Plan, workers: &Mutex<Vec<Worker<R>>>, call: &Call<'_>) {
        let pooled = workers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut worker = pooled.unwrap_or_else(|| Worker::new(plan, plan.most_tiles(), false));
        self.step(plan, &mut worker, call.substeps - self.done, call.see);
        workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    }

    fn step(
        &mut self,
        plan: &Plan,
        worker: &mut Worker<R>,
        substeps: u32,
        see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>,
    ) {
        let (tiles, all) = (self.memory.len(), &self.parameters);
        // who looks at blocks looks at all worlds, in their order
        let first_world = if see.is_some() { self.worlds[0] } else { 0 };
        let parameters = |tile: usize| {
            let t = tile - first_world / R::LANES;
            TileParameters::new(|parameter| {
                let (all, len) = (&all[parameter as usize], all[parameter as usize].len() / tiles);
                &all[t * len..(t + 1) * len]
            })
        };
        let (mut past, mut felt) = self.past.whole(&plan.model);
        felt.clear(&plan.model, &self.q);
        let mut chunk = Chunk {
            first_world,
            q: &mut self.q,
            v: &mut self.v,
            drive: &mut self.control,
            external: &mut self.external,
            parameters: &parameters,
            memory: &mut self.memory,
            reports: &mut self.reports,
            watched: &mut self.watched,
            felt,
        };
        for left in (0..substeps).rev() {
            if left == 0 {
                past.before(&chunk);
            }
            worker.step(plan, &mut chunk, see);
        }
    }
}
