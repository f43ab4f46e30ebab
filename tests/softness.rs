//! Soft constraints: closed forms of springs at rest, the same bits in any batch, and what does not go with them. One step of many rows beside MuJoCo's is in
//! `python/tests/test_soft.py`.

mod common;

use common::example;
use delassus::solver::FrictionLaw;
use delassus::worlds::{Frame, Noise, Parameter, Quantity, Start};
use delassus::{
    Backend, Constraints, Error, Impacts, Integrator, Mask, Model, Precision, Settings, WorldReport, Worlds,
};

const GRAVITY: f64 = 9.81;
/// Time constant of `solref` in the models of this file, s.
const TIME: f64 = 0.02;
/// Impedance of `solimp` in the models of this file.
const IMPEDANCE: f64 = 0.8;

fn soft() -> Settings {
    Settings { constraints: Constraints::Soft, precision: Precision::F64, ..Settings::default() }
}

fn model(option: &str, text: &str) -> Model {
    let softness = r#"solref="0.02 1" solimp="0.8 0.8 0.01""#;
    let limits =
        r#"solreflimit="0.02 1" solimplimit="0.8 0.8 0.01" solreffriction="0.02 1" solimpfriction="0.8 0.8 0.01""#;
    let text = format!(
        r#"<mujoco><option gravity="0 0 -{GRAVITY}" {option}/>
             <default><geom {softness}/><equality {softness}/><joint {limits}/></default>{text}</mujoco>"#
    );
    Model::from_mjcf_str(&text).expect("a model")
}

/// One world after `seconds`, where everything that rests has come to rest.
fn settled(model: &Model, settings: Settings, seconds: f64) -> Worlds {
    let steps = (seconds / model.timestep).round() as usize;
    let mut worlds = Worlds::new(model, 1, settings).expect("worlds");
    for _ in 0..steps {
        assert!(worlds.step(1).expect("a step")[0].solved());
    }
    worlds
}

fn close(found: f64, wanted: f64, share: f64) {
    assert!((found - wanted).abs() <= share * wanted.abs(), "{found} instead of {wanted}");
}

/// How far a weight sinks into what carries it: R f = k d r with f = m g, R = (1 − d)/(d m) and k = 1/(d T)², whatever it weighs.
fn depth() -> f64 {
    (1.0 - IMPEDANCE) * GRAVITY * TIME * TIME
}

#[test]
fn a_weight_rests_as_deep_as_its_spring_gives() {
    for integrator in [Integrator::Euler, Integrator::Rk4] {
        let settings = || Settings { integrator: Some(integrator), ..soft() };
        for mass in [0.1, 30.0] {
            let ball = format!(
                r#"<worldbody><geom type="plane" size="1 1 1" condim="1"/>
                     <body pos="0 0 0.1"><freejoint/><geom size="0.1" mass="{mass}" condim="1"/></body></worldbody>"#
            );
            let worlds = settled(&model("", &ball), settings(), 2.0);
            close(0.1 - worlds.positions()[2], depth(), 1e-8);
            let slide = format!(
                r#"<worldbody><body><joint type="slide" axis="0 0 1" range="0 1"/><geom size="0.1" mass="{mass}"/></body></worldbody>"#
            );
            close(-settled(&model("", &slide), settings(), 2.0).positions()[0], depth(), 1e-8);
            let hung = format!(
                r#"<worldbody><body name="b"><freejoint/><geom size="0.1" mass="{mass}"/></body></worldbody>
                   <equality><connect body1="b" anchor="0 0 0"/></equality>"#
            );
            close(-settled(&model("", &hung), settings(), 2.0).positions()[2], depth(), 1e-8);
        }
    }
}

/// Four edges that press yield like one contact with μ² (1 + μ²)/2 times the compliance; `impratio` makes edges stiffer.
#[test]
fn a_pyramid_is_as_soft_as_its_edges() {
    for (friction, ratio) in [(0.5, 1.0), (2.0, 1.0), (1.0, 4.0)] {
        let ball = format!(
            r#"<worldbody><geom type="plane" size="1 1 1" friction="{friction}"/>
                 <body pos="0 0 0.1"><freejoint/><geom size="0.1" friction="{friction}"/></body></worldbody>"#
        );
        let square: f64 = friction * friction;
        let options = [("pyramidal", 0.5 * square * (1.0 + square) / ratio), ("elliptic", 1.0)];
        for (cone, share) in options {
            let worlds = settled(&model(&format!(r#"cone="{cone}" impratio="{ratio}""#), &ball), soft(), 2.0);
            close(0.1 - worlds.positions()[2], share * depth(), 1e-7);
        }
    }
}

/// Friction that holds lets slip by R f = b u, b = 2/(d T).
#[test]
fn what_friction_holds_creeps() {
    let ratio = 2.0;
    let (along, down): (f64, f64) = (3.0, 9.0);
    let slope = format!(
        r#"<mujoco><option gravity="{along} 0 -{down}" cone="elliptic" impratio="{ratio}"/>
             <default><geom solref="0.02 1" solimp="0.8 0.8 0.01"/></default>
             <worldbody><geom type="plane" size="1 1 1"/>
               <body pos="0 0 0.05"><freejoint/><geom type="box" size="0.2 0.2 0.05" mass="3"/></body></worldbody></mujoco>"#
    );
    let worlds = settled(&Model::from_mjcf_str(&slope).expect("a model"), soft(), 2.0);
    // four corners share the load
    close(worlds.velocities()[0], (1.0 - IMPEDANCE) * TIME * along / (8.0 * ratio), 1e-6);

    let joint = r#"<worldbody><body><joint type="slide" axis="0 0 1" frictionloss="100"/><geom size="0.1" mass="3"/></body></worldbody>"#;
    let worlds = settled(&model("", joint), soft(), 1.0);
    close(-worlds.velocities()[0], (1.0 - IMPEDANCE) * TIME * GRAVITY / 2.0, 1e-6);
}

/// A ball on six or ten edges, e of them, under a torque τ of 1/e of what friction about an axis holds, μ' m g, creeps, under one of six tenths turns steadily, and under more ever faster.
///
/// An edge that moves at u has R f = −b u − k d r at rest, so that the two of the axis, u = ±μ' ω, differ by 2 b μ' ω/R while both press, and when the other one is clear all rests on the rest of
/// them: (e − 2) s + s + b μ' ω = R m g with s = −k d r and s + b μ' ω = R τ/μ'.
#[test]
fn friction_holds_a_torque_about_the_normal_and_about_the_surface() {
    let (mass, size, friction, ratio) = (2.0, 0.1, 0.8_f64, 2.0);
    let weight = mass * GRAVITY;
    let square = friction * friction;
    // R = 2 μ² (1 + μ²)/ratio · (1 − d)/d · Â
    let compliance = 2.0 * square * (1.0 + square) / ratio * (1.0 - IMPEDANCE) / IMPEDANCE / mass;
    let damping = 2.0 / (IMPEDANCE * TIME);
    for (condim, edges, axis, turning) in [(4, 6.0, 2, 0.02), (6, 10.0, 2, 0.02), (6, 10.0, 1, 0.007)] {
        let ball = format!(
            r#"<worldbody><geom type="plane" size="1 1 1" condim="{condim}" friction="0.1 0.02 0.001"/>
                 <body pos="0 0 {size}"><freejoint/><geom size="{size}" mass="{mass}" friction="{friction} 0.001 0.007"/></body></worldbody>"#
        );
        let model = model(&format!(r#"impratio="{ratio}""#), &ball);
        // about an axis of the world: one that turns with the ball does not let it stand
        let turn = |worlds: &mut Worlds, torque: f64| {
            let mut push = [0.0; 12];
            push[9 + axis] = torque;
            worlds.set_parameter(Parameter::Push, Mask::All, &push).expect("a push");
        };
        for (share, slides) in [(1.0 / edges, false), (0.6, true)] {
            let torque = share * turning * weight;
            let steady = if slides {
                let spring = (compliance * weight - compliance * torque / turning) / (edges - 2.0);
                (compliance * torque / turning - spring) / (damping * turning)
            } else {
                compliance * torque / (2.0 * damping * turning * turning)
            };
            let mut worlds = Worlds::new(&model, 1, soft()).expect("worlds");
            worlds.feel_contacts(true);
            worlds.watch(0, true).expect("a world");
            turn(&mut worlds, torque);
            worlds.step(8000).expect("steps");
            assert!(worlds.reports()[0].solved());
            worlds.step(1).expect("a step");
            let v = worlds.velocities();
            close(v[3 + axis], steady, 1e-6);
            // it rolls without slip, about a point half way between the surfaces, and does not roll where it spins
            let arm = if axis == 1 { 0.5 * (size + worlds.positions()[2]) } else { 0.0 };
            close(v[0] + 1.0, arm * steady + 1.0, 1e-6);
            // what holds it is the torque of the contact, felt about where the ball is after the step
            let mut felt = [0.0; 6];
            worlds.observe_into(&[Quantity::Contact(Frame::Body(1))], &mut felt[..]).expect("quantities");
            close(felt[2], weight, 1e-6);
            close(felt[3 + axis], weight * v[0] * model.timestep - torque, 1e-6);
            let contacts = worlds.contacts(0).expect("contacts");
            let own = (0..3).map(|i| contacts[0].frame[i] * contacts[0].torque[i]).sum::<nalgebra::Vector3<f64>>();
            close(own[axis], -torque * model.timestep, 1e-6);
            // and it comes to stand
            turn(&mut worlds, 0.0);
            worlds.step(4000).expect("steps");
            assert!(worlds.velocities()[3 + axis].abs() < 1e-3 * steady, "{:?}", worlds.velocities());
        }
        // more than that does not stay
        let mut worlds = Worlds::new(&model, 1, soft()).expect("worlds");
        turn(&mut worlds, 2.0 * turning * weight);
        worlds.step(4000).expect("steps");
        let fastest = compliance * weight / (damping * turning);
        assert!(worlds.velocities()[3 + axis] > 2.0 * fastest, "{:?}", worlds.velocities());
    }
}

/// Torques are a part of the first guess, which tells the last digits of the answer.
#[test]
fn torques_are_in_snapshots() {
    let rolls = r#"<worldbody><geom type="plane" size="5 5 1"/>
        <body pos="0 0 0.099"><freejoint/><geom size="0.1" condim="6" friction="1 0.02 0.01"/></body>
        <body pos="1 0 0.099"><freejoint/><geom size="0.1" condim="4" friction="1 0.02 0.01"/></body></worldbody>"#;
    let model = model("", rolls);
    let mut worlds = Worlds::new(&model, 3, soft()).expect("worlds");
    worlds.set_state(Mask::All, &model.q0.repeat(3), &[0.3, 0.0, 0.0, 0.0, 3.0, 1.0].repeat(6)).expect("a state");
    worlds.step(20).expect("steps");
    let mut other = Worlds::new(&model, 3, soft()).expect("worlds");
    other.load(&worlds.save()).expect("a snapshot");
    for _ in 0..5 {
        worlds.step(1).expect("a step");
        other.step(1).expect("a step");
        assert_eq!(worlds.velocities(), other.velocities());
        assert_eq!(worlds.reports()[0].sweeps, other.reports()[0].sweeps);
    }
}

/// With hard constraints, and round cones, nothing turns a ball but what slides.
#[test]
fn what_has_no_edges_has_no_torsion() {
    for (cone, constraints) in [("pyramidal", Constraints::Hard), ("elliptic", Constraints::Soft)] {
        let ball = r#"<worldbody><geom type="plane" size="1 1 1" condim="6"/>
            <body pos="0 0 0.1"><freejoint/><geom size="0.1" friction="1 0.1 0.1"/></body></worldbody>"#;
        let model = model(&format!(r#"cone="{cone}""#), ball);
        assert!(model.notes.iter().any(|note| note.text.contains("condim 6 is treated as 3") && note.changes_motion));
        let mut worlds = Worlds::new(&model, 1, Settings { constraints, ..soft() }).expect("worlds");
        worlds.set_state(Mask::All, &model.q0, &[0.0, 0.0, 0.0, 0.0, 0.0, 3.0]).expect("a state");
        worlds.step(200).expect("steps");
        close(worlds.velocities()[5], 3.0, 1e-6);
    }
}

/// `count` worlds of an example with noise, 60 steps on, and their positions and velocities.
fn rolled(
    model: &Model,
    count: usize,
    integrator: Integrator,
    backend: Backend,
) -> Result<(Worlds, Vec<f64>, Vec<f64>), Error> {
    let (precision, integrator) = (Precision::F32, Some(integrator));
    let mut worlds = Worlds::new(model, count, Settings { precision, integrator, backend, ..soft() })?;
    worlds.set_start(Start { keyframe: model.keyframe("stand"), position_noise: 0.05, velocity_noise: 0.5 })?;
    worlds.reset(Mask::All, 3)?;
    for _ in 0..60 {
        assert!(worlds.step(1)?.iter().all(WorldReport::solved), "{}", model.name);
    }
    let (q, v) = (worlds.positions(), worlds.velocities());
    Ok((worlds, q, v))
}

#[test]
fn robots_are_solved_and_have_the_same_bits_in_any_batch() {
    let names = ["ant", "biped", "boxes", "hopper", "humanoid", "quadruped", "spheres"];
    let euler = names.map(|name| (name, Integrator::Euler));
    for (name, integrator) in euler.into_iter().chain(["ant", "hopper", "spheres"].map(|name| (name, Integrator::Rk4)))
    {
        let model = example(name);
        let (many, q, v) = rolled(&model, 40, integrator, Backend::Cpu).expect("worlds");
        let (_, few_q, few_v) = rolled(&model, 3, integrator, Backend::Cpu).expect("worlds");
        assert!(
            many.reports().iter().all(|report| report.steps == 1),
            "{name}: a step is one, however many evaluations"
        );
        assert!(many.reports().iter().any(|report| report.contact_count > 0), "{name} touches nothing");
        let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!((bits(&q[..few_q.len()]), bits(&v[..few_v.len()])), (bits(&few_q), bits(&few_v)), "{name}");
    }
}

/// The device sweeps the blocks that the CPU poses.
#[test]
#[cfg(feature = "gpu")]
fn hybrid_has_soft_rows_too() {
    if !common::adapter() {
        return;
    }
    let model = example("hopper");
    for integrator in [Integrator::Euler, Integrator::Rk4] {
        let (_, q, _) = rolled(&model, 16, integrator, Backend::Cpu).expect("worlds");
        let (_, found, _) = rolled(&model, 16, integrator, Backend::Hybrid).expect("worlds");
        let difference = q.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        // Either solves to 1e-5 m/s, by other sweeps; in sixty steps of landing that grows to millimetres.
        assert!(difference < 1e-2, "{integrator:?} {difference}");
    }
}

/// Each evaluation of Runge-Kutta has the forces of its own state: a ball that bounces on its spring, ṙ = u, u̇ = −b u − k d r + (1 − d) g where d is constant, is followed to
/// fourth order while it touches.
#[test]
fn worlds_that_are_sorted_are_those_that_stay_in_their_lanes() {
    // where a step solves four times worlds are sorted by what they touch; where somebody looks at blocks they are not
    let gear = r#"<mujoco><option integrator="RK4" timestep="0.004"/><worldbody><geom type="plane" size="1 1 1"/>
         <body name="trunk" pos="0 0 0.45"><freejoint/><geom type="box" size="0.2 0.1 0.05"/>
           <body pos="0.2 0 0"><joint name="front" axis="0 1 0" range="-40 40"/><geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04" condim="6" friction="1 0.02 0.01"/></body>
           <body pos="-0.2 0 0"><joint name="back" axis="0 1 0" range="-40 40" frictionloss="0.2"/><geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04"/></body>
         </body></worldbody>
         <equality><joint joint1="front" joint2="back"/></equality><actuator><motor joint="front" gear="20" ctrllimited="true" ctrlrange="-1 1"/></actuator></mujoco>"#;
    let model = Model::from_mjcf_str(gear).expect("a model");
    for precision in [Precision::F32, Precision::F64] {
        let settings = Settings { precision, threads: Some(1), backend: Backend::Cpu, ..soft() };
        let count = 150;
        let [mut sorted, mut still] = [(); 2].map(|()| {
            let mut worlds = Worlds::new(&model, count, settings.clone()).expect("worlds");
            worlds.set_start(Start { position_noise: 0.3, velocity_noise: 1.0, ..Start::default() }).expect("a start");
            worlds.reset(Mask::All, 5).expect("a reset");
            let own: Vec<f64> = (0..3 * count).map(|i| 0.5 + 0.01 * (i % 70) as f64).collect();
            worlds.set_parameter(Parameter::MassScale, Mask::All, &[&own[..], &own[..count]].concat()).expect("masses");
            worlds.feel_contacts(true);
            (0..count).step_by(3).for_each(|world| worlds.watch(world, true).expect("a world"));
            worlds
        });
        let quantities: Vec<_> = (0..4).map(|body| Quantity::Contact(Frame::Body(body))).collect();
        let mut felt = [(); 2].map(|()| vec![0.0; 24 * count]);
        let mut touching = 0;
        for step in 0..60 {
            for worlds in [&mut sorted, &mut still] {
                Noise::new(step).uniform(-1.0, 1.0, worlds.control_mut());
                Noise::new(100 + step).uniform(-3.0, 3.0, worlds.external_force_mut());
            }
            sorted.step(2).expect("a step");
            still.step_inspected(2, Some(&|_| {})).expect("a step");
            assert!(sorted.reports() == still.reports(), "{precision:?}, step {step}: reports");
            for (worlds, felt) in [&sorted, &still].into_iter().zip(&mut felt) {
                worlds.observe_into(&quantities, &mut felt[..]).expect("quantities");
            }
            assert!(felt[0] == felt[1], "{precision:?}, step {step}: what is felt");
            touching += sorted.reports().iter().filter(|report| report.contact_count > 0).count();
            for world in (0..count).step_by(3) {
                assert_eq!(sorted.contacts(world), still.contacts(world), "{precision:?}, step {step}, world {world}");
            }
        }
        assert!((500..59 * count).contains(&touching), "{touching} of {}: some should touch, others not", 60 * count);
        let bytes = [&sorted, &still].map(|worlds| worlds.save().to_bytes().expect("a snapshot"));
        assert!(bytes[0] == bytes[1], "{precision:?}: snapshots");
    }
}

#[test]
fn runge_kutta_follows_a_spring() {
    let (stiffness, damping) = ((IMPEDANCE * TIME).powi(-2) * IMPEDANCE, 2.0 / (IMPEDANCE * TIME));
    let ball = r#"<worldbody><geom type="plane" size="1 1 1" condim="1"/>
        <body pos="0 0 0.1"><joint type="slide" axis="0 0 1"/><geom size="0.1" mass="2" condim="1"/></body></worldbody>"#;
    // u̇ = d (−b u − k r) + (1 − d) (−g), from r = −1 mm and u = −0.1 m/s on
    let (mut r, mut u) = (-1e-3, -0.1);
    let fine = 1e-7;
    for _ in 0..40_000 {
        let rate =
            |r: f64, u: f64| IMPEDANCE * (-damping * u) - IMPEDANCE * stiffness * r - (1.0 - IMPEDANCE) * GRAVITY;
        let half = u + 0.5 * fine * rate(r, u);
        let middle = r + 0.5 * fine * u;
        (r, u) = (r + fine * half, u + fine * rate(middle, half));
    }
    assert!(r < 0.0, "it touches all the while: {r}");
    let mut error = [0.0; 2];
    for (error, dt) in error.iter_mut().zip([1e-3, 5e-4]) {
        let settings = Settings { integrator: Some(Integrator::Rk4), dt: Some(dt), ..soft() };
        let mut worlds = Worlds::new(&model("", ball), 1, settings).expect("worlds");
        worlds.set_state(Mask::All, &[-1e-3], &[-0.1]).expect("a state");
        for _ in 0..(4e-3 / dt).round() as usize {
            assert!(worlds.step(1).expect("a step")[0].solved());
        }
        *error = (worlds.positions()[0] - r).abs().max((worlds.velocities()[0] - u).abs());
    }
    assert!(error[0] < 1e-4 && error[1] * 12.0 < error[0], "{error:?}");
}

#[test]
fn what_does_not_go_with_softness_is_refused() {
    let model = example("ant");
    for (settings, part) in [
        (Settings { friction: FrictionLaw::Patch, ..soft() }, "friction patch"),
        (Settings { impacts: Impacts::Sequential, ..soft() }, "sequential impacts"),
        (Settings { restitution: 0.5, ..soft() }, "restitution"),
        (Settings { compliance: 0.5, ..soft() }, "compliance"),
    ] {
        let message = Worlds::new(&model, 1, settings).expect_err("an error").to_string();
        assert!(message.contains("constraints: must be hard with") && message.contains(part), "{message}");
    }
    #[cfg(feature = "gpu")]
    {
        let settings = Settings { backend: Backend::Gpu, precision: Precision::F32, ..soft() };
        let message = Worlds::new(&model, 1, settings).expect_err("an error").to_string();
        assert!(message.contains("constraints soft") && message.contains("use backend cpu or hybrid"), "{message}");
    }
}
