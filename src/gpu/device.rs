//! Which devices there are, and opening one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::buffers::{Chunk, Header, Run, Slot};
use super::clock::Clock;
use super::shader::{Array, PATCHES, SHADER, SOURCE, STORAGE_BUFFER_LIMIT};
use super::small::small_source;
use crate::error::{Error, Result};
use crate::solver::{self, BlockSize, DeviceChoice, DeviceWork, FrictionLaw, SolveSettings};
use crate::waiting::now;

/// Largest binding asked for, bytes: larger groups are solved in chunks, which costs nothing at this size.
const LARGEST_BINDING: u64 = 1 << 30;

/// As many workgroups as the largest GPUs run at a time.
const WORKGROUPS: usize = 4096;

/// A device that has not done one submission after so long is taken for lost.
const PATIENCE: Duration = Duration::from_mins(5);

/// What a device is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A GPU with memory of its own.
    Discrete,
    /// A GPU that shares the processor's memory.
    Integrated,
    /// A GPU lent by a hypervisor.
    Virtual,
    /// The processor posing as a GPU: right, and slower than the CPU backend.
    Software,
    /// Not known.
    Other,
}

/// A device as the system lists it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DeviceInfo {
    /// Product name.
    pub name: String,
    /// Interface: "vulkan", "metal", "dx12" or, in a browser, "webgpu".
    pub backend: String,
    /// What it is made of.
    pub kind: DeviceKind,
    /// Driver and its version.
    pub driver: String,
    /// Largest storage binding, bytes.
    pub binding_bytes: u64,
    /// Largest buffer, bytes.
    pub buffer_bytes: u64,
    /// Storage buffers per stage.
    pub storage_buffer_count: u32,
    /// Largest dispatch, workgroups per dimension.
    pub workgroup_count: u32,
}

impl DeviceInfo {
    fn new(adapter: &wgpu::Adapter) -> Self {
        let info = adapter.get_info();
        let limits = adapter.limits();
        Self {
            kind: match info.device_type {
                wgpu::DeviceType::DiscreteGpu => DeviceKind::Discrete,
                wgpu::DeviceType::IntegratedGpu => DeviceKind::Integrated,
                wgpu::DeviceType::VirtualGpu => DeviceKind::Virtual,
                wgpu::DeviceType::Cpu => DeviceKind::Software,
                wgpu::DeviceType::Other => DeviceKind::Other,
            },
            backend: info.backend.to_str().to_owned(),
            driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
            // browsers rarely tell
            name: if info.name.is_empty() { "unnamed device".into() } else { info.name },
            binding_bytes: limits.max_storage_buffer_binding_size,
            buffer_bytes: limits.max_buffer_size,
            storage_buffer_count: limits.max_storage_buffers_per_shader_stage,
            workgroup_count: limits.max_compute_workgroups_per_dimension,
        }
    }
    /// Whether it is software, which is for tests and never for speed.
    pub fn is_software(&self) -> bool {
        self.kind == DeviceKind::Software
    }
    /// What whoever uses it should know, if it is software.
    pub fn warning(&self) -> Option<String> {
        self.is_software().then(|| format!("{} is a software driver: right answers, no speed", self.name))
    }
}

/// All adapters, best first. A browser shows the one that it would choose.
async fn adapters() -> Vec<(wgpu::Adapter, DeviceInfo)> {
    let native = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    let backends = native | wgpu::Backends::BROWSER_WEBGPU;
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = backends;
    // Debug builds ask for lines of the source in shaders by default, and looking them up was 18 % of the time of tests that compile long ones. WGPU_DEBUG=1 gives them back.
    descriptor.flags.remove(wgpu::InstanceFlags::DEBUG);
    descriptor.flags = descriptor.flags.with_env();
    let instance = wgpu::Instance::new(descriptor);
    let mut found: Vec<_> = instance
        .enumerate_adapters(backends)
        .await
        .into_iter()
        .map(|adapter| {
            let info = DeviceInfo::new(&adapter);
            (adapter, info)
        })
        .collect();
    // A stable sort: among equals, the system's order.
    found.sort_by_key(|(_, info)| match info.kind {
        DeviceKind::Discrete => 0,
        DeviceKind::Integrated => 1,
        DeviceKind::Virtual => 2,
        DeviceKind::Other => 3,
        DeviceKind::Software => 4,
    });
    found
}

/// Every device of this machine, best first; software ones last and marked as such. Empty where no driver is installed. [`DeviceChoice::Index`] counts in this order.
///
/// Mesa's drivers complain to stderr where `XDG_RUNTIME_DIR` is not set; the command sets it, a library must not. In a browser, where nothing can be waited for, it is empty.
pub fn list_devices() -> Vec<DeviceInfo> {
    let list = async { Ok(adapters().await.into_iter().map(|(_, info)| info).collect()) };
    now(list).unwrap_or_default()
}

/// What went wrong on the device since it was last asked; set from wgpu's callbacks.
#[derive(Debug, Default)]
struct Faults {
    error: Option<String>,
    /// Whether that was for want of memory.
    no_memory: bool,
    lost: Option<String>,
}

/// What is asked of a device at most. Tests ask for less.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Largest binding, bytes.
    pub binding_bytes: u64,
    /// All buffers of a [`super::Chain`], bytes. How much a device has, no interface tells: it shows when it refuses.
    pub memory_bytes: u64,
    /// Workgroups for what shaders list: one takes on what is listed after another. More where they would be too long over it.
    pub workgroups: usize,
    /// Longest time that a submission may take. With none at all, nothing that is waited for has answered.
    pub patience: Duration,
}

/// An open device; clones are the same one.
#[derive(Debug, Clone)]
#[expect(clippy::struct_field_names, reason = "wgpu's own name for it")]
pub struct Device {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    info: DeviceInfo,
    /// What was asked for, should it have to be opened again.
    choice: DeviceChoice,
    pub(crate) limits: Limits,
    faults: Arc<Mutex<Faults>>,
    /// What was compiled for chains of shaders: batches that share the device compile what they have in common once.
    pub(super) pipelines: Arc<Mutex<Pipelines>>,
}

/// Pipelines by the name of their entry point and their source, which declares all bindings of its chain.
pub(super) type Pipelines = HashMap<(String, String), wgpu::ComputePipeline>;

/// An open device with the pipelines and buffers of the batched solver. Buffers grow as needed and are kept between solves.
#[derive(Debug)]
pub struct Gpu {
    open: Device,
    /// Those that were asked for so far.
    pipelines: HashMap<Sweeping, wgpu::ComputePipeline>,
    /// The shader of every run of the chunks, shape \[chunk\]\[run\].
    pub(super) shaders: Vec<Vec<wgpu::ComputePipeline>>,
    pub(super) layout: wgpu::BindGroupLayout,
    /// What is being solved.
    pub(super) chunks: Vec<Chunk>,
    /// One a chunk, or more.
    pub(super) slots: Vec<Slot>,
    /// What was asked of the device so far.
    pub(super) work: DeviceWork,
    /// Largest binding in use, bytes. Tests make it small.
    pub(super) binding_bytes: u64,
    /// While the device's time is measured.
    pub(super) clock: Option<Clock>,
}

/// What a shader of the batched solver sweeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Sweeping {
    /// Blocks of any sizes, the first contacts of which may be patches.
    Any { patches: bool },
    /// Blocks of so many contacts and nothing else, under that law.
    Small { law: u32, contact_count: usize },
}

impl std::ops::Deref for Gpu {
    type Target = Device;
    fn deref(&self) -> &Device {
        &self.open
    }
}

impl Device {
    /// Opens a device, and waits until it is open.
    ///
    /// # Errors
    /// As [`Device::open`]; and [`Error::Device`] in a browser, which opens it by and by.
    pub fn new(choice: &DeviceChoice) -> Result<Self> {
        now(Self::open(choice))
    }

    /// Opens a device; what it becomes is awaited. In a browser this is the only way, for [`Worlds::on_device`](crate::Worlds::on_device).
    ///
    /// # Errors
    /// [`Error::Device`] where there is no such device, or it refuses; the text says what is there and what to do.
    pub async fn open(choice: &DeviceChoice) -> Result<Self> {
        let found = adapters().await;
        let name = |(k, (_, i)): (usize, &(_, DeviceInfo))| format!("{k}: {} ({}, {:?})", i.name, i.backend, i.kind);
        let names: Vec<_> = found.iter().enumerate().map(name).collect();
        let fits = |k: usize, info: &DeviceInfo| match choice {
            DeviceChoice::Hardware => !info.is_software(),
            DeviceChoice::Any => true,
            DeviceChoice::Index(index) => k == *index,
            DeviceChoice::Named(text) => info.name.to_lowercase().contains(&text.to_lowercase()),
        };
        let chosen = found.into_iter().enumerate().find(|(k, (_, info))| fits(*k, info));
        let Some((_, (adapter, info))) = chosen else {
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(Error::Device(format!(
                "there is no {choice}; found: {there}. Install a Vulkan driver (on Debian, mesa-vulkan-drivers), choose another \
                 device, or use the cpu backend"
            )));
        };
        if info.storage_buffer_count < STORAGE_BUFFER_LIMIT {
            return Err(Error::Device(format!(
                "{} grants {} storage buffers per stage and {STORAGE_BUFFER_LIMIT} are needed; use the cpu backend",
                info.name, info.storage_buffer_count
            )));
        }
        let mut limits = adapter.limits();
        limits.max_storage_buffers_per_shader_stage = STORAGE_BUFFER_LIMIT;
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("delassus"),
            // only to measure
            required_features: adapter.features() & wgpu::Features::TIMESTAMP_QUERY,
            required_limits: limits,
            experimental_features: wgpu::ExperimentalFeatures::disabled(),
            memory_hints: wgpu::MemoryHints::Performance,
            trace: wgpu::Trace::Off,
        };
        let opened = adapter.request_device(&descriptor).await;
        let (device, queue) =
            opened.map_err(|e| Error::Device(format!("{} cannot be opened: {e}; use the cpu backend", info.name)))?;
        let faults = Arc::new(Mutex::new(Faults::default()));
        let sink = Arc::clone(&faults);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            let mut faults = sink.lock().unwrap_or_else(PoisonError::into_inner);
            faults.no_memory |= matches!(error, wgpu::Error::OutOfMemory { .. });
            faults.error.get_or_insert(error.to_string());
        }));
        let sink = Arc::clone(&faults);
        device.set_device_lost_callback(move |reason, message| {
            let mut faults = sink.lock().unwrap_or_else(PoisonError::into_inner);
            faults.lost = Some(format!("{reason:?} {message}"));
        });
        let binding_bytes = info.binding_bytes.min(info.buffer_bytes).min(LARGEST_BINDING);
        let limits = Limits { binding_bytes, memory_bytes: u64::MAX, workgroups: WORKGROUPS, patience: PATIENCE };
        let pipelines = Arc::default();
        Ok(Self { device, queue, info, choice: choice.clone(), limits, faults, pipelines })
    }

    /// A device of its own, if this machine has one; where `DELASSUS_REQUIRE_GPU` is set it must.
    #[cfg(test)]
    pub(crate) fn for_tests() -> Option<Self> {
        let required = std::env::var("DELASSUS_REQUIRE_GPU").is_ok_and(|value| !value.is_empty() && value != "0");
        match Self::new(&DeviceChoice::Any) {
            Ok(device) => Some(device),
            Err(error) => {
                assert!(!required, "DELASSUS_REQUIRE_GPU is set: {error}");
                eprintln!("NOT CHECKED: {error}");
                None
            }
        }
    }

    /// Makes it as lost as a driver that was reset.
    #[cfg(test)]
    pub(crate) fn destroy(&self) {
        self.device.destroy();
    }

    /// The choice that led to it.
    pub fn choice(&self) -> &DeviceChoice {
        &self.choice
    }

    /// The device in use.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// What the device has complained about since the last call.
    ///
    /// # Errors
    /// [`Error::Device`]: a lost device stays lost, anything else is told once.
    pub(super) fn check(&self) -> Result<()> {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lost) = &faults.lost {
            return Err(Error::Device(format!("{} was lost: {lost}; open it again", self.info.name)));
        }
        match faults.error.take() {
            Some(error) => Err(Error::Device(format!("{}: {error}", self.info.name))),
            None => Ok(()),
        }
    }

    /// Whether it has refused memory since the last call; that is then no fault any more.
    pub(super) fn refused_memory(&self) -> bool {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = std::mem::take(&mut faults.no_memory);
        if refused {
            faults.error = None;
        }
        refused
    }

    /// Waits until everything submitted is done.
    ///
    /// # Errors
    /// As [`Self::wait_for`].
    pub(super) fn wait(&self) -> Result<()> {
        self.wait_for(None)
    }

    /// Waits until a submission is done, or all of them, but no longer than its time.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed meanwhile, or does not answer: it is then lost.
    pub(super) fn wait_for(&self, submission: Option<wgpu::SubmissionIndex>) -> Result<()> {
        let patience = self.limits.patience;
        let wait = || match patience {
            // a software driver is done when it is asked, so tests need one that is not asked
            Duration::ZERO => Err(wgpu::PollError::Timeout),
            _ => self.device.poll(wgpu::PollType::Wait { submission_index: submission, timeout: Some(patience) }),
        };
        // of a device that the driver gives up while it is waited for, wgpu tells by a panic
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(wait));
        let lose = |why: String| {
            self.faults.lock().unwrap_or_else(PoisonError::into_inner).lost.get_or_insert(why);
        };
        match &waited {
            Ok(Ok(_)) => {}
            Ok(Err(wgpu::PollError::Timeout)) => {
                // who drops a queue waits for it without end, so this one is never dropped
                std::mem::forget((self.device.clone(), self.queue.clone()));
                lose(format!("it has not done what it was given in {patience:?}"));
            }
            Ok(Err(error)) => lose(error.to_string()),
            Err(_) => lose("the driver gave it up".into()),
        }
        self.check()
    }
}

impl Gpu {
    /// Opens a device and builds the pipeline.
    ///
    /// # Errors
    /// As [`Device::new`].
    pub fn new(choice: &DeviceChoice) -> Result<Self> {
        let open = Device::new(choice)?;
        let layout = layout(&open.device);
        let any = Sweeping::Any { patches: false };
        let pipelines = HashMap::from([(any, pipeline(&open.device, &layout, any))]);
        open.check()?;
        let (binding_bytes, work) = (open.limits.binding_bytes, DeviceWork::default());
        let (chunks, slots, shaders) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { open, pipelines, shaders, layout, chunks, slots, work, binding_bytes, clock: None })
    }

    /// Chooses the shaders of the chunks at hand, and makes those that are not there yet. Law and size say which, not what else is in the batch: so a block's bits do not depend on its neighbours.
    pub(super) fn choose_shaders(&mut self, settings: &SolveSettings) {
        let Self { open, pipelines, layout, chunks, .. } = self;
        let mut shader = |run: &Run| {
            let sweeping = sweeping(settings, run);
            pipelines.entry(sweeping).or_insert_with(|| pipeline(&open.device, layout, sweeping)).clone()
        };
        self.shaders = chunks.iter().map(|chunk| chunk.runs.iter().map(&mut shader).collect()).collect();
    }

    /// Measures from now on how long sweeps take on the device, [`Self::seconds`], which costs a wait more a submission. Without effect where it has no clock.
    pub fn measure(&mut self) {
        self.clock = Clock::of(&self.open.device);
    }

    /// Seconds that all sweeps have taken on the device since [`Self::measure`]; none where nothing is measured.
    pub fn seconds(&self) -> Option<f64> {
        self.clock.as_ref().map(|clock| clock.seconds)
    }

    /// What was asked of the device so far.
    pub fn work(&self) -> DeviceWork {
        self.work
    }

    /// Makes chunks as small as on a device that binds at most `bytes` at once; at least one tile of a group still goes.
    #[doc(hidden)]
    pub fn limit_binding(&mut self, bytes: u64) {
        self.binding_bytes = self.binding_bytes.min(bytes);
    }
}

/// The bind group layout of the shader: header at binding 0, storage buffers after it.
fn layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let entry = |binding, ty, size| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: binding == 0,
            min_binding_size: std::num::NonZeroU64::new(size),
        },
        count: None,
    };
    let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform, size_of::<Header>() as u64)];
    for (k, array) in Array::ALL.into_iter().enumerate() {
        entries.push(entry(k as u32 + 1, wgpu::BufferBindingType::Storage { read_only: !array.is_written() }, 0));
    }
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(SHADER), entries: &entries })
}

/// What the shader of a run sweeps.
fn sweeping(settings: &SolveSettings, run: &Run) -> Sweeping {
    match run.small {
        None => Sweeping::Any { patches: settings.law == FrictionLaw::Patch },
        Some(contact_count) => {
            Sweeping::Small { law: solver::Header::new(BlockSize::default(), settings).law, contact_count }
        }
    }
}

/// The pipeline of a shader.
fn pipeline(device: &wgpu::Device, layout: &wgpu::BindGroupLayout, sweeping: Sweeping) -> wgpu::ComputePipeline {
    let (source, constants) = match sweeping {
        Sweeping::Any { patches } => (Cow::Borrowed(SOURCE), vec![(PATCHES, f64::from(u8::from(patches)))]),
        Sweeping::Small { law, contact_count } => (Cow::Owned(small_source(law, contact_count)), Vec::new()),
    };
    let label = Some(SHADER);
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &[Some(layout)],
        immediate_size: 0,
    });
    let source = wgpu::ShaderSource::Wgsl(source);
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label, source });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label,
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: Some(SHADER),
        compilation_options: wgpu::PipelineCompilationOptions { constants: &constants, ..Default::default() },
        cache: None,
    })
}
