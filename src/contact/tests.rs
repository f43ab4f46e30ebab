//! Closed forms, lanes against scalars, isolation of lanes, capacity.

use super::apart::Bound;
use super::reduce::KEPT;
use super::*;
use crate::lane::{F32x16, F64x8};
use crate::model::{Geom, Hull, Joint, JointKind, Model, ModelBuilder, Shape};
use crate::spatial::{Pose, vec3};
use nalgebra::{Rotation3, Vector3};
use std::sync::Arc;

/// Rounding of a few dozen f64 operations on metres.
const EXACT: f64 = 1e-12;

/// A model with one pair of free geoms (the first fixed if it is ground).
fn pair(a: Shape, b: Shape) -> Model {
    let mut builder = ModelBuilder::new("pair");
    for shape in [a, b] {
        let body = if shape.is_ground() {
            0
        } else {
            let body = builder.add_body(shape.name(), 0, [0.0; 3]);
            builder.add_joint(Joint::new(body, JointKind::Free));
            body
        };
        builder.add_geom(Geom::new(body, shape));
        if body != 0 {
            let inertia = nalgebra::Matrix3::identity();
            builder.set_inertia(body, 1.0, [0.0; 3], inertia);
        }
    }
    builder.build().expect("a valid model")
}

fn sphere(radius: f64) -> Shape {
    Shape::Sphere { radius }
}
fn capsule(radius: f64, half_length: f64) -> Shape {
    Shape::Capsule { radius, half_length }
}
fn cylinder(radius: f64, half_length: f64) -> Shape {
    Shape::Cylinder { radius, half_length }
}
fn cuboid(x: f64, y: f64, z: f64) -> Shape {
    Shape::Box { half: Vector3::new(x, y, z) }
}
fn ellipsoid(x: f64, y: f64, z: f64) -> Shape {
    Shape::Ellipsoid { radii: Vector3::new(x, y, z) }
}
/// A regular octahedron-like hull with faces that are not quads: vertices on the axes.
fn octahedron(r: f64) -> Shape {
    let vertices = (0..6)
        .map(|k| {
            let mut v = Vector3::zeros();
            v[k / 2] = if k % 2 == 0 { r } else { -r };
            v
        })
        .collect();
    let triangles = vec![[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    Shape::Hull(Arc::new(Hull { name: "octahedron".into(), vertices, triangles }))
}
/// A box as a hull of triangles.
fn hull_box(x: f64, y: f64, z: f64) -> Shape {
    let sign = |bit: usize| if bit == 0 { -1.0 } else { 1.0 };
    let vertices = (0..8).map(|k| Vector3::new(x * sign(k & 1), y * sign(k & 2), z * sign(k & 4))).collect();
    let quads = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    Shape::Hull(Arc::new(Hull { name: "box".into(), vertices, triangles }))
}
/// A prism of `count` sides along z, the radius of its corners and its half length.
fn prism(count: usize, radius: f64, half: f64) -> Shape {
    let corner = |k: usize| {
        let (sin, cos) = ((k / 2) as f64 * std::f64::consts::TAU / count as f64).sin_cos();
        Vector3::new(radius * cos, radius * sin, if k.is_multiple_of(2) { -half } else { half })
    };
    let vertices = (0..2 * count).map(corner).collect();
    let (bottom, top) = (|k: usize| 2 * (k % count), |k: usize| 2 * (k % count) + 1);
    let caps = (1..count - 1).flat_map(|k| [[top(0), top(k), top(k + 1)], [bottom(0), bottom(k + 1), bottom(k)]]);
    let sides = (0..count).flat_map(|k| [[bottom(k), bottom(k + 1), top(k + 1)], [bottom(k), top(k + 1), top(k)]]);
    let triangles = caps.chain(sides).collect();
    Shape::Hull(Arc::new(Hull { name: "prism".into(), vertices, triangles }))
}

/// A pose at `position` turned by the rotation vector `turn`.
fn at(position: [f64; 3], turn: [f64; 3]) -> Pose<f64> {
    let rotation = Rotation3::new(Vector3::from(turn));
    Pose { position: Vec3::constant(&position.into()), rotation: crate::spatial::Mat3::constant(rotation.matrix()) }
}
fn cast<R: Pack>(p: &Pose<f64>) -> Pose<R> {
    let v = |v: Vec3<f64>| vec3(R::constant(v.x), R::constant(v.y), R::constant(v.z));
    let [a, b, c] = p.rotation.columns;
    Pose { position: v(p.position), rotation: crate::spatial::Mat3 { columns: [v(a), v(b), v(c)] } }
}

/// Contacts of one f64 world with everything within `reach` on each side.
fn touch_within(a: Shape, b: Shape, pa: Pose<f64>, pb: Pose<f64>, reach: f64) -> Contacts<f64> {
    let plan = CollidePlan::new(&pair(a, b));
    let mut contacts = Contacts::default();
    collide(&plan, Geoms::new(&[pa, pb], &[Drift::none(); 2]), reach, None, &mut Vec::new(), &mut contacts);
    contacts
}
fn touch(a: Shape, b: Shape, pa: Pose<f64>, pb: Pose<f64>) -> Contacts<f64> {
    touch_within(a, b, pa, pb, 0.01)
}
fn gaps(c: &Contacts<f64>) -> Vec<f64> {
    (0..c.gap.len()).filter(|slot| c.slots.has(*slot, 0)).map(|slot| c.gap[slot]).collect()
}
#[track_caller]
fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b} within {tolerance:e}");
}
#[track_caller]
fn close3(a: Vec3<f64>, b: [f64; 3], tolerance: f64) {
    let d = a - vec3(b[0], b[1], b[2]);
    assert!(d.norm() <= tolerance, "{a:?} is not {b:?} within {tolerance:e}");
}

const ORIGIN: [f64; 3] = [0.0; 3];
const QUARTER: f64 = std::f64::consts::FRAC_PI_2;

mod convex;
mod land;

#[test]
fn plane_pairs_have_their_closed_forms() {
    let floor = || at(ORIGIN, ORIGIN);
    let c = touch(Shape::Plane, sphere(0.5), floor(), at([1.0, 2.0, 0.4], ORIGIN));
    assert_eq!(c.count(0), 1);
    close(c.gap[0], -0.1, EXACT);
    close3(c.normal[0], [0.0, 0.0, 1.0], EXACT);
    close3(c.position[0], [1.0, 2.0, -0.05], EXACT);

    // A capsule lying along x shows both ends, a standing one only the lower.
    let c = touch(Shape::Plane, capsule(0.1, 0.5), floor(), at([0.0, 0.0, 0.1], [0.0, QUARTER, 0.0]));
    assert_eq!((c.count(0), c.feature.as_slice()), (2, &[0.0, 1.0][..]));
    close3(c.position[0], [-0.5, 0.0, 0.0], EXACT);
    close3(c.position[1], [0.5, 0.0, 0.0], EXACT);
    let c = touch(Shape::Plane, capsule(0.1, 0.5), floor(), at([0.0, 0.0, 0.6], ORIGIN));
    assert_eq!((c.count(0), c.feature[0]), (1, 0.0));

    // The lowest point of an ellipsoid is √(Σ (r_i n_i)²) below its centre.
    let tilt = at([0.0, 0.0, 0.3], [0.3, 0.0, 0.0]);
    let c = touch_within(Shape::Plane, ellipsoid(0.1, 0.2, 0.3), floor(), tilt, 1.0);
    close(c.gap[0], 0.3 - (0.2 * 0.3f64.sin()).hypot(0.3 * 0.3f64.cos()), EXACT);

    // A box lying: its four lower corners; on an edge: two; on a corner: one.
    let c = touch(Shape::Plane, cuboid(0.1, 0.2, 0.3), floor(), at([5.0, 0.0, 0.29], ORIGIN));
    let mut features = c.feature.clone();
    features.sort_by(f64::total_cmp);
    assert_eq!(features, [0.0, 1.0, 2.0, 3.0]);
    assert!(gaps(&c).iter().all(|g| (g + 0.01).abs() < EXACT));
    // Seen from far enough for all eight corners the four lower ones still win.
    let c = touch_within(Shape::Plane, cuboid(0.1, 0.2, 0.005), floor(), at([5.0, 0.0, 0.005], ORIGIN), 0.1);
    assert!(c.count(0) == 4 && c.feature.iter().all(|&f| f < 4.0));
    let edge = 0.1 * 2.0f64.sqrt();
    let c = touch(Shape::Plane, cuboid(0.1, 0.1, 0.1), floor(), at([0.0, 0.0, edge], [QUARTER / 2.0, 0.0, 0.0]));
    assert_eq!(c.count(0), 2);

    // A cylinder standing, standing on its head, lying, and on a rim.
    let rod = || cylinder(0.1, 0.5);
    for turn in [ORIGIN, [2.0 * QUARTER, 0.0, 0.0]] {
        let c = touch(Shape::Plane, rod(), floor(), at([0.0, 0.0, 0.5], turn));
        assert_eq!(c.count(0), 4);
        assert!(c.position.iter().all(|p| (p.x.hypot(p.y) - 0.1).abs() < EXACT && p.z.abs() < EXACT));
        assert!(c.feature.iter().all(|&f| (f < 4.0) == (turn == ORIGIN)));
    }
    let c = touch(Shape::Plane, rod(), floor(), at([0.0, 0.0, 0.1], [0.0, QUARTER, 0.0]));
    assert_eq!(c.count(0), 2);
    close(c.position[0].x.abs(), 0.5, EXACT);
    close(c.position[0].x + c.position[1].x, 0.0, EXACT);
    let low = 0.5 * 0.5f64.cos() + 0.1 * 0.5f64.sin();
    let c = touch(Shape::Plane, rod(), floor(), at([0.0, 0.0, low], [0.5, 0.0, 0.0]));
    assert_eq!(c.count(0), 1);
    close(c.gap[0], 0.0, EXACT);

    // A hull: its vertices.
    let c = touch(Shape::Plane, hull_box(0.1, 0.2, 0.3), floor(), at([0.0, 0.0, 0.3], ORIGIN));
    let mut features = c.feature.clone();
    features.sort_by(f64::total_cmp);
    assert_eq!(features, [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn round_pairs_have_their_closed_forms() {
    let zero = || at(ORIGIN, ORIGIN);
    let c = touch(sphere(0.5), sphere(0.25), zero(), at([0.0, 0.6, 0.0], ORIGIN));
    close(c.gap[0], -0.15, EXACT);
    close3(c.normal[0], [0.0, 1.0, 0.0], EXACT);
    close3(c.position[0], [0.0, 0.425, 0.0], EXACT);
    // Concentric spheres part along z.
    let c = touch(sphere(0.5), sphere(0.25), zero(), zero());
    close(c.gap[0], -0.75, EXACT);
    close3(c.normal[0], [0.0, 0.0, 1.0], EXACT);

    let c = touch(sphere(0.5), capsule(0.25, 1.0), at([0.7, 0.0, 0.5], ORIGIN), zero());
    close(c.gap[0], -0.05, EXACT);
    close3(c.normal[0], [-1.0, 0.0, 0.0], EXACT);

    // Parallel capsules touch at both ends of their common stretch, crossing ones at one point.
    let c = touch(capsule(0.1, 1.0), capsule(0.2, 0.5), zero(), at([0.3, 0.0, 0.2], ORIGIN));
    assert_eq!(c.count(0), 2);
    close3(c.position[0], [0.1, 0.0, -0.3], EXACT);
    close3(c.position[1], [0.1, 0.0, 0.7], EXACT);
    let c = touch(capsule(0.1, 1.0), capsule(0.2, 0.5), zero(), at([0.3, 0.0, 0.2], [1e-4, 0.0, 0.0]));
    assert!(c.count(0) >= 2);
    let c = touch(capsule(0.1, 1.0), capsule(0.2, 0.5), zero(), at([0.3, 0.0, 0.2], [QUARTER, 0.0, 0.0]));
    assert_eq!(c.count(0), 1);
    close3(c.position[0], [0.1, 0.0, 0.2], EXACT);
    // In line: one.
    let c = touch(capsule(0.1, 1.0), capsule(0.2, 0.5), zero(), at([0.0, 0.0, 1.8], ORIGIN));
    assert_eq!(c.count(0), 1);
    close(c.gap[0], 0.0, EXACT);

    // A sphere above a face, beside an edge, with its centre inside.
    let cube = || cuboid(0.5, 0.5, 0.5);
    let c = touch(sphere(0.2), cube(), at([0.1, 0.0, 0.6], ORIGIN), zero());
    close(c.gap[0], -0.1, EXACT);
    close3(c.normal[0], [0.0, 0.0, -1.0], EXACT);
    close3(c.position[0], [0.1, 0.0, 0.45], EXACT);
    let c = touch(sphere(0.2), cube(), at([0.6, 0.0, 0.6], ORIGIN), zero());
    close(c.gap[0], 0.02f64.sqrt() - 0.2, EXACT);
    let c = touch(sphere(0.2), cube(), at([0.1, -0.4, 0.2], ORIGIN), zero());
    close(c.gap[0], -0.3, EXACT);
    close3(c.normal[0], [0.0, 1.0, 0.0], EXACT);
    let c = touch(sphere(0.2), cube(), zero(), zero());
    close(c.gap[0], -0.7, EXACT);
    close(c.normal[0].norm(), 1.0, EXACT);

    // A sphere over the end of a cylinder, beside it, off its rim, with its centre inside nearer to the end, nearer to the side, and on the axis.
    let tin = || cylinder(0.5, 0.4);
    let c = touch(sphere(0.2), tin(), at([0.1, 0.2, 0.5], ORIGIN), zero());
    close(c.gap[0], -0.1, EXACT);
    close3(c.normal[0], [0.0, 0.0, -1.0], EXACT);
    close3(c.position[0], [0.1, 0.2, 0.35], EXACT);
    let c = touch(sphere(0.2), tin(), at([-0.36, 0.48, 0.1], ORIGIN), zero());
    close(c.gap[0], -0.1, EXACT);
    close3(c.normal[0], [0.6, -0.8, 0.0], EXACT);
    close3(c.position[0], [-0.27, 0.36, 0.1], EXACT);
    let c = touch(sphere(0.2), tin(), at([0.0, -0.6, -0.5], ORIGIN), zero());
    close(c.gap[0], 0.02f64.sqrt() - 0.2, EXACT);
    close3(c.normal[0], [0.0, 0.5f64.sqrt(), 0.5f64.sqrt()], EXACT);
    let c = touch(sphere(0.2), tin(), at([0.1, 0.0, -0.35], ORIGIN), zero());
    close(c.gap[0], -0.25, EXACT);
    close3(c.normal[0], [0.0, 0.0, 1.0], EXACT);
    let c = touch(sphere(0.2), tin(), at([0.0, 0.45, 0.3], ORIGIN), zero());
    close(c.gap[0], -0.25, EXACT);
    close3(c.normal[0], [0.0, -1.0, 0.0], EXACT);
    let c = touch(sphere(0.2), cylinder(0.3, 0.4), zero(), zero());
    close(c.gap[0], -0.5, EXACT);
    close(c.normal[0].norm(), 1.0, EXACT);

    // A capsule lying on the end of a cylinder, beside it, across it, standing on it, over its rim.
    let lying = [0.0, QUARTER, 0.0];
    let c = touch(capsule(0.1, 2.0), tin(), at([0.1, 0.3, 0.49], lying), zero());
    assert_eq!(c.count(0), 2);
    close3(c.position[0], [-0.4, 0.3, 0.395], EXACT);
    close3(c.position[1], [0.4, 0.3, 0.395], EXACT);
    close3(c.normal[0], [0.0, 0.0, -1.0], EXACT);
    let c = touch(capsule(0.1, 0.3), tin(), at([0.0, 0.61, 0.2], ORIGIN), zero());
    assert_eq!(c.count(0), 2);
    close3(c.position[0], [0.0, 0.505, -0.1], EXACT);
    close3(c.position[1], [0.0, 0.505, 0.4], EXACT);
    let c = touch(capsule(0.1, 0.3), tin(), at([0.1, 0.59, 0.2], lying), zero());
    assert_eq!(c.count(0), 1);
    close3(c.position[0], [0.0, 0.495, 0.2], EXACT);
    let c = touch(capsule(0.1, 0.3), tin(), at([0.1, 0.0, 0.8], ORIGIN), zero());
    assert_eq!(c.count(0), 1);
    close3(c.position[0], [0.1, 0.0, 0.4], EXACT);
    // the rim is nearest where it is seen under 45°
    let c = touch(capsule(0.1, 0.6), tin(), at([0.57, 0.0, 0.47], [0.0, -0.5 * QUARTER, 0.0]), zero());
    assert_eq!(c.count(0), 1);
    close(c.gap[0], 0.14 / 2f64.sqrt() - 0.1, 1e-9);
    // and on a line that passes by: (1, s, 0.6 − s/2) from the rim
    let c = touch_within(capsule(0.1, 3.0), tin(), at([1.0, 0.0, 0.6], [1.1071487177940904, 0.0, 0.0]), zero(), 1.0);
    let distance = |s: f64| (1f64.hypot(s) - 0.5).hypot((0.6 - 0.5 * s - 0.4).max(0.0));
    let least = (-40000..40000).map(|k| distance(k as f64 * 5e-5)).fold(f64::INFINITY, f64::min);
    close(gaps(&c).into_iter().fold(f64::INFINITY, f64::min), least - 0.1, 1e-8);

    // A capsule lying on a box within it, sticking out on both sides, standing on it, over its edge.
    let c = touch(capsule(0.1, 0.3), cube(), at([0.1, 0.0, 0.6], lying), zero());
    assert_eq!(c.count(0), 2);
    close3(c.position[0], [-0.2, 0.0, 0.5], EXACT);
    close3(c.position[1], [0.4, 0.0, 0.5], EXACT);
    let c = touch(capsule(0.1, 2.0), cube(), at([0.1, 0.0, 0.59], lying), zero());
    assert_eq!(c.count(0), 2);
    close3(c.position[0], [-0.5, 0.0, 0.495], EXACT);
    let c = touch(capsule(0.1, 0.3), cube(), at([0.1, 0.0, 0.9], ORIGIN), zero());
    assert_eq!(c.count(0), 1);
    close3(c.position[0], [0.1, 0.0, 0.5], EXACT);
    let c = touch(capsule(0.1, 0.6), cube(), at([0.57, 0.0, 0.57], [0.0, -0.5 * QUARTER, 0.0]), zero());
    assert_eq!(c.count(0), 1);
    close(c.gap[0], (0.14f64).hypot(0.0) / 2.0f64.sqrt() - 0.1, 1e-9);
}

/// Pseudo-random numbers in ±1 (a 64-bit linear congruential generator).
struct Noise(u64);
impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    fn pose(&mut self, spread: f64) -> Pose<f64> {
        let mut three = |s: f64| [s * self.next(), s * self.next(), s * self.next()];
        at(three(spread), three(3.0))
    }
}

/// Every pair of shapes that may touch, the first with the lower rank.
fn zoo() -> Vec<(Shape, Shape)> {
    let shapes = [
        Shape::Plane,
        sphere(0.3),
        capsule(0.15, 0.4),
        ellipsoid(0.2, 0.3, 0.4),
        cylinder(0.25, 0.3),
        cuboid(0.2, 0.3, 0.4),
        octahedron(0.4),
    ];
    let mut pairs = Vec::new();
    for i in 0..shapes.len() {
        for j in i.max(1)..shapes.len() {
            pairs.push((shapes[i].clone(), shapes[j].clone()));
        }
    }
    pairs
}

/// The numbers of a slot, and its pair where the lane has it.
fn entry<R: Pack>(c: &Contacts<R>, slot: usize, lane: usize) -> (Vec<f64>, Option<usize>) {
    let (p, n) = (c.position[slot].get(lane), c.normal[slot].get(lane));
    let values = [p.x, p.y, p.z, n.x, n.y, n.z, c.gap[slot].get(lane), c.feature[slot].get(lane)];
    (values.map(Scalar::to_f64).to_vec(), c.slots.origin(slot, lane))
}

fn lane_of<R: Pack>(c: &Contacts<R>, lane: usize) -> Vec<(Vec<f64>, Option<usize>)> {
    (0..c.gap.len()).filter(|slot| c.slots.has(*slot, lane)).map(|slot| entry(c, slot, lane)).collect()
}

/// Lanes give the bits of the scalar; a NaN or an infinity in one lane changes nothing in the others.
fn lanes_agree<R: Pack>() {
    let mut noise = Noise(7);
    for (a, b) in zoo() {
        let plan = CollidePlan::new(&pair(a, b));
        let mut contacts = Contacts::<R>::default();
        let mut single = Contacts::<R::Scalar>::default();
        for round in 0..30 {
            let mut geoms = [cast::<R>(&noise.pose(0.1)), Pose::identity()];
            for lane in 0..R::LANES {
                let mut world = [noise.pose(0.0), noise.pose(0.6)];
                if round % 3 == 1 && lane == 3 {
                    world[lane % 2].position.x = f64::NAN;
                }
                if round % 3 == 2 && lane == 5 {
                    world[1].rotation.columns[0].y = f64::NAN;
                    world[0].position.z = f64::INFINITY;
                }
                for g in 0..2 {
                    let p: Pose<R::Scalar> = cast(&world[g]);
                    geoms[g].position.set(lane, p.position);
                    for k in 0..3 {
                        geoms[g].rotation.columns[k].set(lane, p.rotation.columns[k]);
                    }
                }
            }
            let reach = R::constant(0.05);
            collide(&plan, Geoms::new(&geoms, &[Drift::none(); 2]), reach, None, &mut Vec::new(), &mut contacts);
            for lane in 0..R::LANES {
                let world = [geoms[0].get(lane), geoms[1].get(lane)];
                let reach = reach.get(lane);
                collide(&plan, Geoms::new(&world, &[Drift::none(); 2]), reach, None, &mut Vec::new(), &mut single);
                assert_eq!(lane_of(&contacts, lane), lane_of(&single, 0));
                for slot in (0..contacts.gap.len()).filter(|slot| !contacts.slots.has(*slot, lane)) {
                    assert_eq!(entry(&contacts, slot, lane), (vec![0.0; 8], None));
                }
            }
        }
    }
}

#[test]
fn lanes_give_the_bits_of_scalars_whatever_their_neighbours_hold() {
    lanes_agree::<F32x16>();
    lanes_agree::<F64x8>();
}

/// A cylinder and a box that touch, where the direction between them is lost in rounding: moved by up to 0.3 µm along each axis, and so by 0.52 µm at most, they have no contact deeper than
/// 1 µm. (The best of axes and face normals says 8 mm.)
#[test]
fn what_touches_is_not_deep() {
    let turned = |[w, x, y, z]: [f64; 4]| {
        let turn = nalgebra::UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(w, x, y, z));
        Rotation3::from(turn).scaled_axis()
    };
    let box_turn = turned([0.8394413691009369, -0.13292789181248868, -0.16255980766515615, -0.501241131943598]);
    let turn = turned([0.07849109689092708, 0.3830913420271627, -0.07271771993003158, -0.9174924002850727]);
    let place = [-0.05626676308393822, 0.3380335723703282, 0.3017880279983278];
    let mut noise = Noise(7);
    for _ in 0..200 {
        let mut moved = place;
        for x in &mut moved {
            *x += 3e-7 * noise.next();
        }
        let pa = at([0.0; 3], box_turn.into());
        let contacts = touch(cuboid(0.1015, 0.2785, 0.0883), cylinder(0.276, 0.2029), pa, at(moved, turn.into()));
        let deepest = gaps(&contacts).into_iter().fold(f64::INFINITY, f64::min);
        assert!(deepest > -1e-6, "{deepest} m at {moved:?}");
    }
}

#[test]
fn every_contact_is_finite_with_a_unit_normal_and_its_own_feature() {
    let mut noise = Noise(3);
    for (a, b) in zoo() {
        let plan = CollidePlan::new(&pair(a.clone(), b.clone()));
        let mut contacts = Contacts::default();
        let mut seen = 0;
        for _ in 0..300 {
            let world = [noise.pose(0.2), noise.pose(0.5)];
            collide(&plan, Geoms::new(&world, &[Drift::none(); 2]), 0.05, None, &mut Vec::new(), &mut contacts);
            assert!(contacts.count(0) <= KEPT);
            for k in 0..contacts.count(0) {
                close(contacts.normal[k].norm(), 1.0, 1e-9);
                assert!(contacts.gap[k] < 0.05 && contacts.position[k].norm().is_finite());
                assert!(!contacts.feature[..k].contains(&contacts.feature[k]), "{} {}", a.name(), b.name());
            }
            seen += contacts.count(0);
        }
        assert!(seen > 30, "{} {}: {seen}", a.name(), b.name());
    }
}

#[test]
fn beyond_the_capacity_the_deepest_stay_in_order_and_all_are_counted() {
    let plan = CollidePlan::new(&pair(Shape::Plane, cuboid(0.5, 0.5, 0.1)));
    let world = [at(ORIGIN, ORIGIN), at([0.0, 0.0, 0.1], [0.01, 0.02, 0.0])];
    let at_rest = [Drift::none(); 2];
    let geoms = Geoms::new(&world, &at_rest);
    let mut all = Contacts::default();
    collide(&plan, geoms, 0.1, None, &mut Vec::new(), &mut all);
    assert_eq!((all.count(0), all.found[0]), (4, 4));
    let mut some = Contacts::default();
    collide(&plan, geoms, 0.1, Some(2), &mut Vec::new(), &mut some);
    assert_eq!((some.count(0), some.found[0]), (2, 4));
    let mut deepest = gaps(&all);
    deepest.sort_by(f64::total_cmp);
    let mut kept = gaps(&some);
    kept.sort_by(f64::total_cmp);
    assert_eq!(kept, deepest[..2]);
    collide(&plan, geoms, 0.1, Some(0), &mut Vec::new(), &mut some);
    assert_eq!((some.count(0), some.found[0]), (0, 4));
}
