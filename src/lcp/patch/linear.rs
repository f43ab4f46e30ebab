//! The linear system of a Newton step: the generalized Jacobian of [`System::defect`], and its elimination.

use super::ellipsoid::{Friction, length};
use super::system::{DiscCase, Row, System, project_disc_cone};
use crate::lane::Scalar;

/// Derivatives of a block's pressure by the impulses of its rows.
struct PressureSlopes<R> {
    /// ∂N/∂z and ∂d/∂z of each row that presses: row, ∂N, ∂d_t, ∂d_o.
    entries: Vec<(usize, R, [R; 2])>,
}

impl<R: Scalar> PressureSlopes<R> {
    /// `∂d/∂λ_i = (x_i − c − d)/N`, and the same through the rim of a disc.
    fn of(block: &Friction<R>, z: &[R]) -> Self {
        let pressure = block.pressure(z);
        let zero = R::zero();
        let mut entries: Vec<(usize, R, [R; 2])> = Vec::new();
        if pressure.sum <= zero {
            // an open block: what begins to press is the sum
            entries.extend(block.normals().iter().map(|n| (n.row, n.weight, [zero; 2])));
            return Self { entries };
        }
        let inverse = R::one() / pressure.sum;
        let mut k = 0;
        while k < block.normal_count {
            let normal = block.normals[k];
            let slope =
                |lever: [R; 2], weight: R| std::array::from_fn(|a| (lever[a] - weight * pressure.centre[a]) * inverse);
            let presses = z[normal.row] >= zero;
            let Some((a, b)) = block.moments(k) else {
                let weight = if presses { normal.weight } else { zero };
                let lever = if presses { normal.lever } else { [zero; 2] };
                entries.push((normal.row, weight, slope(lever, weight)));
                k += 1;
                continue;
            };
            let (levers, m) = ([block.normals[k + 1].lever, block.normals[k + 2].lever], [z[a], z[b]]);
            let share = block.rim_share(k, z);
            let size = (m[0] * m[0] + m[1] * m[1]).sqrt();
            let weight = if presses { normal.weight } else { zero };
            // moments within the rim count as they are; beyond it λ m/|m| does
            let (mut by_normal, mut by_moment) = (normal.lever, levers);
            if share < R::one() {
                let unit = [m[0] / size, m[1] / size];
                for axis in 0..2 {
                    by_normal[axis] = normal.lever[axis] + levers[0][axis] * unit[0] + levers[1][axis] * unit[1];
                    let along = levers[0][axis] * unit[0] + levers[1][axis] * unit[1];
                    for j in 0..2 {
                        by_moment[j][axis] = share * (levers[j][axis] - along * unit[j]);
                    }
                }
            }
            entries.push((normal.row, weight, slope(if presses { by_normal } else { [zero; 2] }, weight)));
            entries.push((a, zero, slope(by_moment[0], zero)));
            entries.push((b, zero, slope(by_moment[1], zero)));
            k += 3;
        }
        Self { entries }
    }
}

/// What is added to the diagonal of a Jacobian whose columns are scaled by ρ: none moves the solution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    /// Of the normals, whose impulses are not unique under a flat face.
    pub normals: f64,
    /// Of the friction blocks.
    pub frictions: f64,
}

impl<R: Scalar> System<R> {
    /// The Jacobian of [`System::defect`] by `x / ρ`, row-major, without unit.
    pub(super) fn jacobian(&self, x: &[R], z: &[R], w: &[R], shift: Shift) -> Vec<R> {
        let n = self.rows();
        let (zero, one) = (R::zero(), R::one());
        let slopes: Vec<_> = self.frictions.iter().map(|block| PressureSlopes::of(block, z)).collect();
        // A = ∂w/∂x = W ∂z/∂x; away from friction ∂z/∂x = 1
        let mut a = self.matrix.clone();
        for (block, slopes) in self.frictions.iter().zip(&slopes) {
            let centre = block.pressure(z).centre;
            let e = block.ellipsoid;
            let three = block.dimension == 3;
            for i in 0..n {
                let row = &self.matrix[i * n..(i + 1) * n];
                let torsion = if three { row[block.rows[2]] } else { zero };
                let out = &mut a[i * n..(i + 1) * n];
                for k in 0..block.dimension {
                    out[block.rows[k]] = e[k] * row[block.rows[k]];
                }
                if three {
                    let [t, o, _] = block.rows;
                    out[t] -= e[0] * centre[1] * torsion;
                    out[o] += e[1] * centre[0] * torsion;
                    // ∂τ/∂λ = ∂d_t f_o − ∂d_o f_t
                    for &(column, _, d) in &slopes.entries {
                        out[column] += torsion * (d[0] * z[o] - d[1] * z[t]);
                    }
                }
            }
        }
        let mut jacobian = vec![zero; n * n];
        for &Row { row, bounds: [lower, upper] } in &self.bounded {
            let p = x[row] - self.steps[row] * w[row];
            let out = &mut jacobian[row * n..(row + 1) * n];
            if p < lower || p > upper {
                out[row] = one / self.steps[row];
            } else {
                out.copy_from_slice(&a[row * n..(row + 1) * n]);
                out[row] += R::constant(shift.normals) / self.steps[row];
            }
        }
        for &row in &self.discs {
            let rho = self.steps[row];
            let p: [R; 3] = std::array::from_fn(|k| x[row + k] - rho * w[row + k]);
            let slope = disc_slope(p);
            for i in 0..3 {
                // ∂F/ρ = (1 − P′)/ρ + P′ A
                for j in 0..n {
                    let mut sum = zero;
                    for k in 0..3 {
                        sum += slope[i][k] * a[(row + k) * n + j];
                    }
                    jacobian[(row + i) * n + j] = sum;
                }
                for k in 0..3 {
                    let own = if i == k { one } else { zero };
                    let entry = &mut jacobian[(row + i) * n + row + k];
                    *entry += (own - slope[i][k] + R::constant(shift.normals) * slope[i][k]) / rho;
                }
            }
        }
        for (block, slopes) in self.frictions.iter().zip(&slopes) {
            self.friction_rows((block, slopes), (x, z, w), &a, shift, &mut jacobian);
        }
        for i in 0..n {
            for j in 0..n {
                jacobian[i * n + j] = jacobian[i * n + j] * self.steps[j];
            }
        }
        jacobian
    }

    /// The rows of one friction block.
    fn friction_rows(
        &self,
        (block, slopes): (&Friction<R>, &PressureSlopes<R>),
        (x, z, w): (&[R], &[R], &[R]),
        a: &[R],
        shift: Shift,
        jacobian: &mut [R],
    ) {
        let n = self.rows();
        let (zero, one) = (R::zero(), R::one());
        let pressure = block.pressure(z);
        let e = block.ellipsoid;
        let rho = self.steps[block.rows[0]];
        let (s, y) = (block.unknowns(x), block.slip(w, pressure.centre));
        // ∂y/∂x
        let mut slip = vec![[zero; 3]; n];
        for j in 0..n {
            let of = |k: usize| if k < block.dimension { a[block.rows[k] * n + j] } else { zero };
            let (t, o, r) = (of(0), of(1), of(2));
            slip[j] = [e[0] * (t - pressure.centre[1] * r), e[1] * (o + pressure.centre[0] * r), e[2] * r];
        }
        if block.dimension == 3 {
            let spin = w[block.rows[2]];
            for &(column, _, d) in &slopes.entries {
                slip[column][0] -= e[0] * d[1] * spin;
                slip[column][1] += e[1] * d[0] * spin;
            }
        }
        let p: [R; 3] = std::array::from_fn(|k| s[k] - rho * y[k]);
        let (size, radius) = (length(p), block.friction * pressure.sum);
        for k in 0..block.dimension {
            let row = block.rows[k];
            if e[k] == zero {
                jacobian[row * n + row] = one / rho;
                continue;
            }
            if size <= radius {
                // stick: F/ρ = y
                for j in 0..n {
                    jacobian[row * n + j] = slip[j][k];
                }
                jacobian[row * n + row] += R::constant(shift.frictions) / rho;
                continue;
            }
            // slide: F = s − r p̂;  ∂F = ∂s − (r/|p|)(1 − p̂ p̂ᵀ)(∂s − ρ ∂y) − p̂ μ ∂N
            let share = radius / size;
            let unit = p.map(|p| p / size);
            for j in 0..n {
                let along = unit[0] * slip[j][0] + unit[1] * slip[j][1] + unit[2] * slip[j][2];
                jacobian[row * n + j] = share * (slip[j][k] - unit[k] * along);
            }
            for l in 0..block.dimension {
                let own = if k == l { one } else { zero };
                let entry = &mut jacobian[row * n + block.rows[l]];
                *entry += (own - share * (own - unit[k] * unit[l])) / rho;
            }
            for &(column, sum, _) in &slopes.entries {
                let entry = &mut jacobian[row * n + column];
                *entry -= unit[k] * block.friction * sum / rho;
            }
        }
    }
}

/// P′ of the disc cone.
///
/// ```text
/// rim   ½ [[1, m̂ᵀ], [m̂, m̂ m̂ᵀ + (2 n/|m|)(1 − m̂ m̂ᵀ)]],   n = (λ + |m|)/2
/// ```
fn disc_slope<R: Scalar>(p: [R; 3]) -> [[R; 3]; 3] {
    let (zero, one, half) = (R::zero(), R::one(), R::constant(0.5));
    let unit = |scale: R| std::array::from_fn(|i| std::array::from_fn(|j| if i == j { scale } else { zero }));
    let (projected, case) = project_disc_cone(p);
    match case {
        DiscCase::Inside => unit(one),
        DiscCase::Open => unit(zero),
        DiscCase::Rim => {
            let size = (p[1] * p[1] + p[2] * p[2]).sqrt();
            let m = [p[1] / size, p[2] / size];
            let mut slope = [[half; 3]; 3];
            for i in 0..2 {
                slope[0][i + 1] = half * m[i];
                slope[i + 1][0] = half * m[i];
                for j in 0..2 {
                    let own = if i == j { one } else { zero };
                    slope[i + 1][j + 1] = half * m[i] * m[j] + projected[0] / size * (own - m[i] * m[j]);
                }
            }
            slope
        }
    }
}

/// Solves `a x = b` by elimination with row pivoting, in place; `false` where a pivot is nothing beside its column.
pub(super) fn eliminate<R: Scalar>(a: &mut [R], b: &mut [R]) -> bool {
    let n = b.len();
    let least = R::constant(R::EPSILON * R::EPSILON);
    for k in 0..n {
        let mut pivot = k;
        for i in k + 1..n {
            if a[i * n + k].abs() > a[pivot * n + k].abs() {
                pivot = i;
            }
        }
        let size = a[pivot * n + k].abs();
        if size <= least || !size.is_finite() {
            return false;
        }
        if pivot != k {
            for j in k..n {
                a.swap(k * n + j, pivot * n + j);
            }
            b.swap(k, pivot);
        }
        for i in k + 1..n {
            let factor = a[i * n + k] / a[k * n + k];
            if factor == R::zero() {
                continue;
            }
            let (above, below) = a.split_at_mut(i * n);
            for j in k + 1..n {
                below[j] -= factor * above[k * n + j];
            }
            b[i] -= factor * b[k];
        }
    }
    for i in (0..n).rev() {
        let mut sum = b[i];
        for j in i + 1..n {
            sum -= a[i * n + j] * b[j];
        }
        b[i] = sum / a[i * n + i];
    }
    true
}
