//! A half space against every other shape. Its normal n is its z axis; a point x is n · (x − p) above it.

use super::reduce::{Candidate, Manifold, Source, reduce};
use super::round::Rod;
use crate::lane::Real;
use crate::model::Hull;
use crate::spatial::{Pose, Vec3, vec3};

/// The height of the point `x` of the other geom above the plane, as a candidate.
#[inline(always)]
pub(super) fn touch<R: Real>(plane: &Pose<R>, x: Vec3<R>, feature: usize) -> Candidate<R> {
    let n = plane.rotation.columns[2];
    Candidate::on_second(x, n, n.dot(x - plane.position), feature)
}

/// A sphere of radius `r`: its lowest point.
#[inline(always)]
pub(super) fn sphere<R: Real>(plane: &Pose<R>, centre: Vec3<R>, r: R, feature: usize) -> Candidate<R> {
    let n = plane.rotation.columns[2];
    touch(plane, n.mul_add(-r, centre), feature)
}

/// A capsule: the lowest points of its two caps (features 0 and 1).
#[inline(always)]
pub(super) fn capsule<R: Real>(plane: &Pose<R>, b: &Pose<R>, rod: Rod<R>) -> [Candidate<R>; 2] {
    let Rod { radius: r, half_length: h } = rod;
    let axis = b.rotation.columns[2];
    let low = sphere(plane, axis.mul_add(-h, b.position), r, 0);
    let high = sphere(plane, axis.mul_add(h, b.position), r, 1);
    [low, high]
}

/// An ellipsoid: the point where its outward normal is −n, x = c − A D² Aᵀn / |D Aᵀn| with D = diag(d), d the half axes.
#[inline(always)]
pub(super) fn ellipsoid<R: Real>(plane: &Pose<R>, b: &Pose<R>, d: Vec3<R>) -> Candidate<R> {
    let m = b.rotation.transpose_mul(plane.rotation.columns[2]);
    let dm = vec3(d.x * m.x, d.y * m.y, d.z * m.z);
    let k = R::constant(-1.0) / dm.norm();
    touch(plane, b.point(vec3(d.x * dm.x, d.y * dm.y, d.z * dm.z).scale(k)), 0)
}

/// Sine of the tilt below which a cylinder counts as standing and shows points fixed to itself; its lowest point is then missed by less
/// than 3·10⁻⁶ radii.
const STANDING: f64 = 1e-5;

/// A cylinder: on the lower rim the lowest point and three more, 90° apart; on the other rim the lowest point.
///
/// A cylinder that stands shows four points, one that lies shows the two ends of its line. Features: 0 to 3 around the rim at −z, 4 to 7 around
/// the one at +z, starting with the lowest point.
#[cfg_attr(not(test), inline(always))]
#[cfg_attr(test, inline(never))]
pub(super) fn cylinder<R: Real>(plane: &Pose<R>, b: &Pose<R>, rod: Rod<R>, threshold: R, size: R) -> Manifold<R> {
    let n = plane.rotation.columns[2];
    let [x_axis, _, axis] = b.rotation.columns;
    let cosine = n.dot(axis);
    // Down along the disc: (n·a) a − n, of length sin(tilt).
    let down = axis.mul_add(cosine, -n);
    let sine = down.norm();
    let tilted = R::constant(STANDING).lt(sine);
    let u = Vec3::select(tilted, down.scale(R::one() / R::select(tilted, sine, R::one())), x_axis);
    let side = axis.cross(u);
    // +1: the rim at +z is the lower one.
    let upside_down = cosine.lt(R::zero());
    let s = R::select(upside_down, R::one(), -R::one());
    let Rod { radius, half_length } = rod;
    let lower = axis.mul_add(s * half_length, b.position);
    let upper = axis.mul_add(-s * half_length, b.position);
    let mut points = [
        touch(plane, u.mul_add(radius, lower), 0),
        touch(plane, side.mul_add(radius, lower), 1),
        touch(plane, u.mul_add(-radius, lower), 2),
        touch(plane, side.mul_add(-radius, lower), 3),
        touch(plane, u.mul_add(radius, upper), 4),
    ];
    for k in 0..5 {
        let (straight, flipped) = (R::constant(k as f64), R::constant(((k + 4) % 8) as f64));
        points[k].feature = R::select(upside_down, flipped, straight);
    }
    reduce(&points[..], threshold, size)
}

/// The corners of a box; corner k is at +x, +y, +z where bits 0, 1, 2 of k are set (feature k).
#[cfg_attr(not(test), inline(always))]
#[cfg_attr(test, inline(never))]
pub(super) fn cuboid<R: Real>(plane: &Pose<R>, b: &Pose<R>, half: Vec3<R>, threshold: R, size: R) -> Manifold<R> {
    let [x, y, z] = b.rotation.columns;
    let (x, y, z) = (x.scale(half.x), y.scale(half.y), z.scale(half.z));
    let mut corners = [Candidate::absent(); 8];
    for k in 0..8 {
        let x = if k & 1 == 0 { -x } else { x };
        let y = if k & 2 == 0 { -y } else { y };
        let z = if k & 4 == 0 { -z } else { z };
        corners[k] = touch(plane, b.position + (x + y + z), k);
    }
    reduce(&corners[..], threshold, size)
}

/// The vertices of a hull (feature: index of the vertex), computed anew in each pass of the reduction.
struct Vertices<'a, R> {
    plane: &'a Pose<R>,
    pose: &'a Pose<R>,
    hull: &'a Hull,
}

impl<R: Real> Source<R> for Vertices<'_, R> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.hull.vertices.len()
    }
    #[inline(always)]
    fn get(&self, k: usize) -> Candidate<R> {
        touch(self.plane, self.pose.point(Vec3::constant(&self.hull.vertices[k])), k)
    }
}

/// A hull: four of its vertices.
#[cfg_attr(not(test), inline(always))]
#[cfg_attr(test, inline(never))]
pub(super) fn hull<R: Real>(plane: &Pose<R>, pose: &Pose<R>, hull: &Hull, threshold: R, size: R) -> Manifold<R> {
    reduce(&Vertices { plane, pose, hull }, threshold, size)
}
