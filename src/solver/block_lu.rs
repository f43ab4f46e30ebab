//! LU of small dense systems in lanes, by 3 × 3 blocks, without pivoting (a Newton system on modes needs none).

use crate::lane::Real;

/// Side of a block.
pub(super) const BLOCK: usize = 3;

type Block<R> = [[R; BLOCK]; BLOCK];

#[inline(always)]
fn load<R: Real>(a: &[R], n: usize, i: usize, j: usize) -> Block<R> {
    let mut block = [[R::zero(); BLOCK]; BLOCK];
    for k in 0..BLOCK {
        let row = &a[(i + k) * n + j..(i + k) * n + j + BLOCK];
        block[k] = [row[0], row[1], row[2]];
    }
    block
}

#[inline(always)]
fn store<R: Real>(a: &mut [R], n: usize, i: usize, j: usize, block: &Block<R>) {
    for k in 0..BLOCK {
        a[(i + k) * n + j..(i + k) * n + j + BLOCK].copy_from_slice(&block[k]);
    }
}

/// c − a b
#[inline(always)]
fn subtract_product<R: Real>(mut c: Block<R>, a: &Block<R>, b: &Block<R>) -> Block<R> {
    for i in 0..BLOCK {
        for k in 0..BLOCK {
            for j in 0..BLOCK {
                c[i][j] = (-a[i][k]).mul_add(b[k][j], c[i][j]);
            }
        }
    }
    c
}

/// a⁻¹ by Gauss-Jordan elimination.
#[inline(always)]
fn inverse<R: Real>(mut a: Block<R>) -> Block<R> {
    for k in 0..BLOCK {
        let pivot = R::one() / a[k][k];
        a[k][k] = R::one();
        for j in 0..BLOCK {
            a[k][j] = a[k][j] * pivot;
        }
        for i in 0..BLOCK {
            if i != k {
                let f = a[i][k];
                a[i][k] = R::zero();
                for j in 0..BLOCK {
                    a[i][j] = (-f).mul_add(a[k][j], a[i][j]);
                }
            }
        }
    }
    a
}

/// A = L U in place, L with unit diagonal blocks, the diagonal blocks of U inverted. `n`: rows, a multiple of [`BLOCK`].
#[inline(always)]
pub(super) fn factor<R: Real>(a: &mut [R], n: usize) {
    for k in (0..n).step_by(BLOCK) {
        // U_kj = A_kj − Σ_p L_kp U_pj
        for j in (k..n).step_by(BLOCK) {
            let mut block = load(a, n, k, j);
            for p in (0..k).step_by(BLOCK) {
                block = subtract_product(block, &load(a, n, k, p), &load(a, n, p, j));
            }
            let block = if j == k { inverse(block) } else { block };
            store(a, n, k, j, &block);
        }
        let pivot = load(a, n, k, k);
        // L_ik = (A_ik − Σ_p L_ip U_pk) U_kk⁻¹
        for i in (k + BLOCK..n).step_by(BLOCK) {
            let mut block = load(a, n, i, k);
            for p in (0..k).step_by(BLOCK) {
                block = subtract_product(block, &load(a, n, i, p), &load(a, n, p, k));
            }
            let mut scaled = [[R::zero(); BLOCK]; BLOCK];
            for r in 0..BLOCK {
                for c in 0..BLOCK {
                    scaled[r][c] =
                        block[r][0].mul_add(pivot[0][c], block[r][1].mul_add(pivot[1][c], block[r][2] * pivot[2][c]));
                }
            }
            store(a, n, i, k, &scaled);
        }
    }
}

/// x ← A⁻¹ x with the factors of [`factor`].
#[inline(always)]
pub(super) fn solve<R: Real>(a: &[R], x: &mut [R]) {
    let n = x.len();
    // column by column: the rows below do not wait for each other
    for k in (0..n).step_by(BLOCK) {
        let [x0, x1, x2] = [x[k], x[k + 1], x[k + 2]];
        for i in k + BLOCK..n {
            let l = &a[i * n + k..i * n + k + BLOCK];
            x[i] = (-l[0]).mul_add(x0, (-l[1]).mul_add(x1, (-l[2]).mul_add(x2, x[i])));
        }
    }
    for k in (0..n).step_by(BLOCK).rev() {
        let pivot = load(a, n, k, k);
        let sum = [x[k], x[k + 1], x[k + 2]];
        for r in 0..BLOCK {
            x[k + r] = pivot[r][0].mul_add(sum[0], pivot[r][1].mul_add(sum[1], pivot[r][2] * sum[2]));
        }
        let [x0, x1, x2] = [x[k], x[k + 1], x[k + 2]];
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
    fn the_factors_solve() {
        for n in [3, 6, 15] {
            let a = nalgebra::DMatrix::from_fn(n, n, |i, j| {
                ((7 * i + 3 * j + i * j) % 11) as f64 - 5.0 + if i == j { 20.0 } else { 0.0 }
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
