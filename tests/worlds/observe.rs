//! Quantities of all worlds at once, against the questions about one state.

use super::*;
use delassus::worlds::{Axes, Frame, Quantity};

#[test]
fn poses_and_the_centre_of_mass_are_those_of_a_state_query() {
    for settings in [Settings::default(), f64_settings()] {
        let model = example("humanoid");
        let tolerance = if settings.precision == Precision::F64 { 1e-12 } else { 1e-5 };
        let mut worlds = noisy(&model, 37, settings);
        worlds.step(5).expect("a step");
        let mut quantities = vec![Quantity::SubtreeCom(0)];
        for body in 0..model.bodies.len() {
            quantities.extend([Quantity::Position(Frame::Body(body)), Quantity::Orientation(Frame::Body(body))]);
        }
        let size: usize = quantities.iter().map(|q| q.len(&model)).sum();
        let mut seen = vec![0.0; 37 * size];
        worlds.observe_into(&quantities, &mut seen).expect("quantities");
        let (q, v) = worlds.state();
        for world in 0..37 {
            let (q, v) = (&q[world * model.nq()..][..model.nq()], &v[world * model.nv()..][..model.nv()]);
            let state = state_query(&model, q, v).expect("a state");
            let poses = state.body_pos.iter().zip(&state.body_quat).flat_map(|(p, r)| p.iter().chain(r));
            let expected: Vec<f64> = state.com.iter().chain(poses).copied().collect();
            for (a, b) in seen[world * size..(world + 1) * size].iter().zip(&expected) {
                assert!((a - b).abs() < tolerance, "world {world}: {a} instead of {b}");
            }
        }
    }
}

#[test]
fn a_world_looks_the_same_wherever_it_stands_and_in_f32() {
    let model = example("ant");
    let quantities =
        [Quantity::CentralInertia(3), Quantity::LinearVelocity(Frame::Geom(5), Axes::Local), Quantity::Positions];
    let look = |count: usize, threads| {
        let mut worlds = noisy(&model, count, Settings { threads: Some(threads), ..Settings::default() });
        worlds.step(3).expect("a step");
        let mut wide = vec![0.0f64; count * (13 + model.nq())];
        worlds.observe_into(&quantities, &mut wide).expect("quantities");
        let mut narrow = vec![0.0f32; wide.len()];
        worlds.observe_into(&quantities, &mut narrow).expect("quantities");
        assert!(wide.iter().zip(&narrow).all(|(a, b)| *a as f32 == *b));
        wide
    };
    let (few, many) = (look(5, 1), look(700, 3));
    assert_eq!(bits(&few), bits(&many[..few.len()]));
}

#[test]
fn contacts_have_to_be_felt_and_what_is_not_there_is_refused() {
    let model = example("ant");
    let mut worlds = worlds(&model, 2, Settings::default());
    let mut out = [0.0; 12];
    let contact = [Quantity::Contact(Frame::Body(1))];
    assert!(message(worlds.observe_into(&contact, &mut out[..])).contains("feel_contacts"));
    worlds.feel_contacts(true);
    worlds.observe_into(&contact, &mut out[..]).expect("contacts");
    assert!(message(worlds.observe_into(&[Quantity::Position(Frame::Site(9))], &mut out[..6])).contains("site 9"));
    assert!(message(worlds.observe_into(&contact, &mut out[..5])).contains("out: has 5"));
}
