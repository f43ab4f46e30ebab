//! What yielding makes of the rows of a tile, see [`super::softness`]: limits, equalities and round cones; pyramids are in [`super::pyramids`].

use super::places::slot_rows;
use super::plan::Plan;
use super::posed::{Posed, Rows, Soft, Tile};
use super::pyramids::{pyramids, soften_edges};
use super::softness::SoftPlan;
use super::targets::{remembered, surface};
use super::turns::turns;
use crate::kinematics::Kinematics;
use crate::lane::{Mask, Pack, PackMask, Real};
use crate::model::ContactSoftness;

/// A contact and the direction s along its surface in which it slides, or would.
struct Slip<R> {
    /// μ.
    friction: R,
    /// (1 − d)/d · Â, (m/s)/(N·s).
    softness: R,
    /// b of its rows along the normal, and along s, without impulses, m/s.
    bias: [R; 2],
    /// What the impulses of the last step, those of all rows, change of w of these rows, m/s.
    change: [R; 2],
    /// Its normal impulse in the last step, N·s.
    before: R,
    /// W_nn, W_ss, W_sn.
    delassus: [R; 3],
    /// Share x = λ_s/(μ λ_n) of its friction that the last step used; 0: there was no impulse.
    used: R,
}

/// How the rows of a contact yield, (m/s)/(N·s): along normal and surface. And how far a normal that slides is lifted, m/s.
struct Grip<R> {
    compliance: [R; 2],
    lift: R,
}

/// Friction counts as spent from this share of its limit on.
const SPENT: f64 = 0.999;

/// Other contacts may yield with one that slides so many times as much as it does by itself.
const TOGETHER: f64 = 4.0;

impl<R: Real> Slip<R> {
    /// MuJoCo's convex round cone as rows of Coulomb's law.
    ///
    /// While it holds it yields by R along its normal and by R/ratio along its surface. What slides rests on one line n − μ s of the cone, w_n + R' λ_n = μ w_s with R' = R + μ² R/ratio, so
    /// that it rises. With λ_s = −μ λ_n that is, but for what other contacts do, w_n + (R' + μ² W_ss − μ W_sn) λ_n = μ b_s: a normal of another compliance and target. What others do is known
    /// from the impulses of the last step, which change w_s by Δw_s: −μ Δw_s/λ_n takes the place of the contact's own part of the compliance, up to [`TOGETHER`] times that, so that impulses
    /// may grow and shrink together; what that leaves of μ Δw_s is in the target. x is that of the last step too, so that rows stay rows; without one, that of the contact by itself.
    #[inline(always)]
    fn grip(&self, contact: ContactSoftness) -> Grip<R> {
        let Self { friction, softness, bias: [bias, motion], change, before, delassus: [w_nn, w_ss, w_sn], used } =
            *self;
        // what is new meets what the others do
        let held = R::zero().lt(used);
        let bias = bias + R::select(held, R::zero(), change[0]);
        let motion = motion + R::select(held, R::zero(), change[1]);
        let (along, square) = (softness * R::constant(1.0 / contact.ratio), friction * friction);
        let edge = square.mul_add(along, softness);
        // both times the same positive number
        let (normal, tangent) = (-(bias * (w_ss + along)), motion * (w_nn + softness));
        let limit = friction * normal;
        let pushed = R::zero().lt(limit);
        let x = R::select(pushed, tangent / limit, R::one());
        let x = R::select(held, used, x).min(R::one());
        let slides = R::constant(SPENT).lt(x).and(R::zero().lt(friction));
        let own = friction * (friction * w_ss - w_sn);
        // −μ Δw_s/λ_n
        let most = R::constant(TOGETHER) * own.max(R::zero());
        let all = (-friction * change[1] / before).max(-edge).min(most);
        let all = R::select(held, all, own);
        let rest = R::select(held, all.mul_add(before, friction * change[1]), R::zero());
        let lift = friction.mul_add(motion, rest).max(R::zero());
        let slid = (all + edge).max(R::zero());
        let smooth = R::zero().lt(friction).not();
        Grip {
            compliance: [R::select(smooth.or(slides.not()), softness, slid), along],
            lift: R::select(slides, lift, R::zero()),
        }
    }
}

/// The contact in `slot` with the impulse `before` in the last step: normal, two tangents. It slides against the friction that it had, or else where it moves.
#[inline(always)]
fn slip<R: Pack>(words: usize, slot: usize, [friction, softness]: [R; 2], before: [R; 3], rows: &Rows<R>) -> Slip<R> {
    let (nv, soft) = (rows.y.len() / rows.free.len(), &rows.soft[slot]);
    let mut bias = [R::zero(); 3];
    for (i, bias) in bias.iter_mut().enumerate() {
        *bias = rows.free[3 * slot + i] - soft.target[i];
    }
    let held = R::zero().lt(friction * before[0]);
    let way = [R::select(held, -before[1], bias[1]), R::select(held, -before[2], bias[2])];
    let length = way[0].mul_add(way[0], way[1] * way[1]).sqrt();
    let inverse = R::select(R::zero().lt(length), R::one() / length, R::zero());
    let [s1, s2] = [way[0] * inverse, way[1] * inverse];
    let [n, t1, t2] = [3 * slot * nv, (3 * slot + 1) * nv, (3 * slot + 2) * nv];
    let (mut w_nn, mut w_ss, mut w_sn, mut change) = (R::zero(), R::zero(), R::zero(), [R::zero(); 2]);
    for dof in rows.support(words, slot) {
        let (y, y_s) = (rows.y[n + dof], s1.mul_add(rows.y[t1 + dof], s2 * rows.y[t2 + dof]));
        w_nn = y.mul_add(y, w_nn);
        w_ss = y_s.mul_add(y_s, w_ss);
        w_sn = y_s.mul_add(y, w_sn);
        change = [y.mul_add(rows.before[dof], change[0]), y_s.mul_add(rows.before[dof], change[1])];
    }
    Slip {
        friction,
        softness,
        bias: [bias[0], s1.mul_add(bias[1], s2 * bias[2])],
        change,
        before: before[0],
        delassus: [w_nn, w_ss, w_sn],
        used: R::select(held, length / (friction * before[0]), R::zero()),
    }
}

/// Y λ of the impulses that are remembered.
#[inline(always)]
fn last_change<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &mut Posed<R>) {
    let (nv, words) = (plan.model.nv(), plan.rows.words);
    let (contact_slots, limit_slots) = (posed.contacts.gap.len(), posed.limits.gap.len());
    let Posed { contacts, limits, equalities, rows, .. } = posed;
    let mut change = std::mem::take(&mut rows.before);
    change.clear();
    change.resize(nv, R::zero());
    rows.contact_before.clear();
    for slot in 0..contact_slots {
        let impulse = remembered(tile, contacts, rows, slot);
        rows.contact_before.push(impulse);
        let y = &rows.y[3 * slot * nv..][..3 * nv];
        for dof in rows.support(words, slot) {
            for i in 0..3 {
                change[dof] = y[i * nv + dof].mul_add(impulse[i], change[dof]);
            }
        }
    }
    for part in &limits.slots.parts {
        let (slot, lanes) = (contact_slots + part.slot as usize, R::Mask::from_bits(part.lanes));
        let impulse = R::select(lanes, tile.memory.joint_row(part.origin as usize), R::zero());
        add_row(words, rows, [slot, 2 * contact_slots + slot], impulse, &mut change);
    }
    for i in 0..equalities.error.len() {
        let slot = contact_slots + limit_slots + i;
        add_row(words, rows, [slot, 2 * contact_slots + slot], tile.memory.equality(i), &mut change);
    }
    rows.before = change;
}

/// z += Y λ of the one row of a slot.
#[inline(always)]
fn add_row<R: Pack>(words: usize, rows: &Rows<R>, [slot, row]: [usize; 2], impulse: R, z: &mut [R]) {
    let y = &rows.y[row * z.len()..][..z.len()];
    for dof in rows.support(words, slot) {
        z[dof] = y[dof].mul_add(impulse, z[dof]);
    }
}

/// Targets and compliance of the rows of a contact slot that is a round cone.
#[inline(always)]
fn soften_cone<R: Pack>(plan: &Plan, soft: &SoftPlan, slot: usize, tile: &Tile<'_, R>, posed: &mut Posed<R>) {
    let Posed { contacts, rows, .. } = posed;
    let mut softness = R::zero();
    for part in contacts.slots.parts_of(slot) {
        let lanes = R::Mask::from_bits(part.lanes);
        let (of, gap) = (&soft.pair[part.origin as usize], contacts.gap[slot]);
        let impedance = of.impedance(gap.abs());
        softness = R::select(lanes, of.compliance(impedance), softness);
        for i in 0..3 {
            let target = of.target(plan.dt, rows.previous[3 * slot + i], impedance, (i == 0).then_some(gap));
            let row = &mut rows.soft[slot];
            row.target[i] = R::select(lanes, target, row.target[i]);
        }
    }
    let [friction, _] = surface(plan, tile.parameters, contacts, slot);
    let before = rows.contact_before[slot];
    let grip = slip(plan.rows.words, slot, [friction, softness], before, rows).grip(soft.contact);
    let row = &mut rows.soft[slot];
    row.compliance = [grip.compliance[0], grip.compliance[1], grip.compliance[1]];
    row.target[0] += grip.lift;
}

/// What yielding makes of the rows of a tile.
#[inline(always)]
pub(super) fn soften<R: Pack>(
    plan: &Plan,
    soft: &SoftPlan,
    tile: &Tile<'_, R>,
    k: &Kinematics<R>,
    posed: &mut Posed<R>,
) {
    let dt = plan.dt;
    let (contact_slots, limit_slots) = (posed.contacts.gap.len(), posed.limits.gap.len());
    let hard = Soft { target: [R::zero(); 3], compliance: [R::zero(); 3] };
    if plan.pyramids {
        turns(plan, tile.v, k, posed);
        pyramids(plan, tile, posed);
    } else {
        last_change(plan, tile, posed);
    }
    let joint_start = posed.rows.joint_start(0);
    posed.rows.soft.clear();
    posed.rows.soft.resize(joint_start + limit_slots + posed.equalities.error.len(), hard);
    for slot in 0..contact_slots {
        if plan.pyramids {
            soften_edges(plan, soft, slot, posed);
        } else {
            soften_cone(plan, soft, slot, tile, posed);
        }
    }
    let Posed { limits, equalities, rows, .. } = posed;
    for part in &limits.slots.parts {
        let (slot, lanes) = (part.slot as usize, R::Mask::from_bits(part.lanes));
        let (of, gap) = (&soft.joint[part.origin as usize], limits.gap[slot]);
        let impedance = of.impedance(gap.abs());
        let slot = joint_start + slot;
        let (row, _) = slot_rows(rows.three_rows(), slot);
        let target = of.target(dt, rows.previous[row], impedance, Some(gap));
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
        let slot = joint_start + limit_slots + i;
        let (row, _) = slot_rows(rows.three_rows(), slot);
        let target = of.target(dt, rows.previous[row], impedance, Some(equalities.error[i]));
        let row = &mut rows.soft[slot];
        (row.target[0], row.compliance[0]) = (target, of.compliance(impedance));
    }
}
