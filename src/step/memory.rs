//! What a tile of worlds remembers from step to step: the impulse of every contact and row, by identity.

use crate::lane::{Mask, Pack, PackMask, Real, Scalar};
use crate::slots::SlotPart;
use crate::spatial::{Vec3, vec3};

/// The impulses of a step, in its slots: the first guess of the next.
#[derive(Debug, Clone, Default)]
pub struct Memory<R> {
    /// Pair and lanes of the contacts of every slot, pairs ascending.
    pub(super) contacts: Vec<SlotPart>,
    /// Which point of the pair, shape \[contact slot\].
    pub(super) feature: Vec<R>,
    /// Impulse of the contact in world axes, N·s, shape \[contact slot\].
    pub(super) contact_impulse: Vec<Vec3<R>>,
    /// Impulse of its torque in world axes, N·m·s, shape \[contact slot\]; empty where no contact of the model has torsional or rolling friction that acts.
    pub(super) contact_torque: Vec<Vec3<R>>,
    /// Impulse of every joint row, N·s or N·m·s, 0 where it did not act, shape \[joint row\].
    pub(super) joint_impulse: Vec<R>,
    /// Impulse of every bilateral row, shape \[row\], of the worlds that have one, one bit each.
    pub(super) equality_impulse: Vec<R>,
    pub(super) equality_lanes: u32,
    /// Pair and lanes of the patches of every slot.
    pub(super) patches: Vec<SlotPart>,
    /// What they transmitted, shape \[patch slot\].
    pub(super) transmitted: Vec<Transmitted<R>>,
}

/// What a patch transmitted in a step.
#[derive(Debug, Clone, Copy, Default)]
pub struct Transmitted<R> {
    /// Which points of the pair its vertices are, shape \[vertex\].
    pub feature: [R; 4],
    /// Normal impulse of every vertex, N·s, or pressure and moments of a disc, shape \[vertex\].
    pub pressure: [R; 4],
    /// Tangential impulse in world axes, N·s.
    pub friction: Vec3<R>,
    /// Torsion about the normal at the equivalent contact point, N·m·s.
    pub torsion: R,
}

/// Identity of an impulse in a snapshot, and the impulse: of a contact in world axes, of another row in x.
pub type Remembered = (u64, [f64; 3]);

/// Added to the identity of a bilateral row, and of a joint row; that of a contact is pair · 2³² + feature.
const EQUALITY: u64 = 1 << 62;
const JOINT_ROW: u64 = 1 << 63;
/// Added to the identity of a contact for that of its torque.
const TORQUE: u64 = 1 << 60;
/// Added to the identity of what a patch transmits.
const PATCH: u64 = 1 << 61;
/// What of a patch: its tangential impulse in world axes, its torsion in x; anything else is a vertex, its normal impulse in x.
pub(crate) const FRICTION: u32 = u32::MAX;
pub(crate) const TORSION: u32 = u32::MAX - 1;

/// Whose impulse is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// Of a pair of geoms, and which point of it.
    Contact(u32, u32),
    /// The torque of the contact before it.
    Torque(u32, u32),
    /// Index of a joint row.
    JointRow(u32),
    /// Index of a bilateral row.
    Equality(u32),
    /// Of a pair of geoms, and what of its patch: [`FRICTION`], [`TORSION`], or the normal impulse of a vertex, by its feature.
    Patch(u32, u32),
}

impl Identity {
    /// As a snapshot has it.
    pub fn key(self) -> u64 {
        match self {
            Self::Contact(pair, feature) => u64::from(pair) << 32 | u64::from(feature),
            Self::Torque(pair, feature) => TORQUE | u64::from(pair) << 32 | u64::from(feature),
            Self::JointRow(row) => JOINT_ROW | u64::from(row),
            Self::Equality(row) => EQUALITY | u64::from(row),
            Self::Patch(pair, part) => PATCH | u64::from(pair) << 32 | u64::from(part),
        }
    }
    /// What a snapshot has.
    pub fn of(key: u64) -> Self {
        match key {
            key if key & JOINT_ROW != 0 => Self::JointRow(key as u32),
            key if key & EQUALITY != 0 => Self::Equality((key & !EQUALITY).min(u64::from(u32::MAX)) as u32),
            key if key & PATCH != 0 => Self::Patch(((key & !PATCH) >> 32) as u32, key as u32),
            key if key & TORQUE != 0 => Self::Torque(((key & !TORQUE) >> 32) as u32, key as u32),
            key => Self::Contact((key >> 32) as u32, key as u32),
        }
    }
}

impl<R: Pack> Memory<R> {
    /// The contacts of the pair of `part` in some of its lanes.
    #[inline(always)]
    fn contacts_of(&self, part: &SlotPart) -> impl Iterator<Item = &SlotPart> {
        let first = self.contacts.partition_point(|kept| kept.origin < part.origin);
        let pair = self.contacts[first..].iter().take_while(|kept| kept.origin == part.origin);
        pair.filter(|kept| kept.lanes & part.lanes != 0)
    }

    /// The impulse of the contacts of `part` with these features and unit normals, world axes, N·s, be they points or vertices before; 0 where none is remembered.
    #[inline(always)]
    pub(super) fn contact(&self, part: &SlotPart, feature: R, normal: Vec3<R>) -> Vec3<R> {
        let mut guess = Vec3::zero();
        for kept in self.contacts_of(part) {
            let (slot, lanes) = (kept.slot as usize, R::Mask::from_bits(kept.shared(part)));
            let own = lanes.and(same(self.feature[slot], feature));
            guess = Vec3::select(own, self.contact_impulse[slot], guess);
        }
        for kept in self.patches.iter().filter(|kept| kept.shared(part) != 0) {
            let lanes = R::Mask::from_bits(kept.shared(part));
            let before = &self.transmitted[kept.slot as usize];
            for l in 0..4 {
                let own = lanes.and(same(before.feature[l], feature)).and(R::zero().lt(before.pressure[l]));
                guess = Vec3::select(own, before.friction + normal.scale(before.pressure[l]), guess);
            }
        }
        guess
    }

    /// The impulse of the torques of the contacts of `part` with these features, world axes, N·m·s; 0 where none is remembered.
    #[inline(always)]
    pub(super) fn torque(&self, part: &SlotPart, feature: R) -> Vec3<R> {
        let mut guess = Vec3::zero();
        for kept in self.contacts_of(part) {
            let slot = kept.slot as usize;
            let Some(torque) = self.contact_torque.get(slot) else { continue };
            let own = R::Mask::from_bits(kept.shared(part)).and(same(self.feature[slot], feature));
            guess = Vec3::select(own, *torque, guess);
        }
        guess
    }

    /// What the patches of `part` transmitted, vertices matched by `feature`, or the point that they were; 0 where nothing is remembered.
    #[inline(always)]
    pub(super) fn patch(&self, part: &SlotPart, feature: &[R; 4], normal: Vec3<R>) -> Transmitted<R> {
        let mut guess = Transmitted { feature: *feature, ..Transmitted::default() };
        for kept in self.patches.iter().filter(|kept| kept.shared(part) != 0) {
            let lanes = R::Mask::from_bits(kept.shared(part));
            let before = &self.transmitted[kept.slot as usize];
            for k in 0..4 {
                for l in 0..4 {
                    let own = lanes.and(same(before.feature[l], feature[k]));
                    guess.pressure[k] += R::select(own, before.pressure[l], R::zero());
                }
            }
            guess.friction = Vec3::select(lanes, before.friction, guess.friction);
            guess.torsion = R::select(lanes, before.torsion, guess.torsion);
        }
        for kept in self.contacts_of(part) {
            let (slot, lanes) = (kept.slot as usize, R::Mask::from_bits(kept.shared(part)));
            let impulse = self.contact_impulse[slot];
            for k in 0..4 {
                let own = lanes.and(same(self.feature[slot], feature[k]));
                guess.pressure[k] = R::select(own, normal.dot(impulse), guess.pressure[k]);
            }
            // its part along the normal is no friction, and drops out along the tangents
            guess.friction = Vec3::select(lanes, impulse, guess.friction);
        }
        guess
    }

    /// The impulse of a joint row, N·s or N·m·s; 0 where none is remembered.
    #[inline(always)]
    pub fn joint_row(&self, row: usize) -> R {
        self.joint_impulse.get(row).copied().unwrap_or(R::zero())
    }

    /// The impulse of a bilateral row, N·s or N·m·s; 0 where none is remembered.
    #[inline(always)]
    pub fn equality(&self, row: usize) -> R {
        let Some(&impulse) = self.equality_impulse.get(row) else { return R::zero() };
        R::select(R::Mask::from_bits(self.equality_lanes), impulse, R::zero())
    }

    /// Forgets all of one world.
    pub fn forget(&mut self, lane: usize) {
        for part in self.contacts.iter_mut().chain(&mut self.patches) {
            part.lanes &= !(1 << lane);
        }
        for impulse in &mut self.joint_impulse {
            impulse.set(lane, R::Scalar::from_f64(0.0));
        }
        self.equality_lanes &= !(1 << lane);
    }

    /// Takes over the contacts of worlds that stand in other tiles, `world` of those in every place: a slot for every contact of a pair that a world may have.
    pub(super) fn gather_contacts(&mut self, from: &[Self], worlds: impl Iterator<Item = usize> + Clone) {
        let own = |world: usize| {
            let (memory, lane) = (&from[world / R::LANES], world % R::LANES);
            (memory, lane, memory.contacts.iter().filter(move |part| part.lanes >> lane & 1 != 0))
        };
        self.contacts.clear();
        self.equality_lanes = 0;
        for (lane, world) in worlds.clone().enumerate() {
            let ((memory, before, parts), mut at) = (own(world), 0);
            self.equality_lanes |= (memory.equality_lanes >> before & 1) << lane;
            for part in parts {
                at = self.first_of(part.origin, at);
                if self.contacts.get(at).is_some_and(|kept| kept.origin == part.origin) {
                    self.contacts[at].lanes |= 1 << lane;
                } else {
                    self.contacts.insert(at, SlotPart { slot: 0, origin: part.origin, lanes: 1 << lane });
                }
                at += 1;
            }
        }
        for (slot, part) in self.contacts.iter_mut().enumerate() {
            part.slot = slot as u32;
        }
        self.feature.resize(self.contacts.len(), R::zero());
        self.contact_impulse.resize(self.contacts.len(), Vec3::zero());
        let turns = from.iter().any(|memory| !memory.contact_torque.is_empty());
        self.contact_torque.resize(if turns { self.contacts.len() } else { 0 }, Vec3::zero());
        for (lane, world) in worlds.enumerate() {
            let ((memory, before, parts), mut at) = (own(world), 0);
            for part in parts {
                at = self.first_of(part.origin, at);
                let slot = part.slot as usize;
                self.feature[at].set(lane, memory.feature[slot].get(before));
                self.contact_impulse[at].set(lane, memory.contact_impulse[slot].get(before));
                if turns {
                    let torque = memory.contact_torque.get(slot).map_or(Vec3::zero(), |torque| torque.get(before));
                    self.contact_torque[at].set(lane, torque);
                }
                at += 1;
            }
        }
    }

    /// The first contact of a pair, or of the next one, from `at` on.
    fn first_of(&self, pair: u32, at: usize) -> usize {
        at + self.contacts[at..].iter().take_while(|kept| kept.origin < pair).count()
    }

    /// All of one world.
    pub fn of(&self, lane: usize) -> Vec<Remembered> {
        let mut all = Vec::new();
        self.recall(lane, &mut all);
        all
    }

    /// Makes `all` that.
    pub(super) fn recall(&self, lane: usize, all: &mut Vec<Remembered>) {
        all.clear();
        // in the order of their slots, which is that of their pairs
        let has = |part: &&SlotPart| part.lanes >> lane & 1 != 0;
        for part in self.contacts.iter().filter(has) {
            let slot = part.slot as usize;
            let Vec3 { x, y, z } = self.contact_impulse[slot].get(lane);
            let feature = self.feature[slot].get(lane).to_f64() as u32;
            all.push((Identity::Contact(part.origin, feature).key(), [x.to_f64(), y.to_f64(), z.to_f64()]));
            if let Some(torque) = self.contact_torque.get(slot) {
                let Vec3 { x, y, z } = torque.get(lane);
                all.push((Identity::Torque(part.origin, feature).key(), [x.to_f64(), y.to_f64(), z.to_f64()]));
            }
        }
        for part in self.patches.iter().filter(has) {
            let patch = &self.transmitted[part.slot as usize];
            let key = |what: u32| Identity::Patch(part.origin, what).key();
            let Vec3 { x, y, z } = patch.friction.get(lane);
            all.push((key(FRICTION), [x.to_f64(), y.to_f64(), z.to_f64()]));
            all.push((key(TORSION), [patch.torsion.get(lane).to_f64(), 0.0, 0.0]));
            for (feature, pressure) in patch.feature.iter().zip(&patch.pressure) {
                let pressure = pressure.get(lane).to_f64();
                if pressure != 0.0 {
                    all.push((key(feature.get(lane).to_f64() as u32), [pressure, 0.0, 0.0]));
                }
            }
        }
        for (row, impulse) in self.joint_impulse.iter().enumerate() {
            let x = impulse.get(lane).to_f64();
            if x != 0.0 {
                all.push((Identity::JointRow(row as u32).key(), [x, 0.0, 0.0]));
            }
        }
        if self.equality_lanes >> lane & 1 != 0 {
            for (row, x) in self.equality_impulse.iter().enumerate() {
                all.push((Identity::Equality(row as u32).key(), [x.get(lane).to_f64(), 0.0, 0.0]));
            }
        }
    }

    /// Puts `all` in the place of what one world remembers.
    pub fn set(&mut self, lane: usize, all: &[Remembered]) {
        self.forget(lane);
        let number = R::Scalar::from_f64;
        let (mut contact_slots, mut patch_slots) = (0, 0);
        for &(key, [x, y, z]) in all {
            match Identity::of(key) {
                Identity::JointRow(row) => {
                    let row = row as usize;
                    if row < MOST_SCALAR_ROWS {
                        grow(&mut self.joint_impulse, row, R::zero());
                        self.joint_impulse[row].set(lane, number(x));
                    }
                }
                Identity::Equality(row) => {
                    let row = row as usize;
                    if row < MOST_SCALAR_ROWS {
                        grow(&mut self.equality_impulse, row, R::zero());
                        self.equality_impulse[row].set(lane, number(x));
                        self.equality_lanes |= 1 << lane;
                    }
                }
                // friction comes first, then torsion and vertices
                Identity::Patch(origin, FRICTION) => {
                    grow(&mut self.transmitted, patch_slots, Transmitted::default());
                    let patch = &mut self.transmitted[patch_slots];
                    for k in 0..4 {
                        patch.pressure[k].set(lane, number(0.0));
                        patch.feature[k].set(lane, number(f64::from(k as u32)));
                    }
                    patch.torsion.set(lane, number(0.0));
                    patch.friction.set(lane, vec3(number(x), number(y), number(z)));
                    self.patches.push(SlotPart { slot: patch_slots as u32, origin, lanes: 1 << lane });
                    patch_slots += 1;
                }
                Identity::Patch(_, what) => {
                    let Some(slot) = usize::checked_sub(patch_slots, 1) else { continue };
                    let patch = &mut self.transmitted[slot];
                    if what == TORSION {
                        patch.torsion.set(lane, number(x));
                    } else if let Some(k) = (0..4).find(|&k| patch.pressure[k].get(lane) == number(0.0)) {
                        patch.pressure[k].set(lane, number(x));
                        patch.feature[k].set(lane, number(f64::from(what)));
                    }
                }
                Identity::Torque(..) => {
                    let Some(slot) = usize::checked_sub(contact_slots, 1) else { continue };
                    grow(&mut self.contact_torque, slot, Vec3::zero());
                    self.contact_torque[slot].set(lane, vec3(number(x), number(y), number(z)));
                }
                Identity::Contact(pair, feature) => {
                    grow(&mut self.contact_impulse, contact_slots, Vec3::zero());
                    grow(&mut self.feature, contact_slots, R::zero());
                    self.contact_impulse[contact_slots].set(lane, vec3(number(x), number(y), number(z)));
                    self.feature[contact_slots].set(lane, number(f64::from(feature)));
                    if let Some(torque) = self.contact_torque.get_mut(contact_slots) {
                        torque.set(lane, Vec3::zero());
                    }
                    let part = SlotPart { slot: contact_slots as u32, origin: pair, lanes: 1 << lane };
                    self.contacts.push(part);
                    contact_slots += 1;
                }
            }
        }
        self.contacts.sort_unstable_by_key(|part| (part.origin, part.slot));
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + size_of::<SlotPart>() * (self.contacts.capacity() + self.patches.capacity())
            + size_of::<Transmitted<R>>() * self.transmitted.capacity()
            + size_of::<R>()
                * (self.feature.capacity() + self.joint_impulse.capacity() + self.equality_impulse.capacity())
            + size_of::<Vec3<R>>() * (self.contact_impulse.capacity() + self.contact_torque.capacity())
    }
}

/// The lanes in which two points of a pair are the same one.
#[inline(always)]
fn same<R: Real>(a: R, b: R) -> R::Mask {
    a.lt(b).or(b.lt(a)).not()
}

/// No model has more joint rows, or more bilateral rows: what a snapshot says beyond is nobody's.
const MOST_SCALAR_ROWS: usize = 1 << 20;

/// Makes sure that there is an entry `index`.
fn grow<T: Clone>(entries: &mut Vec<T>, index: usize, empty: T) {
    if entries.len() <= index {
        entries.resize(index + 1, empty);
    }
}
