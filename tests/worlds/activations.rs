//! Actuators with a state of their own, and thrust at sites.

use super::*;
use delassus::model::ActivationLaw;
use delassus::worlds::Quantity;

/// A slide of 1 kg on a filter, an exact filter, an integrator with bounds and a motor, in this order.
fn sledge(integrator: &str) -> Model {
    Model::from_mjcf_str(&format!(
        r#"<mujoco><option timestep="0.01" integrator="{integrator}" gravity="0 0 0"/><worldbody><body><joint name="x" type="slide" axis="1 0 0"/>
             <geom size="0.1" mass="1"/></body></worldbody>
           <actuator><general joint="x" dyntype="filter" dynprm="0.2" gainprm="0"/><position joint="x" kp="0" timeconst="0.05"/>
             <intvelocity joint="x" kp="0" actrange="-0.3 0.5"/><general joint="x" dyntype="filter" dynprm="0.2" actearly="true"/></actuator>
           <keyframe><key name="on" act="0.1 0.2 0.3 0.4" ctrl="1 1 1 1"/></keyframe></mujoco>"#
    ))
    .expect("a model")
}

#[test]
fn activations_follow_their_laws() {
    for integrator in ["Euler", "RK4"] {
        let model = sledge(integrator);
        let laws: Vec<ActivationLaw> = model.activations.iter().map(|activation| activation.law).collect();
        let (filter, exact) = (ActivationLaw::Filter(0.2), ActivationLaw::FilterExact(0.05));
        assert_eq!(laws, [filter, exact, ActivationLaw::Integrator, filter]);
        let mut worlds = worlds(&model, 1, f64_settings());
        worlds.set_control(&[1.0, 2.0, 4.0, 1.0][..]).expect("control");
        worlds.step(10).expect("steps");
        let found = worlds.activations();
        // a = u (1 − exp(−t/τ)): exactly, to fourth order, and to first
        let of = |tau: f64, u: f64| u * (1.0 - (-0.1 / tau).exp());
        assert!((found[0] - of(0.2, 1.0)).abs() < if integrator == "RK4" { 1e-7 } else { 1e-2 }, "{found:?}");
        assert!((found[1] - of(0.05, 2.0)).abs() < if integrator == "RK4" { 1e-1 } else { 1e-14 }, "{found:?}");
        assert!((found[2] - 0.4).abs() < 1e-14, "{found:?}");
        worlds.step(10).expect("steps");
        assert_eq!(worlds.activations()[2], 0.5, "it has a bound");
        // v = Σ Δt a over the ends of all steps: what is early is not late
        let (mut a, mut v) = (0.0, 0.0);
        for _ in 0..20 {
            a += 0.01 * (1.0 - a) / 0.2;
            v += 0.01 * a;
        }
        let found = worlds.velocities()[0];
        assert!(integrator == "RK4" || (found - v).abs() < 1e-14, "{found} {v}");
    }
}

#[test]
fn activations_are_state() {
    let model = sledge("Euler");
    let mut some = worlds(&model, 40, Settings::default());
    let zero = |worlds: &Worlds| worlds.activations().iter().all(|a| *a == 0.0);
    assert!(zero(&some));
    some.set_control(&vec![1.0; 160][..]).expect("control");
    some.step(3).expect("steps");
    let saved = some.save();
    some.step(5).expect("steps");
    let after = (some.activations(), some.velocities());
    // a snapshot, by bytes too, brings them back; what only sets q and v leaves them
    let bytes = saved.to_bytes().expect("bytes");
    some.load(&Snapshot::from_bytes(&bytes).expect("a snapshot")).expect("loads");
    some.step(5).expect("steps");
    assert_eq!((some.activations(), some.velocities()), after);
    let (q, v) = some.state();
    some.set_state(Mask::All, &q, &v).expect("a state");
    assert_eq!(some.activations(), after.0);
    // reset: 0, or the keyframe's
    some.reset(Mask::List(&[3, 17]), 0).expect("a reset");
    let rows = some.activations();
    for (world, row) in rows.chunks(4).enumerate() {
        assert_eq!(row.iter().all(|a| *a == 0.0), [3, 17].contains(&world), "world {world}");
    }
    some.set_start(Start { keyframe: Some(0), ..Start::default() }).expect("a start");
    some.reset(Mask::All, 0).expect("a reset");
    assert!(some.activations().chunks(4).all(|row| row == [0.1f32, 0.2, 0.3, 0.4].map(f64::from)));
    // some worlds, in the order of a list
    some.set_activations(Mask::List(&[20, 1]), &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0][..]).expect("activations");
    assert_eq!(some.activations()[4..8], [5.0, 6.0, 7.0, 8.0]);
    assert_eq!(some.activations()[80..84], [1.0, 2.0, 3.0, 4.0]);
    let mut room = [0.0; 159];
    assert!(some.activations_into(&mut room[..]).unwrap_err().to_string().contains("160"));
    assert!(some.set_activations(Mask::All, &[0.0; 4][..]).unwrap_err().to_string().contains("activations"));
    assert!(some.set_activations(Mask::List(&[40]), &[0.0; 4][..]).is_err());
}

/// Filtered servos of gymnasium's sort of robot: on the floor, sorted by what touches (Runge-Kutta, soft) or not, a world's bits are its own.
#[test]
fn activations_depend_on_nobody_else() {
    let text = std::fs::read_to_string(format!("{}/examples/models/ant.xml", env!("CARGO_MANIFEST_DIR"))).expect("ant");
    let text = text.replace("<motor ", r#"<general dyntype="filter" dynprm="0.04" "#);
    let model = Model::from_mjcf_str(&text).expect("an ant on filters");
    assert_eq!(model.na(), 8);
    for (constraints, integrator) in
        [(delassus::Constraints::Soft, Integrator::Rk4), (delassus::Constraints::Hard, Integrator::Rk4)]
    {
        let settings = Settings { constraints, integrator: Some(integrator), ..Settings::default() };
        let (count, seen) = (100, [0, 37, 99]);
        let control = |worlds: &mut Worlds, which: &[usize], step: usize| {
            let of = |world: usize| (0..8).map(move |k| ((world * 8 + k + 31 * step) as f64).sin());
            let numbers: Vec<f64> = which.iter().flat_map(|world| of(*world)).collect();
            worlds.set_control(&numbers[..]).expect("control");
        };
        let mut all = worlds(&model, count, settings.clone());
        let mut few = worlds(&model, seen.len(), settings);
        for step in 0..80 {
            control(&mut all, &(0..count).collect::<Vec<_>>(), step);
            control(&mut few, &seen, step);
            all.step(2).expect("steps");
            few.step(2).expect("steps");
        }
        assert!(all.reports().iter().map(|report| report.contact_count).sum::<usize>() > count, "they touch");
        let rows = |worlds: &Worlds| {
            let ((q, v), a) = (worlds.state(), worlds.activations());
            let row = |w: usize| [&q[w * 15..][..15], &v[w * 14..][..14], &a[w * 8..][..8]].concat();
            (0..worlds.world_count()).map(row).collect::<Vec<_>>()
        };
        let (all, few) = (rows(&all), rows(&few));
        for (row, world) in few.iter().zip(seen) {
            assert_eq!(*row, all[world], "world {world}");
        }
    }
}

/// A rotor lifts what it stands on: F = m g holds it, its torque turns it, and off the centre it tips it over.
#[test]
fn thrust_acts_at_its_site_and_along_its_axes() {
    let drone = |x: f64, euler: &str| {
        Model::from_mjcf_str(&format!(
            r#"<mujoco><option timestep="0.01"/><worldbody><body><freejoint/><inertial pos="0 0 0" mass="2" diaginertia="0.1 0.2 0.3"/>
                 <site name="rotor" pos="{x} 0 0" euler="{euler}"/></body></worldbody>
               <actuator><motor site="rotor" gear="0 0 1 0 0 0.05" ctrlrange="0 50"/></actuator></mujoco>"#
        ))
        .expect("a drone")
    };
    let step = |model: &Model, thrust: f64| {
        let mut worlds = worlds(model, 1, f64_settings());
        worlds.set_control(&[thrust][..]).expect("control");
        let mut force = [0.0; 6];
        worlds.observe_into(&[Quantity::JointActuatorForce], &mut force[..]).expect("a force");
        worlds.step(1).expect("a step");
        (worlds.velocities(), force)
    };
    let near = |found: &[f64], wanted: [f64; 6]| {
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-14), "{found:?} instead of {wanted:?}");
    };
    let weight = 2.0 * 9.81;
    let (v, force) = step(&drone(0.0, "0 0 0"), weight);
    near(&v, [0.0, 0.0, 0.0, 0.0, 0.0, 0.01 * 0.05 * weight / 0.3]);
    near(&force, [0.0, 0.0, weight, 0.0, 0.0, 0.05 * weight]);
    let (v, _) = step(&drone(0.1, "0 0 0"), weight);
    near(&v, [0.0, 0.0, 0.0, 0.0, -0.01 * 0.1 * weight / 0.2, 0.01 * 0.05 * weight / 0.3]);
    // along x
    let (v, _) = step(&drone(0.0, "0 90 0"), 4.0);
    near(&v, [0.02, 0.0, -0.0981, 0.01 * 0.05 * 4.0 / 0.1, 0.0, 0.0]);
}

#[test]
fn activations_that_cannot_be_are_refused() {
    let of = |actuator: &str| {
        let text = format!(
            r#"<mujoco><worldbody><body><joint name="x" type="slide" range="-1 2"/><joint name="b" type="ball"/><geom size="0.1"/><site name="s"/></body></worldbody>
               <actuator>{actuator}</actuator></mujoco>"#
        );
        Model::from_mjcf_str(&text)
    };
    let wrong = [
        (r#"<motor joint="x" actrange="-1 1"/>"#, "actrange, but no activation"),
        (r#"<intvelocity joint="x" kp="1"/>"#, "needs an actrange"),
        (r#"<intvelocity site="s" kp="1" inheritrange="1"/>"#, "needs a joint or tendon with a range"),
        (r#"<intvelocity joint="x" actrange="0 1" inheritrange="1"/>"#, "not both"),
        (r#"<general joint="x" gaintype="muscle"/>"#, "both gaintype and biastype"),
        (r#"<muscle site="s" lengthrange="0 1"/>"#, "needs a hinge, a slide or a tendon"),
        (r#"<muscle joint="b" lengthrange="0 1"/>"#, "needs a hinge, a slide or a tendon"),
        (r#"<muscle joint="x" lengthrange="0 1" lmin="1.2"/>"#, "reach from below 1"),
        (r#"<general joint="x" dyntype="fliter"/>"#, "filterexact"),
        (r#"<motor joint="x" site="s"/>"#, "not on several"),
        (r#"<motor site="t"/>"#, "no site called"),
        (r#"<position site="s" kp="1"/>"#, "need a hinge, a slide, a ball, a tendon, or a site"),
        (r#"<position joint="x" refsite="s"/>"#, "\"refsite\" needs"),
        (r#"<position site="s" refsite="t"/>"#, "no site called"),
        (r#"<motor jointinparent="b"/>"#, "hinges and slides only"),
        (r#"<adhesion body="none" ctrlrange="0 1"/>"#, "no body called"),
    ];
    for (actuator, says) in wrong {
        let error = of(actuator).expect_err(actuator).to_string();
        assert!(error.contains(says), "{actuator}: {error}");
    }
    // as in MuJoCo, a time constant that is none is next to nothing
    let model = of(r#"<general joint="x" dyntype="filter" dynprm="-1"/>"#).expect("a model");
    assert_eq!(model.activations[0].law, ActivationLaw::Filter(1e-15));
    let mut model = of(r#"<general joint="x" dyntype="filter"/>"#).expect("a model");
    model.activations[0].law = ActivationLaw::Filter(f64::NAN);
    assert!(model.validate().unwrap_err().to_string().contains("time constant"));
    model.activations[0].actuator = 1;
    assert!(model.validate().unwrap_err().to_string().contains("does not exist"));
}

/// A muscle by its curves: on its way from its shortest to its longest length, active and passive, at rest and moving; and how its activation rises and falls.
#[test]
fn muscles_pull_by_their_curves() {
    let model = Model::from_mjcf_str(
        r#"<mujoco><option timestep="0.001" gravity="0 0 0"/><worldbody><body><joint name="x" type="slide"/><geom size="0.1" mass="1"/></body></worldbody>
           <actuator><muscle joint="x" lengthrange="0 1" range="0.4 1.8" force="10" lmin="0.5" lmax="1.6" vmax="1.5" fpmax="1.3" fvmax="1.2"/></actuator></mujoco>"#,
    )
    .expect("a muscle");
    let mut worlds = worlds(&model, 1, f64_settings());
    let mut force = |l: f64, v: f64, a: f64| {
        // L = 0.4 + 1.4 x, and 1/1.4 m is its length at rest
        worlds.set_state(Mask::All, &[(l - 0.4) / 1.4][..], &[v * 1.5 / 1.4][..]).expect("a state");
        worlds.set_activations(Mask::All, &[a][..]).expect("an activation");
        let mut found = [0.0f64];
        worlds.observe_into(&[Quantity::ActuatorForce], &mut found[..]).expect("a force");
        -found[0] / 10.0
    };
    for (l, v, a, wanted) in [
        (1.0, 0.0, 1.0, 1.0),
        (1.0, 0.0, 0.3, 0.3),
        (0.45, 0.0, 1.0, 0.0),
        (0.5, 0.0, 1.0, 0.0),
        (0.75, 0.0, 1.0, 0.5),
        (0.875, 0.0, 1.0, 0.875),
        (1.15, 0.0, 0.0, 1.3 * 0.125),
        (1.15, 0.0, 1.0, 0.875 + 1.3 * 0.125),
        (1.3, 0.0, 0.0, 0.65),
        (1.6, 0.0, 1.0, 1.3 * 1.5),
        (1.0, -1.0, 1.0, 0.0),
        (1.0, -2.0, 1.0, 0.0),
        (1.0, -0.5, 1.0, 0.25),
        (1.0, 0.1, 1.0, 1.15),
        (1.0, 0.2, 1.0, 1.2),
        (1.0, 3.0, 1.0, 1.2),
    ] {
        let found = force(l, v, a);
        assert!((found - wanted).abs() < 1e-12, "L {l}, V {v}, a {a}: {found} instead of {wanted}");
    }
    // faster up than down: 10 and 40 ms
    let mut follow = |from: f64, control: f64| {
        worlds.set_activations(Mask::All, &[from][..]).expect("an activation");
        worlds.set_control(&[control][..]).expect("control");
        worlds.step(1).expect("a step");
        worlds.activations()[0]
    };
    assert!((follow(0.0, 1.0) - 0.001 / (0.01 * 0.5)).abs() < 1e-15);
    assert!((follow(1.0, 0.0) - (1.0 - 0.001 / (0.04 / 2.0))).abs() < 1e-15);
    assert!((follow(0.2, 7.0) - (0.2 + 0.001 * 0.8 / (0.01 * 0.8))).abs() < 1e-15, "control is no more than 1");
}

/// What a file does not say of the lengths of a muscle follows from limits.
#[test]
fn lengths_of_muscles_are_found() {
    let of = |compiler: &str, actuator: &str| {
        let text = format!(
            r#"<mujoco><compiler angle="radian">{compiler}</compiler><worldbody><site name="w" pos="0 0 1"/><body><joint name="j" axis="0 1 0" range="-1 0.5"/><geom size="0.1"/>
                 <site name="u" pos="0 0 0.5"/><body pos="0 0 0.5"><joint name="k" type="slide" axis="0 0 1" range="-0.1 0.2"/><geom size="0.1"/>
                   <site name="v"/><body><joint name="free" axis="1 0 0"/><geom size="0.1"/><site name="off" pos="0 0.1 0"/></body></body></body></worldbody>
               <tendon><fixed name="f"><joint joint="j" coef="2"/><joint joint="k" coef="-1"/></fixed><fixed name="limited" range="-0.3 0.4"><joint joint="free" coef="1"/></fixed>
                 <spatial name="p"><site site="w"/><site site="u"/></spatial><spatial name="q"><site site="w"/><site site="v"/></spatial>
                 <spatial name="open"><site site="w"/><site site="off"/></spatial></tendon>
               <actuator>{actuator}</actuator></mujoco>"#
        );
        Model::from_mjcf_str(&text)
    };
    let range = |compiler: &str, actuator: &str| of(compiler, actuator).expect(actuator).muscles[0].length_range;
    let near = |found: [f64; 2], wanted: [f64; 2]| {
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-8), "{found:?} instead of {wanted:?}");
    };
    near(range("", r#"<muscle joint="j"/>"#), [-1.0, 0.5]);
    near(range("", r#"<muscle joint="j" gear="-2"/>"#), [-1.0, 2.0]);
    near(range("", r#"<muscle joint="j" lengthrange="3 2"/>"#), [-1.0, 0.5]);
    near(range("", r#"<muscle tendon="f"/>"#), [-2.2, 1.1]);
    near(range("", r#"<muscle tendon="limited"/>"#), [-0.3, 0.4]);
    // from (0, 0, 1) to what turns at 0.5 about y: 1.25 − cos φ; and then along the slide too
    let far = |r: f64, angle: f64| (1.0 + r * r - 2.0 * r * angle.cos()).sqrt();
    near(range("", r#"<muscle tendon="p"/>"#), [0.5, far(0.5, 1.0)]);
    near(range("", r#"<muscle tendon="q"/>"#), [0.3, far(0.4, 1.0).max(far(0.7, 1.0))]);
    // what is given stays, unless it is not to; limits count as they stand, if asked for
    let limits = r#"<lengthrange uselimit="true"/>"#;
    near(range(limits, r#"<muscle joint="j" gear="-2"/>"#), [-1.0, 0.5]);
    near(range(limits, r#"<muscle joint="j" lengthrange="0 1"/>"#), [0.0, 1.0]);
    near(range(r#"<lengthrange useexisting="false"/>"#, r#"<muscle joint="j" lengthrange="0 1"/>"#), [-1.0, 0.5]);
    let told = |model: &Model| model.notes.iter().any(|note| note.changes_motion && note.text.contains("lengthrange"));
    assert!(told(&of("", r#"<muscle joint="j"/>"#).expect("a model")));
    assert!(!told(&of(limits, r#"<muscle joint="j"/>"#).expect("a model")));
    for (compiler, actuator, says) in [
        ("", r#"<muscle joint="free"/>"#, "\"free\" has no limits"),
        ("", r#"<muscle tendon="open"/>"#, "\"free\" has no limits"),
        (r#"<lengthrange mode="none"/>"#, r#"<muscle joint="j"/>"#, "finds none"),
        ("", r#"<muscle joint="j"/></actuator><equality><joint joint1="j"/></equality><actuator>"#, "may hold it back"),
    ] {
        let error = of(compiler, actuator).expect_err(actuator).to_string();
        assert!(error.contains(says) && error.contains("lengthrange"), "{actuator}: {error}");
    }
}
