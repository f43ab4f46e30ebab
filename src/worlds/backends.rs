//! Who steps the worlds: the CPU, the CPU with a device that solves, or a device.

#[cfg(feature = "gpu")]
use super::on_device::OnDevice;
use super::threads::Threads;
use super::{Backend, Impacts, Precision};
use crate::error::{Error, Result};
use crate::lane::{F32x16, Pack};
#[cfg(feature = "gpu")]
use crate::solver::{Tiles, Which, array_tiles};
use crate::step::{Plan, Worker};
#[cfg(feature = "gpu")]
use rayon::prelude::*;
use std::sync::Mutex;

/// Who steps the worlds, or solves their blocks.
pub(super) enum Solver<R: Pack> {
    /// Every thread its own chunk, from a pool of workers.
    Cpu { workers: Mutex<Vec<Worker<R>>> },
    /// All blocks at once on the device; a worker for every chunk.
    #[cfg(feature = "gpu")]
    Hybrid { workers: Vec<Worker<R>>, gpu: Box<crate::gpu::Gpu> },
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
        Backend::Cpu => Ok(Solver::cpu()),
        Backend::Auto => Ok(faster_device(plan, world_count, threads, notes).unwrap_or_else(Solver::cpu)),
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

/// Worlds for every thread of the CPU from which on a GPU with memory of its own is taken to be faster. A step on a GPU takes as long as its hardest worlds however few there are. Calls of one step of ant, humanoid and
/// quadruped, an H200 beside 16 threads of a Xeon with AVX-512: 8192 worlds 0.7 to 0.9 times as fast, 32,768 1.0 to 1.4 times; 131,072 ants in calls of five at twice the rate
/// that the CPU had with 32,768; worlds that halt by the percent, as humanoids that lie about, are
/// slower there still. The backend is the same in every run on a machine: nothing is timed.
#[cfg(feature = "gpu")]
const WORLDS_A_THREAD: usize = 4096;

/// The GPU that steps so many worlds faster than the CPU, if there is one. Where there are few it is not looked for: some drivers write to stderr when asked.
#[cfg(feature = "gpu")]
fn faster_device<R: Pack>(
    plan: &Plan,
    world_count: usize,
    threads: &Threads,
    notes: &mut Vec<String>,
) -> Option<Solver<R>> {
    use crate::gpu::{Device, DeviceKind};
    use crate::solver::DeviceChoice;
    let few = world_count < WORLDS_A_THREAD.saturating_mul(threads.count());
    // a browser opens devices by and by
    if few || cfg!(target_family = "wasm") || crate::resident::obstacle(plan).is_some() {
        return None;
    }
    let choice = match &plan.settings.device {
        DeviceChoice::Any => DeviceChoice::Hardware,
        other => other.clone(),
    };
    let device = Device::new(&choice).ok().filter(|device| device.info().kind == DeviceKind::Discrete)?;
    match OnDevice::new(plan, device, world_count) {
        Ok(on) => Some(Solver::Gpu(Box::new(on))),
        Err(error) => {
            notes.push(format!("backend auto: {error}"));
            None
        }
    }
}

#[cfg(not(feature = "gpu"))]
fn faster_device<R: Pack>(_: &Plan, _: usize, _: &Threads, _: &mut Vec<String>) -> Option<Solver<R>> {
    None
}

/// A software driver comes with a note.
#[cfg(feature = "gpu")]
fn hybrid<R: Pack>(plan: &Plan, tile_count: usize, threads: &Threads, notes: &mut Vec<String>) -> Result<Solver<R>> {
    let gpu = crate::gpu::Gpu::new(&plan.settings.device)?;
    notes.extend(gpu.info().warning());
    let tiles_per_chunk = tile_count.div_ceil(threads.count());
    let chunk_count = tile_count.div_ceil(tiles_per_chunk);
    let workers = (0..chunk_count).map(|_| Worker::new(plan, tiles_per_chunk, true)).collect();
    Ok(Solver::Hybrid { workers, gpu: Box::new(gpu) })
}

#[cfg(not(feature = "gpu"))]
fn hybrid<R: Pack>(_: &Plan, _: usize, _: &Threads, _: &mut Vec<String>) -> Result<Solver<R>> {
    Err(Error::Unsupported("backend hybrid: this build has no GPU support (feature `gpu`); use backend cpu".into()))
}

#[cfg(feature = "gpu")]
fn on_device<R: Pack>(plan: &Plan, world_count: usize, notes: &mut Vec<String>) -> Result<Solver<R>> {
    if let Some(obstacle) = crate::resident::obstacle(plan) {
        return Err(Error::Unsupported(format!("backend gpu: {obstacle}")));
    }
    let device = crate::gpu::Device::new(&plan.settings.device)?;
    notes.extend(device.info().warning());
    Ok(Solver::Gpu(Box::new(OnDevice::new(plan, device, world_count)?)))
}

#[cfg(not(feature = "gpu"))]
fn on_device<R: Pack>(_: &Plan, _: usize, _: &mut Vec<String>) -> Result<Solver<R>> {
    Err(Error::Unsupported("backend gpu: this build has no GPU support (feature `gpu`); use backend cpu".into()))
}

/// Stage 8: sweeps on the device, over the blocks of all chunks at once, and Newton here for those that they leave; of the velocity problem, then of the position problem.
#[cfg(feature = "gpu")]
pub(super) fn solve_on_device<R: Pack>(
    plan: &Plan,
    workers: &mut [Worker<R>],
    gpu: &mut crate::gpu::Gpu,
    notes: &mut Vec<String>,
) -> Result<()> {
    let settings = plan.settings.solve();
    for which in [Which::Velocity, Which::Position] {
        // Whichever form of the pack the worlds are kept in, its bits are those of the array pack.
        let tiles = workers.iter_mut().map(|worker| array_tiles(&mut worker.batch)).collect::<Option<Vec<_>>>();
        let mut tiles: Vec<Tiles<'_, F32x16>> = tiles.unwrap_or_default().into_iter().flatten().collect();
        if which == Which::Velocity {
            let note = gpu.load(&mut tiles, &settings)?;
            notes.extend(note.filter(|note| !notes.contains(note)));
        }
        gpu.sweep(&mut tiles, which)?;
        workers.par_iter_mut().for_each(|worker| worker.polish(plan, which));
    }
    Ok(())
}
