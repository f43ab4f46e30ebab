//! Who steps the worlds: the CPU, the CPU with a device that solves, or a device.

#[cfg(feature = "gpu")]
use super::on_device::OnDevice;
use super::threads::Threads;
use super::{Backend, Impacts, Precision};
use crate::error::{Error, Result};
use crate::lane::{F32x16, Pack};
#[cfg(all(feature = "gpu", target_arch = "x86_64"))]
use crate::lane::{Pair, Wide};
#[cfg(feature = "gpu")]
use crate::solver::{Batch, SolveSettings};
use crate::step::{Plan, Worker};
#[cfg(feature = "gpu")]
use std::any::Any;
use std::sync::Mutex;

/// Who steps the worlds, or solves their blocks.
pub(super) enum Solver<R: Pack> {
    /// Every thread its own chunk, from a pool of workers.
    Cpu { workers: Mutex<Vec<Worker<R>>> },
    /// All blocks at once on the device; a worker for every chunk.
    #[cfg(feature = "gpu")]
    Hybrid { workers: Vec<Worker<R>>, gpu: Box<crate::gpu::Gpu>, merged: Box<Batch<F32x16>> },
    /// The device steps them all.
    #[cfg(feature = "gpu")]
    Gpu(Box<OnDevice<R>>),
}

impl<R: Pack> Solver<R> {
    pub fn cpu() -> Self {
        Self::Cpu { workers: Mutex::new(Vec::new()) }
    }
}

/// The solver that the settings and the machine allow.
pub(super) fn choose_solver<R: Pack>(
    plan: &Plan,
    world_count: usize,
    threads: &Threads,
    notes: &mut Vec<String>,
) -> Result<Solver<R>> {
    match plan.settings.backend {
        // Auto: a step on a GPU has not been measured on hardware yet, so the CPU is the best that is known.
        Backend::Cpu | Backend::Auto => Ok(Solver::cpu()),
        Backend::Gpu => on_device(plan, world_count, notes),
        Backend::Hybrid if plan.settings.impacts == Impacts::Sequential => Err(Error::Unsupported(
            "impacts sequential: their passes are solved on the CPU only; use backend cpu, or impacts simultaneous"
                .into(),
        )),
        Backend::Hybrid if plan.settings.precision == Precision::F64 => {
            Err(Error::Unsupported("backend hybrid solves in f32; use backend cpu for f64, or precision f32".into()))
        }
        Backend::Hybrid if R::LANES != F32x16::LANES => Err(Error::Unsupported(
            "backend hybrid needs AVX2 and FMA, or aarch64, on the CPU side; use backend cpu".into(),
        )),
        Backend::Hybrid => hybrid(plan, world_count.div_ceil(R::LANES), threads, notes),
    }
}

/// Whoever asks for it by name gets a software driver too, with a note.
#[cfg(feature = "gpu")]
fn hybrid<R: Pack>(plan: &Plan, tile_count: usize, threads: &Threads, notes: &mut Vec<String>) -> Result<Solver<R>> {
    let gpu = crate::gpu::Gpu::new(&crate::gpu::DeviceChoice::Any)?;
    notes.extend(software(gpu.info()));
    let tiles_per_chunk = tile_count.div_ceil(threads.count());
    let chunk_count = tile_count.div_ceil(tiles_per_chunk);
    let workers = (0..chunk_count).map(|_| Worker::new(plan, tiles_per_chunk, true)).collect();
    Ok(Solver::Hybrid { workers, gpu: Box::new(gpu), merged: Box::default() })
}

/// A note, if `device` is a software driver.
#[cfg(feature = "gpu")]
pub(super) fn software(device: &crate::gpu::DeviceInfo) -> Option<String> {
    device.is_software().then(|| format!("{} is a software driver: right answers, no speed", device.name))
}

#[cfg(not(feature = "gpu"))]
fn hybrid<R: Pack>(_: &Plan, _: usize, _: &Threads, _: &mut Vec<String>) -> Result<Solver<R>> {
    Err(Error::Unsupported("backend hybrid: this build has no GPU support (feature `gpu`); use backend cpu".into()))
}

#[cfg(feature = "gpu")]
fn on_device<R: Pack>(plan: &Plan, world_count: usize, notes: &mut Vec<String>) -> Result<Solver<R>> {
    Ok(Solver::Gpu(Box::new(OnDevice::new(plan, world_count, notes)?)))
}

#[cfg(not(feature = "gpu"))]
fn on_device<R: Pack>(_: &Plan, _: usize, _: &mut Vec<String>) -> Result<Solver<R>> {
    Err(Error::Unsupported("backend gpu: this build has no GPU support (feature `gpu`); use backend cpu".into()))
}

/// Stage 8 on the device: all blocks of one size class at once, whichever chunk they come from.
#[cfg(feature = "gpu")]
pub(super) fn solve_on_device<R: Pack>(
    plan: &Plan,
    workers: &mut [Worker<R>],
    gpu: &mut crate::gpu::Gpu,
    merged: &mut Batch<F32x16>,
    notes: &mut Vec<String>,
) -> Result<()> {
    let settings = plan.settings.solve();
    // Whichever form of the pack the worlds are kept in, its bits are those of the array pack.
    #[cfg(target_arch = "x86_64")]
    let report = if let Some(batches) = batches_of::<R, Wide>(workers) {
        solve_merged(batches, gpu, merged, &settings)
    } else if let Some(batches) = batches_of::<R, Pair>(workers) {
        solve_merged(batches, gpu, merged, &settings)
    } else {
        return Ok(());
    };
    #[cfg(not(target_arch = "x86_64"))]
    let report = match batches_of::<R, F32x16>(workers) {
        Some(batches) => solve_merged(batches, gpu, merged, &settings),
        None => return Ok(()),
    };
    notes.extend(report?.note.filter(|note| !notes.contains(note)));
    Ok(())
}

/// The batches of all workers; none if R is not P.
#[cfg(feature = "gpu")]
fn batches_of<R: Pack, P: Pack>(workers: &mut [Worker<R>]) -> Option<Vec<&mut Batch<P>>> {
    workers.iter_mut().map(|worker| (&mut worker.batch as &mut dyn Any).downcast_mut()).collect()
}

/// Merges, solves and deals out.
#[cfg(feature = "gpu")]
fn solve_merged<P: Pack + bytemuck::Pod>(
    mut batches: Vec<&mut Batch<P>>,
    gpu: &mut crate::gpu::Gpu,
    merged: &mut Batch<F32x16>,
    settings: &SolveSettings,
) -> Result<crate::gpu::GpuReport> {
    merged.merge(batches.iter().map(|batch| &**batch));
    let report = gpu.solve(merged, settings)?;
    merged.deal_out(batches.iter_mut().map(|batch| &mut **batch));
    Ok(report)
}
