//! Inertia of bodies about O of their tree, in world axes: what stages 2 and 3 begin with.

use crate::kinematics::{Kinematics, triple};
use crate::lane::Real;
use crate::model::Model;
use crate::parameters::TileParameters;
use crate::spatial::{Inertia, vec3};
use nalgebra::{Matrix3, Vector3};

/// Rotational inertia of a body about its centre of mass, in body axes: I_c = d 1 + Σ e a aᵀ over at most two principal axes a, one where the body is as a capsule or a cylinder.
#[derive(Debug, Clone, Copy)]
pub struct Moments {
    /// d, kg·m².
    all: f64,
    /// e, kg·m²; 0: none.
    more: [f64; 2],
    /// a, unit vectors.
    axes: [Vector3<f64>; 2],
}

impl Moments {
    /// Of every body, shape \[body\].
    pub fn of_bodies(model: &Model) -> Vec<Self> {
        model.bodies.iter().map(|body| Self::new(&body.inertia)).collect()
    }

    fn new(inertia: &Matrix3<f64>) -> Self {
        const SAME: f64 = 1e-15;
        let diagonal = inertia.diagonal();
        let (mut moments, mut axes) = (diagonal, Matrix3::identity());
        if (inertia - Matrix3::from_diagonal(&diagonal)).norm() > SAME * diagonal.norm() {
            let eigen = inertia.symmetric_eigen();
            (moments, axes) = (eigen.eigenvalues, eigen.eigenvectors);
        }
        let mut order = [0, 1, 2];
        order.sort_by(|&i, &j| moments[i].total_cmp(&moments[j]));
        // the middle one is d, so that no sum is one of large numbers that cancel
        let [low, middle, high] = order;
        let all = moments[middle];
        let more =
            [low, high].map(|i| if (moments[i] - all).abs() > 8.0 * SAME * all { moments[i] - all } else { 0.0 });
        Self { all, more, axes: [low, high].map(|i| axes.column(i).into_owned()) }
    }
}

/// Inertia of every moving body about O of its tree: I = R I_c Rᵀ + m (r·r 1 − r rᵀ), r from O to the centre of mass.
#[inline(always)]
pub fn inertias<R: Real>(
    model: &Model,
    moments: &[Moments],
    p: &TileParameters<'_, R>,
    k: &Kinematics<R>,
    inertia: &mut [Inertia<R>],
) {
    for (b, body) in model.bodies.iter().enumerate() {
        let Some(tree) = body.tree else { continue };
        let (scale, moments) = (p.mass_scale[b], &moments[b]);
        let pose = &k.body_pose[b];
        let r = pose.point(triple(p.com, 3 * b)) - k.reference[tree];
        let m = R::constant(body.mass) * scale;
        let mr = r.scale(m);
        let all = R::constant(moments.all) * scale;
        let mut diagonal = vec3(
            mr.y.mul_add(r.y, mr.z.mul_add(r.z, all)),
            mr.x.mul_add(r.x, mr.z.mul_add(r.z, all)),
            mr.x.mul_add(r.x, mr.y.mul_add(r.y, all)),
        );
        let mut off_diagonal = vec3(-(mr.y * r.z), -(mr.x * r.z), -(mr.x * r.y));
        for i in 0..2 {
            if moments.more[i] != 0.0 {
                let a = pose.rotation.mul_constant(&moments.axes[i]);
                let e = a.scale(R::constant(moments.more[i]) * scale);
                diagonal =
                    vec3(e.x.mul_add(a.x, diagonal.x), e.y.mul_add(a.y, diagonal.y), e.z.mul_add(a.z, diagonal.z));
                off_diagonal = vec3(
                    e.y.mul_add(a.z, off_diagonal.x),
                    e.x.mul_add(a.z, off_diagonal.y),
                    e.x.mul_add(a.y, off_diagonal.z),
                );
            }
        }
        inertia[b] = Inertia { mass: m, first_moment: mr, diagonal, off_diagonal };
    }
}
