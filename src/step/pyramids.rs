//! Pyramids: soft contacts as MuJoCo has them unless its model says `cone="elliptic"`.
//!
//! A contact with friction μ is four edges e = n ± μ t₁, n ± μ t₂, each a row that may push, f ≥ 0, and yields by itself, all with (MuJoCo's documentation, *Computation*, "Constraint
//! model")
//!
//! R = 2 μ² (1 + μ²)/ratio · (1 − d)/d · Â
//!
//! So its impulse is λ = Σ f e, at most μ λ_n along each tangent and less along both. With condim 4 there are two edges more, n ± μ₃ d₃, d₃ being the rotation about the normal, and with condim 6
//! four more, n ± μ₄ d₄ and n ± μ₅ d₅, about the tangents ([`super::turns`]); R is that of the sliding friction μ. Rows of directions become rows of edges: four, six or ten in every slot, as the
//! contact of the model with most needs; what a contact lacks is zero.

use super::places::{Places, scalar_row};
use super::plan::Plan;
use super::posed::{MOST_TURNS, Posed, Rows, Tile, turn_count};
use super::softness::{SoftPlan, Yield};
use super::supports::Bits;
use super::targets::{remembered, remembered_torque, surface};
use crate::contact::Contacts;
use crate::island::EDGES;
use crate::kinematics::Kinematics;
use crate::lane::{Mask, Pack, PackMask, Real};
use crate::model::{Model, Shape};
use crate::solver::Batch;
use crate::spatial::Vec3;

/// Axes of friction of a contact of condim 6, and its edges.
const AXES: usize = 2 + MOST_TURNS;
const MOST_EDGES: usize = 2 * AXES;

/// Less friction than this about an axis, m, counts as so much, as in MuJoCo.
const LEAST_FRICTION: f64 = 1e-5;

/// Normal and the two tangents that edges lean along, as in MuJoCo: y, or z where the normal is along y, and what is perpendicular to it; of a capsule on a plane its axis.
#[inline(always)]
pub(super) fn pyramid_frames<R: Pack>(
    model: &Model,
    k: &Kinematics<R>,
    contacts: &Contacts<R>,
    out: &mut Vec<[Vec3<R>; 3]>,
) {
    for normal in &contacts.normal {
        let along_y = normal.y.abs().lt(R::constant(0.5)).not();
        out.push(leaning(*normal, Vec3::select(along_y, Vec3::unit(2), Vec3::unit(1))));
    }
    for part in &contacts.slots.parts {
        let pair = &model.pairs[part.origin as usize];
        let shapes = [pair.geom_a, pair.geom_b].map(|geom| &model.geoms[geom].shape);
        let capsule = match shapes {
            [Shape::Plane, Shape::Capsule { .. }] => pair.geom_b,
            [Shape::Capsule { .. }, Shape::Plane] => pair.geom_a,
            _ => continue,
        };
        let (slot, axis) = (part.slot as usize, k.geom_pose[capsule].rotation.columns[2]);
        let normal = contacts.normal[slot];
        // one that stands has no direction along the plane
        let lies = R::constant(1e-6).lt(axis.cross(normal).norm()).and(R::Mask::from_bits(part.lanes));
        let frame = leaning(normal, Vec3::select(lies, axis, out[slot][1]));
        for i in 0..3 {
            out[slot][i] = Vec3::select(lies, frame[i], out[slot][i]);
        }
    }
}

/// A unit normal n, the unit vector across it that is nearest to `way`, and n × that.
#[inline(always)]
fn leaning<R: Real>(normal: Vec3<R>, way: Vec3<R>) -> [Vec3<R>; 3] {
    let across = normal.mul_add(-normal.dot(way), way);
    let across = across.scale(R::one() / across.norm());
    [normal, across, normal.cross(across)]
}

/// n ± μ t₁, n ± μ t₂ of what n, t₁ and t₂ have; without friction n, and nothing.
#[inline(always)]
fn edges<R: Real>(friction: R, [n, t1, t2]: [R; 3]) -> [R; EDGES] {
    let (rough, zero) = (R::zero().lt(friction), R::zero());
    let (a, b) = (friction * t1, friction * t2);
    [n + a, R::select(rough, n - a, zero), R::select(rough, n + b, zero), R::select(rough, n - b, zero)]
}

/// n ± μ d of what n has and a rotation d; without friction nothing.
#[inline(always)]
fn turning_edges<R: Real>(friction: R, n: R, turn: R) -> [R; 2] {
    let (rough, zero, a) = (R::zero().lt(friction), R::zero(), friction * turn);
    [R::select(rough, n + a, zero), R::select(rough, n - a, zero)]
}

/// μ of the contact in `slot` about its normal and tangents, m; 0 where it has no such friction, and where it does not slide with `sliding` friction.
#[inline(always)]
pub(super) fn turning_friction<R: Pack>(
    plan: &Plan,
    contacts: &Contacts<R>,
    slot: usize,
    sliding: R,
) -> [R; MOST_TURNS] {
    let (rough, mut friction) = (R::zero().lt(sliding), [R::zero(); MOST_TURNS]);
    for part in contacts.slots.parts_of(slot) {
        let pair = &plan.model.pairs[part.origin as usize];
        let [first, second] = pair.rolling.unwrap_or_default();
        let directions = if pair.condim == 1 { 0 } else { pair.condim - 3 };
        let has = R::Mask::from_bits(part.lanes);
        for (i, mu) in [pair.torsion.unwrap_or_default(), first, second].into_iter().enumerate().take(directions) {
            friction[i] = R::select(has, R::constant(mu.max(LEAST_FRICTION)), friction[i]);
        }
    }
    for mu in &mut friction {
        *mu = R::select(rough, *mu, R::zero());
    }
    friction
}

/// Of the rows of a tile, three a contact and its rotations, makes those of the edges.
#[inline(always)]
pub(super) fn pyramids<R: Pack>(plan: &Plan, tile: &Tile<'_, R>, posed: &mut Posed<R>) {
    let (nv, words, edge_count) = (plan.model.nv(), plan.rows.words, plan.islands.edges);
    let turn_count = turn_count(edge_count);
    let Posed { contacts, rows, .. } = posed;
    let contact_slots = contacts.gap.len();
    rows.edges = edge_count;
    let mut to = std::mem::take(&mut rows.spare);
    let row_count = edge_count * contact_slots + rows.free.len() - 3 * contact_slots;
    to.y.resize(row_count * nv, R::zero());
    to.free.resize(row_count, R::zero());
    to.previous.resize(row_count, R::zero());
    to.support.clear();
    for slot in 0..contact_slots {
        let [friction, _] = surface(plan, tile.parameters, contacts, slot);
        rows.friction.push(friction);
        let support = &rows.support[slot * words..(slot + 1) * words];
        let (first, edge) = (3 * slot, edge_count * slot);
        let y = &mut to.y[edge * nv..(edge + edge_count) * nv];
        for dof in Bits::of(support) {
            let along = [rows.y[first * nv + dof], rows.y[(first + 1) * nv + dof], rows.y[(first + 2) * nv + dof]];
            let along = edges(friction, along);
            for e in 0..EDGES {
                y[e * nv + dof] = along[e];
            }
        }
        for (from, to) in [(&rows.free, &mut to.free), (&rows.previous, &mut to.previous)] {
            let along = edges(friction, [from[first], from[first + 1], from[first + 2]]);
            to[edge..edge + EDGES].copy_from_slice(&along);
        }
        if turn_count > 0 {
            let friction = turning_friction(plan, contacts, slot, friction);
            rows.turns.friction.push(friction);
            for i in 0..turn_count {
                let (turn, plus, minus) = (turn_count * slot + i, EDGES + 2 * i, EDGES + 2 * i + 1);
                for dof in Bits::of(support) {
                    let [a, b] = turning_edges(friction[i], rows.y[first * nv + dof], rows.turns.y[turn * nv + dof]);
                    (y[plus * nv + dof], y[minus * nv + dof]) = (a, b);
                }
                let edges = turning_edges(friction[i], rows.free[first], rows.turns.free[turn]);
                to.free[edge + plus..][..2].copy_from_slice(&edges);
                let edges = turning_edges(friction[i], rows.previous[first], rows.turns.previous[turn]);
                to.previous[edge + plus..][..2].copy_from_slice(&edges);
            }
        }
        for _ in 0..edge_count {
            to.support.extend_from_slice(support);
        }
    }
    let (first, edge) = (3 * contact_slots, edge_count * contact_slots);
    to.y[edge * nv..].copy_from_slice(&rows.y[first * nv..]);
    to.free[edge..].copy_from_slice(&rows.free[first..]);
    to.previous[edge..].copy_from_slice(&rows.previous[first..]);
    to.support.extend_from_slice(&rows.support[contact_slots * words..]);
    std::mem::swap(&mut to.y, &mut rows.y);
    std::mem::swap(&mut to.free, &mut rows.free);
    std::mem::swap(&mut to.previous, &mut rows.previous);
    std::mem::swap(&mut to.support, &mut rows.support);
    rows.spare = to;
}

/// Target and compliance of the edges of a contact slot, which are rows already.
#[inline(always)]
pub(super) fn soften_edges<R: Pack>(plan: &Plan, soft: &SoftPlan, slot: usize, posed: &mut Posed<R>) {
    let Posed { contacts, rows, .. } = posed;
    let (friction, gap, edges) = (rows.friction[slot], contacts.gap[slot], rows.edges);
    let (rough, square) = (R::zero().lt(friction), friction * friction);
    let share = R::constant(2.0 / soft.contact.ratio) * square * (R::one() + square);
    for part in contacts.slots.parts_of(slot) {
        let lanes = R::Mask::from_bits(part.lanes);
        let of = &soft.pair[part.origin as usize];
        let impedance = of.impedance(gap.abs());
        let softness = of.compliance(impedance);
        let compliance = R::select(rough, share * softness, softness);
        let yields = (of, [impedance, gap, compliance]);
        // an edge that there is not has nothing to reach
        let held = lanes.and(rough);
        for e in 0..EDGES {
            soften_edge(plan.dt, yields, [lanes, if e == 0 { lanes } else { held }], edges * slot + e, rows);
        }
        for e in EDGES..edges {
            let turns = lanes.and(R::zero().lt(rows.turns.friction[slot][(e - EDGES) / 2]));
            soften_edge(plan.dt, yields, [lanes, turns], edges * slot + e, rows);
        }
    }
}

/// Target, where `there`, and compliance, in `lanes`, of one edge of contacts with this impedance at this gap.
#[inline(always)]
fn soften_edge<R: Pack>(
    dt: f64,
    (of, [impedance, gap, compliance]): (&Yield, [R; 3]),
    [lanes, there]: [R::Mask; 2],
    edge: usize,
    rows: &mut Rows<R>,
) {
    let target = of.target(dt, rows.previous[edge], impedance, Some(gap));
    let row = &mut rows.soft[edge];
    row.target[0] = R::select(there, target, row.target[0]);
    row.compliance[0] = R::select(lanes, compliance, row.compliance[0]);
}

/// Biases, bounds and first guess of the edges.
#[inline(always)]
pub(super) fn edge_terms<R: Pack>(tile: &Tile<'_, R>, posed: &Posed<R>, batch: &mut Batch<R>) {
    let Posed { contacts, places, rows, .. } = posed;
    for slot in 0..contacts.gap.len() {
        let impulse = remembered(tile, contacts, rows, slot);
        let Some(turning) = rows.turns.friction.get(slot) else {
            let guess = pressed(rows.friction[slot], impulse);
            for e in 0..EDGES {
                edge_term(places, rows, EDGES * slot + e, guess[e], batch);
            }
            continue;
        };
        let torque = remembered_torque(tile, contacts, rows, slot);
        let guess = pressed_turning(rows.friction[slot], *turning, impulse, torque);
        for e in 0..rows.edges {
            edge_term(places, rows, rows.edges * slot + e, guess[e], batch);
        }
    }
}

/// Those of one edge.
#[inline(always)]
fn edge_term<R: Pack>(places: &Places, rows: &Rows<R>, row: usize, guess: R, batch: &mut Batch<R>) {
    let bias = rows.free[row] - rows.soft[row].target[0];
    scalar_row(places, batch, row, [R::zero(), R::constant(f64::INFINITY)], [bias; 2], guess);
}

/// The impulses of the edges that add up to one along normal and tangents: of those the least, as all yield alike.
#[inline(always)]
fn pressed<R: Real>(friction: R, [n, t1, t2]: [R; 3]) -> [R; EDGES] {
    let (zero, half) = (R::zero(), R::constant(0.5));
    let rough = zero.lt(friction);
    let inverse = R::select(rough, R::one() / R::select(rough, friction, R::one()), zero);
    let (a, b) = (t1 * inverse, t2 * inverse);
    // f₁ + f₂ = n/2, but for what is needed along one tangent
    let first = (half * n).min(n - b.abs()).max(a.abs());
    let second = n - first;
    let all = [first + a, first - a, second + b, second - b];
    let mut edges = [R::select(rough, half * all[0], n).max(zero); EDGES];
    for e in 1..EDGES {
        edges[e] = R::select(rough, half * all[e], zero).max(zero);
    }
    edges
}

/// The same with rotations: all that is pressed is shared out by axes, of which each needs what it transmits over its friction, and the others an equal part of the rest.
#[inline(always)]
fn pressed_turning<R: Real>(
    friction: R,
    turning: [R; MOST_TURNS],
    [n, t1, t2]: [R; 3],
    torque: [R; MOST_TURNS],
) -> [R; MOST_EDGES] {
    let (zero, one) = (R::zero(), R::one());
    let friction = [friction, friction, turning[0], turning[1], turning[2]];
    let along = [t1, t2, torque[0], torque[1], torque[2]];
    let (mut need, mut has) = ([zero; AXES], [zero; AXES]);
    for i in 0..AXES {
        let rough = zero.lt(friction[i]);
        need[i] = R::select(rough, along[i] / R::select(rough, friction[i], one), zero);
        has[i] = R::select(rough, one, zero);
    }
    // Σ max(|a_i|, s) = n, found from the mean on: every pass takes out who needs more than the others have
    let mut level = n;
    for _ in 0..AXES {
        let (mut rest, mut count) = (n, zero);
        for i in 0..AXES {
            let more = level.lt(need[i].abs());
            rest -= R::select(more, need[i].abs(), zero);
            count += R::select(more, zero, has[i]);
        }
        level = R::select(zero.lt(count), rest / count.max(one), zero).max(zero);
    }
    let mut edges = [zero; MOST_EDGES];
    for i in 0..AXES {
        // f₊ + f₋ = max(|a|, s), f₊ − f₋ = a
        let all = has[i] * need[i].abs().max(level);
        edges[2 * i] = R::constant(0.5) * (all + need[i]);
        edges[2 * i + 1] = R::constant(0.5) * (all - need[i]);
    }
    let rough = zero.lt(friction[0]);
    edges[0] = R::select(rough, edges[0], n.max(zero));
    edges
}

#[cfg(test)]
mod tests {
    use super::{edges, pressed, pressed_turning};

    /// What edges press adds up to what they are to: also at the limit of friction, along one tangent and along both.
    #[test]
    fn edges_press_what_a_contact_does() {
        for (n, t1, t2) in [(2.0, 0.1, -0.2), (1.0, -0.5, 0.0), (1.0, 0.3, 0.2), (3.0, 0.0, 0.0), (0.0, 0.0, 0.0)] {
            let friction = 0.5;
            let f = pressed::<f64>(friction, [n, t1, t2]);
            assert!(f.iter().all(|f| *f >= 0.0), "{f:?}");
            let sums = [f.iter().sum::<f64>(), friction * (f[0] - f[1]), friction * (f[2] - f[3])];
            assert!(sums.iter().zip([n, t1, t2]).all(|(a, b)| (a - b).abs() < 1e-12), "{sums:?}");
        }
        let turning = [0.02, 0.01, 0.005];
        for (n, [t1, t2], torque) in [
            (2.0, [0.1, -0.2], [0.0, 0.0, 0.0]),
            (1.0, [0.0, 0.0], [-0.02, 0.0, 0.0]),
            (1.0, [0.2, -0.1], [0.004, 0.0, 0.001]),
            (0.0, [0.0, 0.0], [0.0, 0.0, 0.0]),
        ] {
            let friction = 0.5;
            let f = pressed_turning::<f64>(friction, turning, [n, t1, t2], torque);
            assert!(f.iter().all(|f| *f >= -1e-15), "{f:?}");
            let of = |i: usize, mu: f64| mu * (f[2 * i] - f[2 * i + 1]);
            let sums = [f.iter().sum::<f64>(), of(0, friction), of(1, friction)];
            assert!(sums.iter().zip([n, t1, t2]).all(|(a, b)| (a - b).abs() < 1e-12), "{sums:?}");
            assert!((0..3).all(|i| (of(2 + i, turning[i]) - torque[i]).abs() < 1e-12), "{f:?}");
        }
        // what has no such friction gets nothing
        let f = pressed_turning::<f64>(0.5, [0.02, 0.0, 0.0], [6.0, 0.0, 0.0], [0.0; 3]);
        assert_eq!(f, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(pressed_turning::<f64>(0.0, [0.0; 3], [2.0, 0.0, 0.0], [0.0; 3])[..2], [2.0, 0.0]);
        assert_eq!(pressed::<f64>(0.0, [2.0, 0.0, 0.0]), [2.0, 0.0, 0.0, 0.0]);
        assert_eq!(edges::<f64>(0.0, [2.0, 1.0, 1.0]), [2.0, 0.0, 0.0, 0.0]);
    }
}
