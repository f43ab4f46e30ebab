//! Bodies that meet one after another: what an impact throws at a neighbour keeps its speed, and what rests stays quiet.
//! Energy and momentum in closed form, without gravity unless it says so.

#[path = "common/scenes.rs"]
mod scenes;

use delassus::worlds::IMPACT_PASSES;
use delassus::{Backend, Impacts, Integrator, Mask, Precision, Settings, WorldReport, Worlds};
use scenes::*;

/// Impulses solved to 1e-13 m/s; what is left is the solver, a few steps of it.
const SOLVED: f64 = 1e-9;
/// Gap between neighbours, m.
const GAP: f64 = 1e-4;

/// Two balls of `masses` one above the other, thrown at the floor at 1 m/s.
fn thrown_pair(masses: [f64; 2], settings: Settings) -> Worlds {
    let mut b = on_floor([0.0; 3], 0.0);
    add_free(&mut b, [0.0, 0.0, 0.1 + 3e-5], sphere(0.1), masses[0], 0.0);
    add_free(&mut b, [0.0, 0.0, 0.25 + 3e-5 + GAP], sphere(0.05), masses[1], 0.0);
    let mut w = world(b, settings);
    let mut v = vec![0.0; 12];
    (v[2], v[8]) = (-1.0, -1.0);
    set_velocity(&mut w, &v);
    w
}

/// Balls of 1 kg in a row along x, `gap` apart; the first moves at `speed`.
fn row_of_balls(count: usize, gap: f64, speed: f64, settings: Settings) -> Worlds {
    let mut b = empty();
    for i in 0..count {
        add_free(&mut b, [(0.1 + gap) * i as f64, 0.0, 0.0], sphere(0.05), 1.0, 0.0);
    }
    let mut w = world(b, settings);
    let mut v = vec![0.0; 6 * count];
    v[0] = speed;
    set_velocity(&mut w, &v);
    w
}

fn elastic(mut settings: Settings) -> Settings {
    settings.restitution = 1.0;
    settings
}

/// The lower ball M turns at the floor and meets the upper one m, 0.1 mm above: (3M − m)/(M + m) and (M − 3m)/(M + m) m/s, |the latter| once it
/// has turned at the floor again. A step goes up to ten gaps far.
#[test]
fn thrown_pair_keeps_its_energy_at_every_step() {
    for (big, small) in [(1.0, 1.0), (10.0, 1.0), (1000.0, 1.0)] {
        for dt in [1e-3, 1e-4, 1e-5] {
            let mut w = thrown_pair([big, small], elastic(sharp(dt)));
            run(&mut w, f64::max(10.0 * dt, 1e-3));
            let v = w.velocities();
            println!("{big} : {small}, h = {dt}");
            near("upper ball", v[8], (3.0 * big - small) / (big + small), SOLVED);
            near("lower ball", v[2], ((big - 3.0 * small) / (big + small)).abs(), SOLVED);
        }
    }
}

/// The same in f32, with the default tolerance, 1e-5 m/s, of which the 1000 : 1 pair makes a few.
#[test]
fn thrown_pair_keeps_its_energy_in_f32() {
    const DEFAULT: f64 = 1e-4;
    for (big, small) in [(1.0, 1.0), (1000.0, 1.0)] {
        let mut w = thrown_pair([big, small], elastic(Settings { precision: Precision::F32, ..oracle(1e-3) }));
        run(&mut w, 0.01);
        let v = w.velocities();
        near("upper ball", v[8], (3.0 * big - small) / (big + small), DEFAULT);
        near("lower ball", v[2], ((big - 3.0 * small) / (big + small)).abs(), DEFAULT);
    }
}

/// A gap below `restitution_threshold` · Δt counts as none: both balls turn as one, at 1 m/s, and lose nothing.
#[test]
fn pair_that_touches_turns_as_one() {
    for (big, small) in [(1.0, 1.0), (1000.0, 1.0)] {
        let mut w = thrown_pair([big, small], elastic(sharp(1e-2)));
        run(&mut w, 0.1);
        let v = w.velocities();
        near("upper ball", v[8], 1.0, SOLVED);
        near("lower ball", v[2], 1.0, SOLVED);
    }
}

/// Three equal balls 0.1 mm apart hand the speed on: (0, 0, v).
#[test]
fn balls_in_a_row_hand_the_speed_on() {
    let mut w = row_of_balls(3, GAP, 5.0, elastic(sharp(1e-3)));
    run(&mut w, 0.01);
    let v = w.velocities();
    for (i, expected) in [0.0, 0.0, 5.0].into_iter().enumerate() {
        near(&format!("ball {i}"), v[6 * i], expected, SOLVED);
    }
}

/// With e = 1/2, equal masses: the struck ball gets (1 + e)/2 of the speed, and so on: ((1 + e)/2)² v.
#[test]
fn half_elastic_balls_hand_on_three_quarters() {
    let mut w = row_of_balls(3, GAP, 5.0, Settings { restitution: 0.5, ..sharp(1e-3) });
    run(&mut w, 2e-3);
    near("last ball", w.velocities()[12], 5.0 * 0.75 * 0.75, SOLVED);
}

/// Many worlds, each thrown at its own speed from its own height: the bits of every world alone.
#[test]
fn throws_do_not_depend_on_the_neighbours() {
    const COUNT: usize = 37;
    let model = thrown_pair([10.0, 1.0], oracle(1e-3)).model().clone();
    let settings = || elastic(Settings { precision: Precision::F32, ..oracle(1e-3) });
    let start = |w: &mut Worlds, world: usize, k: usize| {
        let (mut q, mut v) = w.state();
        let (q_own, v_own) = (&mut q[14 * world..14 * (world + 1)], &mut v[12 * world..12 * (world + 1)]);
        q_own[9] += 1e-4 * k as f64;
        (v_own[2], v_own[8]) = (-0.1 * k as f64, -1.0);
        w.set_state(Mask::All, &q, &v).unwrap();
    };
    let mut together = Worlds::new(&model, COUNT, settings()).unwrap();
    for k in 0..COUNT {
        start(&mut together, k, k);
    }
    together.step(20).unwrap();
    let (q, v) = together.state();
    for k in 0..COUNT {
        let mut alone = world_of(&model, settings());
        start(&mut alone, 0, k);
        alone.step(20).unwrap();
        let same = |all: &[f64], one: &[f64]| all[k * one.len()..(k + 1) * one.len()] == *one;
        assert!(same(&q, &alone.positions()) && same(&v, &alone.velocities()), "world {k}");
    }
}

/// Boxes dropped on each other come to rest and stay there, also where a bounce at the restitution threshold is as slow as what gravity adds in a step.
#[test]
fn dropped_boxes_come_to_rest() {
    // The bounces of one box by itself are over after t₁ (1+e)/(1−e), t₁ = √(2 · 0.05 m/g): 1.9 s for e = 0.9. The boxes disturb each other.
    const REST: f64 = 4.0;
    // The tolerance, 1e-5 m/s in f32, at both ends of an arm of 0.1 m, rad/s.
    const QUIET: f64 = 2e-4;
    for precision in [Precision::F64, Precision::F32] {
        for (dt, restitution) in [(0.01, 0.5), (0.01, 0.8), (0.01, 0.9), (0.002, 0.5), (0.002, 0.9)] {
            let mut b = on_floor([0.0, 0.0, -G], 0.5);
            for i in 0..2 {
                add_free(&mut b, [0.0, 0.0, 0.15 + 0.25 * f64::from(i)], cube(0.2), 1.0, 0.5);
            }
            let mut w = world(b, Settings { restitution, precision, ..oracle(dt) });
            run(&mut w, REST);
            let q = w.positions();
            let mut fastest = 0.0f64;
            for _ in 0..100 {
                step(&mut w);
                fastest = w.velocities().iter().fold(fastest, |m, x| m.max(x.abs()));
            }
            println!("{precision:?}, h = {dt}, e = {restitution}");
            at_most("fastest", fastest, QUIET);
            let moved = w.positions().iter().zip(&q).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            at_most("creep", moved, QUIET * dt);
        }
    }
}

/// A stack at rest stays at rest, with any restitution.
#[test]
fn stack_that_bounces_stands() {
    const CREEP: f64 = 1e-5;
    for precision in [Precision::F64, Precision::F32] {
        for (dt, restitution) in [(0.01, 0.5), (0.01, 1.0), (0.001, 0.9)] {
            let mut b = on_floor([0.0, 0.0, -G], 0.5);
            for i in 0..5 {
                add_free(&mut b, [0.0, 0.0, 0.1 + 0.2 * f64::from(i)], cube(0.2), 1.0, 0.5);
            }
            let mut w = world(b, Settings { restitution, precision, ..oracle(dt) });
            let q = w.positions();
            run(&mut w, 1.0);
            let moved = w.positions().iter().zip(&q).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            println!("{precision:?}, h = {dt}, e = {restitution}");
            at_most("creep in 1 s", moved, CREEP);
        }
    }
}

/// An elastic ball that rolls goes on rolling: speed, spin and height as at the start.
#[test]
fn elastic_ball_rolls_on() {
    let mut b = on_floor([0.0, 0.0, -G], 0.5);
    add_free(&mut b, [0.0, 0.0, 0.1], sphere(0.1), 1.0, 0.5);
    let mut w = world(b, elastic(sharp(1e-3)));
    set_velocity(&mut w, &[1.0, 0.0, 0.0, 0.0, 10.0, 0.0]);
    run(&mut w, 1.0);
    let (q, v) = w.state();
    near("speed", v[0], 1.0, SOLVED);
    near("way", q[0], 1.0, SOLVED);
    near("height", q[2], 0.1, SOLVED);
    at_most("rattle", v[2], SOLVED);
}

/// 216 elastic balls of 10 kg in a 6 × 6 × 6 grid of 0.21 m, displaced by up to 1 mm, fall 1 m and bounce: 34.5 kJ for 1.6 s.
///
/// The step's own energy, T + V − g h/2 Σ m v_z, is constant in free flight. Every impact by itself keeps it; what does not is where a ball that is thrown
/// at the floor, or at a ball that rests on it, within a step is stopped at its surface, up to v h too high: m g v h. With v = 4.5 m/s at the floor, of 36 balls:
/// 16 J.
#[test]
fn elastic_pile_keeps_its_energy() {
    for impacts in [Impacts::Simultaneous, Impacts::Sequential] {
        elastic_pile(impacts);
    }
}

fn elastic_pile(impacts: Impacts) {
    const H: f64 = 1e-3;
    const MASS: f64 = 10.0;
    const LATE: f64 = 36.0 * MASS * G * 4.5 * H;
    let mut b = on_floor([0.0, 0.0, -G], 0.0);
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 * 1e-3
    };
    for i in 0..216 {
        let at = |k: i32| 0.21 * f64::from(k);
        let p = [at(i % 6) + random(), at(i / 6 % 6) + random(), 1.101 + at(i / 36) + random()];
        add_free(&mut b, p, sphere(0.1), MASS, 0.0);
    }
    let mut w = world(b, Settings { impacts, ..elastic(oracle(H)) });
    let energy = |w: &Worlds| -> f64 {
        let (q, v) = w.state();
        let of =
            |k: usize| free_energy(w.model(), k + 1, k, &q, &v).iter().sum::<f64>() - 0.5 * H * MASS * G * v[6 * k + 2];
        (0..216).map(of).sum()
    };
    let start = energy(&w);
    near("energy at the start", start, 34.5e3, 100.0);
    let mut passes = 0;
    for part in 1..=16 {
        for _ in 0..100 {
            step(&mut w);
            passes = passes.max(w.reports()[0].impact_passes);
        }
        println!("{impacts:?}, {:.1} s: {:+.3} J, at most {passes} passes", 0.1 * f64::from(part), energy(&w) - start);
    }
    near("energy after 1.6 s", energy(&w), start, LATE);
}

fn sequential(mut settings: Settings) -> Settings {
    (settings.impacts, settings.restitution) = (Impacts::Sequential, 1.0);
    settings
}

/// Velocities of balls in a row.
fn speeds(w: &Worlds) -> Vec<f64> {
    w.velocities().chunks(6).map(|v| v[0]).collect()
}

/// Impacts one after another among equal balls that touch, the law by itself: neighbours that approach faster than `threshold` strike, all pairs of a pass
/// from the velocities before it where they have no ball in common, to −e u.
fn one_after_another(v: &mut [f64], e: f64, threshold: f64) -> u32 {
    let mut passes = 0;
    loop {
        let pairs: Vec<usize> = (1..v.len()).filter(|&i| v[i - 1] - v[i] > threshold).collect();
        assert!(pairs.windows(2).all(|p| p[1] > p[0] + 1), "a ball between two others is one problem");
        if pairs.is_empty() {
            return passes;
        }
        for i in pairs {
            let (sum, change) = (v[i - 1] + v[i], e * (v[i - 1] - v[i]));
            (v[i - 1], v[i]) = (0.5 * (sum - change), 0.5 * (sum + change));
        }
        passes += 1;
    }
}

/// A cradle of five balls that touch, one after another: as many leave as arrive. In one step, also across gaps of 0.1 mm. f64 and f32.
#[test]
fn cradle_sends_off_as_many_as_arrive() {
    // f32: the tolerance of five impulses.
    for (precision, tolerance) in [(Precision::F64, SOLVED), (Precision::F32, 5e-5)] {
        for gap in [0.0, GAP] {
            for arriving in 1..=4 {
                let settings = if precision == Precision::F64 { sharp(1e-3) } else { oracle(1e-3) };
                let mut w = row_of_balls(5, gap, 1.0, sequential(Settings { precision, ..settings }));
                let mut v = w.velocities();
                for ball in 0..arriving {
                    v[6 * ball] = 1.0;
                }
                set_velocity(&mut w, &v);
                w.watch(0, true).unwrap();
                step(&mut w);
                println!("{precision:?}, gap {gap}, {arriving} arrive, {} passes", w.reports()[0].impact_passes);
                for (i, v) in speeds(&w).into_iter().enumerate() {
                    near(&format!("ball {i}"), v, if i + arriving < 5 { 0.0 } else { 1.0 }, tolerance);
                }
                assert_eq!(w.reports()[0].impact_passes, 4);
                // every ball that arrives passes m v = 1 N·s on to every ball that leaves, by way of those between
                let handed_on: f64 = w.contacts(0).unwrap().iter().map(|c| c.impulse[0]).sum();
                near("impulses", handed_on, (arriving * (5 - arriving)) as f64, 4.0 * tolerance);
            }
        }
    }
}

/// The same with e = 1/2: against the law by itself.
#[test]
fn inelastic_cradle_strikes_again_and_again() {
    const THRESHOLD: f64 = 1e-3;
    let settings = Settings { restitution_threshold: THRESHOLD, ..sequential(sharp(1e-3)) };
    let mut w = row_of_balls(5, 0.0, 1.0, Settings { restitution: 0.5, ..settings });
    step(&mut w);
    let mut expected = vec![1.0, 0.0, 0.0, 0.0, 0.0];
    let passes = one_after_another(&mut expected, 0.5, THRESHOLD);
    println!("{passes} passes, {expected:?}");
    assert_eq!(w.reports()[0].impact_passes, passes);
    // In the end no ball approaches another: nothing is left to the problem of the step.
    for (i, v) in speeds(&w).into_iter().enumerate() {
        near(&format!("ball {i}"), v, expected[i], SOLVED);
    }
}

/// A ball hits two that touch in the middle: both are struck at once, and are one problem with either law: −1/5 v, and 2√3/5 v along the lines of centres.
#[test]
fn what_strikes_at_once_is_one_problem() {
    for impacts in [Impacts::Simultaneous, Impacts::Sequential] {
        let mut b = empty();
        add_free(&mut b, [-0.1 * 0.75f64.sqrt(), 0.0, 0.0], sphere(0.05), 1.0, 0.0);
        for y in [-0.05, 0.05] {
            add_free(&mut b, [0.0, y, 0.0], sphere(0.05), 1.0, 0.0);
        }
        let mut w = world(b, Settings { impacts, ..elastic(sharp(1e-3)) });
        let mut v = vec![0.0; 18];
        v[0] = 1.0;
        set_velocity(&mut w, &v);
        step(&mut w);
        let v = w.velocities();
        near("arriving", v[0], -0.2, SOLVED);
        for k in [6, 12] {
            near("struck", v[k].hypot(v[k + 1]), 0.4 * 3f64.sqrt(), SOLVED);
        }
    }
}

/// A ball between a heavy one and the floor strikes ⌊π √(M/m)⌋ times in all (Galperin 2003); all in one step, the heavy one leaves as fast as it came, but for
/// the rest of the energy. Beyond the most passes the report says so.
#[test]
fn ball_between_floor_and_heavy_one_counts_pi() {
    // √(M/m), strikes.
    for (root, strikes) in [(1.0, 3), (4.0, 12), (10.0, 31)] {
        let mut w = squeezed_ball(root * root);
        step(&mut w);
        let report = w.reports()[0];
        let v = w.velocities();
        println!("M/m = {}: {} passes, heavy one at {}", root * root, report.impact_passes, v[8]);
        assert_eq!((report.impact_passes, report.impacts_left), (strikes, false));
        near("energy", v[2] * v[2] + root * root * v[8] * v[8], root * root, SOLVED * root * root);
    }
    let mut w = squeezed_ball(1e4);
    step(&mut w);
    let report = w.reports()[0];
    assert_eq!((report.impact_passes, report.impacts_left), (IMPACT_PASSES, true));
}

/// A ball of 1 kg on the floor, and one of `mass` that arrives from above at 1 m/s.
fn squeezed_ball(mass: f64) -> Worlds {
    let mut b = on_floor([0.0; 3], 0.0);
    add_free(&mut b, [0.0, 0.0, 0.1], sphere(0.1), 1.0, 0.0);
    add_free(&mut b, [0.0, 0.0, 0.3], sphere(0.1), mass, 0.0);
    let mut w = world(b, Settings { restitution_threshold: 1e-9, ..sequential(sharp(1e-3)) });
    let mut v = vec![0.0; 12];
    v[8] = -1.0;
    set_velocity(&mut w, &v);
    w
}

/// Newton's cradle on strings of 1 m: the first ball is let go at 0.3 rad, the last one rises as far, and the three between them stay.
#[test]
fn cradle_on_strings_swings() {
    const START: f64 = 0.3;
    // The impact is late by up to v h, v = √(2 g l (1 − cos 0.3)) = 0.94 m/s.
    const LATE: f64 = 1e-3;
    let mut b = empty();
    b.gravity([0.0, 0.0, -G]);
    for i in 0..5 {
        let body = add_hinged(&mut b, 0, [0.1 * f64::from(i), 0.0, 0.0], 1.0, [0.0, 0.0, -1.0]);
        let mut ball = delassus::model::Geom::new(body, sphere(0.05));
        ball.friction[0] = 0.0;
        ball.position.z = -1.0;
        b.add_geom(ball);
    }
    let mut w = world(b, sequential(oracle(1e-3)));
    // A positive angle swings towards −x.
    set_position(&mut w, &[START, 0.0, 0.0, 0.0, 0.0]);
    let (mut highest, mut between) = (0.0f64, 0.0f64);
    // a quarter of the period T = 2π √(l/g) down, a quarter up
    run(&mut w, 0.25 * std::f64::consts::TAU / G.sqrt());
    for _ in 0..700 {
        step(&mut w);
        let q = w.positions();
        highest = highest.max(-q[4]);
        between = q[..4].iter().fold(between, |m, x| m.max(x.abs()));
    }
    near("last ball", highest, START, LATE);
    at_most("the others", between, LATE);
}

/// A ball that bounces by itself moves alike with both laws: the passes have the forces of the step in them.
#[test]
fn single_ball_bounces_alike_with_both_laws() {
    for integrator in [Integrator::Euler, Integrator::Rk4] {
        single_ball_bounces_alike(integrator);
    }
}

fn single_ball_bounces_alike(integrator: Integrator) {
    let drop = |impacts| {
        let mut b = on_floor([0.0, 0.0, -G], 0.3);
        add_free(&mut b, [0.0, 0.0, 0.6], sphere(0.1), 1.0, 0.3);
        let integrator = Some(integrator);
        let mut w = world(b, Settings { impacts, integrator, restitution: 0.8, ..sharp(1e-3) });
        set_velocity(&mut w, &[0.5, 0.0, 0.0, 0.0, 3.0, 0.0]);
        run(&mut w, 2.0);
        w.state()
    };
    let ((q, v), (q_passes, v_passes)) = (drop(Impacts::Simultaneous), drop(Impacts::Sequential));
    for (a, b) in q.iter().zip(&q_passes).chain(v.iter().zip(&v_passes)) {
        near("coordinate", *b, *a, SOLVED);
    }
}

/// The passes are solved on the CPU only, and a backend that cannot says so.
#[test]
fn hybrid_refuses_passes() {
    let model = row_of_balls(2, 0.0, 1.0, oracle(1e-3)).model().clone();
    let settings = Settings { backend: Backend::Hybrid, precision: Precision::F32, ..sequential(oracle(1e-3)) };
    let refused = Worlds::new(&model, 1, settings).expect_err("refused").to_string();
    assert!(refused.contains("impacts sequential") && refused.contains("backend cpu"), "{refused}");
}

/// Without restitution there are no passes: the same bits with both laws.
#[test]
fn without_restitution_both_laws_are_one() {
    let path = format!("{}/examples/models/quadruped.xml", env!("CARGO_MANIFEST_DIR"));
    let model = delassus::Model::from_mjcf_file(path).unwrap();
    let roll = |impacts| {
        let settings = Settings { precision: Precision::F32, impacts, ..oracle(model.timestep) };
        let mut w = Worlds::new(&model, 20, settings).unwrap();
        w.set_start(delassus::worlds::Start {
            keyframe: model.keyframe("stand"),
            position_noise: 0.02,
            velocity_noise: 0.5,
        })
        .unwrap();
        w.reset(Mask::All, 3).unwrap();
        w.step(100).unwrap();
        assert!(w.reports().iter().all(|r| r.impact_passes == 0));
        w.state()
    };
    assert_eq!(roll(Impacts::Simultaneous), roll(Impacts::Sequential));
}

/// Dropped boxes come to rest with passes too, and a world's bits are those of the world alone.
#[test]
fn passes_let_piles_rest_and_keep_worlds_apart() {
    const COUNT: usize = 21;
    const REST: f64 = 4.0;
    const QUIET: f64 = 2e-4;
    let mut b = on_floor([0.0, 0.0, -G], 0.5);
    for i in 0..2 {
        add_free(&mut b, [0.0, 0.0, 0.15 + 0.25 * f64::from(i)], cube(0.2), 1.0, 0.5);
    }
    let model = b.build().unwrap();
    let start = |w: &mut Worlds, world: usize, k: usize| {
        let mut q = w.positions();
        q[14 * world + 9] += 0.01 * k as f64;
        let v = w.velocities();
        w.set_state(Mask::All, &q, &v).unwrap();
    };
    let settings = || Settings { restitution: 0.8, precision: Precision::F32, ..sequential(oracle(0.005)) };
    let mut together = Worlds::new(&model, COUNT, settings()).unwrap();
    for k in 0..COUNT {
        start(&mut together, k, k);
    }
    together.step(200).unwrap();
    let (q, v) = together.state();
    for k in [0, 1, 7, 15, 16, 20] {
        let mut alone = world_of(&model, settings());
        start(&mut alone, 0, k);
        alone.step(200).unwrap();
        let same = |all: &[f64], one: &[f64]| all[k * one.len()..(k + 1) * one.len()] == *one;
        assert!(same(&q, &alone.positions()) && same(&v, &alone.velocities()), "world {k}");
    }
    let reports = together.step((REST / 0.005) as u32).unwrap();
    assert!(reports.iter().all(WorldReport::solved), "unsolved");
    at_most("fastest", together.velocities().iter().fold(0.0, |m, x| f64::max(m, x.abs())), QUIET);
}
