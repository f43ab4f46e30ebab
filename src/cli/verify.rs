use super::failure::Outcome;
#[derive(Debug, clap::Args)]
pub struct Arguments {}
pub fn run(_: &Arguments) -> Outcome { Ok(()) }
