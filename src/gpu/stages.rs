//! The table of stages: name, shader, twin, bindings.

use crate::error::{Error, Result};
use crate::solver::BlockSize;

/// Storage buffers that every WebGPU device grants a stage; no stage uses more.
pub const STORAGE_BUFFER_LIMIT: u32 = 8;

/// Most loop iterations of one invocation in one dispatch. Mesa's lavapipe ends loops silently after 65,535 in all, nested ones summed;
/// sweeps are spread over as many dispatches as it takes, on every device, so that all run the same sequence.
pub const LOOP_BUDGET: usize = 60_000;

/// An array of a [`crate::solver::Group`], as a shader binds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Array {
    /// W, entries row × column.
    Delassus,
    /// b of the problem at hand, entries row.
    Bias,
    /// μ, entries contact.
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
    /// The name of the shader's variable and of the twin's argument.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delassus => "delassus",
            Self::Bias => "bias",
            Self::Friction => "friction",
            Self::Bounds => "bounds",
            Self::NextImpulse => "next_impulse",
            Self::Impulse => "impulse",
            Self::Report => "report",
        }
    }
}

/// One shader and its twin.
#[derive(Debug)]
pub struct Stage {
    /// Name of the shader's file and entry point, and of the twin in [`crate::solver`].
    pub name: &'static str,
    /// WGSL: `shaders/common.wgsl` and the stage's own file.
    pub source: &'static str,
    /// Storage buffers in the order of bindings 1, 2, … and of the twin's arguments after the header; and whether it is written.
    pub bindings: &'static [(Array, bool)],
}

macro_rules! stage {
    ($name:ident, read $($read:ident)*, write $($write:ident)*) => {
        Stage {
            name: {
                // The twin: no such function, no build.
                const fn twin() { let _twin = crate::solver::$name::<f32>; }
                twin();
                stringify!($name)
            },
            source: concat!(
                include_str!("../../shaders/common.wgsl"),
                include_str!(concat!("../../shaders/", stringify!($name), ".wgsl"))
            ),
            bindings: &[$((Array::$read, false),)* $((Array::$write, true),)*],
        }
    };
}

/// All stages, in flow order.
pub const STAGES: [Stage; 4] = [
    stage!(warm_start, read Friction Bounds, write Impulse Report),
    stage!(residual, read Delassus Bias Friction Bounds Impulse, write Report),
    stage!(pgs, read Delassus Bias Friction Bounds, write Impulse Report),
    stage!(jacobi, read Delassus Bias Friction Bounds, write NextImpulse Impulse Report),
];

/// Index of a stage in [`STAGES`].
///
/// # Errors
/// [`Error::Argument`] where no stage has that name.
pub fn stage(name: &str) -> Result<usize> {
    STAGES.iter().position(|s| s.name == name).ok_or_else(|| {
        let names = STAGES.map(|s| s.name).join(", ");
        Error::argument("stage", format!("there is no stage \"{name}\"; the stages are {names}"))
    })
}

/// Loop iterations of one invocation of `pgs` or `jacobi` per sweep, outer and inner loops summed; no other stage has more.
pub fn loop_count_per_sweep(size: BlockSize) -> usize {
    let n = size.row_count();
    // The sweep, its contacts and scalar rows with a pass over n columns each, and the copy in `jacobi`.
    1 + (size.contact_count + size.scalar_count) * (1 + n) + n
}
