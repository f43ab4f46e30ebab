//! Damped semismooth Newton over lanes, for blocks with patches: the method of [`crate::lcp::patch`], whose `System` and `linear` have the formulas.
//!
//! ```text
//! x = (impulses of the normals and scalar rows, s of the friction),   z = z(x),   w = W z + b
//! row       F = x − Π(x − ρ w)                 ρ = 1/W_ii
//! disc      F = x − P_K(x − ρ w)               ρ = 1/mean W_ii
//! friction  F = s − P(s − ρ y), |·| ≤ μ N      ρ = 1/a
//! ```
//!
//! `F/ρ`, in m/s, is what must vanish. Its Jacobian is scaled by columns, so that its diagonal is about 1, and eliminated without pivoting, so that all lanes
//! do the same; the diagonals of the normals, whose impulses are not unique, are raised a little.

use super::super::cpu::OneTile;
use super::super::project::is_finite;
use super::super::{Header, REPORT_LEN, REPORT_LIVE, goal};
use super::PatchTile;
use super::block::{Block, Point};
use super::law::PATCH_LEN;
use super::rounds::{Room, Start};
use super::sweeps::Carried;
use crate::lane::{Mask, Pack, PackMask, Scalar};

/// Halvings of a step.
const HALVINGS: usize = 8;
/// A step counts that leaves less than this share of the merit.
const ENOUGH: f64 = 0.9;
/// Added to the diagonal of the friction rows where the system is not regular without; tried in turn.
const SHIFTS: [f64; 4] = [0.0, 1e-7, 1e-5, 1e-3];
/// Newton aims this far below the tolerance: points are certified by another form of their law.
const AIM: f64 = 0.3;

/// 1/x, or 0 where x is 0.
#[inline(always)]
fn inverse<R: Pack>(x: R) -> R {
    let some = R::zero().lt(x.abs());
    R::select(some, R::one() / R::select(some, x, R::one()), R::zero())
}

/// Solves a x = b by elimination without pivoting, in place; a row without a pivot is left out.
#[inline(always)]
fn eliminate<R: Pack>(a: &mut [R], b: &mut [R]) {
    let (n, zero) = (b.len(), R::zero());
    for k in 0..n {
        let (above, below) = a.split_at_mut((k + 1) * n);
        let row = &above[k * n..];
        let over = inverse(row[k]);
        for (i, other) in below.chunks_exact_mut(n).enumerate() {
            let some = zero.lt(other[k].abs());
            if !some.any() {
                continue;
            }
            let factor = R::select(some, other[k] * over, zero);
            for j in k + 1..n {
                other[j] = (-factor).mul_add(row[j], other[j]);
            }
            b[k + 1 + i] = (-factor).mul_add(b[k], b[k + 1 + i]);
        }
    }
    for i in (0..n).rev() {
        let mut sum = b[i];
        for j in i + 1..n {
            sum = (-a[i * n + j]).mul_add(b[j], sum);
        }
        b[i] = sum * inverse(a[i * n + i]);
    }
}

/// One tile of blocks with what Newton needs.
#[derive(Debug, Clone)]
pub(super) struct NewtonTile<R: Pack> {
    pub block: Block<R>,
    /// z, N·s, shape \[row\].
    pub impulse: Vec<R>,
    /// Residual to reach, m/s.
    tolerance: R,
    /// Friction and diagonal of W while others stand in their place.
    whole: Vec<R>,
    now: Point<R>,
    trial: Point<R>,
    next: Point<R>,
    best: Point<R>,
    jacobian: Vec<R>,
    /// What a full step takes off x, shape \[row\].
    step: Vec<R>,
    carried: Carried<R>,
}

impl<R: Pack> NewtonTile<R> {
    pub fn new() -> Self {
        Self {
            block: Block::new(),
            impulse: Vec::new(),
            tolerance: R::zero(),
            whole: Vec::new(),
            now: Point::new(),
            trial: Point::new(),
            next: Point::new(),
            best: Point::new(),
            jacobian: Vec::new(),
            step: Vec::new(),
            carried: Carried::new(),
        }
    }

    /// Makes room, no lane in use: blocks of zeros.
    #[inline(always)]
    pub fn clear(&mut self, room: Room) {
        let n = room.row_count();
        self.block.room = room;
        for (array, len) in [
            (&mut self.block.delassus, n * n),
            (&mut self.block.bias, n),
            (&mut self.block.friction, room.contacts),
            (&mut self.block.bounds, 2 * (n - 3 * room.contacts)),
            (&mut self.block.shapes, room.patches * PATCH_LEN),
            (&mut self.impulse, n),
            (&mut self.jacobian, n * n),
            (&mut self.step, n),
        ] {
            array.clear();
            array.resize(len, R::zero());
        }
        for point in [&mut self.now, &mut self.trial, &mut self.next, &mut self.best] {
            point.resize(n);
        }
        // an idle lane is solved from the start
        self.tolerance = R::constant(f64::INFINITY);
    }

    /// The residual that `lane` has to reach; `floor`: that of its certificate, m/s.
    pub fn set_goal(&mut self, lane: usize, header: &Header, floor: R::Scalar) {
        let wanted = goal(R::Scalar::from_f64(f64::from(header.tolerance)), floor);
        self.tolerance.set(lane, wanted * R::Scalar::from_f64(AIM));
    }

    /// Solves from where the round starts. Returns the steps of every lane, the lanes that have not reached their tolerance, and those that end nearer to
    /// it than they began.
    #[inline(always)]
    pub fn run(&mut self, start: Start, most: usize) -> (R, R::Mask, R::Mask) {
        let (n, zero) = (self.block.room.row_count(), R::zero());
        self.block.find_scales();
        self.start_at_impulse();
        self.block.evaluate(&mut self.now);
        let before = self.now.residual;
        let mut steps = zero;
        match start {
            Start::Here => {}
            Start::Sweeps(count) => {
                self.sweep(count);
                self.start_at_impulse();
            }
            Start::Friction(shares) => {
                self.now.x.fill(zero);
                self.whole.clear();
                self.whole.extend_from_slice(&self.block.friction);
                for &share in shares {
                    for (part, whole) in self.block.friction.iter_mut().zip(&self.whole) {
                        *part = *whole * R::constant(share);
                    }
                    steps += self.solve(most).0;
                }
                self.block.friction.copy_from_slice(&self.whole);
            }
            Start::Softness(shares) => {
                self.now.x.fill(zero);
                self.whole.clear();
                for i in 0..n {
                    self.whole.push(self.block.delassus[i * n + i]);
                }
                for &share in shares {
                    for i in 0..n {
                        self.block.delassus[i * n + i] = self.whole[i] * R::constant(1.0 + share);
                    }
                    steps += self.solve(most).0;
                }
                for i in 0..n {
                    self.block.delassus[i * n + i] = self.whole[i];
                }
            }
        }
        let (taken, unsolved) = self.solve(most);
        self.impulse.copy_from_slice(&self.now.z);
        (steps + taken, unsolved, self.now.residual.lt(before))
    }

    /// x of z.
    #[inline(always)]
    fn start_at_impulse(&mut self) {
        let (block, x) = (&self.block, &mut self.now.x);
        x.copy_from_slice(&self.impulse);
        for c in 0..block.room.patches {
            let (rows, shape) = block.rows(c);
            let centre = shape.pressure(rows.normals(&self.impulse)).centre;
            let s = shape.scaled(rows.frictions(&self.impulse), centre);
            for (k, row) in rows.friction().into_iter().enumerate() {
                x[row] = s[k];
            }
        }
    }

    /// Sweeps over all lanes, from z to z.
    #[inline(always)]
    fn sweep(&mut self, count: u32) {
        let Self { block, impulse, carried, .. } = self;
        let mut report = [R::zero(); REPORT_LEN];
        report[REPORT_LIVE] = R::one();
        let mut tile = PatchTile {
            contacts: block.room.contacts,
            patches: block.room.patches,
            shapes: &block.shapes,
            one: OneTile {
                delassus: &block.delassus,
                friction: &block.friction,
                bounds: &block.bounds,
                bias: &block.bias,
                impulse,
                report: &mut report,
            },
        };
        carried.start(&tile);
        carried.sweep(count, &mut tile);
    }

    /// At most `most` Newton steps on all lanes from the unknowns of `now`, which holds the best point afterwards. Returns the steps of every lane, and the lanes that
    /// have not reached their tolerance.
    #[inline(always)]
    fn solve(&mut self, most: usize) -> (R, R::Mask) {
        let (zero, one) = (R::zero(), R::one());
        let Self { block, now, trial, next, best, jacobian, step, .. } = self;
        let n = block.room.row_count();
        block.evaluate(now);
        best.take(R::Mask::splat(true), now);
        let mut live = self.tolerance.lt(now.residual).and(is_finite(now.residual));
        let (mut shift, mut steps) = (zero, zero);
        for _ in 0..most {
            if !live.any() {
                break;
            }
            steps += R::select(live, one, zero);
            block.jacobian(now, shift, jacobian);
            step.copy_from_slice(&now.defect);
            eliminate(jacobian, step);
            // the columns of the Jacobian were scaled by ρ
            for i in 0..n {
                step[i] = step[i] / block.scale[i];
            }
            next.merit = R::constant(f64::INFINITY);
            let (mut length, mut searching) = (one, live);
            for _ in 0..=HALVINGS {
                if !searching.any() {
                    break;
                }
                for i in 0..n {
                    trial.x[i] = (-length).mul_add(step[i], now.x[i]);
                }
                block.evaluate(trial);
                let better = searching.and(trial.merit.lt(next.merit));
                next.take(better, trial);
                searching = searching.and(next.merit.lt(R::constant(ENOUGH) * now.merit).not());
                length = length * R::constant(0.5);
            }
            // what got nothing regularizes more; at last it goes uphill
            let down = live.and(next.merit.lt(now.merit));
            let last = R::constant(SHIFTS[SHIFTS.len() - 1]);
            let uphill = live.and(down.not()).and(shift.lt(last).not()).and(is_finite(next.merit));
            let mut raised = last;
            for other in SHIFTS.into_iter().rev() {
                let other = R::constant(other);
                raised = R::select(shift.lt(other), other, raised);
            }
            shift = R::select(down.or(uphill), zero, raised);
            now.take(down.or(uphill), next);
            best.take(now.residual.lt(best.residual), now);
            live = live.and(self.tolerance.lt(now.residual)).and(is_finite(now.residual));
        }
        now.take(R::Mask::splat(true), best);
        let unsolved = self.tolerance.lt(now.residual).or(is_finite(now.residual).not());
        (steps, unsolved)
    }
}
