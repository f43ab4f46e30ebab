//! Reports and contacts as plain data: rows of structured arrays. `delassus/records.py` names the same fields.

use bytemuck::NoUninit;
use delassus::WorldReport;
use delassus::worlds::ContactRecord;

/// A [`WorldReport`].
#[derive(Clone, Copy, NoUninit)]
#[repr(C)]
pub struct Report {
    residual: f64,
    floor: f64,
    penetration: f64,
    push_denied: f64,
    status: u32,
    steps: u32,
    unsolved_steps: u32,
    unsolved_in_a_row: u32,
    iterations: u32,
    sweeps: u32,
    newton_steps: u32,
    impact_passes: u32,
    contact_count: u32,
    row_count: u32,
    capacity_needed: u32,
    impacts_left: bool,
    overflow: bool,
    fallback: bool,
    redone: bool,
    halted: bool,
    solved: bool,
    failed: bool,
    unused: [u8; 5],
}

impl From<&WorldReport> for Report {
    fn from(r: &WorldReport) -> Self {
        Self {
            residual: r.residual,
            floor: r.floor,
            penetration: r.penetration,
            push_denied: r.push_denied,
            status: r.status as u32,
            steps: r.steps,
            unsolved_steps: r.unsolved_steps,
            unsolved_in_a_row: r.unsolved_in_a_row,
            iterations: r.iterations,
            sweeps: r.sweeps,
            newton_steps: r.newton_steps,
            impact_passes: r.impact_passes,
            contact_count: r.contact_count as u32,
            row_count: r.row_count as u32,
            capacity_needed: r.capacity_needed as u32,
            impacts_left: r.impacts_left,
            overflow: r.overflow,
            fallback: r.fallback,
            redone: r.redone,
            halted: r.halted,
            solved: r.solved(),
            failed: r.failed(),
            unused: [0; 5],
        }
    }
}

/// A [`ContactRecord`].
#[derive(Clone, Copy, NoUninit)]
#[repr(C)]
pub struct Contact {
    geom_a: u64,
    geom_b: u64,
    position: [f64; 3],
    frame: [[f64; 3]; 3],
    gap: f64,
    impulse: [f64; 3],
    torque: [f64; 3],
}

impl From<&ContactRecord> for Contact {
    fn from(c: &ContactRecord) -> Self {
        Self {
            geom_a: c.geom_a as u64,
            geom_b: c.geom_b as u64,
            position: c.position.into(),
            frame: c.frame.map(Into::into),
            gap: c.gap,
            impulse: c.impulse,
            torque: c.torque,
        }
    }
}
