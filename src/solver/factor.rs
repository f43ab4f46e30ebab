//! W of one block as its factor: W = Y Yᵀ + ε, every row of Y zero but for the degrees of freedom that the row moves.
//!
//! A pile of many bodies has far more entries in W than in Y: u = b + W λ costs n² that way, and 2 · 12 n through the velocities Yᵀ λ where
//! contacts join two free bodies.

use super::size::BlockSize;
use crate::lane::Scalar;

/// Columns that are worked on together.
pub use crate::lane::STRIP;

/// What belongs to neighbouring columns.
pub(super) type Strip<S> = [S; STRIP];

/// W = Y Yᵀ + ε of one block. Its rows come in *units*: a contact (three rows) or a scalar row. Its columns come in strips of neighbours: degrees
/// of freedom of one moving tree, which are mostly touched together.
#[derive(Debug, Clone, Default)]
pub struct Factor<S> {
    /// How many contacts and scalar rows the block has.
    pub size: BlockSize,
    /// Contacts first, then scalar rows.
    units: Vec<Unit<S>>,
    /// Strips that every unit touches, ascending.
    strips: Vec<u32>,
    /// Entries, shape \[unit\]\[strip\]\[row\].
    entries: Vec<Strip<S>>,
    /// Number of strips.
    strip_count: usize,
    /// Which columns of every strip any row touches, one bit each, shape \[strip\].
    touched: Vec<u8>,
    /// What number a strip gets in [`Factor::compress`].
    number: Vec<u32>,
}

/// Where the rows of a unit are.
#[derive(Debug, Clone, Copy, Default)]
struct Unit<S> {
    first_strip: u32,
    strip_count: u32,
    first_entry: u32,
    /// ε, added to the diagonal of W in the first row, m/s per N·s.
    compliance: S,
}

impl<S: Scalar> Factor<S> {
    /// Forgets all rows; a block of `size` is next.
    pub fn clear(&mut self, size: BlockSize) {
        self.size = size;
        self.units.clear();
        self.units.resize(size.unit_count(), Unit::default());
        self.strips.clear();
        self.entries.clear();
        self.touched.clear();
        self.strip_count = 0;
    }

    /// Number of units.
    #[inline(always)]
    pub(super) fn unit_count(&self) -> usize {
        self.units.len()
    }

    /// Number of strips.
    #[inline(always)]
    pub(super) fn strip_count(&self) -> usize {
        self.strip_count
    }

    /// Rows of a unit.
    #[inline(always)]
    pub(super) fn rows(&self, unit: usize) -> usize {
        if unit < self.size.contact_count { 3 } else { 1 }
    }

    /// Starts a unit (contact c is unit c, scalar row s comes s after the contacts), whose strips are [`Factor::put`] next. `compliance`: ε, m/s per
    /// N·s.
    #[inline(always)]
    pub fn start(&mut self, unit: usize, compliance: S) {
        self.units[unit] = Unit {
            first_strip: self.strips.len() as u32,
            strip_count: 0,
            first_entry: self.entries.len() as u32,
            compliance,
        };
    }

    /// Adds a strip to the unit that was started last: its columns that the unit touches, one bit each, and its entries of Y, one strip a row, 1/√kg for linear rows; a scalar
    /// row has the first only. Strips must come in ascending order.
    #[inline(always)]
    pub fn put(&mut self, unit: usize, strip: usize, touched: u8, entries: &[[S; STRIP]; 3]) {
        self.strips.push(strip as u32);
        self.entries.extend_from_slice(&entries[..self.rows(unit)]);
        self.units[unit].strip_count += 1;
        if self.strip_count <= strip {
            self.strip_count = strip + 1;
            self.touched.resize(self.strip_count, 0);
        }
        self.touched[strip] |= touched;
    }

    /// Strips of a unit, and its entries, shape \[strip\]\[row\].
    #[inline(always)]
    pub(super) fn unit(&self, unit: usize) -> (&[u32], &[Strip<S>]) {
        let Unit { first_strip, strip_count, first_entry, .. } = self.units[unit];
        let (first, entry, count) = (first_strip as usize, first_entry as usize, strip_count as usize);
        (&self.strips[first..first + count], &self.entries[entry..entry + self.rows(unit) * count])
    }

    /// ε of a unit.
    #[inline(always)]
    pub(super) fn compliance(&self, unit: usize) -> S {
        self.units[unit].compliance
    }

    /// Columns that the widest strip has, up to the last that a row touches.
    #[inline(always)]
    pub(super) fn widest(&self) -> usize {
        let mut touched = 0;
        for &columns in &self.touched {
            touched |= columns;
        }
        (u8::BITS - touched.leading_zeros()) as usize
    }

    /// Leaves out the strips that no row touches.
    pub(super) fn compress(&mut self) {
        self.number.clear();
        let mut strips = 0;
        for strip in 0..self.strip_count {
            self.number.push(strips as u32);
            if self.touched[strip] != 0 {
                self.touched[strips] = self.touched[strip];
                strips += 1;
            }
        }
        for strip in &mut self.strips {
            *strip = self.number[*strip as usize];
        }
        self.touched.truncate(strips);
        self.strip_count = strips;
    }

    /// W_ij as f64, for rows of the block: what the exact solver and people see.
    pub fn delassus(&self, i: usize, j: usize) -> f64 {
        let contacts = self.size.contact_count;
        let place = |row: usize| if row < 3 * contacts { (row / 3, row % 3) } else { (row - 2 * contacts, 0) };
        let ((a, row_a), (b, row_b)) = (place(i), place(j));
        let ((strips_a, entries_a), (strips_b, entries_b)) = (self.unit(a), self.unit(b));
        let mut w = if i == j && row_a == 0 { self.compliance(a).to_f64() } else { 0.0 };
        for (k, strip) in strips_a.iter().enumerate() {
            if let Some(l) = strips_b.iter().position(|other| other == strip) {
                let (x, y) = (&entries_a[k * self.rows(a) + row_a], &entries_b[l * self.rows(b) + row_b]);
                w += x.iter().zip(y).map(|(x, y)| x.to_f64() * y.to_f64()).sum::<f64>();
            }
        }
        w
    }
}
