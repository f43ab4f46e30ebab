//! Position problems in f32 that the batched solver left, once more, with push-out that gives way ([`super::exact`] says why that has an answer): all of a chunk together, side by side in lanes.
//! What is not solved so either is the exact solver's.

use super::exact::{Question, rough};
use super::plan::Plan;
use super::worker::Worker;
use crate::lane::{Pack, Scalar};
use crate::lcp::{Law, Problem};
use crate::solver::{Batch, BlockPlace, BlockSize, REPORT_LEN, REPORT_LIVE, REPORT_RESIDUAL, solve_reusing};
use nalgebra::DVector;

/// ρ = `ε_i` / `W_ii` of the rows that push: impulses that fight each other stay at ten times what a row by itself would push, and their rounding below the tolerance.
const SHARE: f64 = 0.1;
/// Larger blocks take Newton no shorter side by side than the exact solver takes for one.
const MOST_ROWS: usize = 200;

/// A position problem that is to give way.
struct Asked {
    q: Question,
    /// Where it stands among those that do.
    place: BlockPlace,
    /// As it was posed, and its answer so far, N·s.
    problem: Problem,
    answer: DVector<f64>,
    /// The rows that push.
    pushed: Vec<usize>,
}

/// Poses the position problem of a block, from the impulse `start`, with (W + ε) in the place of W. `pushed`: the rows that push.
fn pose<R: Pack>(batch: &mut Batch<R>, place: BlockPlace, problem: &Problem, start: &DVector<f64>, pushed: &[usize]) {
    let group = &mut batch.groups[place.group];
    let (tile, lane, n) = (place.block / R::LANES, place.block % R::LANES, group.size.row_count());
    let (rows, number) = (rows_in(group.size, problem), R::Scalar::from_f64);
    for (i, &row) in rows.iter().enumerate() {
        for (j, &column) in rows.iter().enumerate() {
            let grant = if i == j && pushed.contains(&i) { 1.0 + SHARE } else { 1.0 };
            group.delassus[(tile * n + row) * n + column].set(lane, number(problem.delassus[(i, j)] * grant));
        }
        group.bias[tile * n + row].set(lane, number(problem.bias[i]));
        group.position_bias[tile * n + row].set(lane, number(problem.bias[i]));
        group.impulse[tile * n + row].set(lane, number(start[i]));
    }
    let (mut contact, mut scalar) = (tile * group.size.contact_count, 2 * tile * group.size.scalar_count);
    for law in &problem.laws {
        match law {
            Law::Cone { friction, .. } => {
                group.friction[contact].set(lane, number(*friction));
                contact += 1;
            }
            Law::Interval { lower, upper } => {
                group.bounds[scalar].set(lane, number(*lower));
                group.bounds[scalar + 1].set(lane, number(*upper));
                scalar += 2;
            }
            Law::Friction { .. } | Law::Patch(_) => {}
        }
    }
}

/// The impulse of a block, if it is solved.
fn solved_impulse<R: Pack>(batch: &Batch<R>, place: BlockPlace, problem: &Problem) -> Option<DVector<f64>> {
    let group = &batch.groups[place.group];
    let (tile, lane, n) = (place.block / R::LANES, place.block % R::LANES, group.size.row_count());
    let report = |entry: usize| group.report[tile * REPORT_LEN + entry].get(lane);
    let solved = report(REPORT_LIVE).to_f64() == 0.0 && report(REPORT_RESIDUAL).is_finite();
    let rows = rows_in(group.size, problem).into_iter();
    solved.then(|| DVector::from_vec(rows.map(|row| group.impulse[tile * n + row].get(lane).to_f64()).collect()))
}

/// Where the rows of a problem stand in a block with `room`: behind its contacts there is room for more.
fn rows_in(room: BlockSize, problem: &Problem) -> Vec<usize> {
    let own = contacts_of(problem);
    let more = 3 * (room.contact_count - own);
    (0..problem.bias.len()).map(|i| if i < 3 * own { i } else { i + more }).collect()
}

/// Contacts with friction of a problem, its first rows.
fn contacts_of(problem: &Problem) -> usize {
    problem.laws.iter().filter(|law| matches!(law, Law::Cone { .. })).count()
}

impl<R: Pack> Worker<R> {
    /// Answers the position problems that are not solved, of blocks whose velocity problem is, with push-out that gives way.
    pub(super) fn give_way_together(&mut self, plan: &Plan, tile_count: usize) {
        // box friction has no Newton, and patches one of their own; in f64 who takes the time wants all push-out that can be had
        if !plan.settings.solve().gives_way || R::EPSILON <= f64::EPSILON {
            return;
        }
        let mut giving = std::mem::take(&mut self.giving);
        giving.clear();
        let (law, mut asked) = (plan.settings.friction, Vec::new());
        for tile in (0..tile_count).filter(|tile| !self.all_solved(*tile)) {
            for block in 0..self.posed[tile].islands.blocks.len() {
                let q = Question { tile, block, position: true };
                let solved = |position: bool| self.certificate(tile, block, position).solved;
                if solved(true) || !solved(false) {
                    continue;
                }
                let (pushed, (problem, answer)) = (self.pushed_rows(q), self.problem(law, tile, block, true));
                let fits = problem.bias.len() <= MOST_ROWS && problem.is_finite();
                if pushed.is_empty() || !fits || rough::<R>(&plan.settings, &problem) {
                    continue;
                }
                let contact_count = contacts_of(&problem);
                let scalar_count = problem.bias.len() - 3 * contact_count;
                let place = giving.add(BlockSize { contact_count, scalar_count });
                asked.push(Asked { q, place, problem, answer, pushed });
            }
        }
        if !asked.is_empty() {
            self.give_way_to(plan, &asked, &mut giving);
        }
        self.giving = giving;
    }

    /// Solves the problems that are asked, and grants what each row is denied.
    fn give_way_to(&mut self, plan: &Plan, asked: &[Asked], giving: &mut Batch<R>) {
        let settings = &plan.settings;
        giving.allocate();
        for Asked { q, place, problem, pushed, .. } in asked {
            let (_, start) = self.problem(settings.friction, q.tile, q.block, false);
            pose(giving, *place, problem, &start, pushed);
        }
        solve_reusing(giving, plan.level, &settings.solve(), None, &mut self.solver);
        for Asked { q, place, problem, answer, pushed } in asked {
            let Some(impulse) = solved_impulse(giving, *place, problem) else { continue };
            let denied = self.grant(settings, *q, problem, &impulse, pushed, SHARE);
            if self.certificate(q.tile, q.block, true).solved {
                let world = q.tile * R::LANES + self.posed[q.tile].islands.blocks[q.block].lane;
                let most = &mut self.mended[world].push_denied;
                *most = most.max(denied);
            } else {
                self.set_position_bias(*q, &problem.bias);
                self.replace(settings, *q, problem, answer);
            }
        }
    }
}
