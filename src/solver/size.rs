//! How large a block is.

use crate::contact::PATCH_ROWS;

/// How many rows of which kind a block has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BlockSize {
    /// Contacts, three rows each.
    pub contact_count: usize,
    /// Scalar rows: limits, dry friction, equalities, contacts without friction.
    pub scalar_count: usize,
}

impl BlockSize {
    /// 3 contacts + scalars.
    pub fn row_count(self) -> usize {
        3 * self.contact_count + self.scalar_count
    }
    /// Contacts and scalar rows.
    pub fn unit_count(self) -> usize {
        self.contact_count + self.scalar_count
    }
    /// The size class that holds blocks of this size: few classes, so that lanes fill, and near ones, so that little is padded.
    ///
    /// It depends on the block alone, so a block is solved to the same bits whatever else is in the batch.
    pub fn class(self) -> Self {
        // 0 2 4 8 16 …
        let scalars = if self.scalar_count == 0 { 0 } else { self.scalar_count.next_power_of_two().max(2) };
        Self { contact_count: round(self.contact_count), scalar_count: scalars }
    }
    /// The same for a block whose first `patch_count` contacts are patches, whose further rows are among the scalar rows; and how many patches it has room for.
    pub(super) fn class_with(self, patch_count: usize) -> (Self, usize) {
        let patches = round(patch_count);
        let contact_count = self.contact_count - patch_count;
        let rest = Self { contact_count, scalar_count: self.scalar_count - PATCH_ROWS * patch_count }.class();
        let contact_count = rest.contact_count + patches;
        (Self { contact_count, scalar_count: rest.scalar_count + PATCH_ROWS * patches }, patches)
    }
}

/// 0 1 2 3 4 6 8 12 16 24 32 48 …
fn round(n: usize) -> usize {
    if n <= 4 {
        return n;
    }
    let power = n.next_power_of_two();
    if n <= power / 4 * 3 { power / 4 * 3 } else { power }
}
