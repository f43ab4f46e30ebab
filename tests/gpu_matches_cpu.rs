//! The shader against its twin, and whole solves on the device against the CPU.
//!
//! Needs an adapter, software being enough. Without one the tests say so and pass, unless `DELASSUS_REQUIRE_GPU=1`.
#![cfg(feature = "gpu")]

mod common;
#[path = "common/random.rs"]
mod random;

use common::{adapter, bits, example};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use delassus::gpu::{Device, DeviceChoice, Gpu, SMALL, list_devices, sweeps_in_a_dispatch};
use delassus::lane::{F32x16, F64x8, Level, Pack, Scalar};
use delassus::solver::{
    Algorithm, Batch, BlockPlace, BlockSize, FrictionLaw, REPORT_FLOOR, REPORT_LEN, REPORT_LIVE, REPORT_RESIDUAL,
    REPORT_SWEEPS, SolveSettings, Which, polish, solve_cpu,
};
use delassus::worlds::{DeviceWork, Start};
use delassus::{Backend, Error, Mask, Model, Settings, Worlds};
use random::Random;

/// One shader against its twin, λ in N·s and residual in m/s, both of order 1: WGSL lets a division err by 2.5 ulp and fma round twice, and
/// four sweeps pass such errors on a few times. 1e-5 is 84 ulp of 1.
const STAGE_TOLERANCE: f64 = 1e-5;
/// A whole solve to a residual of 1e-5 m/s, over the smallest eigenvalue 0.1 of W, on both sides, and with the coupling by friction.
const SOLVE_TOLERANCE: f64 = 1e-3;

static GPU: OnceLock<Option<Mutex<Gpu>>> = OnceLock::new();

/// The device that all tests share, one test at a time.
fn gpu() -> Option<MutexGuard<'static, Gpu>> {
    let gpu = GPU.get_or_init(|| match Gpu::new(&DeviceChoice::Any) {
        Ok(gpu) => {
            println!("on {:?}", gpu.info());
            Some(Mutex::new(gpu))
        }
        Err(error) => {
            common::no_adapter(&error);
            None
        }
    });
    gpu.as_ref().map(|gpu| gpu.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A random block: size and seed. Its numbers are rounded to f32, so that all number types get the same problem.
#[derive(Clone, Copy, Debug)]
struct Block {
    size: BlockSize,
    seed: u64,
}

impl Block {
    fn new(contact_count: usize, scalar_count: usize, seed: u64) -> Self {
        Self { size: BlockSize { contact_count, scalar_count }, seed }
    }
    /// W = G Gᵀ + 0.1 with G of n/3 + 1 columns; the bias of the position problem differs in every third block.
    fn write<R: Pack>(self, batch: &mut Batch<R>, place: BlockPlace) {
        let group = &mut batch.groups[place.group];
        let (tile, lane) = (place.block / R::LANES, place.block % R::LANES);
        let (m, contacts, scalars) = (group.size.row_count(), group.size.contact_count, group.size.scalar_count);
        let n = self.size.row_count();
        let k = n / 3 + 1;
        let row =
            |i: usize| if i < 3 * self.size.contact_count { i } else { i + 3 * (contacts - self.size.contact_count) };
        let put = |x: &mut R, value: f64| x.set(lane, R::Scalar::from_f64(f64::from(value as f32)));
        let mut random = Random(self.seed);
        let g: Vec<f64> = (0..n * k).map(|_| random.next() / (k as f64).sqrt()).collect();
        for i in 0..n {
            for j in 0..n {
                let dot: f64 = (0..k).map(|c| g[i * k + c] * g[j * k + c]).sum();
                put(&mut group.delassus[(tile * m + row(i)) * m + row(j)], dot + if i == j { 0.1 } else { 0.0 });
            }
            let bias = random.next();
            put(&mut group.bias[tile * m + row(i)], bias);
            put(
                &mut group.position_bias[tile * m + row(i)],
                bias - if self.seed.is_multiple_of(3) { 0.2 } else { 0.0 },
            );
            put(&mut group.impulse[tile * m + row(i)], 0.3 * random.next());
        }
        for c in 0..self.size.contact_count {
            put(&mut group.friction[tile * contacts + c], 0.4 + 0.4 * random.next());
        }
        for s in 0..self.size.scalar_count {
            let bounds = [[0.0, f64::INFINITY], [f64::NEG_INFINITY, f64::INFINITY], [-0.3, 0.2]][s % 3];
            for (side, bound) in bounds.into_iter().enumerate() {
                put(&mut group.bounds[(tile * scalars + s) * 2 + side], bound);
            }
        }
    }
    /// λ of both problems and both reports, as f64.
    fn read<R: Pack>(batch: &Batch<R>, place: BlockPlace) -> Vec<f64> {
        let group = &batch.groups[place.group];
        let (tile, lane) = (place.block / R::LANES, place.block % R::LANES);
        let m = group.size.row_count();
        let rows = tile * m..(tile + 1) * m;
        let entries = tile * REPORT_LEN..(tile + 1) * REPORT_LEN;
        let pieces = [
            &group.impulse[rows.clone()],
            &group.position_impulse[rows],
            &group.report[entries.clone()],
            &group.position_report[entries],
        ];
        pieces.into_iter().flatten().map(|x| x.get(lane).to_f64()).collect()
    }
}

fn batch_of<R: Pack>(blocks: &[Block]) -> (Batch<R>, Vec<BlockPlace>) {
    let mut batch = Batch::new();
    let places: Vec<_> = blocks.iter().map(|b| batch.add(b.size)).collect();
    batch.allocate();
    for (block, place) in blocks.iter().zip(&places) {
        block.write(&mut batch, *place);
    }
    (batch, places)
}

fn solve_gpu(gpu: &mut Gpu, blocks: &[Block], settings: &SolveSettings) -> Vec<Vec<f64>> {
    let (mut batch, places) = batch_of::<F32x16>(blocks);
    let report = gpu.solve(&mut batch, settings).expect("a solve");
    assert_eq!((report.gpu_block_count, report.cpu_block_count), (blocks.len(), 0));
    places.iter().map(|place| Block::read(&batch, *place)).collect()
}

/// Sizes that pad (5, 3) and that do not, contacts only, scalars only, one row, and large.
fn mixed_blocks(count: usize) -> Vec<Block> {
    let sizes = [(1, 0), (0, 1), (4, 0), (5, 3), (2, 2), (0, 7), (12, 1)];
    (0..count).map(|k| Block::new(sizes[k % 7].0, sizes[k % 7].1, k as u64)).collect()
}

fn assert_close(name: &str, got: &[F32x16], want: &[F32x16], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (k, (g, w)) in got.iter().zip(want).enumerate() {
        for lane in 0..16 {
            let (g, w) = (g.get(lane).to_f64(), w.get(lane).to_f64());
            let close = g == w || (g - w).abs() <= tolerance * (1.0 + w.abs());
            assert!(close, "{name}: entry {k}, lane {lane}: {g} is not {w}");
        }
    }
}

const LAWS: [FrictionLaw; 2] = [FrictionLaw::Cone, FrictionLaw::Box];

/// Impulses and certificates of both problems of two batches.
fn assert_alike(name: &str, got: &Batch<F32x16>, want: &Batch<F32x16>, tolerance: f64) {
    for (got, want) in got.groups.iter().zip(&want.groups) {
        let name = format!("{name} {:?}", got.size);
        assert_close(&name, &got.impulse, &want.impulse, tolerance);
        assert_close(&name, &got.position_impulse, &want.position_impulse, tolerance);
        for (got, want) in [(&got.report, &want.report), (&got.position_report, &want.position_report)] {
            for (s, t) in got.chunks(REPORT_LEN).zip(want.chunks(REPORT_LEN)) {
                let (residual, floor) = (REPORT_RESIDUAL, REPORT_FLOOR);
                assert_close(&name, &s[residual..=floor], &t[residual..=floor], tolerance);
                assert_eq!(s[REPORT_SWEEPS], t[REPORT_SWEEPS], "{name}");
                assert_eq!(s[REPORT_LIVE], t[REPORT_LIVE], "{name}");
            }
        }
    }
}

const ALGORITHMS: [Algorithm; 3] = [Algorithm::Auto, Algorithm::Pgs, Algorithm::Jacobi];

/// The first guess and its certificate; a sweep; sweeps to the first look and beyond. The twin is the same code, run from the first sweep to the last.
#[test]
fn the_shader_does_what_its_twin_does() {
    let Some(mut gpu) = gpu() else { return };
    for law in LAWS {
        for algorithm in ALGORITHMS {
            for iterations in [0, 1, 4, 6] {
                let settings = SolveSettings { law, algorithm, iterations, check_every: 4, ..SolveSettings::default() };
                let (mut shader, _) = batch_of::<F32x16>(&mixed_blocks(7 * 20));
                let mut twin = shader.clone();
                gpu.solve_from(0, &mut shader, &settings).expect("a solve");
                let before = gpu.work();
                gpu.solve_from(u32::MAX, &mut twin, &settings).expect("a solve");
                assert_eq!(gpu.work().dispatches, before.dispatches, "the twin needs no device");
                assert_alike(&format!("{algorithm:?} {law:?} {iterations}"), &shader, &twin, STAGE_TOLERANCE);
            }
        }
    }
}

#[test]
fn whole_solves_agree_with_the_cpu_in_f32_and_f64() {
    let Some(mut gpu) = gpu() else { return };
    let blocks = mixed_blocks(7 * 30);
    for law in LAWS {
        for algorithm in [Algorithm::Pgs, Algorithm::Jacobi] {
            let settings = SolveSettings { law, algorithm, iterations: 2000, ..SolveSettings::default() };
            let device = solve_gpu(&mut gpu, &blocks, &settings);
            let (mut single, places) = batch_of::<F32x16>(&blocks);
            solve_cpu(&mut single, Level::detect(), &settings).expect("packs that run here");
            let (mut double, places64) = batch_of::<F64x8>(&blocks);
            solve_cpu(&mut double, Level::detect(), &SolveSettings { tolerance: 1e-9, iterations: 20_000, ..settings })
                .expect("packs that run here");
            let mut worst = [0.0f64; 2];
            for (k, block) in blocks.iter().enumerate() {
                let single = Block::read(&single, places[k]);
                let double = Block::read(&double, places64[k]);
                let impulses = device[k].len() - 2 * REPORT_LEN;
                for report in [&device[k][impulses..], &device[k][impulses + REPORT_LEN..]] {
                    assert!(
                        report[REPORT_RESIDUAL] <= settings.tolerance.max(report[REPORT_FLOOR]),
                        "{block:?} {report:?}"
                    );
                    assert_eq!(report[REPORT_LIVE], 0.0);
                }
                for i in 0..impulses {
                    worst[0] = worst[0].max((device[k][i] - single[i]).abs());
                    worst[1] = worst[1].max((device[k][i] - double[i]).abs());
                }
            }
            println!("{algorithm:?} {law:?}: λ off by {:.1e} from f32 and {:.1e} from f64", worst[0], worst[1]);
            assert!(worst[0] < SOLVE_TOLERANCE && worst[1] < SOLVE_TOLERANCE, "{algorithm:?} {law:?} {worst:?}");
        }
    }
}

#[test]
fn bits_depend_on_neither_run_place_batch_size_nor_chunks() {
    let Some(mut gpu) = gpu() else { return };
    let settings = SolveSettings::default();
    let blocks = mixed_blocks(7 * 40);
    let first = solve_gpu(&mut gpu, &blocks, &settings);
    assert!(first == solve_gpu(&mut gpu, &blocks, &settings), "two runs differ");
    let mut reversed: Vec<_> = blocks.iter().rev().copied().collect();
    reversed.truncate(100);
    let backwards = solve_gpu(&mut gpu, &reversed, &settings);
    for k in 0..100 {
        assert!(first[blocks.len() - 1 - k] == backwards[k], "block {k} depends on its place");
    }
    // A device of its own that binds one or two tiles at a time.
    let mut small = Gpu::new(&DeviceChoice::Any).expect("a second device");
    small.limit_binding(100_000);
    assert!(first == solve_gpu(&mut small, &blocks, &settings), "chunks change bits");
}

#[test]
fn a_block_that_is_not_finite_says_so_and_harms_no_other() {
    let Some(mut gpu) = gpu() else { return };
    let blocks: Vec<_> = (0..40).map(|k| Block::new(2, 2, k)).collect();
    for law in LAWS {
        let settings = SolveSettings { law, ..SolveSettings::default() };
        let clean = solve_gpu(&mut gpu, &blocks, &settings);
        for poison in [f32::NAN, f32::INFINITY] {
            for entry in [0, 3, 9] {
                let (mut batch, places) = batch_of::<F32x16>(&blocks);
                batch.groups[0].delassus[entry].set(5, poison);
                gpu.solve(&mut batch, &settings).expect("a solve");
                for k in 0..blocks.len() {
                    let got = Block::read(&batch, places[k]);
                    if k == 5 {
                        let report = &got[got.len() - 2 * REPORT_LEN..];
                        assert_eq!(report[REPORT_RESIDUAL], f64::INFINITY, "{poison} {law:?}");
                        assert_eq!(report[REPORT_LIVE], 0.0);
                    } else {
                        assert_eq!(got, clean[k]);
                    }
                }
            }
        }
    }
}

#[test]
fn empty_batches_and_groups_are_solved() {
    let Some(mut gpu) = gpu() else { return };
    let settings = SolveSettings::default();
    gpu.solve(&mut Batch::new(), &settings).expect("an empty batch");
    let (mut batch, _) = batch_of::<F32x16>(&mixed_blocks(7));
    batch.clear();
    batch.add(BlockSize { contact_count: 1, scalar_count: 0 });
    batch.allocate();
    let report = gpu.solve(&mut batch, &settings).expect("empty groups");
    assert_eq!(report.gpu_block_count, 1);
    assert!(gpu.solve(&mut batch, &SolveSettings { tolerance: -1.0, ..settings }).is_err());
}

/// lavapipe ends loops silently after 65,535 iterations of one invocation: 300 sweeps of 32 contacts are 346,000.
#[test]
fn long_solves_are_spread_over_dispatches() {
    let Some(mut gpu) = gpu() else { return };
    for algorithm in [Algorithm::Pgs, Algorithm::Jacobi] {
        // a tolerance that nothing meets, and a small block beside the large one
        let settings = SolveSettings { algorithm, tolerance: 0.0, iterations: 300, ..SolveSettings::default() };
        let blocks = [Block::new(32, 1, 3), Block::new(1, 0, 4)];
        let (mut shader, places) = batch_of::<F32x16>(&blocks);
        let mut twin = shader.clone();
        let report = gpu.solve(&mut shader, &settings).expect("a solve");
        // of both problems
        let size = shader.groups[places[0].group].size;
        let each = 300u32.div_ceil(sweeps_in_a_dispatch(size, 0, &settings));
        // what lies in registers has a shader of its own, which needs one
        let small = u32::from(algorithm == Algorithm::Pgs);
        assert!(each > 5 && report.work.dispatches == u64::from(2 * (each + small)), "{report:?} {each}");
        gpu.solve_from(u32::MAX, &mut twin, &settings).expect("a solve");
        let sweeps = Block::read(&twin, places[0])[size.row_count() * 2 + REPORT_SWEEPS];
        assert_eq!(sweeps, 300.0);
        for (got, want) in shader.groups.iter().zip(&twin.groups) {
            assert_close("velocity", &got.impulse, &want.impulse, 10.0 * STAGE_TOLERANCE);
            assert_close("position", &got.position_impulse, &want.position_impulse, 10.0 * STAGE_TOLERANCE);
        }
        let (got, want) = (Block::read(&shader, places[0]), Block::read(&twin, places[0]));
        assert_eq!(got[size.row_count() * 2 + REPORT_SWEEPS], want[size.row_count() * 2 + REPORT_SWEEPS]);
    }
}

#[test]
fn blocks_too_large_for_the_device_are_solved_on_the_cpu() {
    let Some(mut gpu) = gpu() else { return };
    let settings = SolveSettings { iterations: 4, ..SolveSettings::default() };
    let blocks = [Block::new(1, 0, 1), Block::new(150, 0, 2)];
    let (mut batch, places) = batch_of::<F32x16>(&blocks);
    let report = gpu.solve(&mut batch, &settings).expect("a solve");
    assert_eq!((report.gpu_block_count, report.cpu_block_count), (1, 1));
    assert!(report.note.expect("a note").contains("CPU"));
    let (mut cpu, _) = batch_of::<F32x16>(&blocks);
    solve_cpu(&mut cpu, Level::detect(), &settings).expect("packs that run here");
    assert_eq!(Block::read(&batch, places[1]), Block::read(&cpu, places[1]));
}

#[test]
fn the_twin_before_any_sweep_and_the_shader_from_it_on_agree() {
    let Some(mut gpu) = gpu() else { return };
    let blocks = mixed_blocks(14);
    for (algorithm, law) in [(Algorithm::Pgs, FrictionLaw::Cone), (Algorithm::Jacobi, FrictionLaw::Box)] {
        let settings = SolveSettings { algorithm, law, ..SolveSettings::default() };
        let (mut want, _) = batch_of::<F32x16>(&blocks);
        solve_cpu(&mut want, Level::detect(), &settings).expect("packs that run here");
        for first in [0, 1, 8, 11, u32::MAX] {
            let (mut batch, _) = batch_of::<F32x16>(&blocks);
            gpu.solve_from(first, &mut batch, &settings).expect("a solve");
            for (got, want) in batch.groups.iter().zip(&want.groups) {
                assert_close("velocity", &got.impulse, &want.impulse, SOLVE_TOLERANCE);
                assert_close("position", &got.position_impulse, &want.position_impulse, SOLVE_TOLERANCE);
            }
        }
    }
}

/// Where Newton follows, sweeps that do not contract are left to it, on the device by the rule of the CPU: after a look that finds more than a tenth of the residual.
#[test]
fn sweeps_that_do_not_contract_are_left_to_newton() {
    let Some(mut gpu) = gpu() else { return };
    let settings = SolveSettings { algorithm: Algorithm::Auto, check_every: 4, ..SolveSettings::default() };
    let blocks = mixed_blocks(7 * 30);
    let (mut batch, places) = batch_of::<F32x16>(&blocks);
    gpu.solve(&mut batch, &settings).expect("a solve");
    let (mut left, mut solved) = (0, 0);
    for place in &places {
        let group = &batch.groups[place.group];
        let report = &group.report[place.block / 16 * REPORT_LEN..];
        let [sweeps, live] = [REPORT_SWEEPS, REPORT_LIVE].map(|k| report[k].get(place.block % 16));
        assert!(sweeps < 40.0 && sweeps % 4.0 == 0.0 && (live == 0.0 || live == 1.0), "{sweeps} {live}");
        *if live > 0.0 { &mut left } else { &mut solved } += 1;
    }
    println!("{left} left, {solved} solved");
    assert!(left > 20 && solved > 20);
    let (mut alone, _) = batch_of::<F32x16>(&blocks);
    solve_cpu(&mut alone, Level::detect(), &settings).expect("packs that run here");
    for which in [Which::Velocity, Which::Position] {
        polish(&mut batch, Level::detect(), &settings, which).expect("packs that run here");
    }
    for (got, want) in batch.groups.iter().zip(&alone.groups) {
        assert_close("velocity", &got.impulse, &want.impulse, SOLVE_TOLERANCE);
        assert_close("position", &got.position_impulse, &want.position_impulse, SOLVE_TOLERANCE);
    }
}

/// One dispatch a problem, whatever sizes the blocks have, and one wait; what is read back is λ and the reports.
#[test]
fn a_step_takes_few_dispatches_and_two_waits() {
    if gpu().is_none() {
        return;
    }
    let (auto, pgs, jacobi) = (Algorithm::Auto, Algorithm::Pgs, Algorithm::Jacobi);
    let (cone, patch) = (FrictionLaw::Cone, FrictionLaw::Patch);
    for (name, keyframe, algorithm, friction) in [
        ("ant", None, auto, cone),
        ("ant", None, auto, patch),
        ("ant", None, pgs, cone),
        ("quadruped", Some("stand"), jacobi, cone),
        ("spheres", None, auto, cone),
        ("boxes", None, auto, cone),
        ("boxes", None, auto, patch),
    ] {
        let path = format!("{}/examples/models/{name}.xml", env!("CARGO_MANIFEST_DIR"));
        let model = Model::from_mjcf_file(path).expect("a model");
        let settings = Settings { backend: Backend::Hybrid, algorithm, friction, ..Settings::default() };
        let mut worlds = Worlds::new(&model, 32, settings).expect("worlds");
        let keyframe = keyframe.and_then(|name| model.keyframe(name));
        worlds.set_start(Start { keyframe, position_noise: 0.05, velocity_noise: 0.05 }).expect("a start");
        worlds.reset(Mask::All, 1).expect("a reset");
        let (mut random, mut most, mut contacts) = (Random(5), DeviceWork::default(), 0);
        for _ in 0..60 {
            worlds.control_mut().fill_with(|| random.next());
            let before = worlds.device_work().expect("a device");
            worlds.step(1).expect("a step");
            let work = worlds.device_work().expect("a device").since(before);
            most.dispatches = most.dispatches.max(work.dispatches);
            most.waits = most.waits.max(work.waits);
            contacts += worlds.reports().iter().map(|report| report.contact_count).sum::<usize>();
            assert!(work.bytes_down <= work.bytes_up, "{name}: {work:?}");
        }
        println!("{name} {algorithm:?} {friction:?}: {most:?}, {contacts} contacts");
        assert!(contacts > 500, "{name}");
        // where Newton follows, sweeps are few; each size of blocks that lies in registers has a shader of its own
        let dispatches = if algorithm == auto { 2 * (1 + SMALL as u64) } else { 20 };
        assert!(most.dispatches >= 1 && most.dispatches <= dispatches && most.waits <= 2, "{name}: {most:?}");
    }
}

#[test]
fn a_missing_device_is_an_error_that_says_what_to_do() {
    let Err(error) = Gpu::new(&DeviceChoice::Named("no such device".into())) else { panic!("no such device") };
    let text = error.to_string();
    assert!(text.contains("no such device") && text.contains("cpu backend"), "{text}");
    for device in list_devices() {
        assert!(text.contains(&device.name));
    }
}

#[test]
fn worlds_run_on_the_device_that_was_chosen() {
    let all = list_devices();
    if !adapter() {
        return;
    }
    let model = example("pendulum");
    let on = |device: DeviceChoice, backend: Backend| {
        Worlds::new(&model, 70, Settings { backend, device, ..Settings::default() })
    };
    // a batch on each, all under way at a time; two on the first
    let indices = || (0..all.len()).chain([0]);
    let mut batches: Vec<Worlds> =
        indices().map(|k| on(DeviceChoice::Index(k), Backend::Gpu).expect("worlds")).collect();
    for (k, worlds) in indices().zip(&batches) {
        assert_eq!(worlds.device(), all[k].name);
    }
    for _ in 0..3 {
        let under_way: Vec<_> = batches.iter_mut().map(|worlds| worlds.step_async(10).expect("begun")).collect();
        for stepping in under_way {
            assert!(stepping.wait().expect("steps").iter().all(|report| report.solved() && report.steps == 10));
        }
    }
    assert_eq!(bits(&batches[0]), bits(&batches[all.len()]), "two batches of one device");
    // and two that share what was opened once
    let open = Device::new(&DeviceChoice::Index(0)).expect("a device");
    for _ in 0..2 {
        let settings = Settings { backend: Backend::Cpu, ..Settings::default() };
        let mut shared = Worlds::on_device(&model, 70, settings, open.clone()).expect("worlds");
        assert_eq!((shared.backend(), shared.device()), (Backend::Gpu, all[0].name.clone()));
        assert_eq!(shared.settings().device, DeviceChoice::Index(0));
        (0..3).for_each(|_| assert!(shared.step(10).is_ok()));
        assert_eq!(bits(&shared), bits(&batches[0]));
    }
    let soft = Settings { constraints: delassus::Constraints::Soft, ..Settings::default() };
    assert!(matches!(Worlds::on_device(&model, 70, soft, open), Err(Error::Unsupported(_))));
    let part = all[0].name.to_uppercase()[..4].to_owned();
    assert_eq!(on(part.as_str().into(), Backend::Gpu).expect("by name").device(), all[0].name);
    for (wrong, word) in [("17", "no device 17"), ("no such card", "no such card")] {
        for backend in [Backend::Gpu, Backend::Hybrid] {
            match on(wrong.into(), backend) {
                Err(Error::Device(text)) => {
                    assert!(text.contains(word) && text.contains(&format!("0: {}", all[0].name)), "{text}");
                }
                other => panic!("{wrong}: {other:?}"),
            }
        }
    }
}
