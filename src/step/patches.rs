//! What of a step is about patches ([`crate::lcp::patch`]): biases and first guess of their further rows, their friction ellipsoid, and what is remembered
//! and recorded of them.
//!
//! A patch stands in a contact slot with its first vertex (or the centre of its disc), which is its reference point, and has four more rows: see
//! [`crate::contact::More`]. Where it is a disc its rows are on a cone, and so is the gap: (g_n, g_t, g_o) with `|(g_t, g_o)| ≤ g_n` where nothing overlaps.

use super::memory::Transmitted;
use super::places::scalar_row;
use super::plan::Plan;
use super::posed::{Posed, Tile};
use super::records::{ContactRecord, PatchRecord};
use super::targets::{bounce, surface};
use crate::contact::{Contacts, PATCH_ROWS};
use crate::lane::{Compiled, Mask, Pack, PackMask, Real, Scalar, Task};
use crate::slots::SlotPart;
use crate::solver::{Batch, PATCH_LEN};
use crate::spatial::Vec3;
use nalgebra::Vector3;

/// What a patch has beside its first vertex, for formulas over [`Real`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outline<R: Real> {
    /// Which further vertices, or slopes of a disc, there are.
    pub present: [R::Mask; 3],
    /// Where it is a disc.
    pub disc: R::Mask,
    /// The further vertices, from the first one, m.
    pub offset: [Vec3<R>; 3],
    /// What the moments of a disc act on, m.
    pub arm: R,
    /// Gap of the lowest point, m.
    pub lowest: R,
}

impl<R: Real> Outline<R> {
    /// The point that is to have its targets, and strikes: the lowest one of a disc, where it is one; else the vertex as it is. Its gap, its motion (u, u*, ū), and
    /// how much less the centre of the disc has to reach, m/s, |(g_t, g_o)|/Δt: what touches is raised until its lowest point just does.
    ///
    /// `gaps`, `motions`: of the vertex or centre, and R times the two slopes of the disc, m and m/s. g = g_n − |(g_t, g_o)|, u = u_n − (g_t u_t + g_o u_o)/|(g_t, g_o)|.
    #[inline(always)]
    pub fn striker(&self, dt: R, gaps: [R; 3], motions: [[R; 3]; 3]) -> (R, [R; 3], R) {
        let [gap, g_t, g_o] = gaps;
        let slope = g_t.mul_add(g_t, g_o * g_o).sqrt();
        let leans = R::zero().lt(slope);
        let inverse = R::select(leans, R::one() / R::select(leans, slope, R::one()), R::zero());
        let mut motion = motions[0];
        for k in 0..3 {
            let along = g_t.mul_add(motions[1][k], g_o * motions[2][k]) * inverse;
            motion[k] = R::select(self.disc, motion[k] - along, motion[k]);
        }
        (R::select(self.disc, self.lowest, gap), motion, R::select(self.disc, slope / dt, R::zero()))
    }

    /// Levers of the four normals, seen from the reference point along its tangents, m.
    #[inline(always)]
    pub fn levers(&self, tangents: [Vec3<R>; 2]) -> [[R; 2]; 4] {
        let zero = R::zero();
        let mut lever = [[zero; 2]; 4];
        for k in 0..PATCH_ROWS - 1 {
            for (a, tangent) in tangents.into_iter().enumerate() {
                let moment = if k == a { self.arm } else { zero };
                let along = R::select(self.disc, moment, tangent.dot(self.offset[k]));
                lever[k + 1][a] = R::select(self.present[k], along, zero);
            }
        }
        lever
    }

    /// N = Σ λ_i and d = Σ λ_i (x_i − c)/N of normal impulses.
    #[inline(always)]
    pub fn pressure(&self, lever: &[[R; 2]; 4], z: &[R; 4]) -> (R, [R; 2]) {
        let zero = R::zero();
        let (mut sum, mut moment) = (zero, [zero; 2]);
        for k in 0..4 {
            sum += if k == 0 { z[k] } else { R::select(self.disc, zero, z[k]) };
            for a in 0..2 {
                moment[a] = lever[k][a].mul_add(z[k], moment[a]);
            }
        }
        let inverse = R::select(zero.lt(sum), R::one() / R::select(zero.lt(sum), sum, R::one()), zero);
        (sum, [moment[0] * inverse, moment[1] * inverse])
    }

    /// The impulses of t, o and torsion at the reference point that are a first guess: what was transmitted before, at the ECP of the pressure of `guess`.
    #[inline(always)]
    pub fn frictions(&self, lever: &[[R; 2]; 4], [t, o]: [Vec3<R>; 2], guess: &Transmitted<R>) -> [R; 3] {
        let (_, [d_t, d_o]) = self.pressure(lever, &guess.pressure);
        let (f_t, f_o) = (t.dot(guess.friction), o.dot(guess.friction));
        // τ = τ_r + d_t f_o − d_o f_t
        [f_t, f_o, guess.torsion + d_t * f_o - d_o * f_t]
    }
}

/// e_r of the torsional friction coefficient of a pair: over μ.
#[inline(always)]
pub(crate) fn torsion_radius<R: Real>(torsion: R, friction: R) -> R {
    let rough = R::zero().lt(friction);
    R::select(rough, torsion / R::select(rough, friction, R::one()), R::zero())
}

/// Velocity and position target of a slope of a disc, −g/Δt whatever its sign, where it is one; of a vertex those that it has.
#[inline(always)]
pub(crate) fn slope_targets<R: Real>(disc: R::Mask, dt: R, gap: R, [target, position_target]: [R; 2]) -> [R; 2] {
    let slope = -(gap / dt);
    [R::select(disc, slope, target), R::select(disc, slope, position_target)]
}

/// The outline of the patch in `slot`.
#[inline(always)]
pub(super) fn outline<R: Pack>(contacts: &Contacts<R>, slot: usize) -> Outline<R> {
    let more = &contacts.patches[slot];
    let (mut present, mut offset) = ([R::Mask::splat(false); 3], [Vec3::zero(); 3]);
    for k in 0..PATCH_ROWS - 1 {
        present[k] = R::Mask::from_bits(more.present[k]);
        offset[k] = more.position[k] - contacts.position[slot];
    }
    Outline { present, disc: R::Mask::from_bits(more.disc), offset, arm: more.arm, lowest: more.lowest }
}

/// [`Outline::striker`] of the patch in `slot`.
#[inline(always)]
pub(super) fn striker<R: Pack>(dt: R, posed: &Posed<R>, slot: usize) -> (R, [R; 3], R) {
    let Posed { contacts, rows, .. } = posed;
    let (gap, more) = (&contacts.patches[slot].gap, 3 * contacts.gap.len() + PATCH_ROWS * slot);
    let motions = [3 * slot, more, more + 1].map(|row| rows.motion(row));
    outline(contacts, slot).striker(dt, [contacts.gap[slot], gap[0], gap[1]], motions)
}

/// The entries of the four normals of the patch in `slot`.
#[inline(always)]
fn normals<R: Pack>(contacts: &Contacts<R>, slot: usize, of: &[R]) -> [R; 4] {
    let more = 3 * contacts.gap.len() + PATCH_ROWS * slot;
    [of[3 * slot], of[more], of[more + 1], of[more + 2]]
}

/// What the patch in `slot` transmitted in the step.
#[inline(always)]
pub(super) fn transmitted<R: Pack>(posed: &Posed<R>, slot: usize) -> Transmitted<R> {
    let Posed { contacts, rows, impulse, .. } = posed;
    let (more, [_, t, o]) = (&contacts.patches[slot], rows.frame[slot]);
    let (z, outline) = (normals(contacts, slot, impulse), outline(contacts, slot));
    let (_, [d_t, d_o]) = outline.pressure(&outline.levers([t, o]), &z);
    let (f_t, f_o) = (impulse[3 * slot + 1], impulse[3 * slot + 2]);
    let torsion = impulse[3 * contacts.gap.len() + PATCH_ROWS * slot + PATCH_ROWS - 1];
    let [b, c, d] = more.feature;
    Transmitted {
        feature: [contacts.feature[slot], b, c, d],
        pressure: z,
        friction: t.scale(f_t) + o.scale(f_o),
        // τ_r = τ − d_t f_o + d_o f_t
        torsion: torsion - d_t * f_o + d_o * f_t,
    }
}

/// Biases and first guess of the rows of the patches, and what they are.
#[inline(always)]
pub(super) fn patch_terms<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &Posed<R>, batch: &mut Batch<R>) {
    let Posed { contacts, rows, places, .. } = posed;
    let (zero, h, contact_slots) = (R::zero(), R::constant(plan.dt), contacts.gap.len());
    let mut pace = None;
    for (slot, more) in contacts.patches.iter().enumerate() {
        let [friction, restitution] = surface(plan, tile.parameters, contacts, slot);
        let ([_, t, o], outline) = (rows.frame[slot], outline(contacts, slot));
        let lever = outline.levers([t, o]);
        let [b, c, d] = more.feature;
        let feature = [contacts.feature[slot], b, c, d];
        let mut guess = Transmitted::<R>::default();
        for part in contacts.slots.parts_of(slot) {
            let one = tile.memory.patch(part, &feature, rows.frame[slot][0]);
            let lanes = R::Mask::from_bits(part.lanes);
            for k in 0..4 {
                let present = if k == 0 { lanes } else { lanes.and(R::Mask::from_bits(more.present[k - 1])) };
                guess.pressure[k] = R::select(present, one.pressure[k], guess.pressure[k]);
            }
            guess.friction = Vec3::select(lanes, one.friction, guess.friction);
            guess.torsion = R::select(lanes, one.torsion, guess.torsion);
        }
        let [f_t, f_o, torsion] = outline.frictions(&lever, [t, o], &guess);
        write_guess(posed, batch, slot, [guess.pressure[0], f_t, f_o]);
        let first = contact_slots + PATCH_ROWS * slot;
        for k in 0..PATCH_ROWS - 1 {
            let (row, gap) = (2 * contact_slots + first + k, more.gap[k]);
            let goal = bounce(plan, posed, rows.motion(row), gap, restitution, &mut pace);
            let [target, position_target] = slope_targets(outline.disc, h, gap, goal);
            let has = outline.present[k];
            let bias = R::select(has, rows.free[row] - target, zero);
            let position_bias = R::select(has, rows.position_bias(row, position_target), zero);
            let bounds = [zero, R::constant(f64::INFINITY)];
            scalar_row(places, batch, first + k, bounds, [bias, position_bias], guess.pressure[k + 1]);
        }
        let row = 2 * contact_slots + first + PATCH_ROWS - 1;
        let infinity = R::constant(f64::INFINITY);
        let bias = [rows.free[row], rows.position_bias(row, zero)];
        scalar_row(places, batch, first + PATCH_ROWS - 1, [-infinity, infinity], bias, torsion);
        let [e_t, e_o, e_r] = ellipsoid(plan, contacts, slot, friction, uniform_radius(&outline, &lever));
        let flat = R::select(outline.disc, R::one(), zero);
        let [[a, b], [c, d], [e, f], [g, i]] = lever;
        write_shape(posed, batch, slot, [e_t, e_o, e_r, flat, a, b, c, d, e, f, g, i]);
    }
}

/// Writes the first guess of the three rows that a patch has as a contact.
#[inline(always)]
fn write_guess<R: Pack>(posed: &Posed<R>, batch: &mut Batch<R>, slot: usize, guess: [R; 3]) {
    if let Some(group) = posed.places.whole() {
        let present = R::Mask::from_bits(posed.places.lanes_with(R::LANES, slot));
        for (i, x) in guess.into_iter().enumerate() {
            batch.groups[group].impulse[3 * slot + i] = R::select(present, x, R::zero());
        }
        return;
    }
    for lane in 0..R::LANES {
        let Some(p) = posed.places.of(R::LANES, slot, lane) else { continue };
        let group = &mut batch.groups[p.group];
        for (i, x) in guess.iter().enumerate() {
            group.impulse[p.tile * p.row_count + p.row + i].set(p.lane, x.get(lane));
        }
    }
}

/// Writes what a patch is.
#[inline(always)]
fn write_shape<R: Pack>(posed: &Posed<R>, batch: &mut Batch<R>, slot: usize, shape: [R; PATCH_LEN]) {
    if let Some(group) = posed.places.whole() {
        let present = R::Mask::from_bits(posed.places.lanes_with(R::LANES, slot));
        for (i, x) in shape.into_iter().enumerate() {
            batch.groups[group].patches[slot * PATCH_LEN + i] = R::select(present, x, R::zero());
        }
        return;
    }
    for lane in 0..R::LANES {
        let Some(p) = posed.places.of(R::LANES, slot, lane) else { continue };
        let group = &mut batch.groups[p.group];
        let first = (p.tile * group.patch_count + p.row / 3) * PATCH_LEN;
        for (i, x) in shape.iter().enumerate() {
            group.patches[first + i].set(p.lane, x.get(lane));
        }
    }
}

/// Half axes e_t, e_o, e_r of the friction of the patch in `slot`: as the model gives them; else 1, 1, and e_r by the torsional friction coefficient over μ, or by uniform
/// pressure on the patch.
#[inline(always)]
fn ellipsoid<R: Pack>(plan: &Plan, contacts: &Contacts<R>, slot: usize, friction: R, uniform: R) -> [R; 3] {
    let mut half_axes = [R::one(), R::one(), uniform];
    for SlotPart { origin, lanes, .. } in contacts.slots.parts_of(slot) {
        let (pair, lanes) = (&plan.model.pairs[*origin as usize], R::Mask::from_bits(*lanes));
        if let Some(e) = pair.ellipsoid {
            for k in 0..3 {
                half_axes[k] = R::select(lanes, R::constant(e[k]), half_axes[k]);
            }
        } else if let Some(torsion) = pair.torsion {
            half_axes[2] = R::select(lanes, torsion_radius(R::constant(torsion), friction), half_axes[2]);
        }
    }
    half_axes
}

/// The part of the square of its extent that a patch must cover to be a face, and not an edge.
const FACE: f64 = 1e-4;

/// e_r of uniform pressure, m: the mean distance of the points of a patch from its centroid.
///
/// The triangle from the centroid to an edge of a polygon, A = ½ p × q, with its line at the distance h and p and q at u and v along it, has
///
/// ```text
/// ∫∫ |x| = 2 A/(3 (v − u)) (F(v) − F(u)),   F(v) = ½ (v √(h² + v²) + h² asinh(v/h)), the integral of √(h² + x²)
/// ```
///
/// Of an edge of length L it is L/4, of a disc 2/3 R, of a point 0.
#[inline(always)]
fn uniform_radius<R: Pack>(outline: &Outline<R>, lever: &[[R; 2]; 4]) -> R {
    let [second, third, _] = outline.present;
    if second.and(third).any() { face_radius(outline, lever) } else { edge_radius(outline, lever).0 }
}

/// That of an edge or a disc, and the square of the longest distance between two vertices, m².
#[inline(always)]
fn edge_radius<R: Real>(outline: &Outline<R>, lever: &[[R; 2]; 4]) -> (R, R) {
    let zero = R::zero();
    let [second, third, fourth] = outline.present;
    let has = [R::Mask::splat(true), second, third, fourth];
    let mut extent = zero;
    for i in 0..4 {
        for j in 0..i {
            let (x, y) = (lever[i][0] - lever[j][0], lever[i][1] - lever[j][1]);
            let distance = x.mul_add(x, y * y);
            extent = R::select(has[i].and(has[j]), extent.max(distance), extent);
        }
    }
    let edge = R::constant(0.25) * extent.sqrt();
    let disc = R::constant(2.0 / 3.0) * outline.arm;
    (R::select(outline.disc, disc, edge), extent)
}

/// That of anything.
#[inline(always)]
pub(crate) fn face_radius<R: Real>(outline: &Outline<R>, lever: &[[R; 2]; 4]) -> R {
    let (zero, one) = (R::zero(), R::one());
    let [p0, p1, p2, p3] = *lever;
    let [second, third, fourth] = outline.present;
    let (flat, extent) = edge_radius(outline, lever);
    // around: the fourth vertex lies beyond that edge of the triangle of the others whose line leaves it farthest outside
    let side = area(p0, p1, p2);
    let sign = R::select(side.lt(zero), one, -one);
    let beyond = [sign * area(p0, p1, p3), sign * area(p1, p2, p3), sign * area(p2, p0, p3)];
    let most = beyond[0].max(beyond[1]).max(beyond[2]);
    let outside = fourth.and(zero.lt(most));
    let after_first = outside.and(beyond[0].lt(most).not());
    let after_second = outside.and(after_first.not()).and(beyond[1].lt(most).not());
    let after_third = outside.and(after_first.not()).and(after_second.not());
    // p₀ (p₃) p₁ (p₃) p₂ (p₃); a vertex that is not there repeats the one before
    let mut around = [p0; 6];
    for a in 0..2 {
        around[1][a] = R::select(after_first, p3[a], p0[a]);
        around[2][a] = p1[a];
        around[3][a] = R::select(after_second, p3[a], p1[a]);
        around[4][a] = p2[a];
        around[5][a] = R::select(after_third, p3[a], p2[a]);
    }
    let (mut whole, mut centre) = (zero, [zero; 2]);
    for i in 1..5 {
        let part = area(p0, around[i], around[i + 1]);
        whole += part;
        for a in 0..2 {
            centre[a] = part.mul_add(p0[a] + around[i][a] + around[i + 1][a], centre[a]);
        }
    }
    let face = second.and(third).and((R::constant(FACE) * extent).lt(whole.abs()));
    let over = R::select(face, one / R::select(face, whole, one), zero);
    let third_part = R::constant(1.0 / 3.0);
    let centre = [centre[0] * over * third_part, centre[1] * over * third_part];
    let mut sum = zero;
    for i in 0..6 {
        let (p, q) = (around[i], around[(i + 1) % 6]);
        let (p, q) = ([p[0] - centre[0], p[1] - centre[1]], [q[0] - centre[0], q[1] - centre[1]]);
        let edge = [q[0] - p[0], q[1] - p[1]];
        let square = edge[0].mul_add(edge[0], edge[1] * edge[1]);
        let some = zero.lt(square);
        let length = R::select(some, square, one).sqrt();
        let (u, v) = (p[0].mul_add(edge[0], p[1] * edge[1]) / length, q[0].mul_add(edge[0], q[1] * edge[1]) / length);
        let twice = p[0] * q[1] - p[1] * q[0];
        let h = (twice / length).abs();
        let part = twice * (antiderivative(v, h) - antiderivative(u, h)) / length;
        sum += R::select(some, part, zero);
    }
    let polygon = (sum * over * third_part).abs();
    R::select(face.and(outline.disc.not()), polygon, flat)
}

/// The area of a triangle, positive if it turns left, m².
#[inline(always)]
fn area<R: Real>(a: [R; 2], b: [R; 2], c: [R; 2]) -> R {
    R::constant(0.5) * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
}

/// F(v) = ½ (v √(h² + v²) + h² asinh(v/h)), m².
#[inline(always)]
fn antiderivative<R: Real>(v: R, h: R) -> R {
    let root = h.mul_add(h, v * v).sqrt();
    let some = R::zero().lt(h);
    let ratio = v / R::select(some, h, R::one());
    let curved = R::select(some, h * h * asinh(ratio), R::zero());
    R::constant(0.5) * v.mul_add(root, curved)
}

/// asinh x within 1e-7 of itself for |x| < 1e3: four times asinh x = 2 asinh(x/√(2 + 2 √(1 + x²))), then its series.
#[inline(always)]
fn asinh<R: Real>(x: R) -> R {
    let (one, two) = (R::one(), R::constant(2.0));
    let mut y = x;
    for _ in 0..4 {
        let root = y.mul_add(y, one).sqrt();
        y = y / two.mul_add(root, two).sqrt();
    }
    let s = y * y;
    let series = s.mul_add(R::constant(-15.0 / 336.0), R::constant(3.0 / 40.0));
    let series = s.mul_add(s.mul_add(series, R::constant(-1.0 / 6.0)), one);
    R::constant(16.0) * y * series
}

/// Impulses of the vertices of the patch in `slot`, their sum, its place from the reference point along the tangents, and the torsion about that.
struct Pressure<'a, R: Pack> {
    posed: &'a Posed<R>,
    slot: usize,
}

impl<R: Pack> Task for Pressure<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ([R; 4], R, [R; 2], R);
    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { posed, slot } = self;
        let contacts = &posed.contacts;
        let z = normals(contacts, slot, &posed.impulse);
        let ([_, t, o], outline) = (posed.rows.frame[slot], outline(contacts, slot));
        let (sum, centre) = outline.pressure(&outline.levers([t, o]), &z);
        (z, sum, centre, transmitted(posed, slot).torsion)
    }
}

/// Impulse of the patch in `slot` along its normal and tangents, N·s, and where its equivalent contact point is, from its reference point along the tangents,
/// m, with the torsion there, N·m·s.
#[inline(always)]
pub(super) fn resultant<R: Pack>(posed: &Posed<R>, slot: usize) -> ([R; 3], [R; 3]) {
    let (_, sum, [d_t, d_o], torsion) = R::run(Pressure { posed, slot });
    let [_, f_t, f_o] = posed.rows.contact_impulse(slot, &posed.impulse);
    ([sum, f_t, f_o], [d_t, d_o, torsion])
}

/// What is recorded of the patch in `slot` of one world; `point`: of its first vertex.
pub(super) fn patch_record<R: Pack>(
    posed: &Posed<R>,
    slot: usize,
    lane: usize,
    point: &ContactRecord,
) -> ContactRecord {
    let contacts = &posed.contacts;
    let more = &contacts.patches[slot];
    let get = |x: R| x.get(lane).to_f64();
    let (z, sum, centre, torsion) = R::run(Pressure { posed, slot });
    let is_disc = more.disc >> lane & 1 != 0;
    let mut vertices = vec![point.position];
    let mut each = vec![get(z[0])];
    for k in (0..PATCH_ROWS - 1).filter(|k| !is_disc && more.present[*k] >> lane & 1 != 0) {
        let Vec3 { x, y, z: height } = more.position[k].get(lane);
        vertices.push(Vector3::new(x.to_f64(), y.to_f64(), height.to_f64()));
        each.push(get(z[k + 1]));
    }
    // c + d_t t + d_o o
    let position = point.position + point.frame[1] * get(centre[0]) + point.frame[2] * get(centre[1]);
    let patch = PatchRecord { torsion: get(torsion), vertices, pressure: each, disc: is_disc.then(|| get(more.arm)) };
    let [_, f_t, f_o] = point.impulse;
    ContactRecord {
        position,
        gap: get(more.lowest),
        impulse: [get(sum), f_t, f_o],
        patch: Some(patch),
        ..point.clone()
    }
}
