//! The MJCF reader: against models that MuJoCo compiled, feature by feature, and on broken files.

use delassus::Error;
use delassus::model::{
    EqualityKind, ImplicitDamping, Integrator, Model, PairFriction, ReadOptions, Shape, Transmission,
};
use nalgebra::{UnitQuaternion, Vector3};
use serde_json::Value;
use std::path::Path;

#[path = "../common/mod.rs"]
mod common;
mod actuators;
mod attach;
mod flags;
mod includes;
mod meshes;
mod mocap;
mod wrong;

/// Both sides are f64 and use the same formulas; sums in another order differ by a few ulp of numbers up to 100.
const TOLERANCE: f64 = 1e-9;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn assert_near(found: &[f64], wanted: &Value, what: &str) {
    let wanted = numbers(wanted);
    assert!(found.len() <= wanted.len(), "{what}: {found:?} against {wanted:?}");
    for (i, x) in found.iter().enumerate() {
        let scale = wanted[i].abs().max(1.0);
        assert!((x - wanted[i]).abs() <= TOLERANCE * scale, "{what}[{i}]: found {found:?}, wanted {wanted:?}");
    }
}

/// Quaternions are equal up to sign.
fn assert_same_turn(found: &UnitQuaternion<f64>, wanted: &Value, what: &str) {
    let q = numbers(wanted);
    let dot = found.w * q[0] + found.i * q[1] + found.j * q[2] + found.k * q[3];
    assert!((dot.abs() - 1.0).abs() <= TOLERANCE, "{what}: found {found:?}, wanted {q:?}");
    let difference = (Vector3::new(found.i, found.j, found.k) * dot.signum() - Vector3::new(q[1], q[2], q[3])).norm();
    assert!(difference <= TOLERANCE, "{what}: found {found:?}, wanted {q:?}");
}

fn compare_with_compiled(model: &Model, compiled: &Value) {
    let list = |key: &str| compiled[key].as_array().unwrap().clone();
    assert_eq!(model.nq() as u64, compiled["nq"].as_u64().unwrap());
    assert_eq!(model.nv() as u64, compiled["nv"].as_u64().unwrap());
    assert_near(model.gravity.as_slice(), &compiled["gravity"], "gravity");
    assert_eq!(model.timestep, compiled["timestep"].as_f64().unwrap());
    assert_near(&model.q0, &compiled["qpos0"], "qpos0");
    let total: f64 = model.bodies.iter().map(|b| b.mass).sum();
    assert!((total - compiled["total_mass"].as_f64().unwrap()).abs() <= TOLERANCE * total);

    assert_eq!(model.bodies.len(), list("bodies").len());
    for (i, (body, wanted)) in model.bodies.iter().zip(list("bodies")).enumerate() {
        assert_eq!(body.name, wanted["name"].as_str().unwrap());
        if i > 0 {
            assert_eq!(body.parent as i64, wanted["parent"].as_i64().unwrap(), "parent of {}", body.name);
        }
        assert_near(body.position.as_slice(), &wanted["pos"], &format!("position of body {i}"));
        assert_same_turn(&body.orientation, &wanted["quat"], &format!("orientation of body {i}"));
        assert_near(&[body.mass], &serde_json::json!([wanted["mass"]]), &format!("mass of body {i}"));
        assert_near(body.com.as_slice(), &wanted["com"], &format!("com of body {i}"));
        assert_near(body.inertia.transpose().as_slice(), &wanted["inertia_com"], &format!("inertia of body {i}"));
    }

    assert_eq!(model.joints.len(), list("joints").len());
    for (joint, wanted) in model.joints.iter().zip(list("joints")) {
        let name = &joint.name;
        assert_eq!(name, wanted["name"].as_str().unwrap());
        assert_eq!(joint.body as u64, wanted["body"].as_u64().unwrap());
        assert_eq!(format!("{:?}", joint.kind).to_lowercase(), wanted["type"].as_str().unwrap());
        assert_eq!(joint.q_start as u64, wanted["qposadr"].as_u64().unwrap());
        assert_eq!(joint.v_start as u64, wanted["dofadr"].as_u64().unwrap());
        assert_near(joint.anchor.as_slice(), &wanted["pos"], name);
        assert_near(joint.axis.as_slice(), &wanted["axis"], name);
        assert_eq!(joint.range.is_some(), wanted["limited"].as_bool().unwrap(), "{name}");
        if let Some(range) = joint.range {
            assert_near(&range, &wanted["range"], name);
        }
        let found = [joint.stiffness, joint.damping, joint.armature, joint.friction_loss];
        let wanted_values = ["stiffness", "damping", "armature", "frictionloss"].map(|key| wanted[key].clone());
        assert_near(&found, &Value::from(wanted_values.to_vec()), name);
        if joint.kind.nq() == 1 {
            let spring = compiled["qpos_spring"][joint.q_start].as_f64().unwrap();
            assert!((joint.spring_reference - spring).abs() <= TOLERANCE, "springref of {name}");
        }
    }

    assert_eq!(model.geoms.len(), list("geoms").len());
    for (i, (geom, wanted)) in model.geoms.iter().zip(list("geoms")).enumerate() {
        let what = format!("geom {i} {}", geom.name);
        assert_eq!(geom.name, wanted["name"].as_str().unwrap());
        assert_eq!(geom.body as u64, wanted["body"].as_u64().unwrap(), "{what}");
        assert_eq!(geom.shape.name(), wanted["type"].as_str().unwrap(), "{what}");
        let size = match &geom.shape {
            Shape::Plane | Shape::HeightField(_) | Shape::Hull(_) => vec![],
            Shape::Sphere { radius } => vec![*radius],
            Shape::Capsule { radius, half_length } | Shape::Cylinder { radius, half_length } => {
                vec![*radius, *half_length]
            }
            Shape::Ellipsoid { radii: v } | Shape::Box { half: v } => v.as_slice().to_vec(),
        };
        assert_near(&size, &wanted["size"], &what);
        assert_near(geom.position.as_slice(), &wanted["pos"], &what);
        assert_same_turn(&geom.orientation, &wanted["quat"], &what);
        assert_near(&geom.friction, &wanted["friction"], &what);
        assert_eq!(geom.condim as u64, wanted["condim"].as_u64().unwrap(), "{what}");
        assert_eq!(u64::from(geom.contype), wanted["contype"].as_u64().unwrap(), "{what}");
        assert_eq!(u64::from(geom.conaffinity), wanted["conaffinity"].as_u64().unwrap(), "{what}");
        assert_eq!(geom.margin, wanted["margin"].as_f64().unwrap(), "{what}");
    }

    assert_eq!(model.sites.len(), list("sites").len());
    for (site, wanted) in model.sites.iter().zip(list("sites")) {
        assert_eq!(site.name, wanted["name"].as_str().unwrap());
        assert_eq!(site.body as u64, wanted["body"].as_u64().unwrap());
        assert_near(site.position.as_slice(), &wanted["pos"], &site.name);
        assert_same_turn(&site.orientation, &wanted["quat"], &site.name);
    }

    assert_eq!(model.actuators.len(), list("actuators").len());
    for (actuator, wanted) in model.actuators.iter().zip(list("actuators")) {
        let name = &actuator.name;
        assert_eq!(name, wanted["name"].as_str().unwrap());
        let joint = wanted["trnid"][0].as_u64().unwrap() as usize;
        assert_eq!(actuator.transmission, Transmission::Joint(joint));
        assert_near(&actuator.gear, &wanted["gear"], name);
        if let Some(range) = actuator.control_range {
            assert_near(&range, &wanted["ctrlrange"], name);
        }
        assert_near(&actuator.gain, &wanted["gainprm"], name);
        assert_near(&actuator.bias, &wanted["biasprm"], name);
    }
}

#[test]
fn models_are_what_mujoco_compiles() {
    let Some(data) = common::data() else { return };
    for name in ["ant", "half_cheetah", "hopper", "humanoid", "inverted_double_pendulum", "unitree_go1"] {
        let folder = data.join("models").join(name);
        let model = Model::from_mjcf_file(folder.join(format!("{name}.xml"))).unwrap();
        let text = std::fs::read_to_string(folder.join("model.json")).unwrap();
        compare_with_compiled(&model, &serde_json::from_str(&text).unwrap());
        println!("{name}: nq {}, nv {}, pairs {}", model.nq(), model.nv(), model.pairs.len());
        for note in &model.notes {
            println!("  {note}");
        }
    }
}

/// A file with these sections.
fn file(sections: &str) -> String {
    format!("<mujoco>{sections}</mujoco>")
}

/// A file with these elements in its world.
fn world(elements: &str) -> String {
    file(&format!("<worldbody>{elements}</worldbody>"))
}

fn read(text: &str) -> Model {
    Model::from_mjcf_str(text).unwrap()
}

/// What reading says about a wrong file; it must name the place.
fn error(text: &str) -> String {
    match Model::from_mjcf_str(text) {
        Ok(_) => panic!("was read: {text}"),
        Err(Error::ModelFile { place, message }) => {
            assert!(place.starts_with("mjcf:"), "{place}");
            format!("{place}: {message}")
        }
        Err(other) => panic!("{other}"),
    }
}

/// A hinged ball: the smallest body that moves.
const BALL: &str = r#"<body name="b"><joint name="j" range="-90 90"/><geom name="g" size="0.1"/></body>"#;

#[test]
fn example_models_load() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models");
    // nq, nv, nu
    let sizes = [
        ("ant", 15, 14, 8),
        ("biped", 17, 16, 10),
        ("boxes", 56, 48, 0),
        ("hopper", 6, 6, 3),
        ("humanoid", 25, 24, 18),
        ("pendulum", 1, 1, 1),
        ("quadruped", 19, 18, 12),
        ("spheres", 56, 48, 0),
    ];
    for (name, nq, nv, nu) in sizes {
        let model = Model::from_mjcf_file(folder.join(format!("{name}.xml"))).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(model.name, name);
        assert_eq!((model.nq(), model.nv(), model.nu()), (nq, nv, nu), "{name}");
        assert!(model.notes.is_empty(), "{name}: {:?}", model.notes);
        println!("{name}: {:.2} kg, {} pairs", model.moving_mass(), model.pairs.len());
        if name != "pendulum" {
            assert!(!model.pairs.is_empty(), "{name}");
        }
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), sizes.len(), "every example model is tested");
}

#[test]
fn replicas_turn_and_get_suffixes() {
    let model = read(&world(
        r#"<replicate count="2" offset="0 2 0" euler="90 0 0">
             <replicate count="2" offset="1 0 0" euler="0 90 0"><geom name="box" type="box" size=".1 .2 .3"/></replicate>
           </replicate>"#,
    ));
    let names: Vec<&str> = model.geoms.iter().map(|g| g.name.as_str()).collect();
    assert_eq!(names, ["box00", "box10", "box01", "box11"]);
    let last = &model.geoms[3];
    assert!((last.position - Vector3::new(1.0, 2.0, 0.0)).norm() < 1e-12);
    let q = last.orientation;
    assert!([q.w, q.i, q.j, q.k].iter().all(|x| (x - 0.5).abs() < 1e-12), "{q:?}");

    // What refers to a repeated joint is repeated; suffixes are as wide as the count.
    let text = file(&format!(
        r#"<worldbody><replicate count="10" offset="1 0 0" sep="_">{BALL}</replicate></worldbody>
           <actuator><motor name="m" joint="j"/></actuator>"#
    ));
    let model = read(&text);
    assert_eq!((model.nv(), model.nu()), (10, 10));
    assert_eq!(model.actuators[7].name, "m_07");
    let Transmission::Joint(joint) = model.actuators[7].transmission else { panic!("not on a joint") };
    assert_eq!(model.joints[joint].name, "j_07");
    assert_eq!(model.bodies[8].position.x, 7.0);
}

/// As MuJoCo 4.0 orders them: what is not repeated first, then replica by replica, outer ones around inner ones.
#[test]
fn what_refers_to_replicas_stands_replica_by_replica() {
    let model = read(&file(
        r#"<worldbody><body><joint name="x"/><geom size="0.1"/></body>
             <replicate count="2" offset="0 1 0" sep="-"><replicate count="2" offset="1 0 0">
               <body><joint name="h"/><geom size="0.1"/><body><joint name="k"/><geom size="0.1"/></body></body>
             </replicate></replicate></worldbody>
           <actuator><motor name="k" joint="k"/><motor name="x" joint="x"/><motor name="h" joint="h"/></actuator>"#,
    ));
    let names: Vec<&str> = model.actuators.iter().map(|actuator| actuator.name.as_str()).collect();
    assert_eq!(names, ["x", "k0-0", "h0-0", "k1-0", "h1-0", "k0-1", "h0-1", "k1-1", "h1-1"]);
}

#[test]
fn frames_move_everything_inside() {
    let model = read(&world(
        r#"<body><frame pos="1 0 0" euler="0 0 90">
             <joint name="j" axis="1 0 0" pos="0 1 0"/><geom size="0.1" pos="0 0 1"/><site name="s"/>
             <frame pos="0 2 0"><body name="c"><geom size="0.1"/></body></frame>
           </frame></body>"#,
    ));
    let joint = &model.joints[0];
    assert!((joint.axis - Vector3::y()).norm() < 1e-12 && joint.anchor.norm() < 1e-12, "{joint:?}");
    assert!((model.geoms[0].position - Vector3::new(1.0, 0.0, 1.0)).norm() < 1e-12);
    assert!((model.sites[0].position - Vector3::x()).norm() < 1e-12);
    assert!((model.bodies[2].position - Vector3::new(-1.0, 0.0, 0.0)).norm() < 1e-12);
}

#[test]
fn joints_are_read_in_full() {
    let model = read(&world(
        r#"<body><joint type="ball" range="0 60"/><geom size="0.1"/>
           <body><joint axis="0 0 2" range="-90 45" ref="30" springref="60" stiffness="3" damping="0.5" armature="0.1"
              frictionloss="0.2" margin="0.01" actuatorfrcrange="-5 6"/><geom size="0.1"/>
           <body><joint type="slide" range="-1 2" limited="false"/><geom size="0.1"/></body></body></body>"#,
    ));
    let [ball, hinge, slide] = &model.joints[..] else { panic!() };
    let near = |range: Option<[f64; 2]>, low: f64, high: f64| {
        range.is_some_and(|[l, h]| (l - low.to_radians()).abs() < 1e-12 && (h - high.to_radians()).abs() < 1e-12)
    };
    assert!(near(ball.range, 0.0, 60.0) && near(hinge.range, -90.0, 45.0));
    assert_eq!(slide.range, None);
    assert_eq!(hinge.axis, Vector3::z());
    assert_eq!(hinge.actuator_force_range, Some([-5.0, 6.0]));
    assert!((hinge.reference - 30f64.to_radians()).abs() < 1e-12);
    assert!((hinge.spring_reference - 60f64.to_radians()).abs() < 1e-12);
    assert_eq!((hinge.stiffness, hinge.damping, hinge.armature), (3.0, 0.5, 0.1));
    assert_eq!((hinge.friction_loss, hinge.limit_margin), (0.2, 0.01));
    assert!((model.q0[4] - 30f64.to_radians()).abs() < 1e-12);
}

#[test]
fn orientations_mean_the_same() {
    let quarter = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::FRAC_PI_2);
    for text in [
        r#"quat="1 1 0 0""#,
        r#"axisangle="2 0 0 90""#,
        r#"euler="90 0 0""#,
        r#"xyaxes="3 0 0 1 0 2""#,
        r#"zaxis="0 -4 0""#,
    ] {
        let model = read(&world(&format!(r#"<geom size="1" {text}/>"#)));
        assert!(model.geoms[0].orientation.angle_to(&quarter) < 1e-7, "{text}: {:?}", model.geoms[0].orientation);
    }
    // Upper case turns about fixed axes: XYZ is zyx backwards.
    let turn = |sequence: &str, euler: &str| {
        read(&file(&format!(
            r#"<compiler eulerseq="{sequence}"/><worldbody><geom size="1" euler="{euler}"/></worldbody>"#
        )))
        .geoms[0]
            .orientation
    };
    assert!(turn("XYZ", "10 20 30").angle_to(&turn("zyx", "30 20 10")) < 1e-7);
}

#[test]
fn default_classes_nest_and_vectors_are_overridden_in_part() {
    let model = read(&file(
        r#"<default><geom friction="0.9 0.1 0.2"/>
             <default class="small"><geom size="0.5" type="box"/>
               <default class="flat"><geom size="0.3 0.2 0.1"/></default></default>
             <default class="turned"><geom euler="0 0 90"/></default></default>
           <worldbody><geom friction="0.7" size="1"/>
             <body childclass="small"><geom size="0.6 0.6 0.6"/><geom class="flat" size="0.4"/>
               <frame childclass="flat"><geom/></frame><geom class="turned" size="1" quat="1 0 0 0"/></body></worldbody>"#,
    ));
    let half = |i: usize| match model.geoms[i].shape {
        Shape::Box { half } => half,
        _ => panic!("geom {i}"),
    };
    assert_eq!(model.geoms[0].friction, [0.7, 0.1, 0.2]);
    assert_eq!(model.geoms[1].friction, [0.9, 0.1, 0.2]);
    assert_eq!(half(2), Vector3::new(0.4, 0.2, 0.1));
    assert_eq!(half(3), Vector3::new(0.3, 0.2, 0.1));
    assert_eq!(model.geoms[4].orientation, UnitQuaternion::identity());
}

/// Nothing moves between two geoms of one body, or of bodies welded together: their pair is left out, and a note says so.
#[test]
fn a_pair_within_what_is_welded_is_left_out() {
    let read = |second: &str| {
        let text = format!(
            r#"<worldbody><body><freejoint/><geom name="a" size="0.1"/><geom name="b" size="0.1" pos="0.15 0 0"/>
                 <body pos="0.1 0 0"><geom name="c" size="0.1"/></body>
                 <body pos="0.3 0 0"><joint axis="0 1 0"/><geom name="d" size="0.1"/></body>
               </body></worldbody><contact><pair geom1="a" geom2="{second}"/></contact>"#
        );
        let model = Model::from_mjcf_str(&format!("<mujoco>{text}</mujoco>")).unwrap();
        let told = model.notes.iter().any(|note| note.text.contains("nothing moves between them"));
        (model.pairs.len(), told)
    };
    assert_eq!((read("b"), read("c"), read("d")), ((0, true), (0, true), (1, false)));
}

/// A pair that the file gives is one pair, in whichever order it names two boxes.
#[test]
fn an_explicit_pair_of_one_kind_is_one_pair_in_either_order() {
    for (first, second) in [("a", "b"), ("b", "a")] {
        let model = read(&file(&format!(
            r#"<worldbody><geom name="a" type="box" size="1 1 1"/>
                 <body><freejoint/><geom name="b" type="box" size="1 1 1"/></body></worldbody>
               <contact><pair geom1="{first}" geom2="{second}" friction="0.1"/></contact>"#
        )));
        assert_eq!(model.pairs.len(), 1, "{first}, {second}");
    }
}

#[test]
fn mass_comes_from_where_the_compiler_says() {
    let body = r#"<body name="b"><freejoint/><inertial mass="2" pos="1 0 0" diaginertia="1 1 1"/>
                  <geom size="0.1" mass="3"/><geom size="0.1" mass="5" group="4"/></body>"#;
    let mass =
        |compiler: &str| read(&file(&format!("<compiler {compiler}/><worldbody>{body}</worldbody>"))).bodies[1].mass;
    assert_eq!(mass(""), 2.0);
    assert_eq!(mass(r#"inertiafromgeom="true""#), 8.0);
    assert_eq!(mass(r#"inertiafromgeom="true" inertiagrouprange="0 3""#), 3.0);
    assert_eq!(mass(r#"boundmass="4""#), 4.0);
    assert!((mass(r#"settotalmass="7""#) - 7.0).abs() < 1e-12);
    let inertial = |attributes: &str, compiler: &str| {
        read(&file(&format!(
            r#"<compiler {compiler}/><worldbody><body><freejoint/><inertial mass="1" pos="0 0 0" {attributes}/></body></worldbody>"#
        )))
        .bodies[1]
            .inertia
    };
    let full = inertial(r#"fullinertia="2 3 4 0.1 0.2 0.3""#, "");
    assert_eq!((full[(0, 0)], full[(0, 1)], full[(0, 2)], full[(1, 2)]), (2.0, 0.1, 0.2, 0.3));
    let turned = inertial(r#"diaginertia="2 3 4" euler="90 0 0""#, "");
    assert!((turned[(1, 1)] - 4.0).abs() < 1e-12 && (turned[(2, 2)] - 3.0).abs() < 1e-12);
    let balanced = inertial(r#"diaginertia="1 1 4""#, r#"balanceinertia="true""#);
    assert!((balanced - nalgebra::Matrix3::identity() * 2.0).norm() < 1e-12);
    let bounded = inertial(r#"diaginertia="1 1 1.5""#, r#"boundinertia="1.2""#);
    assert!((bounded[(0, 0)] - 1.2).abs() < 1e-12 && (bounded[(2, 2)] - 1.5).abs() < 1e-12);
}

#[test]
fn contacts_equalities_and_custom_numbers_are_read() {
    let two = r#"<geom name="floor" type="plane" size="1 1 1"/>
        <body name="a"><freejoint/><geom name="ga" size="0.1"/></body>
        <body name="b"><joint name="j1"/><joint name="j2" type="slide"/><geom name="gb" size="0.1"/></body>"#;
    let model = read(&file(&format!(
        r#"<worldbody>{two}</worldbody>
           <custom><numeric name="restitution:ga" data="0.8"/><numeric name="mine" data="1 2 3"/><text name="t" data="x"/></custom>
           <contact><pair geom1="gb" geom2="floor" friction="0.3 0.3 0.01 0.001 0.001" condim="3"/>
             <exclude body1="a" body2="b"/></contact>
           <equality><connect body1="a" anchor="1 2 3"/><weld name="w" body1="a" body2="b" relpose="1 0 0 2 0 0 0"/>
             <weld body1="a"/><joint joint1="j1" joint2="j2" polycoef="0 2" active="false"/></equality>"#
    )));
    assert_eq!(model.geoms[1].restitution, Some(0.8));
    assert_eq!(model.pairs.len(), 2);
    assert_eq!(model.pairs[0].friction, PairFriction::Fixed(0.3));
    assert_eq!((model.pairs[0].geom_a, model.pairs[0].geom_b), (0, 2));
    assert_eq!(model.equalities.len(), 4);
    assert!(matches!(model.equalities[0].kind, EqualityKind::Connect { body_a: 1, body_b: 0, .. }));
    assert!(matches!(&model.equalities[1].kind, EqualityKind::Weld { relative: Some((p, _)), .. } if p.x == 1.0));
    assert!(matches!(model.equalities[2].kind, EqualityKind::Weld { relative: None, body_b: 0, .. }));
    assert!(!model.equalities[3].active);
    assert!(matches!(model.equalities[3].kind, EqualityKind::Joint { polynomial: [0.0, 2.0, 0.0, 0.0, 0.0], .. }));
}

/// Friction of a pair: sliding, torsional and rolling, each the larger of two geoms, or all of the one with the higher priority, or the pair's own.
#[test]
fn torsional_and_rolling_friction_are_of_both_geoms_or_of_one() {
    let pair = |first: &str, second: &str, contact: &str| {
        let text = format!(
            r#"<worldbody><geom name="f" type="plane" size="1 1 1" friction="1 0.2 0.03" {first}/>
                 <body><freejoint/><geom name="b" size="0.1" friction="0.5 0.4 0.01" {second}/></body></worldbody><contact>{contact}</contact>"#
        );
        let pair = read(&file(&text)).pairs[0].clone();
        (pair.condim, pair.torsion, pair.rolling)
    };
    assert_eq!(pair("", "", ""), (3, None, None));
    assert_eq!(pair(r#"condim="4""#, r#"condim="1""#, ""), (4, Some(0.4), None));
    assert_eq!(pair(r#"condim="4""#, r#"condim="6""#, ""), (6, Some(0.4), Some([0.03; 2])));
    assert_eq!(pair(r#"condim="6" priority="1""#, "", ""), (6, Some(0.2), Some([0.03; 2])));
    assert_eq!(pair(r#"condim="6""#, r#"condim="6" priority="1""#, ""), (6, Some(0.4), Some([0.01; 2])));
    assert_eq!(pair(r#"condim="6""#, r#"condim="4" priority="1""#, ""), (4, Some(0.4), None));
    let own = r#"<pair geom1="b" geom2="f" condim="6" friction="1 1 0.5 0.6 0.7"/>"#;
    assert_eq!(pair("", "", own), (6, Some(0.5), Some([0.6, 0.7])));
}

#[test]
fn keyframes_have_defaults_and_right_sizes() {
    let keys = |keys: &str| {
        Model::from_mjcf_str(&file(&format!(
            r#"<worldbody><body pos="0 0 2"><freejoint/><geom size="0.1"/></body>{BALL}</worldbody>
               <actuator><motor joint="j"/></actuator><keyframe>{keys}</keyframe>"#
        )))
    };
    let model = keys(r#"<key name="k" time="3" qpos="1 2 3 2 0 0 0 0.5"/><key ctrl="7"/>"#).unwrap();
    let [k, rest] = &model.keyframes[..] else { panic!() };
    assert_eq!((k.name.as_str(), k.time), ("k", 3.0));
    assert_eq!(k.q, [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.5]);
    assert_eq!((rest.q.clone(), rest.v.len(), rest.control.clone()), (model.q0.clone(), 7, vec![7.0]));
    // as in MuJoCo, a turn of which nothing is said is none
    let model = keys(r#"<key qpos="1 2 3 0 0 0 0 0.5"/>"#).unwrap();
    assert_eq!(model.keyframes[0].q, [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.5]);
    let message = keys("\n\n<key qvel=\"1 2\"/>").unwrap_err().to_string();
    assert!(message.contains("<key>") && message.contains("needs 7"), "{message}");
}

#[test]
fn flags_switch_things_off() {
    let model = read(&file(&format!(
        r#"<option gravity="0 0 -1"><flag gravity="disable" contact="disable" limit="disable" eulerdamp="disable"/></option>
           <worldbody><geom type="plane" size="1 1 1"/>{BALL}</worldbody>"#
    )));
    assert_eq!(model.gravity, Vector3::zeros());
    assert!(model.pairs.is_empty() && model.joints[0].range.is_none());
    let [note] = &model.notes[..] else { panic!("{:?}", model.notes) };
    assert!(note.text.starts_with("mjcf:1: <flag>: eulerdamp") && note.changes_motion, "{note}");
}

#[test]
fn the_integrator_is_read_as_what_it_is_here() {
    let (all, joints) = (ImplicitDamping::JointsAndServos, ImplicitDamping::Joints);
    for (name, integrator, notes, damping) in [
        ("Euler", Integrator::Euler, 0, joints),
        ("implicitfast", Integrator::Euler, 0, all),
        ("implicit", Integrator::Euler, 1, all),
        ("RK4", Integrator::Rk4, 1, joints),
    ] {
        let model = read(&file(&format!(r#"<option integrator="{name}"/><worldbody>{BALL}</worldbody>"#)));
        assert_eq!((model.integrator, model.notes.len()), (integrator, notes), "{name}: {:?}", model.notes);
        assert_eq!(model.implicit_damping, damping, "{name}");
        let flag = r#"<flag eulerdamp="disable"/>"#;
        let text = format!(r#"<option integrator="{name}">{flag}</option><worldbody>{BALL}</worldbody>"#);
        let off = if damping == joints { ImplicitDamping::None } else { all };
        assert_eq!(read(&file(&text)).implicit_damping, off, "{name} with {flag}");
    }
    let wet = read(&file(&format!(r#"<option integrator="implicitfast" density="1"/><worldbody>{BALL}</worldbody>"#)));
    assert!(wet.notes.len() == 1 && wet.notes[0].changes_motion, "{:?}", wet.notes);
    let text = file(&format!(r#"<option integrator="leapfrog"/><worldbody>{BALL}</worldbody>"#));
    let message = Model::from_mjcf_str(&text).unwrap_err().to_string();
    assert!(message.contains("integrator") && message.contains("RK4"), "{message}");
}

#[test]
fn what_makes_no_difference_is_noted() {
    let text = file(&format!(
        r#"<option integrator="RK4" density="0"/><size njmax="5"/><visual><map znear="1"/></visual>
           <statistic extent="2"/><asset><texture type="skybox" builtin="flat"/><material name="m"/></asset>
           <worldbody><light/><camera name="c"/>{BALL}<geom size="1" solref="0.1 1" condim="6" material="m"/>
             <body><joint type="free" limited="true"/><geom size="1"/></body></worldbody>
           <sensor><jointpos name="s" joint="j"/></sensor>"#
    ));
    let model = read(&text);
    assert_eq!(model.sensors[0].kind, "jointpos");
    for word in ["integrator", "solref", "condim 6", "free joint"] {
        let about: Vec<_> = model.notes.iter().filter(|note| note.text.contains(word)).collect();
        assert_eq!(about.len(), 1, "{word}: {:?}", model.notes);
        assert_eq!(about[0].changes_motion, ["integrator", "condim 6"].contains(&word), "{word}");
    }
    assert_eq!(model.notes.len(), 4, "{:?}", model.notes);
}

#[test]
fn sites_have_a_volume_and_sensors_read_them() {
    let text = |site: &str| {
        format!(
            r#"<mujoco><default><site type="box"/></default>
                 <worldbody><body name="b"><freejoint/><geom size="1"/><site name="plain"/>{site}</body></worldbody>
                 <sensor><touch name="t" site="plain"/><accelerometer site="plain"/><force site="plain"/><torque site="plain"/>
                   <framelinacc objtype="body" objname="b"/><magnetometer site="plain"/></sensor></mujoco>"#
        )
    };
    let read = |site: &str| Model::from_mjcf_str(&text(site));
    let model =
        read(r#"<site type="ellipsoid" size="0.1 0.2"/><site type="capsule" size="0.1" fromto="0 0 0 0 0 2"/>"#)
            .expect("a model");
    // every size that is not given is 0.005 m
    assert!(matches!(model.sites[0].shape, Shape::Box { half } if half == Vector3::repeat(0.005)));
    assert!(matches!(model.sites[1].shape, Shape::Ellipsoid { radii } if radii == Vector3::new(0.1, 0.2, 0.005)));
    assert!(matches!(model.sites[2].shape, Shape::Capsule { radius: 0.1, half_length: 1.0 }));
    assert_eq!(model.sites[2].position, Vector3::z());
    use delassus::model::{Frame, FrameReading, Reading};
    let readings: Vec<_> = model.sensors.iter().map(|s| s.reading).collect();
    let acceleration = Reading::Frame(FrameReading::LinearAcceleration, Frame::Com(1), None);
    let expected = [Reading::Touch(0), Reading::Accelerometer(0), Reading::Force(0), Reading::Torque(0), acceleration];
    assert_eq!(readings, expected.map(Some).into_iter().chain([None]).collect::<Vec<_>>());
    assert!(expected.iter().all(|reading| reading.looks_back()) && !Reading::Gyro(0).looks_back());
    for (site, message) in [
        (r#"<site size="-1"/>"#, "needs 3 positive numbers"),
        (r#"<site type="plane"/>"#, "plane"),
        (r#"<site type="sphere" fromto="0 0 0 1 0 0"/>"#, "does not go with a sphere"),
    ] {
        let error = read(site).expect_err(site).to_string();
        assert!(error.contains(message), "{error}");
    }
}
