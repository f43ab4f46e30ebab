//! What a step leaves for the next.

use super::memory::Memory;
use super::patches::transmitted;
use super::places::slot_rows;
use super::posed::Posed;
use crate::lane::{Pack, PackMask};
use crate::slots::{SlotPart, first_lanes};

impl<R: Pack> Memory<R> {
    /// The impulses of a step, and whose they are. `joint_rows`: how many the model has.
    #[inline(always)]
    pub(super) fn keep(&mut self, joint_rows: usize, lane_count: usize, posed: &Posed<R>) {
        let Posed { contacts, limits, rows, impulse, .. } = posed;
        let patch_slots = contacts.patches.len();
        self.patches.clear();
        self.contacts.clear();
        for part in &contacts.slots.parts {
            match (part.slot as usize).checked_sub(patch_slots) {
                None => self.patches.push(*part),
                Some(slot) => self.contacts.push(SlotPart { slot: slot as u32, ..*part }),
            }
        }
        debug_assert!(self.contacts.is_sorted_by_key(|part| part.origin), "slots are placed pair by pair");
        self.transmitted.clear();
        for slot in 0..patch_slots {
            self.transmitted.push(transmitted(posed, slot));
        }
        self.feature.clear();
        self.feature.extend_from_slice(&contacts.feature[patch_slots..]);
        self.contact_impulse.clear();
        for (slot, [n, t1, t2]) in rows.frame.iter().enumerate().skip(patch_slots) {
            // λ = n λ_n + t₁ λ₁ + t₂ λ₂ in world axes
            let [normal, first, second] = rows.contact_impulse(slot, impulse);
            self.contact_impulse.push(n.scale(normal) + t1.scale(first) + t2.scale(second));
        }
        self.contact_torque.clear();
        for slot in 0..rows.turns.friction.len() {
            let ([n, t1, t2], [normal, first, second]) = (rows.frame[slot], rows.contact_torque(slot, impulse));
            self.contact_torque.push(n.scale(normal) + t1.scale(first) + t2.scale(second));
        }
        let (first, _) = slot_rows(rows.three_rows(), rows.joint_start(contacts.patch_rows()));
        let last = first + limits.gap.len();
        self.joint_impulse.clear();
        self.joint_impulse.resize(joint_rows, R::zero());
        for part in &limits.slots.parts {
            let (row, lanes) = (&mut self.joint_impulse[part.origin as usize], R::Mask::from_bits(part.lanes));
            *row = R::select(lanes, impulse[first + part.slot as usize], *row);
        }
        self.equality_impulse.clear();
        self.equality_impulse.extend_from_slice(&impulse[last..]);
        self.equality_lanes = first_lanes(lane_count);
    }
}
