//! Stage 7, `assemble`: per island one block, W = J M⁻¹ Jᵀ (+ compliance), b = J v* − target.
//!
//! Every row is written as w = u⁺ − target with u = J v, the target being the velocity that must at least be reached:
//!
//! | row | velocity target | position target |
//! |---|---|---|
//! | positive gap g | −g/Δt: it may just close | the same |
//! | gap g that only an impact of this step may close, where e > 0 | none, or as one if it touches, see [`Pace`] | −g/Δt |
//! | overlap g ≤ 0 | 0 | the push-out velocity min(β, 1) · (−g)/Δt, at most `push_speed` |
//! | impact that reaches the surface within Δt | the rebound, see [`rebound`] | the same |
//! | dry friction | 0 | 0 |
//! | equality with error e | 0 | −min(β, 1) · e/Δt, at most `push_speed` either way |
//!
//! The velocity problem gives v⁺, the position problem the velocity that moves q: what pushes an overlap out never stays in v.
//!
//! Impacts of one step are one problem, with Newton's law for each: bodies that touch when they are hit move on as one. Those with a gap between
//! them do not: what is thrown at a neighbour stops at its surface with the speed it got, and rebounds from that in the next step.

use super::patches::{disc_targets, patch_terms};
use super::places::{Home, Places};
use super::rows::{Rows, slot_rows};
use super::{Plan, Posed, Settings, Tile};
use crate::contact::Contacts;
use crate::lane::{Mask, Pack, PackMask, Real, Scalar};
use crate::limit::JointRow;
use crate::model::PairFriction;
use crate::parameters::TileParameters;
use crate::solver::{Batch, Group, STRIP};
use crate::spatial::Vec3;

/// Velocity u⁺ > 0 after an impact with coefficient e, for a contact at gap g that moves with u < 0 under the free acceleration a.
///
/// Newton's law u⁺ = −e u, made exact for the step: semi-implicit Euler under constant a conserves E = u²/2 − a g + (a Δt/2) u, and the rebound
/// leaves e² E at the position g + Δt u⁺:
///
/// u⁺ = a Δt/2 + √((a Δt/2)² + 2 a g + 2 e² E)
///
/// It is −e u exactly when a = 0 or e = 1.
#[inline(always)]
pub fn rebound<R: Real>(e: R, gap: R, u: R, a: R, dt: R) -> R {
    let half = R::constant(0.5) * a * dt;
    let energy = (R::constant(0.5) * u).mul_add(u, half * u) - a * gap;
    let two = R::constant(2.0);
    let square = half.mul_add(half, two.mul_add(a * gap, two * e * e * energy));
    half + square.max(R::zero()).sqrt()
}

/// The speeds of every world that tell what its impacts may close from what touches.
///
/// An impact may throw a body at a neighbour across a gap that the free motion leaves open. With −g/Δt as its target that contact would brake the
/// throw without a bounce. So where e > 0 the velocity problem leaves it out: its target is −(g/Δt + [`THROW`] times the fastest motion of the
/// world), beyond what throws reach.
///
/// It touches, and is posed, while neither its gap (over Δt) nor its opening speed exceeds what does not count as an impact: the restitution
/// threshold, and [`QUIET`] times what forces add within a step. So what rests does not rattle. What touches moves on as one when it is hit: it approaches
/// by no more than under the free motion and what forces add, and never beyond the surface.
#[derive(Clone, Copy)]
pub(crate) struct Pace<R> {
    /// Largest |u| of any row, before the step or under the free motion, m/s (rad/s).
    pub fastest: R,
    /// Largest velocity |u* − u| that forces add to a contact along its normal within the step, m/s.
    pub kick: R,
}

/// How many times faster than the fastest motion of its world a throw may be and keep its speed.
const THROW: f64 = 4.0;

/// A body that falls onto a supported one passes its surface by up to what forces add to its speed in the step, and is stopped there: a gain of height. Bounces
/// with e up to 0.95 lose more than that if they are this many times faster; slower ones count as touching.
const QUIET: f64 = 4.0;

impl<R: Pack> Pace<R> {
    /// Of the rows of a tile.
    #[inline(always)]
    fn of(places: &Places, rows: &Rows<R>) -> Self {
        let mut pace = Self { fastest: R::zero(), kick: R::zero() };
        for slot in 0..places.slot_count() {
            let present = R::Mask::from_bits(places.lanes_with(R::LANES, slot));
            let (first, count) = slot_rows(rows.frame.len(), slot);
            for row in first..first + count {
                let speed = rows.previous[row].abs().max(rows.free[row].abs());
                pace.fastest = R::select(present, pace.fastest.max(speed), pace.fastest);
            }
            if count == 3 {
                let kick = (rows.free[first] - rows.previous[first]).abs();
                pace.kick = R::select(present, pace.kick.max(kick), pace.kick);
            }
        }
        pace
    }
}

impl<R: Real> Pace<R> {
    /// Velocity target of a contact that bounces and that the free motion u* leaves open; `closing`: −g/Δt, or 0 for an overlap.
    #[inline(always)]
    pub fn target(&self, threshold: R, dt: R, gap: R, [u, free]: [R; 2], closing: R) -> R {
        let quiet = threshold.max(R::constant(QUIET) * self.kick);
        let touches = (dt * quiet).lt(gap).or(quiet.lt(u)).not();
        // as one: max(−g/Δt, min(u*, 0) − kick); left out: −(g/Δt + 4 max |u|)
        let as_one = closing.max(free.min(R::zero()) - self.kick);
        R::select(touches, as_one, R::constant(-THROW).mul_add(self.fastest, closing))
    }
}

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

/// Yᵀ Y of two slots: up to 3 × 3 entries of W.
#[inline(always)]
fn product<R: Pack>(nv: usize, words: usize, rows: &Rows<R>, a: usize, b: usize) -> [[R; 3]; 3] {
    let contact_slots = rows.frame.len();
    let ((row_a, count_a), (row_b, count_b)) = (slot_rows(contact_slots, a), slot_rows(contact_slots, b));
    let mut dofs = rows.support(words, a);
    dofs.other = Some(&rows.support[b * words..(b + 1) * words]);
    let mut w = [[R::zero(); 3]; 3];
    if count_a + count_b == 6 {
        // two contacts with friction, the common case: loops of known length
        for dof in dofs {
            for i in 0..3 {
                let y = rows.y[(row_a + i) * nv + dof];
                for j in 0..3 {
                    w[i][j] = y.mul_add(rows.y[(row_b + j) * nv + dof], w[i][j]);
                }
            }
        }
        return w;
    }
    for dof in dofs {
        for i in 0..count_a {
            let y = rows.y[(row_a + i) * nv + dof];
            for j in 0..count_b {
                w[i][j] = y.mul_add(rows.y[(row_b + j) * nv + dof], w[i][j]);
            }
        }
    }
    w
}

/// W = Yᵀ Y of a tile whose worlds are blocks, slot pair by slot pair. A lane that lacks a slot has no Y there, and so no W.
#[inline(always)]
fn whole_delassus<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &Posed<R>, group: &mut Group<R>) {
    let Posed { rows, places, .. } = posed;
    let (nv, words, n) = (plan.model.nv(), plan.rows.words, group.size.row_count());
    let contact_slots = group.size.contact_count;
    let compliance = tile.parameters.compliance[0];
    for a in 0..rows.support.len() / words {
        let (row_a, count_a) = slot_rows(contact_slots, a);
        for b in 0..=a {
            let (row_b, count_b) = slot_rows(contact_slots, b);
            let mut w = product(nv, words, rows, a, b);
            if a == b {
                let yields = posed.contacts.yielding(a) & places.lanes_with(R::LANES, a);
                w[0][0] += R::select(R::Mask::from_bits(yields), compliance, R::zero());
            }
            for i in 0..count_a {
                for j in 0..count_b {
                    group.delassus[(row_a + i) * n + row_b + j] = w[i][j];
                    group.delassus[(row_b + j) * n + row_a + i] = w[i][j];
                }
            }
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

/// The rows of Y, dealt out to the factored blocks.
#[inline(always)]
fn factors<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &Posed<R>, batch: &mut Batch<R>) {
    let (nv, plan) = (plan.model.nv(), &plan.rows);
    let Posed { contacts, limits, islands, places, rows, .. } = posed;
    let (lanes, contact_slots) = (R::LANES, contacts.gap.len());
    let equality_start = contact_slots + limits.gap.len();
    for slot in 0..rows.support.len() / plan.words {
        let (first, _) = slot_rows(contact_slots, slot);
        for lane in 0..lanes {
            let Some(p) = places.of(lanes, slot, lane) else { continue };
            let group = &mut batch.groups[p.group];
            if !group.factored {
                continue;
            }
            let dofs = if slot < contact_slots {
                plan.of_contact(islands.pair[slot * lanes + lane] as usize)
            } else if slot < equality_start {
                plan.of_joint_row(islands.joint_row[(slot - contact_slots) * lanes + lane] as usize)
            } else {
                plan.of_equality(slot - equality_start)
            };
            let zero = R::Scalar::from_f64(0.0);
            let compliance = if slot < contact_slots { tile.parameters.compliance[0].get(lane) } else { zero };
            let factor = &mut group.factors[p.tile * lanes + p.lane];
            let unit =
                if p.count == 3 { p.row / 3 } else { factor.size.contact_count + p.row - 3 * group.size.contact_count };
            factor.start(unit, compliance);
            let (mut strip, mut touched, mut entries) = (0, 0, [[R::Scalar::from_f64(0.0); STRIP]; 3]);
            for dof in dofs {
                let column = plan.column[dof];
                if column / STRIP != strip && touched != 0 {
                    factor.put(unit, strip, touched, &entries);
                    (touched, entries) = (0, [[R::Scalar::from_f64(0.0); STRIP]; 3]);
                }
                strip = column / STRIP;
                touched |= 1 << (column % STRIP);
                for i in 0..p.count {
                    entries[i][column % STRIP] = rows.y[(first + i) * nv + dof].get(lane);
                }
            }
            if touched != 0 {
                factor.put(unit, strip, touched, &entries);
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
    let compliance = tile.parameters.compliance[0];
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
                w[0][0] += R::select(R::Mask::from_bits(posed.contacts.yielding(a)), compliance, R::zero());
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

/// Writes one entry of W and its mirror image.
#[inline(always)]
fn deal<R: Pack>(block: &mut [R], n: usize, p: Home, r: Home, i: usize, j: usize, x: R::Scalar) {
    block[(p.row + i) * n + r.row + j].set(p.lane, x);
    block[(r.row + j) * n + p.row + i].set(p.lane, x);
}

/// Friction μ and restitution e of the contacts in `slot`; 0 where a world has none, and μ = 0 where the pair has no friction.
#[inline(always)]
pub(super) fn surface<R: Pack>(
    plan: &Plan,
    parameters: TileParameters<'_, R>,
    contacts: &Contacts<R>,
    slot: usize,
) -> [R; 2] {
    let (mut friction, mut restitution) = (R::zero(), R::zero());
    for part in contacts.slots.parts_of(slot) {
        let (pair, lanes) = (&plan.model.pairs[part.origin as usize], R::Mask::from_bits(part.lanes));
        let of = parameters.friction;
        let mu = match pair.friction {
            _ if pair.condim == 1 => R::zero(),
            PairFriction::Larger => of[pair.geom_a].max(of[pair.geom_b]),
            PairFriction::First => of[pair.geom_a],
            PairFriction::Second => of[pair.geom_b],
            PairFriction::Fixed(mu) => R::constant(mu),
        };
        friction = R::select(lanes, mu, friction);
        let e = pair.restitution.map_or(parameters.restitution[0], R::constant);
        restitution = R::select(lanes, e, restitution);
    }
    [friction, restitution]
}

/// How a contact approaches.
pub(crate) struct Approach<R: Real> {
    /// The free motion reaches the surface within Δt.
    pub reaches: R::Mask,
    /// An impact: fast, not in mid-air, and it reaches the surface within Δt; what is deeper than it moved in a step did not come from there.
    strikes: R::Mask,
    /// Velocity after the rebound of an impact, m/s.
    rebound: R,
    /// Velocity that moves q then, m/s.
    position_rebound: R,
}

impl<R: Pack> Approach<R> {
    /// Of the contact whose normal is `row`.
    #[inline(always)]
    fn of(rows: &Rows<R>, row: usize, gap: R, restitution: R, threshold: R, dt: R) -> Self {
        let velocities = [rows.previous[row], rows.free[row], rows.mean(row)];
        Self::new(velocities, rows.centered(), gap, restitution, threshold, dt)
    }
}

impl<R: Real> Approach<R> {
    /// Of a contact whose normal velocity is u before the step, u* without impulses, ū where it moves q; `centered`: ū is a mean, of Runge-Kutta.
    #[inline(always)]
    pub fn new([u, free, mean]: [R; 3], centered: bool, gap: R, restitution: R, threshold: R, dt: R) -> Self {
        let fast = u.lt(-threshold);
        let reaches = dt.mul_add(mean, gap).lt(R::zero());
        let at_surface = (dt * u).lt(gap);
        let acceleration = (free - u) / dt;
        // Under a constant acceleration, velocities of Runge-Kutta are those of Euler half a step later.
        let later = if centered { R::constant(0.5) * acceleration * dt } else { R::zero() };
        let position_rebound = rebound(restitution, gap, u - later, acceleration, dt);
        let strikes = fast.and(reaches).and(at_surface);
        Self { reaches, strikes, rebound: position_rebound + later, position_rebound }
    }

    /// Velocity and position target of the contact, where it is posed; `closing`: those without bounce.
    #[inline(always)]
    pub fn targets(&self, elastic: R::Mask, closing: (R, R)) -> (R, R) {
        let bounces = self.strikes.and(elastic);
        (
            R::select(bounces, closing.0.max(self.rebound), closing.0),
            R::select(bounces, closing.1.max(self.position_rebound), closing.1),
        )
    }
}

/// The contacts of `slot` that strike, and those of them that bounce: one bit a lane. What has reached its target strikes no more, whatever forces do.
#[inline(always)]
pub fn strikes<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &Posed<R>, slot: usize) -> [u32; 2] {
    let (settings, dt) = (&plan.settings, R::constant(plan.dt));
    let Posed { contacts, rows, .. } = posed;
    let threshold = R::constant(settings.restitution_threshold);
    let (gap, free) = (contacts.gap[slot], rows.free[3 * slot]);
    let [_, restitution] = surface(plan, tile.parameters, contacts, slot);
    let approach = Approach::of(rows, 3 * slot, gap, restitution, threshold, dt);
    let elastic = R::zero().lt(restitution);
    let (closing, _) = targets(settings, dt, gap);
    let target = R::select(elastic, closing.max(approach.rebound), closing);
    let strikes = approach.strikes.and(threshold.lt(target - free));
    let strikes = strikes.bits() & contacts.slots.present[slot];
    [strikes, strikes & elastic.bits()]
}

/// Velocity and position target of rows at `gap` without bounce.
#[inline(always)]
pub(crate) fn targets<R: Real>(settings: &Settings, dt: R, gap: R) -> (R, R) {
    // g > 0: −g/Δt. g ≤ 0: 0, and for the position the push-out, never more than the overlap.
    let inverse = R::one() / dt;
    let closing = -(gap.max(R::zero()) * inverse);
    let overlap = (-gap).max(R::zero());
    let share = R::constant(settings.stabilization.clamp(0.0, 1.0));
    let push = (share * overlap * inverse).min(R::constant(settings.push_speed));
    (closing, closing + push)
}

/// Velocity and position target of the normal at `row` of a contact at `gap`, from those without bounce. `pace`: found when it is needed.
#[inline(always)]
pub(super) fn bounce<R: Pack>(
    plan: &Plan,
    posed: &Posed<R>,
    row: usize,
    gap: R,
    restitution: R,
    (target, position_target): (R, R),
    pace: &mut Option<Pace<R>>,
) -> [R; 2] {
    let (rows, h) = (&posed.rows, R::constant(plan.dt));
    let threshold = R::constant(plan.settings.restitution_threshold);
    let approach = Approach::of(rows, row, gap, restitution, threshold, h);
    let elastic = R::zero().lt(restitution);
    let (mut target, position_target) = approach.targets(elastic, (target, position_target));
    if elastic.any() {
        let now = match *pace {
            Some(pace) => pace,
            None => Pace::of(&posed.places, rows),
        };
        *pace = Some(now);
        let left_open = elastic.and(approach.reaches.not());
        let speeds = [rows.previous[row], rows.free[row]];
        target = R::select(left_open, now.target(threshold, h, gap, speeds, target), target);
    }
    [target, position_target]
}

/// Biases, friction and first guess of the contacts.
#[inline(always)]
fn contact_terms<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &Posed<R>, batch: &mut Batch<R>) {
    let (settings, lanes, h) = (&plan.settings, R::LANES, R::constant(plan.dt));
    let Posed { contacts, places, rows, .. } = posed;
    let mut pace = None;
    for slot in 0..contacts.gap.len() {
        let row = 3 * slot;
        let free = rows.free[row];
        let [friction, restitution] = surface(plan, tile.parameters, contacts, slot);
        let (mut gap, mut goal) = (contacts.gap[slot], targets(settings, h, contacts.gap[slot]));
        if let Some(more) = contacts.patches.get(slot).filter(|more| more.disc != 0) {
            (gap, goal) = disc_targets(settings, h, (gap, goal), more);
        }
        let [target, position_target] = bounce(plan, posed, row, gap, restitution, goal, &mut pace);
        let bias = [free - target, rows.free[row + 1], rows.free[row + 2]];
        let mut position_bias = [rows.position_bias(row, position_target), R::zero(), R::zero()];
        for i in 1..3 {
            position_bias[i] = rows.position_bias(row + i, R::zero());
        }
        let mut remembered = Vec3::zero();
        for part in contacts.slots.parts_of(slot).filter(|_| slot >= contacts.patches.len()) {
            remembered = remembered + tile.memory.contact(part, contacts.feature[slot]);
        }
        let mut guess = [R::zero(); 3];
        for i in 0..3 {
            guess[i] = rows.frame[slot][i].dot(remembered);
        }
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
        let bias = [rows.free[row] - target, rows.position_bias(row, position_target)];
        let (mut lower, mut upper, mut guess) = (R::zero(), R::zero(), R::zero());
        for part in limits.slots.parts_of(slot) {
            let lanes = R::Mask::from_bits(part.lanes);
            let bounds = match plan.joint_rows[part.origin as usize] {
                JointRow::DryFriction(dof) => {
                    // |λ| ≤ τ_max Δt
                    let bound = plan.model.joints[plan.model.dofs[dof].joint].friction_loss * plan.dt;
                    [-bound, bound]
                }
                _ => [0.0, f64::INFINITY],
            };
            lower = R::select(lanes, R::constant(bounds[0]), lower);
            upper = R::select(lanes, R::constant(bounds[1]), upper);
            guess += tile.memory.joint_row(part);
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
        let (bias, guess) = ([rows.free[row], position_bias], tile.memory.equality(i));
        scalar_row(&posed.places, batch, equality_start + i, [-infinity, infinity], bias, guess);
    }
}

/// Position target of an equality: the velocity that takes its error e out.
#[inline(always)]
pub(crate) fn equality_target<R: Real>(plan: &Plan, error: R) -> R {
    // −β e/Δt, at most the push speed either way
    let share = R::constant(plan.settings.stabilization.clamp(0.0, 1.0) / plan.dt);
    let push = R::constant(plan.settings.push_speed);
    -(share * error).max(-push).min(push)
}

/// Writes bounds, velocity and position bias, and first guess of a scalar row, for the worlds that have it.
#[inline(always)]
pub(super) fn scalar_row<R: Pack>(
    places: &Places,
    batch: &mut Batch<R>,
    slot: usize,
    bounds: [R; 2],
    [bias, position_bias]: [R; 2],
    guess: R,
) {
    if let Some(group) = places.whole() {
        let group = &mut batch.groups[group];
        let present = R::Mask::from_bits(places.lanes_with(R::LANES, slot));
        let (row, scalar) = (2 * group.size.contact_count + slot, 2 * (slot - group.size.contact_count));
        for (entry, x) in [
            (&mut group.bounds[scalar], bounds[0]),
            (&mut group.bias[row], bias),
            (&mut group.position_bias[row], position_bias),
            (&mut group.impulse[row], guess),
        ] {
            *entry = R::select(present, x, R::zero());
        }
        group.bounds[scalar + 1] = R::select(present, bounds[1], R::zero());
        return;
    }
    for lane in 0..R::LANES {
        let Some(p) = places.of(R::LANES, slot, lane) else { continue };
        let group = &mut batch.groups[p.group];
        let row = p.tile * group.size.row_count() + p.row;
        let scalar = 2 * (p.tile * group.size.scalar_count + p.row - 3 * group.size.contact_count);
        for (i, bound) in bounds.into_iter().enumerate() {
            group.bounds[scalar + i].set(p.lane, bound.get(lane));
        }
        group.bias[row].set(p.lane, bias.get(lane));
        group.position_bias[row].set(p.lane, position_bias.get(lane));
        group.impulse[row].set(p.lane, guess.get(lane));
    }
}
