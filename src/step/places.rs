//! Where the blocks and rows of a tile of worlds live in the batch.

use crate::contact::PATCH_ROWS;
use crate::island::{Islands, NO_ROW, SCALAR};
use crate::lane::{Pack, PackMask};
use crate::solver::{Batch, BlockPlace, BlockSize};

/// Where the blocks and rows of a tile live in the batch: in place, all in one tile of it, as the tile of worlds numbers its rows; or dealt out.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// Of every block, shape \[block\].
    pub block: Vec<BlockPlace>,
    /// Group of the batch that is the tile, if rows stay in place.
    whole: Option<usize>,
    /// The lanes that have each slot, one bit each, if rows stay in place, shape \[slot\].
    present: Vec<u32>,
    /// Contact slots, and rows of the tile.
    contact_slots: usize,
    row_count: usize,
    /// Of every slot and world, shape \[slot\]\[lane\]; groups are [`NO_ROW`] where a world has not got the slot.
    slot: Vec<SlotPlace>,
}

/// Where a slot of one world lives.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SlotPlace {
    group: u32,
    tile: u32,
    row: u32,
    lane: u32,
    count: u32,
    row_count: u32,
}

/// Where a slot of one world lives, as indices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Home {
    /// Index of the group.
    pub group: usize,
    /// Tile of the group.
    pub tile: usize,
    /// First row of the slot in the block.
    pub row: usize,
    /// Lane of the tile.
    pub lane: usize,
    /// Rows of the slot that the block has: 3 for a contact with friction, else 1.
    pub count: usize,
    /// Rows that the blocks of the group have room for.
    pub row_count: usize,
}

impl SlotPlace {
    #[inline(always)]
    fn home(self) -> Home {
        let Self { group, tile, row, lane, count, row_count } = self;
        Home {
            group: group as usize,
            tile: tile as usize,
            row: row as usize,
            lane: lane as usize,
            count: count as usize,
            row_count: row_count as usize,
        }
    }
}

impl Places {
    /// Number of slots of a tile.
    #[inline(always)]
    pub fn slot_count(&self) -> usize {
        self.row_count - 2 * self.contact_slots
    }

    /// Group of the batch that is the tile, if rows stay in place.
    #[inline(always)]
    pub fn whole(&self) -> Option<usize> {
        self.whole
    }

    /// The lanes that have a slot, one bit each.
    #[inline(always)]
    pub fn lanes_with(&self, lanes: usize, slot: usize) -> u32 {
        match self.whole {
            Some(_) => self.present[slot],
            None => (0..lanes).fold(0, |bits, lane| bits | u32::from(self.of(lanes, slot, lane).is_some()) << lane),
        }
    }

    /// Where a slot of a world lives, if the world has it.
    #[inline(always)]
    pub fn of(&self, lanes: usize, slot: usize, lane: usize) -> Option<Home> {
        if let Some(group) = self.whole {
            let (row, count) = slot_rows(self.contact_slots, slot);
            let home = Home { group, tile: 0, row, lane, count, row_count: self.row_count };
            return (self.present[slot] >> lane & 1 != 0).then_some(home);
        }
        let place = self.slot[slot * lanes + lane];
        (place.group != NO_ROW).then_some(place.home())
    }
}

/// Makes the tile group `index` of the batch.
pub fn reserve_in_place<R: Pack>(
    [contact_slots, patch_slots]: [usize; 2],
    index: usize,
    islands: &Islands,
    batch: &mut Batch<R>,
    places: &mut Places,
) {
    (places.whole, places.contact_slots, places.row_count) = (Some(index), contact_slots, islands.row_count);
    batch.set_tile(
        index,
        BlockSize { contact_count: contact_slots, scalar_count: islands.row_count - 3 * contact_slots },
        patch_slots,
    );
    places.present.clone_from(&islands.present);
    places.block.clear();
    places.block.extend(islands.blocks.iter().map(|b| BlockPlace { group: index, block: b.lane }));
}

/// Adds the blocks of the tile to the batch, which makes room for them afterwards ([`Batch::allocate`]).
/// `patches`: whether blocks may have patches.
pub fn reserve<R: Pack>(
    contact_slots: usize,
    patches: bool,
    islands: &Islands,
    batch: &mut Batch<R>,
    places: &mut Places,
) {
    let lanes = R::LANES;
    (places.whole, places.contact_slots, places.row_count) = (None, contact_slots, islands.row_count);
    places.block.clear();
    for b in &islands.blocks {
        let size = BlockSize { contact_count: b.contact_count, scalar_count: b.scalar_count };
        let place = if patches { batch.add_patched(size, b.patch_count) } else { batch.add_island(size, b.dof_count) };
        places.block.push(place);
    }
    places.slot.clear();
    for slot in 0..islands.row_count - 2 * contact_slots {
        let (first, count) = slot_rows(contact_slots, slot);
        for lane in 0..lanes {
            let (block, entry) = (islands.row_block[first * lanes + lane], islands.row_entry[first * lanes + lane]);
            let mut place = SlotPlace { group: NO_ROW, tile: 0, row: 0, lane: 0, count: 0, row_count: 0 };
            if block != NO_ROW {
                let home = places.block[block as usize];
                let size = batch.groups[home.group].size;
                let (contacts, row_count) = (size.contact_count as u32, size.row_count() as u32);
                // what a block has is followed by room for more: of patches, of points, of the rows of patches
                let (own, room) = (islands.blocks[block as usize].patch_count, batch.groups[home.group].patch_count);
                let (own, room) = (own as u32, room as u32);
                let behind =
                    |entry: u32, rows: u32| if entry < rows * own { entry } else { entry + rows * (room - own) };
                let (row, count) = if entry >= SCALAR {
                    (3 * contacts + behind(entry - SCALAR, PATCH_ROWS as u32), 1)
                } else {
                    (behind(entry, 3), count as u32)
                };
                let (tile, in_tile) = ((home.block / lanes) as u32, home.block % lanes);
                place = SlotPlace { group: home.group as u32, tile, row, lane: in_tile as u32, count, row_count };
            }
            places.slot.push(place);
        }
    }
}

/// First row and number of rows of a slot.
#[inline(always)]
pub fn slot_rows(contact_slots: usize, slot: usize) -> (usize, usize) {
    if slot < contact_slots { (3 * slot, 3) } else { (2 * contact_slots + slot, 1) }
}

/// Writes bounds, velocity and position bias, and first guess of a scalar row, for the worlds that have it.
#[inline(always)]
pub(super) fn scalar_row<R: Pack>(
    places: &Places,
    batch: &mut Batch<R>,
    slot: usize,
    bounds: [R; 2],
    [bias, position_bias]: [R; 2],
    guess: R,
) {
    if let Some(group) = places.whole() {
        let group = &mut batch.groups[group];
        let present = R::Mask::from_bits(places.lanes_with(R::LANES, slot));
        let (row, scalar) = (2 * group.size.contact_count + slot, 2 * (slot - group.size.contact_count));
        for (entry, x) in [
            (&mut group.bounds[scalar], bounds[0]),
            (&mut group.bias[row], bias),
            (&mut group.position_bias[row], position_bias),
            (&mut group.impulse[row], guess),
        ] {
            *entry = R::select(present, x, R::zero());
        }
        group.bounds[scalar + 1] = R::select(present, bounds[1], R::zero());
        return;
    }
    for lane in 0..R::LANES {
        let Some(p) = places.of(R::LANES, slot, lane) else { continue };
        let group = &mut batch.groups[p.group];
        let row = p.tile * group.size.row_count() + p.row;
        let scalar = 2 * (p.tile * group.size.scalar_count + p.row - 3 * group.size.contact_count);
        for (i, bound) in bounds.into_iter().enumerate() {
            group.bounds[scalar + i].set(p.lane, bound.get(lane));
        }
        group.bias[row].set(p.lane, bias.get(lane));
        group.position_bias[row].set(p.lane, position_bias.get(lane));
        group.impulse[row].set(p.lane, guess.get(lane));
    }
}
