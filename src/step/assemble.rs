//! Stage 7, `assemble`: per island one block, W = J M⁻¹ Jᵀ (+ compliance), b = J v* − target.
//!
//! Where constraints are soft ([`super::soft`]), target and compliance of every row are those of its spring, and the position problem is the velocity problem.

use super::delassus::{Dealt, deal_rows, whole_delassus};
use super::patches::{patch_terms, striker};
use super::places::{scalar_row, slot_rows};
use super::plan::Plan;
use super::posed::{Posed, Tile};
use super::pyramids::edge_terms;
use super::targets::{bounce, equality_target, remembered, surface, targets};
use crate::lane::{Pack, PackMask, Scalar};
use crate::solver::Batch;

/// Writes the blocks of a tile into the batch: W, or where rows are dealt out what it is made of; both biases, friction, bounds and the first guess.
#[inline(always)]
pub(super) fn assemble<R: Pack>(
    plan: &Plan,
    tile: &Tile<'_, R>,
    posed: &Posed<R>,
    batch: &mut Batch<R>,
    dealt: &mut [Dealt<R>],
) {
    match posed.places.whole() {
        Some(group) => whole_delassus(plan, tile, posed, &mut batch.groups[group]),
        None => deal_rows(plan, tile, posed, batch, dealt),
    }
    if plan.pyramids {
        edge_terms(tile, posed, batch);
    } else {
        contact_terms(plan, tile, posed, batch);
    }
    patch_terms(plan, tile, posed, batch);
    joint_terms(plan, tile, posed, batch);
    equality_terms(plan, tile, posed, batch);
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
    let joint_start = rows.joint_start(posed.contacts.patch_rows());
    for slot in 0..limits.gap.len() {
        let (row, _) = slot_rows(rows.three_rows(), joint_start + slot);
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
    let equality_start = rows.joint_start(contacts.patch_rows()) + limits.gap.len();
    let infinity = R::constant(f64::INFINITY);
    for (i, &error) in posed.equalities.error.iter().enumerate() {
        let (row, _) = slot_rows(rows.three_rows(), equality_start + i);
        let position_bias = rows.position_bias(row, equality_target(plan, error));
        let (mut bias, guess) = ([rows.free[row], position_bias], tile.memory.equality(i));
        if let Some(soft) = rows.soft.get(equality_start + i) {
            bias = [rows.free[row] - soft.target[0]; 2];
        }
        scalar_row(&posed.places, batch, equality_start + i, [-infinity, infinity], bias, guess);
    }
}
