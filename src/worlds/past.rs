//! What worlds keep of a call of `step` for who looks back at it: what contacts did, and the state before the last substep.

use crate::lane::{Pack, Scalar};
use crate::model::{Frame, Model};
use crate::spatial::{Vec3, vec3};
use crate::step::{Chunk, ContactRecord, Felt, FeltPlan, SUM, has};
use rayon::prelude::*;

/// What all worlds keep; where nobody asks, one number a tile.
pub(super) struct Past<R> {
    is_kept: bool,
    /// The pairs whose contacts are added up by themselves.
    pub pairs: Vec<[Frame; 2]>,
    felt_plan: FeltPlan,
    /// As [`Felt::sums`], shape `[tile][felt_len]`.
    felt: Vec<R>,
    felt_len: usize,
    /// q, then v before the last substep, then 1, or 0 for a world that was given a new state since, shape `[tile][before_len]` = `[tile][nq + nv + 1][lane]`.
    before: Vec<R>,
    before_len: usize,
}

impl<R: Pack> Past<R> {
    /// Of worlds that nobody asks.
    pub fn new(world_count: usize) -> Self {
        Self::of_size(false, Vec::new(), FeltPlan::default(), world_count, 1)
    }
    /// Of worlds that are asked, whose steps have so many evaluations.
    pub fn kept(model: &Model, evaluations: usize, world_count: usize, pairs: Vec<[Frame; 2]>) -> Self {
        let felt = FeltPlan::new(model, evaluations, &pairs);
        Self::of_size(true, pairs, felt, world_count, model.nq() + model.nv() + 1)
    }
    fn of_size(
        is_kept: bool,
        pairs: Vec<[Frame; 2]>,
        felt_plan: FeltPlan,
        world_count: usize,
        before_len: usize,
    ) -> Self {
        // chunks of nothing are none
        let (felt_len, tiles) = (felt_plan.len().max(1), world_count.div_ceil(R::LANES));
        let (felt, before) = (vec![R::zero(); tiles * felt_len], vec![R::zero(); tiles * before_len]);
        Self { is_kept, pairs, felt_plan, felt, felt_len, before, before_len }
    }
    /// The same of other worlds.
    #[cfg(feature = "gpu")]
    pub fn alike(&self, world_count: usize) -> Self {
        Self::of_size(self.is_kept, self.pairs.clone(), self.felt_plan.clone(), world_count, self.before_len)
    }

    pub fn is_kept(&self) -> bool {
        self.is_kept
    }
    pub fn bytes(&self) -> usize {
        size_of::<R>() * (self.felt.len() + self.before.len())
    }

    /// Of chunks of so many tiles.
    pub fn parts<'a>(
        &'a mut self,
        model: &'a Model,
        tiles: usize,
    ) -> impl IndexedParallelIterator<Item = (PastPart<'a, R>, Felt<'a, R>)> {
        let (is_kept, plan, before_len) = (self.is_kept, &self.felt_plan, self.before_len);
        let felt = self.felt.par_chunks_mut(tiles * self.felt_len);
        let before = self.before.par_chunks_mut(tiles * before_len);
        felt.zip(before).map(move |(sums, before)| {
            (PastPart { model, is_kept, before, before_len }, Felt { plan, sums, evaluation: 0 })
        })
    }
    /// Of all worlds.
    #[cfg(feature = "gpu")]
    pub fn whole<'a>(&'a mut self, model: &'a Model) -> (PastPart<'a, R>, Felt<'a, R>) {
        let (is_kept, before_len) = (self.is_kept, self.before_len);
        let felt = Felt { plan: &self.felt_plan, sums: &mut self.felt, evaluation: 0 };
        (PastPart { model, is_kept, before: &mut self.before, before_len }, felt)
    }

    /// Takes over what world `at` of `other` did, as that of `world`.
    #[cfg(feature = "gpu")]
    pub fn take(&mut self, world: usize, other: &Self, at: usize) {
        carry(&other.felt, at, &mut self.felt, world, self.felt_len);
        carry(&other.before, at, &mut self.before, world, self.before_len);
    }

    /// Of the worlds of a tile, with the contacts of their last substep; none if nothing is kept.
    pub fn seen<'a>(&'a self, tile: usize, contacts: &'a [Option<Vec<ContactRecord>>]) -> Option<PastSeen<'a, R>> {
        self.is_kept.then(|| PastSeen {
            pairs: &self.pairs,
            plan: &self.felt_plan,
            felt: &self.felt[tile * self.felt_len..(tile + 1) * self.felt_len],
            before: &self.before[tile * self.before_len..(tile + 1) * self.before_len],
            contacts,
        })
    }
}

/// The past of a chunk, while it is stepped.
pub(super) struct PastPart<'a, R> {
    model: &'a Model,
    is_kept: bool,
    before: &'a mut [R],
    before_len: usize,
}

impl<R: Pack> PastPart<'_, R> {
    /// Forgets what a world of the chunk did.
    pub fn forget(&mut self, index: usize) {
        let end = (index / R::LANES + 1) * self.before_len;
        self.before[end - 1].set(index % R::LANES, R::Scalar::from_f64(0.0));
    }

    /// Keeps the state before the last substep.
    pub fn before(&mut self, chunk: &Chunk<'_, R>) {
        if !self.is_kept {
            return;
        }
        let (nq, nv) = (self.model.nq(), self.model.nv());
        for (t, before) in self.before.chunks_exact_mut(self.before_len).enumerate() {
            before[..nq].copy_from_slice(&chunk.q[t * nq..(t + 1) * nq]);
            before[nq..nq + nv].copy_from_slice(&chunk.v[t * nv..(t + 1) * nv]);
            before[nq + nv] = R::one();
        }
    }
}

/// Whose contacts.
#[derive(Clone, Copy)]
pub(super) enum Whose {
    /// Of a geom, or of all geoms of the frame's body, over the substeps of the last call.
    Of(Frame),
    /// The same in the last substep.
    LastOf(Frame),
    /// The same of its last evaluation, where every evaluation solves its own: what MuJoCo tells after a step.
    LastEvaluationOf(Frame),
    /// Of the first with the second, over the substeps of the last call.
    Between([Frame; 2]),
}

/// The past of the worlds of a tile.
pub(super) struct PastSeen<'a, R> {
    pairs: &'a [[Frame; 2]],
    plan: &'a FeltPlan,
    felt: &'a [R],
    before: &'a [R],
    /// Contacts of the last substep, shape \[world\].
    pub contacts: &'a [Option<Vec<ContactRecord>>],
}

impl<'a, R: Pack> PastSeen<'a, R> {
    /// q and v before the last substep, shapes \[nq\] and \[nv\], and the worlds that have made one since their state was given.
    #[inline(always)]
    pub fn before(&self, model: &Model) -> (&'a [R], &'a [R], R::Mask) {
        let (q, rest) = self.before.split_at(model.nq());
        let (v, stepped) = rest.split_at(model.nv());
        (q, v, R::zero().lt(stepped[0]))
    }

    /// Moment about `p`, N·m·s, and impulse, N·s, that contacts gave.
    #[inline(always)]
    pub fn felt(&self, model: &Model, whose: Whose, p: Vec3<R>) -> (Vec3<R>, Vec3<R>) {
        let mut sum = [R::zero(); SUM];
        match whose {
            Whose::Between(pair) => {
                if let Some(k) = self.pairs.iter().position(|other| *other == pair) {
                    self.add(self.plan.between(k), &mut sum);
                }
            }
            Whose::Of(frame) | Whose::LastOf(frame) | Whose::LastEvaluationOf(frame) => {
                let first = match whose {
                    Whose::LastOf(_) => self.plan.last(0),
                    Whose::LastEvaluationOf(_) => self.plan.last_evaluation(0),
                    _ => 0,
                };
                for geom in 0..model.geoms.len() {
                    if has(model, frame, geom) {
                        self.add(first + geom, &mut sum);
                    }
                }
            }
        }
        let [a, b, c, x, y, z] = sum;
        let (moment, impulse) = (vec3(a, b, c), vec3(x, y, z));
        let about = &self.felt[self.felt.len() - 3..];
        // τ_p = τ_o − (p − o) × λ
        (moment - (p - vec3(about[0], about[1], about[2])).cross(impulse), impulse)
    }

    /// Adds one of the sums.
    #[inline(always)]
    fn add(&self, which: usize, sum: &mut [R; SUM]) {
        for k in 0..SUM {
            sum[k] += self.felt[SUM * which + k];
        }
    }
}

/// Moves entry `i` of world `world` of tiles `from` (shape `[tile][len]`) to place `at` of tiles `to`.
#[cfg(feature = "gpu")]
pub(super) fn carry<R: Pack>(from: &[R], world: usize, to: &mut [R], at: usize, len: usize) {
    for i in 0..len {
        let x = from[world / R::LANES * len + i].get(world % R::LANES);
        to[at / R::LANES * len + i].set(at % R::LANES, x);
    }
}
