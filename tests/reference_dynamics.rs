//! Dynamics against MuJoCo 4.0.0 and Pinocchio 4.1.0 at random states of every robot of the external data; and those of a plane against those of space.

mod common;

use common::{data, floats, relative_error, robots};
use delassus::dynamics::{self, Dynamics};
use delassus::kinematics::{Kinematics, body_poses, kinematics, orientation};
use delassus::lane::{F32x16, F64x8, Pack, Scalar};
use delassus::model::Model;
use delassus::parameters::{SharedParameters, TileParameters};
use delassus::planar::{Planar, mass_and_bias};
use delassus::spatial::Vec3;

/// f64 against f64: rounding only (the two engines themselves agree to 2e-15).
const F64_TOLERANCE: f64 = 1e-12;
/// f32: some hundred roundings of 6e-8 in sums of like size.
const F32_TOLERANCE: f64 = 2e-5;

struct Computed {
    mass_lower: Vec<f64>,
    bias: Vec<f64>,
    body_pos: Vec<f64>,
    body_quat: Vec<f64>,
}

/// Runs the stages with the state in the last lane.
fn compute<R: Pack>(model: &Model, q: &[f64], v: &[f64], tolerance: f64) -> Computed {
    let lane = R::LANES - 1;
    let splat = |x: &[f64]| x.iter().map(|x| R::constant(*x)).collect::<Vec<R>>();
    let (q, v) = (splat(q), splat(v));
    let shared = SharedParameters::<R>::new(model);
    let p = &shared.tile();
    let (mut k, mut d) = (Kinematics::<R>::new(model), Dynamics::<R>::new(model));
    kinematics(model, &q, &mut k);
    dynamics::mass_matrix(model, p, &k, &mut d);
    dynamics::bias_force(model, p.gravity, &v, &k, &mut d);
    let get = |x: R| x.get(lane).to_f64();
    let vector = |x: Vec3<R>| [get(x.x), get(x.y), get(x.z)];
    let nv = model.nv();
    let mut dense = vec![0.0; nv * nv];
    for (i, dof) in model.dofs.iter().enumerate() {
        for (p, &j) in dof.ancestors.iter().enumerate() {
            dense[i * nv + j] = get(d.mass_matrix[dof.row_start + p]);
        }
    }
    Computed {
        mass_lower: (0..nv).flat_map(|i| dense[i * nv..=i * nv + i].to_vec()).collect(),
        bias: d.bias_force.iter().map(|x| get(*x)).collect(),
        body_pos: k.body_pose.iter().flat_map(|p| vector(p.position)).collect(),
        body_quat: (0..model.bodies.len())
            .flat_map(|b| {
                let turn = orientation(model, &q, &k, b);
                // poses go another way to it
                for (column, other) in turn.matrix().columns.iter().zip(&k.body_pose[b].rotation.columns) {
                    let [own, other] = [vector(*column), vector(*other)];
                    let apart = own.iter().zip(other).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
                    assert!(apart <= tolerance, "body {b}: {own:?}, {other:?}");
                }
                let [x, y, z] = vector(turn.v);
                [get(turn.w), x, y, z]
            })
            .collect(),
    }
}

fn check<R: Pack>(tolerance: f64) {
    let Some(folder) = data() else { return };
    for (name, model, reference) in robots(&folder) {
        let mut worst = [0.0f64; 4];
        for state in reference["states"].as_array().unwrap() {
            let get = |key: &str| floats(&state[key]);
            let found = compute::<R>(&model, &get("qpos"), &get("qvel"), tolerance);
            // A quaternion and its negative are one rotation.
            let mut quat = found.body_quat;
            for (a, b) in quat.chunks_mut(4).zip(get("body_quat").chunks(4)) {
                if a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>() < 0.0 {
                    for x in a {
                        *x = -*x;
                    }
                }
            }
            let errors = [
                relative_error(&found.mass_lower, &get("M_lower")),
                relative_error(&found.bias, &get("bias")),
                relative_error(&found.body_pos, &get("body_pos")),
                relative_error(&quat, &get("body_quat")),
            ];
            for i in 0..4 {
                worst[i] = worst[i].max(errors[i]);
            }
        }
        println!(
            "{name}: M {:.1e}, bias {:.1e}, position {:.1e}, orientation {:.1e}",
            worst[0], worst[1], worst[2], worst[3]
        );
        assert!(worst.iter().all(|e| *e < tolerance), "{name}: {worst:?}");
    }
}

#[test]
fn f64_agrees_with_mujoco_and_pinocchio() {
    check::<f64>(F64_TOLERANCE);
}

#[test]
fn f64_lanes_agree_with_mujoco_and_pinocchio() {
    check::<F64x8>(F64_TOLERANCE);
}

#[test]
fn f32_lanes_agree_with_mujoco_and_pinocchio() {
    check::<F32x16>(F32_TOLERANCE);
}

/// Slides and hinges on one body and on several, anchors beside the origin, axes of either sign, frames that are turned, welded bodies, masses beside the plane, two trees.
const CHAINS: &str = "
    <body pos='0.3 0.1 1'>
        <joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1' ref='0.2'/><joint axis='0 1 0' pos='0.1 0.2 0.3'/>
        <geom type='box' size='0.1 0.2 0.3' pos='0.01 0.05 0.02' euler='10 20 30'/>
        <body pos='0.1 0.2 -0.4' euler='0 30 0'>
            <joint axis='0 -1 0' ref='0.4'/><joint axis='0 1 0' pos='0 0 -0.1'/>
            <geom type='capsule' size='0.05 0.2' pos='0 0.1 -0.2'/>
            <body pos='0 0 -0.3'><geom type='sphere' size='0.1'/>
                <body pos='0.1 0 0'><joint type='slide' axis='0.6 0 0.8'/><geom type='sphere' size='0.08' pos='0 0.1 0.1'/></body>
            </body>
        </body>
        <body pos='-0.2 0 0' euler='90 0 0'><joint axis='0 0 1'/><geom type='box' size='0.1 0.2 0.1' pos='0.1 0.2 0'/></body>
    </body>
    <body pos='0 2 0' euler='40 0 20'>
        <joint axis='1 0 0'/><geom type='capsule' size='0.05 0.2' pos='0 0 0.2'/>
        <body pos='0 0 0.4'><joint axis='1 0 0'/><geom type='box' size='0.1 0.05 0.2' pos='0 0.05 0.2'/></body>
    </body>";

/// M and c of planar and of spatial vectors.
#[test]
fn a_plane_has_the_dynamics_of_space() {
    let model = format!("<mujoco><option gravity='1 -2 -9'/><worldbody>{CHAINS}</worldbody></mujoco>");
    let model = Model::from_mjcf_str(&model).expect("a model");
    let mut planar = Planar::<f64>::new(&model).expect("moves in a plane");
    let (mut k, mut d) = (Kinematics::new(&model), Dynamics::new(&model));
    let shared = SharedParameters::<f64>::new(&model);
    let mut seed = 1u32;
    let mut random = |size: usize| {
        let mut next = || {
            seed = seed.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            4.0 * f64::from(seed >> 8) / f64::from(1u32 << 24) - 2.0
        };
        (0..size).map(|_| next()).collect::<Vec<f64>>()
    };
    let (mut m, mut c) = (vec![0.0; model.packed_len()], vec![0.0; model.nv()]);
    for _ in 0..100 {
        let (q, v) = (random(model.nq()), random(model.nv()));
        let (masses, com) = (random(model.bodies.len()), random(3 * model.bodies.len()));
        let masses: Vec<f64> = masses.into_iter().map(|x| 2.5 + x).collect();
        let p = TileParameters { mass_scale: &masses, com: &com, ..shared.tile() };
        body_poses(&model, &q, &mut k);
        dynamics::mass_matrix(&model, &p, &k, &mut d);
        dynamics::bias_force(&model, p.gravity, &v, &k, &mut d);
        mass_and_bias(&model, &p, [&q, &v], &k, &mut planar, &mut m, &mut c);
        for (name, own, space) in [("M", &m, &d.mass_matrix), ("c", &c, &d.bias_force)] {
            let size = space.iter().fold(0.0, |most, x| x.abs().max(most));
            for (i, (a, b)) in own.iter().zip(space).enumerate() {
                // some hundred roundings of 1e-16, of sums of like size
                assert!((a - b).abs() < 2e-14 * size, "{name} {i}: {a} {b}");
            }
        }
    }
}
