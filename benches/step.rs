//! World-steps per second of the example models on the CPU backend, beside the residual at which they were reached.
//!
//! `cargo bench --bench step`

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use delassus::{Backend, Model, Settings, Worlds};
use std::hint::black_box;

/// Worlds of a bench: enough to fill lanes and both cores.
const WORLD_COUNT: usize = 1024;
/// Steps before the clock starts: robots have landed, piles have settled.
const WARM_UP: u32 = 200;

fn step(c: &mut Criterion) {
    let mut group = c.benchmark_group("world-steps");
    group.sample_size(10);
    for name in ["ant", "quadruped", "humanoid", "boxes", "spheres"] {
        let path = format!("{}/examples/models/{name}.xml", env!("CARGO_MANIFEST_DIR"));
        let model = Model::from_mjcf_file(&path).expect("an example model");
        let settings = Settings { backend: Backend::Cpu, ..Settings::default() };
        let mut worlds = Worlds::new(&model, WORLD_COUNT, settings).expect("worlds");
        worlds.step(WARM_UP).expect("a step");
        group.throughput(Throughput::Elements(WORLD_COUNT as u64));
        group.bench_function(BenchmarkId::from_parameter(name), |b| b.iter(|| black_box(worlds.step(1).is_ok())));
        let worst = worlds.reports().iter().map(|r| r.residual).fold(0.0, f64::max);
        let solved = worlds.reports().iter().filter(|r| r.solved()).count();
        println!("{name}: worst residual {worst:.1e} m/s, {solved} of {WORLD_COUNT} worlds solved");
    }
    group.finish();
}

criterion_group!(benches, step);
criterion_main!(benches);
