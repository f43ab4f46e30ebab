//! The law of one patch as a linear one about where it stands: what Newton needs whose unknowns are velocities of the degrees of freedom (Woodbury's identity), on a device.
//!
//! With x = (impulses of the normals, s) and F the natural map of [`super::newton`], in N·s, of the others' velocities u,
//!
//! ```text
//! (∂F/∂x + δ P′) Δx = −F − ∂F/∂u Δu,   Δλ = ∂λ/∂x Δx = g − M Δu
//! ```
//!
//! P′ being the derivative of the projection: where it is 1, nothing but δ holds an impulse. The normals do not depend on the friction, so M is block triangular, and all that is
//! inverted is told by its eigenvectors.

use super::super::project::scale;
use super::block::Slopes;
use super::law::{Rows, Shape, project_disc_cone};
use super::twin::SEVEN_ROWS;
use crate::lane::{Mask, Real};
use crate::lcp::patch::ellipsoid::length;

/// M and, as last column, g of one patch; `u`: its velocities, m/s, without what the compliance of its normals adds; `shape` as in
/// [`Group::patches`](super::super::batch::Group::patches); `diagonal`: that of W, with the compliance, 1/kg.
#[inline(always)]
pub(crate) fn linear_law<R: Real>(
    [u, impulse, diagonal]: [[R; SEVEN_ROWS]; 3],
    shape: &[R],
    friction: R,
    delta: R,
    compliance: f64,
) -> [[R; SEVEN_ROWS + 1]; SEVEN_ROWS] {
    let (rows, shape, zero) = (Rows::new(0, 1, 1), Shape::new(shape, 0, true), R::zero());
    let z = rows.normals(&impulse);
    // of a disc its centre yields
    let soft = [0, 1, 2, 3].map(|k| {
        let soft = R::constant(compliance);
        if k == 0 { soft } else { R::select(shape.disc, zero, soft) }
    });
    let mut w = rows.normals(&u);
    if compliance > 0.0 {
        (0..4).for_each(|k| w[k] = soft[k].mul_add(z[k], w[k]));
    }
    let pressing = normal_law(&shape, [z, w], rows.normals(&diagonal), delta);
    let (f, slid) = (rows.frictions(&impulse), rows.frictions(&u));
    let (by_normal, sliding) = friction_law(&shape, z, [f, slid], rows.frictions(&diagonal), [friction, delta]);

    let mut law = [[zero; SEVEN_ROWS + 1]; SEVEN_ROWS];
    for k in 0..4 {
        for j in 0..4 {
            law[rows.normal[k]][rows.normal[j]] = pressing[k][j];
        }
        law[rows.normal[k]][SEVEN_ROWS] = pressing[k][4];
    }
    let at = rows.friction();
    for i in 0..3 {
        for j in 0..3 {
            law[at[i]][at[j]] = sliding[i][j];
        }
        // Δf = g_f − M_ff Δu_f + G Δλ_n
        let (mut column, mut lack) = ([zero; 4], sliding[i][3]);
        for k in 0..4 {
            for j in 0..4 {
                column[j] -= by_normal[i][k] * pressing[k][j];
            }
            lack = by_normal[i][k].mul_add(pressing[k][4], lack);
        }
        (0..4).for_each(|j| law[at[i]][rows.normal[j]] = -column[j]);
        law[at[i]][SEVEN_ROWS] = lack;
    }
    if compliance > 0.0 {
        // (1 + M C) Δλ = g − M Δu, one normal after another
        for k in 0..4 {
            let row = rows.normal[k];
            let (first, column) = (law[row], law.map(|of| of[row]));
            let held = soft[k] / (R::one() + soft[k] * column[row]);
            for (of, column) in law.iter_mut().zip(column) {
                for (x, first) in of.iter_mut().zip(first) {
                    *x -= column * held * first;
                }
            }
        }
    }
    law
}

/// M and g of the normals alone.
///
/// ```text
/// vertex  open  λ' = 0,   else  Δλ = −(w + Δu)/(δ W_ii)
/// disc    Δλ = −Σ_v v vᵀ (F + p′ Δu/D)/(1 − p′ + δ p′),   p′ and v the eigenvalues and -vectors of P_K′: 1, 0 and n/|m| along (1, m̂), (1, −m̂) and across
/// ```
#[inline(always)]
fn normal_law<R: Real>(shape: &Shape<R>, [z, w]: [[R; 4]; 2], diagonal: [R; 4], delta: R) -> [[R; 5]; 4] {
    let (zero, one) = (R::zero(), R::one());
    let mut law = [[zero; 5]; 4];
    for k in 0..4 {
        let d = scale(diagonal[k]);
        let open = z[k].lt(w[k] / d);
        let m = R::select(open, zero, one / (delta * d));
        law[k][k] = m;
        law[k][4] = R::select(open, -z[k], -(m * w[k]));
    }
    let d = Shape::disc_scale(diagonal);
    let p = [z[0] - w[0] / d, z[1] - w[1] / d, z[2] - w[2] / d];
    let on = project_disc_cone(p);
    let off = [z[0] - on[0], z[1] - on[1], z[2] - on[2]];
    let size = p[1].mul_add(p[1], p[2] * p[2]).sqrt();
    let (inside, open, some) = (p[0].lt(size).not(), (-p[0]).lt(size).not(), zero.lt(size));
    let over = one / R::select(some, size, one);
    let m = [R::select(some, p[1] * over, one), p[2] * over];
    let half = R::constant(std::f64::consts::FRAC_1_SQRT_2);
    let across = R::constant(0.5) * (p[0] + size) * over;
    let mut disc = [[zero; 4]; 3];
    for (v, rim) in [
        ([half, half * m[0], half * m[1]], one),
        ([half, -(half * m[0]), -(half * m[1])], zero),
        ([zero, -m[1], m[0]], across),
    ] {
        let slope = R::select(inside, one, R::select(open, zero, rim));
        let freed = one / (one - slope + delta * slope);
        let along = v[0].mul_add(off[0], v[1].mul_add(off[1], v[2] * off[2]));
        for i in 0..3 {
            for j in 0..3 {
                disc[i][j] = (freed * slope / d * v[i]).mul_add(v[j], disc[i][j]);
            }
            disc[i][3] -= freed * along * v[i];
        }
    }
    for i in 0..3 {
        for j in 0..3 {
            law[i][j] = R::select(shape.disc, disc[i][j], law[i][j]);
        }
        law[i][4] = R::select(shape.disc, disc[i][3], law[i][4]);
    }
    law
}

/// G = ∂f/∂λ_n, and M and g of the friction alone, both at normals that stay.
///
/// ```text
/// F = s − k q,   q = s − y/a,   k = min(1, μ N/|q|),   q̂ = q/|q| where it slides, else 0
/// Δs = −A⁻¹ F − (k/(c a)) (1 − q̂ q̂ᵀ) Δy + μ q̂ ΔN,   A⁻¹ = 1/c + (1 − 1/c) q̂ q̂ᵀ,   c = 1 − k + δ k
/// f = S s:   Δf = S Δs + (0, 0, f_o Δd_t − f_t Δd_o),   Δy = Sᵀ Δu_f + w_r (−e_t Δd_o, e_o Δd_t, 0)
/// ```
#[inline(always)]
fn friction_law<R: Real>(
    shape: &Shape<R>,
    z: [R; 4],
    [f, w]: [[R; 3]; 2],
    diagonal: [R; 3],
    [friction, delta]: [R; 2],
) -> ([[R; 4]; 3], [[R; 4]; 3]) {
    let (zero, one) = (R::zero(), R::one());
    let pressure = shape.pressure(z);
    let slopes = Slopes::of(shape, z, &pressure, true);
    let (s, y) = (shape.scaled(f, pressure.centre), shape.slip(w, pressure.centre));
    let (a, e) = (shape.friction_scale(diagonal), shape.ellipsoid);
    let q = [s[0] - y[0] / a, s[1] - y[1] / a, s[2] - y[2] / a];
    let (size, radius) = (length(q), friction * pressure.sum);
    let slides = radius.lt(size);
    let share = R::select(slides, radius / size, one);
    let unit = [0, 1, 2].map(|k| R::select(slides, q[k] / size, zero));
    // what would cancel where it sticks
    let defect = [0, 1, 2].map(|k| R::select(slides, s[k] - share * q[k], y[k] / a));
    let held = one / (one - share + delta * share);
    let along = |v: [R; 3]| unit[0].mul_add(v[0], unit[1].mul_add(v[1], unit[2] * v[2]));
    let across = |v: [R; 3]| {
        let along = along(v);
        [0, 1, 2].map(|k| held * share / a * (v[k] - unit[k] * along))
    };
    let mut by_normal = [[zero; 4]; 3];
    for k in 0..4 {
        let [by_t, by_o] = slopes.centre[k];
        let turned = across([-(e[0] * by_o * w[2]), e[1] * by_t * w[2], zero]);
        let pressed = friction * slopes.sum[k];
        let column = shape.impulses([0, 1, 2].map(|i| pressed * unit[i] - turned[i]), pressure.centre);
        (0..3).for_each(|i| by_normal[i][k] = column[i]);
        by_normal[2][k] += by_t * f[1] - by_o * f[0];
    }
    let mut law = [[zero; 4]; 3];
    for (j, unit) in [[one, zero, zero], [zero, one, zero], [zero, zero, one]].into_iter().enumerate() {
        let column = shape.impulses(across(shape.slip(unit, pressure.centre)), pressure.centre);
        (0..3).for_each(|i| law[i][j] = column[i]);
    }
    let kept = (one - held) * along(defect);
    let lack = shape.impulses([0, 1, 2].map(|k| -(held * defect[k] + kept * unit[k])), pressure.centre);
    (0..3).for_each(|i| law[i][3] = lack[i]);
    (by_normal, law)
}

#[cfg(test)]
mod tests {
    use super::super::twin::OnePatch;
    use super::*;
    use nalgebra::{SMatrix, SVector};

    type Seven = SVector<f64, SEVEN_ROWS>;

    /// A body on one patch, whose problem is λ of the patch and u = b + W λ.
    struct Standing {
        w: SMatrix<f64, SEVEN_ROWS, SEVEN_ROWS>,
        bias: Seven,
        shape: [f64; 12],
        friction: f64,
    }

    impl Standing {
        /// Of any inertia, sinking, sliding and turning.
        fn any(next: &mut impl FnMut() -> f64, compliance: f64) -> Self {
            let disc = next() > 0.3;
            let corners = [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]];
            let lever = if disc {
                [[0.0; 2], [0.1, 0.0], [0.0, 0.1], [0.0; 2]]
            } else {
                corners.map(|c: [f64; 2]| [0.1 * c[0] + 0.02 * next() - 0.1, 0.06 * c[1] + 0.02 * next() + 0.02])
            };
            // velocity of the reference point along t, o, n, and angular velocity about them
            let row = |linear: [f64; 3], angular: [f64; 3]| [linear, angular].concat();
            let normal = |k: usize| {
                let along = if disc && k > 0 { 0.0 } else { 1.0 };
                row([0.0, 0.0, if k == 3 && disc { 0.0 } else { along }], [lever[k][1], -lever[k][0], 0.0])
            };
            let rows = [
                normal(0),
                row([1.0, 0.0, 0.0], [0.0; 3]),
                row([0.0, 1.0, 0.0], [0.0; 3]),
                normal(1),
                normal(2),
                normal(3),
                row([0.0; 3], [0.0, 0.0, 1.0]),
            ];
            let jacobian = SMatrix::<f64, SEVEN_ROWS, 6>::from_fn(|i, d| rows[i][d]);
            let scale = SMatrix::<f64, 6, 6>::from_diagonal(&SVector::from([1.0, 1.0, 1.0, 8.0, 8.0, 8.0]));
            let mixed = scale * (SMatrix::<f64, 6, 6>::identity() + SMatrix::from_fn(|_, _| 0.3 * next()));
            let y = jacobian * mixed;
            let velocity = SVector::<f64, 6>::from_fn(|d, _| if d == 2 { next() - 0.6 } else { next() });
            let mut w = y * y.transpose();
            for k in [0, 3, 4, 5] {
                w[(k, k)] += if disc && k > 0 { 0.0 } else { compliance };
            }
            let ellipsoid = [1.0, 0.8 + 0.4 * next(), 0.08];
            let mut shape = [0.0; 12];
            shape[..3].copy_from_slice(&ellipsoid);
            shape[3] = f64::from(u8::from(disc));
            shape[4..].copy_from_slice(lever.as_flattened());
            Self { w, bias: jacobian * velocity, shape, friction: 0.5 + 0.3 * next() }
        }

        /// After some sweeps.
        fn swept(&self) -> Seven {
            let one = OnePatch {
                own: std::array::from_fn(|k| self.w[(k / SEVEN_ROWS, k % SEVEN_ROWS)] as f32),
                shape: self.shape.map(|x| x as f32).to_vec(),
                friction: self.friction as f32,
            };
            let mut impulse = [0.0f32; SEVEN_ROWS];
            for _ in 0..4 {
                let u = self.bias + self.w * Seven::from(impulse.map(f64::from));
                impulse = one.swept(std::array::from_fn(|k| u[k] as f32), impulse);
            }
            Seven::from(impulse.map(f64::from))
        }

        /// The natural map, m/s.
        fn residual(&self, impulse: &Seven) -> f64 {
            let (rows, shape) = (Rows::new(0, 1, 1), Shape::new(&self.shape, 0, true));
            let (z, u) = (impulse.as_slice(), self.bias + self.w * impulse);
            let diagonal = self.w.diagonal();
            shape.residual(
                [rows.normals(z), rows.normals(u.as_slice())],
                [rows.frictions(z), rows.frictions(u.as_slice())],
                rows.normals(diagonal.as_slice()),
                rows.frictions(diagonal.as_slice()),
                self.friction,
            )
        }

        /// A step of Newton: Δλ = g − M W Δλ.
        fn stepped(&self, impulse: &Seven, delta: f64, compliance: f64) -> Seven {
            // what the compliance adds to u and W is the law's
            let mut stiff = self.w;
            for k in [0, 3, 4, 5] {
                stiff[(k, k)] -= if self.shape[3] > 0.0 && k > 0 { 0.0 } else { compliance };
            }
            let u = self.bias + stiff * impulse;
            let of = |x: &Seven| std::array::from_fn(|k| x[k]);
            let law = linear_law(
                [of(&u), of(impulse), of(&self.w.diagonal())],
                &self.shape,
                self.friction,
                delta,
                compliance,
            );
            let m = SMatrix::<f64, SEVEN_ROWS, SEVEN_ROWS>::from_fn(|i, j| law[i][j]);
            let g = Seven::from_fn(|i, _| law[i][SEVEN_ROWS]);
            let step = (SMatrix::identity() + m * stiff).lu().solve(&g);
            impulse + step.unwrap_or_default()
        }
    }

    /// Of order 1, m/s, with a rounding of 1e-16 that δ enlarges.
    const SOLVED: f64 = 1e-10;

    #[test]
    fn steps_of_newton_end_a_patch_as_steps_of_newton_do() {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for compliance in [0.0, 1e-2] {
            let (mut left, mut unsolved, all) = (0, 0, 400);
            for _ in 0..all {
                let standing = Standing::any(&mut next, compliance);
                let mut impulse = standing.swept();
                unsolved += usize::from(standing.residual(&impulse) > 1e-6);
                (0..5).for_each(|_| impulse = standing.stepped(&impulse, 1e-6, compliance));
                let residual = standing.residual(&impulse);
                left += usize::from(residual >= SOLVED || residual.is_nan());
            }
            println!("compliance {compliance}: {unsolved} of {all} are not solved by sweeps, {left} not by Newton");
            assert!(unsolved > all / 4 && left <= all / 50, "{unsolved} {left}");
        }
    }
}
