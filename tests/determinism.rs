//! The same bits, whatever else is in the batch: run twice, permuted, in batches of other sizes, on other numbers of threads, beside worlds
//! that are not finite.

mod common;

use common::example;
use delassus::lane::{F32x16, F64x8, Pack};
use delassus::solver::FrictionLaw;
use delassus::worlds::{Noise, Start, TILES_PER_CHUNK};
use delassus::{Backend, Error, Mask, Model, Precision, Settings, WorldReport, WorldStatus, Worlds};

/// Seed of the starts; the controls come from the next one.
const SEED: u64 = 7;

fn settings(precision: Precision, backend: Backend) -> Settings {
    Settings { precision, backend, ..Settings::default() }
}

/// Settings of the hybrid backend, if this machine has an adapter, a software one being enough.
fn hybrid() -> Option<Settings> {
    let settings = settings(Precision::F32, Backend::Hybrid);
    match Worlds::new(&example("pendulum"), 1, settings.clone()) {
        Ok(worlds) => {
            println!("on {}; {:?}", worlds.device(), worlds.notes());
            assert_eq!(worlds.backend(), Backend::Hybrid);
            Some(settings)
        }
        Err(error @ (Error::Device(_) | Error::Unsupported(_))) => {
            common::no_adapter(&error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// `count` worlds that start with noise, from the keyframe "stand" where there is one.
fn worlds(model: &Model, count: usize, settings: &Settings) -> Worlds {
    let mut worlds = Worlds::new(model, count, settings.clone()).expect("worlds");
    let keyframe = model.keyframe("stand");
    worlds.set_start(Start { keyframe, position_noise: 0.05, velocity_noise: 0.5 }).expect("a start");
    worlds.reset(Mask::All, SEED).expect("a reset");
    worlds
}

/// Sets random controls in every world; world w acts as `identities[w]` does.
fn act(worlds: &mut Worlds, identities: &[usize], step: u64) {
    let nu = worlds.model().nu();
    for (control, &identity) in worlds.control_mut().chunks_mut(nu.max(1)).zip(identities) {
        Noise::of_world(SEED + 1 + step, identity).uniform(-1.0, 1.0, control);
    }
}

/// What must be equal: position and velocity of a world, as bits, its last report, and the contacts that it had on the way.
type Outcome = (Vec<u64>, WorldReport, usize);

/// Steps `worlds` with random controls.
fn roll(worlds: &mut Worlds, identities: &[usize], steps: u64) -> Vec<Outcome> {
    let mut contacts = vec![0; identities.len()];
    for step in 0..steps {
        act(worlds, identities, step);
        for (sum, report) in contacts.iter_mut().zip(worlds.step(1).expect("a step")) {
            *sum += report.contact_count;
        }
    }
    let row = worlds.model().nq() + worlds.model().nv();
    let states = bits(worlds).chunks(row).map(<[u64]>::to_vec).collect::<Vec<_>>();
    states.into_iter().zip(worlds.reports()).zip(contacts).map(|((bits, report), sum)| (bits, *report, sum)).collect()
}

fn bits(worlds: &Worlds) -> Vec<u64> {
    worlds.observe().iter().map(|x| x.to_bits()).collect()
}

/// The rollout of `identities`, each with the start that a batch of `most` worlds gives it.
fn rollout(model: &Model, most: usize, identities: &[usize], settings: &Settings, steps: u64) -> Vec<Outcome> {
    let cpu = Settings { backend: Backend::Cpu, ..settings.clone() };
    let (q, v) = worlds(model, most, &cpu).state();
    let pick = |x: &[f64], len: usize| -> Vec<f64> {
        identities.iter().flat_map(|&i| x[i * len..(i + 1) * len].iter().copied()).collect()
    };
    let mut worlds = worlds(model, identities.len(), settings);
    worlds.set_state(Mask::All, &pick(&q, model.nq()), &pick(&v, model.nv())).expect("a state");
    roll(&mut worlds, identities, steps)
}

/// 0 … n − 1 in a random order.
fn shuffled(n: usize) -> Vec<usize> {
    let (mut order, mut place) = ((0..n).collect::<Vec<_>>(), vec![0.0; n]);
    Noise::new(SEED).unit(&mut place);
    order.sort_by(|a, b| place[*a].total_cmp(&place[*b]));
    order
}

/// One rollout of `most` worlds against the same again, permuted, and in batches of other sizes that start by `reset` alone.
fn check(name: &str, most: usize, sizes: &[usize], settings: &Settings, steps: u64) {
    let model = example(name);
    let all: Vec<usize> = (0..most).collect();
    let reference = rollout(&model, most, &all, settings, steps);
    let contacts: usize = reference.iter().map(|(_, _, contacts)| contacts).sum();
    assert!(contacts > 10 * most, "{name}: {contacts} contacts test nothing");
    assert!(reference.iter().all(|(_, report, _)| !report.failed()));

    assert!(rollout(&model, most, &all, settings, steps) == reference, "{name}: twice");
    let order = shuffled(most);
    for (outcome, &i) in rollout(&model, most, &order, settings, steps).iter().zip(&order) {
        assert!(*outcome == reference[i], "{name}: world {i}, permuted");
    }
    for &size in sizes {
        let found = roll(&mut worlds(&model, size, settings), &all[..size], steps);
        for (i, outcome) in found.iter().enumerate() {
            assert!(*outcome == reference[i], "{name}: world {i} in a batch of {size}");
        }
    }
}

/// Worlds of a chunk on the CPU, where it runs packs.
const CHUNK_F32: usize = TILES_PER_CHUNK * F32x16::LANES;
const CHUNK_F64: usize = TILES_PER_CHUNK * F64x8::LANES;

/// Joint limits and blocks that take the fallback; the worlds fill more than one chunk in either precision.
#[test]
fn ant_on_the_cpu() {
    check("ant", CHUNK_F32 + 88, &[1, 5, 16, 17, 64, CHUNK_F32 + 17], &settings(Precision::F32, Backend::Cpu), 30);
    check("ant", CHUNK_F64 + 16, &[5, CHUNK_F64 + 1], &settings(Precision::F64, Backend::Cpu), 30);
}

/// Soft contacts: a world without a contact that its neighbours have has no compliance of it either.
#[test]
fn soft_ant_on_the_cpu() {
    let soft = Settings { compliance: 1e-2, ..settings(Precision::F32, Backend::Cpu) };
    check("ant", 64, &[1, 5, 17], &soft, 60);
}

/// Servos and dry friction: scalar rows in every block.
#[test]
fn quadruped_on_the_cpu() {
    check("quadruped", 64, &[5, 16, 17], &settings(Precision::F32, Backend::Cpu), 60);
    check("quadruped", 20, &[5, 9], &settings(Precision::F64, Backend::Cpu), 60);
}

/// Convex pairs lane by lane, islands that merge and part.
#[test]
fn boxes_on_the_cpu() {
    check("boxes", 33, &[5, 16, 17], &settings(Precision::F32, Backend::Cpu), 150);
    check("boxes", 10, &[5, 9], &settings(Precision::F64, Backend::Cpu), 30);
}

/// Long chains and many contacts.
#[test]
fn humanoid_on_the_cpu() {
    check("humanoid", 48, &[5, 16, 17], &settings(Precision::F32, Backend::Cpu), 80);
    check("humanoid", 12, &[5, 9], &settings(Precision::F64, Backend::Cpu), 80);
}

/// The blocks of all worlds go to the device together.
#[test]
fn ant_on_the_device() {
    let Some(hybrid) = hybrid() else { return };
    check("ant", 64, &[5, 17], &hybrid, 25);
}

/// Blocks of many sizes on the device.
#[test]
fn quadruped_and_boxes_on_the_device() {
    let Some(hybrid) = hybrid() else { return };
    check("quadruped", 40, &[5, 17], &hybrid, 40);
    check("boxes", 20, &[5, 17], &hybrid, 40);
}

/// Faces, edges and points in one batch on the device.
#[test]
fn patches_on_the_device() {
    let Some(hybrid) = hybrid() else { return };
    let settings = Settings { friction: FrictionLaw::Patch, ..hybrid };
    check("humanoid", 24, &[5, 17], &settings, 40);
    check("boxes", 20, &[5, 17], &settings, 40);
}

/// The number of threads decides who steps which chunk, on the hybrid backend which worlds share one, and nothing else.
#[test]
fn threads_change_nothing() {
    let model = example("ant");
    let cpu = settings(Precision::F32, Backend::Cpu);
    for (settings, count) in [Some((cpu, 2 * CHUNK_F32 + 70)), hybrid().map(|s| (s, 70))].into_iter().flatten() {
        let all: Vec<usize> = (0..count).collect();
        let [one, three] = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| rollout(&model, count, &all, &settings, 30))
        });
        assert!(one == three, "{:?}", settings.backend);
    }
}

/// Four substeps in one call are four calls with the control kept.
#[test]
fn substeps_are_steps() {
    let model = example("ant");
    let identities: Vec<usize> = (0..20).collect();
    for precision in [Precision::F32, Precision::F64] {
        let settings = settings(precision, Backend::Cpu);
        let (mut a, mut b) = (worlds(&model, 20, &settings), worlds(&model, 20, &settings));
        for step in 0..10 {
            act(&mut a, &identities, step);
            act(&mut b, &identities, step);
            a.step(4).expect("a step");
            (0..4).for_each(|_| drop(b.step(1).expect("a step").to_vec()));
        }
        assert_eq!(bits(&a), bits(&b));
        assert!(a.reports().iter().all(|r| r.steps == 4) && b.reports().iter().all(|r| r.steps == 1));
    }
}

/// How a world is spoilt.
#[derive(Debug, Clone, Copy)]
enum Poison {
    Position(f64),
    Velocity(f64),
    Control(f64),
    Force(f64),
}

/// Spoils `victim`.
fn spoil(worlds: &mut Worlds, victim: usize, poison: Poison) {
    let (nq, nv, nu) = (worlds.model().nq(), worlds.model().nv(), worlds.model().nu());
    let (mut q, mut v) = worlds.state();
    let mut mask = vec![false; worlds.world_count()];
    mask[victim] = true;
    match poison {
        Poison::Position(x) => q[victim * nq + nq - 1] = x,
        Poison::Velocity(x) => v[victim * nv + nv - 1] = x,
        Poison::Control(x) => worlds.control_mut()[victim * nu] = x,
        Poison::Force(x) => worlds.external_force_mut()[victim * nv] = x,
    }
    if matches!(poison, Poison::Position(_) | Poison::Velocity(_)) {
        worlds.set_state(Mask::Only(&mask), &q, &v).expect("a state");
    }
}

/// A world that is not finite changes no bit of its neighbours, is reported, and after a masked reset is as good as new.
fn isolation(settings: &Settings, poison: Poison, steps: u64) {
    const VICTIM: usize = 6;
    let model = example("ant");
    let count = 20;
    let identities: Vec<usize> = (0..count).collect();
    let mut clean = worlds(&model, count, settings);
    let mut spoilt = worlds(&model, count, settings);
    roll(&mut clean, &identities, steps);
    roll(&mut spoilt, &identities, steps);
    for step in steps..2 * steps {
        act(&mut clean, &identities, step);
        act(&mut spoilt, &identities, step);
        if step == steps || matches!(poison, Poison::Control(_)) {
            spoil(&mut spoilt, VICTIM, poison);
        }
        clean.step(1).expect("a step");
        let reports = spoilt.step(1).expect("a step");
        assert_eq!(reports[VICTIM].status, WorldStatus::NotFinite, "{poison:?}");
        assert!(reports[VICTIM].failed() && !reports[VICTIM].solved());
    }
    let row = model.nq() + model.nv();
    let (clean_bits, spoilt_bits) = (bits(&clean), bits(&spoilt));
    for (i, (a, b)) in clean_bits.chunks(row).zip(spoilt_bits.chunks(row)).enumerate().filter(|(i, _)| *i != VICTIM) {
        assert!(a == b && clean.reports()[i] == spoilt.reports()[i], "{poison:?}: world {i}");
    }

    // A fresh batch, stepped beside it with the same controls, has the same world.
    let failed: Vec<bool> = spoilt.reports().iter().map(WorldReport::failed).collect();
    spoilt.reset(Mask::Only(&failed), SEED).expect("a reset");
    let mut fresh = worlds(&model, count, settings);
    let outcome = roll(&mut spoilt, &identities, steps);
    assert!(outcome[VICTIM] == roll(&mut fresh, &identities, steps)[VICTIM], "{poison:?}: after the reset");
    assert!(!outcome[VICTIM].1.failed());
    assert_eq!(spoilt.time()[VICTIM], fresh.time()[VICTIM]);
}

/// NaN and infinities in state and inputs, in both precisions. An infinite control is not among them: it is clamped to its range.
#[test]
fn a_world_that_is_not_finite_is_alone() {
    for precision in [Precision::F32, Precision::F64] {
        for poison in [
            Poison::Position(f64::NAN),
            Poison::Position(f64::INFINITY),
            Poison::Velocity(f64::NAN),
            Poison::Velocity(f64::NEG_INFINITY),
            Poison::Control(f64::NAN),
            Poison::Force(f64::NAN),
            Poison::Force(f64::INFINITY),
        ] {
            isolation(&settings(precision, Backend::Cpu), poison, 10);
        }
    }
}

/// The same where the blocks are solved on a device.
#[test]
fn a_world_that_is_not_finite_is_alone_on_the_device() {
    let Some(hybrid) = hybrid() else { return };
    for friction in [FrictionLaw::Cone, FrictionLaw::Patch] {
        let settings = Settings { friction, ..hybrid.clone() };
        for poison in [Poison::Position(f64::NAN), Poison::Velocity(f64::INFINITY), Poison::Control(f64::NAN)] {
            isolation(&settings, poison, 10);
        }
    }
}

/// A reset forgets the warm start: worlds reset after a rollout and worlds never stepped have one future. Fallback off and few sweeps, so that
/// the first guess shows in the bits.
#[test]
fn a_reset_clears_the_warm_start() {
    let model = example("quadruped");
    let identities: Vec<usize> = (0..20).collect();
    let settings = Settings { iterations: 4, fallback: false, ..settings(Precision::F32, Backend::Cpu) };
    let fresh = roll(&mut worlds(&model, 20, &settings), &identities, 20);
    let mut used = worlds(&model, 20, &settings);
    roll(&mut used, &identities, 30);
    // Setting the same state forgets it too; keeping it does not, or this test would test nothing.
    used.reset(Mask::All, SEED).expect("a reset");
    assert!(roll(&mut used, &identities, 20) == fresh);

    // What is forgotten must matter, or this tests nothing: the same state with and without the warm start parts.
    let warm = used.save();
    let kept = roll(&mut used, &identities, 1);
    used.load(&warm).expect("a snapshot");
    let (q, v) = used.state();
    used.set_state(Mask::All, &q, &v).expect("a state");
    assert!(roll(&mut used, &identities, 1) != kept);
}
