//! Which of sweeps and Newton when; entries from [`crate::lcp::solve`] and in other number types.

use super::newton::{Homotopy, Point, STEPS, follow, newton as newton_from};
use super::sweeps::sweeps as sweeps_from;
use super::system::System;
use crate::lane::Scalar;
use crate::lcp::problem::Problem;
use crate::lcp::work::{Work, square};
use nalgebra::DVector;

/// Newton steps from an answer to its rounding floor.
const LAST_STEPS: usize = 2;
/// Newton aims this far below the tolerance: its last step costs little and brings many digits.
const AIM: f64 = 1e-2;

/// The system of a problem and a point to start from, paid for.
fn begin<R: Scalar>(problem: &Problem, warm: Option<&DVector<f64>>, work: &Work) -> (System<R>, Point<R>) {
    work.pay(3 * square(problem.rows()));
    let system = System::<R>::of(problem);
    let z: Vec<R> = match warm {
        Some(z) => z.iter().map(|&z| R::constant(z)).collect(),
        None => vec![R::zero(); problem.rows()],
    };
    let start = system.unknowns_of(&z);
    let point = Point::at(&system, start);
    (system, point)
}

fn impulse<R: Scalar>(point: &Point<R>) -> DVector<f64> {
    DVector::from_iterator(point.z.len(), point.z.iter().map(|z| z.to_f64()))
}

/// Newton from `warm` or zero, then with friction by and by; impulse (N·s) and steps.
pub(crate) fn newton(
    problem: &Problem,
    warm: Option<&DVector<f64>>,
    tolerance: f64,
    steps: usize,
    work: &Work,
) -> (DVector<f64>, usize) {
    let (system, mut point) = begin::<f64>(problem, warm, work);
    let mut taken = newton_from(&system, &mut point, AIM * tolerance, steps, work);
    if point.residual > tolerance {
        let mut other = Point::at(&system, vec![0.0; system.rows()]);
        taken += follow(&system, &mut other, Homotopy::Friction, (tolerance, AIM * tolerance), work);
        point = better(point, other);
    }
    taken += polish(&system, &mut point, tolerance, work);
    (impulse(&point), taken)
}

/// Gauss-Seidel from `warm` or zero; impulse (N·s) and sweeps.
pub(crate) fn sweeps(
    problem: &Problem,
    warm: Option<&DVector<f64>>,
    tolerance: f64,
    limit: usize,
    work: &Work,
) -> (DVector<f64>, usize) {
    let (system, mut point) = begin::<f64>(problem, warm, work);
    let done = sweeps_from(&system, &mut point, tolerance, limit, work);
    (impulse(&point), done)
}

/// Falls back until one solves; impulse (N·s) and the steps and sweeps of all attempts.
pub(crate) fn auto(
    problem: &Problem,
    warm: Option<&DVector<f64>>,
    tolerance: f64,
    limit: usize,
    work: &Work,
) -> (DVector<f64>, usize) {
    let (system, point) = begin::<f64>(problem, warm, work);
    let (mut point, mut done) = attempts(&system, point, tolerance, limit, work);
    done += polish(&system, &mut point, tolerance, work);
    (impulse(&point), done)
}

/// Newton's last steps cost little and bring all digits that there are: from an answer to its rounding floor.
fn polish<R: Scalar>(system: &System<R>, point: &mut Point<R>, tolerance: f64, work: &Work) -> usize {
    let floor = system.floor(&point.z);
    let solved = point.residual <= tolerance && point.residual > floor;
    if solved { newton_from(system, point, floor, LAST_STEPS, work) } else { 0 }
}

fn better<R>(a: Point<R>, b: Point<R>) -> Point<R> {
    if b.residual < a.residual { b } else { a }
}

/// Sweeps of the first round; every round has four times those of the one before.
const FEW_SWEEPS: usize = 12;
/// Rounds of sweeps before Newton is led there by friction and by softness, which takes tens of times as long.
const FIRST_ROUNDS: usize = 3;
/// A round of more sweeps than this is the last one if it brings nothing.
const FAIR_TRIAL: usize = 400;

/// Newton from `start`; rounds of sweeps, and Newton after each; Newton led there by friction and by softness; more rounds. What leads begins with a problem that is solved from
/// anywhere, so it begins once, from zero.
pub(super) fn attempts<R: Scalar>(
    system: &System<R>,
    start: Point<R>,
    tolerance: f64,
    limit: usize,
    work: &Work,
) -> (Point<R>, usize) {
    let aim = AIM * tolerance;
    let solved = |point: &Point<R>| point.residual <= tolerance;
    let mut best = start.clone();
    let mut done = newton_from(system, &mut best, aim, STEPS, work);
    let (mut swept, mut count) = (start, FEW_SWEEPS);
    for round in 0.. {
        if round == FIRST_ROUNDS {
            for homotopy in [Homotopy::Friction, Homotopy::Softness] {
                if solved(&best) {
                    break;
                }
                let mut next = Point::at(system, vec![R::zero(); system.rows()]);
                done += follow(system, &mut next, homotopy, (tolerance, aim), work);
                best = better(best, next);
            }
        }
        if solved(&best) || round >= FIRST_ROUNDS && count > limit {
            break;
        }
        let before = swept.residual;
        done += sweeps_from(system, &mut swept, tolerance, count.min(limit), work);
        let mut next = swept.clone();
        done += newton_from(system, &mut next, aim, STEPS, work);
        best = better(better(best, next), swept.clone());
        if swept.residual >= before && count > FAIR_TRIAL {
            break;
        }
        count *= 4;
    }
    (best, done)
}

/// What [`solve_rounded`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounded {
    /// Impulse z (N·s), shape \[n\].
    pub impulse: DVector<f64>,
    /// Newton steps and sweeps.
    pub iterations: usize,
    /// Natural map residual as the number type sees it, m/s.
    pub residual: f64,
}

/// Solves a valid problem with everything rounded to `R`, from zero, to `tolerance` (m/s).
pub fn solve_rounded<R: Scalar>(problem: &Problem, tolerance: f64) -> Rounded {
    let work = Work::new(None);
    let (system, point) = begin::<R>(problem, None, &work);
    let (mut point, mut iterations) = attempts(&system, point, tolerance, 5000, &work);
    iterations += polish(&system, &mut point, tolerance, &work);
    Rounded { impulse: impulse(&point), iterations, residual: point.residual }
}

/// A system solved in its own number type, f64.
pub(crate) struct Solved {
    /// z, shape \[n\].
    pub impulse: Vec<f64>,
    /// m/s.
    pub residual: f64,
    pub iterations: usize,
}

/// Solves a system from zero, as near as rounding allows; `tolerance` (m/s) is when to try nothing else.
pub(crate) fn solve_system(system: &System<f64>, tolerance: f64) -> Solved {
    let start = Point::at(system, vec![0.0; system.rows()]);
    let (point, iterations) = attempts(system, start, tolerance, 5000, &Work::new(None));
    Solved { impulse: point.z, residual: point.residual, iterations }
}
