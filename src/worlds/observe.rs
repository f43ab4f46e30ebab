//! Quantities of a tile of worlds, in lanes.

use super::loads::Loads;
use super::past::Whose;
use super::seen::{Seen, felt};
use crate::lane::{Compiled, Pack, Task};
use crate::limit::{JointEntry, JointRow, joint_rows};
use crate::model::{Frame, Model};
use crate::quantity::{Evaluation, Quantity, evaluate, subtree_com};
use crate::spatial::Vec3;

/// What a thread needs to evaluate quantities of a tile.
#[derive(Debug)]
pub(super) struct Observer<R: Pack> {
    pub evaluation: Evaluation<R>,
    /// Room for control and activation of a tile, shape \[nu + na\].
    pub drive: Vec<R>,
    joint_rows: Vec<(JointRow, Vec<JointEntry>)>,
    /// What the last substep did, if a quantity asks.
    pub loads: Loads<R>,
}

impl<R: Pack> Observer<R> {
    pub fn new(model: &Model) -> Self {
        let rows = joint_rows(model).into_iter().map(|row| (row, row.jacobian(model)));
        let (evaluation, joint_rows, loads) = (Evaluation::new(model), rows.collect(), Loads::new(model));
        Self { evaluation, drive: Vec::new(), joint_rows, loads }
    }
}

/// Evaluates `quantities` into the row of `observer`.
pub(super) struct Evaluate<'a, 'b, R: Pack> {
    pub quantities: &'a [Quantity],
    pub seen: &'a Seen<'b, R>,
    pub observer: &'a mut Observer<R>,
}

impl<R: Pack> Task for Evaluate<'_, '_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { quantities, seen, observer: o } = self;
        o.evaluation.begin(&seen.now);
        if let Some(past) = &seen.past
            && quantities.iter().any(|quantity| quantity.looks_back(seen.now.model))
        {
            o.loads.find(seen, past);
        }
        for &quantity in quantities {
            evaluate_one(quantity, seen, o);
        }
    }
}

#[inline(always)]
fn evaluate_one<R: Pack>(quantity: Quantity, seen: &Seen<'_, R>, o: &mut Observer<R>) {
    let contact = match quantity {
        Quantity::CentralContact(b) => {
            Some((Whose::LastEvaluationOf(Frame::Body(b)), subtree_com(&o.evaluation, o.evaluation.root[b])))
        }
        Quantity::Contact(frame) => Some((Whose::Of(frame), o.evaluation.position(&seen.now, frame))),
        Quantity::ContactBetween(frame, other) => {
            Some((Whose::Between([frame, other]), o.evaluation.position(&seen.now, frame)))
        }
        _ => None,
    };
    if let Some((whose, at)) = contact {
        let (moment, force) = felt(seen, whose, at);
        let moment_first = matches!(quantity, Quantity::CentralContact(_));
        return push(&mut o.evaluation.row, if moment_first { [moment, force] } else { [force, moment] });
    }
    match quantity {
        Quantity::LimitForce => limit_force(seen, o),
        Quantity::Sensor(i) if quantity.looks_back(seen.now.model) => {
            super::sensors::read(i, seen, &o.loads, &mut o.evaluation.row);
        }
        _ => evaluate(quantity, &seen.now, &mut o.evaluation),
    }
}

#[inline(always)]
fn push<R: Pack>(row: &mut Vec<R>, vectors: [Vec3<R>; 2]) {
    for v in vectors {
        row.extend_from_slice(&[v.x, v.y, v.z]);
    }
}

/// f = ± λ / Δt, from what every world remembers of its rows.
#[inline(always)]
fn limit_force<R: Pack>(seen: &Seen<'_, R>, o: &mut Observer<R>) {
    let (model, row) = (seen.now.model, &mut o.evaluation.row);
    let start = row.len();
    row.resize(start + model.nv(), R::zero());
    let inverse = R::constant(1.0 / seen.now.dt);
    // A snapshot may bring rows that no joint has.
    for (k, (joint_row, jacobian)) in o.joint_rows.iter().enumerate() {
        let impulse = seen.memory.joint_row(k);
        let sign = match *joint_row {
            JointRow::Ball(_) => continue,
            JointRow::Upper(_) | JointRow::TendonUpper(_) => -1.0,
            _ => 1.0,
        };
        let force = R::constant(sign) * impulse * inverse;
        for entry in jacobian {
            row[start + entry.dof] = entry.factor(&o.evaluation.k).mul_add(force, row[start + entry.dof]);
        }
    }
}
