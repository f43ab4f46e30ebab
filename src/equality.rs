//! Bilateral rows: equality constraints (connect, weld, joint, tendon) that hold in every world at every step.
//!
//! A connect gives three rows, a weld six, one of joints or tendons one. Each is written as an error e(q) and a velocity ė = J v; the velocity problem asks for
//! ė = 0, the position problem for ė = −β e/Δt.
//!
//! Where rows are hard, and all joints of the loop that a connect or a weld closes move in one plane, as in the four bars of a gripper's finger, nothing moves across it: there a connect has two rows, along
//! the plane, and a weld three. A row that nothing moves would be rounding alone, in J, in its error, and in the impulses that are to take that error out.

use crate::kinematics::{Kinematics, kinematics, orientation};
use crate::lane::{Mask, Real};
use crate::model::{EqualityKind, JointKind, Model};
use crate::spatial::{Motion, Quat, Vec3};
use crate::tendon;
use nalgebra::{UnitQuaternion, Vector3};

/// One bilateral row.
#[derive(Debug, Clone)]
pub enum EqualityRow {
    /// L₁ − L₁₀ − p(L₂ − L₂₀) with the polynomial p, of lengths of joints or tendons.
    Length {
        /// First length.
        first: Length,
        /// Second length, if any.
        second: Option<Length>,
        /// Coefficients of p, constant first.
        polynomial: [f64; 5],
    },
    /// Distance, along an axis, of a point of body b from a point of body a, m.
    Point {
        /// The bodies.
        bodies: [usize; 2],
        /// The points in the frames of their bodies, m.
        points: [Vector3<f64>; 2],
        /// The axis.
        axis: Axis,
    },
    /// Rotation, about an axis, of body b from where body a wants it, rad.
    Rotation {
        /// The bodies.
        bodies: [usize; 2],
        /// Orientation of b in a.
        relative: UnitQuaternion<f64>,
        /// The axis.
        axis: Axis,
    },
}

/// What a row of a connect or a weld is along, or about.
#[derive(Debug, Clone, Copy)]
pub enum Axis {
    /// An axis of the world.
    World(usize),
    /// A unit vector in the frame of a body.
    Body(usize, Vector3<f64>),
}

impl Axis {
    /// Unit vector, world axes.
    #[inline(always)]
    pub fn direction<R: Real>(self, k: &Kinematics<R>) -> Vec3<R> {
        match self {
            Self::World(axis) => Vec3::unit(axis),
            Self::Body(body, axis) => k.body_pose[body].rotation.mul_constant(&axis),
        }
    }
}

/// Rows along and about all axes of the world.
fn of_world() -> [Vec<Axis>; 2] {
    [(0..3).map(Axis::World).collect(), (0..3).map(Axis::World).collect()]
}

/// Joints count as moving in one plane up to such an angle, rad: files tell right angles by a few digits, and what moves by a ten-thousandth of what it should is not moved.
const PLANE: f64 = 1e-4;

/// The axes that the loop between two bodies has rows along, and about: those of the world, or, if all of its joints move in one plane, two in the plane and the one across.
fn axes(
    model: &Model,
    rest: &Kinematics<f64>,
    [a, b]: [usize; 2],
    orientation: &UnitQuaternion<f64>,
) -> [Vec<Axis>; 2] {
    let chain = |body: usize| model.last_dof(body).map_or(&[][..], |dof| &model.dofs[dof].ancestors);
    let (of_a, of_b) = (chain(a), chain(b));
    let own = of_a.iter().filter(|dof| !of_b.contains(dof)).chain(of_b.iter().filter(|dof| !of_a.contains(dof)));
    let kind = |dof: usize| model.joints[model.dofs[dof].joint].kind;
    let axis = |dof: usize| {
        let Motion { angular, linear } = rest.motion_subspace[dof];
        let along = if kind(dof) == JointKind::Hinge { angular } else { linear };
        Vector3::new(along.x, along.y, along.z)
    };
    let across = own.clone().find(|dof| kind(**dof) == JointKind::Hinge).map(|dof| axis(*dof));
    let flat = |n: &Vector3<f64>| {
        own.clone().all(|dof| match kind(*dof) {
            JointKind::Hinge => axis(*dof).cross(n).norm() <= PLANE,
            JointKind::Slide => axis(*dof).dot(n).abs() <= PLANE,
            JointKind::Ball | JointKind::Free => false,
        })
    };
    // what the user moves, and carries one of the two alone, need not stay in a plane
    let parent = |body: &usize| (*body != 0).then(|| model.bodies[*body].parent);
    let carriers = [a, b].map(|body| std::iter::successors(Some(body), parent).collect::<Vec<_>>());
    let [of_one, of_other] = &carriers;
    let is_moved =
        |these: &[usize], others: &[usize]| these.iter().any(|b| model.bodies[*b].mocap && !others.contains(b));
    let is_moved = is_moved(of_one, of_other) || is_moved(of_other, of_one);
    match across {
        Some(n) if flat(&n) && !is_moved => {
            let n = orientation.inverse() * n;
            let e1 = n.cross(&Vector3::ith(n.iamin(), 1.0)).normalize();
            [vec![Axis::Body(a, e1), Axis::Body(a, n.cross(&e1))], vec![Axis::Body(a, n)]]
        }
        _ => of_world(),
    }
}

/// The coordinate of a hinge or a slide, or the length of a tendon, and what it is at rest.
#[derive(Debug, Clone)]
pub struct Length {
    /// What it is of.
    pub of: Coordinate,
    /// L₀, rad or m.
    pub rest: f64,
}

/// What has a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coordinate {
    /// A hinge or a slide.
    Joint(usize),
    /// A tendon.
    Tendon(usize),
}

impl Coordinate {
    /// L.
    #[inline(always)]
    fn length<R: Real>(self, model: &Model, k: &Kinematics<R>, q: &[R]) -> R {
        match self {
            Self::Joint(joint) => q[model.joints[joint].q_start],
            Self::Tendon(tendon) => tendon::length(model, k, tendon, q),
        }
    }

    /// x ← x + ∂L/∂q `by`, of a row of J, shape \[nv\].
    #[inline(always)]
    fn add_along<R: Real>(self, model: &Model, k: &Kinematics<R>, by: R, x: &mut [R]) {
        match self {
            Self::Joint(joint) => x[model.joints[joint].v_start] += by,
            Self::Tendon(tendon) => tendon::add_along(model, k, tendon, by, x),
        }
    }

    /// The worlds in which it changes with v at all; none if it always does.
    #[inline(always)]
    fn pulls<R: Real>(self, model: &Model, k: &Kinematics<R>) -> Option<R::Mask> {
        match self {
            Self::Tendon(tendon) if model.tendons[tendon].is_spatial() => Some(tendon::pulls(model, k, tendon)),
            Self::Tendon(_) | Self::Joint(_) => None,
        }
    }

    /// The degrees of freedom that it depends on.
    fn dofs(self, model: &Model) -> Vec<usize> {
        match self {
            Self::Joint(joint) => vec![model.joints[joint].v_start],
            Self::Tendon(tendon) => model.tendons[tendon].dofs(model),
        }
    }
}

impl Length {
    /// L − L₀.
    #[inline(always)]
    fn offset<R: Real>(&self, model: &Model, k: &Kinematics<R>, q: &[R]) -> R {
        self.of.length(model, k, q) - R::constant(self.rest)
    }
}

/// The bilateral rows of a model, and what each touches.
#[derive(Debug, Clone, Default)]
pub struct EqualityPlan {
    /// The rows, in the order of the model's equalities.
    pub rows: Vec<EqualityRow>,
    /// Index of the equality that each row is of, shape \[row\].
    pub equality: Vec<usize>,
    /// The moving trees that each row ties together, shape \[row\].
    pub trees: Vec<Vec<usize>>,
    /// The last degrees of freedom of the chains that each row touches, shape \[row\].
    pub heads: Vec<Vec<usize>>,
}

impl EqualityPlan {
    /// The rows of the active equalities of `model`. What is not given (the point on the second body, a weld's relative pose) is as at rest.
    /// `is_soft`: whether rows give way; then loops in a plane have all of MuJoCo's, and none has an impulse without end.
    pub fn new(model: &Model, is_soft: bool) -> Self {
        let mut rest = Kinematics::<f64>::new(model);
        kinematics(model, &model.q0, &mut rest);
        let pose = |b: usize| {
            let (p, q) = (rest.body_pose[b].position, orientation(model, &model.q0, &rest, b));
            let quaternion = nalgebra::Quaternion::new(q.w, q.v.x, q.v.y, q.v.z);
            (Vector3::new(p.x, p.y, p.z), UnitQuaternion::from_quaternion(quaternion))
        };
        let length = |of: Coordinate| Length { of, rest: of.length(model, &rest, &model.q0) };
        let (mut rows, mut of) = (Vec::new(), Vec::new());
        for (index, equality) in model.equalities.iter().enumerate().filter(|(_, e)| e.active) {
            match &equality.kind {
                EqualityKind::Joint { joint_a, joint_b, polynomial } => {
                    let joint = |joint: usize| length(Coordinate::Joint(joint));
                    let (first, second) = (joint(*joint_a), joint_b.map(joint));
                    rows.push(EqualityRow::Length { first, second, polynomial: *polynomial });
                }
                EqualityKind::Tendon { tendon_a, tendon_b, polynomial } => {
                    let tendon = |tendon: usize| length(Coordinate::Tendon(tendon));
                    let (first, second) = (tendon(*tendon_a), tendon_b.map(tendon));
                    rows.push(EqualityRow::Length { first, second, polynomial: *polynomial });
                }
                EqualityKind::Connect { body_a, body_b, anchor, anchor_b } => {
                    let ((pa, ra), (pb, rb)) = (pose(*body_a), pose(*body_b));
                    let on_b = anchor_b.unwrap_or_else(|| rb.inverse() * (pa + ra * anchor - pb));
                    let (bodies, points) = ([*body_a, *body_b], [*anchor, on_b]);
                    let [along, _] = if is_soft { of_world() } else { axes(model, &rest, bodies, &ra) };
                    rows.extend(along.into_iter().map(|axis| EqualityRow::Point { bodies, points, axis }));
                }
                EqualityKind::Weld { body_a, body_b, anchor, relative } => {
                    let ((pa, ra), (pb, rb)) = (pose(*body_a), pose(*body_b));
                    let (p, r) = relative.unwrap_or((ra.inverse() * (pb - pa), ra.inverse() * rb));
                    let (bodies, points) = ([*body_a, *body_b], [p + r * anchor, *anchor]);
                    let [along, about] = if is_soft { of_world() } else { axes(model, &rest, bodies, &ra) };
                    rows.extend(along.into_iter().map(|axis| EqualityRow::Point { bodies, points, axis }));
                    rows.extend(about.into_iter().map(|axis| EqualityRow::Rotation { bodies, relative: r, axis }));
                }
            }
            of.resize(rows.len(), index);
        }
        let heads: Vec<Vec<usize>> = rows
            .iter()
            .map(|row| match row {
                EqualityRow::Length { first, second, .. } => {
                    let lengths = std::iter::once(first).chain(second);
                    lengths.flat_map(|length| length.of.dofs(model)).collect()
                }
                EqualityRow::Point { bodies, .. } | EqualityRow::Rotation { bodies, .. } => {
                    bodies.iter().filter_map(|&b| model.last_dof(b)).collect()
                }
            })
            .collect();
        let trees = heads.iter().map(|h| h.iter().map(|&d| model.dofs[d].tree).collect()).collect();
        Self { rows, equality: of, trees, heads }
    }
}

/// The bilateral rows of a tile of worlds.
#[derive(Debug, Clone, Default)]
pub struct Equalities<R> {
    /// J, shape \[row\]\[nv\].
    pub jacobian: Vec<R>,
    /// e(q), m or rad, shape \[row\].
    pub error: Vec<R>,
}

/// Errors and Jacobians of all bilateral rows.
#[inline(always)]
pub fn equalities<R: Real>(model: &Model, plan: &EqualityPlan, q: &[R], k: &Kinematics<R>, out: &mut Equalities<R>) {
    let nv = model.nv();
    out.jacobian.clear();
    out.jacobian.resize(plan.rows.len() * nv, R::zero());
    out.error.resize(plan.rows.len(), R::zero());
    for (i, row) in plan.rows.iter().enumerate() {
        let jacobian = &mut out.jacobian[i * nv..(i + 1) * nv];
        out.error[i] = match row {
            EqualityRow::Length { first, second, polynomial } => {
                let (mut value, mut slope) = (R::constant(polynomial[0]), R::zero());
                if let Some(second) = second {
                    // Horner: p and p'
                    let x = second.offset(model, k, q);
                    value = R::zero();
                    for c in polynomial.iter().rev() {
                        slope = slope.mul_add(x, value);
                        value = value.mul_add(x, R::constant(*c));
                    }
                    second.of.add_along(model, k, -slope, jacobian);
                }
                first.of.add_along(model, k, R::one(), jacobian);
                let error = first.offset(model, k, q) - value;
                // what moves nothing cannot be asked to
                match (first.of.pulls(model, k), second.as_ref().map(|second| second.of.pulls(model, k))) {
                    (Some(pulls), None) => R::select(pulls, error, R::zero()),
                    (Some(pulls), Some(Some(others))) => R::select(pulls.or(others), error, R::zero()),
                    _ => error,
                }
            }
            EqualityRow::Point { bodies, points, axis } => {
                let world = [0, 1].map(|s| k.body_pose[bodies[s]].point(Vec3::constant(&points[s])));
                let e = axis.direction(k);
                chain(model, k, *bodies, jacobian, |s, m, o| e.dot(m.at(world[s] - o)));
                e.dot(world[1] - world[0])
            }
            EqualityRow::Rotation { bodies, relative, axis } => {
                let e = axis.direction(k);
                chain(model, k, *bodies, jacobian, |_, m, _| e.dot(m.angular));
                // 2 vec(q_b (q_a q_rel)⁻¹), on the nearer side
                let wanted = orientation(model, q, k, bodies[0]) * Quat::constant(relative);
                let turn = orientation(model, q, k, bodies[1]) * Quat { w: wanted.w, v: -wanted.v };
                let two = R::select(turn.w.lt(R::zero()), R::constant(-2.0), R::constant(2.0));
                e.dot(turn.v) * two
            }
        };
    }
}

/// Adds to a row of J what body b (+) and body a (−) contribute, dof by dof; `along(side, S, O)` is the row's velocity under S about O.
#[inline(always)]
fn chain<R: Real>(
    model: &Model,
    k: &Kinematics<R>,
    bodies: [usize; 2],
    jacobian: &mut [R],
    along: impl Fn(usize, Motion<R>, Vec3<R>) -> R,
) {
    for (side, sign) in [(0, -R::one()), (1, R::one())] {
        let Some(head) = model.last_dof(bodies[side]) else { continue };
        for &d in &model.dofs[head].ancestors {
            let u = along(side, k.motion_subspace[d], k.reference[model.dofs[d].tree]);
            jacobian[d] = sign.mul_add(u, jacobian[d]);
        }
    }
}
