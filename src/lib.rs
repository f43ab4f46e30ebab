//! x
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod contact;
pub mod dynamics;
pub mod error;
pub mod island;
pub mod kinematics;
pub mod lane;
pub mod lcp;
pub mod limit;
pub mod model;
pub mod query;
pub mod report;
pub mod solver;
pub mod spatial;
pub mod step;
pub mod worlds;

pub use error::{Error, Result};
pub use model::Model;
pub use worlds::{Backend, Mask, Precision, Settings, WorldReport, WorldStatus, Worlds};
