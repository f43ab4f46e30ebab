//! What worlds keep of a call of `step` for who looks back at it: what contacts did, and the state before the last substep.

use crate::lane::{Pack, Scalar};
use crate::model::{Frame, Model};
use crate::step::{Chunk, ContactRecord};
use nalgebra::Vector3;
use rayon::prelude::*;

/// Impulses that a geom feels: moment about the origin of the world (N·m·s) and impulse (N·s), summed over the substeps of a call, then those of the last
/// substep.
const GEOM: usize = 12;
/// The same that one of a pair feels from the other, summed over the substeps of a call.
const PAIR: usize = 6;

/// What all worlds keep; where nobody asks, one number a world and a tile.
pub(super) struct Past<R> {
    is_kept: bool,
    /// The pairs whose contacts are added up by themselves.
    pub pairs: Vec<[Frame; 2]>,
    /// What every geom has felt, then the first of every pair from the second, shape `[world][felt_len]` = `[world][geom · GEOM + pair · PAIR]`.
    felt: Vec<f64>,
    felt_len: usize,
    /// q, then v before the last substep, then 1, or 0 for a world that was given a new state since, shape `[tile][before_len]` = `[tile][nq + nv + 1][lane]`.
    before: Vec<R>,
    before_len: usize,
}

impl<R: Pack> Past<R> {
    /// Of worlds that nobody asks.
    pub fn new(world_count: usize) -> Self {
        Self::of_size(false, Vec::new(), world_count, [1, 1])
    }
    /// Of worlds that are asked.
    pub fn kept(model: &Model, world_count: usize, pairs: Vec<[Frame; 2]>) -> Self {
        let felt_len = (model.geoms.len() * GEOM + pairs.len() * PAIR).max(1);
        Self::of_size(true, pairs, world_count, [felt_len, model.nq() + model.nv() + 1])
    }
    fn of_size(is_kept: bool, pairs: Vec<[Frame; 2]>, world_count: usize, [felt_len, before_len]: [usize; 2]) -> Self {
        let (felt, tile_count) = (vec![0.0; world_count * felt_len], world_count.div_ceil(R::LANES));
        Self { is_kept, pairs, felt, felt_len, before: vec![R::zero(); tile_count * before_len], before_len }
    }
    /// The same of other worlds.
    #[cfg(feature = "gpu")]
    pub fn alike(&self, world_count: usize) -> Self {
        Self::of_size(self.is_kept, self.pairs.clone(), world_count, [self.felt_len, self.before_len])
    }

    pub fn is_kept(&self) -> bool {
        self.is_kept
    }
    pub fn bytes(&self) -> usize {
        size_of::<f64>() * self.felt.len() + size_of::<R>() * self.before.len()
    }

    /// Of chunks of so many tiles.
    pub fn parts<'a>(
        &'a mut self,
        model: &'a Model,
        tiles: usize,
    ) -> impl IndexedParallelIterator<Item = PastPart<'a, R>> {
        let (is_kept, pairs, felt_len, before_len) = (self.is_kept, &*self.pairs, self.felt_len, self.before_len);
        let felt = self.felt.par_chunks_mut(tiles * R::LANES * felt_len);
        let before = self.before.par_chunks_mut(tiles * before_len);
        felt.zip(before).map(move |(felt, before)| PastPart {
            model,
            is_kept,
            pairs,
            felt,
            felt_len,
            before,
            before_len,
        })
    }
    /// Of all worlds.
    #[cfg(feature = "gpu")]
    pub fn whole<'a>(&'a mut self, model: &'a Model) -> PastPart<'a, R> {
        PastPart {
            model,
            is_kept: self.is_kept,
            pairs: &self.pairs,
            felt: &mut self.felt,
            felt_len: self.felt_len,
            before: &mut self.before,
            before_len: self.before_len,
        }
    }

    /// Takes over what world `at` of `other` did, as that of `world`.
    #[cfg(feature = "gpu")]
    pub fn take(&mut self, world: usize, other: &Self, at: usize) {
        let len = self.felt_len;
        self.felt[world * len..(world + 1) * len].copy_from_slice(&other.felt[at * len..(at + 1) * len]);
        carry(&other.before, at, &mut self.before, world, self.before_len);
    }

    /// Of the worlds of a tile, with the contacts of their last substep; none if nothing is kept.
    pub fn seen<'a>(&'a self, tile: usize, contacts: &'a [Option<Vec<ContactRecord>>]) -> Option<PastSeen<'a, R>> {
        let first = tile * R::LANES * self.felt_len;
        self.is_kept.then(|| PastSeen {
            pairs: &self.pairs,
            felt: &self.felt[first..first + contacts.len() * self.felt_len],
            felt_len: self.felt_len,
            before: &self.before[tile * self.before_len..(tile + 1) * self.before_len],
            contacts,
        })
    }
}

/// The past of a chunk, while it is stepped.
pub(super) struct PastPart<'a, R> {
    model: &'a Model,
    is_kept: bool,
    pairs: &'a [[Frame; 2]],
    felt: &'a mut [f64],
    felt_len: usize,
    before: &'a mut [R],
    before_len: usize,
}

impl<R: Pack> PastPart<'_, R> {
    /// As a call of `step` begins.
    pub fn cleared(self) -> Self {
        self.felt.fill(0.0);
        self
    }

    /// Forgets what a world of the chunk did.
    pub fn forget(&mut self, index: usize) {
        self.felt[index * self.felt_len..(index + 1) * self.felt_len].fill(0.0);
        let end = (index / R::LANES + 1) * self.before_len;
        self.before[end - 1].set(index % R::LANES, R::Scalar::from_f64(0.0));
    }

    /// Keeps the state before a substep.
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

    /// Adds up the contacts of a substep.
    pub fn after(&mut self, chunk: &Chunk<'_, R>) {
        if !self.is_kept {
            return;
        }
        for (contacts, felt) in chunk.watched.iter().zip(self.felt.chunks_exact_mut(self.felt_len)) {
            let (geoms, pairs) = felt.split_at_mut(self.model.geoms.len() * GEOM);
            geoms.chunks_exact_mut(GEOM).for_each(|geom| geom[6..].fill(0.0));
            for c in contacts.as_deref().unwrap_or_default() {
                let wrench = wrench(c);
                for (geom, sign) in [(c.geom_a, -1.0), (c.geom_b, 1.0)] {
                    let geom = &mut geoms[geom * GEOM..(geom + 1) * GEOM];
                    for (i, x) in wrench.iter().enumerate() {
                        geom[i] += sign * x;
                        geom[6 + i] += sign * x;
                    }
                }
                for (pair, sum) in self.pairs.iter().zip(pairs.chunks_exact_mut(PAIR)) {
                    for ([first, second], sign) in [([c.geom_a, c.geom_b], -1.0), ([c.geom_b, c.geom_a], 1.0)] {
                        if has(self.model, pair[0], first) && has(self.model, pair[1], second) {
                            sum.iter_mut().zip(&wrench).for_each(|(sum, x)| *sum += sign * x);
                        }
                    }
                }
            }
        }
    }
}

/// What a contact does to its second geom: moment about the origin of the world, N·m·s, and impulse, N·s.
fn wrench(c: &ContactRecord) -> [f64; 6] {
    // λ = n λ_n + t₁ λ₁ + t₂ λ₂
    let impulse: Vector3<f64> = (0..3).map(|i| c.frame[i] * c.impulse[i]).sum();
    let torsion = c.patch.as_ref().map_or(0.0, |patch| patch.torsion);
    let moment = c.position.cross(&impulse) + c.frame[0] * torsion;
    [moment.x, moment.y, moment.z, impulse.x, impulse.y, impulse.z]
}

/// Whether a geom is the frame, or one of the geoms of its body.
fn has(model: &Model, frame: Frame, geom: usize) -> bool {
    if let Frame::Geom(only) = frame { geom == only } else { model.geoms[geom].body == frame.body(model) }
}

/// Whose contacts.
#[derive(Clone, Copy)]
pub(super) enum Felt {
    /// Of a geom, or of all geoms of the frame's body, over the substeps of the last call.
    Of(Frame),
    /// The same in the last substep.
    LastOf(Frame),
    /// Of the first with the second, over the substeps of the last call.
    Between([Frame; 2]),
}

/// The past of the worlds of a tile.
pub(super) struct PastSeen<'a, R> {
    pairs: &'a [[Frame; 2]],
    felt: &'a [f64],
    felt_len: usize,
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

    /// Moment about the origin of the world, N·m·s, and impulse, N·s, that contacts gave in world `world` of the tile.
    pub fn felt(&self, model: &Model, world: usize, whose: Felt) -> [f64; 6] {
        let felt = &self.felt[world * self.felt_len..(world + 1) * self.felt_len];
        let (geoms, pairs) = felt.split_at(model.geoms.len() * GEOM);
        let mut sum = [0.0; 6];
        let (frame, first) = match whose {
            Felt::Of(frame) => (frame, 0),
            Felt::LastOf(frame) => (frame, 6),
            Felt::Between(pair) => {
                if let Some(k) = self.pairs.iter().position(|other| *other == pair) {
                    sum.copy_from_slice(&pairs[k * PAIR..(k + 1) * PAIR]);
                }
                return sum;
            }
        };
        for (g, geom) in geoms.chunks_exact(GEOM).enumerate() {
            if has(model, frame, g) {
                sum.iter_mut().zip(&geom[first..]).for_each(|(sum, x)| *sum += x);
            }
        }
        sum
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
