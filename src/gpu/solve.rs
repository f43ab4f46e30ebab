//! A whole batch on the device.

use rayon::prelude::*;

use super::arrival::fetch;
use super::buffers::{Chunk, Slot, fits, patches_under};
use super::clock::{Clock, TICK_BYTES};
use super::device::{Device, Gpu};
use crate::error::{Error, Result};
use crate::lane::{F32x16, Level};
use crate::solver::{Batch, BlockSize, DeviceWork, SolveSettings, Tiles, Which, begin_sweeps, solve_tiles};
use crate::waiting::now;

/// Most dispatches over a chunk in one submission, so that no watchdog ends it.
const MOST_DISPATCHES: u32 = 8;

/// Where the blocks of a batch were solved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GpuReport {
    /// Blocks solved on the device.
    pub gpu_block_count: usize,
    /// Blocks solved on the CPU because they are too large for the device.
    pub cpu_block_count: usize,
    /// What that asked of the device.
    pub work: DeviceWork,
    /// What the user should know, where blocks went to the CPU.
    pub note: Option<String>,
}

impl Gpu {
    /// Sweeps over the velocity problem and then the position problem of every block, as [`crate::solver::solve_cpu`] does; with
    /// [`Algorithm::Auto`](crate::solver::Algorithm::Auto) without the Newton that follows there.
    ///
    /// Groups whose blocks are too large for the device are solved on the CPU, and the report says so. The same batch gives the same bits on
    /// the same device; a block's bits do not depend on its neighbours.
    ///
    /// # Errors
    /// [`Error::Device`] where the device fails, [`Error::Argument`] for wrong settings, [`Error::Unsupported`] for blocks that are too large for the device
    /// where the CPU cannot take them.
    pub fn solve(&mut self, batch: &mut Batch<F32x16>, settings: &SolveSettings) -> Result<GpuReport> {
        let before = self.work;
        let mut report = GpuReport::default();
        for group in &batch.groups {
            let there = self.fits(group.size, group.patch_count, settings);
            *if there { &mut report.gpu_block_count } else { &mut report.cpu_block_count } += group.block_count;
        }
        let mut all: Vec<_> = batch.groups.iter_mut().map(Tiles::all).collect();
        report.note = self.load(&mut all, settings)?;
        for which in [Which::Velocity, Which::Position] {
            self.sweep(&mut all, which)?;
        }
        report.work = self.work.since(before);
        Ok(report)
    }

    /// Whether blocks of a size, the first contacts of which are patches, are solved on the device.
    fn fits(&self, size: BlockSize, patch_count: usize, settings: &SolveSettings) -> bool {
        fits(size, patches_under(settings.law, patch_count), settings, self.binding_bytes)
    }

    /// Sends what the problems of all blocks are. Those that are too large for the device are solved here, both problems of them; the note says so.
    ///
    /// # Errors
    /// As [`Gpu::solve`].
    pub(crate) fn load(&mut self, all: &mut [Tiles<'_, F32x16>], settings: &SolveSettings) -> Result<Option<String>> {
        settings.validate()?;
        let mut note = None;
        for tiles in all.iter_mut().filter(|tiles| tiles.count() > 0) {
            let rows = tiles.size.row_count();
            if self.fits(tiles.size, tiles.patch_count, settings) {
                continue;
            }
            if !Level::detect().runs_packs() {
                return Err(Error::Unsupported(format!(
                    "blocks of {rows} rows are too large for the device, and this CPU has no AVX2 and FMA to solve them in packs; use the cpu backend",
                )));
            }
            let pieces = tiles.reborrow().chunks(1);
            pieces.into_par_iter().try_for_each(|tiles| solve_tiles(tiles, Level::detect(), settings))?;
            note = Some(format!("blocks of {rows} rows are too large for the device and were solved on the CPU"));
        }
        self.chunks = Chunk::cut(all, settings, self.binding_bytes);
        self.choose_shaders(settings);
        for (k, chunk) in self.chunks.iter().enumerate() {
            if self.slots.get(k).is_none_or(|slot| !slot.holds(chunk)) {
                self.slots.truncate(k);
                self.slots.push(Slot::new(&self.device, &self.layout, chunk, self.binding_bytes));
            }
            self.work.bytes_up += self.slots[k].upload(&self.queue, chunk, all, settings);
        }
        self.checked(Device::check)?;
        Ok(note)
    }

    /// All sweeps over one problem of the blocks that were sent, `all` being the same tiles. Impulses are the first guess and then the answer; the position problem goes on from
    /// the velocity problem's answer as it stands here.
    ///
    /// # Errors
    /// [`Error::Device`] where the device fails.
    pub(crate) fn sweep(&mut self, all: &mut [Tiles<'_, F32x16>], which: Which) -> Result<()> {
        for part in self.chunks.iter().flat_map(|chunk| &chunk.parts) {
            part.tiles.clone().for_each(|tile| begin_sweeps(&mut all[part.index], which, tile));
        }
        self.sweep_on(all, which)
    }

    /// The sweeps that are left, from where the reports stand.
    ///
    /// # Errors
    /// [`Error::Device`] where the device fails.
    pub(super) fn sweep_on(&mut self, all: &mut [Tiles<'_, F32x16>], which: Which) -> Result<()> {
        for (slot, chunk) in self.slots.iter().zip(&self.chunks) {
            self.work.bytes_up += slot.upload_problem(&self.queue, chunk, all, which);
        }
        // Dispatches that every chunk had.
        let mut done = vec![0; self.chunks.len()];
        loop {
            let waiting: Vec<usize> = (0..done.len())
                .filter(|&k| done[k] < self.chunks[k].most_dispatches && self.chunks[k].any_swept(all, which))
                .collect();
            if waiting.is_empty() {
                return Ok(());
            }
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: None,
                timestamp_writes: self.clock.as_ref().map(Clock::writes),
            });
            for &k in &waiting {
                let chunk = &self.chunks[k];
                let wanted = if done[k] == 0 { chunk.dispatches } else { chunk.most_dispatches - done[k] };
                let dispatches = wanted.clamp(1, MOST_DISPATCHES);
                let now = done[k]..done[k] + dispatches;
                self.work.dispatches += self.slots[k].record(&mut pass, &self.shaders[k], chunk, which, now);
                done[k] += dispatches;
            }
            drop(pass);
            for &k in &waiting {
                self.slots[k].record_back(&mut encoder, &self.chunks[k]);
            }
            if let Some(clock) = &self.clock {
                clock.resolve(&mut encoder);
            }
            self.queue.submit([encoder.finish()]);
            for &k in &waiting {
                self.slots[k].map();
            }
            self.work.waits += 1;
            self.checked(Device::wait)?;
            if let Some(mut clock) = self.clock.take() {
                let ticks = self.checked(|device| now(fetch::<u64>(device, None, &clock.ticks, [0, TICK_BYTES])))?;
                clock.add(&self.queue, &ticks);
                self.clock = Some(clock);
            }
            for &k in &waiting {
                let read = self.slots[k].read(&self.chunks[k], all, which);
                self.work.bytes_down += self.checked(|_| read)?;
            }
        }
    }

    /// After a failure the buffers are made anew: some may be mapped, or were never there.
    fn checked<T>(&mut self, what: impl FnOnce(&Device) -> Result<T>) -> Result<T> {
        what(self).inspect_err(|_| self.slots.clear())
    }
}
