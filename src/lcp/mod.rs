//! Contact problems, exact solvers to judge all others, residuals and problem files.
//!
//! A [`Problem`] is `w = W z + b` with one [`Law`] for each row (limits, motors, joints, box friction) or for each
//! contact (Signorini's condition with a true Coulomb cone). [`solve`] takes any [`Solver`] and never fails; the
//! [`Solution`] carries a status and the natural map residual in m/s, computed from the problem itself.
//!
//! ```
//! use delassus::lcp::{Law, Problem, SolveSettings, SolveStatus, Solver, solve};
//! use nalgebra::{DMatrix, DVector};
//!
//! // 1 kg, falling at 1 m/s and sliding at 3 m/s onto a floor with friction 0.5
//! let problem = Problem {
//!     name: "block".into(),
//!     delassus: DMatrix::identity(3, 3),
//!     bias: DVector::from_vec(vec![-1.0, 3.0, 0.0]),
//!     laws: vec![Law::Cone { friction: 0.5, dimension: 3 }],
//! };
//! let solution = solve(&problem, Solver::Auto, &SolveSettings::default(), None);
//! assert_eq!(solution.status, SolveStatus::Solved);
//! assert!((solution.impulse[0] - 1.0).abs() < 1e-9 && (solution.impulse[1] + 0.5).abs() < 1e-9);
//! ```
//!
//! # Which solver
//!
//! | you have | take | because |
//! |---|---|---|
//! | anything, and want the answer | `auto` | falls back until solved, says so if it cannot |
//! | contacts with cones, many times | `two-phase` | sweeps where they suffice, Newton where they do not; warm starts pay |
//! | contacts that wedge each other, to the last digits | `interior` | keeps away from the traps of sweeps and Newton until it is near; no box friction |
//! | a standard LCP, or a proof that there is no solution | `lemke` | ends on a secondary ray (a proof for copositive-plus W) |
//! | bounds on both sides, symmetric W | `dantzig` | exact pivoting within the bounds |
//! | at most 12 scalar rows, all solutions | `enumerate` | tries every basis |
//! | a loose tolerance, well-conditioned contacts | `pgs` or `nsgs` | cheapest; hopeless on stacks |
//! | one thread a row, no order | `jacobi` | slowest, safe for any mechanical W |
//!
//! Patches (faces, edges and discs with torsion, [`patch`]) are solved by `auto`, `newton` and `nsgs`; the others say that they do not
//! treat them ([`Solver::refusal`]).
//!
//! A cone solution can be confirmed by a method that shares nothing with the one that found it: [`verify::exact`].
//!
//! # What each solves
//!
//! Problems solved to a relative residual of 1e-8 of those with a solution that the solver treats; `+k`: unsolvable ones
//! told as such. At most 5000 sweeps. Families are the files of the external test data, n up to 1400; made by
//! `cargo run --release --example solve_table -- --most 1400 FILES`.
//!
//! | family | auto | two-phase | interior | newton | lemke | dantzig | enumerate | admm | nsgs | pgs | psor | jacobi |
//! |---|---|---|---|---|---|---|---|---|---|---|---|---|
//! | artisynth | 23/23 | 23/23 | 23/23 | 23/23 | 12/12 | 12/12 | 11/11 | 23/23 | 23/23 | 23/23 | 23/23 | 22/23 |
//! | classic | 32/32 | 32/32 | 31/32 | 32/32 | 32/32 | 31/32 | 18/18 | 32/32 | 32/32 | 32/32 | 32/32 | 32/32 |
//! | contactbench | 12/12 | 12/12 | 9/12 | 11/12 | - | - | - | 12/12 | 8/12 | 8/12 | 8/12 | 8/12 |
//! | dart_lemke | 5/5 | 5/5 | 5/5 | 5/5 | 5/5 | 5/5 | 5/5 | 5/5 | 5/5 | 5/5 | 3/5 | 3/5 |
//! | derived_normal | 29/29 | 29/29 | 27/29 | 29/29 | 29/29 | 28/29 | 25/25 | 29/29 | 27/29 | 27/29 | 27/29 | 27/29 |
//! | derived_stewart_trinkle | 25/25 | 25/25 | 24/25 | 13/25 | 24/25 | 13/25 | 10/10 | 21/25 | 6/25 | 6/25 | 7/25 | 6/25 |
//! | literature | 12/12 +3 | 12/12 +3 | 12/12 +3 | 11/12 +3 | 11/12 +3 | 7/12 +3 | 12/12 +3 | 11/12 +3 | 7/12 +3 | 7/12 +3 | 8/12 +3 | 9/12 +3 |
//! | nimble_boxed | 5/5 | 5/5 | - | 5/5 | 5/5 | 4/5 | 5/5 | 5/5 | 4/5 | 4/5 | 5/5 | 5/5 |
//! | num4lcp | 18/18 | 18/18 | 18/18 | 18/18 | 18/18 | 18/18 | 3/3 | 18/18 | 13/18 | 13/18 | 12/18 | 12/18 |
//! | robot steps | 328/328 | 328/328 | 316/328 | 328/328 | - | - | - | 328/328 | 327/328 | 324/328 | 327/328 | 317/328 |
//! | set_box16 | 48/48 | 48/48 | 48/48 | 48/48 | - | - | - | 48/48 | 45/48 | 45/48 | 45/48 | 6/48 |
//! | set_box4 | 96/96 | 96/96 | 96/96 | 96/96 | - | - | - | 96/96 | 96/96 | 96/96 | 96/96 | 96/96 |
//! | set_box8 | 96/96 | 96/96 | 96/96 | 96/96 | - | - | - | 96/96 | 96/96 | 96/96 | 96/96 | 88/96 |
//! | set_quad4 | 96/96 | 96/96 | 96/96 | 96/96 | - | - | - | 96/96 | 96/96 | 96/96 | 96/96 | 96/96 |
//! | set_rand16 | 48/48 | 48/48 | 48/48 | 48/48 | - | - | - | 48/48 | 48/48 | 48/48 | 48/48 | 48/48 |
//! | siconos_fc2d | 6/6 | 6/6 | 6/6 | 6/6 | - | - | - | 6/6 | 6/6 | 6/6 | 6/6 | 6/6 |
//! | siconos_fc2d/3d_large | 7/7 | 6/7 | 6/7 | 7/7 | - | - | - | 7/7 | 6/7 | 6/7 | 4/7 | 2/7 |
//! | siconos_fc3d | 18/18 | 18/18 | 16/18 | 18/18 | - | - | - | 18/18 | 16/18 | 18/18 | 18/18 | 15/18 |
//! | siconos_lcp | 14/14 +1 | 13/14 +1 | 12/14 +1 | 12/14 +1 | 13/14 +1 | 10/14 +1 | 12/12 +1 | 12/14 +1 | 10/14 +1 | 10/14 +1 | 10/14 +1 | 11/14 +1 |
//! | siconos_mlcp | 9/9 | 7/9 | 9/9 | 5/9 | 6/9 | 1/9 | 5/5 | 4/9 | 1/9 | 1/9 | 1/9 | 1/9 |
//!
//! Plain Gauss-Seidel to 1e-7 with 50, 200 and 1000 sweeps: robot steps 269, 312, 321 of 328; four stacked boxes
//! (`set_box16`) 0, 5, 17 of 48; `auto`, `two-phase` and `newton` solve all of these. Of the robot steps `two-phase`
//! solves 326 in at most 20 outer iterations (median 0: the sweeps suffice), `newton` 325 (median 1).

pub mod admm;
pub mod articulated;
mod auto;
pub mod complementarity;
pub mod cone;
pub mod dantzig;
mod elimination;
pub mod enumerate;
pub mod file;
pub mod interior;
pub mod jacobi;
pub mod lemke;
pub mod maximum_dissipation;
pub mod newton;
pub mod nsgs;
pub mod patch;
pub mod pgs;
mod pivoting;
pub mod problem;
pub mod residual;
mod scaled;
mod settings;
mod solve;
pub mod stewart_trinkle;
pub mod survey;
mod sweeps;
pub mod teaching;
pub mod two_phase;
pub mod verify;
mod work;

pub use problem::{Group, Law, Problem, Solution, SolveStatus};
pub use residual::{natural_map_residual, relative_residual, rounding_floor};
pub use settings::{SolveSettings, Solver};
pub use solve::solve;
