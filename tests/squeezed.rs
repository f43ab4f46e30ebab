//! Worlds that are squeezed: overlaps that cannot all be pushed out at once. The velocity problem always has an answer; the push-out gives way, makes no
//! energy, and says how much of it was denied.

use delassus::solver::FrictionLaw;
use delassus::worlds::{Parameter, Start};
use delassus::{Mask, Model, Precision, Settings, WorldReport, WorldStatus, Worlds};

/// Kinetic energy ½ vᵀ M v of every world, J.
fn kinetic_energy(worlds: &Worlds) -> Vec<f64> {
    let model = worlds.model();
    let (q, v) = worlds.state();
    q.chunks(model.nq())
        .zip(v.chunks(model.nv()))
        .map(|(q, v)| delassus::query::state_query(model, q, v).expect("a finite state").kinetic_energy)
        .collect()
}

fn both() -> [Settings; 2] {
    [Precision::F32, Precision::F64].map(|precision| Settings { precision, ..Settings::default() })
}

/// The rule of the certificate: the tolerance, or a floor of at most ten times that.
fn assert_certified(report: &WorldReport, tolerance: f64, place: &str) {
    let goal = tolerance.max(report.floor.min(10.0 * tolerance));
    assert!(report.solved() && report.residual <= 1.001 * goal, "{place}: {report:?}");
}

/// A ball, or a box, between two walls that are nearer to each other than it is wide. No gravity: nothing may ever move by itself.
fn vice(geom: &str, distance: f64) -> Model {
    let wall = 0.5 * distance + 0.1;
    Model::from_mjcf_str(&format!(
        r#"<mujoco><option gravity="0 0 0" timestep="0.002"/><worldbody>
             <geom type="box" size="0.1 1 1" pos="-{wall} 0 0"/>
             <geom type="box" size="0.1 1 1" pos="{wall} 0 0"/>
             <body><freejoint/>{geom}</body>
           </worldbody></mujoco>"#
    ))
    .expect("a model")
}

#[test]
fn a_body_in_a_vice_stays_at_rest() {
    for settings in both() {
        for (geom, width) in
            [(r#"<geom type="sphere" size="0.1"/>"#, 0.2), (r#"<geom type="box" size="0.1 0.1 0.1"/>"#, 0.2)]
        {
            for depth in [1e-4, 0.01, 0.05] {
                let model = vice(geom, width - depth);
                let mut worlds = Worlds::new(&model, 1, settings.clone()).expect("worlds");
                for _ in 0..100 {
                    let report = worlds.step(1).expect("a step")[0];
                    assert!(report.solved() && !report.failed(), "{geom} {depth}: {report:?}");
                    assert!(report.push_denied > 0.0, "{geom} {depth}: {report:?}");
                    let energy = kinetic_energy(&worlds)[0];
                    assert!(energy < 1e-12, "{geom} {depth}: {energy} J");
                }
                let q = worlds.positions();
                assert!(q[..3].iter().all(|x| x.abs() < 1e-3), "{geom} {depth}: {q:?}");
            }
        }
    }
}

/// Robots thrown into random poses: limbs inside each other and beyond their limits, feet under the floor. Without gravity and springs they stay at rest, while
/// the overlaps go as far as they can.
#[test]
fn random_overlap_makes_no_energy() {
    for name in ["ant", "humanoid", "quadruped", "biped", "hopper", "boxes", "spheres"] {
        let mut model = Model::from_mjcf_file(format!("{}/examples/models/{name}.xml", env!("CARGO_MANIFEST_DIR")))
            .expect("a model");
        model.gravity = [0.0; 3].into();
        for joint in &mut model.joints {
            joint.stiffness = 0.0;
        }
        for (settings, position_noise) in both().into_iter().flat_map(|s| [(s.clone(), 0.2), (s, 1.0)]) {
            let tolerance = settings.tolerance();
            let count = if settings.precision == Precision::F32 { 48 } else { 16 };
            let mut worlds = Worlds::new(&model, count, settings).expect("worlds");
            worlds.set_start(Start { keyframe: None, position_noise, velocity_noise: 0.0 }).expect("a start");
            worlds.reset(Mask::All, 7).expect("a reset");
            let no_gain = vec![0.0; count * model.nu()];
            worlds.set_parameter(Parameter::GainScale, Mask::All, &no_gain).expect("a gain");
            let mut denied = 0;
            for step in 0..40 {
                for (world, report) in worlds.step(1).expect("a step").iter().enumerate() {
                    assert_certified(report, tolerance, &format!("{name}, world {world}, step {step}"));
                    denied += usize::from(report.push_denied > 0.0);
                }
                for (world, energy) in kinetic_energy(&worlds).into_iter().enumerate() {
                    assert!(energy < 1e-8, "{name}, world {world}, step {step}: {energy} J");
                }
            }
            eprintln!("{name}, noise {position_noise}: push-out denied in {denied} of {} world-steps", 40 * count);
        }
    }
}

/// Numbers at the edge of f32: squares of the impulses of a ball of 1e-30 kg underflow, and of one of 1e-40 kg W overflows. The first is solved, the second
/// stepped again in f64, and neither moves.
#[test]
fn what_f32_cannot_hold_is_stepped_in_f64() {
    for (mass, redone) in [("1e-30", false), ("1e-40", true)] {
        let model = Model::from_mjcf_str(&format!(
            r#"<mujoco><worldbody><geom type="plane" size="1 1 1"/>
             <body pos="0 0 10"><freejoint/><geom type="sphere" size="10" mass="{mass}"/></body>
           </worldbody></mujoco>"#
        ))
        .expect("a model");
        let mut worlds = Worlds::new(&model, 3, Settings::default()).expect("worlds");
        for _ in 0..20 {
            for report in worlds.step(1).expect("a step") {
                assert!(report.solved() && report.redone == redone, "{mass} kg: {report:?}");
            }
        }
        assert!((worlds.positions()[2] - 10.0).abs() < 1e-5, "{:?}", worlds.positions());
    }
}

/// A problem that nobody solves is not called solved, and a world that stays so has failed: a reset frees it.
#[test]
fn a_world_that_stays_unsolved_has_failed() {
    let text = |contents: &str| {
        format!(r#"<mujoco><worldbody><geom type="plane" size="1 1 1"/>{contents}</worldbody></mujoco>"#)
    };
    let boxes = [1, 10, 100, 1000, 10_000, 100_000].map(|density| {
        let z = 0.1 + 0.2 * f64::from(density).log10();
        format!(r#"<body pos="0 0 {z}"><freejoint/><geom type="box" size="0.1 0.1 0.1" density="{density}"/></body>"#)
    });
    let model = Model::from_mjcf_str(&text(&boxes.concat())).expect("a model");
    // two sweeps and nobody to help
    let settings =
        Settings { iterations: 2, fallback: false, algorithm: delassus::solver::Algorithm::Pgs, ..Settings::default() };
    let mut worlds = Worlds::new(&model, 1, settings).expect("worlds");
    for step in 1..=12u32 {
        let report = worlds.step(1).expect("a step")[0];
        assert_eq!((report.status, report.unsolved_steps), (WorldStatus::IterationLimit, 1), "{report:?}");
        assert_eq!((report.unsolved_in_a_row, report.failed()), (step, step >= 10), "{report:?}");
    }
    worlds.reset(Mask::All, 0).expect("a reset");
    let report = worlds.step(5).expect("a step")[0];
    assert_eq!((report.unsolved_steps, report.unsolved_in_a_row, report.failed()), (5, 5, false), "{report:?}");
}

/// A velocity that no machine has.
#[test]
fn a_world_that_explodes_has_failed() {
    let model =
        Model::from_mjcf_str(r#"<mujoco><worldbody><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"#)
            .expect("a model");
    let mut worlds = Worlds::new(&model, 2, Settings::default()).expect("worlds");
    let (q, mut v) = worlds.state();
    v[6 + 1] = 2e4;
    worlds.set_state(Mask::All, &q, &v).expect("a state");
    let status: Vec<_> = worlds.step(1).expect("a step").iter().map(|r| (r.status, r.failed())).collect();
    assert_eq!(status, [(WorldStatus::Solved, false), (WorldStatus::Exploded, true)]);
}

/// A robot that stands on four feet with its legs at their limits: sixteen constraints on fourteen degrees of freedom, so its feet pull against each other as long as none slips.
fn star() -> Model {
    let leg = |turn: f64| {
        format!(
            r#"<body euler="0 0 {turn}"><geom type="capsule" fromto="0 0 0 .25 0 0" size=".06"/>
                 <body pos=".25 0 0"><joint axis="0 0 1" range="-30 30"/><geom type="capsule" fromto="0 0 0 .25 0 0" size=".06"/>
                   <body pos=".25 0 0"><joint axis="0 1 0" range="30 70"/><geom type="capsule" fromto="0 0 0 .5 0 0" size=".06"/></body>
                 </body>
               </body>"#
        )
    };
    let legs: String = [45.0, 135.0, 225.0, 315.0].map(leg).concat();
    Model::from_mjcf_str(&format!(
        r#"<mujoco><compiler angle="degree"/><option timestep="0.01"/>
             <default><joint armature="1" damping="1" limited="true"/><geom density="5" conaffinity="0"/></default>
             <worldbody><geom type="plane" size="5 5 1" conaffinity="1"/>
               <body pos="0 0 .6"><freejoint/><geom type="sphere" size=".2"/>{legs}</body>
             </worldbody></mujoco>"#
    ))
    .expect("a model")
}

#[test]
fn feet_that_pull_against_each_other_seldom_ask_the_exact_solver() {
    let (count, steps) = (32, 50);
    for friction in [FrictionLaw::Cone, FrictionLaw::Patch] {
        let settings = Settings { precision: Precision::F64, friction, ..Settings::default() };
        let mut worlds = Worlds::new(&star(), count, settings).expect("worlds");
        worlds.set_start(Start { keyframe: None, position_noise: 0.02, velocity_noise: 0.02 }).expect("a start");
        worlds.reset(Mask::All, 0).expect("a reset");
        for _ in 0..150 {
            worlds.step(1).expect("a step");
        }
        let mut asked = 0;
        for _ in 0..steps {
            for report in worlds.step(1).expect("a step") {
                assert_certified(report, 1e-10, "a star at rest");
                asked += usize::from(report.fallback);
            }
        }
        // one world-step in a hundred; steps of Newton that lower the merit leave five to nine of points, and forty of patches
        assert!(asked < count * steps / 100, "{friction:?}: {asked} of {} world-steps", count * steps);
    }
}
