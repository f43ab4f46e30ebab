//! The twins of `shaders/resident/row_sums.wgsl` and of a sweep of Jacobi.

use super::jacobi::Jacobi;
use super::layout::{Layout, SCALAR_HEAD};
use super::twin::{Problem, Twin, World, joined};

impl Twin<'_> {
    /// Stage `row_sums`: D_i = Σ_j |W_ij| of every row.
    pub fn row_sums(&self, w: &mut World) {
        let (l, nv) = (&self.layout, self.layout.nv);
        let Some(jacobi) = &self.jacobi else { return };
        for c in 0..w.count() {
            for i in 0..3 {
                let first = l.row_len() * c + Layout::ROW_Y + nv * i;
                let own = w.rows[first..first + nv].to_vec();
                let compliance = if i == 0 { self.plan.settings.compliance as f32 } else { 0.0 };
                w.rows[l.row_len() * c + l.row_newton() + i] = self.row_sum(jacobi, w, &own, compliance);
            }
        }
        for s in 0..l.scalar_rows() {
            let Some(scalar) = w.acts(l, s) else { continue };
            let own = w.motion[scalar + SCALAR_HEAD..][..nv].to_vec();
            w.rows[l.scalar_newton() + s] = self.row_sum(jacobi, w, &own, 0.0);
        }
    }

    /// The sum of a row whose Y is `own`, and of what is on its diagonal beside it.
    fn row_sum(&self, jacobi: &Jacobi, w: &World, own: &[f32], beside: f32) -> f32 {
        let (l, nv) = (&self.layout, self.layout.nv);
        let mut sum = vec![beside];
        for c in 0..w.count() {
            let y = &w.rows[l.row_len() * c + Layout::ROW_Y..][..3 * nv];
            sum = jacobi.contact_sum.evaluate(&joined(&[&sum, own, y]));
        }
        for scalar in (0..l.scalar_rows()).filter_map(|s| w.acts(l, s)) {
            let y = &w.motion[scalar + SCALAR_HEAD..][..nv];
            sum = jacobi.scalar_sum.evaluate(&joined(&[&sum, own, y]));
        }
        sum[0]
    }

    /// One sweep of Jacobi from z.
    pub fn sweep_jacobi(&self, jacobi: &Jacobi, w: &mut World, p: &mut Problem) {
        let (l, nv) = (&self.layout, self.layout.nv);
        let mut next = p.z.clone();
        for c in 0..w.count() {
            let row = l.row_len() * c;
            let impulse = row + l.row_impulse() + 3 * p.which;
            let told = jacobi.contact.evaluate(&joined(&[
                &p.z,
                &next,
                &w.rows[row + Layout::ROW_Y..][..3 * nv],
                &w.rows[row + l.row_bias() + 3 * p.which..][..3],
                &w.rows[impulse..impulse + 3],
                &w.rows[row + l.row_newton()..][..3],
                &w.rows[row + l.row_friction()..][..1],
            ]));
            w.rows[impulse..impulse + 3].copy_from_slice(&told[..3]);
            next.copy_from_slice(&told[3..]);
        }
        for s in 0..l.scalar_rows() {
            let Some(scalar) = w.acts(l, s) else { continue };
            let impulse = self.scalar_impulse(p.which, s);
            let told = jacobi.scalar.evaluate(&joined(&[
                &p.z,
                &next,
                &w.motion[scalar + SCALAR_HEAD..][..nv],
                &[w.motion[scalar + 2 + p.which], w.rows[impulse], w.rows[l.scalar_newton() + s]],
                &self.bounds(s),
            ]));
            w.rows[impulse] = told[0];
            next.copy_from_slice(&told[1..]);
        }
        p.z = next;
    }
}
