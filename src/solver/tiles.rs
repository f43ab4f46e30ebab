//! The tiles of a batch, borrowed: what one thread solves, one problem of one tile at a time.

use super::batch::{
    Batch, Group, PATCH_LEN, REPORT_LEN, REPORT_LIVE, REPORT_NEWTON_STEPS, REPORT_RESIDUAL, REPORT_SWEEPS, SWEPT,
};
use super::factor::Factor;
use super::project::is_finite;
use super::size::BlockSize;
#[cfg(feature = "gpu")]
use crate::lane::F32x16;
use crate::lane::{Mask, Pack};
#[cfg(all(feature = "gpu", target_arch = "x86_64"))]
use crate::lane::{Pair, Wide};
#[cfg(any(target_arch = "x86_64", feature = "gpu"))]
use bytemuck::{Pod, must_cast_slice, must_cast_slice_mut};

/// Some tiles of a [`Group`], borrowed: what one thread solves. Shapes as in [`Group`].
#[derive(Debug)]
pub struct Tiles<'a, R: Pack> {
    /// Room of every block.
    pub size: BlockSize,
    /// How many contacts of a block are patches, the first ones.
    pub patch_count: usize,
    /// What the patches are.
    pub patches: &'a [R],
    /// Delassus matrix W. Empty if the blocks are factored.
    pub delassus: &'a [R],
    /// W of every block if they are factored.
    pub factors: &'a mut [Factor<R::Scalar>],
    /// Friction coefficient μ.
    pub friction: &'a [R],
    /// Bounds of the scalar rows, N·s.
    pub bounds: &'a [R],
    /// Constant term b of the velocity problem, m/s.
    pub bias: &'a [R],
    /// Impulse of the velocity problem, N·s.
    pub impulse: &'a mut [R],
    /// Certificate of the velocity problem.
    pub report: &'a mut [R],
    /// Constant term of the position problem, m/s.
    pub position_bias: &'a [R],
    /// Impulse of the position problem, N·s.
    pub position_impulse: &'a mut [R],
    /// Certificate of the position problem.
    pub position_report: &'a mut [R],
}

impl<'a, R: Pack> Tiles<'a, R> {
    /// All tiles of `group`.
    pub fn all(group: &'a mut Group<R>) -> Self {
        Self {
            size: group.size,
            patch_count: group.patch_count,
            patches: &group.patches,
            delassus: &group.delassus,
            factors: used_factors(&mut group.factors, group.block_count),
            friction: &group.friction,
            bounds: &group.bounds,
            bias: &group.bias,
            impulse: &mut group.impulse,
            report: &mut group.report,
            position_bias: &group.position_bias,
            position_impulse: &mut group.position_impulse,
            position_report: &mut group.position_report,
        }
    }

    /// The same tiles, borrowed for less long.
    #[inline(always)]
    pub(crate) fn reborrow(&mut self) -> Tiles<'_, R> {
        Tiles {
            size: self.size,
            patch_count: self.patch_count,
            patches: self.patches,
            delassus: self.delassus,
            factors: self.factors,
            friction: self.friction,
            bounds: self.bounds,
            bias: self.bias,
            impulse: self.impulse,
            report: self.report,
            position_bias: self.position_bias,
            position_impulse: self.position_impulse,
            position_report: self.position_report,
        }
    }

    /// Whether W of every block is kept as its factor.
    #[inline(always)]
    pub(super) fn factored(&self) -> bool {
        self.delassus.is_empty()
    }

    /// Number of tiles.
    pub fn count(&self) -> usize {
        self.report.len() / REPORT_LEN
    }

    /// The first `count` tiles, and the rest.
    pub fn split_at(self, count: usize) -> (Self, Self) {
        let n = self.size.row_count();
        let count = count.min(self.count());
        let (delassus, delassus_rest) = self.delassus.split_at(self.delassus.len().min(count * n * n));
        let (factors, factors_rest) = self.factors.split_at_mut(self.factors.len().min(count * R::LANES));
        let (patches, patches_rest) = self.patches.split_at(count * PATCH_LEN * self.patch_count);
        let (friction, friction_rest) = self.friction.split_at(count * self.size.contact_count);
        let (bounds, bounds_rest) = self.bounds.split_at(count * 2 * self.size.scalar_count);
        let (bias, bias_rest) = self.bias.split_at(count * n);
        let (impulse, impulse_rest) = self.impulse.split_at_mut(count * n);
        let (report, report_rest) = self.report.split_at_mut(count * REPORT_LEN);
        let (position_bias, position_bias_rest) = self.position_bias.split_at(count * n);
        let (position_impulse, position_impulse_rest) = self.position_impulse.split_at_mut(count * n);
        let (position_report, position_report_rest) = self.position_report.split_at_mut(count * REPORT_LEN);
        let first = Self {
            size: self.size,
            patch_count: self.patch_count,
            patches,
            delassus,
            factors,
            friction,
            bounds,
            bias,
            impulse,
            report,
            position_bias,
            position_impulse,
            position_report,
        };
        let rest = Self {
            size: self.size,
            patch_count: self.patch_count,
            patches: patches_rest,
            delassus: delassus_rest,
            factors: factors_rest,
            friction: friction_rest,
            bounds: bounds_rest,
            bias: bias_rest,
            impulse: impulse_rest,
            report: report_rest,
            position_bias: position_bias_rest,
            position_impulse: position_impulse_rest,
            position_report: position_report_rest,
        };
        (first, rest)
    }

    /// Cuts into pieces of at most `tile_count` tiles (0 counts as 1), one piece of work each.
    pub fn chunks(self, tile_count: usize) -> Vec<Self> {
        let mut pieces = Vec::with_capacity(self.count().div_ceil(tile_count.max(1)));
        let mut rest = self;
        while rest.count() > 0 {
            let (first, others) = rest.split_at(tile_count.max(1));
            pieces.push(first);
            rest = others;
        }
        pieces
    }
}

/// The factors of a group that are blocks; of a dense group there are none.
fn used_factors<S>(factors: &mut [Factor<S>], block_count: usize) -> &mut [Factor<S>] {
    let count = factors.len().min(block_count);
    &mut factors[..count]
}

/// All blocks of a solve, size class by size class, whoever holds them. Asked through a table of functions, once a block: so the solvers, which are
/// large, are compiled once a number type.
pub(super) trait Blocks<R: Pack> {
    /// Number of size classes.
    fn class_count(&self) -> usize;
    /// The tiles of one size class.
    fn tiles(&mut self, class: usize) -> Tiles<'_, R>;
}

impl<R: Pack> Blocks<R> for Vec<Group<R>> {
    fn class_count(&self) -> usize {
        self.len()
    }
    fn tiles(&mut self, class: usize) -> Tiles<'_, R> {
        Tiles::all(&mut self[class])
    }
}

impl<R: Pack> Blocks<R> for Vec<Tiles<'_, R>> {
    fn class_count(&self) -> usize {
        self.len()
    }
    fn tiles(&mut self, class: usize) -> Tiles<'_, R> {
        self[class].reborrow()
    }
}

/// One of the two problems of every block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// That of the velocity v⁺.
    Velocity,
    /// That of the velocity that moves q, which pushes overlaps out.
    Position,
}

/// One problem of one tile. Shapes as in [`Group`].
pub(super) struct OneTile<'a, R> {
    pub delassus: &'a [R],
    pub friction: &'a [R],
    pub bounds: &'a [R],
    pub bias: &'a [R],
    pub impulse: &'a mut [R],
    pub report: &'a mut [R],
}

impl<'a, R: Pack> Tiles<'a, R> {
    #[inline(always)]
    pub(super) fn one(self, which: Which, tile: usize) -> OneTile<'a, R> {
        let (size, n, factored) = (self.size, self.size.row_count(), self.factored());
        let cut = |len: usize| tile * len..(tile + 1) * len;
        let (bias, impulse, report) = match which {
            Which::Velocity => (self.bias, self.impulse, self.report),
            Which::Position => (self.position_bias, self.position_impulse, self.position_report),
        };
        OneTile {
            delassus: if factored { &[] } else { &self.delassus[cut(n * n)] },
            friction: &self.friction[cut(size.contact_count)],
            bounds: &self.bounds[cut(2 * size.scalar_count)],
            bias: &bias[cut(n)],
            impulse: &mut impulse[cut(n)],
            report: &mut report[cut(REPORT_LEN)],
        }
    }
}

/// The position problem of a tile goes on from the answer to the velocity problem, with its certificate. Returns the lanes in which that answers it too: the two
/// problems are one there, and it is solved.
#[inline(always)]
pub(super) fn follow<R: Pack>(tiles: &mut Tiles<'_, R>, tile: usize) -> R::Mask {
    let n = tiles.size.row_count();
    let (rows, report) = (tile * n..(tile + 1) * n, tile * REPORT_LEN..(tile + 1) * REPORT_LEN);
    tiles.position_impulse[rows.clone()].copy_from_slice(&tiles.impulse[rows.clone()]);
    tiles.position_report[report.clone()].copy_from_slice(&tiles.report[report]);
    let report = &mut tiles.position_report[tile * REPORT_LEN..];
    (report[REPORT_SWEEPS], report[REPORT_NEWTON_STEPS]) = (R::zero(), R::zero());
    let mut other = R::zero().lt(report[REPORT_LIVE]).or(is_finite(report[REPORT_RESIDUAL]).not());
    for row in rows {
        let (b, position) = (tiles.bias[row], tiles.position_bias[row]);
        other = other.or(b.lt(position)).or(position.lt(b));
    }
    other.not()
}

/// Gets one problem of a tile ready for the stage [`sweeps`](super::sweeps()): all blocks are to be swept, but those whose position problem is answered by the velocity problem.
#[inline(always)]
pub(crate) fn begin_sweeps<R: Pack>(tiles: &mut Tiles<'_, R>, which: Which, tile: usize) {
    let swept = match which {
        Which::Velocity => {
            tiles.report[tile * REPORT_LEN..(tile + 1) * REPORT_LEN].fill(R::zero());
            R::Mask::splat(true)
        }
        Which::Position => follow(tiles, tile).not(),
    };
    let live = &mut tiles.reborrow().one(which, tile).report[REPORT_LIVE];
    *live = R::select(swept, R::constant(SWEPT), R::zero());
}

/// The tiles of a batch in f32 as array packs, whichever form of the pack it is kept in; none of a batch in another number type.
#[cfg(feature = "gpu")]
pub(crate) fn array_tiles<R: Pack>(batch: &mut Batch<R>) -> Option<Vec<Tiles<'_, F32x16>>> {
    #[cfg(target_arch = "x86_64")]
    {
        let any = batch as &mut dyn std::any::Any;
        if any.is::<Batch<Wide>>() {
            return tiles_as::<R, Wide, F32x16>(batch);
        }
        if any.is::<Batch<Pair>>() {
            return tiles_as::<R, Pair, F32x16>(batch);
        }
    }
    tiles_as::<R, F32x16, F32x16>(batch)
}

/// The groups of a batch of packs P, array packs or registers, seen as packs W; none if R is not P.
#[cfg(any(target_arch = "x86_64", feature = "gpu"))]
pub(super) fn tiles_as<R: Pack, P: Pack + Pod, W: Pack<Scalar = P::Scalar> + Pod>(
    batch: &mut Batch<R>,
) -> Option<Vec<Tiles<'_, W>>> {
    let batch = (batch as &mut dyn std::any::Any).downcast_mut::<Batch<P>>()?;
    Some(batch.groups.iter_mut().map(|group| Tiles::all(group).seen_as()).collect())
}

#[cfg(any(target_arch = "x86_64", feature = "gpu"))]
impl<'a, P: Pack + Pod> Tiles<'a, P> {
    /// Array packs seen as registers, or the other way round: the bits are the same. On x86-64 no array pack is solved otherwise ([`Real::COMPILED`](crate::lane::Real::COMPILED)).
    pub(crate) fn seen_as<W: Pack<Scalar = P::Scalar> + Pod>(self) -> Tiles<'a, W> {
        Tiles {
            size: self.size,
            patch_count: self.patch_count,
            patches: must_cast_slice(self.patches),
            delassus: must_cast_slice(self.delassus),
            factors: self.factors,
            friction: must_cast_slice(self.friction),
            bounds: must_cast_slice(self.bounds),
            bias: must_cast_slice(self.bias),
            impulse: must_cast_slice_mut(self.impulse),
            report: must_cast_slice_mut(self.report),
            position_bias: must_cast_slice(self.position_bias),
            position_impulse: must_cast_slice_mut(self.position_impulse),
            position_report: must_cast_slice_mut(self.position_report),
        }
    }
}
