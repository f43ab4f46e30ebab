//! Bilateral constraints: connect, weld, joint equality and closed loops, in one problem with contacts.

use delassus::{Constraints, Mask, Model, Precision, Settings, Worlds};

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

/// A free body that a connect hangs from the world swings as the same body on a ball joint does: both write the same impulse balance, one in six
/// coordinates and three rows, the other in three coordinates.
#[test]
fn a_connect_to_the_world_is_a_ball_joint() {
    // A thousand steps, each solved to 1e-10 m/s.
    const TOLERANCE: f64 = 1e-8;
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
    assert!(rotation < TOLERANCE && anchor < TOLERANCE);
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

/// Velocities after a soft step from rest as MuJoCo 4.0.0 has them (`mj_step`, tolerance 0): the sites come together, wherever they are at first, and of a weld their frames turn to one another.
#[test]
fn sites_are_tied_together_as_in_mujoco() {
    // Rows of a weld are the derivative of a quaternion there, here the angular velocity: the frames are 1e-4 rad off each other.
    const TOLERANCE: f64 = 1e-7;
    let turn = r#"euler="0.006 0.004 40.01""#;
    let bodies = format!(
        r#"<site name="w" pos="0.1 0 1.2" {turn}/>
           <body name="a" pos="0 0 1"><freejoint/><inertial pos="0 0.1 0" mass="1" diaginertia="0.1 0.2 0.25"/>
             <site name="sa" pos="0.3 0 0.1" euler="0 0 40"/></body>
           <body name="b" pos="0.5 0.1 1"><freejoint/><inertial pos="0 0 -0.1" mass="2" diaginertia="0.2 0.1 0.15"/>
             <site name="sb" pos="-0.2 0 0.1" {turn}/></body>"#
    );
    for (constraint, wanted) in [
        (
            r#"<connect site1="sa" site2="sb"/>"#,
            [
                0.013492416065023,
                0.210886644571443,
                -0.006468883738524,
                -0.203670691666290,
                0.005144130663715,
                0.248520134530520,
                0.009394908752651,
                -0.126531986742866,
                -0.016012023547423,
                0.210886644571443,
                0.037151100586364,
                0.281182192761924,
            ],
        ),
        (
            r#"<weld site1="sa" site2="sb"/>"#,
            [
                0.011145493426260,
                0.231788910864351,
                -0.019936579822093,
                0.027118322461634,
                -0.000397496250496,
                0.282737337490015,
                0.009158817231709,
                -0.126008222231108,
                -0.020817626212035,
                0.101137667989323,
                0.005946970703379,
                0.289981980182651,
            ],
        ),
        (
            r#"<connect site1="sa" site2="w"/>"#,
            [
                -0.922872743281846,
                0.054125187568970,
                0.264788535762961,
                -0.307757930301756,
                -0.827260539959814,
                -0.292498915605744,
                0.0,
                0.0,
                -0.01962,
                0.0,
                0.0,
                0.0,
            ],
        ),
        (
            r#"<weld site1="w" site2="sb"/>"#,
            [
                0.0,
                0.0,
                -0.01962,
                0.0,
                0.0,
                0.0,
                -0.980950706240487,
                -0.442475798973316,
                0.539234175714527,
                0.197161452841581,
                -0.211658819550144,
                0.209366686365536,
            ],
        ),
    ] {
        let model = Model::from_mjcf_str(&scene_of(&bodies, constraint)).unwrap();
        let settings = Settings { precision: Precision::F64, constraints: Constraints::Soft, ..Settings::default() };
        let mut w = Worlds::new(&model, 1, settings).unwrap();
        assert!(w.step(1).unwrap()[0].solved());
        let off = w.velocities().iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("{constraint}: {off:.1e} m/s");
        assert!(off < TOLERANCE, "{constraint}: {off:.1e}");
    }
}

/// With the step of MJCF's default.
fn scene_of(bodies: &str, constraint: &str) -> String {
    format!("<mujoco><worldbody>{bodies}</worldbody><equality>{constraint}</equality></mujoco>")
}

/// The four bars of a gripper's finger, on a body that is turned any way: two rows, along their plane, are all that a connect has, and no impulse pulls across it.
#[test]
fn a_loop_in_a_plane_has_rows_along_it_only() {
    let bar = |name: &str, pos: &str, inside: &str| {
        format!(
            r#"<body name="{name}" pos="{pos}"><joint axis="1 0 0" damping="0.01" armature="0.001"/>
              <geom type="capsule" fromto="0 0 0 0 0.03 0.03" size="0.004" contype="0" conaffinity="0"/>{inside}</body>"#
        )
    };
    let finger = bar("driver", "0 0 0", &bar("coupler", "0 0.03 0.03", "")) + &bar("follower", "0 0.06 0", "");
    let scene = |euler: &str, more: &str| {
        format!(
            r#"<mujoco><option timestep="0.002"/><worldbody><body pos="0 0 1" euler="{euler}"><freejoint/><geom size="0.05" contype="0" conaffinity="0"/>{finger}</body>
              </worldbody><equality><connect name="tie" body1="follower" body2="coupler" anchor="0 0.03 0.03"/>{more}</equality></mujoco>"#
        )
    };
    for euler in ["0 0 0", "20 -35 70"] {
        let model = Model::from_mjcf_str(&scene(euler, "")).expect("a model");
        let mut worlds = Worlds::new(&model, 1, Settings::default()).expect("worlds");
        let velocity: Vec<f64> = (0..9).map(|i| 0.3 * f64::from(i - 4)).collect();
        worlds.set_state(Mask::All, &model.q0, &velocity).unwrap();
        for _ in 0..200 {
            let report = worlds.step(1).unwrap()[0];
            assert!(report.solved() && !report.fallback && report.row_count == 2, "{report:?}");
            assert!(report.floor < 1e-5, "an impulse that is rounding: {report:?}");
        }
    }
    // a user who moves all of it leaves it in its plane, one who moves a part of it need not
    let moved = scene("0 0 0", "")
        .replace("<freejoint/>", "")
        .replace(r#"pos="0 0 1" euler="0 0 0""#, r#"pos="0 0 1" mocap="true""#);
    let part = scene("0 0 0", "")
        .replace("</worldbody>", r#"<body name="hand" mocap="true"/></worldbody>"#)
        .replace("coupler\" anchor", "hand\" anchor");
    for (scene, rows) in [(moved, 2), (part, 3)] {
        let model = Model::from_mjcf_str(&scene).expect("a model");
        let mut worlds = Worlds::new(&model, 1, Settings::default()).expect("worlds");
        assert_eq!(worlds.step(1).unwrap()[0].row_count, rows, "{scene}");
    }
    // a weld of the same loop: two rows along the plane, one about what is across it; and a connect out of the plane has three
    for (more, rows) in [
        (r#"<weld body1="driver" body2="follower"/>"#, 5),
        (r#"<connect body1="follower" body2="world" anchor="0 0 0"/>"#, 5),
    ] {
        let model = Model::from_mjcf_str(&scene("20 -35 70", more)).expect("a model");
        let mut worlds = Worlds::new(&model, 1, Settings::default()).expect("worlds");
        assert_eq!(worlds.step(1).unwrap()[0].row_count, rows, "{more}");
    }
}
