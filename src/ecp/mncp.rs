//! The paper's mixed nonlinear complementarity problem of one step, equations (18) and (19), by itself.
//!
//! A moving convex body G (functions g_j in its own axes) and a fixed convex set F (functions f_i in the world). Unknowns:
//! velocity ν⁺, closest points a₁ of F and a₂ of G, impulses p at the ECP, multipliers l of the functions and σ of the
//! friction ellipsoid; 24 for a cube on a plane.
//!
//! ```text
//! (18)  0 = ν⁺ − ν* − M⁻¹ (W_n p_n + W_t p_t + W_o p_o + W_r p_r)            all W at a₂ and the end of the step
//!       0 = a₁ − a₂ + l_k (∇f_k(a₁) + Σ_{i≠k} l_i ∇f_i(a₁))
//!       0 = ∇f_k(a₁) + Σ_{i≠k} l_i ∇f_i(a₁) + Σ l_j ∇g_j(a₂)
//!       0 = e_t² μ p_n v_t + p_t σ,   and so for o and r
//! (19)  0 ≤ l_i ⟂ −f_i(a₁) ≥ 0,   0 ≤ l_j ⟂ −g_j(a₂) ≥ 0,   0 ≤ p_n ⟂ max f_i(a₂) ≥ 0
//!       0 ≤ σ ⟂ (μ p_n)² − (p_t/e_t)² − (p_o/e_o)² − (p_r/e_r)² ≥ 0
//! ```
//!
//! Each pair of (19) becomes a Fischer-Burmeister equation, and Newton's method with a damped least-squares step solves
//! all. It shares nothing with the reduced form ([`super::Stepper`], [`crate::lcp::patch`]) but the body, so it judges it.
//!
//! Where F has several functions, k must be one that is active at a₁; a fixed k admits solutions with `f_k(a₁) < 0`, in
//! which the body falls through F. So Newton holds `f_k(a₁) = 0` in place of the pair of `l_k`, for one k after the other, and
//! what it finds must meet that pair as well.

use super::body::{Shape, State};
use super::convex::Convex;
use super::dual::{Dual, Dual3, along, cross, dot, fischer_burmeister, unit};
use super::step::{Contact, Stepper};
use crate::error::{Error, Result};
use nalgebra::{DMatrix, DVector, Vector3, Vector6};

/// Most Newton steps from one start.
const MOST_STEPS: usize = 200;
/// Residual (m, m/s, or of unit vectors) at which a step is solved: rounding of products of impulses.
const SOLVED: f64 = 1e-10;
/// A function of the body this far from 0 is not active at the ECP, m.
const INACTIVE: f64 = 1e-8;

/// Starts are moved so far, in units of the unknowns, until one leads to a solution: Newton can end where a pair is (0, 0).
const PAIRS: [fn(Dual, Dual) -> Dual; 2] = [fischer_burmeister, Dual::min];
const NUDGES: [f64; 9] = [0.0, 1e-3, -1e-3, 1e-2, -1e-2, 0.1, -0.1, 0.5, -0.5];

/// One step of a body against a fixed convex set.
#[derive(Clone, Debug)]
pub struct Mncp<'a> {
    /// The body, its friction, gravity and step.
    pub stepper: &'a Stepper,
    /// f_i in the world.
    pub fixed: &'a [Convex],
}

/// A solution of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The state at the end of the step.
    pub state: State,
    /// Impulses at the ECP; `arm` at the end of the step.
    pub contact: Contact,
    /// The paper's unknowns z: ν⁺, a₁, a₂, p_t, p_o, p_r, l₁, l₂, p_n, σ.
    pub unknowns: DVector<f64>,
    /// Functions of the body that are active at the ECP (its N): 1 a face, 2 an edge, 3 a corner; 0 without contact.
    pub active: usize,
}

/// Constants of a step.
#[derive(Clone)]
struct Start<'a> {
    mncp: &'a Mncp<'a>,
    moving: Vec<Convex>,
    state: &'a State,
    /// ν*
    free: Vector6<f64>,
    inverse_inertia: [[f64; 3]; 3],
    /// Impulse by which equations are divided, N·s.
    scale: f64,
    /// Which f is k.
    k: usize,
    /// Whether `f_k(a₁) = 0` stands in place of its pair of (19).
    holds_k: bool,
    /// What makes an equation of a pair of (19): Fischer-Burmeister, or the smaller one of both.
    pair: fn(Dual, Dual) -> Dual,
}

impl Mncp<'_> {
    /// Solves the step from `state` under `applied` (as [`Stepper::implicit`]), starting from each of `guesses` in turn: a
    /// velocity (m/s, rad/s), the impulses p_n, p_t, p_o, p_r there (N·s) and a point of the world near the ECP (m).
    ///
    /// # Errors
    /// As [`Stepper::implicit`]; [`Error::Problem`] if no guess leads to a solution, as may happen where a body flies off an edge of F
    /// and its closest points are far from the guess.
    pub fn solve(&self, state: &State, applied: &Vector6<f64>, guesses: &[Guess]) -> Result<Solution> {
        let (free, inverse_inertia) = self.stepper.free_motion(state, applied)?;
        if self.fixed.is_empty() {
            return Err(Error::argument("fixed", "a set needs at least one function"));
        }
        let weight = self.stepper.body.mass * self.stepper.gravity.norm() * self.stepper.dt;
        let mut best = f64::INFINITY;
        let inverse_inertia = std::array::from_fn(|i| std::array::from_fn(|j| inverse_inertia[(i, j)]));
        let count = self.fixed.len();
        for guess in guesses {
            let scale = weight.max(guess.impulse[0].abs()).max(f64::MIN_POSITIVE);
            // k, and what else of F may be active: nothing, or another function
            for (k, other) in (0..count).flat_map(|k| (0..count).map(move |i| (k, (k + i) % count))) {
                let moving = Convex::of(&self.stepper.body.shape);
                let start = Start {
                    mncp: self,
                    moving,
                    state,
                    free,
                    inverse_inertia,
                    scale,
                    k,
                    holds_k: true,
                    pair: fischer_burmeister,
                };
                let point = self.on_boundary(guess.point, &[k, other]);
                let first = start.unknowns(&Guess { point, ..*guess });
                for (nudge, pair) in NUDGES.into_iter().flat_map(|nudge| PAIRS.map(|pair| (nudge, pair))) {
                    let z = Start { pair, ..start.clone() }.newton(start.nudged(&first, nudge));
                    // as the paper has it
                    let residual = Start { holds_k: false, ..start.clone() }.residual(&z);
                    best = best.min(residual);
                    if residual <= SOLVED {
                        return Ok(start.solution(z, residual));
                    }
                }
            }
        }
        let message = format!("no solution of (18), (19): least residual {best:e}");
        Err(Error::Problem { place: "one step".into(), message })
    }

    /// A point near `point` on the boundary of these functions of F.
    fn on_boundary(&self, mut point: Vector3<f64>, functions: &[usize]) -> Vector3<f64> {
        for _ in 0..10 {
            for &i in functions {
                let (value, gradient) = self.fixed[i].at([point.x, point.y, point.z].map(Dual::constant));
                point -= Vector3::from(gradient.map(|g| g.value)) * value.value;
            }
        }
        point
    }

    /// The residual of (18), (19) at unknowns z with f_k: largest equation, Fischer-Burmeister for (19).
    ///
    /// # Errors
    /// As [`Stepper::implicit`].
    pub fn residual(&self, state: &State, applied: &Vector6<f64>, z: &DVector<f64>, k: usize) -> Result<f64> {
        let (free, inverse_inertia) = self.stepper.free_motion(state, applied)?;
        let moving = Convex::of(&self.stepper.body.shape);
        if k >= self.fixed.len() || z.len() != 17 + self.fixed.len() + moving.len() {
            return Err(Error::argument("z", format!("{} unknowns and k = {k} do not fit", z.len())));
        }
        let inverse_inertia = std::array::from_fn(|i| std::array::from_fn(|j| inverse_inertia[(i, j)]));
        let scale = (self.stepper.body.mass * self.stepper.gravity.norm() * self.stepper.dt).max(f64::MIN_POSITIVE);
        Ok(Start {
            mncp: self,
            moving,
            state,
            free,
            inverse_inertia,
            scale,
            k,
            holds_k: false,
            pair: fischer_burmeister,
        }
        .residual(z))
    }
}

/// Where Newton starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guess {
    /// ν⁺: m/s, rad/s.
    pub velocity: Vector6<f64>,
    /// p_n, p_t, p_o (N·s), p_r (N·m·s).
    pub impulse: [f64; 4],
    /// Near the ECP at the end of the step, world, m.
    pub point: Vector3<f64>,
}

impl Guess {
    /// From a step of any kind.
    pub fn of(state: &State, contact: &Contact) -> Self {
        let (v, w) = (state.velocity, state.angular_velocity);
        let [t, o, r] = contact.friction_impulse;
        Self {
            velocity: Vector6::new(v.x, v.y, v.z, w.x, w.y, w.z),
            impulse: [contact.normal_impulse, t, o, r],
            point: state.position + contact.arm,
        }
    }
}

impl Start<'_> {
    fn counts(&self) -> (usize, usize) {
        (self.mncp.fixed.len(), self.moving.len())
    }

    /// z of a guess: multipliers so that the gradients balance as well as they can.
    fn unknowns(&self, guess: &Guess) -> DVector<f64> {
        let (m, n) = self.counts();
        let mut z = DVector::zeros(17 + m + n);
        z.rows_mut(0, 6).copy_from(&guess.velocity);
        z.rows_mut(6, 3).copy_from(&guess.point);
        z.rows_mut(9, 3).copy_from(&guess.point);
        let e = self.mncp.stepper.ground.ellipsoid;
        let [p_n, p_t, p_o, p_r] = guess.impulse;
        z.rows_mut(12, 3).copy_from_slice(&[p_t, p_o, p_r]);
        z[15 + m + n] = p_n;
        let frame = self.frame(&z.map(Dual::constant));
        // l_j of what faces n and is nearly active
        for (j, (value, gradient)) in frame.moving.iter().enumerate() {
            let facing = -dot(*gradient, frame.normal).value;
            if value.value > -1e-3 * self.size() && facing > 0.0 {
                z[15 + m + j] = facing;
            }
        }
        let y: f64 = frame.slip.iter().zip(e).map(|(u, e)| (e * u.value).powi(2)).sum();
        z[16 + m + n] = y.sqrt();
        z
    }

    /// Of the body, m.
    fn size(&self) -> f64 {
        match self.mncp.stepper.body.shape {
            Shape::Box { half } => half.into_iter().fold(0.0, f64::max),
            Shape::Cylinder { radius, half_length } => radius.max(half_length),
            Shape::Sphere { radius } => radius,
        }
    }

    /// What the unknowns say about geometry and motion.
    fn frame(&self, z: &DVector<Dual>) -> Frame {
        let dt = self.mncp.stepper.dt;
        let three = |start: usize| -> Dual3 { [z[start], z[start + 1], z[start + 2]] };
        let (v, w, a1, a2) = (three(0), three(3), three(6), three(9));
        let (m, _) = self.counts();
        // the pose at the end: x + h v, q + h/2 (0, ω) q normalized
        let x: Dual3 = std::array::from_fn(|i| Dual::constant(self.state.position[i]) + v[i] * dt);
        let axes = self.axes(w);
        let r: Dual3 = std::array::from_fn(|i| a2[i] - x[i]);
        let local: Dual3 = std::array::from_fn(|i| dot(axes[i], r));
        let moving = self
            .moving
            .iter()
            .map(|g| {
                let (value, slope) = g.at(local);
                let world =
                    std::array::from_fn(|i| axes[0][i] * slope[0] + axes[1][i] * slope[1] + axes[2][i] * slope[2]);
                (value, world)
            })
            .collect();
        let fixed: Vec<(Dual, Dual3)> = self.mncp.fixed.iter().map(|f| f.at(a1)).collect();
        let depth = self.mncp.fixed.iter().map(|f| f.at(a2).0).reduce(Dual::max).unwrap_or_default();
        // ∇f_k + Σ_{i≠k} l_i ∇f_i
        let mut gradient = fixed[self.k].1;
        for i in (0..m).filter(|&i| i != self.k) {
            gradient = along(gradient, z[15 + i], fixed[i].1);
        }
        let normal = unit(gradient);
        // t along world x as far as the plane allows
        let east = [Dual::constant(1.0), Dual::default(), Dual::default()];
        let t = unit(along(east, -dot(east, normal), normal));
        let o = cross(normal, t);
        let at = along(v, Dual::constant(1.0), cross(w, r));
        let slip = [dot(t, at), dot(o, at), dot(normal, w)];
        Frame { a1, a2, r, moving, fixed, depth, gradient, normal, t, o, slip }
    }

    /// The body's axes in the world at the end of the step.
    fn axes(&self, w: Dual3) -> [Dual3; 3] {
        let h = 0.5 * self.mncp.stepper.dt;
        let q = self.state.orientation.into_inner();
        let [i, j, k] = [q.i, q.j, q.k].map(Dual::constant);
        let real = Dual::constant(q.w);
        // (0, ω) q = (−ω·q_v, q_w ω + ω × q_v)
        let imaginary = cross(w, [i, j, k]);
        let mut p = [
            real - dot(w, [i, j, k]) * h,
            i + (w[0] * real + imaginary[0]) * h,
            j + (w[1] * real + imaginary[1]) * h,
            k + (w[2] * real + imaginary[2]) * h,
        ];
        let length = (p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]).sqrt();
        p = p.map(|x| x / length);
        let [w, x, y, z] = p;
        let one = Dual::constant(1.0);
        [
            [one - (y * y + z * z) * 2.0, (x * y + w * z) * 2.0, (x * z - w * y) * 2.0],
            [(x * y - w * z) * 2.0, one - (x * x + z * z) * 2.0, (y * z + w * x) * 2.0],
            [(x * z + w * y) * 2.0, (y * z - w * x) * 2.0, one - (x * x + y * y) * 2.0],
        ]
    }

    /// Unknowns moved by about `nudge` of their units, each a little otherwise.
    fn nudged(&self, z: &DVector<f64>, nudge: f64) -> DVector<f64> {
        let unit = self.units();
        DVector::from_fn(z.len(), |i, _| z[i] + nudge * unit[i] * (12.9898 * (i + 1) as f64).sin())
    }

    /// Units of the unknowns: impulses have the scale, the others 1.
    fn units(&self) -> DVector<f64> {
        let (m, n) = self.counts();
        let mut unit = DVector::from_element(17 + m + n, 1.0);
        unit.rows_mut(12, 3).fill(self.scale);
        unit[15 + m + n] = self.scale;
        unit
    }

    /// All equations.
    fn equations(&self, z: &DVector<Dual>) -> Vec<Dual> {
        let (m, n) = self.counts();
        let Frame { a1, a2, r, moving, fixed, depth, gradient, normal, t, o, slip } = self.frame(z);
        let ground = self.mncp.stepper.ground;
        let p = [z[12], z[13], z[14]];
        let (p_n, sigma) = (z[15 + m + n], z[16 + m + n]);
        let per_scale = 1.0 / self.scale;
        let mut equations = Vec::with_capacity(z.len());
        // ν⁺ − ν* − M⁻¹ W p
        let force: Dual3 = std::array::from_fn(|i| normal[i] * p_n + t[i] * p[0] + o[i] * p[1]);
        let moment = along(cross(r, force), p[2], normal);
        for i in 0..3 {
            let free = Dual::constant(self.free[i]);
            equations.push(z[i] - free - force[i] * (1.0 / self.mncp.stepper.body.mass));
        }
        for i in 0..3 {
            let free = Dual::constant(self.free[3 + i]);
            let angular = dot(self.inverse_inertia[i].map(Dual::constant), moment);
            equations.push(z[3 + i] - free - angular);
        }
        for i in 0..3 {
            equations.push(a1[i] - a2[i] + z[15 + self.k] * gradient[i]);
        }
        for i in 0..3 {
            let sum = moving.iter().enumerate().fold(gradient[i], |sum, (j, (_, g))| sum + z[15 + m + j] * g[i]);
            equations.push(sum);
        }
        for i in 0..3 {
            let e = ground.ellipsoid[i];
            // an axis without friction: e² μ p_n v + p σ = 0 leaves p free where nothing slides
            equations.push(if e > 0.0 {
                (p_n * slip[i] * (e * ground.friction) + p[i] * sigma * (1.0 / e)) * per_scale
            } else {
                p[i] * per_scale
            });
        }
        for (i, (value, _)) in fixed.iter().enumerate() {
            equations.push(if self.holds_k && i == self.k { *value } else { (self.pair)(z[15 + i], -*value) });
        }
        for (j, (value, _)) in moving.iter().enumerate() {
            equations.push((self.pair)(z[15 + m + j], -*value));
        }
        equations.push((self.pair)(p_n * per_scale, depth));
        // (19)'s last row over the square of the impulse scale
        let mut zeta = p_n * p_n * ground.friction.powi(2);
        for i in (0..3).filter(|&i| ground.ellipsoid[i] > 0.0) {
            zeta = zeta - p[i] * p[i] * ground.ellipsoid[i].powi(-2);
        }
        equations.push((self.pair)(sigma, zeta * (per_scale * per_scale)));
        equations
    }

    fn value(&self, z: &DVector<f64>) -> DVector<f64> {
        let equations = self.equations(&z.map(Dual::constant));
        DVector::from_iterator(equations.len(), equations.into_iter().map(|e| e.value))
    }

    fn jacobian(&self, z: &DVector<f64>) -> DMatrix<f64> {
        let count = z.len();
        let mut jacobian = DMatrix::zeros(count, count);
        let mut seeded = z.map(Dual::constant);
        for column in 0..count {
            seeded[column].slope = 1.0;
            for (row, equation) in self.equations(&seeded).into_iter().enumerate() {
                jacobian[(row, column)] = equation.slope;
            }
            seeded[column].slope = 0.0;
        }
        jacobian
    }

    /// Newton with damped least-squares steps, whose damping falls with the residual; the unknowns and their residual.
    fn newton(&self, mut z: DVector<f64>) -> DVector<f64> {
        let count = z.len();
        let unit = self.units();
        let mut value = self.value(&z);
        let mut damping = 1e-3;
        for _ in 0..MOST_STEPS {
            let merit = value.norm_squared();
            // rounding ends it: one step below what counts as solved
            if !merit.is_finite() || value.amax() <= 1e-3 * SOLVED {
                break;
            }
            let jacobian = self.jacobian(&z) * DMatrix::from_diagonal(&unit);
            let (squared, slope) = (jacobian.tr_mul(&jacobian), jacobian.tr_mul(&value));
            let mut moved = false;
            // a plain step first: quadratic near a regular solution
            let mut tries: Vec<Option<f64>> = vec![None];
            tries.extend((0..12).map(|i| Some(damping * 10f64.powi(i - 3))));
            for lambda in tries {
                let step = match lambda {
                    None => jacobian.clone().lu().solve(&value),
                    Some(lambda) => {
                        let size = (lambda * merit.min(1.0)).max(1e-16);
                        (&squared + DMatrix::identity(count, count) * size).cholesky().map(|c| c.solve(&slope))
                    }
                };
                let Some(step) = step else { continue };
                let next = &z - step.component_mul(&unit);
                let after = self.value(&next);
                if after.norm_squared() < 0.9 * merit || lambda.is_some() && after.norm_squared() < merit * (1.0 - 1e-6)
                {
                    damping = lambda.unwrap_or(damping).clamp(1e-8, 1e3);
                    z = next;
                    value = after;
                    moved = true;
                    break;
                }
            }
            if !moved {
                break;
            }
        }
        z
    }

    /// The largest equation; infinite where one is not finite.
    fn residual(&self, z: &DVector<f64>) -> f64 {
        let value = self.value(z);
        if value.iter().all(|x| x.is_finite()) { value.amax() } else { f64::INFINITY }
    }

    fn solution(&self, z: DVector<f64>, residual: f64) -> Solution {
        let (m, n) = self.counts();
        let frame = self.frame(&z.map(Dual::constant));
        let vector = |d: Dual3| Vector3::from(d.map(|x| x.value));
        let (v, w) = (Vector3::new(z[0], z[1], z[2]), Vector3::new(z[3], z[4], z[5]));
        let normal_impulse = z[15 + m + n];
        let touches = normal_impulse > 1e-9 * self.scale;
        let active = frame.moving.iter().filter(|(value, _)| value.value.abs() <= INACTIVE).count();
        Solution {
            state: self.state.moved(&v, &w, self.mncp.stepper.dt),
            contact: Contact {
                arm: vector(frame.r),
                normal_impulse,
                friction_impulse: [z[12], z[13], z[14]],
                residual,
                newton_steps: 0,
                passes: 1,
                change: 0.0,
            },
            active: if touches { active } else { 0 },
            unknowns: z,
        }
    }
}

/// Geometry and motion at some unknowns.
struct Frame {
    a1: Dual3,
    a2: Dual3,
    /// From the centre of mass to a₂.
    r: Dual3,
    /// g_j(a₂) and their gradients in the world.
    moving: Vec<(Dual, Dual3)>,
    /// f_i(a₁) and their gradients.
    fixed: Vec<(Dual, Dual3)>,
    /// max f_i(a₂)
    depth: Dual,
    gradient: Dual3,
    normal: Dual3,
    t: Dual3,
    o: Dual3,
    /// v_t, v_o, v_r at the ECP.
    slip: Dual3,
}
