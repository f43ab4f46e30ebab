//! Alternating directions as steps of Newton with other laws: what Newton on a device goes on from, where its own steps lead nowhere.
//!
//! A step of `split` in the CPU's Newton solves with W + ρ D, D the mean diagonal w of every contact or row, and projects onto the laws. With p the point that is projected, λ = Π(p) and
//! l = ρ w (λ − p), that is Newton's system for the law
//!
//! λ' = h − u'/(ρ w),   h = 2 λ − p − μ‖(λ − p)_t‖ e_n
//!
//! and with its step s = λ' − λ, over-relaxed by α, p' = p + α s. So nothing is kept but p, where Newton keeps its step. The first of all begins with p = λ and goes s = −û/(ρ w α), which leaves
//! l = û, as on the CPU.

use super::formulas::{parts, softened};
use crate::lane::{Program, Real, record};
use crate::solver::formulas::{RELAXATION, corrected_normal, project_cone, project_interval};

/// ρ in units of the mean diagonal. The CPU's second round has 3e-4, over rows that act alone; here, over all rows and in f32, 1e-3 left fewer worlds.
const RHO: f64 = 1e-3;

/// The recorded formulas; `first` is 1 in the first step, else 0.
#[derive(Debug)]
pub(super) struct Split {
    /// u, λ, p, diagonal of W, μ and `first` → M and h.
    pub contact_law: Program,
    /// u, λ, p, W and `first` → M and h.
    pub scalar_law: Program,
    /// s, λ, p, μ and `first` → p and λ.
    pub contact_part: Program,
    /// s, λ, p, bounds and `first` → p and λ.
    pub scalar_part: Program,
}

impl Split {
    pub fn new(compliance: f64) -> Self {
        Self {
            contact_law: record(14, |x| contact_law(compliance, x)),
            scalar_law: record(5, scalar_law),
            contact_part: record(11, contact_part),
            scalar_part: record(6, scalar_part),
        }
    }
}

fn contact_law<R: Real>(compliance: f64, x: &[R]) -> Vec<R> {
    let [u, impulse, p, diagonal, rest] = parts(x, [3, 3, 3, 3, 2]);
    let (zero, friction, first) = (R::zero(), rest[0], R::zero().lt(rest[1]));
    let soft = R::constant(compliance);
    let w = (diagonal[0] + soft + diagonal[1] + diagonal[2]) * R::constant(1.0 / 3.0);
    let share = inverse_rho(w);
    // −û/(ρ w α), or λ − p − μ‖(λ − p)_t‖ e_n
    let whole = [u[0] + soft * impulse[0], u[1], u[2]];
    let away = [0, 1, 2].map(|i| impulse[i] - p[i]);
    let start = [corrected_normal(whole, friction), whole[1], whole[2]].map(|u| -begun(share, u));
    let on = [corrected_normal(away, -friction), away[1], away[2]];
    let h = [0, 1, 2].map(|i| impulse[i] + R::select(first, start[i], on[i]));
    let m = R::select(first, zero, share);
    let mut law = [[m, zero, zero, h[0]], [zero, m, zero, h[1]], [zero, zero, m, h[2]]];
    softened(compliance, &mut law);
    let mut out: Vec<R> = law.iter().flat_map(|row| row[..3].to_vec()).collect();
    out.extend(law.iter().map(|row| row[3]));
    out
}

fn scalar_law<R: Real>(x: &[R]) -> Vec<R> {
    let &[u, impulse, p, w, first] = x else { return Vec::new() };
    let (first, share) = (R::zero().lt(first), inverse_rho(w));
    let h = impulse + R::select(first, -begun(share, u), impulse - p);
    vec![R::select(first, R::zero(), share), h]
}

/// 1/(ρ w)
fn inverse_rho<R: Real>(w: R) -> R {
    R::one() / (R::constant(RHO) * w)
}

/// û/(ρ w α), from 1/(ρ w).
fn begun<R: Real>(share: R, u: R) -> R {
    share * u * R::constant(1.0 / RELAXATION)
}

fn contact_part<R: Real>(x: &[R]) -> Vec<R> {
    let [step, impulse, p, rest] = parts(x, [3, 3, 3, 2]);
    let p = [0, 1, 2].map(|i| moved([step[i], impulse[i], p[i]], rest[1]));
    [p, project_cone(p, rest[0])].concat()
}

fn scalar_part<R: Real>(x: &[R]) -> Vec<R> {
    let &[step, impulse, p, lower, upper, first] = x else { return Vec::new() };
    let p = moved([step, impulse, p], first);
    vec![p, project_interval(p, lower, upper)]
}

/// p' = p + α s
fn moved<R: Real>([step, impulse, p]: [R; 3], first: R) -> R {
    R::constant(RELAXATION).mul_add(step, R::select(R::zero().lt(first), impulse, p))
}
