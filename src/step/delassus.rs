//! W = Yᵀ Y of every block.
//!
//! Where worlds are blocks, rows stay in their lanes. Else they leave the tile of worlds once, number by number, for the block that has them: strip by strip, the degrees of freedom of a tree that stand together. A large block is kept as these rows
//! ([`Factor`](crate::solver::Factor)). Of the others W is formed here, sixteen blocks at once, each with strips of its own under its rows: two rows meet in the lanes where they touch the same strip.

use super::places::slot_rows;
use super::plan::Plan;
use super::posed::{Posed, Rows, Tile};
use super::supports::{Bits, Touched};
use crate::contact::PATCH_ROWS;
use crate::island::EDGES;
use crate::lane::{Compiled, Pack, PackMask, Scalar, Task};
use crate::slots::{SlotPart, first_lanes};
use crate::solver::{Batch, Group, STRIP};

/// Rows of Y of the dense blocks of a group.
#[derive(Debug, Default)]
pub(super) struct Dealt<R> {
    /// What strips a unit (a contact, or a scalar row) touches, ascending, then NaN, which is no strip; shape `[tile][unit][strip of the unit][lane]`.
    strip: Vec<R>,
    /// Entries of Y in these strips, 0 elsewhere, shape `[tile][row][strip of the unit][STRIP][lane]`.
    y: Vec<R>,
    /// What is added to the diagonal of W, (m/s)/(N·s), shape `[tile][row][lane]`.
    compliance: Vec<R>,
}

/// The columns of a free body, one bit each.
const FREE_BODY: u8 = 0b11_1111;

/// Makes room for the rows of all dense blocks of the batch, whose units touch at most `room` strips.
pub(super) fn make_room<R: Pack>(room: usize, batch: &Batch<R>, dealt: &mut Vec<Dealt<R>>) {
    dealt.resize_with(batch.groups.len().max(dealt.len()), Dealt::default);
    for (group, dealt) in batch.groups.iter().zip(dealt) {
        let tiles = if group.factored { 0 } else { group.tile_count() };
        dealt.strip.clear();
        dealt.strip.resize(tiles * group.size.unit_count() * room, R::constant(f64::NAN));
        dealt.compliance.clear();
        dealt.compliance.resize(tiles * group.size.row_count(), R::zero());
        dealt.y.clear();
        dealt.y.resize(tiles * group.size.row_count() * room * STRIP, R::zero());
    }
}

/// Deals the rows of Y of a tile of worlds out to its blocks, and what is added to the diagonal of W.
#[inline(always)]
pub(super) fn deal_rows<R: Pack>(
    plan: &Plan,
    tile: &Tile<'_, R>,
    posed: &Posed<R>,
    batch: &mut Batch<R>,
    dealt: &mut [Dealt<R>],
) {
    let Posed { contacts, limits, equalities, .. } = posed;
    let (rows, contact_slots) = (&plan.rows, contacts.gap.len());
    for part in &contacts.slots.parts {
        let (slot, strips) = (part.slot as usize, rows.strips_of_contact(part.origin as usize));
        if plan.pyramids {
            for edge in posed.rows.edges * slot..posed.rows.edges * (slot + 1) {
                deal(plan, tile, posed, SlotPart { slot: edge as u32, ..*part }, strips, batch, dealt);
            }
            continue;
        }
        deal(plan, tile, posed, SlotPart { slot: slot as u32, ..*part }, strips, batch, dealt);
        if slot < contacts.patches.len() {
            for more in contact_slots + PATCH_ROWS * slot..contact_slots + PATCH_ROWS * (slot + 1) {
                deal(plan, tile, posed, SlotPart { slot: more as u32, ..*part }, strips, batch, dealt);
            }
        }
    }
    let limit_start = posed.rows.joint_start(contacts.patch_rows());
    for part in &limits.slots.parts {
        let (slot, strips) = (limit_start + part.slot as usize, rows.strips_of_joint_row(part.origin as usize));
        deal(plan, tile, posed, SlotPart { slot: slot as u32, ..*part }, strips, batch, dealt);
    }
    for i in 0..equalities.error.len() {
        let slot = limit_start + limits.gap.len() + i;
        let all = SlotPart { slot: slot as u32, origin: i as u32, lanes: first_lanes(R::LANES) };
        deal(plan, tile, posed, all, rows.strips_of_equality(i), batch, dealt);
    }
}

/// Deals the rows of a slot, in the lanes that have it, out to their blocks. `strips`: what the rows touch.
#[inline(always)]
fn deal<R: Pack>(
    plan: &Plan,
    tile: &Tile<'_, R>,
    posed: &Posed<R>,
    slot: SlotPart,
    strips: &[Touched],
    batch: &mut Batch<R>,
    dealt: &mut [Dealt<R>],
) {
    let (nv, room, index) = (plan.model.nv(), plan.rows.most_strips, slot.slot as usize);
    let (first, _) = slot_rows(posed.rows.three_rows(), index);
    let own = compliance(tile, posed, index, slot.lanes);
    let mut left = slot.lanes;
    while left != 0 {
        let lane = left.trailing_zeros() as usize;
        left &= left - 1;
        let Some(p) = posed.places.of(R::LANES, index, lane) else { continue };
        let group = &mut batch.groups[p.group];
        // of a contact, or of a scalar row behind so many contacts
        let scalar = p.row.wrapping_sub(3 * group.size.contact_count);
        let unit = |contacts: usize| if p.count == 3 { p.row / 3 } else { contacts + scalar };
        if group.factored {
            let factor = &mut group.factors[p.tile * R::LANES + p.lane];
            let unit = unit(factor.size.contact_count);
            factor.start(unit, own[0].get(lane));
            for strip in strips {
                let mut entries = [[R::Scalar::from_f64(0.0); STRIP]; 3];
                for i in 0..p.count {
                    let row = &posed.rows.y[(first + i) * nv + strip.dof..];
                    for column in strip.columns() {
                        entries[i][column] = row[column].get(lane);
                    }
                }
                factor.put(unit, strip.number, strip.bits, &entries);
            }
            continue;
        }
        let (n, unit) = (group.size.row_count(), unit(group.size.contact_count));
        let dealt = &mut dealt[p.group];
        let units = &mut dealt.strip[(p.tile * group.size.unit_count() + unit) * room..][..room];
        for (to, strip) in units.iter_mut().zip(strips) {
            to.set(p.lane, R::Scalar::from_f64(strip.number as f64));
        }
        for i in 0..p.count {
            let row = p.tile * n + p.row + i;
            dealt.compliance[row].set(p.lane, own[i].get(lane));
            for (k, strip) in strips.iter().enumerate() {
                let from = &posed.rows.y[(first + i) * nv + strip.dof..];
                let to = &mut dealt.y[(row * room + k) * STRIP..][..STRIP];
                if strip.bits == FREE_BODY {
                    // the common case of a pile: a loop of known length
                    for column in 0..6 {
                        to[column].set(p.lane, from[column].get(lane));
                    }
                } else {
                    for column in strip.columns() {
                        to[column].set(p.lane, from[column].get(lane));
                    }
                }
            }
        }
    }
}

/// W of the dense blocks of a group, from their rows, which were dealt out.
pub(super) struct Delassus<'a, R: Pack> {
    /// Most strips that a unit touches.
    pub room: usize,
    /// Columns of a strip that some row touches are among the first so many.
    pub width: usize,
    pub dealt: &'a Dealt<R>,
    pub group: &'a mut Group<R>,
}

impl<R: Pack> Task for Delassus<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(mut self) {
        let contacts = self.group.size.contact_count;
        for tile in 0..self.group.tile_count() {
            for a in 0..self.group.size.unit_count() {
                for b in 0..=a {
                    match (a < contacts, b < contacts) {
                        (true, _) => self.meet::<3, 3>(tile, a, b),
                        (false, true) => self.meet::<1, 3>(tile, a, b),
                        (false, false) => self.meet::<1, 1>(tile, a, b),
                    }
                }
            }
        }
    }
}

impl<R: Pack> Delassus<'_, R> {
    /// The entries of W of two units, of A and B rows, and their mirror images.
    #[inline(always)]
    fn meet<const A: usize, const B: usize>(&mut self, tile: usize, a: usize, b: usize) {
        let Self { room, width, dealt, ref mut group } = *self;
        let (size, n) = (group.size, group.size.row_count());
        let row = |unit: usize| if unit < size.contact_count { 3 * unit } else { 2 * size.contact_count + unit };
        let (row_a, row_b) = (row(a), row(b));
        let strips = &dealt.strip[tile * size.unit_count() * room..][..size.unit_count() * room];
        let (strips_a, strips_b) = (&strips[a * room..][..room], &strips[b * room..][..room]);
        let y = &dealt.y[tile * n * room * STRIP..][..n * room * STRIP];
        let block = &mut group.delassus[tile * n * n..][..n * n];
        let (half, mut w) = (R::constant(0.5), [[R::zero(); B]; A]);
        for (k, strip_a) in strips_a.iter().enumerate() {
            for (l, strip_b) in strips_b.iter().enumerate() {
                let same = (*strip_a - *strip_b).abs().lt(half);
                if !same.any() {
                    continue;
                }
                let mut others = [&y[..0]; B];
                for j in 0..B {
                    others[j] = &y[((row_b + j) * room + l) * STRIP..][..width];
                }
                for i in 0..A {
                    let own = &y[((row_a + i) * room + k) * STRIP..][..width];
                    let mut sum = w[i];
                    for column in 0..width {
                        let x = R::select(same, own[column], R::zero());
                        for j in 0..B {
                            sum[j] = x.mul_add(others[j][column], sum[j]);
                        }
                    }
                    w[i] = sum;
                }
            }
        }
        for i in 0..A {
            for j in 0..B {
                let (upper, lower) = ((row_a + i) * n + row_b + j, (row_b + j) * n + row_a + i);
                if upper == lower {
                    w[i][j] += dealt.compliance[tile * n + row_a + i];
                }
                block[upper] = w[i][j];
                block[lower] = w[i][j];
            }
        }
    }
}

/// W = Yᵀ Y of a tile whose worlds are blocks, bundle by bundle. A lane that lacks a slot has no Y there, and so no W.
#[inline(always)]
pub(super) fn whole_delassus<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &Posed<R>, group: &mut Group<R>) {
    let Posed { rows, places, .. } = posed;
    let (words, n) = (plan.rows.words, group.size.row_count());
    // the edges of a pyramid stand together as the further rows of a patch do; where there are more than four, two and two
    let (contacts, edges) = (group.size.contact_count, rows.edges * rows.friction.len());
    let count = if rows.edges > EDGES { EDGE_PAIR } else { PATCH_ROWS };
    let together = (count, group.patch_count + edges / count);
    for a in 0..rows.support.len() / words - (count - 1) * together.1 {
        let a = Bundle::new(a, contacts, together);
        for b in 0.. {
            let b = Bundle::new(b, contacts, together);
            match (a.count, b.count) {
                (3, 3) => write_product::<R, 3, 3>(plan, rows, [a, b], group),
                (PATCH_ROWS, 3) => write_product::<R, PATCH_ROWS, 3>(plan, rows, [a, b], group),
                (PATCH_ROWS, PATCH_ROWS) => write_product::<R, PATCH_ROWS, PATCH_ROWS>(plan, rows, [a, b], group),
                (1, 3) => write_product::<R, 1, 3>(plan, rows, [a, b], group),
                (1, PATCH_ROWS) => write_product::<R, 1, PATCH_ROWS>(plan, rows, [a, b], group),
                (EDGE_PAIR, EDGE_PAIR) => write_product::<R, EDGE_PAIR, EDGE_PAIR>(plan, rows, [a, b], group),
                (1, EDGE_PAIR) => write_product::<R, 1, EDGE_PAIR>(plan, rows, [a, b], group),
                _ => write_product::<R, 1, 1>(plan, rows, [a, b], group),
            }
            if a.slot == b.slot {
                break;
            }
        }
        for i in 0..a.count {
            let row = a.row + i;
            let (slot, k) = if a.count == 3 { (a.slot, i) } else { (a.slot + i, 0) };
            group.delassus[row * n + row] += compliance(tile, posed, slot, places.lanes_with(R::LANES, slot))[k];
        }
    }
}

/// The entries of W between two bundles of rows.
#[inline(always)]
fn write_product<R: Pack, const A: usize, const B: usize>(
    plan: &Plan,
    rows: &Rows<R>,
    [a, b]: [Bundle; 2],
    group: &mut Group<R>,
) {
    let (words, n) = (plan.rows.words, group.size.row_count());
    let support = [rows.support_words(words, a.slot), rows.support_words(words, b.slot)];
    let w = product_of::<R, A, B>(plan.model.nv(), &rows.y, support, [a.row, b.row]);
    for (i, w) in w.iter().enumerate() {
        for (j, w) in w.iter().enumerate() {
            group.delassus[(a.row + i) * n + b.row + j] = *w;
            group.delassus[(b.row + j) * n + a.row + i] = *w;
        }
    }
}

/// Yᵀ Y of A rows and B rows, the first of which are given, over the degrees of freedom that their supports share: loops of known length, and slices of one length, so that an index
/// is checked once. One row at a time, in sums of its own: what does not fit the registers, or may be looked into afterwards, is stored in every turn of the loop.
#[inline(always)]
fn product_of<R: Pack, const A: usize, const B: usize>(
    nv: usize,
    y: &[R],
    support: [&[u64]; 2],
    first: [usize; 2],
) -> [[R; B]; A] {
    let mut w = [[R::zero(); B]; A];
    let dofs = Bits { other: Some(support[1]), ..Bits::of(support[0]) };
    // most rows of a pile
    if dofs.clone().next().is_none() {
        return w;
    }
    let mut others = [&y[..0]; B];
    for j in 0..B {
        others[j] = &y[(first[1] + j) * nv..][..nv];
    }
    for i in 0..A {
        let row = &y[(first[0] + i) * nv..][..nv];
        let mut sum = [R::zero(); B];
        for dof in dofs.clone() {
            let a = row[dof];
            for j in 0..B {
                sum[j] = a.mul_add(others[j][dof], sum[j]);
            }
        }
        w[i] = sum;
    }
    w
}

/// The two edges of one direction of friction.
const EDGE_PAIR: usize = 2;

/// Rows that follow each other and touch the same degrees of freedom: those of a contact, the further ones of a patch, edges, or a scalar row.
#[derive(Clone, Copy)]
struct Bundle {
    slot: usize,
    row: usize,
    /// 3, [`PATCH_ROWS`], [`EDGE_PAIR`], or 1.
    count: usize,
}

impl Bundle {
    /// Number `k` of a tile: all contacts, all that stand together, so many rows each and so many of these, then the scalar rows.
    #[inline(always)]
    fn new(k: usize, contact_slots: usize, (count, together): (usize, usize)) -> Self {
        let behind = k.wrapping_sub(contact_slots);
        if k < contact_slots {
            Self { slot: k, row: 3 * k, count: 3 }
        } else if behind < together {
            let more = count * behind;
            Self { slot: contact_slots + more, row: 3 * contact_slots + more, count }
        } else {
            let slot = k + (count - 1) * together;
            Self { slot, row: 2 * contact_slots + slot, count: 1 }
        }
    }
}

/// Compliance of the rows of a slot, (m/s)/(N·s), of the lanes `present`.
#[inline(always)]
fn compliance<R: Pack>(tile: &Tile<'_, R>, posed: &Posed<R>, slot: usize, present: u32) -> [R; 3] {
    let (mut lanes, mut compliance) = (present, [tile.parameters.compliance[0], R::zero(), R::zero()]);
    match posed.rows.soft.get(slot) {
        Some(soft) => compliance = soft.compliance,
        None => lanes &= posed.contacts.yielding(slot),
    }
    for x in &mut compliance {
        *x = R::select(R::Mask::from_bits(lanes), *x, R::zero());
    }
    compliance
}
