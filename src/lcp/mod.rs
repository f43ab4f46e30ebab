//! Contact problems and exact solvers.

pub mod cone;
pub mod lemke;
pub mod problem;
pub mod residual;
pub mod stewart_trinkle;

pub use problem::{Group, Law, Problem, Solution, SolveStatus};
