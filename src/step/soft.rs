//! What yielding makes of the rows of a tile, see [`super::softness`].

use super::plan::Plan;
use super::posed::{Posed, Soft, Tile};
use super::softness::SoftPlan;
use super::targets::surface;
use crate::lane::{Pack, PackMask, Real};
use crate::model::ContactSoftness;

/// By how much R of a contact with friction μ exceeds (1 − d)/d · Â along its normal and along its surface.
///
/// A pyramid has four edges n ± μ t with f ≥ 0 each, all of R = 2 μ²/ratio · (1 + μ²) · (1 − d)/d · Â. While all four press, they yield like one contact with
/// R/4 along its normal, and R/(2 μ²) along its surface.
#[inline(always)]
fn share_of_contact<R: Real>(contact: ContactSoftness, friction: R) -> [R; 2] {
    let slip = R::constant(1.0 / contact.ratio);
    if !contact.pyramidal {
        return [R::one(), slip];
    }
    let square = friction * friction;
    let edge = slip * (R::one() + square);
    let pressed = R::constant(0.5) * square * edge;
    let rough = R::zero().lt(friction);
    [R::select(rough, pressed, R::one()), R::select(rough, edge, slip)]
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
    for part in &contacts.slots.parts {
        let (slot, lanes) = (part.slot as usize, R::Mask::from_bits(part.lanes));
        let (of, gap) = (&soft.pair[part.origin as usize], contacts.gap[slot]);
        let [friction, _] = surface(plan, tile.parameters, contacts, slot);
        let [pressed, along] = share_of_contact(soft.contact, friction);
        let impedance = of.impedance(gap.abs());
        let compliance = of.compliance(impedance);
        for i in 0..3 {
            let (error, share) = if i == 0 { (Some(gap), pressed) } else { (None, along) };
            let target = of.target(step, rows.speeds(3 * slot + i), impedance, error);
            let row = &mut rows.soft[slot];
            row.target[i] = R::select(lanes, target, row.target[i]);
            row.compliance[i] = R::select(lanes, share * compliance, row.compliance[i]);
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
