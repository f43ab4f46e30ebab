//! `delassus solve`: contact problems from a file.

use super::failure::{Failure, Outcome};
use super::options::device;
use super::parse::positive;
use super::table::{grouped, percent, short, table};
use super::{progress, say, say_json};
use clap::{Args, ValueEnum};
use delassus::DeviceChoice;
use delassus::lcp::file::Record;
use delassus::lcp::{
    Solution, SolveSettings, SolveStatus, Solver, file, natural_map_residual, relative_residual, rounding_floor, solve,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// Options of `solve`.
#[derive(Debug, Args)]
#[command(after_help = "\
A line of the file is one problem in the format delassus-lcp/1 (lcp, blcp, blcp_findex, fc2d, fc3d, patch, mixed), as `rollout --dump-failed` \
writes them. residual is the natural map residual, m/s; residual_rel is that over the largest entry of q, without unit.

Examples:
  delassus solve problems.jsonl
  delassus solve problems.jsonl --solver lemke --solver pgs --tolerance 1e-6
  delassus solve problems.jsonl --solver newton --json > answers.jsonl
  delassus solve problems.jsonl --backend gpu --iterations 2000
  delassus solve problems.jsonl --backend gpu --copies 10000")]
pub struct Arguments {
    /// File of problems, one JSON object a line.
    file: PathBuf,
    /// Solver; may be given several times, to compare. auto picks one by laws and size and goes on to others until one solves.
    #[arg(long, default_value = "auto", value_parser = solver_names())]
    solver: Vec<Solver>,
    /// Relative residual at which a problem counts as solved. Default 1e-8, and 1e-5 on the GPU, which solves in f32.
    #[arg(long, value_name = "R", value_parser = positive, allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Most sweeps, pivots or steps, as the solver counts them.
    #[arg(
        long,
        value_name = "N",
        default_value_t = SolveSettings::default().iterations as u64,
        value_parser = clap::value_parser!(u64).range(1..),
        allow_negative_numbers = true
    )]
    iterations: u64,
    /// Where the problems are solved.
    #[arg(long, default_value = "cpu")]
    backend: Backend,
    /// Device of the backend gpu: its index in `delassus devices`, or part of its name [default: the best].
    #[arg(long, value_name = "INDEX|NAME")]
    device: Option<String>,
    /// Solve so many copies of every problem, and tell how fast the device was; backend gpu only.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..),
        allow_negative_numbers = true
    )]
    copies: u32,
    /// Print one JSON object a problem and solver, a line each, and nothing else.
    #[arg(long)]
    json: bool,
}

/// Where problems are solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Backend {
    /// One after the other, in f64.
    Cpu,
    /// As one batch, in f32, by pgs (also auto) or jacobi.
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
    /// Natural map residual, m/s.
    residual: f64,
    /// Rounding floor of the residual, m/s.
    floor: f64,
    /// Why the solver does not treat the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<String>,
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

/// A problem's answer by one of the solvers.
struct Answered {
    solution: Solution,
    time_s: f64,
}

/// Solves and prints.
pub fn run(a: &Arguments) -> Outcome {
    if a.copies > 1 && a.backend == Backend::Cpu {
        return Err(Failure::Other("--copies tells how fast a device is: use it with --backend gpu".into()));
    }
    let records = file::read_file(&a.file)?;
    if records.is_empty() {
        return Err(Failure::Other(format!("{}: the file holds no contact problem", a.file.display())));
    }
    let mut scores: BTreeMap<(String, usize), Score> = BTreeMap::new();
    let mut speeds = Vec::new();
    let bar = progress::bar((records.len() * a.solver.len()) as u64, "problems", a.json);
    match a.backend {
        Backend::Cpu => {
            for record in &records {
                for (k, &solver) in a.solver.iter().enumerate() {
                    let answered = on_cpu(a, record, solver);
                    report(a, record, k, &answered, &mut scores, &bar)?;
                }
            }
        }
        Backend::Gpu => {
            let device = device(a.device.as_deref());
            for (k, &solver) in a.solver.iter().enumerate() {
                let (answers, more) = on_gpu(a, &device, &records, solver)?;
                for (record, answered) in records.iter().zip(answers) {
                    report(a, record, k, &answered, &mut scores, &bar)?;
                }
                speeds.extend(more);
            }
        }
    }
    bar.finish_and_clear();
    let solved: usize = scores.values().map(|score| score.solved).sum();
    let outcome = if solved > 0 {
        Ok(())
    } else {
        Err(Failure::Other(format!("none of the {} contact problems was solved", records.len())))
    };
    if a.json {
        speeds.iter().try_for_each(say_json)?;
        return outcome;
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
    ))?;
    for s in &speeds {
        let rate = |x: f64| format!("{:.1} GFLOP/s ({})", 1e-9 * x / s.seconds, percent(x / s.seconds / s.limit));
        say(format!(
            "{}, {} problems under the law {}, {} solved: {} sweeps in {:.3} ms on {}, {:.1} million problems/s; {}, products with W alone {}, of {:.0} GFLOP/s that it can do",
            s.solver,
            grouped(s.problems),
            s.law,
            percent(s.solved as f64 / s.problems as f64),
            grouped(s.sweeps),
            1e3 * s.seconds,
            s.device,
            1e-6 * s.problems as f64 / s.seconds,
            s.operations.map_or("-".into(), rate),
            rate(s.products),
            1e-9 * s.limit,
        ))?;
    }
    outcome
}

/// How fast a device solved a batch of problems.
#[derive(Serialize)]
struct Speed {
    device: String,
    solver: &'static str,
    law: &'static str,
    problems: u64,
    solved: u64,
    /// Of all problems.
    sweeps: u64,
    /// On the device, s; wall time where it has no clock, with what goes there and back.
    seconds: f64,
    /// Floating-point operations of all sweeps and looks at the residual, a multiply-add as two: of problems of contacts alone. None where there are others, or under another law.
    operations: Option<f64>,
    /// Those of the products with W of all problems: one a sweep, one a look.
    products: f64,
    /// Operations that the device can do, 1/s.
    limit: f64,
}

/// One problem, in f64.
fn on_cpu(a: &Arguments, record: &Record, solver: Solver) -> Answered {
    let size = record.problem.bias.amax();
    let tolerance = a.tolerance.unwrap_or(1e-8) * if size > 0.0 { size } else { 1.0 };
    let settings = SolveSettings {
        tolerance,
        iterations: usize::try_from(a.iterations).unwrap_or(usize::MAX),
        ..SolveSettings::default()
    };
    let start = Instant::now();
    let solution = solve(&record.problem, solver, &settings, None);
    Answered { solution, time_s: start.elapsed().as_secs_f64() }
}

/// All problems that the batched solver treats, as one batch a friction law; every problem gets its share of the time.
#[cfg(feature = "gpu")]
fn on_gpu(
    a: &Arguments,
    device: &DeviceChoice,
    records: &[Record],
    solver: Solver,
) -> Outcome<(Vec<Answered>, Vec<Speed>)> {
    use delassus::gpu::operations_of_block;
    use delassus::lane::F32x16;
    use delassus::lcp::Law;
    use delassus::solver::{Algorithm, FrictionLaw, LAW_CONE, ProblemBatch, SolveSettings, solve_problems};
    let algorithm = match solver {
        Solver::Auto | Solver::Pgs => Algorithm::Pgs,
        Solver::Jacobi => Algorithm::Jacobi,
        other => {
            let message = format!("backend gpu: solver {} runs on the CPU only; use pgs, jacobi or auto", other.name());
            return Err(Failure::Other(message));
        }
    };
    let mut gpu = delassus::gpu::Gpu::new(device)?;
    let untreated = |record: &Record| Answered {
        solution: Solution {
            impulse: record.problem.bias.map(|_| 0.0),
            status: SolveStatus::InvalidProblem,
            iterations: 0,
            residual: f64::INFINITY,
            work: 0,
        },
        time_s: 0.0,
    };
    let mut answers: Vec<Answered> = records.iter().map(untreated).collect();
    let mut speeds = Vec::new();
    let limit = if a.copies > 1 { gpu.measured_limits()?.operations } else { 0.0 };
    for law in [FrictionLaw::Patch, FrictionLaw::Cone, FrictionLaw::Box] {
        let fits = |record: &Record| {
            let wanted = match &record.problem {
                problem if problem.has_patches() => FrictionLaw::Patch,
                problem if problem.has_cones() => FrictionLaw::Cone,
                _ => FrictionLaw::Box,
            };
            wanted == law && ProblemBatch::<F32x16>::new([&record.problem], law).is_ok()
        };
        let chosen: Vec<usize> = (0..records.len()).filter(|&i| fits(&records[i])).collect();
        let count = chosen.len() * a.copies as usize;
        if a.copies > 1 && count > MOST_PROBLEMS {
            let text = format!(
                "--copies {}: {count} problems are more than a batch of {MOST_PROBLEMS}; use fewer copies",
                a.copies
            );
            return Err(Failure::Other(text));
        }
        let problems: Vec<_> = chosen.iter().map(|&i| &records[i].problem).cycle().take(count).collect();
        if problems.is_empty() {
            continue;
        }
        let settings = SolveSettings {
            tolerance: a.tolerance.unwrap_or(1e-5),
            iterations: u32::try_from(a.iterations).unwrap_or(u32::MAX),
            algorithm,
            law,
            ..SolveSettings::default()
        };
        if a.copies > 1 {
            gpu.measure();
        }
        let start = Instant::now();
        let mut wall = 0.0;
        let solutions = solve_problems::<F32x16>(problems.iter().copied(), &settings, |batch, settings| {
            let start = Instant::now();
            gpu.solve(batch, settings)?;
            wall = start.elapsed().as_secs_f64();
            Ok(())
        })?;
        let time_s = start.elapsed().as_secs_f64() / count as f64;
        if a.copies > 1 {
            // of both problems: the first look, and one after so many sweeps
            let looks = |sweeps: usize| 2 + sweeps / settings.check_every.max(1) as usize;
            let each = || problems.iter().zip(&solutions);
            let products = each().map(|(p, s)| p.rows() * p.rows() * (s.iterations + looks(s.iterations)));
            let mut known: BTreeMap<usize, [u64; 2]> = BTreeMap::new();
            let operations = each().map(|(p, s)| {
                let cones = p.laws.iter().all(|law| matches!(law, Law::Cone { dimension: 3, .. }));
                (cones && solver != Solver::Jacobi).then(|| {
                    let of_block = || operations_of_block(LAW_CONE, p.laws.len());
                    let [sweep, look] = *known.entry(p.laws.len()).or_insert_with(of_block);
                    sweep as f64 * s.iterations as f64 + look as f64 * looks(s.iterations) as f64
                })
            });
            speeds.push(Speed {
                device: gpu.info().name.clone(),
                solver: solver.name(),
                law: name_of_law(law),
                problems: count as u64,
                solved: solutions.iter().filter(|s| s.status == SolveStatus::Solved).count() as u64,
                sweeps: solutions.iter().map(|s| s.iterations as u64).sum(),
                seconds: gpu.seconds().unwrap_or(wall),
                operations: operations.sum(),
                products: 2.0 * products.sum::<usize>() as f64,
                limit,
            });
        }
        for (i, solution) in chosen.into_iter().zip(solutions) {
            answers[i] = Answered { solution, time_s };
        }
    }
    Ok((answers, speeds))
}

/// Problems of a batch of copies at most: some gigabytes of memory here.
#[cfg(feature = "gpu")]
const MOST_PROBLEMS: usize = 1 << 22;

/// What a friction law is called.
#[cfg(feature = "gpu")]
fn name_of_law(law: delassus::solver::FrictionLaw) -> &'static str {
    use super::parse::{FRICTIONS, name_of};
    name_of(FRICTIONS, &law)
}

/// Without the feature `gpu` there is no batch to send.
#[cfg(not(feature = "gpu"))]
fn on_gpu(_: &Arguments, _: &DeviceChoice, _: &[Record], _: Solver) -> Outcome<(Vec<Answered>, Vec<Speed>)> {
    Err(Failure::Other("backend gpu: this build has no GPU support (feature `gpu`); use --backend cpu".into()))
}

/// Prints one answer and adds it to the table.
fn report(
    a: &Arguments,
    record: &Record,
    k: usize,
    answered: &Answered,
    scores: &mut BTreeMap<(String, usize), Score>,
    bar: &indicatif::ProgressBar,
) -> Outcome {
    let Answered { solution, time_s } = answered;
    let not_treated = solution.status == SolveStatus::InvalidProblem;
    let answer = Answer {
        name: &record.problem.name,
        solver: a.solver[k].name(),
        status: solution.status.to_string(),
        iterations: solution.iterations,
        residual_rel: relative_residual(&record.problem, &solution.impulse),
        residual: natural_map_residual(&record.problem, &solution.impulse),
        floor: rounding_floor(&record.problem, &solution.impulse),
        refusal: not_treated.then(|| a.solver[k].refusal(&record.problem)).flatten(),
        z: solution.impulse.as_slice(),
        time_s: *time_s,
    };
    let score = scores.entry((record.family().into(), k)).or_default();
    score.problems += 1;
    score.solved += usize::from(solution.status == SolveStatus::Solved);
    score.not_treated += usize::from(not_treated);
    score.worst = score.worst.max(if not_treated { 0.0 } else { answer.residual_rel });
    score.seconds += time_s;
    bar.inc(1);
    if a.json {
        return say_json(&answer);
    }
    let status = match &answer.refusal {
        Some(reason) => reason,
        None if not_treated => "not treated by this solver",
        None => &answer.status,
    };
    let line = format!(
        "{}: {}, {}, {} iterations, residual_rel {}, {} s",
        answer.name,
        answer.solver,
        status,
        answer.iterations,
        short(answer.residual_rel),
        short(*time_s)
    );
    bar.suspend(|| say(line))
}
