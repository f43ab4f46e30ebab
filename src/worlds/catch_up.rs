//! A step on the device, and the CPU's part in it: the worlds that halt there are taken on from where they stand.
//!
//! Until the last number of a call has been read, nothing that the host has is changed: a device that fails before takes nothing with it, and after that has nothing to say.

use super::Call;
use super::brought::put;
use super::control::Acting;
use super::core::Core;
use super::gathered::{Gathered, HaltedWorld};
use super::on_device::OnDevice;
use crate::error::{Error, Result};
use crate::lane::{Pack, Scalar};
use crate::parameters::Parameter;
use crate::report::WorldReport;
use crate::resident::{Answer, Given, Left, Resident, StageComparison};
use crate::step::{Remembered, Worker};
use crate::waiting::now;
use rayon::prelude::*;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The parameters that the device knows.
const GIVEN: [(Given, Parameter); 4] = [
    (Given::Gravity, Parameter::Gravity),
    (Given::MassScale, Parameter::MassScale),
    (Given::GainScale, Parameter::GainScale),
    (Given::Friction, Parameter::Friction),
];

/// What a device leaves of a call.
pub(super) struct Arrived {
    answers: Vec<Answer>,
    halted: Halted,
    /// Worlds, and what they remember.
    told: Vec<(usize, Vec<Remembered>)>,
    /// Worlds whose state was not brought back, and their q and v.
    states: Vec<(usize, Vec<f32>)>,
}

/// The worlds that a device could not step to the end.
#[derive(Default)]
struct Halted {
    /// Substeps done, and the world.
    steps: Vec<(u32, usize)>,
    /// Whether some lack room for their contacts, and there may be more.
    crowded: bool,
}

/// Component `k` of q and then v of a world, of tiles of shape `[tile][nq]` and `[tile][nv]`.
fn state_number<R: Pack>(q: &[R], v: &[R], [nq, nv]: [usize; 2], k: usize, world: usize) -> f32 {
    let tile = world / R::LANES;
    let x = if k < nq { q[tile * nq + k] } else { v[tile * nv + k - nq] };
    x.get(world % R::LANES).to_f64() as f32
}

/// The worlds of which any of the flags, each of shape \[world\], is set: mostly few of very many.
fn listed(flags: &[&[bool]]) -> Vec<usize> {
    const TOGETHER: usize = 64;
    let mut all = Vec::new();
    let count = flags.iter().map(|flags| flags.len()).min().unwrap_or(0);
    for first in (0..count).step_by(TOGETHER) {
        let end = count.min(first + TOGETHER);
        if flags.iter().any(|flags| flags[first..end].contains(&true)) {
            all.extend((first..end).filter(|world| flags.iter().any(|flags| flags[*world])));
        }
    }
    all
}

/// Tiles that a thread takes in at a time.
const TAKEN_IN: usize = 64;

/// Makes state and reports of some worlds what a device leaves of those from the `first` of its answer on.
fn take_in_part<R: Pack>(
    answer: &Answer,
    first: usize,
    [q, v]: [&mut [R]; 2],
    reports: &mut [WorldReport],
    behind: &mut [bool],
    forgets: &mut [bool],
) {
    let worlds = first..first + reports.len();
    let done = &answer.done()[worlds.clone()];
    let tiles = reports.len().div_ceil(R::LANES);
    let [nq, nv] = [q.len() / tiles, v.len() / tiles];
    let brought = if answer.has_state { [nq, nv] } else { [0; 2] };
    // a world that never began stays as the host has it, to the bit
    let changed: Vec<bool> = done.iter().zip(&*behind).map(|(done, behind)| *done > 0.0 || *behind).collect();
    let number = |x: f32| R::Scalar::from_f64(f64::from(x));
    for (components, start, state) in [(brought[0], 0, q), (brought[1], nq, v)] {
        for k in 0..components {
            let column = answer.column(start + k)[worlds.clone()].chunks(R::LANES);
            for ((tile, x), changed) in state.chunks_exact_mut(components).zip(column).zip(changed.chunks(R::LANES)) {
                let lanes = tile[k].lanes_mut();
                if changed.contains(&false) {
                    let some = lanes.iter_mut().zip(x).zip(changed).filter(|(_, changed)| **changed);
                    some.for_each(|((lane, x), _)| *lane = number(*x));
                } else {
                    lanes.iter_mut().zip(x).for_each(|(lane, x)| *lane = number(*x));
                }
            }
        }
    }
    for (i, done) in done.iter().enumerate() {
        behind[i] = !answer.has_state && (behind[i] || *done > 0.0);
        reports[i] = reports[i].begun();
        if *done > 0.0 {
            reports[i] = WorldReport { unsolved_in_a_row: 0, ..answer.outcome(first + i).report };
            forgets[i] = false;
        }
    }
}

impl<R: Pack> OnDevice<R> {
    /// Waits for what the device leaves: state and reports, and of the worlds that halted what they remember. Nothing of the host's changes. `early`: those that have been looked at.
    pub(super) async fn arrived(&mut self, early: Vec<Left>) -> Result<Arrived> {
        let Some(resident) = &mut self.resident else {
            return Err(Error::Device("the device was lost before it answered".into()));
        };
        let (answers, late) = resident.answers().await?;
        let can_grow = resident.can_grow();
        let mut halted = Halted::default();
        for answer in &answers {
            let why = answer.why_halted();
            for (i, _) in why.iter().enumerate().filter(|(_, why)| **why != 0.0) {
                let outcome = answer.outcome(i);
                halted.steps.push((outcome.report.steps, answer.worlds.start + i));
                halted.crowded |= outcome.no_room && can_grow;
            }
        }
        // the host knows what those remember that it had, and that have not begun
        let (here, behind) = (&self.here, &self.brought.behind);
        let has_state = answers.iter().all(|answer| answer.has_state);
        let stays_there = |done: u32, world: usize| !has_state && (done > 0 || behind[world]);
        let unknown = |done: u32, world: usize| done > 0 || !here[world] || stays_there(done, world);
        let (mut told, mut states) = (Vec::new(), Vec::new());
        let mut see = |world: usize, state: Vec<f32>, of| {
            told.push((world, of));
            if !has_state {
                states.push((world, state));
            }
        };
        let mut seen = HashSet::new();
        for Left { world, outcome, state, memory } in early.into_iter().chain(late) {
            seen.insert(world);
            if unknown(outcome.report.steps, world) {
                see(world, state, memory);
            }
        }
        let others = halted.steps.iter().filter(|(done, world)| unknown(*done, *world) && !seen.contains(world));
        let others: Vec<usize> = others.map(|(_, world)| *world).collect();
        resident.read_worlds(&others, !has_state, &mut see).await?;
        if halted.crowded {
            // all that lies on the device goes with what there is no room in
            let mut halts = vec![false; here.len()];
            halted.steps.iter().for_each(|(_, world)| halts[*world] = true);
            let mut see = |world: usize, of| {
                if !halts[world] {
                    told.push((world, of));
                }
            };
            resident.read_memory(&mut see).await?;
            if !has_state {
                let mut all = vec![Vec::new(); here.len()];
                resident.read_state(|world, _, x| all[world].push(x)).await?;
                let done = answers.iter().flat_map(|answer| answer.done().iter().map(|done| *done as u32));
                let left =
                    all.into_iter().zip(done).enumerate().filter(|(world, (_, done))| stays_there(*done, *world));
                states = left.map(|(world, (state, _))| (world, state)).collect();
            }
        }
        self.work = resident.work();
        Ok(Arrived { answers, halted, told, states })
    }
}

impl<R: Pack> Core<R> {
    /// Gives the device a call of `step`; does not wait for it. Where the device fails, the worlds are as before the call.
    pub(super) fn begin_on_device(&mut self, on: &mut OnDevice<R>, call: &Call<'_>) -> Result<()> {
        let begun = self.begin_there(on, call);
        begun.map_err(|error| on.fail(&mut self.memory, error))
    }

    /// The shaders of the next step beside their twins; none where the device has not been told all of the worlds, as after its buffers were made anew. Where the device fails, the worlds are as before.
    pub(super) fn twins_on_device(&mut self, on: &mut OnDevice<R>) -> Result<Vec<StageComparison>> {
        if on.parameters_are_new || on.resident.is_none() {
            return Ok(Vec::new());
        }
        let mut resident = on.take(&self.plan)?;
        let compared = now(resident.beside_twins(&self.plan));
        on.put_back(resident);
        compared.map_err(|error| match error {
            Error::Device(_) => on.fail(&mut self.memory, error),
            other => other,
        })
    }

    /// Waits for what the device leaves. The worlds that it is seen to leave before its end are stepped here meanwhile; what becomes of them comes back beside it. Nothing of the host's changes.
    pub(super) fn arrive(&self, on: &mut OnDevice<R>, call: &Call<'_>) -> (Result<Arrived>, Vec<Gathered<R>>) {
        let (workers, stepped) = (std::mem::take(&mut on.workers), Mutex::new(Vec::new()));
        let arrive = || {
            rayon::scope(|scope| {
                let mut early = Vec::new();
                let looks = on.resident.as_ref().map_or_else(Vec::new, |resident| resident.looks());
                for look in looks {
                    let Some(resident) = &mut on.resident else { break };
                    let found = now(resident.looked(look))?;
                    let halted = found.iter().map(|left| self.halted_early(on, left)).collect();
                    for mut some in self.gathered(halted, call) {
                        let (workers, stepped) = (&workers, &stepped);
                        scope.spawn(move |_| {
                            some.step_with(&self.plan, workers, call);
                            stepped.lock().unwrap_or_else(PoisonError::into_inner).push(some);
                        });
                    }
                    early.extend(found);
                }
                now(on.arrived(early))
            })
        };
        let arrived = self.threads.run(arrive).flatten();
        on.workers = workers;
        (arrived, stepped.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// A world as the device left it; of one that never began, and that the host knows, what the host has.
    fn halted_early(&self, on: &OnDevice<R>, left: &Left) -> HaltedWorld {
        let Left { world, outcome, state, memory } = left;
        let (done, begun) = (outcome.report.steps, self.reports[*world].begun());
        let began = done > 0;
        let memory = if began || !on.here[*world] { memory.clone() } else { self.remembered(*world) };
        HaltedWorld {
            done,
            world: *world,
            state: (began || on.brought.behind[*world]).then(|| state.clone()),
            memory: if on.forgets[*world] && !began { Vec::new() } else { memory },
            report: if began { WorldReport { unsolved_in_a_row: 0, ..outcome.report } } else { begun },
        }
    }

    /// What the host knows that a world remembers.
    fn remembered(&self, world: usize) -> Vec<Remembered> {
        self.memory[world / R::LANES].of(world % R::LANES)
    }

    /// Takes what the device leaves, or why there is nothing, and steps here what halted there, but for what was stepped early. Where the device failed, the worlds are as before the call.
    pub(super) fn finish_on_device(
        &mut self,
        on: &mut OnDevice<R>,
        arrived: Result<Arrived>,
        early: Vec<Gathered<R>>,
        call: &Call<'_>,
    ) -> Result<()> {
        let arrived = arrived.map_err(|error| on.fail(&mut self.memory, error))?;
        let mut halted = self.take_in(on, arrived)?;
        // from here on nothing of the call depends on the device
        let stepped: HashSet<usize> = early.iter().flat_map(|some| some.worlds.iter().copied()).collect();
        halted.steps.retain(|(_, world)| !stepped.contains(world));
        for some in early {
            self.put_back(some);
        }
        if let Err(error) = self.catch_up(&on.workers, &halted.steps, call) {
            on.lose(&mut self.memory);
            return Err(error);
        }
        if halted.crowded {
            on.here.fill(true);
            on.news.fill(true);
            on.tell_anew(true);
            let mut resident = on.take(&self.plan)?;
            let grown = resident.grow(&self.plan).and_then(|grown| {
                let quantities = on.brought.quantities.as_deref();
                if grown { resident.bring_back(&self.plan, quantities).map(|()| true) } else { Ok(false) }
            });
            match grown {
                Ok(true) => {}
                Ok(false) => {
                    let (name, most) = (resident.device_name(), resident.capacity());
                    self.notes.push(format!(
                        "{name} has no memory for more than {most} contacts a world: worlds with more are stepped by the CPU"
                    ));
                }
                // the next call opens it anew
                Err(_) => return Ok(()),
            }
            on.put_back(resident);
        }
        Ok(())
    }

    fn begin_there(&mut self, on: &mut OnDevice<R>, call: &Call<'_>) -> Result<()> {
        let (nq, nv, nu) = (self.plan.model.nq(), self.plan.model.nv(), self.plan.model.nu());
        on.brought.fetched.clear();
        self.take_late(on)?;
        on.control_is_new |= call.control_is_new;
        on.external_is_new |= call.external_is_new;
        let mut resident = on.take(&self.plan)?;
        if on.control_is_new {
            match call.control {
                Acting::Given(control) => resident.give(Given::Control, |u, world| control[world * nu + u] as f32),
                Acting::Drawn(draw) => resident.draw_control(draw.seed, &draw.laws()),
            }
        }
        if on.external_is_new {
            resident.give(Given::External, |d, world| call.external[world * nv + d] as f32);
        }
        if on.parameters_are_new {
            for (what, parameter) in GIVEN {
                let field = self.field(parameter);
                resident.give(what, |k, world| field.of(k, world).to_f64() as f32);
            }
        }
        // who feels contacts, or watches a world or its blocks, sees them on the CPU, which also knows all parameters
        let unknown = Parameter::ALL.into_iter().filter(|p| GIVEN.iter().all(|(_, given)| given != p));
        let unknown: Vec<_> = unknown.map(|p| self.field(p)).filter(|field| !field.is_shared()).collect();
        let feels = call.see.is_some() || self.past.is_kept();
        let stays =
            |world: usize| feels || self.watched[world].is_some() || unknown.iter().any(|field| field.differs(world));
        let may = feels || !unknown.is_empty() || self.watched.iter().any(Option::is_some);
        let mut stays_here = vec![false; self.reports.len()];
        if may {
            stays_here.iter_mut().enumerate().for_each(|(world, it)| *it = stays(world));
        }
        self.fetch(on, &mut resident, &stays_here)?;
        let stays = |world: usize| stays_here[world];
        let (q, v) = (&self.q, &self.v);
        let number = |k: usize, world: usize| state_number::<R>(q, v, [nq, nv], k, world);
        let memory = |world: usize| self.remembered(world);
        // what the CPU stepped last
        let back: Vec<usize> = listed(&[&on.here]).into_iter().filter(|world| !stays(*world)).collect();
        if back.len() == self.reports.len() {
            resident.write_memory(memory);
        } else {
            resident.write_worlds(&back, number, memory);
            for world in &back {
                on.news[*world] = false;
            }
        }
        let told = listed(&[&on.news, &on.forgets, &stays_here]);
        let knows_all = !on.brought.behind.contains(&true);
        resident.begin(&told, knows_all, number, stays, |world| on.forgets[world]);
        // a browser has no moment to read a clock at
        if self.plan.profile && cfg!(not(target_family = "wasm")) {
            let seconds = on.seconds.get_mut().unwrap_or_else(PoisonError::into_inner);
            now(resident.step_timed(call.substeps, seconds))?;
        } else {
            resident.step(call.substeps)?;
        }
        on.put_back(resident);
        Ok(())
    }

    /// Makes q and v that somebody has read those of the host.
    ///
    /// # Errors
    /// [`Error::Device`] where they could not be read.
    pub(super) fn take_late(&mut self, on: &mut OnDevice<R>) -> Result<()> {
        if let Some([q, v]) = on.brought.take_late()? {
            (self.q, self.v) = (q, v);
        }
        Ok(())
    }

    /// Reads q and v of the worlds that the device has to be told of, or that are the CPU's in this call, as far as the host's are behind.
    fn fetch(&mut self, on: &mut OnDevice<R>, resident: &mut Resident, stays: &[bool]) -> Result<()> {
        let told = |world: &usize| {
            on.brought.behind[*world] && (stays[*world] || on.forgets[*world] || on.here[*world] || on.news[*world])
        };
        let asked: Vec<usize> = listed(&[&on.brought.behind]).into_iter().filter(told).collect();
        let mut states = Vec::new();
        if 2 * asked.len() <= stays.len() {
            now(resident.read_worlds(&asked, true, |world, state, _| states.push((world, state))))?;
        } else {
            // of most: all at once
            let mut all = vec![Vec::new(); stays.len()];
            now(resident.read_state(|world, _, x| all[world].push(x)))?;
            states = asked.into_iter().map(|world| (world, std::mem::take(&mut all[world]))).collect();
        }
        on.brought.fetched = states.iter().map(|(world, _)| *world).collect();
        self.put_states(on, states);
        Ok(())
    }

    /// Makes q and v of some worlds those of the host.
    fn put_states(&mut self, on: &mut OnDevice<R>, states: Vec<(usize, Vec<f32>)>) {
        let lens = [self.plan.model.nq(), self.plan.model.nv()];
        let mut all = [std::mem::take(&mut self.q), std::mem::take(&mut self.v)];
        for (world, state) in states {
            state.into_iter().enumerate().for_each(|(k, x)| put(&mut all, lens, world, k, x));
            on.brought.behind[world] = false;
        }
        [self.q, self.v] = all;
    }

    /// Makes state, reports and memory what the device leaves; the worlds that halted are yet to be stepped.
    fn take_in(&mut self, on: &mut OnDevice<R>, arrived: Arrived) -> Result<Halted> {
        let (nq, nv) = (self.plan.model.nq(), self.plan.model.nv());
        let Arrived { answers, halted, told, states } = arrived;
        on.brought.forget_late();
        on.brought.take_numbers(&answers, &halted.steps);
        for answer in &answers {
            let Range { start, end } = answer.worlds;
            let tiles = start / R::LANES..end.div_ceil(R::LANES);
            // threads take in some tiles at a time
            let worlds = TAKEN_IN * R::LANES;
            let parts = (self.q[tiles.start * nq..tiles.end * nq].par_chunks_mut(TAKEN_IN * nq))
                .zip(self.v[tiles.start * nv..tiles.end * nv].par_chunks_mut(TAKEN_IN * nv))
                .zip(self.reports[start..end].par_chunks_mut(worlds))
                .zip(on.brought.behind[start..end].par_chunks_mut(worlds))
                .zip(on.forgets[start..end].par_chunks_mut(worlds))
                .enumerate();
            self.threads.each(parts, |(part, ((((q, v), reports), behind), forgets))| {
                take_in_part(answer, part * worlds, [q, v], reports, behind, forgets);
            })?;
        }
        self.put_states(on, states);
        for (world, of) in told {
            self.memory[world / R::LANES].set(world % R::LANES, &of);
        }
        on.news.fill(false);
        on.here.fill(false);
        for &(_, world) in &halted.steps {
            if std::mem::take(&mut on.forgets[world]) {
                self.memory[world / R::LANES].set(world % R::LANES, &[]);
            }
            (on.news[world], on.here[world]) = (true, true);
        }
        on.tell_anew(false);
        *on.read.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(halted)
    }

    /// Steps the worlds that halted (substeps done, world) through those that they missed.
    fn catch_up(&mut self, workers: &Mutex<Vec<Worker<R>>>, halted: &[(u32, usize)], call: &Call<'_>) -> Result<()> {
        let world = |&(done, world): &(u32, usize)| {
            let (memory, report) = (self.remembered(world), self.reports[world]);
            HaltedWorld { done, world, state: None, memory, report }
        };
        let mut gathered = self.gathered(halted.iter().map(world).collect(), call);
        for some in &mut gathered {
            some.watched = some.worlds.iter().map(|world| self.watched[*world].take()).collect();
        }
        let plan = &self.plan;
        let stepped = Mutex::new(Vec::new());
        // those that missed most take longest
        self.threads.each(gathered.into_par_iter().with_max_len(1), |mut some| {
            some.step_with(plan, workers, call);
            stepped.lock().unwrap_or_else(PoisonError::into_inner).push(some);
        })?;
        for some in stepped.into_inner().unwrap_or_else(PoisonError::into_inner) {
            self.put_back(some);
        }
        Ok(())
    }
}
