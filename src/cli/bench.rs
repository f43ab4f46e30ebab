//! `delassus bench`: how fast, where the time goes, and the residual it was reached at.

use super::failure::{Failure, Outcome};
use super::options::{Batch, StepOptions};
use super::parse::{BACKENDS, INTEGRATORS, PRECISIONS, choice, name_of};
use super::run::Run;
use super::table::{grouped, percent, short, table};
use super::tally::{Summary, Tally};
use super::{progress, say, say_json};
use clap::Args;
use delassus::machine::{Limits, limits};
use delassus::model::Note;
use delassus::worlds::{DeviceWork, Stage};
use delassus::{Backend, Model, Precision};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Options of `bench`.
#[derive(Debug, Args)]
#[command(after_help = "\
Every combination of model, number of worlds, backend and precision is warmed up and then measured. A world-step is one world by one dt, a substep. \
World-steps per CPU-second divide by the processor time of all threads (Linux); the stages are thread time, µs a world-step; shaders of the backend gpu are \
timed one by one, in steps of their own after the others. Residuals are those of the measured steps. The options --batches, \
--backends and --precisions of earlier versions are other names of --worlds, --backend and --precision.

Examples:
  delassus bench examples/models/ant.xml examples/models/humanoid.xml --control random
  delassus bench examples/models/quadruped.xml --keyframe stand --worlds 64,1024,4096 --precision f32,f64 --json")]
pub struct Arguments {
    /// Model files (MJCF).
    #[arg(required = true)]
    models: Vec<PathBuf>,
    #[command(flatten)]
    step: StepOptions,
    /// Numbers of worlds.
    #[arg(
        long,
        alias = "batches",
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "4096",
        value_parser = clap::value_parser!(u64).range(1..),
        allow_negative_numbers = true
    )]
    worlds: Vec<u64>,
    /// Where the stages run.
    #[arg(
        long,
        alias = "backends",
        value_name = "B,…",
        value_delimiter = ',',
        default_value = "cpu",
        value_parser = choice(BACKENDS)
    )]
    backend: Vec<Backend>,
    /// Number types of state and stages.
    #[arg(
        long,
        alias = "precisions",
        value_name = "P,…",
        value_delimiter = ',',
        default_value = "f32",
        value_parser = choice(PRECISIONS)
    )]
    precision: Vec<Precision>,
    /// Substeps of a step: so often a step goes on by dt, with the same control, before the worlds are looked at.
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    substeps: u32,
    /// Steps before the clock starts.
    #[arg(long, value_name = "T", default_value_t = 100)]
    warm_up: u64,
    /// Print one JSON object a combination and nothing else.
    #[arg(long)]
    json: bool,
}

/// The object that `--json` prints.
#[derive(Serialize)]
struct Measurement {
    model: String,
    backend: &'static str,
    device: String,
    precision: &'static str,
    worlds: usize,
    steps: u64,
    /// Substeps of each step.
    substeps: u32,
    dt: f64,
    integrator: &'static str,
    seconds: f64,
    world_steps_per_second: f64,
    /// Processor time of all threads, s; none where the system does not tell.
    cpu_seconds: Option<f64>,
    world_steps_per_cpu_second: Option<f64>,
    /// Thread time by stage, µs a world-step.
    stages_us: BTreeMap<&'static str, f64>,
    /// What a step asked of the device; backend hybrid only.
    device_work: Option<DeviceStep>,
    /// Time of every shader on the device, µs a world-step; backend gpu only.
    shaders_us: BTreeMap<String, f64>,
    /// Floating-point operations of one world by stage, a world-step, those of shaders as their twins count them; none in f64, and on the CPU in builds without
    /// the feature `scalar`.
    operations: Option<BTreeMap<String, f64>>,
    /// What one thread can do at most, or the device on the backend gpu.
    limit: MachineLimits,
    /// Share of that limit by stage, and `all`: operations, and bytes of state.
    share_of_limit: Option<BTreeMap<String, f64>>,
    share_of_bandwidth: f64,
    bytes_per_world: usize,
    /// What there is to know about the model, the start and the backend.
    notes: Vec<Note>,
    #[serde(flatten)]
    summary: Summary,
}

/// What a step of all worlds asked of the device, on average.
#[derive(Clone, Copy, Serialize)]
struct DeviceStep {
    dispatches: f64,
    waits: f64,
    bytes_up: f64,
    bytes_down: f64,
}

impl DeviceStep {
    fn new(work: DeviceWork, steps: u64) -> Self {
        let each = |total: u64| total as f64 / steps.max(1) as f64;
        Self {
            dispatches: each(work.dispatches),
            waits: each(work.waits),
            bytes_up: each(work.bytes_up),
            bytes_down: each(work.bytes_down),
        }
    }
}

/// What one thread can do at most while all work, or a device, see [`delassus::machine`].
#[derive(Clone, Copy, Serialize)]
struct MachineLimits {
    gflops: f64,
    gigabytes_per_second: f64,
}

impl From<Limits> for MachineLimits {
    fn from(Limits { operations, bytes }: Limits) -> Self {
        Self { gflops: 1e-9 * operations, gigabytes_per_second: 1e-9 * bytes }
    }
}

/// What the device of the backend gpu can do.
#[cfg(feature = "gpu")]
fn device_limits(a: &Arguments) -> Outcome<MachineLimits> {
    Ok(delassus::gpu::Device::new(&super::options::device(a.step.device.as_deref()))?.measured_limits()?.into())
}

/// Without the feature `gpu` there is none.
#[cfg(not(feature = "gpu"))]
fn device_limits(_: &Arguments) -> Outcome<MachineLimits> {
    Err(Failure::Other(NO_GPU.into()))
}

/// Steps that are measured.
const STEPS: u64 = 200;
/// Most steps whose shaders are timed.
const TIMED: u64 = 50;
/// Worlds whose operations are counted, the first ones of the batch.
#[cfg(any(feature = "scalar", feature = "gpu"))]
const COUNTED: usize = 32;
/// What a build without the feature `gpu` says.
#[cfg(not(feature = "gpu"))]
const NO_GPU: &str = "backend gpu: this build has no GPU support (feature `gpu`); use --backend cpu";
/// Steps whose operations twins count.
#[cfg(feature = "gpu")]
const COUNTED_STEPS: u64 = 10;

/// Measures and prints.
pub fn run(a: &Arguments) -> Outcome {
    let (mut all, mut outcome) = (Vec::new(), Ok(()));
    let limit = MachineLimits::from(limits(a.step.threads.map(|count| count as usize)));
    let of_device = if a.backend.contains(&Backend::Gpu) { device_limits(a)? } else { limit };
    for path in &a.models {
        let model = Model::from_mjcf_file(path)?;
        for &worlds in &a.worlds {
            for &backend in &a.backend {
                for &precision in &a.precision {
                    let limit = if backend == Backend::Gpu { of_device } else { limit };
                    let (m, finite) = measure(a, &model, Batch { worlds, backend, precision }, limit)?;
                    if a.json {
                        say_json(&m)?;
                    }
                    all.push(m);
                    outcome = outcome.and(finite);
                }
            }
        }
    }
    if !a.json {
        print(&all)?;
    }
    outcome
}

/// What was measured, and whether any world ended in a finite state.
fn measure(a: &Arguments, model: &Model, batch: Batch, limit: MachineLimits) -> Outcome<(Measurement, Outcome)> {
    let mut run = Run::new(model, batch, &a.step, STEPS)?;
    run.substeps = a.substeps;
    let bar = progress::bar(a.warm_up + run.steps, "steps", a.json);
    for _ in 0..a.warm_up {
        run.step(None)?;
        bar.inc(1);
    }
    let mut tally = Tally::new(run.worlds.world_count());
    let asked = run.worlds.device_work().unwrap_or_default();
    // a clock between shaders keeps them from following each other
    let on_cpu = run.worlds.backend() != Backend::Gpu;
    run.worlds.set_profile(on_cpu);
    (run.stepping, run.cpu) = Default::default();
    for _ in 0..run.steps {
        run.step(None)?;
        tally.add(run.worlds.reports());
        bar.inc(1);
    }
    bar.finish_and_clear();
    let of_steps = |steps: u64| steps as f64 * f64::from(a.substeps) * run.worlds.world_count() as f64;
    let (world_steps, timed) = (of_steps(run.steps), run.steps.min(TIMED));
    let timed_world_steps = of_steps(timed);
    let (seconds, cpu) = (run.stepping.as_secs_f64(), run.cpu);
    let work = run.worlds.device_work().map(|work| DeviceStep::new(work.since(asked), run.steps));
    if !on_cpu {
        run.worlds.set_profile(true);
        for _ in 0..timed {
            run.step(None)?;
        }
    }
    let times = run.worlds.stage_times();
    let bytes_per_world = run.worlds.bytes() / run.worlds.world_count();
    // in f64 the sweeps are others
    let mut operations: Option<BTreeMap<String, f64>> = match batch.precision {
        #[cfg(feature = "scalar")]
        Precision::F32 if on_cpu => Some(count(a, model, batch)?),
        Precision::F32 if !on_cpu => count_on_device(a, model, batch)?,
        _ => None,
    };
    // seconds of each of them a world-step
    let mut busy: BTreeMap<String, f64> = BTreeMap::new();
    if on_cpu {
        busy.extend(Stage::ALL.iter().map(|&s| (s.name().to_owned(), times.of(s) / world_steps)));
    }
    for (name, seconds) in run.worlds.shader_times() {
        let name = if name.starts_with("free_motion") { "free_motion".to_owned() } else { name };
        *busy.entry(name).or_default() += seconds / timed_world_steps;
    }
    let all: f64 = busy.values().sum();
    // a device without a clock tells no time
    operations = operations.filter(|_| all > 0.0);
    let share_of_limit = operations.as_ref().map(|operations| {
        let share = |operations: f64, seconds: f64| operations / seconds.max(1e-15) / (1e9 * limit.gflops);
        let each = operations.iter().filter_map(|(name, n)| Some((name.clone(), share(*n, *busy.get(name)?))));
        let mut shares: BTreeMap<_, _> = each.collect();
        shares.insert("all".into(), share(operations.values().sum(), all));
        shares
    });
    // every world is read and written once a step
    let moved = 2.0 * bytes_per_world as f64 / if all > 0.0 { all } else { seconds / world_steps };
    let measurement = Measurement {
        operations,
        limit,
        share_of_limit,
        share_of_bandwidth: moved / (1e9 * limit.gigabytes_per_second),
        model: model.name.clone(),
        backend: name_of(BACKENDS, &run.worlds.backend()),
        device: run.worlds.device(),
        precision: name_of(PRECISIONS, &batch.precision),
        worlds: run.worlds.world_count(),
        steps: run.steps,
        substeps: a.substeps,
        dt: run.worlds.dt(),
        integrator: name_of(INTEGRATORS, &run.worlds.integrator()),
        seconds,
        world_steps_per_second: world_steps / seconds,
        cpu_seconds: cpu,
        world_steps_per_cpu_second: cpu.map(|s| world_steps / s),
        stages_us: Stage::ALL.iter().map(|s| (s.name(), 1e6 * times.of(*s) / world_steps)).collect(),
        device_work: work,
        shaders_us: run
            .worlds
            .shader_times()
            .into_iter()
            .map(|(name, s)| (name, 1e6 * s / timed_world_steps))
            .collect(),
        bytes_per_world,
        notes: run.notes(),
        summary: tally.summary(),
    };
    Ok((measurement, run.check_finite()))
}

/// Floating-point operations of one world by stage, a world-step: the first worlds of the batch through the same steps in a number type that counts.
#[cfg(feature = "scalar")]
fn count(a: &Arguments, model: &Model, batch: Batch) -> Outcome<BTreeMap<String, f64>> {
    let worlds = delassus::Worlds::counting(model, COUNTED, a.step.settings(batch))?;
    let mut run = Run::of(worlds, &a.step, STEPS)?;
    run.substeps = a.substeps;
    for _ in 0..a.warm_up {
        run.step(None)?;
    }
    run.worlds.set_profile(true);
    for _ in 0..run.steps {
        run.step(None)?;
    }
    let world_steps = run.steps as f64 * f64::from(a.substeps) * COUNTED as f64;
    let counted = run.worlds.stage_times().operations;
    Ok(Stage::ALL.iter().map(|&s| (s.name().to_owned(), counted[s as usize] as f64 / world_steps)).collect())
}

/// The same of the shaders of a step, by the twins of some steps; none where they are not compared.
#[cfg(feature = "gpu")]
fn count_on_device(a: &Arguments, model: &Model, batch: Batch) -> Outcome<Option<BTreeMap<String, f64>>> {
    let mut run = Run::new(model, Batch { worlds: COUNTED as u64, ..batch }, &a.step, STEPS)?;
    run.substeps = a.substeps;
    for _ in 0..a.warm_up.max(1) {
        run.step(None)?;
    }
    let mut counted: BTreeMap<String, f64> = BTreeMap::new();
    for _ in 0..COUNTED_STEPS {
        for stage in run.worlds.beside_twins()? {
            *counted.entry(stage.stage).or_default() +=
                stage.operations as f64 / (COUNTED as u64 * COUNTED_STEPS) as f64;
        }
        run.step(None)?;
    }
    Ok(Some(counted).filter(|counted| !counted.is_empty()))
}

/// Without the feature `gpu` there are no shaders.
#[cfg(not(feature = "gpu"))]
fn count_on_device(_: &Arguments, _: &Model, _: Batch) -> Outcome<Option<BTreeMap<String, f64>>> {
    Err(Failure::Other(NO_GPU.into()))
}

fn print(all: &[Measurement]) -> Outcome {
    let Some(first) = all.first() else { return Err(Failure::Other("nothing to measure".into())) };
    say(&first.device)?;
    for m in all {
        for note in m.notes.iter().filter(|note| note.changes_motion) {
            say(format!("the motion of {} differs: {note}", m.model))?;
        }
    }
    say(table(
        [
            "model",
            "worlds",
            "backend",
            "world-steps/s",
            "per CPU-s",
            "contacts",
            "rows",
            "sweeps",
            "residual m/s: median, p99, worst",
            "solved",
            "fallback",
            "B/world",
        ],
        all.iter().map(|m| {
            let s = &m.summary;
            [
                m.model.clone(),
                grouped(m.worlds as u64),
                format!("{} {}", m.backend, m.precision),
                grouped(m.world_steps_per_second as u64),
                m.world_steps_per_cpu_second.map_or("-".into(), |x| grouped(x as u64)),
                short(s.contacts_mean),
                short(s.rows_mean),
                short(s.iterations_mean),
                format!("{:.1e}, {:.1e}, {:.1e}", s.residual.median, s.residual.p99, s.residual.worst),
                percent(s.solved_share),
                percent(s.fallback_share),
                grouped(m.bytes_per_world as u64),
            ]
        }),
    ))?;
    say("thread time by stage, µs a world-step")?;
    say(table(
        ["model", "worlds", "free motion", "collide", "rows", "assemble", "solve", "fallback", "finish"],
        all.iter().map(|m| {
            let us = |stage: Stage| format!("{:.3}", m.stages_us[stage.name()]);
            let [a, b, c, d, e, f, g] = Stage::ALL.map(us);
            [m.model.clone(), format!("{} {} {}", m.worlds, m.backend, m.precision), a, b, c, d, e, f, g]
        }),
    ))?;
    for (m, work) in all.iter().filter_map(|m| Some((m, m.device_work?))) {
        let DeviceStep { dispatches, waits, bytes_up, bytes_down } = work;
        say(format!(
            "{}, {} worlds: a step is {dispatches:.1} dispatches, {waits:.1} waits, {} bytes up, {} down",
            m.model,
            m.worlds,
            grouped(bytes_up as u64),
            grouped(bytes_down as u64)
        ))?;
    }
    for m in all.iter().filter(|m| !m.shaders_us.is_empty()) {
        say(format!("{}, {} worlds: device time by shader, µs a world-step", m.model, m.worlds))?;
        say(table(["shader", "µs"], m.shaders_us.iter().map(|(name, us)| [name.clone(), format!("{us:.4}")])))?;
    }
    for (m, shares) in all.iter().filter(|m| m.backend == "gpu").filter_map(|m| Some((m, m.share_of_limit.as_ref()?))) {
        say(format!(
            "{}, {} worlds: operations a world-step (k), as twins count them, and their share of what the device can do, {:.0} GFLOP/s; bytes of state: {} of {:.0} GB/s",
            m.model,
            m.worlds,
            m.limit.gflops,
            percent(m.share_of_bandwidth),
            m.limit.gigabytes_per_second
        ))?;
        let all = m.operations.iter().flatten();
        let rows = all.map(|(name, n)| [name.clone(), format!("{:.2}", 1e-3 * n), percent(shares[name])]);
        say(table(
            ["shader", "operations", "share"],
            rows.chain([["all".into(), String::new(), percent(shares["all"])]]),
        ))?;
    }
    let Some(first) = all.iter().find(|m| m.backend != "gpu") else { return Ok(()) };
    say(format!(
        "operations a world-step (k) and their share of what a thread can do, {:.0} GFLOP/s; bytes of state, of {:.1} GB/s",
        first.limit.gflops, first.limit.gigabytes_per_second
    ))?;
    say(table(
        ["model", "worlds", "free motion", "collide", "rows", "assemble", "solve", "finish", "all", "bytes"],
        all.iter().filter(|m| m.backend != "gpu").map(|m| {
            let share = |name: &str| match (&m.operations, &m.share_of_limit) {
                (Some(n), Some(share)) => {
                    let n = if name == "all" { n.values().sum() } else { n[name] };
                    format!("{:.2} {}", 1e-3 * n, percent(share[name]))
                }
                _ => "-".into(),
            };
            [
                m.model.clone(),
                format!("{} {} {}", m.worlds, m.backend, m.precision),
                share("free motion"),
                share("collide"),
                share("rows"),
                share("assemble"),
                share("solve"),
                share("finish"),
                share("all"),
                percent(m.share_of_bandwidth),
            ]
        }),
    ))
}
