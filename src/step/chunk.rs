//! A chunk of tiles: the worlds that one thread steps at a time.

use super::felt::Felt;
use super::memory::Memory;
use super::posed::Tile;
use super::records::ContactRecord;
use crate::lane::{Pack, Scalar};
use crate::model::Model;
use crate::parameters::TileParameters;
use crate::report::WorldReport;

/// Worlds next to each other, borrowed from the state of a batch.
pub struct Chunk<'a, R: Pack> {
    /// First world.
    pub first_world: usize,
    /// Position, shape `[tile][nq][lane]`.
    pub q: &'a mut [R],
    /// Velocity, shape `[tile][nv][lane]`.
    pub v: &'a mut [R],
    /// Control, and then activation, shape `[tile][nu + na][lane]`.
    pub drive: &'a mut [R],
    /// Generalized force from outside, N or N·m, shape `[tile][nv][lane]`.
    pub external: &'a mut [R],
    /// Parameters of a tile of the whole batch.
    pub parameters: &'a (dyn Fn(usize) -> TileParameters<'a, R> + Sync),
    /// What the last step leaves for the next, shape `[tile]`.
    pub memory: &'a mut [Memory<R>],
    /// Report of every world.
    pub reports: &'a mut [WorldReport],
    /// Contacts of the last step of every world that is watched.
    pub watched: &'a mut [Option<Vec<ContactRecord>>],
    /// What contacts did so far in this call, where somebody asks.
    pub felt: Felt<'a, R>,
}

impl<R: Pack> Chunk<'_, R> {
    /// Number of tiles.
    pub fn tile_count(&self) -> usize {
        self.memory.len()
    }

    /// Reads control and outside force, shapes `[world][nu]` and `[world][nv]`, of all worlds of the batch.
    pub fn load(&mut self, model: &Model, control: &[f64], external: &[f64]) {
        let worlds = self.first_world..self.first_world + self.reports.len();
        let control = (control, &mut *self.drive, model.nu(), model.drive_len());
        for (from, to, len, room) in [control, (external, &mut *self.external, model.nv(), model.nv())] {
            for (i, world) in worlds.clone().enumerate() {
                let tile = &mut to[i / R::LANES * room..][..len];
                for (entry, x) in tile.iter_mut().zip(&from[world * len..(world + 1) * len]) {
                    entry.set(i % R::LANES, R::Scalar::from_f64(*x));
                }
            }
        }
    }

    /// Whether the state and the inputs of a world are finite.
    pub(super) fn is_finite(&mut self, model: &Model, world: usize) -> bool {
        let (tile, lane) = (self.tile(model, world / R::LANES), world % R::LANES);
        [&*tile.q, &*tile.v, &*tile.drive, tile.external]
            .iter()
            .all(|numbers| numbers.iter().all(|x| x.get(lane).is_finite()))
    }

    /// Number of worlds of tile `t`.
    pub fn lane_count(&self, t: usize) -> usize {
        (self.reports.len() - t * R::LANES).min(R::LANES)
    }

    /// Tile `t` of the chunk.
    pub fn tile(&mut self, model: &Model, t: usize) -> Tile<'_, R> {
        let (nq, nv, nd, lanes) = (model.nq(), model.nv(), model.drive_len(), R::LANES);
        Tile {
            lane_count: self.lane_count(t),
            q: &mut self.q[t * nq..(t + 1) * nq],
            v: &mut self.v[t * nv..(t + 1) * nv],
            drive: &mut self.drive[t * nd..(t + 1) * nd],
            evaluation: self.felt.evaluation,
            external: &self.external[t * nv..(t + 1) * nv],
            parameters: (self.parameters)(self.first_world / lanes + t),
            memory: &mut self.memory[t],
        }
    }
}
