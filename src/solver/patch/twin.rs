//! What the shader does with blocks that have patches, made of the parts that solve them here; points it takes as where there are no patches.

use super::super::batch::{REPORT_LIVE, REPORT_RESIDUAL, REPORT_SWEEPS, SWEPT};
use super::super::settings::Header;
use super::super::tiles::{OneTile, Tiles, Which};
use super::certificate::certify;
use super::law::{Rows, Shape};
use super::sweeps::{Carried, make_feasible};
use super::tile::{PatchTile, add_product, no_report};
use crate::contact::PATCH_ROWS;
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

/// Rows of a patch: the normal of its first vertex and two tangents; the normals of the other three; torsion.
pub(crate) const SEVEN_ROWS: usize = 3 + PATCH_ROWS;

/// One patch of one world, as the step that stays on a device has it; rows in the order of [`SEVEN_ROWS`].
#[derive(Debug, Clone)]
pub(crate) struct OnePatch {
    /// W of its own, 1/kg, shape \[row\]\[row\].
    pub own: [f32; SEVEN_ROWS * SEVEN_ROWS],
    /// As in [`Group::patches`](super::super::batch::Group::patches).
    pub shape: Vec<f32>,
    /// μ
    pub friction: f32,
}

impl OnePatch {
    fn rows() -> Rows {
        Rows::new(0, 1, 1)
    }
    /// The problem that it is while others are held: w = `bias` + W z.
    fn tile<'a>(&'a self, bias: &'a [f32], impulse: &'a mut [f32]) -> PatchTile<'a, f32> {
        let one = OneTile {
            delassus: &self.own,
            friction: std::slice::from_ref(&self.friction),
            bounds: &[],
            bias,
            impulse,
            report: &mut [],
        };
        PatchTile { contacts: 1, patches: 1, shapes: &self.shape, one }
    }

    /// The impulse that it may have, made of a guess, N·s.
    pub fn feasible(&self, mut guess: [f32; SEVEN_ROWS]) -> [f32; SEVEN_ROWS] {
        make_feasible(&mut self.tile(&[0.0; SEVEN_ROWS], &mut guess));
        guess
    }

    /// One update of Gauss-Seidel, from velocities in m/s and impulses in N·s.
    pub fn swept(&self, velocity: [f32; SEVEN_ROWS], mut impulse: [f32; SEVEN_ROWS]) -> [f32; SEVEN_ROWS] {
        // b = w − W z
        let mut push = [0.0; SEVEN_ROWS];
        add_product(&self.own, &impulse, &mut push);
        let mut bias = velocity;
        bias.iter_mut().zip(push).for_each(|(bias, push)| *bias -= push);
        let mut carried = Carried::new();
        let mut tile = self.tile(&bias, &mut impulse);
        carried.start(&tile);
        carried.sweep_projecting(&mut tile, true);
        impulse
    }

    /// What its velocities miss of its law and what that is a sum of, m/s; `size`: the sums of the magnitudes of their terms.
    pub fn checked(
        &self,
        velocity: [f32; SEVEN_ROWS],
        size: [f32; SEVEN_ROWS],
        mut impulse: [f32; SEVEN_ROWS],
    ) -> [f32; 2] {
        let (rows, shape) = (Self::rows(), Shape::new(&self.shape, 0, true));
        let tile = self.tile(&[0.0; SEVEN_ROWS], &mut impulse);
        let error = tile.patch_residual(&rows, &shape, &velocity, self.friction);
        let magnitude = tile.magnitude(&rows, &shape, &velocity, &size);
        [error, if size.iter().all(|size| size.is_finite()) { magnitude } else { f32::NAN }]
    }

    /// Diagonal of its W, 1/kg.
    pub fn diagonal(&self) -> [f32; SEVEN_ROWS] {
        std::array::from_fn(|i| self.own[i * SEVEN_ROWS + i])
    }

    /// Its torsion about the ECP, N·m·s.
    pub fn torsion(&self, impulse: [f32; SEVEN_ROWS]) -> f32 {
        let (rows, shape) = (Self::rows(), Shape::new(&self.shape, 0, true));
        let centre = shape.pressure(rows.normals(&impulse)).centre;
        Shape::at_ecp(rows.frictions(&impulse), centre)[2]
    }
}
