//! How worlds move: the same on the CPU and the device, with momentum kept, within limits, to rest.

use super::*;

/// In f32 a servo robot at rest moves alike on the CPU and on the device, whose blocks stop at the same tolerance by another rounding.
#[test]
fn hybrid_moves_as_the_cpu_does() {
    /// 100 steps of 4 ms with residuals of 1e-5 m/s are 4e-6 m if all err the same way; servos and friction pull differences back, and
    /// falling and touching down again would not: hence standing robots.
    const TOLERANCE: f64 = 1e-4;
    let laws = [FrictionLaw::Cone, FrictionLaw::Patch];
    for (name, friction) in ["quadruped", "biped"].into_iter().flat_map(|name| laws.map(|law| (name, law))) {
        let model = example(name);
        let start = |backend| -> delassus::Result<Worlds> {
            let mut w = Worlds::new(&model, 20, Settings { backend, friction, ..Settings::default() })?;
            w.set_start(Start { keyframe: model.keyframe("stand"), position_noise: 0.0, velocity_noise: 0.02 })?;
            w.reset(Mask::All, 5)?;
            Ok(w)
        };
        let mut hybrid = match start(Backend::Hybrid) {
            Err(error @ (Error::Device(_) | Error::Unsupported(_))) => {
                common::no_adapter(&error);
                return;
            }
            made => made.expect("worlds"),
        };
        let mut cpu = start(Backend::Cpu).expect("worlds");
        for _ in 0..100 {
            assert!(cpu.step(1).expect("a step").iter().all(WorldReport::solved));
            assert!(hybrid.step(1).expect("a step").iter().all(WorldReport::solved));
        }
        let distance = distance(&cpu, &hybrid);
        println!("{name} {friction:?} on {}: {distance:.1e} apart", hybrid.device());
        assert!(distance < TOLERANCE, "{name} {friction:?}");
    }
}

/// Momentum about the world's origin, linear and angular, of a model that is one tree on a free joint.
fn momentum(model: &Model, q: &[f64], v: &[f64]) -> [f64; 6] {
    let found = state_query(model, q, v).expect("a state");
    // The rows of M v of the free joint: linear in world axes, angular about its origin in body axes.
    let mv = &found.mass_matrix * nalgebra::DVector::from_column_slice(v);
    let turn = nalgebra::UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(q[3], q[4], q[5], q[6]));
    let linear = nalgebra::Vector3::new(mv[0], mv[1], mv[2]);
    let angular =
        turn * nalgebra::Vector3::new(mv[3], mv[4], mv[5]) + nalgebra::Vector3::new(q[0], q[1], q[2]).cross(&linear);
    [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]
}

/// An ant in free space, its motors and limits at work, keeps its momentum: with Euler the loss is the integrator's and halves with the step; with Runge-Kutta, whose
/// evaluations follow a motion that the limits then forbid, a tree that nothing outside acts on is moved as a whole onto the momentum of its free motion.
#[test]
fn momentum_is_kept_in_free_flight() {
    let model = example("ant");
    let loss = |integrator: Integrator, dt: f64| {
        let settings = Settings { dt: Some(dt), integrator: Some(integrator), ..f64_settings() };
        let mut w = worlds(&model, 1, settings);
        w.set_parameter(Parameter::Gravity, Mask::All, &[0.0; 3]).expect("gravity");
        let mut q = w.positions();
        q[2] = 50.0;
        q[7..].copy_from_slice(&[0.1, 0.9, -0.1, 0.8, 0.2, 0.7, 0.0, 1.0]);
        let v: Vec<f64> = (0..14).map(|i| f64::from(i).sin()).collect();
        w.set_state(Mask::All, &q, &v).expect("a state");
        let before = momentum(&model, &q, &v);
        for (u, control) in w.control_mut().iter_mut().enumerate() {
            *control = if u % 3 == 0 { 1.0 } else { -0.4 };
        }
        assert!(w.step((1.0 / dt).round() as u32).expect("a step")[0].row_count > 0, "no limit is reached");
        let (q, v) = w.state();
        let after = momentum(&model, &q, &v);
        before.iter().zip(after).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
            / before[3..].iter().map(|x| x.abs()).fold(0.0, f64::max)
    };
    let [coarse, fine] = [2e-3, 1e-3].map(|dt| loss(Integrator::Euler, dt));
    println!("relative loss after 1 s: {coarse:.1e} at 2 ms, {fine:.1e} at 1 ms");
    assert!(fine < 1e-2 && (1.7..2.3).contains(&(coarse / fine)));
    let kept = loss(Integrator::Rk4, 1e-3);
    println!("with Runge-Kutta {kept:.1e} at 1 ms");
    assert!(kept < 1e-6);
}

/// Joint limits hold under full motor force: no joint goes further beyond than what one step's push-out leaves.
#[test]
fn limits_hold() {
    /// The position problem is solved to 1e-10 m/s and the limit is linear in q: nothing but rounding may remain.
    const TOLERANCE: f64 = 1e-9;
    /// A joint that meets its limit throws others: the hopper's knee by more than the 2 rad/s that the default foresees, past a limit that was not posed.
    const THROWN: f64 = 20.0;
    for name in ["ant", "hopper", "humanoid"] {
        let model = example(name);
        let mut w = noisy(&model, 4, Settings { contact_speed: THROWN, ..f64_settings() });
        let (mut worst, mut touched) = (f64::NEG_INFINITY, 0);
        // Starts within the limits, whatever the noise.
        let (mut q, v) = w.state();
        for joint in &model.joints {
            let Some([lower, upper]) = joint.range else { continue };
            for world in q.chunks_mut(model.nq()) {
                world[joint.q_start] = world[joint.q_start].clamp(lower, upper);
            }
        }
        w.set_state(Mask::All, &q, &v).expect("a state");
        for step in 0..100u64 {
            Noise::of_world(step / 25, 2).uniform(-1.0, 1.0, w.control_mut());
            w.control_mut().iter_mut().for_each(|u| *u = u.signum());
            w.step(1).expect("a step");
            for q in w.positions().chunks(model.nq()) {
                for joint in &model.joints {
                    let Some([lower, upper]) = joint.range else { continue };
                    let beyond = (lower - q[joint.q_start]).max(q[joint.q_start] - upper);
                    touched += usize::from(beyond > -1e-6);
                    worst = worst.max(beyond);
                }
            }
        }
        println!("{name}: {worst:.1e} rad beyond a limit, {touched} at one");
        assert!(worst < TOLERANCE && touched > 100, "{name}");
    }
}

/// Dry friction above the weight's torque holds a pendulum where it is; below it, it slips.
#[test]
fn dry_friction_holds_a_pendulum() {
    let pendulum = |friction: f64| {
        let hinge = format!(r#"<joint name="pivot" frictionloss="{friction}""#);
        let model = Model::from_mjcf_str(&text("pendulum").replace(r#"<joint name="pivot""#, &hinge)).expect("a model");
        let mut w = worlds(&model, 1, f64_settings());
        w.set_start(Start { keyframe: model.keyframe("raised"), ..Start::default() }).expect("a start");
        w.reset(Mask::All, 0).expect("a reset");
        w.step(500).expect("a step");
        (w.positions()[0] - 1.2).abs()
    };
    // m g l sin q with 1 kg at 0.8 m and 0.2 kg at 0.4 m
    let torque = GRAVITY * (1.0 * 0.8 + 0.2 * 0.4) * 1.2f64.sin();
    let (held, slipped) = (pendulum(1.01 * torque), pendulum(0.99 * torque));
    println!("held: {held:.1e} rad, slipped: {slipped:.1e} rad");
    assert!(held < 1e-9 && slipped > 1e-3);
}

/// The servo robots stand for 2 s from their keyframe, with every block solved.
#[test]
fn robots_stand() {
    for (name, joints_hold) in [("quadruped", 0.2), ("biped", 0.2)] {
        let model = example(name);
        let mut w = worlds(&model, 2, Settings::default());
        w.set_start(Start { keyframe: model.keyframe("stand"), ..Start::default() }).expect("a start");
        w.reset(Mask::All, 0).expect("a reset");
        let start = w.positions();
        let mut unsolved = 0;
        for _ in 0..500 {
            unsolved += w.step(1).expect("a step").iter().filter(|r| !r.solved()).count();
        }
        let q = w.positions();
        let sunk = start[2] - q[2];
        let joint = (7..model.nq()).map(|i| (q[i] - start[i]).abs()).fold(0.0, f64::max);
        let upright = 1.0 - 2.0 * (q[4] * q[4] + q[5] * q[5]);
        let penetration = w.reports()[0].penetration;
        println!(
            "{name}: sunk {sunk:.1e} m, joints {joint:.1e} rad, upright {upright:.4}, {unsolved} unsolved, {penetration:.1e} m deep"
        );
        assert!(
            sunk.abs() < 0.03 && joint < joints_hold && upright > 0.99 && unsolved == 0 && penetration < 1e-4,
            "{name}"
        );
    }
}

/// Boxes and spheres fall into their bins, come to rest there, and do not sink into one another.
#[test]
fn piles_settle() {
    for name in ["boxes", "spheres"] {
        let model = example(name);
        let mut w = noisy(&model, 4, Settings::default());
        let (mut unsolved, mut deepest) = (0, 0.0f64);
        for step in 0..800 {
            for report in w.step(1).expect("a step") {
                unsolved += usize::from(!report.solved());
                deepest = if step >= 600 { deepest.max(report.penetration) } else { deepest };
            }
        }
        let (q, v) = w.state();
        // Nothing stops a ball from rolling, so for balls only what bounces or sinks counts.
        let still = |i: &usize| name == "boxes" || i % 6 == 2;
        let speed = (0..v.len()).filter(still).map(|i| v[i].abs()).fold(0.0, f64::max);
        let outside = q.chunks(7).filter(|q| q[0].abs() > 0.4 || q[1].abs() > 0.4 || q[2] < 0.0 || q[2] > 0.6).count();
        println!(
            "{name}: {speed:.1e} m/s (rad/s), {deepest:.1e} m deep, {unsolved} unsolved of 3200, {outside} outside"
        );
        assert!(speed < 1e-2 && deepest < 1e-3 && outside == 0 && unsolved == 0, "{name}");
    }
}

/// A body of which gravity compensation takes a share c falls with (1 − c) g under the gravity and the mass of its own world, and a pendulum without weight keeps its speed.
#[test]
fn gravity_compensation_is_a_share_of_the_weight() {
    let text = r#"<mujoco><option timestep="0.01"/><worldbody>
        <body pos="0 0 3" gravcomp="0.25"><freejoint/><geom size="0.1" mass="2"/></body>
        <body pos="3 0 3" gravcomp="1"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.05"/></body>
      </worldbody></mujoco>"#;
    let model = Model::from_mjcf_str(text).expect("a model");
    for integrator in [Integrator::Euler, Integrator::Rk4] {
        let mut some = worlds(&model, 2, Settings { integrator: Some(integrator), ..f64_settings() });
        let mut v = vec![0.0; 14];
        (v[6], v[13]) = (1.5, 1.5);
        some.set_state(Mask::All, &model.q0.repeat(2), &v).expect("a state");
        some.set_parameter(Parameter::Gravity, Mask::List(&[1]), &[0.0, 2.0, -4.0][..]).expect("gravity");
        some.set_parameter(Parameter::MassScale, Mask::List(&[1]), &[1.0, 3.0, 0.5][..]).expect("masses");
        some.step(50).expect("steps");
        let (_, v) = some.state();
        let at =
            |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found}, not {wanted}: {integrator:?}");
        at(v[2], -0.75 * 9.81 * 0.5);
        at(v[7 + 1], 0.75 * 2.0 * 0.5);
        at(v[7 + 2], -0.75 * 4.0 * 0.5);
        at(v[6], 1.5);
        at(v[13], 1.5);
    }
}
