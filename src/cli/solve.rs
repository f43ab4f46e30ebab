//! `delassus solve`: contact problems from a file.

use super::failure::{Failure, Outcome};
use super::parse::positive;
use super::table::{short, table};
use super::{progress, say, say_json};
use clap::{Args, ValueEnum};
use delassus::lcp::{SolveSettings, SolveStatus, Solver, file, relative_residual, solve};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// Options of `solve`.
#[derive(Debug, Args)]
#[command(after_help = "\
A line of the file is one problem in the format delassus-lcp/1 (lcp, blcp, blcp_findex, fc2d, fc3d, mixed), as `rollout --dump-failed` \
writes them. residual_rel is the natural map residual over the largest entry of q, without unit.

Examples:
  delassus solve problems.jsonl
  delassus solve problems.jsonl --solver lemke --solver pgs --tolerance 1e-6
  delassus solve problems.jsonl --solver newton --json > answers.jsonl")]
pub struct Arguments {
    /// File of problems, one JSON object a line.
    file: PathBuf,
    /// Solver; may be given several times, to compare. auto picks one by laws and size and goes on to others until one solves.
    #[arg(long, default_value = "auto", value_parser = solver_names())]
    solver: Vec<Solver>,
    /// Relative residual at which a problem counts as solved.
    #[arg(long, value_name = "R", default_value_t = 1e-8, value_parser = positive, allow_negative_numbers = true)]
    tolerance: f64,
    /// Most sweeps, pivots or steps, as the solver counts them.
    #[arg(long, value_name = "N", default_value_t = SolveSettings::default().iterations)]
    iterations: usize,
    /// Where the problems are solved.
    #[arg(long, default_value = "cpu")]
    backend: Backend,
    /// Print one JSON object a problem and solver, a line each, and nothing else.
    #[arg(long)]
    json: bool,
}

/// Where problems are solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Backend {
    /// One after the other, in f64.
    Cpu,
    /// As one batch: not in this version.
    Gpu,
}

fn solver_names() -> impl clap::builder::TypedValueParser<Value = Solver> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(Solver::ALL.map(Solver::name)).try_map(|name| name.parse::<Solver>())
}

/// The line of a problem and solver.
#[derive(Serialize)]
struct Answer<'a> {
    name: &'a str,
    solver: &'static str,
    status: String,
    iterations: usize,
    residual_rel: f64,
    z: &'a [f64],
    time_s: f64,
}

/// What became of the problems of a family with a solver.
#[derive(Default)]
struct Score {
    problems: usize,
    solved: usize,
    not_treated: usize,
    worst: f64,
    seconds: f64,
}

/// Solves and prints.
pub fn run(a: &Arguments) -> Outcome {
    if a.backend == Backend::Gpu {
        let message = "backend gpu: solving files as one batch on the GPU is not in this version; use --backend cpu";
        return Err(Failure::Other(message.into()));
    }
    let records = file::read_file(&a.file)?;
    let mut scores: BTreeMap<(String, usize), Score> = BTreeMap::new();
    let bar = progress::bar((records.len() * a.solver.len()) as u64, "problems", a.json);
    for record in &records {
        let problem = &record.problem;
        let size = problem.bias.amax();
        let tolerance = a.tolerance * if size > 0.0 { size } else { 1.0 };
        let settings = SolveSettings { tolerance, iterations: a.iterations, ..SolveSettings::default() };
        for (k, &solver) in a.solver.iter().enumerate() {
            let start = Instant::now();
            let solution = solve(problem, solver, &settings, None);
            let time_s = start.elapsed().as_secs_f64();
            let not_treated = solution.status == SolveStatus::InvalidProblem;
            let answer = Answer {
                name: &problem.name,
                solver: solver.name(),
                status: solution.status.to_string(),
                iterations: solution.iterations,
                residual_rel: relative_residual(problem, &solution.impulse),
                z: solution.impulse.as_slice(),
                time_s,
            };
            let score = scores.entry((record.family().into(), k)).or_default();
            score.problems += 1;
            score.solved += usize::from(solution.status == SolveStatus::Solved);
            score.not_treated += usize::from(not_treated);
            score.worst = score.worst.max(if not_treated { 0.0 } else { answer.residual_rel });
            score.seconds += time_s;
            bar.inc(1);
            if a.json {
                say_json(&answer)?;
            } else {
                let status = if not_treated { "not treated by this solver" } else { &answer.status };
                let line = format!(
                    "{}: {}, {}, {} iterations, residual_rel {}, {} s",
                    answer.name,
                    answer.solver,
                    status,
                    answer.iterations,
                    short(answer.residual_rel),
                    short(time_s)
                );
                bar.suspend(|| say(line))?;
            }
        }
    }
    bar.finish_and_clear();
    if a.json {
        return Ok(());
    }
    let header = ["family", "solver", "problems", "solved", "not treated", "worst residual_rel", "time, s"];
    say(table(
        header,
        scores.into_iter().map(|((family, k), s)| {
            [
                family,
                a.solver[k].name().into(),
                s.problems.to_string(),
                s.solved.to_string(),
                s.not_treated.to_string(),
                short(s.worst),
                short(s.seconds),
            ]
        }),
    ))
}
