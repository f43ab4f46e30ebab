//! The certificate of a world: how well its last step went.

/// How a world came out of its last step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorldStatus {
    /// Every block met the tolerance (or the rounding floor of the precision).
    #[default]
    Solved,
    /// A block missed its tolerance within the allowed iterations; the residual says by how much.
    IterationLimit,
    /// The state is infinite or not a number; only a reset or a new state brings the world back.
    NotFinite,
}

/// The certificate of one world for the last call of `step`; over several substeps the worst of each.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WorldReport {
    /// Outcome.
    pub status: WorldStatus,
    /// Substeps that it covers.
    pub steps: u32,
    /// Sweeps of the hardest block.
    pub iterations: u32,
    /// Largest natural-map residual of its blocks, m/s (rad/s), from the final impulses in a pass of its own.
    pub residual: f64,
    /// Rounding floor of that residual, m/s: 4 ε times the largest sum of terms; no smaller residual can be told from zero.
    pub floor: f64,
    /// Deepest overlap found, of surfaces with their margins, m; 0 without one.
    pub penetration: f64,
    /// Contacts of the last substep.
    pub contact_count: usize,
    /// Constraint rows of the last substep.
    pub row_count: usize,
    /// Contact capacity that would have held every contact of every substep.
    pub capacity_needed: usize,
    /// Whether contacts were left out for want of capacity.
    pub overflow: bool,
    /// Whether the exact solver was called in.
    pub fallback: bool,
}

impl WorldReport {
    /// Whether the world needs a reset: its state is not finite.
    pub fn failed(&self) -> bool {
        self.status == WorldStatus::NotFinite
    }
    /// Whether every block met its tolerance and no contact was left out.
    pub fn solved(&self) -> bool {
        self.status == WorldStatus::Solved && !self.overflow
    }
}
