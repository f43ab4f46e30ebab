//! The twins of the shaders of a step: what each stage does to one world, told in Rust with the same loops over the same buffers. Formulas are evaluated in f32, which gives the bits of the
//! functions that they were recorded from.

use super::formulas::{DISC_LEN, Formulas, POINT_LEN, POINTS_LEN};
use super::jacobi::Jacobi;
use super::layout::{self, CONTACT_HEAD, CONTACT_KIND, GUARD, Layout, PAIR_LEN, PointFormula, SCALAR_HEAD};
use super::loops::rounds_of_sweeps;
use super::patch_formulas::PatchFormulas;
use super::shaders::{CONTRACTS, UNSOLVABLE};
use super::small::Small;
use crate::contact::PATCH_ROWS;
use crate::lane::Program;
use crate::solver::TRUSTED_FLOOR;
use crate::step::Plan;

/// The buffers of one world, `[component]`.
#[derive(Debug, Clone, Default)]
pub(super) struct World {
    pub state: Vec<f32>,
    pub given: Vec<f32>,
    pub motion: Vec<f32>,
    pub contact: Vec<f32>,
    pub rows: Vec<f32>,
    /// Whether the sweeps of the problem at hand left it to Newton.
    pub listed: bool,
    /// Whether they left it to more of them.
    pub unfinished: bool,
}

/// The shaders' twins for the worlds of a model: what all of them share.
pub(super) struct Twin<'a> {
    pub plan: &'a Plan,
    pub layout: Layout,
    pub formulas: Formulas,
    /// Where contacts may be patches.
    pub patches: Option<PatchFormulas>,
    /// Where Jacobi sweeps.
    pub jacobi: Option<Jacobi>,
    /// Where W of worlds of few rows is formed.
    pub small: Option<Small>,
    pub tables: Vec<f32>,
    /// Whether Newton follows on sweeps.
    pub newton: bool,
}

/// A problem while it is solved: z = Y λ, the sums of the magnitudes of its terms, and the certificate.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    /// 0: the velocity problem, 1: the position problem.
    pub which: usize,
    pub z: Vec<f32>,
    pub m: Vec<f32>,
    pub residual: f32,
    pub rounding: f32,
}

/// The numbers of several arrays in a row.
pub(super) fn joined(parts: &[&[f32]]) -> Vec<f32> {
    parts.concat()
}

impl World {
    /// Whether it has not halted.
    pub fn runs(&self, l: &Layout) -> bool {
        self.state[l.outcome() + layout::HALT] == 0.0
    }
    pub fn halt(&mut self, l: &Layout, why: f32) {
        self.state[l.outcome() + layout::HALT] = why;
    }
    /// Whether it is left to Newton, and to more sweeps.
    pub fn left(&self) -> [bool; 2] {
        [self.listed, self.unfinished]
    }
    /// Number of its contacts.
    pub fn count(&self) -> usize {
        self.contact[0] as usize
    }
    /// Newton's steps in this step, of both problems.
    pub fn newton_steps(&self) -> f32 {
        self.contact[6]
    }
    fn vector(&self, first: usize) -> [f32; 3] {
        [0, 1, 2].map(|i| self.motion[first + i])
    }
    /// Whether a scalar row acts, and where it begins.
    pub fn acts(&self, l: &Layout, s: usize) -> Option<usize> {
        let scalar = l.scalar() + l.scalar_len() * s;
        (self.motion[scalar] != 0.0).then_some(scalar)
    }
    /// The scalar rows that act, and where each begins.
    pub fn acting(&self, l: &Layout) -> Vec<(usize, usize)> {
        (0..l.scalar_rows()).filter_map(|s| Some((s, self.acts(l, s)?))).collect()
    }
}

pub(super) fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

impl<'a> Twin<'a> {
    /// Of a plan whose shaders have that layout.
    pub fn new(plan: &'a Plan, layout: &Layout, newton: bool) -> Self {
        let patches = layout.patches.then(|| PatchFormulas::new(plan, layout));
        Self {
            plan,
            layout: layout.clone(),
            formulas: Formulas::new(plan, layout),
            patches,
            jacobi: layout.jacobi.then(|| Jacobi::new(plan, layout)),
            small: Small::new(plan, layout, newton),
            tables: layout.tables(),
            newton,
        }
    }

    /// Does the stage of that name, [`super::shaders::Stage::name`]; the pieces of the free motion are one.
    pub fn run(&self, stage: &str, w: &mut World) {
        let problem = usize::from(stage.starts_with("position"));
        let turn = usize::from(stage.contains("more_"));
        if turn == 1 && !w.unfinished {
            return;
        }
        // nobody is listed yet
        w.listed &= stage != "contact_terms" && (turn == 1 || !stage.ends_with("sweeps"));
        w.unfinished &= stage != "contact_terms" && (turn == 1 || !stage.ends_with("small_sweeps"));
        if stage.ends_with("newton") {
            if w.listed {
                self.newton(problem, w);
            }
            return;
        }
        if !w.runs(&self.layout) {
            return;
        }
        match stage {
            "free_motion" => self.free_motion(w),
            "contacts" => self.contacts(w),
            "contact_rows" => self.contact_rows(w),
            "patch_rows" => self.patch_rows(w),
            "row_sums" => self.row_sums(w),
            "contact_terms" => self.contact_terms(w),
            "velocity sweeps" | "position sweeps" => self.sweeps(problem, w),
            _ if stage.ends_with("small_sweeps") => self.small_sweeps(problem, turn, w),
            "finish" => self.finish(w),
            _ => {}
        }
    }

    fn free_motion(&self, w: &mut World) {
        let l = &self.layout;
        let given = &w.given[..l.inputs() - l.nq - l.nv];
        let told = self.formulas.motion.evaluate(&joined(&[&w.state[..l.nq + l.nv], given]));
        w.motion[..told.len()].copy_from_slice(&told);
    }

    fn contacts(&self, w: &mut World) {
        let (l, reach) = (&self.layout, (self.plan.dt * self.plan.settings.contact_speed) as f32);
        let (mut candidates, mut deepest, mut lost) = (0, 0.0f32, false);
        let mut found = vec![0.0; POINTS_LEN + DISC_LEN];
        for p in 0..l.pairs.len() {
            let pair = &self.tables[l.pair_len() * p..];
            let [a, b] = [pair[0], pair[1]].map(|geom| Layout::POSE + 13 * geom as usize);
            let travel = w.motion[a + 12] + w.motion[b + 12];
            let threshold = travel + (reach + pair[7]);
            let limit = threshold + pair[8];
            let (from, to) = (w.vector(a), w.vector(b));
            let d = [0, 1, 2].map(|i| to[i] - from[i]);
            let mut near = limit > 0.0 && dot(d, d) < limit * limit;
            if pair[10] != 0.0 {
                near = dot(w.vector(a + 9), d) < limit;
            }
            if !near || pair[6] < 0.0 {
                continue;
            }
            let number = pair[6] as usize;
            let guards = number >= GUARD;
            let number = if guards { number - GUARD } else { number };
            let Some((formula, points)) = self.formulas.points.iter().find(|(formula, _)| formula.number() == number)
            else {
                continue;
            };
            let told = points.evaluate(&joined(&[
                &w.motion[a..a + 12],
                &w.motion[b..b + 12],
                &pair[14..20],
                &[threshold, pair[9], pair[7]],
                self.shift(w, pair[2]),
                self.reference(w, pair[4]),
                self.shift(w, pair[3]),
                self.reference(w, pair[5]),
            ]));
            found[..told.len()].copy_from_slice(&told);
            lost |= found[POINTS_LEN - 1] != 0.0;
            if self.patches.is_some() && !guards && pair[PAIR_LEN] != 0.0 {
                let flat = *formula == PointFormula::Discs && found[POINTS_LEN] != 0.0;
                if let Some(overlap) = self.take_patch(p, candidates, flat, &found, w) {
                    deepest = deepest.max(overlap);
                    candidates += 1;
                }
                continue;
            }
            for point in found[..4 * POINT_LEN].chunks_exact(POINT_LEN) {
                if point[8] == 0.0 {
                    continue;
                }
                if guards {
                    lost = true;
                    continue;
                }
                deepest = deepest.max(point[9]);
                if candidates < l.capacity {
                    let at = CONTACT_HEAD + l.contact_len() * candidates;
                    w.contact[at] = p as f32;
                    w.contact[at + 1] = point[7];
                    w.contact[at + 2..at + 9].copy_from_slice(&point[..7]);
                    w.contact[at + 9] = point[10];
                    if self.patches.is_some() {
                        w.contact[at + CONTACT_KIND] = 0.0;
                        w.contact[at + l.lowest()] = point[6];
                    }
                }
                candidates += 1;
            }
        }
        // what stops the deepest motion may throw other parts as far
        let (mut count, mut penetration) = (0, 0.0f32);
        for c in 0..candidates.min(l.capacity) {
            let at = CONTACT_HEAD + l.contact_len() * c;
            self.settle_patch(at, reach + deepest, w);
            if w.contact[at + 9] < reach + deepest {
                let to = CONTACT_HEAD + l.contact_len() * count;
                w.contact.copy_within(at..at + l.contact_len(), to);
                penetration = penetration.max(-w.contact[to + l.lowest()]);
                count += 1;
            }
        }
        (w.contact[0], w.contact[1], w.contact[6], w.contact[2]) = (count as f32, count as f32, 0.0, penetration);
        if lost || count > self.plan.settings.contact_capacity.unwrap_or(1 << 24) {
            w.halt(l, layout::NO_FORMULA);
        } else if candidates > l.capacity {
            w.halt(l, layout::NO_ROOM);
        }
    }

    fn shift<'b>(&self, w: &'b World, body: f32) -> &'b [f32] {
        &w.motion[self.layout.shift() + 6 * body as usize..][..6]
    }
    fn reference<'b>(&self, w: &'b World, tree: f32) -> &'b [f32] {
        &w.motion[self.layout.reference() + 3 * tree as usize..][..3]
    }

    fn contact_rows(&self, w: &mut World) {
        let l = &self.layout;
        for c in 0..w.count() {
            let at = CONTACT_HEAD + l.contact_len() * c;
            let told = self
                .formulas
                .contact_rows
                .evaluate(&joined(&[&w.contact[at + 2..at + 8], &self.of_motion(w, w.contact[at] as usize)]));
            let row = l.row_len() * c;
            w.rows[row..row + told.len()].copy_from_slice(&told);
        }
    }

    /// What the rows of a contact of that pair are made of beside the contact itself.
    pub fn of_motion(&self, w: &World, pair: usize) -> Vec<f32> {
        let l = &self.layout;
        joined(&[
            &self.tables[l.sign_table() + l.nv * pair..][..l.nv],
            // references, subspaces, factor, roots and v* follow each other
            &w.motion[l.reference()..l.free_velocity() + l.nv],
            &w.state[l.v()..l.v() + l.nv],
            &w.motion[l.mean_velocity()..][..l.mean_len()],
        ])
    }

    fn contact_terms(&self, w: &mut World) {
        let (l, f) = (&self.layout, &self.formulas);
        let count = w.count();
        // the pace of the world: what throws reach, and what forces add in a step
        let (mut fastest, mut kick) = (0.0f32, 0.0f32);
        if l.elastic {
            for c in 0..count {
                let row = l.row_len() * c;
                for i in 0..3 {
                    let (free, previous) = (w.rows[row + l.row_free() + i], w.rows[row + l.row_previous() + i]);
                    fastest = fastest.max(previous.abs().max(free.abs()));
                    kick = kick.max(if i == 0 { (free - previous).abs() } else { 0.0 });
                }
                if self.patch_at(w, c).is_some() {
                    fastest = fastest.max(self.patch_pace(w, row));
                }
            }
            for scalar in (0..l.scalar_rows()).filter_map(|s| w.acts(l, s)) {
                fastest = fastest.max(w.motion[scalar + 2].abs());
            }
        }
        let forgets = w.state[l.outcome() + layout::FORGET] != 0.0;
        let remembered = if forgets { 0 } else { w.state[l.memory()] as usize };
        let position_scale = if l.centered { 2.0 } else { 1.0 };
        for c in 0..count {
            let (at, row) = (CONTACT_HEAD + l.contact_len() * c, l.row_len() * c);
            let (pair_index, feature, gap) = (w.contact[at], w.contact[at + 1], w.contact[at + 8]);
            let pair = &self.tables[l.pair_len() * pair_index as usize..];
            let [a, b] = [pair[0], pair[1]].map(|geom| w.given[l.friction() + geom as usize]);
            let friction = match pair[11] as i32 {
                1 => a.max(b),
                2 => a,
                3 => b,
                _ => pair[12],
            };
            if let Some(f) = self.patch_at(w, c) {
                self.patch_terms(f, c, [friction, pair[13], fastest, kick], remembered, w);
                continue;
            }
            let (free, previous) = (w.rows[row + l.row_free()], w.rows[row + l.row_previous()]);
            let mean = w.rows[row + l.row_mean()];
            let targets = f.contact_targets.evaluate(&[gap, previous, free, mean, pair[13], fastest, kick]);
            let bias = row + l.row_bias();
            w.rows[bias] = free - targets[0];
            w.rows[bias + 3] = position_scale * (mean - targets[1]);
            for i in 1..3 {
                w.rows[bias + i] = w.rows[row + l.row_free() + i];
                w.rows[bias + 3 + i] = position_scale * w.rows[row + l.row_mean() + i];
            }
            w.rows[row + l.row_friction()] = friction;
            // the impulse that this point of this pair had in the last step
            let mut impulse = [0.0; 3];
            for k in 0..remembered {
                let first = l.memory() + 1 + l.memory_len() * k;
                let kept = &w.state[first..];
                if kept[0] == pair_index && kept[1] == feature {
                    impulse = [kept[2], kept[3], kept[4]];
                }
                let normal = [0, 1, 2].map(|i| w.rows[row + i]);
                impulse = self.vertex_impulse(w, first, [pair_index, feature], normal).unwrap_or(impulse);
            }
            let guess = [0, 1, 2].map(|i| dot(impulse, [0, 1, 2].map(|k| w.rows[row + 3 * i + k])));
            let told = f.first_guess.evaluate(&[guess[0], guess[1], guess[2], friction]);
            w.rows[row + l.row_impulse()..][..3].copy_from_slice(&told);
        }
        for s in 0..l.scalar_rows() {
            let guess = if forgets { 0.0 } else { w.state[l.scalar_memory() + s] };
            let [lower, upper] = self.bounds(s);
            let acts = w.acts(l, s).is_some();
            w.rows[l.scalar_impulse() + s] = if acts { guess.max(lower).min(upper) } else { 0.0 };
        }
    }

    pub fn bounds(&self, s: usize) -> [f32; 2] {
        let at = self.layout.bound_table() + 2 * s;
        [self.tables[at], self.tables[at + 1]]
    }

    /// z from the impulses themselves, and the residual and its rounding floor: of that what counts as solved.
    pub fn certify(&self, w: &World, p: &mut Problem) -> bool {
        let (l, f) = (&self.layout, &self.formulas);
        let nv = l.nv;
        let mut sums = vec![0.0; 2 * nv];
        for c in 0..w.count() {
            let row = l.row_len() * c;
            if let Some(patch) = self.patch_at(w, c) {
                sums = self.add_patch(patch, w, row, &sums, p.which);
                continue;
            }
            let (y, impulse) =
                (&w.rows[row + Layout::ROW_Y..][..3 * nv], &w.rows[row + l.row_impulse() + 3 * p.which..][..3]);
            sums = f.add_contact.evaluate(&joined(&[&sums, y, impulse]));
        }
        for s in 0..l.scalar_rows() {
            let Some(scalar) = w.acts(l, s) else { continue };
            let impulse = w.rows[self.scalar_impulse(p.which, s)];
            sums = f.add_scalar.evaluate(&joined(&[&sums, &w.motion[scalar + SCALAR_HEAD..][..nv], &[impulse]]));
        }
        p.z = sums[..nv].to_vec();
        p.m = sums[nv..].to_vec();
        let mut magnitude = 0.0f32;
        p.residual = 0.0;
        let mut see = |told: &[f32]| {
            let finite = told[0].is_finite() && told[1].is_finite();
            p.residual = p.residual.max(if finite { told[0] } else { UNSOLVABLE });
            magnitude = magnitude.max(told[1]);
        };
        for c in 0..w.count() {
            let row = l.row_len() * c;
            if let Some(patch) = self.patch_at(w, c) {
                see(&self.check_patch(patch, w, row, &sums, p.which));
                continue;
            }
            see(&f.check_contact.evaluate(&joined(&[
                &sums,
                &w.rows[row + Layout::ROW_Y..][..3 * nv],
                &w.rows[row + l.row_bias() + 3 * p.which..][..3],
                &w.rows[row + l.row_impulse() + 3 * p.which..][..3],
                &w.rows[row + l.row_own()..][..3],
                &w.rows[row + l.row_friction()..][..1],
            ])));
        }
        for s in 0..l.scalar_rows() {
            let Some(scalar) = w.acts(l, s) else { continue };
            see(&f.check_scalar.evaluate(&joined(&[
                &sums,
                &w.motion[scalar + SCALAR_HEAD..][..nv],
                &[w.motion[scalar + 2 + p.which], w.rows[self.scalar_impulse(p.which, s)], w.motion[scalar + 1]],
                &self.bounds(s),
            ])));
        }
        p.rounding = 4.0 * f32::EPSILON * magnitude;
        let tolerance = self.plan.settings.tolerance();
        p.residual <= (tolerance as f32).max(p.rounding.min((TRUSTED_FLOOR * tolerance) as f32))
    }

    /// Where the impulse of a scalar row is.
    pub fn scalar_impulse(&self, problem: usize, s: usize) -> usize {
        self.layout.scalar_impulse() + problem * self.layout.scalar_rows() + s
    }

    /// One sweep of Gauss-Seidel from z; `contact`: the formula of a contact's update.
    pub fn sweep(&self, contact: &Program, w: &mut World, p: &mut Problem) {
        let l = &self.layout;
        for c in 0..w.count() {
            let row = l.row_len() * c;
            if let Some(patch) = self.patch_at(w, c) {
                self.sweep_patch(patch, w, row, p);
                continue;
            }
            let impulse = row + l.row_impulse() + 3 * p.which;
            let told = contact.evaluate(&joined(&[
                &p.z,
                &w.rows[row + Layout::ROW_Y..][..3 * l.nv],
                &w.rows[row + l.row_bias() + 3 * p.which..][..3],
                &w.rows[impulse..impulse + 3],
                &w.rows[row + l.row_own()..][..6],
                &w.rows[row + l.row_friction()..][..1],
            ]));
            w.rows[impulse..impulse + 3].copy_from_slice(&told[..3]);
            p.z.copy_from_slice(&told[3..]);
        }
        for s in 0..l.scalar_rows() {
            let Some(scalar) = w.acts(l, s) else { continue };
            let impulse = self.scalar_impulse(p.which, s);
            let told = self.formulas.sweep_scalar.evaluate(&joined(&[
                &p.z,
                &w.motion[scalar + SCALAR_HEAD..][..l.nv],
                &[w.motion[scalar + 2 + p.which], w.rows[impulse], w.motion[scalar + 1]],
                &self.bounds(s),
            ]));
            w.rows[impulse] = told[0];
            p.z.copy_from_slice(&told[1..]);
        }
    }

    /// Where a problem begins, by whichever stage sweeps a world first.
    pub fn start(&self, problem: usize, w: &mut World) {
        let l = &self.layout;
        if problem == 0 {
            w.contact[5] = 0.0;
            return;
        }
        // the position problem starts from the answer of the velocity problem
        for c in 0..w.count() {
            let row = l.row_len() * c + l.row_impulse();
            w.rows.copy_within(row..row + 3, row + 3);
        }
        self.start_patches(w);
        let first = l.scalar_impulse();
        w.rows.copy_within(first..first + l.scalar_rows(), first + l.scalar_rows());
    }

    fn sweeps(&self, problem: usize, w: &mut World) {
        let (l, settings) = (&self.layout, &self.plan.settings);
        if self.small.is_none() {
            self.start(problem, w);
        }
        let rounds = if self.is_small(w) { 0 } else { rounds_of_sweeps(self.plan, l) };
        let check_every = settings.check_every.max(1);
        let mut p = Problem { which: problem, z: Vec::new(), m: Vec::new(), residual: 0.0, rounding: 0.0 };
        let (mut solved, mut going, mut before, mut swept) = (false, true, f32::INFINITY, 0);
        for round in 0..=rounds {
            if !going {
                break;
            }
            if round > 0 {
                for _ in 0..check_every {
                    match &self.jacobi {
                        None => self.sweep(&self.formulas.sweep_contact, w, &mut p),
                        Some(jacobi) => self.sweep_jacobi(jacobi, w, &mut p),
                    }
                }
                swept += check_every;
            }
            solved = self.certify(w, &mut p);
            going = !solved && (!self.newton || p.residual < CONTRACTS as f32 * before);
            before = p.residual;
        }
        w.contact[5] += swept as f32;
        if solved {
            self.keep(w, &p);
        } else if self.newton {
            w.listed = true;
        } else {
            w.halt(l, layout::NOT_SOLVED);
        }
    }

    /// z and the certificate of an answer.
    pub fn keep(&self, w: &mut World, p: &Problem) {
        let first = self.layout.z() + p.which * self.layout.nv;
        w.rows[first..first + self.layout.nv].copy_from_slice(&p.z);
        if p.which == 0 {
            w.contact[3..5].fill(0.0);
        }
        w.contact[3] = w.contact[3].max(p.residual);
        w.contact[4] = w.contact[4].max(p.rounding);
    }

    fn finish(&self, w: &mut World) {
        let l = &self.layout;
        let (nq, nv, count) = (l.nq, l.nv, w.count());
        let acting = w.acting(l).len();
        // the trees that have rows, and none that anything outside of them takes part in
        let mut alone = vec![if count > 0 || acting > 0 { 1.0 } else { 0.0 }; l.free_roots.len()];
        for c in 0..count {
            let sign = l.sign_table() + nv * w.contact[CONTACT_HEAD + l.contact_len() * c] as usize;
            for (alone, d) in alone.iter_mut().zip(&l.root_dofs) {
                if self.tables[sign + d] != 0.0 {
                    *alone = 0.0;
                }
            }
        }
        let new = self.formulas.finish.evaluate(&joined(&[
            &w.state[..nq],
            &w.motion[l.factor()..l.free_velocity() + nv],
            &w.rows[l.z()..l.z() + 2 * nv],
            &w.motion[l.mean_velocity()..][..l.mean_len()],
            &w.given[l.mass_scale()..][..l.bodies],
            &alone,
        ]));
        let speed = new[nq..].iter().fold(0.0f32, |speed, v| speed.max(v.abs()));
        if new.iter().any(|x| !x.is_finite()) || speed > self.plan.settings.speed_limit.min(1e30) as f32 {
            w.halt(l, layout::NOT_FINITE);
            return;
        }
        w.state[..nq + nv].copy_from_slice(&new);
        w.state[l.memory()] = count as f32;
        let mut more_rows = 0;
        for c in 0..count {
            let (at, row) = (CONTACT_HEAD + l.contact_len() * c, l.row_len() * c);
            let kept = l.memory() + 1 + l.memory_len() * c;
            // λ in world axes
            let mut impulse = [0.0; 3];
            for i in 0..3 {
                let x = w.rows[row + l.row_impulse() + i];
                (0..3).for_each(|k| impulse[k] += w.rows[row + 3 * i + k] * x);
            }
            w.state[kept] = w.contact[at];
            w.state[kept + 1] = w.contact[at + 1];
            w.state[kept + 2..kept + 5].copy_from_slice(&impulse);
            if self.patch_at(w, c).is_some() {
                self.keep_patch(c, w);
                more_rows += PATCH_ROWS;
            }
        }
        for s in 0..l.scalar_rows() {
            w.state[l.scalar_memory() + s] = w.rows[l.scalar_impulse() + s];
        }
        let outcome = &mut w.state[l.outcome()..];
        outcome[layout::FORGET] = 0.0;
        outcome[layout::DONE] += 1.0;
        for (entry, from) in [
            (layout::RESIDUAL, 3),
            (layout::FLOOR, 4),
            (layout::PENETRATION, 2),
            (layout::SWEEPS, 5),
            (layout::NEWTON_STEPS, 6),
            (layout::FOUND, 1),
        ] {
            outcome[entry] = outcome[entry].max(w.contact[from]);
        }
        outcome[layout::CONTACTS] = count as f32;
        outcome[layout::ROWS] = (3 * count + more_rows + acting) as f32;
    }
}
