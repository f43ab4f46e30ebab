//! Shapes of geoms.

use super::Model;
use crate::error::{Error, Result};
use nalgebra::Vector3;
use std::sync::Arc;

/// Corners, m, and triangles between them, counter-clockwise seen from outside.
pub type Triangles = (Vec<Vector3<f64>>, Vec<[usize; 3]>);

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

/// Land under a surface z = h(x, y), which is a grid of points and two triangles for every four of them, in its own frame: they meet along the diagonal from the point of the lower row and
/// column to that of the higher.
#[derive(Debug, Clone)]
pub struct HeightField {
    /// Name of the height field.
    pub name: String,
    /// Number of rows, along y.
    pub rows: usize,
    /// Number of columns, along x.
    pub columns: usize,
    /// Half of its lengths along x and y, m: columns go from −half to half, and so do rows.
    pub half: [f64; 2],
    /// Heights of the points, m, shape \[row\]\[column\].
    pub heights: Vec<f64>,
    /// How thick the land is below z = 0 and its lowest point, m: nothing deeper is pushed up.
    pub base: f64,
}

impl HeightField {
    /// Most points that a height field may have.
    pub const MOST_POINTS: usize = 1 << 26;
    /// Heights are less than this, up and down, m.
    pub(crate) const HIGHEST: f64 = 1e5;

    /// Distance of columns and of rows, m.
    #[inline(always)]
    pub fn spacing(&self) -> [f64; 2] {
        let [columns, rows] = [self.columns, self.rows].map(|count| count.saturating_sub(1) as f64);
        [2.0 * self.half[0] / columns, 2.0 * self.half[1] / rows]
    }
    /// A point of the grid, m; of height 0 where there is none.
    pub fn point(&self, row: usize, column: usize) -> Vector3<f64> {
        let [dx, dy] = self.spacing();
        let (x, y) = (column as f64 * dx - self.half[0], row as f64 * dy - self.half[1]);
        Vector3::new(x, y, self.heights.get(row * self.columns + column).copied().unwrap_or_default())
    }
    /// Its triangles as indices of points `row · columns + column`, counter-clockwise seen from above.
    pub fn triangles(&self) -> impl Iterator<Item = [usize; 3]> {
        let (rows, columns) = (self.rows.saturating_sub(1), self.columns.saturating_sub(1));
        let cells = (0..rows).flat_map(move |row| (0..columns).map(move |column| (row, column)));
        cells.flat_map(|(row, column)| {
            let a = row * self.columns + column;
            let (b, c, d) = (a + 1, a + self.columns + 1, a + self.columns);
            [[a, b, c], [a, c, d]]
        })
    }
}

impl Model {
    /// The height field of a name, if a geom has it.
    pub fn height_field(&self, name: &str) -> Option<&Arc<HeightField>> {
        self.geoms.iter().find_map(|geom| match &geom.shape {
            Shape::HeightField(field) if field.name == name => Some(field),
            _ => None,
        })
    }

    /// Gives a height field other heights, m above the origin of its geom, shape \[row\]\[column\]: rows from low y to high y, columns from low x to high x; all geoms that share it have them. Worlds that exist keep theirs.
    ///
    /// # Errors
    /// [`Error::Argument`] if no geom has a height field of that name, or there are not as many heights as it has points, or one is not within 10⁵ m.
    pub fn set_heights(&mut self, name: &str, heights: &[f64]) -> Result<()> {
        let of_field = |message: String| Error::argument("heights", message);
        let missing = || of_field(format!("no geom of the model has a height field called \"{name}\""));
        let field = self.height_field(name).ok_or_else(missing)?.clone();
        let (rows, columns, found) = (field.rows, field.columns, heights.len());
        if found != rows * columns {
            let message =
                format!("has {found} numbers, the height field \"{name}\" needs {rows} rows × {columns} columns");
            return Err(of_field(message));
        }
        if let Some(wrong) = heights.iter().find(|height| height.is_nan() || height.abs() >= HeightField::HIGHEST) {
            return Err(of_field(format!("{wrong} is no height of the height field \"{name}\"")));
        }
        let changed = Arc::new(HeightField { heights: heights.into(), ..(*field).clone() });
        for geom in &mut self.geoms {
            if matches!(&geom.shape, Shape::HeightField(own) if Arc::ptr_eq(own, &field)) {
                geom.shape = Shape::HeightField(changed.clone());
            }
        }
        Ok(())
    }
}

/// The shape of a geom, in the geom's frame. Lengths in m.
#[derive(Debug, Clone)]
pub enum Shape {
    /// The half space z ≤ 0.
    Plane,
    /// Land that does not move.
    HeightField(Arc<HeightField>),
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
            Self::HeightField(_) => "hfield",
            Self::Sphere { .. } => "sphere",
            Self::Capsule { .. } => "capsule",
            Self::Ellipsoid { .. } => "ellipsoid",
            Self::Cylinder { .. } => "cylinder",
            Self::Box { .. } => "box",
            Self::Hull(_) => "mesh",
        }
    }
    /// Its lengths in the order of MJCF's `size`, m, 0 where there are fewer: radius and half length, half axes, or half edges; nothing for planes, height
    /// fields and meshes.
    pub fn size(&self) -> [f64; 3] {
        match self {
            Self::Plane | Self::HeightField(_) | Self::Hull(_) => [0.0; 3],
            Self::Sphere { radius } => [*radius, 0.0, 0.0],
            Self::Capsule { radius, half_length } | Self::Cylinder { radius, half_length } => {
                [*radius, *half_length, 0.0]
            }
            Self::Ellipsoid { radii: v } | Self::Box { half: v } => (*v).into(),
        }
    }
    /// Half axes of the ellipsoid that it is to a medium, m; none of a plane, a height field or a mesh.
    pub(crate) fn half_axes(&self) -> Option<Vector3<f64>> {
        match self {
            Self::Plane | Self::HeightField(_) | Self::Hull(_) => None,
            Self::Sphere { radius } => Some(Vector3::repeat(*radius)),
            Self::Capsule { radius, half_length } => Some(Vector3::new(*radius, *radius, half_length + radius)),
            Self::Cylinder { radius, half_length } => Some(Vector3::new(*radius, *radius, *half_length)),
            Self::Ellipsoid { radii: half } | Self::Box { half } => Some(*half),
        }
    }
    /// The same kind of shape of another [`Self::size`]; a plane, a height field or a mesh as it is.
    pub fn resized(&self, [x, y, z]: [f64; 3]) -> Self {
        match self {
            Self::Plane | Self::HeightField(_) | Self::Hull(_) => self.clone(),
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
            Self::HeightField(field) => {
                let highest = field.heights.iter().fold(field.base, |most, height| most.max(height.abs()));
                Vector3::new(field.half[0], field.half[1], highest).norm()
            }
            Self::Sphere { radius } => *radius,
            Self::Capsule { radius, half_length } => radius + half_length,
            Self::Ellipsoid { radii } => radii.max(),
            Self::Cylinder { radius, half_length } => radius.hypot(*half_length),
            Self::Box { half } => half.norm(),
            Self::Hull(hull) => hull.vertices.iter().map(Vector3::norm).fold(0.0, f64::max),
        }
    }
    /// Corners, m, in the frame of the geom, and triangles of a shape that is made of such: a mesh or a height field.
    pub fn triangles(&self) -> Option<Triangles> {
        match self {
            Self::Hull(hull) => Some((hull.vertices.clone(), hull.triangles.clone())),
            Self::HeightField(field) => {
                let point = |k: usize| field.point(k / field.columns, k % field.columns);
                Some(((0..field.heights.len()).map(point).collect(), field.triangles().collect()))
            }
            _ => None,
        }
    }
    /// Whether it is ground, which lies where it is: planes and height fields never touch each other.
    pub fn is_ground(&self) -> bool {
        matches!(self, Self::Plane | Self::HeightField(_))
    }
    /// Place in the order plane < height field < sphere < capsule < ellipsoid < cylinder < box < mesh: the first geom of a pair is the lower one.
    pub fn rank(&self) -> usize {
        match self {
            Self::Plane => 0,
            Self::HeightField(_) => 1,
            Self::Sphere { .. } => 2,
            Self::Capsule { .. } => 3,
            Self::Ellipsoid { .. } => 4,
            Self::Cylinder { .. } => 5,
            Self::Box { .. } => 6,
            Self::Hull(_) => 7,
        }
    }
}
