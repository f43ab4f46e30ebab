//! Mocap bodies: a world whose hand was moved moves as in a model that has it there, and others do not notice.

use super::*;
use delassus::recording::Recording;
use delassus::worlds::{Frame, Quantity};

/// A tray with a post that is fixed to it, an arm that hangs from it and a box above it; and a block that is welded to a second mocap body.
fn model(tray: &str, hand: &str) -> Model {
    Model::from_mjcf_str(&format!(
        r#"<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 1"/>
             <body name="tray" mocap="true" {tray}><geom type="box" size="0.3 0.3 0.02"/>
               <body name="post" pos="0.2 0 0.1" euler="0 30 0"><geom type="capsule" size="0.02 0.08"/></body>
               <body name="arm" pos="-0.3 0 0"><joint axis="0 1 0" damping="0.01"/><geom type="capsule" size="0.02" fromto="0 0 0 -0.2 0 0" mass="0.3"/></body>
             </body>
             <body name="box" pos="0.03 0.02 0.72"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="0.5"/></body>
             <body name="hand" mocap="true" {hand}/>
             <body name="block" pos="1 0 0.5"><freejoint/><geom type="box" size="0.04 0.04 0.04" mass="0.2"/></body>
           </worldbody>
           <equality><weld body1="hand" body2="block" relpose="0 0 -0.1 1 0 0 0"/></equality></mujoco>"#
    ))
    .expect("a model")
}

const TRAY: &str = r#"pos="0 0 0.6""#;
const HAND: &str = r#"pos="1 0 0.6""#;
const MOVED_TRAY: [f64; 7] = [0.05, -0.02, 0.58, 0.995_004_165_278_025_8, 0.0, 0.099_833_416_646_828_15, 0.0];
const MOVED_HAND: [f64; 7] = [1.02, 0.03, 0.61, 0.968_912_421_710_644_7, 0.0, 0.0, 0.247_403_959_254_522_94];

fn pose([x, y, z, qw, qx, qy, qz]: [f64; 7]) -> String {
    format!(r#"pos="{x} {y} {z}" quat="{qw} {qx} {qy} {qz}""#)
}

/// Quantities of all worlds.
fn look(worlds: &Worlds, quantities: &[Quantity]) -> Vec<f64> {
    let size: usize = quantities.iter().map(|q| q.len(worlds.model())).sum();
    let mut seen = vec![0.0; worlds.world_count() * size];
    worlds.observe_into(quantities, &mut seen).expect("quantities");
    seen
}

/// State, and what is seen of the frames, after some steps.
fn future(worlds: &mut Worlds, steps: u32) -> Vec<Vec<u64>> {
    for _ in 0..steps {
        worlds.step(1).expect("a step");
    }
    let model = worlds.model().clone();
    let body = |name| Frame::Body(model.body(name).expect("a body"));
    let seen: Vec<Quantity> = ["tray", "post", "arm", "hand", "block"]
        .iter()
        .flat_map(|name| [Quantity::Position(body(name)), Quantity::Orientation(body(name))])
        .collect();
    let seen = look(worlds, &seen);
    let ((q, v), (nq, nv), count) = (worlds.state(), (model.nq(), model.nv()), worlds.world_count());
    let of = |w: usize| {
        let seen = &seen[w * seen.len() / count..(w + 1) * seen.len() / count];
        bits(&[&q[w * nq..(w + 1) * nq], &v[w * nv..(w + 1) * nv], seen].concat())
    };
    (0..count).map(of).collect()
}

#[test]
fn a_world_whose_mocap_bodies_were_moved_is_that_of_a_model_that_has_them_there() {
    let (here, there) = (model(TRAY, HAND), model(&pose(MOVED_TRAY), &pose(MOVED_HAND)));
    for precision in [Precision::F32, Precision::F64] {
        for integrator in [Integrator::Euler, Integrator::Rk4] {
            let settings =
                Settings { precision, integrator: Some(integrator), backend: Backend::Cpu, ..Settings::default() };
            let (mut moved, mut other) = (worlds(&here, 3, settings.clone()), worlds(&there, 1, settings.clone()));
            let mut alone = worlds(&here, 1, settings);
            // what moves starts where the model of its own has it
            other.set_state(Mask::All, &here.q0, &vec![0.0; here.nv()]).expect("a state");
            let poses = [MOVED_TRAY, MOVED_HAND].concat();
            moved.set_parameter(Parameter::MocapPose, Mask::List(&[1]), &poses).expect("poses");
            let told = moved.parameter(Parameter::MocapPose);
            // f32
            assert!(told[14..28].iter().zip(&poses).all(|(a, b)| (a - b).abs() < 1e-7), "{told:?}");
            let (found, wanted, at_rest) = (future(&mut moved, 60), future(&mut other, 60), future(&mut alone, 60));
            assert_eq!(found[1], wanted[0], "{precision:?} {integrator:?}");
            assert_eq!([&found[0], &found[2]], [&at_rest[0]; 2], "{precision:?} {integrator:?}: who was not moved");
            assert_ne!(found[1], found[0], "the poses act");
            assert!(moved.reports().iter().all(|r| r.status == WorldStatus::Solved), "{:?}", moved.reports());
        }
    }
}

#[test]
fn what_is_welded_to_a_mocap_body_follows_it_and_a_reset_takes_it_back() {
    let model = model(TRAY, HAND);
    let mut worlds = worlds(&model, 2, f64_settings());
    let rest = worlds.parameter(Parameter::MocapPose);
    let mut poses = rest.clone();
    let block = Frame::Body(model.body("block").expect("a block"));
    for _ in 0..200 {
        poses[7 + 14] += 0.001;
        worlds.set_parameter(Parameter::MocapPose, Mask::All, &poses).expect("poses");
        worlds.step(1).expect("a step");
    }
    // 0.2 m/s for 1 s, and as long at rest
    for _ in 0..200 {
        worlds.step(1).expect("a step");
    }
    let at = look(&worlds, &[Quantity::Position(block)]);
    for (at, wanted) in at.iter().zip([1.0, 0.0, 0.5, 1.2, 0.0, 0.5]) {
        // 1e-12 is seen
        assert!((at - wanted).abs() < 1e-6, "{at}, not {wanted}");
    }
    worlds.reset(Mask::All, 0).expect("a reset");
    assert_eq!(worlds.parameter(Parameter::MocapPose), rest);
}

/// To the bit that of a model that has them there; the next start from elsewhere takes them back.
#[test]
fn a_world_that_starts_from_a_keyframe_has_its_mocap_bodies_there() {
    let there = model(&pose(MOVED_TRAY), &pose(MOVED_HAND));
    let mut model = model(TRAY, HAND);
    let moved = [MOVED_TRAY, MOVED_HAND].concat();
    model.keyframes.push(Keyframe {
        name: "moved".into(),
        time: 0.0,
        q: model.q0.clone(),
        v: vec![0.0; model.nv()],
        control: Vec::new(),
        activation: Vec::new(),
        mocap_pose: moved.clone(),
    });
    let mut some = worlds(&model, 2, f64_settings());
    let rest = some.parameter(Parameter::MocapPose);
    some.reset_each(Mask::All, &[None, Some(0)], &[0, 0]).expect("a start");
    assert_eq!(some.parameter(Parameter::MocapPose), [&rest[..14], &moved].concat());
    let mut other = worlds(&there, 1, f64_settings());
    other.set_state(Mask::All, &model.q0, &vec![0.0; model.nv()]).expect("a state");
    let (mut both, mut one) = (future(&mut some, 20), future(&mut other, 20));
    assert_eq!(both.pop(), one.pop());
    some.set_start(Start { keyframe: Some(0), ..Start::default() }).expect("a keyframe");
    some.reset(Mask::All, 0).expect("a start");
    assert_eq!(some.parameter(Parameter::MocapPose), [&moved[..], &moved].concat());
    some.set_start(Start::default()).expect("rest");
    some.reset(Mask::All, 0).expect("a start");
    assert_eq!(some.parameter(Parameter::MocapPose), rest);
    model.keyframes[0].mocap_pose[3..7].fill(0.0);
    assert!(model.validate().expect_err("no pose").to_string().contains("the quaternion of a mocap body is zero"));
    model.keyframes[0].mocap_pose.truncate(3);
    assert!(model.validate().expect_err("no pose").to_string().contains("has 3 numbers, the model needs 14"));
}

#[test]
fn poses_that_are_none_are_refused() {
    let settings = f64_settings();
    let mut some = worlds(&model(TRAY, HAND), 1, settings.clone());
    let mut error = |poses: &[f64]| {
        let set = some.set_parameter(Parameter::MocapPose, Mask::All, poses);
        set.expect_err("no pose").to_string()
    };
    assert!(error(&[0.0; 14]).contains("0 0 0 0 is no orientation of mocap body 0"), "{}", error(&[0.0; 14]));
    assert!(error(&[f64::NAN; 14]).contains("not finite"));
    assert!(error(&[1.0; 7]).contains("14"), "{}", error(&[1.0; 7]));
    let mut none = worlds(&example("ant"), 1, settings);
    assert!(none.parameter(Parameter::MocapPose).is_empty());
    none.set_parameter(Parameter::MocapPose, Mask::All, &[] as &[f64]).expect("none of none");
    none.step(1).expect("a step");
}

#[test]
fn a_recording_shows_mocap_bodies_where_they_were() {
    let model = model(TRAY, HAND);
    let mut worlds = worlds(&model, 2, f64_settings());
    let mut recording = Recording::start(&mut worlds, &[1], None).expect("a recording");
    let mut poses = worlds.parameter(Parameter::MocapPose);
    let geoms: Vec<Frame> = (0..model.geoms.len()).map(Frame::Geom).collect();
    let quantities: Vec<Quantity> =
        geoms.iter().flat_map(|g| [Quantity::Position(*g), Quantity::Orientation(*g)]).collect();
    for moment in 1..4 {
        poses[14] += 0.01;
        worlds.set_parameter(Parameter::MocapPose, Mask::All, &poses).expect("poses");
        worlds.step(1).expect("a step");
        recording.see(&worlds).expect("a moment");
        let seen = look(&worlds, &quantities);
        let (size, kept) = (7 * geoms.len(), recording.poses());
        for (a, b) in kept[moment * size..][..size].iter().zip(&seen[size..]) {
            assert!((a - b).abs() < 1e-12, "{a}, not {b}");
        }
    }
    let moving = delassus::recording::moving_poses(&model, &model.q0);
    // all but the floor: the tray and its post, the arm, the box, the block
    assert_eq!(moving.len(), 7 * 5);
}

#[cfg(feature = "gpu")]
#[test]
fn on_a_device_a_world_whose_mocap_body_was_moved_is_the_cpus() {
    if !common::adapter() {
        return;
    }
    let text = r#"<mujoco><worldbody><body name="tray" mocap="true" pos="0 0 1"><geom type="box" size="0.3 0.3 0.02"/></body>
        <body pos="0.28 0 1.1"><freejoint/><geom size="0.05"/></body></worldbody></mujoco>"#;
    let model = Model::from_mjcf_str(text).expect("a model");
    let roll = |backend: Backend| {
        let mut worlds = common::worlds_of(&model, 3, Settings { backend, ..Settings::default() }).expect("worlds");
        let pose = [-0.02, 0.0, 0.99, 1.0, 0.1, 0.0, 0.0];
        worlds.set_parameter(Parameter::MocapPose, Mask::List(&[1]), &pose).expect("a pose");
        worlds.step(150).expect("steps");
        let seen = look(&worlds, &[Quantity::Position(Frame::Body(1))]);
        (worlds, seen)
    };
    let ((cpu, cpu_seen), (gpu, gpu_seen)) = (roll(Backend::Cpu), roll(Backend::Gpu));
    let halted: Vec<bool> = gpu.reports().iter().map(|r| r.halted).collect();
    assert_eq!(halted, [false, true, false]);
    assert_eq!(cpu.positions()[7..14], gpu.positions()[7..14]);
    assert_eq!(cpu_seen, gpu_seen);
    // f32
    assert!((cpu_seen[3] + 0.02).abs() < 1e-7 && cpu_seen[0] == 0.0, "{cpu_seen:?}");
}
