//! Shared by the integration tests: what a machine may lack, where the external data lies, and robots from its `model.json` files.
#![allow(dead_code, missing_docs, reason = "every test binary uses its own part")]

use delassus::Worlds;
use delassus::model::{Actuator, Geom, Hull, Joint, JointKind, Model, ModelBuilder, Shape, Transmission};
use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Says that the test at hand checks nothing because this machine lacks something, or fails if `variable` (1, or 0 and unset) says that the machine
/// must have it. Written past libtest, which shows what is printed of failing tests only.
fn lacking(what: &str, variable: &str) {
    let required = std::env::var(variable).is_ok_and(|value| !value.is_empty() && value != "0");
    assert!(!required, "{variable} is set: {what}");
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    writeln!(std::io::stderr(), "NOT CHECKED: {test}: {what}").expect("stderr");
}

/// For a test that needs an adapter and got `error`: see [`lacking`].
pub fn no_adapter(error: &delassus::Error) {
    lacking(&error.to_string(), "DELASSUS_REQUIRE_GPU");
}

/// Whether there is an adapter; if not, see [`lacking`].
#[cfg(feature = "gpu")]
pub fn adapter() -> bool {
    device().is_some()
}

/// The device of a test, all of whose worlds compile once what they have in common; if there is none, see [`lacking`]. No other test has it: lavapipe compiles a shader when it
/// first runs, and all that was given to the device after it waits.
#[cfg(feature = "gpu")]
pub fn device() -> Option<delassus::gpu::Device> {
    use delassus::gpu::{Device, DeviceChoice};
    use std::sync::Mutex;
    use std::thread::ThreadId;
    // a test is a thread; not `thread_local`, since in debug builds wgpu cannot end with its thread
    static DEVICES: Mutex<Vec<(ThreadId, Option<Device>)>> = Mutex::new(Vec::new());
    let own = std::thread::current().id();
    let devices = || DEVICES.lock().expect("no panic before");
    let there = devices().iter().find(|(thread, _)| *thread == own).map(|(_, device)| device.clone());
    there.unwrap_or_else(|| {
        let device = Device::new(&DeviceChoice::Any).inspect_err(no_adapter).ok();
        devices().push((own, device.clone()));
        device
    })
}

/// Worlds; those of the backend `gpu` are on [`device`], which there is.
#[cfg(feature = "gpu")]
pub fn worlds_of(model: &Model, count: usize, settings: delassus::Settings) -> delassus::Result<Worlds> {
    if settings.backend == delassus::Backend::Gpu {
        Worlds::on_device(model, count, settings, device().expect("an adapter"))
    } else {
        Worlds::new(model, count, settings)
    }
}

/// An example model.
pub fn example(name: &str) -> Model {
    Model::from_mjcf_file(format!("{}/examples/models/{name}.xml", env!("CARGO_MANIFEST_DIR"))).expect("an example")
}

/// q, then v of all worlds, to the bit.
pub fn bits(worlds: &Worlds) -> Vec<u64> {
    worlds.positions().iter().chain(&worlds.velocities()).map(|x| x.to_bits()).collect()
}

/// The folder of external test data, if this machine has it; else see [`lacking`]. A folder that was named must exist.
pub fn data() -> Option<PathBuf> {
    let named = std::env::var_os("DELASSUS_DATA").map(PathBuf::from);
    let is_named = named.is_some();
    let folder = named.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"));
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(!is_named, "DELASSUS_DATA: there is no folder {}", folder.display());
    lacking(&format!("no external data at {}", folder.display()), "DELASSUS_REQUIRE_DATA");
    None
}

pub fn json(path: &std::path::Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

pub fn floats(v: &Value) -> Vec<f64> {
    v.as_array().map(|a| a.iter().map(|x| x.as_f64().unwrap()).collect()).unwrap_or_default()
}

fn vector(v: &Value) -> Vector3<f64> {
    Vector3::from_column_slice(&floats(v))
}

fn orientation(v: &Value) -> UnitQuaternion<f64> {
    let q = floats(v);
    UnitQuaternion::from_quaternion(Quaternion::new(q[0], q[1], q[2], q[3]))
}

/// A robot from the XML-free description `delassus-model/1`.
pub fn model_from_json(m: &Value) -> Model {
    let mut builder = ModelBuilder::new(m["name"].as_str().unwrap());
    builder.timestep(m["timestep"].as_f64().unwrap());
    builder.gravity(floats(&m["gravity"]).try_into().unwrap());
    for body in &m["bodies"].as_array().unwrap()[1..] {
        let parent = body["parent"].as_u64().unwrap() as usize;
        let b = builder.add_body(body["name"].as_str().unwrap(), parent, vector(&body["pos"]).into());
        builder.body_mut(b).orientation = orientation(&body["quat"]);
        let inertia = Matrix3::from_row_slice(&floats(&body["inertia_com"]));
        builder.set_inertia(b, body["mass"].as_f64().unwrap(), vector(&body["com"]).into(), inertia);
    }
    for joint in m["joints"].as_array().unwrap() {
        let kind = match joint["type"].as_str().unwrap() {
            "free" => JointKind::Free,
            "slide" => JointKind::Slide,
            "hinge" => JointKind::Hinge,
            other => panic!("joint type {other}"),
        };
        let number = |key: &str| joint[key].as_f64().unwrap_or(0.0);
        let mut j = Joint::new(joint["body"].as_u64().unwrap() as usize, kind);
        j.name = joint["name"].as_str().unwrap_or("").into();
        j.anchor = vector(&joint["pos"]);
        j.axis = vector(&joint["axis"]);
        if joint["limited"].as_bool().unwrap_or(false) {
            j.range = Some(floats(&joint["range"]).try_into().unwrap());
        }
        (j.stiffness, j.damping) = (number("stiffness"), number("damping"));
        (j.armature, j.friction_loss) = (number("armature"), number("frictionloss"));
        if kind != JointKind::Free {
            j.reference = m["qpos0"][joint["qposadr"].as_u64().unwrap() as usize].as_f64().unwrap();
            j.spring_reference = m["qpos_spring"][joint["qposadr"].as_u64().unwrap() as usize].as_f64().unwrap();
        }
        builder.add_joint(j);
    }
    for geom in m["geoms"].as_array().unwrap() {
        let s = floats(&geom["size"]);
        let shape = match geom["type"].as_str().unwrap() {
            "plane" => Shape::Plane,
            "sphere" => Shape::Sphere { radius: s[0] },
            "capsule" => Shape::Capsule { radius: s[0], half_length: s[1] },
            "cylinder" => Shape::Cylinder { radius: s[0], half_length: s[1] },
            "box" => Shape::Box { half: Vector3::new(s[0], s[1], s[2]) },
            "mesh" => Shape::Hull(Arc::new(hull(&geom["vertices"]))),
            other => panic!("geom type {other}"),
        };
        let mut g = Geom::new(geom["body"].as_u64().unwrap() as usize, shape);
        g.name = geom["name"].as_str().unwrap_or("").into();
        g.position = vector(&geom["pos"]);
        g.orientation = orientation(&geom["quat"]);
        g.friction = floats(&geom["friction"]).try_into().unwrap();
        g.condim = geom["condim"].as_u64().unwrap() as usize;
        g.contype = geom["contype"].as_u64().unwrap() as u32;
        g.conaffinity = geom["conaffinity"].as_u64().unwrap() as u32;
        g.margin = geom["margin"].as_f64().unwrap();
        builder.add_geom(g);
    }
    for actuator in m["actuators"].as_array().unwrap() {
        let range = floats(&actuator["ctrlrange"]);
        builder.add_actuator(Actuator {
            name: actuator["name"].as_str().unwrap_or("").into(),
            transmission: Transmission::Joint(actuator["trnid"][0].as_u64().unwrap() as usize),
            gear: floats(&actuator["gear"]).try_into().unwrap(),
            control_range: (range.len() == 2 && range[0] < range[1]).then(|| [range[0], range[1]]),
            force_range: None,
            gain: floats(&actuator["gainprm"])[..3].try_into().unwrap(),
            bias: floats(&actuator["biasprm"])[..3].try_into().unwrap(),
        });
    }
    builder.build().unwrap()
}

fn hull(vertices: &Value) -> Hull {
    let points: Vec<Vector3<f64>> = match vertices.as_array().unwrap() {
        list if list.first().is_some_and(Value::is_array) => list.iter().map(vector).collect(),
        _ => floats(vertices).chunks(3).map(Vector3::from_column_slice).collect(),
    };
    // Only the corners matter here; one triangle fan stands for the surface.
    let triangles = (2..points.len()).map(|i| [0, i - 1, i]).collect();
    Hull { name: String::new(), vertices: points, triangles }
}

/// Every robot of the external data: name, model, reference file.
pub fn robots(folder: &std::path::Path) -> Vec<(String, Model, Value)> {
    let index = json(&folder.join("models/models.json"));
    let names = index.as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap().to_string());
    names
        .map(|name| {
            let model = model_from_json(&json(&folder.join(format!("models/{name}/model.json"))));
            let reference = json(&folder.join(format!("reference/{name}.json")));
            (name, model, reference)
        })
        .collect()
}

/// The largest |a − b| over the largest |b| (or 1).
pub fn relative_error(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let scale = b.iter().fold(1.0f64, |m, x| m.max(x.abs()));
    a.iter().zip(b).fold(0.0f64, |m, (x, y)| m.max((x - y).abs())) / scale
}

/// Twenty balls on one body, which touch a plane in twenty points: more than a device has room for at first.
pub fn twenty_balls() -> Model {
    Model::from_mjcf_str(include_str!("twenty_balls.xml")).expect("a model")
}
