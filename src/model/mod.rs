//! What is simulated: bodies in a tree, their joints and shapes, actuators, and which pairs may touch.
//!
//! A [`Model`] is made by [`Model::from_mjcf_file`], [`Model::from_mjcf_str`] or a [`ModelBuilder`], which check it; its fields are public, so it is
//! checked again ([`Model::validate`]) before anything is done with it, and constant from then on: all worlds of a batch share it. Units are SI,
//! angles are rad, z is up.
//!
//! Conventions are MuJoCo's, so that numbers can be compared: quaternions are w x y z; a free joint has q = position (3) and
//! quaternion (4), and v = linear velocity in world axes, then angular velocity in body axes; a ball joint has q = quaternion and
//! v = angular velocity in the axes of its body.

mod actuator;
mod builder;
mod check;
mod fingerprint;
mod keyframe;
mod lengths;
mod mjcf;
mod muscle;
mod pairs;
mod path;
mod rest;
mod sensor;
mod shape;
mod softness;
mod tendon;

pub use actuator::{Actuator, Transmission};
pub use builder::{ModelBuilder, solid_inertia};
pub(crate) use check::label;
pub use fingerprint::ModelPart;
pub use keyframe::Keyframe;
pub(crate) use keyframe::{POSE_LEN, pose};
pub use mjcf::ReadOptions;
pub use muscle::Muscle;
pub use path::Waypoint;
pub(crate) use path::{Stretch, stretches};
pub(crate) use rest::only_slides;
pub use sensor::{Frame, FrameReading, Reading, Sensor};
pub use shape::{HeightField, Hull, Shape, Triangles};
pub use softness::{ContactSoftness, Softness};
pub use tendon::Tendon;

use nalgebra::{Matrix3, UnitQuaternion, Vector3};
use std::ops::Range;

/// A robot, or several, and the things around them.
#[derive(Debug, Clone)]
pub struct Model {
    /// Name, for people.
    pub name: String,
    /// Default step Δt, s.
    pub timestep: f64,
    /// Default scheme of the free motion.
    pub integrator: Integrator,
    /// Which damping is implicit where constraints are soft.
    pub implicit_damping: ImplicitDamping,
    /// How contacts yield where constraints are soft.
    pub contact_softness: ContactSoftness,
    /// Gravity, m/s², world axes.
    pub gravity: Vector3<f64>,
    /// What the bodies move through.
    pub medium: Medium,
    /// Bodies; the first is the world, and a parent stands before its children.
    pub bodies: Vec<Body>,
    /// Joints, in the order of their bodies; joints of one body act in order.
    pub joints: Vec<Joint>,
    /// Degrees of freedom, shape nv.
    pub dofs: Vec<Dof>,
    /// Moving trees: every body that hangs, through joints, from the same root.
    pub trees: Vec<Tree>,
    /// Shapes.
    pub geoms: Vec<Geom>,
    /// Named points.
    pub sites: Vec<Site>,
    /// Tendons.
    pub tendons: Vec<Tendon>,
    /// Actuators, shape nu.
    pub actuators: Vec<Actuator>,
    /// Activations of actuators that have one, in the order of these, shape na.
    pub activations: Vec<Activation>,
    /// Actuators that pull as muscles, in their order.
    pub muscles: Vec<Muscle>,
    /// Equality constraints (connect, weld, joint, tendon).
    pub equalities: Vec<Equality>,
    /// Geom pairs that are tested for contact, in a fixed order.
    pub pairs: Vec<CollisionPair>,
    /// Named states.
    pub keyframes: Vec<Keyframe>,
    /// Sensors; they change no motion.
    pub sensors: Vec<Sensor>,
    /// Position at rest, shape nq.
    pub q0: Vec<f64>,
    /// What the model file says that this crate does not do, or does in another way: first what changes the motion.
    pub notes: Vec<Note>,
}

/// Something to know about a model before its motion is believed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Note {
    /// One sentence, with its place in the file if it is about one.
    pub text: String,
    /// Whether the motion differs for it from the one that the file asks for: something that acts is left out, or done in another way.
    pub changes_motion: bool,
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// A medium that resists the motion of bodies, see [`crate::fluid`]. Default: none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Medium {
    /// Density ρ, kg/m³.
    pub density: f64,
    /// Viscosity β, Pa·s.
    pub viscosity: f64,
    /// Velocity of the medium, m/s, world axes.
    pub wind: Vector3<f64>,
}

/// How free motion is followed through a step. Contacts, limits and friction are solved once a step in either, but at each evaluation of Runge-Kutta where they are soft
/// ([`crate::worlds::Constraints::Soft`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Integrator {
    /// Semi-implicit Euler, implicit in damping: one evaluation of the dynamics a step, first order ([`crate::dynamics`]).
    #[default]
    Euler,
    /// The classical Runge-Kutta method: four evaluations, fourth order, second with damping, implicit in damping ([`crate::runge_kutta`]).
    Rk4,
}

/// Which damping is implicit in a step of Euler where constraints are soft ([`crate::worlds::Constraints::Soft`]), as in MuJoCo. Where they are hard all of it is, and with soft
/// Runge-Kutta none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImplicitDamping {
    /// Of joints and servos: MuJoCo's `implicitfast`.
    #[default]
    JointsAndServos,
    /// Of joints: MuJoCo's `Euler`.
    Joints,
    /// None: MuJoCo's `Euler` with `eulerdamp="disable"`.
    None,
}

/// A rigid body.
#[derive(Debug, Clone)]
pub struct Body {
    /// Name; empty if it has none.
    pub name: String,
    /// Index of the parent body, less than its own; 0 for the world itself.
    pub parent: usize,
    /// Origin in the parent frame at rest, m.
    pub position: Vector3<f64>,
    /// Orientation in the parent frame at rest.
    pub orientation: UnitQuaternion<f64>,
    /// Mass, kg.
    pub mass: f64,
    /// Centre of mass in the body frame, m.
    pub com: Vector3<f64>,
    /// Inertia about the centre of mass, body axes, kg·m².
    pub inertia: Matrix3<f64>,
    /// Its joints.
    pub joints: Range<usize>,
    /// Its degrees of freedom.
    pub dofs: Range<usize>,
    /// Its tree; none if it cannot move.
    pub tree: Option<usize>,
    /// Whether its pose is given, world by world ([`Parameter::MocapPose`](crate::worlds::Parameter::MocapPose)); only of a child of the world without joints.
    pub mocap: bool,
    /// Share of its weight that is taken off it, by a force at its centre of mass: 1 where it floats.
    pub gravity_compensation: f64,
}

/// The kinds of joints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JointKind {
    /// Six degrees of freedom; only on a child of the world. nq = 7, nv = 6.
    Free,
    /// Three rotations. nq = 4, nv = 3.
    Ball,
    /// Rotation about `axis`, rad. nq = nv = 1.
    Hinge,
    /// Translation along `axis`, m. nq = nv = 1.
    Slide,
}

impl JointKind {
    /// Number of position coordinates.
    pub fn nq(self) -> usize {
        match self {
            Self::Free => 7,
            Self::Ball => 4,
            Self::Hinge | Self::Slide => 1,
        }
    }
    /// Number of degrees of freedom.
    pub fn nv(self) -> usize {
        match self {
            Self::Free => 6,
            Self::Ball => 3,
            Self::Hinge | Self::Slide => 1,
        }
    }
}

/// A joint between a body and its parent.
#[derive(Debug, Clone)]
pub struct Joint {
    /// Name; empty if it has none.
    pub name: String,
    /// Kind.
    pub kind: JointKind,
    /// The body that it moves.
    pub body: usize,
    /// Anchor in the body frame, m.
    pub anchor: Vector3<f64>,
    /// Unit axis in the body frame (hinge and slide).
    pub axis: Vector3<f64>,
    /// First of its coordinates in q.
    pub q_start: usize,
    /// First of its coordinates in v.
    pub v_start: usize,
    /// Lower and upper limit (rad or m; for a ball joint 0 and the largest rotation angle), if limited.
    pub range: Option<[f64; 2]>,
    /// How far before either end of `range` the limit stands, rad or m: forces act from there on, as in MuJoCo 4.0.
    pub limit_margin: f64,
    /// Spring stiffness, N·m/rad or N/m.
    pub stiffness: f64,
    /// Position at which the spring is slack (hinge and slide; in the coordinates of q).
    pub spring_reference: f64,
    /// Coordinate q at which the body has its rest pose (hinge and slide).
    pub reference: f64,
    /// Viscous damping, N·m·s/rad or N·s/m; treated implicitly.
    pub damping: f64,
    /// Inertia added to the diagonal of the mass matrix, kg·m² or kg.
    pub armature: f64,
    /// Largest dry friction force or torque, N or N·m.
    pub friction_loss: f64,
    /// Lower and upper bound of the total actuator force on this joint, if bounded.
    pub actuator_force_range: Option<[f64; 2]>,
    /// Softness of its limits.
    pub limit_softness: Softness,
    /// Softness of its dry friction.
    pub friction_softness: Softness,
}

/// One degree of freedom, an entry of v.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dof {
    /// The joint that it belongs to.
    pub joint: usize,
    /// The body that it moves.
    pub body: usize,
    /// Its tree.
    pub tree: usize,
    /// The next degree of freedom towards the root.
    pub parent: Option<usize>,
    /// Start of its row in the packed mass matrix.
    pub row_start: usize,
    /// Itself and its ancestors, itself first, towards the root; the columns of its row in the packed mass matrix.
    pub ancestors: Vec<usize>,
    /// What it is an ancestor of, itself left out, last first: the degree of freedom, and where this one's column stands in that row of the packed mass matrix.
    pub descendants: Vec<(usize, usize)>,
}

/// Bodies that hang from one root; the unit of islands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The first body; its origin is the reference point O of all spatial quantities of the tree.
    pub root: usize,
    /// Whether that hangs on a free joint. Then S of the first six degrees of freedom is (0, `e_1` … `e_3`) and (a, 0), angular part first.
    pub is_free: bool,
    /// The degrees of freedom (consecutive).
    pub dofs: Range<usize>,
}

/// A shape fixed to a body.
#[derive(Debug, Clone)]
pub struct Geom {
    /// Name; empty if it has none.
    pub name: String,
    /// The body.
    pub body: usize,
    /// The shape, in the geom's frame.
    pub shape: Shape,
    /// Origin of the geom's frame in the body frame, m.
    pub position: Vector3<f64>,
    /// Orientation of the geom's frame in the body frame.
    pub orientation: UnitQuaternion<f64>,
    /// Sliding (μ), torsional (m) and rolling (m) friction.
    pub friction: [f64; 3],
    /// 1: no friction; 3: sliding friction; 4: torsion too; 6: rolling friction as well. Both act in pyramids of [`crate::Constraints::Soft`], torsion in
    /// [`crate::solver::FrictionLaw::Patch`]; else 4 and 6 are treated as 3.
    pub condim: usize,
    /// Half axes e_t, e_o (without unit) and e_r (m) of the friction ellipsoid in units of μ N, where friction is [`crate::solver::FrictionLaw::Patch`]; none: 1, 1, and
    /// e_r by `condim` and the shape of the patch.
    pub ellipsoid: Option<[f64; 3]>,
    /// Contact bits: a pair may touch if `contype` of one meets `conaffinity` of the other.
    pub contype: u32,
    /// Contact bits.
    pub conaffinity: u32,
    /// Thickness of the layer around the shape in which contacts carry force already, m: two geoms rest at the sum of their margins, as in
    /// MuJoCo 4.0.
    pub margin: f64,
    /// Distance beyond `margin` within which MuJoCo 4.0 lists contacts that carry no force, m; it changes no motion and is not used.
    pub gap: f64,
    /// Of two geoms the one with the higher priority gives friction, condim and restitution.
    pub priority: i32,
    /// Group, for people.
    pub group: i32,
    /// Newton's coefficient of restitution; none: the default of [`crate::worlds::Settings`].
    pub restitution: Option<f64>,
    /// Softness of its contacts.
    pub softness: Softness,
    /// Whether rangefinders see it: MJCF's geoms without colour (an alpha of 0, their own or that of their material) are not seen.
    pub is_seen: bool,
    /// Of a plane, half its lengths along x and y as far as rangefinders see it, m; infinite where it does not end.
    pub plane_half: [f64; 2],
    /// As an ellipsoid in the medium: coefficients of blunt, slender and angular drag, and of lift by Kutta and by Magnus; none: it is not one, and its body is felt as a box of its inertia if
    /// no geom of it is ([`crate::fluid`]).
    pub fluid: Option<[f64; 5]>,
    /// Weight of `softness` where it mixes with another geom's: MJCF's `solmix`.
    pub softness_weight: f64,
}

/// A named frame on a body.
#[derive(Debug, Clone)]
pub struct Site {
    /// Name.
    pub name: String,
    /// The body.
    pub body: usize,
    /// Origin in the body frame, m.
    pub position: Vector3<f64>,
    /// Orientation in the body frame.
    pub orientation: UnitQuaternion<f64>,
    /// Its volume, which touch sensors feel: a sphere, capsule, ellipsoid, cylinder or box.
    pub shape: Shape,
}

/// The state a of an actuator between its control u and its force.
#[derive(Debug, Clone, PartialEq)]
pub struct Activation {
    /// The actuator.
    pub actuator: usize,
    /// How a follows u, which is within its range.
    pub law: ActivationLaw,
    /// Bounds of a, if bounded.
    pub range: Option<[f64; 2]>,
    /// Whether the force of a step is that of a at its end.
    pub early: bool,
}

/// How fast the activation a of a muscle follows: τ = rise (½ + 3/2 a) where u is above it, fall/(½ + 3/2 a) below, and in between by a step that is smooth over `blend`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MuscleTimes {
    /// s.
    pub rise: f64,
    /// s.
    pub fall: f64,
    /// Width of the step in u − a; 0: none.
    pub blend: f64,
}

/// How an activation a follows its control u.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ActivationLaw {
    /// ȧ = u
    Integrator,
    /// ȧ = (u − a)/τ, integrated as the state is; τ in s.
    Filter(f64),
    /// ȧ = (u − a)/τ with u in [0, 1], and τ as a rises or falls, see [`MuscleTimes`].
    Muscle(MuscleTimes),
    /// As [`Self::Filter`]; with Euler exactly, for u that is constant over a step. With Runge-Kutta as MuJoCo 4.0 has it: the exact step along the mean of the rates, which is of first order.
    FilterExact(f64),
}

/// A constraint that holds with equality.
#[derive(Debug, Clone)]
pub struct Equality {
    /// Name; empty if it has none.
    pub name: String,
    /// What it holds.
    pub kind: EqualityKind,
    /// Whether it is switched on.
    pub active: bool,
    /// Its softness.
    pub softness: Softness,
}

/// The kinds of equality constraints.
#[derive(Debug, Clone)]
pub enum EqualityKind {
    /// A point of body a stays at a point of body b.
    Connect {
        /// First body.
        body_a: usize,
        /// Second body.
        body_b: usize,
        /// The point in the frame of body a, m.
        anchor: Vector3<f64>,
        /// The point in the frame of body b, m; none: where that of a is at rest.
        anchor_b: Option<Vector3<f64>>,
    },
    /// Body b keeps its pose relative to body a.
    Weld {
        /// First body.
        body_a: usize,
        /// Second body.
        body_b: usize,
        /// The welded point in the frame of body b, m.
        anchor: Vector3<f64>,
        /// Pose of b in a (position, orientation); none: as at rest.
        relative: Option<(Vector3<f64>, UnitQuaternion<f64>)>,
    },
    /// q₁ − q₁₀ is a polynomial (five coefficients) of q₂ − q₂₀, or the constant c₀ without a second joint.
    Joint {
        /// First joint.
        joint_a: usize,
        /// Second joint, if any.
        joint_b: Option<usize>,
        /// Coefficients, constant first.
        polynomial: [f64; 5],
    },
    /// The same of the lengths of tendons: L₁ − L₁₀ is a polynomial of L₂ − L₂₀, with the lengths at rest L₁₀, L₂₀.
    Tendon {
        /// First tendon.
        tendon_a: usize,
        /// Second tendon, if any.
        tendon_b: Option<usize>,
        /// Coefficients, constant first.
        polynomial: [f64; 5],
    },
}

/// Two geoms that are tested for contact; the first has the lower [`Shape::rank`].
#[derive(Debug, Clone)]
pub struct CollisionPair {
    /// First geom; normals point from it to the second.
    pub geom_a: usize,
    /// Second geom.
    pub geom_b: usize,
    /// How the friction of the two geoms is mixed.
    pub friction: PairFriction,
    /// See [`Geom::condim`].
    pub condim: usize,
    /// Half axes of the friction ellipsoid, if given: see [`Geom::ellipsoid`].
    pub ellipsoid: Option<[f64; 3]>,
    /// Torsional friction coefficient of condim 4 and 6, m: the most torsion is this times the normal force; none: of a patch by its shape, of a pyramid none.
    pub torsion: Option<f64>,
    /// Rolling friction coefficients of condim 6 about the two tangents, m; none: no rolling friction.
    pub rolling: Option<[f64; 2]>,
    /// Distance between the two shapes at which they touch and contacts carry force, m.
    pub margin: f64,
    /// Distance beyond the margin at which contacts carry no force, but count for [`Transmission::Body`], m.
    pub gap: f64,
    /// Newton's coefficient of restitution; none: the default of [`crate::worlds::Settings`].
    pub restitution: Option<f64>,
    /// Softness of its contacts.
    pub softness: Softness,
}

/// Where the friction coefficient of a pair comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PairFriction {
    /// The larger of the two geoms' coefficients.
    Larger,
    /// The first geom's (it has the higher priority).
    First,
    /// The second geom's (it has the higher priority).
    Second,
    /// Given for this pair: the coefficients along the two tangents (the first is used).
    Fixed(f64),
}

impl Model {
    /// Number of position coordinates.
    pub fn nq(&self) -> usize {
        self.q0.len()
    }
    /// Number of degrees of freedom.
    pub fn nv(&self) -> usize {
        self.dofs.len()
    }
    /// Number of actuators.
    pub fn nu(&self) -> usize {
        self.actuators.len()
    }
    /// Number of activations.
    pub fn na(&self) -> usize {
        self.activations.len()
    }
    /// The muscle that actuator `u` is, if it is one.
    #[inline(always)]
    pub(crate) fn muscle_of(&self, u: usize) -> Option<&Muscle> {
        // they are in the order of their actuators
        self.muscles.binary_search_by_key(&u, |muscle| muscle.actuator).ok().map(|k| &self.muscles[k])
    }
    /// Numbers that drive the actuators: control, and then activation.
    pub(crate) fn drive_len(&self) -> usize {
        self.nu() + self.na()
    }
    /// Number of entries of the packed mass matrix: one for each degree of freedom and each of its ancestors.
    pub fn packed_len(&self) -> usize {
        self.dofs.last().map_or(0, |d| d.row_start + d.ancestors.len())
    }
    /// Total mass of the moving bodies, kg.
    pub fn moving_mass(&self) -> f64 {
        self.bodies.iter().filter(|b| b.tree.is_some()).map(|b| b.mass).sum()
    }
    /// The last degree of freedom that moves `body`: the head of its chain towards the root.
    pub fn last_dof(&self, body: usize) -> Option<usize> {
        let mut b = body;
        loop {
            let body = &self.bodies[b];
            if !body.dofs.is_empty() {
                return Some(body.dofs.end - 1);
            }
            if b == 0 {
                return None;
            }
            b = body.parent;
        }
    }
    /// Index of the body called `name`.
    pub fn body(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|b| b.name == name)
    }
    /// Index of the joint called `name`.
    pub fn joint(&self, name: &str) -> Option<usize> {
        self.joints.iter().position(|j| j.name == name)
    }
    /// Index of the geom called `name`.
    pub fn geom(&self, name: &str) -> Option<usize> {
        self.geoms.iter().position(|g| g.name == name)
    }
    /// Index of the sensor called `name`.
    pub fn sensor(&self, name: &str) -> Option<usize> {
        self.sensors.iter().position(|s| s.name == name)
    }
    /// Index of the keyframe called `name`.
    pub fn keyframe(&self, name: &str) -> Option<usize> {
        self.keyframes.iter().position(|k| k.name == name)
    }
}
