//! The twin of `shaders/resident/newton.wgsl`: what the invocations of a workgroup do together, one after another. Y is read where it is; where it would be brought into workgroup memory tile by tile
//! decides which invocation has which row, and so the order of sums.

use super::formulas::LENGTHS;
use super::layout::{self, Layout, SCALAR_HEAD};
use super::loops::{STEP_SWEEPS, Turn, newton_turns};
use super::shaders::{FIRST_DELTA, LEAST_DELTA};
use super::tile::{NEWTON_SUMS, newton_lanes};
use super::twin::{Problem, Twin, World, joined};
use super::twin_patches::seven;
use crate::solver::{PATCH_DELTA, PATCH_ROWS};
use std::ops::Range;

/// The last of the sums.
const MERIT_NOW: usize = NEWTON_SUMS - 1;
/// As the shader has it.
const SOFTEST: f32 = 1.0;

/// A contact or scalar row as Newton sees it: its law λ' = h − M u' with what it lacks, as many rows as it has.
struct Law {
    /// Where its rows have their impulses, and what Newton keeps of them.
    impulses: Vec<usize>,
    kept: Vec<usize>,
    /// Shape \[row\]\[row\].
    m: Vec<Vec<f32>>,
    lack: Vec<f32>,
    merit: f32,
}

impl Twin<'_> {
    /// The contacts of every tile, and which of the scalar rows that act.
    fn tiles(&self, count: usize, scalars: usize) -> Vec<[Range<usize>; 2]> {
        let l = &self.layout;
        let (rows, of_contact) = (l.newton_tile_rows(), l.contact_rows());
        let contact_rows = of_contact * count;
        let tile = |first: usize| {
            let [from, to] = [first, first + rows];
            let scalar = |row: usize| row.clamp(contact_rows, contact_rows + scalars) - contact_rows;
            [from.min(contact_rows) / of_contact..to.min(contact_rows) / of_contact, scalar(from)..scalar(to)]
        };
        (0..contact_rows + scalars).step_by(rows).map(tile).collect()
    }

    /// u = b + Yᵀ z of the rows of a contact, m/s, or the change of it; `u`: b, or 0.
    fn felt(y: &[&[f32]], mut u: Vec<f32>, z: &[f32]) -> Vec<f32> {
        for (d, z) in z.iter().enumerate() {
            for (u, y) in u.iter_mut().zip(y) {
                *u = y[d].mul_add(*z, *u);
            }
        }
        u
    }

    /// The same of a scalar row.
    fn felt_scalar(&self, w: &World, scalar: usize, mut u: f32, z: &[f32]) -> f32 {
        for (y, z) in w.motion[scalar + SCALAR_HEAD..][..self.layout.nv].iter().zip(z) {
            u = y.mul_add(*z, u);
        }
        u
    }

    /// Y of the rows of a contact.
    fn contact_y<'b>(&self, w: &'b World, c: usize) -> Vec<&'b [f32]> {
        let (l, nv) = (&self.layout, self.layout.nv);
        let row = l.row_len() * c;
        let own = w.rows[row + Layout::ROW_Y..][..3 * nv].chunks_exact(nv);
        match self.patch_at(w, c) {
            None => own.collect(),
            Some(_) => own.chain(w.rows[row + l.row_more_y()..][..PATCH_ROWS * nv].chunks_exact(nv)).collect(),
        }
    }

    fn contact_law(&self, w: &World, p: &Problem, c: usize, kind: Turn, delta: f32) -> (Vec<f32>, Law) {
        let l = &self.layout;
        let row = l.row_len() * c;
        if self.patch_at(w, c).is_some() {
            return self.patch_law(w, p, c, delta);
        }
        let three = |first: usize| [0, 1, 2].map(|i| w.rows[row + first + i]);
        let (impulse, bias) = (three(l.row_impulse() + 3 * p.which), three(l.row_bias() + 3 * p.which));
        let u = Self::felt(&self.contact_y(w, c), bias.to_vec(), &p.z);
        let friction = w.rows[row + l.row_friction()];
        let own = three(l.row_own());
        let law = match kind.first_split() {
            None => self.formulas.contact_law.evaluate(&joined(&[&u, &impulse, &own, &[friction, delta]])),
            Some(first) => {
                let kept = three(l.row_newton());
                self.split.contact_law.evaluate(&joined(&[&u, &impulse, &kept, &own, &[friction, first]]))
            }
        };
        let m: Vec<_> = law[..9].chunks_exact(3).map(<[f32]>::to_vec).collect();
        let felt = times(&m, &u);
        let lack = (0..3).map(|i| (law[9 + i] - impulse[i]) - felt[i]).collect();
        let merit = if kind == Turn::Newton { law[12] } else { 0.0 };
        let places = |first: usize| (0..3).map(|i| row + first + i).collect();
        let (impulses, kept) = (places(l.row_impulse() + 3 * p.which), places(l.row_newton()));
        (u, Law { impulses, kept, m, lack, merit })
    }

    fn patch_law(&self, w: &World, p: &Problem, c: usize, delta: f32) -> (Vec<f32>, Law) {
        let (l, row) = (&self.layout, self.layout.row_len() * c);
        let bias = self.bias_rows(row, p.which).map(|k| w.rows[k]);
        let u = Self::felt(&self.contact_y(w, c), bias.to_vec(), &p.z);
        let impulses = self.impulse_rows(row, p.which).to_vec();
        let impulse: Vec<f32> = impulses.iter().map(|k| w.rows[*k]).collect();
        let one = self.one_patch(w, row);
        let law = self.patches.as_ref().map_or_else(Vec::new, |f| {
            let held = [one.friction, delta.max(PATCH_DELTA as f32)];
            f.law.evaluate(&joined(&[&u, &impulse, &one.diagonal(), &one.shape, &held]))
        });
        let m = law.chunks_exact(u.len() + 1).map(|row| row[..u.len()].to_vec()).collect();
        let lack = law.chunks_exact(u.len() + 1).map(|row| row[u.len()]).collect();
        let merit = self.patch_merit(&one, &u, &impulse);
        (u, Law { impulses, kept: seven(row + l.row_newton(), row + l.row_more_newton()).to_vec(), m, lack, merit })
    }

    fn scalar_law(&self, w: &World, p: &Problem, s: usize, scalar: usize, kind: Turn, delta: f32) -> (f32, Law) {
        let impulse = w.rows[self.scalar_impulse(p.which, s)];
        let u = self.felt_scalar(w, scalar, w.motion[scalar + 2 + p.which], &p.z);
        let ([lower, upper], own) = (self.bounds(s), w.motion[scalar + 1]);
        let law = match kind.first_split() {
            None => self.formulas.scalar_law.evaluate(&[u, impulse, own, lower, upper, delta]),
            Some(first) => {
                let kept = w.rows[self.layout.scalar_newton() + s];
                self.split.scalar_law.evaluate(&[u, impulse, kept, own, first])
            }
        };
        let (m, lack) = (vec![vec![law[0]]], vec![(-law[0]).mul_add(u, law[1] - impulse)]);
        let (impulses, kept) = (vec![self.scalar_impulse(p.which, s)], vec![self.layout.scalar_newton() + s]);
        (u, Law { impulses, kept, m, lack, merit: if kind == Turn::Newton { law[2] } else { 0.0 } })
    }

    /// A step from z: of Newton, if one gets anything, or of alternating directions. Returns δ of the next one.
    pub fn newton_step(&self, w: &mut World, p: &Problem, kind: Turn, delta: f32) -> f32 {
        let (l, f, nv) = (&self.layout, &self.formulas, self.layout.nv);
        let acting: Vec<_> = (0..l.scalar_rows()).filter_map(|s| Some((s, w.acts(l, s)?))).collect();
        let (columns, lanes, tiles) = (nv + 1, newton_lanes(nv), self.tiles(w.count(), acting.len()));
        // merits after steps of several lengths, and before, of every invocation
        let mut merits = vec![[0.0f32; NEWTON_SUMS]; lanes];
        let mut system = vec![0.0f32; nv * columns];
        (0..nv).for_each(|d| system[columns * d + d] = 1.0);
        for [contacts, scalars] in &tiles {
            for c in contacts.clone() {
                let (_, law) = self.contact_law(w, p, c, kind, delta);
                merits[(c - contacts.start) % lanes][MERIT_NOW] += law.merit;
                let y = self.contact_y(w, c);
                for column in 0..columns {
                    // M Y, or g
                    let own: Vec<f32> = y.iter().map(|y| y[column.min(nv - 1)]).collect();
                    let pushed = if column == nv { law.lack.clone() } else { times(&law.m, &own) };
                    for d in 0..nv {
                        let sum = &mut system[columns * d + column];
                        for (y, pushed) in y.iter().zip(&pushed) {
                            *sum = y[d].mul_add(*pushed, *sum);
                        }
                    }
                }
            }
            for i in scalars.clone() {
                let (s, scalar) = acting[i];
                let (_, law) = self.scalar_law(w, p, s, scalar, kind, delta);
                merits[(i - scalars.start) % lanes][MERIT_NOW] += law.merit;
                let y = &w.motion[scalar + SCALAR_HEAD..][..nv];
                for column in 0..columns {
                    let pushed = if column == nv { law.lack[0] } else { law.m[0][0] * y[column] };
                    for d in 0..nv {
                        let sum = &mut system[columns * d + column];
                        *sum = y[d].mul_add(pushed, *sum);
                    }
                }
            }
        }
        let answer = eliminated(nv, system);
        for [contacts, scalars] in &tiles {
            for c in contacts.clone() {
                let (row, lane) = (l.row_len() * c, (c - contacts.start) % lanes);
                let (u, law) = self.contact_law(w, p, c, kind, delta);
                let y = self.contact_y(w, c);
                let u_step = Self::felt(&y, vec![0.0; y.len()], &answer);
                let felt = times(&law.m, &u_step);
                let step: Vec<f32> = law.lack.iter().zip(&felt).map(|(lack, felt)| lack - felt).collect();
                let impulse: Vec<f32> = law.impulses.iter().map(|k| w.rows[*k]).collect();
                let own = [0, 1, 2].map(|i| w.rows[row + l.row_own() + i]);
                let friction = w.rows[row + l.row_friction()];
                if let Some(first) = kind.first_split() {
                    let kept: Vec<f32> = law.kept.iter().map(|k| w.rows[*k]).collect();
                    let part = joined(&[&step, &impulse, &kept, &[friction, first]]);
                    let told = self.split.contact_part.evaluate(&part);
                    for (place, told) in law.kept.iter().chain(&law.impulses).zip(told) {
                        w.rows[*place] = told;
                    }
                    continue;
                }
                let told = if self.patch_at(w, c).is_some() {
                    let one = self.one_patch(w, row);
                    let moved = |a: f32, of: &[f32], by: &[f32]| {
                        of.iter().zip(by).map(|(x, d)| a.mul_add(*d, *x)).collect::<Vec<_>>()
                    };
                    let merit = |a: &f64| {
                        self.patch_merit(&one, &moved(*a as f32, &u, &u_step), &moved(*a as f32, &impulse, &step))
                    };
                    LENGTHS.iter().map(merit).collect()
                } else {
                    f.contact_merits.evaluate(&joined(&[&u, &impulse, &u_step, &step, &own, &[friction]]))
                };
                (0..LENGTHS.len()).for_each(|k| merits[lane][k] += told[k]);
                for (place, step) in law.kept.iter().zip(step) {
                    w.rows[*place] = step;
                }
            }
            for i in scalars.clone() {
                let (s, scalar) = acting[i];
                let (u, law) = self.scalar_law(w, p, s, scalar, kind, delta);
                let u_step = self.felt_scalar(w, scalar, 0.0, &answer);
                let step = (-law.m[0][0]).mul_add(u_step, law.lack[0]);
                let impulse = w.rows[self.scalar_impulse(p.which, s)];
                let [lower, upper] = self.bounds(s);
                if let Some(first) = kind.first_split() {
                    let part = [step, impulse, w.rows[l.scalar_newton() + s], lower, upper, first];
                    let told = self.split.scalar_part.evaluate(&part);
                    w.rows[l.scalar_newton() + s] = told[0];
                    w.rows[self.scalar_impulse(p.which, s)] = told[1];
                    continue;
                }
                let told = f.scalar_merits.evaluate(&[u, impulse, u_step, step, w.motion[scalar + 1], lower, upper]);
                let merits = &mut merits[(i - scalars.start) % lanes];
                (0..LENGTHS.len()).for_each(|k| merits[k] += told[k]);
                w.rows[l.scalar_newton() + s] = step;
            }
        }
        if kind.first_split().is_some() {
            return FIRST_DELTA as f32;
        }
        let sums: Vec<f32> = (0..NEWTON_SUMS).map(|k| merits.iter().fold(0.0, |sum, own| sum + own[k])).collect();
        let mut best = 0;
        if sums[0] >= 0.1 * sums[MERIT_NOW] || sums[0].is_nan() {
            for k in 1..MERIT_NOW {
                if sums[k] < sums[best] || !sums[best].is_finite() {
                    best = k;
                }
            }
        }
        if sums[best] < sums[MERIT_NOW] {
            let length = LENGTHS[best] as f32;
            for c in 0..w.count() {
                let row = l.row_len() * c;
                let rows = self.contact_y(w, c).len();
                let impulses = self.impulse_rows(row, p.which).into_iter().take(rows);
                for (impulse, kept) in impulses.zip(seven(row + l.row_newton(), row + l.row_more_newton())) {
                    w.rows[impulse] += length * w.rows[kept];
                }
            }
            for (s, _) in acting {
                w.rows[self.scalar_impulse(p.which, s)] += length * w.rows[l.scalar_newton() + s];
            }
            return if best == 0 { (0.1 * delta).max(LEAST_DELTA as f32) } else { (2.0 * delta).min(SOFTEST) };
        }
        (10.0 * delta).min(SOFTEST)
    }

    /// Stages `velocity newton` and `position newton` of a listed world.
    pub fn newton(&self, problem: usize, w: &mut World) {
        let turns = newton_turns(&self.layout, w.count());
        let mut p = Problem { which: problem, z: Vec::new(), m: Vec::new(), residual: 0.0, rounding: 0.0 };
        let (mut delta, mut steps) = (FIRST_DELTA as f32, 0);
        let mut solved = self.certify(w, &mut p);
        for turn in 0..turns {
            if solved {
                break;
            }
            let kind = Turn::of(turn, turns);
            delta = self.newton_step(w, &p, kind, delta);
            if kind == Turn::Newton {
                steps += 1;
                // z anew, and sweeps from there
                self.certify(w, &mut p);
                for _ in 0..STEP_SWEEPS {
                    self.sweep(&self.formulas.project_contact, w, &mut p);
                }
            }
            solved = self.certify(w, &mut p);
        }
        if problem == 0 {
            w.contact[6] = 0.0;
        }
        w.contact[6] += steps as f32;
        if solved {
            self.keep(w, &p);
        } else {
            w.halt(&self.layout, layout::NOT_SOLVED);
        }
    }
}

/// The answer of a system of `nv` unknowns with its right-hand side as last column: Gauss and Jordan without pivots.
pub(super) fn eliminated(nv: usize, mut system: Vec<f32>) -> Vec<f32> {
    let columns = nv + 1;
    for k in 0..nv {
        let pivots: Vec<f32> = (0..nv).map(|i| system[columns * i + k]).collect();
        for j in k..columns {
            let factor = system[columns * k + j] / pivots[k];
            for i in (0..nv).filter(|i| *i != k) {
                system[columns * i + j] = (-pivots[i]).mul_add(factor, system[columns * i + j]);
            }
            system[columns * k + j] = factor;
        }
    }
    (0..nv).map(|d| system[columns * d + nv]).collect()
}

/// m x
fn times(m: &[Vec<f32>], x: &[f32]) -> Vec<f32> {
    m.iter().map(|row| row.iter().zip(x).fold(0.0, |sum, (m, x)| sum + m * x)).collect()
}
