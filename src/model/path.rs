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
    for (i, part) in path.iter().enumerate() {
        match (*part, path.get(i + 1), path.get(i + 2)) {
            (Waypoint::Pulley(divisor), _, _) => share = R::constant(1.0 / divisor),
            (Waypoint::Site(a), Some(&Waypoint::Site(b)), _) => {
                let bodies = [model.sites[a].body, model.sites[b].body];
                out.push(Stretch { bodies, ends: [place(model, poses, a), place(model, poses, b)], share });
            }
            (Waypoint::Site(a), Some(&Waypoint::Around { geom, side }), Some(&Waypoint::Site(b))) => {
                let ends = [place(model, poses, a), place(model, poses, b)];
                let wrap = around(model, geom, poses, ends, side);
                let (first, last) = (model.sites[a].body, model.sites[b].body);
                let (body, zero) = (model.geoms[geom].body, R::zero());
                let (there, straight) = (R::select(wrap.wraps, share, zero), R::select(wrap.wraps, zero, share));
                out.push(Stretch { bodies: [first, last], ends, share: straight });
                out.push(Stretch {
                    bodies: [first, body],
                    ends: [ends[0], Vec3::select(wrap.wraps, wrap.points[0], ends[0])],
                    share: there,
                });
                out.push(Stretch {
                    bodies: [body, last],
                    ends: [Vec3::select(wrap.wraps, wrap.points[1], ends[1]), ends[1]],
                    share: there,
                });
                arcs += R::select(wrap.wraps, wrap.arc * share, zero);
            }
            _ => {}
        }
    }
    arcs
}

/// Where a site is, m.
#[inline(always)]
fn place<R: Real>(model: &Model, poses: &[Pose<R>], site: usize) -> Vec3<R> {
    let site = &model.sites[site];
    poses[site.body].constant_point(&site.position)
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
fn around<R: Real>(model: &Model, geom: usize, poses: &[Pose<R>], ends: [Vec3<R>; 2], side: Option<usize>) -> Wrap<R> {
    let geom = &model.geoms[geom];
    let (body, turn) = (&poses[geom.body], geom.orientation.to_rotation_matrix());
    let (center, rotation) = (body.constant_point(&geom.position), body.rotation * Mat3::constant(turn.matrix()));
    let (p, q) = (rotation.transpose_mul(ends[0] - center), rotation.transpose_mul(ends[1] - center));
    let (radius, sphere) = match geom.shape {
        Shape::Sphere { radius } => (radius, true),
        Shape::Cylinder { radius, .. } => (radius, false),
        // no other is in a path (`check`)
        _ => (0.0, true),
    };
    // the plane that it goes around in
    let plane = if sphere { great_circle(p, q) } else { [Vec3::unit(0), Vec3::unit(1)] };
    let (a, b) = (flat(plane, p), flat(plane, q));
    let Flat { wraps, points: [c, d], mut arc } = match side {
        None => around_circle(a, b, R::constant(radius), None),
        Some(side) => {
            let side = rotation.transpose_mul(place(model, poses, side) - center);
            let inside = side.dot(side).lt(R::constant(radius * radius));
            let outer = around_circle(a, b, R::constant(radius), Some(flat(plane, side)));
            let (wraps, point) = through_circle(a, b, R::constant(radius));
            let [c, d] = outer.points;
            Flat {
                wraps: inside.and(wraps).or(inside.not().and(outer.wraps)),
                points: [choose(inside, point, c), choose(inside, point, d)],
                arc: R::select(inside, R::zero(), outer.arc),
            }
        }
    };
    let [e, f] = plane;
    let (mut first, mut last) = (e.scale(c[0]) + f.scale(c[1]), e.scale(d[0]) + f.scale(d[1]));
    if !sphere {
        // along the axis, in proportion to the way around it
        let (before, after) = (distance(a, c), distance(d, b));
        let (whole, rise) = ((before + arc + after).max(R::constant(TINY)), q.z - p.z);
        first.z = p.z + rise * (before / whole);
        last.z = p.z + rise * ((before + arc) / whole);
        let height = last.z - first.z;
        arc = arc.mul_add(arc, height * height).sqrt();
    }
    Wrap { wraps, points: [center + rotation * first, center + rotation * last], arc }
}

/// Coordinates in a plane.
#[inline(always)]
fn flat<R: Real>([e, f]: [Vec3<R>; 2], x: Vec3<R>) -> [R; 2] {
    [e.dot(x), f.dot(x)]
}

#[inline(always)]
fn choose<R: Real>(mask: R::Mask, yes: [R; 2], no: [R; 2]) -> [R; 2] {
    [R::select(mask, yes[0], no[0]), R::select(mask, yes[1], no[1])]
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

/// Steps of Newton towards the point inside of a circle; most are there in five.
const STEPS: usize = 10;
/// The longest step, rad.
const LONGEST: f64 = 0.5;

/// The point of a circle that a path touches that is pulled tight from the inside, where both straight ways have the same angle with the radius; none where the straight way meets the circle.
#[inline(always)]
fn through_circle<R: Real>(a: [R; 2], b: [R; 2], radius: R) -> (R::Mask, [R; 2]) {
    let (zero, one, tiny) = (R::zero(), R::one(), R::constant(TINY));
    let (la, lb, way) = (dot(a, a).sqrt(), dot(b, b).sqrt(), [b[0] - a[0], b[1] - a[1]]);
    let length = dot(way, way);
    let inside = radius.lt(la).and(radius.lt(lb)).not().or(radius.lt(tiny));
    let share = -dot(a, way) / length.max(tiny);
    let nearest = [share.mul_add(way[0], a[0]), share.mul_add(way[1], a[1])];
    let meets =
        tiny.lt(length).and(zero.lt(share)).and(share.lt(one)).and(radius.lt(dot(nearest, nearest).sqrt()).not());
    // u, between a and b as small angles have it: next to the one that is next to the circle
    let (of_a, of_b) = ((lb - radius) / (lb * la), (la - radius) / (la * lb));
    let mut u = unit([of_a * a[0] + of_b * b[0], of_a * a[1] + of_b * b[1]]);
    for _ in 0..STEPS {
        // h = t · (α + β), with the tangent t and the directions α, β to both ends; it falls as u turns
        let t = [-u[1], u[0]];
        let (to_a, to_b) = ([a[0] - radius * u[0], a[1] - radius * u[1]], [b[0] - radius * u[0], b[1] - radius * u[1]]);
        let (far_a, far_b) = (dot(to_a, to_a).sqrt().max(tiny), dot(to_b, to_b).sqrt().max(tiny));
        let (ta, tb) = (dot(t, to_a) / far_a, dot(t, to_b) / far_b);
        let fall =
            dot(u, to_a) / far_a + dot(u, to_b) / far_b + radius * ((one - ta * ta) / far_a + (one - tb * tb) / far_b);
        let turn = ((ta + tb) / fall.max(tiny)).max(R::constant(-LONGEST)).min(R::constant(LONGEST));
        u = unit([turn.mul_add(t[0], u[0]), turn.mul_add(t[1], u[1])]);
    }
    (inside.or(meets).not(), [radius * u[0], radius * u[1]])
}

#[inline(always)]
fn unit<R: Real>(x: [R; 2]) -> [R; 2] {
    let inverse = R::one() / dot(x, x).sqrt().max(R::constant(TINY));
    [x[0] * inverse, x[1] * inverse]
}
