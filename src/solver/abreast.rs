//! Contacts of one block side by side. A block by itself is worked on in scalars, and a root and a quotient of one contact wait for those of the contact before; of
//! eight contacts in lanes they are waited for once. Every lane does what the scalar type would, so no bit is another.

use crate::lane::{Lanes, Pack, Scalar};

/// Contacts side by side.
pub(super) const ABREAST: usize = 8;

/// One number of each of them.
pub(super) type Abreast<S> = Lanes<S, ABREAST>;

/// The three entries of each of the first [`ABREAST`] contacts of `entries`, shape \[contact\]\[3\], of a scalar type; zeros where there are fewer.
#[inline(always)]
pub(super) fn spread<R: Pack>(entries: &[R]) -> [Abreast<R::Scalar>; 3] {
    let mut padded = [R::zero(); 3 * ABREAST];
    let entries = if let Some(all) = entries.first_chunk() {
        all
    } else {
        padded[..entries.len()].copy_from_slice(entries);
        &padded
    };
    let mut spread = [Abreast::splat(R::Scalar::from_f64(0.0)); 3];
    for lane in 0..ABREAST {
        for k in 0..3 {
            spread[k].0[lane] = entries[3 * lane + k].get(0);
        }
    }
    spread
}

/// One number of each of the first [`ABREAST`] contacts; zeros where there are fewer.
#[inline(always)]
pub(super) fn spread_one<R: Pack>(entries: &[R]) -> Abreast<R::Scalar> {
    let mut spread = Abreast::splat(R::Scalar::from_f64(0.0));
    for (lane, x) in spread.0.iter_mut().zip(entries) {
        *lane = x.get(0);
    }
    spread
}

/// Writes what [`spread`] reads.
#[inline(always)]
pub(super) fn collect<R: Pack>(spread: &[Abreast<R::Scalar>; 3], entries: &mut [R]) {
    for (lane, contact) in entries.as_chunks_mut::<3>().0.iter_mut().take(ABREAST).enumerate() {
        for k in 0..3 {
            contact[k] = R::splat(spread[k].0[lane]);
        }
    }
}
