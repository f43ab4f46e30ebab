//! Drag of a medium: terminal velocities in closed form, and wind. Accelerations of articulated bodies are held against MuJoCo's in python/tests/test_fluid.py.

use delassus::model::Medium;
use delassus::{Backend, Mask, Model, Precision, Settings, Worlds};
use std::f64::consts::PI;

/// The step that a velocity is followed at is exact at rest only: what is left after many times the time that a fall takes to settle.
const SETTLED: f64 = 1e-9;

fn falling(medium: &str) -> Worlds {
    let model = Model::from_mjcf_str(&format!(
        r#"<mujoco><option timestep="0.002" gravity="0 0 -10" {medium}/>
             <worldbody><body><freejoint/><geom size="0.1" mass="2"/></body></worldbody></mujoco>"#
    ))
    .expect("a model");
    let settings = Settings { precision: Precision::F64, backend: Backend::Cpu, ..Settings::default() };
    Worlds::new(&model, 1, settings).expect("worlds")
}

/// Edge of the cube with the inertia of a sphere of radius 0.1: b² = 6 (2/5 r²).
fn edge() -> f64 {
    (6.0 * 0.4f64).sqrt() * 0.1
}

#[test]
fn a_ball_in_syrup_falls_as_fast_as_stokes_says() {
    let mut worlds = falling(r#"viscosity="20""#);
    worlds.step(5000).expect("a step");
    // m g = 3 π d β v
    let expected = -2.0 * 10.0 / (3.0 * PI * edge() * 20.0);
    let v = worlds.velocities();
    assert!((v[2] - expected).abs() < SETTLED, "{} instead of {expected} m/s", v[2]);
}

#[test]
fn a_ball_in_water_falls_until_its_drag_carries_it() {
    let mut worlds = falling(r#"density="1000""#);
    worlds.step(5000).expect("a step");
    // m g = ρ b² v²/2
    let expected = -(2.0 * 2.0 * 10.0 / (1000.0 * edge() * edge())).sqrt();
    let v = worlds.velocities();
    assert!((v[2] - expected).abs() < SETTLED, "{} instead of {expected} m/s", v[2]);
}

#[test]
fn wind_carries_what_floats() {
    let mut worlds = falling(r#"density="1000" viscosity="3" wind="1 -2 0.5""#);
    worlds.set_parameter(delassus::worlds::Parameter::Gravity, Mask::All, &[0.0; 3]).expect("no gravity");
    worlds.step(20_000).expect("a step");
    let v = worlds.velocities();
    for (v, wind) in v.iter().zip([1.0, -2.0, 0.5]) {
        assert!((v - wind).abs() < 1e-6, "{v} in a wind of {wind} m/s");
    }
}

#[test]
fn turning_is_resisted_too_and_a_medium_is_checked() {
    let mut worlds = falling(r#"viscosity="20""#);
    let mut v = [0.0; 6];
    v[4] = 3.0;
    let q = worlds.positions();
    worlds.set_state(Mask::All, &q, &v).expect("a state");
    let dt = worlds.dt();
    worlds.step(1).expect("a step");
    // I ω̇ = −π d³ β ω
    let expected = 3.0 * (1.0 - dt * PI * edge().powi(3) * 20.0 / (0.4 * 2.0 * 0.01));
    assert!((worlds.velocities()[4] - expected).abs() < SETTLED);
    let mut model = worlds.model().clone();
    model.medium = Medium { density: -1.0, ..Medium::default() };
    let message = Worlds::new(&model, 1, Settings::default()).expect_err("an error").to_string();
    assert!(message.contains("medium"), "{message}");
}

/// An ellipsoid without gravity, with the coefficients that are given.
fn ellipsoid(coefficients: &str, medium: &str, geom: &str) -> Worlds {
    let model = Model::from_mjcf_str(&format!(
        r#"<mujoco><option timestep="1e-6" gravity="0 0 0" {medium}/>
             <worldbody><body><freejoint/><geom {geom} mass="2" fluidshape="ellipsoid" fluidcoef="{coefficients}"/></body></worldbody></mujoco>"#
    ))
    .expect("a model");
    let settings = Settings { precision: Precision::F64, backend: Backend::Cpu, ..Settings::default() };
    Worlds::new(&model, 1, settings).expect("worlds")
}

/// What the medium does to the velocity v and ω, as forces and moments about the principal axes; the inertia of a ball of 2 kg and radius 0.1.
fn felt(worlds: &mut Worlds, v: [f64; 6]) -> [f64; 3] {
    let rest = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    worlds.set_state(Mask::All, &rest, &v).expect("a state");
    worlds.step(1).expect("a step");
    let after = worlds.velocities();
    std::array::from_fn(|i| (after[i] - v[i]) / 1e-6 * 2.0)
}

/// The step is of first order.
const FIRST_ORDER: f64 = 1e-4;

fn assert_near(found: [f64; 3], wanted: [f64; 3]) {
    assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < FIRST_ORDER), "{found:?} instead of {wanted:?}");
}

#[test]
fn an_ellipsoid_feels_what_its_coefficients_say() {
    let (r, volume) = (0.1_f64, 4.0 / 3.0 * PI * 1e-3);
    let v = [3.0, 4.0, 0.0, 0.0, 0.0, 7.0];
    // a ball: blunt drag of the area that it shows, all it has
    let ball = r#"size="0.1""#;
    let drag = 20.0 * 0.6 * PI * r * r * 5.0;
    let straight = [3.0, 4.0, 0.0, 0.0, 0.0, 0.0];
    assert_near(
        felt(&mut ellipsoid("0.6 9 0 0 0", r#"density="20""#, ball), straight),
        [-3.0 * drag, -4.0 * drag, 0.0],
    );
    // ω × v = (−28, 21, 0): Magnus' lift, and half the mass that it displaces, which is added to it
    let turned = felt(&mut ellipsoid("0 0 0 5 1.5", r#"density="20""#, ball), v);
    let share = 20.0 * volume * (1.5 - 0.5);
    assert_near(turned, [-28.0 * share, 21.0 * share, 0.0]);
    // Stokes
    let viscous = 6.0 * PI * r * 2.0;
    assert_near(felt(&mut ellipsoid("0 0 0 0 0", r#"viscosity="2""#, ball), v), [-3.0 * viscous, -4.0 * viscous, 0.0]);
    // a plate on its edge is slender, and blunt across; at 45° its lift by Kutta is across the way, away from where it goes
    let plate = r#"type="ellipsoid" size="0.001 0.1 0.2""#;
    let most = PI * 0.1 * 0.2;
    let of = |coefficients: &str, v: [f64; 3]| {
        felt(&mut ellipsoid(coefficients, r#"density="20""#, plate), [v[0], v[1], v[2], 0.0, 0.0, 0.0])
    };
    assert_near(of("1 0 0 0 0", [2.0, 0.0, 0.0]), [-20.0 * most * 4.0, 0.0, 0.0]);
    assert_near(of("0 1 0 0 0", [2.0, 0.0, 0.0]), [0.0; 3]);
    assert_near(of("0 1 0 0 0", [0.0, 0.0, 2.0]), [0.0, 0.0, -20.0 * (most - PI * 0.1 * 0.001) * 4.0]);
    let lift = of("0 0 0 1 0", [1.0, 0.0, 1.0]);
    assert!((lift[0] + lift[2]).abs() < FIRST_ORDER && lift[0] < -0.1, "{lift:?}");
}

#[test]
fn an_ellipsoid_stands_for_its_body_and_still_water_does_nothing() {
    let step = |second: &str| {
        let model = Model::from_mjcf_str(&format!(
            r#"<mujoco><option timestep="1e-3" gravity="0 0 0" density="500"/><worldbody><body><freejoint/>
                 <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.02 0.03"/>
                 <geom type="ellipsoid" size="0.1 0.2 0.3" fluidshape="ellipsoid" fluidcoef="0 0 0 0 0"/>{second}</body></worldbody></mujoco>"#
        ))
        .expect("a model");
        let settings = Settings { precision: Precision::F64, backend: Backend::Cpu, ..Settings::default() };
        let mut worlds = Worlds::new(&model, 1, settings).expect("worlds");
        worlds.set_state(Mask::All, &worlds.positions(), &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]).expect("a state");
        worlds.step(1).expect("a step");
        worlds.velocities()
    };
    // along an axis, without drag: nothing, and no box of inertia
    assert_eq!(step(""), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let slowed = step(r#"<geom size="0.1" fluidshape="ellipsoid"/>"#);
    assert!(slowed[0] < 1.0 && slowed[1..].iter().all(|v| v.abs() < 1e-14), "{slowed:?}");
    let mut worlds = ellipsoid("1 1 1 1 1", r#"density="20" viscosity="3""#, r#"type="ellipsoid" size="0.1 0.2 0.3""#);
    worlds.step(3).expect("steps");
    assert!(worlds.velocities().iter().all(|v| *v == 0.0));
}
