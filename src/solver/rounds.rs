//! Newton round by round, on the unfinished blocks of all groups: gathered into full tiles, blocks of like size together, without the rows that
//! do nothing.

use super::cpu::{Blocks, OneTile, Which};
use super::newton::NewtonTile;
use super::residual::residual;
use super::{
    BlockSize, Header, REPORT_FLOOR, REPORT_ITERATIONS, REPORT_LEN, REPORT_LIVE, REPORT_RESIDUAL, SolveSettings,
};
use crate::lane::{Mask, Real};

/// A round of Newton.
#[derive(Debug, Clone, Copy)]
struct Round {
    /// Steps at most, on every problem.
    steps: usize,
    /// Shares of the friction with which the block is solved first, from no impulse on; if this fails the answer so far is kept. None: Newton goes
    /// on from that answer, without the rows that are open in it.
    ramp: &'static [f64],
}

/// The first rounds go on from the answer so far. Where that leads astray, what friction does is found little by little.
const ROUNDS: [Round; 5] = [
    Round { steps: 3, ramp: &[] },
    Round { steps: 8, ramp: &[] },
    Round { steps: 20, ramp: &[0.0] },
    Round { steps: 20, ramp: &[0.0, 0.2, 0.4, 0.6, 0.8] },
    Round { steps: 20, ramp: &[3.0] },
];
/// Largest block for Newton, rows: beyond, its system leaves the cache.
const LARGEST: usize = 200;

/// The blocks that take part in a round, and the tile that they are gathered in.
#[derive(Debug, Clone)]
pub(super) struct Gathering<R> {
    parts: Vec<Part>,
    /// Contacts and then scalar rows of every part, see [`Part::first`].
    kept: Vec<u32>,
    /// Which contacts and scalar rows of a tile each lane keeps: one bit a lane.
    keeps: Vec<u32>,
    /// Rows of the block at hand, and of the gathered tile.
    rows: Vec<(usize, usize)>,
    newton: NewtonTile<R>,
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

impl<R: Real> Gathering<R> {
    pub fn new() -> Self {
        Self { parts: Vec::new(), kept: Vec::new(), keeps: Vec::new(), rows: Vec::new(), newton: NewtonTile::new() }
    }
}

/// Newton on the live blocks, a few steps for all and more for those that need them; after every round their certificates anew.
#[inline(always)]
pub(super) fn newton<R: Real, B: Blocks<R> + ?Sized>(
    settings: &SolveSettings,
    all: &mut B,
    which: Which,
    gathering: &mut Gathering<R>,
) {
    for round in ROUNDS {
        choose(all, which, round, gathering);
        if gathering.parts.is_empty() {
            return;
        }
        gathering.parts.sort_unstable_by_key(|p| (p.size.contact_count, p.size.scalar_count, p.group, p.tile, p.lane));
        let parts = std::mem::take(&mut gathering.parts);
        let mut rest = &parts[..];
        while let Some(first) = rest.first() {
            let (mut room, mut count) = (first.size, 0);
            let limit = room.row_count() * 3 / 2 + 6;
            for part in rest.iter().take(R::LANES) {
                let wider = BlockSize {
                    contact_count: room.contact_count.max(part.size.contact_count),
                    scalar_count: room.scalar_count.max(part.size.scalar_count),
                };
                if wider.row_count() > limit {
                    break;
                }
                (room, count) = (wider, count + 1);
            }
            let (blocks, others) = rest.split_at(count);
            rest = others;
            solve_together(settings, all, which, round, blocks, room, gathering);
        }
        gathering.parts = parts;
        gathering.parts.sort_unstable_by_key(|p| (p.group, p.tile, p.lane));
        for blocks in gathering.parts.chunk_by(|a, b| (a.group, a.tile) == (b.group, b.tile)) {
            let Part { group, tile, .. } = blocks[0];
            let mut lanes = R::Mask::splat(false);
            for p in blocks {
                lanes.set(p.lane, true);
            }
            let header = Header::new(all.tiles(group).size, 1, R::LANES, settings);
            certify(&header, &mut all.tiles(group).one(which, tile), lanes);
        }
    }
}

/// The live blocks, and what is kept of them.
#[inline(always)]
fn choose<R: Real, B: Blocks<R> + ?Sized>(all: &mut B, which: Which, round: Round, gathering: &mut Gathering<R>) {
    let Gathering { parts, kept, keeps, .. } = gathering;
    parts.clear();
    kept.clear();
    for group in 0..all.class_count() {
        let tiles = all.tiles(group);
        let (size, count) = (tiles.size, tiles.count());
        if size.row_count() > LARGEST {
            continue;
        }
        for tile in 0..count {
            let one = all.tiles(group).one(which, tile);
            let live = R::zero().lt(one.report[REPORT_LIVE]);
            if !live.any() {
                continue;
            }
            find_kept(size, &one, round.ramp.is_empty(), keeps);
            for lane in (0..R::LANES).filter(|&lane| live.get(lane)) {
                let first = kept.len();
                let (contacts, scalars) = keeps.split_at(size.contact_count);
                let mut add = |bits: &[u32]| {
                    let before = kept.len();
                    kept.extend((0..bits.len()).filter(|&i| bits[i] >> lane & 1 == 1).map(|i| i as u32));
                    kept.len() - before
                };
                let size = BlockSize { contact_count: add(contacts), scalar_count: add(scalars) };
                parts.push(Part { group, tile, lane, size, first });
            }
        }
    }
}

/// The contacts and scalar rows that a block really has, and with `active` only those that are not open: λ = 0 and u > 0.
#[inline(always)]
fn find_kept<R: Real>(size: BlockSize, tile: &OneTile<'_, R>, active: bool, keeps: &mut Vec<u32>) {
    let (zero, n) = (R::zero(), size.row_count());
    keeps.clear();
    for k in 0..size.contact_count + size.scalar_count {
        let (i, lower) = if k < size.contact_count {
            (3 * k, zero)
        } else {
            let s = k - size.contact_count;
            (3 * size.contact_count + s, tile.bounds[2 * s])
        };
        let row = &tile.delassus[i * n..(i + 1) * n];
        let mut keep = zero.lt(row[i]);
        if active {
            // u = b + W λ
            let mut u = tile.bias[i];
            for (w, x) in row.iter().zip(&*tile.impulse) {
                u = w.mul_add(*x, u);
            }
            let at_zero = lower.lt(zero).or(zero.lt(lower)).or(zero.lt(tile.impulse[i])).not();
            keep = keep.and(at_zero.and(zero.lt(u)).not());
        }
        let mut bits = 0;
        for lane in 0..R::LANES {
            bits |= u32::from(keep.get(lane)) << lane;
        }
        keeps.push(bits);
    }
}

/// Newton on some blocks, one in each lane. What a block lacks is zero and changes no bit of it.
#[inline(always)]
fn solve_together<R: Real, B: Blocks<R> + ?Sized>(
    settings: &SolveSettings,
    all: &mut B,
    which: Which,
    round: Round,
    blocks: &[Part],
    room: BlockSize,
    gathering: &mut Gathering<R>,
) {
    let Gathering { kept, rows, newton, .. } = gathering;
    let header = Header::new(room, 1, R::LANES, settings);
    newton.clear(&header);
    for (lane, part) in blocks.iter().enumerate() {
        let size = all.tiles(part.group).size;
        find_rows(part, kept, size, room, rows);
        gather(newton, lane, settings, part, kept, rows, size, &all.tiles(part.group).one(which, part.tile));
    }
    newton.scale();
    let on_the_way = newton.ramp(&header, round.ramp, round.steps);
    let (steps, unsolved) = newton.solve(&header, round.steps);
    newton.unscale();
    let done = on_the_way + steps;
    for (lane, part) in blocks.iter().enumerate() {
        let size = all.tiles(part.group).size;
        let tile = all.tiles(part.group).one(which, part.tile);
        let iterations = &mut tile.report[REPORT_ITERATIONS];
        iterations.set(part.lane, (R::splat(iterations.get(part.lane)) + R::splat(done.get(lane))).get(0));
        if !round.ramp.is_empty() && unsolved.get(lane) {
            continue;
        }
        find_rows(part, kept, size, room, rows);
        for &(from, to) in &*rows {
            tile.impulse[from].set(part.lane, newton.impulse[to].get(lane));
        }
    }
}

/// The kept rows of a block: where they are in a tile of its group, and where in a gathered tile with `room`.
#[inline(always)]
fn find_rows(part: &Part, kept: &[u32], size: BlockSize, room: BlockSize, rows: &mut Vec<(usize, usize)>) {
    rows.clear();
    let kept = &kept[part.first..part.first + part.size.contact_count + part.size.scalar_count];
    let (contacts, scalars) = kept.split_at(part.size.contact_count);
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
#[expect(clippy::too_many_arguments, reason = "one lane of one tile into another")]
fn gather<R: Real>(
    newton: &mut NewtonTile<R>,
    lane: usize,
    settings: &SolveSettings,
    part: &Part,
    kept: &[u32],
    rows: &[(usize, usize)],
    size: BlockSize,
    tile: &OneTile<'_, R>,
) {
    let (n, room) = (size.row_count(), newton.size.row_count());
    for &(i, to) in rows {
        let (from_row, to_row) = (&tile.delassus[i * n..(i + 1) * n], &mut newton.delassus[to * room..(to + 1) * room]);
        for &(j, to) in rows {
            to_row[to].set(lane, from_row[j].get(part.lane));
        }
        newton.bias[to].set(lane, tile.bias[i].get(part.lane));
        newton.impulse[to].set(lane, tile.impulse[i].get(part.lane));
    }
    let (contacts, scalars) = kept[part.first..].split_at(part.size.contact_count);
    for (to, &c) in contacts.iter().enumerate() {
        newton.friction[to].set(lane, tile.friction[c as usize].get(part.lane));
    }
    for (to, &s) in scalars[..part.size.scalar_count].iter().enumerate() {
        for k in 0..2 {
            newton.bounds[2 * to + k].set(lane, tile.bounds[2 * s as usize + k].get(part.lane));
        }
    }
    newton.tolerance.set(lane, NewtonTile::goal(tile.report, settings.tolerance).get(part.lane));
}

/// The certificate anew for some lanes; the others keep theirs, which a device may have rounded otherwise.
#[inline(always)]
fn certify<R: Real>(header: &Header, tile: &mut OneTile<'_, R>, lanes: R::Mask) {
    let mut report = [R::zero(); REPORT_LEN];
    residual(header, tile.delassus, tile.bias, tile.friction, tile.bounds, tile.impulse, &mut report);
    for entry in [REPORT_RESIDUAL, REPORT_FLOOR, REPORT_LIVE] {
        tile.report[entry] = R::select(lanes, report[entry], tile.report[entry]);
    }
}
