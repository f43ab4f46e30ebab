//! `delassus verify`: every contact problem of a rollout solved again, by a method that shares nothing with the first.

use super::failure::{Failure, Outcome};
use super::options::{BatchOptions, ModelOptions, StepOptions};
use super::parse::positive;
use super::run::Run;
use super::table::{facts, grouped, short};
use super::{progress, rollout, say, say_json};
use clap::Args;
use delassus::Precision;
use delassus::lcp::SolveStatus;
use delassus::lcp::verify::{self, Verification};
use delassus::worlds::BlockRecord;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// How many problems that are not confirmed are named.
const NAMED: usize = 5;
/// An answer whose residual is this many tolerances is a solution: it may have been kept at its rounding floor.
const ROUNDED: f64 = 10.0;

/// Options of `verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Every contact problem (a block: what shares an island of a world) is posed again as a linear complementarity problem whose friction \
directions are aligned with the given answer, solved from nothing by Lemke's pivoting, taken to the round cone where it ended at another \
edge, and compared in contact velocity. Where friction allows several motions, Lemke may end at another one. Then the answer is held against the exact solution on its own set of sliding, \
sticking and open contacts (\"confirmed on their own basis\"). Where that cannot be told apart from a neighbouring set, and the answer's \
own residual shows that it solves the problem too, it counts as \"another solution found\".
A patch (--friction patch) has no linear form: its problems cannot be verified so, and count as not confirmed; models without faces, edges or discs in contact have none.
Exit code 1 if a problem disagrees by more than --tolerance-velocity or could not be solved again.

Examples:
  delassus verify examples/models/ant.xml --control random --noise 0.05
  delassus verify examples/models/boxes.xml --worlds 4 --steps 500 --precision f32 --tolerance-velocity 1e-3")]
pub struct Arguments {
    #[command(flatten)]
    model: ModelOptions,
    #[command(flatten)]
    batch: BatchOptions,
    #[command(flatten)]
    step: StepOptions,
    /// Largest disagreement in contact velocity, m/s (rad/s).
    #[arg(long, value_name = "M/S", default_value_t = 1e-4, value_parser = positive, allow_negative_numbers = true)]
    tolerance_velocity: f64,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    json: bool,
    /// List all notes on the model and its start.
    #[arg(long, short)]
    verbose: bool,
}

/// What became of a block.
enum Verdict {
    /// Lemke found the same contact velocities, this far apart.
    Confirmed(f64),
    /// Friction allows several motions; the given one is this far from the exact one on its own basis.
    OwnBasis(f64),
    /// Both answers solve the problem, and they are different motions.
    Another(f64),
    /// The nearest exact solution is this far apart.
    Disagrees(f64),
    /// The exact solver did not solve it.
    Unsolved(String),
}

impl Verdict {
    /// Solves a block again. `tolerance`: of contact velocities; `solved`: residual at which an answer is a solution, m/s.
    fn of(found: &delassus::Result<Verification>, tolerance: f64, solved: f64) -> Self {
        match found {
            Err(error) => Self::Unsolved(error.to_string()),
            Ok(v) if v.basis_difference <= tolerance.min(v.velocity_difference) => Self::OwnBasis(v.basis_difference),
            Ok(v) if v.agrees(tolerance) => Self::Confirmed(v.velocity_difference),
            Ok(v) if v.status != SolveStatus::Solved => Self::Unsolved(format!("Lemke: {}", v.status)),
            Ok(v) if v.residual.max(v.aligned_residual).max(v.lemke_residual) <= solved => {
                Self::Another(v.velocity_difference)
            }
            Ok(v) => Self::Disagrees(v.velocity_difference.min(v.basis_difference)),
        }
    }
}

/// What was found so far.
#[derive(Default, Serialize)]
struct Findings {
    blocks: u64,
    /// Lemke came to the same motion.
    confirmed: u64,
    /// Lemke came to another motion; the exact solution on the answer's own basis confirms it.
    confirmed_on_own_basis: u64,
    /// Lemke came to another motion and the own basis is too near to another for a comparison; both answers solve the problem.
    another_solution: u64,
    disagreeing: u64,
    not_verifiable: u64,
    /// Why blocks could not be solved again, and how many.
    reasons: BTreeMap<String, u64>,
    /// Largest disagreement with the exact solution compared with, m/s.
    worst_disagreement: f64,
    /// Largest distance to the other motion of `another_solution`, m/s.
    farthest_other_solution: f64,
    /// Largest natural-map residual of the rollout's answers, m/s.
    worst_residual: f64,
    /// Largest natural-map residual of Lemke's answers that agree, m/s.
    worst_exact_residual: f64,
    /// What is wrong, one sentence a block.
    #[serde(skip)]
    wrong: Vec<String>,
}

impl Findings {
    /// Notes what became of a block.
    fn add(&mut self, step: u64, block: &BlockRecord<'_>, found: &delassus::Result<Verification>, verdict: Verdict) {
        self.blocks += 1;
        self.worst_residual = self.worst_residual.max(block.residual);
        let place = || format!("step {step}, {}", block.problem.name);
        match verdict {
            Verdict::Confirmed(difference) => {
                self.confirmed += 1;
                self.worst_disagreement = self.worst_disagreement.max(difference);
                let exact = found.as_ref().map_or(0.0, |v| v.lemke_residual);
                self.worst_exact_residual = self.worst_exact_residual.max(exact);
            }
            Verdict::OwnBasis(difference) => {
                self.confirmed_on_own_basis += 1;
                self.worst_disagreement = self.worst_disagreement.max(difference);
            }
            Verdict::Another(distance) => {
                self.another_solution += 1;
                self.farthest_other_solution = self.farthest_other_solution.max(distance);
            }
            Verdict::Disagrees(difference) => {
                self.disagreeing += 1;
                self.worst_disagreement = self.worst_disagreement.max(difference);
                self.wrong.push(format!("{}: disagrees by {difference:.2e} m/s", place()));
            }
            Verdict::Unsolved(reason) => {
                self.not_verifiable += 1;
                self.wrong.push(format!("{}: {reason}", place()));
                *self.reasons.entry(reason).or_default() += 1;
            }
        }
    }
}

/// Rolls out, checks and prints.
pub fn run(a: &Arguments) -> Outcome {
    let model = a.model.load()?;
    let mut run = Run::new(&model, a.batch.or(16, Precision::F64), &a.step, 200)?;
    if !a.json {
        rollout::introduce(&model, &run, a.batch.backend, a.verbose)?;
    }
    let findings = Mutex::new(Findings::default());
    let bar = progress::bar(run.steps, "steps", a.json);
    let solved = ROUNDED * run.worlds.settings().tolerance();
    for step in 1..=run.steps {
        run.step(Some(&|block: &BlockRecord<'_>| {
            let found = verify::exact(block.problem, block.impulse);
            let verdict = Verdict::of(&found, a.tolerance_velocity, solved);
            findings.lock().unwrap_or_else(PoisonError::into_inner).add(step, block, &found, verdict);
        }))?;
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
            ("confirmed on their own basis", grouped(f.confirmed_on_own_basis)),
            ("another solution found", grouped(f.another_solution)),
            ("disagreeing", grouped(f.disagreeing)),
            ("not verifiable", grouped(f.not_verifiable)),
            ("worst disagreement, m/s", short(f.worst_disagreement)),
            ("farthest other solution, m/s", short(f.farthest_other_solution)),
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
        return run.check_finite();
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
