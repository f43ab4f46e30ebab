//! The certificate of blocks with patches: the natural map from the impulse and the original W, b.

use super::super::project::is_finite;
use super::super::residual::{contact_residual, row_residual, write_report};
use super::super::settings::{Header, LAW_CONE};
use super::law::{Rows, Shape};
use super::tile::{PatchTile, acts, add_product};
use crate::lane::{Mask, Pack};
use crate::lcp::patch::ellipsoid::length;

/// Natural-map residual of one tile, m/s, from the impulse and the original W, b; its rounding floor; and whether a block is still live.
///
/// Points and scalar rows as in [`residual`](super::super::residual()); patches as in [`crate::lcp::patch`]: vertices row by row, discs on their cone, friction on the
/// ball of its ellipsoid. The floor is 4 ε times what the residual is a sum of: of friction the velocities at the ECP and `a/e_r` times the
/// parts of τ_r. A vertex that is open by more than its own rounding has none.
#[inline(always)]
pub(super) fn certify<R: Pack>(header: &Header, tile: &PatchTile<'_, R>, velocity: &mut Vec<R>, report: &mut [R]) {
    let (n, zero) = (tile.row_count(), R::zero());
    // w = W z + b and Σ |terms|
    velocity.resize(2 * n, zero);
    let (w, size) = velocity.split_at_mut(n);
    let z = &*tile.one.impulse;
    w.copy_from_slice(tile.one.bias);
    add_product(tile.one.delassus, z, w);
    for (size, bias) in size.iter_mut().zip(tile.one.bias) {
        *size = bias.abs();
    }
    for (column, z) in tile.one.delassus.chunks_exact(n.max(1)).zip(z) {
        if !acts(*z) {
            continue;
        }
        for (size, a) in size.iter_mut().zip(column) {
            *size += (*a * *z).abs();
        }
    }
    let (w, size) = (&*w, &*size);
    let mut finite = R::Mask::splat(true);
    for size in size {
        finite = finite.and(is_finite(*size));
    }
    let (mut largest, mut magnitude) = (zero, zero);
    for c in 0..tile.contacts {
        let rows = Rows::new(c, tile.contacts, tile.patches);
        let mu = tile.one.friction[c];
        if !rows.is_patch {
            let i = 3 * c;
            let diagonal = [tile.diagonal(i), tile.diagonal(i + 1), tile.diagonal(i + 2)];
            let (u, x) = ([w[i], w[i + 1], w[i + 2]], [z[i], z[i + 1], z[i + 2]]);
            let error = contact_residual(LAW_CONE, u, x, diagonal, mu);
            finite = finite.and(is_finite(error));
            largest = error.max(largest);
            magnitude = size[i].max(size[i + 1]).max(size[i + 2]).max(magnitude);
            continue;
        }
        let shape = Shape::new(tile.shapes, c, true);
        let error = tile.patch_residual(&rows, &shape, w, mu);
        finite = finite.and(is_finite(error));
        largest = error.max(largest);
        magnitude = tile.magnitude(&rows, &shape, w, size).max(magnitude);
    }
    for i in tile.first_scalar()..n {
        let s = 2 * (i - 3 * tile.contacts);
        let error = row_residual(w[i], z[i], tile.diagonal(i), tile.one.bounds[s], tile.one.bounds[s + 1]);
        finite = finite.and(is_finite(error));
        largest = error.max(largest);
        magnitude = size[i].max(magnitude);
    }
    write_report(header, largest, magnitude, finite, report);
}

impl<R: Pack> PatchTile<'_, R> {
    /// W_ii
    #[inline(always)]
    pub(super) fn diagonal(&self, i: usize) -> R {
        self.one.delassus[i * self.row_count() + i]
    }

    /// W_ii of the normals, and of t, o and torsion.
    #[inline(always)]
    pub(super) fn diagonals(&self, rows: &Rows) -> ([R; 4], [R; 3]) {
        let (mut normal, mut friction) = ([R::zero(); 4], [R::zero(); 3]);
        for k in 0..rows.normal_count() {
            normal[k] = self.diagonal(rows.normal[k]);
        }
        for (k, row) in rows.friction().into_iter().enumerate().take(if rows.is_patch { 3 } else { 2 }) {
            friction[k] = self.diagonal(row);
        }
        (normal, friction)
    }

    /// The natural map of a patch, m/s.
    #[inline(always)]
    pub(super) fn patch_residual(&self, rows: &Rows, shape: &Shape<R>, w: &[R], mu: R) -> R {
        let (normal, friction) = self.diagonals(rows);
        let z = &*self.one.impulse;
        let (pressure, tangential) = ([rows.normals(z), rows.normals(w)], [rows.frictions(z), rows.frictions(w)]);
        shape.residual(pressure, tangential, normal, friction, mu)
    }

    /// What the residual of a patch is a sum of, m/s; `size`: Σ |terms| of every row.
    #[inline(always)]
    pub(super) fn magnitude(&self, rows: &Rows, shape: &Shape<R>, w: &[R], size: &[R]) -> R {
        let (zero, rounding) = (R::zero(), R::constant(4.0 * R::EPSILON));
        let (_, friction) = self.diagonals(rows);
        let z = &*self.one.impulse;
        let pressure = shape.pressure(rows.normals(z));
        let mut magnitude = zero;
        for row in rows.normal {
            let open = zero.lt(z[row]).not().and((rounding * size[row]).lt(w[row])).and(shape.disc.not());
            magnitude = R::select(open, zero, size[row]).max(magnitude);
        }
        let ([t, o, r], e) = (rows.frictions(size), shape.ellipsoid);
        let [d_t, d_o] = [pressure.centre[0].abs(), pressure.centre[1].abs()];
        let velocity = length([e[0] * d_o.mul_add(r, t), e[1] * d_t.mul_add(r, o), e[2] * r]);
        let [f_t, f_o, torsion] = rows.frictions(z);
        let parts = torsion.abs() + d_t * f_o.abs() + d_o * f_t.abs();
        let a = shape.friction_scale(friction);
        let rough = zero.lt(e[2]);
        let moments = R::select(
            rough,
            a * parts / R::select(rough, e[2], R::one()),
            (a * super::super::project::scale(friction[2])).sqrt() * parts,
        );
        (velocity + moments).max(magnitude)
    }
}
