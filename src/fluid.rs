//! Drag of the medium that bodies move through: part of τ, explicit.
//!
//! Every body counts as the box that has its mass and inertia, of edges b in its principal axes. With its velocity relative to the wind, in those axes, ω and
//! v at its centre of mass, density ρ and viscosity β of the medium (MuJoCo's documentation, Computation, Passive forces, inertia-based model; the spheres
//! of equal size are Stokes'):
//!
//! d = (b₁ + b₂ + b₃)/3
//! τᵢ = −π d³ β ωᵢ − ρ bᵢ (bⱼ⁴ + bₖ⁴) |ωᵢ| ωᵢ / 64
//! fᵢ = −3 π d β vᵢ − ρ bⱼ bₖ |vᵢ| vᵢ / 2
//!
//! but a body with geoms that are ellipsoids to the medium ([`crate::model::Geom::fluid`]) feels those, see [`Ellipsoid`].

use crate::kinematics::{Kinematics, triple};
use crate::lane::{Mask, Real};
use crate::model::{Geom, Medium, Model};
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

/// An ellipsoid in a medium, in its own axes (MuJoCo's documentation, Computation, Fluid forces, ellipsoid-based model). With half axes r, volume V, coefficients
/// C of blunt, slender and angular drag and of the lift by Kutta and by Magnus, and ω and v relative to the wind:
///
/// f = (m v)×ω − ρ (C_b A + C_s (A_max − A)) |v| v + C_K ρ A cos α (n×v)×v + C_M ρ V ω×v − 6 π r̄ β v
/// τ = (m v)×v + (I ω)×ω − ρ |(C_a I_D + C_s (I_max − I_D)) ω| ω − 8 π r̄³ β ω
///
/// m and I are the added mass and inertia of potential flow, A the area that the flow meets and n the normal of the section that casts it, cos α = n·v/|v|; with sᵢ = (rⱼ rₖ)²:
///
/// A = π √(Σ sᵢ² vᵢ²/Σ sᵢ vᵢ²),   n ∝ (s₁ v₁, s₂ v₂, s₃ v₃)
#[derive(Debug, Clone)]
pub struct Ellipsoid {
    body: usize,
    /// Centre in the body frame, m.
    position: Vector3<f64>,
    /// Axes in the body frame, by columns.
    axes: Matrix3<f64>,
    /// m, kg.
    added_mass: Vector3<f64>,
    /// I, kg·m².
    added_inertia: Vector3<f64>,
    /// s over the largest of them.
    sections: Vector3<f64>,
    /// π times the root of that, m².
    area: f64,
    /// ρ (C_b − C_s), kg/m³.
    blunt: f64,
    /// ρ C_s A_max, kg/m.
    slender: f64,
    /// C_a I_D + C_s (I_max − I_D), times ρ, kg·m².
    turning: Vector3<f64>,
    /// ρ C_K, kg/m³.
    kutta: f64,
    /// ρ V C_M, kg.
    magnus: f64,
    /// 6 π r̄ β, N·s/m.
    linear: f64,
    /// 8 π r̄³ β, N·m·s.
    angular: f64,
}

/// How bodies feel the medium.
#[derive(Debug, Clone)]
pub struct Drags {
    boxes: Vec<Drag>,
    ellipsoids: Vec<Ellipsoid>,
}

impl Drags {
    /// Every moving body with mass, and every ellipsoid that moves, if the model has a medium.
    pub fn new(model: &Model) -> Self {
        let medium = &model.medium;
        let mut drags = Self { boxes: Vec::new(), ellipsoids: Vec::new() };
        if medium.density == 0.0 && medium.viscosity == 0.0 {
            return drags;
        }
        let mut with_ellipsoids = vec![false; model.bodies.len()];
        for geom in model.geoms.iter().filter(|geom| model.bodies[geom.body].tree.is_some()) {
            if let Some(ellipsoid) = Ellipsoid::new(geom, medium) {
                drags.ellipsoids.push(ellipsoid);
                with_ellipsoids[geom.body] = true;
            }
        }
        for (b, body) in model.bodies.iter().enumerate() {
            if body.tree.is_some() && body.mass > 0.0 && !with_ellipsoids[b] {
                drags.boxes.push(drag(model, b));
            }
        }
        drags
    }
}

impl Ellipsoid {
    /// None of a geom that is no ellipsoid to the medium.
    fn new(geom: &Geom, medium: &Medium) -> Option<Self> {
        let ([blunt, slender, angular, kutta, magnus], r) = (geom.fluid?, geom.shape.half_axes()?);
        let (density, viscosity) = (medium.density, medium.viscosity);
        let others = |i: usize| (r[(i + 1) % 3], r[(i + 2) % 3]);
        let squares = Vector3::from_fn(|i, _| (others(i).0 * others(i).1).powi(2));
        // those of the spheroid that it sweeps about each axis
        let swept = Vector3::from_fn(|i, _| 8.0 / 15.0 * PI * r[i] * others(i).0.max(others(i).1).powi(4));
        let most = PI * squares.max().sqrt();
        let (mean, volume) = (r.mean(), 4.0 / 3.0 * PI * r.product());
        let (added_mass, added_inertia) = added(&r);
        Some(Self {
            body: geom.body,
            position: geom.position,
            axes: geom.orientation.to_rotation_matrix().into_inner(),
            added_mass: added_mass * density,
            added_inertia: added_inertia * density,
            sections: squares / squares.max(),
            area: most,
            blunt: density * (blunt - slender),
            slender: density * slender * most,
            turning: (swept * angular + (Vector3::repeat(swept.max()) - swept) * slender) * density,
            kutta: density * kutta,
            magnus: density * volume * magnus,
            linear: 6.0 * PI * mean * viscosity,
            angular: 8.0 * PI * mean.powi(3) * viscosity,
        })
    }

    /// f and τ.
    #[inline(always)]
    fn force<R: Real>(&self, v: Vec3<R>, w: Vec3<R>) -> [Vec3<R>; 2] {
        let zero = R::zero();
        let (momentum, turn) = (times(&self.added_mass, v), times(&self.added_inertia, w));
        let speed = v.norm();
        let section = times(&self.sections, v);
        // of s/s_max: Σ s² v² and Σ s v²
        let (squares, sum) = (section.dot(section), section.dot(v));
        let moves = zero.lt(squares).and(zero.lt(speed));
        let [squares, sum] = [R::select(moves, squares, R::one()), R::select(moves, sum, zero)];
        let (squares, sum) = (squares.sqrt(), sum.sqrt());
        // Σ s² v²/Σ s v² ≤ 1, and cos α = Σ s v²/(|v| √Σ s² v²)
        let area = R::constant(self.area) * squares / R::select(zero.lt(sum), sum, R::one());
        let against = R::constant(self.blunt).mul_add(area, R::constant(self.slender)) * speed;
        let lift = R::constant(self.kutta * self.area) * sum / (squares * R::select(moves, speed, R::one()));
        let force = momentum.cross(w) - v.scale(against + R::constant(self.linear));
        let force = force + section.cross(v).cross(v).scale(lift) + w.cross(v).scale(R::constant(self.magnus));
        let resistance = times(&self.turning, w).norm() + R::constant(self.angular);
        [force, momentum.cross(v) + turn.cross(w) - w.scale(resistance)]
    }
}

#[inline(always)]
fn times<R: Real>(a: &Vector3<f64>, v: Vec3<R>) -> Vec3<R> {
    vec3(R::constant(a.x) * v.x, R::constant(a.y) * v.y, R::constant(a.z) * v.z)
}

/// Added mass (m³) and inertia (m⁵) of an ellipsoid with half axes r in a fluid of unit density (Lamb, Hydrodynamics, 1932, chapter 5): with κᵢ = ∫ r₁ r₂ r₃/√((rᵢ² + λ)³ (rⱼ² + λ)
/// (rₖ² + λ)) dλ from 0 on
///
/// mᵢ = V κᵢ/(2 − κᵢ),   Iᵢ = V/5 (rⱼ² − rₖ²)² (κₖ − κⱼ)/(2 (rⱼ² − rₖ²) + (rⱼ² + rₖ²)(κⱼ − κₖ))
fn added(r: &Vector3<f64>) -> (Vector3<f64>, Vector3<f64>) {
    let (volume, square) = (4.0 / 3.0 * PI * r.product(), r.component_mul(r));
    let kappa =
        Vector3::from_fn(|i, _| 2.0 / 3.0 * r.product() * carlson(square[(i + 1) % 3], square[(i + 2) % 3], square[i]));
    let mass = kappa.map(|kappa| volume * kappa / (2.0 - kappa));
    let inertia = Vector3::from_fn(|i, _| {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        let (difference, sum) = (square[j] - square[k], square[j] + square[k]);
        let below = 2.0 * difference + sum * (kappa[j] - kappa[k]);
        // of a circular section nothing turns with it
        if difference == 0.0 || below == 0.0 {
            0.0
        } else {
            volume / 5.0 * difference * difference * (kappa[k] - kappa[j]) / below
        }
    });
    (mass, inertia)
}

/// R_D(x, y, z) = 3/2 ∫ dλ/√((x + λ)(y + λ)(z + λ)³) from 0 on, by Carlson's duplication (Numerical computation of real or complex elliptic integrals, 1995) until all are the same.
fn carlson(mut x: f64, mut y: f64, mut z: f64) -> f64 {
    let (mut sum, mut share) = (0.0, 1.0);
    // each turn brings them four times closer together
    for _ in 0..40 {
        let lambda = (x * y).sqrt() + (y * z).sqrt() + (z * x).sqrt();
        sum += share / (z.sqrt() * (z + lambda));
        share /= 4.0;
        (x, y, z) = ((x + lambda) / 4.0, (y + lambda) / 4.0, (z + lambda) / 4.0);
    }
    let mean = (x + y + 3.0 * z) / 5.0;
    3.0 * sum + share / (mean * mean.sqrt())
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
    drags: &Drags,
    com: &[R],
    k: &Kinematics<R>,
    body_velocity: &[Motion<R>],
    applied_force: &mut [R],
) {
    let wind: Vec3<R> = Vec3::constant(&model.medium.wind);
    for drag in &drags.boxes {
        let body = &model.bodies[drag.body];
        let (Some(tree), Some(last)) = (body.tree, model.last_dof(drag.body)) else { continue };
        let (pose, velocity) = (&k.body_pose[drag.body], body_velocity[drag.body]);
        let axes = pose.rotation * Mat3::constant(&drag.axes);
        // from O to the centre of mass
        let arm = pose.point(triple(com, 3 * drag.body)) - k.reference[tree];
        let moment = axes * resistance(drag.angular, &drag.angular_square, axes.transpose_mul(velocity.angular));
        let force = axes * resistance(drag.linear, &drag.linear_square, axes.transpose_mul(velocity.at(arm) - wind));
        let force = Force { moment: moment + arm.cross(force), force };
        for &i in &model.dofs[last].ancestors {
            // τ_i += S_i · F
            applied_force[i] += k.motion_subspace[i].dot(force);
        }
    }
    for ellipsoid in &drags.ellipsoids {
        let body = &model.bodies[ellipsoid.body];
        let (Some(tree), Some(last)) = (body.tree, model.last_dof(ellipsoid.body)) else { continue };
        let (pose, velocity) = (&k.body_pose[ellipsoid.body], body_velocity[ellipsoid.body]);
        let axes = pose.rotation * Mat3::constant(&ellipsoid.axes);
        let arm = pose.constant_point(&ellipsoid.position) - k.reference[tree];
        let (v, w) = (axes.transpose_mul(velocity.at(arm) - wind), axes.transpose_mul(velocity.angular));
        let [force, moment] = ellipsoid.force(v, w);
        let force = axes * force;
        let force = Force { moment: axes * moment + arm.cross(force), force };
        for &i in &model.dofs[last].ancestors {
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
