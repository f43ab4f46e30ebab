//! Enumeration of all complementary bases of a small problem without cones: the judge of the other solvers.
//!
//! Every row is at its lower bound, at its upper bound or free (`w = 0`); a box friction row slides one way, the other
//! way, or sticks. Each combination is one linear system; its answer counts if its natural map is small.

use super::complementarity::worse;
use super::problem::{Group, Law, Problem};
use super::residual::natural_map_residual;
use super::stewart_trinkle::solve_general;
use super::work::{Work, factorization, square};
use nalgebra::{DMatrix, DVector};

/// Most combinations that are tried: `3^12`.
pub const MOST_COMBINATIONS: usize = 531_441;

/// What a row does in one combination.
#[derive(Clone, Copy)]
enum Choice {
    Free,
    At(f64),
    /// `z = gain z[normal]`
    Slide(usize, f64),
}

/// The choices of each row; `None` if there are cones or too many combinations.
fn choices(problem: &Problem) -> Option<Vec<Vec<Choice>>> {
    let mut combinations: usize = 1;
    let mut all = Vec::with_capacity(problem.rows());
    for Group { law, .. } in problem.groups() {
        let row = match law {
            Law::Interval { lower, upper } if lower == upper => vec![Choice::At(lower)],
            Law::Interval { lower, upper } => {
                [Some(Choice::Free), finite(lower), finite(upper)].into_iter().flatten().collect()
            }
            Law::Friction { friction: 0.0, .. } => vec![Choice::At(0.0)],
            Law::Friction { normal, friction } => {
                vec![Choice::Free, Choice::Slide(normal, friction), Choice::Slide(normal, -friction)]
            }
            Law::Cone { .. } | Law::Patch(_) => return None,
        };
        combinations = combinations.checked_mul(row.len()).filter(|&c| c <= MOST_COMBINATIONS)?;
        all.push(row);
    }
    Some(all)
}

fn finite(bound: f64) -> Option<Choice> {
    bound.is_finite().then_some(Choice::At(bound))
}

/// Whether [`enumerate`] can treat the problem: no cones, at most [`MOST_COMBINATIONS`].
pub(crate) fn is_enumerable(problem: &Problem) -> bool {
    choices(problem).is_some()
}

/// All answers with a natural map of at most `tolerance` (m/s), without repetitions, and the number of combinations;
/// `None` if the problem is invalid, has cones or too many combinations.
///
/// On a singular basis the smallest answer is taken, so of a whole face of answers only some points are found.
pub fn all_solutions(problem: &Problem, tolerance: f64) -> Option<(Vec<DVector<f64>>, usize)> {
    problem.validate().ok()?;
    let mut found: Vec<DVector<f64>> = Vec::new();
    let tried = visit(problem, &Work::new(None), |z| {
        let size = z.amax().max(1.0);
        if natural_map_residual(problem, &z) <= tolerance && found.iter().all(|f| (f - &z).amax() > 1e-9 * size) {
            found.push(z);
        }
        false
    })?;
    Some((found, tried))
}

/// The first answer within `tolerance` (m/s), or the best that the budget found; `None` if the problem has cones or too
/// many combinations.
///
/// Returns the impulse (N·s) and the combinations tried.
pub(crate) fn enumerate(problem: &Problem, tolerance: f64, work: &Work) -> Option<(DVector<f64>, usize)> {
    let zero = DVector::zeros(problem.rows());
    let mut best = (natural_map_residual(problem, &zero), zero);
    let tried = visit(problem, work, |z| {
        let residual = worse(natural_map_residual(problem, &z), 0.0);
        if residual < best.0 {
            best = (residual, z);
        }
        best.0 <= tolerance
    })?;
    Some((best.1, tried))
}

/// Solves every combination until `stop` says so or the budget is spent; the number solved.
fn visit(problem: &Problem, work: &Work, mut stop: impl FnMut(DVector<f64>) -> bool) -> Option<usize> {
    let all = choices(problem)?;
    let n = problem.rows();
    let mut chosen = vec![0; n];
    let mut tried = 0;
    // elimination with full pivoting, and a residual
    let trial_work = 2 * factorization(n) + 3 * square(n);
    loop {
        if !work.affords(trial_work) {
            return Some(tried);
        }
        work.pay(trial_work);
        tried += 1;
        let (mut a, mut b) = (DMatrix::identity(n, n), DVector::zeros(n));
        for (i, (row, &k)) in all.iter().zip(&chosen).enumerate() {
            match row[k] {
                Choice::Free => {
                    a.row_mut(i).copy_from(&problem.delassus.row(i));
                    b[i] = -problem.bias[i];
                }
                Choice::At(bound) => b[i] = bound,
                Choice::Slide(normal, gain) => a[(i, normal)] -= gain,
            }
        }
        let right = DMatrix::from_column_slice(n, 1, b.as_slice());
        if let Some(answer) = solve_general(&a, &right, work)
            && stop(answer.column(0).clone_owned())
        {
            return Some(tried);
        }
        // count up in mixed radix
        let Some(next) = (0..n).find(|&i| chosen[i] + 1 < all[i].len()) else { return Some(tried) };
        chosen[next] += 1;
        chosen[..next].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_solution_of_a_small_problem() {
        // Cottle, Pang & Stone 4.1.14: z_1 + z_2 = 1; two basic solutions
        let p = Problem::standard("", DMatrix::from_element(2, 2, 1.0), DVector::from_element(2, -1.0));
        let (found, tried) = all_solutions(&p, 1e-12).unwrap();
        assert_eq!(tried, 4);
        assert!(found.iter().any(|z| (z[0] - 1.0).abs() < 1e-12 && z[1] == 0.0));
        assert!(found.iter().any(|z| (z[1] - 1.0).abs() < 1e-12 && z[0] == 0.0));
        // none: w = -z - 1
        let p = Problem::standard("", DMatrix::from_element(1, 1, -1.0), DVector::from_element(1, -1.0));
        assert!(all_solutions(&p, 1e-12).unwrap().0.is_empty());
    }

    #[test]
    fn cones_and_large_problems_are_left_alone() {
        let p = Problem::standard("", DMatrix::identity(40, 40), DVector::zeros(40));
        assert!(!is_enumerable(&p));
        let empty = Problem::standard("", DMatrix::zeros(0, 0), DVector::zeros(0));
        assert_eq!(enumerate(&empty, 0.0, &Work::new(None)).unwrap().0.len(), 0);
    }
}
