//! What a model file says is what the worlds do.

use super::*;
use delassus::acceleration::resting_contacts;
use delassus::model::{EqualityKind, Hull, JointKind, PairFriction, Shape, Transmission};
use delassus::worlds::pose_notes;
use nalgebra::Vector3;

/// Where the model with these sections comes to rest: q after 4 s.
fn rest(sections: &str, precision: Precision) -> Vec<f64> {
    let model = Model::from_mjcf_str(&format!("<mujoco>{sections}</mujoco>")).expect("a model");
    let mut w = worlds(&model, 1, Settings { precision, backend: Backend::Cpu, ..Settings::default() });
    for _ in 0..2000 {
        assert!(w.step(1).expect("a step")[0].solved());
    }
    w.positions()
}

/// In MuJoCo 4.0.0 a ball of radius 0.1 m rests 0.0196 m above the floor where both geoms have a margin of 0.01 m, 0.0096 m where one has, and
/// `gap` changes nothing; its soft contacts give 0.4 mm, ours nothing. An explicit pair has a margin of its own, 0 if it gives none.
#[test]
fn contacts_rest_at_the_sum_of_the_margins() {
    let cases = [
        (["", ""], "", 0.0),
        ([r#"margin="0.01""#, r#"margin="0.01""#], "", 0.02),
        ([r#"margin="0.01""#, ""], "", 0.01),
        (["", r#"margin="0.01" priority="1""#], "", 0.01),
        ([r#"margin="0.01" gap="0.01""#, r#"margin="0.01" gap="0.01""#], "", 0.02),
        ([r#"margin="0.02" gap="0.01""#, r#"margin="0.005" gap="0.03""#], "", 0.025),
        ([r#"gap="0.01""#, r#"gap="0.01""#], "", 0.0),
        ([r#"margin="0.01""#, r#"margin="0.01""#], "<contact><pair geom1=\"f\" geom2=\"s\"/></contact>", 0.0),
        (["", ""], "<contact><pair geom1=\"f\" geom2=\"s\" margin=\"0.03\" gap=\"0.01\"/></contact>", 0.03),
    ];
    for ([floor, ball], contact, expected) in cases {
        for (shape, half) in [("sphere", "0.1"), ("box", "0.1 0.1 0.1")] {
            let text = format!(
                r#"<worldbody><geom name="f" type="plane" size="5 5 1" {floor}/>
                   <body pos="0 0 0.14"><freejoint/><geom name="s" type="{shape}" size="{half}" {ball}/></body></worldbody>{contact}"#
            );
            for (precision, tolerance) in [(Precision::F64, 1e-9), (Precision::F32, 1e-5)] {
                let height = rest(&text, precision)[2] - 0.1;
                let error = height - expected;
                assert!(error.abs() < tolerance, "{shape}, {floor}, {ball}, {contact}: {height}, expected {expected}");
            }
        }
    }
}

/// In MuJoCo 4.0.0 a joint rests its margin before its limit: slide -0.4004 for range -0.5 and margin 0.1, hinge 0.4243 and ball 0.4284 for 30°.
#[test]
fn joints_rest_a_margin_before_their_limits() {
    let thirty = std::f64::consts::FRAC_PI_6;
    for (joint, range, limit, towards) in [
        ("slide", "-0.5 1", -0.5, -1.0),
        ("slide", "-1 -0.5", -1.0, -1.0),
        ("hinge", "-30 30", thirty, 1.0),
        ("ball", "0 30", thirty, 1.0),
    ] {
        for margin in [0.0, 0.1] {
            let text = format!(
                r#"<worldbody><body pos="0 0 1">
                     <joint type="{joint}" axis="{}" range="{range}" margin="{margin}" damping="2"/>
                     <geom size="0.1" pos="0.3 0 0" mass="1"/></body></worldbody>"#,
                if joint == "slide" { "0 0 1" } else { "0 1 0" }
            );
            let q = rest(&text, Precision::F64);
            let x = if joint == "ball" { 2.0 * q[0].acos() } else { q[0] };
            assert!((x - (limit - towards * margin)).abs() < 1e-6, "{joint}, margin {margin}: {x}");
        }
    }
}

/// What a pair of MuJoCo's does not say is the pair's own default: friction 1, condim 3, whatever the geoms say.
#[test]
fn pairs_take_nothing_from_their_geoms() {
    let slid = |attributes: &str| {
        let q = rest(
            &format!(
                r#"<option gravity="3 0 -9.81"/>
                   <worldbody><geom name="f" type="plane" size="5 5 1" friction="0.1" condim="1"/>
                     <body pos="0 0 0.1"><freejoint/><geom name="s" type="box" size="0.1 0.1 0.1" friction="0.1" condim="1"/></body>
                   </worldbody><contact><pair geom1="f" geom2="s" {attributes}/></contact>"#
            ),
            Precision::F64,
        );
        q[0].abs() > 1.0
    };
    assert_eq!(["", r#"friction="0.1 0.1""#, r#"condim="1""#].map(slid), [false, true, true]);
}

/// Gravity pulls no robot of the examples into something, and no joint starts beyond its limit.
#[test]
fn example_models_start_where_they_can_be() {
    let folder = format!("{}/examples/models", env!("CARGO_MANIFEST_DIR"));
    let mut looked_at = 0;
    for file in std::fs::read_dir(folder).expect("the folder") {
        let model = Model::from_mjcf_file(file.expect("a file").path()).expect("a model");
        assert_eq!(pose_notes(&model, &model.q0, "at rest").expect("an answer"), [], "{}", model.name);
        for key in &model.keyframes {
            assert_eq!(pose_notes(&model, &key.q, "there").expect("an answer"), [], "{}, {}", model.name, key.name);
        }
        looked_at += 1;
    }
    assert!(looked_at >= 8, "{looked_at} models");
}

/// Overlaps and violated limits of a start are told with their numbers, the worst first; what touches or is a tenth of a millimetre deep is not.
#[test]
fn a_start_that_cannot_be_is_told_with_numbers() {
    let model = Model::from_mjcf_str(
        r#"<mujoco><worldbody>
             <geom name="floor" type="plane" size="5 5 1"/>
             <body pos="0 0 0.013"><freejoint/><geom name="a" size="0.1"/></body>
             <body pos="0.6 0 0.1"><freejoint/><geom name="b" size="0.1"/></body>
             <body pos="0.7 0 0.5"><freejoint/><geom name="c" type="box" size="0.1 0.1 0.1" margin="0.02"/></body>
             <body pos="0.95 0 0.5"><freejoint/><geom type="box" size="0.16 0.1 0.1"/></body>
             <body pos="5 0 1"><joint name="ankle" axis="0 1 0" range="30 60"/><geom size="0.1"/>
               <body pos="0 0 -0.4"><joint type="slide" range="-0.5 -0.2" margin="0.05"/><geom size="0.1"/></body></body>
             <body pos="5 5 1"><joint name="hip" type="ball" range="0 30"/><geom size="0.1"/></body>
           </worldbody>
           <keyframe><key name="bent" qpos="0 0 0.09995 1 0 0 0  0.6 0 0.1 1 0 0 0  0.7 0 0.5 1 0 0 0  2 0 0.5 1 0 0 0
                                            0.6 -0.3  0.8 0 0.6 0"/></keyframe></mujoco>"#,
    )
    .expect("a model");
    let mut w = worlds(&model, 1, Settings::default());
    let told = |w: &Worlds| w.start_notes().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        told(&w),
        [
            "at rest, joint \"ankle\" is 0.524 rad beyond its limit",
            "at rest, joint 5 is 0.250 m beyond its limit, margin of 0.05 m included",
            "at rest, geom \"floor\" and geom \"a\" overlap by 0.087 m",
            "at rest, geom \"c\" and geom 4 overlap by 0.030 m, margins of 0.02 m included",
        ]
    );
    assert!(w.start_notes().iter().all(|note| !note.changes_motion));
    w.set_start(Start { keyframe: Some(0), ..Start::default() }).expect("a start");
    assert_eq!(told(&w), ["in keyframe \"bent\", joint \"hip\" is 0.763 rad beyond its limit"]);
    assert!(message(pose_notes(&model, &[0.0], "at rest")).contains("q: has 1 numbers"));
}

/// The fields of a model are public; whatever is done to them, worlds of it are made or refused with the place, and nothing panics.
#[test]
fn models_that_were_changed_are_checked_again() {
    let good = Model::from_mjcf_str(
        r#"<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset><worldbody>
             <geom type="plane" size="5 5 1"/><geom type="plane" size="5 5 1"/><site name="s"/>
             <body pos="0 0 1"><freejoint/><geom size="0.1"/><body><joint type="ball"/><geom size="0.1"/></body></body>
             <body pos="2 0 1"><joint/><geom type="mesh" mesh="m"/></body></worldbody>
           <equality><connect body1="1" anchor="0 0 0"/><weld body1="2" relpose="0 0 1 1 0 0 0"/><joint joint1="j"/></equality>
           <actuator><motor joint="j"/></actuator><keyframe><key/></keyframe></mujoco>"#
            .replace("<body pos=\"0 0 1\">", "<body name=\"1\" pos=\"0 0 1\">")
            .replace("<body><joint", "<body name=\"2\"><joint")
            .replace("<joint/>", "<joint name=\"j\" axis=\"0 1 0\"/>")
            .as_str(),
    )
    .expect("a model");
    type Change = fn(&mut Model);
    let changes: [(&str, Change); 41] = [
        ("the time step", |m| m.timestep = f64::NAN),
        ("gravity", |m| m.gravity.z = f64::INFINITY),
        ("body 0", |m| m.bodies.clear()),
        ("body 0", |m| m.bodies[0].parent = 1),
        ("parent", |m| m.bodies[1].parent = 7),
        ("the mass", |m| m.bodies[1].mass = f64::NAN),
        ("the mass", |m| m.bodies[2].mass = -1.0),
        ("centre of mass", |m| m.bodies[2].com.x = f64::NAN),
        ("unit quaternion", |m| m.bodies[2].orientation.as_mut_unchecked().coords.fill(0.0)),
        ("inertia", |m| m.bodies[2].inertia[(0, 0)] = f64::NAN),
        ("moves no mass", |m| {
            m.bodies.iter_mut().for_each(|b| (b.mass, b.inertia) = (0.0, nalgebra::Matrix3::zeros()));
        }),
        ("do not follow", |m| m.bodies[1].joints = 0..9),
        ("do not follow", |m| m.bodies[1].dofs = 3..99),
        ("do not follow", |m| m.bodies[3].tree = Some(9)),
        ("do not follow", |m| m.bodies[3].parent = 2),
        ("do not follow", |m| m.joints[1].q_start = 40),
        ("do not follow", |m| m.joints[2].v_start = 0),
        ("couples hinge and slide", |m| m.joints.swap(0, 2)),
        ("do not follow", |m| m.joints[1].kind = JointKind::Hinge),
        ("do not follow", |m| {
            m.joints.pop();
            m.actuators.clear();
            m.equalities.clear();
        }),
        ("do not follow", |m| m.dofs[3].ancestors.push(80)),
        ("do not follow", |m| m.dofs[3].row_start = 1),
        ("do not follow", |m| m.dofs.truncate(2)),
        ("do not follow", |m| m.trees[0].dofs = 0..90),
        ("belongs to a body", |m| m.joints[2].body = 9),
        ("unit vector", |m| m.joints[2].axis.x = 3.0),
        ("q0 has 1 numbers", |m| m.q0.truncate(1)),
        ("q0: every number", |m| m.q0[0] = f64::NAN),
        ("q0: the quaternion of joint 1", |m| m.q0[7..11].fill(0.0)),
        ("belongs to a body", |m| m.geoms[2].body = 9),
        ("size", |m| m.geoms[2].shape = Shape::Sphere { radius: f64::NAN }),
        ("size", |m| {
            m.geoms[4].shape = Shape::Hull(
                Hull { name: String::new(), vertices: vec![Vector3::x(); 5], triangles: vec![[0, 1, 9]] }.into(),
            );
        }),
        ("plane must not move", |m| m.geoms[0].body = 1),
        ("belongs to a body", |m| m.sites[0].body = 9),
        ("acts on a joint", |m| m.actuators[0].transmission = Transmission::Joint(9)),
        ("two different bodies", |m| {
            m.equalities[0].kind = EqualityKind::Connect { body_a: 1, body_b: 9, anchor: Vector3::x(), anchor_b: None }
        }),
        ("finite", |m| {
            m.equalities[0].kind = EqualityKind::Connect {
                body_a: 1,
                body_b: 0,
                anchor: Vector3::x(),
                anchor_b: Some(Vector3::x() * f64::NAN),
            }
        }),
        ("two different geoms", |m| m.pairs[0].geom_b = 99),
        ("Shape::rank", |m| (m.pairs[0].geom_a, m.pairs[0].geom_b) = (0, 1)),
        ("friction", |m| m.pairs[0].friction = PairFriction::Fixed(f64::NAN)),
        ("qpos has 2 numbers", |m| m.keyframes[0].q.truncate(2)),
    ];
    for (k, (wanted, change)) in changes.into_iter().enumerate() {
        let mut model = good.clone();
        change(&mut model);
        let refusal = message(Worlds::new(&model, 1, Settings::default()));
        assert!(refusal.starts_with("invalid model: ") && refusal.contains(wanted), "change {k}: {refusal}");
        let (q, v) = (vec![0.0; model.nq()], vec![0.0; model.nv()]);
        assert_eq!(message(state_query(&model, &q, &v)), refusal);
        assert_eq!(message(resting_contacts(&model, &q, &v, 0.1, 0.1)), refusal);
        assert_eq!(message(pose_notes(&model, &q, "there")), refusal);
    }
    // What stays a model is stepped: a heavier ball, another start, one pair less.
    let mut model = good;
    (model.bodies[1].mass, model.q0[2]) = (2.0, 3.0);
    model.pairs.pop();
    worlds(&model, 3, Settings::default()).step(3).expect("a step");
}
