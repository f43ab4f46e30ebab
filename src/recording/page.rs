//! The recording as one HTML file: `page.html`, with the viewer `viewer.js` and its `viewer.css` in it, and what is recorded as JSON, arrays as base64.

use super::{Recording, poses};
use crate::mocap;
use crate::model::{Model, Shape};
use serde::Serialize;
use std::sync::Arc;

/// The page; the viewer, its style and the recording take their places.
const PAGE: &str = include_str!("page.html");
const VIEWER: &str = include_str!("viewer.js");
const STYLE: &str = include_str!("viewer.css");
const PLACES: [&str; 3] = ["\"RECORDING\"", "\"VIEWER\"", "\"STYLE\""];

/// What the viewer draws. Arrays are little-endian, base64.
#[derive(Serialize)]
struct Scene<'a> {
    name: &'a str,
    /// Indices of the worlds.
    worlds: &'a [usize],
    /// Weight of all that moves, N, to which forces are compared; 1 without any.
    weight: f64,
    geoms: Vec<GeomLine<'a>>,
    meshes: Vec<Mesh>,
    /// Poses of geoms that cannot move, f32, shape `[fixed][7]`.
    fixed: String,
}

/// What the page reads.
#[derive(Serialize)]
struct Recorded<'a> {
    #[serde(flatten)]
    scene: Scene<'a>,
    /// Time of every moment, s, f32, shape \[moment\].
    times: String,
    /// Poses of geoms that move, f32, shape `[moment][world][moving][7]`.
    poses: String,
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

impl Mesh {
    /// Of a shape that is made of triangles.
    fn of(shape: &Shape) -> Option<Self> {
        let (vertices, triangles) = shape.triangles()?;
        Some(Self {
            vertices: floats(vertices.iter().flat_map(|v| v.iter().copied())),
            triangles: integers(triangles.iter().flatten().map(|i| *i as u32)),
        })
    }
}

/// The whole file.
pub(super) fn page(recording: &Recording) -> String {
    // Text of JSON cannot fail to be made of such a scene; "<" would end the script.
    let recorded = serde_json::to_string(&recorded(recording)).unwrap_or_default().replace('<', "\\u003c");
    PAGE.replacen(PLACES[2], STYLE, 1).replacen(PLACES[1], VIEWER, 1).replacen(PLACES[0], &recorded, 1)
}

/// What of `model` the viewer draws, in JSON.
pub(super) fn scene(model: &Model, worlds: &[usize]) -> String {
    serde_json::to_string(&drawn(model, worlds)).unwrap_or_default()
}

/// Which geoms may move, in a tree or with a mocap body, shape \[geom\].
fn moves(model: &Model) -> Vec<bool> {
    let carried = mocap::is_carried(model);
    model.geoms.iter().map(|geom| model.bodies[geom.body].tree.is_some() || carried[geom.body]).collect()
}

/// Whether two geoms have one mesh or height field between them.
fn is_one(a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (Shape::Hull(a), Shape::Hull(b)) => Arc::ptr_eq(a, b),
        (Shape::HeightField(a), Shape::HeightField(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

fn drawn<'a>(model: &'a Model, worlds: &'a [usize]) -> Scene<'a> {
    let (mut made_of_triangles, mut places): (Vec<&Shape>, _) = (Vec::new(), [0, 0]);
    let (mut geoms, moves) = (Vec::new(), moves(model));
    for (geom, &moves) in model.geoms.iter().zip(&moves) {
        let mesh = match &geom.shape {
            Shape::Hull(_) | Shape::HeightField(_) => {
                let known = made_of_triangles.iter().position(|shape| is_one(shape, &geom.shape));
                Some(known.unwrap_or_else(|| {
                    made_of_triangles.push(&geom.shape);
                    made_of_triangles.len() - 1
                }))
            }
            _ => None,
        };
        let radius = geom.shape.bounding_radius();
        let place = &mut places[usize::from(moves)];
        geoms.push(GeomLine {
            name: &geom.name,
            body: geom.body,
            shape: geom.shape.name(),
            size: geom.shape.size(),
            group: geom.group,
            radius: if radius.is_finite() { radius } else { 0.0 },
            mesh,
            moves,
            place: *place,
        });
        *place += 1;
    }

    let rest = poses(model, &model.q0);
    let fixed = rest.chunks(7).zip(&moves).filter(|(_, moves)| !**moves);
    let weight = model.moving_mass() * model.gravity.norm();
    Scene {
        name: &model.name,
        worlds,
        weight: if weight > 0.0 { weight } else { 1.0 },
        geoms,
        meshes: made_of_triangles.into_iter().filter_map(Mesh::of).collect(),
        fixed: floats(fixed.flat_map(|(pose, _)| pose.iter().copied())),
    }
}

/// Of poses of all geoms, any number of times, shape `[time][geom][7]`, those of the geoms that may move.
pub(super) fn moving(model: &Model, all: &[f64]) -> Vec<f64> {
    let moves = moves(model);
    let each = all.chunks(7).zip(moves.iter().cycle()).filter(|(_, moves)| **moves);
    each.flat_map(|(pose, _)| pose.iter().copied()).collect()
}

fn recorded(recording: &Recording) -> Recorded<'_> {
    let (model, all) = (recording.model(), recording.poses());
    let (mut starts, mut contacts) = (vec![0], Vec::new());
    for moment in recording.moments() {
        for contact in &moment.contacts {
            // f = Σ axis · λ / Δt
            let force = (0..3).map(|i| contact.frame[i] * contact.impulse[i]).sum::<nalgebra::Vector3<f64>>();
            contacts.extend(contact.position.iter().copied().chain((force / recording.dt()).iter().copied()));
        }
        starts.push((contacts.len() / 6) as u32);
    }
    Recorded {
        scene: drawn(model, recording.worlds()),
        times: floats(recording.times().iter().copied()),
        poses: floats(moving(model, &all)),
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
    fn the_page_has_one_place_for_the_recording_the_viewer_and_its_style() {
        for place in PLACES {
            assert_eq!(PAGE.matches(place).count(), 1);
            assert!(!VIEWER.contains(place) && !STYLE.contains(place));
        }
    }
}
