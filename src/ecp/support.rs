//! What of a body can press on the ground z = 0 at a pose: vertices, or the disc of a cylinder that nearly stands.

use super::body::{Shape, State};
use nalgebra::Vector3;

/// A cylinder whose axis leans less than this (its horizontal part) presses with its disc, else with its lowest points.
const LEANING: f64 = 0.1;

/// A row of pressure: its velocity is `force · v + moment · ω`.
#[derive(Clone, Copy, Debug)]
pub(super) struct PressureRow {
    pub force: Vector3<f64>,
    pub moment: Vector3<f64>,
    /// What the row's velocity is the rate of, m: the gap of a vertex; for a disc that of its centre and `R` times its slopes.
    pub gap: f64,
    /// 1 for a force, 0 for the moment of a disc.
    pub weight: f64,
    /// From the centre of mass, along x and y, m.
    pub lever: [f64; 2],
}

/// The rows of a body at a pose; the rows of a disc are three and are all there are.
#[derive(Clone, Debug)]
pub(super) struct SupportRows {
    pub rows: Vec<PressureRow>,
    pub is_disc: bool,
}

impl SupportRows {
    pub fn at(shape: &Shape, state: &State) -> Self {
        let vertex = |r: Vector3<f64>| PressureRow {
            force: Vector3::z(),
            moment: r.cross(&Vector3::z()),
            gap: state.position.z + r.z,
            weight: 1.0,
            lever: [r.x, r.y],
        };
        match *shape {
            Shape::Box { half } => {
                let corner = |k: usize| {
                    let sign = |axis: usize| if k >> axis & 1 == 0 { -1.0 } else { 1.0 };
                    state.orientation * Vector3::new(sign(0) * half[0], sign(1) * half[1], sign(2) * half[2])
                };
                Self { rows: (0..8).map(|k| vertex(corner(k))).collect(), is_disc: false }
            }
            Shape::Sphere { radius } => Self { rows: vec![vertex(Vector3::new(0.0, 0.0, -radius))], is_disc: false },
            Shape::Cylinder { radius, half_length } => {
                let u = state.orientation * Vector3::z();
                let leaning = u.x.hypot(u.y);
                if leaning >= LEANING {
                    // the lowest point of a disc: R along −(z − u_z u)/|u_h|
                    let down = (u * u.z - Vector3::z()) * (radius / leaning);
                    let rows = [-half_length, half_length].map(|l| vertex(u * l + down)).to_vec();
                    return Self { rows, is_disc: false };
                }
                Self { rows: disc(radius, half_length, u, state.position.z).to_vec(), is_disc: true }
            }
        }
    }
}

/// The lower disc of a cylinder with axis u: the gap of its centre, and of `c + R (a b_t + b b_o)`
///
/// ```text
/// z_c + R (a b_t·z + b b_o·z),   b_t = σ (u_z, 0, −u_x),   b_o = σ (0, u_z, −u_y),   σ the sign of u_z
/// ```
///
/// In terms of the axis's horizontal part in the world: rows that turn with the body would resist its rolling on the rim.
fn disc(radius: f64, half_length: f64, u: Vector3<f64>, height: f64) -> [PressureRow; 3] {
    let up = if u.z < 0.0 { -1.0 } else { 1.0 };
    let centre = u * (-up * half_length);
    let arm = radius * up;
    let moment = |slope: f64, moment: Vector3<f64>, lever: [f64; 2]| PressureRow {
        force: Vector3::zeros(),
        moment,
        gap: slope,
        weight: 0.0,
        lever,
    };
    [
        PressureRow {
            force: Vector3::z(),
            moment: centre.cross(&Vector3::z()),
            gap: height + centre.z,
            weight: 1.0,
            lever: [centre.x, centre.y],
        },
        // d/dt (−σ R u_x) = −σ R (ω_y u_z − ω_z u_y)
        moment(-arm * u.x, Vector3::new(0.0, -arm * u.z, arm * u.y), [arm * u.z, 0.0]),
        // d/dt (−σ R u_y) = −σ R (ω_z u_x − ω_x u_z)
        moment(-arm * u.y, Vector3::new(arm * u.z, 0.0, -arm * u.x), [0.0, arm * u.z]),
    ]
}
