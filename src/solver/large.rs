//! Large blocks, one by one: sweeps and Newton through velocities ([`Factored`]), whatever lane they are in.

use super::batch::{REPORT_LEN, REPORT_LIVE, REPORT_NEWTON_STEPS, REPORT_RESIDUAL, REPORT_SWEEPS};
use super::factor::Factor;
use super::factored::Factored;
use super::newton::{Form, NewtonTile, Round, Start};
use super::settings::{Header, SolveSettings};
use super::tiles::{OneTile, Tiles, Which};
use super::warm_start::warm_start;
use crate::lane::{Compiled, Level, Mask, Pack, Real, Scalar, Task};

/// Steps of the first round, [`NewtonTile::solve_swept`], and sweeps before it.
const SWEPT_STEPS: usize = 8;
const FIRST_SWEEPS: u32 = 4;
/// The rounds after it, of damped Newton on all rows of a block. Alternating directions cost little here, two products and two triangles a step; with a small ρ they go
/// far where W is weak, as between contacts that wedge each other.
const ROUNDS: [Round; 8] = [
    Round { steps: 20, acting: false, start: Start::Split { steps: 20, rho: 1e-3 } },
    Round { steps: 20, acting: false, start: Start::Here },
    Round { steps: 20, acting: false, start: Start::Split { steps: 100, rho: 1e-3 } },
    Round { steps: 20, acting: false, start: Start::Split { steps: 100, rho: 1e-4 } },
    Round { steps: 40, acting: false, start: Start::Split { steps: 200, rho: 3e-3 } },
    Round { steps: 20, acting: false, start: Start::Split { steps: 200, rho: 1e-6 } },
    Round { steps: 20, acting: false, start: Start::Split { steps: 200, rho: 1e-7 } },
    Round { steps: 20, acting: false, start: Start::Friction(&[0.0, 0.2, 0.4, 0.6, 0.8]) },
];

/// Memory for one block by itself.
#[derive(Debug, Clone)]
pub(super) struct LargeBlock<S> {
    /// W, and W scaled.
    whole: Factored<S>,
    newton: NewtonTile<S, Factored<S>>,
    /// Whether that stands.
    scaled: bool,
    /// Whether the last system is that of the velocity problem.
    factored: bool,
    bias: Vec<S>,
    friction: Vec<S>,
    bounds: Vec<S>,
    impulse: Vec<S>,
    report: [S; REPORT_LEN],
}

impl<S: Scalar> LargeBlock<S> {
    pub fn new() -> Self {
        Self {
            whole: Factored::default(),
            newton: NewtonTile::new(Factored::default()),
            scaled: false,
            factored: false,
            bias: Vec::new(),
            friction: Vec::new(),
            bounds: Vec::new(),
            impulse: Vec::new(),
            report: [S::zero(); REPORT_LEN],
        }
    }
}

/// Both problems of factored blocks, one block after the other.
pub(super) fn solve_large<R: Pack>(
    mut tiles: Tiles<'_, R>,
    level: Level,
    settings: &SolveSettings,
    block: &mut LargeBlock<R::Scalar>,
) {
    block.whole.level = level;
    let (size, factors) = (tiles.size, std::mem::take(&mut tiles.factors));
    for (index, factor) in factors.iter_mut().enumerate() {
        factor.compress();
        level.run(Load::<R> { factor, block });
        let lane = index % R::LANES;
        // the entries of this block, without what its class pads: scalars come after all the contacts that there is room for
        let (own, contacts) = (factor.size, 3 * factor.size.contact_count);
        let pad = 3 * size.contact_count - contacts;
        let rows = (0..own.row_count()).map(|i| if i < contacts { i } else { i + pad });
        for which in [Which::Velocity, Which::Position] {
            let tile = tiles.reborrow().one(which, index / R::LANES);
            let solved = which == Which::Position && block.report[REPORT_LIVE] == R::Scalar::from_f64(0.0);
            let mut same = solved && block.report[REPORT_RESIDUAL].is_finite();
            for (b, row) in block.bias.iter().zip(rows.clone()) {
                same = same && *b == tile.bias[row].get(lane);
            }
            block.bias.clear();
            block.bias.extend(rows.clone().map(|row| tile.bias[row].get(lane)));
            // the position problem starts from the answer of the other
            if which == Which::Velocity {
                block.impulse.clear();
                block.impulse.extend(rows.clone().map(|row| tile.impulse[row].get(lane)));
                block.friction.clear();
                block.friction.extend(tile.friction[..own.contact_count].iter().map(|x| x.get(lane)));
                block.bounds.clear();
                block.bounds.extend(tile.bounds[..2 * own.scalar_count].iter().map(|x| x.get(lane)));
            }
            if same {
                // one problem, one answer
                block.report[REPORT_SWEEPS] = R::Scalar::from_f64(0.0);
                block.report[REPORT_NEWTON_STEPS] = R::Scalar::from_f64(0.0);
            } else {
                level.run(Solve::<R> { header: Header::new(own, settings), which, block });
            }
            for (row, x) in rows.clone().zip(&block.impulse) {
                tile.impulse[row].set(lane, *x);
            }
            for (entry, x) in tile.report.iter_mut().zip(block.report) {
                entry.set(lane, x);
            }
        }
    }
}

/// Loads a block.
struct Load<'a, R: Pack> {
    factor: &'a Factor<R::Scalar>,
    block: &'a mut LargeBlock<R::Scalar>,
}

impl<R: Pack> Task for Load<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.block.whole.load(self.factor);
        (self.block.scaled, self.block.factored) = (false, false);
    }
}

/// One problem of one block, round by round.
struct Solve<'a, R: Pack> {
    header: Header,
    which: Which,
    block: &'a mut LargeBlock<R::Scalar>,
}

impl<R: Pack> Task for Solve<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { header, which, block } = self;
        let LargeBlock { whole, newton, scaled, factored, bias, friction, bounds, impulse, report } = block;
        let mut one = OneTile { delassus: &[], friction, bounds, bias, impulse, report };
        let this = <R::Scalar as Real>::Mask::splat(true);
        warm_start(&header, one.friction, one.bounds, this, one.impulse);
        one.report.fill(R::Scalar::from_f64(0.0));
        whole.residual(&header, &mut one);
        for round in [None].into_iter().chain(ROUNDS.iter().map(Some)) {
            if one.report[REPORT_LIVE] <= R::Scalar::from_f64(0.0) {
                break;
            }
            if !*scaled {
                newton.clear(&header);
                newton.matrix.load_from(whole);
                newton.matrix.scale(newton.size, &mut newton.unit);
                *scaled = true;
            }
            newton.load(&one);
            newton.set_goal(0, &header, one.report, 0);
            let (steps, unsolved) = match round {
                None => {
                    newton.scale();
                    let follows = *factored && which == Which::Position;
                    // a step with factors that still stand takes the place of the first sweeps
                    let first_sweeps = if follows { 0 } else { FIRST_SWEEPS };
                    one.report[REPORT_SWEEPS] += R::Scalar::constant(f64::from(first_sweeps));
                    newton.sweep(&header, first_sweeps, true);
                    let answer = newton.solve_swept(&header, SWEPT_STEPS, follows);
                    newton.unscale();
                    answer
                }
                Some(round) => newton.run_scaled(&header, round),
            };
            *factored = round.is_none() && steps > R::Scalar::from_f64(0.0);
            one.report[REPORT_NEWTON_STEPS] += steps;
            if round.is_none_or(|round| round.keeps(unsolved)) {
                one.impulse.copy_from_slice(&newton.impulse);
                whole.residual(&header, &mut one);
            }
        }
    }
}
