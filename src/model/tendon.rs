//! Tendons.

use super::{Model, Softness, Waypoint};

/// A tendon: a length L that may have limits, a spring, damping and dry friction, and no mass. That of a fixed one is L = Σ c q over hinges and slides, of one joint rad or m; that of a spatial one is
/// that of its path through sites, around geoms and by pulleys, m.
///
/// Its damping and that of actuators on it count at the velocity before the step, as in MuJoCo with Euler; that of joints is implicit.
#[derive(Debug, Clone)]
pub struct Tendon {
    /// Name; empty if it has none.
    pub name: String,
    /// Its joints, hinges and slides, each once, with their coefficients c; none of a spatial one.
    pub joints: Vec<(usize, f64)>,
    /// The path of a spatial one, from site to site; none of a fixed one.
    pub path: Vec<Waypoint>,
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
            path: Vec::new(),
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

    /// A spatial tendon along a path, without limits, spring, damping or friction.
    pub fn along(path: Vec<Waypoint>) -> Self {
        Self { path, ..Self::new(Vec::new()) }
    }

    /// Whether its length is that of a path.
    pub(crate) fn is_spatial(&self) -> bool {
        !self.path.is_empty()
    }

    /// The degrees of freedom that its length depends on.
    pub(crate) fn dofs(&self, model: &Model) -> Vec<usize> {
        let bodies = self.path.iter().filter_map(|part| match *part {
            Waypoint::Site(site) => Some(model.sites[site].body),
            Waypoint::Around { geom, .. } => Some(model.geoms[geom].body),
            Waypoint::Pulley(_) => None,
        });
        let chains = bodies.filter_map(|body| model.last_dof(body)).flat_map(|dof| &model.dofs[dof].ancestors).copied();
        let mut dofs: Vec<usize> =
            chains.chain(self.joints.iter().map(|(joint, _)| model.joints[*joint].v_start)).collect();
        dofs.sort_unstable();
        dofs.dedup();
        dofs
    }
}
