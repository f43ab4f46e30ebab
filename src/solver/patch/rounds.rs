//! Newton round by round, on the unfinished blocks of all groups: gathered into full tiles, blocks of like size together, without the contacts that do nothing. The first round
//! of blocks that are not large is in the numbers that the worlds are kept in; the others are in f64: what they are left with is what rounding troubles. Where a block is solved
//! changes no bit of it.

use super::super::batch::{PATCH_LEN, REPORT_FLOOR, REPORT_LIVE, REPORT_NEWTON_STEPS, REPORT_RESIDUAL, goal};
use super::super::gathering::number;
use super::super::settings::{Header, SolveSettings};
use super::super::tiles::{Blocks, Which};
use super::certificate::certify;
use super::law::{Rows, Shape};
use super::newton::{NewtonTile, Start};
use super::tile::{PatchTile, Room, add_product, no_report};
use crate::contact::PATCH_ROWS;
use crate::lane::{Compiled, Level, Mask, Pack, PackMask, Scalar, Task};
use std::marker::PhantomData;

/// A round of Newton: where it starts, steps at most, and whether contacts that are open in the answer so far are left out.
type Round = (Start, usize, bool);

/// The first rounds go on from the answer so far: of what stands on more contacts than it has freedom whole steps find how they pull against each other. Where that leads astray, sweeps find other acting rows; friction that is added by and by those of most, and contacts
/// that give way less and less those of others, at ten times the cost.
const ROUNDS: [Round; 8] = [
    (Start::Swept, 8, true),
    (Start::Whole, 40, false),
    (Start::Sweeps(50), 20, false),
    (Start::Swept, 12, false),
    (Start::Sweeps(200), 50, false),
    (Start::Friction(&[1e-9, 0.1, 0.3, 0.6]), 50, false),
    (Start::Softness(&[10.0, 1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7]), 50, false),
    (Start::Friction(&[1e-9, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]), 50, false),
];
/// So many rounds are spent on the position problem: what they leave mostly has no answer, and push-out gives way elsewhere.
const POSITION_ROUNDS: usize = 4;
/// So few blocks that remain to be solved together are solved one by one: lanes that idle cost as much as those that work.
const FEW: usize = 2;
/// Larger blocks are solved one by one, rows: the system of a whole pack leaves the cache.
const LARGEST: usize = 48;

/// The blocks that take part in a round, and the tiles that they are gathered in.
#[derive(Debug, Clone)]
pub(super) struct Gathering<R: Pack> {
    parts: Vec<Part>,
    /// Contacts and then scalar rows of every part, see [`Part::first`].
    kept: Vec<u32>,
    /// Rows of the block at hand, and of the gathered tile.
    rows: Vec<(usize, usize)>,
    /// Of the first round, for blocks of at most [`LARGEST`] rows.
    first: NewtonTile<R>,
    together: NewtonTile<R::Exact>,
    /// A single block.
    alone: NewtonTile<f64>,
    /// Room of the certificate.
    sums: Vec<R>,
}

/// A block that takes part in a round.
#[derive(Debug, Clone, Copy)]
struct Part {
    group: usize,
    tile: usize,
    lane: usize,
    /// What is kept of it.
    room: Room,
    /// Index of its first contact in [`Gathering::kept`].
    first: usize,
}

impl Part {
    fn by_size(&self) -> (usize, usize, usize, usize, usize, usize) {
        let Room { contacts, patches, scalars } = self.room;
        (patches, contacts, scalars, self.group, self.tile, self.lane)
    }
    fn by_place(&self) -> (usize, usize, usize) {
        (self.group, self.tile, self.lane)
    }
}

impl<R: Pack> Gathering<R> {
    pub fn new() -> Self {
        Self {
            parts: Vec::new(),
            kept: Vec::new(),
            rows: Vec::new(),
            first: NewtonTile::new(),
            together: NewtonTile::new(),
            alone: NewtonTile::new(),
            sums: Vec::new(),
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
    let rounds = if which == Which::Position { POSITION_ROUNDS } else { ROUNDS.len() };
    for (k, round) in ROUNDS.into_iter().take(rounds).enumerate() {
        choose(all, which, round.2, gathering);
        if gathering.parts.is_empty() {
            return;
        }
        let mut parts = std::mem::take(&mut gathering.parts);
        // by its own size, as what a block is solved in must not depend on others
        let is_coarse = |part: &Part| k == 0 && part.room.row_count() <= LARGEST;
        parts.sort_unstable_by_key(|part| (!is_coarse(part), part.by_size()));
        let (mut coarse, mut rest) = parts.split_at(parts.partition_point(is_coarse));
        let Gathering { kept, rows, first, .. } = &mut *gathering;
        while !coarse.is_empty() {
            let (count, room) = together(coarse, R::LANES);
            let (blocks, others) = coarse.split_at(count);
            coarse = others;
            solve_together(settings, all, which, level, (blocks, room, round), (kept, rows), first);
        }
        while !rest.is_empty() {
            let (count, room) = together(rest, R::Exact::LANES);
            let (blocks, others) = rest.split_at(count);
            rest = others;
            if const { R::Exact::LANES > 1 } && (blocks.len() <= FEW || room.row_count() > LARGEST) {
                for part in blocks {
                    let Gathering { kept, rows, alone, .. } = gathering;
                    alone.clear(part.room, level);
                    gather(settings, all, which, (0, part), (kept, rows), alone);
                    let (steps, unsolved, better) =
                        level.run(Alone::<R::Exact> { newton: alone, round, lanes: PhantomData });
                    put_back(all, which, (0, part), rows, alone, (steps, better || !unsolved));
                }
            } else {
                let Gathering { kept, rows, together, .. } = gathering;
                solve_together(settings, all, which, level, (blocks, room, round), (kept, rows), together);
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
            let tile = PatchTile::of(all.tiles(group), which, tile);
            let mut report = no_report();
            certify(&header, &tile, &mut gathering.sums, &mut report);
            for entry in [REPORT_RESIDUAL, REPORT_FLOOR, REPORT_LIVE] {
                tile.one.report[entry] = R::select(lanes, report[entry], tile.one.report[entry]);
            }
        }
    }
}

/// A round on some blocks in the lanes of one tile.
#[inline(always)]
fn solve_together<R: Pack, N: Pack>(
    settings: &SolveSettings,
    all: &mut dyn Blocks<R>,
    which: Which,
    level: Level,
    (blocks, room, round): (&[Part], Room, Round),
    (kept, rows): (&[u32], &mut Vec<(usize, usize)>),
    newton: &mut NewtonTile<N>,
) {
    newton.clear(room, level);
    for (lane, part) in blocks.iter().enumerate() {
        gather(settings, all, which, (lane, part), (kept, rows), newton);
    }
    let (steps, unsolved, better) = level.run(Together { newton, round });
    for (lane, part) in blocks.iter().enumerate() {
        let tiles = all.tiles(part.group);
        let size = (tiles.size.contact_count, tiles.patch_count);
        find_rows(part, kept, size, room, rows);
        let keep = better.get(lane) || !unsolved.get(lane);
        put_back(all, which, (lane, part), rows, newton, (steps.get(lane).to_f64(), keep));
    }
}

/// [`NewtonTile::run`] on some blocks.
struct Together<'a, E: Pack> {
    newton: &'a mut NewtonTile<E>,
    round: Round,
}

impl<E: Pack> Task for Together<'_, E> {
    const COMPILED: Compiled = E::COMPILED;
    type Output = (E, E::Mask, E::Mask);
    #[inline(always)]
    fn run(self) -> Self::Output {
        self.newton.run(self.round.0, self.round.1)
    }
}

/// The same on a block by itself, to the same bits as in a lane of E.
struct Alone<'a, E: Pack> {
    newton: &'a mut NewtonTile<f64>,
    round: Round,
    lanes: PhantomData<E>,
}

impl<E: Pack> Task for Alone<'_, E> {
    const COMPILED: Compiled = E::COMPILED;
    type Output = (f64, bool, bool);
    #[inline(always)]
    fn run(self) -> Self::Output {
        self.newton.run(self.round.0, self.round.1)
    }
}

/// How many of the first `parts` are solved together, and the room that they need: as many of like size as there are lanes.
fn together(parts: &[Part], lanes: usize) -> (usize, Room) {
    let (mut room, mut count) = (parts[0].room, 0);
    let limit = room.row_count() * 3 / 2 + 6;
    for Part { room: own, .. } in parts.iter().take(lanes) {
        let patches = room.patches.max(own.patches);
        let points = (room.contacts - room.patches).max(own.contacts - own.patches);
        let wider = Room { contacts: patches + points, patches, scalars: room.scalars.max(own.scalars) };
        if wider.row_count() > limit {
            break;
        }
        (room, count) = (wider, count + 1);
    }
    (count, room)
}

/// The live blocks, and what is kept of them: what a block has, or, where `acting`, what of that is not open (λ = 0 and w > 0).
#[inline(always)]
fn choose<R: Pack>(all: &mut dyn Blocks<R>, which: Which, acting: bool, gathering: &mut Gathering<R>) {
    let Gathering { parts, kept, sums, .. } = gathering;
    parts.clear();
    kept.clear();
    let zero = R::zero();
    for group in 0..all.class_count() {
        for tile in 0..all.tiles(group).count() {
            let tile = (tile, PatchTile::of(all.tiles(group), which, tile));
            let (tile, one) = (tile.0, &tile.1);
            let live = zero.lt(one.one.report[REPORT_LIVE]);
            if !live.any() {
                continue;
            }
            let n = one.row_count();
            sums.clear();
            sums.extend_from_slice(one.one.bias);
            add_product(one.one.delassus, one.one.impulse, sums);
            for lane in (0..R::LANES).filter(|&lane| live.get(lane)) {
                let first = kept.len();
                let mut room = Room::default();
                for c in 0..one.contacts {
                    let keeps = keeps_contact(one, c, sums, acting);
                    if keeps.get(lane) {
                        kept.push(c as u32);
                        room.contacts += 1;
                        room.patches += usize::from(c < one.patches);
                    }
                }
                for i in one.first_scalar()..n {
                    let s = 2 * (i - 3 * one.contacts);
                    let (lower, z) = (one.one.bounds[s], one.one.impulse[i]);
                    let has = zero.lt(one.diagonal(i)).or(zero.lt(one.one.bias[i].abs()));
                    let held = lower.lt(zero).or(zero.lt(lower)).or(zero.lt(z)).or(zero.lt(sums[i]).not());
                    if has.and(held.or(R::Mask::splat(!acting))).get(lane) {
                        kept.push(i as u32);
                        room.scalars += 1;
                    }
                }
                parts.push(Part { group, tile, lane, room, first });
            }
        }
    }
}

/// The lanes that keep contact `c`.
#[inline(always)]
fn keeps_contact<R: Pack>(one: &PatchTile<'_, R>, c: usize, w: &[R], acting: bool) -> R::Mask {
    let zero = R::zero();
    let rows = Rows::new(c, one.contacts, one.patches);
    let shape = Shape::new(one.shapes, c, rows.is_patch);
    let (mut has, mut acts) = (R::Mask::splat(false), R::Mask::splat(!acting));
    let (z, u) = (rows.normals(one.one.impulse), rows.normals(w));
    for k in 0..rows.normal_count() {
        let i = rows.normal[k];
        let own = zero.lt(one.diagonal(i)).or(zero.lt(one.one.bias[i].abs()));
        has = has.or(own);
        acts = acts.or(shape.disc.not().and(own).and(zero.lt(z[k]).or(zero.lt(u[k]).not())));
    }
    for i in rows.friction() {
        has = has.or(zero.lt(one.diagonal(i))).or(zero.lt(one.one.bias[i].abs()));
    }
    let slope = u[1].mul_add(u[1], u[2] * u[2]).sqrt();
    acts = acts.or(shape.disc.and(zero.lt(z[0]).or(slope.lt(u[0]).not())));
    has.and(acts)
}

/// The kept rows of a block: where they are in a tile of its group, which has room for `size` contacts and patches, and where in a gathered tile.
#[inline(always)]
fn find_rows(part: &Part, kept: &[u32], size: (usize, usize), room: Room, rows: &mut Vec<(usize, usize)>) {
    rows.clear();
    let Room { contacts, patches, scalars } = part.room;
    let (own, rest) = kept[part.first..].split_at(contacts);
    for (k, &c) in own.iter().enumerate() {
        let to = if k < patches { k } else { k - patches + room.patches };
        let (from, to) = (Rows::new(c as usize, size.0, size.1), Rows::new(to, room.contacts, room.patches));
        for i in 0..from.normal_count() {
            rows.push((from.normal[i], to.normal[i]));
        }
        for i in 0..if from.is_patch { 3 } else { 2 } {
            rows.push((from.friction()[i], to.friction()[i]));
        }
    }
    let first = 3 * room.contacts + PATCH_ROWS * room.patches;
    for (to, &i) in rest[..scalars].iter().enumerate() {
        rows.push((i as usize, first + to));
    }
}

/// Copies the kept rows of a block into a lane of `newton`.
#[inline(always)]
fn gather<R: Pack, N: Pack>(
    settings: &SolveSettings,
    all: &mut dyn Blocks<R>,
    which: Which,
    (lane, part): (usize, &Part),
    (kept, rows): (&[u32], &mut Vec<(usize, usize)>),
    newton: &mut NewtonTile<N>,
) {
    let tile = PatchTile::of(all.tiles(part.group), which, part.tile);
    let header = Header::new(all_size(&tile), settings);
    let (n, block) = (tile.row_count(), &mut newton.block);
    let (room, from_lane) = (block.room, part.lane);
    find_rows(part, kept, (tile.contacts, tile.patches), room, rows);
    let width = room.row_count();
    for &(i, to) in &*rows {
        let from_row = &tile.one.delassus[i * n..(i + 1) * n];
        let to_row = &mut block.delassus[to * width..(to + 1) * width];
        for &(j, to) in &*rows {
            to_row[to].set(lane, number(from_row[j].get(from_lane)));
        }
        block.bias[to].set(lane, number(tile.one.bias[i].get(from_lane)));
        newton.impulse[to].set(lane, number(tile.one.impulse[i].get(from_lane)));
        if i >= tile.first_scalar() {
            for side in 0..2 {
                let bound = tile.one.bounds[2 * (i - 3 * tile.contacts) + side].get(from_lane);
                block.bounds[2 * (to - 3 * room.contacts) + side].set(lane, number(bound));
            }
        }
    }
    for (k, &c) in kept[part.first..part.first + part.room.contacts].iter().enumerate() {
        let (c, patches) = (c as usize, part.room.patches);
        let to = if k < patches { k } else { k - patches + room.patches };
        block.friction[to].set(lane, number(tile.one.friction[c].get(from_lane)));
        for i in 0..if k < patches { PATCH_LEN } else { 0 } {
            block.shapes[to * PATCH_LEN + i].set(lane, number(tile.shapes[c * PATCH_LEN + i].get(from_lane)));
        }
    }
    let floor = tile.one.report[REPORT_FLOOR].get(from_lane);
    let goal = goal(R::Scalar::from_f64(f64::from(header.tolerance)), floor);
    newton.set_goal(lane, number(goal));
}

/// The size of a tile's blocks.
#[inline(always)]
fn all_size<R: Pack>(tile: &PatchTile<'_, R>) -> super::super::BlockSize {
    super::super::BlockSize { contact_count: tile.contacts, scalar_count: tile.row_count() - 3 * tile.contacts }
}

/// Writes down the steps of a block, and its answer if that is to be kept.
#[inline(always)]
fn put_back<R: Pack, N: Pack>(
    all: &mut dyn Blocks<R>,
    which: Which,
    (lane, part): (usize, &Part),
    rows: &[(usize, usize)],
    newton: &NewtonTile<N>,
    (steps, keep): (f64, bool),
) {
    let tile = PatchTile::of(all.tiles(part.group), which, part.tile);
    let taken = &mut tile.one.report[REPORT_NEWTON_STEPS];
    taken.set(part.lane, taken.get(part.lane) + R::Scalar::from_f64(steps));
    if keep {
        for &(from, to) in rows {
            let impulse = newton.impulse[to].get(lane).to_f64();
            tile.one.impulse[from].set(part.lane, R::Scalar::from_f64(impulse));
        }
    }
}
