//! A chain of shaders over buffers that stay on the device: made once for a model, run once a step.

use super::Device;
use crate::error::{Error, Result};
use crate::solver::DeviceWork;
use std::collections::VecDeque;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Most submissions that are on their way at a time: who submits more waits for the first of them.
const MOST_IN_FLIGHT: usize = 256;

/// A shader of a chain.
#[derive(Debug)]
pub(crate) struct Kernel<'a> {
    /// Of its entry point.
    pub name: &'a str,
    /// WGSL.
    pub source: &'a str,
}

/// One run of a shader: which, with which header, and how many workgroups.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dispatch {
    pub kernel: usize,
    pub header: usize,
    pub workgroups: [u32; 2],
}

/// What some worlds have on the device.
#[derive(Debug)]
struct Set {
    /// Those of the storage bindings.
    buffers: Vec<wgpu::Buffer>,
    /// One a header.
    uniforms: Vec<wgpu::Buffer>,
    /// One a header.
    groups: Vec<wgpu::BindGroup>,
    /// Where numbers are on their way back.
    staging: wgpu::Buffer,
    /// Bytes that were asked for, and not yet read.
    asked: u64,
    /// When they are there.
    arrival: Arrival,
}

/// That a buffer is mapped, or cannot be: awaited.
#[derive(Debug, Clone, Default)]
struct Arrival(Arc<Mutex<(bool, Option<Waker>)>>);

impl Arrival {
    /// Maps the first `bytes` of a buffer.
    fn of(buffer: &wgpu::Buffer, bytes: u64) -> Self {
        let arrival = Self::default();
        let told = arrival.clone();
        // a failure shows when the numbers are read
        buffer.map_async(wgpu::MapMode::Read, ..bytes, move |_| {
            let mut told = told.0.lock().unwrap_or_else(PoisonError::into_inner);
            told.0 = true;
            if let Some(waker) = told.1.take() {
                waker.wake();
            }
        });
        arrival
    }
}

impl Future for Arrival {
    type Output = ();
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.1 = Some(context.waker().clone());
        if told.0 { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// The pipelines, and a set of buffers for every part of the worlds. Binding 0 is a uniform, the others are storage.
#[derive(Debug)]
pub(crate) struct Chain {
    device: Device,
    layout: wgpu::BindGroupLayout,
    pipelines: Vec<wgpu::ComputePipeline>,
    sets: Vec<Set>,
    /// Bytes of the buffers of all sets.
    bytes: u64,
    /// What was submitted and not yet waited for, the first first.
    in_flight: VecDeque<wgpu::SubmissionIndex>,
    /// What was asked of the device so far.
    work: Mutex<DeviceWork>,
}

impl Chain {
    /// Compiles the kernels, all at once. `written`: of every storage binding, whether shaders write to it.
    ///
    /// # Errors
    /// [`Error::Device`] where the device refuses a shader.
    pub fn new(device: Device, kernels: &[Kernel<'_>], written: &[bool]) -> Result<Self> {
        let entry = |binding: usize, ty| wgpu::BindGroupLayoutEntry {
            binding: binding as u32,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        };
        let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform)];
        for (k, write) in written.iter().enumerate() {
            entries.push(entry(k + 1, wgpu::BufferBindingType::Storage { read_only: !write }));
        }
        let descriptor = wgpu::BindGroupLayoutDescriptor { label: Some("chain"), entries: &entries };
        let layout = device.device.create_bind_group_layout(&descriptor);
        let pipelines = compiled(&device, &layout, kernels)?;
        let (sets, in_flight, work) = (Vec::new(), VecDeque::new(), Mutex::default());
        Ok(Self { device, layout, pipelines, sets, bytes: 0, in_flight, work })
    }

    /// The device in use.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What was asked of the device so far.
    pub fn work(&self) -> DeviceWork {
        *self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes on counting from there.
    pub fn count_from(&self, work: DeviceWork) {
        *self.work.lock().unwrap_or_else(PoisonError::into_inner) = work;
    }

    fn count(&self, add: impl FnOnce(&mut DeviceWork)) {
        add(&mut self.work.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Forgets all sets of buffers.
    pub fn clear(&mut self) {
        self.sets.clear();
        self.bytes = 0;
    }

    /// Adds a set of buffers, all zero: the headers that the uniform may be, `bytes` for every storage binding, and `back` for what is read back at once. Returns whether
    /// the device has the memory; where it has not, there is no such set.
    ///
    /// # Errors
    /// [`Error::Device`] where the device fails.
    pub fn add_set(&mut self, headers: &[&[u8]], bytes: &[u64], back: u64) -> Result<bool> {
        use wgpu::BufferUsages as Use;
        let all = bytes.iter().sum::<u64>() + back;
        if self.bytes + all > self.device.limits.memory_bytes {
            return Ok(false);
        }
        let device = &self.device.device;
        let buffer = |size, usage| {
            let label = Some("chain");
            device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false })
        };
        let storage = bytes.iter().map(|b| buffer(*b, Use::STORAGE | Use::COPY_DST | Use::COPY_SRC));
        let buffers: Vec<_> = storage.collect();
        let staging = buffer(back, Use::MAP_READ | Use::COPY_DST);
        if self.device.refused_memory() {
            return Ok(false);
        }
        self.device.check()?;
        let uniform = |header: &&[u8]| {
            let uniform = buffer(header.len() as u64, Use::UNIFORM | Use::COPY_DST);
            self.device.queue.write_buffer(&uniform, 0, header);
            uniform
        };
        let uniforms: Vec<_> = headers.iter().map(uniform).collect();
        let groups = self.groups(&uniforms, &buffers);
        self.sets.push(Set { buffers, uniforms, groups, staging, asked: 0, arrival: Arrival::default() });
        self.bytes += all;
        self.device.check()?;
        Ok(true)
    }

    /// What shaders of a set are bound to, one a header.
    fn groups(&self, uniforms: &[wgpu::Buffer], buffers: &[wgpu::Buffer]) -> Vec<wgpu::BindGroup> {
        let group = |uniform: &wgpu::Buffer| {
            let all = std::iter::once(uniform).chain(buffers).enumerate();
            let entries: Vec<_> =
                all.map(|(k, b)| wgpu::BindGroupEntry { binding: k as u32, resource: b.as_entire_binding() }).collect();
            let (label, layout) = (Some("chain"), &self.layout);
            self.device.device.create_bind_group(&wgpu::BindGroupDescriptor { label, layout, entries: &entries })
        };
        uniforms.iter().map(group).collect()
    }

    /// Compiles kernels more, in the place of those from `first` on.
    ///
    /// # Errors
    /// [`Error::Device`] where the device refuses a shader; those from `first` on are gone then.
    pub fn replace_kernels(&mut self, first: usize, kernels: &[Kernel<'_>]) -> Result<()> {
        self.pipelines.truncate(first);
        self.pipelines.extend(compiled(&self.device, &self.layout, kernels)?);
        Ok(())
    }

    /// Lets a storage binding (counted from 1) of a set have no less than `bytes`, and what is read back at once no less than `back`. What a binding held is lost where it grows. Returns whether
    /// the device has the memory; where it has not, all is as it was.
    ///
    /// # Errors
    /// [`Error::Device`] where the device fails.
    pub fn widen(&mut self, set: usize, binding: usize, bytes: u64, back: u64) -> Result<bool> {
        use wgpu::BufferUsages as Use;
        let there = [self.sets[set].buffers[binding - 1].size(), self.sets[set].staging.size()];
        let more = bytes.saturating_sub(there[0]) + back.saturating_sub(there[1]);
        if self.bytes + more > self.device.limits.memory_bytes {
            return Ok(false);
        }
        let buffer = |size, usage| {
            let label = Some("chain");
            self.device.device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false })
        };
        let wider = (there[0] < bytes).then(|| buffer(bytes, Use::STORAGE | Use::COPY_DST | Use::COPY_SRC));
        let staging = (there[1] < back).then(|| buffer(back, Use::MAP_READ | Use::COPY_DST));
        if self.device.refused_memory() {
            return Ok(false);
        }
        self.device.check()?;
        if let Some(wider) = wider {
            self.sets[set].buffers[binding - 1] = wider;
            self.sets[set].groups = self.groups(&self.sets[set].uniforms, &self.sets[set].buffers);
        }
        if let Some(staging) = staging {
            self.sets[set].staging = staging;
        }
        self.bytes += more;
        self.device.check()?;
        Ok(true)
    }

    /// Writes to a storage binding (counted from 1) of a set.
    pub fn write(&mut self, set: usize, binding: usize, first: usize, numbers: &[f32]) {
        if !numbers.is_empty() {
            let at = (first * size_of::<f32>()) as u64;
            self.device.queue.write_buffer(&self.sets[set].buffers[binding - 1], at, bytemuck::cast_slice(numbers));
            self.count(|work| work.bytes_up += size_of_val(numbers) as u64);
        }
    }

    /// Sets numbers of a storage binding (counted from 1) of a set to zero, after all that was submitted.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn zero(&mut self, set: usize, binding: usize, range: Range<usize>) -> Result<()> {
        let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let size = size_of::<f32>() as u64;
        let (first, bytes) = (range.start as u64 * size, range.len() as u64 * size);
        encoder.clear_buffer(&self.sets[set].buffers[binding - 1], first, Some(bytes));
        self.submit(encoder)
    }

    /// Copies the first numbers of a storage binding (counted from 1) of a set to another, after all that was submitted.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn copy(&mut self, set: usize, [from, to]: [usize; 2], count: usize) -> Result<()> {
        let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let (buffers, bytes) = (&self.sets[set].buffers, (count * size_of::<f32>()) as u64);
        encoder.copy_buffer_to_buffer(&buffers[from - 1], 0, &buffers[to - 1], 0, bytes);
        self.submit(encoder)
    }

    /// Runs the kernels one after another, `times` times: a submission for each time, so that none lasts long. Does not wait, but where very many are on their way.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed before, or does not answer.
    pub fn run(&mut self, set: usize, dispatches: &[Dispatch], times: u32) -> Result<()> {
        for _ in 0..times {
            let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            for dispatch in dispatches {
                pass.set_bind_group(0, &self.sets[set].groups[dispatch.header], &[]);
                pass.set_pipeline(&self.pipelines[dispatch.kernel]);
                let [x, y] = dispatch.workgroups;
                pass.dispatch_workgroups(x, y, 1);
            }
            drop(pass);
            self.count(|work| work.dispatches += dispatches.len() as u64);
            self.submit(encoder)?;
        }
        Ok(())
    }

    /// Submits. Where too many are on their way already, waits for the first of them.
    fn submit(&mut self, encoder: wgpu::CommandEncoder) -> Result<()> {
        self.in_flight.push_back(self.device.queue.submit([encoder.finish()]));
        if self.in_flight.len() > MOST_IN_FLIGHT
            && let Some(first) = self.in_flight.pop_front()
        {
            self.device.wait_for(Some(first))?;
        }
        self.device.check()
    }

    /// Waits for all that was submitted, one after the other: each has its time.
    fn wait(&mut self) -> Result<()> {
        self.count(|work| work.waits += 1);
        while let Some(first) = self.in_flight.pop_front() {
            self.device.wait_for(Some(first))?;
        }
        self.device.check()
    }

    /// Asks for numbers of storage bindings (counted from 1) of a set, as they are after all that was submitted: [`Self::answer`] reads them, one after the other. Does not wait.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn ask(&mut self, set: usize, parts: &[(usize, Range<usize>)]) -> Result<()> {
        let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let size = size_of::<f32>() as u64;
        let Set { buffers, staging, asked, .. } = &mut self.sets[set];
        *asked = 0;
        for (binding, range) in parts.iter().filter(|(_, range)| !range.is_empty()) {
            let (first, bytes) = (range.start as u64 * size, range.len() as u64 * size);
            encoder.copy_buffer_to_buffer(&buffers[binding - 1], first, staging, *asked, bytes);
            *asked += bytes;
        }
        let bytes = *asked;
        self.submit(encoder)?;
        let set = &mut self.sets[set];
        set.arrival = Arrival::of(&set.staging, bytes);
        self.device.check()
    }

    /// Waits for all that [`Self::ask`] asked for.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed meanwhile, or does not answer.
    pub async fn arrived(&mut self) -> Result<()> {
        self.wait()?;
        for set in self.sets.iter().filter(|set| set.asked > 0) {
            set.arrival.clone().await;
        }
        self.device.check()
    }

    /// Reads what [`Self::ask`] asked for, after [`Self::arrived`].
    ///
    /// # Errors
    /// [`Error::Device`] where nothing was asked for, or the device failed.
    pub fn answer(&mut self, set: usize) -> Result<Arrived> {
        let Set { staging, asked, .. } = &mut self.sets[set];
        let bytes = std::mem::take(asked);
        if bytes == 0 {
            return Err(Error::Device(format!("{} was read before", self.device.info().name)));
        }
        let (view, buffer) = (Some(mapped(&self.device, staging, bytes)?), staging.clone());
        self.count(|work| work.bytes_down += bytes);
        Ok(Arrived { view, buffer })
    }

    /// Runs the kernels once, each by itself, waits, and tells the seconds that each took on the device; nothing where the device has no clock.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed.
    pub async fn run_timed(&mut self, set: usize, dispatches: &[Dispatch]) -> Result<Vec<f64>> {
        if !self.device.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            self.run(set, dispatches, 1)?;
            return Ok(Vec::new());
        }
        let count = 2 * dispatches.len() as u32;
        let queries = self.device.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("chain clock"),
            ty: wgpu::QueryType::Timestamp,
            count,
        });
        let ticks = self.device.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("chain clock"),
            size: u64::from(count) * size_of::<u64>() as u64,
            usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for (k, dispatch) in dispatches.iter().enumerate() {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("chain"),
                timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                    query_set: &queries,
                    beginning_of_pass_write_index: Some(2 * k as u32),
                    end_of_pass_write_index: Some(2 * k as u32 + 1),
                }),
            });
            pass.set_bind_group(0, &self.sets[set].groups[dispatch.header], &[]);
            pass.set_pipeline(&self.pipelines[dispatch.kernel]);
            let [x, y] = dispatch.workgroups;
            pass.dispatch_workgroups(x, y, 1);
        }
        encoder.resolve_query_set(&queries, 0..count, &ticks, 0);
        self.device.queue.submit([encoder.finish()]);
        let ticks: Vec<u64> = self.fetch(&ticks, 0, u64::from(count) * size_of::<u64>() as u64).await?;
        let second = 1e-9 * f64::from(self.device.queue.get_timestamp_period());
        Ok(ticks.chunks_exact(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64 * second).collect())
    }

    /// Waits for all that was submitted, and reads numbers of a storage binding (counted from 1) of a set.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed meanwhile, or does not answer.
    pub async fn read(&self, set: usize, binding: usize, range: Range<usize>) -> Result<Vec<f32>> {
        let size = size_of::<f32>() as u64;
        let (first, bytes) = (range.start as u64 * size, range.len() as u64 * size);
        if bytes == 0 {
            return Ok(Vec::new());
        }
        self.fetch(&self.sets[set].buffers[binding - 1], first, bytes).await
    }

    /// Waits for all that was submitted, and reads `bytes` of a buffer.
    async fn fetch<T: bytemuck::Pod>(&self, buffer: &wgpu::Buffer, first: u64, bytes: u64) -> Result<Vec<T>> {
        self.count(|work| {
            work.waits += 1;
            work.bytes_down += bytes;
        });
        fetch(&self.device, buffer, first, bytes).await
    }
}

/// Waits for all that was submitted, and reads `bytes` of a buffer.
///
/// # Errors
/// [`Error::Device`] where the device failed meanwhile, or does not answer.
pub(super) async fn fetch<T: bytemuck::Pod>(
    device: &Device,
    buffer: &wgpu::Buffer,
    first: u64,
    bytes: u64,
) -> Result<Vec<T>> {
    let staging = device.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("read back"),
        size: bytes,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(buffer, first, &staging, 0, bytes);
    device.queue.submit([encoder.finish()]);
    let arrival = Arrival::of(&staging, bytes);
    device.wait()?;
    arrival.await;
    numbers(device, &staging, bytes)
}

/// Compiles kernels, all at once, but for those that the device has already.
fn compiled(
    device: &Device,
    layout: &wgpu::BindGroupLayout,
    kernels: &[Kernel<'_>],
) -> Result<Vec<wgpu::ComputePipeline>> {
    let pipeline_layout = device.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("chain"),
        bind_group_layouts: &[Some(layout)],
        immediate_size: 0,
    });
    let key = |kernel: &Kernel<'_>| (kernel.name.to_owned(), kernel.source.to_owned());
    let there = || device.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
    let compile = |kernel: &Kernel<'_>| {
        // no lock while it compiles
        let known = there().get(&key(kernel)).cloned();
        if let Some(pipeline) = known {
            return pipeline;
        }
        let module = trusted(device, kernel);
        device.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(kernel.name),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(kernel.name),
            // shaders write what they read of it
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: None,
        })
    };
    // a browser has no threads, and compiles while other things go on
    #[cfg(target_family = "wasm")]
    let pipelines: std::thread::Result<_> = Ok(kernels.iter().map(compile).collect());
    #[cfg(not(target_family = "wasm"))]
    let pipelines = std::thread::scope(|scope| {
        let threads: Vec<_> = kernels.iter().map(|kernel| scope.spawn(|| compile(kernel))).collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<std::result::Result<Vec<_>, _>>()
    });
    device.check()?;
    let pipelines =
        pipelines.map_err(|_| Error::Device("the driver failed over a shader; use the cpu backend".into()))?;
    there().extend(kernels.iter().map(key).zip(pipelines.iter().cloned()));
    Ok(pipelines)
}

/// Compiles WGSL without what wgpu adds to shaders that it does not know: a clamp at every index and a counter in every loop. On an H200 both together were 26 % of a step of ants.
///
/// In a browser wgpu leaves that to the browser, and nothing changes.
#[expect(unsafe_code, reason = "the shaders of this crate keep to their arrays and end their loops, see below")]
fn trusted(device: &Device, kernel: &Kernel<'_>) -> wgpu::ShaderModule {
    let mut checks = wgpu::ShaderRuntimeChecks::checked();
    (checks.bounds_checks, checks.force_loop_bounding) = (false, false);
    let source = wgpu::ShaderSource::Wgsl(kernel.source.into());
    let descriptor = wgpu::ShaderModuleDescriptor { label: Some(kernel.name), source };
    // SAFETY: a shader may neither index beyond an array nor loop without end. Kernels are crate-private, and all of them are made in `resident` (and in tests) of the templates in shaders/ and
    // of recorded formulas, which have constant indices and no loops, or in `limits`, whose two loops count to a constant, and whose indices are below a workgroup's size, or below the array's as its
    // dispatches are made.
    //
    // Loops: every one counts a variable of its own up by a constant to a bound that it does not change, or takes bits out of a word until none is left. `resident::proof` holds every loop of
    // every template to that.
    //
    // Indices: a buffer is `[component][stride]` or a table, and is made with as many components as the layout lists, whose constants the shaders are generated with. A world is below `world_count`,
    // which is at most the stride: invocations beyond it return first. A component or an index into private or workgroup memory is made of constants, counters of loops that are bounded by constants or by
    // one of the following, and whole numbers that were stored as f32: how many contacts a world has and remembers (at most the capacity, which `contacts` clamps it to, and the host where it tells a
    // world), the pair of a contact and geoms, bodies and trees of a pair (from tables of the host), and places of worlds in lists (of `sweeps`, and of the host). None is computed from the state, so no NaN
    // becomes one. `resident::proof` pins every place where a shader makes an integer of a number, with the reason why it is in range; the twins do the same steps in Rust, where an index beyond an
    // array is a panic.
    unsafe { device.device.create_shader_module_trusted(descriptor, checks) }
}

/// What has arrived in a buffer.
fn numbers<T: bytemuck::Pod>(device: &Device, arrived: &wgpu::Buffer, bytes: u64) -> Result<Vec<T>> {
    Ok(bytemuck::pod_collect_to_vec(&mapped(device, arrived, bytes)?))
}

/// The same where it lies.
fn mapped(device: &Device, arrived: &wgpu::Buffer, bytes: u64) -> Result<wgpu::BufferView> {
    let view = arrived.get_mapped_range(..bytes);
    view.map_err(|e| Error::Device(format!("{}: the answer cannot be read: {e}", device.info().name)))
}

/// Numbers that have arrived, where the device laid them. Goes before more is asked for.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// There until it is dropped.
    view: Option<wgpu::BufferView>,
    buffer: wgpu::Buffer,
}

impl std::ops::Deref for Arrived {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        self.view.as_ref().map_or(&[], |view| bytemuck::cast_slice(view))
    }
}

impl Drop for Arrived {
    fn drop(&mut self) {
        self.view = None;
        self.buffer.unmap();
    }
}
