//! Where bodies touch: geom pairs → contact points, up to four a pair.
//!
//! A [`CollidePlan`] is made once from a model; [`collide`] runs it on a tile of worlds. Planes and height fields against everything, spheres,
//! capsules and boxes against each other, and spheres and capsules against cylinders are done in lanes; of other convex pairs what is not shown in lanes to be apart, lane by lane in f64, through GJK and
//! EPA of `parry3d-f64` and then clipping. Every lane sees its own values only.

mod apart;
mod boxes;
mod clip;
mod convex;
mod corner;
mod disc;
mod extent;
mod grid;
mod land;
mod narrow;
mod pairs;
mod patch;
mod plane;
mod reduce;
mod round;
#[cfg(test)]
mod tests;

#[cfg(feature = "gpu")]
pub(crate) use {apart::near as near_bounds, disc::on_plane as disc_on_plane, patch::disc_moved, patch::within};

use crate::lane::{Mask, Pack, PackMask, Real, Scalar};
use crate::slots::Slots;
use crate::spatial::{Motion, Vec3};
#[cfg(feature = "gpu")]
pub(crate) use apart::Bound;
pub use extent::Geoms;
#[cfg(feature = "gpu")]
pub(crate) use extent::LARGER;
use extent::near;
use narrow::{Discs, clear_from, may_come_near, narrow};
#[cfg(feature = "gpu")]
pub(crate) use narrow::{points, undecided};
pub use pairs::CollidePlan;
pub(crate) use pairs::Kind;
#[cfg(feature = "gpu")]
pub(crate) use pairs::Shapes;
pub use patch::{More, NearPatch, PATCH_ROWS};
use reduce::Candidate;
pub(crate) use reduce::no_points;

/// The contacts of a tile of worlds.
///
/// Contacts of one world fill slots in the order of the model's pairs, patches before points. Entries of lanes that have not got a slot are zero.
#[derive(Debug, Clone)]
pub struct Contacts<R: Real> {
    /// Which lanes have each slot, and of which pair the contact is.
    pub slots: Slots,
    /// Number of contacts found, kept or not, shape \[lane\].
    pub found: Vec<usize>,
    /// Contact point, half way between the two surfaces, world axes, m, shape \[slot\].
    pub position: Vec<Vec3<R>>,
    /// Unit normal from the first geom of the pair to the second, shape \[slot\].
    pub normal: Vec<Vec3<R>>,
    /// Signed distance along the normal less the pair's margin, m, negative = overlap of the surfaces with their margins, shape \[slot\].
    pub gap: Vec<R>,
    /// Which point of the pair this is, stable from step to step: an integer below 2²⁴, shape \[slot\].
    pub feature: Vec<R>,
    /// The rest of the patches, which have the first slots, shape \[patch slot\].
    pub patches: Vec<More<R>>,
    /// The patches that may touch in some worlds.
    near_patches: Vec<NearPatch<R>>,
    /// Room for the slots of points by themselves.
    point_slots: Slots,
    /// Room for the points of a pair on land.
    on_land: Vec<Candidate<R>>,
    /// Room for the pairs that are looked at once more.
    put_off: Vec<PutOff<R>>,
    /// Points within reach that have no slot, see [`collide_sparing`].
    pub left_out: Vec<LeftOut<R>>,
}

impl<R: Real> Default for Contacts<R> {
    fn default() -> Self {
        Self {
            slots: Slots::default(),
            found: Vec::new(),
            position: Vec::new(),
            normal: Vec::new(),
            gap: Vec::new(),
            feature: Vec::new(),
            patches: Vec::new(),
            near_patches: Vec::new(),
            point_slots: Slots::default(),
            on_land: Vec::new(),
            put_off: Vec::new(),
            left_out: Vec::new(),
        }
    }
}

/// A point that is within reach, but farther than contacts are posed.
#[derive(Debug, Clone)]
pub struct LeftOut<R: Real> {
    /// Whose it is: the index of a pair.
    pub pair: usize,
    /// The lanes that have it.
    pub lanes: R::Mask,
    /// As in [`Contacts`].
    pub position: Vec3<R>,
    /// As in [`Contacts`].
    pub normal: Vec3<R>,
    /// As in [`Contacts`].
    pub gap: R,
}

/// A pair whose shapes stay so far apart in some worlds of the tile at hand that only what stops a deeper overlap elsewhere may throw them together.
#[derive(Debug, Clone)]
struct PutOff<R: Real> {
    pair: usize,
    lanes: R::Mask,
    /// The deepest overlap so far, m.
    deepest: R,
}

/// A point that may be a contact in some worlds of the tile at hand.
#[derive(Debug, Clone)]
pub struct Near<R> {
    pair: usize,
    point: Candidate<R>,
    /// Gap after the free motion towards it, m; infinite where there is no such point.
    gap: R,
}

impl<R: Pack> Contacts<R> {
    /// Forgets all contacts; keeps the memory.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.found.clear();
        self.found.resize(R::LANES, 0);
        self.truncate(0);
        self.patches.clear();
        self.near_patches.clear();
        self.left_out.clear();
    }
    /// Keeps the first `slots` slots.
    fn truncate(&mut self, slots: usize) {
        self.position.truncate(slots);
        self.normal.truncate(slots);
        self.gap.truncate(slots);
        self.feature.truncate(slots);
    }
    /// Puts a contact into a slot of some lanes.
    #[inline(always)]
    fn put(&mut self, slot: usize, lanes: u32, point: &Candidate<R>) {
        while self.gap.len() <= slot {
            self.position.push(Vec3::zero());
            self.normal.push(Vec3::zero());
            self.gap.push(R::zero());
            self.feature.push(R::zero());
        }
        let mask = R::Mask::from_bits(lanes);
        self.position[slot] = Vec3::select(mask, point.position, self.position[slot]);
        self.normal[slot] = Vec3::select(mask, point.normal, self.normal[slot]);
        self.gap[slot] = R::select(mask, point.gap, self.gap[slot]);
        self.feature[slot] = R::select(mask, point.feature, self.feature[slot]);
        for (lane, found) in self.found.iter_mut().enumerate() {
            *found += (lanes >> lane & 1) as usize;
        }
    }
    /// Number of contacts that a lane has.
    pub fn count(&self, lane: usize) -> usize {
        self.slots.count(lane)
    }
    /// Keeps the deepest `capacity` contacts of every lane; of equal ones the first.
    fn limit(&mut self, capacity: usize) {
        if self.slots.len() <= capacity {
            return;
        }
        for lane in 0..R::LANES {
            while self.count(lane) > capacity {
                let mut shallowest = None;
                for slot in (0..self.gap.len()).filter(|slot| self.slots.has(*slot, lane)) {
                    let gap = self.lowest(slot).get(lane);
                    if shallowest.is_none_or(|(_, least)| gap >= least) {
                        shallowest = Some((slot, gap));
                    }
                }
                let Some((slot, _)) = shallowest else { break };
                self.slots.remove(slot, lane);
                self.position[slot].set(lane, Vec3::zero());
                self.normal[slot].set(lane, Vec3::zero());
                self.gap[slot].set(lane, R::Scalar::from_f64(0.0));
                self.feature[slot].set(lane, R::Scalar::from_f64(0.0));
                if let Some(more) = self.patches.get_mut(slot) {
                    more.forget(lane);
                }
            }
        }
    }
}

/// Free motion of a geom within a step.
#[derive(Debug, Clone, Copy)]
pub struct Drift<R> {
    /// Δt times the free velocity of the geom's body about `reference`, rad and m.
    pub shift: Motion<R>,
    /// Reference point of `shift`, world axes, m.
    pub reference: Vec3<R>,
    /// The most that `shift` moves any point of the geom, m.
    pub travel: R,
}

impl<R: Real> Drift<R> {
    /// A geom at rest.
    pub fn none() -> Self {
        Self { shift: Motion::zero(), reference: Vec3::zero(), travel: R::zero() }
    }
    /// Free motion of the point of the geom at `position`.
    #[inline(always)]
    pub(crate) fn at(&self, position: Vec3<R>) -> Vec3<R> {
        self.shift.at(position - self.reference)
    }
}

/// Finds the contacts of a tile of worlds.
///
/// - `reach`: how much impulses may close a gap in this step whatever happens, m. A point is kept whose gap after the free motion towards it, to
///   first order, would be less than this plus the deepest overlap that the free motion would make in its world: what
///   stops that motion may throw other parts as far.
/// - `capacity`: most contacts kept in a world; the deepest are kept, in their order. [`Contacts::found`] counts all.
/// - `candidates`: room for the points that may be contacts.
///
/// A lane depends on nothing but itself: its bits are those of the same call with a scalar type. A lane with a NaN or infinite pose
/// has no contact of that geom. No memory is allocated once `contacts` has grown, but for general convex pairs that overlap (EPA).
#[inline(always)]
pub fn collide<R: Pack>(
    plan: &CollidePlan,
    geoms: Geoms<'_, R>,
    reach: R,
    capacity: Option<usize>,
    candidates: &mut Vec<Near<R>>,
    contacts: &mut Contacts<R>,
) {
    collide_sparing(plan, geoms, (reach, R::one()), capacity, candidates, contacts);
}

/// The same, but only the points get slots that are within this share of the reach, and of the deepest overlap, 0 to 1. The others are [`Contacts::left_out`], if they are no patches: those all get theirs.
#[inline(always)]
pub fn collide_sparing<R: Pack>(
    plan: &CollidePlan,
    geoms: Geoms<'_, R>,
    (reach, share): (R, R),
    capacity: Option<usize>,
    candidates: &mut Vec<Near<R>>,
    contacts: &mut Contacts<R>,
) {
    contacts.clear();
    candidates.clear();
    let mut put_off = std::mem::take(&mut contacts.put_off);
    put_off.clear();
    let (mut deepest, mut points) = (R::zero(), no_points());
    let (mut turn, mut in_order) = (0, [usize::MAX; 2]);
    loop {
        // all pairs, and then those that were put off, where a deeper overlap was found since
        let (index, which) = match (plan.pairs.get(turn), put_off.get(turn.wrapping_sub(plan.pairs.len()))) {
            (Some(_), _) => (turn, R::Mask::splat(true)),
            (None, Some(off)) => (off.pair, off.lanes.and(off.deepest.lt(deepest))),
            (None, None) => break,
        };
        if turn == plan.pairs.len() {
            in_order = [candidates.len(), contacts.near_patches.len()];
        }
        turn += 1;
        let pair = &plan.pairs[index];
        let (da, db) = (&geoms.drift[pair.a], &geoms.drift[pair.b]);
        let margin = R::constant(pair.margin);
        let threshold = da.travel + db.travel + (reach + margin);
        let mut near = near(pair, &geoms, threshold).and(which);
        if !near.any() {
            continue;
        }
        if matches!(pair.kind, Kind::Convex) {
            let open = may_come_near(pair, &geoms, near, reach + margin + deepest);
            let lanes = near.and(open.not());
            if lanes.any() {
                put_off.push(PutOff { pair: index, lanes, deepest });
            }
            near = open;
            if !near.any() {
                continue;
            }
        }
        // A lane that is not near finds nothing, whatever its neighbours do.
        let threshold = R::select(near, threshold, R::constant(-1e30));
        let of_disc = if pair.patch { Some(R::run(Discs { pair, geoms: &geoms, near })) } else { None };
        let others = match &of_disc {
            Some((_, _, known)) => near.and(known.not()),
            None => near,
        };
        // told once, since all formulas of all shapes are in it
        let count =
            if others.any() { narrow(pair, &geoms, others, threshold, &mut points, &mut contacts.on_land) } else { 0 };
        if let Some((own, disc, known)) = of_disc {
            clear_from(count, &mut points);
            for (point, own) in points.iter_mut().zip(own) {
                *point = Candidate::select(known, own, *point);
            }
            if let Some(patch) = NearPatch::new((index, pair), points, disc, threshold, [da, db], &mut deepest) {
                // where one vertex is left it is a point, whose place among the others is here
                candidates.push(Near { pair: index, point: points[0], gap: R::constant(f64::INFINITY) });
                contacts.near_patches.push(patch);
            }
            continue;
        }
        for point in &points[..count] {
            let kept = point.gap.lt(threshold);
            if kept.any() {
                // Margins thicken the surfaces.
                let point = Candidate { gap: point.gap - margin, ..*point };
                let [overlap, gap] = moved(point.gap, point.normal, da.at(point.position), db.at(point.position));
                deepest = R::select(kept, deepest.max(overlap), deepest);
                let gap = R::select(kept, gap, R::constant(f64::INFINITY));
                candidates.push(Near { pair: index, point, gap });
            }
        }
    }
    contacts.put_off = put_off;
    // what was put off comes behind all others
    into_order(candidates, in_order[0], |near| near.pair);
    into_order(&mut contacts.near_patches, in_order[1], NearPatch::pair);
    let within = reach + deepest;
    let posed = share * within;
    contacts.place_patches(within, candidates);
    let patches = std::mem::take(&mut contacts.slots);
    let first = contacts.patches.len();
    let mut slots = std::mem::take(&mut contacts.point_slots);
    slots.clear();
    for near in &*candidates {
        slots.announce(near.gap.lt(posed).bits());
    }
    for Near { pair, point, gap } in &*candidates {
        let near = gap.lt(posed);
        let before = slots.parts.len();
        slots.place(*pair, near.bits());
        for part in &slots.parts[before..] {
            contacts.put(first + part.slot as usize, part.lanes, point);
        }
        let lanes = gap.lt(within).and(near.not());
        if lanes.any() {
            let Candidate { position, normal, gap, .. } = *point;
            contacts.left_out.push(LeftOut { pair: *pair, lanes, position, normal, gap });
        }
    }
    slots.put_behind(&patches);
    (contacts.slots, contacts.point_slots) = (slots, patches);
    if let Some(capacity) = capacity {
        contacts.limit(capacity);
    }
}

/// Puts what stands from `first` on among those before it, which are in ascending order of their pairs.
#[inline(always)]
fn into_order<T>(list: &mut [T], first: usize, pair: impl Fn(&T) -> usize) {
    for k in first..list.len() {
        let own = pair(&list[k]);
        let at = list[..k].partition_point(|other| pair(other) <= own);
        list[at..=k].rotate_right(1);
    }
}

/// What the free motion of both geoms makes of a gap: the overlap after it, and the gap after its part towards it, to first order.
#[inline(always)]
pub(crate) fn moved<R: Real>(gap: R, normal: Vec3<R>, shift_a: Vec3<R>, shift_b: Vec3<R>) -> [R; 2] {
    // c = n · (s_b − s_a);  overlap = −(max(g, 0) + c);  g' = g + min(c, 0)
    let closing = normal.dot(shift_b - shift_a);
    [-(gap.max(R::zero()) + closing), gap + closing.min(R::zero())]
}

/// What f32 makes of a distance between boxes that may touch is off by less than this part of their bounding radii: some twenty operations, each
/// off by 6·10⁻⁸ of that. Too much costs a look that finds nothing; too little would lose a touch.
const ROUNDING: f64 = 1e-5;
