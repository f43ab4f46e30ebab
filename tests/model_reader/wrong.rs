//! Files that are wrong, unknown, deep, broken at random.

use super::*;
use proptest::prelude::*;

#[test]
fn what_is_wrong_or_unknown_is_an_error_with_its_line() {
    let body = |inside: &str| world(&format!("<body><freejoint/>{inside}<geom size=\"0.1\"/></body>"));
    let with_ball = |sections: &str| file(&format!("<worldbody>{BALL}</worldbody>{sections}"));
    let mesh = |geom: &str| {
        file(&format!(
            r#"<asset><mesh name="m" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset><worldbody><body><geom mesh="m" {geom}/></body></worldbody>"#
        ))
    };
    let cases = [
        ("<mujoco><worldbody>".into(), "well-formed"),
        (String::new(), "well-formed"),
        ("<mujoco/><mujoco/>".into(), "well-formed"),
        ("<robot/>".into(), "<mujoco>"),
        (file("\n<wordbody/>"), "mjcf:2: <wordbody>: is not known"),
        (world("\n\n<geom siez=\"1\"/>"), "mjcf:3: <geom>: attribute \"siez\""),
        (world(r#"<geom size="x"/>"#), "not a finite number"),
        (world(r#"<geom size="nan"/>"#), "not a finite number"),
        (world(r#"<geom size="1e999"/>"#), "not a finite number"),
        (world(r#"<geom type="box" size="1 1"/>"#), "3 positive numbers"),
        (world(r#"<geom size="0"/>"#), "positive"),
        (world(r#"<geom type="capsule" size="1"/>"#), "fromto"),
        (world(r#"<geom type="capsule" size="1" fromto="1 1 1 1 1 1"/>"#), "too close"),
        (world(r#"<geom size="1" quat="0 0 0 0"/>"#), "zero"),
        (world(r#"<geom size="1" quat="1 0 0 0" euler="1 2 3"/>"#), "keep one"),
        (world(r#"<geom size="1" pos="1 2"/>"#), "needs 3 numbers, found 2"),
        (world(r#"<geom size="1" friction="-1"/>"#), "friction"),
        (world(r#"<geom size="1" type="sdf"/>"#), "not supported"),
        (world(r#"<geom size="1" type="hfield"/>"#), "needs the attribute \"hfield\""),
        (world(r#"<geom type="hfield" hfield="none"/>"#), "no height field called \"none\""),
        (world(r#"<geom size="1" hfield="none"/>"#), "does not go with a sphere"),
        (
            world(r#"<geom type="hfield" hfield="none" fromto="0 0 0 1 1 1"/>"#),
            "\"fromto\" does not go with a height field",
        ),
        (world(r#"<geom size="1" class="none"/>"#), "no default class"),
        (world(r#"<geom type="mesh" mesh="none"/>"#), "no mesh"),
        (world("<joint/>"), "world cannot have joints"),
        (world("<body><joint/></body>"), "moves no mass"),
        (world(&format!("<body name=\"hub\"><freejoint/>{BALL}</body>")), "body \"hub\": has joints and no mass"),
        (world(r#"<body><joint axis="0 0 0"/><geom size="1"/></body>"#), "axis"),
        (world(r#"<body><joint range="2 1"/><geom size="1"/></body>"#), "range"),
        (world(r#"<body><joint limited="true"/><geom size="1"/></body>"#), "range"),
        (world(r#"<body><joint damping="-1"/><geom size="1"/></body>"#), "damping"),
        (world(r#"<body><joint type="ball" springdamper="1 1"/><geom size="1"/></body>"#), "springdamper"),
        (world(r#"<body><geom size="1"/><body><freejoint/><geom size="1"/></body></body>"#), "child of the world"),
        (world(r#"<body><freejoint/><geom size="1"/><geom type="plane"/></body>"#), "plane must not move"),
        (world(r#"<body name="a"/><body name="a"/>"#), "the name \"a\""),
        (world(r#"<body name="world"/>"#), "the name \"world\""),
        (world(r#"<body><body mocap="true"/></body>"#), "a mocap body is a child of the world"),
        (world(r#"<body mocap="true"><freejoint/><geom size="1"/></body>"#), "a mocap body has no joints"),
        (world("<composite/>"), "not supported"),
        (body(r#"<inertial mass="-1" pos="0 0 0"/>"#), "must not be negative"),
        (body(r#"<inertial mass="1" pos="0 0 0" diaginertia="1 1 9"/>"#), "no real body"),
        (body(r#"<inertial pos="0 0 0"/>"#), "mass"),
        (file(r#"<compiler coordinate="global"/>"#), "global"),
        (file(r#"<compiler eulerseq="xyq"/>"#), "eulerseq"),
        (file(r#"<option viscosity="-0.1"/>"#), "must not be negative"),
        (
            file(
                r#"<option density="1"/><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset><worldbody><body><freejoint/><geom type="mesh" mesh="m" fluidshape="ellipsoid"/></body></worldbody>"#,
            ),
            "not supported for a mesh",
        ),
        (file(r#"<option timestep="0"/>"#), "positive"),
        (file(r#"<option><flag override="enable"/></option>"#), "not supported"),
        (file("<deformable><flex/></deformable>"), "deformable"),
        (file("\n\n<worldbody>\n<body>\n"), "mjcf:5: "),
        ("<mujoco>\n<worldbody>\n<body>\n<geom size=\"1".into(), "mjcf:4: not well-formed"),
        ("<mujoco>\n<worldbody>\n</worldbody>\n".into(), "mjcf:3: not well-formed"),
        (file(r#"<default class="other"/>"#), "main"),
        (file("<default><default/></default>"), "needs a class"),
        (with_ball(r#"<actuator><motor joint="none"/></actuator>"#), "no joint called \"none\""),
        (with_ball("<actuator><motor/></actuator>"), "joints, tendons, bodies and at sites only"),
        (with_ball(r#"<actuator><motor site="s"/></actuator>"#), "site"),
        (with_ball(r#"<actuator><motor joint="j" refsite="s"/></actuator>"#), "refsite"),
        (
            with_ball(r#"<compiler><lengthrange mode="none"/></compiler><actuator><muscle joint="j"/></actuator>"#),
            "lengthrange",
        ),
        (with_ball(r#"<actuator><dcmotor joint="j"/></actuator>"#), "not supported"),
        (
            file(
                r#"<worldbody><body><joint name="j" type="ball"/><geom size="1"/></body></worldbody><actuator><motor jointinparent="j"/></actuator>"#,
            ),
            "hinges and slides only",
        ),
        (with_ball(r#"<actuator><general joint="j" dyntype="user"/></actuator>"#), "dyntype"),
        (with_ball(r#"<actuator><position joint="j" kv="1" dampratio="1"/></actuator>"#), "not both"),
        (with_ball(r#"<tendon><spatial armature="1"/></tendon>"#), "spatial tendons with armature"),
        (with_ball(r#"<tendon><spatial range="0 1"/></tendon>"#), "needs a path"),
        (with_ball(r#"<tendon><fixed armature="1"/></tendon>"#), "fixed tendons with armature"),
        (with_ball(r#"<tendon><fixed name="t"><joint joint="x" coef="1"/></fixed></tendon>"#), "no joint called"),
        (with_ball(r#"<tendon><fixed><joint joint="j"/></fixed></tendon>"#), "\"coef\""),
        (with_ball("<tendon><fixed/></tendon>"), "needs hinges or slides"),
        (with_ball(r#"<tendon><fixed stiffness="-1"/></tendon>"#), "must not be negative"),
        (with_ball(r#"<actuator><motor tendon="t"/></actuator>"#), "no tendon called"),
        (with_ball("<sensor><sonar/></sensor>"), "is not known"),
        (file(r#"<option collision="predefined"/>"#), "collision"),
        (with_ball(r#"<equality><tendon tendon1="t"/></equality>"#), "no tendon called"),
        (with_ball("<equality><tendon/></equality>"), "tendon1"),
        (with_ball(r#"<equality><connect body1="b"/></equality>"#), "anchor"),
        (with_ball(r#"<equality><weld body1="b" body2="b"/></equality>"#), "two different bodies"),
        (with_ball("<equality><connect/></equality>"), "\"site1\" and \"site2\""),
        (with_ball(r#"<equality><weld site2="s"/></equality>"#), "\"site1\""),
        (with_ball(r#"<equality><weld site1="s" site2="s"/></equality>"#), "no site called"),
        (with_ball(r#"<equality><weld site1="s" relpose="0 0 0 1 0 0 0"/></equality>"#), "\"relpose\" does not go"),
        (with_ball(r#"<actuator><motor joint="j" delay="0.01" nsample="3"/></actuator>"#), "nothing comes late"),
        (with_ball(r#"<sensor><jointpos joint="j" interval="0.01 0"/></sensor>"#), "nothing comes late"),
        (
            world(r#"<body gravcomp="1"><joint actuatorgravcomp="true"/><geom size="1"/></body>"#),
            "actuatorgravcomp is not supported",
        ),
        (mesh(r#"type="mesh" shellinertia="true""#), "inertia=\"shell\""),
        (mesh(r#"type="plane""#), "neither a plane"),
        (mesh(r#"fitscale="0""#), "must be positive"),
        (mesh(r#"type="capsule""#), "open how to turn a capsule"),
        (with_ball(r#"<contact><pair geom1="g" geom2="x"/></contact>"#), "no geom"),
        (with_ball(r#"<custom><numeric name="restitution:x" data="0.5"/></custom>"#), "no geom"),
        (with_ball(r#"<custom><numeric name="restitution:g" data="1.5"/></custom>"#), "restitution"),
        (world(r#"<replicate count="2000000000"><geom size="1"/></replicate>"#), "lower the count"),
        (world(r#"<replicate count="20000"><body><freejoint/><geom size="1"/></body></replicate>"#), "conaffinity"),
        (world(r#"<replicate count="0"><geom size="1"/></replicate>"#), "at least 1"),
        (world(&("<body>".repeat(5000) + &"</body>".repeat(5000))), "nested deeper"),
    ];
    for (text, wanted) in cases {
        let message = error(&text);
        assert!(message.contains(wanted), "wanted \"{wanted}\" in: {message}");
    }
}

#[test]
fn deep_trees_fit_on_a_small_stack() {
    let read_deep = || {
        let chain = r#"<body><joint/><geom size="1" contype="0"/>"#.repeat(290) + &"</body>".repeat(290);
        assert_eq!(read(&world(&chain)).nv(), 290);
        let frames = r#"<frame pos="1 0 0">"#.repeat(290) + r#"<geom size="1"/>"# + &"</frame>".repeat(290);
        assert_eq!(read(&world(&frames)).geoms[0].position.x, 290.0);
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(read_deep).unwrap().join().unwrap();
}

#[test]
fn lenient_reading_lists_what_it_leaves_out() {
    let text = file(&format!(
        r#"<option collision="all"/><worldbody><geom size="1" sparkle="2"/><composite/>{BALL}</worldbody>
           <actuator><dcmotor joint="j"/><motor tendon="t"/><motor joint="j"/></actuator>
           <tendon><spatial name="t" armature="1"/></tendon>"#
    ));
    error(&text);
    let model = Model::from_mjcf_str_with(&text, &ReadOptions { lenient: true }).unwrap();
    assert_eq!((model.nv(), model.nu()), (1, 1));
    for word in ["collision", "sparkle", "composite", "dcmotor", "tendon"] {
        let listed = model
            .notes
            .iter()
            .any(|note| note.text.starts_with("ignored: ") && note.text.contains(word) && note.changes_motion);
        assert!(listed, "{word}: {:?}", model.notes);
    }
    // What cannot change the motion is told apart from what does, and comes after it.
    let text = file(&format!(
        r#"<worldbody><geom size="1" solref="0.1 1"/>{BALL}</worldbody><sensor><sonar/></sensor>
           <tendon><spatial name="t" armature="1"/></tendon>"#
    ));
    let model = Model::from_mjcf_str_with(&text, &ReadOptions { lenient: true }).unwrap();
    let told: Vec<bool> = model.notes.iter().map(|note| note.changes_motion).collect();
    assert_eq!(told, [true, false, false], "{:?}", model.notes);
    assert!(model.notes[0].text.contains("tendons with armature"), "{:?}", model.notes);
    // Lenient is not careless: what is wrong stays an error.
    let wrong = world(r#"<geom size="-1"/>"#);
    assert!(Model::from_mjcf_str_with(&wrong, &ReadOptions { lenient: true }).is_err());
}

/// Dashes in comments, which XML has none of, are read over, as MuJoCo's parser does; what is wrong behind them keeps its line.
#[test]
fn comments_may_hold_dashes() {
    let text = "<mujoco><!-- -- a -- b ---><!---->\n<!-- x\n------ é -->\n<worldbody><geom size=\"1\"/><!--ok--></worldbody>\n";
    assert_eq!(Model::from_mjcf_str(&format!("{text}</mujoco>")).unwrap().geoms.len(), 1);
    let message = error(&format!("{text}<sparkle/></mujoco>"));
    assert!(message.contains("mjcf:5: <sparkle>"), "{message}");
    assert!(error("<mujoco><!-- -- </mujoco>").contains("not well-formed"));
}

/// A file in which everything stands that the reader knows how to read.
fn rich_file() -> String {
    format!(
        r#"<mujoco model="rich"><compiler angle="degree" settotalmass="3" balanceinertia="true" boundmass="0.01"/>
        <option timestep="0.01"><flag filterparent="disable"/></option>
        <default><joint damping="1"/><geom friction="0.9 0.1"/><position kp="3"/>
          <default class="c"><geom type="capsule" size="0.1 0.2"/></default></default>
        <asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 2 1 0 1 3 0 3 2 1 2 3"/></asset>
        <worldbody><geom name="floor" type="plane" size="1 1 1"/>
          <body name="a" pos="0 0 1" euler="10 20 30"><freejoint/><geom class="c"/><site name="s"/>
            <body name="c"><joint type="ball" range="0 30"/><geom type="mesh" mesh="m" mass="2"/></body></body>
          <replicate count="3" offset="1 0 0" euler="0 0 10">{BALL}</replicate></worldbody>
        <contact><exclude body1="a" body2="b"/><pair geom1="g" geom2="floor" friction="1 1"/></contact>
        <equality><weld body1="a" body2="b"/><joint joint1="j"/></equality>
        <actuator><position joint="j" dampratio="1" inheritrange="1"/></actuator>
        <keyframe><key qpos="0 0 1 1 0 0 0 1 0 0 0 0 0 0"/></keyframe></mujoco>"#
    )
}

#[test]
fn the_rich_file_is_right() {
    let model = read(&rich_file());
    assert_eq!((model.nq(), model.nv(), model.nu()), (14, 12, 3));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("PROPTEST_CASES").map_or(400, |n| n.parse().unwrap()), failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happens to the text, reading ends with a model or an error.
    #[test]
    fn mutated_files_never_panic(
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..40, "[ -~]{0,8}"), 1..6),
        lenient: bool,
    ) {
        let mut text = rich_file();
        for (at, length, new) in cuts {
            let start = at.index(text.len());
            let end = (start + length).min(text.len());
            text.replace_range(start..end, &new);
        }
        let _ = Model::from_mjcf_str_with(&text, &ReadOptions { lenient });
    }

    /// The same for files that stay well-formed: numbers become absurd ones.
    #[test]
    fn absurd_numbers_never_panic(
        which in prop::collection::vec((any::<prop::sample::Index>(), 0usize..14), 1..6),
        lenient: bool,
    ) {
        let absurd = ["0", "-1", "1e308", "-1e308", "1e-320", "1e155", "1e-155", "nan", "inf", "99999999999", "", "1 2 3 4 5 6 7 8", "true", "a"];
        let text = rich_file();
        let values: Vec<_> = text.match_indices("=\"").map(|(at, _)| at + 2).collect();
        let mut edits: Vec<_> = which.iter().map(|(i, a)| (values[i.index(values.len())], absurd[*a])).collect();
        edits.sort_unstable_by_key(|edit| std::cmp::Reverse(edit.0));
        edits.dedup_by_key(|edit| edit.0);
        let mut text = text;
        for (start, new) in edits {
            let end = start + text[start..].find('"').unwrap();
            // Either the first number of the value or all of it.
            let end = text[start..end].find(' ').map_or(end, |blank| start + blank);
            text.replace_range(start..end, new);
        }
        let _ = Model::from_mjcf_str_with(&text, &ReadOptions { lenient });
    }
}
