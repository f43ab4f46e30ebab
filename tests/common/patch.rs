//! Scenarios of line and surface contact from the external data, and what pushes their bodies.

use crate::common::{floats, json};
use delassus::ecp::{Body, Ground, Shape, State, Stepper};
use nalgebra::{Quaternion, UnitQuaternion, Vector3, Vector6};
use serde_json::Value;
use std::path::Path;

#[path = "../../examples/patches/laws.rs"]
mod laws;

fn vector(v: &Value) -> Vector3<f64> {
    Vector3::from_column_slice(&floats(v))
}

fn orientation(v: &Value) -> UnitQuaternion<f64> {
    let q = floats(v);
    UnitQuaternion::from_quaternion(Quaternion::new(q[0], q[1], q[2], q[3]))
}

/// One file.
pub struct Scenario {
    pub name: String,
    pub file: Value,
    pub stepper: Stepper,
    pub start: State,
    pub steps: usize,
}

impl Scenario {
    pub fn read(path: &Path) -> Self {
        let file = json(path);
        let body = &file["body"];
        let size = floats(&body["size"]);
        let shape = match body["shape"].as_str().unwrap() {
            "box" => Shape::Box { half: [size[0] / 2.0, size[1] / 2.0, size[2] / 2.0] },
            "cylinder" => Shape::Cylinder { radius: size[0], half_length: size[1] / 2.0 },
            other => panic!("shape {other}"),
        };
        let inertia = floats(&body["inertia_body"]).try_into().unwrap();
        let stepper = Stepper {
            body: Body { shape, mass: body["mass"].as_f64().unwrap(), inertia },
            ground: Ground {
                friction: file["friction"]["mu"].as_f64().unwrap(),
                ellipsoid: floats(&file["friction"]["e"]).try_into().unwrap(),
            },
            gravity: vector(&file["gravity"]),
            dt: file["h"].as_f64().unwrap(),
        };
        let initial = &file["initial"];
        let start = State {
            position: vector(&initial["x"]),
            orientation: orientation(&initial["q"]),
            velocity: vector(&initial["v"]),
            angular_velocity: vector(&initial["w"]),
        };
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Self { name, stepper, start, steps: file["steps"].as_u64().unwrap() as usize, file }
    }

    /// All of a folder but those on a table with an edge.
    pub fn all(folder: &Path) -> Vec<Self> {
        let entries = std::fs::read_dir(folder.join("patch")).unwrap().map(|entry| entry.unwrap().path());
        let mut paths: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
        paths.sort();
        let scenarios: Vec<_> = paths.iter().map(|path| Self::read(path)).collect();
        scenarios.into_iter().filter(|s| s.file["table"].is_null()).collect()
    }

    /// What is applied in step k: impulse and its moment about the centre of mass, without gravity.
    pub fn applied(&self, k: usize, state: &State) -> Vector6<f64> {
        let (applied, h) = (&self.file["applied"], self.stepper.dt);
        let t = k as f64 * h;
        let six = |v: &Value| Vector6::from_column_slice(&floats(v));
        let mut sum = Vector6::zeros();
        for impulse in applied["impulses"].as_array().unwrap() {
            if (impulse["t"].as_f64().unwrap() - t).abs() < 0.5 * h {
                sum += six(&impulse["impulse"]);
            }
        }
        for force in applied["forces"].as_array().unwrap() {
            let [from, to] = ["t0", "t1"].map(|key| force[key].as_f64().unwrap());
            if t >= from - 1e-9 && t < to - 1e-9 {
                sum += six(&force["wrench"]) * h;
            }
        }
        sum + match applied["law"].as_str() {
            Some("kick_when_spin_stops") => laws::kick_when_spin_stops(state),
            Some("robot4") => laws::hand(state, t) * h,
            Some(other) => panic!("law {other}"),
            None => Vector6::zeros(),
        }
    }

    /// Place in the expected trajectory of the end of step k, if it is recorded.
    pub fn recorded(&self, k: usize) -> Option<usize> {
        let every = self.file["expected"]["every"].as_u64().unwrap() as usize;
        let i = (k + 1) / every;
        let count = self.file["expected"]["t"].as_array().unwrap().len();
        ((k + 1).is_multiple_of(every) && i <= count).then(|| i - 1)
    }

    /// How far a state is from the i-th recorded one: largest components of x, v, w (m, m/s, rad/s), and the angle (rad).
    pub fn distance(&self, i: usize, state: &State) -> Distance {
        let expected = &self.file["expected"];
        let off = |key: &str, ours: &Vector3<f64>| (ours - vector(&expected[key][i])).amax();
        Distance {
            x: off("x", &state.position),
            v: off("v", &state.velocity),
            w: off("w", &state.angular_velocity),
            angle: orientation(&expected["q"][i]).angle_to(&state.orientation),
        }
    }

    /// The recorded equivalent contact point minus the recorded centre of mass; none without contact.
    pub fn arm(&self, i: usize) -> Option<Vector3<f64>> {
        let expected = &self.file["expected"];
        let touches = expected["active_functions"][i].as_u64().is_none_or(|n| n > 0) && !expected["ecp"][i].is_null();
        touches.then(|| vector(&expected["ecp"][i]) - vector(&expected["x"][i]))
    }

    /// The tolerance of another first-order step at the i-th recorded time.
    pub fn first_order(&self, i: usize) -> Distance {
        let tolerance = &self.file["tolerance"]["first_order_step"];
        let of = |key: &str| tolerance[key][i].as_f64().unwrap();
        Distance { x: of("x"), v: of("v"), w: of("w"), angle: of("angle") }
    }
}

/// Differences of two states, or what is allowed of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    pub x: f64,
    pub v: f64,
    pub w: f64,
    pub angle: f64,
}

impl Distance {
    pub fn within(&self, allowed: &Self) -> bool {
        self.x <= allowed.x && self.v <= allowed.v && self.w <= allowed.w && self.angle <= allowed.angle
    }
}
