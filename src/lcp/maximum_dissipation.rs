//! Friction by the principle of maximum dissipation: a convex program instead of a case distinction.
//!
//! After the fifth seed (lecture notes on Coulomb friction, maximum dissipation and LCP methods). Friction takes out as
//! much kinetic energy as the cone allows:
//!
//! ```text
//! min_b  u·b   s.t.  |b| <= μ n                    second-order cone program; u = sliding velocity
//! KKT:   u + λ b/|b| = 0,   0 <= λ ⟂ μ n - |b| >= 0      λ = |u|, b against u
//! ```
//!
//! The norm has no gradient at zero, so it is smoothed, `|b| ≈ s(b) = √(b·b + ε²) - ε`, and complementarity is
//! relaxed, `√(x² + y² + 2σ²) = x + y` (that is `x y = σ²`), with σ and ε driven towards zero. Each stage is a damped Newton
//! method. The pyramid `|b|_1 <= μ n` is the linearization that leads to [`super::stewart_trinkle`].
//!
//! [`friction_impulses`] solves the program for several contacts with given normal impulses, where `u = W b + u_0`.
//! [`Particle::step`] stacks it on the discrete least action problem with impact, for a particle over a plane:
//!
//! ```text
//! m (q₊ - 2 q + q₋)/h + h m g - h (n N + T b) = 0      discrete Euler-Lagrange equation with contact force
//! 0 <= n ⟂ φ(q₊) >= 0,   φ(q) = N·q - offset          impact
//! Tᵀ(q₊ - q)/h + λ ∇s(b) = 0,   0 <= λ ⟂ μ n - s(b) >= 0      maximum dissipation
//! ```

use crate::error::{Error, Result};
use nalgebra::{DMatrix, DVector, Matrix3x2, Vector2, Vector3};

/// `s(b) = √(b·b + ε²) - ε`.
pub fn smoothed_norm(b: &Vector2<f64>, epsilon: f64) -> f64 {
    // the same without cancellation: b·b / (√(b·b + ε²) + ε)
    let square = b.norm_squared();
    if square == 0.0 { 0.0 } else { square / ((square + epsilon * epsilon).sqrt() + epsilon) }
}

/// `∇s(b) = b / √(b·b + ε²)`.
pub fn smoothed_norm_gradient(b: &Vector2<f64>, epsilon: f64) -> Vector2<f64> {
    let length = (b.norm_squared() + epsilon * epsilon).sqrt();
    if length > 0.0 { b / length } else { Vector2::zeros() }
}

/// The program for one contact with fixed sliding velocity: `b = -μ n u/|u|` and `λ = |u|` (any b if u = 0: zero).
pub fn most_dissipative(sliding: &Vector2<f64>, limit: f64) -> (Vector2<f64>, f64) {
    let speed = sliding.norm();
    if speed > 0.0 { (sliding * (-limit / speed), speed) } else { (Vector2::zeros(), 0.0) }
}

/// What [`friction_impulses`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Friction {
    /// `b`, two for each contact (N·s).
    pub impulse: DVector<f64>,
    /// `λ`, one for each contact (m/s): the sliding speed, zero where it sticks.
    pub speed: DVector<f64>,
}

/// Friction impulses for given normal impulses: `min_b ½ bᵀWb + u_0·b` s.t. `|b_c| <= limit_c`.
///
/// `delassus` is W of the tangential rows (2 c × 2 c, symmetric positive semidefinite, 1/kg), `sliding` is `u_0` (2 c, m/s),
/// `limit` is `μ n` (c, N·s). The gradient of the objective is the final sliding velocity, so its conditions are those
/// of maximum dissipation, contact by contact.
///
/// # Errors
/// Shapes that do not fit, numbers that are not finite, negative limits, or no convergence.
pub fn friction_impulses(delassus: &DMatrix<f64>, sliding: &DVector<f64>, limit: &DVector<f64>) -> Result<Friction> {
    let c = limit.len();
    if delassus.shape() != (2 * c, 2 * c) || sliding.len() != 2 * c {
        return Err(Error::argument("sliding", format!("needs two rows for each of the {c} contacts, as W")));
    }
    let mut numbers = delassus.iter().chain(sliding.iter()).chain(limit.iter());
    if numbers.any(|x| !x.is_finite()) || limit.iter().any(|&x| x < 0.0) {
        return Err(Error::argument("limit", "numbers must be finite and limits not negative"));
    }
    // without unit: b = β b', λ = v λ' with v = max |u_0| and β = v / mean diagonal
    let mean = delassus.trace() / (2 * c).max(1) as f64;
    let speed = if sliding.amax() > 0.0 { sliding.amax() } else { 1.0 };
    let size = speed / if mean > 0.0 { mean } else { 1.0 };
    let (w, u0, radius) = (delassus * (size / speed), sliding / speed, limit / size);
    let at = |x: &DVector<f64>, k: usize| Vector2::new(x[2 * k], x[2 * k + 1]);
    let residual = |x: &DVector<f64>, sigma: f64| {
        let epsilon = EPSILON.max(sigma);
        let u = &w * x.rows(0, 2 * c) + &u0;
        let mut r = DVector::zeros(3 * c);
        let mut j = DMatrix::zeros(3 * c, 3 * c);
        j.view_mut((0, 0), (2 * c, 2 * c)).copy_from(&w);
        for k in 0..c {
            let (b, lambda) = (at(x, k), x[2 * c + k]);
            let gradient = smoothed_norm_gradient(&b, epsilon);
            // u + λ ∇s(b) = 0
            let rows = at(&u, k) + gradient * lambda;
            let curvature = norm_curvature(&b, epsilon) * lambda;
            let (phi, by_lambda, by_slack) = relaxed(lambda, radius[k] - smoothed_norm(&b, epsilon), sigma);
            r[2 * c + k] = phi;
            j[(2 * c + k, 2 * c + k)] = by_lambda;
            for p in 0..2 {
                r[2 * k + p] = rows[p];
                j[(2 * k + p, 2 * c + k)] = gradient[p];
                j[(2 * c + k, 2 * k + p)] = -by_slack * gradient[p];
                for q in 0..2 {
                    j[(2 * k + p, 2 * k + q)] += curvature[(p, q)];
                }
            }
        }
        (r, j)
    };
    let mut start = DVector::from_element(3 * c, 1.0);
    start.rows_mut(0, 2 * c).fill(0.0);
    let x = continuation(&start, residual)
        .ok_or_else(|| Error::argument("delassus", "the dissipation problem did not converge"))?;
    Ok(Friction { impulse: x.rows(0, 2 * c) * size, speed: x.rows(2 * c, c).map(|l| l.max(0.0)) * speed })
}

/// Last ε of the smoothed norm, which follows σ down to here, without unit (impulses and speeds are of size 1).
const EPSILON: f64 = 1e-9;
/// σ of the last stage.
const LAST_SIGMA: f64 = 1e-13;
/// Residual that ends a stage of relaxation σ: this share of σ, but at least [`FLOOR`].
const SHARE: f64 = 0.1;
/// Rounding of the residual.
const FLOOR: f64 = 3e-15;

/// `∂²s/∂b² = (I - g gᵀ) / √(b·b + ε²)`, `g = ∇s`.
fn norm_curvature(b: &Vector2<f64>, epsilon: f64) -> nalgebra::Matrix2<f64> {
    let g = smoothed_norm_gradient(b, epsilon);
    (nalgebra::Matrix2::identity() - g * g.transpose()) / (b.norm_squared() + epsilon * epsilon).sqrt()
}

/// `x + y - √(x² + y² + 2σ²)` and its derivatives; zero exactly when `x, y >= 0` and `x y = σ²`.
fn relaxed(x: f64, y: f64, sigma: f64) -> (f64, f64, f64) {
    let root = (x * x + y * y + 2.0 * sigma * sigma).sqrt().max(f64::MIN_POSITIVE);
    // where x + y > 0, without cancellation: 2 (x y - σ²) / (x + y + √…)
    let value = if x + y > 0.0 { 2.0 * (x * y - sigma * sigma) / (x + y + root) } else { x + y - root };
    (value, 1.0 - x / root, 1.0 - y / root)
}

/// Damped Newton while σ falls from 1 to [`LAST_SIGMA`], the more slowly the more often that failed; `None` if the last
/// stage stays above a residual of 1e-10.
fn continuation(
    start: &DVector<f64>,
    residual: impl Fn(&DVector<f64>, f64) -> (DVector<f64>, DMatrix<f64>),
) -> Option<DVector<f64>> {
    FALLS.iter().find_map(|&fall| {
        let (mut x, mut sigma) = (start.clone(), 1.0);
        loop {
            stage(&mut x, sigma, &residual);
            if sigma <= LAST_SIGMA {
                break;
            }
            sigma = (fall * sigma).max(LAST_SIGMA);
        }
        (residual(&x, 0.0).0.amax() <= 1e-10).then_some(x)
    })
}

/// Factors of σ from stage to stage, tried in this order.
const FALLS: [f64; 3] = [0.2, 0.6, 0.9];

/// Damped Newton for one σ, in place.
fn stage(x: &mut DVector<f64>, sigma: f64, residual: &impl Fn(&DVector<f64>, f64) -> (DVector<f64>, DMatrix<f64>)) {
    for _ in 0..60 {
        let (r, j) = residual(x, sigma);
        let size = r.norm();
        if size <= (SHARE * sigma).max(FLOOR) {
            return;
        }
        let Some(step) = j.lu().solve(&-&r).filter(|s| s.iter().all(|v| v.is_finite())) else { return };
        let mut length = 1.0;
        while length > 1e-8 && residual(&(&*x + &step * length), sigma).0.norm() > (1.0 - 1e-4 * length) * size {
            length *= 0.5;
        }
        if length <= 1e-8 {
            return;
        }
        x.axpy(length, &step, 1.0);
    }
}

/// A particle over a plane, and the discrete least action problem of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Particle {
    /// Mass, kg.
    pub mass: f64,
    /// Gravity vector, m/s².
    pub gravity: Vector3<f64>,
    /// Unit normal N of the plane; the particle stays where `N·q >= offset`.
    pub normal: Vector3<f64>,
    /// Offset of the plane, m.
    pub offset: f64,
    /// Friction coefficient μ.
    pub friction: f64,
}

/// One step of a [`Particle`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParticleStep {
    /// Next position q₊, m.
    pub position: Vector3<f64>,
    /// Normal force n, N.
    pub normal_force: f64,
    /// Friction force b in the frame of [`Particle::tangents`], N.
    pub friction_force: Vector2<f64>,
    /// Multiplier λ, m/s: the sliding speed.
    pub sliding_speed: f64,
    /// Gap φ(q₊), m.
    pub gap: f64,
}

impl Particle {
    /// Two unit tangents T of the plane.
    pub fn tangents(&self) -> Matrix3x2<f64> {
        let n = self.normal;
        let axis = if n.x.abs() < 0.6 { Vector3::x() } else { Vector3::y() };
        let first = n.cross(&axis).normalize();
        Matrix3x2::from_columns(&[first, n.cross(&first)])
    }

    /// The step of length `h` (s) from the last two positions: position, forces and multipliers, solved jointly.
    ///
    /// # Errors
    /// Mass or step not positive, a normal without length, or no convergence.
    pub fn step(&self, previous: &Vector3<f64>, current: &Vector3<f64>, h: f64) -> Result<ParticleStep> {
        let positive = self.mass > 0.0 && h > 0.0 && self.friction >= 0.0;
        if !positive || (self.normal.norm() - 1.0).abs() > 1e-9 {
            return Err(Error::argument("particle", "needs a positive mass, step and unit normal, friction >= 0"));
        }
        // all unknowns as lengths of size 1: d = q₊ - q, forces times h²/m, λ h
        let t = self.tangents();
        let ahead = current - previous + self.gravity * (h * h);
        let here = self.normal.dot(current) - self.offset;
        let size = ahead.amax().max(self.gravity.amax() * h * h).max(here.abs().min(1.0)).max(1e-12);
        let (ahead, here, mu) = (ahead / size, here / size, self.friction);
        let residual = |x: &DVector<f64>, sigma: f64| {
            let d = Vector3::new(x[0], x[1], x[2]);
            let epsilon = EPSILON.max(sigma);
            let (n, b, lambda) = (x[3], Vector2::new(x[4], x[5]), x[6]);
            let gradient = smoothed_norm_gradient(&b, epsilon);
            let curvature = norm_curvature(&b, epsilon) * lambda;
            let (impact, by_n, by_gap) = relaxed(n, here + self.normal.dot(&d), sigma);
            let (cone, by_lambda, by_slack) = relaxed(lambda, mu * n - smoothed_norm(&b, epsilon), sigma);
            let balance = d - ahead - self.normal * n - t * b;
            let dissipation = t.transpose() * d + gradient * lambda;
            let r =
                DVector::from_vec(vec![balance.x, balance.y, balance.z, impact, dissipation.x, dissipation.y, cone]);
            let mut j = DMatrix::zeros(7, 7);
            for p in 0..3 {
                j[(p, p)] = 1.0;
                j[(p, 3)] = -self.normal[p];
                j[(3, p)] = by_gap * self.normal[p];
                for q in 0..2 {
                    j[(p, 4 + q)] = -t[(p, q)];
                    j[(4 + q, p)] = t[(p, q)];
                }
            }
            j[(3, 3)] = by_n;
            j[(6, 3)] = by_slack * mu;
            j[(6, 6)] = by_lambda;
            for p in 0..2 {
                j[(4 + p, 6)] = gradient[p];
                j[(6, 4 + p)] = -by_slack * gradient[p];
                for q in 0..2 {
                    j[(4 + p, 4 + q)] = curvature[(p, q)];
                }
            }
            (r, j)
        };
        let start = DVector::from_vec(vec![ahead.x, ahead.y, ahead.z, 1.0, 0.0, 0.0, 1.0]);
        let x = continuation(&start, residual)
            .ok_or_else(|| Error::argument("particle", "the least action problem did not converge"))?;
        let force = self.mass * size / (h * h);
        let position = current + Vector3::new(x[0], x[1], x[2]) * size;
        Ok(ParticleStep {
            position,
            normal_force: x[3] * force,
            friction_force: Vector2::new(x[4], x[5]) * force,
            sliding_speed: x[6] * size / h,
            gap: self.normal.dot(&position) - self.offset,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lcp::{Law, Problem, SolveSettings, SolveStatus, Solver, solve};
    use clarabel::algebra::CscMatrix;
    use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};

    #[test]
    fn the_smoothed_norm_is_between_zero_and_the_norm() {
        for b in [Vector2::new(3.0, 4.0), Vector2::new(1e-7, 0.0), Vector2::zeros()] {
            let s = smoothed_norm(&b, 1e-6);
            assert!(s >= 0.0 && s <= b.norm() && b.norm() - s <= 1e-6);
        }
        assert_eq!(most_dissipative(&Vector2::new(3.0, 0.0), 0.5), (Vector2::new(-0.5, 0.0), 3.0));
    }

    /// `min ½ bᵀWb + u·b` s.t. `(limit, b) in SOC` for each contact, by clarabel.
    fn by_clarabel(w: &DMatrix<f64>, u: &DVector<f64>, limit: &DVector<f64>) -> DVector<f64> {
        let c = limit.len();
        let dense = |m: &DMatrix<f64>| {
            let (mut columns, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
            for j in 0..m.ncols() {
                for i in 0..m.nrows() {
                    if m[(i, j)] != 0.0 {
                        rows.push(i);
                        values.push(m[(i, j)]);
                    }
                }
                columns.push(rows.len());
            }
            CscMatrix::new(m.nrows(), m.ncols(), columns, rows, values)
        };
        let (mut a, mut b) = (DMatrix::zeros(3 * c, 2 * c), vec![0.0; 3 * c]);
        for k in 0..c {
            b[3 * k] = limit[k];
            a[(3 * k + 1, 2 * k)] = -1.0;
            a[(3 * k + 2, 2 * k + 1)] = -1.0;
        }
        let settings = DefaultSettings {
            verbose: false,
            tol_gap_abs: 1e-12,
            tol_gap_rel: 1e-12,
            tol_feas: 1e-12,
            ..DefaultSettings::default()
        };
        let cones = vec![SupportedConeT::SecondOrderConeT(3); c];
        let mut solver =
            DefaultSolver::new(&dense(&w.upper_triangle()), u.as_slice(), &dense(&a), &b, &cones, settings).unwrap();
        solver.solve();
        DVector::from_vec(solver.solution.x.clone())
    }

    #[test]
    fn an_independent_conic_solver_agrees() {
        for seed in 0..40 {
            let x = |k: usize| (f64::from(seed) * 12.9898 + k as f64 * 78.233).sin();
            let c = 1 + seed as usize % 4;
            let j = DMatrix::from_fn(2 * c, 2 * c + 1, |i, k| x(31 * i + k));
            let w = &j * j.transpose();
            let u = DVector::from_fn(2 * c, |i, _| x(900 + i));
            let limit = DVector::from_fn(c, |i, _| (x(700 + i) + 1.0) * 0.4);
            let ours = friction_impulses(&w, &u, &limit).unwrap();
            let theirs = by_clarabel(&w, &u, &limit);
            let objective = |b: &DVector<f64>| 0.5 * b.dot(&(&w * b)) + u.dot(b);
            assert!((objective(&ours.impulse) - objective(&theirs)).abs() < 1e-8, "seed {seed}");
            assert!((&w * (&ours.impulse - &theirs)).amax() < 1e-5, "seed {seed}");
            // λ is the sliding speed, and friction is against the sliding
            let sliding = &w * &ours.impulse + &u;
            for k in 0..c {
                let speed = sliding.rows(2 * k, 2).norm();
                assert!((speed - ours.speed[k]).abs() < 1e-9, "seed {seed}: {speed} {}", ours.speed[k]);
                assert!(sliding.rows(2 * k, 2).dot(&ours.impulse.rows(2 * k, 2)) <= 1e-12);
                assert!(ours.impulse.rows(2 * k, 2).norm() <= limit[k] + 1e-8);
            }
        }
    }

    fn floor(friction: f64) -> Particle {
        let gravity = Vector3::new(0.0, 0.0, -9.81);
        Particle { mass: 2.0, gravity, normal: Vector3::z(), offset: 0.0, friction }
    }

    #[test]
    fn a_body_lands_slides_and_stops() {
        let (h, particle) = (0.01, floor(0.4));
        let mut previous = Vector3::new(0.0, 0.0, 0.3);
        let mut current = previous + Vector3::new(2.0, 1.0, 0.0) * h;
        let start = current;
        for _ in 0..120 {
            let step = particle.step(&previous, &current, h).unwrap();
            assert!(step.gap >= -1e-10 && step.normal_force >= 0.0);
            assert!(step.gap * step.normal_force < 1e-10, "{step:?}");
            assert!(step.friction_force.norm() <= 0.4 * step.normal_force + 1e-6);
            (previous, current) = (current, step.position);
        }
        assert!((current - previous).norm() < 1e-10, "it has stopped");
        // it keeps its direction
        let way = current - start;
        assert!((way.x - 2.0 * way.y).abs() < 1e-6 && way.x > 0.1);
    }

    #[test]
    fn sticking_and_sliding_on_a_slope() {
        let h = 0.01;
        for (degrees, slides) in [(20.0_f64, false), (30.0, true)] {
            let angle = degrees.to_radians();
            let mut particle = floor(0.5);
            particle.normal = Vector3::new(angle.sin(), 0.0, angle.cos());
            let (mut previous, mut current) = (Vector3::zeros(), Vector3::zeros());
            for _ in 0..20 {
                let step = particle.step(&previous, &current, h).unwrap();
                (previous, current) = (current, step.position);
            }
            let speed = (current - previous).norm() / h;
            let expected = if slides { 20.0 * h * 9.81 * (angle.sin() - 0.5 * angle.cos()) } else { 0.0 };
            assert!((speed - expected).abs() < 1e-6, "{degrees}: {speed} {expected}");
        }
    }

    /// On a plane the step is the cone problem with `W = I/m` and `w_n` the gap rate; another solver, same motion.
    #[test]
    fn the_step_is_the_cone_problem() {
        let (h, particle) = (0.02, floor(0.6));
        for k in 0..60 {
            let a = f64::from(k);
            let current = Vector3::new(0.0, 0.0, (0.05 * a.sin()).max(0.0));
            let velocity = Vector3::new((1.3 * a).cos(), (2.1 * a).sin(), 2.0 * (0.7 * a).cos() - 1.0);
            let step = particle.step(&(current - velocity * h), &current, h).unwrap();
            let t = particle.tangents();
            let ahead = velocity + particle.gravity * h;
            let slide = t.transpose() * ahead;
            let problem = Problem {
                name: "particle".into(),
                delassus: DMatrix::identity(3, 3) / particle.mass,
                bias: DVector::from_vec(vec![current.z / h + ahead.z, slide.x, slide.y]),
                laws: vec![Law::Cone { friction: particle.friction, dimension: 3 }],
            };
            let solution = solve(&problem, Solver::Auto, &SolveSettings::default(), None);
            assert_eq!(solution.status, SolveStatus::Solved);
            assert!((solution.impulse[0] - step.normal_force * h).abs() < 1e-6, "{k}");
            let w = problem.velocity(&solution.impulse);
            let ours = t.transpose() * (step.position - current) / h;
            assert!((w[1] - ours.x).abs() < 1e-6 && (w[2] - ours.y).abs() < 1e-6, "{k}: {w} {ours}");
        }
    }
}
