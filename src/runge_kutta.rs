//! Stages 1–4 at four states a step instead of one: the classical Runge-Kutta method for free motion, on the manifold of positions.
//!
//! ```text
//! (M(q_j) + Δt Θ D) a_j = τ(q_j, v) − c(q_j, v_j)                     j = 1 … 4
//!
//! v_1 = v                  q_1 = q
//! v_2 = v + Δt/2 a_1       q_2 = q ⊕ Δt ½ v_1
//! v_3 = v + Δt/2 a_2       q_3 = q ⊕ Δt (½ v_2 + Δt/8 [v_1, v_2])
//! v_4 = v + Δt a_3         q_4 = q ⊕ Δt v_3
//!
//! v* = v + Δt (a_1 + 2 a_2 + 2 a_3 + a_4)/6
//! v̄  = (v_1 + 2 v_2 + 2 v_3 + v_4)/6 + Δt/12 [v_1, v_4]               q* = q ⊕ Δt v̄
//! ```
//!
//! \[a, b\] is a × b in the rotations of ball and free joints, whose velocities are in axes that turn, and 0 elsewhere; without it the method is of second
//! order there (Munthe-Kaas & Owren, Computations in a free Lie algebra, 1999; with soft constraints [`Turning::Vectors`] is in its place). The error of a step is of order Δt⁵; an oscillation of angular
//! frequency ω loses the share (ω Δt)⁶/72 of its energy in a step, and grows from ω Δt = 2.8 on.
//!
//! Contacts, limits and friction that are hard act once a step, on M and J at its start, as in Euler's scheme: v⁺ = v* + (M + Δt Θ D)⁻¹ Jᵀ λ, and q moves by
//! v̄ + ½ (M + Δt Θ D)⁻¹ Jᵀ λ' with λ' of the position problem, so that a contact that lasts has the same impulse in both problems (Moreau's scheme with
//! θ = ½; Acary, Energy conservation and dissipation properties of time-integration methods for nonsmooth elastodynamics with contact, 2016).
//!
//! Impulses within a tree change its motion inside of the step, which the evaluations have not seen: momentum would be kept to first order only. So where all that
//! acts on a free tree is its own, [`keep_momentum`] moves it as a whole onto the momentum of its free motion.
//!
//! Whatever depends on velocity in τ (dampers, servos) acts with the v of the start and is implicit through D, as in Euler's scheme; Θ centres it
//! ([`crate::damping::center_damping`]), which makes the method of second order in D, and stable with stiff dampers.

use crate::dynamics::{Dynamics, free_body_velocity, integrate};
use crate::inertia::inertias;
use crate::kinematics::{Kinematics, body_poses, quaternion, triple};
use crate::lane::{Compiled, Real, Task, copies};
use crate::model::{Joint, JointKind, Model};
use crate::parameters::TileParameters;
use crate::spatial::{Force, Inertia, Vec3, vec3};

/// Number of evaluations of the dynamics in a step.
pub const EVALUATIONS: usize = 4;
/// Share of every evaluation in the mean of the step.
pub const WEIGHT: [f64; EVALUATIONS] = [1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0];
/// How far the state of the next evaluation lies ahead, over Δt.
pub(crate) const AHEAD: [f64; EVALUATIONS] = [0.5, 0.5, 1.0, 0.0];

/// What the evaluations inside of a step need, for one tile of worlds at a time.
#[derive(Debug, Clone)]
pub struct RungeKutta<R> {
    /// Kinematics at the state of the evaluation.
    pub kinematics: Kinematics<R>,
    /// Dynamics at the state of the evaluation.
    pub dynamics: Dynamics<R>,
    /// The states.
    pub path: Path<R>,
}

/// The state of the evaluation at hand, and what the evaluations so far add up to.
#[derive(Debug, Clone)]
pub struct Path<R> {
    /// Position `q_j`, shape \[nq\].
    pub q: Vec<R>,
    /// Velocity `v_j`, shape \[nv\].
    pub v: Vec<R>,
    /// Way to the next position over Δt, shape \[nv\].
    way: Vec<R>,
    /// v* after the last evaluation, shape \[nv\].
    pub free_velocity: Vec<R>,
    /// v̄ after the last evaluation, shape \[nv\].
    pub mean_velocity: Vec<R>,
    /// How rotations add up.
    turning: Turning,
    /// What the rates of rotation vectors are beyond velocities, shape \[nv\].
    beyond: Vec<R>,
}

/// How the rotations of ball and free joints add up over a step: either way to fourth order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turning {
    /// Velocities, and brackets of them.
    Brackets,
    /// Rates of the rotation vector u_j from the start of the step, as in MuJoCo 4.0 (Munthe-Kaas, High order Runge-Kutta methods on manifolds, 1999): with θ = |u|
    ///
    /// u̇ = ω + ½ u × ω + (1 − θ/2 cot θ/2)/θ² u × (u × ω)
    Vectors,
}

impl<R: Real> RungeKutta<R> {
    /// Room for `model`.
    pub fn new(model: &Model) -> Self {
        Self {
            kinematics: Kinematics::new(model),
            dynamics: Dynamics::new(model),
            path: Path::new(model, Turning::Brackets),
        }
    }
}

impl<R: Real> Path<R> {
    /// Room for `model`.
    pub fn new(model: &Model, turning: Turning) -> Self {
        let zero = copies(R::zero(), model.nv());
        Self {
            q: copies(R::zero(), model.nq()),
            v: zero.clone(),
            way: zero.clone(),
            free_velocity: zero.clone(),
            mean_velocity: zero.clone(),
            turning,
            beyond: zero,
        }
    }
}

/// The first state: q and v themselves.
#[inline(always)]
pub fn start<R: Real>(q: &[R], v: &[R], path: &mut Path<R>) {
    path.q.copy_from_slice(q);
    path.v.copy_from_slice(v);
    path.free_velocity.copy_from_slice(v);
    path.mean_velocity.fill(R::zero());
}

/// Adds evaluation `j` (from 0) to v* and v̄, and goes on to the next state. `end`: v + Δt `a_j`, shape \[nv\].
#[inline(always)]
pub fn advance<R: Real>(model: &Model, dt: f64, j: usize, q: &[R], v: &[R], end: &[R], path: &mut Path<R>) {
    let (weight, ahead) = (R::constant(WEIGHT[j]), R::constant(AHEAD[j]));
    if j > 0 && path.turning == Turning::Vectors {
        find_beyond(model, R::constant(dt), path);
    }
    for i in 0..model.nv() {
        let at = path.v[i];
        path.mean_velocity[i] = weight.mul_add(at, path.mean_velocity[i]);
        path.way[i] = ahead * at;
    }
    if j > 0 && path.turning == Turning::Vectors {
        for (i, beyond) in path.beyond.iter().enumerate() {
            path.mean_velocity[i] = weight.mul_add(*beyond, path.mean_velocity[i]);
            path.way[i] = ahead.mul_add(*beyond, path.way[i]);
        }
    }
    if j == 1 && path.turning == Turning::Brackets {
        add_bracket(model, R::constant(dt / 8.0), v, &path.v, &mut path.way);
    }
    if j == EVALUATIONS - 1 && path.turning == Turning::Brackets {
        add_bracket(model, R::constant(dt / 12.0), v, &path.v, &mut path.mean_velocity);
    }
    for i in 0..model.nv() {
        let increment = end[i] - v[i];
        path.free_velocity[i] = weight.mul_add(increment, path.free_velocity[i]);
        path.v[i] = ahead.mul_add(increment, v[i]);
    }
    if j < EVALUATIONS - 1 {
        path.q.copy_from_slice(q);
        integrate(model, R::constant(dt), &path.way, &mut path.q);
    }
}

/// (1 − x cot x)/(2 x)² with x = θ/2, in powers of θ²: to 6e-10 at 1 rad.
const COTANGENT: [f64; 5] = [1.0 / 12.0, 1.0 / 720.0, 1.0 / 30_240.0, 1.0 / 1_209_600.0, 1.0 / 47_900_160.0];

/// What the rates of the rotation vectors, which are Δt times the way here, are beyond the velocities.
#[inline(always)]
fn find_beyond<R: Real>(model: &Model, dt: R, path: &mut Path<R>) {
    for start in rotations(model) {
        let (turned, rate) = (triple(&path.way, start).scale(dt), triple(&path.v, start));
        let square = turned.dot(turned);
        let mut series = R::zero();
        for coefficient in COTANGENT.into_iter().rev() {
            series = series.mul_add(square, R::constant(coefficient));
        }
        let across = turned.cross(rate);
        let beyond = across.mul_add(R::constant(0.5), turned.cross(across).scale(series));
        path.beyond[start..start + 3].copy_from_slice(&[beyond.x, beyond.y, beyond.z]);
    }
}

/// First degree of freedom of the rotation of every ball and free joint.
fn rotations(model: &Model) -> impl Iterator<Item = usize> {
    model.joints.iter().filter_map(|joint| match joint.kind {
        JointKind::Hinge | JointKind::Slide => None,
        JointKind::Ball => Some(joint.v_start),
        JointKind::Free => Some(joint.v_start + 3),
    })
}

/// out += s \[a, b\]: the rotations of ball and free joints.
#[inline(always)]
fn add_bracket<R: Real>(model: &Model, s: R, a: &[R], b: &[R], out: &mut [R]) {
    for start in rotations(model) {
        let sum = triple(a, start).cross(triple(b, start)).mul_add(s, triple(out, start));
        out[start..start + 3].copy_from_slice(&[sum.x, sum.y, sum.z]);
    }
}

/// A tree as a whole.
#[derive(Debug, Clone, Copy, Default)]
pub struct Whole<R> {
    /// Mass, kg.
    mass: R,
    /// Centre of mass, m.
    com: Vec3<R>,
    /// Momentum, N·s.
    linear: Vec3<R>,
    /// Momentum about the centre of mass, N·m·s.
    angular: Vec3<R>,
    /// Inertia about the centre of mass, kg·m², by columns.
    inertia: [Vec3<R>; 3],
}

/// All trees at q and v, shape \[tree\]. `k` and the bodies' inertias and velocities in `d` are those of this state afterwards.
#[inline(always)]
pub fn whole_trees<R: Real>(
    model: &Model,
    p: &TileParameters<'_, R>,
    q: &[R],
    v: &[R],
    k: &mut Kinematics<R>,
    d: &mut Dynamics<R>,
    out: &mut [Whole<R>],
) {
    R::run(WholeTrees { model, p, q, v, k, d, out });
}

/// [`whole_trees`] as one function.
struct WholeTrees<'a, R> {
    model: &'a Model,
    p: &'a TileParameters<'a, R>,
    q: &'a [R],
    v: &'a [R],
    k: &'a mut Kinematics<R>,
    d: &'a mut Dynamics<R>,
    out: &'a mut [Whole<R>],
}

impl<R: Real> Task for WholeTrees<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { model, p, q, v, k, d, out } = self;
        body_poses(model, q, k);
        inertias(model, &d.moments, p, k, &mut d.inertia);
        free_body_velocity(model, v, k, &mut d.free_body_velocity);
        for (tree, out) in out.iter_mut().enumerate() {
            let (mut inertia, mut momentum) = (Inertia::zero(), Force::default());
            for (b, body) in model.bodies.iter().enumerate() {
                if body.tree == Some(tree) {
                    inertia = inertia + d.inertia[b];
                    momentum = momentum + d.inertia[b].momentum(d.free_body_velocity[b]);
                }
            }
            let Inertia { mass, first_moment, diagonal, off_diagonal: o } = inertia;
            let c = first_moment.scale(R::one() / mass);
            // I − m (c·c 1 − c cᵀ)
            let square = first_moment.dot(c);
            let mut about = [vec3(diagonal.x, o.z, o.y), vec3(o.z, diagonal.y, o.x), vec3(o.y, o.x, diagonal.z)];
            let along = [c.x, c.y, c.z];
            for i in 0..3 {
                about[i] = first_moment.mul_add(along[i], about[i] - Vec3::unit(i).scale(square));
            }
            *out = Whole {
                mass,
                com: k.reference[tree] + c,
                linear: momentum.force,
                angular: momentum.moment - c.cross(momentum.force),
                inertia: about,
            };
        }
    }
}

/// Moves a tree on the free joint `root` as a whole, from where it is, `now`, onto the centre of mass and the momentum that it would have after free motion. `lanes`: where
/// all impulses on it were within it.
#[inline(always)]
pub fn keep_momentum<R: Real>(root: &Joint, free: &Whole<R>, now: &Whole<R>, lanes: R::Mask, q: &mut [R], v: &mut [R]) {
    let zero = R::zero();
    // I δω = L* − L, by Cramer's rule; a tree without extent has no I⁻¹, and no L
    let [a, b, c] = now.inertia;
    let (right, volume) = (free.angular - now.angular, a.dot(b.cross(c)));
    let inverse = R::select(zero.lt(volume), R::one() / volume, zero);
    let turn = vec3(b.cross(c).dot(right), c.cross(a).dot(right), a.cross(b).dot(right)).scale(inverse);
    let push = (free.linear - now.linear).scale(R::one() / now.mass);
    let position = triple(q, root.q_start) + (free.com - now.com);
    // the joint's velocity: that of its origin, and ω in body axes
    let linear = triple(v, root.v_start) + push + turn.cross(position - free.com);
    let turn = quaternion(q, root.q_start + 3).matrix().transpose_mul(turn);
    let angular = triple(v, root.v_start + 3) + turn;
    put::<R>(lanes, &mut q[root.q_start..root.q_start + 3], position);
    put::<R>(lanes, &mut v[root.v_start..root.v_start + 3], linear);
    put::<R>(lanes, &mut v[root.v_start + 3..root.v_start + 6], angular);
}

/// Three numbers in some lanes.
#[inline(always)]
fn put<R: Real>(lanes: R::Mask, to: &mut [R], x: Vec3<R>) {
    to[0] = R::select(lanes, x.x, to[0]);
    to[1] = R::select(lanes, x.y, to[1]);
    to[2] = R::select(lanes, x.z, to[2]);
}
