//! One body on the ground through its equivalent contact point: reference steppers, f64.
//!
//! Xie & Chakraborty, *Rigid body dynamic simulation with line and surface contact*. What the engine does to many bodies
//! with lanes and islands is done here to one, as exactly as f64 allows, to judge it by:
//!
//! - [`Stepper::linearised`]: rows at the start of the step, one contact problem with a patch: what an engine does.
//! - [`Stepper::implicit`]: the paper's step, with contact points, normals and friction at its end: nothing penetrates.
//! - [`Mncp`]: the paper's own equations (18) and (19) of that step, in all their unknowns, for a body against any convex set.

mod body;
mod convex;
mod dual;
mod mncp;
mod step;
mod support;

pub use body::{Body, Shape, State};
pub use convex::Convex;
pub use mncp::{Guess, Mncp, Solution};
pub use step::{Contact, Ground, Stepper};
