//! Faults of a device, made on purpose: none takes anything with it that the host had.
//!
//! Needs an adapter, software being enough. Without one the tests say so and pass, unless `DELASSUS_REQUIRE_GPU=1`.

use super::backends::Solver;
use super::core::Core;
use super::on_device::OnDevice;
use super::{Backend, Quantity, Settings, WorldReport, Worlds};
use crate::error::{Error, Result};
use crate::gpu::Device;
use crate::lane::Counted;
use crate::{Mask, Model};
use std::time::Duration;

/// Worlds on this very device.
fn on(device: &Device, model: &Model, count: usize) -> Result<Worlds> {
    let settings = Settings { backend: Backend::Gpu, ..Settings::default() };
    Worlds::with_engine(model, count, settings, |model, count, settings| {
        let settings = Settings { backend: Backend::Cpu, ..settings.clone() };
        let mut core = Core::<Counted>::new(model, count, settings)?;
        core.solver = Solver::Gpu(Box::new(OnDevice::new(&core.plan, device.clone(), count)?));
        Ok(Box::new(core))
    })
}

/// The smallest of the robots that make contact, so that its shaders are compiled soon.
fn hopper() -> Model {
    example("hopper")
}

fn example(name: &str) -> Model {
    let path = format!("{}/examples/models/{name}.xml", env!("CARGO_MANIFEST_DIR"));
    Model::from_mjcf_file(path).expect("an example model")
}

/// Twenty balls on a plate touch the ground in more points than there is room for at first.
fn plate() -> Model {
    Model::from_mjcf_str(include_str!("../../tests/common/twenty_balls.xml")).expect("a model")
}

/// All that a user sees of worlds.
fn seen(worlds: &Worlds) -> (Vec<u64>, Vec<f64>, Vec<WorldReport>, Vec<f64>) {
    let (q, v) = worlds.state();
    let bits = q.iter().chain(&v).map(|x| x.to_bits()).collect();
    (bits, worlds.time().to_vec(), worlds.reports().to_vec(), worlds.acting_control().to_vec())
}

/// Hoppers that have stepped, with control that is late.
fn stepped(device: &Device) -> Worlds {
    let model = hopper();
    let mut worlds = on(device, &model, 70).expect("worlds");
    worlds.set_control_delay(Mask::List(&[3]), &[1]).expect("a delay");
    worlds.step(30).expect("steps");
    let control: Vec<f64> = (0..70 * model.nu()).map(|i| (i as f64).sin()).collect();
    worlds.set_control(&control).expect("control");
    worlds
}

/// The worlds are as they were, and go on as if they had forgotten their impulses only.
fn go_on_after(fault: impl FnOnce(&mut Worlds), device: &Device) {
    let mut worlds = stepped(device);
    let before = seen(&worlds);
    fault(&mut worlds);
    assert_eq!(before, seen(&worlds), "a call that fails changes nothing");
    let mut other = stepped(&Device::for_tests().expect("a second device"));
    let (q, v) = other.state();
    other.set_state(Mask::All, &q, &v).expect("a state");
    for worlds in [&mut worlds, &mut other] {
        assert!(worlds.step(5).expect("a device opened anew").iter().all(WorldReport::solved));
    }
    assert_eq!(seen(&worlds), seen(&other), "it goes on from there");
}

fn fails(result: Result<&[WorldReport]>, word: &str) {
    match result {
        Err(Error::Device(text)) => assert!(text.contains(word) && text.contains("the next one opens"), "{text}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("no fault"),
    }
}

#[test]
fn a_device_that_is_lost_takes_nothing_with_it() {
    let Some(device) = Device::for_tests() else { return };
    go_on_after(
        |worlds| {
            device.destroy();
            fails(worlds.step(5), "lost");
        },
        &device,
    );
}

#[test]
fn a_device_that_is_lost_while_it_steps_takes_nothing_with_it() {
    let Some(device) = Device::for_tests() else { return };
    go_on_after(
        |worlds| {
            let stepping = worlds.step_async(40).expect("begun");
            device.destroy();
            fails(stepping.wait(), "lost");
        },
        &device,
    );
}

#[test]
fn what_nobody_waits_for_is_told_by_the_next_call() {
    let Some(device) = Device::for_tests() else { return };
    go_on_after(
        |worlds| {
            let stepping = worlds.step_async(40).expect("begun");
            device.destroy();
            drop(stepping);
            fails(worlds.step(5), "lost");
        },
        &device,
    );
}

#[test]
fn a_device_that_does_not_answer_is_not_waited_for_without_end() {
    let Some(mut device) = Device::for_tests() else { return };
    device.limits.patience = Duration::ZERO;
    let model = hopper();
    let mut worlds = on(&device, &model, 64).expect("worlds");
    let before = seen(&worlds);
    fails(worlds.step(30), "has not done what it was given");
    assert_eq!(before, seen(&worlds));
    assert!(worlds.step(2).expect("a device opened anew").iter().all(|report| report.solved() && report.steps == 2));
}

/// What stayed on a device is lost with it: the worlds go back to what the host has read, each to its own time, and those that the host gave a state meanwhile keep it.
#[test]
fn worlds_whose_state_stayed_go_back_to_what_was_read() {
    let Some(device) = Device::for_tests() else { return };
    let model = hopper();
    let quantities = [Quantity::Velocities];
    let mut worlds = on(&device, &model, 70).expect("worlds");
    worlds.bring_back(Some(&quantities)).expect("quantities of the state");
    worlds.step(10).expect("steps");
    let (read, time) = (worlds.state(), worlds.time().to_vec());
    worlds.step(10).expect("steps");
    worlds.reset(Mask::List(&[5]), 1).expect("a reset");
    let fresh = worlds.time()[5];
    worlds.step(0).expect("no step");
    let kept = worlds.save();
    worlds.load(&kept).expect("a snapshot");
    worlds.step(3).expect("steps");
    // what was saved was read, and loaded, so it is what the host has
    let mut saved = on(&Device::for_tests().expect("a second device"), &model, 70).expect("worlds");
    saved.load(&kept).expect("a snapshot");
    let went = (saved.state(), saved.time().to_vec());
    assert!(went.1[0] > time[0] && went.1[5] == fresh && went.0 != read);
    worlds.reset(Mask::List(&[6]), 2).expect("a reset");
    let ahead = worlds.time().to_vec();
    device.destroy();
    // what is not known is an error, or not a number, and no older state
    let mut out = vec![0.0; 70 * model.nq()];
    match worlds.positions_into(&mut out) {
        Err(Error::Device(text)) => assert!(text.contains("the state that it read last"), "{text}"),
        other => panic!("{other:?}"),
    }
    assert!(worlds.observe_into(&[Quantity::Positions], &mut out).is_err());
    assert!(worlds.positions().iter().all(|x| x.is_nan()) && worlds.time() == ahead);
    fails(worlds.step(5), "the worlds go back to the state that the host read last");
    let (q, v) = worlds.state();
    for world in 0..70 {
        let own = |x: &[f64], n: usize| x[world * n..(world + 1) * n].to_vec();
        let same =
            own(&q, model.nq()) == own(&went.0.0, model.nq()) && own(&v, model.nv()) == own(&went.0.1, model.nv());
        if world == 6 {
            assert!(!same && worlds.time()[6] == 0.0, "a world that was reset since stays so");
        } else {
            assert!(same && worlds.time()[world] == went.1[world], "world {world}");
        }
    }
    // a device opened anew brings back the same
    assert!(worlds.step(5).expect("a device opened anew").iter().all(WorldReport::solved));
    let mut told = vec![0.0; 70 * model.nv()];
    worlds.observe_into(&quantities, &mut told).expect("velocities");
    assert_eq!(told, worlds.velocities());
}

/// What was not read is lost too when the device fails inside of a call.
#[test]
fn worlds_whose_state_stayed_go_back_when_a_call_fails() {
    let Some(device) = Device::for_tests() else { return };
    let mut worlds = on(&device, &hopper(), 70).expect("worlds");
    worlds.step(10).expect("steps");
    let before = (worlds.state(), worlds.time().to_vec());
    assert!((before.1[0] - 10.0 * worlds.dt()).abs() < 1e-9);
    worlds.bring_back(Some(&[])).expect("reports only");
    worlds.step(10).expect("steps");
    // the call reads the state of this one itself, as it is the CPU's from here
    worlds.watch(7, true).expect("a world");
    let stepping = worlds.step_async(20).expect("begun");
    device.destroy();
    fails(stepping.wait(), "the worlds go back to the state that the host read last");
    let (nq, after) = (worlds.model().nq(), (worlds.state(), worlds.time().to_vec()));
    for world in 0..70 {
        let same = after.0.0[world * nq..(world + 1) * nq] == before.0.0[world * nq..(world + 1) * nq];
        let time = if world == 7 { 20.0 } else { 10.0 } * worlds.dt();
        assert!(same == (world != 7) && (after.1[world] - time).abs() < 1e-9, "world {world}: {}", after.1[world]);
    }
}

/// Device memory of a world, bytes, as who has too little is told.
fn world_bytes(device: &Device, model: &Model) -> u64 {
    let mut none = device.clone();
    none.limits.memory_bytes = 0;
    let Err(Error::Device(text)) = on(&none, model, 1) else { panic!("without memory") };
    assert!(text.contains("room for 0: use backend cpu"), "{text}");
    let number = text.split("worlds of ").nth(1).and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn who_has_too_little_memory_is_told_how_many_worlds_fit() {
    let Some(device) = Device::for_tests() else { return };
    let model = hopper();
    let mut small = device.clone();
    small.limits.memory_bytes = 400 * world_bytes(&device, &model);
    let Err(Error::Device(text)) = on(&small, &model, 1000) else { panic!("1000 worlds") };
    let number = text.split("room for ").nth(1).and_then(|rest| rest.split(':').next());
    let fit: usize = number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text}"));
    assert!((256..400).contains(&fit), "{text}");
    let mut worlds = on(&small, &model, fit).expect("as many as fit");
    assert!(worlds.step(1).expect("a step").iter().all(WorldReport::solved));
    assert!(on(&small, &model, fit + 1).is_err(), "{fit} and no more");
}

#[test]
fn contacts_that_there_is_no_memory_for_are_the_cpus() {
    let Some(device) = Device::for_tests() else { return };
    let model = plate();
    // a quarter more than it takes; for twice the contacts it would be nearly twice as much
    let mut small = device.clone();
    small.limits.memory_bytes = 192 * world_bytes(&device, &model) * 5 / 4;
    let (mut worlds, mut roomy) = (on(&small, &model, 130).expect("worlds"), on(&device, &model, 130).expect("worlds"));
    for _ in 0..3 {
        for worlds in [&mut worlds, &mut roomy] {
            let reports = worlds.step(10).expect("steps");
            assert!(reports.iter().all(|report| report.solved() && report.contact_count == 20 && report.steps == 10));
        }
    }
    assert!(worlds.reports().iter().all(|report| report.halted) && !roomy.reports().iter().any(|report| report.halted));
    assert!(worlds.notes().iter().any(|note| note.contains("more than 16 contacts")), "{:?}", worlds.notes());
    for (a, b) in worlds.positions().iter().zip(roomy.positions()) {
        // both solve to 1e-5 m/s, for 0.06 s
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

#[test]
fn quantities_that_there_is_no_memory_for_are_an_error_and_the_state_comes_back() {
    let Some(device) = Device::for_tests() else { return };
    let model = hopper();
    let mut small = device.clone();
    // half as much more than worlds take, of which the rest of the buffers takes a part; the quantities would take twice as much
    small.limits.memory_bytes = 64 * world_bytes(&device, &model) * 3 / 2;
    let mut worlds = on(&small, &model, 64).expect("worlds");
    let many = [Quantity::CentralInertia(1); 500];
    match worlds.bring_back(Some(&many)) {
        Err(Error::Device(text)) => assert!(text.contains("no room for 5000 numbers"), "{text}"),
        other => panic!("{other:?}"),
    }
    assert!(worlds.step(2).expect("steps").iter().all(WorldReport::solved));
    assert!(worlds.positions().iter().all(|x| x.is_finite()));
}

#[test]
fn worlds_that_share_a_workgroup_are_those_that_have_one_each() {
    let Some(device) = Device::for_tests() else { return };
    let (model, count) = (example("ant"), 100);
    let mut few = device.clone();
    few.limits.workgroups = 1;
    let roll = |device: &Device| {
        let mut worlds = on(device, &model, count).expect("worlds");
        let v: Vec<f64> = (0..count * model.nv()).map(|i| (i as f64).cos()).collect();
        worlds.set_state(Mask::All, &model.q0.repeat(count), &v).expect("a state");
        let mut newton_steps = 0;
        for k in 0..4 {
            worlds.draw_control(k);
            let reports = worlds.step(10).expect("steps");
            newton_steps += reports.iter().filter(|report| !report.halted && report.newton_steps > 0).count();
        }
        assert!(newton_steps > count / 2, "{newton_steps} of {count}");
        seen(&worlds)
    };
    assert_eq!(roll(&few), roll(&device));
}

#[test]
fn worlds_in_several_sets_of_buffers_are_those_of_one() {
    let Some(device) = Device::for_tests() else { return };
    let (model, count) = (hopper(), 700);
    // no array of a world is all of it: at least two workgroups fit, and far from all
    let mut small = device.clone();
    small.limits.binding_bytes = 128 * world_bytes(&device, &model);
    let roll = |device: &Device| {
        let mut worlds = on(device, &model, count).expect("worlds");
        for k in 0..6 {
            // few worlds and many are told by different ways
            let list: Vec<usize> = (0..count).filter(|w| if k % 2 == 0 { w % 97 == k } else { w % 3 == 0 }).collect();
            let v: Vec<f64> = (0..list.len() * model.nv()).map(|i| (i as f64).cos()).collect();
            worlds.set_state(Mask::List(&list), &model.q0.repeat(list.len()), &v).expect("a state");
            worlds.watch(5, k == 4).expect("a world");
            worlds.draw_control(k as u64);
            worlds.step(4).expect("steps");
        }
        seen(&worlds)
    };
    assert_eq!(roll(&small), roll(&device));
}
