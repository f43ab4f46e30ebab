//! What solving costs, in multiply-adds: counted, not timed, so that a budget ends at the same place on every machine.
//!
//! Each step of a method pays for what it does: `n²` (the nonzeros, if `W` is sparse) for a product or a sweep, `n³/3`
//! for a factorization, the changed entries of the tableau for a pivot, a fixed price for the laws of a row. A method
//! asks before each step whether the budget still holds it, and ends at its best point if not. What goes with the end
//! of a step and the certificate of the answer are paid and never refused, so a budget may be exceeded by some `n²`.

use std::cell::Cell;

/// Price of the laws of one row (a projection, a natural map): divisions and roots, in multiply-adds.
pub(crate) const ROW: u64 = 12;
/// Price of one trial in the exact solution of one contact: an elimination of three rows, and a length.
pub(crate) const TRIAL: u64 = 150;

/// The budget of a solve and what was spent of it, in multiply-adds.
#[derive(Debug)]
pub(crate) struct Work {
    spent: Cell<u64>,
    limit: Cell<u64>,
    refused: Cell<bool>,
}

impl Work {
    /// No limit for `None`.
    pub fn new(limit: Option<u64>) -> Self {
        Self { spent: Cell::new(0), limit: Cell::new(limit.unwrap_or(u64::MAX)), refused: Cell::new(false) }
    }

    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    pub fn pay(&self, cost: u64) {
        self.spent.set(self.spent.get().saturating_add(cost));
    }

    /// Whether a step of this price is still within the budget. Does not pay for it.
    pub fn affords(&self, cost: u64) -> bool {
        let enough = self.spent.get().saturating_add(cost) <= self.limit.get();
        self.refused.set(self.refused.get() || !enough);
        enough
    }

    /// Whether something was skipped or cut short for want of budget.
    pub fn has_refused(&self) -> bool {
        self.refused.get()
    }

    /// Runs an attempt that may spend at most half of what is left.
    pub fn half<T>(&self, attempt: impl FnOnce() -> T) -> T {
        let limit = self.limit.get();
        self.limit.set(limit - limit.saturating_sub(self.spent.get()) / 2);
        let found = attempt();
        self.limit.set(limit);
        found
    }
}

/// `n²`.
pub(crate) fn square(n: usize) -> u64 {
    (n as u64).saturating_mul(n as u64)
}

/// A factorization by elimination, `n³/3`.
pub(crate) fn factorization(n: usize) -> u64 {
    square(n).saturating_mul(n as u64) / 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_leaves_half_for_the_next() {
        let work = Work::new(Some(100));
        work.pay(20);
        work.half(|| {
            assert!(work.affords(40) && !work.affords(41));
            work.pay(40);
        });
        assert!(work.has_refused() && work.affords(40) && !work.affords(41));
        assert_eq!(work.spent(), 60);
        let free = Work::new(None);
        free.pay(u64::MAX);
        assert!(free.affords(u64::MAX) && free.half(|| free.affords(1)) && !free.has_refused());
    }
}
