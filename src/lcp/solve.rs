//! One entry to all solvers.

use super::pivoting::{lemke_on, linear_form};
use super::problem::{Problem, Solution, SolveStatus};
use super::residual::natural_map_residual;
use super::settings::{SolveSettings, Solver};
use super::stewart_trinkle::StewartTrinkleSettings;
use super::work::{Work, square};
use super::{admm, auto, dantzig, enumerate, jacobi, newton, nsgs, patch, pgs, two_phase};
use nalgebra::DVector;

/// Solves a problem, from `warm` impulses (N·s) or from zero.
///
/// Never fails and never panics: a malformed problem, or one that the solver does not treat
/// ([`Solver::supports`]), ends with [`SolveStatus::InvalidProblem`], one with NaN or infinities in `W` or `b` with
/// [`SolveStatus::NotFinite`]. The residual is computed anew from the problem, and `Solved` means that it is within
/// the tolerance. A warm start of the wrong size or with NaN is ignored.
pub fn solve(problem: &Problem, solver: Solver, settings: &SolveSettings, warm: Option<&DVector<f64>>) -> Solution {
    let refused = |status| {
        let impulse = DVector::zeros(problem.rows());
        Solution { impulse, status, iterations: 0, residual: f64::INFINITY, work: 0 }
    };
    if problem.validate().is_err() {
        return refused(if problem.is_finite() { SolveStatus::InvalidProblem } else { SolveStatus::NotFinite });
    }
    if !solver.supports(problem) {
        return refused(SolveStatus::InvalidProblem);
    }
    let warm = warm.filter(|z| z.len() == problem.rows() && z.iter().all(|x| x.is_finite()));
    let SolveSettings { tolerance, iterations, relaxation, work: limit } = *settings;
    let work = &Work::new(limit);
    // the checks above, and the certificate of the answer
    work.pay(3 * square(problem.rows()));
    let ended = |(impulse, done)| (impulse, done, SolveStatus::IterationLimit);
    let (impulse, done, status) = match solver {
        // not even the scaled copy fits
        _ if !work.affords(6 * square(problem.rows())) => {
            (warm.cloned().unwrap_or_else(|| DVector::zeros(problem.rows())), 0, SolveStatus::IterationLimit)
        }
        Solver::Auto if problem.has_patches() => ended(patch::auto(problem, warm, tolerance, iterations, work)),
        Solver::Newton if problem.has_patches() => {
            ended(patch::newton(problem, warm, tolerance, iterations.min(200), work))
        }
        Solver::Nsgs if problem.has_patches() => ended(patch::sweeps(problem, warm, tolerance, iterations, work)),
        Solver::Auto => auto::auto(problem, settings, warm, work),
        Solver::Lemke => match linear_form(problem, &StewartTrinkleSettings::default(), work) {
            Some(form) => lemke_on(&form, settings, work),
            None => ended((DVector::zeros(problem.rows()), 0)),
        },
        Solver::Dantzig => dantzig::dantzig(problem, tolerance, iterations, work),
        Solver::Enumerate => match enumerate::enumerate(problem, tolerance, work) {
            Some((z, done)) => (z, done, SolveStatus::Infeasible),
            None => return refused(SolveStatus::InvalidProblem),
        },
        Solver::Pgs => ended(pgs::pgs(problem, warm, tolerance, iterations, 1.0, work)),
        Solver::Psor => ended(pgs::pgs(problem, warm, tolerance, iterations, relaxation, work)),
        Solver::Jacobi => ended(jacobi::jacobi(problem, warm, tolerance, iterations, work)),
        Solver::Nsgs => ended(nsgs::nsgs(problem, warm, tolerance, iterations, work)),
        Solver::Newton => ended(newton::newton(problem, warm, tolerance, iterations.min(200), work)),
        Solver::Admm => ended(admm::admm(problem, warm, tolerance, iterations, work)),
        Solver::Interior => ended(auto::interior(problem, tolerance, work)),
        Solver::TwoPhase => ended(two_phase::two_phase(problem, warm, tolerance, iterations.min(3000), work)),
    };
    // what was cut short proves nothing
    let status = if work.has_refused() { SolveStatus::IterationLimit } else { status };
    Solution { work: work.spent(), ..finish(problem, tolerance, impulse, done, status) }
}

/// The solution with its residual from the problem itself, and a status that agrees with it; its work is the caller's.
fn finish(
    problem: &Problem,
    tolerance: f64,
    impulse: DVector<f64>,
    iterations: usize,
    status: SolveStatus,
) -> Solution {
    if impulse.iter().any(|x| !x.is_finite()) {
        let impulse = DVector::zeros(problem.rows());
        let residual = natural_map_residual(problem, &impulse);
        return Solution { impulse, status: SolveStatus::NotFinite, iterations, residual, work: 0 };
    }
    let residual = natural_map_residual(problem, &impulse);
    let status = if residual <= tolerance {
        SolveStatus::Solved
    } else if status == SolveStatus::Solved {
        SolveStatus::IterationLimit
    } else {
        status
    };
    Solution { impulse, status, iterations, residual, work: 0 }
}

#[cfg(test)]
mod tests {
    use super::super::problem::Law;
    use super::*;
    use nalgebra::DMatrix;

    /// Bodies in a row, four contacts between neighbours, as in an arch: of 468 rows, each is coupled with 36. One elimination of the full system would cost
    /// more than the budget, in the order of the row it costs a hundredth.
    #[test]
    fn a_long_row_of_bodies_is_solved_within_the_budget_of_a_step() {
        const BODIES: usize = 40;
        const CONTACTS: usize = 4;
        let n = 3 * CONTACTS * (BODIES - 1);
        let x = |k: usize| (k as f64 * 78.233 + 1.0).sin();
        let j = DMatrix::from_fn(n, 6 * BODIES, |i, k| {
            let joint = i / (3 * CONTACTS);
            if k / 6 == joint || k / 6 == joint + 1 { x(131 * i + k) } else { 0.0 }
        });
        let problem = Problem {
            name: "row".into(),
            delassus: &j * j.transpose(),
            bias: &j * DVector::from_fn(6 * BODIES, |k, _| x(7 * k)),
            laws: vec![Law::Cone { friction: 0.7, dimension: 3 }; n / 3],
        };
        let budget = 30_000_000;
        assert!(super::super::work::factorization(n) > budget);
        // the tolerance of a step in f32
        let settings =
            SolveSettings { tolerance: 1e-5, iterations: 200, work: Some(budget), ..SolveSettings::default() };
        let by = |solver| {
            let solution = solve(&problem, solver, &settings, Some(&DVector::zeros(n)));
            println!("{n} rows, {solver}: {:.1e} m/s, {:.1e} multiply-adds", solution.residual, solution.work as f64);
            solution.status
        };
        assert_eq!(by(Solver::Auto), SolveStatus::Solved);
        assert_eq!(by(Solver::Nsgs), SolveStatus::IterationLimit, "sweeps would do");
    }
}
