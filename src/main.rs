//! The `delassus` command.
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

mod cli;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    quiet_drivers();
    match cli::run(&cli::Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report().into(),
    }
}

/// Mesa's Vulkan drivers look for a Wayland display and, where nobody is logged in, write "error: XDG_RUNTIME_DIR is invalid or not set" to stderr,
/// which reads like an error of this command. There is no display to be found: a folder that does not exist says so in silence.
fn quiet_drivers() {
    const VARIABLE: &str = "XDG_RUNTIME_DIR";
    if cfg!(unix) && std::env::var_os(VARIABLE).is_none() {
        // SAFETY: this is the first thing that the process does, so no other thread reads the environment meanwhile.
        #[allow(unsafe_code)]
        unsafe {
            std::env::set_var(VARIABLE, "/nonexistent");
        }
    }
}
