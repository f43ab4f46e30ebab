#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
// What a user can cause is an error.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::todo,
        clippy::unimplemented
    )
)]

// In flow order; a module uses only modules above it (`tests/architecture.rs`).
pub mod error;
mod waiting;
pub mod lane;
pub mod machine;
pub mod spatial;
pub mod model;
mod mocap;
pub mod parameters;
pub mod kinematics;
mod tendon;
mod muscle;
pub mod fluid;
mod body_force;
mod transmission;
pub mod inertia;
pub mod planar;
pub mod dynamics;
pub mod damping;
pub mod runge_kutta;
mod activation;
pub mod query;
mod quantity;
pub mod slots;
pub mod contact;
pub mod limit;
pub mod equality;
pub mod island;
pub mod lcp;
pub mod ecp;
pub mod acceleration;
pub mod solver;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod report;
mod step;
#[cfg(feature = "gpu")]
mod resident;
pub mod worlds;
pub mod recording;

pub use error::{Error, Result};
pub use model::{Integrator, Model, ModelBuilder};
pub use worlds::{
    Backend, Constraints, DeviceChoice, Impacts, Mask, Precision, Settings, Snapshot, WorldReport, WorldStatus, Worlds,
};
