//! Convex sets as intersections of `f ≤ 0`, as the paper has them.

use super::body::Shape;
use super::dual::{Dual, Dual3, dot};

/// A convex function whose gradient has length 1 where it is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Convex {
    /// `n · ξ − offset`, |n| = 1.
    HalfSpace {
        /// Outward normal n.
        normal: [f64; 3],
        /// m.
        offset: f64,
    },
    /// `(x² + y² − R²) / 2 R`.
    Round {
        /// R, m.
        radius: f64,
    },
    /// `(|ξ|² − R²) / 2 R`.
    Ball {
        /// R, m.
        radius: f64,
    },
}

impl Convex {
    /// The functions of a shape, in body axes.
    pub fn of(shape: &Shape) -> Vec<Self> {
        let faces = |axes: &[(usize, f64)]| {
            let face = |axis: usize, sign: f64, offset: f64| {
                let mut normal = [0.0; 3];
                normal[axis] = sign;
                Self::HalfSpace { normal, offset }
            };
            let both = |&(axis, half): &(usize, f64)| [face(axis, 1.0, half), face(axis, -1.0, half)];
            axes.iter().flat_map(both).collect::<Vec<_>>()
        };
        match *shape {
            Shape::Box { half: [a, b, c] } => faces(&[(0, a), (1, b), (2, c)]),
            Shape::Cylinder { radius, half_length } => {
                let mut all = vec![Self::Round { radius }];
                all.extend(faces(&[(2, half_length)]));
                all
            }
            Shape::Sphere { radius } => vec![Self::Ball { radius }],
        }
    }

    /// Its value at ξ, m.
    pub fn value(&self, point: [f64; 3]) -> f64 {
        self.at(point.map(Dual::constant)).0.value
    }

    /// Value and gradient.
    pub(super) fn at(&self, point: Dual3) -> (Dual, Dual3) {
        let [x, y, z] = point;
        match *self {
            Self::HalfSpace { normal, offset } => {
                let normal = normal.map(Dual::constant);
                (dot(normal, point) - Dual::constant(offset), normal)
            }
            Self::Round { radius } => {
                let value = (x * x + y * y - Dual::constant(radius * radius)) * (0.5 / radius);
                (value, [x * (1.0 / radius), y * (1.0 / radius), Dual::default()])
            }
            Self::Ball { radius } => {
                let value = (x * x + y * y + z * z - Dual::constant(radius * radius)) * (0.5 / radius);
                (value, point.map(|x| x * (1.0 / radius)))
            }
        }
    }
}
