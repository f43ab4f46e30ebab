//! Flags of `<option>`, one by one, and graphics that stand among the physics.

use super::*;

/// Every flag of MuJoCo 4.0.0 (`mj_printSchema`) and of versions before is honoured, refused, or noted as making no difference.
#[test]
fn every_flag_is_honoured_refused_or_noted() {
    let model = |flag: &str| {
        let text = file(&format!(
            r#"<option><flag {flag}/></option>
               <worldbody><geom type="plane" size="1 1 1"/><body name="a"><joint name="j" range="-90 90" stiffness="1" damping="1"
                 frictionloss="1"/><geom size="0.1"/><body name="c"><joint/><geom size="0.1"/></body></body></worldbody>
               <equality><joint joint1="j"/></equality>
               <tendon><fixed range="-1 1" stiffness="1" damping="1" frictionloss="1"><joint joint="j" coef="1"/></fixed></tendon>
               <actuator><position joint="j" kp="3" dampratio="1" ctrlrange="-1 1"/></actuator>"#
        ));
        Model::from_mjcf_str(&text)
    };
    let parts = |flag: &str| {
        let m = model(flag).unwrap();
        let (joint, tendon) = (&m.joints[0], &m.tendons[0]);
        assert_eq!(
            (joint.range.is_some(), joint.friction_loss, joint.stiffness, joint.damping),
            (tendon.range.is_some(), tendon.friction_loss, tendon.stiffness, tendon.damping)
        );
        [
            m.pairs.len() == 2,
            joint.range.is_some(),
            joint.friction_loss == 1.0,
            joint.stiffness == 1.0,
            joint.damping == 1.0,
            m.equalities[0].active,
            m.actuators[0].control_range.is_some(),
            m.actuators[0].gain[0] == 3.0 && m.actuators[0].bias[2] < 0.0,
            m.gravity.z != 0.0,
        ]
    };
    assert_eq!(parts(""), [true; 9]);
    for (name, off) in [
        ("contact", &[0][..]),
        ("limit", &[1]),
        ("frictionloss", &[2]),
        ("spring", &[3]),
        ("damper", &[4]),
        ("passive", &[3, 4]),
        ("equality", &[5]),
        ("constraint", &[0, 1, 2, 5]),
        ("clampctrl", &[6]),
        ("actuation", &[7]),
        ("gravity", &[8]),
    ] {
        let mut wanted = [true; 9];
        for &k in off {
            wanted[k] = false;
        }
        assert_eq!(parts(&format!("{name}=\"disable\"")), wanted, "{name}");
        assert_eq!(parts(&format!("{name}=\"enable\"")), [true; 9], "{name}");
        assert!(model(&format!("{name}=\"disable\"")).unwrap().notes.is_empty(), "{name}");
    }
    assert_eq!(model("filterparent=\"disable\"").unwrap().pairs.len(), 3);
    assert!(model("override=\"enable\"").unwrap_err().to_string().contains("override"));
    for name in "warmstart refsafe sensor midphase nativeccd autoreset island multiccd fwdinv invdiscrete sleep energy diagexact \
                 speculative ipc"
        .split_whitespace()
    {
        let notes = model(&format!("{name}=\"enable\"")).unwrap().notes;
        assert!(notes.len() == 1 && notes[0].text.contains(name) && !notes[0].changes_motion, "{name}: {notes:?}");
    }
}

/// A skin is for graphics, wherever it stands; what it is attached to is not.
#[test]
fn skins_are_noted() {
    let skin = r#"<skin name="s" vertex="0 0 0"><bone body="b" vertid="0"/></skin>"#;
    for section in ["asset", "deformable"] {
        let model = read(&file(&format!("<worldbody>{BALL}</worldbody><{section}>{skin}</{section}>")));
        let [note] = &model.notes[..] else { panic!("{:?}", model.notes) };
        assert!(note.text.contains("<skin>: a skin is for graphics") && !note.changes_motion, "{note}");
    }
}

/// What stands in files of others and changes nothing, without a note.
#[test]
fn what_does_nothing_is_read_over() {
    let model = read(&format!(
        r#"<mujoco xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="mjcf.xsd">
             <compiler><lengthrange accel="20"/></compiler>
             <default><default class="unused"><geom type="box" fitscale="2"/></default></default>
             <worldbody>{BALL}</worldbody>
             <actuator><general joint="j" actdim="-1" actearly="false" delay="0" nsample="2"/></actuator>
             <sensor><jointpos joint="j" delay="0" interval="0 0"/></sensor></mujoco>"#
    ));
    assert!(model.notes.is_empty() && model.nu() == 1, "{:?}", model.notes);
}

/// Gravity compensation as a force of actuators is the same force, where it is not bounded and something actuates (MuJoCo 4.0.0: `qacc`).
#[test]
fn gravity_compensation_of_actuators_is_as_good() {
    let with = |joint: &str, actuator: &str, flag: &str| {
        Model::from_mjcf_str(&file(&format!(
            r#"<option><flag {flag}/></option><worldbody><body gravcomp="1"><joint name="j" actuatorgravcomp="true" {joint}/>
               <geom size="0.1"/></body></worldbody><actuator>{actuator}</actuator>"#
        )))
    };
    let motor = r#"<motor joint="j"/>"#;
    assert!(with("", motor, "").unwrap().notes.is_empty());
    for (joint, actuator, flag) in
        [(r#"actuatorfrcrange="-5 5""#, motor, ""), ("", "", ""), ("", motor, r#"actuation="disable""#)]
    {
        let message = with(joint, actuator, flag).unwrap_err().to_string();
        assert!(message.contains("actuatorgravcomp is not supported"), "{message}");
    }
}
