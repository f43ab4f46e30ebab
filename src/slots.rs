//! Slots: rows of a tile of worlds that share a place though they are not of one origin.
//!
//! The contacts (or joint rows) of a world fill slots in their own fixed order, with slots left out between them. There are no more slots than some world needs, and as far as
//! that allows, entries of one origin, such as a pair of geoms, share a slot in all worlds that have them, so that whole packs are written.

use crate::lane::MOST_LANES;

/// Some lanes of a slot: those whose entry is of one origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotPart {
    /// The slot.
    pub slot: u32,
    /// Where the entries come from: index of a pair, or of a joint row.
    pub origin: u32,
    /// The lanes, one bit each.
    pub lanes: u32,
}

impl SlotPart {
    /// The lanes of both parts if they are of one origin, one bit each.
    #[inline(always)]
    pub fn shared(&self, other: &Self) -> u32 {
        if self.origin == other.origin { self.lanes & other.lanes } else { 0 }
    }
}

/// Who has what of the slots of a tile.
#[derive(Debug, Clone, Default)]
pub struct Slots {
    /// Parts of the slots, in the order in which they were placed: ascending origins, of patches and then of points.
    pub parts: Vec<SlotPart>,
    /// The lanes that have each slot, one bit each, shape \[slot\].
    pub present: Vec<u32>,
    /// The first slot that each lane may still take, shape \[lane\].
    next: [u32; MOST_LANES],
    /// Number of entries that each lane has to place; once the first is placed, the last slot that its next entry may take, as there are no more slots than the lane with most entries needs,
    /// shape \[lane\].
    last: [u32; MOST_LANES],
}

impl Slots {
    /// Forgets all slots. What is to be placed is announced first ([`Slots::announce`]), then placed ([`Slots::place`]), in one order.
    pub fn clear(&mut self) {
        self.parts.clear();
        self.present.clear();
        (self.next, self.last) = ([0; MOST_LANES], [0; MOST_LANES]);
    }

    /// Announces an entry in some lanes.
    #[inline(always)]
    pub fn announce(&mut self, lanes: u32) {
        for (lane, count) in self.last.iter_mut().enumerate() {
            *count += lanes >> lane & 1;
        }
    }

    /// Finds slots for an entry in some lanes, behind those that they have: one for all of them, unless a lane would not have room for what is still to come.
    /// What it got are the parts that are new.
    #[inline(always)]
    pub fn place(&mut self, origin: usize, lanes: u32) {
        if self.parts.is_empty() {
            let room = largest(self.last);
            self.last.iter_mut().for_each(|last| *last = room - *last);
        }
        let mut rest = lanes;
        while rest != 0 {
            let slot = self.behind(rest);
            // loops over all lanes without branches, which become a few operations on a register of them
            let mut taken = 0;
            for (lane, last) in self.last.iter().enumerate() {
                taken |= u32::from(slot <= *last) << lane;
            }
            taken &= rest;
            for (lane, last) in self.last.iter_mut().enumerate() {
                *last += taken >> lane & 1;
            }
            self.take(SlotPart { slot, origin: origin as u32, lanes: taken });
            rest &= !taken;
        }
    }

    /// The first slot behind all that `lanes` have.
    #[inline(always)]
    fn behind(&self, lanes: u32) -> u32 {
        let mut next = self.next;
        for (lane, next) in next.iter_mut().enumerate() {
            *next &= mask(lanes, lane);
        }
        largest(next)
    }

    /// Gives a slot to the lanes of a part.
    #[inline(always)]
    fn take(&mut self, part: SlotPart) {
        for (lane, next) in self.next.iter_mut().enumerate() {
            // as a select it would be a masked store, which is slow on some processors
            *next = (*next).max((part.slot + 1) & mask(part.lanes, lane));
        }
        self.parts.push(part);
        while self.present.len() <= part.slot as usize {
            self.present.push(0);
        }
        self.present[part.slot as usize] |= part.lanes;
    }

    /// Puts the slots behind those of `first`.
    pub fn put_behind(&mut self, first: &Self) {
        if first.is_empty() {
            return;
        }
        let count = first.len();
        self.parts.iter_mut().for_each(|part| part.slot += count as u32);
        self.parts.splice(0..0, first.parts.iter().copied());
        self.present.splice(0..0, first.present.iter().copied());
        self.next.iter_mut().for_each(|next| *next += count as u32);
    }

    /// Whether there is no slot.
    pub fn is_empty(&self) -> bool {
        self.present.is_empty()
    }

    /// Number of slots.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.present.len()
    }

    /// Finds a slot behind all that `lanes` have, and gives it to them: at most one more than there were.
    #[inline(always)]
    pub fn add(&mut self, origin: usize, lanes: u32) -> usize {
        let slot = self.behind(lanes);
        self.take(SlotPart { slot, origin: origin as u32, lanes });
        slot as usize
    }

    /// Takes all slots from the lanes that are not among `lanes`.
    pub fn keep(&mut self, lanes: u32) {
        self.parts.iter_mut().for_each(|part| part.lanes &= lanes);
        self.present.iter_mut().for_each(|present| *present &= lanes);
    }

    /// Takes a slot from one lane.
    pub fn remove(&mut self, slot: usize, lane: usize) {
        self.present[slot] &= !(1 << lane);
        for part in self.parts.iter_mut().filter(|part| part.slot as usize == slot) {
            part.lanes &= !(1 << lane);
        }
    }

    /// Whether `lane` has `slot`.
    #[inline(always)]
    pub fn has(&self, slot: usize, lane: usize) -> bool {
        self.present[slot] >> lane & 1 != 0
    }

    /// The parts of one slot.
    #[inline(always)]
    pub fn parts_of(&self, slot: usize) -> impl Iterator<Item = &SlotPart> {
        self.parts.iter().filter(move |part| part.slot as usize == slot)
    }

    /// Where the entry of `lane` in `slot` comes from, if it has one.
    #[inline(always)]
    pub fn origin(&self, slot: usize, lane: usize) -> Option<usize> {
        self.parts_of(slot).find(|part| part.lanes >> lane & 1 != 0).map(|part| part.origin as usize)
    }

    /// Writes down the origin of every entry, shape \[slot\]\[lane\], 0 where a lane has none.
    pub fn spread(&self, lanes: usize, origins: &mut Vec<u32>) {
        origins.clear();
        origins.resize(self.len() * lanes, 0);
        for part in &self.parts {
            let mut left = part.lanes;
            while left != 0 {
                origins[part.slot as usize * lanes + left.trailing_zeros() as usize] = part.origin;
                left &= left - 1;
            }
        }
    }

    /// Number of slots that every lane has, shape \[lane\].
    pub fn counts(&self) -> [u32; MOST_LANES] {
        slot_counts(&self.present)
    }

    /// Number of slots that a lane has.
    pub fn count(&self, lane: usize) -> usize {
        (0..self.len()).filter(|slot| self.has(*slot, lane)).count()
    }
}

/// How many of some slots every lane has, shape \[lane\]; `present`: the lanes that have each, one bit each.
pub fn slot_counts(present: &[u32]) -> [u32; MOST_LANES] {
    let mut counts = [0; MOST_LANES];
    for present in present {
        for (lane, count) in counts.iter_mut().enumerate() {
            *count += present >> lane & 1;
        }
    }
    counts
}

/// The largest of some numbers, by halves: one after the other they become as many conditional moves, each of which waits for the last.
#[inline(always)]
fn largest(mut numbers: [u32; MOST_LANES]) -> u32 {
    let mut half = MOST_LANES / 2;
    while half > 0 {
        for i in 0..half {
            numbers[i] = numbers[i].max(numbers[i + half]);
        }
        half /= 2;
    }
    numbers[0]
}

/// All bits where `lane` is among `lanes`, else none.
#[inline(always)]
fn mask(lanes: u32, lane: usize) -> u32 {
    (lanes >> lane & 1).wrapping_neg()
}

/// The first `count` lanes, one bit each.
#[inline(always)]
pub fn first_lanes(count: usize) -> u32 {
    ((1u64 << count) - 1) as u32
}
