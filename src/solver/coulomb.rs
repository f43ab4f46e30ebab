//! Coulomb's law for one contact while all other impulses are held: u = b + W λ with its own 3 × 3 block W, symmetric, and the cone ‖λ_t‖ ≤ μ λ_n.
//!
//! - It sticks, u = 0, where λ = −W⁻¹ b lies in the cone.
//! - Else it slips along a unit vector d: λ = n (1, μ d) with u_n = 0, so n = −b_n/k, k = W_nn + μ W_nt·d; and the slip is against the friction, u_t = −|u_t| d.
//! - It is open, λ = 0, where n would be negative.
//!
//! The angle of d is the one unknown that has no closed form. One step of Newton at every visit takes it there, as the contacts around it settle too: with p ⟂ d, c = W (1, μ d),
//!
//! ```text
//! f(θ) = p·u_t,   f′ = μ n p·W_tt p + n′ p·c_t − d·u_t,   n′ = −μ n W_nt·p / k
//! ```

use super::project::inverse;
use crate::lane::{Mask, Pack, PackMask, Real};

/// Least k, as a share of W_nn: where friction pushes the surfaces apart more than this, n has no bound, and the answer is left to Newton on all contacts.
const LEAST_PUSH: f64 = 0.1;
/// Least determinant of a block that is inverted, as a share of the product of its diagonal.
const LEAST_DETERMINANT: f64 = 1e-4;

/// Added to the tangents of a singular block before it is inverted, as a share of the larger of them.
const GIVING_WAY: f64 = 0.01;

/// W⁻¹ of a contact, kg: (nn, n1, n2, 11, 12, 22); and where W is close to singular, as in a mechanism that moves in a plane. Zeros there.
#[inline(always)]
fn effective_mass<R: Real>(own: &[[R; 3]; 3]) -> ([R; 6], R::Mask) {
    let [[nn, n1, n2], [_, w11, w12], [_, _, w22]] = *own;
    // cofactors
    let c_nn = w11.mul_add(w22, -(w12 * w12));
    let c_n1 = n2.mul_add(w12, -(n1 * w22));
    let c_n2 = n1.mul_add(w12, -(n2 * w11));
    let determinant = nn.mul_add(c_nn, n1.mul_add(c_n1, n2 * c_n2));
    let regular = (R::constant(LEAST_DETERMINANT) * nn * w11 * w22).lt(determinant);
    let inverse = R::select(regular, R::one() / determinant, R::zero());
    let c_11 = nn.mul_add(w22, -(n2 * n2));
    let c_12 = n1.mul_add(n2, -(nn * w12));
    let c_22 = nn.mul_add(w11, -(n1 * n1));
    let mass = [inverse * c_nn, inverse * c_n1, inverse * c_n2, inverse * c_11, inverse * c_12, inverse * c_22];
    (mass, regular.not().and(R::zero().lt(nn)))
}

/// `mass`, and of the singular blocks that with tangents which give way a little: what sticks then does so within some visits. Zeros where that does not help, in which case
/// it is never taken to stick.
#[inline(always)]
fn giving_way<R: Real>(own: &[[R; 3]; 3], mass: [R; 6], singular: R::Mask) -> [R; 6] {
    let tangents = own[1][1].max(own[2][2]);
    let shift = R::constant(GIVING_WAY) * R::select(R::zero().lt(tangents), tangents, own[0][0]);
    let mut giving = *own;
    (giving[1][1], giving[2][2]) = (own[1][1] + shift, own[2][2] + shift);
    let (other, _) = effective_mass(&giving);
    let mut out = mass;
    for k in 0..6 {
        out[k] = R::select(singular, other[k], mass[k]);
    }
    out
}

/// The unit vector along which friction acts so far; against the slip where there is none; the first tangent where nothing slips.
#[inline(always)]
fn friction_direction<R: Real>(impulse: [R; 3], u: [R; 3]) -> [R; 2] {
    let zero = R::zero();
    let acts = zero.lt(impulse[1].abs().max(impulse[2].abs()));
    let t = [R::select(acts, impulse[1], -u[1]), R::select(acts, impulse[2], -u[2])];
    let length = t[0].mul_add(t[0], t[1] * t[1]).sqrt();
    let known = zero.lt(length);
    let inverse = R::select(known, R::one() / length, zero);
    [R::select(known, t[0] * inverse, R::one()), t[1] * inverse]
}

/// What a contact has of its own while it is solved again and again.
#[derive(Debug, Clone, Copy)]
pub struct Contact<R> {
    /// See [`effective_mass`] and [`giving_way`], kg.
    mass: [R; 6],
    /// d: unit vector along which its friction acts while it slips.
    direction: [R; 2],
}

impl<R: Pack> Contact<R> {
    /// A contact with its block of W, impulse and velocity.
    #[inline(always)]
    pub fn new(own: &[[R; 3]; 3], impulse: [R; 3], u: [R; 3]) -> Self {
        let (mass, singular) = effective_mass(own);
        let mass = if singular.any() { giving_way(own, mass, singular) } else { mass };
        Self { mass, direction: friction_direction(impulse, u) }
    }

    /// The impulse that obeys the law in `lanes`, from velocity u and impulse `old`.
    #[inline(always)]
    pub fn solve(&mut self, own: &[[R; 3]; 3], friction: R, lanes: R::Mask, u: [R; 3], old: [R; 3]) -> [R; 3] {
        let (stick, sticks) = stick(&self.mass, friction, u, old);
        let sticks = lanes.and(sticks);
        let slips = lanes.and(sticks.not());
        let mut new = old;
        for k in 0..3 {
            new[k] = R::select(sticks, stick[k], old[k]);
        }
        if slips.any() {
            let (slip, direction) = slip(own, friction, self.direction, u, old);
            for k in 0..3 {
                new[k] = R::select(slips, slip[k], new[k]);
            }
            for k in 0..2 {
                self.direction[k] = R::select(slips, direction[k], self.direction[k]);
            }
        }
        new
    }
}

/// What [`contact_impulse`] takes of W: see [`effective_mass`] and [`giving_way`], kg.
#[cfg(any(feature = "gpu", test))]
#[inline(always)]
pub fn contact_mass<R: Real>(own: &[[R; 3]; 3]) -> [R; 6] {
    let (mass, singular) = effective_mass(own);
    giving_way(own, mass, singular)
}

/// What [`Contact::solve`] finds, of a contact of which nothing else is kept between visits, and that may be open: one that nothing closes stays so.
#[cfg(any(feature = "gpu", test))]
#[inline(always)]
pub fn contact_impulse<R: Real>(own: &[[R; 3]; 3], mass: &[R; 6], friction: R, u: [R; 3], old: [R; 3]) -> [R; 3] {
    let zero = R::zero();
    let (stick, sticks) = stick(mass, friction, u, old);
    let (slip, _) = slip(own, friction, friction_direction(old, u), u, old);
    let pressed = zero.lt(old[0].abs().max(old[1].abs()).max(old[2].abs())).or(u[0].lt(zero));
    let mut new = old;
    for k in 0..3 {
        new[k] = R::select(pressed, R::select(sticks, stick[k], slip[k]), old[k]);
    }
    new
}

/// The impulse that a contact needs to stick, from velocity u and impulse `old`: λ − W⁻¹ u; and where that lies in the cone.
#[inline(always)]
fn stick<R: Real>(mass: &[R; 6], friction: R, u: [R; 3], old: [R; 3]) -> ([R; 3], R::Mask) {
    let zero = R::zero();
    let stick = [
        old[0] - mass[0].mul_add(u[0], mass[1].mul_add(u[1], mass[2] * u[2])),
        old[1] - mass[1].mul_add(u[0], mass[3].mul_add(u[1], mass[4] * u[2])),
        old[2] - mass[2].mul_add(u[0], mass[4].mul_add(u[1], mass[5] * u[2])),
    ];
    let bound = friction * stick[0];
    let beyond = (bound * bound).lt(stick[1].mul_add(stick[1], stick[2] * stick[2]));
    (stick, zero.lt(stick[0]).and(zero.lt(mass[0])).and(beyond.not()))
}

/// The impulse of a contact that slips, from velocity u and impulse `old`, and the vector d along which it does, turned from `direction`.
#[inline(always)]
fn slip<R: Real>(own: &[[R; 3]; 3], friction: R, direction: [R; 2], u: [R; 3], old: [R; 3]) -> ([R; 3], [R; 2]) {
    let (zero, one) = (R::zero(), R::one());
    let [[nn, n1, n2], [_, w11, w12], [_, _, w22]] = *own;
    // b = u − W λ
    let b_n = u[0] - nn.mul_add(old[0], n1.mul_add(old[1], n2 * old[2]));
    let b_1 = u[1] - n1.mul_add(old[0], w11.mul_add(old[1], w12 * old[2]));
    let b_2 = u[2] - n2.mul_add(old[0], w12.mul_add(old[1], w22 * old[2]));
    let least = R::constant(LEAST_PUSH) * nn;
    let [d1, d2] = direction;
    // c = W (1, μ d), of which k is the normal part
    let k = friction.mul_add(n1.mul_add(d1, n2 * d2), nn).max(least);
    let c_1 = friction.mul_add(w11.mul_add(d1, w12 * d2), n1);
    let c_2 = friction.mul_add(w12.mul_add(d1, w22 * d2), n2);
    // k n, and v = k u_t
    let pressed = (-b_n).max(zero);
    let (v1, v2) = (k.mul_add(b_1, pressed * c_1), k.mul_add(b_2, pressed * c_2));
    // p = (−d2, d1); W_tt p; μ k n p·W_tt p; μ k n (W_nt·p) (p·c_t)
    let across = [w12.mul_add(d1, -(w11 * d2)), w22.mul_add(d1, -(w12 * d2))];
    let stiffness = friction * pressed * across[1].mul_add(d1, -(across[0] * d2));
    let loss = friction * pressed * n2.mul_add(d1, -(n1 * d2)) * c_2.mul_add(d1, -(c_1 * d2));
    // k² f and k² f′
    let error = k * v2.mul_add(d1, -(v1 * d2));
    let slope = k * (stiffness - v1.mul_add(d1, v2 * d2)) - loss;
    let slope = slope.max(R::constant(0.5) * k * stiffness).max(R::constant(f64::from(f32::MIN_POSITIVE)));
    // d ← d + θ p, at most half a right angle; its length, which a step of Newton takes to 1
    let turn = (-error / slope).max(-one).min(one);
    let (d1, d2) = ((-turn).mul_add(d2, d1), turn.mul_add(d1, d2));
    let length = R::constant(-0.5).mul_add(d1.mul_add(d1, d2 * d2), R::constant(1.5));
    let (d1, d2) = (length * d1, length * d2);
    let k = friction.mul_add(n1.mul_add(d1, n2 * d2), nn).max(least);
    let n = pressed * inverse(k);
    let tangent = friction * n;
    ([n, tangent * d1, tangent * d2], [d1, d2])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A regular block whose normal and tangents are coupled by `coupling`, as where a foot hangs from a leg.
    fn own(coupling: f64, turn: f64) -> [[f64; 3]; 3] {
        let (sin, cos) = turn.sin_cos();
        let (n1, n2) = (coupling * cos, coupling * sin);
        [[1.0, n1, n2], [n1, 1.5 + cos * cos, cos * sin], [n2, cos * sin, 1.5 + sin * sin]]
    }

    fn velocity(own: &[[f64; 3]; 3], b: [f64; 3], x: [f64; 3]) -> [f64; 3] {
        [0, 1, 2].map(|i| b[i] + own[i].iter().zip(x).map(|(w, x)| w * x).sum::<f64>())
    }

    /// The answer after `visits`, and its velocity.
    fn answer(own: &[[f64; 3]; 3], b: [f64; 3], friction: f64, visits: usize) -> ([f64; 3], [f64; 3]) {
        let mut x = [0.0; 3];
        let mut contact = Contact::new(own, x, b);
        for _ in 0..visits {
            x = contact.solve(own, friction, true, velocity(own, b, x), x);
        }
        (x, velocity(own, b, x))
    }

    /// Closed form: u = 0 after one visit.
    #[test]
    fn what_sticks_is_solved_at_once() {
        let own = own(0.3, 0.7);
        let (x, u) = answer(&own, [-1.0, 0.2, -0.1], 0.8, 1);
        assert!(u.iter().all(|u| u.abs() < 1e-14), "{u:?}");
        assert!(x[0] > 0.0 && x[1].hypot(x[2]) < 0.8 * x[0]);
    }

    /// Coulomb's law itself: u_n = 0, on the cone, and the slip against the friction; at every heading of the slip.
    #[test]
    fn what_slips_ends_on_the_cone_against_its_slip() {
        let mut slipping = 0;
        for k in 0..200 {
            let (heading, turn) = (0.37 * f64::from(k), 0.11 * f64::from(k));
            let own = own(0.5, turn);
            let b = [-0.5, 2.0 * heading.cos(), 2.0 * heading.sin()];
            let friction = 0.1 + 0.003 * f64::from(k);
            let (x, u) = answer(&own, b, friction, 8);
            if u[1].hypot(u[2]) < 1e-9 {
                continue;
            }
            slipping += 1;
            assert!(u[0].abs() < 1e-12, "{k}: u_n {}", u[0]);
            let (size, slip) = (x[1].hypot(x[2]), u[1].hypot(u[2]));
            assert!((size - friction * x[0]).abs() < 1e-12 * (1.0 + size), "{k}: {size} of {}", friction * x[0]);
            assert!((x[1] * u[1] + x[2] * u[2] + size * slip).abs() < 1e-12 * size * slip, "{k}: not against the slip");
        }
        assert!(slipping > 150, "{slipping} slip");
    }

    /// Open, stuck and slipping, with and without a direction that is kept: the same answer in the end.
    #[test]
    fn nothing_kept_between_visits_ends_at_the_same_answer() {
        let mut kinds = [0; 3];
        for k in 0..200 {
            let own = own(0.5, 0.11 * f64::from(k));
            let heading = 0.37 * f64::from(k);
            let b = [-1.0 + 0.006 * f64::from(k), 0.6 * heading.cos(), 0.6 * heading.sin()];
            let friction = 0.3 + 0.003 * f64::from(k);
            let (kept, _) = answer(&own, b, friction, 12);
            let mut x = [0.0; 3];
            for _ in 0..12 {
                x = contact_impulse(&own, &contact_mass(&own), friction, velocity(&own, b, x), x);
            }
            assert!((0..3).all(|i| (x[i] - kept[i]).abs() < 1e-9) || b[0] > 0.0, "{k}: {x:?}, {kept:?}");
            let u = velocity(&own, b, x);
            kinds[if x[0] == 0.0 { 0 } else { 1 + usize::from(u[1].hypot(u[2]) > 1e-9) }] += 1;
            assert!(b[0] < 0.0 || x == [0.0; 3], "{k}: what nothing closes stays open");
        }
        assert!(kinds.iter().all(|count| *count > 10), "{kinds:?}");
    }

    #[test]
    fn what_separates_is_let_go() {
        let own = own(0.3, 0.2);
        let mut contact = Contact::new(&own, [1.0, 0.1, 0.0], [5.0, 0.0, 1.0]);
        assert_eq!(contact.solve(&own, 0.5, true, [5.0, 0.0, 1.0], [1.0, 0.1, 0.0]), [0.0; 3]);
    }

    /// A foot that moves in a plane sticks all the same, whichever way the tangents lie.
    #[test]
    fn what_sticks_in_a_plane_is_solved_in_some_visits() {
        for turn in [0.0f64, 0.4, 1.3] {
            // W of (n, t) in the plane, t at an angle to the tangents
            let (sin, cos) = turn.sin_cos();
            let (nn, nt, tt) = (1.0, 0.4, 1.5);
            let own = [
                [nn, nt * cos, nt * sin],
                [nt * cos, tt * cos * cos, tt * cos * sin],
                [nt * sin, tt * cos * sin, tt * sin * sin],
            ];
            let b = [-1.0, 0.2 * cos, 0.2 * sin];
            let (x, u) = answer(&own, b, 0.9, 4);
            assert!(u.iter().all(|u| u.abs() < 1e-6), "{turn}: {u:?}");
            assert!(x[0] > 0.0 && x[1].hypot(x[2]) < 0.9 * x[0], "{turn}: {x:?}");
        }
    }

    /// Where W is singular impulses stay finite; what cannot move stays as it is.
    #[test]
    fn a_singular_block_gives_finite_impulses() {
        let ones = [[1.0; 3]; 3];
        let (x, _) = answer(&ones, [-1.0, -1.0, -1.0], 0.5, 20);
        assert!(x.iter().all(|x| x.is_finite()) && x[0] > 0.0, "{x:?}");
        let (x, _) = answer(&[[0.0; 3]; 3], [-1.0, 0.5, 0.0], 0.5, 3);
        assert_eq!(x, [0.0; 3]);
    }
}
