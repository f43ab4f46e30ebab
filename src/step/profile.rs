//! Where the time of a step goes, stage by stage.

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
    /// The exact solver, for blocks that the batched one left.
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

/// Seconds of thread time by stage, shape \[stage\].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StageTimes(pub [f64; Stage::ALL.len()]);

impl StageTimes {
    /// Adds the times of another thread.
    pub fn add(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a += b;
        }
    }

    /// Seconds of one stage.
    pub fn of(&self, stage: Stage) -> f64 {
        self.0[stage as usize]
    }
}

/// Runs from stage to stage, if anybody wants to know.
pub(super) struct StopWatch {
    last: Option<Instant>,
}

impl StopWatch {
    pub fn start(on: bool) -> Self {
        Self { last: on.then(Instant::now) }
    }

    /// Books the time since the last call on `stage`.
    pub fn lap(&mut self, times: &mut StageTimes, stage: Stage) {
        if let Some(last) = &mut self.last {
            let now = Instant::now();
            times.0[stage as usize] += now.duration_since(*last).as_secs_f64();
            *last = now;
        }
    }
}
