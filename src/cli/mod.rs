//! The command line: `rollout`, `inspect`, `verify`, `compare`, `solve`, `bench`, `devices`.
//!
//! Every command writes its results to stdout and nothing else; progress and errors go to stderr.

mod bench;
mod compare;
mod control;
mod devices;
mod failure;
mod inspect;
mod options;
mod parse;
mod progress;
mod record;
mod rollout;
mod run;
mod solve;
mod table;
mod tally;
mod verify;

use clap::{Parser, Subcommand};
use failure::{Failure, Outcome};
use std::io::Write;

/// Hard-contact, reproducible, self-certifying batched rollouts of articulated rigid bodies.
#[derive(Debug, Parser)]
#[command(
    name = "delassus",
    version,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 done, 1 could not run or a check failed, 2 wrong usage.\n\n\
        Examples:\n  \
        delassus rollout examples/models/ant.xml --worlds 4096 --steps 200 --control random\n  \
        delassus verify examples/models/biped.xml --keyframe stand\n  \
        delassus inspect examples/models/humanoid.xml\n  \
        delassus solve problems.jsonl --solver lemke --solver pgs"
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Step many worlds of a model and say how fast and how well that went.
    Rollout(rollout::Arguments),
    /// Show what a model consists of, or what its states come to.
    Inspect(inspect::Arguments),
    /// Roll out, solve every contact problem again by pivoting, and compare.
    Verify(verify::Arguments),
    /// Step models on a device and on the CPU from the same states, and compare.
    Compare(compare::Arguments),
    /// Solve contact problems from a file.
    Solve(solve::Arguments),
    /// Measure how fast models are stepped, and where the time goes.
    Bench(bench::Arguments),
    /// List what the stages can run on.
    Devices(devices::Arguments),
}

/// Runs the command and sees to it that everything is written.
pub fn run(arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Rollout(a) => rollout::run(a),
        Command::Inspect(a) => inspect::run(a),
        Command::Verify(a) => verify::run(a),
        Command::Compare(a) => compare::run(a),
        Command::Solve(a) => solve::run(a),
        Command::Bench(a) => bench::run(a),
        Command::Devices(a) => devices::run(a),
    }?;
    std::io::stdout().flush()?;
    Ok(())
}

/// Writes a line to stdout; a closed pipe ends the command quietly instead of with a panic.
fn say(line: impl std::fmt::Display) -> Outcome {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

/// Writes a value to stdout as one line of JSON. Numbers that are not finite become `null`.
fn say_json(value: &impl serde::Serialize) -> Outcome {
    let text = serde_json::to_string(value).map_err(|e| Failure::Other(format!("cannot write JSON: {e}")))?;
    say(text)
}
