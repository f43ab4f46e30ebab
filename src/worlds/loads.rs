//! What the last substep did to every body, in lanes: its acceleration, and the force between it and its parent.
//!
//! The acceleration of a step is its change of velocity: v̇ = (v⁺ − v⁻)/Δt, and the force of an impulse is λ/Δt; both at the state q⁻, v⁻ at which the substep
//! began, as MuJoCo's sensors read it after a step. Whatever the step did is in it: damping that is implicit, limits, and impacts, whose share
//! grows as Δt shrinks. With semi-implicit Euler the forces balance exactly: M v̇ + c = τ + Jᵀ λ/Δt is the equation of the step.

use super::past::{PastSeen, Whose};
use super::seen::{Seen, felt};
use super::volume::meets;
use crate::dynamics::body_accelerations;
use crate::equality::EqualityRow;
use crate::inertia::{Moments, inertias};
use crate::kinematics::{Kinematics, body_poses, mocap_poses, triple};
use crate::lane::{Pack, Scalar, copies};
use crate::model::{Frame, Model};
use crate::quantity::pose_in;
use crate::spatial::{Force, Inertia, Motion, Pose, Vec3};
use crate::step::ContactRecord;
use nalgebra::{Matrix3, Vector3};

/// What a thread needs for it.
#[derive(Debug)]
pub(super) struct Loads<R: Pack> {
    /// Poses at q⁻.
    k: Kinematics<R>,
    /// v̇, shape \[nv\].
    v_dot: Vec<R>,
    /// Spatial velocity and acceleration of every body about its point of reference, shape \[body\]; gravity as an acceleration −g of the world.
    velocity: Vec<Motion<R>>,
    acceleration: Vec<Motion<R>>,
    inertia: Vec<Inertia<R>>,
    /// Of every body, shape \[body\].
    moments: Vec<Moments>,
    /// Force on every body from its parent about its point of reference, shape \[body\].
    force: Vec<Force<R>>,
    /// The worlds that have made a step since their state was given.
    stepped: R::Mask,
}

impl<R: Pack> Loads<R> {
    pub fn new(model: &Model) -> Self {
        let nb = model.bodies.len();
        Self {
            k: Kinematics::new(model),
            v_dot: copies(R::zero(), model.nv()),
            velocity: copies(Motion::zero(), nb),
            acceleration: copies(Motion::zero(), nb),
            inertia: copies(Inertia::zero(), nb),
            moments: Moments::of_bodies(model),
            force: copies(Force::default(), nb),
            stepped: R::zero().lt(R::zero()),
        }
    }

    /// Finds all of it for the worlds of a tile.
    #[inline(always)]
    pub fn find(&mut self, seen: &Seen<'_, R>, past: &PastSeen<'_, R>) {
        let (model, p) = (seen.now.model, &seen.now.parameters);
        let (q, v, stepped) = past.before(model);
        self.stepped = stepped;
        mocap_poses(p.mocap_pose, &mut self.k);
        body_poses(model, q, &mut self.k);
        let rate = R::constant(1.0 / seen.now.dt);
        for i in 0..model.nv() {
            // v̇ = (v⁺ − v⁻)/Δt
            self.v_dot[i] = (seen.now.v[i] - v[i]) * rate;
        }
        let (velocity, acceleration) = (&mut self.velocity, &mut self.acceleration);
        body_accelerations(model, p.gravity, v, &self.v_dot, &self.k, velocity, acceleration);
        inertias(model, &self.moments, p, &self.k, &mut self.inertia);
        self.outer_forces(seen, rate);
        for b in (1..model.bodies.len()).rev() {
            let (body, velocity, acceleration) = (&model.bodies[b], self.velocity[b], self.acceleration[b]);
            let needed = if body.tree.is_some() {
                self.inertia[b].inverse_dynamics(velocity, acceleration)
            } else {
                // what does not move is carried: m (−g)
                let arm = self.k.body_pose[b].point(triple(p.com, 3 * b)) - self.reference(model, b);
                let weight = acceleration.linear.scale(R::constant(body.mass) * p.mass_scale[b]);
                Force { moment: arm.cross(weight), force: weight }
            };
            // F = I A + V ×* I V − (forces from outside) + Σ F of the children
            self.force[b] = self.force[b] + needed;
            if body.parent != 0 {
                let arm = self.reference(model, b) - self.reference(model, body.parent);
                let Force { moment, force } = self.force[b];
                let own = &mut self.force[body.parent];
                *own = *own + Force { moment: moment + arm.cross(force), force };
            }
        }
    }

    /// The point of reference of a body: that of its tree; of a body that does not move its origin.
    #[inline(always)]
    fn reference(&self, model: &Model, b: usize) -> Vec3<R> {
        match model.bodies[b].tree {
            Some(tree) => self.k.reference[tree],
            None => self.k.body_pose[b].position,
        }
    }

    /// Takes what contacts, pushes and equalities do to every body off the force that its parent has to bring up. `rate`: 1/Δt.
    #[inline(always)]
    fn outer_forces(&mut self, seen: &Seen<'_, R>, rate: R) {
        let model = seen.now.model;
        for b in 1..model.bodies.len() {
            let (moment, force) = felt(seen, Whose::LastOf(Frame::Body(b)), self.reference(model, b));
            self.force[b] = Force { moment: -moment, force: -force };
        }
        for (b, push) in seen.now.parameters.push.chunks_exact(6).enumerate() {
            let arm = self.k.body_pose[b].point(triple(seen.now.parameters.com, 3 * b)) - self.reference(model, b);
            let (force, all) = (triple(push, 0), &mut self.force[b]);
            let moment = triple(push, 3) + arm.cross(force);
            *all = Force { moment: all.moment - moment, force: all.force - force };
        }
        for (i, row) in seen.equalities.rows.iter().enumerate() {
            let impulse = seen.memory.equality(i) * rate;
            let (bodies, points, axis) = match row {
                // a force of joints, which their bodies exert on each other
                EqualityRow::Length { .. } => continue,
                EqualityRow::Point { bodies, points, axis } => (bodies, Some(points), *axis),
                EqualityRow::Rotation { bodies, axis, .. } => (bodies, None, *axis),
            };
            // the velocity of the row is that of body b less that of body a
            for (side, sign) in [(0, -R::one()), (1, R::one())] {
                let (b, along) = (bodies[side], axis.direction(&self.k).scale(sign * impulse));
                let own = match points {
                    Some(points) => {
                        let at = self.k.body_pose[b].point(Vec3::constant(&points[side]));
                        Force { moment: (at - self.reference(model, b)).cross(along), force: along }
                    }
                    None => Force { moment: along, force: Vec3::zero() },
                };
                let all = &mut self.force[b];
                *all = Force { moment: all.moment - own.moment, force: all.force - own.force };
            }
        }
    }

    /// Acceleration of the origin of a frame against free fall, m/s², in world axes, or in its own.
    #[inline(always)]
    pub fn acceleration(&self, seen: &Seen<'_, R>, frame: Frame, local: bool) -> Vec3<R> {
        let (model, b) = (seen.now.model, frame.body(seen.now.model));
        let pose = pose_in(&seen.now, &self.k, frame);
        let arm = pose.position - self.reference(model, b);
        let velocity = self.velocity[b];
        // a + α × r + ω × (v + ω × r)
        let a = self.acceleration[b].at(arm) + velocity.angular.cross(velocity.at(arm));
        Vec3::select(self.stepped, if local { pose.rotation.transpose_mul(a) } else { a }, Vec3::zero())
    }

    /// Angular acceleration of a frame, rad/s², world axes.
    #[inline(always)]
    pub fn angular_acceleration(&self, seen: &Seen<'_, R>, frame: Frame) -> Vec3<R> {
        Vec3::select(self.stepped, self.acceleration[frame.body(seen.now.model)].angular, Vec3::zero())
    }

    /// Force on the body of a site from its parent, N, and its moment about the origin of the site, N·m, in the axes of the site.
    #[inline(always)]
    pub fn force(&self, seen: &Seen<'_, R>, site: usize) -> (Vec3<R>, Vec3<R>) {
        let (model, b) = (seen.now.model, seen.now.model.sites[site].body);
        let pose = pose_in(&seen.now, &self.k, Frame::Site(site));
        let Force { moment, force } = self.force[b];
        // τ_p = τ_O − (p − O) × f
        let moment = moment - (pose.position - self.reference(model, b)).cross(force);
        let local = |v: Vec3<R>| Vec3::select(self.stepped, pose.rotation.transpose_mul(v), Vec3::zero());
        (local(force), local(moment))
    }

    /// Sum of the normal forces of the contacts that a site feels, N.
    #[inline(always)]
    pub fn touch(&self, seen: &Seen<'_, R>, site: usize) -> R {
        let mut sum = R::zero();
        let Some(past) = &seen.past else { return sum };
        let pose = pose_in(&seen.now, &self.k, Frame::Site(site));
        for (world, contacts) in past.contacts.iter().enumerate() {
            let vector = |v: Vec3<R::Scalar>| Vector3::new(v.x.to_f64(), v.y.to_f64(), v.z.to_f64());
            let Pose { position, rotation } = pose.get(world);
            let pose = (vector(position), Matrix3::from_columns(&rotation.columns.map(vector)));
            let felt = contacts.iter().flatten().map(|c| touched(seen.now.model, site, &pose, c)).sum::<f64>();
            sum.set(world, R::Scalar::from_f64(felt / seen.now.dt));
        }
        R::select(self.stepped, sum, R::zero())
    }
}

/// Normal impulse of a contact as far as a site at `pose` feels it, N·s.
fn touched(model: &Model, site: usize, (position, axes): &(Vector3<f64>, Matrix3<f64>), c: &ContactRecord) -> f64 {
    let site = &model.sites[site];
    // straight out of the body
    let out = match [c.geom_a, c.geom_b].map(|geom| model.geoms[geom].body == site.body) {
        [true, false] => c.frame[0],
        [_, true] => -c.frame[0],
        [false, false] => return 0.0,
    };
    let along = axes.tr_mul(&out);
    let is_felt = |p: &Vector3<f64>| meets(&site.shape, &axes.tr_mul(&(p - position)), &along);
    match &c.patch {
        // every vertex by itself
        Some(patch) if patch.disc.is_none() => {
            let each = patch.vertices.iter().zip(&patch.pressure);
            each.filter(|(p, _)| is_felt(p)).map(|(_, impulse)| impulse).sum()
        }
        _ if is_felt(&c.position) => c.impulse[0],
        _ => 0.0,
    }
}
