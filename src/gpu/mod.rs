//! Batched solving on any GPU: the same stages as in [`crate::solver`], as shaders (Vulkan, Metal, DX12).
//!
//! ```text
//! Batch ─► chunks that fit one binding ─► upload W, b, μ, bounds, λ₀ ─► warm_start, residual
//!       ─► (sweeps, residual) × rounds ─► read back reports; again with twice the rounds while any block is live
//!       ─► read back λ
//! ```
//! One dispatch per stage and chunk covers all its blocks; a frozen block leaves the shader at once. wgpu appears in this module only.

mod bisect;
mod buffers;
mod chain;
mod device;
mod solve;
mod stages;

pub use bisect::run_twin;
pub(crate) use chain::{Chain, Dispatch, Kernel};
pub use device::{Device, DeviceChoice, DeviceInfo, DeviceKind, Gpu, list_devices};
pub use solve::GpuReport;
pub use stages::{Array, LOOP_BUDGET, STAGES, STORAGE_BUFFER_LIMIT, Stage, loop_count_per_sweep, stage};
