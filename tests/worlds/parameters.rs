//! What differs from world to world: the same as in a model that says so, and nowhere else.

use super::*;

/// A driven pendulum with a heavy rotor, and a ball that falls onto the floor.
struct Scene {
    com: &'static str,
    joint: &'static str,
    servo: &'static str,
    settings: Settings,
}

fn scene() -> Scene {
    Scene {
        com: "0 0 -0.2",
        joint: r#"armature="0.01" damping="0.1" stiffness="1""#,
        servo: r#"kp="20" kv="1" ctrlrange="-1 1" forcerange="-5 5""#,
        settings: f64_settings(),
    }
}

impl Scene {
    fn model(&self) -> Model {
        let Self { com, joint, servo, .. } = self;
        Model::from_mjcf_str(&format!(
            r#"<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 1"/>
                 <body pos="0 0 1"><inertial pos="{com}" mass="1" diaginertia="0.01 0.02 0.015"/>
                   <joint name="swing" axis="0 1 0" {joint}/><geom size="0.05" pos="0 0 -0.2"/></body>
                 <body pos="1 0 0.3"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
               </worldbody><actuator><position joint="swing" {servo}/></actuator></mujoco>"#
        ))
        .expect("a model")
    }
    fn worlds(&self, count: usize) -> Worlds {
        let model = self.model();
        let mut worlds = worlds(&model, count, self.settings.clone());
        let mut v = vec![0.0; model.nv()];
        (v[0], v[1], v[6]) = (-1.5, 0.7, 0.4);
        worlds.set_state(Mask::All, &model.q0.repeat(count), &v.repeat(count)).expect("a state");
        worlds
    }
}

/// Positions and velocities of every world after some steps with contacts.
fn future(mut worlds: Worlds) -> Vec<Vec<u64>> {
    worlds.set_control(&vec![2.0; worlds.world_count()]).expect("control");
    for _ in 0..60 {
        worlds.step(1).expect("a step");
    }
    let (q, v) = worlds.state();
    let (nq, nv) = (worlds.model().nq(), worlds.model().nv());
    q.chunks(nq).zip(v.chunks(nv)).map(|(q, v)| bits(&[q, v].concat())).collect()
}

#[test]
fn a_world_moves_as_in_a_model_that_says_the_same() {
    let settings = |change: fn(&mut Settings)| {
        let mut settings = f64_settings();
        change(&mut settings);
        settings
    };
    let joint = |joint| Scene { joint, ..scene() };
    let servo = |servo| Scene { servo, ..scene() };
    let cases: [(Parameter, &[f64], Scene); 10] = [
        (Parameter::Com, &[0.0, 0.0, 0.0, 0.05, 0.01, -0.3, 0.0, 0.0, 0.0], Scene { com: "0.05 0.01 -0.3", ..scene() }),
        (Parameter::Armature, &[0.03, 0.0], joint(r#"armature="0.03" damping="0.1" stiffness="1""#)),
        (Parameter::Damping, &[0.4, 0.0], joint(r#"armature="0.01" damping="0.4" stiffness="1""#)),
        (Parameter::Stiffness, &[7.0, 0.0], joint(r#"armature="0.01" damping="0.1" stiffness="7""#)),
        (Parameter::VelocityGainScale, &[2.0], servo(r#"kp="20" kv="2" ctrlrange="-1 1" forcerange="-5 5""#)),
        (Parameter::ControlRange, &[-0.1, 0.1], servo(r#"kp="20" kv="1" ctrlrange="-0.1 0.1" forcerange="-5 5""#)),
        (Parameter::ForceRange, &[-2.0, 1.0], servo(r#"kp="20" kv="1" ctrlrange="-1 1" forcerange="-2 1""#)),
        (Parameter::Restitution, &[0.6], Scene { settings: settings(|s| s.restitution = 0.6), ..scene() }),
        (Parameter::Compliance, &[0.02], Scene { settings: settings(|s| s.compliance = 0.02), ..scene() }),
        (Parameter::Friction, &[1.0, 0.1, 0.1], Scene { settings: f64_settings(), ..scene() }),
    ];
    let plain = future(scene().worlds(1));
    for (parameter, values, changed) in cases {
        let mut some = scene().worlds(20);
        some.set_parameter(parameter, Mask::List(&[17]), values).expect("a parameter");
        assert_eq!(some.parameter(parameter)[17 * values.len()..18 * values.len()], *values);
        let saved = some.save();
        let found = future(some);
        let expected = future(changed.worlds(1));
        if parameter != Parameter::Friction {
            assert_eq!(found[17], expected[0], "{parameter:?}");
            assert_ne!(found[17], plain[0], "{parameter:?} changes something");
        }
        for (world, found) in found.iter().enumerate().filter(|(world, _)| *world != 17) {
            assert_eq!(*found, plain[0], "{parameter:?}: world {world}");
        }
        // what all shared comes back, and what was saved
        let mut again = scene().worlds(20);
        let fresh = again.save();
        again
            .load(&Snapshot::from_bytes(&saved.to_bytes().expect("bytes")).expect("a snapshot"))
            .expect("the same worlds");
        assert_eq!(again.parameter(parameter)[17 * values.len()..18 * values.len()], *values);
        again.load(&fresh).expect("as they were");
        assert_eq!(future(again)[17], plain[0], "{parameter:?} is forgotten");
    }
}

#[test]
fn a_push_is_a_force_at_the_centre_of_mass() {
    let model = scene().model();
    let (force, moment) = ([1.0, -2.0, 3.0], [0.3, 0.5, -0.1]);
    let mut pushed = scene().worlds(3);
    let push: Vec<f64> = [[0.0; 6].as_slice(), &[force, moment].concat(), &[force, moment].concat()].concat();
    pushed.set_parameter(Parameter::Push, Mask::List(&[1]), &push).expect("a push");
    let mut forced = scene().worlds(3);
    // of the hinge about y, 0.2 m above: τ = τ_y + (r × f)_y = τ_y + r_z f_x; of the box about its centre, in the axes that it starts with
    let hinge = moment[1] - 0.2 * force[0];
    let start = model.nv();
    forced.external_force_mut()[start..2 * start].copy_from_slice(&[&[hinge], force.as_slice(), &moment].concat());
    for worlds in [&mut pushed, &mut forced] {
        worlds.step(1).expect("a step");
    }
    let (a, b) = (pushed.velocities(), forced.velocities());
    for (a, b) in a.iter().zip(&b) {
        assert!((a - b).abs() < 1e-12, "{a} instead of {b}");
    }
    assert_eq!(bits(&a[2 * start..]), bits(&b[2 * start..]), "nobody pushes the others");
    assert!((a[start] - a[0]).abs() > 1e-3 && (a[start + 2] - a[2]).abs() > 1e-3, "the push moves both");
    // a push goes on, until the world starts anew
    pushed.step(1).expect("a step");
    assert_eq!(pushed.parameter(Parameter::Push)[18..36], push[..]);
    pushed.reset(Mask::List(&[1]), 0).expect("a reset");
    assert!(pushed.parameter(Parameter::Push).iter().all(|x| *x == 0.0));
}

#[test]
fn control_acts_as_late_as_it_is_told() {
    let give = |worlds: &mut Worlds, call: u32| {
        let control: Vec<f64> = (0..3).map(|world| 0.3 * f64::from(call) - f64::from(world)).collect();
        worlds.set_control(&control).expect("control");
        worlds.step(2).expect("steps");
    };
    // world 1 gets two calls later what world 2 gets at once, less what differs between their controls
    let mut late = scene().worlds(3);
    late.set_control(&[0.5; 3]).expect("control");
    late.set_control_delay(Mask::List(&[1]), &[2]).expect("a delay");
    assert_eq!(late.control_delay(), [0, 2, 0]);
    let mut by_hand = scene().worlds(3);
    for call in 0..6 {
        give(&mut late, call);
        let late_by_two = if call < 2 { 0.5 } else { 0.3 * f64::from(call - 2) - 1.0 };
        let control = [0.3 * f64::from(call), late_by_two, 0.3 * f64::from(call) - 2.0];
        by_hand.set_control(&control).expect("control");
        by_hand.step(2).expect("steps");
        assert_eq!(bits(&late.velocities()), bits(&by_hand.velocities()), "call {call}");
        let mut force = [[0.0; 3]; 2];
        for (worlds, force) in [&late, &by_hand].into_iter().zip(&mut force) {
            worlds.observe_into(&[delassus::worlds::Quantity::ActuatorForce], &mut force[..]).expect("a force");
        }
        assert_eq!(force[0], force[1], "call {call}");
    }
    // what is on its way is part of a snapshot, and not of a world that starts anew
    let saved = late.save().to_bytes().expect("bytes");
    give(&mut late, 9);
    let after = late.velocities();
    late.load(&Snapshot::from_bytes(&saved).expect("a snapshot")).expect("the same worlds");
    give(&mut late, 9);
    assert_eq!(bits(&late.velocities()), bits(&after));
    late.reset(Mask::All, 0).expect("a reset");
    let mut fresh = worlds(&scene().model(), 3, f64_settings());
    late.set_control(&[1.0; 3]).expect("control");
    fresh.set_control(&[1.0, 0.0, 1.0]).expect("control");
    for worlds in [&mut late, &mut fresh] {
        worlds.step(1).expect("a step");
    }
    assert_eq!(bits(&late.velocities()), bits(&fresh.velocities()));
    assert!(message(late.set_control_delay(Mask::All, &[0, 1])).contains("has 2 numbers for 3 worlds"));
    assert!(message(late.set_control_delay(Mask::List(&[2]), &[257])).contains("world 2: at most 256"));
    late.set_control_delay(Mask::All, &[0; 3]).expect("no delay");
    assert_eq!(late.control_delay(), [0; 3]);
}

#[test]
fn what_no_world_can_have_is_refused() {
    let mut worlds = scene().worlds(2);
    let mut refused = |parameter, values: &[f64]| message(worlds.set_parameter(parameter, Mask::List(&[1]), values));
    for (parameter, values, text) in [
        (Parameter::Damping, &[-0.1, 0.0][..], "-0.1 is no damping"),
        (Parameter::Armature, &[f64::NAN, 0.0], "NaN is no armature"),
        (Parameter::Restitution, &[1.5], "1.5 is no restitution"),
        (Parameter::Stiffness, &[1.0, 2.0], "2 is no stiffness of joint 1: it has no spring"),
        (Parameter::ControlRange, &[1.0, -1.0], "[1, -1] is no control_range of actuator 0: the bounds are crossed"),
        (Parameter::Push, &[f64::INFINITY; 18], "inf is no push"),
        (Parameter::Com, &[0.0; 3], "com needs 9 for each"),
    ] {
        let found = refused(parameter, values);
        assert!(found.contains(text), "{found}");
    }
    let motor = Scene { servo: r#"kp="20""#, ..scene() };
    let range = motor.worlds(1).set_parameter(Parameter::ForceRange, Mask::All, &[-1.0, 1.0]);
    assert!(message(range).contains("it has none; give it one in the model"));
}
