//! A whole batch on the device.

use rayon::prelude::*;

use super::buffers::{Chunk, Problem, Slot, Sweeps, any_live};
use super::device::Gpu;
use super::stages::{LOOP_BUDGET, STAGES, loop_count_per_sweep, stage};
use crate::error::{Error, Result};
use crate::lane::{F32x16, Level};
use crate::solver::{Algorithm, Batch, Group, REPORT_LEN, SolveSettings, Tiles, solve_tiles};

/// Rounds of sweeps before the reports are read back for the first time; then twice as many each time.
const FIRST_ROUNDS: usize = 4;
/// Most rounds in one submission, so that no watchdog ends it.
const MOST_ROUNDS: usize = 32;

/// Where the blocks of a batch were solved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GpuReport {
    /// Blocks solved on the device.
    pub gpu_block_count: usize,
    /// Blocks solved on the CPU because they are too large for the device.
    pub cpu_block_count: usize,
    /// Submissions to the device, each with one wait.
    pub submission_count: usize,
    /// What the user should know, where blocks went to the CPU.
    pub note: Option<String>,
}

impl Gpu {
    /// Solves the velocity problem and then the position problem of every block, as [`crate::solver::solve_cpu`] does.
    ///
    /// Groups whose blocks are too large for the device are solved on the CPU, and the report says so. The same batch gives the same bits on
    /// the same device; a block's bits do not depend on its neighbours.
    ///
    /// # Errors
    /// [`Error::Device`] where the device fails, [`Error::Argument`] for wrong settings, [`Error::Unsupported`] for blocks that are too large for the device
    /// where the CPU cannot take them.
    pub fn solve(&mut self, batch: &mut Batch<F32x16>, settings: &SolveSettings) -> Result<GpuReport> {
        settings.validate()?;
        let mut report = GpuReport::default();
        let mut chunks = Vec::new();
        for (g, group) in batch.groups.iter_mut().enumerate() {
            if let Some(cut) = self.cut(g, group) {
                chunks.extend(cut);
                report.gpu_block_count += group.block_count;
                continue;
            }
            if !Level::detect().runs_packs() {
                return Err(Error::Unsupported(format!(
                    "blocks of {} rows are too large for the device, and this CPU has no AVX2 and FMA to solve them in packs; use the cpu backend",
                    group.size.row_count()
                )));
            }
            let pieces = Tiles::all(group).chunks(1);
            pieces.into_par_iter().for_each(|tiles| solve_tiles(tiles, Level::detect(), settings));
            report.cpu_block_count += group.block_count;
            report.note = Some(format!(
                "blocks of {} rows are too large for the device and were solved on the CPU",
                group.size.row_count()
            ));
        }
        self.reserve(&chunks);
        for (slot, chunk) in self.slots.iter().zip(&chunks) {
            let guess = [(Problem::Velocity, super::Array::Impulse)];
            slot.upload(&self.queue, chunk, &batch.groups[chunk.group], settings, &guess);
        }
        for problem in [Problem::Velocity, Problem::Position] {
            report.submission_count += self.solve_problem(problem, &chunks, batch, settings)?;
        }
        Ok(report)
    }

    /// The chunks of a group, or none where its blocks are too large for the device.
    pub(super) fn cut(&self, index: usize, group: &Group<F32x16>) -> Option<Vec<Chunk>> {
        if loop_count_per_sweep(group.size) > LOOP_BUDGET {
            return None;
        }
        Chunk::cut(index, group.size, group.tile_count(), self.binding_bytes).ok()
    }

    /// A slot for every chunk, in order.
    pub(super) fn reserve(&mut self, chunks: &[Chunk]) {
        for (k, chunk) in chunks.iter().enumerate() {
            if self.slots.get(k).is_some_and(|slot| slot.holds(chunk)) {
                continue;
            }
            let slot = Slot::new(&self.device, &self.layouts, chunk, self.binding_bytes);
            if k < self.slots.len() {
                self.slots[k] = slot;
            } else {
                self.slots.push(slot);
            }
        }
    }

    /// `warm_start`, `residual`, then rounds of sweeps and `residual` until no block is live; returns the submissions.
    ///
    /// The host reads the reports after 4 rounds, then after 8 more, and so on: few waits, and at most about twice the rounds
    /// needed. Rounds over frozen blocks change nothing, so the answer is that of the CPU's loop.
    fn solve_problem(
        &self,
        problem: Problem,
        chunks: &[Chunk],
        batch: &mut Batch<F32x16>,
        settings: &SolveSettings,
    ) -> Result<usize> {
        let (warm_start, residual) = (stage("warm_start")?, stage("residual")?);
        let sweep = stage(match settings.algorithm {
            Algorithm::Auto | Algorithm::Pgs => "pgs",
            Algorithm::Jacobi => "jacobi",
        })?;
        let rounds: Vec<u32> = settings.rounds().collect();
        let mut live: Vec<usize> = (0..chunks.len()).collect();
        let (mut done, mut next, mut submission_count) = (0, FIRST_ROUNDS, 0);
        while !live.is_empty() {
            let burst = &rounds[done..(done + next).min(rounds.len())];
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            for &k in &live {
                let (slot, chunk) = (&self.slots[k], &chunks[k]);
                let first = submission_count == 0;
                if first && problem == Problem::Position {
                    slot.copy_guess(&mut encoder, chunk);
                }
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                let mut run = |stage, header| {
                    slot.dispatch(&mut pass, &self.pipelines, problem, stage, header, chunk);
                };
                if first {
                    run(warm_start, 0);
                    run(residual, 0);
                }
                for sweep_count in burst {
                    for header in Sweeps::new(settings, chunk.size).dispatches(*sweep_count) {
                        run(sweep, header);
                    }
                    run(residual, 0);
                }
                drop(pass);
                slot.copy_answer(&mut encoder, problem, chunk);
            }
            self.queue.submit([encoder.finish()]);
            for &k in &live {
                self.slots[k].map(problem);
            }
            self.wait()?;
            done += burst.len();
            next = (2 * next).min(MOST_ROUNDS);
            submission_count += 1;
            let mut still_live = Vec::new();
            for &k in &live {
                let (chunk, group) = (&chunks[k], &mut batch.groups[chunks[k].group]);
                self.slots[k].read(problem, chunk, group)?;
                let any = any_live(&problem.report(group)[chunk.range(REPORT_LEN)]);
                if any && done < rounds.len() {
                    still_live.push(k);
                }
            }
            live = still_live;
        }
        Ok(submission_count)
    }

    /// Runs one stage once over one group: the velocity problem's arrays go up as they are, λ and report come back.
    ///
    /// # Errors
    /// [`crate::Error::Device`] where the device fails, [`crate::Error::Unsupported`] where a tile is too large for it.
    pub(super) fn run_stage(
        &mut self,
        stage: usize,
        group: &mut Group<F32x16>,
        problem: Problem,
        sweep_count: u32,
        settings: &SolveSettings,
    ) -> Result<()> {
        let settings = SolveSettings { iterations: sweep_count, check_every: sweep_count.max(1), ..*settings };
        let chunks = Chunk::cut(0, group.size, group.tile_count(), self.binding_bytes)?;
        self.reserve(&chunks);
        let answers = [(problem, super::Array::Impulse), (problem, super::Array::Report)];
        for (slot, chunk) in self.slots.iter().zip(&chunks) {
            slot.upload(&self.queue, chunk, group, &settings, &answers);
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            if STAGES[stage].name == "pgs" || STAGES[stage].name == "jacobi" {
                for header in Sweeps::new(&settings, chunk.size).dispatches(sweep_count) {
                    slot.dispatch(&mut pass, &self.pipelines, problem, stage, header, chunk);
                }
            } else {
                slot.dispatch(&mut pass, &self.pipelines, problem, stage, 0, chunk);
            }
            drop(pass);
            slot.copy_answer(&mut encoder, problem, chunk);
            self.queue.submit([encoder.finish()]);
            slot.map(problem);
            self.wait()?;
            slot.read(problem, chunk, group)?;
        }
        Ok(())
    }
}
