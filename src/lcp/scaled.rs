//! A problem in the variables the iterative solvers work in: every contact with mean diagonal 1, the bias of size 1.
//!
//! ```text
//! z_i = s_i β y_i,   w_i = (β / s_i) v_i,   s_i = 1 / √D_i,   β = max_i |s_i b_i|
//! v = (S W S) y + S b / β
//! ```
//!
//! `D` is the row scale, equal on the rows of a cone, so cones stay cones. A natural map residual of size ρ in row i
//! is `√D_i β ρ` in m/s.

use super::complementarity::worse;
use super::elimination::Order;
use super::problem::{Group, Law, Problem};
use super::residual::group_natural_map;
use super::work::{ROW, Work, factorization, square};
use nalgebra::{DMatrix, DVector};

/// Below this share of nonzero entries, columns are stored by their nonzeros.
const SPARSE: f64 = 0.3;

/// Largest dense system that is factored, rows: beyond it one step would take longer than thousands of sweeps.
pub(crate) const LARGEST_SYSTEM: usize = 1500;

/// The scaled problem; see the module.
pub(crate) struct Scaled<'a> {
    pub matrix: DMatrix<f64>,
    pub bias: DVector<f64>,
    pub groups: Vec<Group>,
    /// `√D_i β`: m/s for each unit of the natural map.
    pub velocity_scale: DVector<f64>,
    /// `s_i β`: N·s for each unit of `y`.
    impulse_scale: DVector<f64>,
    /// 1 for each row: the row scale of the scaled problem.
    units: DVector<f64>,
    /// Row indices and values of each column, if the matrix is sparse.
    sparse: Option<Vec<Vec<(usize, f64)>>>,
    /// In which order systems made of its rows are eliminated.
    pub order: Order,
    /// Nonzeros of the matrix if it is sparse, else n²: the price of a product, and of a sweep.
    pub product_work: u64,
    /// The budget that everything on this problem is paid from.
    pub work: &'a Work,
}

impl<'a> Scaled<'a> {
    pub fn new(problem: &Problem, work: &'a Work) -> Self {
        let n = problem.rows();
        let s = problem.row_scale().map(|d| 1.0 / d.sqrt());
        let bias = problem.bias.component_mul(&s);
        let beta = if bias.amax() > 0.0 { bias.amax() } else { 1.0 };
        let matrix = DMatrix::from_fn(n, n, |i, j| s[i] * problem.delassus[(i, j)] * s[j]);
        let impulse_scale = &s * beta;
        let groups: Vec<Group> = problem
            .groups()
            .map(|Group { row, law }| {
                let law = match law {
                    Law::Interval { lower, upper } => {
                        Law::Interval { lower: lower / impulse_scale[row], upper: upper / impulse_scale[row] }
                    }
                    Law::Friction { normal, friction } => {
                        Law::Friction { normal, friction: friction * s[normal] / s[row] }
                    }
                    // a patch has solvers of its own
                    Law::Cone { .. } | Law::Patch(_) => law,
                };
                Group { row, law }
            })
            .collect();
        let nonzeros = matrix.iter().filter(|&&x| x != 0.0).count();
        let sparse = ((nonzeros as f64) < SPARSE * (n * n) as f64 && n > 24).then(|| {
            matrix.column_iter().map(|c| c.iter().copied().enumerate().filter(|&(_, x)| x != 0.0).collect()).collect()
        });
        work.pay(3 * square(n));
        let order = Order::new(&groups, n, sparse.as_deref());
        let product_work = if sparse.is_some() { nonzeros as u64 } else { square(n) };
        let velocity_scale = s.map(|s| beta / s);
        let units = DVector::from_element(n, 1.0);
        Self {
            matrix,
            bias: bias / beta,
            groups,
            velocity_scale,
            impulse_scale,
            units,
            sparse,
            order,
            product_work,
            work,
        }
    }

    pub fn rows(&self) -> usize {
        self.bias.len()
    }

    /// `y` of impulses; zero if they are missing, do not fit or are not finite.
    pub fn start(&self, impulse: Option<&DVector<f64>>) -> DVector<f64> {
        match impulse {
            Some(z) if z.len() == self.rows() && z.iter().all(|x| x.is_finite()) => {
                z.component_div(&self.impulse_scale)
            }
            _ => DVector::zeros(self.rows()),
        }
    }

    /// Impulses of `y`, N·s.
    pub fn impulse(&self, y: &DVector<f64>) -> DVector<f64> {
        y.component_mul(&self.impulse_scale)
    }

    /// `v += W_j change`.
    pub fn push(&self, v: &mut DVector<f64>, j: usize, change: f64) {
        if change == 0.0 {
            return;
        }
        match &self.sparse {
            Some(columns) => {
                for &(i, x) in &columns[j] {
                    v[i] += x * change;
                }
            }
            None => v.axpy(change, &self.matrix.column(j), 1.0),
        }
    }

    /// Price of one sweep with its residual.
    pub fn sweep_work(&self) -> u64 {
        self.product_work + 2 * self.law_work()
    }

    /// Price of the laws of all rows.
    pub fn law_work(&self) -> u64 {
        ROW * self.rows() as u64
    }

    /// `W y`.
    pub fn product(&self, y: &DVector<f64>) -> DVector<f64> {
        self.work.pay(self.product_work);
        if self.sparse.is_none() {
            return &self.matrix * y;
        }
        let mut v = DVector::zeros(self.rows());
        for j in 0..self.rows() {
            self.push(&mut v, j, y[j]);
        }
        v
    }

    /// `W y + b`.
    pub fn velocity(&self, y: &DVector<f64>) -> DVector<f64> {
        self.product(y) + &self.bias
    }

    /// Largest natural map residual, m/s.
    pub fn residual(&self, y: &DVector<f64>, v: &DVector<f64>) -> f64 {
        self.work.pay(self.law_work());
        self.groups.iter().fold(0.0, |r, &g| {
            worse(
                r,
                self.velocity_scale[g.row] * group_natural_map(g, self.units.as_slice(), y.as_slice(), v.as_slice()),
            )
        })
    }

    /// Sum of squares of the natural map, without unit: what a line search lowers.
    pub fn merit(&self, y: &DVector<f64>, v: &DVector<f64>) -> f64 {
        self.work.pay(self.law_work());
        self.groups
            .iter()
            .map(|&g| group_natural_map(g, self.units.as_slice(), y.as_slice(), v.as_slice()).powi(2))
            .sum()
    }

    /// Whether `W - 1e-9 I` is not positive definite: contacts that share fewer directions of motion than rows.
    pub fn is_rank_deficient(&self) -> bool {
        let n = self.rows();
        self.work.pay(factorization(n) / 2);
        (&self.matrix - DMatrix::identity(n, n) * 1e-9).cholesky().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lcp::residual::natural_map_residual;

    #[test]
    fn the_scaled_residual_is_the_true_one() {
        let a = DMatrix::from_fn(7, 9, |i, j| ((5 * i + 3 * j + i * j) % 7) as f64 - 3.0);
        let units = DVector::from_vec(vec![1e3, 1e3, 1e3, 1e-2, 1.0, 40.0, 3.0]);
        let w = DMatrix::from_diagonal(&units) * (&a * a.transpose()) * DMatrix::from_diagonal(&units);
        let laws = vec![
            Law::Cone { friction: 0.4, dimension: 3 },
            Law::UNILATERAL,
            Law::Friction { normal: 3, friction: 0.7 },
            Law::Interval { lower: -2.0, upper: 1.0 },
            Law::BILATERAL,
        ];
        let bias = DVector::from_fn(7, |i, _| 3.0 - i as f64);
        let problem = Problem { name: String::new(), delassus: w, bias, laws };
        let work = Work::new(None);
        let scaled = Scaled::new(&problem, &work);
        let z = DVector::from_fn(7, |i, _| ((3 * i) % 4) as f64 - 1.0);
        let y = scaled.start(Some(&z));
        assert!((scaled.impulse(&y) - &z).amax() < 1e-15);
        let truth = natural_map_residual(&problem, &z);
        assert!((scaled.residual(&y, &scaled.velocity(&y)) / truth - 1.0).abs() < 1e-12);
    }
}
