//! Bodies that meet one after another: what an impact throws at a neighbour keeps its speed, and what rests stays quiet.
//! Energy and momentum in closed form, without gravity unless it says so.

#[path = "common/scenes.rs"]
mod scenes;

use delassus::{Mask, Precision, Settings, Worlds};
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

fn elastic(settings: Settings) -> Settings {
    Settings { restitution: 1.0, ..settings }
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
    let mut w = world(b, elastic(oracle(H)));
    let energy = |w: &Worlds| -> f64 {
        let (q, v) = w.state();
        let of =
            |k: usize| free_energy(w.model(), k + 1, k, &q, &v).iter().sum::<f64>() - 0.5 * H * MASS * G * v[6 * k + 2];
        (0..216).map(of).sum()
    };
    let start = energy(&w);
    near("energy at the start", start, 34.5e3, 100.0);
    for part in 1..=16 {
        run(&mut w, 0.1);
        println!("after {:.1} s: {:+.3} J", 0.1 * f64::from(part), energy(&w) - start);
    }
    near("energy after 1.6 s", energy(&w), start, LATE);
}
