//! What the sensors of a model file read, with MuJoCo's meaning.

use super::JointKind;

/// A frame that moves with a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// A body's own.
    Body(usize),
    /// The axes of a body, at its centre of mass.
    Com(usize),
    /// A geom's.
    Geom(usize),
    /// A site's.
    Site(usize),
}

impl Frame {
    /// The body that it moves with.
    pub fn body(self, model: &super::Model) -> usize {
        match self {
            Self::Body(b) | Self::Com(b) => b,
            Self::Geom(g) => model.geoms[g].body,
            Self::Site(s) => model.sites[s].body,
        }
    }
}

impl Frame {
    /// Whether there is such a frame.
    pub(super) fn exists(self, model: &super::Model) -> bool {
        match self {
            Self::Body(b) | Self::Com(b) => b < model.bodies.len(),
            Self::Geom(g) => g < model.geoms.len(),
            Self::Site(s) => s < model.sites.len(),
        }
    }
}

/// What is read of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameReading {
    /// Its origin, m.
    Position,
    /// Its orientation, w x y z.
    Orientation,
    /// One of its axes, a unit vector.
    Axis(usize),
    /// Velocity of its origin, m/s.
    LinearVelocity,
    /// Its angular velocity, rad/s.
    AngularVelocity,
    /// Acceleration of its origin against free fall in the last substep, m/s²: what rests on the ground reads −g.
    LinearAcceleration,
    /// Its angular acceleration in the last substep, rad/s².
    AngularAcceleration,
}

/// What a sensor reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Position of a hinge or slide, rad or m.
    JointPosition(usize),
    /// Velocity of a hinge or slide, rad/s or m/s.
    JointVelocity(usize),
    /// Orientation of a ball joint, w x y z.
    BallOrientation(usize),
    /// Angular velocity of a ball joint, rad/s, axes of its body.
    BallVelocity(usize),
    /// Length of a tendon, of one joint rad or m.
    TendonPosition(usize),
    /// How fast it grows, of one joint rad/s or m/s.
    TendonVelocity(usize),
    /// Gear times the length of what an actuator acts on, see [`super::Transmission`].
    ActuatorPosition(usize),
    /// Gear times its velocity.
    ActuatorVelocity(usize),
    /// Force of an actuator before its gear, N or N·m.
    ActuatorForce(usize),
    /// Force of all actuators on a hinge or slide, N or N·m.
    JointActuatorForce(usize),
    /// Something of a frame, in world axes; or as seen from another frame, in that one's axes.
    Frame(FrameReading, Frame, Option<Frame>),
    /// Angular velocity of a site in its own axes, rad/s.
    Gyro(usize),
    /// Velocity of the origin of a site in its own axes, m/s.
    Velocimeter(usize),
    /// Centre of mass of a body and what hangs from it, m.
    SubtreeCom(usize),
    /// Its velocity, m/s.
    SubtreeVelocity(usize),
    /// Acceleration of the origin of a site against free fall in the last substep, in its own axes, m/s²: what rests on the ground reads −g.
    Accelerometer(usize),
    /// Force that the parent of the body of a site exerts on it through their joints in the last substep, in the axes of the site, N.
    Force(usize),
    /// Moment of that force about the origin of the site, in its axes, N·m.
    Torque(usize),
    /// Distance from the origin of a site along its z axis to the nearest surface of a geom of another body that is seen ([`super::Geom::is_seen`]), m; −1 where there is none.
    Range(usize),
    /// Sum of the normal forces, N, in the last substep, of the contacts of the body of a site that lie in the volume of the site, or from which the
    /// way straight out of the body meets it.
    Touch(usize),
}

impl Reading {
    /// How many numbers it has.
    #[expect(clippy::len_without_is_empty, reason = "no sensor is without numbers")]
    pub fn len(self) -> usize {
        match self {
            Self::JointPosition(_)
            | Self::JointVelocity(_)
            | Self::TendonPosition(_)
            | Self::TendonVelocity(_)
            | Self::ActuatorPosition(_)
            | Self::ActuatorVelocity(_)
            | Self::ActuatorForce(_)
            | Self::JointActuatorForce(_)
            | Self::Range(_)
            | Self::Touch(_) => 1,
            Self::BallOrientation(_) | Self::Frame(FrameReading::Orientation, ..) => 4,
            _ => 3,
        }
    }
    /// Whether there is what it reads.
    pub(super) fn exists(self, model: &super::Model) -> bool {
        let is = |joint: usize, kinds: &[JointKind]| model.joints.get(joint).is_some_and(|j| kinds.contains(&j.kind));
        match self {
            Self::JointPosition(j) | Self::JointVelocity(j) | Self::JointActuatorForce(j) => {
                is(j, &[JointKind::Hinge, JointKind::Slide])
            }
            Self::BallOrientation(j) | Self::BallVelocity(j) => is(j, &[JointKind::Ball]),
            Self::TendonPosition(t) | Self::TendonVelocity(t) => t < model.tendons.len(),
            Self::ActuatorPosition(u) | Self::ActuatorVelocity(u) | Self::ActuatorForce(u) => u < model.actuators.len(),
            Self::Frame(reading, frame, from) => {
                let has_axis = !matches!(reading, FrameReading::Axis(axis) if axis > 2);
                has_axis && frame.exists(model) && from.is_none_or(|from| from.exists(model))
            }
            Self::SubtreeCom(b) | Self::SubtreeVelocity(b) => b < model.bodies.len(),
            Self::Gyro(s)
            | Self::Velocimeter(s)
            | Self::Accelerometer(s)
            | Self::Force(s)
            | Self::Torque(s)
            | Self::Range(s)
            | Self::Touch(s) => s < model.sites.len(),
        }
    }
    /// Whether it is of the last substep rather than of the state as it is now: such is kept for those who ask before the step, see
    /// [`crate::Worlds::feel_contacts`].
    pub fn looks_back(self) -> bool {
        matches!(
            self,
            Self::Accelerometer(_)
                | Self::Force(_)
                | Self::Torque(_)
                | Self::Touch(_)
                | Self::Frame(FrameReading::LinearAcceleration | FrameReading::AngularAcceleration, ..)
        )
    }
    /// Whether it is bounded by a cutoff: directions are not.
    pub fn is_bounded(self) -> bool {
        !matches!(self, Self::BallOrientation(_) | Self::Frame(FrameReading::Orientation | FrameReading::Axis(_), ..))
    }
}

/// A sensor that the model file names.
#[derive(Debug, Clone)]
pub struct Sensor {
    /// Name; empty if it has none.
    pub name: String,
    /// The element's tag, such as `accelerometer`.
    pub kind: String,
    /// What it reads; none: this version does not evaluate it.
    pub reading: Option<Reading>,
    /// Bound of the absolute value of what it reads, in its unit; 0: none.
    pub cutoff: f64,
}
