//! What all steps of a batch share.

use super::adhesion::AdhesionPlan;
use super::settings::{Backend, Constraints, Impacts, Precision, Settings};
use super::softness::SoftPlan;
use super::supports::RowPlan;
use crate::contact::CollidePlan;
use crate::equality::EqualityPlan;
use crate::island::IslandPlan;
use crate::lane::Level;
use crate::limit::{JointRow, joint_rows};
use crate::model::{ImplicitDamping, Integrator, Model};
use crate::parameters::turning_radius;
use crate::runge_kutta::EVALUATIONS;
use crate::solver::FrictionLaw;
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
    /// Scheme of the free motion; Euler where every evaluation of a step is one of all forces.
    pub integrator: Integrator,
    /// How often a step poses and solves: at every evaluation of Runge-Kutta where constraints are soft, else once.
    pub evaluations: usize,
    /// When damping acts.
    pub(super) damping: Damping,
    /// Instruction set of the lanes.
    pub level: Level,
    /// Whether workers measure the time of every stage. Default false.
    pub profile: bool,
    /// Whether every world is one block, in its own lane: it is one island, whatever touches. Decided by the model and the backend.
    pub(super) in_place: bool,
    /// The same in f64, for worlds that this precision is too coarse for; none if this is f64.
    pub(super) exact: Option<Box<Self>>,
    pub(crate) collide: CollidePlan,
    /// What adheres, if anything does.
    pub(super) adhesion: Option<AdhesionPlan>,
    pub(crate) joint_rows: Vec<JointRow>,
    pub(crate) equalities: EqualityPlan,
    pub(super) islands: IslandPlan,
    /// How the rows yield; none where constraints are hard.
    pub(super) soft: Option<SoftPlan>,
    /// Whether contacts are pyramids, see [`super::pyramids`].
    pub(super) pyramids: bool,
    pub(super) rows: RowPlan,
    /// Share of their reach within which contacts and limits are posed, see [`super::left_out`].
    pub(crate) share: f64,
    /// Bounding radius of every geom, m; 0 for planes, which do not turn.
    pub(super) radius: Vec<f64>,
}

/// When the damping D of joints and servos acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Damping {
    /// By the velocity at the end of the step, constraints included: M + Δt D.
    Implicit,
    /// By the mean of those at its start and end, [`crate::damping::center_damping`].
    Centered,
    /// Implicitly, after constraints were solved without, [`crate::damping::damp`].
    After,
    /// By the velocity of the evaluation.
    Explicit,
}

/// Share of the reach within which rows are posed.
const SHARE: f64 = 0.1;

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
        let (joint_rows, equalities) =
            (joint_rows(&model), EqualityPlan::new(&model, settings.constraints == Constraints::Soft));
        let exact = (settings.precision == Precision::F32 && settings.fallback).then(|| {
            let (precision, tolerance) = (Precision::F64, Some(settings.tolerance()));
            Box::new(Self::new(model.clone(), Settings { precision, tolerance, ..settings.clone() }))
        });
        let dt = settings.dt.unwrap_or(model.timestep);
        let soft =
            (settings.constraints == Constraints::Soft).then(|| SoftPlan::new(&model, &joint_rows, &equalities, dt));
        let pyramids = soft.as_ref().is_some_and(|soft| soft.contact.pyramidal);
        let islands = IslandPlan::new(&model, &joint_rows, &equalities, pyramids);
        let scheme = settings.integrator.unwrap_or(model.integrator);
        let (integrator, evaluations, damping) = match (scheme, &soft) {
            (Integrator::Euler, None) => (scheme, 1, Damping::Implicit),
            (Integrator::Rk4, None) => (scheme, 1, Damping::Centered),
            (Integrator::Euler, Some(_)) if model.implicit_damping == ImplicitDamping::None => {
                (scheme, 1, Damping::Explicit)
            }
            (Integrator::Euler, Some(_)) => (scheme, 1, Damping::After),
            (Integrator::Rk4, Some(_)) => (Integrator::Euler, EVALUATIONS, Damping::Explicit),
        };
        Self {
            exact,
            soft,
            pyramids,
            in_place: islands.one_island() && settings.backend != Backend::Hybrid,
            share: share(&model, &settings, islands.one_island()),
            dt,
            integrator,
            evaluations,
            damping,
            level: Level::detect(),
            profile: false,
            collide,
            adhesion: AdhesionPlan::new(&model, dt, settings.constraints == Constraints::Soft),
            islands,
            rows: RowPlan::new(&model, &joint_rows, &equalities),
            joint_rows,
            equalities,
            radius: model.geoms.iter().map(|g| turning_radius(&g.shape)).collect(),
            settings,
            model,
        }
    }
}

/// Share of the reach within which a plan poses rows. It is all of it where the answer of a row is not its own: passes of impacts hand on what others throw; what bounces asks what moves at all; patches
/// are what their vertices are together. So it is where a device sweeps what the CPU deals out, and in a world that is one island: of its few rows hardly one in twenty could be left out, and the
/// worlds that take the step once more cost as much (share 0.3, ants: 0.4 % of worlds, but with them 5 % of tiles).
fn share(model: &Model, settings: &Settings, one_island: bool) -> f64 {
    let bounces = model.pairs.iter().any(|pair| pair.restitution.is_some_and(|e| e > 0.0));
    let all = one_island
        || bounces
        || settings.backend == Backend::Hybrid
        || settings.impacts == Impacts::Sequential
        || settings.friction == FrictionLaw::Patch
        || settings.constraints == Constraints::Soft;
    if all { 1.0 } else { SHARE }
}
