//! The points of one pair: by the formula of its shapes, or one by one.

use super::apart::{Core, NearLanes, Parting};
use super::clip::{Point, Points};
use super::convex::{Solid, convex_convex};
use super::disc;
use super::extent::{Extent, Geoms};
use super::land::Land;
use super::pairs::{Kind, PairPlan, Shapes};
use super::patch::Disc;
use super::reduce::{Candidate, KEPT, Manifold, Source, reduce};
use super::round::{self, Rod};
use super::{ROUNDING, boxes, plane};
use crate::lane::{Compiled, Mask, Pack, PackMask, Real, Scalar, Task};
use crate::spatial::{Pose, Vec3, vec3};
use std::marker::PhantomData;

/// Puts the points of a pair first among those of a manifold; how many they are.
#[inline(always)]
fn put<R: Real, const N: usize>(points: [Candidate<R>; N], found: &mut Manifold<R>) -> usize {
    for (found, point) in found.iter_mut().zip(points) {
        *found = point;
    }
    N
}

/// The points of a pair whose shapes have a formula: how many first ones of `found` they are, which stays as it was behind them. `lengths`: of both shapes, m; `size`: of the order of the
/// smaller one, m.
// In unit tests, where arrays stand in for registers, a pack's operation is a loop: thousands of them in one function keep the compiler for minutes.
#[cfg_attr(not(test), inline(always))]
#[cfg_attr(test, inline(never))]
pub(crate) fn points<R: Real>(
    shapes: Shapes,
    [a, b]: [&Pose<R>; 2],
    lengths: [[R; 3]; 2],
    threshold: R,
    size: R,
    found: &mut Manifold<R>,
) -> usize {
    let [[ra, ha, _], second] = lengths;
    let [rb, hb, _] = second;
    let (rod_a, rod) = (Rod { radius: ra, half_length: ha }, Rod { radius: rb, half_length: hb });
    let half = vec3(second[0], second[1], second[2]);
    match shapes {
        Shapes::PlaneSphere => put([plane::sphere(a, b.position, rb, 0)], found),
        Shapes::PlaneCapsule => put(plane::capsule(a, b, rod), found),
        Shapes::PlaneEllipsoid => put([plane::ellipsoid(a, b, half)], found),
        Shapes::PlaneCylinder => put(plane::cylinder(a, b, rod, threshold, size), found),
        Shapes::PlaneBox => put(plane::cuboid(a, b, half, threshold, size), found),
        Shapes::SphereSphere => put([round::sphere_sphere(a.position, ra, b.position, rb)], found),
        Shapes::SphereCapsule => put([round::sphere_capsule(a.position, ra, b, rod)], found),
        Shapes::SphereCylinder => put([round::sphere_cylinder(a.position, ra, b, rod)], found),
        Shapes::SphereBox => put([round::sphere_box(a.position, ra, b, half)], found),
        Shapes::CapsuleCapsule => put(round::capsule_capsule(a, rod_a, b, rod), found),
        Shapes::CapsuleCylinder => put(round::capsule_cylinder(a, rod_a, b, rod), found),
        Shapes::CapsuleBox => put(round::capsule_box(a, rod_a, b, half), found),
        Shapes::BoxBox => put(boxes::box_box(a, b, lengths, threshold, size), found),
    }
}

/// [`points`].
struct Formula<'a, R: Real> {
    shapes: Shapes,
    poses: [&'a Pose<R>; 2],
    lengths: [[R; 3]; 2],
    threshold: R,
    size: R,
    found: &'a mut Manifold<R>,
}

impl<R: Pack> Task for Formula<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = usize;
    #[inline(always)]
    fn run(self) -> usize {
        points(self.shapes, self.poses, self.lengths, self.threshold, self.size, self.found)
    }
}

/// Where the axis of a capsule of radius `r` enters the other shape, no point of it tells the way out.
#[inline(always)]
fn pierced<R: Real>(points: &[Candidate<R>], r: R) -> R::Mask {
    let inside = R::constant(-0.999) * r;
    let mut pierced = R::Mask::splat(false);
    for point in points {
        pierced = pierced.or(point.gap.lt(inside));
    }
    pierced
}

/// Where the formula of a pair leaves open which its points are. `points`: those that it found; `lengths`: of the first shape.
#[inline(always)]
pub(crate) fn undecided<R: Real>(shapes: Shapes, points: &[Candidate<R>], lengths: [R; 3]) -> R::Mask {
    match shapes {
        Shapes::CapsuleCylinder | Shapes::CapsuleBox => pierced(points, lengths[0]),
        Shapes::BoxBox => boxes::undecided(points),
        _ => R::Mask::splat(false),
    }
}

/// The points of one pair, of the lanes that are `near`: how many first ones of `found` they are; what stands behind them is of no pair. `on_land`: room for those that are found on land.
#[inline(always)]
pub(super) fn narrow<R: Pack>(
    pair: &PairPlan,
    geoms: &Geoms<'_, R>,
    near: R::Mask,
    threshold: R,
    found: &mut Manifold<R>,
    on_land: &mut Vec<Candidate<R>>,
) -> usize {
    let (a, b) = (&geoms.pose[pair.a], &geoms.pose[pair.b]);
    let extent = Extent::of(pair, geoms);
    let Extent { lengths, size, .. } = extent;
    let (count, one_by_one) = match &pair.kind {
        Kind::Lanes(shapes) => {
            // what costs more than to show that most are apart
            let may = match shapes {
                Shapes::BoxBox => {
                    let rounding = R::constant(ROUNDING * pair.bounding);
                    let rounding = R::select(extent.own, R::constant(ROUNDING) * extent.bounding, rounding);
                    boxes::may_touch(a, b, lengths, near, threshold, rounding)
                }
                Shapes::CapsuleCylinder => may_be_near(pair, [a, b], &extent, near, threshold, None),
                _ => near,
            };
            if !may.any() {
                return 0;
            }
            let threshold = R::select(may, threshold, R::constant(-1e30));
            let count = R::run(Formula { shapes: *shapes, poses: [a, b], lengths, threshold, size, found });
            (count, near.and(undecided(*shapes, &found[..count], lengths[0])))
        }
        Kind::PlaneHull(hull) => return put(plane::hull(a, b, hull, threshold, size), found),
        Kind::Land(ground) => {
            let Some(solid) = &pair.on_land else { return 0 };
            let (poses, lengths) = ([a, b], lengths[1]);
            let land = Land { ground, solid, lengths, poses, near, threshold, size, found: on_land };
            return put(R::run(land), found);
        }
        Kind::Convex => (0, near),
        Kind::Nothing => return 0,
    };
    match &pair.solids {
        Some(solids) if one_by_one.any() => {
            clear_from(count, found);
            by_lane(pair, solids, [a, b], &extent, one_by_one, threshold, found);
            KEPT
        }
        _ => count,
    }
}

/// Takes all points from `first` on away.
#[inline(always)]
pub(super) fn clear_from<R: Real>(first: usize, points: &mut Manifold<R>) {
    for point in &mut points[first..] {
        *point = Candidate::absent();
    }
}

/// The lanes of `which` in which two convex shapes may be nearer to each other than `threshold` (m) at the start of the step, or after their free motion towards each other.
#[inline(always)]
pub(super) fn may_come_near<R: Pack>(pair: &PairPlan, geoms: &Geoms<'_, R>, which: R::Mask, threshold: R) -> R::Mask {
    let (a, b) = (&geoms.pose[pair.a], &geoms.pose[pair.b]);
    let extent = Extent::of(pair, geoms);
    let smaller = if pair.first_is_smaller { pair.a } else { pair.b };
    let mut radius = R::constant(pair.size);
    if extent.own.any() {
        radius = R::select(extent.own, geoms.radius(smaller), radius);
    }
    let drifts = [&geoms.drift[pair.a], &geoms.drift[pair.b]];
    let parting = Parting::new(drifts, geoms.pose[smaller].position, radius);
    may_be_near(pair, [a, b], &extent, which, threshold, Some(parting))
}

/// The lanes of `which` in which the shapes of a pair may be nearer to each other than `threshold` (m), or may come so near.
#[inline(always)]
fn may_be_near<R: Pack>(
    pair: &PairPlan,
    poses: [&Pose<R>; 2],
    extent: &Extent<R>,
    which: R::Mask,
    threshold: R,
    parting: Option<Parting<R>>,
) -> R::Mask {
    let (Some([a, b]), Some(solids)) = (&pair.bounds, &pair.solids) else { return which };
    let mut cores = [Core::Bound(a.0, extent.lengths[0]), Core::Bound(b.0, extent.lengths[1])];
    let (mut meshes, mut has_meshes) = (cores, false);
    for (k, (bound, planned)) in [a, b].into_iter().enumerate() {
        // a mesh has no lengths of its own, but its box has
        if let Solid::Hull(hull) = &solids[k] {
            let mut lengths = [R::zero(); 3];
            for (x, planned) in lengths.iter_mut().zip(planned) {
                *x = R::constant(*planned);
            }
            cores[k] = Core::Bound(*bound, lengths);
            meshes[k] = Core::Hull(hull);
            has_meshes = true;
        }
    }
    let near = R::run(NearLanes { poses, cores, which, threshold, parting });
    // the box about a mesh is near others long before the mesh is
    if has_meshes && near.any() {
        return R::run(NearLanes { poses, cores: meshes, which: near, threshold, parting });
    }
    near
}

/// The points of a patch where a cylinder stands or leans on something flat, where they are a disc, and the lanes in which they are known by that.
pub(super) struct Discs<'a, R: Pack> {
    pub pair: &'a PairPlan,
    pub geoms: &'a Geoms<'a, R>,
    pub near: R::Mask,
}

impl<R: Pack> Task for Discs<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = (Manifold<R>, Disc<R>, R::Mask);
    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { pair, geoms, near } = self;
        let (a, b) = (&geoms.pose[pair.a], &geoms.pose[pair.b]);
        let (points, mut disc) = match (&pair.kind, &pair.solids) {
            (Kind::Lanes(Shapes::PlaneCylinder), _) => {
                let (points, disc) = disc::on_plane(a, b, disc::size(&pair.lengths[1]), false);
                return (points, disc, near);
            }
            (Kind::Convex, Some([Solid::Cylinder(..), Solid::Box(_)])) => disc::on_box(a, b, &pair.lengths),
            (Kind::Convex, Some([Solid::Cylinder(..), Solid::Cylinder(..)])) => disc::on_cylinder(a, b, &pair.lengths),
            _ => ([Candidate::absent(); KEPT], Disc::none()),
        };
        disc.lanes = disc.lanes.and(near);
        (points, disc, disc.lanes)
    }
}

/// Finds the points of the lanes in `which`, of which there are some, one by one in f64.
#[inline(always)]
fn by_lane<R: Pack>(
    pair: &PairPlan,
    solids: &[Solid; 2],
    [a, b]: [&Pose<R>; 2],
    extent: &Extent<R>,
    which: R::Mask,
    threshold: R,
    points: &mut Manifold<R>,
) {
    let mut found = Points::new();
    for lane in 0..R::LANES {
        if which.get(lane) {
            let limit = threshold.get(lane);
            let (a, b) = (a.get(lane), b.get(lane));
            let (mut size, mut own_solids) = (pair.size, None);
            if extent.own.get(lane) {
                size = extent.size.get(lane).to_f64();
                own_solids = Some(extent.solids(solids, lane));
            }
            let solids = own_solids.as_ref().unwrap_or(solids);
            convex_convex(solids, &a, &b, limit.to_f64(), size, &mut found);
            let chosen = reduce(&Rounded(found.as_slice(), PhantomData), limit, R::Scalar::from_f64(size));
            for (point, one) in points.iter_mut().zip(&chosen) {
                point.position.set(lane, one.position);
                point.normal.set(lane, one.normal);
                point.gap.set(lane, one.gap);
                point.feature.set(lane, one.feature);
            }
        }
    }
}

/// Points found in f64, rounded to a lane type.
struct Rounded<'a, S>(&'a [Point], PhantomData<S>);

impl<S: Scalar> Source<S> for Rounded<'_, S> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }
    #[inline(always)]
    fn get(&self, k: usize) -> Candidate<S> {
        let point = &self.0[k];
        Candidate {
            position: Vec3::constant(&point.position),
            normal: Vec3::constant(&point.normal),
            gap: S::constant(point.gap),
            feature: S::constant(point.feature as f64),
        }
    }
}
