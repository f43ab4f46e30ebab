//! What defaults and shortcuts make of actuators.

use super::*;

#[test]
fn actuators_share_defaults_across_kinds() {
    let actuators = |defaults: &str, own: &str| {
        read(&file(&format!("<default>{defaults}</default><worldbody>{BALL}</worldbody><actuator>{own}</actuator>")))
            .actuators
    };
    let a = actuators(r#"<motor gear="7" ctrlrange="-2 2"/>"#, r#"<general joint="j"/><position joint="j" kp="3"/>"#);
    assert_eq!((a[0].gear[0], a[0].control_range), (7.0, Some([-2.0, 2.0])));
    assert_eq!((a[1].gear[0], a[1].gain, a[1].bias), (7.0, [3.0, 0.0, 0.0], [0.0, -3.0, 0.0]));
    let a = actuators(
        r#"<position kp="35" kv="2" forcerange="-9 9"/>"#,
        r#"<position joint="j"/><general joint="j"/><motor joint="j"/><velocity joint="j" kv="4"/>"#,
    );
    assert_eq!((a[0].gain, a[0].bias, a[0].force_range), ([35.0, 0.0, 0.0], [0.0, -35.0, -2.0], Some([-9.0, 9.0])));
    assert_eq!((a[1].gain, a[1].bias), (a[0].gain, a[0].bias));
    assert_eq!((a[2].gain, a[2].bias), ([1.0, 0.0, 0.0], [0.0; 3]));
    assert_eq!((a[3].gain, a[3].bias), ([4.0, 0.0, 0.0], [0.0, 0.0, -4.0]));
    let a = actuators(
        "",
        r#"<general joint="j" gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm="4 5"/>
           <general joint="j" gainprm="1 2 3" biasprm="4 5" forcerange="1 2" forcelimited="false"/>"#,
    );
    assert_eq!((a[0].gain, a[0].bias), ([1.0, 2.0, 3.0], [4.0, 5.0, 0.0]));
    assert_eq!((a[1].gain, a[1].bias, a[1].force_range), ([1.0, 0.0, 0.0], [0.0; 3], None));
    let a = actuators("", r#"<position joint="j" inheritrange="0.5"/>"#);
    let [low, high] = a[0].control_range.unwrap();
    assert!((low + 45f64.to_radians()).abs() < 1e-12 && (high - 45f64.to_radians()).abs() < 1e-12);
}

/// What MuJoCo 4.0.0 makes of them: another shortcut begins anew, general only changes what it names.
#[test]
fn a_shortcut_begins_anew_where_defaults_were_another() {
    for (defaults, own, gain, bias) in [
        (r#"<velocity kv="50"/>"#, r#"<position joint="j" kp="3"/>"#, 3.0, [0.0, -3.0, 0.0]),
        (r#"<velocity kv="10"/><position kp="50"/>"#, r#"<position joint="j"/>"#, 50.0, [0.0, -50.0, 0.0]),
        (r#"<position kp="50" kv="4"/><velocity kv="10"/>"#, r#"<position joint="j"/>"#, 1.0, [0.0, -1.0, 0.0]),
        (r#"<position kp="50"/>"#, r#"<velocity joint="j"/>"#, 1.0, [0.0, 0.0, -1.0]),
        (r#"<velocity kv="5"/>"#, r#"<general joint="j"/>"#, 5.0, [0.0, 0.0, -5.0]),
        (r#"<position kp="50" kv="4"/><general gainprm="9"/>"#, r#"<position joint="j"/>"#, 9.0, [0.0, -9.0, -4.0]),
        (
            r#"<general biasprm="1 2 -3" gainprm="5" biastype="affine"/>"#,
            r#"<position joint="j"/>"#,
            5.0,
            [0.0, -5.0, -3.0],
        ),
        (r#"<general dyntype="integrator"/>"#, r#"<position joint="j"/>"#, 1.0, [0.0, -1.0, 0.0]),
        (r#"<position inheritrange="1"/>"#, r#"<motor joint="j"/>"#, 1.0, [0.0; 3]),
        (r#"<position inheritrange="1"/>"#, r#"<velocity joint="j"/>"#, 1.0, [0.0, 0.0, -1.0]),
    ] {
        let text =
            file(&format!("<default>{defaults}</default><worldbody>{BALL}</worldbody><actuator>{own}</actuator>"));
        let a = &read(&text).actuators[0];
        assert_eq!((a.gain, a.bias, a.control_range), ([gain, 0.0, 0.0], bias, None), "{defaults} {own}");
    }
}

/// Servos of a double pendulum, as MuJoCo 4.0.0 damps them: by the inertia that they feel while the other joint gives way.
#[test]
fn a_damping_ratio_feels_what_gives_way() {
    let model = read(&file(
        r#"<worldbody><body><joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .5 0 0" size=".05"/>
             <body pos=".5 0 0"><joint name="b" axis="0 1 0" armature=".1"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".04"/></body></body></worldbody>
           <actuator><position joint="a" kp="10" dampratio="1" gear="2"/><position joint="b" kp="10" dampratio="1"/></actuator>"#,
    ));
    for (actuator, damping) in model.actuators.iter().zip([3.161_580_97, 2.436_727_32]) {
        assert!((actuator.bias[2] + damping).abs() < 1e-7, "{actuator:?}");
    }
}

#[test]
fn a_damping_ratio_becomes_a_damping() {
    // A point-like mass of 2 kg at 3 m, with armature 1 and a child that adds 1 kg at 4 m: inertia 18 + 16 + 1 + small spheres.
    let model = read(&file(
        r#"<worldbody><body><joint name="j" axis="0 1 0" armature="1"/><geom size="0.01" mass="2" pos="3 0 0"/>
             <body pos="3 0 0"><geom size="0.01" mass="1" pos="1 0 0"/></body></body></worldbody>
           <actuator><position joint="j" kp="50" dampratio="0.5" gear="2"/></actuator>"#,
    ));
    let inertia = (18.0 + 16.0 + 1.0 + 0.4 * 3.0 * 1e-4) / 4.0;
    let damping = 2.0 * 0.5 * (50.0f64 * inertia).sqrt();
    assert!((model.actuators[0].bias[2] + damping).abs() < 1e-9 * damping, "{:?}", model.actuators[0]);
}

/// A joint by its time constant and damping ratio, as MuJoCo 4.0.0 has it: with the inertia that it feels while the other joint gives way, and in place of its stiffness.
#[test]
fn a_spring_by_its_time_constant_feels_what_gives_way() {
    let text = |flag: &str| {
        file(&format!(
            r#"<option>{flag}</option><worldbody><body pos="0 0 1"><joint name="a" axis="0 1 0" springdamper="0.3 0.7" armature="0.01"/>
                 <geom type="capsule" size="0.04" fromto="0 0 0 0.3 0 0"/><body pos="0.3 0 0">
                 <joint name="b" axis="0 1 0" springdamper="0.1 2" stiffness="5"/><joint name="c" axis="0 1 0" springdamper="0 2" stiffness="5"/>
                 <geom type="capsule" size="0.04" fromto="0 0 0 0.3 0 0"/></body></body></worldbody>"#
        ))
    };
    let without_c =
        |text: String| text.replace(r#"<joint name="c" axis="0 1 0" springdamper="0 2" stiffness="5"/>"#, "");
    let model = read(&without_c(text("")));
    let wanted = [[2.752_443_988_831_2, 0.809_218_532_716_373], [0.401_334_816_644_087, 0.321_067_853_315_269]];
    for (joint, wanted) in model.joints.iter().zip(wanted) {
        let near = |found: f64, wanted: f64| (found - wanted).abs() < 1e-9 * wanted;
        assert!(near(joint.stiffness, wanted[0]) && near(joint.damping, wanted[1]), "{joint:?}");
    }
    assert_eq!(read(&text("")).joints[2].stiffness, 5.0);
    let off = read(&without_c(text(r#"<flag spring="disable"/>"#)));
    assert!(off.joints.iter().all(|joint| joint.stiffness == 0.0 && joint.damping > 0.0));
}

/// What MuJoCo 4.0.0 makes of the defaults of one kind for an actuator of another.
#[test]
fn defaults_of_other_kinds_leave_only_what_all_have() {
    let with = |defaults: &str, own: &str| {
        Model::from_mjcf_str(&file(&format!(
            "<default>{defaults}</default><worldbody>{BALL}</worldbody><actuator>{own}</actuator>"
        )))
    };
    let muscle = r#"<muscle ctrlrange="0 7" timeconst="0.01 0.04" scale="3"/>"#;
    for (own, gain, bias) in [
        (r#"<motor joint="j"/>"#, 1.0, [0.0; 3]),
        (r#"<position joint="j" kp="3"/>"#, 3.0, [0.0, -3.0, 0.0]),
        (r#"<velocity joint="j"/>"#, 1.0, [0.0, 0.0, -1.0]),
    ] {
        for defaults in [muscle, r#"<cylinder area="2" ctrlrange="0 7"/>"#, r#"<adhesion gain="2" ctrlrange="0 7"/>"#] {
            let a = &with(defaults, own).unwrap().actuators[0];
            assert_eq!(
                (a.gain, a.bias, a.control_range),
                ([gain, 0.0, 0.0], bias, Some([0.0, 7.0])),
                "{defaults} {own}"
            );
        }
    }
    let a = &with(r#"<adhesion gain="2"/>"#, r#"<general joint="j"/>"#).unwrap().actuators[0];
    assert_eq!((a.gain, a.bias, a.control_range), ([2.0, 0.0, 0.0], [0.0; 3], None));
    let own = r#"<adhesion body="b" ctrlrange="0 3" forcerange="0 9"/>"#;
    let a = &with(r#"<adhesion gain="2"/>"#, own).unwrap().actuators[0];
    assert_eq!((a.transmission, a.gain, a.control_range), (Transmission::Body(1), [2.0, 0.0, 0.0], Some([0.0, 3.0])));
    for wrong in [r#"<adhesion body="b"/>"#, r#"<adhesion body="b" ctrlrange="-1 1"/>"#] {
        let message = with("", wrong).unwrap_err().to_string();
        assert!(message.contains("adhesion does not push"), "{message}");
    }
    // what is general is what its class makes of it
    let model = with(muscle, r#"<general joint="j" lengthrange="-1 1"/>"#).unwrap();
    assert_eq!((model.muscles[0].fastest, model.muscles[0].range), (1.5, [0.75, 1.05]));
    // f = −kv u v
    for (defaults, own, kv) in [
        ("", r#"<damper joint="j" kv="3" ctrlrange="0 2"/>"#, 3.0),
        (r#"<damper kv="5" ctrlrange="0 2"/>"#, r#"<damper joint="j"/>"#, 5.0),
        (r#"<velocity kv="5" ctrlrange="0 2"/>"#, r#"<damper joint="j"/>"#, 0.0),
    ] {
        let a = &with(defaults, own).unwrap().actuators[0];
        assert_eq!((a.gain, a.bias, a.control_range), ([0.0, 0.0, -kv], [0.0; 3], Some([0.0, 2.0])), "{own}");
    }
}
