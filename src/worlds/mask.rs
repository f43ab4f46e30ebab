//! Which worlds an operation concerns.

use crate::error::{Error, Result};
use std::ops::Range;

/// Which worlds an operation concerns, and how the arrays that come with it are laid out.
#[derive(Debug, Clone, Copy)]
pub enum Mask<'a> {
    /// Every world; arrays have a row a world.
    All,
    /// The worlds whose entry is true, shape \[world\]; arrays have a row for every world, and those of the others are not looked at.
    Only(&'a [bool]),
    /// The worlds with these indices; arrays have a row for each of them, in the same order. Of a world listed twice the last row counts.
    List(&'a [usize]),
}

impl<'a> Mask<'a> {
    /// Every world that is meant, behind its row in the arrays.
    pub(super) fn rows(self, world_count: usize) -> impl Iterator<Item = (usize, usize)> + 'a {
        self.rows_of(0..world_count)
    }
    /// Every one of these worlds that is meant, behind its row in the arrays.
    pub(super) fn rows_of(self, worlds: Range<usize>) -> impl Iterator<Item = (usize, usize)> + 'a {
        let rows = if let Self::List(list) = self { 0..list.len() } else { worlds.clone() };
        rows.filter_map(move |row| match self {
            Self::All => Some((row, row)),
            Self::Only(mask) => mask[row].then_some((row, row)),
            Self::List(list) => worlds.contains(&list[row]).then(|| (row, list[row])),
        })
    }
    /// Rows of the arrays.
    pub(super) fn row_count(self, world_count: usize) -> usize {
        if let Self::List(list) = self { list.len() } else { world_count }
    }
    pub(super) fn check(self, world_count: usize) -> Result<()> {
        match self {
            Self::Only(mask) if mask.len() != world_count => {
                Err(Error::argument("mask", format!("has {} entries for {world_count} worlds", mask.len())))
            }
            Self::List(list) => match list.iter().find(|world| **world >= world_count) {
                Some(world) => Err(Error::argument("mask", format!("world {world}: there are {world_count} worlds"))),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
