//! Sweeps of Gauss-Seidel over blocks with patches, w = W z + b carried along: vertices one by one, then the friction of the patch exactly. Points are solved by themselves
//! (`coulomb`).
//!
//! ```text
//! λ_i ← max(0, λ_i − w_i/W_ii);   d anew;   s ← argmin ½ sᵀ D s + gᵀ s, |s| ≤ μ N
//! ```

use super::super::batch::REPORT_SWEEPS;
use super::super::carried::{CONTRACTS, NEAR, PLAIN};
use super::super::coulomb::Contact;
use super::super::past::Past;
#[cfg(feature = "gpu")]
use super::super::pgs::{contact_steps, update_contact};
use super::super::project::{inverse, is_finite, project_disc, project_interval};
use super::super::residual::{contact_residual, row_residual};
use super::super::settings::{Header, LAW_CONE, SolveSettings};
use super::certificate::certify;
use super::law::{Rows, Shape, project_disc_cone};
use super::tile::{PatchTile, add_product, no_report};
use crate::lane::{Mask, Pack, PackMask};
use crate::lcp::patch::ellipsoid::{least_on_ball, length};

/// Projected steps on the three rows of a disc in one sweep.
pub const DISC_STEPS: usize = 8;

/// What is carried from row to row, for one tile.
#[derive(Debug, Clone)]
pub(super) struct Carried<R> {
    /// w, m/s, shape \[row\].
    velocity: Vec<R>,
    /// 1/W_ii, or 0, shape \[row\].
    step: Vec<R>,
    /// s of every patch, which holds while its ECP moves, N·s, shape \[patch\].
    scaled: Vec<[R; 3]>,
    /// Multiplier of the ball of every patch, 1/kg, shape \[patch\].
    multiplier: Vec<R>,
    /// What every point has of its own, shape \[point\].
    points: Vec<Contact<R>>,
    /// The sweeps before.
    past: Past<R>,
    /// How far rows were from what the law asks of them in this sweep, max W_ii |Δz_i|, m/s.
    farthest: R,
    /// The answer before, N·s, shape \[row\].
    answer: Vec<R>,
    /// Room of the certificate.
    pub sums: Vec<R>,
}

impl<R: Pack> Carried<R> {
    pub fn new() -> Self {
        Self {
            velocity: Vec::new(),
            step: Vec::new(),
            scaled: Vec::new(),
            multiplier: Vec::new(),
            points: Vec::new(),
            past: Past::new(),
            farthest: R::zero(),
            answer: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// w = W z + b, and s of the patches.
    #[inline(always)]
    pub fn start(&mut self, tile: &PatchTile<'_, R>) {
        let n = tile.row_count();
        self.velocity.clear();
        self.velocity.extend_from_slice(tile.one.bias);
        add_product(tile.one.delassus, tile.one.impulse, &mut self.velocity);
        self.step.resize(n, R::zero());
        self.scaled.clear();
        self.multiplier.clear();
        self.multiplier.resize(tile.patches, R::zero());
        self.past.forget();
        for i in 0..n {
            self.step[i] = inverse(tile.diagonal(i));
        }
        for c in 0..tile.patches {
            let (rows, shape) = (Rows::new(c, tile.contacts, tile.patches), Shape::new(tile.shapes, c, true));
            let z = &*tile.one.impulse;
            let pressure = shape.pressure(rows.normals(z));
            self.scaled.push(shape.scaled(rows.frictions(z), pressure.centre));
        }
        self.points.clear();
        for i in (3 * tile.patches..3 * tile.contacts).step_by(3) {
            let own = block(tile, [i, i + 1, i + 2]);
            let [z, u] = [&*tile.one.impulse, &self.velocity].map(|of| [of[i], of[i + 1], of[i + 2]]);
            self.points.push(Contact::new(&own, z, u));
        }
    }

    /// z_i ← z_i + change where `live`, w ← w + W_i change
    #[inline(always)]
    fn push(&mut self, tile: &mut PatchTile<'_, R>, i: usize, change: R) {
        self.farthest = (tile.diagonal(i) * change.abs()).max(self.farthest);
        if !R::zero().lt(change.abs()).any() {
            return;
        }
        let n = tile.row_count();
        tile.one.impulse[i] += change;
        for (w, a) in self.velocity.iter_mut().zip(&tile.one.delassus[i * n..(i + 1) * n]) {
            *w = a.mul_add(change, *w);
        }
    }

    /// The same for three rows; `radius`: what makes a velocity of the third one of points, m for a torsion, without unit else.
    #[inline(always)]
    fn push_three(&mut self, tile: &mut PatchTile<'_, R>, rows: [usize; 3], change: [R; 3], radius: R) {
        for k in 0..3 {
            let far = tile.diagonal(rows[k]) * change[k].abs();
            self.farthest = R::select(R::Mask::splat(k == 2), radius * far, far).max(self.farthest);
        }
        if !R::zero().lt(change[0].abs().max(change[1].abs()).max(change[2].abs())).any() {
            return;
        }
        let n = tile.row_count();
        let [i, j, k] = [rows[0] * n, rows[1] * n, rows[2] * n];
        let w = tile.one.delassus;
        let (a, b, c) = (&w[i..i + n], &w[j..j + n], &w[k..k + n]);
        for k in 0..3 {
            tile.one.impulse[rows[k]] += change[k];
        }
        for (j, u) in self.velocity[..n].iter_mut().enumerate() {
            *u = c[j].mul_add(change[2], b[j].mul_add(change[1], a[j].mul_add(change[0], *u)));
        }
    }

    /// Before a sweep: starts ahead of where the last one ended.
    #[inline(always)]
    fn lead(&mut self, tile: &mut PatchTile<'_, R>, live: R::Mask) {
        self.past.lead(tile.one.delassus, live, tile.one.impulse, &mut self.velocity);
    }

    /// `count` sweeps over the blocks in the lanes `live`, each ahead of the one before.
    #[inline(always)]
    pub fn sweeps_ahead(&mut self, count: u32, tile: &mut PatchTile<'_, R>, live: R::Mask) {
        for _ in 0..count {
            self.lead(tile, live);
            self.sweep(tile, live);
        }
    }

    /// A sweep over the blocks in the lanes `live`; the others stay as they are. Returns max W_ii |Δz_i|, m/s: how far rows were from what the law asks of them.
    #[inline(always)]
    pub fn sweep(&mut self, tile: &mut PatchTile<'_, R>, live: R::Mask) -> R {
        self.farthest = R::zero();
        for c in 0..tile.patches {
            self.sweep_patch(c, live, tile);
        }
        for c in tile.patches..tile.contacts {
            let i = 3 * c;
            let [old, u] = [&*tile.one.impulse, &self.velocity].map(|of| [of[i], of[i + 1], of[i + 2]]);
            let acts = R::zero().lt(old[0].abs().max(old[1].abs()).max(old[2].abs()));
            // an open contact that nothing closes stays open
            let pressed = live.and(acts.or(u[0].lt(R::zero())));
            if !pressed.any() {
                continue;
            }
            let own = block(tile, [i, i + 1, i + 2]);
            let new = self.points[c - tile.patches].solve(&own, tile.one.friction[c], pressed, u, old);
            let change = [new[0] - old[0], new[1] - old[1], new[2] - old[2]];
            self.push_three(tile, [i, i + 1, i + 2], change, R::one());
        }
        self.sweep_scalars(tile, live);
        self.farthest
    }

    /// The same with points as the shader takes them: the normal, and then the tangents with the step of a disc.
    #[cfg(feature = "gpu")]
    #[inline(always)]
    pub fn sweep_projecting(&mut self, tile: &mut PatchTile<'_, R>, live: R::Mask) {
        for c in 0..tile.patches {
            self.sweep_patch(c, live, tile);
        }
        for c in tile.patches..tile.contacts {
            let i = 3 * c;
            let [old, u] = [&*tile.one.impulse, &self.velocity].map(|of| [of[i], of[i + 1], of[i + 2]]);
            let own = block(tile, [i, i + 1, i + 2]);
            let new = update_contact(LAW_CONE, u, old, &own, contact_steps(LAW_CONE, &own), tile.one.friction[c]);
            let change = [0, 1, 2].map(|k| R::select(live, new[k] - old[k], R::zero()));
            self.push_three(tile, [i, i + 1, i + 2], change, R::one());
        }
        self.sweep_scalars(tile, live);
    }

    #[inline(always)]
    fn sweep_scalars(&mut self, tile: &mut PatchTile<'_, R>, live: R::Mask) {
        for i in tile.first_scalar()..tile.row_count() {
            let s = 2 * (i - 3 * tile.contacts);
            let old = tile.one.impulse[i];
            // λ ← clamp(λ − w/W_ii, lower, upper)
            let new = (-self.velocity[i]).mul_add(self.step[i], old);
            let new = project_interval(new, tile.one.bounds[s], tile.one.bounds[s + 1]);
            self.push(tile, i, R::select(live, new - old, R::zero()));
        }
    }

    #[inline(always)]
    fn sweep_patch(&mut self, c: usize, live: R::Mask, tile: &mut PatchTile<'_, R>) {
        let zero = R::zero();
        let (rows, shape) = (Rows::new(c, tile.contacts, tile.patches), Shape::new(tile.shapes, c, true));
        let (mut pressed, mut closing) = (zero, self.velocity[rows.normal[0]]);
        for (k, i) in rows.normal.into_iter().chain(rows.friction()).enumerate() {
            pressed = pressed.max(tile.one.impulse[i].abs());
            if (1..4).contains(&k) {
                let w = self.velocity[i];
                // a disc is closed by its moments, to whichever side they tip it
                closing = closing.min(R::select(shape.disc, closing - w.abs(), w));
            }
        }
        // an open patch that nothing closes stays open
        let live = live.and(zero.lt(pressed).or(closing.lt(zero)));
        if !live.any() {
            return;
        }
        let vertices = live.and(shape.disc.not());
        if vertices.any() {
            for i in rows.normal {
                let old = tile.one.impulse[i];
                let new = (-self.velocity[i]).mul_add(self.step[i], old).max(zero);
                self.push(tile, i, R::select(vertices, new - old, zero));
            }
        }
        let discs = live.and(shape.disc);
        if discs.any() {
            let (normal, _) = tile.diagonals(&rows);
            // no eigenvalue of a positive semidefinite block exceeds its trace
            let rho = inverse(normal[0] + normal[1] + normal[2]);
            let [i, j, k] = [rows.normal[0], rows.normal[1], rows.normal[2]];
            for _ in 0..DISC_STEPS {
                let (z, w) = (&tile.one.impulse, &self.velocity);
                let old = [z[i], z[j], z[k]];
                let new = project_disc_cone([old[0] - rho * w[i], old[1] - rho * w[j], old[2] - rho * w[k]]);
                for (row, change) in [(i, new[0] - old[0]), (j, new[1] - old[1]), (k, new[2] - old[2])] {
                    self.push(tile, row, R::select(discs, change, zero));
                }
            }
        }
        let pressure = shape.pressure(rows.normals(tile.one.impulse));
        let (centre, friction) = (pressure.centre, rows.friction());
        let own = block(tile, friction);
        let old = rows.frictions(tile.one.impulse);
        let s = self.scaled[c];
        // The ECP has moved: s acts at the new one.
        let moved = shape.impulses(s, centre);
        let mut w = rows.frictions(&self.velocity);
        for i in 0..3 {
            for j in 0..3 {
                w[i] = own[i][j].mul_add(moved[j] - old[j], w[i]);
            }
        }
        // g = y − D s
        let d = shape.inverse_inertia(&own, centre);
        let mut g = shape.slip(w, centre);
        for i in 0..3 {
            for j in 0..3 {
                g[i] = (-d[i][j]).mul_add(s[j], g[i]);
            }
        }
        let radius = tile.one.friction[c] * pressure.sum;
        let best = least_on_ball(&d, g, radius, &mut self.multiplier[c], live);
        let new = shape.impulses(best, centre);
        let mut change = [zero; 3];
        for k in 0..3 {
            let rough = live.and(zero.lt(shape.ellipsoid[k]));
            self.scaled[c][k] = R::select(rough, best[k], R::select(live, zero, s[k]));
            change[k] = R::select(live, new[k] - old[k], zero);
        }
        self.push_three(tile, friction, change, shape.ellipsoid[2]);
    }

    /// The largest natural-map residual by what is carried, m/s; not a number where any part of it is not.
    #[inline(always)]
    fn residual(&self, tile: &PatchTile<'_, R>) -> R {
        let (n, w, z) = (tile.row_count(), &self.velocity, &*tile.one.impulse);
        let (mut largest, mut sum) = (R::zero(), R::zero());
        for c in 0..tile.contacts {
            let rows = Rows::new(c, tile.contacts, tile.patches);
            let (i, mu) = (3 * c, tile.one.friction[c]);
            let error = if rows.is_patch {
                tile.patch_residual(&rows, &Shape::new(tile.shapes, c, true), w, mu)
            } else {
                let diagonal = [tile.diagonal(i), tile.diagonal(i + 1), tile.diagonal(i + 2)];
                contact_residual(LAW_CONE, [w[i], w[i + 1], w[i + 2]], [z[i], z[i + 1], z[i + 2]], diagonal, mu)
            };
            (largest, sum) = (error.max(largest), sum + error);
        }
        for i in tile.first_scalar()..n {
            let s = 2 * (i - 3 * tile.contacts);
            let error = row_residual(w[i], z[i], tile.diagonal(i), tile.one.bounds[s], tile.one.bounds[s + 1]);
            (largest, sum) = (error.max(largest), sum + error);
        }
        sum.mul_add(R::zero(), largest)
    }
}

/// The 3 × 3 block of W of some rows.
#[inline(always)]
fn block<R: Pack>(tile: &PatchTile<'_, R>, rows: [usize; 3]) -> [[R; 3]; 3] {
    let n = tile.row_count();
    let mut own = [[R::zero(); 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            own[i][j] = tile.one.delassus[rows[i] * n + rows[j]];
        }
    }
    own
}

/// Projects the first guess onto what the laws allow; a guess that is not finite counts as 0.
#[inline(always)]
pub(super) fn make_feasible<R: Pack>(tile: &mut PatchTile<'_, R>) {
    let (n, zero, one) = (tile.row_count(), R::zero(), R::one());
    let first_scalar = tile.first_scalar();
    let impulse = &mut *tile.one.impulse;
    for x in impulse.iter_mut() {
        *x = R::select(is_finite(*x), *x, zero);
    }
    for c in 0..tile.contacts {
        let rows = Rows::new(c, tile.contacts, tile.patches);
        let mu = tile.one.friction[c];
        if !rows.is_patch {
            let i = 3 * c;
            impulse[i] = impulse[i].max(zero);
            let [t, o] = project_disc([impulse[i + 1], impulse[i + 2]], mu * impulse[i]);
            (impulse[i + 1], impulse[i + 2]) = (t, o);
            continue;
        }
        let shape = Shape::new(tile.shapes, c, true);
        let z = rows.normals(impulse);
        let cone = project_disc_cone([z[0], z[1], z[2]]);
        for k in 0..4 {
            let on_cone = if k < 3 { cone[k] } else { zero };
            impulse[rows.normal[k]] = R::select(shape.disc, on_cone, z[k].max(zero));
        }
        let pressure = shape.pressure(rows.normals(impulse));
        let mut s = shape.scaled(rows.frictions(impulse), pressure.centre);
        let (size, radius) = (length(s), mu * pressure.sum);
        let factor = R::select(radius.lt(size), radius / size, one);
        for k in 0..3 {
            s[k] = s[k] * factor;
        }
        let f = shape.impulses(s, pressure.centre);
        for (k, row) in rows.friction().into_iter().enumerate() {
            impulse[row] = f[k];
        }
    }
    for i in first_scalar..n {
        let s = 2 * (i - 3 * tile.contacts);
        impulse[i] = project_interval(impulse[i], tile.one.bounds[s], tile.one.bounds[s + 1]);
    }
}

/// One problem of one tile: a feasible first guess, then sweeps while a lane is live, and contracts; and the certificate. The lanes `answered` keep answer and
/// certificate as they are.
#[inline(always)]
pub(super) fn sweep_carrying<R: Pack>(
    header: &Header,
    settings: &SolveSettings,
    tile: &mut PatchTile<'_, R>,
    answered: R::Mask,
    carried: &mut Carried<R>,
) {
    if !answered.not().any() {
        return;
    }
    let mut kept = no_report();
    kept.copy_from_slice(tile.one.report);
    carried.answer.clear();
    carried.answer.extend_from_slice(tile.one.impulse);
    make_feasible(tile);
    tile.one.report.fill(R::zero());
    carried.start(tile);
    let tolerance = R::constant(f64::from(header.tolerance));
    let (mut before, mut swept) = (R::constant(f64::INFINITY), R::zero());
    let mut live = answered.not().and(tolerance.lt(carried.residual(tile)));
    for k in 0..settings.iterations {
        if !live.any() {
            break;
        }
        if k >= PLAIN {
            carried.lead(tile, live);
        }
        let farthest = carried.sweep(tile, live);
        swept += R::select(live, R::one(), R::zero());
        let far = (R::constant(NEAR) * tolerance).lt(farthest);
        if live.and(far.not()).any() {
            live = live.and(far.or(tolerance.lt(carried.residual(tile))));
        }
        if settings.uses_newton() && (k + 1).is_multiple_of(header.check_every) {
            live = live.and(farthest.lt(before * R::constant(CONTRACTS)));
            before = farthest;
        }
    }
    tile.one.report[REPORT_SWEEPS] = swept;
    for (x, answer) in tile.one.impulse.iter_mut().zip(&carried.answer) {
        *x = R::select(answered, *answer, *x);
    }
    let mut report = no_report();
    report.copy_from_slice(tile.one.report);
    certify(header, tile, &mut carried.sums, &mut report);
    for ((entry, new), kept) in tile.one.report.iter_mut().zip(report).zip(kept) {
        *entry = R::select(answered, kept, new);
    }
}
