//! Degenerate problems through every solver: a right answer or a right status, no panic, no NaN.

use delassus::lcp::stewart_trinkle::{StewartTrinkle, StewartTrinkleSettings};
use delassus::lcp::{Law, Problem, SolveSettings, SolveStatus, Solver, file, natural_map_residual, solve, verify};
use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;

/// Solves with every solver and checks what always holds; returns those that solved.
fn with_all(problem: &Problem) -> Vec<Solver> {
    let settings = SolveSettings { tolerance: 1e-9, iterations: 400, ..SolveSettings::default() };
    let mut solved = Vec::new();
    for solver in Solver::ALL {
        let solution = solve(problem, solver, &settings, None);
        assert_eq!(solution.impulse.len(), problem.rows(), "{solver}");
        assert!(solution.impulse.iter().all(|x| x.is_finite()), "{solver}: {solution:?}");
        if solution.status == SolveStatus::Solved {
            assert!(solution.residual <= settings.tolerance, "{solver}");
            assert_eq!(solution.residual, natural_map_residual(problem, &solution.impulse), "{solver}");
            solved.push(solver);
        }
    }
    solved
}

fn problem(delassus: DMatrix<f64>, bias: &[f64], laws: Vec<Law>) -> Problem {
    Problem { name: "degenerate".into(), delassus, bias: DVector::from_row_slice(bias), laws }
}

fn contact(friction: f64) -> Law {
    Law::Cone { friction, dimension: 3 }
}

fn status(problem: &Problem, solver: Solver) -> SolveStatus {
    solve(problem, solver, &SolveSettings::default(), None).status
}

#[test]
fn nothing_is_solved_by_everyone() {
    let empty = problem(DMatrix::zeros(0, 0), &[], vec![]);
    assert_eq!(with_all(&empty).len(), Solver::ALL.len());
}

#[test]
fn malformed_problems_are_refused_by_everyone() {
    let w = DMatrix::identity(2, 2);
    let cases = [
        (vec![Law::Interval { lower: 1.0, upper: 0.0 }, Law::UNILATERAL], SolveStatus::InvalidProblem),
        (vec![Law::UNILATERAL, Law::Friction { normal: 1, friction: 0.5 }], SolveStatus::InvalidProblem),
        (vec![Law::UNILATERAL, Law::Friction { normal: 9, friction: 0.5 }], SolveStatus::InvalidProblem),
        (vec![Law::UNILATERAL, Law::Friction { normal: 0, friction: f64::NAN }], SolveStatus::InvalidProblem),
        (vec![Law::UNILATERAL], SolveStatus::InvalidProblem),
        (vec![contact(0.5)], SolveStatus::InvalidProblem),
        (vec![Law::Interval { lower: f64::NAN, upper: 0.0 }, Law::UNILATERAL], SolveStatus::InvalidProblem),
    ];
    for (laws, expected) in cases {
        let p = problem(w.clone(), &[1.0, 1.0], laws);
        assert!(p.validate().is_err());
        for solver in Solver::ALL {
            assert_eq!(status(&p, solver), expected, "{solver} {:?}", p.laws);
        }
    }
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut in_matrix = problem(w.clone(), &[1.0, 1.0], vec![Law::UNILATERAL; 2]);
        in_matrix.delassus[(1, 0)] = bad;
        let in_bias = problem(w.clone(), &[1.0, bad], vec![Law::UNILATERAL; 2]);
        for solver in Solver::ALL {
            assert_eq!(status(&in_matrix, solver), SolveStatus::NotFinite, "{solver}");
            assert_eq!(status(&in_bias, solver), SolveStatus::NotFinite, "{solver}");
        }
    }
}

#[test]
fn zero_rows_are_solved_or_hopeless() {
    // w = b: solved by nothing where b obeys the laws, by nobody where it does not
    let zero = DMatrix::zeros(3, 3);
    assert_eq!(with_all(&problem(zero.clone(), &[1.0, 0.0, 2.0], vec![Law::UNILATERAL; 3])).len(), 11 + 1);
    assert!(with_all(&problem(zero.clone(), &[1.0, -1.0, 2.0], vec![Law::UNILATERAL; 3])).is_empty());
    assert!(with_all(&problem(zero.clone(), &[-1.0, 0.0, 0.0], vec![contact(0.5)])).is_empty());
    let separating = with_all(&problem(zero, &[1.0, 0.0, 0.0], vec![contact(0.5)]));
    assert!(separating.len() >= 7, "{separating:?}");
}

#[test]
fn a_contact_given_four_times() {
    // one body of 1 kg, the same contact four times: W = 1 1ᵀ blocks of rank 3
    for friction in [0.0, 0.5, 10.0] {
        let j = DMatrix::from_fn(12, 3, |i, k| f64::from(u8::from(i % 3 == k)));
        let bias: Vec<f64> = [-1.0, 0.7, -0.2].into_iter().cycle().take(12).collect();
        let p = problem(&j * j.transpose(), &bias, vec![contact(friction); 4]);
        let solved = with_all(&p);
        for solver in [Solver::Auto, Solver::TwoPhase, Solver::Newton, Solver::Nsgs, Solver::Pgs, Solver::Admm] {
            assert!(solved.contains(&solver), "{solver}, friction {friction}");
        }
    }
}

#[test]
fn a_mass_ratio_of_a_million() {
    // 1 g under 1000 kg: floor-small and small-big contacts along z, with friction
    let (small, big) = (1e-3, 1e3);
    let j = DMatrix::from_fn(6, 6, |i, k| match (i / 3, k / 3) {
        (0, 0) | (1, 1) => f64::from(u8::from(i % 3 == k % 3)),
        (1, 0) => -f64::from(u8::from(i % 3 == k % 3)),
        _ => 0.0,
    });
    let inverse = DMatrix::from_fn(6, 6, |i, k| if i == k { 1.0 / if i < 3 { small } else { big } } else { 0.0 });
    let w = &j * inverse * j.transpose();
    let p = problem(w.clone(), &[-0.0981, 0.1, 0.0, -0.0981, -0.05, 0.02], vec![contact(0.5); 2]);
    let solved = with_all(&p);
    for solver in [Solver::Auto, Solver::TwoPhase, Solver::Newton] {
        assert!(solved.contains(&solver), "{solver}");
    }
    let normals = problem(w.select_rows(&[0, 3]).select_columns(&[0, 3]), &[-0.0981; 2], vec![Law::UNILATERAL; 2]);
    let solved = with_all(&normals);
    for solver in [Solver::Auto, Solver::Lemke, Solver::Dantzig, Solver::Enumerate, Solver::Newton] {
        assert!(solved.contains(&solver), "{solver}");
    }
}

#[test]
fn mixed_laws_as_a_rollout_makes_them() {
    for seed in 0..40 {
        let x = |k: usize| (f64::from(seed) * 12.9898 + k as f64 * 78.233).sin();
        let rank = [8, 5][seed as usize % 2];
        let j = DMatrix::from_fn(10, rank, |i, k| x(31 * i + k));
        let b = &j * DVector::from_fn(rank, |k, _| x(900 + k));
        let laws = vec![
            contact(0.8),
            contact(0.3),
            Law::UNILATERAL,
            Law::Interval { lower: f64::NEG_INFINITY, upper: 0.0 },
            Law::Interval { lower: -0.05, upper: 0.05 },
            Law::BILATERAL,
        ];
        let p = problem(&j * j.transpose(), b.as_slice(), laws);
        assert_eq!(status(&p, Solver::Auto), SolveStatus::Solved, "seed {seed}");
        with_all(&p);
    }
}

#[test]
fn a_negative_or_missing_diagonal_does_no_harm() {
    // saddle point: a bilateral multiplier without diagonal; z = (-1, -1)
    let w = DMatrix::from_row_slice(2, 2, &[1.0, -1.0, 1.0, 0.0]);
    let p = problem(w, &[0.0, 1.0], vec![Law::BILATERAL; 2]);
    let solved = with_all(&p);
    assert!(solved.contains(&Solver::Auto) && solved.contains(&Solver::Lemke), "{solved:?}");
    let indefinite = problem(DMatrix::from_row_slice(1, 1, &[-1.0]), &[1.0], vec![Law::UNILATERAL]);
    assert!(with_all(&indefinite).contains(&Solver::Auto));
}

#[test]
fn a_bad_warm_start_is_ignored() {
    let p = problem(DMatrix::identity(3, 3), &[-1.0, 3.0, 0.0], vec![contact(0.5)]);
    for warm in [vec![f64::NAN; 3], vec![1.0; 2], vec![1e308; 3], vec![-1e9; 3]] {
        let warm = DVector::from_vec(warm);
        for solver in [Solver::Auto, Solver::TwoPhase, Solver::Newton, Solver::Nsgs] {
            let solution = solve(&p, solver, &SolveSettings::default(), Some(&warm));
            assert_eq!(solution.status, SolveStatus::Solved, "{solver} {warm}");
        }
    }
}

/// A sliding rod on its end (Painlevé 1895): with enough friction the acceleration problem has no or two solutions; the
/// time-stepping problem has one, and an impulse, whichever way the rod slides.
#[test]
fn the_painleve_rod_gets_an_impulse() {
    let (mass, half) = (1.0, 1.0);
    let inertia = mass * half * half / 3.0;
    for degrees in [10.0_f64, 30.0, 45.0, 60.0, 80.0] {
        let (sin, cos) = degrees.to_radians().sin_cos();
        // contact seen from the centre: (-cos, -sin) half
        let w = DMatrix::from_row_slice(
            2,
            2,
            &[
                1.0 / mass + half * half * cos * cos / inertia,
                -half * half * sin * cos / inertia,
                -half * half * sin * cos / inertia,
                1.0 / mass + half * half * sin * sin / inertia,
            ],
        );
        for friction in [0.5, 2.0, 10.0] {
            for slide in [1.0, -1.0] {
                let p = problem(w.clone(), &[-0.1, slide], vec![Law::Cone { friction, dimension: 2 }]);
                // Newton alone may stay in a wedged mode
                for solver in [Solver::Auto, Solver::TwoPhase, Solver::Nsgs] {
                    let solution = solve(&p, solver, &SolveSettings::default(), None);
                    assert_eq!(solution.status, SolveStatus::Solved, "{solver} {degrees} {friction} {slide}");
                    assert!(solution.impulse[0] > 0.0);
                }
            }
        }
    }
}

/// Random contacts of any rank, friction 0 to 10, mixed with joint limits, motors and bilateral rows: `auto` solves.
/// Blocks of `examples/models/ant.xml` in f64 with legs at their limits and feet wedged between them, each with the
/// impulse that Newton was left with, 1e-8 m/s from solving it.
fn wedged() -> Vec<file::Record> {
    file::read_text(include_str!("problems/wedged_ant.jsonl"), "wedged_ant.jsonl").unwrap()
}

#[test]
fn auto_solves_what_newton_is_wedged_in() {
    for record in wedged() {
        let given = record.reference.as_ref().unwrap();
        let settings = SolveSettings { tolerance: 5e-11, iterations: 200, ..Default::default() };
        let solution = solve(&record.problem, Solver::Auto, &settings, Some(given));
        assert_eq!(solution.status, SolveStatus::Solved, "{}: {:.1e}", record.problem.name, solution.residual);
    }
}

/// Position problems of boxes that stand on each other askew (f64), where rounds of Newton had ended above the tolerance.
#[test]
fn the_interior_leads_past_traps_of_newton() {
    let stacked = file::read_text(include_str!("problems/stacked_boxes.jsonl"), "stacked_boxes.jsonl").unwrap();
    assert_eq!(stacked.len(), 4);
    let settings = SolveSettings { tolerance: 5e-11, iterations: 200, ..Default::default() };
    for record in stacked {
        let p = &record.problem;
        for solver in [Solver::TwoPhase, Solver::Newton, Solver::Nsgs] {
            assert_eq!(status(p, solver), SolveStatus::IterationLimit, "{solver} solves {} now", p.name);
        }
        let zero = DVector::zeros(p.rows());
        for (solver, start) in [(Solver::Interior, None), (Solver::Auto, None), (Solver::Auto, Some(&zero))] {
            let solution = solve(p, solver, &settings, start);
            assert_eq!(solution.status, SolveStatus::Solved, "{solver} on {}: {:.1e}", p.name, solution.residual);
        }
        // little of the 30 million that a world may spend in a step
        assert!(solve(p, Solver::Interior, &settings, None).work < 400_000, "{}", p.name);
    }
}

#[test]
fn the_judge_solves_the_round_cone() {
    for record in wedged() {
        let v = verify::exact(&record.problem, record.reference.as_ref().unwrap()).unwrap();
        assert_eq!(v.status, SolveStatus::Solved);
        // a polyhedral answer is 1e-5 m/s and more off the round cone here
        assert!(v.lemke_residual < v.residual, "{}: {v:?}", record.problem.name);
        let told = record.problem.name.contains("unconfirmed");
        assert!(!told || v.lemke_residual < 1e-10, "{}: {v:?}", record.problem.name);
    }
}

#[test]
fn auto_solves_random_problems() {
    let mut failed = Vec::new();
    for seed in 0..1500 {
        let x = |k: usize| (f64::from(seed) * 12.9898 + k as f64 * 78.233).sin();
        let contacts = 1 + seed as usize % 6;
        let extra = [0, 0, 4][seed as usize % 3];
        let n = 3 * contacts + extra;
        let rank = [n + 2, 6, 9, n / 2 + 1][(seed / 6) as usize % 4];
        let scale = |i: usize| [1.0, 30.0, 1e-2][(i / 3 + seed as usize) % 3];
        let j = DMatrix::from_fn(n, rank, |i, k| x(31 * i + k) * scale(i));
        let mut bias = &j * DVector::from_fn(rank, |k, _| x(5000 + k));
        for c in 0..contacts {
            // some gaps are open
            bias[3 * c] += scale(3 * c) * x(6000 + c).max(0.0);
        }
        let friction = [0.0, 0.3, 1.0, 3.0, 10.0][(seed / 24) as usize % 5];
        let mut laws = vec![contact(friction); contacts];
        let others = [
            Law::UNILATERAL,
            Law::Interval { lower: f64::NEG_INFINITY, upper: 0.0 },
            Law::Interval { lower: -0.1, upper: 0.2 },
            Law::BILATERAL,
        ];
        laws.extend(&others[..extra]);
        let p = problem(&j * j.transpose(), bias.as_slice(), laws);
        let settings = SolveSettings { tolerance: 1e-9 * p.bias.amax(), ..SolveSettings::default() };
        let solution = solve(&p, Solver::Auto, &settings, None);
        if solution.status != SolveStatus::Solved {
            failed.push(format!(
                "seed {seed} n {n} rank {rank} mu {friction}: {} {:.1e}",
                solution.status, solution.residual
            ));
        }
    }
    assert!(failed.is_empty(), "{} failed: {failed:#?}", failed.len());
}

/// The same with box friction, whose normals may also be bounded.
#[test]
fn auto_solves_random_boxes() {
    let mut failed = Vec::new();
    for seed in 0..1500 {
        let x = |k: usize| (f64::from(seed) * 12.9898 + k as f64 * 78.233).sin();
        let contacts = 1 + seed as usize % 5;
        let n = 3 * contacts + 2;
        let rank = [n + 1, 6, n / 2 + 1][(seed / 5) as usize % 3];
        let j = DMatrix::from_fn(n, rank, |i, k| x(31 * i + k));
        let bias = &j * DVector::from_fn(rank, |k, _| x(5000 + k));
        let friction = [0.0, 0.3, 1.0, 3.0, 10.0][(seed / 15) as usize % 5];
        let normal_law = [Law::UNILATERAL, Law::Interval { lower: 0.0, upper: 0.5 }][(seed / 75) as usize % 2];
        let mut laws = vec![Law::Interval { lower: -0.1, upper: 0.2 }, Law::BILATERAL];
        for c in 0..contacts {
            let side = Law::Friction { normal: 2 + 3 * c, friction };
            laws.extend([normal_law, side, side]);
        }
        let p = problem(&j * j.transpose(), bias.as_slice(), laws);
        let settings = SolveSettings { tolerance: 1e-9 * p.bias.amax(), ..SolveSettings::default() };
        let solution = solve(&p, Solver::Auto, &settings, None);
        if solution.status != SolveStatus::Solved {
            failed.push(format!(
                "seed {seed} n {n} rank {rank} mu {friction}: {} {:.1e}",
                solution.status, solution.residual
            ));
        }
    }
    assert!(failed.is_empty(), "{} failed: {failed:#?}", failed.len());
}

/// `polyhedron(4)` along ±t1, ±t2 is box friction on axes turned by 45° with μ/√2; so box friction is the polyhedron
/// turned by 45° with √2 μ. Both forms through different solvers, a thousand blocks, any rank.
#[test]
fn a_polyhedron_is_a_turned_box() {
    let settings = SolveSettings { tolerance: 1e-11, iterations: 20_000, ..SolveSettings::default() };
    let (mut compared, mut different) = (0, 0);
    for seed in 0..1000 {
        let x = |k: usize| (f64::from(seed) * 12.9898 + k as f64 * 78.233).sin();
        let contacts = 1 + seed as usize % 4;
        let rank = [3 * contacts + 1, 6, 5][seed as usize % 3];
        let j = DMatrix::from_fn(3 * contacts, rank, |i, k| x(31 * i + k));
        let bias = &j * DVector::from_fn(rank, |k, _| x(5000 + k));
        let w = &j * j.transpose();
        let friction = 0.1 + 0.1 * (seed % 5) as f64;
        let cones = problem(w.clone(), bias.as_slice(), vec![contact(friction * 2f64.sqrt()); contacts]);
        let turned = StewartTrinkleSettings {
            rotations: vec![std::f64::consts::FRAC_PI_4; contacts],
            ..StewartTrinkleSettings::default()
        };
        let form = StewartTrinkle::new(&cones, &turned).unwrap();
        let polyhedral = solve(&form.problem("st"), Solver::Lemke, &settings, None);
        assert_eq!(polyhedral.status, SolveStatus::Solved, "seed {seed}");
        let laws = (0..contacts)
            .flat_map(|c| {
                let side = Law::Friction { normal: 3 * c, friction };
                [Law::UNILATERAL, side, side]
            })
            .collect();
        let boxes = problem(w, bias.as_slice(), laws);
        // the same impulse solves the box problem
        let impulse = form.impulse(&polyhedral.impulse);
        assert!(natural_map_residual(&boxes, &impulse) < 1e-9, "seed {seed}");
        // and a solver of boxes finds the same motion
        let boxed = solve(&boxes, Solver::Auto, &settings, None);
        assert_eq!(boxed.status, SolveStatus::Solved, "seed {seed}");
        let difference = (boxes.velocity(&impulse) - boxes.velocity(&boxed.impulse)).amax();
        compared += 1;
        different += usize::from(difference > 1e-9);
    }
    println!("{different} of {compared} blocks have another motion (friction is not associated)");
    assert!(different <= 10, "{different} of {compared}");
}

/// A number that is often special.
fn special() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -2.0..2.0,
        1 => Just(0.0),
        1 => Just(1.0),
        1 => Just(1e6),
        1 => Just(1e-6),
        1 => prop_oneof![Just(1e-320), Just(-1e-200), Just(1e200), Just(f64::MAX)],
    ]
}

fn law(rows: usize) -> impl Strategy<Value = Law> {
    prop_oneof![
        Just(Law::UNILATERAL),
        Just(Law::BILATERAL),
        (special(), special()).prop_map(|(a, b)| Law::Interval { lower: a.min(b), upper: a.max(b) }),
        (special(), any::<bool>()).prop_map(|(a, side)| {
            if side {
                Law::Interval { lower: a, upper: f64::INFINITY }
            } else {
                Law::Interval { lower: f64::NEG_INFINITY, upper: a }
            }
        }),
        (0..rows, prop_oneof![Just(0.0), Just(0.5), Just(10.0)])
            .prop_map(|(normal, friction)| Law::Friction { normal, friction }),
        (prop_oneof![Just(0.0), Just(0.5), Just(10.0)], 2..4usize)
            .prop_map(|(friction, dimension)| Law::Cone { friction, dimension }),
    ]
}

fn any_problem() -> impl Strategy<Value = Problem> {
    prop::collection::vec(law(6), 0..4).prop_flat_map(|laws| {
        let n: usize = laws.iter().map(Law::rows).sum();
        let entries = prop::collection::vec(special(), n * n);
        (Just(laws), entries, prop::collection::vec(special(), n), any::<bool>()).prop_map(
            move |(laws, entries, bias, symmetric)| {
                let a = DMatrix::from_row_slice(n, n, &entries);
                let delassus = if symmetric { &a * a.transpose() } else { a };
                Problem { name: "any".into(), delassus, bias: DVector::from_vec(bias), laws }
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_problem_breaks_a_solver(problem in any_problem()) {
        let solved = with_all(&problem);
        prop_assert!(problem.validate().is_ok() || solved.is_empty());
    }

    #[test]
    fn no_text_breaks_the_reader(text in "\\PC{0,200}", cut in 0..400usize, insert in "[0-9eE.,\\[\\]{}\":null-]{0,6}") {
        let _ = file::read_text(&text, "fuzz");
        let good = r#"{"format":"delassus-lcp/1","name":"x","kind":"blcp_findex","n":2,"M":{"fmt":"coo","rows":2,"cols":2,"i":[0,1],"j":[0,1],"v":[1.0,2.0]},"q":[-1,0.5],"lo":[0,-1],"hi":[null,1],"findex":[-1,0],"solution":{"z":[1,0]},"solvable":true}"#;
        let at = cut.min(good.len());
        let _ = file::read_text(&format!("{}{insert}{}", &good[..at], &good[at..]), "fuzz");
        let _ = file::read_text(&format!("{}{insert}", &good[..at]), "fuzz");
    }
}
