//! Faces, edges and discs that meet one after another (`Impacts::Sequential` with `FrictionLaw::Patch`): closed forms, and points where friction is none.

#[path = "common/scenes.rs"]
mod scenes;

use delassus::model::Shape;
use delassus::solver::FrictionLaw;
use delassus::worlds::Start;
use delassus::{Impacts, Mask, Model, Precision, Settings, Worlds};
use nalgebra::{UnitQuaternion, Vector3};
use scenes::*;

/// Impulses solved to 1e-13 m/s; what is left is the solver, a few steps of it.
const SOLVED: f64 = 1e-9;

fn settings(friction: FrictionLaw, restitution: f64) -> Settings {
    Settings { impacts: Impacts::Sequential, friction, restitution, ..sharp(1e-3) }
}

fn cube(half: f64) -> Shape {
    Shape::Box { half: Vector3::from_element(half) }
}

/// Cubes of 1 kg in a row along x, face to face; the first `arriving` of them move at 1 m/s.
fn row_of_cubes(count: usize, gap: f64, arriving: usize, settings: Settings) -> Worlds {
    let mut b = empty();
    for i in 0..count {
        add_free(&mut b, [(0.1 + gap) * i as f64, 0.0, 0.0], cube(0.05), 1.0, 0.5);
    }
    let mut w = world(b, settings);
    let mut v = vec![0.0; 6 * count];
    (0..arriving).for_each(|i| v[6 * i] = 1.0);
    set_velocity(&mut w, &v);
    w
}

/// As many cubes leave as arrive, though faces touch in four points each; in f64 and f32.
#[test]
fn a_cradle_of_cubes_sends_off_as_many_as_arrive() {
    for (precision, tolerance) in [(Precision::F64, SOLVED), (Precision::F32, 5e-5)] {
        for (gap, arriving) in [(0.0, 1), (1e-4, 1), (0.0, 2), (0.0, 3)] {
            let base = settings(FrictionLaw::Patch, 1.0);
            let own = if precision == Precision::F64 { base } else { Settings { precision, tolerance: None, ..base } };
            let mut w = row_of_cubes(4, gap, arriving, own);
            w.watch(0, true).unwrap();
            step(&mut w);
            let v = w.velocities();
            for cube in 0..4 {
                let expected = [if cube + arriving < 4 { 0.0 } else { 1.0 }, 0.0, 0.0, 0.0, 0.0, 0.0];
                for (k, expected) in expected.into_iter().enumerate() {
                    near(&format!("{precision:?}, cube {cube}, {k}"), v[6 * cube + k], expected, tolerance);
                }
            }
            assert_eq!(w.reports()[0].impact_passes, 3);
            let contacts = w.contacts(0).unwrap();
            assert!(contacts.len() == 3 && contacts.iter().all(|c| c.patch.is_some()), "{contacts:?}");
        }
    }
}

/// At once they move on as one: what the passes are for.
#[test]
fn cubes_that_are_struck_at_once_move_on_as_one() {
    let at_once = Settings { impacts: Impacts::Simultaneous, ..settings(FrictionLaw::Patch, 1.0) };
    let mut w = row_of_cubes(3, 0.0, 1, at_once);
    step(&mut w);
    for (cube, expected) in [-1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0].into_iter().enumerate() {
        near(&format!("cube {cube}"), w.velocities()[6 * cube], expected, SOLVED);
    }
}

/// Without friction the law of a patch is that of its points, whichever of them strike: a box on a corner, an edge, nearly flat, and flat, and one that falls onto it.
#[test]
fn without_friction_patches_rebound_as_points_do() {
    for tilt in [[0.5, 0.3], [0.4, 0.0], [0.01, 0.004], [0.0, 0.0]] {
        let run = |law| {
            let mut b = on_floor([0.0, 0.0, -9.81], 0.0);
            let turned = UnitQuaternion::from_euler_angles(tilt[0], tilt[1], 0.2);
            let half = Vector3::new(0.1, 0.15, 0.05);
            let mut lowest = 0.0f64;
            for corner in 0..8 {
                let sign = |k: u32| if corner >> k & 1 == 0 { 1.0 } else { -1.0 };
                let x = turned * Vector3::new(sign(0) * half.x, sign(1) * half.y, sign(2) * half.z);
                lowest = lowest.min(x.z);
            }
            add_free(&mut b, [0.0, 0.0, 2e-4 - lowest], Shape::Box { half }, 2.0, 0.0);
            let mut w = world(b, settings(law, 0.7));
            let mut q = w.positions();
            q[3..7].copy_from_slice(&[turned.w, turned.i, turned.j, turned.k]);
            set_position(&mut w, &q);
            set_velocity(&mut w, &[0.1, 0.0, -1.0, 0.3, -0.2, 0.1]);
            let mut passes = 0;
            for _ in 0..60 {
                step(&mut w);
                passes += w.reports()[0].impact_passes;
            }
            assert!(passes > 0, "{law:?}, {tilt:?}: nothing strikes");
            (w.positions(), w.velocities())
        };
        let ((q, v), (q_points, v_points)) = (run(FrictionLaw::Patch), run(FrictionLaw::Cone));
        for (k, (a, b)) in q.iter().chain(&v).zip(q_points.iter().chain(&v_points)).enumerate() {
            near(&format!("tilted by {tilt:?}, number {k}"), *a, *b, 1e-8);
        }
    }
}

/// A cylinder that falls flat rebounds at e times its speed and does not turn.
#[test]
fn discs_rebound_flat() {
    let mut b = on_floor([0.0; 3], 0.5);
    let drum = Shape::Cylinder { radius: 0.1, half_length: 0.05 };
    add_free(&mut b, [0.0, 0.0, 0.05 + 3e-5], drum, 1.0, 0.5);
    let mut w = world(b, settings(FrictionLaw::Patch, 0.8));
    set_velocity(&mut w, &[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]);
    w.watch(0, true).unwrap();
    step(&mut w);
    assert!(w.contacts(0).unwrap()[0].patch.as_ref().is_some_and(|patch| patch.disc.is_some()));
    assert_eq!(w.reports()[0].impact_passes, 1);
    for (k, expected) in [0.0, 0.0, 0.8, 0.0, 0.0, 0.0].into_iter().enumerate() {
        near(&format!("velocity {k}"), w.velocities()[k], expected, SOLVED);
    }
}

/// A drum that falls onto its rim, tilted by less than what makes it lean, bounces from rim to rim and gains no energy by it, however its impacts are followed; but what stands nearly flat as it
/// rocks: what Newton's law asks of its lowest point is asked of the rim nearby too, and that is not as fast (2 mJ where e = 0.8, of a fall by 0.5 J).
#[test]
fn a_tilted_drum_gains_no_energy() {
    let (mass, radius, half) = (1.0, 0.1, 0.1);
    let across = mass * (3.0 * radius * radius + 4.0 * half * half) / 12.0;
    let inertia = [across, across, 0.5 * mass * radius * radius];
    for impacts in [Impacts::Simultaneous, Impacts::Sequential] {
        for (e, mu, tilt) in
            [(0.2, 1.0, 0.087), (0.2, 0.0, 0.087), (0.5, 0.5, 0.05), (0.8, 0.5, 0.01), (0.5, 1.0, 0.001)]
        {
            let mut b = on_floor([0.0; 3], mu);
            b.gravity([0.0, 0.0, -G]);
            add_free(&mut b, [0.0, 0.0, 0.15], Shape::Cylinder { radius, half_length: half }, mass, mu);
            let mut w = world(b, Settings { impacts, ..settings(FrictionLaw::Patch, e) });
            let turn = UnitQuaternion::from_euler_angles(tilt, 0.6 * tilt, 0.0);
            let q = [0.0, 0.0, 0.15, turn.w, turn.i, turn.j, turn.k];
            w.set_state(Mask::All, &q[..], &[0.0; 6][..]).unwrap();
            let energy = |w: &Worlds| {
                let (q, v) = (w.positions(), w.velocities());
                let spin: f64 = (0..3).map(|k| 0.5 * inertia[k] * v[3 + k] * v[3 + k]).sum();
                mass * G * q[2] + 0.5 * mass * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) + spin
            };
            let start = energy(&w);
            let (mut before, mut most) = (start, 0.0f64);
            for _ in 0..1500 {
                step(&mut w);
                let now = energy(&w);
                most = most.max(now - before);
                before = now;
            }
            println!(
                "{impacts:?}, e {e}, mu {mu}, tilt {tilt}: at most {most:.1e} J in a step, {start:.3} -> {before:.3} J"
            );
            assert!(most < 5e-3 && before < start, "{impacts:?}, e {e}, mu {mu}, tilt {tilt}: {most} J in a step");
        }
    }
}

/// Friction acts in a pass as in any problem, within μ times the impulse of the pass: a cube that spins as it falls loses μ e_r m (1 + e) v_n/I of its spin.
#[test]
fn friction_of_an_impact_is_that_of_its_impulse() {
    let (mu, e, fall) = (0.3, 0.5, 1.0);
    let half = 0.1;
    let run = |v: [f64; 6]| {
        let mut b = on_floor([0.0; 3], mu);
        add_free(&mut b, [0.0, 0.0, half + 3e-5], Shape::Box { half: Vector3::new(half, half, half) }, 2.0, mu);
        let mut w = world(b, settings(FrictionLaw::Patch, e));
        set_velocity(&mut w, &v);
        step(&mut w);
        assert!(w.reports()[0].impact_passes > 0);
        w.velocities()
    };
    // more than the impact takes
    let spin = 8.0;
    let v = run([0.0, 0.0, -fall, 0.0, 0.0, spin]);
    let inertia_over_mass = 2.0 / 3.0 * half * half;
    // a square of side a under uniform pressure: 0.3826 a
    let e_r = 0.382_597_858 * 2.0 * half;
    near("rebound", v[2], e * fall, SOLVED);
    near("spin", v[5], spin - mu * e_r * (1.0 + e) * fall / inertia_over_mass, 1e-6);
}

/// A pile that falls into its bin and bounces: every step of every world solved, in passes.
#[test]
fn a_pile_that_bounces_is_solved() {
    let path = format!("{}/examples/models/boxes.xml", env!("CARGO_MANIFEST_DIR"));
    let model = Model::from_mjcf_file(path).unwrap();
    let (friction, impacts) = (FrictionLaw::Patch, Impacts::Sequential);
    let settings = Settings { friction, impacts, restitution: 0.5, ..Settings::default() };
    let mut w = Worlds::new(&model, 16, settings).unwrap();
    w.set_start(Start { position_noise: 0.02, velocity_noise: 0.02, ..Start::default() }).unwrap();
    w.reset(Mask::All, 5).unwrap();
    let (mut passes, mut left) = (0, 0);
    for _ in 0..150 {
        w.step(1).unwrap();
        for report in w.reports() {
            assert!(report.solved(), "{report:?}");
            passes += report.impact_passes;
            left += u32::from(report.impacts_left);
        }
    }
    println!("{passes} passes, left {left}");
    assert!(passes > 0);
}
