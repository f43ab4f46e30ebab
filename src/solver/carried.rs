//! Sweeps of Gauss-Seidel that carry u = W λ + b along: a change of λ_i adds its column of W to all of u, so that no row waits for a sum. Every contact gets what the law asks
//! of it while the others are held (`coulomb`), and after the first sweeps each starts ahead of where the last one ended (`past`). What a sweep corrects tells when to look at what it
//! leaves. That is judged by what is carried, which is rounded on the way: the certificate is a pass of its own, from λ and the original W, b.

use super::batch::{REPORT_LEN, REPORT_SWEEPS};
use super::coulomb::Contact;
use super::past::Past;
use super::project::{inverse, project_interval};
use super::residual::{contact_residual, residual, row_residual};
use super::settings::{Header, SolveSettings};
use super::tiles::OneTile;
use super::warm_start::warm_start;
use crate::lane::{Mask, Pack, PackMask};

/// Sweeps go on while as many of them as there are between two looks leave less than this share of what the last of them corrects: where Gauss-Seidel does not contract,
/// Newton is the better way.
pub(super) const CONTRACTS: f64 = 0.2;
/// Where a sweep corrects less than this many times the tolerance, the residual that it leaves is looked at.
pub(super) const NEAR: f64 = 4.0;
/// Scalar rows that are swept together: the edges of a pyramid, or whichever follow each other.
const TOGETHER: usize = 4;
/// The first sweeps, of which nothing is remembered: many blocks need no more.
pub(super) const PLAIN: u32 = 2;

/// What is carried from row to row, for one tile.
#[derive(Debug, Clone)]
pub(super) struct Carried<R> {
    /// u, m/s, shape \[row\].
    velocity: Vec<R>,
    /// What every contact has of its own, shape \[contact\].
    contacts: Vec<Contact<R>>,
    /// Change of λ per velocity of every scalar row, shape \[scalar row\].
    step: Vec<R>,
    /// The sweeps before.
    past: Past<R>,
}

impl<R: Pack> Carried<R> {
    pub fn new() -> Self {
        Self { velocity: Vec::new(), contacts: Vec::new(), step: Vec::new(), past: Past::new() }
    }

    /// u = b + W λ, and the steps of all rows.
    #[inline(always)]
    fn start(&mut self, header: &Header, tile: &OneTile<'_, R>) {
        let (n, contacts) = (header.row_count(), 3 * header.contact_count as usize);
        self.velocity.clear();
        self.velocity.extend_from_slice(&tile.bias[..n]);
        let mut i = 0;
        while i + TOGETHER <= n {
            push::<R, TOGETHER>(&mut self.velocity, tile.delassus, i, &tile.impulse[i..]);
            i += TOGETHER;
        }
        while i < n {
            push::<R, 1>(&mut self.velocity, tile.delassus, i, &tile.impulse[i..]);
            i += 1;
        }
        self.contacts.clear();
        for i in (0..contacts).step_by(3) {
            let (x, u) = (&tile.impulse[i..i + 3], &self.velocity[i..i + 3]);
            let own = block(tile.delassus, n, i);
            self.contacts.push(Contact::new(&own, [x[0], x[1], x[2]], [u[0], u[1], u[2]]));
        }
        self.step.clear();
        for i in contacts..n {
            self.step.push(inverse(tile.delassus[i * n + i]));
        }
        self.past.forget();
    }

    /// A sweep over the blocks in the lanes `live`; the others stay as they are. Returns max_i W_ii |Δλ_i|, m/s: how far rows were from what the law asks of them.
    #[inline(always)]
    fn sweep(&mut self, header: &Header, tile: &mut OneTile<'_, R>, live: R::Mask) -> R {
        let (n, contacts) = (header.row_count(), 3 * header.contact_count as usize);
        let OneTile { delassus, friction, impulse, .. } = tile;
        let impulse = &mut impulse[..n];
        let Self { velocity, contacts: own, .. } = self;
        let (velocity, own) = (&mut velocity[..n], &mut own[..contacts / 3]);
        let mut farthest = R::zero();
        for i in (0..contacts).step_by(3) {
            let old = [impulse[i], impulse[i + 1], impulse[i + 2]];
            let acts = R::zero().lt(old[0].abs().max(old[1].abs()).max(old[2].abs()));
            // an open contact that nothing closes stays open
            let pressed = live.and(acts.or(velocity[i].lt(R::zero())));
            if !pressed.any() {
                continue;
            }
            let u = [velocity[i], velocity[i + 1], velocity[i + 2]];
            let block = block(delassus, n, i);
            let new = own[i / 3].solve(&block, friction[i / 3], pressed, u, old);
            let mut change = [R::zero(); 3];
            for k in 0..3 {
                change[k] = new[k] - old[k];
                impulse[i + k] = new[k];
                farthest = (block[k][k] * change[k].abs()).max(farthest);
            }
            if !R::zero().lt(change[0].abs().max(change[1].abs()).max(change[2].abs())).any() {
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
        let mut i = contacts;
        while i + TOGETHER <= n {
            farthest = self.sweep_rows::<TOGETHER>(header, tile, live, i).max(farthest);
            i += TOGETHER;
        }
        while i < n {
            farthest = self.sweep_rows::<1>(header, tile, live, i).max(farthest);
            i += 1;
        }
        farthest
    }

    /// The part of a sweep of N scalar rows from row i on, one after the other. What they move is added to u together, each number of which is read and written once.
    #[inline(always)]
    fn sweep_rows<const N: usize>(&mut self, header: &Header, tile: &mut OneTile<'_, R>, live: R::Mask, i: usize) -> R {
        let (n, contacts) = (header.row_count(), 3 * header.contact_count as usize);
        let (velocity, step) = (&mut self.velocity[..n], &self.step[i - contacts..][..N]);
        let bounds = &tile.bounds[2 * (i - contacts)..][..2 * N];
        let impulse = &mut tile.impulse[i..i + N];
        let (mut u, mut change, mut farthest) = ([R::zero(); N], [R::zero(); N], R::zero());
        u.copy_from_slice(&velocity[i..i + N]);
        for k in 0..N {
            let (w, old) = (&tile.delassus[(i + k) * n + i..][..N], impulse[k]);
            // λ ← clamp(λ − w/W_ii, lower, upper)
            let new = project_interval((-u[k]).mul_add(step[k], old), bounds[2 * k], bounds[2 * k + 1]);
            change[k] = R::select(live, new - old, R::zero());
            impulse[k] = R::select(live, new, old);
            farthest = (w[k] * change[k].abs()).max(farthest);
            for l in k + 1..N {
                u[l] = w[l].mul_add(change[k], u[l]);
            }
        }
        push::<R, N>(velocity, tile.delassus, i, &change);
        farthest
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

/// u ← u + Σ W_i Δλ_i over N rows from row i on, by the symmetry of W; what no lane moves, moves nothing.
#[inline(always)]
fn push<R: Pack, const N: usize>(velocity: &mut [R], delassus: &[R], i: usize, change: &[R]) {
    let n = velocity.len();
    let (mut most, mut rows) = (R::zero(), [&delassus[..0]; N]);
    for k in 0..N {
        most = change[k].abs().max(most);
        rows[k] = &delassus[(i + k) * n..][..n];
    }
    if !R::zero().lt(most).any() {
        return;
    }
    for j in 0..n {
        let mut u = velocity[j];
        for k in 0..N {
            u = rows[k][j].mul_add(change[k], u);
        }
        velocity[j] = u;
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

/// One problem of one tile: `warm_start`, then sweeps of every lane while they leave more than the tolerance, and contract; and the certificate. The lanes `answered` keep answer and certificate
/// as they are.
#[inline(always)]
pub(super) fn sweep_carrying<R: Pack>(
    header: Header,
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
    let (mut before, mut swept) = (R::constant(f64::INFINITY), R::zero());
    let mut live = answered.not().and(tolerance.lt(carried.residual(&header, tile)));
    for k in 0..settings.iterations {
        if !live.any() {
            break;
        }
        if k >= PLAIN {
            carried.past.lead(tile.delassus, live, tile.impulse, &mut carried.velocity);
        }
        let farthest = carried.sweep(&header, tile, live);
        swept += R::select(live, R::one(), R::zero());
        let far = (R::constant(NEAR) * tolerance).lt(farthest);
        if live.and(far.not()).any() {
            live = live.and(far.or(tolerance.lt(carried.residual(&header, tile))));
        }
        if (k + 1).is_multiple_of(header.check_every) {
            live = live.and(farthest.lt(before * R::constant(CONTRACTS)));
            before = farthest;
        }
    }
    tile.report[REPORT_SWEEPS] = swept;
    let OneTile { delassus, friction, bounds, bias, impulse, report } = tile;
    residual(&header, delassus, bias, friction, bounds, impulse, report);
    for (entry, kept) in report.iter_mut().zip(kept) {
        *entry = R::select(answered, kept, *entry);
    }
}
