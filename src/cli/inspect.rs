//! `delassus inspect`: a model as tables, and what its states come to.

use super::failure::{Failure, Outcome, json_reason};
use super::options::ModelOptions;
use super::parse::{INTEGRATORS, name_of};
use super::table::{list, short, table};
use super::{rollout, say, say_json};
use clap::Args;
use delassus::Model;
use delassus::model::{
    Activation, ActivationLaw, Actuator, Geom, HeightField, Joint, JointKind, Note, PairFriction, Shape, Tendon,
    Transmission, Waypoint,
};
use delassus::query::{StateQuery, state_query};
use delassus::worlds::pose_notes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// Options of `inspect`.
#[derive(Debug, Args)]
#[command(after_help = "\
A line of the states file is {\"q\": […nq numbers], \"v\": […nv numbers]}. The line printed for it holds, in f64 and SI units: mass_matrix \
(full rows), bias_force, body_pos, body_quat (w x y z), com, kinetic_energy, potential_energy.

Examples:
  delassus inspect examples/models/ant.xml
  delassus inspect examples/models/pendulum.xml --json
  echo '{\"q\": [0.3], \"v\": [1]}' > states.jsonl && delassus inspect examples/models/pendulum.xml --states states.jsonl --json")]
pub struct Arguments {
    #[command(flatten)]
    model: ModelOptions,
    /// Answer for the states of this file instead: one JSON object a line (as `--json` always prints).
    #[arg(long, value_name = "FILE")]
    states: Option<PathBuf>,
    /// Print JSON and nothing else.
    #[arg(long)]
    json: bool,
}

/// Prints.
pub fn run(a: &Arguments) -> Outcome {
    let model = a.model.load()?;
    match &a.states {
        Some(path) => states(&model, path),
        None if a.json => say_json(&object(&model)?),
        None => tables(&model),
    }
}

/// A line of a states file.
#[derive(Deserialize)]
struct State {
    q: Vec<f64>,
    v: Vec<f64>,
}

/// What is printed for a state.
#[derive(Serialize)]
struct StateLine {
    mass_matrix: Vec<Vec<f64>>,
    bias_force: Vec<f64>,
    body_pos: Vec<[f64; 3]>,
    body_quat: Vec<[f64; 4]>,
    com: [f64; 3],
    kinetic_energy: f64,
    potential_energy: f64,
}

impl From<StateQuery> for StateLine {
    fn from(s: StateQuery) -> Self {
        Self {
            mass_matrix: s.mass_matrix.row_iter().map(|row| row.iter().copied().collect()).collect(),
            bias_force: s.bias_force.as_slice().to_vec(),
            body_pos: s.body_pos,
            body_quat: s.body_quat,
            com: s.com,
            kinetic_energy: s.kinetic_energy,
            potential_energy: s.potential_energy,
        }
    }
}

fn states(model: &Model, path: &Path) -> Outcome {
    let failed = |e: &std::io::Error| Failure::file("read", path, e);
    let file = std::fs::File::open(path).map_err(|e| failed(&e))?;
    for (i, line) in std::io::BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|e| failed(&e))?;
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |message: String| Failure::Other(format!("{}:{}: {message}", path.display(), i + 1));
        let state: State = serde_json::from_str(&line)
            .map_err(|e| wrong(format!("a state must be {{\"q\": […], \"v\": […]}}: {}", json_reason(&e))))?;
        let answer = state_query(model, &state.q, &state.v).map_err(|e| wrong(e.to_string()))?;
        say_json(&StateLine::from(answer))?;
    }
    Ok(())
}

fn tables(model: &Model) -> Outcome {
    say(format!(
        "{}: step {} s, {}, gravity {} m/s², moving mass {} kg, nq {}, nv {}, nu {}",
        model.name,
        model.timestep,
        name_of(INTEGRATORS, &model.integrator),
        list(model.gravity.as_slice()),
        short(model.moving_mass()),
        model.nq(),
        model.nv(),
        model.nu()
    ))?;
    section("bodies", ["#", "name", "parent", "mass, kg", "com, m", "joints"], &model.bodies, |i, b| {
        [
            i.to_string(),
            if i == 0 { "(world)".into() } else { b.name.clone() },
            if i == 0 { String::new() } else { body(model, b.parent) },
            short(b.mass),
            list(b.com.as_slice()),
            b.joints.len().to_string(),
        ]
    })?;
    section(
        "joints",
        ["#", "name", "kind", "body", "q", "v", "axis", "range", "damping", "armature"],
        &model.joints,
        {
            |i, j| {
                [
                    i.to_string(),
                    j.name.clone(),
                    kind(j).into(),
                    body(model, j.body),
                    span(j.q_start, j.kind.nq()),
                    span(j.v_start, j.kind.nv()),
                    if has_axis(j) { list(j.axis.as_slice()) } else { String::new() },
                    j.range.map(|r| list(&r)).unwrap_or_default(),
                    short(j.damping),
                    short(j.armature),
                ]
            }
        },
    )?;
    section("geoms", ["#", "name", "body", "shape", "size, m", "position, m", "friction", "condim"], &model.geoms, {
        |i, g| {
            [
                i.to_string(),
                g.name.clone(),
                body(model, g.body),
                g.shape.name().into(),
                size(&g.shape),
                list(g.position.as_slice()),
                short(g.friction[0]),
                g.condim.to_string(),
            ]
        }
    })?;
    section(
        "tendons",
        ["#", "name", "length", "limits", "stiffness", "damping", "friction"],
        &model.tendons,
        |i, t| {
            [
                i.to_string(),
                t.name.clone(),
                length_of(model, t),
                t.range.map(|r| list(&r)).unwrap_or_default(),
                short(t.stiffness),
                short(t.damping),
                short(t.friction_loss),
            ]
        },
    )?;
    section(
        "actuators",
        ["#", "name", "acts on", "gear", "control", "force", "gain", "bias", "activation"],
        &model.actuators,
        |i, a| {
            [
                i.to_string(),
                a.name.clone(),
                acts_on(model, a),
                list(gear(model, a)),
                a.control_range.map(|r| list(&r)).unwrap_or_default(),
                a.force_range.map(|r| list(&r)).unwrap_or_default(),
                list(&a.gain),
                list(&a.bias),
                activation(model, i).map(describe).unwrap_or_default(),
            ]
        },
    )?;
    section("keyframes", ["#", "name", "time, s"], &model.keyframes, |i, k| {
        [i.to_string(), k.name.clone(), short(k.time)]
    })?;
    section("equality constraints", ["#", "name", "active"], &model.equalities, |i, e| {
        [i.to_string(), e.name.clone(), e.active.to_string()]
    })?;
    say(format!("{} geom pairs are tested for contact", model.pairs.len()))?;
    rollout::notes(&model.notes, &poses(model)?, true)
}

/// A titled table, or nothing if there is nothing in it.
fn section<T, const N: usize>(
    title: &str,
    header: [&str; N],
    items: &[T],
    row: impl Fn(usize, &T) -> [String; N],
) -> Outcome {
    if items.is_empty() {
        return Ok(());
    }
    say(format!("\n{title}"))?;
    say(table(header, items.iter().enumerate().map(|(i, item)| row(i, item))))
}

/// A body's name, or its index if it has none.
fn body(model: &Model, index: usize) -> String {
    match (index, model.bodies[index].name.as_str()) {
        (0, _) => "(world)".into(),
        (_, "") => index.to_string(),
        (_, name) => name.into(),
    }
}

/// The name of an actuator's joint, or its index if it has none.
fn acts_on(model: &Model, a: &Actuator) -> String {
    match a.transmission {
        Transmission::Joint(j) => named(&model.joints[j].name, j),
        Transmission::Tendon(t) => format!("tendon {}", named(&model.tendons[t].name, t)),
        Transmission::Site(s) => format!("site {}", named(&model.sites[s].name, s)),
        Transmission::Body(b) => format!("body {}", body(model, b)),
        Transmission::SiteFrom { site, reference } => {
            let of = |site: usize| named(&model.sites[site].name, site);
            format!("site {} from {}", of(site), of(reference))
        }
    }
}

/// A point of the path of a tendon, for machines.
fn waypoint(part: &Waypoint) -> Value {
    match *part {
        Waypoint::Site(site) => json!({ "site": site }),
        Waypoint::Around { geom, side } => json!({ "geom": geom, "sidesite": side }),
        Waypoint::Pulley(divisor) => json!({ "divisor": divisor }),
    }
}

/// What a tendon is made of: c q of its joints, or the points of its path.
fn length_of(model: &Model, t: &Tendon) -> String {
    let site = |s: usize| named(&model.sites[s].name, s);
    let term = |&(j, c): &(usize, f64)| format!("{} {}", short(c), named(&model.joints[j].name, j));
    let part = |part: &Waypoint| match *part {
        Waypoint::Site(s) => site(s),
        Waypoint::Around { geom, side } => {
            let by = side.map(|s| format!(" by {}", site(s))).unwrap_or_default();
            format!("({}{by})", named(&model.geoms[geom].name, geom))
        }
        Waypoint::Pulley(divisor) => format!("/{}", short(divisor)),
    };
    if t.path.is_empty() {
        t.joints.iter().map(term).collect::<Vec<_>>().join(" + ")
    } else {
        t.path.iter().map(part).collect::<Vec<_>>().join(" – ")
    }
}

/// The activation of an actuator, if it has one.
fn activation(model: &Model, actuator: usize) -> Option<&Activation> {
    model.activations.iter().find(|activation| activation.actuator == actuator)
}

/// An activation in words.
fn describe(activation: &Activation) -> String {
    let law = match activation.law {
        ActivationLaw::Integrator => "integrator".into(),
        ActivationLaw::Filter(time) => format!("filter {} s", short(time)),
        ActivationLaw::FilterExact(time) => format!("exact filter {} s", short(time)),
        ActivationLaw::Muscle(times) => format!("muscle {} {} s", short(times.rise), short(times.fall)),
    };
    let range = activation.range.map(|r| format!(" in {}", list(&r))).unwrap_or_default();
    law + &range + if activation.early { ", early" } else { "" }
}

fn named(name: &str, index: usize) -> String {
    if name.is_empty() { index.to_string() } else { name.into() }
}

/// The entries of the gear that count.
fn gear<'a>(model: &Model, a: &'a Actuator) -> &'a [f64] {
    let count = match a.transmission {
        Transmission::Joint(joint) => model.joints[joint].kind.nv(),
        Transmission::Tendon(_) => 1,
        Transmission::Site(_) | Transmission::SiteFrom { .. } => 6,
        Transmission::Body(_) => 0,
    };
    &a.gear[..count]
}

fn kind(joint: &Joint) -> &'static str {
    match joint.kind {
        JointKind::Free => "free",
        JointKind::Ball => "ball",
        JointKind::Hinge => "hinge",
        JointKind::Slide => "slide",
    }
}

fn has_axis(joint: &Joint) -> bool {
    matches!(joint.kind, JointKind::Hinge | JointKind::Slide)
}

/// First and last of some entries.
fn span(start: usize, count: usize) -> String {
    if count == 1 { start.to_string() } else { format!("{start}–{}", start + count - 1) }
}

/// The size of a shape as MJCF gives it.
fn size(shape: &Shape) -> String {
    match shape {
        Shape::Plane => String::new(),
        Shape::HeightField(field) => format!("{} × {} points", field.rows, field.columns),
        Shape::Sphere { radius } => short(*radius),
        Shape::Capsule { radius, half_length } | Shape::Cylinder { radius, half_length } => {
            list(&[*radius, *half_length])
        }
        Shape::Ellipsoid { radii } => list(radii.as_slice()),
        Shape::Box { half } => list(half.as_slice()),
        Shape::Hull(hull) => format!("{} corners", hull.vertices.len()),
    }
}

/// The size of a shape for machines.
fn size_json(shape: &Shape) -> Value {
    match shape {
        Shape::Plane => json!([]),
        Shape::HeightField(field) => {
            let HeightField { rows, columns, half, base, heights, .. } = &**field;
            json!({"rows": rows, "columns": columns, "half": half, "base": base, "heights": heights})
        }
        Shape::Sphere { radius } => json!([radius]),
        Shape::Capsule { radius, half_length } | Shape::Cylinder { radius, half_length } => {
            json!([radius, half_length])
        }
        Shape::Ellipsoid { radii } => json!(radii.as_slice()),
        Shape::Box { half } => json!(half.as_slice()),
        Shape::Hull(hull) => json!(hull.vertices.iter().map(|v| [v.x, v.y, v.z]).collect::<Vec<_>>()),
    }
}

/// What is wrong with the rest position and the keyframes.
fn poses(model: &Model) -> Outcome<Vec<Note>> {
    let mut notes = pose_notes(model, &model.q0, "at rest")?;
    for key in &model.keyframes {
        notes.extend(pose_notes(&key.placed(model), &key.q, &format!("in keyframe \"{}\"", key.name))?);
    }
    Ok(notes)
}

/// The model for machines. References are indices; lengths in m, angles in rad.
fn object(model: &Model) -> Outcome<Value> {
    let quat = |r: &nalgebra::UnitQuaternion<f64>| [r.w, r.i, r.j, r.k];
    let bodies = model.bodies.iter().map(|b| {
        let inertia: Vec<Vec<f64>> = b.inertia.row_iter().map(|r| r.iter().copied().collect()).collect();
        json!({
            "name": b.name, "parent": b.parent, "pos": b.position.as_slice(), "quat": quat(&b.orientation),
            "mass": b.mass, "com": b.com.as_slice(), "inertia": inertia,
        })
    });
    let joints = model.joints.iter().map(|j| {
        json!({
            "name": j.name, "kind": kind(j), "body": j.body, "pos": j.anchor.as_slice(),
            "axis": has_axis(j).then(|| j.axis.as_slice()), "q_start": j.q_start, "v_start": j.v_start, "range": j.range,
            "margin": j.limit_margin, "stiffness": j.stiffness, "damping": j.damping, "armature": j.armature, "friction_loss": j.friction_loss,
            "reference": j.reference, "spring_reference": j.spring_reference,
        })
    });
    let geoms = model.geoms.iter().map(|g: &Geom| {
        json!({
            "name": g.name, "body": g.body, "shape": g.shape.name(), "size": size_json(&g.shape),
            "pos": g.position.as_slice(), "quat": quat(&g.orientation), "friction": g.friction, "condim": g.condim,
            "margin": g.margin, "restitution": g.restitution,
        })
    });
    let tendons = model.tendons.iter().map(|t| {
        json!({
            "name": t.name, "joints": t.joints, "path": t.path.iter().map(waypoint).collect::<Vec<_>>(), "range": t.range, "margin": t.limit_margin, "stiffness": t.stiffness,
            "slack": t.slack, "damping": t.damping, "friction_loss": t.friction_loss,
        })
    });
    let actuators = model.actuators.iter().enumerate().map(|(i, a)| {
        let acts_on = match a.transmission {
            Transmission::Joint(joint) => [Some(joint), None, None, None, None],
            Transmission::Tendon(tendon) => [None, Some(tendon), None, None, None],
            Transmission::Site(site) => [None, None, Some(site), None, None],
            Transmission::SiteFrom { site, reference } => [None, None, Some(site), Some(reference), None],
            Transmission::Body(body) => [None, None, None, None, Some(body)],
        };
        let [joint, tendon, site, reference, body] = acts_on;
        let activation = activation(model, i).map(|activation| {
            let (law, times) = match activation.law {
                ActivationLaw::Integrator => ("integrator", vec![]),
                ActivationLaw::Filter(time) => ("filter", vec![time]),
                ActivationLaw::FilterExact(time) => ("filterexact", vec![time]),
                ActivationLaw::Muscle(of) => ("muscle", vec![of.rise, of.fall, of.blend]),
            };
            json!({ "law": law, "times": times, "range": activation.range, "early": activation.early })
        });
        let muscle = model.muscles.iter().find(|muscle| muscle.actuator == i).map(|m| {
            json!({
                "length_range": m.length_range, "range": m.range, "force": m.force, "reach": m.reach,
                "fastest": m.fastest, "passive": m.passive, "stretched": m.stretched,
            })
        });
        json!({
            "name": a.name, "joint": joint, "tendon": tendon, "site": site, "reference_site": reference, "body": body, "gear": gear(model, a), "control_range": a.control_range,
            "force_range": a.force_range, "gain": a.gain, "bias": a.bias, "activation": activation, "muscle": muscle,
        })
    });
    let pairs = model.pairs.iter().map(|p| {
        let [a, b] = [p.geom_a, p.geom_b].map(|g| model.geoms[g].friction[0]);
        let friction = match p.friction {
            PairFriction::Larger => a.max(b),
            PairFriction::First => a,
            PairFriction::Second => b,
            PairFriction::Fixed(friction) => friction,
        };
        json!({ "geoms": [p.geom_a, p.geom_b], "friction": friction, "condim": p.condim, "margin": p.margin, "gap": p.gap })
    });
    let keyframes = model
        .keyframes
        .iter()
        .map(|k| json!({ "name": k.name, "time": k.time, "q": k.q, "v": k.v, "control": k.control, "activation": k.activation, "mocap_pose": k.mocap_pose }));
    let notes = [model.notes.clone(), poses(model)?].concat();
    Ok(json!({
        "name": model.name, "timestep": model.timestep,
        "integrator": name_of(INTEGRATORS, &model.integrator), "gravity": model.gravity.as_slice(),
        "nq": model.nq(), "nv": model.nv(), "nu": model.nu(), "na": model.na(), "moving_mass": model.moving_mass(), "q0": model.q0,
        "bodies": bodies.collect::<Vec<_>>(), "joints": joints.collect::<Vec<_>>(), "geoms": geoms.collect::<Vec<_>>(),
        "tendons": tendons.collect::<Vec<_>>(), "actuators": actuators.collect::<Vec<_>>(), "pairs": pairs.collect::<Vec<_>>(),
        "keyframes": keyframes.collect::<Vec<_>>(), "notes": notes,
        "fingerprint": format!("{:016x}", model.fingerprint()),
    }))
}
