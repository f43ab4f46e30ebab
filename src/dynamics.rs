//! Stages 2–4 and 9–10: `mass_matrix`, `bias_force`, `applied_force`, `factor`, `free_velocity`; `integrate`.
//!
//! Equation of motion: M(q) v̇ + c(q, v) = τ + Jᵀ f. One step of semi-implicit Euler, implicit in the damping D of joints and servos:
//!
//! (M + Δt D) (v⁺ − v) = Δt (τ − c) + Jᵀ λ,   q⁺ = q ⊕ Δt v⁺
//!
//! so the free velocity (λ = 0) is v* = v + Δt (M + Δt D)⁻¹ (τ − c), where τ includes −D v. The algorithms are the composite rigid body
//! algorithm and recursive Newton-Euler (Featherstone, Rigid Body Dynamics Algorithms, 2008, chapters 5 and 6), with every spatial quantity in
//! world axes about the point O of its tree, so that nothing is ever transformed.

use crate::fluid::Drags;
use crate::inertia::{Moments, inertias};
use crate::kinematics::{Kinematics, quaternion, rotation_vector, triple};
use crate::lane::{Mask, Real, copies};
use crate::model::{Body, Dof, Joint, JointKind, Model, Transmission};
use crate::muscle::muscle_force;
use crate::parameters::TileParameters;
use crate::planar::Planar;
use crate::spatial::{Force, Inertia, Motion, Quat, Vec3};
use crate::tendon;
use crate::transmission::{add_actuator_force, shortest, transmitted, turn_around};
use nalgebra::{Quaternion, UnitQuaternion, Vector3};

/// What the dynamics stages compute, for one tile of worlds.
#[derive(Debug, Clone)]
pub struct Dynamics<R> {
    /// Rotational inertia of every body, shape \[body\].
    pub moments: Vec<Moments>,
    /// What stages 2 and 3 are in a step, where every tree moves in a plane.
    pub planar: Option<Planar<R>>,
    /// Spatial inertia of every body about O, shape \[body\].
    pub inertia: Vec<Inertia<R>>,
    /// Composite inertia of every body and what hangs from it, shape \[body\].
    composite: Vec<Inertia<R>>,
    /// Spatial velocity of every body about O, shape \[body\].
    pub body_velocity: Vec<Motion<R>>,
    /// Spatial velocity of every body about O under the velocity that moves q in free motion, shape \[body\].
    pub free_body_velocity: Vec<Motion<R>>,
    /// Spatial acceleration of every body about O with v̇ = 0 and gravity as an acceleration −g of the world, shape \[body\].
    pub acceleration: Vec<Motion<R>>,
    /// Force on every body from its parent, shape \[body\].
    force: Vec<Force<R>>,
    /// Mass matrix M with armature, packed by ancestors: entry (d, `ancestors[i]`) at `row_start + i` of [`crate::model::Dof`].
    pub mass_matrix: Vec<R>,
    /// U = diag(d) L, packed likewise.
    upper: Vec<R>,
    /// Bias force c(q, v), N or N·m, shape \[nv\].
    pub bias_force: Vec<R>,
    /// Applied force τ: actuators, springs, damping, N or N·m, shape \[nv\].
    pub applied_force: Vec<R>,
    /// How bodies feel the medium.
    pub drags: Drags,
    /// Damping D that is treated implicitly, N·s/m or N·m·s/rad, shape \[nv\].
    pub damping: Vec<R>,
    /// 1 / d, shape \[nv\].
    pub inverse_diagonal: Vec<R>,
    /// What the rest of the step needs.
    pub response: Response<R>,
}

/// How the velocity answers to forces and impulses: all that the rest of the step needs of the dynamics, for one tile of worlds.
#[derive(Debug, Clone)]
pub struct Response<R> {
    /// L of M + Δt D = Lᵀ diag(d) L, unit diagonal left out, packed as the mass matrix.
    pub factor: Vec<R>,
    /// 1 / √d, shape \[nv\].
    pub inverse_root: Vec<R>,
    /// Free velocity v*, shape \[nv\].
    pub free_velocity: Vec<R>,
    /// Velocity v̄ that moves q in free motion, where it is not v*, shape \[nv\].
    pub mean_velocity: Vec<R>,
}

impl<R: Real> Dynamics<R> {
    /// Room for `model`.
    pub fn new(model: &Model) -> Self {
        let (nb, nv, packed) = (model.bodies.len(), model.nv(), model.packed_len());
        Self {
            moments: Moments::of_bodies(model),
            planar: Planar::new(model),
            inertia: copies(Inertia::zero(), nb),
            composite: copies(Inertia::zero(), nb),
            body_velocity: copies(Motion::zero(), nb),
            free_body_velocity: copies(Motion::zero(), nb),
            acceleration: copies(Motion::zero(), nb),
            force: copies(Force::default(), nb),
            mass_matrix: copies(R::zero(), packed),
            upper: copies(R::zero(), packed),
            bias_force: copies(R::zero(), nv),
            applied_force: copies(R::zero(), nv),
            drags: Drags::new(model),
            damping: copies(R::zero(), nv),
            inverse_diagonal: copies(R::zero(), nv),
            response: Response::new(model),
        }
    }
}

impl<R: Real> Response<R> {
    /// Room for `model`.
    pub fn new(model: &Model) -> Self {
        let zero = copies(R::zero(), model.nv());
        Self {
            factor: copies(R::zero(), model.packed_len()),
            inverse_root: zero.clone(),
            free_velocity: zero.clone(),
            mean_velocity: zero,
        }
    }
}

/// Stage 2: M(q) by the composite rigid body algorithm, with armature.
#[inline(always)]
pub fn mass_matrix<R: Real>(model: &Model, p: &TileParameters<'_, R>, k: &Kinematics<R>, d: &mut Dynamics<R>) {
    inertias(model, &d.moments, p, k, &mut d.inertia);
    d.composite.copy_from_slice(&d.inertia);
    for b in (1..model.bodies.len()).rev() {
        let parent = model.bodies[b].parent;
        if model.bodies[b].tree.is_some() && model.bodies[parent].tree.is_some() {
            // I_c(parent) += I_c(b)
            d.composite[parent] = d.composite[parent] + d.composite[b];
        }
    }
    for (i, dof) in model.dofs.iter().enumerate() {
        let (composite, tree) = (&d.composite[dof.body], &model.trees[dof.tree]);
        let row = &mut d.mass_matrix[dof.row_start..dof.row_start + dof.ancestors.len()];
        let from_root = i - tree.dofs.start;
        if tree.is_free && from_root < 3 {
            row.fill(R::zero());
            row[0] = composite.mass;
        } else {
            // M_ij = S_j · I_c S_i for every ancestor j of i, from i to the root
            let Force { moment, force } = composite.momentum(k.motion_subspace[i]);
            let (joints, free) = row.split_at_mut(row.len() - if tree.is_free { row.len().min(6) } else { 0 });
            for (m, &j) in joints.iter_mut().zip(&dof.ancestors) {
                *m = k.motion_subspace[j].dot(Force { moment, force });
            }
            if let [turns @ .., z, y, x] = free {
                [*x, *y, *z] = [force.x, force.y, force.z];
                for (m, j) in turns.iter_mut().rev().zip(tree.dofs.start + 3..) {
                    *m = k.motion_subspace[j].angular.dot(moment);
                }
            }
        }
        row[0] += p.armature[dof.joint];
    }
}

/// Stage 3: c(q, v) by recursive Newton-Euler with v̇ = 0: gravity, Coriolis and centrifugal forces. Needs [`mass_matrix`] before it (for the inertias).
#[inline(always)]
pub fn bias_force<R: Real>(model: &Model, gravity: &[R], v: &[R], k: &Kinematics<R>, d: &mut Dynamics<R>) {
    let resting = Motion { angular: Vec3::zero(), linear: -triple(gravity, 0) };
    for (b, body) in model.bodies.iter().enumerate() {
        if body.tree.is_none() {
            continue;
        }
        let moving_parent = model.bodies[body.parent].tree.is_some();
        let parent = if moving_parent {
            (d.body_velocity[body.parent], d.acceleration[body.parent])
        } else {
            // gravity as an upward acceleration of the world
            (Motion::zero(), resting)
        };
        let (velocity, acceleration) = across_joints(model, body, v, k, parent);
        d.body_velocity[b] = velocity;
        d.acceleration[b] = acceleration;
        d.force[b] = d.inertia[b].inverse_dynamics(velocity, acceleration);
    }
    for b in (1..model.bodies.len()).rev() {
        let body = &model.bodies[b];
        for i in body.dofs.clone() {
            // c_i = S_i · F
            d.bias_force[i] = k.motion_subspace[i].dot(d.force[b]);
        }
        if body.tree.is_some() && model.bodies[body.parent].tree.is_some() {
            d.force[body.parent] = d.force[body.parent] + d.force[b];
        }
    }
}

/// Velocity and acceleration of a body with v̇ = 0 from those of its parent: V = V_parent + S v, A = A_parent + Ṡ v.
#[inline(always)]
fn across_joints<R: Real>(
    model: &Model,
    body: &Body,
    v: &[R],
    k: &Kinematics<R>,
    (mut velocity, mut acceleration): (Motion<R>, Motion<R>),
) -> (Motion<R>, Motion<R>) {
    for joint in &model.joints[body.joints.clone()] {
        let start = joint.v_start;
        match joint.kind {
            JointKind::Free => {
                // Its translations have fixed axes; its rotations are about O and start from rest: Ṡ = (0, v × a).
                (velocity.linear, velocity.angular) = (triple(v, start), Vec3::zero());
                for i in start + 3..start + 6 {
                    velocity.angular = k.motion_subspace[i].angular.mul_add(v[i], velocity.angular);
                }
                acceleration.linear = acceleration.linear + velocity.linear.cross(velocity.angular);
            }
            JointKind::Slide => {
                // Ṡ = V × (0, a) = (0, ω × a)
                let along = k.motion_subspace[start].linear.scale(v[start]);
                velocity.linear = velocity.linear + along;
                acceleration.linear = acceleration.linear + velocity.angular.cross(along);
            }
            JointKind::Hinge | JointKind::Ball => {
                // Ṡ = V × S, with the V before the joint
                let before = velocity;
                for i in start..start + joint.kind.nv() {
                    let along = k.motion_subspace[i];
                    velocity = along.mul_add(v[i], velocity);
                    acceleration = before.cross(along).mul_add(v[i], acceleration);
                }
            }
        }
    }
    (velocity, acceleration)
}

/// Spatial velocity and acceleration of every body about O, shape \[body\], under v and v̇; gravity as an acceleration −g of the world, which bodies that do
/// not move have too.
#[inline(always)]
pub fn body_accelerations<R: Real>(
    model: &Model,
    gravity: &[R],
    v: &[R],
    v_dot: &[R],
    k: &Kinematics<R>,
    velocity: &mut [Motion<R>],
    acceleration: &mut [Motion<R>],
) {
    (velocity[0], acceleration[0]) = (Motion::zero(), Motion { angular: Vec3::zero(), linear: -triple(gravity, 0) });
    for (b, body) in model.bodies.iter().enumerate().skip(1) {
        let parent = (velocity[body.parent], acceleration[body.parent]);
        let (own, mut rate) = across_joints(model, body, v, k, parent);
        for i in body.dofs.clone() {
            // + S v̇
            rate = k.motion_subspace[i].mul_add(v_dot[i], rate);
        }
        (velocity[b], acceleration[b]) = (own, rate);
    }
}

/// x within a range, if there is one.
#[inline(always)]
pub(crate) fn clamp<R: Real>(x: R, range: Option<[f64; 2]>) -> R {
    let Some([lo, hi]) = range else { return x };
    between(x, [R::constant(lo), R::constant(hi)])
}

/// x within bounds.
#[inline(always)]
pub(crate) fn between<R: Real>(x: R, [lo, hi]: [R; 2]) -> R {
    // Not max and min, which drop a NaN: a world with a NaN control must not go on as if it had a good one.
    R::select(hi.lt(x), hi, R::select(x.lt(lo), lo, x))
}

/// c₀ + c₁ length + c₂ rate
#[inline(always)]
fn affine<R: Real>(c: &[f64; 3], length: R, rate: R) -> R {
    R::constant(c[2]).mul_add(rate, R::constant(c[1]).mul_add(length, R::constant(c[0])))
}

/// What an actuator does at a state.
#[derive(Debug, Clone, Copy)]
pub struct ActuatorForce<R> {
    /// Force before the gear, N or N·m.
    pub force: R,
    /// Damping of its joint (or tendon) that comes of it, N·s/m or N·m·s/rad; none if the force does not depend on velocity.
    pub damping: Option<R>,
}

/// Force of actuator `u` whose input is its control within bounds, or its activation.
#[inline(always)]
pub fn actuator_force<R: Real>(
    model: &Model,
    u: usize,
    p: &TileParameters<'_, R>,
    [q, v]: [&[R]; 2],
    k: &Kinematics<R>,
    input: R,
) -> ActuatorForce<R> {
    let actuator = &model.actuators[u];
    let gear = R::constant(actuator.gear[0]);
    let scalar = actuator.transmission.is_scalar(model);
    let [length, rate] = transmitted(model, k, actuator, [q, v]);
    let (gain_scale, velocity_scale) = (p.gain_scale[u], p.velocity_gain_scale[u]);
    let rate = rate * velocity_scale;
    // f = gain u + bias
    let (gain, bias) = (affine(&actuator.gain, length, rate), affine(&actuator.bias, length, rate));
    let around = if actuator.is_position_servo() { turn_around(model, actuator) } else { None };
    let free_force = match (model.muscle_of(u), around) {
        (Some(muscle), _) => muscle_force(muscle, input, length, rate) * gain_scale,
        (None, None) => (gain * gain_scale).mul_add(input, bias * gain_scale),
        (None, Some(around)) => {
            // to its target by the shorter way around: kp (u − l) + b₀ + b₂ l̇
            let rest = R::constant(actuator.bias[2]).mul_add(rate, R::constant(actuator.bias[0]));
            R::constant(actuator.gain[0]).mul_add(shortest(input - length, around), rest) * gain_scale
        }
    };
    let force = if actuator.force_range.is_some() {
        between(free_force, [p.force_range[2 * u], p.force_range[2 * u + 1]])
    } else {
        free_force
    };
    let damping = if scalar && (actuator.gain[2] != 0.0 || actuator.bias[2] != 0.0) {
        // −∂f/∂v, where the force is not at a bound
        let slope = R::constant(actuator.gain[2]).mul_add(input, R::constant(actuator.bias[2]));
        let slope = slope * gain_scale * velocity_scale;
        Some(R::select(at_bound(force, free_force), R::zero(), -(slope * gear * gear)).max(R::zero()))
    } else {
        None
    };
    ActuatorForce { force, damping }
}

/// Where a force is at a bound: it is not what it would be without, `free_force`.
#[inline(always)]
fn at_bound<R: Real>(force: R, free_force: R) -> R::Mask {
    force.lt(free_force).or(free_force.lt(force))
}

/// The part of stage 4 before the solve: τ from actuators, springs and damping, and the damping D that is treated implicitly.
///
/// `inputs`: of actuators, shape \[nu\], see [`actuator_force`]; `external`: further generalized force, shape \[nv\].
#[inline(always)]
pub fn applied_force<R: Real>(
    model: &Model,
    p: &TileParameters<'_, R>,
    [q, v]: [&[R]; 2],
    k: &Kinematics<R>,
    inputs: &[R],
    external: &[R],
    d: &mut Dynamics<R>,
) {
    d.applied_force.fill(R::zero());
    d.damping.fill(R::zero());
    for (u, actuator) in model.actuators.iter().enumerate() {
        let ActuatorForce { force, damping } = actuator_force(model, u, p, [q, v], k, inputs[u]);
        add_actuator_force(model, k, u, force, &mut d.applied_force);
        if let (Some(damping), Transmission::Joint(joint)) = (damping, actuator.transmission) {
            d.damping[model.joints[joint].v_start] += damping;
        }
    }
    for (j, joint) in model.joints.iter().enumerate() {
        let start = joint.v_start;
        // without actuators there is no force to be bounded, whatever the bounds are
        if joint.actuator_force_range.is_some() && !model.actuators.is_empty() {
            for i in start..start + joint.kind.nv() {
                let free_force = d.applied_force[i];
                let force = clamp(free_force, joint.actuator_force_range);
                // −∂f/∂v, where the force is not at a bound; what is not an actuator's is added below
                d.applied_force[i] = force;
                d.damping[i] = R::select(at_bound(force, free_force), R::zero(), d.damping[i]);
            }
        }
        let stiffness = -p.stiffness[j];
        if joint.stiffness > 0.0 {
            match joint.kind {
                JointKind::Hinge | JointKind::Slide => {
                    let stretch = q[joint.q_start] - R::constant(joint.spring_reference);
                    d.applied_force[start] = stiffness.mul_add(stretch, d.applied_force[start]);
                }
                JointKind::Ball => {
                    let r = rotation_vector(quaternion(q, joint.q_start));
                    for (i, x) in [r.x, r.y, r.z].into_iter().enumerate() {
                        d.applied_force[start + i] = stiffness.mul_add(x, d.applied_force[start + i]);
                    }
                }
                JointKind::Free => {
                    let [x, r] = free_stretch(model, joint, q);
                    for (i, x) in [x.x, x.y, x.z, r.x, r.y, r.z].into_iter().enumerate() {
                        d.applied_force[start + i] = stiffness.mul_add(x, d.applied_force[start + i]);
                    }
                }
            }
        }
        let damping = p.damping[j];
        for i in start..start + joint.kind.nv() {
            d.applied_force[i] = (-damping).mul_add(v[i], d.applied_force[i]) + external[i];
            d.damping[i] += damping;
        }
    }
    for (t, tendon) in model.tendons.iter().enumerate() {
        if tendon.stiffness == 0.0 && tendon.damping == 0.0 {
            continue;
        }
        let length = tendon::length(model, k, t, q);
        let stretch = length - between(length, [R::constant(tendon.slack[0]), R::constant(tendon.slack[1])]);
        let spring = R::constant(-tendon.stiffness) * stretch;
        let force = R::constant(-tendon.damping).mul_add(tendon::rate(model, k, t, v), spring);
        tendon::add_along(model, k, t, force, &mut d.applied_force);
    }
}

/// How far the spring of a free joint is off the rest position: way, m, in world axes, and rotation vector, rad, in body axes.
#[inline(always)]
pub fn free_stretch<R: Real>(model: &Model, joint: &Joint, q: &[R]) -> [Vec3<R>; 2] {
    let rest = &model.q0[joint.q_start..joint.q_start + 7];
    let at = |x: &[f64]| Vec3::constant(&Vector3::from_column_slice(x));
    let turned = Quaternion::new(rest[3], rest[4], rest[5], rest[6]);
    let turned = Quat::constant(&UnitQuaternion::from_quaternion(turned).inverse());
    // x − x₀,  log(q₀⁻¹ q)
    [triple(q, joint.q_start) - at(&rest[..3]), rotation_vector(turned * quaternion(q, joint.q_start + 3))]
}

/// M + Δt D = Lᵀ diag(d) L in the packed form, without fill: column entries of an ancestor are a suffix of its descendant's row. From the last row on, each less what
/// the rows below take from it: with U = diag(d) L, `U_ic` = `M_ic` − Σ `L_ki` `U_kc` over the descendants k of i.
#[inline(always)]
pub fn factor<R: Real>(model: &Model, dt: R, d: &mut Dynamics<R>) {
    let Response { factor, inverse_root, .. } = &mut d.response;
    for (i, dof) in model.dofs.iter().enumerate().rev() {
        let (start, end) = (dof.row_start, dof.row_start + dof.ancestors.len());
        let mut column = start;
        while column < end {
            match end - column {
                1 => eliminate::<R, 1>(dof, column, &d.mass_matrix, factor, &mut d.upper),
                2 => eliminate::<R, 2>(dof, column, &d.mass_matrix, factor, &mut d.upper),
                3 => eliminate::<R, 3>(dof, column, &d.mass_matrix, factor, &mut d.upper),
                _ => eliminate::<R, 4>(dof, column, &d.mass_matrix, factor, &mut d.upper),
            }
            column += 4;
        }
        d.upper[start] = dt.mul_add(d.damping[i], d.upper[start]);
        let inverse = R::one() / d.upper[start];
        (d.inverse_diagonal[i], inverse_root[i]) = (inverse, inverse.sqrt());
        for (l, u) in factor[start..end].iter_mut().zip(&d.upper[start..end]) {
            *l = *u * inverse;
        }
    }
}

/// N entries of a row of U from `column` on.
#[inline(always)]
fn eliminate<R: Real, const N: usize>(dof: &Dof, column: usize, mass_matrix: &[R], factor: &[R], upper: &mut [R]) {
    let mut sum = [R::zero(); N];
    sum.copy_from_slice(&mass_matrix[column..column + N]);
    let ahead = column - dof.row_start;
    for &(_, entry) in &dof.descendants {
        let (l, u) = (factor[entry], &upper[entry + ahead..entry + ahead + N]);
        for n in 0..N {
            sum[n] = (-l).mul_add(u[n], sum[n]);
        }
    }
    upper[column..column + N].copy_from_slice(&sum);
}

/// x ← L⁻ᵀ x
#[inline(always)]
pub fn solve_transposed<R: Real>(model: &Model, factor: &[R], x: &mut [R]) {
    for (i, dof) in model.dofs.iter().enumerate().rev() {
        let mut sum = x[i];
        for &(k, entry) in &dof.descendants {
            sum = (-factor[entry]).mul_add(x[k], sum);
        }
        x[i] = sum;
    }
}

/// x ← L⁻¹ x of some vectors, shape \[nv\] each.
#[inline(always)]
pub fn solve_lower<R: Real, const N: usize>(model: &Model, factor: &[R], x: &mut [&mut [R]; N]) {
    for (i, dof) in model.dofs.iter().enumerate() {
        let mut sum = [R::zero(); N];
        for k in 0..N {
            sum[k] = x[k][i];
        }
        // from the root on: what its parent waited for comes last
        for p in (1..dof.ancestors.len()).rev() {
            let (a, l) = (dof.ancestors[p], -factor[dof.row_start + p]);
            for k in 0..N {
                sum[k] = l.mul_add(x[k][a], sum[k]);
            }
        }
        for k in 0..N {
            x[k][i] = sum[k];
        }
    }
}

/// Stage 4: v* = v + Δt (M + Δt D)⁻¹ (τ − c)
#[inline(always)]
pub fn free_velocity<R: Real>(model: &Model, dt: R, v: &[R], d: &mut Dynamics<R>) {
    let Response { factor, free_velocity: x, .. } = &mut d.response;
    for i in 0..model.nv() {
        x[i] = d.applied_force[i] - d.bias_force[i];
    }
    solve_transposed(model, factor, x);
    for i in 0..model.nv() {
        x[i] = x[i] * d.inverse_diagonal[i];
    }
    solve_lower(model, factor, &mut [x]);
    for i in 0..model.nv() {
        x[i] = dt.mul_add(x[i], v[i]);
    }
}

/// Velocity of every body under the generalized velocity `v`: Σ `S_i` `v_i` over all that moves it, shape \[body\].
#[inline(always)]
pub fn free_body_velocity<R: Real>(model: &Model, v: &[R], k: &Kinematics<R>, out: &mut [Motion<R>]) {
    for (b, body) in model.bodies.iter().enumerate() {
        if body.tree.is_none() {
            continue;
        }
        let moving_parent = model.bodies[body.parent].tree.is_some();
        let mut velocity = if moving_parent { out[body.parent] } else { Motion::zero() };
        for i in body.dofs.clone() {
            velocity = k.motion_subspace[i].mul_add(v[i], velocity);
        }
        out[b] = velocity;
    }
}

/// Stage 10: q⁺ = q ⊕ Δt v, quaternions on the manifold: rotations by the angular velocity in body axes, from the right.
#[inline(always)]
pub fn integrate<R: Real>(model: &Model, dt: R, v: &[R], q: &mut [R]) {
    for joint in &model.joints {
        let (qs, vs) = (joint.q_start, joint.v_start);
        let (translations, rotation) = match joint.kind {
            JointKind::Hinge | JointKind::Slide => (1, None),
            JointKind::Ball => (0, Some((qs, vs))),
            JointKind::Free => (3, Some((qs + 3, vs + 3))),
        };
        for i in 0..translations {
            q[qs + i] = dt.mul_add(v[vs + i], q[qs + i]);
        }
        if let Some((qs, vs)) = rotation {
            let turned = quaternion(q, qs) * Quat::exp(triple(v, vs).scale(dt));
            let Quat { w, v: axis } = turned.normalized();
            q[qs..qs + 4].copy_from_slice(&[w, axis.x, axis.y, axis.z]);
        }
    }
}
