//! Stage `sweeps`, the twin of `shaders/sweeps.wgsl`: one problem of every block, from the first guess to the certificate.

use super::batch::{REPORT_LIVE, REPORT_RESIDUAL, REPORT_SWEEPS, SWEPT};
use super::jacobi::jacobi;
use super::pgs::pgs;
use super::residual::residual;
use super::settings::{ALGORITHM_PGS, Header};
use super::warm_start::warm_start;
use crate::lane::{Mask, Pack, PackMask, Scalar};

/// At most `header.sweep_count` sweeps over the blocks of one tile that are swept ([`SWEPT`]); the others stay as they are. To be called again while any is.
///
/// The first time, their guess is made feasible. They are looked at before their first sweep, after every `header.check_every` and after the last of
/// `header.iterations`: a block leaves when it is solved, and, where `header.contracts` is not 0, when no less than that share of the residual of the look before is left.
///
/// Shapes as in [`super::Group`], one tile of each; `next_impulse`, shape `[row]`, is scratch.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "one argument per binding of the shader")]
pub fn sweeps<R: Pack>(
    header: &Header,
    delassus: &[R],
    bias: &[R],
    friction: &[R],
    bounds: &[R],
    next_impulse: &mut [R],
    impulse: &mut [R],
    report: &mut [R],
) {
    let mut swept = R::one().lt(report[REPORT_LIVE]);
    // All that are still swept have as many sweeps behind them.
    let Some(lane) = (0..R::LANES).find(|&lane| swept.get(lane)) else { return };
    let mut done = report[REPORT_SWEEPS].get(lane).to_f64() as u32;
    let over = |done: u32| R::Mask::splat(done >= header.iterations);
    if done == 0 {
        warm_start(header, friction, bounds, swept, impulse);
        residual(header, delassus, bias, friction, bounds, impulse, report);
        swept = swept.and(R::zero().lt(report[REPORT_LIVE])).and(over(done).not());
    }
    for _ in 0..header.sweep_count {
        if !swept.any() {
            break;
        }
        if header.algorithm == ALGORITHM_PGS {
            pgs(header, delassus, bias, friction, bounds, swept, impulse);
        } else {
            jacobi(header, delassus, bias, friction, bounds, swept, next_impulse, impulse);
        }
        done += 1;
        report[REPORT_SWEEPS] = R::select(swept, R::constant(f64::from(done)), report[REPORT_SWEEPS]);
        if done.is_multiple_of(header.check_every) || done == header.iterations {
            let before = report[REPORT_RESIDUAL];
            residual(header, delassus, bias, friction, bounds, impulse, report);
            let contracts = R::Mask::splat(header.contracts == 0.0)
                .or(report[REPORT_RESIDUAL].lt(R::constant(f64::from(header.contracts)) * before));
            swept = swept.and(R::zero().lt(report[REPORT_LIVE])).and(over(done).not()).and(contracts);
        }
    }
    report[REPORT_LIVE] = R::select(swept, R::constant(SWEPT), report[REPORT_LIVE]);
}
