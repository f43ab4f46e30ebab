//! The shader of blocks of a few contacts and nothing else: W, λ and all that a sweep asks for lie in registers. What it computes between its loads and its loop is recorded from the functions that
//! the CPU runs, straight on; the rest stands in `shaders/small.wgsl`.

use super::shader::{COMMON, NUMBERS, WARM_START};
use crate::lane::{Program, Real, record};
use crate::solver::formulas::{contact_residual, contact_steps, update_contact};
use crate::solver::{ALGORITHM_PGS, BlockSize, Header, PATCH_ROWS, SolveSettings};

/// Most contacts of a block whose W fits the registers of an invocation, which are at most 255 on today's GPUs: 144 entries of four contacts, and some 60 numbers beside them.
pub const SMALL: usize = 4;

const TEMPLATE: &str = include_str!("../../shaders/small.wgsl");

/// Whether blocks of a size, the first contacts of which are patches, lie in registers while they are swept.
pub(super) fn is_small(size: BlockSize, patch_count: usize, settings: &SolveSettings) -> bool {
    let only_contacts = (1..=SMALL).contains(&size.contact_count) && size.scalar_count == 0 && patch_count == 0;
    only_contacts && Header::new(size, settings).algorithm == ALGORITHM_PGS
}

/// WGSL for blocks of so many contacts under a law ([`Header::law`]).
pub fn small_source(law: u32, contact_count: usize) -> String {
    let n = 3 * contact_count;
    let named = |name: &str, len: usize| (0..len).map(|k| format!("{name}{k}")).collect::<Vec<_>>();
    let [delassus, bias, impulse] = [named("w", n * n), named("b", n), named("l", n)];
    let [friction, steps] = [named("f", contact_count), named("step", n)];
    let loads = |words: &str, names: &[String], array: &str, first: &str| -> String {
        let line = |(k, name): (usize, &String)| format!("{words} {name} = {array}[b.{first} + {k}u * LANES];\n");
        names.iter().enumerate().map(line).collect()
    };
    let bring = [
        loads("let", &delassus, "delassus", "matrix"),
        loads("let", &bias, "bias", "row"),
        loads("let", &friction, "friction", "contact"),
        loads("var", &impulse, "impulse", "row"),
    ];
    let keep: Vec<_> = (0..n).map(|i| format!("impulse[b.row + {i}u * LANES] = l{i};\n")).collect();
    let told = |program: &Program, prefix: &str, inputs: &[&[String]], output: &dyn Fn(usize, &str) -> String| {
        let inputs = inputs.concat();
        program.wgsl(&program.whole(), prefix, |i| inputs[i].clone(), output, |_| String::new())
    };
    let [sweep, certify] = formulas(law, contact_count);
    let constant = record(n * n, |x| all_steps(law, contact_count, x));
    let text = TEMPLATE
        .replace("//{bring}\n", &bring.concat())
        .replace("//{steps}\n", &told(&constant, "s_", &[&delassus], &|i, x| format!("let step{i} = {x};")))
        .replace(
            "//{sweep}\n",
            &told(&sweep, "p_", &[&delassus, &bias, &impulse, &friction, &steps], &|i, x| format!("l{i} = {x};")),
        )
        .replace(
            "//{certify}\n",
            &told(&certify, "c_", &[&delassus, &bias, &impulse, &friction], &|i, x| match i {
                0 => format!("largest = {x};"),
                1 => format!("magnitude = {x};"),
                _ => format!("finite = finite && is_finite({x});"),
            }),
        )
        .replace("//{keep}\n", &keep.concat());
    // of patches only what others say of them
    let constants = format!("const PATCH_ROWS = {PATCH_ROWS}u;\n");
    [COMMON, &constants, NUMBERS, WARM_START, &text].concat()
}

/// Floating-point operations of a sweep, and of a look at the residual, over a block of so many contacts under a law, a fused multiply-add as two; of blocks of any size the same formulas. What a sweep
/// makes of W once is not counted.
pub fn operations_of_block(law: u32, contact_count: usize) -> [u64; 2] {
    formulas(law, contact_count).map(|formula| formula.operations)
}

/// What a sweep does, and a look at the residual.
fn formulas(law: u32, contact_count: usize) -> [Program; 2] {
    let n = 3 * contact_count;
    [
        record(n * n + 3 * n + contact_count, |x| sweep(law, contact_count, x)),
        record(n * n + 2 * n + contact_count, |x| certify(law, contact_count, x)),
    ]
}

/// Cuts `x` into W, shape \[row\]\[row\], and what is left.
fn matrix<R>(contact_count: usize, x: &[R]) -> (&[R], &[R]) {
    x.split_at(9 * contact_count * contact_count)
}

/// The 3 × 3 block of W that is a contact's own.
fn own_block<R: Real>(n: usize, c: usize, delassus: &[R]) -> [[R; 3]; 3] {
    [0, 1, 2].map(|k| [0, 1, 2].map(|j| delassus[n * (3 * c + k) + 3 * c + j]))
}

/// W → the steps of all contacts.
fn all_steps<R: Real>(law: u32, contact_count: usize, x: &[R]) -> Vec<R> {
    (0..contact_count).flat_map(|c| contact_steps(law, &own_block(3 * contact_count, c, x))).collect()
}

/// W, b, λ, μ, steps → λ after a sweep of projected Gauss-Seidel, as [`crate::solver::sweeps`] does it.
fn sweep<R: Real>(law: u32, contact_count: usize, x: &[R]) -> Vec<R> {
    let n = 3 * contact_count;
    let (delassus, rest) = matrix(contact_count, x);
    let (bias, rest) = rest.split_at(n);
    let (impulse, rest) = rest.split_at(n);
    let (friction, steps) = rest.split_at(contact_count);
    let mut impulse = impulse.to_vec();
    for c in 0..contact_count {
        let i = 3 * c;
        // u = b + W λ
        let mut u = [0, 1, 2].map(|k| bias[i + k]);
        for (j, lambda) in impulse.iter().enumerate() {
            u = [0, 1, 2].map(|k| delassus[n * (i + k) + j].mul_add(*lambda, u[k]));
        }
        let old = [impulse[i], impulse[i + 1], impulse[i + 2]];
        let steps = [steps[i], steps[i + 1], steps[i + 2]];
        let new = update_contact(law, u, old, &own_block(n, c, delassus), steps, friction[c]);
        impulse[i..i + 3].copy_from_slice(&new);
    }
    impulse
}

/// W, b, λ, μ → the largest residual, the largest sum of magnitudes, and numbers that are all finite unless something is not: the certificate of [`crate::solver`]'s `residual`.
fn certify<R: Real>(law: u32, contact_count: usize, x: &[R]) -> Vec<R> {
    let n = 3 * contact_count;
    let (delassus, rest) = matrix(contact_count, x);
    let (bias, rest) = rest.split_at(n);
    let (impulse, friction) = rest.split_at(n);
    let (mut largest, mut magnitude, mut tested) = (R::zero(), R::zero(), Vec::new());
    for c in 0..contact_count {
        let i = 3 * c;
        let mut u = [0, 1, 2].map(|k| bias[i + k]);
        let mut terms = u.map(Real::abs);
        for (j, lambda) in impulse.iter().enumerate() {
            let row = |k: usize| delassus[n * (i + k) + j];
            u = [0, 1, 2].map(|k| row(k).mul_add(*lambda, u[k]));
            terms = [0, 1, 2].map(|k| terms[k] + (row(k) * *lambda).abs());
        }
        let own = own_block(n, c, delassus);
        let impulse = [impulse[i], impulse[i + 1], impulse[i + 2]];
        let error = contact_residual(law, u, impulse, [own[0][0], own[1][1], own[2][2]], friction[c]);
        tested.extend([terms[0] + terms[1] + terms[2], error]);
        largest = error.max(largest);
        magnitude = terms[0].max(terms[1]).max(terms[2]).max(magnitude);
    }
    [vec![largest, magnitude], tested].concat()
}
