//! The shader of the batched solver: its source, its bindings, and how often its loops run.

use crate::lcp::patch::ellipsoid::SECULAR_STEPS;
use crate::solver::{BlockSize, DISC_STEPS, PATCH_ROWS, SolveSettings};

/// Storage buffers that every WebGPU device grants a stage; the shader uses all of them.
pub const STORAGE_BUFFER_LIMIT: u32 = 8;

/// Most loop iterations of one invocation in one dispatch. Mesa's lavapipe ends loops silently after 65,535 in all, nested ones summed;
/// sweeps are spread over as many dispatches as it takes, on every device, so that all run the same sequence.
pub const LOOP_BUDGET: usize = 60_000;

/// Name of the shader's entry point, and of its twin in [`crate::solver`].
pub const SHADER: &str = "sweeps";

/// Name of the shader's constant that says whether blocks may have patches.
pub const PATCHES: &str = "patches";

/// Parts that all shaders of the solver share.
pub(super) const COMMON: &str = include_str!("../../shaders/common.wgsl");
pub(super) const NUMBERS: &str = include_str!("../../shaders/numbers.wgsl");
pub(super) const WARM_START: &str = include_str!("../../shaders/warm_start.wgsl");

/// WGSL for blocks of all sizes: what is shared, the parts, and the stage.
pub const SOURCE: &str = concat!(
    include_str!("../../shaders/common.wgsl"),
    include_str!("../../shaders/numbers.wgsl"),
    include_str!("../../shaders/warm_start.wgsl"),
    include_str!("../../shaders/residual.wgsl"),
    include_str!("../../shaders/pgs.wgsl"),
    include_str!("../../shaders/jacobi.wgsl"),
    include_str!("../../shaders/sweeps.wgsl"),
    include_str!("../../shaders/patch/ellipsoid.wgsl"),
    include_str!("../../shaders/patch/law.wgsl"),
    include_str!("../../shaders/patch/sweeps.wgsl"),
    include_str!("../../shaders/patch/certificate.wgsl"),
    include_str!("../../shaders/patch/block.wgsl"),
);

/// An array that the shader binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Array {
    /// One [`super::Tile`] a tile.
    Tiles,
    /// W, entries row × column.
    Delassus,
    /// b of the problem at hand, entries row.
    Bias,
    /// μ, entries contact; after them what the patches are, entries patch × [`crate::solver::PATCH_LEN`].
    Friction,
    /// Bounds, entries scalar × 2.
    Bounds,
    /// Scratch of `jacobi`, entries row.
    NextImpulse,
    /// λ of the problem at hand, entries row.
    Impulse,
    /// Certificate of the problem at hand, entries [`crate::solver::REPORT_LEN`].
    Report,
}

impl Array {
    /// All, in the order of bindings 1, 2, … and, after the first, of the twin's arguments after its header.
    pub const ALL: [Self; STORAGE_BUFFER_LIMIT as usize] = [
        Self::Tiles,
        Self::Delassus,
        Self::Bias,
        Self::Friction,
        Self::Bounds,
        Self::NextImpulse,
        Self::Impulse,
        Self::Report,
    ];
    /// The name of the shader's variable and of the twin's argument.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiles => "tiles",
            Self::Delassus => "delassus",
            Self::Bias => "bias",
            Self::Friction => "friction",
            Self::Bounds => "bounds",
            Self::NextImpulse => "next_impulse",
            Self::Impulse => "impulse",
            Self::Report => "report",
        }
    }
    /// Whether the shader writes to it.
    pub fn is_written(self) -> bool {
        matches!(self, Self::NextImpulse | Self::Impulse | Self::Report)
    }
}

/// Loop iterations of one invocation, outer and inner loops summed, with U contacts and scalar rows and n rows. V of the U are patches with all their rows, contacts
/// and scalar rows by themselves: `warm_start` V, `residual` V (1 + U), a sweep at most V (1 + U) + n, that of `jacobi`, which copies, and `own` for what a patch iterates.
///
/// One dispatch: V + V (1 + U) before the first sweep, then `sweep_count` times 1 + V (1 + U) + n + own, and `look_count` times V (1 + U).
pub fn loop_count(size: BlockSize, patch_count: usize, sweep_count: usize, look_count: usize) -> usize {
    let units = size.contact_count + size.scalar_count;
    let solved = units - PATCH_ROWS * patch_count;
    let pass = solved * (1 + units);
    // the cone of a disc, and the secular equation of the ellipsoid
    let own = patch_count * (DISC_STEPS + SECULAR_STEPS + 1);
    solved + pass + sweep_count * (1 + pass + size.row_count() + own) + look_count * pass
}

/// The sweeps of one dispatch, as many as [`LOOP_BUDGET`] allows; 0 for a block that is too large for a device.
pub fn sweeps_in_a_dispatch(size: BlockSize, patch_count: usize, settings: &SolveSettings) -> u32 {
    let check_every = settings.check_every.max(1);
    // a look after every `check_every` sweeps, wherever that began, and one in the end
    let looks = |sweeps: u32| sweeps.min(sweeps / check_every + 1) as usize;
    let fits = |sweeps: u32| loop_count(size, patch_count, sweeps as usize, looks(sweeps)) <= LOOP_BUDGET;
    let (mut most, mut too_many) = (0, settings.iterations.max(1).saturating_add(1));
    while too_many - most > 1 {
        let middle = most + (too_many - most) / 2;
        if fits(middle) { most = middle } else { too_many = middle }
    }
    most
}
