//! Stage 7, `assemble`: per island one block, W = J M⁻¹ Jᵀ (+ compliance), b = J v* − target.
//!
//! With M + Δt D = Lᵀ D̂ L, the rows Y = D̂^(−1/2) L⁻ᵀ Jᵀ give W = Yᵀ Y, and the step's velocity change M⁻¹ Jᵀ λ = L⁻¹ D̂^(−1/2) Y λ. A row
//! of Y is zero beyond the ancestors of the degrees of freedom that J touches, its *support*.
//!
//! Every row is written as w = u⁺ − target with u = J v, the target being the velocity that must at least be reached:
//!
//! | row | velocity target | position target |
//! |---|---|---|
//! | positive gap g | −g/Δt: it may just close | the same |
//! | overlap g ≤ 0 | 0 | the push-out velocity min(β, 1) · (−g)/Δt, at most `push_speed` |
//! | impact that reaches the surface within Δt | the rebound, see [`rebound`] | the same |
//! | dry friction | 0 | 0 |
//! | equality with error e | 0 | −min(β, 1) · e/Δt, at most `push_speed` either way |
//!
//! The velocity problem gives v⁺, the position problem the velocity that moves q: what pushes an overlap out never stays in v.

use super::Settings;
use super::warm::{Remembered, contact_key, equality_key, joint_key};
use crate::contact::Contacts;
use crate::dynamics::{Dynamics, TileParameters};
use crate::equality::{Equalities, EqualityPlan};
use crate::island::{Islands, NO_ROW, SCALAR};
use crate::kinematics::Kinematics;
use crate::lane::{Mask, Real, Scalar};
use crate::limit::{JointRow, Limits};
use crate::model::{Model, PairFriction};
use crate::solver::{Batch, BlockPlace, BlockSize};
use crate::spatial::{Vec3, vec3};

/// The constraint rows of a tile of worlds, before they are dealt out to blocks.
#[derive(Debug, Clone, Default)]
pub struct Rows<R> {
    /// Y, shape \[row\]\[nv\]; entries outside the support of the row's slot are not meaningful.
    y: Vec<R>,
    /// Free velocity J v* of every row, shape \[row\].
    free: Vec<R>,
    /// Velocity J v before the step, shape \[row\].
    previous: Vec<R>,
    /// Support of every slot, one bit a degree of freedom, shape \[slot\]\[word\].
    support: Vec<u64>,
    /// Contact frames: normal, two tangents, shape \[contact slot\].
    pub frame: Vec<[Vec3<R>; 3]>,
    /// Where every block of the tile lives in the batch, shape \[block\].
    pub places: Vec<BlockPlace>,
    /// Sign of every degree of freedom in the row at hand: +1 if it moves the second body, −1 if the first, shape \[nv\].
    sign: Vec<R>,
}

/// Two tangents of a unit normal, without a branch (Duff et al., Building an Orthonormal Basis, Revisited, 2017).
#[inline(always)]
fn frame_of<R: Real>(n: Vec3<R>) -> [Vec3<R>; 3] {
    let sign = R::select(n.z.lt(R::zero()), R::constant(-1.0), R::one());
    let a = -(R::one() / (sign + n.z));
    let b = n.x * n.y * a;
    [
        n,
        vec3((sign * n.x * n.x).mul_add(a, R::one()), sign * b, -(sign * n.x)),
        vec3(b, (n.y * n.y).mul_add(a, sign), -n.y),
    ]
}

/// Velocity u⁺ > 0 after an impact with coefficient e, for a contact at gap g that moves with u < 0 under the free acceleration a.
///
/// Newton's law u⁺ = −e u, made exact for the step: semi-implicit Euler under constant a conserves E = u²/2 − a g + (a Δt/2) u, and the rebound
/// leaves e² E at the position g + Δt u⁺:
///
/// u⁺ = a Δt/2 + √((a Δt/2)² + 2 a g + 2 e² E)
///
/// It is −e u exactly when a = 0 or e = 1.
#[inline(always)]
pub fn rebound<R: Real>(e: R, gap: R, u: R, a: R, dt: R) -> R {
    let half = R::constant(0.5) * a * dt;
    let energy = (R::constant(0.5) * u).mul_add(u, half * u) - a * gap;
    let two = R::constant(2.0);
    let square = half.mul_add(half, two.mul_add(a * gap, two * e * e * energy));
    half + square.max(R::zero()).sqrt()
}

impl<R: Real> Rows<R> {
    fn words(model: &Model) -> usize {
        model.nv().div_ceil(64).max(1)
    }

    /// The degrees of freedom in the support of `slot`.
    #[inline(always)]
    fn support(&self, words: usize, slot: usize) -> Bits<'_> {
        Bits { words: &self.support[slot * words..(slot + 1) * words], other: None, word: 0, left: 0, next: 0 }
    }

    /// Adds `dof` and its ancestors to the support of `slot`.
    #[inline(always)]
    fn mark(support: &mut [u64], model: &Model, dof: usize) {
        for &a in &model.dofs[dof].ancestors {
            support[a / 64] |= 1 << (a % 64);
        }
    }
}

/// The set bits of one bit set, or of two at once.
#[derive(Clone)]
struct Bits<'a> {
    words: &'a [u64],
    other: Option<&'a [u64]>,
    word: usize,
    left: u64,
    next: usize,
}

impl Iterator for Bits<'_> {
    type Item = usize;
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            if self.next == self.words.len() {
                return None;
            }
            self.word = self.next;
            self.left = self.words[self.next] & self.other.map_or(u64::MAX, |o| o[self.next]);
            self.next += 1;
        }
        let bit = self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        Some(self.word * 64 + bit)
    }
}

/// The rows of J for all contacts, joint rows and equalities, u = J v before and without impulses, and Y.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the inputs of a stage stand one by one")]
pub fn constraint_rows<R: Real>(
    model: &Model,
    joint_rows: &[JointRow],
    equality_plan: &EqualityPlan,
    v: &[R],
    k: &Kinematics<R>,
    d: &Dynamics<R>,
    contacts: &Contacts<R>,
    limits: &Limits<R>,
    equalities: &Equalities<R>,
    rows: &mut Rows<R>,
) {
    let (nv, lanes, words) = (model.nv(), R::LANES, Rows::<R>::words(model));
    let (contact_slots, limit_slots) = (contacts.gap.len(), limits.gap.len());
    let equality_slots = equality_plan.rows.len();
    let slot_count = contact_slots + limit_slots + equality_slots;
    let row_count = 2 * contact_slots + slot_count;
    rows.y.resize(row_count * nv, R::zero());
    rows.free.resize(row_count, R::zero());
    rows.previous.resize(row_count, R::zero());
    rows.support.clear();
    rows.support.resize(slot_count * words, 0);
    rows.frame.clear();
    rows.sign.resize(nv, R::zero());

    for slot in 0..contact_slots {
        let frame = frame_of(contacts.normal[slot]);
        rows.frame.push(frame);
        rows.sign.fill(R::zero());
        let support = &mut rows.support[slot * words..(slot + 1) * words];
        for lane in 0..lanes {
            if slot >= contacts.count[lane] {
                continue;
            }
            let pair = &model.pairs[contacts.pair[slot * lanes + lane] as usize];
            for (geom, sign) in [(pair.geom_a, -1.0), (pair.geom_b, 1.0)] {
                if let Some(head) = model.last_dof(model.geoms[geom].body) {
                    Rows::<R>::mark(support, model, head);
                    for &a in &model.dofs[head].ancestors {
                        let s = &mut rows.sign[a];
                        s.set(lane, s.get(lane) + R::Scalar::from_f64(sign));
                    }
                }
            }
        }
        // J_d = sign · frame · (velocity of the contact point per unit of v_d)
        let base = 3 * slot;
        for dof in (Bits { words: support, other: None, word: 0, left: 0, next: 0 }) {
            let arm = contacts.position[slot] - k.reference[model.dofs[dof].tree];
            let velocity = k.motion_subspace[dof].at(arm).scale(rows.sign[dof]);
            for i in 0..3 {
                rows.y[(base + i) * nv + dof] = frame[i].dot(velocity);
            }
        }
    }
    for slot in 0..limit_slots {
        let row = 3 * contact_slots + slot;
        let support = &mut rows.support[(contact_slots + slot) * words..(contact_slots + slot + 1) * words];
        for lane in 0..lanes {
            if slot < limits.count[lane] {
                let (start, count) = span(model, joint_rows[limits.row[slot * lanes + lane] as usize]);
                Rows::<R>::mark(support, model, start + count - 1);
            }
        }
        for dof in (Bits { words: support, other: None, word: 0, left: 0, next: 0 }) {
            rows.y[row * nv + dof] = R::zero();
        }
        for lane in 0..lanes {
            if slot < limits.count[lane] {
                let (start, count) = span(model, joint_rows[limits.row[slot * lanes + lane] as usize]);
                let direction = limits.direction[slot].get(lane);
                for (i, x) in [direction.x, direction.y, direction.z].into_iter().enumerate().take(count) {
                    rows.y[row * nv + start + i].set(lane, x);
                }
            }
        }
    }
    for (i, heads) in equality_plan.heads.iter().enumerate() {
        let slot = contact_slots + limit_slots + i;
        let support = &mut rows.support[slot * words..(slot + 1) * words];
        for &head in heads {
            Rows::<R>::mark(support, model, head);
        }
        let row = 2 * contact_slots + slot;
        rows.y[row * nv..(row + 1) * nv].copy_from_slice(&equalities.jacobian[i * nv..(i + 1) * nv]);
    }
    for slot in 0..slot_count {
        let (start, count) = slot_rows(contact_slots, slot);
        let bits =
            Bits { words: &rows.support[slot * words..(slot + 1) * words], other: None, word: 0, left: 0, next: 0 };
        for row in start..start + count {
            let y = &mut rows.y[row * nv..(row + 1) * nv];
            // u = J v
            let (mut free, mut previous) = (R::zero(), R::zero());
            for dof in bits.clone() {
                free = y[dof].mul_add(d.free_velocity[dof], free);
                previous = y[dof].mul_add(v[dof], previous);
            }
            (rows.free[row], rows.previous[row]) = (free, previous);
            // Y = D̂^(−1/2) L⁻ᵀ Jᵀ: from the leaves to the root; the support holds all ancestors of its members.
            for (word, &set) in bits.words.iter().enumerate().rev() {
                let mut left = set;
                while left != 0 {
                    let bit = 63 - left.leading_zeros() as usize;
                    left &= !(1 << bit);
                    let i = word * 64 + bit;
                    let dof = &model.dofs[i];
                    for p in 1..dof.ancestors.len() {
                        let a = dof.ancestors[p];
                        y[a] = (-d.factor[dof.row_start + p]).mul_add(y[i], y[a]);
                    }
                    y[i] = y[i] * d.inverse_diagonal[i].sqrt();
                }
            }
        }
    }
}

/// First degree of freedom and number of degrees of freedom that a joint row touches.
fn span(model: &Model, row: JointRow) -> (usize, usize) {
    match row {
        JointRow::Lower(j) | JointRow::Upper(j) => (model.joints[j].v_start, 1),
        JointRow::Ball(j) => (model.joints[j].v_start, 3),
        JointRow::DryFriction(dof) => (dof, 1),
    }
}

/// First row and number of rows of a slot.
#[inline(always)]
fn slot_rows(contact_slots: usize, slot: usize) -> (usize, usize) {
    if slot < contact_slots { (3 * slot, 3) } else { (2 * contact_slots + slot, 1) }
}

/// Adds the blocks of the tile to the batch, which makes room for them afterwards ([`Batch::allocate`]).
pub fn reserve<R: Real>(islands: &Islands, batch: &mut Batch<R>, rows: &mut Rows<R>) {
    rows.places.clear();
    rows.places.extend(
        (islands.blocks.iter())
            .map(|b| batch.add(BlockSize { contact_count: b.contact_count, scalar_count: b.scalar_count })),
    );
}

/// Where a row of a world lives: group, first entry of its tile, row of the block, lane of the batch.
#[derive(Clone, Copy)]
pub(super) struct RowPlace {
    pub group: usize,
    pub tile: usize,
    pub row: usize,
    pub lane: usize,
}

/// Where `row` of `lane` lives in the batch, if the world has it.
#[inline(always)]
pub(super) fn place_of<R: Real>(
    islands: &Islands,
    places: &[BlockPlace],
    batch: &Batch<R>,
    row: usize,
    lane: usize,
) -> Option<RowPlace> {
    let block = islands.row_block[row * R::LANES + lane];
    let entry = islands.row_entry[row * R::LANES + lane];
    if block == NO_ROW || entry == NO_ROW {
        return None;
    }
    let place = places[block as usize];
    let contacts = batch.groups[place.group].size.contact_count;
    let row = if entry >= SCALAR { 3 * contacts + (entry - SCALAR) as usize } else { entry as usize };
    Some(RowPlace { group: place.group, tile: place.block / R::LANES, row, lane: place.block % R::LANES })
}

/// Writes the blocks of a tile into the batch: W, both biases, friction, bounds and the first guess.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the inputs of a stage stand one by one")]
pub fn assemble<R: Real>(
    model: &Model,
    joint_rows: &[JointRow],
    settings: &Settings,
    dt: f64,
    parameters: TileParameters<'_, R>,
    contacts: &Contacts<R>,
    limits: &Limits<R>,
    equalities: &Equalities<R>,
    islands: &Islands,
    memory: &[Vec<Remembered<R::Scalar>>],
    rows: &Rows<R>,
    batch: &mut Batch<R>,
) {
    let (contact_slots, limit_slots) = (contacts.gap.len(), limits.gap.len());
    delassus(model, settings, contact_slots, islands, rows, batch);
    contact_terms(model, settings, dt, parameters, contacts, islands, memory, rows, batch);
    let first_limit = 3 * contact_slots;
    joint_terms(model, joint_rows, settings, dt, first_limit, limits, islands, memory, rows, batch);
    equality_terms(settings, dt, first_limit + limit_slots, equalities, islands, memory, rows, batch);
}

/// W = Yᵀ Y, slot pair by slot pair, dealt out to the worlds that have both slots in one block.
#[inline(always)]
fn delassus<R: Real>(
    model: &Model,
    settings: &Settings,
    contact_slots: usize,
    islands: &Islands,
    rows: &Rows<R>,
    batch: &mut Batch<R>,
) {
    let (nv, lanes, words) = (model.nv(), R::LANES, Rows::<R>::words(model));
    let compliance = R::constant(settings.compliance);
    for a in 0..rows.support.len() / words {
        let (row_a, count_a) = slot_rows(contact_slots, a);
        for b in 0..=a {
            let (row_b, count_b) = slot_rows(contact_slots, b);
            let blocks_a = &islands.row_block[row_a * lanes..(row_a + 1) * lanes];
            let blocks_b = &islands.row_block[row_b * lanes..(row_b + 1) * lanes];
            let shared = |lane: usize| blocks_a[lane] == blocks_b[lane] && blocks_a[lane] != NO_ROW;
            if !(0..lanes).any(shared) {
                continue;
            }
            let mut w = [[R::zero(); 3]; 3];
            let mut bits = rows.support(words, a);
            bits.other = Some(&rows.support[b * words..(b + 1) * words]);
            for dof in bits {
                for i in 0..count_a {
                    let y = rows.y[(row_a + i) * nv + dof];
                    for j in 0..count_b {
                        w[i][j] = y.mul_add(rows.y[(row_b + j) * nv + dof], w[i][j]);
                    }
                }
            }
            if a == b && a < contact_slots {
                w[0][0] += compliance;
            }
            for lane in (0..lanes).filter(|&lane| shared(lane)) {
                for i in 0..count_a {
                    let Some(p) = place_of(islands, &rows.places, batch, row_a + i, lane) else { continue };
                    let n = batch.groups[p.group].size.row_count();
                    let tile = p.tile * n * n;
                    for j in 0..count_b {
                        let Some(r) = place_of(islands, &rows.places, batch, row_b + j, lane) else { continue };
                        let x = w[i][j].get(lane);
                        let delassus = &mut batch.groups[p.group].delassus;
                        delassus[tile + p.row * n + r.row].set(p.lane, x);
                        delassus[tile + r.row * n + p.row].set(p.lane, x);
                    }
                }
            }
        }
    }
}

/// Velocity and position target of rows at `gap` without bounce.
#[inline(always)]
fn targets<R: Real>(settings: &Settings, dt: R, gap: R) -> (R, R) {
    // g > 0: −g/Δt. g ≤ 0: 0, and for the position the push-out, never more than the overlap.
    let inverse = R::one() / dt;
    let closing = -(gap.max(R::zero()) * inverse);
    let overlap = (-gap).max(R::zero());
    let share = R::constant(settings.stabilization.clamp(0.0, 1.0));
    let push = (share * overlap * inverse).min(R::constant(settings.push_speed));
    (closing, closing + push)
}

/// Biases, friction and first guess of the contacts.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the inputs of a stage stand one by one")]
fn contact_terms<R: Real>(
    model: &Model,
    settings: &Settings,
    dt: f64,
    parameters: TileParameters<'_, R>,
    contacts: &Contacts<R>,
    islands: &Islands,
    memory: &[Vec<Remembered<R::Scalar>>],
    rows: &Rows<R>,
    batch: &mut Batch<R>,
) {
    let (lanes, h) = (R::LANES, R::constant(dt));
    for slot in 0..contacts.gap.len() {
        let row = 3 * slot;
        let (gap, free, u) = (contacts.gap[slot], rows.free[row], rows.previous[row]);
        let mut restitution = R::zero();
        let mut friction = R::zero();
        for lane in 0..lanes {
            if slot >= contacts.count[lane] {
                continue;
            }
            let pair = &model.pairs[contacts.pair[slot * lanes + lane] as usize];
            let geom = |g: usize| parameters.friction[g].get(lane);
            let mu = match pair.friction {
                PairFriction::Larger => Real::max(geom(pair.geom_a), geom(pair.geom_b)),
                PairFriction::First => geom(pair.geom_a),
                PairFriction::Second => geom(pair.geom_b),
                PairFriction::Fixed(mu) => R::Scalar::from_f64(mu),
            };
            friction.set(lane, mu);
            restitution.set(lane, R::Scalar::from_f64(pair.restitution.unwrap_or(settings.restitution)));
        }
        let (target, position_target) = targets(settings, h, gap);
        // An impact: fast, not in mid-air, and it reaches the surface within Δt.
        let fast = u.lt(R::constant(-settings.restitution_threshold));
        let reaches = h.mul_add(free, gap).lt(R::zero());
        let bounces = fast.and(reaches).and(R::zero().lt(restitution));
        let acceleration = (free - u) / h;
        let bounce = rebound(restitution, gap, u, acceleration, h);
        let target = R::select(bounces, target.max(bounce), target);
        let position_target = R::select(bounces, position_target.max(bounce), position_target);
        let bias = [free - target, rows.free[row + 1], rows.free[row + 2]];
        let position_bias = [free - position_target, rows.free[row + 1], rows.free[row + 2]];
        for lane in 0..lanes {
            let Some(first) = place_of(islands, &rows.places, batch, row, lane) else { continue };
            let key = contact_key(contacts.pair[slot * lanes + lane], contacts.feature[slot * lanes + lane]);
            let guess = memory[lane].iter().find(|m| m.key == key).map(|m| m.impulse);
            let group = &mut batch.groups[first.group];
            let n = group.size.row_count();
            let with_friction = first.row < 3 * group.size.contact_count;
            if with_friction {
                let c = first.tile * group.size.contact_count + first.row / 3;
                group.friction[c].set(first.lane, friction.get(lane));
            } else {
                let s = 2 * (first.tile * group.size.scalar_count + first.row - 3 * group.size.contact_count);
                group.bounds[s + 1].set(first.lane, R::Scalar::from_f64(f64::INFINITY));
            }
            for i in 0..if with_friction { 3 } else { 1 } {
                let entry = first.tile * n + first.row + i;
                group.bias[entry].set(first.lane, bias[i].get(lane));
                group.position_bias[entry].set(first.lane, position_bias[i].get(lane));
                if let Some(impulse) = guess {
                    let axis = rows.frame[slot][i].get(lane);
                    group.impulse[entry].set(first.lane, axis.dot(impulse));
                }
            }
        }
    }
}

/// Biases, bounds and first guess of the joint rows.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the inputs of a stage stand one by one")]
fn joint_terms<R: Real>(
    model: &Model,
    joint_rows: &[JointRow],
    settings: &Settings,
    dt: f64,
    first_row: usize,
    limits: &Limits<R>,
    islands: &Islands,
    memory: &[Vec<Remembered<R::Scalar>>],
    rows: &Rows<R>,
    batch: &mut Batch<R>,
) {
    let (lanes, h) = (R::LANES, R::constant(dt));
    for slot in 0..limits.gap.len() {
        let row = first_row + slot;
        let (target, position_target) = targets(settings, h, limits.gap[slot]);
        let (bias, position_bias) = (rows.free[row] - target, rows.free[row] - position_target);
        for lane in 0..lanes {
            let Some(p) = place_of(islands, &rows.places, batch, row, lane) else { continue };
            let index = limits.row[slot * lanes + lane];
            let bounds = match joint_rows[index as usize] {
                JointRow::DryFriction(dof) => {
                    // |λ| ≤ τ_max Δt
                    let bound = model.joints[model.dofs[dof].joint].friction_loss * dt;
                    [-bound, bound]
                }
                _ => [0.0, f64::INFINITY],
            };
            let guess = remembered(&memory[lane], joint_key(index));
            scalar_row(batch, p, bounds, bias.get(lane), position_bias.get(lane), guess);
        }
    }
}

/// Biases and first guess of the bilateral rows, which have no bounds.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the inputs of a stage stand one by one")]
fn equality_terms<R: Real>(
    settings: &Settings,
    dt: f64,
    first_row: usize,
    equalities: &Equalities<R>,
    islands: &Islands,
    memory: &[Vec<Remembered<R::Scalar>>],
    rows: &Rows<R>,
    batch: &mut Batch<R>,
) {
    let share = R::constant(settings.stabilization.clamp(0.0, 1.0) / dt);
    let push = R::constant(settings.push_speed);
    for (i, &error) in equalities.error.iter().enumerate() {
        let bias = rows.free[first_row + i];
        // b = J v* + β e/Δt
        let position_bias = bias + (share * error).max(-push).min(push);
        for lane in 0..R::LANES {
            let Some(p) = place_of(islands, &rows.places, batch, first_row + i, lane) else { continue };
            let guess = remembered(&memory[lane], equality_key(i));
            let bounds = [f64::NEG_INFINITY, f64::INFINITY];
            scalar_row(batch, p, bounds, bias.get(lane), position_bias.get(lane), guess);
        }
    }
}

/// The impulse that a world remembers of a scalar row.
fn remembered<S: Scalar>(memory: &[Remembered<S>], key: u64) -> Option<S> {
    memory.iter().find(|m| m.key == key).map(|m| m.impulse.x)
}

/// Writes bounds, biases and first guess of a scalar row.
#[inline(always)]
fn scalar_row<R: Real>(
    batch: &mut Batch<R>,
    p: RowPlace,
    bounds: [f64; 2],
    bias: R::Scalar,
    position_bias: R::Scalar,
    guess: Option<R::Scalar>,
) {
    let group = &mut batch.groups[p.group];
    let row = p.tile * group.size.row_count() + p.row;
    let scalar = 2 * (p.tile * group.size.scalar_count + p.row - 3 * group.size.contact_count);
    for (i, bound) in bounds.into_iter().enumerate() {
        group.bounds[scalar + i].set(p.lane, R::Scalar::from_f64(bound));
    }
    group.bias[row].set(p.lane, bias);
    group.position_bias[row].set(p.lane, position_bias);
    if let Some(x) = guess {
        group.impulse[row].set(p.lane, x);
    }
}

/// Stage 9: v⁺ = v* + M⁻¹ Jᵀ λ = v* + L⁻¹ D̂^(−1/2) Y λ. `impulse`: λ of every row, 0 where a world has not got it, shape \[row\].
#[inline(always)]
pub fn apply<R: Real>(
    model: &Model,
    contact_slots: usize,
    rows: &Rows<R>,
    impulse: &[R],
    d: &Dynamics<R>,
    out: &mut [R],
) {
    let (nv, words) = (model.nv(), Rows::<R>::words(model));
    out.fill(R::zero());
    for slot in 0..rows.support.len() / words {
        let (start, count) = slot_rows(contact_slots, slot);
        for row in start..start + count {
            for dof in rows.support(words, slot) {
                out[dof] = rows.y[row * nv + dof].mul_add(impulse[row], out[dof]);
            }
        }
    }
    for i in 0..nv {
        out[i] = out[i] * d.inverse_diagonal[i].sqrt();
    }
    crate::dynamics::solve_lower(model, &d.factor, out);
    for i in 0..nv {
        out[i] += d.free_velocity[i];
    }
}
