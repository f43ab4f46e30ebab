//! How short and how long what an actuator acts on can be within the limits of joints and tendons, where a model does not say so.

use super::rest::{moves, path_length, poses};
use super::{Actuator, EqualityKind, Joint, JointKind, Model, Transmission, Waypoint};

/// Lengths are found to this part of the way that a joint goes.
const FINE: f64 = 1e-9;
/// Places of a joint that are looked at before the best of them is followed.
const LOOKS: usize = 16;
/// Turns in which all joints are moved, one after the other, at most.
const TURNS: usize = 100;
/// (3 − √5)/2, by which a golden section divides.
const GOLDEN: f64 = 0.381_966_011_250_105_1;

/// Gear times the shortest and the longest length, or what is missing. From where a model rests on, joints are moved one after the other as long as that shortens or lengthens it.
pub(super) fn length_range(model: &Model, actuator: &Actuator) -> Result<[f64; 2], String> {
    let range = match actuator.transmission {
        Transmission::Joint(joint) if model.joints[joint].kind.nv() == 1 => bounds(&model.joints[joint])?,
        Transmission::Tendon(tendon) => {
            let within = model.tendons[tendon].range;
            let found =
                if model.tendons[tendon].is_spatial() { along_path(model, tendon) } else { of_sum(model, tendon) };
            match (found, within) {
                (Ok([short, long]), Some([low, high])) => [short.max(low), long.min(high)],
                (Err(_), Some(within)) => within,
                (found, None) => found?,
            }
        }
        _ => return Err("what it acts on has no length".into()),
    };
    if let Some(equality) = model.equalities.iter().find(|equality| equality.active) {
        let kind = match equality.kind {
            EqualityKind::Joint { .. } => "joint",
            EqualityKind::Tendon { .. } => "tendon",
            EqualityKind::Connect { .. } => "connect",
            EqualityKind::Weld { .. } => "weld",
        };
        return Err(format!("an equality ({kind}) may hold it back"));
    }
    let [low, high] = range.map(|length| length * actuator.gear[0]);
    if low == high { Err("it has one length only".into()) } else { Ok([low.min(high), low.max(high)]) }
}

fn bounds(joint: &Joint) -> Result<[f64; 2], String> {
    joint.range.ok_or_else(|| format!("joint \"{}\" has no limits", joint.name))
}

/// Of Σ c q.
fn of_sum(model: &Model, tendon: usize) -> Result<[f64; 2], String> {
    let mut range = [0.0; 2];
    for &(joint, c) in &model.tendons[tendon].joints {
        let [a, b] = bounds(&model.joints[joint])?.map(|end| c * end);
        range = [range[0] + a.min(b), range[1] + a.max(b)];
    }
    Ok(range)
}

/// Of a path.
fn along_path(model: &Model, tendon: usize) -> Result<[f64; 2], String> {
    let path = &model.tendons[tendon].path;
    let length = |q: &[f64]| {
        let at = |joint: &Joint| q[joint.v_start] - joint.reference;
        path_length(model, path, &poses(model, at))
    };
    let mut start: Vec<f64> = vec![0.0; model.nv()];
    for joint in &model.joints {
        if matches!(joint.kind, JointKind::Hinge | JointKind::Slide) {
            let [low, high] = joint.range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
            start[joint.v_start] = joint.reference.clamp(low, high);
        }
    }
    // those that it does not cross are left out: whatever they do, it stays as it is
    let body = |part: &Waypoint| match *part {
        Waypoint::Site(site) => Some(model.sites[site].body),
        Waypoint::Around { geom, .. } => Some(model.geoms[geom].body),
        Waypoint::Pulley(_) => None,
    };
    let ends: Vec<usize> = path.iter().filter_map(body).collect();
    let crosses = |joint: &&Joint| {
        let carried = ends.iter().filter(|&&body| moves(model, joint.body, body)).count();
        carried > 0 && carried < ends.len()
    };
    let mut ranges = Vec::new();
    for joint in model.joints.iter().filter(crosses) {
        if joint.kind.nv() > 1 {
            return Err(format!("joint \"{}\" turns freely", joint.name));
        }
        ranges.push((joint.v_start, bounds(joint)?));
    }
    let most = |sign: f64| {
        let (mut q, mut best) = (start.clone(), sign * length(&start));
        for _ in 0..TURNS {
            let before = best;
            for &(dof, range) in &ranges {
                let mut at = |x: f64| {
                    let mut moved = q.clone();
                    moved[dof] = x;
                    sign * length(&moved)
                };
                let (x, found) = largest(range, &mut at);
                if found > best {
                    (q[dof], best) = (x, found);
                }
            }
            if best - before <= FINE * best.abs() {
                break;
            }
        }
        sign * best
    };
    Ok([most(-1.0), most(1.0)])
}

/// Where a function is largest between two ends, and how large: at an end, or next to the largest of some places by golden section.
fn largest([low, high]: [f64; 2], f: &mut impl FnMut(f64) -> f64) -> (f64, f64) {
    let place = |i: usize| low + (high - low) * i as f64 / LOOKS as f64;
    let mut best = (low, f(low));
    let mut index = 0;
    for i in 1..=LOOKS {
        let found = f(place(i));
        if found > best.1 {
            (best, index) = ((place(i), found), i);
        }
    }
    let (mut a, mut b) = (place(index.saturating_sub(1)), place((index + 1).min(LOOKS)));
    while b - a > FINE * (high - low) {
        let [c, d] = [a + GOLDEN * (b - a), b - GOLDEN * (b - a)];
        let (of_c, of_d) = (f(c), f(d));
        for (x, found) in [(c, of_c), (d, of_d)] {
            if found > best.1 {
                best = (x, found);
            }
        }
        if of_c > of_d {
            b = d;
        } else {
            a = c;
        }
    }
    best
}
