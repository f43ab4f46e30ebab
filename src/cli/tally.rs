//! Statistics of certificates over all steps of all worlds.

use delassus::{WorldReport, WorldStatus};
use serde::Serialize;

/// Bits of an f64 that a bin leaves out: 5 bits of mantissa stay, so that a bin is at most 3 % wide.
const BIN_SHIFT: u32 = 47;

/// How often which residual was seen, in bins over the bits of the number: the bits of positive numbers are in the order of the numbers.
#[derive(Debug)]
struct Histogram {
    counts: Vec<u64>,
    total: u64,
    worst: f64,
}

impl Histogram {
    fn new() -> Self {
        Self { counts: vec![0; (f64::INFINITY.to_bits() >> BIN_SHIFT) as usize + 1], total: 0, worst: 0.0 }
    }

    /// Counts a number that is not negative; what is not a number counts as infinite.
    fn add(&mut self, x: f64) {
        let x = if x.is_nan() { f64::INFINITY } else { x.max(0.0) };
        self.counts[(x.to_bits() >> BIN_SHIFT) as usize] += 1;
        self.total += 1;
        self.worst = self.worst.max(x);
    }

    /// The number that a share `p` of all is not greater than, to 2 %.
    fn percentile(&self, p: f64) -> f64 {
        let rank = (p * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bin, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                // The middle of a bin; the first one holds zero, the last one infinity.
                let value = match f64::from_bits(((bin as u64) << BIN_SHIFT) | (1 << (BIN_SHIFT - 1))) {
                    _ if bin == 0 => 0.0,
                    middle if middle.is_nan() => f64::INFINITY,
                    middle => middle,
                };
                return value.min(self.worst);
            }
        }
        0.0
    }
}

/// Residuals or their floors over all world-steps, m/s.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Residuals {
    /// Median, to 2 %.
    pub median: f64,
    /// 99th percentile, to 2 %.
    pub p99: f64,
    /// Worst, exactly.
    pub worst: f64,
}

/// Sums over all world-steps so far.
#[derive(Debug)]
pub struct Tally {
    world_steps: u64,
    contacts: u64,
    rows: u64,
    iterations: u64,
    sweeps: u64,
    newton_steps: u64,
    solved: u64,
    fallbacks: u64,
    redone: u64,
    halted: u64,
    push_denied: f64,
    penetration: f64,
    capacity_needed: usize,
    residuals: Histogram,
    floors: Histogram,
    overflowed: Vec<bool>,
    not_finite: Vec<bool>,
    failed: Vec<bool>,
}

impl Tally {
    /// Nothing yet.
    pub fn new(world_count: usize) -> Self {
        Self {
            world_steps: 0,
            contacts: 0,
            rows: 0,
            iterations: 0,
            sweeps: 0,
            newton_steps: 0,
            solved: 0,
            fallbacks: 0,
            redone: 0,
            halted: 0,
            push_denied: 0.0,
            penetration: 0.0,
            capacity_needed: 0,
            residuals: Histogram::new(),
            floors: Histogram::new(),
            overflowed: vec![false; world_count],
            not_finite: vec![false; world_count],
            failed: vec![false; world_count],
        }
    }

    /// Adds the reports of a step, shape \[world\].
    pub fn add(&mut self, reports: &[WorldReport]) {
        for (world, report) in reports.iter().enumerate() {
            self.world_steps += 1;
            self.contacts += report.contact_count as u64;
            self.rows += report.row_count as u64;
            self.iterations += u64::from(report.iterations);
            self.sweeps += u64::from(report.sweeps);
            self.newton_steps += u64::from(report.newton_steps);
            self.solved += u64::from(report.solved());
            self.fallbacks += u64::from(report.fallback);
            self.redone += u64::from(report.redone);
            self.halted += u64::from(report.halted);
            self.push_denied = self.push_denied.max(report.push_denied);
            self.failed[world] |= report.failed();
            self.penetration = self.penetration.max(report.penetration);
            self.overflowed[world] |= report.overflow;
            self.capacity_needed = self.capacity_needed.max(report.capacity_needed);
            // A state that is not finite has no residual: it is counted by itself.
            if report.status == WorldStatus::NotFinite {
                self.not_finite[world] = true;
            } else {
                self.residuals.add(report.residual);
                self.floors.add(report.floor);
            }
        }
    }

    /// The mean over world-steps of a sum.
    fn mean(&self, sum: u64) -> f64 {
        sum as f64 / (self.world_steps as f64).max(1.0)
    }

    /// What came out.
    pub fn summary(&self) -> Summary {
        let count = |flags: &[bool]| flags.iter().filter(|f| **f).count();
        let spread =
            |of: &Histogram| Residuals { median: of.percentile(0.5), p99: of.percentile(0.99), worst: of.worst };
        Summary {
            contacts_mean: self.mean(self.contacts),
            rows_mean: self.mean(self.rows),
            iterations_mean: self.mean(self.iterations),
            sweeps_mean: self.mean(self.sweeps),
            newton_steps_mean: self.mean(self.newton_steps),
            residual: spread(&self.residuals),
            floor: spread(&self.floors),
            solved_share: self.mean(self.solved),
            fallback_share: self.mean(self.fallbacks),
            redone_share: self.mean(self.redone),
            halted_share: self.mean(self.halted),
            failed_worlds: count(&self.failed),
            worst_push_denied: self.push_denied,
            overflow_worlds: count(&self.overflowed),
            non_finite_worlds: count(&self.not_finite),
            deepest_penetration: self.penetration,
        }
    }
}

/// What came out of a rollout. SI units.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Summary {
    /// Contacts a world and step.
    pub contacts_mean: f64,
    /// Constraint rows a world and step.
    pub rows_mean: f64,
    /// Sweeps and Newton steps of the hardest block of a world and step.
    pub iterations_mean: f64,
    /// Sweeps of that block.
    pub sweeps_mean: f64,
    /// Newton steps of that block.
    pub newton_steps_mean: f64,
    /// Residuals of world-steps whose state stayed finite.
    pub residual: Residuals,
    /// Rounding floors of those residuals.
    pub floor: Residuals,
    /// Share of world-steps that met their tolerance and left no contact out.
    pub solved_share: f64,
    /// Share of world-steps that the exact solver was called in for.
    pub fallback_share: f64,
    /// Share of world-steps that were done again in f64.
    pub redone_share: f64,
    /// Share of world-steps that the device left to the CPU.
    pub halted_share: f64,
    /// Worlds that failed at any time: not finite, exploded, or unsolved for many steps in a row.
    pub failed_worlds: usize,
    /// Largest push-out that was denied for want of room, m/s.
    pub worst_push_denied: f64,
    /// Worlds that left contacts out for want of capacity.
    pub overflow_worlds: usize,
    /// Worlds that came to a state that is not finite.
    pub non_finite_worlds: usize,
    /// Deepest overlap, m.
    pub deepest_penetration: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_to_two_percent() {
        let mut h = Histogram::new();
        // 1e-12 to 1e-2, evenly in the exponent, in a mixed order
        let value = |i: u64| 10f64.powf(-12.0 + 10.0 * i as f64 / 9999.0);
        for i in 0..10_000 {
            h.add(value(i * 7919 % 10_000));
        }
        for p in [0.01, 0.5, 0.99] {
            let expected = value((p * 10_000.0) as u64 - 1);
            assert!((h.percentile(p) / expected - 1.0).abs() < 0.02, "{p}: {} {expected}", h.percentile(p));
        }
        assert_eq!(h.worst, value(9999));
    }

    #[test]
    fn zeros_and_infinities_are_themselves() {
        let mut h = Histogram::new();
        assert_eq!(h.percentile(0.5), 0.0);
        h.add(0.0);
        h.add(0.0);
        assert_eq!((h.percentile(0.5), h.percentile(0.99), h.worst), (0.0, 0.0, 0.0));
        h.add(f64::NAN);
        assert_eq!((h.percentile(0.5), h.percentile(0.99)), (0.0, f64::INFINITY));
    }
}
