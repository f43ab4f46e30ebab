//! Whether two convex shapes are certainly apart, in lanes: Gilbert's descent (Gilbert 1966) to the point of B ⊖ A that is nearest to the origin.
//!
//! ```text
//! x₀ = c_b − c_a, a point of B ⊖ A
//! v = the point of B ⊖ A farthest along −x;   no point of it is nearer to the origin than x·v/|x|
//! x ← x + t (v − x),   t = x·(x − v)/|x − v|² within [0, 1]
//! ```
//!
//! The bound grows to the distance. Shapes that are clearly apart show it after a few steps, and most that are near each other in a robot, links on one axle, never come nearer:
//! what the steps leave open is looked at one by one.
//!
//! Shapes that move are shown to stay apart along a direction that turns with one of them. With n = x/|x| and a bound s at the start of the step, and the free motion to first order, which moves
//! the second shape from the first by D at the centre c of one of them, whose radius is r, and turns it by Ω, at its end
//!
//! ```text
//! s⁺ = s + n·D − r |Ω × n|
//! ```
//!
//! is a bound along n + ω × n, where ω is the turn of the shape whose centre is not c: seen from it nothing of it moves, and of the other shape, which is within r of c, no point comes nearer by more than that.

use super::convex::HullFaces;
use super::{Drift, ROUNDING};
use crate::lane::{Compiled, Mask, Pack, PackMask, Real, Scalar, Task};
use crate::model::Shape;
use crate::spatial::{Pose, Vec3, vec3};
use nalgebra::Vector3;

/// Steps of the descent.
const STEPS: usize = 12;
/// Up to so many corners a mesh is searched in lanes, all of them; with more, lane by lane along its edges: a corner costs all lanes alike, a climb a lane the same however many there are.
/// Meshes of 60 to 230 corners (two ALOHA arms): 0.9 of the time of contacts.
const FEW: usize = 100;

/// A shape that holds another, or is it: a core, rounded by a radius where it is a ball or a rod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    Ball,
    Rod,
    Ellipsoid,
    Cylinder,
    Box,
}

impl Bound {
    /// All of them, in the order of their values.
    #[cfg(feature = "gpu")]
    pub const ALL: [Self; 5] = [Self::Ball, Self::Rod, Self::Ellipsoid, Self::Cylinder, Self::Box];

    /// What holds a shape, and its lengths as in [`Shape::size`]; nothing ground. A mesh is held by a box about the origin of its frame.
    pub fn of(shape: &Shape) -> Option<(Self, [f64; 3])> {
        let bound = match shape {
            Shape::Plane | Shape::HeightField(_) => return None,
            Shape::Sphere { .. } => Self::Ball,
            Shape::Capsule { .. } => Self::Rod,
            Shape::Ellipsoid { .. } => Self::Ellipsoid,
            Shape::Cylinder { .. } => Self::Cylinder,
            Shape::Box { .. } => Self::Box,
            Shape::Hull(hull) => {
                let mut half = [0.0f64; 3];
                for vertex in &hull.vertices {
                    for (half, x) in half.iter_mut().zip(vertex.iter()) {
                        *half = half.max(x.abs());
                    }
                }
                return Some((Self::Box, half));
            }
        };
        Some((bound, shape.size()))
    }

    /// The point of the core farthest along `n`, in the frame of the shape.
    #[inline(always)]
    fn support<R: Real>(self, [a, b, c]: [R; 3], n: Vec3<R>) -> Vec3<R> {
        let zero = R::zero();
        let least = R::constant(f64::from(f32::MIN_POSITIVE));
        match self {
            Self::Ball => Vec3::zero(),
            Self::Rod => vec3(zero, zero, signed(b, n.z)),
            Self::Ellipsoid => {
                // D² n/|D n|
                let dn = vec3(a * n.x, b * n.y, c * n.z);
                let over = R::one() / dn.dot(dn).max(least).sqrt();
                vec3(a * dn.x * over, b * dn.y * over, c * dn.z * over)
            }
            Self::Cylinder => {
                let over = a / n.x.mul_add(n.x, n.y * n.y).max(least).sqrt();
                vec3(n.x * over, n.y * over, signed(b, n.z))
            }
            Self::Box => vec3(signed(a, n.x), signed(b, n.y), signed(c, n.z)),
        }
    }

    /// m.
    #[inline(always)]
    fn radius<R: Real>(self, lengths: [R; 3]) -> R {
        match self {
            Self::Ball | Self::Rod => lengths[0],
            Self::Ellipsoid | Self::Cylinder | Self::Box => R::zero(),
        }
    }
}

/// What a shape is within, in its frame.
#[derive(Clone, Copy)]
pub(super) enum Core<'a, R> {
    /// Lengths as in [`Shape::size`], m.
    Bound(Bound, [R; 3]),
    /// A mesh.
    Hull(&'a HullFaces),
}

impl<R: Pack> Core<'_, R> {
    /// As [`Bound::support`], in the lanes `which`; in others any point.
    #[inline(always)]
    fn support(&self, n: Vec3<R>, which: R::Mask) -> Vec3<R> {
        match self {
            Self::Bound(bound, lengths) => bound.support(*lengths, n),
            Self::Hull(hull) if hull.vertices().len() <= FEW => {
                let (mut most, mut farthest) = (R::constant(f64::NEG_INFINITY), Vec3::zero());
                for corner in hull.vertices() {
                    let corner = Vec3::constant(corner);
                    let along = n.dot(corner);
                    let farther = most.lt(along);
                    most = R::select(farther, along, most);
                    farthest = Vec3::select(farther, corner, farthest);
                }
                farthest
            }
            Self::Hull(hull) => {
                let mut farthest = Vec3::zero();
                for lane in 0..R::LANES {
                    if which.get(lane) {
                        let n = n.get(lane);
                        let corner = hull.farthest(&Vector3::new(n.x.to_f64(), n.y.to_f64(), n.z.to_f64()));
                        farthest.set(lane, Vec3::constant(&corner));
                    }
                }
                farthest
            }
        }
    }
    /// The radius that rounds it, and the sum of its lengths, m.
    #[inline(always)]
    fn radius_and_size(&self) -> [R; 2] {
        match self {
            Self::Bound(bound, lengths) => [bound.radius(*lengths), sum(*lengths)],
            Self::Hull(hull) => [R::zero(), R::constant(hull.reach())],
        }
    }
}

/// The sum of a shape's lengths, m.
#[inline(always)]
fn sum<R: Real>([a, b, c]: [R; 3]) -> R {
    a + b + c
}

/// `x` with the sign of `like`.
#[inline(always)]
fn signed<R: Real>(x: R, like: R) -> R {
    R::select(like.lt(R::zero()), -x, x)
}

/// How the second shape of a pair moves from the first in the free motion of a step.
#[derive(Clone, Copy)]
pub(super) struct Parting<R> {
    /// D, at the centre of one of them, m.
    shift: Vec3<R>,
    /// Ω, rad.
    turn: Vec3<R>,
    /// r, m.
    radius: R,
    /// The most by which they come nearer in any direction, m.
    most: R,
}

impl<R: Real> Parting<R> {
    /// `centre`, `radius`: of the shape whose radius is to be the lever, m.
    #[inline(always)]
    pub fn new([a, b]: [&Drift<R>; 2], centre: Vec3<R>, radius: R) -> Self {
        let turn = b.shift.angular - a.shift.angular;
        Self { shift: b.at(centre) - a.at(centre), turn, radius, most: a.travel + b.travel }
    }
    /// |x| (s⁺ − s) of the direction x, where they come nearer; else zero.
    #[inline(always)]
    fn along(&self, x: Vec3<R>, length: R) -> R {
        let parting = x.dot(self.shift) - self.radius * self.turn.cross(x).norm();
        parting.max(-(self.most * length)).min(R::zero())
    }
}

/// A direction in which shapes are apart.
struct Gap<R> {
    x: Vec3<R>,
    /// |x|
    length: R,
    /// |x| times the distance of the cores along x, or less.
    along: R,
}

impl<R: Real> Gap<R> {
    /// Where the cores are apart by `limit` (m) and more.
    #[inline(always)]
    fn reaches(&self, limit: R) -> R::Mask {
        R::zero().lt(self.along).and((limit * self.length).lt(self.along))
    }
}

/// Two shapes on their way.
struct Descent<'a, R> {
    poses: [&'a Pose<R>; 2],
    /// From the first centre to the second, m.
    centres: Vec3<R>,
    x: Vec3<R>,
}

/// By how much more than their shapes cores are apart, m. `radii`, `sizes`: of both shapes, m.
#[inline(always)]
fn beyond_cores<R: Real>(radii: [R; 2], sizes: [R; 2]) -> R {
    radii[0] + radii[1] + R::constant(ROUNDING) * (sizes[0] + sizes[1])
}

impl<'a, R: Real> Descent<'a, R> {
    #[inline(always)]
    fn new(poses: [&'a Pose<R>; 2]) -> Self {
        let centres = poses[1].position - poses[0].position;
        Self { poses, centres, x: centres }
    }

    /// Where to look for the next point, in the frames of both shapes.
    #[inline(always)]
    fn directions(&self) -> [Vec3<R>; 2] {
        let [a, b] = self.poses;
        [a.rotation.transpose_mul(self.x), b.rotation.transpose_mul(-self.x)]
    }

    /// A step by the points that are farthest there, and what it showed.
    #[inline(always)]
    fn step(&mut self, [p, q]: [Vec3<R>; 2]) -> Gap<R> {
        let Self { poses: [a, b], centres, x } = self;
        let v = *centres + b.rotation * q - a.rotation * p;
        let (zero, one) = (R::zero(), R::one());
        let (square, along) = (x.dot(*x), x.dot(v));
        let gap = Gap { x: *x, length: square.sqrt(), along };
        let way = v - *x;
        let length = way.dot(way);
        let moves = zero.lt(length);
        let t = (square - along) / R::select(moves, length, one);
        *x = way.mul_add(R::select(moves, t.max(zero).min(one), zero), *x);
        gap
    }
}

/// Where two shapes, held by `bounds`, may be nearer to each other than `threshold` (m).
#[cfg(feature = "gpu")]
pub(crate) fn near<R: Real>(poses: [&Pose<R>; 2], [a, b]: [Bound; 2], lengths: [[R; 3]; 2], threshold: R) -> R::Mask {
    let [la, lb] = lengths;
    let limit = threshold + beyond_cores([a.radius(la), b.radius(lb)], [sum(la), sum(lb)]);
    let (mut descent, mut apart) = (Descent::new(poses), R::Mask::splat(false));
    for _ in 0..STEPS {
        let [n, m] = descent.directions();
        apart = apart.or(descent.step([a.support(la, n), b.support(lb, m)]).reaches(limit));
    }
    apart.not()
}

/// The same of the lanes `which`, as many steps as they need.
pub(super) struct NearLanes<'a, R: Pack> {
    pub poses: [&'a Pose<R>; 2],
    pub cores: [Core<'a, R>; 2],
    pub which: R::Mask,
    /// m.
    pub threshold: R,
    /// How they move, where they are to be that far apart at the end of the step, too.
    pub parting: Option<Parting<R>>,
}

impl<R: Pack> Task for NearLanes<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = R::Mask;
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    fn run(self) -> R::Mask {
        let [a, b] = self.cores;
        let ([ra, sa], [rb, sb]) = (a.radius_and_size(), b.radius_and_size());
        let limit = self.threshold + beyond_cores([ra, rb], [sa, sb]);
        let (mut descent, mut near) = (Descent::new(self.poses), self.which);
        for _ in 0..STEPS {
            if !near.any() {
                break;
            }
            let [n, m] = descent.directions();
            let mut gap = descent.step([a.support(n, near), b.support(m, near)]);
            if let Some(parting) = &self.parting {
                gap.along += parting.along(gap.x, gap.length);
            }
            near = near.and(gap.reaches(limit).not());
        }
        near
    }
}
