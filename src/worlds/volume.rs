//! Where a ray meets the volume of a site.

use crate::model::Shape;
use nalgebra::Vector3;

/// The part t₀ ≤ t ≤ t₁ of a line; none of it where t₀ > t₁.
type Part = [f64; 2];

const ALL: Part = [f64::NEG_INFINITY, f64::INFINITY];
const NONE: Part = [f64::INFINITY, f64::NEG_INFINITY];

/// Whether the ray p + t d, t ≥ 0, meets a volume; p and d in its own frame. Planes and hulls are no volumes of sites.
pub(super) fn meets(volume: &Shape, p: &Vector3<f64>, d: &Vector3<f64>) -> bool {
    let is_ahead = |[t0, t1]: Part| t0 <= t1 && t1 >= 0.0;
    let ball = |p: Vector3<f64>, d: Vector3<f64>, r: f64| within(d.dot(&d), p.dot(&d), p.dot(&p) - r * r);
    let tube = |r: f64, half_length: f64| {
        let (x, y) = (p.xy(), d.xy());
        both(within(y.dot(&y), x.dot(&y), x.dot(&x) - r * r), between(p.z, d.z, half_length))
    };
    match volume {
        Shape::Sphere { radius } => is_ahead(ball(*p, *d, *radius)),
        Shape::Ellipsoid { radii } => is_ahead(ball(p.component_div(radii), d.component_div(radii), 1.0)),
        Shape::Cylinder { radius, half_length } => is_ahead(tube(*radius, *half_length)),
        Shape::Capsule { radius, half_length } => {
            let cap = Vector3::z() * *half_length;
            [tube(*radius, *half_length), ball(p - cap, *d, *radius), ball(p + cap, *d, *radius)]
                .into_iter()
                .any(is_ahead)
        }
        Shape::Box { half } => is_ahead((0..3).map(|i| between(p[i], d[i], half[i])).fold(ALL, both)),
        Shape::Plane | Shape::HeightField(_) | Shape::Hull(_) => false,
    }
}

fn both(a: Part, b: Part) -> Part {
    [a[0].max(b[0]), a[1].min(b[1])]
}

/// Where a t² + 2 b t + c ≤ 0, a ≥ 0.
fn within(a: f64, b: f64, c: f64) -> Part {
    if a == 0.0 {
        return if c <= 0.0 { ALL } else { NONE };
    }
    let square = b * b - a * c;
    if square < 0.0 { NONE } else { [(-b - square.sqrt()) / a, (-b + square.sqrt()) / a] }
}

/// Where |p + t d| ≤ h.
fn between(p: f64, d: f64, h: f64) -> Part {
    if d == 0.0 {
        return if p.abs() <= h { ALL } else { NONE };
    }
    let (a, b) = ((-h - p) / d, (h - p) / d);
    [a.min(b), a.max(b)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line through the lower left of every volume, and one past it, both ways.
    #[test]
    fn rays_meet_what_is_ahead_of_them() {
        let volumes = [
            Shape::Sphere { radius: 1.0 },
            Shape::Ellipsoid { radii: Vector3::new(1.0, 2.0, 1.0) },
            Shape::Cylinder { radius: 1.0, half_length: 0.5 },
            Shape::Capsule { radius: 1.0, half_length: 0.5 },
            Shape::Box { half: Vector3::new(1.0, 1.0, 1.0) },
        ];
        let x = Vector3::x();
        for volume in &volumes {
            let near = Vector3::new(-3.0, 0.2, 0.3);
            assert!(meets(volume, &near, &x), "{volume:?} from outside");
            assert!(!meets(volume, &near, &-x), "{volume:?} behind");
            assert!(meets(volume, &Vector3::new(0.1, 0.2, 0.3), &-x), "{volume:?} from inside");
            assert!(!meets(volume, &Vector3::new(-3.0, 2.1, 0.3), &x), "{volume:?} beside");
        }
        let high = Vector3::new(-3.0, 0.0, 0.7);
        let met: Vec<bool> = volumes.iter().map(|volume| meets(volume, &high, &x)).collect();
        assert_eq!(met, [true, true, false, true, true], "above the cylinder, through the cap of the capsule");
        assert!(!meets(&volumes[3], &Vector3::new(-3.0, 0.9, 1.1), &x), "past the corner that a capsule lacks");
        assert!(meets(&volumes[2], &Vector3::new(0.0, 0.9, 5.0), &-Vector3::z()), "along the axis of the cylinder");
    }
}
