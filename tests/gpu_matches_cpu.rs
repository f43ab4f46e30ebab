//! Every shader against its twin, and whole solves on the device against the CPU.
//!
//! Needs an adapter, software being enough. Without one the tests say so and pass, unless `DELASSUS_REQUIRE_GPU=1`.
#![cfg(feature = "gpu")]

mod common;

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use delassus::gpu::{DeviceChoice, Gpu, STAGES, list_devices, run_twin};
use delassus::lane::{F32x16, F64x8, Level, Pack, Scalar};
use delassus::solver::{
    Algorithm, Batch, BlockPlace, BlockSize, FrictionLaw, REPORT_FLOOR, REPORT_LEN, REPORT_LIVE, REPORT_RESIDUAL,
    REPORT_SWEEPS, SolveSettings, solve_cpu,
};

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

/// Uniform numbers in [-1, 1) from a seed (splitmix64).
struct Random(u64);
impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
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

#[test]
fn every_shader_does_what_its_twin_does() {
    let Some(mut gpu) = gpu() else { return };
    for law in LAWS {
        let settings = SolveSettings { law, ..SolveSettings::default() };
        let (batch, _) = batch_of::<F32x16>(&mixed_blocks(7 * 20));
        for group in batch.groups {
            // Each stage starts from what the twins before it left.
            let mut start = group;
            for stage in &STAGES {
                let (mut shader, mut twin) = (start.clone(), start.clone());
                gpu.run_shader(stage.name, &mut shader, 4, &settings).expect("a stage");
                run_twin(stage.name, &mut twin, 4, &settings).expect("a stage");
                let name = format!("{} {:?} {law:?}", stage.name, start.size);
                assert_close(&name, &shader.impulse, &twin.impulse, STAGE_TOLERANCE);
                for (s, t) in shader.report.chunks(REPORT_LEN).zip(twin.report.chunks(REPORT_LEN)) {
                    assert_close(
                        &name,
                        &s[REPORT_RESIDUAL..=REPORT_FLOOR],
                        &t[REPORT_RESIDUAL..=REPORT_FLOOR],
                        STAGE_TOLERANCE,
                    );
                    assert_eq!(s[REPORT_SWEEPS], t[REPORT_SWEEPS], "{name}");
                    assert_eq!(s[REPORT_LIVE], t[REPORT_LIVE], "{name}");
                }
                if stage.name == "warm_start" || stage.name == "residual" {
                    start = twin;
                }
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
            solve_cpu(&mut single, Level::detect(), &settings);
            let (mut double, places64) = batch_of::<F64x8>(&blocks);
            solve_cpu(&mut double, Level::detect(), &SolveSettings { tolerance: 1e-9, iterations: 20_000, ..settings });
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

/// lavapipe ends loops silently after 65,535 iterations of one invocation: 300 sweeps of 16 contacts are 242,000.
#[test]
fn long_solves_are_spread_over_dispatches() {
    let Some(mut gpu) = gpu() else { return };
    let (mut batch, _) = batch_of::<F32x16>(&[Block::new(16, 1, 3)]);
    for algorithm in ["pgs", "jacobi"] {
        let settings = SolveSettings::default();
        let group = &mut batch.groups[0];
        run_twin("warm_start", group, 0, &settings).expect("a stage");
        let (mut shader, mut twin) = (group.clone(), group.clone());
        gpu.run_shader(algorithm, &mut shader, 300, &settings).expect("a stage");
        run_twin(algorithm, &mut twin, 300, &settings).expect("a stage");
        assert_close(algorithm, &shader.impulse, &twin.impulse, 10.0 * STAGE_TOLERANCE);
        assert_eq!(shader.report[REPORT_SWEEPS], twin.report[REPORT_SWEEPS]);
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
    solve_cpu(&mut cpu, Level::detect(), &settings);
    assert_eq!(Block::read(&batch, places[1]), Block::read(&cpu, places[1]));
}

#[test]
fn twins_before_any_stage_and_shaders_after_it_agree() {
    let Some(mut gpu) = gpu() else { return };
    let blocks = mixed_blocks(14);
    for (algorithm, law) in [(Algorithm::Pgs, FrictionLaw::Cone), (Algorithm::Jacobi, FrictionLaw::Box)] {
        let settings = SolveSettings { algorithm, law, ..SolveSettings::default() };
        let (mut want, _) = batch_of::<F32x16>(&blocks);
        solve_cpu(&mut want, Level::detect(), &settings);
        for stage in &STAGES {
            let (mut batch, _) = batch_of::<F32x16>(&blocks);
            gpu.solve_from(stage.name, &mut batch, &settings).expect("a solve");
            for (got, want) in batch.groups.iter().zip(&want.groups) {
                assert_close(stage.name, &got.impulse, &want.impulse, SOLVE_TOLERANCE);
                assert_close(stage.name, &got.position_impulse, &want.position_impulse, SOLVE_TOLERANCE);
            }
        }
        let (mut batch, _) = batch_of::<F32x16>(&blocks);
        assert!(gpu.solve_from("nonsense", &mut batch, &settings).is_err());
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
