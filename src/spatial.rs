//! Vectors, rotations and spatial (6-D) quantities over any [`Real`].
//!
//! Spatial vectors hold the angular part first (Featherstone 2008). All spatial quantities of the step are expressed in
//! world axes about the reference point O of their tree (the origin of its root body), so that no Plücker transform is
//! ever applied and f32 never sees large lever arms.

use crate::lane::{Pack, Real};
use std::ops::{Add, Mul, Neg, Sub};

/// A vector in space, shape 3.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Vec3<R> {
    /// First component.
    pub x: R,
    /// Second component.
    pub y: R,
    /// Third component.
    pub z: R,
}

/// The vector (x, y, z).
#[inline(always)]
pub fn vec3<R>(x: R, y: R, z: R) -> Vec3<R> {
    Vec3 { x, y, z }
}

impl<R: Real> Vec3<R> {
    /// The zero vector.
    #[inline(always)]
    pub fn zero() -> Self {
        vec3(R::zero(), R::zero(), R::zero())
    }
    /// A constant, the same in all lanes.
    #[inline(always)]
    pub fn constant(v: &nalgebra::Vector3<f64>) -> Self {
        vec3(R::constant(v.x), R::constant(v.y), R::constant(v.z))
    }
    /// Unit vector along axis 0, 1 or 2.
    #[inline(always)]
    pub fn unit(axis: usize) -> Self {
        let mut v = [R::zero(); 3];
        v[axis] = R::one();
        vec3(v[0], v[1], v[2])
    }
    /// a · b
    #[inline(always)]
    pub fn dot(self, b: Self) -> R {
        self.x.mul_add(b.x, self.y.mul_add(b.y, self.z * b.z))
    }
    /// a × b
    #[inline(always)]
    pub fn cross(self, b: Self) -> Self {
        vec3(
            self.y.mul_add(b.z, -(self.z * b.y)),
            self.z.mul_add(b.x, -(self.x * b.z)),
            self.x.mul_add(b.y, -(self.y * b.x)),
        )
    }
    /// s a
    #[inline(always)]
    pub fn scale(self, s: R) -> Self {
        vec3(self.x * s, self.y * s, self.z * s)
    }
    /// s a + b
    #[inline(always)]
    pub fn mul_add(self, s: R, b: Self) -> Self {
        vec3(self.x.mul_add(s, b.x), self.y.mul_add(s, b.y), self.z.mul_add(s, b.z))
    }
    /// |a|
    #[inline(always)]
    pub fn norm(self) -> R {
        self.dot(self).sqrt()
    }
    /// a where the mask is set, b elsewhere.
    #[inline(always)]
    pub fn select(mask: R::Mask, a: Self, b: Self) -> Self {
        vec3(R::select(mask, a.x, b.x), R::select(mask, a.y, b.y), R::select(mask, a.z, b.z))
    }
}

impl<R: Pack> Vec3<R> {
    /// The vector of one lane.
    #[inline(always)]
    pub fn get(&self, lane: usize) -> Vec3<R::Scalar> {
        vec3(self.x.get(lane), self.y.get(lane), self.z.get(lane))
    }
    /// Sets the vector of one lane.
    #[inline(always)]
    pub fn set(&mut self, lane: usize, v: Vec3<R::Scalar>) {
        self.x.set(lane, v.x);
        self.y.set(lane, v.y);
        self.z.set(lane, v.z);
    }
}

impl<R: Real> Add for Vec3<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        vec3(self.x + b.x, self.y + b.y, self.z + b.z)
    }
}
impl<R: Real> Sub for Vec3<R> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        vec3(self.x - b.x, self.y - b.y, self.z - b.z)
    }
}
impl<R: Real> Neg for Vec3<R> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        vec3(-self.x, -self.y, -self.z)
    }
}

/// Which entries of a constant are not zero.
#[inline(always)]
fn nonzero(v: &nalgebra::Vector3<f64>) -> [bool; 3] {
    [v.x != 0.0, v.y != 0.0, v.z != 0.0]
}

/// Turns two unit vectors in their plane, from the first towards the second.
#[inline(always)]
fn turn_in_plane<R: Real>(a: &mut Vec3<R>, b: &mut Vec3<R>, sin: R, cos: R) {
    (*a, *b) = (a.mul_add(cos, b.scale(sin)), b.mul_add(cos, a.scale(-sin)));
}

/// A rotation matrix by columns: the axes of a body frame in world coordinates.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Mat3<R> {
    /// First, second and third column.
    pub columns: [Vec3<R>; 3],
}

impl<R: Real> Mat3<R> {
    /// The identity.
    #[inline(always)]
    pub fn identity() -> Self {
        Self { columns: [Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)] }
    }
    /// A constant, the same in all lanes.
    #[inline(always)]
    pub fn constant(m: &nalgebra::Matrix3<f64>) -> Self {
        let mut columns = [Vec3::zero(); 3];
        for j in 0..3 {
            columns[j] = vec3(R::constant(m[(0, j)]), R::constant(m[(1, j)]), R::constant(m[(2, j)]));
        }
        Self { columns }
    }
    /// The rotation about the constant unit vector a by an angle of this sine and cosine: cos 1 + sin \[a\]× + (1 − cos) a aᵀ.
    #[inline(always)]
    pub fn axis_angle(axis: &nalgebra::Vector3<f64>, (sin, cos): (R, R)) -> Self {
        let rest = R::one() - cos;
        let mut m = Self::default();
        for j in 0..3 {
            let mut column = [R::zero(); 3];
            for i in 0..3 {
                column[i] = rest * R::constant(axis[i] * axis[j]);
            }
            let (next, last) = ((j + 1) % 3, (j + 2) % 3);
            column[j] += cos;
            column[next] = sin.mul_add(R::constant(axis[last]), column[next]);
            column[last] = sin.mul_add(R::constant(-axis[next]), column[last]);
            m.columns[j] = vec3(column[0], column[1], column[2]);
        }
        m
    }
    /// Turns A about the constant unit vector `axis` of its own frame, by an angle of this sine and cosine.
    #[inline(always)]
    pub fn turn(&mut self, axis: &nalgebra::Vector3<f64>, (sin, cos): (R, R)) {
        let [a, b, c] = &mut self.columns;
        // about one of its columns the other two turn in their plane
        match nonzero(axis) {
            [true, false, false] => turn_in_plane(b, c, sin * R::constant(axis.x), cos),
            [false, true, false] => turn_in_plane(c, a, sin * R::constant(axis.y), cos),
            [false, false, true] => turn_in_plane(a, b, sin * R::constant(axis.z), cos),
            _ => *self = *self * Self::axis_angle(axis, (sin, cos)),
        }
    }
    /// A b of a constant b: a multiple of a column where it lies on an axis.
    #[inline(always)]
    pub fn mul_constant(self, b: &nalgebra::Vector3<f64>) -> Vec3<R> {
        let ([x, y, z], c) = (self.columns, Vec3::<R>::constant(b));
        match nonzero(b) {
            [false, false, false] => Vec3::zero(),
            [true, false, false] => x.scale(c.x),
            [false, true, false] => y.scale(c.y),
            [false, false, true] => z.scale(c.z),
            _ => self * c,
        }
    }
    /// Aᵀ b
    #[inline(always)]
    pub fn transpose_mul(self, b: Vec3<R>) -> Vec3<R> {
        vec3(self.columns[0].dot(b), self.columns[1].dot(b), self.columns[2].dot(b))
    }
}

impl<R: Real> Mul<Vec3<R>> for Mat3<R> {
    type Output = Vec3<R>;
    #[inline(always)]
    fn mul(self, b: Vec3<R>) -> Vec3<R> {
        let [c0, c1, c2] = self.columns;
        c0.mul_add(b.x, c1.mul_add(b.y, c2.scale(b.z)))
    }
}
impl<R: Real> Mul for Mat3<R> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Self { columns: [self * b.columns[0], self * b.columns[1], self * b.columns[2]] }
    }
}

/// A quaternion w + x i + y j + z k; a rotation when its norm is 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Quat<R> {
    /// Real part.
    pub w: R,
    /// Imaginary parts.
    pub v: Vec3<R>,
}

impl<R: Real> Quat<R> {
    /// A constant, the same in all lanes.
    #[inline(always)]
    pub fn constant(q: &nalgebra::UnitQuaternion<f64>) -> Self {
        Self { w: R::constant(q.w), v: vec3(R::constant(q.i), R::constant(q.j), R::constant(q.k)) }
    }
    /// The rotation by `angle` (rad) about the unit vector `axis`.
    #[inline(always)]
    pub fn axis_angle(axis: Vec3<R>, angle: R) -> Self {
        let (s, c) = (angle * R::constant(0.5)).sin_cos();
        Self { w: c, v: axis.scale(s) }
    }
    /// The rotation by the vector `r` (rad): exp(r / 2).
    #[inline(always)]
    pub fn exp(r: Vec3<R>) -> Self {
        // exp(r/2) = (cos(|r|/2), r sin(|r|/2)/|r|); at |r| → 0 the quotient tends to 1/2.
        let angle = r.norm();
        let (s, c) = (angle * R::constant(0.5)).sin_cos();
        let tiny = R::constant(1e-12);
        let k = R::select(tiny.lt(angle), s / angle.max(tiny), R::constant(0.5));
        Self { w: c, v: r.scale(k) }
    }
    /// q / |q|, the identity where q is zero.
    #[inline(always)]
    pub fn normalized(self) -> Self {
        let n2 = self.w.mul_add(self.w, self.v.dot(self.v));
        let ok = R::zero().lt(n2);
        let k = R::one() / R::select(ok, n2, R::one()).sqrt();
        Self { w: R::select(ok, self.w * k, R::one()), v: self.v.scale(k) }
    }
    /// The rotation matrix of a unit quaternion.
    #[inline(always)]
    pub fn matrix(self) -> Mat3<R> {
        let Self { w, v: Vec3 { x, y, z } } = self;
        let two = R::constant(2.0);
        let one = R::one();
        let (xx, yy, zz) = (x * x, y * y, z * z);
        let (xy, xz, yz) = (x * y, x * z, y * z);
        let (wx, wy, wz) = (w * x, w * y, w * z);
        Mat3 {
            columns: [
                vec3(one - two * (yy + zz), two * (xy + wz), two * (xz - wy)),
                vec3(two * (xy - wz), one - two * (xx + zz), two * (yz + wx)),
                vec3(two * (xz + wy), two * (yz - wx), one - two * (xx + yy)),
            ],
        }
    }
}

impl<R: Real> Mul for Quat<R> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // (w, v)(w', v') = (w w' − v·v', w v' + w' v + v × v')
        Self {
            w: self.w.mul_add(b.w, -self.v.dot(b.v)),
            v: b.v.mul_add(self.w, self.v.mul_add(b.w, self.v.cross(b.v))),
        }
    }
}

/// A unit normal and two tangents, without a branch (Duff et al., Building an Orthonormal Basis, Revisited, 2017).
#[inline(always)]
pub fn tangent_frame<R: Real>(n: Vec3<R>) -> [Vec3<R>; 3] {
    let sign = R::select(n.z.lt(R::zero()), R::constant(-1.0), R::one());
    let a = -(R::one() / (sign + n.z));
    let b = n.x * n.y * a;
    [
        n,
        vec3((sign * n.x * n.x).mul_add(a, R::one()), sign * b, -(sign * n.x)),
        vec3(b, (n.y * n.y).mul_add(a, sign), -n.y),
    ]
}

/// A spatial velocity or acceleration about O: angular (rad/s), then linear (m/s).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Motion<R> {
    /// Angular part ω.
    pub angular: Vec3<R>,
    /// Linear velocity of the body-fixed point that passes through O.
    pub linear: Vec3<R>,
}

/// A spatial force about O: moment (N·m), then force (N).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Force<R> {
    /// Moment about O.
    pub moment: Vec3<R>,
    /// Force.
    pub force: Vec3<R>,
}

impl<R: Real> Motion<R> {
    /// Zero motion.
    #[inline(always)]
    pub fn zero() -> Self {
        Self { angular: Vec3::zero(), linear: Vec3::zero() }
    }
    /// Power of a force: V · F.
    #[inline(always)]
    pub fn dot(self, f: Force<R>) -> R {
        self.angular.dot(f.moment) + self.linear.dot(f.force)
    }
    /// s V + W
    #[inline(always)]
    pub fn mul_add(self, s: R, w: Self) -> Self {
        Self { angular: self.angular.mul_add(s, w.angular), linear: self.linear.mul_add(s, w.linear) }
    }
    /// V × W, the rate of W moving with V (Featherstone 2008, eq. 2.31).
    #[inline(always)]
    pub fn cross(self, w: Self) -> Self {
        Self {
            angular: self.angular.cross(w.angular),
            linear: self.angular.cross(w.linear) + self.linear.cross(w.angular),
        }
    }
    /// Velocity of the body-fixed point at `r` (from O): v + ω × r.
    #[inline(always)]
    pub fn at(self, r: Vec3<R>) -> Vec3<R> {
        self.linear + self.angular.cross(r)
    }
}

impl<R: Real> Add for Motion<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self { angular: self.angular + b.angular, linear: self.linear + b.linear }
    }
}
impl<R: Real> Add for Force<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self { moment: self.moment + b.moment, force: self.force + b.force }
    }
}

/// Spatial inertia about O in world axes: mass m, first moment m c, and the rotational inertia about O.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Inertia<R> {
    /// Mass, kg.
    pub mass: R,
    /// m c, with c from O to the centre of mass, kg·m.
    pub first_moment: Vec3<R>,
    /// Rotational inertia about O: xx, yy, zz, kg·m².
    pub diagonal: Vec3<R>,
    /// Rotational inertia about O: yz, xz, xy, kg·m².
    pub off_diagonal: Vec3<R>,
}

impl<R: Real> Inertia<R> {
    /// No mass.
    #[inline(always)]
    pub fn zero() -> Self {
        Self { mass: R::zero(), first_moment: Vec3::zero(), diagonal: Vec3::zero(), off_diagonal: Vec3::zero() }
    }
    /// I_O ω
    #[inline(always)]
    pub fn rotational(self, w: Vec3<R>) -> Vec3<R> {
        let (d, o) = (self.diagonal, self.off_diagonal);
        vec3(
            d.x.mul_add(w.x, o.z.mul_add(w.y, o.y * w.z)),
            o.z.mul_add(w.x, d.y.mul_add(w.y, o.x * w.z)),
            o.y.mul_add(w.x, o.x.mul_add(w.y, d.z * w.z)),
        )
    }
    /// Momentum I V: moment = I_O ω + h × v, force = m v − h × ω.
    #[inline(always)]
    pub fn momentum(self, v: Motion<R>) -> Force<R> {
        Force {
            moment: self.rotational(v.angular) + self.first_moment.cross(v.linear),
            force: v.linear.scale(self.mass) - self.first_moment.cross(v.angular),
        }
    }
    /// The force that keeps the motion up, I A + V ×* I V (Featherstone 2008, eq. 2.58), by the acceleration a = A_v + ω × v of the body-fixed point at O, where
    /// ω × (h × v) + v × (ω × h) = h × (ω × v) (Jacobi's identity): moment = I_O α + ω × I_O ω + h × a, force = m a + α × h + ω × (ω × h).
    #[inline(always)]
    pub fn inverse_dynamics(self, velocity: Motion<R>, acceleration: Motion<R>) -> Force<R> {
        let (w, h, alpha) = (velocity.angular, self.first_moment, acceleration.angular);
        let a = acceleration.linear + w.cross(velocity.linear);
        Force {
            moment: self.rotational(alpha) + w.cross(self.rotational(w)) + h.cross(a),
            force: a.mul_add(self.mass, alpha.cross(h)) + w.cross(w.cross(h)),
        }
    }
}

impl<R: Real> Add for Inertia<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self {
            mass: self.mass + b.mass,
            first_moment: self.first_moment + b.first_moment,
            diagonal: self.diagonal + b.diagonal,
            off_diagonal: self.off_diagonal + b.off_diagonal,
        }
    }
}

/// Position and orientation of a frame in the world.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pose<R> {
    /// Origin, m.
    pub position: Vec3<R>,
    /// Axes, by columns.
    pub rotation: Mat3<R>,
}

impl<R: Real> Pose<R> {
    /// The world's own frame.
    #[inline(always)]
    pub fn identity() -> Self {
        Self { position: Vec3::zero(), rotation: Mat3::identity() }
    }
    /// World coordinates of a point of the frame.
    #[inline(always)]
    pub fn point(&self, local: Vec3<R>) -> Vec3<R> {
        self.position + self.rotation * local
    }
    /// World coordinates of a point of the frame that is a constant.
    #[inline(always)]
    pub fn constant_point(&self, local: &nalgebra::Vector3<f64>) -> Vec3<R> {
        self.position + self.rotation.mul_constant(local)
    }
    /// Coordinates in the frame of a point of the world.
    #[inline(always)]
    pub fn inverse_point(&self, world: Vec3<R>) -> Vec3<R> {
        self.rotation.transpose_mul(world - self.position)
    }
}

impl<R: Pack> Pose<R> {
    /// The pose of one lane.
    #[inline(always)]
    pub fn get(&self, lane: usize) -> Pose<R::Scalar> {
        let [a, b, c] = self.rotation.columns;
        Pose { position: self.position.get(lane), rotation: Mat3 { columns: [a.get(lane), b.get(lane), c.get(lane)] } }
    }
}
