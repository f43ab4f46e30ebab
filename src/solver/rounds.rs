//! Newton round by round, on the unfinished blocks of all groups: gathered into full tiles, without the rows that do nothing.

use super::batch::{REPORT_FLOOR, REPORT_LEN, REPORT_LIVE, REPORT_NEWTON_STEPS, REPORT_RESIDUAL};
use super::dense::Dense;
use super::gathering::{Gathering, LARGEST, Part, of_like_size};
use super::newton::{NewtonTile, Round, Start, WHOLE_DELTA};
use super::residual::residual;
use super::settings::{Header, SolveSettings};
use super::tiles::{Blocks, OneTile, Which};
use crate::lane::{Compiled, Level, Mask, Pack, PackMask, Task};

/// The first round goes on from the answer so far, with sweeps after every step: what Gauss-Seidel is slow at is rarely which rows act. Where it is, alternating directions find the
/// modes of nearly all; and friction that is added little by little those of others. In f64, whose tolerance is a hundred thousandth of f32's, what a robot that stands is left with is
/// how its feet pull against each other: whole steps.
const ROUNDS: [Round; 8] = [
    Round { steps: 4, acting: true, start: Start::Swept },
    Round { steps: 30, acting: false, start: Start::Whole { delta: 1e-5 } },
    Round { steps: 20, acting: true, start: Start::Split { steps: 20, rho: 3e-4 } },
    Round { steps: 20, acting: false, start: Start::Here },
    Round { steps: 20, acting: false, start: Start::Split { steps: 100, rho: 1e-3 } },
    Round { steps: 20, acting: false, start: Start::Friction(&[0.0]) },
    Round { steps: 20, acting: false, start: Start::Friction(&[0.0, 0.2, 0.4, 0.6, 0.8]) },
    Round { steps: 20, acting: false, start: Start::Friction(&[3.0]) },
];
/// Rounds for the position problem where push-out gives way, see [`SolveSettings::gives_way`].
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
    gathering.newton.matrix.level = level;
    gathering.alone.matrix.level = level;
    let rounds = match which {
        Which::Position if settings.gives_way && R::EPSILON > f64::EPSILON => POSITION_ROUNDS,
        Which::Velocity | Which::Position => ROUNDS.len(),
    };
    let exact = R::EPSILON < WHOLE_DELTA;
    let of_type = |round: &Round| exact || !matches!(round.start, Start::Whole { .. });
    for round in ROUNDS.into_iter().filter(of_type).take(rounds) {
        choose(all, which, round, gathering);
        if gathering.parts.is_empty() {
            return;
        }
        let mut parts = std::mem::take(&mut gathering.parts);
        parts.sort_unstable_by_key(Part::by_size);
        for (blocks, room) in of_like_size(&parts, R::LANES) {
            let header = Header::new(room, settings);
            if const { R::LANES > 1 } && blocks.len() <= FEW {
                for part in blocks {
                    solve_alone(&header, all, which, round, part, level, gathering);
                }
            } else {
                solve_together(&header, all, which, round, blocks, gathering);
            }
        }
        gathering.parts = parts;
        gathering.parts.sort_unstable_by_key(Part::by_place);
        for blocks in gathering.parts.chunk_by(|a, b| (a.group, a.tile) == (b.group, b.tile)) {
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

/// Newton on some blocks, one in each lane.
#[inline(always)]
fn solve_together<R: Pack>(
    header: &Header,
    all: &mut dyn Blocks<R>,
    which: Which,
    round: Round,
    blocks: &[Part],
    gathering: &mut Gathering<R>,
) {
    gathering.gather(header, all, which, blocks);
    let (steps, unsolved) = gathering.newton.run(header, &round);
    for (lane, part) in blocks.iter().enumerate() {
        let tiles = all.tiles(part.group);
        gathering.find_rows(part, tiles.size, gathering.newton.size);
        let Gathering { rows, newton, .. } = &*gathering;
        let keep = round.keeps(unsolved.get(lane));
        put_back(part, &mut tiles.one(which, part.tile), rows, newton, lane, steps.get(lane), keep);
    }
}

/// Newton on one block by itself, to the same bits as in a lane.
#[inline(always)]
fn solve_alone<R: Pack>(
    header: &Header,
    all: &mut dyn Blocks<R>,
    which: Which,
    round: Round,
    part: &Part,
    level: Level,
    gathering: &mut Gathering<R>,
) {
    let header = Header {
        contact_count: part.size.contact_count as u32,
        scalar_count: part.size.scalar_count as u32,
        ..*header
    };
    gathering.gather_alone(&header, all, which, part);
    let Gathering { rows, alone, .. } = gathering;
    let (steps, unsolved) = level.run(Alone::<R> { newton: alone, header, round });
    let keep = round.keeps(unsolved);
    put_back(part, &mut all.tiles(part.group).one(which, part.tile), rows, alone, 0, steps, keep);
}

/// [`NewtonTile::run`] on a block by itself.
struct Alone<'a, R: Pack> {
    newton: &'a mut NewtonTile<R::Scalar, Dense<R::Scalar>>,
    header: Header,
    round: Round,
}

impl<R: Pack> Task for Alone<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = (R::Scalar, bool);
    #[inline(always)]
    fn run(self) -> Self::Output {
        self.newton.run(&self.header, &self.round)
    }
}

/// Writes down the steps of a block, and its answer if that is to be kept.
#[inline(always)]
fn put_back<R: Pack, N: Pack<Scalar = R::Scalar>>(
    part: &Part,
    tile: &mut OneTile<'_, R>,
    rows: &[(usize, usize)],
    newton: &NewtonTile<N, Dense<N>>,
    lane: usize,
    steps: R::Scalar,
    keep: bool,
) {
    let all = &mut tile.report[REPORT_NEWTON_STEPS];
    all.set(part.lane, all.get(part.lane) + steps);
    if keep {
        for &(from, to) in rows {
            tile.impulse[from].set(part.lane, newton.impulse[to].get(lane));
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
