//! The order in which Gauss-Seidel sweeps a factored block.
//!
//! Units go into *lots*: those of one lot share no strip of Y, so none changes what another one sees, and none waits for the one just before it. Contacts of a lot take
//! their *turn* together, side by side in lanes.

use super::factor::Factor;
use super::pgs::{contact_steps, update_contact};
use super::project::{inverse, project_interval};
use super::tiles::OneTile;
use crate::lane::{Lanes, Real, Scalar};

/// Contacts side by side.
pub(super) const ABREAST: usize = 8;

/// One number of every contact of a turn.
type Row<S> = [S; ABREAST];

/// Some contacts of one lot, or one scalar row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn<S> {
    /// The units, of which the first `count` are meant.
    units: [u32; ABREAST],
    count: usize,
    /// Whether they are contacts.
    contacts: bool,
    /// What a sweep multiplies velocities with, see [`contact_steps`]; a scalar row has the first only.
    step: [Row<S>; 3],
    /// ε, as of a unit of [`Factor`].
    compliance: Row<S>,
    /// Entries (1, 0), (2, 0) and (2, 1) of the contact's own block of W.
    coupling: [Row<S>; 3],
    /// Friction coefficient; for the time of some sweeps, as what follows.
    friction: Row<S>,
    /// b and y.
    bias: [Row<S>; 3],
    impulse: [Row<S>; 3],
    /// Bounds of a scalar row.
    bounds: [S; 2],
}

impl<S: Scalar> Turn<S> {
    fn new() -> Self {
        let none = [S::zero(); ABREAST];
        Self {
            units: [0; ABREAST],
            count: 0,
            contacts: true,
            step: [none; 3],
            compliance: none,
            coupling: [none; 3],
            friction: none,
            bias: [none; 3],
            impulse: [none; 3],
            bounds: [S::zero(); 2],
        }
    }

    /// The units.
    #[inline(always)]
    pub fn units(&self) -> &[u32] {
        &self.units[..self.count]
    }

    /// Takes b, y, friction and bounds from a tile.
    #[inline(always)]
    pub fn load(&mut self, factor: &Factor<S>, tile: &OneTile<'_, S>) {
        for lane in 0..self.count {
            let unit = self.units[lane] as usize;
            let i = factor.row(unit);
            for k in 0..factor.rows(unit) {
                (self.bias[k][lane], self.impulse[k][lane]) = (tile.bias[i + k], tile.impulse[i + k]);
            }
            if self.contacts {
                self.friction[lane] = tile.friction[unit];
            } else {
                let s = 2 * (unit - factor.size.contact_count);
                self.bounds = [tile.bounds[s], tile.bounds[s + 1]];
            }
        }
    }

    /// Gives y back.
    #[inline(always)]
    pub fn store(&self, factor: &Factor<S>, impulse: &mut [S]) {
        for lane in 0..self.count {
            let unit = self.units[lane] as usize;
            let i = factor.row(unit);
            for k in 0..factor.rows(unit) {
                impulse[i + k] = self.impulse[k][lane];
            }
        }
    }

    /// The update of Gauss-Seidel of all units, whose rows of Y z are `sum`; returns the changes of y.
    #[inline(always)]
    pub fn update(&mut self, law: u32, sum: &[Row<S>; 3]) -> [Row<S>; 3] {
        let mut change = [[S::zero(); ABREAST]; 3];
        if !self.contacts {
            let old = self.impulse[0][0];
            let u = self.compliance[0].mul_add(old, self.bias[0][0] + sum[0][0]);
            let new = project_interval((-u).mul_add(self.step[0][0], old), self.bounds[0], self.bounds[1]);
            self.impulse[0][0] = new;
            change[0][0] = new - old;
            return change;
        }
        let old = [Lanes(self.impulse[0]), Lanes(self.impulse[1]), Lanes(self.impulse[2])];
        let u = [
            Lanes(self.compliance).mul_add(old[0], Lanes(self.bias[0]) + Lanes(sum[0])),
            Lanes(self.bias[1]) + Lanes(sum[1]),
            Lanes(self.bias[2]) + Lanes(sum[2]),
        ];
        // what is above the diagonal, and on it, is not looked at
        let (zero, c) = (Lanes([S::zero(); ABREAST]), self.coupling);
        let own = [[zero; 3], [Lanes(c[0]), zero, zero], [Lanes(c[1]), Lanes(c[2]), zero]];
        let step = [Lanes(self.step[0]), Lanes(self.step[1]), Lanes(self.step[2])];
        let new = update_contact(law, u, old, &own, step, Lanes(self.friction));
        for k in 0..3 {
            self.impulse[k] = new[k].0;
            change[k] = (new[k] - old[k]).0;
        }
        change
    }
}

/// The turns of a block, and memory for finding them.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns<S> {
    /// In the order of a sweep.
    pub list: Vec<Turn<S>>,
    /// The lots that touch a strip, one bit each, shape \[strip\].
    taken: Vec<u64>,
    /// The lot of a unit, shape \[unit\].
    lot: Vec<u32>,
    /// Where the next unit of a lot goes, shape \[lot\].
    place: Vec<u32>,
    /// The units, lot by lot.
    order: Vec<u32>,
}

/// The last lot takes what no other one takes: its units may share strips.
const LAST_LOT: u32 = u64::BITS - 1;

impl<S: Scalar> Turns<S> {
    /// Of a block with the 3 × 3 blocks `own` on the diagonal of W.
    #[inline(always)]
    pub fn find(&mut self, factor: &Factor<S>, own: &[[[S; 3]; 3]], law: u32) {
        self.find_order(factor);
        self.list.clear();
        let mut before = None;
        for &unit in &self.order {
            let (lot, unit) = (self.lot[unit as usize], unit as usize);
            let contact = unit < factor.size.contact_count;
            let follows = before == Some(lot) && contact && lot != LAST_LOT;
            before = Some(lot);
            if !(follows && self.list.last().is_some_and(|turn| turn.contacts && turn.count < ABREAST)) {
                self.list.push(Turn::new());
            }
            let Some(turn) = self.list.last_mut() else { continue };
            let lane = turn.count;
            (turn.units[lane], turn.contacts, turn.count) = (unit as u32, contact, lane + 1);
            turn.compliance[lane] = factor.compliance(unit);
            let own = &own[unit];
            if contact {
                let steps = contact_steps(law, own);
                for k in 0..3 {
                    turn.step[k][lane] = steps[k];
                }
                for (k, w) in [own[1][0], own[2][0], own[2][1]].into_iter().enumerate() {
                    turn.coupling[k][lane] = w;
                }
            } else {
                turn.step[0][lane] = inverse(own[0][0]);
            }
        }
    }

    /// Every unit goes into the first lot that does not touch its strips.
    #[inline(always)]
    fn find_order(&mut self, factor: &Factor<S>) {
        self.taken.clear();
        self.taken.resize(factor.strip_count(), 0);
        self.lot.clear();
        self.place.clear();
        self.place.resize(u64::BITS as usize, 0);
        for unit in 0..factor.unit_count() {
            let strips = factor.unit(unit).0;
            let mut taken = 0;
            for &strip in strips {
                taken |= self.taken[strip as usize];
            }
            let lot = taken.trailing_ones().min(LAST_LOT);
            for &strip in strips {
                self.taken[strip as usize] |= 1 << lot;
            }
            self.lot.push(lot);
            // first how many units a lot has
            self.place[lot as usize] += 1;
        }
        let mut start = 0;
        for place in &mut self.place {
            (*place, start) = (start, start + *place);
        }
        self.order.resize(self.lot.len(), 0);
        for (unit, &lot) in self.lot.iter().enumerate() {
            let place = &mut self.place[lot as usize];
            self.order[*place as usize] = unit as u32;
            *place += 1;
        }
    }
}
