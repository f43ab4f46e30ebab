//! Models that attach parts of others.

use super::*;

const ARM: &str = r#"<mujoco model="arm"><compiler angle="radian" boundmass="0.5"/><option timestep="0.01"/>
  <default><geom density="500"/><joint damping="0.7"/><motor gear="3"/><default class="k"><joint armature="0.1"/></default></default>
  <asset><mesh file="tri.obj"/></asset>
  <worldbody><body name="a" pos="1 2 3"><freejoint name="f"/><geom name="g" size="0.1"/>
    <body name="b" pos="0.5 0 0" childclass="k"><joint name="j" range="-1 1"/><geom name="gb" size="0.1"/><geom type="mesh" mesh="tri"/><site name="s"/>
      <body name="light"><joint/><geom size="0.01"/></body></body></body>
    <body name="other" pos="0 0 5"><joint name="oj" type="slide"/><geom name="og" size="0.1"/></body></worldbody>
  <tendon><fixed name="t"><joint joint="j" coef="1"/></fixed><fixed name="two"><joint joint="j" coef="1"/><joint joint="oj" coef="1"/></fixed></tendon>
  <contact><exclude body1="a" body2="b"/><pair geom1="gb" geom2="og"/></contact>
  <equality><weld body1="b" body2="other"/><joint joint1="j"/></equality>
  <actuator><motor name="far" tendon="two"/><motor name="m" joint="j"/><general name="filtered" tendon="t" dyntype="filter" dynprm="0.1"/></actuator>
  <sensor><jointpos name="q" joint="j"/><actuatorfrc actuator="far"/></sensor>
  <custom><numeric name="restitution:g" data="0.5"/></custom></mujoco>"#;

/// A folder with `arm.xml`, its mesh below `parts`, and files of one's own; and what `main.xml` is there.
fn folder(name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("delassus-attach-{name}-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("parts")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("parts/arm.xml", ARM);
    write("parts/tri.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    for (name, text) in files {
        write(name, text);
    }
    folder
}

fn attaching(world: &str) -> String {
    format!(
        r#"<mujoco><default><joint damping="0.1"/></default><asset><model file="parts/arm.xml"/></asset><worldbody>{world}</worldbody></mujoco>"#
    )
}

#[test]
fn a_part_brings_what_refers_to_it() {
    let world = r#"<body name="own"><joint name="j"/><geom size="0.1"/></body>
        <frame pos="0 0 1" euler="0 0 90"><attach model="arm" body="a" prefix="l-"/></frame><attach model="arm" body="a" prefix="r-"/>
        <body name="last"><joint/><geom size="0.1"/></body>"#;
    let main =
        attaching(world).replace("</mujoco>", r#"<actuator><motor name="first" joint="l-j"/></actuator></mujoco>"#);
    let folder = folder("part", &[("main.xml", &main)]);
    let model = Model::from_mjcf_file(folder.join("main.xml")).unwrap();
    let names: Vec<&str> = model.bodies.iter().map(|body| &*body.name).collect();
    assert_eq!(names, ["world", "own", "l-a", "l-b", "l-light", "r-a", "r-b", "r-light", "last"]);
    let (left, right) = (&model.bodies[2], &model.bodies[5]);
    assert!(
        (left.position - Vector3::new(-2.0, 1.0, 4.0)).norm() < 1e-12 && right.position == Vector3::new(1.0, 2.0, 3.0)
    );
    // its own units, bounds and defaults, and this one's for this one's
    let joint = |name: &str| &model.joints[model.joint(name).unwrap()];
    assert_eq!((joint("l-j").range, joint("l-j").damping, joint("l-j").armature), (Some([-1.0, 1.0]), 0.7, 0.1));
    assert_eq!((joint("j").damping, joint("j").armature), (0.1, 0.0));
    assert_eq!((model.bodies[4].mass, model.timestep), (0.5, 0.002));
    let ball = 500.0 * 4.0 / 3.0 * std::f64::consts::PI * 1e-3;
    assert!(
        (model.bodies[3].mass - ball - 500.0 / 6.0).abs() < 1e-9 && (model.bodies[1].mass - 2.0 * ball).abs() < 1e-9
    );
    // what is about other parts of the arm stays away, with a note each
    let actuators: Vec<&str> = model.actuators.iter().map(|actuator| &*actuator.name).collect();
    assert_eq!(actuators, ["first", "l-m", "l-filtered", "r-m", "r-filtered"]);
    assert_eq!(model.actuators.iter().map(|actuator| actuator.gear[0]).collect::<Vec<_>>(), [1.0, 3.0, 3.0, 3.0, 3.0]);
    assert_eq!(model.activations.iter().map(|activation| activation.actuator).collect::<Vec<_>>(), [2, 4]);
    assert_eq!((model.tendons.len(), model.equalities.len(), model.sensors.len()), (2, 2, 2));
    assert!(matches!(model.actuators[4].transmission, Transmission::Tendon(1)));
    let notes: Vec<String> = model.notes.iter().map(ToString::to_string).collect();
    let about = |what: &str| notes.iter().any(|note| note.contains(what) && note.contains("not attached"));
    assert!(["<fixed>", "<motor>", "<pair>", "<weld>", "<actuatorfrc>"].into_iter().all(about), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("<option>") && note.contains("not used")), "{notes:?}");
    let bounce = model.geoms.iter().filter(|geom| geom.restitution == Some(0.5)).map(|geom| &*geom.name);
    assert_eq!(bounce.collect::<Vec<_>>(), ["l-g", "r-g"]);
    // a does not touch b of its own arm, but that of the other
    let touch = |a: &str, b: &str| {
        let of = |geom: usize| &*model.bodies[model.geoms[geom].body].name;
        model
            .pairs
            .iter()
            .any(|pair| [of(pair.geom_a), of(pair.geom_b)] == [a, b] || [of(pair.geom_b), of(pair.geom_a)] == [a, b])
    };
    assert!(!touch("l-a", "l-b") && touch("l-a", "r-b"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn all_of_a_model_a_frame_and_replicas() {
    let hand = r#"<mujoco><asset><model name="arm" file="arm.xml"/></asset><worldbody><frame name="whole" pos="0 0 7"><frame pos="1 0 0"><body name="hand" pos="0 0 1">
        <joint name="h"/><geom size="0.1"/><attach model="arm" body="b" prefix="arm-"/></body></frame></frame></worldbody>
        <keyframe><key name="up" qpos="0.1 0.2 0.3" ctrl="4 5" act="6"/></keyframe></mujoco>"#;
    let of = |attach: &str| {
        let main = r#"<mujoco><asset><model name="hand" file="parts/hand.xml"/></asset><worldbody><body><joint type="slide"/><geom size="0.1"/></body>WORLD</worldbody></mujoco>"#;
        let folder = folder("frame", &[("main.xml", &main.replace("WORLD", attach)), ("parts/hand.xml", hand)]);
        let model = Model::from_mjcf_file(folder.join("main.xml"));
        std::fs::remove_dir_all(folder).unwrap();
        model
    };
    let height = |model: &Model, name: &str| model.bodies[model.body(name).unwrap()].position;
    let whole = of(r#"<attach model="hand" prefix="x-"/>"#).unwrap();
    assert_eq!(height(&whole, "x-hand"), Vector3::new(1.0, 0.0, 8.0));
    assert_eq!(whole.joints.iter().map(|joint| &*joint.name).collect::<Vec<_>>(), ["", "x-h", "x-arm-j", ""]);
    let key = &whole.keyframes[0];
    assert_eq!(
        (&*key.name, &*key.q, &*key.control, &*key.activation),
        ("x-up", &[0.0, 0.1, 0.2, 0.3][..], &[4.0, 5.0][..], &[6.0][..])
    );
    // a frame is attached with its pose, without those around it; a body without any
    let frame = of(r#"<attach model="hand" frame="whole" prefix="x-"/>"#).unwrap();
    assert_eq!(height(&frame, "x-hand"), Vector3::new(1.0, 0.0, 8.0));
    let body = of(r#"<attach model="hand" body="hand" prefix=""/>"#).unwrap();
    assert_eq!((height(&body, "hand"), &*body.keyframes[0].name), (Vector3::z(), "up"));
    // a state is that of the first replica
    let two =
        of(r#"<replicate count="2" sep="_" offset="0 0 9"><attach model="hand" body="hand" prefix="x-"/></replicate>"#)
            .unwrap();
    assert_eq!((height(&two, "x-hand_0").z, height(&two, "x-hand_1").z), (1.0, 10.0));
    assert_eq!(two.keyframes[0].q, [0.0, 0.1, 0.2, 0.3, 0.0, 0.0, 0.0]);
    assert_eq!((two.nu(), &*two.keyframes[0].control), (4, &[4.0, 5.0, 0.0, 0.0][..]));
    // a state of more than is attached is left out, with a note
    let part = of(r#"<attach model="hand" body="arm-light" prefix="x-"/>"#).unwrap();
    assert!(
        part.keyframes.is_empty() && part.notes.iter().any(|note| note.to_string().contains("more than is attached"))
    );
}

#[test]
fn what_cannot_be_attached_is_said() {
    let message = |asset: &str, attach: &str| {
        let main = format!(
            "<mujoco><asset>{asset}</asset>\n<worldbody><body><geom size='1'/>{attach}</body></worldbody></mujoco>"
        );
        let own = r#"<mujoco><asset><model name="x" file="self.xml"/></asset></mujoco>"#;
        let folder = folder("wrong", &[("main.xml", &main), ("self.xml", own)]);
        let message = Model::from_mjcf_file(folder.join("main.xml")).unwrap_err().to_string();
        std::fs::remove_dir_all(folder).unwrap();
        message
    };
    let arm = r#"<model name="arm" file="parts/arm.xml"/>"#;
    for (asset, attach, place, wanted) in [
        (arm, r#"<attach body="a" prefix="x"/>"#, "main.xml:2: <attach>", "<replicate>"),
        (arm, r#"<attach model="leg" prefix="x"/>"#, "main.xml:2: <attach>", "no model \"leg\""),
        (arm, r#"<attach model="arm" body="leg" prefix="x"/>"#, "main.xml:2: <attach>", "no body \"leg\""),
        (arm, r#"<attach model="arm" body="b"/>"#, "main.xml:2: <attach>", "prefix"),
        (arm, r#"<attach model="arm" body="b" frame="b" prefix="x"/>"#, "main.xml:2: <attach>", "not both"),
        (r#"<model file="nowhere.xml"/>"#, "", "main.xml:1: <model>", "nowhere.xml"),
        ("<model/>", "", "main.xml:1: <model>", "\"file\""),
        (r#"<model file="self.xml"/>"#, "", "self.xml:1: <model>", "itself"),
        (
            r#"<model name="a" file="parts/arm.xml"/><model name="a" file="parts/arm.xml"/>"#,
            "",
            "main.xml:1: <model>",
            "two models",
        ),
        (
            arm,
            r#"<attach model="arm" body="b" prefix="x"/><attach model="arm" body="b" prefix="x"/>"#,
            "arm.xml",
            "xtri",
        ),
    ] {
        let message = message(asset, attach);
        assert!(message.starts_with(place) && message.contains(wanted), "{message}");
    }
}
