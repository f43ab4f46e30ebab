//! Actuators between sites, about balls and of bodies.

use super::*;
use delassus::worlds::Quantity;

/// The tolerance of the contact solver in f64, m/s, with room for what turns by it.
const SOLVED: f64 = 1e-8;

/// A cart on a rail and a pendulum on it, with a servo between the tip and a site on the cart, or beside the rail.
fn pendulum(actuator: &str) -> Model {
    Model::from_mjcf_str(&format!(
        r#"<mujoco><option timestep="0.001" gravity="0 0 0"/><worldbody><site name="world" pos="0.3 0 0.1" euler="0 0 90"/>
             <body name="cart"><joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" mass="2"/><site name="cart" pos="0 0 0.2"/>
               <body pos="0 0 0.2"><joint name="h" axis="0 1 0"/><geom size="0.05" pos="0 0 0.5" mass="1"/><site name="tip" pos="0 0 0.5" euler="0 0 30"/></body></body>
           </worldbody><actuator>{actuator}</actuator>
           <sensor><actuatorpos actuator="a"/><actuatorvel actuator="a"/><actuatorfrc actuator="a"/></sensor></mujoco>"#
    ))
    .expect("a model")
}

fn read(worlds: &mut Worlds, what: &[Quantity], count: usize) -> Vec<f64> {
    let mut room = vec![0.0; count];
    worlds.observe_into(what, &mut room[..]).expect("quantities");
    room
}

#[test]
fn a_force_between_sites_is_none_on_what_carries_both() {
    let model = pendulum(r#"<motor name="a" site="tip" refsite="cart" gear="1 0 0"/>"#);
    let mut worlds = worlds(&model, 1, f64_settings());
    let angle = 0.3_f64;
    worlds.set_state(Mask::All, &[0.7, angle], &[2.0, 0.5]).expect("a state");
    worlds.set_control(&[3.0][..]).expect("control");
    let force = read(&mut worlds, &[Quantity::JointActuatorForce], 2);
    // along the x axis of the cart at the tip, which is at (0.5 sin, 0, 0.5 cos)
    assert!(force[0] == 0.0 && (force[1] - 3.0 * 0.5 * angle.cos()).abs() < 1e-14, "{force:?}");
    let sensors = read(&mut worlds, &[Quantity::Sensor(0), Quantity::Sensor(1), Quantity::Sensor(2)], 3);
    let wanted = [0.5 * angle.sin(), 0.5 * 0.5 * angle.cos(), 3.0];
    assert!(sensors.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-14), "{sensors:?}");
    // seen from beside the rail, whose x is the world's y and whose y is −x
    let model = pendulum(r#"<motor name="a" site="tip" refsite="world" gear="0 2 0"/>"#);
    let mut worlds = super::worlds(&model, 1, f64_settings());
    worlds.set_state(Mask::All, &[0.7, angle], &[2.0, 0.5]).expect("a state");
    worlds.set_control(&[3.0][..]).expect("control");
    let force = read(&mut worlds, &[Quantity::JointActuatorForce], 2);
    assert!((force[0] + 6.0).abs() < 1e-14 && (force[1] + 3.0 * angle.cos()).abs() < 1e-14, "{force:?}");
    let length = read(&mut worlds, &[Quantity::Sensor(0)], 1)[0];
    assert!((length + 2.0 * (0.7 - 0.3 + 0.5 * angle.sin())).abs() < 1e-14, "{length}");
}

#[test]
fn servos_of_turns_take_the_shorter_way() {
    let model = pendulum(r#"<position name="a" site="tip" refsite="cart" gear="0 0 0 0 2 0" kp="3"/>"#);
    // the tip is turned by 30° about z, and by the hinge about y
    let mut worlds = worlds(&model, 1, f64_settings());
    let turned = |worlds: &mut Worlds, angle: f64, target: f64| {
        worlds.set_state(Mask::All, &[0.0, angle], &[0.0, 0.0]).expect("a state");
        worlds.set_control(&[target][..]).expect("control");
        let found = read(worlds, &[Quantity::Sensor(0), Quantity::Sensor(2)], 2);
        (found[0], found[1])
    };
    let (length, force) = turned(&mut worlds, 0.4, 1.0);
    assert!((force - 3.0 * (1.0 - length)).abs() < 1e-13 && length > 0.7);
    let around = 2.0 * std::f64::consts::TAU;
    for turns in [-2.0, 1.0, 3.0] {
        let (_, same) = turned(&mut worlds, 0.4, 1.0 + turns * around);
        assert!((same - force).abs() < 1e-12, "{turns}");
    }
    let (_, back) = turned(&mut worlds, 0.4, length + 0.6 * around);
    assert!((back + 3.0 * 0.4 * around).abs() < 1e-12, "{back}");
}

/// Soft contacts push back with what adhesion pulls, but for what they give way.
#[test]
fn adhesion_is_shared_by_contacts_and_acts_on_both_bodies() {
    let model = Model::from_mjcf_str(
        r#"<mujoco><option timestep="0.001" gravity="0 0 0"/><worldbody>
             <body name="pad"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="3"/></body>
             <body name="ball" pos="0 0 0.1999"><freejoint/><geom size="0.1" mass="1"/></body></worldbody>
           <actuator><adhesion name="a" body="ball" ctrlrange="0 10" gain="2"/></actuator></mujoco>"#,
    )
    .expect("a model");
    let settings = Settings { constraints: delassus::Constraints::Soft, ..f64_settings() };
    let step = |height: f64, control: f64| {
        let mut worlds = worlds(&model, 1, settings.clone());
        let mut q = worlds.positions();
        q[9] = height;
        worlds.set_state(Mask::All, &q, &[0.0; 12]).expect("a state");
        worlds.set_control(&[control][..]).expect("control");
        worlds.step(1).expect("a step");
        worlds.velocities()
    };
    let (without, with) = (step(0.1999, 0.0), step(0.1999, 5.0));
    let change: Vec<f64> = with.iter().zip(&without).map(|(a, b)| a - b).collect();
    // together, as much as contact lets them
    assert!(change[8] < -1e-6 && change[8] > -0.01, "{change:?}");
    assert!((3.0 * change[2] + change[8]).abs() < SOLVED, "{change:?}");
    assert!((0..12).filter(|i| i % 6 != 2).all(|i| change[i].abs() < SOLVED), "{change:?}");
    // what does not touch is not pulled
    assert!(step(0.2001, 5.0).iter().all(|v| *v == 0.0));
}

/// Hard contacts: a plate that hangs below a ceiling by adhesion, of more than its weight, of less, and far from it; every world by itself.
#[test]
fn adhesion_holds_hard_contacts_together() {
    let model = Model::from_mjcf_str(
        r#"<mujoco><worldbody><geom type="box" size="1 1 0.1" pos="0 0 1.1"/>
             <body name="plate" pos="0 0 0.9"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body></worldbody>
           <actuator><adhesion body="plate" ctrlrange="0 30"/></actuator></mujoco>"#,
    )
    .expect("a model");
    for settings in [Settings::default(), f64_settings()] {
        let mut some = worlds(&model, 20, settings.clone());
        let mut q = some.positions();
        q[7 * 19 + 2] = 0.8;
        some.set_state(Mask::All, &q, &[0.0; 120]).expect("a state");
        let control: Vec<f64> = (0..20).map(|world| if world % 2 == 0 { 20.0 } else { 9.0 }).collect();
        some.set_control(&control[..]).expect("control");
        some.step(300).expect("steps");
        let heights: Vec<f64> = some.positions().chunks(7).map(|q| q[2]).collect();
        for (world, height) in heights.iter().enumerate() {
            let holds = world % 2 == 0 && world != 19;
            assert!(if holds { (height - 0.9).abs() < 1e-3 } else { *height < 0.7 }, "world {world}: {height}");
        }
        let mut one = worlds(&model, 1, settings);
        one.set_control(&[20.0][..]).expect("control");
        one.step(300).expect("steps");
        assert_eq!(one.positions(), some.positions()[..7]);
    }
}
