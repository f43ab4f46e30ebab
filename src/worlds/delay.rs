//! Control that acts late.

use super::{Mask, Worlds, any_number};
use crate::error::{Error, Result};
use std::borrow::Cow;

/// Most calls of `step` that control may be late.
pub const LONGEST_DELAY: u32 = 256;

/// The control of the last calls of `step`.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(super) struct Delay {
    /// How many calls of `step` the control of every world is late, shape \[world\].
    pub calls: Vec<u32>,
    /// Control that was given, shape `[slot][world][nu]`; slots go round, and are one more than the longest delay.
    #[serde(with = "any_number")]
    given: Vec<f64>,
    /// The slot of the call that comes next.
    next: usize,
    /// Control that acts, shape `[world][nu]`.
    #[serde(with = "any_number")]
    pub acting: Vec<f64>,
    /// Control that acted before that.
    #[serde(skip)]
    before: Vec<f64>,
}

impl PartialEq for Delay {
    /// Whether they do the same from here on.
    fn eq(&self, other: &Self) -> bool {
        let all = |delay: &Self| (delay.calls.clone(), delay.next);
        all(self) == all(other) && self.given == other.given && self.acting == other.acting
    }
}

impl Delay {
    /// As if `acting`, shape `[world][nu]`, had been given ever since.
    fn new(calls: Vec<u32>, acting: Vec<f64>) -> Self {
        let slots = 1 + calls.iter().max().map_or(0, |most| *most as usize);
        Self { given: acting.repeat(slots), calls, next: 0, before: acting.clone(), acting }
    }

    fn slots(&self) -> usize {
        1 + self.calls.iter().max().map_or(0, |most| *most as usize)
    }

    /// Memory of its numbers.
    pub fn bytes(&self) -> usize {
        size_of::<f64>() * (self.given.len() + self.acting.len() + self.before.len())
            + size_of::<u32>() * self.calls.len()
    }

    /// Whether it can be of so many worlds and actuators: what a snapshot holds may be anything.
    pub fn fits(&self, world_count: usize, nu: usize) -> bool {
        let len = world_count * nu;
        self.calls.len() == world_count
            && self.calls.iter().all(|calls| *calls <= LONGEST_DELAY)
            && self.next < self.slots()
            && self.given.len() == self.slots() * len
            && self.acting.len() == len
    }

    /// Takes the control of a call, shape `[world][nu]`, and gives what acts in it.
    pub fn pass(&mut self, control: &[f64], nu: usize) -> &[f64] {
        let (slots, len) = (self.slots(), control.len());
        self.given[self.next * len..(self.next + 1) * len].copy_from_slice(control);
        std::mem::swap(&mut self.acting, &mut self.before);
        self.acting.resize(len, 0.0);
        for (world, calls) in self.calls.iter().enumerate() {
            let (slot, own) = ((self.next + slots - *calls as usize) % slots, world * nu..(world + 1) * nu);
            self.acting[own.clone()].copy_from_slice(&self.given[slot * len..(slot + 1) * len][own]);
        }
        self.next = (self.next + 1) % slots;
        &self.acting
    }

    /// As before the last [`Self::pass`]: its call came to nothing. What it has overwritten was the oldest control, which acts no more.
    pub fn take_back(&mut self) {
        std::mem::swap(&mut self.acting, &mut self.before);
        let slots = self.slots();
        self.next = (self.next + slots - 1) % slots;
    }

    /// Starts a world anew: as if its control had been given ever since.
    pub fn restart(&mut self, world: usize, control: &[f64]) {
        let (len, own) = (self.acting.len(), world * control.len()..(world + 1) * control.len());
        for slot in 0..self.slots() {
            self.given[slot * len..(slot + 1) * len][own.clone()].copy_from_slice(control);
        }
        self.acting[own].copy_from_slice(control);
    }
}

impl Worlds {
    /// Lets the control of the worlds of `mask` act so many calls of `step` late, shape \[row\]; 0: at once. What is on its way in any world is forgotten: the
    /// control that acts now acts until the new delay is over. A reset world goes on as if its start's control had always been given.
    ///
    /// # Errors
    /// [`Error::Argument`] if the shape is wrong, or a delay exceeds [`LONGEST_DELAY`].
    pub fn set_control_delay(&mut self, mask: Mask<'_>, calls: &[u32]) -> Result<()> {
        mask.check(self.world_count)?;
        let row_count = mask.row_count(self.world_count);
        if calls.len() != row_count {
            return Err(Error::argument("calls", format!("has {} numbers for {row_count} worlds", calls.len())));
        }
        if let Some((_, world)) = mask.rows(self.world_count).find(|(row, _)| calls[*row] > LONGEST_DELAY) {
            return Err(Error::argument("calls", format!("world {world}: at most {LONGEST_DELAY} calls of step")));
        }
        let mut all = self.control_delay();
        mask.rows(self.world_count).for_each(|(row, world)| all[world] = calls[row]);
        let acting = self.acting_control().to_vec();
        // what a device draws for itself is not late
        self.control.numbers_mut();
        self.delay = all.iter().any(|calls| *calls > 0).then(|| Delay::new(all, acting));
        Ok(())
    }
    /// How many calls of `step` the control of every world is late, shape \[world\].
    pub fn control_delay(&self) -> Vec<u32> {
        self.delay.as_ref().map_or_else(|| vec![0; self.world_count], |delay| delay.calls.clone())
    }
    /// The control that acts, shape `[world][nu]`.
    pub(super) fn acting_control(&self) -> Cow<'_, [f64]> {
        self.delay.as_ref().map_or_else(|| self.control.numbers(), |delay| Cow::Borrowed(&delay.acting))
    }
}
