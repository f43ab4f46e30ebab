//! One tile of worlds in a step: what it is given, what it poses, and what a thread needs for a moment.

use super::adhesion::AdhesionRoom;
use super::memory::Memory;
use super::places::Places;
use super::supports::Bits;
use crate::contact::{Contacts, Drift, Near};
use crate::damping::Damped;
use crate::dynamics::{Dynamics, Response};
use crate::equality::Equalities;
use crate::island::{EDGES, Islands};
use crate::kinematics::Kinematics;
use crate::lane::{Pack, PackMask, Real, copies};
use crate::limit::Limits;
use crate::model::Model;
use crate::parameters::TileParameters;
use crate::report::WorldReport;
use crate::runge_kutta::{RungeKutta, Whole};
use crate::spatial::Vec3;

/// State and inputs of one tile of worlds.
#[derive(Debug)]
pub struct Tile<'a, R: Real> {
    /// Number of worlds in the tile; lanes beyond are idle.
    pub lane_count: usize,
    /// Position, shape \[nq\].
    pub q: &'a mut [R],
    /// Velocity, shape \[nv\].
    pub v: &'a mut [R],
    /// Control, and then activation, shape \[nu + na\].
    pub drive: &'a mut [R],
    /// Which evaluation of the step this is, where each solves its own.
    pub evaluation: usize,
    /// Generalized force from outside, N or N·m, shape \[nv\].
    pub external: &'a [R],
    /// Parameters that may differ from world to world.
    pub parameters: TileParameters<'a, R>,
    /// What the last step leaves for the next.
    pub memory: &'a mut Memory<R>,
}

/// What a thread needs for a moment, for whichever tile is at hand.
#[derive(Debug)]
pub struct Scratch<R: Real> {
    pub(crate) kinematics: Kinematics<R>,
    pub(crate) dynamics: Dynamics<R>,
    /// For what Runge-Kutta evaluates inside of the step.
    pub(super) inside: RungeKutta<R>,
    pub(crate) drift: Vec<Drift<R>>,
    /// Of actuators, shape \[nu\].
    pub(super) inputs: Vec<R>,
    /// The points that may be contacts.
    pub(super) candidates: Vec<Near<R>>,
    pub(super) adhesion: AdhesionRoom<R>,
    /// v⁺, shape \[nv\].
    pub(super) velocity: Vec<R>,
    /// Velocity that moves q, shape \[nv\].
    pub(super) position_velocity: Vec<R>,
    /// Room for a change of velocity, shape \[nv\].
    pub(super) change: Vec<R>,
    /// q at the start of the step, and then after free motion, shape \[nq\].
    pub(super) free_position: Vec<R>,
    /// All trees after free motion, and as the step leaves them, shape \[tree\].
    pub(super) free_trees: Vec<Whole<R>>,
    pub(super) trees: Vec<Whole<R>>,
}

impl<R: Real> Scratch<R> {
    pub(crate) fn new(model: &Model) -> Self {
        Self {
            kinematics: Kinematics::new(model),
            dynamics: Dynamics::new(model),
            inside: RungeKutta::new(model),
            drift: copies(Drift::none(), model.geoms.len()),
            inputs: copies(R::zero(), model.nu()),
            candidates: Vec::new(),
            adhesion: AdhesionRoom::new(model),
            velocity: copies(R::zero(), model.nv()),
            position_velocity: copies(R::zero(), model.nv()),
            change: copies(R::zero(), model.nv()),
            free_position: copies(R::zero(), model.nq()),
            free_trees: copies(Whole::default(), model.trees.len()),
            trees: copies(Whole::default(), model.trees.len()),
        }
    }
}

/// What one tile of worlds poses in a step, kept until its answer moves the worlds on.
#[derive(Debug, Clone)]
pub struct Posed<R: Real> {
    pub(crate) response: Response<R>,
    /// For damping after the constraints.
    pub(super) damped: Damped<R>,
    pub(super) contacts: Contacts<R>,
    pub(super) limits: Limits<R>,
    pub(super) equalities: Equalities<R>,
    pub(super) islands: Islands,
    pub(super) rows: Rows<R>,
    pub(super) places: Places,
    pub(super) struck: Struck<R>,
    /// Share of their reach within which the contacts and limits of every world are posed.
    pub(super) share: R,
    pub(super) left_out: LeftOutRows<R>,
    /// The worlds whose answer closes a gap that was left out, one bit a lane.
    pub(super) closed: u32,
    /// Impulse λ of every row, N·s, shape \[row\].
    pub(super) impulse: Vec<R>,
    /// That of the position problem, N·s, shape \[row\].
    pub(super) position_impulse: Vec<R>,
    /// 0, or not a number where the free velocity is infinite or not a number.
    pub(super) overflow: R,
    /// Largest entry of |v| after the step, m/s or rad/s; infinite or not a number where the new state is.
    pub(super) speed: R,
    /// The deepest overlap of contacts, m; 0 without.
    pub(super) penetration: R,
    /// The share of the push-out that positions move by, 1 but where that would be far.
    pub(super) granted: R,
}

impl<R: Real> Posed<R> {
    /// Room for `model`; the rest grows with the contacts.
    pub(crate) fn new(model: &Model) -> Self {
        Self {
            response: Response::new(model),
            damped: Damped::new(model),
            contacts: Contacts::default(),
            limits: Limits::default(),
            equalities: Equalities::default(),
            islands: Islands::default(),
            rows: Rows::default(),
            places: Places::default(),
            struck: Struck::default(),
            share: R::one(),
            left_out: LeftOutRows::default(),
            closed: 0,
            impulse: Vec::new(),
            position_impulse: Vec::new(),
            overflow: R::zero(),
            speed: R::zero(),
            penetration: R::zero(),
            granted: R::one(),
        }
    }
}

/// The constraint rows of a tile of worlds, before they are dealt out to blocks.
#[derive(Debug, Clone, Default)]
pub struct Rows<R> {
    /// Y, shape \[row\]\[nv\]; entries outside the support of the row's slot are not meaningful.
    pub y: Vec<R>,
    /// Free velocity J v* of every row, shape \[row\].
    pub free: Vec<R>,
    /// Velocity J v before the step, shape \[row\].
    pub previous: Vec<R>,
    /// J v̄ of every row, v̄ being the velocity that moves q in free motion, shape \[row\]; empty where v̄ = v* (Euler).
    pub(super) mean: Vec<R>,
    /// How every slot yields, shape \[slot\]; empty where constraints are hard.
    pub(super) soft: Vec<Soft<R>>,
    /// Y λ of what the rows had in the last step, shape \[nv\]; of round cones that yield.
    pub(super) before: Vec<R>,
    /// Impulse of every contact in the last step, along its normal and tangents, N·s, shape \[contact slot\]; of round cones that yield.
    pub(super) contact_before: Vec<[R; 3]>,
    /// Support of every slot, one bit a degree of freedom, shape \[slot\]\[word\].
    pub support: Vec<u64>,
    /// Contact frames: normal, two tangents, shape \[contact slot\].
    pub frame: Vec<[Vec3<R>; 3]>,
    /// μ of contacts that are pyramids, shape \[contact slot\]; empty where none are.
    pub(super) friction: Vec<R>,
    /// Rotations of contacts that are pyramids.
    pub(super) turns: Turns<R>,
    /// Rows of the slot of a contact that is a pyramid, see [`crate::island::IslandPlan::edges`].
    pub(super) edges: usize,
    /// Room for rows that become others.
    pub(super) spare: Spare<R>,
}

/// The rotations of the contacts of a tile; empty where no contact of the model has any.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns<R> {
    /// Y, shape \[contact slot\]\[turn\]\[nv\]; entries outside the support of the slot are not meaningful.
    pub y: Vec<R>,
    /// Velocity of every rotation without impulses, rad/s, shape \[contact slot\]\[turn\].
    pub free: Vec<R>,
    /// That before the step.
    pub previous: Vec<R>,
    /// μ about normal and tangents, m, 0 where a contact has no such friction, shape \[contact slot\].
    pub friction: Vec<[R; MOST_TURNS]>,
}

/// Rotations of a contact of condim 6.
pub(super) const MOST_TURNS: usize = 3;

/// Rotations that the slot of a contact with so many edges has: 0, 1 or 3.
#[inline(always)]
pub(super) fn turn_count(edges: usize) -> usize {
    edges.saturating_sub(EDGES) / 2
}

/// What rows have before they become others, see [`super::pyramids`].
#[derive(Debug, Clone, Default)]
pub(super) struct Spare<R> {
    pub y: Vec<R>,
    pub free: Vec<R>,
    pub previous: Vec<R>,
    pub support: Vec<u64>,
}

/// How the rows of a slot yield; a slot of one row has the first entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Soft<R> {
    /// Velocity target of every row, m/s or rad/s.
    pub target: [R; 3],
    /// R of every row, (m/s)/(N·s) or (rad/s)/(N·m·s).
    pub compliance: [R; 3],
}

impl<R: Pack> Rows<R> {
    /// Contact slots that have three rows, the first of all slots: all of them, or none where contacts are pyramids.
    #[inline(always)]
    pub(super) fn three_rows(&self) -> usize {
        if self.friction.is_empty() { self.frame.len() } else { 0 }
    }

    /// The first slot behind those of contacts, and of patches, which have so many.
    #[inline(always)]
    pub(super) fn joint_start(&self, patch_rows: usize) -> usize {
        if self.friction.is_empty() { self.frame.len() + patch_rows } else { self.edges * self.frame.len() }
    }

    /// Impulse of a contact along its normal and tangents, of those of its rows, N·s.
    #[inline(always)]
    pub(super) fn contact_impulse(&self, slot: usize, impulse: &[R]) -> [R; 3] {
        let Some(friction) = self.friction.get(slot) else {
            return [impulse[3 * slot], impulse[3 * slot + 1], impulse[3 * slot + 2]];
        };
        let edge = &impulse[self.edges * slot..][..self.edges];
        let mut normal = (edge[0] + edge[1]) + (edge[2] + edge[3]);
        for more in &edge[EDGES..] {
            normal += *more;
        }
        [normal, *friction * (edge[0] - edge[1]), *friction * (edge[2] - edge[3])]
    }

    /// Impulse of its torques about normal and tangents at the contact point, N·m·s: of torsional and rolling friction.
    #[inline(always)]
    pub(super) fn contact_torque(&self, slot: usize, impulse: &[R]) -> [R; MOST_TURNS] {
        let mut torque = [R::zero(); MOST_TURNS];
        if let Some(friction) = self.turns.friction.get(slot) {
            let edge = &impulse[self.edges * slot..][..self.edges];
            for i in 0..turn_count(self.edges) {
                let [plus, minus] = [edge[EDGES + 2 * i], edge[EDGES + 2 * i + 1]];
                torque[i] = friction[i] * (plus - minus);
            }
        }
        torque
    }

    /// Whether q moves by the mean velocity of the step instead of the velocity at its end.
    #[inline(always)]
    pub fn centered(&self) -> bool {
        !self.mean.is_empty()
    }

    /// u, u* and ū of a row: before the step, without impulses, and as it moves in free motion.
    #[inline(always)]
    pub(super) fn motion(&self, row: usize) -> [R; 3] {
        [self.previous[row], self.free[row], self.mean(row)]
    }

    /// J v̄ of a row: the velocity at which it moves in free motion, on the mean of the step.
    #[inline(always)]
    pub fn mean(&self, row: usize) -> R {
        if self.centered() { self.mean[row] } else { self.free[row] }
    }

    /// b of the position problem, whose w is what J times the velocity that moves q has beyond `target`; with Runge-Kutta, twice that: there
    /// q moves by the mean v̄ + ½ M⁻¹ Jᵀ λ, so that a contact that lasts has the same λ in both problems.
    #[inline(always)]
    pub fn position_bias(&self, row: usize, target: R) -> R {
        position_bias(self.centered(), self.mean(row), target)
    }

    /// The support of `slot`, one bit a degree of freedom.
    #[inline(always)]
    pub fn support_words(&self, words: usize, slot: usize) -> &[u64] {
        &self.support[slot * words..(slot + 1) * words]
    }
    /// The degrees of freedom in it.
    #[inline(always)]
    pub fn support(&self, words: usize, slot: usize) -> Bits<'_> {
        Bits::of(self.support_words(words, slot))
    }
}

/// b of the position problem of a row that moves at `mean` in free motion, see [`Rows::position_bias`].
#[inline(always)]
pub(crate) fn position_bias<R: Real>(centered: bool, mean: R, target: R) -> R {
    if centered { R::constant(2.0) * (mean - target) } else { mean - target }
}

/// The rows of J that a tile of worlds leaves out, see [`super::left_out`].
#[derive(Debug, Clone)]
pub(super) struct LeftOutRows<R: Real> {
    pub rows: Vec<LeftOutRow<R>>,
    /// Degree of freedom and number of every entry of J, row by row.
    pub jacobian: Vec<(usize, R)>,
}

/// One of them.
#[derive(Debug, Clone)]
pub(super) struct LeftOutRow<R: Real> {
    /// Where its entries end.
    pub end: usize,
    /// m or rad.
    pub gap: R,
    pub lanes: R::Mask,
}

impl<R: Real> Default for LeftOutRows<R> {
    fn default() -> Self {
        Self { rows: Vec::new(), jacobian: Vec::new() }
    }
}

/// What the impacts of a step have done so far to a tile of worlds. Empty while impacts are simultaneous.
#[derive(Debug, Clone, Default)]
pub(super) struct Struck<R> {
    /// Impulse of every row, all passes together, N·s, shape \[row\].
    pub(super) impulse: Vec<R>,
    /// The contacts that strike now: their lanes, one bit each, shape \[contact slot\].
    pub striking: Vec<u32>,
    /// The worlds that have passes, one bit a lane.
    pub(super) worlds: u32,
    /// Room for Y λ, shape \[nv\].
    pub(super) change: Vec<R>,
    /// Certificates of the passes so far, shape \[lane\].
    pub(super) reports: Vec<WorldReport>,
}

impl<R: Pack> Struck<R> {
    /// Forgets the last step.
    pub fn clear(&mut self, row_count: usize) {
        self.impulse.clear();
        self.impulse.resize(row_count, R::zero());
        self.worlds = u32::MAX;
        self.reports.clear();
        self.reports.resize(R::LANES, WorldReport::default());
    }

    /// The worlds in which something strikes now, one bit a lane.
    pub fn now(&self) -> u32 {
        self.striking.iter().fold(0, |worlds, lanes| worlds | lanes)
    }

    /// Adds the impulses of the passes, `times` over, to those of a problem of the step.
    #[inline(always)]
    pub fn add_to(&self, impulse: &mut [R], times: R) {
        let worlds = R::Mask::from_bits(self.worlds);
        for (sum, x) in impulse.iter_mut().zip(&self.impulse) {
            *sum = R::select(worlds, times.mul_add(*x, *sum), *sum);
        }
    }
}
