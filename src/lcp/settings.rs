//! Which algorithm solves a problem, and how far it goes.

use super::enumerate;
use super::problem::{Law, Problem};
use super::stewart_trinkle::pulling_normal;
use crate::error::Error;

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
    /// Steps of [`super::interior`], and [`super::newton`] from there; no box friction.
    Interior,
}

impl Solver {
    /// All solvers, the exact ones first.
    pub const ALL: [Self; 12] = [
        Self::Auto,
        Self::TwoPhase,
        Self::Interior,
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
            Self::Interior => "interior",
        }
    }

    /// Why the solver does not treat the laws (or the size) of a valid problem, and what does; none where it does.
    pub fn refusal(self, problem: &Problem) -> Option<String> {
        if self.supports(problem) {
            return None;
        }
        Some(match self {
            _ if problem.has_patches() => format!("{self} does not treat patches; auto, newton and nsgs do"),
            Self::Interior => format!("{self} does not treat box friction; auto does"),
            Self::Enumerate => format!("{self} does not treat cones or so many rows; auto does"),
            _ => format!("{self} does not treat cones or box friction of a normal that may pull; auto does"),
        })
    }

    /// Whether the solver treats the laws (and the size) of a valid problem.
    pub fn supports(self, problem: &Problem) -> bool {
        match self {
            Self::Auto | Self::Newton | Self::Nsgs => true,
            _ if problem.has_patches() => false,
            Self::Interior => !problem.laws.iter().any(|law| matches!(law, Law::Friction { .. })),
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
    /// last stage, interior and auto their own numbers.
    pub iterations: usize,
    /// ω of [`Solver::Psor`], without unit, between 0 and 2. Default 0.8; above 1 contact problems may diverge.
    pub relaxation: f64,
    /// Budget of all attempts together, in multiply-adds: `n²` for a sweep or a product, `n³/3` for a factorization, the
    /// changed entries of its tableau for a pivot. Default `None`, no limit. What does not fit is skipped or cut short,
    /// and the best point so far is returned with its residual and [`SolveStatus::IterationLimit`](super::SolveStatus::IterationLimit). Counted rather than
    /// timed, so the answer is the same on every machine; [`Solution::work`](super::Solution::work) says what was spent, which exceeds the
    /// budget by no more than the end of a step and the certificates of some answers.
    pub work: Option<u64>,
}

impl Default for SolveSettings {
    fn default() -> Self {
        Self { tolerance: 1e-10, iterations: 5000, relaxation: 0.8, work: None }
    }
}
