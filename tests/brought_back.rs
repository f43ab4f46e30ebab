//! Quantities that a call of `step` on a device brings back in the place of the state, and the state that stays there until somebody asks.
//!
//! Needs an adapter, software being enough. Without one the tests say so and pass, unless `DELASSUS_REQUIRE_GPU=1`.
#![cfg(feature = "gpu")]

mod common;

use common::{adapter, bits, example, twenty_balls, worlds_of};
use delassus::model::Frame;
use delassus::worlds::{Axes, Parameter, Quantity};
use delassus::{Backend, Error, Mask, Model, Settings, Worlds};

fn worlds(model: &Model, count: usize, backend: Backend) -> Worlds {
    worlds_of(model, count, Settings { backend, ..Settings::default() }).expect("worlds")
}

/// All kinds of quantities that the state tells.
fn quantities(model: &Model) -> Vec<Quantity> {
    let mut all = vec![
        Quantity::Positions,
        Quantity::Velocities,
        Quantity::Position(Frame::Body(1)),
        Quantity::Orientation(Frame::Geom(model.geoms.len() - 1)),
        Quantity::LinearVelocity(Frame::Geom(model.geoms.len() - 1), Axes::Local),
        Quantity::AngularVelocity(Frame::Com(1), Axes::World),
        Quantity::ProjectedGravity(Frame::Body(1)),
        Quantity::SubtreeCom(0),
        Quantity::SubtreeVelocity(0),
        Quantity::ActuatorForce,
        Quantity::JointActuatorForce,
    ];
    all.extend((0..model.bodies.len()).map(Quantity::CentralInertia));
    all.extend((0..model.bodies.len()).map(Quantity::CentralVelocity));
    let sensors = (0..model.sensors.len()).map(Quantity::Sensor);
    all.extend(sensors.filter(|q| q.check(model).is_ok() && q.is_of_state(model)));
    all
}

fn observed(worlds: &Worlds, quantities: &[Quantity]) -> Vec<f64> {
    let size: usize = quantities.iter().map(|q| q.len(worlds.model())).sum();
    let mut out = vec![0.0; worlds.world_count() * size];
    worlds.observe_into(quantities, &mut out[..]).expect("quantities");
    out
}

/// Bytes down and waits of what is done.
fn down(worlds: &mut Worlds, work: impl FnOnce(&mut Worlds)) -> (u64, u64) {
    let before = worlds.device_work().expect("a device");
    work(worlds);
    let done = worlds.device_work().expect("a device").since(before);
    (done.bytes_down, done.waits)
}

/// An ant whose feet are felt, a humanoid, and what has sensors: a limb with a servo.
fn models() -> Vec<(&'static str, Model)> {
    let limb = "<mujoco><worldbody><geom type='plane' size='5 5 .1'/>
        <body name='trunk' pos='0 0 .6'><freejoint/><geom type='capsule' size='.05 .2'/><site name='s' pos='.1 0 0' euler='30 0 0'/>
          <body pos='0 0 .25'><joint name='hip' type='hinge' axis='0 1 0' range='-20 20' limited='true'/>
            <geom type='capsule' fromto='0 0 0 .3 0 0' size='.04'/></body></body></worldbody>
        <actuator><position joint='hip' kp='8' kv='.5' ctrlrange='-.5 .5' ctrllimited='true'/></actuator>
        <sensor><jointpos joint='hip'/><gyro site='s'/><velocimeter site='s'/><framequat objtype='site' objname='s'/>
          <actuatorfrc actuator='0' cutoff='1'/><subtreecom body='trunk'/></sensor></mujoco>"
        .replace("actuator='0'", "actuator='a'")
        .replace("<position joint", "<position name='a' joint");
    vec![
        ("ant", example("ant")),
        ("humanoid", example("humanoid")),
        ("limb", Model::from_mjcf_str(&limb).expect("a model")),
    ]
}

/// Numbers of a shader and of the CPU from the same state, as a share of the largest of their row: sums of some tens of products of f32, each rounded to 6e-8.
const ROUNDING: f64 = 2e-5;

#[test]
fn what_is_brought_back_is_what_the_cpu_evaluates() {
    if !adapter() {
        return;
    }
    for (name, model) in models() {
        let (count, all) = (70, quantities(&model));
        let mut brought = worlds(&model, count, Backend::Gpu);
        brought.bring_back(Some(&all)).expect("quantities of the state");
        // some worlds differ in what quantities depend on
        brought.set_parameter(Parameter::Gravity, Mask::List(&[3]), &[1.0, 2.0, -3.0][..]).expect("gravity");
        let masses = vec![1.5; model.bodies.len()];
        brought.set_parameter(Parameter::MassScale, Mask::List(&[4]), &masses).expect("masses");
        for k in 0..3 {
            brought.draw_control(k);
            brought.step(20).expect("steps");
        }
        let mut told = Vec::new();
        let read = down(&mut brought, |worlds| told = observed(worlds, &all));
        assert_eq!(read, (0, 0), "{name}: nothing is read for it");
        // the same worlds with the same state on the CPU
        let mut cpu = worlds(&model, count, Backend::Cpu);
        cpu.load(&brought.save()).expect("a snapshot");
        let done = observed(&cpu, &all);
        let size = told.len() / count;
        let largest = done.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        for (i, (a, b)) in told.iter().zip(&done).enumerate() {
            let row = &done[i / size * size..][..size];
            assert!(row.iter().any(|x| *x != 0.0));
            assert!((a - b).abs() <= ROUNDING * largest, "{name}, world {}, number {}: {a} {b}", i / size, i % size);
        }
        // fewer, in another order
        let few = [all[4], all[0]];
        assert_eq!(down(&mut brought, |worlds| told = observed(worlds, &few)), (0, 0));
        let positions = brought.positions();
        let (first, nq) = (few[0].len(&model), model.nq());
        assert_eq!(told[first..first + nq], positions[..nq], "{name}");
    }
}

/// Steps, resets and looks, in one of the ways to bring numbers back; world `at` and those after it are those that are looked at in the end.
fn rolled(model: &Model, count: usize, at: usize, lazily: bool) -> Vec<u64> {
    let mut all = worlds(model, count, Backend::Gpu);
    let few = [Quantity::ProjectedGravity(Frame::Body(1)), Quantity::Velocities];
    let look: Vec<usize> = (at..at + 3).collect();
    let v: Vec<f64> = (0..3 * model.nv()).map(|i| 0.3 * (i as f64).cos()).collect();
    all.set_state(Mask::List(&look), &model.q0.repeat(3), &v).expect("a state");
    all.bring_back(lazily.then_some(&few[..])).expect("quantities");
    let mut seen = Vec::new();
    for k in 0..6u32 {
        let control: Vec<f64> = (0..model.nu()).map(|u| (f64::from(k) + u as f64).sin()).collect();
        all.set_control(&control.repeat(count)).expect("control");
        all.step(10).expect("steps");
        if k == 2 {
            // one starts anew, the others are not read for it
            let read = down(&mut all, |worlds| {
                let q = model.q0.clone();
                worlds.set_state(Mask::List(&[at + 1]), &q, &v[..model.nv()]).expect("a state");
            });
            assert_eq!(read, (0, 0));
        }
        // the CPU's for a while
        all.watch(at + 2, k == 3).expect("a world");
        if k == 4 {
            // the feature of being read in between changes nothing either
            seen.extend(all.positions()[at * model.nq()..(at + 3) * model.nq()].iter().map(|x| x.to_bits()));
        }
    }
    let (nq, nv) = (model.nq(), model.nv());
    seen.extend(all.positions()[at * nq..(at + 3) * nq].iter().map(|x| x.to_bits()));
    seen.extend(all.velocities()[at * nv..(at + 3) * nv].iter().map(|x| x.to_bits()));
    seen
}

#[test]
fn a_world_keeps_its_bits_however_it_is_brought_back() {
    if !adapter() {
        return;
    }
    let model = example("ant");
    let every_call = rolled(&model, 3, 0, false);
    assert_eq!(every_call, rolled(&model, 3, 0, true), "read in the end");
    assert_eq!(every_call, rolled(&model, 130, 70, true), "in a larger batch, elsewhere");
}

#[test]
fn a_call_reads_reports_and_quantities_only() {
    if !adapter() {
        return;
    }
    let (model, count) = (example("ant"), 4096);
    let few = [Quantity::Position(Frame::Body(1)), Quantity::ProjectedGravity(Frame::Body(1))];
    let mut worlds = worlds(&model, count, Backend::Gpu);
    worlds.step(1).expect("a step");
    worlds.bring_back(Some(&few)).expect("quantities");
    let given = vec![0.5; count * model.nu()];
    let asked = |worlds: &mut Worlds, substeps: u32| {
        worlds.set_control(&given).expect("control");
        let before = worlds.device_work().expect("a device");
        assert!(worlds.step(substeps).expect("steps").iter().all(|r| !r.halted));
        let work = worlds.device_work().expect("a device").since(before);
        (work.dispatches, work.waits, work.bytes_up, work.bytes_down)
    };
    // numbers of 4 bytes: control up; reports and six numbers down, and once a substep and at the end what halts (tests/resident.rs); one dispatch more a call
    let look = 4 * 256 * (1 + model.nq() + model.nv() + 11 + 2 * model.nu() + 1 + 16 * 5) as u64;
    let (control, told) = (4 * (count * model.nu()) as u64, 4 * (count * (11 + 6)) as u64);
    assert_eq!(asked(&mut worlds, 1), (19, 1, control, told + 2 * look));
    assert_eq!(asked(&mut worlds, 3), (51, 1, control, told + 4 * look));
    // worlds that start anew, one in a hundred, are sent, 256 at a time, and none is read
    let hundredth: Vec<usize> = (0..count).step_by(100).collect();
    worlds.reset(Mask::List(&hundredth), 1).expect("a reset");
    let few_up = 4 * 256 * (1 + model.nq() + model.nv() + 11) as u64;
    assert_eq!(down(&mut worlds, |worlds| drop(observed(worlds, &few))), (0, 0), "the CPU has those");
    assert_eq!(few_up, 41_984);
    assert_eq!(asked(&mut worlds, 3), (52, 1, control + few_up, told + 4 * look));
    // who asks reads all, once
    let state = 4 * (count * (model.nq() + model.nv())) as u64;
    let all = [Quantity::SubtreeCom(0)];
    assert_eq!(
        down(&mut worlds, |worlds| drop((worlds.state(), worlds.observe(), observed(worlds, &all)))),
        (state, 1)
    );
    assert_eq!(asked(&mut worlds, 1), (19, 1, control, told + 2 * look));
    // a world that is watched is read by itself, once
    worlds.watch(5, true).expect("a world");
    worlds.step(1).expect("a step");
    let read = down(&mut worlds, |worlds| assert!(worlds.step(1).expect("a step")[5].halted));
    assert_eq!(read, (told + 2 * look, 1));
    worlds.watch(5, false).expect("a world");
    worlds.step(1).expect("a step");
    // those that look back are the CPU's, all of them
    worlds.feel_contacts(true);
    let all_read = down(&mut worlds, |worlds| assert!(worlds.step(1).expect("a step").iter().all(|r| r.halted)));
    // what they remember goes nowhere until they are the device's again, but is read as they halt
    assert!(all_read.0 >= state + told, "{all_read:?}");
    worlds.feel_contacts(false);
    worlds.step(1).expect("a step");
    // and as at first
    worlds.bring_back(None).expect("the state");
    let down_all = 4 * (count * (model.nq() + model.nv() + 11)) as u64;
    assert_eq!(asked(&mut worlds, 1), (18, 1, control, down_all + 2 * look));
    assert_eq!(down(&mut worlds, |worlds| drop(worlds.state())), (0, 0));
}

#[test]
fn what_changes_is_not_told_as_it_was() {
    if !adapter() {
        return;
    }
    let model = example("quadruped");
    let all = [Quantity::ActuatorForce, Quantity::ProjectedGravity(Frame::Body(1)), Quantity::Positions];
    let roll = |lazily: bool| {
        let mut worlds = worlds(&model, 5, Backend::Gpu);
        worlds.bring_back(lazily.then_some(&all[..])).expect("quantities");
        worlds.step(10).expect("steps");
        let mut told = vec![observed(&worlds, &all)];
        worlds.control_mut().fill(0.4);
        told.push(observed(&worlds, &all));
        worlds.step(10).expect("steps");
        worlds.set_parameter(Parameter::Gravity, Mask::List(&[2]), &[0.0, 4.0, -3.0][..]).expect("gravity");
        told.push(observed(&worlds, &all));
        worlds.reset(Mask::List(&[1]), 3).expect("a reset");
        told.push(observed(&worlds, &all));
        // all that lies on the device is made anew
        worlds.set_contact_capacity(Some(64)).expect("a limit that nothing reaches");
        told.push(observed(&worlds, &all));
        worlds.step(10).expect("steps");
        told.push(observed(&worlds, &all));
        (told, bits(&worlds))
    };
    let ((told, end), (expected, expected_end)) = (roll(true), roll(false));
    assert_eq!(end, expected_end);
    for (k, (told, expected)) in told.iter().zip(&expected).enumerate() {
        let largest = expected.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        for (i, (a, b)) in told.iter().zip(expected).enumerate() {
            assert!((a - b).abs() <= ROUNDING * largest, "look {k}, number {i}: {a} {b}");
        }
    }
    assert_ne!(expected[0], expected[1], "control enters");
    assert_ne!(expected[1], expected[2], "gravity enters");
}

#[test]
fn worlds_that_halt_for_want_of_room_are_caught_up() {
    if !adapter() {
        return;
    }
    // twenty balls touch the ground in more points than there is room for at first; only some worlds are low enough
    let model = twenty_balls();
    let roll = |lazily: bool| {
        let mut worlds = worlds(&model, 6, Backend::Gpu);
        let quantities = [Quantity::Positions];
        worlds.bring_back(lazily.then_some(&quantities[..])).expect("quantities");
        let mut q = model.q0.repeat(6);
        for world in [0, 1, 4] {
            q[world * model.nq() + 2] += 0.02;
        }
        worlds.set_state(Mask::All, &q, &vec![0.0; 6 * model.nv()]).expect("a state");
        let mut halted = Vec::new();
        for _ in 0..6 {
            halted.extend(worlds.step(15).expect("steps").iter().map(|r| (r.halted, r.steps, r.contact_count)));
        }
        let told = observed(&worlds, &quantities);
        assert_eq!(told, worlds.positions());
        (halted, bits(&worlds))
    };
    let (lazily, every_call) = (roll(true), roll(false));
    assert!(every_call.0.iter().any(|(halted, _, count)| *halted && *count == 20));
    assert_eq!(lazily, every_call);
}

#[test]
fn other_backends_take_it_and_contacts_are_refused() {
    let model = example("ant");
    let mut worlds = worlds(&model, 3, Backend::Cpu);
    for quantity in [Quantity::LimitForce, Quantity::Contact(Frame::Body(1)), Quantity::CentralContact(1)] {
        match worlds.bring_back(Some(&[Quantity::Positions, quantity])) {
            Err(Error::Unsupported(text)) => assert!(text.contains(&format!("{quantity:?}")), "{text}"),
            other => panic!("{quantity:?}: {other:?}"),
        }
    }
    assert!(matches!(worlds.bring_back(Some(&[Quantity::SubtreeCom(99)])), Err(Error::Argument { .. })));
    let plain = {
        let mut worlds = self::worlds(&model, 3, Backend::Cpu);
        worlds.step(20).expect("steps");
        bits(&worlds)
    };
    worlds.bring_back(Some(&[Quantity::Velocities])).expect("on any backend");
    worlds.step(20).expect("steps");
    assert_eq!(bits(&worlds), plain);
    worlds.bring_back(None).expect("on any backend");
}
