//! What a world remembers from step to step: the impulse of every contact and joint row, by identity, not by slot.

use crate::spatial::Vec3;

/// The impulse of one contact (in world axes, N·s) or joint row (in x).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Remembered<S> {
    /// Identity: of a contact by geom pair and feature, of a joint or bilateral row by its index.
    pub key: u64,
    /// The impulse.
    pub impulse: Vec3<S>,
}

/// Identity of a contact: pair of geoms and feature of the pair.
pub fn contact_key(pair: u32, feature: u32) -> u64 {
    u64::from(pair) << 32 | u64::from(feature)
}

/// Identity of a bilateral row.
pub fn equality_key(row: usize) -> u64 {
    1 << 62 | row as u64
}

/// Identity of a joint row.
pub fn joint_key(row: u32) -> u64 {
    1 << 63 | u64::from(row)
}

/// The joint row with this identity, an index into [`crate::limit::joint_rows`]; none if it is another's.
pub fn joint_row_of(key: u64) -> Option<usize> {
    (key >> 63 == 1).then_some((key & u64::from(u32::MAX)) as usize)
}
