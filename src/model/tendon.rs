//! Fixed tendons.

use super::Softness;

/// A fixed tendon: a length L = Σ c q over hinges and slides, of one joint rad or m, that may have limits, a spring, damping and dry friction. It has no path in space, and no mass.
///
/// Its damping and that of actuators on it count at the velocity before the step, as in MuJoCo with Euler; that of joints is implicit.
#[derive(Debug, Clone)]
pub struct Tendon {
    /// Name; empty if it has none.
    pub name: String,
    /// Its joints, hinges and slides, each once, with their coefficients c.
    pub joints: Vec<(usize, f64)>,
    /// Least and largest length, if limited.
    pub range: Option<[f64; 2]>,
    /// Distance from the limit at which it acts, rad or m.
    pub limit_margin: f64,
    /// Softness of its limits.
    pub limit_softness: Softness,
    /// Stiffness of its spring, N/m or N·m/rad.
    pub stiffness: f64,
    /// Lengths between which its spring is slack.
    pub slack: [f64; 2],
    /// Damping, N·s/m or N·m·s/rad.
    pub damping: f64,
    /// Most dry friction, N or N·m.
    pub friction_loss: f64,
    /// Softness of its dry friction.
    pub friction_softness: Softness,
}

impl Tendon {
    /// A tendon of joints with coefficients, without limits, spring, damping or friction.
    pub fn new(joints: Vec<(usize, f64)>) -> Self {
        Self {
            name: String::new(),
            joints,
            range: None,
            limit_margin: 0.0,
            limit_softness: Softness::default(),
            stiffness: 0.0,
            slack: [0.0; 2],
            damping: 0.0,
            friction_loss: 0.0,
            friction_softness: Softness::default(),
        }
    }
}
