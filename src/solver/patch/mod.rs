//! Blocks with patches (faces, edges and discs with torsion: [`crate::lcp::patch`]), in lanes.
//!
//! A patch is a contact with four more rows. As a contact it has the normal of its first vertex and the two tangents at its reference point; the other rows are
//! scalar rows: the normals of three more vertices, and torsion about the reference point. Vertices that a patch lacks are rows of zeros, which never push.
//! The patches of a block are its first contacts, their scalar rows its first scalar rows:
//!
//! | rows | what |
//! |---|---|
//! | 3 c, 3 c + 1, 3 c + 2 | contact c: normal, two tangents; the first P of C are patches |
//! | 3 C + 4 c … + 2 | the other normals of patch c < P |
//! | 3 C + 4 c + 3 | its torsion |
//! | 3 C + 4 P … | scalar rows with bounds |
//!
//! A disc keeps its pressure `(λ, m_t, m_o)` in the first three normals, on the cone `|m| ≤ λ`.
//!
//! Solved as points are: sweeps of Gauss-Seidel that carry w = W z + b along (`sweeps`) while they contract, then Newton on what is left, gathered
//! into full tiles (`rounds`, `newton`, `block`); the certificate is a pass of its own (`certificate`).

mod block;
mod certificate;
mod law;
mod newton;
mod rounds;
mod sweeps;

use super::cpu::{Blocks, OneTile, Tiles, Which, follow};
use super::{Header, REPORT_LEN, SolveSettings};
use crate::lane::{Compiled, Level, Mask, Pack, Task};
pub use law::{PATCH_LEN, PATCH_ROWS};
use rounds::Gathering;
use sweeps::{Carried, sweep_carrying};

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
    fn of(tiles: Tiles<'a, R>, which: Which, tile: usize) -> Self {
        let (contacts, patches) = (tiles.size.contact_count, tiles.patch_count);
        let len = patches * PATCH_LEN;
        Self { contacts, patches, shapes: &tiles.patches[tile * len..(tile + 1) * len], one: tiles.one(which, tile) }
    }

    /// Number of rows.
    #[inline(always)]
    fn row_count(&self) -> usize {
        self.one.bias.len()
    }

    /// The first scalar row that belongs to no patch.
    #[inline(always)]
    fn first_scalar(&self) -> usize {
        3 * self.contacts + PATCH_ROWS * self.patches
    }
}

/// Memory that solves reuse.
#[derive(Debug, Clone)]
pub(super) struct Scratch<R: Pack> {
    carried: Carried<R>,
    gathering: Gathering<R>,
}

impl<R: Pack> Scratch<R> {
    pub fn new() -> Self {
        Self { carried: Carried::new(), gathering: Gathering::new() }
    }
}

/// Both problems of all blocks, which are dense.
pub(super) fn solve_patches<R: Pack>(
    blocks: &mut dyn Blocks<R>,
    level: Level,
    settings: &SolveSettings,
    scratch: &mut Scratch<R>,
) {
    for which in [Which::Velocity, Which::Position] {
        for class in 0..blocks.class_count() {
            let tiles = blocks.tiles(class);
            level.run(Sweeps { tiles, which, settings, carried: &mut scratch.carried });
        }
        if settings.uses_newton() {
            level.run(Newton { blocks, which, settings, level, gathering: &mut scratch.gathering });
        }
    }
}

/// Sweeps over one problem of all blocks of a group.
struct Sweeps<'a, 'b, R: Pack> {
    tiles: Tiles<'b, R>,
    which: Which,
    settings: &'a SolveSettings,
    carried: &'a mut Carried<R>,
}

impl<R: Pack> Task for Sweeps<'_, '_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { mut tiles, which, settings, carried } = self;
        let header = Header::new(tiles.size, settings);
        for tile in 0..tiles.count() {
            let answered = match which {
                Which::Velocity => R::Mask::splat(false),
                Which::Position => follow(&mut tiles, tile),
            };
            let mut tile = PatchTile::of(tiles.reborrow(), which, tile);
            sweep_carrying(&header, settings, &mut tile, answered, carried);
        }
    }
}

/// Newton on one problem of the live blocks of all groups.
struct Newton<'a, R: Pack> {
    blocks: &'a mut dyn Blocks<R>,
    which: Which,
    settings: &'a SolveSettings,
    level: Level,
    gathering: &'a mut Gathering<R>,
}

impl<R: Pack> Task for Newton<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        rounds::newton(self.settings, self.blocks, self.which, self.level, self.gathering);
    }
}

/// w ← w + W z, column by column, as W is symmetric: sums row by row would wait for every addition.
#[inline(always)]
fn add_product<R: Pack>(delassus: &[R], z: &[R], w: &mut [R]) {
    for (column, z) in delassus.chunks_exact(z.len().max(1)).zip(z) {
        for (w, a) in w.iter_mut().zip(column) {
            *w = a.mul_add(*z, *w);
        }
    }
}

/// A certificate with nothing in it.
#[inline(always)]
fn no_report<R: Pack>() -> [R; REPORT_LEN] {
    [R::zero(); REPORT_LEN]
}
