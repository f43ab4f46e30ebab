//! What may differ from world to world, beside the state.

use crate::lane::Real;
use crate::mocap;
use crate::model::{Model, POSE_LEN, Shape};
use std::borrow::Cow;

/// A parameter that may differ from world to world. What follows from it follows: masses change inertias, poses of centres of mass, and how contacts answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parameter {
    /// Gravity, m/s², shape \[3\].
    Gravity,
    /// Factor on mass and inertia of every body, shape \[body\].
    MassScale,
    /// Sliding friction coefficient μ of every geom, shape \[geom\]. Pairs mix as the model says.
    Friction,
    /// Factor on gain and bias of every actuator, shape \[nu\].
    GainScale,
    /// Further factor on the velocity that gain and bias go with (kv of a servo; a muscle's), shape \[nu\]: a servo has kp = `GainScale` kp₀ and
    /// kv = `GainScale` `VelocityGainScale` kv₀.
    VelocityGainScale,
    /// Centre of mass of every body in its frame, m, shape \[body\]\[3\]. The inertia about it stays.
    Com,
    /// Inertia added to the diagonal of M by the rotor of every joint, kg or kg·m², shape \[joint\].
    Armature,
    /// Damping of every joint, N·s/m or N·m·s/rad, shape \[joint\].
    Damping,
    /// Stiffness of the spring of every joint, N/m or N·m/rad, shape \[joint\]. A joint without a spring in the model has 0 in every world.
    Stiffness,
    /// Lower and upper bound of the control of every actuator, shape \[nu\]\[2\]. One without bounds in the model has 0 0 in every world.
    ControlRange,
    /// Lower and upper bound of the force of every actuator, N or N·m, shape \[nu\]\[2\]. One without bounds in the model has 0 0 in every world.
    ForceRange,
    /// Newton's coefficient of restitution where the model gives none, shape \[1\]: [`crate::Settings::restitution`] of one world.
    Restitution,
    /// Compliance of contacts, m/s per N·s, shape \[1\]: [`crate::Settings::compliance`] of one world.
    Compliance,
    /// Size of every geom, m, as [`Shape::size`], shape \[geom\]\[3\]: radius and half length, half axes, or half edges, and zeros for what a shape has not got.
    /// Planes and meshes have 0 0 0 in every world. Mass and inertia stay what they are: scale them with `MassScale`. Recordings draw the model's sizes. Not with
    /// [`crate::solver::FrictionLaw::Patch`], nor where tendons go around geoms.
    GeomSize,
    /// Force on every body at its centre of mass (N), then moment (N·m), world axes, as MuJoCo's `xfrc_applied`, shape \[body\]\[6\]; kept until changed or
    /// until the world is reset.
    Push,
    /// Pose of every mocap body, in the order of their indices: position (m), then orientation (w x y z, of any length above 0), world axes, shape \[mocap body\]\[7\]; kept until changed
    /// or until the world is reset. Bodies and geoms that are fixed to it go with it, what touches it feels a surface at rest, and a weld pulls with it.
    MocapPose,
}

/// How many there are.
pub(crate) const PARAMETERS: usize = 16;

impl Parameter {
    /// All of them, in order.
    pub const ALL: [Self; PARAMETERS] = [
        Self::Gravity,
        Self::MassScale,
        Self::Friction,
        Self::GainScale,
        Self::VelocityGainScale,
        Self::Com,
        Self::Armature,
        Self::Damping,
        Self::Stiffness,
        Self::ControlRange,
        Self::ForceRange,
        Self::Restitution,
        Self::Compliance,
        Self::GeomSize,
        Self::Push,
        Self::MocapPose,
    ];

    /// Its name in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gravity => "gravity",
            Self::MassScale => "mass_scale",
            Self::Friction => "friction",
            Self::GainScale => "gain_scale",
            Self::VelocityGainScale => "velocity_gain_scale",
            Self::Com => "com",
            Self::Armature => "armature",
            Self::Damping => "damping",
            Self::Stiffness => "stiffness",
            Self::ControlRange => "control_range",
            Self::ForceRange => "force_range",
            Self::Restitution => "restitution",
            Self::Compliance => "compliance",
            Self::GeomSize => "geom_size",
            Self::Push => "push",
            Self::MocapPose => "mocap_pose",
        }
    }

    /// The numbers of a world that has none of its own; `surface`: restitution and compliance of the settings.
    pub(crate) fn shared(self, model: &Model, surface: [f64; 2]) -> Vec<f64> {
        let range = |range: Option<[f64; 2]>| range.unwrap_or_default();
        match self {
            Self::Gravity => model.gravity.as_slice().to_vec(),
            Self::MassScale => vec![1.0; model.bodies.len()],
            Self::Friction => model.geoms.iter().map(|g| g.friction[0]).collect(),
            Self::GainScale | Self::VelocityGainScale => vec![1.0; model.nu()],
            Self::Com => model.bodies.iter().flat_map(|b| b.com.iter().copied()).collect(),
            Self::Armature => model.joints.iter().map(|j| j.armature).collect(),
            Self::Damping => model.joints.iter().map(|j| j.damping).collect(),
            Self::Stiffness => model.joints.iter().map(|j| j.stiffness).collect(),
            Self::ControlRange => model.actuators.iter().flat_map(|a| range(a.control_range)).collect(),
            Self::ForceRange => model.actuators.iter().flat_map(|a| range(a.force_range)).collect(),
            Self::Restitution => vec![surface[0]],
            Self::Compliance => vec![surface[1]],
            Self::GeomSize => model.geoms.iter().flat_map(|g| g.shape.size()).collect(),
            Self::Push => vec![0.0; 6 * model.bodies.len()],
            Self::MocapPose => model.mocap_rest(),
        }
    }

    /// How many numbers a world has of it.
    pub fn len(self, model: &Model) -> usize {
        match self {
            Self::Gravity => 3,
            Self::MassScale => model.bodies.len(),
            Self::Friction => model.geoms.len(),
            Self::GainScale | Self::VelocityGainScale => model.nu(),
            Self::Com => 3 * model.bodies.len(),
            Self::Armature | Self::Damping | Self::Stiffness => model.joints.len(),
            Self::ControlRange | Self::ForceRange => 2 * model.nu(),
            Self::Restitution | Self::Compliance => 1,
            Self::GeomSize => 3 * model.geoms.len(),
            Self::Push => 6 * model.bodies.len(),
            Self::MocapPose => POSE_LEN * model.mocap_bodies().len(),
        }
    }

    /// The numbers of a world as the stages take them: behind sizes stand the bounding radii, shape \[geom\], behind poses what follows of them ([`mocap::completed`]).
    pub(crate) fn completed<'a>(self, model: &Model, values: &'a [f64]) -> Cow<'a, [f64]> {
        if self == Self::MocapPose {
            return Cow::Owned(mocap::completed(model, values));
        }
        if self != Self::GeomSize {
            return Cow::Borrowed(values);
        }
        let sizes = values.as_chunks::<3>().0;
        let radii = model.geoms.iter().zip(sizes).map(|(geom, size)| turning_radius(&geom.shape.resized(*size)));
        Cow::Owned(values.iter().copied().chain(radii).collect())
    }

    /// What is wrong with the numbers of a world, shape \[len\].
    pub(crate) fn mistake(self, model: &Model, values: &[f64]) -> Option<String> {
        let name = self.name();
        let allows = |x: f64| {
            x.is_finite()
                && match self {
                    Self::Gravity
                    | Self::Com
                    | Self::ControlRange
                    | Self::ForceRange
                    | Self::Push
                    | Self::MocapPose => true,
                    Self::MassScale => x > 0.0,
                    Self::Restitution => (0.0..=1.0).contains(&x),
                    _ => x >= 0.0,
                }
        };
        if let Some((k, x)) = values.iter().enumerate().find(|(_, x)| !allows(**x)) {
            let needs = match self {
                _ if !x.is_finite() => "is not finite",
                Self::MassScale => "must be above 0",
                Self::Restitution => "must be from 0 to 1",
                _ => "must not be negative",
            };
            return Some(format!("{x} is no {name}: entry {k} {needs}"));
        }
        let range_of = |u: usize| match self {
            Self::ControlRange => model.actuators[u].control_range,
            _ => model.actuators[u].force_range,
        };
        match self {
            Self::Stiffness => {
                let without = |(joint, x): &(usize, &f64)| **x != 0.0 && model.joints[*joint].stiffness == 0.0;
                let (joint, x) = values.iter().enumerate().find(without)?;
                Some(format!("{x} is no {name} of joint {joint}: it has no spring; give it one in the model"))
            }
            Self::ControlRange | Self::ForceRange => {
                let wrong = |(u, x): &(usize, &[f64])| x[0] > x[1] || (range_of(*u).is_none() && **x != [0.0, 0.0]);
                let (u, x) = values.chunks_exact(2).enumerate().find(wrong)?;
                let why = if x[0] > x[1] { "the bounds are crossed" } else { "it has none; give it one in the model" };
                Some(format!("[{}, {}] is no {name} of actuator {u}: {why}", x[0], x[1]))
            }
            Self::GeomSize => {
                let sizes = values.as_chunks::<3>().0;
                let (geom, shape, size) = model.geoms.iter().zip(sizes).enumerate().find_map(|(i, (geom, size))| {
                    let own = geom.shape.resized(*size);
                    (own.size() != *size || !own.is_sized()).then_some((i, &geom.shape, size))
                })?;
                let needs = match shape {
                    Shape::Plane | Shape::HeightField(_) | Shape::Hull(_) => {
                        "its size is the same in all worlds, and stands here as 0 0 0"
                    }
                    Shape::Sphere { .. } => "it has a radius, then two zeros",
                    Shape::Capsule { .. } | Shape::Cylinder { .. } => "it has a radius and a half length, then a zero",
                    Shape::Ellipsoid { .. } => "it has three half axes",
                    Shape::Box { .. } => "it has three half edges",
                };
                Some(format!("{size:?} is no {name} of geom {geom}, a {}: {needs}", shape.name()))
            }
            Self::MocapPose => {
                let without = |(_, x): &(usize, &[f64; POSE_LEN])| x[3..].iter().all(|x| *x == 0.0);
                let (k, _) = values.as_chunks().0.iter().enumerate().find(without)?;
                Some(format!("0 0 0 0 is no orientation of mocap body {k}: at rest it is 1 0 0 0 (w x y z)"))
            }
            _ => None,
        }
    }
}

/// Bounding radius of a shape, m; 0 of a plane, which does not turn.
pub(crate) fn turning_radius(shape: &Shape) -> f64 {
    Some(shape.bounding_radius()).filter(|r| r.is_finite()).unwrap_or(0.0)
}

/// Parameters of one tile of worlds, shapes as in [`Parameter`], `[len][lane]`.
#[derive(Debug, Clone, Copy)]
pub struct TileParameters<'a, R> {
    /// See [`Parameter::Gravity`].
    pub gravity: &'a [R],
    /// See [`Parameter::MassScale`].
    pub mass_scale: &'a [R],
    /// See [`Parameter::Friction`].
    pub friction: &'a [R],
    /// See [`Parameter::GainScale`].
    pub gain_scale: &'a [R],
    /// See [`Parameter::VelocityGainScale`].
    pub velocity_gain_scale: &'a [R],
    /// See [`Parameter::Com`].
    pub com: &'a [R],
    /// See [`Parameter::Armature`].
    pub armature: &'a [R],
    /// See [`Parameter::Damping`].
    pub damping: &'a [R],
    /// See [`Parameter::Stiffness`].
    pub stiffness: &'a [R],
    /// See [`Parameter::ControlRange`].
    pub control_range: &'a [R],
    /// See [`Parameter::ForceRange`].
    pub force_range: &'a [R],
    /// See [`Parameter::Restitution`].
    pub restitution: &'a [R],
    /// See [`Parameter::Compliance`].
    pub compliance: &'a [R],
    /// See [`Parameter::GeomSize`], then the bounding radius of every geom, m, shape \[geom\]; empty while all worlds have the sizes of the model.
    pub geom_size: &'a [R],
    /// See [`Parameter::Push`]; empty while no world of the batch has been pushed.
    pub push: &'a [R],
    /// See [`Parameter::MocapPose`], and what follows of the poses; empty where the model has no mocap bodies.
    pub mocap_pose: &'a [R],
}

impl<'a, R> TileParameters<'a, R> {
    /// From the numbers of every parameter.
    #[inline(always)]
    pub fn new(of: impl Fn(Parameter) -> &'a [R]) -> Self {
        Self {
            gravity: of(Parameter::Gravity),
            mass_scale: of(Parameter::MassScale),
            friction: of(Parameter::Friction),
            gain_scale: of(Parameter::GainScale),
            velocity_gain_scale: of(Parameter::VelocityGainScale),
            com: of(Parameter::Com),
            armature: of(Parameter::Armature),
            damping: of(Parameter::Damping),
            stiffness: of(Parameter::Stiffness),
            control_range: of(Parameter::ControlRange),
            force_range: of(Parameter::ForceRange),
            restitution: of(Parameter::Restitution),
            compliance: of(Parameter::Compliance),
            geom_size: of(Parameter::GeomSize),
            push: of(Parameter::Push),
            mocap_pose: of(Parameter::MocapPose),
        }
    }

    /// The numbers of one parameter.
    pub fn of(&self, parameter: Parameter) -> &'a [R] {
        match parameter {
            Parameter::Gravity => self.gravity,
            Parameter::MassScale => self.mass_scale,
            Parameter::Friction => self.friction,
            Parameter::GainScale => self.gain_scale,
            Parameter::VelocityGainScale => self.velocity_gain_scale,
            Parameter::Com => self.com,
            Parameter::Armature => self.armature,
            Parameter::Damping => self.damping,
            Parameter::Stiffness => self.stiffness,
            Parameter::ControlRange => self.control_range,
            Parameter::ForceRange => self.force_range,
            Parameter::Restitution => self.restitution,
            Parameter::Compliance => self.compliance,
            Parameter::GeomSize => self.geom_size,
            Parameter::Push => self.push,
            Parameter::MocapPose => self.mocap_pose,
        }
    }
}

/// The parameters of worlds that have none of their own.
#[derive(Debug, Clone)]
pub struct SharedParameters<R> {
    /// In the order of [`Parameter::ALL`]; nobody is pushed, and sizes are the model's.
    values: [Vec<R>; PARAMETERS],
}

impl<R: Real> SharedParameters<R> {
    /// Of a model; contacts neither bounce nor yield where it does not say so.
    pub fn new(model: &Model) -> Self {
        let of = |parameter: Parameter| match parameter {
            Parameter::Push | Parameter::GeomSize => Vec::new(),
            _ => {
                let values = parameter.shared(model, [0.0; 2]);
                parameter.completed(model, &values).iter().map(|x| R::constant(*x)).collect()
            }
        };
        Self { values: Parameter::ALL.map(of) }
    }
    /// As the stages take them.
    pub fn tile(&self) -> TileParameters<'_, R> {
        TileParameters::new(|parameter| &self.values[parameter as usize])
    }
}
