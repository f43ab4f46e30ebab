//! x
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod contact;
pub mod error;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod lane;
pub mod model;
pub mod solver;
pub mod spatial;

pub use error::{Error, Result};
