//! A problem whose laws are bounded rows, disc cones and friction blocks, in the unknowns of Newton's method.
//!
//! ```text
//! x = (impulses of the normals, s of the friction blocks),   z = z(x),   w = W z + b
//! row       F = x − Π(x − ρ w)                 ρ = 1/W_ii
//! disc      F = x − P_K(x − ρ w)               K = { |m| ≤ λ }, its own dual; ρ = 1/mean W_ii
//! friction  F = s − P(s − ρ y), |·| ≤ μ N      ρ = 1/a
//! ```
//!
//! and `F / ρ`, in m/s, is what must vanish.

use super::ellipsoid::{Friction, length, natural_map};
use crate::lane::Scalar;
use crate::lcp::problem::{Group, Law, Problem};

/// A row with bounds of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<R> {
    /// Its row.
    pub row: usize,
    /// Least and greatest impulse, N·s; may be infinite.
    pub bounds: [R; 2],
}

/// The problem; see the module. Shapes: n rows.
#[derive(Clone, Debug, PartialEq)]
pub struct System<R> {
    /// W, row-major, shape \[n\]\[n\], symmetric.
    pub matrix: Vec<R>,
    /// b, m/s, shape \[n\].
    pub bias: Vec<R>,
    /// The rows with bounds.
    pub bounded: Vec<Row<R>>,
    /// First rows of the disc cones, three rows each.
    pub discs: Vec<usize>,
    /// The friction blocks.
    pub frictions: Vec<Friction<R>>,
    /// ρ of each row (kg), shape \[n\].
    pub(super) steps: Vec<R>,
}

impl<R: Scalar> System<R> {
    /// The system of a problem, rounded to R. Box friction becomes a block with one tangent.
    pub fn of(problem: &Problem) -> Self {
        let n = problem.rows();
        let c = R::constant;
        let (mut bounded, mut discs, mut frictions) = (Vec::new(), Vec::new(), Vec::new());
        let unilateral = |row| Row { row, bounds: [R::zero(), c(f64::INFINITY)] };
        for Group { row, law } in problem.groups() {
            match law {
                Law::Interval { lower, upper } => bounded.push(Row { row, bounds: [c(lower), c(upper)] }),
                Law::Friction { normal, friction } => frictions.push(Friction::point(normal, row, 1, c(friction))),
                Law::Cone { friction, dimension } => {
                    bounded.push(unilateral(row));
                    frictions.push(Friction::point(row, row + 1, dimension - 1, c(friction)));
                }
                Law::Patch(patch) => {
                    match patch.support {
                        super::Support::Vertices { count, .. } => bounded.extend((row..row + count).map(unilateral)),
                        super::Support::Disc { .. } => discs.push(row),
                    }
                    frictions.push(Friction::new(row, &patch));
                }
            }
        }
        let matrix = (0..n * n).map(|k| c(problem.delassus[(k / n, k % n)])).collect();
        let bias = problem.bias.iter().map(|&b| c(b)).collect();
        Self::new(matrix, bias, bounded, discs, frictions)
    }

    /// A system of its parts, which together must cover all rows.
    pub fn new(
        matrix: Vec<R>,
        bias: Vec<R>,
        bounded: Vec<Row<R>>,
        discs: Vec<usize>,
        frictions: Vec<Friction<R>>,
    ) -> Self {
        let n = bias.len();
        let mut system = Self { matrix, bias, bounded, discs, frictions, steps: vec![R::one(); n] };
        for k in 0..system.bounded.len() {
            let row = system.bounded[k].row;
            system.steps[row] = R::one() / positive(system.entry(row, row));
        }
        for k in 0..system.discs.len() {
            let row = system.discs[k];
            let sum = system.entry(row, row) + system.entry(row + 1, row + 1) + system.entry(row + 2, row + 2);
            system.steps[row..row + 3].fill(R::constant(3.0) / positive(sum));
        }
        for k in 0..system.frictions.len() {
            let block = system.frictions[k];
            let diagonal = std::array::from_fn(|k| match block.rows.get(k) {
                Some(&row) if k < block.dimension => system.entry(row, row),
                _ => R::zero(),
            });
            let step = R::one() / friction_scale(block.ellipsoid, diagonal);
            for &row in &block.rows[..block.dimension] {
                system.steps[row] = step;
            }
        }
        system
    }

    /// n.
    pub fn rows(&self) -> usize {
        self.bias.len()
    }

    /// W_ij.
    pub fn entry(&self, i: usize, j: usize) -> R {
        self.matrix[i * self.rows() + j]
    }

    /// Impulses `z` (N·s, torsion about c) of the unknowns `x`.
    pub fn impulse(&self, x: &[R]) -> Vec<R> {
        let mut z = x.to_vec();
        for block in &self.frictions {
            let centre = block.pressure(&z).centre;
            block.put(block.unknowns(x), centre, &mut z);
        }
        z
    }

    /// Unknowns `x` of impulses `z`.
    pub fn unknowns_of(&self, z: &[R]) -> Vec<R> {
        let mut x = z.to_vec();
        for block in &self.frictions {
            let s = block.scaled_impulse(z, block.pressure(z).centre);
            for k in 0..block.dimension {
                x[block.rows[k]] = s[k];
            }
        }
        x
    }

    /// `w = W z + b`, m/s.
    pub fn velocity(&self, z: &[R]) -> Vec<R> {
        let n = self.rows();
        let row = |i: usize| z.iter().zip(&self.matrix[i * n..]).fold(self.bias[i], |w, (&z, &m)| w + m * z);
        (0..n).map(row).collect()
    }

    /// What rounding makes of the residual at impulses `z`, m/s: `4 ε (|b_i| + Σ_j |W_ij z_j|)`, the largest row.
    pub fn floor(&self, z: &[R]) -> f64 {
        let n = self.rows();
        let row = |i: usize| {
            let products = z.iter().zip(&self.matrix[i * n..]).map(|(z, m)| (*z * *m).abs().to_f64());
            products.sum::<f64>() + self.bias[i].abs().to_f64()
        };
        4.0 * R::EPSILON * (0..n).map(row).fold(0.0, f64::max)
    }

    /// `F / ρ` of every row at the unknowns `x`, whose impulses are `z` and velocities `w`, m/s.
    pub(super) fn defect(&self, x: &[R], z: &[R], w: &[R]) -> Vec<R> {
        let mut defect = vec![R::zero(); self.rows()];
        for &Row { row, bounds: [lower, upper] } in &self.bounded {
            let rho = self.steps[row];
            let p = x[row] - rho * w[row];
            defect[row] = if p < lower {
                (x[row] - lower) / rho
            } else if p > upper {
                (x[row] - upper) / rho
            } else {
                w[row]
            };
        }
        for &row in &self.discs {
            let rho = self.steps[row];
            let p = project_disc_cone(std::array::from_fn(|k| x[row + k] - rho * w[row + k])).0;
            for k in 0..3 {
                defect[row + k] = (x[row + k] - p[k]) / rho;
            }
        }
        for block in &self.frictions {
            let pressure = block.pressure(z);
            let (s, y) = (block.unknowns(x), block.slip(w, pressure.centre));
            let rho = self.steps[block.rows[0]];
            let p: [R; 3] = std::array::from_fn(|k| s[k] - rho * y[k]);
            let (size, radius) = (length(p), block.friction * pressure.sum);
            for k in 0..block.dimension {
                let row = block.rows[k];
                defect[row] = if block.ellipsoid[k] == R::zero() {
                    s[k] / rho
                } else if size > radius {
                    (s[k] - radius * p[k] / size) / rho
                } else {
                    y[k]
                };
            }
        }
        defect
    }

    /// The largest natural map over rows, discs and blocks, m/s; infinite where something is not finite.
    pub fn residual(&self, x: &[R], z: &[R], w: &[R]) -> f64 {
        let mut worst = 0.0f64;
        let mut take = |r: R| {
            let r = r.to_f64();
            worst = if r.is_nan() { f64::INFINITY } else { worst.max(r) };
        };
        let defect = self.defect(x, z, w);
        for row in &self.bounded {
            take(defect[row.row].abs());
        }
        for &row in &self.discs {
            take(length([defect[row], defect[row + 1], defect[row + 2]]));
        }
        for block in &self.frictions {
            let pressure = block.pressure(z);
            let (s, y) = (block.unknowns(x), block.slip(w, pressure.centre));
            take(natural_map(s, y, block.friction * pressure.sum, R::one() / self.steps[block.rows[0]]));
        }
        worst
    }
}

/// P_K onto `K = { |m| ≤ λ }`, and which of its cases it is.
pub(super) fn project_disc_cone<R: Scalar>(p: [R; 3]) -> ([R; 3], DiscCase) {
    let m = (p[1] * p[1] + p[2] * p[2]).sqrt();
    if m <= p[0] {
        return (p, DiscCase::Inside);
    }
    if m <= -p[0] {
        return ([R::zero(); 3], DiscCase::Open);
    }
    // n = (λ + |m|)/2,   (n, n m/|m|)
    let n = R::constant(0.5) * (p[0] + m);
    ([n, n * p[1] / m, n * p[2] / m], DiscCase::Rim)
}

/// Where a point lies that is projected on the cone of a disc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiscCase {
    Inside,
    Open,
    Rim,
}

/// `a`, 1/kg: the mean of `e_k² W_kk` over the tangents with friction, that of torsion if there are none; 1 where it is not
/// positive. Torsion does not enter beside tangents: with a large e_r it would drown them.
pub(super) fn friction_scale<R: Scalar>(ellipsoid: [R; 3], diagonal: [R; 3]) -> R {
    let (mut sum, mut count) = (R::zero(), R::zero());
    for k in 0..2 {
        if ellipsoid[k] > R::zero() {
            sum += ellipsoid[k] * ellipsoid[k] * diagonal[k];
            count += R::one();
        }
    }
    positive(if count > R::zero() { sum / count } else { ellipsoid[2] * ellipsoid[2] * diagonal[2] })
}

/// x where it is positive, else 1.
fn positive<R: Scalar>(x: R) -> R {
    if x > R::zero() { x } else { R::one() }
}
