//! The patch: line and surface contact through one equivalent contact point.
//!
//! Xie & Chakraborty, *Rigid body dynamic simulation with line and surface contact*: a contact patch (a face, an edge, a
//! disc) acts as one point would, the equivalent contact point (ECP), which is where the pressure of the patch has no
//! moment. There it transmits a normal impulse, two tangential ones and torsion; the last three stay in an ellipsoid.
//! Their closest-point conditions say that the ECP lies in the patch, so that `p_n α_i = λ_i` reduces them to impulses at
//! the vertices: what is left are `V` normals and one block of friction, about a reference point c of the patch.
//!
//! ```text
//! z = (λ_1 … λ_V, f_t, f_o, τ)        N·s, N·m·s; normals at the vertices x_i, t and o at c, torsion about c
//! w = W z + b                         m/s, rad/s
//!
//! N = Σ λ_i,   d = Σ λ_i (x_i − c) / N                      the ECP, seen from c
//! τ_r = τ − d_t f_o + d_o f_t                               torsion about the ECP
//! u = (w_t − d_o w_r, w_o + d_t w_r, w_r)                   velocity at the ECP
//!
//! 0 ≤ λ_i ⟂ w_i ≥ 0
//! s = (f_t/e_t, f_o/e_o, τ_r/e_r),   y = (e_t u_t, e_o u_o, e_r u_r)
//! |s| ≤ μ N,   y = 0 or s = −μ N y/|y|                      most dissipation
//! ```
//!
//! A disc has three rows for its pressure instead: `(λ, m_t, m_o)` in the cone `|m| ≤ λ`, with `d = R m / λ`; their
//! velocities are that of the centre and `R` times its slopes, so that `w_n + a w_t + b w_o` is the velocity at
//! `c + R (a, b)`.
//!
//! Newton and Gauss-Seidel solve problems in which every friction law is of this form: patches, and points as patches of
//! one vertex without torsion. They run in any [`crate::lane::Scalar`].

pub mod ellipsoid;
pub(super) mod judge;
mod linear;
mod newton;
mod solve;
mod sweeps;
pub mod system;

use crate::error::{Error, Result};

pub use solve::{Rounded, solve_rounded};
pub(crate) use solve::{Solved, auto, newton, solve_system, sweeps};

/// Most vertices of a [`Support::Vertices`].
pub const MOST_VERTICES: usize = 4;

/// Where a patch can press.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Support {
    /// At the vertices of a convex polygon: a face (3 or 4), an edge (2) or a point (1).
    Vertices {
        /// How many, 1 to [`MOST_VERTICES`].
        count: usize,
        /// Vertices minus the reference point c along t and o, m; shape \[vertex\]\[t, o\]. Zero beyond `count`.
        points: [[f64; 2]; MOST_VERTICES],
    },
    /// On a disc about the reference point c.
    Disc {
        /// R, m.
        radius: f64,
    },
}

/// The law of one patch; see the module for its rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patch {
    /// Friction coefficient μ, without unit.
    pub friction: f64,
    /// Half axes of the friction ellipsoid in units of μ N: e_t, e_o (without unit) and e_r (m); 0 for none along it.
    pub ellipsoid: [f64; 3],
    /// Where it can press.
    pub support: Support,
}

impl Patch {
    /// A polygon, edge or point.
    ///
    /// # Errors
    /// [`Error::Argument`] if there are no vertices or more than [`MOST_VERTICES`].
    pub fn polygon(friction: f64, ellipsoid: [f64; 3], vertices: &[[f64; 2]]) -> Result<Self> {
        if !(1..=MOST_VERTICES).contains(&vertices.len()) {
            let message = format!("a patch has 1 to {MOST_VERTICES}, not {}", vertices.len());
            return Err(Error::argument("vertices", message));
        }
        let mut points = [[0.0; 2]; MOST_VERTICES];
        points[..vertices.len()].copy_from_slice(vertices);
        Ok(Self { friction, ellipsoid, support: Support::Vertices { count: vertices.len(), points } })
    }

    /// A disc of `radius` (m).
    pub fn disc(friction: f64, ellipsoid: [f64; 3], radius: f64) -> Self {
        Self { friction, ellipsoid, support: Support::Disc { radius } }
    }

    /// How many rows of pressure come before the three of friction.
    pub fn normal_rows(&self) -> usize {
        match self.support {
            Support::Vertices { count, .. } => count,
            Support::Disc { .. } => 3,
        }
    }

    /// What is wrong with its numbers, in words.
    pub(crate) fn fault(&self) -> Option<String> {
        let finite = |x: &f64| x.is_finite() && *x >= 0.0;
        if !finite(&self.friction) {
            return Some(format!("friction must be finite and not negative, it is {}", self.friction));
        }
        if !self.ellipsoid.iter().all(finite) {
            return Some(format!("half axes e must be finite and not negative, they are {:?}", self.ellipsoid));
        }
        match self.support {
            Support::Vertices { count, .. } if !(1..=MOST_VERTICES).contains(&count) => {
                Some(format!("a patch has 1 to {MOST_VERTICES} vertices, not {count}"))
            }
            Support::Vertices { count, points } if !points[..count].iter().flatten().all(|x| x.is_finite()) => {
                Some(format!("vertices must be finite, they are {:?}", &points[..count]))
            }
            Support::Disc { radius } if !finite(&radius) => {
                Some(format!("the radius must be finite and not negative, it is {radius}"))
            }
            _ => None,
        }
    }
}
