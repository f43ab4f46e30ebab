//! Snapshots: the same future, and refusals that say what differs.

use super::*;

/// A snapshot, in memory or through JSON, has the same future to the bit, parameters and warm start included.
#[test]
fn a_snapshot_has_the_same_future() {
    for precision in [Precision::F32, Precision::F64] {
        let model = example("ant");
        let settings = Settings { precision, backend: Backend::Cpu, ..Settings::default() };
        let mut w = noisy(&model, 18, settings.clone());
        let friction: Vec<f64> = (0..18 * model.geoms.len()).map(|i| 0.3 + 0.01 * i as f64).collect();
        w.set_parameter(Parameter::Friction, Mask::All, &friction).expect("friction");
        w.external_force_mut()[4] = 0.1;
        roll(&mut w, 30);
        let snapshot = w.save();
        let json = serde_json::to_string(&snapshot).expect("JSON");
        roll(&mut w, 30);
        let future = (bits(&w.observe()), w.reports().to_vec(), w.time().to_vec());

        let read: Snapshot = serde_json::from_str(&json).expect("a snapshot");
        assert_eq!(read, snapshot);
        for snapshot in [snapshot, read] {
            let mut other = worlds(&model, 18, settings.clone());
            other.load(&snapshot).expect("a snapshot");
            roll(&mut other, 30);
            assert!(
                (bits(&other.observe()), other.reports().to_vec(), other.time().to_vec()) == future,
                "{precision:?}"
            );
        }
    }
}

/// A snapshot with worlds that are not finite comes back through JSON as it was.
#[test]
fn a_snapshot_keeps_what_is_not_finite() {
    let model = example("ant");
    let mut w = noisy(&model, 3, f64_settings());
    let (mut q, mut v) = w.state();
    (q[2], v[model.nv()]) = (f64::NAN, f64::NEG_INFINITY);
    w.set_state(Mask::All, &q, &v).expect("a state");
    w.control_mut()[2 * model.nu()] = f64::INFINITY;
    let json = serde_json::to_string(&w.save()).expect("JSON");
    assert!(json.contains("\"NaN\"") && json.contains("\"-inf\"") && json.contains("\"inf\""));
    let mut other = worlds(&model, 3, f64_settings());
    other.load(&serde_json::from_str(&json).expect("a snapshot")).expect("a snapshot");
    for worlds in [&mut w, &mut other] {
        let status: Vec<_> = worlds.step(5).expect("a step").iter().map(|r| r.status).collect();
        assert_eq!(status, [WorldStatus::NotFinite, WorldStatus::NotFinite, WorldStatus::Solved]);
    }
    let row = model.nq() + model.nv();
    assert_eq!(bits(&w.observe()[2 * row..]), bits(&other.observe()[2 * row..]));
    let spoilt = json.replace("\"-inf\"", "\"many\"");
    assert!(serde_json::from_str::<Snapshot>(&spoilt).unwrap_err().to_string().contains("\"many\" is no number"));
}

/// A snapshot of other worlds is refused, and says whose it is.
#[test]
fn a_snapshot_of_other_worlds_is_refused() {
    let ant = worlds(&example("ant"), 3, Settings::default()).save();
    let mut fewer = worlds(&example("ant"), 2, Settings::default());
    let mut other = worlds(&example("biped"), 3, Settings::default());
    let before = other.save();
    assert_eq!(message(fewer.load(&ant)), "snapshot: is of 3 worlds, these are 2");
    let refusal = message(other.load(&ant));
    for part in [
        "is of the model \"ant\", these worlds are of \"biped\"",
        "its model has other time step, gravity, medium, integrator or cone, bodies, joints, geoms, actuators",
        "q has 45 numbers, 3 worlds of this model need 51",
        "v has 42 numbers, 3 worlds of this model need 48",
        "control has 24 numbers, 3 worlds of this model need 30",
    ] {
        assert!(refusal.contains(part), "no {part:?} in {refusal}");
    }
    assert!(!refusal.contains("worlds, these"), "{refusal}");
    assert_eq!(other.save(), before);
}

/// Another mass is another model, though name and sizes are the same; what does not enter the motion is none.
#[test]
fn a_snapshot_knows_its_model_by_all_that_enters_the_motion() {
    let saved = worlds(&example("quadruped"), 2, Settings::default()).save();
    let changed = |from: &str, to: &str| {
        let model = Model::from_mjcf_str(&text("quadruped").replace(from, to)).expect("a model");
        worlds(&model, 2, Settings::default()).load(&saved)
    };
    for (from, to, part) in [
        ("mass=\"5.6\"", "mass=\"9.6\"", "bodies"),
        ("damping=\"0.6\"", "damping=\"0.7\"", "joints"),
        ("friction=\"0.8\"", "friction=\"0.9\"", "geoms"),
        ("friction=\"0.8\"", "friction=\"0.8\" solref=\"0.03 1\"", "geoms"),
        ("damping=\"0.6\"", "damping=\"0.6\" solimplimit=\"0.8\"", "joints"),
        ("kp=\"60\"", "kp=\"61\"", "actuators"),
        ("timestep=\"0.004\"", "timestep=\"0.003\"", "time step, gravity, medium, integrator or cone"),
        ("timestep=\"0.004\"", "timestep=\"0.004\" density=\"1.2\"", "time step, gravity, medium, integrator or cone"),
        (
            "timestep=\"0.004\"",
            "timestep=\"0.004\" cone=\"elliptic\"",
            "time step, gravity, medium, integrator or cone",
        ),
        (
            "timestep=\"0.004\"",
            "timestep=\"0.004\" integrator=\"RK4\"",
            "time step, gravity, medium, integrator or cone",
        ),
    ] {
        assert_eq!(message(changed(from, to)), format!("snapshot: its model has other {part}"));
    }
    changed("name=\"trunk\" type", "name=\"belly\" type").expect("names do not enter the motion");
}

/// What a snapshot carries is checked as `set_parameter` checks it, and nothing is loaded if anything is wrong.
#[test]
fn a_spoilt_snapshot_is_refused() {
    let mut w = noisy(&example("ant"), 2, f64_settings());
    roll(&mut w, 40);
    for parameter in [Parameter::MassScale, Parameter::Friction] {
        let values = w.parameter(parameter);
        w.set_parameter(parameter, Mask::All, &values).expect("a parameter");
    }
    let before = w.save();
    let json = serde_json::to_value(&before).expect("JSON");
    let mut spoil = |pointer: &str, value: serde_json::Value| {
        let mut json = json.clone();
        *json.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        let snapshot: Snapshot = serde_json::from_value(json).expect("a snapshot");
        message(w.load(&snapshot))
    };
    assert_eq!(
        spoil("/parameters/1/12", (-1.0).into()),
        "snapshot: -1 is no mass_scale: entry 2 must be above 0 (world 1)"
    );
    assert_eq!(
        spoil("/parameters/2/0", (-0.5).into()),
        "snapshot: -0.5 is no friction: entry 0 must not be negative (world 0)"
    );
    assert_eq!(spoil("/parameters/3", serde_json::json!([1.0])), "snapshot: GainScale has 1 numbers, needs 16 or none");
    assert_eq!(spoil("/parameters", serde_json::json!([])), "snapshot: parameters has 0 entries, needs 16");
    assert_eq!(spoil("/memory", serde_json::json!([])), "snapshot: memory has 0 entries, needs 2");
    assert_eq!(spoil("/external", serde_json::json!([])), "snapshot: external has 0 entries, needs 28");
    assert_eq!(spoil("/time", serde_json::json!([0.0])), "snapshot: time has 1 entries, needs 2");
    assert_eq!(spoil("/q", serde_json::json!([0.0])), "snapshot: q has 1 numbers, 2 worlds of this model need 30");
    assert_eq!(spoil("/fingerprint", serde_json::json!([])).matches("other").count(), 1);
    assert_eq!(w.save(), before);
}
