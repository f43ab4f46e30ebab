//! Time of every stage of the step for one tile of sixteen worlds (free motion, collide, rows) or a chunk of 32 tiles (the rest), on one thread.
//!
//! `cargo bench --bench stages`. f32 array packs; the states are those of robots after a hundred steps of random control.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use delassus::dynamics::TileParameters;
use delassus::lane::{Compiled, F32x16, Level, Real, Task};
use delassus::runge_kutta::RungeKutta;
use delassus::step::{Chunk, Plan, Remembered, Tile, Worker, Workspace, find_contacts, find_rows, free_motion};
use delassus::worlds::{Random, Start};
use delassus::{Backend, Mask, Model, Settings, WorldReport, Worlds};
use std::sync::Arc;

type R = F32x16;

/// Tiles of the chunk.
const TILES: usize = 32;
/// Worlds of the chunk.
const WORLDS: usize = TILES * R::LANES;

/// A chunk of worlds in mid-motion.
struct State {
    q: Vec<R>,
    v: Vec<R>,
    control: Vec<R>,
    external: Vec<R>,
    gravity: Vec<R>,
    ones: Vec<R>,
    friction: Vec<R>,
    memory: Vec<Vec<Remembered<f32>>>,
}

fn state(model: &Model) -> State {
    let settings = Settings { backend: Backend::Cpu, ..Settings::default() };
    let mut worlds = Worlds::new(model, WORLDS, settings).expect("worlds");
    let keyframe = model.keyframe("stand");
    worlds.set_start(Start { keyframe, position_noise: 0.02, velocity_noise: 0.02 }).expect("a start");
    worlds.reset(Mask::All, 1).expect("a reset");
    let mut random = Random::new(1, 0);
    for _ in 0..100 {
        worlds.control_mut().fill_with(|| random.symmetric());
        worlds.step(1).expect("a step");
    }
    let packs = |values: &[f64], len: usize| {
        let mut packs = vec![R::zero(); TILES * len];
        for (world, values) in values.chunks(len).enumerate() {
            for (i, x) in values.iter().enumerate() {
                packs[world / R::LANES * len + i].set(world % R::LANES, *x as f32);
            }
        }
        packs
    };
    let (q, v) = worlds.state();
    State {
        q: packs(&q, model.nq()),
        v: packs(&v, model.nv()),
        control: packs(worlds.control_mut(), model.nu()),
        external: vec![R::zero(); TILES * model.nv()],
        gravity: model.gravity.iter().map(|x| R::constant(*x)).collect(),
        ones: vec![R::one(); model.bodies.len().max(model.actuators.len())],
        friction: model.geoms.iter().map(|g| R::constant(g.friction[0])).collect(),
        memory: vec![Vec::new(); WORLDS],
    }
}

/// One of the stages that work on a tile.
struct OnTile<'a, 'b> {
    stage: usize,
    plan: &'a Plan,
    tile: &'a Tile<'b, R>,
    inside: &'a mut RungeKutta<R>,
    w: &'a mut Workspace<R>,
}

impl Task for OnTile<'_, '_> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        match self.stage {
            0 => free_motion(self.plan, self.tile, self.inside, self.w),
            1 => find_contacts(self.plan, self.tile, self.w),
            _ => find_rows(self.plan, self.tile, self.w),
        }
    }
}

fn stages(c: &mut Criterion) {
    let level = Level::detect();
    if !level.runs_packs() {
        println!("no packs on this machine: nothing to measure");
        return;
    }
    for name in ["ant", "quadruped", "humanoid", "spheres"] {
        let path = format!("{}/examples/models/{name}.xml", env!("CARGO_MANIFEST_DIR"));
        let model = Model::from_mjcf_file(&path).expect("an example model");
        let mut s = state(&model);
        let plan = Plan::new(Arc::new(model), Settings::default());
        let (gravity, ones, friction) = (s.gravity.clone(), s.ones.clone(), s.friction.clone());
        let (bodies, actuators) = (plan.model.bodies.len(), plan.model.actuators.len());
        let parameters = |_: usize| TileParameters {
            gravity: &gravity,
            mass_scale: &ones[..bodies],
            friction: &friction,
            gain_scale: &ones[..actuators],
        };
        let (mut reports, mut watched) = (vec![WorldReport::default(); WORLDS], vec![None; WORLDS]);
        let start = (s.q.clone(), s.v.clone());
        let mut chunk = Chunk {
            first_world: 0,
            q: &mut s.q,
            v: &mut s.v,
            control: &mut s.control,
            external: &mut s.external,
            parameters: &parameters,
            memory: &mut s.memory,
            reports: &mut reports,
            watched: &mut watched,
        };
        let mut group = c.benchmark_group(name);
        group.sample_size(20);
        group.throughput(Throughput::Elements(R::LANES as u64));
        let mut w = Workspace::<R>::new(&plan.model);
        let mut inside = RungeKutta::new(&plan.model);
        let tile = chunk.tile(&plan.model, 0);
        for (stage, name) in ["free motion", "collide", "rows"].into_iter().enumerate() {
            group.bench_function(name, |b| {
                b.iter(|| level.run(OnTile { stage, plan: &plan, tile: &tile, inside: &mut inside, w: &mut w }));
            });
        }
        group.throughput(Throughput::Elements(WORLDS as u64));
        let mut worker = Worker::new(&plan, TILES, false);
        group.bench_function("up to blocks", |b| b.iter(|| worker.begin(&plan, &mut chunk, None)));
        let posed = worker.batch.clone();
        group.bench_function("solve", |b| {
            b.iter_batched_ref(
                || posed.clone(),
                |batch| delassus::solver::solve_cpu(batch, level, &plan.settings.solve()),
                BatchSize::LargeInput,
            );
        });
        worker.solve(&plan);
        group.bench_function("complete", |b| {
            b.iter(|| {
                chunk.q.copy_from_slice(&start.0);
                chunk.v.copy_from_slice(&start.1);
                worker.complete(&plan, &mut chunk, None);
            });
        });
        let worst = chunk.reports.iter().map(|r| r.residual).fold(0.0, f64::max);
        println!("{name}: worst residual {worst:.1e} m/s");
        group.finish();
    }
}

criterion_group!(benches, stages);
criterion_main!(benches);
