//! Box against box, in lanes: separating axes (Gottschalk, Lin & Manocha 1996), then the face of one box clipped by the other, or the two edges that cross.
//!
//! What is left of the face of one box, seen along the normal of the other's, are corners of it over the other face, corners of the other face under it, and points where
//! edges cross: no more than twelve candidates, whose order does not matter, and so without lists that grow and shrink.

use super::ROUNDING;
use super::clip::{CORNERS, Face};
use super::reduce::{Candidate, Manifold, reduce};
use crate::lane::{Mask, Real};
use crate::spatial::{Pose, Vec3};
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

impl Cuboid {
    /// The face whose normal is nearest to `n`.
    pub fn face(&self, n: &Vector3<f64>) -> Face {
        let sign = |x: f64| if x < 0.0 { -1.0 } else { 1.0 };
        let axis = |k: usize| self.rotation.column(k).into_owned();
        let local = self.rotation.tr_mul(n);
        let i = local.iamax();
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        let s = sign(local[i]);
        let normal = axis(i) * s;
        let middle = self.centre + normal * self.half[i];
        // Counter-clockwise about the normal: the second axis turns with its sign.
        let (u, v) = (axis(j) * self.half[j], axis(k) * (s * self.half[k]));
        let mut corners = [Vector3::zeros(); CORNERS];
        corners[..4].copy_from_slice(&[middle + u + v, middle - u + v, middle - u - v, middle + u - v]);
        Face { corners, count: 4, normal, index: 2 * i + usize::from(s < 0.0), round: false }
    }
}

/// An axis is preferred to an earlier one only if it separates by this part of the smaller box more: faces before edges, the first box
/// before the second. So rounding does not make a resting box change its mind.
const BIAS: f64 = 1e-5;
/// What that of the axis across two edges is more, of all half edges, divided by the sine between them: it is known the worse the more parallel they are.
const EDGE_BIAS: f64 = 1e-6;
/// Squared sine of the angle below which two edges count as parallel, and the faces along them do the work.
const PARALLEL: f64 = 1e-4;
/// Least share of its length that an edge moves across a side to cross it.
const ALONG: f64 = 1e-12;
/// The feature of what only says that boxes may touch: no axis tells how far they are apart.
const UNKNOWN: f64 = ((1 << 24) - 2) as f64;

/// ±1 with the sign of x; +1 for zero.
#[inline(always)]
pub(super) fn sign<R: Real>(x: R) -> R {
    R::select(x.lt(R::zero()), -R::one(), R::one())
}

/// One of three things in every lane: the first of those that are marked, or else the last.
#[derive(Clone, Copy)]
struct Choice<M> {
    first: M,
    second: M,
}

impl<M: Mask> Choice<M> {
    #[inline(always)]
    fn number<R: Real<Mask = M>>(self, of: [R; 3]) -> R {
        R::select(self.first, of[0], R::select(self.second, of[1], of[2]))
    }
    #[inline(always)]
    fn vector<R: Real<Mask = M>>(self, of: [Vec3<R>; 3]) -> Vec3<R> {
        Vec3::select(self.first, of[0], Vec3::select(self.second, of[1], of[2]))
    }
    /// The largest.
    #[inline(always)]
    fn largest<R: Real<Mask = M>>([a, b, c]: [R; 3]) -> Self {
        Self { first: a.lt(b).or(a.lt(c)).not(), second: b.lt(c).not() }
    }
    /// The other choice where the mask is set.
    #[inline(always)]
    fn or_where(self, mask: M, other: Self) -> Self {
        Self { first: either(mask, other.first, self.first), second: either(mask, other.second, self.second) }
    }
    /// This one of the three.
    #[inline(always)]
    fn fixed(k: usize) -> Self {
        Self { first: M::splat(k == 0), second: M::splat(k == 1) }
    }
}

/// `yes` where the mask is set, `no` elsewhere.
#[inline(always)]
fn either<M: Mask>(mask: M, yes: M, no: M) -> M {
    no.and(mask.not()).or(yes.and(mask))
}

/// The same of three numbers.
#[inline(always)]
fn select3<R: Real>(mask: R::Mask, yes: [R; 3], no: [R; 3]) -> [R; 3] {
    let [a, b, c] = yes;
    let [x, y, z] = no;
    [R::select(mask, a, x), R::select(mask, b, y), R::select(mask, c, z)]
}

/// The same of axes.
#[inline(always)]
fn select_axes<R: Real>(mask: R::Mask, yes: [Vec3<R>; 3], no: [Vec3<R>; 3]) -> [Vec3<R>; 3] {
    let [a, b, c] = yes;
    let [x, y, z] = no;
    [Vec3::select(mask, a, x), Vec3::select(mask, b, y), Vec3::select(mask, c, z)]
}

/// The components of p along three axes.
#[inline(always)]
fn along<R: Real>([x, y, z]: [Vec3<R>; 3], p: Vec3<R>) -> [R; 3] {
    [x.dot(p), y.dot(p), z.dot(p)]
}

/// A face of a box.
struct Side<R> {
    /// Its middle, from the centre of the first box, m.
    middle: Vec3<R>,
    /// Unit outward normal, and the unit vectors along its edges.
    normal: Vec3<R>,
    along: [Vec3<R>; 2],
    /// Half of its edges, m.
    half: [R; 2],
    /// Which of the six it is.
    index: R,
}

/// The face of the box at `centre` across axis `k`; the one on the side to which `toward` points.
#[inline(always)]
fn side<R: Real>(centre: Vec3<R>, axes: [Vec3<R>; 3], half: [R; 3], k: Choice<R::Mask>, toward: [R; 3]) -> Side<R> {
    let [x, y, z] = axes;
    let [a, b, c] = half;
    let s = sign(k.number(toward));
    let normal = k.vector(axes).scale(s);
    Side {
        middle: normal.mul_add(k.number(half), centre),
        normal,
        along: [k.vector([y, z, x]), k.vector([z, x, y])],
        half: [k.number([b, c, a]), k.number([c, a, b])],
        // 2 k, and one more on the negative side
        index: k.number([R::zero(), R::constant(2.0), R::constant(4.0)]) + R::constant(0.5) * (R::one() - s),
    }
}

/// The points where two boxes touch or are within `threshold` (m) of it: up to four of where faces lie on each other, or one of crossing
/// edges. Where a corner or an edge passes by another without facing it no axis tells how far apart they are: such lanes are [`undecided`]. `ha`, `hb`: half edges, m; `size`: as of [`reduce`].
#[cfg_attr(not(test), inline(always))]
#[cfg_attr(test, inline(never))]
pub(super) fn box_box<R: Real>(a: &Pose<R>, b: &Pose<R>, [ha, hb]: [[R; 3]; 2], threshold: R, size: R) -> Manifold<R> {
    let (zero, one) = (R::zero(), R::one());
    let d = b.position - a.position;
    let (u, v) = (a.rotation.columns, b.rotation.columns);
    let all = ha[0] + ha[1] + ha[2] + hb[0] + hb[1] + hb[2];
    let axes = Axes::new(u, v, d);

    // the face that separates most
    let bias = R::constant(BIAS) * size;
    let (first, second) = axes.face_separations(ha, hb);
    let (k_first, best_first) = preferred(first, bias);
    let (k_second, best_second) = preferred(second, bias);
    let flip = (best_first + bias).lt(best_second);
    let mut best = R::select(flip, best_second, best_first);

    // or the edges that do
    let edge_bias = R::constant(EDGE_BIAS) * all;
    let mut crossing = R::Mask::splat(false);
    let (mut i_best, mut j_best) = (Choice::fixed(2), Choice::fixed(2));
    for i in 0..3 {
        for j in 0..3 {
            let (separation, square) = axes.edge_separation(ha, hb, i, j);
            let skew = R::constant(PARALLEL).lt(square);
            let over = one / R::select(skew, square, one).sqrt();
            let better = skew.and((best + bias).lt((separation - edge_bias) * over));
            best = R::select(better, separation * over, best);
            crossing = crossing.or(better);
            (i_best, j_best) = (i_best.or_where(better, Choice::fixed(i)), j_best.or_where(better, Choice::fixed(j)));
        }
    }

    // the reference face, and the face of the other box that looks at it most
    let centre = Vec3::select(flip, d, Vec3::zero());
    let (own, own_half) = (select_axes(flip, v, u), select3(flip, hb, ha));
    let reference = side(centre, own, own_half, k_first.or_where(flip, k_second), along(own, d - centre - centre));
    let (other, half) = (select_axes(flip, u, v), select3(flip, ha, hb));
    let faces = along(other, -reference.normal);
    let k = Choice::largest([faces[0].abs(), faces[1].abs(), faces[2].abs()]);
    let incident = side(d - centre, other, half, k, faces);
    let mut found = clipped(&reference, &incident, flip, a.position, R::constant(ROUNDING) * all);
    let mut least = R::constant(1e30);
    for point in &found {
        least = least.min(point.gap);
    }
    let facing = least.lt(best.max(zero) + R::constant(ROUNDING) * all);
    let crossed = crossed(a, d, [u, v], [ha, hb], [i_best, j_best], best);
    for point in &mut found {
        *point = point.only(crossing.not());
    }
    let mut points = reduce(&found[..], threshold, size);
    points[0] = Candidate::select(crossing, crossed, points[0]);
    let open = best.lt(threshold).and(facing.or(crossing).not());
    let mark = Candidate { gap: best, feature: R::constant(UNKNOWN), ..Candidate::absent() };
    points[0] = Candidate::select(open, mark, points[0]);
    points
}

/// The lanes in which [`box_box`] could not tell.
#[inline(always)]
pub(super) fn undecided<R: Real>(points: &[Candidate<R>]) -> R::Mask {
    R::constant(UNKNOWN - 0.5).lt(points[0].feature)
}

/// The first of three separations that no later one exceeds by more than the bias, and how much it is, m.
#[inline(always)]
fn preferred<R: Real>([a, b, c]: [R; 3], bias: R) -> (Choice<R::Mask>, R) {
    let second = (a + bias).lt(b);
    let best = R::select(second, b, a);
    let third = (best + bias).lt(c);
    (Choice { first: second.or(third).not(), second: third.not() }, R::select(third, c, best))
}

/// What all fifteen axes are made of.
struct Axes<R> {
    /// u_i · v_j
    cosine: [[R; 3]; 3],
    /// The second centre seen from the first along the axes of both, m.
    along_a: [R; 3],
    along_b: [R; 3],
}

impl<R: Real> Axes<R> {
    #[inline(always)]
    fn new(u: [Vec3<R>; 3], v: [Vec3<R>; 3], d: Vec3<R>) -> Self {
        let mut cosine = [[R::zero(); 3]; 3];
        for i in 0..3 {
            for j in 0..3 {
                cosine[i][j] = u[i].dot(v[j]);
            }
        }
        Self { cosine, along_a: along(u, d), along_b: along(v, d) }
    }

    /// s(n) = |n·d| − Σ h_k |a_k·n| − Σ h_k |b_k·n| for the normals of the faces of both boxes, m.
    #[inline(always)]
    fn face_separations(&self, ha: [R; 3], hb: [R; 3]) -> ([R; 3], [R; 3]) {
        let (mut first, mut second) = ([R::zero(); 3], [R::zero(); 3]);
        for i in 0..3 {
            (first[i], second[i]) = (self.along_a[i].abs() - ha[i], self.along_b[i].abs() - hb[i]);
            for j in 0..3 {
                first[i] -= hb[j] * self.cosine[i][j].abs();
                second[i] -= ha[j] * self.cosine[j][i].abs();
            }
        }
        (first, second)
    }

    /// The same for n = u_i × v_j as it is, and the square of its length.
    #[inline(always)]
    fn edge_separation(&self, ha: [R; 3], hb: [R; 3], i: usize, j: usize) -> (R, R) {
        let ((i1, i2), (j1, j2)) = (((i + 1) % 3, (i + 2) % 3), ((j + 1) % 3, (j + 2) % 3));
        let c = &self.cosine;
        let along = (self.along_a[i2] * c[i1][j] - self.along_a[i1] * c[i2][j]).abs();
        let reach_a = ha[i1].mul_add(c[i2][j].abs(), ha[i2] * c[i1][j].abs());
        let reach_b = hb[j1].mul_add(c[i][j2].abs(), hb[j2] * c[i][j1].abs());
        (along - reach_a - reach_b, c[i1][j].mul_add(c[i1][j], c[i2][j] * c[i2][j]))
    }
}

/// The corners of the part of `incident` that lies over `reference`, which belongs to the second box where `flip` is set; `slack` (m) keeps corners that lie on a side.
///
/// Every edge c + t D of the incident face gives the points where it enters the rectangle of the reference face and where it leaves it, if these are within it; every corner r of the
/// rectangle the point of the incident face under it, m + α P + β Q with |α|, |β| ≤ 1.
#[cfg_attr(not(test), inline(always))]
#[cfg_attr(test, inline(never))]
fn clipped<R: Real>(
    reference: &Side<R>,
    incident: &Side<R>,
    flip: R::Mask,
    origin: Vec3<R>,
    slack: R,
) -> [Candidate<R>; 12] {
    let (zero, one) = (R::zero(), R::one());
    let [x, y] = reference.along;
    let n = reference.normal;
    let [hx, hy] = reference.half;
    // (along x, along y, height over the reference face)
    let m = along([x, y, n], incident.middle - reference.middle);
    let edge = [
        along([x, y, n], incident.along[0].scale(incident.half[0])),
        along([x, y, n], incident.along[1].scale(incident.half[1])),
    ];
    let normal = Vec3::select(flip, -n, n);
    // 36 faces of each order, 12 points each
    let faces = reference.index.mul_add(R::constant(6.0), incident.index) + R::select(flip, R::constant(36.0), zero);
    let first_feature = faces * R::constant(12.0);
    // along x and y, height, and where that counts
    let mut points = [[zero; 3]; 12];
    let mut counts = [flip; 12];
    // m + P + Q, m − P + Q, m − P − Q, m + P − Q: the first and the third edge are along P, the others along Q
    for k in 0..4 {
        let (p, q, turn) = ([one, -one, -one, one][k], [one, one, -one, -one][k], [-one, -one, one, one][k]);
        let (mut start, mut way) = (m, m);
        for a in 0..3 {
            start[a] = p.mul_add(edge[0][a], q.mul_add(edge[1][a], m[a]));
            way[a] = (turn + turn) * edge[k % 2][a];
        }
        let (mut enter, mut leave) = (zero, one);
        for (a, half) in [hx, hy].into_iter().enumerate() {
            let crosses = (R::constant(ALONG) * half).lt(way[a].abs());
            let over = one / R::select(crosses, way[a], one);
            let (t0, t1) = ((-half - start[a]) * over, (half - start[a]) * over);
            enter = R::select(crosses, enter.max(t0.min(t1)), enter);
            leave = R::select(crosses, leave.min(t0.max(t1)), leave);
        }
        for (end, t) in [enter.min(one), leave.max(zero)].into_iter().enumerate() {
            let at = &mut points[2 * k + end];
            for a in 0..3 {
                at[a] = t.mul_add(way[a], start[a]);
            }
            let within = (hx + slack).lt(at[0].abs()).or((hy + slack).lt(at[1].abs())).not();
            // where an edge ends the next one starts
            counts[2 * k + end] = if end == 0 { within } else { within.and(t.lt(one)) };
        }
    }
    let ([px, py, pz], [qx, qy, qz]) = (edge[0], edge[1]);
    let over = one / (px * qy - py * qx);
    for k in 0..4 {
        let corner = [if k & 1 == 0 { hx } else { -hx }, if k & 2 == 0 { hy } else { -hy }];
        let (rx, ry) = (corner[0] - m[0], corner[1] - m[1]);
        let (alpha, beta) = ((rx * qy - ry * qx) * over, (px * ry - py * rx) * over);
        counts[8 + k] = one.lt(alpha.abs()).or(one.lt(beta.abs())).not();
        points[8 + k] = [corner[0], corner[1], alpha.mul_add(pz, beta.mul_add(qz, m[2]))];
    }
    let mut found = [Candidate::absent(); 12];
    for (k, [px, py, gap]) in points.into_iter().enumerate() {
        // from the incident face half of the gap back
        let over = n.scale(gap * R::constant(0.5));
        let position = origin + (reference.middle + x.mul_add(px, y.mul_add(py, over)));
        let feature = first_feature + R::constant(k as f64);
        found[k] = Candidate { position, normal, gap, feature }.only(counts[k]);
    }
    found
}

/// The point where edge i of the first box crosses edge j of the second.
#[inline(always)]
fn crossed<R: Real>(
    a: &Pose<R>,
    d: Vec3<R>,
    [u, v]: [[Vec3<R>; 3]; 2],
    [ha, hb]: [[R; 3]; 2],
    [i, j]: [Choice<R::Mask>; 2],
    gap: R,
) -> Candidate<R> {
    let (zero, one) = (R::zero(), R::one());
    let (e, f) = (i.vector(u), j.vector(v));
    let n = e.cross(f);
    let least = R::constant(0.5 * PARALLEL);
    let n = n.scale(sign(n.dot(d)) / n.dot(n).max(least).sqrt());
    let (p, edge_a) = edge_along(Vec3::zero(), u, ha, i, n);
    let (q, edge_b) = edge_along(d, v, hb, j, -n);
    // Nearest points p + s e and q + t f of the two lines.
    let (cosine, r) = (e.dot(f), q - p);
    let (he, hf) = (i.number(ha), j.number(hb));
    let (re, rf) = (r.dot(e), r.dot(f));
    let t = (cosine * re - rf) / (one - cosine * cosine).max(least);
    let t = t.min(hf).max(-hf);
    let s = t.mul_add(cosine, re).min(he).max(-he);
    let position = a.position + (e.mul_add(s, p) + f.mul_add(t, q)).scale(R::constant(0.5));
    let numbers = [zero, one, one + one];
    let which = i.number(numbers).mul_add(R::constant(3.0), j.number(numbers)) * R::constant(16.0);
    let which = which + edge_a.mul_add(R::constant(4.0), edge_b);
    // behind those of faces
    Candidate { position, normal: n, gap, feature: which + R::constant(72.0 * 12.0) }
}

/// The middle of the edge of a box along its axis `k` that is farthest along n, and which of the four that is.
#[inline(always)]
fn edge_along<R: Real>(
    centre: Vec3<R>,
    axes: [Vec3<R>; 3],
    half: [R; 3],
    k: Choice<R::Mask>,
    n: Vec3<R>,
) -> (Vec3<R>, R) {
    let (zero, one) = (R::zero(), R::one());
    let (mut middle, mut which) = (centre, zero);
    for i in 0..3 {
        let mut other = [one; 3];
        other[i] = zero;
        // 0 along the edge itself
        let across = k.number(other);
        let s = sign(axes[i].dot(n)) * across;
        middle = axes[i].mul_add(s * half[i], middle);
        which = R::select(zero.lt(across), which + which + R::constant(0.5) * (one - s), which);
    }
    (middle, which)
}

/// The lanes of `which` in which no axis separates two boxes by `threshold` or more: those that [`box_box`] has to look at. `rounding` (m)
/// covers what R makes of the distances; `ha`, `hb`: half edges, m.
#[cfg_attr(not(test), inline(always))]
#[cfg_attr(test, inline(never))]
pub(super) fn may_touch<R: Real>(
    a: &Pose<R>,
    b: &Pose<R>,
    [ha, hb]: [[R; 3]; 2],
    which: R::Mask,
    threshold: R,
    rounding: R,
) -> R::Mask {
    let axes = Axes::new(a.rotation.columns, b.rotation.columns, b.position - a.position);
    let limit = threshold + rounding;
    let mut touch = which;
    let (first, second) = axes.face_separations(ha, hb);
    for separation in first.into_iter().chain(second) {
        touch = touch.and(separation.lt(limit));
    }
    for i in 0..3 {
        for j in 0..3 {
            let (separation, square) = axes.edge_separation(ha, hb, i, j);
            touch = touch.and(separation.lt(threshold.mul_add(square.sqrt(), rounding)));
        }
    }
    touch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spatial::{Mat3, vec3};

    /// Two boxes near each other, turned by multiples of 45° and a little, by two more ways of turning the second.
    struct Boxes {
        state: u64,
    }

    impl Boxes {
        fn next(&mut self) -> f64 {
            self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
        fn pose(&mut self) -> Pose<f64> {
            let axis = Vector3::from_fn(|_, _| (4.0 * self.next()).round() + 1e-4 * self.next());
            let turn = nalgebra::Rotation3::new(axis * std::f64::consts::FRAC_PI_4);
            let position = vec3(self.next(), self.next(), self.next());
            Pose { position, rotation: Mat3::constant(turn.matrix()) }
        }
        fn half(&mut self) -> [f64; 3] {
            [0, 1, 2].map(|_| 0.3 + 0.25 * self.next())
        }
    }

    fn narrow(pose: &Pose<f64>) -> Pose<f32> {
        let v = |v: Vec3<f64>| vec3(v.x as f32, v.y as f32, v.z as f32);
        Pose { position: v(pose.position), rotation: Mat3 { columns: pose.rotation.columns.map(v) } }
    }

    fn size(half: [[f64; 3]; 2]) -> f64 {
        half.map(|h| h[0].hypot(h[1]).hypot(h[2])).into_iter().fold(f64::INFINITY, f64::min)
    }

    fn least<R: Real + Into<f64>>(points: &Manifold<R>) -> f64 {
        points.iter().map(|point| point.gap.into()).fold(f64::INFINITY, f64::min)
    }

    /// What [`may_touch`] lets pass in f32 has every pair that [`box_box`] finds points of, and little else.
    #[test]
    fn the_filter_loses_no_point_and_passes_little_else() {
        let mut boxes = Boxes { state: 7 };
        let (mut passed, mut touching, tested) = (0, 0, 20_000);
        for _ in 0..tested {
            let (half, poses) = ([boxes.half(), boxes.half()], [boxes.pose(), boxes.pose()]);
            let threshold = 0.05;
            let halves = half.map(|h| h.map(|x| x as f32));
            let [a, b] = [narrow(&poses[0]), narrow(&poses[1])];
            let may = may_touch(&a, &b, halves, true, threshold as f32, 2e-5);
            let points = box_box(&poses[0], &poses[1], half, threshold, size(half));
            let touches = points.iter().any(|point| point.gap < threshold) || undecided(&points);
            assert!(may || !touches, "{poses:?} {half:?}");
            passed += i32::from(may);
            touching += i32::from(touches);
        }
        println!("{touching} of {tested} touch, {passed} passed");
        assert!(touching > 2000 && touching < tested - 2000 && passed < touching + tested / 200);
    }

    /// The largest separation of the fifteen axes, m, as the definition has it.
    fn separation(half: [[f64; 3]; 2], poses: [&Pose<f64>; 2]) -> f64 {
        let [u, v] = poses.map(|pose| pose.rotation.columns);
        let d = poses[1].position - poses[0].position;
        let mut axes = [u.to_vec(), v.to_vec()].concat();
        axes.extend((0..9).map(|k| u[k / 3].cross(v[k % 3])).filter(|n| n.norm() > 1e-2));
        let reach = |n: Vec3<f64>, axes: [Vec3<f64>; 3], half: [f64; 3]| -> f64 {
            (0..3).map(|k| half[k] * axes[k].dot(n).abs()).sum()
        };
        let along = |n: Vec3<f64>| (n.dot(d).abs() - reach(n, u, half[0]) - reach(n, v, half[1])) / n.norm();
        axes.into_iter().map(along).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Where boxes overlap, the deepest point is as deep as they overlap along the axis along which they do least.
    #[test]
    fn the_deepest_point_is_as_deep_as_the_overlap() {
        let mut boxes = Boxes { state: 3 };
        let mut overlapping = 0;
        for _ in 0..20_000 {
            let (half, [a, b]) = ([boxes.half(), boxes.half()], [boxes.pose(), boxes.pose()]);
            let expected = separation(half, [&a, &b]);
            if expected < 0.0 {
                let points = box_box(&a, &b, half, 0.05, size(half));
                assert!(!undecided(&points), "{a:?} {b:?} {half:?}");
                let found = least(&points);
                assert!((found - expected).abs() < 1e-4, "{found} for {expected}: {points:?} {a:?} {b:?} {half:?}");
                overlapping += 1;
            }
        }
        assert!(overlapping > 2000, "{overlapping} overlap");
    }

    /// In f32 boxes are as far apart as in f64, and turned about and swapped they still are.
    #[test]
    fn distances_do_not_depend_on_number_type_or_order() {
        let mut boxes = Boxes { state: 11 };
        let (mut touching, mut open) = (0, 0);
        for _ in 0..20_000 {
            let (half, [a, b]) = ([boxes.half(), boxes.half()], [boxes.pose(), boxes.pose()]);
            let threshold = 0.05;
            let wide = box_box(&a, &b, half, threshold, size(half));
            let halves = half.map(|h| h.map(|x| x as f32));
            let short = box_box(&narrow(&a), &narrow(&b), halves, threshold as f32, size(half) as f32);
            let swapped = box_box(&b, &a, [half[1], half[0]], threshold, size(half));
            if undecided(&wide) || undecided(&short) || undecided(&swapped) {
                open += 1;
                continue;
            }
            let gap = least(&wide);
            for (what, other) in [("f32", least(&short)), ("swapped", least(&swapped))] {
                let same = (gap - other).abs() < 1e-4 || gap.min(other) > threshold - 1e-4;
                assert!(same, "{what}: {gap}, {other}; {a:?} {b:?} {half:?}");
            }
            touching += i32::from(gap < threshold);
        }
        println!("{touching} touch, {open} are left open");
        assert!(touching > 2000 && open < 1000);
    }
}
