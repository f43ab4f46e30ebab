//! Cylinders that stand on something flat: on a plane, on a face of a box, on the end of another cylinder.

use super::patch::Disc;
use super::plane::touch;
use super::reduce::{Candidate, Manifold};
use crate::lane::{Mask, Pack, Real};
use crate::spatial::{Mat3, Pose, Vec3, tangent_frame};

/// A cylinder whose axis leans less than this (the sine of its tilt) presses with its disc, else with its lowest points.
const LEANING: f64 = 0.1;

/// Radius and half length of a cylinder, m, of its lengths.
#[inline(always)]
pub(super) fn size<R: Real>([radius, half_length, _]: &[f64; 3]) -> [R; 2] {
    [R::constant(*radius), R::constant(*half_length)]
}

/// A cylinder over a plane as a patch: its lower disc, or, where it leans, the lowest points of its two rims (features 0 and 4, or 4 and 0 upside down, as in [`plane::cylinder`](super::plane::cylinder)).
///
/// The height of the point `c + R (a b_t + b b_o)` of the disc with axis u (in terms of the axis's part along the plane: rows that turn with the body would
/// resist its rolling on the rim):
///
/// ```text
/// g_c − R σ (a u·t + b u·o),   b_t, b_o orthogonal to u with b_t·n = −σ u·t,   σ the sign of u·n
/// ```
///
/// Points 0 to 2 of a disc are its centre and its two slopes: gap −R σ u·t, and what the angular velocity (of the second geom from the first) is multiplied by to give its rate,
/// −R σ u × t. `comes_first`: the cylinder is the first geom of the pair, and normals point from it to the plane.
#[inline(always)]
pub(crate) fn on_plane<R: Real>(
    plane: &Pose<R>,
    b: &Pose<R>,
    [radius, half_length]: [R; 2],
    comes_first: bool,
) -> (Manifold<R>, Disc<R>) {
    let one = R::one();
    let n = plane.rotation.columns[2];
    let outward = if comes_first { -one } else { one };
    let [normal, t, o] = tangent_frame(n.scale(outward));
    let axis = b.rotation.columns[2];
    let cosine = n.dot(axis);
    let down = axis.mul_add(cosine, -n);
    let sine = down.norm();
    let standing = sine.lt(R::constant(LEANING));
    // +1: the rim at −z is the lower one
    let upside_down = cosine.lt(R::zero());
    let up = R::select(upside_down, -one, one);
    let reach = up * half_length;
    let (lower, upper) = (axis.mul_add(-reach, b.position), axis.mul_add(reach, b.position));
    let toward = down.scale(radius / R::select(standing, one, sine));
    let arm = up * radius;
    let feature = |k: usize| R::constant(k as f64);
    let centre = touch(plane, lower, 8);
    let lowest = centre.gap - radius * sine;
    let mut points =
        [touch(plane, lower + toward, 0), touch(plane, upper + toward, 4), Candidate::absent(), Candidate::absent()];
    points[0].feature = R::select(upside_down, feature(4), feature(0));
    points[1].feature = R::select(upside_down, feature(0), feature(4));
    points[0] = Candidate::select(standing, centre, points[0]);
    points[0].normal = normal;
    points[1].normal = normal;
    for (k, tangent) in [(1, t), (2, o)] {
        let slope = Candidate {
            position: centre.position,
            normal: axis.cross(tangent).scale(-(arm * outward)),
            gap: -(arm * axis.dot(tangent)),
            feature: feature(8 + k),
        };
        points[k] = Candidate::select(standing, slope, points[k]);
    }
    (points, Disc { lanes: standing, radius, arm: radius * cosine.abs(), lowest })
}

/// A disc counts as lying on a face though this part of its radius is beyond its edge: what stands flush stays a disc.
const OVERHANG: f64 = 1e-3;

/// The disc with which a cylinder, the first geom, stands on the face of a box above which it is, in the lanes where all of it lies on that face.
#[inline(always)]
pub(super) fn on_box<R: Pack>(
    cylinder: &Pose<R>,
    base: &Pose<R>,
    [own, half]: &[[f64; 3]; 2],
) -> (Manifold<R>, Disc<R>) {
    let (zero, one) = (R::zero(), R::one());
    let centre = base.rotation.transpose_mul(cylinder.position - base.position);
    let centre = [centre.x, centre.y, centre.z];
    // the face that is farthest from the centre of the cylinder
    let (mut normal, mut height, mut farthest) = (Vec3::zero(), zero, R::constant(f64::NEG_INFINITY));
    for k in 0..3 {
        let away = centre[k].abs() - R::constant(half[k]);
        let farther = farthest.lt(away);
        let side = R::select(centre[k].lt(zero), -one, one);
        normal = Vec3::select(farther, base.rotation.columns[k].scale(side), normal);
        height = R::select(farther, R::constant(half[k]), height);
        farthest = R::select(farther, away, farthest);
    }
    let base_plane = face(normal.mul_add(height, base.position), normal);
    let (points, mut disc) = on_plane(&base_plane, cylinder, size(own), true);
    // |p_k| + R ≤ h_k along the face
    let p = base.rotation.transpose_mul(points[0].position - base.position);
    for (k, p) in [p.x, p.y, p.z].into_iter().enumerate() {
        let along = base.rotation.columns[k].dot(normal).abs().lt(R::constant(0.5));
        let beyond = R::constant(half[k] - (1.0 - OVERHANG) * own[0]).lt(p.abs());
        disc.lanes = disc.lanes.and(along.and(beyond).not());
    }
    (points, disc)
}

/// The disc with which one cylinder stands on an end of another that is no narrower, in the lanes where all of it lies there.
#[inline(always)]
pub(super) fn on_cylinder<R: Pack>(
    a: &Pose<R>,
    b: &Pose<R>,
    [first, second]: &[[f64; 3]; 2],
) -> (Manifold<R>, Disc<R>) {
    let comes_first = first[0] <= second[0];
    let (top, base, own, under) = if comes_first { (a, b, first, second) } else { (b, a, second, first) };
    let axis = base.rotation.columns[2];
    let below = axis.dot(top.position - base.position).lt(R::zero());
    let normal = axis.scale(R::select(below, -R::one(), R::one()));
    let end = normal.mul_add(R::constant(under[1]), base.position);
    let (points, mut disc) = on_plane(&face(end, normal), top, size(own), comes_first);
    // |p − e| + R ≤ R' across the axis
    let arm = points[0].position - end;
    let across = arm - normal.scale(normal.dot(arm));
    let beyond = R::constant(under[0] - (1.0 - OVERHANG) * own[0]).lt(across.norm());
    disc.lanes = disc.lanes.and(beyond.not());
    (points, disc)
}

/// The plane through `position` with a normal: of its axes only z is meant.
#[inline(always)]
fn face<R: Real>(position: Vec3<R>, normal: Vec3<R>) -> Pose<R> {
    Pose { position, rotation: Mat3 { columns: [Vec3::zero(), Vec3::zero(), normal] } }
}
