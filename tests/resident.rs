//! The step that stays on the device against the CPU's, and what it promises of its worlds.
//!
//! Needs an adapter, software being enough. Without one the tests say so and pass, unless `DELASSUS_REQUIRE_GPU=1`.
#![cfg(feature = "gpu")]

mod common;

use common::{adapter, bits, example, twenty_balls, worlds_of};
use delassus::model::Frame;
use delassus::solver::{Algorithm, FrictionLaw};
use delassus::worlds::{BlockRecord, Quantity, Snapshot};
use delassus::{Backend, Constraints, Error, Impacts, Mask, Model, Precision, Settings, WorldStatus, Worlds};
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

fn worlds(model: &Model, count: usize, backend: Backend) -> Worlds {
    solved_by(Algorithm::Auto, model, count, backend)
}

fn solved_by(algorithm: Algorithm, model: &Model, count: usize, backend: Backend) -> Worlds {
    worlds_of(model, count, Settings { backend, algorithm, ..Settings::default() }).expect("worlds")
}

/// Numbers in [−1, 1), the same in every run.
struct Random(u32);
impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(self.0 >> 8) / f64::from(1u32 << 23) - 1.0
    }
    fn many(&mut self, count: usize, scale: f64) -> Vec<f64> {
        (0..count).map(|_| scale * self.next()).collect()
    }
}

/// Both solve to 1e-5 m/s; through Y of a light limb that may be some hundred times as much in v. Where friction leaves several answers both may be right: so
/// some steps may differ, few, and both answers of these are held against the problem in f64.
const SAME: f64 = 2e-3;
/// A solution there, m/s: what f32 has rounded on the way to the problem is beyond the tolerance.
const SOLUTION: f64 = 1e-4;

/// What the impulses that `after` remembers leave of the velocity problem of the step from `before`, m/s, shape \[world\]. `exact`: worlds in f64 that take any impulse as it is.
fn left_in_f64(exact: &mut Worlds, before: &Snapshot, after: &Snapshot, control: &[f64]) -> Vec<f64> {
    exact.load(&before.remembering(after)).expect("a snapshot");
    exact.set_control(control).expect("control");
    let worst = Mutex::new(vec![0.0f64; exact.world_count()]);
    let see = |block: &BlockRecord<'_>| {
        let mut worst = worst.lock().expect("no panic before");
        worst[block.world] = if block.position { worst[block.world] } else { block.residual.max(worst[block.world]) };
    };
    exact.step_inspected(1, Some(&see)).expect("a step");
    worst.into_inner().expect("no panic before")
}

/// Steps 16 worlds on the device beside those of the CPU, every step from the CPU's state.
/// Returns how many world-steps halted, and in how many the CPU called in its exact solver.
fn side_by_side(name: &str, model: &Model, steps: usize, most_halted: f64, algorithm: Algorithm) -> (usize, usize) {
    let count = 16;
    let [mut cpu, mut gpu] = [Backend::Cpu, Backend::Gpu].map(|backend| solved_by(algorithm, model, count, backend));
    let mut random = Random(5);
    let any = Settings { precision: Precision::F64, tolerance: Some(1e30), ..Settings::default() };
    let mut exact = Worlds::new(model, count, any).expect("worlds");
    let (mut differ, mut halted, mut contacts, mut missed) = (0, 0, 0, 0);
    gpu.set_state(Mask::All, &cpu.positions(), &random.many(count * model.nv(), 0.1)).expect("a state");
    cpu.set_state(Mask::All, &gpu.positions(), &gpu.velocities()).expect("a state");
    for step in 0..steps {
        let control = random.many(count * model.nu(), 1.0);
        let before = [cpu.save(), gpu.save()];
        for worlds in [&mut cpu, &mut gpu] {
            worlds.set_control(&control).expect("control");
            worlds.step(1).expect("a step");
        }
        let after = [cpu.save(), gpu.save()];
        let (nq, nv) = (model.nq(), model.nv());
        for world in 0..count {
            let (a, b) = (&cpu.reports()[world], &gpu.reports()[world]);
            assert!(b.solved() && b.steps == 1, "{name}, step {step}, world {world}: {b:?}");
            assert!(b.residual <= 1e-5f64.max(b.floor), "{name}: {b:?}");
            halted += usize::from(b.halted);
            missed += usize::from(a.fallback);
            contacts += a.contact_count;
            let gap = |x: &[f64], y: &[f64], n: usize| {
                let of = world * n..(world + 1) * n;
                x[of.clone()].iter().zip(&y[of]).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
            };
            let gap = gap(&cpu.positions(), &gpu.positions(), nq).max(gap(&cpu.velocities(), &gpu.velocities(), nv));
            assert!(a.solved(), "{name}: {a:?}");
            if gap > SAME {
                differ += 1;
                for (before, after) in before.iter().zip(&after) {
                    let left = left_in_f64(&mut exact, before, after, &control)[world];
                    assert!(left <= SOLUTION, "{name}, step {step}, world {world}: {gap} apart, one leaves {left}");
                }
            }
        }
        gpu.set_state(Mask::All, &cpu.positions(), &cpu.velocities()).expect("a state");
    }
    let of = count * steps;
    println!(
        "{name}: {differ} of {of} differ by more than {SAME}, {halted} halted, {missed} missed by the CPU, {contacts} contacts"
    );
    assert!(contacts > 0 && differ <= of / 100, "{name}: {contacts} contacts, {differ} steps differ");
    assert!(halted as f64 <= most_halted * of as f64, "{name}: {halted}");
    (halted, missed)
}

#[test]
fn every_step_of_the_robots_is_that_of_the_cpu() {
    if !adapter() {
        return;
    }
    for name in ["ant", "biped", "hopper", "quadruped", "spheres"] {
        // of the feet of the biped, which are boxes, the CPU finds the points
        side_by_side(name, &example(name), 60, if name == "biped" { 0.5 } else { 0.02 }, Algorithm::Auto);
    }
}

#[test]
fn every_step_of_jacobi_is_that_of_the_cpu() {
    if !adapter() {
        return;
    }
    for name in ["ant", "hopper", "quadruped"] {
        let (halted, missed) = side_by_side(name, &example(name), 60, 1.0, Algorithm::Jacobi);
        // what 200 sweeps do not solve there, they do not solve here, but for what rounding decides
        assert!(halted.abs_diff(missed) <= 2 + missed / 5, "{name}: {halted} halted, {missed} missed by the CPU");
    }
}

/// In flight its limit acts within the tree, whose momentum is kept; then it lands.
#[test]
fn every_step_of_runge_kutta_is_that_of_the_cpu() {
    if !adapter() {
        return;
    }
    let text = "<mujoco><option integrator='RK4' timestep='0.01'/><worldbody><geom type='plane' size='5 5 .1'/>
        <body pos='0 0 .6'><freejoint/><geom type='capsule' size='.05 .2'/>
          <body pos='0 0 .25'><joint name='hip' type='hinge' axis='0 1 0' range='-20 20' limited='true'/>
            <geom type='capsule' fromto='0 0 0 .3 0 0' size='.04'/></body></body></worldbody>
        <actuator><motor joint='hip' gear='8'/></actuator></mujoco>";
    let model = Model::from_mjcf_str(text).expect("a model");
    side_by_side("limb", &model, 120, 0.02, Algorithm::Auto);
}

#[test]
fn a_world_keeps_its_bits_wherever_it_stands_and_however_its_steps_are_counted() {
    if !adapter() {
        return;
    }
    let model = example("ant");
    let (few, many) = (3, 130);
    let mut random = Random(1);
    let v = random.many(few * model.nv(), 0.5);
    let roll = |count: usize, at: usize, substeps: &[u32]| {
        let mut worlds = worlds(&model, count, Backend::Gpu);
        let list: Vec<usize> = (at..at + few).collect();
        let q = model.q0.repeat(few);
        worlds.set_state(Mask::List(&list), &q, &v).expect("a state");
        let mut control = Random(9).many(model.nu(), 1.0);
        control = control.repeat(count);
        worlds.set_control(&control).expect("control");
        for k in substeps {
            worlds.step(*k).expect("steps");
        }
        let (nq, nv) = (model.nq(), model.nv());
        let mut all = worlds.positions()[at * nq..(at + few) * nq].to_vec();
        all.extend(&worlds.velocities()[at * nv..(at + few) * nv]);
        all.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    };
    let alone = roll(few, 0, &[40]);
    assert_eq!(alone, roll(few, 0, &[40]), "the same run twice");
    assert_eq!(alone, roll(many, 70, &[40]), "in a larger batch, elsewhere");
    assert_eq!(alone, roll(few, 0, &[13, 27]), "in two calls");
}

#[test]
fn a_world_that_is_not_finite_changes_no_other() {
    if !adapter() {
        return;
    }
    let model = example("ant");
    let roll = |spoil: bool| {
        let mut worlds = worlds(&model, 5, Backend::Gpu);
        let mut v = Random(3).many(5 * model.nv(), 0.3);
        if spoil {
            v[2 * model.nv()] = 1e38;
        }
        worlds.set_state(Mask::All, &model.q0.repeat(5), &v).expect("a state");
        worlds.step(30).expect("steps");
        worlds
    };
    let (good, bad) = (roll(false), roll(true));
    assert!(bad.reports()[2].status >= WorldStatus::Exploded && bad.reports()[2].failed());
    let (nq, nv) = (model.nq(), model.nv());
    for world in [0, 1, 3, 4] {
        assert!(bad.reports()[world].solved());
        assert_eq!(good.positions()[world * nq..(world + 1) * nq], bad.positions()[world * nq..(world + 1) * nq]);
        assert_eq!(good.velocities()[world * nv..(world + 1) * nv], bad.velocities()[world * nv..(world + 1) * nv]);
    }
}

#[test]
fn room_for_contacts_grows_and_none_is_lost() {
    if !adapter() {
        return;
    }
    // twenty balls on a plate touch it in twenty points, more than there is room for at first
    let model = twenty_balls();
    let mut worlds = worlds(&model, 2, Backend::Gpu);
    worlds.step(3).expect("steps");
    let first = worlds.reports()[0];
    assert!(first.halted && first.solved() && first.contact_count == 20 && !first.overflow, "{first:?}");
    worlds.step(3).expect("steps");
    let then = worlds.reports()[0];
    assert!(!then.halted && then.solved() && then.contact_count == 20, "{then:?}");
}

#[test]
fn worlds_with_more_contacts_than_there_is_ever_room_for_are_the_cpus() {
    if !adapter() {
        return;
    }
    let ball = |k: usize| {
        format!("<geom type='sphere' size='0.05' pos='{} {} 0'/>", 0.2 * (k % 10) as f64, 0.2 * (k / 10) as f64)
    };
    let balls: String = (0..150).map(ball).collect();
    let text = format!(
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 0.049'><freejoint/>{balls}</body></worldbody></mujoco>"
    );
    let model = Model::from_mjcf_str(&text).expect("a model");
    let (mut cpu, mut gpu) = (worlds(&model, 1, Backend::Cpu), worlds(&model, 1, Backend::Gpu));
    // room doubles three times, from 16 to all that there ever is
    for _ in 0..4 {
        for worlds in [&mut cpu, &mut gpu] {
            let report = worlds.step(1).expect("a step")[0];
            assert!(report.solved() && report.contact_count == 150 && !report.overflow, "{report:?}");
        }
        assert!(gpu.reports()[0].halted);
        assert_eq!(bits(&cpu), bits(&gpu));
    }
}

#[test]
fn a_limit_of_contacts_is_that_of_the_cpu() {
    if !adapter() {
        return;
    }
    let model = example("ant");
    let roll = |backend: Backend| {
        let mut worlds = worlds(&model, 3, backend);
        let mut told = Vec::new();
        for capacity in [None, Some(2), Some(64)] {
            worlds.set_contact_capacity(capacity).expect("a capacity");
            worlds.set_state(Mask::All, &model.q0.repeat(3), &vec![0.0; 3 * model.nv()]).expect("a state");
            let reports = worlds.step(120).expect("steps");
            told.extend(reports.iter().map(|r| (r.overflow, r.contact_count)));
        }
        told
    };
    let (cpu, gpu) = (roll(Backend::Cpu), roll(Backend::Gpu));
    assert_eq!(cpu, gpu);
    assert!(cpu[3].0 && !cpu[0].0 && !cpu[6].0, "{cpu:?}");
}

#[test]
fn what_changes_nothing_changes_no_bit() {
    if !adapter() {
        return;
    }
    let model = example("quadruped");
    let roll = |between: &dyn Fn(&mut Worlds)| {
        let mut worlds = worlds(&model, 3, Backend::Gpu);
        worlds.watch(1, true).expect("a world");
        worlds.step(60).expect("steps");
        between(&mut worlds);
        worlds.watch(1, false).expect("a world");
        worlds.step(20).expect("steps");
        bits(&worlds)
    };
    let plain = roll(&|_| ());
    let no_step = roll(&|worlds| assert!(worlds.step(0).expect("no step").iter().all(|r| r.steps == 0)));
    let limit = roll(&|worlds| worlds.set_contact_capacity(Some(64)).expect("a limit that nothing reaches"));
    assert_eq!(plain, no_step);
    assert_eq!(plain, limit);
}

#[test]
fn more_worlds_may_halt_than_are_moved_at_a_time() {
    if !adapter() {
        return;
    }
    let (model, count) = (example("pendulum"), 600);
    let roll = |backend: Backend| {
        let mut worlds = worlds(&model, count, backend);
        worlds
            .set_state(Mask::All, &model.q0.repeat(count), &Random(2).many(count * model.nv(), 0.3))
            .expect("a state");
        let push = vec![0.1; 6 * model.bodies.len()];
        let list: Vec<usize> = (0..count - 1).collect();
        worlds
            .set_parameter(delassus::worlds::Parameter::Push, Mask::List(&list), &push.repeat(count - 1))
            .expect("pushes");
        worlds.step(3).expect("steps");
        worlds.step(3).expect("steps");
        worlds
    };
    let (cpu, gpu) = (roll(Backend::Cpu), roll(Backend::Gpu));
    assert_eq!(gpu.reports().iter().filter(|r| r.halted).count(), count - 1);
    let halted = (count - 1) * model.nq();
    assert_eq!(cpu.positions()[..halted], gpu.positions()[..halted]);
}

#[test]
fn steps_that_are_waited_for_later_are_the_same() {
    if !adapter() {
        return;
    }
    let model = example("quadruped");
    let roll = |step: &dyn Fn(&mut Worlds, u32)| {
        let mut worlds = worlds(&model, 5, Backend::Gpu);
        // more than are on their way at a time
        for substeps in [1, 300, 20] {
            step(&mut worlds, substeps);
        }
        assert!(worlds.time().iter().all(|t| (t - 321.0 * worlds.dt()).abs() < 1e-9));
        bits(&worlds)
    };
    let at_once = roll(&|worlds, k| {
        worlds.step(k).expect("steps");
    });
    let later = roll(&|worlds, k| {
        let reports = worlds.step_async(k).and_then(delassus::worlds::Stepping::wait).expect("steps");
        assert!(reports.iter().all(|r| r.solved() && r.steps == k));
    });
    // outside of a browser the first poll waits
    let awaited = roll(&|worlds, k| {
        let stepping = std::pin::pin!(worlds.step_async(k).expect("begun").into_future());
        match stepping.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(reports) => assert!(reports.expect("steps").iter().all(|r| r.solved() && r.steps == k)),
            Poll::Pending => panic!("not waited for"),
        }
    });
    // a future that nobody polls
    let unpolled = roll(&|worlds, k| {
        drop(worlds.step_async(k).expect("begun").into_future());
        worlds.step(0).expect("no step");
    });
    let dropped = roll(&|worlds, k| drop(worlds.step_async(k).expect("begun")));
    // a guard that was never dropped
    let forgotten = roll(&|worlds, k| {
        std::mem::forget(worlds.step_async(k).expect("begun"));
        worlds.step(0).expect("no step");
    });
    assert_eq!(at_once, later);
    assert_eq!(at_once, awaited);
    assert_eq!(at_once, unpolled);
    assert_eq!(at_once, dropped);
    assert_eq!(at_once, forgotten);
}

#[test]
fn a_step_sends_control_and_reads_state_and_reports_once() {
    if !adapter() {
        return;
    }
    let (model, count) = (example("ant"), 2048);
    let mut worlds = worlds(&model, count, Backend::Gpu);
    worlds.step(1).expect("a step");
    let given = vec![0.5; count * model.nu()];
    let asked = |worlds: &mut Worlds| {
        worlds.set_control(&given).expect("control");
        let before = worlds.device_work().expect("a device");
        assert!(worlds.step(3).expect("steps").iter().all(|r| !r.halted));
        let work = worlds.device_work().expect("a device").since(before);
        (work.dispatches, work.waits, work.bytes_up, work.bytes_down)
    };
    // numbers of 4 bytes: control up; q, v and the report down
    let (control, down) = (4 * (count * model.nu()) as u64, 4 * (count * (model.nq() + model.nv() + 11)) as u64);
    // and once a substep and at the end 256 places for worlds that halt: the list, and of each q, v, the report, impulses of two limits a joint, how many contacts it remembers, and those
    let look = 4 * 256 * (1 + model.nq() + model.nv() + 11 + 2 * model.nu() + 1 + 16 * 5) as u64;
    let looked = down + 4 * look;
    assert_eq!(asked(&mut worlds), (50, 1, control, looked));
    // what has not changed is there, and what is drawn is drawn there: a seed, the first world and the laws go up
    for (draw, dispatches, up) in [(false, 18, 0), (true, 19, 4 * (6 + 3 * model.nu()) as u64), (false, 18, 0)] {
        if draw {
            worlds.draw_control(7);
        }
        let before = worlds.device_work().expect("a device");
        assert!(worlds.step(1).expect("a step").iter().all(|r| !r.halted));
        let work = worlds.device_work().expect("a device").since(before);
        assert_eq!((work.dispatches, work.waits, work.bytes_up, work.bytes_down), (dispatches, 1, up, down + 2 * look));
    }
    // worlds that start anew are moved together, 256 at a time, with their place in the list
    worlds.reset(Mask::List(&[7, 900, 2000]), 1).expect("a reset");
    let few = 4 * 256 * (1 + model.nq() + model.nv() + 11) as u64;
    assert_eq!(asked(&mut worlds), (51, 1, control + few, looked));
    worlds.external_force_mut()[0] = 1.0;
    assert_eq!(asked(&mut worlds), (50, 1, control + 4 * (count * model.nv()) as u64, looked));
    worlds.reset(Mask::All, 1).expect("a reset");
    let all = down + 4 * (count * model.nv()) as u64;
    assert_eq!(asked(&mut worlds), (50, 1, control + all, looked));
    // those that the CPU steps are told that they stay; what they remember goes nowhere, until they are the device's again
    worlds.feel_contacts(true);
    worlds.step(1).expect("a step");
    for _ in 0..2 {
        worlds.set_control(&given).expect("control");
        let before = worlds.device_work().expect("a device");
        assert!(worlds.step(1).expect("a step").iter().all(|r| r.halted));
        let work = worlds.device_work().expect("a device").since(before);
        assert_eq!((work.waits, work.bytes_up, work.bytes_down), (1, control + down, down + 2 * look));
    }
    worlds.feel_contacts(false);
    assert!(asked(&mut worlds).2 > control + down);
    assert_eq!(asked(&mut worlds), (50, 1, control, looked));
}

/// Drawn on the device or written down by the host, for worlds of several workgroups, for those that the CPU steps, late or not.
#[test]
fn control_that_the_device_draws_is_that_of_the_cpu() {
    if !adapter() {
        return;
    }
    let model = example("quadruped");
    let count = 150;
    for late in [false, true] {
        let roll = |give: &dyn Fn(&mut Worlds, u64)| {
            let mut worlds = worlds(&model, count, Backend::Gpu);
            // these are the CPU's from the start
            worlds.watch(70, true).expect("a world");
            if late {
                worlds.set_control_delay(Mask::List(&[3]), &[1]).expect("a delay");
            }
            for k in 0..4u64 {
                give(&mut worlds, k << 32 | 5);
                worlds.step(5).expect("steps");
                worlds.step(1).expect("a step");
                if k == 2 {
                    worlds.reset(Mask::List(&[0, 149]), 1).expect("a reset");
                    worlds.step(2).expect("steps");
                }
            }
            (bits(&worlds), worlds.save())
        };
        let drawn = roll(&|worlds, seed| worlds.draw_control(seed));
        let given = roll(&|worlds, seed| {
            let mut other = self::worlds(&model, count, Backend::Cpu);
            other.draw_control(seed);
            worlds.set_control(&other.control()[..]).expect("control");
        });
        assert_eq!(drawn.0, given.0, "late {late}");
        assert_eq!(drawn.1, given.1, "late {late}");
    }
}

#[test]
fn what_cannot_run_there_is_an_error_that_says_what_to_do() {
    if !adapter() {
        return;
    }
    let settings = || Settings { backend: Backend::Gpu, ..Settings::default() };
    let cases = [
        (Settings { precision: Precision::F64, ..settings() }, "f32"),
        (Settings { impacts: Impacts::Sequential, ..settings() }, "simultaneous"),
        (Settings { constraints: Constraints::Soft, algorithm: Algorithm::Jacobi, ..settings() }, "hybrid"),
    ];
    for (settings, word) in cases {
        match Worlds::new(&example("ant"), 1, settings) {
            Err(Error::Unsupported(text)) => assert!(text.contains(word), "{text}"),
            other => panic!("{word}: {other:?}"),
        }
    }
    let patches = Settings { friction: FrictionLaw::Patch, algorithm: Algorithm::Jacobi, ..settings() };
    match Worlds::new(&example("biped"), 1, patches) {
        Err(error @ Error::Argument { .. }) => assert!(error.to_string().contains("cone or box"), "{error}"),
        other => panic!("patches: {other:?}"),
    }
}

#[test]
fn snapshots_and_resets_are_those_of_the_device() {
    if !adapter() {
        return;
    }
    let model = example("quadruped");
    let mut worlds = worlds(&model, 4, Backend::Gpu);
    worlds.step(40).expect("steps");
    let kept = worlds.save();
    worlds.step(20).expect("steps");
    let after = bits(&worlds);
    worlds.load(&kept).expect("a snapshot");
    worlds.step(20).expect("steps");
    assert_eq!(after, bits(&worlds), "a snapshot goes on as the worlds did");
    worlds.reset(Mask::List(&[1]), 0).expect("a reset");
    let rounded: Vec<f64> = model.q0.iter().map(|x| f64::from(*x as f32)).collect();
    assert_eq!(worlds.positions()[model.nq()..2 * model.nq()], rounded);
    worlds.step(60).expect("steps");
    let mut fresh = self::worlds(&model, 4, Backend::Gpu);
    fresh.step(60).expect("steps");
    let (nq, all) = (model.nq(), worlds.positions());
    assert_eq!(all[nq..2 * nq], fresh.positions()[nq..2 * nq], "a world that was reset remembers nothing");
}

#[test]
fn watched_worlds_and_parameters_are_seen() {
    if !adapter() {
        return;
    }
    let model = example("quadruped");
    let (mut cpu, mut gpu) = (worlds(&model, 3, Backend::Cpu), worlds(&model, 3, Backend::Gpu));
    for worlds in [&mut cpu, &mut gpu] {
        worlds.watch(1, true).expect("a world");
        // parameters may change after the first step too
        worlds.step(1).expect("a step");
        let gravity = [0.0, 0.0, -3.0];
        worlds
            .set_parameter(delassus::worlds::Parameter::Gravity, Mask::List(&[2]), &gravity[..])
            .expect("a parameter");
        worlds.step(150).expect("steps");
    }
    assert_eq!(cpu.contacts(1).map(<[_]>::len), gpu.contacts(1).map(<[_]>::len));
    assert!(gpu.contacts(1).is_some_and(|contacts| !contacts.is_empty()));
    let height = |worlds: &Worlds, world: usize| worlds.positions()[world * model.nq() + 2];
    assert!((height(&cpu, 2) - height(&gpu, 2)).abs() < 1e-3);
    assert!(height(&gpu, 2) > height(&gpu, 0) + 1e-3, "less gravity, higher");
}

#[test]
fn worlds_with_parameters_that_the_device_does_not_know_are_the_cpus() {
    if !adapter() {
        return;
    }
    let model = example("ant");
    let roll = |backend: Backend| {
        let mut worlds = worlds(&model, 3, backend);
        let damping = vec![3.0; model.joints.len()];
        let push = vec![1.0; 6 * model.bodies.len()];
        worlds.set_parameter(delassus::worlds::Parameter::Damping, Mask::List(&[1]), &damping).expect("damping");
        worlds.set_parameter(delassus::worlds::Parameter::Push, Mask::List(&[2]), &push).expect("a push");
        worlds.set_state(Mask::All, &model.q0.repeat(3), &Random(2).many(3 * model.nv(), 0.3)).expect("a state");
        worlds.step(20).expect("steps");
        worlds
    };
    let (cpu, gpu) = (roll(Backend::Cpu), roll(Backend::Gpu));
    let halted: Vec<bool> = gpu.reports().iter().map(|r| r.halted).collect();
    assert_eq!(halted[1..], [true, true]);
    assert_eq!(cpu.positions()[model.nq()..], gpu.positions()[model.nq()..]);
}

#[test]
fn forces_are_those_of_the_worlds_on_the_device() {
    if !adapter() {
        return;
    }
    let (model, count) = (example("ant"), 3);
    let torso = [Quantity::Contact(Frame::Body(1)), Quantity::CentralContact(1)];
    let feet: Vec<Quantity> = (0..model.geoms.len()).map(|g| Quantity::Contact(Frame::Geom(g))).collect();
    let forces = |backend: Backend, feel: bool, quantities: &[Quantity]| {
        let mut worlds = worlds(&model, count, backend);
        worlds.feel_contacts(feel);
        worlds
            .set_state(Mask::All, &model.q0.repeat(count), &Random(2).many(count * model.nv(), 0.3))
            .expect("a state");
        let size: usize = quantities.iter().map(|q| q.len(&model)).sum();
        let mut all = Vec::new();
        for _ in 0..3 {
            worlds.step(30).expect("steps");
            let mut out = vec![0.0f64; count * size];
            worlds.observe_into(quantities, &mut out[..]).expect("forces");
            all.extend(out);
        }
        all
    };
    let felt: Vec<Quantity> = torso.into_iter().chain(feet).collect();
    let (cpu, gpu) = (forces(Backend::Cpu, true, &felt), forces(Backend::Gpu, true, &felt));
    assert!(cpu.iter().any(|x| *x != 0.0), "nothing is felt");
    assert_eq!(cpu, gpu, "worlds that feel are stepped by the CPU");
    let limit = [Quantity::LimitForce];
    let (cpu, gpu) = (forces(Backend::Cpu, false, &limit), forces(Backend::Gpu, false, &limit));
    let largest = cpu.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    assert!(largest > 0.1, "no limit acts");
    for (a, b) in cpu.iter().zip(&gpu) {
        assert!((a - b).abs() <= 0.02 * largest, "{a} and {b} N m, of {largest}");
    }
}
