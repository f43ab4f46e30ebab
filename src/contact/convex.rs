//! General convex pairs, in f64: the normal and the nearest points by GJK and EPA (`parry3d-f64`), then the faces that look at
//! each other clipped, so that a body at rest has several points.

use super::boxes::Cuboid;
use super::clip::{CORNERS, Face, Point, Points, face_points};
use super::corner::Way;
use crate::lane::Scalar;
use crate::model::{Hull, Shape};
use crate::spatial::{Pose, Vec3};
use nalgebra::{Matrix3, Vector3};
use parry3d_f64::math::{Pose as ParryPose, Vector};
use parry3d_f64::query::details::contact_support_map_support_map_with_params;
use parry3d_f64::query::gjk::{GJKResult, VoronoiSimplex};
use parry3d_f64::shape::SupportMap;
use std::collections::HashMap;
use std::sync::Arc;

/// Corners of the polygon that stands for the cap of a cylinder; one of them is its lowest point.
const CAP: usize = 12;
/// A face is taken for the contact if along its normal the bodies are this part of their size deeper than the nearest points say, or less.
const FLAT: f64 = 1e-4;
/// Distances that differ by less than this part of the size count as equal.
const EQUAL: f64 = 1e-6;
/// A normal is trusted if it separates by the distance less this part of the size.
const NORMAL: f64 = 1e-4;
/// The feature of the nearest points; no corner of clipped faces has it.
const NEAREST: usize = (1 << 24) - 1;
/// Most steps of a climb.
const CLIMB: usize = 100;
/// A climb ends where the normal cannot be turned by this angle (rad) without a loss: at a face or an edge, whose support points jump, its gradient never ends.
const TURN: f64 = 1e-10;
/// Unit normals that differ by less are one: climbing from either, the first turns are far larger. Distances along them differ by 1e-6 of the bodies' lengths, about what [`EQUAL`] does not tell apart.
const SAME: f64 = 1e-6;
/// How far bodies that touch are moved apart to find their direction, in turn, as parts of the size.
const APART: [f64; 5] = [1e-2, 1e-3, 1e-4, 1e-5, 1e-5];

/// The faces of a hull: its triangles, with those in one plane merged.
#[derive(Debug)]
pub(super) struct HullFaces {
    vertices: Vec<Vector3<f64>>,
    /// How a corner is found.
    way: Way,
    normals: Vec<Vector3<f64>>,
    /// Corners of each face, counter-clockwise; of a face with more than [`CORNERS`] every second, third …
    corners: Vec<Vec<usize>>,
    /// Largest distance of a vertex from the origin, m.
    reach: f64,
}

/// Cells along an axis of a unit, see [`HullFaces::new`].
const CELLS: f64 = 1e3;

impl HullFaces {
    /// Corners in the frame of the mesh, m.
    #[inline(always)]
    pub fn vertices(&self) -> &[Vector3<f64>] {
        &self.vertices
    }
    /// Largest distance of a corner from the origin, m.
    #[inline(always)]
    pub fn reach(&self) -> f64 {
        self.reach
    }
    /// The corner that is farthest along `n`, m; the origin if there is none.
    pub fn farthest(&self, n: &Vector3<f64>) -> Vector3<f64> {
        self.way.farthest(&self.vertices, n).map_or_else(Vector3::zeros, |k| self.vertices[k])
    }
    /// Outward unit normals of the faces, and how far their planes are from the origin, m.
    #[inline(always)]
    pub fn planes(&self) -> impl Iterator<Item = (&Vector3<f64>, f64)> {
        self.normals.iter().zip(&self.corners).map(|(normal, corners)| (normal, normal.dot(&self.vertices[corners[0]])))
    }
    fn new(hull: &Hull) -> Self {
        let v = &hull.vertices;
        let size = v.iter().map(Vector3::norm).fold(0.0, f64::max);
        let way = Way::new(hull);
        let mut faces = Self { vertices: v.clone(), way, normals: Vec::new(), corners: Vec::new(), reach: size };
        // Faces by the cell that their normal is in: what is in the plane of a triangle is within 5e-5 of its normal, so it is in one of a few.
        let mut by_cell: HashMap<[i32; 3], Vec<usize>> = HashMap::new();
        let cell = |x: f64| (x * CELLS).floor() as i32;
        for &[a, b, c] in &hull.triangles {
            let Some(n) = (v[b] - v[a]).cross(&(v[c] - v[a])).try_normalize(f64::MIN_POSITIVE) else { continue };
            let in_plane = |f: usize| {
                let normal: &Vector3<f64> = &faces.normals[f];
                let offset = normal.dot(&(v[a] - v[faces.corners[f][0]])).abs();
                normal.dot(&n) > 1.0 - 1e-9 && offset < 1e-6 * size
            };
            let near = [n.x, n.y, n.z].map(|x| cell(x - 5e-5)..=cell(x + 5e-5));
            let mut first = None;
            for x in near[0].clone() {
                for y in near[1].clone() {
                    for z in near[2].clone() {
                        let faces = by_cell.get(&[x, y, z]).into_iter().flatten().copied();
                        first = faces.filter(|&f| in_plane(f)).chain(first).min();
                    }
                }
            }
            if let Some(f) = first {
                for k in [a, b, c] {
                    if !faces.corners[f].contains(&k) {
                        faces.corners[f].push(k);
                    }
                }
            } else {
                by_cell.entry([cell(n.x), cell(n.y), cell(n.z)]).or_default().push(faces.normals.len());
                faces.normals.push(n);
                faces.corners.push(vec![a, b, c]);
            }
        }
        for (normal, corners) in faces.normals.iter().zip(&mut faces.corners) {
            // In the order of the angle about the middle.
            let middle = corners.iter().map(|&k| v[k]).sum::<Vector3<f64>>() / corners.len() as f64;
            let u = v[corners[0]] - middle;
            let w = normal.cross(&u);
            let angle = |k: usize| w.dot(&(v[k] - middle)).atan2(u.dot(&(v[k] - middle)));
            corners.sort_by(|&i, &j| angle(i).total_cmp(&angle(j)));
            let step = corners.len().div_ceil(CORNERS);
            *corners = corners.iter().copied().step_by(step).collect();
        }
        faces
    }
}

/// A convex shape: a core, rounded by a radius.
#[derive(Debug, Clone)]
pub(super) enum Solid {
    /// A sphere: a point and a radius.
    Ball(f64),
    /// A capsule: a segment (half length) and a radius.
    Rod(f64, f64),
    /// Half axes.
    Ellipsoid(Vector3<f64>),
    /// Radius and half length.
    Cylinder(f64, f64),
    /// Half edges.
    Box(Vector3<f64>),
    /// Vertices and faces.
    Hull(Arc<HullFaces>),
}

impl Solid {
    /// The solid of a shape; none for ground.
    pub fn new(shape: &Shape) -> Option<Self> {
        Some(match shape {
            Shape::Plane | Shape::HeightField(_) => return None,
            Shape::Sphere { radius } => Self::Ball(*radius),
            Shape::Capsule { radius, half_length } => Self::Rod(*half_length, *radius),
            Shape::Ellipsoid { radii } => Self::Ellipsoid(*radii),
            Shape::Cylinder { radius, half_length } => Self::Cylinder(*radius, *half_length),
            Shape::Box { half } => Self::Box(*half),
            Shape::Hull(hull) => Self::Hull(Arc::new(HullFaces::new(hull))),
        })
    }
    /// The same kind of solid of another [`Shape::size`]; a hull as it is.
    pub fn resized(&self, [x, y, z]: [f64; 3]) -> Self {
        match self {
            Self::Ball(_) => Self::Ball(x),
            Self::Rod(..) => Self::Rod(y, x),
            Self::Ellipsoid(_) => Self::Ellipsoid(Vector3::new(x, y, z)),
            Self::Cylinder(..) => Self::Cylinder(x, y),
            Self::Box(_) => Self::Box(Vector3::new(x, y, z)),
            Self::Hull(faces) => Self::Hull(Arc::clone(faces)),
        }
    }
    fn radius(&self) -> f64 {
        match self {
            Self::Ball(radius) | Self::Rod(_, radius) => *radius,
            _ => 0.0,
        }
    }
    /// The point of the core that is farthest along `n`, in the solid's frame.
    fn support(&self, n: &Vector3<f64>) -> Vector3<f64> {
        match self {
            Self::Ball(_) => Vector3::zeros(),
            Self::Rod(half, _) => Vector3::new(0.0, 0.0, half.copysign(n.z)),
            // D² n / |D n|
            Self::Ellipsoid(d) => {
                let dn = d.component_mul(n);
                let norm = dn.norm();
                if norm > 0.0 { d.component_mul(&dn) / norm } else { Vector3::new(0.0, 0.0, d.z) }
            }
            Self::Cylinder(radius, half) => {
                let across = (n.x * n.x + n.y * n.y).sqrt();
                let k = if across > 0.0 { radius / across } else { 0.0 };
                Vector3::new(n.x * k, n.y * k, half.copysign(n.z))
            }
            Self::Box(half) => Vector3::new(half.x.copysign(n.x), half.y.copysign(n.y), half.z.copysign(n.z)),
            Self::Hull(faces) => faces.farthest(n),
        }
    }
}

/// A solid in its place, in world axes about the first solid's centre.
struct Placed<'a> {
    solid: &'a Solid,
    centre: Vector3<f64>,
    rotation: Matrix3<f64>,
}

impl SupportMap for Placed<'_> {
    fn local_support_point(&self, n: Vector) -> Vector {
        let p = self.support(&Vector3::new(n.x, n.y, n.z));
        Vector::new(p.x, p.y, p.z)
    }
}

impl Placed<'_> {
    fn support(&self, n: &Vector3<f64>) -> Vector3<f64> {
        self.centre + self.rotation * self.solid.support(&self.rotation.tr_mul(n))
    }
    /// The face or edge of the core that looks along `n`, if one does; `lowest` is a point to have among the corners of a round cap.
    fn face(&self, n: &Vector3<f64>, lowest: &Vector3<f64>) -> Option<Face> {
        let axis = self.rotation.column(2).into_owned();
        let cosine = axis.dot(n);
        let mut corners = [Vector3::zeros(); CORNERS];
        match self.solid {
            Solid::Box(half) => Some(self.cuboid(half).face(n)),
            Solid::Rod(half, _) | Solid::Cylinder(_, half) if cosine.abs() < 0.5 => {
                let normal = (n - axis * cosine).normalize();
                let radius = if let Solid::Cylinder(radius, _) = self.solid { *radius } else { 0.0 };
                let middle = self.centre + normal * radius;
                corners[0] = middle - axis * *half;
                corners[1] = middle + axis * *half;
                Some(Face { corners, count: 2, normal, index: 2, round: false })
            }
            Solid::Ball(_) | Solid::Ellipsoid(_) | Solid::Rod(..) => None,
            Solid::Cylinder(radius, half) => {
                let normal = axis * 1f64.copysign(cosine);
                let middle = self.centre + normal * *half;
                let out = lowest - middle;
                let out = out - axis * axis.dot(&out);
                let u = if out.norm() > 0.5 * radius { out.normalize() } else { self.rotation.column(0).into_owned() };
                let v = normal.cross(&u);
                for (k, corner) in corners.iter_mut().take(CAP).enumerate() {
                    let (sin, cos) = (k as f64 * (std::f64::consts::TAU / CAP as f64)).sin_cos();
                    *corner = middle + (u * cos + v * sin) * *radius;
                }
                Some(Face { corners, count: CAP, normal, index: usize::from(cosine < 0.0), round: true })
            }
            Solid::Hull(faces) => {
                let local = self.rotation.tr_mul(n);
                let mut best = (f64::NEG_INFINITY, 0);
                for (f, normal) in faces.normals.iter().enumerate() {
                    let along = local.dot(normal);
                    if along > best.0 {
                        best = (along, f);
                    }
                }
                let polygon = faces.corners.get(best.1)?;
                for (corner, &k) in corners.iter_mut().zip(polygon) {
                    *corner = self.centre + self.rotation * faces.vertices[k];
                }
                let normal = self.rotation * faces.normals[best.1];
                Some(Face { corners, count: polygon.len(), normal, index: best.1, round: false })
            }
        }
    }
    fn cuboid(&self, half: &Vector3<f64>) -> Cuboid {
        Cuboid { centre: self.centre, rotation: self.rotation, half: *half }
    }
}

/// Finds the points of two solids that are within `threshold` (m) of each other; none where a pose is not finite.
#[inline(never)]
pub(super) fn convex_convex<S: Scalar>(
    [a, b]: &[Solid; 2],
    pa: &Pose<S>,
    pb: &Pose<S>,
    threshold: f64,
    size: f64,
    points: &mut Points,
) {
    points.clear();
    let origin = vector(pa.position);
    let first = Placed { solid: a, centre: Vector3::zeros(), rotation: matrix(pa) };
    let second = Placed { solid: b, centre: vector(pb.position) - origin, rotation: matrix(pb) };
    let finite = |p: &Placed| p.centre.iter().chain(p.rotation.iter()).all(|x| x.is_finite());
    if !(finite(&first) && finite(&second) && threshold.is_finite()) {
        return;
    }
    general(&first, &second, threshold, size, points);
    points.shift(&origin);
}

fn vector<S: Scalar>(v: Vec3<S>) -> Vector3<f64> {
    Vector3::new(v.x.to_f64(), v.y.to_f64(), v.z.to_f64())
}
fn matrix<S: Scalar>(p: &Pose<S>) -> Matrix3<f64> {
    Matrix3::from_columns(&p.rotation.columns.map(vector))
}

/// The least distance of two cores along a unit vector n from the first to the second: s(n) = min n·x over b − max n·x over a. It is never
/// more than their distance, and equal to it for the best n.
fn separation(a: &Placed, b: &Placed, n: &Vector3<f64>) -> f64 {
    n.dot(&b.support(&-n)) - n.dot(&a.support(n))
}

/// The nearest points of two cores, one on each, and the unit normal between them.
struct Nearest {
    first: Vector3<f64>,
    second: Vector3<f64>,
    normal: Vector3<f64>,
}

impl Nearest {
    /// What the support points along `normal` say.
    fn along(a: &Placed, b: &Placed, normal: Vector3<f64>) -> Self {
        Self { first: a.support(&normal), second: b.support(&-normal), normal }
    }
    /// Signed distance along the normal, m.
    fn distance(&self) -> f64 {
        self.normal.dot(&(self.second - self.first))
    }
    /// The best of the line of centres and the normals of both solids.
    fn guess(a: &Placed, b: &Placed) -> Self {
        let centres = b.centre.try_normalize(f64::MIN_POSITIVE).unwrap_or_else(Vector3::z);
        let mut best = Self::along(a, b, centres);
        let mut consider = |n: Vector3<f64>| {
            let other = Self::along(a, b, n * 1f64.copysign(n.dot(&b.centre)));
            if other.distance() > best.distance() {
                best = other;
            }
        };
        for body in [a, b] {
            body.rotation.column_iter().for_each(|axis| consider(axis.into_owned()));
            if let Solid::Hull(faces) = body.solid {
                faces.normals.iter().for_each(|n| consider(body.rotation * n));
            }
        }
        best
    }
    /// The direction that bodies have which are moved apart along the best one so far, a little beyond where they surely part, in turn: of bodies that only touch,
    /// GJK loses it in rounding, and the best of a few normals may say that they overlap deeply.
    fn part(mut self, a: &Placed, b: &Placed, size: f64) -> Self {
        for share in APART {
            let way = self.normal * (share * size - self.distance().min(0.0));
            let moved = Placed { solid: b.solid, centre: b.centre + way, rotation: b.rotation };
            let result = closest(a, &moved, 2.0 * way.norm(), &self.normal);
            let GJKResult::ClosestPoints(_, _, n) = result else { break };
            let other = Self::along(a, b, Vector3::new(n.x, n.y, n.z));
            if other.distance() > self.distance() {
                self = other;
            }
        }
        self
    }
    /// Climbs to the n of the largest s(n) by its gradient, the part of q − p across n. On smooth bodies that is where p and q face each other.
    fn climb(mut self, a: &Placed, b: &Placed, size: f64) -> Self {
        let mut step = 1.0 / size;
        for _ in 0..CLIMB {
            let distance = self.distance();
            let gradient = self.second - self.first - self.normal * distance;
            let steepness = gradient.norm();
            if steepness < 1e-8 * size || steepness * step < TURN {
                break;
            }
            let next = Self::along(a, b, (self.normal + gradient * step).normalize());
            if next.distance() > distance {
                self = next;
                step *= 2.0;
            } else {
                step *= 0.25;
            }
        }
        self
    }
}

/// What GJK and EPA say of two cores that are within `within` (m) of each other, from a direction to begin with.
fn closest(a: &Placed, b: &Placed, within: f64, start: &Vector3<f64>) -> GJKResult {
    let toward = Some(Vector::new(start.x, start.y, start.z));
    let simplex = &mut VoronoiSimplex::new();
    contact_support_map_support_map_with_params(&ParryPose::IDENTITY, a, b, within, simplex, toward)
}

/// The nearest points of two cores; none beyond the distance `within` (m).
fn nearest(a: &Placed, b: &Placed, within: f64, size: f64) -> Option<Nearest> {
    let smooth = |p: &Placed| matches!(p.solid, Solid::Ball(_) | Solid::Ellipsoid(_));
    if smooth(a) && smooth(b) {
        return Some(Nearest::guess(a, b).climb(a, b, size)).filter(|found| found.distance() < within);
    }
    let start = b.centre.try_normalize(f64::MIN_POSITIVE).unwrap_or_else(Vector3::z);
    let result = closest(a, b, within.max(0.0), &start);
    let vector = |v: Vector| Vector3::new(v.x, v.y, v.z);
    let mut best = match result {
        GJKResult::ClosestPoints(p, q, n) if n.is_normalized() => {
            let found = Nearest { first: vector(p), second: vector(q), normal: vector(n) };
            // At a mere touch the direction may be lost in rounding; it is right if it separates by as much as the points are apart.
            let claimed = found.distance();
            if separation(a, b, &found.normal) > claimed - NORMAL * size {
                found
            } else {
                let (own, guess) = (Nearest::along(a, b, found.normal), Nearest::guess(a, b));
                (if own.distance() > guess.distance() { own } else { guess }).part(a, b, size)
            }
        }
        GJKResult::NoIntersection(n) if separation(a, b, &vector(n)) >= within => return None,
        // GJK or EPA gave up.
        _ => Nearest::guess(a, b).part(a, b, size),
    };
    // EPA stops short of the best direction on round bodies.
    let round = |p: &Placed| matches!(p.solid, Solid::Ellipsoid(_) | Solid::Cylinder(..));
    if best.distance() < 0.0 && (round(a) || round(b)) {
        let (own, guess) = (Nearest::along(a, b, best.normal), Nearest::guess(a, b));
        let other = (guess.normal - own.normal).norm() > SAME;
        for start in [Some(own), other.then_some(guess)].into_iter().flatten() {
            let climbed = start.climb(a, b, size);
            if climbed.distance() > best.distance() + EQUAL * size {
                best = climbed;
            }
        }
    }
    Some(best).filter(|found| found.distance() < within)
}

/// Adds the faces that look at each other, if there are no points yet, and the nearest points where these are nearer.
fn general(a: &Placed, b: &Placed, threshold: f64, size: f64, points: &mut Points) {
    let radii = [a.solid.radius(), b.solid.radius()];
    let Some(found) = nearest(a, b, threshold + radii[0] + radii[1], size) else { return };
    let Nearest { first: p, second: q, normal: n } = found;
    let distance = found.distance();
    if points.as_slice().is_empty()
        && let (Some(face_a), Some(face_b)) = (a.face(&n, &p), b.face(&-n, &q))
    {
        let along_a = separation(a, b, &face_a.normal);
        let along_b = separation(a, b, &-face_b.normal);
        // Edges and round caps yield to true faces, then the second solid to the first.
        let handicap = |face: &Face| if face.count == 2 || face.round { FLAT * size } else { 0.0 };
        let flip = along_b - handicap(&face_b) > along_a - handicap(&face_a) + EQUAL * size;
        if along_a.max(along_b) > distance - FLAT * size {
            let (reference, incident) = if flip { (&face_b, &face_a) } else { (&face_a, &face_b) };
            face_points(reference, incident, flip, radii, 1e-9 * size, points);
        }
    }
    let gap = distance - radii[0] - radii[1];
    if gap + EQUAL * size < points.least_gap() {
        // Half way between the surfaces p + n r_a and q − n r_b.
        let position = (p + q + n * (radii[0] - radii[1])) * 0.5;
        points.push(Point { position, normal: n, gap, feature: NEAREST });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A box whose sides are many triangles, turned so that no normal lies along an axis, and a ball of many corners.
    fn meshes() -> Vec<Hull> {
        let turn = nalgebra::Rotation3::from_euler_angles(0.3, 0.7, -0.4);
        let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
        for side in 0..6 {
            let first = vertices.len();
            for (i, j) in (0..36).map(|k| (k / 6, k % 6)) {
                let (x, y, z) = (f64::from(i) - 2.5, f64::from(j) - 2.5, if side < 3 { 2.5 } else { -2.5 });
                let point = [[x, y, z], [z, x, y], [y, z, x]][side % 3];
                vertices.push(turn * Vector3::from(point));
            }
            for (i, j) in (0..25).map(|k| (k / 5, k % 5)) {
                let [a, b, c, d] = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)].map(|(i, j)| first + 6 * i + j);
                let both = if side < 3 { [[a, b, c], [a, c, d]] } else { [[c, b, a], [d, c, a]] };
                triangles.extend(both);
            }
        }
        let ball = |k: usize| {
            let (height, angle) = (1.0 - 2.0 * (k as f64 + 0.5) / 60.0, 2.4 * k as f64);
            let radius = (1.0 - height * height).sqrt();
            Vector3::new(radius * angle.cos(), radius * angle.sin(), height)
        };
        let around = (0..58).map(|k| [k, k + 1, k + 2]).collect();
        let name = String::new;
        vec![
            Hull { name: name(), vertices, triangles },
            Hull { name: name(), vertices: (0..60).map(ball).collect(), triangles: around },
        ]
    }

    /// As found among all faces so far, one by one.
    #[test]
    fn triangles_of_a_plane_are_one_face() {
        for (hull, faces) in meshes().iter().zip([6, 58]) {
            let found = HullFaces::new(hull);
            assert_eq!(found.normals.len(), faces);
            let normal = |t: &[usize; 3]| {
                let [a, b, c] = t.map(|k| hull.vertices[k]);
                (b - a).cross(&(c - a)).normalize()
            };
            let mut wanted: Vec<Vector3<f64>> = Vec::new();
            for n in hull.triangles.iter().map(normal) {
                if !wanted.iter().any(|m| m.dot(&n) > 1.0 - 1e-9) {
                    wanted.push(n);
                }
            }
            assert_eq!(found.normals, wanted);
        }
    }
}
