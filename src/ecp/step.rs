//! One step of one body on the ground, with its patch: linearised at the start of the step, or implicit in geometry.
//!
//! ```text
//! M (ν⁺ − ν) = Σ W_i λ_i + W_t f_t + W_o f_o + W_r τ + p_app − h (0, ω × I ω)
//! 0 ≤ λ_i ⟂ gap_i / h + J_i ν⁺ ≥ 0,   friction at the ECP
//! ```
//!
//! With rows, gaps and the ECP at the start of the step this is one contact problem ([`crate::lcp::patch`]): the linearised
//! step. The implicit step of the paper wants all of them at the end: it solves such problems with rows at the end of the
//! last one until nothing moves any more, each time with `gap⁺/h + J⁺ (ν − ν_last)` in place of the gap.

use super::body::{Body, State};
use super::convex::Convex;
use super::support::SupportRows;
use crate::error::{Error, Result};
use crate::lcp::patch::ellipsoid::{Friction, MOST_NORMALS, Normal};
use crate::lcp::patch::system::{Row, System};
use crate::lcp::patch::{Solved, solve_system};
use nalgebra::{Matrix3, Vector3, Vector6};

/// Most problems of an implicit step.
const MOST_PASSES: usize = 200;
/// The implicit step ends when no velocity changes by more than this share of its size (m/s, rad/s).
const STILL: f64 = 1e-14;
/// Residual at which a problem of one body counts as solved, relative to its velocities.
const SOLVED: f64 = 1e-11;

/// A function of the body this near to 0 is active, m.
const ACTIVE: f64 = 1e-7;

/// How the ground resists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ground {
    /// Friction coefficient μ, without unit.
    pub friction: f64,
    /// e_t, e_o (without unit, along world x and y), e_r (m).
    pub ellipsoid: [f64; 3],
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Equivalent contact point minus the centre of mass, in the world, m: at the end of an implicit step, at the start of a linearised one.
    pub arm: Vector3<f64>,
    /// p_n, N·s.
    pub normal_impulse: f64,
    /// p_t, p_o (N·s) and p_r (N·m·s) at the equivalent contact point.
    pub friction_impulse: [f64; 3],
    /// Residual of the (last) contact problem, m/s.
    pub residual: f64,
    /// Newton steps, over all contact problems.
    pub newton_steps: usize,
    /// Contact problems: 1 if linearised.
    pub passes: usize,
    /// How much the velocity still changed in the last pass, m/s; 0 if linearised.
    pub change: f64,
}

/// A body on the ground z = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stepper {
    /// The body.
    pub body: Body,
    /// The ground.
    pub ground: Ground,
    /// m/s².
    pub gravity: Vector3<f64>,
    /// h, s.
    pub dt: f64,
}

/// The motion without contact, and what a step starts from.
struct Free {
    velocity: Vector6<f64>,
    inverse_inertia: Matrix3<f64>,
}

impl Stepper {
    /// Checks the body, friction and step.
    ///
    /// # Errors
    /// [`Error::Argument`] naming what is wrong.
    pub fn validate(&self) -> Result<()> {
        self.body.validate()?;
        let allowed = |x: &f64| *x >= 0.0 && x.is_finite();
        if !allowed(&self.ground.friction) || !self.ground.ellipsoid.iter().all(allowed) {
            return Err(Error::argument("ground", format!("must be finite and not negative: {:?}", self.ground)));
        }
        if !(self.dt > 0.0 && self.dt.is_finite()) {
            return Err(Error::argument("dt", format!("must be positive, it is {}", self.dt)));
        }
        if !self.gravity.iter().all(|x| x.is_finite()) {
            return Err(Error::argument("gravity", "must be finite"));
        }
        Ok(())
    }

    /// The step with rows at its start. `applied`: impulse (N·s) and its moment about the centre of mass (N·m·s), without gravity.
    ///
    /// # Errors
    /// [`Error::Argument`] for a wrong stepper, state or impulse, [`Error::Problem`] if the contact problem was not solved.
    pub fn linearised(&self, state: &State, applied: &Vector6<f64>) -> Result<(State, Contact)> {
        let free = self.free(state, applied)?;
        let pass = self.pass(state, &Vector6::zeros(), &free, state)?;
        let contact = Contact { passes: 1, change: 0.0, ..pass.1 };
        Ok((self.ahead(state, &pass.0), contact))
    }

    /// The step with rows at its end. `applied` as for [`Stepper::linearised`].
    ///
    /// # Errors
    /// As [`Stepper::linearised`]; [`Error::Problem`] if the geometry did not settle.
    pub fn implicit(&self, state: &State, applied: &Vector6<f64>) -> Result<(State, Contact)> {
        let free = self.free(state, applied)?;
        let mut velocity = self.pass(state, &Vector6::zeros(), &free, state)?.0;
        let (mut steps, mut last) = (0, f64::INFINITY);
        for passes in 1..=MOST_PASSES {
            let end = self.ahead(state, &velocity);
            let (next, contact) = self.pass(&end, &velocity, &free, state)?;
            let change = (next - velocity).amax();
            steps += contact.newton_steps;
            let size = next.amax().max(free.velocity.amax());
            let still = STILL * size + self.rounding(state);
            // at the floor of rounding it no longer falls
            let settled = change <= still || change <= 100.0 * still && change >= last;
            velocity = if passes > MOST_PASSES / 4 { 0.5 * (velocity + next) } else { next };
            last = change;
            if settled {
                let end = self.ahead(state, &next);
                return Ok((end, Contact { passes: passes + 1, newton_steps: steps, change, ..contact }));
            }
        }
        let message = format!("the end of the step moves by {last:e} m/s after {MOST_PASSES} passes");
        Err(Error::Problem { place: "implicit step".into(), message })
    }

    /// Deepest overlap with the ground, m; 0 if none.
    pub fn penetration(&self, state: &State) -> f64 {
        let support = SupportRows::at(&self.body.shape, state);
        let gaps: Vec<f64> = support.rows.iter().map(|row| row.gap).collect();
        let least = match (support.is_disc, gaps.as_slice()) {
            (true, &[centre, t, o]) => centre - t.hypot(o),
            _ => gaps.iter().copied().fold(f64::INFINITY, f64::min),
        };
        (-least).max(0.0)
    }

    /// ν* and the inverse inertia in the world at the start of the step.
    pub(super) fn free_motion(&self, state: &State, applied: &Vector6<f64>) -> Result<(Vector6<f64>, Matrix3<f64>)> {
        self.free(state, applied).map(|free| (free.velocity, free.inverse_inertia))
    }

    /// How many of the body's convex functions are active at the ECP of a step that ended in `state` (the paper's N): 1 on a
    /// face, 2 on an edge, 3 at a corner; 0 without contact.
    pub fn active_functions(&self, state: &State, contact: &Contact) -> usize {
        if contact.normal_impulse <= 0.0 {
            return 0;
        }
        let local = state.orientation.inverse_transform_vector(&contact.arm);
        let functions = Convex::of(&self.body.shape);
        functions.iter().filter(|f| f.value([local.x, local.y, local.z]).abs() <= ACTIVE).count()
    }

    /// What rounding of gaps makes of velocities, m/s.
    fn rounding(&self, state: &State) -> f64 {
        16.0 * f64::EPSILON * state.position.z.abs() / self.dt
    }

    fn ahead(&self, state: &State, velocity: &Vector6<f64>) -> State {
        state.moved(&velocity.fixed_rows::<3>(0).into(), &velocity.fixed_rows::<3>(3).into(), self.dt)
    }

    /// `ν* = ν + M⁻¹ (p_app + h m g − h (0, ω × I ω))`
    fn free(&self, state: &State, applied: &Vector6<f64>) -> Result<Free> {
        self.validate()?;
        if !state.is_finite() || !applied.iter().all(|x| x.is_finite()) {
            return Err(Error::argument(
                "state",
                format!("must be finite, with the applied impulse: {state:?}, {applied:?}"),
            ));
        }
        let axes = state.orientation.to_rotation_matrix();
        let inertia = self.body.inertia_in(axes.matrix());
        let inverse = Vector3::from(self.body.inertia).map(|i| 1.0 / i);
        let inverse_inertia = axes.matrix() * Matrix3::from_diagonal(&inverse) * axes.matrix().transpose();
        let w = state.angular_velocity;
        let linear = state.velocity + applied.fixed_rows::<3>(0) / self.body.mass + self.gravity * self.dt;
        let gyroscopic = w.cross(&(inertia * w)) * self.dt;
        let angular = w + inverse_inertia * (applied.fixed_rows::<3>(3) - gyroscopic);
        let mut velocity = Vector6::zeros();
        velocity.fixed_rows_mut::<3>(0).copy_from(&linear);
        velocity.fixed_rows_mut::<3>(3).copy_from(&angular);
        Ok(Free { velocity, inverse_inertia })
    }

    /// One contact problem with the rows of `pose`, whose gaps belong to the velocity `reached`; the velocity after it.
    fn pass(
        &self,
        pose: &State,
        reached: &Vector6<f64>,
        free: &Free,
        start: &State,
    ) -> Result<(Vector6<f64>, Contact)> {
        let support = SupportRows::at(&self.body.shape, pose);
        let count = support.rows.len();
        let foot = Vector3::new(0.0, 0.0, -pose.position.z);
        // rows: pressure, then t, o at the foot of the centre of mass, and torsion
        let mut rows: Vec<(Vector3<f64>, Vector3<f64>)> = support.rows.iter().map(|r| (r.force, r.moment)).collect();
        rows.extend([Vector3::x(), Vector3::y()].map(|t| (t, foot.cross(&t))));
        rows.push((Vector3::zeros(), Vector3::z()));
        let n = rows.len();
        let dot = |row: &(Vector3<f64>, Vector3<f64>), v: &Vector6<f64>| {
            row.0.dot(&v.fixed_rows::<3>(0)) + row.1.dot(&v.fixed_rows::<3>(3))
        };
        // M⁻¹ Jᵀ
        let moved: Vec<Vector6<f64>> = rows
            .iter()
            .map(|(force, moment)| {
                let (linear, angular) = (force / self.body.mass, free.inverse_inertia * moment);
                Vector6::new(linear.x, linear.y, linear.z, angular.x, angular.y, angular.z)
            })
            .collect();
        let matrix = (0..n * n).map(|k| dot(&rows[k / n], &moved[k % n])).collect();
        let bias = (0..n)
            .map(|i| {
                let gap = support.rows.get(i).map_or(0.0, |row| row.gap / self.dt - dot(&rows[i], reached));
                dot(&rows[i], &free.velocity) + gap
            })
            .collect();
        let mut normals = [Normal::default(); MOST_NORMALS];
        for (k, row) in support.rows.iter().enumerate() {
            normals[k] = Normal { row: k, weight: row.weight, lever: row.lever };
        }
        let block = Friction {
            rows: [count, count + 1, count + 2],
            dimension: 3,
            friction: self.ground.friction,
            ellipsoid: self.ground.ellipsoid,
            normals,
            normal_count: count,
        };
        let (bounded, discs) = if support.is_disc {
            (Vec::new(), vec![0])
        } else {
            ((0..count).map(|row| Row { row, bounds: [0.0, f64::INFINITY] }).collect(), Vec::new())
        };
        let system = System::new(matrix, bias, bounded, discs, vec![block]);
        let tolerance = SOLVED * free.velocity.amax().max(start.velocity.amax()) + self.rounding(start);
        let Solved { impulse, residual, iterations } = solve_system(&system, tolerance);
        if residual > tolerance {
            let message = format!("residual {residual:e} m/s at {:?}", pose.position);
            return Err(Error::Problem { place: "contact of one body".into(), message });
        }
        let pressure = block.pressure(&impulse);
        let velocity = moved.iter().zip(&impulse).fold(free.velocity, |v, (row, &z)| v + row * z);
        let contact = Contact {
            arm: foot + Vector3::new(pressure.centre[0], pressure.centre[1], 0.0),
            normal_impulse: pressure.sum,
            friction_impulse: block.at_ecp(&impulse, pressure.centre),
            residual,
            newton_steps: iterations,
            passes: 1,
            change: 0.0,
        };
        Ok((velocity, contact))
    }
}
