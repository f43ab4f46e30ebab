//! A rollout, step by step.

use super::control::Driver;
use super::failure::{Failure, Outcome};
use super::options::{Batch, StepOptions};
use delassus::model::Note;
use delassus::worlds::BlockRecord;
use delassus::{Mask, Model, WorldStatus, Worlds};
use std::time::{Duration, Instant};

/// What sees every block of a step.
pub type See<'a> = &'a (dyn Fn(&BlockRecord<'_>) + Sync);

/// Worlds and what drives them.
pub struct Run {
    /// The worlds.
    pub worlds: Worlds,
    /// Number of steps to do.
    pub steps: u64,
    /// Substeps of each.
    pub substeps: u32,
    /// Time spent in steps so far.
    pub stepping: Duration,
    /// Processor time of all threads spent in steps so far, s; none where the system does not tell.
    pub cpu: Option<f64>,
    /// Whether nothing sets one world apart from another.
    pub all_alike: bool,
    driver: Driver,
    done: u64,
}

impl Run {
    /// Worlds at their start; `steps`: how many to do if the options do not say.
    pub fn new(model: &Model, batch: Batch, options: &StepOptions, steps: u64) -> Outcome<Self> {
        let count = usize::try_from(batch.worlds).unwrap_or(usize::MAX);
        Self::of(Worlds::new(model, count, options.settings(batch))?, options, steps)
    }

    /// Brings `worlds` to their start.
    pub fn of(mut worlds: Worlds, options: &StepOptions, steps: u64) -> Outcome<Self> {
        let (start, count) = (options.start(worlds.model())?, worlds.world_count());
        worlds.set_start(start)?;
        worlds.reset(Mask::All, options.seed)?;
        let driver = Driver::new(options.control.as_ref(), options.seed, &mut worlds)?;
        Ok(Self {
            all_alike: count > 1 && options.noise == 0.0 && driver.is_shared(),
            worlds,
            steps: options.steps.unwrap_or(steps),
            substeps: 1,
            stepping: Duration::ZERO,
            cpu: None,
            driver,
            done: 0,
        })
    }

    /// Does one step, of which `see` sees every block; returns its number, counted from 1.
    pub fn step(&mut self, see: Option<See<'_>>) -> Outcome<u64> {
        self.driver.drive(self.done, self.substeps, &mut self.worlds);
        let (start, cpu) = (Instant::now(), cpu_time());
        self.worlds.step_inspected(self.substeps, see)?;
        self.stepping += start.elapsed();
        if let (Some(before), Some(after)) = (cpu, cpu_time()) {
            self.cpu = Some(self.cpu.unwrap_or(0.0) + after - before);
        }
        self.done += 1;
        Ok(self.done)
    }

    /// What there is to know about the model, the start and the backend.
    pub fn notes(&self) -> Vec<Note> {
        let backend = self.worlds.notes().into_iter().map(|text| Note { text, changes_motion: false });
        self.worlds.model().notes.iter().cloned().chain(self.worlds.start_notes()).chain(backend).collect()
    }

    /// Nothing can be learnt from a run in which every world ended in a state that is not finite.
    pub fn check_finite(&self) -> Outcome {
        if self.worlds.reports().iter().any(|r| r.status != WorldStatus::NotFinite) {
            return Ok(());
        }
        let message = format!(
            "the state of every world of {} is infinite or not a number; a smaller --dt may help",
            self.worlds.model().name
        );
        Err(Failure::Other(message))
    }
}

/// Processor time of all threads of this process, s, where the system tells (Linux).
fn cpu_time() -> Option<f64> {
    // One line a thread: time on a processor and time waiting for one, ns.
    let mut total = 0.0;
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        total += text.split_whitespace().next()?.parse::<f64>().ok()?;
    }
    Some(1e-9 * total)
}
