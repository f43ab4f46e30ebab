//! All stages of a solve on the CPU, tile by tile.

use super::jacobi::jacobi;
use super::newton::NewtonTile;
use super::pgs::pgs;
use super::residual::residual;
use super::warm_start::warm_start;
use super::{
    Algorithm, Batch, BlockSize, Group, Header, REPORT_ITERATIONS, REPORT_LEN, REPORT_LIVE, REPORT_RESIDUAL,
    SolveSettings,
};
use crate::lane::{Compiled, Level, Mask, Real, Task};

/// Sweeps go on while a round of them leaves less than this share of the residual.
const CONTRACTS: f64 = 0.3;
/// Newton steps at most, first round and second.
const NEWTON_STEPS: [usize; 2] = [5, 20];
/// A tile is full enough for Newton in place when one lane in so many is live.
const FULL: usize = 3;
/// Largest block for Newton, rows: beyond, its system leaves the cache.
const LARGEST_NEWTON: usize = 200;

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
    let Batch { groups, scratch } = batch;
    for group in groups.iter_mut().filter(|group| group.block_count > 0) {
        level.run(SolveTiles { tiles: Tiles::all(group), settings: *settings, scratch });
    }
}

/// [`solve_cpu`] of some tiles of one group.
pub fn solve_tiles<R: Real>(tiles: Tiles<R>, level: Level, settings: &SolveSettings) {
    level.run(SolveTiles { tiles, settings: *settings, scratch: &mut Scratch::new() });
}

/// Newton on the blocks of all groups that are still live, after sweeps elsewhere.
pub fn polish<R: Real>(batch: &mut Batch<R>, level: Level, settings: &SolveSettings) {
    if !settings.uses_newton() {
        return;
    }
    let Batch { groups, scratch } = batch;
    for group in groups.iter_mut().filter(|group| group.block_count > 0) {
        for which in [Which::Velocity, Which::Position] {
            level.run(Polish { tiles: Tiles::all(group), which, settings: *settings, scratch });
        }
    }
}

/// Memory that solves reuse.
#[derive(Debug, Clone)]
pub(super) struct Scratch<R> {
    next_impulse: Vec<R>,
    newton: NewtonTile<R>,
    /// Blocks for Newton that are alone in their tiles: (tile, lane).
    alone: Vec<(usize, usize)>,
}

impl<R: Real> Scratch<R> {
    pub fn new() -> Self {
        Self { next_impulse: Vec::new(), newton: NewtonTile::new(), alone: Vec::new() }
    }
}

/// One of the two problems of every block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Velocity,
    Position,
}

/// One problem of one tile. Shapes as in [`Group`].
struct OneTile<'a, R> {
    delassus: &'a [R],
    friction: &'a [R],
    bounds: &'a [R],
    bias: &'a [R],
    impulse: &'a mut [R],
    report: &'a mut [R],
}

impl<R: Real> Tiles<'_, R> {
    #[inline(always)]
    fn one(&mut self, which: Which, tile: usize) -> OneTile<'_, R> {
        let (size, n) = (self.size, self.size.row_count());
        let cut = |len: usize| tile * len..(tile + 1) * len;
        let (bias, impulse, report) = match which {
            Which::Velocity => (self.bias, &mut *self.impulse, &mut *self.report),
            Which::Position => (self.position_bias, &mut *self.position_impulse, &mut *self.position_report),
        };
        OneTile {
            delassus: &self.delassus[cut(n * n)],
            friction: &self.friction[cut(size.contact_count)],
            bounds: &self.bounds[cut(2 * size.scalar_count)],
            bias: &bias[cut(n)],
            impulse: &mut impulse[cut(n)],
            report: &mut report[cut(REPORT_LEN)],
        }
    }
}

/// The vectorised part of [`solve_tiles`].
struct SolveTiles<'a, 'b, R> {
    tiles: Tiles<'a, R>,
    settings: SolveSettings,
    scratch: &'b mut Scratch<R>,
}

impl<R: Real> Task for SolveTiles<'_, '_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { mut tiles, settings, scratch } = self;
        let header = Header::new(tiles.size, tiles.count(), R::LANES, &settings);
        for which in [Which::Velocity, Which::Position] {
            if which == Which::Position {
                tiles.position_impulse.copy_from_slice(tiles.impulse);
            }
            for tile in 0..tiles.count() {
                sweep(header, &settings, tiles.one(which, tile), &mut scratch.next_impulse);
            }
            if settings.uses_newton() {
                newton(&header, &settings, &mut tiles, which, scratch);
            }
        }
    }
}

/// The vectorised part of [`polish`].
struct Polish<'a, 'b, R> {
    tiles: Tiles<'a, R>,
    which: Which,
    settings: SolveSettings,
    scratch: &'b mut Scratch<R>,
}

impl<R: Real> Task for Polish<'_, '_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(mut self) {
        let header = Header::new(self.tiles.size, self.tiles.count(), R::LANES, &self.settings);
        newton(&header, &self.settings, &mut self.tiles, self.which, self.scratch);
    }
}

/// One problem of one tile: `warm_start`, `residual`, then sweeps and `residual` in turn while a lane is live, and contracts.
#[inline(always)]
fn sweep<R: Real>(mut header: Header, settings: &SolveSettings, tile: OneTile<'_, R>, next_impulse: &mut Vec<R>) {
    let OneTile { delassus, friction, bounds, bias, impulse, report } = tile;
    if settings.algorithm == Algorithm::Jacobi {
        next_impulse.resize(header.row_count(), R::zero());
    }
    warm_start(&header, friction, bounds, impulse, report);
    residual(&header, delassus, bias, friction, bounds, impulse, report);
    let mut before = R::constant(f64::INFINITY);
    let mut slow = R::Mask::splat(false);
    let mut live = report[REPORT_LIVE];
    for sweep_count in settings.rounds() {
        if settings.uses_newton() {
            // Where Gauss-Seidel does not contract, Newton is the better way.
            let contracts = report[REPORT_RESIDUAL].lt(before * R::constant(CONTRACTS));
            slow = slow.or(contracts.not());
            before = report[REPORT_RESIDUAL];
            report[REPORT_LIVE] = R::select(slow, R::zero(), live);
        }
        if !R::zero().lt(report[REPORT_LIVE]).any() {
            break;
        }
        header.sweep_count = sweep_count;
        match settings.algorithm {
            Algorithm::Auto | Algorithm::Pgs => pgs(&header, delassus, bias, friction, bounds, impulse, report),
            Algorithm::Jacobi => jacobi(&header, delassus, bias, friction, bounds, next_impulse, impulse, report),
        }
        residual(&header, delassus, bias, friction, bounds, impulse, report);
        live = report[REPORT_LIVE];
    }
    report[REPORT_LIVE] = live;
}

/// Newton on the live blocks, a few steps for all and more for those that need them; then their certificates anew.
#[inline(always)]
fn newton<R: Real>(
    header: &Header,
    settings: &SolveSettings,
    tiles: &mut Tiles<'_, R>,
    which: Which,
    scratch: &mut Scratch<R>,
) {
    if header.row_count() > LARGEST_NEWTON {
        return;
    }
    for steps in NEWTON_STEPS {
        scratch.alone.clear();
        for tile in 0..tiles.count() {
            newton_in_place(header, settings, tiles.one(which, tile), tile, steps, scratch);
        }
        newton_gathered(header, settings, tiles, which, steps, scratch);
    }
}

/// Newton on the live blocks of one tile where it has many of them; where it has few, they are put on the list of those alone.
#[inline(always)]
fn newton_in_place<R: Real>(
    header: &Header,
    settings: &SolveSettings,
    tile: OneTile<'_, R>,
    index: usize,
    steps: usize,
    scratch: &mut Scratch<R>,
) {
    let newton = &mut scratch.newton;
    let live = R::zero().lt(tile.report[REPORT_LIVE]);
    let count = (0..R::LANES).filter(|&lane| live.get(lane)).count();
    if FULL * count < R::LANES {
        scratch.alone.extend((0..R::LANES).filter(|&lane| live.get(lane)).map(|lane| (index, lane)));
        return;
    }
    newton.fit(header);
    newton.load(tile.delassus, tile.bias, tile.friction, tile.bounds, tile.impulse);
    newton.tolerance = R::select(live, NewtonTile::goal(tile.report, settings.tolerance), newton.tolerance);
    newton.scale();
    let steps = newton.solve(header, steps);
    for row in 0..header.row_count() {
        tile.impulse[row] = R::select(live, newton.answer(row), tile.impulse[row]);
    }
    tile.report[REPORT_ITERATIONS] += steps;
    residual(header, tile.delassus, tile.bias, tile.friction, tile.bounds, tile.impulse, tile.report);
}

/// Newton on the blocks that are alone in their tiles, gathered into full ones.
#[inline(always)]
fn newton_gathered<R: Real>(
    header: &Header,
    settings: &SolveSettings,
    tiles: &mut Tiles<'_, R>,
    which: Which,
    steps: usize,
    scratch: &mut Scratch<R>,
) {
    let Scratch { newton, alone, .. } = scratch;
    for blocks in alone.chunks(R::LANES) {
        newton.clear(header);
        for (lane, &(t, from)) in blocks.iter().enumerate() {
            let tile = tiles.one(which, t);
            for (to, array) in [
                (&mut newton.delassus, tile.delassus),
                (&mut newton.bias, tile.bias),
                (&mut newton.friction, tile.friction),
                (&mut newton.bounds, tile.bounds),
                (&mut newton.impulse, &*tile.impulse),
            ] {
                for (to, x) in to.iter_mut().zip(array) {
                    to.set(lane, x.get(from));
                }
            }
            newton.tolerance.set(lane, NewtonTile::goal(tile.report, settings.tolerance).get(from));
        }
        newton.scale();
        let done = newton.solve(header, steps);
        for row in 0..header.row_count() {
            let answer = newton.answer(row);
            for (lane, &(t, to)) in blocks.iter().enumerate() {
                tiles.one(which, t).impulse[row].set(to, answer.get(lane));
            }
        }
        for (lane, &(t, to)) in blocks.iter().enumerate() {
            let iterations = &mut tiles.one(which, t).report[REPORT_ITERATIONS];
            iterations.set(to, (R::splat(iterations.get(to)) + R::splat(done.get(lane))).get(0));
        }
    }
    let mut last = usize::MAX;
    for &(t, _) in alone.iter() {
        if t != last {
            let tile = tiles.one(which, t);
            residual(header, tile.delassus, tile.bias, tile.friction, tile.bounds, tile.impulse, tile.report);
            last = t;
        }
    }
}
