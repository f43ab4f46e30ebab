//! Questions about one state: mass matrix, bias force, poses, centre of mass and energy, in f64.
//!
//! The same stages as in the step, with one world in one lane:
//!
//! ```text
//! q ─► kinematics ─► poses ─► centre of mass c = Σ m x / Σ m, potential energy V = −Σ m g·x
//!          └─► mass matrix M ─► kinetic energy T = ½ vᵀ M v
//!                └─► bias force c(q, v)
//! ```

use crate::dynamics::{Dynamics, bias_force, free_stretch, mass_matrix};
use crate::error::{Error, Result};
use crate::kinematics::{Kinematics, kinematics, mocap_poses, orientation, quaternion, rotation_vector, triple};
use crate::model::{JointKind, Model};
use crate::parameters::{SharedParameters, TileParameters};
use crate::spatial::Vec3;
use nalgebra::{DMatrix, DVector, Vector3};

/// What a state of a model comes to. SI units, world axes; springs, dampers, actuators and contacts are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct StateQuery {
    /// Mass matrix M(q) with armature, nv × nv, symmetric.
    pub mass_matrix: DMatrix<f64>,
    /// Bias force c(q, v): gravity, Coriolis and centrifugal forces, N or N·m, shape \[nv\]; M v̇ + c = τ.
    pub bias_force: DVector<f64>,
    /// Origin of every body, m, shape \[body\].
    pub body_pos: Vec<[f64; 3]>,
    /// Orientation of every body, w x y z, shape \[body\].
    pub body_quat: Vec<[f64; 4]>,
    /// Centre of mass of all bodies, those that cannot move included, m; the origin for a model without mass.
    pub com: [f64; 3],
    /// Kinetic energy ½ vᵀ M v, armature included, J.
    pub kinetic_energy: f64,
    /// Energy of all bodies in the gravity field, zero at height zero, J.
    pub potential_energy: f64,
}

/// Answers for one state; quaternions are normalised as they are read.
///
/// `q`: position, shape \[nq\]; `v`: velocity, shape \[nv\].
///
/// ```
/// use delassus::{Model, query::state_query};
/// # fn main() -> delassus::Result<()> {
/// let model = Model::from_mjcf_str(
///     r#"<mujoco>
///          <option gravity="0 0 -10"/>
///          <worldbody><body><freejoint/><geom size="0.1" mass="2"/></body></worldbody>
///        </mujoco>"#,
/// )?;
/// let state = state_query(&model, &[0.0, 0.0, 3.0, 1.0, 0.0, 0.0, 0.0], &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0])?;
/// assert_eq!((state.kinetic_energy, state.potential_energy), (1.0, 60.0));
/// assert_eq!(state.bias_force[2], 20.0);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Argument`] if `q` or `v` has the wrong length, [`Error::Model`] if the model was changed into an invalid one.
pub fn state_query(model: &Model, q: &[f64], v: &[f64]) -> Result<StateQuery> {
    model.validate()?;
    for (argument, found, wanted) in [("q", q.len(), model.nq()), ("v", v.len(), model.nv())] {
        if found != wanted {
            return Err(Error::argument(argument, format!("has {found} numbers, the model needs {wanted}")));
        }
    }
    let (mut k, mut d) = (Kinematics::<f64>::new(model), Dynamics::<f64>::new(model));
    kinematics(model, q, &mut k);
    mass_matrix(model, &SharedParameters::new(model).tile(), &k, &mut d);
    bias_force(model, model.gravity.as_slice(), v, &k, &mut d);

    let matrix = dense(model, &d.mass_matrix);
    let velocity = DVector::from_column_slice(v);
    let (mut mass, mut moment) = (0.0, Vector3::zeros());
    for (body, pose) in model.bodies.iter().zip(&k.body_pose).skip(1) {
        mass += body.mass;
        moment += body.mass * Vector3::from(array(pose.point(Vec3::constant(&body.com))));
    }
    Ok(StateQuery {
        kinetic_energy: 0.5 * velocity.dot(&(&matrix * &velocity)),
        potential_energy: -model.gravity.dot(&moment),
        com: if mass > 0.0 { (moment / mass).into() } else { [0.0; 3] },
        mass_matrix: matrix,
        bias_force: DVector::from_vec(d.bias_force),
        body_pos: k.body_pose.iter().map(|pose| array(pose.position)).collect(),
        body_quat: (0..model.bodies.len())
            .map(|b| orientation(model, q, &k, b))
            .map(|r| [r.w, r.v.x, r.v.y, r.v.z])
            .collect(),
    })
}

/// Energy of a state, J.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Energy {
    /// Kinetic energy ½ vᵀ M v, armature included.
    pub kinetic: f64,
    /// Energy of what moves in the gravity field, zero at height zero.
    pub gravity: f64,
    /// Energy of the springs of joints.
    pub springs: f64,
}

/// Energy of a state whose shapes and model have been checked, of a world with parameters of its own.
pub(crate) fn energy(model: &Model, p: &TileParameters<'_, f64>, q: &[f64], v: &[f64]) -> Energy {
    let (mut k, mut d) = (Kinematics::<f64>::new(model), Dynamics::<f64>::new(model));
    mocap_poses(p.mocap_pose, &mut k);
    kinematics(model, q, &mut k);
    mass_matrix(model, p, &k, &mut d);
    let mut energy = Energy::default();
    // T = ½ vᵀ M v, of which the packed M holds one triangle
    for (i, dof) in model.dofs.iter().enumerate() {
        for (n, &j) in dof.ancestors.iter().enumerate() {
            energy.kinetic += if i == j { 0.5 } else { 1.0 } * d.mass_matrix[dof.row_start + n] * v[i] * v[j];
        }
    }
    // V = −Σ m g·x
    let gravity = Vector3::from_column_slice(p.gravity);
    for (b, body) in model.bodies.iter().enumerate().filter(|(_, body)| body.tree.is_some()) {
        let com = Vector3::from(array(k.body_pose[b].point(triple(p.com, 3 * b))));
        energy.gravity -= p.mass_scale[b] * body.mass * gravity.dot(&com);
    }
    // ½ k |x|², x the stretch, or the rotation of a ball joint, or both of a free one
    for (joint, stiffness) in model.joints.iter().zip(p.stiffness).filter(|(joint, _)| joint.stiffness > 0.0) {
        let x = match joint.kind {
            JointKind::Hinge | JointKind::Slide => q[joint.q_start] - joint.spring_reference,
            JointKind::Ball => rotation_vector(quaternion(q, joint.q_start)).norm(),
            JointKind::Free => {
                let [x, r] = free_stretch(model, joint, q);
                x.norm().hypot(r.norm())
            }
        };
        energy.springs += 0.5 * stiffness * x * x;
    }
    energy
}

fn array(v: Vec3<f64>) -> [f64; 3] {
    [v.x, v.y, v.z]
}

/// The packed mass matrix in full.
fn dense(model: &Model, packed: &[f64]) -> DMatrix<f64> {
    let mut full = DMatrix::zeros(model.nv(), model.nv());
    for (i, dof) in model.dofs.iter().enumerate() {
        for (p, &j) in dof.ancestors.iter().enumerate() {
            full[(i, j)] = packed[dof.row_start + p];
            full[(j, i)] = full[(i, j)];
        }
    }
    full
}
