//! Projected Gauss-Seidel and its relaxed form (PSOR).
//!
//! Each row or contact is set in turn to what its law asks for, the others held: the normal first, then the
//! tangents onto the disc of radius μ n (Moreau 1988, Jourdan, Alart & Jean 1998; for the LCP, Cryer 1971). Linear
//! convergence; on rank-deficient stacks thousands of sweeps. Over-relaxation (ω > 1) makes it diverge on some
//! contact problems; ω < 1 is safe.

use super::problem::Problem;
use super::scaled::Scaled;
use super::sweeps::{repeat, sweep};
use super::work::Work;
use nalgebra::DVector;

/// Sweeps until the natural map is at most `tolerance` (m/s) or `sweeps` are done, from `warm` or zero.
///
/// `relaxation` is ω: 1 for plain Gauss-Seidel. Returns the impulse (N·s) and the sweeps done.
pub(crate) fn pgs(
    problem: &Problem,
    warm: Option<&DVector<f64>>,
    tolerance: f64,
    sweeps: usize,
    relaxation: f64,
    work: &Work,
) -> (DVector<f64>, usize) {
    let s = Scaled::new(problem, work);
    let mut y = s.start(warm);
    let done = repeat(&s, &mut y, tolerance, sweeps, |y, v| sweep(&s, y, v, relaxation));
    (s.impulse(&y), done)
}
