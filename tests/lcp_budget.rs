//! Solvers keep to their budget, and what is cut short says so. Here, and not beside `lcp::solve`, because unit tests are not optimised.

use delassus::lcp::{Law, Problem, SolveSettings, SolveStatus, Solver, natural_map_residual, solve};
use nalgebra::{DMatrix, DVector};

/// `contacts` contacts of bodies with `freedoms` degrees of freedom that move: rank-deficient as a stack is.
fn stack(contacts: usize, freedoms: usize) -> Problem {
    let x = |k: usize| (k as f64 * 78.233 + 1.0).sin();
    let j = DMatrix::from_fn(3 * contacts, freedoms, |i, k| x(131 * i + k));
    Problem {
        name: "stack".into(),
        delassus: &j * j.transpose(),
        bias: &j * DVector::from_fn(freedoms, |k, _| x(7 * k)),
        laws: vec![Law::Cone { friction: 0.7, dimension: 3 }; contacts],
    }
}

/// A body that walls on both sides push out: every answer leaves them 1 m/s each.
fn squeezed(walls: usize) -> Problem {
    let sides = DVector::from_fn(walls, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 });
    Problem::standard("squeezed", &sides * sides.transpose(), DVector::from_element(walls, -1.0))
}

#[test]
fn what_cannot_be_solved_ends_within_the_budget() {
    for problem in [stack(60, 40), stack(6, 9), squeezed(40), squeezed(400)] {
        let n = problem.rows();
        for limit in [0, 10_000, 300_000, 10_000_000] {
            for solver in Solver::ALL.into_iter().filter(|s| s.supports(&problem)) {
                // a residual of zero is beyond rounding: nothing ends early
                let settings = SolveSettings { tolerance: 0.0, work: Some(limit), ..SolveSettings::default() };
                let solution = solve(&problem, solver, &settings, None);
                let what = format!("{} rows, budget {limit}, {solver}: {} spent", n, solution.work);
                assert_eq!(solution.residual, natural_map_residual(&problem, &solution.impulse), "{what}");
                // the end of a step (a sweep with exact contacts is the longest) and the certificates of some answers
                assert!(solution.work <= limit + 20 * (n * n) as u64 + 3000 * n as u64, "{what}");
                let cut = [SolveStatus::IterationLimit, SolveStatus::Solved].contains(&solution.status);
                assert!(cut || solution.work <= limit, "{what}: {}", solution.status);
                assert_eq!(solution, solve(&problem, solver, &settings, None), "{what}");
            }
        }
    }
}

#[test]
fn a_generous_budget_changes_nothing() {
    for problem in [stack(12, 20), stack(3, 9), squeezed(8)] {
        for solver in Solver::ALL.into_iter().filter(|s| s.supports(&problem)) {
            let free = solve(&problem, solver, &SolveSettings::default(), None);
            let settings = SolveSettings { work: Some(1 << 50), ..SolveSettings::default() };
            assert_eq!(solve(&problem, solver, &settings, None), free, "{} rows, {solver}", problem.rows());
            assert!(free.work > 0);
        }
    }
    let solved = solve(&stack(12, 20), Solver::Auto, &SolveSettings::default(), None);
    assert_eq!(solved.status, SolveStatus::Solved);
}

#[test]
fn numbers_that_are_not_finite_come_back_at_once() {
    let mut problem = stack(100, 60);
    problem.delassus[(7, 11)] = f64::NAN;
    let mut infinite = stack(100, 60);
    infinite.bias[3] = f64::INFINITY;
    for problem in [problem, infinite] {
        for solver in Solver::ALL {
            let solution = solve(&problem, solver, &SolveSettings::default(), None);
            assert_eq!((solution.status, solution.work), (SolveStatus::NotFinite, 0), "{solver}");
        }
    }
}
