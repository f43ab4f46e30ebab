//! W as a dense matrix: what Newton on modes needs of it, in lanes.

use super::batch::REPORT_LIVE;
use super::block_lu::{BLOCK, factor, solve};
use super::modes::{Mode, tests};
use super::newton::{Form, Guess};
use super::pgs::pgs;
use super::project::scale;
use super::settings::Header;
use super::size::BlockSize;
use super::tiles::OneTile;
use crate::lane::{Level, Pack};

/// Every entry of W.
#[derive(Debug, Clone, Default)]
pub(super) struct Dense<R> {
    /// The instruction set that it is worked on with.
    pub level: Level,
    /// W, shape \[row\]\[column\].
    pub delassus: Vec<R>,
    /// 1 / unit, and then the right-hand side before its modes, shape \[row\].
    constant: Vec<R>,
    /// The system, padded to whole blocks, and its right-hand side.
    system: Vec<R>,
    right: Vec<R>,
}

impl<R: Pack> Form<R> for Dense<R> {
    fn level(&self) -> Level {
        self.level
    }

    #[inline(always)]
    fn clear(&mut self, size: BlockSize) {
        let n = size.row_count();
        let padded = n.next_multiple_of(BLOCK);
        for (array, len) in [
            (&mut self.delassus, n * n),
            (&mut self.constant, n),
            (&mut self.system, padded * padded),
            (&mut self.right, padded),
        ] {
            array.resize(len, R::zero());
        }
        self.delassus.fill(R::zero());
    }

    #[inline(always)]
    fn scale(&mut self, size: BlockSize, unit: &mut [R]) {
        let (n, contacts) = (size.row_count(), 3 * size.contact_count);
        for c in 0..size.contact_count {
            let i = 3 * c;
            let w = &self.delassus;
            let sum = w[i * n + i] + w[(i + 1) * n + i + 1] + w[(i + 2) * n + i + 2];
            unit[i..i + 3].fill(scale(sum * R::constant(1.0 / 3.0)).sqrt());
        }
        for i in contacts..n {
            unit[i] = scale(self.delassus[i * n + i]).sqrt();
        }
        for i in 0..n {
            self.constant[i] = R::one() / unit[i];
        }
        for i in 0..n {
            let inverse = self.constant[i];
            for (w, other) in self.delassus[i * n..(i + 1) * n].iter_mut().zip(&self.constant) {
                // the product of the units first, so that W stays symmetric to the bit
                *w = *w * (inverse * *other);
            }
        }
    }

    /// Four rows at a time: their sums do not wait for each other.
    #[inline(always)]
    fn add_product(&mut self, x: &[R], out: &mut [R]) {
        // a chunk may not be empty
        let n = x.len().max(1);
        let mut rows = self.delassus.chunks_exact(4 * n);
        let mut outs = out.chunks_exact_mut(4);
        for (rows, out) in (&mut rows).zip(&mut outs) {
            let (row0, rows) = rows.split_at(n);
            let (row1, rows) = rows.split_at(n);
            let (row2, row3) = rows.split_at(n);
            let [mut s0, mut s1, mut s2, mut s3] = [out[0], out[1], out[2], out[3]];
            for j in 0..n {
                s0 = row0[j].mul_add(x[j], s0);
                s1 = row1[j].mul_add(x[j], s1);
                s2 = row2[j].mul_add(x[j], s2);
                s3 = row3[j].mul_add(x[j], s3);
            }
            out.copy_from_slice(&[s0, s1, s2, s3]);
        }
        for (row, out) in rows.remainder().chunks_exact(n).zip(outs.into_remainder()) {
            for (w, x) in row.iter().zip(x) {
                *out = w.mul_add(*x, *out);
            }
        }
    }

    #[inline(always)]
    fn find_unknowns(&mut self, guess: &Guess<'_, R>) {
        self.assemble(guess);
        factor(&mut self.system, self.right.len());
        solve(&self.system, &mut self.right);
    }

    #[inline(always)]
    fn found(&self) -> &[R] {
        &self.right
    }

    #[inline(always)]
    fn factor_shifted(&mut self, rho: R) {
        let padded = self.right.len();
        let n = self.constant.len();
        self.system.fill(R::zero());
        for i in 0..n {
            self.system[i * padded..i * padded + n].copy_from_slice(&self.delassus[i * n..(i + 1) * n]);
        }
        for i in 0..padded {
            self.system[i * padded + i] += rho;
        }
        factor(&mut self.system, padded);
    }

    #[inline(always)]
    fn solve_shifted(&mut self, x: &mut [R]) {
        self.right.fill(R::zero());
        self.right[..x.len()].copy_from_slice(x);
        solve(&self.system, &mut self.right);
        x.copy_from_slice(&self.right[..x.len()]);
    }

    #[inline(always)]
    fn sweep_all(&mut self, header: &Header, tile: &mut OneTile<'_, R>, velocity: &mut [R]) {
        let lanes = R::zero().lt(tile.report[REPORT_LIVE]);
        for _ in 0..header.sweep_count {
            pgs(header, &self.delassus, tile.bias, tile.friction, tile.bounds, lanes, tile.impulse);
        }
        velocity.copy_from_slice(tile.bias);
        self.add_product(tile.impulse, velocity);
    }
}

impl<R: Pack> Dense<R> {
    /// Lᵀ W R + δ I + D and Lᵀ(δ y − b − W c).
    #[inline(always)]
    fn assemble(&mut self, guess: &Guess<'_, R>) {
        let Guess { size, modes, free, delta, .. } = *guess;
        let (n, contacts) = (size.row_count(), size.contact_count);
        let padded = self.right.len();
        let first = 3 * contacts;
        // δ y − b − W c
        for i in 0..n {
            let mut r = delta.mul_add(guess.impulse[i], -guess.bias[i]);
            for j in first..n {
                r = (-self.delassus[i * n + j]).mul_add(guess.fixed[j], r);
            }
            self.constant[i] = r;
        }
        for a in 0..contacts {
            let i = 3 * a;
            let mode = modes[a];
            let (row0, rest) = self.delassus[i * n..(i + 3) * n].split_at(n);
            let (row1, row2) = rest.split_at(n);
            for b in 0..contacts {
                let (j, other) = (3 * b, &modes[b]);
                let (t0, t1, t2) =
                    (columns(&row0[j..j + 3], other), columns(&row1[j..j + 3], other), columns(&row2[j..j + 3], other));
                for k in 0..3 {
                    let [x, y, z] = tests(&mode, [t0[k], t1[k], t2[k]]);
                    self.system[i * padded + j + k] = x;
                    self.system[(i + 1) * padded + j + k] = y;
                    self.system[(i + 2) * padded + j + k] = z;
                }
            }
            for s in 0..n - first {
                let (j, one) = (first + s, free[s]);
                let [x, y, z] = tests(&mode, [row0[j] * one, row1[j] * one, row2[j] * one]);
                self.system[i * padded + j] = x;
                self.system[(i + 1) * padded + j] = y;
                self.system[(i + 2) * padded + j] = z;
                // from the symmetry of W
                let t = columns(&self.delassus[j * n + i..j * n + i + 3], &mode);
                for k in 0..3 {
                    self.system[j * padded + i + k] = t[k] * free[s];
                }
            }
            let [x, y, z] = tests(&mode, [self.constant[i], self.constant[i + 1], self.constant[i + 2]]);
            (self.right[i], self.right[i + 1], self.right[i + 2]) = (x, y, z);
            for k in 0..3 {
                self.system[(i + k) * padded + i + k] += delta + mode.curvature[k];
            }
        }
        for i in first..n {
            for j in first..n {
                self.system[i * padded + j] = self.delassus[i * n + j] * free[i - first] * free[j - first];
            }
            self.right[i] = self.constant[i] * free[i - first];
            self.system[i * padded + i] += delta + (R::one() - free[i - first]);
        }
        for i in n..padded {
            for j in 0..padded {
                self.system[i * padded + j] = R::zero();
                self.system[j * padded + i] = R::zero();
            }
            self.system[i * padded + i] = R::one();
            self.right[i] = R::zero();
        }
    }
}

/// w R for three entries w of a row of W.
#[inline(always)]
fn columns<R: Pack>(w: &[R], mode: &Mode<R>) -> [R; 3] {
    [
        w[0].mul_add(mode.pressed, w[1].mul_add(mode.drag[0], w[2] * mode.drag[1])),
        w[1].mul_add(mode.across[0], w[2] * mode.across[1]),
        w[2] * mode.stick,
    ]
}
