//! Batched solving on any GPU: the stage [`crate::solver::sweeps`] as a shader (Vulkan, Metal, DX12).
//!
//! ```text
//! Batch ─► chunks that fit one binding ─► upload W, b, μ, bounds ─► λ₀ ─► sweeps of the velocity problem ─► read back λ and report
//!                                                                   λ₀ ─► sweeps of the position problem ─► read back λ and report
//! ```
//! One dispatch covers the blocks of all sizes, but for those of up to [`SMALL`] contacts and nothing else: of each such size is a shader of its own, in which W lies in registers. Each block runs its
//! own sweeps, looks at its residual and leaves when it is done. Long solves take several dispatches, see [`LOOP_BUDGET`].
//! wgpu appears in this module only.

mod arrival;
mod bisect;
mod buffers;
mod chain;
mod clock;
mod device;
mod limits;
mod shader;
mod small;
mod solve;

pub use crate::solver::DeviceChoice;
pub(crate) use arrival::Arrived;
pub use buffers::{Header, Tile};
pub(crate) use chain::{Chain, Dispatch, Kernel};
pub use device::{Device, DeviceInfo, DeviceKind, Gpu, list_devices};
pub use shader::{Array, LOOP_BUDGET, PATCHES, SHADER, SOURCE, STORAGE_BUFFER_LIMIT, loop_count, sweeps_in_a_dispatch};
pub use small::{SMALL, operations_of_block, small_source};
pub use solve::GpuReport;
