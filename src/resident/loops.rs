//! How often the loops of the shaders turn: lavapipe ends those of an invocation after [`LOOP_BUDGET`] iterations in total, silently.

use super::MOST_CAPACITY;
use super::layout::{CONTACT_LEN, Layout, VERTEX};
use super::tile::{NEWTON_SUMS, newton_lanes};
use crate::gpu::LOOP_BUDGET;
use crate::lcp::patch::ellipsoid::SECULAR_STEPS;
use crate::solver::DISC_STEPS;
use crate::step::Plan;

/// Newton steps on a problem at most, where no others follow.
pub(super) const NEWTON_LIMIT: usize = 20;
/// Where Newton is at a loss: so many steps of it, then so many of alternating directions, which find the modes of most, then Newton again, and so on, so often at most.
pub(super) const NEWTON_LEG: usize = 8;
pub(super) const SPLIT_LEG: usize = 9;
const LEGS: usize = 1;
/// Degrees of freedom that an iteration over those of a patch is for.
pub(super) const AT_A_TIME: usize = 8;
/// Sweeps after each step of Newton: they find which rows act.
pub(super) const STEP_SWEEPS: usize = 5;

/// What a turn of Newton's loop is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Newton,
    /// The first step of alternating directions, and those after it.
    FirstSplit,
    Split,
}

impl Turn {
    /// The `turn`-th, from 0 on, of so many.
    pub fn of(turn: usize, turns: usize) -> Self {
        match (turn % (NEWTON_LEG + SPLIT_LEG)).checked_sub(NEWTON_LEG) {
            Some(0) if turns > NEWTON_LIMIT => Self::FirstSplit,
            Some(_) if turns > NEWTON_LIMIT => Self::Split,
            _ => Self::Newton,
        }
    }
    /// In a step of alternating directions 1 in the first, else 0.
    pub fn first_split(self) -> Option<f32> {
        match self {
            Self::Newton => None,
            Self::FirstSplit => Some(1.0),
            Self::Split => Some(0.0),
        }
    }
}

/// Iterations of all loops of `contacts` for so many pairs: each with its points and their numbers, which of patches are four a contact, and settled.
pub(super) fn loops_of_contacts(pairs: usize, patches: bool) -> usize {
    let (points, len) =
        if patches { (4 * (1 + 7) + 4 + CONTACT_LEN + 3, VERTEX + 3 * CONTACT_LEN) } else { (7, CONTACT_LEN) };
    5 * pairs + MOST_CAPACITY * (points + 1 + len)
}

/// Iterations of all loops of a sweep.
fn loops_of_a_sweep(l: &Layout) -> usize {
    // the cone of a disc, and the secular equation of the ellipsoid
    1 + l.capacity + l.scalar_rows() + l.acting_words() + l.most_patches() * (DISC_STEPS + SECULAR_STEPS + 1)
}

/// Iterations of all loops of one round of sweeps.
pub(super) fn loops_of_a_round(plan: &Plan, l: &Layout) -> usize {
    let check_every = plan.settings.check_every.max(1) as usize;
    // the sweeps, and the two passes of the certificate
    1 + check_every * loops_of_a_sweep(l) + 2 * (l.capacity + l.scalar_rows() + l.acting_words())
}

/// Rounds of sweeps at most: as many as the settings ask for, and loops may turn.
pub(super) fn rounds_of_sweeps(plan: &Plan, l: &Layout) -> usize {
    let left = LOOP_BUDGET.saturating_sub(4 * (l.capacity + l.scalar_rows() + l.acting_words()));
    let rounds = plan.settings.iterations.div_ceil(plan.settings.check_every.max(1)) as usize;
    rounds.min(left / loops_of_a_round(plan, l))
}

/// Iterations of all loops of an invocation of Newton in a world of so many contacts: of what it does once, of a step of Newton, and of one of alternating directions.
pub(super) fn loops_of_newton(l: &Layout, contacts: usize) -> [usize; 3] {
    let (nv, lanes, scalars, units) = (l.nv, newton_lanes(l.nv), l.scalar_rows(), contacts + l.scalar_rows());
    let of_contact = l.contact_rows();
    let tile_rows = l.newton_tile_rows().max(of_contact);
    let tiles = (of_contact * contacts + scalars).div_ceil(tile_rows);
    // the velocities of a patch
    let felt = if l.patches { nv / AT_A_TIME } else { 0 };
    let felt_step = 2 * felt + NEWTON_SUMS;
    // contacts and scalar rows of an invocation
    let own = units / lanes + 2 * tiles;
    let load = tiles * (3 + tile_rows * nv / lanes) + 2 * own;
    let reload = if tiles > 1 { load } else { 0 };
    // the scalar rows that act are found once
    let listing = 2 * scalars.div_ceil(lanes) * (1 + scalars) + 2 * scalars;
    // z, the residuals, and the largest of all invocations
    let certificate = 2 * (tiles + reload) + units + own * (1 + felt) + lanes;
    let add = tiles + units;
    let step = 3 + 2 * (tiles + reload + own * (1 + nv.max(felt_step))) + add + nv;
    let choice = 2 * NEWTON_SUMS + lanes + tiles + reload + (1 + of_contact) * own;
    // with z before them
    let swept = 2 * felt + DISC_STEPS + SECULAR_STEPS + 1;
    let sweep = 1 + tiles + reload + units + contacts.min(l.most_patches()) * swept;
    let sweeps = tiles + reload + units + STEP_SWEEPS * sweep;
    [2 + listing + load + certificate + own, 1 + step + choice + sweeps + certificate, 1 + step + certificate]
}

/// Iterations of all loops that so many turns take.
pub(super) fn loops_of_turns(l: &Layout, contacts: usize, turns: usize) -> usize {
    let [once, step, split] = loops_of_newton(l, contacts);
    let of_turn = |turn| if Turn::of(turn, turns) == Turn::Newton { step } else { split };
    once + (0..turns).map(of_turn).sum::<usize>()
}

/// Turns of Newton's loop in a world of so many contacts at most: with as many legs of alternating directions as loops allow; where that is none, steps of Newton only.
pub(super) fn newton_turns(l: &Layout, contacts: usize) -> usize {
    let fits = |turns: &usize| loops_of_turns(l, contacts, *turns) <= LOOP_BUDGET;
    // a patch has no alternating directions
    let most = if l.patches { 0 } else { LEGS };
    let legs = (1..=most).rev().map(|legs| NEWTON_LEG + legs * (SPLIT_LEG + NEWTON_LEG));
    legs.chain((0..=NEWTON_LIMIT).rev()).find(fits).unwrap_or_default()
}

/// How many worlds a workgroup of Newton may have to take on, one after another.
pub(super) fn worlds_of_a_workgroup(l: &Layout) -> usize {
    let of_world = |contacts| loops_of_turns(l, contacts, newton_turns(l, contacts));
    (LOOP_BUDGET / (0..=l.capacity).map(of_world).max().unwrap_or(LOOP_BUDGET)).max(1)
}
