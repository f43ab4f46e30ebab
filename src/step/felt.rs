//! What contacts do to geoms: moments and impulses of a tile of worlds, added up in lanes over the substeps of a call.

use super::patches::resultant;
use super::posed::Posed;
use crate::lane::{Compiled, Pack, PackMask, Scalar, Task};
use crate::model::{Frame, JointKind, Model};
use crate::runge_kutta::WEIGHT;
use crate::spatial::{Vec3, vec3};

/// Numbers of a sum: moment about a point of the world's own, N·m·s, then impulse, N·s, both in world axes.
pub const SUM: usize = 6;

/// Which sums there are: what every geom felt in a call; what the first of every pair of frames felt from the second; what every geom felt in the last
/// substep; and, where every evaluation of a step solves its own, in the last of these, times Δt. Behind them stands the point that moments are about, m.
#[derive(Debug, Clone, Default)]
pub struct FeltPlan {
    /// Whether anybody asks.
    pub is_asked: bool,
    /// Sums that a contact of a pair of geoms goes into as what its second geom feels, and those as what its first does, shape \[pair\].
    sums: Vec<[Vec<usize>; 2]>,
    /// Number of geoms, and of pairs of frames.
    counts: [usize; 2],
    /// How many times a step solves.
    evaluations: usize,
}

impl FeltPlan {
    /// For worlds that are asked what geoms feel, and what of `between`.
    pub fn new(model: &Model, evaluations: usize, between: &[[Frame; 2]]) -> Self {
        let geoms = model.geoms.len();
        let plan = Self { is_asked: true, sums: Vec::new(), counts: [geoms, between.len()], evaluations };
        let sums = model.pairs.iter().map(|pair| {
            // what `own` feels from `other`
            let of = |own: usize, other: usize| {
                let between = between.iter().enumerate();
                let both = between.filter(|(_, [a, b])| has(model, *a, own) && has(model, *b, other));
                let last = [plan.last(own), plan.last_evaluation(own)];
                let last = &last[..if evaluations > 1 { 2 } else { 1 }];
                [own].iter().chain(last).copied().chain(both.map(|(k, _)| plan.between(k))).collect()
            };
            [of(pair.geom_b, pair.geom_a), of(pair.geom_a, pair.geom_b)]
        });
        let sums = sums.collect();
        Self { sums, ..plan }
    }
    /// Numbers of a world.
    pub fn len(&self) -> usize {
        if self.is_asked { SUM * self.last_evaluation(self.counts[0]) + 3 } else { 0 }
    }
    /// The sum of pair `k` of frames.
    pub fn between(&self, k: usize) -> usize {
        self.counts[0] + k
    }
    /// The sum of geom `geom` in the last substep.
    pub fn last(&self, geom: usize) -> usize {
        self.counts[0] + self.counts[1] + geom
    }
    /// The sum of geom `geom` in its last evaluation.
    pub fn last_evaluation(&self, geom: usize) -> usize {
        self.last(geom) + if self.evaluations > 1 { self.counts[0] } else { 0 }
    }
}

/// Whether a geom is the frame, or one of the geoms of its body.
pub fn has(model: &Model, frame: Frame, geom: usize) -> bool {
    if let Frame::Geom(only) = frame { geom == only } else { model.geoms[geom].body == frame.body(model) }
}

/// What the worlds of a chunk have felt.
#[derive(Debug)]
pub struct Felt<'a, R> {
    /// Which sums.
    pub plan: &'a FeltPlan,
    /// Shape `[tile][len][lane]`.
    pub sums: &'a mut [R],
    /// The evaluation of the step that is being made.
    pub evaluation: usize,
}

impl<R: Pack> Felt<'_, R> {
    /// Those of tile `t`.
    pub fn tile(&mut self, t: usize) -> &mut [R] {
        let len = self.plan.len();
        &mut self.sums[t * len..(t + 1) * len]
    }

    /// As a call of `step` begins: moments are about where the first free body of every world is now, so that they stay small far from the origin.
    /// `q`: position, shape `[tile][nq][lane]`.
    pub fn clear(&mut self, model: &Model, q: &[R]) {
        self.sums.fill(R::zero());
        let Some(first) = model.joints.iter().find(|joint| joint.kind == JointKind::Free) else { return };
        for t in 0..if self.plan.is_asked { q.len() / model.nq() } else { 0 } {
            let (q, sums) = (&q[t * model.nq() + first.q_start..][..3], self.tile(t));
            let len = sums.len();
            sums[len - 3..].copy_from_slice(q);
        }
    }

    /// Adds what a world felt in a step, or in an evaluation of it, after the others of its tile.
    pub fn add(&mut self, world: usize, step: impl Iterator<Item = f64>) {
        if !self.plan.is_asked {
            return;
        }
        let count = self.plan.len() - 3;
        for (sum, x) in self.tile(world / R::LANES).iter_mut().zip(step).take(count) {
            let before = sum.get(world % R::LANES).to_f64();
            sum.set(world % R::LANES, R::Scalar::from_f64(before + x));
        }
    }

    /// Forgets what a world felt.
    pub fn forget(&mut self, world: usize) {
        if self.plan.is_asked {
            self.tile(world / R::LANES)
                .iter_mut()
                .for_each(|sum| sum.lanes_mut()[world % R::LANES] = Default::default());
        }
    }
}

/// Adds what contacts do in a step to the sums of a tile: of the worlds among `lanes`, one bit each.
pub(super) struct Feel<'a, R: Pack> {
    pub felt: &'a FeltPlan,
    pub posed: &'a Posed<R>,
    pub lanes: u32,
    pub sums: &'a mut [R],
    /// See [`Felt::evaluation`].
    pub evaluation: usize,
}

impl<R: Pack> Task for Feel<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { felt, posed, lanes, sums, evaluation } = self;
        let share = R::constant(if felt.evaluations > 1 { WEIGHT[evaluation] } else { 1.0 });
        let (contacts, rows) = (&posed.contacts, &posed.rows);
        let about = sums.len() - 3;
        let about = vec3(sums[about], sums[about + 1], sums[about + 2]);
        let anew = if evaluation == 0 { felt.last(0) } else { felt.last_evaluation(0) };
        sums[SUM * anew..SUM * felt.last_evaluation(felt.counts[0])].fill(R::zero());
        for part in &contacts.slots.parts {
            let (slot, lanes) = (part.slot as usize, R::Mask::from_bits(part.lanes & lanes));
            let [n, t1, t2] = rows.frame[slot];
            let zero = R::zero();
            let ([normal, first, second], [d1, d2], [about_n, about_1, about_2]) = if slot < contacts.patches.len() {
                let (impulse, [d1, d2, torsion]) = resultant(posed, slot);
                (impulse, [d1, d2], [torsion, zero, zero])
            } else {
                let impulse = &posed.impulse;
                (rows.contact_impulse(slot, impulse), [zero; 2], rows.contact_torque(slot, impulse))
            };
            // λ = n λ_n + t₁ λ₁ + t₂ λ₂ at p, with torques about n, t₁ and t₂
            let impulse = n.scale(normal) + t1.scale(first) + t2.scale(second);
            let arm = contacts.position[slot] + t1.scale(d1) + t2.scale(d2) - about;
            let torque = n.scale(about_n) + t1.scale(about_1) + t2.scale(about_2);
            let moment = arm.cross(impulse) + torque;
            let (moment, impulse) =
                (Vec3::select(lanes, moment, Vec3::zero()), Vec3::select(lanes, impulse, Vec3::zero()));
            let wrench = [moment.x, moment.y, moment.z, impulse.x, impulse.y, impulse.z];
            let [second, first] = &felt.sums[part.origin as usize];
            for (of, sign) in [(second, R::one()), (first, -R::one())] {
                for &sum in of {
                    let part = if sum < felt.last(felt.counts[0]) { sign * share } else { sign };
                    for k in 0..SUM {
                        sums[SUM * sum + k] = part.mul_add(wrench[k], sums[SUM * sum + k]);
                    }
                }
            }
        }
    }
}
