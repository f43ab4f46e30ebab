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
//! into full tiles (`rounds`, `newton`, `block`); the certificate is a pass of its own (`certificate`). On a device sweeps and certificates are those of the shader
//! (`shaders/patch`), whose twin is made of the same parts (`twin`).

mod block;
mod certificate;
mod law;
#[cfg(feature = "gpu")]
mod linear;
mod newton;
mod pieces;
mod rounds;
mod sweeps;
mod tile;
#[cfg(feature = "gpu")]
mod twin;

#[cfg(feature = "gpu")]
pub(crate) use linear::linear_law;
#[cfg(feature = "gpu")]
pub(crate) use newton::LEAST_DELTA as PATCH_DELTA;
pub use sweeps::DISC_STEPS;
#[cfg(feature = "gpu")]
pub(crate) use twin::{OnePatch, SEVEN_ROWS, patch_sweeps};

use super::settings::{Header, SolveSettings};
use super::tiles::{Blocks, Tiles, Which, follow};
use crate::lane::{Compiled, Level, Mask, Pack, Task};
use rounds::Gathering;
use sweeps::{Carried, sweep_carrying};
use tile::PatchTile;

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

/// What follows on one problem of all blocks after sweeps elsewhere.
pub(super) fn polish_patches<R: Pack>(
    blocks: &mut dyn Blocks<R>,
    which: Which,
    level: Level,
    settings: &SolveSettings,
    scratch: &mut Scratch<R>,
) {
    level.run(Newton { blocks, which, settings, level, gathering: &mut scratch.gathering });
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
