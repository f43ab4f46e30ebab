//! Blocks out of tiles in which few lanes are at work, gathered into tiles whose lanes all are, blocks of like size together. Where a block is solved changes no bit of it.

use super::batch::{REPORT_FLOOR, REPORT_LEN, REPORT_LIVE, REPORT_RESIDUAL, REPORT_SWEEPS};
use super::carried::{Carried, sweep_carrying};
use super::dense::Dense;
use super::newton::NewtonTile;
use super::settings::{Header, SolveSettings};
use super::size::BlockSize;
use super::tiles::{Blocks, OneTile, Which};
use crate::lane::{Mask, Pack, PackMask, Scalar};

/// Largest block that is gathered, rows: beyond, Newton's system leaves the cache.
pub(super) const LARGEST: usize = 200;
/// A block that would keep so large a share of its rows keeps all: leaving out the others saves less than moving it costs.
const MOST: f64 = 0.95;

/// The blocks that are gathered, and the tiles that they are gathered in.
#[derive(Debug, Clone)]
pub(super) struct Gathering<R: Pack> {
    pub parts: Vec<Part>,
    /// Contacts and then scalar rows of every part, see [`Part::first`].
    pub kept: Vec<u32>,
    /// Which lanes keep each contact and scalar row of the tile at hand.
    marks: Vec<R::Mask>,
    /// Rows of the block at hand, and of the gathered tile: room.
    pub rows: Vec<(usize, usize)>,
    /// In the numbers of the worlds.
    pub coarse: Newton<R>,
    /// In f64.
    pub exact: Newton<R::Exact>,
}

/// Blocks on their way through Newton.
#[derive(Debug, Clone)]
pub(super) struct Newton<N: Pack> {
    /// A tile of them.
    pub together: NewtonTile<N, Dense<N>>,
    /// A single one.
    pub alone: NewtonTile<N::Scalar, Dense<N::Scalar>>,
}

impl<N: Pack> Newton<N> {
    fn new() -> Self {
        Self { together: NewtonTile::new(Dense::default()), alone: NewtonTile::new(Dense::default()) }
    }
}

/// A block that is gathered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub group: usize,
    pub tile: usize,
    pub lane: usize,
    /// What is kept of it.
    pub size: BlockSize,
    /// Index of its first contact in [`Gathering::kept`].
    first: usize,
}

impl Part {
    /// Sorts blocks of like size together; in one number, which sorts fast.
    pub fn by_size(&self) -> u128 {
        let size = (self.size.contact_count as u128) << 16 | self.size.scalar_count as u128;
        size << 80 | u128::from(self.by_place())
    }

    /// Sorts blocks of one tile together.
    pub fn by_place(&self) -> u64 {
        (self.group as u64) << 40 | (self.tile as u64) << 8 | self.lane as u64
    }

    /// Its contacts, and then its scalar rows, in its own tile.
    #[inline(always)]
    fn kept<'a>(&self, kept: &'a [u32]) -> (&'a [u32], &'a [u32]) {
        let end = self.first + self.size.contact_count + self.size.scalar_count;
        kept[self.first..end].split_at(self.size.contact_count)
    }
}

/// Appends the numbers of the `marks` that `lane` has; how many these are.
#[inline(always)]
fn keep<M: PackMask>(marks: &[M], lane: usize, kept: &mut Vec<u32>) -> usize {
    let before = kept.len();
    for (i, mark) in marks.iter().enumerate() {
        if mark.get(lane) {
            kept.push(i as u32);
        }
    }
    kept.len() - before
}

impl<R: Pack> Gathering<R> {
    pub fn new() -> Self {
        Self {
            parts: Vec::new(),
            kept: Vec::new(),
            marks: Vec::new(),
            rows: Vec::new(),
            coarse: Newton::new(),
            exact: Newton::new(),
        }
    }

    /// Forgets all blocks.
    pub fn clear(&mut self) {
        self.parts.clear();
        self.kept.clear();
    }

    /// Takes the blocks in some `lanes` of a tile of `size`, and notes which of their rows are kept: see [`mark`].
    #[inline(always)]
    pub fn take(
        &mut self,
        (group, tile): (usize, usize),
        lanes: R::Mask,
        size: BlockSize,
        one: &OneTile<'_, R>,
        acting: bool,
    ) {
        let Self { parts, kept, marks, .. } = self;
        mark(size, one, acting, marks);
        for lane in (0..R::LANES).filter(|&lane| lanes.get(lane)) {
            let first = kept.len();
            let (contacts, scalars) = marks.split_at(size.contact_count);
            let size = BlockSize { contact_count: keep(contacts, lane, kept), scalar_count: keep(scalars, lane, kept) };
            parts.push(Part { group, tile, lane, size, first });
        }
    }
}

/// The rows of a block that are `kept`: where they are in a tile of its group, of `size`, and where in a gathered tile with `room`.
#[inline(always)]
pub(super) fn find_rows(part: &Part, kept: &[u32], [size, room]: [BlockSize; 2], rows: &mut Vec<(usize, usize)>) {
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

/// Gathers `blocks`, one in each lane of a tile, as `header` has room for. What a block lacks is zero and changes no bit of it. `rows`: room.
#[inline(always)]
pub(super) fn gather<R: Pack, N: Pack>(
    header: &Header,
    all: &mut dyn Blocks<R>,
    which: Which,
    blocks: &[Part],
    (kept, rows): (&[u32], &mut Vec<(usize, usize)>),
    newton: &mut NewtonTile<N, Dense<N>>,
) {
    newton.clear(header);
    for (lane, part) in blocks.iter().enumerate() {
        let tiles = all.tiles(part.group);
        let size = tiles.size;
        find_rows(part, kept, [size, newton.size], rows);
        let from = tiles.one(which, part.tile);
        copy(newton, lane, part, kept, rows, size, &from);
        newton.set_goal(lane, header, from.report, part.lane);
    }
}

/// `parts`, sorted by size, in pieces of like size of at most so many as there are lanes, and the room that each of them needs.
pub(super) fn of_like_size(parts: &[Part], lanes: usize) -> impl Iterator<Item = (&[Part], BlockSize)> {
    let mut rest = parts;
    std::iter::from_fn(move || {
        let (count, room) = together(rest, lanes)?;
        let (piece, others) = rest.split_at(count);
        rest = others;
        Some((piece, room))
    })
}

/// How many of the first `parts` go together, and the room that they need.
fn together(parts: &[Part], lanes: usize) -> Option<(usize, BlockSize)> {
    let (mut room, mut count) = (parts.first()?.size, 0);
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
    Some((count, room))
}

/// The lanes that keep each contact and scalar row of a tile: what a block has, or, where `acting` leaves much out of it, what of that is not open (λ = 0 and u > 0).
///
/// Padding is zero throughout, and so is a row that nothing moves, that nothing moves against, and that has no impulse: neither would change a bit.
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
            has = has.or(zero.lt(tile.impulse[r].abs()));
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

/// Copies the kept rows of a block into a lane.
#[inline(always)]
fn copy<R: Pack, N: Pack>(
    newton: &mut NewtonTile<N, Dense<N>>,
    lane: usize,
    part: &Part,
    kept: &[u32],
    rows: &[(usize, usize)],
    size: BlockSize,
    tile: &OneTile<'_, R>,
) {
    let (n, room) = (size.row_count(), newton.size.row_count());
    for (known, &(i, to)) in rows.iter().enumerate() {
        let (from_row, w) = (&tile.delassus[i * n..(i + 1) * n], &mut newton.matrix.delassus);
        // W is symmetric, and what costs is to fetch it
        for &(j, other) in &rows[..=known] {
            let entry = number(from_row[j].get(part.lane));
            w[to * room + other].set(lane, entry);
            w[other * room + to].set(lane, entry);
        }
        newton.bias[to].set(lane, number(tile.bias[i].get(part.lane)));
        newton.impulse[to].set(lane, number(tile.impulse[i].get(part.lane)));
    }
    let (contacts, scalars) = part.kept(kept);
    for (to, &c) in contacts.iter().enumerate() {
        newton.friction[to].set(lane, number(tile.friction[c as usize].get(part.lane)));
    }
    for (to, &s) in scalars.iter().enumerate() {
        for k in 0..2 {
            newton.bounds[2 * to + k].set(lane, number(tile.bounds[2 * s as usize + k].get(part.lane)));
        }
    }
}

/// A number in another type.
#[inline(always)]
pub(super) fn number<S: Scalar, N: Scalar>(x: S) -> N {
    N::from_f64(x.to_f64())
}

impl<R: Pack> NewtonTile<R, Dense<R>> {
    /// The problem of the tile, before it is scaled.
    #[inline(always)]
    fn one<'a>(&'a mut self, report: &'a mut [R]) -> OneTile<'a, R> {
        let Self { matrix, friction, bounds, bias, impulse, .. } = self;
        OneTile { delassus: &matrix.delassus, friction, bounds, bias, impulse, report }
    }
}

/// Sweeps over the blocks that have been taken: as in their own lanes, to the bit.
#[inline(always)]
pub(super) fn sweep_gathered<R: Pack>(
    settings: &SolveSettings,
    all: &mut dyn Blocks<R>,
    which: Which,
    gathering: &mut Gathering<R>,
    carried: &mut Carried<R>,
) {
    let mut parts = std::mem::take(&mut gathering.parts);
    parts.sort_unstable_by_key(Part::by_size);
    for (blocks, room) in of_like_size(&parts, R::LANES) {
        let header = Header::new(room, settings);
        let Gathering { kept, rows, coarse: Newton { together, .. }, .. } = &mut *gathering;
        gather(&header, all, which, blocks, (kept, rows), together);
        let mut report = [R::zero(); REPORT_LEN];
        sweep_carrying(header, settings, &mut together.one(&mut report), R::Mask::splat(false), carried);
        for (lane, part) in blocks.iter().enumerate() {
            let tiles = all.tiles(part.group);
            find_rows(part, kept, [tiles.size, room], rows);
            let to = tiles.one(which, part.tile);
            for entry in [REPORT_RESIDUAL, REPORT_FLOOR, REPORT_LIVE, REPORT_SWEEPS] {
                to.report[entry].set(part.lane, report[entry].get(lane));
            }
            for &(own, gathered) in &*rows {
                to.impulse[own].set(part.lane, together.impulse[gathered].get(lane));
            }
        }
    }
    gathering.parts = parts;
}
