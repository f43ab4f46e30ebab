//! LU of small dense systems in lanes, by 3 × 3 blocks, without pivoting (a Newton system on modes needs none).
//!
//! Blocks are how it is computed, not what: every entry gets its subtractions one by one, in the order of the columns. So rows and columns of the identity anywhere
//! between the others change no bit of them.

use crate::lane::Pack;

/// Side of a block.
pub(super) const BLOCK: usize = 3;

type Block<R> = [[R; BLOCK]; BLOCK];

#[inline(always)]
fn load<R: Pack>(a: &[R], n: usize, i: usize, j: usize) -> Block<R> {
    let mut block = [[R::zero(); BLOCK]; BLOCK];
    for k in 0..BLOCK {
        let row = &a[(i + k) * n + j..(i + k) * n + j + BLOCK];
        block[k] = [row[0], row[1], row[2]];
    }
    block
}

#[inline(always)]
fn store<R: Pack>(a: &mut [R], n: usize, i: usize, j: usize, block: &Block<R>) {
    for k in 0..BLOCK {
        a[(i + k) * n + j..(i + k) * n + j + BLOCK].copy_from_slice(&block[k]);
    }
}

/// c − a b
#[inline(always)]
fn subtract_product<R: Pack>(mut c: Block<R>, a: &Block<R>, b: &Block<R>) -> Block<R> {
    for i in 0..BLOCK {
        for k in 0..BLOCK {
            for j in 0..BLOCK {
                c[i][j] = (-a[i][k]).mul_add(b[k][j], c[i][j]);
            }
        }
    }
    c
}

/// A diagonal block as its factors L U, the diagonal of U inverted; of its first `N` rows and columns.
#[inline(always)]
pub(super) fn factor_block<R: Pack, const SIDE: usize, const N: usize>(mut a: [[R; SIDE]; SIDE]) -> [[R; SIDE]; SIDE] {
    for k in 0..N {
        a[k][k] = R::one() / a[k][k];
        for i in k + 1..N {
            a[i][k] = a[i][k] * a[k][k];
            for j in k + 1..N {
                a[i][j] = (-a[i][k]).mul_add(a[k][j], a[i][j]);
            }
        }
    }
    a
}

/// L⁻¹ x, x being a column right of the diagonal block `own`.
#[inline(always)]
fn forward<R: Pack>([x0, x1, x2]: [R; BLOCK], own: &Block<R>) -> [R; BLOCK] {
    let x1 = (-own[1][0]).mul_add(x0, x1);
    [x0, x1, (-own[2][1]).mul_add(x1, (-own[2][0]).mul_add(x0, x2))]
}

/// x U⁻¹, x being a row below the diagonal block `own`.
#[inline(always)]
fn divide<R: Pack>([x0, x1, x2]: [R; BLOCK], own: &Block<R>) -> [R; BLOCK] {
    let x0 = x0 * own[0][0];
    let x1 = (-x0).mul_add(own[0][1], x1) * own[1][1];
    [x0, x1, (-x1).mul_add(own[1][2], (-x0).mul_add(own[0][2], x2)) * own[2][2]]
}

/// A = L U in place, L with unit diagonal, the diagonal of U inverted. `n`: rows, a multiple of [`BLOCK`].
///
/// Lanes take one block of the result at a time and keep it in registers; a scalar type takes whole rows, which the compiler turns into lanes.
/// The order of operations on each entry is the same, and so are the bits.
#[inline(always)]
pub(super) fn factor<R: Pack>(a: &mut [R], n: usize) {
    if R::LANES == 1 { factor_by_rows(a, n) } else { factor_by_blocks(a, n) }
}

#[inline(always)]
fn factor_by_blocks<R: Pack>(a: &mut [R], n: usize) {
    for k in (0..n).step_by(BLOCK) {
        // U_kj = L_kk⁻¹ (A_kj − Σ_p L_kp U_pj)
        let mut own = load(a, n, k, k);
        for p in (0..k).step_by(BLOCK) {
            own = subtract_product(own, &load(a, n, k, p), &load(a, n, p, k));
        }
        let own = factor_block::<R, BLOCK, BLOCK>(own);
        store(a, n, k, k, &own);
        for j in (k + BLOCK..n).step_by(BLOCK) {
            let mut block = load(a, n, k, j);
            for p in (0..k).step_by(BLOCK) {
                block = subtract_product(block, &load(a, n, k, p), &load(a, n, p, j));
            }
            for c in 0..BLOCK {
                [block[0][c], block[1][c], block[2][c]] = forward([block[0][c], block[1][c], block[2][c]], &own);
            }
            store(a, n, k, j, &block);
        }
        // L_ik = (A_ik − Σ_p L_ip U_pk) U_kk⁻¹
        for i in (k + BLOCK..n).step_by(BLOCK) {
            let mut block = load(a, n, i, k);
            for p in (0..k).step_by(BLOCK) {
                block = subtract_product(block, &load(a, n, i, p), &load(a, n, p, k));
            }
            for r in 0..BLOCK {
                block[r] = divide(block[r], &own);
            }
            store(a, n, i, k, &block);
        }
    }
}

#[inline(always)]
fn factor_by_rows<R: Pack>(a: &mut [R], n: usize) {
    for k in (0..n).step_by(BLOCK) {
        let own = factor_block::<R, BLOCK, BLOCK>(load(a, n, k, k));
        store(a, n, k, k, &own);
        let rest = n - k - BLOCK;
        let (above, below) = a.split_at_mut((k + BLOCK) * n);
        // U_k, right of the diagonal block
        let (row0, above) = above[k * n..].split_at_mut(n);
        let (row1, row2) = above.split_at_mut(n);
        let (u0, u1, u2) = (&mut row0[n - rest..], &mut row1[n - rest..], &mut row2[n - rest..]);
        for j in 0..rest {
            [u0[j], u1[j], u2[j]] = forward([u0[j], u1[j], u2[j]], &own);
        }
        for rows in below.chunks_exact_mut(BLOCK * n) {
            let (row0, rows) = rows.split_at_mut(n);
            let (row1, row2) = rows.split_at_mut(n);
            // L_ik = A_ik U_kk⁻¹
            let mut l = [[R::zero(); BLOCK]; BLOCK];
            for (r, row) in [&mut *row0, &mut *row1, &mut *row2].into_iter().enumerate() {
                l[r] = divide([row[k], row[k + 1], row[k + 2]], &own);
                row[k..k + BLOCK].copy_from_slice(&l[r]);
            }
            // A_ij ← A_ij − L_ik U_kj
            let (a0, a1, a2) = (&mut row0[n - rest..], &mut row1[n - rest..], &mut row2[n - rest..]);
            for j in 0..rest {
                let (u0, u1, u2) = (u0[j], u1[j], u2[j]);
                a0[j] = (-l[0][2]).mul_add(u2, (-l[0][1]).mul_add(u1, (-l[0][0]).mul_add(u0, a0[j])));
                a1[j] = (-l[1][2]).mul_add(u2, (-l[1][1]).mul_add(u1, (-l[1][0]).mul_add(u0, a1[j])));
                a2[j] = (-l[2][2]).mul_add(u2, (-l[2][1]).mul_add(u1, (-l[2][0]).mul_add(u0, a2[j])));
            }
        }
    }
}

/// x ← A⁻¹ x with the factors of [`factor`].
#[inline(always)]
pub(super) fn solve<R: Pack>(a: &[R], x: &mut [R]) {
    let n = x.len();
    // column by column: the rows below do not wait for each other
    for k in (0..n).step_by(BLOCK) {
        let [x0, x1, x2] = forward([x[k], x[k + 1], x[k + 2]], &load(a, n, k, k));
        (x[k + 1], x[k + 2]) = (x1, x2);
        for i in k + BLOCK..n {
            let l = &a[i * n + k..i * n + k + BLOCK];
            x[i] = (-l[2]).mul_add(x2, (-l[1]).mul_add(x1, (-l[0]).mul_add(x0, x[i])));
        }
    }
    for k in (0..n).step_by(BLOCK).rev() {
        let own = load(a, n, k, k);
        let x2 = x[k + 2] * own[2][2];
        let x1 = (-own[1][2]).mul_add(x2, x[k + 1]) * own[1][1];
        let x0 = (-own[0][1]).mul_add(x1, (-own[0][2]).mul_add(x2, x[k])) * own[0][0];
        (x[k], x[k + 1], x[k + 2]) = (x0, x1, x2);
        for i in 0..k {
            let u = &a[i * n + k..i * n + k + BLOCK];
            x[i] = (-u[0]).mul_add(x0, (-u[1]).mul_add(x1, (-u[2]).mul_add(x2, x[i])));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_blocks_give_the_same_bits() {
        for n in [3, 12, 33] {
            let a: Vec<f32> = (0..n * n)
                .map(|e| ((7 * e + e * e / 3) % 23) as f32 * 0.37 - 3.0 + if e % (n + 1) == 0 { 40.0 } else { 0.0 })
                .collect();
            let (mut rows, mut blocks) = (a.clone(), a);
            factor_by_rows(&mut rows, n);
            factor_by_blocks(&mut blocks, n);
            assert!(rows.iter().all(|x| x.is_finite()));
            assert_eq!(rows, blocks, "{n}");
        }
    }

    /// Where a row stands in its block changes no bit.
    #[test]
    fn rows_of_the_identity_between_the_others_change_no_bit() {
        let n = 12;
        let entry =
            |i: usize, j: usize| ((5 * i + 3 * j + i * j) % 17) as f32 * 0.31 - 2.0 + if i == j { 30.0 } else { 0.0 };
        let solved = |homes: &[usize], n: usize| {
            let (mut a, mut x) = (vec![0.0f32; n * n], vec![0.0f32; n]);
            (0..n).for_each(|i| a[i * n + i] = 1.0);
            for (i, &row) in homes.iter().enumerate() {
                for (j, &column) in homes.iter().enumerate() {
                    a[row * n + column] = entry(i, j);
                }
                x[row] = i as f32 - 4.5;
            }
            factor_by_blocks(&mut a, n);
            solve(&a, &mut x);
            homes.iter().map(|&row| x[row].to_bits()).collect::<Vec<_>>()
        };
        let packed: Vec<usize> = (0..n).collect();
        let spread = [0, 2, 3, 4, 7, 8, 11, 12, 13, 17, 19, 20];
        assert_eq!(solved(&packed, 12), solved(&spread, 21));
    }

    #[test]
    fn the_factors_solve() {
        for n in [3, 6, 15, 45] {
            let a = nalgebra::DMatrix::from_fn(n, n, |i, j| {
                ((7 * i + 3 * j + i * j) % 11) as f64 - 5.0 + if i == j { 60.0 } else { 0.0 }
            });
            let x = nalgebra::DVector::from_fn(n, |i, _| i as f64 - 1.5);
            let mut right: Vec<f64> = (&a * &x).as_slice().to_vec();
            let mut factors: Vec<f64> = a.transpose().as_slice().to_vec();
            factor(&mut factors, n);
            solve(&factors, &mut right);
            for i in 0..n {
                assert!((right[i] - x[i]).abs() < 1e-12, "{n}: {right:?}");
            }
        }
    }
}
