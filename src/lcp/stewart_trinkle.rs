//! Polyhedral friction as a linear complementarity problem, in generalized coordinates.
//!
//! J. Tan, K. Siu & C. K. Liu, *Contact Handling for Articulated Rigid Bodies Using LCP*, GIT-GVU-15-01-2, after
//! Stewart & Trinkle 1996; equation numbers are those of the report. Every contact has a normal force `f_n` and `d`
//! friction directions (pairs of opposite vectors) with magnitudes `f_d`; λ is an auxiliary speed.
//!
//! ```text
//! M q̇ = τ* + Δt (N f_n + B f_d)                                            (9),  τ* = M q̇ⁿ - Δt (C - τⁿ)   (5)
//! 0 <= f_n ⟂ Nᵀq̇ >= 0              no penetration                          expressions 1-3
//! 0 <= f_d ⟂ Bᵀq̇ + E λ >= 0        friction against the sliding            expressions 4-6
//! 0 <= λ   ⟂ μ f_n - Eᵀf_d >= 0    friction cone                           expressions 7-9
//!
//! | 0 |   | M   -ΔtN  -ΔtB  0 | | q̇  |   | -τ* |
//! | a | = | Nᵀ   0     0    0 | | f_n | + |  0  |                           (12)
//! | b |   | Bᵀ   0     0    E | | f_d |   |  0  |
//! | c |   | 0    μ    -Eᵀ   0 | | λ   |   |  0  |
//!
//!     | ΔtNᵀM⁻¹N  ΔtNᵀM⁻¹B  0 |        | NᵀM⁻¹τ* |
//! A = | ΔtBᵀM⁻¹N  ΔtBᵀM⁻¹B  E |,   q = | BᵀM⁻¹τ* |                          (14, 15)
//!     |     μ        -Eᵀ    0 |        |    0    |
//! ```
//!
//! [`super::articulated`] builds these from `M`, `N`, `B`, τ*; [`StewartTrinkle`] builds (15) from a contact [`Problem`],
//! whose `W = J M⁻¹ Jᵀ` is already formed, and takes the answer back to impulses. There, scalar rows join in:
//!
//! - a unilateral row is one more "normal" (an upper bound alone is mirrored);
//! - a two-sided row is `z = lower + x` with the slack `upper - lower - x >= 0 ⟂ λ >= 0`, the form of expressions 7-9
//!   with a constant in place of `μ f_n`;
//! - a box friction row has the two directions ± of its own axis and a λ of its own;
//! - a bilateral row is eliminated: `z_f = -W_ff⁺ (W_fr z_r + b_f)` with the inverse, or the pseudo-inverse where
//!   `W_ff` is singular.
//!
//! Section 5: `A(i,i) ← (1 + ε) A(i,i)` is [`StewartTrinkleSettings::cfm`]; scaling `E` and `μ` is
//! [`StewartTrinkleSettings::friction_scale`], which changes λ only.

use super::problem::{Group, Law, Problem};
use super::work::{Work, factorization, square};
use crate::error::{Error, Result};
use nalgebra::{DMatrix, DVector};
use std::f64::consts::PI;

/// How to build (15) from a contact problem.
#[derive(Clone, Debug, PartialEq)]
pub struct StewartTrinkleSettings {
    /// Friction directions d of a contact, even, at least 2. Default 4. (A contact with one tangent has 2.)
    pub directions: usize,
    /// Angle of the first direction from the first tangent, rad, one for each cone of the problem in row order.
    /// Missing ones are 0. Default none.
    pub rotations: Vec<f64>,
    /// ε of section 5: `A(i,i) ← (1 + ε) A(i,i)`, without unit. Changes the answer. Default 0.
    pub cfm: f64,
    /// Δt, s: forces instead of impulses are the unknowns. 1 leaves impulses. Default 1.
    pub time_step: f64,
    /// Factor on `E` (both places) and `μ`; section 5 suggests Δt. Default 1.
    pub friction_scale: f64,
}

impl Default for StewartTrinkleSettings {
    fn default() -> Self {
        Self { directions: 4, rotations: Vec::new(), cfm: 0.0, time_step: 1.0, friction_scale: 1.0 }
    }
}

/// The standard LCP (15) of a contact problem, and the way back.
#[derive(Clone, Debug, PartialEq)]
pub struct StewartTrinkle {
    /// `A`, unknowns `(f_n, f_d, λ)`.
    pub matrix: DMatrix<f64>,
    /// `q`.
    pub vector: DVector<f64>,
    /// Number of normals and scalar rows.
    pub normal_count: usize,
    /// Number of friction directions of all contacts together.
    pub direction_count: usize,
    /// Number of auxiliary variables λ: one a friction law, one a two-sided row.
    pub auxiliary_count: usize,
    /// Impulse `z = offset + columns (f_n, f_d)`.
    columns: DMatrix<f64>,
    offset: DVector<f64>,
    /// The columns without the eliminated rows: `w` of the unknowns is `ownᵀ w`.
    own: DMatrix<f64>,
    time_step: f64,
    friction_scale: f64,
}

/// A limit `constant + coefficient z[row] - Σ x_k >= 0 ⟂ λ`: expression 8 and its relatives.
struct Limit {
    constant: f64,
    normal: Option<(usize, f64)>,
    members: Vec<usize>,
}

/// One unknown that acts along a vector of impulse space.
type Direction = Vec<(usize, f64)>;

impl StewartTrinkle {
    /// How many unknowns `(f_n, f_d, λ)` the form of a problem has at most, and the price of building it, multiply-adds.
    pub(crate) fn size(problem: &Problem, directions: usize) -> (usize, u64) {
        let (n, mut unknowns, mut free) = (problem.rows(), 0, 0);
        for law in &problem.laws {
            unknowns += match *law {
                Law::Interval { lower, upper } if lower.is_infinite() && upper.is_infinite() => 0,
                Law::Interval { .. } => 2,
                Law::Friction { .. } => 3,
                Law::Cone { dimension: 2, .. } => 4,
                Law::Cone { .. } => 2 + directions,
                Law::Patch(_) => 0,
            };
            free += usize::from(*law == Law::BILATERAL);
        }
        let products = square(n) * unknowns as u64 + square(unknowns) * n as u64;
        (unknowns, products + square(unknowns) + DECOMPOSITION * factorization(free))
    }

    /// Builds (15).
    ///
    /// # Errors
    /// An invalid problem, an odd or zero number of directions, a patch, whose pressure centre multiplies its friction, or box friction on a normal that may pull
    /// (lower bound below zero), which no LCP of this form expresses.
    pub fn new(problem: &Problem, settings: &StewartTrinkleSettings) -> Result<Self> {
        problem.validate()?;
        if settings.directions < 2 || !settings.directions.is_multiple_of(2) {
            let message = format!("must be even and at least 2, it is {}", settings.directions);
            return Err(Error::argument("directions", message));
        }
        for (argument, value) in [("time_step", settings.time_step), ("friction_scale", settings.friction_scale)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::argument(argument, format!("must be positive, it is {value}")));
            }
        }
        if let Some((row, normal)) = pulling_normal(problem) {
            let message = format!("box friction of row {row}: normal row {normal} may pull");
            return Err(Error::Problem { place: format!("{:?}", problem.name), message });
        }
        let n = problem.rows();
        let (mut normals, mut tangents): (Vec<Direction>, Vec<Direction>) = (Vec::new(), Vec::new());
        let (mut friction, mut ranges): (Vec<Limit>, Vec<Limit>) = (Vec::new(), Vec::new());
        let mut offset = DVector::zeros(n);
        let mut free = Vec::new();
        let mut rotations = settings.rotations.iter();
        for Group { row, law } in problem.groups() {
            match law {
                Law::Interval { lower, upper } => match (lower.is_finite(), upper.is_finite()) {
                    (false, false) => free.push(row),
                    (true, false) => {
                        offset[row] = lower;
                        normals.push(vec![(row, 1.0)]);
                    }
                    (false, true) => {
                        offset[row] = upper;
                        normals.push(vec![(row, -1.0)]);
                    }
                    (true, true) => {
                        offset[row] = lower;
                        if upper > lower {
                            ranges.push(Limit { constant: upper - lower, normal: None, members: vec![normals.len()] });
                            normals.push(vec![(row, 1.0)]);
                        }
                    }
                },
                Law::Friction { normal, friction: mu } => {
                    let members = vec![tangents.len(), tangents.len() + 1];
                    tangents.extend([vec![(row, 1.0)], vec![(row, -1.0)]]);
                    friction.push(Limit { constant: 0.0, normal: Some((normal, mu)), members });
                }
                Law::Patch(_) => {
                    let message = format!("row {row}: a patch has no linear form");
                    return Err(Error::Problem { place: format!("{:?}", problem.name), message });
                }
                Law::Cone { friction: mu, dimension } => {
                    let rotation = rotations.next().copied().unwrap_or(0.0);
                    normals.push(vec![(row, 1.0)]);
                    let start = tangents.len();
                    let pairs = if dimension == 2 { 1 } else { settings.directions / 2 };
                    for k in 0..pairs {
                        let angle = rotation + PI * k as f64 / pairs as f64;
                        let axis: Direction = match dimension {
                            2 => vec![(row + 1, 1.0)],
                            _ => vec![(row + 1, angle.cos()), (row + 2, angle.sin())],
                        };
                        tangents.push(axis.clone());
                        tangents.push(axis.into_iter().map(|(i, x)| (i, -x)).collect());
                    }
                    let members = (start..tangents.len()).collect();
                    friction.push(Limit { constant: 0.0, normal: Some((row, mu)), members });
                }
            }
        }
        // the columns of (N B), in impulse space
        let (p, pd) = (normals.len(), tangents.len());
        let mut columns = DMatrix::zeros(n, p + pd);
        for (k, direction) in normals.iter().chain(&tangents).enumerate() {
            for &(row, x) in direction {
                columns[(row, k)] += x;
            }
        }
        let own = columns.clone();
        eliminate(problem, &free, &mut columns, &mut offset);
        // w of the unknowns: own' (W (columns x + offset) + b)
        let (dt, scale) = (settings.time_step, settings.friction_scale);
        let velocity = own.transpose() * &problem.delassus * &columns * dt;
        let constant = own.transpose() * problem.velocity(&offset);
        let limits: Vec<Limit> = friction
            .into_iter()
            .map(|limit| Limit { members: limit.members.iter().map(|k| k + p).collect(), ..limit })
            .chain(ranges)
            .collect();
        let size = p + pd + limits.len();
        let (mut matrix, mut vector) = (DMatrix::zeros(size, size), DVector::zeros(size));
        matrix.view_mut((0, 0), (p + pd, p + pd)).copy_from(&velocity);
        vector.rows_mut(0, p + pd).copy_from(&constant);
        for (k, limit) in limits.iter().enumerate() {
            let row = p + pd + k;
            vector[row] = scale * limit.constant / dt;
            if let Some((normal, mu)) = limit.normal {
                vector[row] += scale * mu * offset[normal] / dt;
                for j in 0..p + pd {
                    matrix[(row, j)] += scale * mu * columns[(normal, j)];
                }
            }
            for &member in &limit.members {
                matrix[(row, member)] -= scale;
                matrix[(member, row)] += scale;
            }
        }
        for i in 0..size {
            matrix[(i, i)] *= 1.0 + settings.cfm;
        }
        columns *= dt;
        Ok(Self {
            matrix,
            vector,
            normal_count: p,
            direction_count: pd,
            auxiliary_count: limits.len(),
            columns,
            offset,
            own,
            time_step: dt,
            friction_scale: scale,
        })
    }

    /// The impulses of the contact problem from the LCP's unknowns `(f_n, f_d, λ)`, n (N·s).
    pub fn impulse(&self, unknowns: &DVector<f64>) -> DVector<f64> {
        &self.offset + &self.columns * unknowns.rows(0, self.columns.ncols())
    }

    /// The LCP's unknowns `(f_n, f_d, λ)` of an impulse whose friction lies along first directions: the inverse of
    /// [`Self::impulse`] for aligned contacts, with λ the least speed that keeps expression 5 (for a two-sided row,
    /// expression 5 of its single member).
    pub(crate) fn lift(&self, problem: &Problem, impulse: &DVector<f64>) -> DVector<f64> {
        let k = self.columns.ncols();
        let mut unknowns = DVector::zeros(self.vector.len());
        let moved = impulse - &self.offset;
        for j in 0..k {
            // the part of the impulse along each own direction; of a pair, the positive one
            let own = self.own.column(j);
            let along = own.dot(&moved) / self.time_step;
            unknowns[j] = if j < self.normal_count { along } else { along.max(0.0) };
        }
        // of an even number of pairs, only the one that the impulse lies on
        for row in k..self.vector.len() {
            let members: Vec<usize> = (self.normal_count..k).filter(|&j| self.matrix[(row, j)] != 0.0).collect();
            let greatest = members.iter().map(|&j| unknowns[j]).fold(0.0, f64::max);
            for &j in &members {
                if unknowns[j] < greatest * (1.0 - 1e-12) {
                    unknowns[j] = 0.0;
                }
            }
        }
        // λ = max(0, -min (Bᵀ w)) / scale
        let velocity = self.own.transpose() * problem.velocity(impulse);
        for row in k..self.vector.len() {
            let members = (0..k).filter(|&j| self.matrix[(j, row)] != 0.0);
            let least = members.map(|j| velocity[j]).fold(0.0, f64::min);
            unknowns[row] = -least / self.friction_scale;
        }
        unknowns
    }

    /// The LCP as a problem with unilateral rows.
    pub fn problem(&self, name: impl Into<String>) -> Problem {
        Problem::standard(name, self.matrix.clone(), self.vector.clone())
    }
}

/// A row of box friction in a valid problem, and its normal row, if that may pull: it has no linear form.
pub(crate) fn pulling_normal(problem: &Problem) -> Option<(usize, usize)> {
    let mut bounds = vec![f64::NEG_INFINITY; problem.rows()];
    for Group { row, law } in problem.groups() {
        if let Law::Interval { lower, .. } = law {
            bounds[row] = lower;
        }
    }
    problem.groups().find_map(|Group { row, law }| match law {
        Law::Friction { normal, .. } if bounds[normal] < 0.0 => Some((row, normal)),
        _ => None,
    })
}

/// Expresses the free rows by the others so that their `w` vanishes: `z_f = -W_ff⁺ (W_fr z_r + b_f)`.
fn eliminate(problem: &Problem, free: &[usize], columns: &mut DMatrix<f64>, offset: &mut DVector<f64>) {
    if free.is_empty() {
        return;
    }
    let f = free.len();
    let w = &problem.delassus;
    let block = DMatrix::from_fn(f, f, |i, j| w[(free[i], free[j])]);
    let rows = w.select_rows(free);
    // right-hand side: W_fr (columns | offset) + (0 | b_f); the free rows of both are still zero
    let mut right = DMatrix::zeros(f, columns.ncols() + 1);
    right.view_mut((0, 0), (f, columns.ncols())).copy_from(&(&rows * &*columns));
    right.column_mut(columns.ncols()).copy_from(&(&rows * &*offset + problem.bias.select_rows(free)));
    let Some(solved) = solve_general(&block, &right, &Work::new(None)) else { return };
    for (i, &row) in free.iter().enumerate() {
        for j in 0..columns.ncols() {
            columns[(row, j)] = -solved[(i, j)];
        }
        offset[row] = -solved[(i, columns.ncols())];
    }
}

/// Price of a singular value decomposition, in factorizations.
const DECOMPOSITION: u64 = 60;

/// Solves `A X = R`; by the pseudo-inverse if `A` is singular to working precision. The elimination is the caller's to
/// pay; `None` if the decomposition fails or is beyond the budget.
pub(crate) fn solve_general(a: &DMatrix<f64>, r: &DMatrix<f64>, work: &Work) -> Option<DMatrix<f64>> {
    let n = a.nrows();
    if n == 0 {
        return Some(r.clone());
    }
    let factored = a.clone().full_piv_lu();
    let u = factored.u();
    let pivots = (0..n).map(|i| u[(i, i)].abs());
    let (least, greatest) = pivots.fold((f64::INFINITY, 0.0_f64), |(l, g), x| (l.min(x), g.max(x)));
    if least > 1e-13 * greatest
        && let Some(x) = factored.solve(r)
    {
        return Some(x);
    }
    if !work.affords(DECOMPOSITION * factorization(n)) {
        return None;
    }
    work.pay(DECOMPOSITION * factorization(n));
    let svd = nalgebra::SVD::try_new(a.clone(), true, true, f64::EPSILON, 10_000)?;
    let cut = 1e-12 * svd.singular_values.amax();
    svd.solve(r, cut).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lcp::lemke::{LemkeSettings, lemke};
    use crate::lcp::problem::SolveStatus;

    fn solve(p: &Problem) -> DVector<f64> {
        let s = lemke(&p.delassus, &p.bias, &LemkeSettings::default(), None);
        assert_eq!(s.status, SolveStatus::Solved, "{s:?}");
        s.impulse
    }

    /// Two coupled contacts with a limit row, a two-sided row and a bilateral row.
    fn mixed_problem() -> Problem {
        let j = DMatrix::from_fn(9, 12, |i, k| ((7 * i + 3 * k * k + i * k) % 13) as f64 / 6.0 - 1.0);
        let laws = vec![
            Law::Cone { friction: 0.6, dimension: 3 },
            Law::Cone { friction: 0.3, dimension: 3 },
            Law::Interval { lower: f64::NEG_INFINITY, upper: 0.0 },
            Law::Interval { lower: -0.1, upper: 0.2 },
            Law::BILATERAL,
        ];
        let bias = DVector::from_fn(9, |i, _| if i % 3 == 0 { -1.0 } else { 0.4 - 0.1 * i as f64 });
        Problem { name: "mixed".into(), delassus: &j * j.transpose(), bias, laws }
    }

    fn forces(settings: &StewartTrinkleSettings) -> DVector<f64> {
        let st = StewartTrinkle::new(&mixed_problem(), settings).unwrap();
        st.impulse(&solve(&st.problem("st"))) / settings.time_step
    }

    #[test]
    fn scaling_leaves_the_contact_forces_unchanged() {
        let plain = forces(&StewartTrinkleSettings::default());
        for (time_step, friction_scale) in [(1.0, 0.01), (1.0, 7.0), (0.01, 0.01), (0.002, 1.0)] {
            let settings = StewartTrinkleSettings { time_step, friction_scale, ..Default::default() };
            let scaled = forces(&settings) * time_step;
            assert!((&scaled - &plain).amax() < 1e-9, "{time_step} {friction_scale}: {scaled} {plain}");
        }
        let soft = forces(&StewartTrinkleSettings { cfm: 0.1, ..Default::default() });
        assert!((soft - plain).amax() > 1e-3, "CFM changes the answer");
    }

    #[test]
    fn scalar_rows_obey_their_laws() {
        let problem = mixed_problem();
        let z = forces(&StewartTrinkleSettings { directions: 8, ..Default::default() });
        let w = problem.velocity(&z);
        assert!(w[8].abs() < 1e-9);
        assert!(z[6] <= 0.0 && w[6] <= 1e-9 && (z[6] * w[6]).abs() < 1e-9);
        assert!((-0.1..=0.2).contains(&z[7]));
        assert!(w[0] > -1e-9 && w[3] > -1e-9 && z[0] >= 0.0 && z[3] >= 0.0);
    }

    #[test]
    fn bad_settings_are_refused() {
        let problem = mixed_problem();
        for directions in [0, 1, 3] {
            assert!(
                StewartTrinkle::new(&problem, &StewartTrinkleSettings { directions, ..Default::default() }).is_err()
            );
        }
        let zero = StewartTrinkleSettings { time_step: 0.0, ..Default::default() };
        assert!(StewartTrinkle::new(&problem, &zero).is_err());
    }
}
