//! The worlds in one number type: state in tiles, workers, and who solves.

#[cfg(feature = "gpu")]
use super::backends::solve_on_device;
use super::backends::{Solver, choose_solver};
use super::fields::{Field, parameters_of};
use super::observe::Observer;
#[cfg(feature = "gpu")]
use super::on_device::OnDevice;
use super::past::Past;
use super::threads::Threads;
use super::{
    Backend, Call, ContactRecord, Engine, Frame, Mask, NumbersMut, Parameter, Quantity, Settings, State, Waiting,
    WorldReport,
};
#[cfg(feature = "gpu")]
use crate::error::Error;
use crate::error::Result;
#[cfg(feature = "gpu")]
use crate::gpu::Device;
use crate::lane::{Pack, Scalar};
use crate::model::{Model, Reading};
use crate::parameters::PARAMETERS;
#[cfg(feature = "gpu")]
use crate::resident::StageComparison;
use crate::solver::DeviceWork;
use crate::step::{Chunk, Memory, Plan, Remembered, StageTimes, Worker};
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// The worlds in one number type.
pub(super) struct Core<R: Pack> {
    pub plan: Plan,
    pub world_count: usize,
    pub tile_count: usize,
    /// Position, shape `[tile][nq][lane]`.
    pub q: Vec<R>,
    /// Velocity, shape `[tile][nv][lane]`.
    pub v: Vec<R>,
    /// Control, and then activation, shape `[tile][nu + na][lane]`, not empty even without actuators.
    pub drive: Vec<R>,
    /// Generalized force from outside, shape `[tile][nv][lane]`.
    external: Vec<R>,
    /// Parameters, in the order of [`Parameter::ALL`].
    pub fields: [Field<R>; PARAMETERS],
    /// What the worlds remember, shape `[tile]`; see [`OnDevice`] for worlds on a device.
    pub memory: Vec<Memory<R>>,
    pub reports: Vec<WorldReport>,
    pub watched: Vec<Option<Vec<ContactRecord>>>,
    /// What the worlds keep of the last call of `step`.
    pub past: Past<R>,
    pub observers: Mutex<Vec<Observer<R>>>,
    pub solver: Solver<R>,
    pub threads: Threads,
    pub notes: Vec<String>,
}

impl<R: Pack> Core<R> {
    pub(super) fn new(model: &Arc<Model>, world_count: usize, settings: Settings) -> Result<Self> {
        let tile_count = world_count.div_ceil(R::LANES);
        let rest: Vec<R> = model.q0.iter().map(|x| R::constant(*x)).collect();
        let plan = Plan::new(model.clone(), settings);
        let threads = Threads::new(plan.settings.threads);
        let mut notes = Vec::new();
        let surface = [plan.settings.restitution, plan.settings.compliance];
        let solver = choose_solver(&plan, world_count, &threads, &mut notes)?;
        Ok(Self {
            q: rest.repeat(tile_count),
            v: vec![R::zero(); tile_count * model.nv()],
            drive: vec![R::zero(); tile_count * model.drive_len().max(1)],
            external: vec![R::zero(); tile_count * model.nv()],
            fields: Parameter::ALL.map(|p| Field::new(&p.completed(model, &p.shared(model, surface)))),
            memory: vec![Memory::default(); tile_count],
            reports: vec![WorldReport::default(); world_count],
            watched: vec![None; world_count],
            past: Past::new(world_count),
            observers: Mutex::default(),
            plan,
            world_count,
            tile_count,
            solver,
            threads,
            notes,
        })
    }

    fn with_workers(&mut self, see: impl FnMut(&mut Worker<R>)) {
        match &mut self.solver {
            Solver::Cpu { workers } => {
                workers.get_mut().unwrap_or_else(PoisonError::into_inner).iter_mut().for_each(see);
            }
            #[cfg(feature = "gpu")]
            Solver::Hybrid { workers, .. } => workers.iter_mut().for_each(see),
            #[cfg(feature = "gpu")]
            Solver::Gpu(_) => {}
        }
    }

    /// Does `work` with the device that steps the worlds.
    #[cfg(feature = "gpu")]
    pub(super) fn with_device(&mut self, work: impl FnOnce(&mut Self, &mut OnDevice<R>) -> Result<()>) -> Result<()> {
        let mut solver = std::mem::replace(&mut self.solver, Solver::cpu());
        let done = if let Solver::Gpu(on) = &mut solver { work(self, on) } else { Ok(()) };
        self.solver = solver;
        done
    }

    pub(super) fn field(&self, parameter: Parameter) -> &Field<R> {
        &self.fields[parameter as usize]
    }
}

/// Whether a model has touch sensors.
fn touches(model: &Model) -> bool {
    model.sensors.iter().any(|sensor| matches!(sensor.reading, Some(Reading::Touch(_))))
}

impl<R: Pack> Engine for Core<R> {
    fn begin(&mut self, call: &Call<'_>) -> Result<()> {
        #[cfg(feature = "gpu")]
        if matches!(self.solver, Solver::Gpu(_)) {
            return self.with_device(|core, on| core.begin_on_device(on, call));
        }
        let (plan, model, see) = (&self.plan, &*self.plan.model, call.see);
        for report in &mut self.reports {
            *report = report.begun();
        }
        let fields = &self.fields;
        let parameters = |t: usize| parameters_of(fields, t);
        let tiles_per_chunk = self.tile_count.div_ceil(self.threads.count());
        let tiles_per_chunk = match &mut self.solver {
            Solver::Cpu { .. } => tiles_per_chunk.min(plan.most_tiles()),
            // The device solves all chunks at once, one a thread that was counted when the workers were made.
            #[cfg(feature = "gpu")]
            Solver::Hybrid { workers, .. } => tiles_per_chunk.max(self.tile_count.div_ceil(workers.len())),
            #[cfg(feature = "gpu")]
            Solver::Gpu(_) => return Ok(()),
        };
        let (nq, nv, nd) = (model.nq(), model.nv(), model.drive_len());
        let worlds = tiles_per_chunk * R::LANES;
        let state = (
            self.q.par_chunks_mut(tiles_per_chunk * nq),
            self.v.par_chunks_mut(tiles_per_chunk * nv),
            self.drive.par_chunks_mut(tiles_per_chunk * nd.max(1)),
            self.external.par_chunks_mut(tiles_per_chunk * nv),
            self.memory.par_chunks_mut(tiles_per_chunk),
            self.reports.par_chunks_mut(worlds),
            self.watched.par_chunks_mut(worlds),
            self.past.parts(model, tiles_per_chunk),
        );
        let chunks = state.into_par_iter().enumerate().map(
            |(c, (q, v, drive, external, memory, reports, watched, (past, mut felt)))| {
                let (first_world, parameters) = (c * worlds, &parameters);
                felt.clear(model, q);
                let mut chunk =
                    Chunk { first_world, q, v, drive, external, parameters, memory, reports, watched, felt };
                chunk.load(model, call.control.given(), call.external);
                (chunk, past)
            },
        );
        match &mut self.solver {
            Solver::Cpu { workers } => {
                let workers = &*workers;
                self.threads.each(chunks, |(mut chunk, mut past)| {
                    let chunk = &mut chunk;
                    // A worker holds scratch only, so one left by a thread that panicked is as good as new.
                    let pooled = workers.lock().unwrap_or_else(PoisonError::into_inner).pop();
                    let tile_count = self.tile_count.min(plan.most_tiles());
                    let mut worker = pooled.unwrap_or_else(|| Worker::new(plan, tile_count, false));
                    for left in (0..call.substeps).rev() {
                        if left == 0 {
                            past.before(chunk);
                        }
                        worker.step(plan, chunk, see);
                    }
                    workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
                })
            }
            #[cfg(feature = "gpu")]
            Solver::Hybrid { workers, gpu } => self.threads.run(|| {
                let mut chunks: Vec<_> = chunks.collect();
                for (left, evaluation) in
                    (0..call.substeps).rev().flat_map(|left| (0..plan.evaluations).map(move |j| (left, j)))
                {
                    (workers.par_iter_mut().zip(chunks.par_iter_mut())).for_each(|(worker, (chunk, past))| {
                        if left == 0 && evaluation == 0 {
                            past.before(chunk);
                        }
                        worker.begin(plan, chunk, evaluation, None);
                    });
                    solve_on_device(plan, workers, gpu, &mut self.notes)?;
                    (workers.par_iter_mut().zip(chunks.par_iter_mut())).for_each(|(worker, (chunk, _))| {
                        worker.complete(plan, chunk, evaluation, see);
                    });
                }
                Ok(())
            })?,
            #[cfg(feature = "gpu")]
            Solver::Gpu(_) => Ok(()),
        }
    }

    #[cfg(feature = "gpu")]
    fn finish<'a>(&'a mut self, call: &'a Call<'a>) -> Option<Waiting<'a>> {
        if !matches!(self.solver, Solver::Gpu(_)) {
            return None;
        }
        Some(Box::pin(async move {
            // a browser has no thread that could wait
            if !cfg!(target_family = "wasm") {
                return self.with_device(|core, on| {
                    let (arrived, early) = core.arrive(on, call);
                    core.finish_on_device(on, arrived, early, call)
                });
            }
            let Solver::Gpu(on) = &mut self.solver else { return Ok(()) };
            let arrived = on.arrived(Vec::new()).await;
            self.with_device(|core, on| core.finish_on_device(on, arrived, Vec::new(), call))
        }))
    }

    #[cfg(not(feature = "gpu"))]
    fn finish<'a>(&'a mut self, _: &'a Call<'a>) -> Option<Waiting<'a>> {
        None
    }

    #[cfg(feature = "gpu")]
    fn move_to(&mut self, device: Device) -> Result<()> {
        self.plan.settings.backend = Backend::Gpu;
        self.plan.settings.device = device.choice().clone();
        self.notes.extend(device.info().warning());
        self.solver = Solver::Gpu(Box::new(OnDevice::new(&self.plan, device, self.world_count)?));
        Ok(())
    }

    fn reports(&self) -> &[WorldReport] {
        &self.reports
    }

    fn positions(&self, out: NumbersMut<'_>) -> Result<()> {
        self.read_positions(out)
    }

    fn velocities(&self, out: NumbersMut<'_>) -> Result<()> {
        self.read_velocities(out)
    }

    fn activations(&self, out: NumbersMut<'_>) {
        self.read_activations(out);
    }

    fn set_activation(&mut self, world: usize, activation: &[f64]) {
        self.write_activation(world, activation);
    }

    #[cfg(feature = "gpu")]
    fn bring_back(&mut self, quantities: Option<&[Quantity]>) -> Result<()> {
        match &mut self.solver {
            Solver::Gpu(on) => on.bring_back(&self.plan, quantities),
            _ => Ok(()),
        }
    }

    #[cfg(feature = "gpu")]
    fn behind(&self) -> &[bool] {
        if let Solver::Gpu(on) = &self.solver { on.brought.behind() } else { &[] }
    }

    #[cfg(feature = "gpu")]
    fn fetched(&self) -> &[usize] {
        if let Solver::Gpu(on) = &self.solver { &on.brought.fetched } else { &[] }
    }

    fn write(&mut self, mask: Mask<'_>, state: &State<'_>) -> Result<()> {
        self.write_states(mask, state)
    }

    fn parameter(&self, parameter: Parameter, world: usize, out: &mut [f64]) {
        let tile = self.field(parameter).tile(world / R::LANES);
        out.iter_mut().zip(tile).for_each(|(x, pack)| *x = pack.get(world % R::LANES).to_f64());
    }

    fn is_shared(&self, parameter: Parameter) -> bool {
        self.field(parameter).is_shared()
    }

    fn share(&mut self, parameter: Parameter) {
        self.fields[parameter as usize].share();
        #[cfg(feature = "gpu")]
        if let Solver::Gpu(on) = &mut self.solver {
            on.parameter_changed(None);
        }
    }

    fn set_parameter(&mut self, parameter: Parameter, world: usize, values: &[f64]) {
        let (tiles, values) = (self.tile_count, parameter.completed(&self.plan.model, values));
        self.fields[parameter as usize].set(tiles, world, &values);
        #[cfg(feature = "gpu")]
        if let Solver::Gpu(on) = &mut self.solver {
            on.parameter_changed(Some(world));
        }
    }

    fn set_contact_capacity(&mut self, capacity: Option<usize>) -> Result<()> {
        self.plan.settings.contact_capacity = capacity;
        // shaders know it as a constant
        #[cfg(feature = "gpu")]
        self.with_device(|core, on| {
            let read = core.take_all(on);
            on.take_memory(&mut core.memory);
            read.map_err(|error| on.fail(&mut core.memory, error))?;
            on.lose(&mut core.memory);
            Ok(())
        })?;
        Ok(())
    }

    fn watch(&mut self, world: usize, on: bool) {
        // Touch sensors that are felt ask where their contacts are.
        self.watched[world] = (on || self.past.is_kept() && touches(&self.plan.model)).then(Vec::new);
    }

    fn feel(&mut self, on: bool) {
        if on != self.past.is_kept() {
            self.past = if on {
                Past::kept(&self.plan.model, self.plan.evaluations, self.world_count, Vec::new())
            } else {
                Past::new(self.world_count)
            };
            if touches(&self.plan.model) {
                (0..self.world_count).for_each(|world| self.watch(world, on));
            }
        }
    }

    fn feel_between(&mut self, pairs: &[[Frame; 2]]) {
        self.feel(true);
        let mut all = self.past.pairs.clone();
        for pair in pairs {
            if !all.contains(pair) {
                all.push(*pair);
            }
        }
        if all.len() > self.past.pairs.len() {
            self.past = Past::kept(&self.plan.model, self.plan.evaluations, self.world_count, all);
        }
    }

    fn feels(&self, quantity: Quantity) -> bool {
        match quantity {
            Quantity::ContactBetween(a, b) => self.past.pairs.contains(&[a, b]),
            _ => self.past.is_kept() || !quantity.is_felt(&self.plan.model),
        }
    }

    fn observe(
        &self,
        quantities: &[Quantity],
        control: &[f64],
        control_is_new: bool,
        out: NumbersMut<'_>,
    ) -> Result<()> {
        match out {
            NumbersMut::F32(out) => self.observe_as(quantities, control, control_is_new, out, |x| x.to_f64() as f32),
            NumbersMut::F64(out) => self.observe_as(quantities, control, control_is_new, out, Scalar::to_f64),
        }
    }

    fn contacts(&self, world: usize) -> Option<&[ContactRecord]> {
        self.watched[world].as_deref()
    }

    fn memory(&self, world: usize) -> Vec<Remembered> {
        #[cfg(feature = "gpu")]
        if let Solver::Gpu(on) = &self.solver
            && let Some(there) = on.memory_of(world)
        {
            return there;
        }
        self.memory[world / R::LANES].of(world % R::LANES)
    }

    fn set_memory(&mut self, world: usize, memory: &[Remembered]) {
        #[cfg(feature = "gpu")]
        if let Solver::Gpu(on) = &mut self.solver {
            if memory.is_empty() {
                return on.forget(world);
            }
            on.take_memory(&mut self.memory);
        }
        self.memory[world / R::LANES].set(world % R::LANES, memory);
    }

    fn device(&self) -> String {
        match &self.solver {
            Solver::Cpu { .. } => {
                let threads = self.threads.count();
                format!("CPU, {threads} threads × {} lanes ({:?})", R::LANES, self.plan.level)
            }
            #[cfg(feature = "gpu")]
            Solver::Hybrid { gpu, .. } => gpu.info().name.clone(),
            #[cfg(feature = "gpu")]
            Solver::Gpu(on) => on.device_name(),
        }
    }

    fn backend(&self) -> Backend {
        match &self.solver {
            Solver::Cpu { .. } => Backend::Cpu,
            #[cfg(feature = "gpu")]
            Solver::Hybrid { .. } => Backend::Hybrid,
            #[cfg(feature = "gpu")]
            Solver::Gpu(_) => Backend::Gpu,
        }
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn bytes(&self) -> usize {
        let state = [&self.q, &self.v, &self.drive, &self.external].map(Vec::len);
        let fields = self.fields.iter().map(Field::pack_count);
        #[cfg(feature = "gpu")]
        let there = if let Solver::Gpu(on) = &self.solver { on.bytes() } else { 0 };
        #[cfg(not(feature = "gpu"))]
        let there = 0;
        there
            + size_of::<R>() * (state.iter().sum::<usize>() + fields.sum::<usize>())
            + self.memory.iter().map(Memory::bytes).sum::<usize>()
            + size_of::<WorldReport>() * self.reports.len()
            + self.past.bytes()
    }

    fn set_profile(&mut self, on: bool) {
        self.plan.profile = on;
        #[cfg(feature = "gpu")]
        if let Solver::Gpu(there) = &mut self.solver {
            there.clear_times();
        }
        self.with_workers(|worker| worker.times = StageTimes::default());
    }

    fn device_work(&self) -> Option<DeviceWork> {
        match &self.solver {
            #[cfg(feature = "gpu")]
            Solver::Hybrid { gpu, .. } => Some(gpu.work()),
            #[cfg(feature = "gpu")]
            Solver::Gpu(on) => Some(on.work()),
            Solver::Cpu { .. } => None,
        }
    }

    fn shader_times(&self) -> Vec<(String, f64)> {
        match &self.solver {
            #[cfg(feature = "gpu")]
            Solver::Gpu(on) => on.times(),
            _ => Vec::new(),
        }
    }

    #[cfg(feature = "gpu")]
    fn beside_twins(&mut self) -> Result<Vec<StageComparison>> {
        let mut compared = Err(Error::Unsupported("shaders stand beside their twins with backend gpu only".into()));
        self.with_device(|core, on| {
            compared = core.twins_on_device(on);
            Ok(())
        })?;
        compared
    }

    fn stage_times(&mut self) -> StageTimes {
        let mut times = StageTimes::default();
        self.with_workers(|worker| times.add(&worker.times));
        times
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
