//! Patches in the step that stays on the device, against the CPU's.
//!
//! Needs an adapter, software being enough. Without one the tests say so and pass, unless `DELASSUS_REQUIRE_GPU=1`.
#![cfg(feature = "gpu")]

mod common;

use delassus::gpu::{DeviceChoice, Gpu};
use delassus::solver::FrictionLaw;
use delassus::worlds::Snapshot;
use delassus::{Backend, Mask, Model, Settings, Worlds};

fn adapter() -> bool {
    match Gpu::new(&DeviceChoice::Any) {
        Ok(_) => true,
        Err(error) => {
            common::no_adapter(&error);
            false
        }
    }
}

fn model(name: &str) -> Model {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("examples/models/{name}.xml"));
    Model::from_mjcf_file(path).expect("a model")
}

fn parsed(body: &str) -> Model {
    let text = format!(
        "<mujoco><option timestep='0.005'/><worldbody><geom name='floor' type='plane' size='5 5 .1' friction='.7'/>{body}</worldbody></mujoco>"
    );
    Model::from_mjcf_str(&text).expect("a model")
}

/// A box, a cylinder that stands and leans on its rim, a capsule that lies, and a ball with torsion, apart from each other.
fn shapes() -> Model {
    parsed(
        "<body pos='0 0 .1'><freejoint/><geom type='box' size='.2 .1 .1'/></body>
         <body pos='2 0 .2'><freejoint/><geom type='cylinder' size='.15 .2'/></body>
         <body pos='4 0 .1' euler='0 90 0'><freejoint/><geom type='capsule' size='.1 .2'/></body>
         <body pos='-2 0 .1'><freejoint/><geom type='sphere' size='.1' condim='4' friction='.7 .02 0'/></body>",
    )
}

fn settings(backend: Backend) -> Settings {
    Settings { backend, friction: FrictionLaw::Patch, ..Settings::default() }
}

fn worlds(model: &Model, count: usize, backend: Backend) -> Worlds {
    Worlds::new(model, count, settings(backend)).expect("worlds")
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

/// q, then v of all worlds, to the bit.
fn bits(worlds: &Worlds) -> Vec<u64> {
    worlds.positions().iter().chain(&worlds.velocities()).map(|x| x.to_bits()).collect()
}

/// Both solve to 1e-5 m/s; through Y of a light limb that may be some hundred times as much in v, as with points (`resident`).
const SAME: f64 = 2e-3;

/// Steps 16 worlds on the device beside those of the CPU, every step from the CPU's state; the share of world-steps that halt.
fn side_by_side(name: &str, model: &Model, steps: usize, control: f64) -> f64 {
    let count = 16;
    let (mut cpu, mut gpu) = (worlds(model, count, Backend::Cpu), worlds(model, count, Backend::Gpu));
    let mut random = Random(5);
    let (mut differ, mut halted, mut contacts, mut others, mut worst) = (0, 0, 0, 0, 0.0f64);
    gpu.set_state(Mask::All, &cpu.positions(), &random.many(count * model.nv(), 0.3)).expect("a state");
    cpu.set_state(Mask::All, &gpu.positions(), &gpu.velocities()).expect("a state");
    for step in 0..steps {
        let control = random.many(count * model.nu(), control);
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
fn every_step_of_robots_with_flat_feet_is_that_of_the_cpu() {
    if !adapter() {
        return;
    }
    for (name, most_halted) in [("biped", 1.0), ("humanoid", 1.0), ("quadruped", 1.0)] {
        let halted = side_by_side(name, &model(name), 60, 1.0);
        assert!(halted <= most_halted, "{name}: {halted}");
    }
}

#[test]
fn every_step_of_shapes_on_a_plane_is_that_of_the_cpu() {
    if !adapter() {
        return;
    }
    let halted = side_by_side("shapes", &shapes(), 120, 0.0);
    assert!(halted <= 1.0, "{halted}");
}
