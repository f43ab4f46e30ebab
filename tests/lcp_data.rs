//! The solvers on problems that nobody in this project wrote: `shared/data/lcp` (its README says what they are).
//!
//! The data lie where `DELASSUS_DATA` says, or in `../shared/data` beside the sources; without them these tests say that they check nothing, and pass.

mod common;

use common::data;
use delassus::lcp::file::{Record, read_file, read_text, write};
use delassus::lcp::stewart_trinkle::{StewartTrinkle, StewartTrinkleSettings};
use delassus::lcp::verify;
use delassus::lcp::{Law, SolveSettings, SolveStatus, Solver, relative_residual, solve};
use delassus::lcp::{enumerate, residual};
use std::path::PathBuf;

/// All records of the files whose names start with one of `prefixes`, at least one file each; empty without the data.
fn records(prefixes: &[&str]) -> Vec<Record> {
    let Some(folder) = data() else { return Vec::new() };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder.join("lcp")).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let begins = |path: &PathBuf, prefix: &str| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        path.extension().is_some_and(|e| e == "jsonl") && stem.starts_with(prefix)
    };
    for prefix in prefixes {
        assert!(paths.iter().any(|path| begins(path, prefix)), "no {prefix}*.jsonl in {}", folder.display());
    }
    let wanted = |path: &PathBuf| prefixes.iter().any(|prefix| begins(path, prefix));
    paths.iter().filter(|path| wanted(path)).flat_map(|path| read_file(path).unwrap()).collect()
}

/// Everything but the robots, the batch sets and what takes minutes.
const SMALL: [&str; 13] = [
    "artisynth",
    "classic",
    "contactbench",
    "dart_lemke",
    "derived_normal",
    "derived_stewart",
    "literature",
    "nimble",
    "num4lcp",
    "siconos_fc2d",
    "siconos_fc3d",
    "siconos_lcp",
    "siconos_mlcp",
];

/// Above this size a problem is left to `solve_table`, which has no time limit.
const LARGEST: usize = 700;

fn settings(record: &Record, relative: f64) -> SolveSettings {
    let size = record.problem.bias.amax();
    let tolerance = relative * if size > 0.0 { size } else { 1.0 };
    SolveSettings { tolerance, iterations: 5000, ..SolveSettings::default() }
}

#[test]
fn our_residual_is_the_one_of_the_data() {
    for record in records(&["artisynth", "classic", "contactbench", "siconos_fc", "robot", "siconos_mlcp", "nimble"]) {
        let (Some(z), Some(stated)) = (&record.reference, record.reference_residual) else { continue };
        let ours = relative_residual(&record.problem, z);
        // rounding of W z, relative to the bias
        let p = &record.problem;
        let size = p.delassus.abs() * z.abs();
        let noise = 4e-16 * p.rows() as f64 * (1.0 + size.amax() / p.bias.amax().max(f64::MIN_POSITIVE));
        // the data take the largest component of a contact where we take its length: up to √3 more, never less
        let range = 0.99 * stated - noise..=1.01 * 3f64.sqrt() * stated + 10.0 * noise;
        assert!(range.contains(&ours), "{}: {ours:e} {stated:e}", p.name);
    }
}

#[test]
fn auto_solves_whatever_has_a_solution() {
    for record in records(&SMALL) {
        if record.problem.rows() > LARGEST {
            continue;
        }
        let solution = solve(&record.problem, Solver::Auto, &settings(&record, 1e-8), None);
        let relative = relative_residual(&record.problem, &solution.impulse);
        let name = &record.problem.name;
        assert!(solution.impulse.iter().all(|x| x.is_finite()), "{name}");
        if record.solvable {
            assert!(relative <= 1e-8, "{name}: {relative:e}, {}", solution.status);
            assert_eq!(solution.status, SolveStatus::Solved, "{name}");
        } else {
            let honest = matches!(solution.status, SolveStatus::SecondaryRay | SolveStatus::Infeasible);
            assert!(honest, "{name}: {}", solution.status);
        }
    }
}

#[test]
fn auto_solves_the_batch_sets() {
    for record in records(&["set_"]) {
        let solution = solve(&record.problem, Solver::Auto, &settings(&record, 1e-7), None);
        assert_eq!(solution.status, SolveStatus::Solved, "{}: {:e}", record.problem.name, solution.residual);
    }
}

#[test]
fn auto_solves_the_batch_sets_with_other_friction() {
    for record in records(&["set_box", "set_quad4"]) {
        for friction in [0.1, 1.0, 3.0] {
            let mut problem = record.problem.clone();
            problem.laws.fill(Law::Cone { friction, dimension: 3 });
            let solution = solve(&problem, Solver::Auto, &settings(&record, 1e-7), None);
            let solved = solution.status == SolveStatus::Solved;
            assert!(solved, "{} with {friction}: {:e}", problem.name, solution.residual);
        }
    }
}

#[test]
fn two_phase_and_newton_solve_the_robot_steps() {
    let robots = records(&["robot"]);
    for solver in [Solver::TwoPhase, Solver::Newton] {
        let mut iterations = Vec::new();
        for record in &robots {
            let solution = solve(&record.problem, solver, &settings(record, 1e-8), None);
            if solution.status == SolveStatus::Solved {
                iterations.push(solution.iterations);
            }
        }
        iterations.sort_unstable();
        let quick = iterations.iter().filter(|&&k| k <= 20).count();
        println!(
            "{solver}: {} of {} solved to 1e-8, {quick} in 20 outer iterations, median {:?}, most {:?}",
            iterations.len(),
            robots.len(),
            iterations.get(iterations.len() / 2),
            iterations.last()
        );
        assert!(iterations.len() * 100 >= robots.len() * 99);
    }
}

#[test]
fn a_warm_start_needs_no_more_work() {
    for record in records(&["robot_unitree", "set_box8"]).iter().step_by(7) {
        let settings = settings(record, 1e-9);
        let cold = solve(&record.problem, Solver::TwoPhase, &settings, None);
        let warm = solve(&record.problem, Solver::TwoPhase, &settings, Some(&cold.impulse));
        assert_eq!((warm.status, warm.iterations), (SolveStatus::Solved, 0), "{}", record.problem.name);
    }
}

#[test]
fn friction_never_feeds_energy() {
    for record in records(&["robot", "set_box"]).iter().step_by(5) {
        let solution = solve(&record.problem, Solver::Auto, &settings(record, 1e-10), None);
        let size = solution.impulse.amax() * solution.residual.max(1e-14);
        for work in residual::friction_dissipation(&record.problem, &solution.impulse) {
            assert!(work >= -10.0 * size, "{}: {work:e}", record.problem.name);
        }
        assert!(residual::cone_violation(&record.problem, &solution.impulse) <= 1e-8 * solution.impulse.amax());
    }
}

#[test]
fn lemke_confirms_the_cone_solutions() {
    let problems: Vec<Record> =
        records(&["robot", "set_quad4", "set_box4", "set_box8"]).into_iter().step_by(3).collect();
    let (mut checked, mut agreed) = (0, 0);
    for record in &problems {
        let solution = solve(&record.problem, Solver::Auto, &settings(record, 1e-10), None);
        let size = record.problem.bias.amax().max(f64::MIN_POSITIVE);
        let v = verify::exact(&record.problem, &solution.impulse).unwrap();
        assert!(v.aligned_residual <= 1e-7 * size, "{}: {v:?}", record.problem.name);
        assert!(v.confirms(1e-6 * size), "{}: {v:?}", record.problem.name);
        if !v.agrees(1e-6 * size) {
            println!("{}: Lemke found another motion, {:.1e} m/s apart", record.problem.name, v.velocity_difference);
        }
        checked += 1;
        agreed += usize::from(v.agrees(1e-6 * size));
    }
    println!("Lemke agrees on {agreed} of {checked} cone solutions");
    assert!(agreed * 100 >= checked * 95, "{agreed} of {checked}");
}

#[test]
fn the_stewart_trinkle_form_is_the_one_of_the_data() {
    let cones = records(&["siconos_fc3d", "contactbench"]);
    let mut compared = 0;
    for derived in records(&["derived_stewart"]) {
        let Some(base) = derived.problem.name.strip_suffix("/st4") else { continue };
        let Some(cone) = cones.iter().find(|c| c.problem.name == base) else { continue };
        let form = StewartTrinkle::new(&cone.problem, &StewartTrinkleSettings::default()).unwrap();
        let p = &derived.problem;
        let size = p.delassus.amax();
        assert!((&form.matrix - &p.delassus).amax() <= 1e-13 * size, "{base}");
        assert!((&form.vector - &p.bias).amax() <= 1e-13 * p.bias.amax(), "{base}");
        compared += 1;
    }
    assert!(compared >= 20 || data().is_none(), "{compared}");
}

#[test]
fn enumeration_finds_the_listed_basic_solutions() {
    for record in records(&SMALL) {
        let p = &record.problem;
        if record.basic_solutions.is_empty() || p.rows() > 10 || !p.laws.iter().all(|&l| l == Law::UNILATERAL) {
            continue;
        }
        let tolerance = 1e-9 * p.bias.amax().max(1e-300);
        let Some((found, _)) = enumerate::all_solutions(p, tolerance) else { continue };
        for listed in &record.basic_solutions {
            let size = listed.amax().max(1.0);
            assert!(found.iter().any(|z| (z - listed).amax() <= 1e-6 * size), "{}: {listed}", p.name);
        }
    }
}

#[test]
fn problems_survive_writing_and_reading() {
    for record in records(&["artisynth", "nimble", "siconos_mlcp", "siconos_fc2d", "robot_ant"]) {
        if record.problem.rows() > LARGEST {
            continue;
        }
        let mut text = Vec::new();
        write(&record.problem, record.reference.as_ref(), &mut text).unwrap();
        let again = read_text(&String::from_utf8(text).unwrap(), "memory").unwrap().remove(0);
        assert_eq!(again.problem, record.problem);
        assert_eq!(again.reference, record.reference);
    }
}
