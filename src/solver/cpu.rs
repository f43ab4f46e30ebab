//! All stages of a solve on the CPU, tile by tile.

use super::batch::{Batch, REPORT_RESIDUAL};
use super::carried::{Carried, sweep_carrying};
use super::gathering::{Gathering, LARGEST, sweep_gathered};
use super::large::{Large, solve_large};
use super::patch::{self, polish_patches, solve_patches};
use super::project::is_finite;
use super::rounds::newton;
use super::settings::{FrictionLaw, Header, SolveSettings};
use super::sweeps::sweeps;
#[cfg(target_arch = "x86_64")]
use super::tiles::tiles_as;
use super::tiles::{Blocks, OneTile, Tiles, Which, begin_sweeps, follow};
use crate::error::{Error, Result};
use crate::lane::{Compiled, F32x16, HAS_SCALAR, Level, Mask, NO_SCALAR, Pack, PackMask, Task};
#[cfg(target_arch = "x86_64")]
use crate::lane::{F64x8, HAS_AVX512, Pair, Pair64, Wide, Wide64};

/// Solves the velocity problem and then the position problem of every block, on this thread.
///
/// A block's answer does not depend, to the bit, on its lane, its tile or its neighbours.
///
/// # Errors
/// [`Error::Unsupported`] if R is a pack of lanes and this machine has no level for such ([`Level::runs_packs`]), or if this machine has none and the build no feature `scalar`.
pub fn solve_cpu<R: Pack>(batch: &mut Batch<R>, level: Level, settings: &SolveSettings) -> Result<()> {
    check_runs::<R>()?;
    solve_reusing(batch, level, settings, None, &mut Scratch::new());
    Ok(())
}

/// Newton on one problem of the blocks of all groups that are still live, after sweeps elsewhere.
///
/// # Errors
/// As [`solve_cpu`].
pub fn polish<R: Pack>(batch: &mut Batch<R>, level: Level, settings: &SolveSettings, which: Which) -> Result<()> {
    check_runs::<R>()?;
    solve_reusing(batch, level, settings, Some(which), &mut Scratch::new());
    Ok(())
}

/// An error where such numbers are compiled for no level of this machine.
pub(crate) fn check_runs<R: Pack>() -> Result<()> {
    if R::LANES == 1 && HAS_SCALAR || Level::detect().runs_packs() {
        return Ok(());
    }
    if !HAS_SCALAR {
        return Err(Error::Unsupported(NO_SCALAR.into()));
    }
    let message = "packs of lanes are worked on with AVX2 and FMA, or on aarch64; solve in f32 or f64 here";
    Err(Error::Unsupported(message.into()))
}

/// [`solve_cpu`], or [`polish`] of the problem `polished`, with memory that is kept from solve to solve.
pub(crate) fn solve_reusing<R: Pack>(
    batch: &mut Batch<R>,
    level: Level,
    settings: &SolveSettings,
    polished: Option<Which>,
    scratch: &mut Scratch<R>,
) {
    #[cfg(target_arch = "x86_64")]
    if const { HAS_AVX512 } && level == Level::Avx512 && Level::detect() == level {
        if let Some(mut all) = tiles_as::<R, F32x16, Wide>(batch) {
            return solve_all(&mut all, level, settings, polished, &mut Scratch::new());
        }
        if let Some(mut all) = tiles_as::<R, F64x8, Wide64>(batch) {
            return solve_all(&mut all, level, settings, polished, &mut Scratch::new());
        }
    } else if Level::detect().runs_packs() {
        if let Some(mut all) = tiles_as::<R, F32x16, Pair>(batch) {
            return solve_all(&mut all, level, settings, polished, &mut Scratch::new());
        }
        if let Some(mut all) = tiles_as::<R, F64x8, Pair64>(batch) {
            return solve_all(&mut all, level, settings, polished, &mut Scratch::new());
        }
    }
    solve_all(&mut batch.groups, level, settings, polished, scratch);
}

/// [`solve_cpu`] of some tiles of one group.
///
/// # Errors
/// As [`solve_cpu`].
pub fn solve_tiles(tiles: Tiles<F32x16>, level: Level, settings: &SolveSettings) -> Result<()> {
    check_runs::<F32x16>()?;
    #[cfg(target_arch = "x86_64")]
    if const { HAS_AVX512 } && level == Level::Avx512 && Level::detect() == level {
        solve_all(&mut vec![tiles.seen_as::<Wide>()], level, settings, None, &mut Scratch::new());
    } else {
        solve_all(&mut vec![tiles.seen_as::<Pair>()], level, settings, None, &mut Scratch::new());
    }
    #[cfg(not(target_arch = "x86_64"))]
    solve_all(&mut vec![tiles], level, settings, None, &mut Scratch::new());
    Ok(())
}

/// Both problems of all blocks: the factored ones through velocities; of the others sweeps, then Newton; or Newton only, on the problem `polished`.
fn solve_all<R: Pack>(
    blocks: &mut dyn Blocks<R>,
    level: Level,
    settings: &SolveSettings,
    polished: Option<Which>,
    scratch: &mut Scratch<R>,
) {
    if let Some(which) = polished {
        if settings.uses_newton() && settings.law == FrictionLaw::Patch {
            polish_patches(blocks, which, level, settings, &mut scratch.patch);
        } else if settings.uses_newton() {
            level.run(Newton { blocks, which, settings, level, scratch });
        }
        return;
    }
    if settings.law == FrictionLaw::Patch {
        return solve_patches(blocks, level, settings, &mut scratch.patch);
    }
    solve_large(blocks, level, settings, &mut scratch.large);
    for which in [Which::Velocity, Which::Position] {
        for class in 0..blocks.class_count() {
            let tiles = blocks.tiles(class);
            if tiles.factored() {
                continue;
            }
            level.run(Sweeps { tiles, class, which, settings, scratch });
        }
        if settings.uses_newton() {
            // a scalar has no lane that is idle
            if const { R::LANES > 1 } {
                level.run(Gathered { blocks, which, settings, scratch });
            }
            level.run(Newton { blocks, which, settings, level, scratch });
        }
    }
}

/// Memory that solves reuse.
#[derive(Debug, Clone)]
pub(crate) struct Scratch<R: Pack> {
    next_impulse: Vec<R>,
    carried: Carried<R>,
    gathering: Gathering<R>,
    large: Large<R>,
    patch: patch::Scratch<R>,
}

impl<R: Pack> Scratch<R> {
    pub fn new() -> Self {
        Self {
            next_impulse: Vec::new(),
            carried: Carried::new(),
            gathering: Gathering::new(),
            large: Large::new(),
            patch: patch::Scratch::new(),
        }
    }
}

/// Sweeps over one problem of all blocks of a group. Where few blocks of a tile have a position problem of their own, those are taken to be gathered.
struct Sweeps<'a, 'b, R: Pack> {
    tiles: Tiles<'b, R>,
    class: usize,
    which: Which,
    settings: &'a SolveSettings,
    scratch: &'a mut Scratch<R>,
}

impl<R: Pack> Task for Sweeps<'_, '_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { mut tiles, class, which, settings, scratch } = self;
        let header = Header::new(tiles.size, settings);
        for tile in 0..tiles.count() {
            if !settings.uses_newton() {
                begin_sweeps(&mut tiles, which, tile);
                tiles.reborrow().one(which, tile).sweep(&header, &mut scratch.next_impulse);
                continue;
            }
            let answered = match which {
                Which::Velocity => R::Mask::splat(false),
                Which::Position => follow(&mut tiles, tile),
            };
            let (open, size) = (answered.not(), tiles.size);
            let one = &mut tiles.reborrow().one(which, tile);
            // what is not finite stays where it is: of that not every number is copied
            let few = (1..=R::LANES / 2).contains(&(open.bits().count_ones() as usize));
            let finite = !open.and(is_finite(one.report[REPORT_RESIDUAL]).not()).any();
            if few && finite && size.row_count() <= LARGEST {
                scratch.gathering.take((class, tile), open, size, one, false);
            } else {
                sweep_carrying(header, settings, one, answered, &mut scratch.carried);
            }
        }
    }
}

impl<R: Pack> OneTile<'_, R> {
    /// The stage [`sweeps`] on this tile.
    #[inline(always)]
    fn sweep(self, header: &Header, next_impulse: &mut Vec<R>) {
        let Self { delassus, friction, bounds, bias, impulse, report } = self;
        next_impulse.resize(header.row_count(), R::zero());
        sweeps(header, delassus, bias, friction, bounds, next_impulse, impulse, report);
    }
}

/// Sweeps over one problem of the blocks that were taken to be gathered.
struct Gathered<'a, R: Pack> {
    blocks: &'a mut dyn Blocks<R>,
    which: Which,
    settings: &'a SolveSettings,
    scratch: &'a mut Scratch<R>,
}

impl<R: Pack> Task for Gathered<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { blocks, which, settings, scratch: Scratch { gathering, carried, .. } } = self;
        sweep_gathered(settings, blocks, which, gathering, carried);
    }
}

/// Newton on one problem of all blocks that are live after sweeps.
struct Newton<'a, R: Pack> {
    blocks: &'a mut dyn Blocks<R>,
    which: Which,
    settings: &'a SolveSettings,
    level: Level,
    scratch: &'a mut Scratch<R>,
}

impl<R: Pack> Task for Newton<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { blocks, which, settings, level, scratch } = self;
        newton(settings, blocks, which, level, &mut scratch.gathering);
    }
}
