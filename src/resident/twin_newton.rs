//! The twin of `shaders/resident/newton.wgsl`: what the invocations of a workgroup do together, one after another. Y is read where it is; where it would be brought into workgroup memory tile by tile
//! decides which invocation has which row, and so the order of sums.

use super::layout::{self, Layout, SCALAR_HEAD};
use super::loops::{MOST_FAILED, STEP_SWEEPS, most_sweeps, newton_turns};
use super::shaders::{BROUGHT, FIRST_DELTA, LEAST_DELTA, SHORTER, SOFT_START, SOFTEST, WILD, WILD_TURNS};
use super::twin::{Problem, Twin, World, joined};
use super::twin_patches::seven;
use crate::lane::count_operations;
use crate::solver::{PATCH_DELTA, PATCH_ROWS};
use std::ops::Range;

/// What is done in a turn, before the certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Nothing,
    Step,
    Sweep,
}

/// A contact or scalar row as Newton sees it: its law λ' = h − M u' with what it lacks, as many rows as it has.
pub(super) struct Law {
    /// Where its rows have their impulses, and what Newton keeps of them.
    impulses: Vec<usize>,
    kept: Vec<usize>,
    /// Shape \[row\]\[row\].
    pub m: Vec<Vec<f32>>,
    /// g = h − M u − λ
    pub lack: Vec<f32>,
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
        count_operations(2 * (y.len() * z.len()) as u64);
        for (d, z) in z.iter().enumerate() {
            for (u, y) in u.iter_mut().zip(y) {
                *u = y[d].mul_add(*z, *u);
            }
        }
        u
    }

    /// The same of a scalar row.
    fn felt_scalar(&self, w: &World, scalar: usize, mut u: f32, z: &[f32]) -> f32 {
        count_operations(2 * z.len() as u64);
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

    pub fn contact_law(&self, w: &World, p: &Problem, c: usize, delta: f32) -> Law {
        let l = &self.layout;
        let row = l.row_len() * c;
        if self.patch_at(w, c).is_some() {
            return self.patch_law(w, p, c, delta);
        }
        let three = |first: usize| [0, 1, 2].map(|i| w.rows[row + first + i]);
        let (impulse, bias) = (three(l.row_impulse() + 3 * p.which), three(l.row_bias() + 3 * p.which));
        let u = Self::felt(&self.contact_y(w, c), bias.to_vec(), &p.z);
        let friction = w.rows[row + l.row_friction()];
        let law = self.formulas.contact_law.evaluate(&joined(&[&u, &impulse, &three(l.row_own()), &[friction, delta]]));
        let m: Vec<_> = law[..9].chunks_exact(3).map(<[f32]>::to_vec).collect();
        let felt = times(&m, &u);
        let lack = (0..3).map(|i| (law[9 + i] - impulse[i]) - felt[i]).collect();
        let places = |first: usize| (0..3).map(|i| row + first + i).collect();
        let (impulses, kept) = (places(l.row_impulse() + 3 * p.which), places(l.row_newton()));
        Law { impulses, kept, m, lack }
    }

    fn patch_law(&self, w: &World, p: &Problem, c: usize, delta: f32) -> Law {
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
        Law { impulses, kept: seven(row + l.row_newton(), row + l.row_more_newton()).to_vec(), m, lack }
    }

    fn scalar_law(&self, w: &World, p: &Problem, s: usize, scalar: usize, delta: f32) -> Law {
        let impulse = w.rows[self.scalar_impulse(p.which, s)];
        let u = self.felt_scalar(w, scalar, w.motion[scalar + 2 + p.which], &p.z);
        let [lower, upper] = self.bounds(s);
        let law = self.formulas.scalar_law.evaluate(&[u, impulse, w.motion[scalar + 1], lower, upper, delta]);
        let (m, lack) = (vec![vec![law[0]]], vec![(-law[0]).mul_add(u, law[1] - impulse)]);
        let (impulses, kept) = (vec![self.scalar_impulse(p.which, s)], vec![self.layout.scalar_newton() + s]);
        Law { impulses, kept, m, lack }
    }

    /// A step of Newton from z; what λ was stays beside it.
    pub fn newton_step(&self, w: &mut World, p: &Problem, delta: f32) {
        let (l, nv) = (&self.layout, self.layout.nv);
        let acting = w.acting(l);
        let columns = nv + 1;
        let mut system = vec![0.0f32; nv * columns];
        (0..nv).for_each(|d| system[columns * d + d] = 1.0);
        // of every contact and scalar row, by its number, and of a scalar row where it begins
        let mut laws = Vec::new();
        for [contacts, scalars] in self.tiles(w.count(), acting.len()) {
            for c in contacts {
                let (law, y) = (self.contact_law(w, p, c, delta), self.contact_y(w, c));
                count_operations(2 * (columns * nv * y.len()) as u64);
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
                laws.push((law, c, None));
            }
            for (s, scalar) in acting[scalars].iter().copied() {
                let law = self.scalar_law(w, p, s, scalar, delta);
                let y = &w.motion[scalar + SCALAR_HEAD..][..nv];
                count_operations(2 * (columns * nv) as u64);
                for column in 0..columns {
                    let pushed = if column == nv { law.lack[0] } else { law.m[0][0] * y[column] };
                    for d in 0..nv {
                        let sum = &mut system[columns * d + column];
                        *sum = y[d].mul_add(pushed, *sum);
                    }
                }
                laws.push((law, s, Some(scalar)));
            }
        }
        let answer = eliminated(nv, system);
        for (law, c, scalar) in laws {
            let u_step = if let Some(scalar) = scalar {
                vec![self.felt_scalar(w, scalar, 0.0, &answer)]
            } else {
                let y = self.contact_y(w, c);
                Self::felt(&y, vec![0.0; y.len()], &answer)
            };
            // λ + g − M Yᵀ dz
            let felt = times(&law.m, &u_step);
            for (k, (impulse, kept)) in law.impulses.into_iter().zip(law.kept).enumerate() {
                w.rows[kept] = w.rows[impulse];
                w.rows[impulse] += law.lack[k] - felt[k];
            }
        }
    }

    /// λ, and z with it, back to this share of the way that they went in a step and its sweeps; `before`: z before the step.
    pub fn go_back(&self, w: &mut World, p: &mut Problem, before: &[f32], length: f32) {
        let l = &self.layout;
        let mut rows = Vec::new();
        for c in 0..w.count() {
            let row = l.row_len() * c;
            let kept = seven(row + l.row_newton(), row + l.row_more_newton());
            let count = self.contact_y(w, c).len();
            rows.extend(self.impulse_rows(row, p.which).into_iter().zip(kept).take(count));
        }
        let acting = w.acting(l).into_iter();
        rows.extend(acting.map(|(s, _)| (self.scalar_impulse(p.which, s), l.scalar_newton() + s)));
        for (impulse, kept) in rows {
            w.rows[impulse] = between(w.rows[kept], w.rows[impulse], length);
        }
        p.z.iter_mut().zip(before).for_each(|(z, before)| *z = between(*before, *z, length));
    }

    /// Stages `velocity newton` and `position newton` of a listed world.
    pub fn newton(&self, problem: usize, w: &mut World) {
        let l = &self.layout;
        let (small, turns) = (self.is_small(w), newton_turns(l, l.contact_rows() * w.count() + w.acting(l).len()));
        let mut p = Problem { which: problem, z: Vec::new(), m: Vec::new(), residual: 0.0, rounding: 0.0 };
        let (mut delta, mut first_delta, mut failed) = (FIRST_DELTA as f32, FIRST_DELTA as f32, 0);
        let (mut length, mut recent) = (1.0, [0.0; 4]);
        let (mut action, mut steps, mut solved, mut before) = (Turn::Nothing, 0, false, Vec::new());
        let mut sweeps = 0;
        for turn in 0..=turns {
            if sweeps > most_sweeps(turns) {
                break;
            }
            match action {
                Turn::Nothing => {}
                Turn::Step => {
                    before.clone_from(&p.z);
                    self.newton_step(w, &p, delta);
                    steps += 1;
                }
                Turn::Sweep => {
                    if length < 1.0 {
                        self.go_back(w, &mut p, &before, length);
                    }
                    let more = STEP_SWEEPS * (1 + failed);
                    sweeps += more;
                    (0..more).for_each(|_| self.sweep(&self.formulas.project_contact, w, &mut p));
                }
            }
            solved = self.certify(w, &mut p);
            if solved {
                break;
            }
            let wild = if small && turn < WILD_TURNS { (WILD * self.plan.settings.tolerance()) as f32 } else { 0.0 };
            let largest = recent.iter().fold(wild, |most, x| most.max(*x));
            if action == Turn::Step && p.residual < BROUGHT as f32 * recent[0] {
                delta = (0.1 * delta).max(LEAST_DELTA as f32);
                recent = [p.residual, recent[0], recent[1], recent[2]];
            } else if action == Turn::Step {
                action = Turn::Sweep;
            } else if action == Turn::Nothing || length == 0.0 || p.residual < largest {
                if length == 0.0 {
                    first_delta = (10.0 * first_delta).min(SOFT_START as f32);
                    failed = (failed + 1).min(MOST_FAILED);
                }
                let grown = (if length > 0.0 { 2.0 } else { 10.0 } * delta).min(SOFTEST as f32);
                delta = if length == 1.0 { (0.1 * delta).max(first_delta) } else { grown };
                recent = [p.residual, recent[0], recent[1], recent[2]];
                (length, action) = (1.0, Turn::Step);
            } else {
                length = if length == 1.0 { SHORTER as f32 } else { 0.0 };
            }
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

/// a + length (b − a), and a itself whatever b is.
fn between(a: f32, b: f32, length: f32) -> f32 {
    if length > 0.0 { length.mul_add(b - a, a) } else { a }
}

/// The answer of a system of `nv` unknowns with its right-hand side as last column: Gauss and Jordan without pivots.
pub(super) fn eliminated(nv: usize, mut system: Vec<f32>) -> Vec<f32> {
    let columns = nv + 1;
    // a quotient a column, and a product with every other row
    count_operations((0..nv).map(|k| (columns - k) * (1 + 2 * (nv - 1))).sum::<usize>() as u64);
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
    count_operations(2 * (m.len() * x.len()) as u64);
    m.iter().map(|row| row.iter().zip(x).fold(0.0, |sum, (m, x)| sum + m * x)).collect()
}
