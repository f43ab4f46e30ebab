//! The twin of `shaders/resident/small_sweeps.wgsl`.

use super::layout::{Layout, SCALAR_HEAD};
use super::shaders::UNSOLVABLE;
use super::small::{ENOUGH, Small, packed, place, rounds_of_small_sweeps};
use super::twin::{Twin, World, joined};
use crate::lane::{Program, count_operations};

impl Twin<'_> {
    /// Whether a world has so few rows that W is formed.
    pub fn is_small(&self, w: &World) -> bool {
        let acting = w.acting(&self.layout).len();
        self.small.as_ref().is_some_and(|small| w.count() <= small.contacts && acting <= small.scalars)
    }

    /// `turn`: 1 where it was listed before.
    pub fn small_sweeps(&self, problem: usize, turn: usize, w: &mut World) {
        let (l, nv) = (&self.layout, self.layout.nv);
        if turn == 0 {
            self.start(problem, w);
        }
        let (count, acting) = (w.count(), w.acting(l));
        let Some(small) = self.small.as_ref().filter(|_| self.is_small(w)) else { return };
        if count + acting.len() == 0 {
            return;
        }
        let (n, first) = (small.rows(), 3 * small.contacts);
        // Y, b and λ of all rows, and where the latter are
        let (mut y, mut bias, mut places) = (vec![vec![0.0; nv]; n], vec![0.0; n], vec![None; n]);
        for i in 0..3 * count {
            let (row, i_own) = (l.row_len() * (i / 3), i % 3);
            y[i].copy_from_slice(&w.rows[row + Layout::ROW_Y + nv * i_own..][..nv]);
            bias[i] = w.rows[row + l.row_bias() + 3 * problem + i_own];
            places[i] = Some(row + l.row_impulse() + 3 * problem + i_own);
        }
        for (k, (s, scalar)) in acting.iter().enumerate() {
            y[first + k].copy_from_slice(&w.motion[scalar + SCALAR_HEAD..][..nv]);
            bias[first + k] = w.motion[scalar + 2 + problem];
            places[first + k] = Some(self.scalar_impulse(problem, *s));
        }
        let mut impulse: Vec<f32> = places.iter().map(|place| place.map_or(0.0, |k| w.rows[k])).collect();
        let delassus = formed(small, &y);
        // what is a row's own, of contacts also what their updates take of W
        let friction = |c: usize| vec![w.rows[l.row_len() * c + l.row_friction()]];
        let bounds = || acting.iter().map(|(s, _)| self.bounds(*s).to_vec());
        let own: Vec<Vec<f32>> = (0..count).map(friction).chain(bounds()).collect();
        let constants = |c: usize| joined(&[&friction(c), &small.constants[c].evaluate(&delassus)]);
        let swept: Vec<Vec<f32>> = (0..count).map(constants).chain(bounds()).collect();
        // what is there: its first row, its formulas, and what is its own
        let contacts = small.sweep_contact.iter().zip(&small.check_contact).take(count);
        let scalars = small.sweep_scalar.iter().zip(&small.check_scalar).take(acting.len());
        let units: Vec<(usize, (&Program, &Program))> = contacts
            .enumerate()
            .map(|(c, f)| (3 * c, f))
            .chain(scalars.enumerate().map(|(s, f)| (first + s, f)))
            .collect();
        let (mut going, mut sweeps) = (true, 0);
        let check_every = self.plan.settings.check_every.max(1);
        for round in 0..=rounds_of_small_sweeps(self.plan)[turn] {
            if !going {
                break;
            }
            if round > 0 {
                for _ in 0..check_every {
                    for ((at, (sweep, _)), own) in units.iter().zip(&swept) {
                        let told = sweep.evaluate(&joined(&[&delassus, &bias, &impulse, own]));
                        impulse[*at..at + told.len()].copy_from_slice(&told);
                    }
                }
                sweeps += check_every;
            }
            let mut largest = 0.0f32;
            for ((_, (_, check)), own) in units.iter().zip(&own) {
                let error = check.evaluate(&joined(&[&delassus, &bias, &impulse, own]))[0];
                largest = largest.max(if error.is_finite() { error } else { UNSOLVABLE });
            }
            going = largest > (ENOUGH * self.plan.settings.tolerance()) as f32 && largest < UNSOLVABLE;
        }
        for (place, impulse) in places.iter().zip(impulse) {
            if let Some(k) = place {
                w.rows[*k] = impulse;
            }
        }
        w.contact[5] += sweeps as f32;
        w.unfinished |= going;
    }
}

/// The upper triangle of W = Y Yᵀ, with compliance, of Y of all rows.
fn formed(small: &Small, y: &[Vec<f32>]) -> Vec<f32> {
    let n = small.rows();
    let mut w = vec![0.0f32; packed(n)];
    for c in 0..small.contacts {
        w[place(n, 3 * c, 3 * c)] = small.compliance;
    }
    for d in 0..y[0].len() {
        count_operations(2 * packed(n) as u64);
        for i in 0..n {
            for j in i..n {
                let k = place(n, i, j);
                w[k] = y[i][d].mul_add(y[j][d], w[k]);
            }
        }
    }
    w
}
