//! What the batched solver left, block by block in f64: the exact solver, and push-out that gives way where not all of it can be had.
//!
//! The velocity problem of a block always has an answer: bodies that do not move apart, do not push either. The position problem need not: of a body
//! between walls too near, not all overlaps can be pushed out at once. Where the batched solver finds no answer to it, the push-out gives way: with
//! compliance ε on the rows that push, and on no other,
//!
//! (W + ε) λ + b = w,  ε_i = ρ W_ii
//!
//! always has an answer, a compromise near the least squares one. It is exactly that of W λ + (b + ε λ) = w, the problem that grants every row less push-out,
//! by ε_i λ_i; that is the problem which is certified, and the report tells the largest push-out denied. If that fails too, nothing is
//! pushed: positions move by the velocity answer.

use super::chunk::Chunk;
use super::plan::Plan;
use super::posed::Posed;
use super::profile::{Stage, StopWatch};
use super::records::BlockRecord;
use super::settings::Settings;
use super::worker::{Mended, Worker};
use crate::lane::{Pack, Scalar};
use crate::lcp::patch::{MOST_VERTICES, Patch, Support};
use crate::lcp::{self, Law, Problem};
use crate::solver::{
    FrictionLaw, Group, PATCH_LEN, PATCH_ROWS, REPORT_FLOOR, REPORT_LEN, REPORT_LIVE, REPORT_RESIDUAL, TRUSTED_FLOOR,
    goal,
};
use nalgebra::{DMatrix, DVector};

/// By which solver, within one part in so many of what is left of the world's budget, and with which compliance of the rows that push, ρ = ε_i / W_ii, in turn. Newton from the velocity
/// answer with none is cheap, where that is near. A tenth denies a tenth of what a row by itself would push, and keeps the impulses that fight each other at ten times the push-out: rounding
/// stays below the tolerance of f32, and of 79 blocks of humanoids that overlap themselves two-phase solves 55 so, at 0.4 million multiply-adds each. To the tolerance of f64 it solves 2 of 125 blocks of
/// stacked boxes, whose contacts wedge each other: 113 the interior solves with no compliance at all, at 0.9 million, and it may see early that there is no answer.
const GIVE_WAY: [(lcp::Solver, u64, f64); 5] = [
    (lcp::Solver::Newton, 32, 0.0),
    (lcp::Solver::TwoPhase, 32, 0.1),
    (lcp::Solver::Interior, 4, 0.0),
    (lcp::Solver::Interior, 4, 0.1),
    (lcp::Solver::Auto, 1, 1.0),
];
/// Steps of Newton from the velocity answer.
const NEWTON_STEPS: usize = 20;
/// Steps and sweeps at most of a solver that picks its way. Where all starts fail, long sweeps rarely help, and a rollout must go on; those of patches do help, and cost little beside
/// what came before.
const STEPS: usize = 200;
const PATCH_STEPS: usize = 5000;
/// The velocity problem leaves one part in so many of what is left of the world's budget to the position problem.
const POSITION_PARTS: u64 = 4;

/// Certificate of one problem of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Certificate {
    /// Natural-map residual, m/s.
    pub residual: f64,
    /// Its rounding floor, m/s.
    pub floor: f64,
    /// Whether the residual counts as solved.
    pub solved: bool,
}

impl Certificate {
    /// What a report says.
    pub fn of(report: &[f64; REPORT_LEN]) -> Self {
        let (residual, floor) = (report[REPORT_RESIDUAL], report[REPORT_FLOOR]);
        Self { residual, floor, solved: report[REPORT_LIVE] == 0.0 && residual.is_finite() }
    }
}

/// One problem of one block: which tile of the chunk, which block of the tile, velocity or position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question {
    pub tile: usize,
    pub block: usize,
    pub position: bool,
}

/// No answer is better than b is rounded: the problem is known to the precision of the step only, m/s.
fn rounding<R: Pack>(problem: &Problem) -> f64 {
    4.0 * R::EPSILON * problem.bias.amax()
}

/// Whether a problem is too rough for its tolerance: it is stepped again in f64. In f64 there is nothing better.
pub(super) fn rough<R: Pack>(settings: &Settings, problem: &Problem) -> bool {
    rounding::<R>(problem) > TRUSTED_FLOOR * settings.tolerance() && R::EPSILON > f64::EPSILON
}

impl<R: Pack> Worker<R> {
    /// Before a step: every world has its whole budget.
    pub(super) fn start_mending(&mut self, settings: &Settings, world_count: usize) {
        self.mended.clear();
        self.mended.resize(world_count, Mended { work_left: settings.exact_work, ..Mended::default() });
    }

    /// Hands every block that missed its tolerance to the exact solver and keeps the better answer; marks the worlds that stay unsolved.
    pub(super) fn fall_back(&mut self, plan: &Plan, chunk: &Chunk<'_, R>) {
        let settings = &plan.settings;
        let mut times = std::mem::take(&mut self.times);
        let mut watch = StopWatch::start(plan.profile, &mut times);
        for tile in 0..chunk.tile_count() {
            for lane in 0..R::LANES {
                self.mended[tile * R::LANES + lane].unsolved = !self.posed[tile].overflow.get(lane).is_finite();
            }
        }
        for position in [false, true] {
            if position {
                self.give_way_together(plan, chunk.tile_count());
            }
            for tile in 0..chunk.tile_count() {
                if self.all_solved(tile) {
                    continue;
                }
                for block in 0..self.posed[tile].islands.blocks.len() {
                    if self.certificate(tile, block, position).solved {
                        continue;
                    }
                    let world = tile * R::LANES + self.posed[tile].islands.blocks[block].lane;
                    self.mend(settings, Question { tile, block, position }, world);
                    self.mended[world].unsolved |= !self.certificate(tile, block, position).solved;
                }
            }
        }
        watch.lap(Stage::Fallback);
        self.times = times;
    }

    /// A better answer to one problem, if one is found.
    fn mend(&mut self, settings: &Settings, q: Question, world: usize) {
        if settings.fallback {
            self.answer_exactly(settings, q, world);
        }
        if q.position && !self.certificate(q.tile, q.block, true).solved {
            self.deny_all(settings, q, world);
        }
    }

    /// What the exact solver says to one problem, if that is better.
    fn answer_exactly(&mut self, settings: &Settings, q: Question, world: usize) {
        let (problem, impulse) = self.problem(settings.friction, q.tile, q.block, q.position);
        if rough::<R>(settings, &problem) || !problem.is_finite() {
            return;
        }
        let wanted = 0.5 * goal(settings.tolerance(), rounding::<R>(&problem));
        self.mended[world].called = true;
        if q.position && self.give_way(settings, q, world, &problem, wanted) {
            return;
        }
        let steps = if problem.has_patches() { PATCH_STEPS } else { STEPS };
        let left = self.mended[world].work_left;
        let work = if q.position { left } else { left - left / POSITION_PARTS };
        let solution = self.solve_exactly((lcp::Solver::Auto, steps, work), &problem, Some(&impulse), wanted, world);
        let residual = self.certificate(q.tile, q.block, q.position).residual;
        if solution.residual < residual && solution.impulse.iter().all(|x| x.is_finite()) {
            self.replace(settings, q, &problem, &solution.impulse);
        }
    }

    /// A solver in f64: which, in how many steps, and what it may spend of the world's budget.
    fn solve_exactly(
        &mut self,
        (solver, iterations, work): (lcp::Solver, usize, u64),
        problem: &Problem,
        start: Option<&DVector<f64>>,
        tolerance: f64,
        world: usize,
    ) -> lcp::Solution {
        let exact = lcp::SolveSettings { tolerance, iterations, work: Some(work), ..lcp::SolveSettings::default() };
        let solution = lcp::solve(problem, solver, &exact, start);
        let left = &mut self.mended[world].work_left;
        *left = left.saturating_sub(solution.work);
        solution
    }

    /// Push-out that gives way. `problem`: the position problem as posed; `wanted`: residual to reach, m/s. False if there is no push-out in it.
    fn give_way(&mut self, settings: &Settings, q: Question, world: usize, problem: &Problem, wanted: f64) -> bool {
        let start = self.problem(settings.friction, q.tile, q.block, false).1;
        let pushed = self.pushed_rows(q);
        if pushed.is_empty() {
            return false;
        }
        for (solver, parts, share) in GIVE_WAY {
            // (W + ε) λ + b = w
            let mut soft = problem.clone();
            for &i in &pushed {
                soft.delassus[(i, i)] *= 1.0 + share;
            }
            let solver = match solver {
                _ if solver.supports(&soft) => solver,
                // patches have a Newton of their own, which has had its turn; box friction has none
                lcp::Solver::Interior => continue,
                _ => lcp::Solver::Newton,
            };
            // two-phase takes a first guess to have been iterated from
            let start = Some(&start).filter(|_| solver != lcp::Solver::TwoPhase);
            let iterations = if share == 0.0 { NEWTON_STEPS } else { STEPS };
            let work = self.mended[world].work_left / parts;
            let solution = self.solve_exactly((solver, iterations, work), &soft, start, wanted, world);
            if solution.status != lcp::SolveStatus::Solved {
                continue;
            }
            let denied = self.grant(settings, q, problem, &solution.impulse, &pushed, share);
            let most = &mut self.mended[world].push_denied;
            *most = most.max(denied);
            if self.certificate(q.tile, q.block, true).solved {
                break;
            }
        }
        true
    }

    /// Poses a position problem anew, as the one that grants every row that pushes less push-out, b + ε λ, and answers it so; the largest push-out denied, m/s (rad/s).
    pub(super) fn grant(
        &mut self,
        settings: &Settings,
        q: Question,
        problem: &Problem,
        impulse: &DVector<f64>,
        pushed: &[usize],
        share: f64,
    ) -> f64 {
        let (mut granted, mut most) = (problem.clone(), 0.0f64);
        for &i in pushed {
            let denied = share * problem.delassus[(i, i)] * impulse[i];
            granted.bias[i] = R::Scalar::from_f64(problem.bias[i] + denied).to_f64();
            most = most.max(denied.abs().min(settings.push_speed));
        }
        self.set_position_bias(q, &granted.bias);
        self.replace(settings, q, &granted, impulse);
        most
    }

    /// The rows of a block, counted as in [`Self::problem`], that push something out: normals of overlaps, limits that are passed, and equalities.
    pub(super) fn pushed_rows(&self, q: Question) -> Vec<usize> {
        let w = &self.posed[q.tile];
        let lane = w.islands.blocks[q.block].lane;
        let home = self.home(q.tile, q.block);
        let real = self.real_rows(q.tile, q.block);
        let (contacts, limits) = (w.contacts.gap.len(), w.limits.gap.len());
        let joints = w.rows.joint_start(w.contacts.patch_rows());
        let pushes = |slot: usize| match slot {
            _ if w.rows.three_rows() < contacts && slot < joints => {
                w.contacts.lowest(slot / w.rows.edges).get(lane).to_f64() < 0.0
            }
            _ if slot < contacts => w.contacts.lowest(slot).get(lane).to_f64() < 0.0,
            _ if slot < joints => w.contacts.pushes(slot - contacts, lane),
            _ if slot < joints + limits => w.limits.gap[slot - joints].get(lane).to_f64() < 0.0,
            _ => true,
        };
        let slots = 0..joints + limits + w.equalities.error.len();
        let row = |slot: usize| {
            let place = w.places.of(R::LANES, slot, lane)?;
            let here = (place.tile, place.lane, place.group) == home && pushes(slot);
            here.then(|| real.iter().position(|&row| row == place.row)).flatten()
        };
        slots.filter_map(row).collect()
    }

    /// Positions move by the velocity answer, for want of anything better; without the exact solver only where it misses the position problem, by the push-out that
    /// it denies, by less than the answer so far.
    fn deny_all(&mut self, settings: &Settings, q: Question, world: usize) {
        let residual = self.certificate(q.tile, q.block, true).residual;
        let (tile, lane, group) = self.home(q.tile, q.block);
        let group = &mut self.batch.groups[group];
        let n = group.size.row_count();
        let rows = tile * n..(tile + 1) * n;
        let mut denied = 0.0f64;
        for row in rows.clone() {
            let push = group.bias[row].get(lane) - group.position_bias[row].get(lane);
            denied = denied.max(push.to_f64().abs());
        }
        // what is not a number is not less than anything
        if !(settings.fallback || denied < residual) {
            return;
        }
        for row in rows {
            let (bias, impulse) = (group.bias[row].get(lane), group.impulse[row].get(lane));
            group.position_bias[row].set(lane, bias);
            group.position_impulse[row].set(lane, impulse);
        }
        for entry in [REPORT_RESIDUAL, REPORT_FLOOR, REPORT_LIVE].map(|entry| tile * REPORT_LEN + entry) {
            let x = group.report[entry].get(lane);
            group.position_report[entry].set(lane, x);
        }
        let most = &mut self.mended[world].push_denied;
        *most = most.max(denied.min(settings.push_speed));
    }

    /// Tile, lane and group of the batch that hold block `b` of tile `t`.
    fn home(&self, t: usize, b: usize) -> (usize, usize, usize) {
        let place = self.posed[t].places.block[b];
        (place.block / R::LANES, place.block % R::LANES, place.group)
    }

    /// The certificate of block `b` of tile `t`.
    pub(super) fn certificate(&self, t: usize, b: usize, position: bool) -> Certificate {
        Certificate::of(&self.block_reports(t, b)[usize::from(position)])
    }

    /// The reports of block `b` of tile `t`, velocity and position: see [`Group::report`].
    pub(super) fn block_reports(&self, t: usize, b: usize) -> [[f64; REPORT_LEN]; 2] {
        let (tile, lane, group) = self.home(t, b);
        let group = &self.batch.groups[group];
        let mut numbers = [[0.0; REPORT_LEN]; 2];
        for (numbers, report) in numbers.iter_mut().zip([&group.report, &group.position_report]) {
            for (number, x) in numbers.iter_mut().zip(&report[tile * REPORT_LEN..][..REPORT_LEN]) {
                *number = x.get(lane).to_f64();
            }
        }
        numbers
    }

    /// Whether every block of tile `t` is known to be solved, by whole packs; it may be, where rows were dealt out.
    pub(super) fn all_solved(&self, t: usize) -> bool {
        let Some(group) = self.posed[t].places.whole() else { return false };
        let group = &self.batch.groups[group];
        // lanes in one sweep, without a branch in between
        let nothing = R::Scalar::from_f64(0.0);
        let solved = |report: &[R]| {
            let lanes = report[REPORT_LIVE].lanes().iter().zip(report[REPORT_RESIDUAL].lanes());
            lanes.filter(|(live, residual)| **live != nothing || !residual.is_finite()).count() == 0
        };
        solved(&group.report) && solved(&group.position_report)
    }

    /// Rows of the group that block `b` of tile `t` really has: contacts, then scalars. Of a patch its normals, without the vertices that it lacks, tangents and torsion.
    fn real_rows(&self, t: usize, b: usize) -> Vec<usize> {
        let Posed { islands, places, .. } = &self.posed[t];
        let block = &islands.blocks[b];
        let group = &self.batch.groups[places.block[b].group];
        let (contacts, patches) = (group.size.contact_count, group.patch_count);
        let rows: Vec<usize> = if places.whole().is_some() {
            let homes = (0..places.slot_count()).filter_map(|slot| places.of(R::LANES, slot, block.lane));
            homes.flat_map(|home| home.row..home.row + home.count).collect()
        } else {
            let points = block.contact_count - block.patch_count;
            let scalars = 3 * contacts + PATCH_ROWS * patches;
            let all = (0..3 * block.patch_count)
                .chain(3 * patches..3 * (patches + points))
                .chain(3 * contacts..3 * contacts + PATCH_ROWS * block.patch_count)
                .chain(scalars..scalars + block.scalar_count - PATCH_ROWS * block.patch_count);
            all.collect()
        };
        if patches == 0 {
            return rows;
        }
        let first_scalar = 3 * contacts + PATCH_ROWS * patches;
        let (tile, lane, _) = self.home(t, b);
        let n = group.size.row_count();
        let has = |row: usize| {
            let diagonal = group.delassus[(tile * n + row) * n + row].get(lane).to_f64();
            diagonal != 0.0 || group.bias[tile * n + row].get(lane).to_f64() != 0.0
        };
        let mut real = Vec::with_capacity(rows.len());
        for &row in rows.iter().filter(|&&row| row < 3 * contacts) {
            let (c, more) = (row / 3, 3 * contacts + PATCH_ROWS * (row / 3));
            real.push(row);
            match row % 3 {
                0 if c < patches => real.extend((more..more + 3).filter(|&row| has(row))),
                2 if c < patches => real.push(more + 3),
                _ => {}
            }
        }
        real.extend(rows.iter().filter(|&&row| row >= first_scalar));
        real
    }

    /// The laws of these rows of a group, in a lane of a tile of it.
    fn laws(law: FrictionLaw, group: &Group<R>, (tile, lane): (usize, usize), rows: &[usize]) -> Vec<Law> {
        let get = |x: &[R], i: usize| x[i].get(lane).to_f64();
        let contacts = group.size.contact_count;
        let mut laws = Vec::new();
        for (i, &row) in rows.iter().enumerate() {
            if row >= 3 * contacts + PATCH_ROWS * group.patch_count {
                let bounds = 2 * (tile * group.size.scalar_count + row - 3 * contacts);
                laws.push(Law::Interval { lower: get(&group.bounds, bounds), upper: get(&group.bounds, bounds + 1) });
            } else if row < 3 * contacts && row % 3 == 0 {
                let friction = get(&group.friction, tile * contacts + row / 3);
                match law {
                    FrictionLaw::Patch if row / 3 < group.patch_count => {
                        let first = (tile * group.patch_count + row / 3) * PATCH_LEN;
                        let shape: [f64; PATCH_LEN] = std::array::from_fn(|k| get(&group.patches, first + k));
                        let vertices = rows[i + 1..]
                            .iter()
                            .take_while(|&&row| row >= 3 * contacts)
                            .map(|row| 1 + (row - 3 * contacts) % PATCH_ROWS);
                        laws.push(Law::Patch(patch_of(friction, &shape, vertices)));
                    }
                    FrictionLaw::Cone | FrictionLaw::Patch => laws.push(Law::Cone { friction, dimension: 3 }),
                    FrictionLaw::Box => {
                        laws.push(Law::Interval { lower: 0.0, upper: f64::INFINITY });
                        laws.extend([Law::Friction { normal: i, friction }, Law::Friction { normal: i, friction }]);
                    }
                }
            }
        }
        laws
    }

    /// Block `b` of tile `t` as a dense problem, and its present impulse.
    pub(super) fn problem(&self, law: FrictionLaw, t: usize, b: usize, position: bool) -> (Problem, DVector<f64>) {
        let (tile, lane, group) = self.home(t, b);
        let group: &Group<R> = &self.batch.groups[group];
        let rows = self.real_rows(t, b);
        let n = group.size.row_count();
        let get = |x: &[R], i: usize| x[i].get(lane).to_f64();
        let (bias, impulse) =
            if position { (&group.position_bias, &group.position_impulse) } else { (&group.bias, &group.impulse) };
        let delassus = if group.factored {
            let factor = &group.factors[tile * R::LANES + lane];
            DMatrix::from_fn(rows.len(), rows.len(), |i, j| factor.delassus(i, j))
        } else {
            let entry = |i: usize, j: usize| get(&group.delassus, (tile * n + rows[i]) * n + rows[j]);
            DMatrix::from_fn(rows.len(), rows.len(), entry)
        };
        let laws = Self::laws(law, group, (tile, lane), &rows);
        let vector = |x: &[R]| DVector::from_iterator(rows.len(), rows.iter().map(|r| get(x, tile * n + r)));
        let problem = Problem { name: String::new(), delassus, bias: vector(bias), laws };
        (problem, vector(impulse))
    }

    /// Poses the position problem of a block anew.
    pub(super) fn set_position_bias(&mut self, q: Question, bias: &DVector<f64>) {
        let (tile, lane, group) = self.home(q.tile, q.block);
        let rows = self.real_rows(q.tile, q.block);
        let group = &mut self.batch.groups[group];
        let n = group.size.row_count();
        for (row, x) in rows.iter().zip(bias.iter()) {
            group.position_bias[tile * n + row].set(lane, R::Scalar::from_f64(*x));
        }
    }

    /// Writes an answer back and certifies it anew, as rounded.
    pub(super) fn replace(&mut self, settings: &Settings, q: Question, problem: &Problem, answer: &DVector<f64>) {
        let (tile, lane, group) = self.home(q.tile, q.block);
        let rows = self.real_rows(q.tile, q.block);
        let group = &mut self.batch.groups[group];
        let n = group.size.row_count();
        let (impulse, report) = if q.position {
            (&mut group.position_impulse, &mut group.position_report)
        } else {
            (&mut group.impulse, &mut group.report)
        };
        let rounded = answer.map(|x| R::Scalar::from_f64(x).to_f64());
        for (row, x) in rows.iter().zip(rounded.iter()) {
            impulse[tile * n + row].set(lane, R::Scalar::from_f64(*x));
        }
        let residual = lcp::natural_map_residual(problem, &rounded);
        // 4 ε max_i (|b_i| + Σ_j |W_ij λ_j|)
        let magnitude = (problem.bias.abs() + problem.delassus.abs() * rounded.abs()).amax();
        let floor = match settings.friction {
            FrictionLaw::Patch => lcp::rounding_floor(problem, &rounded) * (R::EPSILON / f64::EPSILON),
            FrictionLaw::Cone | FrictionLaw::Box => 4.0 * R::EPSILON * magnitude,
        };
        let solved = residual <= goal(settings.tolerance(), floor);
        for (entry, x) in
            [(REPORT_RESIDUAL, residual), (REPORT_FLOOR, floor), (REPORT_LIVE, if solved { 0.0 } else { 1.0 })]
        {
            report[tile * REPORT_LEN + entry].set(lane, R::Scalar::from_f64(x));
        }
    }

    /// Shows every block of the worlds that were not stepped again, as posed and answered.
    pub(super) fn inspect(&self, plan: &Plan, chunk: &Chunk<'_, R>, see: &(dyn Fn(&BlockRecord<'_>) + Sync)) {
        for t in 0..chunk.tile_count() {
            for (b, block) in self.posed[t].islands.blocks.iter().enumerate() {
                let index = t * R::LANES + block.lane;
                if self.is_redone(index) {
                    continue;
                }
                let world = chunk.first_world + index;
                for position in [false, true] {
                    let (mut problem, impulse) = self.problem(plan.settings.friction, t, b, position);
                    problem.name = format!("world {world}, block {b}{}", if position { ", position" } else { "" });
                    let Certificate { residual, solved, .. } = self.certificate(t, b, position);
                    see(&BlockRecord { world, problem: &problem, impulse: &impulse, residual, solved, position });
                }
            }
        }
    }
}

/// The law of a patch as a group keeps it; `others`: which of its normals it has beside the first.
fn patch_of(friction: f64, shape: &[f64; PATCH_LEN], others: impl Iterator<Item = usize>) -> Patch {
    let [e_t, e_o, e_r, disc, levers @ ..] = shape;
    let ellipsoid = [*e_t, *e_o, *e_r];
    if *disc > 0.0 {
        // (λ, m_t, m_o): d = R m/λ
        return Patch::disc(friction, ellipsoid, levers[2]);
    }
    let mut points = [[0.0; 2]; MOST_VERTICES];
    let mut count = 0;
    for k in std::iter::once(0).chain(others) {
        points[count] = [levers[2 * k], levers[2 * k + 1]];
        count += 1;
    }
    Patch { friction, ellipsoid, support: Support::Vertices { count, points } }
}
