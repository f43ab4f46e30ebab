//! W of one block as its factor: W = Y Yᵀ + ε, every row of Y zero but for the degrees of freedom that the row moves.
//!
//! A pile of many bodies has far more entries in W than in Y: u = b + W λ costs n² that way, and 2 · 12 n through the velocities Yᵀ λ where
//! contacts join two free bodies.

use super::BlockSize;
use crate::lane::Scalar;

/// W = Y Yᵀ + ε of one block. Its rows come in *units*: a contact (three rows) or a scalar row.
#[derive(Debug, Clone, Default)]
pub struct Factor<S> {
    /// How many contacts and scalar rows the block has.
    pub size: BlockSize,
    /// Contacts first, then scalar rows.
    units: Vec<Unit<S>>,
    /// Columns of every unit, ascending.
    columns: Vec<u32>,
    /// Entries, shape \[unit\]\[row\]\[column\].
    entries: Vec<S>,
    /// One more than the largest column.
    pub column_count: usize,
    /// Which number a column gets in [`Factor::compress`].
    number: Vec<u32>,
}

/// Where the rows of a unit are.
#[derive(Debug, Clone, Copy, Default)]
struct Unit<S> {
    first_column: u32,
    column_count: u32,
    first_entry: u32,
    /// ε, added to the diagonal of W in the first row, m/s per N·s.
    compliance: S,
}

impl<S: Scalar> Factor<S> {
    /// Forgets all rows; a block of `size` is next.
    pub fn clear(&mut self, size: BlockSize) {
        self.size = size;
        self.units.clear();
        self.units.resize(size.contact_count + size.scalar_count, Unit::default());
        self.columns.clear();
        self.entries.clear();
        self.column_count = 0;
    }

    /// Copies another factor into the memory of this one.
    #[inline(always)]
    pub fn copy_from(&mut self, other: &Self) {
        self.size = other.size;
        self.column_count = other.column_count;
        self.units.clone_from(&other.units);
        self.columns.clone_from(&other.columns);
        self.entries.clone_from(&other.entries);
    }

    /// Rows of a unit.
    #[inline(always)]
    pub fn rows(&self, unit: usize) -> usize {
        if unit < self.size.contact_count { 3 } else { 1 }
    }

    /// First row of a unit.
    #[inline(always)]
    pub fn row(&self, unit: usize) -> usize {
        let contacts = self.size.contact_count;
        if unit < contacts { 3 * unit } else { 2 * contacts + unit }
    }

    /// Gives a unit its compliance and its columns; its entries, shape \[row\]\[column\], are returned to be filled.
    #[inline(always)]
    pub fn set(&mut self, unit: usize, compliance: S, columns: impl Iterator<Item = usize>) -> (&[u32], &mut [S]) {
        let (first_column, first_entry) = (self.columns.len(), self.entries.len());
        for column in columns {
            self.columns.push(column as u32);
            self.column_count = self.column_count.max(column + 1);
        }
        let column_count = self.columns.len() - first_column;
        self.units[unit] = Unit {
            first_column: first_column as u32,
            column_count: column_count as u32,
            first_entry: first_entry as u32,
            compliance,
        };
        self.entries.resize(first_entry + self.rows(unit) * column_count, S::from_f64(0.0));
        (&self.columns[first_column..], &mut self.entries[first_entry..])
    }

    /// Columns and entries of a unit.
    #[inline(always)]
    pub fn unit(&self, unit: usize) -> (&[u32], &[S]) {
        let Unit { first_column, column_count, first_entry, .. } = self.units[unit];
        let (first, entry, count) = (first_column as usize, first_entry as usize, column_count as usize);
        (&self.columns[first..first + count], &self.entries[entry..entry + self.rows(unit) * count])
    }

    /// ε of a unit.
    #[inline(always)]
    pub fn compliance(&self, unit: usize) -> S {
        self.units[unit].compliance
    }

    /// The entries of a unit.
    #[inline(always)]
    pub fn entries_mut(&mut self, unit: usize) -> &mut [S] {
        let Unit { column_count, first_entry, .. } = self.units[unit];
        let len = self.rows(unit) * column_count as usize;
        &mut self.entries[first_entry as usize..first_entry as usize + len]
    }

    /// Leaves out the columns that no row has.
    #[inline(always)]
    pub fn compress(&mut self) {
        self.number.clear();
        self.number.resize(self.column_count, 0);
        for &column in &self.columns {
            self.number[column as usize] = 1;
        }
        let mut count = 0;
        for number in &mut self.number {
            let next = count + *number;
            *number = count;
            count = next;
        }
        for column in &mut self.columns {
            *column = self.number[*column as usize];
        }
        self.column_count = count as usize;
    }

    /// W_ij for rows of two units, as f64: what the exact solver and people see.
    pub fn delassus(&self, [a, i]: [usize; 2], [b, j]: [usize; 2]) -> f64 {
        let (columns_a, entries_a) = self.unit(a);
        let (columns_b, entries_b) = self.unit(b);
        let mut w = if (a, i) == (b, 0) && j == 0 { self.compliance(a).to_f64() } else { 0.0 };
        let mut k = 0;
        for (at, column) in columns_a.iter().enumerate() {
            while k < columns_b.len() && columns_b[k] < *column {
                k += 1;
            }
            if k < columns_b.len() && columns_b[k] == *column {
                let y = entries_a[i * columns_a.len() + at].to_f64();
                w += y * entries_b[j * columns_b.len() + k].to_f64();
            }
        }
        w
    }
}
