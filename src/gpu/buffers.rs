//! The buffers of one chunk: tiles of one group that are solved by one dispatch.

use std::ops::Range;

use super::stages::{Array, LOOP_BUDGET, STAGES, loop_count_per_sweep};
use crate::error::{Error, Result};
use crate::lane::{F32x16, Pack};
use crate::solver::{BlockSize, Group, Header, REPORT_LEN, REPORT_LIVE, SolveSettings};

/// Bytes of one tile's entry: 16 f32.
const ENTRY_BYTES: u64 = size_of::<F32x16>() as u64;
/// Distance between two headers in their buffer, the strictest alignment of a uniform's offset.
const HEADER_STRIDE: usize = 256;
/// Invocations of a workgroup, `WORKGROUP_SIZE` in `shaders/common.wgsl`.
const WORKGROUP_SIZE: usize = 64;
/// Workgroups per dimension that every device grants.
const WORKGROUP_COUNT_LIMIT: usize = 65_535;

/// The two problems of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    Velocity,
    Position,
}

impl Problem {
    /// Its certificates.
    pub fn report(self, group: &Group<F32x16>) -> &[F32x16] {
        match self {
            Self::Velocity => &group.report,
            Self::Position => &group.position_report,
        }
    }
}

/// Whether these certificates leave a block live.
pub(super) fn any_live(report: &[F32x16]) -> bool {
    report.chunks_exact(REPORT_LEN).any(|tile| tile[REPORT_LIVE].lanes().iter().any(|live| *live > 0.0))
}

/// Which tiles of which group.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    pub group: usize,
    pub tiles: Range<usize>,
    pub size: BlockSize,
}

impl Chunk {
    /// Cuts a group's tiles so that W fits a binding of `binding_bytes` and the blocks fit one dispatch.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where one tile does not fit.
    pub fn cut(group: usize, size: BlockSize, tile_count: usize, binding_bytes: u64) -> Result<Vec<Self>> {
        let tile_bytes = entries(Array::Delassus, size) as u64 * ENTRY_BYTES;
        let most = ((binding_bytes / tile_bytes.max(ENTRY_BYTES * REPORT_LEN as u64)) as usize)
            .min(WORKGROUP_COUNT_LIMIT * WORKGROUP_SIZE / F32x16::LANES);
        if most == 0 && tile_count > 0 {
            return Err(Error::Unsupported(format!(
                "a block of {} rows needs {tile_bytes} bytes a tile and the device binds {binding_bytes}; use the cpu backend",
                size.row_count()
            )));
        }
        let starts = (0..tile_count).step_by(most.max(1));
        Ok(starts.map(|t| Self { group, tiles: t..(t + most).min(tile_count), size }).collect())
    }
    /// The range of these tiles in an array of `entry_count` entries a tile.
    pub fn range(&self, entry_count: usize) -> Range<usize> {
        self.tiles.start * entry_count..self.tiles.end * entry_count
    }
}

/// Entries of an array per tile.
pub(super) fn entries(array: Array, size: BlockSize) -> usize {
    let n = size.row_count();
    match array {
        Array::Delassus => n * n,
        Array::Friction => size.contact_count,
        Array::Bounds => 2 * size.scalar_count,
        Array::Bias | Array::NextImpulse | Array::Impulse => n,
        Array::Report => REPORT_LEN,
    }
}

/// Device memory for one chunk at a time.
#[derive(Debug)]
pub(super) struct Slot {
    /// Bytes that every array has room for, in the order of [`Array`].
    capacity: [u64; 7],
    shared: [wgpu::Buffer; 4],
    /// Bias, impulse and report, one set a problem.
    problems: [[wgpu::Buffer; 3]; 2],
    /// Impulse and report on their way back, one a problem.
    staging: [wgpu::Buffer; 2],
    headers: wgpu::Buffer,
    /// One a problem and stage.
    groups: [Vec<wgpu::BindGroup>; 2],
}

const ARRAYS: [Array; 7] =
    [Array::Delassus, Array::Friction, Array::Bounds, Array::NextImpulse, Array::Bias, Array::Impulse, Array::Report];

/// Bytes of every array of `tile_count` tiles; one entry at least, as nothing empty can be bound.
fn bytes(size: BlockSize, tile_count: usize) -> [u64; 7] {
    ARRAYS.map(|array| (entries(array, size) * tile_count).max(1) as u64 * ENTRY_BYTES)
}

impl Slot {
    /// Room for `chunk`, a quarter more than it needs as far as `binding_bytes` allows.
    pub fn new(device: &wgpu::Device, layouts: &[wgpu::BindGroupLayout], chunk: &Chunk, binding_bytes: u64) -> Self {
        let capacity = bytes(chunk.size, chunk.tiles.len()).map(|needed| {
            let roomy = (needed + needed / 4).next_multiple_of(ENTRY_BYTES);
            roomy.min(binding_bytes / ENTRY_BYTES * ENTRY_BYTES).max(needed)
        });
        use wgpu::BufferUsages as Use;
        let buffer = |label, size, usage| {
            device.create_buffer(&wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false })
        };
        let array = |k: usize| buffer(ARRAYS[k].name(), capacity[k], Use::STORAGE | Use::COPY_DST | Use::COPY_SRC);
        let shared = [0, 1, 2, 3].map(array);
        let problems = [(); 2].map(|()| [4, 5, 6].map(array));
        let staging = [(); 2].map(|()| buffer("staging", capacity[5] + capacity[6], Use::MAP_READ | Use::COPY_DST));
        let headers = buffer("header", (HEADER_STRIDE * HEADER_COUNT) as u64, Use::UNIFORM | Use::COPY_DST);
        let groups = [0, 1].map(|problem: usize| {
            let of = |array: Array| {
                let k = ARRAYS.iter().position(|a| *a == array).unwrap_or(0);
                if k < 4 { &shared[k] } else { &problems[problem][k - 4] }
            };
            let bind = |(stage, layout): (&super::Stage, &wgpu::BindGroupLayout)| {
                let header = wgpu::BufferBinding {
                    buffer: &headers,
                    offset: 0,
                    size: std::num::NonZeroU64::new(size_of::<Header>() as u64),
                };
                let mut entries =
                    vec![wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::Buffer(header) }];
                for (k, (array, _)) in stage.bindings.iter().enumerate() {
                    let resource = of(*array).as_entire_binding();
                    entries.push(wgpu::BindGroupEntry { binding: k as u32 + 1, resource });
                }
                device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: Some(stage.name),
                    layout,
                    entries: &entries,
                })
            };
            STAGES.iter().zip(layouts).map(bind).collect()
        });
        Self { capacity, shared, problems, staging, headers, groups }
    }

    /// Whether `chunk` has room.
    pub fn holds(&self, chunk: &Chunk) -> bool {
        bytes(chunk.size, chunk.tiles.len()).iter().zip(&self.capacity).all(|(needed, room)| needed <= room)
    }

    /// Sends the chunk's matrices, constant terms, friction, bounds and headers; of the answers, the arrays of `answers`.
    pub fn upload(
        &self,
        queue: &wgpu::Queue,
        chunk: &Chunk,
        group: &Group<F32x16>,
        settings: &SolveSettings,
        answers: &[(Problem, Array)],
    ) {
        let send = |buffer: &wgpu::Buffer, array: Array, data: &[F32x16]| {
            let data = &data[chunk.range(entries(array, chunk.size))];
            if !data.is_empty() {
                queue.write_buffer(buffer, 0, bytemuck::cast_slice(data));
            }
        };
        send(&self.shared[0], Array::Delassus, &group.delassus);
        send(&self.shared[1], Array::Friction, &group.friction);
        send(&self.shared[2], Array::Bounds, &group.bounds);
        send(&self.problems[0][0], Array::Bias, &group.bias);
        send(&self.problems[1][0], Array::Bias, &group.position_bias);
        for (problem, array) in answers {
            let (impulse, report) = match problem {
                Problem::Velocity => (&group.impulse, &group.report),
                Problem::Position => (&group.position_impulse, &group.position_report),
            };
            let [_, impulse_buffer, report_buffer] = &self.problems[*problem as usize];
            match array {
                Array::Report => send(report_buffer, Array::Report, report),
                _ => send(impulse_buffer, Array::Impulse, impulse),
            }
        }
        let mut headers = vec![0u8; HEADER_STRIDE * HEADER_COUNT];
        for (k, sweep_count) in Sweeps::new(settings, chunk.size).counts.into_iter().enumerate() {
            let header = Header { sweep_count, ..Header::new(chunk.size, chunk.tiles.len(), F32x16::LANES, settings) };
            headers[k * HEADER_STRIDE..][..size_of::<Header>()].copy_from_slice(bytemuck::bytes_of(&header));
        }
        queue.write_buffer(&self.headers, 0, &headers);
    }

    /// One dispatch of a stage over all blocks, with the header of that index.
    pub fn dispatch(
        &self,
        pass: &mut wgpu::ComputePass,
        pipelines: &[wgpu::ComputePipeline],
        problem: Problem,
        stage: usize,
        header: usize,
        chunk: &Chunk,
    ) {
        pass.set_pipeline(&pipelines[stage]);
        pass.set_bind_group(0, &self.groups[problem as usize][stage], &[(header * HEADER_STRIDE) as u32]);
        pass.dispatch_workgroups((chunk.tiles.len() * F32x16::LANES).div_ceil(WORKGROUP_SIZE) as u32, 1, 1);
    }

    /// Copies λ of the velocity problem to the position problem's first guess.
    pub fn copy_guess(&self, encoder: &mut wgpu::CommandEncoder, chunk: &Chunk) {
        let size = bytes(chunk.size, chunk.tiles.len())[5];
        encoder.copy_buffer_to_buffer(&self.problems[0][1], 0, &self.problems[1][1], 0, size);
    }

    /// Copies report and λ to where the host can read them.
    pub fn copy_answer(&self, encoder: &mut wgpu::CommandEncoder, problem: Problem, chunk: &Chunk) {
        let [.., impulse, report] = bytes(chunk.size, chunk.tiles.len());
        let staging = &self.staging[problem as usize];
        encoder.copy_buffer_to_buffer(&self.problems[problem as usize][2], 0, staging, 0, report);
        encoder.copy_buffer_to_buffer(&self.problems[problem as usize][1], 0, staging, report, impulse);
    }

    /// Asks for the answer; it can be read after the queue was waited for.
    pub fn map(&self, problem: Problem) {
        // A failure shows when the range is read.
        self.staging[problem as usize].map_async(wgpu::MapMode::Read, .., |_| ());
    }

    /// Reads report and λ into the group.
    ///
    /// # Errors
    /// [`Error::Device`] where the answer did not arrive.
    pub fn read(&self, problem: Problem, chunk: &Chunk, group: &mut Group<F32x16>) -> Result<()> {
        let [.., impulse_bytes, report_bytes] = bytes(chunk.size, chunk.tiles.len());
        let staging = &self.staging[problem as usize];
        let (impulse, report) = match problem {
            Problem::Velocity => (&mut group.impulse, &mut group.report),
            Problem::Position => (&mut group.position_impulse, &mut group.position_report),
        };
        let unread = |e: wgpu::MapRangeError| Error::Device(format!("the answer cannot be read: {e}"));
        let view = staging.get_mapped_range(..report_bytes + impulse_bytes).map_err(unread)?;
        let (report_view, impulse_view) = view.split_at(report_bytes as usize);
        let report: &mut [u8] = bytemuck::cast_slice_mut(&mut report[chunk.range(REPORT_LEN)]);
        report.copy_from_slice(report_view);
        let impulse: &mut [u8] = bytemuck::cast_slice_mut(&mut impulse[chunk.range(chunk.size.row_count())]);
        impulse.copy_from_slice(&impulse_view[..impulse.len()]);
        drop(view);
        staging.unmap();
        Ok(())
    }
}

/// Headers of a slot: all sweeps that fit one dispatch; the rest of a full round; the rest of the last round.
const HEADER_COUNT: usize = 3;

/// How a round of sweeps is spread over dispatches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sweeps {
    /// Sweeps of the header of that index.
    pub counts: [u32; HEADER_COUNT],
}

impl Sweeps {
    pub fn new(settings: &SolveSettings, size: BlockSize) -> Self {
        let most = (LOOP_BUDGET / loop_count_per_sweep(size)).max(1) as u32;
        let full = settings.check_every.max(1);
        Self { counts: [most, full % most, settings.iterations % full % most] }
    }
    /// The headers to dispatch with, one after the other, for a round of `sweep_count` sweeps as of [`SolveSettings::rounds`].
    pub fn dispatches(self, sweep_count: u32) -> impl Iterator<Item = usize> {
        let [most, ..] = self.counts;
        let rest = sweep_count % most;
        let last = self.counts[1..].iter().position(|count| *count == rest).filter(|_| rest > 0);
        std::iter::repeat_n(0, (sweep_count / most) as usize).chain(last.map(|k| k + 1))
    }
}
