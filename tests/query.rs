//! State queries against MuJoCo's numbers at random states of every robot of the external data.

mod common;

use common::{data, floats, relative_error, robots};
use delassus::query::state_query;

/// f64 against f64: rounding only.
const TOLERANCE: f64 = 1e-10;

#[test]
fn states_agree_with_mujoco() {
    let Some(folder) = data() else { return };
    for (name, model, reference) in robots(&folder) {
        for (i, state) in reference["states"].as_array().unwrap().iter().enumerate() {
            let get = |key: &str| floats(&state[key]);
            let found = state_query(&model, &get("qpos"), &get("qvel")).unwrap();
            // A quaternion and its negative are one rotation.
            let expected = get("body_quat");
            let quat = found.body_quat.iter().zip(expected.chunks(4)).flat_map(|(a, b)| {
                let sign = a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>().signum();
                a.map(|x| sign * x)
            });
            let nv = model.nv();
            let lower = (0..nv).flat_map(|r| (0..=r).map(move |c| (r, c))).map(|rc| found.mass_matrix[rc]);
            let pairs = [
                ("mass matrix", lower.collect::<Vec<_>>(), get("M_lower")),
                ("bias", found.bias_force.as_slice().to_vec(), get("bias")),
                ("body_pos", found.body_pos.concat(), get("body_pos")),
                ("body_quat", quat.collect(), expected.clone()),
                ("com", found.com.to_vec(), get("com")),
                ("kinetic", vec![found.kinetic_energy], vec![state["kinetic"].as_f64().unwrap()]),
                ("potential", vec![found.potential_energy], vec![state["potential_gravity"].as_f64().unwrap()]),
            ];
            for (what, found, expected) in pairs {
                let error = relative_error(&found, &expected);
                assert!(error < TOLERANCE, "{name}, state {i}, {what}: {error:e}");
            }
        }
    }
}

#[test]
fn a_wrong_shape_is_told() {
    let model = delassus::Model::from_mjcf_str(
        r#"<mujoco><worldbody><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"#,
    )
    .unwrap();
    let text = |q: &[f64], v: &[f64]| state_query(&model, q, v).unwrap_err().to_string();
    assert!(text(&[0.0; 6], &[0.0; 6]).contains("needs 7"));
    assert!(text(&[0.0; 7], &[0.0; 7]).contains("needs 6"));
}
