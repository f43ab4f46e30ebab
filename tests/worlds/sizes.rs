//! Sizes of geoms that differ from world to world.

use super::*;

/// A pile of all shapes that have a size. `sizes`: of the moving geoms, as MJCF writes them. Masses and inertias are said, so that they do not follow.
fn pile(sizes: [&str; 7]) -> Model {
    let shapes = ["box", "cylinder", "sphere", "capsule", "ellipsoid", "box", "sphere"];
    let places =
        ["0 0 0.15", "0.05 0.02 0.42", "0 0 0.65", "0.03 0 0.85", "-0.4 0 0.2", "-0.35 0.05 0.5", "-0.4 0 0.75"];
    let body = |((shape, size), place): ((&str, &str), &str)| {
        format!(
            r#"<body pos="{place}" euler="3 5 2"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="0.004 0.005 0.006"/>
                 <geom type="{shape}" size="{size}"/></body>"#
        )
    };
    let bodies: String = shapes.into_iter().zip(sizes).zip(places).map(body).collect();
    let text = format!(
        r#"<mujoco><option timestep="0.005"/>
             <asset><mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 2 1 0 1 3 0 3 2 1 2 3" scale="0.2 0.2 0.2"/></asset>
             <worldbody><geom type="plane" size="5 5 1"/><geom type="mesh" mesh="wedge" pos="-0.6 -0.1 0"/>{bodies}</worldbody></mujoco>"#
    );
    Model::from_mjcf_str(&text).expect("a model")
}

/// What the model says; none of it is a number of f32.
const SAID: [&str; 7] = ["0.1 0.11 0.07", "0.09 0.06", "0.07", "0.05 0.12", "0.1 0.07 0.06", "0.09 0.06 0.07", "0.08"];
/// What one world has instead, in numbers of f32.
const OTHER: [&str; 7] = [
    "0.125 0.09375 0.078125",
    "0.0625 0.078125",
    "0.09375",
    "0.0625 0.09375",
    "0.078125 0.09375 0.0625",
    "0.0625 0.09375 0.078125",
    "0.0625",
];

/// The sizes of all geoms of a model, shape \[geom\]\[3\].
fn sizes(model: &Model) -> Vec<f64> {
    model.geoms.iter().flat_map(|geom| geom.shape.size()).collect()
}

/// Positions and velocities of every world after the pile has fallen, and how often it touched.
fn fallen(mut worlds: Worlds) -> (Vec<Vec<u64>>, usize) {
    let mut contacts = 0;
    for _ in 0..120 {
        contacts += worlds.step(1).expect("a step").iter().map(|report| report.contact_count).min().unwrap_or(0);
    }
    let row = worlds.model().nq() + worlds.model().nv();
    (bits(&worlds.observe()).chunks(row).map(<[u64]>::to_vec).collect(), contacts)
}

/// A world whose geoms have sizes of their own moves as a model that says so, to the bit, and its neighbours do not notice.
#[test]
fn a_world_has_sizes_of_its_own() {
    let (said, other) = (pile(SAID), pile(OTHER));
    for precision in [Precision::F32, Precision::F64] {
        let settings = Settings { precision, backend: Backend::Cpu, ..Settings::default() };
        let (plain, _) = fallen(worlds(&said, 1, settings.clone()));
        let (expected, contacts) = fallen(worlds(&other, 1, settings.clone()));
        assert!(contacts > 500, "{contacts} contacts test little");
        let mut some = worlds(&said, 20, settings.clone());
        some.set_parameter(Parameter::GeomSize, Mask::List(&[17]), &sizes(&other)).expect("sizes");
        let saved = some.save();
        let (found, _) = fallen(some);
        assert!(found[17] == expected[0], "{precision:?}: as the model that says so");
        assert!(expected[0] != plain[0], "{precision:?}: sizes change something");
        for (world, found) in found.iter().enumerate().filter(|(world, _)| *world != 17) {
            assert!(*found == plain[0], "{precision:?}: world {world}");
        }
        // a snapshot holds them, and takes them away
        let mut again = worlds(&said, 20, settings);
        let fresh = again.save();
        again.load(&saved).expect("the same worlds");
        let len = sizes(&other).len();
        assert_eq!(again.parameter(Parameter::GeomSize)[17 * len..18 * len], sizes(&other));
        again.load(&fresh).expect("as they were");
        assert!(fallen(again).0[17] == plain[0], "{precision:?}: sizes are forgotten");
    }
}

/// A ball rests on its own radius, and a body that is thrown far in one step does not pass through a ball that is larger than the model says.
#[test]
fn what_may_touch_follows_the_size() {
    let model = Model::from_mjcf_str(
        r#"<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="5 5 1"/>
             <body pos="0 0 0.5"><freejoint/><geom type="sphere" size="0.1"/></body>
             <body pos="2 0 1.4"><freejoint/><geom type="capsule" size="0.05 0.1" mass="1"/></body>
             <geom type="sphere" size="0.01" pos="2 0 0.5"/>
           </worldbody></mujoco>"#,
    )
    .expect("a model");
    let mut w = worlds(&model, 2, f64_settings());
    let mut own = sizes(&model);
    // the plane, the ball that rests, the capsule that falls, the ball that it falls on
    let at = |geom: usize| 3 * geom;
    assert_eq!(own[at(1)..], [0.01, 0.0, 0.0, 0.1, 0.0, 0.0, 0.05, 0.1, 0.0]);
    (own[at(1)], own[at(2)]) = (0.4, 0.25);
    w.set_parameter(Parameter::GeomSize, Mask::List(&[1]), &own).expect("sizes");
    let mut lowest = [f64::INFINITY; 2];
    for _ in 0..60 {
        w.step(1).expect("a step");
        for (lowest, q) in lowest.iter_mut().zip(w.positions().chunks(model.nq())) {
            *lowest = lowest.min(q[7 + 2]);
        }
    }
    let q = w.positions();
    let rest = [q[2], q[model.nq() + 2]];
    println!("rests at {rest:?}, falls to {lowest:?}");
    assert!((rest[0] - 0.1).abs() < 1e-6 && (rest[1] - 0.25).abs() < 1e-6, "{rest:?}");
    // an upright capsule on a ball: 0.5 + r + 0.05 + 0.1
    assert!((lowest[0] - 0.66).abs() < 1e-3 && (lowest[1] - 1.05).abs() < 1e-3, "{lowest:?}");
}

/// Who is stepped once more in f64 has the sizes that the model says, unrounded, whatever a neighbour has; the ball is too light for f32.
#[test]
fn a_world_that_is_stepped_again_keeps_its_sizes() {
    let model = Model::from_mjcf_str(
        r#"<mujoco><worldbody><geom type="plane" size="1 1 1"/>
             <body pos="0 0 9.7"><freejoint/><geom type="sphere" size="9.7" mass="1e-40"/></body>
           </worldbody></mujoco>"#,
    )
    .expect("a model");
    let rolled = |own: Option<f64>| {
        let mut w = worlds(&model, 2, Settings { backend: Backend::Cpu, ..Settings::default() });
        if let Some(radius) = own {
            w.set_parameter(Parameter::GeomSize, Mask::List(&[1]), &[0.0, 0.0, 0.0, radius, 0.0, 0.0]).expect("sizes");
        }
        for _ in 0..5 {
            assert!(w.step(1).expect("a step").iter().all(|report| report.redone && report.contact_count == 1));
        }
        w.observe()
    };
    let (plain, mixed) = (rolled(None), rolled(Some(9.75)));
    let row = plain.len() / 2;
    assert_eq!(bits(&mixed[..row]), bits(&plain[..row]), "the neighbour");
    assert!(mixed[row + 2] > plain[2] + 0.01, "it is pushed out by its own radius: {}", mixed[row + 2]);
}

#[test]
fn sizes_that_no_geom_can_have_are_refused() {
    let model = pile(SAID);
    let mut w = worlds(&model, 2, f64_settings());
    let mut refused = |geom: usize, size: [f64; 3], text: &str| {
        let mut own = sizes(&model);
        own[3 * geom..3 * geom + 3].copy_from_slice(&size);
        let found = message(w.set_parameter(Parameter::GeomSize, Mask::List(&[1]), &own));
        assert!(found.contains(text) && found.contains("(world 1)"), "{found}");
    };
    refused(
        0,
        [1.0, 0.0, 0.0],
        "[1.0, 0.0, 0.0] is no geom_size of geom 0, a plane: its size is the same in all worlds",
    );
    refused(1, [0.1, 0.1, 0.1], "of geom 1, a mesh: its size is the same in all worlds");
    refused(2, [0.1, 0.1, 0.0], "[0.1, 0.1, 0.0] is no geom_size of geom 2, a box: it has three half edges");
    refused(3, [0.1, 0.0, 0.0], "of geom 3, a cylinder: it has a radius and a half length");
    refused(4, [0.1, 0.1, 0.0], "of geom 4, a sphere: it has a radius, then two zeros");
    refused(5, [0.1, -0.1, 0.0], "-0.1 is no geom_size: entry 16 must not be negative");
    refused(6, [0.1, 0.1, f64::NAN], "NaN is no geom_size: entry 20 is not finite");
    assert!(message(w.set_parameter(Parameter::GeomSize, Mask::All, &[0.1])).contains("geom_size needs 27 for each"));
    assert_eq!(w.parameter(Parameter::GeomSize)[27..], sizes(&model));

    w.set_parameter(Parameter::GeomSize, Mask::All, &sizes(&pile(OTHER)).repeat(2)).expect("sizes");
    let mut patches = worlds(&model, 2, Settings { friction: FrictionLaw::Patch, ..f64_settings() });
    let found = message(patches.set_parameter(Parameter::GeomSize, Mask::All, &sizes(&model).repeat(2)));
    assert!(found.contains("friction patch knows faces and discs of the model's sizes only"), "{found}");
    assert!(message(patches.load(&w.save())).contains("friction patch knows"));
}
