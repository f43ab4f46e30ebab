//! A step on the device, and the CPU's part in it: the worlds that halt there are taken on from where they stand.

use super::BlockRecord;
use super::core::{Core, parameters_of};
use super::on_device::OnDevice;
use super::past::{Past, carry};
use crate::error::Result;
use crate::lane::{Pack, Scalar};
use crate::parameters::{PARAMETERS, Parameter, TileParameters};
use crate::report::WorldReport;
use crate::resident::Given;
use crate::step::{Chunk, ContactRecord, Memory, Plan, Worker};
use std::sync::{Mutex, PoisonError};

/// The parameters that the device knows.
const GIVEN: [(Given, Parameter); 4] = [
    (Given::Gravity, Parameter::Gravity),
    (Given::MassScale, Parameter::MassScale),
    (Given::GainScale, Parameter::GainScale),
    (Given::Friction, Parameter::Friction),
];

/// Some worlds out of their tiles, as tiles of their own.
struct Gathered<R: Pack> {
    worlds: Vec<usize>,
    q: Vec<R>,
    v: Vec<R>,
    control: Vec<R>,
    external: Vec<R>,
    /// In the order of [`Parameter::ALL`], shape `[tile][len]`.
    parameters: [Vec<R>; PARAMETERS],
    memory: Vec<Memory<R>>,
    reports: Vec<WorldReport>,
    watched: Vec<Option<Vec<ContactRecord>>>,
    past: Past<R>,
}

/// Component `k` of q and then v of a world, of tiles of shape `[tile][nq]` and `[tile][nv]`.
fn state_number<R: Pack>(q: &[R], v: &[R], [nq, nv]: [usize; 2], k: usize, world: usize) -> f32 {
    let tile = world / R::LANES;
    let x = if k < nq { q[tile * nq + k] } else { v[tile * nv + k - nq] };
    x.get(world % R::LANES).to_f64() as f32
}

impl<R: Pack> Core<R> {
    /// Steps on the device; what halts there, here.
    pub(super) fn step_on_device(
        &mut self,
        mut on: Box<OnDevice<R>>,
        substeps: u32,
        given: [&[f64]; 2],
        see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>,
    ) -> (Box<OnDevice<R>>, Result<()>) {
        let stepped = self.step_there(&mut on, substeps, given, see);
        (on, stepped)
    }

    fn step_there(
        &mut self,
        on: &mut OnDevice<R>,
        substeps: u32,
        [control, external]: [&[f64]; 2],
        see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>,
    ) -> Result<()> {
        let (nq, nv, nu) = (self.plan.model.nq(), self.plan.model.nv(), self.plan.model.nu());
        let resident = on.resident()?;
        if on.state_is_new {
            let (q, v) = (&self.q, &self.v);
            resident.write_state(|k, world| state_number::<R>(q, v, [nq, nv], k, world));
            if !on.memory_is_there {
                resident.write_memory(|world| self.memory[world / R::LANES].of(world % R::LANES));
            }
        }
        resident.give(Given::Control, |u, world| control[world * nu + u] as f32);
        resident.give(Given::External, |d, world| external[world * nv + d] as f32);
        if on.parameters_are_new {
            for (what, parameter) in GIVEN {
                let field = self.field(parameter);
                resident.give(what, |k, world| field.of(k, world).to_f64() as f32);
            }
        }
        // what feels its contacts is watched, and who watches a world or its blocks sees them on the CPU, which also knows all parameters
        let unknown = Parameter::ALL.into_iter().filter(|p| GIVEN.iter().all(|(_, given)| given != p));
        let unknown: Vec<_> = unknown.map(|p| self.field(p)).filter(|field| !field.is_shared()).collect();
        let stays = |world: usize| {
            see.is_some() || self.watched[world].is_some() || unknown.iter().any(|field| field.differs(world))
        };
        resident.begin(stays, |world| on.forgets[world]);
        if self.plan.profile {
            resident.step_timed(substeps, &mut on.seconds.lock().unwrap_or_else(PoisonError::into_inner))?;
        } else {
            resident.step(substeps)?;
        }
        let can_grow = resident.can_grow();
        (on.state_is_new, on.parameters_are_new, on.memory_is_there) = (false, false, true);
        *on.read.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        let mut halted = Vec::new();
        let mut crowded = false;
        let (q, v, reports) = (&mut self.q, &mut self.v, &mut self.reports);
        on.resident()?.read(|world, number, outcome| {
            let (tile, lane) = (world / R::LANES, world % R::LANES);
            let x = |k: usize| R::Scalar::from_f64(f64::from(number(k)));
            // a world that never began stays as the host has it, to the bit
            let done = outcome.report.steps;
            if done > 0 {
                (0..nq).for_each(|k| q[tile * nq + k].set(lane, x(k)));
                (0..nv).for_each(|k| v[tile * nv + k].set(lane, x(nq + k)));
                reports[world] = WorldReport { unsolved_in_a_row: 0, ..outcome.report };
            }
            if done < substeps {
                halted.push((done, world));
                crowded |= outcome.no_room && can_grow;
            }
        })?;
        for (forgets, report) in on.forgets.iter_mut().zip(&self.reports) {
            *forgets &= report.steps == 0;
        }
        if !halted.is_empty() {
            let worlds: Vec<usize> = halted.iter().map(|(_, world)| *world).collect();
            if crowded {
                // all that lies on the device goes with what there is no room in
                on.take_memory(&mut self.memory);
            } else {
                on.read_memory_of(&worlds, &mut self.memory)?;
            }
            self.catch_up(&on.workers, halted, substeps, [control, external], see)?;
            if !crowded {
                let (q, v) = (&self.q, &self.v);
                let number = |k: usize, world: usize| state_number::<R>(q, v, [nq, nv], k, world);
                let memory = |world: usize| self.memory[world / R::LANES].of(world % R::LANES);
                on.resident()?.write_worlds(&worlds, number, memory)?;
            }
        }
        if crowded {
            let grown = on.resident.take().map(|resident| resident.grow(&self.plan)).transpose()?;
            on.resident = grown.map(Box::new);
            on.parameters_are_new = true;
        }
        Ok(())
    }

    /// Steps the worlds that halted (substeps done, world) through those that they missed.
    fn catch_up(
        &mut self,
        workers: &Mutex<Vec<Worker<R>>>,
        mut halted: Vec<(u32, usize)>,
        substeps: u32,
        given: [&[f64]; 2],
        see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>,
    ) -> Result<()> {
        halted.sort_unstable();
        for together in halted.chunk_by(|a, b| a.0 == b.0) {
            let missed = substeps - together[0].0;
            let most = self.plan.most_tiles() * R::LANES;
            let parts: Vec<Vec<usize>> =
                together.chunks(most).map(|part| part.iter().map(|(_, world)| *world).collect()).collect();
            let gathered: Vec<_> = parts.into_iter().map(|worlds| self.gather(worlds, given)).collect();
            let plan = &self.plan;
            let stepped = Mutex::new(Vec::new());
            use rayon::prelude::*;
            self.threads.each(gathered.into_par_iter(), |mut some| {
                let pooled = workers.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let mut worker = pooled.unwrap_or_else(|| Worker::new(plan, plan.most_tiles(), false));
                some.step(plan, &mut worker, missed, see);
                workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
                stepped.lock().unwrap_or_else(PoisonError::into_inner).push(some);
            })?;
            for some in stepped.into_inner().unwrap_or_else(PoisonError::into_inner) {
                self.put_back(some);
            }
        }
        Ok(())
    }

    fn gather(&mut self, worlds: Vec<usize>, [control, external]: [&[f64]; 2]) -> Gathered<R> {
        let model = &*self.plan.model;
        let (nq, nv, nu, tiles) = (model.nq(), model.nv(), model.nu(), worlds.len().div_ceil(R::LANES));
        let zeros = |len: usize| vec![R::zero(); tiles * len];
        let lens = Parameter::ALL.map(|parameter| parameters_of(&self.fields, 0).of(parameter).len());
        let mut some = Gathered {
            q: zeros(nq),
            v: zeros(nv),
            control: zeros(nu.max(1)),
            external: zeros(nv),
            parameters: lens.map(zeros),
            memory: vec![Memory::default(); tiles],
            reports: Vec::new(),
            watched: Vec::new(),
            past: self.past.alike(worlds.len()),
            worlds,
        };
        for (at, &world) in some.worlds.iter().enumerate() {
            let (tile, lane) = (at / R::LANES, at % R::LANES);
            carry(&self.q, world, &mut some.q, at, nq);
            carry(&self.v, world, &mut some.v, at, nv);
            for (from, to, len) in [(control, &mut some.control, nu), (external, &mut some.external, nv)] {
                for i in 0..len {
                    to[tile * len + i].set(lane, R::Scalar::from_f64(from[world * len + i]));
                }
            }
            let own = parameters_of(&self.fields, world / R::LANES);
            for ((parameter, len), to) in Parameter::ALL.into_iter().zip(lens).zip(&mut some.parameters) {
                for (i, x) in own.of(parameter).iter().enumerate() {
                    to[tile * len + i].set(lane, x.get(world % R::LANES));
                }
            }
            some.memory[tile].set(lane, &self.memory[world / R::LANES].of(world % R::LANES));
            some.reports.push(self.reports[world]);
            some.watched.push(self.watched[world].take());
        }
        some
    }

    fn put_back(&mut self, some: Gathered<R>) {
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
        let mut chunk = Chunk {
            first_world,
            q: &mut self.q,
            v: &mut self.v,
            control: &mut self.control,
            external: &mut self.external,
            parameters: &parameters,
            memory: &mut self.memory,
            reports: &mut self.reports,
            watched: &mut self.watched,
        };
        let mut past = self.past.whole(&plan.model);
        for _ in 0..substeps {
            past.before(&chunk);
            worker.step(plan, &mut chunk, see);
            past.after(&chunk);
        }
    }
}
