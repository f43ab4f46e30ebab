//! What a step tells to those who look at it.

use crate::lcp::Problem;
use nalgebra::{DVector, Vector3};

/// A contact of a step, for people and records. SI units, world axes.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactRecord {
    /// First geom.
    pub geom_a: usize,
    /// Second geom.
    pub geom_b: usize,
    /// Contact point, m.
    pub position: Vector3<f64>,
    /// Normal from the first geom to the second, then two tangents.
    pub frame: [Vector3<f64>; 3],
    /// Gap between the surfaces with their margins before the step, m, negative = overlap.
    pub gap: f64,
    /// Impulse on the second geom along the axes of the frame, N·s.
    pub impulse: [f64; 3],
    /// Impulse of the torque on the second geom at the contact point about these axes, N·m·s: of torsional and rolling friction of soft contacts with condim 4 and 6, else 0.
    pub torque: [f64; 3],
    /// If it is a patch, whose contact point is its equivalent contact point: what else it has.
    pub patch: Option<PatchRecord>,
}

/// What a patch has beside what a point has. SI units, world axes.
#[derive(Debug, Clone, PartialEq)]
pub struct PatchRecord {
    /// Impulse of torsion on the second geom about the normal at the equivalent contact point, N·m·s.
    pub torsion: f64,
    /// Vertices, m; of a disc its centre.
    pub vertices: Vec<Vector3<f64>>,
    /// Normal impulse of every vertex, N·s; of a disc all of it.
    pub pressure: Vec<f64>,
    /// Radius of a disc that leans by nothing or little, m; none: there are vertices.
    pub disc: Option<f64>,
}

/// A block as it was posed and answered.
#[derive(Debug)]
pub struct BlockRecord<'a> {
    /// The world.
    pub world: usize,
    /// The problem: contacts first (normal, two tangents), then scalar rows. In the precision of the step, widened.
    pub problem: &'a Problem,
    /// The answer, N·s.
    pub impulse: &'a DVector<f64>,
    /// Its certificate: natural-map residual, m/s.
    pub residual: f64,
    /// Whether it met the tolerance.
    pub solved: bool,
    /// Whether this is the problem that moves positions (with push-out) rather than the one that gives the velocity.
    pub position: bool,
}
