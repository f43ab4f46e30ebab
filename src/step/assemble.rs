//! Stage 7, `assemble`: per island one block, W = J M⁻¹ Jᵀ (+ compliance), b = J v* − target.
//!
//! Where constraints are soft ([`super::soft`]), target and compliance of every row are those of its spring, and the position problem is the velocity problem.

use super::patches::{patch_terms, striker};
use super::places::{Places, deal, scalar_row, slot_rows};
use super::plan::Plan;
use super::posed::{Posed, Rows, Tile};
use super::supports::Bits;
use super::targets::{bounce, equality_target, remembered, surface, targets};
use crate::contact::PATCH_ROWS;
use crate::lane::{EVERY_LANE, MOST_LANES, Pack, PackMask, Scalar};
use crate::solver::{Batch, Group, STRIP};

/// Writes the blocks of a tile into the batch: W, both biases, friction, bounds and the first guess.
#[inline(always)]
pub fn assemble<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &Posed<R>, batch: &mut Batch<R>) {
    if let Some(group) = posed.places.whole() {
        whole_delassus(plan, tile, posed, &mut batch.groups[group]);
    } else {
        if batch.has_factors() {
            factors(plan, tile, posed, batch);
        }
        delassus(plan, tile, posed, batch);
    }
    contact_terms(plan, tile, posed, batch);
    patch_terms(plan, tile, posed, batch);
    joint_terms(plan, tile, posed, batch);
    equality_terms(plan, tile, posed, batch);
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

/// Yᵀ Y of two slots: up to 3 × 3 entries of W.
#[inline(always)]
fn product<R: Pack>(nv: usize, words: usize, rows: &Rows<R>, a: usize, b: usize) -> [[R; 3]; 3] {
    let contact_slots = rows.frame.len();
    let ((row_a, count_a), (row_b, count_b)) = (slot_rows(contact_slots, a), slot_rows(contact_slots, b));
    let support = [rows.support_words(words, a), rows.support_words(words, b)];
    let (y, first, mut w) = (&rows.y, [row_a, row_b], [[R::zero(); 3]; 3]);
    match (count_a, count_b) {
        (3, 3) => return product_of::<R, 3, 3>(nv, y, support, first),
        (1, 3) => [w[0]] = product_of::<R, 1, 3>(nv, y, support, first),
        (3, 1) => {
            for (w, [own]) in w.iter_mut().zip(product_of::<R, 3, 1>(nv, y, support, first)) {
                w[0] = own;
            }
        }
        _ => [[w[0][0]]] = product_of::<R, 1, 1>(nv, y, support, first),
    }
    w
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

/// Rows that follow each other and touch the same degrees of freedom: those of a contact, the further ones of a patch, or a scalar row.
#[derive(Clone, Copy)]
struct Bundle {
    slot: usize,
    row: usize,
    /// 3, [`PATCH_ROWS`], or 1.
    count: usize,
}

impl Bundle {
    /// Number `k` of a tile: all contacts, all patches, then the scalar rows.
    #[inline(always)]
    fn new(k: usize, contact_slots: usize, patch_slots: usize) -> Self {
        let patch = k.wrapping_sub(contact_slots);
        if k < contact_slots {
            Self { slot: k, row: 3 * k, count: 3 }
        } else if patch < patch_slots {
            let more = PATCH_ROWS * patch;
            Self { slot: contact_slots + more, row: 3 * contact_slots + more, count: PATCH_ROWS }
        } else {
            let slot = k + (PATCH_ROWS - 1) * patch_slots;
            Self { slot, row: 2 * contact_slots + slot, count: 1 }
        }
    }
}

/// W = Yᵀ Y of a tile whose worlds are blocks, bundle by bundle. A lane that lacks a slot has no Y there, and so no W.
#[inline(always)]
fn whole_delassus<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &Posed<R>, group: &mut Group<R>) {
    let Posed { rows, places, .. } = posed;
    let (words, n) = (plan.rows.words, group.size.row_count());
    let (contacts, patches) = (group.size.contact_count, group.patch_count);
    for a in 0..rows.support.len() / words - (PATCH_ROWS - 1) * patches {
        let a = Bundle::new(a, contacts, patches);
        for b in 0.. {
            let b = Bundle::new(b, contacts, patches);
            match (a.count, b.count) {
                (3, 3) => write_product::<R, 3, 3>(plan, rows, [a, b], group),
                (PATCH_ROWS, 3) => write_product::<R, PATCH_ROWS, 3>(plan, rows, [a, b], group),
                (PATCH_ROWS, PATCH_ROWS) => write_product::<R, PATCH_ROWS, PATCH_ROWS>(plan, rows, [a, b], group),
                (1, 3) => write_product::<R, 1, 3>(plan, rows, [a, b], group),
                (1, PATCH_ROWS) => write_product::<R, 1, PATCH_ROWS>(plan, rows, [a, b], group),
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

/// The lanes that have a slot in a factored block, one bit a lane.
#[inline(always)]
fn factored_lanes<R: Pack>(slot: usize, places: &Places, batch: &Batch<R>) -> u32 {
    let mut bits = 0;
    for lane in 0..R::LANES {
        let factored = places.of(R::LANES, slot, lane).is_some_and(|p| batch.groups[p.group].factored);
        bits |= u32::from(factored) << lane;
    }
    bits
}

/// The rows of Y, dealt out to the factored blocks: strip by strip of the worlds whose slot is of one origin, turned.
#[inline(always)]
fn factors<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &Posed<R>, batch: &mut Batch<R>) {
    let (nv, plan) = (plan.model.nv(), &plan.rows);
    let Posed { contacts, limits, islands, places, rows, .. } = posed;
    let (lanes, contact_slots, zero) = (R::LANES, contacts.gap.len(), R::Scalar::from_f64(0.0));
    let equality_start = contact_slots + limits.gap.len();
    let mut turned = [[[zero; STRIP]; MOST_LANES]; 3];
    for slot in 0..rows.support.len() / plan.words {
        let (first, row_count) = slot_rows(contact_slots, slot);
        let mut origins = [None; MOST_LANES];
        let mut homes = [(0, 0, 0); MOST_LANES];
        for lane in 0..lanes {
            let Some(p) = places.of(lanes, slot, lane).filter(|p| batch.groups[p.group].factored) else { continue };
            let (group, index) = (&mut batch.groups[p.group], p.tile * lanes + p.lane);
            let contacts = group.factors[index].size.contact_count;
            let unit = if p.count == 3 { p.row / 3 } else { contacts + p.row - 3 * group.size.contact_count };
            let compliance = if slot < contact_slots { tile.parameters.compliance[0].get(lane) } else { zero };
            group.factors[index].start(unit, compliance);
            homes[lane] = (p.group, index, unit);
            origins[lane] = Some(if slot < contact_slots {
                islands.pair[slot * lanes + lane] as usize
            } else if slot < equality_start {
                islands.joint_row[(slot - contact_slots) * lanes + lane] as usize
            } else {
                slot - equality_start
            });
        }
        for lane in 0..lanes {
            let Some(origin) = origins[lane] else { continue };
            let mut dofs = if slot < contact_slots {
                plan.of_contact(origin)
            } else if slot < equality_start {
                plan.of_joint_row(origin)
            } else {
                plan.of_equality(origin)
            };
            let mut next = dofs.next();
            while let Some(dof) = next {
                let (strip, mut touched, mut packs) = (plan.column[dof] / STRIP, 0, [[R::zero(); STRIP]; 3]);
                while let Some(dof) = next.filter(|dof| plan.column[*dof] / STRIP == strip) {
                    let column = plan.column[dof] % STRIP;
                    touched |= 1 << column;
                    for i in 0..row_count {
                        packs[i][column] = rows.y[(first + i) * nv + dof];
                    }
                    next = dofs.next();
                }
                for i in 0..row_count {
                    R::scatter(&packs[i], &mut turned[i], &EVERY_LANE);
                }
                for other in lane..lanes {
                    if origins[other] == Some(origin) {
                        let ((group, index, unit), t) = (homes[other], &turned);
                        let entries = [t[0][other], t[1][other], t[2][other]];
                        batch.groups[group].factors[index].put(unit, strip, touched, &entries);
                    }
                }
            }
            for other in lane..lanes {
                if origins[other] == Some(origin) {
                    origins[other] = None;
                }
            }
        }
    }
}

/// W = Yᵀ Y, slot pair by slot pair, dealt out to the worlds that have both slots in one dense block.
#[inline(always)]
fn delassus<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &Posed<R>, batch: &mut Batch<R>) {
    let (nv, words, lanes) = (plan.model.nv(), plan.rows.words, R::LANES);
    let Posed { islands, rows, places, .. } = posed;
    let contact_slots = posed.contacts.gap.len();
    let any_factored = batch.has_factors();
    for a in 0..rows.support.len() / words {
        let (row_a, _) = slot_rows(contact_slots, a);
        let dense =
            places.lanes_with(lanes, a) & if any_factored { !factored_lanes(a, places, batch) } else { u32::MAX };
        if dense == 0 {
            continue;
        }
        for b in 0..=a {
            let (row_b, _) = slot_rows(contact_slots, b);
            let shared = R::Mask::from_bits(islands.shared_lanes(lanes, row_a, row_b) & dense);
            if !shared.any() {
                continue;
            }
            let mut w = product(nv, words, rows, a, b);
            if a == b {
                let own = compliance(tile, posed, a, u32::MAX);
                for i in 0..slot_rows(contact_slots, a).1 {
                    w[i][i] += own[i];
                }
            }
            if let (Some(p), Some(r)) = (places.together(a), places.together(b)) {
                let n = p.row_count;
                let block = &mut batch.groups[p.group].delassus[p.tile * n * n..(p.tile + 1) * n * n];
                for i in 0..p.count {
                    for j in 0..r.count {
                        let (upper, lower) = ((p.row + i) * n + r.row + j, (r.row + j) * n + p.row + i);
                        block[upper] = R::select(shared, w[i][j], block[upper]);
                        block[lower] = R::select(shared, w[i][j], block[lower]);
                    }
                }
                continue;
            }
            for lane in 0..lanes {
                if !shared.get(lane) {
                    continue;
                }
                let (Some(p), Some(r)) = (places.of(lanes, a, lane), places.of(lanes, b, lane)) else { continue };
                let n = p.row_count;
                let block = &mut batch.groups[p.group].delassus[p.tile * n * n..(p.tile + 1) * n * n];
                if p.count + r.count == 6 {
                    // two contacts with friction, the common case: loops of known length
                    for i in 0..3 {
                        for j in 0..3 {
                            deal(block, n, p, r, i, j, w[i][j].get(lane));
                        }
                    }
                } else {
                    for i in 0..p.count {
                        for j in 0..r.count {
                            deal(block, n, p, r, i, j, w[i][j].get(lane));
                        }
                    }
                }
            }
        }
    }
}

/// Biases, friction and first guess of the contacts.
#[inline(always)]
fn contact_terms<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &Posed<R>, batch: &mut Batch<R>) {
    let (lanes, h) = (R::LANES, R::constant(plan.dt));
    let Posed { contacts, places, rows, .. } = posed;
    let mut pace = None;
    for slot in 0..contacts.gap.len() {
        let row = 3 * slot;
        let free = rows.free[row];
        let [friction, restitution] = surface(plan, tile.parameters, contacts, slot);
        let (mut gap, mut motion, mut less) = (contacts.gap[slot], rows.motion(row), R::zero());
        if contacts.patches.get(slot).is_some_and(|more| more.disc != 0) {
            (gap, motion, less) = striker(h, posed, slot);
        }
        let mut bias = [free, rows.free[row + 1], rows.free[row + 2]];
        let mut position_bias = [R::zero(); 3];
        if let Some(soft) = rows.soft.get(slot) {
            for i in 0..3 {
                bias[i] -= soft.target[i];
            }
            position_bias = bias;
        } else {
            let [target, position_target] = bounce(plan, posed, motion, gap, restitution, &mut pace);
            bias[0] = free - (target - less);
            position_bias[0] = rows.position_bias(row, position_target - less);
            for i in 1..3 {
                position_bias[i] = rows.position_bias(row + i, R::zero());
            }
        }
        let guess = if slot < contacts.patches.len() { [R::zero(); 3] } else { remembered(tile, contacts, rows, slot) };
        if let Some(group) = places.whole() {
            let group = &mut batch.groups[group];
            let present = R::Mask::from_bits(places.lanes_with(lanes, slot));
            group.friction[slot] = friction;
            for i in 0..3 {
                group.bias[row + i] = R::select(present, bias[i], R::zero());
                group.position_bias[row + i] = R::select(present, position_bias[i], R::zero());
                group.impulse[row + i] = R::select(present, guess[i], R::zero());
            }
            continue;
        }
        for lane in 0..lanes {
            let Some(first) = places.of(lanes, slot, lane) else { continue };
            let group = &mut batch.groups[first.group];
            let n = group.size.row_count();
            if first.count == 3 {
                let c = first.tile * group.size.contact_count + first.row / 3;
                group.friction[c].set(first.lane, friction.get(lane));
            } else {
                let s = 2 * (first.tile * group.size.scalar_count + first.row - 3 * group.size.contact_count);
                group.bounds[s + 1].set(first.lane, R::Scalar::from_f64(f64::INFINITY));
            }
            for i in 0..first.count {
                let entry = first.tile * n + first.row + i;
                group.bias[entry].set(first.lane, bias[i].get(lane));
                group.position_bias[entry].set(first.lane, position_bias[i].get(lane));
                group.impulse[entry].set(first.lane, guess[i].get(lane));
            }
        }
    }
}

/// Biases, bounds and first guess of the joint rows.
#[inline(always)]
fn joint_terms<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &Posed<R>, batch: &mut Batch<R>) {
    let h = R::constant(plan.dt);
    let Posed { limits, rows, .. } = posed;
    let contact_slots = posed.contacts.gap.len();
    let joint_start = contact_slots + posed.contacts.patch_rows();
    for slot in 0..limits.gap.len() {
        let row = 2 * contact_slots + joint_start + slot;
        let (target, position_target) = targets(&plan.settings, h, limits.gap[slot]);
        let mut bias = [rows.free[row] - target, rows.position_bias(row, position_target)];
        if let Some(soft) = rows.soft.get(joint_start + slot) {
            bias = [rows.free[row] - soft.target[0]; 2];
        }
        let (mut lower, mut upper, mut guess) = (R::zero(), R::zero(), R::zero());
        for part in limits.slots.parts_of(slot) {
            let lanes = R::Mask::from_bits(part.lanes);
            // |λ| ≤ τ_max Δt
            let bounds = match plan.joint_rows[part.origin as usize].friction_loss(&plan.model) {
                Some(most) => [-most * plan.dt, most * plan.dt],
                None => [0.0, f64::INFINITY],
            };
            lower = R::select(lanes, R::constant(bounds[0]), lower);
            upper = R::select(lanes, R::constant(bounds[1]), upper);
            guess = R::select(lanes, tile.memory.joint_row(part.origin as usize), guess);
        }
        scalar_row(&posed.places, batch, joint_start + slot, [lower, upper], bias, guess);
    }
}

/// Biases and first guess of the bilateral rows, which have no bounds.
#[inline(always)]
fn equality_terms<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &Posed<R>, batch: &mut Batch<R>) {
    let Posed { contacts, limits, rows, .. } = posed;
    let (contact_slots, limit_slots) = (contacts.gap.len(), limits.gap.len());
    let equality_start = contact_slots + contacts.patch_rows() + limit_slots;
    let infinity = R::constant(f64::INFINITY);
    for (i, &error) in posed.equalities.error.iter().enumerate() {
        let row = 2 * contact_slots + equality_start + i;
        let position_bias = rows.position_bias(row, equality_target(plan, error));
        let (mut bias, guess) = ([rows.free[row], position_bias], tile.memory.equality(i));
        if let Some(soft) = rows.soft.get(equality_start + i) {
            bias = [rows.free[row] - soft.target[0]; 2];
        }
        scalar_row(&posed.places, batch, equality_start + i, [-infinity, infinity], bias, guess);
    }
}
