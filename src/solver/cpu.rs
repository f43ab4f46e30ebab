//! All stages of a solve on the CPU, tile by tile.

use super::jacobi::jacobi;
use super::pgs::pgs;
use super::residual::residual;
use super::warm_start::warm_start;
use super::{Algorithm, Batch, BlockSize, Group, Header, REPORT_LEN, REPORT_LIVE, SolveSettings};
use crate::lane::{Compiled, Level, Mask, Real, Task};

/// Some tiles of a [`Group`], borrowed: what one thread solves. Shapes as in [`Group`].
#[derive(Debug)]
pub struct Tiles<'a, R> {
    /// Room of every block.
    pub size: BlockSize,
    /// Delassus matrix W.
    pub delassus: &'a [R],
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

impl<'a, R: Real> Tiles<'a, R> {
    /// All tiles of `group`.
    pub fn all(group: &'a mut Group<R>) -> Self {
        Self {
            size: group.size,
            delassus: &group.delassus,
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

    /// Number of tiles.
    pub fn count(&self) -> usize {
        self.report.len() / REPORT_LEN
    }

    /// The first `count` tiles, and the rest.
    pub fn split_at(self, count: usize) -> (Self, Self) {
        let n = self.size.row_count();
        let count = count.min(self.count());
        let (delassus, delassus_rest) = self.delassus.split_at(count * n * n);
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
            delassus,
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
            delassus: delassus_rest,
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

/// Solves the velocity problem and then the position problem of every block, on this thread.
///
/// A block's answer does not depend, to the bit, on its lane, its tile or its neighbours.
pub fn solve_cpu<R: Real>(batch: &mut Batch<R>, level: Level, settings: &SolveSettings) {
    for group in &mut batch.groups {
        solve_tiles(Tiles::all(group), level, settings);
    }
}

/// [`solve_cpu`] of some tiles of one group.
pub fn solve_tiles<R: Real>(tiles: Tiles<R>, level: Level, settings: &SolveSettings) {
    let scratch_len = match settings.algorithm {
        Algorithm::Pgs => 0,
        Algorithm::Jacobi => tiles.size.row_count(),
    };
    level.run(SolveTiles { tiles, settings: *settings, next_impulse: vec![R::zero(); scratch_len] });
}

/// The vectorised part of [`solve_tiles`].
struct SolveTiles<'a, R> {
    tiles: Tiles<'a, R>,
    settings: SolveSettings,
    next_impulse: Vec<R>,
}

impl<R: Real> Task for SolveTiles<'_, R> {
    const COMPILED: Compiled = Compiled::anywhere::<R>();
    type Output = ();
    #[inline(always)]
    fn run(mut self) {
        let Tiles { size, .. } = self.tiles;
        let n = size.row_count();
        let header = Header::new(size, self.tiles.count(), R::LANES, &self.settings);
        for tile in 0..self.tiles.count() {
            let delassus = &self.tiles.delassus[tile * n * n..(tile + 1) * n * n];
            let friction = &self.tiles.friction[tile * size.contact_count..(tile + 1) * size.contact_count];
            let bounds = &self.tiles.bounds[tile * 2 * size.scalar_count..(tile + 1) * 2 * size.scalar_count];
            let rows = tile * n..(tile + 1) * n;
            let report = tile * REPORT_LEN..(tile + 1) * REPORT_LEN;
            for position in [false, true] {
                let (bias, impulse, report) = if position {
                    self.tiles.position_impulse[rows.clone()].copy_from_slice(&self.tiles.impulse[rows.clone()]);
                    (
                        &self.tiles.position_bias[rows.clone()],
                        &mut self.tiles.position_impulse[rows.clone()],
                        &mut self.tiles.position_report[report.clone()],
                    )
                } else {
                    (
                        &self.tiles.bias[rows.clone()],
                        &mut self.tiles.impulse[rows.clone()],
                        &mut self.tiles.report[report.clone()],
                    )
                };
                let next = &mut self.next_impulse;
                solve_tile(header, &self.settings, delassus, bias, friction, bounds, next, impulse, report);
            }
        }
    }
}

/// Solves one problem of one tile: `warm_start`, `residual`, then sweeps and `residual` in turn while a lane is live.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the arguments of its stages")]
fn solve_tile<R: Real>(
    mut header: Header,
    settings: &SolveSettings,
    delassus: &[R],
    bias: &[R],
    friction: &[R],
    bounds: &[R],
    next_impulse: &mut [R],
    impulse: &mut [R],
    report: &mut [R],
) {
    warm_start(&header, friction, bounds, impulse, report);
    residual(&header, delassus, bias, friction, bounds, impulse, report);
    for sweep_count in settings.rounds() {
        if !R::zero().lt(report[REPORT_LIVE]).any() {
            break;
        }
        header.sweep_count = sweep_count;
        match settings.algorithm {
            Algorithm::Pgs => pgs(&header, delassus, bias, friction, bounds, impulse, report),
            Algorithm::Jacobi => jacobi(&header, delassus, bias, friction, bounds, next_impulse, impulse, report),
        }
        residual(&header, delassus, bias, friction, bounds, impulse, report);
    }
}
