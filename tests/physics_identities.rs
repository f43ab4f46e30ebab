//! Case `identities` of `physics_cases.json`: what holds at every state of every model. 1e-10 relative in f64, 1e-4 in f32.
//!
//! Derivatives in time are central differences of sixth order along the motion, good to 1e-12 here. In f32 they would be noise: there the
//! identities without derivatives are checked.

#[path = "common/scenes.rs"]
mod scenes;

use delassus::dynamics::{self, Dynamics};
use delassus::kinematics::{Kinematics, kinematics};
use delassus::lane::{Pack, Scalar};
use delassus::model::Model;
use delassus::parameters::SharedParameters;
use delassus::spatial::Vec3;
use nalgebra::{DMatrix, DVector, Matrix3, Vector3};
use scenes::*;
use std::sync::Mutex;

const F64_TOLERANCE: f64 = 1e-10;
const F32_TOLERANCE: f64 = 1e-4;

/// A state that is nothing special: q = rest displaced by some way, v of order one.
fn state(model: &Model, seed: f64) -> (Vec<f64>, Vec<f64>) {
    let numbers = |phase: f64| (0..model.nv()).map(|i| (phase + 1.7 * i as f64 + seed).sin()).collect::<Vec<f64>>();
    let mut q = model.q0.clone();
    dynamics::integrate(model, 1.0, &numbers(0.4), &mut q);
    (q, numbers(2.0))
}

/// What the stages say about a state.
struct Stages {
    mass: DMatrix<f64>,
    bias: DVector<f64>,
    /// Acceleration under the generalized force given.
    acceleration: DVector<f64>,
    /// Centre of mass of every body and its velocity.
    com: Vec<Vector3<f64>>,
    com_velocity: Vec<Vector3<f64>>,
    /// Angular velocity and inertia of every body, world axes.
    spin: Vec<Vector3<f64>>,
    inertia: Vec<Matrix3<f64>>,
}

/// Runs the stages on one state; `force`: generalized force from outside.
fn stages<R: Pack>(model: &Model, q: &[f64], v: &[f64], force: &DVector<f64>) -> Stages {
    const DT: f64 = 1.0 / 64.0;
    let splat = |x: &[f64]| x.iter().map(|x| R::constant(*x)).collect::<Vec<R>>();
    let get = |x: R| x.get(0).to_f64();
    let vector = |x: Vec3<R>| Vector3::new(get(x.x), get(x.y), get(x.z));
    let (mut k, mut d) = (Kinematics::<R>::new(model), Dynamics::<R>::new(model));
    let (q, v, force) = (splat(q), splat(v), splat(force.as_slice()));
    let shared = SharedParameters::<R>::new(model);
    let p = &shared.tile();
    kinematics(model, &q, &mut k);
    dynamics::mass_matrix(model, p, &k, &mut d);
    dynamics::bias_force(model, p.gravity, &v, &k, &mut d);
    dynamics::applied_force(model, p, [&q, &v], &k, &[], &force, &mut d);
    dynamics::factor(model, R::constant(DT), &mut d);
    // From rest the free velocity is the acceleration times Δt.
    dynamics::free_velocity(model, R::constant(DT), &vec![R::zero(); model.nv()], &mut d);
    let mut mass = DMatrix::zeros(model.nv(), model.nv());
    for (i, dof) in model.dofs.iter().enumerate() {
        for (n, &j) in dof.ancestors.iter().enumerate() {
            mass[(i, j)] = get(d.mass_matrix[dof.row_start + n]);
            mass[(j, i)] = mass[(i, j)];
        }
    }
    let (mut com, mut com_velocity, mut spin, mut inertia) = (vec![], vec![], vec![], vec![]);
    for (b, body) in model.bodies.iter().enumerate().skip(1) {
        let pose = &k.body_pose[b];
        let point = pose.point(Vec3::constant(&body.com));
        let velocity = d.body_velocity[b];
        com.push(vector(point));
        com_velocity.push(vector(velocity.at(point - k.reference[body.tree.unwrap()])));
        spin.push(vector(velocity.angular));
        let turn = Matrix3::from_columns(&pose.rotation.columns.map(vector));
        inertia.push(turn * body.inertia * turn.transpose());
    }
    Stages {
        mass,
        bias: DVector::from_iterator(model.nv(), d.bias_force.iter().map(|x| get(*x))),
        acceleration: DVector::from_iterator(model.nv(), d.response.free_velocity.iter().map(|x| get(*x) / DT)),
        com,
        com_velocity,
        spin,
        inertia,
    }
}

/// Asserts that `found` is `expected`, relative to the largest entry of the latter (or of `scale`).
#[track_caller]
fn same(what: &str, found: &[f64], expected: &[f64], scale: f64, tolerance: f64) {
    let scale = expected.iter().fold(scale, |m, x| m.max(x.abs()));
    let error = found.iter().zip(expected).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs())) / scale;
    at_most(what, error, tolerance);
}

/// `forward_inverse`; `symmetry` (positive definite); and, for `crba_columns`, M from the motion of every body per unit of every velocity:
/// `M_ij` = Σ m `u_i` · `u_j` + `ω_i` · I `ω_j`.
fn algebra<R: Pack>(tolerance: f64) {
    let model = tree(8);
    for seed in [0.0, 1.0, 2.0] {
        let (q, v) = state(&model, seed);
        let speed = DVector::from_column_slice(&v);
        let still = DVector::zeros(model.nv());
        let s = stages::<R>(&model, &q, &v, &still);
        assert!(s.mass.clone().cholesky().is_some(), "the mass matrix is not positive definite");
        // τ = M a + c gives back a.
        let wanted = speed.map(|x| 3.0 * x + 1.0);
        let found = stages::<R>(&model, &q, &v, &(&s.mass * &wanted + &s.bias)).acceleration;
        same("forward of inverse", found.as_slice(), wanted.as_slice(), 0.0, tolerance);
        let per_unit: Vec<Stages> = (0..model.nv())
            .map(|i| {
                let mut unit = vec![0.0; model.nv()];
                unit[i] = 1.0;
                stages::<R>(&model, &q, &unit, &still)
            })
            .collect();
        let entry = |i: usize, j: usize| {
            let (a, b) = (&per_unit[i], &per_unit[j]);
            let of_body = |k: usize| {
                let moved = model.bodies[k + 1].mass * a.com_velocity[k].dot(&b.com_velocity[k]);
                moved + a.spin[k].dot(&(a.inertia[k] * b.spin[k]))
            };
            (0..a.com.len()).map(of_body).sum()
        };
        let expected = DMatrix::from_fn(model.nv(), model.nv(), entry);
        same("mass matrix", s.mass.as_slice(), expected.as_slice(), 0.0, tolerance);
    }
}

#[test]
fn algebraic_identities_hold_in_f64() {
    algebra::<f64>(F64_TOLERANCE);
}

#[test]
fn algebraic_identities_hold_in_f32() {
    algebra::<f32>(F32_TOLERANCE);
}

/// d/dt of what is `of` a state that moves with v and a, by sixth-order central differences; any smooth path with these rates will do.
fn derivative(
    model: &Model,
    q: &[f64],
    v: &[f64],
    a: &DVector<f64>,
    of: &dyn Fn(&Stages, &[f64]) -> Vec<f64>,
) -> Vec<f64> {
    const T: f64 = 2e-3;
    let still = DVector::zeros(model.nv());
    let at = |t: f64| {
        let mut q = q.to_vec();
        dynamics::integrate(model, t, v, &mut q);
        let v: Vec<f64> = v.iter().zip(a.iter()).map(|(v, a)| v + a * t).collect();
        of(&stages::<f64>(model, &q, &v, &still), &v)
    };
    let mut sum = vec![0.0; at(0.0).len()];
    for (k, weight) in [(1.0, 45.0 / 60.0), (2.0, -9.0 / 60.0), (3.0, 1.0 / 60.0)] {
        for (s, (plus, minus)) in sum.iter_mut().zip(at(k * T).into_iter().zip(at(-k * T))) {
            *s += weight * (plus - minus) / T;
        }
    }
    sum
}

/// Identities with derivatives in time.
///
/// - `jacobian`: d/dt of every centre of mass is the velocity that the stages give.
/// - `skew` and `power`: ½ vᵀ Ṁ v = vᵀ (c(q, v) − g(q)), which with M v̇ = τ − c is d/dt (½ vᵀ M v) = vᵀ (τ − g).
/// - `free_flight_com` and `momentum_matrix`: without forces the linear momentum of the floating tree changes by its weight and the angular momentum
///   about its centre of mass not at all.
#[test]
fn differential_identities_hold_in_f64() {
    let model = tree(8);
    let still = DVector::zeros(model.nv());
    let flat = |x: &[Vector3<f64>]| x.iter().flat_map(|v| v.iter().copied()).collect::<Vec<f64>>();
    for seed in [0.0, 1.0, 2.0] {
        let (q, v) = state(&model, seed);
        let s = stages::<f64>(&model, &q, &v, &still);
        let speed = DVector::from_column_slice(&v);

        let found = derivative(&model, &q, &v, &still, &|s, _| flat(&s.com));
        same("velocity", &found, &flat(&s.com_velocity), 0.0, F64_TOLERANCE);

        // v is held, so that the derivative of vᵀ M v is vᵀ Ṁ v.
        let change = derivative(&model, &q, &v, &still, &|s, v| {
            let v = DVector::from_column_slice(v);
            vec![0.5 * v.dot(&(&s.mass * &v))]
        });
        let gravity = stages::<f64>(&model, &q, &vec![0.0; model.nv()], &still).bias;
        same("power", &change, &[speed.dot(&(&s.bias - gravity))], speed.dot(&(&s.mass * &speed)), F64_TOLERANCE);

        // The floating tree: bodies 1 to 6.
        let floating = 1..7;
        let mass: f64 = model.bodies[floating.clone()].iter().map(|b| b.mass).sum();
        let momentum = |s: &Stages, _: &[f64]| {
            let of = |b: usize| model.bodies[b + 1].mass;
            let linear: Vector3<f64> = (0..6).map(|b| s.com_velocity[b] * of(b)).sum();
            let com: Vector3<f64> = (0..6).map(|b| s.com[b] * of(b)).sum::<Vector3<f64>>() / mass;
            let angular: Vector3<f64> =
                (0..6).map(|b| s.inertia[b] * s.spin[b] + (s.com[b] - com).cross(&(s.com_velocity[b] * of(b)))).sum();
            linear.iter().chain(angular.iter()).copied().collect::<Vec<f64>>()
        };
        let found = derivative(&model, &q, &v, &s.acceleration, &momentum);
        let weight = model.gravity * mass;
        same("momentum", &found, &[weight.x, weight.y, weight.z, 0.0, 0.0, 0.0], 0.0, F64_TOLERANCE);
    }
}

/// `delassus`: W = J M⁻¹ Jᵀ of a cube on four corners is symmetric, positive semidefinite and of rank at most nv = 6.
#[test]
fn delassus_matrix_has_the_rank_of_the_motion() {
    let mut b = on_floor([0.0, 0.0, -G], 0.5);
    add_free(&mut b, [0.0, 0.0, 0.5], cube(1.0), 1.0, 0.5);
    let mut w = world(b, oracle(1e-3));
    let found = Mutex::new(None);
    w.step_inspected(1, Some(&|block| *found.lock().unwrap() = Some(block.problem.delassus.clone()))).unwrap();
    let matrix = found.into_inner().unwrap().unwrap();
    assert_eq!(matrix.nrows(), 12);
    assert_eq!(matrix, matrix.transpose());
    let mut values: Vec<f64> = matrix.symmetric_eigenvalues().iter().copied().collect();
    values.sort_by(f64::total_cmp);
    at_most(
        "six eigenvalues of no motion",
        values[..6].iter().fold(0.0, |m, x| f64::max(m, x.abs())) / values[11],
        F64_TOLERANCE,
    );
    assert!(values[6] > 1e-3 * values[11], "{values:?}");
}
