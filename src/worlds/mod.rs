//! What a user holds: thousands of independent worlds of one model, stepped together.
//!
//! All arrays are flat and world-major: `[world][nq]`, `[world][nv]`, `[world][nu]`, in f64, or in f32 where [`Numbers`] are taken, whatever the
//! precision of the step.
//! What happens in one world changes no bit of another, and a world's result depends neither on the number of worlds nor on its place.

mod any_number;
mod backends;
#[cfg(feature = "gpu")]
mod brought;
#[cfg(feature = "gpu")]
mod catch_up;
mod control;
mod core;
mod delay;
mod fields;
#[cfg(feature = "gpu")]
mod gathered;
mod loads;
mod mask;
mod noise;
mod numbers;
mod observe;
mod observing;
#[cfg(feature = "gpu")]
mod on_device;
mod parameters;
mod past;
mod pose;
mod seen;
mod sensors;
mod snapshot;
mod start;
mod states;
mod stepping;
#[cfg(all(test, feature = "gpu"))]
mod tests;
mod threads;
mod volume;

pub use crate::model::Frame;
pub use crate::parameters::Parameter;
pub use crate::quantity::{Axes, Quantity};
pub use crate::report::{WorldReport, WorldStatus};
#[cfg(feature = "gpu")]
pub use crate::resident::StageComparison;
pub use crate::solver::{DeviceChoice, DeviceWork};
pub use crate::step::TILES_PER_CHUNK;
pub use crate::step::{
    Backend, BlockRecord, Constraints, ContactRecord, IMPACT_PASSES, Impacts, PatchRecord, Precision, Settings, Stage,
    StageTimes,
};
pub use delay::LONGEST_DELAY;
pub use mask::Mask;
pub use noise::Noise;
pub use numbers::{Numbers, NumbersMut};
pub use pose::pose_notes;
pub use snapshot::Snapshot;
pub use start::{Law, Spread, Start};
pub use stepping::Stepping;

use self::control::Control;
use self::core::Core;
use self::delay::Delay;
use self::stepping::Call;
use crate::error::{Error, Result};
#[cfg(feature = "gpu")]
use crate::gpu::Device;
#[cfg(scalar)]
use crate::lane::Counted;
use crate::lane::Level;
#[cfg(not(scalar))]
use crate::lane::NO_SCALAR;
#[cfg(not(any(target_arch = "x86_64", target_family = "wasm")))]
use crate::lane::{F32x16, F64x8};
#[cfg(target_arch = "x86_64")]
use crate::lane::{HAS_AVX512, Pair, Pair64, Wide, Wide64};
use crate::model::{Integrator, Model};
use std::pin::Pin;
use std::sync::Arc;

/// Fills in q, v and activation of a row of a mask and its world; activation is what it was.
type State<'a> = dyn Fn(usize, usize, [&mut [f64]; 3]) + Sync + 'a;

/// The end of a call, which is awaited.
type Waiting<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// What differs between precisions, behind one face.
trait Engine: Send + Sync {
    /// Steps; on a device that steps by itself, only gives it the call. Where it fails on a device, nothing has changed.
    fn begin(&mut self, call: &Call<'_>) -> Result<()>;
    /// Ends what [`Self::begin`] began, with the same call, if there is something left to do.
    fn finish<'a>(&'a mut self, call: &'a Call<'a>) -> Option<Waiting<'a>>;
    /// Lets a device step the worlds from now on, which have not been stepped yet.
    #[cfg(feature = "gpu")]
    fn move_to(&mut self, device: Device) -> Result<()>;
    fn reports(&self) -> &[WorldReport];
    /// Positions and velocities; an error where a device has been lost with them.
    fn positions(&self, out: NumbersMut<'_>) -> Result<()>;
    fn velocities(&self, out: NumbersMut<'_>) -> Result<()>;
    fn activations(&self, out: NumbersMut<'_>);
    fn set_activation(&mut self, world: usize, activation: &[f64]);
    /// See [`Worlds::bring_back`].
    #[cfg(feature = "gpu")]
    fn bring_back(&mut self, quantities: Option<&[Quantity]>) -> Result<()>;
    /// Whether the state of every world that would be left if its device failed is older than the world, shape \[world\]; empty where none is.
    #[cfg(feature = "gpu")]
    fn behind(&self) -> &[bool];
    /// The worlds whose state the last call had to read before it began.
    #[cfg(feature = "gpu")]
    fn fetched(&self) -> &[usize];
    /// Gives worlds a new state; they remember nothing of the old one.
    fn write(&mut self, mask: Mask<'_>, state: &State<'_>) -> Result<()>;
    fn parameter(&self, parameter: Parameter, world: usize, out: &mut [f64]);
    fn is_shared(&self, parameter: Parameter) -> bool;
    fn share(&mut self, parameter: Parameter);
    fn set_parameter(&mut self, parameter: Parameter, world: usize, values: &[f64]);
    fn set_contact_capacity(&mut self, capacity: Option<usize>) -> Result<()>;
    fn watch(&mut self, world: usize, on: bool);
    fn feel(&mut self, on: bool);
    fn feel_between(&mut self, pairs: &[[Frame; 2]]);
    fn feels(&self, quantity: Quantity) -> bool;
    /// `control_is_new`: whether it may be another than in the last call of `step`.
    fn observe(
        &self,
        quantities: &[Quantity],
        control: &[f64],
        control_is_new: bool,
        out: NumbersMut<'_>,
    ) -> Result<()>;
    fn contacts(&self, world: usize) -> Option<&[ContactRecord]>;
    fn memory(&self, world: usize) -> Vec<(u64, [f64; 3])>;
    fn set_memory(&mut self, world: usize, memory: &[(u64, [f64; 3])]);
    fn device(&self) -> String;
    fn backend(&self) -> Backend;
    fn notes(&self) -> Vec<String>;
    fn bytes(&self) -> usize;
    fn set_profile(&mut self, on: bool);
    fn stage_times(&mut self) -> StageTimes;
    fn shader_times(&self) -> Vec<(String, f64)>;
    #[cfg(feature = "gpu")]
    fn beside_twins(&mut self) -> Result<Vec<StageComparison>>;
    fn device_work(&self) -> Option<DeviceWork>;
}

/// The engine whose number type suits the machine: the bits are the same whichever it is.
fn engine(model: &Arc<Model>, world_count: usize, settings: &Settings) -> Result<Box<dyn Engine>> {
    let (level, settings) = (Level::detect(), settings.clone());
    // WebAssembly has no packs with fused multiply-adds.
    #[cfg(target_family = "wasm")]
    let _ = level;
    Ok(match settings.precision {
        #[cfg(target_arch = "x86_64")]
        Precision::F32 if const { HAS_AVX512 } && level == Level::Avx512 => {
            Box::new(Core::<Wide>::new(model, world_count, settings)?)
        }
        #[cfg(target_arch = "x86_64")]
        Precision::F32 if level == Level::Avx2 => Box::new(Core::<Pair>::new(model, world_count, settings)?),
        #[cfg(not(any(target_arch = "x86_64", target_family = "wasm")))]
        Precision::F32 if level.runs_packs() => Box::new(Core::<F32x16>::new(model, world_count, settings)?),
        // Where fused multiply-adds are calls of functions, that they are counted too makes no difference.
        #[cfg(scalar)]
        Precision::F32 => Box::new(Core::<Counted>::new(model, world_count, settings)?),
        #[cfg(target_arch = "x86_64")]
        Precision::F64 if const { HAS_AVX512 } && level == Level::Avx512 => {
            Box::new(Core::<Wide64>::new(model, world_count, settings)?)
        }
        #[cfg(target_arch = "x86_64")]
        Precision::F64 if level == Level::Avx2 => Box::new(Core::<Pair64>::new(model, world_count, settings)?),
        #[cfg(not(any(target_arch = "x86_64", target_family = "wasm")))]
        Precision::F64 if level.runs_packs() => Box::new(Core::<F64x8>::new(model, world_count, settings)?),
        #[cfg(scalar)]
        Precision::F64 => Box::new(Core::<f64>::new(model, world_count, settings)?),
        #[cfg(not(scalar))]
        _ => return Err(Error::Unsupported(NO_SCALAR.into())),
    })
}

/// Thousands of worlds of one model.
///
/// ```
/// use delassus::{Mask, Model, Settings, Worlds};
/// # fn main() -> delassus::Result<()> {
/// let model = Model::from_mjcf_str(
///     r#"<mujoco>
///          <worldbody>
///            <geom type="plane" size="1 1 1"/>
///            <body pos="0 0 1"><freejoint/><geom type="sphere" size="0.1"/></body>
///          </worldbody>
///        </mujoco>"#,
/// )?;
/// let mut worlds = Worlds::new(&model, 64, Settings::default())?;
/// for _ in 0..100 {
///     let reports = worlds.step(10)?;
///     assert!(reports.iter().all(|r| r.solved()));
/// }
/// let resting = worlds.positions();
/// assert!((resting[2] - 0.1).abs() < 1e-4);
/// # Ok(())
/// # }
/// ```
pub struct Worlds {
    model: Arc<Model>,
    settings: Settings,
    world_count: usize,
    engine: Box<dyn Engine>,
    /// The keyframe that worlds start from; none: the rest position.
    keyframe: Option<usize>,
    /// How far starts differ.
    spread: Spread,
    control: Control,
    /// Generalized force from outside, shape `[world][nv]`.
    external: Vec<f64>,
    /// Whether it may have changed since the last call of `step`.
    external_is_new: bool,
    /// Time of every world, s.
    time: Vec<f64>,
    /// Time of the state that would be left if a device failed, s, shape \[world\].
    time_read: Vec<f64>,
    /// Control on its way, if that of a world is late.
    delay: Option<Delay>,
    /// Substeps that a device is at, see [`Stepping`].
    under_way: Option<u32>,
    /// Why a call of `step_async` that nobody waited for came to nothing.
    unseen: Option<Error>,
}

impl std::fmt::Debug for Worlds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Worlds({} × {}, {})", self.world_count, self.model.name, self.engine.device())
    }
}

impl Worlds {
    /// `world_count` worlds of `model` at its rest position.
    ///
    /// # Errors
    /// [`Error::Argument`] for a wrong setting, no worlds or more than memory holds; [`Error::Model`] for a model that was changed into an invalid
    /// one ([`Model::validate`]); [`Error::Unsupported`] for a model or backend that this version does not step, or a processor
    /// that this build has no code for (x86-64 without AVX2 and FMA, without the feature `scalar`); [`Error::Device`] if the backend
    /// `hybrid` finds no device.
    pub fn new(model: &Model, world_count: usize, settings: Settings) -> Result<Self> {
        Self::with_engine(model, world_count, settings, engine)
    }

    /// As [`Self::new`] on a device that is open ([`Device::open`], [`Device::new`]; clones of one serve many batches, which compile what they have in common once), with the backend `gpu` whatever `settings` say.
    ///
    /// # Errors
    /// As [`Self::new`].
    #[cfg(feature = "gpu")]
    pub fn on_device(model: &Model, world_count: usize, settings: Settings, device: Device) -> Result<Self> {
        let mut worlds = Self::new(model, world_count, Settings { backend: Backend::Cpu, ..settings })?;
        (worlds.settings.backend, worlds.settings.device) = (Backend::Gpu, device.choice().clone());
        worlds.engine.move_to(device)?;
        Ok(worlds)
    }

    /// As [`Self::new`] on the CPU in `f32`, one world at a time, and counting: [`Self::stage_times`] then tells the floating-point operations of every
    /// stage (of the batched solver, not of the exact one). Slow. With the feature `scalar`.
    ///
    /// # Errors
    /// As [`Self::new`].
    #[cfg(scalar)]
    pub fn counting(model: &Model, world_count: usize, mut settings: Settings) -> Result<Self> {
        (settings.backend, settings.precision) = (Backend::Cpu, Precision::F32);
        Self::with_engine(model, world_count, settings, |model, world_count, settings| {
            Ok(Box::new(Core::<Counted>::new(model, world_count, settings.clone())?))
        })
    }

    fn with_engine(
        model: &Model,
        world_count: usize,
        settings: Settings,
        engine: impl Fn(&Arc<Model>, usize, &Settings) -> Result<Box<dyn Engine>>,
    ) -> Result<Self> {
        settings.validate()?;
        model.validate()?;
        if model.nv() == 0 {
            return Err(Error::Unsupported("the model has no joint: nothing can move".into()));
        }
        if world_count == 0 {
            return Err(Error::argument("world_count", "must be at least 1"));
        }
        // State, reports and inputs: what surely is needed, before anything is allocated.
        let numbers = 2 * (model.nq() + 2 * model.nv() + model.drive_len()) + 32;
        let bytes = world_count.checked_mul(8 * numbers);
        if bytes.is_none_or(|b| b > available_memory() / 2) {
            return Err(Error::argument(
                "world_count",
                format!(
                    "{world_count} worlds need more than half of this machine's free memory ({} MB); use fewer",
                    available_memory() >> 20
                ),
            ));
        }
        let model = Arc::new(model.clone());
        let engine = engine(&model, world_count, &settings)?;
        let mut worlds = Self {
            control: Control::new(&model, world_count),
            external: vec![0.0; world_count * model.nv()],
            external_is_new: true,
            under_way: None,
            unseen: None,
            time: vec![0.0; world_count],
            time_read: vec![0.0; world_count],
            delay: None,
            keyframe: None,
            spread: Spread::symmetric(model.nv(), 0.0, 0.0),
            model,
            settings,
            world_count,
            engine,
        };
        worlds.reset(Mask::All, 0)?;
        Ok(worlds)
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }
    /// The model, to be kept.
    pub(crate) fn shared_model(&self) -> &Arc<Model> {
        &self.model
    }
    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
    /// Number of worlds.
    pub fn world_count(&self) -> usize {
        self.world_count
    }
    /// The step Δt in force, s.
    pub fn dt(&self) -> f64 {
        self.settings.dt.unwrap_or(self.model.timestep)
    }
    /// The scheme of the free motion in force.
    pub fn integrator(&self) -> Integrator {
        self.settings.integrator.unwrap_or(self.model.integrator)
    }
    /// What the stages run on, for people.
    pub fn device(&self) -> String {
        self.engine.device()
    }
    /// The backend in force (never [`Backend::Auto`]).
    pub fn backend(&self) -> Backend {
        self.engine.backend()
    }
    /// What the backend has to say, such as blocks too large for the device that the CPU solved instead.
    pub fn notes(&self) -> Vec<String> {
        self.engine.notes()
    }

    /// Memory that the worlds themselves hold, bytes: state, inputs, parameters, warm start, reports; without the scratch of the threads.
    pub fn bytes(&self) -> usize {
        8 * (self.control.len() + self.external.len() + self.time.len())
            + self.delay.as_ref().map_or(0, Delay::bytes)
            + self.engine.bytes()
    }
    /// Starts (anew) or stops measuring the time of every stage; measuring costs a few ns a world-step.
    pub fn set_profile(&mut self, on: bool) {
        self.engine.set_profile(on);
    }
    /// Seconds of thread time by stage since [`Worlds::set_profile`]; on the hybrid backend without the solve, which is the device's.
    pub fn stage_times(&mut self) -> StageTimes {
        self.engine.stage_times()
    }

    /// Seconds that every shader took on the device since times are measured, in flow order; none but with [`Backend::Gpu`] on a device that has a clock.
    pub fn shader_times(&self) -> Vec<(String, f64)> {
        self.engine.shader_times()
    }

    /// Steps once, as [`Worlds::step`] does, and then holds what every shader of the next step leaves against its twin in Rust, from the same numbers; that step is not taken. It tells in which stage a
    /// driver does otherwise; nothing where room for contacts grew in that step, and the device has to be told the worlds anew. For few worlds, with [`Backend::Gpu`]: all that lies on the device is read after every stage.
    ///
    /// # Errors
    /// [`Error::Unsupported`] without [`Backend::Gpu`]; [`Error::Device`] in a browser, which does not wait; as [`Worlds::step`].
    #[cfg(feature = "gpu")]
    pub fn beside_twins(&mut self) -> Result<Vec<StageComparison>> {
        self.step(1)?;
        self.keep_time();
        let compared = self.engine.beside_twins();
        if matches!(compared, Err(Error::Device(_))) {
            self.time.clone_from(&self.time_read);
        }
        compared
    }

    /// What all steps so far asked of the device; none but with [`Backend::Hybrid`] and [`Backend::Gpu`].
    pub fn device_work(&self) -> Option<DeviceWork> {
        self.engine.device_work()
    }

    /// Generalized force from outside on all worlds, N or N·m, shape `[world][nv]`; kept until changed.
    pub fn external_force_mut(&mut self) -> &mut [f64] {
        self.external_is_new = true;
        &mut self.external
    }

    /// The reports of the last step, shape \[world\].
    pub fn reports(&self) -> &[WorldReport] {
        self.engine.reports()
    }
    /// Time of every world since its start, s, shape \[world\].
    pub fn time(&self) -> &[f64] {
        &self.time
    }
    /// Positions, shape `[world][nq]`.
    pub fn positions(&self) -> Vec<f64> {
        self.state().0
    }
    /// Velocities, shape `[world][nv]`.
    pub fn velocities(&self) -> Vec<f64> {
        self.state().1
    }
    /// Positions and velocities, shapes `[world][nq]` and `[world][nv]`.
    pub fn state(&self) -> (Vec<f64>, Vec<f64>) {
        let mut q = vec![0.0; self.world_count * self.model.nq()];
        let mut v = vec![0.0; self.world_count * self.model.nv()];
        let read = self.engine.positions((&mut q).into()).and_then(|()| self.engine.velocities((&mut v).into()));
        if read.is_err() {
            // lost with a device, see `bring_back`: nobody is to take an older state for it
            q.fill(f64::NAN);
            v.fill(f64::NAN);
        }
        (q, v)
    }
    /// Writes the positions to `out`, shape `[world][nq]`.
    ///
    /// # Errors
    /// [`Error::Argument`] if `out` has another length; [`Error::Device`] as [`Worlds::observe_into`].
    pub fn positions_into<'a>(&self, out: impl Into<NumbersMut<'a>>) -> Result<()> {
        let out = out.into();
        out.check(self.world_count * self.model.nq())?;
        self.engine.positions(out)
    }
    /// Writes the velocities to `out`, shape `[world][nv]`.
    ///
    /// # Errors
    /// [`Error::Argument`] if `out` has another length; [`Error::Device`] as [`Worlds::observe_into`].
    pub fn velocities_into<'a>(&self, out: impl Into<NumbersMut<'a>>) -> Result<()> {
        let out = out.into();
        out.check(self.world_count * self.model.nv())?;
        self.engine.velocities(out)
    }
    /// Position and velocity of every world side by side, shape `[world][nq + nv]`.
    pub fn observe(&self) -> Vec<f64> {
        let (q, v) = self.state();
        let (nq, nv) = (self.model.nq(), self.model.nv());
        q.chunks(nq).zip(v.chunks(nv)).flat_map(|(q, v)| q.iter().chain(v)).copied().collect()
    }
    /// Replaces position and velocity of the worlds of `mask` by their rows of `q`, shape `[row][nq]`, and `v`, shape `[row][nv]`, and forgets their
    /// warm start; activations stay what they are ([`Worlds::set_activations`]). A row is a world, or an entry of [`Mask::List`]. Quaternions are normalised when they are used.
    ///
    /// # Errors
    /// [`Error::Argument`] if a shape is wrong.
    pub fn set_state<'q, 'v>(
        &mut self,
        mask: Mask<'_>,
        q: impl Into<Numbers<'q>>,
        v: impl Into<Numbers<'v>>,
    ) -> Result<()> {
        let (q, v) = (q.into(), v.into());
        mask.check(self.world_count)?;
        let (nq, nv, row_count) = (self.model.nq(), self.model.nv(), mask.row_count(self.world_count));
        q.check("q", row_count * nq)?;
        v.check("v", row_count * nv)?;
        self.engine.write(mask, &|row, _, [own_q, own_v, _]| {
            q.copy_to(row * nq, own_q);
            v.copy_to(row * nv, own_v);
        })
    }

    /// Changes [`Settings::contact_capacity`]: most contacts a world, or no limit.
    ///
    /// To grow and redo after an overflow: take the largest [`WorldReport::capacity_needed`], set it here, load the snapshot taken before the
    /// step, and step again. With several substeps the motion after the first overflow changes, so look at the reports once more.
    ///
    /// ```
    /// # use delassus::{Model, Settings, Worlds};
    /// # fn step_whole(worlds: &mut Worlds, substeps: u32) -> delassus::Result<()> {
    /// let before = worlds.save();
    /// while worlds.step(substeps)?.iter().any(|r| r.overflow) {
    ///     let needed = worlds.reports().iter().map(|r| r.capacity_needed).max();
    ///     worlds.set_contact_capacity(needed)?;
    ///     worlds.load(&before)?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] for a capacity of 0; [`Error::Device`] where the state stayed on a device that was lost ([`Worlds::bring_back`]).
    pub fn set_contact_capacity(&mut self, capacity: Option<usize>) -> Result<()> {
        let settings = Settings { contact_capacity: capacity, ..self.settings.clone() };
        settings.validate()?;
        self.settings = settings;
        self.keep_time();
        let set = self.engine.set_contact_capacity(capacity);
        if set.is_err() {
            self.time.clone_from(&self.time_read);
        }
        set
    }

    /// Keeps (or no longer keeps) the contacts of `world` after every step, for [`Worlds::contacts`].
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such world.
    pub fn watch(&mut self, world: usize, on: bool) -> Result<()> {
        if world >= self.world_count {
            return Err(Error::argument("world", format!("{world}: there are {} worlds", self.world_count)));
        }
        self.engine.watch(world, on);
        Ok(())
    }
    /// The contacts of the last substep of a watched world; none if it is not watched.
    pub fn contacts(&self, world: usize) -> Option<&[ContactRecord]> {
        (world < self.world_count).then(|| self.engine.contacts(world)).flatten()
    }

    /// Everything that the future of the worlds depends on, parameters included.
    pub fn save(&self) -> Snapshot {
        snapshot::save(self)
    }
    /// Takes the worlds back to a snapshot: the same future, to the bit.
    ///
    /// # Errors
    /// [`Error::Argument`] that says what differs if the snapshot is of another model ([`Model::fingerprint`]) or another number of worlds, and what
    /// is wrong if it holds a parameter that [`Worlds::set_parameter`] refuses, or numbers that no snapshot can hold. Settings are not part of a
    /// snapshot.
    pub fn load(&mut self, snapshot: &Snapshot) -> Result<()> {
        snapshot::load(self, snapshot)
    }
}

/// Free memory of this machine in bytes, as far as the system tells.
fn available_memory() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|l| l.trim().trim_end_matches(" kB").trim().parse::<usize>().ok());
    kilobytes.map_or(usize::MAX / 4, |kb| kb * 1024)
}
