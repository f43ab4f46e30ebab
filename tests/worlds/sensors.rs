//! Sensors that look back at a step, and contacts by pairs, against closed forms.

use super::*;
use delassus::worlds::{Frame, Quantity};

/// What rounding leaves, relative to numbers of about 10.
const ROUNDING: f64 = 1e-9;
/// What the tolerance of the contact solver (m/s) leaves of a force at a step of 0.01 s and masses of about 1 kg, N.
const SETTLED: f64 = 1e-3;
/// What the solver's tolerance in f64, 1e-10 m/s, leaves of a force at a step of 2 ms and masses of 3 kg is 1.5e-7 N, and less of a moment.
const HELD: f64 = 1e-6;

fn model(text: &str) -> Model {
    Model::from_mjcf_str(text).expect("a model")
}

/// Two worlds of `text` in f64 that feel, in the state `v` at rest position.
fn feeling(model: &Model, v: &[f64]) -> Worlds {
    let mut worlds = worlds(model, 2, f64_settings());
    worlds.feel_contacts(true);
    worlds.set_state(Mask::All, &model.q0.repeat(2), &v.repeat(2)).expect("a state");
    worlds
}

/// What a sensor reads in the second world.
fn read(worlds: &Worlds, name: &str) -> Vec<f64> {
    seen(worlds, Quantity::Sensor(worlds.model().sensor(name).expect("a sensor")))
}

fn seen(worlds: &Worlds, quantity: Quantity) -> Vec<f64> {
    let len = quantity.len(worlds.model());
    let mut out = vec![0.0; 2 * len];
    worlds.observe_into(&[quantity], &mut out).expect("a quantity");
    out.split_off(len)
}

fn assert_near(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() < tolerance, "{what}: {found:?} instead of {expected:?}");
    }
}

#[test]
fn what_falls_feels_only_that_it_spins() {
    let model = model(
        r#"<mujoco><worldbody><body pos="0 0 5"><freejoint/><geom size="0.1" mass="2"/>
             <site name="middle"/><site name="edge" pos="0.3 0 0" euler="0 0 90"/>
           </body></worldbody>
           <sensor><accelerometer name="middle" site="middle"/><accelerometer name="edge" site="edge"/>
             <framelinacc name="linear" objtype="site" objname="edge"/><force name="force" site="edge"/>
             <torque name="torque" site="edge"/></sensor></mujoco>"#,
    );
    let spin = 4.0;
    let mut worlds = feeling(&model, &[1.0, 2.0, 3.0, 0.0, 0.0, spin]);
    assert_near(&read(&worlds, "middle"), &[0.0; 3], f64::MIN_POSITIVE, "before a step");
    worlds.step(1).expect("a step");
    assert_near(&read(&worlds, "middle"), &[0.0; 3], ROUNDING, "the middle");
    // −ω² r towards the middle, along −x of the body, +y of the site
    assert_near(&read(&worlds, "edge"), &[0.0, spin * spin * 0.3, 0.0], ROUNDING, "the edge");
    assert_near(&read(&worlds, "linear"), &[-spin * spin * 0.3, 0.0, 0.0], ROUNDING, "the edge in world axes");
    assert_near(&read(&worlds, "force"), &[0.0; 3], ROUNDING, "nothing holds it");
    assert_near(&read(&worlds, "torque"), &[0.0; 3], ROUNDING, "nothing holds it");
}

#[test]
fn a_pendulum_pulls_by_its_weight_and_its_swing() {
    let (mass, length, radius, torque) = (1.5, 0.7, 0.1, 2.0);
    let model = model(&format!(
        r#"<mujoco><option timestep="0.002"/><worldbody>
             <body name="rod" pos="0 0 2"><joint name="hinge" axis="0 1 0"/><site name="hinge"/>
               <geom pos="0 0 -{length}" size="{radius}" mass="{mass}"/></body>
           </worldbody>
           <actuator><motor joint="hinge"/></actuator>
           <sensor><force name="force" site="hinge"/><torque name="torque" site="hinge"/>
             <framelinacc name="bob" objtype="body" objname="rod"/><frameangacc name="turn" objtype="xbody" objname="rod"/>
           </sensor></mujoco>"#
    ));
    let (angle, rate): (f64, f64) = (0.6, -1.3);
    let mut worlds = worlds(&model, 2, f64_settings());
    worlds.feel_contacts(true);
    worlds.set_state(Mask::All, &[0.0, angle], &[0.0, rate]).expect("a state");
    worlds.set_control(&[torque; 2]).expect("control");
    worlds.step(1).expect("a step");
    // θ̈ = (τ − m g l sin θ)/(2/5 m r² + m l²), at the start of the step; the rod points along −z of its own axes
    let inertia = 0.4 * mass * radius * radius + mass * length * length;
    let turn = (torque - mass * GRAVITY * length * angle.sin()) / inertia;
    let tension = mass * (GRAVITY * angle.cos() + length * rate * rate);
    let across = -mass * length * turn - mass * GRAVITY * angle.sin();
    assert_near(&read(&worlds, "turn"), &[0.0, turn, 0.0], ROUNDING, "angular acceleration");
    assert_near(&read(&worlds, "force"), &[across, 0.0, tension], ROUNDING, "force of the hinge");
    assert_near(&read(&worlds, "torque"), &[0.0, torque, 0.0], ROUNDING, "moment of the hinge");
    // what the bob feels is the force over its mass, in world axes
    let (sin, cos) = angle.sin_cos();
    let felt = [(across * cos + tension * sin) / mass, 0.0, (tension * cos - across * sin) / mass];
    assert_near(&read(&worlds, "bob"), &felt, ROUNDING, "acceleration of the bob");
}

#[test]
fn a_hanging_chain_carries_what_hangs_below() {
    let (links, mass) = (5, 0.3);
    let body = |i: i32| {
        // the third one is welded to the second
        let joint = if i == 2 { "" } else { r#"<joint type="ball"/>"# };
        let pos = if i == 0 { "0 0 3" } else { "0 0 -0.2" };
        format!(
            r#"<body name="b{i}" pos="{pos}">{joint}<site name="s{i}"/>
               <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.01" mass="{mass}"/>"#
        )
    };
    let sensor = |i: i32| format!(r#"<force name="f{i}" site="s{i}"/><torque name="t{i}" site="s{i}"/>"#);
    let (bodies, sensors): (Vec<_>, Vec<_>) = (0..links).map(|i| (body(i), sensor(i))).unzip();
    let (bodies, sensors, close) = (bodies.concat(), sensors.concat(), "</body>".repeat(bodies.len()));
    let text = format!("<mujoco><worldbody>{bodies}{close}</worldbody><sensor>{sensors}</sensor></mujoco>");
    let model = model(&text);
    let mut worlds = feeling(&model, &vec![0.0; model.nv()]);
    worlds.step(20).expect("steps");
    for i in 0..links {
        let weight = f64::from(links - i) * mass * GRAVITY;
        assert_near(&read(&worlds, &format!("f{i}")), &[0.0, 0.0, weight], ROUNDING, &format!("link {i}"));
        assert_near(&read(&worlds, &format!("t{i}")), &[0.0; 3], ROUNDING, &format!("link {i}"));
    }
}

/// A tripod on a plate that stands on the ground: it is carried by three feet alike.
const TRIPOD: &str = r#"<mujoco><option timestep="0.01"/><worldbody>
    <body name="plate" pos="0 0 0.5"><geom name="plate" type="box" size="1 1 0.1" mass="4"/><site name="plate" pos="0 0 -0.1"/></body>
    <body name="tripod" pos="0.2 0 0.7"><freejoint/><inertial pos="0 0 0.1" mass="3" diaginertia="0.1 0.1 0.1"/><site name="middle"/>
      <geom name="a" pos="0.3 0 0" size="0.1"/><geom name="b" pos="-0.15 0.2598076211353316 0" size="0.1"/>
      <geom name="c" pos="-0.15 -0.2598076211353316 0" size="0.1"/>
      <site name="foot" pos="0.3 0 0" size="0.12"/><site name="below" pos="0.3 0 -1" size="0.01"/>
      <site name="above" pos="0.3 0 1" size="0.5"/><site name="all" type="box" size="1 1 0.15" euler="0 0 30"/>
      <site name="beside" type="capsule" size="0.05" fromto="0.36 -1 -0.1 0.36 1 -0.1"/>
    </body></worldbody>
    <sensor><touch name="foot" site="foot"/><touch name="below" site="below"/><touch name="above" site="above"/><touch name="all" site="all"/>
      <touch name="beside" site="beside"/><touch name="bound" site="all" cutoff="7"/><accelerometer name="rest" site="middle"/>
      <touch name="plate" site="plate"/><force name="carried" site="plate"/><torque name="tilt" site="plate"/><force name="free" site="foot"/>
    </sensor></mujoco>"#;

#[test]
fn what_rests_is_carried_and_touched() {
    let model = model(TRIPOD);
    let mut worlds = feeling(&model, &[0.0; 6]);
    worlds.step(50).expect("steps");
    let weight = 3.0 * GRAVITY;
    assert_near(&read(&worlds, "rest"), &[0.0, 0.0, GRAVITY], SETTLED, "at rest");
    assert_near(&read(&worlds, "foot"), &[weight / 3.0], SETTLED, "one foot");
    // the way down from the foot meets it
    assert_near(&read(&worlds, "below"), &[weight / 3.0], SETTLED, "below the foot");
    assert_near(&read(&worlds, "above"), &[0.0], SETTLED, "above the foot");
    assert_near(&read(&worlds, "beside"), &[0.0], SETTLED, "beside the foot");
    assert_near(&read(&worlds, "all"), &[weight], SETTLED, "all feet");
    assert_near(&read(&worlds, "bound"), &[7.0], SETTLED, "with a cutoff");
    // up from the plate there is no site
    assert_near(&read(&worlds, "plate"), &[0.0], SETTLED, "the bottom of the plate");
    assert_near(&read(&worlds, "carried"), &[0.0, 0.0, weight + 4.0 * GRAVITY], SETTLED, "the plate and what it bears");
    // the tripod stands 0.2 m off along x: τ = −r × (−m g) = (0, −0.2 m g, 0)
    assert_near(&read(&worlds, "tilt"), &[0.0, -0.2 * weight, 0.0], SETTLED, "the lever of the tripod");
    assert_near(&read(&worlds, "free"), &[0.0; 3], SETTLED, "no joint holds the tripod");
    worlds.reset(Mask::All, 0).expect("a reset");
    for name in ["rest", "all", "carried", "tilt"] {
        assert!(read(&worlds, name).iter().all(|x| *x == 0.0), "{name} after a reset");
    }
}

#[test]
fn what_a_constraint_holds_hangs_on_no_joint() {
    // a ball of 1 kg and radius 0.05 m at r = 0.3 m begins to swing down: about the point that holds it, or with the arm about the hinge
    let (lamp, arm, reach): (f64, f64, f64) = (0.4 * 0.05 * 0.05, 0.8 * 0.05 * 0.05, 0.3 * 0.3);
    for (kind, inertia) in [("connect", lamp + reach), ("weld", lamp + arm + reach)] {
        let model = model(&format!(
            r#"<mujoco><worldbody>
                 <body name="arm" pos="0 0 1"><joint axis="0 1 0"/><geom size="0.05" mass="2"/><site name="arm"/></body>
                 <body name="lamp" pos="0.3 0 1"><freejoint/><geom size="0.05" mass="1"/><site name="lamp"/></body>
               </worldbody>
               <equality><{kind} body1="arm" body2="lamp" anchor="0 0 0"/></equality>
               <sensor><force name="lamp" site="lamp"/><torque name="turn" site="lamp"/><force name="arm" site="arm"/></sensor></mujoco>"#
        ));
        let mut worlds = feeling(&model, &[0.0; 7]);
        worlds.step(1).expect("a step");
        assert_near(&read(&worlds, "lamp"), &[0.0; 3], HELD, kind);
        assert_near(&read(&worlds, "turn"), &[0.0; 3], HELD, kind);
        // the hinge carries what does not fall: 3 g − r α, α = g r / I
        let carried = GRAVITY * (3.0 - reach / inertia);
        assert_near(&read(&worlds, "arm"), &[0.0, 0.0, carried], HELD, kind);
    }
}

#[test]
fn contacts_add_up_by_pairs_over_all_substeps() {
    let model = model(TRIPOD);
    let geom = |name: &str| Frame::Geom(model.geom(name).expect("a geom"));
    let body = |name: &str| Frame::Body(model.body(name).expect("a body"));
    let (tripod, plate) = (body("tripod"), body("plate"));
    let pairs = [
        [tripod, plate],
        [plate, tripod],
        [geom("a"), geom("plate")],
        [geom("b"), body("plate")],
        [geom("a"), geom("b")],
    ];
    // thrown down at 1 m/s: the plate stops it in the first of ten steps
    let mut worlds = feeling(&model, &[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]);
    worlds.feel_contacts_between(&pairs[..2]).expect("pairs");
    worlds.feel_contacts_between(&pairs).expect("pairs");
    worlds.set_state(Mask::All, &model.q0.repeat(2), &[0.0, 0.0, -1.0, 0.0, 0.0, 0.0].repeat(2)).expect("a state");
    worlds.step(10).expect("steps");
    let between = |pair: [Frame; 2]| seen(&worlds, Quantity::ContactBetween(pair[0], pair[1]));
    // Σ λ / (10 Δt) = m (Δv + g t) / t
    let mean = 3.0 * (1.0 + GRAVITY * 0.1) / 0.1;
    let all = between(pairs[0]);
    assert_near(&all[..3], &[0.0, 0.0, mean], SETTLED, "the tripod");
    assert_near(&between(pairs[1])[..3], &[0.0, 0.0, -mean], SETTLED, "the plate");
    // what feet do against each other along the ground is theirs
    assert_near(&between(pairs[2])[2..3], &[mean / 3.0], SETTLED, "a foot");
    assert_near(&between(pairs[3])[2..3], &[mean / 3.0], SETTLED, "a foot on a body");
    assert_eq!(between(pairs[4]), [0.0; 6], "feet that do not touch");
    assert_near(&all, &seen(&worlds, Quantity::Contact(tripod)), ROUNDING, "all that touches the tripod");
    // about the origin of the plate: r × f of the tripod, which stands at (0.2, 0)
    assert_near(&between(pairs[1])[3..], &[0.0, 0.2 * mean, 0.0], SETTLED, "its moment");
    let unknown = [Quantity::ContactBetween(geom("b"), geom("c"))];
    assert!(message(worlds.observe_into(&unknown, &mut [0.0; 12][..])).contains("feel_contacts_between"));
    assert!(message(worlds.feel_contacts_between(&[[plate, Frame::Geom(9)]])).contains("geom 9"));
    worlds.feel_contacts(false);
    let quantity = [Quantity::ContactBetween(tripod, plate)];
    assert!(message(worlds.observe_into(&quantity, &mut [0.0; 12][..])).contains("feel_contacts_between"));
    let sensor = [Quantity::Sensor(0)];
    assert!(message(worlds.observe_into(&sensor, &mut [0.0; 2][..])).contains("feel_contacts(true)"));
}

#[test]
fn what_is_felt_depends_on_no_other_world_and_is_the_same_in_f32() {
    let model = model(TRIPOD);
    let look = |count: usize, threads: usize, precision: Precision| {
        let settings = Settings { precision, threads: Some(threads), ..f64_settings() };
        let mut worlds = worlds(&model, count, settings);
        worlds.feel_contacts(true);
        let v: Vec<f64> = (0..6 * count).map(|i| 0.01 * (i % 11) as f64).collect();
        worlds.set_state(Mask::All, &model.q0.repeat(count), &v).expect("a state");
        worlds.step(3).expect("steps");
        let quantities: Vec<Quantity> = (0..model.sensors.len()).map(Quantity::Sensor).collect();
        let size: usize = quantities.iter().map(|q| q.len(&model)).sum();
        let mut out = vec![0.0; count * size];
        worlds.observe_into(&quantities, &mut out).expect("sensors");
        out
    };
    let (few, many) = (look(3, 1, Precision::F64), look(70, 2, Precision::F64));
    assert_eq!(bits(&few), bits(&many[..few.len()]));
    // a velocity of 1 m/s is rounded by 6e-8, over 0.01 s and 7 kg: 1e-4 N, and contacts settle to their tolerance
    assert_near(&look(3, 1, Precision::F32), &few, 0.05, "f32");
}

/// Distances along z of sites to shapes in closed form: from outside, from within, beside it, and what is not seen.
#[test]
fn rangefinders_measure_to_the_nearest_surface() {
    let text = r#"<mujoco><asset><material name="glass" rgba="1 1 1 0"/></asset><worldbody>
        <geom type="plane" size="2 0 1"/><geom type="sphere" size="0.1" pos="0 0 0.5" rgba="1 1 1 0"/><geom type="box" size="0.1 0.1 0.1" pos="0 0 0.7" material="glass"/>
        <geom type="sphere" size="0.3" pos="1 0 1"/><geom type="box" size="0.1 0.2 0.3" pos="-1 0 1" euler="0 0 45"/>
        <geom type="capsule" size="0.1 0.2" pos="1 5 1" euler="0 90 0"/><geom type="cylinder" size="0.1 0.2" pos="-1 5 1"/>
        <geom type="ellipsoid" size="0.1 0.2 0.3" pos="0 9 1"/>
        <body name="probe" pos="0 0 4"><freejoint/><geom size="0.05"/>
          <site name="down" euler="180 0 0"/><site name="up"/><site name="ball" pos="1 0 0" euler="180 0 0"/><site name="in" pos="1 0 -3"/><site name="edge" pos="-1.05 0 0" euler="180 0 0"/>
          <site name="side" pos="-3 0 -3" euler="0 90 0"/><site name="end" pos="1.25 5 0" euler="180 0 0"/><site name="rod" pos="3 5 -3" euler="0 -90 0"/><site name="top" pos="-1.05 5 0" euler="180 0 0"/>
          <site name="rim" pos="-3 5 -3" euler="0 90 0"/><site name="egg" pos="0.05 9 0" euler="180 0 0"/><site name="beyond" pos="2.1 0 0" euler="180 0 0"/><site name="far" pos="0 7000 0" euler="180 0 0"/>
        </body></worldbody><sensor>SENSORS</sensor></mujoco>"#;
    let wanted = [
        ("down", 4.0),
        ("up", -1.0),
        ("ball", 2.7),
        ("in", 0.3),
        ("edge", 2.7),
        // corners of the box are half the diagonal of the turned rectangle off: its faces meet the line at 0.1 √2
        ("side", 2.0 - 0.1 * 2f64.sqrt()),
        ("end", 3.0 - (0.01f64 - 0.0025).sqrt()),
        ("rod", 1.7),
        ("top", 2.8),
        ("rim", 1.9),
        ("egg", 3.0 - 0.3 * (1.0f64 - 0.25).sqrt()),
        ("beyond", -1.0),
        ("far", 4.0),
    ];
    let sensors = wanted.map(|(name, _)| format!(r#"<rangefinder name="{name}" site="{name}"/>"#)).concat();
    let model = model(&text.replace("SENSORS", &sensors));
    for settings in [f64_settings(), Settings::default()] {
        let tolerance = if settings.precision == f64_settings().precision { 1e-12 } else { 1e-5 };
        let worlds = worlds(&model, 2, settings);
        for (name, distance) in wanted {
            let tolerance = if name == "far" { 1e-3 } else { tolerance };
            assert_near(&read(&worlds, name), &[distance], tolerance, name);
        }
    }
    // sizes of their own, and what cannot be seen through is said
    let with_mesh = text
        .replace("<asset>", r#"<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>"#)
        .replace("</body></worldbody>", r#"</body><geom type="mesh" mesh="m" pos="5 5 5"/></worldbody>"#);
    let model =
        Model::from_mjcf_str(&with_mesh.replace("SENSORS", r#"<rangefinder name="d" site="down"/>"#)).expect("a model");
    assert!(model.sensors[0].reading.is_none());
    assert!(
        model.notes.iter().any(|note| !note.changes_motion && note.text.contains("<rangefinder>: is not evaluated"))
    );
}

/// The fields of a model are public: what a sensor then reads may not exist.
#[test]
fn sensors_of_what_does_not_exist_are_refused() {
    use delassus::model::{Frame, FrameReading, Reading};
    let model = Model::from_mjcf_str(
        r#"<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/><site name="s"/></body></worldbody><sensor><jointpos joint="j"/></sensor></mujoco>"#,
    )
    .expect("a model");
    for reading in [
        Reading::JointPosition(1),
        Reading::BallVelocity(0),
        Reading::TendonVelocity(0),
        Reading::ActuatorForce(0),
        Reading::Range(7),
        Reading::SubtreeCom(9),
        Reading::Frame(FrameReading::Position, Frame::Geom(1), None),
        Reading::Frame(FrameReading::Axis(3), Frame::Body(0), None),
        Reading::Frame(FrameReading::Position, Frame::Body(0), Some(Frame::Site(1))),
    ] {
        let mut wrong = model.clone();
        wrong.sensors[0].reading = Some(reading);
        let message = wrong.validate().expect_err("a sensor of nothing").to_string();
        assert!(message.contains("reads what does not exist"), "{message}");
    }
}
