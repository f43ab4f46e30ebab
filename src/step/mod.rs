//! One step of a tile of worlds, told once, in flow order: `free_motion`, `find_contacts`, `find_rows`, `assemble`, solve, `finish`.

mod assemble;
mod certify;
mod chunk;
mod exact;
mod impacts;
mod momentum;
mod patches;
mod places;
mod profile;
mod redo;
mod rows;
mod settings;
mod warm;

#[cfg(feature = "gpu")]
pub(crate) use assemble::{Approach, Pace, equality_target, targets};
pub use chunk::{BlockRecord, Chunk, ContactRecord, PatchRecord, Worker};
pub use impacts::IMPACT_PASSES;
#[cfg(feature = "gpu")]
pub(crate) use momentum::keeps_momentum;
pub use profile::{Stage, StageTimes};
#[cfg(feature = "gpu")]
pub(crate) use rows::position_bias;
pub use settings::{Backend, Impacts, Precision, Settings};
#[cfg(feature = "gpu")]
pub(crate) use warm::Identity;
pub use warm::{Memory, Remembered};

use crate::contact::{CollidePlan, Contacts, Drift, Near, collide};
use crate::dynamics::{
    Dynamics, Response, applied_force, bias_force, center_damping, factor, free_body_velocity, free_velocity,
    integrate, mass_matrix, push_force,
};
use crate::equality::{Equalities, EqualityPlan, equalities};
use crate::fluid::fluid_force;
use crate::island::{IslandPlan, Islands, Part, islands, worlds};
use crate::kinematics::{Kinematics, body_poses, geom_poses};
use crate::lane::{Level, Pack, Real};
use crate::limit::{JointRow, Limits, joint_rows, limits};
use crate::model::{Integrator, Model};
use crate::parameters::TileParameters;
use crate::runge_kutta::{self, RungeKutta, Whole};
use crate::slots::first_lanes;
use crate::solver::FrictionLaw;
use crate::spatial::Motion;
use impacts::Struck;
use momentum::keep_momentum;
use places::Places;
use profile::StopWatch;
use rows::{RowPlan, Rows, apply, constraint_rows};
#[cfg(feature = "gpu")]
pub(crate) use rows::{solve_rows, span};
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
    /// Whether every world is one block, in its own lane: it is one island, whatever touches. Decided by the model and the backend.
    in_place: bool,
    /// The same in f64, for worlds that this precision is too coarse for; none if this is f64.
    exact: Option<Box<Self>>,
    pub(crate) collide: CollidePlan,
    pub(crate) joint_rows: Vec<JointRow>,
    pub(crate) equalities: EqualityPlan,
    islands: IslandPlan,
    rows: RowPlan,
    /// Bounding radius of every geom, m; 0 for planes, which do not move.
    radius: Vec<f64>,
}

/// Most tiles of worlds (16 in f32, 8 in f64, where the CPU runs packs) that a thread steps before it takes the next.
pub const TILES_PER_CHUNK: usize = 32;

impl Plan {
    /// Most tiles that a thread steps together: few enough to stay in its cache, enough blocks to fill lanes with the hard ones.
    pub fn most_tiles(&self) -> usize {
        if self.in_place { TILES_PER_CHUNK / 2 } else { TILES_PER_CHUNK }
    }

    /// Prepares steps of `model`.
    pub fn new(model: Arc<Model>, mut settings: Settings) -> Self {
        let collide = match settings.friction {
            FrictionLaw::Patch => CollidePlan::with_patches(&model),
            FrictionLaw::Cone | FrictionLaw::Box => CollidePlan::new(&model),
        };
        if settings.friction == FrictionLaw::Patch && !collide.has_patches() {
            // single points have the same law in both, and their own, faster solver
            settings.friction = FrictionLaw::Cone;
        }
        let radius = model.geoms.iter().map(|g| g.shape.bounding_radius());
        let (joint_rows, equalities) = (joint_rows(&model), EqualityPlan::new(&model));
        let exact = (settings.precision == Precision::F32 && settings.fallback).then(|| {
            let (precision, tolerance) = (Precision::F64, Some(settings.tolerance()));
            Box::new(Self::new(model.clone(), Settings { precision, tolerance, ..settings.clone() }))
        });
        let islands = IslandPlan::new(&model, &joint_rows, &equalities);
        Self {
            exact,
            in_place: islands.one_island() && settings.backend != Backend::Hybrid,
            dt: settings.dt.unwrap_or(model.timestep),
            integrator: settings.integrator.unwrap_or(model.integrator),
            level: Level::detect(),
            profile: false,
            collide,
            islands,
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
    /// What the last step leaves for the next.
    pub memory: &'a mut Memory<R>,
}

/// What a thread needs for a moment, for whichever tile is at hand.
#[derive(Debug)]
pub struct Scratch<R> {
    pub(crate) kinematics: Kinematics<R>,
    pub(crate) dynamics: Dynamics<R>,
    /// For what Runge-Kutta evaluates inside of the step.
    inside: RungeKutta<R>,
    pub(crate) drift: Vec<Drift<R>>,
    /// The points that may be contacts.
    candidates: Vec<Near<R>>,
    /// Velocity that moves q, shape \[nv\].
    position_velocity: Vec<R>,
    /// q at the start of the step, and then after free motion, shape \[nq\].
    free_position: Vec<R>,
    /// All trees after free motion, and as the step leaves them, shape \[tree\].
    free_trees: Vec<Whole<R>>,
    trees: Vec<Whole<R>>,
}

impl<R: Real> Scratch<R> {
    pub(crate) fn new(model: &Model) -> Self {
        Self {
            kinematics: Kinematics::new(model),
            dynamics: Dynamics::new(model),
            inside: RungeKutta::new(model),
            drift: vec![Drift::none(); model.geoms.len()],
            candidates: Vec::new(),
            position_velocity: vec![R::zero(); model.nv()],
            free_position: vec![R::zero(); model.nq()],
            free_trees: vec![Whole::default(); model.trees.len()],
            trees: vec![Whole::default(); model.trees.len()],
        }
    }
}

/// What one tile of worlds poses in a step, kept until its answer moves the worlds on.
#[derive(Debug, Clone)]
pub struct Posed<R: Real> {
    pub(crate) response: Response<R>,
    contacts: Contacts<R>,
    limits: Limits<R>,
    equalities: Equalities<R>,
    islands: Islands,
    rows: Rows<R>,
    places: Places,
    struck: Struck<R>,
    /// Impulse λ of every row, N·s, shape \[row\].
    impulse: Vec<R>,
    /// That of the position problem, N·s, shape \[row\].
    position_impulse: Vec<R>,
    /// 0, or not a number where the free velocity is infinite or not a number.
    overflow: R,
    /// Largest entry of |v| after the step, m/s or rad/s; infinite or not a number where the new state is.
    speed: R,
}

impl<R: Real> Posed<R> {
    /// Room for `model`; the rest grows with the contacts.
    pub(crate) fn new(model: &Model) -> Self {
        Self {
            response: Response::new(model),
            contacts: Contacts::default(),
            limits: Limits::default(),
            equalities: Equalities::default(),
            islands: Islands::default(),
            rows: Rows::default(),
            places: Places::default(),
            struck: Struck::default(),
            impulse: Vec::new(),
            position_impulse: Vec::new(),
            overflow: R::zero(),
            speed: R::zero(),
        }
    }
}

/// From q and v to the rows of the constraints.
#[inline(always)]
fn find_problem<R: Pack>(
    plan: &Plan,
    tile: &Tile<'_, R>,
    scratch: &mut Scratch<R>,
    w: &mut Posed<R>,
    watch: &mut StopWatch<'_>,
) {
    free_motion(plan, tile, scratch, w);
    watch.lap(Stage::FreeMotion);
    find_contacts(plan, tile, scratch, w);
    watch.lap(Stage::Collide);
    find_rows(plan, tile, scratch, w);
    watch.lap(Stage::Rows);
}

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
    for j in 0..if runge_kutta { runge_kutta::EVALUATIONS } else { 1 } {
        let (q, v, k, d) = match j {
            0 => (&*tile.q, &*tile.v, &mut scratch.kinematics, &mut scratch.dynamics),
            _ => (&*path.q, &*path.v, &mut *kinematics, &mut *dynamics),
        };
        body_poses(model, q, k);
        mass_matrix(model, p, k, d);
        bias_force(model, p.gravity, v, k, d);
        applied_force(model, p, q, tile.v, tile.control, tile.external, d);
        fluid_force(model, &d.drags, p.com, k, &d.body_velocity, &mut d.applied_force);
        push_force(model, p, k, &mut d.applied_force);
        if runge_kutta {
            center_damping(model, dt, d);
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
fn find_contacts<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, scratch: &mut Scratch<R>, w: &mut Posed<R>) {
    drift(plan, scratch);
    let reach = R::constant(plan.dt * plan.settings.contact_speed);
    let Scratch { kinematics, drift, candidates, .. } = scratch;
    let capacity = plan.settings.contact_capacity;
    collide(&plan.collide, &kinematics.geom_pose, drift, reach, capacity, candidates, &mut w.contacts);
    w.contacts.slots.keep(first_lanes(tile.lane_count));
}

/// Stage 6, and the rows of stage 7: limits, equalities, islands, J v and Y.
#[inline(always)]
fn find_rows<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, scratch: &Scratch<R>, w: &mut Posed<R>) {
    let (model, k) = (&*plan.model, &scratch.kinematics);
    let (dt, slack) = (R::constant(plan.dt), plan.settings.contact_speed);
    let mean = (plan.integrator == Integrator::Rk4).then_some(&*w.response.mean_velocity);
    let moving = mean.unwrap_or(&w.response.free_velocity);
    limits(model, &plan.joint_rows, tile.lane_count, dt, slack, tile.q, tile.v, moving, &mut w.limits);
    equalities(model, &plan.equalities, tile.q, k, &mut w.equalities);
    find_islands(plan, tile.lane_count, Part::All, &w.contacts, &w.limits, &mut w.islands);
    constraint_rows(plan, tile.v, k, w);
}

/// Stage 6: the blocks that a tile has. Where a world is one island, it is one block, in its own lane.
#[inline(always)]
fn find_islands<R: Pack>(
    plan: &Plan,
    lane_count: usize,
    part: Part<'_>,
    contacts: &Contacts<R>,
    limits: &Limits<R>,
    out: &mut Islands,
) {
    if plan.in_place {
        worlds(&plan.islands, lane_count, contacts, limits, part, out);
    } else {
        islands(&plan.islands, lane_count, contacts, limits, part, out);
    }
}

/// Stages 9 and 10, after the solve: v⁺ = v* + M⁻¹ Jᵀ λ, and q⁺ = q ⊕ Δt times the velocity of the position problem.
#[inline(always)]
fn finish<R: Pack>(plan: &Plan, tile: &mut Tile<'_, R>, scratch: &mut Scratch<R>, w: &mut Posed<R>) {
    let (model, words, position_velocity) = (&*plan.model, plan.rows.words, &mut scratch.position_velocity);
    tile.memory.keep(tile.lane_count, w);
    w.struck.add_to(&mut w.impulse, R::one());
    // where q moves by v̄ + ½ M⁻¹ Jᵀ λ, what came before the motion counts in full
    w.struck.add_to(&mut w.position_impulse, R::constant(if w.rows.centered() { 2.0 } else { 1.0 }));
    apply(model, words, &w.rows, &w.impulse, &w.response, tile.v);
    apply(model, words, &w.rows, &w.position_impulse, &w.response, position_velocity);
    if plan.integrator == Integrator::Rk4 {
        // v̄ + ½ M⁻¹ Jᵀ λ
        for (i, x) in position_velocity.iter_mut().enumerate() {
            *x = R::constant(0.5).mul_add(*x - w.response.free_velocity[i], w.response.mean_velocity[i]);
        }
    }
    scratch.free_position.copy_from_slice(tile.q);
    integrate(model, R::constant(plan.dt), &scratch.position_velocity, tile.q);
    if plan.integrator == Integrator::Rk4 {
        keep_momentum(plan, tile, scratch, w);
    }
    let mut speed = R::zero();
    for x in tile.v.iter() {
        speed = x.abs().max(speed);
    }
    w.speed = not_finite(tile.v, not_finite(tile.q, speed));
}

/// Free motion Δt V* of every geom.
#[inline(always)]
pub(crate) fn drift<R: Real>(plan: &Plan, scratch: &mut Scratch<R>) {
    let model = &*plan.model;
    for (i, geom) in model.geoms.iter().enumerate() {
        if let Some(tree) = model.bodies[geom.body].tree {
            let velocity = scratch.dynamics.free_body_velocity[geom.body];
            let shift = velocity.mul_add(R::constant(plan.dt), Motion::zero());
            let reference = scratch.kinematics.reference[tree];
            let turn = shift.angular.norm() * R::constant(plan.radius[i]);
            let travel = shift.at(scratch.kinematics.geom_pose[i].position - reference).norm() + turn;
            scratch.drift[i] = Drift { shift, reference, travel };
        }
    }
}
