//! What can be read of every world at once, beside its state; and what of it state, parameters and control tell by themselves, in any number type.

mod evaluate;
mod evaluation;
mod rays;
mod sensors;

pub(crate) use evaluate::evaluate;
pub(crate) use evaluation::{Evaluation, Now, pose_in, subtree_com};
pub(crate) use sensors::within_cutoff;

use crate::error::{Error, Result};
use crate::model::{Frame, Model, Reading};

/// The axes that a vector is given in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axes {
    /// Those of the world.
    World,
    /// Those of the frame that it is about.
    Local,
}

/// Something that [`crate::Worlds::observe_into`] writes. World axes unless it says otherwise; all of the state as it is now, but contact and limit forces,
/// accelerations, and forces between bodies, which are those of the last call of `step` and 0 for worlds that were reset since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quantity {
    /// All positions q, shape \[nq\].
    Positions,
    /// All velocities v, shape \[nv\].
    Velocities,
    /// Origin of a frame, m, shape \[3\].
    Position(Frame),
    /// Orientation of a frame, w x y z, shape \[4\].
    Orientation(Frame),
    /// Velocity of the origin of a frame, m/s, shape \[3\].
    LinearVelocity(Frame, Axes),
    /// Angular velocity of a frame, rad/s, shape \[3\].
    AngularVelocity(Frame, Axes),
    /// Direction of gravity in the axes of a frame, a unit vector, 0 without gravity, shape \[3\].
    ProjectedGravity(Frame),
    /// Centre of mass of a body and all that hangs from it, m, shape \[3\]; of body 0: of everything.
    SubtreeCom(usize),
    /// Its velocity, m/s, shape \[3\].
    SubtreeVelocity(usize),
    /// Inertia of a body about the centre of mass c of its tree (of the child of the world that it hangs from), as MuJoCo's `cinert`: xx, yy, zz, xy, xz,
    /// yz (kg·m²), mass times the way from c to its own centre of mass (kg·m), mass (kg), shape \[10\].
    CentralInertia(usize),
    /// Velocity of a body at that point, as MuJoCo's `cvel`: angular (rad/s), then linear (m/s), shape \[6\].
    CentralVelocity(usize),
    /// Contact force on a body in the last substep about that point, as MuJoCo's `cfrc_ext`: moment (N·m), then force (N), shape \[6\]. Where each evaluation of Runge-Kutta solves its own contacts (soft constraints), in the last of them.
    CentralContact(usize),
    /// Contact force on a geom, or on the body of another frame, mean over the substeps of the last call: force (N), then moment about the origin of the
    /// frame (N·m), shape \[6\].
    Contact(Frame),
    /// Contact force on a geom, or on the body of another frame, from a geom, or from the body of another frame, mean over the substeps of the last call:
    /// force (N), then moment about the origin of the first frame (N·m), shape \[6\]. See [`crate::Worlds::feel_contacts_between`].
    ContactBetween(Frame, Frame),
    /// Force of every actuator before its gear, N or N·m, shape \[nu\].
    ActuatorForce,
    /// Force of the actuators on every degree of freedom, as MuJoCo's `qfrc_actuator`, but for adhesion, which follows from contacts, N or N·m, shape \[nv\].
    JointActuatorForce,
    /// Length of every tendon, of one joint rad or m, shape \[tendon\].
    TendonLength,
    /// How fast they grow, of one joint rad/s or m/s, shape \[tendon\].
    TendonVelocity,
    /// Force of limits (of hinges, slides and tendons) and of dry friction on every degree of freedom in the last substep, N or N·m, shape \[nv\].
    LimitForce,
    /// What a sensor of the model reads, see [`crate::model::Reading`].
    Sensor(usize),
}

impl Quantity {
    /// How many numbers it has.
    pub fn len(self, model: &Model) -> usize {
        match self {
            Self::Positions => model.nq(),
            Self::Velocities | Self::JointActuatorForce | Self::LimitForce => model.nv(),
            Self::ActuatorForce => model.nu(),
            Self::TendonLength | Self::TendonVelocity => model.tendons.len(),
            Self::Sensor(i) => model.sensors.get(i).and_then(|s| s.reading).map_or(0, Reading::len),
            Self::Orientation(_) => 4,
            Self::CentralInertia(_) => 10,
            Self::CentralVelocity(_) | Self::CentralContact(_) | Self::Contact(_) | Self::ContactBetween(..) => 6,
            _ => 3,
        }
    }

    /// Whether it is of contacts, or looks back at the last substep, which worlds have to be told before: see [`crate::Worlds::feel_contacts`].
    pub fn is_felt(self, model: &Model) -> bool {
        matches!(self, Self::CentralContact(_) | Self::Contact(_) | Self::ContactBetween(..)) || self.looks_back(model)
    }
    /// Whether state, parameters and control tell it, without contacts, impulses and the past: what a device evaluates too, see [`crate::Worlds::bring_back`].
    pub fn is_of_state(self, model: &Model) -> bool {
        self != Self::LimitForce && !self.is_felt(model)
    }
    /// Whether it may depend on control.
    pub(crate) fn is_of_actuators(self) -> bool {
        matches!(self, Self::ActuatorForce | Self::JointActuatorForce | Self::Sensor(_))
    }
    /// Whether it is of a sensor that looks back at the last substep.
    pub(crate) fn looks_back(self, model: &Model) -> bool {
        let Self::Sensor(i) = self else { return false };
        model.sensors.get(i).and_then(|sensor| sensor.reading).is_some_and(Reading::looks_back)
    }

    /// Whether the model has what it is about.
    ///
    /// # Errors
    /// [`Error::Argument`] that says what is missing, [`Error::Unsupported`] for a sensor that this version does not evaluate.
    pub fn check(self, model: &Model) -> Result<()> {
        let of_frame = |frame| match frame {
            Frame::Body(b) | Frame::Com(b) => ("body", b, model.bodies.len()),
            Frame::Geom(g) => ("geom", g, model.geoms.len()),
            Frame::Site(s) => ("site", s, model.sites.len()),
        };
        let (kind, index, count) = match self {
            Self::ContactBetween(first, second) => {
                Self::Contact(first).check(model)?;
                of_frame(second)
            }
            Self::Position(frame)
            | Self::Orientation(frame)
            | Self::LinearVelocity(frame, _)
            | Self::AngularVelocity(frame, _)
            | Self::ProjectedGravity(frame)
            | Self::Contact(frame) => of_frame(frame),
            Self::SubtreeCom(b)
            | Self::SubtreeVelocity(b)
            | Self::CentralInertia(b)
            | Self::CentralVelocity(b)
            | Self::CentralContact(b) => ("body", b, model.bodies.len()),
            Self::Sensor(i) => match model.sensors.get(i) {
                Some(sensor) if sensor.reading.is_none() => {
                    let message =
                        format!("sensor \"{}\": {} is not evaluated by this version", sensor.name, sensor.kind);
                    return Err(Error::Unsupported(message));
                }
                _ => ("sensor", i, model.sensors.len()),
            },
            _ => return Ok(()),
        };
        if index < count {
            return Ok(());
        }
        Err(Error::argument("quantity", format!("{kind} {index}: the model has {count}")))
    }
}
