//! A contact problem `w = W z + b` with one law for every row or group of rows.
//!
//! `z` is the impulse (N·s, or N·m·s for an angular row), `w` the contact velocity (m/s, rad/s) after it acted.

use super::patch::Patch;
use crate::error::{Error, Result};
use nalgebra::{DMatrix, DVector};

/// One constraint law over one or more consecutive rows of a problem `w = W z + b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// One row with fixed bounds: `lower <= z <= upper`; `w >= 0` at the lower one, `w <= 0` at the upper one,
    /// `w = 0` between them.
    ///
    /// `(0, inf)` is unilateral, `(-inf, inf)` bilateral, anything else bounded (motors, joint friction).
    Interval {
        /// Least impulse, N·s; may be `-inf`.
        lower: f64,
        /// Greatest impulse, N·s; may be `inf`.
        upper: f64,
    },
    /// One row whose bounds follow another: `|z| <= friction * max(z[normal], 0)`, with the signs of `w` as in
    /// [`Law::Interval`] (friction index of ODE and DART; box friction).
    Friction {
        /// The row of the normal impulse; its law must be an [`Law::Interval`].
        normal: usize,
        /// Friction coefficient μ, without unit.
        friction: f64,
    },
    /// `dimension` rows, normal first: Signorini's condition and Coulomb's law with a round cone.
    ///
    /// In the form of De Saxcé: `K ∋ z ⟂ w + μ|w_t| e_n ∈ K*` with `K = { |z_t| <= μ z_n }`.
    Cone {
        /// Friction coefficient μ, without unit.
        friction: f64,
        /// 2 (one tangent) or 3 (two tangents).
        dimension: usize,
    },
    /// The rows of pressure of a face, an edge or a disc, then two tangents and torsion at its pressure centre: see
    /// [`super::patch`].
    Patch(Patch),
}

impl Law {
    /// `z >= 0` ⟂ `w >= 0`.
    pub const UNILATERAL: Self = Self::Interval { lower: 0.0, upper: f64::INFINITY };
    /// `z` free, `w = 0`.
    pub const BILATERAL: Self = Self::Interval { lower: f64::NEG_INFINITY, upper: f64::INFINITY };

    /// How many consecutive rows the law covers.
    pub fn rows(&self) -> usize {
        match *self {
            Self::Cone { dimension, .. } => dimension,
            Self::Patch(patch) => patch.normal_rows() + 3,
            Self::Interval { .. } | Self::Friction { .. } => 1,
        }
    }
}

/// A law and its first row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// First row.
    pub row: usize,
    /// The law of this row and, for a cone or a patch, of the next ones.
    pub law: Law,
}

/// A contact problem: find `z` and `w = W z + b` that obey all laws.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// What reports call it.
    pub name: String,
    /// Delassus matrix `W`, n × n (1/kg for linear rows). Need not be symmetric; a mechanical one is, and is
    /// positive semidefinite.
    pub delassus: DMatrix<f64>,
    /// `b`, n: the contact velocity without impulse, and what the rows ask for (m/s).
    pub bias: DVector<f64>,
    /// One law for each group of rows, in row order; together they cover all n rows.
    pub laws: Vec<Law>,
}

impl Problem {
    /// A standard linear complementarity problem: all rows unilateral.
    pub fn standard(name: impl Into<String>, delassus: DMatrix<f64>, bias: DVector<f64>) -> Self {
        let laws = vec![Law::UNILATERAL; bias.len()];
        Self { name: name.into(), delassus, bias, laws }
    }

    /// Number of rows n.
    pub fn rows(&self) -> usize {
        self.bias.len()
    }

    /// The laws with their first rows.
    pub fn groups(&self) -> impl Iterator<Item = Group> + '_ {
        self.laws.iter().scan(0, |next, &law| {
            let row = *next;
            *next += law.rows();
            Some(Group { row, law })
        })
    }

    /// The contact velocity `w = W z + b`, m/s.
    pub fn velocity(&self, impulse: &DVector<f64>) -> DVector<f64> {
        &self.delassus * impulse + &self.bias
    }

    /// Whether `W` and `b` are free of NaN and infinities.
    pub fn is_finite(&self) -> bool {
        self.delassus.iter().chain(self.bias.iter()).all(|x| x.is_finite())
    }

    /// Whether some law is a cone.
    pub fn has_cones(&self) -> bool {
        self.laws.iter().any(|law| matches!(law, Law::Cone { .. }))
    }

    /// Whether some law is a patch.
    pub fn has_patches(&self) -> bool {
        self.laws.iter().any(|law| matches!(law, Law::Patch(_)))
    }

    /// Whether some law is box friction.
    pub fn has_box_friction(&self) -> bool {
        self.laws.iter().any(|law| matches!(law, Law::Friction { .. }))
    }

    /// The scale of each row, `D` of the natural map: `W_ii` for a scalar row, the mean diagonal of its contact for
    /// the rows of a cone, 1 where that is not positive.
    ///
    /// In a patch `W_ii` for the normal of a vertex, the mean diagonal for the three rows of a disc, and `a`, the mean of
    /// `e_k² W_kk` over the tangents with friction (of torsion, if there are none), for the rows of friction; `√(a W_kk)` for an axis without.
    pub fn row_scale(&self) -> DVector<f64> {
        let mut scale = DVector::from_element(self.rows(), 1.0);
        for Group { row, law } in self.groups() {
            let d = law.rows();
            if let Law::Patch(patch) = law {
                let diagonal: Vec<f64> = (row..row + d).map(|i| self.delassus[(i, i)]).collect();
                scale.rows_mut(row, d).copy_from_slice(&patch.row_scale(&diagonal));
                continue;
            }
            let mean = (row..row + d).map(|i| self.delassus[(i, i)]).sum::<f64>() / d as f64;
            if mean > 0.0 {
                scale.rows_mut(row, d).fill(mean);
            }
        }
        scale
    }

    /// Checks shapes, numbers, bounds and references.
    ///
    /// # Errors
    /// [`Error::Problem`] naming the problem and the row.
    pub fn validate(&self) -> Result<()> {
        let n = self.rows();
        let (rows, columns) = self.delassus.shape();
        if (rows, columns) != (n, n) {
            return Err(self.error(format!("matrix is {rows} x {columns}, but the bias has {n} rows")));
        }
        if let Some(k) = self.delassus.iter().position(|x| !x.is_finite()) {
            return Err(self.error(format!("matrix element ({}, {}) is not finite", k % n, k / n)));
        }
        if let Some(i) = self.bias.iter().position(|x| !x.is_finite()) {
            return Err(self.error(format!("bias of row {i} is not finite")));
        }
        let mut covered: usize = 0;
        for law in &self.laws {
            covered = covered.saturating_add(law.rows());
        }
        if covered != n {
            return Err(self.error(format!("the laws cover {covered} rows, but there are {n}")));
        }
        let interval_rows = self.interval_rows();
        for Group { row, law } in self.groups() {
            match law {
                Law::Interval { lower, upper } => {
                    let ordered = lower <= upper && lower < f64::INFINITY && upper > f64::NEG_INFINITY;
                    if !ordered {
                        return Err(self.error(format!("row {row}: bounds [{lower}, {upper}] hold no number")));
                    }
                }
                Law::Friction { normal, friction } => {
                    self.check_friction(row, friction)?;
                    if normal == row || !interval_rows.get(normal).copied().unwrap_or(false) {
                        return Err(self.error(format!("row {row}: normal row {normal} is not an interval row")));
                    }
                }
                Law::Cone { friction, dimension } => {
                    self.check_friction(row, friction)?;
                    if dimension != 2 && dimension != 3 {
                        return Err(self.error(format!("row {row}: a cone has 2 or 3 rows, not {dimension}")));
                    }
                }
                Law::Patch(patch) => {
                    if let Some(fault) = patch.fault() {
                        return Err(self.error(format!("row {row}: {fault}")));
                    }
                }
            }
        }
        Ok(())
    }

    fn interval_rows(&self) -> Vec<bool> {
        self.laws
            .iter()
            .flat_map(|law| std::iter::repeat_n(matches!(law, Law::Interval { .. }), law.rows().min(self.rows())))
            .collect()
    }

    fn check_friction(&self, row: usize, friction: f64) -> Result<()> {
        if friction >= 0.0 && friction.is_finite() {
            return Ok(());
        }
        Err(self.error(format!("row {row}: friction must be finite and not negative, it is {friction}")))
    }

    fn error(&self, message: String) -> Error {
        Error::Problem { place: format!("{:?}", self.name), message }
    }
}

/// How solving a problem ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SolveStatus {
    /// The natural map residual is within the tolerance.
    Solved,
    /// The iterations, sweeps or pivots ran out, or stopped making progress, above the tolerance.
    IterationLimit,
    /// Lemke's method ended on a secondary ray: for a copositive matrix the problem has no solution.
    SecondaryRay,
    /// Every complementary basis was tried, or a constant row shows it: there is no (basic) solution.
    Infeasible,
    /// A pivoting method came back to a basis that it had left.
    Cycling,
    /// The data or the iterates hold NaN or infinities.
    NotFinite,
    /// The problem is malformed; see [`Problem::validate`].
    InvalidProblem,
}

impl std::fmt::Display for SolveStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Solved => "solved",
            Self::IterationLimit => "iteration limit",
            Self::SecondaryRay => "secondary ray",
            Self::Infeasible => "infeasible",
            Self::Cycling => "cycling",
            Self::NotFinite => "not finite",
            Self::InvalidProblem => "invalid problem",
        })
    }
}

/// What a solver found.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Impulse `z`, n (N·s). Always finite; the best that was found when the status is not `Solved`.
    pub impulse: DVector<f64>,
    /// How it ended.
    pub status: SolveStatus,
    /// Sweeps, steps or pivots, as the solver counts them.
    pub iterations: usize,
    /// Natural map residual of `impulse` (m/s), computed from the problem itself; infinite for an invalid problem.
    pub residual: f64,
    /// Multiply-adds spent, as [`super::SolveSettings::work`] counts them; 0 from the batched solver, which does not count.
    pub work: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cone(friction: f64, dimension: usize) -> Law {
        Law::Cone { friction, dimension }
    }

    #[test]
    fn groups_cover_the_rows_in_order() {
        let laws = vec![cone(0.5, 3), Law::UNILATERAL, cone(0.5, 2)];
        let problem = Problem {
            name: String::new(),
            delassus: DMatrix::from_diagonal(&DVector::from_vec(vec![1.0, 2.0, 3.0, -1.0, 5.0, 7.0])),
            bias: DVector::zeros(6),
            laws,
        };
        assert!(problem.validate().is_ok());
        assert_eq!(problem.groups().map(|g| g.row).collect::<Vec<_>>(), [0, 3, 4]);
        assert_eq!(problem.row_scale().as_slice(), [2.0, 2.0, 2.0, 1.0, 6.0, 6.0]);
    }

    #[test]
    fn malformed_problems_are_refused() {
        let good = Problem {
            name: "p".into(),
            delassus: DMatrix::identity(3, 3),
            bias: DVector::zeros(3),
            laws: vec![Law::UNILATERAL, Law::Friction { normal: 0, friction: 0.5 }, Law::BILATERAL],
        };
        assert!(good.validate().is_ok());
        let broken = |change: &dyn Fn(&mut Problem)| {
            let mut p = good.clone();
            change(&mut p);
            assert!(p.validate().is_err(), "{p:?}");
        };
        broken(&|p| p.delassus = DMatrix::identity(3, 2));
        broken(&|p| p.delassus[(1, 2)] = f64::NAN);
        broken(&|p| p.bias[2] = f64::INFINITY);
        broken(&|p| p.laws.truncate(2));
        broken(&|p| p.laws[2] = Law::Interval { lower: 1.0, upper: 0.0 });
        broken(&|p| p.laws[2] = Law::Interval { lower: f64::NAN, upper: 0.0 });
        broken(&|p| p.laws[2] = Law::Interval { lower: f64::INFINITY, upper: f64::INFINITY });
        broken(&|p| p.laws[1] = Law::Friction { normal: 1, friction: 0.5 });
        broken(&|p| p.laws[1] = Law::Friction { normal: 7, friction: 0.5 });
        broken(&|p| p.laws[1] = Law::Friction { normal: 0, friction: -0.5 });
        broken(&|p| p.laws = vec![cone(f64::NAN, 3)]);
        broken(&|p| p.laws = vec![cone(0.5, 1), cone(0.5, 2)]);
        broken(&|p| p.laws = vec![cone(0.5, usize::MAX), cone(0.5, 4)]);
    }
}
