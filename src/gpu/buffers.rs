//! The buffers of one chunk: tiles of any sizes that one dispatch solves.

use std::cmp::Reverse;
use std::num::NonZeroU64;
use std::ops::Range;

use super::shader::{Array, sweeps_in_a_dispatch};
use super::small::{SMALL, is_small};
use crate::error::{Error, Result};
use crate::lane::{F32x16, Pack};
use crate::solver::{
    self, BlockSize, FrictionLaw, PATCH_LEN, REPORT_LEN, REPORT_LIVE, SWEPT, SolveSettings, Tiles, Which,
};

/// Bytes of one tile's entry: 16 f32.
const ENTRY_BYTES: u64 = size_of::<F32x16>() as u64;
/// Invocations of a workgroup, `WORKGROUP_SIZE` in `shaders/common.wgsl`.
const WORKGROUP_SIZE: usize = 64;
/// Bytes from one header to the next: every device lets uniforms begin at multiples of that.
const HEADER_BYTES: u64 = 256;
/// Runs of a chunk at most: one of blocks of any sizes, and one of each size that lies in registers.
const MOST_RUNS: u64 = 1 + SMALL as u64;
/// Workgroups per dimension that every device grants.
const WORKGROUP_COUNT_LIMIT: usize = 65_535;
/// Where Newton follows, sweeps are left that do not take the residual down tenfold between two looks: after so many looks none can be above the rounding of f32, 1e-7
/// of what is added up in it.
const LOOKS_BEFORE_NEWTON: u32 = 10;

/// What all tiles of a chunk share: the uniform of the shader, of the same layout. The fields are those of [`solver::Header`].
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Header {
    /// Lanes of all tiles of a dispatch, the idle ones counted.
    pub block_count: u32,
    /// As [`solver::Header::law`].
    pub law: u32,
    /// As [`solver::Header::algorithm`].
    pub algorithm: u32,
    /// As [`solver::Header::iterations`].
    pub iterations: u32,
    /// As [`solver::Header::check_every`].
    pub check_every: u32,
    /// As [`solver::Header::tolerance`], m/s.
    pub tolerance: f32,
    /// As [`solver::Header::contracts`].
    pub contracts: f32,
    /// +∞, which a shader cannot write down: the residual of a block whose numbers are not finite.
    pub infinity: f32,
    /// The block of the first invocation.
    pub first_block: u32,
}

/// What a tile has for itself: an element of the shader's table, of the same layout.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Tile {
    /// Contacts its blocks have room for, three rows each.
    pub contact_count: u32,
    /// Scalar rows they have room for.
    pub scalar_count: u32,
    /// How many of the contacts are patches, the first ones.
    pub patch_count: u32,
    /// Most sweeps of one dispatch.
    pub sweep_count: u32,
    /// Entries of W of all tiles before this one.
    pub first_matrix: u32,
    /// Rows of all tiles before this one.
    pub first_row: u32,
    /// Numbers about friction of all tiles before this one: coefficients, and what patches are.
    pub first_friction: u32,
    /// Scalar rows of all tiles before this one.
    pub first_scalar: u32,
}

/// Tiles next to each other, of one size.
#[derive(Debug)]
pub(super) struct Part {
    /// Index in the list of all [`Tiles`].
    pub index: usize,
    /// Which of them.
    pub tiles: Range<usize>,
    size: BlockSize,
    patch_count: usize,
}

impl Part {
    /// Where they are in an array.
    fn range(&self, array: Array) -> Range<usize> {
        let len = entries(array, self.size, self.patch_count);
        self.tiles.start * len..self.tiles.end * len
    }
}

/// Tiles next to each other that one shader sweeps.
#[derive(Debug)]
pub(super) struct Run {
    /// Contacts of its blocks, where they lie in registers; none: blocks of any sizes.
    pub small: Option<usize>,
    tiles: Range<usize>,
    /// Dispatches after which none of its blocks is swept any more.
    most_dispatches: u32,
}

/// Which tiles are solved together.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub parts: Vec<Part>,
    tiles: Vec<Tile>,
    /// Which shader sweeps which tiles, all of them one after another.
    pub runs: Vec<Run>,
    /// Bytes of every array of [`Array::ALL`].
    bytes: [u64; Array::ALL.len()],
    /// Dispatches after which no block is swept any more.
    pub most_dispatches: u32,
    /// Dispatches after which hardly any is.
    pub dispatches: u32,
}

/// Whether blocks of a size, the first contacts of which are patches, are solved on a device that binds `binding_bytes` at once.
pub(super) fn fits(size: BlockSize, patch_count: usize, settings: &SolveSettings, binding_bytes: u64) -> bool {
    sweeps_in_a_dispatch(size, patch_count, settings) > 0 && tile_bytes(size, patch_count) <= binding_bytes
}

/// How many of the contacts are patches as far as the friction law knows such.
pub(super) fn patches_under(law: FrictionLaw, patch_count: usize) -> usize {
    if law == FrictionLaw::Patch { patch_count } else { 0 }
}

/// Entries of an array per tile.
fn entries(array: Array, size: BlockSize, patch_count: usize) -> usize {
    let n = size.row_count();
    match array {
        Array::Tiles => 0,
        Array::Delassus => n * n,
        Array::Friction => size.contact_count + PATCH_LEN * patch_count,
        Array::Bounds => 2 * size.scalar_count,
        Array::Bias | Array::NextImpulse | Array::Impulse => n,
        Array::Report => REPORT_LEN,
    }
}

/// Bytes of a tile in the array where it has most.
fn tile_bytes(size: BlockSize, patch_count: usize) -> u64 {
    Array::ALL.map(|array| entries(array, size, patch_count)).into_iter().max().unwrap_or(0) as u64 * ENTRY_BYTES
}

impl Chunk {
    /// Cuts the tiles that fit so that every array fits a binding of `binding_bytes` and the blocks fit one dispatch. The largest blocks come first: what takes longest starts
    /// first, and neighbours are alike; those that lie in registers come last.
    pub fn cut(all: &[Tiles<'_, F32x16>], settings: &SolveSettings, binding_bytes: u64) -> Vec<Self> {
        let patches = |k: usize| patches_under(settings.law, all[k].patch_count);
        let there = |k: &usize| all[*k].count() > 0 && fits(all[*k].size, patches(*k), settings, binding_bytes);
        let mut order: Vec<usize> = (0..all.len()).filter(there).collect();
        order.sort_by_key(|&k| {
            let small = is_small(all[k].size, patches(k), settings);
            (small, Reverse((all[k].size.row_count(), all[k].size, patches(k))))
        });
        let most_tiles = WORKGROUP_COUNT_LIMIT * WORKGROUP_SIZE / F32x16::LANES;
        let (mut chunks, mut used) = (Vec::<Self>::new(), binding_bytes);
        for k in order {
            let (size, patch_count, mut first) = (all[k].size, patches(k), 0);
            let bytes = tile_bytes(size, patch_count);
            while first < all[k].count() {
                let room = chunks.last().map_or(0, |chunk| most_tiles - chunk.tiles.len());
                let room = room.min(((binding_bytes - used) / bytes) as usize);
                let Some(chunk) = chunks.last_mut().filter(|_| room > 0) else {
                    chunks.push(Self::default());
                    used = 0;
                    continue;
                };
                let last = all[k].count().min(first + room);
                chunk.add(Part { index: k, tiles: first..last, size, patch_count }, settings);
                used += (last - first) as u64 * bytes;
                first = last;
            }
        }
        chunks
    }

    fn add(&mut self, part: Part, settings: &SolveSettings) {
        let Part { size, patch_count, .. } = part;
        let sweep_count = sweeps_in_a_dispatch(size, patch_count, settings);
        let expected = match solver::Header::new(size, settings).contracts {
            0.0 => settings.iterations,
            _ => settings.iterations.min(settings.check_every.max(1).saturating_mul(LOOKS_BEFORE_NEWTON)),
        };
        let most_dispatches = settings.iterations.div_ceil(sweep_count).max(1);
        self.most_dispatches = self.most_dispatches.max(most_dispatches);
        self.dispatches = self.dispatches.max(expected.div_ceil(sweep_count)).max(1);
        let small = is_small(size, patch_count, settings).then_some(size.contact_count);
        let end = self.tiles.len() + part.tiles.len();
        match self.runs.last_mut().filter(|run| run.small == small) {
            Some(run) => (run.tiles.end, run.most_dispatches) = (end, run.most_dispatches.max(most_dispatches)),
            None => self.runs.push(Run { small, tiles: self.tiles.len()..end, most_dispatches }),
        }
        for _ in part.tiles.clone() {
            let before = |array: Array| (self.bytes[array as usize] / ENTRY_BYTES) as u32;
            self.tiles.push(Tile {
                contact_count: size.contact_count as u32,
                scalar_count: size.scalar_count as u32,
                patch_count: patch_count as u32,
                sweep_count,
                first_matrix: before(Array::Delassus),
                first_row: before(Array::Impulse),
                first_friction: before(Array::Friction),
                first_scalar: before(Array::Bounds) / 2,
            });
            for array in Array::ALL {
                self.bytes[array as usize] += entries(array, size, patch_count) as u64 * ENTRY_BYTES;
            }
            self.bytes[Array::Tiles as usize] += size_of::<Tile>() as u64;
        }
        self.parts.push(part);
    }

    /// Whether any block of it is still swept.
    pub fn any_swept(&self, all: &[Tiles<'_, F32x16>], which: Which) -> bool {
        self.parts.iter().any(|part| {
            let mut each = reports(&all[part.index], which)[part.range(Array::Report)].chunks_exact(REPORT_LEN);
            each.any(|report| report[REPORT_LIVE].lanes().contains(&(SWEPT as f32)))
        })
    }

    /// Sends what its tiles have of an array, `of` the list of all; returns the bytes.
    fn send<'a>(
        &self,
        queue: &wgpu::Queue,
        to: &wgpu::Buffer,
        array: Array,
        of: impl Fn(usize) -> &'a [F32x16],
    ) -> u64 {
        self.send_pieces(queue, to, array, |part| [&of(part.index)[part.range(array)]])
    }

    /// Sends friction coefficients and what patches are, tile by tile; returns the bytes.
    fn send_friction(&self, queue: &wgpu::Queue, to: &wgpu::Buffer, all: &[Tiles<'_, F32x16>]) -> u64 {
        self.send_pieces(queue, to, Array::Friction, |part| {
            let Tiles { friction, patches, .. } = all[part.index];
            let (contacts, numbers) = (part.size.contact_count, PATCH_LEN * part.patch_count);
            part.tiles
                .clone()
                .flat_map(move |tile| [&friction[tile * contacts..][..contacts], &patches[tile * numbers..][..numbers]])
        })
    }

    /// Sends an array in pieces, one after the other; returns the bytes.
    fn send_pieces<'a, I: IntoIterator<Item = &'a [F32x16]>>(
        &self,
        queue: &wgpu::Queue,
        to: &wgpu::Buffer,
        array: Array,
        of: impl Fn(&Part) -> I,
    ) -> u64 {
        let size = self.bytes[array as usize];
        // a view that is refused is a fault that the device tells
        if let Some(mut view) = NonZeroU64::new(size).and_then(|size| queue.write_buffer_with(to, 0, size)) {
            let mut at = 0;
            for piece in self.parts.iter().flat_map(of) {
                let from: &[u8] = bytemuck::cast_slice(piece);
                view.slice(at..at + from.len()).copy_from_slice(from);
                at += from.len();
            }
        }
        size
    }
}

/// Device memory for one chunk at a time.
#[derive(Debug)]
pub(super) struct Slot {
    /// Bytes that every array has room for, in the order of [`Array::ALL`].
    capacity: [u64; Array::ALL.len()],
    /// One a run, [`HEADER_BYTES`] apart.
    headers: wgpu::Buffer,
    /// In the order of [`Array::ALL`]; the bias is that of the velocity problem.
    arrays: Vec<wgpu::Buffer>,
    position_bias: wgpu::Buffer,
    /// Report and impulse on their way back.
    staging: wgpu::Buffer,
    /// One a problem.
    groups: [wgpu::BindGroup; 2],
}

impl Slot {
    /// Room for `chunk`, a quarter more than it needs as far as `binding_bytes` allows.
    pub fn new(device: &wgpu::Device, layout: &wgpu::BindGroupLayout, chunk: &Chunk, binding_bytes: u64) -> Self {
        // nothing empty can be bound
        let capacity = chunk.bytes.map(|needed| {
            let roomy = (needed + needed / 4).min(binding_bytes).max(needed).max(ENTRY_BYTES);
            roomy.next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT)
        });
        use wgpu::BufferUsages as Use;
        let buffer = |label, size, usage| {
            device.create_buffer(&wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false })
        };
        let array =
            |array: Array| buffer(array.name(), capacity[array as usize], Use::STORAGE | Use::COPY_DST | Use::COPY_SRC);
        let (arrays, position_bias) = (Array::ALL.map(array).to_vec(), array(Array::Bias));
        let back = capacity[Array::Report as usize] + capacity[Array::Impulse as usize];
        let staging = buffer("staging", back, Use::MAP_READ | Use::COPY_DST);
        let headers = buffer("headers", MOST_RUNS * HEADER_BYTES, Use::UNIFORM | Use::COPY_DST);
        let header =
            wgpu::BufferBinding { buffer: &headers, offset: 0, size: NonZeroU64::new(size_of::<Header>() as u64) };
        let groups = [Which::Velocity, Which::Position].map(|which| {
            let header = wgpu::BindingResource::Buffer(header.clone());
            let mut entries = vec![wgpu::BindGroupEntry { binding: 0, resource: header }];
            for (k, array) in Array::ALL.into_iter().enumerate() {
                let other = array == Array::Bias && which == Which::Position;
                let resource = if other { &position_bias } else { &arrays[k] }.as_entire_binding();
                entries.push(wgpu::BindGroupEntry { binding: k as u32 + 1, resource });
            }
            let label = Some("sweeps");
            device.create_bind_group(&wgpu::BindGroupDescriptor { label, layout, entries: &entries })
        });
        Self { capacity, headers, arrays, position_bias, staging, groups }
    }

    /// Whether `chunk` has room.
    pub fn holds(&self, chunk: &Chunk) -> bool {
        chunk.bytes.iter().zip(&self.capacity).all(|(needed, room)| needed <= room)
    }

    /// Sends what both problems have: matrices, constant terms, friction and bounds, and what the shader has to know of them. Returns the bytes.
    pub fn upload(
        &self,
        queue: &wgpu::Queue,
        chunk: &Chunk,
        all: &[Tiles<'_, F32x16>],
        settings: &SolveSettings,
    ) -> u64 {
        // what does not depend on the size is for all tiles
        let same = solver::Header::new(BlockSize::default(), settings);
        let header = |run: &Run| Header {
            block_count: (run.tiles.len() * F32x16::LANES) as u32,
            law: same.law,
            algorithm: same.algorithm,
            iterations: same.iterations,
            check_every: same.check_every,
            tolerance: same.tolerance,
            contracts: same.contracts,
            infinity: f32::INFINITY,
            first_block: (run.tiles.start * F32x16::LANES) as u32,
        };
        for (k, run) in chunk.runs.iter().enumerate() {
            queue.write_buffer(&self.headers, k as u64 * HEADER_BYTES, bytemuck::bytes_of(&header(run)));
        }
        let tiles: &[u8] = bytemuck::cast_slice(&chunk.tiles);
        queue.write_buffer(&self.arrays[Array::Tiles as usize], 0, tiles);
        let to = |array: Array| &self.arrays[array as usize];
        (chunk.runs.len() * size_of::<Header>() + tiles.len()) as u64
            + chunk.send(queue, to(Array::Delassus), Array::Delassus, |k| all[k].delassus)
            + chunk.send_friction(queue, to(Array::Friction), all)
            + chunk.send(queue, to(Array::Bounds), Array::Bounds, |k| all[k].bounds)
            + chunk.send(queue, to(Array::Bias), Array::Bias, |k| all[k].bias)
            + chunk.send(queue, &self.position_bias, Array::Bias, |k| all[k].position_bias)
    }

    /// Sends where a problem stands: impulses and reports. Returns the bytes.
    pub fn upload_problem(&self, queue: &wgpu::Queue, chunk: &Chunk, all: &[Tiles<'_, F32x16>], which: Which) -> u64 {
        let impulse = |k: usize| match which {
            Which::Velocity => &*all[k].impulse,
            Which::Position => &*all[k].position_impulse,
        };
        let to = |array: Array| &self.arrays[array as usize];
        chunk.send(queue, to(Array::Impulse), Array::Impulse, impulse)
            + chunk.send(queue, to(Array::Report), Array::Report, |k| reports(&all[k], which))
    }

    /// Records these dispatches over all blocks, counted from the first of the problem, as far as a run needs them; returns how many that are. `shaders`: one a run.
    pub fn record(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        shaders: &[wgpu::ComputePipeline],
        chunk: &Chunk,
        which: Which,
        dispatches: Range<u32>,
    ) -> u64 {
        let mut count = 0;
        for dispatch in dispatches {
            let runs = chunk.runs.iter().zip(shaders).enumerate();
            for (k, (run, shader)) in runs.filter(|(_, (run, _))| dispatch < run.most_dispatches) {
                count += 1;
                pass.set_pipeline(shader);
                pass.set_bind_group(0, &self.groups[which as usize], &[(k as u64 * HEADER_BYTES) as u32]);
                pass.dispatch_workgroups((run.tiles.len() * F32x16::LANES).div_ceil(WORKGROUP_SIZE) as u32, 1, 1);
            }
        }
        count
    }

    /// Records the way back of report and λ.
    pub fn record_back(&self, encoder: &mut wgpu::CommandEncoder, chunk: &Chunk) {
        let mut at = 0;
        for array in [Array::Report, Array::Impulse] {
            let size = chunk.bytes[array as usize];
            encoder.copy_buffer_to_buffer(&self.arrays[array as usize], 0, &self.staging, at, size);
            at += size;
        }
    }

    /// Asks for report and λ; they can be read after the queue was waited for.
    pub fn map(&self) {
        // A failure shows when the range is read.
        self.staging.map_async(wgpu::MapMode::Read, .., |_| ());
    }

    /// Reads report and λ. Returns the bytes.
    ///
    /// # Errors
    /// [`Error::Device`] where the answer did not arrive.
    pub fn read(&self, chunk: &Chunk, all: &mut [Tiles<'_, F32x16>], which: Which) -> Result<u64> {
        let [.., impulse_bytes, report_bytes] = chunk.bytes;
        let unread = |e: wgpu::MapRangeError| Error::Device(format!("the answer cannot be read: {e}"));
        let view = self.staging.get_mapped_range(..report_bytes + impulse_bytes).map_err(unread)?;
        let (mut report_view, mut impulse_view) = view.split_at(report_bytes as usize);
        for part in &chunk.parts {
            let tiles = &mut all[part.index];
            let (impulse, report) = match which {
                Which::Velocity => (&mut *tiles.impulse, &mut *tiles.report),
                Which::Position => (&mut *tiles.position_impulse, &mut *tiles.position_report),
            };
            for (to, array, from) in
                [(report, Array::Report, &mut report_view), (impulse, Array::Impulse, &mut impulse_view)]
            {
                let to: &mut [u8] = bytemuck::cast_slice_mut(&mut to[part.range(array)]);
                let (own, rest) = from.split_at(to.len());
                to.copy_from_slice(own);
                *from = rest;
            }
        }
        drop(view);
        self.staging.unmap();
        Ok(report_bytes + impulse_bytes)
    }
}

/// The certificates of one problem.
fn reports<'a>(tiles: &'a Tiles<'_, F32x16>, which: Which) -> &'a [F32x16] {
    match which {
        Which::Velocity => tiles.report,
        Which::Position => tiles.position_report,
    }
}
