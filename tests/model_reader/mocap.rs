//! Mocap bodies: they stay where the file puts them.

use super::*;

const HELD: &str = r#"<geom type="plane" size="1 1 1"/>
    <body name="hand" mocap="true" pos="0 0 1" euler="0 0 90"><geom size="0.1"/><body name="tip" pos="0 0 0.1"><geom size="0.1"/></body>
      <body name="hanging" pos="0 0 0.3"><joint/><geom size="0.1"/></body></body>
    <body name="post" pos="1 0 1"><geom size="0.1"/></body>
    <body name="free" pos="0 0 3"><freejoint/><geom size="0.1"/></body>"#;

fn with(more: &str) -> delassus::Result<Model> {
    Model::from_mjcf_str(&file(&format!("<worldbody>{HELD}</worldbody>{more}")))
}

/// The pairs are those of MuJoCo 4.0.0 with these bodies put on each other (`mjData.contact`): what hangs from a mocap body by joints does not touch it; a post that cannot move touches
/// all that moves.
#[test]
fn a_mocap_body_is_held_and_does_not_touch_what_hangs_from_it() {
    let model = with("").unwrap();
    assert!(model.notes.iter().any(|note| note.text.contains("stays where the file puts it") && !note.changes_motion));
    let body = |name: &str| model.bodies.iter().position(|body| body.name == name).unwrap();
    assert_eq!(model.bodies[body("hand")].tree, None);
    let touch = |a: &str, b: &str| {
        let bodies =
            |pair: &delassus::model::CollisionPair| [model.geoms[pair.geom_a].body, model.geoms[pair.geom_b].body];
        model.pairs.iter().map(bodies).any(|pair| pair.contains(&body(a)) && pair.contains(&body(b)))
    };
    assert!(!touch("hand", "hanging") && !touch("tip", "hanging"));
    assert!(touch("hand", "free") && touch("tip", "free") && touch("post", "hanging") && touch("world", "hanging"));
    let all = Model::from_mjcf_str(&file(&format!(
        r#"<option><flag filterparent="disable"/></option><worldbody>{HELD}</worldbody>"#
    )));
    assert_eq!(all.unwrap().pairs.len(), model.pairs.len() + 2);
}

#[test]
fn a_keyframe_has_poses_of_mocap_bodies() {
    let key = |values: &str| with(&format!("<keyframe><key {values}/></keyframe>"));
    let pose = |values: &str| key(values).unwrap().keyframes[0].mocap_pose.clone();
    let (half, rest) = (0.5f64.sqrt(), pose(""));
    assert!(rest.iter().zip([0.0, 0.0, 1.0, half, 0.0, 0.0, half]).all(|(a, b)| (a - b).abs() < 1e-15), "{rest:?}");
    assert_eq!(pose(r#"mpos="1 2 3""#)[..], [&[1.0, 2.0, 3.0], &rest[3..]].concat());
    assert_eq!(pose(r#"mquat="0 2 0 0""#)[..], [&rest[..3], &[0.0, 2.0, 0.0, 0.0]].concat());
    assert_eq!(pose(r#"mquat="0 0 0 0""#)[3..7], [1.0, 0.0, 0.0, 0.0], "nothing is said of the turn");
    let model = key(r#"mpos="1 2 3" mquat="0 2 0 0""#).unwrap();
    let placed = model.keyframes[0].placed(&model);
    assert_eq!(placed.bodies[1].position, Vector3::new(1.0, 2.0, 3.0));
    assert!((placed.bodies[1].orientation.angle() - std::f64::consts::PI).abs() < 1e-12);
    for (values, word) in [
        (r#"mpos="0 0 1 2""#, "has 4 numbers, the model needs 3"),
        (r#"mquat="1 0 0 0 1 0 0 0""#, "has 8 numbers, the model needs 4"),
    ] {
        let message = key(values).unwrap_err().to_string();
        assert!(message.contains(word), "{message}");
    }
}
