//! One step of a chunk of worlds, told once, in flow order: [`Worker::step`].

mod adhesion;
mod assemble;
mod certify;
mod chunk;
mod delassus;
mod evaluations;
mod exact;
mod felt;
mod giving;
mod impacts;
mod left_out;
mod memory;
mod momentum;
mod patches;
mod places;
mod plan;
mod posed;
mod profile;
mod pyramids;
mod records;
mod redo;
mod rows;
mod settings;
mod soft;
mod softness;
mod sorted;
mod supports;
mod targets;
mod turns;
mod warm;
mod worker;

pub use chunk::Chunk;
pub use felt::{Felt, FeltPlan, SUM, has};
pub use impacts::IMPACT_PASSES;
#[cfg(feature = "gpu")]
pub(crate) use memory::{FRICTION, Identity, TORSION, Transmitted};
pub use memory::{Memory, Remembered};
#[cfg(feature = "gpu")]
pub(crate) use momentum::keeps_momentum;
#[cfg(feature = "gpu")]
pub(crate) use patches::{Outline, face_radius, slope_targets, torsion_radius};
pub use plan::{Plan, TILES_PER_CHUNK};
#[cfg(feature = "gpu")]
pub(crate) use posed::position_bias;
pub use posed::{Posed, Scratch, Tile};
pub use profile::{Stage, StageTimes};
pub use records::{BlockRecord, ContactRecord, PatchRecord};
#[cfg(feature = "gpu")]
pub(crate) use rows::{solve_rows, vertex_rate};
pub use settings::{Backend, Constraints, Impacts, Precision, Settings};
#[cfg(feature = "gpu")]
pub(crate) use targets::{Approach, Pace, equality_target, targets};
pub use worker::Worker;

use crate::activation::{activate, actuator_inputs};
use crate::body_force::{gravity_compensation, push_force};
use crate::contact::{Drift, Geoms, collide_sparing};
use crate::damping::{center_damping, damp, later_damping, no_damping};
use crate::dynamics::{applied_force, bias_force, factor, free_body_velocity, free_velocity, integrate, mass_matrix};
use crate::equality::equalities;
use crate::fluid::fluid_force;
use crate::island::Part;
use crate::kinematics::{body_poses, geom_poses, hinge_turns, mocap_poses};
use crate::lane::{Compiled, Pack, PackMask, Real, Task};
use crate::limit::limits;
use crate::model::Integrator;
use crate::planar::mass_and_bias;
use crate::runge_kutta::{self, EVALUATIONS, RungeKutta};
use crate::slots::first_lanes;
#[cfg(feature = "gpu")]
use crate::solver::Which;
use crate::solver::solve_reusing;
use crate::spatial::Motion;
use adhesion::{AdhesionPlan, adhere};
use certify::{largest_speed, not_finite};
use left_out::closes;
use momentum::keep_momentum;
use plan::Damping;
use profile::StopWatch;
use rows::{apply, constraint_rows, find_islands};
use soft::soften;
use worker::stage_task;

impl<R: Pack> Worker<R> {
    /// One step of a chunk of worlds; `see` is shown every block that was solved. With the backend `hybrid` a device has its part in stage 8.
    pub fn step(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>, see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>) {
        let mut sorted = std::mem::take(&mut self.sorted);
        if see.is_none() && sorted.sorts(plan, chunk) {
            sorted.take(plan, chunk);
            sorted.with(chunk, |chunk| self.step_here(plan, chunk, see));
            sorted.give(plan, chunk);
        } else {
            self.step_here(plan, chunk, see);
        }
        self.sorted = sorted;
    }

    /// The same, every world in its lane.
    fn step_here(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>, see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>) {
        for evaluation in 0..plan.evaluations {
            self.begin(plan, chunk, evaluation, see);
            self.solve(plan);
            self.complete(plan, chunk, evaluation, see);
        }
    }

    /// Once through all stages. Where the step has several evaluations: v⁺ = v + Δt a at the state that it is given, which stays where it is.
    fn evaluate(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>, see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>) {
        self.ask(plan, chunk, see);
        self.solve(plan);
        self.answer(plan, chunk, see);
    }

    /// Stages 1–7: fills the batch with the blocks of the chunk. Impacts one after another come before the last of them, and are shown to `see`.
    fn ask(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>, see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>) {
        self.start_mending(&plan.settings, chunk.tile_count() * R::LANES);
        self.start_redoing();
        for t in 0..chunk.tile_count() {
            let (tile, w, scratch) = (&chunk.tile(&plan.model, t), &mut self.posed[t], &mut self.scratch);
            let mut watch = StopWatch::start(plan.profile, &mut self.times);
            if let Some(adhesion) = &plan.adhesion {
                plan.level.run(Adhere { plan, adhesion, tile, scratch });
            }
            plan.level.run(FreeMotion { plan, tile, scratch, w });
            watch.lap(Stage::FreeMotion);
            w.share = R::constant(if self.all_rows { 1.0 } else { plan.share });
            plan.level.run(FindContacts { plan, tile, scratch, w });
            watch.lap(Stage::Collide);
            plan.level.run(FindRows { plan, tile, scratch, w });
            watch.lap(Stage::Rows);
        }
        if plan.settings.impacts == Impacts::Sequential {
            self.impacts(plan, chunk, see);
        }
        self.pose(plan, chunk, false);
    }

    /// Stage 8 on this thread.
    pub fn solve(&mut self, plan: &Plan) {
        let mut watch = StopWatch::start(plan.profile, &mut self.times);
        solve_reusing(&mut self.batch, plan.level, &plan.settings.solve(), None, &mut self.solver);
        watch.lap(Stage::Solve);
    }

    /// What of stage 8 is left to the CPU after sweeps over one problem on a device.
    #[cfg(feature = "gpu")]
    pub fn polish(&mut self, plan: &Plan, which: Which) {
        let mut watch = StopWatch::start(plan.profile, &mut self.times);
        solve_reusing(&mut self.batch, plan.level, &plan.settings.solve(), Some(which), &mut self.solver);
        watch.lap(Stage::Solve);
    }

    /// What follows the solve: the exact solver where it is needed, worlds once more in f64, stages 9 and 10, worlds once more with the rows that their answer asks for, the memory for the next step,
    /// and the reports.
    fn answer(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>, see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>) {
        let mut times = std::mem::take(&mut self.times);
        let mut watch = StopWatch::start(plan.profile, &mut times);
        self.fall_back(plan, chunk);
        self.step_again(plan, chunk, see);
        if let Some(see) = see {
            self.inspect(plan, chunk, see);
        }
        watch.lap(Stage::Fallback);
        for t in 0..chunk.tile_count() {
            let mut tile = chunk.tile(&plan.model, t);
            self.gather(t);
            let (w, scratch) = (&mut self.posed[t], &mut self.scratch);
            plan.level.run(Velocities { plan, tile: &mut tile, scratch, w });
            if w.closed != 0 {
                self.take_closed(plan, chunk, t);
            }
            let (mut tile, w, scratch) = (chunk.tile(&plan.model, t), &mut self.posed[t], &mut self.scratch);
            plan.level.run(Finish { plan, tile: &mut tile, scratch, w });
            let lanes = t * R::LANES..t * R::LANES + tile.lane_count;
            self.watch(plan, t, &mut chunk.watched[lanes]);
            self.feel(plan, t, chunk);
            self.report(plan, t, chunk);
        }
        watch.lap(Stage::Finish);
        self.step_closed(plan, chunk, see);
        self.put_back(plan, chunk);
        watch.lap(Stage::Fallback);
        self.times = times;
    }
}

/// rad and m: an arm that is stretched out would fold by more to give way to a push of its hand.
const MOST_PUSH: f64 = 0.5;

// Tasks of their own: the compiler's time goes with more than the length of a function.
stage_task!(Adhere { plan: &'a Plan, adhesion: &'a AdhesionPlan, tile: &'a Tile<'b, R>, scratch: &'a mut Scratch<R> } {
    let (model, p, k) = (&*plan.model, &tile.parameters, &mut scratch.kinematics);
    mocap_poses(p.mocap_pose, k);
    body_poses(model, tile.q, k);
    geom_poses(model, k);
    adhere(model, adhesion, tile.lane_count, p.geom_size, k, &mut scratch.adhesion);
    // Runge-Kutta within the step has the same
    scratch.inside.kinematics.adhesion_moment.copy_from_slice(&k.adhesion_moment);
});
stage_task!(FreeMotion { plan: &'a Plan, tile: &'a Tile<'b, R>, scratch: &'a mut Scratch<R>, w: &'a mut Posed<R> } { free_motion(plan, tile, scratch, w); });
stage_task!(FindContacts { plan: &'a Plan, tile: &'a Tile<'b, R>, scratch: &'a mut Scratch<R>, w: &'a mut Posed<R> } { find_contacts(plan, tile, scratch, w); });
stage_task!(FindRows { plan: &'a Plan, tile: &'a Tile<'b, R>, scratch: &'a Scratch<R>, w: &'a mut Posed<R> } { find_rows(plan, tile, scratch, w); });
stage_task!(Velocities { plan: &'a Plan, tile: &'a mut Tile<'b, R>, scratch: &'a mut Scratch<R>, w: &'a mut Posed<R> } { velocities(plan, tile, scratch, w); });
stage_task!(Finish { plan: &'a Plan, tile: &'a mut Tile<'b, R>, scratch: &'a mut Scratch<R>, w: &'a mut Posed<R> } { finish(plan, tile, scratch, w); });

/// Stages 1–4: from q and v to the free velocity v*, and the velocity v̄ that moves q in free motion. Runge-Kutta evaluates them at three more states; all
/// that follows uses the evaluation at the start of the step.
#[inline(always)]
pub(crate) fn free_motion<R: Real>(plan: &Plan, tile: &Tile<'_, R>, scratch: &mut Scratch<R>, w: &mut Posed<R>) {
    let (model, p) = (&*plan.model, &tile.parameters);
    let dt = R::constant(plan.dt);
    let runge_kutta = plan.integrator == Integrator::Rk4;
    let RungeKutta { kinematics, dynamics, path } = &mut scratch.inside;
    if runge_kutta {
        runge_kutta::start(tile.q, tile.v, path);
    }
    for j in 0..if runge_kutta { EVALUATIONS } else { 1 } {
        let (q, v, k, d) = match j {
            0 => (&*tile.q, &*tile.v, &mut scratch.kinematics, &mut scratch.dynamics),
            _ => (&*path.q, &*path.v, &mut *kinematics, &mut *dynamics),
        };
        mocap_poses(p.mocap_pose, k);
        if let Some(planar) = &mut d.planar {
            // in a plane, inside of the step, only a push asks for poses
            if j == 0 || !p.push.is_empty() {
                body_poses(model, q, k);
            } else {
                hinge_turns(model, q, k);
            }
            mass_and_bias(model, p, [q, v], k, planar, &mut d.mass_matrix, &mut d.bias_force);
        } else {
            body_poses(model, q, k);
            mass_matrix(model, p, k, d);
            bias_force(model, p.gravity, v, k, d);
        }
        actuator_inputs(model, p, plan.dt, j.max(tile.evaluation), tile.drive, &mut scratch.inputs);
        applied_force(model, p, [q, tile.v], k, &scratch.inputs, tile.external, d);
        fluid_force(model, &d.drags, p.com, k, &d.body_velocity, &mut d.applied_force);
        gravity_compensation(model, p, k, &mut d.applied_force);
        push_force(model, p, k, &mut d.applied_force);
        match plan.damping {
            Damping::Implicit => {}
            Damping::Centered => center_damping(model, dt, d),
            Damping::After => later_damping(model, p, dt, d, &mut w.damped),
            Damping::Explicit => no_damping(d),
        }
        factor(model, dt, d);
        free_velocity(model, dt, tile.v, d);
        if runge_kutta {
            runge_kutta::advance(model, plan.dt, j, tile.q, tile.v, &d.response.free_velocity, path);
        }
    }
    // The tile keeps what is new, and gives the scratch the room of what it had.
    std::mem::swap(&mut w.response, &mut scratch.dynamics.response);
    if runge_kutta {
        w.response.free_velocity.copy_from_slice(&path.free_velocity);
        w.response.mean_velocity.copy_from_slice(&path.mean_velocity);
    }
    geom_poses(model, &mut scratch.kinematics);
    let moving = if runge_kutta { &w.response.mean_velocity } else { &w.response.free_velocity };
    free_body_velocity(model, moving, &scratch.kinematics, &mut scratch.dynamics.free_body_velocity);
    w.overflow = not_finite(&w.response.free_velocity, R::zero());
}

/// Stage 5: contacts.
#[inline(always)]
fn find_contacts<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, scratch: &mut Scratch<R>, w: &mut Posed<R>) {
    // What is soft acts where it overlaps; what is hard also where it may come to touch within the step.
    let reach = match plan.soft {
        None => {
            drift(plan, tile.parameters.geom_size, scratch);
            R::constant(plan.dt * plan.settings.contact_speed)
        }
        Some(_) => R::zero(),
    };
    let Scratch { kinematics, drift, candidates, .. } = scratch;
    let capacity = plan.settings.contact_capacity;
    let geoms = Geoms { pose: &kinematics.geom_pose, drift, size: tile.parameters.geom_size };
    // what bounces asks what moves at all
    let bounces = R::zero().lt(tile.parameters.restitution[0]);
    w.share = R::select(bounces, R::one(), w.share);
    collide_sparing(&plan.collide, geoms, (reach, w.share), capacity, candidates, &mut w.contacts);
    w.contacts.slots.keep(first_lanes(tile.lane_count));
}

/// Stage 6, and the rows of stage 7: limits, equalities, islands, J v and Y.
#[inline(always)]
fn find_rows<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, scratch: &Scratch<R>, w: &mut Posed<R>) {
    let (model, k) = (&*plan.model, &scratch.kinematics);
    let dt = R::constant(if plan.soft.is_some() { 0.0 } else { plan.dt });
    let slack = plan.settings.contact_speed;
    let mean = (plan.integrator == Integrator::Rk4).then_some(&*w.response.mean_velocity);
    let moving = mean.unwrap_or(&w.response.free_velocity);
    let state = [&*tile.q, &*tile.v, moving];
    limits(model, &plan.joint_rows, tile.lane_count, (dt, slack, w.share), k, state, &mut w.limits);
    w.left_out.find(plan, k, &w.contacts, &w.limits);
    equalities(model, &plan.equalities, tile.q, k, &mut w.equalities);
    find_islands(plan, tile.lane_count, Part::All, &w.contacts, &w.limits, &mut w.islands);
    constraint_rows(plan, tile.v, k, w);
    if let Some(soft) = &plan.soft {
        soften(plan, soft, tile, k, w);
    }
}

/// Stage 9, after the solve: v⁺ = v* + M⁻¹ Jᵀ λ, and as much of the position problem; and the worlds in which they close a gap that was left out.
#[inline(always)]
fn velocities<R: Pack>(plan: &Plan, tile: &mut Tile<'_, R>, scratch: &mut Scratch<R>, w: &mut Posed<R>) {
    if !w.struck.impulse.is_empty() {
        // Impacts one after another leave nothing out, so no world goes back to what it remembers.
        tile.memory.keep(plan.joint_rows.len(), tile.lane_count, w);
        w.struck.add_to(&mut w.impulse, R::one());
        // where q moves by v̄ + ½ M⁻¹ Jᵀ λ, what came before the motion counts in full
        w.struck.add_to(&mut w.position_impulse, R::constant(if w.rows.centered() { 2.0 } else { 1.0 }));
    }
    let (out, x) = (&mut *scratch.velocity, &mut *scratch.position_velocity);
    if plan.soft.is_some() {
        // both problems are one
        apply(plan, &w.rows, [&w.impulse], &w.response, [x]);
    } else {
        apply(plan, &w.rows, [&w.impulse, &w.position_impulse], &w.response, [out, x]);
    }
    w.closed = if w.left_out.is_empty() { 0 } else { closes(plan, tile.lane_count, scratch, w) };
}

/// Stage 10: q⁺ = q ⊕ Δt times the velocity of the position problem, and what the worlds remember.
#[inline(always)]
fn finish<R: Pack>(plan: &Plan, tile: &mut Tile<'_, R>, scratch: &mut Scratch<R>, w: &mut Posed<R>) {
    let (model, position_velocity) = (&*plan.model, &mut scratch.position_velocity);
    if w.struck.impulse.is_empty() {
        tile.memory.keep(plan.joint_rows.len(), tile.lane_count, w);
    }
    if plan.soft.is_some() {
        if plan.damping == Damping::After {
            damp(model, R::constant(plan.dt), &w.damped, tile.v, &mut scratch.change, position_velocity);
        }
        tile.v.copy_from_slice(position_velocity);
    } else {
        tile.v.copy_from_slice(&scratch.velocity);
        w.granted = bound_push(plan, tile.v, position_velocity);
    }
    if plan.integrator == Integrator::Rk4 {
        // v̄ + ½ M⁻¹ Jᵀ λ
        for (i, x) in position_velocity.iter_mut().enumerate() {
            *x = R::constant(0.5).mul_add(*x - w.response.free_velocity[i], w.response.mean_velocity[i]);
        }
    }
    if plan.evaluations == 1 {
        scratch.free_position.copy_from_slice(tile.q);
        integrate(model, R::constant(plan.dt), &scratch.position_velocity, tile.q);
        let evaluations = if plan.integrator == Integrator::Rk4 { EVALUATIONS } else { 1 };
        activate(model, &tile.parameters, plan.dt, evaluations, tile.drive);
    }
    if plan.integrator == Integrator::Rk4 {
        keep_momentum(plan, tile, scratch, w);
    }
    w.speed = not_finite(&tile.drive[model.nu()..], largest_speed(tile.q, tile.v));
    let mut deepest = R::zero();
    for (slot, present) in w.contacts.slots.present.iter().enumerate() {
        deepest = R::select(R::Mask::from_bits(*present), (-w.contacts.lowest(slot)).max(deepest), deepest);
    }
    w.penetration = deepest;
}

/// x ← v⁺ + s (x − v⁺), where the push-out of the position problem would turn or move anything by more than [`MOST_PUSH`] within the step: rows are straight, and know nothing of
/// what lies so far away. The share s that is granted.
#[inline(always)]
fn bound_push<R: Pack>(plan: &Plan, v: &[R], position_velocity: &mut [R]) -> R {
    let (limit, mut most) = (R::constant(MOST_PUSH / plan.dt), R::zero());
    for (x, v) in position_velocity.iter().zip(v) {
        most = (*x - *v).abs().max(most);
    }
    let far = limit.lt(most);
    if !far.any() {
        return R::one();
    }
    let share = R::select(far, limit / most, R::one());
    for (x, v) in position_velocity.iter_mut().zip(v) {
        *x = R::select(far, share.mul_add(*x - *v, *v), *x);
    }
    share
}

/// Free motion Δt V* of every geom. `size`: see [`TileParameters::geom_size`](crate::parameters::TileParameters::geom_size).
#[inline(always)]
pub(crate) fn drift<R: Real>(plan: &Plan, size: &[R], scratch: &mut Scratch<R>) {
    let model = &*plan.model;
    let radii = size.get(3 * model.geoms.len()..).unwrap_or_default();
    for (i, geom) in model.geoms.iter().enumerate() {
        if let Some(tree) = model.bodies[geom.body].tree {
            let velocity = scratch.dynamics.free_body_velocity[geom.body];
            let shift = velocity.mul_add(R::constant(plan.dt), Motion::zero());
            let reference = scratch.kinematics.reference[tree];
            let radius = if radii.is_empty() { R::constant(plan.radius[i]) } else { radii[i] };
            let turn = shift.angular.norm() * radius;
            let travel = shift.at(scratch.kinematics.geom_pose[i].position - reference).norm() + turn;
            scratch.drift[i] = Drift { shift, reference, travel };
        }
    }
}
