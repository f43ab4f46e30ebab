//! Why a command ended early, and with which exit code.

use std::io::ErrorKind;

/// What every command returns.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// It could not be done, or a check failed.
    Other(String),
    /// It was asked for wrongly, in a way that only the model shows.
    Usage(String),
    /// Nobody reads the output any more.
    Closed,
}

impl Failure {
    /// A file that cannot be read, written or created.
    pub fn file(action: &str, path: &std::path::Path, source: &std::io::Error) -> Self {
        Self::Other(format!("cannot {action} {}: {source}", path.display()))
    }

    /// Prints the error line and gives the exit code.
    pub fn report(&self) -> u8 {
        match self {
            Self::Other(message) => {
                eprintln!("error: {message}");
                1
            }
            Self::Usage(message) => {
                eprintln!("error: {message}");
                2
            }
            Self::Closed => 0,
        }
    }
}

/// The option that sets what the library calls by another name.
fn option(argument: &str) -> Option<&'static str> {
    Some(match argument {
        "world_count" => "--worlds",
        "dt" => "--dt",
        "tolerance" => "--tolerance",
        "iterations" => "--iterations",
        "restitution" => "--restitution",
        "keyframe" => "--keyframe",
        "noise" => "--noise",
        _ => return None,
    })
}

impl From<delassus::Error> for Failure {
    fn from(error: delassus::Error) -> Self {
        Self::Other(match error {
            delassus::Error::Argument { argument, message } => {
                format!("{}: {message}", option(argument).unwrap_or(argument))
            }
            other => other.to_string(),
        })
    }
}

/// What is wrong with one line of JSON; which line it is, the reader of the file knows.
pub fn json_reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    format!("{what} at column {}", error.column())
}

/// Errors of stdout.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Other(format!("cannot write to stdout: {error}")),
        }
    }
}
