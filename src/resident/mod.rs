//! The step that stays on the device: state, rows and impulses of all worlds lie there, and a step is a chain of shaders.
//!
//! ```text
//! q, v, control ─► free_motion ─► contacts ─► contact_rows ─► contact_terms ─► sweeps ─► finish ─► q⁺, v⁺, what came of it
//! ```
//! Every world is one problem, in factored form: with Y of all its rows, W λ = Yᵀ (Y λ) costs two products with Y, and W is never formed. An invocation is a
//! world; arrays are `[component][world]`. What a shader computes between its loops is recorded from the functions that the CPU runs ([`formulas`]);
//! its loops stand in `shaders/resident/`. Where contacts may be patches, `patch_rows` follows `contact_rows`, and the other stages know of them ([`patch_formulas`],
//! [`patch_templates`]); the law of a patch itself is that of `shaders/patch/`. Where Jacobi sweeps, `row_sums` follows `contact_rows` ([`jacobi`]).
//!
//! A world that the chain cannot step halts: it is not solved, has more contacts than there is room for, a pair near that has no formula here, or would leave
//! all bounds. It keeps its state from before the step, and the CPU steps it from there through what it missed.

mod bisect;
#[cfg(test)]
mod elimination;
mod formulas;
mod jacobi;
mod layout;
mod looks;
mod loops;
mod memory;
mod moving;
mod newton_templates;
mod observation;
mod patch_formulas;
mod patch_templates;
mod shaders;
mod small;
mod templates;
mod tile;
#[cfg(test)]
mod proof;
#[cfg(test)]
mod tests;
mod twin;
mod twin_jacobi;
mod twin_newton;
mod twin_patches;
mod twin_small;

use crate::error::{Error, Result};
use crate::gpu::{Arrived, Chain, Device, Dispatch, Kernel, LOOP_BUDGET};
use crate::model::Transmission;
use crate::report::WorldReport;
use crate::solver::{DeviceWork, FrictionLaw};
use crate::step::{Constraints, Impacts, Plan, Precision};
use formulas::Formulas;
use layout::{Layout, OUTCOME_LEN};
use looks::MOST_LOOKS;
use loops::worlds_of_a_workgroup;
use observation::Observation;
use shaders::{Shader, Spread, Stage, draw, movers, shaders, stages};
use std::ops::Range;

pub use bisect::StageComparison;
pub(crate) use looks::Left;

/// Most degrees of freedom: more do not fit the registers that z is kept in.
pub(crate) const MOST_DOFS: usize = 64;
/// Contacts of a world that there is room for at first.
const FIRST_CAPACITY: usize = 16;
/// Most contacts of a world that there is ever room for; worlds with more are stepped by the CPU.
const MOST_CAPACITY: usize = 128;
/// Invocations of a workgroup.
const WORKGROUP: usize = 64;
/// Most workgroups of a dispatch.
const MOST_WORKGROUPS: usize = 65_535;

/// Shaders behind `gather`.
const SCATTER: usize = 1;
const LOOK: usize = 2;
const DRAW: usize = 3;

/// Worlds that are moved at a time, whole workgroups of them.
const MOVED: usize = 4 * WORKGROUP;
/// Numbers that `draw` is told beside the laws.
const DRAWN: usize = 6;
/// Moving a world is as much work as writing so many.
const MOVING: usize = 2;

/// Storage bindings, in their order.
const STATE: usize = 1;
const GIVEN: usize = 2;
const MOTION: usize = 3;
const TABLES: usize = 6;
const COLUMNS: usize = 7;
/// How many worlds are listed, in how many lists, and where those of both problems begin that are to be swept on; the only binding that has no column for every world, but for the two before it.
const LISTED: usize = 8;
const LISTS: usize = 5;
const UNFINISHED: usize = 3;

/// The headers of a set of buffers: which problem is at hand, and which turn of its stage.
const HEADERS: [[u32; 2]; 4] = [[0, 0], [1, 0], [0, 1], [1, 1]];

/// The worlds of a batch on a device.
#[derive(Debug)]
pub(crate) struct Resident {
    layout: Layout,
    chain: Chain,
    /// The shaders of a step, in flow order.
    stages: Vec<Stage>,
    /// Index of the shader `gather`; `scatter` is the next, then `look`, then `draw`.
    gather: usize,
    /// The worlds of every set of buffers.
    sets: Vec<Range<usize>>,
    world_count: usize,
    /// Most contacts of a world that there is memory for, as far as is known.
    most_capacity: usize,
    /// How many worlds a workgroup of Newton may have to take on.
    worlds_of_a_workgroup: usize,
    /// What a call brings back in the place of q and v; none: those.
    observation: Option<Observation>,
}

/// What the device answers of the worlds of a set of buffers, see [`Resident::answers`].
#[derive(Debug)]
pub(crate) struct Answer {
    pub worlds: Range<usize>,
    /// Whether q and v are what is brought back, rather than quantities.
    pub has_state: bool,
    stride: usize,
    outcome: usize,
    /// q, v and what came of it, or what came of it and quantities, shape `[component][stride]`.
    numbers: Arrived,
}

/// What the device tells of a world after some substeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    /// The certificate of the substeps done.
    pub report: WorldReport,
    /// Whether that was for want of room for its contacts.
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
    if settings.constraints == Constraints::Soft {
        return says("constraints soft are posed on the CPU only; use backend cpu or hybrid");
    }
    if model.nv() > MOST_DOFS {
        let nv = model.nv();
        return Some(format!("it takes up to {MOST_DOFS} degrees of freedom, and the model has {nv}; use backend cpu"));
    }
    if plan.collide.has_land() {
        return says("contacts on height fields are found on the CPU only; use backend cpu");
    }
    if model.na() > 0 {
        return says("actuators with activation run on the CPU only; use backend cpu");
    }
    if model.actuators.iter().any(|actuator| matches!(actuator.transmission, Transmission::Body(_))) {
        return says("actuators that adhere run on the CPU only; use backend cpu");
    }
    let has_medium = model.medium.density > 0.0 || model.medium.viscosity > 0.0;
    if has_medium && model.geoms.iter().any(|geom| geom.fluid.is_some()) {
        return says("ellipsoids in a medium (fluidshape) are the CPU's only; use backend cpu");
    }
    let pairs = plan.collide.pairs.len();
    if loops::loops_of_contacts(pairs, settings.friction == FrictionLaw::Patch) > LOOP_BUDGET {
        return Some(format!("the model has {pairs} pairs of geoms, too many for one shader; use backend cpu"));
    }
    if model.nv() == 0 {
        return says("nothing of the model moves; use backend cpu");
    }
    None
}

impl Resident {
    /// Compiles the shaders of `plan`'s model, and makes room for the worlds, and for `capacity` contacts of each; none: for as many as there is room for at first.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for what cannot run on a device ([`obstacle`]), [`Error::Device`] where the device refuses, or has not got the memory; the text then says how many
    /// worlds it has room for.
    pub fn new(plan: &Plan, device: Device, world_count: usize, capacity: Option<usize>) -> Result<Self> {
        if let Some(obstacle) = obstacle(plan) {
            return Err(Error::Unsupported(format!("backend gpu: {obstacle}")));
        }
        let first = FIRST_CAPACITY.min(4 * plan.collide.pairs.len()).max(1);
        let mut resident = Self::compiled(plan, device, world_count, capacity.unwrap_or(first))?;
        if resident.make_room(world_count)? {
            return Ok(resident);
        }
        // the most that there is room for, in workgroups
        let (mut most, mut too_many) = (0, world_count.div_ceil(WORKGROUP));
        while too_many - most > 1 {
            let middle = most + (too_many - most) / 2;
            if resident.make_room(middle * WORKGROUP)? { most = middle } else { too_many = middle }
        }
        let (name, bytes) = (resident.device_name(), resident.bytes_per_world());
        let advice = if most == 0 { "use backend cpu" } else { "use no more, or backend cpu" };
        Err(Error::Device(format!(
            "{name} has no memory for {world_count} worlds of {bytes} bytes each; it has room for {}: {advice}",
            most * WORKGROUP
        )))
    }

    /// Without any buffers.
    fn compiled(plan: &Plan, device: Device, world_count: usize, capacity: usize) -> Result<Self> {
        let mut layout = Layout::new(plan, capacity);
        let formulas = Formulas::new(plan, &layout);
        let all = shaders(plan, &formulas, &mut layout);
        let others = movers(plan, &layout).into_iter().chain([draw(plan, &layout)]).collect::<Vec<_>>();
        let kernels = all.iter().chain(&others).map(|Shader { name, source }| Kernel { name, source });
        let kernels: Vec<_> = kernels.collect();
        let chain = Chain::new(device, &kernels, &[true, false, true, true, true, false, true, true])?;
        let names: Vec<_> = all.iter().map(|shader| &*shader.name).collect();
        let (stages, gather) = (stages(&names), all.len());
        let worlds_of_a_workgroup = worlds_of_a_workgroup(&layout).min(WORKGROUP);
        let (sets, most_capacity) = (Vec::new(), MOST_CAPACITY);
        Ok(Self {
            layout,
            chain,
            stages,
            gather,
            sets,
            world_count,
            most_capacity,
            worlds_of_a_workgroup,
            observation: None,
        })
    }

    /// Components of the storage bindings that have one for every world, in their order.
    fn components(&self) -> [usize; 5] {
        let l = &self.layout;
        let motion = l.motion_len().max(self.observation.as_ref().map_or(0, Observation::room));
        [l.state_len(), l.given_len(), motion, l.contact_buffer_len(), l.rows_buffer_len()]
    }

    /// Components that there is room for on the way back.
    fn components_back(&self) -> usize {
        self.layout.scalar_memory().max(OUTCOME_LEN + self.observation.as_ref().map_or(0, |o| o.len))
    }

    /// Makes the buffers of so many worlds anew, in as many sets as the largest binding asks for; whether the device has the memory.
    fn make_room(&mut self, world_count: usize) -> Result<bool> {
        let components = self.components();
        let world_bytes = components.iter().max().map_or(4, |c| 4 * c) as u64;
        let most = (self.chain.device().limits.binding_bytes / world_bytes) as usize / WORKGROUP * WORKGROUP;
        if most == 0 {
            let name = &self.chain.device().info().name;
            return Err(Error::Device(format!("{name} binds too little for one workgroup of worlds; use backend cpu")));
        }
        let most = most.min(MOST_WORKGROUPS * self.worlds_of_a_workgroup / WORKGROUP * WORKGROUP);
        // sets of like size: a small one takes as long as the latency of its chain
        let most = world_count.div_ceil(world_count.div_ceil(most).max(1)).next_multiple_of(WORKGROUP);
        let tables = self.layout.tables();
        self.chain.clear();
        self.sets.clear();
        for first in (0..world_count).step_by(most) {
            let worlds = first..(first + most).min(world_count);
            let stride = worlds.len().next_multiple_of(WORKGROUP);
            let header = |[problem, turn]: [u32; 2]| {
                [worlds.len() as u32, stride as u32, f32::INFINITY.to_bits(), problem, turn]
            };
            let headers = HEADERS.map(header);
            let mut bytes: Vec<u64> = components.iter().map(|c| (4 * c * stride) as u64).collect();
            let columns = ((1 + self.layout.state_len()) * MOVED).max(DRAWN + 3 * self.layout.nu);
            // and how many worlds are listed
            bytes.extend([tables.len(), columns, LISTS].map(|numbers| 4 * numbers as u64));
            let back = (4 * self.components_back() * stride) as u64;
            let headers = headers.each_ref().map(|header| bytemuck::cast_slice(header));
            if !self.chain.add_set(&headers, &bytes, back)? {
                self.chain.clear();
                return Ok(false);
            }
            self.sets.push(worlds);
        }
        (0..self.sets.len()).for_each(|set| self.chain.write(set, TABLES, 0, &tables));
        Ok(true)
    }

    /// Bytes of device memory a world.
    pub fn bytes_per_world(&self) -> usize {
        4 * self.components().iter().sum::<usize>()
    }

    /// Whether there may be room for more contacts.
    pub fn can_grow(&self) -> bool {
        self.layout.capacity < self.most_capacity
    }

    /// Contacts of a world that there is room for.
    pub fn capacity(&self) -> usize {
        self.layout.capacity
    }

    /// What was asked of the device so far.
    pub fn work(&self) -> DeviceWork {
        self.chain.work()
    }

    /// Goes on counting from there.
    pub fn count_from(&self, work: DeviceWork) {
        self.chain.count_from(work);
    }

    /// The device.
    pub fn device_name(&self) -> &str {
        &self.chain.device().info().name
    }

    /// Writes what the host gives, as `number` of component and world has it.
    pub fn give(&mut self, what: Given, number: impl Fn(usize, usize) -> f32) {
        let l = &self.layout;
        let starts =
            [Layout::CONTROL, l.external(), l.gravity(), l.mass_scale(), l.gain_scale(), l.friction(), l.given_len()];
        let [first, end] = [starts[what as usize], starts[what as usize + 1]];
        for (set, worlds) in self.sets.iter().enumerate() {
            let stride = stride(worlds);
            self.chain.write(set, GIVEN, first * stride, &columns(end - first, stride, worlds, &number));
        }
    }

    /// Lets the device draw the control of all worlds from a seed and the laws of the actuators, least, count and unit, shape `[nu][3]`; does not wait.
    pub fn draw_control(&mut self, seed: u64, laws: &[f32]) {
        // halves of words are exact in f32
        let halves = |x: u64, count: u32| (0..count).map(move |k| f32::from((x >> (16 * k)) as u16));
        if laws.is_empty() {
            return;
        }
        for (set, worlds) in self.sets.iter().enumerate() {
            let told: Vec<f32> =
                halves(seed, 4).chain(halves(worlds.start as u64, 2)).chain(laws.iter().copied()).collect();
            self.chain.write(set, COLUMNS, 0, &told);
            let fours = (laws.len() / 3).div_ceil(4) as u32;
            let workgroups = [worlds.len().div_ceil(WORKGROUP) as u32, fours];
            self.chain.run(set, &[Dispatch { kernel: self.gather + DRAW, header: 0, workgroups }]);
            self.chain.copy(set, [MOTION, GIVEN], laws.len() / 3 * stride(worlds));
        }
    }

    /// Begins a call of `step`: of the worlds that are `told`, q and v are what `number` of component (q, then v) and world says, those that `stay` are not stepped, and those that
    /// `forget` start from no impulses. Of the others nothing is sent, unless `number` `knows_all` and sending all is less.
    pub fn begin(
        &mut self,
        told: &[usize],
        knows_all: bool,
        number: impl Fn(usize, usize) -> f32,
        stay: impl Fn(usize) -> bool,
        forget: impl Fn(usize) -> bool,
    ) {
        let (outcome, end) = (self.layout.outcome(), self.layout.scalar_memory());
        let component = |k: usize, world: usize| match k.checked_sub(outcome) {
            None => number(k, world),
            Some(layout::HALT) if stay(world) => layout::ASKED,
            Some(layout::FORGET) if forget(world) => 1.0,
            Some(_) => 0.0,
        };
        let moved = self.moved(told);
        if knows_all && MOVING * MOVED * moved.len() >= self.world_count {
            for (set, worlds) in self.sets.iter().enumerate() {
                self.chain.write(set, STATE, 0, &columns(end, stride(worlds), worlds, &component));
            }
            return;
        }
        for (set, worlds) in self.sets.iter().enumerate() {
            self.chain.zero(set, STATE, outcome * stride(worlds)..end * stride(worlds));
        }
        for (set, some) in moved {
            let all = columns_of(&some, end, &component);
            self.write_columns(set, &some, &all);
            self.run_mover(set, self.gather + SCATTER, end);
        }
    }

    /// The shaders of a step over one set of worlds.
    fn dispatches(&self, worlds: &Range<usize>) -> Vec<Dispatch> {
        let groups = worlds.len().div_ceil(WORKGROUP) as u32;
        let workgroups = self.chain.device().limits.workgroups;
        let listed = worlds.len().min(workgroups).max(worlds.len().div_ceil(self.worlds_of_a_workgroup));
        let stages = self.stages.iter().map(|stage| {
            let workgroups = match stage.spread {
                Spread::Worlds => [groups, 1],
                Spread::Contacts => [groups, self.layout.capacity as u32],
                Spread::Rows => [groups, (3 * self.layout.capacity + self.layout.scalar_rows()) as u32],
                Spread::Listed => [listed as u32, 1],
            };
            Dispatch { kernel: stage.shader, header: stage.problem + 2 * stage.turn, workgroups }
        });
        stages.collect()
    }

    /// Steps all worlds, and asks what came of it; does not wait. Behind Newton of the velocity problem it looks which worlds have halted, in the last [`MOST_LOOKS`] substeps.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed before.
    pub fn step(&mut self, substeps: u32) -> Result<()> {
        // a browser does nothing while it waits
        let looks = !cfg!(target_family = "wasm");
        let first = self.stages.iter().position(|stage| looks && stage.name == "velocity newton").map_or(0, |k| k + 1);
        for set in 0..self.sets.len() {
            let dispatches = self.dispatches(&self.sets[set]);
            let (before, after) = dispatches.split_at(first);
            for left in (1..=substeps as usize).rev() {
                if first > 0 && left <= MOST_LOOKS {
                    self.chain.run(set, before);
                    self.look(set, MOST_LOOKS - left)?;
                    self.chain.run(set, after);
                } else {
                    self.chain.run(set, &dispatches);
                }
                if left > 1 {
                    self.chain.go_on()?;
                }
            }
        }
        self.ask()
    }

    /// Steps all worlds, waits, adds the seconds that every shader took on the device to `seconds`, by name, and asks what came of it.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed.
    pub async fn step_timed(&mut self, substeps: u32, seconds: &mut Vec<(String, f64)>) -> Result<()> {
        for set in 0..self.sets.len() {
            let dispatches = self.dispatches(&self.sets[set]);
            for _ in 0..substeps {
                let taken = self.chain.run_timed(set, &dispatches).await?;
                for (taken, Stage { name, .. }) in taken.iter().zip(&self.stages) {
                    match seconds.iter_mut().find(|(known, _)| known == name) {
                        Some((_, sum)) => *sum += taken,
                        None => seconds.push((name.clone(), *taken)),
                    }
                }
            }
        }
        self.ask()
    }

    fn ask(&mut self) -> Result<()> {
        let (outcome, end) = (self.layout.outcome(), self.layout.scalar_memory());
        for set in 0..self.sets.len() {
            self.look(set, MOST_LOOKS)?;
            let worlds = &self.sets[set];
            let stride = stride(worlds);
            let Some(observation) = &self.observation else {
                self.chain.ask(set, &[(STATE, 0..end * stride)])?;
                continue;
            };
            let groups = worlds.len().div_ceil(WORKGROUP) as u32;
            let dispatch = |kernel| Dispatch { kernel, header: 0, workgroups: [groups, 1] };
            let dispatches: Vec<_> = observation.kernels.clone().map(dispatch).collect();
            if !dispatches.is_empty() {
                self.chain.run(set, &dispatches);
            }
            self.chain.ask(set, &[(STATE, outcome * stride..end * stride), (MOTION, 0..observation.len * stride)])?;
        }
        Ok(())
    }

    /// Waits, and reads what became of the worlds, set by set, and the worlds that halted since the last look, as far as there was room for them.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed.
    pub async fn answers(&mut self) -> Result<(Vec<Answer>, Vec<Left>)> {
        let (has_state, mut answers, mut left) = (self.observation.is_none(), Vec::new(), Vec::new());
        let outcome = if has_state { self.layout.outcome() } else { 0 };
        self.chain.arrived().await?;
        for set in 0..self.sets.len() {
            left.extend(self.looked((set, MOST_LOOKS)).await?);
        }
        for (set, worlds) in self.sets.iter().enumerate() {
            let numbers = self.chain.answer(set)?;
            answers.push(Answer { worlds: worlds.clone(), has_state, stride: stride(worlds), outcome, numbers });
        }
        Ok((answers, left))
    }

    /// Room for twice the contacts, where the device has the memory for it, which is returned; all that lies on the device is gone.
    ///
    /// # Errors
    /// [`Error::Device`] where the device fails.
    pub fn grow(&mut self, plan: &Plan) -> Result<bool> {
        let (device, work) = (self.chain.device().clone(), self.chain.work());
        // what there is comes first, so that the memory of both is never needed
        self.chain.clear();
        let capacity = (2 * self.layout.capacity).min(MOST_CAPACITY);
        let mut grown = Self::compiled(plan, device, self.world_count, capacity)?;
        if grown.make_room(self.world_count)? {
            grown.chain.count_from(work);
            *self = grown;
            return Ok(true);
        }
        self.most_capacity = self.layout.capacity;
        if self.make_room(self.world_count)? {
            return Ok(false);
        }
        Err(Error::Device(format!(
            "{} has no memory any more for what it held before; use backend cpu",
            self.device_name()
        )))
    }
}

impl Answer {
    /// A component of q, and then v, shape \[world\].
    pub fn column(&self, k: usize) -> &[f32] {
        &self.numbers[k * self.stride..][..self.worlds.len()]
    }
    /// The quantities of all worlds one after the other, shape `[number][stride]`, and the stride; nothing where q and v are brought back.
    pub fn observed(&self) -> (&[f32], usize) {
        let first = if self.has_state { self.numbers.len() } else { OUTCOME_LEN * self.stride };
        (&self.numbers[first..], self.stride)
    }
    /// Substeps that the worlds have done, shape \[world\].
    pub fn done(&self) -> &[f32] {
        self.column(self.outcome + layout::DONE)
    }
    /// Why the worlds halted, 0 where they did not, shape \[world\].
    pub fn why_halted(&self) -> &[f32] {
        self.column(self.outcome + layout::HALT)
    }
    /// What became of the `i`-th world.
    pub fn outcome(&self, i: usize) -> Outcome {
        outcome(&|k| self.numbers[(self.outcome + k) * self.stride + i])
    }
}

/// Worlds that a column of a set of buffers has room for.
fn stride(worlds: &Range<usize>) -> usize {
    worlds.len().next_multiple_of(WORKGROUP)
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

/// Numbers of some components of at most [`MOVED`] worlds, shape `[component][MOVED]`.
fn columns_of(worlds: &[usize], components: usize, number: &impl Fn(usize, usize) -> f32) -> Vec<f32> {
    let mut all = vec![0.0; components * MOVED];
    for (k, column) in all.chunks_exact_mut(MOVED).enumerate() {
        for (x, world) in column.iter_mut().zip(worlds) {
            *x = number(k, *world);
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
    let why = number(layout::HALT).abs();
    Outcome { report, no_room: why == layout::NO_ROOM }
}
