//! Sweeps that start ahead of where the last one ended.

use crate::lane::{Mask, Pack};

/// The last two sweeps, from which the next one starts ahead: Anderson's extrapolation of depth one (Walker and Ni 2011, algorithm AA). The fixed point of a sweep g(λ) is
/// looked for along the line through the last two of its answers, where its change f = g(λ) − λ, taken to be linear, is least in Σ W_ii f_i²:
///
/// ```text
/// γ = ⟨Δf, f⟩/⟨Δf, Δf⟩;   λ ← g − γ Δg;   u ← u(g) − γ Δu(g)
/// ```
#[derive(Debug, Clone)]
pub(super) struct Past<R> {
    /// Sweeps that are remembered: 0, 1, or 2 for all more.
    count: u32,
    /// λ before the last sweep, shape \[row\].
    start: Vec<R>,
    /// f of the sweep before, shape \[row\].
    change: Vec<R>,
    /// λ and u after the sweep before, shape \[row\].
    impulse: Vec<R>,
    velocity: Vec<R>,
}

/// Extrapolation further than this is not trusted.
const FARTHEST: f64 = 20.0;

impl<R: Pack> Past<R> {
    pub fn new() -> Self {
        Self { count: 0, start: Vec::new(), change: Vec::new(), impulse: Vec::new(), velocity: Vec::new() }
    }

    /// Nothing is remembered.
    #[inline(always)]
    pub fn forget(&mut self) {
        self.count = 0;
    }

    /// Before a sweep: moves the live blocks ahead if two sweeps are known, and remembers where this one starts.
    #[inline(always)]
    pub fn lead(&mut self, delassus: &[R], live: R::Mask, impulse: &mut [R], velocity: &mut [R]) {
        let n = impulse.len();
        if self.count == 0 {
            for past in [&mut self.start, &mut self.change, &mut self.impulse, &mut self.velocity] {
                past.resize(n, R::zero());
            }
        }
        let (start, change) = (&mut self.start[..n], &mut self.change[..n]);
        let (last, last_velocity) = (&mut self.impulse[..n], &mut self.velocity[..n]);
        let (mut along, mut square) = (R::zero(), R::zero());
        for i in 0..n {
            let f = impulse[i] - start[i];
            let difference = f - change[i];
            let weighted = delassus[i * n + i] * difference;
            (along, square) = (weighted.mul_add(f, along), weighted.mul_add(difference, square));
            change[i] = f;
        }
        // what stands in place of a sweep that is not remembered may be anything
        let known = R::Mask::splat(self.count > 1);
        let gamma = along / square;
        let moves = known.and(live).and(gamma.abs().lt(R::constant(FARTHEST)));
        for i in 0..n {
            let (x, u) = (impulse[i], velocity[i]);
            impulse[i] = R::select(moves, (-gamma).mul_add(x - last[i], x), x);
            velocity[i] = R::select(moves, (-gamma).mul_add(u - last_velocity[i], u), u);
            (start[i], last[i], last_velocity[i]) = (impulse[i], x, u);
        }
        self.count = (self.count + 1).min(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::{F64x8, Real};

    /// x ← ρ x + c in every lane with a ρ of its own: where all changes shrink at one rate, the line through two answers meets the fixed point.
    #[test]
    fn one_slow_direction_is_taken_in_one_step() {
        let rates: [f64; 8] = [0.1, 0.3, 0.5, 0.7, 0.9, -0.4, -0.8, 0.0];
        let mut rate = F64x8::zero();
        for (lane, rho) in rates.iter().enumerate() {
            rate.set(lane, *rho);
        }
        let weight = [F64x8::one(), F64x8::zero(), F64x8::zero(), F64x8::constant(4.0)];
        let (mut x, mut u) = ([F64x8::constant(3.0), F64x8::constant(-1.0)], [F64x8::zero(); 2]);
        let live = F64x8::zero().lt(F64x8::one());
        let mut past = Past::new();
        let mut led = x;
        for _ in 0..3 {
            past.lead(&weight, live, &mut x, &mut u);
            led = x;
            for i in 0..2 {
                x[i] = rate * x[i] + F64x8::constant(1.0 + i as f64);
                // carried along: any linear function of x
                u[i] = F64x8::constant(2.0) * x[i] - F64x8::one();
            }
        }
        for (lane, rho) in rates.iter().enumerate() {
            for i in 0..2 {
                let fixed = (1.0 + i as f64) / (1.0 - rho);
                assert!((led[i].get(lane) - fixed).abs() < 1e-12 * (1.0 + fixed.abs()), "{rho}: {}", led[i].get(lane));
                assert!((u[i].get(lane) - (2.0 * fixed - 1.0)).abs() < 1e-11 * (1.0 + fixed.abs()), "{rho}: u");
            }
        }
    }

    /// What is not live, and what did not change, stays where it is, to the bit.
    #[test]
    fn nothing_else_is_moved() {
        let (mut x, mut u) = ([1.0], [2.0]);
        let mut past = Past::new();
        for answer in [1.5, 1.75, 1.875] {
            past.lead(&[1.0], false, &mut x, &mut u);
            x[0] = answer;
        }
        past.lead(&[1.0], false, &mut x, &mut u);
        assert_eq!((x, u), ([1.875], [2.0]));
        // what is not finite in one tile is forgotten with it
        for _ in 0..3 {
            past.lead(&[1.0], true, &mut [f64::NAN], &mut [f64::INFINITY]);
        }
        past.forget();
        for _ in 0..4 {
            past.lead(&[1.0], true, &mut x, &mut u);
        }
        assert_eq!((x, u), ([1.875], [2.0]));
    }
}
