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
