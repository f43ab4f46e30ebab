//! `delassus rollout`: worlds, steps, and what came out.

use super::failure::Outcome;
use super::options::{BatchOptions, ModelOptions, StepOptions};
use super::parse::{BACKENDS, INTEGRATORS, PRECISIONS, name_of, positive};
use super::record::{Dump, Recorder};
use super::run::Run;
use super::table::{facts, grouped, percent, short};
use super::tally::{Summary, Tally};
use super::{devices, progress, say, say_json};
use clap::Args;
use delassus::model::Note;
use delassus::worlds::BlockRecord;
use delassus::{Backend, Model, Precision};
use serde::Serialize;
use std::path::PathBuf;

/// Options of `rollout`.
#[derive(Debug, Args)]
#[command(after_help = "\
The residual is the certificate: how far, in m/s, the contact velocities are from obeying every contact law, from the final impulses \
in a pass of its own. Median, 99th percentile (both to 2 %) and worst are over all steps of all worlds whose state stayed finite.

Examples:
  delassus rollout examples/models/ant.xml --worlds 4096 --steps 200 --control random
  delassus rollout examples/models/quadruped.xml --keyframe stand --noise 0.02 --json
  delassus rollout examples/models/boxes.xml --worlds 1 --record boxes.html
  delassus rollout examples/models/boxes.xml --worlds 1 --precision f64 --record boxes.jsonl
  delassus rollout examples/models/humanoid.xml --solver jacobi --no-fallback --dump-failed hard.jsonl")]
pub struct Arguments {
    #[command(flatten)]
    model: ModelOptions,
    #[command(flatten)]
    batch: BatchOptions,
    #[command(flatten)]
    step: StepOptions,
    /// Write down chosen worlds. FILE.html: a page that shows them in a browser; any other name: one JSON object a step and world, with world,
    /// step, time, q, v, contacts and the report.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Worlds to record.
    #[arg(long, value_name = "W,…", value_delimiter = ',', default_value = "0", requires = "record")]
    record_worlds: Vec<usize>,
    /// Moments a second of simulated time in a page [default: 30].
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true, requires = "record")]
    record_fps: Option<f64>,
    /// Write every contact problem that missed its tolerance, for `delassus solve`. Slows the rollout down.
    #[arg(long, value_name = "FILE")]
    dump_failed: Option<PathBuf>,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    json: bool,
    /// List all notes on the model and its start.
    #[arg(long, short)]
    verbose: bool,
}

/// The object that `--json` prints.
#[derive(Serialize)]
struct Output<'a> {
    model: &'a str,
    backend: &'static str,
    device: String,
    precision: &'static str,
    worlds: usize,
    steps: u64,
    dt: f64,
    integrator: &'static str,
    seconds: f64,
    world_steps_per_second: f64,
    /// What there is to know about the model, the start and the backend.
    notes: Vec<Note>,
    #[serde(flatten)]
    summary: Summary,
}

/// Rolls out and prints.
pub fn run(a: &Arguments) -> Outcome {
    let model = a.model.load()?;
    let mut run = Run::new(&model, a.batch.or(1024, Precision::F32), &a.step, 1000)?;
    let mut recorder = match &a.record {
        Some(path) => Some(Recorder::new(path, &a.record_worlds, a.record_fps, &mut run.worlds)?),
        None => None,
    };
    let mut dump = a.dump_failed.as_deref().map(Dump::new).transpose()?;
    if !a.json {
        introduce(&model, &run, a.batch.backend, a.verbose)?;
    }

    let mut tally = Tally::new(run.worlds.world_count());
    let bar = progress::bar(run.steps, "steps", a.json);
    for _ in 0..run.steps {
        let step = match &mut dump {
            None => run.step(None)?,
            Some(dump) => {
                let step = run.step(Some(&|block: &BlockRecord<'_>| dump.see(block)))?;
                dump.write(step, &model)?;
                step
            }
        };
        tally.add(run.worlds.reports());
        if let Some(recorder) = &mut recorder {
            recorder.record(step, &run.worlds)?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();

    let recorded = recorder.map(Recorder::finish).transpose()?;
    let dumped = dump.map(Dump::finish).transpose()?;
    let output = output(&model, &run, tally.summary());
    if a.json {
        say_json(&output)?;
        return run.check_finite();
    }
    say(result(&output))?;
    for note in run.worlds.notes() {
        say(format!("note: {note}"))?;
    }
    if let (Some(()), Some(path)) = (recorded, &a.record) {
        say(format!("record written to {}", path.display()))?;
    }
    dumped.map_or(Ok(()), say)?;
    run.check_finite()
}

/// Says what runs where.
pub fn introduce(model: &Model, run: &Run, asked: Backend, verbose: bool) -> Outcome {
    let worlds = &run.worlds;
    let backend = name_of(BACKENDS, &worlds.backend());
    let why = if asked == Backend::Auto && worlds.backend() == Backend::Cpu { devices::why_cpu() } else { "" };
    let precision = name_of(PRECISIONS, &worlds.settings().precision);
    say(format!("backend {backend}: {}, {precision}{why}", worlds.device()))?;
    say(format!(
        "model {}: nq {}, nv {}, nu {}; {} worlds x {} steps of {} s, {}",
        model.name,
        model.nq(),
        model.nv(),
        model.nu(),
        grouped(worlds.world_count() as u64),
        grouped(run.steps),
        worlds.dt(),
        name_of(INTEGRATORS, &worlds.integrator())
    ))?;
    notes(&model.notes, &worlds.start_notes(), verbose)?;
    if run.all_alike {
        say("note: all worlds start alike and get the same control; --noise or --control random sets them apart")?;
    }
    Ok(())
}

/// Poses that are named without `-v`.
const POSES_NAMED: usize = 3;

/// Says what changes the motion, and what is wrong with a pose; counts what is harmless, or lists it too.
pub fn notes(model: &[Note], poses: &[Note], verbose: bool) -> Outcome {
    let (differing, harmless): (Vec<_>, Vec<_>) = model.iter().partition(|note| note.changes_motion);
    differing.iter().try_for_each(|note| say(format!("the motion differs: {note}")))?;
    let named = if verbose { poses.len() } else { POSES_NAMED };
    poses.iter().take(named).try_for_each(|note| say(format!("note: {note}")))?;
    if poses.len() > named {
        say(format!("note: {} more like that (-v lists them)", poses.len() - named))?;
    }
    if verbose {
        return harmless.iter().try_for_each(|note| say(format!("note: {note}")));
    }
    match harmless.len() {
        0 => Ok(()),
        1 => say("1 harmless note on the model file (-v shows it)"),
        n => say(format!("{n} harmless notes on the model file (-v lists them)")),
    }
}

fn output<'a>(model: &'a Model, run: &Run, summary: Summary) -> Output<'a> {
    let (worlds, seconds) = (&run.worlds, run.stepping.as_secs_f64());
    Output {
        model: &model.name,
        backend: name_of(BACKENDS, &worlds.backend()),
        device: worlds.device(),
        precision: name_of(PRECISIONS, &worlds.settings().precision),
        worlds: worlds.world_count(),
        steps: run.steps,
        dt: worlds.dt(),
        integrator: name_of(INTEGRATORS, &worlds.integrator()),
        seconds,
        world_steps_per_second: worlds.world_count() as f64 * run.steps as f64 / seconds.max(f64::MIN_POSITIVE),
        notes: run.notes(),
        summary,
    }
}

fn result(output: &Output<'_>) -> comfy_table::Table {
    let s = &output.summary;
    facts([
        ("world-steps/s", grouped(output.world_steps_per_second as u64)),
        ("wall time, s", short(output.seconds)),
        ("contacts, mean", short(s.contacts_mean)),
        ("rows, mean", short(s.rows_mean)),
        ("sweeps, Newton steps, mean", format!("{}, {}", short(s.sweeps_mean), short(s.newton_steps_mean))),
        ("residual, median, m/s", short(s.residual.median)),
        ("residual, 99 %, m/s", short(s.residual.p99)),
        ("residual, worst, m/s", short(s.residual.worst)),
        ("rounding floor, worst, m/s", short(s.floor.worst)),
        ("solved", percent(s.solved_share)),
        ("exact fallback", percent(s.fallback_share)),
        ("done again in f64", percent(s.redone_share)),
        ("left to the CPU by the device", percent(s.halted_share)),
        ("overflow worlds", grouped(s.overflow_worlds as u64)),
        ("deepest penetration, m", short(s.deepest_penetration)),
        ("push-out denied, worst, m/s", short(s.worst_push_denied)),
        ("failed worlds", grouped(s.failed_worlds as u64)),
        ("non-finite worlds", grouped(s.non_finite_worlds as u64)),
    ])
}
