//! Contact forces at the acceleration level against closed forms, finite differences, MuJoCo and the velocity level.

mod common;

use common::{data, floats, relative_error, robots};
use delassus::acceleration::{
    AccelerationProblem, ContactKind, RestingContact, contact_forces, resting_contacts, rk4_step,
};
use delassus::dynamics::integrate;
use delassus::lcp::{Problem, SolveSettings, SolveStatus, Solver, solve};
use delassus::query::state_query;
use delassus::{Mask, Model, Precision, Settings, Worlds};
use nalgebra::{Quaternion, UnitQuaternion, Vector3};
use std::sync::Mutex;

const G: f64 = 9.81;
/// Rounding of a few dozen operations on numbers of order 10, and what a body of 1e12 kg gives way.
const EXACT: f64 = 1e-9;
const HEAVY: &str = r#"<inertial pos="0 0 0" mass="1e12" diaginertia="1e12 1e12 1e12"/>"#;
const BEAD: &str = r#"<body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>
                      <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>"#;

fn model(bodies: &str) -> Model {
    let text = format!(
        r#"<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/><default><geom friction="0 0 0"/></default>
           <worldbody>{bodies}</worldbody></mujoco>"#
    );
    Model::from_mjcf_str(&text).unwrap()
}

/// A plate that turns about −y, rising on the side of +x, and a bead of 1 kg without rotation. q = (θ, x, y, z).
fn plate_and_bead() -> Model {
    model(&format!(r#"<body><joint type="hinge" axis="0 -1 0"/>{HEAVY}</body>{BEAD}"#))
}

/// Along the plate and its normal at angle θ; the one's rate is θ̇ times the other, the other's −θ̇ times the one.
fn plate_axes(angle: f64) -> [Vector3<f64>; 2] {
    let (s, c) = angle.sin_cos();
    [Vector3::new(c, 0.0, s), Vector3::new(-s, 0.0, c)]
}

fn bead_on_plate(q: &[f64]) -> RestingContact {
    RestingContact {
        body_a: 1,
        body_b: 2,
        point: Vector3::new(q[1], q[2], q[3]),
        normal: plate_axes(q[0])[1],
        kind: ContactKind::FaceOfA,
    }
}

/// State of the bead at distance `r` from the hinge, moving outwards at `r_dot`.
fn bead_state(angle: f64, rate: f64, r: f64, r_dot: f64) -> ([f64; 4], [f64; 4]) {
    let [along, normal] = plate_axes(angle);
    let (p, u) = (along * r, along * r_dot + normal * (r * rate));
    ([angle, p.x, p.y, p.z], [rate, u.x, u.y, u.z])
}

fn close(name: &str, found: f64, wanted: f64, tolerance: f64) {
    println!("{name}: {found}, wanted {wanted}");
    assert!((found - wanted).abs() <= tolerance * (1.0 + wanted.abs()), "{name}: {found}, wanted {wanted}");
}

/// The error falls by `factor` (within a fifth) at each halving of the step.
fn falls_by(factor: f64, errors: &[f64]) {
    println!("errors {errors:?}, ratios {:?}", errors.windows(2).map(|e| e[0] / e[1]).collect::<Vec<_>>());
    assert!(errors.windows(2).all(|e| (e[0] / e[1] / factor - 1.0).abs() < 0.2), "{errors:?}");
}

#[test]
fn a_bead_on_a_turning_plate_feels_the_coriolis_force() {
    let model = plate_and_bead();
    let (angle, rate, r, r_dot) = (0.4, 2.0, 0.7, 1.5);
    let (q, v) = bead_state(angle, rate, r, r_dot);
    let contact = bead_on_plate(&q);
    let problem = AccelerationProblem::new(&model, &q, &v, &[0.0; 4], &[contact]).unwrap();
    let solution = problem.solve().unwrap();
    // N = m (g cos θ + 2 ω ṙ)
    close("N", solution.forces[0], G * angle.cos() + 2.0 * rate * r_dot, EXACT);
    close("from the turning normal", problem.turning[0], -2.0 * rate * r_dot, EXACT);
    assert!(-problem.turning[0] > 0.6 * G * angle.cos(), "without it N would be wrong by 6 of 15 N");
    // r̈ = ω² r − g sin θ
    let along = plate_axes(angle)[0];
    let acceleration = Vector3::new(solution.v_dot[1], solution.v_dot[2], solution.v_dot[3]);
    // p̈ · e = r̈ − r ω²
    close("r̈ − r ω²", acceleration.dot(&along), -G * angle.sin(), EXACT);
    // The same with the bodies exchanged.
    let swapped =
        RestingContact { body_a: 2, body_b: 1, normal: -contact.normal, kind: ContactKind::FaceOfB, ..contact };
    let other = contact_forces(&model, &q, &v, &[0.0; 4], &[swapped]).unwrap();
    close("exchanged", other.forces[0], solution.forces[0], EXACT);
    // Inwards fast enough, it takes off: N = 0 and a > 0.
    let (q, v) = bead_state(angle, rate, r, -3.0);
    let solution = contact_forces(&model, &q, &v, &[0.0; 4], &[bead_on_plate(&q)]).unwrap();
    assert_eq!(solution.forces[0], 0.0);
    close("a", solution.accelerations[0], -G * angle.cos() + 2.0 * rate * 3.0, EXACT);
}

const BALL_ON_PLATE: &str = r#"
    <body><joint type="hinge" axis="0 -1 0"/><geom type="box" size="5 5 0.5" pos="0 0 -0.5"/>
          <inertial pos="0 0 0" mass="1e12" diaginertia="1e12 1e12 1e12"/></body>
    <body><freejoint/><geom type="sphere" size="0.3"/><inertial pos="0 0 0" mass="2" diaginertia="0.1 0.1 0.1"/></body>"#;

/// State of the ball of radius 0.3 m on the plate.
fn ball_state(angle: f64, rate: f64, s: f64, s_dot: f64, spin: [f64; 3]) -> (Vec<f64>, Vec<f64>) {
    let [along, normal] = plate_axes(angle);
    let c = along * s + normal * 0.3;
    let u = along * (s_dot - 0.3 * rate) + normal * (s * rate);
    (vec![angle, c.x, c.y, c.z, 1.0, 0.0, 0.0, 0.0], vec![rate, u.x, u.y, u.z, spin[0], spin[1], spin[2]])
}

#[test]
fn a_rolling_ball_on_a_turning_plate_presses_as_its_centre_does() {
    let model = model(BALL_ON_PLATE);
    let (angle, rate, s, s_dot) = (0.3, 2.5, 0.4, 0.8);
    // It rolls: the contact point of the ball moves as the plate does.
    for spin in [[0.0; 3], [0.0, s_dot / 0.3 - rate, 0.0], [4.0, -3.0, 7.0]] {
        let (q, v) = ball_state(angle, rate, s, s_dot, spin);
        let contacts = resting_contacts(&model, &q, &v, 1e-9, 1e-9).unwrap();
        assert_eq!(contacts.len(), 1);
        let solution = contact_forces(&model, &q, &v, &[0.0; 7], &contacts).unwrap();
        // N = m (g cos θ + 2 ω ṡ − R ω²)
        let wanted = 2.0 * (G * angle.cos() + 2.0 * rate * s_dot - 0.3 * rate * rate);
        close("N", solution.forces[0], wanted, EXACT);
    }
}

#[test]
fn a_ball_on_a_tilted_platform_that_turns_about_the_vertical() {
    let (tilt, rate, radius, speed) = (0.5f64, 3.0, 0.2, 1.2);
    let n = Vector3::new(tilt.sin(), 0.0, tilt.cos());
    let centre = n * -(radius + 0.5);
    let model = model(&format!(
        r#"<body><joint type="hinge" axis="0 0 1"/><geom type="box" size="5 5 0.5" pos="{} 0 {}" euler="0 {tilt} 0"/>{HEAVY}</body>
           <body><freejoint/><geom type="sphere" size="{radius}"/><inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/></body>"#,
        centre.x, centre.z
    ));
    let q = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    for speed in [speed, -speed] {
        let v = [rate, 0.0, speed, 0.0, 5.0, 0.0, 1.0];
        let contacts = resting_contacts(&model, &q, &v, 1e-9, 1e-9).unwrap();
        let solution = contact_forces(&model, &q, &v, &[0.0; 7], &contacts).unwrap();
        // N = m (g cos α − 2 Ω sin α u)
        close("N", solution.forces[0], (G * tilt.cos() - 2.0 * rate * tilt.sin() * speed).max(0.0), EXACT);
    }
}

#[test]
fn a_box_that_tips_over_its_edge() {
    let (hx, hy, hz, m, tilt, rate) = (0.1, 0.2, 0.3, 1.7, 0.35f64, 2.0);
    let model = model(&format!(
        r#"<geom type="plane" size="5 5 1"/><body><freejoint/><geom type="box" size="{hx} {hy} {hz}" mass="{m}"/></body>"#
    ));
    let (s, c) = tilt.sin_cos();
    // The edge is at (X, −z) from the centre.
    let (x, z) = (hx * c - hz * s, hx * s + hz * c);
    let q = [0.0, 0.0, z, (0.5 * tilt).cos(), 0.0, (0.5 * tilt).sin(), 0.0];
    let v = [0.7, 0.0, rate * x, 0.0, rate, 0.0];
    let contacts = resting_contacts(&model, &q, &v, 1e-9, 1e-9).unwrap();
    assert_eq!(contacts.len(), 2);
    let solution = contact_forces(&model, &q, &v, &[0.0; 6], &contacts).unwrap();
    // m z̈ = N − m g, I φ̈ = −X N, z̈ = X φ̈ − z φ̇²  ⇒  N = (g − z φ̇²) / (1/m + X²/I)
    let inertia = m / 3.0 * (hx * hx + hz * hz);
    close("N", solution.forces.sum(), (G - z * rate * rate) / (1.0 / m + x * x / inertia), EXACT);
    // Faster than 1 mm/s towards the floor is an impact, away from it no contact.
    let moving = |w: f64| resting_contacts(&model, &q, &[0.0, 0.0, w, 0.0, 0.0, 0.0], 1e-9, 1e-3);
    assert!(moving(-0.1).is_err());
    assert_eq!(moving(0.1).unwrap().len(), 0);
}

#[test]
fn a_ball_slides_off_a_ball() {
    let model = model(
        r#"<geom type="sphere" size="1"/>
           <body><freejoint/><geom type="sphere" size="0.5"/><inertial pos="0 0 0" mass="3" diaginertia="1 1 1"/></body>"#,
    );
    let angle = 0.4f64;
    let centre = Vector3::new(angle.sin(), 0.0, angle.cos()) * 1.5;
    for speed in [0.0, 1.0, 3.0, 4.0f64] {
        let u = Vector3::new(angle.cos(), 0.0, -angle.sin()) * speed;
        let q = [centre.x, 0.0, centre.z, 1.0, 0.0, 0.0, 0.0];
        let v = [u.x, 0.0, u.z, 0.0, 9.0, 0.0];
        let contacts = resting_contacts(&model, &q, &v, 1e-9, 1e-9).unwrap();
        let solution = contact_forces(&model, &q, &v, &[0.0; 6], &contacts).unwrap();
        // N = m (g cos θ − u²/L), and none where it flies off
        let wanted = 3.0 * (G * angle.cos() - speed * speed / 1.5);
        close("N", solution.forces[0], wanted.max(0.0), EXACT);
        close("a", solution.accelerations[0], (-wanted / 3.0).max(0.0), EXACT);
    }
}

#[test]
fn two_rods_cross_and_one_turns() {
    let model = model(&format!(r#"<body><joint type="hinge" axis="0 0 1"/>{HEAVY}</body>{BEAD}"#));
    let (tilt, rate, x, x_dot, y_dot) = (0.6f64, 2.0, 0.7, -1.1, 0.3);
    let (s, c) = tilt.sin_cos();
    // ḋ = n · ṗ + ω sin β x = 0
    let v = [rate, x_dot, y_dot, (s * y_dot - rate * s * x) / c];
    let contact = RestingContact {
        body_a: 1,
        body_b: 2,
        point: Vector3::new(x, 0.0, 0.0),
        normal: Vector3::new(0.0, -s, c),
        kind: ContactKind::EdgeEdge { edge_a: Vector3::x() * 3.0, edge_b: Vector3::new(0.0, c, s) },
    };
    let q = [0.0, x, 0.0, 0.0];
    let problem = AccelerationProblem::new(&model, &q, &v, &[0.0; 4], &[contact]).unwrap();
    close("ḋ", (&problem.jacobian * nalgebra::DVector::from_column_slice(&v))[0], 0.0, EXACT);
    // n = e_a × e_b, ṅ = ω sin β x̂:  N = m (g cos β − 2 ω sin β ẋ)
    close("N", problem.solve().unwrap().forces[0], G * c - 2.0 * rate * s * x_dot, EXACT);
    assert!(problem.turning[0].abs() > 0.3 * G * c, "without the turning normal N would be wrong by 2.5 of 10.6 N");
}

#[test]
fn every_kind_is_the_second_derivative_of_its_distance() {
    let model = model(
        r#"<body pos="0.1 0 0.2"><joint type="hinge" axis="0 1 0"/><geom size="0.1" mass="1"/>
             <body pos="0.3 0.1 0.2"><joint type="hinge" axis="1 0 0.5"/><joint type="ball" pos="0.1 0 0"/>
               <geom type="box" size="0.1 0.2 0.3" mass="2"/></body></body>
           <body><freejoint/><geom type="box" size="0.2 0.1 0.3" mass="3"/></body>"#,
    );
    let q = [0.3, -0.4, 0.8, 0.2, -0.4, 0.4, 0.1, 0.2, 0.3, 0.5, 0.5, -0.1, 0.7];
    let v = [1.2, -0.7, 0.9, 2.0, -1.5, 0.4, -0.8, 1.1, 1.9, -1.2, 0.6];
    let tau = [0.5, -1.0, 0.3, 0.2, 0.7, 2.0, -3.0, 1.0, 0.4, -0.2, 0.1];
    let pose = |q: &[f64], body: usize| {
        let state = state_query(&model, q, &v).unwrap();
        let [w, i, j, k] = state.body_quat[body];
        (Vector3::from(state.body_pos[body]), UnitQuaternion::from_quaternion(Quaternion::new(w, i, j, k)))
    };
    // World point → function of the state that moves with the body.
    let fixed = |body: usize, p: Vector3<f64>| {
        let (origin, rotation) = pose(&q, body);
        let local = rotation.inverse() * (p - origin);
        move |q: &[f64]| {
            let (origin, rotation) = pose(q, body);
            origin + rotation * local
        }
    };
    let turning = |body: usize, d: Vector3<f64>| {
        let (origin, turned) = (fixed(body, Vector3::zeros()), fixed(body, d));
        move |q: &[f64]| turned(q) - origin(q)
    };
    let at = |t: f64| {
        let (mut q, mut v) = (q.to_vec(), v.to_vec());
        rk4_step(&model, t, &mut q, &mut v, |_, _| Ok(tau.to_vec()), |_, _| Ok(Vec::new())).unwrap();
        q
    };
    let second = |distance: &dyn Fn(&[f64]) -> f64| {
        let d = |h: f64| (distance(&at(h)) - 2.0 * distance(&q) + distance(&at(-h))) / (h * h);
        (4.0 * d(1e-3) - d(2e-3)) / 3.0
    };
    let point = Vector3::new(0.2, 0.3, 0.4);
    let normal = Vector3::new(0.6, -0.48, 0.64);
    let (edge_a, edge_b) = (Vector3::new(1.0, 0.2, -0.3), Vector3::new(-0.1, 1.5, 0.4));
    let (centre_a, centre_b) = (point, point + normal * 0.25);
    let cross = edge_a.cross(&edge_b).normalize();
    let (pa, pb) = (fixed(2, point), fixed(3, point));
    let (na, nb) = (turning(2, normal), turning(3, normal));
    let (ea, eb) = (turning(2, edge_a), turning(3, edge_b));
    let (ca, cb) = (fixed(2, centre_a), fixed(3, centre_b));
    type Distance<'a> = &'a dyn Fn(&[f64]) -> f64;
    let cases: [(ContactKind, Vector3<f64>, Distance); 5] = [
        (ContactKind::FaceOfA, normal, &|q| na(q).dot(&(pb(q) - pa(q)))),
        (ContactKind::FaceOfB, normal, &|q| nb(q).dot(&(pb(q) - pa(q)))),
        (ContactKind::EdgeEdge { edge_a, edge_b }, cross, &|q| ea(q).cross(&eb(q)).normalize().dot(&(pb(q) - pa(q)))),
        (ContactKind::EdgeEdge { edge_a, edge_b }, -cross, &|q| -ea(q).cross(&eb(q)).normalize().dot(&(pb(q) - pa(q)))),
        (ContactKind::Centres { centre_a, centre_b }, normal, &|q| (cb(q) - ca(q)).norm()),
    ];
    for (kind, normal, distance) in cases {
        let contact = RestingContact { body_a: 2, body_b: 3, point, normal, kind };
        let problem = AccelerationProblem::new(&model, &q, &v, &tau, &[contact]).unwrap();
        close(&format!("{kind:?}"), problem.bias[0], second(distance), 1e-6);
        assert!(problem.turning[0].abs() > 0.3, "{kind:?}: the normal's part is {}", problem.turning[0]);
    }
}

#[test]
fn jacobians_and_their_rates_are_those_of_mujoco() {
    let Some(folder) = data() else { return };
    for (name, model, reference) in robots(&folder) {
        let mut worst = [0.0f64; 2];
        for state in reference["states"].as_array().unwrap() {
            let (q, v) = (floats(&state["qpos"]), floats(&state["qvel"]));
            for (definition, wanted) in
                reference["points_def"].as_array().unwrap().iter().zip(state["points"].as_array().unwrap())
            {
                let body_b = definition["body"].as_u64().unwrap() as usize;
                let point = Vector3::from_column_slice(&floats(&wanted["pos"]));
                let contacts = [Vector3::x(), Vector3::y(), Vector3::z()].map(|normal| RestingContact {
                    body_a: 0,
                    body_b,
                    point,
                    normal,
                    kind: ContactKind::FaceOfA,
                });
                let problem = AccelerationProblem::new(&model, &q, &v, &vec![0.0; model.nv()], &contacts).unwrap();
                // J̇ v = b − J M⁻¹ (τ − c); the world's normals do not turn.
                let rate = &problem.bias - &problem.jacobian * &problem.free_acceleration;
                let jacobian = problem.jacobian.transpose();
                worst[0] = worst[0].max(relative_error(jacobian.as_slice(), &floats(&wanted["jacp"])));
                worst[1] = worst[1].max(relative_error(rate.as_slice(), &floats(&wanted["jacdotp_v"])));
            }
        }
        println!("{name}: J {:.1e}, J̇ v {:.1e}", worst[0], worst[1]);
        // Rounding only, M⁻¹ (τ − c) having been added and taken away again.
        assert!(worst[0] < 1e-12 && worst[1] < 1e-12, "{name}: {worst:?}");
    }
}

#[test]
fn a_block_rests_on_four_corners() {
    let model = model(
        r#"<geom type="plane" size="5 5 1"/><body pos="0 0 0.3"><freejoint/><geom type="box" size="0.1 0.2 0.3" mass="2"/></body>"#,
    );
    let contacts = resting_contacts(&model, &model.q0, &[0.0; 6], 1e-6, 1e-6).unwrap();
    assert_eq!(contacts.len(), 4);
    let problem = AccelerationProblem::new(&model, &model.q0, &[0.0; 6], &[0.0; 6], &contacts).unwrap();
    assert_eq!(problem.matrix, problem.matrix.transpose());
    let eigenvalues = problem.matrix.symmetric_eigenvalues();
    // Four corners, three ways to move: one eigenvalue is zero.
    assert!(eigenvalues.iter().all(|e| *e > -1e-12) && eigenvalues.min().abs() < 1e-12, "{eigenvalues}");
    let solution = problem.solve().unwrap();
    close("sum of the forces", solution.forces.sum(), 2.0 * G, EXACT);
    assert!(solution.forces.iter().all(|f| *f >= 0.0) && solution.v_dot.amax() < 1e-9);
    // Lifted at its centre by more than its weight it leaves.
    let lifted = contact_forces(&model, &model.q0, &[0.0; 6], &[0.0, 0.0, 30.0, 0.0, 0.0, 0.0], &contacts).unwrap();
    assert_eq!(lifted.forces.amax(), 0.0);
    close("a", lifted.accelerations[3], 15.0 - G, EXACT);
}

/// Semi-implicit steps with impulses at the velocity level, J v⁺ ≥ 0, and the last λ/h beside the force at the same state.
fn impulse_and_force(steps: u32) -> [f64; 2] {
    let model = plate_and_bead();
    let (h, mut last) = (0.2 / f64::from(steps), [0.0; 2]);
    let (q, v) = bead_state(0.1, 2.0, 0.5, 1.0);
    let (mut q, mut v) = (q.to_vec(), nalgebra::DVector::from_column_slice(&v));
    for _ in 0..steps {
        let problem = AccelerationProblem::new(&model, &q, v.as_slice(), &[0.0; 4], &[bead_on_plate(&q)]).unwrap();
        let free = &v + h * &problem.free_acceleration;
        // w = W λ + J (v + h M⁻¹ (τ − c))
        let lcp = Problem::standard("step", problem.matrix.clone(), &problem.jacobian * &free);
        let solution = solve(&lcp, Solver::Lemke, &SolveSettings::default(), None);
        assert_eq!(solution.status, SolveStatus::Solved);
        last = [solution.impulse[0] / h, problem.solve().unwrap().forces[0]];
        v = free + &problem.response * &solution.impulse;
        integrate(&model, h, v.as_slice(), &mut q);
    }
    last
}

#[test]
fn impulses_of_small_steps_become_the_forces() {
    let errors = [10, 20, 40, 80].map(|steps| {
        let [impulse, force] = impulse_and_force(steps);
        (impulse - force).abs() / force
    });
    falls_by(2.0, &errors);
    assert!(errors[3] < 0.01);
}

#[test]
fn impulses_of_worlds_become_the_forces() {
    let model = model(BALL_ON_PLATE);
    let errors = [0.01, 0.005, 0.0025, 0.00125].map(|h| {
        let (q, v) = ball_state(0.1, 1.5, 0.3, 0.6, [0.0; 3]);
        let settings =
            Settings { precision: Precision::F64, dt: Some(h), tolerance: Some(1e-12), ..Settings::default() };
        let mut worlds = Worlds::new(&model, 1, settings).unwrap();
        worlds.set_state(Mask::All, &q, &v).unwrap();
        let last = Mutex::new((0, 0.0));
        for step in 1..=(0.2 / h).round() as u32 {
            worlds
                .step_inspected(
                    1,
                    Some(&|record| {
                        if !record.position {
                            *last.lock().unwrap() = (step, record.impulse[0] / h);
                        }
                    }),
                )
                .unwrap();
        }
        let (step, impulse) = *last.lock().unwrap();
        assert_eq!(step, (0.2 / h).round() as u32);
        let (q, v) = worlds.state();
        let contacts = resting_contacts(&model, &q, &v, 1e-3, 0.1).unwrap();
        let force = contact_forces(&model, &q, &v, &[0.0; 7], &contacts).unwrap().forces[0];
        println!("h {h}: λ/h {impulse}, f {force}");
        (impulse - force).abs() / force
    });
    falls_by(2.0, &errors);
}

#[test]
fn rk4_is_of_fourth_order_on_a_turning_plate() {
    let model = plate_and_bead();
    let (rate, r, r_dot, end) = (1.0f64, 0.5, 1.2, 0.5);
    // r̈ = ω² r − g sin ωt  ⇒  r = A cosh ωt + B sinh ωt + g/(2ω²) sin ωt
    let half = 0.5 * G / (rate * rate);
    let wanted = r * (rate * end).cosh() + (r_dot / rate - half) * (rate * end).sinh() + half * (rate * end).sin();
    let mut errors = Vec::new();
    for steps in [4, 8, 16, 32] {
        let (mut q, mut v) = bead_state(0.0, rate, r, r_dot);
        for _ in 0..steps {
            let start = rk4_step(
                &model,
                end / f64::from(steps),
                &mut q,
                &mut v,
                |_, _| Ok(vec![0.0; 4]),
                |q, _| Ok(vec![bead_on_plate(q)]),
            );
            assert!(start.unwrap().forces[0] > 0.0);
        }
        let [along, normal] = plate_axes(q[0]);
        let p = Vector3::new(q[1], q[2], q[3]);
        errors.push((p.dot(&along) - wanted).abs().max(p.dot(&normal).abs()));
    }
    falls_by(16.0, &errors);
    assert!(errors[3] < 1e-8);
}

#[test]
fn rk4_is_of_fourth_order_on_a_body_that_tumbles_and_slides() {
    // A free box balances on one corner, spinning; nothing is known in closed form: the finest steps are the measure.
    let model = model(
        r#"<geom type="plane" size="5 5 1"/><body><freejoint/><geom type="box" size="0.1 0.2 0.3" mass="1"/></body>"#,
    );
    let turn = UnitQuaternion::from_euler_angles(0.5, 0.4, 0.0);
    let corner = Vector3::new(0.1, -0.2, -0.3);
    let low = |q: &[f64]| {
        let rotation = UnitQuaternion::from_quaternion(Quaternion::new(q[3], q[4], q[5], q[6]));
        Vector3::new(q[0], q[1], q[2]) + rotation * corner
    };
    let contact = |q: &[f64], _: &[f64]| {
        Ok(vec![RestingContact {
            body_a: 0,
            body_b: 1,
            point: low(q),
            normal: Vector3::z(),
            kind: ContactKind::FaceOfA,
        }])
    };
    let height = -(turn * corner).z;
    let spin = Vector3::new(0.5, -0.3, 4.0);
    // The corner does not move vertically.
    let rise = -(turn * spin.cross(&corner)).z;
    let at = |steps: u32| {
        let mut q = [0.0, 0.0, height, turn.w, turn.i, turn.j, turn.k];
        let mut v = [0.2, 0.0, rise, spin.x, spin.y, spin.z];
        for _ in 0..steps {
            let dt = 0.2 / f64::from(steps);
            let start = rk4_step(&model, dt, &mut q, &mut v, |_, _| Ok(vec![0.0; 6]), contact).unwrap();
            assert!(start.forces[0] > 0.0);
        }
        (nalgebra::SVector::<f64, 7>::from(q), low(&q).z)
    };
    let (finest, _) = at(640);
    let errors = [5, 10, 20, 40].map(|steps| {
        let (q, gap) = at(steps);
        (q - finest).amax().max(gap.abs())
    });
    falls_by(16.0, &errors);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let model = plate_and_bead();
    let (q, v) = bead_state(0.4, 2.0, 0.7, 1.5);
    let good = bead_on_plate(&q);
    let refused = |q: &[f64], v: &[f64], contact: RestingContact| {
        let error = contact_forces(&model, q, v, &[0.0; 4], &[contact]).unwrap_err();
        println!("{error}");
    };
    let edges = |edge_a, edge_b| ContactKind::EdgeEdge { edge_a, edge_b };
    refused(&q[..3], &v, good);
    refused(&q, &[f64::NAN; 4], good);
    refused(&q, &v, RestingContact { body_b: 9, ..good });
    refused(&q, &v, RestingContact { normal: good.normal * 2.0, ..good });
    refused(&q, &v, RestingContact { normal: Vector3::zeros(), ..good });
    refused(&q, &v, RestingContact { point: Vector3::repeat(f64::INFINITY), ..good });
    refused(&q, &v, RestingContact { kind: edges(Vector3::x(), Vector3::x()), ..good });
    refused(&q, &v, RestingContact { kind: edges(Vector3::zeros(), Vector3::x()), ..good });
    let centre = good.point;
    refused(&q, &v, RestingContact { kind: ContactKind::Centres { centre_a: centre, centre_b: centre }, ..good });
    // A point on the plate's rim is driven inwards and the hinge cannot give way.
    let rim = Vector3::new(q[0].cos(), 0.0, q[0].sin());
    refused(&q, &v, RestingContact { body_a: 0, body_b: 1, point: rim, normal: rim, kind: ContactKind::FaceOfA });
    assert!(resting_contacts(&model, &q, &v[..2], 0.0, 0.0).is_err());
    // Nothing touches: free motion.
    let solution = contact_forces(&model, &q, &v, &[0.0; 4], &[]).unwrap();
    close("free fall", solution.v_dot[3], -G, EXACT);
}
