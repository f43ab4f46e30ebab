//! What a tile of worlds remembers from step to step: the impulse of every contact and row, by identity.

use super::Posed;
use crate::lane::{Mask, Pack, PackMask, Scalar};
use crate::slots::{SlotPart, first_lanes};
use crate::spatial::{Vec3, vec3};

/// The impulses of a step, in its slots: the first guess of the next.
#[derive(Debug, Clone, Default)]
pub struct Memory<R> {
    /// Pair and lanes of the contacts of every slot.
    contacts: Vec<SlotPart>,
    /// Which point of the pair, shape \[contact slot\].
    feature: Vec<R>,
    /// Impulse of the contact in world axes, N·s, shape \[contact slot\].
    contact_impulse: Vec<Vec3<R>>,
    /// Index and lanes of the joint rows of every slot.
    joint_rows: Vec<SlotPart>,
    /// Impulse of the joint row, N·s or N·m·s, shape \[joint slot\].
    joint_impulse: Vec<R>,
    /// Impulse of every bilateral row, shape \[row\], of the worlds that have one, one bit each.
    equality_impulse: Vec<R>,
    equality_lanes: u32,
}

/// Identity of an impulse in a snapshot, and the impulse: of a contact in world axes, of another row in x.
pub type Remembered = (u64, [f64; 3]);

/// Added to the identity of a bilateral row, and of a joint row; that of a contact is pair · 2³² + feature.
const EQUALITY: u64 = 1 << 62;
const JOINT_ROW: u64 = 1 << 63;

/// Whose impulse is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// Of a pair of geoms, and which point of it.
    Contact(u32, u32),
    /// Index of a joint row.
    JointRow(u32),
    /// Index of a bilateral row.
    Equality(u32),
}

impl Identity {
    /// As a snapshot has it.
    pub fn key(self) -> u64 {
        match self {
            Self::Contact(pair, feature) => u64::from(pair) << 32 | u64::from(feature),
            Self::JointRow(row) => JOINT_ROW | u64::from(row),
            Self::Equality(row) => EQUALITY | u64::from(row),
        }
    }
    /// What a snapshot has.
    pub fn of(key: u64) -> Self {
        match key {
            key if key & JOINT_ROW != 0 => Self::JointRow(key as u32),
            key if key & EQUALITY != 0 => Self::Equality((key & !EQUALITY).min(u64::from(u32::MAX)) as u32),
            key => Self::Contact((key >> 32) as u32, key as u32),
        }
    }
}

impl<R: Pack> Memory<R> {
    /// The impulses of a step, and whose they are.
    #[inline(always)]
    pub(super) fn keep(&mut self, lane_count: usize, posed: &Posed<R>) {
        let Posed { contacts, limits, rows, impulse, .. } = posed;
        self.contacts.clone_from(&contacts.slots.parts);
        self.feature.clone_from(&contacts.feature);
        self.contact_impulse.clear();
        for (slot, [n, t1, t2]) in rows.frame.iter().enumerate() {
            // λ = n λ_n + t₁ λ₁ + t₂ λ₂ in world axes
            let i = 3 * slot;
            self.contact_impulse.push(n.scale(impulse[i]) + t1.scale(impulse[i + 1]) + t2.scale(impulse[i + 2]));
        }
        let (first, last) = (3 * rows.frame.len(), 3 * rows.frame.len() + limits.gap.len());
        self.joint_rows.clone_from(&limits.slots.parts);
        self.joint_impulse.clear();
        self.joint_impulse.extend_from_slice(&impulse[first..last]);
        self.equality_impulse.clear();
        self.equality_impulse.extend_from_slice(&impulse[last..]);
        self.equality_lanes = first_lanes(lane_count);
    }

    /// The impulse of the contacts of `part` with these features, world axes, N·s; 0 where none is remembered.
    #[inline(always)]
    pub(super) fn contact(&self, part: &SlotPart, feature: R) -> Vec3<R> {
        let mut guess = Vec3::zero();
        for kept in &self.contacts {
            if kept.origin != part.origin || kept.lanes & part.lanes == 0 {
                continue;
            }
            let (slot, lanes) = (kept.slot as usize, R::Mask::from_bits(kept.lanes & part.lanes));
            let other = self.feature[slot].lt(feature).or(feature.lt(self.feature[slot]));
            guess = Vec3::select(lanes.and(other.not()), self.contact_impulse[slot], guess);
        }
        guess
    }

    /// The impulse of the joint rows of `part`, N·s or N·m·s; 0 where none is remembered.
    #[inline(always)]
    pub(super) fn joint_row(&self, part: &SlotPart) -> R {
        let mut guess = R::zero();
        for kept in &self.joint_rows {
            if kept.origin != part.origin || kept.lanes & part.lanes == 0 {
                continue;
            }
            let lanes = R::Mask::from_bits(kept.lanes & part.lanes);
            guess = R::select(lanes, self.joint_impulse[kept.slot as usize], guess);
        }
        guess
    }

    /// The impulse of a bilateral row, N·s or N·m·s; 0 where none is remembered.
    #[inline(always)]
    pub(super) fn equality(&self, row: usize) -> R {
        let Some(&impulse) = self.equality_impulse.get(row) else { return R::zero() };
        R::select(R::Mask::from_bits(self.equality_lanes), impulse, R::zero())
    }

    /// The joint rows that are remembered, in some worlds: index, the worlds, one bit a lane, and impulse, N·s or N·m·s.
    #[inline(always)]
    pub fn joint_rows(&self) -> impl Iterator<Item = (usize, u32, R)> {
        self.joint_rows.iter().map(|part| (part.origin as usize, part.lanes, self.joint_impulse[part.slot as usize]))
    }

    /// Forgets all of one world.
    pub fn forget(&mut self, lane: usize) {
        for part in self.contacts.iter_mut().chain(&mut self.joint_rows) {
            part.lanes &= !(1 << lane);
        }
        self.equality_lanes &= !(1 << lane);
    }

    /// All of one world.
    pub fn of(&self, lane: usize) -> Vec<Remembered> {
        let mut all = Vec::new();
        let has = |part: &&SlotPart| part.lanes >> lane & 1 != 0;
        let mut contacts: Vec<_> = self.contacts.iter().filter(has).collect();
        contacts.sort_by_key(|part| part.slot);
        for part in contacts {
            let slot = part.slot as usize;
            let Vec3 { x, y, z } = self.contact_impulse[slot].get(lane);
            let feature = self.feature[slot].get(lane).to_f64() as u32;
            all.push((Identity::Contact(part.origin, feature).key(), [x.to_f64(), y.to_f64(), z.to_f64()]));
        }
        for part in self.joint_rows.iter().filter(has) {
            let x = self.joint_impulse[part.slot as usize].get(lane);
            all.push((Identity::JointRow(part.origin).key(), [x.to_f64(), 0.0, 0.0]));
        }
        if self.equality_lanes >> lane & 1 != 0 {
            for (row, x) in self.equality_impulse.iter().enumerate() {
                all.push((Identity::Equality(row as u32).key(), [x.get(lane).to_f64(), 0.0, 0.0]));
            }
        }
        all
    }

    /// Puts `all` in the place of what one world remembers.
    pub fn set(&mut self, lane: usize, all: &[Remembered]) {
        self.forget(lane);
        let number = R::Scalar::from_f64;
        let (mut contact_slots, mut joint_slots) = (0, 0);
        for &(key, [x, y, z]) in all {
            match Identity::of(key) {
                Identity::JointRow(row) => {
                    grow(&mut self.joint_impulse, joint_slots, R::zero());
                    self.joint_impulse[joint_slots].set(lane, number(x));
                    self.joint_rows.push(SlotPart { slot: joint_slots as u32, origin: row, lanes: 1 << lane });
                    joint_slots += 1;
                }
                Identity::Equality(row) => {
                    let row = row as usize;
                    if row < MOST_EQUALITIES {
                        grow(&mut self.equality_impulse, row, R::zero());
                        self.equality_impulse[row].set(lane, number(x));
                        self.equality_lanes |= 1 << lane;
                    }
                }
                Identity::Contact(pair, feature) => {
                    grow(&mut self.contact_impulse, contact_slots, Vec3::zero());
                    grow(&mut self.feature, contact_slots, R::zero());
                    self.contact_impulse[contact_slots].set(lane, vec3(number(x), number(y), number(z)));
                    self.feature[contact_slots].set(lane, number(f64::from(feature)));
                    let part = SlotPart { slot: contact_slots as u32, origin: pair, lanes: 1 << lane };
                    self.contacts.push(part);
                    contact_slots += 1;
                }
            }
        }
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + size_of::<SlotPart>() * (self.contacts.capacity() + self.joint_rows.capacity())
            + size_of::<R>()
                * (self.feature.capacity() + self.joint_impulse.capacity() + self.equality_impulse.capacity())
            + size_of::<Vec3<R>>() * self.contact_impulse.capacity()
    }
}

/// No model has more bilateral rows: what a snapshot says beyond is nobody's.
const MOST_EQUALITIES: usize = 1 << 20;

/// Makes sure that there is an entry `index`.
fn grow<T: Clone>(entries: &mut Vec<T>, index: usize, empty: T) {
    if entries.len() <= index {
        entries.resize(index + 1, empty);
    }
}
