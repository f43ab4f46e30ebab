//! Verification of a cone solution by a method that shares nothing with the one that found it.
//!
//! A polyhedral cone whose directions are aligned, contact by contact, with the friction impulses of a given Coulomb
//! solution contains these impulses (at a vertex), and at that vertex its most dissipative direction is the true one:
//! the cone solution is an exact solution of the polyhedral problem, `u_t = -λ d` for a sliding contact and `u = 0`
//! for a sticking one. So [`exact`] builds the aligned LCP ([`super::stewart_trinkle`]), solves it from scratch by
//! Lemke's pivoting, and compares contact velocities. Box friction and other scalar rows are verified on the same LCP,
//! where their form is exact anyway.
//!
//! The aligned LCP may have further solutions, with friction at other vertices; Lemke may find one of these with d = 4
//! directions. Then d = 8 and 16 (which leave them less room) and other covering vectors are tried. Where Coulomb friction itself admits several
//! motions (large friction, wedged contacts) Lemke may end at another one for any d; then
//! [`Verification::lemke_residual`] is small too. [`Verification::aligned_residual`] says in every case whether the
//! given impulse solves the aligned LCP.

use super::lemke::{Covering, LemkeSettings, lemke_with_restarts};
use super::problem::{Group, Law, Problem, SolveStatus};
use super::residual::{natural_map_residual, worse};
use super::stewart_trinkle::{StewartTrinkle, StewartTrinkleSettings};
use crate::error::{Error, Result};
use nalgebra::DVector;

/// What [`exact`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// Largest difference between the contact velocities of the given impulse and of Lemke's, m/s (rad/s).
    pub velocity_difference: f64,
    /// Natural map residual of the given impulse on the given problem, m/s.
    pub residual: f64,
    /// Natural map residual of the given impulse, lifted to the unknowns `(f_n, f_d, λ)`, on the aligned LCP.
    pub aligned_residual: f64,
    /// Natural map residual of Lemke's impulse on the given problem, m/s; small when it found the same motion.
    pub lemke_residual: f64,
    /// How Lemke ended; the comparison says something only if it is `Solved`.
    pub status: SolveStatus,
    /// Lemke's impulse, n (N·s). It need not equal the given one where `W` is rank-deficient.
    pub impulse: DVector<f64>,
}

impl Verification {
    /// Whether Lemke solved the aligned LCP and agrees within `tolerance` (m/s).
    pub fn agrees(&self, tolerance: f64) -> bool {
        self.status == SolveStatus::Solved && self.velocity_difference <= tolerance
    }
}

/// Solves the LCP aligned with `impulse` (n, N·s) by Lemke's pivoting and compares; see the module.
///
/// # Errors
/// An invalid problem, an impulse of the wrong size or not finite, or a law without linear form
/// ([`StewartTrinkle::new`]).
pub fn exact(problem: &Problem, impulse: &DVector<f64>) -> Result<Verification> {
    problem.validate()?;
    if impulse.len() != problem.rows() || impulse.iter().any(|x| !x.is_finite()) {
        let message = format!("it must have {} finite entries", problem.rows());
        return Err(Error::Argument { argument: "impulse", message });
    }
    let size = problem.bias.amax().max(f64::MIN_POSITIVE);
    let mut best: Option<Verification> = None;
    for (directions, covering) in STARTS {
        let found = aligned(
            problem,
            impulse,
            directions,
            LemkeSettings { covering, tolerance: 1e-10 * size, ..Default::default() },
        )?;
        let enough = found.agrees(SAME_MOTION * size);
        let better = |old: &Verification| found.agrees(old.velocity_difference) || old.status != SolveStatus::Solved;
        if best.as_ref().is_none_or(better) {
            best = Some(found);
        }
        if enough || !problem.has_cones() {
            break;
        }
    }
    best.ok_or_else(|| Error::Problem { place: format!("{:?}", problem.name), message: "no aligned form".into() })
}

/// Friction directions of the aligned LCPs and where their paths start, tried in this order.
const STARTS: [(usize, Covering); 8] = [
    (4, Covering::Ones),
    (8, Covering::Ones),
    (4, Covering::Ramp),
    (8, Covering::Ramp),
    (4, Covering::Random(1)),
    (8, Covering::Random(2)),
    (4, Covering::Random(3)),
    (16, Covering::Ones),
];
/// Contact velocities this near, relative to `|b|_inf`, are the same motion.
const SAME_MOTION: f64 = 1e-7;

/// The comparison on one aligned LCP.
fn aligned(
    problem: &Problem,
    impulse: &DVector<f64>,
    directions: usize,
    settings: LemkeSettings,
) -> Result<Verification> {
    // the first direction of each contact along its friction impulse
    let angle = |Group { row, law }: Group| match law {
        Law::Cone { dimension: 3, .. } => Some(impulse[row + 2].atan2(impulse[row + 1])),
        Law::Cone { .. } => Some(0.0),
        _ => None,
    };
    let rotations = problem.groups().filter_map(angle).collect();
    let form = StewartTrinkle::new(problem, &StewartTrinkleSettings { directions, rotations, ..Default::default() })?;
    let run = lemke_with_restarts(&form.matrix, &form.vector, &settings);
    let other = form.impulse(&run.impulse);
    let difference = problem.velocity(&other) - problem.velocity(impulse);
    Ok(Verification {
        velocity_difference: difference.iter().fold(0.0, |d, x| worse(d, x.abs())),
        residual: natural_map_residual(problem, impulse),
        aligned_residual: natural_map_residual(&form.problem("aligned"), &form.lift(problem, impulse)),
        lemke_residual: natural_map_residual(problem, &other),
        status: run.status,
        impulse: other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lcp::solve::{SolveSettings, Solver, solve};
    use nalgebra::DMatrix;

    /// Contacts between few bodies: `W = J Jᵀ` of the given rank, approaching and sliding.
    fn random(seed: usize, contacts: usize, rank: usize) -> Problem {
        let x = |k: usize| (seed as f64 * 12.9898 + k as f64 * 78.233).sin();
        let j = DMatrix::from_fn(3 * contacts, rank, |i, k| x(1 + 31 * i + k));
        let bias = &j * DVector::from_fn(rank, |k, _| x(5000 + k));
        let laws = vec![Law::Cone { friction: 0.2 + 0.1 * (seed % 4) as f64, dimension: 3 }; contacts];
        Problem { name: format!("random {seed}"), delassus: &j * j.transpose(), bias, laws }
    }

    #[test]
    fn a_cone_solution_is_confirmed_by_pivoting() {
        let mut agreed = 0;
        for seed in 0..120 {
            let problem = random(seed, 1 + seed % 4, 6);
            let settings = SolveSettings { tolerance: 1e-11, ..Default::default() };
            let solution = solve(&problem, Solver::Auto, &settings, None);
            assert_eq!(solution.status, SolveStatus::Solved, "{}", problem.name);
            let v = exact(&problem, &solution.impulse).unwrap();
            assert!(v.aligned_residual < 1e-9, "{}: {v:?}", problem.name);
            agreed += usize::from(v.agrees(1e-8));
        }
        // friction is not associated: a few problems have more than one motion
        assert!(agreed >= 114, "{agreed} of 120");
    }

    #[test]
    fn a_wrong_answer_is_told() {
        let problem = random(3, 2, 6);
        let settings = SolveSettings { tolerance: 1e-11, ..Default::default() };
        let mut impulse = solve(&problem, Solver::Auto, &settings, None).impulse;
        impulse[0] += 0.01;
        let v = exact(&problem, &impulse).unwrap();
        assert!(v.velocity_difference > 1e-3 && v.residual > 1e-4 && v.aligned_residual > 1e-4, "{v:?}");
        impulse[0] = f64::NAN;
        assert!(exact(&problem, &impulse).is_err());
    }
}
