//! Worlds of a chunk in an order of their own while they step: next to each other those that touch alike.
//!
//! A tile has as many rows as its world with most, and sweeps as long as its hardest. No bit of a world depends on its lane, nor on its neighbours: so a
//! step may put worlds into whatever lanes it likes, by what they touched in the step before, and put them back. That pays where a step poses and solves
//! several times, for the way there and back is the same.

use super::chunk::Chunk;
use super::felt::Felt;
use super::memory::Memory;
use super::plan::Plan;
use super::records::ContactRecord;
use crate::lane::{Compiled, MOST_LANES, Pack, STRIP, Task};
use crate::parameters::{PARAMETERS, Parameter, TileParameters};
use crate::report::WorldReport;

/// Worlds are sorted where tiles had so many times the rows of their worlds in the step before.
const WASTE: f64 = 1.25;

/// The worlds of a chunk, sorted.
#[derive(Debug, Default)]
pub(super) struct Sorted<R: Pack> {
    /// World of the chunk in every place, and what it was sorted by above.
    worlds: Vec<u64>,
    /// Place of every world.
    places: Vec<u64>,
    /// As in [`Chunk`].
    q: Vec<R>,
    v: Vec<R>,
    drive: Vec<R>,
    external: Vec<R>,
    /// In the order of [`Parameter::ALL`], shape `[tile][len]`; empty where all worlds share it.
    parameters: [Vec<R>; PARAMETERS],
    memory: Vec<Memory<R>>,
    reports: Vec<WorldReport>,
    watched: Vec<Option<Vec<ContactRecord>>>,
    felt: Vec<R>,
    /// Numbers on their way: one array world by world, and rows of memory tile by tile.
    strips: Vec<[R::Scalar; STRIP]>,
    rows: [Vec<R>; 2],
}

/// A world, or a place: what it was sorted by stands above.
const INDEX: u64 = 0xffff;

impl<R: Pack> Sorted<R> {
    /// Sorts the worlds, where that pays.
    pub fn sorts(&mut self, plan: &Plan, chunk: &Chunk<'_, R>) -> bool {
        if plan.evaluations == 1 || !plan.in_place || chunk.tile_count() == 1 {
            return false;
        }
        let (mut most, mut all) = (0, 0);
        for tile in chunk.reports.chunks(R::LANES) {
            most += tile.len() * tile.iter().map(|world| world.row_count).max().unwrap_or(0);
            all += tile.iter().map(|world| world.row_count).sum::<usize>();
        }
        if most as f64 <= WASTE * all as f64 {
            return false;
        }
        self.worlds.clear();
        for (world, report) in chunk.reports.iter().enumerate() {
            let count = |count: usize| (count as u64).min(INDEX);
            self.worlds.push(count(report.contact_count) << 32 | count(report.row_count) << 16 | world as u64);
        }
        self.worlds.sort_unstable();
        self.places.resize(self.worlds.len(), 0);
        for (place, world) in self.worlds.iter().enumerate() {
            self.places[(world & INDEX) as usize] = place as u64;
        }
        true
    }

    /// Takes over what the worlds have.
    pub fn take(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>) {
        let (model, tiles) = (&*plan.model, chunk.tile_count());
        let Self { worlds, strips, rows, .. } = self;
        let mut sort = |from: &[R], to: &mut Vec<R>| {
            to.resize(from.len(), R::zero());
            plan.level.run(Move { tiles, from, to, which: worlds, strips });
        };
        sort(chunk.q, &mut self.q);
        sort(chunk.v, &mut self.v);
        sort(&chunk.drive[..tiles * model.drive_len()], &mut self.drive);
        sort(chunk.external, &mut self.external);
        sort(chunk.felt.sums, &mut self.felt);
        let first = chunk.first_world / R::LANES;
        for (parameter, own) in Parameter::ALL.into_iter().zip(&mut self.parameters) {
            let of = |tile: usize| (chunk.parameters)(first + tile).of(parameter);
            own.clear();
            if !std::ptr::eq(of(0), of(1)) {
                rows[0].clear();
                (0..tiles).for_each(|tile| rows[0].extend_from_slice(of(tile)));
                sort(&rows[0], own);
            }
        }
        self.memory.resize_with(tiles, Memory::default);
        carry_memory(plan, chunk.memory, &mut self.memory, worlds, (strips, rows));
        self.reports.clear();
        self.watched.clear();
        for world in worlds {
            let world = (*world & INDEX) as usize;
            self.reports.push(chunk.reports[world]);
            self.watched.push(chunk.watched[world].take());
        }
    }

    /// Does `work` with the worlds as they are sorted.
    pub fn with(&mut self, chunk: &Chunk<'_, R>, work: impl FnOnce(&mut Chunk<'_, R>)) {
        let tiles = self.memory.len();
        let (shared, own) = ((chunk.parameters)(chunk.first_world / R::LANES), &self.parameters);
        let parameters = |tile: usize| {
            TileParameters::new(|parameter| match &own[parameter as usize] {
                own if own.is_empty() => shared.of(parameter),
                own => &own[tile * own.len() / tiles..(tile + 1) * own.len() / tiles],
            })
        };
        work(&mut Chunk {
            first_world: 0,
            q: &mut self.q,
            v: &mut self.v,
            drive: &mut self.drive,
            external: &mut self.external,
            parameters: &parameters,
            memory: &mut self.memory,
            reports: &mut self.reports,
            watched: &mut self.watched,
            felt: Felt { plan: chunk.felt.plan, sums: &mut self.felt, evaluation: chunk.felt.evaluation },
        });
    }

    /// Gives back what became of them.
    pub fn give(&mut self, plan: &Plan, chunk: &mut Chunk<'_, R>) {
        let (model, tiles) = (&*plan.model, chunk.tile_count());
        let Self { places, strips, rows, .. } = self;
        let mut give = |from: &[R], to: &mut [R]| plan.level.run(Move { tiles, from, to, which: places, strips });
        give(&self.q, chunk.q);
        give(&self.v, chunk.v);
        give(&self.felt, chunk.felt.sums);
        if model.na() > 0 {
            give(&self.drive, &mut chunk.drive[..tiles * model.drive_len()]);
        }
        carry_memory(plan, &mut self.memory, chunk.memory, places, (strips, rows));
        for (world, place) in places.iter().enumerate() {
            chunk.reports[world] = self.reports[*place as usize];
            chunk.watched[world] = self.watched[*place as usize].take();
        }
    }
}

/// What worlds remember, in another order: `which` stands in every place.
fn carry_memory<R: Pack>(
    plan: &Plan,
    from: &mut [Memory<R>],
    to: &mut [Memory<R>],
    which: &[u64],
    (strips, [before, after]): (&mut Vec<[R::Scalar; STRIP]>, &mut [Vec<R>; 2]),
) {
    let (joint_rows, equality_rows) = (plan.joint_rows.len(), plan.equalities.rows.len());
    before.clear();
    for memory in from.iter_mut() {
        memory.joint_impulse.resize(joint_rows, R::zero());
        memory.equality_impulse.resize(equality_rows, R::zero());
        before.extend_from_slice(&memory.joint_impulse);
        before.extend_from_slice(&memory.equality_impulse);
    }
    after.resize(before.len(), R::zero());
    plan.level.run(Move { tiles: to.len(), from: before, to: after, which, strips });
    for (tile, (memory, which)) in to.iter_mut().zip(which.chunks(R::LANES)).enumerate() {
        let rows = &after[tile * (joint_rows + equality_rows)..][..joint_rows + equality_rows];
        memory.joint_impulse.clear();
        memory.joint_impulse.extend_from_slice(&rows[..joint_rows]);
        memory.equality_impulse.clear();
        memory.equality_impulse.extend_from_slice(&rows[joint_rows..]);
        memory.gather_contacts(from, which.iter().map(|world| (world & INDEX) as usize));
    }
}

/// Numbers of worlds, shape `[tile][len][lane]`, in another order: `which` stands in every place. Lanes that are idle stay so.
struct Move<'a, R: Pack> {
    tiles: usize,
    from: &'a [R],
    to: &'a mut [R],
    which: &'a [u64],
    strips: &'a mut Vec<[R::Scalar; STRIP]>,
}

impl<R: Pack> Task for Move<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { tiles, from, to, which, strips } = self;
        let (len, worlds) = (from.len() / tiles, which.len());
        let width = len.div_ceil(STRIP);
        strips.resize((worlds + 1) * width, [R::Scalar::default(); STRIP]);
        for tile in 0..tiles {
            let mut at = [0; MOST_LANES];
            for lane in 0..R::LANES {
                at[lane] = ((tile * R::LANES + lane).min(worlds) * width) as u32;
            }
            for k in 0..width {
                let numbers = &from[tile * len..][..len][k * STRIP..];
                let (count, mut packs) = (numbers.len().min(STRIP), [R::zero(); STRIP]);
                packs[..count].copy_from_slice(&numbers[..count]);
                R::scatter(&packs, &mut strips[k..], &at);
            }
        }
        for tile in 0..tiles {
            let mut at = [(worlds * width) as u32; MOST_LANES];
            for (lane, world) in which[tile * R::LANES..].iter().take(R::LANES).enumerate() {
                at[lane] = ((world & INDEX) as usize * width) as u32;
            }
            for k in 0..width {
                let numbers = &mut to[tile * len..][..len][k * STRIP..];
                let count = numbers.len().min(STRIP);
                numbers[..count].copy_from_slice(&R::gather(&strips[k..], &at)[..count]);
            }
        }
    }
}
