//! Mesh assets: files or inline points, as convex hulls.

use super::Reader;
use super::obj::read_obj;
use super::xml::Element;
use crate::error::{Error, Result};
use crate::model::{Hull, Shape, solid_inertia};
use nalgebra::{Matrix3, Vector2, Vector3};
use parry3d_f64::math::Vector as ParryVector;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Stack of the thread that reads a mesh and makes its hull, bytes: the hull algorithm descends by recursion.
const HULL_STACK: usize = 64 << 20;

/// A mesh that is ready for geoms.
#[derive(Debug, Clone)]
pub(super) struct Mesh {
    /// The hull, about the centroid of the mesh, in the axes of the mesh.
    pub hull: Arc<Hull>,
    /// The centroid in the frame that the file uses (after reference pose and scale).
    pub centroid: Vector3<f64>,
    /// m³; m² of a shell, whose mass is on its surface.
    pub volume: f64,
    /// About the centroid, for unit density.
    pub inertia: Matrix3<f64>,
}

/// Meshes by name: declared, and read when a geom first needs them.
#[derive(Debug, Default)]
pub(super) struct Meshes {
    declared: HashMap<String, Element>,
    ready: HashMap<String, Mesh>,
}

/// Points and triangles as they stand in a file; triangles may be missing.
#[derive(Debug, Default)]
struct Surface {
    points: Vec<Vector3<f64>>,
    triangles: Vec<[usize; 3]>,
}

impl Reader {
    /// Makes the name of a mesh known.
    pub fn declare_mesh(&mut self, e: &Element) -> Result<()> {
        let e = self.defaults.complete(e, "mesh", "main")?;
        let name = e.asset_name()?;
        e.word("inertia", &["convex", "exact", "legacy", "shell"])?;
        match self.meshes.declared.insert(name.clone(), e) {
            Some(earlier) => Err(earlier.error(format!("there are two meshes called \"{name}\"; rename one"))),
            None => Ok(()),
        }
    }

    /// The mesh called `name`, for the geom `user`.
    pub fn mesh(&mut self, user: &Element, name: &str) -> Result<Mesh> {
        if let Some(mesh) = self.meshes.ready.get(name) {
            return Ok(mesh.clone());
        }
        let e = self.meshes.declared.get(name).cloned();
        let e = e.ok_or_else(|| user.error(format!("there is no mesh called \"{name}\"; declare it in <asset>")))?;
        let mesh = self.make_mesh(&e, name)?;
        self.meshes.ready.insert(name.into(), mesh.clone());
        Ok(mesh)
    }

    fn make_mesh(&mut self, e: &Element, name: &str) -> Result<Mesh> {
        let surface = self.surface(e)?;
        let hull = hull_or_plate(&surface.points, name);
        let (hull, thickness) = hull.map_err(|message| e.error(message))?;
        if let Some(thickness) = thickness {
            self.notes.add(e, &format!("lies in a plane: it is taken to be {thickness:.1e} m thick"));
        }
        let of_hull = solid_inertia(&Shape::Hull(Arc::new(hull.clone())));
        let (mut volume, mut centroid, mut inertia) =
            of_hull.ok_or_else(|| e.error("has no volume; a mesh needs four points that span one"))?;
        // The mass is on the surface, or within it (as MuJoCo counts it by default, or exactly, where it is closed), and within the hull otherwise.
        if e.attribute("inertia") == Some("shell") {
            let content = if surface.triangles.is_empty() {
                shell_content(&hull.vertices, &hull.triangles)
            } else {
                shell_content(&surface.points, &surface.triangles)
            };
            (volume, centroid, inertia) = content.ok_or_else(|| e.error("has a surface without area"))?;
        } else if surface.triangles.is_empty() || e.attribute("inertia") == Some("convex") {
            // that of the hull
        } else if e.attribute("inertia") != Some("exact") {
            let content = cone_content(&surface, f64::abs);
            (volume, centroid, inertia) = content
                .ok_or_else(|| e.error("has no volume within its surface; say inertia=\"shell\" or \"convex\""))?;
        } else {
            match closed_content(&surface, volume) {
                Some(content) => (volume, centroid, inertia) = content,
                None => {
                    self.notes
                        .add(e, "the surface is not closed and oriented: mass properties are those of its convex hull");
                }
            }
        }
        let vertices = hull.vertices.iter().map(|vertex| vertex - centroid).collect();
        Ok(Mesh { hull: Arc::new(Hull { vertices, ..hull }), centroid, volume, inertia })
    }

    /// Points and triangles of a mesh, with reference pose and scale applied.
    fn surface(&self, e: &Element) -> Result<Surface> {
        let mut surface = match (e.attribute("file"), e.list("vertex")?) {
            (Some(_), Some(_)) => return Err(e.error("give \"file\" or \"vertex\", not both")),
            (None, None) => return Err(e.error("needs the attribute \"file\" or \"vertex\"")),
            (Some(file), None) => self.read_surface(e, file)?,
            (None, Some(numbers)) => inline_surface(e, &numbers)?,
        };
        let scale = e.vector("scale")?.unwrap_or(Vector3::repeat(1.0));
        let origin = e.vector("refpos")?.unwrap_or_default();
        let turn = e.numbers::<4>("refquat")?.map(|q| e.unit_quaternion("refquat", q)).transpose()?.unwrap_or_default();
        for point in &mut surface.points {
            *point = (turn.inverse() * (*point - origin)).component_mul(&scale);
            if !point.iter().all(|x| x.abs() < 1e100) {
                return Err(e.error("has a point that is not finite"));
            }
        }
        if scale.iter().product::<f64>() < 0.0 {
            // A mirror image turns triangles inside out.
            surface.triangles.iter_mut().for_each(|triangle| triangle.swap(1, 2));
        }
        Ok(surface)
    }

    /// Path and bytes of the file of a mesh or a height field.
    pub fn asset_file(&self, e: &Element, file: &str) -> Result<(PathBuf, Vec<u8>)> {
        let file = Path::new(file);
        let file = if self.compiler(e).strip_path { file.file_name().map_or(file, Path::new) } else { file };
        let assets = &self.compiler(e).mesh_folder;
        // and then as seen from the folder of the file that names it
        let path = [assets.join(file), assets.join(&e.folder).join(file)];
        let path: PathBuf = path.iter().find(|path| path.is_file()).unwrap_or(&path[0]).clone();
        let bytes = std::fs::read(&path).map_err(|source| {
            let error = Error::File { action: "read", path: path.clone(), source };
            let advice = "files of meshes and height fields are looked for in the compiler's meshdir, seen from the folder of the main file and from that of the file that names them";
            e.error(format!("{error}; {advice}"))
        })?;
        Ok((path, bytes))
    }

    fn read_surface(&self, e: &Element, file: &str) -> Result<Surface> {
        let (path, bytes) = self.asset_file(e, file)?;
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let parsed = match extension.as_str() {
            "stl" => contained(|| read_stl(bytes)),
            "obj" => read_obj(&bytes).map(|(points, triangles)| Surface { points, triangles }),
            "msh" => read_msh(&bytes),
            _ => Err(format!("files of type \"{extension}\" are not supported; convert the mesh to STL or OBJ")),
        };
        parsed.map_err(|message| e.error(format!("{}: {message}", path.display())))
    }
}

/// Runs `work` on a thread of its own with a large stack: readers and the hull may panic or descend deeply on degenerate input.
fn contained<T: Send>(work: impl FnOnce() -> std::result::Result<T, String> + Send) -> std::result::Result<T, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(HULL_STACK).spawn_scoped(scope, work);
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err("the mesh is degenerate; simplify it".into()),
            Err(error) => Err(format!("cannot start a thread to read the mesh: {error}")),
        }
    })
}

fn inline_surface(e: &Element, numbers: &[f64]) -> Result<Surface> {
    if !numbers.len().is_multiple_of(3) {
        return Err(e.error(format!("\"vertex\" needs three numbers for each point, found {}", numbers.len())));
    }
    let points: Vec<_> = numbers.chunks_exact(3).map(Vector3::from_column_slice).collect();
    let corners = e.list("face")?.unwrap_or_default();
    let valid = corners.iter().all(|x| *x >= 0.0 && x.fract() == 0.0 && *x < points.len() as f64);
    if !corners.len().is_multiple_of(3) || !valid {
        return Err(e.error("\"face\" needs three indices of points for each triangle"));
    }
    let triangles = corners.chunks_exact(3).map(|t| [t[0] as usize, t[1] as usize, t[2] as usize]).collect();
    Ok(Surface { points, triangles })
}

/// Bytes of a binary STL file before its triangles, the last four of them their number; and those of a triangle.
const STL_HEADER: usize = 84;
const STL_TRIANGLE: usize = 50;

fn read_stl(mut bytes: Vec<u8>) -> std::result::Result<Surface, String> {
    // some programs begin the header of a binary file as a text file begins; how long it is tells
    if let Some((header, triangles)) = bytes.split_at_mut_checked(STL_HEADER)
        && let Some(count) = header.last_chunk().map(|count| u32::from_le_bytes(*count) as usize)
        && Some(triangles.len()) == count.checked_mul(STL_TRIANGLE)
    {
        header[..STL_HEADER - 4].fill(0);
    }
    let mesh = stl_io::read_stl(&mut std::io::Cursor::new(bytes)).map_err(|error| error.to_string())?;
    Ok(Surface {
        points: mesh.vertices.iter().map(|v| Vector3::from(v.0.map(f64::from))).collect(),
        triangles: mesh.faces.iter().map(|face| face.vertices).collect(),
    })
}

/// MuJoCo's own format: the numbers of points, normals, texture coordinates and triangles, and then these, all of four bytes, little-endian.
fn read_msh(bytes: &[u8]) -> std::result::Result<Surface, String> {
    let broken = || "is not as long as it says, or names a point that does not exist".to_owned();
    let (words, []) = bytes.as_chunks::<4>() else { return Err(broken()) };
    let Some((counts, words)) = words.split_first_chunk::<4>() else { return Err(broken()) };
    let [points, normals, textures, triangles] = counts.map(|count| u64::from(u32::from_le_bytes(count)));
    let lengths = [3 * points, 3 * normals, 2 * textures, 3 * triangles];
    if words.len() as u64 != lengths.iter().sum::<u64>() {
        return Err(broken());
    }
    let (points, rest) = words.split_at(lengths[0] as usize);
    let corners = &rest[(lengths[1] + lengths[2]) as usize..];
    let surface = Surface {
        points: points
            .as_chunks::<3>()
            .0
            .iter()
            .map(|p| Vector3::from(p.map(f32::from_le_bytes)).map(f64::from))
            .collect(),
        triangles: corners.as_chunks::<3>().0.iter().map(|t| t.map(|i| u32::from_le_bytes(i) as usize)).collect(),
    };
    let count = surface.points.len();
    if surface.triangles.iter().flatten().all(|&i| i < count) { Ok(surface) } else { Err(broken()) }
}

/// The hull of points; of those that lie in a plane it is that of a plate, with its thickness, m.
fn hull_or_plate(points: &[Vector3<f64>], name: &str) -> std::result::Result<(Hull, Option<f64>), String> {
    let plate = |flat: f64| plate(points, name, flat).map(|(hull, thickness)| (hull, Some(thickness)));
    if let Some(plate) = plate(ROUNDING) {
        return Ok(plate);
    }
    let hull = contained(|| convex_hull(points, name));
    hull.map(|hull| (hull, None)).or_else(|message| plate(THICKNESS).ok_or(message))
}

/// Share of the extent of a mesh without thickness that it is given.
const THICKNESS: f64 = 2e-3;
/// What is thinner is thick by the rounding of its file alone.
const ROUNDING: f64 = 1e-6;

/// Of points that are no thicker than a share `flat` of their extent and span an area: the hull of a plate along their plane, and how thick it is, m.
fn plate(points: &[Vector3<f64>], name: &str, flat: f64) -> Option<(Hull, f64)> {
    let spread = spread(points).symmetric_eigen();
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| spread.eigenvalues[i].total_cmp(&spread.eigenvalues[j]));
    let [thin, middle, largest] = order.map(|k| spread.eigenvalues[k]);
    if points.len() < 3 || thin >= flat * flat * largest || middle <= 1e-12 * largest {
        return None;
    }
    let [x, y] = [order[1], order[2]].map(|k| spread.eigenvectors.column(k).into_owned());
    let mean = points.iter().sum::<Vector3<f64>>() / points.len() as f64;
    let outline = outline(points.iter().map(|p| Vector2::new((p - mean).dot(&x), (p - mean).dot(&y))).collect());
    let thickness = THICKNESS * (largest / points.len() as f64).sqrt();
    let side = |z: f64| outline.iter().map(move |p| mean + x * p.x + y * p.y + x.cross(&y) * z);
    let count = outline.len();
    // above, below, and two triangles for every edge
    let faces = (2..count).flat_map(|k| [[0, k - 1, k], [count, count + k, count + k - 1]]);
    let edges = (0..count).map(|k| (k, (k + 1) % count));
    let hull = Hull {
        name: name.into(),
        vertices: side(0.5 * thickness).chain(side(-0.5 * thickness)).collect(),
        triangles: faces.chain(edges.flat_map(|(i, j)| [[count + i, count + j, j], [count + i, j, i]])).collect(),
    };
    (count > 2).then_some((hull, thickness))
}

/// The corners of the convex hull of points in a plane, counter-clockwise; what hardly stands out is none.
fn outline(mut points: Vec<Vector2<f64>>) -> Vec<Vector2<f64>> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    points.dedup();
    let extent = points.iter().map(Vector2::amax).fold(0.0, f64::max);
    // Andrew's chains: below from left to right, and back above
    let chain = |points: &mut dyn Iterator<Item = Vector2<f64>>| {
        let mut chain: Vec<Vector2<f64>> = Vec::new();
        for p in points {
            while let [.., a, b] = chain[..]
                && (b - a).perp(&(p - b)) <= 1e-9 * extent * (p - a).norm()
            {
                chain.pop();
            }
            chain.push(p);
        }
        // the last one is the first of the other chain
        chain.pop();
        chain
    };
    let mut corners = chain(&mut points.iter().copied());
    corners.append(&mut chain(&mut points.iter().rev().copied()));
    corners
}

/// Σ (p − p̄)(p − p̄)ᵀ, m².
fn spread(points: &[Vector3<f64>]) -> Matrix3<f64> {
    let mean = points.iter().sum::<Vector3<f64>>() / points.len().max(1) as f64;
    points.iter().map(|p| (p - mean) * (p - mean).transpose()).sum()
}

fn convex_hull(points: &[Vector3<f64>], name: &str) -> std::result::Result<Hull, String> {
    let flat = "has no volume: a mesh needs at least four points that do not lie in a plane";
    // Points without extent along some direction make the hull algorithm fail in its own ways.
    let moments = spread(points).symmetric_eigenvalues();
    if points.len() < 4 || moments.max() <= 0.0 || moments.min() <= 1e-20 * moments.max() {
        return Err(flat.into());
    }
    let cloud: Vec<ParryVector> = points.iter().map(|p| ParryVector::new(p.x, p.y, p.z)).collect();
    let (corners, triangles) =
        parry3d_f64::transformation::try_convex_hull(&cloud).map_err(|error| format!("has no convex hull: {error}"))?;
    let hull = Hull {
        name: name.into(),
        vertices: corners.iter().map(|p| Vector3::new(p.x, p.y, p.z)).collect(),
        triangles: triangles.iter().map(|t| t.map(|i| i as usize)).collect(),
    };
    match solid_inertia(&Shape::Hull(Arc::new(hull.clone()))) {
        Some((volume, ..)) if volume > 0.0 && volume.is_finite() => Ok(hull),
        _ => Err(flat.into()),
    }
}

/// Area, centroid and inertia of a surface, if it has any area.
fn shell_content(points: &[Vector3<f64>], triangles: &[[usize; 3]]) -> Option<(f64, Vector3<f64>, Matrix3<f64>)> {
    let (mut area, mut first, mut second) = (0.0, Vector3::zeros(), Matrix3::zeros());
    for triangle in triangles {
        let [a, b, c] = triangle.map(|i| points[i]);
        let (own, sum) = ((b - a).cross(&(c - a)).norm() / 2.0, a + b + c);
        area += own;
        first += own / 3.0 * sum;
        // ∫ x xᵀ over a triangle: A/12 (a aᵀ + b bᵀ + c cᵀ + s sᵀ) with s = a + b + c
        for x in [a, b, c, sum] {
            second += own / 12.0 * x * x.transpose();
        }
    }
    let centroid = first / area;
    let second = second - area * centroid * centroid.transpose();
    let inertia = Matrix3::from_diagonal_element(second.trace()) - second;
    (area > 0.0 && inertia.iter().all(|x| x.is_finite())).then_some((area, centroid, inertia))
}

/// Volume, centroid and inertia of the tetrahedra that a point makes with the triangles of a surface, if they have any. Each counts as positive (`f64::abs`) in what MuJoCo takes for the inside
/// by default, which it is where that point sees all of the surface; counted as it is turned, they are the inside of any that is closed. The point is the centroid of the surface for volume
/// and centroid, and this one for the inertia, and the volume that counts in the end.
fn cone_content(surface: &Surface, count: fn(f64) -> f64) -> Option<(f64, Vector3<f64>, Matrix3<f64>)> {
    let Surface { points, triangles } = surface;
    let (_, within, _) = shell_content(points, triangles)?;
    // Σ V, Σ V c and Σ ∫ x xᵀ, from a point
    let cones = |apex: Vector3<f64>| {
        let (mut volume, mut first, mut second) = (0.0, Vector3::zeros(), Matrix3::zeros());
        for triangle in triangles {
            let [a, b, c] = triangle.map(|i| points[i] - apex);
            let (own, sum) = (count(a.dot(&b.cross(&c))) / 6.0, a + b + c);
            volume += own;
            first += own / 4.0 * sum;
            // ∫ x xᵀ over a tetrahedron with a corner at 0: V/20 (a aᵀ + b bᵀ + c cᵀ + s sᵀ) with s = a + b + c
            for x in [a, b, c, sum] {
                second += own / 20.0 * x * x.transpose();
            }
        }
        (volume, first, second)
    };
    let (volume, first, _) = cones(within);
    let centroid = within + first / volume;
    let (volume, _, second) = cones(centroid);
    let inertia = Matrix3::from_diagonal_element(second.trace()) - second;
    (volume > 0.0 && inertia.iter().all(|x| x.is_finite())).then_some((volume, centroid, inertia))
}

/// Volume, centroid and inertia inside of a surface, if it is closed and oriented well enough to have them.
fn closed_content(surface: &Surface, hull_volume: f64) -> Option<(f64, Vector3<f64>, Matrix3<f64>)> {
    let (volume, centroid, inertia) = cone_content(surface, |volume| volume)?;
    let moments = inertia.symmetric_eigenvalues();
    let plausible = volume > 1e-6 * hull_volume
        && volume <= hull_volume * (1.0 + 1e-6)
        && moments.min() > 0.0
        && moments.max() * 2.0 <= moments.sum() * (1.0 + 1e-9);
    plausible.then_some((volume, centroid, inertia))
}
