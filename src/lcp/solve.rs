//! One entry to all solvers.

use super::problem::{Problem, Solution, SolveStatus};
use super::residual::natural_map_residual;
use super::stewart_trinkle::{StewartTrinkle, StewartTrinkleSettings};
use super::{admm, auto, dantzig, enumerate, jacobi, lemke, newton, nsgs, pgs, two_phase};
use crate::error::Error;
use nalgebra::DVector;

/// Which algorithm solves a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Solver {
    /// Picks by the laws and the size, and falls back until one solves.
    #[default]
    Auto,
    /// [`super::lemke`] on the linear form ([`super::stewart_trinkle`]); no cones.
    Lemke,
    /// [`super::dantzig`]; no cones.
    Dantzig,
    /// [`super::enumerate`]; no cones, small problems.
    Enumerate,
    /// [`super::pgs`].
    Pgs,
    /// [`super::pgs`] with [`SolveSettings::relaxation`].
    Psor,
    /// [`super::jacobi`].
    Jacobi,
    /// [`super::nsgs`].
    Nsgs,
    /// [`super::newton`].
    Newton,
    /// [`super::admm`].
    Admm,
    /// [`super::two_phase`].
    TwoPhase,
}

impl Solver {
    /// All solvers, the exact ones first.
    pub const ALL: [Self; 11] = [
        Self::Auto,
        Self::TwoPhase,
        Self::Newton,
        Self::Lemke,
        Self::Dantzig,
        Self::Enumerate,
        Self::Admm,
        Self::Nsgs,
        Self::Pgs,
        Self::Psor,
        Self::Jacobi,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Lemke => "lemke",
            Self::Dantzig => "dantzig",
            Self::Enumerate => "enumerate",
            Self::Pgs => "pgs",
            Self::Psor => "psor",
            Self::Jacobi => "jacobi",
            Self::Nsgs => "nsgs",
            Self::Newton => "newton",
            Self::Admm => "admm",
            Self::TwoPhase => "two-phase",
        }
    }

    /// Whether the solver treats the laws (and the size) of a valid problem.
    pub fn supports(self, problem: &Problem) -> bool {
        match self {
            Self::Dantzig => !problem.has_cones(),
            Self::Enumerate => enumerate::is_enumerable(problem),
            // box friction whose normal may pull has no linear form
            Self::Lemke => {
                !problem.has_cones() && StewartTrinkle::new(problem, &StewartTrinkleSettings::default()).is_ok()
            }
            _ => true,
        }
    }
}

impl std::fmt::Display for Solver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Solver {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let wanted = name.replace('_', "-");
        Self::ALL.into_iter().find(|s| s.name() == wanted).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|s| s.name()).collect();
            Error::argument("solver", format!("{name:?} is none of {}", known.join(", ")))
        })
    }
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolveSettings {
    /// Natural map residual that counts as solved, m/s, absolute. Default 1e-10. Below about `1e-16 |W z|` nothing can
    /// be reached.
    pub tolerance: f64,
    /// Most sweeps, pivots or steps, as the solver counts them. Default 5000. More helps the sweeping solvers on
    /// stacks and the pivoting ones on exponential problems; Newton takes at most 200, two-phase at most 3000 of its
    /// last stage, auto its own numbers.
    pub iterations: usize,
    /// ω of [`Solver::Psor`], without unit, between 0 and 2. Default 0.8; above 1 contact problems may diverge.
    pub relaxation: f64,
}

impl Default for SolveSettings {
    fn default() -> Self {
        Self { tolerance: 1e-10, iterations: 5000, relaxation: 0.8 }
    }
}

/// Solves a problem, from `warm` impulses (N·s) or from zero.
///
/// Never fails and never panics: a malformed problem, or one that the solver does not treat
/// ([`Solver::supports`]), ends with [`SolveStatus::InvalidProblem`], one with NaN or infinities in `W` or `b` with
/// [`SolveStatus::NotFinite`]. The residual is computed anew from the problem, and `Solved` means that it is within
/// the tolerance. A warm start of the wrong size or with NaN is ignored.
pub fn solve(problem: &Problem, solver: Solver, settings: &SolveSettings, warm: Option<&DVector<f64>>) -> Solution {
    let refused =
        |status| Solution { impulse: DVector::zeros(problem.rows()), status, iterations: 0, residual: f64::INFINITY };
    if problem.validate().is_err() {
        return refused(if problem.is_finite() { SolveStatus::InvalidProblem } else { SolveStatus::NotFinite });
    }
    if !solver.supports(problem) {
        return refused(SolveStatus::InvalidProblem);
    }
    let warm = warm.filter(|z| z.len() == problem.rows() && z.iter().all(|x| x.is_finite()));
    let SolveSettings { tolerance, iterations, relaxation } = *settings;
    let limit = |(impulse, done)| (impulse, done, SolveStatus::IterationLimit);
    let (impulse, done, status) = match solver {
        Solver::Auto => auto::auto(problem, settings, warm),
        Solver::Lemke => lemke_of(problem, settings),
        Solver::Dantzig => dantzig::dantzig(problem, tolerance, iterations),
        Solver::Enumerate => match enumerate::enumerate(problem, tolerance) {
            Some((z, done)) => (z, done, SolveStatus::Infeasible),
            None => return refused(SolveStatus::InvalidProblem),
        },
        Solver::Pgs => limit(pgs::pgs(problem, warm, tolerance, iterations, 1.0)),
        Solver::Psor => limit(pgs::pgs(problem, warm, tolerance, iterations, relaxation)),
        Solver::Jacobi => limit(jacobi::jacobi(problem, warm, tolerance, iterations)),
        Solver::Nsgs => limit(nsgs::nsgs(problem, warm, tolerance, iterations)),
        Solver::Newton => limit(newton::newton(problem, warm, tolerance, iterations.min(200))),
        Solver::Admm => limit(admm::admm(problem, warm, tolerance, iterations)),
        Solver::TwoPhase => limit(two_phase::two_phase(problem, warm, tolerance, iterations.min(3000))),
    };
    finish(problem, tolerance, impulse, done, status)
}

/// The solution with its residual from the problem itself, and a status that agrees with it.
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
        return Solution { impulse, status: SolveStatus::NotFinite, iterations, residual };
    }
    let residual = natural_map_residual(problem, &impulse);
    let status = if residual <= tolerance {
        SolveStatus::Solved
    } else if status == SolveStatus::Solved {
        SolveStatus::IterationLimit
    } else {
        status
    };
    Solution { impulse, status, iterations, residual }
}

/// Lemke on the linear form of a problem without cones.
pub(crate) fn lemke_of(problem: &Problem, settings: &SolveSettings) -> (DVector<f64>, usize, SolveStatus) {
    let zero = || DVector::zeros(problem.rows());
    let Ok(form) = StewartTrinkle::new(problem, &StewartTrinkleSettings::default()) else {
        return (zero(), 0, SolveStatus::InvalidProblem);
    };
    let pivoting = lemke::LemkeSettings {
        pivots: settings.iterations,
        // the form's residual is not the problem's: aim below it
        tolerance: settings.tolerance,
        ..lemke::LemkeSettings::default()
    };
    let run = lemke::lemke_with_restarts(&form.matrix, &form.vector, &pivoting);
    (form.impulse(&run.impulse), run.iterations, run.status)
}
