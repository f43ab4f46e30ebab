//! Rows that a step leaves out, and whether its answer may do without them.
//!
//! A contact or limit is within reach where impulses might close its gap within Δt ([`Settings::contact_speed`](super::Settings::contact_speed)); few do. Posed are those within a share of that, [`Plan::share`]. Of the others only the
//! row of the normal is kept: where u⁺ = J v⁺ of the answer does not close a gap, u⁺ ≥ −g/Δt, λ = 0 is its answer, and what was solved is the answer of all rows
//! together. Where it does, the world takes the step once more, with all of them ([`super::redo`]).

use super::plan::Plan;
use super::posed::{LeftOutRow, LeftOutRows, Posed, Scratch};
use super::rows::along;
use super::supports::Bits;
use crate::contact::Contacts;
use crate::kinematics::Kinematics;
use crate::lane::{Mask, Pack, PackMask};
use crate::limit::Limits;
use crate::model::Integrator;
use crate::slots::first_lanes;

impl<R: Pack> LeftOutRows<R> {
    /// The rows of what `contacts` and `limits` have left out.
    #[inline(always)]
    pub fn find(&mut self, plan: &Plan, k: &Kinematics<R>, contacts: &Contacts<R>, limits: &Limits<R>) {
        let (model, words) = (&*plan.model, plan.rows.words);
        self.rows.clear();
        self.jacobian.clear();
        for point in &contacts.left_out {
            let (first, second) = plan.rows.pair[2 * point.pair * words..2 * (point.pair + 1) * words].split_at(words);
            for (own, other, plus) in [(first, second, false), (second, first, true)] {
                let mut dofs = Bits::of(own);
                dofs.without = Some(other);
                let Some(tree) = dofs.clone().next().map(|dof| model.dofs[dof].tree) else { continue };
                let arm = point.position - k.reference[tree];
                for dof in dofs {
                    let [along] = along(&model.trees[tree], k, dof, arm, &[point.normal]);
                    self.jacobian.push((dof, if plus { along } else { -along }));
                }
            }
            self.rows.push(LeftOutRow { end: self.jacobian.len(), gap: point.gap, lanes: point.lanes });
        }
        for limit in &limits.left_out {
            for entry in &plan.rows.joint_jacobian[limit.row] {
                self.jacobian.push((entry.dof, entry.along(k, limit.direction)));
            }
            self.rows.push(LeftOutRow {
                end: self.jacobian.len(),
                gap: limit.gap,
                lanes: R::Mask::from_bits(limit.lanes),
            });
        }
    }

    /// The worlds in which a velocity closes a gap by more than the tolerance lets, one bit a lane. `velocities`: v⁺, and the one that moves q, shape \[nv\].
    #[inline(always)]
    pub fn closed(&self, plan: &Plan, velocities: [&[R]; 2]) -> u32 {
        let (mut closed, mut start) = (R::Mask::splat(false), 0);
        let (per_dt, tolerance) = (R::constant(1.0 / plan.dt), R::constant(-plan.settings.tolerance()));
        for row in &self.rows {
            let mut rates = [R::zero(); 2];
            for (dof, along) in &self.jacobian[start..row.end] {
                for k in 0..2 {
                    rates[k] = along.mul_add(velocities[k][*dof], rates[k]);
                }
            }
            start = row.end;
            // u⁺ + g/Δt
            let least = per_dt.mul_add(row.gap, rates[0].min(rates[1]));
            closed = closed.or(row.lanes.and(least.lt(tolerance)));
        }
        closed.bits()
    }

    /// Whether no world leaves out anything.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// As [`LeftOutRows::closed`], of the answer of a tile: `scratch` has v⁺ and the velocity of the position problem, which with Runge-Kutta moves q by the mean of the step.
#[inline(always)]
pub(super) fn closes<R: Pack>(plan: &Plan, lane_count: usize, scratch: &mut Scratch<R>, w: &Posed<R>) -> u32 {
    let Scratch { velocity, position_velocity, change, .. } = scratch;
    let closed = if plan.integrator == Integrator::Rk4 {
        let (free, mean) = (&w.response.free_velocity, &w.response.mean_velocity);
        // v̄ + ½ M⁻¹ Jᵀ λ
        for (i, x) in change.iter_mut().enumerate() {
            *x = R::constant(0.5).mul_add(position_velocity[i] - free[i], mean[i]);
        }
        w.left_out.closed(plan, [velocity, change])
    } else {
        w.left_out.closed(plan, [velocity, position_velocity])
    };
    closed & first_lanes(lane_count)
}
