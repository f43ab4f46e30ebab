//! The formulas of the step, recorded for one model: what a shader does between its loops.
//!
//! Each is a plain function over [`Real`] that takes its numbers in a row and gives its results in a row; [`Formulas`] names both. The stages of the CPU
//! are called as they are.

use super::layout::{Layout, PointFormula};
use crate::contact::{Drift, disc_moved, disc_on_plane, moved, near_bounds, no_points, points, undecided, within};
use crate::dynamics::{Dynamics, Response, integrate, solve_lower};
use crate::equality::{Equalities, equalities};
use crate::kinematics::Kinematics;
use crate::lane::{Mask, Program, Real, record};
use crate::limit::{approach, pulls};
use crate::parameters::{SharedParameters, TileParameters};
use crate::runge_kutta::{Whole, keep_momentum, whole_trees};
use crate::solver::formulas::{
    Mode, contact_impulse, contact_mass, contact_residual, contact_steps, expand, feasible, inverse, project_interval,
    row_residual, tests, update_contact,
};
use crate::solver::{FrictionLaw, LAW_BOX, LAW_CONE};
use crate::spatial::{Mat3, Motion, Pose, Vec3, tangent_frame, vec3};
use crate::step::{
    Approach, Memory, Pace, Plan, Posed, Scratch, Tile, drift, equality_target, free_motion, position_bias, solve_rows,
    targets,
};

/// The recorded formulas of a model.
#[derive(Debug)]
pub(super) struct Formulas {
    /// State and inputs → all that the rest of the step needs of the free motion, as [`Layout`] lists it.
    pub motion: Program,
    /// Two poses, lengths, threshold and size → up to four points and, for a capsule and a box, whether nobody knows the way out.
    pub points: Vec<(PointFormula, Program)>,
    /// A contact and the motion → its rows.
    pub contact_rows: Program,
    /// A contact's gap, velocities (u, u*, ū), restitution and the pace of its world → its two targets.
    pub contact_targets: Program,
    /// Friction and a remembered impulse, in the frame of the contact → the first guess.
    pub first_guess: Program,
    /// One update of Gauss-Seidel: of sweeps by themselves, which solve the contact, and of those after a step of Newton, which project it.
    pub sweep_contact: Program,
    pub project_contact: Program,
    pub sweep_scalar: Program,
    /// z ← z + Y λ, and the sum of the terms' magnitudes.
    pub add_contact: Program,
    pub add_scalar: Program,
    /// The same of one component of z.
    pub add_contact_to_one: Program,
    pub add_scalar_to_one: Program,
    /// Residual of a row, and the largest sum of the magnitudes of its terms.
    pub check_contact: Program,
    pub check_scalar: Program,
    /// The law of a row as Newton sees it, λ' = h − M u': M and h.
    pub contact_law: Program,
    pub scalar_law: Program,
    /// q, motion, z of both problems, mass scale and which trees are left alone → q⁺, v⁺.
    pub finish: Program,
}

impl Formulas {
    pub fn new(plan: &Plan, layout: &Layout) -> Self {
        let nv = layout.nv;
        let law = law(plan);
        let compliance = plan.settings.compliance;
        let asked = |formula: &PointFormula| layout.pairs.iter().any(|pair| pair.formula == Some(*formula));
        let points = PointFormula::all().filter(asked);
        Self {
            motion: record(layout.inputs(), |x| motion(plan, layout, x)),
            points: points.map(|formula| (formula, record(POINT_INPUTS, |x| pair_points(formula, x)))).collect(),
            contact_rows: record(layout.contact_row_inputs(), |x| contact_rows(plan, layout, x)),
            contact_targets: record(7, |x| contact_targets(plan, layout, x)),
            first_guess: record(4, |x| feasible(law, [x[0], x[1], x[2]], x[3]).to_vec()),
            sweep_contact: record(4 * nv + 13, |x| sweep_contact(law, law == LAW_CONE, compliance, nv, x)),
            project_contact: record(4 * nv + 13, |x| sweep_contact(law, false, compliance, nv, x)),
            sweep_scalar: record(2 * nv + 5, |x| sweep_scalar(nv, x)),
            add_contact: record(5 * nv + 3, |x| add_rows(nv, 3, x)),
            add_scalar: record(3 * nv + 1, |x| add_rows(nv, 1, x)),
            add_contact_to_one: record(2 + 3 + 3, |x| add_rows(1, 3, x)),
            add_scalar_to_one: record(2 + 1 + 1, |x| add_rows(1, 1, x)),
            check_contact: record(5 * nv + 10, |x| check_contact(law, compliance, nv, x)),
            check_scalar: record(3 * nv + 5, |x| check_scalar(nv, x)),
            contact_law: record(11, |x| contact_law(compliance, x)),
            scalar_law: record(6, scalar_law),
            finish: record(layout.finish_inputs(), |x| finish(plan, layout, x)),
        }
    }
}

/// The law of a contact that is a point.
pub(super) fn law(plan: &Plan) -> u32 {
    if plan.settings.solve().law == FrictionLaw::Box { LAW_BOX } else { LAW_CONE }
}

/// Cuts `x` into parts of the given lengths.
pub(super) fn parts<const N: usize, R>(x: &[R], lengths: [usize; N]) -> [&[R]; N] {
    let mut rest = x;
    lengths.map(|len| {
        let (part, after) = rest.split_at(len);
        rest = after;
        part
    })
}

pub(super) fn triple<R: Real>(x: &[R], at: usize) -> Vec3<R> {
    vec3(x[at], x[at + 1], x[at + 2])
}

pub(super) fn put<R: Real>(v: Vec3<R>, out: &mut Vec<R>) {
    out.extend([v.x, v.y, v.z]);
}

/// Stages 1 to 4, and all rows that do not depend on contacts.
pub(super) fn motion<R: Real>(plan: &Plan, layout: &Layout, x: &[R]) -> Vec<R> {
    let model = &*plan.model;
    let [q, v, control, external, gravity, mass_scale, gain_scale] = parts(x, layout.input_lengths());
    let shared = SharedParameters::new(model);
    let (mut scratch, mut posed) = (Scratch::<R>::new(model), Posed::<R>::new(model));
    let (mut own_q, mut own_v, mut drive, mut memory) = (q.to_vec(), v.to_vec(), control.to_vec(), Memory::default());
    // worlds with others of their own are stepped by the CPU
    let parameters = TileParameters { gravity, mass_scale, gain_scale, ..shared.tile() };
    let (q, v, drive, memory) = (&mut *own_q, &mut *own_v, &mut *drive, &mut memory);
    let tile = Tile { lane_count: 1, q, v, drive, evaluation: 0, external, parameters, memory };
    free_motion(plan, &tile, &mut scratch, &mut posed);
    drift(plan, &[], &mut scratch);
    let mut out = Vec::new();
    for (pose, drift) in scratch.kinematics.geom_pose.iter().zip(&scratch.drift) {
        put(pose.position, &mut out);
        pose.rotation.columns.iter().for_each(|c| put(*c, &mut out));
        out.push(drift.travel);
    }
    // of every body: the shift of its geoms
    for b in 0..model.bodies.len() {
        let geom = model.geoms.iter().position(|g| g.body == b);
        let shift = geom.map_or(Motion::zero(), |g| scratch.drift[g].shift);
        put(shift.angular, &mut out);
        put(shift.linear, &mut out);
    }
    scratch.kinematics.reference.iter().for_each(|o| put(*o, &mut out));
    for s in &scratch.kinematics.motion_subspace {
        put(s.angular, &mut out);
        put(s.linear, &mut out);
    }
    let response = &posed.response;
    out.extend(&response.factor);
    out.extend(&response.inverse_root);
    out.extend(&response.free_velocity);
    if layout.centered {
        out.extend(&response.mean_velocity);
    }
    joint_rows(plan, layout, [q, v], &scratch.kinematics, response, &mut out);
    equality_rows(plan, layout, q, &scratch, response, &mut out);
    out
}

/// Joint rows: whether each acts, W, both biases, and Y.
fn joint_rows<R: Real>(
    plan: &Plan,
    layout: &Layout,
    [q, v]: [&[R]; 2],
    k: &Kinematics<R>,
    response: &Response<R>,
    out: &mut Vec<R>,
) {
    let (model, dt) = (&*plan.model, R::constant(plan.dt));
    for row in &plan.joint_rows {
        let near = approach(model, *row, k, [q, v, moving(layout, response)]);
        let acts = match row.friction_loss(model) {
            Some(_) => R::one(),
            None => R::select(near.acts(dt, plan.settings.contact_speed), R::one(), R::zero()),
        };
        let acts = pulls(model, *row, k).map_or(acts, |pulls| R::select(pulls, acts, R::zero()));
        let mut y = vec![R::zero(); layout.nv];
        for entry in row.jacobian(model) {
            y[entry.dof] = entry.along(k, near.direction);
        }
        scalar_row(plan, layout, response, acts, targets(&plan.settings, dt, near.gap), y, out);
    }
}

/// The velocity that moves q in free motion.
fn moving<'a, R: Real>(layout: &Layout, response: &'a Response<R>) -> &'a [R] {
    if layout.centered { &response.mean_velocity } else { &response.free_velocity }
}

/// Bilateral rows, likewise.
fn equality_rows<R: Real>(
    plan: &Plan,
    layout: &Layout,
    q: &[R],
    scratch: &Scratch<R>,
    response: &Response<R>,
    out: &mut Vec<R>,
) {
    let mut all = Equalities::default();
    equalities(&plan.model, &plan.equalities, q, &scratch.kinematics, &mut all);
    for (i, error) in all.error.iter().enumerate() {
        let y = all.jacobian[i * layout.nv..(i + 1) * layout.nv].to_vec();
        scalar_row(plan, layout, response, R::one(), (R::zero(), equality_target(plan, *error)), y, out);
    }
}

fn scalar_row<R: Real>(
    plan: &Plan,
    layout: &Layout,
    response: &Response<R>,
    acts: R,
    (target, position_target): (R, R),
    mut y: Vec<R>,
    out: &mut Vec<R>,
) {
    let velocity_bias = dot(&y, &response.free_velocity) - target;
    let position_bias = position_bias(layout.centered, dot(&y, moving(layout, response)), position_target);
    solve_rows(&plan.model, response, &layout.every_dof, &mut [&mut y]);
    out.extend([acts, dot(&y, &y), velocity_bias, position_bias]);
    out.extend(y);
}

/// a · b in [`SUMS`] sums, none of which waits for another: one invocation sweeps a world, and what it waits for is most of its time.
pub(super) fn dot<R: Real>(a: &[R], b: &[R]) -> R {
    let count = if a.len() < 2 * SUMS { 1 } else { SUMS };
    let mut sums = [R::zero(); SUMS];
    for (k, (a, b)) in a.iter().zip(b).enumerate() {
        sums[k % count] = a.mul_add(*b, sums[k % count]);
    }
    if count == 1 { sums[0] } else { (sums[0] + sums[1]) + (sums[2] + sums[3]) }
}

/// Sums of a product of two vectors.
const SUMS: usize = 4;

/// Two poses of 12 numbers, two times three lengths, threshold, size, margin; shift and reference of both geoms.
pub(super) const POINT_INPUTS: usize = 2 * 12 + 6 + 3 + 2 * 9;
/// Numbers of a point: position, normal, gap less the margin, feature, 1 where it is within the threshold, overlap after the free motion, gap after the free
/// motion towards it.
pub(super) const POINT_LEN: usize = 11;

/// Numbers of the points of a pair: of four points, and 1 where the formula leaves them open.
pub(super) const POINTS_LEN: usize = 4 * POINT_LEN + 1;
/// What follows for [`PointFormula::Discs`]: 1 where they are a disc, R times the cosine by which it leans, and the gap of its lowest point less the margin.
pub(super) const DISC_LEN: usize = 3;

/// A pose of the inputs of a pair.
fn pose<R: Real>(x: &[R], at: usize) -> Pose<R> {
    let columns = [triple(x, at + 3), triple(x, at + 6), triple(x, at + 9)];
    Pose { position: triple(x, at), rotation: Mat3 { columns } }
}

/// Four points; and 1 where they are left open. As `collide` has them.
fn pair_points<R: Real>(formula: PointFormula, x: &[R]) -> Vec<R> {
    let pose = |at: usize| pose(x, at);
    let lengths = [[x[24], x[25], x[26]], [x[27], x[28], x[29]]];
    let shapes = match formula {
        PointFormula::Points(shapes) => shapes,
        PointFormula::Discs => return disc_points(x),
        PointFormula::Near(bounds) => {
            let near = near_bounds([&pose(0), &pose(12)], bounds, lengths, x[30]);
            let mut out = vec![R::zero(); POINTS_LEN];
            out[8] = R::select(near, R::one(), R::zero());
            return out;
        }
    };
    let mut found = no_points();
    points(shapes, [&pose(0), &pose(12)], lengths, x[30], x[31], &mut found);
    let mut out = Vec::with_capacity(POINTS_LEN);
    let shift = |at: usize| {
        let shift = Motion { angular: triple(x, at), linear: triple(x, at + 3) };
        move |position: Vec3<R>| shift.at(position - triple(x, at + 6))
    };
    let (shift_a, shift_b) = (shift(33), shift(42));
    for point in &found {
        let kept = point.gap.lt(x[30]);
        let gap = point.gap - x[32];
        let moved = moved(gap, point.normal, shift_a(point.position), shift_b(point.position));
        put(point.position, &mut out);
        put(point.normal, &mut out);
        out.extend([gap, point.feature, R::select(kept, R::one(), R::zero()), moved[0], moved[1]]);
    }
    out.push(R::select(undecided(shapes, &found, lengths[0]), R::one(), R::zero()));
    out
}

/// The points of a cylinder over a plane that stay together, or its disc, of which the first is the centre, and the next two its slopes.
fn disc_points<R: Real>(x: &[R]) -> Vec<R> {
    let (zero, one) = (R::zero(), R::one());
    let (mut points, mut disc) = disc_on_plane(&pose(x, 0), &pose(x, 12), [x[27], x[28]], false);
    let (threshold, margin) = (x[30], x[32]);
    let present = within(&points, &mut disc, threshold);
    disc.lowest -= margin;
    let drift = |at: usize| Drift {
        shift: Motion { angular: triple(x, at), linear: triple(x, at + 3) },
        reference: triple(x, at + 6),
        travel: zero,
    };
    let (da, db) = (drift(33), drift(42));
    let mut out = Vec::new();
    let mut flat_after = zero;
    for (k, point) in points.iter_mut().enumerate() {
        // slopes have no margin
        let (shrinks, margin) = (disc.lanes.not().or(R::Mask::splat(k == 0)), margin);
        point.gap -= R::select(present[k].and(shrinks), margin, zero);
        let [mut overlap, mut after] = moved(point.gap, point.normal, da.at(point.position), db.at(point.position));
        if k == 0 {
            let [flat_overlap, after_it] = disc_moved(&disc, point, [&da, &db]);
            overlap = R::select(disc.lanes, flat_overlap, overlap);
            flat_after = after_it;
        } else {
            overlap = R::select(disc.lanes, zero, overlap);
        }
        after = R::select(disc.lanes, flat_after, after);
        put(point.position, &mut out);
        put(point.normal, &mut out);
        out.extend([point.gap, point.feature, R::select(present[k], one, zero), overlap, after]);
    }
    out.extend([zero, R::select(disc.lanes, one, zero), disc.arm, disc.lowest]);
    out
}

/// Frame, Y, W of its own (11, 22, 33, 12, 13, 23), u* and u before the step.
///
/// J_d = s_d · frame · (velocity of the contact point per unit of v_d), s_d = 1 for what moves the second body, −1 for the first, else 0.
fn contact_rows<R: Real>(plan: &Plan, layout: &Layout, x: &[R]) -> Vec<R> {
    let (model, nv) = (&*plan.model, layout.nv);
    let [position, normal, sign, reference, subspace, factor, inverse_root, free, v, mean] =
        parts(x, layout.contact_row_lengths());
    let frame = tangent_frame(triple(normal, 0));
    let mut y = vec![vec![R::zero(); nv]; 3];
    for d in 0..nv {
        let s = Motion { angular: triple(subspace, 6 * d), linear: triple(subspace, 6 * d + 3) };
        let arm = triple(position, 0) - triple(reference, 3 * model.dofs[d].tree);
        let velocity = s.at(arm).scale(sign[d]);
        for i in 0..3 {
            y[i][d] = frame[i].dot(velocity);
        }
    }
    let mut out = Vec::new();
    for axis in frame {
        put(axis, &mut out);
    }
    let all = if layout.centered { vec![free, v, mean] } else { vec![free, v] };
    let velocities: Vec<R> = all.iter().flat_map(|v| [0, 1, 2].map(|i| dot(&y[i], v))).collect();
    let mut response = Response::new(model);
    response.factor.copy_from_slice(factor);
    response.inverse_root.copy_from_slice(inverse_root);
    let [y0, y1, y2] = &mut y[..] else { return out };
    solve_rows(model, &response, &layout.every_dof, &mut [y0, y1, y2]);
    for row in &y {
        out.extend(row);
    }
    for (i, j) in OWN {
        out.push(dot(&y[i], &y[j]));
    }
    out.extend(velocities);
    out
}

/// Rows and columns of the own block of a contact, as they are kept.
const OWN: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];

/// Gap, u, u*, ū, e, fastest and kick → velocity and position target.
fn contact_targets<R: Real>(plan: &Plan, layout: &Layout, x: &[R]) -> Vec<R> {
    let &[gap, u, free, mean, e, fastest, kick] = x else { return Vec::new() };
    let closing = targets(&plan.settings, R::constant(plan.dt), gap);
    bounced(plan, layout, [gap, u, free, mean, e], Pace { fastest, kick }, closing).to_vec()
}

/// Gap, u, u*, ū, e, the pace of the world and the targets without bounce → velocity and position target.
pub(super) fn bounced<R: Real>(
    plan: &Plan,
    layout: &Layout,
    [gap, u, free, mean, e]: [R; 5],
    pace: Pace<R>,
    closing: (R, R),
) -> [R; 2] {
    let (settings, dt) = (&plan.settings, R::constant(plan.dt));
    let threshold = R::constant(settings.restitution_threshold);
    let approach = Approach::new([u, free, mean], layout.centered, gap, e, threshold, dt);
    let elastic = R::zero().lt(e);
    let (target, position_target) = approach.targets(elastic, closing);
    let left_open = elastic.and(approach.reaches.not());
    let thrown = pace.target(threshold, dt, gap, [u, free], target);
    [R::select(left_open, thrown, target), position_target]
}

/// The own block of a contact, with the compliance of its normal.
fn own_block<R: Real>(own: &[R], compliance: f64) -> [[R; 3]; 3] {
    let &[w11, w22, w33, w12, w13, w23] = own else { return [[R::zero(); 3]; 3] };
    [[w11 + R::constant(compliance), w12, w13], [w12, w22, w23], [w13, w23, w33]]
}

/// z, Y, b, λ, W of its own and μ → λ and z. `solves`: what Coulomb's law asks of the contact while the others are held; else the normal, and then the tangents, are projected.
pub(super) fn sweep_contact<R: Real>(law: u32, solves: bool, compliance: f64, nv: usize, x: &[R]) -> Vec<R> {
    let [z, y, bias, old, own, friction] = parts(x, [nv, 3 * nv, 3, 3, 6, 1]);
    let own = own_block(own, compliance);
    let u = contact_velocity(compliance, z, y, bias, old);
    let constants = contact_constants(law, solves, &own);
    let new = contact_update(law, &own, &constants, friction[0], u, [old[0], old[1], old[2]]);
    let mut out = new.to_vec();
    out.extend(pushed(z, y, &new, old));
    out
}

/// What an update of a contact takes of its block of W, the same at every visit: W⁻¹ where it is solved (`solves`, as [`sweep_contact`] has it), else the steps of its rows.
pub(super) fn contact_constants<R: Real>(law: u32, solves: bool, own: &[[R; 3]; 3]) -> Vec<R> {
    if solves { contact_mass(own).to_vec() } else { contact_steps(law, own).to_vec() }
}

/// λ of a contact from its block of W, [`contact_constants`], velocity and impulse.
pub(super) fn contact_update<R: Real>(
    law: u32,
    own: &[[R; 3]; 3],
    constants: &[R],
    friction: R,
    u: [R; 3],
    old: [R; 3],
) -> [R; 3] {
    match *constants {
        [a, b, c, d, e, f] => contact_impulse(own, &[a, b, c, d, e, f], friction, u, old),
        [a, b, c] => update_contact(law, u, old, own, [a, b, c], friction),
        _ => old,
    }
}

/// u = b + Yᵀ z of a contact, and what the compliance of its normal adds.
pub(super) fn contact_velocity<R: Real>(compliance: f64, z: &[R], y: &[R], bias: &[R], impulse: &[R]) -> [R; 3] {
    let nv = z.len();
    let mut u = [0, 1, 2].map(|i| bias[i] + dot(&y[i * nv..(i + 1) * nv], z));
    if compliance > 0.0 {
        u[0] = R::constant(compliance).mul_add(impulse[0], u[0]);
    }
    u
}

/// z + Y (λ' − λ) of some rows.
pub(super) fn pushed<R: Real>(z: &[R], y: &[R], new: &[R], old: &[R]) -> Vec<R> {
    let nv = z.len();
    let push = |d: usize| (0..new.len()).fold(z[d], |z, i| y[i * nv + d].mul_add(new[i] - old[i], z));
    (0..nv).map(push).collect()
}

/// λ ← clamp(λ − u/w, lower, upper) of a scalar row; w: W_ii, or D_i of Jacobi.
pub(super) fn scalar_update<R: Real>(u: R, old: R, w: R, [lower, upper]: [R; 2]) -> R {
    project_interval((-u).mul_add(inverse(w), old), lower, upper)
}

/// z, Y, b, λ, W and bounds → λ and z.
fn sweep_scalar<R: Real>(nv: usize, x: &[R]) -> Vec<R> {
    let [z, y, rest] = parts(x, [nv, nv, 5]);
    let &[bias, old, w, lower, upper] = rest else { return Vec::new() };
    let new = scalar_update(bias + dot(y, z), old, w, [lower, upper]);
    let mut out = vec![new];
    out.extend(pushed(z, y, &[new], &[old]));
    out
}

/// z, m, Y and λ of some rows → z + Y λ and m + |Y| |λ|.
pub(super) fn add_rows<R: Real>(nv: usize, rows: usize, x: &[R]) -> Vec<R> {
    let [z, m, y, impulse] = parts(x, [nv, nv, rows * nv, rows]);
    let mut sums = [z.to_vec(), m.to_vec()];
    for i in 0..rows {
        for d in 0..nv {
            let y = y[i * nv + d];
            sums[0][d] = y.mul_add(impulse[i], sums[0][d]);
            sums[1][d] = y.abs().mul_add(impulse[i].abs(), sums[1][d]);
        }
    }
    sums.concat()
}

/// z, m, Y, b, λ, diagonal of W and μ → residual and magnitude.
pub(super) fn check_contact<R: Real>(law: u32, compliance: f64, nv: usize, x: &[R]) -> Vec<R> {
    let [z, m, y, bias, impulse, diagonal, friction] = parts(x, [nv, nv, 3 * nv, 3, 3, 3, 1]);
    let soft = R::constant(compliance);
    let (mut u, mut magnitude) = ([R::zero(); 3], R::zero());
    for i in 0..3 {
        let y = &y[i * nv..(i + 1) * nv];
        u[i] = bias[i] + dot(y, z);
        let mut sum = bias[i].abs();
        for d in 0..nv {
            sum = y[d].abs().mul_add(m[d], sum);
        }
        if i == 0 && compliance > 0.0 {
            u[0] = soft.mul_add(impulse[0], u[0]);
            sum = soft.mul_add(impulse[0].abs(), sum);
        }
        magnitude = sum.max(magnitude);
    }
    let diagonal = [diagonal[0] + soft, diagonal[1], diagonal[2]];
    vec![contact_residual(law, u, [impulse[0], impulse[1], impulse[2]], diagonal, friction[0]), magnitude]
}

/// z, m, Y, b, λ, W and bounds → residual and magnitude.
fn check_scalar<R: Real>(nv: usize, x: &[R]) -> Vec<R> {
    let [z, m, y, rest] = parts(x, [nv, nv, nv, 5]);
    let &[bias, impulse, w, lower, upper] = rest else { return Vec::new() };
    let mut sum = bias.abs();
    for d in 0..nv {
        sum = y[d].abs().mul_add(m[d], sum);
    }
    vec![row_residual(bias + dot(y, z), impulse, w, lower, upper), sum]
}

/// u, λ, diagonal of W, μ and δ → M and h of λ' = h − M u'.
///
/// The modes of [`Mode`], each unknown by itself: λ' = R (δ + D)⁻¹ (δ Lᵀ λ − Lᵀ u'/w), w the mean diagonal. u' does not hold the compliance of the normal ([`softened`]).
fn contact_law<R: Real>(compliance: f64, x: &[R]) -> Vec<R> {
    let [u, impulse, diagonal, rest] = parts(x, [3, 3, 3, 2]);
    let (friction, delta, soft) = (rest[0], rest[1], R::constant(compliance));
    let diagonal = [diagonal[0] + soft, diagonal[1], diagonal[2]];
    let impulse = [impulse[0], impulse[1], impulse[2]];
    let whole = [u[0] + soft * impulse[0], u[1], u[2]];
    let w = (diagonal[0] + diagonal[1] + diagonal[2]) * R::constant(1.0 / 3.0);
    let p = [0, 1, 2].map(|i| w * impulse[i] - whole[i]);
    let mode = Mode::of(p, friction);
    let share = mode.curvature.map(|d| R::one() / (delta + d));
    let held = tests(&mode, impulse);
    let h = expand(&mode, [0, 1, 2].map(|k| delta * share[k] * held[k]));
    let mut m = [[R::zero(); 3]; 3];
    for (j, unit) in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].into_iter().enumerate() {
        let felt = tests(&mode, unit.map(R::constant));
        let column = expand(&mode, [0, 1, 2].map(|k| share[k] * felt[k] / w));
        (0..3).for_each(|i| m[i][j] = column[i]);
    }
    let mut law = [0, 1, 2].map(|i| [m[i][0], m[i][1], m[i][2], h[i]]);
    softened(compliance, &mut law);
    let mut out: Vec<R> = law.iter().flat_map(|row| row[..3].to_vec()).collect();
    out.extend(law.iter().map(|row| row[3]));
    out
}

/// M and h with compliance c of the normal: (1 + M C) λ' = h − M u', C = diag(c, 0, 0).
fn softened<R: Real>(compliance: f64, law: &mut [[R; 4]; 3]) {
    if compliance > 0.0 {
        let soft = R::constant(compliance);
        let (first, column) = (law[0], [0, 1, 2].map(|i| law[i][0]));
        let held = soft / (R::one() + soft * column[0]);
        for i in 0..3 {
            for j in 0..4 {
                law[i][j] -= column[i] * held * first[j];
            }
        }
    }
}

/// u, λ, W, bounds and δ → M and h.
fn scalar_law<R: Real>(x: &[R]) -> Vec<R> {
    let &[u, impulse, w, lower, upper, delta] = x else { return Vec::new() };
    let p = impulse - u / w;
    let (above, below) = (lower.lt(p), p.lt(upper));
    let free = above.and(below);
    // between the bounds λ' = λ − u'/(δ w), else the bound
    let m = R::select(free, R::one() / (delta * w), R::zero());
    let h = R::select(free, impulse, R::select(above, upper, lower));
    vec![m, h]
}

/// Stages 9 and 10: v⁺ = v* + L⁻¹ D̂^(−1/2) z, and q moved by the velocity of the position problem, likewise.
fn finish<R: Real>(plan: &Plan, layout: &Layout, x: &[R]) -> Vec<R> {
    let model = &*plan.model;
    let [q, factor, inverse_root, free, z, position_z, mean, mass_scale, alone] = parts(x, layout.finish_lengths());
    let velocity = |z: &[R]| {
        let mut out: Vec<R> = z.iter().zip(inverse_root).map(|(z, root)| *z * *root).collect();
        solve_lower(model, factor, &mut [&mut out]);
        out.iter_mut().zip(free).for_each(|(x, free)| *x += *free);
        out
    };
    let (mut v, mut position_velocity) = (velocity(z), velocity(position_z));
    if layout.centered {
        // v̄ + ½ M⁻¹ Jᵀ λ
        for (i, x) in position_velocity.iter_mut().enumerate() {
            *x = R::constant(0.5).mul_add(*x - free[i], mean[i]);
        }
    }
    let dt = R::constant(plan.dt);
    let (mut new, mut free_position) = (q.to_vec(), q.to_vec());
    integrate(model, dt, &position_velocity, &mut new);
    if !layout.free_roots.is_empty() {
        let (mut k, mut d) = (Kinematics::new(model), Dynamics::new(model));
        let (mut free_trees, mut trees) = (vec![Whole::default(); layout.trees], vec![Whole::default(); layout.trees]);
        integrate(model, dt, mean, &mut free_position);
        let shared = SharedParameters::new(model);
        let p = &TileParameters { mass_scale, ..shared.tile() };
        whole_trees(model, p, &free_position, free, &mut k, &mut d, &mut free_trees);
        whole_trees(model, p, &new, &v, &mut k, &mut d, &mut trees);
        for (root, alone) in layout.free_roots.iter().map(|j| &model.joints[*j]).zip(alone) {
            let Some(tree) = model.bodies[root.body].tree else { continue };
            keep_momentum(root, &free_trees[tree], &trees[tree], R::zero().lt(*alone), &mut new, &mut v);
        }
    }
    new.extend(v);
    new
}
