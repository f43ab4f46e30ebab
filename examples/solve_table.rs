//! Solver × family: how many problems of the data files each solver solves. `cargo run --release --example
//! solve_table -- [--tolerance 1e-8] [--list] [--solver NAME]... FILE...`

use delassus::lcp::{SolveSettings, SolveStatus, Solver, file, relative_residual, solve};
use std::collections::BTreeMap;
use std::time::Instant;

fn main() -> delassus::Result<()> {
    let mut tolerance = 1e-8;
    let mut json = false;
    let (mut list, mut solvers, mut files) = (false, Vec::new(), Vec::new());
    let mut most = usize::MAX;
    let mut iterations = 5000;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--tolerance" => tolerance = arguments.next().and_then(|t| t.parse().ok()).unwrap_or(tolerance),
            "--most" => most = arguments.next().and_then(|t| t.parse().ok()).unwrap_or(most),
            "--iterations" => iterations = arguments.next().and_then(|t| t.parse().ok()).unwrap_or(iterations),
            "--solver" => solvers.push(arguments.next().unwrap_or_default().parse::<Solver>()?),
            "--list" => list = true,
            "--json" => json = true,
            _ => files.push(argument),
        }
    }
    if solvers.is_empty() {
        solvers = Solver::ALL.to_vec();
    }
    let mut table: BTreeMap<(String, Solver2), (usize, usize, f64)> = BTreeMap::new();
    for path in files {
        let family = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".jsonl").to_string();
        for record in file::read_file(&path)? {
            let problem = &record.problem;
            if problem.rows() > most {
                continue;
            }
            for (k, &solver) in solvers.iter().enumerate() {
                if !solver.supports(problem) {
                    continue;
                }
                let size = problem.bias.amax();
                let absolute = 0.5 * tolerance * if size > 0.0 { size } else { 1.0 };
                let settings = SolveSettings { tolerance: absolute, iterations, ..SolveSettings::default() };
                let start = Instant::now();
                let solution = solve(problem, solver, &settings, None);
                let time = start.elapsed().as_secs_f64();
                if json {
                    println!(
                        "{{\"name\":{:?},\"solver\":\"{solver}\",\"status\":\"{}\",\"z\":{:?}}}",
                        problem.name,
                        solution.status,
                        solution.impulse.as_slice()
                    );
                }
                let relative = relative_residual(problem, &solution.impulse);
                let solved = relative <= tolerance;
                let entry = table.entry((family.clone(), Solver2(k))).or_default();
                entry.0 += usize::from(solved);
                entry.1 += 1;
                entry.2 += time;
                if list && (!solved || time > 0.5) {
                    println!(
                        "{} {} n={} {} residual_rel {relative:.1e} iterations {} {time:.2} s{}{}",
                        problem.name,
                        solver,
                        problem.rows(),
                        solution.status,
                        solution.iterations,
                        if record.solvable { "" } else { "  (unsolvable)" },
                        if record.reference.is_none() && record.solvable { "  (no reference)" } else { "" }
                    );
                }
                debug_assert!(solution.status != SolveStatus::Solved || solved);
            }
        }
    }
    for ((family, k), (solved, all, time)) in table {
        println!("{family:28} {:10} {solved:4} / {all:4}  {time:8.2} s", solvers[k.0].name());
    }
    Ok(())
}

/// Position of a solver in the list, which orders the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Solver2(usize);
