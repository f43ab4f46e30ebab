//! Blocks with patches on a device: the shader against its twin, whole batches against the CPU, and what every block is promised.
//!
//! Needs an adapter, software being enough. Without one the tests say so and pass, unless `DELASSUS_REQUIRE_GPU=1`.
#![cfg(feature = "gpu")]

mod common;
#[path = "common/random.rs"]
mod random;

use delassus::gpu::{DeviceChoice, Gpu, sweeps_in_a_dispatch};
use delassus::lane::{F32x16, Level, Pack, Scalar};
use delassus::lcp::patch::Patch;
use delassus::lcp::{Law, Problem};
use delassus::solver::{
    Algorithm, Batch, BlockPlace, FrictionLaw, ProblemBatch, REPORT_FLOOR, REPORT_LEN, REPORT_LIVE, REPORT_RESIDUAL,
    REPORT_SWEEPS, SolveSettings, Which, goal, polish, solve_cpu,
};
use nalgebra::{DMatrix, DVector};
use random::Random;

/// The shader against its twin, λ in N·s and residual in m/s, both of order 1: as in `gpu_matches_cpu`. The shader computes w = W z + b anew where the twin carries it.
const STAGE_TOLERANCE: f64 = 1e-5;

fn gpu() -> Option<Gpu> {
    match Gpu::new(&DeviceChoice::Any) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            common::no_adapter(&error);
            None
        }
    }
}

/// A face, an edge, a point with torsion or without, a disc, a face without friction along some axes or with none.
fn patch(kind: usize) -> Patch {
    const SQUARE: [[f64; 2]; 4] = [[-0.5, -0.4], [0.5, -0.4], [0.5, 0.4], [-0.5, 0.4]];
    let polygon = |friction: f64, ellipsoid: [f64; 3], count: usize| {
        Patch::polygon(friction, ellipsoid, &SQUARE[..count]).expect("a polygon")
    };
    match kind % 8 {
        0 => polygon(0.5, [1.0, 0.8, 0.3], 4),
        1 => Patch::disc(0.4, [1.0, 1.0, 0.3], 0.5),
        2 => polygon(0.6, [1.0, 1.0, 0.2], 2),
        3 => polygon(0.7, [0.9, 1.0, 0.1], 3),
        4 => polygon(0.5, [1.0, 1.0, 0.0], 1),
        5 => polygon(0.5, [0.0, 1.0, 0.4], 4),
        6 => polygon(0.0, [1.0, 1.0, 0.3], 4),
        _ => Patch::disc(0.5, [0.0, 0.0, 0.4], 0.3),
    }
}

/// Laws of a block: patches alone, with points, with bounded rows, with both in any order, none at all, and many.
fn laws(kind: usize) -> Vec<Law> {
    let cone = Law::Cone { friction: 0.6, dimension: 3 };
    let bounded = Law::Interval { lower: -0.3, upper: 0.2 };
    let a = |k: usize| Law::Patch(patch(kind / 6 + k));
    match kind % 6 {
        0 => vec![a(0)],
        1 => vec![cone, a(0), Law::BILATERAL],
        2 => vec![a(0), bounded, a(1), Law::UNILATERAL, bounded],
        3 => vec![cone, bounded, cone],
        4 => vec![a(0), a(3), a(1), cone, cone, a(6), a(2)],
        _ => vec![a(1), a(0), cone],
    }
}

/// W = G Gᵀ/n + 0.1, b uniform.
fn problem(kind: usize) -> Problem {
    let mut random = Random(kind as u64);
    let laws = laws(kind);
    let n = laws.iter().map(Law::rows).sum();
    let g = DMatrix::from_fn(n, n, |_, _| random.next() / (n as f64).sqrt());
    let delassus = &g * g.transpose() + DMatrix::identity(n, n) * 0.1;
    Problem { name: format!("{kind}"), delassus, bias: DVector::from_fn(n, |_, _| random.next()), laws }
}

/// The problems as a batch with first guesses; the position problem of every third is another one, and every seventh has a guess that is not finite.
fn batch_of(kinds: impl IntoIterator<Item = usize>) -> (Batch<F32x16>, Vec<BlockPlace>) {
    let kinds: Vec<_> = kinds.into_iter().collect();
    let problems: Vec<_> = kinds.iter().map(|&kind| problem(kind)).collect();
    let ProblemBatch::<F32x16> { mut batch, places, .. } =
        ProblemBatch::new(&problems, FrictionLaw::Patch).expect("a batch");
    for (place, kind) in places.iter().zip(&kinds) {
        let mut random = Random(1000 + *kind as u64);
        let group = &mut batch.groups[place.group];
        let (n, tile, lane) = (group.size.row_count(), place.block / F32x16::LANES, place.block % F32x16::LANES);
        // numbers by row of the block, but those of rows that it lacks
        for i in (0..n).filter(|i| group.delassus[(tile * n + i) * n + i].get(lane) > 0.0) {
            group.impulse[tile * n + i].set(lane, (0.3 * random.next()) as f32);
            if kind % 3 == 0 {
                let b = group.position_bias[tile * n + i].get(lane);
                group.position_bias[tile * n + i].set(lane, b - 0.2);
            }
        }
        if kind % 7 == 0 {
            group.impulse[tile * n].set(lane, f32::NAN);
        }
    }
    (batch, places)
}

/// λ of both problems and both reports.
fn read(batch: &Batch<F32x16>, place: BlockPlace) -> Vec<f32> {
    let group = &batch.groups[place.group];
    let (n, tile, lane) = (group.size.row_count(), place.block / F32x16::LANES, place.block % F32x16::LANES);
    let (rows, entries) = (tile * n..(tile + 1) * n, tile * REPORT_LEN..(tile + 1) * REPORT_LEN);
    let pieces = [
        &group.impulse[rows.clone()],
        &group.position_impulse[rows],
        &group.report[entries.clone()],
        &group.position_report[entries],
    ];
    pieces.into_iter().flatten().map(|x| x.get(lane)).collect()
}

fn assert_close(name: &str, got: &[f32], want: &[f32], tolerance: f64) -> f64 {
    assert_eq!(got.len(), want.len());
    let mut worst = 0.0f64;
    for (k, (g, w)) in got.iter().zip(want).enumerate() {
        let (g, w) = (f64::from(*g), f64::from(*w));
        let off = (g - w).abs() / (1.0 + w.abs());
        assert!(g == w || off <= tolerance, "{name}: entry {k}: {g} is not {w}");
        worst = worst.max(if g == w { 0.0 } else { off });
    }
    worst
}

/// Whether a residual is so near to what counts as solved that rounding says which side it is on.
fn rounding_decides(report: &[f32], settings: &SolveSettings) -> bool {
    let [residual, floor] = [REPORT_RESIDUAL, REPORT_FLOOR].map(|k| f64::from(report[k]));
    (residual - goal(settings.tolerance, floor)).abs() <= floor
}

/// Impulses and certificates of every block of two batches; the largest difference. Hardly a block is solved on one side and not on the other, and only where rounding decides.
fn assert_alike(
    settings: &SolveSettings,
    got: &Batch<F32x16>,
    want: &Batch<F32x16>,
    places: &[BlockPlace],
    tolerance: f64,
) -> f64 {
    let (mut worst, mut undecided) = (0.0f64, 0);
    for (k, place) in places.iter().enumerate() {
        let (got, want) = (read(got, *place), read(want, *place));
        let name = format!("{settings:?}, block {k}");
        let (impulses, got_reports) = got.split_at(got.len() - 2 * REPORT_LEN);
        let (want_impulses, want_reports) = want.split_at(want.len() - 2 * REPORT_LEN);
        let reports = || got_reports.chunks(REPORT_LEN).zip(want_reports.chunks(REPORT_LEN));
        let counts = [REPORT_SWEEPS, REPORT_LIVE];
        if let Some((got, want)) = reports().find(|(got, want)| counts.map(|k| got[k]) != counts.map(|k| want[k])) {
            let undecidable = rounding_decides(got, settings) || rounding_decides(want, settings);
            assert!(undecidable, "{name}: {got:?} {want:?}");
            undecided += 1;
            continue;
        }
        worst = worst.max(assert_close(&name, impulses, want_impulses, tolerance));
        for (got, want) in reports() {
            let numbers = REPORT_RESIDUAL..=REPORT_FLOOR;
            worst = worst.max(assert_close(&name, &got[numbers.clone()], &want[numbers], tolerance));
        }
    }
    assert!(undecided * 50 <= places.len(), "{settings:?}: {undecided}");
    worst
}

fn settings(algorithm: Algorithm, iterations: u32) -> SolveSettings {
    SolveSettings { algorithm, iterations, check_every: 4, law: FrictionLaw::Patch, ..SolveSettings::default() }
}

/// The first guess and its certificate; a sweep; sweeps to the first look and beyond.
#[test]
fn the_shader_does_with_patches_what_its_twin_does() {
    let Some(mut gpu) = gpu() else { return };
    for algorithm in [Algorithm::Auto, Algorithm::Pgs] {
        for iterations in [0, 1, 4, 6] {
            let settings = settings(algorithm, iterations);
            let (mut shader, places) = batch_of(0..160);
            let mut twin = shader.clone();
            gpu.solve_from(0, &mut shader, &settings).expect("a solve");
            let before = gpu.work();
            gpu.solve_from(u32::MAX, &mut twin, &settings).expect("a solve");
            assert_eq!(gpu.work().dispatches, before.dispatches, "the twin needs no device");
            let worst = assert_alike(&settings, &shader, &twin, &places, STAGE_TOLERANCE);
            println!("{algorithm:?}, {iterations} sweeps: {worst:.1e} apart");
        }
    }
}

/// w = W z + b of both problems of a block, f64.
fn velocities(batch: &Batch<F32x16>, place: BlockPlace) -> Vec<f64> {
    let group = &batch.groups[place.group];
    let (n, tile, lane) = (group.size.row_count(), place.block / F32x16::LANES, place.block % F32x16::LANES);
    let get = |x: F32x16| x.get(lane).to_f64();
    let mut found = Vec::new();
    for (bias, impulse) in [(&group.bias, &group.impulse), (&group.position_bias, &group.position_impulse)] {
        for i in tile * n..(tile + 1) * n {
            let product: f64 = (0..n).map(|j| get(group.delassus[i * n + j]) * get(impulse[tile * n + j])).sum();
            found.push(get(bias[i]) + product);
        }
    }
    found
}

/// Sweeps on the device and Newton here are the CPU's solve: W is positive definite, so that velocities are as near as both residuals over its condition say.
#[test]
fn sweeps_there_and_newton_here_are_a_solve() {
    let Some(mut gpu) = gpu() else { return };
    let settings = settings(Algorithm::Auto, 200);
    let (mut device, places) = batch_of(0..300);
    let mut alone = device.clone();
    gpu.solve(&mut device, &settings).expect("a solve");
    let left = |batch: &Batch<F32x16>| {
        let live =
            |place: &&BlockPlace| read(batch, **place).rchunks(REPORT_LEN).nth(1).expect("a report")[REPORT_LIVE] > 0.0;
        places.iter().filter(live).count()
    };
    let swept = places.len() - left(&device);
    for which in [Which::Velocity, Which::Position] {
        polish(&mut device, Level::detect(), &settings, which).expect("packs that run here");
    }
    solve_cpu(&mut alone, Level::detect(), &settings).expect("packs that run here");
    println!("{swept} of {} solved by sweeps, {} left; the CPU leaves {}", places.len(), left(&device), left(&alone));
    assert!(swept > 50 && swept < places.len());
    assert_eq!((left(&device), left(&alone)), (0, 0));
    let mut worst = 0.0f64;
    for place in &places {
        for (got, want) in velocities(&device, *place).into_iter().zip(velocities(&alone, *place)) {
            worst = worst.max((got - want).abs());
        }
    }
    println!("velocities {worst:.1e} m/s apart");
    assert!(worst < 1e-3, "{worst}");
}

#[test]
fn bits_depend_on_neither_run_place_nor_chunks() {
    let Some(mut gpu) = gpu() else { return };
    let settings = settings(Algorithm::Pgs, 40);
    let solve = |gpu: &mut Gpu, kinds: &[usize]| {
        let (mut batch, places) = batch_of(kinds.iter().copied());
        let report = gpu.solve(&mut batch, &settings).expect("a solve");
        assert_eq!((report.gpu_block_count, report.cpu_block_count), (kinds.len(), 0));
        let read: Vec<_> = places.iter().map(|place| read(&batch, *place)).collect();
        read
    };
    let kinds: Vec<usize> = (0..200).collect();
    let first = solve(&mut gpu, &kinds);
    assert!(first == solve(&mut gpu, &kinds), "two runs differ");
    let reversed: Vec<usize> = kinds.iter().rev().copied().take(90).collect();
    for (got, &kind) in solve(&mut gpu, &reversed).iter().zip(&reversed) {
        assert!(*got == first[kind], "block {kind} depends on its place");
    }
    // A device of its own that binds one tile of the largest blocks at a time.
    let mut small = Gpu::new(&DeviceChoice::Any).expect("a second device");
    small.limit_binding(200_000);
    assert!(first == solve(&mut small, &kinds), "chunks change bits");
}

#[test]
fn a_block_that_is_not_finite_says_so_and_harms_no_other() {
    let Some(mut gpu) = gpu() else { return };
    let settings = settings(Algorithm::Pgs, 20);
    // faces with a disc each, and a cone
    let solve = |gpu: &mut Gpu, spoil: &dyn Fn(&mut Batch<F32x16>)| {
        let (mut batch, places) = batch_of([5; 40]);
        spoil(&mut batch);
        gpu.solve(&mut batch, &settings).expect("a solve");
        let read: Vec<_> = places.iter().map(|place| read(&batch, *place)).collect();
        read
    };
    let clean = solve(&mut gpu, &|_| ());
    let n = batch_of([5]).0.groups[0].size.row_count();
    for poison in [f32::NAN, f32::INFINITY] {
        // a normal, a tangent, a vertex's further row, torsion, a point
        for row in [0, 1, 9, 12, 6] {
            for what in ["W", "b", "both"] {
                let got = solve(&mut gpu, &|batch| {
                    let group = &mut batch.groups[0];
                    if what != "b" {
                        group.delassus[row * n + row].set(5, poison);
                    }
                    if what != "W" {
                        group.bias[row].set(5, poison);
                        group.position_bias[row].set(5, poison);
                    }
                });
                for (k, (got, clean)) in got.iter().zip(&clean).enumerate() {
                    if k == 5 {
                        let report = &got[got.len() - 2 * REPORT_LEN..];
                        assert_eq!(report[REPORT_RESIDUAL], f32::INFINITY, "{poison} in {what}, row {row}");
                        assert_eq!(report[REPORT_LIVE], 0.0);
                    } else {
                        assert_eq!(got, clean, "{poison} in {what}, row {row}: block {k}");
                    }
                }
            }
        }
    }
}

/// lavapipe ends loops silently after 65,535 iterations of one invocation.
#[test]
fn long_solves_are_spread_over_dispatches() {
    let Some(mut gpu) = gpu() else { return };
    // a tolerance that nothing meets
    let settings = SolveSettings { tolerance: 0.0, ..settings(Algorithm::Pgs, 600) };
    let (mut shader, places) = batch_of([4, 0]);
    let mut twin = shader.clone();
    let report = gpu.solve(&mut shader, &settings).expect("a solve");
    let group = &shader.groups[places[0].group];
    let each = 600u32.div_ceil(sweeps_in_a_dispatch(group.size, group.patch_count, &settings));
    assert!(each > 2 && report.work.dispatches == u64::from(2 * each), "{report:?} {each}");
    gpu.solve_from(u32::MAX, &mut twin, &settings).expect("a solve");
    for place in &places {
        let (got, want) = (read(&shader, *place), read(&twin, *place));
        let impulses = got.len() - 2 * REPORT_LEN;
        assert_close("impulses", &got[..impulses], &want[..impulses], 10.0 * STAGE_TOLERANCE);
        assert_eq!(got[impulses + REPORT_SWEEPS], 600.0);
    }
}

#[test]
fn the_twin_before_any_sweep_and_the_shader_from_it_on_agree() {
    let Some(mut gpu) = gpu() else { return };
    let settings = settings(Algorithm::Pgs, 10);
    let (mut want, places) = batch_of(0..36);
    gpu.solve_from(0, &mut want, &settings).expect("a solve");
    for first in [1, 4, 7, u32::MAX] {
        let (mut batch, _) = batch_of(0..36);
        gpu.solve_from(first, &mut batch, &settings).expect("a solve");
        for place in &places {
            let (got, want) = (read(&batch, *place), read(&want, *place));
            let impulses = got.len() - 2 * REPORT_LEN;
            assert_close("impulses", &got[..impulses], &want[..impulses], 10.0 * STAGE_TOLERANCE);
        }
    }
}
