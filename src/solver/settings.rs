//! What a caller can choose about a solve.

use super::size::BlockSize;
use crate::error::{Error, Result};
use std::fmt;

/// How friction bounds the tangential impulse of a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FrictionLaw {
    /// ‖λ_t‖ ≤ μ λ_n with maximum dissipation: Coulomb's law.
    #[default]
    Cone,
    /// |λ_t| ≤ μ λ_n on each tangent axis by itself: a boxed linear complementarity problem.
    Box,
    /// Faces, edges and discs as patches with one equivalent contact point, where they have torsion too ([`crate::lcp::patch`]); single points as with
    /// [`FrictionLaw::Cone`]. Swept by Gauss-Seidel, whatever the [`Algorithm`].
    Patch,
}

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

/// Which device to open, of those that [`crate::gpu::list_devices`] lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// The best real GPU: discrete before integrated before virtual; never software.
    #[default]
    Hardware,
    /// As [`DeviceChoice::Hardware`], and software where there is nothing else.
    Any,
    /// The one at this place of the list, counted from 0; software too.
    Index(usize),
    /// The best device whose name contains this text, whatever its case; software too.
    Named(String),
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hardware => write!(f, "hardware device"),
            Self::Any => write!(f, "device"),
            Self::Index(index) => write!(f, "device {index}"),
            Self::Named(text) => write!(f, "device whose name contains '{text}'"),
        }
    }
}

impl From<&str> for DeviceChoice {
    /// A number is a place in the list; any other text is part of a name.
    fn from(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Named(text.into()), Self::Index)
    }
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
    /// Whether in f32 a position problem that three rounds of Newton leave is left to who asked, who lets push-out give way: it may have no answer, and to make sure takes longer. Default
    /// no: all rounds.
    pub gives_way: bool,
}

impl Default for SolveSettings {
    fn default() -> Self {
        let (algorithm, law) = (Algorithm::Pgs, FrictionLaw::Cone);
        Self { tolerance: 1e-5, iterations: 400, check_every: 8, algorithm, law, gives_way: false }
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

/// What a stage knows about its tiles: the first argument of every twin. The shader has what all tiles share as a uniform, and the rest in a table with an entry a
/// tile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Header {
    /// Contacts a block has room for, three rows each.
    pub contact_count: u32,
    /// Scalar rows a block has room for.
    pub scalar_count: u32,
    /// Most sweeps of one call of a stage.
    pub sweep_count: u32,
    /// [`LAW_CONE`] or [`LAW_BOX`].
    pub law: u32,
    /// [`ALGORITHM_PGS`] or [`ALGORITHM_JACOBI`].
    pub algorithm: u32,
    /// Most sweeps of a problem of a block.
    pub iterations: u32,
    /// Sweeps between two looks at the residual, at least 1.
    pub check_every: u32,
    /// Largest residual of a solved block, m/s.
    pub tolerance: f32,
    /// Blocks of which more than this share of the residual is left from one look to the next are left to Newton, without unit; 0: there is none, sweeps go on.
    pub contracts: f32,
}

/// [`Header::law`] of [`FrictionLaw::Cone`].
pub const LAW_CONE: u32 = 0;
/// [`Header::law`] of [`FrictionLaw::Box`].
pub const LAW_BOX: u32 = 1;
/// [`Header::algorithm`] of [`Algorithm::Pgs`], and of the sweeps of [`Algorithm::Auto`].
pub const ALGORITHM_PGS: u32 = 0;
/// [`Header::algorithm`] of [`Algorithm::Jacobi`].
pub const ALGORITHM_JACOBI: u32 = 1;

/// [`Header::contracts`] where Newton follows: sweeps go on while a round of them leaves less than this share of the residual.
pub(super) const CONTRACTS: f64 = 0.1;

impl Header {
    /// The header of tiles whose blocks have room for `size`; all sweeps in one call.
    pub fn new(size: BlockSize, settings: &SolveSettings) -> Self {
        Self {
            contact_count: size.contact_count as u32,
            scalar_count: size.scalar_count as u32,
            sweep_count: settings.iterations,
            law: match settings.law {
                // the points among patches
                FrictionLaw::Cone | FrictionLaw::Patch => LAW_CONE,
                FrictionLaw::Box => LAW_BOX,
            },
            algorithm: match settings.algorithm {
                Algorithm::Jacobi if settings.law != FrictionLaw::Patch => ALGORITHM_JACOBI,
                Algorithm::Auto | Algorithm::Pgs | Algorithm::Jacobi => ALGORITHM_PGS,
            },
            iterations: settings.iterations,
            check_every: settings.check_every.max(1),
            tolerance: settings.tolerance as f32,
            contracts: if settings.uses_newton() { CONTRACTS as f32 } else { 0.0 },
        }
    }

    /// Rows a block has room for.
    #[inline(always)]
    pub fn row_count(&self) -> usize {
        3 * self.contact_count as usize + self.scalar_count as usize
    }
}
