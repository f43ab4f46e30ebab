//! Quantities of all worlds at once, against the questions about one state.

use super::*;
use delassus::worlds::{Axes, Constraints, ContactRecord, Frame, Impacts, Quantity};
use nalgebra::Vector3;

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

/// Moment about the origin of the world and impulse that a body feels in a step, by the records of its contacts.
fn recorded(model: &Model, contacts: &[ContactRecord], of: impl Fn(usize, usize) -> bool) -> [f64; 6] {
    let mut sum = [0.0; 6];
    for c in contacts {
        let impulse: Vector3<f64> = (0..3).map(|k| c.frame[k] * c.impulse[k]).sum();
        let moment = c.position.cross(&impulse) + c.frame[0] * c.patch.as_ref().map_or(0.0, |patch| patch.torsion);
        let [a, b] = [c.geom_a, c.geom_b].map(|geom| model.geoms[geom].body);
        for (own, other, sign) in [(a, b, -1.0), (b, a, 1.0)] {
            if of(own, other) {
                for k in 0..3 {
                    sum[k] += sign * moment[k];
                    sum[3 + k] += sign * impulse[k];
                }
            }
        }
    }
    sum
}

#[test]
fn what_bodies_feel_is_the_sum_of_the_contacts_of_all_substeps() {
    let patches = Settings { friction: FrictionLaw::Patch, ..Settings::default() };
    let soft = Settings { constraints: Constraints::Soft, integrator: Some(Integrator::Euler), ..f64_settings() };
    let one_after_another = Settings { impacts: Impacts::Sequential, ..Settings::default() };
    for settings in [Settings::default(), f64_settings(), patches, soft, one_after_another] {
        for name in ["boxes", "humanoid"] {
            let model = example(name);
            let tolerance = if settings.precision == Precision::F64 { 1e-10 } else { 2e-5 };
            let (count, substeps, moved) = (19, 3, model.bodies.len() - 1);
            let dt = settings.dt.unwrap_or(model.timestep);
            let [mut felt, mut watched] = [(); 2].map(|()| noisy(&model, count, settings.clone()));
            let pair = [Frame::Body(moved), Frame::Body(0)];
            felt.feel_contacts_between(&[pair]).expect("a pair");
            (0..count).for_each(|world| watched.watch(world, true).expect("a world"));
            let quantities: Vec<_> = (0..model.bodies.len())
                .map(|b| Quantity::Contact(Frame::Body(b)))
                .chain([Quantity::ContactBetween(pair[0], pair[1])])
                .chain((0..model.bodies.len()).map(|b| Quantity::Position(Frame::Body(b))))
                .collect();
            let size: usize = quantities.iter().map(|quantity| quantity.len(&model)).sum();
            let mut seen = vec![0.0; count * size];
            let mut some = 0;
            for step in 0..40 {
                felt.step(substeps).expect("a step");
                felt.observe_into(&quantities, &mut seen).expect("quantities");
                let mut sums = vec![vec![[0.0; 6]; model.bodies.len() + 1]; count];
                for _ in 0..substeps {
                    watched.step(1).expect("a step");
                    for (world, sums) in sums.iter_mut().enumerate() {
                        let contacts = watched.contacts(world).expect("contacts");
                        some += contacts.len();
                        for (b, sum) in sums.iter_mut().enumerate() {
                            let step = recorded(&model, contacts, |own, other| {
                                if b < model.bodies.len() { own == b } else { (own, other) == (moved, 0) }
                            });
                            sum.iter_mut().zip(step).for_each(|(sum, x)| *sum += x);
                        }
                    }
                }
                assert_eq!(bits(&felt.positions()), bits(&watched.positions()), "who feels moves as who does not");
                for (sums, seen) in sums.iter().zip(seen.chunks_exact(size)) {
                    let scale = sums.iter().flatten().fold(1e-3, |most, x| x.abs().max(most)) / dt;
                    for (b, sum) in sums.iter().enumerate() {
                        let own = if b < model.bodies.len() { b } else { moved };
                        let (at, rate) = (&seen[6 * sums.len() + 3 * own..][..3], 1.0 / (dt * f64::from(substeps)));
                        let force = Vector3::new(sum[3], sum[4], sum[5]) * rate;
                        let moment =
                            Vector3::new(sum[0], sum[1], sum[2]) * rate - Vector3::from_column_slice(at).cross(&force);
                        for (a, b) in seen[6 * b..][..6].iter().zip(force.iter().chain(&moment)) {
                            assert!(
                                (a - b).abs() < tolerance * scale,
                                "{name}, {settings:?}, step {step}: {a} instead of {b}"
                            );
                        }
                    }
                }
            }
            assert!(some > 1000, "{name}, {settings:?}: nothing touched");
        }
    }
}

/// Where every evaluation of a step solves its own contacts, their impulses add up to what moves a free body: m (v⁺ − v⁻ − n g Δt) in n steps.
#[test]
fn what_free_bodies_feel_in_all_evaluations_is_what_moves_them() {
    let model = example("boxes");
    for precision in [Precision::F64, Precision::F32] {
        let (constraints, integrator) = (Constraints::Soft, Some(Integrator::Rk4));
        let settings = Settings { constraints, integrator, precision, ..Settings::default() };
        let tolerance = if precision == Precision::F64 { 1e-9 } else { 2e-2 };
        let (count, substeps, dt) = (19, 3, model.timestep);
        let mut worlds = noisy(&model, count, settings);
        worlds.feel_contacts(true);
        let quantities: Vec<_> = (0..model.bodies.len()).map(|b| Quantity::Contact(Frame::Body(b))).collect();
        let mut felt = vec![0.0; count * 6 * quantities.len()];
        let mut touched = 0;
        for _ in 0..60 {
            let before = worlds.velocities();
            worlds.step(substeps).expect("a step");
            worlds.observe_into(&quantities, &mut felt).expect("quantities");
            let after = worlds.velocities();
            for world in 0..count {
                for joint in &model.joints {
                    let (mass, at) = (model.bodies[joint.body].mass, world * model.nv() + joint.v_start);
                    for k in 0..3 {
                        let rate = (after[at + k] - before[at + k]) / (dt * f64::from(substeps));
                        let wanted = mass * (rate - model.gravity[k]);
                        let found = felt[6 * (world * quantities.len() + joint.body) + k];
                        let scale = 1.0 + mass * model.gravity.norm() + wanted.abs();
                        assert!((found - wanted).abs() < tolerance * scale, "{precision:?}: {found} for {wanted}");
                        touched += usize::from(wanted.abs() > 1.0);
                    }
                }
            }
        }
        assert!(touched > 1000, "{touched}");
    }
}

#[test]
fn what_is_stepped_again_is_felt_as_it_was_then() {
    // a ball so light that f32 does not do, under its weight, beside another of 1 kg
    let ball = |name: &str, x: f64, mass: f64| {
        format!(
            r#"<body name="{name}" pos="{x} 0 9.7"><freejoint/><geom type="sphere" size="9.7" mass="{mass}"/></body>"#
        )
    };
    let model = Model::from_mjcf_str(&format!(
        r#"<mujoco><option gravity="0 0 -1e7"/><worldbody><geom type="plane" size="1 1 1"/>{}{}</worldbody></mujoco>"#,
        ball("light", 0.0, 1e-38),
        ball("heavy", 40.0, 1.0)
    ))
    .expect("a model");
    let mut worlds = worlds(&model, 3, Settings { backend: Backend::Cpu, ..Settings::default() });
    worlds.feel_contacts(true);
    let mut seen = [0.0f64; 36];
    for substeps in [1, 4] {
        assert!(worlds.step(substeps).expect("a step").iter().all(|report| report.redone && report.solved()));
        let of = [1, 2].map(|body| Quantity::Contact(Frame::Body(body)));
        worlds.observe_into(&of, &mut seen[..]).expect("contacts");
        for world in seen.chunks(12) {
            assert!((world[2] / 1e-31 - 1.0).abs() < 1e-3 && (world[8] / 1e7 - 1.0).abs() < 1e-3, "{world:?}");
        }
    }
}

#[test]
fn a_model_without_geoms_feels_nothing() {
    let model = Model::from_mjcf_str(
        r#"<mujoco><worldbody><body pos="0 0 1"><joint axis="0 1 0"/><inertial pos="0.3 0 0" mass="2" diaginertia="0.1 0.1 0.1"/><site name="hinge"/></body></worldbody>
             <sensor><force site="hinge"/></sensor></mujoco>"#,
    )
    .expect("a model");
    let mut worlds = worlds(&model, 2, f64_settings());
    worlds.feel_contacts(true);
    worlds.step(2).expect("a step");
    let mut seen = [0.0f64; 18];
    let of = [Quantity::Contact(Frame::Body(1)), Quantity::Sensor(0)];
    worlds.observe_into(&of, &mut seen[..]).expect("quantities");
    for world in seen.chunks(9) {
        assert!(world[..6].iter().all(|x| *x == 0.0) && world[8] > 1.0, "{world:?}");
    }
}
