//! Contact problems with patches: those of `shared/data/patch/problems.jsonl`, random ones, and the degenerate.
//!
//! The data lie where `DELASSUS_DATA` says, or in `../shared/data` beside the sources; without them the tests that need them say that they check nothing, and pass.

mod common;

use common::data;
use delassus::lcp::file::{Record, read_file, read_text, write};
use delassus::lcp::patch::{Patch, solve_rounded};
use delassus::lcp::residual::{
    complementarity_residual, cone_violation, fischer_burmeister_residual, friction_dissipation,
};
use delassus::lcp::{
    Law, Problem, Solution, SolveSettings, SolveStatus, Solver, natural_map_residual, rounding_floor, solve,
};
use nalgebra::{DMatrix, DVector, Matrix3, UnitQuaternion, Vector3};

/// What a solver in f64 must reach, m/s.
const TOLERANCE: f64 = 1e-10;
/// In f32, m/s.
const TOLERANCE_F32: f64 = 1e-5;
const TREATED: [Solver; 3] = [Solver::Auto, Solver::Newton, Solver::Nsgs];

fn records() -> Vec<Record> {
    let Some(folder) = data() else { return Vec::new() };
    let records = read_file(folder.join("patch/problems.jsonl")).unwrap();
    assert!(!records.is_empty());
    records
}

fn solved(problem: &Problem, solver: Solver) -> Solution {
    solve(problem, solver, &SolveSettings { tolerance: TOLERANCE, ..SolveSettings::default() }, None)
}

/// The sum of the normal impulses of each patch with its pressure centre, which is unique where single impulses are not.
fn pressures(problem: &Problem, z: &DVector<f64>) -> Vec<(f64, [f64; 2])> {
    let mut row = 0;
    let each = problem.laws.iter().map(|law| {
        let Law::Patch(patch) = law else { panic!("only patches") };
        let block = delassus::lcp::patch::ellipsoid::Friction::<f64>::new(row, patch);
        row += law.rows();
        let pressure = block.pressure(z.as_slice());
        (pressure.sum, pressure.centre)
    });
    each.collect()
}

#[test]
fn auto_solves_all_of_the_data() {
    for Record { problem, reference, kind, .. } in records() {
        let name = &problem.name;
        assert_eq!(kind, "patch");
        let reference = reference.unwrap();
        assert!(natural_map_residual(&problem, &reference) <= TOLERANCE, "{name}: the reference");
        let solution = solved(&problem, Solver::Auto);
        assert_eq!(solution.status, SolveStatus::Solved, "{name}: {:e}", solution.residual);
        assert_eq!(solution.residual, natural_map_residual(&problem, &solution.impulse));
        // the same motion, and the same pressure, to what 1e-10 m/s leaves at mass ratios of 1000
        let off = (problem.velocity(&solution.impulse) - problem.velocity(&reference)).amax();
        assert!(off <= 1e-9, "{name}: {off:e}");
        for (ours, theirs) in pressures(&problem, &solution.impulse).into_iter().zip(pressures(&problem, &reference)) {
            assert!((ours.0 - theirs.0).abs() <= 1e-8 * (1.0 + theirs.0), "{name}: {ours:?} {theirs:?}");
            if theirs.0 > 1e-3 {
                let off = (ours.1[0] - theirs.1[0]).abs().max((ours.1[1] - theirs.1[1]).abs());
                assert!(off <= 1e-6, "{name}: {ours:?} {theirs:?}");
            }
        }
        assert!(fischer_burmeister_residual(&problem, &solution.impulse) <= 10.0 * TOLERANCE, "{name}");
        let scale = 1.0
            + solution.impulse.amax() * problem.bias.iter().filter(|b| **b < 999.0).fold(0.0, |m, b| b.abs().max(m));
        assert!(complementarity_residual(&problem, &solution.impulse) <= 1e-9 * scale, "{name}");
        assert!(cone_violation(&problem, &solution.impulse) <= 1e-9 * scale, "{name}");
        assert!(
            friction_dissipation(&problem, &solution.impulse).iter().all(|&power| power >= -1e-9 * scale),
            "{name}"
        );
    }
}

#[test]
fn sweeps_solve_what_is_not_heavy_on_top() {
    for Record { problem, .. } in records().into_iter().filter(|r| !r.problem.name.contains("heavy")) {
        for solver in [Solver::Newton, Solver::Nsgs] {
            let solution = solved(&problem, solver);
            assert_eq!(solution.status, SolveStatus::Solved, "{} {solver}: {:e}", problem.name, solution.residual);
        }
    }
}

#[test]
fn single_precision_solves_all_of_the_data() {
    for Record { problem, .. } in records() {
        let rounded = solve_rounded::<f32>(&problem, TOLERANCE_F32);
        assert!(rounded.residual <= TOLERANCE_F32, "{}: {:e}", problem.name, rounded.residual);
        let residual = natural_map_residual(&problem, &rounded.impulse);
        assert!(residual <= TOLERANCE_F32, "{}: {residual:e} on the problem itself", problem.name);
    }
}

#[test]
fn the_data_survive_being_written() {
    for Record { problem, reference, .. } in records() {
        let mut text = Vec::new();
        write(&problem, reference.as_ref(), &mut text).unwrap();
        let read = read_text(&String::from_utf8(text).unwrap(), "written").unwrap().remove(0);
        assert_eq!((read.kind.as_str(), &read.problem, &read.reference), ("patch", &problem, &reference));
    }
}

/// A number in [-1, 1) for each seed and k.
fn random(seed: usize, k: usize) -> f64 {
    let x = (seed as f64 * 12.9898 + k as f64 * 78.233).sin() * 43758.5453;
    2.0 * (x - x.floor()) - 1.0
}

/// The rows of a patch at `r` from the centre of mass of one body: force, and moment about it.
fn rows(patch: &Patch, r: Vector3<f64>, axes: &UnitQuaternion<f64>) -> Vec<(Vector3<f64>, Vector3<f64>)> {
    use delassus::lcp::patch::Support;
    let [t, o, n] = [Vector3::x(), Vector3::y(), Vector3::z()].map(|e| axes * e);
    let at = |f: Vector3<f64>, r: Vector3<f64>| (f, r.cross(&f));
    let mut rows = match patch.support {
        Support::Vertices { count, points } => {
            points[..count].iter().map(|p| at(n, r + t * p[0] + o * p[1])).collect::<Vec<_>>()
        }
        Support::Disc { radius } => {
            vec![at(n, r), (Vector3::zeros(), t.cross(&n) * radius), (Vector3::zeros(), o.cross(&n) * radius)]
        }
    };
    rows.extend([at(t, r), at(o, r), (Vector3::zeros(), n)]);
    rows
}

/// One body of 2 kg that falls and turns onto patches.
fn one_body(name: &str, patches: &[(Patch, Vector3<f64>)], velocity: [f64; 6]) -> Problem {
    let each: Vec<_> = patches.iter().flat_map(|(patch, r)| rows(patch, *r, &UnitQuaternion::identity())).collect();
    let inverse = Matrix3::from_diagonal(&Vector3::new(6.0, 5.0, 4.0));
    let n = each.len();
    let delassus =
        DMatrix::from_fn(n, n, |i, j| each[i].0.dot(&each[j].0) / 2.0 + each[i].1.dot(&(inverse * each[j].1)));
    let [v, w] = [0, 3].map(|k| Vector3::from_column_slice(&velocity[k..k + 3]));
    let bias = DVector::from_fn(n, |i, _| each[i].0.dot(&v) + each[i].1.dot(&w));
    let laws = patches.iter().map(|(patch, _)| Law::Patch(*patch)).collect();
    Problem { name: name.into(), delassus, bias, laws }
}

const BELOW: Vector3<f64> = Vector3::new(0.1, -0.05, -0.3);
const SQUARE: [[f64; 2]; 4] = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]];
const E: [f64; 3] = [1.0, 0.8, 0.3];
const FALLS: [f64; 6] = [1.0, 0.5, -1.0, 0.3, -0.2, 3.0];

fn polygon(friction: f64, ellipsoid: [f64; 3], vertices: &[[f64; 2]]) -> Patch {
    Patch::polygon(friction, ellipsoid, vertices).unwrap()
}

/// Solves with every solver that treats patches; all must agree in velocity. The velocity.
fn agreed(problem: &Problem) -> DVector<f64> {
    let answers = TREATED.map(|solver| {
        let solution = solved(problem, solver);
        assert_eq!(solution.status, SolveStatus::Solved, "{} {solver}: {:e}", problem.name, solution.residual);
        problem.velocity(&solution.impulse)
    });
    for other in &answers[1..] {
        let off = (&answers[0] - other).amax();
        assert!(off <= 1e-8, "{}: {off:e}", problem.name);
    }
    answers[0].clone()
}

#[test]
fn random_stacks_of_patches_end_honestly() {
    let mut unsolved = 0;
    for seed in 0..200 {
        let (bodies, count) = (1 + seed % 3, 1 + (seed / 3) % 4);
        let mut next = {
            let mut k = 0;
            move || {
                k += 1;
                random(seed, k)
            }
        };
        let mut all: Vec<DVector<f64>> = Vec::new();
        let mut laws = Vec::new();
        for p in 0..count {
            let (upper, lower) = (p % bodies, if p >= bodies { (p + 1) % bodies } else { bodies });
            let friction = [0.5, 0.0, 0.1, 1.0][(seed + p) % 4];
            let ellipsoid = [1.0, 0.7, [0.3, 0.0, 1e-3, 10.0][seed % 4]];
            let patch = match (seed / 12) % 4 {
                3 => Patch::disc(friction, ellipsoid, 0.5),
                k => polygon(friction, ellipsoid, &SQUARE[..[4, 2, 1][k]]),
            };
            let r = Vector3::new(next(), next(), next());
            let axes = UnitQuaternion::from_euler_angles(3.0 * next(), 3.0 * next(), 3.0 * next());
            let (above, below) = (rows(&patch, r, &axes), rows(&patch, r + Vector3::new(0.3, 0.1, -0.2), &axes));
            for (a, b) in above.iter().zip(&below) {
                let mut row = DVector::zeros(6 * bodies);
                for (body, sign, (force, moment)) in [(upper, 1.0, a), (lower, -1.0, b)] {
                    if body < bodies {
                        for k in 0..3 {
                            row[6 * body + k] += sign * force[k];
                            row[6 * body + 3 + k] += sign * moment[k];
                        }
                    }
                }
                all.push(row);
            }
            laws.push(Law::Patch(patch));
        }
        let (n, v) = (all.len(), DVector::from_fn(6 * bodies, |_, _| next()));
        let masses: Vec<f64> = (0..bodies).map(|_| 10f64.powf(next())).collect();
        let inverse = DVector::from_fn(6 * bodies, |k, _| if k % 6 < 3 { 1.0 } else { 6.0 } / masses[k / 6]);
        let j = DMatrix::from_fn(n, 6 * bodies, |i, k| all[i][k]);
        let delassus = &j * DMatrix::from_diagonal(&inverse) * j.transpose();
        let problem = Problem { name: format!("random {seed}"), delassus, bias: &j * v, laws };
        let solution = solved(&problem, Solver::Auto);
        let residual = natural_map_residual(&problem, &solution.impulse);
        assert_eq!(solution.residual, residual, "{seed}");
        assert_eq!(solution.status == SolveStatus::Solved, residual <= TOLERANCE, "{seed}");
        unsolved += usize::from(solution.status != SolveStatus::Solved);
    }
    // bodies wedged between faces of any heading: friction up to 1 leaves a few of those unsolved
    assert!(unsolved <= 4, "{unsolved} of 200");
}

/// `count` unit cubes of 1 kg on each other, the top one of `top` kg, that are thrown into disorder.
fn stack(count: usize, top: f64, seed: usize) -> Problem {
    let patch = polygon(0.5, [1.0, 1.0, 0.38], &SQUARE);
    let level = UnitQuaternion::identity();
    let (below, above) = (rows(&patch, Vector3::z() * -0.5, &level), rows(&patch, Vector3::z() * 0.5, &level));
    // patch p is under cube p and on top of cube p - 1
    let j = DMatrix::from_fn(7 * count, 6 * count, |i, k| {
        let (p, row, cube, axis) = (i / 7, i % 7, k / 6, k % 6);
        let part =
            |(force, moment): &(Vector3<f64>, Vector3<f64>)| if axis < 3 { force[axis] } else { moment[axis - 3] };
        match cube {
            _ if cube == p => part(&below[row]),
            _ if cube + 1 == p => -part(&above[row]),
            _ => 0.0,
        }
    });
    let mass = |cube: usize| if cube + 1 == count { top } else { 1.0 };
    let inverse = DVector::from_fn(6 * count, |k, _| if k % 6 < 3 { 1.0 } else { 6.0 } / mass(k / 6));
    let v = DVector::from_fn(6 * count, |k, _| random(seed, k));
    let delassus = &j * DMatrix::from_diagonal(&inverse) * j.transpose();
    let laws = vec![Law::Patch(patch); count];
    Problem { name: format!("{count} cubes, top {top} kg, {seed}"), delassus, bias: &j * v, laws }
}

#[test]
fn stacks_of_cubes_are_solved() {
    for seed in 0..20 {
        for (count, top) in [(2, 1.0), (4, 1.0), (8, 1.0), (4, 0.01), (4, 100.0)] {
            let problem = stack(count, top, seed);
            let solution = solved(&problem, Solver::Auto);
            assert_eq!(solution.status, SolveStatus::Solved, "{}: {:e}", problem.name, solution.residual);
        }
    }
}

#[test]
fn the_floor_says_what_rounding_leaves() {
    let problem = one_body("floor", &[(polygon(0.5, E, &SQUARE), BELOW)], FALLS);
    let mut z = solved(&problem, Solver::Newton).impulse;
    let floor = rounding_floor(&problem, &z);
    assert!(floor > 0.0 && floor < 1e-13, "{floor:e}");
    assert!(natural_map_residual(&problem, &z) <= floor);
    // a wrong impulse in any row is told
    for row in 0..problem.rows() {
        z[row] += 1e-3;
        assert!(natural_map_residual(&problem, &z) > 1e-4, "row {row}");
        assert!(fischer_burmeister_residual(&problem, &z) > 1e-4, "row {row}");
        z[row] -= 1e-3;
    }
    z[0] = f64::NAN;
    assert_eq!(natural_map_residual(&problem, &z), f64::INFINITY);
    assert_eq!(rounding_floor(&problem, &z), f64::INFINITY);
}

#[test]
fn a_point_without_torsion_is_the_cone() {
    for friction in [0.0, 0.2, 0.8] {
        let patch = one_body("point", &[(polygon(friction, [1.0, 1.0, 0.0], &[[0.0; 2]]), BELOW)], FALLS);
        let cone = Problem {
            name: "cone".into(),
            delassus: patch.delassus.view((0, 0), (3, 3)).into_owned(),
            bias: patch.bias.rows(0, 3).into_owned(),
            laws: vec![Law::Cone { friction, dimension: 3 }],
        };
        let ours = agreed(&patch);
        let theirs = cone.velocity(&solved(&cone, Solver::Auto).impulse);
        assert!((ours.rows(0, 3) - theirs).amax() < 1e-9, "friction {friction}");
    }
}

#[test]
fn a_face_without_torsion_and_spin_moves_as_its_pressure_centre() {
    // e_r = 0 and no turning: the friction of one point that carries the whole weight, at the ECP
    let problem = one_body(
        "face",
        &[(polygon(0.3, [1.0, 1.0, 0.0], &SQUARE), Vector3::new(0.0, 0.0, -0.2))],
        [2.0, 0.0, -0.1, 0.0, 0.0, 0.0],
    );
    let z = solved(&problem, Solver::Auto).impulse;
    let [(sum, centre)] = pressures(&problem, &z)[..] else { panic!("one patch") };
    // v_z = 0: N = m v;  no turning: d N = height · f
    assert!((sum - 0.2).abs() < 1e-11 && (z[4] + 0.3 * 0.2).abs() < 1e-11, "{z}");
    assert!((centre[0] - 0.2 * 0.3).abs() < 1e-10 && centre[1].abs() < 1e-10, "{centre:?}");
}

#[test]
fn degenerate_patches_are_solved() {
    let cases: [(&str, Patch); 12] = [
        ("one point", polygon(0.5, E, &[[0.2, 0.1]])),
        ("an edge", polygon(0.5, E, &[[-0.3, 0.0], [0.3, 0.0]])),
        ("collinear", polygon(0.5, E, &[[-0.3, 0.0], [-0.1, 0.0], [0.1, 0.0], [0.3, 0.0]])),
        ("coincident", polygon(0.5, E, &[[0.1, 0.1]; 4])),
        ("of no area", polygon(0.5, E, &[[0.0; 2]; 3])),
        ("a disc of no radius", Patch::disc(0.5, E, 0.0)),
        ("a disc", Patch::disc(0.5, E, 0.4)),
        ("without friction", polygon(0.0, E, &SQUARE)),
        ("without torsion", polygon(0.5, [1.0, 1.0, 0.0], &SQUARE)),
        ("hardly any torsion", polygon(0.5, [1.0, 1.0, 1e-6], &SQUARE)),
        ("without an ellipsoid", polygon(0.5, [0.0; 3], &SQUARE)),
        ("along one tangent only", polygon(0.5, [1.0, 0.0, 0.0], &SQUARE)),
    ];
    for (name, patch) in cases {
        agreed(&one_body(name, &[(patch, BELOW)], FALLS));
        // two of the same: as many rows again, no more freedoms
        let far = BELOW + Vector3::new(0.0, 0.6, 0.0);
        let problem = one_body(name, &[(patch, BELOW), (patch, far)], FALLS);
        for solver in TREATED {
            let solution = solved(&problem, solver);
            assert_eq!(solution.status, SolveStatus::Solved, "{name} {solver}: {:e}", solution.residual);
        }
    }
}

#[test]
fn more_torsion_stops_more_spin() {
    let spin = |e_r: f64| {
        let patch = polygon(0.2, [1.0, 1.0, e_r], &SQUARE);
        let problem = one_body("spin", &[(patch, Vector3::new(0.0, 0.0, -0.3))], [0.5, 0.0, -1.0, 0.0, 0.0, 3.0]);
        // a patch of kilometres is too much for Newton alone
        if e_r <= 100.0 {
            return agreed(&problem)[6];
        }
        let solution = solved(&problem, Solver::Auto);
        assert_eq!(solution.status, SolveStatus::Solved, "{e_r}: {:e}", solution.residual);
        problem.velocity(&solution.impulse)[6]
    };
    let spins = [0.0, 1e-6, 1e-2, 0.1, 0.3, 1.0, 10.0, 1e4].map(spin);
    assert!(spins.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9), "{spins:?}");
    assert!((spins[1] - spins[0]).abs() < 1e-5, "little torsion is nearly none: {spins:?}");
    // what resists spin without limit stops it
    assert!(spins[7].abs() < 1e-6, "{spins:?}");
}

#[test]
fn what_rounding_forbids_is_not_called_solved() {
    // torsion about c rounds by 1e-17 N·m·s, which is 1e-8 N·s in units of this ellipsoid
    let problem = one_body("nearly a point", &[(polygon(0.5, [1.0, 1.0, 1e-9], &SQUARE), BELOW)], FALLS);
    let exact = one_body("a point", &[(polygon(0.5, [1.0, 1.0, 0.0], &SQUARE), BELOW)], FALLS);
    for solver in TREATED {
        let solution = solved(&problem, solver);
        assert_eq!(solution.status == SolveStatus::Solved, solution.residual <= TOLERANCE, "{solver}");
        assert!(solution.residual <= rounding_floor(&problem, &solution.impulse), "{solver}: {:e}", solution.residual);
        let off = problem.velocity(&solution.impulse) - exact.velocity(&solved(&exact, solver).impulse);
        assert!(off.amax() < 1e-7, "{solver}: {:e}", off.amax());
    }
}

#[test]
fn laws_mix_in_one_problem() {
    let square = one_body("mixed", &[(polygon(0.5, E, &SQUARE), BELOW)], FALLS);
    let mut problem = square.clone();
    // the same body held by a row along x, a point of another kind and a motor
    let n = square.rows();
    problem.laws.extend([
        Law::BILATERAL,
        Law::Interval { lower: -0.1, upper: 0.1 },
        Law::Friction { normal: n, friction: 0.3 },
    ]);
    let x = |k: usize| (k as f64 * 78.233 + 1.0).sin();
    let j = DMatrix::from_fn(n + 3, 6, |i, k| x(31 * i + k));
    problem.delassus = &j * j.transpose();
    problem.bias = &j * DVector::from_fn(6, |k, _| x(7 * k));
    let solution = solved(&problem, Solver::Auto);
    assert_eq!(solution.status, SolveStatus::Solved, "{:e}", solution.residual);
    let mut text = Vec::new();
    write(&problem, None, &mut text).unwrap();
    assert_eq!(read_text(&String::from_utf8(text).unwrap(), "t").unwrap()[0].problem, problem);
}

#[test]
fn other_solvers_say_that_they_do_not_treat_patches() {
    let problem = one_body("refused", &[(polygon(0.5, E, &SQUARE), BELOW)], FALLS);
    for solver in Solver::ALL.into_iter().filter(|s| !TREATED.contains(s)) {
        assert!(!solver.supports(&problem));
        let why = solver.refusal(&problem).unwrap();
        assert!(why.contains("patches") && why.contains("auto"), "{why}");
        assert_eq!(solve(&problem, solver, &SolveSettings::default(), None).status, SolveStatus::InvalidProblem);
    }
    assert!(TREATED.iter().all(|solver| solver.refusal(&problem).is_none()));
    let error = delassus::lcp::verify::exact(&problem, &DVector::zeros(7)).unwrap_err().to_string();
    assert!(error.contains("patch"), "{error}");
}

#[test]
fn budgets_and_warm_starts() {
    let patches: Vec<_> =
        (0..4).map(|k| (polygon(0.5, E, &SQUARE), BELOW + Vector3::new(0.3, 0.2, 0.1) * f64::from(k))).collect();
    let problem = one_body("budget", &patches, FALLS);
    let n = problem.rows() as u64;
    for solver in TREATED {
        for limit in [0, 10_000, 300_000] {
            let settings = SolveSettings { tolerance: 0.0, work: Some(limit), ..SolveSettings::default() };
            let solution = solve(&problem, solver, &settings, None);
            assert!(solution.work <= limit + 20 * n * n, "{solver}: {} of {limit}", solution.work);
            assert_eq!(solution.residual, natural_map_residual(&problem, &solution.impulse));
        }
        let cold = solved(&problem, solver);
        let warm = solve(
            &problem,
            solver,
            &SolveSettings { tolerance: TOLERANCE, ..SolveSettings::default() },
            Some(&cold.impulse),
        );
        assert_eq!((warm.status, warm.iterations <= 1), (SolveStatus::Solved, true), "{solver}: {}", warm.iterations);
    }
}

#[test]
fn wrong_numbers_are_refused() {
    let good = polygon(0.5, E, &SQUARE);
    let problem = one_body("good", &[(good, BELOW)], FALLS);
    assert!(problem.validate().is_ok());
    let nan = f64::NAN;
    let mut bad = vec![
        ("friction", Patch { friction: nan, ..good }),
        ("friction", Patch { friction: -0.1, ..good }),
        ("half axes", Patch { ellipsoid: [1.0, nan, 1.0], ..good }),
        ("half axes", Patch { ellipsoid: [1.0, 1.0, f64::INFINITY], ..good }),
        ("half axes", Patch { ellipsoid: [1.0, 1.0, -1e-9], ..good }),
        ("vertices", polygon(0.5, E, &[[0.0, nan]; 4])),
    ];
    bad.push((
        "vertices",
        Patch { support: delassus::lcp::patch::Support::Vertices { count: 9, points: [[0.0; 2]; 4] }, ..good },
    ));
    for (word, patch) in bad {
        let problem = Problem { laws: vec![Law::Patch(patch)], ..problem.clone() };
        let Err(error) = problem.validate() else { panic!("{patch:?}") };
        assert!(error.to_string().contains(word) || error.to_string().contains("cover"), "{error}");
        for solver in TREATED {
            assert_eq!(solve(&problem, solver, &SolveSettings::default(), None).status, SolveStatus::InvalidProblem);
        }
    }
    assert!(Patch::polygon(0.5, E, &[]).is_err() && Patch::polygon(0.5, E, &[[0.0; 2]; 5]).is_err());
    let radius = Problem { laws: vec![Law::Patch(Patch::disc(0.5, E, nan)), Law::UNILATERAL], ..problem.clone() };
    assert!(radius.validate().unwrap_err().to_string().contains("radius"));
    for spoil in [|p: &mut Problem| p.delassus[(2, 3)] = f64::NAN, |p: &mut Problem| p.bias[6] = f64::INFINITY] {
        let mut problem = problem.clone();
        spoil(&mut problem);
        for solver in TREATED {
            assert_eq!(solve(&problem, solver, &SolveSettings::default(), None).status, SolveStatus::NotFinite);
        }
    }
    // a warm start that is no number is ignored
    let warm = DVector::from_element(7, nan);
    assert_eq!(solve(&problem, Solver::Auto, &SolveSettings::default(), Some(&warm)).status, SolveStatus::Solved);
}
