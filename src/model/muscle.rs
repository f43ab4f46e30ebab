//! Muscles: actuators that pull more or less with their length and with how fast it changes.

/// The muscle of an actuator, with the curves of MuJoCo 4.0's actuator `muscle`: f = −F (FL(L) FV(V) a + FP(L)), with the activation a, the length L and the velocity V in units of the muscle's own length at rest.
#[derive(Debug, Clone, PartialEq)]
pub struct Muscle {
    /// The actuator.
    pub actuator: usize,
    /// Shortest and longest length of the actuator, m.
    pub length_range: [f64; 2],
    /// L at these.
    pub range: [f64; 2],
    /// Peak active force F at rest, N.
    pub force: f64,
    /// Least and largest L at which it can pull.
    pub reach: [f64; 2],
    /// Velocity at which its active force vanishes as it shortens, lengths at rest a second.
    pub fastest: f64,
    /// Passive force at the largest L, over F.
    pub passive: f64,
    /// Active force as it is stretched fast, over F.
    pub stretched: f64,
}

impl Muscle {
    /// Length of the muscle itself at rest, m.
    pub(crate) fn rest_length(&self) -> f64 {
        (self.length_range[1] - self.length_range[0]) / (self.range[1] - self.range[0])
    }
}
