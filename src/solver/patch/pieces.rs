//! The large pieces of Newton on patches, each compiled once a level and number type: Newton comes to each from several places, and copies at all of them would be most of
//! the solver's code.

use super::super::batch::REPORT_LEN;
use super::super::tiles::OneTile;
use super::block::{Block, Point};
use super::sweeps::{Carried, make_feasible};
use super::tile::PatchTile;
use crate::lane::{Compiled, Level, Pack, PackMask, Task};

/// The levels that the pieces are compiled for: blocks by themselves are in f64.
const fn compiled<R: Pack>() -> Compiled {
    if R::EPSILON > 1e-10 { R::COMPILED } else { R::PIECES }
}

/// All that follows from the unknowns of `point`.
#[inline(always)]
pub(super) fn evaluate<R: Pack>(level: Level, block: &Block<R>, point: &mut Point<R>) {
    level.run(Evaluate { block, point });
}

struct Evaluate<'a, R> {
    block: &'a Block<R>,
    point: &'a mut Point<R>,
}

impl<R: Pack> Task for Evaluate<'_, R> {
    const COMPILED: Compiled = compiled::<R>();
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.block.evaluate(self.point);
    }
}

/// Sweeps over the blocks of some lanes from the unknowns of `point`, brought into what the laws allow.
#[inline(always)]
pub(super) fn sweep<R: Pack>(
    level: Level,
    block: &Block<R>,
    count: u32,
    lanes: R::Mask,
    carried: &mut Carried<R>,
    point: &mut Point<R>,
) {
    level.run(Sweep { block, count, lanes, carried, point });
}

struct Sweep<'a, R: Pack> {
    block: &'a Block<R>,
    count: u32,
    lanes: R::Mask,
    carried: &'a mut Carried<R>,
    point: &'a mut Point<R>,
}

impl<R: Pack> Task for Sweep<'_, R> {
    const COMPILED: Compiled = compiled::<R>();
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { block, count, lanes, carried, point } = self;
        block.impulses(&point.x, &mut point.z);
        let mut report = [R::zero(); REPORT_LEN];
        let mut tile = PatchTile {
            contacts: block.room.contacts,
            patches: block.room.patches,
            shapes: &block.shapes,
            one: OneTile {
                delassus: &block.delassus,
                friction: &block.friction,
                bounds: &block.bounds,
                bias: &block.bias,
                impulse: &mut point.z,
                report: &mut report,
            },
        };
        make_feasible(&mut tile);
        carried.start(&tile);
        carried.sweeps_ahead(count, &mut tile, lanes);
        block.unknowns(&point.z, &mut point.x);
    }
}

/// What a full step from `point` takes off x: J⁻¹ F, with `shift` on the diagonal of J; `jacobian`: room.
#[inline(always)]
pub(super) fn full_step<R: Pack>(
    level: Level,
    block: &Block<R>,
    point: &Point<R>,
    shift: R,
    jacobian: &mut [R],
    step: &mut [R],
) {
    level.run(FullStep { block, point, shift, jacobian, step });
}

struct FullStep<'a, R> {
    block: &'a Block<R>,
    point: &'a Point<R>,
    shift: R,
    jacobian: &'a mut [R],
    step: &'a mut [R],
}

impl<R: Pack> Task for FullStep<'_, R> {
    const COMPILED: Compiled = compiled::<R>();
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { block, point, shift, jacobian, step } = self;
        block.jacobian(point, shift, jacobian);
        step.copy_from_slice(&point.defect);
        eliminate(jacobian, step);
        // the columns of the Jacobian were scaled by ρ
        for (step, rho) in step.iter_mut().zip(&block.rho) {
            *step = *step * *rho;
        }
    }
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

/// 1/x, or 0 where x is 0.
#[inline(always)]
fn inverse<R: Pack>(x: R) -> R {
    let some = R::zero().lt(x.abs());
    R::select(some, R::one() / R::select(some, x, R::one()), R::zero())
}
