//! Picks a solver by the laws and the size, and falls back until one solves.
//!
//! - Cones: [`super::two_phase`] without its last stage, then Newton from other starts, the cheap ones first: more interior
//!   steps, the answer of Lemke on a polyhedral cone with four and with eight directions (small problems), long ADMM, exact
//!   sweeps, cones aligned with the best point so far, and Lemke on large problems. From a first guess, if there are not too
//!   many rows, the interior comes first and pivoting second.
//! - No cones: Newton on modes after sweeps (quick where `W` is mechanical), then Lemke on the linear form, Dantzig,
//!   enumeration of small problems (which also proves that there is no basic solution), ADMM and sweeps.
//!
//! Under a budget ([`SolveSettings::work`]) the order is the same, cheap and likely attempts first; an early one may take
//! half of what is left, and one that cannot expect to finish is skipped.

use super::admm::{self, AdmmSettings};
use super::interior::{self, Interior};
use super::newton::{NewtonSettings, POLISH_DELTA, mode_newton, whole_steps};
use super::pivoting::{lemke_from, lemke_on, linear_form};
use super::problem::{Group, Law, Problem, SolveStatus};
use super::scaled::Scaled;
use super::settings::SolveSettings;
use super::stewart_trinkle::StewartTrinkleSettings;
use super::sweeps::{repeat, sweep};
use super::two_phase::{self, Best};
use super::work::Work;
use super::{dantzig, enumerate, nsgs};
use nalgebra::DVector;

/// Largest dense tableau that is tried, rows.
const LARGEST_TABLEAU: usize = 700;
/// Up to so many rows pivoting is tried before long iterations.
const SMALL: usize = 60;
/// Up to so many rows many factorizations are worth more than sweeps.
const MEDIUM: usize = 200;
/// Interior steps before the first start of Newton, the second, and the third. Where contacts wedge each other, ten are too few: of 139 blocks of stacked boxes that rounds of Newton
/// had left (f64, tolerance 1e-10) these solve 133, at 0.9 million multiply-adds each.
const INTERIOR: [usize; 3] = [30, 45, 60];
/// Two looks at the residual on the way; where it is still more than this share of what it was, there is no answer, most likely.
const EARLY: [usize; 2] = [10, 20];
const STUCK: f64 = 0.3;
/// Proximal term and number of whole steps of Newton from where shorter ones ended: a body that is wedged slides on the edge of one cone by 1e-8 m/s while other contacts stick next to theirs,
/// and every step that lowers the merit is short. Of 532 blocks that four piles were left with in f64 these solve 433, and of 58 of ants 50.
const WHOLE: [(f64, usize); 3] = [(1e-7, 60), (1e-6, 150), (1e-8, 60)];
/// Cones that are aligned with the best point so far, the second half of them turned away from it.
const ALIGNED: usize = 12;
/// Its multiples spread evenly over the circle, rad.
const GOLDEN_ANGLE: f64 = 2.399_963_229_728_653;
/// Pivots of a fallback.
const PIVOTS: usize = 20_000;

/// Returns the impulse (N·s), the iterations of all attempts, and why the last one gave up.
pub(crate) fn auto(
    problem: &Problem,
    settings: &SolveSettings,
    warm: Option<&DVector<f64>>,
    work: &Work,
) -> (DVector<f64>, usize, SolveStatus) {
    let s = Scaled::new(problem, work);
    let y = s.start(warm);
    let mut attempt = Attempt::new(&s, &y, settings.tolerance);
    let status = if problem.has_cones() {
        cones(problem, settings, &mut attempt, y, warm.is_some())
    } else {
        rows(problem, settings, &mut attempt, y)
    };
    (s.impulse(attempt.best.point()), attempt.iterations, status)
}

/// Interior steps and Newton from there alone: quick to say that it does not know.
pub(crate) fn interior(problem: &Problem, tolerance: f64, work: &Work) -> (DVector<f64>, usize) {
    let s = Scaled::new(problem, work);
    let mut attempt = Attempt::new(&s, &s.start(None), tolerance);
    if !attempt.solved() {
        from_interior(&mut attempt, false);
    }
    (s.impulse(attempt.best.point()), attempt.iterations)
}

/// The best point so far, and what finding it took.
struct Attempt<'a> {
    s: &'a Scaled<'a>,
    best: Best,
    iterations: usize,
    tolerance: f64,
    /// Why pivoting gave up.
    status: SolveStatus,
    /// The last answer on a polyhedral cone, N·s.
    pivoted: Option<DVector<f64>>,
}

impl<'a> Attempt<'a> {
    fn new(s: &'a Scaled<'a>, y: &DVector<f64>, tolerance: f64) -> Self {
        let status = SolveStatus::IterationLimit;
        Self { s, best: Best::new(s, y), iterations: 0, tolerance, status, pivoted: None }
    }

    fn solved(&self) -> bool {
        self.best.residual <= self.tolerance
    }

    fn offer(&mut self, y: &DVector<f64>, iterations: usize) -> bool {
        self.iterations += iterations;
        if y.iter().all(|x| x.is_finite()) && self.s.work.affords(self.s.sweep_work()) {
            self.best.offer(self.s, y);
        }
        self.solved()
    }

    /// Newton from `y`; whether the problem is solved.
    fn polish(&mut self, mut y: DVector<f64>, steps: usize) -> bool {
        if y.iter().any(|x| !x.is_finite()) || !self.s.work.affords(2 * self.s.sweep_work()) {
            return self.solved();
        }
        if self.offer(&y, 0) {
            return true;
        }
        let mut v = self.s.velocity(&y);
        let settings = NewtonSettings { delta: POLISH_DELTA, steps, stall: 0 };
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
    let (s, work) = (attempt.s, attempt.s.work);
    let small = problem.rows() <= SMALL;
    let inside_first = warm && problem.rows() <= MEDIUM;
    // whoever has a first guess has iterated already: what is left ends in a trap, into which the interior does not lead, or is untangled by pivoting
    if inside_first && work.half(|| from_interior(attempt, true)) {
        return SolveStatus::Solved;
    }
    if small
        && warm
        && (work.half(|| from_polyhedron(problem, settings, attempt))
            || work.half(|| from_aligned(problem, settings, attempt)))
    {
        return SolveStatus::Solved;
    }
    let done = work.half(|| two_phase::run(s, &mut y, warm, settings.tolerance, 0));
    if attempt.offer(&y, done) {
        return SolveStatus::Solved;
    }
    // from deeper in the interior, and from a polyhedral cone while pivoting is cheap
    if !inside_first && work.half(|| from_interior(attempt, true))
        || small && !warm && work.half(|| from_polyhedron(problem, settings, attempt))
    {
        return SolveStatus::Solved;
    }
    // slowly but surely
    let mut y = DVector::zeros(s.rows());
    attempt.iterations += work.half(|| admm::run(s, &mut y, admm::LONG, settings.tolerance));
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
    let pivoted = match (small, warm) {
        (true, true) => false,
        (true, false) => from_aligned(problem, settings, attempt),
        (false, _) => from_polyhedron(problem, settings, attempt),
    };
    if pivoted {
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
    attempt.status
}

/// Lemke on cones with four, then eight directions, and Newton from there.
fn from_polyhedron(problem: &Problem, settings: &SolveSettings, attempt: &mut Attempt) -> bool {
    [4, 8].into_iter().any(|directions| {
        let cone = StewartTrinkleSettings { directions, ..StewartTrinkleSettings::default() };
        from_cone(problem, settings, attempt, &cone, 60)
    })
}

/// Lemke on cones that hold the best point so far in an edge, or are turned at random from there, and Newton from there.
///
/// Where friction wedges a body, Newton ends where the natural map is small, 1e-9 m/s, but least, and the answer is
/// elsewhere: it takes another set of sliding and sticking contacts, which pivoting finds. Of 524 such blocks of an ant
/// (f64, tolerance 1e-10) cones with fixed edges solved 464; these and [`POLISH_DELTA`], 514.
fn from_aligned(problem: &Problem, settings: &SolveSettings, attempt: &mut Attempt) -> bool {
    (0..ALIGNED).any(|k| {
        let best = attempt.s.impulse(attempt.best.point());
        let z = attempt.pivoted.take().filter(|_| k < ALIGNED / 2).unwrap_or(best);
        let mut contact = 0;
        let angle = |Group { row, law }: Group| match law {
            Law::Cone { dimension: 3, .. } => {
                contact += 1;
                let turn = if k < ALIGNED / 2 { 0.0 } else { GOLDEN_ANGLE * (k * contact) as f64 };
                Some(turn + z[row + 2].atan2(z[row + 1]))
            }
            Law::Cone { .. } => Some(0.0),
            _ => None,
        };
        let rotations = problem.groups().filter_map(angle).collect();
        let directions = [4, 8, 16][k % 3];
        let cone = StewartTrinkleSettings { directions, rotations, ..StewartTrinkleSettings::default() };
        from_cone(problem, settings, attempt, &cone, 20)
    })
}

/// Lemke on one polyhedral cone, and at most `steps` of Newton from there.
fn from_cone(
    problem: &Problem,
    settings: &SolveSettings,
    attempt: &mut Attempt,
    cone: &StewartTrinkleSettings,
    steps: usize,
) -> bool {
    let Some(form) = linear_form(problem, cone, attempt.s.work) else { return false };
    if form.vector.len() > LARGEST_TABLEAU {
        return false;
    }
    let pivoting = SolveSettings { iterations: PIVOTS, ..*settings };
    // under a budget other cones are worth more than other starts on the same one
    let (z, done, ended) = lemke_from(&form, &pivoting, attempt.s.work, settings.work.is_some());
    attempt.iterations += done;
    if ended == SolveStatus::SecondaryRay {
        attempt.status = SolveStatus::SecondaryRay;
    }
    let start = attempt.s.start(Some(&z));
    attempt.pivoted = Some(z);
    attempt.polish(start, steps)
}

/// Interior steps, and Newton from there; if that fails, from further on the same way, and at last in whole steps. `patient`: even where the way seems to lead nowhere.
fn from_interior(attempt: &mut Attempt, patient: bool) -> bool {
    let s = attempt.s;
    let Some(mut interior) = Interior::new(s) else { return false };
    let mut made = 0;
    if !patient {
        let [early, late] = EARLY.map(|steps| {
            made += interior.advance(steps - made);
            let y = interior.point();
            s.residual(&y, &s.velocity(&y))
        });
        if late > STUCK * early {
            attempt.iterations += made;
            return false;
        }
    }
    let near = INTERIOR.into_iter().any(|steps| {
        let more = interior.advance(steps - made);
        made += more;
        attempt.iterations += more;
        attempt.polish(interior.point(), 25)
    });
    near || WHOLE.into_iter().any(|(delta, steps)| {
        let mut y = attempt.best.point().clone();
        let taken = whole_steps(s, &mut y, delta, steps, attempt.tolerance);
        attempt.offer(&y, taken)
    })
}

fn rows(problem: &Problem, settings: &SolveSettings, attempt: &mut Attempt, mut y: DVector<f64>) -> SolveStatus {
    let (s, work) = (attempt.s, attempt.s.work);
    let tolerance = settings.tolerance;
    let done = repeat(s, &mut y, tolerance, 20, |y, v| sweep(s, y, v, 1.0));
    attempt.iterations += done;
    if attempt.polish(y, 20) {
        return SolveStatus::Solved;
    }
    let mut status = SolveStatus::IterationLimit;
    if let Some(form) = linear_form(problem, &StewartTrinkleSettings::default(), work)
        && form.vector.len() <= LARGEST_TABLEAU
    {
        let pivoting = SolveSettings { iterations: PIVOTS.max(settings.iterations), ..*settings };
        let (z, done, ended) = work.half(|| lemke_on(&form, &pivoting, work));
        attempt.iterations += done;
        if ended != SolveStatus::Solved {
            status = ended;
        }
        if attempt.polish(s.start(Some(&z)), 20) {
            return SolveStatus::Solved;
        }
    }
    if problem.rows() <= LARGEST_TABLEAU {
        let (z, done, _) = work.half(|| dantzig::dantzig(problem, tolerance, 50 * problem.rows() + 100, work));
        attempt.iterations += done;
        if attempt.polish(s.start(Some(&z)), 20) {
            return SolveStatus::Solved;
        }
    }
    if let Some((z, done)) = work.half(|| enumerate::enumerate(problem, tolerance, work)) {
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
