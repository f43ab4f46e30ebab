//! Soft rows: constraints that yield as MuJoCo's do, see [`super::settings::Constraints::Soft`].
//!
//! A row at distance (or error) r with velocity u = J v and force f obeys (MuJoCo's documentation, *Computation*, "Constraint model")
//!
//! u̇ + R f = −b u − k d r,   R = (1 − d)/d · Â
//!
//! d(r) being its impedance, k and b the stiffness and damping of `solref`, and  the inverse inertia that its bodies have at rest. With u̇ = (u⁺ − u)/Δt and
//! λ = Δt f it is a row like any other: w = u⁺ + R λ − target with
//!
//! target = u − Δt (b u + k d r)
//!
//! Of a round cone r is 0 along the surface; the edges of a pyramid ([`super::pyramids`]) have that of the contact. A row acts from r < 0 on; both problems of the step are this one. With Runge-Kutta every evaluation of a step is such a step, see
//! [`super::evaluations`].

use crate::equality::{Coordinate, EqualityPlan, EqualityRow};
use crate::kinematics::{Kinematics, kinematics};
use crate::lane::{Pack, Scalar};
use crate::limit::JointRow;
use crate::model::{ContactSoftness, Model, Softness, only_slides};
use crate::query::state_query;
use crate::spatial::Vec3;
use crate::tendon;
use nalgebra::{DMatrix, DVector};

/// Inverse masses (1/kg) of bodies that a contact cannot push: of a wheel on a fixed axle, which only turns.
const HELD: f64 = 1e-12;
/// What such a contact yields as if it had. MuJoCo's is 1e-15, with the same motion: what rubs on the wheel sticks.
const LEAST: f64 = 1e-6;

/// How one row yields.
#[derive(Debug, Clone, Copy)]
pub(super) struct Yield {
    /// k, 1/s², per unit of impedance.
    stiffness: f64,
    /// b, 1/s.
    damping: f64,
    /// Impedance d: at the surface, beyond the width, the width (m or rad), where it bends, the power p.
    impedance: [f64; 5],
    /// bend¹⁻ᵖ, (1 − bend)¹⁻ᵖ.
    scale: [f64; 2],
    /// Â, 1/kg or 1/(kg·m²).
    mobility: f64,
}

/// How the rows of a model yield.
#[derive(Debug, Clone)]
pub struct SoftPlan {
    /// Shape \[pair\].
    pub(super) pair: Vec<Yield>,
    /// Shape \[joint row\].
    pub(super) joint: Vec<Yield>,
    /// Shape \[equality row\].
    pub(super) equality: Vec<Yield>,
    /// The rows of the equality that each row belongs to, whose errors count together, shape \[equality row\].
    pub(super) together: Vec<std::ops::Range<usize>>,
    /// What contacts have in common.
    pub(super) contact: ContactSoftness,
}

impl Yield {
    /// Of a row between bodies that have `mobility` at rest, in steps of `dt`. Numbers outside of their bounds count as in MuJoCo.
    fn new(softness: &Softness, mobility: f64, dt: f64) -> Self {
        let [at, beyond, width, bend, power] = softness.impedance;
        let share = |x: f64| x.clamp(0.0001, 0.9999);
        let (at, beyond) = (share(at), share(beyond));
        let reference = match softness.reference {
            [x, y] if (x > 0.0) == (y > 0.0) => [x, y],
            _ => Softness::default().reference,
        };
        let (stiffness, damping) = match reference {
            // k = 1/(d² T² ζ²), b = 2/(d T), with a time constant T of at least two steps
            [time, ratio] if time > 0.0 => {
                let scale = beyond * time.max(2.0 * dt);
                (1.0 / (scale * ratio).powi(2), 2.0 / scale)
            }
            [k, b] => (-k / beyond.powi(2), -b / beyond),
        };
        let (bend, power) = (share(bend), power.max(1.0));
        let scale = [bend, 1.0 - bend].map(|x| x.powf(1.0 - power));
        Self { stiffness, damping, impedance: [at, beyond, width.max(0.0), bend, power], scale, mobility }
    }

    /// d of a row at `distance` ≥ 0 from its surface.
    #[inline(always)]
    pub(super) fn impedance<R: Pack>(&self, distance: R) -> R {
        let [at, beyond, width, bend, power] = self.impedance;
        if width < 1e-15 || at == beyond {
            return R::constant(0.5 * (at + beyond));
        }
        // x ≤ bend: xᵖ/bendᵖ⁻¹; else 1 − (1 − x)ᵖ/(1 − bend)ᵖ⁻¹
        let x = (distance * R::constant(1.0 / width)).min(R::one());
        let low = raised(x, power) * R::constant(self.scale[0]);
        let high = R::one() - raised(R::one() - x, power) * R::constant(self.scale[1]);
        let share = R::select(R::constant(bend).lt(x), high, low);
        share.mul_add(R::constant(beyond - at), R::constant(at))
    }

    /// u − Δt (b u + k d r): the target of a row that moves at u before the step, at error r. Without an error, what slides is not drawn back.
    #[inline(always)]
    pub(super) fn target<R: Pack>(&self, dt: f64, u: R, d: R, error: Option<R>) -> R {
        let pull = match error {
            Some(r) => R::constant(self.stiffness) * d * r,
            None => R::zero(),
        };
        u - R::constant(dt) * R::constant(self.damping).mul_add(u, pull)
    }

    /// R = (1 − d)/d · Â.
    #[inline(always)]
    pub(super) fn compliance<R: Pack>(&self, impedance: R) -> R {
        (R::one() - impedance) / impedance * R::constant(self.mobility)
    }
}

/// xᵖ, 0 ≤ x ≤ 1.
#[inline(always)]
fn raised<R: Pack>(x: R, power: f64) -> R {
    if power == 2.0 {
        return x * x;
    }
    let mut raised = x;
    for entry in raised.lanes_mut() {
        *entry = R::Scalar::from_f64(entry.to_f64().powf(power));
    }
    raised
}

impl SoftPlan {
    /// Of the rows of `model`, in steps of `dt`.
    pub fn new(model: &Model, joint_rows: &[JointRow], equalities: &EqualityPlan, dt: f64) -> Self {
        let mobility = Mobility::at_rest(model);
        let pair = model.pairs.iter().map(|pair| {
            let [a, b] = [pair.geom_a, pair.geom_b].map(|geom| mobility.body[model.geoms[geom].body][0]);
            let mobility = a + b;
            Yield::new(&pair.softness, held(mobility), dt)
        });
        let joint = joint_rows.iter().map(|row| {
            let (softness, mobility) = match *row {
                JointRow::Lower(j) | JointRow::Upper(j) | JointRow::Ball(j) => {
                    (&model.joints[j].limit_softness, mobility.dof[model.joints[j].v_start])
                }
                JointRow::DryFriction(dof) => {
                    (&model.joints[model.dofs[dof].joint].friction_softness, mobility.dof[dof])
                }
                JointRow::TendonLower(t) | JointRow::TendonUpper(t) => {
                    (&model.tendons[t].limit_softness, held(mobility.tendon[t]))
                }
                JointRow::TendonFriction(t) => (&model.tendons[t].friction_softness, held(mobility.tendon[t])),
            };
            Yield::new(softness, mobility, dt)
        });
        let equality = equalities.rows.iter().zip(&equalities.equality).map(|(row, of)| {
            let length = |of: Coordinate| match of {
                Coordinate::Joint(joint) => mobility.dof[model.joints[joint].v_start],
                Coordinate::Tendon(tendon) => mobility.tendon[tendon],
            };
            let mobility = match row {
                EqualityRow::Length { first, second, .. } => {
                    held(length(first.of) + second.as_ref().map_or(0.0, |second| length(second.of)))
                }
                EqualityRow::Point { bodies: [a, b], .. } => mobility.body[*a][0] + mobility.body[*b][0],
                // MuJoCo's rows are half an angle; a row of twice the velocity yields four times as much.
                EqualityRow::Rotation { bodies: [a, b], .. } => 4.0 * (mobility.body[*a][1] + mobility.body[*b][1]),
            };
            Yield::new(&model.equalities[*of].softness, mobility, dt)
        });
        let rows_of = |of: &usize| {
            let first = equalities.equality.partition_point(|other| other < of);
            first..equalities.equality.partition_point(|other| other <= of)
        };
        let (equality, together) = (equality.collect(), equalities.equality.iter().map(rows_of).collect());
        Self { pair: pair.collect(), joint: joint.collect(), equality, together, contact: model.contact_softness }
    }
}

/// What holds against a push at rest, a tendon at a dead centre too, is no reason for a force without end, which no number type can share out among edges.
fn held(mobility: f64) -> f64 {
    if mobility < HELD { LEAST } else { mobility }
}

/// Inverse inertias of a model at rest.
struct Mobility {
    /// Against forces and against torques, the mean of the three axes, at the centre of mass, 1/kg and 1/(kg·m²), shape \[body\].
    body: Vec<[f64; 2]>,
    /// Against the force of a degree of freedom, the mean of those that turn (or shift) one joint, shape \[nv\].
    dof: Vec<f64>,
    /// Against a force along a tendon, (∂L/∂q) M⁻¹ (∂L/∂q)ᵀ, shape \[tendon\].
    tendon: Vec<f64>,
}

impl Mobility {
    fn at_rest(model: &Model) -> Self {
        let nv = model.nv();
        let mut k = Kinematics::<f64>::new(model);
        kinematics(model, &model.q0, &mut k);
        // a checked model has a mass matrix with an inverse
        let mass_matrix = state_query(model, &model.q0, &vec![0.0; nv]).map(|state| state.mass_matrix);
        let inverse = mass_matrix.ok().and_then(DMatrix::try_inverse).unwrap_or_else(|| DMatrix::zeros(nv, nv));
        let mut body = vec![[0.0; 2]; model.bodies.len()];
        for (b, of) in model.bodies.iter().enumerate() {
            let Some(head) = model.last_dof(b) else { continue };
            let com = k.body_pose[b].point(Vec3::constant(&of.com));
            // the mean of the diagonal of J M⁻¹ Jᵀ
            let chain = &model.dofs[head].ancestors;
            for &i in chain {
                for &j in chain {
                    let [a, c] = [i, j].map(|dof| {
                        let motion = k.motion_subspace[dof];
                        [motion.at(com - k.reference[model.dofs[dof].tree]), motion.angular]
                    });
                    for part in 0..2 {
                        body[b][part] += a[part].dot(c[part]) * inverse[(i, j)] / 3.0;
                    }
                }
            }
        }
        let mut dof: Vec<f64> = (0..nv).map(|i| inverse[(i, i)]).collect();
        for b in (1..model.bodies.len()).filter(|&b| only_slides(model, b)) {
            let of = &model.bodies[b];
            body[b][0] = 1.0 / of.mass;
            dof[of.dofs.clone()].fill(1.0 / of.mass);
        }
        for joint in model.joints.iter().filter(|joint| joint.kind.nv() >= 3) {
            for three in dof[joint.v_start..joint.v_start + joint.kind.nv()].chunks_exact_mut(3) {
                three.fill(three.iter().sum::<f64>() / 3.0);
            }
        }
        let mobility = |tendon: usize| {
            let mut along = DVector::zeros(nv);
            tendon::add_along(model, &k, tendon, 1.0, along.as_mut_slice());
            along.dot(&(&inverse * &along))
        };
        let tendon = (0..model.tendons.len()).map(mobility).collect();
        Self { body, dof, tendon }
    }
}
