//! Worlds on their way to the device and back: all of them, or some, few at a time.

use super::{COLUMNS, MOVED, Resident, SCATTER, STATE, WORKGROUP, columns_of, stride};
use crate::error::Result;
use crate::gpu::Dispatch;
use crate::step::Remembered;

impl Resident {
    /// Reads what all worlds remember into `see` (world, impulses).
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) where the device failed.
    pub async fn read_memory(&self, mut see: impl FnMut(usize, Vec<Remembered>)) -> Result<()> {
        let l = &self.layout;
        for (set, worlds) in self.sets.iter().enumerate() {
            let stride = stride(worlds);
            let first = l.scalar_memory();
            let all = self.chain.read(set, STATE, first * stride..l.state_len() * stride).await?;
            for (i, world) in worlds.clone().enumerate() {
                see(world, l.remembered(&|k| all[(k - first) * stride + i]));
            }
        }
        Ok(())
    }

    /// `worlds`, by sets of buffers and at most [`MOVED`] at a time.
    pub(super) fn moved(&self, worlds: &[usize]) -> Vec<(usize, Vec<usize>)> {
        let sets = self.sets.iter().enumerate();
        sets.flat_map(|(set, all)| {
            let there: Vec<usize> = worlds.iter().copied().filter(|world| all.contains(world)).collect();
            there.chunks(MOVED).map(|some| (set, some.to_vec())).collect::<Vec<_>>()
        })
        .collect()
    }

    /// Runs `gather` or `scatter` on the first components of the state of the worlds that are listed in [`COLUMNS`]; does not wait.
    pub(super) fn run_mover(&mut self, set: usize, kernel: usize, components: usize) {
        let workgroups = [(MOVED / WORKGROUP) as u32, components as u32];
        self.chain.run(set, &[Dispatch { kernel, header: 0, workgroups }]);
    }

    /// Lists worlds of a set, with numbers that follow.
    pub(super) fn write_columns(&mut self, set: usize, worlds: &[usize], numbers: &[f32]) {
        let mut list = vec![0.0; MOVED];
        for (to, world) in list.iter_mut().zip(worlds) {
            *to = (1 + world - self.sets[set].start) as f32;
        }
        list.extend_from_slice(numbers);
        self.chain.write(set, COLUMNS, 0, &list);
    }

    /// Waits, and reads what some worlds remember into `see` (world, q and v, impulses); q and v only where `with_state`, else nothing.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) where the device failed.
    pub async fn read_worlds(
        &mut self,
        worlds: &[usize],
        with_state: bool,
        mut see: impl FnMut(usize, Vec<f32>, Vec<Remembered>),
    ) -> Result<()> {
        let (memory, end) = (self.layout.scalar_memory(), self.layout.state_len());
        let (first, state) = if with_state { (0, self.layout.outcome()) } else { (memory, 0) };
        for (set, some) in self.moved(worlds) {
            self.write_columns(set, &some, &[]);
            self.run_mover(set, self.gather, end);
            let all = self.chain.read(set, COLUMNS, (1 + first) * MOVED..(1 + end) * MOVED).await?;
            for (at, world) in some.into_iter().enumerate() {
                let own = (0..state).map(|k| all[k * MOVED + at]).collect();
                see(world, own, self.layout.remembered(&|k| all[(k - first) * MOVED + at]));
            }
        }
        Ok(())
    }

    /// Waits, and reads q and v of all worlds into `see` (world, component, number).
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) where the device failed.
    pub async fn read_state(&self, mut see: impl FnMut(usize, usize, f32)) -> Result<()> {
        let components = self.layout.outcome();
        for (set, worlds) in self.sets.iter().enumerate() {
            let stride = stride(worlds);
            let all = self.chain.read(set, STATE, 0..components * stride).await?;
            for (k, column) in all.chunks_exact(stride).enumerate() {
                worlds.clone().zip(column).for_each(|(world, x)| see(world, k, *x));
            }
        }
        Ok(())
    }

    /// Writes q and v of some worlds, as `number` of component and world has them, and what they remember.
    pub fn write_worlds(
        &mut self,
        worlds: &[usize],
        number: impl Fn(usize, usize) -> f32,
        memory: impl Fn(usize) -> Vec<Remembered>,
    ) {
        let (moving, end) = (self.layout.nq + self.layout.nv, self.layout.state_len());
        for (set, some) in self.moved(worlds) {
            let mut all = columns_of(&some, moving, &number);
            // the outcome between them is written anew before the next step
            all.resize(end * MOVED, 0.0);
            for (at, &world) in some.iter().enumerate() {
                self.layout.remember(&memory(world), |k, x| all[k * MOVED + at] = x);
            }
            self.write_columns(set, &some, &all);
            self.run_mover(set, self.gather + SCATTER, end);
        }
    }

    /// Writes what all worlds remember, as `memory` has it.
    pub fn write_memory(&mut self, memory: impl Fn(usize) -> Vec<Remembered>) {
        let l = &self.layout;
        for (set, worlds) in self.sets.iter().enumerate() {
            let (stride, first) = (stride(worlds), l.scalar_memory());
            let mut all = vec![0.0; (l.state_len() - first) * stride];
            for (i, world) in worlds.clone().enumerate() {
                l.remember(&memory(world), |k, x| all[(k - first) * stride + i] = x);
            }
            self.chain.write(set, STATE, first * stride, &all);
        }
    }
}
