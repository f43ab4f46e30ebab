//! A world's step once more: in f64, for what the number type of the step is too coarse for; or with all rows within reach, where its answer closes a gap that was left out ([`super::left_out`]).
//!
//! A block may be out of reach of a precision: its rounding floor lies far above the tolerance, a number overflows, or the exact solver finds no
//! answer to the rounded problem. Such a world is stepped again with every stage in f64. Its new state is then rounded, and its certificate is that of the step in f64.
//!
//! Either way worlds of all tiles of a chunk are put next to each other as they were before the step, so that they fill lanes of their own; those that they came from go on without them.

use super::chunk::Chunk;
use super::felt::Felt;
use super::memory::Memory;
use super::plan::Plan;
use super::records::BlockRecord;
use super::worker::{Redo, Worker};
use crate::lane::{Pack, Scalar};
use crate::parameters::{Parameter, TileParameters};
use crate::report::{WorldReport, WorldStatus};

/// Puts the numbers of lane `from_lane` into a lane of a tile; a new tile has them in all lanes.
fn carry<R: Pack, E: Pack>(from: &[R], from_lane: usize, place: usize, to: &mut Vec<E>) {
    let (len, tile, lane) = (from.len(), place / E::LANES, place % E::LANES);
    to.resize((tile + 1) * len, E::zero());
    for (x, to) in from.iter().zip(&mut to[tile * len..]) {
        put(x.get(from_lane).to_f64(), lane, to);
    }
}

/// Puts a number into a lane; the first of a tile into all of them, so that none that is idle holds what is no number of the model's.
fn put<E: Pack>(x: f64, lane: usize, to: &mut E) {
    if lane == 0 {
        *to = E::constant(x);
    } else {
        to.set(lane, E::Scalar::from_f64(x));
    }
}

impl<E: Pack> Redo<E> {
    fn new(plan: &Plan) -> Self {
        Self {
            worker: Worker::new(plan, 1, false),
            worlds: Vec::new(),
            q: Vec::new(),
            v: Vec::new(),
            drive: Vec::new(),
            external: Vec::new(),
            parameters: Default::default(),
            memory: Vec::new(),
            reports: Vec::new(),
            watched: Vec::new(),
            felt: Vec::new(),
            remembered: Vec::new(),
        }
    }

    /// Forgets the worlds of the last step.
    fn clear(&mut self) {
        self.worlds.clear();
        self.reports.clear();
        self.watched.clear();
        for numbers in [&mut self.q, &mut self.v, &mut self.drive, &mut self.external, &mut self.felt] {
            numbers.clear();
        }
        self.parameters.iter_mut().for_each(Vec::clear);
    }

    /// Takes over world `world` of the chunk, as it is before the step.
    fn take<R: Pack>(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>, world: usize) {
        let (place, from) = (self.worlds.len(), world % R::LANES);
        let (tile, lane) = (place / E::LANES, place % E::LANES);
        self.worlds.push(world);
        self.reports.push(WorldReport::default());
        self.watched.push(chunk.watched[world].as_ref().map(|_| Vec::new()));
        let source = chunk.tile(&plan.model, world / R::LANES);
        carry(source.q, from, place, &mut self.q);
        carry(source.v, from, place, &mut self.v);
        carry(source.drive, from, place, &mut self.drive);
        carry(source.external, from, place, &mut self.external);
        for (parameter, to) in Parameter::ALL.into_iter().zip(&mut self.parameters) {
            carry(source.parameters.of(parameter), from, place, to);
        }
        if size_of::<E::Scalar>() > size_of::<R::Scalar>() {
            self.refine::<R>(plan, place);
        }
        if self.memory.len() <= tile {
            self.memory.push(Memory::default());
        }
        source.memory.recall(from, &mut self.remembered);
        self.memory[tile].set(lane, &self.remembered);
        // the sums of this step by itself, about the same point
        let sums = chunk.felt.tile(world / R::LANES);
        let first_of_point = sums.len().saturating_sub(3);
        self.felt.resize((tile + 1) * sums.len(), E::zero());
        for (k, (own, sum)) in self.felt[tile * sums.len()..].iter_mut().zip(sums).enumerate() {
            put(if k < first_of_point { 0.0 } else { sum.get(from).to_f64() }, lane, own);
        }
    }

    /// Makes sizes and poses of the world in `place` the model's own where they are what the coarser type of `R` makes of those.
    fn refine<R: Pack>(&mut self, plan: &Plan, place: usize) {
        let (model, tile, lane) = (&*plan.model, place / E::LANES, place % E::LANES);
        let own = |x: &E, planned: f64| {
            let x = x.get(lane).to_f64();
            if R::Scalar::from_f64(planned).to_f64() == x { planned } else { x }
        };
        let sizes = &mut self.parameters[Parameter::GeomSize as usize];
        let len = sizes.len() / (tile + 1);
        for (x, planned) in sizes[tile * len..].iter_mut().zip(model.geoms.iter().flat_map(|geom| geom.shape.size())) {
            put(own(x, planned), lane, x);
        }
        let rest = Parameter::MocapPose.shared(model, [0.0; 2]);
        if !rest.is_empty() {
            // what follows of the poses, in this type
            let poses = &mut self.parameters[Parameter::MocapPose as usize];
            let len = poses.len() / (tile + 1);
            let given: Vec<f64> = poses[tile * len..].iter().zip(rest).map(|(x, rest)| own(x, rest)).collect();
            for (x, completed) in
                poses[tile * len..].iter_mut().zip(Parameter::MocapPose.completed(model, &given).iter())
            {
                put(*completed, lane, x);
            }
        }
    }

    /// Steps them.
    fn step<R: Pack>(
        &mut self,
        plan: &Plan,
        chunk: &Chunk<'_, R>,
        all_rows: bool,
        see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>,
    ) {
        let (tiles, worlds) = (self.worlds.len().div_ceil(E::LANES), &self.worlds);
        let own = &self.parameters;
        let parameters = |tile: usize| {
            TileParameters::new(|parameter| {
                let own = &own[parameter as usize];
                &own[tile * own.len() / tiles..(tile + 1) * own.len() / tiles]
            })
        };
        let world_of = |record: &BlockRecord<'_>| {
            if let Some(see) = see {
                see(&BlockRecord { world: chunk.first_world + worlds[record.world], ..*record });
            }
        };
        let mut alone = Chunk {
            first_world: 0,
            q: &mut self.q,
            v: &mut self.v,
            drive: &mut self.drive,
            external: &mut self.external,
            parameters: &parameters,
            memory: &mut self.memory[..tiles],
            reports: &mut self.reports,
            watched: &mut self.watched,
            felt: Felt { plan: chunk.felt.plan, sums: &mut self.felt, evaluation: chunk.felt.evaluation },
        };
        self.worker.have_tiles(plan, tiles);
        self.worker.all_rows = all_rows;
        let see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)> = if see.is_some() { Some(&world_of) } else { None };
        self.worker.evaluate(plan, &mut alone, see);
    }

    /// Gives them back to the chunk: state, memory, contacts, and what they report, `redone` where that was in f64. Rounded, a state may have become infinite.
    fn give<R: Pack>(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>, redone: bool) {
        for (place, &world) in self.worlds.iter().enumerate() {
            let ((tile, lane), to_lane) = ((place / E::LANES, place % E::LANES), world % R::LANES);
            let source = chunk.tile(&plan.model, world / R::LANES);
            let mut is_finite = true;
            for (from, to) in [(&self.q, source.q), (&self.v, source.v)] {
                for (from, to) in from[tile * to.len()..].iter().zip(to) {
                    let x = R::Scalar::from_f64(from.get(lane).to_f64());
                    is_finite &= x.is_finite();
                    to.set(to_lane, x);
                }
            }
            let mut report = self.reports[place];
            report.redone |= redone;
            if !is_finite {
                report.status = WorldStatus::NotFinite;
            }
            self.memory[tile].recall(lane, &mut self.remembered);
            source.memory.set(to_lane, &self.remembered);
            if report.status == WorldStatus::NotFinite {
                source.memory.forget(to_lane);
            }
            let sums = &self.felt[tile * chunk.felt.plan.len()..];
            chunk.felt.add(world, sums.iter().map(|sum| sum.get(lane).to_f64()));
            if let Some(contacts) = &mut chunk.watched[world] {
                *contacts = self.watched[place].take().unwrap_or_default();
            }
            chunk.reports[world].add(&report);
        }
    }
}

impl<R: Pack> Worker<R> {
    /// Forgets the worlds that took the last step once more.
    pub(super) fn start_redoing(&mut self) {
        if let Some(redo) = &mut self.redo {
            redo.clear();
        }
        if let Some(again) = &mut self.again {
            again.clear();
        }
    }

    /// Steps the worlds again that are not solved, where f64 may do better.
    pub(super) fn step_again(
        &mut self,
        plan: &Plan,
        chunk: &mut Chunk<'_, R>,
        see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>,
    ) {
        let Some(exact) = &plan.exact else { return };
        for world in 0..chunk.reports.len() {
            if self.mended[world].unsolved && chunk.is_finite(&plan.model, world) {
                self.redo.get_or_insert_with(|| Box::new(Redo::new(exact))).take(exact, chunk, world);
            }
        }
        if let Some(redo) = self.redo.as_mut().filter(|redo| !redo.worlds.is_empty()) {
            redo.step(exact, chunk, false, see);
        }
    }

    /// Takes over the worlds of tile `t`, which are still as they were before the step, whose answer closes a gap that was left out.
    pub(super) fn take_closed(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>, t: usize) {
        let closed = self.posed[t].closed & !self.elsewhere(t);
        for lane in (0..R::LANES).filter(|lane| closed >> lane & 1 != 0) {
            let again = self.again.get_or_insert_with(|| Box::new(Redo::new(plan)));
            again.take(plan, chunk, t * R::LANES + lane);
        }
    }

    /// Steps them with all rows within reach.
    pub(super) fn step_closed(
        &mut self,
        plan: &Plan,
        chunk: &mut Chunk<'_, R>,
        see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>,
    ) {
        if let Some(again) = self.again.as_mut().filter(|again| !again.worlds.is_empty()) {
            again.step(plan, chunk, true, see);
        }
    }

    /// Whether the step of a world of the chunk was made in f64.
    pub(super) fn is_redone(&self, world: usize) -> bool {
        self.redo.as_ref().is_some_and(|redo| redo.worlds.contains(&world))
    }

    /// The worlds of tile `t` that take the step once more, one bit a lane.
    pub(super) fn elsewhere(&self, t: usize) -> u32 {
        let redone = self.redo.iter().flat_map(|redo| &redo.worlds);
        let again = self.again.iter().flat_map(|again| &again.worlds);
        let of_tile = redone.chain(again).filter(|world| **world / R::LANES == t);
        of_tile.fold(0, |lanes, world| lanes | 1 << (world % R::LANES))
    }

    /// Gives the worlds that took the step once more what came of it.
    pub(super) fn put_back(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>) {
        if let Some(redo) = &mut self.redo {
            redo.give(plan, chunk, true);
        }
        if let Some(again) = &mut self.again {
            again.give(plan, chunk, false);
        }
    }

    /// Whether it ever took a step once more with all rows.
    #[cfg(test)]
    pub fn steps_again(&self) -> bool {
        self.again.is_some()
    }
}
