//! `delassus devices`: what the stages can run on.

use super::failure::Outcome;
use super::table::table;
use super::{say, say_json};
use clap::Args;
use delassus::lane::{F32x16, F64x8, Level, Pack};
use serde::Serialize;
use serde_json::Value;

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

/// The GPUs of this machine, software drivers included, in the order of their indices: an object each, a row each, and whether one is hardware.
#[cfg(feature = "gpu")]
fn gpus() -> (Vec<Value>, Vec<[String; 5]>, bool) {
    let found = delassus::gpu::list_devices();
    let hardware = found.iter().any(|d| !d.is_software());
    let objects = found.iter().map(|d| serde_json::json!(d)).collect();
    let row = |(k, d): (usize, delassus::gpu::DeviceInfo)| {
        [k.to_string(), d.name, d.backend, format!("{:?}", d.kind).to_lowercase(), d.driver]
    };
    (objects, found.into_iter().enumerate().map(row).collect(), hardware)
}

/// Without the feature `gpu` there is nothing to list.
#[cfg(not(feature = "gpu"))]
fn gpus() -> (Vec<Value>, Vec<[String; 5]>, bool) {
    (Vec::new(), Vec::new(), false)
}

/// Why the backend `auto` took the CPU, as the end of a sentence.
pub fn why_cpu() -> &'static str {
    if cfg!(feature = "gpu") {
        " (chosen by auto: there is no GPU with memory of its own, or too few worlds for it; --backend gpu asks for one)"
    } else {
        " (this build has no GPU support)"
    }
}

/// Lists devices.
pub fn run(a: &Arguments) -> Outcome {
    let cpu = Cpu::new();
    let (objects, rows, hardware) = gpus();
    if a.json {
        return say_json(&serde_json::json!({ "cpu": cpu, "gpus": objects }));
    }
    let processor = [
        String::new(),
        "CPU".into(),
        "cpu".into(),
        format!("{} threads", cpu.threads),
        format!("{} lanes f32, {} lanes f64 ({})", cpu.lanes_f32, cpu.lanes_f64, cpu.level),
    ];
    say(table(["index", "device", "interface", "kind", "driver"], std::iter::once(processor).chain(rows)))?;
    match (cfg!(feature = "gpu"), hardware) {
        (false, _) => say("This build has no GPU support; build with the feature `gpu` (on by default) for it."),
        (true, false) => say(HOW_TO_INSTALL),
        (true, true) => Ok(()),
    }
}
