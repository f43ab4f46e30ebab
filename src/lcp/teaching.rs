//! One-dimensional problems for learning what an LCP of contact is: S. Pfrommer, *LCP Notes*, 2019.
//!
//! A block of unit mass falls on a floor, or slides along it. Every step is one LCP `w = M z + q`.
//!
//! ```text
//! falling       z = x_{k+1} (gap), w = λ (contact force)
//!               M = 1/Δt²,  q = -(x_k + Δt ẋ_k - g Δt²) / Δt²
//! forwards      z = ẋ_{k+1}, w = λ' = μ g - λ (unused friction)
//!               M = 1/Δt,   q = -ẋ_k/Δt - u + μ g
//! both ways     z = (ẋ⁺, ẋ⁻), w = (λ'⁻, λ'⁺)
//!               M = I/Δt,   q = ( ẋ⁻/Δt - ẋ⁺/Δt - u + μ g,  ẋ⁺/Δt - ẋ⁻/Δt + u + μ g )
//! ```
//!
//! The order of the rows matters: with `λ'⁺` on top of `λ'⁻` the matrix is `[[0, 1], [1, 0]]/Δt`, not positive
//! semidefinite, the wrong pairs are complementary, and Lemke's method ends on a secondary ray
//! ([`both_ways_in_wrong_order`]).

use super::problem::Problem;
use nalgebra::{DMatrix, DVector};

/// State of the block of unit mass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Block {
    /// Gap to the floor (falling) or place along it (sliding), m.
    pub position: f64,
    /// Its rate, m/s.
    pub velocity: f64,
}

/// Section 1: the falling block after one step; unknown is the gap `x_{k+1}` (m), `w` the contact force (N).
pub fn falling(block: Block, gravity: f64, dt: f64) -> Problem {
    // M = 1/Δt², q = -(x_k + Δt ẋ_k - g Δt²) / Δt²
    let ahead = block.position + dt * block.velocity - gravity * dt * dt;
    scalar("falling block", 1.0 / (dt * dt), -ahead / (dt * dt))
}

/// The falling block after a step, from the solved gap: `ẋ_{k+1} = (x_{k+1} - x_k) / Δt` (implicit Euler).
pub fn after_falling(block: Block, gap: f64, dt: f64) -> Block {
    Block { position: gap, velocity: (gap - block.position) / dt }
}

/// Section 2.1: the block slides forwards under the force `push` (N); unknown is `ẋ_{k+1} >= 0` (m/s), `w` the unused
/// friction `μ g - λ` (N).
pub fn forwards(block: Block, push: f64, friction: f64, gravity: f64, dt: f64) -> Problem {
    // M = 1/Δt, q = -ẋ_k/Δt - u + μ g
    scalar("sliding forwards", 1.0 / dt, -block.velocity / dt - push + friction * gravity)
}

/// Section 2.2: the block slides either way; unknowns are `(ẋ⁺, ẋ⁻)` (m/s), `w` the unused friction `(λ'⁻, λ'⁺)` (N).
pub fn both_ways(block: Block, push: f64, friction: f64, gravity: f64, dt: f64) -> Problem {
    let q = both_ways_constant(block, push, friction, gravity, dt);
    Problem::standard("sliding both ways", DMatrix::identity(2, 2) / dt, q)
}

/// Section 2.2 with `λ'⁺` on top of `λ'⁻`: not positive semidefinite; Lemke's method gives a secondary ray.
pub fn both_ways_in_wrong_order(block: Block, push: f64, friction: f64, gravity: f64, dt: f64) -> Problem {
    let q = both_ways_constant(block, push, friction, gravity, dt);
    let m = DMatrix::from_row_slice(2, 2, &[0.0, 1.0, 1.0, 0.0]) / dt;
    Problem::standard("sliding both ways, rows in wrong order", m, DVector::from_vec(vec![q[1], q[0]]))
}

/// The block after a sliding step, from the solved speeds: `x_{k+1} = x_k + (ẋ⁺ - ẋ⁻) Δt`.
pub fn after_sliding(block: Block, speeds: &DVector<f64>, dt: f64) -> Block {
    let velocity = speeds.get(0).unwrap_or(&0.0) - speeds.get(1).unwrap_or(&0.0);
    Block { position: block.position + velocity * dt, velocity }
}

fn both_ways_constant(block: Block, push: f64, friction: f64, gravity: f64, dt: f64) -> DVector<f64> {
    let (plus, minus) = (block.velocity.max(0.0), (-block.velocity).max(0.0));
    // q = ( ẋ⁻/Δt - ẋ⁺/Δt - u + μ g,  ẋ⁺/Δt - ẋ⁻/Δt + u + μ g )
    let drive = (plus - minus) / dt + push;
    DVector::from_vec(vec![friction * gravity - drive, friction * gravity + drive])
}

fn scalar(name: &str, m: f64, q: f64) -> Problem {
    Problem::standard(name, DMatrix::from_element(1, 1, m), DVector::from_element(1, q))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lcp::lemke::{LemkeSettings, lemke};
    use crate::lcp::problem::{Solution, SolveStatus};

    const G: f64 = 9.81;
    const DT: f64 = 0.01;

    fn run(problem: &Problem) -> Solution {
        lemke(&problem.delassus, &problem.bias, &LemkeSettings { tolerance: 1e-8, ..Default::default() }, None)
    }

    #[test]
    fn a_falling_block_lands_and_stays() {
        let mut block = Block { position: 1.0, velocity: 0.0 };
        let mut force = 0.0;
        for step in 0..200 {
            let problem = falling(block, G, DT);
            let s = run(&problem);
            assert_eq!(s.status, SolveStatus::Solved);
            force = problem.velocity(&s.impulse)[0];
            block = after_falling(block, s.impulse[0], DT);
            if step == 9 {
                // implicit Euler in free fall: v = -g t, x = 1 - g Δt² k (k + 1) / 2
                assert!((block.velocity + G * 0.1).abs() < 1e-12);
                assert!((block.position - (1.0 - G * DT * DT * 55.0)).abs() < 1e-12);
            }
        }
        assert_eq!((block.position, block.velocity), (0.0, 0.0));
        assert!((force - G).abs() < 1e-9, "the floor carries the weight: {force}");
    }

    #[test]
    fn a_sliding_block_stops_by_friction() {
        let mut block = Block { position: 0.0, velocity: 1.0 };
        for _ in 0..30 {
            let s = run(&forwards(block, 0.0, 0.5, G, DT));
            block = after_sliding(block, &s.impulse, DT);
        }
        // v falls by μ g Δt a step until it would change sign
        assert_eq!(block.velocity, 0.0);
        let distance = 1.0 / (2.0 * 0.5 * G);
        assert!((block.position - distance).abs() < 0.006, "{}", block.position);
    }

    #[test]
    fn a_block_is_pushed_both_ways() {
        for (velocity, push, expected) in [
            (0.0, 3.0, 0.0),
            (0.0, -3.0, 0.0),
            (0.0, 10.0, (10.0 - 0.5 * G) * DT),
            (0.0, -10.0, -(10.0 - 0.5 * G) * DT),
            (1.0, 0.0, 1.0 - 0.5 * G * DT),
            (-1.0, 0.0, -1.0 + 0.5 * G * DT),
        ] {
            let block = Block { position: 0.0, velocity };
            let s = run(&both_ways(block, push, 0.5, G, DT));
            assert_eq!(s.status, SolveStatus::Solved);
            assert!((after_sliding(block, &s.impulse, DT).velocity - expected).abs() < 1e-14);
        }
    }

    #[test]
    fn the_other_row_order_ends_on_a_secondary_ray() {
        let block = Block { position: 0.0, velocity: 1.0 };
        let problem = both_ways_in_wrong_order(block, 0.0, 0.5, G, DT);
        let eigenvalues = problem.delassus.clone().symmetric_eigenvalues();
        assert!(eigenvalues.min() < 0.0, "not positive semidefinite");
        assert_eq!(run(&problem).status, SolveStatus::SecondaryRay);
    }
}
