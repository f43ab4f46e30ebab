//! Boxes, hulls, cylinders and ellipsoids: points at rest, and distances as parry finds them.

use super::apart::Core;
use super::*;
use crate::contact::convex::Solid;

/// Positions, sorted, rounded to a micrometre.
fn spots(c: &Contacts<f64>) -> Vec<[i64; 3]> {
    let micro = |x: f64| (x * 1e6).round() as i64;
    let mut spots: Vec<_> = c.position.iter().map(|p| [micro(p.x), micro(p.y), micro(p.z)]).collect();
    spots.sort_unstable();
    spots
}
const FOUR: [[i64; 3]; 4] =
    [[-200000, -300000, 400000], [-200000, 300000, 400000], [200000, -300000, 400000], [200000, 300000, 400000]];

#[test]
fn boxes_and_hulls_rest_on_four_corners() {
    let big = || cuboid(0.4, 0.4, 0.4);
    let small = || cuboid(0.2, 0.3, 0.1);
    let hulls =
        [(big(), small()), (big(), hull_box(0.2, 0.3, 0.1)), (hull_box(0.4, 0.4, 0.4), hull_box(0.2, 0.3, 0.1))];
    for (a, b) in hulls {
        for gap in [0.0, 0.005, -0.001, -0.01, -1e-9] {
            let c = touch(a.clone(), b.clone(), at(ORIGIN, ORIGIN), at([0.0, 0.0, 0.5 + gap], ORIGIN));
            assert_eq!(c.count(0), 4, "{} {} {gap}", a.name(), b.name());
            for k in 0..4 {
                close(c.gap[k], gap, EXACT);
                close3(c.normal[k], [0.0, 0.0, 1.0], EXACT);
                close(c.position[k].z, 0.4 + gap / 2.0, EXACT);
            }
            let mut spots = spots(&c);
            for spot in &mut spots {
                spot[2] = 400000;
            }
            assert_eq!(spots, FOUR);
        }
    }
    // Equal boxes, side on side.
    let c = touch(big(), big(), at(ORIGIN, ORIGIN), at([0.0, 0.0, 0.8], ORIGIN));
    assert_eq!(c.count(0), 4);
    assert!(c.position.iter().all(|p| (p.x.abs() - 0.4).abs() < EXACT && (p.y.abs() - 0.4).abs() < EXACT));
    // Turned by 45°: four of the octagon, two and two opposite.
    let c = touch(big(), big(), at(ORIGIN, ORIGIN), at([0.0, 0.0, 0.8], [0.0, 0.0, QUARTER / 2.0]));
    assert_eq!(c.count(0), 4);
    let sum = c.position.iter().fold(Vec3::zero(), |s, &p| s + p);
    close3(sum, [0.0, 0.0, 1.6], 1e-6);
    // Crossing edges.
    let d = 0.4 * 2f64.sqrt();
    let turn = at([0.0, 0.0, 0.0], [QUARTER / 2.0, 0.0, 0.0]);
    let c = touch(big(), big(), turn, at([0.0, 0.0, 2.0 * d - 0.01], [0.0, QUARTER / 2.0, 0.0]));
    assert_eq!(c.count(0), 1);
    close(c.gap[0], -0.01, EXACT);
    close3(c.position[0], [0.0, 0.0, d - 0.005], EXACT);
}

#[test]
fn cylinders_rest_on_boxes_and_on_each_other() {
    let rod = || cylinder(0.1, 0.2);
    let table = || cuboid(0.5, 0.5, 0.1);
    for gap in [0.0, 0.004, -0.002] {
        let c = touch(rod(), table(), at([0.1, 0.0, 0.3 + gap], ORIGIN), at(ORIGIN, ORIGIN));
        assert_eq!(c.count(0), 4, "standing {gap}");
        for k in 0..4 {
            close(c.gap[k], gap, 1e-9);
            close((c.position[k].x - 0.1).hypot(c.position[k].y), 0.1, 1e-6);
        }
        let c = touch(rod(), table(), at([0.1, 0.0, 0.2 + gap], [0.0, QUARTER, 0.0]), at(ORIGIN, ORIGIN));
        assert_eq!(c.count(0), 2, "lying {gap}");
        close((c.position[0].x - c.position[1].x).abs(), 0.4, 1e-6);
        let c = touch(rod(), rod(), at(ORIGIN, ORIGIN), at([0.0, 0.0, 0.4 + gap], ORIGIN));
        assert_eq!(c.count(0), 4, "stack {gap}");
        assert!(c.gap.iter().all(|g| (g - gap).abs() < 1e-9));
        let c = touch(rod(), rod(), at(ORIGIN, ORIGIN), at([0.2 + gap, 0.0, 0.1], ORIGIN));
        assert_eq!(c.count(0), 2, "side by side {gap}");
        close(c.gap[0], gap, 1e-9);
    }
    // A capsule on a hull.
    let slab = || hull_box(0.5, 0.5, 0.1);
    let c = touch(capsule(0.1, 0.3), slab(), at([0.1, 0.0, 0.2], [0.0, QUARTER, 0.0]), at(ORIGIN, ORIGIN));
    assert_eq!(c.count(0), 2);
    close(c.gap[0], 0.0, 1e-9);
}

/// Whatever the number of its corners, a flat face carries what lies on it where that lies. (Twelve is what stands for the cap of a cylinder.)
#[test]
fn what_lies_on_a_prism_touches_it_where_it_lies() {
    for count in [8, 11, 12, 13, 16] {
        let base = || prism(count, 0.5, 0.1);
        for (name, lying) in [("capsule", capsule(0.1, 0.2)), ("cylinder", cylinder(0.1, 0.2))] {
            for gap in [0.0, 0.004, -0.002] {
                let pose = at([0.05, 0.0, 0.2 + gap], [0.0, QUARTER, 0.0]);
                let c = touch(lying.clone(), base(), pose, at(ORIGIN, ORIGIN));
                assert_eq!(c.count(0), 2, "{name}, {count} sides, {gap}");
                let mut ends = [c.position[0], c.position[1]];
                ends.sort_by(|a, b| a.x.total_cmp(&b.x));
                for (k, x) in [-0.15, 0.25].into_iter().enumerate() {
                    close3(ends[k], [x, 0.0, 0.1 + 0.5 * gap], 1e-9);
                    close(c.gap[k], gap, 1e-9);
                    close3(c.normal[k], [0.0, 0.0, -1.0], 1e-9);
                }
            }
        }
        // Standing on a box: four points of its rim, on its faces as well as beside them.
        let c = touch(base(), cuboid(1.0, 1.0, 0.1), at([0.1, 0.0, 0.199], ORIGIN), at(ORIGIN, ORIGIN));
        assert_eq!(c.count(0), 4, "standing, {count} sides");
        for k in 0..4 {
            close((c.position[k].x - 0.1).hypot(c.position[k].y), 0.5, 1e-9);
            close(c.gap[k], -0.001, 1e-9);
        }
    }
}

/// The distance of two separated shapes, and the depth of overlapping ones, by parry's GJK and EPA on their cores (a capsule is a segment, a
/// sphere a point, both with a radius), and whether the cores overlap.
fn parry_distance(a: &Shape, b: &Shape, pa: &Pose<f64>, pb: &Pose<f64>) -> Option<(f64, bool)> {
    use parry3d_f64::math::{Pose as P, Rotation, Vector};
    use parry3d_f64::query::details::contact_support_map_support_map;
    use parry3d_f64::shape::{ConvexPolyhedron, Cuboid, Cylinder, Segment, SupportMap};
    let shape = |s: &Shape| -> Option<(Box<dyn SupportMap>, f64)> {
        let z = |half: f64| Vector::new(0.0, 0.0, half);
        Some(match s {
            Shape::Sphere { radius } => (Box::new(Cuboid::new(Vector::ZERO)), *radius),
            Shape::Capsule { radius, half_length } => {
                (Box::new(Segment::new(z(-half_length), z(*half_length))), *radius)
            }
            Shape::Box { half } => (Box::new(Cuboid::new(Vector::new(half.x, half.y, half.z))), 0.0),
            Shape::Hull(h) => {
                let points: Vec<_> = h.vertices.iter().map(|v| Vector::new(v.x, v.y, v.z)).collect();
                (Box::new(ConvexPolyhedron::from_convex_hull(&points)?), 0.0)
            }
            Shape::Cylinder { radius, half_length } => (Box::new(Cylinder::new(*half_length, *radius)), 0.0),
            _ => return None,
        })
    };
    let pose = |s: &Shape, p: &Pose<f64>| {
        let v = |v: Vec3<f64>| Vector::new(v.x, v.y, v.z);
        let [x, y, z] = p.rotation.columns;
        // Its cylinders stand along y.
        let (x, y, z) = if matches!(s, Shape::Cylinder { .. }) { (x, z, -y) } else { (x, y, z) };
        let m = parry3d_f64::glamx::DMat3::from_cols(v(x), v(y), v(z));
        P { translation: v(p.position), rotation: Rotation::from_mat3(&m) }
    };
    let ((sa, ra), (sb, rb)) = (shape(a)?, shape(b)?);
    let relative = pose(a, pa).inverse() * pose(b, pb);
    let core = contact_support_map_support_map(&relative, &*sa, &*sb, 10.0)?.dist;
    Some((core - ra - rb, core < 1e-9))
}

#[test]
fn the_smallest_gap_is_the_distance_that_parry_finds() {
    let mut noise = Noise(11);
    for (a, b) in zoo() {
        let plan = CollidePlan::new(&pair(a.clone(), b.clone()));
        let mut contacts = Contacts::default();
        let (mut compared, mut worst_apart, mut worst_deep) = (0, 0f64, 0f64);
        for _ in 0..2000 {
            let world = [noise.pose(0.1), noise.pose(0.6)];
            let Some((distance, inside)) = parry_distance(&a, &b, &world[0], &world[1]) else { break };
            if distance > 0.1 - 1e-6 {
                continue;
            }
            collide(&plan, Geoms::new(&world, &[Drift::none(); 2]), 0.1, None, &mut Vec::new(), &mut contacts);
            let error = gaps(&contacts).into_iter().fold(f64::INFINITY, f64::min) - distance;
            // the least of distances that are known in closed form is never less than that which GJK looks for
            let by_lanes = a.rank() < 3 && b.rank() == 4;
            assert!(!by_lanes || error < 1e-6, "{} {}: {error:e} too far", a.name(), b.name());
            let error = error.abs();
            if inside {
                worst_deep = worst_deep.max(error);
            } else {
                worst_apart = worst_apart.max(error);
            }
            compared += 1;
        }
        // Of round pairs, points that are nearer by less than 10⁻⁶ of the size are not told apart; of others, faces are preferred within
        // 10⁻⁵ of it, and GJK is as good as that on curved shapes.
        let round = a.rank() < 3 && (b.rank() < 3 || b.rank() == 5);
        let tolerance = if round { 1e-6 } else { 2e-5 };
        let name = format!("{} {} ({compared} times)", a.name(), b.name());
        assert!(
            worst_apart < tolerance && worst_deep < tolerance,
            "{name}: {worst_apart:e} apart, {worst_deep:e} inside"
        );
    }
}

/// A mesh of so many corners that they are searched along edges.
fn pebble() -> Shape {
    let mut noise = Noise(3);
    let corners: Vec<String> = (0..300)
        .map(|_| {
            let p = noise.pose(1.0).position;
            let n = Vector3::new(p.x, p.y, p.z).normalize();
            format!("{} {} {}", 0.4 * n.x, 0.3 * n.y, 0.35 * n.z)
        })
        .collect();
    let asset = format!(r#"<asset><mesh name="m" vertex="{}"/></asset>"#, corners.join(" "));
    let body = r#"<worldbody><body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody>"#;
    let model = Model::from_mjcf_str(&format!("<mujoco>{asset}{body}</mujoco>")).expect("a model");
    model.geoms[0].shape.clone()
}

#[test]
fn what_is_shown_to_be_apart_is_and_few_others_are_left_open() {
    let mut noise = Noise(17);
    let threshold = 0.03;
    let round = [(pebble(), pebble()), (pebble(), cuboid(0.2, 0.3, 0.4))];
    for (a, b) in zoo().into_iter().chain(round) {
        let (Some(first), Some(second)) = (Bound::of(&a), Bound::of(&b)) else { continue };
        let (Some(own), Some(other)) = (Solid::new(&a), Solid::new(&b)) else { continue };
        fn core<R: Pack>(solid: &Solid, (bound, lengths): (Bound, [f64; 3])) -> [Core<'_, R>; 2] {
            let held = Core::Bound(bound, lengths.map(R::constant));
            let Solid::Hull(hull) = solid else { return [held; 2] };
            [held, Core::Hull(hull)]
        }
        let (mut apart, mut open) = (0, 0);
        for _ in 0..2000 {
            let [p, q] = [noise.pose(0.1), noise.pose(0.9)];
            let Some((distance, _)) = parry_distance(&a, &b, &p, &q) else { break };
            let name = format!("{} {}, {distance} apart: {p:?} {q:?}", a.name(), b.name());
            let (mut near, mut short) = (true, true);
            // held by a bound, and a mesh by itself
            for k in 0..2 {
                let cores = [core(&own, first)[k], core(&other, second)[k]];
                near = f64::run(apart::NearLanes { poses: [&p, &q], cores, which: near, threshold, parting: None });
                let cores = [core(&own, first)[k], core(&other, second)[k]];
                let poses = [&cast::<f32>(&p), &cast(&q)];
                let lanes = apart::NearLanes { poses, cores, which: short, threshold: threshold as f32, parting: None };
                short = f32::run(lanes);
                assert!(distance > threshold || near && short, "{name}");
            }
            if distance > threshold + 0.03 {
                apart += 1;
                open += i32::from(near || short);
            }
        }
        println!("{} {}: {open} of {apart} left open", a.name(), b.name());
        assert!(open * 20 <= apart, "{} {}: {open} of {apart}", a.name(), b.name());
    }
}

/// What the free motion makes of a pose: the motion of a rigid body, not to first order.
fn moved_by(pose: &Pose<f64>, drift: &Drift<f64>) -> Pose<f64> {
    let vector = |v: Vec3<f64>| Vector3::new(v.x, v.y, v.z);
    let turn = Rotation3::new(vector(drift.shift.angular));
    let columns = pose.rotation.columns.map(|column| Vec3::constant(&(turn * vector(column))));
    let rotation = crate::spatial::Mat3 { columns };
    Pose { position: pose.position + drift.at(pose.position), rotation }
}

/// Shapes that are not looked at, since they do not come near, are as far apart at the start of the step, and at its end; and few of those that are left open are.
#[test]
fn what_is_shown_not_to_come_near_does_not() {
    let mut noise = Noise(29);
    let reach = 0.01;
    let (mut apart, mut open) = (0, 0);
    for (a, b) in zoo().into_iter().chain([(pebble(), pebble()), (pebble(), hull_box(0.2, 0.3, 0.4))]) {
        let plan = CollidePlan::new(&pair(a.clone(), b.clone()));
        if !matches!(plan.pairs[0].kind, Kind::Convex) {
            continue;
        }
        for k in 0..600 {
            let poses = [noise.pose(0.1), noise.pose(0.6)];
            let travels = [&a, &b].map(Shape::bounding_radius);
            // both as parts of something that moves far, and each a little by itself
            let far = noise.pose(0.3).position;
            let mut drifts = [Drift::none(); 2];
            for g in 0..2 {
                let small = if k % 2 == 0 { 0.03 } else { 0.003 };
                let [linear, angular] = [noise.pose(small).position, noise.pose(0.3 * small).position];
                let shift = Motion { angular, linear: far + linear };
                let travel = shift.linear.norm() + angular.norm() * travels[g];
                drifts[g] = Drift { shift, reference: poses[g].position, travel };
            }
            let before = parry_distance(&a, &b, &poses[0], &poses[1]);
            let after = [0, 1].map(|g| moved_by(&poses[g], &drifts[g]));
            let after = parry_distance(&a, &b, &after[0], &after[1]);
            // none of an ellipsoid
            let (Some((before, _)), Some((after, _))) = (before, after) else { break };
            let geoms = Geoms::new(&poses, &drifts);
            let near = may_come_near(&plan.pairs[0], &geoms, true, reach);
            // of what is turned by θ = 0.016 rad at 0.5 m, to first order: r θ²/2 = 6e-5 m
            let least = before.min(after);
            assert!(near || least > reach - 1e-4, "{} {}: {before} {after}", a.name(), b.name());
            if least > reach + 0.03 {
                apart += 1;
                open += i32::from(near);
            }
        }
    }
    assert!(apart > 1000 && open * 20 <= apart, "{open} of {apart} left open");
}

/// Two boxes of triangles that slide along each other are not looked at for what they do, but are for what stops a ball that falls into the ground, whichever is found first; in their order.
#[test]
fn what_is_put_off_is_found_where_something_else_is_stopped() {
    let mut builder = ModelBuilder::new("put off");
    for shape in [hull_box(0.2, 0.2, 0.2), hull_box(0.2, 0.2, 0.2), sphere(0.1), Shape::Plane] {
        let mut body = 0;
        if !shape.is_ground() {
            body = builder.add_body(shape.name(), 0, [0.0; 3]);
            builder.add_joint(Joint::new(body, JointKind::Free));
            builder.set_inertia(body, 1.0, [0.0; 3], nalgebra::Matrix3::identity());
        }
        builder.add_geom(Geom::new(body, shape));
    }
    let model = builder.build().expect("a valid model");
    let (plan, patches) = (CollidePlan::new(&model), CollidePlan::with_patches(&model));
    let boxes = plan.pairs.iter().position(|pair| [pair.a, pair.b] == [0, 1]).expect("a pair of boxes");
    let ball = plan.pairs.iter().position(|pair| pair.on_plane && pair.b == 2).expect("a ball on the ground");
    assert!(boxes < ball);
    let pose = |x: f64, z: f64| cast::<F64x8>(&at([x, 0.0, z], ORIGIN));
    let poses = [pose(0.0, 3.0), pose(0.0, 3.42), pose(5.0, 0.11), pose(0.0, 0.0)];
    let mut drifts = [Drift::<F64x8>::none(); 4];
    let moves = |x: F64x8, z: F64x8| Motion { linear: vec3(x, F64x8::zero(), z), angular: Vec3::zero() };
    let slide = F64x8::constant(0.03);
    drifts[1] = Drift { shift: moves(slide, F64x8::zero()), reference: poses[1].position, travel: slide };
    let mut fall = F64x8::zero();
    for lane in (0..8).filter(|lane| lane % 3 == 0) {
        fall.set(lane, 0.05);
    }
    drifts[2] = Drift { shift: moves(F64x8::zero(), -fall), reference: poses[2].position, travel: fall };
    let mut contacts = Contacts::default();
    for plan in [&plan, &patches] {
        let reach = F64x8::constant(0.005);
        collide(plan, Geoms::new(&poses, &drifts), reach, None, &mut Vec::new(), &mut contacts);
        let ascending = |parts: &[crate::slots::SlotPart]| parts.is_sorted_by_key(|part| part.origin);
        let first = contacts.patches.len();
        let points = contacts.slots.parts.partition_point(|part| (part.slot as usize) < first);
        assert!(ascending(&contacts.slots.parts[..points]) && ascending(&contacts.slots.parts[points..]));
        for lane in 0..8 {
            let of = |pair: usize| {
                (0..contacts.gap.len()).filter(|&slot| contacts.slots.origin(slot, lane) == Some(pair)).count()
            };
            let falls = lane % 3 == 0;
            let corners = if first > 0 { 1 } else { 4 };
            assert_eq!([of(boxes), of(ball)], if falls { [corners, 1] } else { [0, 0] }, "{lane}");
        }
    }
    assert!(!contacts.patches.is_empty());
}

#[test]
fn ellipsoids_that_are_spheres_touch_as_spheres_do() {
    let mut noise = Noise(5);
    for _ in 0..300 {
        let world = [noise.pose(0.1), noise.pose(0.5)];
        let e = |r: f64| ellipsoid(r, r, r);
        for (other, as_sphere, round) in [(e(0.2), sphere(0.2), e(0.3)), (sphere(0.2), sphere(0.2), e(0.3))] {
            let found = touch_within(other, round, world[0], world[1], 0.1);
            let expected = touch_within(as_sphere, sphere(0.3), world[0], world[1], 0.1);
            assert_eq!(found.count(0), expected.count(0));
            if found.count(0) == 1 {
                close(found.gap[0], expected.gap[0], 1e-6);
                assert!((found.normal[0] - expected.normal[0]).norm() < 1e-2);
            }
        }
    }
}

#[test]
fn the_gap_of_round_bodies_is_the_distance_along_their_normal() {
    // Of ellipsoids with half axes D: s(n) = n·d − |D₁ A₁ᵀn| − |D₂ A₂ᵀn|, largest for the true normal.
    let mut noise = Noise(9);
    let (da, db) = (Vector3::new(0.2, 0.3, 0.4), Vector3::new(0.3, 0.1, 0.2));
    let along = |d: &Vector3<f64>, p: &Pose<f64>, n: Vec3<f64>| {
        let m = p.rotation.transpose_mul(n);
        vec3(d.x * m.x, d.y * m.y, d.z * m.z).norm()
    };
    let mut seen = 0;
    for _ in 0..300 {
        let world = [noise.pose(0.1), noise.pose(0.5)];
        let e = |d: Vector3<f64>| Shape::Ellipsoid { radii: d };
        let c = touch_within(e(da), e(db), world[0], world[1], 0.1);
        let s = |n: Vec3<f64>| {
            n.dot(world[1].position - world[0].position) - along(&da, &world[0], n) - along(&db, &world[1], n)
        };
        if c.count(0) == 1 {
            seen += 1;
            let n = c.normal[0];
            close(c.gap[0], s(n), 1e-9);
            for _ in 0..20 {
                let other = n + vec3(noise.next(), noise.next(), noise.next()).scale(0.01);
                assert!(s(other.scale(1.0 / other.norm())) < c.gap[0] + 1e-9);
            }
        }
    }
    assert!(seen > 50);
}

#[test]
fn rounding_to_f32_keeps_the_points_of_bodies_at_rest() {
    let mut noise = Noise(21);
    let resting = [
        (cuboid(0.4, 0.4, 0.4), cuboid(0.2, 0.3, 0.1), 0.5, 4),
        (hull_box(0.4, 0.4, 0.4), hull_box(0.2, 0.3, 0.1), 0.5, 4),
        (Shape::Plane, cuboid(0.2, 0.3, 0.1), 0.1, 4),
        (Shape::Plane, cylinder(0.2, 0.1), 0.1, 4),
    ];
    for (a, b, height, count) in resting {
        let plan = CollidePlan::new(&pair(a.clone(), b.clone()));
        let mut contacts = Contacts::default();
        for _ in 0..200 {
            // A micrometre and a microradian of noise, far from the origin.
            let mut micro = || 1e-6 * noise.next();
            let pose = at([7.1 + micro(), -3.3, height + micro()], [micro(), micro(), 0.7]);
            let world: [Pose<f32>; 2] = [cast(&at([7.1, -3.3, 0.0], [0.0, 0.0, 0.7])), cast(&pose)];
            collide(&plan, Geoms::new(&world, &[Drift::none(); 2]), 0.001, None, &mut Vec::new(), &mut contacts);
            assert_eq!(contacts.count(0), count, "{} {}", a.name(), b.name());
            assert!(contacts.gap.iter().all(|g| g.abs() < 1e-5));
        }
    }
}
