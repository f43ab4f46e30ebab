//! Dynamics against MuJoCo 4.0.0 and Pinocchio 4.1.0 at random states of every robot of the external data.

mod common;

use common::{data, floats, relative_error, robots};
use delassus::dynamics::{self, Dynamics};
use delassus::kinematics::{Kinematics, kinematics, orientation};
use delassus::lane::{F32x16, F64x8, Pack, Scalar};
use delassus::model::Model;
use delassus::parameters::SharedParameters;
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
                let turn = orientation(model, &q, b);
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
