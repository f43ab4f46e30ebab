//! Drag of the medium that bodies move through: part of τ, explicit.
//!
//! Every body counts as the box that has its mass and inertia, of edges b in its principal axes. With its velocity relative to the wind, in those axes, ω and
//! v at its centre of mass, density ρ and viscosity β of the medium (MuJoCo's documentation, Computation, Passive forces, inertia-based model; the spheres
//! of equal size are Stokes'):
//!
//! d = (b₁ + b₂ + b₃)/3
//! τᵢ = −π d³ β ωᵢ − ρ bᵢ (bⱼ⁴ + bₖ⁴) |ωᵢ| ωᵢ / 64
//! fᵢ = −3 π d β vᵢ − ρ bⱼ bₖ |vᵢ| vᵢ / 2

use crate::kinematics::{Kinematics, triple};
use crate::lane::Real;
use crate::model::Model;
use crate::spatial::{Force, Mat3, Motion, Vec3, vec3};
use nalgebra::{Matrix3, Vector3};
use std::f64::consts::PI;

/// How a body feels the medium; coefficients of −ω, −|ω| ω, −v and −|v| v in principal axes.
#[derive(Debug, Clone)]
pub struct Drag {
    body: usize,
    /// Principal axes in the body frame, by columns.
    axes: Matrix3<f64>,
    /// N·m·s
    angular: f64,
    /// N·m·s²
    angular_square: Vector3<f64>,
    /// N·s/m
    linear: f64,
    /// N·s²/m²
    linear_square: Vector3<f64>,
}

/// Every moving body with mass, if the model has a medium.
pub fn drags(model: &Model) -> Vec<Drag> {
    let medium = &model.medium;
    if medium.density == 0.0 && medium.viscosity == 0.0 {
        return Vec::new();
    }
    let heavy = |b: &usize| model.bodies[*b].tree.is_some() && model.bodies[*b].mass > 0.0;
    (0..model.bodies.len()).filter(heavy).map(|b| drag(model, b)).collect()
}

fn drag(model: &Model, body: usize) -> Drag {
    let (part, medium) = (&model.bodies[body], &model.medium);
    let axes = principal_axes(model, body);
    let moment = (axes.transpose() * part.inertia * axes).diagonal();
    // b_i² = 6 (I_j + I_k − I_i)/m
    let edges = moment.map(|own| (6.0 * (moment.sum() - 2.0 * own).max(0.0) / part.mass).sqrt());
    let d = edges.mean();
    let others = |i: usize| [edges[(i + 1) % 3], edges[(i + 2) % 3]];
    let angular_square = |i: usize| {
        let [j, k] = others(i);
        medium.density * edges[i] * (j.powi(4) + k.powi(4)) / 64.0
    };
    let linear_square = |i: usize| {
        let [j, k] = others(i);
        0.5 * medium.density * j * k
    };
    Drag {
        body,
        axes,
        angular: PI * d.powi(3) * medium.viscosity,
        angular_square: Vector3::from_fn(|i, _| angular_square(i)),
        linear: 3.0 * PI * d * medium.viscosity,
        linear_square: Vector3::from_fn(|i, _| linear_square(i)),
    }
}

/// Axes in which the inertia of a body is diagonal, by columns. Where two moments are equal there are many, and drag depends on which: as MuJoCo takes those
/// of the geom that the inertia comes from, so do we: of the first geom of the body that are such, else of the body itself, else whichever come out.
fn principal_axes(model: &Model, body: usize) -> Matrix3<f64> {
    const OFF_DIAGONAL: f64 = 1e-9;
    let inertia = model.bodies[body].inertia;
    let frames = model.geoms.iter().filter(|g| g.body == body).map(|g| g.orientation.to_rotation_matrix().into_inner());
    let is_principal = |axes: &Matrix3<f64>| {
        let turned = axes.transpose() * inertia * axes;
        (turned - Matrix3::from_diagonal(&turned.diagonal())).norm() <= OFF_DIAGONAL * inertia.norm()
    };
    let found = frames.chain([Matrix3::identity()]).find(is_principal);
    found.unwrap_or_else(|| inertia.symmetric_eigen().eigenvectors)
}

/// Adds the drag to the applied force τ. `com`: centre of mass of every body in its frame, m, shape \[body\]\[3\]; `body_velocity`: spatial velocity of every body about O of its tree, shape \[body\].
#[inline(always)]
pub fn fluid_force<R: Real>(
    model: &Model,
    drags: &[Drag],
    com: &[R],
    k: &Kinematics<R>,
    body_velocity: &[Motion<R>],
    applied_force: &mut [R],
) {
    for drag in drags {
        let body = &model.bodies[drag.body];
        let (Some(tree), Some(last)) = (body.tree, model.last_dof(drag.body)) else { continue };
        let (pose, velocity) = (&k.body_pose[drag.body], body_velocity[drag.body]);
        let axes = pose.rotation * Mat3::constant(&drag.axes);
        // from O to the centre of mass
        let arm = pose.point(triple(com, 3 * drag.body)) - k.reference[tree];
        let wind: Vec3<R> = Vec3::constant(&model.medium.wind);
        let moment = axes * resistance(drag.angular, &drag.angular_square, axes.transpose_mul(velocity.angular));
        let force = axes * resistance(drag.linear, &drag.linear_square, axes.transpose_mul(velocity.at(arm) - wind));
        let force = Force { moment: moment + arm.cross(force), force };
        for &i in &model.dofs[last].ancestors {
            // τ_i += S_i · F
            applied_force[i] += k.motion_subspace[i].dot(force);
        }
    }
}

/// −(a + b |x|) x, each for itself
#[inline(always)]
fn resistance<R: Real>(a: f64, b: &Vector3<f64>, x: Vec3<R>) -> Vec3<R> {
    let a = R::constant(a);
    vec3(
        -(R::constant(b.x).mul_add(x.x.abs(), a) * x.x),
        -(R::constant(b.y).mul_add(x.y.abs(), a) * x.y),
        -(R::constant(b.z).mul_add(x.z.abs(), a) * x.z),
    )
}
