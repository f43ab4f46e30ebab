//! Newton round by round, on the unfinished blocks of all groups: gathered into full tiles, without the rows that do nothing.

use super::batch::{REPORT_FLOOR, REPORT_LEN, REPORT_LIVE, REPORT_NEWTON_STEPS, REPORT_RESIDUAL};
use super::dense::Dense;
use super::gathering::{Gathering, LARGEST, Newton, Part, find_rows, gather, number, of_like_size};
use super::newton::{NewtonTile, Round, Start};
use super::residual::residual;
use super::settings::{Header, SolveSettings};
use super::tiles::{Blocks, OneTile, Which};
use crate::lane::{Compiled, Level, Mask, Pack, PackMask, Task};

/// The first round goes on from the answer so far, with sweeps after every step: what Gauss-Seidel is slow at is rarely which rows act. It is in the numbers that the worlds are kept in;
/// the others are in f64: what they are left with is what rounding troubles, or too hard for its tolerance.
const FIRST: Round = Round { steps: 4, acting: true, start: Start::Swept };
/// Alternating directions find the modes of nearly all; whole steps how what stands on more contacts than it has freedom pulls on them, and from no impulse on those of most where the answer so
/// far leads astray; friction that is added little by little those of others.
const ROUNDS: [Round; 8] = [
    Round { steps: 20, acting: true, start: Start::Split { steps: 20, rho: 3e-4 } },
    Round { steps: 30, acting: false, start: Start::Whole { delta: 1e-5, share: 0.5, anew: false } },
    Round { steps: 60, acting: false, start: Start::Whole { delta: 1.0, share: 0.6, anew: true } },
    Round { steps: 20, acting: false, start: Start::Here },
    Round { steps: 20, acting: false, start: Start::Split { steps: 100, rho: 1e-3 } },
    Round { steps: 20, acting: false, start: Start::Friction(&[0.0]) },
    Round { steps: 20, acting: false, start: Start::Friction(&[0.0, 0.2, 0.4, 0.6, 0.8]) },
    Round { steps: 20, acting: false, start: Start::Friction(&[3.0]) },
];
/// Rounds for the position problem where push-out gives way, see [`SolveSettings::gives_way`], after the first.
const POSITION_ROUNDS: usize = 2;
/// So few blocks that remain to be solved together are solved one by one: lanes that idle cost as much as those that work.
const FEW: usize = 3;

/// Newton on the live blocks, a few steps for all and more for those that need them; after every round their certificates anew.
#[inline(always)]
pub(super) fn newton<R: Pack>(
    settings: &SolveSettings,
    all: &mut dyn Blocks<R>,
    which: Which,
    level: Level,
    gathering: &mut Gathering<R>,
) {
    let rounds = match which {
        Which::Position if settings.gives_way && R::EPSILON > f64::EPSILON => POSITION_ROUNDS,
        Which::Velocity | Which::Position => ROUNDS.len(),
    };
    for (k, round) in std::iter::once(FIRST).chain(ROUNDS.into_iter().take(rounds)).enumerate() {
        choose(all, which, round, gathering);
        if gathering.parts.is_empty() {
            return;
        }
        let Gathering { parts, kept, rows, coarse, exact, .. } = &mut *gathering;
        parts.sort_unstable_by_key(Part::by_size);
        if k == 0 {
            solve(settings, all, (which, round, level), parts, (kept, rows), coarse);
        } else {
            solve(settings, all, (which, round, level), parts, (kept, rows), exact);
        }
        parts.sort_unstable_by_key(Part::by_place);
        for blocks in parts.chunk_by(|a, b| (a.group, a.tile) == (b.group, b.tile)) {
            let Part { group, tile, .. } = blocks[0];
            let mut lanes = R::Mask::splat(false);
            for p in blocks {
                lanes.set(p.lane, true);
            }
            let header = Header::new(all.tiles(group).size, settings);
            certify(&header, &mut all.tiles(group).one(which, tile), lanes);
        }
    }
    // what no round solved is not taken for the next problem
    gathering.clear();
}

/// A round on `parts`, sorted by size, in the numbers of `newton`.
#[inline(always)]
fn solve<R: Pack, N: Pack>(
    settings: &SolveSettings,
    all: &mut dyn Blocks<R>,
    (which, round, level): (Which, Round, Level),
    parts: &[Part],
    (kept, rows): (&[u32], &mut Vec<(usize, usize)>),
    newton: &mut Newton<N>,
) {
    let Newton { together, alone } = newton;
    together.matrix.level = level;
    alone.matrix.level = level;
    for (blocks, room) in of_like_size(parts, N::LANES) {
        if const { N::LANES > 1 } && blocks.len() <= FEW {
            for part in blocks {
                let header = Header::new(part.size, settings);
                gather(&header, all, which, std::slice::from_ref(part), (kept, rows), alone);
                let (steps, unsolved) = level.run(Alone::<N> { newton: alone, header, round });
                put_back(part, all, which, (kept, rows), (alone, 0), (steps, round.keeps(unsolved)));
            }
        } else {
            let header = Header::new(room, settings);
            gather(&header, all, which, blocks, (kept, rows), together);
            let (steps, unsolved) = level.run(Together { newton: together, header, round });
            for (lane, part) in blocks.iter().enumerate() {
                let keep = round.keeps(unsolved.get(lane));
                put_back(part, all, which, (kept, rows), (together, lane), (steps.get(lane), keep));
            }
        }
    }
}

/// [`NewtonTile::run`] on some blocks, one in each lane.
struct Together<'a, N: Pack> {
    newton: &'a mut NewtonTile<N, Dense<N>>,
    header: Header,
    round: Round,
}

impl<N: Pack> Task for Together<'_, N> {
    const COMPILED: Compiled = N::COMPILED;
    type Output = (N, N::Mask);
    #[inline(always)]
    fn run(self) -> Self::Output {
        self.newton.run(&self.header, &self.round)
    }
}

/// The same on a block by itself, to the same bits.
struct Alone<'a, N: Pack> {
    newton: &'a mut NewtonTile<N::Scalar, Dense<N::Scalar>>,
    header: Header,
    round: Round,
}

impl<N: Pack> Task for Alone<'_, N> {
    const COMPILED: Compiled = N::COMPILED;
    type Output = (N::Scalar, bool);
    #[inline(always)]
    fn run(self) -> Self::Output {
        self.newton.run(&self.header, &self.round)
    }
}

/// The live blocks, and what is kept of them.
#[inline(always)]
fn choose<R: Pack>(all: &mut dyn Blocks<R>, which: Which, round: Round, gathering: &mut Gathering<R>) {
    gathering.clear();
    for group in 0..all.class_count() {
        let tiles = all.tiles(group);
        let (size, count) = (tiles.size, tiles.count());
        if tiles.factored() || size.row_count() > LARGEST {
            continue;
        }
        for tile in 0..count {
            let one = all.tiles(group).one(which, tile);
            let live = R::zero().lt(one.report[REPORT_LIVE]);
            if live.any() {
                gathering.take((group, tile), live, size, &one, round.acting);
            }
        }
    }
}

/// Writes down the steps of a block, and its answer if that is to be kept: it is in a lane of `newton`.
#[inline(always)]
fn put_back<R: Pack, N: Pack>(
    part: &Part,
    all: &mut dyn Blocks<R>,
    which: Which,
    (kept, rows): (&[u32], &mut Vec<(usize, usize)>),
    (newton, lane): (&NewtonTile<N, Dense<N>>, usize),
    (steps, keep): (N::Scalar, bool),
) {
    let tiles = all.tiles(part.group);
    find_rows(part, kept, [tiles.size, newton.size], rows);
    let tile = tiles.one(which, part.tile);
    let all = &mut tile.report[REPORT_NEWTON_STEPS];
    all.set(part.lane, all.get(part.lane) + number(steps));
    if keep {
        for &(from, to) in &*rows {
            tile.impulse[from].set(part.lane, number(newton.impulse[to].get(lane)));
        }
    }
}

/// The certificate anew for some lanes; the others keep theirs, which a device may have rounded otherwise.
#[inline(always)]
fn certify<R: Pack>(header: &Header, tile: &mut OneTile<'_, R>, lanes: R::Mask) {
    let mut report = [R::zero(); REPORT_LEN];
    residual(header, tile.delassus, tile.bias, tile.friction, tile.bounds, tile.impulse, &mut report);
    for entry in [REPORT_RESIDUAL, REPORT_FLOOR, REPORT_LIVE] {
        tile.report[entry] = R::select(lanes, report[entry], tile.report[entry]);
    }
}
