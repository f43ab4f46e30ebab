//! Spheres and capsules against each other, boxes and cylinders: points and segments with a radius.

use super::reduce::Candidate;
use crate::lane::{Mask, Real};
use crate::spatial::{Pose, Vec3, vec3};

/// A segment with a radius: a capsule without its pose.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rod<R> {
    /// m.
    pub radius: R,
    /// Half of the length between the centres of the caps, m.
    pub half_length: R,
}

/// Squared lengths (m²) below this have no direction.
const NO_LENGTH: f64 = 1e-30;

/// x clamped to ±h.
#[inline(always)]
fn clamp<R: Real>(x: R, h: R) -> R {
    x.max(-h).min(h)
}

/// Two spheres with centres `a` and `b`; concentric ones part along the unit vector `fallback`.
#[inline(always)]
fn balls<R: Real>(a: Vec3<R>, ra: R, b: Vec3<R>, rb: R, fallback: Vec3<R>, feature: usize) -> Candidate<R> {
    // n = (b − a)/|b − a|, g = |b − a| − r_a − r_b
    let d = b - a;
    let d2 = d.dot(d);
    let apart = R::constant(NO_LENGTH).lt(d2);
    let distance = R::select(apart, d2.sqrt(), R::zero());
    let n = Vec3::select(apart, d.scale(R::one() / R::select(apart, distance, R::one())), fallback);
    // A NaN in d2 is not `apart`; adding d2 · 0 keeps it in the gap.
    let gap = d2.mul_add(R::zero(), distance - (ra + rb));
    Candidate::on_second(n.mul_add(-rb, b), n, gap, feature)
}

/// A unit vector across the unit vector `u`.
#[inline(always)]
fn across<R: Real>(u: Vec3<R>) -> Vec3<R> {
    // u × z, or u × x where u is near z.
    let flat = u.z.abs().lt(R::constant(0.75));
    let v = u.cross(Vec3::select(flat, Vec3::unit(2), Vec3::unit(0)));
    v.scale(R::one() / v.norm())
}

/// Two spheres with centres `a` and `b`; concentric ones part along z.
#[inline(always)]
pub(super) fn sphere_sphere<R: Real>(a: Vec3<R>, ra: R, b: Vec3<R>, rb: R) -> Candidate<R> {
    balls(a, ra, b, rb, Vec3::unit(2), 0)
}

/// A sphere and a capsule: the sphere and the nearest sphere of the capsule.
#[inline(always)]
pub(super) fn sphere_capsule<R: Real>(a: Vec3<R>, ra: R, b: &Pose<R>, rod: Rod<R>) -> Candidate<R> {
    let axis = b.rotation.columns[2];
    let t = clamp(axis.dot(a - b.position), rod.half_length);
    balls(a, ra, axis.mul_add(t, b.position), rod.radius, across(axis), 0)
}

/// The points of a segment with a radius: two ends, and one between them.
pub(super) type Line<R> = [Candidate<R>; 3];

/// Of a segment with points at parameters `low`, `high` and `nearest`: the two ends where they are `apart`, and the nearest point where
/// the ends are not, or where it is nearer than both.
#[inline(always)]
fn line<R: Real>(low: Candidate<R>, high: Candidate<R>, nearest: Candidate<R>, apart: R::Mask, size: R) -> Line<R> {
    let nearer = (R::constant(1e-6).mul_add(size, nearest.gap)).lt(low.gap.min(high.gap));
    [low.only(apart), high.only(apart), nearest.only(nearer.or(apart.not()))]
}

/// Two capsules: the ends of the stretch along which they lie side by side (features 0 and 1), and the nearest points (feature 2) where
/// these are nearer. Crossing capsules touch in one point, parallel ones in two.
#[cfg_attr(not(test), inline(always))]
#[cfg_attr(test, inline(never))]
pub(super) fn capsule_capsule<R: Real>(pa: &Pose<R>, a: Rod<R>, pb: &Pose<R>, b: Rod<R>) -> Line<R> {
    let (ha, hb) = (a.half_length, b.half_length);
    let (u, v) = (pa.rotation.columns[2], pb.rotation.columns[2]);
    let d = pa.position - pb.position;
    let (uv, ud, vd) = (u.dot(v), u.dot(d), v.dot(d));

    // The shadow of b's ends on a's axis: s = ±h_b u·v − u·d.
    let reach = (hb * uv).abs();
    let (low, high) = (clamp(-ud - reach, ha), clamp(-ud + reach, ha));

    // Minimise |d + s u − t v|: s = −w·d/|w|² with w = u − (u·v) v, then t for this s, and s for this t.
    let w = v.mul_add(-uv, u);
    let w2 = w.dot(w);
    let crossing = R::constant(1e-10).lt(w2);
    let s = R::select(crossing, -w.dot(d) / R::select(crossing, w2, R::one()), (low + high) * R::constant(0.5));
    let t = clamp(uv.mul_add(clamp(s, ha), vd), hb);
    let s = clamp(uv.mul_add(t, -ud), ha);
    // Axes that meet part along u × v, of length |w|.
    let common =
        Vec3::select(crossing, u.cross(v).scale(R::one() / R::select(crossing, w2, R::one()).sqrt()), across(u));
    let nearest = balls(u.mul_add(s, pa.position), a.radius, v.mul_add(t, pb.position), b.radius, common, 2);

    // A sphere of a at s and the nearest sphere of b.
    let t_low = clamp(uv.mul_add(low, vd), hb);
    let t_high = clamp(uv.mul_add(high, vd), hb);
    let low_end = balls(u.mul_add(low, pa.position), a.radius, v.mul_add(t_low, pb.position), b.radius, common, 0);
    let high_end = balls(u.mul_add(high, pa.position), a.radius, v.mul_add(t_high, pb.position), b.radius, common, 1);
    let size = a.radius + b.radius;
    let apart = (R::constant(CLUSTER) * size).lt(high - low);
    line(low_end, high_end, nearest, apart, size)
}

/// Points nearer to each other than this part of the radius count as one.
const CLUSTER: f64 = 0.1;

/// A sphere of radius `r` whose centre `c` is given in the frame of the box `b`; the normal points from the sphere to the box.
///
/// A centre inside is pushed out by the nearest face.
#[inline(always)]
fn ball_box<R: Real>(c: Vec3<R>, r: R, b: &Pose<R>, half: Vec3<R>, feature: usize) -> Candidate<R> {
    // Outside: q is the nearest point of the box, n = (q − c)/|q − c|, g = |q − c| − r.
    let q = vec3(clamp(c.x, half.x), clamp(c.y, half.y), clamp(c.z, half.z));
    let d = q - c;
    let d2 = d.dot(d);
    let outside = R::constant(NO_LENGTH).lt(d2);
    let distance = R::select(outside, d2.sqrt(), R::zero());
    let n_out = d.scale(R::one() / R::select(outside, distance, R::one()));

    // Inside: −n is the outward normal of the nearest face, g = −(h − |c|) − r along it.
    let depth = vec3(half.x - c.x.abs(), half.y - c.y.abs(), half.z - c.z.abs());
    let least = depth.x.min(depth.y).min(depth.z);
    let (zero, one) = (R::zero(), R::one());
    let (on_x, on_y) = (least.lt(depth.x).not(), least.lt(depth.y).not());
    let x = R::select(on_x, one, zero);
    let y = R::select(on_x, zero, R::select(on_y, one, zero));
    let z = one - x - y;
    let toward = vec3(R::select(c.x.lt(zero), x, -x), R::select(c.y.lt(zero), y, -y), R::select(c.z.lt(zero), z, -z));
    let distance = R::select(outside, distance, -least);
    let n = Vec3::select(outside, n_out, toward);
    // A NaN centre has passed through the clamps; d2 · 0 keeps it in the gap.
    let gap = d2.mul_add(zero, distance - r);
    // The surface of the box: c + (g + r) n.
    Candidate::on_second(b.point(n.mul_add(distance, c)), b.rotation * n, gap, feature)
}

/// A sphere and a box with half edges `half`.
#[inline(always)]
pub(super) fn sphere_box<R: Real>(a: Vec3<R>, r: R, b: &Pose<R>, half: Vec3<R>) -> Candidate<R> {
    ball_box(b.inverse_point(a), r, b, half, 0)
}

/// A sphere of radius `r` whose centre `c` is given in the frame of the cylinder `b`; the normal points from the sphere to the cylinder.
///
/// A centre inside is pushed out by the nearer of side and end.
#[inline(always)]
fn ball_cylinder<R: Real>(c: Vec3<R>, r: R, b: &Pose<R>, cylinder: Rod<R>, feature: usize) -> Candidate<R> {
    let (zero, one, none) = (R::zero(), R::one(), R::constant(NO_LENGTH));
    let rho2 = c.x.mul_add(c.x, c.y * c.y);
    let off_axis = none.lt(rho2);
    let rho = R::select(off_axis, rho2, one).sqrt();

    // Outside: q is the nearest point of the cylinder, n = (q − c)/|q − c|, g = |q − c| − r.
    let within = R::select(off_axis, (cylinder.radius / rho).min(one), one);
    let q = vec3(c.x * within, c.y * within, clamp(c.z, cylinder.half_length));
    let d = q - c;
    let d2 = d.dot(d);
    let outside = none.lt(d2);
    let distance = R::select(outside, d2.sqrt(), zero);
    let n_out = d.scale(one / R::select(outside, distance, one));

    // Inside: −n is the outward normal of side or end, g = −depth − r along it.
    let to_side = cylinder.radius - R::select(off_axis, rho, zero);
    let to_end = cylinder.half_length - c.z.abs();
    let by_end = to_side.lt(to_end).not();
    let over = -one / rho;
    let side = vec3(R::select(off_axis, c.x * over, -one), R::select(off_axis, c.y * over, zero), zero);
    let end = vec3(zero, zero, R::select(c.z.lt(zero), one, -one));
    let distance = R::select(outside, distance, -to_side.min(to_end));
    let n = Vec3::select(outside, n_out, Vec3::select(by_end, end, side));
    // A NaN centre may have passed through; d2 · 0 keeps it in the gap.
    let gap = d2.mul_add(zero, distance - r);
    Candidate::on_second(b.point(n.mul_add(distance, c)), b.rotation * n, gap, feature)
}

/// A sphere and a cylinder.
#[inline(always)]
pub(super) fn sphere_cylinder<R: Real>(a: Vec3<R>, r: R, b: &Pose<R>, cylinder: Rod<R>) -> Candidate<R> {
    ball_cylinder(b.inverse_point(a), r, b, cylinder, 0)
}

/// A capsule and a box with half edges `e`: the ends of the stretch of the capsule that lies over the face of the box (features 0 and 1), and the point of
/// the capsule's axis nearest to the box (feature 2) where it is nearer.
#[cfg_attr(not(test), inline(always))]
#[cfg_attr(test, inline(never))]
pub(super) fn capsule_box<R: Real>(a: &Pose<R>, rod: Rod<R>, b: &Pose<R>, e: Vec3<R>) -> Line<R> {
    let (zero, h) = (R::zero(), rod.half_length);
    let c = b.inverse_point(a.position);
    let u = b.rotation.transpose_mul(a.rotation.columns[2]);

    // Between these parameters the axis x = c + t u is within the slab |x_i| ≤ e_i; everywhere where it runs along the slab.
    let slabs = [slab(c.x, u.x, e.x), slab(c.y, u.y, e.y), slab(c.z, u.z, e.z)];

    // The distance f(t) to the box is convex, and f f' is linear between the faces of the slabs: take the last place t₀ where it does not rise,
    // the first place t₁ where it does not fall, and the zero between them.
    let mut bracket = Bracket { from: [-h, slope(c, u, e, -h)], to: [h, slope(c, u, e, h)] };
    let (rises_from_start, falls_to_end) = (zero.lt(bracket.from[1]), bracket.to[1].lt(zero));
    for i in 0..6 {
        let (enter, leave) = slabs[i / 2];
        let t = clamp(if i % 2 == 0 { enter } else { leave }, h);
        bracket.narrow(t, slope(c, u, e, t));
    }
    let t = clamp(bracket.secant(), h);
    let t = R::select(rises_from_start, -h, R::select(falls_to_end, h, t));
    let nearest = ball_box(u.mul_add(t, c), rod.radius, b, e, 2);

    // The face that the nearest point sees is across the largest component of the normal; the other two slabs bound the stretch over it.
    let m = b.rotation.transpose_mul(nearest.normal);
    let m = [m.x.abs(), m.y.abs(), m.z.abs()];
    let largest = m[0].max(m[1]).max(m[2]);
    let (mut low, mut high) = (-h, h);
    for i in 0..3 {
        let tangent = m[i].lt(largest);
        low = R::select(tangent, slabs[i].0.max(low), low);
        high = R::select(tangent, slabs[i].1.min(high), high);
    }
    let apart = (R::constant(CLUSTER) * rod.radius).lt(high - low);
    let low_end = ball_box(u.mul_add(clamp(low, h), c), rod.radius, b, e, 0);
    let high_end = ball_box(u.mul_add(clamp(high, h), c), rod.radius, b, e, 1);
    line(low_end, high_end, nearest, apart, rod.radius)
}

/// Parameters between which a convex function is least, and its slopes there: the last place known where it does not rise, and the first where it does not fall.
#[derive(Clone, Copy)]
struct Bracket<R> {
    from: [R; 2],
    to: [R; 2],
}

impl<R: Real> Bracket<R> {
    /// With the slope `s` at `t`.
    #[inline(always)]
    fn narrow(&mut self, t: R, s: R) {
        let zero = R::zero();
        let later = zero.lt(s).not().and(self.from[0].lt(t));
        let sooner = s.lt(zero).not().and(t.lt(self.to[0]));
        self.from = [R::select(later, t, self.from[0]), R::select(later, s, self.from[1])];
        self.to = [R::select(sooner, t, self.to[0]), R::select(sooner, s, self.to[1])];
    }
    /// Where the slope is zero if it is linear between them.
    #[inline(always)]
    fn secant(&self) -> R {
        let ([t0, s0], [t1, s1]) = (self.from, self.to);
        let bend = s1 - s0;
        let curved = R::zero().lt(bend);
        let part = R::select(curved, -s0 / R::select(curved, bend, R::one()), R::constant(0.5));
        part.mul_add(t1 - t0, t0)
    }
}

/// Steps to the point of a capsule's axis that is nearest to the rim of a cylinder: half as many, and f32 has it.
const RIM_STEPS: usize = 12;

/// A capsule and a cylinder: the ends of the stretch of the capsule that lies over the end of the cylinder, or beside it (features 0 and 1), and the point of
/// the capsule's axis nearest to it (feature 2) where it is nearer.
#[cfg_attr(not(test), inline(always))]
#[cfg_attr(test, inline(never))]
pub(super) fn capsule_cylinder<R: Real>(a: &Pose<R>, rod: Rod<R>, b: &Pose<R>, cylinder: Rod<R>) -> Line<R> {
    let (zero, one, h) = (R::zero(), R::one(), rod.half_length);
    let c = b.inverse_point(a.position);
    let u = b.rotation.transpose_mul(a.rotation.columns[2]);

    // The axis x = c + t u is nearest to the cylinder's at t_a, and within its radius, if at all, between t_a ± √(R² − ρ²)/|u_xy|.
    let across = u.x.mul_add(u.x, u.y * u.y);
    let along = across.lt(R::constant(1e-6));
    let over = one / R::select(along, one, across);
    let far = R::constant(1e30);
    let t_a = R::select(along, zero, -(u.x.mul_add(c.x, u.y * c.y)) * over);
    let (x, y) = (u.x.mul_add(t_a, c.x), u.y.mul_add(t_a, c.y));
    let reach = ((cylinder.radius * cylinder.radius - x.mul_add(x, y * y)).max(zero) * over).sqrt();
    let reach = R::select(along, far, reach);
    let (enter, leave) = slab(c.z, u.z, cylinder.half_length);

    // The distance f(t) is convex. f f' is linear over an end and zero at t_a beside the cylinder; between these places only the rim bends it.
    let mut bracket = Bracket { from: [-h, tin_slope(c, u, cylinder, -h)], to: [h, tin_slope(c, u, cylinder, h)] };
    let (rises_from_start, falls_to_end) = (zero.lt(bracket.from[1]), bracket.to[1].lt(zero));
    let places = [enter, leave, t_a - reach, t_a, t_a + reach];
    for k in 0..places.len() {
        let t = clamp(places[k], h);
        bracket.narrow(t, tin_slope(c, u, cylinder, t));
    }
    // Regula falsi; a side that stays has its slope halved (Illinois), in every other step.
    let half = R::constant(0.5);
    for step in 0..RIM_STEPS {
        let t = bracket.secant();
        let before = bracket;
        bracket.narrow(t, tin_slope(c, u, cylinder, t));
        if step % 2 == 1 {
            let from_stays = before.from[0].lt(bracket.from[0]).not();
            let to_stays = bracket.to[0].lt(before.to[0]).not();
            bracket.from[1] = R::select(from_stays, bracket.from[1] * half, bracket.from[1]);
            bracket.to[1] = R::select(to_stays, bracket.to[1] * half, bracket.to[1]);
        }
    }
    let t = clamp(bracket.secant(), h);
    let t = R::select(rises_from_start, -h, R::select(falls_to_end, h, t));
    let nearest = ball_cylinder(u.mul_add(t, c), rod.radius, b, cylinder, 2);

    // Over an end it is what lies within the radius; beside the cylinder the shadow of its axis, which is none where they cross.
    let m = b.rotation.transpose_mul(nearest.normal);
    let by_end = m.x.mul_add(m.x, m.y * m.y).lt(m.z * m.z);
    let (middle, shadow) = (-u.dot(c), (cylinder.half_length * u.z).abs());
    let low = clamp(R::select(by_end, t_a - reach, middle - shadow), h);
    let high = clamp(R::select(by_end, t_a + reach, middle + shadow), h);
    let apart = (R::constant(CLUSTER) * rod.radius).lt(high - low);
    let low_end = ball_cylinder(u.mul_add(low, c), rod.radius, b, cylinder, 0);
    let high_end = ball_cylinder(u.mul_add(high, c), rod.radius, b, cylinder, 1);
    line(low_end, high_end, nearest, apart, rod.radius)
}

/// f f' at c + t u, where f is the distance to a cylinder about z.
#[inline(always)]
fn tin_slope<R: Real>(c: Vec3<R>, u: Vec3<R>, cylinder: Rod<R>, t: R) -> R {
    let x = u.mul_add(t, c);
    let rho2 = x.x.mul_add(x.x, x.y * x.y).max(R::constant(NO_LENGTH));
    let beyond = (R::one() - cylinder.radius / rho2.sqrt()).max(R::zero());
    u.dot(vec3(x.x * beyond, x.y * beyond, x.z - clamp(x.z, cylinder.half_length)))
}

/// The parameters between which |c + t u| ≤ e; far apart where u is nearly zero.
#[inline(always)]
fn slab<R: Real>(c: R, u: R, e: R) -> (R, R) {
    let far = R::constant(1e30);
    let along = u.abs().lt(R::constant(1e-3));
    let k = R::one() / R::select(along, R::one(), u);
    let (p, q) = ((-e - c) * k, (e - c) * k);
    (R::select(along, -far, p.min(q)), R::select(along, far, p.max(q)))
}

/// f f' = Σ u_i (x_i − clamp(x_i, ±e_i)) at x = c + t u, where f is the distance to the box
#[inline(always)]
fn slope<R: Real>(c: Vec3<R>, u: Vec3<R>, e: Vec3<R>, t: R) -> R {
    let x = u.mul_add(t, c);
    u.dot(x - vec3(clamp(x.x, e.x), clamp(x.y, e.y), clamp(x.z, e.z)))
}
