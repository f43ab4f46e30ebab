//! Impacts, wedges and other closed forms of contact without sliding friction at work. Case names are those of the external
//! `physics_cases.json`; every tolerance is the case's own.

mod common;

use common::scenes::{G, ball, builder, close, cube, exact, floor, rod, set_velocity, world};
use delassus::Settings;
use delassus::model::{Geom, Shape};
use nalgebra::{UnitQuaternion, Vector3};

/// bounce_e0.5_H1, bounce_e0.9_H1: impact times within 3 h k, apexes e²ᵏ H within 3 v h.
#[test]
fn a_ball_bounces_by_newtons_law() {
    const H: f64 = 1e-3;
    for (e, impacts) in [(0.5f64, 6), (0.9, 8)] {
        let mut b = builder(H, [0.0, 0.0, -G]);
        floor(&mut b, 0.0);
        ball(&mut b, [0.0, 0.0, 1.1], 0.1, 1.0, 0.0);
        let mut w = world(b, Settings { restitution: e, ..exact() });
        let v1 = (2.0 * G).sqrt();
        let (mut last, mut top, mut k, mut t_expected) = (0.0, 0.0f64, 0, v1 / G);
        for step in 1.. {
            w.step(1).unwrap();
            let (z, v) = (w.positions()[2] - 0.1, w.velocities()[2]);
            if last < 0.0 && v > 0.0 {
                k += 1;
                if k > 1 {
                    let speed = v1 * e.powi(k - 1);
                    close("apex", top, e.powi(2 * (k - 1)), 3.0 * speed * H);
                }
                close("impact time", f64::from(step) * H, t_expected, 3.0 * H * f64::from(k));
                t_expected += 2.0 * e.powi(k) * v1 / G;
                top = 0.0;
                if k == impacts {
                    break;
                }
            }
            top = top.max(z);
            last = v;
        }
    }
}

/// The bounce: e = 0.8 from 1 m at h = 1/240 s, first three apexes within 2 % of e²ᵏ.
#[test]
fn three_apexes_at_a_coarse_step() {
    let mut b = builder(1.0 / 240.0, [0.0, 0.0, -G]);
    floor(&mut b, 0.0);
    ball(&mut b, [0.0, 0.0, 1.1], 0.1, 1.0, 0.0);
    for settings in [exact(), Settings::default()] {
        let mut w = world(b.clone(), Settings { restitution: 0.8, ..settings });
        let (mut last, mut rising, mut apexes) = (1.0, false, Vec::new());
        while apexes.len() < 3 {
            w.step(1).unwrap();
            let z = w.positions()[2] - 0.1;
            if rising && z < last {
                apexes.push(last);
            }
            rising = z > last;
            last = z;
        }
        for (k, apex) in apexes.iter().enumerate() {
            let expected = 0.64f64.powi(k as i32 + 1);
            close("apex", *apex, expected, 0.02 * expected);
        }
    }
}

/// oblique_impact_slide_mu0.2_e0.5, oblique_impact_grip_mu0.5_e0.5: one step, exact to 1e-9.
#[test]
fn a_sphere_hits_obliquely() {
    for (mu, vt, after) in [(0.2, 2.0, [1.7, 0.5, 7.5]), (0.5, 1.0, [5.0 / 7.0, 0.5, 50.0 / 7.0])] {
        let mut b = builder(1e-3, [0.0; 3]);
        floor(&mut b, mu);
        ball(&mut b, [0.0, 0.0, 0.1], 0.1, 1.0, mu);
        let mut w = world(b, Settings { restitution: 0.5, ..exact() });
        set_velocity(&mut w, &[vt, 0.0, -1.0, 0.0, 0.0, 0.0]);
        w.step(1).unwrap();
        let v = w.velocities();
        for (what, found, expected) in [("vt", v[0], after[0]), ("vn", v[2], after[1]), ("spin", v[4], after[2])] {
            close(what, found, expected, 1e-9 * expected);
        }
    }
}

/// rod_end_impact_30deg_e0: J = v / (1/m + (L/2 cos θ)²/I).
#[test]
fn a_rod_hits_with_its_end() {
    let (half, angle) = (0.5, 30f64.to_radians());
    let mut b = builder(1e-3, [0.0; 3]);
    floor(&mut b, 0.0);
    let tip = [-half * angle.cos(), 0.0, -half * angle.sin()];
    rod(&mut b, [0.0, 0.0, -tip[2]], tip, 1.0, 1.0, 0.0);
    let mut w = world(b, exact());
    set_velocity(&mut w, &[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]);
    w.step(1).unwrap();
    let v = w.velocities();
    close("com velocity", v[2], -0.692_307_692_307_692_3, 1e-9);
    close("spin", v[4].abs(), 1.598_816_130_063_579, 1.6e-9);
}

/// newton_cradle_3: touching balls are one problem here, so the simultaneous Newton law holds: −1/3, 2/3, 2/3.
#[test]
fn a_cradle_of_touching_balls_moves_as_one_problem() {
    let mut b = builder(1e-3, [0.0; 3]);
    for i in 0..3 {
        ball(&mut b, [0.1 * f64::from(i), 0.0, 0.0], 0.05, 1.0, 0.0);
    }
    let mut w = world(b, Settings { restitution: 1.0, ..exact() });
    let mut v = vec![0.0; 18];
    v[0] = 1.0;
    set_velocity(&mut w, &v);
    w.step(1).unwrap();
    let v = w.velocities();
    for (i, expected) in [-1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0].into_iter().enumerate() {
        close("velocity", v[6 * i], expected, 1e-9);
    }
}

/// two_ball_drop_10: with a gap that takes several steps to close the impacts come one by one: 2.636 and 0.636 m/s.
#[test]
fn a_small_ball_on_a_big_one_is_thrown_up() {
    const H: f64 = 2e-5;
    let mut b = builder(H, [0.0; 3]);
    floor(&mut b, 0.0);
    ball(&mut b, [0.0, 0.0, 0.1 + 1e-5], 0.1, 10.0, 0.0);
    ball(&mut b, [0.0, 0.0, 0.2 + 1e-5 + 1e-4 + 0.05], 0.05, 1.0, 0.0);
    let mut w = world(b, Settings { restitution: 1.0, ..exact() });
    let mut v = vec![0.0; 12];
    (v[2], v[8]) = (-1.0, -1.0);
    set_velocity(&mut w, &v);
    w.step(50).unwrap();
    let v = w.velocities();
    close("small", v[8], 2.636_363_636_363_636_2, 2.0 * G * H + 1e-6);
    close("big", v[2], 0.636_363_636_363_636_4, 2.0 * G * H + 1e-6);
}

/// sphere_in_groove_40: N = m g / (2 cos α) on each wall.
#[test]
fn a_sphere_rests_in_a_groove() {
    let alpha = 40f64.to_radians();
    let mut b = builder(1e-3, [0.0, 0.0, -G]);
    for side in [-1.0, 1.0] {
        let mut wall = Geom::new(0, Shape::Plane);
        wall.friction[0] = 0.0;
        wall.orientation = UnitQuaternion::from_axis_angle(&Vector3::y_axis(), side * alpha);
        b.add_geom(wall);
    }
    ball(&mut b, [0.0, 0.0, 0.1 / alpha.cos()], 0.1, 3.0, 0.0);
    let mut w = world(b, exact());
    w.watch(0, true).unwrap();
    w.step(20).unwrap();
    let forces: Vec<f64> = w.contacts(0).unwrap().iter().map(|c| c.impulse[0] / 1e-3).collect();
    assert_eq!(forces.len(), 2);
    for force in forces {
        close("wall", force, 19.209_068_262_524_48, 1e-9 * 19.2);
    }
}

/// wedge_30: a block slides on a wedge that slides on the ground, no friction anywhere.
#[test]
fn a_block_slides_on_a_sliding_wedge() {
    const H: f64 = 1e-3;
    let angle = 30f64.to_radians();
    let mut b = builder(H, [0.0, 0.0, -G]);
    floor(&mut b, 0.0);
    // A flat base, and a slab that falls towards +x.
    let (wedge, _) = cube(&mut b, [0.0, 0.0, 0.05], [4.0, 2.0, 0.1], 4.0, 0.0);
    let mut slab = Geom::new(wedge, Shape::Box { half: Vector3::new(1.5, 0.5, 0.05) });
    slab.friction[0] = 0.0;
    slab.position = Vector3::new(0.0, 0.0, 1.5);
    slab.orientation = UnitQuaternion::from_axis_angle(&Vector3::y_axis(), angle);
    b.add_geom(slab.clone());
    let up = slab.orientation * Vector3::z();
    let start = Vector3::new(0.0, 0.0, 1.55) + up * (0.05 + 0.1);
    let (block, _) = cube(&mut b, start.into(), [0.2; 3], 1.0, 0.0);
    b.body_mut(block).orientation = slab.orientation;
    let mut w = world(b, exact());
    w.watch(0, true).unwrap();
    let steps = 50;
    assert!(w.step(steps).unwrap()[0].solved());
    let t = f64::from(steps) * H;
    let v = w.velocities();
    // The wedge goes to −x, the block to +x and down.
    let relative = Vector3::new(v[6] - v[0], 0.0, v[8] - v[2]).norm();
    close("wedge", -v[0] / t, 0.999_495_201_308_863_8, 1e-6);
    close("block on wedge", relative / t, 5.770_588_235_294_118, 5.8e-6);
    let sum = |a: usize| {
        let on = w.contacts(0).unwrap().iter().filter(|c| c.geom_a == a);
        on.map(|c| c.impulse[0]).sum::<f64>() / H
    };
    close("wedge on ground", sum(0), 46.164_705_882_352_95, 4.7e-5);
}

/// painleve_rod_mu1.2, painleve_rod_mu1.5: the time-stepping problem has a solution, also where no bounded force exists; energy does not grow.
#[test]
fn painleves_rod_gets_an_impulse() {
    for mu in [1.2, 1.5] {
        let com = [0.223_606_797_928_893_26, 0.0, 0.447_213_595_410_500_8];
        let mut b = builder(1e-3, [0.0, 0.0, -G]);
        floor(&mut b, mu);
        rod(&mut b, com, com.map(|x: f64| -x), 1.0, 1.0, mu);
        let mut w = world(b, exact());
        set_velocity(&mut w, &[-1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let energy = |w: &delassus::Worlds| {
            let (q, v) = w.state();
            let rotation = v[3..6].iter().map(|x| x * x).sum::<f64>() / 12.0;
            0.5 * (v[..3].iter().map(|x| x * x).sum::<f64>() + rotation) + G * q[2]
        };
        let before = energy(&w);
        for _ in 0..20 {
            let report = w.step(1).unwrap()[0];
            assert!(report.solved(), "{report:?}");
        }
        println!("mu {mu}: energy {before} -> {}", energy(&w));
        assert!(energy(&w) <= before);
    }
}

/// simbenchmark_bouncing: mean (E − E₀)² of 49 equal frictionless balls over 20 s below 200 J².
#[test]
fn elastic_balls_keep_their_energy() {
    const STEPS: u32 = 20_000;
    let mut b = builder(1e-3, [0.0, 0.0, -G]);
    floor(&mut b, 0.0);
    ball(&mut b, [0.0, 0.0, 5.0], 0.1, 10.0, 0.0);
    let mut w = world(b, Settings { restitution: 1.0, ..exact() });
    // 49 independent, equal balls: the energy of one, 49 times.
    let energy = |w: &delassus::Worlds| 49.0 * 10.0 * (0.5 * w.velocities()[2].powi(2) + G * w.positions()[2]);
    let start = energy(&w);
    let mut sum = 0.0;
    for _ in 0..STEPS {
        w.step(1).unwrap();
        sum += (energy(&w) - start).powi(2);
    }
    let mean = sum / f64::from(STEPS);
    println!("mean (E - E0)^2 = {mean:.1} J^2 of {start:.1} J");
    assert!(mean < 200.0);
}
