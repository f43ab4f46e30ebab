//! Actuators and what they act on.

use super::{JointKind, Model};

/// A force on a joint, tendon or site: gear · clamp(gain · clamp(u) + bias), with gain = g₀ + g₁ l + g₂ l̇ and
/// bias = b₀ + b₁ l + b₂ l̇, where the length l = gear · q. In the place of clamp(u) stands its activation, if it has one ([`Model::activations`]); muscles pull by curves in the place
/// of gain and bias ([`Model::muscles`]).
#[derive(Debug, Clone)]
pub struct Actuator {
    /// Name; empty if it has none.
    pub name: String,
    /// What it acts on.
    pub transmission: Transmission,
    /// Gear; the first entry for hinge, slide and tendon, three for a ball, six for a free joint, and for a site: force and moment in its axes, or in those of the site that it is seen from.
    pub gear: [f64; 6],
    /// Bounds of the control, if bounded.
    pub control_range: Option<[f64; 2]>,
    /// Bounds of the force before the gear, if bounded.
    pub force_range: Option<[f64; 2]>,
    /// Coefficients g of the gain.
    pub gain: [f64; 3],
    /// Coefficients b of the bias.
    pub bias: [f64; 3],
}

impl Actuator {
    /// Whether its force is k (u − l), with damping or an offset or without: where l is an angle, the shorter way to u counts.
    pub(crate) fn is_position_servo(&self) -> bool {
        self.gain[0] != 0.0 && self.gain[1..] == [0.0; 2] && self.bias[1] == -self.gain[0]
    }
}

/// What an actuator acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transmission {
    /// A joint.
    Joint(usize),
    /// A tendon: its force shortens it, on each of its joints times that one's coefficient, or along its path.
    Tendon(usize),
    /// A site: its force is one on the body, at the origin and along the axes of the site, as that of a rotor or a thruster.
    Site(usize),
    /// A site as another one sees it: its length is the way from the other one to it, and the rotation vector of its turn against that, in the axes of the other; its force acts at the
    /// site along these axes, and back at the other.
    SiteFrom {
        /// Whose pose it is.
        site: usize,
        /// As seen from here.
        reference: usize,
    },
    /// A body, which its force pulls to all that it touches: an equal part of it for every contact of the body, along the normal, at both of the bodies that touch there. Contacts
    /// count from the distance of margin and gap on ([`super::CollisionPair::gap`]).
    Body(usize),
}

impl Transmission {
    /// Whether it has one coordinate: hinges, slides and tendons do.
    pub(crate) fn is_scalar(self, model: &Model) -> bool {
        match self {
            Self::Joint(joint) => model.joints[joint].kind.nv() == 1,
            Self::Tendon(_) => true,
            Self::Site(_) | Self::SiteFrom { .. } | Self::Body(_) => false,
        }
    }

    /// Whether it has a length: that, or one along the gear of a ball joint or of a site as seen from another.
    pub(crate) fn has_length(self, model: &Model) -> bool {
        match self {
            Self::Joint(joint) => model.joints[joint].kind != JointKind::Free,
            Self::Tendon(_) | Self::SiteFrom { .. } => true,
            Self::Site(_) | Self::Body(_) => false,
        }
    }
}
