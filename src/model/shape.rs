//! Shapes of geoms.

use nalgebra::Vector3;
use std::sync::Arc;

/// A convex hull in its own frame.
#[derive(Debug, Clone)]
pub struct Hull {
    /// Name of the mesh.
    pub name: String,
    /// Corners of the hull, m.
    pub vertices: Vec<Vector3<f64>>,
    /// Triangles of the hull, counter-clockwise seen from outside.
    pub triangles: Vec<[usize; 3]>,
}

/// The shape of a geom, in the geom's frame. Lengths in m.
#[derive(Debug, Clone)]
pub enum Shape {
    /// The half space z ≤ 0.
    Plane,
    /// A sphere.
    Sphere {
        /// Radius.
        radius: f64,
    },
    /// A cylinder with round caps along z.
    Capsule {
        /// Radius.
        radius: f64,
        /// Half of the length between the centres of the caps.
        half_length: f64,
    },
    /// An ellipsoid.
    Ellipsoid {
        /// Half axes.
        radii: Vector3<f64>,
    },
    /// A cylinder along z.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Half of the length.
        half_length: f64,
    },
    /// A box.
    Box {
        /// Half of the edges.
        half: Vector3<f64>,
    },
    /// A convex hull of points.
    Hull(Arc<Hull>),
}

impl Shape {
    /// The name that MJCF gives it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Plane => "plane",
            Self::Sphere { .. } => "sphere",
            Self::Capsule { .. } => "capsule",
            Self::Ellipsoid { .. } => "ellipsoid",
            Self::Cylinder { .. } => "cylinder",
            Self::Box { .. } => "box",
            Self::Hull(_) => "mesh",
        }
    }
    /// Its lengths in the order of MJCF's `size`, m, 0 where there are fewer: radius and half length, half axes, or half edges; nothing for planes and
    /// meshes.
    pub fn size(&self) -> [f64; 3] {
        match self {
            Self::Plane | Self::Hull(_) => [0.0; 3],
            Self::Sphere { radius } => [*radius, 0.0, 0.0],
            Self::Capsule { radius, half_length } | Self::Cylinder { radius, half_length } => {
                [*radius, *half_length, 0.0]
            }
            Self::Ellipsoid { radii: v } | Self::Box { half: v } => (*v).into(),
        }
    }
    /// The same kind of shape of another [`Self::size`]; a plane or a mesh as it is.
    pub fn resized(&self, [x, y, z]: [f64; 3]) -> Self {
        match self {
            Self::Plane | Self::Hull(_) => self.clone(),
            Self::Sphere { .. } => Self::Sphere { radius: x },
            Self::Capsule { .. } => Self::Capsule { radius: x, half_length: y },
            Self::Cylinder { .. } => Self::Cylinder { radius: x, half_length: y },
            Self::Ellipsoid { .. } => Self::Ellipsoid { radii: Vector3::new(x, y, z) },
            Self::Box { .. } => Self::Box { half: Vector3::new(x, y, z) },
        }
    }
    /// Radius of the smallest sphere about the origin of the geom that holds the shape, m; infinite for a plane.
    pub fn bounding_radius(&self) -> f64 {
        match self {
            Self::Plane => f64::INFINITY,
            Self::Sphere { radius } => *radius,
            Self::Capsule { radius, half_length } => radius + half_length,
            Self::Ellipsoid { radii } => radii.max(),
            Self::Cylinder { radius, half_length } => radius.hypot(*half_length),
            Self::Box { half } => half.norm(),
            Self::Hull(hull) => hull.vertices.iter().map(Vector3::norm).fold(0.0, f64::max),
        }
    }
    /// Place in the order plane < sphere < capsule < ellipsoid < cylinder < box < mesh: the first geom of a pair is the lower one.
    pub fn rank(&self) -> usize {
        match self {
            Self::Plane => 0,
            Self::Sphere { .. } => 1,
            Self::Capsule { .. } => 2,
            Self::Ellipsoid { .. } => 3,
            Self::Cylinder { .. } => 4,
            Self::Box { .. } => 5,
            Self::Hull(_) => 6,
        }
    }
}
