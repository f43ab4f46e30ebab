//! Debugging: the twin for the first sweeps, the shader from there on, on the same data. A wrong result is so bisected to the first sweep that errs.

use super::device::Gpu;
use crate::error::Result;
#[cfg(not(target_arch = "x86_64"))]
use crate::lane::F32x16 as TwinPack;
// What the twin runs on. Not the array packs, over whose lanes the compiler took a fifth of all its time.
#[cfg(target_arch = "x86_64")]
use crate::lane::Pair as TwinPack;
use crate::lane::{Compiled, F32x16, Level, Real, Task};
use crate::solver::{
    Batch, FrictionLaw, Header, REPORT_LEN, SolveSettings, Tiles, Which, begin_sweeps, check_runs, patch_sweeps, sweeps,
};

impl Gpu {
    /// [`Gpu::solve`], with the twin for the first `first` sweeps of both problems and the shader for those after them. The first guess and the first look belong to
    /// whoever does the first sweep. From `settings.iterations` on, the twin does it all.
    ///
    /// # Errors
    /// As [`Gpu::solve`]; [`Error::Unsupported`](crate::Error::Unsupported) where this machine has no packs of lanes for the twin.
    pub fn solve_from(&mut self, first: u32, batch: &mut Batch<F32x16>, settings: &SolveSettings) -> Result<()> {
        check_runs::<F32x16>()?;
        let mut all: Vec<_> = batch.groups.iter_mut().map(Tiles::all).collect();
        self.load(&mut all, settings)?;
        for which in [Which::Velocity, Which::Position] {
            for tiles in &mut all {
                let twin = Twin { tiles: tiles.reborrow().seen_as::<TwinPack>(), which, sweep_count: first, settings };
                Level::detect().run(twin);
            }
            self.sweep_on(&mut all, which)?;
        }
        Ok(())
    }
}

/// The first sweeps of one problem of some tiles.
struct Twin<'a, 'b> {
    tiles: Tiles<'b, TwinPack>,
    which: Which,
    sweep_count: u32,
    settings: &'a SolveSettings,
}

impl Task for Twin<'_, '_> {
    const COMPILED: Compiled = TwinPack::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { mut tiles, which, sweep_count, settings } = self;
        let (n, contacts, scalars) = (tiles.size.row_count(), tiles.size.contact_count, tiles.size.scalar_count);
        let header = Header { sweep_count, ..Header::new(tiles.size, settings) };
        let mut next_impulse = vec![TwinPack::zero(); n];
        for t in 0..tiles.count() {
            begin_sweeps(&mut tiles, which, t);
            if sweep_count == 0 {
                continue;
            }
            if settings.law == FrictionLaw::Patch && tiles.patch_count > 0 {
                TwinPack::run(PatchTwin { header: &header, tiles: tiles.reborrow(), which, tile: t });
                continue;
            }
            let (bias, impulse, report) = match which {
                Which::Velocity => (tiles.bias, &mut *tiles.impulse, &mut *tiles.report),
                Which::Position => (tiles.position_bias, &mut *tiles.position_impulse, &mut *tiles.position_report),
            };
            sweeps(
                &header,
                &tiles.delassus[t * n * n..(t + 1) * n * n],
                &bias[t * n..(t + 1) * n],
                &tiles.friction[t * contacts..(t + 1) * contacts],
                &tiles.bounds[t * 2 * scalars..(t + 1) * 2 * scalars],
                &mut next_impulse,
                &mut impulse[t * n..(t + 1) * n],
                &mut report[t * REPORT_LEN..(t + 1) * REPORT_LEN],
            );
        }
    }
}

/// The part of [`Twin`] on one tile of blocks with patches.
struct PatchTwin<'a, 'b> {
    header: &'a Header,
    tiles: Tiles<'b, TwinPack>,
    which: Which,
    tile: usize,
}

impl Task for PatchTwin<'_, '_> {
    const COMPILED: Compiled = TwinPack::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        patch_sweeps(self.header, self.tiles, self.which, self.tile);
    }
}
