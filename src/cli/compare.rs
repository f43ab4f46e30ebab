//! `delassus compare`: every step of a device beside the CPU's, from the same states.

use super::failure::{Failure, Outcome};
use super::options::{Batch, StepOptions};
use super::parse::{BACKENDS, choice, name_of};
use super::run::Run;
use super::table::{grouped, percent, short, table};
use super::{progress, say, say_json};
use clap::Args;
use delassus::worlds::BlockRecord;
use delassus::{Backend, Model, Precision, Settings, Snapshot, WorldReport, Worlds};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Steps that are compared.
const STEPS: u64 = 200;
/// Largest difference in q or v of two steps that are the same one, m, rad, m/s or rad/s. Both backends solve to 1e-5 m/s in f32, and through the rows of a light limb that may be some
/// hundred times as much in v.
const SAME: f64 = 2e-3;
/// An answer whose residual in f64 is at most so many times the largest of tolerance, rounding floor of the step and [`posing`] is a solution: the problem is posed anew there, from
/// what f32 had rounded in some such sums one after another. Where friction leaves several answers, steps may differ by more than [`SAME`] and both be right.
const ROUNDED: f64 = 10.0;
/// Largest part of an impulse that may be lost on the way to the contacts of f64. More, and it is another problem: which corners of two faces are contacts, may hang on the last bit.
const LOST: f64 = 1e-3;
/// A tolerance that every answer meets: impulses are taken as they are.
const ANY: f64 = 1e30;

/// Options of `compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
The worlds of the device go their way; from the state before each of their steps, with the same impulses as a first guess, the CPU does the step too, and q and v are compared. \
The impulses that the device read back are put into the contact problems posed anew in f64, and so are the CPU's: what they leave there is held against the certificates, where f64 has the same contacts. \
Worlds that the device left to the CPU must be the CPU's to the bit, and a second run must be the first to the bit. \
In the end every shader of one more step is held against its twin in Rust, from the same numbers: the first that does otherwise is where a driver errs. A model that cannot run there is listed with the reason.
Exit code 1 if two steps differ by more than 2e-3 and not both solve the problem in f64 where that has their contacts, more certificates than the CPU's are off by more than ten times the largest of tolerance, rounding floor and rounding of a gap over dt, the device solves fewer than the CPU, \
bits differ that must not, or a shader does otherwise than its twin.

Examples:
  delassus compare examples/models/*.xml --control random --noise 0.05
  delassus compare examples/models/ant.xml --device 1 --worlds 1024 --json")]
pub struct Arguments {
    /// Model files (MJCF).
    #[arg(required = true)]
    models: Vec<PathBuf>,
    #[command(flatten)]
    step: StepOptions,
    /// Number of worlds.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..), allow_negative_numbers = true)]
    worlds: u64,
    /// What is held against the CPU.
    #[arg(long, default_value = "gpu", value_parser = choice(BACKENDS))]
    backend: Backend,
    /// Print one JSON object a model and nothing else.
    #[arg(long)]
    json: bool,
}

/// What became of a model.
#[derive(Serialize)]
struct Compared {
    model: String,
    backend: &'static str,
    /// Why it cannot run there; nothing was compared then.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    #[serde(flatten)]
    findings: Findings,
}

/// What was found, over all steps of all worlds.
#[derive(Default, Serialize)]
struct Findings {
    device: String,
    worlds: usize,
    steps: u64,
    world_steps: u64,
    contacts_mean: f64,
    /// World-steps that the device left to the CPU, and how many of them are not the CPU's to the bit.
    halted: u64,
    halted_otherwise: u64,
    solved: u64,
    solved_by_cpu: u64,
    /// Largest difference of q and v that is at most [`SAME`].
    difference: f64,
    /// World-steps that differ by more, and of them those of which not both answers solve the problem in f64, where that has their contacts.
    differing: u64,
    wrong: u64,
    /// World-steps whose impulses f64 does not confirm, having other contacts; the device's, and the CPU's. What follows is of the others.
    posed_otherwise: u64,
    posed_otherwise_of_cpu: u64,
    /// Largest residual that the device told, m/s, and largest that its impulses leave in f64, and the CPU's.
    residual: f64,
    exact_residual: f64,
    exact_residual_of_cpu: f64,
    /// World-steps with the same contacts whose residual in f64 exceeds that told by more than [`ROUNDED`] allows; the device's, and the CPU's.
    uncertified: u64,
    uncertified_of_cpu: u64,
    /// Whether a second run gives the same bits.
    repeats: bool,
    /// The stages of a step after the last one, each held against its twin in Rust; none where the device has to be told the worlds anew.
    stages: Vec<Shader>,
}

/// A stage of a step, beside its twin.
#[derive(Serialize)]
struct Shader {
    stage: String,
    /// Worlds in which they differ.
    differ: usize,
    /// What differs in the first of them.
    first: Option<String>,
    /// Whether rounding does not explain it.
    wrong: bool,
}

impl Findings {
    /// What must not be, one sentence each.
    fn mistakes(&self) -> Vec<String> {
        let of =
            |count: u64, what: &str| (count > 0).then(|| format!("{count} of {} world-steps {what}", self.world_steps));
        [
            of(self.wrong, "differ, and not both answers solve the problem"),
            // what f32 poses otherwise than f64 does, it does so on the CPU too
            of(
                self.uncertified.saturating_sub(self.uncertified_of_cpu),
                "more than on the CPU have a certificate that f64 does not confirm",
            ),
            of(self.halted_otherwise, "were left to the CPU and are not the CPU's"),
            of(self.solved_by_cpu.saturating_sub(self.solved), "fewer are solved than on the CPU"),
            (!self.repeats).then(|| "a second run gives other bits".into()),
            self.stages.iter().find(|shader| shader.wrong).map(|shader| {
                let first = shader.first.as_deref().unwrap_or_default();
                format!("shader {} does otherwise than its twin in {} worlds: {first}", shader.stage, shader.differ)
            }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Compares and prints.
pub fn run(a: &Arguments) -> Outcome {
    let mut all = Vec::new();
    for path in &a.models {
        let model = Model::from_mjcf_file(path)?;
        let findings = compare(a, &model);
        let (refused, findings) = match findings {
            Ok(findings) => (None, findings),
            Err(Failure::Other(reason)) => (Some(reason), Findings::default()),
            Err(other) => return Err(other),
        };
        let compared = Compared { model: model.name, backend: name_of(BACKENDS, &a.backend), refused, findings };
        if a.json {
            say_json(&compared)?;
        }
        all.push(compared);
    }
    if !a.json {
        print(&all)?;
    }
    let mistakes: Vec<_> = all
        .iter()
        .filter(|c| c.refused.is_none())
        .flat_map(|c| c.findings.mistakes().into_iter().map(|mistake| format!("{}: {mistake}", c.model)))
        .collect();
    if !mistakes.is_empty() {
        return Err(Failure::Other(mistakes.join("; ")));
    }
    if all.iter().all(|c| c.refused.is_some()) {
        return Err(Failure::Other("nothing was compared".into()));
    }
    Ok(())
}

/// Worlds of the CPU beside those of the device.
struct Beside {
    cpu: Worlds,
    /// What poses the problems in f64, and takes every impulse as it is.
    exact: Worlds,
}

impl Beside {
    fn new(model: &Model, settings: &Settings, count: usize) -> Outcome<Self> {
        let plain = Settings { backend: Backend::Cpu, ..settings.clone() };
        let exact = Settings { precision: Precision::F64, tolerance: Some(ANY), ..plain.clone() };
        Ok(Self { cpu: Worlds::new(model, count, plain)?, exact: Worlds::new(model, count, exact)? })
    }

    /// What the impulses that `after` remembers leave of the velocity problem of the step from `before`, in f64, m/s, and whether f64 has the same contacts, shape \[world\].
    fn residuals(&mut self, before: &Snapshot, after: &Snapshot, control: &[f64]) -> Outcome<Vec<(f64, bool)>> {
        self.exact.load(&before.remembering(after))?;
        self.exact.set_control(control)?;
        let worst = Mutex::new(vec![0.0; self.exact.world_count()]);
        self.exact.step_inspected(
            1,
            Some(&|block: &BlockRecord<'_>| {
                if !block.position {
                    let mut worst = worst.lock().unwrap_or_else(PoisonError::into_inner);
                    worst[block.world] = block.residual.max(worst[block.world]);
                }
            }),
        )?;
        let (given, taken) = (impulses(after)?, impulses(&self.exact.save())?);
        let worst = worst.into_inner().unwrap_or_else(PoisonError::into_inner);
        let all = worst.into_iter().zip(given.iter().zip(&taken));
        Ok(all.map(|(residual, (given, taken))| (residual, arrived(given, taken))).collect())
    }
}

fn compare(a: &Arguments, model: &Model) -> Outcome<Findings> {
    let batch = Batch { worlds: a.worlds, backend: a.backend, precision: Precision::F32 };
    let mut run = Run::new(model, batch, &a.step, STEPS)?;
    let count = run.worlds.world_count();
    let mut beside = Beside::new(model, run.worlds.settings(), count)?;
    let (tolerance, dt) = (run.worlds.settings().tolerance(), run.worlds.dt());
    let mut f = Findings { device: run.worlds.device(), worlds: count, steps: run.steps, ..Findings::default() };
    let bar = progress::bar(2 * run.steps, "steps", a.json);
    for _ in 0..run.steps {
        let before = run.worlds.save();
        run.step(None)?;
        let (after, control) = (run.worlds.save(), run.worlds.control().into_owned());
        beside.cpu.load(&before)?;
        beside.cpu.set_control(&control)?;
        beside.cpu.step(1)?;
        let exact = beside.residuals(&before, &after, &control)?;
        let exact_of_cpu = beside.residuals(&before, &beside.cpu.save(), &control)?;
        let (there, here) = (run.worlds.state(), beside.cpu.state());
        for world in 0..count {
            let [told, of_cpu] = [&run.worlds, &beside.cpu].map(|worlds| worlds.reports()[world]);
            f.add(&told, &of_cpu);
            let difference = difference(&there, &here, [model.nq(), model.nv()], world);
            if told.halted {
                f.halted_otherwise += u64::from(difference > 0.0);
            }
            let posing = posing(&here.0[world * model.nq()..(world + 1) * model.nq()], dt);
            let rounded = |report: &WorldReport| ROUNDED * tolerance.max(report.floor).max(posing);
            let certified = f.certify(&told, exact[world], rounded(&told), false);
            let certified = f.certify(&of_cpu, exact_of_cpu[world], rounded(&of_cpu), true) && certified;
            if difference <= SAME {
                f.difference = f.difference.max(difference);
            } else {
                f.differing += 1;
                f.wrong += u64::from(!certified);
            }
        }
        bar.inc(1);
    }
    f.contacts_mean /= f.world_steps as f64;
    let mut again = Run::new(model, batch, &a.step, STEPS)?;
    for _ in 0..again.steps {
        again.step(None)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    f.repeats = bits(&run.worlds) == bits(&again.worlds);
    f.stages = shaders(&mut run.worlds)?;
    Ok(f)
}

/// The shaders of a step beside their twins.
#[cfg(feature = "gpu")]
fn shaders(worlds: &mut Worlds) -> Outcome<Vec<Shader>> {
    let compared = worlds.beside_twins()?;
    let shader = |told: delassus::worlds::StageComparison| Shader {
        wrong: told.is_wrong(),
        differ: told.differ.len(),
        first: told.differ.first().map(|(world, text)| format!("world {world}, {text}")),
        stage: told.stage,
    };
    Ok(compared.into_iter().map(shader).collect())
}
/// Without the feature `gpu` there are none.
#[cfg(not(feature = "gpu"))]
#[expect(clippy::unnecessary_wraps, reason = "as with the feature")]
fn shaders(_: &mut Worlds) -> Outcome<Vec<Shader>> {
    Ok(Vec::new())
}

impl Findings {
    /// Counts a world-step of the device and of the CPU.
    fn add(&mut self, told: &WorldReport, of_cpu: &WorldReport) {
        self.world_steps += 1;
        self.contacts_mean += told.contact_count as f64;
        self.halted += u64::from(told.halted);
        self.solved += u64::from(told.solved());
        self.solved_by_cpu += u64::from(of_cpu.solved());
        self.residual = self.residual.max(told.residual);
    }

    /// Holds a report against the residual in f64 of its impulses: whether they are a solution there up to `rounded`, m/s, as far as its contacts are the same.
    fn certify(&mut self, told: &WorldReport, exact: (f64, bool), rounded: f64, of_cpu: bool) -> bool {
        let (posed_otherwise, uncertified, worst) = if of_cpu {
            (&mut self.posed_otherwise_of_cpu, &mut self.uncertified_of_cpu, &mut self.exact_residual_of_cpu)
        } else {
            (&mut self.posed_otherwise, &mut self.uncertified, &mut self.exact_residual)
        };
        let (residual, same_contacts) = exact;
        let confirmed = residual - told.residual <= rounded;
        if confirmed || same_contacts {
            *worst = worst.max(residual);
            *uncertified += u64::from(!confirmed);
        } else {
            *posed_otherwise += 1;
        }
        residual <= rounded || !same_contacts
    }
}

/// What f32 rounds off a gap at position `q`, over Δt: u L / Δt with L the largest of |q|, m/s. A row asks for a gap over Δt, so that no certificate, which takes rows as they are, can
/// know of it. (Of gymnasium's humanoid, Δt 3 ms, a median of 1e-5 m/s and at most 1e-4 in 1,900 world-steps with contacts, on the CPU and on a device alike.)
fn posing(q: &[f64], dt: f64) -> f64 {
    let largest = q.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    0.5 * f64::from(f32::EPSILON) * largest / dt
}

/// What the worlds of a snapshot remember: whose impulse, and what, shape \[world\].
type Impulses = Vec<Vec<(u64, [f64; 3])>>;

/// What the worlds of a snapshot remember.
fn impulses(snapshot: &Snapshot) -> Outcome<Impulses> {
    let wrong = |e| Failure::Other(format!("a snapshot cannot be read: {e}"));
    let value = serde_json::to_value(snapshot).map_err(wrong)?;
    serde_json::from_value(value["memory"].clone()).map_err(wrong)
}

/// Whether a world took the impulses that it was given, and has no contact that they are not of.
fn arrived(given: &[(u64, [f64; 3])], taken: &[(u64, [f64; 3])]) -> bool {
    let largest = given.iter().flat_map(|(_, x)| x).fold(0.0, |m: f64, x| m.max(x.abs()));
    let all = given.iter().all(|(key, x)| {
        let found = taken.iter().find(|(other, _)| other == key).map_or([0.0; 3], |(_, y)| *y);
        x.iter().zip(found).all(|(x, y)| (x - y).abs() <= LOST * largest)
    });
    all && taken.iter().all(|(key, _)| given.iter().any(|(other, _)| other == key))
}

/// Largest difference of q and v of a world; what is not a number in both does not differ.
fn difference(a: &(Vec<f64>, Vec<f64>), b: &(Vec<f64>, Vec<f64>), [nq, nv]: [usize; 2], world: usize) -> f64 {
    let of = |x: &[f64], y: &[f64], len: usize| {
        let own = world * len..(world + 1) * len;
        let pairs = x[own.clone()].iter().zip(&y[own]).filter(|(x, y)| x.to_bits() != y.to_bits());
        pairs.map(|(x, y)| if x == y { f64::MIN_POSITIVE } else { (x - y).abs() }).fold(0.0, larger)
    };
    larger(of(&a.0, &b.0, nq), of(&a.1, &b.1, nv))
}

/// The larger of two, or what is not a number.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

fn bits(worlds: &Worlds) -> Vec<u64> {
    let (q, v) = worlds.state();
    q.iter().chain(&v).map(|x| x.to_bits()).collect()
}

fn print(all: &[Compared]) -> Outcome {
    for c in all.iter().filter(|c| c.refused.is_none()).take(1) {
        say(format!(
            "{}, {} worlds, {} steps, beside the CPU",
            c.findings.device, c.findings.worlds, c.findings.steps
        ))?;
    }
    let compared = all.iter().filter(|c| c.refused.is_none());
    say(table(
        [
            "model",
            "steps",
            "contacts",
            "differ",
            "wrong",
            "halted",
            "solved",
            "told",
            "in f64",
            "posed",
            "uncertain",
            "again",
            "shaders",
        ],
        compared.map(|c| {
            let f = &c.findings;
            let share = |count: u64| percent(count as f64 / f.world_steps as f64);
            let exact = |k: u64| if k == 0 { String::new() } else { format!(", {} otherwise", grouped(k)) };
            [
                c.model.clone(),
                grouped(f.world_steps),
                short(f.contacts_mean),
                format!("{} ({:.0e})", grouped(f.differing), f.difference),
                grouped(f.wrong),
                share(f.halted) + &exact(f.halted_otherwise),
                format!("{} ({})", share(f.solved), share(f.solved_by_cpu)),
                format!("{:.0e}", f.residual),
                format!("{:.0e} ({:.0e})", f.exact_residual, f.exact_residual_of_cpu),
                format!("{} ({})", grouped(f.posed_otherwise), grouped(f.posed_otherwise_of_cpu)),
                format!("{} ({})", grouped(f.uncertified), grouped(f.uncertified_of_cpu)),
                if f.repeats { "same" } else { "other" }.into(),
                match f.stages.iter().find(|shader| shader.wrong) {
                    Some(shader) => format!("{} errs", shader.stage),
                    None if f.stages.is_empty() => "–".into(),
                    None => "as twins".into(),
                },
            ]
        }),
    ))?;
    say(format!(
        "steps: of worlds, and so all counts. differ: by more than {SAME:.0e} (largest of the others). wrong: of those, not both answers solve the problem, as far as f64 has their contacts. halted: left to the CPU. told: largest residual, m/s; \
         in f64: of the same impulses. posed: f64 has other contacts. uncertain: certificates that f64 does not confirm. again: bits of a second run. shaders: beside their twins in Rust, one step stage by stage. In brackets: the CPU."
    ))?;
    for c in all {
        if let Some(reason) = &c.refused {
            say(format!("{} was not compared: {reason}", c.model))?;
        }
    }
    Ok(())
}
