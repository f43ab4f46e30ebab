//! Large blocks, one by one: sweeps and Newton through velocities ([`Factored`]), whatever lane they are in.

use super::cpu::{OneTile, Stages, Tiles, Which, sweep};
use super::factored::Factored;
use super::newton::NewtonTile;
use super::rounds::{Round, Start};
use super::{Header, REPORT_LEN, REPORT_LIVE, REPORT_NEWTON_STEPS, SolveSettings};
use crate::lane::{Compiled, Level, Pack, Scalar, Task};

/// Rounds of Newton, of all rows of a block. Alternating directions cost little here: two products and two triangles a step.
const ROUNDS: [Round; 6] = [
    Round { steps: 20, acting: false, start: Start::Here },
    Round { steps: 20, acting: false, start: Start::Split { steps: 20, rho: 1e-3 } },
    Round { steps: 20, acting: false, start: Start::Split { steps: 100, rho: 1e-3 } },
    Round { steps: 20, acting: false, start: Start::Split { steps: 100, rho: 1e-4 } },
    Round { steps: 40, acting: false, start: Start::Split { steps: 200, rho: 3e-3 } },
    Round { steps: 20, acting: false, start: Start::Friction(&[0.0, 0.2, 0.4, 0.6, 0.8]) },
];

/// Memory for one block by itself.
#[derive(Debug, Clone)]
pub(super) struct LargeBlock<S> {
    /// W, and W scaled.
    whole: Factored<S>,
    newton: NewtonTile<S, Factored<S>>,
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
    let (size, factors) = (tiles.size, std::mem::take(&mut tiles.factors));
    for (index, factor) in factors.iter_mut().enumerate() {
        factor.compress();
        block.whole.load(factor);
        let lane = index % R::LANES;
        // the entries of this block, without what its class pads: scalars come after all the contacts that there is room for
        let (own, contacts) = (factor.size, 3 * factor.size.contact_count);
        let pad = 3 * size.contact_count - contacts;
        let rows = (0..own.row_count()).map(|i| if i < contacts { i } else { i + pad });
        for which in [Which::Velocity, Which::Position] {
            let tile = tiles.reborrow().one(which, index / R::LANES);
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
            level.run(Solve::<R> { header: Header::new(own, 1, 1, settings), settings, block });
            for (row, x) in rows.clone().zip(&block.impulse) {
                tile.impulse[row].set(lane, *x);
            }
            for (entry, x) in tile.report.iter_mut().zip(block.report) {
                entry.set(lane, x);
            }
        }
    }
}

/// One problem of one block: sweeps while they contract, then the rounds of Newton.
struct Solve<'a, R: Pack> {
    header: Header,
    settings: &'a SolveSettings,
    block: &'a mut LargeBlock<R::Scalar>,
}

impl<R: Pack> Task for Solve<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { header, settings, block } = self;
        let LargeBlock { whole, newton, bias, friction, bounds, impulse, report } = block;
        let mut one = OneTile { delassus: &[], friction, bounds, bias, impulse, report };
        sweep(header, settings, &mut one, whole);
        for round in ROUNDS {
            if one.report[REPORT_LIVE] <= R::Scalar::from_f64(0.0) {
                break;
            }
            newton.clear(&header);
            newton.matrix.load_from(whole);
            newton.load(&one);
            newton.set_goal(0, &header, one.report, 0);
            let (steps, unsolved) = newton.run(&header, &round);
            one.report[REPORT_NEWTON_STEPS] += steps;
            if round.keeps(unsolved) {
                one.impulse.copy_from_slice(&newton.impulse);
                whole.residual(&header, &mut one);
            }
        }
    }
}
