//! How many floating-point operations were counted.

use std::cell::Cell;

thread_local! {
    static OPERATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Operations of `sin_cos_f32`: three fused steps of range reduction, a square, two polynomials.
#[cfg(any(scalar, test, feature = "gpu"))]
pub(super) const SIN_COS: u64 = 26;

/// Additions, multiplications, divisions and roots on numbers of the type that counts (`Counted`), and of programs that were evaluated, by this thread so far; a fused multiply-add counts as two. Comparisons,
/// selections and signs do not count.
pub(crate) fn operations() -> u64 {
    OPERATIONS.get()
}

/// Counts operations that are done in f32.
#[cfg(any(scalar, test, feature = "gpu"))]
#[inline(always)]
pub(crate) fn count_operations(operations: u64) {
    OPERATIONS.set(OPERATIONS.get() + operations);
}
