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
//! directions. Then d = 8 and 16 (which leave them less room) and other covering vectors are tried. An answer at other
//! vertices is exact for its polyhedral cone only, and on the given problem off by as much as the polygon is off the
//! circle (1e-4 m/s on a wedged ant): Newton ([`super::newton`]) takes it from there to the round cone, so that what
//! the given impulse is compared with solves the given problem, by its own residual. Where Coulomb friction itself
//! admits several motions (found on 7 of 206 steps of stacked boxes and robots) Lemke may end at another one for any d.
//! Then the linear system of the given impulse's own complementary basis is solved, and the comparison made with that.

use super::complementarity::worse;
use super::lemke::{Covering, LemkeSettings, lemke_with_restarts};
use super::newton::{NewtonSettings, POLISH_DELTA, mode_newton};
use super::problem::{Group, Law, Problem, SolveStatus};
use super::residual::natural_map_residual;
use super::scaled::Scaled;
use super::stewart_trinkle::{StewartTrinkle, StewartTrinkleSettings};
use super::work::Work;
use crate::error::{Error, Result};
use nalgebra::{DMatrix, DVector, SVD};

/// What [`exact`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// Largest difference between the contact velocities of the given impulse and of the judge's, m/s (rad/s).
    pub velocity_difference: f64,
    /// Natural map residual of the given impulse on the given problem, m/s.
    pub residual: f64,
    /// Natural map residual of the given impulse, lifted to the unknowns `(f_n, f_d, λ)`, on the aligned LCP.
    pub aligned_residual: f64,
    /// Natural map residual of the judge's impulse on the given problem, m/s.
    pub lemke_residual: f64,
    /// Largest difference of contact velocity to the solution on the given impulse's own complementary basis, m/s. Only
    /// computed (else infinite) if Lemke came to another motion from every start.
    pub basis_difference: f64,
    /// How Lemke ended; its comparison says something only if it is `Solved`.
    pub status: SolveStatus,
    /// The judge's impulse, n (N·s): Lemke's, taken to the round cone where it is not on it. It need not equal the given
    /// one where `W` is rank-deficient.
    pub impulse: DVector<f64>,
}

impl Verification {
    /// Whether the given impulse moves as an exact solution of the aligned LCP does, within `tolerance` (m/s): the one
    /// that Lemke found, or, where there are several, the one on its own basis.
    pub fn confirms(&self, tolerance: f64) -> bool {
        self.agrees(tolerance) || self.basis_difference <= tolerance
    }

    /// Whether Lemke solved the aligned LCP from a start of its own and agrees within `tolerance` (m/s).
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
        return Err(Error::argument("impulse", message));
    }
    let size = problem.bias.amax().max(LEAST_SPEED);
    let mut best: Option<Verification> = None;
    for (directions, covering) in STARTS {
        let found = aligned(
            problem,
            impulse,
            directions,
            LemkeSettings { covering, tolerance: 1e-10 * size, ..Default::default() },
        )?;
        let enough = found.agrees(SAME_MOTION * size);
        // of what solves the given problem, the nearest
        let solves = |v: &Verification| v.status == SolveStatus::Solved && v.lemke_residual <= 1e-10 * size;
        let nearer = |old: &Verification| found.agrees(old.velocity_difference) || old.status != SolveStatus::Solved;
        let better = |old: &Verification| if solves(&found) == solves(old) { nearer(old) } else { solves(&found) };
        if best.as_ref().is_none_or(better) {
            best = Some(found);
        }
        if enough || !problem.has_cones() {
            break;
        }
    }
    if let Some(found) = &mut best
        && !found.agrees(SAME_MOTION * size)
        && let Some(own) = own_basis(problem, impulse, 1e-10 * size)?
    {
        let difference = problem.velocity(&own) - problem.velocity(impulse);
        found.basis_difference = difference.iter().fold(0.0, |d, x| worse(d, x.abs()));
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
/// Biases, m/s, below which rounding is all that there is: no pivoting comes to a part of them.
const LEAST_SPEED: f64 = 1e-6;
/// Contact velocities this near, relative to `|b|_inf`, are the same motion.
const SAME_MOTION: f64 = 1e-7;

/// The comparison on one aligned LCP.
fn aligned(
    problem: &Problem,
    impulse: &DVector<f64>,
    directions: usize,
    settings: LemkeSettings,
) -> Result<Verification> {
    let form = aligned_form(problem, impulse, directions)?;
    let run = lemke_with_restarts(&form.matrix, &form.vector, &settings);
    let other = on_the_round_cone(problem, form.impulse(&run.impulse), settings.tolerance);
    let difference = problem.velocity(&other) - problem.velocity(impulse);
    Ok(Verification {
        velocity_difference: difference.iter().fold(0.0, |d, x| worse(d, x.abs())),
        residual: natural_map_residual(problem, impulse),
        aligned_residual: natural_map_residual(&form.problem("aligned"), &form.lift(problem, impulse)),
        lemke_residual: natural_map_residual(problem, &other),
        basis_difference: f64::INFINITY,
        status: run.status,
        impulse: other,
    })
}

/// The solution of the given problem that Newton finds from Lemke's answer, or that answer where Newton does no better.
fn on_the_round_cone(problem: &Problem, lemke: DVector<f64>, tolerance: f64) -> DVector<f64> {
    let residual = natural_map_residual(problem, &lemke);
    if residual <= tolerance || !problem.has_cones() {
        return lemke;
    }
    let work = Work::new(None);
    let s = Scaled::new(problem, &work);
    let mut y = s.start(Some(&lemke));
    let mut v = s.velocity(&y);
    mode_newton(&s, &mut y, &mut v, NewtonSettings { delta: POLISH_DELTA, steps: 60, stall: 0 }, tolerance);
    let refined = s.impulse(&y);
    if natural_map_residual(problem, &refined) < residual { refined } else { lemke }
}

/// The LCP whose first direction of each contact lies along its friction impulse.
fn aligned_form(problem: &Problem, impulse: &DVector<f64>, directions: usize) -> Result<StewartTrinkle> {
    let angle = |Group { row, law }: Group| match law {
        Law::Cone { dimension: 3, .. } => Some(impulse[row + 2].atan2(impulse[row + 1])),
        Law::Cone { .. } => Some(0.0),
        _ => None,
    };
    let rotations = problem.groups().filter_map(angle).collect();
    StewartTrinkle::new(problem, &StewartTrinkleSettings { directions, rotations, ..Default::default() })
}

/// The impulse of the complementary basis that the given one marks on its aligned LCP: `M_αα z_α = -q_α`, the other
/// unknowns zero. `None` if that is no solution within `tolerance`.
fn own_basis(problem: &Problem, impulse: &DVector<f64>, tolerance: f64) -> Result<Option<DVector<f64>>> {
    let form = aligned_form(problem, impulse, 4)?;
    let linear = form.problem("aligned");
    let lifted = form.lift(problem, impulse);
    let (w, scale) = (linear.velocity(&lifted), linear.row_scale());
    let basis: Vec<usize> = (0..w.len()).filter(|&i| scale[i] * lifted[i] > w[i]).collect();
    if basis.is_empty() {
        return Ok(Some(form.impulse(&DVector::zeros(w.len()))));
    }
    let block = linear.delassus.select_rows(&basis).select_columns(&basis);
    // M_αα (z_α + change) + q_α = 0, the smallest change: on a singular basis the answer nearest to the given one
    let right = DMatrix::from_fn(basis.len(), 1, |i, _| {
        let row = basis[i];
        let known: f64 = basis.iter().map(|&j| form.matrix[(row, j)] * lifted[j]).sum();
        -form.vector[row] - known
    });
    let Some(svd) = SVD::try_new(block, true, true, f64::EPSILON, 10_000) else { return Ok(None) };
    // motions that the contacts hardly resist are left as they are
    let cut = 1e-8 * svd.singular_values.amax();
    let Ok(solved) = svd.solve(&right, cut) else { return Ok(None) };
    let mut z = DVector::zeros(w.len());
    for (k, &i) in basis.iter().enumerate() {
        z[i] = lifted[i] + solved[(k, 0)];
    }
    Ok((natural_map_residual(&linear, &z) <= tolerance).then(|| form.impulse(&z)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lcp::{SolveSettings, Solver, solve};

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
            assert!(v.confirms(1e-8), "{}: {v:?}", problem.name);
            agreed += usize::from(v.agrees(1e-8));
        }
        // friction is not associated: a few problems have more than one motion
        assert!(agreed >= 114, "{agreed} of 120");
    }

    /// Joints with dry friction that rest but for rounding: no impulse is an answer.
    #[test]
    fn what_rests_but_for_rounding_is_confirmed() {
        for (seed, size) in [1e-6, 1e-12, 1e-17, 0.0].into_iter().enumerate() {
            let mut problem = random(seed, 4, 20);
            problem.bias *= size;
            problem.laws = vec![Law::Interval { lower: -1e-3, upper: 1e-3 }; 12];
            let impulse = if size < 1e-9 {
                DVector::zeros(12)
            } else {
                solve(&problem, Solver::Auto, &SolveSettings { tolerance: 1e-16, ..Default::default() }, None).impulse
            };
            let v = exact(&problem, &impulse).unwrap();
            assert!(v.status == SolveStatus::Solved && v.confirms(1e-8), "{size}: {v:?}");
        }
    }

    #[test]
    fn a_wrong_answer_is_told() {
        let problem = random(3, 2, 6);
        let settings = SolveSettings { tolerance: 1e-11, ..Default::default() };
        let mut impulse = solve(&problem, Solver::Auto, &settings, None).impulse;
        impulse[0] += 0.01;
        let v = exact(&problem, &impulse).unwrap();
        assert!(v.velocity_difference > 1e-3 && v.residual > 1e-4 && v.aligned_residual > 1e-4, "{v:?}");
        assert!(!v.confirms(1e-3));
        impulse[0] = f64::NAN;
        assert!(exact(&problem, &impulse).is_err());
    }
}
