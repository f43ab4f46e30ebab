//! One entry to all solvers.

use super::problem::{Problem, Solution, SolveStatus};
use super::residual::natural_map_residual;
use super::stewart_trinkle::{StewartTrinkle, StewartTrinkleSettings, pulling_normal};
use super::work::{Work, square};
use super::{admm, auto, dantzig, enumerate, jacobi, lemke, newton, nsgs, patch, pgs, two_phase};
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
    /// [`super::nsgs`]; with patches, [`super::patch`]'s sweeps.
    Nsgs,
    /// [`super::newton`]; with patches, [`super::patch`]'s.
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

    /// Why the solver does not treat the laws (or the size) of a valid problem, and what does; none where it does.
    pub fn refusal(self, problem: &Problem) -> Option<String> {
        if self.supports(problem) {
            return None;
        }
        Some(match self {
            _ if problem.has_patches() => format!("{self} does not treat patches; auto, newton and nsgs do"),
            Self::Enumerate => format!("{self} does not treat cones or so many rows; auto does"),
            _ => format!("{self} does not treat cones or box friction of a normal that may pull; auto does"),
        })
    }

    /// Whether the solver treats the laws (and the size) of a valid problem.
    pub fn supports(self, problem: &Problem) -> bool {
        match self {
            Self::Auto | Self::Newton | Self::Nsgs => true,
            _ if problem.has_patches() => false,
            Self::Dantzig => !problem.has_cones(),
            Self::Enumerate => enumerate::is_enumerable(problem),
            Self::Lemke => !problem.has_cones() && pulling_normal(problem).is_none(),
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
    /// Budget of all attempts together, in multiply-adds: `n²` for a sweep or a product, `n³/3` for a factorization, the
    /// changed entries of its tableau for a pivot. Default `None`, no limit. What does not fit is skipped or cut short,
    /// and the best point so far is returned with its residual and [`SolveStatus::IterationLimit`]. Counted rather than
    /// timed, so the answer is the same on every machine; [`Solution::work`] says what was spent, which exceeds the
    /// budget by no more than the end of a step and the certificates of some answers.
    pub work: Option<u64>,
}

impl Default for SolveSettings {
    fn default() -> Self {
        Self { tolerance: 1e-10, iterations: 5000, relaxation: 0.8, work: None }
    }
}

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

/// The linear form of a problem, paid for; `None` if it has none, or if the form and one path through it, of about as
/// many pivots as unknowns, are beyond the budget.
pub(crate) fn linear_form(problem: &Problem, settings: &StewartTrinkleSettings, work: &Work) -> Option<StewartTrinkle> {
    let (unknowns, building) = StewartTrinkle::size(problem, settings.directions);
    if !work.affords(building + 2 * square(unknowns) * unknowns as u64) {
        return None;
    }
    work.pay(building);
    StewartTrinkle::new(problem, settings).ok()
}

/// Lemke on the linear form of a problem, from one start after another: impulse, pivots and how it ended.
pub(crate) fn lemke_on(
    form: &StewartTrinkle,
    settings: &SolveSettings,
    work: &Work,
) -> (DVector<f64>, usize, SolveStatus) {
    lemke_from(form, settings, work, false)
}

/// [`lemke_on`]; with `once`, from the first start only.
pub(crate) fn lemke_from(
    form: &StewartTrinkle,
    settings: &SolveSettings,
    work: &Work,
    once: bool,
) -> (DVector<f64>, usize, SolveStatus) {
    let pivoting = lemke::LemkeSettings {
        pivots: settings.iterations,
        // the form's residual is not the problem's: aim below it
        tolerance: settings.tolerance,
        ..lemke::LemkeSettings::default()
    };
    let run = if once {
        lemke::lemke_within(&form.matrix, &form.vector, &pivoting, None, work)
    } else {
        lemke::restarts(&form.matrix, &form.vector, &pivoting, work)
    };
    (form.impulse(&run.impulse), run.iterations, run.status)
}

#[cfg(test)]
mod tests {
    use super::super::problem::Law;
    use super::*;
    use nalgebra::DMatrix;

    /// `contacts` contacts of bodies with `freedoms` degrees of freedom that move: rank-deficient as a stack is.
    fn stack(contacts: usize, freedoms: usize) -> Problem {
        let x = |k: usize| (k as f64 * 78.233 + 1.0).sin();
        let j = DMatrix::from_fn(3 * contacts, freedoms, |i, k| x(131 * i + k));
        Problem {
            name: "stack".into(),
            delassus: &j * j.transpose(),
            bias: &j * DVector::from_fn(freedoms, |k, _| x(7 * k)),
            laws: vec![Law::Cone { friction: 0.7, dimension: 3 }; contacts],
        }
    }

    /// A body that walls on both sides push out: every answer leaves them 1 m/s each.
    fn squeezed(walls: usize) -> Problem {
        let sides = DVector::from_fn(walls, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 });
        Problem::standard("squeezed", &sides * sides.transpose(), DVector::from_element(walls, -1.0))
    }

    #[test]
    fn what_cannot_be_solved_ends_within_the_budget() {
        for problem in [stack(60, 40), stack(6, 9), squeezed(40), squeezed(400)] {
            let n = problem.rows();
            for limit in [0, 10_000, 300_000, 10_000_000] {
                for solver in Solver::ALL.into_iter().filter(|s| s.supports(&problem)) {
                    // a residual of zero is beyond rounding: nothing ends early
                    let settings = SolveSettings { tolerance: 0.0, work: Some(limit), ..SolveSettings::default() };
                    let solution = solve(&problem, solver, &settings, None);
                    let what = format!("{} rows, budget {limit}, {solver}: {} spent", n, solution.work);
                    assert_eq!(solution.residual, natural_map_residual(&problem, &solution.impulse), "{what}");
                    // the end of a step (a sweep with exact contacts is the longest) and the certificates of some answers
                    assert!(solution.work <= limit + 20 * square(n) + 3000 * n as u64, "{what}");
                    let cut = [SolveStatus::IterationLimit, SolveStatus::Solved].contains(&solution.status);
                    assert!(cut || solution.work <= limit, "{what}: {}", solution.status);
                    assert_eq!(solution, solve(&problem, solver, &settings, None), "{what}");
                }
            }
        }
    }

    #[test]
    fn a_generous_budget_changes_nothing() {
        for problem in [stack(12, 20), stack(3, 9), squeezed(8)] {
            for solver in Solver::ALL.into_iter().filter(|s| s.supports(&problem)) {
                let free = solve(&problem, solver, &SolveSettings::default(), None);
                let settings = SolveSettings { work: Some(1 << 50), ..SolveSettings::default() };
                assert_eq!(solve(&problem, solver, &settings, None), free, "{} rows, {solver}", problem.rows());
                assert!(free.work > 0);
            }
        }
        let solved = solve(&stack(12, 20), Solver::Auto, &SolveSettings::default(), None);
        assert_eq!(solved.status, SolveStatus::Solved);
    }

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

    #[test]
    fn numbers_that_are_not_finite_come_back_at_once() {
        let mut problem = stack(100, 60);
        problem.delassus[(7, 11)] = f64::NAN;
        let mut infinite = stack(100, 60);
        infinite.bias[3] = f64::INFINITY;
        for problem in [problem, infinite] {
            for solver in Solver::ALL {
                let solution = solve(&problem, solver, &SolveSettings::default(), None);
                assert_eq!((solution.status, solution.work), (SolveStatus::NotFinite, 0), "{solver}");
            }
        }
    }
}
