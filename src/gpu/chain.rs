//! A chain of shaders over buffers that stay on the device: a step that stays there. Commands are recorded, and go together.

use super::arrival::{Arrival, Arrived, fetch};
use super::device::Device;
use crate::error::{Error, Result};
use crate::solver::DeviceWork;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

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
    /// What was looked at before all was done.
    looks: Vec<Look>,
}

/// Numbers on their way back while others are still being computed.
#[derive(Debug)]
struct Look {
    staging: wgpu::Buffer,
    /// Bytes that were asked for, and not yet read.
    asked: u64,
    arrival: Arrival,
    /// Number of the submission that brings them.
    submission: u64,
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
    /// Submissions that were waited for.
    landed: u64,
    /// What is recorded, and goes with the next submission.
    recorded: Mutex<Option<wgpu::CommandEncoder>>,
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
        let (sets, in_flight, recorded, work) = (Vec::new(), VecDeque::new(), Mutex::default(), Mutex::default());
        Ok(Self { device, layout, pipelines, sets, bytes: 0, in_flight, landed: 0, recorded, work })
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
        let (asked, arrival, looks) = (0, Arrival::default(), Vec::new());
        self.sets.push(Set { buffers, uniforms, groups, staging, asked, arrival, looks });
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

    /// Writes to a storage binding (counted from 1) of a set, after all that was recorded.
    pub fn write(&mut self, set: usize, binding: usize, first: usize, numbers: &[f32]) {
        if !numbers.is_empty() {
            self.submit();
            let at = (first * size_of::<f32>()) as u64;
            self.device.queue.write_buffer(&self.sets[set].buffers[binding - 1], at, bytemuck::cast_slice(numbers));
            self.count(|work| work.bytes_up += size_of_val(numbers) as u64);
        }
    }

    /// Sets numbers of a storage binding (counted from 1) of a set to zero.
    pub fn zero(&mut self, set: usize, binding: usize, range: Range<usize>) {
        let size = size_of::<f32>() as u64;
        let (first, bytes) = (range.start as u64 * size, range.len() as u64 * size);
        let buffer = self.sets[set].buffers[binding - 1].clone();
        self.record(|encoder| encoder.clear_buffer(&buffer, first, Some(bytes)));
    }

    /// Copies the first numbers of a storage binding (counted from 1) of a set to another.
    pub fn copy(&mut self, set: usize, [from, to]: [usize; 2], count: usize) {
        let [from, to] = [from, to].map(|binding| self.sets[set].buffers[binding - 1].clone());
        let bytes = (count * size_of::<f32>()) as u64;
        self.record(|encoder| encoder.copy_buffer_to_buffer(&from, 0, &to, 0, bytes));
    }

    /// Runs the kernels one after another.
    pub fn run(&mut self, set: usize, dispatches: &[Dispatch]) {
        self.count(|work| work.dispatches += dispatches.len() as u64);
        let (groups, pipelines) = (&self.sets[set].groups, &self.pipelines);
        self.record(|encoder| {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            for dispatch in dispatches {
                pass.set_bind_group(0, &groups[dispatch.header], &[]);
                pass.set_pipeline(&pipelines[dispatch.kernel]);
                let [x, y] = dispatch.workgroups;
                pass.dispatch_workgroups(x, y, 1);
            }
        });
    }

    /// Records what goes with the next submission.
    fn record(&self, commands: impl FnOnce(&mut wgpu::CommandEncoder)) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        commands(recorded.get_or_insert_with(new));
    }

    /// What was recorded, once.
    fn recorded(&self) -> Option<wgpu::CommandBuffer> {
        let recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner).take();
        recorded.map(wgpu::CommandEncoder::finish)
    }

    /// Submits what was recorded; does not wait. No submission may last long.
    fn submit(&mut self) {
        if let Some(commands) = self.recorded() {
            self.in_flight.push_back(self.device.queue.submit([commands]));
        }
    }

    /// Submits what was recorded, so that what follows is a submission of its own. Waits where very many are on their way.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed before, or does not answer.
    pub fn go_on(&mut self) -> Result<()> {
        self.submit();
        let most = self.landed + self.in_flight.len().saturating_sub(MOST_IN_FLIGHT) as u64;
        self.wait_until(most)
    }

    /// Waits for all that was submitted, one after the other: each has its time.
    fn wait(&mut self) -> Result<()> {
        self.count(|work| work.waits += 1);
        self.submit();
        self.wait_until(u64::MAX)
    }

    /// Waits for so many submissions, counted from the first ever.
    fn wait_until(&mut self, number: u64) -> Result<()> {
        while self.landed < number
            && let Some(first) = self.in_flight.pop_front()
        {
            self.device.wait_for(Some(first))?;
            self.landed += 1;
        }
        self.device.check()
    }

    /// Asks for numbers of storage bindings (counted from 1) of a set, as they are after all that was recorded: [`Self::answer`] reads them, one after the other. Does not wait.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed before, or does not answer.
    pub fn ask(&mut self, set: usize, parts: &[(usize, Range<usize>)]) -> Result<()> {
        let size = size_of::<f32>() as u64;
        let Set { buffers, staging, .. } = &self.sets[set];
        let mut asked = 0;
        self.record(|encoder| {
            for (binding, range) in parts.iter().filter(|(_, range)| !range.is_empty()) {
                let (first, bytes) = (range.start as u64 * size, range.len() as u64 * size);
                encoder.copy_buffer_to_buffer(&buffers[binding - 1], first, staging, asked, bytes);
                asked += bytes;
            }
        });
        self.go_on()?;
        let set = &mut self.sets[set];
        (set.asked, set.arrival) = (asked, Arrival::of(&set.staging, asked));
        self.device.check()
    }

    /// Looks at numbers of a storage binding (counted from 1) of a set, as they are after all that was recorded, while what is recorded later goes on: [`Self::looked`] reads them. `look`: its number; numbers
    /// are used anew. Does not wait.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn look(&mut self, set: usize, look: usize, binding: usize, range: Range<usize>) -> Result<()> {
        let size = size_of::<f32>() as u64;
        let (first, bytes) = (range.start as u64 * size, range.len() as u64 * size);
        while self.sets[set].looks.len() <= look {
            let staging = self.device.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("look"),
                size: bytes,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            self.sets[set].looks.push(Look { staging, asked: 0, arrival: Arrival::default(), submission: 0 });
        }
        let Set { buffers, looks, .. } = &mut self.sets[set];
        // nobody has read it
        if std::mem::take(&mut looks[look].asked) > 0 {
            looks[look].staging.unmap();
        }
        let (from, to) = (buffers[binding - 1].clone(), looks[look].staging.clone());
        self.record(|encoder| encoder.copy_buffer_to_buffer(&from, first, &to, 0, bytes));
        self.go_on()?;
        let submission = self.landed + self.in_flight.len() as u64;
        let look = &mut self.sets[set].looks[look];
        (look.asked, look.submission, look.arrival) = (bytes, submission, Arrival::of(&look.staging, bytes));
        Ok(())
    }

    /// Waits for what a look brings, but not for what was recorded after it; none where nothing was looked at.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed meanwhile, or does not answer.
    pub async fn looked(&mut self, set: usize, look: usize) -> Result<Option<Arrived>> {
        let Some(Look { asked, submission, .. }) = self.sets[set].looks.get(look).filter(|look| look.asked > 0) else {
            return Ok(None);
        };
        let (asked, submission) = (*asked, *submission);
        self.wait_until(submission)?;
        let look = &mut self.sets[set].looks[look];
        look.asked = 0;
        look.arrival.clone().await;
        let arrived = Arrived::new(&self.device, &look.staging, asked)?;
        self.count(|work| work.bytes_down += asked);
        Ok(Some(arrived))
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
        let arrived = Arrived::new(&self.device, staging, bytes)?;
        self.count(|work| work.bytes_down += bytes);
        Ok(arrived)
    }

    /// Runs the kernels once, each by itself, waits, and tells the seconds that each took on the device; nothing where the device has no clock.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed.
    pub async fn run_timed(&mut self, set: usize, dispatches: &[Dispatch]) -> Result<Vec<f64>> {
        if !self.device.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            self.run(set, dispatches);
            self.go_on()?;
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
        self.device.queue.submit(self.recorded().into_iter().chain([encoder.finish()]));
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
        fetch(&self.device, self.recorded(), buffer, [first, bytes]).await
    }
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
