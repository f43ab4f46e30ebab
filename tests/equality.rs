//! Bilateral constraints: connect, weld, joint equality and closed loops, in one problem with contacts.

use delassus::{Mask, Model, Precision, Settings, Worlds};

fn worlds(xml: &str) -> Worlds {
    let model = Model::from_mjcf_str(xml).expect("a model");
    let settings = Settings { precision: Precision::F64, ..Settings::default() };
    Worlds::new(&model, 1, settings).expect("worlds")
}

fn body(name: &str, pos: &str, inside: &str) -> String {
    format!(
        r#"<body name="{name}" pos="{pos}">{inside}<inertial pos="0 0 -0.5" mass="1" diaginertia="0.1 0.1 0.02"/></body>"#
    )
}

fn scene(bodies: &str, rest: &str) -> String {
    format!(r#"<mujoco><option timestep="0.001"/><worldbody>{bodies}</worldbody>{rest}</mujoco>"#)
}

/// A free body that a connect hangs from the world swings as the same body on a ball joint does, to first order in Δt.
#[test]
fn a_connect_to_the_world_is_a_ball_joint() {
    // Both are first-order integrators of one motion, whose speeds are of order 3 m/s: 1 s at 1 ms differs by some 1e-3.
    const TOLERANCE: f64 = 5e-3;
    let mut ball = worlds(&scene(&body("b", "0 0 2", r#"<joint type="ball"/>"#), ""));
    let connect = r#"<equality><connect body1="b" body2="world" anchor="0 0 0"/></equality>"#;
    let mut loose = worlds(&scene(&body("b", "0 0 2", "<freejoint/>"), connect));
    // Turned by 1 rad about x.
    let (w, x) = (0.5f64.cos(), 0.5f64.sin());
    ball.set_state(Mask::All, &[w, x, 0.0, 0.0], &[0.0, 0.3, 2.0]).unwrap();
    loose.set_state(Mask::All, &[0.0, 0.0, 2.0, w, x, 0.0, 0.0], &[0.0, 0.0, 0.0, 0.0, 0.3, 2.0]).unwrap();
    for _ in 0..10 {
        assert!(ball.step(100).unwrap()[0].solved());
        assert!(loose.step(100).unwrap()[0].solved());
    }
    let (a, b) = (ball.positions(), loose.positions());
    let rotation = (0..4).map(|i| (a[i] - b[3 + i]).abs()).fold(0.0, f64::max);
    let anchor = (b[0].powi(2) + b[1].powi(2) + (b[2] - 2.0).powi(2)).sqrt();
    println!("rotation {rotation:.1e}, anchor {anchor:.1e} m");
    assert!(rotation < TOLERANCE && anchor < 1e-5);
}

/// A welded pair moves as one: its parts keep their relative pose in free flight with spin.
#[test]
fn a_weld_keeps_the_relative_pose() {
    let two = body("a", "0 0 2", "<freejoint/>") + &body("b", "0.4 0 2", "<freejoint/>");
    let mut w = worlds(&scene(&two, r#"<equality><weld body1="a" body2="b"/></equality>"#));
    let q = w.positions();
    // A rigid motion: ω = (1, 2, 3) about a's origin, so b's origin moves with ω × (0.4, 0, 0).
    let v = [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 1.2, -0.8, 1.0, 2.0, 3.0];
    w.set_state(Mask::All, &q, &v).unwrap();
    for _ in 0..5 {
        assert!(w.step(100).unwrap()[0].solved());
    }
    let q = w.positions();
    let distance = ((q[7] - q[0]).powi(2) + (q[8] - q[1]).powi(2) + (q[9] - q[2]).powi(2)).sqrt();
    let twist = (0..4).map(|i| (q[3 + i] - q[10 + i]).abs()).fold(0.0, f64::max);
    println!("distance error {:.1e} m, twist {twist:.1e}", distance - 0.4);
    // The error of one step, ω² r Δt², is taken back at the next.
    assert!((distance - 0.4).abs() < 2e-5 && twist < 2e-5);
}

/// A joint equality gears two hinges: q₂ = 0.1 + 2 q₁, on position and velocity level.
#[test]
fn a_joint_equality_is_a_gear() {
    let hinge = |name: &str| format!(r#"<joint name="{name}" type="hinge" axis="0 1 0"/>"#);
    let two = body("a", "0 0 2", &hinge("one")) + &body("b", "0 1 2", &hinge("two"));
    let gear = r#"<equality><joint joint1="two" joint2="one" polycoef="0.1 2 0 0 0"/></equality>"#;
    let mut w = worlds(&scene(&two, gear));
    w.set_state(Mask::All, &[0.3, 0.7], &[0.0, 0.0]).unwrap();
    for _ in 0..20 {
        assert!(w.step(50).unwrap()[0].solved());
        let (q, v) = w.state();
        assert!((q[1] - 0.1 - 2.0 * q[0]).abs() < 1e-9, "{q:?}");
        assert!((v[1] - 2.0 * v[0]).abs() < 1e-9, "{v:?}");
    }
}

/// A four-bar loop closes with a connect and stands on a contact: one mixed problem.
#[test]
fn a_closed_loop_with_a_contact_is_one_problem() {
    let leg = |x: f64, inner: &str| {
        format!(
            r#"<body name="leg{x}" pos="{x} 0 1"><joint type="hinge" axis="0 1 0" damping="0.1"/>
               <inertial pos="0 0 -0.25" mass="1" diaginertia="0.02 0.02 0.001"/>
               <geom type="sphere" size="0.05" pos="0 0 -0.5"/>{inner}</body>"#
        )
    };
    let bar = r#"<body name="bar" pos="0 0 -0.5"><joint type="hinge" axis="0 1 0"/>
                 <inertial pos="0.2 0 0" mass="1" diaginertia="0.001 0.02 0.02"/></body>"#;
    let bodies = format!(
        r#"<geom type="plane" size="5 5 1"/>
           <body name="trunk" pos="0 0 -0.38"><joint type="slide" axis="0 0 1"/>
             <inertial pos="0 0 1" mass="2" diaginertia="0.1 0.1 0.1"/>{}{}</body>"#,
        leg(0.0, bar),
        leg(0.4, "")
    );
    let connect = r#"<equality><connect body1="bar" body2="leg0.4" anchor="0.4 0 0"/></equality>"#;
    let mut w = worlds(&scene(&bodies, connect));
    let mut touched = false;
    for _ in 0..20 {
        let report = w.step(50).unwrap()[0];
        assert!(report.solved(), "{report:?}");
        touched |= report.contact_count > 0;
        assert!(report.penetration < 1e-3);
    }
    assert!(touched);
}
