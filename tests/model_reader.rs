//! The MJCF reader: against models that MuJoCo compiled, feature by feature, and on broken files.

use delassus::model::{Model, Shape};
use nalgebra::{UnitQuaternion, Vector3};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Both sides are f64 and use the same formulas; sums in another order differ by a few ulp of numbers up to 100.
const TOLERANCE: f64 = 1e-9;

/// The folder of outside data, if this machine has it.
fn data_folder() -> Option<PathBuf> {
    let folder = std::env::var_os("DELASSUS_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no data in {} (set DELASSUS_DATA)", folder.display());
    None
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn assert_near(found: &[f64], wanted: &Value, what: &str) {
    let wanted = numbers(wanted);
    assert!(found.len() <= wanted.len(), "{what}: {found:?} against {wanted:?}");
    for (i, x) in found.iter().enumerate() {
        let scale = wanted[i].abs().max(1.0);
        assert!((x - wanted[i]).abs() <= TOLERANCE * scale, "{what}[{i}]: found {found:?}, wanted {wanted:?}");
    }
}

/// Quaternions are equal up to sign.
fn assert_same_turn(found: &UnitQuaternion<f64>, wanted: &Value, what: &str) {
    let q = numbers(wanted);
    let dot = found.w * q[0] + found.i * q[1] + found.j * q[2] + found.k * q[3];
    assert!((dot.abs() - 1.0).abs() <= TOLERANCE, "{what}: found {found:?}, wanted {q:?}");
    let difference = (Vector3::new(found.i, found.j, found.k) * dot.signum() - Vector3::new(q[1], q[2], q[3])).norm();
    assert!(difference <= TOLERANCE, "{what}: found {found:?}, wanted {q:?}");
}

fn compare_with_compiled(model: &Model, compiled: &Value) {
    let list = |key: &str| compiled[key].as_array().unwrap().clone();
    assert_eq!(model.nq() as u64, compiled["nq"].as_u64().unwrap());
    assert_eq!(model.nv() as u64, compiled["nv"].as_u64().unwrap());
    assert_near(model.gravity.as_slice(), &compiled["gravity"], "gravity");
    assert_eq!(model.timestep, compiled["timestep"].as_f64().unwrap());
    assert_near(&model.q0, &compiled["qpos0"], "qpos0");
    let total: f64 = model.bodies.iter().map(|b| b.mass).sum();
    assert!((total - compiled["total_mass"].as_f64().unwrap()).abs() <= TOLERANCE * total);

    assert_eq!(model.bodies.len(), list("bodies").len());
    for (i, (body, wanted)) in model.bodies.iter().zip(list("bodies")).enumerate() {
        assert_eq!(body.name, wanted["name"].as_str().unwrap());
        if i > 0 {
            assert_eq!(body.parent as i64, wanted["parent"].as_i64().unwrap(), "parent of {}", body.name);
        }
        assert_near(body.position.as_slice(), &wanted["pos"], &format!("position of body {i}"));
        assert_same_turn(&body.orientation, &wanted["quat"], &format!("orientation of body {i}"));
        assert_near(&[body.mass], &serde_json::json!([wanted["mass"]]), &format!("mass of body {i}"));
        assert_near(body.com.as_slice(), &wanted["com"], &format!("com of body {i}"));
        assert_near(body.inertia.transpose().as_slice(), &wanted["inertia_com"], &format!("inertia of body {i}"));
    }

    assert_eq!(model.joints.len(), list("joints").len());
    for (joint, wanted) in model.joints.iter().zip(list("joints")) {
        let name = &joint.name;
        assert_eq!(name, wanted["name"].as_str().unwrap());
        assert_eq!(joint.body as u64, wanted["body"].as_u64().unwrap());
        assert_eq!(format!("{:?}", joint.kind).to_lowercase(), wanted["type"].as_str().unwrap());
        assert_eq!(joint.q_start as u64, wanted["qposadr"].as_u64().unwrap());
        assert_eq!(joint.v_start as u64, wanted["dofadr"].as_u64().unwrap());
        assert_near(joint.anchor.as_slice(), &wanted["pos"], name);
        assert_near(joint.axis.as_slice(), &wanted["axis"], name);
        assert_eq!(joint.range.is_some(), wanted["limited"].as_bool().unwrap(), "{name}");
        if let Some(range) = joint.range {
            assert_near(&range, &wanted["range"], name);
        }
        let found = [joint.stiffness, joint.damping, joint.armature, joint.friction_loss];
        let wanted_values = ["stiffness", "damping", "armature", "frictionloss"].map(|key| wanted[key].clone());
        assert_near(&found, &Value::from(wanted_values.to_vec()), name);
        if joint.kind.nq() == 1 {
            let spring = compiled["qpos_spring"][joint.q_start].as_f64().unwrap();
            assert!((joint.spring_reference - spring).abs() <= TOLERANCE, "springref of {name}");
        }
    }

    assert_eq!(model.geoms.len(), list("geoms").len());
    for (i, (geom, wanted)) in model.geoms.iter().zip(list("geoms")).enumerate() {
        let what = format!("geom {i} {}", geom.name);
        assert_eq!(geom.name, wanted["name"].as_str().unwrap());
        assert_eq!(geom.body as u64, wanted["body"].as_u64().unwrap(), "{what}");
        assert_eq!(geom.shape.name(), wanted["type"].as_str().unwrap(), "{what}");
        let size = match &geom.shape {
            Shape::Plane | Shape::Hull(_) => vec![],
            Shape::Sphere { radius } => vec![*radius],
            Shape::Capsule { radius, half_length } | Shape::Cylinder { radius, half_length } => {
                vec![*radius, *half_length]
            }
            Shape::Ellipsoid { radii: v } | Shape::Box { half: v } => v.as_slice().to_vec(),
        };
        assert_near(&size, &wanted["size"], &what);
        assert_near(geom.position.as_slice(), &wanted["pos"], &what);
        assert_same_turn(&geom.orientation, &wanted["quat"], &what);
        assert_near(&geom.friction, &wanted["friction"], &what);
        assert_eq!(geom.condim as u64, wanted["condim"].as_u64().unwrap(), "{what}");
        assert_eq!(u64::from(geom.contype), wanted["contype"].as_u64().unwrap(), "{what}");
        assert_eq!(u64::from(geom.conaffinity), wanted["conaffinity"].as_u64().unwrap(), "{what}");
        assert_eq!(geom.margin, wanted["margin"].as_f64().unwrap(), "{what}");
    }

    assert_eq!(model.sites.len(), list("sites").len());
    for (site, wanted) in model.sites.iter().zip(list("sites")) {
        assert_eq!(site.name, wanted["name"].as_str().unwrap());
        assert_eq!(site.body as u64, wanted["body"].as_u64().unwrap());
        assert_near(site.position.as_slice(), &wanted["pos"], &site.name);
        assert_same_turn(&site.orientation, &wanted["quat"], &site.name);
    }

    assert_eq!(model.actuators.len(), list("actuators").len());
    for (actuator, wanted) in model.actuators.iter().zip(list("actuators")) {
        let name = &actuator.name;
        assert_eq!(name, wanted["name"].as_str().unwrap());
        assert_eq!(actuator.joint as u64, wanted["trnid"][0].as_u64().unwrap());
        assert_near(&actuator.gear, &wanted["gear"], name);
        if let Some(range) = actuator.control_range {
            assert_near(&range, &wanted["ctrlrange"], name);
        }
        assert_near(&actuator.gain, &wanted["gainprm"], name);
        assert_near(&actuator.bias, &wanted["biasprm"], name);
    }
}

#[test]
fn models_are_what_mujoco_compiles() {
    let Some(data) = data_folder() else { return };
    for name in ["ant", "half_cheetah", "hopper", "humanoid", "inverted_double_pendulum", "unitree_go1"] {
        let folder = data.join("models").join(name);
        if !folder.is_dir() {
            println!("skipped: no model {name}");
            continue;
        }
        let model = Model::from_mjcf_file(folder.join(format!("{name}.xml"))).unwrap();
        let text = std::fs::read_to_string(folder.join("model.json")).unwrap();
        compare_with_compiled(&model, &serde_json::from_str(&text).unwrap());
        println!("{name}: nq {}, nv {}, pairs {}", model.nq(), model.nv(), model.pairs.len());
        for note in &model.notes {
            println!("  {note}");
        }
    }
}
