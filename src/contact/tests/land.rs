//! Land: against closed forms, against all its triangles one by one, and lanes against scalars.

use super::*;
use crate::contact::clip::Points;
use crate::contact::convex::{Solid, convex_convex};
use crate::model::HeightField;

/// Land of heights h(x, y), 21 × 17 points within 1 m × 0.8 m of its middle.
fn land(height: impl Fn(f64, f64) -> f64) -> Shape {
    let (rows, columns, half) = (17, 21, [1.0, 0.8]);
    let field = HeightField { name: "land".into(), rows, columns, half, heights: vec![0.0; rows * columns], base: 1.0 };
    let heights =
        (0..rows * columns).map(|k| field.point(k / columns, k % columns)).map(|p| height(p.x, p.y)).collect();
    Shape::HeightField(Arc::new(HeightField { heights, ..field }))
}

/// Bumps of a few centimetres without a pattern.
fn rough(seed: u64) -> Shape {
    let mut state = seed;
    let heights: Vec<f64> = (0..17 * 21)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f64 / (1u64 << 24) as f64 * 0.06
        })
        .collect();
    let Shape::HeightField(field) = land(|_, _| 0.0) else { unreachable!("it is land") };
    Shape::HeightField(Arc::new(HeightField { heights, ..(*field).clone() }))
}

fn shapes() -> Vec<Shape> {
    vec![
        sphere(0.05),
        capsule(0.03, 0.08),
        ellipsoid(0.06, 0.05, 0.04),
        cylinder(0.05, 0.03),
        cuboid(0.07, 0.05, 0.03),
        hull_box(0.07, 0.05, 0.03),
    ]
}

/// All points of a shape at a pose within `reach` of the land, which is turned and moved as a whole.
fn points_on<R: Pack>(land: &Shape, shape: &Shape, poses: &[Pose<R>; 2], reach: f64) -> Contacts<R> {
    let model = pair(land.clone(), shape.clone());
    let mut contacts = Contacts::default();
    let drift = [Drift::none(); 2];
    let geoms = Geoms::new(poses, &drift);
    collide(&CollidePlan::new(&model), geoms, R::constant(reach), None, &mut Vec::new(), &mut contacts);
    contacts
}

fn random_pose(random: &mut impl FnMut() -> f64, [low, high]: [f64; 2]) -> (Rotation3<f64>, Vector3<f64>) {
    let turn = Rotation3::from_euler_angles(6.3 * random(), 3.0 * random(), 6.3 * random());
    (turn, Vector3::new(random() - 0.5, random() - 0.5, low + (high - low) * random()))
}

fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn placed<R: Pack>((turn, position): &(Rotation3<f64>, Vector3<f64>)) -> Pose<R> {
    Pose { rotation: crate::spatial::Mat3::constant(turn.matrix()), position: Vec3::constant(position) }
}

/// The least gap, m, and its normal.
fn lowest(contacts: &Contacts<f64>) -> Option<(f64, Vec3<f64>)> {
    let slots = 0..contacts.gap.len();
    slots.map(|k| (contacts.gap[k], contacts.normal[k])).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// On a plane of triangles, level or sloping, a shape has the gap and the normal that it has on a plane, wherever it is.
#[test]
fn triangles_of_one_plane_are_a_plane() {
    let slope = [0.3, -0.2];
    for tilted in [false, true] {
        let k = f64::from(u8::from(tilted));
        let ground = land(|x, y| k * (slope[0] * x + slope[1] * y));
        let up = Vector3::new(-k * slope[0], -k * slope[1], 1.0).normalize();
        let turn = Rotation3::rotation_between(&Vector3::z(), &up).expect("it is not upside down");
        let plane = placed(&(turn, Vector3::zeros()));
        let identity = placed(&(Rotation3::identity(), Vector3::zeros()));
        let mut random = numbers(3);
        for shape in shapes() {
            let mut compared = 0;
            for _ in 0..60 {
                let mut pose = random_pose(&mut random, [0.02, 0.07]);
                pose.1.z += k * (slope[0] * pose.1.x + slope[1] * pose.1.y);
                let pose = placed(&pose);
                let on_land = points_on::<f64>(&ground, &shape, &[identity, pose], 0.05);
                let on_plane = points_on::<f64>(&Shape::Plane, &shape, &[plane, pose], 0.05);
                let (found, wanted) = (lowest(&on_land), lowest(&on_plane));
                match (found, wanted) {
                    (None, None) => continue,
                    (Some((gap, n)), Some((wanted, normal))) => {
                        assert!((gap - wanted).abs() < 1e-9, "{shape:?}: {gap} {wanted}");
                        assert!((n - normal).norm() < 1e-9, "{shape:?}: {n:?}");
                    }
                    other => panic!("{shape:?}: {other:?}"),
                }
                for slot in 0..on_land.gap.len() {
                    assert!((on_land.normal[slot] - Vec3::constant(&up)).norm() < 1e-9, "{shape:?} {slot}");
                }
                compared += 1;
            }
            assert!(compared > 30, "{shape:?}: {compared}");
        }
    }
}

/// How far from a prism of land contacts are looked for, m.
const NEAR: f64 = 0.06;

/// The triangles of land as prisms down to its base, and where their middles are.
fn prisms(ground: &HeightField) -> Vec<(Solid, Vector3<f64>)> {
    let prism = |triangle: [usize; 3]| {
        let corners = triangle.map(|k| ground.point(k / ground.columns, k % ground.columns));
        let below = corners.map(|c| Vector3::new(c.x, c.y, -ground.base));
        let vertices: Vec<_> = corners.into_iter().chain(below).collect();
        let centre = vertices.iter().sum::<Vector3<f64>>() / 6.0;
        let vertices = vertices.iter().map(|v| v - centre).collect();
        let triangles = vec![[0, 1, 2], [5, 4, 3], [0, 3, 4], [0, 4, 1], [1, 4, 5], [1, 5, 2], [2, 5, 3], [2, 3, 0]];
        let hull = Hull { name: "prism".into(), vertices, triangles };
        (Solid::new(&Shape::Hull(Arc::new(hull))).expect("a prism"), centre)
    };
    ground.triangles().map(prism).collect()
}

/// The distance from all prisms, one by one, by GJK; of shapes that do not touch.
fn distance(prisms: &[(Solid, Vector3<f64>)], shape: &Shape, pose: &Pose<f64>) -> f64 {
    let solid = Solid::new(shape).expect("a shape with an end");
    let mut least = f64::INFINITY;
    for (prism, centre) in prisms {
        let away = Vector3::new(pose.position.x, pose.position.y, pose.position.z) - centre;
        // no corner of a triangle is 0.1 m beside its middle
        if away.xy().norm() > shape.bounding_radius() + 0.1 + NEAR {
            continue;
        }
        let mut points = Points::new();
        let at = placed::<f64>(&(Rotation3::identity(), *centre));
        // about the size of a prism, whose base is 1 m below
        let size = 0.5;
        convex_convex(&[prism.clone(), solid.clone()], &at, pose, NEAR, size, &mut points);
        least = least.min(points.least_gap());
    }
    least
}

/// Of what does not touch, the least gap is the distance: of balls and rods exactly, of ellipsoids and boxes nearly.
#[test]
fn the_least_gap_on_rough_land_is_the_distance() {
    let identity = placed(&(Rotation3::identity(), Vector3::zeros()));
    let mut random = numbers(11);
    let shapes = [
        sphere(0.05),
        sphere(0.15),
        capsule(0.03, 0.08),
        ellipsoid(0.12, 0.05, 0.04),
        cuboid(0.07, 0.05, 0.03),
        cuboid(0.16, 0.12, 0.01),
    ];
    let mut compared = [0; 6];
    for seed in 0..10 {
        let ground = rough(seed);
        let Shape::HeightField(field) = &ground else { unreachable!("it is land") };
        // they take longer to make than to compare with
        let prisms = prisms(field);
        for (shape, k) in shapes.iter().zip(0..).flat_map(|shape| [shape; 10]) {
            let pose = placed(&random_pose(&mut random, [0.06, 0.21]));
            let wanted = distance(&prisms, shape, &pose);
            let exact = matches!(shape, Shape::Sphere { .. } | Shape::Capsule { .. });
            if !(1e-4..if exact { 0.05 } else { 0.015 }).contains(&wanted) {
                continue;
            }
            compared[k] += 1;
            let found = lowest(&points_on::<f64>(&ground, shape, &[identity, pose], NEAR));
            let gap = found.map_or(f64::INFINITY, |(gap, _)| gap);
            // A corner over the triangle straight below it has less than the distance, but not when it touches.
            let [least, most] = if exact { [1.0; 2] } else { [0.85, 1.05] };
            assert!(
                (least * wanted - 1e-6..most * wanted + 1e-6).contains(&gap),
                "{shape:?} on {seed}: {gap} {wanted}"
            );
        }
    }
    assert!(compared.iter().all(|&compared| compared > 3), "{compared:?}");
}

/// A lane has the bits of a world by itself, whatever its neighbours do.
#[test]
fn lanes_are_worlds_by_themselves() {
    let ground = rough(5);
    let turned = (Rotation3::from_euler_angles(0.1, -0.2, 0.3), Vector3::new(0.3, -0.1, 0.2));
    let mut random = numbers(7);
    for shape in shapes() {
        let mut lanes = placed::<F64x8>(&(Rotation3::identity(), Vector3::zeros()));
        let mut own = Vec::new();
        for lane in 0..8 {
            let (turn, mut position) = random_pose(&mut random, [0.03, 0.08]);
            // neighbours that are beyond the border, high above, below, and nowhere
            match lane {
                1 => position.x = 1.3,
                3 => position.z = 2.0,
                5 => position.z = -3.0,
                6 => position.y = f64::NAN,
                _ => {}
            }
            // each in the frame of the land
            let pose = placed::<f64>(&(turned.0 * turn, turned.0 * position + turned.1));
            lanes.position.set(lane, pose.position);
            for (column, own) in lanes.rotation.columns.iter_mut().zip(&pose.rotation.columns) {
                column.set(lane, *own);
            }
            own.push(pose);
        }
        let together = points_on(&ground, &shape, &[placed(&turned), lanes], 0.02);
        let mut touching = 0;
        for (lane, pose) in own.into_iter().enumerate() {
            let alone = points_on::<f64>(&ground, &shape, &[placed(&turned), pose], 0.02);
            let slots: Vec<usize> = (0..together.gap.len()).filter(|&slot| together.slots.has(slot, lane)).collect();
            assert_eq!(slots.len(), alone.gap.len(), "{shape:?}");
            for (&slot, k) in slots.iter().zip(0..) {
                assert_eq!(together.gap[slot].get(lane).to_bits(), alone.gap[k].to_bits(), "{shape:?}");
                assert_eq!(together.position[slot].get(lane), alone.position[k]);
                assert_eq!(together.normal[slot].get(lane), alone.normal[k]);
                assert_eq!(together.feature[slot].get(lane), alone.feature[k]);
                touching += 1;
            }
        }
        assert!(touching > 1, "{shape:?}");
    }
}

/// Beside the land there is nothing, and a ball that came below it is pushed up by the triangle over it.
#[test]
fn land_has_an_end_and_a_surface() {
    let ground = land(|_, _| 0.0);
    let identity: Pose<f64> = placed(&(Rotation3::identity(), Vector3::zeros()));
    let at = |x: f64, y: f64, z: f64| placed(&(Rotation3::identity(), Vector3::new(x, y, z)));
    let found = |x, y, z| lowest(&points_on(&ground, &sphere(0.05), &[identity, at(x, y, z)], 0.01));
    assert_eq!(found(1.2, 0.0, 0.02), None);
    assert_eq!(found(0.0, 0.9, 0.02), None);
    for (z, gap) in [(0.06, 0.01 - 1e-9), (0.02, -0.03), (-0.03, -0.08)] {
        let (found, normal) = found(0.513, 0.217, z).expect("it touches");
        assert!((found - gap).abs() < 1e-8 && (normal.z - 1.0).abs() < 1e-12, "{found} {gap}");
    }
    // deeper than the land is thick
    assert_eq!(found(0.513, 0.217, -1.1), None);
    // land that lies lower than that is as thick
    let low = land(|_, _| -5.0);
    let found = lowest(&points_on(&low, &sphere(0.05), &[identity, at(0.1, 0.2, -4.97)], 0.01));
    assert!(found.is_some_and(|(gap, _)| (gap + 0.02).abs() < 1e-8), "{found:?}");
}
