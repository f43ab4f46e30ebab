//! Contacts that rest, found from the geoms.

use super::rows::State;
use super::{ContactKind, RestingContact};
use crate::contact::{CollidePlan, Contacts, Drift, Geoms, collide};
use crate::error::{Error, Result};
use crate::kinematics::{Kinematics, kinematics};
use crate::model::{Model, Shape};
use crate::spatial::Vec3;
use nalgebra::Vector3;

/// The contacts of a state whose gap (beyond the margins of the geoms) is at most `distance` (m) and whose normal velocity is at most `speed` (m/s) either way; those that part
/// faster are left out.
///
/// Known are planes against spheres, capsules, boxes and meshes, spheres against spheres, and spheres on the faces of boxes.
///
/// # Errors
/// [`Error::Argument`] for a state of the wrong shape, or bodies that meet faster than `speed`: an impact, which no finite force resolves.
/// [`Error::Unsupported`] for other pairs of shapes that touch; describe those contacts by hand.
pub fn resting_contacts(model: &Model, q: &[f64], v: &[f64], distance: f64, speed: f64) -> Result<Vec<RestingContact>> {
    let state = State::new(model, q, v, &vec![0.0; model.nv()])?;
    let mut k = Kinematics::<f64>::new(model);
    kinematics(model, q, &mut k);
    let mut found = Contacts::default();
    // An overlap elsewhere may find more.
    let at_rest = vec![Drift::none(); model.geoms.len()];
    collide(
        &CollidePlan::new(model),
        Geoms::new(&k.geom_pose, &at_rest),
        distance.abs(),
        None,
        &mut Vec::new(),
        &mut found,
    );
    let mut resting = Vec::new();
    for slot in 0..found.gap.len() {
        if found.gap[slot] > distance {
            continue;
        }
        let contact = describe(model, &k, &found, slot)?;
        let row = state.row(&contact).map_err(|message| Error::argument("q", message))?;
        let velocity: f64 = row.jacobian.iter().zip(v).map(|(j, v)| j * v).sum();
        if velocity < -speed {
            let message = format!(
                "bodies {} and {} meet at {} m/s; resolve the impact first",
                contact.body_a, contact.body_b, -velocity
            );
            return Err(Error::argument("v", message));
        }
        if velocity <= speed {
            resting.push(contact);
        }
    }
    Ok(resting)
}

fn vector(v: Vec3<f64>) -> Vector3<f64> {
    Vector3::new(v.x, v.y, v.z)
}

/// What touches what in `slot`.
fn describe(model: &Model, k: &Kinematics<f64>, found: &Contacts<f64>, slot: usize) -> Result<RestingContact> {
    let pair = &model.pairs[found.slots.parts[slot].origin as usize];
    let (a, b) = (&model.geoms[pair.geom_a], &model.geoms[pair.geom_b]);
    let normal = found.normal[slot];
    let (centre_a, centre_b) = (k.geom_pose[pair.geom_a].position, k.geom_pose[pair.geom_b].position);
    // The surface of b lies half the distance beyond the point.
    let beyond = |more: f64| normal.mul_add(0.5 * (found.gap[slot] + pair.margin) + more, found.position[slot]);
    let (point, kind) = match (&a.shape, &b.shape) {
        (Shape::Plane, Shape::Box { .. } | Shape::Hull(_)) => (beyond(0.0), ContactKind::FaceOfA),
        (Shape::Plane, Shape::Sphere { .. }) => (centre_b, ContactKind::FaceOfA),
        (Shape::Plane, Shape::Capsule { radius, .. }) => (beyond(*radius), ContactKind::FaceOfA),
        (Shape::Sphere { .. }, Shape::Sphere { .. }) => {
            let (centre_a, centre_b) = (vector(centre_a), vector(centre_b));
            (found.position[slot], ContactKind::Centres { centre_a, centre_b })
        }
        (Shape::Sphere { .. }, Shape::Box { .. })
            if is_axis(k.geom_pose[pair.geom_b].rotation.transpose_mul(normal)) =>
        {
            (centre_a, ContactKind::FaceOfB)
        }
        (a, b) => {
            let message = format!("finding how a {} rests on a {}; describe the contact by hand", b.name(), a.name());
            return Err(Error::Unsupported(message));
        }
    };
    Ok(RestingContact { body_a: a.body, body_b: b.body, point: vector(point), normal: vector(normal), kind })
}

/// Whether a unit vector is along an axis, to rounding.
fn is_axis(n: Vec3<f64>) -> bool {
    n.x.abs().max(n.y.abs()).max(n.z.abs()) > 1.0 - 1e-12
}
