//! After Runge-Kutta: free trees that nothing but their own impulses acted on keep the momentum of free motion.

use super::plan::Plan;
use super::posed::{Posed, Scratch, Tile};
use crate::dynamics::integrate;
use crate::lane::{Pack, PackMask};
use crate::model::{Joint, JointKind, Model};
use crate::runge_kutta::{self, whole_trees};
use crate::slots::first_lanes;

/// `free_position` of the scratch holds q at the start of the step.
#[inline(always)]
pub(super) fn keep_momentum<R: Pack>(plan: &Plan, tile: &mut Tile<'_, R>, scratch: &mut Scratch<R>, w: &Posed<R>) {
    let model = &*plan.model;
    let Scratch { kinematics: k, dynamics: d, free_position, free_trees, trees, .. } = scratch;
    let mut moved = false;
    for joint in &model.joints {
        let Some(lanes) = left_alone(model, joint, tile.lane_count, w) else { continue };
        if !moved {
            integrate(model, R::constant(plan.dt), &w.response.mean_velocity, free_position);
            let p = &tile.parameters;
            whole_trees(model, p, free_position, &w.response.free_velocity, k, d, free_trees);
            whole_trees(model, p, tile.q, tile.v, k, d, trees);
            moved = true;
        }
        let Some(tree) = model.bodies[joint.body].tree else { continue };
        runge_kutta::keep_momentum(joint, &free_trees[tree], &trees[tree], lanes, tile.q, tile.v);
    }
}

/// Whether a tree on the joint `root` keeps its momentum while nothing outside of it acts.
pub(crate) fn keeps_momentum(model: &Model, root: &Joint) -> bool {
    root.kind == JointKind::Free && root.damping == 0.0 && root.friction_loss == 0.0 && model.equalities.is_empty()
}

/// The lanes in which a tree on the free joint `root` has rows, and none that something outside of it takes part in; none if there is no such lane.
#[inline(always)]
fn left_alone<R: Pack>(model: &Model, root: &Joint, lane_count: usize, w: &Posed<R>) -> Option<R::Mask> {
    if !keeps_momentum(model, root) {
        return None;
    }
    let tree = model.bodies[root.body].tree;
    let tree_of = |geom: usize| model.bodies[model.geoms[geom].body].tree;
    let (contacts, limits) = (&w.contacts.slots, &w.limits.slots);
    let mut lanes = contacts.present.iter().chain(&limits.present).fold(0, |any, present| any | present);
    for part in &contacts.parts {
        let pair = &model.pairs[part.origin as usize];
        let [a, b] = [tree_of(pair.geom_a), tree_of(pair.geom_b)];
        if (a == tree) != (b == tree) {
            lanes &= !part.lanes;
        }
    }
    lanes &= first_lanes(lane_count);
    (lanes != 0).then(|| R::Mask::from_bits(lanes))
}
