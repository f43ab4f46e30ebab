//! Bodies on faces, edges, discs and points against trajectories that nobody in this project computed: `shared/data/patch`.
//!
//! The data lie where `DELASSUS_DATA` says, or in `../shared/data` beside the sources; without them these tests say that they check nothing, and pass.

mod common;
#[path = "common/patch.rs"]
mod patch;

use common::{data, floats};
use delassus::ecp::{Convex, Guess, Mncp, State};
use nalgebra::{Vector3, Vector6};
use patch::{Distance, Scenario};

/// "1e-7 in x, 1e-6 in v, w (the same geometrically implicit step)"; angles, of which the data say nothing, as v.
const SAME_STEP_LAW: Distance = Distance { x: 1e-7, v: 1e-6, w: 1e-6, angle: 1e-6 };
/// Nothing overlaps at the end of an implicit step, beyond rounding of positions of some metres.
const NO_OVERLAP: f64 = 1e-14;
/// The ground as the paper has it.
const PLANE: [Convex; 1] = [Convex::HalfSpace { normal: [0.0, 0.0, 1.0], offset: 0.0 }];

fn scenarios() -> Vec<Scenario> {
    let Some(folder) = data() else { return Vec::new() };
    let all = Scenario::all(&folder);
    assert!(!all.is_empty(), "no scenarios in {}", folder.display());
    all
}

#[test]
fn the_implicit_step_is_the_one_of_the_data() {
    for scenario in scenarios() {
        let (stepper, name) = (&scenario.stepper, &scenario.name);
        let mut state = scenario.start;
        for k in 0..scenario.steps {
            let applied = scenario.applied(k, &state);
            let (next, contact) = stepper.implicit(&state, &applied).unwrap_or_else(|e| panic!("{name} {k}: {e}"));
            state = next;
            let overlap = stepper.penetration(&state);
            assert!(overlap <= NO_OVERLAP, "{name} {k}: overlap {overlap:e} m");
            let Some(i) = scenario.recorded(k) else { continue };
            let off = scenario.distance(i, &state);
            assert!(off.within(&SAME_STEP_LAW), "{name} {k}: {off:?}");
            assert!(off.within(&scenario.first_order(i)), "{name} {k}: {off:?}");
            let [normal, friction] =
                ["normal_impulse", "friction_impulse"].map(|key| &scenario.file["expected"][key][i]);
            let normal = normal.as_f64().unwrap();
            // of the size of the impulse, as velocities are of theirs
            let allowed = 1e-6 * (1.0 + normal);
            assert!((contact.normal_impulse - normal).abs() <= allowed, "{name} {k}: {contact:?}, {normal}");
            for (ours, theirs) in contact.friction_impulse.into_iter().zip(floats(friction)) {
                assert!((ours - theirs).abs() <= allowed, "{name} {k}: {contact:?}, {friction}");
            }
            if let Some(arm) = scenario.arm(i).filter(|_| normal > 1e-6) {
                assert!((contact.arm - arm).amax() <= 1e-7, "{name} {k}: ECP {:?}, {arm:?}", contact.arm);
            }
        }
    }
}

#[test]
fn the_linearised_step_is_within_first_order() {
    for scenario in scenarios() {
        let name = &scenario.name;
        let mut state = scenario.start;
        for k in 0..scenario.steps {
            let applied = scenario.applied(k, &state);
            let (next, contact) =
                scenario.stepper.linearised(&state, &applied).unwrap_or_else(|e| panic!("{name} {k}: {e}"));
            assert_eq!(contact.passes, 1);
            state = next;
            let Some(i) = scenario.recorded(k) else { continue };
            let (off, allowed) = (scenario.distance(i, &state), scenario.first_order(i));
            assert!(off.within(&allowed), "{name} {k}: {off:?}, {allowed:?}");
        }
    }
}

/// How the number of active functions changes along a scenario, from the paper's own equations, which must move the body
/// as the reduced form does.
fn judged(scenario: &Scenario) -> Vec<(f64, usize, usize)> {
    let (stepper, name) = (&scenario.stepper, &scenario.name);
    let mncp = Mncp { stepper, fixed: &PLANE };
    let mut state = scenario.start;
    let mut last: Option<(usize, Guess)> = None;
    let mut changes = Vec::new();
    for k in 0..scenario.steps {
        let applied = scenario.applied(k, &state);
        // the judge starts from the step before and from the linearised one: from nothing that the implicit one found
        let (near, contact) = stepper.linearised(&state, &applied).unwrap();
        let mut guesses = vec![Guess::of(&near, &contact)];
        guesses.extend(last.map(|(_, guess)| guess));
        let judge = mncp.solve(&state, &applied, &guesses).unwrap_or_else(|e| panic!("{name} {k}: {e}"));
        let (end, contact) = stepper.implicit(&state, &applied).unwrap();
        let off = (judge.state.velocity - end.velocity).amax();
        let turning = (judge.state.angular_velocity - end.angular_velocity).amax();
        let Distance { v, w, .. } = SAME_STEP_LAW;
        assert!(off <= v && turning <= w, "{name} {k}: {off:e} m/s, {turning:e} rad/s");
        let pressed = (judge.contact.normal_impulse - contact.normal_impulse).abs();
        assert!(pressed <= v * stepper.body.mass, "{name} {k}: {pressed:e} N·s");
        if let Some((before, _)) = last
            && before != judge.active
        {
            changes.push(((k + 1) as f64 * stepper.dt, before, judge.active));
        }
        last = Some((judge.active, Guess::of(&judge.state, &judge.contact)));
        state = end;
    }
    changes
}

#[test]
fn the_papers_equations_confirm_the_patch() {
    for scenario in scenarios() {
        let changes = judged(&scenario);
        let stated = scenario.file["transitions"].as_array().unwrap();
        assert_eq!(changes.len(), stated.len(), "{}: {changes:?}, {stated:?}", scenario.name);
        for ((t, before, after), stated) in changes.into_iter().zip(stated) {
            let stated = floats(stated);
            assert_eq!([before as f64, after as f64], stated[1..], "{}", scenario.name);
            // a lifted line is as good as lying for a step
            assert!((t - stated[0]).abs() <= 1.01 * scenario.stepper.dt, "{}: {t}, {stated:?}", scenario.name);
        }
    }
}

#[test]
fn a_box_slides_over_the_edge_of_a_table_and_tips() {
    let Some(folder) = data() else { return };
    let scenario = Scenario::read(&folder.join("patch/overhang_0.json"));
    // z <= 0 and x <= 0
    let table = [PLANE[0], Convex::HalfSpace { normal: [1.0, 0.0, 0.0], offset: 0.0 }];
    let mncp = Mncp { stepper: &scenario.stepper, fixed: &table };
    let weight = 9.8 * scenario.stepper.body.mass * scenario.stepper.dt;
    let mut state = scenario.start;
    let mut guess = Guess {
        velocity: Vector6::new(1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        impulse: [weight, -0.1 * weight, 0.0, 0.0],
        point: state.position - Vector3::z() * 0.1,
    };
    for k in 0..scenario.steps {
        let solution = mncp.solve(&state, &Vector6::zeros(), &[guess]).unwrap_or_else(|e| panic!("{k}: {e}"));
        guess = Guess::of(&solution.state, &solution.contact);
        state = solution.state;
        // never through the table: the ECP is on its top or its edge
        let ecp = guess.point;
        assert!(ecp.z.abs() < 1e-9 && ecp.x < 1e-9, "{k}: {ecp:?}");
        let Some(i) = scenario.recorded(k) else { continue };
        let off = scenario.distance(i, &state);
        assert!(off.within(&SAME_STEP_LAW), "{k}: {off:?}");
    }
    assert!(state.orientation.angle() > 0.3, "it tips: {}", state.orientation.angle());
}

#[test]
fn what_the_paper_reports() {
    let Some(folder) = data() else { return };
    let end = |name: &str| -> (Scenario, State) {
        let scenario = Scenario::read(&folder.join(format!("patch/{name}.json")));
        let mut state = scenario.start;
        for k in 0..scenario.steps {
            state = scenario.stepper.implicit(&state, &scenario.applied(k, &state)).unwrap().0;
        }
        (scenario, state)
    };
    // S1: the cube stops where backward Euler's sum says, to the bit as good as
    let (scenario, state) = end("s1_cube_slide");
    let exact = floats(&scenario.file["exact"]["x"]);
    assert!((state.position.x - exact[0]).abs() < 1e-9 && (state.position.y - exact[1]).abs() < 1e-9);
    assert!((exact[0] - 8.454784).abs() < 1e-12);
    // cylinder slipping into rolling
    let (scenario, state) = end("slip_to_roll_0");
    let exact = scenario.file["exact"]["v"].as_f64().unwrap();
    assert!((state.velocity.y - exact).abs() < 1e-11, "{}", state.velocity.y);
    // S4 ends standing
    let (_, state) = end("s4_cylinder_manipulation");
    assert!((state.orientation * Vector3::z()).z > 1.0 - 1e-9);
}
