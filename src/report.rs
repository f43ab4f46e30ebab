//! The certificate of a world: how well its last step went.

/// How a world came out of its last step; from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum WorldStatus {
    /// Every block met its goal: the tolerance, or its rounding floor where that is at most [`crate::solver::TRUSTED_FLOOR`] times the tolerance.
    #[default]
    Solved,
    /// A block missed its goal, with every solver that the settings allow; the residual says by how much.
    IterationLimit,
    /// A velocity passed [`crate::Settings::speed_limit`].
    Exploded,
    /// The state is infinite or not a number; only a reset or a new state brings the world back.
    NotFinite,
}

/// A world that stays unsolved for so many steps in a row has failed: see [`WorldReport::failed`].
pub const STAYS_UNSOLVED: u32 = 10;

/// The certificate of one world for the last call of `step`; over several substeps the worst of each, unless a field says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WorldReport {
    /// Outcome.
    pub status: WorldStatus,
    /// Substeps that it covers.
    pub steps: u32,
    /// How many of them were not solved.
    pub unsolved_steps: u32,
    /// Substeps up to now that were not solved one after the other, those of earlier calls included; a reset or a new state starts anew.
    pub unsolved_in_a_row: u32,
    /// Sweeps and Newton steps of the hardest block, both of its problems together.
    pub iterations: u32,
    /// Sweeps of that block.
    pub sweeps: u32,
    /// Newton steps of that block.
    pub newton_steps: u32,
    /// Largest natural-map residual of its blocks, m/s (rad/s), from the final impulses in a pass of its own.
    pub residual: f64,
    /// Rounding floor of that residual, m/s: 4 ε times the largest sum of terms; no smaller residual can be told from zero.
    pub floor: f64,
    /// Deepest overlap found, of surfaces with their margins, m; 0 without one.
    pub penetration: f64,
    /// Largest push-out that an overlap was denied, because not all of them can be pushed out at once, m/s (rad/s).
    pub push_denied: f64,
    /// Passes of impacts one after another, of the substep that took most; 0 with [`crate::worlds::Impacts::Simultaneous`].
    pub impact_passes: u32,
    /// Whether a substep reached [`crate::worlds::IMPACT_PASSES`]: what still struck then became one problem.
    pub impacts_left: bool,
    /// Contacts that were posed in the last substep.
    pub contact_count: usize,
    /// Constraint rows of the last substep.
    pub row_count: usize,
    /// Contact capacity that would have held every contact of every substep.
    pub capacity_needed: usize,
    /// Whether contacts were left out for want of capacity, in any substep.
    pub overflow: bool,
    /// Whether the exact solver was called in, in any substep.
    pub fallback: bool,
    /// Whether a substep was done again in f64, because the precision of the step was too coarse for it.
    pub redone: bool,
    /// Whether the device left a substep to the CPU, see [`crate::Backend::Gpu`].
    pub halted: bool,
}

impl WorldReport {
    /// Whether the world needs a reset: its state is not finite, it exploded, or it was not solved [`STAYS_UNSOLVED`] steps in a row.
    pub fn failed(&self) -> bool {
        self.status >= WorldStatus::Exploded || self.unsolved_in_a_row >= STAYS_UNSOLVED
    }
    /// Whether every block of every substep met its goal and no contact was left out.
    pub fn solved(&self) -> bool {
        self.status == WorldStatus::Solved && !self.overflow
    }

    /// What stays of a report when the next call of `step` begins, and what is of the last substep.
    pub(crate) fn begun(&self) -> Self {
        let Self { unsolved_in_a_row, contact_count, row_count, .. } = *self;
        Self { unsolved_in_a_row, contact_count, row_count, ..Self::default() }
    }

    /// Adds the report of one more substep.
    pub(crate) fn add(&mut self, step: &Self) {
        let unsolved = step.status != WorldStatus::Solved;
        self.status = self.status.max(step.status);
        self.steps += 1;
        self.unsolved_steps += u32::from(unsolved);
        self.unsolved_in_a_row = if unsolved { self.unsolved_in_a_row.saturating_add(1) } else { 0 };
        if step.iterations > self.iterations {
            (self.iterations, self.sweeps, self.newton_steps) = (step.iterations, step.sweeps, step.newton_steps);
        }
        self.residual = self.residual.max(step.residual);
        self.floor = self.floor.max(step.floor);
        self.penetration = self.penetration.max(step.penetration);
        self.push_denied = self.push_denied.max(step.push_denied);
        self.impact_passes = self.impact_passes.max(step.impact_passes);
        self.impacts_left |= step.impacts_left;
        self.contact_count = step.contact_count;
        self.row_count = step.row_count;
        self.capacity_needed = self.capacity_needed.max(step.capacity_needed);
        self.overflow |= step.overflow;
        self.fallback |= step.fallback;
        self.redone |= step.redone;
        self.halted |= step.halted;
    }
}
