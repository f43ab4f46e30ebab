//! Targets: the velocity that every row must at least reach.
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

use super::places::{Places, slot_rows};
use super::plan::Plan;
use super::posed::{Posed, Rows, Tile};
use super::settings::Settings;
use crate::contact::Contacts;
use crate::lane::{Mask, Pack, PackMask, Real};
use crate::model::PairFriction;
use crate::parameters::TileParameters;
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
    pub(super) fn of(places: &Places, rows: &Rows<R>) -> Self {
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

/// Impulse of the contact in `slot` in the last step, along its normal and tangents, N·s; 0 where a world has no memory of it.
#[inline(always)]
pub(super) fn remembered<R: Pack>(tile: &Tile<'_, R>, contacts: &Contacts<R>, rows: &Rows<R>, slot: usize) -> [R; 3] {
    let frame = rows.frame[slot];
    let mut impulse = Vec3::zero();
    for part in contacts.slots.parts_of(slot) {
        impulse = impulse + tile.memory.contact(part, contacts.feature[slot], frame[0]);
    }
    [frame[0].dot(impulse), frame[1].dot(impulse), frame[2].dot(impulse)]
}

/// Impulse of the torque of the contact in `slot` in the last step, about its normal and tangents, N·m·s; 0 where a world has no memory of it.
#[inline(always)]
pub(super) fn remembered_torque<R: Pack>(
    tile: &Tile<'_, R>,
    contacts: &Contacts<R>,
    rows: &Rows<R>,
    slot: usize,
) -> [R; 3] {
    let frame = rows.frame[slot];
    let mut torque = Vec3::zero();
    for part in contacts.slots.parts_of(slot) {
        torque = torque + tile.memory.torque(part, contacts.feature[slot]);
    }
    [frame[0].dot(torque), frame[1].dot(torque), frame[2].dot(torque)]
}

/// How a contact approaches.
pub(crate) struct Approach<R: Real> {
    /// The free motion reaches the surface within Δt.
    pub reaches: R::Mask,
    /// An impact: fast, not in mid-air, and it reaches the surface within Δt; what is deeper than it moved in a step did not come from there.
    pub strikes: R::Mask,
    /// Velocity after the rebound of an impact, m/s.
    pub rebound: R,
    /// Velocity that moves q then, m/s.
    position_rebound: R,
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

/// Velocity and position target of a point at `gap` with this motion (u, u*, ū) along its normal. `pace`: found when it is needed.
#[inline(always)]
pub(super) fn bounce<R: Pack>(
    plan: &Plan,
    posed: &Posed<R>,
    motion: [R; 3],
    gap: R,
    restitution: R,
    pace: &mut Option<Pace<R>>,
) -> [R; 2] {
    let (rows, h) = (&posed.rows, R::constant(plan.dt));
    let threshold = R::constant(plan.settings.restitution_threshold);
    let approach = Approach::new(motion, rows.centered(), gap, restitution, threshold, h);
    let elastic = R::zero().lt(restitution);
    let (mut target, position_target) = approach.targets(elastic, targets(&plan.settings, h, gap));
    if elastic.any() {
        let now = match *pace {
            Some(pace) => pace,
            None => Pace::of(&posed.places, rows),
        };
        *pace = Some(now);
        let left_open = elastic.and(approach.reaches.not());
        target = R::select(left_open, now.target(threshold, h, gap, [motion[0], motion[1]], target), target);
    }
    [target, position_target]
}

/// Position target of an equality: the velocity that takes its error e out.
#[inline(always)]
pub(crate) fn equality_target<R: Real>(plan: &Plan, error: R) -> R {
    // −β e/Δt, at most the push speed either way
    let share = R::constant(plan.settings.stabilization.clamp(0.0, 1.0) / plan.dt);
    let push = R::constant(plan.settings.push_speed);
    -(share * error).max(-push).min(push)
}
