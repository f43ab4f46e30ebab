//! Sliding, sticking, rolling, stacking and dry joints against closed forms. Case names are those of the external `physics_cases.json`; every
//! tolerance is the case's own, or the issue's.

mod common;

use common::scenes::{G, ball, builder, close, cube, exact, floor, incline, pendulum, set_velocity, world};
use delassus::model::{CollisionPair, Geom, Joint, JointKind, PairFriction, Shape};
use delassus::{Precision, Settings, Worlds};
use nalgebra::{Matrix3, Vector3};

fn single() -> Settings {
    Settings::default()
}

/// The slide: a 1 kg unit cube, v = (4, 3, 0), μ = 0.12, h = 0.01 s, 4 s: backward Euler's closed form s = Σ h (5 − μ g h k).
#[test]
fn a_cube_slides_as_backward_euler_says() {
    for (settings, tolerance) in [(exact(), 1e-6), (single(), 1e-3)] {
        let mut b = builder(0.01, [0.0, 0.0, -9.8]);
        floor(&mut b, 0.12);
        cube(&mut b, [0.0, 0.0, 0.5], [1.0; 3], 1.0, 0.12);
        let mut w = world(b, settings);
        set_velocity(&mut w, &[4.0, 3.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(w.step(400).unwrap()[0].solved());
        let s: f64 = (1..=400).map(|k| 0.01 * (5.0 - 1.176 * 0.01 * f64::from(k))).sum();
        let q = w.positions();
        close("x", q[0], 0.8 * s, tolerance);
        close("y", q[1], 0.6 * s, tolerance);
        close("off the line", 0.6 * q[0] - 0.8 * q[1], 0.0, tolerance);
    }
}

/// sliding_cube_mu0.12: stops within h of |v|/(μ g), straight to 1e-6 of the path.
#[test]
fn a_cube_stops_in_time_and_straight() {
    let mut b = builder(0.01, [0.0, 0.0, -9.8]);
    floor(&mut b, 0.12);
    cube(&mut b, [0.0, 0.0, 0.5], [1.0; 3], 1.0, 0.12);
    let mut w = world(b, exact());
    set_velocity(&mut w, &[4.0, 3.0, 0.0, 0.0, 0.0, 0.0]);
    let mut stop = 0.0;
    for step in 1..=500 {
        w.step(1).unwrap();
        let v = w.velocities();
        if v[0].hypot(v[1]) > 1e-9 {
            stop = f64::from(step) * 0.01;
        }
    }
    close("stop time", stop, 4.251_700_680_272_109, 0.01);
    let q = w.positions();
    close("sideways", 0.6 * q[0] - 0.8 * q[1], 0.0, 1e-6 * 10.6);
}

/// The incline, μ = 0.5 (critical angle 26.565°): no creep at 26.5°, g (sin − μ cos) at 26.63°.
#[test]
fn an_incline_holds_or_lets_go() {
    for (settings, creep) in [(exact(), 1e-9), (single(), 1e-5)] {
        for degrees in [26.5, 26.63] {
            let mut b = builder(0.01, incline(degrees));
            floor(&mut b, 0.5);
            cube(&mut b, [0.0, 0.0, 0.5], [1.0; 3], 1.0, 0.5);
            let mut w = world(b, settings.clone());
            w.step(200).unwrap();
            let a = degrees.to_radians();
            if degrees < 26.565 {
                close("creep", w.positions()[0], 0.0, creep);
            } else {
                let expected = G * (a.sin() - 0.5 * a.cos());
                close("acceleration", w.velocities()[0] / 2.0, expected, 1e-3 * expected);
            }
        }
    }
}

/// incline_threshold_mu0.5: |v| < 1e-9 m/s after 1 s half a degree below, acceleration to 1e-6 half a degree above.
#[test]
fn an_incline_half_a_degree_off() {
    for (degrees, expected, tolerance) in
        [(26.065_051_177_077_99, 0.0, 1e-9), (27.065_051_177_077_99, 0.095_711_885_886_814_73, 1e-7)]
    {
        let mut b = builder(1e-3, incline(degrees));
        floor(&mut b, 0.5);
        cube(&mut b, [0.0, 0.0, 0.1], [1.0, 1.0, 0.2], 2.0, 0.5);
        let mut w = world(b, exact());
        w.step(1000).unwrap();
        close("velocity after 1 s", w.velocities()[0], expected, tolerance);
    }
}

/// incline_tip_0.4_1: a tall box stands 0.3° below atan(w/h) for 5 s, and falls 0.3° above.
#[test]
fn a_tall_box_tips_where_it_should() {
    for (offset, falls) in [(-0.3, false), (0.3, true)] {
        let mut b = builder(0.002, incline(21.801_409_486_351_81 + offset));
        floor(&mut b, 2.0);
        cube(&mut b, [0.0, 0.0, 0.5], [0.4, 0.4, 1.0], 1.0, 2.0);
        let mut w = world(b, exact());
        w.step(2500).unwrap();
        // cos(tilt/2) is the quaternion's real part.
        let tilt = 2.0 * w.positions()[3].abs().min(1.0).acos();
        println!("{offset}: tilt {tilt}");
        assert!(if falls { tilt > 0.5 } else { tilt < 1e-6 });
    }
}

/// spinning_cube_1: angular deceleration μ m g (a/√2) / (m a²/6), exact in velocity.
#[test]
fn a_spinning_cube_slows_evenly() {
    let mut b = builder(1e-3, [0.0, 0.0, -G]);
    floor(&mut b, 0.3);
    cube(&mut b, [0.0, 0.0, 0.5], [1.0; 3], 1.0, 0.3);
    let mut w = world(b, exact());
    set_velocity(&mut w, &[0.0, 0.0, 0.0, 0.0, 0.0, 4.0]);
    w.step(200).unwrap();
    close("spin", w.velocities()[5], 4.0 - 12.486_091_542_192_053 * 0.2, 4e-9);
    let angle = 2.0 * w.positions()[6].asin();
    // O(h): the sum of h ω over the steps instead of the integral.
    close("angle", angle, 4.0 * 0.2 - 0.5 * 12.486_091_542_192_053 * 0.04, 12.5 * 0.2 * 1e-3);
}

/// slide_to_roll_v3_w0, slide_to_roll_v3_w-60: v + 2/5 r ω is kept, so the final velocity is exact; rolling starts within 2 h.
#[test]
fn a_sliding_sphere_ends_rolling() {
    const H: f64 = 1e-3;
    for (spin, time, speed) in [(0.0, 0.436_871_996_505_023_95, 15.0 / 7.0), (-60.0, 1.310_615_989_515_072, 3.0 / 7.0)]
    {
        let mut b = builder(H, [0.0, 0.0, -G]);
        floor(&mut b, 0.2);
        ball(&mut b, [0.0, 0.0, 0.1], 0.1, 1.0, 0.2);
        let mut w = world(b, exact());
        set_velocity(&mut w, &[3.0, 0.0, 0.0, 0.0, spin, 0.0]);
        let mut sliding = 0.0;
        for step in 1..=1500 {
            w.step(1).unwrap();
            let v = w.velocities();
            // Spin is in body axes; about y, the axis that it turns about.
            if (v[0] - 0.1 * v[4]).abs() > 1e-6 {
                sliding = f64::from(step) * H;
            }
        }
        close("rolls from", sliding, time, 2.0 * H);
        close("final velocity", w.velocities()[0], speed, 1e-9 * speed);
    }
}

/// sphere_incline_15: a = 5/7 g sin α, α = a / r.
#[test]
fn a_sphere_rolls_down() {
    let mut b = builder(1e-3, incline(15.0));
    floor(&mut b, 0.5);
    ball(&mut b, [0.0, 0.0, 0.05], 0.05, 0.1, 0.5);
    let mut w = world(b, exact());
    w.step(1000).unwrap();
    let v = w.velocities();
    close("velocity", v[0], 1.813_582_023_182_663_4, 1.8e-4);
    close("spin", v[4], 36.271_640_463_653_26, 3.6e-3);
}

/// turntable_3: the centre of a rolling ball runs on a circle at 2/7 of the table's rate.
#[test]
fn a_ball_circles_on_a_turntable() {
    const H: f64 = 1e-3;
    let mut b = builder(H, [0.0, 0.0, -G]);
    let table = b.add_body("table", 0, [0.0; 3]);
    let mut hinge = Joint::new(table, JointKind::Hinge);
    hinge.armature = 1e6;
    b.add_joint(hinge);
    b.set_inertia(table, 1.0, [0.0; 3], Matrix3::identity());
    b.add_geom(Geom::new(table, Shape::Box { half: Vector3::new(2.0, 2.0, 0.05) }));
    ball(&mut b, [0.5, 0.0, 0.1], 0.05, 1.0, 1.0);
    let mut w = world(b, exact());
    set_velocity(&mut w, &[3.0, 0.0, 0.3, 0.0, 24.0, 0.0, 0.0]);
    // One period, 7 π / Ω.
    let steps = (7.330_382_858_376_184_5 / H).round() as u32;
    let (mut x, mut y) = (0.0, 0.0);
    for _ in 0..steps {
        w.step(1).unwrap();
        let q = w.positions();
        (x, y) = (x + q[1] / f64::from(steps), y + q[2] / f64::from(steps));
    }
    close("centre x", x, 0.15, 1e-3);
    close("centre y", y, 0.0, 1e-3);
    // Back at the start after one period: the angle that is missing, in periods.
    let q = w.positions();
    let missing = (q[2] - y).atan2(q[1] - x) / std::f64::consts::TAU;
    close("period", missing, 0.0, 1e-3);
}

/// stick_slip_block_mu0.8: slips under A cos ωt; positions after each slip to 1e-3 at h = 1e-3.
#[test]
fn a_block_sticks_and_slips() {
    const H: f64 = 1e-3;
    let mut b = builder(H, [0.0, 0.0, -G]);
    floor(&mut b, 0.8);
    cube(&mut b, [0.0, 0.0, 0.05], [0.3, 0.3, 0.1], 1.0, 0.8);
    let mut w = world(b, exact());
    let mut at = Vec::new();
    for step in 0..10_000u32 {
        // The force in the middle of the step.
        w.external_force_mut()[0] = 8.0 * ((f64::from(step) + 0.5) * H).cos();
        w.step(1).unwrap();
        if [1000, 4000, 7000, 9999].contains(&step) {
            at.push(w.positions()[0]);
        }
    }
    let expected =
        [0.004_348_569_726_864_815, -0.008_697_166_884_969_132, 0.004_348_569_726_864_149, -0.008_697_166_884_970_02];
    for (found, expected) in at.iter().zip(expected) {
        close("position", *found, expected, 1e-3 * expected.abs());
    }
}

fn stack(masses: &[f64], settings: Settings) -> Worlds {
    let mut b = builder(0.01, [0.0, 0.0, -G]);
    floor(&mut b, 0.5);
    for (i, mass) in masses.iter().enumerate() {
        cube(&mut b, [0.0, 0.0, 0.5 + i as f64], [1.0; 3], *mass, 0.5);
    }
    let mut w = world(b, settings);
    w.watch(0, true).unwrap();
    w
}

/// stack_1_1_1_1_x10, stack_1_1000_x2: force sums to 1e-6, drift below 1e-4 m in 5 s.
#[test]
fn stacks_carry_their_weight() {
    for masses in [vec![1.0; 10], vec![1.0, 1000.0]] {
        let mut w = stack(&masses, exact());
        let start = w.positions();
        w.step(500).unwrap();
        let drift = w.positions().iter().zip(&start).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        close("drift", drift, 0.0, 1e-4);
        for i in 0..masses.len() {
            let above: f64 = masses[i..].iter().sum::<f64>() * G;
            // Geom i + 1 is box i; its lower neighbour is geom i.
            let on = w
                .contacts(0)
                .unwrap()
                .iter()
                .filter(|c| (c.geom_a.min(c.geom_b), c.geom_a.max(c.geom_b)) == (i, i + 1));
            close("force", on.map(|c| c.impulse[0]).sum::<f64>() / 0.01, above, 1e-6 * above);
        }
    }
}

/// The stacks of 10, equal and 1:100 top-heavy: after 5 s overlap and sideways drift below 1 mm, in f64 and f32.
#[test]
fn stacks_of_ten_stand() {
    for precision in [Precision::F64, Precision::F32] {
        for top in [1.0, 100.0] {
            let mut masses = vec![1.0; 10];
            masses[9] = top;
            let mut w = stack(&masses, Settings { precision, ..single() });
            let report = w.step(500).unwrap()[0];
            let sideways = w.positions().chunks(7).map(|q| q[0].hypot(q[1])).fold(0.0, f64::max);
            println!("{precision:?}, top {top}: sideways {sideways:.1e} m, {report:?}");
            assert!(sideways < 1e-3 && report.penetration < 1e-3 && report.solved());
        }
    }
}

/// A box set 1 cm inside the floor comes out within 0.2 s and does not leave it again by more than 1 mm.
#[test]
fn an_overlap_is_pushed_out_and_leaves_no_speed() {
    for dt in [0.01, 0.001] {
        let mut b = builder(dt, [0.0, 0.0, -G]);
        floor(&mut b, 0.5);
        cube(&mut b, [0.0, 0.0, 0.49], [1.0; 3], 1.0, 0.5);
        for settings in [exact(), single()] {
            let mut w = world(b.clone(), settings);
            w.step((0.2 / dt).round() as u32).unwrap();
            // Out: what is left of the centimetre, 0.6²⁰ of it, is a thousandth of a millimetre.
            close("height after 0.2 s", w.positions()[2], 0.5, 1e-6);
            let mut top = 0.0f64;
            for _ in 0..(1.0 / dt) as u32 {
                w.step(1).unwrap();
                top = top.max(w.positions()[2] - 0.5);
            }
            close("highest later", top.max(0.0), 0.0, 1e-3);
        }
    }
}

/// pendulum_2: period 4 √(l/g) K(sin 1) to 1e-4 at h = 1e-3.
#[test]
fn a_pendulum_keeps_its_period() {
    const H: f64 = 1e-3;
    let mut b = builder(H, [0.0, 0.0, -G]);
    pendulum(&mut b, 1.0, |_| {});
    let mut w = world(b, exact());
    w.set_state(delassus::Mask::All, &[2.0], &[0.0]).unwrap();
    // Passes the lowest point every half period; interpolate.
    let (mut last, mut passes) = (2.0, Vec::new());
    for step in 1..=3000 {
        w.step(1).unwrap();
        let q = w.positions()[0];
        if last * q < 0.0 {
            passes.push((f64::from(step) - q / (q - last)) * H);
        }
        last = q;
    }
    close("period", 2.0 * (passes[1] - passes[0]), 2.665_870_942_834_926, 1e-4);
}

/// hinge_dry_friction_0.05: swings shrink by 2 τ/(m g l) each half swing, and stop exactly inside the band.
#[test]
fn dry_friction_stops_a_pendulum() {
    let mut b = builder(1e-3, [0.0, 0.0, -G]);
    pendulum(&mut b, 0.5, |j| j.friction_loss = 0.05);
    let mut w = world(b, exact());
    w.set_state(delassus::Mask::All, &[0.2], &[0.0]).unwrap();
    let (mut last_v, mut turns) = (-1.0, Vec::new());
    for _ in 0..12_000 {
        w.step(1).unwrap();
        let (q, v) = w.state();
        if last_v * v[0] < 0.0 {
            turns.push(q[0].abs());
        }
        if v[0] != 0.0 {
            last_v = v[0];
        }
    }
    // A finite angle swings a little otherwise: 2 %.
    for (k, turn) in turns.iter().take(5).enumerate() {
        let expected = 0.2 - 0.020_387_359_836_901_122 * (k as f64 + 1.0);
        close("turn", *turn, expected, 0.02 * 0.020_387 * (k as f64 + 1.0));
    }
    let (q, v) = w.state();
    close("rest velocity", v[0], 0.0, 1e-9);
    assert!(q[0].abs() <= 0.010_193_679_918_450_561);
}

/// joint_limit_stop: a pendulum falls onto its limit: hit time within h, overlap below speed · h, all energy lost.
#[test]
fn a_joint_limit_stops_a_pendulum() {
    const H: f64 = 1e-3;
    let mut b = builder(H, [0.0, 0.0, -G]);
    pendulum(&mut b, 1.0, |j| j.range = Some([0.0, 3.0]));
    let mut w = world(b, exact());
    w.set_state(delassus::Mask::All, &[1.0], &[0.0]).unwrap();
    let (mut hit, mut deepest) = (None, 0.0f64);
    for step in 1..=1000 {
        w.step(1).unwrap();
        let q = w.positions();
        deepest = deepest.max(-q[0]);
        if hit.is_none() && q[0] < 1e-9 {
            hit = Some(f64::from(step) * H);
        }
    }
    close("hit time", hit.unwrap(), 0.534_784_400_139_672_2, H);
    close("overlap", deepest, 0.0, 3.003 * H);
    let (q, v) = w.state();
    close("angle", q[0], 0.0, 1e-9);
    close("velocity", v[0], 0.0, 1e-9);
}

/// simbenchmark_rolling: 25 balls on a plate that is pushed: mean squared velocity errors below 1e-6.
#[test]
fn balls_roll_on_a_pushed_plate() {
    const STEPS: u32 = 1000;
    let mut b = builder(1e-3, [0.0, 0.0, -G]);
    let ground = floor(&mut b, 0.4);
    let (_, plate) = cube(&mut b, [0.0, 0.0, 0.5], [20.0, 20.0, 1.0], 10.0, 0.8);
    let pair = |a: usize, c: usize, mu: f64| CollisionPair {
        geom_a: a,
        geom_b: c,
        friction: PairFriction::Fixed(mu),
        condim: 3,
        margin: 0.0,
        restitution: None,
    };
    b.add_pair(pair(ground, plate, 0.4));
    for i in 0..25 {
        let (x, y) = (2.0 * f64::from(i % 5) - 4.0, 2.0 * f64::from(i / 5) - 4.0);
        let (_, g) = ball(&mut b, [x, y, 1.5], 0.5, 1.0, 0.8);
        b.add_pair(pair(g, plate, 0.8));
    }
    let mut w = world(b, exact());
    let direction = [0.5, 3f64.sqrt() / 2.0];
    for i in 0..2 {
        w.external_force_mut()[i] = 150.0 * direction[i];
    }
    let mut sum = 0.0;
    for step in 1..=STEPS {
        w.step(1).unwrap();
        let t = f64::from(step) * 1e-3;
        let v = w.velocities();
        let error = |from: usize, a: f64| (0..2).map(|i| (v[from + i] - a * t * direction[i]).powi(2)).sum::<f64>();
        sum += error(6, 0.211) + error(0, 0.7385);
    }
    println!("mean squared error {:.1e}", sum / f64::from(STEPS));
    assert!(sum / f64::from(STEPS) < 1e-6);
}
