//! Where the time of a step goes, stage by stage.

use crate::lane::operations;
use std::time::Instant;

/// A part of the step, in flow order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Stages 1–4: kinematics, mass matrix, bias, forces, factor, free velocity.
    FreeMotion,
    /// Stage 5: contacts.
    Collide,
    /// Stage 6 and the rows of stage 7: limits, equalities, islands, J v and Y.
    Rows,
    /// The rest of stage 7: blocks.
    Assemble,
    /// Stage 8: the batched solver.
    Solve,
    /// The exact solver, for blocks that the batched one left, and worlds that take the step once more.
    Fallback,
    /// Stages 9–10: impulses gathered, reports, new velocity and position.
    Finish,
}

impl Stage {
    /// All stages, in flow order.
    pub const ALL: [Self; 7] =
        [Self::FreeMotion, Self::Collide, Self::Rows, Self::Assemble, Self::Solve, Self::Fallback, Self::Finish];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::FreeMotion => "free motion",
            Self::Collide => "collide",
            Self::Rows => "rows",
            Self::Assemble => "assemble",
            Self::Solve => "solve",
            Self::Fallback => "fallback",
            Self::Finish => "finish",
        }
    }
}

/// Thread time and counted operations by stage.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StageTimes {
    /// Thread time, s, shape \[stage\].
    pub seconds: [f64; Stage::ALL.len()],
    /// Floating-point operations, shape \[stage\]; 0 but for [`crate::worlds::Worlds::counting`].
    pub operations: [u64; Stage::ALL.len()],
}

impl StageTimes {
    /// Adds what another thread measured.
    pub fn add(&mut self, other: &Self) {
        for i in 0..self.seconds.len() {
            self.seconds[i] += other.seconds[i];
            self.operations[i] += other.operations[i];
        }
    }

    /// Seconds of one stage.
    pub fn of(&self, stage: Stage) -> f64 {
        self.seconds[stage as usize]
    }
}

/// Runs from stage to stage, if anybody wants to know.
pub(super) struct StopWatch<'a> {
    last: Option<(Instant, u64)>,
    times: &'a mut StageTimes,
}

impl<'a> StopWatch<'a> {
    pub fn start(on: bool, times: &'a mut StageTimes) -> Self {
        Self { last: on.then(|| (Instant::now(), operations())), times }
    }

    /// Books what happened since the last call on `stage`.
    pub fn lap(&mut self, stage: Stage) {
        if let Some((time, count)) = &mut self.last {
            let (now, done) = (Instant::now(), operations());
            self.times.seconds[stage as usize] += now.duration_since(*time).as_secs_f64();
            self.times.operations[stage as usize] += done - *count;
            (*time, *count) = (now, done);
        }
    }
}
