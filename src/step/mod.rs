//! One step of a tile of worlds, told once, in flow order: [`free_motion`], [`find_contacts`], [`find_rows`], [`blocks`], solve, [`finish`].

mod assemble;
mod certify;
mod chunk;
mod exact;
mod impacts;
mod places;
mod profile;
mod redo;
mod rows;
mod settings;
mod warm;

pub use assemble::rebound;
pub use chunk::{BlockRecord, Chunk, ContactRecord, Worker};
pub use impacts::IMPACT_PASSES;
pub use profile::{Stage, StageTimes};
pub use settings::{Backend, Impacts, Precision, Settings};
pub use warm::{Remembered, joint_row_of};

use crate::contact::{CollidePlan, Contacts, Drift, collide};
use crate::dynamics::{
    Dynamics, TileParameters, applied_force, bias_force, center_damping, factor, free_body_velocity, free_velocity,
    integrate, mass_matrix,
};
use crate::equality::{Equalities, EqualityPlan, equalities};
use crate::fluid::fluid_force;
use crate::island::{IslandPlan, Islands, Part, islands};
use crate::kinematics::{Kinematics, body_poses, geom_poses};
use crate::lane::{Level, Real};
use crate::limit::{JointRow, Limits, joint_rows, limits};
use crate::model::{Integrator, Model};
use crate::runge_kutta::{self, RungeKutta};
use crate::solver::Batch;
use crate::spatial::Motion;
use assemble::assemble;
use impacts::Struck;
use places::Places;
use rows::{RowPlan, Rows, apply, constraint_rows};
use std::sync::Arc;

/// What all steps of a batch share: the model, the settings, and what follows from them.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The model.
    pub model: Arc<Model>,
    /// The settings.
    pub settings: Settings,
    /// Step Δt, s.
    pub dt: f64,
    /// Scheme of the free motion.
    pub integrator: Integrator,
    /// Instruction set of the lanes.
    pub level: Level,
    /// Whether workers measure the time of every stage. Default false.
    pub profile: bool,
    /// The same in f64, for worlds that this precision is too coarse for; none if this is f64.
    exact: Option<Box<Self>>,
    collide: CollidePlan,
    joint_rows: Vec<JointRow>,
    equalities: EqualityPlan,
    islands: IslandPlan,
    rows: RowPlan,
    /// Bounding radius of every geom, m; 0 for planes, which do not move.
    radius: Vec<f64>,
}

impl Plan {
    /// Prepares steps of `model`.
    pub fn new(model: Arc<Model>, settings: Settings) -> Self {
        let radius = model.geoms.iter().map(|g| g.shape.bounding_radius());
        let (joint_rows, equalities) = (joint_rows(&model), EqualityPlan::new(&model));
        let exact = (settings.precision == Precision::F32 && settings.fallback).then(|| {
            let (precision, tolerance) = (Precision::F64, Some(settings.tolerance()));
            Box::new(Self::new(model.clone(), Settings { precision, tolerance, ..settings.clone() }))
        });
        Self {
            exact,
            dt: settings.dt.unwrap_or(model.timestep),
            integrator: settings.integrator.unwrap_or(model.integrator),
            level: Level::detect(),
            profile: false,
            collide: CollidePlan::new(&model),
            islands: IslandPlan::new(&model, &joint_rows, &equalities),
            rows: RowPlan::new(&model, &joint_rows, &equalities),
            joint_rows,
            equalities,
            radius: radius.map(|r| if r.is_finite() { r } else { 0.0 }).collect(),
            settings,
            model,
        }
    }
}

/// State and inputs of one tile of worlds.
#[derive(Debug)]
pub struct Tile<'a, R: Real> {
    /// Number of worlds in the tile; lanes beyond are idle.
    pub lane_count: usize,
    /// Position, shape \[nq\].
    pub q: &'a mut [R],
    /// Velocity, shape \[nv\].
    pub v: &'a mut [R],
    /// Control, shape \[nu\].
    pub control: &'a [R],
    /// Generalized force from outside, N or N·m, shape \[nv\].
    pub external: &'a [R],
    /// Parameters that may differ from world to world.
    pub parameters: TileParameters<'a, R>,
    /// What the last step leaves for the next, shape \[lane\].
    pub memory: &'a mut [Vec<Remembered<R::Scalar>>],
}

/// Everything that the stages compute on their way, for one tile of worlds.
#[derive(Debug, Clone)]
pub struct Workspace<R> {
    kinematics: Kinematics<R>,
    dynamics: Dynamics<R>,
    /// Velocity v̄ that moves q in free motion, where it is not v*, shape \[nv\].
    mean_velocity: Vec<R>,
    drift: Vec<Drift<R>>,
    contacts: Contacts<R>,
    limits: Limits<R>,
    equalities: Equalities<R>,
    islands: Islands,
    rows: Rows<R>,
    places: Places,
    struck: Struck<R>,
    impulse: Vec<R>,
    position_impulse: Vec<R>,
    position_velocity: Vec<R>,
    /// 0, or not a number where the free velocity is infinite or not a number.
    overflow: R,
    /// Largest entry of |v| after the step, m/s or rad/s; infinite or not a number where the new state is.
    speed: R,
}

impl<R: Real> Workspace<R> {
    /// Room for `model`; the rest grows with the contacts.
    pub fn new(model: &Model) -> Self {
        Self {
            kinematics: Kinematics::new(model),
            dynamics: Dynamics::new(model),
            mean_velocity: vec![R::zero(); model.nv()],
            drift: vec![Drift::none(); model.geoms.len()],
            contacts: Contacts::default(),
            limits: Limits::default(),
            equalities: Equalities::default(),
            islands: Islands::default(),
            rows: Rows::default(),
            places: Places::default(),
            struck: Struck::default(),
            impulse: Vec::new(),
            position_impulse: Vec::new(),
            position_velocity: vec![R::zero(); model.nv()],
            overflow: R::zero(),
            speed: R::zero(),
        }
    }
}

/// Stages 1–4: from q and v to the free velocity v*, and the velocity v̄ that moves q in free motion. `inside`: for what Runge-Kutta evaluates inside of
/// the step; all that follows uses the evaluation at its start.
#[inline(always)]
pub fn free_motion<R: Real>(plan: &Plan, tile: &Tile<'_, R>, inside: &mut RungeKutta<R>, w: &mut Workspace<R>) {
    let (model, p) = (&*plan.model, tile.parameters);
    let dt = R::constant(plan.dt);
    let runge_kutta = plan.integrator == Integrator::Rk4;
    let RungeKutta { kinematics, dynamics, path } = inside;
    if runge_kutta {
        runge_kutta::start(tile.q, tile.v, path);
    }
    for j in 0..if runge_kutta { runge_kutta::EVALUATIONS } else { 1 } {
        let (q, v, k, d) = match j {
            0 => (&*tile.q, &*tile.v, &mut w.kinematics, &mut w.dynamics),
            _ => (&*path.q, &*path.v, &mut *kinematics, &mut *dynamics),
        };
        body_poses(model, q, k);
        mass_matrix(model, p.mass_scale, k, d);
        bias_force(model, p.gravity, v, k, d);
        applied_force(model, p.gain_scale, q, tile.v, tile.control, tile.external, d);
        fluid_force(model, &d.drags, k, &d.body_velocity, &mut d.applied_force);
        if runge_kutta {
            center_damping(model, dt, d);
        }
        factor(model, dt, d);
        free_velocity(model, dt, tile.v, d);
        if runge_kutta {
            runge_kutta::advance(model, plan.dt, j, tile.q, tile.v, &d.free_velocity, path);
        }
    }
    if runge_kutta {
        w.dynamics.free_velocity.copy_from_slice(&path.free_velocity);
        w.mean_velocity.copy_from_slice(&path.mean_velocity);
    }
    geom_poses(model, &mut w.kinematics);
    let moving = if runge_kutta { &w.mean_velocity } else { &w.dynamics.free_velocity };
    free_body_velocity(model, moving, &w.kinematics, &mut w.dynamics.free_body_velocity);
    w.overflow = not_finite(&w.dynamics.free_velocity, R::zero());
}

/// `so_far`, or not a number where any of `numbers` is infinite or not a number: 0 · x is 0 for every finite x, and not a number else.
#[inline(always)]
fn not_finite<R: Real>(numbers: &[R], so_far: R) -> R {
    let mut sum = so_far;
    for x in numbers {
        sum = x.mul_add(R::zero(), sum);
    }
    sum
}

/// Stage 5: contacts.
#[inline(always)]
pub fn find_contacts<R: Real>(plan: &Plan, tile: &Tile<'_, R>, w: &mut Workspace<R>) {
    drift(plan, w);
    let reach = R::constant(plan.dt * plan.settings.contact_speed);
    collide(&plan.collide, &w.kinematics.geom_pose, &w.drift, reach, plan.settings.contact_capacity, &mut w.contacts);
    w.contacts.count[tile.lane_count..].fill(0);
}

/// Stage 6, and the rows of stage 7: limits, equalities, islands, J v and Y.
#[inline(always)]
pub fn find_rows<R: Real>(plan: &Plan, tile: &Tile<'_, R>, w: &mut Workspace<R>) {
    let (model, joint_rows, d) = (&*plan.model, &plan.joint_rows, &w.dynamics);
    let (dt, slack) = (R::constant(plan.dt), plan.settings.contact_speed);
    let mean = (plan.integrator == Integrator::Rk4).then_some(&*w.mean_velocity);
    let moving = mean.unwrap_or(&d.free_velocity);
    limits(model, joint_rows, tile.lane_count, dt, slack, tile.q, tile.v, moving, &mut w.limits);
    equalities(model, &plan.equalities, tile.q, &w.kinematics, &mut w.equalities);
    islands(&plan.islands, tile.lane_count, &w.contacts, &w.limits, Part::All, &mut w.islands);
    let (k, contacts, limits) = (&w.kinematics, &w.contacts, &w.limits);
    constraint_rows(model, &plan.rows, joint_rows, tile.v, mean, k, d, contacts, limits, &w.equalities, &mut w.rows);
}

/// The rest of stage 7: writes the blocks of the tile into the batch.
#[inline(always)]
pub fn blocks<R: Real>(plan: &Plan, tile: &Tile<'_, R>, w: &Workspace<R>, batch: &mut Batch<R>) {
    assemble(
        &plan.model,
        &plan.rows,
        &plan.joint_rows,
        &plan.settings,
        plan.dt,
        tile.parameters,
        &w.contacts,
        &w.limits,
        &w.equalities,
        &w.islands,
        &w.places,
        tile.memory,
        &w.rows,
        batch,
    );
}

/// Stages 9 and 10, after the solve: v⁺ = v* + M⁻¹ Jᵀ λ, and q⁺ = q ⊕ Δt times the velocity of the position problem.
#[inline(always)]
pub fn finish<R: Real>(plan: &Plan, tile: &mut Tile<'_, R>, w: &mut Workspace<R>) {
    let model = &*plan.model;
    let slots = w.contacts.gap.len();
    apply(model, plan.rows.words, slots, &w.rows, &w.impulse, &w.dynamics, tile.v);
    apply(model, plan.rows.words, slots, &w.rows, &w.position_impulse, &w.dynamics, &mut w.position_velocity);
    if plan.integrator == Integrator::Rk4 {
        // v̄ + ½ M⁻¹ Jᵀ λ
        for (i, x) in w.position_velocity.iter_mut().enumerate() {
            *x = R::constant(0.5).mul_add(*x - w.dynamics.free_velocity[i], w.mean_velocity[i]);
        }
    }
    integrate(model, R::constant(plan.dt), &w.position_velocity, tile.q);
    let mut speed = R::zero();
    for x in tile.v.iter() {
        speed = x.abs().max(speed);
    }
    w.speed = not_finite(tile.v, not_finite(tile.q, speed));
}

/// Free motion Δt V* of every geom.
#[inline(always)]
fn drift<R: Real>(plan: &Plan, w: &mut Workspace<R>) {
    let model = &*plan.model;
    for (i, geom) in model.geoms.iter().enumerate() {
        if let Some(tree) = model.bodies[geom.body].tree {
            let velocity = w.dynamics.free_body_velocity[geom.body];
            let shift = velocity.mul_add(R::constant(plan.dt), Motion::zero());
            let reference = w.kinematics.reference[tree];
            let turn = shift.angular.norm() * R::constant(plan.radius[i]);
            let travel = shift.at(w.kinematics.geom_pose[i].position - reference).norm() + turn;
            w.drift[i] = Drift { shift, reference, travel };
        }
    }
}
