//! Small scenes for the physics tests.
#![allow(dead_code, missing_docs, reason = "every test binary uses its own part")]

use delassus::model::{Geom, Joint, JointKind, Model, ModelBuilder, Shape};
use delassus::{Mask, Precision, Settings, Worlds};
use nalgebra::{Matrix3, Vector3};

pub const G: f64 = 9.81;

/// Settings of the tests against closed forms: f64, solved far below what is asked of the answer.
pub fn exact() -> Settings {
    Settings { precision: Precision::F64, tolerance: Some(1e-13), ..Settings::default() }
}

pub fn builder(dt: f64, gravity: [f64; 3]) -> ModelBuilder {
    let mut b = ModelBuilder::new("scene");
    b.timestep(dt).gravity(gravity);
    b
}

/// Gravity as seen on a plane that falls by `degrees` towards +x.
pub fn incline(degrees: f64) -> [f64; 3] {
    let a = degrees.to_radians();
    [G * a.sin(), 0.0, -G * a.cos()]
}

pub fn floor(b: &mut ModelBuilder, friction: f64) -> usize {
    let mut g = Geom::new(0, Shape::Plane);
    g.friction[0] = friction;
    b.add_geom(g)
}

/// A free body with one solid shape; returns body and geom.
pub fn solid(b: &mut ModelBuilder, at: [f64; 3], shape: Shape, mass: f64, friction: f64) -> (usize, usize) {
    let (volume, _, inertia) = delassus::model::solid_inertia(&shape).unwrap();
    let body = b.add_body("", 0, at);
    b.add_joint(Joint::new(body, JointKind::Free));
    b.set_inertia(body, mass, [0.0; 3], inertia * (mass / volume));
    let mut g = Geom::new(body, shape);
    g.friction[0] = friction;
    (body, b.add_geom(g))
}

pub fn cube(b: &mut ModelBuilder, at: [f64; 3], edges: [f64; 3], mass: f64, friction: f64) -> (usize, usize) {
    solid(b, at, Shape::Box { half: Vector3::from(edges) / 2.0 }, mass, friction)
}

pub fn ball(b: &mut ModelBuilder, at: [f64; 3], radius: f64, mass: f64, friction: f64) -> (usize, usize) {
    solid(b, at, Shape::Sphere { radius }, mass, friction)
}

/// A thin rod in the plane y = 0 with a small ball at its lower tip; `tip` is relative to the centre of mass.
pub fn rod(b: &mut ModelBuilder, com: [f64; 3], tip: [f64; 3], mass: f64, length: f64, friction: f64) {
    const TIP: f64 = 1e-3;
    let body = b.add_body("", 0, com);
    b.add_joint(Joint::new(body, JointKind::Free));
    let i = mass * length * length / 12.0;
    b.set_inertia(body, mass, [0.0; 3], Matrix3::from_diagonal(&Vector3::new(i, i, i)));
    let mut g = Geom::new(body, Shape::Sphere { radius: TIP });
    g.position = Vector3::new(tip[0], tip[1], tip[2] + TIP);
    g.friction[0] = friction;
    b.add_geom(g);
}

/// A pendulum: a point mass below a hinge about y.
pub fn pendulum(b: &mut ModelBuilder, length: f64, joint: impl FnOnce(&mut Joint)) {
    let body = b.add_body("", 0, [0.0; 3]);
    let mut j = Joint::new(body, JointKind::Hinge);
    j.axis = Vector3::y();
    joint(&mut j);
    b.add_joint(j);
    b.set_inertia(body, 1.0, [0.0, 0.0, -length], Matrix3::zeros());
}

/// One world of the scene, at rest.
pub fn world(b: ModelBuilder, settings: Settings) -> Worlds {
    let model: Model = b.build().unwrap();
    Worlds::new(&model, 1, settings).unwrap()
}

/// Sets the velocity, keeps the position.
pub fn set_velocity(w: &mut Worlds, v: &[f64]) {
    let q = w.positions();
    w.set_state(Mask::All, &q, v).unwrap();
}

/// |a − b| ≤ tolerance, with both in the message.
pub fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    println!("{what}: {found} (expected {expected}, off by {:.1e} of {tolerance:.1e})", (found - expected).abs());
    assert!((found - expected).abs() <= tolerance, "{what}: {found}, expected {expected} within {tolerance:e}");
}
