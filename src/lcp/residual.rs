//! How far an impulse is from solving a problem. Every number is computed from the problem's own `W` and `b`.
//!
//! With `w = W z + b`, `D` the row scale ([`Problem::row_scale`]) and μ the friction of a contact:
//!
//! | residual | a scalar row | a cone | unit |
//! |---|---|---|---|
//! | natural map | `D |z - Π(z - w/D)|` | `D |z - P_K(z - ŵ/D)|`, `ŵ = w + μ|w_t| e_n` | m/s |
//! | Fischer-Burmeister | `|√(a² + w²) - a - w|`, `a = D (z - bound)` | on `(D z, ŵ)` after the same Jordan algebra | m/s |
//! | complementarity | `|w| · (distance to the bound that its sign allows)` | `|ŵ · z|` | J |
//! | cone violation | distance of `z` to `[lower, upper]` | `|z - P_K(z)|` | N·s |
//! | friction dissipation | `-w z` of a box friction row | `-w_t · z_t` | J |
//!
//! The rows of a patch ([`super::patch`]) count as its unilateral rows (or the self-dual cone of its disc) and its
//! friction: `a |s - P(s - y/a)|` with P onto the ball of radius μ N, on `(a μ N, a s)` and `(|y|, y)` in the Jordan algebra,
//! `μ N |y| + s · y`, `|s| - μ N`, `-s · y`.
//!
//! `|·|` of a contact is its Euclidean length (rotating the tangents changes nothing), at most √3 times the largest
//! component. The largest over the problem is returned (for the dissipation, the least). NaN or an infinity anywhere in `z`
//! gives an infinite residual.

use super::complementarity::{fischer_burmeister, jordan_fischer_burmeister, worse};
use super::cone::{corrected_normal, length, project_cone, project_interval};
use super::patch::judge;
use super::problem::{Group, Law, Problem};
use nalgebra::DVector;

/// The bounds of a scalar row at impulse `z`; none (infinite) for a cone or a patch.
pub(crate) fn bounds(law: Law, z: &[f64]) -> (f64, f64) {
    match law {
        Law::Interval { lower, upper } => (lower, upper),
        Law::Friction { normal, friction } => {
            let bound = friction * z[normal].max(0.0);
            (-bound, bound)
        }
        Law::Cone { .. } | Law::Patch(_) => (f64::NEG_INFINITY, f64::INFINITY),
    }
}

/// Natural map residual of one group, in the unit of `scale · z` (m/s).
///
/// ```text
/// row   r = D |z - Π(z - w / D)|
/// cone  r = D |z - P_K(z - ŵ / D)|,   ŵ = w + μ |w_t| e_n
/// patch the largest of its parts
/// ```
///
/// `scale` is that of all rows, n.
pub(crate) fn group_natural_map(Group { row, law }: Group, scale: &[f64], z: &[f64], w: &[f64]) -> f64 {
    if let Law::Patch(patch) = law {
        return judge::natural_map(row, &patch, scale, z, w);
    }
    let scale = scale[row];
    if let Law::Cone { friction, dimension } = law {
        let (r, u) = (&z[row..row + dimension], &w[row..row + dimension]);
        let mut p = [0.0; 3];
        for k in 0..dimension {
            let corrected = if k == 0 { corrected_normal(friction, u) } else { u[k] };
            p[k] = r[k] - corrected / scale;
        }
        project_cone(friction, &mut p[..dimension]);
        for k in 0..dimension {
            p[k] = r[k] - p[k];
        }
        return scale * length(&p[..dimension]);
    }
    let (lower, upper) = bounds(law, z);
    scale * (z[row] - project_interval(lower, upper, z[row] - w[row] / scale)).abs()
}

/// Natural map residual, m/s: zero exactly at a solution.
///
/// It is the `residual_rel` of the data format times `|b|_inf`, but for the norm: the length of a contact's part, not
/// its largest component, so up to √3 times as much.
pub fn natural_map_residual(problem: &Problem, impulse: &DVector<f64>) -> f64 {
    largest(problem, impulse, group_natural_map)
}

/// Natural map residual divided by `|b|_inf` (by 1 if that is zero), without unit.
pub fn relative_residual(problem: &Problem, impulse: &DVector<f64>) -> f64 {
    let size = problem.bias.amax();
    natural_map_residual(problem, impulse) / if size > 0.0 { size } else { 1.0 }
}

/// What rounding alone can make of the natural map of `impulse`, m/s: `4 ε (|b_i| + Σ_j |W_ij z_j|)`, the largest row; in the
/// friction of a patch with the factors of y, and of s.
///
/// A residual that is not above it is as good as zero.
pub fn rounding_floor(problem: &Problem, impulse: &DVector<f64>) -> f64 {
    if impulse.len() != problem.rows() || impulse.iter().any(|x| !x.is_finite()) {
        return f64::INFINITY;
    }
    let size = problem.delassus.abs() * impulse.abs() + problem.bias.abs();
    let scale = problem.row_scale();
    let of = |Group { row, law }: Group| match law {
        Law::Patch(patch) => judge::size(row, &patch, scale.as_slice(), impulse.as_slice(), size.as_slice()),
        _ => size.rows(row, law.rows()).amax(),
    };
    4.0 * f64::EPSILON * problem.groups().fold(0.0, |worst, group| worse(worst, of(group)))
}

/// Fischer-Burmeister residual, m/s: `|φ(D (z - bound), w)|` with `φ(a, b) = √(a² + b²) - a - b`.
///
/// A two-sided row takes `φ(a, -φ(c, -w))` with `a = D (z - lower)`, `c = D (upper - z)` (Billups). For a cone
/// `x = D (μ z_n, z_t)`, `y = (ŵ_n / μ, w_t)` lie in the self-dual cone, and `φ = (x² + y²)^½ - x - y` of its Jordan
/// algebra; a cone with μ = 0 is a unilateral row and tangential impulses that must vanish.
pub fn fischer_burmeister_residual(problem: &Problem, impulse: &DVector<f64>) -> f64 {
    largest(problem, impulse, |Group { row, law }, scale, z, w| {
        if let Law::Patch(patch) = law {
            return judge::fischer_burmeister(row, &patch, scale, z, w);
        }
        let scale = scale[row];
        if let Law::Cone { friction, dimension } = law {
            let (r, u) = (&z[row..row + dimension], &w[row..row + dimension]);
            let normal = corrected_normal(friction, u);
            if friction == 0.0 {
                return fischer_burmeister(scale * r[0], u[0]).abs().max(scale * length(&r[1..]));
            }
            let (mut x, mut y) = ([0.0; 3], [0.0; 3]);
            for k in 0..dimension {
                (x[k], y[k]) = if k == 0 { (friction * r[0], normal / friction) } else { (r[k], u[k]) };
                x[k] *= scale;
            }
            return jordan_fischer_burmeister(&x[..dimension], &y[..dimension]);
        }
        let (lower, upper) = bounds(law, z);
        let (a, c) = (scale * (z[row] - lower), scale * (upper - z[row]));
        match (lower.is_finite(), upper.is_finite()) {
            (false, false) => w[row].abs(),
            (true, false) => fischer_burmeister(a, w[row]).abs(),
            (false, true) => fischer_burmeister(c, -w[row]).abs(),
            (true, true) => fischer_burmeister(a, -fischer_burmeister(c, -w[row])).abs(),
        }
    })
}

/// Complementarity residual, J: `|z - bound| |w|` with the bound that the sign of `w` allows, `|ŵ · z|` for a cone.
///
/// A velocity whose bound is infinite counts as `|w| max(|z|, 1 N·s)`, so that no violated row is reported as zero.
pub fn complementarity_residual(problem: &Problem, impulse: &DVector<f64>) -> f64 {
    largest(problem, impulse, |Group { row, law }, _, z, w| {
        if let Law::Patch(patch) = law {
            return judge::complementarity(row, &patch, z, w);
        }
        if let Law::Cone { friction, dimension } = law {
            let (r, u) = (&z[row..row + dimension], &w[row..row + dimension]);
            let tangential: f64 = r[1..].iter().zip(&u[1..]).map(|(r, u)| r * u).sum();
            return (corrected_normal(friction, u) * r[0] + tangential).abs();
        }
        let (lower, upper) = bounds(law, z);
        let bound = if w[row] > 0.0 { lower } else { upper };
        let distance = if bound.is_finite() { (z[row] - bound).abs() } else { z[row].abs().max(1.0) };
        if w[row] == 0.0 { 0.0 } else { w[row].abs() * distance }
    })
}

/// How far the impulse leaves what its laws allow, N·s: the distance to the interval or to the cone.
pub fn cone_violation(problem: &Problem, impulse: &DVector<f64>) -> f64 {
    largest(problem, impulse, |Group { row, law }, _, z, _| {
        if let Law::Patch(patch) = law {
            return judge::violation(row, &patch, z);
        }
        if let Law::Cone { friction, dimension } = law {
            let r = &z[row..row + dimension];
            let mut p = [0.0; 3];
            p[..dimension].copy_from_slice(r);
            project_cone(friction, &mut p[..dimension]);
            for k in 0..dimension {
                p[k] -= r[k];
            }
            return length(&p[..dimension]);
        }
        let (lower, upper) = bounds(law, z);
        (z[row] - project_interval(lower, upper, z[row])).abs()
    })
}

/// The energy that friction takes out at each contact, J: `-w_t · z_t` for a cone, `-w z` for a box friction row,
/// `-s · y` for a patch.
///
/// One entry for each friction law, in row order; never negative at a solution, beyond rounding.
pub fn friction_dissipation(problem: &Problem, impulse: &DVector<f64>) -> Vec<f64> {
    let w = problem.velocity(impulse);
    let power = |rows: std::ops::Range<usize>| -rows.map(|i| w[i] * impulse[i]).sum::<f64>();
    problem
        .groups()
        .filter_map(|Group { row, law }| match law {
            Law::Cone { dimension, .. } => Some(power(row + 1..row + dimension)),
            Law::Friction { .. } => Some(power(row..row + 1)),
            Law::Patch(patch) => Some(judge::dissipation(row, &patch, impulse.as_slice(), w.as_slice())),
            Law::Interval { .. } => None,
        })
        .collect()
}

/// The largest of `of(group, scale, z, w)` over all groups; infinite for an impulse of the wrong size or not finite.
fn largest(problem: &Problem, impulse: &DVector<f64>, of: impl Fn(Group, &[f64], &[f64], &[f64]) -> f64) -> f64 {
    if impulse.len() != problem.rows() || impulse.iter().any(|x| !x.is_finite()) {
        return f64::INFINITY;
    }
    let w = problem.velocity(impulse);
    let scale = problem.row_scale();
    problem.groups().fold(0.0, |r, group| worse(r, of(group, scale.as_slice(), impulse.as_slice(), w.as_slice())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;

    fn problem(w: DMatrix<f64>, b: &[f64], laws: Vec<Law>) -> Problem {
        Problem { name: String::new(), delassus: w, bias: DVector::from_row_slice(b), laws }
    }

    fn z(x: &[f64]) -> DVector<f64> {
        DVector::from_row_slice(x)
    }

    #[test]
    fn a_block_on_the_floor_has_known_residuals() {
        // 2 kg falling at 3 m/s: w = z / 2 - 3, solved by z = 6.
        let p = problem(DMatrix::from_element(1, 1, 0.5), &[-3.0], vec![Law::UNILATERAL]);
        assert_eq!(natural_map_residual(&p, &z(&[6.0])), 0.0);
        assert_eq!(natural_map_residual(&p, &z(&[0.0])), 3.0);
        assert_eq!(natural_map_residual(&p, &z(&[8.0])), 1.0);
        assert_eq!(relative_residual(&p, &z(&[0.0])), 1.0);
        assert_eq!(complementarity_residual(&p, &z(&[8.0])), 8.0);
        assert_eq!(fischer_burmeister_residual(&p, &z(&[6.0])), 0.0);
        assert_eq!(fischer_burmeister_residual(&p, &z(&[0.0])), 6.0);
        assert_eq!(cone_violation(&p, &z(&[-2.0])), 2.0);
    }

    #[test]
    fn a_sliding_block_solves_the_cone_problem() {
        // W = 1, falling at 1 m/s and sliding at 3 m/s along t1 with μ = 0.5: r = (1, -0.5, 0), u = (0, 2.5, 0).
        let p = problem(DMatrix::identity(3, 3), &[-1.0, 3.0, 0.0], vec![Law::Cone { friction: 0.5, dimension: 3 }]);
        let r = z(&[1.0, -0.5, 0.0]);
        assert!(natural_map_residual(&p, &r) < 1e-15);
        assert!(fischer_burmeister_residual(&p, &r) < 1e-14);
        assert!(complementarity_residual(&p, &r) < 1e-15);
        assert_eq!(cone_violation(&p, &r), 0.0);
        assert_eq!(friction_dissipation(&p, &r), [1.25]);
        // without friction the natural map: ŵ = (1.5, 3, 0), r - ŵ = (-0.5, -3, 0), P_K = (0.8, -0.4, 0)
        let wrong = natural_map_residual(&p, &z(&[1.0, 0.0, 0.0]));
        assert!((wrong - 0.2_f64.hypot(0.4)).abs() < 1e-15, "{wrong}");
        // P_K (0, 1, 0) = (0.4, 0.2, 0)
        assert!((cone_violation(&p, &z(&[0.0, 1.0, 0.0])) - 0.4_f64.hypot(0.8)).abs() < 1e-15);
    }

    #[test]
    fn box_friction_follows_the_normal() {
        let laws = vec![Law::UNILATERAL, Law::Friction { normal: 0, friction: 0.5 }];
        let p = problem(DMatrix::identity(2, 2), &[-2.0, -3.0], laws);
        assert_eq!(natural_map_residual(&p, &z(&[2.0, 1.0])), 0.0);
        assert_eq!(fischer_burmeister_residual(&p, &z(&[2.0, 1.0])), 0.0);
        assert_eq!(natural_map_residual(&p, &z(&[2.0, 0.0])), 1.0);
        assert_eq!(friction_dissipation(&p, &z(&[2.0, 1.0])), [2.0]);
    }

    #[test]
    fn bounded_and_bilateral_rows() {
        let laws = vec![Law::Interval { lower: -1.0, upper: 2.0 }, Law::BILATERAL];
        let p = problem(DMatrix::identity(2, 2), &[-3.0, 4.0], laws);
        assert_eq!(natural_map_residual(&p, &z(&[2.0, -4.0])), 0.0);
        assert_eq!(fischer_burmeister_residual(&p, &z(&[2.0, -4.0])), 0.0);
        assert_eq!(complementarity_residual(&p, &z(&[2.0, -4.0])), 0.0);
        assert_eq!(natural_map_residual(&p, &z(&[2.0, 0.0])), 4.0);
        assert_eq!(complementarity_residual(&p, &z(&[2.0, 0.0])), 4.0);
    }

    #[test]
    fn what_is_not_finite_is_infinitely_wrong() {
        let laws = vec![
            Law::UNILATERAL,
            Law::Friction { normal: 0, friction: 1.0 },
            Law::Cone { friction: 0.5, dimension: 3 },
        ];
        let p = problem(DMatrix::identity(5, 5), &[1.0; 5], laws);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for i in 0..5 {
                let mut x = DVector::zeros(5);
                x[i] = bad;
                assert_eq!(natural_map_residual(&p, &x), f64::INFINITY);
                assert_eq!(fischer_burmeister_residual(&p, &x), f64::INFINITY);
                assert_eq!(complementarity_residual(&p, &x), f64::INFINITY);
                assert_eq!(cone_violation(&p, &x), f64::INFINITY);
            }
        }
        assert_eq!(natural_map_residual(&p, &DVector::zeros(4)), f64::INFINITY);
    }

    #[test]
    fn overflow_is_infinite_too() {
        let p = problem(DMatrix::from_element(1, 1, 1e300), &[1.0], vec![Law::UNILATERAL]);
        assert_eq!(natural_map_residual(&p, &z(&[1e300])), f64::INFINITY);
    }
}
