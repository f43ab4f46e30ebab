//! The mass matrix of a tree in its rest pose, where a reader or a check asks for it.

use super::path::{Stretch, Waypoint, stretches};
use super::{Actuator, Joint, JointKind, Model, Site, Transmission};
use crate::spatial::{Mat3, Pose, Vec3};
use nalgebra::{DMatrix, DVector, Matrix3, Matrix3xX, UnitQuaternion, Vector3};

/// Whether a body only slides, along its own axes, by itself: it hangs from what cannot move, nothing hangs from it, and the axes of its inertia are its own. MuJoCo counts it as free then, and its mass as what each
/// slide moves.
pub(crate) fn only_slides(model: &Model, b: usize) -> bool {
    let body = &model.bodies[b];
    let along = |joint: &Joint| joint.kind == JointKind::Slide && joint.axis.amax() > 1.0 - 1e-9;
    let slides = !body.joints.is_empty() && model.joints[body.joints.clone()].iter().all(along);
    let carried = model.bodies[body.parent].tree.is_none();
    let mut geoms = model.geoms.iter().filter(|geom| geom.body == b);
    // the inertia of one geom has its axes, whatever its moments are
    let turned = match (geoms.next(), geoms.next()) {
        (Some(only), None) => only.orientation.angle() > 1e-9,
        _ => false,
    };
    let diagonal =
        (body.inertia - Matrix3::from_diagonal(&body.inertia.diagonal())).amax() <= 1e-9 * body.inertia.amax();
    let centred = body.com.amax() < 1e-9;
    body.mass > 0.0
        && slides
        && carried
        && centred
        && diagonal
        && !turned
        && model.bodies.iter().all(|child| child.parent != b)
}

/// Inertia that a force along `along` feels at rest while everything else of its trees gives way, 1/(a M⁻¹ aᵀ), kg·m² or kg; 0 where nothing has mass. `along`: how much the velocity of every degree of freedom counts, shape
/// \[nv\].
pub(super) fn rest_inertia(model: &Model, along: &DVector<f64>) -> f64 {
    let mobility = along.dot(&rest_acceleration(model, along));
    if mobility > 0.0 { 1.0 / mobility } else { 0.0 }
}

/// M⁻¹ aᵀ at rest, shape \[nv\]; 0 where nothing has mass.
pub(super) fn rest_acceleration(model: &Model, along: &DVector<f64>) -> DVector<f64> {
    let mut acceleration = DVector::zeros(along.len());
    let mut next = 0;
    for (dof, of) in model.dofs.iter().enumerate() {
        if along[dof] == 0.0 || dof < next {
            continue;
        }
        let (first, mass) = rest_mass(model, root(model, of.body));
        let count = mass.nrows();
        next = first + count;
        let Some(factor) = mass.cholesky() else { return DVector::zeros(along.len()) };
        acceleration.rows_mut(first, count).copy_from(&factor.solve(&along.rows(first, count)));
    }
    acceleration
}

/// What counts along what an actuator acts on, with its gear, shape \[nv\]; none of what has no length.
pub(super) fn along(model: &Model, actuator: &Actuator) -> Option<DVector<f64>> {
    let gear = &actuator.gear;
    match actuator.transmission {
        Transmission::Joint(joint) => match model.joints[joint].kind {
            JointKind::Hinge | JointKind::Slide => Some(along_joint(model, joint) * gear[0]),
            JointKind::Ball => {
                let mut along = DVector::zeros(model.nv());
                along.as_mut_slice()[model.joints[joint].v_start..][..3].copy_from_slice(&gear[..3]);
                Some(along)
            }
            JointKind::Free => None,
        },
        Transmission::Tendon(tendon) => Some(along_tendon(model, tendon) * gear[0]),
        Transmission::Site(_) | Transmission::Body(_) => None,
        Transmission::SiteFrom { site, reference } => {
            Some(along_site(model, [&model.sites[site], &model.sites[reference]], gear))
        }
    }
}

/// What counts along a site as seen from another, but what carries both, shape \[nv\].
fn along_site(model: &Model, [site, reference]: [&Site; 2], gear: &[f64; 6]) -> DVector<f64> {
    let (poses, joints) = (poses(model, |_| 0.0), model.joints.iter().collect::<Vec<_>>());
    let axes = poses[reference.body].1 * reference.orientation;
    let [x, y, z, a, b, c] = *gear;
    let (force, moment) = (axes * Vector3::new(x, y, z), axes * Vector3::new(a, b, c));
    let mut along = DVector::zeros(model.nv());
    for (sign, site) in [(1.0, site), (-1.0, reference)] {
        let (origin, turn) = poses[site.body];
        let (linear, angular) = motions(model, &poses, &joints, site.body, origin + turn * site.position);
        along += (linear.tr_mul(&force) + angular.tr_mul(&moment)) * sign;
    }
    let carries = |j: &&Joint| moves(model, j.body, site.body) && moves(model, j.body, reference.body);
    for joint in model.joints.iter().filter(carries) {
        along.rows_mut(joint.v_start, joint.kind.nv()).fill(0.0);
    }
    along
}

/// What counts along a hinge or a slide, shape \[nv\].
pub(super) fn along_joint(model: &Model, joint: usize) -> DVector<f64> {
    let mut along = DVector::zeros(model.nv());
    along[model.joints[joint].v_start] = 1.0;
    along
}

/// How the length of a tendon changes with v at rest, shape \[nv\].
fn along_tendon(model: &Model, tendon: usize) -> DVector<f64> {
    let (tendon, mut along) = (&model.tendons[tendon], DVector::zeros(model.nv()));
    for &(joint, c) in &tendon.joints {
        along[model.joints[joint].v_start] = c;
    }
    let (poses, joints) = (poses(model, |_| 0.0), model.joints.iter().collect::<Vec<_>>());
    for part in straight(model, &tendon.path, &poses).1 {
        let [a, b] = part.ends.map(|p| Vector3::new(p.x, p.y, p.z));
        let way = (b - a).try_normalize(1e-15).unwrap_or_default() * part.share;
        for (sign, body, end) in [(-1.0, part.bodies[0], a), (1.0, part.bodies[1], b)] {
            along += motions(model, &poses, &joints, body, end).0.tr_mul(&way) * sign;
        }
    }
    along
}

/// Whether every motion of the tree of a body with a joint has inertia, at rest: M has an inverse.
pub(super) fn is_massive(model: &Model, body: usize) -> bool {
    let (_, mass) = rest_mass(model, root(model, body));
    let scale = mass.diagonal().map(|m| 1.0 / m.sqrt());
    let scaled = DMatrix::from_fn(mass.nrows(), mass.nrows(), |i, j| scale[i] * mass[(i, j)] * scale[j]);
    // the diagonal is 1: what rounding alone leaves of a pivot is some 1e-16
    scaled.cholesky().is_some_and(|factor| factor.l_dirty().diagonal().iter().all(|pivot| pivot * pivot > 1e-12))
}

/// The body of a tree that hangs from the world.
fn root(model: &Model, mut body: usize) -> usize {
    while model.bodies[body].parent != 0 {
        body = model.bodies[body].parent;
    }
    body
}

/// The first degree of freedom of the tree that hangs from the world by the body `tree`, and its mass matrix M, kg, kg·m or kg·m², shape \[nv of the tree\]\[nv of the tree\].
fn rest_mass(model: &Model, tree: usize) -> (usize, DMatrix<f64>) {
    let members: Vec<usize> = (1..model.bodies.len()).filter(|&body| root(model, body) == tree).collect();
    let joints: Vec<&Joint> = model.joints.iter().filter(|j| root(model, j.body) == tree).collect();
    let poses = poses(model, |_| 0.0);
    // M = Σ J_vᵀ m J_v + J_wᵀ I J_w
    let (first, nv) = (joints[0].v_start, joints.iter().map(|j| j.kind.nv()).sum());
    let mut mass = DMatrix::zeros(nv, nv);
    for &b in &members {
        let (body, (position, orientation)) = (&model.bodies[b], poses[b]);
        let (linear, angular) = motions(model, &poses, &joints, b, position + orientation * body.com);
        let turned = orientation.to_rotation_matrix();
        let inertia = turned * body.inertia * turned.transpose();
        mass += linear.tr_mul(&linear) * body.mass + angular.tr_mul(&(inertia * &angular));
    }
    for j in &joints {
        for k in j.v_start - first..j.v_start - first + j.kind.nv() {
            mass[(k, k)] += j.armature;
        }
    }
    (first, mass)
}

/// Velocity of a point of body `b`, m, and of its rotation, by degree of freedom of `joints`, which stand next to each other, shape \[3\]\[their nv\].
fn motions(
    model: &Model,
    poses: &[(Vector3<f64>, UnitQuaternion<f64>)],
    joints: &[&Joint],
    b: usize,
    point: Vector3<f64>,
) -> (Matrix3xX<f64>, Matrix3xX<f64>) {
    let (first, nv) = (joints.first().map_or(0, |j| j.v_start), joints.iter().map(|j| j.kind.nv()).sum());
    let (mut linear, mut angular) = (Matrix3xX::zeros(nv), Matrix3xX::zeros(nv));
    for j in joints.iter().filter(|j| moves(model, j.body, b)) {
        let column = j.v_start - first;
        let (origin, axes) = poses[j.body];
        let arm = point - (origin + axes * j.anchor);
        let (mut slides, mut turns): (Vec<Vector3<f64>>, Vec<Vector3<f64>>) = (Vec::new(), Vec::new());
        let own = || (0..3).map(|k| axes * Vector3::ith(k, 1.0));
        match j.kind {
            JointKind::Free => {
                slides.extend((0..3).map(|k| Vector3::ith(k, 1.0)));
                turns.extend(own());
            }
            JointKind::Ball => turns.extend(own()),
            JointKind::Hinge => turns.push(axes * j.axis),
            JointKind::Slide => slides.push(axes * j.axis),
        }
        for (k, axis) in slides.iter().enumerate() {
            linear.set_column(column + k, axis);
        }
        for (k, axis) in turns.iter().enumerate() {
            linear.set_column(column + slides.len() + k, &axis.cross(&arm));
            angular.set_column(column + slides.len() + k, axis);
        }
    }
    (linear, angular)
}

/// World poses of bodies, shape \[body\], with every hinge and slide as far from its reference as `displaced` says.
pub(super) fn poses(model: &Model, displaced: impl Fn(&Joint) -> f64) -> Vec<(Vector3<f64>, UnitQuaternion<f64>)> {
    let mut poses = vec![(Vector3::zeros(), UnitQuaternion::identity()); model.bodies.len()];
    for (b, body) in model.bodies.iter().enumerate().skip(1) {
        let (p, q) = poses[body.parent];
        let (mut position, mut orientation) = (p + q * body.position, q * body.orientation);
        for joint in model.joints.iter().filter(|joint| joint.body == b) {
            let (axis, way) = (orientation * joint.axis, displaced(joint));
            match joint.kind {
                JointKind::Slide => position += axis * way,
                JointKind::Hinge => {
                    let anchor = position + orientation * joint.anchor;
                    orientation = UnitQuaternion::from_scaled_axis(axis * way) * orientation;
                    position = anchor - orientation * joint.anchor;
                }
                JointKind::Ball | JointKind::Free => {}
            }
        }
        poses[b] = (position, orientation);
    }
    poses
}

/// Length of a spatial tendon where the springs of hinges and slides are at rest, and all other joints, m.
pub(super) fn spring_length(model: &Model, tendon: usize) -> f64 {
    path_length(model, &model.tendons[tendon].path, &poses(model, |joint| joint.spring_reference - joint.reference))
}

/// Length of a path, m. `poses`: of bodies, shape \[body\].
pub(super) fn path_length(model: &Model, path: &[Waypoint], poses: &[(Vector3<f64>, UnitQuaternion<f64>)]) -> f64 {
    let (arcs, parts) = straight(model, path, poses);
    arcs + parts.iter().map(|part| part.share * (part.ends[1] - part.ends[0]).norm()).sum::<f64>()
}

/// The arcs, m, and the straight parts of a path.
fn straight(
    model: &Model,
    path: &[Waypoint],
    poses: &[(Vector3<f64>, UnitQuaternion<f64>)],
) -> (f64, Vec<Stretch<f64>>) {
    let pose = |(p, q): &(Vector3<f64>, UnitQuaternion<f64>)| Pose {
        position: Vec3::constant(p),
        rotation: Mat3::constant(q.to_rotation_matrix().matrix()),
    };
    let (poses, mut parts) = (poses.iter().map(pose).collect::<Vec<Pose<f64>>>(), Vec::new());
    (stretches(model, path, &poses, &mut parts), parts)
}

/// Whether `body` is `mover`, or hangs from it.
pub(super) fn moves(model: &Model, mover: usize, mut body: usize) -> bool {
    while body > mover {
        body = model.bodies[body].parent;
    }
    body == mover
}
