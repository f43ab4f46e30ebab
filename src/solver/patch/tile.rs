//! One problem of one tile of blocks with patches, and how much room it has.

use super::super::batch::{PATCH_LEN, REPORT_LEN};
use super::super::project::is_finite;
use super::super::tiles::{OneTile, Tiles, Which};
use crate::contact::PATCH_ROWS;
use crate::lane::{Mask, Pack, PackMask};

/// One problem of one tile of blocks with patches.
pub(super) struct PatchTile<'a, R> {
    /// C: contacts that the blocks have room for.
    pub contacts: usize,
    /// P: how many of them are patches.
    pub patches: usize,
    /// What the patches are, shape \[patch\]\[[`PATCH_LEN`]\].
    pub shapes: &'a [R],
    /// The rest, as of any block.
    pub one: OneTile<'a, R>,
}

impl<'a, R: Pack> PatchTile<'a, R> {
    #[inline(always)]
    pub fn of(tiles: Tiles<'a, R>, which: Which, tile: usize) -> Self {
        let (contacts, patches) = (tiles.size.contact_count, tiles.patch_count);
        let len = patches * PATCH_LEN;
        Self { contacts, patches, shapes: &tiles.patches[tile * len..(tile + 1) * len], one: tiles.one(which, tile) }
    }

    /// Number of rows.
    #[inline(always)]
    pub fn row_count(&self) -> usize {
        self.one.bias.len()
    }

    /// The first scalar row that belongs to no patch.
    #[inline(always)]
    pub fn first_scalar(&self) -> usize {
        3 * self.contacts + PATCH_ROWS * self.patches
    }
}

/// Room for contacts, the first of which are patches, and for scalar rows that belong to no patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Room {
    pub contacts: usize,
    pub patches: usize,
    pub scalars: usize,
}

impl Room {
    /// 3 contacts + 4 patches + scalars.
    #[inline(always)]
    pub fn row_count(self) -> usize {
        3 * self.contacts + PATCH_ROWS * self.patches + self.scalars
    }
}

/// w ← w + W z, column by column, as W is symmetric: sums row by row would wait for every addition. What no lane presses on adds nothing.
#[inline(always)]
pub(super) fn add_product<R: Pack>(delassus: &[R], z: &[R], w: &mut [R]) {
    for (column, z) in delassus.chunks_exact(z.len().max(1)).zip(z) {
        if !acts(*z) {
            continue;
        }
        for (w, a) in w.iter_mut().zip(column) {
            *w = a.mul_add(*z, *w);
        }
    }
}

/// Whether an impulse is anything but zero in any lane.
#[inline(always)]
pub(super) fn acts<R: Pack>(z: R) -> bool {
    // what is not a number is not zero either
    R::zero().lt(z.abs()).or(is_finite(z).not()).any()
}

/// A certificate with nothing in it.
#[inline(always)]
pub(super) fn no_report<R: Pack>() -> [R; REPORT_LEN] {
    [R::zero(); REPORT_LEN]
}
