//! The step that stays on the device: state, rows and impulses of all worlds lie there, and a step is a chain of shaders.
//!
//! ```text
//! q, v, control ─► free_motion ─► contacts ─► contact_rows ─► contact_terms ─► sweeps ─► finish ─► q⁺, v⁺, what came of it
//! ```
//! Every world is one problem, in factored form: with Y of all its rows, W λ = Yᵀ (Y λ) costs two products with Y, and W is never formed. An invocation is a
//! world; arrays are `[component][world]`. What a shader computes between its loops is recorded from the functions that the CPU runs ([`formulas`]);
//! its loops stand in `shaders/resident/`.
//!
//! A world that the chain cannot step halts: it is not solved, has more contacts than there is room for, a pair near that has no formula here, or would leave
//! all bounds. It keeps its state from before the step, and the CPU steps it from there through what it missed.

mod formulas;
mod layout;
mod shaders;
mod templates;
#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::gpu::{Chain, Device, Dispatch, Kernel, LOOP_BUDGET};
use crate::report::WorldReport;
use crate::solver::{Algorithm, FrictionLaw};
use crate::step::{Identity, Impacts, Plan, Precision, Remembered};
use formulas::Formulas;
use layout::{Layout, MEMORY_LEN, OUTCOME_LEN};
use shaders::{Shader, Stage, movers, shaders, stages};
use std::ops::Range;

/// Most degrees of freedom: more do not fit the registers that z is kept in.
pub(crate) const MOST_DOFS: usize = 64;
/// Contacts of a world that there is room for at first.
const FIRST_CAPACITY: usize = 16;
/// Most contacts of a world that there is ever room for; worlds with more are stepped by the CPU.
const MOST_CAPACITY: usize = 128;
/// Invocations of a workgroup.
const WORKGROUP: usize = 64;
/// Most worlds of a dispatch.
const MOST_WORLDS: usize = 65_535 * WORKGROUP;

/// Worlds that are moved at a time, whole workgroups of them.
const MOVED: usize = 4 * WORKGROUP;

/// Storage bindings, in their order.
const STATE: usize = 1;
const GIVEN: usize = 2;
const TABLES: usize = 6;
const COLUMNS: usize = 7;

/// The worlds of a batch on a device.
#[derive(Debug)]
pub(crate) struct Resident {
    layout: Layout,
    chain: Chain,
    /// The shaders of a step, in flow order.
    stages: Vec<Stage>,
    /// Index of the shader `gather`; `scatter` is the next.
    gather: usize,
    /// The worlds of every set of buffers.
    sets: Vec<Range<usize>>,
    world_count: usize,
}

/// What the device tells of a world after some substeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    /// The certificate of the substeps done; it halted if they are fewer than asked for.
    pub report: WorldReport,
    /// Whether it halted for want of room for its contacts.
    pub no_room: bool,
}

/// What the host gives the device, in the order of the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    Control,
    /// Generalized force from outside.
    External,
    Gravity,
    MassScale,
    GainScale,
    Friction,
}

/// Why `plan` cannot run on a device, if it cannot.
pub(crate) fn obstacle(plan: &Plan) -> Option<String> {
    let (model, settings) = (&*plan.model, &plan.settings);
    let says = |text: &str| Some(text.to_owned());
    if settings.precision == Precision::F64 {
        return says("it steps in f32; use backend cpu for f64, or precision f32");
    }
    if settings.impacts == Impacts::Sequential {
        return says("impacts sequential run on the CPU only; use backend cpu, or impacts simultaneous");
    }
    if settings.algorithm == Algorithm::Jacobi {
        return says("Jacobi sweeps need W, which it never forms; use backend hybrid, or solver auto or pgs");
    }
    if settings.friction == FrictionLaw::Patch {
        return says("patches have no formulas there; use backend hybrid or cpu, or friction cone");
    }
    if model.nv() > MOST_DOFS {
        let nv = model.nv();
        return Some(format!("it takes up to {MOST_DOFS} degrees of freedom, and the model has {nv}; use backend cpu"));
    }
    let pairs = plan.collide.pairs.len();
    if shaders::loops_of_contacts(pairs) > LOOP_BUDGET {
        return Some(format!("the model has {pairs} pairs of geoms, too many for one shader; use backend cpu"));
    }
    if model.nv() == 0 {
        return says("nothing of the model moves; use backend cpu");
    }
    None
}

impl Resident {
    /// Compiles the shaders of `plan`'s model, and makes room for the worlds.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for what cannot run on a device ([`obstacle`]), [`Error::Device`] where the device refuses.
    pub fn new(plan: &Plan, device: Device, world_count: usize) -> Result<Self> {
        if let Some(obstacle) = obstacle(plan) {
            return Err(Error::Unsupported(format!("backend gpu: {obstacle}")));
        }
        let most = 4 * plan.collide.pairs.len();
        Self::with_room(plan, device, world_count, FIRST_CAPACITY.min(most).max(1))
    }

    fn with_room(plan: &Plan, device: Device, world_count: usize, capacity: usize) -> Result<Self> {
        let mut layout = Layout::new(plan, capacity);
        let formulas = Formulas::new(plan, &layout);
        let all = shaders(plan, &formulas, &mut layout);
        let movers = movers(plan, &layout);
        let kernels = all.iter().chain(&movers).map(|Shader { name, source }| Kernel { name, source });
        let kernels: Vec<_> = kernels.collect();
        let chain = Chain::new(device, &kernels, &[true, false, true, true, true, false, true])?;
        let names: Vec<_> = all.iter().map(|shader| &*shader.name).collect();
        let stages = stages(&names);
        let mut resident = Self { layout, chain, stages, gather: all.len(), sets: Vec::new(), world_count };
        resident.make_room()?;
        Ok(resident)
    }

    /// Components of the storage bindings that have one for every world, in their order.
    fn components(&self) -> [usize; 5] {
        let l = &self.layout;
        [l.state_len(), l.given_len(), l.motion_len(), l.contact_buffer_len(), l.rows_buffer_len()]
    }

    /// Makes the buffers, in as many sets as the largest binding asks for.
    fn make_room(&mut self) -> Result<()> {
        let components = self.components();
        let world_bytes = components.iter().max().map_or(4, |c| 4 * c) as u64;
        let most = (self.chain.device().binding_bytes() / world_bytes) as usize / WORKGROUP * WORKGROUP;
        if most == 0 {
            let name = &self.chain.device().info().name;
            return Err(Error::Device(format!("{name} binds too little for one workgroup of worlds; use backend cpu")));
        }
        let most = most.min(MOST_WORLDS);
        let tables = self.layout.tables();
        self.chain.clear();
        self.sets.clear();
        for first in (0..self.world_count).step_by(most) {
            let worlds = first..(first + most).min(self.world_count);
            let stride = worlds.len().next_multiple_of(WORKGROUP);
            let header = |problem| [worlds.len() as u32, stride as u32, f32::INFINITY.to_bits(), problem];
            let headers = [header(0), header(1)];
            let mut bytes: Vec<u64> = components.iter().map(|c| (4 * c * stride) as u64).collect();
            bytes.extend([tables.len(), (1 + self.layout.state_len()) * MOVED].map(|numbers| 4 * numbers as u64));
            self.chain.add_set(&headers.each_ref().map(|header| bytemuck::cast_slice(header)), &bytes)?;
            self.chain.write(self.sets.len(), TABLES, 0, &tables);
            self.sets.push(worlds);
        }
        Ok(())
    }

    fn stride(&self, set: usize) -> usize {
        self.sets[set].len().next_multiple_of(WORKGROUP)
    }

    /// Bytes of device memory a world.
    pub fn bytes_per_world(&self) -> usize {
        4 * self.components().iter().sum::<usize>()
    }

    /// Whether there may be room for more contacts.
    pub fn can_grow(&self) -> bool {
        self.layout.capacity < MOST_CAPACITY
    }

    /// The device.
    pub fn device_name(&self) -> &str {
        &self.chain.device().info().name
    }

    /// Writes what the host gives, as `number` of component and world has it.
    pub fn give(&self, what: Given, number: impl Fn(usize, usize) -> f32) {
        let l = &self.layout;
        let starts =
            [Layout::CONTROL, l.external(), l.gravity(), l.mass_scale(), l.gain_scale(), l.friction(), l.given_len()];
        let [first, end] = [starts[what as usize], starts[what as usize + 1]];
        for (set, worlds) in self.sets.iter().enumerate() {
            let all = columns(end - first, self.stride(set), worlds, &number);
            self.chain.write(set, GIVEN, first * self.stride(set), &all);
        }
    }

    /// Writes q and v, as `number` of component (q, then v) and world has them.
    pub fn write_state(&self, number: impl Fn(usize, usize) -> f32) {
        for (set, worlds) in self.sets.iter().enumerate() {
            let all = columns(self.layout.nq + self.layout.nv, self.stride(set), worlds, &number);
            self.chain.write(set, STATE, 0, &all);
        }
    }

    /// Begins a call of `step`: the worlds that `stay` are not stepped, those that `forget` start from no impulses.
    pub fn begin(&self, stay: impl Fn(usize) -> bool, forget: impl Fn(usize) -> bool) {
        let start = |k: usize, world: usize| match k {
            layout::HALT if stay(world) => layout::ASKED,
            layout::FORGET if forget(world) => 1.0,
            _ => 0.0,
        };
        for (set, worlds) in self.sets.iter().enumerate() {
            let all = columns(OUTCOME_LEN, self.stride(set), worlds, &start);
            self.chain.write(set, STATE, self.layout.outcome() * self.stride(set), &all);
        }
    }

    /// The shaders of a step over one set of worlds.
    fn dispatches(&self, worlds: &Range<usize>) -> Vec<Dispatch> {
        let groups = worlds.len().div_ceil(WORKGROUP) as u32;
        let contacts = |stage: &Stage| if stage.by_contact { self.layout.capacity as u32 } else { 1 };
        let stages = self.stages.iter();
        stages.map(|s| Dispatch { kernel: s.shader, header: s.problem, workgroups: [groups, contacts(s)] }).collect()
    }

    /// Steps all worlds; does not wait.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed before.
    pub fn step(&self, substeps: u32) -> Result<()> {
        for (set, worlds) in self.sets.iter().enumerate() {
            self.chain.run(set, &self.dispatches(worlds), substeps)?;
        }
        Ok(())
    }

    /// Steps all worlds, waits, and adds the seconds that every shader took on the device to `seconds`, by name.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed.
    pub fn step_timed(&self, substeps: u32, seconds: &mut Vec<(String, f64)>) -> Result<()> {
        for (set, worlds) in self.sets.iter().enumerate() {
            for _ in 0..substeps {
                let taken = self.chain.run_timed(set, &self.dispatches(worlds))?;
                for (taken, Stage { name, .. }) in taken.iter().zip(&self.stages) {
                    match seconds.iter_mut().find(|(known, _)| known == name) {
                        Some((_, sum)) => *sum += taken,
                        None => seconds.push((name.clone(), *taken)),
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits, and reads q and v of every world into `see` (world, numbers of q and then v), and what came of it.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed.
    pub fn read(&self, mut see: impl FnMut(usize, &dyn Fn(usize) -> f32, Outcome)) -> Result<()> {
        let l = &self.layout;
        for (set, worlds) in self.sets.iter().enumerate() {
            let stride = self.stride(set);
            let all = self.chain.read(set, STATE, 0..l.scalar_memory() * stride)?;
            for (i, world) in worlds.clone().enumerate() {
                let number = |k: usize| all[k * stride + i];
                see(world, &number, outcome(&|k| number(l.outcome() + k)));
            }
        }
        Ok(())
    }

    /// Reads what all worlds remember into `see` (world, impulses).
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed.
    pub fn read_memory(&self, mut see: impl FnMut(usize, Vec<Remembered>)) -> Result<()> {
        let l = &self.layout;
        for (set, worlds) in self.sets.iter().enumerate() {
            let stride = self.stride(set);
            let first = l.scalar_memory();
            let all = self.chain.read(set, STATE, first * stride..l.state_len() * stride)?;
            for (i, world) in worlds.clone().enumerate() {
                see(world, l.remembered(&|k| all[(k - first) * stride + i]));
            }
        }
        Ok(())
    }

    /// `worlds`, by sets of buffers and at most [`MOVED`] at a time.
    fn moved<'a>(&self, worlds: &'a [usize]) -> impl Iterator<Item = (usize, Vec<usize>)> + use<'_, 'a> {
        self.sets.iter().enumerate().flat_map(|(set, all)| {
            let there: Vec<usize> = worlds.iter().copied().filter(|world| all.contains(world)).collect();
            let pieces: Vec<_> = there.chunks(MOVED).map(|some| (set, some.to_vec())).collect();
            pieces
        })
    }

    /// Runs `gather` or `scatter` on the worlds that are listed in [`COLUMNS`]; does not wait.
    fn run_mover(&self, set: usize, kernel: usize) -> Result<()> {
        let workgroups = [(MOVED / WORKGROUP) as u32, self.layout.state_len() as u32];
        self.chain.run(set, &[Dispatch { kernel, header: 0, workgroups }], 1)
    }

    /// Lists worlds of a set, with numbers that follow.
    fn write_columns(&self, set: usize, worlds: &[usize], numbers: &[f32]) {
        let mut list = vec![-1.0; MOVED];
        for (to, world) in list.iter_mut().zip(worlds) {
            *to = (world - self.sets[set].start) as f32;
        }
        list.extend_from_slice(numbers);
        self.chain.write(set, COLUMNS, 0, &list);
    }

    /// Waits, and reads what some worlds remember into `see` (world, impulses).
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed.
    pub fn read_memory_of(&self, worlds: &[usize], mut see: impl FnMut(usize, Vec<Remembered>)) -> Result<()> {
        let l = &self.layout;
        for (set, some) in self.moved(worlds) {
            self.write_columns(set, &some, &[]);
            self.run_mover(set, self.gather)?;
            let first = l.scalar_memory();
            let all = self.chain.read(set, COLUMNS, (1 + first) * MOVED..(1 + l.state_len()) * MOVED)?;
            for (at, world) in some.into_iter().enumerate() {
                see(world, l.remembered(&|k| all[(k - first) * MOVED + at]));
            }
        }
        Ok(())
    }

    /// Writes q and v of some worlds, as `number` of component and world has them, and what they remember.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed before.
    pub fn write_worlds(
        &self,
        worlds: &[usize],
        number: impl Fn(usize, usize) -> f32,
        memory: impl Fn(usize) -> Vec<Remembered>,
    ) -> Result<()> {
        let l = &self.layout;
        for (set, some) in self.moved(worlds) {
            // the outcome between them is written anew before the next step
            let mut all = vec![0.0; l.state_len() * MOVED];
            for (at, &world) in some.iter().enumerate() {
                (0..l.nq + l.nv).for_each(|k| all[k * MOVED + at] = number(k, world));
                l.remember(&memory(world), |k, x| all[k * MOVED + at] = x);
            }
            self.write_columns(set, &some, &all);
            self.run_mover(set, self.gather + 1)?;
        }
        Ok(())
    }

    /// Writes what all worlds remember, as `memory` has it.
    pub fn write_memory(&self, memory: impl Fn(usize) -> Vec<Remembered>) {
        let l = &self.layout;
        for (set, worlds) in self.sets.iter().enumerate() {
            let (stride, first) = (self.stride(set), l.scalar_memory());
            let mut all = vec![0.0; (l.state_len() - first) * stride];
            for (i, world) in worlds.clone().enumerate() {
                l.remember(&memory(world), |k, x| all[(k - first) * stride + i] = x);
            }
            self.chain.write(set, STATE, first * stride, &all);
        }
    }

    /// Room for twice the contacts; all that lies on the device is gone.
    ///
    /// # Errors
    /// As [`Resident::new`].
    pub fn grow(self, plan: &Plan) -> Result<Self> {
        let capacity = (2 * self.layout.capacity).min(MOST_CAPACITY);
        Self::with_room(plan, self.chain.into_device(), self.world_count, capacity)
    }
}

/// Numbers of some components of some worlds, shape `[component][stride]`.
fn columns(components: usize, stride: usize, worlds: &Range<usize>, number: &impl Fn(usize, usize) -> f32) -> Vec<f32> {
    let mut all = vec![0.0; components * stride];
    for (k, column) in all.chunks_exact_mut(stride).enumerate() {
        for (x, world) in column.iter_mut().zip(worlds.clone()) {
            *x = number(k, world);
        }
    }
    all
}

fn outcome(number: &dyn Fn(usize) -> f32) -> Outcome {
    let count = |k: usize| number(k) as u32;
    let (sweeps, newton_steps) = (count(layout::SWEEPS), count(layout::NEWTON_STEPS));
    let report = WorldReport {
        steps: count(layout::DONE),
        iterations: sweeps + newton_steps,
        sweeps,
        newton_steps,
        residual: f64::from(number(layout::RESIDUAL)),
        floor: f64::from(number(layout::FLOOR)),
        penetration: f64::from(number(layout::PENETRATION)),
        contact_count: number(layout::CONTACTS) as usize,
        row_count: number(layout::ROWS) as usize,
        capacity_needed: number(layout::FOUND) as usize,
        ..WorldReport::default()
    };
    Outcome { report, no_room: number(layout::HALT) == layout::NO_ROOM }
}

impl Layout {
    /// What a world remembers, from its numbers.
    fn remembered(&self, number: &dyn Fn(usize) -> f32) -> Vec<Remembered> {
        let mut all = Vec::new();
        for c in 0..number(self.memory()) as usize {
            let at = self.memory() + 1 + MEMORY_LEN * c;
            let impulse = [2, 3, 4].map(|k| f64::from(number(at + k)));
            all.push((Identity::Contact(number(at) as u32, number(at + 1) as u32).key(), impulse));
        }
        for s in 0..self.scalar_rows() {
            let key = match s.checked_sub(self.joint_rows) {
                None => Identity::JointRow(s as u32),
                Some(row) => Identity::Equality(row as u32),
            };
            all.push((key.key(), [f64::from(number(self.scalar_memory() + s)), 0.0, 0.0]));
        }
        all
    }

    /// The numbers of what a world remembers. Contacts that there is no room for are forgotten: they are a first guess only.
    fn remember(&self, all: &[Remembered], mut put: impl FnMut(usize, f32)) {
        let mut contacts = 0;
        for (key, impulse) in all {
            match Identity::of(*key) {
                Identity::Contact(pair, feature) if contacts < self.capacity => {
                    let at = self.memory() + 1 + MEMORY_LEN * contacts;
                    put(at, pair as f32);
                    put(at + 1, feature as f32);
                    (0..3).for_each(|k| put(at + 2 + k, impulse[k] as f32));
                    contacts += 1;
                }
                Identity::JointRow(row) if (row as usize) < self.joint_rows => {
                    put(self.scalar_memory() + row as usize, impulse[0] as f32);
                }
                Identity::Equality(row) if (row as usize) < self.equality_rows => {
                    put(self.scalar_memory() + self.joint_rows + row as usize, impulse[0] as f32);
                }
                _ => {}
            }
        }
        put(self.memory(), contacts as f32);
    }
}
