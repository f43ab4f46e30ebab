//! Small scenes and checks that the physics tests share.
#![allow(dead_code, missing_docs, reason = "every test binary uses its own part")]

use delassus::model::{Geom, Joint, JointKind, Model, ModelBuilder, Shape, solid_inertia};
use delassus::query::state_query;
use delassus::{Backend, Integrator, Mask, Precision, Settings, Worlds};
use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};
use std::f64::consts::PI;

/// Gravity of nearly all cases, m/s².
pub const G: f64 = 9.81;

/// f64 on the CPU, friction cone.
pub fn oracle(dt: f64) -> Settings {
    Settings { precision: Precision::F64, backend: Backend::Cpu, dt: Some(dt), ..Settings::default() }
}

/// The oracle with Runge-Kutta.
pub fn rk4(dt: f64) -> Settings {
    Settings { integrator: Some(Integrator::Rk4), ..oracle(dt) }
}

/// The oracle with blocks solved to the last digits, for cases that ask for 1e-9 of a single impulse.
pub fn sharp(dt: f64) -> Settings {
    Settings { tolerance: Some(1e-13), iterations: 10_000, ..oracle(dt) }
}

/// Asserts |found − expected| ≤ tolerance; prints the error for whoever runs with `--nocapture`.
#[track_caller]
pub fn near(what: &str, found: f64, expected: f64, tolerance: f64) {
    let error = (found - expected).abs();
    println!("{what}: {found}, expected {expected}, error {error:.1e} (allowed {tolerance:.1e})");
    assert!(error <= tolerance, "{what}: {found}, expected {expected}, error {error:e} > {tolerance:e}");
}

/// Asserts |found − expected| ≤ tolerance · |expected|.
#[track_caller]
pub fn near_relative(what: &str, found: f64, expected: f64, tolerance: f64) {
    near(what, found, expected, tolerance * expected.abs());
}

/// Asserts |found| ≤ limit.
#[track_caller]
pub fn at_most(what: &str, found: f64, limit: f64) {
    near(what, found, 0.0, limit);
}

/// Gravity in the frame of a plane that falls towards +x at `angle`, rad.
pub fn inclined(gravity: f64, angle: f64) -> [f64; 3] {
    [gravity * angle.sin(), 0.0, -gravity * angle.cos()]
}

/// A model without gravity or bodies.
pub fn empty() -> ModelBuilder {
    let mut builder = ModelBuilder::new("case");
    builder.gravity([0.0; 3]);
    builder
}

/// A model with a floor at z = 0 and this gravity.
pub fn on_floor(gravity: [f64; 3], friction: f64) -> ModelBuilder {
    let mut builder = empty();
    builder.gravity(gravity);
    add_shape(&mut builder, 0, Shape::Plane, friction);
    builder
}

/// A shape at the origin of `body` with sliding friction `friction`.
pub fn add_shape(builder: &mut ModelBuilder, body: usize, shape: Shape, friction: f64) -> usize {
    let mut geom = Geom::new(body, shape);
    geom.friction[0] = friction;
    builder.add_geom(geom)
}

/// A free homogeneous body.
pub fn add_free(builder: &mut ModelBuilder, position: [f64; 3], shape: Shape, mass: f64, friction: f64) -> usize {
    let body = builder.add_body("", 0, position);
    builder.add_joint(Joint::new(body, JointKind::Free));
    let (volume, com, inertia) = solid_inertia(&shape).unwrap();
    builder.set_inertia(body, mass, com.into(), inertia * (mass / volume));
    add_shape(builder, body, shape, friction);
    body
}

/// A body on a hinge at its origin about the world's y axis: a positive angle swings what hangs below towards −x.
pub fn add_hinged(builder: &mut ModelBuilder, parent: usize, position: [f64; 3], mass: f64, com: [f64; 3]) -> usize {
    let body = builder.add_body("", parent, position);
    builder.set_inertia(body, mass, com, Matrix3::zeros());
    let mut joint = Joint::new(body, JointKind::Hinge);
    joint.axis = Vector3::y();
    builder.add_joint(joint);
    body
}

pub fn cube(side: f64) -> Shape {
    Shape::Box { half: Vector3::repeat(side / 2.0) }
}

pub fn sphere(radius: f64) -> Shape {
    Shape::Sphere { radius }
}

/// The first bodies of eight: a floating base with a ball joint, hinges in a row, and a slide (six bodies), and a second tree on a hinge.
pub fn tree(body_count: usize) -> Model {
    let mut b = empty();
    b.gravity([1.0, -2.0, -G]);
    let kinds = [
        (0, JointKind::Free),
        (1, JointKind::Ball),
        (2, JointKind::Hinge),
        (1, JointKind::Hinge),
        (4, JointKind::Slide),
        (5, JointKind::Hinge),
        (0, JointKind::Hinge),
        (7, JointKind::Ball),
    ];
    for (i, (parent, kind)) in kinds.into_iter().enumerate().take(body_count) {
        let x = i as f64;
        let body = b.add_body("", parent, [0.3 + 0.01 * x, -0.1, 0.2 - 0.02 * x]);
        b.body_mut(body).orientation = UnitQuaternion::from_euler_angles(0.3 * x, 0.5 - 0.1 * x, 0.2);
        let turn = UnitQuaternion::from_euler_angles(0.7, 0.2 * x, 0.4).to_rotation_matrix();
        let principal = Matrix3::from_diagonal(&Vector3::new(0.02, 0.03, 0.04 + 0.001 * x));
        let inertia = turn.matrix() * principal * turn.matrix().transpose();
        b.set_inertia(body, 1.0 + 0.3 * x, [0.05, 0.02 * x, -0.1], 0.5 * (inertia + inertia.transpose()));
        let mut joint = Joint::new(body, kind);
        if kind != JointKind::Free {
            joint.anchor = Vector3::new(0.02, 0.03, -0.01 * x);
            joint.axis = Vector3::new(1.0, -0.5, 0.3 * x).normalize();
        }
        b.add_joint(joint);
    }
    b.build().unwrap()
}

/// One world of what was built.
pub fn world(builder: ModelBuilder, settings: Settings) -> Worlds {
    world_of(&builder.build().unwrap(), settings)
}

pub fn world_of(model: &Model, settings: Settings) -> Worlds {
    Worlds::new(model, 1, settings).unwrap()
}

/// One step, which must come out solved.
#[track_caller]
pub fn step(w: &mut Worlds) {
    let report = w.step(1).unwrap()[0];
    assert!(report.solved(), "{report:?}");
}

/// Steps for `seconds`; every step must come out solved.
#[track_caller]
pub fn run(w: &mut Worlds, seconds: f64) {
    for _ in 0..(seconds / w.dt()).round() as usize {
        step(w);
    }
}

pub fn set_velocity(w: &mut Worlds, v: &[f64]) {
    let q = w.positions();
    w.set_state(Mask::All, &q, v).unwrap();
}

pub fn set_position(w: &mut Worlds, q: &[f64]) {
    let v = w.velocities();
    w.set_state(Mask::All, q, &v).unwrap();
}

/// Orientation of the free (or ball) joint whose quaternion starts at `start`.
pub fn orientation(q: &[f64], start: usize) -> UnitQuaternion<f64> {
    UnitQuaternion::from_quaternion(Quaternion::new(q[start], q[start + 1], q[start + 2], q[start + 3]))
}

pub fn vector(x: &[f64], start: usize) -> Vector3<f64> {
    Vector3::new(x[start], x[start + 1], x[start + 2])
}

/// Kinetic energy and energy of height above z = 0 of the free body `body`, whose coordinates start at 7 k and 6 k, J.
pub fn free_energy(model: &Model, body: usize, k: usize, q: &[f64], v: &[f64]) -> [f64; 2] {
    let b = &model.bodies[body];
    let turn = orientation(q, 7 * k + 3);
    let spin = vector(v, 6 * k + 3);
    let com = vector(q, 7 * k) + turn * b.com;
    let velocity = vector(v, 6 * k) + turn * spin.cross(&b.com);
    [0.5 * b.mass * velocity.norm_squared() + 0.5 * spin.dot(&(b.inertia * spin)), -b.mass * model.gravity.dot(&com)]
}

/// Kinetic energy and energy of height of all bodies, springs left out, J.
pub fn total_energy(w: &Worlds) -> f64 {
    let found = state_query(w.model(), &w.positions(), &w.velocities()).unwrap();
    found.kinetic_energy + found.potential_energy
}

/// Sum of the normal forces of the watched world over the contacts between the shapes `a` and `b`, N.
pub fn normal_force(w: &Worlds, a: usize, b: usize) -> f64 {
    let contacts = w.contacts(0).unwrap().iter();
    let of_pair = contacts.filter(|c| (c.geom_a, c.geom_b) == (a, b) || (c.geom_a, c.geom_b) == (b, a));
    of_pair.map(|c| c.impulse[0]).sum::<f64>() / w.dt()
}

/// An angle followed through its turns.
#[derive(Default)]
pub struct Turns {
    /// The way so far, rad.
    pub angle: f64,
    last: f64,
}

impl Turns {
    /// The angle is now at `now`, less than half a turn from where it was (at first 0).
    pub fn add(&mut self, now: f64) {
        self.angle += (now - self.last + PI).rem_euclid(2.0 * PI) - PI;
        self.last = now;
    }
}
