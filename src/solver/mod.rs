//! Solving many independent blocks at once.

mod batch;

pub use batch::{
    Batch, BlockPlace, BlockSize, Group, REPORT_FLOOR, REPORT_ITERATIONS, REPORT_LEN, REPORT_LIVE, REPORT_RESIDUAL,
};

/// How friction bounds the tangential impulse of a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FrictionLaw {
    /// ‖λ_t‖ ≤ μ λ_n with maximum dissipation: Coulomb's law.
    #[default]
    Cone,
    /// |λ_t| ≤ μ λ_n on each tangent axis by itself: a boxed linear complementarity problem.
    Box,
}
