//! The formulas of patches, recorded for one model, as those of [`super::formulas`].

use super::formulas::{add_rows, bounced, dot, parts, triple};
use super::layout::{Layout, PATCH_OWN};
use crate::dynamics::Response;
use crate::lane::{Mask, Program, Real, record};
use crate::solver::{PATCH_LEN, PATCH_ROWS, linear_law};
use crate::spatial::Motion;
use crate::step::{
    Outline, Pace, Plan, Transmitted, face_radius, position_bias, slope_targets, solve_rows, targets, torsion_radius,
    vertex_rate,
};

pub(super) use crate::solver::SEVEN_ROWS as ROWS;

/// The recorded formulas.
#[derive(Debug)]
pub(super) struct PatchFormulas {
    /// A patch, its rows as a contact, and the motion → its further rows.
    pub rows: Program,
    /// A patch, its velocities, friction and pace, and what it transmitted before → biases, first guess and what it is.
    pub terms: Program,
    /// z, m, Y and λ → z + Y λ and m + |Y| |λ|.
    pub add: Program,
    /// z, m, Y and b → u = b + Yᵀ z, and the sums of the magnitudes of their terms.
    pub sums: Program,
    /// z, Y and b → u.
    pub velocity: Program,
    /// z, Y and the change of λ → z.
    pub pushed: Program,
    /// The same as `add` for one component of z.
    pub add_to_one: Program,
    /// u, λ, diagonal of W, what the patch is, μ and δ → M and g of Δλ = g − M Δu, shape \[row\]\[row, and g\].
    pub law: Program,
}

impl PatchFormulas {
    pub fn new(plan: &Plan, layout: &Layout) -> Self {
        let (nv, inputs) = (layout.nv, layout.patch_row_lengths().iter().sum());
        Self {
            rows: record(inputs, |x| rows(plan, layout, x)),
            terms: record(TERM_INPUTS, |x| terms(plan, layout, x)),
            add: record((2 + ROWS) * nv + ROWS, |x| add_rows(nv, ROWS, x)),
            sums: record((2 + ROWS) * nv + ROWS, |x| sums(nv, x)),
            velocity: record((1 + ROWS) * nv + ROWS, |x| velocity(nv, x)),
            pushed: record((1 + ROWS) * nv + ROWS, |x| pushed(nv, x)),
            add_to_one: record(2 + 2 * ROWS, |x| add_rows(1, ROWS, x)),
            law: record(3 * ROWS + PATCH_LEN + 2, |x| law(plan.settings.compliance, x)),
        }
    }
}

/// Y of the further rows, [`PATCH_OWN`] with the compliance of the normals, u*, u before the step, and ū with Runge-Kutta.
pub(super) fn rows<R: Real>(plan: &Plan, layout: &Layout, x: &[R]) -> Vec<R> {
    let (model, nv, zero) = (&*plan.model, layout.nv, R::zero());
    let [own, vertices, rest, sign, reference, subspace, factor, inverse_root, free, v, mean] =
        parts(x, layout.patch_row_lengths());
    let (disc, normal) = (zero.lt(rest[0]), triple(rest, 1));
    let present = [0, 1, 2].map(|k| zero.lt(vertices[7 * k]));
    let mut more = vec![vec![zero; nv]; PATCH_ROWS];
    for d in 0..nv {
        let motion = Motion { angular: triple(subspace, 6 * d), linear: triple(subspace, 6 * d + 3) };
        let reference = triple(reference, 3 * model.dofs[d].tree);
        for k in 0..PATCH_ROWS - 1 {
            let (position, normal) = (triple(vertices, 7 * k + 1), triple(vertices, 7 * k + 4));
            let rate = vertex_rate(normal, motion, position - reference, disc) * sign[d];
            more[k][d] = R::select(present[k], rate, zero);
        }
        more[PATCH_ROWS - 1][d] = normal.dot(motion.angular) * sign[d];
    }
    let all = if layout.centered { vec![free, v, mean] } else { vec![free, v] };
    let velocities: Vec<R> = all.iter().flat_map(|v| more.iter().map(|y| dot(y, v)).collect::<Vec<_>>()).collect();
    let mut response = Response::new(model);
    response.factor.copy_from_slice(factor);
    response.inverse_root.copy_from_slice(inverse_root);
    let [y0, y1, y2, y3] = &mut more[..] else { return Vec::new() };
    solve_rows(model, &response, &layout.every_dof, &mut [y0, y1, y2, y3]);
    let y = |i: usize| if i < 3 { &own[i * nv..(i + 1) * nv] } else { &more[i - 3][..] };
    let mut out: Vec<R> = more.iter().flatten().copied().collect();
    for (i, j) in PATCH_OWN {
        let mut entry = dot(y(i), y(j));
        // of a disc its centre yields
        let yields = if i == 0 { R::Mask::splat(true) } else { disc.not() };
        if i == j && i != 1 && i != 2 && i != ROWS - 1 && plan.settings.compliance > 0.0 {
            let there = if i == 0 { yields } else { yields.and(present[i - 3]) };
            entry += R::select(there, R::constant(plan.settings.compliance), zero);
        }
        out.push(entry);
    }
    out.extend(velocities);
    out
}

/// Gaps of the vertices; arm and lowest point of a disc, whether it is one, presence of the further vertices; positions; frame; u*, u before the step and ū of all rows; friction, restitution, pace
/// (fastest, kick), how e_r is found and its numbers; pressures, friction and torsion of before.
const TERM_LENGTHS: [usize; 10] = [4, 2, 1, 3, 12, 9, 3 * ROWS, 4, 4, 8];
pub(super) const TERM_INPUTS: usize = {
    let (mut sum, mut k) = (0, 0);
    while k < TERM_LENGTHS.len() {
        (sum, k) = (sum + TERM_LENGTHS[k], k + 1);
    }
    sum
};

/// Biases of the velocity problem and of the position problem, the first guess, and what the patch is, as [`crate::solver::Group::patches`] has it.
pub(super) fn terms<R: Real>(plan: &Plan, layout: &Layout, x: &[R]) -> Vec<R> {
    let (settings, dt, zero, one) = (&plan.settings, R::constant(plan.dt), R::zero(), R::one());
    let [gap, round, disc, present, positions, frame, velocities, surface, form, before] = parts(x, TERM_LENGTHS);
    let [free, previous, mean] = parts(velocities, [ROWS; 3]);
    let &[friction, restitution, fastest, kick] = surface else { return Vec::new() };
    let outline = Outline {
        present: [0, 1, 2].map(|k| zero.lt(present[k])),
        disc: zero.lt(disc[0]),
        offset: [1, 2, 3].map(|k| triple(positions, 3 * k) - triple(positions, 0)),
        arm: round[0],
        lowest: round[1],
    };
    let (mut bias, mut position_bias_of) = (free.to_vec(), Vec::new());
    for mean in mean {
        position_bias_of.push(position_bias(layout.centered, *mean, zero));
    }
    // the normals
    for (k, i) in super::layout::NORMALS.into_iter().enumerate() {
        let motion = |i: usize| [previous[i], free[i], mean[i]];
        let (mut own, mut moves, mut less) = (gap[k], motion(i), zero);
        if k == 0 {
            let [_, t, o, _] = super::layout::NORMALS;
            (own, moves, less) = outline.striker(dt, [own, gap[1], gap[2]], [moves, motion(t), motion(o)]);
        }
        let [u, u_free, u_mean] = moves;
        let closing = targets(settings, dt, own);
        let mut goal = bounced(plan, layout, [own, u, u_free, u_mean, restitution], Pace { fastest, kick }, closing);
        if k == 0 {
            goal = goal.map(|target| target - less);
        }
        let mut there = R::Mask::splat(true);
        if k > 0 {
            goal = slope_targets(outline.disc, dt, gap[k], goal);
            there = outline.present[k - 1];
        }
        bias[i] = R::select(there, free[i] - goal[0], zero);
        position_bias_of[i] = R::select(there, position_bias(layout.centered, mean[i], goal[1]), zero);
    }
    let tangents = [triple(frame, 3), triple(frame, 6)];
    let lever = outline.levers(tangents);
    let mut pressure = [before[0], before[1], before[2], before[3]];
    for k in 1..4 {
        pressure[k] = R::select(outline.present[k - 1], pressure[k], zero);
    }
    let guess = Transmitted { feature: [zero; 4], pressure, friction: triple(before, 4), torsion: before[7] };
    let [f_t, f_o, torsion] = outline.frictions(&lever, tangents, &guess);
    let [p0, p1, p2, p3] = pressure;
    // 0: by uniform pressure, 1: by a coefficient, 2: as the model gives them
    let (given, by_coefficient) = (R::constant(1.5).lt(form[0]), R::constant(0.5).lt(form[0]));
    let e_r = R::select(by_coefficient, torsion_radius(form[1], friction), face_radius(&outline, &lever));
    let ellipsoid = [(one, form[1]), (one, form[2]), (e_r, form[3])].map(|(own, said)| R::select(given, said, own));
    let mut out = bias;
    out.extend(position_bias_of);
    out.extend([p0, f_t, f_o, p1, p2, p3, torsion]);
    out.extend(ellipsoid);
    out.push(R::select(outline.disc, one, zero));
    out.extend(lever.iter().flatten());
    out
}

/// u = b + Yᵀ z of all rows, and |b| + |Y|ᵀ m.
fn sums<R: Real>(nv: usize, x: &[R]) -> Vec<R> {
    let [z, m, y, bias] = parts(x, [nv, nv, ROWS * nv, ROWS]);
    let mut out: Vec<R> = (0..ROWS).map(|i| bias[i] + dot(&y[i * nv..(i + 1) * nv], z)).collect();
    for i in 0..ROWS {
        let mut sum = bias[i].abs();
        for d in 0..nv {
            sum = y[i * nv + d].abs().mul_add(m[d], sum);
        }
        out.push(sum);
    }
    out
}

fn velocity<R: Real>(nv: usize, x: &[R]) -> Vec<R> {
    let [z, y, bias] = parts(x, [nv, ROWS * nv, ROWS]);
    (0..ROWS).map(|i| bias[i] + dot(&y[i * nv..(i + 1) * nv], z)).collect()
}

fn law<R: Real>(compliance: f64, x: &[R]) -> Vec<R> {
    let [u, impulse, diagonal, shape, rest] = parts(x, [ROWS, ROWS, ROWS, PATCH_LEN, 2]);
    let of = |x: &[R]| [0, 1, 2, 3, 4, 5, 6].map(|i| x[i]);
    linear_law([of(u), of(impulse), of(diagonal)], shape, rest[0], rest[1], compliance).concat()
}

fn pushed<R: Real>(nv: usize, x: &[R]) -> Vec<R> {
    let [z, y, change] = parts(x, [nv, ROWS * nv, ROWS]);
    let mut z = z.to_vec();
    for i in 0..ROWS {
        for d in 0..nv {
            z[d] = y[i * nv + d].mul_add(change[i], z[d]);
        }
    }
    z
}
