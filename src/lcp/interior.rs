//! Interior-point steps: a few give a starting point for [`super::newton`] in which every contact is pressed, some thirty one that is next to the answer.
//!
//! Newton started from Gauss-Seidel can be trapped in wedged states (large impulses along a nearly null direction of
//! `W`); coming from the interior it is not. Contacts are taken to the self-dual cone, `r̃ = (μ r_n, r_t)`,
//! `ũ = (u_n / μ, u_t)`, `W̃ = S W S`, `S = diag(1/μ, 1, 1)`, with Nesterov-Todd scaling and the De Saxcé shift lagged, so
//! that the matrix is `W̃` plus a positive block diagonal:
//!
//! ```text
//! H r̃ = ũ,  H = η (2 ω ωᵀ - J),   η = √(det ũ / det r̃),   ω = (ū + J r̄) / (2 γ),   γ = √((1 + r̄·ū) / 2)
//! g = mean of r̃·ũ,   rd = W̃ r̃ + S b + |ũ_t| e_n - ũ,   rc = σ g/2 r̃⁻¹ - ũ,   r̃⁻¹ = J r̃ / det r̃
//! (W̃ + H) dr = rc - rd,   du = rc - H dr,   step = min(1, 0.99 × the largest that stays inside)
//! ```
//!
//! A scalar row with one bound is a cone of dimension one; with two bounds it has two of these; a bilateral row has
//! none. Box friction is not treated (`start` returns `None`).

use super::elimination::{Lu, Order};
use super::problem::{Group, Law};
use super::scaled::{LARGEST_SYSTEM, Scaled};
use super::work::square;
use nalgebra::{DMatrix, DVector};

/// Centering σ.
const CENTERING: f64 = 0.2;
/// Share of the way to the boundary.
const BOUNDARY: f64 = 0.99;

/// Beyond it, in scaled units, rounding of the impulses hides velocities that matter.
const LARGEST_IMPULSE: f64 = 1e6;

/// One complementary pair of vectors in a self-dual cone of dimension 1 to 3.
struct Pair {
    /// First row, and how many.
    row: usize,
    size: usize,
    /// `r̃ = sign (y - bound)` for a row, `S⁻¹ r` for a contact.
    sign: f64,
    bound: f64,
    r: [f64; 3],
    u: [f64; 3],
}

/// The way from the interior of the cones to an answer.
pub(crate) struct Interior<'a> {
    s: &'a Scaled<'a>,
    /// S.
    shape: DVector<f64>,
    /// W̃ = S W S
    matrix: DMatrix<f64>,
    /// S b
    bias: DVector<f64>,
    pairs: Vec<Pair>,
    /// Rows that keep their impulse.
    held: Vec<bool>,
    /// S⁻¹ y
    x: DVector<f64>,
}

impl<'a> Interior<'a> {
    /// The start, in which every contact is pressed. `None` for laws that are not treated, and for what is too large.
    pub fn new(s: &'a Scaled<'a>) -> Option<Self> {
        let n = s.rows();
        if n > LARGEST_SYSTEM || !s.work.affords(Self::price(s)) {
            return None;
        }
        let (mut shape, mut pairs, mut held) = (DVector::from_element(n, 1.0), Vec::new(), vec![false; n]);
        let pair = |row, size, sign, bound| Pair { row, size, sign, bound, r: [0.0; 3], u: [0.0; 3] };
        let mut x = DVector::zeros(n);
        for &Group { row, law } in &s.groups {
            match law {
                Law::Friction { .. } | Law::Patch(_) => return None,
                Law::Cone { friction, dimension } if friction > 0.0 => {
                    shape[row] = 1.0 / friction;
                    pairs.push(pair(row, dimension, 1.0, 0.0));
                }
                Law::Cone { dimension, .. } => {
                    // without friction: a unilateral normal, and no tangential impulse
                    pairs.push(pair(row, 1, 1.0, 0.0));
                    held[row + 1..row + dimension].fill(true);
                }
                Law::Interval { lower, upper } if lower == upper => {
                    x[row] = lower;
                    held[row] = true;
                }
                Law::Interval { lower, upper } => {
                    if lower.is_finite() {
                        pairs.push(pair(row, 1, 1.0, lower));
                    }
                    if upper.is_finite() {
                        pairs.push(pair(row, 1, -1.0, upper));
                    }
                }
            }
        }
        // W̃ = S W S, b̃ = S b
        let matrix = DMatrix::from_fn(n, n, |i, j| shape[i] * s.matrix[(i, j)] * shape[j]);
        let bias = s.bias.component_mul(&shape);
        let size = bias.amax().max(1e-3);
        for p in &mut pairs {
            p.r[0] = size;
            p.u[0] = size;
            x[p.row] = p.bound + p.sign * size;
        }
        for &Group { row, law } in &s.groups {
            if let Law::Interval { lower, upper } = law
                && lower.is_finite()
                && upper.is_finite()
                && lower < upper
            {
                x[row] = f64::midpoint(lower, upper);
                for p in pairs.iter_mut().filter(|p| p.row == row) {
                    p.r[0] = 0.5 * (upper - lower);
                }
            }
        }
        Some(Self { s, shape, matrix, bias, pairs, held, x })
    }

    /// A product, a copy of the matrix, the elimination, and scalings that cost more than a law's price.
    fn price(s: &Scaled<'_>) -> u64 {
        s.order.price(0..s.rows()) + Self::own_price(s)
    }

    fn own_price(s: &Scaled<'_>) -> u64 {
        2 * square(s.rows()) + 4 * s.law_work()
    }

    /// Goes `steps` further, or as many as the budget holds and rounding allows, if impulses do not grow without end. Returns how many were made.
    pub fn advance(&mut self, steps: usize) -> usize {
        let s = self.s;
        for done in 0..steps {
            if !s.work.affords(Self::price(s)) {
                return done;
            }
            let elimination = step(&self.matrix, &self.bias, &s.order, &self.held, &mut self.pairs, &mut self.x);
            s.work.pay(Self::own_price(s) + elimination.unwrap_or(0));
            if elimination.is_none() || self.x.amax() > LARGEST_IMPULSE {
                return done;
            }
        }
        steps
    }

    /// The impulses so far, in scaled units.
    pub fn point(&self) -> DVector<f64> {
        self.x.component_mul(&self.shape)
    }
}

/// `steps` interior steps, or as many as the budget holds. Returns the impulses in scaled units.
pub(crate) fn start(s: &Scaled<'_>, steps: usize) -> Option<DVector<f64>> {
    let mut interior = Interior::new(s)?;
    interior.advance(steps);
    Some(interior.point())
}

/// One step; the multiply-adds of its elimination.
fn step(
    matrix: &DMatrix<f64>,
    bias: &DVector<f64>,
    order: &Order,
    held: &[bool],
    pairs: &mut [Pair],
    x: &mut DVector<f64>,
) -> Option<u64> {
    let n = x.len();
    let count = pairs.len().max(1) as f64;
    let dot = |a: &[f64; 3], b: &[f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let g = pairs.iter().map(|p| dot(&p.r, &p.u)).sum::<f64>() / count;
    // rd without -ũ, and rc - rd in `right`
    let mut dual = matrix * &*x + bias;
    for p in pairs.iter().filter(|p| p.size > 1) {
        dual[p.row] += p.u[1].hypot(p.u[2]);
    }
    let mut a = matrix.clone();
    let mut right = -dual;
    let mut blocks = Vec::with_capacity(pairs.len());
    for p in pairs.iter() {
        let h = scaling(p)?;
        let det = determinant(&p.r[..p.size]);
        let mut rc = [0.0; 3];
        for i in 0..p.size {
            // r̃⁻¹ = J r̃ / det r̃
            let inverse = if i == 0 { p.r[0] } else { -p.r[i] } / det;
            rc[i] = CENTERING * 0.5 * g * inverse - p.u[i];
            // (rc + ũ) of a mirrored row acts the other way
            right[p.row + i] += p.sign * (rc[i] + p.u[i]);
            for j in 0..p.size {
                a[(p.row + i, p.row + j)] += h[i][j];
            }
        }
        blocks.push((h, rc));
    }
    for (i, _) in held.iter().enumerate().filter(|&(_, &h)| h) {
        for j in 0..n {
            a[(i, j)] = 0.0;
        }
        a[(i, i)] = 1.0;
        right[i] = 0.0;
    }
    let factors = Lu::new(&a, order.of(0..n))?;
    let dx = factors.solve(&right);
    let mut length: f64 = 1.0;
    let mut changes = Vec::with_capacity(pairs.len());
    for (p, (h, rc)) in pairs.iter().zip(&blocks) {
        let (mut dr, mut du) = ([0.0; 3], [0.0; 3]);
        for i in 0..p.size {
            dr[i] = p.sign * dx[p.row + i];
        }
        for i in 0..p.size {
            du[i] = rc[i] - dot(&h[i], &dr);
        }
        length = length.min(BOUNDARY * to_boundary(&p.r, &dr)).min(BOUNDARY * to_boundary(&p.u, &du));
        changes.push((dr, du));
    }
    if !length.is_finite() || dx.iter().any(|x| !x.is_finite()) {
        return None;
    }
    for (p, (dr, du)) in pairs.iter_mut().zip(changes) {
        for i in 0..p.size {
            p.r[i] += length * dr[i];
            p.u[i] += length * du[i];
        }
    }
    x.axpy(length, &dx, 1.0);
    Some(factors.work)
}

/// `det x = x_n² - |x_t|²`, for one row `x²`.
fn determinant(x: &[f64]) -> f64 {
    let t = super::cone::length(&x[1..]);
    (x[0] - t) * (x[0] + t)
}

/// The Nesterov-Todd matrix H with `H r̃ = ũ`; `None` at the boundary.
fn scaling(p: &Pair) -> Option<[[f64; 3]; 3]> {
    let (r, u) = (determinant(&p.r[..p.size]), determinant(&p.u[..p.size]));
    if !(r > 0.0 && u > 0.0) {
        return None;
    }
    let mut h = [[0.0; 3]; 3];
    if p.size == 1 {
        h[0][0] = p.u[0] / p.r[0];
        return Some(h);
    }
    let (r_root, u_root) = (r.sqrt(), u.sqrt());
    let dot: f64 = (0..3).map(|i| p.r[i] * p.u[i]).sum::<f64>() / (r_root * u_root);
    let gamma = (0.5 * (1.0 + dot)).sqrt();
    let j = |i: usize| if i == 0 { 1.0 } else { -1.0 };
    let omega = [0, 1, 2].map(|i| (p.u[i] / u_root + j(i) * p.r[i] / r_root) / (2.0 * gamma));
    for a in 0..p.size {
        for b in 0..p.size {
            let reflection = if a == b { j(a) } else { 0.0 };
            h[a][b] = u_root / r_root * (2.0 * omega[a] * omega[b] - reflection);
        }
    }
    Some(h)
}

/// The largest step from `x` along `d` that stays in the cone: the first positive root of `det(x + a d)`.
fn to_boundary(x: &[f64; 3], d: &[f64; 3]) -> f64 {
    let a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2];
    let b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2];
    let c = determinant(x);
    let mut largest = if d[0] < 0.0 { -x[0] / d[0] } else { f64::INFINITY };
    let discriminant = b * b - a * c;
    if discriminant >= 0.0 {
        // roots q / a and c / q
        let q = -(b + discriminant.sqrt().copysign(b));
        for root in [q / a, c / q] {
            if root > 0.0 {
                largest = largest.min(root);
            }
        }
    }
    largest
}
