//! `delassus._core`: what the Python package is made of. Conversions only; the physics is that of the crate `delassus`.
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

use pyo3::prelude::*;

mod array;
mod model;
mod quantities;
mod record;
mod recording;
mod settings;
mod worlds;

/// The command, from its own sources.
#[path = "../../src/cli/mod.rs"]
mod cli;

/// The extension module.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::array::Error;
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::quantities::Quantities;
    #[pymodule_export]
    use super::recording::Recording;
    #[pymodule_export]
    use super::worlds::Worlds;

    use super::{cli, record};
    use clap::Parser;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("REPORT_SIZE", size_of::<record::Report>())?;
        module.add("CONTACT_SIZE", size_of::<record::Contact>())
    }

    /// Runs the command with these arguments, the name of the program first, and returns its exit code.
    #[pyfunction]
    fn command(py: Python<'_>, arguments: Vec<String>) -> u8 {
        py.detach(|| match cli::Arguments::try_parse_from(arguments) {
            Ok(arguments) => cli::run(&arguments).map_or_else(|failure| failure.report(), |()| 0),
            Err(usage) => {
                // Help and version are no mistakes and go to stdout; where nobody reads any more, nothing is lost.
                usage.print().ok();
                usage.exit_code() as u8
            }
        })
    }
}
