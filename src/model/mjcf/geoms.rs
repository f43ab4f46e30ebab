//! Geoms: shape, pose, contact parameters and mass.

use super::Reader;
use super::bodies::Pose;
use super::values::Switch;
use super::xml::Element;
use crate::error::Result;
use crate::model::builder::MassPart;
use crate::model::{Geom, Shape, solid_inertia};
use nalgebra::{Matrix3, Vector3};
use std::f64::consts::PI;

/// Density of geoms that give neither density nor mass, kg/m³.
const DENSITY: f64 = 1000.0;

/// MJCF's default of the coefficients of an ellipsoid in the medium.
const FLUID: [f64; 5] = [0.5, 0.25, 1.5, 1.0, 1.0];

/// A shape with its pose in the frame around it, and what a solid of it weighs.
struct Solid {
    shape: Shape,
    pose: Pose,
    /// Volume (of a shell, area), centroid and inertia about the centroid for unit density; none for a plane or land.
    content: Option<(f64, Vector3<f64>, Matrix3<f64>)>,
}

impl Reader {
    /// Reads a geom (with its defaults); returns its part of the mass of the body, if it has one.
    pub fn read_geom(&mut self, body: usize, e: &Element, frame: &Pose) -> Result<Option<MassPart>> {
        let solid = self.solid(e)?;
        let pose = frame.then(&solid.pose);
        let mut geom = Geom::new(body, solid.shape);
        (geom.position, geom.orientation) = (pose.position, pose.orientation);
        geom.name = e.name().into();
        geom.friction = e.leading_numbers("friction", geom.friction)?;
        geom.condim = self.condim(e)?.unwrap_or(geom.condim);
        // The bits of a negative number count, as in MuJoCo.
        geom.contype = e.integer("contype")?.map_or(geom.contype, |bits| bits as u32);
        geom.conaffinity = e.integer("conaffinity")?.map_or(geom.conaffinity, |bits| bits as u32);
        geom.softness = e.softness("solref", "solimp")?;
        geom.softness_weight = e.magnitude("solmix")?.unwrap_or(geom.softness_weight);
        geom.margin = e.magnitude("margin")?.unwrap_or(geom.margin);
        geom.gap = e.magnitude("gap")?.unwrap_or(geom.gap);
        geom.priority = e.integer("priority")?.unwrap_or(geom.priority);
        geom.group = e.integer("group")?.unwrap_or(geom.group);
        geom.is_seen = match e.attribute("material") {
            Some(material) => !self.unseen.contains(material),
            None => has_colour(e)?,
        };
        if matches!(geom.shape, Shape::Plane) {
            let size = e.leading_numbers("size", [0.0; 3])?;
            geom.plane_half = [size[0], size[1]].map(|half| if half > 0.0 { half } else { f64::INFINITY });
        }
        let medium = &self.builder.model.medium;
        if e.word("fluidshape", &["none", "ellipsoid"])? == Some("ellipsoid") {
            geom.fluid = Some(e.leading_numbers("fluidcoef", FLUID)?);
        }
        if geom.fluid.is_some() && geom.shape.half_axes().is_none() {
            geom.fluid = None;
            // a plane or land never moves
            if !geom.shape.is_ground() && (medium.density > 0.0 || medium.viscosity > 0.0) {
                let advice = "fluidshape \"ellipsoid\" is not supported for a mesh; add an ellipsoid without contact and mass, and give that the fluidshape";
                self.notes.refuse(e, advice)?;
            }
        }
        let mass = e.magnitude("mass")?;
        let density = e.magnitude("density")?.unwrap_or(DENSITY);
        let [first, last] = self.compiler(e).inertia_groups;
        let weighs =
            body > 0 && (first..=last).contains(&geom.group) && self.compiler(e).inertia_from_geoms != Switch::Off;
        let part = match solid.content.filter(|_| weighs) {
            Some((volume, centroid, inertia)) => {
                if mass.is_some() && !(volume > 0.0 && volume.is_finite()) {
                    return Err(e.error("a geom with a mass needs a volume: every size must be positive"));
                }
                let density = mass.map_or(density, |mass| mass / volume);
                Some((volume * density, centroid, inertia * density, pose.position, pose.orientation))
            }
            None => None,
        };
        let index = self.builder.add_geom(geom);
        self.register("geom", index, e)?;
        Ok(part)
    }

    /// Remembers whether what is made of a material can be seen.
    pub fn declare_material(&mut self, e: &Element) -> Result<()> {
        let e = self.defaults.complete(e, "material", "main")?;
        if !has_colour(&e)? {
            self.unseen.insert(e.name().into());
        }
        Ok(())
    }

    /// The number of contact dimensions; what torsional and rolling friction act in is noted.
    pub fn condim(&mut self, e: &Element) -> Result<Option<usize>> {
        Ok(match e.word("condim", &["1", "3", "4", "6"])? {
            Some("1") => Some(1),
            Some("3") => Some(3),
            Some(high) => {
                let sentence = format!(
                    "condim {high} is treated as 3, but with constraints soft and a pyramidal cone, where all of it acts, and with friction patch, where torsional friction does"
                );
                self.notes.differs(e, &sentence);
                Some(if high == "4" { 4 } else { 6 })
            }
            None => None,
        })
    }

    fn solid(&mut self, e: &Element) -> Result<Solid> {
        let kind =
            e.word("type", &["plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "hfield", "sdf"])?;
        let kind = kind.unwrap_or("sphere");
        if e.attribute("hfield").is_some() && kind != "hfield" {
            return Err(e.error(format!("\"hfield\" does not go with a {kind}; give type=\"hfield\"")));
        }
        match kind {
            "sdf" => return Err(e.error("geoms of type sdf are not supported; use boxes or a mesh")),
            "hfield" => {
                let name = e.attribute("hfield");
                let name = name.ok_or_else(|| e.error("a geom of type hfield needs the attribute \"hfield\""))?;
                if let Some(wrong) = ["mesh", "fromto"].into_iter().find(|other| e.attribute(other).is_some()) {
                    return Err(e.error(format!("\"{wrong}\" does not go with a height field; remove it")));
                }
                let shape = Shape::HeightField(self.height_field(e, name)?);
                return Ok(Solid { shape, pose: self.pose(e)?, content: None });
            }
            "mesh" => return self.mesh_solid(e),
            _ => {}
        }
        let (shape, pose) = match e.attribute("mesh") {
            Some(mesh) => self.fitted(e, kind, mesh)?,
            None => self.primitive(e, kind, 0.0)?,
        };
        let is_shell = e.boolean("shellinertia")? == Some(true);
        let content = if is_shell { surface_inertia(&shape) } else { solid_inertia(&shape) };
        Ok(Solid { shape, pose, content })
    }

    /// Shape and pose of a geom or site that is no mesh; `missing`: what stands for a number that "size" lacks.
    pub fn primitive(&self, e: &Element, kind: &str, missing: f64) -> Result<(Shape, Pose)> {
        let mut size = e.leading_numbers("size", [missing; 3])?;
        let pose = match Self::ends(e)? {
            None => self.pose(e)?,
            Some((pose, half_length)) => {
                match kind {
                    "capsule" | "cylinder" => size[1] = half_length,
                    "box" | "ellipsoid" => size = [size[0], size[0], half_length],
                    _ => return Err(e.error(format!("\"fromto\" does not go with a {kind}; give pos and size"))),
                }
                pose
            }
        };
        Ok((Self::sized(e, kind, size)?, pose))
    }

    /// A shape that is no mesh, by its kind and size.
    pub fn sized(e: &Element, kind: &str, size: [f64; 3]) -> Result<Shape> {
        let [a, b, c] = size;
        let (shape, needed) = match kind {
            "plane" => (Shape::Plane, 0),
            "sphere" => (Shape::Sphere { radius: a }, 1),
            "capsule" => (Shape::Capsule { radius: a, half_length: b }, 2),
            "cylinder" => (Shape::Cylinder { radius: a, half_length: b }, 2),
            "ellipsoid" => (Shape::Ellipsoid { radii: Vector3::new(a, b, c) }, 3),
            _ => (Shape::Box { half: Vector3::new(a, b, c) }, 3),
        };
        if size[..needed].iter().any(|x| *x <= 0.0) {
            return Err(e.error(format!(
                "a {kind} needs {needed} positive numbers in \"size\"{}",
                if kind == "capsule" { " (radius and half length, or radius and \"fromto\")" } else { "" }
            )));
        }
        Ok(shape)
    }

    /// A mesh as its convex hull. The frame of the geom is moved to the centroid.
    fn mesh_solid(&mut self, e: &Element) -> Result<Solid> {
        let name = e.attribute("mesh").ok_or_else(|| e.error("a geom of type mesh needs the attribute \"mesh\""))?;
        let name = name.to_owned();
        if e.attribute("shellinertia").is_some() {
            return Err(e.error("\"shellinertia\" does not go with a mesh; give the mesh itself inertia=\"shell\""));
        }
        let pose = self.pose(e)?;
        let mesh = self.mesh(e, &name)?;
        let centred = Pose { position: mesh.centroid, ..Pose::identity() };
        Ok(Solid {
            shape: Shape::Hull(mesh.hull.clone()),
            pose: pose.then(&centred),
            content: Some((mesh.volume, Vector3::zeros(), mesh.inertia)),
        })
    }
}

/// Whether an element is drawn at all.
fn has_colour(e: &Element) -> Result<bool> {
    Ok(e.list("rgba")?.is_none_or(|rgba| rgba.get(3).is_none_or(|alpha| *alpha != 0.0)))
}

/// Thickness of the layer whose inertia an ellipsoid's surface has, as in MuJoCo 4.0, m.
const LAYER: f64 = 1e-6;

/// Area (m²), centroid (m) and inertia about it for unit density (m⁴) of the surface of a primitive; none for a plane or land.
fn surface_inertia(shape: &Shape) -> Option<(f64, Vector3<f64>, Matrix3<f64>)> {
    // ∫ x², ∫ y² and ∫ z² over the surface
    let (area, second) = match shape {
        Shape::Plane | Shape::HeightField(_) | Shape::Hull(_) => return None,
        Shape::Sphere { radius: r } => {
            let area = 4.0 * PI * r * r;
            (area, Vector3::repeat(area * r * r / 3.0))
        }
        Shape::Capsule { radius: r, half_length: h } => {
            let (side, caps) = (4.0 * PI * r * h, 4.0 * PI * r * r);
            let across = side * r * r / 2.0 + caps * r * r / 3.0;
            let along = side * h * h / 3.0 + caps * (r * r / 3.0 + r * h + h * h);
            (side + caps, Vector3::new(across, across, along))
        }
        Shape::Cylinder { radius: r, half_length: h } => {
            let (side, ends) = (4.0 * PI * r * h, 2.0 * PI * r * r);
            let across = side * r * r / 2.0 + ends * r * r / 4.0;
            (side + ends, Vector3::new(across, across, side * h * h / 3.0 + ends * h * h))
        }
        Shape::Box { half } => {
            let faces = Vector3::new(half.y * half.z, half.x * half.z, half.x * half.y) * 8.0;
            let area = faces.sum();
            // two faces stand across an axis, at its ends, and four lie along it
            (area, (faces * 2.0 + Vector3::repeat(area)).component_mul(half).component_mul(half) / 3.0)
        }
        Shape::Ellipsoid { radii } => {
            // Knud Thomsen's formula; the mass is in a layer of one thickness along each axis
            let power = 1.6075;
            let sides = [radii.x * radii.y, radii.x * radii.z, radii.y * radii.z].map(|side| side.powf(power));
            let area = 4.0 * PI * (sides.iter().sum::<f64>() / 3.0).powf(1.0 / power);
            let solid = |radii: Vector3<f64>| {
                let volume = radii.product();
                (volume, radii.component_mul(&radii) * (volume / 5.0))
            };
            let ((inner, within), (outer, without)) = (solid(*radii), solid(radii.add_scalar(LAYER)));
            (area, (without - within) * (area / (outer - inner)))
        }
    };
    Some((area, Vector3::zeros(), Matrix3::from_diagonal(&second.map(|own| second.sum() - own))))
}
