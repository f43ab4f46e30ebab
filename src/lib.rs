//! x
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod contact;
pub mod error;
pub mod lane;
pub mod model;
pub mod kinematics;
pub mod dynamics;
pub mod solver;
pub mod spatial;

pub use error::{Error, Result};
