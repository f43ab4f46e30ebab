//! What the twins do about patches: of `shaders/resident/patch_*.wgsl`, with the law of a patch as the CPU has it.

use super::formulas::{POINT_LEN, POINTS_LEN};
use super::layout::{CONTACT_HEAD, CONTACT_KIND, CONTACT_LEN, FAR, Layout, NORMALS, PAIR_LEN, PATCH_OWN, VERTEX};
use super::patch_formulas::{PatchFormulas, ROWS};
use super::twin::{Problem, Twin, World, dot, joined};
use crate::contact::PATCH_ROWS;
use crate::solver::{OnePatch, PATCH_LEN};

/// Where the table of pairs says whether a single vertex of the pair is a patch, and how e_r is found.
const TORSION: usize = PAIR_LEN + 1;
const FORM: usize = PAIR_LEN + 2;

/// Where the k-th vertex of the contact at `at` begins.
fn vertex(at: usize, k: usize) -> usize {
    if k == 0 { at } else { at + VERTEX + CONTACT_LEN * (k - 1) }
}

/// Where the seven rows of a patch have what its contact has from `own` on, and further rows from `more` on.
pub(super) fn seven(own: usize, more: usize) -> [usize; ROWS] {
    [0, 1, 2, 3, 4, 5, 6].map(|i| if i < 3 { own + i } else { more + i - 3 })
}

/// The numbers of some places.
fn of<const N: usize>(numbers: &[f32], places: [usize; N]) -> [f32; N] {
    places.map(|k| numbers[k])
}

/// Which points of its pair the vertices of a patch are.
fn features(w: &World, at: usize) -> [f32; 4] {
    [0, 1, 2, 3].map(|k| w.contact[vertex(at, k) + 1])
}

impl Twin<'_> {
    /// The formulas of a patch, where contact `c` is one.
    pub fn patch_at(&self, w: &World, c: usize) -> Option<&PatchFormulas> {
        let kind = CONTACT_HEAD + self.layout.contact_len() * c + CONTACT_KIND;
        self.patches.as_ref().filter(|_| w.contact[kind] != 0.0)
    }
    /// Where the impulses of a patch are.
    pub fn impulse_rows(&self, row: usize, problem: usize) -> [usize; ROWS] {
        let l = &self.layout;
        seven(row + l.row_impulse() + 3 * problem, row + l.row_more_impulse() + PATCH_ROWS * problem)
    }
    /// Where the biases of a patch are.
    pub fn bias_rows(&self, row: usize, problem: usize) -> [usize; ROWS] {
        let l = &self.layout;
        seven(row + l.row_bias() + 3 * problem, row + l.row_more_bias() + PATCH_ROWS * problem)
    }
    /// Y of its seven rows.
    fn patch_y(&self, w: &World, row: usize) -> Vec<f32> {
        let (l, nv) = (&self.layout, self.layout.nv);
        joined(&[&w.rows[row + Layout::ROW_Y..][..3 * nv], &w.rows[row + l.row_more_y()..][..PATCH_ROWS * nv]])
    }
    /// The patch whose rows begin at `row`.
    pub fn one_patch(&self, w: &World, row: usize) -> OnePatch {
        let l = &self.layout;
        let mut own = [0.0; ROWS * ROWS];
        for (k, (i, j)) in PATCH_OWN.into_iter().enumerate() {
            let entry = w.rows[row + l.row_more_own() + k];
            own[i * ROWS + j] = entry;
            own[j * ROWS + i] = entry;
        }
        let shape = w.rows[row + l.row_shape()..][..PATCH_LEN].to_vec();
        OnePatch { own, shape, friction: w.rows[row + l.row_friction()] }
    }

    /// Keeps the points together that a pair has within the threshold, as candidate `slot` if there is room. Returns the deepest overlap after the free motion, none where there is no point.
    pub fn take_patch(&self, p: usize, slot: usize, flat: bool, found: &[f32], w: &mut World) -> Option<f32> {
        let at = CONTACT_HEAD + self.layout.contact_len() * slot;
        let room = slot < self.layout.capacity;
        if room {
            w.contact[at] = p as f32;
            w.contact[at + CONTACT_KIND] = if flat { 2.0 } else { 1.0 };
            w.contact[at + CONTACT_KIND + 1] = if flat { found[POINTS_LEN + 1] } else { 0.0 };
            w.contact[at + self.layout.lowest()] = found[POINTS_LEN + 2];
        }
        let mut deepest: Option<f32> = None;
        for (k, point) in found[..4 * POINT_LEN].chunks_exact(POINT_LEN).enumerate() {
            let kept = point[8] != 0.0;
            if kept {
                deepest = Some(deepest.unwrap_or(0.0).max(point[9]));
            }
            if room {
                let to = vertex(at, k);
                w.contact[to + 1] = point[7];
                w.contact[to + 2..to + 9].copy_from_slice(&point[..7]);
                w.contact[to + 9] = if kept { point[10] } else { FAR };
            }
        }
        deepest
    }

    /// Of the patch at `at` keeps the disc, or the vertices that may close their gap by `reach`, the first of them in front. One vertex without torsion is a point.
    pub fn settle_patch(&self, at: usize, reach: f32, w: &mut World) {
        if self.patches.is_none() || w.contact[at + CONTACT_KIND] == 0.0 {
            return;
        }
        let flat = w.contact[at + CONTACT_KIND] == 2.0;
        let pair = self.layout.pair_len() * w.contact[at] as usize;
        let (mut vertices, mut lowest) = (0, FAR);
        for k in 0..4 {
            let its = vertex(at, k);
            if w.contact[its + 9] < reach {
                vertices += 1;
                lowest = lowest.min(w.contact[its + 8]);
                if w.contact[at + 9] >= reach {
                    (1..CONTACT_LEN).for_each(|i| w.contact.swap(at + i, its + i));
                }
            }
        }
        for k in 1..4 {
            let its = vertex(at, k);
            w.contact[its] = if w.contact[its + 9] < reach { 1.0 } else { 0.0 };
        }
        if !flat {
            w.contact[at + self.layout.lowest()] = lowest;
            if vertices == 1 && self.tables[pair + TORSION] == 0.0 {
                w.contact[at + CONTACT_KIND] = 0.0;
            }
        }
    }

    /// The stage `patch_rows`.
    pub fn patch_rows(&self, w: &mut World) {
        let l = &self.layout;
        for c in 0..w.count() {
            let Some(f) = self.patch_at(w, c) else { continue };
            let (at, row) = (CONTACT_HEAD + l.contact_len() * c, l.row_len() * c);
            let mut vertices = Vec::new();
            for k in 1..4 {
                let its = vertex(at, k);
                vertices.push(w.contact[its]);
                vertices.extend(&w.contact[its + 2..its + 8]);
            }
            let told = f.rows.evaluate(&joined(&[
                &w.rows[row + Layout::ROW_Y..][..3 * l.nv],
                &vertices,
                &[w.contact[at + CONTACT_KIND] - 1.0],
                &w.rows[row..row + 3],
                &self.of_motion(w, w.contact[at] as usize),
            ]));
            w.rows[row + l.row_more_y()..][..told.len()].copy_from_slice(&told);
        }
    }

    /// Largest velocity of its further rows, before the step or after the free motion.
    pub fn patch_pace(&self, w: &World, row: usize) -> f32 {
        let l = &self.layout;
        let velocities = [l.row_more_free(), l.row_more_previous()].map(|k| &w.rows[row + k..][..PATCH_ROWS]);
        velocities.concat().iter().fold(0.0, |fastest, u| fastest.max(u.abs()))
    }

    /// The impulse of a point that was a vertex of the patch which is remembered at `kept`.
    pub fn vertex_impulse(&self, w: &World, kept: usize, point: [f32; 2], normal: [f32; 3]) -> Option<[f32; 3]> {
        let kept = &w.state[kept..];
        if self.patches.is_none() || kept[0] != point[0] || kept[1] >= 0.0 {
            return None;
        }
        let mut impulse = None;
        for k in 0..4 {
            if kept[5 + k] == point[1] && kept[9 + k] > 0.0 {
                impulse = Some([0, 1, 2].map(|i| kept[2 + i] + kept[9 + k] * normal[i]));
            }
        }
        impulse
    }

    /// Biases and first guess of the rows of a patch, and what it is; `surface`: friction, restitution and the pace of the world.
    pub fn patch_terms(&self, f: &PatchFormulas, c: usize, surface: [f32; 4], remembered: usize, w: &mut World) {
        let l = &self.layout;
        let (at, row) = (CONTACT_HEAD + l.contact_len() * c, l.row_len() * c);
        let pair = &self.tables[l.pair_len() * w.contact[at] as usize..];
        let normal = of(&w.rows, [row, row + 1, row + 2]);
        let features = features(w, at);
        // what it transmitted in the last step, vertices matched by their features, or the point that it was
        let (mut pressed, mut slid, mut turned) = ([0.0; 4], [0.0; 3], 0.0);
        for k in 0..remembered {
            let kept = &w.state[l.memory() + 1 + l.memory_len() * k..];
            if kept[0] != w.contact[at] {
                continue;
            }
            slid = [kept[2], kept[3], kept[4]];
            if kept[1] < 0.0 {
                for (pressed, feature) in pressed.iter_mut().zip(features) {
                    *pressed += (0..4).filter(|i| kept[5 + i] == feature).map(|i| kept[9 + i]).sum::<f32>();
                }
                turned = kept[13];
            } else {
                let push = dot(normal, slid);
                pressed.iter_mut().zip(features).filter(|(_, own)| *own == kept[1]).for_each(|(x, _)| *x = push);
            }
        }
        let free = seven(row + l.row_free(), row + l.row_more_free());
        let previous = seven(row + l.row_previous(), row + l.row_more_previous());
        let mean = seven(row + l.row_mean(), row + l.row_more_mean());
        let told = f.terms.evaluate(&joined(&[
            &[0, 1, 2, 3].map(|k| w.contact[vertex(at, k) + 8]),
            &w.contact[at + CONTACT_KIND + 1..at + CONTACT_KIND + 3],
            &[w.contact[at + CONTACT_KIND] - 1.0],
            &[1, 2, 3].map(|k| w.contact[vertex(at, k)]),
            &[0, 1, 2, 3].map(|k| of(&w.contact, [2, 3, 4].map(|i| vertex(at, k) + i))).concat(),
            &w.rows[row..row + 9],
            &[free, previous, mean].map(|rows| of(&w.rows, rows)).concat(),
            &surface,
            &pair[FORM..FORM + 4],
            &pressed,
            &slid,
            &[turned],
        ]));
        let (biases, told) = told.split_at(2 * ROWS);
        let (guess, shape) = told.split_at(ROWS);
        for problem in 0..2 {
            for (i, k) in self.bias_rows(row, problem).into_iter().enumerate() {
                w.rows[k] = biases[problem * ROWS + i];
            }
        }
        w.rows[row + l.row_shape()..][..shape.len()].copy_from_slice(shape);
        w.rows[row + l.row_friction()] = surface[0];
        let guess = of(guess, [0, 1, 2, 3, 4, 5, 6]);
        self.put_patch(self.one_patch(w, row).feasible(guess), row, 0, w);
    }

    fn put_patch(&self, impulse: [f32; ROWS], row: usize, problem: usize, w: &mut World) {
        for (k, x) in self.impulse_rows(row, problem).into_iter().zip(impulse) {
            w.rows[k] = x;
        }
    }

    /// What the compliance of its normals adds to their velocities: of a disc its centre yields.
    fn patch_yield(&self, disc: bool, impulse: [f32; ROWS]) -> [f32; ROWS] {
        let compliance = self.plan.settings.compliance as f32;
        [0, 1, 2, 3, 4, 5, 6].map(|i| match i {
            0 => compliance * impulse[0],
            3..6 if !disc => compliance * impulse[i],
            _ => 0.0,
        })
    }

    /// z + Y λ and m + |Y| |λ| of sums before.
    pub fn add_patch(&self, f: &PatchFormulas, w: &World, row: usize, sums: &[f32], problem: usize) -> Vec<f32> {
        f.add.evaluate(&joined(&[sums, &self.patch_y(w, row), &of(&w.rows, self.impulse_rows(row, problem))]))
    }

    /// The part of a patch in the certificate, and what that is a sum of.
    pub fn check_patch(&self, f: &PatchFormulas, w: &World, row: usize, sums: &[f32], problem: usize) -> [f32; 2] {
        let one = self.one_patch(w, row);
        let impulse = of(&w.rows, self.impulse_rows(row, problem));
        let told = f.sums.evaluate(&joined(&[sums, &self.patch_y(w, row), &of(&w.rows, self.bias_rows(row, problem))]));
        let yields = self.patch_yield(one.shape[3] > 0.0, impulse);
        let (mut velocity, mut size) = (yields, yields.map(f32::abs));
        for i in 0..ROWS {
            velocity[i] += told[i];
            size[i] += told[ROWS + i];
        }
        one.checked(velocity, size, impulse)
    }

    /// One update of a patch, from z to z.
    pub fn sweep_patch(&self, f: &PatchFormulas, w: &mut World, row: usize, p: &mut Problem) {
        let (one, y) = (self.one_patch(w, row), self.patch_y(w, row));
        let before = of(&w.rows, self.impulse_rows(row, p.which));
        let told = f.velocity.evaluate(&joined(&[&p.z, &y, &of(&w.rows, self.bias_rows(row, p.which))]));
        let mut velocity = self.patch_yield(one.shape[3] > 0.0, before);
        (0..ROWS).for_each(|i| velocity[i] += told[i]);
        let after = one.swept(velocity, before);
        let mut change = after;
        (0..ROWS).for_each(|i| change[i] -= before[i]);
        self.put_patch(after, row, p.which, w);
        p.z = f.pushed.evaluate(&joined(&[&p.z, &y, &change]));
    }

    /// The position problem starts from the answer of the velocity problem.
    pub fn start_patches(&self, w: &mut World) {
        let l = &self.layout;
        for c in 0..if self.patches.is_some() { w.count() } else { 0 } {
            let first = l.row_len() * c + l.row_more_impulse();
            w.rows.copy_within(first..first + PATCH_ROWS, first + PATCH_ROWS);
        }
    }

    /// What is remembered of a patch: what it transmitted, which does not depend on its reference point.
    pub fn keep_patch(&self, c: usize, w: &mut World) {
        let l = &self.layout;
        let (at, row) = (CONTACT_HEAD + l.contact_len() * c, l.row_len() * c);
        let kept = l.memory() + 1 + l.memory_len() * c;
        let impulse = of(&w.rows, self.impulse_rows(row, 0));
        let torsion = self.one_patch(w, row).torsion(impulse);
        let features = features(w, at);
        w.state[kept + 1] = -1.0;
        for i in 0..3 {
            w.state[kept + 2 + i] = impulse[1] * w.rows[row + 3 + i] + impulse[2] * w.rows[row + 6 + i];
        }
        for (k, normal) in NORMALS.into_iter().enumerate() {
            w.state[kept + 5 + k] = features[k];
            w.state[kept + 9 + k] = impulse[normal];
        }
        w.state[kept + 13] = torsion;
    }
}
