//! Box against box: separating axes (Gottschalk, Lin & Manocha 1996), then the faces clipped against each other, in f64.

use super::clip::{Face, Point, Points, face_points};
use crate::lane::{Mask, Real};
use crate::spatial::Pose;
use nalgebra::{Matrix3, Vector3};

/// A box with axes along the columns of `rotation`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cuboid {
    /// Centre, m.
    pub centre: Vector3<f64>,
    /// Axes, by columns.
    pub rotation: Matrix3<f64>,
    /// Half of the edges, m.
    pub half: Vector3<f64>,
}

/// An axis is preferred to an earlier one only if it separates by this part of the smaller box more: faces before edges, the first box
/// before the second. So rounding does not make a resting box change its mind.
const BIAS: f64 = 1e-5;
/// Squared sine of the angle below which two edges count as parallel, and the faces along them do the work.
const PARALLEL: f64 = 1e-4;

/// ±1 with the sign of x; +1 for zero.
fn sign(x: f64) -> f64 {
    if x < 0.0 { -1.0 } else { 1.0 }
}

impl Cuboid {
    fn axis(&self, k: usize) -> Vector3<f64> {
        self.rotation.column(k).into_owned()
    }
    /// Half of the width along the unit vector `n`: Σ h_k |a_k · n|.
    fn reach(&self, n: &Vector3<f64>) -> f64 {
        (0..3).map(|k| self.half[k] * self.axis(k).dot(n).abs()).sum()
    }
    /// The face whose normal is nearest to `n`.
    pub fn face(&self, n: &Vector3<f64>) -> Face {
        let local = self.rotation.tr_mul(n);
        let i = local.iamax();
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        let s = sign(local[i]);
        let normal = self.axis(i) * s;
        let middle = self.centre + normal * self.half[i];
        // Counter-clockwise about the normal: the second axis turns with its sign.
        let (u, v) = (self.axis(j) * self.half[j], self.axis(k) * (s * self.half[k]));
        let mut corners = [Vector3::zeros(); super::clip::CORNERS];
        corners[..4].copy_from_slice(&[middle + u + v, middle - u + v, middle - u - v, middle + u - v]);
        Face { corners, count: 4, normal, index: 2 * i + usize::from(s < 0.0), round: false }
    }
}

/// The axis that separates two boxes most.
enum Axis {
    /// Normal of a face of the first box.
    First(Vector3<f64>),
    /// Normal of a face of the second box; from the first box to the second.
    Second(Vector3<f64>),
    /// Across edge i of the first box and edge j of the second.
    Edges(Vector3<f64>, usize, usize),
}

/// Adds the points where two boxes touch or are within `threshold` (m) of it: up to eight for faces that lie on each other, one for crossing
/// edges. None where a corner or an edge passes by another without facing it.
///
/// Returns the largest separation s(n) of the fifteen axes, m: the distance is at least that, and an overlap is that deep.
pub(super) fn box_box(a: &Cuboid, b: &Cuboid, threshold: f64, points: &mut Points) -> f64 {
    let d = b.centre - a.centre;
    let size = a.half.norm().min(b.half.norm());
    let bias = BIAS * size;

    // s(n) = |n·d| − Σ h_k |a_k·n| − Σ h_k |b_k·n|
    let mut best = f64::NEG_INFINITY;
    let mut axis = Axis::First(Vector3::z());
    for k in 0..6 {
        let first = k < 3;
        let n = if first { a.axis(k) } else { b.axis(k - 3) };
        let along = n.dot(&d);
        let separation = along.abs() - a.reach(&n) - b.reach(&n);
        if separation > best + bias {
            best = separation;
            let n = n * sign(along);
            axis = if first { Axis::First(n) } else { Axis::Second(n) };
        }
    }
    for i in 0..3 {
        for j in 0..3 {
            let cross = a.axis(i).cross(&b.axis(j));
            if cross.norm_squared() < PARALLEL {
                continue;
            }
            let n = cross.normalize();
            let along = n.dot(&d);
            let separation = along.abs() - a.reach(&n) - b.reach(&n);
            if separation > best + bias {
                best = separation;
                axis = Axis::Edges(n * sign(along), i, j);
            }
        }
    }
    if best >= threshold {
        return best;
    }
    let slack = 1e-9 * size;
    match axis {
        Axis::First(n) => face_points(&a.face(&n), &b.face(&-n), false, [0.0; 2], slack, points),
        Axis::Second(n) => face_points(&b.face(&-n), &a.face(&n), true, [0.0; 2], slack, points),
        Axis::Edges(n, i, j) => points.push(edges(a, b, &n, i, j, best)),
    }
    best
}

/// The lanes of `which` in which no axis separates two boxes by `threshold` or more: those that [`box_box`] has to look at. `rounding` (m)
/// covers what R makes of the distances; `ha`, `hb`: half edges, m.
#[inline(always)]
pub(crate) fn may_touch<R: Real>(
    a: &Pose<R>,
    b: &Pose<R>,
    [ha, hb]: [[R; 3]; 2],
    which: R::Mask,
    threshold: R,
    rounding: R,
) -> R::Mask {
    let d = b.position - a.position;
    let (u, v) = (&a.rotation.columns, &b.rotation.columns);
    let zero = R::zero();
    let mut touch = which;
    // u_i · v_j, and d along the axes of both
    let mut cosine = [[zero; 3]; 3];
    let (mut along_a, mut along_b) = ([zero; 3], [zero; 3]);
    for i in 0..3 {
        (along_a[i], along_b[i]) = (u[i].dot(d), v[i].dot(d));
        for j in 0..3 {
            cosine[i][j] = u[i].dot(v[j]);
        }
    }
    // s(n) = |n·d| − Σ h_k |a_k·n| − Σ h_k |b_k·n| for the faces
    let limit = threshold + rounding;
    for i in 0..3 {
        let (mut first, mut second) = (along_a[i].abs() - ha[i], along_b[i].abs() - hb[i]);
        for j in 0..3 {
            first -= hb[j] * cosine[i][j].abs();
            second -= ha[j] * cosine[j][i].abs();
        }
        touch = touch.and(first.lt(limit)).and(second.lt(limit));
    }
    // the same for n = u_i × v_j, whose length is the sine between them
    for i in 0..3 {
        let (i1, i2) = ((i + 1) % 3, (i + 2) % 3);
        for j in 0..3 {
            let (j1, j2) = ((j + 1) % 3, (j + 2) % 3);
            let c = &cosine;
            let sine = (-c[i][j]).mul_add(c[i][j], R::one()).max(zero).sqrt();
            let along = (along_a[i2] * c[i1][j] - along_a[i1] * c[i2][j]).abs();
            let reach_a = ha[i1].mul_add(c[i2][j].abs(), ha[i2] * c[i1][j].abs());
            let reach_b = hb[j1].mul_add(c[i][j2].abs(), hb[j2] * c[i][j1].abs());
            touch = touch.and((along - reach_a - reach_b).lt(threshold.mul_add(sine, rounding)));
        }
    }
    touch
}

/// The point where edge i of the first box crosses edge j of the second.
fn edges(a: &Cuboid, b: &Cuboid, n: &Vector3<f64>, i: usize, j: usize, gap: f64) -> Point {
    // The middle of the edge of each box that is farthest along ±n, and which of its four parallel edges that is.
    let middle = |c: &Cuboid, skip: usize, n: &Vector3<f64>| {
        let mut p = c.centre;
        let mut which = 0;
        for k in (0..3).filter(|&k| k != skip) {
            let s = sign(c.axis(k).dot(n));
            p += c.axis(k) * (s * c.half[k]);
            which = 2 * which + usize::from(s < 0.0);
        }
        (p, which)
    };
    let ((p, edge_a), (q, edge_b)) = (middle(a, i, n), middle(b, j, &-n));
    let (u, v) = (a.axis(i), b.axis(j));
    // Nearest points p + s u and q + t v of the two lines.
    let (uv, r) = (u.dot(&v), q - p);
    let t = (uv * u.dot(&r) - v.dot(&r)) / (1.0 - uv * uv);
    let t = t.clamp(-b.half[j], b.half[j]);
    let s = (u.dot(&r) + t * uv).clamp(-a.half[i], a.half[i]);
    let position = (p + u * s + q + v * t) * 0.5;
    Point { position, normal: *n, gap, feature: 1 + ((3 * i + j) * 4 + edge_a) * 4 + edge_b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spatial::{Mat3, vec3};

    /// What [`may_touch`] lets pass in f32 has every pair that [`box_box`] finds points of, and little else.
    #[test]
    fn the_filter_loses_no_point_and_passes_little_else() {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        let (mut passed, mut touching, mut tested) = (0, 0, 0);
        for _ in 0..20_000 {
            let half = [0, 1].map(|_| Vector3::from_fn(|_, _| 0.3 + 0.25 * next()));
            let turns = [0, 1].map(|_| {
                let axis = Vector3::from_fn(|_, _| (4.0 * next()).round() + 1e-4 * next());
                nalgebra::Rotation3::new(axis * std::f64::consts::FRAC_PI_4).into_inner()
            });
            let poses: Vec<Pose<f32>> = (turns.iter())
                .map(|turn| {
                    let column = |k: usize| {
                        let c = turn.column(k);
                        vec3(c[0] as f32, c[1] as f32, c[2] as f32)
                    };
                    Pose {
                        rotation: Mat3 { columns: [column(0), column(1), column(2)] },
                        position: vec3(next() as f32, next() as f32, next() as f32),
                    }
                })
                .collect();
            let place = |k: usize| {
                let v = |x: crate::spatial::Vec3<f32>| Vector3::new(x.x, x.y, x.z).cast::<f64>();
                let columns = poses[k].rotation.columns.map(v);
                Cuboid { centre: v(poses[k].position), rotation: Matrix3::from_columns(&columns), half: half[k] }
            };
            let threshold = 0.05f32;
            let bounding = half[0].norm() + half[1].norm();
            let halves = [0, 1].map(|k| [0, 1, 2].map(|i| half[k][i] as f32));
            let rounding = (1e-5 * bounding) as f32;
            let may = may_touch(&poses[0], &poses[1], halves, true, threshold, rounding);
            let mut points = Points::new();
            let separation = box_box(&place(0), &place(1), f64::from(threshold), &mut points);
            let touches = separation < f64::from(threshold);
            assert!(may || !touches, "{poses:?} {half:?} {separation}");
            passed += i32::from(may);
            touching += i32::from(touches);
            tested += 1;
        }
        println!("{touching} of {tested} touch, {passed} passed");
        assert!(touching > 2000 && touching < tested - 2000 && passed < touching + tested / 500);
    }
}
