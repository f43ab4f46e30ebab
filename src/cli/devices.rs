//! `delassus devices`: what the stages can run on.

use super::failure::Outcome;
use super::table::table;
use super::{say, say_json};
use clap::Args;
use delassus::lane::{F32x16, F64x8, Level, Real};
use serde::Serialize;

/// What to do where no GPU is found.
const HOW_TO_INSTALL: &str = "\
No GPU found. The CPU backend needs none. To use one: install its Vulkan driver (Debian, Ubuntu: mesa-vulkan-drivers for AMD and Intel,
nvidia-driver for NVIDIA); on macOS and Windows it comes with the system. mesa-vulkan-drivers also holds lavapipe, a software driver for
tests: right answers, no speed.";

/// Options of `devices`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Print one JSON object and nothing else.
    #[arg(long)]
    json: bool,
}

/// The processor.
#[derive(Serialize)]
struct Cpu {
    threads: usize,
    lanes_f32: usize,
    lanes_f64: usize,
    level: String,
}

impl Cpu {
    fn new() -> Self {
        let level = Level::detect();
        let lanes = |lanes: usize| if level.runs_packs() { lanes } else { 1 };
        Self {
            threads: rayon::current_num_threads(),
            lanes_f32: lanes(F32x16::LANES),
            lanes_f64: lanes(F64x8::LANES),
            level: format!("{level:?}"),
        }
    }
}

#[cfg(feature = "gpu")]
fn gpus() -> Vec<delassus::gpu::DeviceInfo> {
    delassus::gpu::list_devices()
}

/// Without the feature `gpu` there is nothing to list.
#[cfg(not(feature = "gpu"))]
fn gpus() -> Vec<()> {
    Vec::new()
}

/// One row a device.
#[cfg(feature = "gpu")]
fn rows() -> Vec<[String; 4]> {
    let row = |d: delassus::gpu::DeviceInfo| [d.name, d.backend, format!("{:?}", d.kind).to_lowercase(), d.driver];
    gpus().into_iter().map(row).collect()
}

#[cfg(not(feature = "gpu"))]
fn rows() -> Vec<[String; 4]> {
    Vec::new()
}

/// Why the backend `auto` took the CPU, as the end of a sentence.
#[cfg(feature = "gpu")]
pub fn why_cpu() -> &'static str {
    if gpus().iter().all(delassus::gpu::DeviceInfo::is_software) {
        " (no GPU found)"
    } else {
        " (there is a GPU: --backend hybrid solves on it)"
    }
}

/// Why the backend `auto` took the CPU, as the end of a sentence.
#[cfg(not(feature = "gpu"))]
pub fn why_cpu() -> &'static str {
    " (this build has no GPU support)"
}

/// Lists devices.
pub fn run(a: &Arguments) -> Outcome {
    let cpu = Cpu::new();
    if a.json {
        return say_json(&serde_json::json!({ "cpu": cpu, "gpus": gpus() }));
    }
    let processor = [
        "CPU".into(),
        "cpu".into(),
        format!("{} threads", cpu.threads),
        format!("{} lanes f32, {} lanes f64 ({})", cpu.lanes_f32, cpu.lanes_f64, cpu.level),
    ];
    let devices = rows();
    let none = devices.is_empty();
    say(table(["device", "interface", "kind", "driver"], std::iter::once(processor).chain(devices)))?;
    match (none, cfg!(feature = "gpu")) {
        (true, true) => say(HOW_TO_INSTALL),
        (_, false) => say("This build has no GPU support; build with the feature `gpu` (on by default) for it."),
        _ => Ok(()),
    }
}
