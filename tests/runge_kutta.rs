//! Runge-Kutta in the one step with everything else: dampers and servos of any stiffness, contacts, friction, bounces, limits, in every number type.
//! How well it follows free motion is in `physics_free.rs`.

#[path = "common/scenes.rs"]
mod scenes;

use delassus::model::{Actuator, Joint, JointKind, Transmission};
use delassus::worlds::{Noise, Start};
use delassus::{Integrator, Mask, Model, Precision, Settings, WorldStatus, Worlds};
use nalgebra::{Matrix3, Vector3};
use scenes::*;

/// A mass of 0.5 kg that slides along z under gravity, with this damper.
fn damped_slide(damping: f64, settings: Settings) -> Worlds {
    let mut b = empty();
    b.gravity([0.0, 0.0, -G]);
    let body = b.add_body("", 0, [0.0; 3]);
    b.set_inertia(body, 0.5, [0.0; 3], Matrix3::identity() * 0.01);
    let mut slide = Joint::new(body, JointKind::Slide);
    slide.axis = Vector3::z();
    slide.damping = damping;
    b.add_joint(slide);
    world(b, settings)
}

/// m v̇ = −m g − D v from v₀ = 1: v = (1 + g τ) exp(−t/τ) − g τ with τ = m/D. The error falls four times as h halves.
#[test]
fn damping_is_of_second_order() {
    let (damping, seconds) = (2.0, 0.5);
    let tau = 0.5 / damping;
    let error = |h: f64| {
        let mut w = damped_slide(damping, rk4(h));
        set_velocity(&mut w, &[1.0]);
        run(&mut w, seconds);
        let decay = (-seconds / tau).exp();
        let (q, v) = w.state();
        let fall = (1.0 + G * tau) * tau * (1.0 - decay) - G * tau * seconds;
        [v[0] - ((1.0 + G * tau) * decay - G * tau), q[0] - fall]
    };
    let (coarse, fine) = (error(1e-2), error(5e-3));
    println!("{coarse:?} at h = 0.01, {fine:?} at 0.005");
    for i in 0..2 {
        near("ratio", coarse[i] / fine[i], 4.0, 0.2);
    }
}

/// A damper a thousand and a million times stiffer than 1/h: the speed falls to that of the steady fall, m g/D, and never past it.
#[test]
fn a_stiff_damper_stops_without_ringing() {
    let h = 1e-2;
    for z in [1e3, 1e6] {
        let damping = z * 0.5 / h;
        let mut w = damped_slide(damping, rk4(h));
        set_velocity(&mut w, &[1.0]);
        let steady = -0.5 * G / damping;
        let mut above = 1.0 - steady;
        for _ in 0..20 {
            step(&mut w);
            let now = w.velocities()[0] - steady;
            assert!((0.0..=0.01 * above).contains(&now) || now.abs() < 1e-15, "{now} after {above}");
            above = now;
        }
        near("steady fall", w.velocities()[0], steady, 1e-12);
    }
}

/// A servo of kp = 4500 and kd = 450 on an arm of 0.01 kg·m² (a wrist of a Panda): at h = 2 ms hω = 1.3, h kd/I = 90. It creeps to its target as
/// q̇ = −(kp/kd) q, within what second order leaves.
#[test]
fn a_stiff_servo_settles() {
    let mut b = empty();
    let body = b.add_body("", 0, [0.0; 3]);
    b.set_inertia(body, 1.0, [0.0; 3], Matrix3::identity() * 0.01);
    let joint = b.add_joint(Joint::new(body, JointKind::Hinge));
    b.add_actuator(Actuator {
        name: String::new(),
        transmission: Transmission::Joint(joint),
        gear: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        control_range: None,
        force_range: None,
        gain: [4500.0, 0.0, 0.0],
        bias: [0.0, -4500.0, -450.0],
    });
    let mut w = world(b, rk4(2e-3));
    set_position(&mut w, &[0.5]);
    let mut before = 0.5;
    for i in 1..=1000 {
        step(&mut w);
        let now = w.positions()[0];
        assert!((-1e-12..=before).contains(&now), "{now} after {before}");
        before = now;
        if i == 50 {
            near("after 0.1 s", now, 0.5 * (-1.0f64).exp(), 2e-3);
        }
    }
    at_most("after 2 s", before, 1e-8);
}

/// While friction lasts it is a constant force, and positions move by the mean velocity: after 4 s the cube is where s = v t − μ g t²/2 says (5 m/s,
/// μ = 0.12), along (0.8, 0.6), to rounding in f64; and it stands still after 4.25 s.
#[test]
fn a_sliding_cube_is_where_mechanics_has_it() {
    for (precision, tolerance) in [(Precision::F64, 1e-8), (Precision::F32, 1e-3)] {
        let mut b = on_floor([0.0, 0.0, -9.8], 0.12);
        add_free(&mut b, [0.0, 0.0, 0.5], cube(1.0), 1.0, 0.12);
        let mut w = world(b, Settings { precision, ..rk4(0.01) });
        set_velocity(&mut w, &[4.0, 3.0, 0.0, 0.0, 0.0, 0.0]);
        run(&mut w, 4.0);
        let q = w.positions();
        near(&format!("{precision:?} along"), 0.8 * q[0] + 0.6 * q[1], 20.0 - 0.06 * 9.8 * 16.0, tolerance);
        at_most(&format!("{precision:?} across"), 0.6 * q[0] - 0.8 * q[1], tolerance);
        at_most(&format!("{precision:?} height"), q[2] - 0.5, tolerance);
        run(&mut w, 1.0);
        at_most(&format!("{precision:?} speed"), vector(&w.velocities(), 0).norm(), 1e-5);
    }
}

/// An elastic ball that falls 1 m keeps its energy in 20 s of bouncing, with Runge-Kutta as in mechanics: the rebound is that of a
/// parabola, not of Euler's polygon. With e = 0.8 the apexes are those of e²ᵏ, within the two per cent that a step of 1/240 s may cost.
#[test]
fn a_ball_bounces() {
    let drop = |settings: Settings| {
        let mut b = on_floor([0.0, 0.0, -G], 0.0);
        add_free(&mut b, [0.0, 0.0, 1.1], sphere(0.1), 1.0, 0.0);
        world(b, settings)
    };
    let mut w = drop(Settings { restitution: 1.0, ..rk4(1e-3) });
    let start = total_energy(&w);
    let mut off = 0.0f64;
    for _ in 0..20_000 {
        step(&mut w);
        off = off.max((total_energy(&w) / start - 1.0).abs());
    }
    at_most("energy of an elastic ball", off, 1e-9);
    for precision in [Precision::F64, Precision::F32] {
        let mut w = drop(Settings { restitution: 0.8, precision, ..rk4(1.0 / 240.0) });
        let mut apexes = vec![0.0f64];
        let mut rising = false;
        while apexes.len() < 5 {
            step(&mut w);
            let up = w.velocities()[2] > 0.0;
            if up && !rising {
                apexes.push(0.0);
            }
            rising = up;
            let last = apexes.len() - 1;
            apexes[last] = apexes[last].max(w.positions()[2] - 0.1);
        }
        for (k, apex) in apexes.iter().enumerate().take(4).skip(1) {
            near_relative(&format!("{precision:?} apex {k}"), *apex, 0.64f64.powi(k as i32), 0.02);
        }
    }
}

fn example(name: &str) -> Model {
    Model::from_mjcf_file(format!("{}/examples/models/{name}.xml", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The certificate does not notice the scheme: robots with random control on the floor and at their limits, every step solved.
#[test]
fn robots_keep_their_certificates() {
    /// Of 4000 world-steps: with Euler too, the solver misses 1e-10 m/s in some ant of 10⁵, by little.
    const F64_MISSES: usize = 1;
    for precision in [Precision::F32, Precision::F64] {
        for name in ["ant", "hopper", "biped", "humanoid"] {
            let model = example(name);
            let mut w = Worlds::new(&model, 20, Settings { precision, ..rk4(model.timestep) }).unwrap();
            w.set_start(Start { keyframe: model.keyframe("stand"), position_noise: 0.01, velocity_noise: 0.1 })
                .unwrap();
            w.reset(Mask::All, 1).unwrap();
            let (mut contacts, mut unsolved, mut worst, mut deepest) = (0, 0, 0.0f64, 0.0f64);
            for step in 0..200u64 {
                Noise::of_world(step / 5, 3).uniform(-1.0, 1.0, w.control_mut());
                for report in w.step(1).unwrap() {
                    unsolved += usize::from(report.status != WorldStatus::Solved);
                    contacts += report.contact_count;
                    (worst, deepest) = (worst.max(report.residual), deepest.max(report.penetration));
                }
            }
            println!(
                "{name} {precision:?}: {contacts} contacts, {unsolved} unsolved, residual {worst:.1e}, overlap {deepest:.1e}"
            );
            assert!(unsolved <= usize::from(precision == Precision::F64) * F64_MISSES);
            assert!(contacts > 1000, "{contacts} contacts test little");
        }
    }
}

/// What a world does depends neither on its neighbours nor on its place.
#[test]
fn worlds_do_not_notice_each_other() {
    let model = example("ant");
    let roll = |count: usize, shift: usize| {
        let mut w =
            Worlds::new(&model, count, Settings { integrator: Some(Integrator::Rk4), ..Settings::default() }).unwrap();
        let mut v = vec![0.0; count * model.nv()];
        for (world, v) in v.chunks_exact_mut(model.nv()).enumerate() {
            Noise::of_world(0, (world + shift) % 40).uniform(-1.0, 1.0, v);
        }
        w.set_state(Mask::All, &model.q0.repeat(count), &v).unwrap();
        for _ in 0..50 {
            w.step(1).unwrap();
        }
        let row = model.nq() + model.nv();
        w.observe().chunks(row).map(|x| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let (all, shifted) = (roll(40, 0), roll(40, 7));
    for world in 0..40 {
        assert_eq!(shifted[world], all[(world + 7) % 40], "world {world}");
    }
    assert_eq!(roll(3, 0), all[..3]);
}

/// The model's own scheme is taken where the settings name none.
#[test]
fn the_model_names_the_default() {
    let mut model = example("pendulum");
    assert_eq!(Worlds::new(&model, 1, Settings::default()).unwrap().integrator(), Integrator::Euler);
    model.integrator = Integrator::Rk4;
    assert_eq!(Worlds::new(&model, 1, Settings::default()).unwrap().integrator(), Integrator::Rk4);
    let euler = Settings { integrator: Some(Integrator::Euler), ..Settings::default() };
    assert_eq!(Worlds::new(&model, 1, euler).unwrap().integrator(), Integrator::Euler);
}
