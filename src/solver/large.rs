//! Large blocks, through velocities ([`Factored`]), as many side by side as a pack has lanes: blocks of like size together, round by round.

use super::batch::{REPORT_FLOOR, REPORT_LEN, REPORT_LIVE, REPORT_NEWTON_STEPS, REPORT_RESIDUAL, REPORT_SWEEPS};
use super::factored::{Factored, Posed};
use super::newton::{Form, NewtonTile, Round, Start};
use super::project::is_finite;
use super::settings::{Header, SolveSettings};
use super::size::BlockSize;
use super::tiles::{Blocks, OneTile, Which};
use super::warm_start::warm_start;
use crate::lane::{Compiled, Level, Mask, Pack, PackMask, Scalar, Task};

/// Sweeps before a swept round.
const FIRST_SWEEPS: u32 = 4;
/// Turns of swept steps first, few for all and more for those that need them ([`NewtonTile::solve_swept`]); then rounds of damped Newton. Alternating directions cost little here, two products and
/// two triangles a step; with a small ρ they go far where W is weak, as between contacts that wedge each other.
const ROUNDS: [Round; 11] = [
    Round { steps: 2, acting: false, start: Start::Swept },
    Round { steps: 4, acting: false, start: Start::Swept },
    Round { steps: 12, acting: false, start: Start::Swept },
    Round { steps: 20, acting: false, start: Start::Split { steps: 20, rho: 1e-3 } },
    Round { steps: 20, acting: false, start: Start::Here },
    Round { steps: 20, acting: false, start: Start::Split { steps: 100, rho: 1e-3 } },
    Round { steps: 20, acting: false, start: Start::Split { steps: 100, rho: 1e-4 } },
    Round { steps: 40, acting: false, start: Start::Split { steps: 200, rho: 3e-3 } },
    Round { steps: 20, acting: false, start: Start::Split { steps: 200, rho: 1e-6 } },
    Round { steps: 20, acting: false, start: Start::Split { steps: 200, rho: 1e-7 } },
    Round { steps: 20, acting: false, start: Start::Friction(&[0.0, 0.2, 0.4, 0.6, 0.8]) },
];
/// So few blocks are solved one by one, to the same bits: lanes that idle cost as much as those that work.
const FEW: usize = 2;

/// A large block among all, and which of its problems is not solved yet.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// Its size class.
    class: usize,
    /// Which block of that.
    index: usize,
    size: BlockSize,
    /// The first problem that is not solved; none, if both are.
    left: Option<Which>,
}

impl Part {
    /// Sorts blocks of like size together.
    fn by_size(&self) -> (usize, usize, usize, usize) {
        (self.size.contact_count, self.size.scalar_count, self.class, self.index)
    }
}

/// Memory for large blocks: which there are, and a tile of them, or one.
#[derive(Debug, Clone)]
pub(super) struct Large<R: Pack> {
    /// Those that are not solved.
    parts: Vec<Part>,
    /// Those of the round at hand.
    open: Vec<Part>,
    together: NewtonTile<R, Factored<R>>,
    alone: NewtonTile<R::Scalar, Factored<R::Scalar>>,
}

impl<R: Pack> Large<R> {
    pub fn new() -> Self {
        Self {
            parts: Vec::new(),
            open: Vec::new(),
            together: NewtonTile::new(Factored::new()),
            alone: NewtonTile::new(Factored::new()),
        }
    }
}

/// Both problems of all factored blocks. Where the velocity problem is solved the position problem follows at once, with the factors of the last system; what few steps do not solve
/// is gathered for the next round.
pub(super) fn solve_large<R: Pack>(
    all: &mut dyn Blocks<R>,
    level: Level,
    settings: &SolveSettings,
    large: &mut Large<R>,
) {
    large.parts.clear();
    for class in 0..all.class_count() {
        let tiles = all.tiles(class);
        if tiles.factored() {
            for (index, factor) in tiles.factors.iter_mut().enumerate() {
                factor.compress();
                large.parts.push(Part { class, index, size: factor.size, left: Some(Which::Velocity) });
            }
        }
    }
    for which in [Which::Velocity, Which::Position] {
        for index in 0..ROUNDS.len() {
            // the first round of the position problem is of those whose velocity problem no round has solved
            let now = if index == 0 { Which::Velocity } else { which };
            large.open.clear();
            large.open.extend(large.parts.iter().filter(|part| part.left == Some(now)));
            if large.open.is_empty() {
                continue;
            }
            large.parts.retain(|part| part.left != Some(now));
            large.open.sort_unstable_by_key(Part::by_size);
            let Large { parts, open, together, alone } = large;
            for blocks in open.chunks_mut(R::LANES) {
                if const { R::LANES > 1 } && blocks.len() <= FEW {
                    for blocks in blocks.chunks_mut(1) {
                        level.run(SolveTile { newton: alone, all, blocks, which, index, settings, level });
                    }
                } else {
                    level.run(SolveTile { newton: together, all, blocks, which, index, settings, level });
                }
            }
            parts.extend(open.iter().filter(|part| part.left.is_some()));
        }
    }
}

/// A round on some blocks side by side.
struct SolveTile<'a, R: Pack, N: Pack> {
    newton: &'a mut NewtonTile<N, Factored<N>>,
    all: &'a mut dyn Blocks<R>,
    blocks: &'a mut [Part],
    which: Which,
    /// Which of [`ROUNDS`].
    index: usize,
    settings: &'a SolveSettings,
    level: Level,
}

impl<R: Pack, N: Pack<Scalar = R::Scalar>> Task for SolveTile<'_, R, N> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(mut self) {
        let mut room = BlockSize::default();
        for part in &*self.blocks {
            room.contact_count = room.contact_count.max(part.size.contact_count);
            room.scalar_count = room.scalar_count.max(part.size.scalar_count);
        }
        let header = Header::new(room, self.settings);
        self.swap_factors();
        self.newton.matrix.level = self.level;
        self.newton.clear(&header);
        self.newton.matrix.scale(room, &mut self.newton.unit);
        let none = N::Mask::splat(false);
        for part in &mut *self.blocks {
            part.left = Some(self.which);
        }
        let lanes = self.lanes(self.which);
        self.load(self.which, Some(if self.index == 0 { Which::Velocity } else { self.which }), lanes);
        let known = self.solve(&header, self.which, self.index, [lanes, none], none);
        // the position problem at once, where the velocity problem is solved, from its answer on
        let lanes = self.lanes(Which::Position);
        if self.which == Which::Velocity && lanes.any() {
            let same = self.load(Which::Position, None, lanes);
            self.solve(&header, Which::Position, 0, [lanes, same], known);
        }
        self.swap_factors();
    }
}

impl<R: Pack, N: Pack<Scalar = R::Scalar>> SolveTile<'_, R, N> {
    /// Takes the factors of the blocks, or gives them back.
    #[inline(always)]
    fn swap_factors(&mut self) {
        for (part, own) in self.blocks.iter().zip(&mut self.newton.matrix.y.factors) {
            std::mem::swap(&mut self.all.tiles(part.class).factors[part.index], own);
        }
    }

    /// The lanes of which this problem is left.
    #[inline(always)]
    fn lanes(&self, which: Which) -> N::Mask {
        let mut lanes = N::Mask::splat(false);
        for (lane, part) in self.blocks.iter().enumerate() {
            lanes.set(lane, part.left == Some(which));
        }
        lanes
    }

    /// Loads a problem of some lanes. `from`: the problem whose answer is the guess, if that does not stand here already. Returns the lanes whose problem stood here too.
    #[inline(always)]
    fn load(&mut self, which: Which, from: Option<Which>, lanes: N::Mask) -> N::Mask {
        let newton = &mut *self.newton;
        let mut all_same = N::Mask::splat(false);
        let contacts = newton.size.contact_count;
        for (lane, part) in self.blocks.iter().enumerate() {
            if !lanes.get(lane) {
                continue;
            }
            let (tile, at) = (part.index / R::LANES, part.index % R::LANES);
            let mut tiles = self.all.tiles(part.class);
            let size = tiles.size;
            let one = tiles.reborrow().one(which, tile);
            let mut same = from.is_none();
            for (unit, number) in newton.matrix.y.units_of(lane) {
                let (rows, to, own) = rows_of(unit, contacts, number, part.size, size);
                for k in 0..rows {
                    let bias = one.bias[own + k].get(at);
                    same = same && bias == newton.bias[to + k].get(lane);
                    newton.bias[to + k].set(lane, bias);
                }
                if unit < contacts {
                    newton.friction[unit].set(lane, one.friction[number].get(at));
                } else {
                    let (to, own) = (2 * (unit - contacts), 2 * (number - part.size.contact_count));
                    for k in 0..2 {
                        newton.bounds[to + k].set(lane, one.bounds[own + k].get(at));
                    }
                }
            }
            all_same.set(lane, same);
            let Some(from) = from else { continue };
            let one = tiles.one(from, tile);
            for (unit, number) in newton.matrix.y.units_of(lane) {
                let (rows, to, own) = rows_of(unit, contacts, number, part.size, size);
                for k in 0..rows {
                    newton.impulse[to + k].set(lane, one.impulse[own + k].get(at));
                }
            }
        }
        all_same
    }

    /// [`Solve`], which stands once for the three that ask for it.
    #[inline(always)]
    fn solve(
        &mut self,
        header: &Header,
        which: Which,
        index: usize,
        [lanes, same]: [N::Mask; 2],
        known: N::Mask,
    ) -> N::Mask {
        let level = self.level;
        level.run(Solve { tile: self, header, which, index, lanes, same, known })
    }
}

/// A round on a problem that was loaded, in the lanes where its guess is not the answer; and writes down what came of it. Returns where there is a system now that stands for the next
/// problem.
struct Solve<'t, 'a, R: Pack, N: Pack> {
    tile: &'t mut SolveTile<'a, R, N>,
    header: &'t Header,
    which: Which,
    /// Which of [`ROUNDS`].
    index: usize,
    /// The lanes of which the problem is left.
    lanes: N::Mask,
    /// Where it is the problem that was solved just before, and so has its answer.
    same: N::Mask,
    /// Where the last system stands.
    known: N::Mask,
}

impl<R: Pack, N: Pack<Scalar = R::Scalar>> Task for Solve<'_, '_, R, N> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = N::Mask;
    #[inline(always)]
    fn run(self) -> N::Mask {
        let Self { tile: SolveTile { newton, all, blocks, .. }, header, which, index, lanes, same, known } = self;
        let (zero, round) = (N::zero(), &ROUNDS[index]);
        let others = lanes.and(same.not());
        warm_start(header, &newton.friction, &newton.bounds, others, &mut newton.impulse);
        // the first round goes for the tolerance itself, whatever the floor
        let mut report = [zero; REPORT_LEN];
        if others.any() {
            report = newton.certificate(header, index > 0);
        }
        let live = others.and(zero.lt(report[REPORT_LIVE]));
        let (mut sweeps, mut steps) = (zero, zero);
        if live.any() {
            newton.matrix.posed.keep(&newton.bias, &newton.bounds, &newton.impulse);
            newton.scale();
            newton.tolerance = N::constant(f64::INFINITY);
            for lane in 0..blocks.len() {
                if live.get(lane) {
                    newton.set_goal(lane, header, &report, lane);
                }
            }
            let mut keep = live;
            if matches!(round.start, Start::Swept) {
                // a step with factors that still stand takes the place of the first sweeps
                let first = live.and(known.not());
                if first.any() {
                    newton.sweep(header, FIRST_SWEEPS, first);
                    sweeps = N::select(first, N::constant(f64::from(FIRST_SWEEPS)), zero);
                } else {
                    newton.update_velocity();
                }
                (steps, _) = newton.solve_swept(header, round.steps, live.and(known));
            } else {
                let unsolved;
                (steps, unsolved) = newton.run_scaled(header, round);
                keep = keep.and(unsolved.not().or(N::Mask::splat(round.keeps(true))));
                // what is not finite is not unsolved either
                for y in &newton.impulse {
                    keep = keep.and(is_finite(*y));
                }
            }
            newton.unscale();
            let Posed { bias, bounds, impulse } = &newton.matrix.posed;
            newton.bias.copy_from_slice(bias);
            newton.bounds.copy_from_slice(bounds);
            for (x, posed) in newton.impulse.iter_mut().zip(impulse) {
                *x = N::select(keep, *x, *posed);
            }
        }
        if live.any() || index == 0 {
            report = newton.certificate(header, true);
        }
        let unfinished = lanes.and(zero.lt(report[REPORT_LIVE]));
        for (lane, part) in blocks.iter_mut().enumerate() {
            if !lanes.get(lane) {
                continue;
            }
            part.left = match which {
                _ if unfinished.get(lane) => Some(which),
                Which::Velocity => Some(Which::Position),
                Which::Position => None,
            };
            let at = part.index % R::LANES;
            let tiles = all.tiles(part.class);
            let size = tiles.size;
            let one = tiles.one(which, part.index / R::LANES);
            for (unit, number) in newton.matrix.y.units_of(lane) {
                let contacts = newton.size.contact_count;
                let (rows, from, own) = rows_of(unit, contacts, number, part.size, size);
                for k in 0..rows {
                    one.impulse[own + k].set(at, newton.impulse[from + k].get(lane));
                }
            }
            for entry in [REPORT_RESIDUAL, REPORT_FLOOR, REPORT_LIVE] {
                one.report[entry].set(at, report[entry].get(lane));
            }
            for (entry, more) in [(REPORT_SWEEPS, sweeps), (REPORT_NEWTON_STEPS, steps)] {
                let before = if index == 0 { R::Scalar::from_f64(0.0) } else { one.report[entry].get(at) };
                one.report[entry].set(at, before + more.get(lane));
            }
        }
        zero.lt(steps).and(N::Mask::splat(matches!(round.start, Start::Swept)))
    }
}

/// Number of rows of a unit in a tile of so many contacts, the first of them, and the first in its own tile, whose blocks are of `size`, where it is number `own` of a block.
#[inline(always)]
fn rows_of(unit: usize, contacts: usize, own: usize, block: BlockSize, size: BlockSize) -> (usize, usize, usize) {
    if unit < contacts {
        (3, 3 * unit, 3 * own)
    } else {
        (1, 2 * contacts + unit, 3 * size.contact_count + own - block.contact_count)
    }
}

impl<N: Pack> NewtonTile<N, Factored<N>> {
    /// The certificate of the impulses that stand here; its floor is 0 if it is not asked for.
    #[inline(always)]
    fn certificate(&mut self, header: &Header, floor: bool) -> [N; REPORT_LEN] {
        let level = self.matrix.level;
        level.run(Certificate { newton: self, header, floor })
    }
}

/// [`NewtonTile::certificate`].
struct Certificate<'a, N: Pack> {
    newton: &'a mut NewtonTile<N, Factored<N>>,
    header: &'a Header,
    floor: bool,
}

impl<N: Pack> Task for Certificate<'_, N> {
    const COMPILED: Compiled = N::PIECES;
    type Output = [N; REPORT_LEN];
    #[inline(always)]
    fn run(self) -> [N; REPORT_LEN] {
        let mut report = [N::zero(); REPORT_LEN];
        let NewtonTile { matrix, bias, friction, bounds, impulse, .. } = self.newton;
        let mut tile = OneTile { delassus: &[], friction, bounds, bias, impulse, report: &mut report };
        matrix.residual(self.header, self.floor, &mut tile);
        report
    }
}
