//! `delassus verify`: every contact problem of a rollout solved again, by a method that shares nothing with the first.

use super::failure::{Failure, Outcome};
use super::options::{ModelOptions, StepOptions};
use super::parse::positive;
use super::run::Run;
use super::table::{facts, grouped, short};
use super::{progress, rollout, say, say_json};
use clap::Args;
use delassus::Precision;
use delassus::lcp::{SolveStatus, verify};
use delassus::worlds::BlockRecord;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// How many problems that are not confirmed are named.
const NAMED: usize = 5;

/// Options of `verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Every contact problem (a block: what shares an island of a world) is posed again as a linear complementarity problem whose friction \
directions are aligned with the given answer, solved from nothing by Lemke's pivoting, and compared in contact velocity. Where Coulomb \
friction allows several motions, Lemke may end at another one; then the answer is held against the exact solution on its own set of \
sliding, sticking and open contacts, and counted apart.
Exit code 1 if a problem disagrees by more than --tolerance-velocity or could not be solved again.

Examples:
  delassus verify examples/models/ant.xml --control random --noise 0.05
  delassus verify examples/models/boxes.xml --worlds 4 --steps 500 --precision f32 --tolerance-velocity 1e-3")]
pub struct Arguments {
    #[command(flatten)]
    model: ModelOptions,
    #[command(flatten)]
    step: StepOptions,
    /// Largest disagreement in contact velocity, m/s (rad/s).
    #[arg(long, value_name = "M/S", default_value_t = 1e-4, value_parser = positive, allow_negative_numbers = true)]
    tolerance_velocity: f64,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    json: bool,
    /// List the notes on the model.
    #[arg(long, short)]
    verbose: bool,
}

/// What became of a block.
enum Verdict {
    /// Lemke found the same contact velocities, this far apart.
    Confirmed(f64),
    /// Lemke found another solution; the given one is this far from the exact one on its own basis.
    OtherMotion(f64),
    /// The nearest exact solution is this far apart.
    Disagrees(f64),
    /// The exact solver did not solve it.
    Unsolved(String),
}

/// What was found so far.
#[derive(Default, Serialize)]
struct Findings {
    blocks: u64,
    confirmed: u64,
    other_motion: u64,
    disagreeing: u64,
    not_verifiable: u64,
    /// Why blocks could not be solved again, and how many.
    reasons: BTreeMap<String, u64>,
    /// Largest disagreement with the nearest exact solution, m/s.
    worst_disagreement: f64,
    /// Largest natural-map residual of the rollout's answers, m/s.
    worst_residual: f64,
    /// Largest natural-map residual of Lemke's answers that agree, m/s.
    worst_exact_residual: f64,
    /// What is wrong, one sentence a block.
    #[serde(skip)]
    wrong: Vec<String>,
}

impl Findings {
    /// Solves a block again and notes what came out.
    fn judge(findings: &Mutex<Self>, step: u64, block: &BlockRecord<'_>, tolerance: f64) {
        let found = verify::exact(block.problem, block.impulse);
        let verdict = match &found {
            Err(error) => Verdict::Unsolved(error.to_string()),
            Ok(v) if v.agrees(tolerance) => Verdict::Confirmed(v.velocity_difference),
            Ok(v) if v.confirms(tolerance) => Verdict::OtherMotion(v.basis_difference),
            Ok(v) if v.status == SolveStatus::Solved => {
                Verdict::Disagrees(v.velocity_difference.min(v.basis_difference))
            }
            Ok(v) => Verdict::Unsolved(format!("Lemke: {}", v.status)),
        };
        let mut f = findings.lock().unwrap_or_else(PoisonError::into_inner);
        f.blocks += 1;
        f.worst_residual = f.worst_residual.max(block.residual);
        let place = || format!("step {step}, {}", block.problem.name);
        match verdict {
            Verdict::Confirmed(difference) => {
                f.confirmed += 1;
                f.worst_disagreement = f.worst_disagreement.max(difference);
                f.worst_exact_residual = found.map_or(0.0, |v| v.lemke_residual).max(f.worst_exact_residual);
            }
            Verdict::OtherMotion(difference) => {
                f.other_motion += 1;
                f.worst_disagreement = f.worst_disagreement.max(difference);
            }
            Verdict::Disagrees(difference) => {
                f.disagreeing += 1;
                f.worst_disagreement = f.worst_disagreement.max(difference);
                f.wrong.push(format!("{}: disagrees by {difference:.2e} m/s", place()));
            }
            Verdict::Unsolved(reason) => {
                f.not_verifiable += 1;
                f.wrong.push(format!("{}: {reason}", place()));
                *f.reasons.entry(reason).or_default() += 1;
            }
        }
    }
}

/// Rolls out, checks and prints.
pub fn run(a: &Arguments) -> Outcome {
    let model = a.model.load()?;
    let mut run = Run::new(&model, &a.step, 16, 200, Precision::F64)?;
    if !a.json {
        rollout::introduce(&model, &run, a.step.backend, a.verbose)?;
    }
    let findings = Mutex::new(Findings::default());
    let bar = progress::bar(run.steps, "steps", a.json);
    for step in 1..=run.steps {
        run.step(Some(&|block: &BlockRecord<'_>| Findings::judge(&findings, step, block, a.tolerance_velocity)))?;
        bar.inc(1);
    }
    bar.finish_and_clear();

    let mut f = findings.into_inner().unwrap_or_else(PoisonError::into_inner);
    if a.json {
        say_json(&f)?;
    } else {
        say(facts([
            ("blocks", grouped(f.blocks)),
            ("confirmed by Lemke", grouped(f.confirmed)),
            ("confirmed, other motions possible", grouped(f.other_motion)),
            ("disagreeing", grouped(f.disagreeing)),
            ("not verifiable", grouped(f.not_verifiable)),
            ("worst disagreement, m/s", short(f.worst_disagreement)),
            ("worst residual, rollout, m/s", short(f.worst_residual)),
            ("worst residual, exact, m/s", short(f.worst_exact_residual)),
        ]))?;
        for (reason, count) in &f.reasons {
            say(format!("not verifiable, {count} times: {reason}"))?;
        }
        // Threads find blocks in any order.
        f.wrong.sort();
        for sentence in f.wrong.iter().take(NAMED) {
            say(sentence)?;
        }
    }
    let bad = f.disagreeing + f.not_verifiable;
    if bad == 0 {
        return Ok(());
    }
    Err(Failure::Other(format!(
        "{} of {} contact problems disagree by more than {} m/s, {} could not be verified; first: {}",
        f.disagreeing,
        f.blocks,
        a.tolerance_velocity,
        f.not_verifiable,
        f.wrong.iter().min().map_or("", String::as_str)
    )))
}
