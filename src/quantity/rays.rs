//! Distances that rangefinders measure: from the origin of a site along its z axis to the nearest surface.

use super::evaluation::{Evaluation, Now, pose};
use crate::lane::{Mask, Real};
use crate::model::{Frame, Geom, Shape};
use crate::spatial::{Vec3, vec3};

/// What is farther away is not there, m: finite, so that shaders can have it.
const FAR: f64 = 1e30;
/// A ray that is so much along a plane or a face, of unit length, never meets it.
const ALONG: f64 = 1e-15;

/// Distance from a site to the nearest geom that it sees, m, −1 where there is none. Geoms of the body of the site are not seen.
#[inline(always)]
pub(super) fn range<R: Real>(site: usize, now: &Now<'_, R>, e: &Evaluation<R>) -> R {
    let own = pose(now, e, Frame::Site(site));
    let (from, along) = (own.position, own.rotation.columns[2]);
    let mut nearest = R::constant(FAR);
    for (g, geom) in now.model.geoms.iter().enumerate() {
        if !geom.is_seen || geom.body == now.model.sites[site].body {
            continue;
        }
        let pose = pose(now, e, Frame::Geom(g));
        let (o, d) = (pose.rotation.transpose_mul(from - pose.position), pose.rotation.transpose_mul(along));
        nearest = distance(geom, lengths(g, now), o, d).min(nearest);
    }
    R::select(nearest.lt(R::constant(FAR)), nearest, R::constant(-1.0))
}

/// The lengths of a geom, as [`Shape::size`] has them, in every world its own.
#[inline(always)]
fn lengths<R: Real>(g: usize, now: &Now<'_, R>) -> [R; 3] {
    if let Some(&[a, b, c]) = now.parameters.geom_size.get(3 * g..3 * g + 3) {
        return [a, b, c];
    }
    let [a, b, c] = now.model.geoms[g].shape.size();
    [R::constant(a), R::constant(b), R::constant(c)]
}

/// Along the unit vector d from o, both in the axes of the geom, to its surface; [`FAR`] where that is not met.
#[inline(always)]
fn distance<R: Real>(geom: &Geom, [a, b, c]: [R; 3], o: Vec3<R>, d: Vec3<R>) -> R {
    let far = R::constant(FAR);
    match &geom.shape {
        Shape::Plane => {
            // from its upper side, as far as it goes
            let ahead = R::constant(ALONG).lt(-d.z);
            let t = -o.z / R::select(ahead, d.z, R::one());
            let mut met = ahead.and(t.lt(R::zero()).not());
            let at = d.mul_add(t, o);
            for (x, half) in [(at.x, geom.plane_half[0]), (at.y, geom.plane_half[1])] {
                if half.is_finite() {
                    met = met.and(R::constant(half).lt(x.abs()).not());
                }
            }
            R::select(met, t, far)
        }
        Shape::Sphere { .. } => ahead(roots(R::one(), o.dot(d), a.mul_add(-a, o.dot(o)))),
        Shape::Ellipsoid { .. } => {
            let (o, d) = (vec3(o.x / a, o.y / b, o.z / c), vec3(d.x / a, d.y / b, d.z / c));
            ahead(roots(d.dot(d), o.dot(d), o.dot(o) - R::one()))
        }
        Shape::Box { .. } => {
            let (mut enters, mut leaves) = (-far, far);
            for (half, o, d) in [(a, o.x, d.x), (b, o.y, d.y), (c, o.z, d.z)] {
                let [first, last] = between_faces(half, o, d);
                (enters, leaves) = (first.max(enters), last.min(leaves));
            }
            of_solid([enters, leaves])
        }
        Shape::Cylinder { .. } => {
            let [enters, leaves] = around(a, o, d);
            let [first, last] = between_faces(b, o.z, d.z);
            of_solid([first.max(enters), last.min(leaves)])
        }
        Shape::Capsule { .. } => {
            // its sides between the centres of its ends, and its ends beyond them: it is convex, so that of the first it enters by the nearest and leaves by the farthest
            let [enters, leaves] = around(a, o, d);
            let [first, last] = between_faces(b, o.z, d.z);
            let (mut enters, mut leaves) = (first.max(enters), last.min(leaves));
            let missed = leaves.lt(enters);
            (enters, leaves) = (R::select(missed, far, enters), R::select(missed, -far, leaves));
            for end in [b, -b] {
                let o = vec3(o.x, o.y, o.z - end);
                let [first, last] = roots(R::one(), o.dot(d), a.mul_add(-a, o.dot(o)));
                let missed = last.lt(first);
                enters = R::select(missed, far, first).min(enters);
                leaves = R::select(missed, -far, last).max(leaves);
            }
            of_solid([enters, leaves])
        }
        // not seen: the reader says so
        Shape::HeightField(_) | Shape::Hull(_) => far,
    }
}

/// Both t of a t² + 2 b t + c = 0, the lower first; the first beyond the last where there is none. a > 0.
#[inline(always)]
fn roots<R: Real>(a: R, b: R, c: R) -> [R; 2] {
    let square = b.mul_add(b, -(a * c));
    let none = square.lt(R::zero());
    let root = square.max(R::zero()).sqrt();
    let far = R::constant(FAR);
    [R::select(none, far, (-b - root) / a), R::select(none, -far, (root - b) / a)]
}

/// Where a line is within a cylinder about z without ends.
#[inline(always)]
fn around<R: Real>(radius: R, o: Vec3<R>, d: Vec3<R>) -> [R; 2] {
    let across = d.x.mul_add(d.x, d.y * d.y);
    let c = o.x.mul_add(o.x, o.y * o.y) - radius * radius;
    let turned = R::constant(ALONG * ALONG).lt(across);
    let [first, last] = roots(R::select(turned, across, R::one()), o.x.mul_add(d.x, o.y * d.y), c);
    all_or(turned, c.lt(R::zero()), [first, last])
}

/// Where a line is between −h and h along an axis.
#[inline(always)]
fn between_faces<R: Real>(half: R, o: R, d: R) -> [R; 2] {
    let turned = R::constant(ALONG).lt(d.abs());
    let share = R::one() / R::select(turned, d, R::one());
    let (one, other) = ((-half - o) * share, (half - o) * share);
    all_or(turned, o.abs().lt(half), [one.min(other), one.max(other)])
}

/// What is given where `turned`; elsewhere everywhere or nowhere, by `inside`.
#[inline(always)]
fn all_or<R: Real>(turned: R::Mask, inside: R::Mask, [first, last]: [R; 2]) -> [R; 2] {
    let far = R::constant(FAR);
    let other = R::select(inside, far, -far);
    [R::select(turned, first, -other), R::select(turned, last, other)]
}

/// The first t that is not negative at which a solid is entered or left.
#[inline(always)]
fn of_solid<R: Real>([enters, leaves]: [R; 2]) -> R {
    let far = R::constant(FAR);
    R::select(leaves.lt(enters), far, ahead([enters, leaves]))
}

/// The first of two that is not negative.
#[inline(always)]
fn ahead<R: Real>([first, last]: [R; 2]) -> R {
    let (zero, far) = (R::zero(), R::constant(FAR));
    R::select(first.lt(zero), R::select(last.lt(zero), far, last), first)
}
