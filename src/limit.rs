//! Scalar rows of the joints and tendons: limits that are near, and dry friction.
//!
//! Like contacts, the active rows of one world fill slots in a fixed order: see [`crate::slots`].

use crate::kinematics::{Kinematics, quaternion, rotation_vector, triple};
use crate::lane::{Pack, PackMask, Real};
use crate::model::{JointKind, Model, Tendon};
use crate::slots::{Slots, first_lanes};
use crate::spatial::{Vec3, vec3};
use crate::tendon;

/// A row that a joint may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JointRow {
    /// Lower limit of a hinge or slide: gap q − lower − margin, velocity v.
    Lower(usize),
    /// Upper limit of a hinge or slide: gap upper − margin − q, velocity −v.
    Upper(usize),
    /// Largest angle of a ball joint: gap limit − margin − angle, velocity −(axis · v).
    Ball(usize),
    /// Dry friction of a degree of freedom: |λ| ≤ friction loss · Δt, velocity v.
    DryFriction(usize),
    /// Least length of a tendon: gap L − lower − margin, velocity L̇.
    TendonLower(usize),
    /// Largest length of a tendon: gap upper − margin − L, velocity −L̇.
    TendonUpper(usize),
    /// Dry friction of a tendon: |λ| ≤ friction loss · Δt, velocity L̇.
    TendonFriction(usize),
}

/// An entry of J of a joint row.
#[derive(Debug, Clone, Copy)]
pub struct JointEntry {
    /// The degree of freedom.
    pub dof: usize,
    /// Component of [`Limits::direction`] that its velocity counts along.
    pub component: usize,
    /// How much it counts.
    pub factor: Factor,
}

/// How much the velocity of a degree of freedom counts in a row.
#[derive(Debug, Clone, Copy)]
pub enum Factor {
    /// 1, or the coefficient of a fixed tendon.
    Constant(f64),
    /// As much as the length of a spatial tendon changes with it: its place in `tendon_moment` of [`Kinematics`].
    Moment(usize),
}

impl JointEntry {
    /// How much the velocity of its degree of freedom counts.
    #[inline(always)]
    pub fn factor<R: Real>(self, k: &Kinematics<R>) -> R {
        match self.factor {
            Factor::Constant(c) => R::constant(c),
            Factor::Moment(place) => k.tendon_moment[place],
        }
    }

    /// The entry.
    #[inline(always)]
    pub fn along<R: Real>(self, k: &Kinematics<R>, direction: Vec3<R>) -> R {
        self.factor(k) * [direction.x, direction.y, direction.z][self.component]
    }
}

impl JointRow {
    /// The most dry friction, N or N·m, if the row is that.
    pub fn friction_loss(self, model: &Model) -> Option<f64> {
        match self {
            Self::DryFriction(dof) => Some(model.joints[model.dofs[dof].joint].friction_loss),
            Self::TendonFriction(tendon) => Some(model.tendons[tendon].friction_loss),
            _ => None,
        }
    }

    /// Where J of the row is not zero.
    pub fn jacobian(self, model: &Model) -> Vec<JointEntry> {
        let entry = |dof, component, c| JointEntry { dof, component, factor: Factor::Constant(c) };
        match self {
            Self::Lower(j) | Self::Upper(j) => vec![entry(model.joints[j].v_start, 0, 1.0)],
            Self::Ball(j) => (0..3).map(|i| entry(model.joints[j].v_start + i, i, 1.0)).collect(),
            Self::DryFriction(dof) => vec![entry(dof, 0, 1.0)],
            Self::TendonLower(t) | Self::TendonUpper(t) | Self::TendonFriction(t) => {
                let tendon = &model.tendons[t];
                let moment = |dof| JointEntry { dof, component: 0, factor: Factor::Moment(t * model.nv() + dof) };
                if tendon.is_spatial() {
                    return tendon.dofs(model).into_iter().map(moment).collect();
                }
                tendon.joints.iter().map(|&(joint, c)| entry(model.joints[joint].v_start, 0, c)).collect()
            }
        }
    }
}

/// Every row that the joints of `model` may have, and then its tendons, in a fixed order: the index is the row's identity.
pub fn joint_rows(model: &Model) -> Vec<JointRow> {
    let mut rows = Vec::new();
    for (j, joint) in model.joints.iter().enumerate() {
        match (joint.kind, joint.range) {
            (JointKind::Hinge | JointKind::Slide, Some(_)) => rows.extend([JointRow::Lower(j), JointRow::Upper(j)]),
            (JointKind::Ball, Some(_)) => rows.push(JointRow::Ball(j)),
            _ => {}
        }
        if joint.friction_loss > 0.0 {
            rows.extend((joint.v_start..joint.v_start + joint.kind.nv()).map(JointRow::DryFriction));
        }
    }
    // what moves nothing has no rows
    let moves = |tendon: &Tendon| !tendon.dofs(model).is_empty();
    for (t, tendon) in model.tendons.iter().enumerate().filter(|(_, tendon)| moves(tendon)) {
        if tendon.range.is_some() {
            rows.extend([JointRow::TendonLower(t), JointRow::TendonUpper(t)]);
        }
        if tendon.friction_loss > 0.0 {
            rows.push(JointRow::TendonFriction(t));
        }
    }
    rows
}

/// The active joint rows of a tile of worlds. Entries of lanes that have not got a slot are zero.
#[derive(Debug, Clone, Default)]
pub struct Limits<R> {
    /// Which lanes have each slot, and which of [`joint_rows`] it is.
    pub slots: Slots,
    /// Distance to the limit, rad or m, negative = beyond it; 0 for dry friction, shape \[slot\].
    pub gap: Vec<R>,
    /// Ball limit: the direction, in body axes, along which the gap grows; other rows: +1 or −1 in x, shape \[slot\].
    pub direction: Vec<Vec3<R>>,
    /// The rows that some worlds have.
    near: Vec<Near<R>>,
    /// Limits within reach that have no slot, see [`limits`].
    pub left_out: Vec<Near<R>>,
}

/// A joint row that some worlds have.
#[derive(Debug, Clone)]
pub struct Near<R> {
    /// Which of [`joint_rows`].
    pub row: usize,
    /// The lanes that have it, one bit each.
    pub lanes: u32,
    /// As in [`Limits`].
    pub gap: R,
    /// As in [`Limits`].
    pub direction: Vec3<R>,
}

impl<R: Pack> Limits<R> {
    /// Gives the rows that were found their slots.
    #[inline(always)]
    fn place(&mut self) {
        let Self { slots, gap, direction, near, .. } = self;
        for row in &*near {
            slots.announce(row.lanes);
        }
        for row in &*near {
            let before = slots.parts.len();
            slots.place(row.row, row.lanes);
            for part in &slots.parts[before..] {
                let slot = part.slot as usize;
                while gap.len() <= slot {
                    gap.push(R::zero());
                    direction.push(Vec3::zero());
                }
                let lanes = R::Mask::from_bits(part.lanes);
                gap[slot] = R::select(lanes, row.gap, gap[slot]);
                direction[slot] = Vec3::select(lanes, row.direction, direction[slot]);
            }
        }
    }
}

/// How a joint stands to one of its rows.
#[derive(Debug)]
pub(crate) struct Approach<R> {
    /// Distance to the limit, rad or m, negative = beyond it; 0 for dry friction.
    pub gap: R,
    /// See [`Limits::direction`].
    pub direction: Vec3<R>,
    /// Velocity of the row under the free motion, rad/s or m/s.
    pub closing: R,
    /// Speed of the joint, rad/s or m/s.
    pub speed: R,
}

impl<R: Real> Approach<R> {
    /// Whether the limit acts: the free motion towards it, turned around by impulses, may reach it within Δt. `slack`: see [`limits`].
    #[cfg(feature = "gpu")]
    #[inline(always)]
    pub fn acts(&self, dt: R, slack: f64) -> R::Mask {
        self.comes_within(dt, self.reach(dt, slack))
    }
    /// Δt (|v| + slack), rad or m.
    #[inline(always)]
    fn reach(&self, dt: R, slack: f64) -> R {
        dt * (self.speed + R::constant(slack))
    }
    /// Whether g + Δt min(u, 0) < reach.
    #[inline(always)]
    fn comes_within(&self, dt: R, reach: R) -> R::Mask {
        dt.mul_add(self.closing.min(R::zero()), self.gap).lt(reach)
    }
}

/// How the joint or tendon of `row` stands to it at q, v and the free velocity.
#[inline(always)]
pub(crate) fn approach<R: Real>(
    model: &Model,
    row: JointRow,
    k: &Kinematics<R>,
    [q, v, free_velocity]: [&[R]; 3],
) -> Approach<R> {
    let one = vec3(R::one(), R::zero(), R::zero());
    match row {
        JointRow::Lower(j) | JointRow::Upper(j) => {
            let joint = &model.joints[j];
            let [lower, upper] = joint.range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
            let (x, margin) = (q[joint.q_start], joint.limit_margin);
            let (gap, direction) = match row {
                JointRow::Lower(_) => (x - R::constant(lower + margin), one),
                _ => (R::constant(upper - margin) - x, -one),
            };
            let closing = direction.x * free_velocity[joint.v_start];
            Approach { gap, direction, closing, speed: v[joint.v_start].abs() }
        }
        JointRow::Ball(j) => {
            let joint = &model.joints[j];
            let [_, upper] = joint.range.unwrap_or([0.0, f64::INFINITY]);
            let r = rotation_vector(quaternion(q, joint.q_start));
            let angle = r.norm();
            let gap = R::constant(upper - joint.limit_margin) - angle;
            // At zero angle the limit is far away and the axis does not matter.
            let direction = -r.scale(R::one() / angle.max(R::constant(1e-9)));
            let closing = direction.dot(triple(free_velocity, joint.v_start));
            Approach { gap, direction, closing, speed: triple(v, joint.v_start).norm() }
        }
        JointRow::DryFriction(dof) => {
            Approach { gap: R::zero(), direction: one, closing: free_velocity[dof], speed: v[dof].abs() }
        }
        JointRow::TendonLower(t) | JointRow::TendonUpper(t) | JointRow::TendonFriction(t) => {
            let tendon = &model.tendons[t];
            let [lower, upper] = tendon.range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
            let (length, margin) = (tendon::length(model, k, t, q), tendon.limit_margin);
            let (gap, direction) = match row {
                JointRow::TendonLower(_) => (length - R::constant(lower + margin), one),
                JointRow::TendonUpper(_) => (R::constant(upper - margin) - length, -one),
                _ => (R::zero(), one),
            };
            let closing = direction.x * tendon::rate(model, k, t, free_velocity);
            Approach { gap, direction, closing, speed: tendon::rate(model, k, t, v).abs() }
        }
    }
}

/// The worlds in which the row of a spatial tendon moves anything, which it does not at a dead centre; none of other rows, which always do.
#[inline(always)]
pub(crate) fn pulls<R: Real>(model: &Model, row: JointRow, k: &Kinematics<R>) -> Option<R::Mask> {
    match row {
        JointRow::TendonLower(t) | JointRow::TendonUpper(t) | JointRow::TendonFriction(t) => {
            model.tendons[t].is_spatial().then(|| tendon::pulls(model, k, t))
        }
        _ => None,
    }
}

/// Collects the joint rows of the first `lane_count` worlds of a tile: limits that may be reached within Δt, and all dry friction.
///
/// A limit is near when its gap after the free motion towards it is less than Δt (|v| + `slack`), `slack` in rad/s or m/s:
/// impulses may turn the motion around. It has a row where the gap is less than the `share` of that, 0 to 1; else it is [`Limits::left_out`].
///
/// `state`: q, v and the free velocity.
#[inline(always)]
pub fn limits<R: Pack>(
    model: &Model,
    rows: &[JointRow],
    lane_count: usize,
    (dt, slack, share): (R, f64, R),
    k: &Kinematics<R>,
    state: [&[R]; 3],
    out: &mut Limits<R>,
) {
    out.slots.clear();
    out.gap.clear();
    out.direction.clear();
    out.near.clear();
    out.left_out.clear();
    let one = vec3(R::one(), R::zero(), R::zero());
    let worlds = first_lanes(lane_count);
    for (index, row) in rows.iter().enumerate() {
        let worlds = pulls(model, *row, k).map_or(worlds, |pulls| worlds & pulls.bits());
        if row.friction_loss(model).is_some() {
            out.near.push(Near { row: index, lanes: worlds, gap: R::zero(), direction: one });
            continue;
        }
        let near = approach(model, *row, k, state);
        let reach = near.reach(dt, slack);
        let within = near.comes_within(dt, reach).bits() & worlds;
        if within == 0 {
            continue;
        }
        let Approach { gap, direction, .. } = near;
        let lanes = near.comes_within(dt, share * reach).bits() & within;
        if lanes != 0 {
            out.near.push(Near { row: index, lanes, gap, direction });
        }
        if lanes != within {
            out.left_out.push(Near { row: index, lanes: within & !lanes, gap, direction });
        }
    }
    out.place();
}
