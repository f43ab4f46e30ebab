//! Newton round by round, on the unfinished blocks of all groups: gathered into full tiles, blocks of like size together, without the rows that
//! do nothing. Where a block is solved changes no bit of it.

use super::batch::{REPORT_FLOOR, REPORT_LEN, REPORT_LIVE, REPORT_NEWTON_STEPS, REPORT_RESIDUAL};
use super::dense::Dense;
use super::newton::{NewtonTile, Round, Start};
use super::residual::residual;
use super::settings::{Header, SolveSettings};
use super::size::BlockSize;
use super::tiles::{Blocks, OneTile, Which};
use crate::lane::{Compiled, Level, Mask, Pack, PackMask, Task};

/// The first rounds go on from the answer so far, with sweeps after every step: what Gauss-Seidel is slow at is rarely which rows act. Where that leads astray, alternating
/// directions find the modes of most, and friction that is added little by little those of others.
const ROUNDS: [Round; 8] = [
    Round { steps: 3, acting: true, start: Start::Swept },
    Round { steps: 8, acting: true, start: Start::Swept },
    Round { steps: 20, acting: false, start: Start::Here },
    Round { steps: 20, acting: false, start: Start::Split { steps: 20, rho: 1e-3 } },
    Round { steps: 20, acting: false, start: Start::Split { steps: 100, rho: 1e-3 } },
    Round { steps: 20, acting: false, start: Start::Friction(&[0.0]) },
    Round { steps: 20, acting: false, start: Start::Friction(&[0.0, 0.2, 0.4, 0.6, 0.8]) },
    Round { steps: 20, acting: false, start: Start::Friction(&[3.0]) },
];
/// A block that would keep so large a share of its rows keeps all: leaving out the others saves less than moving it costs.
const MOST: f64 = 0.95;
/// So few blocks that remain to be solved together are solved one by one: lanes that idle cost as much as those that work.
const FEW: usize = 5;
/// Largest block for Newton, rows: beyond, its system leaves the cache.
const LARGEST: usize = 200;

/// The blocks that take part in a round, and the tile that they are gathered in.
#[derive(Debug, Clone)]
pub(super) struct Gathering<R: Pack> {
    parts: Vec<Part>,
    /// Contacts and then scalar rows of every part, see [`Part::first`].
    kept: Vec<u32>,
    /// Which lanes keep each contact and scalar row of the tile at hand.
    marks: Vec<R::Mask>,
    /// Rows of the block at hand, and of the gathered tile.
    rows: Vec<(usize, usize)>,
    newton: NewtonTile<R, Dense<R>>,
    /// A single block.
    alone: NewtonTile<R::Scalar, Dense<R::Scalar>>,
}

/// A block that takes part in a round.
#[derive(Debug, Clone, Copy)]
struct Part {
    group: usize,
    tile: usize,
    lane: usize,
    /// What is kept of it.
    size: BlockSize,
    /// Index of its first contact in [`Gathering::kept`].
    first: usize,
}

impl Part {
    /// Sorts blocks of like size together; in one number, which sorts fast.
    fn by_size(&self) -> u128 {
        let size = (self.size.contact_count as u128) << 16 | self.size.scalar_count as u128;
        size << 80 | u128::from(self.by_place())
    }

    /// Sorts blocks of one tile together.
    fn by_place(&self) -> u64 {
        (self.group as u64) << 40 | (self.tile as u64) << 8 | self.lane as u64
    }

    /// Its contacts, and then its scalar rows, in its own tile.
    #[inline(always)]
    fn kept<'a>(&self, kept: &'a [u32]) -> (&'a [u32], &'a [u32]) {
        let end = self.first + self.size.contact_count + self.size.scalar_count;
        kept[self.first..end].split_at(self.size.contact_count)
    }
}

impl<R: Pack> Gathering<R> {
    pub fn new() -> Self {
        Self {
            parts: Vec::new(),
            kept: Vec::new(),
            marks: Vec::new(),
            rows: Vec::new(),
            newton: NewtonTile::new(Dense::default()),
            alone: NewtonTile::new(Dense::default()),
        }
    }
}

/// Newton on the live blocks, a few steps for all and more for those that need them; after every round their certificates anew.
#[inline(always)]
pub(super) fn newton<R: Pack>(
    settings: &SolveSettings,
    all: &mut dyn Blocks<R>,
    which: Which,
    level: Level,
    gathering: &mut Gathering<R>,
) {
    for round in ROUNDS {
        choose(all, which, round, gathering);
        if gathering.parts.is_empty() {
            return;
        }
        let mut parts = std::mem::take(&mut gathering.parts);
        parts.sort_unstable_by_key(Part::by_size);
        let mut rest = &parts[..];
        while !rest.is_empty() {
            let (count, room) = together(rest, R::LANES);
            let (blocks, others) = rest.split_at(count);
            rest = others;
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
}

/// How many of the first `parts` are solved together, and the room that they need: as many of like size as there are lanes.
fn together(parts: &[Part], lanes: usize) -> (usize, BlockSize) {
    let first = &parts[0];
    let (mut room, mut count) = (first.size, 0);
    let limit = room.row_count() * 3 / 2 + 6;
    for part in parts.iter().take(lanes) {
        let wider = BlockSize {
            contact_count: room.contact_count.max(part.size.contact_count),
            scalar_count: room.scalar_count.max(part.size.scalar_count),
        };
        if wider.row_count() > limit {
            break;
        }
        (room, count) = (wider, count + 1);
    }
    (count, room)
}

/// The live blocks, and what is kept of them.
#[inline(always)]
fn choose<R: Pack>(all: &mut dyn Blocks<R>, which: Which, round: Round, gathering: &mut Gathering<R>) {
    let Gathering { parts, kept, marks, .. } = gathering;
    parts.clear();
    kept.clear();
    for group in 0..all.class_count() {
        let tiles = all.tiles(group);
        let (size, count) = (tiles.size, tiles.count());
        if tiles.factored() || size.row_count() > LARGEST {
            continue;
        }
        for tile in 0..count {
            let one = all.tiles(group).one(which, tile);
            let live = R::zero().lt(one.report[REPORT_LIVE]);
            if !live.any() {
                continue;
            }
            mark(size, &one, round.acting, marks);
            for lane in (0..R::LANES).filter(|&lane| live.get(lane)) {
                let first = kept.len();
                let (contacts, scalars) = marks.split_at(size.contact_count);
                let mut add = |marks: &[R::Mask]| {
                    let before = kept.len();
                    kept.extend((0..marks.len()).filter(|&i| marks[i].get(lane)).map(|i| i as u32));
                    kept.len() - before
                };
                let size = BlockSize { contact_count: add(contacts), scalar_count: add(scalars) };
                parts.push(Part { group, tile, lane, size, first });
            }
        }
    }
}

/// The lanes that keep each contact and scalar row of a tile: what a block has, or, where `acting` leaves much out of it, what of that is not open (λ = 0 and u > 0).
///
/// Padding is zero throughout, and so is a row that nothing moves and that nothing moves against: neither would change a bit.
#[inline(always)]
fn mark<R: Pack>(size: BlockSize, tile: &OneTile<'_, R>, acting: bool, marks: &mut Vec<R::Mask>) {
    let (zero, n, count) = (R::zero(), size.row_count(), size.contact_count + size.scalar_count);
    // what each lane has, and then what of it acts
    marks.clear();
    marks.resize(2 * count, R::Mask::splat(false));
    let (mut row_count, mut acting_count) = (zero, zero);
    for k in 0..count {
        let (i, rows, lower) = if k < size.contact_count {
            (3 * k, 3, zero)
        } else {
            let s = k - size.contact_count;
            (3 * size.contact_count + s, 1, tile.bounds[2 * s])
        };
        let mut has = R::Mask::splat(false);
        for r in i..i + rows {
            has = has.or(zero.lt(tile.delassus[r * n + r])).or(zero.lt(tile.bias[r].abs()));
        }
        marks[k] = has;
        if !acting {
            continue;
        }
        let row = &tile.delassus[i * n..(i + 1) * n];
        // u = b + W λ
        let mut u = tile.bias[i];
        for (w, x) in row.iter().zip(&*tile.impulse) {
            u = w.mul_add(*x, u);
        }
        let at_zero = lower.lt(zero).or(zero.lt(lower)).or(zero.lt(tile.impulse[i])).not();
        let acts = has.and(at_zero.and(zero.lt(u)).not());
        marks[count + k] = acts;
        let rows = R::constant(rows as f64);
        row_count += R::select(has, rows, zero);
        acting_count += R::select(acts, rows, zero);
    }
    if acting {
        let whole = acting_count.lt(R::constant(MOST) * row_count).not();
        let (has, acts) = marks.split_at_mut(count);
        for (has, acts) in has.iter_mut().zip(acts) {
            *has = has.and(whole.or(*acts));
        }
    }
    marks.truncate(count);
}

/// Newton on some blocks, one in each lane. What a block lacks is zero and changes no bit of it.
#[inline(always)]
fn solve_together<R: Pack>(
    header: &Header,
    all: &mut dyn Blocks<R>,
    which: Which,
    round: Round,
    blocks: &[Part],
    gathering: &mut Gathering<R>,
) {
    let Gathering { kept, rows, newton, .. } = gathering;
    newton.clear(header);
    for (lane, part) in blocks.iter().enumerate() {
        let tiles = all.tiles(part.group);
        let size = tiles.size;
        let tile = tiles.one(which, part.tile);
        find_rows(part, kept, size, newton.size, rows);
        gather(newton, lane, part, kept, rows, size, &tile);
        newton.set_goal(lane, header, tile.report, part.lane);
    }
    let (steps, unsolved) = newton.run(header, &round);
    for (lane, part) in blocks.iter().enumerate() {
        let tiles = all.tiles(part.group);
        find_rows(part, kept, tiles.size, newton.size, rows);
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
    let Gathering { kept, rows, alone, .. } = gathering;
    let tiles = all.tiles(part.group);
    let size = tiles.size;
    let mut tile = tiles.one(which, part.tile);
    let header = Header {
        contact_count: part.size.contact_count as u32,
        scalar_count: part.size.scalar_count as u32,
        ..*header
    };
    alone.clear(&header);
    find_rows(part, kept, size, part.size, rows);
    gather(alone, 0, part, kept, rows, size, &tile);
    alone.set_goal(0, &header, tile.report, part.lane);
    let (steps, unsolved) = level.run(Alone::<R> { newton: alone, header, round });
    let keep = round.keeps(unsolved);
    put_back(part, &mut tile, rows, alone, 0, steps, keep);
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

/// The kept rows of a block: where they are in a tile of its group, and where in a gathered tile with `room`.
#[inline(always)]
fn find_rows(part: &Part, kept: &[u32], size: BlockSize, room: BlockSize, rows: &mut Vec<(usize, usize)>) {
    rows.clear();
    let (contacts, scalars) = part.kept(kept);
    for (to, &c) in contacts.iter().enumerate() {
        for k in 0..3 {
            rows.push((3 * c as usize + k, 3 * to + k));
        }
    }
    for (to, &s) in scalars.iter().enumerate() {
        rows.push((3 * size.contact_count + s as usize, 3 * room.contact_count + to));
    }
}

/// Copies the kept rows of a block into a lane.
#[inline(always)]
fn gather<R: Pack, N: Pack<Scalar = R::Scalar>>(
    newton: &mut NewtonTile<N, Dense<N>>,
    lane: usize,
    part: &Part,
    kept: &[u32],
    rows: &[(usize, usize)],
    size: BlockSize,
    tile: &OneTile<'_, R>,
) {
    let (n, room) = (size.row_count(), newton.size.row_count());
    for &(i, to) in rows {
        let (from_row, to_row) =
            (&tile.delassus[i * n..(i + 1) * n], &mut newton.matrix.delassus[to * room..(to + 1) * room]);
        for &(j, to) in rows {
            to_row[to].set(lane, from_row[j].get(part.lane));
        }
        newton.bias[to].set(lane, tile.bias[i].get(part.lane));
        newton.impulse[to].set(lane, tile.impulse[i].get(part.lane));
    }
    let (contacts, scalars) = part.kept(kept);
    for (to, &c) in contacts.iter().enumerate() {
        newton.friction[to].set(lane, tile.friction[c as usize].get(part.lane));
    }
    for (to, &s) in scalars.iter().enumerate() {
        for k in 0..2 {
            newton.bounds[2 * to + k].set(lane, tile.bounds[2 * s as usize + k].get(part.lane));
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
