//! One row of J and J̇ v for each contact.

use super::{ContactKind, RestingContact};
use crate::dynamics::{self, Dynamics};
use crate::error::{Error, Result};
use crate::kinematics::{Kinematics, kinematics};
use crate::model::Model;
use crate::parameters::SharedParameters;
use crate::spatial::Vec3;
use nalgebra::Vector3;

/// How far a given normal may be from the one that the kind of contact implies.
const NORMAL_TOLERANCE: f64 = 1e-6;
/// Rounding of an entry of J over the size of its terms.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// What all contacts of a state share.
pub(super) struct State<'a> {
    model: &'a Model,
    kinematics: Kinematics<f64>,
    dynamics: Dynamics<f64>,
}

/// One contact's part of (6).
pub(super) struct Row {
    /// Row of J.
    pub jacobian: Vec<f64>,
    /// n·(p̈_b − p̈_a) at v̇ = 0, m/s².
    pub point_acceleration: f64,
    /// 2 ṅ·(ṗ_b − ṗ_a) + n̈·(p_b − p_a), m/s².
    pub turning: f64,
}

/// A point that moves with a body, at v̇ = 0.
struct Point {
    position: Vector3<f64>,
    /// ṗ, m/s.
    velocity: Vector3<f64>,
    /// p̈, m/s².
    acceleration: Vector3<f64>,
    /// ω of the body, rad/s.
    angular: Vector3<f64>,
}

/// How a contact's normal is and moves.
struct Normal {
    n: Vector3<f64>,
    /// ṅ, 1/s.
    rate: Vector3<f64>,
    /// n̈·(p_b − p_a), m/s².
    bend: f64,
}

fn vector(v: Vec3<f64>) -> Vector3<f64> {
    Vector3::new(v.x, v.y, v.z)
}

impl<'a> State<'a> {
    pub fn new(model: &'a Model, q: &[f64], v: &[f64], tau: &[f64]) -> Result<Self> {
        model.validate()?;
        for (argument, x, wanted) in [("q", q, model.nq()), ("v", v, model.nv()), ("tau", tau, model.nv())] {
            if x.len() != wanted {
                return Err(Error::argument(argument, format!("has {} numbers, the model needs {wanted}", x.len())));
            }
            if let Some(k) = x.iter().position(|x| !x.is_finite()) {
                return Err(Error::argument(argument, format!("number {k} is not finite")));
            }
        }
        let (mut k, mut d) = (Kinematics::new(model), Dynamics::new(model));
        kinematics(model, q, &mut k);
        dynamics::mass_matrix(model, &SharedParameters::new(model).tile(), &k, &mut d);
        dynamics::bias_force(model, model.gravity.as_slice(), v, &k, &mut d);
        d.applied_force.copy_from_slice(tau);
        dynamics::factor(model, 0.0, &mut d);
        // v* = 0 + 1 · M⁻¹ (τ − c)
        dynamics::free_velocity(model, 1.0, &vec![0.0; model.nv()], &mut d);
        Ok(Self { model, kinematics: k, dynamics: d })
    }

    /// M⁻¹ (τ − c).
    pub fn free_acceleration(&self) -> &[f64] {
        &self.dynamics.response.free_velocity
    }

    /// x ← D^(−1/2) L⁻ᵀ x
    pub fn half_solve(&self, x: &mut [f64]) {
        dynamics::solve_transposed(self.model, &self.dynamics.response.factor, x);
        for (x, inverse) in x.iter_mut().zip(&self.dynamics.inverse_diagonal) {
            *x *= inverse.sqrt();
        }
    }

    /// x ← L⁻¹ D^(−1/2) x
    pub fn other_half(&self, x: &mut [f64]) {
        for (x, inverse) in x.iter_mut().zip(&self.dynamics.inverse_diagonal) {
            *x *= inverse.sqrt();
        }
        dynamics::solve_lower(self.model, &self.dynamics.response.factor, &mut [x]);
    }

    /// The row of `contact`, or what is wrong with it.
    pub fn row(&self, contact: &RestingContact) -> std::result::Result<Row, String> {
        let bodies = self.model.bodies.len();
        if let Some(body) = [contact.body_a, contact.body_b].into_iter().find(|b| *b >= bodies) {
            return Err(format!("body {body} does not exist, there are {bodies}"));
        }
        let (p_a, p_b) = match contact.kind {
            ContactKind::Centres { centre_a, centre_b } => (centre_a, centre_b),
            _ => (contact.point, contact.point),
        };
        if p_a.iter().chain(&p_b).any(|x| !x.is_finite()) {
            return Err("the point is not finite".into());
        }
        let (a, b) = (self.point(contact.body_a, p_a), self.point(contact.body_b, p_b));
        let Normal { n, rate, bend } = normal(contact, &a, &b)?;
        let mut jacobian = vec![(0.0, 0.0); self.model.nv()];
        self.add_jacobian(contact.body_b, p_b, n, &mut jacobian);
        self.add_jacobian(contact.body_a, p_a, -n, &mut jacobian);
        // What is nothing but rounding is zero, or a bearing would carry a load of 1e30 N through it.
        let rounded = |(entry, size): (f64, f64)| if f64::abs(entry) > ROUNDING * size { entry } else { 0.0 };
        Ok(Row {
            jacobian: jacobian.into_iter().map(rounded).collect(),
            point_acceleration: n.dot(&(b.acceleration - a.acceleration)),
            turning: 2.0 * rate.dot(&(b.velocity - a.velocity)) + bend,
        })
    }

    /// ṗ = v_O + ω × r and p̈ = a_O + α × r + ω × ṗ, with a_O, α the spatial acceleration about O.
    fn point(&self, body: usize, position: Vector3<f64>) -> Point {
        let Some(tree) = self.model.bodies[body].tree else {
            let rest = Vector3::zeros();
            return Point { position, velocity: rest, acceleration: rest, angular: rest };
        };
        let r = Vec3::constant(&position) - self.kinematics.reference[tree];
        let (motion, spatial) = (self.dynamics.body_velocity[body], self.dynamics.acceleration[body]);
        let velocity = motion.at(r);
        // The stage has gravity as an upward acceleration of the world.
        let acceleration = vector(spatial.at(r) + motion.angular.cross(velocity)) + self.model.gravity;
        Point { position, velocity: vector(velocity), acceleration, angular: vector(motion.angular) }
    }

    /// J_d += n · (velocity of the body's point p per unit of v_d), and beside it the size of what it was made from.
    fn add_jacobian(&self, body: usize, p: Vector3<f64>, n: Vector3<f64>, row: &mut [(f64, f64)]) {
        let Some(last) = self.model.last_dof(body) else { return };
        for &d in &self.model.dofs[last].ancestors {
            let r = Vec3::constant(&p) - self.kinematics.reference[self.model.dofs[d].tree];
            let s = self.kinematics.motion_subspace[d];
            row[d].0 += Vec3::constant(&n).dot(s.at(r));
            row[d].1 += s.linear.norm() + s.angular.norm() * r.norm();
        }
    }
}

/// The normal, ṅ and n̈·(p_b − p_a), as in the table of [`super`].
fn normal(contact: &RestingContact, a: &Point, b: &Point) -> std::result::Result<Normal, String> {
    let given = contact.normal;
    // m along n, with its rate; ṅ is the part of ṁ across n, over ‖m‖.
    let (m, m_rate, bend) = match contact.kind {
        ContactKind::FaceOfA => (given, a.angular.cross(&given), false),
        ContactKind::FaceOfB => (given, b.angular.cross(&given), false),
        ContactKind::EdgeEdge { edge_a, edge_b } => {
            let (e_a, e_b) = (edge_a.normalize(), edge_b.normalize());
            let m = e_a.cross(&e_b);
            let rate = a.angular.cross(&e_a).cross(&e_b) + e_a.cross(&b.angular.cross(&e_b));
            let sign = 1f64.copysign(m.dot(&given));
            (m * sign, rate * sign, false)
        }
        ContactKind::Centres { .. } => (b.position - a.position, b.velocity - a.velocity, true),
    };
    let length = m.norm();
    let n = m / length;
    // Also false for edges that are parallel or zero, and for centres that coincide.
    let fits = length > NORMAL_TOLERANCE * NORMAL_TOLERANCE
        && (n - given).norm() <= NORMAL_TOLERANCE
        && (given.norm() - 1.0).abs() <= NORMAL_TOLERANCE;
    if !fits {
        return Err(format!("normal {:?} is not the unit normal of {:?}", given.as_slice(), contact.kind));
    }
    let rate = (m_rate - n * n.dot(&m_rate)) / length;
    Ok(Normal { n, rate, bend: if bend { -length * rate.norm_squared() } else { 0.0 } })
}
