//! Elimination in an order in which what is coupled stands together, passing over the zeros between.
//!
//! Where few contacts couple with each other, as in an arch, a stack or a chain, `W` and the systems made of its rows have a
//! narrow band in the right order (Cuthill & McKee 1969, reversed: George 1971). With a half bandwidth of h the factors of
//! n unknowns cost at most `2 n h²` multiply-adds, with partial pivoting, instead of `n³/3`, and a solve `3 n h` instead of `n²`.

use super::problem::{Group, Law};
use nalgebra::{DMatrix, DVector};

/// In which order the rows of a problem are eliminated, and how far each is coupled: by nodes, which are rows of one law, box
/// friction with its normal.
#[derive(Debug)]
pub(crate) struct Order {
    /// Place in the order of the node of every row.
    place: Vec<usize>,
    /// First and last place that the node at a place is coupled with.
    reach: Vec<[usize; 2]>,
}

impl Order {
    /// `columns`: rows with a nonzero entry in each column of `W`, as indices and values; `None` if `W` is full.
    pub fn new(groups: &[Group], row_count: usize, columns: Option<&[Vec<(usize, f64)>]>) -> Self {
        let mut node = vec![0; row_count];
        let mut count = 0usize;
        for &Group { row, law } in groups {
            let rows = match law {
                Law::Cone { dimension, .. } => dimension,
                _ => 1,
            };
            node[row..row + rows].fill(count);
            count += 1;
        }
        for &Group { row, law } in groups {
            if let Law::Friction { normal, .. } = law {
                node[row] = node[normal];
            }
        }
        let Some(columns) = columns else {
            let reach = vec![[0, count.saturating_sub(1)]; count];
            return Self { place: node, reach };
        };
        let mut coupled = vec![Vec::new(); count];
        for (j, column) in columns.iter().enumerate() {
            for &(i, _) in column {
                coupled[node[i]].push(node[j]);
                coupled[node[j]].push(node[i]);
            }
        }
        for others in &mut coupled {
            others.sort_unstable();
            others.dedup();
        }
        let order = cuthill_mckee(&coupled);
        let mut at = vec![0; count];
        for (place, &node) in order.iter().enumerate() {
            at[node] = place;
        }
        let reach = |&node: &usize| {
            let places = || coupled[node].iter().map(|&other| at[other]).chain([at[node]]);
            [places().min().unwrap_or(0), places().max().unwrap_or(0)]
        };
        Self { place: node.iter().map(|&node| at[node]).collect(), reach: order.iter().map(reach).collect() }
    }

    /// The order of unknowns, each of which belongs to a row.
    pub fn of(&self, rows: impl Iterator<Item = usize>) -> Vec<usize> {
        let places: Vec<usize> = rows.map(|row| self.place[row]).collect();
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|&i| places[i]);
        order
    }

    /// What [`Lu::new`] costs at most on unknowns that belong to `rows`, multiply-adds.
    pub fn price(&self, rows: impl Iterator<Item = usize>) -> u64 {
        // unknowns before each place
        let mut before = vec![0; self.reach.len() + 1];
        let mut n = 0;
        for row in rows {
            before[self.place[row] + 1] += 1;
            n += 1;
        }
        for place in 1..before.len() {
            before[place] += before[place - 1];
        }
        // the last row that reaches each column, and the end of all rows that do
        let (mut last, mut end) = (vec![0; n], vec![0; n]);
        for (place, [first, furthest]) in self.reach.iter().enumerate() {
            let (column, next) = (before[*first], before[place + 1]);
            if next > before[place] {
                last[column] = next.max(last[column]);
                end[column] = before[furthest + 1].max(end[column]);
            }
        }
        let (mut rows_below, mut columns_right, mut price) = (0, 0, 0);
        for k in 0..n {
            rows_below = last[k].max(rows_below);
            columns_right = end[k].max(columns_right);
            price += ((rows_below - k) * (columns_right - k)) as u64;
        }
        price
    }
}

/// Breadth first from a node far out, neighbours with few neighbours first; all of it backwards.
fn cuthill_mckee(coupled: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(coupled.len());
    let mut seen = vec![false; coupled.len()];
    for start in 0..coupled.len() {
        if seen[start] {
            continue;
        }
        // what is reached last from anywhere lies far out
        let begin = order.len();
        walk(coupled, start, &mut seen, &mut order);
        let far = order[order.len() - 1];
        for node in order.drain(begin..) {
            seen[node] = false;
        }
        walk(coupled, far, &mut seen, &mut order);
    }
    order.reverse();
    order
}

fn walk(coupled: &[Vec<usize>], start: usize, seen: &mut [bool], order: &mut Vec<usize>) {
    let mut at = order.len();
    order.push(start);
    seen[start] = true;
    while at < order.len() {
        let first = order.len();
        for &other in &coupled[order[at]] {
            if !seen[other] {
                seen[other] = true;
                order.push(other);
            }
        }
        order[first..].sort_by_key(|&node| coupled[node].len());
        at += 1;
    }
}

/// `P A Q = L U`, Q the order of the unknowns, P that of the rows: theirs, and partial pivoting.
#[derive(Debug)]
pub(crate) struct Lu {
    /// Unknown at each place.
    order: Vec<usize>,
    /// L without its diagonal of ones, and U, row by row.
    entries: Vec<f64>,
    /// Row of `A`, by its place in the order, at each place.
    source: Vec<usize>,
    /// First and end column of the nonzeros of each row.
    start: Vec<usize>,
    end: Vec<usize>,
    /// Multiply-adds that it took.
    pub work: u64,
}

impl Lu {
    /// The factors of `a`; `None` if it is singular. `order`: a permutation of its rows.
    pub fn new(a: &DMatrix<f64>, order: Vec<usize>) -> Option<Self> {
        let n = order.len();
        let mut entries = vec![0.0; n * n];
        let (mut start, mut end) = (vec![n; n], vec![0; n]);
        for (j, &column) in order.iter().enumerate() {
            for (i, &row) in order.iter().enumerate() {
                let x = a[(row, column)];
                if x != 0.0 {
                    entries[i * n + j] = x;
                    start[i] = start[i].min(j);
                    end[i] = j + 1;
                }
            }
        }
        let mut lu = Self { order, entries, source: (0..n).collect(), start, end, work: 0 };
        // rows from `below` on have nothing to eliminate yet
        let mut below = 0;
        for k in 0..n {
            while below < n && (below <= k || lu.start[below..].iter().any(|&start| start <= k)) {
                below += 1;
            }
            lu.eliminate(k, below)?;
        }
        Some(lu)
    }

    /// Eliminates column `k` from the rows up to `below`.
    fn eliminate(&mut self, k: usize, below: usize) -> Option<()> {
        let n = self.order.len();
        let mut pivot = k;
        for i in k + 1..below {
            if self.entries[i * n + k].abs() > self.entries[pivot * n + k].abs() {
                pivot = i;
            }
        }
        if pivot != k {
            let (above, rest) = self.entries.split_at_mut(pivot * n);
            above[k * n..(k + 1) * n].swap_with_slice(&mut rest[..n]);
            for of_row in [&mut self.source, &mut self.start, &mut self.end] {
                of_row.swap(k, pivot);
            }
        }
        let (above, rest) = self.entries.split_at_mut((k + 1) * n);
        let end = self.end[k].max(k + 1);
        let (diagonal, row) = (above[k * n + k], &above[k * n + k + 1..k * n + end]);
        if diagonal == 0.0 {
            return None;
        }
        for i in k + 1..below {
            let target = &mut rest[(i - k - 1) * n..(i - k) * n];
            if target[k] == 0.0 {
                continue;
            }
            // L_ik = A_ik / U_kk, A_i −= L_ik U_k
            let factor = target[k] / diagonal;
            target[k] = factor;
            for (x, u) in target[k + 1..end].iter_mut().zip(row) {
                *x -= factor * u;
            }
            self.end[i] = self.end[i].max(end);
            self.work += (end - k) as u64;
        }
        Some(())
    }

    /// What [`Self::solve`] costs, multiply-adds.
    pub fn solve_work(&self) -> u64 {
        (0..self.order.len()).map(|i| self.end[i].max(i + 1) - self.start[i].min(i)).sum::<usize>() as u64
    }

    /// `A⁻¹ b`.
    pub fn solve(&self, b: &DVector<f64>) -> DVector<f64> {
        let n = self.order.len();
        let mut x = vec![0.0; n];
        // L y = P b
        for i in 0..n {
            let start = self.start[i].min(i);
            let row = &self.entries[i * n + start..i * n + i];
            let known: f64 = row.iter().zip(&x[start..i]).map(|(l, y)| l * y).sum();
            x[i] = b[self.order[self.source[i]]] - known;
        }
        // U x = y
        for i in (0..n).rev() {
            let end = self.end[i].max(i + 1);
            let row = &self.entries[i * n + i..i * n + end];
            let known: f64 = row[1..].iter().zip(&x[i + 1..end]).map(|(u, x)| u * x).sum();
            x[i] = (x[i] - known) / row[0];
        }
        let mut out = DVector::zeros(n);
        for (x, &unknown) in x.iter().zip(&self.order) {
            out[unknown] = *x;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bodies in a row, `contacts` contacts between neighbours, in an order that knows nothing of it; a full system if `width` is the
    /// number of joints.
    fn chain(joints: usize, contacts: usize, width: usize) -> (DMatrix<f64>, Vec<Group>) {
        let count = joints * contacts;
        let groups: Vec<Group> =
            (0..count).map(|c| Group { row: 3 * c, law: Law::Cone { friction: 0.5, dimension: 3 } }).collect();
        // a step that shares no factor with the number of joints
        let joint = |row: usize| (row / 3 / contacts * 7) % joints;
        let entry = |i: usize, j: usize| {
            let near = joint(i).abs_diff(joint(j)) <= width;
            if near { (78.233 * (i * 3 * count + j) as f64 + 1.0).sin() + if i == j { 3.0 } else { 0.0 } } else { 0.0 }
        };
        (DMatrix::from_fn(3 * count, 3 * count, entry), groups)
    }

    fn order_of(a: &DMatrix<f64>, groups: &[Group]) -> Order {
        let columns: Vec<Vec<(usize, f64)>> = (a.column_iter())
            .map(|column| column.iter().copied().enumerate().filter(|&(_, x)| x != 0.0).collect())
            .collect();
        Order::new(groups, a.nrows(), Some(&columns))
    }

    #[test]
    fn solves_as_any_elimination_does_and_costs_no_more_than_its_price() {
        for (joints, width) in [(12, 1), (12, 12), (5, 2), (1, 0)] {
            let (a, groups) = chain(joints, 2, width);
            let n = a.nrows();
            let b = DVector::from_fn(n, |i, _| (i as f64).cos());
            let expected = a.clone().lu().solve(&b).expect("regular");
            for order in [order_of(&a, &groups), Order::new(&groups, n, None)] {
                let factors = Lu::new(&a, order.of(0..n)).expect("regular");
                let error = (factors.solve(&b) - &expected).amax() / expected.amax();
                assert!(error < 1e-11, "{joints} joints, width {width}: {error:e}");
                assert!(factors.work <= order.price(0..n), "{joints} joints, width {width}");
            }
        }
    }

    #[test]
    fn a_chain_costs_as_many_times_more_as_it_is_longer() {
        let price = |joints| {
            let (a, groups) = chain(joints, 2, 1);
            order_of(&a, &groups).price(0..a.nrows())
        };
        let (short, long) = (price(20), price(40));
        assert!(long < 5 * short / 2, "{short}, {long}");
        // full: n³/3
        let n = 240u64;
        let full = Order::new(&chain(40, 2, 1).1, 240, None).price(0..240);
        assert!(full.abs_diff(n * n * n / 3) < n * n && long < full / 5, "{full}, {long}");
    }

    #[test]
    fn part_of_the_rows_is_a_system_of_its_own() {
        let (a, groups) = chain(12, 2, 1);
        let order = order_of(&a, &groups);
        let rows: Vec<usize> = (0..a.nrows()).filter(|row| row % 5 != 0).collect();
        let part = DMatrix::from_fn(rows.len(), rows.len(), |i, j| a[(rows[i], rows[j])]);
        let b = DVector::from_fn(rows.len(), |i, _| i as f64 - 7.0);
        let factors = Lu::new(&part, order.of(rows.iter().copied())).expect("regular");
        assert!((&part * factors.solve(&b) - &b).amax() < 1e-9);
        assert!(factors.work <= order.price(rows.into_iter()));
    }

    #[test]
    fn what_is_singular_has_no_factors() {
        let (mut a, groups) = chain(4, 1, 1);
        a.column_mut(5).fill(0.0);
        assert!(Lu::new(&a, order_of(&a, &groups).of(0..12)).is_none());
        assert!(Lu::new(&DMatrix::zeros(0, 0), Vec::new()).is_some());
    }
}
