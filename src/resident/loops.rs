//! How often the loops of the shaders turn: lavapipe ends those of an invocation after [`LOOP_BUDGET`] iterations in total, silently.

use super::MOST_CAPACITY;
use super::layout::{CONTACT_LEN, Layout, VERTEX};
use super::tile::newton_lanes;
use crate::gpu::LOOP_BUDGET;
use crate::lcp::patch::ellipsoid::SECULAR_STEPS;
use crate::solver::DISC_STEPS;
use crate::step::Plan;

/// Turns of Newton at most: steps, and sweeps behind them, up to three times a step. More leave fewer worlds to the CPU, and all others wait for those.
pub(super) const NEWTON_TURNS: usize = 64;
/// Degrees of freedom that an iteration over those of a patch is for.
pub(super) const AT_A_TIME: usize = 8;
/// Sweeps after a step of Newton: they find which rows act.
pub(super) const STEP_SWEEPS: usize = 5;
/// As many more for every step that failed, of so many at most.
pub(super) const MOST_FAILED: usize = 3;
/// Sweeps of so many turns at most, but for those of the last one.
pub(super) fn most_sweeps(turns: usize) -> usize {
    STEP_SWEEPS * turns
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

/// Iterations of all loops of the sweeps of a world of few rows.
#[cfg(test)]
pub(super) fn loops_of_small_sweeps(plan: &Plan, l: &Layout) -> usize {
    let check_every = plan.settings.check_every.max(1) as usize;
    4 * l.capacity
        + 2 * l.scalar_rows()
        + l.nv
        + (1 + super::small::rounds_of_small_sweeps(plan).into_iter().max().unwrap_or_default()) * (1 + check_every)
}

/// Rounds of sweeps at most: as many as the settings ask for, and loops may turn.
pub(super) fn rounds_of_sweeps(plan: &Plan, l: &Layout) -> usize {
    let left = LOOP_BUDGET.saturating_sub(4 * (l.capacity + l.scalar_rows() + l.acting_words()));
    let rounds = plan.settings.iterations.div_ceil(plan.settings.check_every.max(1)) as usize;
    rounds.min(left / loops_of_a_round(plan, l))
}

/// Iterations of all loops of an invocation of Newton in a world of so many rows: of what it does once, of a turn that is a step, of any other without its sweeps, and of a sweep.
fn loops_of_newton(l: &Layout, rows: usize) -> [usize; 4] {
    let (nv, lanes, scalars, of_contact) = (l.nv, newton_lanes(l.nv), l.scalar_rows(), l.contact_rows());
    let contacts = rows.div_ceil(of_contact).min(l.capacity);
    // contacts and scalar rows: most where all scalar rows act
    let units = rows.min(scalars + rows.saturating_sub(scalars).div_ceil(of_contact));
    let tile_rows = l.newton_tile_rows().max(of_contact);
    let tiles = rows.div_ceil(tile_rows);
    // the velocities of a patch
    let felt = if l.patches { nv / AT_A_TIME } else { 0 };
    // those of an invocation
    let own = units / lanes + 2 * tiles;
    let load = tiles * (3 + tile_rows * nv / lanes) + 2 * own;
    let reload = if tiles > 1 { load } else { 0 };
    // the scalar rows that act are found once
    let listing = 2 * scalars.div_ceil(lanes) * (1 + scalars) + 2 * scalars;
    // z, the residuals, and the largest of all invocations
    let certificate = 2 * (tiles + reload) + units + own * (1 + felt) + lanes;
    // velocities for the laws, which several tiles ask for twice, and their changes
    let velocities = if tiles > 1 { 3 } else { 2 };
    let step = 3 + 2 * (tiles + reload + own) + velocities * own * nv + tiles + units + nv;
    let back = tiles + reload + (1 + of_contact) * own;
    let swept = 2 * felt + DISC_STEPS + SECULAR_STEPS + 1;
    let sweep = 1 + tiles + reload + units + contacts.min(l.most_patches()) * swept;
    [2 + listing + load + certificate + own, 1 + step + certificate, 1 + back + certificate, sweep]
}

/// Iterations of all loops that so many turns take: a step may follow a step.
pub(super) fn loops_of_turns(l: &Layout, rows: usize, turns: usize) -> usize {
    let [once, step, other, sweep] = loops_of_newton(l, rows);
    // the first turn is a step, and the last one may be of more sweeps than are left
    let last = STEP_SWEEPS * (1 + MOST_FAILED);
    let sweeps = (most_sweeps(turns) + last).min(turns.saturating_sub(1) * last);
    once + turns * step.max(other) + sweeps * sweep
}

/// Rows of a world at most.
pub(super) fn most_rows(l: &Layout) -> usize {
    l.contact_rows() * l.capacity + l.scalar_rows()
}

/// Turns of Newton's loop in a world of so many rows at most: as many as loops allow.
pub(super) fn newton_turns(l: &Layout, rows: usize) -> usize {
    let fits = |turns: &usize| loops_of_turns(l, rows, *turns) <= LOOP_BUDGET;
    (0..=NEWTON_TURNS).rev().find(fits).unwrap_or_default()
}

/// How many worlds a workgroup of Newton may have to take on, one after another.
pub(super) fn worlds_of_a_workgroup(l: &Layout) -> usize {
    let of_world = |rows| loops_of_turns(l, rows, newton_turns(l, rows));
    (LOOP_BUDGET / (0..=most_rows(l)).map(of_world).max().unwrap_or(LOOP_BUDGET)).max(1)
}
