//! Which degrees of freedom the rows of a model may touch.

use crate::equality::EqualityPlan;
use crate::limit::{JointEntry, JointRow};
use crate::model::Model;
use crate::solver::STRIP;

/// Which degrees of freedom a row may touch, one bit each: what [`super::rows::constraint_rows`] needs to know of a model.
#[derive(Debug, Clone)]
pub struct RowPlan {
    /// Words of a bit set.
    pub words: usize,
    /// Of the two bodies of every pair, shape \[pair\]\[side\]\[word\].
    pub(super) pair: Vec<u64>,
    /// Of every joint row, shape \[joint row\]\[word\].
    pub(super) joint: Vec<u64>,
    /// J of every joint row, see [`JointRow::jacobian`].
    pub(super) joint_jacobian: Vec<Vec<JointEntry>>,
    /// Of every bilateral row, shape \[row\]\[word\].
    pub(super) equality: Vec<u64>,
    /// The strips that every pair, every joint row and every bilateral row touches.
    strips: [Vec<Vec<Touched>>; 3],
    /// Most of them that one touches.
    pub(super) most_strips: usize,
    /// Columns of a strip that some row touches are among the first so many.
    pub(super) width: usize,
}

/// A strip of the columns of a factor, and what rows touch of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touched {
    /// Its number.
    pub number: usize,
    /// The degree of freedom that is its first column.
    pub dof: usize,
    /// The columns, one bit each.
    pub bits: u8,
}

impl Touched {
    /// The columns, ascending.
    #[inline(always)]
    pub fn columns(self) -> impl Iterator<Item = usize> {
        let mut left = self.bits;
        std::iter::from_fn(move || {
            let column = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            (column < STRIP).then_some(column)
        })
    }
}

impl RowPlan {
    /// `joint_rows`: see [`crate::limit::joint_rows`].
    pub fn new(model: &Model, joint_rows: &[JointRow], equalities: &EqualityPlan) -> Self {
        let words = model.nv().div_ceil(64).max(1);
        let support = |heads: &mut dyn Iterator<Item = usize>| {
            let mut bits = vec![0; words];
            for &a in heads.flat_map(|head| &model.dofs[head].ancestors) {
                bits[a / 64] |= 1u64 << (a % 64);
            }
            bits
        };
        // the column of a degree of freedom in the factor of a block ([`crate::solver::Factor`]): every tree starts a strip
        let mut column: Vec<usize> = Vec::with_capacity(model.nv());
        for (i, dof) in model.dofs.iter().enumerate() {
            let next = column.last().map_or(0, |last| last + 1);
            let starts = i > 0 && model.dofs[i - 1].tree != dof.tree;
            column.push(if starts { next.next_multiple_of(STRIP) } else { next });
        }
        let joint_jacobian: Vec<_> = joint_rows.iter().map(|row| row.jacobian(model)).collect();
        let (pair, joint, equality) = (Vec::new(), Vec::new(), Vec::new());
        let mut plan =
            Self { words, pair, joint, joint_jacobian, equality, strips: Default::default(), most_strips: 0, width: 0 };
        for pair in &model.pairs {
            for geom in [pair.geom_a, pair.geom_b] {
                plan.pair.extend(support(&mut model.last_dof(model.geoms[geom].body).into_iter()));
            }
        }
        for row in &plan.joint_jacobian {
            plan.joint.extend(support(&mut row.iter().map(|entry| entry.dof)));
        }
        for heads in &equalities.heads {
            plan.equality.extend(support(&mut heads.iter().copied()));
        }
        let either = |sides: &[u64]| -> Vec<u64> {
            let (first, second) = sides.split_at(words);
            first.iter().zip(second).map(|(a, b)| a | b).collect()
        };
        plan.strips = [
            plan.pair.chunks(2 * words).map(|sides| strips(&either(sides), &column)).collect(),
            plan.joint.chunks(words).map(|support| strips(support, &column)).collect(),
            plan.equality.chunks(words).map(|support| strips(support, &column)).collect(),
        ];
        for strips in plan.strips.iter().flatten() {
            plan.most_strips = plan.most_strips.max(strips.len());
            for strip in strips {
                plan.width = plan.width.max((u8::BITS - strip.bits.leading_zeros()) as usize);
            }
        }
        plan
    }

    /// The strips that a contact of `pair` may touch.
    #[inline(always)]
    pub(super) fn strips_of_contact(&self, pair: usize) -> &[Touched] {
        &self.strips[0][pair]
    }
    /// Those of a joint row.
    #[inline(always)]
    pub(super) fn strips_of_joint_row(&self, row: usize) -> &[Touched] {
        &self.strips[1][row]
    }
    /// Those of a bilateral row.
    #[inline(always)]
    pub(super) fn strips_of_equality(&self, row: usize) -> &[Touched] {
        &self.strips[2][row]
    }
}

/// The strips that a row of this support touches, ascending. `column`: [dof]: its column in the factor of a block.
fn strips(support: &[u64], column: &[usize]) -> Vec<Touched> {
    let mut strips: Vec<Touched> = Vec::new();
    for dof in Bits::of(support) {
        let (strip, of_strip) = (column[dof] / STRIP, column[dof] % STRIP);
        if strips.last().is_none_or(|last| last.number != strip) {
            strips.push(Touched { number: strip, dof: dof - of_strip, bits: 0 });
        }
        if let Some(last) = strips.last_mut() {
            last.bits |= 1 << of_strip;
        }
    }
    strips
}

/// Adds a bit set to another.
#[inline(always)]
pub(super) fn add_bits(to: &mut [u64], from: &[u64]) {
    for (t, f) in to.iter_mut().zip(from) {
        *t |= f;
    }
}

/// The set bits of one bit set, or those that two have in common, or those that another lacks.
#[derive(Clone)]
pub struct Bits<'a> {
    pub(super) words: &'a [u64],
    pub(super) other: Option<&'a [u64]>,
    pub(super) without: Option<&'a [u64]>,
    pub(super) word: usize,
    pub(super) left: u64,
    pub(super) next: usize,
}

impl<'a> Bits<'a> {
    #[inline(always)]
    pub fn of(words: &'a [u64]) -> Self {
        Self { words, other: None, without: None, word: 0, left: 0, next: 0 }
    }
}

impl Iterator for Bits<'_> {
    type Item = usize;
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            if self.next == self.words.len() {
                return None;
            }
            self.word = self.next;
            self.left = self.words[self.next];
            if let Some(other) = self.other {
                self.left &= other[self.next];
            }
            if let Some(without) = self.without {
                self.left &= !without[self.next];
            }
            self.next += 1;
        }
        let bit = self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        Some(self.word * 64 + bit)
    }
}
