//! Picks a solver by the laws and the size, and falls back until one solves.
//!
//! - Cones: [`super::two_phase`] without its last stage, then Newton from other starts, the cheap ones first: the answer
//!   of Lemke on a polyhedral cone with four and with eight directions (small problems), more interior steps, long ADMM,
//!   exact sweeps, and Lemke on large problems.
//! - No cones: Newton on modes after sweeps (quick where `W` is mechanical), then Lemke on the linear form, Dantzig,
//!   enumeration of small problems (which also proves that there is no basic solution), ADMM and sweeps.

use super::admm::{self, AdmmSettings};
use super::newton::{NewtonSettings, mode_newton};
use super::problem::{Problem, SolveStatus};
use super::scaled::Scaled;
use super::solve::{SolveSettings, lemke_of};
use super::stewart_trinkle::{StewartTrinkle, StewartTrinkleSettings};
use super::sweeps::{repeat, sweep};
use super::two_phase::{self, Best};
use super::{dantzig, enumerate, interior, lemke, nsgs};
use nalgebra::DVector;

/// Largest dense tableau that is tried, rows.
const LARGEST_TABLEAU: usize = 700;
/// Up to so many rows pivoting is tried before long iterations.
const SMALL: usize = 60;
/// Pivots of a fallback.
const PIVOTS: usize = 20_000;

/// Returns the impulse (N·s), the iterations of all attempts, and why the last one gave up.
pub(crate) fn auto(
    problem: &Problem,
    settings: &SolveSettings,
    warm: Option<&DVector<f64>>,
) -> (DVector<f64>, usize, SolveStatus) {
    let s = Scaled::new(problem);
    let y = s.start(warm);
    let mut attempt = Attempt { s: &s, best: Best::new(&s, &y), iterations: 0, tolerance: settings.tolerance };
    let status = if problem.has_cones() {
        cones(problem, settings, &mut attempt, y, warm.is_some())
    } else {
        rows(problem, settings, &mut attempt, y)
    };
    (s.impulse(attempt.best.point()), attempt.iterations, status)
}

/// The best point so far, and what finding it took.
struct Attempt<'a> {
    s: &'a Scaled,
    best: Best,
    iterations: usize,
    tolerance: f64,
}

impl Attempt<'_> {
    fn solved(&self) -> bool {
        self.best.residual <= self.tolerance
    }

    fn offer(&mut self, y: &DVector<f64>, iterations: usize) -> bool {
        self.iterations += iterations;
        if y.iter().all(|x| x.is_finite()) {
            self.best.offer(self.s, y);
        }
        self.solved()
    }

    /// Newton from `y`; whether the problem is solved.
    fn polish(&mut self, mut y: DVector<f64>, steps: usize) -> bool {
        if y.iter().any(|x| !x.is_finite()) {
            return self.solved();
        }
        if self.offer(&y, 0) {
            return true;
        }
        let mut v = self.s.velocity(&y);
        let settings = NewtonSettings { delta: 1e-5, steps, stall: 0 };
        let taken = mode_newton(self.s, &mut y, &mut v, settings, self.tolerance).1;
        self.offer(&y, taken)
    }
}

fn cones(
    problem: &Problem,
    settings: &SolveSettings,
    attempt: &mut Attempt,
    mut y: DVector<f64>,
    warm: bool,
) -> SolveStatus {
    let s = attempt.s;
    let small = problem.rows() <= SMALL;
    let mut status = SolveStatus::IterationLimit;
    // whoever has a first guess has iterated already: what is left is mostly what only pivoting untangles
    if small && warm && from_polyhedron(problem, settings, attempt, &mut status) {
        return SolveStatus::Solved;
    }
    let done = two_phase::run(s, &mut y, warm, settings.tolerance, 0);
    if attempt.offer(&y, done) {
        return SolveStatus::Solved;
    }
    // Newton from a polyhedral cone while pivoting is cheap, and from deeper in the interior
    if small && !warm && from_polyhedron(problem, settings, attempt, &mut status) || from_interior(attempt) {
        return SolveStatus::Solved;
    }
    // slowly but surely
    let mut y = DVector::zeros(s.rows());
    attempt.iterations += admm::run(s, &mut y, admm::LONG, settings.tolerance);
    if attempt.polish(y, 60) {
        return SolveStatus::Solved;
    }
    let mut y = DVector::zeros(s.rows());
    for sweeps in [50, 200, 1000] {
        attempt.iterations += repeat(s, &mut y, settings.tolerance, sweeps, |y, v| nsgs::exact_sweep(s, y, v));
        if attempt.polish(y.clone(), 30) {
            return SolveStatus::Solved;
        }
    }
    if !small && from_polyhedron(problem, settings, attempt, &mut status) {
        return SolveStatus::Solved;
    }
    let mut y = attempt.best.point().clone();
    for _ in 0..4 {
        let done = repeat(s, &mut y, settings.tolerance, settings.iterations, |y, v| nsgs::exact_sweep(s, y, v));
        attempt.iterations += done;
        if attempt.polish(y.clone(), 60) {
            return SolveStatus::Solved;
        }
    }
    status
}

/// Lemke on cones with four, then eight directions, and Newton from there.
fn from_polyhedron(
    problem: &Problem,
    settings: &SolveSettings,
    attempt: &mut Attempt,
    status: &mut SolveStatus,
) -> bool {
    [4, 8].into_iter().any(|directions| {
        let cone = StewartTrinkleSettings { directions, ..StewartTrinkleSettings::default() };
        let Ok(form) = StewartTrinkle::new(problem, &cone) else { return false };
        if form.vector.len() > LARGEST_TABLEAU {
            return false;
        }
        let pivoting =
            lemke::LemkeSettings { pivots: PIVOTS, tolerance: settings.tolerance, ..lemke::LemkeSettings::default() };
        let run = lemke::lemke_with_restarts(&form.matrix, &form.vector, &pivoting);
        attempt.iterations += run.iterations;
        if run.status == SolveStatus::SecondaryRay {
            *status = SolveStatus::SecondaryRay;
        }
        attempt.polish(attempt.s.start(Some(&form.impulse(&run.impulse))), 60)
    })
}

/// More and more interior steps, and Newton from there.
fn from_interior(attempt: &mut Attempt) -> bool {
    [15, 20, 30].into_iter().any(|steps| {
        let Some(y) = interior::start(attempt.s, steps) else { return false };
        attempt.iterations += steps;
        attempt.polish(y, 60)
    })
}

fn rows(problem: &Problem, settings: &SolveSettings, attempt: &mut Attempt, mut y: DVector<f64>) -> SolveStatus {
    let s = attempt.s;
    let tolerance = settings.tolerance;
    let done = repeat(s, &mut y, tolerance, 20, |y, v| sweep(s, y, v, 1.0));
    attempt.iterations += done;
    if attempt.polish(y, 20) {
        return SolveStatus::Solved;
    }
    let mut status = SolveStatus::IterationLimit;
    if let Ok(form) = StewartTrinkle::new(problem, &StewartTrinkleSettings::default())
        && form.vector.len() <= LARGEST_TABLEAU
    {
        let pivoting = SolveSettings { iterations: PIVOTS.max(settings.iterations), ..*settings };
        let (z, done, ended) = lemke_of(problem, &pivoting);
        attempt.iterations += done;
        if ended != SolveStatus::Solved {
            status = ended;
        }
        if attempt.polish(s.start(Some(&z)), 20) {
            return SolveStatus::Solved;
        }
    }
    if problem.rows() <= LARGEST_TABLEAU {
        let (z, done, _) = dantzig::dantzig(problem, tolerance, 50 * problem.rows() + 100);
        attempt.iterations += done;
        if attempt.polish(s.start(Some(&z)), 20) {
            return SolveStatus::Solved;
        }
    }
    if let Some((z, done)) = enumerate::enumerate(problem, tolerance) {
        if attempt.offer(&s.start(Some(&z)), done) {
            return SolveStatus::Solved;
        }
        // nothing is left to try: every basis was
        return if status == SolveStatus::IterationLimit { SolveStatus::Infeasible } else { status };
    }
    if let Some(y) = interior::start(s, 20)
        && attempt.polish(y, 60)
    {
        return SolveStatus::Solved;
    }
    let mut y = DVector::zeros(s.rows());
    let done = admm::run(s, &mut y, AdmmSettings { steps: 3000, ..admm::LONG }, tolerance);
    attempt.iterations += done;
    if attempt.polish(y, 60) {
        return SolveStatus::Solved;
    }
    let mut y = attempt.best.point().clone();
    let done = repeat(s, &mut y, tolerance, settings.iterations, |y, v| sweep(s, y, v, 1.0));
    attempt.iterations += done;
    if attempt.polish(y, 60) {
        return SolveStatus::Solved;
    }
    status
}
