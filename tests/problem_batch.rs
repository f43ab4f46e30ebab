//! Contact problems solved as one batch, on the CPU and on a device, judged by their own residuals.

mod common;
#[path = "common/random.rs"]
mod random;

use common::data;
use delassus::lane::{F32x16, F64x8, Level, Pack};
use delassus::lcp::file::read_file;
use delassus::lcp::{Law, Problem, Solution, SolveStatus, natural_map_residual, relative_residual};
use delassus::solver::{FrictionLaw, SolveSettings, solve_cpu, solve_problems};
use delassus::{Error, lcp};
use nalgebra::{DMatrix, DVector};
use random::Random;

fn on_cpu<R: Pack>(problems: &[Problem], settings: &SolveSettings) -> Vec<Solution> {
    solve_problems::<R>(problems, settings, |batch, settings| solve_cpu(batch, Level::detect(), settings)).unwrap()
}

#[cfg(feature = "gpu")]
fn on_device(problems: &[Problem], settings: &SolveSettings) -> Option<Vec<Solution>> {
    use delassus::gpu::{DeviceChoice, Gpu};
    use delassus::solver::{Which, polish};
    let mut gpu = match Gpu::new(&DeviceChoice::Any) {
        Ok(gpu) => gpu,
        Err(error) => {
            common::no_adapter(&error);
            return None;
        }
    };
    println!("on {}", gpu.info().name);
    let solved = solve_problems(problems, settings, |batch, settings| {
        gpu.solve(batch, settings)?;
        if settings.uses_newton() {
            // what sweeps leave; the position problem is the same one, and goes on from the answer
            polish(batch, Level::detect(), settings, Which::Velocity)?;
            for group in &mut batch.groups {
                group.position_impulse.copy_from_slice(&group.impulse);
                group.position_report.copy_from_slice(&group.report);
            }
            polish(batch, Level::detect(), settings, Which::Position)?;
        }
        Ok(())
    });
    Some(solved.unwrap())
}

#[cfg(not(feature = "gpu"))]
fn on_device(_: &[Problem], _: &SolveSettings) -> Option<Vec<Solution>> {
    None
}

fn settings(tolerance: f64, law: FrictionLaw) -> SolveSettings {
    SolveSettings { tolerance, iterations: 20_000, law, ..SolveSettings::default() }
}

/// Says how well each was solved, and checks that status and residual tell the truth.
fn worst(name: &str, problems: &[Problem], solutions: &[Solution], tolerance: f64) -> f64 {
    let mut worst = 0.0f64;
    for (problem, solution) in problems.iter().zip(solutions) {
        assert_eq!(solution.residual, natural_map_residual(problem, &solution.impulse));
        let relative = relative_residual(problem, &solution.impulse);
        assert_eq!(solution.status == SolveStatus::Solved, relative <= tolerance, "{}", problem.name);
        worst = worst.max(relative);
    }
    let solved = solutions.iter().filter(|s| s.status == SolveStatus::Solved).count();
    let most = solutions.iter().map(|s| s.iterations).max().unwrap_or(0);
    println!("{name}: {solved} of {} solved, worst residual {worst:.1e}, most sweeps {most}", problems.len());
    worst
}

fn set(name: &str) -> Option<Vec<Problem>> {
    let path = data()?.join("lcp").join(name);
    Some(read_file(path).unwrap().into_iter().map(|record| record.problem).collect())
}

#[test]
fn a_set_of_robots_on_four_feet_is_one_batch() {
    let Some(problems) = set("set_quad4.jsonl") else { return };
    let double = on_cpu::<F64x8>(&problems, &settings(1e-9, FrictionLaw::Cone));
    assert!(worst("f64", &problems, &double, 1e-9) <= 1e-9);
    let single = on_cpu::<F32x16>(&problems, &settings(1e-5, FrictionLaw::Cone));
    assert!(worst("f32", &problems, &single, 1e-5) <= 1e-5);
    if let Some(device) = on_device(&problems, &settings(1e-5, FrictionLaw::Cone)) {
        assert!(worst("device", &problems, &device, 1e-5) <= 1e-5);
        for (device, single) in device.iter().zip(&single) {
            let size = 1.0 + single.impulse.amax();
            assert!((&device.impulse - &single.impulse).amax() < 1e-2 * size, "{} {}", device.impulse, single.impulse);
        }
    }
}

#[test]
fn planar_contacts_fit_with_a_tangent_that_nothing_moves() {
    let Some(problems) = set("siconos_fc2d.jsonl") else { return };
    let solutions = on_cpu::<F64x8>(&problems, &settings(1e-8, FrictionLaw::Cone));
    assert!(worst("fc2d", &problems, &solutions, 1e-8) <= 1e-8);
}

impl Random {
    /// W = s (G Gᵀ + 0.3), b = t times uniform numbers.
    fn problem(&mut self, name: &str, laws: Vec<Law>, s: f64, t: f64) -> Problem {
        let n = laws.iter().map(Law::rows).sum();
        let g = DMatrix::from_fn(n, n, |_, _| self.next() / (n as f64).sqrt());
        let delassus = (&g * g.transpose() + DMatrix::identity(n, n) * 0.3) * s;
        Problem { name: name.into(), delassus, bias: DVector::from_fn(n, |_, _| self.next() * t), laws }
    }
}

fn cone(dimension: usize) -> Law {
    Law::Cone { friction: 0.6, dimension }
}

fn friction(normal: usize) -> Law {
    Law::Friction { normal, friction: 0.6 }
}

#[test]
fn any_order_of_rows_and_any_scale_fits() {
    let mut random = Random(7);
    let bounded = Law::Interval { lower: -0.3, upper: 0.2 };
    let cones = [
        vec![cone(3), cone(3), Law::BILATERAL],
        vec![Law::UNILATERAL, cone(3), bounded, cone(2), Law::BILATERAL, cone(3)],
        vec![Law::UNILATERAL; 7],
        vec![],
    ];
    let boxes = [
        vec![Law::UNILATERAL, friction(0), friction(0), Law::UNILATERAL, friction(3), bounded],
        // Normals first, tangents after, as ODE lays them out; one tangent; a normal without friction.
        vec![friction(1), Law::UNILATERAL, Law::UNILATERAL, Law::UNILATERAL, friction(3), friction(1), Law::BILATERAL],
        vec![Law::UNILATERAL; 5],
    ];
    for (law, kinds) in [(FrictionLaw::Cone, cones.to_vec()), (FrictionLaw::Box, boxes.to_vec())] {
        let mut problems = Vec::new();
        for k in 0..120 {
            // Impulses of 1e-9 to 1e9 N·s, far from what f32 sees as 1.
            let (s, t) = ([1.0, 1e-4, 1e5][k % 3], [1.0, 1e4, 1e-3][k / 3 % 3]);
            problems.push(random.problem(&format!("{k}"), kinds[k % kinds.len()].clone(), s, t));
        }
        let double = on_cpu::<F64x8>(&problems, &settings(1e-10, law));
        assert!(worst("f64", &problems, &double, 1e-10) <= 1e-10);
        let single = on_cpu::<F32x16>(&problems, &settings(1e-5, law));
        assert!(worst("f32", &problems, &single, 1e-5) <= 1e-5);
        if let Some(device) = on_device(&problems, &settings(1e-5, law)) {
            assert!(worst("device", &problems, &device, 1e-5) <= 1e-5);
        }
        // Solutions of these regular problems are unique where there is no friction.
        for (problem, solution) in
            problems.iter().zip(&double).filter(|(p, _)| p.laws == vec![Law::UNILATERAL; p.rows()])
        {
            let exact = lcp::solve(
                problem,
                lcp::Solver::Lemke,
                &lcp::SolveSettings { tolerance: 1e-6, ..Default::default() },
                None,
            );
            let size = exact.impulse.amax();
            assert!((&exact.impulse - &solution.impulse).amax() <= 1e-8 * size, "{}", problem.name);
        }
    }
}

#[test]
fn what_a_batch_cannot_hold_is_refused() {
    let mut random = Random(3);
    let refused = |problem: Problem, law| {
        let error = solve_problems::<f64>(&[problem], &settings(1e-6, law), |_, _| Ok(())).unwrap_err();
        println!("{error}");
        assert!(matches!(error, Error::Unsupported(_)));
    };
    refused(random.problem("cone", vec![cone(3)], 1.0, 1.0), FrictionLaw::Box);
    refused(random.problem("box", vec![Law::UNILATERAL, friction(0)], 1.0, 1.0), FrictionLaw::Cone);
    let three = vec![Law::UNILATERAL, friction(0), friction(0), friction(0)];
    refused(random.problem("three tangents", three, 1.0, 1.0), FrictionLaw::Box);
    let other = vec![Law::UNILATERAL, friction(0), Law::Friction { normal: 0, friction: 0.1 }];
    refused(random.problem("two coefficients", other, 1.0, 1.0), FrictionLaw::Box);
    let pulling = vec![Law::BILATERAL, friction(0)];
    refused(random.problem("bilateral normal", pulling, 1.0, 1.0), FrictionLaw::Box);
    let mut invalid = random.problem("NaN", vec![Law::UNILATERAL], 1.0, 1.0);
    invalid.bias[0] = f64::NAN;
    assert!(solve_problems::<f64>(&[invalid], &settings(1e-6, FrictionLaw::Cone), |_, _| Ok(())).is_err());
    // What the backend says counts for nothing.
    let problem = random.problem("untouched", vec![Law::UNILATERAL], 1.0, 1.0);
    let problem = Problem { bias: DVector::from_element(1, -1.0), ..problem };
    let left = solve_problems::<f64>(&[problem], &settings(1e-6, FrictionLaw::Cone), |_, _| Ok(())).unwrap();
    assert_eq!(left[0].status, SolveStatus::IterationLimit);
    let overflow = |batch: &mut delassus::solver::Batch<f64>, _: &SolveSettings| {
        batch.groups[0].position_impulse[0] = f64::NAN;
        Ok(())
    };
    let problem = random.problem("not finite", vec![Law::UNILATERAL], 1.0, 1.0);
    let left = solve_problems::<f64>(&[problem], &settings(1e-6, FrictionLaw::Cone), overflow).unwrap();
    assert_eq!((left[0].status, left[0].impulse[0]), (SolveStatus::NotFinite, 0.0));
}

#[test]
fn the_patch_problems_of_the_data_are_one_batch() {
    let Some(folder) = data() else { return };
    let problems: Vec<Problem> =
        read_file(folder.join("patch/problems.jsonl")).unwrap().into_iter().map(|record| record.problem).collect();
    // relative to the gap speed of the vertices that a patch lacks, 1e3 m/s
    let residual = |problem: &Problem, solution: &Solution| natural_map_residual(problem, &solution.impulse);
    let auto = |tolerance: f64| SolveSettings {
        algorithm: delassus::solver::Algorithm::Auto,
        iterations: 200,
        ..settings(tolerance, FrictionLaw::Patch)
    };
    let check = |name: &str, solutions: &[Solution], wanted: f64| {
        let each = problems.iter().zip(solutions).map(|(problem, solution)| residual(problem, solution));
        let (worst, unsolved) = each.fold((0.0f64, 0), |(w, n), r| (w.max(r), n + usize::from(r > wanted)));
        for (problem, solution) in problems.iter().zip(solutions).filter(|(p, s)| residual(p, s) > wanted) {
            println!("{name}: {}: {:.1e} m/s after {}", problem.name, residual(problem, solution), solution.iterations);
        }
        println!("{name}: {} problems, worst {worst:.1e} m/s, {unsolved} above {wanted:e}", problems.len());
        assert_eq!(unsolved, 0, "{name}");
    };
    check("f64", &on_cpu::<F64x8>(&problems, &auto(5e-14)), 1e-10);
    check("f32", &on_cpu::<F32x16>(&problems, &auto(5e-9)), 1e-5);
    if let Some(solutions) = on_device(&problems, &auto(5e-9)) {
        check("device", &solutions, 1e-5);
    }
}
