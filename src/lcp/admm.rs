//! Alternating directions: a smooth solve with `W + ρ I`, then a projection onto the laws.
//!
//! ```text
//! x = (W + ρ I)⁻¹ (ρ z + l - b - μ |l_t| e_n)       factored once for each ρ
//! h = α x + (1 - α) z
//! z = Π(h - l / ρ)
//! l ← l - ρ (h - z)                                 l tends to the contact velocity
//! ```
//!
//! The De Saxcé term is lagged. It copes with any rank of `W`; a few steps find the contact modes of stacks, many
//! steps with an adapted ρ solve nearly everything slowly.

use super::cone::{length, project_cone, project_interval};
use super::elimination::Lu;
use super::problem::{Law, Problem};
use super::residual::bounds;
use super::scaled::{LARGEST_SYSTEM, Scaled};
use super::work::Work;
use nalgebra::{DMatrix, DVector};

/// How to iterate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AdmmSettings {
    /// ρ, in units of the mean diagonal.
    pub rho: f64,
    /// Over-relaxation α, 1 for none.
    pub relaxation: f64,
    /// Most steps.
    pub steps: usize,
    /// Whether ρ follows the balance of the two residuals.
    pub adaptive: bool,
}

/// The long adaptive form, which needs no starting point: ρ = 0.3, no over-relaxation.
pub(crate) const LONG: AdmmSettings = AdmmSettings { rho: 0.3, relaxation: 1.0, steps: 3000, adaptive: true };

/// Steps until the natural map is at most `tolerance` (m/s) or `steps` are done, from `warm` or zero.
///
/// Returns the impulse (N·s) and the steps done.
pub(crate) fn admm(
    problem: &Problem,
    warm: Option<&DVector<f64>>,
    tolerance: f64,
    steps: usize,
    work: &Work,
) -> (DVector<f64>, usize) {
    let s = Scaled::new(problem, work);
    let mut y = s.start(warm);
    let done = run(&s, &mut y, AdmmSettings { steps, ..LONG }, tolerance);
    (s.impulse(&y), done)
}

/// Steps from `y`; leaves the best projected point. Returns the steps done, none if the problem is too large to factor or the budget too
/// small.
pub(crate) fn run(s: &Scaled<'_>, y: &mut DVector<f64>, settings: AdmmSettings, tolerance: f64) -> usize {
    let n = s.rows();
    let factor_work = s.order.price(0..n);
    if n > LARGEST_SYSTEM || !s.work.affords(factor_work + 2 * s.sweep_work()) {
        return 0;
    }
    let mut rho = settings.rho;
    let factor = |rho: f64| {
        let factors = Lu::new(&(&s.matrix + DMatrix::identity(n, n) * rho), s.order.of(0..n));
        s.work.pay(factors.as_ref().map_or(factor_work, |factors| factors.work));
        factors
    };
    let Some(mut factors) = factor(rho) else { return 0 };
    let step_work = factors.solve_work() + 2 * s.sweep_work();
    let mut z = y.clone();
    let mut l = s.velocity(&z);
    for group in &s.groups {
        if let Law::Cone { friction, dimension } = group.law {
            // the dual of a contact is its corrected velocity, which a taking-off or sticking start keeps in K*
            let t = length(&l.as_slice()[group.row + 1..group.row + dimension]);
            l[group.row] += friction * t;
        }
    }
    let mut best = (s.residual(&z, &s.velocity(&z)), z.clone());
    let mut done = 0;
    while best.0 > tolerance && done < settings.steps && s.work.affords(step_work) {
        done += 1;
        s.work.pay(factors.solve_work() + s.law_work());
        // ρ z + l - b - μ |l_t| e_n
        let mut right = &z * rho + &l - &s.bias;
        for group in &s.groups {
            if let Law::Cone { friction, dimension } = group.law {
                right[group.row] -= friction * length(&l.as_slice()[group.row + 1..group.row + dimension]);
            }
        }
        let x = factors.solve(&right);
        let h = &x * settings.relaxation + &z * (1.0 - settings.relaxation);
        let old = z.clone();
        z = &h - &l / rho;
        project(s, &mut z);
        l -= (&h - &z) * rho;
        let residual = s.residual(&z, &s.velocity(&z));
        if !residual.is_finite() {
            break;
        }
        if residual < best.0 {
            best.0 = residual;
            best.1.copy_from(&z);
        }
        if settings.adaptive && done % 25 == 0 {
            // primal |x - z| against dual ρ |z - z_old|
            let (primal, dual) = ((&x - &z).norm(), (&z - &old).norm() * rho);
            let ratio = primal / dual.max(f64::MIN_POSITIVE);
            if !(0.2..=5.0).contains(&ratio) && s.work.affords(factor_work) {
                rho = (rho * ratio.sqrt().clamp(0.2, 5.0)).clamp(1e-6, 1e4);
                let Some(anew) = factor(rho) else { break };
                factors = anew;
            }
        }
    }
    y.copy_from(&best.1);
    done
}

/// Π of all laws; box friction bounds follow the projected normal.
fn project(s: &Scaled<'_>, z: &mut DVector<f64>) {
    for group in &s.groups {
        match group.law {
            Law::Interval { lower, upper } => z[group.row] = project_interval(lower, upper, z[group.row]),
            Law::Cone { friction, dimension } => {
                project_cone(friction, &mut z.as_mut_slice()[group.row..group.row + dimension]);
            }
            Law::Friction { .. } | Law::Patch(_) => {}
        }
    }
    for group in &s.groups {
        if let Law::Friction { .. } = group.law {
            let (lower, upper) = bounds(group.law, z.as_slice());
            z[group.row] = project_interval(lower, upper, z[group.row]);
        }
    }
}
