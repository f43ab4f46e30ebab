//! Which worlds have halted, seen while others still go on: so the CPU steps them meanwhile.

use super::{COLUMNS, LISTED, LOOK, MOVED, Outcome, Resident, WORKGROUP, layout, outcome};
use crate::error::Result;
use crate::gpu::Dispatch;
use crate::step::Remembered;

/// Looks of a call of `step` before its end.
pub(super) const MOST_LOOKS: usize = 16;

/// A world that has halted, as a look finds it: before the substep that it could not do.
#[derive(Debug)]
pub(crate) struct Left {
    pub world: usize,
    pub outcome: Outcome,
    /// q, and then v.
    pub state: Vec<f32>,
    pub memory: Vec<Remembered>,
}

impl Resident {
    /// Looks which worlds have halted.
    pub(super) fn look(&mut self, set: usize, look: usize) -> Result<()> {
        let (groups, end) = (self.sets[set].len().div_ceil(WORKGROUP) as u32, self.layout.state_len());
        self.chain.zero(set, COLUMNS, 0..MOVED);
        self.chain.zero(set, LISTED, 2..3);
        self.chain.run(set, &[Dispatch { kernel: self.gather + LOOK, header: 0, workgroups: [groups, 1] }]);
        self.run_mover(set, self.gather, end);
        self.chain.look(set, look, COLUMNS, 0..(1 + end) * MOVED)
    }

    /// Looks of a call of `step` that come before its end, in their order: set of buffers, and number.
    pub fn looks(&self) -> Vec<(usize, usize)> {
        (0..self.sets.len()).flat_map(|set| (0..MOST_LOOKS).map(move |look| (set, look))).collect()
    }

    /// The worlds that a look has found; none where there was none.
    ///
    /// # Errors
    /// [`Error::Device`] where the device failed.
    pub async fn looked(&mut self, (set, look): (usize, usize)) -> Result<Vec<Left>> {
        let Some(all) = self.chain.looked(set, look).await? else { return Ok(Vec::new()) };
        let first = self.sets[set].start;
        let left = |at: usize| {
            let number = |k: usize| all[(1 + k) * MOVED + at];
            let forgets = number(self.layout.outcome() + layout::FORGET) != 0.0;
            Left {
                world: first + all[at] as usize - 1,
                outcome: outcome(&|k| number(self.layout.outcome() + k)),
                state: (0..self.layout.outcome()).map(number).collect(),
                memory: if forgets { Vec::new() } else { self.layout.remembered(&number) },
            }
        };
        let mut found: Vec<_> = (0..MOVED).take_while(|at| all[*at] > 0.0).map(left).collect();
        // their places are those of a race
        found.sort_by_key(|left| left.world);
        Ok(found)
    }
}
