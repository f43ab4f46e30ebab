//! What yielding makes of the rows of a tile, see [`super::softness`].

use super::plan::Plan;
use super::posed::{Posed, Rows, Soft, Tile};
use super::softness::SoftPlan;
use super::targets::{remembered, surface};
use crate::lane::{Mask, Pack, PackMask, Real};
use crate::model::ContactSoftness;

/// By how much R of a contact exceeds (1 − d)/d · Â.
struct Grip<R: Real> {
    /// Along its normal and along its surface, while friction holds.
    held: [R; 2],
    /// Along its normal while it slides.
    slid: R,
    /// Where it slides.
    slides: R::Mask,
    /// The way in which it slides, along both tangents; 0 where nothing was remembered.
    way: [R; 2],
}

/// Friction counts as spent from this share of its limit on.
const SPENT: f64 = 0.999;

impl<R: Real> Grip<R> {
    /// Of a contact with friction μ whose impulse in the last step was `before`: normal, two tangents.
    ///
    /// A pyramid has four edges n ± μ t with f ≥ 0 each, all of R = 2 μ²/ratio · (1 + μ²) · (1 − d)/d · Â. Where x = |λ_t|/(μ λ_n) ≤ ½ all four press, and yield like one
    /// contact with R/4 along its normal and R/(2 μ²) along its surface; from there on the edge behind is free, and it is R (1 − x)/2 and R (3 − 1/x)/(2 μ²).
    /// What slides rests on the edge in front alone. x is that of the last step, so that the rows stay rows.
    #[inline(always)]
    fn new(contact: ContactSoftness, friction: R, before: [R; 3]) -> Self {
        let [push, t1, t2] = before;
        let (half, slip) = (R::constant(0.5), R::constant(1.0 / contact.ratio));
        let (limit, pull) = (friction * push, t1.mul_add(t1, t2 * t2).sqrt());
        let holds = R::zero().lt(limit);
        let slides = holds.and((R::constant(SPENT) * limit).lt(pull));
        let inverse = R::select(slides, R::one() / pull, R::zero());
        let way = [-(t1 * inverse), -(t2 * inverse)];
        let square = friction * friction;
        if !contact.pyramidal {
            return Self { held: [R::one(), slip], slid: square.mul_add(slip, R::one()), slides, way };
        }
        let x = R::select(holds, (pull / limit).min(R::one()).max(half), half);
        let along = R::constant(2.0) * slip * (R::one() + square);
        let edge = square * along;
        let rough = R::zero().lt(friction);
        let held = [
            R::select(rough, half * (R::one() - x) * edge, R::one()),
            R::select(rough, (R::constant(1.5) - half / x) * along, slip),
        ];
        Self { held, slid: edge, slides, way }
    }
}

/// What MuJoCo's convex cones make of a contact that slides by w_s along s: its edge in front obeys w_n + R λ_n = μ w_s, so that it rises. With λ_t = −μ λ_n s that is, but
/// for what other contacts do, w_n + (R + μ² W_ss − μ W_sn) λ_n − μ b_s = 0: a normal row of another compliance and target.
#[inline(always)]
fn slide<R: Pack>(words: usize, slot: usize, friction: R, grip: &Grip<R>, slid: R, rows: &mut Rows<R>) {
    let (nv, [s1, s2]) = (rows.y.len() / rows.free.len(), grip.way);
    let [n, t1, t2] = [0, 1, 2].map(|i| (3 * slot + i) * nv);
    let (mut w_ss, mut w_sn) = (R::zero(), R::zero());
    for dof in rows.support(words, slot) {
        let y = s1.mul_add(rows.y[t1 + dof], s2 * rows.y[t2 + dof]);
        w_ss = y.mul_add(y, w_ss);
        w_sn = y.mul_add(rows.y[n + dof], w_sn);
    }
    let soft = &mut rows.soft[slot];
    let bias = [1, 2].map(|i| rows.free[3 * slot + i] - soft.target[i]);
    let lift = friction * s1.mul_add(bias[0], s2 * bias[1]).max(R::zero());
    let compliance = (friction * (friction * w_ss - w_sn) + slid).max(R::zero());
    soft.compliance[0] = R::select(grip.slides, compliance, soft.compliance[0]);
    soft.target[0] = R::select(grip.slides, soft.target[0] + lift, soft.target[0]);
}

/// What yielding makes of the rows of a tile.
#[inline(always)]
pub(super) fn soften<R: Pack>(plan: &Plan, soft: &SoftPlan, tile: &Tile<'_, R>, posed: &mut Posed<R>) {
    let step = (plan.dt, plan.integrator);
    let (contact_slots, limit_slots) = (posed.contacts.gap.len(), posed.limits.gap.len());
    let Posed { contacts, limits, equalities, rows, .. } = posed;
    let hard = Soft { target: [R::zero(); 3], compliance: [R::zero(); 3] };
    rows.soft.clear();
    rows.soft.resize(contact_slots + limit_slots + equalities.error.len(), hard);
    for slot in 0..contact_slots {
        let [friction, _] = surface(plan, tile.parameters, contacts, slot);
        let before = remembered(tile, contacts, rows, slot);
        let grip = Grip::new(soft.contact, friction, before);
        let mut slid = R::zero();
        for part in contacts.slots.parts_of(slot) {
            let lanes = R::Mask::from_bits(part.lanes);
            let (of, gap) = (&soft.pair[part.origin as usize], contacts.gap[slot]);
            let impedance = of.impedance(gap.abs());
            let compliance = of.compliance(impedance);
            slid = R::select(lanes, grip.slid * compliance, slid);
            for i in 0..3 {
                let (error, held) = if i == 0 { (Some(gap), grip.held[0]) } else { (None, grip.held[1]) };
                let target = of.target(step, rows.speeds(3 * slot + i), impedance, error);
                let row = &mut rows.soft[slot];
                row.target[i] = R::select(lanes, target, row.target[i]);
                row.compliance[i] = R::select(lanes, held * compliance, row.compliance[i]);
            }
        }
        if grip.slides.any() {
            slide(plan.rows.words, slot, friction, &grip, slid, rows);
        }
    }
    for part in &limits.slots.parts {
        let (slot, lanes) = (part.slot as usize, R::Mask::from_bits(part.lanes));
        let (of, gap) = (&soft.joint[part.origin as usize], limits.gap[slot]);
        let impedance = of.impedance(gap.abs());
        let slot = contact_slots + slot;
        let target = of.target(step, rows.speeds(2 * contact_slots + slot), impedance, Some(gap));
        let row = &mut rows.soft[slot];
        row.target[0] = R::select(lanes, target, row.target[0]);
        row.compliance[0] = R::select(lanes, of.compliance(impedance), row.compliance[0]);
    }
    for (i, of) in soft.equality.iter().enumerate() {
        let mut square = R::zero();
        for row in soft.together[i].clone() {
            // MuJoCo's rows of a weld are half an angle
            let scale = if row >= soft.together[i].start + 3 { 0.5 } else { 1.0 };
            let error = equalities.error[row] * R::constant(scale);
            square = error.mul_add(error, square);
        }
        let impedance = of.impedance(square.sqrt());
        let slot = contact_slots + limit_slots + i;
        let target = of.target(step, rows.speeds(2 * contact_slots + slot), impedance, Some(equalities.error[i]));
        let row = &mut rows.soft[slot];
        (row.target[0], row.compliance[0]) = (target, of.compliance(impedance));
    }
}
