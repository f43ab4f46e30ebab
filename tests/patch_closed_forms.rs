//! Line and surface contact against closed forms: sliding, spinning, tipping, rolling of single bodies.

use delassus::ecp::{Body, Contact, Convex, Ground, Guess, Mncp, Shape, State, Stepper};
use delassus::lcp::{Law, Problem, SolveSettings, SolveStatus, Solver, solve};
use nalgebra::{DMatrix, DVector, UnitQuaternion, Vector3, Vector6};
use std::f64::consts::PI;

const G: f64 = 9.8;
/// A plate so thin that the moment of friction about the centre of mass hardly shifts the pressure, m.
const THIN: f64 = 1e-9;

fn stepper(body: Body, friction: f64, ellipsoid: [f64; 3], dt: f64) -> Stepper {
    Stepper { body, ground: Ground { friction, ellipsoid }, gravity: Vector3::new(0.0, 0.0, -G), dt }
}

fn plate(half: f64, height: f64) -> Body {
    Body::uniform(Shape::Box { half: [half, half, 0.5 * height] }, 2.0)
}

fn disc(radius: f64, height: f64) -> Body {
    Body::uniform(Shape::Cylinder { radius, half_length: 0.5 * height }, 2.0)
}

fn force(x: f64, y: f64, moment: [f64; 3]) -> Vector6<f64> {
    Vector6::new(x, y, 0.0, moment[0], moment[1], moment[2])
}

type Step = fn(&Stepper, &State, &Vector6<f64>) -> delassus::Result<(State, Contact)>;

/// Both kinds of step, `count` times under a constant wrench (N, N·m).
fn run(stepper: &Stepper, start: State, wrench: Vector6<f64>, count: usize) -> [(State, Contact); 2] {
    let step: [Step; 2] = [Stepper::implicit, Stepper::linearised];
    step.map(|step| {
        let mut last = step(stepper, &start, &(wrench * stepper.dt)).unwrap();
        for _ in 1..count {
            last = step(stepper, &last.0, &(wrench * stepper.dt)).unwrap();
        }
        last
    })
}

/// Backward Euler of a thin patch that slides and spins:
///
/// ```text
/// v' (1 + h μ g / S) = v,   w' (1 + h μ g m e_r² / (I S)) = w,   S = √(v'² + e_r² w'²)
/// ```
fn thin_patch(mut v: f64, mut w: f64, [h, mu, e_r, kappa]: [f64; 4], count: usize) -> (f64, f64) {
    for _ in 0..count {
        // S by bisection: S − √(…) rises with S
        let (mut low, mut high) = (0.0, v.hypot(e_r * w));
        let at = |s: f64| {
            let a = h * mu * G / s;
            (v / (1.0 + a), w / (1.0 + a / kappa))
        };
        for _ in 0..200 {
            let s = 0.5 * (low + high);
            let (v, w) = at(s);
            if s < v.hypot(e_r * w) { low = s } else { high = s }
        }
        (v, w) = at(high);
    }
    (v, w)
}

#[test]
fn a_thin_patch_spins_and_slides_by_its_recursion() {
    for (body, e_r) in [(plate(0.5, THIN), 0.3826), (disc(0.5, THIN), 1.0 / 3.0)] {
        let kappa = body.inertia[2] / (body.mass * e_r * e_r);
        let (h, mu) = (0.005, 0.3);
        let stepper = stepper(body, mu, [1.0, 1.0, e_r], h);
        let mut start = State::at([0.0, 0.0, 0.5 * THIN]);
        start.velocity.x = 2.0;
        start.angular_velocity.z = 6.0;
        for count in [20, 80, 120] {
            let (v, w) = thin_patch(2.0, 6.0, [h, mu, e_r, kappa], count);
            for (state, _) in run(&stepper, start, Vector6::zeros(), count) {
                assert!((state.velocity.norm() - v).abs() < 1e-6, "{count}: {} {v}", state.velocity.norm());
                assert!((state.angular_velocity.z - w).abs() < 1e-6, "{count}: {} {w}", state.angular_velocity.z);
            }
        }
        // the law itself, v/v₀ = (w/w₀)^κ, which the recursion tends to with the step
        let (fine, count) = (h / 64.0, 80 * 64);
        let (v, w) = thin_patch(2.0, 6.0, [fine, mu, e_r, kappa], count);
        assert!((v / 2.0 - (w / 6.0).powf(kappa)).abs() < 1e-3, "{v} {w}");
    }
}

/// The mean distance of a square's points from its centre, sides 1 m, and that of a disc, radius 1 m: what torsion under
/// uniform pressure is, in units of μ N.
fn mean_distances() -> (f64, f64) {
    let n = 2000;
    let x = |i: usize| (i as f64 + 0.5) / n as f64 - 0.5;
    let sum: f64 = (0..n).flat_map(|i| (0..n).map(move |j| x(i).hypot(x(j)))).sum();
    (sum / (n * n) as f64, 2.0 / 3.0)
}

#[test]
fn spin_slows_as_friction_under_uniform_pressure_says() {
    let (square, round) = mean_distances();
    assert!((square - 0.3826).abs() < 1e-4);
    for (body, e_r, exact) in [(plate(0.5, 0.2), 0.3826, square), (disc(0.5, 0.2), 1.0 / 3.0, 0.5 * round)] {
        let stepper = stepper(body, 0.4, [1.0, 1.0, e_r], 0.01);
        let mut start = State::at([0.0, 0.0, 0.1]);
        start.angular_velocity.z = 20.0;
        let count = 50;
        for (state, contact) in run(&stepper, start, Vector6::zeros(), count) {
            let rate = (20.0 - state.angular_velocity.z) / (count as f64 * stepper.dt);
            // μ m g e_r / I
            let expected = 0.4 * body.mass * G * exact / body.inertia[2];
            assert!((rate / expected - 1.0).abs() < 1e-3, "{rate} {expected}");
            assert!(contact.arm.xy().norm() < 1e-12 && state.velocity.norm() < 1e-12);
        }
    }
}

#[test]
fn four_points_under_a_plate_resist_spin_too_much() {
    // a plate that spins about its centre: four points at its corners, each with a quarter of the weight
    let (half, mass, mu, dt) = (0.5, 2.0, 0.4, 0.01);
    let inertia = plate(half, THIN).inertia[2];
    let corners = [[-half, -half], [half, -half], [half, half], [-half, half]];
    // rows of z, x, y at each corner by (v, ω_z): the plate cannot tilt
    let rows: Vec<[f64; 4]> =
        corners.iter().flat_map(|[x, y]| [[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, -y], [0.0, 1.0, 0.0, *x]]).collect();
    let inverse = [1.0 / mass, 1.0 / mass, 1.0 / mass, 1.0 / inertia];
    let spin = 20.0;
    let free = [0.0, 0.0, -G * dt, spin];
    let dot = |a: &[f64; 4], b: &[f64; 4]| (0..4).map(|k| a[k] * b[k]).sum::<f64>();
    let weighted = |a: &[f64; 4]| -> [f64; 4] { std::array::from_fn(|k| a[k] * inverse[k]) };
    let problem = Problem {
        name: "four points".into(),
        delassus: DMatrix::from_fn(12, 12, |i, j| dot(&weighted(&rows[i]), &rows[j])),
        bias: DVector::from_fn(12, |i, _| dot(&rows[i], &free)),
        laws: vec![Law::Cone { friction: mu, dimension: 3 }; 4],
    };
    let solution = solve(&problem, Solver::Auto, &SolveSettings::default(), None);
    assert_eq!(solution.status, SolveStatus::Solved);
    let turned: f64 = (0..12).map(|i| rows[i][3] * solution.impulse[i]).sum::<f64>() / inertia;
    let lever = -turned * inertia / (mu * mass * G * dt);
    assert!((lever - 0.5f64.sqrt()).abs() < 1e-6, "{lever} instead of {}", mean_distances().0);
}

/// Whether a body that is pushed by `share` of what should tip it has turned after half a second.
fn tips(body: Body, height: f64, rest: f64, heading: f64, yaw: f64, lever: f64, share: f64) -> [bool; 2] {
    // m g r = F z
    let critical = body.mass * G * lever / height;
    let stepper = stepper(body, 2.0, [1.0, 1.0, 1.0], 0.01);
    let mut start = State::at([0.0, 0.0, rest]);
    start.orientation = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), yaw);
    let f = share * critical;
    let (x, y) = (f * heading.cos(), f * heading.sin());
    let above = height - rest;
    run(&stepper, start, force(x, y, [-above * y, above * x, 0.0]), 50).map(|(state, _)| {
        let lean = (state.orientation * Vector3::z()).xy().norm();
        assert!(!(1e-9..=1e-5).contains(&lean), "{lean:e} is neither");
        lean > 1e-5
    })
}

#[test]
fn bodies_tip_at_the_exact_force_at_any_heading() {
    for k in 0..12 {
        let heading = 2.0 * PI * f64::from(k) / 12.0 + 0.1;
        let yaw = 0.37 * f64::from(k);
        // to the side of a square of side 0.6 m along the heading
        let (c, s) = ((heading - yaw).cos().abs(), (heading - yaw).sin().abs());
        let tower = Body::uniform(Shape::Box { half: [0.3, 0.3, 0.8] }, 3.0);
        assert_eq!(tips(tower, 1.2, 0.8, heading, yaw, 0.3 / c.max(s), 0.999), [false; 2], "box, heading {heading}");
        assert_eq!(tips(tower, 1.2, 0.8, heading, yaw, 0.3 / c.max(s), 1.001), [true; 2], "box, heading {heading}");
        let drum = Body::uniform(Shape::Cylinder { radius: 0.2, half_length: 0.5 }, 3.0);
        assert_eq!(tips(drum, 0.8, 0.5, heading, yaw, 0.2, 0.999), [false; 2], "cylinder, heading {heading}");
        assert_eq!(tips(drum, 0.8, 0.5, heading, yaw, 0.2, 1.001), [true; 2], "cylinder, heading {heading}");
    }
}

#[test]
fn a_sphere_slips_into_rolling() {
    let radius = 0.3;
    let body = Body::uniform(Shape::Sphere { radius }, 1.5);
    let (mu, dt, v) = (0.2, 0.001, 2.0);
    let stepper = stepper(body, mu, [1.0, 1.0, 0.0], dt);
    let mut start = State::at([0.0, 0.0, radius]);
    start.velocity.x = v;
    // 2 v / 7 μ g
    let until = 2.0 * v / (7.0 * mu * G);
    let before = (until / dt) as usize - 1;
    for (state, contact) in run(&stepper, start, Vector6::zeros(), before) {
        assert!((state.velocity.x - (v - mu * G * before as f64 * dt)).abs() < 1e-11, "it slips");
        assert!((contact.friction_impulse[0] + mu * contact.normal_impulse).abs() < 1e-13);
    }
    for (state, _) in run(&stepper, start, Vector6::zeros(), before + 100) {
        assert!((state.velocity.x - 5.0 / 7.0 * v).abs() < 1e-11, "{}", state.velocity.x);
        assert!((state.angular_velocity.y * radius - state.velocity.x).abs() < 1e-11, "it rolls");
    }
}

#[test]
fn a_cylinder_on_its_side_presses_along_a_line() {
    // pushed down at one end: the ECP moves along the line, as far as the end
    let body = Body::uniform(Shape::Cylinder { radius: 0.2, half_length: 0.5 }, 2.0);
    let stepper = stepper(body, 0.5, [1.0, 1.0, 0.3], 0.01);
    let mut start = State::at([0.0, 0.0, 0.2]);
    start.orientation = UnitQuaternion::from_axis_angle(&Vector3::y_axis(), 0.5 * PI);
    for share in [0.0, 0.5, 0.99] {
        let weight = body.mass * G;
        let wrench = force(0.0, 0.0, [0.0, share * weight * 0.5, 0.0]);
        for (state, contact) in run(&stepper, start, wrench, 20) {
            assert!((contact.arm - Vector3::new(share * 0.5, 0.0, -0.2)).norm() < 1e-9, "{:?}", contact.arm);
            assert!((contact.normal_impulse - weight * 0.01).abs() < 1e-12);
            assert!(state.velocity.norm() < 1e-10 && state.angular_velocity.norm() < 1e-10);
        }
    }
}

#[test]
fn the_ellipsoid_gives_way_along_the_tangents_while_it_spins() {
    // on a slope below the angle of friction a spinning box creeps; without spin it stays
    let (slope, mu) = (0.35f64, 0.5);
    let mut stepper = stepper(Body::uniform(Shape::Box { half: [0.3, 0.3, 0.2] }, 1.0), mu, [1.0, 1.0, 0.2], 0.005);
    stepper.gravity = Vector3::new(G * slope.sin(), 0.0, -G * slope.cos());
    let mut start = State::at([0.0, 0.0, 0.2]);
    for (state, _) in run(&stepper, start, Vector6::zeros(), 40) {
        assert!(state.position.x.abs() < 1e-12, "{}", state.position.x);
    }
    start.angular_velocity.z = 5.0;
    for (state, _) in run(&stepper, start, Vector6::zeros(), 10) {
        assert!(state.velocity.x > 1e-3, "{}", state.velocity.x);
    }
}

#[test]
fn free_flight_and_landing() {
    let stepper = stepper(plate(0.5, 0.2), 0.5, [1.0, 1.0, 0.38], 0.01);
    let mut start = State::at([0.0, 0.0, 1.0]);
    start.orientation = UnitQuaternion::from_euler_angles(0.4, 0.3, 0.0);
    for (state, contact) in run(&stepper, start, Vector6::zeros(), 10) {
        assert_eq!(contact.normal_impulse, 0.0);
        // implicit Euler: v = −g t, z = z₀ − g h² k (k + 1)/2
        assert!((state.velocity.z + G * 0.1).abs() < 1e-14);
        assert!((state.position.z - (1.0 - G * 1e-4 * 55.0)).abs() < 1e-14);
    }
    let [(state, contact), _] = run(&stepper, start, Vector6::zeros(), 300);
    assert!((state.position.z - 0.1).abs() < 1e-12 && state.velocity.norm() < 1e-10, "{state:?}");
    assert!((contact.normal_impulse - 2.0 * G * 0.01).abs() < 1e-11);
    assert!(stepper.penetration(&state) < 1e-14);
}

#[test]
fn a_fixed_function_of_the_table_is_not_trusted() {
    // the paper's equations with k the side of a table while the box lies on its top
    let stepper = stepper(Body::uniform(Shape::Box { half: [0.2, 0.15, 0.1] }, 1.0), 0.1, [1.0, 1.0, 0.1], 0.005);
    let table = [
        Convex::HalfSpace { normal: [1.0, 0.0, 0.0], offset: 0.0 },
        Convex::HalfSpace { normal: [0.0, 0.0, 1.0], offset: 0.0 },
    ];
    let state = State::at([-0.5, 0.0, 0.1]);
    let guess = Guess {
        velocity: Vector6::new(0.0, 0.0, -G * 0.005, 0.0, 0.0, 0.0),
        impulse: [0.0; 4],
        point: Vector3::new(-0.5, 0.0, 0.0),
    };
    let mncp = Mncp { stepper: &stepper, fixed: &table };
    let solution = mncp.solve(&state, &Vector6::zeros(), &[guess]).unwrap();
    assert!((solution.contact.normal_impulse - G * 0.005).abs() < 1e-10, "{solution:?}");
    assert!(solution.state.velocity.norm() < 1e-10, "it stays on the table");
    assert!(mncp.residual(&state, &Vector6::zeros(), &solution.unknowns, 1).unwrap() < 1e-9);
}

#[test]
fn tumbling_bodies_move_as_the_papers_equations_say() {
    let plane = [Convex::HalfSpace { normal: [0.0, 0.0, 1.0], offset: 0.0 }];
    for seed in 0..18u32 {
        let x = |k: u32| (f64::from(seed) * 12.9898 + f64::from(k) * 78.233).sin();
        let shape = match seed % 3 {
            0 => Shape::Box { half: [0.2 + 0.1 * x(1), 0.2 + 0.1 * x(2), 0.3 + 0.2 * x(3)] },
            1 => Shape::Cylinder { radius: 0.2 + 0.1 * x(1), half_length: 0.3 + 0.25 * x(2) },
            _ => Shape::Sphere { radius: 0.3 },
        };
        let friction = [0.0, 0.2, 0.6, 1.2][seed as usize / 3 % 4];
        let stepper = stepper(Body::uniform(shape, 2.0), friction, [1.0, 1.0, 0.15], 0.01);
        let mut state = State::at([0.0, 0.0, 0.8]);
        state.orientation = UnitQuaternion::from_euler_angles(3.0 * x(4), 3.0 * x(5), 3.0 * x(6));
        state.velocity = Vector3::new(2.0 * x(7), 2.0 * x(8), x(9));
        state.angular_velocity = Vector3::new(6.0 * x(10), 6.0 * x(11), 6.0 * x(12));
        let mncp = Mncp { stepper: &stepper, fixed: &plane };
        let none = Vector6::zeros();
        for k in 0..250 {
            let (end, contact) = stepper.implicit(&state, &none).unwrap_or_else(|e| panic!("{seed} {k}: {e}"));
            assert!(stepper.penetration(&end) < 1e-14, "{seed} {k}");
            if k % 4 == 0 && contact.normal_impulse > 0.0 {
                let (near, contact) = stepper.linearised(&state, &none).unwrap();
                let judge = mncp.solve(&state, &none, &[Guess::of(&near, &contact)]);
                let judge = judge.unwrap_or_else(|e| panic!("{seed} {k}: {e}"));
                let off = (judge.state.velocity - end.velocity).amax();
                assert!(off < 1e-6, "{seed} {k}: {off:e}");
            }
            state = end;
        }
    }
}

#[test]
fn wrong_input_is_an_error() {
    let good = stepper(plate(0.5, 0.2), 0.5, [1.0, 1.0, 0.38], 0.01);
    let start = State::at([0.0, 0.0, 0.1]);
    let none = Vector6::zeros();
    assert!(good.implicit(&start, &none).is_ok());
    let refused = |stepper: Stepper, state: &State, applied: &Vector6<f64>, word: &str| {
        let mncp = Mncp { stepper: &stepper, fixed: &[Convex::HalfSpace { normal: [0.0, 0.0, 1.0], offset: 0.0 }] };
        let errors = [
            stepper.implicit(state, applied).map(|_| ()),
            stepper.linearised(state, applied).map(|_| ()),
            mncp.solve(state, applied, &[]).map(|_| ()),
        ];
        for result in errors {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
    };
    let nan = f64::NAN;
    refused(Stepper { dt: 0.0, ..good }, &start, &none, "dt");
    refused(Stepper { dt: nan, ..good }, &start, &none, "dt");
    refused(Stepper { ground: Ground { friction: -1.0, ..good.ground }, ..good }, &start, &none, "ground");
    refused(Stepper { ground: Ground { ellipsoid: [1.0, nan, 1.0], ..good.ground }, ..good }, &start, &none, "ground");
    refused(Stepper { gravity: Vector3::new(0.0, nan, 0.0), ..good }, &start, &none, "gravity");
    refused(Stepper { body: Body { mass: 0.0, ..good.body }, ..good }, &start, &none, "mass");
    refused(Stepper { body: Body { inertia: [1.0, 0.0, 1.0], ..good.body }, ..good }, &start, &none, "inertia");
    let flat = Shape::Box { half: [0.5, 0.5, 0.0] };
    refused(Stepper { body: Body { shape: flat, ..good.body }, ..good }, &start, &none, "shape");
    let mut lost = start;
    lost.velocity.x = nan;
    refused(good, &lost, &none, "finite");
    refused(good, &start, &Vector6::new(0.0, 0.0, f64::INFINITY, 0.0, 0.0, 0.0), "finite");
    // nothing to start from
    let plane = [Convex::HalfSpace { normal: [0.0, 0.0, 1.0], offset: 0.0 }];
    assert!(Mncp { stepper: &good, fixed: &plane }.solve(&start, &none, &[]).is_err());
    assert!(Mncp { stepper: &good, fixed: &[] }.solve(&start, &none, &[]).is_err());
}
