//! Projections onto what the laws allow, and the normal and tangential parts of a contact.

/// Euclidean length of a tangential vector.
pub fn length(t: &[f64]) -> f64 {
    t.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Projects `r = (r_n, r_t)` onto the friction cone `K = { r_n >= 0, |r_t| <= μ r_n }` (not its dual), in place.
///
/// ```text
/// inside        |r_t| <= μ r_n      r
/// polar cone    μ |r_t| <= -r_n     0
/// otherwise     n = (r_n + μ |r_t|) / (1 + μ²),   (n, μ n r_t / |r_t|)
/// ```
pub fn project_cone(friction: f64, r: &mut [f64]) {
    let Some((normal, tangent)) = r.split_first_mut() else { return };
    let t = length(tangent);
    if t <= friction * *normal {
        return;
    }
    if friction * t <= -*normal {
        *normal = 0.0;
        tangent.fill(0.0);
        return;
    }
    // n = (r_n + μ |r_t|) / (1 + μ²)
    let n = (*normal + friction * t) / (1.0 + friction * friction);
    *normal = n;
    let factor = if t > 0.0 { friction * n / t } else { 0.0 };
    for x in tangent {
        *x *= factor;
    }
}

/// Shortens `t` to `radius` if it is longer, in place.
pub fn project_disc(radius: f64, t: &mut [f64]) {
    let length = length(t);
    if length > radius {
        let factor = radius.max(0.0) / length;
        for x in t {
            *x *= factor;
        }
    }
}

/// Projects a number onto `[lower, upper]`; NaN stays NaN.
pub fn project_interval(lower: f64, upper: f64, x: f64) -> f64 {
    if x < lower {
        lower
    } else if x > upper {
        upper
    } else {
        x
    }
}

/// De Saxcé's corrected normal velocity `û_n = u_n + μ |u_t|` of a contact `u = (u_n, u_t)`, m/s.
pub fn corrected_normal(friction: f64, u: &[f64]) -> f64 {
    u.first().map_or(0.0, |n| n + friction * length(&u[1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn projected(friction: f64, r: [f64; 3]) -> [f64; 3] {
        let mut p = r;
        project_cone(friction, &mut p);
        p
    }

    #[test]
    fn cone_projection_has_known_values() {
        assert_eq!(projected(0.5, [2.0, 0.6, 0.8]), [2.0, 0.6, 0.8]);
        assert_eq!(projected(0.5, [-1.0, 1.0, 0.0]), [0.0, 0.0, 0.0]);
        assert_eq!(projected(1.0, [0.0, 2.0, 0.0]), [1.0, 1.0, 0.0]);
        assert_eq!(projected(0.0, [3.0, 4.0, 5.0]), [3.0, 0.0, 0.0]);
        assert_eq!(projected(0.0, [-3.0, 4.0, 5.0]), [0.0, 0.0, 0.0]);
    }

    #[test]
    fn what_the_projection_takes_away_is_polar_to_the_cone() {
        // r = p + s with p in K, s in -K*, p . s = 0 (Moreau).
        let mu = 0.7;
        for k in 0..200 {
            let a = f64::from(k);
            let r = [3.0 * (1.3 * a).sin(), 2.0 * (2.1 * a).cos(), (0.7 * a).sin()];
            let p = projected(mu, r);
            let s = [r[0] - p[0], r[1] - p[1], r[2] - p[2]];
            assert!(length(&p[1..]) <= mu * p[0] + 1e-14);
            assert!(mu * length(&s[1..]) <= -s[0] * (1.0 + 1e-12) + 1e-12 || s[0].abs() < 1e-12);
            assert!((p[0] * s[0] + p[1] * s[1] + p[2] * s[2]).abs() < 1e-13);
        }
    }

    #[test]
    fn interval_keeps_nan() {
        assert_eq!(project_interval(0.0, 1.0, 2.0), 1.0);
        assert_eq!(project_interval(0.0, f64::INFINITY, -2.0), 0.0);
        assert!(project_interval(0.0, 1.0, f64::NAN).is_nan());
    }
}
