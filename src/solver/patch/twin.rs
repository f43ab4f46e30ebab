//! What the shader does with blocks that have patches, made of the parts that solve them here; points it takes as where there are no patches.

use super::super::batch::{REPORT_LIVE, REPORT_RESIDUAL, REPORT_SWEEPS, SWEPT};
use super::super::settings::Header;
use super::super::tiles::{Tiles, Which};
use super::certificate::certify;
use super::sweeps::{Carried, make_feasible};
use super::tile::{PatchTile, no_report};
use crate::lane::{Mask, Pack, PackMask, Scalar};

/// The stage [`sweeps`](super::super::sweeps()) on one problem of one tile of blocks with patches: the same first guess, sweeps and looks, the same end.
#[inline(always)]
pub(crate) fn patch_sweeps<R: Pack>(header: &Header, tiles: Tiles<'_, R>, which: Which, tile: usize) {
    let mut tile = PatchTile::of(tiles, which, tile);
    let mut swept = R::one().lt(tile.one.report[REPORT_LIVE]);
    // All that are still swept have as many sweeps behind them.
    let Some(lane) = (0..R::LANES).find(|&lane| swept.get(lane)) else { return };
    let mut done = tile.one.report[REPORT_SWEEPS].get(lane).to_f64() as u32;
    let over = |done: u32| R::Mask::splat(done >= header.iterations);
    let mut carried = Carried::new();
    if done == 0 {
        let guess = tile.one.impulse.to_vec();
        make_feasible(&mut tile);
        for (x, guess) in tile.one.impulse.iter_mut().zip(guess) {
            *x = R::select(swept, *x, guess);
        }
        look(header, &mut tile, &mut carried.sums);
        swept = swept.and(R::zero().lt(tile.one.report[REPORT_LIVE])).and(over(done).not());
    }
    carried.start(&tile);
    // of the blocks that are left
    let mut live = tile.one.report[REPORT_LIVE];
    for _ in 0..header.sweep_count {
        if !swept.any() {
            break;
        }
        carried.sweep_projecting(&mut tile, swept);
        tile.one.report[REPORT_SWEEPS] += R::select(swept, R::one(), R::zero());
        done += 1;
        if done.is_multiple_of(header.check_every) || done == header.iterations {
            let before = tile.one.report[REPORT_RESIDUAL];
            look(header, &mut tile, &mut carried.sums);
            live = tile.one.report[REPORT_LIVE];
            let contracts = R::Mask::splat(header.contracts == 0.0)
                .or(tile.one.report[REPORT_RESIDUAL].lt(R::constant(f64::from(header.contracts)) * before));
            swept = swept.and(R::zero().lt(live)).and(over(done).not()).and(contracts);
        }
    }
    tile.one.report[REPORT_LIVE] = R::select(swept, R::constant(SWEPT), live);
}

/// The certificate.
#[inline(always)]
fn look<R: Pack>(header: &Header, tile: &mut PatchTile<'_, R>, sums: &mut Vec<R>) {
    let mut report = no_report();
    report.copy_from_slice(tile.one.report);
    certify(header, tile, sums, &mut report);
    tile.one.report.copy_from_slice(&report);
}
