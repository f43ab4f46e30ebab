//! The recording as one HTML file: `page.html` is the viewer, and what is recorded stands in it as JSON, arrays as base64.

use super::Recording;
use crate::model::{Geom, Shape};
use serde::Serialize;
use std::sync::Arc;

/// The viewer; the recording takes the place of [`PLACE`].
const VIEWER: &str = include_str!("page.html");
const PLACE: &str = "\"RECORDING\"";

/// What the viewer reads. Arrays are little-endian, base64.
#[derive(Serialize)]
struct Scene<'a> {
    name: &'a str,
    /// Indices of the recorded worlds.
    worlds: &'a [usize],
    /// Weight of all that moves, N, to which forces are compared; 1 without any.
    weight: f64,
    geoms: Vec<GeomLine<'a>>,
    meshes: Vec<Mesh>,
    /// Time of every moment, s, f32, shape \[moment\].
    times: String,
    /// Poses of geoms that move, f32, shape `[moment][world][moving][7]`.
    poses: String,
    /// Poses of geoms that cannot move, f32, shape `[fixed][7]`.
    fixed: String,
    /// First contact of every moment and world, and the number of all, u32, shape \[moment · world + 1\].
    contact_starts: String,
    /// Position (m) and force on the second geom (N), f32, shape `[contact][6]`.
    contacts: String,
    /// Residual, m/s, f32, shape `[moment][world]`.
    residuals: String,
    /// 1 where the report says solved, u8, shape `[moment][world]`.
    solved: String,
}

#[derive(Serialize)]
struct GeomLine<'a> {
    name: &'a str,
    body: usize,
    shape: &'static str,
    size: [f64; 3],
    group: i32,
    /// Bounding radius, m; 0 for a plane.
    radius: f64,
    /// Index of its mesh.
    mesh: Option<usize>,
    /// Whether it moves, and which of those it is.
    moves: bool,
    place: usize,
}

#[derive(Serialize)]
struct Mesh {
    /// Corners, m, f32, shape `[corner][3]`.
    vertices: String,
    /// Corners of triangles, u32, shape `[triangle][3]`.
    triangles: String,
}

/// The whole file.
pub(super) fn page(recording: &Recording) -> String {
    let (before, after) = VIEWER.split_once(PLACE).unwrap_or((VIEWER, ""));
    // Text of JSON cannot fail to be made of such a scene; "<" would end the script.
    let scene = serde_json::to_string(&scene(recording)).unwrap_or_default().replace('<', "\\u003c");
    [before, &scene, after].concat()
}

fn scene(recording: &Recording) -> Scene<'_> {
    let model = recording.model();
    let moves = |geom: &Geom| model.bodies[geom.body].tree.is_some();
    let (mut hulls, mut places) = (Vec::new(), [0, 0]);
    let mut geoms = Vec::new();
    for geom in &model.geoms {
        let mesh = match &geom.shape {
            Shape::Hull(hull) => Some(hulls.iter().position(|h| Arc::ptr_eq(h, hull)).unwrap_or_else(|| {
                hulls.push(hull.clone());
                hulls.len() - 1
            })),
            _ => None,
        };
        let radius = geom.shape.bounding_radius();
        let place = &mut places[usize::from(moves(geom))];
        geoms.push(GeomLine {
            name: &geom.name,
            body: geom.body,
            shape: geom.shape.name(),
            size: geom.shape.size(),
            group: geom.group,
            radius: if radius.is_finite() { radius } else { 0.0 },
            mesh,
            moves: moves(geom),
            place: *place,
        });
        *place += 1;
    }

    let (mut moving, mut fixed) = (Vec::new(), Vec::new());
    let all = recording.poses();
    for (m, poses) in all.chunks(model.geoms.len().max(1) * 7).enumerate() {
        for (geom, pose) in model.geoms.iter().zip(poses.chunks(7)) {
            if moves(geom) {
                moving.extend_from_slice(pose);
            } else if m == 0 {
                fixed.extend_from_slice(pose);
            }
        }
    }
    let (mut starts, mut contacts) = (vec![0], Vec::new());
    for moment in recording.moments() {
        for contact in &moment.contacts {
            // f = Σ axis · λ / Δt
            let force = (0..3).map(|i| contact.frame[i] * contact.impulse[i]).sum::<nalgebra::Vector3<f64>>();
            contacts.extend(contact.position.iter().copied().chain((force / recording.dt()).iter().copied()));
        }
        starts.push((contacts.len() / 6) as u32);
    }
    let weight = model.moving_mass() * model.gravity.norm();
    let mesh = |hull: &Arc<crate::model::Hull>| Mesh {
        vertices: floats(hull.vertices.iter().flat_map(|v| v.iter().copied())),
        triangles: integers(hull.triangles.iter().flatten().map(|i| *i as u32)),
    };
    Scene {
        name: &model.name,
        worlds: recording.worlds(),
        weight: if weight > 0.0 { weight } else { 1.0 },
        geoms,
        meshes: hulls.iter().map(mesh).collect(),
        times: floats(recording.times().iter().copied()),
        poses: floats(moving),
        fixed: floats(fixed),
        contact_starts: integers(starts),
        contacts: floats(contacts),
        residuals: floats(recording.moments().iter().map(|m| m.report.residual)),
        solved: base64(recording.moments().iter().map(|m| u8::from(m.report.solved()))),
    }
}

fn floats(numbers: impl IntoIterator<Item = f64>) -> String {
    base64(numbers.into_iter().flat_map(|x| (x as f32).to_le_bytes()))
}

fn integers(numbers: impl IntoIterator<Item = u32>) -> String {
    base64(numbers.into_iter().flat_map(u32::to_le_bytes))
}

/// RFC 4648.
fn base64(bytes: impl IntoIterator<Item = u8>) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = bytes.into_iter().collect();
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0, |n, byte| n << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let index = number >> (6 * (3 - digit)) & 63;
            text.push(if digit <= three.len() { char::from(DIGITS[index as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10
        for (text, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(text.bytes()), expected);
        }
        assert_eq!(base64([0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn the_viewer_has_one_place_for_the_recording() {
        assert_eq!(VIEWER.matches(PLACE).count(), 1);
    }
}
