//! Stages 2 and 3 where every tree moves in a plane: M(q) and c(q, v) of hinges about one direction and slides across it. Free motion of a hopper is half the operations that it is with the formulas of `dynamics`, which are those of space.
//!
//! Coordinates are along `e_1` and `e_2`, and n = `e_1` × `e_2` is the direction of the hinges; J x = n × x = (−`x_2`, `x_1`). What lies across the plane feels none of
//! it. About the point O of the tree, with the first moment h = m c:
//!
//! ```text
//! S = (σ, l)                            hinge about σ n through r: l = −σ J r;   slide: σ = 0, l its direction
//! I S = (I_O σ + h × l, m l + σ J h)    momentum
//! F = (h × a, m a − ω² h)               force with v̇ = 0, a: acceleration of the body-fixed point at O
//! ```
//!
//! These are the composite rigid body algorithm and recursive Newton-Euler (Featherstone, Rigid Body Dynamics Algorithms, 2008, chapters 5 and 6) in planar vectors (its section 2.16).

use crate::kinematics::{Kinematics, triple};
use crate::lane::Real;
use crate::model::{Actuator, Joint, JointKind, Model, Tendon, Transmission};
use crate::parameters::TileParameters;
use crate::spatial::Vec3;
use nalgebra::{UnitQuaternion, Vector3};

/// What a plane leaves of a model, and what its formulas need for one tile of worlds.
#[derive(Debug, Clone)]
pub struct Planar<R> {
    /// `e_1` and `e_2` of every tree in the world, shape \[tree\].
    planes: Vec<[Vector3<f64>; 2]>,
    /// Shape \[body\].
    bodies: Vec<Link>,
    /// Shape \[joint\].
    joints: Vec<Axis>,
    /// How every body is turned against its rest pose: sine and cosine, shape \[body\].
    turn: Vec<Turn<R>>,
    /// Origin of every body, m; O of its tree is the origin of its root, shape \[body\].
    position: Vec<[R; 2]>,
    /// l of every degree of freedom, shape \[nv\].
    line: Vec<[R; 2]>,
    /// Inertia of every body about O, shape \[body\].
    inertia: Vec<Inertia<R>>,
    /// Composite inertia of every body and what hangs from it, shape \[body\].
    composite: Vec<Inertia<R>>,
    /// How every body moves, shape \[body\].
    motion: Vec<Motion<R>>,
    /// Force on every body from its parent, shape \[body\].
    force: Vec<Force<R>>,
}

/// A body in its plane.
#[derive(Debug, Clone)]
struct Link {
    /// The axes of the plane in the frame of the body.
    axes: [Vector3<f64>; 2],
    /// Origin in its parent, at rest, m.
    offset: [f64; 2],
    /// Moment of inertia about n through the centre of mass, kg·m².
    moment: f64,
}

/// A joint in its plane.
#[derive(Debug, Clone)]
enum Axis {
    /// Rotation about `sign` n through `anchor`, m.
    Hinge { sign: f64, anchor: [f64; 2] },
    /// Translation along `way`, a unit vector.
    Slide { way: [f64; 2] },
}

/// Sine and cosine of a rotation about n; none where nothing turns.
type Turn<R> = Option<(R, R)>;

/// Inertia about O.
#[derive(Debug, Clone, Copy)]
struct Inertia<R> {
    /// m, kg.
    mass: R,
    /// h = m c, kg·m.
    first_moment: [R; 2],
    /// `I_O`, kg·m².
    moment: R,
}

/// How a body moves with v̇ = 0, of which there is no angular acceleration.
#[derive(Debug, Clone, Copy)]
struct Motion<R> {
    /// ω, rad/s.
    angular: R,
    /// Velocity of the body-fixed point that passes through O, m/s.
    linear: [R; 2],
    /// Linear part of its spatial acceleration, gravity as an upward acceleration of the world, m/s².
    acceleration: [R; 2],
}

/// A force about O, or a momentum.
#[derive(Debug, Clone, Copy)]
struct Force<R> {
    /// Moment about O, N·m.
    moment: R,
    /// Force, N.
    force: [R; 2],
}

/// Axes are in the plane or across it up to so much: rounding of unit vectors.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

impl<R: Real> Planar<R> {
    /// Room for `model`, if every tree of it moves in a plane, which no mocap body may turn, and neither a medium, nor a force against gravity, nor an actuator at a site, nor a tendon along a path acts on its bodies.
    pub fn new(model: &Model) -> Option<Self> {
        let medium = &model.medium;
        let in_space = model.bodies.iter().any(|body| body.mocap || body.gravity_compensation != 0.0);
        let at_site = |actuator: &Actuator| {
            matches!(actuator.transmission, Transmission::Site(_) | Transmission::SiteFrom { .. })
        };
        let in_space = in_space || model.actuators.iter().any(at_site) || model.tendons.iter().any(Tendon::is_spatial);
        if in_space || model.trees.is_empty() || medium.density != 0.0 || medium.viscosity != 0.0 {
            return None;
        }
        let mut rest = vec![UnitQuaternion::identity(); model.bodies.len()];
        for (b, body) in model.bodies.iter().enumerate().skip(1) {
            rest[b] = rest[body.parent] * body.orientation;
        }
        let mut planes = Vec::new();
        for t in 0..model.trees.len() {
            planes.push(plane(model, t, &rest)?);
        }
        let of_body = |b: usize| {
            let [e1, e2] = model.bodies[b].tree.map_or([Vector3::x(), Vector3::y()], |t| planes[t]);
            [rest[b].inverse() * e1, rest[b].inverse() * e2]
        };
        let bodies = (0..model.bodies.len()).map(|b| {
            let (body, axes) = (&model.bodies[b], of_body(b));
            let n = axes[0].cross(&axes[1]);
            Link { offset: within(&of_body(body.parent), &body.position), moment: n.dot(&(body.inertia * n)), axes }
        });
        let bodies: Vec<_> = bodies.collect();
        let joints = model.joints.iter().map(|joint| {
            let axes = &bodies[joint.body].axes;
            match joint.kind {
                JointKind::Slide => Axis::Slide { way: within(axes, &joint.axis) },
                _ => Axis::Hinge {
                    sign: axes[0].cross(&axes[1]).dot(&joint.axis).signum(),
                    anchor: within(axes, &joint.anchor),
                },
            }
        });
        let (zero, nb) = (R::zero(), model.bodies.len());
        let massless = Inertia { mass: zero, first_moment: [zero; 2], moment: zero };
        Some(Self {
            joints: joints.collect(),
            planes,
            bodies,
            turn: vec![None; nb],
            position: vec![[zero; 2]; nb],
            line: vec![[zero; 2]; model.nv()],
            inertia: vec![massless; nb],
            composite: vec![massless; nb],
            motion: vec![Motion { angular: zero, linear: [zero; 2], acceleration: [zero; 2] }; nb],
            force: vec![Force { moment: zero, force: [zero; 2] }; nb],
        })
    }
}

/// The plane that a tree moves in, if it does: two unit vectors, the first of them a slide or along an axis of the world where one lies in the plane, so that most products are with 0 or 1.
fn plane(model: &Model, tree: usize, rest: &[UnitQuaternion<f64>]) -> Option<[Vector3<f64>; 2]> {
    let own = |joint: &&Joint| model.bodies[joint.body].tree == Some(tree);
    let axis = |joint: &Joint| rest[joint.body] * joint.axis;
    let n = axis(model.joints.iter().filter(own).find(|joint| joint.kind == JointKind::Hinge)?);
    let flat = model.joints.iter().filter(own).all(|joint| match joint.kind {
        JointKind::Hinge => axis(joint).cross(&n).norm() <= ROUNDING,
        JointKind::Slide => axis(joint).dot(&n).abs() <= ROUNDING,
        JointKind::Ball | JointKind::Free => false,
    });
    let slides = model.joints.iter().filter(own).filter(|joint| joint.kind == JointKind::Slide).map(axis);
    let candidates = slides.chain([Vector3::x(), Vector3::y(), Vector3::z()]);
    // the one that is most in the plane, the first of equals
    let across = |e: &Vector3<f64>| (e.dot(&n).abs() / ROUNDING).floor();
    let e1 = candidates.min_by(|a, b| across(a).total_cmp(&across(b)))?;
    let e1 = (e1 - n * n.dot(&e1)).normalize();
    flat.then(|| [e1, n.cross(&e1)])
}

/// The coordinates of a constant along two axes.
fn within([e1, e2]: &[Vector3<f64>; 2], x: &Vector3<f64>) -> [f64; 2] {
    [e1.dot(x), e2.dot(x)]
}

/// Stages 2 and 3: M(q) with armature, packed as in [`Dynamics`](crate::dynamics::Dynamics), kg, kg·m and kg·m²; and c(q, v), N or N·m, shape \[nv\].
///
/// `q`, `v`: shapes \[nq\], \[nv\]; `k`: of it only sines and cosines are used ([`hinge_turns`](crate::kinematics::hinge_turns)).
#[inline(always)]
pub fn mass_and_bias<R: Real>(
    model: &Model,
    p: &TileParameters<'_, R>,
    [q, v]: [&[R]; 2],
    k: &Kinematics<R>,
    planar: &mut Planar<R>,
    mass_matrix: &mut [R],
    bias_force: &mut [R],
) {
    place(model, q, k, planar);
    inertias(model, p, planar);
    masses(model, p, planar, mass_matrix);
    forces(model, p, v, planar, bias_force);
}

/// Turns and origins of all bodies, and l of all joints.
#[inline(always)]
fn place<R: Real>(model: &Model, q: &[R], k: &Kinematics<R>, planar: &mut Planar<R>) {
    let Planar { bodies, joints, turn, position, line, .. } = planar;
    for (b, body) in model.bodies.iter().enumerate() {
        let Some(tree) = body.tree else { continue };
        let root = model.trees[tree].root == b;
        let (mut own_turn, mut origin) = if root {
            (None, [R::zero(); 2])
        } else {
            (turn[body.parent], sum(position[body.parent], turned(bodies[b].offset, turn[body.parent])))
        };
        for j in body.joints.clone() {
            let joint = &model.joints[j];
            // the anchor, until O is known
            let l = &mut line[joint.v_start];
            match &joints[j] {
                Axis::Slide { way } => {
                    *l = turned(*way, own_turn);
                    origin = along(*l, q[joint.q_start] - R::constant(joint.reference), origin);
                }
                Axis::Hinge { sign, anchor } => {
                    *l = sum(origin, turned(*anchor, own_turn));
                    let (sin, cos) = k.sin_cos[j];
                    own_turn = Some(after(own_turn, (R::constant(*sign) * sin, cos)));
                    origin = if *anchor == [0.0; 2] { *l } else { difference(*l, turned(*anchor, own_turn)) };
                }
            }
        }
        let reference = if root { origin } else { [R::zero(); 2] };
        for j in body.joints.clone() {
            if let Axis::Hinge { sign, .. } = &joints[j] {
                // l = −σ J r
                let l = &mut line[model.joints[j].v_start];
                let ([x, y], sign) = (difference(*l, reference), R::constant(*sign));
                *l = [sign * y, -(sign * x)];
            }
        }
        (turn[b], position[b]) = (own_turn, if root { [R::zero(); 2] } else { origin });
    }
}

/// Inertia of every body about O.
#[inline(always)]
fn inertias<R: Real>(model: &Model, p: &TileParameters<'_, R>, planar: &mut Planar<R>) {
    let Planar { bodies, turn, position, inertia, .. } = planar;
    for (b, body) in model.bodies.iter().enumerate() {
        if body.tree.is_none() {
            continue;
        }
        let (scale, com) = (p.mass_scale[b], triple(p.com, 3 * b));
        let [x, y] = sum(position[b], rotated(components(&bodies[b].axes, com), turn[b]));
        let mass = R::constant(body.mass) * scale;
        let h = [mass * x, mass * y];
        // I_O = I_c + m |c|²
        let moment = h[0].mul_add(x, h[1].mul_add(y, R::constant(bodies[b].moment) * scale));
        inertia[b] = Inertia { mass, first_moment: h, moment };
    }
}

/// M by the composite rigid body algorithm.
#[inline(always)]
fn masses<R: Real>(model: &Model, p: &TileParameters<'_, R>, planar: &mut Planar<R>, mass_matrix: &mut [R]) {
    let Planar { joints, line, inertia, composite, .. } = planar;
    composite.copy_from_slice(inertia);
    for b in (1..model.bodies.len()).rev() {
        let parent = model.bodies[b].parent;
        if model.bodies[b].tree.is_some() && model.bodies[parent].tree.is_some() {
            let (own, above) = (composite[b], &mut composite[parent]);
            above.mass += own.mass;
            above.first_moment = sum(above.first_moment, own.first_moment);
            above.moment += own.moment;
        }
    }
    for (i, dof) in model.dofs.iter().enumerate() {
        let (Inertia { mass, first_moment: [hx, hy], moment }, [x, y]) = (composite[dof.body], line[i]);
        // I S = (I_O σ + h × l, m l + σ J h)
        let mut momentum = Force { moment: hx.mul_add(y, -(hy * x)), force: [mass * x, mass * y] };
        if let Axis::Hinge { sign, .. } = joints[dof.joint] {
            let (sign, [px, py]) = (R::constant(sign), momentum.force);
            momentum.moment = sign.mul_add(moment, momentum.moment);
            momentum.force = [(-sign).mul_add(hy, px), sign.mul_add(hx, py)];
        }
        let row = &mut mass_matrix[dof.row_start..dof.row_start + dof.ancestors.len()];
        for (m, &j) in row.iter_mut().zip(&dof.ancestors) {
            *m = power(&joints[model.dofs[j].joint], line[j], momentum);
        }
        row[0] += p.armature[dof.joint];
    }
}

/// c by recursive Newton-Euler with v̇ = 0.
#[inline(always)]
fn forces<R: Real>(model: &Model, p: &TileParameters<'_, R>, v: &[R], planar: &mut Planar<R>, bias_force: &mut [R]) {
    let Planar { planes, joints, line, inertia, motion, force, .. } = planar;
    let gravity = triple(p.gravity, 0);
    for (b, body) in model.bodies.iter().enumerate() {
        let Some(tree) = body.tree else { continue };
        let Motion { mut angular, mut linear, mut acceleration } = if model.trees[tree].root == b {
            Motion { angular: R::zero(), linear: [R::zero(); 2], acceleration: components(&planes[tree], -gravity) }
        } else {
            motion[body.parent]
        };
        for j in body.joints.clone() {
            let i = model.joints[j].v_start;
            let [x, y] = [line[i][0] * v[i], line[i][1] * v[i]];
            // Ṡ = V × S, with the V before the joint: ω J l, and for a hinge − σ J v
            let mut rate = [-(angular * y), angular * x];
            if let Axis::Hinge { sign, .. } = joints[j] {
                let turns = R::constant(sign) * v[i];
                rate = [turns.mul_add(linear[1], rate[0]), (-turns).mul_add(linear[0], rate[1])];
                angular += turns;
            }
            linear = sum(linear, [x, y]);
            acceleration = sum(acceleration, rate);
        }
        motion[b] = Motion { angular, linear, acceleration };
        // F = (h × a, m a − ω² h), a = A + ω J v
        let [ax, ay] = [(-angular).mul_add(linear[1], acceleration[0]), angular.mul_add(linear[0], acceleration[1])];
        let (Inertia { mass, first_moment: [hx, hy], .. }, square) = (inertia[b], angular * angular);
        force[b] = Force {
            moment: hx.mul_add(ay, -(hy * ax)),
            force: [(-square).mul_add(hx, mass * ax), (-square).mul_add(hy, mass * ay)],
        };
    }
    for b in (1..model.bodies.len()).rev() {
        let body = &model.bodies[b];
        let own = force[b];
        for i in body.dofs.clone() {
            // c_i = S_i · F
            bias_force[i] = power(&joints[model.dofs[i].joint], line[i], own);
        }
        if body.tree.is_some() && model.bodies[body.parent].tree.is_some() {
            let above = &mut force[body.parent];
            *above = Force { moment: above.moment + own.moment, force: sum(above.force, own.force) };
        }
    }
}

/// S · F
#[inline(always)]
fn power<R: Real>(axis: &Axis, [x, y]: [R; 2], Force { moment, force: [fx, fy] }: Force<R>) -> R {
    let along = x.mul_add(fx, y * fy);
    match *axis {
        Axis::Slide { .. } => along,
        Axis::Hinge { sign, .. } => R::constant(sign).mul_add(moment, along),
    }
}

/// The coordinates of a vector along two constant axes.
#[inline(always)]
fn components<R: Real>(axes: &[Vector3<f64>; 2], x: Vec3<R>) -> [R; 2] {
    let [e1, e2] = axes;
    [Vec3::constant(e1).dot(x), Vec3::constant(e2).dot(x)]
}

/// Rotations one after the other.
#[inline(always)]
fn after<R: Real>(turn: Turn<R>, (sin, cos): (R, R)) -> (R, R) {
    let Some((s, c)) = turn else { return (sin, cos) };
    (s.mul_add(cos, c * sin), c.mul_add(cos, -(s * sin)))
}

/// A constant, turned.
#[inline(always)]
fn turned<R: Real>([x, y]: [f64; 2], turn: Turn<R>) -> [R; 2] {
    let (a, b) = (R::constant(x), R::constant(y));
    match turn {
        Some(_) if x == 0.0 && y == 0.0 => [R::zero(); 2],
        Some((sin, cos)) if x == 0.0 => [-(b * sin), b * cos],
        Some((sin, cos)) if y == 0.0 => [a * cos, a * sin],
        _ => rotated([a, b], turn),
    }
}

/// The same of what is no constant.
#[inline(always)]
fn rotated<R: Real>([x, y]: [R; 2], turn: Turn<R>) -> [R; 2] {
    let Some((sin, cos)) = turn else { return [x, y] };
    [cos.mul_add(x, -(sin * y)), sin.mul_add(x, cos * y)]
}

/// s a + b
#[inline(always)]
fn along<R: Real>(a: [R; 2], s: R, b: [R; 2]) -> [R; 2] {
    [a[0].mul_add(s, b[0]), a[1].mul_add(s, b[1])]
}

#[inline(always)]
fn sum<R: Real>(a: [R; 2], b: [R; 2]) -> [R; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

#[inline(always)]
fn difference<R: Real>(a: [R; 2], b: [R; 2]) -> [R; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_its_plane_is_told() {
        let is_planar = |bodies: &str| {
            let model = Model::from_mjcf_str(&format!("<mujoco><worldbody>{bodies}</worldbody></mujoco>"));
            Planar::<f64>::new(&model.expect("a model")).is_some()
        };
        let body = |joints: &str| format!("<body>{joints}<geom size='0.1' pos='0.1 0 0'/></body>");
        let with = |joints: &str| is_planar(&body(joints));
        assert!(with("<joint axis='0 1 0'/>"));
        assert!(with("<joint type='slide' axis='1 0 1'/><joint axis='0 1 0'/>"));
        assert!(!with("<joint type='slide' axis='0 1 0'/><joint axis='0 1 0'/>"), "along its hinge");
        assert!(!with("<joint axis='0 1 0'/><joint axis='0 1 1e-7'/>"), "about two axes");
        assert!(!with("<joint type='slide' axis='1 0 0'/>"), "no hinge, no plane");
        assert!(!with("<freejoint/>"));
        assert!(!with("<joint type='ball'/>"));
        let [hinge, free] = ["<joint axis='0 1 0'/>", "<freejoint/>"].map(body);
        assert!(is_planar(&format!("{hinge}{hinge}")));
        assert!(!is_planar(&format!("{hinge}{free}")), "one tree of two");
    }
}
