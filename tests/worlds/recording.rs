//! Recordings: what they keep, against what worlds say themselves, and the page that is made of them.

use super::*;
use delassus::recording::Recording;
use delassus::worlds::{Frame, Quantity};
use serde_json::Value;

const BALL: &str = r#"<mujoco model="a &lt;/script> ball">
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body pos="0 0 0.1"><freejoint/><geom type="sphere" size="0.1" mass="2"/></body>
  </worldbody>
</mujoco>"#;

#[test]
fn a_moment_is_the_world_as_it_was() {
    let model = example("ant");
    let mut worlds = noisy(&model, 5, f64_settings());
    let mut recording = Recording::start(&mut worlds, &[3, 1], None).expect("a recording");
    let (nq, nv, ng) = (model.nq(), model.nv(), model.geoms.len());
    for step in 1..=20 {
        worlds.step(5).expect("a step");
        // A world that starts anew does not turn the clock back.
        if step == 10 {
            worlds.reset(Mask::List(&[3]), 1).expect("a start");
        }
        recording.see(&worlds).expect("the same worlds");
        let (q, v) = worlds.state();
        let quantities: Vec<Quantity> =
            (0..ng).flat_map(|g| [Quantity::Position(Frame::Geom(g)), Quantity::Orientation(Frame::Geom(g))]).collect();
        let mut poses = vec![0.0; 5 * ng * 7];
        worlds.observe_into(&quantities, &mut poses).expect("poses");
        let kept = recording.poses();
        assert_eq!(recording.moments().len(), 2 * (step + 1));
        for (i, world) in [3, 1].into_iter().enumerate() {
            let row = 2 * step + i;
            let moment = &recording.moments()[row];
            assert_eq!(bits(&moment.q), bits(&q[world * nq..][..nq]));
            assert_eq!(bits(&moment.v), bits(&v[world * nv..][..nv]));
            assert_eq!(moment.report, worlds.reports()[world]);
            let contacts = worlds.contacts(world).expect("it is watched");
            assert_eq!(moment.contacts.len(), contacts.len());
            for (a, b) in kept[row * ng * 7..][..ng * 7].iter().zip(&poses[world * ng * 7..][..ng * 7]) {
                assert!((a - b).abs() < 1e-12, "{a} instead of {b}");
            }
            let state = state_query(&model, &moment.q, &moment.v).expect("a state");
            let scale = state.kinetic_energy.abs().max(state.potential_energy.abs());
            assert!((moment.energy.kinetic - state.kinetic_energy).abs() < 1e-12 * scale);
            assert!((moment.energy.gravity - state.potential_energy).abs() < 1e-12 * scale);
        }
        assert!((recording.times()[step] - 5.0 * worlds.dt() * step as f64).abs() < 1e-12);
    }
    assert!(recording.moments().iter().any(|m| !m.contacts.is_empty()));
}

#[test]
fn moments_come_as_often_as_asked() {
    let model = Model::from_mjcf_str(BALL).expect("a model");
    for (fps, substeps, expected) in [(30.0, 5, 31), (1000.0, 5, 101), (50.0, 10, 51), (100.0, 5, 101)] {
        let mut worlds = worlds(&model, 1, Settings::default());
        let mut recording = Recording::start(&mut worlds, &[0], Some(fps)).expect("a recording");
        // 1 s
        for _ in 0..500 / substeps {
            worlds.step(substeps).expect("a step");
            recording.see(&worlds).expect("the same worlds");
        }
        assert_eq!(recording.times().len(), expected, "{fps} a second");
        for (k, time) in recording.times().iter().enumerate() {
            let due = k as f64 * (1.0 / fps).max(f64::from(substeps) * worlds.dt());
            assert!(*time > due - 1e-9 && *time < due + f64::from(substeps) * worlds.dt(), "{time} for {due}");
        }
    }
}

#[test]
fn energy_of_a_spring_and_of_a_worlds_own_masses() {
    let model = Model::from_mjcf_str(
        r#"<mujoco>
          <option timestep="0.001" integrator="RK4"/>
          <worldbody>
            <body><joint type="slide" axis="0 0 1" stiffness="50" springref="0.2"/><geom size="0.1" mass="2"/></body>
          </worldbody>
        </mujoco>"#,
    )
    .expect("a model");
    let mut worlds = worlds(&model, 2, f64_settings());
    worlds.set_parameter(Parameter::MassScale, Mask::List(&[1]), &[1.0, 3.0][..]).expect("a mass");
    worlds.set_parameter(Parameter::Gravity, Mask::List(&[1]), &[0.0, 0.0, -1.0][..]).expect("gravity");
    worlds.set_state(Mask::All, &[0.5, 0.5][..], &[0.0, 1.0][..]).expect("a state");
    let mut recording = Recording::start(&mut worlds, &[0, 1], None).expect("a recording");
    for _ in 0..1000 {
        worlds.step(1).expect("a step");
        recording.see(&worlds).expect("the same worlds");
    }
    // m g z + ½ k (z − z₀)² + ½ m v²
    for (world, mass, gravity, v) in [(0, 2.0, 9.81, 0.0), (1, 6.0, 1.0, 1.0)] {
        let all: Vec<_> = recording.moments().iter().skip(world).step_by(2).map(|m| m.energy).collect();
        let expected = [0.5 * mass * v * v, mass * gravity * 0.5, 0.5 * 50.0 * 0.09];
        for (found, expected) in [all[0].kinetic, all[0].gravity, all[0].springs].iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
        }
        let total: f64 = expected.iter().sum();
        for energy in &all {
            // What the fourth order loses, 5 rad/s at 1 ms, is far less than rounding of a few digits.
            assert!((energy.kinetic + energy.gravity + energy.springs - total).abs() < 1e-9 * total, "{energy:?}");
        }
        assert!(all.iter().any(|e| e.springs < 0.5 * all[0].springs));
    }
}

/// The inverse of base64, whatever padding.
fn decoded(text: &Value) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = text.as_str().expect("text").trim_end_matches('=');
    let (mut bytes, mut number, mut bit_count) = (Vec::new(), 0u32, 0);
    for digit in text.chars() {
        number = number << 6 | DIGITS.find(digit).expect("a digit") as u32;
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            bytes.push((number >> bit_count) as u8);
            number &= (1 << bit_count) - 1;
        }
    }
    bytes
}

fn numbers(text: &Value) -> Vec<f32> {
    decoded(text).chunks(4).map(|b| f32::from_le_bytes(b.try_into().expect("four"))).collect()
}

#[test]
fn the_page_holds_what_was_recorded() {
    let model = Model::from_mjcf_str(BALL).expect("a model");
    let mut worlds = worlds(&model, 3, f64_settings());
    let mut recording = Recording::start(&mut worlds, &[0, 2], Some(100.0)).expect("a recording");
    for _ in 0..50 {
        worlds.step(5).expect("a step");
        recording.see(&worlds).expect("the same worlds");
    }
    let page = recording.page();
    let (_, rest) = page.split_once("type=\"application/json\">").expect("the recording");
    let (scene, _) = rest.split_once("</script>").expect("its end");
    let scene: Value = serde_json::from_str(scene).expect("JSON");
    assert_eq!(scene["name"], "a </script> ball");
    assert_eq!(scene["worlds"], serde_json::json!([0, 2]));
    let shapes: Vec<&Value> = scene["geoms"].as_array().expect("geoms").iter().map(|g| &g["shape"]).collect();
    assert_eq!(shapes, ["plane", "sphere"]);

    let moment_count = recording.times().len();
    assert_eq!(numbers(&scene["times"]).len(), moment_count);
    // Of the ball alone, in f32; the floor stands by itself.
    let poses: Vec<f32> = recording.poses().chunks(7).skip(1).step_by(2).flatten().map(|x| *x as f32).collect();
    assert_eq!(numbers(&scene["poses"]), poses);
    assert_eq!(numbers(&scene["fixed"]), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(decoded(&scene["solved"]), vec![1; 2 * moment_count]);
    // At rest the floor carries the weight.
    let starts = decoded(&scene["contact_starts"]);
    assert_eq!(starts.len(), 4 * (2 * moment_count + 1));
    let contacts = numbers(&scene["contacts"]);
    let last = &contacts[contacts.len() - 6..];
    assert!((f64::from(last[5]) - 2.0 * 9.81).abs() < 1e-4 && last[3].abs() < 1e-4, "{last:?}");
    assert!((scene["weight"].as_f64().expect("a number") - 2.0 * 9.81).abs() < 1e-12);
}

#[test]
fn a_recording_ends_its_own_watch_only() {
    let model = Model::from_mjcf_str(BALL).expect("a model");
    let mut worlds = worlds(&model, 3, Settings::default());
    worlds.watch(1, true).expect("a world");
    let mut recording = Recording::start(&mut worlds, &[0, 1], None).expect("a recording");
    assert!(worlds.contacts(0).is_some());
    recording.end(&mut worlds).expect("the same worlds");
    assert!(worlds.contacts(0).is_none() && worlds.contacts(1).is_some());
    assert_eq!(recording.moments().len(), 2);
}

#[test]
fn a_wrong_recording_is_refused_with_a_reason() {
    let model = Model::from_mjcf_str(BALL).expect("a model");
    let (mut own, mut other) = (worlds(&model, 2, Settings::default()), worlds(&model, 2, Settings::default()));
    let refused = |worlds: &mut Worlds, chosen: &[usize], fps| {
        Recording::start(worlds, chosen, fps).expect_err("a mistake").to_string()
    };
    assert!(refused(&mut own, &[], None).contains("at least one"));
    assert!(refused(&mut own, &[0, 2], None).contains("no world 2, only 2"));
    for fps in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(&mut own, &[0], Some(fps)).starts_with("fps: "));
    }
    let mut recording = Recording::start(&mut own, &[0], None).expect("a recording");
    other.step(1).expect("a step");
    assert!(recording.see(&other).expect_err("other worlds").to_string().contains("began with"));
    assert!(recording.end(&mut other).is_err());
}
