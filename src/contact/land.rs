//! Land against convex shapes, in lanes: spheres, capsules, ellipsoids, cylinders, boxes and meshes over a height field. Not looked for are edges of meshes, and of the rims of cylinders what is no tangent where an edge crosses.
//!
//! They touch with a point of the shape over a triangle, with its surface at a point of the grid, or with an edge across an edge of two triangles. Each of these has its normal n, from the land to
//! the shape, which counts where the land around holds it: no point y of the grid that shares a triangle with the place x stands out beyond the plane,
//!
//! ```text
//! n · (y − x) ≤ 0
//! ```
//!
//! So nothing stumbles over an edge between two triangles of one plane, nor over the flanks of a valley's edge. A corner is measured from the triangle straight below it: where another is nearer, its gap is a little less
//! than the distance, and as much once it touches. All is told in the frame of the height field, relative to the point of the grid at hand.

use super::boxes::sign;
use super::convex::Solid;
use super::grid::{Around, BESIDE, FEATURES, Face, Ground, Measure, NO_LAND, PERIOD, Window, measured};
use super::reduce::{Candidate, Manifold, reduce};
use crate::lane::{Compiled, Mask, Pack, PackMask, Real, Task};
use crate::spatial::{Pose, Vec3, vec3};

/// Squares of lengths (m²) below this have no direction.
const NO_LENGTH: f64 = 1e-24;
/// A cap whose normal is that of the land up to this (the sine squared) has no lowest point.
const LEVEL: f64 = 1e-8;
/// An edge whose triangles lie in one plane up to this part of their size is none: their faces are what touches.
const CONVEX: f64 = 1e-5;

/// `x` if a bit of `k` is not set, else −x.
#[inline(always)]
fn signed<R: Real>(k: usize, bit: usize, x: R) -> R {
    if k >> bit & 1 == 0 { x } else { -x }
}

/// An outward normal and how far a point is beyond what has it, where they replace others, and where any are.
#[inline(always)]
fn closer<R: Real>(which: R::Mask, own: (Vec3<R>, R), others: (Vec3<R>, R, R::Mask)) -> (Vec3<R>, R, R::Mask) {
    (Vec3::select(which, own.0, others.0), R::select(which, own.1, others.1), which.or(others.2))
}

/// A segment of a shape: its middle, unit direction and half length, with a radius; the faces that meet in it look along `outward`, if it is an edge.
struct Rod<R> {
    middle: Vec3<R>,
    direction: Vec3<R>,
    half: R,
    radius: R,
    outward: Option<[Vec3<R>; 2]>,
}

/// A ball: its centre and radius, m. An ellipsoid is one of radius 1 in its own measure, in which planes that touch it, and what stands out beyond a plane, are the same.
struct Ball<'a, R> {
    centre: Vec3<R>,
    radius: R,
    measure: Option<Measure<'a, R>>,
}

/// The unit vector along `d` and its length, where it has one.
#[inline(always)]
fn direction<R: Real>(which: R::Mask, d: Vec3<R>) -> (R::Mask, Vec3<R>, R) {
    let square = d.dot(d);
    let which = which.and(R::constant(NO_LENGTH).lt(square));
    let distance = R::select(which, square, R::one()).sqrt();
    (which, d.scale(R::one() / distance), distance)
}

/// The land of one pair in the lanes at hand.
pub(super) struct Land<'a, R: Pack> {
    pub ground: &'a Ground,
    /// What lies on it, and its lengths, m.
    pub solid: &'a Solid,
    pub lengths: [R; 3],
    /// Poses of both.
    pub poses: [&'a Pose<R>; 2],
    /// The lanes at hand.
    pub near: R::Mask,
    /// m.
    pub threshold: R,
    /// Of the order of the shape, m.
    pub size: R,
    /// Room for all points that are found.
    pub found: &'a mut Vec<Candidate<R>>,
}

impl<R: Pack> Task for Land<'_, R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = Manifold<R>;
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    fn run(mut self) -> Manifold<R> {
        self.found.clear();
        let [land, body] = self.poses;
        let centre = land.inverse_point(body.position);
        let mut axes = [Vec3::zero(); 3];
        for (axis, column) in axes.iter_mut().zip(&body.rotation.columns) {
            *axis = land.rotation.transpose_mul(*column);
        }
        let reach = self.reach(&axes);
        let wide = reach + vec3(self.threshold, self.threshold, self.threshold);
        // what is deeper than the land is thick is not pushed up
        let near = self.near.and(R::constant(self.ground.bottom).lt(centre.z));
        let window = Window::new(self.ground, centre - wide, centre + wide, near);
        self.near = near.and(R::Mask::from_bits(window.lanes()));
        if self.near.any() {
            self.corners(centre, &axes);
            self.grid(&window, centre, &axes);
        }
        reduce(&self.found[..], self.threshold, self.size)
    }
}

impl<R: Pack> Land<'_, R> {
    /// Keeps a point: on the surface of the shape, in the frame of the land.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    fn keep(&mut self, which: R::Mask, surface: Vec3<R>, normal: Vec3<R>, gap: R, feature: R) {
        let which = which.and(gap.lt(self.threshold));
        if which.any() {
            let pose = self.poses[0];
            let point = Candidate::on_second(pose.point(surface), pose.rotation * normal, gap, 0);
            self.found.push(Candidate { feature, ..point }.only(which));
        }
    }

    /// Corners of the shape, each over the triangle below it. Round shapes have a few where the land below them asks for them.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    fn corners(&mut self, centre: Vec3<R>, axes: &[Vec3<R>; 3]) {
        let [a, b, c] = self.lengths;
        let [x, y, z] = *axes;
        match self.solid {
            Solid::Ball(_) | Solid::Rod(..) | Solid::Ellipsoid(_) => {}
            Solid::Box(_) => {
                for k in 0..8 {
                    let [a, b, c] = [signed(k, 0, a), signed(k, 1, b), signed(k, 2, c)];
                    let corner = z.mul_add(c, y.mul_add(b, x.mul_add(a, centre)));
                    self.corner(corner, k);
                }
            }
            Solid::Hull(faces) => {
                for (k, vertex) in faces.vertices().iter().enumerate() {
                    let v = Vec3::constant(vertex);
                    self.corner(z.mul_add(v.z, y.mul_add(v.y, x.mul_add(v.x, centre))), k);
                }
            }
            Solid::Cylinder(..) => {
                for k in 0..2 {
                    // the lowest point of the rim, seen along the land's normal, and three more
                    let cap = z.mul_add(if k == 0 { b } else { -b }, centre);
                    let down = self.lowest_of_rim(cap, z, self.normal_below(cap), x) - cap;
                    let across = z.cross(down);
                    for (i, way) in [down, across, -down, -across].into_iter().enumerate() {
                        self.corner(cap + way, 4 * k + i);
                    }
                }
            }
        }
    }

    /// The lowest point of the rim of a cap about the axis `z`, seen along the normal `n`; the one along `x` where all are as low.
    #[inline(always)]
    fn lowest_of_rim(&self, cap: Vec3<R>, z: Vec3<R>, n: Vec3<R>, x: Vec3<R>) -> Vec3<R> {
        // d = (n·z) z − n
        let down = z.mul_add(n.dot(z), -n);
        let (tilted, down, _) = direction(R::constant(LEVEL).lt(down.dot(down)), down);
        Vec3::select(tilted, down, x).mul_add(self.lengths[0], cap)
    }

    /// The cell below a point, where there is one that is higher than `low`, m.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    fn below(&self, point: Vec3<R>, low: R) -> (Around<R>, R::Mask) {
        let window = Window::new(self.ground, vec3(point.x, point.y, low), point, self.near);
        let (row, column, lanes) = window.at(0, 0);
        let live = R::Mask::from_bits(lanes).and(self.near);
        (Around::new(&self.ground.field, &row, &column, live), live)
    }

    /// The unit normal of the land below a point; up where there is none.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    fn normal_below(&self, point: Vec3<R>) -> Vec3<R> {
        let (around, live) = self.below(point, R::constant(NO_LAND));
        let p = point - around.at;
        let mut normal = Vec3::unit(2);
        for k in 0..2 {
            let face = Face::new(&around, k);
            let over = live.and(face.exists).and(face.is_within(around.up, p));
            normal = Vec3::select(over, face.normal, normal);
        }
        normal
    }

    /// A corner over or under the triangle straight below or above it.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    fn corner(&mut self, point: Vec3<R>, index: usize) {
        let (around, live) = self.below(point, point.z - self.threshold);
        if !live.any() {
            return;
        }
        let p = point - around.at;
        let feature = R::constant((PERIOD * PERIOD * FEATURES + index) as f64);
        for k in 0..2 {
            let face = Face::new(&around, k);
            let over = live.and(face.exists).and(face.is_within(around.up, p));
            self.keep(over, point, face.normal, p.dot(face.normal), feature);
        }
    }

    /// Everything that asks for points of the grid around the shape.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    fn grid(&mut self, window: &Window<'_>, centre: Vec3<R>, axes: &[Vec3<R>; 3]) {
        let [a, b, c] = self.lengths;
        let [rows, columns] = window.most(self.near.bits());
        for i in 0..rows {
            for j in 0..columns {
                let (row, column, lanes) = window.at(i, j);
                let live = R::Mask::from_bits(lanes).and(self.near);
                if !live.any() {
                    continue;
                }
                let around: Around<R> = Around::new(&self.ground.field, &row, &column, live);
                match self.solid {
                    Solid::Ball(_) => self.ball(&around, live, &Ball { centre, radius: a, measure: None }, 0),
                    Solid::Ellipsoid(_) => {
                        let measure = Some((axes, &[a, b, c]));
                        self.ball(&around, live, &Ball { centre, radius: R::one(), measure }, 0);
                    }
                    Solid::Rod(..) => {
                        let end = axes[2].scale(b);
                        self.ball(&around, live, &Ball { centre: centre + end, radius: a, measure: None }, 0);
                        self.ball(&around, live, &Ball { centre: centre - end, radius: a, measure: None }, 6);
                        let rod = Rod { middle: centre, direction: axes[2], half: b, radius: a, outward: None };
                        self.rod(&around, live, &rod, 12);
                    }
                    Solid::Cylinder(..) => {
                        let rod = Rod { middle: centre, direction: axes[2], half: b, radius: a, outward: None };
                        for k in 0..3 {
                            self.across(&around, live, k, &rod, 12 + k);
                        }
                        self.rim(&around, live, centre, axes, 16);
                        self.surface(&around, live, centre, axes);
                    }
                    Solid::Box(_) => {
                        self.surface(&around, live, centre, axes);
                        self.box_edges(&around, live, centre, axes, [a, b, c]);
                    }
                    Solid::Hull(_) => self.surface(&around, live, centre, axes),
                }
            }
        }
    }

    /// Half of the lengths of a box along the axes of the land that holds the shape.
    #[inline(always)]
    fn reach(&self, [x, y, z]: &[Vec3<R>; 3]) -> Vec3<R> {
        vec3(self.reach_along([x.x, y.x, z.x]), self.reach_along([x.y, y.y, z.y]), self.reach_along([x.z, y.z, z.z]))
    }

    /// The same along an axis with these components in the axes of the shape.
    #[inline(always)]
    fn reach_along(&self, [x, y, z]: [R; 3]) -> R {
        let [a, b, c] = self.lengths;
        match self.solid {
            Solid::Ball(_) => a,
            Solid::Rod(..) => z.abs().mul_add(b, a),
            Solid::Cylinder(..) => z.abs().mul_add(b, a * z.mul_add(-z, R::one()).max(R::zero()).sqrt()),
            Solid::Ellipsoid(_) => vec3(a * x, b * y, c * z).norm(),
            Solid::Box(_) => z.abs().mul_add(c, y.abs().mul_add(b, x.abs() * a)),
            Solid::Hull(faces) => R::constant(faces.reach()),
        }
    }

    /// Keeps where the surface of a ball, at a distance (m, or of an ellipsoid in its measure) of its centre from the land along `n`, touches.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    fn touch(&mut self, which: R::Mask, ball: &Ball<'_, R>, n: Vec3<R>, distance: R, feature: R) {
        if !which.any() {
            return;
        }
        let Some(([x, y, z], [a, b, c])) = ball.measure else {
            return self.keep(which, n.mul_add(-ball.radius, ball.centre), n, distance - ball.radius, feature);
        };
        // n ~ E D⁻¹ n_s,  x = c − E D n_s,  gap = (distance − 1)/|D⁻¹ n_s|
        let m = z.mul_add(n.z / *c, y.mul_add(n.y / *b, x.scale(n.x / *a)));
        let over = R::one() / m.norm();
        let to_surface = z.mul_add(n.z * *c, y.mul_add(n.y * *b, x.scale(n.x * *a)));
        self.keep(which, ball.centre - to_surface, m.scale(over), (distance - ball.radius) * over, feature);
    }

    /// A ball: its centre over triangles, edges and the point. Below the land only the triangle over it pushes.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    fn ball(&mut self, around: &Around<R>, live: R::Mask, ball: &Ball<'_, R>, first: usize) {
        let (zero, one) = (R::zero(), R::one());
        let mut p = ball.centre - around.at;
        let mut own = None;
        if let Some(measure) = ball.measure {
            p = measured(p, measure);
            own = Some(around.measured(measure));
        }
        let around = own.as_ref().unwrap_or(around);
        let (which, n, distance) = direction(live.and(around.holds(p)), p);
        self.touch(which, ball, n, distance, around.feature(first));
        for k in 0..3 {
            // t = p·e/e·e;  d = p − t e
            let e = around.to[k];
            let t = p.dot(e) / e.dot(e);
            let d = e.mul_add(-t, p);
            let [left, right] = around.beside(k);
            let holds = zero.lt(d.dot(left)).or(zero.lt(d.dot(right))).not();
            let within = zero.lt(t).and(t.lt(one)).and(zero.lt(d.dot(around.up))).and(around.has[k]);
            let (which, n, distance) = direction(live.and(holds).and(within), d);
            self.touch(which, ball, n, distance, around.feature(first + 1 + k));
        }
        for k in 0..2 {
            let face = Face::new(around, k);
            let height = p.dot(face.normal);
            let above = height.lt(zero).not().and(face.is_within(face.area, p));
            let under = height.lt(zero).and(face.is_within(around.up, p));
            let which = live.and(face.exists).and(above.or(under));
            self.touch(which, ball, face.normal, height, around.feature(first + 4 + k));
        }
    }

    /// The side of a rod between its ends: at the point, and across the edges that stand out.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    fn rod(&mut self, around: &Around<R>, live: R::Mask, rod: &Rod<R>, first: usize) {
        // d = p + t u,  t = −p·u
        let p = rod.middle - around.at;
        let t = -p.dot(rod.direction);
        let d = rod.direction.mul_add(t, p);
        let (which, n, distance) = direction(live.and(around.holds(d)).and(t.abs().lt(rod.half)), d);
        let surface = n.mul_add(-rod.radius, around.at + d);
        self.keep(which, surface, n, distance - rod.radius, around.feature(first));
        for k in 0..3 {
            self.across(around, live, k, rod, first + 1 + k);
        }
    }

    /// A rod across the edge to point `k`, where that stands out.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    fn across(&mut self, around: &Around<R>, live: R::Mask, k: usize, rod: &Rod<R>, feature: usize) {
        let (zero, one) = (R::zero(), R::one());
        let p = rod.middle - around.at;
        let e = around.to[k];
        let u = rod.direction.scale(sign(e.cross(rod.direction).z));
        let across = e.cross(u);
        let square = across.dot(across);
        let [left, right] = around.beside(k);
        let least = R::constant(-CONVEX) * (square * e.dot(e)).sqrt();
        let stands_out = across.dot(left).lt(least).and(across.dot(right).lt(least));
        let crosses = (R::constant(1e-8) * e.dot(e)).lt(square);
        let which = live.and(around.has[k]).and(stands_out).and(crosses);
        if !which.any() {
            return;
        }
        let over = one / R::select(which, square, one);
        // e s + a w = p + u t,  a = e × u
        let s = p.cross(u).dot(across) * over;
        let t = p.cross(e).dot(across) * over;
        let n = across.scale(over.sqrt());
        let height = p.dot(n);
        let within = zero.lt(s).and(s.lt(one)).and(t.abs().lt(rod.half));
        let faces = match rod.outward {
            None => zero.lt(height),
            Some([f, g]) => zero.lt(n.dot(f)).or(zero.lt(n.dot(g))).not(),
        };
        let surface = n.mul_add(-rod.radius, around.at + u.mul_add(t, p));
        self.keep(which.and(within).and(faces), surface, n, height - rod.radius, around.feature(feature));
    }

    /// The twelve edges of a box.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    fn box_edges(&mut self, around: &Around<R>, live: R::Mask, centre: Vec3<R>, axes: &[Vec3<R>; 3], half: [R; 3]) {
        for i in 0..12 {
            let (along, second, third) = (i / 4, (i / 4 + 1) % 3, (i / 4 + 2) % 3);
            let outward = [axes[second].scale(signed(i, 0, R::one())), axes[third].scale(signed(i, 1, R::one()))];
            let middle = outward[1].mul_add(half[third], outward[0].mul_add(half[second], centre));
            let (half, radius) = (half[along], R::zero());
            let edge = Rod { middle, direction: axes[along], half, radius, outward: Some(outward) };
            for k in 0..3 {
                self.across(around, live, k, &edge, 4 * i + k);
            }
        }
    }

    /// The rims of a cylinder: the point of each that is lowest as a triangle sees it, and of the lower one where an edge crosses it its tangent there.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    fn rim(&mut self, around: &Around<R>, live: R::Mask, centre: Vec3<R>, axes: &[Vec3<R>; 3], first: usize) {
        let [radius, half, _] = self.lengths;
        let (zero, one) = (R::zero(), R::one());
        let [x, y, z] = *axes;
        for k in 0..4 {
            let (face, cap) = (Face::new(around, k / 2), z.mul_add(signed(k, 0, half), centre));
            let n = face.normal;
            let lowest = self.lowest_of_rim(cap, z, n, x);
            let p = lowest - around.at;
            let over = live.and(face.exists).and(face.is_within(around.up, p));
            self.keep(over, lowest, n, p.dot(n), around.feature(first + 6 + k));
        }
        let down = z.scale(-sign(z.z));
        let cap = down.mul_add(half, centre);
        let p = around.at - cap;
        for k in 0..3 {
            // |(p + t e) across z| = r:  a t² + 2 b t + c = 0
            let e = around.to[k];
            let ([px, py], [ex, ey]) = ([p.dot(x), p.dot(y)], [e.dot(x), e.dot(y)]);
            let a = ex.mul_add(ex, ey * ey);
            let b = ex.mul_add(px, ey * py);
            let c = px.mul_add(px, py * py) - radius * radius;
            let discriminant = b.mul_add(b, -(a * c));
            let meets = live.and(zero.lt(discriminant)).and((R::constant(1e-8) * e.dot(e)).lt(a));
            if !meets.any() {
                continue;
            }
            let root = R::select(meets, discriminant, zero).sqrt();
            for (i, root) in [-root, root].into_iter().enumerate() {
                let t = (root - b) / R::select(meets, a, one);
                let outward = x.scale(ex.mul_add(t, px)) + y.scale(ey.mul_add(t, py));
                let outward = outward.scale(one / radius);
                let (middle, direction) = (outward.mul_add(radius, cap), z.cross(outward));
                let outward = Some([down, outward]);
                let tangent = Rod { middle, direction, half: R::constant(0.5) * radius, radius: zero, outward };
                self.across(around, meets, k, &tangent, first + 2 * k + i);
            }
        }
    }

    /// The point of the grid at a face of a box, side or cap of a cylinder, or face of a mesh.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    fn surface(&mut self, around: &Around<R>, live: R::Mask, centre: Vec3<R>, axes: &[Vec3<R>; 3]) {
        let [x, y, z] = axes;
        let (zero, one) = (R::zero(), R::one());
        let [a, b, c] = self.lengths;
        let p = around.at - centre;
        let q = vec3(p.dot(*x), p.dot(*y), p.dot(*z));
        // Outward normal in the frame of the shape, and how far the point is beyond what has it: of the faces that it is over and that the land holds the nearest.
        let (outward, gap, over) = match self.solid {
            Solid::Box(_) => {
                let beyond = [q.x.abs() - a, q.y.abs() - b, q.z.abs() - c];
                let outward = [vec3(sign(q.x), zero, zero), vec3(zero, sign(q.y), zero), vec3(zero, zero, sign(q.z))];
                let mut nearest = (Vec3::zero(), R::constant(NO_LAND), R::Mask::splat(false));
                for k in 0..3 {
                    let others = beyond[(k + 1) % 3].max(beyond[(k + 2) % 3]);
                    let n = axes[k].scale(-sign([q.x, q.y, q.z][k]));
                    let holds = zero.lt(others).not().and(around.holds(n)).and(nearest.1.lt(beyond[k]));
                    nearest = closer(holds, (outward[k], beyond[k]), nearest);
                }
                nearest
            }
            Solid::Cylinder(..) => {
                let square = q.x.mul_add(q.x, q.y * q.y);
                let off = R::constant(NO_LENGTH).lt(square);
                let across = R::select(off, square, one).sqrt();
                let (beside, beyond) = (square.sqrt() - a, q.z.abs() - b);
                let (side, cap) = (vec3(q.x / across, q.y / across, zero), vec3(zero, zero, sign(q.z)));
                let nearest = (Vec3::zero(), R::constant(NO_LAND), R::Mask::splat(false));
                let n = -(y.mul_add(side.y, x.scale(side.x)));
                let holds = off.and(zero.lt(beyond).not()).and(around.holds(n));
                let nearest = closer(holds, (side, beside), nearest);
                let holds = zero.lt(beside).not().and(around.holds(z.scale(-cap.z))).and(nearest.1.lt(beyond));
                closer(holds, (cap, beyond), nearest)
            }
            Solid::Hull(faces) => {
                let (mut outward, mut gap) = (Vec3::zero(), R::constant(NO_LAND));
                for (normal, offset) in faces.planes() {
                    let normal = Vec3::constant(normal);
                    let beyond = q.dot(normal) - R::constant(offset);
                    let farther = gap.lt(beyond);
                    (outward, gap) = (Vec3::select(farther, normal, outward), R::select(farther, beyond, gap));
                }
                let (foot, slack) = (outward.mul_add(-gap, q), R::constant(BESIDE * faces.reach()));
                let mut over = R::Mask::splat(true);
                for (normal, offset) in faces.planes() {
                    over = over.and((foot.dot(Vec3::constant(normal)) - R::constant(offset)).lt(slack));
                }
                (outward, gap, over)
            }
            Solid::Ball(_) | Solid::Rod(..) | Solid::Ellipsoid(_) => return,
        };
        let n = -(z.mul_add(outward.z, y.mul_add(outward.y, x.scale(outward.x))));
        let which = live.and(over).and(around.holds(n));
        self.keep(which, n.mul_add(gap, around.at), n, gap, around.feature(FEATURES - 1));
    }
}
