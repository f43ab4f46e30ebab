//! Patches in the engine: the scenarios of `shared/data/patch` as models, closed forms, stacks, and what every row kind must keep (isolation, snapshots, errors).

mod common;
#[path = "common/patch.rs"]
#[allow(dead_code, reason = "every test binary uses its own part")]
mod patch;

use common::data;
use delassus::ecp::{Shape as EcpShape, State};
use delassus::model::{Geom, Joint, JointKind, Model, ModelBuilder, Shape, solid_inertia};
use delassus::solver::{Algorithm, FrictionLaw};
use delassus::worlds::{Start, WorldStatus};
use delassus::{Backend, Mask, Precision, Settings, Worlds};
use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};
use patch::Scenario;

const G: f64 = 9.8;

fn settings(dt: f64) -> Settings {
    let (precision, backend) = (Precision::F64, Backend::Cpu);
    Settings { precision, backend, dt: Some(dt), friction: FrictionLaw::Patch, ..Settings::default() }
}

fn floor(builder: &mut ModelBuilder, friction: f64) {
    let mut geom = Geom::new(0, Shape::Plane);
    geom.friction[0] = friction;
    builder.add_geom(geom);
}

/// A free homogeneous body at `position`; returns its geom.
fn add_free(builder: &mut ModelBuilder, position: [f64; 3], shape: Shape, mass: f64, friction: f64) -> usize {
    let body = builder.add_body("", 0, position);
    builder.add_joint(Joint::new(body, JointKind::Free));
    let (volume, com, inertia) = solid_inertia(&shape).unwrap();
    builder.set_inertia(body, mass, com.into(), inertia * (mass / volume));
    let mut geom = Geom::new(body, shape);
    geom.friction[0] = friction;
    builder.add_geom(geom)
}

fn one_on_floor(shape: Shape, height: f64, mass: f64, friction: f64) -> Model {
    one_on(Shape::Plane, 0.0, shape, height, mass, friction)
}

/// A free body over something fixed, whose centre is `depth` below z = 0.
fn one_on(base: Shape, depth: f64, shape: Shape, height: f64, mass: f64, friction: f64) -> Model {
    let mut builder = ModelBuilder::new("one");
    builder.gravity([0.0, 0.0, -G]);
    let mut geom = Geom::new(0, base);
    geom.position.z = -depth;
    geom.friction[0] = friction;
    builder.add_geom(geom);
    add_free(&mut builder, [0.0, 0.0, height], shape, mass, friction);
    builder.build().unwrap()
}

fn orientation(q: &[f64]) -> UnitQuaternion<f64> {
    UnitQuaternion::from_quaternion(Quaternion::new(q[3], q[4], q[5], q[6]))
}

/// One step; all must be solved.
fn step(worlds: &mut Worlds, what: &str) {
    for (w, report) in worlds.step(1).unwrap().iter().enumerate() {
        assert!(report.status == WorldStatus::Solved, "{what}, world {w}: {report:?}");
    }
}

fn scenario_model(scenario: &Scenario) -> Model {
    let stepper = &scenario.stepper;
    let mut builder = ModelBuilder::new(scenario.name.clone());
    builder.gravity(stepper.gravity.into());
    floor(&mut builder, stepper.ground.friction);
    let body = builder.add_body("body", 0, [0.0; 3]);
    builder.add_joint(Joint::new(body, JointKind::Free));
    let inertia = Matrix3::from_diagonal(&Vector3::from(stepper.body.inertia));
    builder.set_inertia(body, stepper.body.mass, [0.0; 3], inertia);
    let mut geom = Geom::new(
        body,
        match stepper.body.shape {
            EcpShape::Box { half } => Shape::Box { half: half.into() },
            EcpShape::Cylinder { radius, half_length } => Shape::Cylinder { radius, half_length },
            EcpShape::Sphere { radius } => Shape::Sphere { radius },
        },
    );
    geom.friction[0] = stepper.ground.friction;
    geom.ellipsoid = Some(stepper.ground.ellipsoid);
    builder.add_geom(geom);
    builder.build().unwrap()
}

fn state_of(worlds: &Worlds) -> State {
    let (q, v) = worlds.state();
    let orientation = orientation(&q);
    State {
        position: Vector3::new(q[0], q[1], q[2]),
        orientation,
        velocity: Vector3::new(v[0], v[1], v[2]),
        angular_velocity: orientation * Vector3::new(v[3], v[4], v[5]),
    }
}

#[test]
fn the_scenarios_of_the_data_are_within_first_order() {
    let Some(folder) = data() else { return };
    // One law asks whether spin has stopped, to 1e-9 rad/s. A push-out turns a body a little otherwise than its velocity says, so that here it has not, quite.
    let runs = |scenario: &Scenario| scenario.file["applied"]["law"] != "kick_when_spin_stops";
    let mut failed = Vec::new();
    for scenario in Scenario::all(&folder).into_iter().filter(runs) {
        let (name, stepper) = (&scenario.name, &scenario.stepper);
        let sharp = Settings { tolerance: Some(1e-13), ..settings(stepper.dt) };
        let mut worlds = Worlds::new(&scenario_model(&scenario), 1, sharp).unwrap();
        let State { position, orientation, velocity, angular_velocity } = scenario.start;
        let o = orientation.quaternion();
        let spin = orientation.inverse() * angular_velocity;
        worlds
            .set_state(
                Mask::All,
                &[position.x, position.y, position.z, o.w, o.i, o.j, o.k],
                &[velocity.x, velocity.y, velocity.z, spin.x, spin.y, spin.z],
            )
            .unwrap();
        let (mut worst, mut share) = ([0.0f64; 4], 0.0f64);
        for k in 0..scenario.steps {
            let now = state_of(&worlds);
            let applied = scenario.applied(k, &now) / stepper.dt;
            let moment = now.orientation.inverse() * Vector3::new(applied[3], applied[4], applied[5]);
            let force = [applied[0], applied[1], applied[2], moment.x, moment.y, moment.z];
            worlds.external_force_mut().copy_from_slice(&force);
            step(&mut worlds, &format!("{name} {k}"));
            let Some(i) = scenario.recorded(k) else { continue };
            let (off, allowed) = (scenario.distance(i, &state_of(&worlds)), scenario.first_order(i));
            let each = [(off.x, allowed.x), (off.v, allowed.v), (off.w, allowed.w), (off.angle, allowed.angle)];
            for (worst, (off, allowed)) in worst.iter_mut().zip(each) {
                *worst = worst.max(off);
                share = share.max(off / allowed);
            }
        }
        let [x, v, w, angle] = worst;
        println!(
            "{name}: off by {x:.1e} m, {v:.1e} m/s, {w:.1e} rad/s, {angle:.1e} rad, {share:.2} of what is allowed"
        );
        if share > 1.0 {
            failed.push(name.clone());
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// Spin deceleration of a plate or disc that spins about its centre, in units of μ m g/I: its lever, m.
fn lever(shape: Shape, height: f64, law: FrictionLaw, precision: Precision) -> f64 {
    lever_on((Shape::Plane, 0.0), shape, height, law, precision)
}

fn lever_on(base: (Shape, f64), shape: Shape, height: f64, law: FrictionLaw, precision: Precision) -> f64 {
    lever_with(Settings { friction: law, precision, ..settings(0.01) }, base, shape, height).unwrap()
}

fn lever_with(settings: Settings, (base, depth): (Shape, f64), shape: Shape, height: f64) -> delassus::Result<f64> {
    let (mass, friction, dt) = (2.0, 0.4, settings.dt.unwrap());
    let model = one_on(base, depth, shape, height, mass, friction);
    let inertia = model.bodies[1].inertia[(2, 2)];
    let mut worlds = Worlds::new(&model, 1, settings)?;
    worlds.set_state(Mask::All, &model.q0, &[0.0, 0.0, 0.0, 0.0, 0.0, 20.0]).unwrap();
    let count = 50;
    for _ in 0..count {
        step(&mut worlds, "spin");
    }
    let v = worlds.velocities();
    assert!(v[..3].iter().all(|v| v.abs() < 1e-5), "{v:?}");
    Ok((20.0 - v[5]) / (f64::from(count) * dt) * inertia / (friction * mass * G))
}

#[test]
fn spin_slows_as_uniform_pressure_says() {
    let plate = Shape::Box { half: Vector3::new(0.5, 0.5, 0.1) };
    let long = Shape::Box { half: Vector3::new(0.5, 0.1, 0.1) };
    let disc = Shape::Cylinder { radius: 0.5, half_length: 0.1 };
    // the mean distance of points from their centre, by the midpoint rule
    let mean = |a: f64, b: f64| {
        let n = 1000;
        let x = |i: usize| (i as f64 + 0.5) / n as f64 - 0.5;
        (0..n).flat_map(|i| (0..n).map(move |j| (a * x(i)).hypot(b * x(j)))).sum::<f64>() / (n * n) as f64
    };
    for precision in [Precision::F64, Precision::F32] {
        for (shape, expected) in
            [(plate.clone(), mean(1.0, 1.0)), (long.clone(), mean(1.0, 0.2)), (disc.clone(), 2.0 / 3.0 * 0.5)]
        {
            let found = lever(shape, 0.1, FrictionLaw::Patch, precision);
            println!("{precision:?}: lever {found}, {expected} by uniform pressure");
            assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
        }
    }
    // four points at the corners: half a diagonal
    let points = lever(plate, 0.1, FrictionLaw::Cone, Precision::F64);
    assert!((points - 0.5f64.sqrt()).abs() < 1e-3, "{points}");
}

/// What a cylinder stands on as on a plane: a face of a box, whichever way it is turned, and the end of a wider cylinder; and how far their centres are below.
fn flat_bases() -> [(Shape, f64); 3] {
    let cuboid = Shape::Box { half: Vector3::new(0.7, 0.8, 0.3) };
    [(Shape::Plane, 0.0), (cuboid, 0.3), (Shape::Cylinder { radius: 0.7, half_length: 0.2 }, 0.2)]
}

#[test]
fn a_disc_is_one_on_whatever_is_flat() {
    let disc = Shape::Cylinder { radius: 0.5, half_length: 0.1 };
    for precision in [Precision::F64, Precision::F32] {
        for base in flat_bases() {
            let found = lever_on(base.clone(), disc.clone(), 0.1, FrictionLaw::Patch, precision);
            println!("{precision:?}, {base:?}: lever {found}");
            assert!((found / (2.0 / 3.0 * 0.5) - 1.0).abs() < 1e-3, "{base:?}: {found}");
        }
        // the narrower of two cylinders has the disc, whichever is the first geom; what is wider than the face beneath it has none, and no torsion of a disc
        let narrow = (Shape::Cylinder { radius: 0.3, half_length: 0.2 }, 0.2);
        let found = lever_on(narrow, disc.clone(), 0.1, FrictionLaw::Patch, precision);
        assert!((found / (2.0 / 3.0 * 0.3) - 1.0).abs() < 1e-3, "on a narrower one: {found}");
        let small = (Shape::Box { half: Vector3::new(0.3, 0.3, 0.1) }, 0.1);
        let found = lever_on(small, disc.clone(), 0.1, FrictionLaw::Patch, precision);
        assert!((found / (0.3826 * 0.6) - 1.0).abs() < 0.01, "on a small box: {found}");
    }
}

/// A face, and a disc on a plane and on a box, swept by a device.
#[cfg(feature = "gpu")]
#[test]
fn spin_slows_as_uniform_pressure_says_on_a_device_too() {
    let plate = Shape::Box { half: Vector3::new(0.5, 0.5, 0.1) };
    let disc = Shape::Cylinder { radius: 0.5, half_length: 0.1 };
    let [plane, cuboid, _] = flat_bases();
    // of a square of side 1: (√2 + asinh 1)/6
    let square = (2.0f64.sqrt() + 1.0f64.asinh()) / 6.0;
    for (base, shape, expected) in
        [(plane.clone(), plate, square), (plane, disc.clone(), 2.0 / 3.0 * 0.5), (cuboid, disc, 2.0 / 3.0 * 0.5)]
    {
        let settings = Settings { precision: Precision::F32, backend: Backend::Hybrid, ..settings(0.01) };
        let found = match lever_with(settings, base, shape, 0.1) {
            Ok(found) => found,
            Err(error) => return common::no_adapter(&error),
        };
        println!("lever {found}, {expected} by uniform pressure");
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    }
}

/// How far a body tilts, rad, under `share` of the force at its centre that tips it, along `heading`.
fn tilt(base: (Shape, f64), shape: Shape, half_height: f64, radius: f64, heading: f64, share: f64) -> f64 {
    let mass = 3.0;
    let model = one_on(base.0, base.1, shape, half_height, mass, 5.0);
    let mut worlds = Worlds::new(&model, 1, settings(0.01)).unwrap();
    // F z = m g r
    let force = share * mass * G * radius / half_height;
    worlds.external_force_mut()[..2].copy_from_slice(&[force * heading.cos(), force * heading.sin()]);
    for _ in 0..100 {
        step(&mut worlds, "tipping");
    }
    let up = orientation(&worlds.positions()) * Vector3::z();
    up.x.hypot(up.y).asin()
}

#[test]
fn boxes_and_cylinders_tip_at_the_exact_force() {
    let cuboid = Shape::Box { half: Vector3::new(0.5, 0.5, 1.0) };
    let cylinder = Shape::Cylinder { radius: 0.2, half_length: 0.3 };
    let quarter = std::f64::consts::FRAC_PI_2;
    let turned: Vec<f64> = (0..7).map(|k| 0.3 * f64::from(k)).collect();
    let on_plane = (Shape::Plane, 0.0);
    let mut cases = vec![(on_plane, cuboid, 1.0, 0.5, vec![0.0, quarter])];
    cases.extend(flat_bases().map(|base| (base, cylinder.clone(), 0.3, 0.2, turned.clone())));
    for (base, shape, half, radius, headings) in cases {
        for heading in headings {
            let stays = tilt(base.clone(), shape.clone(), half, radius, heading, 0.999);
            let tips = tilt(base.clone(), shape.clone(), half, radius, heading, 1.001);
            println!("{base:?}, heading {heading:.1}: {stays:.1e} rad at 0.999, {tips:.1e} rad at 1.001");
            assert!(stays < 1e-9 && tips > 1e-4, "{base:?}, {heading}: {stays} {tips}");
        }
    }
}

/// A stack of boxes, the uppermost `top` times as heavy as the others.
fn stack(count: usize, top: f64) -> Model {
    let mut builder = ModelBuilder::new("stack");
    builder.gravity([0.0, 0.0, -G]);
    floor(&mut builder, 0.8);
    for k in 0..count {
        let mass = if k + 1 == count { top } else { 1.0 };
        let shape = Shape::Box { half: Vector3::new(0.2, 0.2, 0.1) };
        add_free(&mut builder, [0.01 * (k % 2) as f64, 0.0, 0.1 + 0.2 * k as f64], shape, mass, 0.8);
    }
    builder.build().unwrap()
}

#[test]
fn stacks_stand_and_every_step_is_solved() {
    for (count, top) in [(4, 1.0), (8, 1.0), (8, 100.0)] {
        let model = stack(count, top);
        for precision in [Precision::F64, Precision::F32] {
            for law in [FrictionLaw::Patch, FrictionLaw::Cone] {
                let settings = Settings { precision, friction: law, ..settings(0.005) };
                let mut worlds = Worlds::new(&model, 1, settings).unwrap();
                let (mut sweeps, mut newton, mut fallback, mut residual, mut unsolved) = (0, 0, 0, 0.0f64, 0);
                for _ in 0..100 {
                    let report = worlds.step(1).unwrap()[0];
                    unsolved += u32::from(report.status != WorldStatus::Solved);
                    (sweeps, newton) = (sweeps + report.sweeps, newton + report.newton_steps);
                    fallback += u32::from(report.fallback || report.redone);
                    residual = residual.max(report.residual);
                }
                let q = worlds.positions();
                println!(
                    "{count} boxes, top {top}, {precision:?}, {law:?}: {sweeps} sweeps, {newton} Newton steps, {fallback} steps by the \
                     exact solver, {unsolved} unsolved, residual {residual:.1e}"
                );
                if law == FrictionLaw::Patch {
                    assert_eq!(unsolved, 0);
                    for k in 0..count {
                        assert!(
                            (q[7 * k] - model.q0[7 * k]).abs() < 1e-3
                                && (q[7 * k + 2] - model.q0[7 * k + 2]).abs() < 1e-3
                        );
                    }
                }
            }
        }
    }
}

/// A box, a cylinder and a ball over the floor, thrown.
fn mixed() -> Model {
    let mut builder = ModelBuilder::new("mixed");
    builder.gravity([0.0, 0.0, -G]);
    floor(&mut builder, 0.6);
    let half = Vector3::new(0.2, 0.15, 0.1);
    add_free(&mut builder, [0.0, 0.0, 0.1], Shape::Box { half }, 1.0, 0.6);
    add_free(&mut builder, [0.05, 0.0, 0.35], Shape::Cylinder { radius: 0.1, half_length: 0.15 }, 0.7, 0.5);
    add_free(&mut builder, [-0.1, 0.05, 0.32], Shape::Sphere { radius: 0.1 }, 0.5, 0.7);
    add_free(&mut builder, [0.0, 0.4, 0.1], Shape::Capsule { radius: 0.1, half_length: 0.2 }, 0.5, 0.7);
    builder.build().unwrap()
}

fn thrown(model: &Model, count: usize, settings: Settings) -> Worlds {
    let mut worlds = Worlds::new(model, count, settings).unwrap();
    for world in 0..count {
        let v: Vec<f64> = (0..model.nv()).map(|i| 0.8 * ((7 * world + 3 * i) as f64).sin()).collect();
        worlds.set_state(Mask::List(&[world]), &model.q0, &v).unwrap();
    }
    worlds
}

#[test]
fn a_world_depends_on_no_neighbour() {
    for model in [mixed(), one_on_floor(Shape::Box { half: Vector3::new(0.2, 0.15, 0.1) }, 0.1, 1.0, 0.5)] {
        for precision in [Precision::F64, Precision::F32] {
            let settings = Settings { precision, ..settings(0.004) };
            let count = 21;
            let mut all = thrown(&model, count, settings.clone());
            for _ in 0..60 {
                all.step(1).unwrap();
            }
            let (q, v) = all.state();
            for world in [0, 3, 17, 20] {
                let mut alone = Worlds::new(&model, 1, settings.clone()).unwrap();
                let v0: Vec<f64> = (0..model.nv()).map(|i| 0.8 * ((7 * world + 3 * i) as f64).sin()).collect();
                alone.set_state(Mask::All, &model.q0, &v0).unwrap();
                for _ in 0..60 {
                    alone.step(1).unwrap();
                }
                let (own_q, own_v) = alone.state();
                assert_eq!(own_q, q[world * model.nq()..(world + 1) * model.nq()], "{precision:?}, world {world}");
                assert_eq!(own_v, v[world * model.nv()..(world + 1) * model.nv()], "{precision:?}, world {world}");
            }
        }
    }
}

#[test]
fn a_snapshot_goes_on_to_the_same_bits() {
    let model = mixed();
    let mut worlds = thrown(&model, 5, Settings { precision: Precision::F32, ..settings(0.004) });
    for _ in 0..40 {
        worlds.step(1).unwrap();
    }
    let snapshot = worlds.save();
    let mut other = Worlds::new(&model, 5, Settings { precision: Precision::F32, ..settings(0.004) }).unwrap();
    other.load(&snapshot).unwrap();
    for _ in 0..20 {
        worlds.step(1).unwrap();
        other.step(1).unwrap();
    }
    assert_eq!(worlds.state(), other.state());
}

#[test]
fn the_record_of_a_patch_says_where_and_what_it_transmits() {
    let (mass, friction) = (2.0, 0.5);
    let half = Vector3::new(0.2, 0.1, 0.3);
    let model = one_on_floor(Shape::Box { half }, 0.3, mass, friction);
    let dt = 0.005;
    let mut worlds = Worlds::new(&model, 1, settings(dt)).unwrap();
    worlds.watch(0, true).unwrap();
    let force = 2.0;
    worlds.external_force_mut()[0] = force;
    for _ in 0..5 {
        step(&mut worlds, "push");
    }
    let contacts = worlds.contacts(0).unwrap();
    let [contact] = contacts else { panic!("{contacts:?}") };
    let patch = contact.patch.as_ref().unwrap();
    assert_eq!((patch.vertices.len(), patch.disc), (4, None));
    // it stands: F x_ecp = F z, along x
    assert!((contact.position.x - force * 0.3 / (mass * G)).abs() < 1e-6, "{:?}", contact.position);
    assert!((contact.impulse[0] - mass * G * dt).abs() < 1e-9);
    assert!((contact.impulse[1] + force * dt).abs() < 1e-9 && contact.impulse[2].abs() < 1e-9);
    assert!(patch.torsion.abs() < 1e-9 && (patch.pressure.iter().sum::<f64>() - contact.impulse[0]).abs() < 1e-12);
    assert_eq!(worlds.reports()[0].contact_count, 1);
}

#[test]
fn single_points_move_as_with_the_cone_to_the_bit() {
    let run = |law| {
        let model = one_on_floor(Shape::Sphere { radius: 0.1 }, 0.1, 1.0, 0.5);
        let mut worlds = thrown(&model, 3, Settings { friction: law, ..settings(0.004) });
        for _ in 0..50 {
            worlds.step(1).unwrap();
        }
        worlds.state()
    };
    assert_eq!(run(FrictionLaw::Patch), run(FrictionLaw::Cone));
}

#[test]
fn what_has_no_patches_says_what_to_do() {
    let model = one_on_floor(Shape::Box { half: Vector3::new(0.2, 0.1, 0.3) }, 0.3, 1.0, 0.5);
    let wrong = Settings { algorithm: Algorithm::Jacobi, ..settings(0.01) };
    let error = Worlds::new(&model, 1, wrong).unwrap_err().to_string();
    assert!(error.contains("patch") && error.contains("cone"), "{error}");
}

#[test]
fn robots_with_flat_feet_and_the_pile_are_solved() {
    for (name, steps) in [("biped", 150), ("humanoid", 60), ("boxes", 150)] {
        let path = format!("{}/examples/models/{name}.xml", env!("CARGO_MANIFEST_DIR"));
        let model = Model::from_mjcf_file(path).unwrap();
        let count = 16;
        let settings = Settings { friction: FrictionLaw::Patch, ..Settings::default() };
        let mut worlds = Worlds::new(&model, count, settings).unwrap();
        worlds.set_start(Start { position_noise: 0.02, velocity_noise: 0.02, ..Start::default() }).unwrap();
        worlds.reset(Mask::All, 3).unwrap();
        let (mut contacts, mut residuals) = (0, Vec::new());
        for k in 0..steps {
            let control: Vec<f64> =
                (0..count * model.nu()).map(|i| (i as f64 * 7.3 + f64::from(k / 5)).sin()).collect();
            worlds.set_control(&control).unwrap();
            for report in worlds.step(1).unwrap() {
                assert!(report.status == WorldStatus::Solved, "{name}, step {k}: {report:?}");
                contacts += report.contact_count;
                residuals.push(report.residual);
            }
        }
        residuals.sort_by(f64::total_cmp);
        let p99 = residuals[residuals.len() * 99 / 100];
        println!("{name}: {contacts} contacts, residual {p99:.1e} m/s (99 %)");
        assert!(contacts > 500 && p99 <= 1e-5, "{name}: {contacts} contacts, {p99}");
    }
}

/// Spin deceleration of the only body of a file, in units of m g/I, m.
fn torsion_of(body: &str, custom: &str) -> f64 {
    let file = format!(
        r#"<mujoco><option gravity="0 0 -9.8" timestep="0.005"/><custom>{custom}</custom><worldbody>
             <geom type="plane" size="1 1 1" friction="0.5 0.02 0.001"/>
             <body pos="0 0 0.1"><freejoint/>{body}</body></worldbody></mujoco>"#
    );
    let model = Model::from_mjcf_str(&file).unwrap();
    let body = &model.bodies[1];
    let mut worlds = Worlds::new(&model, 1, settings(0.005)).unwrap();
    worlds.set_state(Mask::All, &model.q0, &[0.0, 0.0, 0.0, 0.0, 0.0, 20.0]).unwrap();
    let count = 20;
    for _ in 0..count {
        step(&mut worlds, "torsion");
    }
    (20.0 - worlds.velocities()[5]) / (f64::from(count) * 0.005) * body.inertia[(2, 2)] / (body.mass * G)
}

#[test]
fn a_file_gives_torsion() {
    // condim 4: the coefficient of the file, of a point too; condim 3: a point has none
    let sphere = |condim: u32| {
        format!(r#"<geom name="g" type="sphere" size="0.1" friction="0.5 0.02 0.001" condim="{condim}"/>"#)
    };
    assert!((torsion_of(&sphere(4), "") - 0.02).abs() < 1e-6);
    assert!(torsion_of(&sphere(3), "").abs() < 1e-9);
    // an ellipsoid: μ e_r
    let cube = r#"<geom name="g" type="box" size="0.1 0.1 0.1" friction="0.5 0.02 0.001"/>"#;
    let ellipsoid = |data: &str| format!(r#"<numeric name="ellipsoid:g" data="{data}"/>"#);
    assert!((torsion_of(cube, &ellipsoid("1 1 0.03")) - 0.5 * 0.03).abs() < 1e-6);
    let wrong = format!(
        r#"<mujoco><custom>{}</custom><worldbody><geom name="g" type="sphere" size="1"/></worldbody></mujoco>"#,
        ellipsoid("1 1 -1")
    );
    let error = Model::from_mjcf_str(&wrong).unwrap_err().to_string();
    assert!(error.contains("e_r") && error.contains("negative"), "{error}");
}
