//! Rotations of soft contacts that are pyramids: what their torsional and rolling friction acts on.
//!
//! A contact has beside its three rows one about its normal, and where some contact of the model rolls with friction two about its tangents, with
//!
//! u = d · (ω_b − ω_a)
//!
//! for the axis d. They are made of what the contact may move, as its other rows are ([`super::rows`]), and become edges with them ([`super::pyramids`]).

use super::plan::Plan;
use super::posed::{MOST_TURNS, Posed, Rows, turn_count};
use super::rows::{rates, solve_rows};
use super::supports::Bits;
use crate::kinematics::Kinematics;
use crate::lane::{Pack, PackMask};

/// The rotations of all contacts of a tile, whose other rows are made. `v`: velocity before the step.
#[inline(always)]
pub(super) fn turns<R: Pack>(plan: &Plan, v: &[R], k: &Kinematics<R>, posed: &mut Posed<R>) {
    posed.rows.turns.friction.clear();
    match turn_count(plan.islands.edges) {
        0 => {}
        1 => turn_rows::<R, 1>(plan, v, k, posed),
        _ => turn_rows::<R, MOST_TURNS>(plan, v, k, posed),
    }
}

/// N rotations of every contact.
#[inline(always)]
fn turn_rows<R: Pack, const N: usize>(plan: &Plan, v: &[R], k: &Kinematics<R>, posed: &mut Posed<R>) {
    let (model, nv, words) = (&*plan.model, plan.model.nv(), plan.rows.words);
    let Posed { response, contacts, rows, .. } = posed;
    let slots = contacts.gap.len();
    let Rows { support, frame, turns, .. } = rows;
    turns.y.resize(N * slots * nv, R::zero());
    turns.free.resize(N * slots, R::zero());
    turns.previous.resize(N * slots, R::zero());
    for slot in 0..slots {
        for dof in Bits::of(&support[slot * words..(slot + 1) * words]) {
            for i in 0..N {
                turns.y[(N * slot + i) * nv + dof] = R::zero();
            }
        }
    }
    // J_d = ± d · (angular velocity per unit of v_d): + for what moves the second body, − for the first, 0 for what moves both
    for part in &contacts.slots.parts {
        let (slot, pair, lanes) = (part.slot as usize, part.origin as usize, R::Mask::from_bits(part.lanes));
        let (first, second) = plan.rows.pair[2 * pair * words..2 * (pair + 1) * words].split_at(words);
        for (own, other, plus) in [(first, second, false), (second, first, true)] {
            let mut dofs = Bits::of(own);
            dofs.without = Some(other);
            for dof in dofs {
                let angular = k.motion_subspace[dof].angular;
                for i in 0..N {
                    let along = frame[slot][i].dot(angular);
                    let y = &mut turns.y[(N * slot + i) * nv + dof];
                    *y = R::select(lanes, if plus { along } else { -along }, *y);
                }
            }
        }
    }
    for slot in 0..slots {
        let support = &support[slot * words..(slot + 1) * words];
        let y = &mut turns.y[N * slot * nv..N * (slot + 1) * nv];
        // u = J v
        let [free, previous] = rates::<R, N, 2>(support, y, [&response.free_velocity[..nv], &v[..nv]]);
        turns.free[N * slot..N * (slot + 1)].copy_from_slice(&free);
        turns.previous[N * slot..N * (slot + 1)].copy_from_slice(&previous);
        if N == MOST_TURNS {
            let (y0, rest) = y.split_at_mut(nv);
            let (y1, y2) = rest.split_at_mut(nv);
            solve_rows(model, response, support, &mut [y0, y1, &mut y2[..nv]]);
        } else {
            solve_rows(model, response, support, &mut [y]);
        }
    }
}
