//! The state of worlds, in tiles here and world by world for everybody else.

#[cfg(feature = "gpu")]
use super::backends::Solver;
use super::core::Core;
use super::{Mask, Numbers, NumbersMut, State, Worlds};
use crate::error::Result;
use crate::lane::{Pack, Scalar};
use rayon::prelude::*;

/// Worlds whose state a thread writes, at least: fewer do not pay for waking another.
const WRITTEN_AT_ONCE: usize = 256;

/// Writes `from`, shape `[tile][len][lane]`, to `out`, shape `[world][len]`.
fn read<R: Pack>(from: &[R], len: usize, out: NumbersMut<'_>) {
    fn copy<R: Pack, T>(from: &[R], len: usize, out: &mut [T], number: impl Fn(R::Scalar) -> T) {
        for (world, row) in out.chunks_exact_mut(len).enumerate() {
            let tile = &from[world / R::LANES * len..][..len];
            for (x, pack) in row.iter_mut().zip(tile) {
                *x = number(pack.get(world % R::LANES));
            }
        }
    }
    match out {
        NumbersMut::F32(out) => copy(from, len, out, |x| x.to_f64() as f32),
        NumbersMut::F64(out) => copy(from, len, out, Scalar::to_f64),
    }
}

impl<R: Pack> Core<R> {
    /// Writes the positions to `out`, shape `[world][nq]`.
    pub(super) fn read_positions(&self, out: NumbersMut<'_>) -> Result<()> {
        read(self.state()?[0], self.plan.model.nq(), out);
        Ok(())
    }

    /// Writes the velocities to `out`, shape `[world][nv]`.
    pub(super) fn read_velocities(&self, out: NumbersMut<'_>) -> Result<()> {
        read(self.state()?[1], self.plan.model.nv(), out);
        Ok(())
    }

    /// Gives worlds a new state; they remember nothing of the old one.
    pub(super) fn write_states(&mut self, mask: Mask<'_>, state: &State<'_>) -> Result<()> {
        // what was read before is not to stand over what is written now; of what cannot be read the next step tells
        #[cfg(feature = "gpu")]
        self.with_device(|core, on| {
            let _ = core.take_late(on);
            Ok(())
        })?;
        #[cfg(feature = "gpu")]
        if let Solver::Gpu(on) = &mut self.solver {
            for (_, world) in mask.rows(self.world_count) {
                on.state_changed(world);
                on.forget(world);
            }
        }
        let model = &*self.plan.model;
        let (nq, nv, nu, nd) = (model.nq(), model.nv(), model.nu(), model.drive_len());
        let parts = (mask.row_count(self.world_count) / WRITTEN_AT_ONCE).clamp(1, self.threads.count());
        let tiles = self.tile_count.div_ceil(parts);
        let worlds = tiles * R::LANES;
        mask.rows(self.world_count).for_each(|(_, world)| self.watched[world].iter_mut().for_each(Vec::clear));
        let chunks = (
            self.q.par_chunks_mut(tiles * nq),
            self.v.par_chunks_mut(tiles * nv),
            self.drive.par_chunks_mut(tiles * nd.max(1)),
            self.memory.par_chunks_mut(tiles),
            self.reports.par_chunks_mut(worlds),
            self.past.parts(model, tiles),
        );
        let chunks = chunks.into_par_iter().enumerate();
        self.threads.each(chunks, |(c, (q, v, drive, memory, reports, (mut past, mut felt)))| {
            let first = c * worlds;
            let (mut own_q, mut own_v, mut own_a) = (vec![0.0; nq], vec![0.0; nv], vec![0.0; nd - nu]);
            for (row, world) in mask.rows_of(first..first + reports.len()) {
                let index = world - first;
                let (tile, lane) = (index / R::LANES, index % R::LANES);
                let activation = &mut drive[tile * nd + nu..(tile + 1) * nd];
                own_a.iter_mut().zip(&*activation).for_each(|(x, pack)| *x = pack.get(lane).to_f64());
                state(row, world, [&mut own_q, &mut own_v, &mut own_a]);
                let (q, v) = (&mut q[tile * nq..(tile + 1) * nq], &mut v[tile * nv..(tile + 1) * nv]);
                for (from, to) in [(&own_q, q), (&own_v, v), (&own_a, activation)] {
                    for (x, pack) in from.iter().zip(to) {
                        pack.set(lane, R::Scalar::from_f64(*x));
                    }
                }
                reports[index].unsolved_in_a_row = 0;
                memory[tile].forget(lane);
                past.forget(index);
                felt.forget(index);
            }
        })
    }

    /// Writes the activations to `out`, shape `[world][na]`.
    pub(super) fn read_activations(&self, out: NumbersMut<'_>) {
        let (nu, nd) = (self.plan.model.nu(), self.plan.model.drive_len());
        if nd > nu {
            let own: Vec<R> = self.drive.chunks_exact(nd).flat_map(|tile| &tile[nu..]).copied().collect();
            read(&own, nd - nu, out);
        }
    }

    /// Gives a world other activations.
    pub(super) fn write_activation(&mut self, world: usize, activation: &[f64]) {
        let (nu, nd) = (self.plan.model.nu(), self.plan.model.drive_len());
        let tile = &mut self.drive[world / R::LANES * nd..][nu..nd];
        tile.iter_mut().zip(activation).for_each(|(pack, x)| pack.set(world % R::LANES, R::Scalar::from_f64(*x)));
    }
}

impl Worlds {
    /// Activations, shape `[world][na]`, in the order of [`crate::Model::activations`].
    pub fn activations(&self) -> Vec<f64> {
        let mut activations = vec![0.0; self.world_count * self.model.na()];
        self.engine.activations((&mut activations).into());
        activations
    }

    /// Writes the activations to `out`, shape `[world][na]`.
    ///
    /// # Errors
    /// [`crate::Error::Argument`] if `out` has another length.
    pub fn activations_into<'a>(&self, out: impl Into<NumbersMut<'a>>) -> Result<()> {
        let out = out.into();
        out.check(self.world_count * self.model.na())?;
        self.engine.activations(out);
        Ok(())
    }

    /// Replaces the activations of the worlds of `mask` by their rows, shape `[row][na]`. A row is a world, or an entry of [`Mask::List`].
    /// [`Worlds::reset`] makes them those of the keyframe, or 0; [`Worlds::set_state`] leaves them.
    ///
    /// # Errors
    /// [`crate::Error::Argument`] if the shape is wrong or there is no such world.
    pub fn set_activations<'a>(&mut self, mask: Mask<'_>, activations: impl Into<Numbers<'a>>) -> Result<()> {
        let (activations, na) = (activations.into(), self.model.na());
        mask.check(self.world_count)?;
        activations.check("activations", mask.row_count(self.world_count) * na)?;
        let mut own = vec![0.0; na];
        for (row, world) in mask.rows(self.world_count) {
            activations.copy_to(row * na, &mut own);
            self.engine.set_activation(world, &own);
        }
        Ok(())
    }
}
