//! Adhesion: actuators that pull bodies to what they touch ([`Transmission::Body`]). Their contacts are looked for at the start of a step, before its forces; what those do to
//! every degree of freedom is kept with the poses.

use crate::body_force::add_wrench;
use crate::contact::{CollidePlan, Contacts, Drift, Geoms, Near, collide};
use crate::kinematics::Kinematics;
use crate::lane::{Pack, PackMask, Real, copies};
use crate::model::{Model, Transmission};
use crate::slots::first_lanes;
use crate::spatial::Vec3;

/// Hard contacts that rest are off each other by what the solver leaves: they touch for adhesion if they came together within the step at this speed, m/s.
const TOUCHING_SPEED: f64 = 0.01;

/// Which contacts count for which actuators.
#[derive(Debug, Clone)]
pub(super) struct AdhesionPlan {
    /// The pairs of the bodies that actuators act on; their gaps count as margins.
    collide: CollidePlan,
    /// Distance beyond these up to which contacts count, m.
    reach: f64,
    /// The actuators that each counts for, shape \[pair\].
    actuators: Vec<Vec<usize>>,
    /// All such actuators.
    all: Vec<usize>,
}

impl AdhesionPlan {
    /// None if nothing adheres. `dt`: step Δt, s.
    pub fn new(model: &Model, dt: f64, is_soft: bool) -> Option<Self> {
        let body = |u: usize| match model.actuators[u].transmission {
            Transmission::Body(body) => Some(body),
            _ => None,
        };
        let all: Vec<usize> = (0..model.nu()).filter(|&u| body(u).is_some()).collect();
        if all.is_empty() {
            return None;
        }
        let (mut near, mut actuators) = (model.clone(), Vec::new());
        near.pairs.clear();
        for pair in &model.pairs {
            let bodies = [pair.geom_a, pair.geom_b].map(|geom| Some(model.geoms[geom].body));
            let own: Vec<usize> = all.iter().copied().filter(|&u| bodies.contains(&body(u))).collect();
            if !own.is_empty() {
                let mut pair = pair.clone();
                pair.margin += pair.gap;
                near.pairs.push(pair);
                actuators.push(own);
            }
        }
        let reach = if is_soft { 0.0 } else { TOUCHING_SPEED * dt };
        Some(Self { collide: CollidePlan::new(&near), reach, actuators, all })
    }
}

/// Room to look for contacts in, for one tile.
#[derive(Debug, Clone)]
pub(super) struct AdhesionRoom<R: Real> {
    contacts: Contacts<R>,
    candidates: Vec<Near<R>>,
    /// Nothing moves, shape \[geom\].
    still: Vec<Drift<R>>,
    /// How many contacts count for each actuator, shape \[nu\].
    count: Vec<R>,
}

impl<R: Real> AdhesionRoom<R> {
    pub fn new(model: &Model) -> Self {
        Self {
            contacts: Contacts::default(),
            candidates: Vec::new(),
            still: copies(Drift::none(), model.geoms.len()),
            count: copies(R::zero(), model.nu()),
        }
    }
}

/// Finds what a unit of force of every actuator that adheres does, where `k` has the poses: with m contacts, 1/m on both bodies of each, together along its normal. `size`: see
/// [`TileParameters::geom_size`](crate::parameters::TileParameters::geom_size).
#[inline(always)]
pub(super) fn adhere<R: Pack>(
    model: &Model,
    adhesion: &AdhesionPlan,
    lane_count: usize,
    size: &[R],
    k: &mut Kinematics<R>,
    room: &mut AdhesionRoom<R>,
) {
    let geoms = Geoms { pose: &k.geom_pose, drift: &room.still, size };
    let reach = R::constant(adhesion.reach);
    collide(&adhesion.collide, geoms, reach, None, &mut room.candidates, &mut room.contacts);
    room.contacts.slots.keep(first_lanes(lane_count));
    let mut moment = std::mem::take(&mut k.adhesion_moment);
    moment.fill(R::zero());
    room.count.fill(R::zero());
    let nv = model.nv();
    for part in &room.contacts.slots.parts {
        let (slot, lanes) = (part.slot as usize, R::Mask::from_bits(part.lanes));
        let (n, at) = (room.contacts.normal[slot], room.contacts.position[slot]);
        let pair = &adhesion.collide.pairs[part.origin as usize];
        let (a, b) = (model.geoms[pair.a].body, model.geoms[pair.b].body);
        for &u in &adhesion.actuators[part.origin as usize] {
            let own = &mut moment[u * nv..(u + 1) * nv];
            add_wrench(model, k, a, at, [n, Vec3::zero()], lanes, own);
            add_wrench(model, k, b, at, [-n, Vec3::zero()], lanes, own);
            room.count[u] += R::select(lanes, R::one(), R::zero());
        }
    }
    for &u in &adhesion.all {
        let share = R::one() / room.count[u].max(R::one());
        for x in &mut moment[u * nv..(u + 1) * nv] {
            *x = *x * share;
        }
    }
    k.adhesion_moment = moment;
}
