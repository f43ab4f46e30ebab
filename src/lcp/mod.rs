//! Contact problems and exact solvers.

pub mod admm;
mod auto;
pub mod cone;
pub mod dantzig;
pub mod enumerate;
pub mod file;
mod interior;
pub mod jacobi;
pub mod lemke;
pub mod maximum_dissipation;
pub mod newton;
pub mod nsgs;
pub mod pgs;
pub mod problem;
pub mod residual;
mod scaled;
mod solve;
pub mod stewart_trinkle;
pub mod survey;
mod sweeps;
pub mod teaching;
pub mod two_phase;
pub mod verify;

pub use problem::{Group, Law, Problem, Solution, SolveStatus};
pub use residual::{natural_map_residual, relative_residual};
pub use solve::{SolveSettings, Solver, solve};
