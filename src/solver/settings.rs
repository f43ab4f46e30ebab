//! What a caller can choose about a solve.

use super::{BlockSize, FrictionLaw};
use crate::error::{Error, Result};

/// The iteration that solves the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// [`Algorithm::Pgs`] while it contracts, then Newton on contact modes, on the CPU, for the blocks that are left; with box friction only the former.
    Auto,
    /// Projected Gauss-Seidel: row after row, each with the newest impulses.
    #[default]
    Pgs,
    /// Projected Jacobi: all rows from the last sweep's impulses, each step divided by the row sum Σ_j |W_ij|. Slower to
    /// converge than [`Algorithm::Pgs`]; its answer does not depend on the order of the rows.
    Jacobi,
}

/// When a block counts as solved, and how long to try.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolveSettings {
    /// Largest natural-map residual of a solved block, m/s. Default 1e-5. Raising it saves sweeps and leaves contacts that slip
    /// or overlap by that speed. Below the rounding floor of the number type, the floor takes its place.
    pub tolerance: f64,
    /// Most sweeps per block and problem. Default 400. Raising it costs time on hard blocks only.
    pub iterations: u32,
    /// Sweeps between two residual passes; 0 counts as 1. Default 8. Raising it saves passes and adds idle sweeps to easy blocks.
    pub check_every: u32,
    /// The iteration. Default [`Algorithm::Pgs`].
    pub algorithm: Algorithm,
    /// The friction law. Default [`FrictionLaw::Cone`].
    pub law: FrictionLaw,
}

impl Default for SolveSettings {
    fn default() -> Self {
        Self { tolerance: 1e-5, iterations: 400, check_every: 8, algorithm: Algorithm::Pgs, law: FrictionLaw::Cone }
    }
}

impl SolveSettings {
    /// Refuses a tolerance that is negative or not a number.
    ///
    /// # Errors
    /// [`Error::Argument`] that names the field.
    pub fn validate(&self) -> Result<()> {
        if self.tolerance >= 0.0 && self.tolerance.is_finite() {
            return Ok(());
        }
        Err(Error::argument("tolerance", format!("{} is not a finite speed of at least 0 m/s", self.tolerance)))
    }

    /// Whether blocks that sweeps leave are handed to Newton.
    pub fn uses_newton(&self) -> bool {
        self.algorithm == Algorithm::Auto && self.law != FrictionLaw::Box
    }

    /// How many sweeps go before each residual pass after the first: `check_every` each, the last one what is left.
    pub fn rounds(&self) -> impl Iterator<Item = u32> + use<> {
        let (iterations, check_every) = (self.iterations, self.check_every.max(1));
        (0..iterations.div_ceil(check_every)).map(move |k| check_every.min(iterations - k * check_every))
    }
}

/// What a stage knows about its group: the uniform of every shader, the first argument of every twin.
///
/// Its layout is that of `Header` in `shaders/common.wgsl`, which a test compares.
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Header {
    /// Contacts a block has room for, three rows each.
    pub contact_count: u32,
    /// Scalar rows a block has room for.
    pub scalar_count: u32,
    /// Lanes of all tiles, the idle ones of the last tile counted.
    pub block_count: u32,
    /// Sweeps that `pgs` and `jacobi` do.
    pub sweep_count: u32,
    /// [`LAW_CONE`] or [`LAW_BOX`].
    pub law: u32,
    /// Lanes of a tile.
    pub lane_count: u32,
    /// Largest residual of a solved block, m/s.
    pub tolerance: f32,
    /// +∞, which a shader cannot write down: the residual of a block whose numbers are not finite.
    pub infinity: f32,
}

/// [`Header::law`] of [`FrictionLaw::Cone`].
pub const LAW_CONE: u32 = 0;
/// [`Header::law`] of [`FrictionLaw::Box`].
pub const LAW_BOX: u32 = 1;

impl Header {
    /// The header of `tile_count` tiles of `lane_count` lanes each; no sweeps yet.
    pub fn new(size: BlockSize, tile_count: usize, lane_count: usize, settings: &SolveSettings) -> Self {
        Self {
            contact_count: size.contact_count as u32,
            scalar_count: size.scalar_count as u32,
            block_count: (tile_count * lane_count) as u32,
            sweep_count: 0,
            law: match settings.law {
                // the points among patches
                FrictionLaw::Cone | FrictionLaw::Patch => LAW_CONE,
                FrictionLaw::Box => LAW_BOX,
            },
            lane_count: lane_count as u32,
            tolerance: settings.tolerance as f32,
            infinity: f32::INFINITY,
        }
    }

    /// Rows a block has room for.
    #[inline(always)]
    pub fn row_count(&self) -> usize {
        3 * self.contact_count as usize + self.scalar_count as usize
    }
}
