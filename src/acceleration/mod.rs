//! Contact forces from accelerations: Baraff's formulation of frictionless contact that lasts.
//!
//! Equations are numbered as in Trefny, LCP Formulations for Contact Solver Implementation (2004), section 1, after Baraff,
//! Fast Contact Force Computation for Nonpenetrating Rigid Bodies (1994). His body A, towards which his normals point, is body b here
//! ([`RestingContact`]); instead of two rigid bodies, J holds each normal in the coordinates v of all articulated bodies.
//!
//! ```text
//! (1)  a_i = a_i1 f_1 + … + a_in f_n + b_i
//! (2)  a_i ≥ 0             bodies do not accelerate into each other
//! (3)  f_i ≥ 0             contact does not pull
//! (4)  f_i a_i = 0         no force where contact breaks
//! (5)  a_i = n_i·(p̈_b − p̈_a) + 2 ṅ_i·(ṗ_b − ṗ_a) + n̈_i·(p_b − p_a)
//! (6)  a = A f + b,        A = J M⁻¹ Jᵀ,   b = J M⁻¹ (τ − c) + J̇ v,   (J v)_i = n_i·(ṗ_b − ṗ_a)
//! (7)  a = A f + b ≥ 0,    f ≥ 0,   fᵀ a = 0
//! ```
//!
//! (5) is the second derivative of the distance n·(p_b − p_a) between two points fixed to the bodies; J̇ v is what is left of it at v̇ = 0. The last
//! term vanishes where the points coincide; the derivative of the normal depends on what touches ([`ContactKind`]):
//!
//! | contact | p_a, p_b | ṅ |
//! |---|---|---|
//! | vertex and face | the vertex, both | ω × n, ω of the body with the face |
//! | sphere and face | the centre of the sphere, both: the distance of its surface is that of its centre less the radius | ω × n |
//! | edge and edge | the crossing, both | (ṁ − n (n·ṁ)) / ‖m‖, m = ±e_a × e_b, ṁ = ±((ω_a × e_a) × e_b + e_a × (ω_b × e_b)) |
//! | sphere and sphere | the centres, L apart | (u − n (n·u)) / L, u = ṗ_b − ṗ_a; n̈·(p_b − p_a) = −L ṅ·ṅ |
//!
//! A is symmetric and positive semidefinite, so (7) has a solution whenever (2) can be met at all; the accelerations are unique, the forces only where
//! the rows of J are independent. What the formulation cannot do is an impact: contacts must be at rest along their normals.
//!
//! ```
//! use delassus::Model;
//! use delassus::acceleration::{contact_forces, resting_contacts};
//! # fn main() -> delassus::Result<()> {
//! let model = Model::from_mjcf_str(
//!     r#"<mujoco>
//!          <option gravity="0 0 -10"/>
//!          <worldbody>
//!            <geom type="plane" size="5 5 1"/>
//!            <body pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="2"/></body>
//!          </worldbody>
//!        </mujoco>"#,
//! )?;
//! let (q, v) = (&model.q0, [0.0; 6]);
//! let contacts = resting_contacts(&model, q, &v, 1e-6, 1e-6)?;
//! let solution = contact_forces(&model, q, &v, &[0.0; 6], &contacts)?;
//! assert_eq!(contacts.len(), 4);
//! assert!((solution.forces.sum() - 20.0).abs() < 1e-9);
//! # Ok(())
//! # }
//! ```

mod find;
mod rk4;
mod rows;

pub use find::resting_contacts;
pub use rk4::rk4_step;

use crate::error::{Error, Result};
use crate::lcp::{Problem, SolveSettings, SolveStatus, Solver, solve};
use crate::model::Model;
use nalgebra::{DMatrix, DVector, Vector3};
use rows::State;

/// Two bodies that touch and neither part nor meet. Everything in world axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RestingContact {
    /// First body, an index into [`Model::bodies`]; 0 is the world.
    pub body_a: usize,
    /// Second body, from which the force pushes the first.
    pub body_b: usize,
    /// Where they touch, m. For a sphere on a face its centre; not used by [`ContactKind::Centres`].
    pub point: Vector3<f64>,
    /// Unit normal from a to b.
    pub normal: Vector3<f64>,
    /// What touches what, which decides how the normal turns.
    pub kind: ContactKind,
}

/// What touches what.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ContactKind {
    /// A face of body a and a vertex (or the centre of a sphere) of body b.
    FaceOfA,
    /// A vertex (or the centre of a sphere) of body a and a face of body b.
    FaceOfB,
    /// Two edges that cross; the normal is along ±e_a × e_b.
    EdgeEdge {
        /// Direction of the edge of body a, of any length.
        edge_a: Vector3<f64>,
        /// Direction of the edge of body b, of any length.
        edge_b: Vector3<f64>,
    },
    /// Two spheres, or a sphere and a vertex (a sphere of radius 0); the normal is along c_b − c_a.
    Centres {
        /// Centre of the sphere of body a, m.
        centre_a: Vector3<f64>,
        /// Centre of the sphere of body b, m.
        centre_b: Vector3<f64>,
    },
}

/// The linear complementarity problem (7) and what it was made from; n contacts.
#[derive(Debug, Clone, PartialEq)]
pub struct AccelerationProblem {
    /// J, n × nv: the contacts' normal velocity per unit of v.
    pub jacobian: DMatrix<f64>,
    /// A of (6), n × n, symmetric positive semidefinite, 1/kg.
    pub matrix: DMatrix<f64>,
    /// b of (6), shape \[n\], m/s².
    pub bias: DVector<f64>,
    /// The part of b that comes from the turning of the normals, 2 ṅ·(ṗ_b − ṗ_a) + n̈·(p_b − p_a) of (5), shape \[n\], m/s².
    pub turning: DVector<f64>,
    /// M⁻¹ (τ − c), shape \[nv\]: v̇ without contact forces, m/s² or rad/s².
    pub free_acceleration: DVector<f64>,
    /// M⁻¹ Jᵀ, nv × n: v̇ per unit of force.
    pub response: DMatrix<f64>,
}

/// The answer to (7).
#[derive(Debug, Clone, PartialEq)]
pub struct AccelerationSolution {
    /// f, shape \[contact\], N.
    pub forces: DVector<f64>,
    /// a, shape \[contact\], m/s²: 0 where contact lasts, positive where it breaks.
    pub accelerations: DVector<f64>,
    /// v̇ with the contact forces, shape \[nv\], m/s² or rad/s².
    pub v_dot: DVector<f64>,
}

impl AccelerationProblem {
    /// A, b and J of (6) at a state.
    ///
    /// - `q`, `v`: position and velocity, shapes \[nq\] and \[nv\].
    /// - `tau`: all generalized forces but gravity, N or N·m, shape \[nv\]; springs, dampers and actuators are the caller's
    ///   ([`crate::dynamics::applied_force`]).
    ///
    /// # Errors
    /// [`Error::Model`] if the model was changed into an invalid one; [`Error::Argument`] for wrong lengths, numbers that are not finite, bodies that do not exist, and normals that are not of unit length or
    /// do not belong to the edges or centres.
    pub fn new(model: &Model, q: &[f64], v: &[f64], tau: &[f64], contacts: &[RestingContact]) -> Result<Self> {
        let state = State::new(model, q, v, tau)?;
        let (n, nv) = (contacts.len(), model.nv());
        let mut problem = Self {
            jacobian: DMatrix::zeros(n, nv),
            matrix: DMatrix::zeros(n, n),
            bias: DVector::zeros(n),
            turning: DVector::zeros(n),
            free_acceleration: DVector::from_column_slice(state.free_acceleration()),
            response: DMatrix::zeros(nv, n),
        };
        // With M = Lᵀ D L: Y = D^(−1/2) L⁻ᵀ Jᵀ, A = Yᵀ Y, M⁻¹ Jᵀ = L⁻¹ D^(−1/2) Y
        let mut y = DMatrix::zeros(nv, n);
        for (i, contact) in contacts.iter().enumerate() {
            let row =
                state.row(contact).map_err(|message| Error::argument("contacts", format!("contact {i}: {message}")))?;
            let mut column = row.jacobian;
            problem.jacobian.row_mut(i).tr_copy_from(&DVector::from_column_slice(&column));
            problem.turning[i] = row.turning;
            problem.bias[i] = row.point_acceleration + row.turning;
            state.half_solve(&mut column);
            y.column_mut(i).copy_from_slice(&column);
            state.other_half(&mut column);
            problem.response.column_mut(i).copy_from_slice(&column);
        }
        problem.matrix = y.tr_mul(&y);
        problem.bias += &problem.jacobian * &problem.free_acceleration;
        Ok(problem)
    }

    /// Solves (7).
    ///
    /// # Errors
    /// [`Error::Problem`] if there is no solution: bodies that are pressed together by what cannot give way.
    pub fn solve(&self) -> Result<AccelerationSolution> {
        let lcp = Problem::standard("contact forces", self.matrix.clone(), self.bias.clone());
        let settings = SolveSettings { tolerance: RELATIVE_TOLERANCE * self.bias.amax(), ..SolveSettings::default() };
        let solution = solve(&lcp, Solver::Auto, &settings, None);
        if solution.status != SolveStatus::Solved {
            return Err(Error::Problem {
                place: "\"contact forces\"".into(),
                message: format!("{}, residual {:e} m/s²", solution.status, solution.residual),
            });
        }
        // a = A f + b,  v̇ = M⁻¹ (τ − c + Jᵀ f)
        Ok(AccelerationSolution {
            accelerations: lcp.velocity(&solution.impulse),
            v_dot: &self.free_acceleration + &self.response * &solution.impulse,
            forces: solution.impulse,
        })
    }
}

/// Residual of a solved problem over the largest |b|: as in the exact solvers' tests, some powers of ten above rounding.
const RELATIVE_TOLERANCE: f64 = 1e-11;

/// Contact forces and accelerations at a state: [`AccelerationProblem::new`] and [`AccelerationProblem::solve`] in one.
///
/// # Errors
/// Those of the two.
pub fn contact_forces(
    model: &Model,
    q: &[f64],
    v: &[f64],
    tau: &[f64],
    contacts: &[RestingContact],
) -> Result<AccelerationSolution> {
    AccelerationProblem::new(model, q, v, tau, contacts)?.solve()
}
