//! Patches in the step that stays on the device, against the CPU's.
//!
//! Needs an adapter, software being enough. Without one the tests say so and pass, unless `DELASSUS_REQUIRE_GPU=1`.
#![cfg(feature = "gpu")]

mod common;
#[path = "common/random.rs"]
mod random;

use common::{adapter, bits, example, worlds_of};
use delassus::solver::FrictionLaw;
use delassus::worlds::Snapshot;
use delassus::{Backend, Mask, Model, Settings, Worlds};
use random::Random;

fn parsed(custom: &str, body: &str) -> Model {
    let text = format!(
        "<mujoco><custom>{custom}</custom><option timestep='0.005'/><worldbody><geom name='floor' type='plane' size='5 5 .1' friction='.7'/>{body}</worldbody></mujoco>"
    );
    Model::from_mjcf_str(&text).expect("a model")
}

/// The box bounces.
const BOUNCES: &str = "<numeric name='restitution:box' data='.5'/>";

/// A box, a cylinder that stands and leans on its rim, a capsule that lies, and a ball with torsion, apart from each other.
fn shapes(custom: &str) -> Model {
    parsed(
        custom,
        "<body pos='0 0 .1'><freejoint/><geom name='box' type='box' size='.2 .1 .1'/></body>
         <body pos='2 0 .2'><freejoint/><geom type='cylinder' size='.15 .2'/></body>
         <body pos='4 0 .1' euler='0 90 0'><freejoint/><geom type='capsule' size='.1 .2'/></body>
         <body pos='-2 0 .1'><freejoint/><geom type='sphere' size='.1' condim='4' friction='.7 .02 0'/></body>",
    )
}

fn settings(backend: Backend) -> Settings {
    Settings { backend, friction: FrictionLaw::Patch, ..Settings::default() }
}

fn worlds(model: &Model, count: usize, backend: Backend) -> Worlds {
    worlds_of(model, count, settings(backend)).expect("worlds")
}

/// Numbers in [−scale, scale), the same in every run.
fn many(random: &mut Random, count: usize, scale: f64) -> Vec<f64> {
    (0..count).map(|_| scale * random.next()).collect()
}

/// Both solve to 1e-5 m/s; through Y of a light limb that may be some hundred times as much in v, as with points (`resident`).
const SAME: f64 = 2e-3;

/// Steps 16 worlds on the device beside those of the CPU, every step from the CPU's state; the share of world-steps that halt.
fn side_by_side(name: &str, model: &Model, steps: usize, control: f64) -> f64 {
    let count = 16;
    let (mut cpu, mut gpu) = (worlds(model, count, Backend::Cpu), worlds(model, count, Backend::Gpu));
    let mut random = Random(5);
    let (mut differ, mut halted, mut contacts, mut others, mut worst) = (0, 0, 0, 0, 0.0f64);
    gpu.set_state(Mask::All, &cpu.positions(), &many(&mut random, count * model.nv(), 0.3)).expect("a state");
    cpu.set_state(Mask::All, &gpu.positions(), &gpu.velocities()).expect("a state");
    for step in 0..steps {
        let control = many(&mut random, count * model.nu(), control);
        for worlds in [&mut cpu, &mut gpu] {
            worlds.set_control(&control).expect("control");
            worlds.step(1).expect("a step");
        }
        let (nq, nv) = (model.nq(), model.nv());
        for world in 0..count {
            let (a, b) = (&cpu.reports()[world], &gpu.reports()[world]);
            assert!(b.solved() && b.steps == 1, "{name}, step {step}, world {world}: {b:?}");
            assert!(b.residual <= 1e-5f64.max(b.floor), "{name}: {b:?}");
            halted += usize::from(b.halted);
            contacts += a.contact_count;
            others += usize::from((a.contact_count, a.row_count) != (b.contact_count, b.row_count));
            let gap = |x: &[f64], y: &[f64], n: usize| {
                let of = world * n..(world + 1) * n;
                x[of.clone()].iter().zip(&y[of]).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
            };
            let gap = gap(&cpu.positions(), &gpu.positions(), nq).max(gap(&cpu.velocities(), &gpu.velocities(), nv));
            differ += usize::from(gap > SAME);
            worst = worst.max(gap);
            let off = (a.penetration - b.penetration).abs();
            assert!(
                off < 1e-5,
                "{name}, step {step}, world {world}: overlaps of {} and {} m",
                a.penetration,
                b.penetration
            );
            assert!(a.solved(), "{name}: {a:?}");
        }
        gpu.set_state(Mask::All, &cpu.positions(), &cpu.velocities()).expect("a state");
    }
    let all = count * steps;
    println!(
        "{name}: {differ} of {all} differ by more than {SAME} (worst {worst:.1e}), {halted} halted, {contacts} contacts, {others} of another number"
    );
    assert!(contacts > 0 && differ <= all / 200, "{name}: {contacts} contacts, {differ} steps differ");
    // where a gap is within rounding of the reach
    assert!(others <= all / 100, "{name}: {others} of {all} have other contacts or rows");
    halted as f64 / all as f64
}

#[test]
fn every_step_of_a_robot_with_flat_feet_is_that_of_the_cpu() {
    if !adapter() {
        return;
    }
    // of its feet, which are boxes, the CPU finds the points against each other
    let halted = side_by_side("biped", &example("biped"), 60, 1.0);
    assert!(halted <= 0.5, "{halted}");
}

#[test]
fn every_step_of_shapes_on_a_plane_is_that_of_the_cpu() {
    if !adapter() {
        return;
    }
    let halted = side_by_side("shapes", &shapes(BOUNCES), 60, 0.0);
    assert!(halted < 0.01, "{halted}");
}

/// Long, so that a target, −gap/Δt, shows little of what f32 makes of a gap, s.
const LONG_STEP: f64 = 0.05;
/// That, m/s: a gap is some four sums of lengths of up to 0.25 m times entries of a rotation, which the device may round otherwise.
const ROUNDED_GAP: f64 = 4.0 * 0.25 * (f32::EPSILON as f64) / LONG_STEP;

/// The certificate of the device is what the CPU finds with its own W, b and law at the impulses that the device came to: the CPU, which begins there and is content with more, does nothing but look.
#[test]
fn the_certificate_is_what_the_cpu_finds_at_the_same_impulses() {
    if !adapter() {
        return;
    }
    let model = shapes("");
    let count = 16;
    // without push-out both problems are one; far from solved, so that there is something to compare
    let made = |backend: Backend, tolerance: f64| {
        let settings =
            Settings { stabilization: 0.0, tolerance: Some(tolerance), dt: Some(LONG_STEP), ..settings(backend) };
        worlds_of(&model, count, settings).expect("worlds")
    };
    let (mut gpu, mut cpu) = (made(Backend::Gpu, 1e-2), made(Backend::Cpu, 1.0));
    let v = many(&mut Random(3), count * model.nv(), 0.4);
    gpu.set_state(Mask::All, &model.q0.repeat(count), &v).expect("a state");
    let (mut told, mut large, mut worst) = (0, 0, 0.0f64);
    for step in 0..20 {
        let before = gpu.save();
        let reports = gpu.step(1).expect("a step").to_vec();
        // the state before the step, the impulses after it
        let (mut start, after) = (json(&before), json(&gpu.save()));
        start["memory"] = after["memory"].clone();
        let start: Snapshot = serde_json::from_value(start).expect("a snapshot");
        cpu.load(&start).expect("a snapshot");
        for (world, (own, found)) in reports.iter().zip(cpu.step(1).expect("a step")).enumerate() {
            if own.halted || own.contact_count == 0 {
                continue;
            }
            let (off, near) = ((own.residual - found.residual).abs(), ROUNDED_GAP + own.floor + found.floor);
            let what = format!("step {step}, world {world}: {own:?} {found:?}");
            assert!(found.sweeps == 0 && found.newton_steps == 0, "{what}");
            assert!(off <= near, "{what}");
            (told, large, worst) = (told + 1, large + usize::from(own.residual > 100.0 * near), worst.max(off));
        }
    }
    println!("{told} certificates, {large} of them large, at most {worst:.1e} m/s apart");
    assert!(told > 200 && large > 20, "{told} certificates, {large} large");
}

fn json(snapshot: &Snapshot) -> serde_json::Value {
    serde_json::to_value(snapshot).expect("a snapshot is JSON")
}

#[test]
fn a_world_keeps_its_bits_wherever_it_stands_and_however_its_steps_are_counted() {
    if !adapter() {
        return;
    }
    let (model, few) = (shapes(""), 3);
    let v = many(&mut Random(1), few * model.nv(), 0.5);
    let roll = |count: usize, at: usize, substeps: &[u32]| {
        let mut worlds = worlds(&model, count, Backend::Gpu);
        let list: Vec<usize> = (at..at + few).collect();
        worlds.set_state(Mask::List(&list), &model.q0.repeat(few), &v).expect("a state");
        for k in substeps {
            worlds.step(*k).expect("steps");
        }
        let of = |x: Vec<f64>, n: usize| x[at * n..(at + few) * n].to_vec();
        let all = [of(worlds.positions(), model.nq()), of(worlds.velocities(), model.nv())].concat();
        all.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    };
    let alone = roll(few, 0, &[40]);
    assert_eq!(alone, roll(few, 0, &[40]), "the same run twice");
    assert_eq!(alone, roll(130, 70, &[40]), "in a larger batch, elsewhere");
    assert_eq!(alone, roll(few, 0, &[13, 27]), "in two calls");
}

/// A cylinder on a box has no formula on the device: such worlds halt, and are the CPU's to the bit, impulses of their patches and all.
#[test]
fn worlds_that_halt_are_caught_up_exactly() {
    if !adapter() {
        return;
    }
    let model = parsed(
        "",
        "<body pos='0 0 .1'><freejoint/><geom type='box' size='.2 .2 .1'/></body>
         <body pos='0 0 .3'><freejoint/><geom type='cylinder' size='.1 .1'/></body>",
    );
    let v = many(&mut Random(4), 2 * model.nv(), 0.1);
    let roll = |backend: Backend| {
        let mut worlds = worlds(&model, 2, backend);
        worlds.set_state(Mask::All, &model.q0.repeat(2), &v).expect("a state");
        for substeps in [1, 1, 20] {
            let reports = worlds.step(substeps).expect("steps");
            assert!(reports.iter().all(|r| r.solved() && r.halted == (backend == Backend::Gpu)), "{reports:?}");
        }
        worlds
    };
    let (cpu, gpu) = (roll(Backend::Cpu), roll(Backend::Gpu));
    assert!(cpu.reports()[0].contact_count == 2, "{:?}", cpu.reports());
    assert_eq!(bits(&cpu), bits(&gpu));
}

/// What the device remembers of its patches goes to the host and back without a change, and a host's snapshot to the device.
#[test]
fn snapshots_carry_the_impulses_of_patches() {
    if !adapter() {
        return;
    }
    let model = shapes("");
    let mut worlds = worlds(&model, 3, Backend::Gpu);
    worlds.set_state(Mask::All, &model.q0.repeat(3), &many(&mut Random(6), 3 * model.nv(), 0.2)).expect("a state");
    worlds.step(20).expect("steps");
    let kept = worlds.save();
    let memory = json(&kept)["memory"].to_string();
    worlds.step(10).expect("steps");
    let after = bits(&worlds);
    worlds.load(&kept).expect("a snapshot");
    assert_eq!(json(&worlds.save())["memory"].to_string(), memory);
    worlds.step(10).expect("steps");
    assert_eq!(after, bits(&worlds), "a snapshot goes on as the worlds did");
    // a patch is remembered by its friction, its torsion and what its vertices press
    let first = json(&kept)["memory"][0].as_array().expect("a list").len();
    assert!(first > 4 + 2 * 3, "{first} impulses");
}

/// A disc slows its spin by 2/3 R μ g of uniform pressure at its centre: α = (2/3 μ m g R)/(½ m R²).
#[test]
fn a_disc_spins_down_by_its_torsion_on_the_device() {
    if !adapter() {
        return;
    }
    let model =
        parsed("", "<body pos='0 0 .05'><freejoint/><geom type='cylinder' size='.3 .05' friction='.7'/></body>");
    let mut worlds = worlds(&model, 1, Backend::Gpu);
    let spin = 8.0;
    worlds.set_state(Mask::All, &model.q0, &[0.0, 0.0, 0.0, 0.0, 0.0, spin]).expect("a state");
    let mut all = 0;
    while all < 40 {
        let report = worlds.step(1).expect("a step")[0];
        assert!(report.solved() && !report.halted && report.contact_count == 1 && report.row_count == 7, "{report:?}");
        all += 1;
    }
    let slowed = (spin - worlds.velocities()[5]) / (40.0 * worlds.dt());
    let exact = 4.0 / 3.0 * 0.7 * 9.81 / 0.3;
    assert!((slowed / exact - 1.0).abs() < 1e-3, "{slowed} and {exact} rad/s²");
}
