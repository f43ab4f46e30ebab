//! Candidate points, and the choice of at most four of them.

use crate::lane::{Mask, Real};
use crate::spatial::Vec3;

/// Most points that a pair keeps.
pub(super) const KEPT: usize = 4;

/// Part of the square of an edge that an area along it may be by rounding alone.
const FLAT: f64 = 1e-6;
/// A gap that no threshold reaches, m; finite, so that arithmetic on it stays finite.
const FAR: f64 = 1e30;

/// A point where two geoms may touch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<R> {
    /// Half way between the two surfaces along the normal, m.
    pub position: Vec3<R>,
    /// Unit normal from the first geom to the second.
    pub normal: Vec3<R>,
    /// Signed distance along the normal, m.
    pub gap: R,
    /// Which point of the pair it is: an integer below 2²⁴, exact in every lane type.
    pub feature: R,
}

impl<R: Real> Candidate<R> {
    /// No point: its gap is beyond every threshold.
    #[inline(always)]
    pub fn absent() -> Self {
        Self { position: Vec3::zero(), normal: Vec3::zero(), gap: R::constant(FAR), feature: R::zero() }
    }
    /// The point `surface` of the second geom, `gap` away from the first along `normal`.
    #[inline(always)]
    pub fn on_second(surface: Vec3<R>, normal: Vec3<R>, gap: R, feature: usize) -> Self {
        // p = s_b − n g/2
        let position = normal.mul_add(gap * R::constant(-0.5), surface);
        Self { position, normal, gap, feature: R::constant(feature as f64) }
    }
    /// `a` where the mask is set, `b` elsewhere.
    #[inline(always)]
    pub fn select(mask: R::Mask, a: Self, b: Self) -> Self {
        Self {
            position: Vec3::select(mask, a.position, b.position),
            normal: Vec3::select(mask, a.normal, b.normal),
            gap: R::select(mask, a.gap, b.gap),
            feature: R::select(mask, a.feature, b.feature),
        }
    }
    /// Itself where the mask is set, absent elsewhere.
    #[inline(always)]
    pub fn only(self, mask: R::Mask) -> Self {
        Self { gap: R::select(mask, self.gap, R::constant(FAR)), ..self }
    }
}

/// A list of candidates, stored or computed on the way.
pub(super) trait Source<R: Real> {
    /// Number of candidates.
    fn len(&self) -> usize;
    /// The k-th one.
    fn get(&self, k: usize) -> Candidate<R>;
}

impl<R: Real> Source<R> for [Candidate<R>] {
    #[inline(always)]
    fn len(&self) -> usize {
        <[Candidate<R>]>::len(self)
    }
    #[inline(always)]
    fn get(&self, k: usize) -> Candidate<R> {
        self[k]
    }
}

/// The points of one pair: those with a gap below the threshold count.
pub(crate) type Manifold<R> = [Candidate<R>; KEPT];

/// The points of a pair that is apart.
#[inline(always)]
pub(crate) fn no_points<R: Real>() -> Manifold<R> {
    [Candidate::absent(); KEPT]
}

/// At most four candidates that hold the pair as well as all of them: with p₀ the deepest one, distances and areas seen along its
/// normal, and depth = threshold − gap,
///
/// - p₁ has the largest |p − p₀|² · depth,
/// - p₂ has the largest area(p₀, p₁, p) · depth,
/// - p₃ has the largest area beyond an edge of the triangle p₀ p₁ p₂, times depth.
///
/// Depth keeps the far side of a small fast body from crowding out the side that is about to touch. Ties go to the lower index. Points that
/// add less than (10⁻⁴ `size`)² are left out, `size` (m) being of the order of the smaller geom, and less than what rounding makes of an area along an edge: else a point
/// could be chosen twice.
#[cfg_attr(not(test), inline(always))]
#[cfg_attr(test, inline(never))]
pub(super) fn reduce<R: Real, S: Source<R> + ?Sized>(source: &S, threshold: R, size: R) -> Manifold<R> {
    let count = source.len();
    let least = (R::constant(1e-4) * size) * (R::constant(1e-4) * size);
    let zero = R::zero();

    let mut p0 = Candidate::absent();
    for k in 0..count {
        let p = source.get(k);
        p0 = Candidate::select(p.gap.lt(p0.gap), p, p0);
    }
    p0 = p0.only(p0.gap.lt(threshold));
    let n = p0.normal;

    let mut p1 = Candidate::absent();
    let mut best = zero;
    for k in 0..count {
        let p = source.get(k);
        let d = p.position - p0.position;
        let tangential = n.mul_add(-n.dot(d), d);
        let spread = tangential.dot(tangential);
        let score = spread * (threshold - p.gap);
        let better = p.gap.lt(threshold).and(least.lt(spread)).and(best.lt(score));
        best = R::select(better, score, best);
        p1 = Candidate::select(better, p, p1);
    }
    let found = p1.gap.lt(threshold);
    let e01 = Vec3::select(found, p1.position - p0.position, Vec3::zero());
    // p₁ is the farthest point but for its depth: no edge is much longer
    let least = least.max(R::constant(FLAT) * e01.dot(e01));

    let mut p2 = Candidate::absent();
    let mut side = zero;
    let mut best = zero;
    for k in 0..count {
        let p = source.get(k);
        let area = n.dot(e01.cross(p.position - p0.position));
        let score = area.abs() * (threshold - p.gap);
        let better = p.gap.lt(threshold).and(least.lt(area.abs())).and(best.lt(score));
        best = R::select(better, score, best);
        side = R::select(better, area, side);
        p2 = Candidate::select(better, p, p2);
    }
    // The normal that sees p₀ p₁ p₂ clockwise: areas beyond an edge are positive. Zero where there is no triangle.
    let one = R::one();
    let sign = R::select(zero.lt(side), -one, R::select(side.lt(zero), one, zero));
    let outward = n.scale(sign);
    let (e12, e20) = (p2.position - p1.position, p0.position - p2.position);

    let mut p3 = Candidate::absent();
    let mut best = zero;
    for k in 0..count {
        let p = source.get(k);
        let a = outward.dot(e01.cross(p.position - p0.position));
        let b = outward.dot(e12.cross(p.position - p1.position));
        let c = outward.dot(e20.cross(p.position - p2.position));
        let area = a.max(b).max(c);
        let score = area * (threshold - p.gap);
        let better = p.gap.lt(threshold).and(least.lt(area)).and(best.lt(score));
        best = R::select(better, score, best);
        p3 = Candidate::select(better, p, p3);
    }
    [p0, p1, p2, p3]
}
