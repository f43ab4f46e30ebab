//! The table solver × family of the documentation: how many problems of each data file each solver solves.
//!
//! `cargo run --release --example solve_table -- [--tolerance 1e-8] [--iterations 5000] [--most ROWS] [--list]
//! [--solver NAME]... FILE...`
//!
//! `--most` leaves out larger problems, `--list` names what was not solved.

use delassus::lcp::survey::Survey;
use delassus::lcp::{SolveStatus, Solver, file};

fn main() -> delassus::Result<()> {
    let (mut tolerance, mut iterations, mut most) = (1e-8, 5000, usize::MAX);
    let (mut list, mut solvers, mut files) = (false, Vec::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_default();
        match argument.as_str() {
            "--tolerance" => tolerance = value().parse().unwrap_or(tolerance),
            "--iterations" => iterations = value().parse().unwrap_or(iterations),
            "--most" => most = value().parse().unwrap_or(most),
            "--solver" => solvers.push(value().parse::<Solver>()?),
            "--list" => list = true,
            _ => files.push(argument),
        }
    }
    if solvers.is_empty() {
        solvers = Solver::ALL.to_vec();
    }
    let mut survey = Survey::new(&solvers);
    for path in files {
        let family = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".jsonl").to_string();
        for record in file::read_file(&path)?.iter().filter(|r| r.problem.rows() <= most) {
            for (solver, status, relative) in survey.add(&family, record, tolerance, iterations) {
                if list && status != SolveStatus::Solved {
                    let name = &record.problem.name;
                    println!("{name} (n = {}) {solver}: {status}, residual_rel {relative:.1e}", record.problem.rows());
                }
            }
        }
    }
    println!("{survey}");
    for (k, solver) in survey.solvers.iter().enumerate() {
        let seconds: f64 = survey.families.values().map(|t| t[k].seconds).sum();
        println!("{solver}: {seconds:.2} s");
    }
    Ok(())
}
