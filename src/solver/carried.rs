//! Sweeps of Gauss-Seidel that carry u = W λ + b along: a change of λ_i adds its column of W to all of u, so that no row waits for a sum, and a look at the
//! residual costs no product. What is carried is rounded on the way: the certificate is a pass of its own, from λ and the original W, b.

use super::batch::{REPORT_LEN, REPORT_LIVE, REPORT_SWEEPS};
use super::pgs::{contact_steps, update_contact};
use super::project::{inverse, project_interval};
use super::residual::{contact_residual, residual, row_residual};
use super::settings::{CONTRACTS, Header, SolveSettings};
use super::tiles::OneTile;
use super::warm_start::warm_start;
use crate::lane::{Mask, Pack, PackMask};

/// What is carried from row to row, for one tile.
#[derive(Debug, Clone)]
pub(super) struct Carried<R> {
    /// u, m/s, shape \[row\].
    velocity: Vec<R>,
    /// Change of λ per velocity of every row, see [`contact_steps`], shape \[row\].
    step: Vec<R>,
}

impl<R: Pack> Carried<R> {
    pub fn new() -> Self {
        Self { velocity: Vec::new(), step: Vec::new() }
    }

    /// u = b + W λ, and the steps of all rows.
    #[inline(always)]
    fn start(&mut self, header: &Header, tile: &OneTile<'_, R>) {
        let (n, contacts) = (header.row_count(), 3 * header.contact_count as usize);
        self.velocity.clear();
        self.velocity.extend_from_slice(&tile.bias[..n]);
        self.step.resize(n, R::zero());
        for (i, x) in tile.impulse[..n].iter().enumerate() {
            push(&mut self.velocity, tile.delassus, i, *x);
        }
        for i in (0..contacts).step_by(3) {
            let own = block(tile.delassus, n, i);
            self.step[i..i + 3].copy_from_slice(&contact_steps(header.law, &own));
        }
        for i in contacts..n {
            self.step[i] = inverse(tile.delassus[i * n + i]);
        }
    }

    /// `header.sweep_count` sweeps over the live blocks; the others stay as they are.
    #[inline(always)]
    fn sweep(&mut self, header: &Header, tile: &mut OneTile<'_, R>) {
        let (n, contacts) = (header.row_count(), 3 * header.contact_count as usize);
        let live = R::zero().lt(tile.report[REPORT_LIVE]);
        let OneTile { delassus, friction, bounds, impulse, .. } = tile;
        let (velocity, step) = (&mut self.velocity[..n], &self.step[..n]);
        for _ in 0..header.sweep_count {
            for i in (0..contacts).step_by(3) {
                let own = block(delassus, n, i);
                let old = [impulse[i], impulse[i + 1], impulse[i + 2]];
                let u = [velocity[i], velocity[i + 1], velocity[i + 2]];
                let steps = [step[i], step[i + 1], step[i + 2]];
                let new = update_contact(header.law, u, old, &own, steps, friction[i / 3]);
                let mut change = [R::zero(); 3];
                for k in 0..3 {
                    change[k] = R::select(live, new[k] - old[k], R::zero());
                    impulse[i + k] = R::select(live, new[k], old[k]);
                }
                let most = change[0].abs().max(change[1].abs()).max(change[2].abs());
                if !R::zero().lt(most).any() {
                    continue;
                }
                // u ← u + W Δλ, by the symmetry of W
                let (row0, rest) = delassus[n * i..n * (i + 3)].split_at(n);
                let (row1, row2) = rest.split_at(n);
                for j in 0..n {
                    let u = row0[j].mul_add(change[0], velocity[j]);
                    velocity[j] = row2[j].mul_add(change[2], row1[j].mul_add(change[1], u));
                }
            }
            for i in contacts..n {
                let s = 2 * (i - contacts);
                let old = impulse[i];
                // λ ← clamp(λ − w/W_ii, lower, upper)
                let new = project_interval((-velocity[i]).mul_add(step[i], old), bounds[s], bounds[s + 1]);
                impulse[i] = R::select(live, new, old);
                push(velocity, delassus, i, R::select(live, new - old, R::zero()));
            }
        }
        let swept = tile.report[REPORT_SWEEPS] + R::constant(f64::from(header.sweep_count));
        tile.report[REPORT_SWEEPS] = R::select(live, swept, tile.report[REPORT_SWEEPS]);
    }

    /// The largest natural-map residual by what is carried, m/s; not a number where any part of it is not.
    #[inline(always)]
    fn residual(&self, header: &Header, tile: &OneTile<'_, R>) -> R {
        let (n, contacts) = (header.row_count(), 3 * header.contact_count as usize);
        let (u, x) = (&self.velocity, &tile.impulse);
        let diagonal = |i: usize| tile.delassus[i * n + i];
        let (mut largest, mut sum) = (R::zero(), R::zero());
        for i in 0..contacts / 3 {
            let (friction, i) = (tile.friction[i], 3 * i);
            let own = [diagonal(i), diagonal(i + 1), diagonal(i + 2)];
            let (u, x) = ([u[i], u[i + 1], u[i + 2]], [x[i], x[i + 1], x[i + 2]]);
            let error = contact_residual(header.law, u, x, own, friction);
            (largest, sum) = (error.max(largest), sum + error);
        }
        for i in contacts..n {
            let s = 2 * (i - contacts);
            let error = row_residual(u[i], x[i], diagonal(i), tile.bounds[s], tile.bounds[s + 1]);
            (largest, sum) = (error.max(largest), sum + error);
        }
        // a maximum drops what is not a number; a sum does not
        sum.mul_add(R::zero(), largest)
    }
}

/// u ← u + W_i Δλ_i, by the symmetry of W; what no lane moves, moves nothing.
#[inline(always)]
fn push<R: Pack>(velocity: &mut [R], delassus: &[R], i: usize, change: R) {
    let n = velocity.len();
    if R::zero().lt(change.abs()).any() {
        for (u, w) in velocity.iter_mut().zip(&delassus[i * n..(i + 1) * n]) {
            *u = w.mul_add(change, *u);
        }
    }
}

/// The 3 × 3 block of a contact at row i.
#[inline(always)]
fn block<R: Pack>(delassus: &[R], n: usize, i: usize) -> [[R; 3]; 3] {
    let mut own = [[R::zero(); 3]; 3];
    for (k, own) in own.iter_mut().enumerate() {
        own.copy_from_slice(&delassus[(i + k) * n + i..(i + k) * n + i + 3]);
    }
    own
}

/// One problem of one tile: `warm_start`, then sweeps while a lane is live, and contracts; and the certificate. The lanes `answered` keep answer and certificate
/// as they are.
#[inline(always)]
pub(super) fn sweep_carrying<R: Pack>(
    mut header: Header,
    settings: &SolveSettings,
    tile: &mut OneTile<'_, R>,
    answered: R::Mask,
    carried: &mut Carried<R>,
) {
    if !answered.not().any() {
        return;
    }
    let mut kept = [R::zero(); REPORT_LEN];
    kept.copy_from_slice(tile.report);
    tile.report.fill(R::zero());
    warm_start(&header, tile.friction, tile.bounds, answered.not(), tile.impulse);
    carried.start(&header, tile);
    let tolerance = R::constant(f64::from(header.tolerance));
    let mut now = carried.residual(&header, tile);
    let mut before = R::constant(f64::INFINITY);
    let mut live = tolerance.lt(now).and(answered.not());
    for sweep_count in settings.rounds() {
        if settings.uses_newton() {
            // Where Gauss-Seidel does not contract, Newton is the better way.
            live = live.and(now.lt(before * R::constant(CONTRACTS)));
            before = now;
        }
        if !live.any() {
            break;
        }
        tile.report[REPORT_LIVE] = R::select(live, R::one(), R::zero());
        header.sweep_count = sweep_count;
        carried.sweep(&header, tile);
        now = carried.residual(&header, tile);
        live = live.and(tolerance.lt(now));
    }
    let OneTile { delassus, friction, bounds, bias, impulse, report } = tile;
    residual(&header, delassus, bias, friction, bounds, impulse, report);
    for (entry, kept) in report.iter_mut().zip(kept) {
        *entry = R::select(answered, kept, *entry);
    }
}
