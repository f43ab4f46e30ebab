//! The path of a spatial tendon: straight from site to site, around spheres and cylinders that are in its way, and by pulleys.

use super::{Model, Shape};
use crate::lane::{Mask, Real};
use crate::spatial::{Mat3, Pose, Vec3, vec3};
use std::f64::consts::PI;

/// A point of the path of a spatial tendon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Waypoint {
    /// Through a site.
    Site(usize),
    /// Around a sphere, or around the axis of a cylinder without end, where it is in the way between the two sites next to it.
    Around {
        /// The geom.
        geom: usize,
        /// A site on the side by which it passes: the longer way where that lies opposite to both ends, as in MuJoCo 4.0; where it lies within the geom, it passes through the inside.
        side: Option<usize>,
    },
    /// Begins another branch, whose length counts 1/divisor.
    Pulley(f64),
}

/// A straight part of a path.
#[derive(Debug, Clone, Copy)]
pub struct Stretch<R> {
    /// The bodies that its ends are on.
    pub bodies: [usize; 2],
    /// Its ends, m.
    pub ends: [Vec3<R>; 2],
    /// How much it counts: 1/divisor, or 0 in worlds that have it not.
    pub share: R,
}

/// The straight parts of a path, to `out`, and how much the arcs between them add to its length, m. `poses`: of bodies, shape \[body\].
#[inline(always)]
pub(crate) fn stretches<R: Real>(model: &Model, path: &[Waypoint], poses: &[Pose<R>], out: &mut Vec<Stretch<R>>) -> R {
    out.clear();
    let (mut arcs, mut share) = (R::zero(), R::one());
    let at = |site: usize| poses[model.sites[site].body].constant_point(&model.sites[site].position);
    for (i, part) in path.iter().enumerate() {
        match (*part, path.get(i + 1), path.get(i + 2)) {
            (Waypoint::Pulley(divisor), _, _) => share = R::constant(1.0 / divisor),
            (Waypoint::Site(a), Some(&Waypoint::Site(b)), _) => {
                let bodies = [model.sites[a].body, model.sites[b].body];
                out.push(Stretch { bodies, ends: [at(a), at(b)], share });
            }
            (Waypoint::Site(a), Some(&Waypoint::Around { geom, side }), Some(&Waypoint::Site(b))) => {
                let ends = [at(a), at(b)];
                let wrap = around(model, geom, poses, ends, side.map(at));
                let [first, last] = [a, b].map(|site| model.sites[site].body);
                let (body, zero) = (model.geoms[geom].body, R::zero());
                let (there, straight) = (R::select(wrap.wraps, share, zero), R::select(wrap.wraps, zero, share));
                out.push(Stretch { bodies: [first, last], ends, share: straight });
                out.push(Stretch { bodies: [first, body], ends: [ends[0], wrap.points[0]], share: there });
                out.push(Stretch { bodies: [body, last], ends: [wrap.points[1], ends[1]], share: there });
                arcs += R::select(wrap.wraps, wrap.arc * share, zero);
            }
            _ => {}
        }
    }
    arcs
}

/// How a path goes around a geom.
struct Wrap<R: Real> {
    /// The worlds in which it does.
    wraps: R::Mask,
    /// Where it comes and leaves, m.
    points: [Vec3<R>; 2],
    /// Length between these on the geom, m.
    arc: R,
}

/// How the path between two points goes around a geom, with the meaning that MuJoCo 4.0 has for it. `side`: see [`Waypoint::Around`].
#[inline(always)]
fn around<R: Real>(
    model: &Model,
    geom: usize,
    poses: &[Pose<R>],
    ends: [Vec3<R>; 2],
    side: Option<Vec3<R>>,
) -> Wrap<R> {
    let geom = &model.geoms[geom];
    let (body, turn) = (&poses[geom.body], geom.orientation.to_rotation_matrix());
    let center = body.constant_point(&geom.position);
    let rotation = body.rotation * Mat3::constant(turn.matrix());
    let local = |p: Vec3<R>| rotation.transpose_mul(p - center);
    let [p, q] = [local(ends[0]), local(ends[1])];
    let (radius, sphere) = match geom.shape {
        Shape::Sphere { radius } => (radius, true),
        Shape::Cylinder { radius, .. } => (radius, false),
        // no other is in a path (`check`)
        _ => (0.0, true),
    };
    // the plane that it goes around in
    let [e, f] = if sphere { great_circle(p, q) } else { [Vec3::unit(0), Vec3::unit(1)] };
    let flat = |x: Vec3<R>| [e.dot(x), f.dot(x)];
    let side = side.map(local);
    let inside = side.map(|s| s.dot(s).lt(R::constant(radius * radius)));
    let [a, b] = [flat(p), flat(q)];
    let circle = around_circle(a, b, R::constant(radius), side.map(flat));
    let circle = match inside {
        Some(inside) => {
            let within = through_circle(a, b, R::constant(radius));
            Flat {
                wraps: inside.and(within.wraps).or(inside.not().and(circle.wraps)),
                points: [0, 1].map(|i| [0, 1].map(|j| R::select(inside, within.points[i][j], circle.points[i][j]))),
                arc: R::select(inside, within.arc, circle.arc),
            }
        }
        None => circle,
    };
    let [c, d] = circle.points;
    let mut points = [e.scale(c[0]) + f.scale(c[1]), e.scale(d[0]) + f.scale(d[1])];
    let mut arc = circle.arc;
    if !sphere {
        // along the axis, in proportion to the way around it
        let (before, after) = (distance(a, c), distance(d, b));
        let (whole, rise) = ((before + arc + after).max(R::constant(TINY)), q.z - p.z);
        points[0].z = p.z + rise * (before / whole);
        points[1].z = p.z + rise * ((before + arc) / whole);
        let height = points[1].z - points[0].z;
        arc = arc.mul_add(arc, height * height).sqrt();
    }
    Wrap { wraps: circle.wraps, points: points.map(|x| center + rotation * x), arc }
}

/// What lengths and squares are no less than where they divide.
const TINY: f64 = 1e-15;

/// Axes of the plane through the origin and two points: the first towards `p`.
#[inline(always)]
fn great_circle<R: Real>(p: Vec3<R>, q: Vec3<R>) -> [Vec3<R>; 2] {
    let tiny = R::constant(TINY);
    let e = p.scale(R::one() / p.norm().max(tiny));
    let normal = p.cross(q);
    // of points in one line any plane will do
    let spare = vec3(R::one(), R::one(), R::one()) - unit_of_largest(e);
    let normal = Vec3::select(normal.norm().lt(tiny), e.cross(spare), normal);
    let f = normal.cross(e);
    [e, f.scale(R::one() / f.norm().max(tiny))]
}

/// The axis along which a vector is longest.
#[inline(always)]
fn unit_of_largest<R: Real>(v: Vec3<R>) -> Vec3<R> {
    let (x, y, z) = (v.x.abs(), v.y.abs(), v.z.abs());
    let is_x = x.lt(y).or(x.lt(z)).not();
    let is_y = is_x.not().and(y.lt(z).not());
    Vec3::select(is_x, Vec3::unit(0), Vec3::select(is_y, Vec3::unit(1), Vec3::unit(2)))
}

/// A way around a circle about the origin.
struct Flat<R: Real> {
    wraps: R::Mask,
    /// Where it comes and leaves.
    points: [[R; 2]; 2],
    arc: R,
}

#[inline(always)]
fn dot<R: Real>(a: [R; 2], b: [R; 2]) -> R {
    a[0].mul_add(b[0], a[1] * b[1])
}

#[inline(always)]
fn cross<R: Real>(a: [R; 2], b: [R; 2]) -> R {
    a[0] * b[1] - a[1] * b[0]
}

#[inline(always)]
fn distance<R: Real>(a: [R; 2], b: [R; 2]) -> R {
    let way = [b[0] - a[0], b[1] - a[1]];
    dot(way, way).sqrt()
}

/// The shorter way around a circle between two points outside of it, or the longer one where `side` asks for it; none where the straight way misses the circle, and is the shorter.
#[inline(always)]
fn around_circle<R: Real>(a: [R; 2], b: [R; 2], radius: R, side: Option<[R; 2]>) -> Flat<R> {
    let (zero, one, tiny) = (R::zero(), R::one(), R::constant(TINY));
    let square = radius * radius;
    let (aa, bb, way) = (dot(a, a), dot(b, b), [b[0] - a[0], b[1] - a[1]]);
    let length = dot(way, way);
    let outside = aa.lt(square).or(bb.lt(square)).or(length.lt(tiny)).or(radius.lt(tiny)).not();
    // the point of the straight way that is next to the centre
    let share = (-dot(a, way) / length.max(tiny)).max(zero).min(one);
    let nearest = [share.mul_add(way[0], a[0]), share.mul_add(way[1], a[1])];
    // the long way, if the side lies opposite to both: between −a and −b
    let turn = cross(a, b);
    let long = match side {
        Some(side) => (turn * cross(side, b)).lt(zero).and((turn * cross(a, side)).lt(zero)),
        None => R::Mask::splat(false),
    };
    let misses = square.lt(dot(nearest, nearest)).and(long.not());
    // clockwise, or not
    let clockwise = turn.lt(zero).and(long.not()).or(zero.lt(turn).and(long));
    let sign = R::select(clockwise, one, -one);
    // tangents: r²/|a|² a ± r √(|a|² − r²)/|a|² a⊥
    let (inverse_a, inverse_b) = (one / aa.max(tiny), one / bb.max(tiny));
    let (root_a, root_b) = ((aa - square).max(zero).sqrt(), (bb - square).max(zero).sqrt());
    let (along, across) = (square * inverse_a, sign * radius * root_a * inverse_a);
    let c = [along.mul_add(a[0], across * a[1]), along.mul_add(a[1], -(across * a[0]))];
    let (along, across) = (square * inverse_b, sign * radius * root_b * inverse_b);
    let d = [along.mul_add(b[0], -(across * b[1])), along.mul_add(b[1], across * b[0])];
    // how far it turns from c to d, the way that it goes
    let angle = (-sign * cross(c, d)).atan2(dot(c, d));
    // the short way is less than half around; what is negative of it is rounding
    let angle = R::select(long.and(angle.lt(zero)), R::constant(2.0 * PI) + angle, angle).max(zero);
    Flat { wraps: outside.and(misses.not()), points: [c, d], arc: radius * angle }
}

/// Steps of Newton towards the point inside of a circle.
const STEPS: usize = 20;

/// The point of a circle that a path touches that is pulled tight from the inside: there both straight ways have the same angle with the radius.
#[inline(always)]
fn through_circle<R: Real>(a: [R; 2], b: [R; 2], radius: R) -> Flat<R> {
    let (zero, one, tiny) = (R::zero(), R::one(), R::constant(TINY));
    let (la, lb, way) = (dot(a, a).sqrt(), dot(b, b).sqrt(), [b[0] - a[0], b[1] - a[1]]);
    let length = dot(way, way);
    let inside = radius.lt(la).and(radius.lt(lb)).not().or(radius.lt(tiny));
    // a straight way that meets the circle needs no help
    let share = -dot(a, way) / length.max(tiny);
    let nearest = [share.mul_add(way[0], a[0]), share.mul_add(way[1], a[1])];
    let meets =
        tiny.lt(length).and(zero.lt(share)).and(share.lt(one)).and(radius.lt(dot(nearest, nearest).sqrt()).not());
    let cosine = (la * la + lb * lb - length) / (R::constant(2.0) * la * lb).max(tiny);
    let opposite = cosine.lt(R::constant(TINY - 1.0));
    // where Newton finds nothing: in the middle
    let middle = [(a[0] + b[0]) * R::constant(0.5), (a[1] + b[1]) * R::constant(0.5)];
    let scale = radius / dot(middle, middle).sqrt().max(tiny);
    let middle = [middle[0] * scale, middle[1] * scale];
    // φ, the angle between either straight way and the radius: asin(A sin φ) + asin(B sin φ) − 2 φ + G = 0, which is concave
    let (of_a, of_b) = (radius / la.max(tiny), radius / lb.max(tiny));
    let between = (one - cosine * cosine).max(zero).sqrt().atan2(cosine);
    let error = |[of_a, of_b]: [R; 2], angle: R| arcsine(of_a) + arcsine(of_b) - R::constant(2.0) * angle + between;
    let slope = |of: R, x: R| x / (one - of * of).max(zero).sqrt().max(tiny);
    let mut angle = R::constant(PI / 2.0);
    let failed = R::constant(1.0 - TINY).lt(cosine).or(zero.lt(error([of_a, of_b], angle)));
    for _ in 0..STEPS {
        // Newton from above, until rounding ends it
        let (sine, cosine) = angle.sin_cos();
        let sines = [of_a * sine, of_b * sine];
        let fall = R::constant(2.0) - slope(sines[0], of_a * cosine) - slope(sines[1], of_b * cosine);
        let next = angle + error(sines, angle) / fall.max(tiny);
        angle = R::select(next.lt(angle), next, angle);
    }
    let ahead = zero.lt(cross(a, b));
    let from = [0, 1].map(|i| R::select(ahead, a[i] / la.max(tiny), b[i] / lb.max(tiny)));
    let seen = R::select(ahead, of_a, of_b) * angle.sin_cos().0;
    let (sine, cosine) = (angle - arcsine(seen)).sin_cos();
    let found = [radius * (cosine * from[0] - sine * from[1]), radius * (sine * from[0] + cosine * from[1])];
    let point = [0, 1].map(|i| R::select(failed, middle[i], found[i]));
    Flat { wraps: inside.or(meets).or(opposite).not(), points: [point, point], arc: zero }
}

#[inline(always)]
fn arcsine<R: Real>(x: R) -> R {
    x.atan2((R::one() - x * x).max(R::zero()).sqrt())
}
