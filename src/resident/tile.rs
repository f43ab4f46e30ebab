//! What lies in the memory of a workgroup while Newton solves a world: how many of its rows at a time, and what belongs to them.

use super::layout::Layout;
use crate::solver::SEVEN_ROWS;

impl Layout {
    /// Rows of a contact there: those of a patch, where contacts may be patches; zero where a point has no such row.
    pub fn contact_rows(&self) -> usize {
        if self.patches { SEVEN_ROWS } else { 3 }
    }
    /// Its law there: M of a row and g, in vectors of four.
    pub fn law_quads(&self) -> usize {
        (self.contact_rows() + 1) / 4
    }

    /// Rows of a tile of Y, which are whole contacts: as many as a world has at most, if there is room for so many beside columns of the system, sums of the invocations, answer, z and magnitudes;
    /// none where there is no room for one contact, or no invocation for the right-hand side, and so no Newton.
    pub fn newton_tile_rows(&self) -> usize {
        let lanes = newton_lanes(self.nv);
        if self.nv >= lanes {
            return 0;
        }
        // every array begins at a multiple of four numbers
        let padded = |len: usize| len.next_multiple_of(4);
        let scalars = padded(self.newton_scalar_room()) + padded(SCALAR_OWN * self.newton_scalar_room());
        let system = 2 * padded(self.nv) + NEWTON_SUMS * lanes;
        let others = system + 4 * padded(self.nv) + padded(2) + padded(1) + scalars;
        // Y of a row, its law, and its share of what is asked of its contact
        let own = if self.patches { 0 } else { CONTACT_OWN.div_ceil(3) };
        let room = WORKGROUP_NUMBERS.saturating_sub(others) / (self.nv + 4 * self.law_quads() + own);
        let of_contact = self.contact_rows();
        let all = of_contact * self.capacity + self.scalar_rows();
        // few worlds have more rows than twice their degrees of freedom; what their workgroups do not take is left for others, and for the cache
        let usual = if self.patches { all } else { (2 * self.nv).max(USUAL_ROWS) };
        (room / of_contact * of_contact).min(all.min(usual).next_multiple_of(of_contact))
    }

    /// Contacts of a tile at most.
    pub fn newton_tile_contacts(&self) -> usize {
        self.capacity.min(self.newton_tile_rows() / self.contact_rows())
    }
    /// Scalar rows that there is room for; one where there is none, since no array is empty.
    pub fn newton_scalar_room(&self) -> usize {
        self.scalar_rows().max(1)
    }
}

/// Numbers that a workgroup has memory for, on every device.
const WORKGROUP_NUMBERS: usize = 16_384 / size_of::<f32>();
/// Rows of a world that are nothing unusual, whatever the model. On an H200 a step of 32,768 ants took 1.9 to 2.1 ms with tiles of 24 rows and 2.4 with those of 66, which
/// hold all that a world may have (device time, runs of 10 to 20 steps, not in turn).
const USUAL_ROWS: usize = 24;
/// Numbers of a contact that lie there: b, λ, W of its own, friction, and λ before a step.
pub(super) const CONTACT_OWN: usize = 16;
/// And of a scalar row: b, λ, W, its bounds, and λ before a step.
pub(super) const SCALAR_OWN: usize = 6;
/// Numbers that every invocation of Newton tells the first: its residual, and the sum that rounds it.
pub(super) const NEWTON_SUMS: usize = 2;

/// Invocations of a workgroup of Newton: a column of the system with its right-hand side is one's.
pub(super) fn newton_lanes(nv: usize) -> usize {
    if nv < 32 { 32 } else { 64 }
}
