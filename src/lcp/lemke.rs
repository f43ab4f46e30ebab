//! Lemke's complementary pivoting for the standard problem `w = M z + q`, `z >= 0`, `w >= 0`, `z · w = 0`.
//!
//! C. E. Lemke 1965; Cottle, Pang & Stone, *The Linear Complementarity Problem*, algorithm 4.4.5 and section 4.9
//! (lexicographic degeneracy resolution). With a covering vector `d > 0` the path starts on the ray
//!
//! ```text
//! w = q + M z + d z_0,   z = 0,   z_0 large
//! ```
//!
//! and exchanges complementary pairs until `z_0` leaves the basis (solved) or nothing blocks (secondary ray, which
//! for copositive-plus `M` proves that there is no solution).
//!
//! The tableau is dense, `n × (2 n + 2)`; rows and columns are equilibrated first, and the last basis is solved again
//! with a fresh factorization, so that the answer does not carry the rounding of all pivots.

use super::problem::{Problem, Solution, SolveStatus};
use super::residual::natural_map_residual;
use super::work::{Work, factorization, square};
use nalgebra::{DMatrix, DVector};
use std::collections::HashSet;

/// The covering vector `d` of the artificial variable `z_0`, in equilibrated rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covering {
    /// `d_i = 1`.
    Ones,
    /// `d_i = max(|q_i|, 1/100)` with `|q|_inf = 1`: the path starts where all negative rows block together.
    Magnitude,
    /// `d_i` rising evenly from 1 to 2: breaks the ties of symmetric problems.
    Ramp,
    /// `d_i` in [1, 2) from a seed.
    Random(u64),
}

/// How to pivot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LemkeSettings {
    /// The covering vector. Default `Ones`.
    pub covering: Covering,
    /// Most pivots. Default 20 000; the exponential family of size n needs `2^n`.
    pub pivots: usize,
    /// A column entry of the equilibrated tableau below this cannot be a pivot, without unit. Default 1e-11.
    pub pivot_tolerance: f64,
    /// Natural map residual that counts as solved, in the unit of `q`. Default 1e-10.
    pub tolerance: f64,
}

impl Default for LemkeSettings {
    fn default() -> Self {
        Self { covering: Covering::Ones, pivots: 20_000, pivot_tolerance: 1e-11, tolerance: 1e-10 }
    }
}

/// Ratios closer than this (without unit, after equilibration) are a tie.
const TIE: f64 = 1e-13;
/// Price of all but the pivots of a run, in n²: copies, equilibration, the tableau and the residuals of two answers.
const START: u64 = 30;

/// Solves a standard LCP; see the module.
///
/// `warm` marks the `z_i` that are expected to be basic (positive): the problem is first transformed to that basis
/// (principal pivot transform) when its matrix is not singular.
pub fn lemke(
    matrix: &DMatrix<f64>,
    vector: &DVector<f64>,
    settings: &LemkeSettings,
    warm: Option<&[bool]>,
) -> Solution {
    lemke_within(matrix, vector, settings, warm, &Work::new(None))
}

/// [`lemke`] with a budget.
pub(crate) fn lemke_within(
    matrix: &DMatrix<f64>,
    vector: &DVector<f64>,
    settings: &LemkeSettings,
    warm: Option<&[bool]>,
    work: &Work,
) -> Solution {
    let n = vector.len();
    let before = work.spent();
    let problem = Problem::standard("lemke", matrix.clone(), vector.clone());
    if let Err(status) = check(&problem) {
        return Solution { impulse: DVector::zeros(n), status, iterations: 0, residual: f64::INFINITY, work: 0 };
    }
    work.pay(START * square(n));
    // M' = R M C, q' = R q / |R q|: w' = R w / |R q|, z = C z' |R q|
    let scaled = Equilibrated::new(matrix, vector);
    let basis = warm.filter(|w| w.len() == n && w.iter().any(|&b| b));
    let transformed = basis.and_then(|b| principal_pivot_transform(&scaled.matrix, &scaled.vector, b).map(|t| (t, b)));
    let (outcome, basic) = match transformed {
        Some(((m, q), b)) => {
            work.pay(3 * factorization(n));
            let (outcome, exchanged) = pivot(&m, &q, settings, work);
            (outcome, exchanged.iter().zip(b).map(|(x, y)| x ^ y).collect())
        }
        None => pivot(&scaled.matrix, &scaled.vector, settings, work),
    };
    let mut best = (f64::INFINITY, DVector::zeros(n));
    work.pay(factorization(basic.iter().filter(|&&b| b).count()));
    for scaled_z in [outcome.z.clone().filter(|_| transformed_is_plain(basis)), basic_solution(&scaled, &basic)]
        .into_iter()
        .flatten()
    {
        let z = scaled.unscale(&scaled_z);
        let residual = natural_map_residual(&problem, &z);
        if residual < best.0 {
            best = (residual, z);
        }
    }
    let (residual, impulse) = best;
    let residual = if residual.is_finite() { residual } else { natural_map_residual(&problem, &impulse) };
    let status = if residual <= settings.tolerance {
        SolveStatus::Solved
    } else if outcome.status == SolveStatus::Solved {
        // the path ended, but rounding keeps the answer above the tolerance
        SolveStatus::IterationLimit
    } else {
        outcome.status
    };
    Solution { impulse, status, iterations: outcome.pivots, residual, work: work.spent() - before }
}

/// Runs [`lemke`] with one covering vector after the other until one solves; the best answer otherwise, with the
/// status of the first run that was not [`SolveStatus::IterationLimit`].
pub fn lemke_with_restarts(matrix: &DMatrix<f64>, vector: &DVector<f64>, settings: &LemkeSettings) -> Solution {
    restarts(matrix, vector, settings, &Work::new(None))
}

/// [`lemke_with_restarts`] with a budget, of which a start may take half of what is left.
pub(crate) fn restarts(
    matrix: &DMatrix<f64>,
    vector: &DVector<f64>,
    settings: &LemkeSettings,
    work: &Work,
) -> Solution {
    let before = work.spent();
    let mut best: Option<Solution> = None;
    let mut pivots = 0;
    let fine = 1e-3 * settings.pivot_tolerance;
    let starts = [
        (settings.covering, settings.pivot_tolerance),
        (Covering::Magnitude, settings.pivot_tolerance),
        (Covering::Ramp, settings.pivot_tolerance),
        (Covering::Random(1), settings.pivot_tolerance),
        // nearly singular problems have small pivots that are not rounding
        (Covering::Ones, fine),
        (Covering::Random(2), fine),
    ];
    for (covering, pivot_tolerance) in starts {
        let left = settings.pivots.saturating_sub(pivots);
        let start = LemkeSettings { covering, pivots: left, pivot_tolerance, ..*settings };
        let run = work.half(|| lemke_within(matrix, vector, &start, None, work));
        pivots += run.iterations;
        let done = run.status == SolveStatus::Solved
            || pivots >= settings.pivots
            || !work.affords(2 * START * square(vector.len()));
        let invalid = matches!(run.status, SolveStatus::InvalidProblem | SolveStatus::NotFinite);
        best = Some(match best {
            Some(mut old) if old.residual <= run.residual => {
                if old.status == SolveStatus::IterationLimit {
                    old.status = run.status;
                }
                old
            }
            _ => run,
        });
        if done || invalid {
            break;
        }
    }
    let mut solution = best.unwrap_or_else(|| lemke(matrix, vector, settings, None));
    solution.iterations = pivots;
    solution.work = work.spent() - before;
    solution
}

fn check(problem: &Problem) -> Result<(), SolveStatus> {
    match problem.validate() {
        Ok(()) => Ok(()),
        Err(_) if !problem.is_finite() => Err(SolveStatus::NotFinite),
        Err(_) => Err(SolveStatus::InvalidProblem),
    }
}

/// The tableau's own answer is in the variables of the plain problem only without a warm basis.
fn transformed_is_plain(basis: Option<&[bool]>) -> bool {
    basis.is_none()
}

/// The problem with rows and columns scaled to largest entries near 1, and `|q'|_inf = 1`.
struct Equilibrated {
    matrix: DMatrix<f64>,
    vector: DVector<f64>,
    columns: DVector<f64>,
    size: f64,
}

impl Equilibrated {
    /// Ruiz 2001: `r_i ← r_i / √(max_j |a_ij|)`, `c_j ← c_j / √(max_i |a_ij|)`, four times.
    fn new(matrix: &DMatrix<f64>, vector: &DVector<f64>) -> Self {
        let n = vector.len();
        let mut m = matrix.clone();
        let (mut rows, mut columns) = (DVector::from_element(n, 1.0), DVector::from_element(n, 1.0));
        let factor = |x: f64| if x > 0.0 { 1.0 / x.sqrt() } else { 1.0 };
        for _ in 0..4 {
            let r = DVector::from_fn(n, |i, _| factor(m.row(i).amax()));
            let c = DVector::from_fn(n, |j, _| factor(m.column(j).amax()));
            for j in 0..n {
                for i in 0..n {
                    m[(i, j)] *= r[i] * c[j];
                }
            }
            rows.component_mul_assign(&r);
            columns.component_mul_assign(&c);
        }
        let mut q = vector.component_mul(&rows);
        let size = if q.amax() > 0.0 { q.amax() } else { 1.0 };
        q /= size;
        Self { matrix: m, vector: q, columns, size }
    }

    fn unscale(&self, z: &DVector<f64>) -> DVector<f64> {
        z.component_mul(&self.columns) * self.size
    }
}

/// Solves `M_αα z_α = -q_α` for the basic set α, negative rounding set to zero.
fn basic_solution(scaled: &Equilibrated, basic: &[bool]) -> Option<DVector<f64>> {
    let set: Vec<usize> = (0..basic.len()).filter(|&i| basic[i]).collect();
    let mut z = DVector::zeros(basic.len());
    if set.is_empty() {
        return Some(z);
    }
    let m = DMatrix::from_fn(set.len(), set.len(), |i, j| scaled.matrix[(set[i], set[j])]);
    let q = DVector::from_fn(set.len(), |i, _| -scaled.vector[set[i]]);
    let factored = m.clone().lu();
    let mut x = factored.solve(&q)?;
    // one step of iterative refinement
    if let Some(correction) = factored.solve(&(&q - &m * &x)) {
        x += correction;
    }
    for (&i, x) in set.iter().zip(x.iter()) {
        z[i] = x.max(0.0);
    }
    z.iter().all(|x: &f64| x.is_finite()).then_some(z)
}

/// The same problem with the pairs of the set α exchanged (Cottle, Pang & Stone 2.3.1); `None` if `M_αα` is singular.
///
/// ```text
/// M'_αα = M_αα⁻¹          M'_αβ = -M_αα⁻¹ M_αβ                  q'_α = -M_αα⁻¹ q_α
/// M'_βα = M_βα M_αα⁻¹     M'_ββ = M_ββ - M_βα M_αα⁻¹ M_αβ       q'_β = q_β - M_βα M_αα⁻¹ q_α
/// ```
pub fn principal_pivot_transform(
    matrix: &DMatrix<f64>,
    vector: &DVector<f64>,
    basic: &[bool],
) -> Option<(DMatrix<f64>, DVector<f64>)> {
    let n = vector.len();
    let alpha: Vec<usize> = (0..n).filter(|&i| basic[i]).collect();
    let beta: Vec<usize> = (0..n).filter(|&i| !basic[i]).collect();
    let part = |rows: &[usize], columns: &[usize]| {
        DMatrix::from_fn(rows.len(), columns.len(), |i, j| matrix[(rows[i], columns[j])])
    };
    let inverse = part(&alpha, &alpha).try_inverse()?;
    let q_alpha = DVector::from_fn(alpha.len(), |i, _| vector[alpha[i]]);
    let gain = part(&beta, &alpha) * &inverse;
    let mixed = -(&inverse * part(&alpha, &beta));
    let schur = part(&beta, &beta) + part(&beta, &alpha) * &mixed;
    let (new_alpha, moved) = (-(&inverse * &q_alpha), &gain * &q_alpha);
    let (mut m, mut q) = (DMatrix::zeros(n, n), DVector::zeros(n));
    for (i, &a) in alpha.iter().enumerate() {
        q[a] = new_alpha[i];
        for (j, &b) in alpha.iter().enumerate() {
            m[(a, b)] = inverse[(i, j)];
        }
        for (j, &b) in beta.iter().enumerate() {
            m[(a, b)] = mixed[(i, j)];
        }
    }
    for (i, &a) in beta.iter().enumerate() {
        q[a] = vector[a] - moved[i];
        for (j, &b) in alpha.iter().enumerate() {
            m[(a, b)] = gain[(i, j)];
        }
        for (j, &b) in beta.iter().enumerate() {
            m[(a, b)] = schur[(i, j)];
        }
    }
    let finite = m.iter().chain(q.iter()).all(|x| x.is_finite());
    finite.then_some((m, q))
}

struct Outcome {
    z: Option<DVector<f64>>,
    status: SolveStatus,
    pivots: usize,
}

/// Follows the path on an equilibrated problem. Also returns which `z_i` are basic at its end.
fn pivot(matrix: &DMatrix<f64>, vector: &DVector<f64>, settings: &LemkeSettings, work: &Work) -> (Outcome, Vec<bool>) {
    let n = vector.len();
    let done = |z, status, pivots, basic| (Outcome { z, status, pivots }, basic);
    if vector.iter().all(|&q| q >= 0.0) {
        return done(Some(DVector::zeros(n)), SolveStatus::Solved, 0, vec![false; n]);
    }
    let mut tableau = Tableau::new(matrix, vector, settings);
    // the first exchange: z_0 enters, the row that needs most of it leaves
    let mut entering = tableau.artificial();
    let Some(mut row) = tableau.first_row() else {
        return done(None, SolveStatus::NotFinite, 0, vec![false; n]);
    };
    let mut seen = HashSet::new();
    let mut pivots = 0;
    let status = loop {
        // the path's end costs a factorization, a pivot at most the whole tableau
        if pivots >= settings.pivots || !work.affords(factorization(n) + 2 * square(n)) {
            break SolveStatus::IterationLimit;
        }
        let leaving = tableau.exchange(row, entering, work);
        pivots += 1;
        if leaving == tableau.artificial() {
            break SolveStatus::Solved;
        }
        entering = tableau.complement(leaving);
        if !seen.insert((tableau.signature, entering)) {
            break SolveStatus::Cycling;
        }
        match tableau.blocking_row(entering, work) {
            Ok(r) => row = r,
            Err(status) => break status,
        }
    };
    let (z, basic) = tableau.answer();
    done(z, status, pivots, basic)
}

/// `[I | -M | -d | q]` and its basis. Variables: `w_i` is i, `z_i` is n + i, `z_0` is 2 n.
struct Tableau {
    n: usize,
    table: DMatrix<f64>,
    basis: Vec<usize>,
    /// Hash of the set of basic variables.
    signature: u64,
    tolerance: f64,
}

impl Tableau {
    fn new(matrix: &DMatrix<f64>, vector: &DVector<f64>, settings: &LemkeSettings) -> Self {
        let n = vector.len();
        let mut table = DMatrix::zeros(n, 2 * n + 2);
        let mut state = match settings.covering {
            Covering::Random(seed) => seed,
            _ => 0,
        };
        for i in 0..n {
            table[(i, i)] = 1.0;
            for j in 0..n {
                table[(i, n + j)] = -matrix[(i, j)];
            }
            let part = i as f64 / n as f64;
            table[(i, 2 * n)] = -match settings.covering {
                Covering::Ones => 1.0,
                Covering::Magnitude => vector[i].abs().max(0.01),
                Covering::Ramp => 1.0 + part,
                Covering::Random(_) => {
                    state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                    1.0 + (mix(state) >> 11) as f64 / (1u64 << 53) as f64
                }
            };
            table[(i, 2 * n + 1)] = vector[i];
        }
        let signature = (0..n).fold(0, |h, i| h ^ mix(i as u64));
        Self { n, table, basis: (0..n).collect(), signature, tolerance: settings.pivot_tolerance }
    }

    fn artificial(&self) -> usize {
        2 * self.n
    }

    fn complement(&self, variable: usize) -> usize {
        if variable < self.n { variable + self.n } else { variable - self.n }
    }

    /// The row with the greatest `-q_i / d_i`; among equals the last, which is the lexicographic choice.
    fn first_row(&self) -> Option<usize> {
        let n = self.n;
        let ratio = |i: usize| self.table[(i, 2 * n + 1)] / self.table[(i, 2 * n)];
        (0..n).max_by(|&a, &b| ratio(a).total_cmp(&ratio(b))).filter(|&i| ratio(i) > 0.0)
    }

    /// Puts `entering` into the basis in place of the basic variable of `row`, which is returned.
    fn exchange(&mut self, row: usize, entering: usize, work: &Work) -> usize {
        let column = self.table.column(entering).clone_owned();
        let pivot = column[row];
        for j in 0..self.table.ncols() {
            let mut target = self.table.column_mut(j);
            let factor = target[row] / pivot;
            if factor != 0.0 {
                work.pay(self.n as u64);
                target.axpy(-factor, &column, 1.0);
                target[row] = factor;
            }
        }
        let mut unit = self.table.column_mut(entering);
        unit.fill(0.0);
        unit[row] = 1.0;
        let leaving = std::mem::replace(&mut self.basis[row], entering);
        self.signature ^= mix(leaving as u64) ^ mix(entering as u64);
        leaving
    }

    /// The row that blocks the growth of `entering`: least ratio, `z_0` before others, then lexicographic.
    fn blocking_row(&self, entering: usize, work: &Work) -> Result<usize, SolveStatus> {
        let n = self.n;
        work.pay(4 * n as u64);
        let column = self.table.column(entering);
        let value = self.table.column(2 * n + 1);
        if column.iter().any(|x| !x.is_finite()) {
            return Err(SolveStatus::NotFinite);
        }
        // rounding noise of large columns is no pivot
        let least = self.tolerance * column.amax().max(1.0);
        let mut rows: Vec<usize> = (0..n).filter(|&i| column[i] > least).collect();
        let ratio = |i: usize| value[i].max(0.0) / column[i];
        let smallest = rows.iter().map(|&i| ratio(i)).fold(f64::INFINITY, f64::min);
        rows.retain(|&i| ratio(i) <= smallest + TIE * (1.0 + smallest));
        if let Some(&row) = rows.iter().find(|&&i| self.basis[i] == 2 * n) {
            return Ok(row);
        }
        for j in 0..n {
            if rows.len() <= 1 {
                break;
            }
            // divisions, twice
            work.pay(8 * rows.len() as u64);
            let part = |i: usize| self.table[(i, j)] / column[i];
            let smallest = rows.iter().map(|&i| part(i)).fold(f64::INFINITY, f64::min);
            rows.retain(|&i| part(i) <= smallest + TIE * (1.0 + smallest.abs()));
        }
        rows.into_iter().max_by(|&a, &b| column[a].total_cmp(&column[b])).ok_or(SolveStatus::SecondaryRay)
    }

    /// `z` of the basis (`None` if not finite) and which `z_i` are basic.
    fn answer(&self) -> (Option<DVector<f64>>, Vec<bool>) {
        let n = self.n;
        let (mut z, mut basic) = (DVector::zeros(n), vec![false; n]);
        for (row, &variable) in self.basis.iter().enumerate() {
            if (n..2 * n).contains(&variable) {
                z[variable - n] = self.table[(row, 2 * n + 1)].max(0.0);
                basic[variable - n] = true;
            }
        }
        (z.iter().all(|x: &f64| x.is_finite()).then_some(z), basic)
    }
}

/// SplitMix64's finalizer: spreads a number over 64 bits.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(rows: usize, m: &[f64], q: &[f64]) -> Solution {
        lemke(&DMatrix::from_row_slice(rows, rows, m), &DVector::from_row_slice(q), &LemkeSettings::default(), None)
    }

    #[test]
    fn small_problems_with_known_answers() {
        let s = run(2, &[2.0, 1.0, 1.0, 2.0], &[-5.0, -6.0]);
        assert_eq!(s.status, SolveStatus::Solved);
        assert!((s.impulse[0] - 4.0 / 3.0).abs() < 1e-14 && (s.impulse[1] - 7.0 / 3.0).abs() < 1e-14);
        let nothing = run(0, &[], &[]);
        assert_eq!((nothing.status, nothing.iterations), (SolveStatus::Solved, 0));
        let separating = run(1, &[1.0], &[2.0]);
        assert_eq!((separating.impulse[0], separating.iterations), (0.0, 0));
    }

    #[test]
    fn murty_needs_exponentially_many_pivots_or_stops_honestly() {
        // Murty 1978: lower triangular, ones on the diagonal, twos below; q_i = -(2^n - 2^(n-i)).
        let n = 8;
        let m = DMatrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)) + if i > j { 2.0 } else { 0.0 });
        let q = DVector::from_fn(n, |i, _| -(2f64.powi(n as i32) - 2f64.powi((n - 1 - i) as i32)));
        let s = lemke(&m, &q, &LemkeSettings::default(), None);
        assert_eq!(s.status, SolveStatus::Solved);
        let few = LemkeSettings { pivots: 3, ..LemkeSettings::default() };
        let stopped = lemke(&m, &q, &few, None);
        assert!(stopped.status == SolveStatus::IterationLimit || s.iterations <= 3);
    }

    #[test]
    fn a_problem_without_solution_ends_on_a_ray() {
        let s = run(1, &[-1.0], &[-1.0]);
        assert_eq!(s.status, SolveStatus::SecondaryRay);
        assert!(s.residual > 0.5 && s.impulse.iter().all(|x| x.is_finite()));
        assert_eq!(run(2, &[0.0, 0.0, 0.0, 0.0], &[-1.0, 1.0]).status, SolveStatus::SecondaryRay);
    }

    #[test]
    fn nan_is_reported() {
        assert_eq!(run(1, &[f64::NAN], &[-1.0]).status, SolveStatus::NotFinite);
        assert_eq!(run(1, &[1.0], &[f64::NEG_INFINITY]).status, SolveStatus::NotFinite);
    }

    #[test]
    fn a_warm_basis_saves_the_pivots() {
        let n = 12;
        let a = DMatrix::from_fn(n, n, |i, j| ((3 * i + 5 * j * j + i * j) % 11) as f64 - 5.0);
        let m = &a * a.transpose() + DMatrix::identity(n, n) * 0.1;
        let q = DVector::from_fn(n, |i, _| ((7 * i) % 5) as f64 - 2.5);
        let cold = lemke(&m, &q, &LemkeSettings::default(), None);
        assert_eq!(cold.status, SolveStatus::Solved);
        let basis: Vec<bool> = cold.impulse.iter().map(|&z| z > 0.0).collect();
        let warm = lemke(&m, &q, &LemkeSettings::default(), Some(&basis));
        assert_eq!((warm.status, warm.iterations), (SolveStatus::Solved, 0));
        assert!((warm.impulse - cold.impulse).amax() < 1e-9);
        // a wrong basis still leads to the answer
        let wrong = lemke(&m, &q, &LemkeSettings::default(), Some(&vec![true; n]));
        assert_eq!(wrong.status, SolveStatus::Solved);
    }

    #[test]
    fn degenerate_duplicates_do_not_cycle() {
        // four identical contacts under one mass: any split of the impulse is right
        let s = run(4, &[1.0; 16], &[-1.0; 4]);
        assert_eq!(s.status, SolveStatus::Solved);
        assert!((s.impulse.sum() - 1.0).abs() < 1e-14);
    }
}
