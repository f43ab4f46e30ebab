//! One rigid body: its shape, inertia and state.

use crate::error::{Error, Result};
use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};

/// A convex shape about the body's centre of mass, which is its centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Full half edges along the body's axes, m.
    Box {
        /// Half edges, m.
        half: [f64; 3],
    },
    /// Axis along the body's z.
    Cylinder {
        /// m.
        radius: f64,
        /// Half the height, m.
        half_length: f64,
    },
    /// A ball.
    Sphere {
        /// m.
        radius: f64,
    },
}

/// A free rigid body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// Its shape.
    pub shape: Shape,
    /// m, kg.
    pub mass: f64,
    /// Principal moments of inertia about the centre of mass, along the body's axes, kg·m².
    pub inertia: [f64; 3],
}

impl Body {
    /// A body of uniform density.
    pub fn uniform(shape: Shape, mass: f64) -> Self {
        let inertia = match shape {
            // m/3 (b² + c²)
            Shape::Box { half: [a, b, c] } => [b * b + c * c, a * a + c * c, a * a + b * b].map(|s| mass * s / 3.0),
            // m (3 R² + L²)/12, m R²/2
            Shape::Cylinder { radius, half_length } => {
                let across = mass * (radius * radius / 4.0 + half_length * half_length / 3.0);
                [across, across, 0.5 * mass * radius * radius]
            }
            Shape::Sphere { radius } => [0.4 * mass * radius * radius; 3],
        };
        Self { shape, mass, inertia }
    }

    /// Checks sizes, mass and inertia.
    ///
    /// # Errors
    /// [`Error::Argument`] naming what is not positive and finite.
    pub fn validate(&self) -> Result<()> {
        let sizes = match self.shape {
            Shape::Box { half } => half.to_vec(),
            Shape::Cylinder { radius, half_length } => vec![radius, half_length],
            Shape::Sphere { radius } => vec![radius],
        };
        let positive = |x: &f64| *x > 0.0 && x.is_finite();
        if !sizes.iter().all(positive) {
            return Err(Error::argument("shape", format!("sizes must be positive and finite: {:?}", self.shape)));
        }
        if !positive(&self.mass) || !self.inertia.iter().all(positive) {
            let message = format!("mass and inertia must be positive: {} kg, {:?} kg·m²", self.mass, self.inertia);
            return Err(Error::argument("body", message));
        }
        Ok(())
    }

    /// Inertia about the centre of mass in world axes, kg·m².
    pub(super) fn inertia_in(&self, axes: &Matrix3<f64>) -> Matrix3<f64> {
        axes * Matrix3::from_diagonal(&Vector3::from(self.inertia)) * axes.transpose()
    }
}

/// Where a body is and how it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Centre of mass in the world, m.
    pub position: Vector3<f64>,
    /// Body to world.
    pub orientation: UnitQuaternion<f64>,
    /// Velocity of the centre of mass in the world, m/s.
    pub velocity: Vector3<f64>,
    /// Angular velocity in world axes, rad/s.
    pub angular_velocity: Vector3<f64>,
}

impl State {
    /// At rest with the centre of mass at `position` (m), unturned.
    pub fn at(position: [f64; 3]) -> Self {
        Self {
            position: position.into(),
            orientation: UnitQuaternion::identity(),
            velocity: Vector3::zeros(),
            angular_velocity: Vector3::zeros(),
        }
    }

    /// The pose after `dt` (s) at these velocities: `x + h v`, and `q + h/2 (0, ω) q`, normalized, as in the paper's (8).
    pub(super) fn moved(&self, velocity: &Vector3<f64>, angular_velocity: &Vector3<f64>, dt: f64) -> Self {
        let rate = Quaternion::from_imag(*angular_velocity) * self.orientation.into_inner();
        let orientation = UnitQuaternion::new_normalize(self.orientation.into_inner() + rate * (0.5 * dt));
        Self {
            position: self.position + velocity * dt,
            orientation,
            velocity: *velocity,
            angular_velocity: *angular_velocity,
        }
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        let vectors = [&self.position, &self.velocity, &self.angular_velocity];
        vectors.iter().all(|v| v.iter().all(|x| x.is_finite())) && self.orientation.coords.iter().all(|x| x.is_finite())
    }
}
