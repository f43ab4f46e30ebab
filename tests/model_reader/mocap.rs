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
fn a_keyframe_leaves_it_there_or_is_refused() {
    let key = |values: &str| with(&format!("<keyframe><key {values}/></keyframe>"));
    key(r#"mpos="0 0 1" mquat="0.7071068 0 0 -0.7071068""#).unwrap_err();
    key(r#"mpos="0 0 1" mquat="-0.70710678 0 0 -0.70710678""#).unwrap();
    for (values, word) in [
        (r#"mpos="0 0 2""#, "moves a mocap body"),
        (r#"mpos="0 0 1 2""#, "has 4 numbers, the model needs 3"),
        (r#"mquat="1 0 0 0 1 0 0 0""#, "has 8 numbers, the model needs 4"),
    ] {
        let message = key(values).unwrap_err().to_string();
        assert!(message.contains(word), "{message}");
    }
}
