//! The mixed (12) and the standard form (14, 15) of articulated systems in contact, from their mass matrix.
//!
//! Equation numbers are those of Tan, Siu & Liu, as in [`super::stewart_trinkle`], where they are written out.

use super::problem::{Law, Problem};
use crate::error::{Error, Result};
use nalgebra::{DMatrix, DVector};

/// Articulated systems in contact: the data of (9), for m degrees of freedom, p contacts and d directions each.
#[derive(Clone, Debug, PartialEq)]
pub struct Articulated {
    /// `M`, m × m, of all systems (block diagonal).
    pub mass_matrix: DMatrix<f64>,
    /// `N`, m × p: column j is `Jᵀ n_j`, (8).
    pub normals: DMatrix<f64>,
    /// `B`, m × p d: columns `Jᵀ D_j`, opposite directions in pairs, (8).
    pub directions: DMatrix<f64>,
    /// μ, p.
    pub friction: DVector<f64>,
    /// τ* of (5), m.
    pub momentum: DVector<f64>,
    /// Δt, s.
    pub time_step: f64,
}

impl Articulated {
    /// Directions of one contact, d = columns of B / columns of N.
    pub fn directions_per_contact(&self) -> usize {
        self.directions.ncols().checked_div(self.normals.ncols()).unwrap_or(0)
    }

    /// `E`, p d × p, (10).
    pub fn binary(&self) -> DMatrix<f64> {
        let d = self.directions_per_contact().max(1);
        DMatrix::from_fn(self.directions.ncols(), self.normals.ncols(), |i, j| f64::from(u8::from(i / d == j)))
    }

    fn check(&self) -> Result<()> {
        let (m, p) = (self.mass_matrix.nrows(), self.normals.ncols());
        let fits = self.mass_matrix.ncols() == m
            && self.normals.nrows() == m
            && self.directions.nrows() == m
            && self.momentum.len() == m
            && self.friction.len() == p
            && self.directions.ncols() == p * self.directions_per_contact();
        if fits && self.time_step > 0.0 {
            return Ok(());
        }
        let message = "M is m x m, N m x p, B m x p d, friction p, momentum m, the time step positive";
        Err(Error::argument("articulated", message))
    }

    /// The mixed form (12): unknowns `(q̇, f_n, f_d, λ)`, the first m rows bilateral.
    ///
    /// # Errors
    /// Shapes that do not fit.
    pub fn mixed(&self) -> Result<Problem> {
        self.check()?;
        let (m, p, pd) = (self.mass_matrix.nrows(), self.normals.ncols(), self.directions.ncols());
        let (e, dt) = (self.binary(), self.time_step);
        let mut a = DMatrix::zeros(m + 2 * p + pd, m + 2 * p + pd);
        a.view_mut((0, 0), (m, m)).copy_from(&self.mass_matrix);
        a.view_mut((0, m), (m, p)).copy_from(&(&self.normals * -dt));
        a.view_mut((0, m + p), (m, pd)).copy_from(&(&self.directions * -dt));
        a.view_mut((m, 0), (p, m)).copy_from(&self.normals.transpose());
        a.view_mut((m + p, 0), (pd, m)).copy_from(&self.directions.transpose());
        self.friction_blocks(&e, &mut a, m);
        let mut q = DVector::zeros(m + 2 * p + pd);
        q.rows_mut(0, m).copy_from(&-&self.momentum);
        let mut laws = vec![Law::BILATERAL; m];
        laws.extend(vec![Law::UNILATERAL; 2 * p + pd]);
        Ok(Problem { name: "mixed form (12)".into(), delassus: a, bias: q, laws })
    }

    /// The standard form (14, 15): unknowns `(f_n, f_d, λ)`.
    ///
    /// # Errors
    /// Shapes that do not fit, or a singular mass matrix.
    pub fn standard(&self) -> Result<Problem> {
        self.check()?;
        let (p, pd) = (self.normals.ncols(), self.directions.ncols());
        let singular = || Error::argument("mass_matrix", "it is singular");
        let mut both = DMatrix::zeros(self.mass_matrix.nrows(), p + pd);
        both.columns_mut(0, p).copy_from(&self.normals);
        both.columns_mut(p, pd).copy_from(&self.directions);
        let factored = self.mass_matrix.clone().lu();
        // (N B)ᵀ M⁻¹ (N B) Δt  and  (N B)ᵀ M⁻¹ τ*
        let velocity = both.transpose() * factored.solve(&both).ok_or_else(singular)? * self.time_step;
        let constant = both.transpose() * factored.solve(&self.momentum).ok_or_else(singular)?;
        let size = 2 * p + pd;
        let (mut a, mut q) = (DMatrix::zeros(size, size), DVector::zeros(size));
        a.view_mut((0, 0), (p + pd, p + pd)).copy_from(&velocity);
        q.rows_mut(0, p + pd).copy_from(&constant);
        self.friction_blocks(&self.binary(), &mut a, 0);
        Ok(Problem::standard("standard form (15)", a, q))
    }

    /// The velocity at the end of the step from the forces `(f_n, f_d, …)`: `q̇ = M⁻¹ (Δt N f_n + Δt B f_d + τ*)`.
    pub fn velocity(&self, forces: &DVector<f64>) -> Option<DVector<f64>> {
        let (p, pd) = (self.normals.ncols(), self.directions.ncols());
        let push = &self.normals * forces.rows(0, p) + &self.directions * forces.rows(p, pd);
        self.mass_matrix.clone().lu().solve(&(push * self.time_step + &self.momentum))
    }

    /// `E`, `μ`, `-Eᵀ` at their places, `start` rows further down.
    fn friction_blocks(&self, e: &DMatrix<f64>, a: &mut DMatrix<f64>, start: usize) {
        let (p, pd) = (self.normals.ncols(), self.directions.ncols());
        let last = start + p + pd;
        a.view_mut((start + p, last), (pd, p)).copy_from(e);
        a.view_mut((last, start + p), (p, pd)).copy_from(&-e.transpose());
        a.view_mut((last, start), (p, p)).copy_from(&DMatrix::from_diagonal(&self.friction));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lcp::lemke::{LemkeSettings, lemke};
    use crate::lcp::problem::SolveStatus;
    use crate::lcp::stewart_trinkle::{StewartTrinkle, StewartTrinkleSettings};

    /// A point mass (2 kg) on the floor, gravity along -z, pushed along x: m = 3, one contact.
    fn block(push: f64, friction: f64, dt: f64) -> Articulated {
        Articulated {
            mass_matrix: DMatrix::identity(3, 3) * 2.0,
            normals: DMatrix::from_column_slice(3, 1, &[0.0, 0.0, 1.0]),
            directions: DMatrix::from_column_slice(
                3,
                4,
                &[1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0, 0.0],
            ),
            friction: DVector::from_element(1, friction),
            momentum: DVector::from_vec(vec![push * dt, 0.0, -2.0 * 9.81 * dt]),
            time_step: dt,
        }
    }

    fn solve(p: &Problem) -> DVector<f64> {
        let s = lemke(&p.delassus, &p.bias, &LemkeSettings::default(), None);
        assert_eq!(s.status, SolveStatus::Solved, "{s:?}");
        s.impulse
    }

    #[test]
    fn a_block_sticks_and_slides() {
        let dt = 0.01;
        let sticking = block(3.0, 0.5, dt);
        let f = solve(&sticking.standard().unwrap());
        assert!((f[0] - 2.0 * 9.81).abs() < 1e-12, "normal force {}", f[0]);
        assert!((f[2] - f[1] - 3.0).abs() < 1e-12);
        assert!(sticking.velocity(&f).unwrap().amax() < 1e-15);
        let sliding = block(30.0, 0.5, dt);
        let f = solve(&sliding.standard().unwrap());
        let v = sliding.velocity(&f).unwrap();
        // (30 - μ m g) Δt / m, and λ is the sliding speed
        let speed = (30.0 - 0.5 * 2.0 * 9.81) * dt / 2.0;
        assert!((v[0] - speed).abs() < 1e-14 && (f[5] - speed).abs() < 1e-14);
    }

    #[test]
    fn mixed_and_standard_form_agree() {
        let system = block(30.0, 0.5, 0.01);
        let forces = solve(&system.standard().unwrap());
        let mixed = system.mixed().unwrap();
        let reduced = StewartTrinkle::new(&mixed, &StewartTrinkleSettings::default()).unwrap();
        let z = reduced.impulse(&solve(&reduced.problem("reduced")));
        assert!((z.rows(3, 6) - &forces).amax() < 1e-12);
        assert!((z.rows(0, 3) - system.velocity(&forces).unwrap()).amax() < 1e-14);
    }
}
