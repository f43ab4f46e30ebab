//! x
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod error;
pub mod lane;
pub mod lcp;
pub mod model;
pub mod spatial;

pub use error::{Error, Result};
