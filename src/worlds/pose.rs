//! Whether a pose is one that the bodies can be in: overlaps and violated limits, with numbers.

use crate::contact::{CollidePlan, Contacts, Drift, Geoms, collide};
use crate::error::{Error, Result};
use crate::kinematics::{Kinematics, kinematics};
use crate::limit::{JointRow, Limits, joint_rows, limits};
use crate::model::{JointKind, Model, Note, label};
use crate::slots::SlotPart;

/// Overlaps and violations below this are not worth a word, m or rad: poses are written with four digits.
const NEGLIGIBLE: f64 = 1e-4;

/// What is wrong with the position `q` (shape \[nq\]) of `model`: geoms that overlap and joints beyond their limits, by more than 0.1 mm or
/// 0.1 mrad, the worst first. `pose` begins each sentence, as in "at rest, geom "a" and geom "b" overlap by 0.087 m".
///
/// A rollout may start there: overlaps are pushed out, within [`super::Settings::push_speed`], and never become speed.
///
/// # Errors
/// [`Error::Model`] if the model was changed into an invalid one, [`Error::Argument`] if `q` has the wrong length.
pub fn pose_notes(model: &Model, q: &[f64], pose: &str) -> Result<Vec<Note>> {
    model.validate()?;
    if q.len() != model.nq() {
        return Err(Error::argument("q", format!("has {} numbers, the model needs {}", q.len(), model.nq())));
    }
    let mut found = overlaps(model, q);
    found.extend(violations(model, q));
    found.retain(|(depth, _)| *depth > NEGLIGIBLE);
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let note = |(_, sentence)| Note { text: format!("{pose}, {sentence}"), changes_motion: false };
    Ok(found.into_iter().map(note).collect())
}

/// A length or an angle with two digits.
fn short(x: f64) -> String {
    if x < 0.01 { format!("{x:.1e}") } else { format!("{x:.3}") }
}

/// The deepest overlap of every pair of geoms that overlap, m, and a sentence on it.
fn overlaps(model: &Model, q: &[f64]) -> Vec<(f64, String)> {
    let mut k = Kinematics::<f64>::new(model);
    kinematics(model, q, &mut k);
    let mut contacts = Contacts::default();
    let at_rest = vec![Drift::none(); model.geoms.len()];
    collide(&CollidePlan::new(model), Geoms::new(&k.geom_pose, &at_rest), 0.0, None, &mut Vec::new(), &mut contacts);
    let mut deepest: Vec<(usize, f64)> = Vec::new();
    // The contacts of a pair stand together.
    for (pair, &gap) in contacts.slots.parts.iter().map(|part| part.origin).zip(&contacts.gap) {
        match deepest.last_mut() {
            Some((last, depth)) if *last == pair as usize => *depth = depth.max(-gap),
            _ => deepest.push((pair as usize, -gap)),
        }
    }
    let sentence = |(pair, depth): (usize, f64)| {
        let pair = &model.pairs[pair];
        let [a, b] = [pair.geom_a, pair.geom_b].map(|g| label("geom", g, &model.geoms[g].name));
        let margins =
            if pair.margin > 0.0 { format!(", margins of {} m included", pair.margin) } else { String::new() };
        (depth, format!("{a} and {b} overlap by {} m{margins}", short(depth)))
    };
    deepest.into_iter().map(sentence).collect()
}

/// How far joints are beyond their limits, rad or m, and a sentence on it.
fn violations(model: &Model, q: &[f64]) -> Vec<(f64, String)> {
    let (rows, at_rest) = (joint_rows(model), vec![0.0; model.nv()]);
    let mut found = Limits::default();
    // Within no time, at no speed: only what is violated already.
    let mut k = Kinematics::<f64>::new(model);
    kinematics(model, q, &mut k);
    limits(model, &rows, 1, (0.0, 0.0, 1.0), &k, [q, &at_rest, &at_rest], &mut found);
    let sentence = |(part, &gap): (&SlotPart, &f64)| {
        let unit = |joint: usize| if model.joints[joint].kind == JointKind::Slide { "m" } else { "rad" };
        let (of, unit, margin) = match rows[part.origin as usize] {
            JointRow::Lower(j) | JointRow::Upper(j) | JointRow::Ball(j) => {
                let joint = &model.joints[j];
                (label("joint", j, &joint.name), unit(j), joint.limit_margin)
            }
            JointRow::TendonLower(t) | JointRow::TendonUpper(t) => {
                let tendon = &model.tendons[t];
                let unit = tendon.joints.first().map_or("m", |(joint, _)| unit(*joint));
                (label("tendon", t, &tendon.name), unit, tendon.limit_margin)
            }
            JointRow::DryFriction(_) | JointRow::TendonFriction(_) => return None,
        };
        let margin = match margin {
            0.0 => String::new(),
            margin => format!(", margin of {margin} {unit} included"),
        };
        Some((-gap, format!("{of} is {} {unit} beyond its limit{margin}", short(-gap))))
    };
    found.slots.parts.iter().zip(&found.gap).filter_map(sentence).collect()
}
