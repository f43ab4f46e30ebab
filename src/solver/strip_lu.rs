//! The system I + Yᵀ K Y of Newton on a factored block, by strips: two strips are coupled where a unit touches both, and elimination fills in little when strips with
//! few others left go first (minimum degree, Tinney and Walker 1967).
//!
//! A = L U by blocks of a strip by a strip, without pivoting (a Newton system on modes needs none). Blocks below the diagonal are kept transposed, so that every operation
//! is one on whole rows.

use super::block_lu::factor_block;
use super::factor::{Factor, STRIP, Strip};
use crate::lane::{Compiled, Scalar, Task};
use std::ops::Range;

/// A row for every column of a strip.
type Block<S> = [Strip<S>; STRIP];

/// Columns of a strip that a free body fills.
pub(super) const BODY: usize = 6;
/// No place, no coupling.
const NONE: u32 = u32::MAX;

/// The system of one block, then its factors.
#[derive(Debug, Clone, Default)]
pub(super) struct StripLu<S> {
    /// The strips in the order of elimination, and the place of each in it, shape \[strip\].
    order: Vec<u32>,
    place: Vec<u32>,
    /// Whether no row touches more than the first [`BODY`] columns of any strip.
    bodies: bool,
    /// The later places that a place is coupled to, ascending: `later[first[p]..first[p + 1]]`.
    first: Vec<u32>,
    later: Vec<u32>,
    /// Which of them couples an earlier and a later place, shape \[place\]\[place\].
    index: Vec<u32>,
    /// Diagonal blocks, then L and U in one, the diagonal of U inverted, shape \[place\].
    diagonal: Vec<Block<S>>,
    /// A_pi and Aᵀ_ip of every coupling, then U_pi and Lᵀ_ip.
    couplings: Vec<[Block<S>; 2]>,
    /// Strips that are coupled while order is found, one bit each, shape \[strip\]\[word\].
    coupled: Vec<u64>,
    /// What of these the units couple, for which order and couplings stand.
    known: Vec<u64>,
    /// How many strips each is coupled to that has no place yet, with itself, shape \[strip\]; [`NONE`] if it has one.
    degree: Vec<u32>,
    /// The right-hand side and solution, shape \[place\].
    solution: Vec<Strip<S>>,
}

/// Finds the factors of I + Yᵀ K Y. Long, and needed in several forms of Newton, so it is compiled once a level and number type, as [`Substitute`] is.
pub(super) struct Eliminate<'a, S> {
    pub system: &'a mut StripLu<S>,
    /// Y.
    pub factor: &'a Factor<S>,
    /// K of every unit, shape \[unit\].
    pub weight: &'a [[[S; 3]; 3]],
}

impl<S: Scalar> Task for Eliminate<'_, S> {
    const COMPILED: Compiled = S::PIECES;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.system.factor(self.factor, self.weight);
    }
}

/// z ← A⁻¹ z with the factors, shape \[strip\].
pub(super) struct Substitute<'a, S> {
    pub system: &'a mut StripLu<S>,
    pub z: &'a mut [Strip<S>],
}

impl<S: Scalar> Task for Substitute<'_, S> {
    const COMPILED: Compiled = S::PIECES;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.system.solve(self.z);
    }
}

impl<S: Scalar> StripLu<S> {
    /// See [`Eliminate`].
    #[inline(always)]
    fn factor(&mut self, factor: &Factor<S>, weight: &[[[S; 3]; 3]]) {
        self.find_pattern(factor, weight);
        let zero = [[S::zero(); STRIP]; STRIP];
        let mut one = zero;
        for i in 0..STRIP {
            one[i][i] = S::one();
        }
        self.diagonal.clear();
        self.diagonal.resize(self.order.len(), one);
        self.couplings.clear();
        self.couplings.resize(self.later.len(), [zero; 2]);
        if self.bodies {
            self.add_all::<BODY>(factor, weight);
            self.eliminate::<BODY>();
        } else {
            self.add_all::<STRIP>(factor, weight);
            self.eliminate::<STRIP>();
        }
    }

    /// Which strips are coupled, in which order they go, and what that fills in.
    #[inline(always)]
    fn find_pattern(&mut self, factor: &Factor<S>, weight: &[[[S; 3]; 3]]) {
        let n = factor.strip_count();
        let words = n.div_ceil(64);
        self.bodies = factor.widest() <= BODY;
        self.coupled.clear();
        self.coupled.resize(n * words, 0);
        for (unit, k) in weight.iter().enumerate() {
            if acts(k) {
                let strips = factor.unit(unit).0;
                for &a in strips {
                    for &b in strips {
                        self.coupled[a as usize * words + b as usize / 64] |= 1 << (b % 64);
                    }
                }
            }
        }
        // most steps are along the pattern of the last one
        if self.place.len() == n && self.coupled == self.known {
            return;
        }
        self.known.clone_from(&self.coupled);
        self.degree.clear();
        for strip in self.coupled.chunks_exact(words.max(1)) {
            self.degree.push(count(strip));
        }
        self.place.clear();
        self.place.resize(n, NONE);
        self.order.clear();
        self.first.clear();
        self.later.clear();
        for p in 0..n {
            // of those that are left, the one with the fewest neighbours
            let mut least = (NONE, 0);
            for (strip, degree) in self.degree.iter().enumerate() {
                least = least.min((*degree, strip));
            }
            let strip = least.1;
            self.place[strip] = p as u32;
            self.degree[strip] = NONE;
            self.order.push(strip as u32);
            self.first.push(self.later.len() as u32);
            // its neighbours become neighbours of each other, and lose it
            for word in 0..words {
                let mut bits = self.coupled[strip * words + word];
                while bits != 0 {
                    let other = word * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    if other == strip {
                        continue;
                    }
                    self.later.push(other as u32);
                    for w in 0..words {
                        self.coupled[other * words + w] |= self.coupled[strip * words + w];
                    }
                    self.coupled[other * words + strip / 64] &= !(1 << (strip % 64));
                    self.degree[other] = count(&self.coupled[other * words..(other + 1) * words]);
                }
            }
        }
        self.first.push(self.later.len() as u32);
        self.index.clear();
        self.index.resize(n * n, NONE);
        for p in 0..n {
            let couplings = self.first[p] as usize..self.first[p + 1] as usize;
            for later in &mut self.later[couplings.clone()] {
                *later = self.place[*later as usize];
            }
            self.later[couplings.clone()].sort_unstable();
            for k in couplings {
                self.index[p * n + self.later[k] as usize] = k as u32;
            }
        }
    }

    /// Adds Yᵀ K Y. `N`: columns of a strip that are looked at.
    #[inline(always)]
    fn add_all<const N: usize>(&mut self, factor: &Factor<S>, weight: &[[[S; 3]; 3]]) {
        let mut unit = 0;
        while unit < weight.len() {
            // the points of a pair of bodies go together: the sums of a block stay at hand
            let (strips, contact) = (factor.unit(unit).0, unit < factor.size.contact_count);
            let mut end = unit + 1;
            while contact && end < factor.size.contact_count && factor.unit(end).0 == strips {
                end += 1;
            }
            for a in 0..strips.len() {
                for b in a..strips.len() {
                    let (pa, pb) = (self.place[strips[a] as usize] as usize, self.place[strips[b] as usize] as usize);
                    let (a, b, pa, pb) = if pa <= pb { (a, b, pa, pb) } else { (b, a, pb, pa) };
                    let (upper, lower) = if pa == pb {
                        (&mut self.diagonal[pa], None)
                    } else {
                        let index = self.index[pa * self.order.len() + pb];
                        // none: no unit that acts touches both
                        let Some([upper, lower]) = self.couplings.get_mut(index as usize) else { continue };
                        (upper, Some(lower))
                    };
                    add_products::<S, N, false>(upper, factor, unit..end, weight, [a, b]);
                    if let Some(lower) = lower {
                        add_products::<S, N, true>(lower, factor, unit..end, weight, [a, b]);
                    }
                }
            }
            unit = end;
        }
    }

    /// A = L U. `N`: columns of a strip that are looked at.
    #[inline(always)]
    fn eliminate<const N: usize>(&mut self) {
        let n = self.order.len();
        for p in 0..n {
            let own = factor_block::<S, STRIP, N>(self.diagonal[p]);
            self.diagonal[p] = own;
            let (start, end) = (self.first[p] as usize, self.first[p + 1] as usize);
            // what couples later places with each other comes after what couples this one
            let (here, after) = self.couplings.split_at_mut(end);
            let (here, later) = (&mut here[start..], &self.later[start..end]);
            for [upper, lower] in here.iter_mut() {
                // U_pi = L_p⁻¹ A_pi, and Lᵀ_ip = U_p⁻ᵀ Aᵀ_ip
                divide::<S, N, false>(upper, &own);
                divide::<S, N, true>(lower, &own);
            }
            for (k, (&j, [upper, lower])) in later.iter().zip(&*here).enumerate() {
                // A_jj −= L_jp U_pj, and for later i: A_ji −= L_jp U_pi, Aᵀ_ij −= U_pjᵀ Lᵀ_ip
                subtract_product::<S, N>(&mut self.diagonal[j as usize], lower, upper);
                for l in k + 1..here.len() {
                    let index = self.index[j as usize * n + later[l] as usize] as usize;
                    let ([other_upper, other_lower], target) = (&here[l], &mut after[index - end]);
                    subtract_product::<S, N>(&mut target[0], lower, other_upper);
                    subtract_product::<S, N>(&mut target[1], upper, other_lower);
                }
            }
        }
    }

    /// See [`Substitute`].
    #[inline(always)]
    fn solve(&mut self, z: &mut [Strip<S>]) {
        if self.bodies { self.substitute::<BODY>(z) } else { self.substitute::<STRIP>(z) }
    }

    #[inline(always)]
    fn substitute<const N: usize>(&mut self, z: &mut [Strip<S>]) {
        let n = self.order.len();
        self.solution.clear();
        for &strip in &self.order {
            self.solution.push(z[strip as usize]);
        }
        for p in 0..n {
            let (own, mut x) = (&self.diagonal[p], self.solution[p]);
            for c in 0..N {
                for r in c + 1..N {
                    x[r] = (-own[r][c]).mul_add(x[c], x[r]);
                }
            }
            self.solution[p] = x;
            for k in self.first[p] as usize..self.first[p + 1] as usize {
                let (rest, lower) = (&mut self.solution[self.later[k] as usize], &self.couplings[k][1]);
                for c in 0..N {
                    *rest = add_strip(*rest, &lower[c], &[-x[c]; STRIP]);
                }
            }
        }
        for p in (0..n).rev() {
            let mut sums = [[S::zero(); STRIP]; N];
            for k in self.first[p] as usize..self.first[p + 1] as usize {
                let (x, upper) = (&self.solution[self.later[k] as usize], &self.couplings[k][0]);
                for r in 0..N {
                    sums[r] = add_strip(sums[r], &upper[r], x);
                }
            }
            let (own, mut x) = (&self.diagonal[p], self.solution[p]);
            for r in 0..N {
                x[r] -= total(&sums[r]);
            }
            for c in (0..N).rev() {
                x[c] = x[c] * own[c][c];
                for r in 0..c {
                    x[r] = (-own[r][c]).mul_add(x[c], x[r]);
                }
            }
            self.solution[p] = x;
        }
        for (&strip, x) in self.order.iter().zip(&self.solution) {
            z[strip as usize] = *x;
        }
    }
}

/// Number of strips among some.
#[inline(always)]
fn count(strips: &[u64]) -> u32 {
    let mut count = 0;
    for word in strips {
        count += word.count_ones();
    }
    count
}

/// Whether any entry of K is not zero.
#[inline(always)]
fn acts<S: Scalar>(k: &[[S; 3]; 3]) -> bool {
    let mut acts = false;
    for row in k {
        for &x in row {
            acts |= x != S::zero();
        }
    }
    acts
}

/// The entries of a unit in one of its strips; a scalar row has one row, and zeros.
#[inline(always)]
fn rows_of<S: Scalar>(entries: &[Strip<S>], strip: usize, contact: bool) -> [Strip<S>; 3] {
    if contact { three_rows(entries, strip) } else { [entries[strip], [S::zero(); STRIP], [S::zero(); STRIP]] }
}

/// The three rows of a contact in the k-th of its strips. (By index: a `zip` here has become a call, before which all registers are put away.)
#[inline(always)]
fn three_rows<S: Scalar>(entries: &[Strip<S>], k: usize) -> [Strip<S>; 3] {
    let rows = &entries[3 * k..3 * k + 3];
    [rows[0], rows[1], rows[2]]
}

/// sum + x y
#[inline(always)]
fn add_strip<S: Scalar>(mut sum: Strip<S>, x: &Strip<S>, y: &Strip<S>) -> Strip<S> {
    for lane in 0..STRIP {
        sum[lane] = x[lane].mul_add(y[lane], sum[lane]);
    }
    sum
}

/// sum + x₀ y₀ + x₁ y₁ + x₂ y₂
#[inline(always)]
fn add_strips<S: Scalar>(sum: Strip<S>, x: &[Strip<S>; 3], y: [S; 3]) -> Strip<S> {
    add_strip(add_strip(add_strip(sum, &x[0], &[y[0]; STRIP]), &x[1], &[y[1]; STRIP]), &x[2], &[y[2]; STRIP])
}

/// Sum of a strip.
#[inline(always)]
fn total<S: Scalar>(x: &Strip<S>) -> S {
    let mut half = [S::zero(); STRIP / 2];
    for k in 0..STRIP / 2 {
        half[k] = x[k] + x[k + STRIP / 2];
    }
    (half[0] + half[2]) + (half[1] + half[3])
}

/// A += Y_aᵀ K Y_b of some units that touch the same strips, in two of these; `TRANSPOSED`: Y_aᵀ Kᵀ Y_b.
#[inline(always)]
fn add_products<S: Scalar, const N: usize, const TRANSPOSED: bool>(
    block: &mut Block<S>,
    factor: &Factor<S>,
    units: Range<usize>,
    weight: &[[[S; 3]; 3]],
    [a, b]: [usize; 2],
) {
    let mut sums = [[S::zero(); STRIP]; N];
    sums.copy_from_slice(&block[..N]);
    for unit in units {
        let k = &weight[unit];
        if !acts(k) {
            continue;
        }
        let (entries, contact) = (factor.unit(unit).1, unit < factor.size.contact_count);
        let (y, x) = (rows_of(entries, a, contact), rows_of(entries, b, contact));
        let mut product = [[S::zero(); STRIP]; 3];
        for i in 0..3 {
            let k = if TRANSPOSED { [k[0][i], k[1][i], k[2][i]] } else { k[i] };
            product[i] = add_strips(product[i], &x, k);
        }
        for r in 0..N {
            sums[r] = add_strips(sums[r], &product, [y[0][r], y[1][r], y[2][r]]);
        }
    }
    block[..N].copy_from_slice(&sums);
}

/// C −= Aᵀ B
#[inline(always)]
fn subtract_product<S: Scalar, const N: usize>(c: &mut Block<S>, a: &Block<S>, b: &Block<S>) {
    for r in 0..N {
        let mut row = c[r];
        for k in 0..N {
            row = add_strip(row, &b[k], &[-a[k][r]; STRIP]);
        }
        c[r] = row;
    }
}

/// X ← L⁻¹ X, or X ← U⁻ᵀ X.
#[inline(always)]
fn divide<S: Scalar, const N: usize, const UPPER: bool>(x: &mut Block<S>, own: &Block<S>) {
    for r in 0..N {
        let mut row = x[r];
        for k in 0..r {
            let entry = if UPPER { own[k][r] } else { own[r][k] };
            row = add_strip(row, &x[k], &[-entry; STRIP]);
        }
        if UPPER {
            for entry in &mut row {
                *entry = *entry * own[r][r];
            }
        }
        x[r] = row;
    }
}

#[cfg(test)]
mod tests {
    use super::super::size::BlockSize;
    use super::*;
    use nalgebra::{DMatrix, DVector};

    /// A chain of strips with a ring, one strip on its own, contacts of one and two strips, three of one pair in a row, and a scalar row; K is not symmetric, as of contacts that slide. One
    /// unit does not act, which couples other strips if it is another one.
    #[test]
    fn the_factors_solve() {
        for width in [BODY, STRIP] {
            let touches: [&[usize]; 11] =
                [&[0, 1], &[1, 2], &[2, 3], &[2, 3], &[2, 3], &[0, 3], &[4], &[1, 5], &[5], &[3, 5], &[0, 2]];
            let size = BlockSize { contact_count: touches.len() - 1, scalar_count: 1 };
            let strips = 7;
            let mut number = 0.0f64;
            let mut next = move || {
                number += 1.0;
                (number * 12.9898).sin()
            };
            let mut factor = Factor::<f64>::default();
            factor.clear(size);
            let (mut products, mut weights) = (Vec::new(), Vec::new());
            for (unit, strips_of) in touches.iter().enumerate() {
                let rows = factor.rows(unit);
                factor.start(unit, 0.0);
                let mut y = DMatrix::zeros(rows, strips * STRIP);
                for &strip in *strips_of {
                    let mut entries = [[0.0; STRIP]; 3];
                    for (row, entries) in entries.iter_mut().enumerate().take(rows) {
                        for column in 0..width {
                            entries[column] = next();
                            y[(row, strip * STRIP + column)] = entries[column];
                        }
                    }
                    factor.put(unit, strip, (1u16.wrapping_shl(width as u32) - 1) as u8, &entries);
                }
                let mut k = [[0.0; 3]; 3];
                for (i, row) in k.iter_mut().enumerate().take(rows) {
                    row[i] = 2.0;
                    for x in row.iter_mut().take(rows) {
                        *x += 0.4 * next();
                    }
                }
                let k_of = DMatrix::from_fn(rows, rows, |i, j| k[i][j]);
                products.push(y.transpose() * k_of * y);
                weights.push(k);
            }
            factor.compress();
            assert_eq!(factor.strip_count(), 6, "the last one is touched by nothing");
            assert_eq!(factor.widest(), width);
            let mut lu = StripLu::default();
            // again and again in the same memory
            for idle in [8, 8, 1, 3, 5, 10, 8] {
                let mut acting = weights.clone();
                acting[idle] = [[0.0; 3]; 3];
                let mut expected = DMatrix::<f64>::identity(strips * STRIP, strips * STRIP);
                for (_, product) in products.iter().enumerate().filter(|(unit, _)| *unit != idle) {
                    expected += product;
                }
                lu.factor(&factor, &acting);
                let z =
                    DVector::from_fn(6 * STRIP, |i, _| if i % STRIP < width { (i as f64 * 0.7).cos() } else { 0.0 });
                let right = expected.view((0, 0), (6 * STRIP, 6 * STRIP)) * &z;
                let mut solution: Vec<Strip<f64>> = right.as_slice().as_chunks::<STRIP>().0.to_vec();
                lu.solve(&mut solution);
                for (x, z) in solution.as_flattened().iter().zip(&z) {
                    assert!((x - z).abs() < 1e-12, "{width}, without {idle}: {x} {z}");
                }
            }
        }
    }
}
