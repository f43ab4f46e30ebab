//! What can go wrong before anything ran: every error says what, where and what to do.
//!
//! An [`Error`] means that the work could not be done. How well work that was done went is not an error but
//! a report ([`crate::worlds::WorldReport`], [`crate::lcp::SolveStatus`]).

use std::path::PathBuf;

/// The result of everything that can fail in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried: "read", "write", "create".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A model file is wrong, or asks for something that this crate does not do.
    #[error("{place}: {message}")]
    ModelFile {
        /// File, line and element, as `ant.xml:12: <joint>`.
        place: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// A model is inconsistent, whichever way it was made.
    #[error("invalid model: {element}: {message}")]
    Model {
        /// Which part of the model, as `body "torso"`.
        element: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// An argument has the wrong size or value.
    #[error("{argument}: {message}")]
    Argument {
        /// The argument's name.
        argument: &'static str,
        /// What is wrong and what would be right.
        message: String,
    },
    /// A contact problem (or a file of them) is malformed.
    #[error("contact problem {place}: {message}")]
    Problem {
        /// File, line and problem name, as far as known.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// The device (GPU) is missing or failed.
    #[error("device: {0}")]
    Device(String),
    /// Asked for something that this version does not do.
    #[error("not supported: {0}")]
    Unsupported(String),
}

impl Error {
    /// A [`Error::Model`] about `element`.
    pub(crate) fn model(element: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Model { element: element.into(), message: message.into() }
    }

    /// A [`Error::Argument`] about `argument`.
    pub(crate) fn argument(argument: &'static str, message: impl Into<String>) -> Self {
        Self::Argument { argument, message: message.into() }
    }
}
