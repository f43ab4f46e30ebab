//! What actuators act on: its length, how fast that changes, and the force on every degree of freedom.
//!
//! Of two sites: the pose of one as the other sees it, along the axes of the other. A force between them acts on one and back on the other, but not on the degrees of
//! freedom that carry both: as in MuJoCo, what turns both turns the axes too, and is no work.

use crate::body_force::add_wrench;
use crate::kinematics::{Kinematics, orientation, quaternion, rotation_vector};
use crate::lane::{Mask, Real};
use crate::model::{Actuator, JointKind, Model, Site, Transmission};
use crate::spatial::{Force, Mat3, Quat, Vec3, vec3};
use crate::tendon;
use nalgebra::Vector3;
use std::f64::consts::TAU;

/// Gear times the length of what an actuator acts on, m or rad, and how fast that changes; 0 of what has none.
#[inline(always)]
pub(crate) fn transmitted<R: Real>(model: &Model, k: &Kinematics<R>, actuator: &Actuator, [q, v]: [&[R]; 2]) -> [R; 2] {
    let gear = R::constant(actuator.gear[0]);
    let [length, rate] = match actuator.transmission {
        Transmission::Joint(joint) => {
            let joint = &model.joints[joint];
            match joint.kind {
                JointKind::Hinge | JointKind::Slide => [q[joint.q_start], v[joint.v_start]],
                JointKind::Ball => {
                    let turned = along(rotation_vector(quaternion(q, joint.q_start)), &actuator.gear[..3]);
                    let v = vec3(v[joint.v_start], v[joint.v_start + 1], v[joint.v_start + 2]);
                    return [turned, along(v, &actuator.gear[..3])];
                }
                JointKind::Free => [R::zero(); 2],
            }
        }
        Transmission::Tendon(tendon) => [tendon::length(model, k, tendon, q), tendon::rate(model, k, tendon, v)],
        Transmission::Site(_) | Transmission::Body(_) => [R::zero(); 2],
        Transmission::SiteFrom { site, reference } => {
            let (site, reference) = (&model.sites[site], &model.sites[reference]);
            let wrench = gear_in(k, reference, &actuator.gear);
            let mut rate = R::zero();
            for (at, other, sign) in [(site, reference, R::one()), (reference, site, -R::one())] {
                let Some((last, force)) = about(model, k, at, wrench) else { continue };
                for &i in &model.dofs[last].ancestors {
                    if !carries(model, i, other) {
                        rate = (sign * k.motion_subspace[i].dot(force)).mul_add(v[i], rate);
                    }
                }
            }
            return [offset(model, k, [site, reference], actuator, q), rate];
        }
    };
    [gear * length, gear * rate]
}

/// How far a length that is an angle is from where it is again the same; none of what is no angle.
pub(crate) fn turn_around(model: &Model, actuator: &Actuator) -> Option<f64> {
    let [x, y, z, a, b, c] = actuator.gear;
    let axis = match actuator.transmission {
        Transmission::Joint(joint) if model.joints[joint].kind == JointKind::Ball => Vector3::new(x, y, z),
        Transmission::SiteFrom { .. } if [x, y, z] == [0.0; 3] => Vector3::new(a, b, c),
        _ => return None,
    };
    Some(TAU * axis.norm()).filter(|around| *around > 0.0)
}

/// The difference of two lengths that are the same again after `around`, of least absolute value.
#[inline(always)]
pub(crate) fn shortest<R: Real>(difference: R, around: f64) -> R {
    let (sin, cos) = (R::constant(TAU / around) * difference).sin_cos();
    R::constant(around / TAU) * sin.atan2(cos)
}

/// Adds the force of actuator `u`, before its gear, to τ.
#[inline(always)]
pub(crate) fn add_actuator_force<R: Real>(model: &Model, k: &Kinematics<R>, u: usize, force: R, tau: &mut [R]) {
    let actuator = &model.actuators[u];
    match actuator.transmission {
        Transmission::Joint(joint) => {
            let joint = &model.joints[joint];
            for i in 0..joint.kind.nv() {
                let tau = &mut tau[joint.v_start + i];
                *tau = R::constant(actuator.gear[i]).mul_add(force, *tau);
            }
        }
        Transmission::Tendon(tendon) => {
            tendon::add_along(model, k, tendon, R::constant(actuator.gear[0]) * force, tau);
        }
        Transmission::Site(site) => {
            let site = &model.sites[site];
            let [along, about] = gear_in(k, site, &actuator.gear);
            let wrench = [along.scale(force), about.scale(force)];
            add_wrench(model, k, site.body, origin(k, site), wrench, R::Mask::splat(true), tau);
        }
        Transmission::Body(_) => {
            let moment = &k.adhesion_moment[u * model.nv()..(u + 1) * model.nv()];
            for (moment, tau) in moment.iter().zip(tau) {
                *tau = moment.mul_add(force, *tau);
            }
        }
        Transmission::SiteFrom { site, reference } => {
            let (site, reference) = (&model.sites[site], &model.sites[reference]);
            let wrench = gear_in(k, reference, &actuator.gear);
            for (at, other, sign) in [(site, reference, force), (reference, site, -force)] {
                let Some((last, force)) = about(model, k, at, wrench) else { continue };
                for &i in &model.dofs[last].ancestors {
                    if !carries(model, i, other) {
                        tau[i] = sign.mul_add(k.motion_subspace[i].dot(force), tau[i]);
                    }
                }
            }
        }
    }
}

/// The gear of an actuator, force and moment in the axes of a site, in those of the world.
#[inline(always)]
fn gear_in<R: Real>(k: &Kinematics<R>, site: &Site, gear: &[f64; 6]) -> [Vec3<R>; 2] {
    let (rotation, turn) = (&k.body_pose[site.body].rotation, site.orientation.to_rotation_matrix());
    let [x, y, z, a, b, c] = *gear;
    [rotation.mul_constant(&(turn * Vector3::new(x, y, z))), rotation.mul_constant(&(turn * Vector3::new(a, b, c)))]
}

/// The last degree of freedom that moves a site, and a force and a moment there about O of its tree; none if nothing moves it.
#[inline(always)]
fn about<R: Real>(
    model: &Model,
    k: &Kinematics<R>,
    site: &Site,
    [force, moment]: [Vec3<R>; 2],
) -> Option<(usize, Force<R>)> {
    let (tree, last) = (model.bodies[site.body].tree?, model.last_dof(site.body)?);
    let arm = origin(k, site) - k.reference[tree];
    Some((last, Force { moment: moment + arm.cross(force), force }))
}

#[inline(always)]
fn origin<R: Real>(k: &Kinematics<R>, site: &Site) -> Vec3<R> {
    k.body_pose[site.body].constant_point(&site.position)
}

/// Whether a degree of freedom moves a site.
fn carries(model: &Model, dof: usize, site: &Site) -> bool {
    model.last_dof(site.body).is_some_and(|last| model.dofs[last].ancestors.contains(&dof))
}

/// Gear times the pose of a site as another sees it: way and rotation vector.
#[inline(always)]
fn offset<R: Real>(model: &Model, k: &Kinematics<R>, [site, reference]: [&Site; 2], actuator: &Actuator, q: &[R]) -> R {
    let (way_gear, turn_gear) = actuator.gear.split_at(3);
    let mut length = R::zero();
    if way_gear.iter().any(|x| *x != 0.0) {
        let turn = reference.orientation.to_rotation_matrix();
        let axes = k.body_pose[reference.body].rotation * Mat3::constant(turn.matrix());
        // Rᵀ (p − p_r)
        length = along(axes.transpose_mul(origin(k, site) - origin(k, reference)), way_gear);
    }
    if turn_gear.iter().any(|x| *x != 0.0) {
        let turned = orientation(model, q, k, site.body) * Quat::constant(&site.orientation);
        let Quat { w, v } = orientation(model, q, k, reference.body) * Quat::constant(&reference.orientation);
        // log(q_r⁻¹ q)
        let inverse: Quat<R> = Quat { w, v: -v };
        length += along(rotation_vector(inverse * turned), turn_gear);
    }
    length
}

#[inline(always)]
fn along<R: Real>(v: Vec3<R>, gear: &[f64]) -> R {
    let sum = R::constant(gear[1]).mul_add(v.y, R::constant(gear[0]) * v.x);
    R::constant(gear[2]).mul_add(v.z, sum)
}
