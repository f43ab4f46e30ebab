//! Manifolds that stay together: the patches of [`crate::lcp::patch`]. A patch has up to four vertices, or is the disc of a cylinder that nearly stands on a plane.

use super::pairs::PairPlan;
use super::reduce::{Candidate, KEPT, Manifold};
use super::{Contacts, Drift, Near, moved};
use crate::lane::{Mask, Pack, PackMask, Real, Scalar};
use crate::spatial::Vec3;

/// Rows of a patch beside the three that it has as a contact: the normals of three more vertices, and torsion.
pub const PATCH_ROWS: usize = 4;

/// What a patch has beside the point that stands in its contact slot: up to three more vertices; or, of a disc, whose centre stands in the slot, how it leans.
#[derive(Debug, Clone)]
pub struct More<R> {
    /// The lanes that have each vertex, or row of a disc, one bit each.
    pub present: [u32; KEPT - 1],
    /// The lanes in which it is a disc, one bit each.
    pub disc: u32,
    /// The vertices, half way between the surfaces, world axes, m.
    pub position: [Vec3<R>; KEPT - 1],
    /// Their unit normals; of the first two rows of a disc what the angular velocity is multiplied by to give that of `gap`, m.
    pub normal: [Vec3<R>; KEPT - 1],
    /// Signed distance of a vertex less the pair's margin, m; of a disc R times its slopes along the two tangents of its frame, m.
    pub gap: [R; KEPT - 1],
    /// Which point of the pair each vertex is.
    pub feature: [R; KEPT - 1],
    /// R times the cosine by which a disc leans, m: what its moments act on.
    pub arm: R,
    /// Gap of the lowest point, m.
    pub lowest: R,
}

impl<R: Pack> More<R> {
    fn none() -> Self {
        Self {
            present: [0; KEPT - 1],
            disc: 0,
            position: [Vec3::zero(); KEPT - 1],
            normal: [Vec3::zero(); KEPT - 1],
            gap: [R::zero(); KEPT - 1],
            feature: [R::zero(); KEPT - 1],
            arm: R::zero(),
            lowest: R::zero(),
        }
    }

    /// Forgets what one lane has.
    pub(super) fn forget(&mut self, lane: usize) {
        let zero = R::Scalar::constant(0.0);
        for k in 0..KEPT - 1 {
            self.present[k] &= !(1 << lane);
            self.position[k].set(lane, Vec3::zero());
            self.normal[k].set(lane, Vec3::zero());
            self.gap[k].set(lane, zero);
            self.feature[k].set(lane, zero);
        }
        self.disc &= !(1 << lane);
        self.arm.set(lane, zero);
        self.lowest.set(lane, zero);
    }
}

/// The disc of a cylinder, in the lanes where there is one; points 1 and 2 of its manifold are its slopes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Disc<R: Real> {
    pub lanes: R::Mask,
    /// m.
    pub radius: R,
    /// R times the cosine by which it leans, m.
    pub arm: R,
    /// Gap of the lowest point of its rim, m.
    pub lowest: R,
}

impl<R: Real> Disc<R> {
    /// No lane has one.
    #[inline(always)]
    pub fn none() -> Self {
        let zero = R::zero();
        Self { lanes: R::Mask::splat(false), radius: zero, arm: zero, lowest: zero }
    }
}

/// Where the points of a pair that stay together are within `threshold`: its vertices, or all rows of its disc; where that is not, there is none.
#[inline(always)]
pub(crate) fn within<R: Real>(points: &Manifold<R>, disc: &mut Disc<R>, threshold: R) -> [R::Mask; KEPT] {
    let standing = disc.lanes;
    let flat = standing.and(disc.lowest.lt(threshold));
    disc.lanes = flat;
    let mut present = [flat, flat, flat, R::Mask::splat(false)];
    for k in 0..KEPT {
        let vertex = points[k].gap.lt(threshold).and(standing.not());
        present[k] = present[k].or(vertex);
    }
    present
}

/// What the free motion of both geoms makes of the gap of a disc, as [`moved`] of that of a point: no point of it comes down by more than its centre and R |ω × n|.
#[inline(always)]
pub(crate) fn disc_moved<R: Real>(disc: &Disc<R>, centre: &Candidate<R>, [da, db]: [&Drift<R>; 2]) -> [R; 2] {
    let turn = (db.shift.angular - da.shift.angular).cross(centre.normal).norm();
    let closing = centre.normal.dot(db.at(centre.position) - da.at(centre.position)) - disc.radius * turn;
    [-(disc.lowest.max(R::zero()) + closing), disc.lowest + closing.min(R::zero())]
}

/// A patch that may touch in some worlds of the tile at hand.
#[derive(Debug, Clone)]
pub struct NearPatch<R: Real> {
    pair: usize,
    points: Manifold<R>,
    present: [R::Mask; KEPT],
    disc: Disc<R>,
    /// Gap of every vertex, and of a disc in the first place, after the free motion towards it, m.
    gap: [R; KEPT],
    /// Whether a vertex by itself resists turning.
    torsion: bool,
    /// The lanes in which it is a patch, one bit each.
    lanes: u32,
}

impl<R: Pack> NearPatch<R> {
    /// Whose it is.
    pub(super) fn pair(&self) -> usize {
        self.pair
    }
    /// The patch of a pair whose points with a gap below `threshold` are its vertices; none if no lane has one. `deepest` becomes the deepest overlap that the free motion
    /// would make, m, if that is here.
    #[inline(always)]
    pub(super) fn new(
        (index, pair): (usize, &PairPlan),
        mut points: Manifold<R>,
        mut disc: Disc<R>,
        threshold: R,
        [da, db]: [&Drift<R>; 2],
        deepest: &mut R,
    ) -> Option<Self> {
        let (zero, margin) = (R::zero(), R::constant(pair.margin));
        let present = within(&points, &mut disc, threshold);
        let mut any = R::Mask::splat(false);
        for mask in present {
            any = any.or(mask);
        }
        if !any.any() {
            return None;
        }
        let mut gap = [zero; KEPT];
        for k in 0..KEPT {
            let point = &mut points[k];
            let vertex = present[k].and(disc.lanes.not());
            point.gap -= R::select(vertex, margin, zero);
            let [overlap, after] = moved(point.gap, point.normal, da.at(point.position), db.at(point.position));
            *deepest = R::select(vertex, deepest.max(overlap), *deepest);
            gap[k] = after;
        }
        if disc.lanes.any() {
            disc.lowest -= margin;
            let point = &mut points[0];
            point.gap -= R::select(disc.lanes, margin, zero);
            let [overlap, after] = disc_moved(&disc, point, [da, db]);
            *deepest = R::select(disc.lanes, deepest.max(overlap), *deepest);
            gap[0] = R::select(disc.lanes, after, gap[0]);
        }
        Some(Self { pair: index, points, present, disc, gap, torsion: pair.torsion, lanes: 0 })
    }

    /// Keeps the disc, or the vertices, that may close their gap by `reach` (m), the first of them in front. Returns the lanes, one bit each, that are left with a point:
    /// one vertex without torsion.
    #[inline(always)]
    fn settle(&mut self, reach: R) -> u32 {
        let (none, disc) = (R::Mask::splat(false), self.disc.lanes);
        let flat = disc.and(self.gap[0].lt(reach));
        let (mut some, mut several) = (flat, flat);
        for k in 0..KEPT {
            let vertex = self.present[k].and(disc.not()).and(self.gap[k].lt(reach));
            (some, several) = (some.or(vertex), several.or(some.and(vertex)));
            self.present[k] = vertex.or(if k < 3 { flat } else { none });
        }
        self.disc.lanes = flat;
        // the first vertex stands in the contact slot
        let Self { points, present, gap, .. } = self;
        for k in 1..KEPT {
            let swap = present[0].not().and(present[k]);
            let first = (points[0], gap[0]);
            points[0] = Candidate::select(swap, points[k], first.0);
            points[k] = Candidate::select(swap, first.0, points[k]);
            gap[0] = R::select(swap, gap[k], first.1);
            gap[k] = R::select(swap, first.1, gap[k]);
            present[k] = present[k].and(swap.not());
            present[0] = present[0].or(swap);
        }
        let patch = if self.torsion { some } else { several };
        self.lanes = patch.bits();
        some.and(patch.not()).bits()
    }
}

impl<R: Pack> Contacts<R> {
    /// Gives every patch that may close its gap by `reach` (m) a slot: the first slots there are. What is left with one vertex becomes the candidate of its pair.
    #[inline(always)]
    pub(super) fn place_patches(&mut self, reach: R, candidates: &mut [Near<R>]) {
        let mut near = std::mem::take(&mut self.near_patches);
        let mut slots = std::mem::take(&mut self.slots);
        let mut candidates = candidates.iter_mut();
        for patch in &mut near {
            let alone = patch.settle(reach);
            slots.announce(patch.lanes);
            if alone != 0
                && let Some(candidate) = candidates.find(|candidate| candidate.pair == patch.pair)
            {
                candidate.point = patch.points[0];
                candidate.gap = R::select(R::Mask::from_bits(alone), patch.gap[0], R::constant(f64::INFINITY));
            }
        }
        for patch in &near {
            let before = slots.parts.len();
            slots.place(patch.pair, patch.lanes);
            for part in before..slots.parts.len() {
                let part = slots.parts[part];
                self.put_patch(part.slot as usize, part.lanes, patch);
            }
        }
        near.clear();
        (self.near_patches, self.slots) = (near, slots);
    }

    #[inline(always)]
    fn put_patch(&mut self, slot: usize, lanes: u32, patch: &NearPatch<R>) {
        while self.patches.len() <= slot {
            self.patches.push(More::none());
        }
        self.put(slot, lanes, &patch.points[0]);
        let (mask, more) = (R::Mask::from_bits(lanes), &mut self.patches[slot]);
        for k in 0..KEPT - 1 {
            let point = &patch.points[k + 1];
            let has = mask.and(patch.present[k + 1]);
            more.present[k] = more.present[k] & !lanes | has.bits();
            more.position[k] = Vec3::select(has, point.position, more.position[k]);
            more.normal[k] = Vec3::select(has, point.normal, more.normal[k]);
            more.gap[k] = R::select(has, point.gap, more.gap[k]);
            more.feature[k] = R::select(has, point.feature, more.feature[k]);
        }
        let flat = mask.and(patch.disc.lanes);
        more.disc = more.disc & !lanes | flat.bits();
        more.arm = R::select(flat, patch.disc.arm, more.arm);
        let mut lowest = patch.points[0].gap;
        for k in 1..KEPT {
            lowest = R::select(patch.present[k], lowest.min(patch.points[k].gap), lowest);
        }
        more.lowest = R::select(mask, R::select(flat, patch.disc.lowest, lowest), more.lowest);
    }

    /// Gap of the lowest point of the contact in `slot`, m.
    #[inline(always)]
    pub fn lowest(&self, slot: usize) -> R {
        self.patches.get(slot).map_or(self.gap[slot], |more| more.lowest)
    }

    /// The lanes whose first row of `slot` is a normal, and may yield: contacts, and the further vertices of patches; one bit each.
    #[inline(always)]
    pub fn yielding(&self, slot: usize) -> u32 {
        let Some(row) = slot.checked_sub(self.gap.len()) else { return u32::MAX };
        match self.patches.get(row / PATCH_ROWS) {
            Some(more) if row % PATCH_ROWS < KEPT - 1 => more.present[row % PATCH_ROWS] & !more.disc,
            _ => 0,
        }
    }

    /// Rows of the patches beside the three that they have as contacts: four each.
    #[inline(always)]
    pub fn patch_rows(&self) -> usize {
        PATCH_ROWS * self.patches.len()
    }

    /// Whether further row `row` of the patches is the normal of a vertex that overlaps.
    pub fn pushes(&self, row: usize, lane: usize) -> bool {
        let (more, k) = (&self.patches[row / PATCH_ROWS], row % PATCH_ROWS);
        let vertex = k < KEPT - 1 && more.present[k] & !more.disc & 1 << lane != 0;
        vertex && more.gap[k].get(lane).to_f64() < 0.0
    }
}
