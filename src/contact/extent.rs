//! How large geoms are: as the model says, or in some worlds otherwise.

use super::Drift;
use super::convex::Solid;
use super::pairs::PairPlan;
use crate::lane::{Mask, Pack, Real, Scalar};
use crate::spatial::Pose;

/// How much larger a bounding sphere is taken.
pub(crate) const LARGER: f64 = 1.00001;

/// The geoms of a tile of worlds.
#[derive(Debug, Clone, Copy)]
pub struct Geoms<'a, R> {
    /// World poses, shape \[geom\].
    pub pose: &'a [Pose<R>],
    /// The free motion of each geom in this step, shape \[geom\].
    pub drift: &'a [Drift<R>],
    /// Sizes and bounding radii, see [`geom_size`](crate::parameters::TileParameters::geom_size); empty: those of the model.
    pub size: &'a [R],
}

impl<'a, R: Real> Geoms<'a, R> {
    /// Of the sizes that the model says.
    pub fn new(pose: &'a [Pose<R>], drift: &'a [Drift<R>]) -> Self {
        Self { pose, drift, size: &[] }
    }
    /// Lengths of geom `i`, m.
    #[inline(always)]
    fn lengths(&self, i: usize) -> [R; 3] {
        [self.size[3 * i], self.size[3 * i + 1], self.size[3 * i + 2]]
    }
    /// Its bounding radius, m.
    #[inline(always)]
    pub(super) fn radius(&self, i: usize) -> R {
        self.size[3 * self.pose.len() + i]
    }
}

/// How large the shapes of a pair are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent<R: Real> {
    /// Lengths of both, m.
    pub lengths: [[R; 3]; 2],
    /// Sum of the bounding radii, m; that of the second geom alone if the first is a plane.
    pub bounding: R,
    /// The smaller bounding radius, m.
    pub size: R,
    /// The lanes in which it is not what the model says.
    pub own: R::Mask,
}

impl<R: Real> Extent<R> {
    #[inline(always)]
    pub fn of(pair: &PairPlan, geoms: &Geoms<'_, R>) -> Self {
        let mut lengths = [[R::zero(); 3]; 2];
        for (of, to) in pair.lengths.iter().zip(&mut lengths) {
            for (x, to) in of.iter().zip(to) {
                *to = R::constant(*x);
            }
        }
        let (bounding, size) = (R::constant(pair.bounding), R::constant(pair.size));
        let mut extent = Self { lengths, bounding, size, own: R::Mask::splat(false) };
        if !geoms.size.is_empty() {
            extent.vary(pair, geoms);
        }
        extent
    }

    /// Makes it that of every lane. Lanes of the model's sizes keep its constants, to the bit.
    #[inline(always)]
    fn vary(&mut self, pair: &PairPlan, geoms: &Geoms<'_, R>) {
        let lengths = [geoms.lengths(pair.a), geoms.lengths(pair.b)];
        for (of, planned) in lengths.iter().zip(&self.lengths) {
            for (x, planned) in of.iter().zip(planned) {
                self.own = self.own.or(x.lt(*planned)).or(planned.lt(*x));
            }
        }
        let (ra, rb) = (geoms.radius(pair.a), geoms.radius(pair.b));
        let (bounding, size) = if pair.on_plane { (rb, rb) } else { (ra + rb, ra.min(rb)) };
        self.lengths = lengths;
        self.bounding = R::select(self.own, bounding, self.bounding);
        self.size = R::select(self.own, size, self.size);
    }
}

impl<R: Pack> Extent<R> {
    /// The solids of a world whose sizes are its own.
    pub fn solids(&self, planned: &[Solid; 2], lane: usize) -> [Solid; 2] {
        let lengths = self.lengths.map(|lengths| lengths.map(|x| x.get(lane).to_f64()));
        [planned[0].resized(lengths[0]), planned[1].resized(lengths[1])]
    }
}

/// Whether the bounding spheres, or the plane and the bounding sphere, are within the threshold.
#[inline(always)]
pub(super) fn near<R: Real>(pair: &PairPlan, geoms: &Geoms<'_, R>, threshold: R) -> R::Mask {
    let (a, b) = (&geoms.pose[pair.a], &geoms.pose[pair.b]);
    // Rounding must not hide a touch: a little larger than the spheres.
    let mut bounding = R::constant(pair.bounding * LARGER);
    if !geoms.size.is_empty() {
        let extent = Extent::of(pair, geoms);
        bounding = R::select(extent.own, extent.bounding * R::constant(LARGER), bounding);
    }
    let limit = threshold + bounding;
    let d = b.position - a.position;
    if pair.on_plane {
        a.rotation.columns[2].dot(d).lt(limit)
    } else {
        R::zero().lt(limit).and(d.dot(d).lt(limit * limit))
    }
}
