//! A world's step once more, in f64: for what the number type of the step is too coarse for.
//!
//! A block may be out of reach of a precision: its rounding floor lies far above the tolerance, a number overflows, or the exact solver finds no
//! answer to the rounded problem. Such a world is stepped again from the state before the step, by itself, with every stage in f64. Its new state is then
//! rounded, and its certificate is that of the step in f64.

use super::chunk::Chunk;
use super::felt::Felt;
use super::memory::Memory;
use super::plan::Plan;
use super::records::BlockRecord;
use super::worker::{Redo, Redone, Worker};
use crate::lane::{Pack, Scalar};
use crate::parameters::{Parameter, TileParameters};
use crate::report::{WorldReport, WorldStatus};

impl<E: Pack> Redo<E> {
    fn new(plan: &Plan) -> Self {
        Self {
            worker: Worker::new(plan, 1, false),
            q: Vec::new(),
            v: Vec::new(),
            drive: Vec::new(),
            external: Vec::new(),
            parameters: Default::default(),
            memory: Memory::default(),
            felt: Vec::new(),
        }
    }

    /// Steps world `index` of `chunk` from the state that it has.
    fn step<R: Pack>(
        &mut self,
        plan: &Plan,
        chunk: &mut Chunk<'_, R>,
        index: usize,
        see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>,
    ) -> Redone {
        let (first_world, lane) = (chunk.first_world, index % R::LANES);
        let mut watched = [chunk.watched[index].as_ref().map(|_| Vec::new())];
        let tile = chunk.tile(&plan.model, index / R::LANES);
        let carry = |from: &[R], to: &mut Vec<E>| {
            to.clear();
            to.extend(from.iter().map(|x| E::constant(x.get(lane).to_f64())));
        };
        carry(tile.q, &mut self.q);
        carry(tile.v, &mut self.v);
        carry(tile.drive, &mut self.drive);
        carry(tile.external, &mut self.external);
        for (parameter, to) in Parameter::ALL.into_iter().zip(&mut self.parameters) {
            carry(tile.parameters.of(parameter), to);
        }
        let sizes = plan.model.geoms.iter().flat_map(|geom| geom.shape.size());
        if sizes.zip(tile.parameters.geom_size).all(|(x, own)| own.get(lane) == R::Scalar::from_f64(x)) {
            // the model's own sizes, not what the coarser type makes of them
            self.parameters[Parameter::GeomSize as usize].clear();
        }
        let rest = Parameter::MocapPose.shared(&plan.model, [0.0; 2]);
        if !rest.is_empty() {
            // what follows of the poses, in this type; of the model's own poses, not of what the coarser type makes of them
            let given = tile.parameters.mocap_pose.iter().zip(rest).map(|(x, rest)| {
                let x = x.get(lane);
                if x == R::Scalar::from_f64(rest) { rest } else { x.to_f64() }
            });
            let poses: Vec<f64> = given.collect();
            let poses = Parameter::MocapPose.completed(&plan.model, &poses);
            self.parameters[Parameter::MocapPose as usize] = poses.iter().map(|x| E::constant(*x)).collect();
        }
        self.memory.set(0, &tile.memory.of(lane));
        // the sums of this step by itself, about the same point
        let felt = chunk.felt.plan;
        self.felt.clear();
        self.felt.resize(felt.len(), E::constant(0.0));
        let sums = chunk.felt.tile(index / R::LANES);
        for (own, point) in self.felt.iter_mut().zip(&*sums).rev().take(if felt.is_asked { 3 } else { 0 }) {
            *own = E::constant(point.get(lane).to_f64());
        }
        let parameters = TileParameters::new(|parameter| &self.parameters[parameter as usize]);
        let mut reports = [WorldReport::default()];
        let mut alone = Chunk {
            first_world: first_world + index,
            q: &mut self.q,
            v: &mut self.v,
            drive: &mut self.drive,
            external: &mut self.external,
            parameters: &|_| parameters,
            memory: std::slice::from_mut(&mut self.memory),
            reports: &mut reports,
            watched: &mut watched,
            felt: Felt { plan: felt, sums: &mut self.felt, evaluation: chunk.felt.evaluation },
        };
        self.worker.evaluate(plan, &mut alone, see);
        let [report] = reports;
        let [contacts] = watched;
        let numbers = |x: &[E]| x.iter().map(|x| x.get(0).to_f64()).collect();
        Redone {
            index,
            q: numbers(&self.q),
            v: numbers(&self.v),
            memory: self.memory.of(0),
            report: WorldReport { redone: true, ..report },
            contacts,
            felt: numbers(&self.felt),
        }
    }
}

impl<R: Pack> Worker<R> {
    /// Steps the worlds again that are not solved, where f64 may do better.
    pub(super) fn step_again(
        &mut self,
        plan: &Plan,
        chunk: &mut Chunk<'_, R>,
        see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>,
    ) {
        let Some(exact) = &plan.exact else { return };
        for index in 0..chunk.reports.len() {
            if self.mended[index].unsolved && chunk.is_finite(&plan.model, index) {
                let redo = self.redo.get_or_insert_with(|| Box::new(Redo::new(exact)));
                let redone = redo.step(exact, chunk, index, see);
                self.redone.push(redone);
            }
        }
    }

    /// What came of the step in f64 of world `index` of the chunk, if there was one.
    pub(super) fn redone(&self, index: usize) -> Option<&Redone> {
        self.redone.iter().find(|redone| redone.index == index)
    }

    /// Gives the worlds that were stepped again their new state and memory.
    pub(super) fn put_back(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>) {
        for redone in &mut self.redone {
            let lane = redone.index % R::LANES;
            let tile = chunk.tile(&plan.model, redone.index / R::LANES);
            for (from, to) in [(&redone.q, tile.q), (&redone.v, tile.v)] {
                for (x, entry) in from.iter().zip(to) {
                    entry.set(lane, R::Scalar::from_f64(*x));
                }
            }
            tile.memory.set(lane, &redone.memory);
            chunk.felt.add(redone.index, &redone.felt);
            if let Some(contacts) = &mut chunk.watched[redone.index] {
                *contacts = redone.contacts.take().unwrap_or_default();
            }
        }
    }

    /// The report of a world that was stepped again. Rounded, its state may have become infinite.
    pub(super) fn report_of_redone(&self, index: usize) -> Option<WorldReport> {
        let redone = self.redone(index)?;
        let fits = |x: &f64| R::Scalar::from_f64(*x).is_finite();
        let mut report = redone.report;
        if !redone.q.iter().chain(&redone.v).all(fits) {
            report.status = WorldStatus::NotFinite;
        }
        Some(report)
    }
}
