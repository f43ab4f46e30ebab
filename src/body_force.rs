//! Forces on bodies that no joint brings up: pushes from outside, thrust at sites, and what holds a body up against gravity.

use crate::kinematics::{Kinematics, triple};
use crate::lane::{Mask, Real};
use crate::model::Model;
use crate::parameters::TileParameters;
use crate::spatial::{Force, Vec3};

/// Adds to τ what pushes do to the bodies of worlds that are pushed.
#[inline(always)]
pub fn push_force<R: Real>(model: &Model, p: &TileParameters<'_, R>, k: &Kinematics<R>, applied_force: &mut [R]) {
    for (b, push) in p.push.chunks_exact(6).enumerate() {
        // worlds that are not pushed keep every bit, a zero's sign too
        let mut pushed = R::zero();
        for x in push {
            pushed = pushed.max(x.abs());
        }
        let pushed = R::zero().lt(pushed);
        let com = k.body_pose[b].point(triple(p.com, 3 * b));
        add_wrench(model, k, b, com, [triple(push, 0), triple(push, 3)], pushed, applied_force);
    }
}

/// Adds to τ the force −c m g at the centres of mass of the bodies that have a share c of their weight taken off them ([`crate::model::Body::gravity_compensation`]).
#[inline(always)]
pub fn gravity_compensation<R: Real>(
    model: &Model,
    p: &TileParameters<'_, R>,
    k: &Kinematics<R>,
    applied_force: &mut [R],
) {
    for (b, body) in model.bodies.iter().enumerate().filter(|(_, body)| body.gravity_compensation != 0.0) {
        let share = R::constant(-body.gravity_compensation * body.mass) * p.mass_scale[b];
        let force = triple(p.gravity, 0).scale(share);
        let com = k.body_pose[b].point(triple(p.com, 3 * b));
        add_wrench(model, k, b, com, [force, Vec3::zero()], R::Mask::splat(true), applied_force);
    }
}

/// τ += Sᵀ F of a force at a point of a body, N, and a moment, N·m, in the worlds of `which`.
#[inline(always)]
pub(crate) fn add_wrench<R: Real>(
    model: &Model,
    k: &Kinematics<R>,
    b: usize,
    point: Vec3<R>,
    [force, moment]: [Vec3<R>; 2],
    which: R::Mask,
    applied_force: &mut [R],
) {
    let (Some(tree), Some(last)) = (model.bodies[b].tree, model.last_dof(b)) else { return };
    // from O to the point
    let arm = point - k.reference[tree];
    let wrench = Force { moment: moment + arm.cross(force), force };
    for &i in &model.dofs[last].ancestors {
        let tau = applied_force[i];
        applied_force[i] = R::select(which, tau + k.motion_subspace[i].dot(wrench), tau);
    }
}
