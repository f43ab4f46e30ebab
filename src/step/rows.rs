//! Rows of the constraints: J, u = J v before and without impulses, and Y = D̂^(−1/2) L⁻ᵀ Jᵀ with M + Δt D = Lᵀ D̂ L.
//!
//! W = Yᵀ Y, and the step's velocity change is M⁻¹ Jᵀ λ = L⁻¹ D̂^(−1/2) Y λ. A row of Y is zero beyond the ancestors of the degrees of freedom
//! that J touches, its *support*.

use super::places::slot_rows;
use super::plan::Plan;
use super::posed::{Posed, Rows};
use super::pyramids::pyramid_frames;
use super::supports::{Bits, RowPlan, add_bits};
use crate::contact::{Contacts, PATCH_ROWS};
use crate::dynamics::Response;
use crate::island::{Islands, Part, islands, worlds};
use crate::kinematics::Kinematics;
use crate::lane::{Mask, Pack, PackMask, Real};
use crate::limit::Limits;
use crate::model::{Integrator, Model, Tree};
use crate::spatial::{Motion, Vec3, tangent_frame};

/// Stage 6: the blocks that a tile has. Where a world is one island, it is one block, in its own lane.
#[inline(always)]
pub fn find_islands<R: Pack>(
    plan: &Plan,
    lane_count: usize,
    part: Part<'_>,
    contacts: &Contacts<R>,
    limits: &Limits<R>,
    out: &mut Islands,
) {
    if plan.in_place {
        worlds(&plan.islands, lane_count, contacts, limits, part, out);
    } else {
        islands(&plan.islands, lane_count, contacts, limits, part, out);
    }
}

/// The rows of J for all contacts, joint rows and equalities of a tile, u = J v before and without impulses, and Y.
#[inline(always)]
pub fn constraint_rows<R: Pack>(plan: &Plan, v: &[R], k: &Kinematics<R>, posed: &mut Posed<R>) {
    let model = &*plan.model;
    let Posed { response, contacts, limits, equalities, rows, .. } = posed;
    let mean = (plan.integrator == Integrator::Rk4).then_some(&response.mean_velocity);
    let (plan, response, pyramids) = (&plan.rows, &*response, plan.pyramids);
    let (nv, words) = (model.nv(), plan.words);
    let (contact_slots, limit_slots) = (contacts.gap.len(), limits.gap.len());
    let equality_slots = equalities.error.len();
    let limit_start = contact_slots + contacts.patch_rows();
    let slot_count = limit_start + limit_slots + equality_slots;
    let row_count = 2 * contact_slots + slot_count;
    rows.y.resize(row_count * nv, R::zero());
    rows.free.resize(row_count, R::zero());
    rows.previous.resize(row_count, R::zero());
    rows.mean.resize(if mean.is_some() { row_count } else { 0 }, R::zero());
    rows.support.clear();
    rows.support.resize(slot_count * words, 0);
    rows.frame.clear();
    rows.friction.clear();

    // The union of what moves the parts of a slot, and J zero on it
    for part in &contacts.slots.parts {
        let (slot, pair) = (part.slot as usize, part.origin as usize);
        let sides = &plan.pair[2 * pair * words..2 * (pair + 1) * words];
        let support = &mut rows.support[slot * words..(slot + 1) * words];
        add_bits(support, &sides[..words]);
        add_bits(support, &sides[words..]);
    }
    for part in &limits.slots.parts {
        let (slot, row) = (limit_start + part.slot as usize, part.origin as usize);
        add_bits(&mut rows.support[slot * words..(slot + 1) * words], &plan.joint[row * words..(row + 1) * words]);
    }
    for slot in 0..contacts.patches.len() {
        let (own, more) = rows.support.split_at_mut(contact_slots * words);
        for more in more[PATCH_ROWS * slot * words..][..PATCH_ROWS * words].chunks_exact_mut(words) {
            more.copy_from_slice(&own[slot * words..(slot + 1) * words]);
        }
    }
    for slot in 0..limit_start + limit_slots {
        let (start, count) = slot_rows(contact_slots, slot);
        for dof in Bits::of(&rows.support[slot * words..(slot + 1) * words]) {
            for row in start..start + count {
                rows.y[row * nv + dof] = R::zero();
            }
        }
    }
    if pyramids {
        pyramid_frames(model, k, contacts, &mut rows.frame);
    } else {
        for normal in &contacts.normal {
            rows.frame.push(tangent_frame(*normal));
        }
    }
    // J_d = ± frame · (velocity of the contact point per unit of v_d): + for what moves the second body, − for the first, 0 for what moves both
    for part in &contacts.slots.parts {
        let (slot, pair, lanes) = (part.slot as usize, part.origin as usize, R::Mask::from_bits(part.lanes));
        let (first, second) = plan.pair[2 * pair * words..2 * (pair + 1) * words].split_at(words);
        let (base, frame) = (3 * slot, rows.frame[slot]);
        for (own, other, plus) in [(first, second, false), (second, first, true)] {
            let mut dofs = Bits::of(own);
            dofs.without = Some(other);
            // what moves one body is of one tree
            let Some(tree) = dofs.clone().next().map(|dof| model.dofs[dof].tree) else { continue };
            let arm = contacts.position[slot] - k.reference[tree];
            let tree = &model.trees[tree];
            let (y0, rest) = rows.y[base * nv..(base + 3) * nv].split_at_mut(nv);
            let (y1, y2) = rest.split_at_mut(nv);
            for dof in dofs {
                let along = along(tree, k, dof, arm, &frame);
                let [a, b, c] = if plus { along } else { [-along[0], -along[1], -along[2]] };
                y0[dof] = R::select(lanes, a, y0[dof]);
                y1[dof] = R::select(lanes, b, y1[dof]);
                y2[dof] = R::select(lanes, c, y2[dof]);
            }
        }
    }
    if !contacts.patches.is_empty() {
        patch_rows(model, plan, k, contacts, rows);
    }
    for part in &limits.slots.parts {
        let (slot, lanes) = (part.slot as usize, R::Mask::from_bits(part.lanes));
        let (row, direction) = (2 * contact_slots + limit_start + slot, limits.direction[slot]);
        for entry in &plan.joint_jacobian[part.origin as usize] {
            let y = &mut rows.y[row * nv + entry.dof];
            *y = R::select(lanes, entry.along(k, direction), *y);
        }
    }
    for i in 0..equality_slots {
        let slot = limit_start + limit_slots + i;
        let support = &mut rows.support[slot * words..(slot + 1) * words];
        support.copy_from_slice(&plan.equality[i * words..(i + 1) * words]);
        let row = 2 * contact_slots + slot;
        rows.y[row * nv..(row + 1) * nv].copy_from_slice(&equalities.jacobian[i * nv..(i + 1) * nv]);
    }
    for slot in 0..slot_count {
        let (start, count) = slot_rows(contact_slots, slot);
        let support = &rows.support[slot * words..(slot + 1) * words];
        let y = &mut rows.y[start * nv..(start + count) * nv];
        // u = J v
        let velocities = [&response.free_velocity[..nv], &v[..nv]];
        if count == 3 {
            let [free, previous] = rates::<R, 3, 2>(support, y, velocities);
            rows.free[start..start + 3].copy_from_slice(&free);
            rows.previous[start..start + 3].copy_from_slice(&previous);
        } else {
            [[rows.free[start]], [rows.previous[start]]] = rates::<R, 1, 2>(support, y, velocities);
        }
        if let Some(mean) = mean {
            if count == 3 {
                let [mean] = rates::<R, 3, 1>(support, y, [&mean[..nv]]);
                rows.mean[start..start + 3].copy_from_slice(&mean);
            } else {
                [[rows.mean[start]]] = rates::<R, 1, 1>(support, y, [&mean[..nv]]);
            }
        }
        // Y = D̂^(−1/2) L⁻ᵀ Jᵀ: from the leaves to the root; the support holds all ancestors of its members. The rows of a contact go together.
        if (contact_slots..limit_start).contains(&slot) {
            // as do the further rows of a patch, once all are there
            if (slot - contact_slots) % PATCH_ROWS == PATCH_ROWS - 1 {
                let first = start - (PATCH_ROWS - 1);
                let (y0, rest) = rows.y[first * nv..(start + 1) * nv].split_at_mut(nv);
                let (y1, rest) = rest.split_at_mut(nv);
                let (y2, y3) = rest.split_at_mut(nv);
                solve_rows(model, response, support, &mut [y0, y1, y2, y3]);
            }
        } else if count == 3 {
            let (y0, rest) = y.split_at_mut(nv);
            let (y1, y2) = rest.split_at_mut(nv);
            solve_rows(model, response, support, &mut [y0, y1, &mut y2[..nv]]);
        } else {
            solve_rows(model, response, support, &mut [y]);
        }
    }
}

/// The velocity of a point per unit of v of a degree of freedom of `tree`, along some directions. `arm`: from the point of reference of the tree, m.
#[inline(always)]
pub(super) fn along<R: Real, const N: usize>(
    tree: &Tree,
    k: &Kinematics<R>,
    dof: usize,
    arm: Vec3<R>,
    directions: &[Vec3<R>; N],
) -> [R; N] {
    let mut along = [R::zero(); N];
    // of the translations of a free joint, the velocity is an axis of the world
    let axis = dof - tree.dofs.start;
    if tree.is_free && axis < 3 {
        for i in 0..N {
            along[i] = [directions[i].x, directions[i].y, directions[i].z][axis];
        }
    } else {
        let velocity = k.motion_subspace[dof].at(arm);
        for i in 0..N {
            along[i] = directions[i].dot(velocity);
        }
    }
    along
}

/// J v of N rows of one support, shape \[row\]\[nv\], for V vectors, shape \[nv\] each.
#[inline(always)]
pub(super) fn rates<R: Real, const N: usize, const V: usize>(
    support: &[u64],
    rows: &[R],
    vectors: [&[R]; V],
) -> [[R; N]; V] {
    let (nv, mut sums) = (vectors[0].len(), [[R::zero(); N]; V]);
    let mut y = [&rows[..0]; N];
    for i in 0..N {
        y[i] = &rows[i * nv..][..nv];
    }
    for dof in Bits::of(support) {
        for k in 0..V {
            let v = vectors[k][dof];
            for i in 0..N {
                sums[k][i] = y[i][dof].mul_add(v, sums[k][i]);
            }
        }
    }
    sums
}

/// The rate of a gap of a patch under `motion`, of the second body against the first: of a vertex, `arm` (m) away from the point of reference, with its unit normal; or of a slope of
/// its disc, with what the angular velocity is multiplied by.
#[inline(always)]
pub(crate) fn vertex_rate<R: Real>(normal: Vec3<R>, motion: Motion<R>, arm: Vec3<R>, disc: R::Mask) -> R {
    R::select(disc, normal.dot(motion.angular), normal.dot(motion.at(arm)))
}

/// The further rows of J of all patches: normals of vertices, or R times the slopes of a disc, and torsion.
#[inline(always)]
fn patch_rows<R: Pack>(model: &Model, plan: &RowPlan, k: &Kinematics<R>, contacts: &Contacts<R>, rows: &mut Rows<R>) {
    let (nv, words, patch_slots) = (model.nv(), plan.words, contacts.patches.len());
    for part in contacts.slots.parts.iter().filter(|part| (part.slot as usize) < patch_slots) {
        let (slot, pair) = (part.slot as usize, part.origin as usize);
        let (first, second) = plan.pair[2 * pair * words..2 * (pair + 1) * words].split_at(words);
        let (more, lanes) = (&contacts.patches[slot], R::Mask::from_bits(part.lanes));
        let (base, normal) = (3 * contacts.gap.len() + PATCH_ROWS * slot, rows.frame[slot][0]);
        let disc = R::Mask::from_bits(more.disc);
        for (own, other, plus) in [(first, second, false), (second, first, true)] {
            let mut dofs = Bits::of(own);
            dofs.without = Some(other);
            for dof in dofs {
                let motion = k.motion_subspace[dof];
                let motion = if plus { motion } else { Motion { angular: -motion.angular, linear: -motion.linear } };
                for i in 0..PATCH_ROWS - 1 {
                    let arm = more.position[i] - k.reference[model.dofs[dof].tree];
                    let along = vertex_rate(more.normal[i], motion, arm, disc);
                    let y = &mut rows.y[(base + i) * nv + dof];
                    *y = R::select(lanes.and(R::Mask::from_bits(more.present[i])), along, *y);
                }
                let y = &mut rows.y[(base + PATCH_ROWS - 1) * nv + dof];
                *y = R::select(lanes, normal.dot(motion.angular), *y);
            }
        }
    }
}

/// y ← D̂^(−1/2) L⁻ᵀ y for some rows of one support.
#[inline(always)]
pub(crate) fn solve_rows<R: Real, const N: usize>(
    model: &Model,
    d: &Response<R>,
    support: &[u64],
    y: &mut [&mut [R]; N],
) {
    for (word, &set) in support.iter().enumerate().rev() {
        let mut left = set;
        while left != 0 {
            let bit = 63 - left.leading_zeros() as usize;
            left &= !(1 << bit);
            let i = word * 64 + bit;
            let dof = &model.dofs[i];
            let factor = &d.factor[dof.row_start..dof.row_start + dof.ancestors.len()];
            let mut own = [R::zero(); N];
            for k in 0..N {
                own[k] = y[k][i];
            }
            // not `zip` and then `skip`, which is a call
            for (&a, &l) in dof.ancestors[1..].iter().zip(&factor[1..]) {
                for k in 0..N {
                    y[k][a] = (-l).mul_add(own[k], y[k][a]);
                }
            }
            for k in 0..N {
                y[k][i] = own[k] * d.inverse_root[i];
            }
        }
    }
}

/// z = Y λ, shape \[nv\], of some problems. `impulses`: λ of every row of each, 0 where a world has not got it, shape \[row\].
#[inline(always)]
fn times_impulse<R: Pack, const N: usize>(words: usize, rows: &Rows<R>, impulses: [&[R]; N], z: &mut [&mut [R]; N]) {
    let (nv, contact_slots) = (z[0].len(), rows.three_rows());
    for z in &mut *z {
        z.fill(R::zero());
    }
    for slot in 0..rows.support.len() / words {
        let (start, count) = slot_rows(contact_slots, slot);
        let (support, y) = (rows.support_words(words, slot), &rows.y[start * nv..]);
        if count == 3 {
            add_impulses::<R, N, 3>(support, y, impulses, start, z);
        } else {
            add_impulses::<R, N, 1>(support, y, impulses, start, z);
        }
    }
}

/// z += Y λ of M rows of one support, the first of which is `start`, for N problems.
#[inline(always)]
fn add_impulses<R: Pack, const N: usize, const M: usize>(
    support: &[u64],
    rows: &[R],
    impulses: [&[R]; N],
    start: usize,
    z: &mut [&mut [R]; N],
) {
    let nv = z[0].len();
    let (mut y, mut lambda) = ([&rows[..0]; M], [[R::zero(); M]; N]);
    for i in 0..M {
        y[i] = &rows[i * nv..][..nv];
        for k in 0..N {
            lambda[k][i] = impulses[k][start + i];
        }
    }
    for dof in Bits::of(support) {
        for k in 0..N {
            let mut sum = z[k][dof];
            for i in 0..M {
                sum = y[i][dof].mul_add(lambda[k][i], sum);
            }
            z[k][dof] = sum;
        }
    }
}

/// u ← u + W λ = u + Yᵀ Y λ for all rows of the worlds of `which`, before and without impulses alike. `z`: room for Y λ, shape \[nv\].
#[inline(always)]
pub fn strike<R: Pack>(words: usize, which: R::Mask, impulse: &[R], z: &mut [R], rows: &mut Rows<R>) {
    times_impulse(words, rows, [impulse], &mut [&mut *z]);
    let contact_slots = rows.frame.len();
    for slot in 0..rows.support.len() / words {
        let (start, count) = slot_rows(contact_slots, slot);
        for row in start..start + count {
            let mut change = R::zero();
            for dof in rows.support(words, slot) {
                change = rows.y[row * z.len() + dof].mul_add(z[dof], change);
            }
            for u in [&mut rows.free[row], &mut rows.previous[row]] {
                *u = R::select(which, *u + change, *u);
            }
            // Impacts come before the motion of the step, so the mean has all of the change.
            if rows.centered() {
                rows.mean[row] = R::select(which, rows.mean[row] + change, rows.mean[row]);
            }
        }
    }
}

/// Stage 9, of some problems: v⁺ = v* + M⁻¹ Jᵀ λ = v* + L⁻¹ D̂^(−1/2) Y λ. `impulses`: λ of every row of each, 0 where a world has not got it, shape \[row\].
#[inline(always)]
pub fn apply<R: Pack, const N: usize>(
    plan: &Plan,
    rows: &Rows<R>,
    impulses: [&[R]; N],
    d: &Response<R>,
    mut out: [&mut [R]; N],
) {
    times_impulse(plan.rows.words, rows, impulses, &mut out);
    for out in &mut out {
        for (x, root) in out.iter_mut().zip(&d.inverse_root) {
            *x = *x * *root;
        }
    }
    crate::dynamics::solve_lower(&plan.model, &d.factor, &mut out);
    for out in &mut out {
        for (x, free) in out.iter_mut().zip(&d.free_velocity) {
            *x += *free;
        }
    }
}
