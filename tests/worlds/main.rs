//! What a user can rely on in `Worlds`: errors, parameters, certificates, fallback, snapshots, capacity, and the example models' manners.

use delassus::lcp::natural_map_residual;
use delassus::model::Keyframe;
use delassus::query::state_query;
use delassus::solver::{Algorithm, FrictionLaw};
use delassus::worlds::{BlockRecord, Noise, Parameter, Start};
use delassus::{
    Backend, Error, Integrator, Mask, Model, Precision, Settings, Snapshot, WorldReport, WorldStatus, Worlds,
};
use std::sync::Mutex;

#[path = "../common/mod.rs"]
mod common;
mod activations;
mod arrays;
mod meaning;
mod mocap;
mod motion;
mod observe;
mod parameters;
mod reach;
mod recording;
mod sensors;
mod sizes;
mod snapshots;
mod tendons;
mod transmissions;

fn text(name: &str) -> String {
    std::fs::read_to_string(format!("{}/examples/models/{name}.xml", env!("CARGO_MANIFEST_DIR"))).expect("an example")
}

fn example(name: &str) -> Model {
    Model::from_mjcf_str(&text(name)).expect("a model")
}

fn f64_settings() -> Settings {
    Settings { precision: Precision::F64, backend: Backend::Cpu, ..Settings::default() }
}

fn worlds(model: &Model, count: usize, settings: Settings) -> Worlds {
    Worlds::new(model, count, settings).expect("worlds")
}

/// Worlds that start from the keyframe "stand" (or at rest) with a little noise.
fn noisy(model: &Model, count: usize, settings: Settings) -> Worlds {
    let mut worlds = worlds(model, count, settings);
    let keyframe = model.keyframe("stand");
    worlds.set_start(Start { keyframe, position_noise: 0.02, velocity_noise: 0.1 }).expect("a start");
    worlds.reset(Mask::All, 3).expect("a reset");
    worlds
}

/// Random controls, the same for the same step whatever the worlds did before.
fn act(worlds: &mut Worlds, step: u64) {
    Noise::new(step).uniform(-1.0, 1.0, worlds.control_mut());
}

fn roll(worlds: &mut Worlds, steps: u64) {
    for step in 0..steps {
        act(worlds, step);
        worlds.step(1).expect("a step");
    }
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// Largest difference of positions, m or rad.
fn distance(a: &Worlds, b: &Worlds) -> f64 {
    a.positions().iter().zip(b.positions()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// A cube of 1 kg and edge 0.2 m that rests on the floor; its step is 0.01 s.
fn cube() -> Model {
    Model::from_mjcf_str(
        r#"<mujoco><option timestep="0.01"/><worldbody>
             <geom name="floor" type="plane" size="1 1 1" friction="0.5"/>
             <body name="cube" pos="0 0 0.1"><freejoint/><geom name="cube" type="box" size="0.1 0.1 0.1" mass="1" friction="0.5"/></body>
           </worldbody></mujoco>"#,
    )
    .expect("a model")
}

const GRAVITY: f64 = 9.81;

// ---------------------------------------------------------------------------------------------------------------- errors

fn message<T>(result: delassus::Result<T>) -> String {
    result.err().expect("an error").to_string()
}

/// Every batch that cannot be made is refused, with the reason and what would be right.
#[test]
fn impossible_batches_are_refused() {
    let model = cube();
    let new = |count, settings| message(Worlds::new(&model, count, settings));
    let default = Settings::default;
    assert!(new(1_000_000_000, default()).contains("free memory"));
    assert!(new(usize::MAX, default()).contains("use fewer"));
    assert!(new(0, default()).contains("at least 1"));
    for (settings, part) in [
        (Settings { dt: Some(-0.01), ..default() }, "dt: must be a positive"),
        (Settings { dt: Some(f64::NAN), ..default() }, "dt: must be a positive"),
        (Settings { tolerance: Some(-1e-6), ..default() }, "tolerance: must be a positive"),
        (Settings { tolerance: Some(0.0), ..default() }, "tolerance: must be a positive"),
        (Settings { restitution: 1.5, ..default() }, "restitution: must be between 0 and 1"),
        (Settings { stabilization: f64::NAN, ..default() }, "stabilization: must be between"),
        (Settings { push_speed: f64::INFINITY, ..default() }, "push_speed: must be"),
        (Settings { compliance: -1.0, ..default() }, "compliance: must be"),
        (Settings { check_every: 0, ..default() }, "check_every: must be at least 1"),
        (Settings { contact_capacity: Some(0), ..default() }, "contact_capacity: must be at least 1"),
        (Settings { backend: Backend::Gpu, precision: Precision::F64, ..default() }, "use backend cpu for f64"),
        (Settings { backend: Backend::Hybrid, precision: Precision::F64, ..default() }, "use backend cpu for f64"),
    ] {
        let found = new(2, settings);
        assert!(found.contains(part), "{found} does not say: {part}");
    }
    let fixed = Model::from_mjcf_str(r#"<mujoco><worldbody><geom size="0.1"/></worldbody></mujoco>"#).expect("a model");
    assert!(message(Worlds::new(&fixed, 1, default())).contains("no joint"));
}

/// Wrong shapes and values are errors that name the argument, and change nothing.
#[test]
fn wrong_arguments_are_refused() {
    let model = example("ant");
    let mut w = worlds(&model, 3, Settings::default());
    let (nq, nv, nu) = (model.nq(), model.nv(), model.nu());
    let before = w.save();
    assert!(message(w.set_control(&[0.0; 7])).contains(&format!("has 7 numbers, needs {}", 3 * nu)));
    let short = [true; 2];
    let (q, v) = w.state();
    assert!(message(w.reset(Mask::Only(&short), 0)).contains("mask: has 2 entries for 3 worlds"));
    assert!(message(w.set_state(Mask::Only(&short), &q, &v)).contains("mask: has 2"));
    assert!(message(w.set_state(Mask::All, &q[1..], &v)).contains(&format!("q: has {} numbers", 3 * nq - 1)));
    assert!(message(w.set_state(Mask::All, &q, &[])).contains(&format!("v: has 0 numbers, needs {}", 3 * nv)));
    assert!(message(w.watch(3, true)).contains("there are 3 worlds"));
    assert!(message(w.set_contact_capacity(Some(0))).contains("contact_capacity"));
    let start = |keyframe, noise| Start { keyframe, position_noise: noise, velocity_noise: 0.0 };
    assert!(message(w.set_start(start(Some(9), 0.0))).contains("keyframe"));
    assert!(message(w.set_start(start(None, -1.0))).contains("noise"));
    assert!(message(w.set_start(start(None, f64::NAN))).contains("noise"));
    for (parameter, k, bad) in [
        (Parameter::Gravity, 3, f64::NAN),
        (Parameter::MassScale, model.bodies.len(), 0.0),
        (Parameter::MassScale, model.bodies.len(), f64::INFINITY),
        (Parameter::Friction, model.geoms.len(), -0.1),
        (Parameter::GainScale, nu, -1.0),
    ] {
        let mut values = vec![0.5; 3 * k];
        assert!(message(w.set_parameter(parameter, Mask::All, &values[1..])).contains(&format!("needs {k} for each")));
        assert!(message(w.set_parameter(parameter, Mask::Only(&short), &values)).contains("mask"));
        values[3 * k - 1] = bad;
        assert!(message(w.set_parameter(parameter, Mask::All, &values)).contains("world 2"));
    }
    assert_eq!(w.save(), before);
}

// ------------------------------------------------------------------------------------------------------------ parameters

/// Twice the mass by parameter or by density: one motion; the other worlds do not notice.
#[test]
fn mass_scale_is_a_heavier_model() {
    /// Rounding in f64 alone, passed on by contact for 60 steps.
    const TOLERANCE: f64 = 1e-8;
    let (light, heavy) =
        (example("ant"), Model::from_mjcf_str(&text("ant").replace("\"360\"", "\"720\"")).expect("a model"));
    let mut scaled = noisy(&light, 3, f64_settings());
    let mask = [true, false, true];
    scaled.set_parameter(Parameter::MassScale, Mask::Only(&mask), &vec![2.0; 3 * light.bodies.len()]).expect("masses");
    let (mut a, mut b) = (noisy(&light, 3, f64_settings()), noisy(&heavy, 3, f64_settings()));
    for worlds in [&mut scaled, &mut a, &mut b] {
        roll(worlds, 60);
    }
    let nq = light.nq();
    let (scaled, light, heavy) = (scaled.positions(), a.positions(), b.positions());
    let world = |x: &[f64], w: usize| x[w * nq..(w + 1) * nq].to_vec();
    assert_eq!(bits(&world(&scaled, 1)), bits(&world(&light, 1)));
    for w in [0, 2] {
        let error = world(&scaled, w).iter().zip(world(&heavy, w)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let effect = world(&light, w).iter().zip(world(&heavy, w)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("world {w}: {error:.1e} apart; the masses change {effect:.1e}");
        assert!(error < TOLERANCE && effect > 1e-3);
    }
}

/// Gravity and friction of one world each: free fall and sliding by their closed forms.
#[test]
fn gravity_and_friction_are_per_world() {
    /// Rounding, and a residual of 1e-10 m/s a step for 50 steps.
    const TOLERANCE: f64 = 1e-8;
    let model = cube();
    let mut w = worlds(&model, 3, f64_settings());
    let mut gravity = w.parameter(Parameter::Gravity);
    gravity[..3].copy_from_slice(&[0.0, 0.0, 1.62]);
    w.set_parameter(Parameter::Gravity, Mask::Only(&[true, false, false]), &gravity).expect("gravity");
    w.set_parameter(Parameter::Friction, Mask::Only(&[false, true, false]), &[0.2; 6]).expect("friction");
    assert_eq!(w.parameter(Parameter::Friction), [0.5, 0.5, 0.2, 0.2, 0.5, 0.5]);
    let q = w.positions();
    w.set_state(Mask::All, &q, &[3.0, 0.0, 0.0, 0.0, 0.0, 0.0].repeat(3)).expect("a state");
    w.step(50).expect("a step");
    let (q, v) = w.state();
    // z = h² g n (n + 1) / 2, v = v₀ − μ g t
    assert!((q[2] - 0.1 - 1.62 * 1e-4 * 50.0 * 51.0 / 2.0).abs() < TOLERANCE);
    for (world, friction) in [(1, 0.2), (2, 0.5)] {
        let error = v[6 * world] - (3.0 - friction * GRAVITY * 0.5);
        assert!(error.abs() < TOLERANCE, "{friction}: {error:e}");
    }
}

/// A motor of twice the gain under half the control is the same motor, to the bit; controls beyond the range count as its end.
#[test]
fn gains_scale_and_controls_are_clamped() {
    let model = example("ant");
    let mut w = noisy(&model, 4, f64_settings());
    let (q, v) = w.state();
    let same = |x: &[f64], len: usize| x[..len].repeat(4);
    w.set_state(Mask::All, &same(&q, model.nq()), &same(&v, model.nv())).expect("a state");
    let gains = vec![2.0; 4 * model.nu()];
    w.set_parameter(Parameter::GainScale, Mask::Only(&[false, true, false, false]), &gains).expect("gains");
    for step in 0..40u64 {
        let mut signs = vec![0.0; model.nu()];
        Noise::of_world(step, 1).uniform(-1.0, 1.0, &mut signs);
        for (u, sign) in signs.into_iter().map(f64::signum).enumerate() {
            for (world, size) in [1.0, 0.5, 7.0, f64::INFINITY].into_iter().enumerate() {
                w.control_mut()[world * model.nu() + u] = sign * size;
            }
        }
        w.step(1).expect("a step");
    }
    let row = model.nq() + model.nv();
    let all = bits(&w.observe());
    assert!(w.reports().iter().all(WorldReport::solved));
    for world in 1..4 {
        assert!(all[world * row..(world + 1) * row] == all[..row], "world {world}");
    }
}

/// A force as large as the weight lets a cube float; more lifts it as Newton says.
#[test]
fn outside_forces_act() {
    let mut w = worlds(&cube(), 2, f64_settings());
    (w.external_force_mut()[2], w.external_force_mut()[6 + 2]) = (GRAVITY, GRAVITY + 2.0);
    w.step(100).expect("a step");
    let z = [w.positions()[2], w.positions()[7 + 2]];
    assert!((z[0] - 0.1).abs() < 1e-9 && (z[1] - 0.1 - 2.0 * 1e-4 * 100.0 * 101.0 / 2.0).abs() < 1e-9, "{z:?}");
}

/// Every world has its own clock, and a masked reset sets it back.
#[test]
fn time_is_per_world() {
    let mut w = worlds(&cube(), 3, Settings { dt: Some(0.25), ..Settings::default() });
    w.step(3).expect("a step");
    w.reset(Mask::Only(&[false, true, false]), 0).expect("a reset");
    w.step(1).expect("a step");
    assert_eq!(w.time(), [1.0, 0.25, 1.0]);
}

/// The contacts of a watched world at rest carry its weight; a world that is not watched has no record.
#[test]
fn contacts_carry_the_weight() {
    let model = cube();
    let mut w = worlds(&model, 2, f64_settings());
    w.watch(1, true).expect("a world");
    w.step(20).expect("a step");
    assert!(w.contacts(0).is_none() && w.contacts(2).is_none());
    let contacts = w.contacts(1).expect("a record");
    assert_eq!(contacts.len(), w.reports()[1].contact_count);
    let weight: f64 = contacts.iter().map(|c| c.impulse[0]).sum::<f64>() / 0.01;
    assert!((weight - GRAVITY).abs() < 1e-7, "{weight} N");
    for contact in contacts {
        let pair = [contact.geom_a, contact.geom_b].map(|g| model.geoms[g].name.as_str());
        assert_eq!(pair, ["floor", "cube"]);
        assert!((contact.frame[0].z - 1.0).abs() < 1e-12 && contact.gap.abs() < 1e-9);
    }
    w.watch(1, false).expect("a world");
    assert!(w.contacts(1).is_none());
}

// --------------------------------------------------------------------------------------------------------------- capacity

/// An overflow is reported with the capacity that holds everything; growing to it, loading and stepping again is as if it had been there.
#[test]
fn grow_and_redo() {
    let model = example("ant");
    let mut whole = noisy(&model, 5, f64_settings());
    let mut w = noisy(&model, 5, Settings { contact_capacity: Some(2), ..f64_settings() });
    let mut grown = 0;
    for step in 0..150 {
        act(&mut whole, step);
        act(&mut w, step);
        let found: Vec<_> = whole.step(1).expect("a step").iter().map(|r| r.contact_count).collect();
        let before = w.save();
        if w.step(1).expect("a step").iter().any(|r| r.overflow) {
            for (report, &found) in w.reports().iter().zip(&found) {
                assert_eq!(report.capacity_needed, found);
                assert_eq!(report.overflow, found > report.contact_count);
                assert!(!(report.overflow && report.solved()));
            }
            w.set_contact_capacity(w.reports().iter().map(|r| r.capacity_needed).max()).expect("a capacity");
            w.load(&before).expect("a snapshot");
            assert!(w.step(1).expect("a step").iter().all(|r| !r.overflow));
            grown += 1;
        }
    }
    assert!(grown > 0 && w.settings().contact_capacity > Some(2), "no overflow: nothing tested");
    assert_eq!(bits(&w.observe()), bits(&whole.observe()));
}

/// A body on forty spheres: where it lies, its block is large and kept as a factor, with Newton through its six velocities; where it flies it has none. Both
/// move as they would alone.
#[test]
fn large_blocks_of_one_body_are_solved_beside_small_ones() {
    let sphere = |i: u32| {
        let (x, y) = (0.1 * f64::from(i % 8), 0.1 * f64::from(i / 8));
        format!("<geom type='sphere' size='0.02' pos='{x} {y} 0' mass='0.1'/>")
    };
    let spheres: String = (0..40).map(sphere).collect();
    let world = format!("<geom type='plane' size='5 5 1'/><body pos='0 0 0.02'><freejoint/>{spheres}</body>");
    let model = Model::from_mjcf_str(&format!("<mujoco><worldbody>{world}</worldbody></mujoco>")).expect("a model");
    let start = |i: usize| {
        // lying and pushed, tilted onto a corner, flying
        let (height, tilt) = [(0.02, 0.0), (0.1, 0.1), (1.0, 0.3)][i % 3];
        let q = [0.0, 0.0, height, f64::cos(tilt / 2.0), f64::sin(tilt / 2.0), 0.0, 0.0];
        (q, [1.0 + 0.1 * i as f64, 0.5, 0.0, 0.0, 0.0, 2.0])
    };
    let roll = |which: &[usize]| {
        let mut w =
            worlds(&model, which.len(), Settings { backend: Backend::Cpu, fallback: false, ..Settings::default() });
        let (q, v): (Vec<_>, Vec<_>) = which.iter().map(|i| start(*i)).unzip();
        w.set_state(Mask::All, &q.concat(), &v.concat()).expect("a state");
        let mut most = 0;
        for _ in 0..100 {
            let reports = w.step(1).expect("a step");
            assert!(reports.iter().all(WorldReport::solved), "{reports:?}");
            most = most.max(reports.iter().map(|r| r.row_count).max().unwrap_or(0));
        }
        let row = model.nq() + model.nv();
        (w.observe().chunks(row).map(bits).collect::<Vec<_>>(), most)
    };
    let (together, most) = roll(&(0..20).collect::<Vec<_>>());
    assert!(most >= 100, "{most} rows: nothing tested");
    for i in 0..20 {
        assert_eq!(roll(&[i]).0[0], together[i], "world {i}");
    }
}

// ------------------------------------------------------------------------------------------------------------ certificates

/// Steps once and compares every certificate with the residual of the problem as posed; returns the reports.
fn certified(w: &mut Worlds, rounding: f64) -> Vec<WorldReport> {
    let worst = Mutex::new(vec![0.0f64; w.world_count()]);
    let see = |record: &BlockRecord<'_>| {
        let residual = natural_map_residual(record.problem, record.impulse);
        // The pass of the solver sums in another order; that may differ by its floor, which is of the size of the terms.
        let size = record.problem.bias.amax() + (record.problem.delassus.abs() * record.impulse.abs()).amax();
        let error = (residual - record.residual).abs();
        assert!(error <= rounding * size, "{}: {residual:e}, certified {:e}", record.problem.name, record.residual);
        let mut worst = worst.lock().expect("a lock");
        worst[record.world] = worst[record.world].max(record.residual);
    };
    let reports = w.step_inspected(1, Some(&see)).expect("a step").to_vec();
    for (report, worst) in reports.iter().zip(worst.into_inner().expect("a lock")) {
        assert_eq!(report.residual, worst);
    }
    reports
}

/// The certificates of every block are what `lcp::natural_map_residual` says, solved or not; the report has the worst.
#[test]
fn certificates_are_honest() {
    for (precision, epsilon) in [(Precision::F32, f64::from(f32::EPSILON)), (Precision::F64, f64::EPSILON)] {
        for (name, iterations, fallback) in
            [("quadruped", 200, true), ("quadruped", 1, false), ("quadruped", 1, true), ("boxes", 3, false)]
        {
            let settings = Settings {
                precision,
                iterations,
                check_every: 1,
                fallback,
                algorithm: Algorithm::Pgs,
                backend: Backend::Cpu,
                ..Settings::default()
            };
            let tolerance = settings.tolerance();
            let mut w = noisy(&example(name), 6, settings);
            let (mut unsolved, mut repaired) = (0, 0);
            for step in 0..60 {
                act(&mut w, step);
                for report in certified(&mut w, 16.0 * epsilon) {
                    let met = report.residual <= tolerance.max(report.floor.min(10.0 * tolerance));
                    assert_eq!(report.status == WorldStatus::Solved, met, "{report:?}");
                    assert!(fallback || !report.fallback);
                    unsolved += usize::from(!met);
                    repaired += usize::from(report.fallback);
                }
            }
            println!(
                "{name} {precision:?}, {iterations} sweeps, fallback {fallback}: {unsolved} unsolved, {repaired} repaired of 360"
            );
            assert_eq!(unsolved == 0, fallback, "fallback repairs everything, one sweep does not");
            assert!(iterations > 1 || repaired > 0 || !fallback);
        }
    }
}

/// From the same state, one sweep and the exact solver make the step that many sweeps make.
#[test]
fn fallback_moves_as_many_sweeps_do() {
    /// Both answer every problem to 1e-10 m/s.
    const UNIQUE: f64 = 1e-7;
    /// A flat foot on its four corners is redundant, and Coulomb's law then has more than one exact answer: from one state two that leave
    /// residuals of 1e-14 m/s were seen 2e-5 m apart. Such steps are rare; any fault of a solver would show in all.
    const REDUNDANT: usize = 2;
    /// Sweeps alone need not come to an end where there is friction: of the 240 problems of the ant one turns in a circle at 4e-5 m/s, one is at 7e-8 m/s after
    /// all sweeps. The exact solver answers both; there is nothing to compare it with.
    const UNSWEPT: usize = 2;
    // Not hopper and humanoid, some of whose blocks sweeps do not bring to 1e-10 m/s at all.
    for (name, most) in [("ant", 0), ("quadruped", 0), ("biped", REDUNDANT)] {
        let model = example(name);
        let many = Settings { algorithm: Algorithm::Pgs, fallback: false, iterations: 20_000, ..f64_settings() };
        let mut exact = noisy(&model, 4, Settings { fallback: true, iterations: 1, ..many.clone() });
        let mut swept = noisy(&model, 4, many);
        let (mut repaired, mut unswept, mut apart) = (0, 0, 0);
        for step in 0..60 {
            swept.load(&exact.save()).expect("the same worlds");
            act(&mut exact, step);
            act(&mut swept, step);
            let reports = exact.step(1).expect("a step");
            assert!(reports.iter().all(WorldReport::solved), "{name}: {reports:?}");
            repaired += reports.iter().filter(|r| r.fallback).count();
            let reports = swept.step(1).expect("a step");
            assert!(reports.iter().all(|r| !r.fallback), "{name}: {reports:?}");
            let solved: Vec<bool> = reports.iter().map(WorldReport::solved).collect();
            unswept += solved.iter().filter(|solved| !**solved).count();
            let observed = [exact.observe(), swept.observe()];
            let differs = |(a, b): (&[f64], &[f64])| a.iter().zip(b).any(|(a, b)| (a - b).abs() > UNIQUE);
            let size = observed[0].len() / 4;
            let pairs = observed[0].chunks(size).zip(observed[1].chunks(size)).zip(solved);
            apart += pairs.filter(|&(pair, solved)| solved && differs(pair)).count();
        }
        println!(
            "{name}: {repaired} repairs of 240 steps, {apart} of another answer, {unswept} that sweeps do not solve"
        );
        assert!(apart <= most && unswept <= UNSWEPT && repaired > 20, "{name}");
    }
}

/// Large blocks of a pile are kept as the factor of W and solved through velocities; `--solver pgs` keeps all of W. Both pose the same problems,
/// and what is certified of the first is what `lcp::natural_map_residual` says of its W, entry by entry.
#[test]
fn both_forms_of_a_large_block_are_one_problem() {
    /// Largest residual of the blocks that the last step leaves, m/s; there are others on the way: README, "What does not work yet".
    const WEDGED: f64 = 3e-8;
    /// One in fifty of 4000; 50 were seen.
    const MOST_UNSOLVED: u32 = 80;
    let model = example("boxes");
    // sweeps leave nearly all of these to the exact solver: it gets the time that it needs; what is posed within a tenth of the reach fills large blocks where that is ten times as far
    let settings = |algorithm| Settings {
        precision: Precision::F64,
        backend: Backend::Cpu,
        algorithm,
        contact_speed: 10.0,
        exact_work: 10_000_000_000,
        ..Settings::default()
    };
    let mut factored = noisy(&model, 20, settings(Algorithm::Auto));
    let mut dense = noisy(&model, 20, settings(Algorithm::Pgs));
    // a rare block that friction wedges stays above the tolerance of f64, for some steps in a row, and the report says so: of all steps on the way no more than this share
    let unsolved: u32 = factored.step(200).expect("steps").iter().map(|report| report.unsolved_steps).sum();
    println!("{unsolved} of 4000 world-steps are not solved");
    assert!(unsolved <= MOST_UNSOLVED, "{unsolved}");
    let (q, v) = factored.state();
    dense.set_state(Mask::All, &q, &v).expect("a state");
    let [of_factors, of_matrices] = [&mut factored, &mut dense].map(|w| {
        let problems = Mutex::new(Vec::new());
        let see = |record: &BlockRecord<'_>| {
            let residual = natural_map_residual(record.problem, record.impulse);
            // rounding of velocities of some 10 m/s, summed in another order
            assert!((residual - record.residual).abs() < 1e-11, "{residual:e}, certified {:e}", record.residual);
            problems.lock().expect("a lock").push(record.problem.clone());
        };
        // the tolerance of f64 is 1e-10 m/s
        let reports = w.step_inspected(1, Some(&see)).expect("a step");
        let unsolved: Vec<_> = reports.iter().filter(|report| !report.solved()).collect();
        let bound = |report: &WorldReport| if report.solved() { 1e-9 } else { WEDGED };
        assert!(reports.iter().all(|report| report.residual < bound(report)), "unsolved: {unsolved:?}");
        let mut problems = problems.into_inner().expect("a lock");
        problems.sort_by(|a, b| a.name.cmp(&b.name));
        problems
    });
    assert_eq!(of_factors.len(), of_matrices.len());
    let mut large = 0;
    for (a, b) in of_factors.iter().zip(&of_matrices) {
        assert_eq!((&a.name, &a.laws), (&b.name, &b.laws));
        // what a position problem asks for may have given way in one of the two
        if !a.name.ends_with("position") {
            assert_eq!(a.bias, b.bias, "{}", a.name);
        }
        let difference = (&a.delassus - &b.delassus).amax();
        assert!(difference <= 1e-14 * a.delassus.amax(), "{}: {difference:e}", a.name);
        large += usize::from(a.bias.len() >= 48);
    }
    println!("{large} of {} blocks have 48 rows and more", of_factors.len());
    assert!(large >= 10, "{large}");
}
