//! Tendons: what pulls along them, and what holds their length.

use super::*;
use delassus::Constraints;
use delassus::worlds::Quantity;

const ARM: &str = r#"<body pos="0 0 1"><joint name="a" axis="0 1 0" ref="0.1" springref="0.3"/>
      <geom type="capsule" size="0.04" fromto="0 0 0 0.3 0 0" contype="0"/>
    <body pos="0.3 0 0"><joint name="b" axis="0 1 0" damping="0.1"/><geom type="capsule" size="0.04" fromto="0 0 0 0.3 0 0" contype="0"/>
      <body pos="0.3 0 0"><joint name="c" type="slide" axis="1 0 0" springref="-0.05"/><geom size="0.05" contype="0"/></body></body></body>"#;

fn model(world: &str, rest: &str) -> Model {
    Model::from_mjcf_str(&format!(
        r#"<mujoco><compiler angle="radian"/><option timestep="0.002"/><worldbody>{world}</worldbody>{rest}</mujoco>"#
    ))
    .expect("a model")
}

/// The model in a state, in f64.
fn at(model: &Model, q: &[f64], v: &[f64], constraints: Constraints) -> Worlds {
    let mut worlds = worlds(model, 1, Settings { constraints, ..f64_settings() });
    worlds.set_state(Mask::All, q, v).expect("a state");
    worlds
}

fn read(worlds: &Worlds, quantities: &[Quantity], count: usize) -> Vec<f64> {
    let mut numbers = vec![0.0; count];
    worlds.observe_into(quantities, &mut numbers[..]).expect("quantities");
    numbers
}

fn near(found: &[f64], wanted: &[f64], tolerance: f64) {
    let same = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= tolerance * b.abs().max(1.0));
    assert!(same && found.len() == wanted.len(), "{found:?} instead of {wanted:?}");
}

/// Springs with one and two lengths at rest, damping, a motor, servos with kv and with a damping ratio, and sensors: three steps of MuJoCo 4.0.0.
#[test]
fn forces_along_tendons_are_those_of_mujoco() {
    let model = model(
        ARM,
        r#"<tendon><fixed name="t" stiffness="30" damping="0.4"><joint joint="a" coef="0.5"/><joint joint="b" coef="-1"/></fixed>
             <fixed name="s" stiffness="20" springlength="-0.1 0.2"><joint joint="b" coef="1"/><joint joint="c" coef="2"/></fixed>
             <fixed name="u"><joint joint="a" coef="0.3"/><joint joint="c" coef="1.5"/><joint joint="c" coef="0.5"/></fixed></tendon>
           <actuator><motor tendon="u" gear="3" ctrlrange="-1 1"/><position tendon="t" kp="5" kv="0.3"/>
             <position name="d" tendon="u" kp="8" dampratio="0.7"/></actuator>
           <sensor><tendonpos tendon="t"/><tendonvel tendon="t"/><actuatorpos actuator="d"/><actuatorvel actuator="d"/>
             <actuatorfrc actuator="d"/></sensor>"#,
    );
    let mut arm = at(&model, &[0.7, -0.4, 0.12], &[0.5, -1.0, 0.3], Constraints::Hard);
    arm.control_mut().copy_from_slice(&[0.8, 0.4, -0.2]);
    let sensors: Vec<Quantity> = (0..5).map(Quantity::Sensor).collect();
    near(&read(&arm, &sensors, 5), &[0.75, 1.25, 0.45, 0.75, -6.223_479_829_303_017], 1e-13);
    assert!(arm.step(3).expect("steps")[0].solved());
    let (q, v) = arm.state();
    near(&q, &[0.695_040_698_829_559, -0.387_017_811_736_309, 0.120_715_658_913_039], 1e-13);
    near(&v, &[-1.431_085_566_717_439, 3.611_994_586_223_677, 0.040_557_398_409_946], 1e-11);
}

/// Limits within a margin, dry friction and a polynomial between tendons of two trees, as soft as MuJoCo 4.0.0 has them: its velocities after a step.
#[test]
fn soft_tendons_are_those_of_mujoco() {
    let weight =
        r#"<body pos="0 1 1"><joint name="d" type="slide" axis="0 0 1"/><geom size="0.1" contype="0"/></body>"#;
    let model = model(
        &(ARM.replace(r#" damping="0.1""#, "") + weight),
        r#"<tendon><fixed name="t" range="-0.5 0.7" margin="0.05" solreflimit="0.03 0.8" solimplimit="0.8 0.9 0.1">
               <joint joint="a" coef="0.5"/><joint joint="b" coef="-1"/></fixed>
             <fixed name="s" frictionloss="0.3" solreffriction="0.05 1"><joint joint="b" coef="1"/><joint joint="c" coef="2"/></fixed>
             <fixed name="u"><joint joint="a" coef="0.3"/><joint joint="c" coef="2"/></fixed>
             <fixed name="w"><joint joint="d" coef="1.5"/></fixed></tendon>
           <equality><tendon tendon1="u" tendon2="w" polycoef="0.01 0.8 0.2 0 0" solref="0.04 1"/></equality>"#,
    );
    let mut arm = at(&model, &[0.7, -0.4, 0.12, 0.05], &[0.5, -1.0, 0.3, -0.2], Constraints::Soft);
    assert!(arm.step(1).expect("a step")[0].solved());
    near(
        &arm.velocities(),
        &[0.297_854_324_354_64, -0.542_608_472_848_786, 0.060_505_183_879_48, -0.202_313_182_747_519],
        1e-9,
    );
}

/// A hard limit of L = x + 2 y stops it there: Δv = M⁻¹ cᵀ λ with c M⁻¹ cᵀ λ = −L̇, and limit forces are λ c/Δt.
#[test]
fn a_hard_limit_of_a_tendon_holds() {
    let two = r#"<body><joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" mass="2" contype="0"/>
        <body><joint name="y" type="slide" axis="0 1 0"/><geom size="0.1" mass="1" contype="0"/></body></body>"#;
    let rest =
        r#"<tendon><fixed range="-1 0.5"><joint joint="x" coef="1"/><joint joint="y" coef="2"/></fixed></tendon>"#;
    let model = model(two, rest);
    let mut w = at(&model, &[0.1, 0.2], &[0.3, 0.6], Constraints::Hard);
    assert!(w.step(1).expect("a step")[0].solved());
    // masses 3 and 1: c M⁻¹ cᵀ = 1/3 + 4
    let impulse = -1.5 / (1.0 / 3.0 + 4.0);
    near(&w.velocities(), &[0.3 + impulse / 3.0, 0.6 + 2.0 * impulse], 1e-9);
    near(&read(&w, &[Quantity::LimitForce], 2), &[impulse / 0.002, 2.0 * impulse / 0.002], 1e-6);
    // and from far away it is met, not passed
    w.set_state(Mask::All, &[-0.5, 0.2], &[0.4, 1.0]).expect("a state");
    for _ in 0..200 {
        assert!(w.step(1).expect("a step")[0].solved());
        let q = w.positions();
        assert!(q[0] + 2.0 * q[1] < 0.5 + 1e-9, "{q:?}");
    }
    let (q, v) = w.state();
    near(&[q[0] + 2.0 * q[1], v[0] + 2.0 * v[1]], &[0.5, 0.0], 1e-9);
}

/// Dry friction along a tendon: what pulls less is held, what pulls more moves by the difference.
#[test]
fn dry_friction_of_a_tendon_holds_what_pulls_less() {
    let one = r#"<body><joint name="x" type="slide" axis="0 0 1"/><geom size="0.1" mass="2" contype="0"/></body>"#;
    let rest =
        |loss: f64| format!(r#"<tendon><fixed frictionloss="{loss}"><joint joint="x" coef="0.5"/></fixed></tendon>"#);
    for (loss, rate) in [(50.0, 0.0), (30.0, -9.81 + 0.5 * 30.0 / 2.0)] {
        let mut w = at(&model(one, &rest(loss)), &[0.0], &[0.0], Constraints::Hard);
        assert!(w.step(10).expect("steps")[0].solved());
        near(&w.velocities(), &[0.02 * rate], 1e-9);
    }
}

/// An equality of two tendons of two trees: a rack that a hinge and a slide move together follows a weight, whichever tree it is of.
#[test]
fn an_equality_of_tendons_is_kept() {
    let weight =
        r#"<body pos="0 1 1"><joint name="d" type="slide" axis="0 0 1"/><geom size="0.1" contype="0"/></body>"#;
    let rest = r#"<tendon><fixed name="u"><joint joint="a" coef="0.3"/><joint joint="c" coef="2"/></fixed>
             <fixed name="w"><joint joint="d" coef="1.5"/></fixed></tendon>
           <equality><tendon tendon1="u" tendon2="w" polycoef="0.01 0.8 0 0 0"/></equality>"#;
    let model = model(&(ARM.to_owned() + weight), rest);
    // at rest a stands at 0.1
    let mut w = at(&model, &[0.1, 0.0, 0.005, 0.0], &[0.0; 4], Constraints::Hard);
    for _ in 0..50 {
        assert!(w.step(5).expect("steps")[0].solved());
        let (q, v) = w.state();
        near(
            &[0.3 * (q[0] - 0.1) + 2.0 * q[2] - 0.01 - 1.2 * q[3], 0.3 * v[0] + 2.0 * v[2] - 1.2 * v[3]],
            &[0.0; 2],
            1e-8,
        );
    }
}

type Change = fn(&mut Model);

/// A model that was changed by hand: what is wrong with its tendons is said.
#[test]
fn what_is_wrong_with_a_tendon_is_said() {
    let weight =
        r#"<body pos="0 1 1"><joint name="d" type="slide" axis="0 0 1"/><geom size="0.1" contype="0"/></body>"#;
    let rest = r#"<tendon><fixed name="u" range="-1 1"><joint joint="a" coef="0.3"/><joint joint="c" coef="2"/></fixed></tendon>
        <actuator><motor tendon="u"/></actuator><equality><tendon tendon1="u"/></equality>"#;
    let model = model(&(ARM.to_owned() + weight), rest);
    let cases: [(&str, Change); 7] = [
        ("hinges or slides", |m| m.tendons[0].joints[0].0 = 9),
        ("finite coefficients", |m| m.tendons[0].joints[0].1 = f64::NAN),
        ("joint twice", |m| m.tendons[0].joints[1].0 = 0),
        ("not zero", |m| m.tendons[0].joints.iter_mut().for_each(|(_, c)| *c = 0.0)),
        ("lower first", |m| m.tendons[0].range = Some([1.0, 0.0])),
        ("acts on a tendon", |m| m.actuators[0].transmission = delassus::model::Transmission::Tendon(1)),
        ("couples a tendon", |m| m.tendons.clear()),
    ];
    for (wanted, change) in cases {
        let mut wrong = model.clone();
        change(&mut wrong);
        if wanted == "couples a tendon" {
            wrong.actuators.clear();
        }
        let message = wrong.validate().expect_err(wanted).to_string();
        assert!(message.contains(wanted), "{message}");
        assert_ne!(wrong.fingerprint(), model.fingerprint());
    }
}

/// A limit across four trees makes one block of them, which is kept as its factor: plates that only it holds up carry boxes, each with a quarter of its force.
#[test]
fn a_limit_across_trees_carries_what_lies_on_them() {
    let plate = |i: usize| {
        format!(
            r#"<body pos="{i} 0 1"><joint name="p{i}" type="slide" axis="0 0 1"/><geom type="box" size=".3 .3 .05" mass="2"/></body>
               <body pos="{i} 0 1.15"><freejoint/><geom type="box" size=".1 .1 .1" mass="3"/></body>"#
        )
    };
    let term = |i: usize| format!(r#"<joint joint="p{i}" coef="1"/>"#);
    let rest = format!(r#"<tendon><fixed range="0 9">{}</fixed></tendon>"#, (0..4).map(term).collect::<String>());
    let model = model(&(0..4).map(plate).collect::<String>(), &rest);
    assert_eq!(model.trees.len(), 8);
    let mut w = worlds(&model, 2, f64_settings());
    let mut rows = 0;
    for _ in 0..20 {
        let reports = w.step(5).expect("steps");
        assert!(reports.iter().all(WorldReport::solved), "{reports:?}");
        rows = reports[0].row_count;
    }
    // four corners each, and the limit
    assert_eq!(rows, 4 * 4 * 3 + 1);
    let forces = read(&w, &[Quantity::LimitForce], 2 * model.nv());
    for joint in &model.joints[..] {
        let wanted = if joint.name.is_empty() { 0.0 } else { 5.0 * 9.81 };
        assert!((forces[joint.v_start] - wanted).abs() < 1e-6, "{}: {}", joint.name, forces[joint.v_start]);
    }
    let sum: f64 = model.joints.iter().filter(|j| !j.name.is_empty()).map(|j| w.positions()[j.q_start]).sum();
    assert!(sum.abs() < 1e-9, "{sum}");
}

/// A ball on a string, and a weight over a drum by a pulley.
const ON_STRINGS: &str = r#"<site name="hook" pos="0 0 2"/><geom name="drum" type="cylinder" size="0.1 0.2" pos="1 0 2" euler="1.5707963267948966 0 0" contype="0" conaffinity="0"/>
    <site name="over" pos="1 0 2.15"/>
    <body pos="0.2 0 1.9"><freejoint/><geom size="0.05" mass="0.5"/><site name="ball" pos="0 0 0.05"/></body>
    <body pos="0.85 0 1"><joint name="left" type="slide" axis="0 0 1"/><geom size="0.05" mass="1"/><site name="left"/></body>
    <body pos="1.15 0 1"><joint name="right" type="slide" axis="0 0 1"/><geom size="0.05" mass="3"/><site name="right"/></body>"#;
const STRINGS: &str = r#"<tendon><spatial name="string" range="0 0.5"><site site="hook"/><site site="ball"/></spatial>
    <spatial name="rope" range="0 2.4"><site site="left"/><geom geom="drum" sidesite="over"/><site site="right"/></spatial></tendon>"#;

/// What hangs on a string comes to rest below its hook and pulls with its weight; two weights over a drum go up and down alike, as Atwood says.
#[test]
fn strings_hold_what_hangs_on_them() {
    for precision in [Precision::F64, Precision::F32] {
        let model = model(ON_STRINGS, STRINGS);
        let settings = Settings { precision, ..f64_settings() };
        let mut worlds = worlds(&model, 3, settings);
        let lengths = |worlds: &Worlds| read(worlds, &[Quantity::TendonLength], 6);
        let (mut longest, mut acceleration) = ([0.0f64; 2], 0.0);
        for step in 0..200 {
            assert!(worlds.step(1).expect("a step").iter().all(WorldReport::solved));
            let now = lengths(&worlds);
            assert!(now.chunks(2).all(|row| row == &now[..2]), "all worlds do alike");
            longest = [0, 1].map(|i| longest[i].max(now[i]));
            if step == 120 {
                let before = worlds.velocities()[7];
                worlds.step(1).expect("a step");
                acceleration = (worlds.velocities()[7] - before) / 0.002;
            }
        }
        assert!(longest[0] < 0.5 + 1e-3 && longest[1] < 2.4 + 1e-3, "{longest:?}");
        let now = lengths(&worlds);
        // Atwood: a = g (m₂ − m₁)/(m₁ + m₂); the ways to the drum are all but vertical, and no longer than they are
        assert!((now[1] - 2.4).abs() < 1e-3, "{now:?}");
        assert!((acceleration + 9.81 * 2.0 / 4.0).abs() < 0.05, "{acceleration}");
    }
}

/// Lengths of paths in f32 are those in f64 to its rounding, whatever is in their way.
#[test]
fn paths_are_the_same_in_either_precision() {
    let model = model(
        &ON_STRINGS.replace(r#"<site name="hook" pos="0 0 2"/>"#, r#"<site name="hook" pos="0 0 2"/><geom name="bead" size="0.06" pos="0.03 0.02 1.8" contype="0" conaffinity="0"/><site name="in" pos="0.03 0.02 1.81"/><site name="by" pos="0.2 0 1.8"/>"#),
        r#"<tendon><spatial><site site="hook"/><geom geom="bead"/><site site="ball"/></spatial>
             <spatial><site site="hook"/><geom geom="bead" sidesite="by"/><site site="ball"/></spatial>
             <spatial><site site="hook"/><geom geom="bead" sidesite="in"/><site site="ball"/></spatial>
             <spatial><site site="ball"/><geom geom="drum"/><site site="right"/><pulley divisor="2"/><site site="left"/><site site="hook"/></spatial></tendon>"#,
    );
    let count = 200;
    let mut both = [Precision::F64, Precision::F32]
        .map(|precision| worlds(&model, count, Settings { precision, ..f64_settings() }));
    let mut q = vec![0.0; count * model.nq()];
    for (world, row) in q.chunks_mut(model.nq()).enumerate() {
        row.copy_from_slice(&model.q0);
        let mut noise = [0.0; 5];
        Noise::of_world(3, world).uniform(-0.35, 0.35, &mut noise);
        (row[0], row[1], row[2]) = (noise[0], noise[1], 1.7 + noise[2]);
        (row[7], row[8]) = (noise[3], noise[4]);
    }
    let v = vec![0.3; count * model.nv()];
    let quantities = [Quantity::TendonLength, Quantity::TendonVelocity];
    let [exact, rounded] = both.each_mut().map(|worlds| {
        worlds.set_state(Mask::All, &q[..], &v[..]).expect("a state");
        read(worlds, &quantities, 8 * count)
    });
    let mut far = 0;
    for (exact, rounded) in exact.chunks(8).zip(rounded.chunks(8)) {
        assert!(exact.iter().chain(rounded).all(|x| x.is_finite()));
        // what just touches may wrap in one and pass in the other, to the same length
        let off = |range: std::ops::Range<usize>| range.map(|k| (exact[k] - rounded[k]).abs()).fold(0.0, f64::max);
        assert!(off(0..4) < 2e-5, "{exact:?} {rounded:?}");
        far += usize::from(off(4..8) > 1e-3);
    }
    assert!(far <= 2, "{far} of {count} velocities are off");
    // a path is no shorter than the straight way, and longer where it goes around
    let longer = exact.chunks(8).filter(|row| row[1] > row[0] + 1e-6).count();
    assert!(exact.chunks(8).all(|row| row[1] >= row[0] - 1e-12) && longer > 10, "{longer}");
}

#[test]
fn paths_that_cannot_be_are_refused() {
    let of = |tendon: &str| {
        let text = format!(
            r#"<mujoco><worldbody><site name="a"/><geom name="box" type="box" size="1 1 1"/><geom name="ball" size="1"/>
                 <body><joint name="x" type="slide"/><geom size="0.1"/><site name="b"/></body></worldbody><tendon><spatial name="t">{tendon}</spatial></tendon></mujoco>"#
        );
        Model::from_mjcf_str(&text)
    };
    let (a, b) = (r#"<site site="a"/>"#, r#"<site site="b"/>"#);
    assert!(of(&format!("{a}{b}")).is_ok());
    for (path, says) in [
        (String::new(), "needs a path"),
        (a.into(), "at least two sites"),
        (format!("{a}<geom geom='ball'/>"), "site before and after"),
        (format!("<geom geom='ball'/>{a}{b}"), "site before and after"),
        (format!("{a}<geom geom='box'/>{b}"), "no sphere and no cylinder"),
        (format!("{a}<geom geom='ball' sidesite='c'/>{b}"), "no site called"),
        (format!("{a}{b}<pulley divisor='2'/>"), "branch after it"),
        (format!("{a}{b}<pulley divisor='2'/>{a}"), "at least two sites"),
        (format!("{a}{b}<pulley divisor='0'/>{a}{b}"), "positive"),
        (format!("{a}{b}<pulley/>{a}{b}"), "divisor"),
        (format!("{a}<joint joint='x' coef='1'/>{b}"), "part of a path"),
    ] {
        let error = of(&path).expect_err(&path).to_string();
        assert!(error.contains(says), "{path}: {error}");
    }
}

/// Tendons that can move nothing where they are: at a dead centre (in one line with an axis), within a body, between things that are fixed. None of them throws anything, and none is left unsolved; beside
/// one of a second tree, whose islands are searched.
#[test]
fn tendons_that_move_nothing_do_nothing() {
    let text = r#"<mujoco><option timestep="0.002" gravity="0 0 0"/><worldbody><site name="a" pos=".6 .3 0"/><site name="w" pos="0 0 1"/><site name="x" pos="1 0 1"/>
        <body euler="0 0 180"><joint axis="0 0 1"/><geom size=".05" pos=".3 0 0"/><site name="b" pos=".4 .2 0"/></body>
        <body pos="3 0 0"><freejoint/><geom size=".1"/><site name="c" pos=".25 0 0"/><site name="d" pos="-.25 0 0"/></body></worldbody>
      <tendon><spatial name="dead" range="0 .1" frictionloss="0.1"><site site="a"/><site site="b"/></spatial>
        <spatial name="within" range="0 .1" frictionloss="0.1"><site site="c"/><site site="d"/></spatial>
        <spatial name="fixed" range="0 .1" frictionloss="0.1"><site site="w"/><site site="x"/></spatial></tendon>EQUALITY</mujoco>"#;
    for equality in [
        "",
        r#"<equality><tendon tendon1="dead" polycoef=".1 0 0 0 0"/><tendon tendon1="within" polycoef=".1 0 0 0 0"/></equality>"#,
    ] {
        let model = Model::from_mjcf_str(&text.replace("EQUALITY", equality)).expect("a model");
        for (constraints, precision) in [
            (Constraints::Hard, Precision::F64),
            (Constraints::Hard, Precision::F32),
            (Constraints::Soft, Precision::F64),
            (Constraints::Soft, Precision::F32),
        ] {
            let mut worlds = worlds(&model, 2, Settings { constraints, precision, ..f64_settings() });
            worlds.step(5).expect("steps");
            let speed = worlds.velocities().iter().fold(0.0, |most: f64, v| most.max(v.abs()));
            assert!(
                speed < 0.1 && worlds.reports().iter().all(WorldReport::solved),
                "{constraints:?} {precision:?}: {speed}"
            );
        }
    }
}

/// An end on the axis of what the path passes through is no reason for a length that is not a number.
#[test]
fn an_end_on_the_axis_is_passed_by() {
    let model = Model::from_mjcf_str(
        r#"<mujoco><worldbody><geom name="drum" type="cylinder" size=".1 .2"/><site name="in" pos=".02 0 .03"/><site name="a" pos=".5 .5 0"/>
             <body><joint axis="0 0 1"/><geom size=".05" pos=".3 0 0"/><site name="b"/></body></worldbody>
           <tendon><spatial stiffness="1"><site site="a"/><geom geom="drum" sidesite="in"/><site site="b"/></spatial></tendon></mujoco>"#,
    )
    .expect("a model");
    for precision in [Precision::F64, Precision::F32] {
        let mut worlds = worlds(&model, 1, Settings { precision, ..f64_settings() });
        near(&read(&worlds, &[Quantity::TendonLength], 1), &[0.5f64.hypot(0.5)], 1e-6);
        assert!(worlds.step(3).expect("steps")[0].solved());
        // its size is the model's
        let size = worlds.parameter(Parameter::GeomSize);
        assert!(
            worlds
                .set_parameter(Parameter::GeomSize, Mask::All, &size[..])
                .unwrap_err()
                .to_string()
                .contains("tendons")
        );
    }
}
