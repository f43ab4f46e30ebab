//! Solving many independent blocks at once.
//!
//! A block is w = W λ + b with, for each row, an impulse λ and the velocity w that it leaves (see [`Batch`]):
//! - scalar row: lower ≤ λ ≤ upper; w ≥ 0 at the lower bound, w ≤ 0 at the upper, w = 0 between;
//! - contact: Signorini's law for the normal, and for the tangents Coulomb's law in one of two forms ([`FrictionLaw`]).
//!
//! [`sweeps`] is a plain function over one tile (the twin) and a shader of the same name, made of parts that are both, too:
//! `warm_start` → `residual` → (`pgs` or `jacobi` → `residual`) while any block is swept.
//!
//! [`Algorithm::Auto`] leaves the sweeps where they no longer contract and goes on with damped Newton on contact modes (the module `newton`), which runs
//! in lanes on the CPU and has no shader here: after sweeps on a device, [`polish`] does that part.

mod abreast;
mod batch;
mod block_lu;
mod carried;
mod coulomb;
mod cpu;
mod dense;
mod factor;
mod factored;
mod gathering;
mod jacobi;
mod large;
mod modes;
mod newton;
mod past;
mod patch;
mod pgs;
mod pieces;
mod problems;
mod project;
mod residual;
mod rounds;
mod settings;
mod size;
mod strip_lu;
mod sweeps;
mod swept;
#[cfg(test)]
mod tests;
mod tiles;
mod warm_start;

pub use crate::contact::PATCH_ROWS;
pub use batch::{
    Batch, BlockPlace, Group, PATCH_LEN, REPORT_FLOOR, REPORT_LEN, REPORT_LIVE, REPORT_NEWTON_STEPS, REPORT_RESIDUAL,
    REPORT_SWEEPS, SWEPT, TRUSTED_FLOOR, goal,
};
#[cfg(feature = "gpu")]
pub(crate) use cpu::check_runs;
pub(crate) use cpu::{Scratch, solve_reusing};
pub use cpu::{polish, solve_cpu, solve_tiles};
pub use factor::{Factor, STRIP};
pub use patch::DISC_STEPS;
#[cfg(feature = "gpu")]
pub(crate) use patch::{OnePatch, PATCH_DELTA, SEVEN_ROWS, linear_law, patch_sweeps};
pub use problems::{ProblemBatch, solve_problems};
pub use settings::{
    ALGORITHM_JACOBI, ALGORITHM_PGS, Algorithm, DeviceChoice, FrictionLaw, Header, LAW_BOX, LAW_CONE, SolveSettings,
};
pub use size::BlockSize;
pub use sweeps::sweeps;
pub use tiles::{Tiles, Which};
#[cfg(feature = "gpu")]
pub(crate) use tiles::{array_tiles, begin_sweeps};

/// The formulas of one contact or row, for the step that stays on the device.
#[cfg(feature = "gpu")]
pub(crate) mod formulas {
    pub(crate) use super::coulomb::{contact_impulse, contact_mass};
    pub(crate) use super::modes::{Mode, expand, tests};
    pub(crate) use super::pgs::{contact_steps, update_contact};
    pub(crate) use super::project::{inverse, project_interval};
    pub(crate) use super::residual::{contact_residual, row_residual};
    pub(crate) use super::warm_start::feasible;
}

/// What was asked of a device: totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceWork {
    /// Runs of a shader.
    pub dispatches: u64,
    /// Times that the host waited for it.
    pub waits: u64,
    /// Bytes sent to it.
    pub bytes_up: u64,
    /// Bytes read back.
    pub bytes_down: u64,
}

impl DeviceWork {
    /// What came after `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            dispatches: self.dispatches - before.dispatches,
            waits: self.waits - before.waits,
            bytes_up: self.bytes_up - before.bytes_up,
            bytes_down: self.bytes_down - before.bytes_down,
        }
    }
}
