//! `delassus.Model`.

use crate::array::exception;
use delassus::model::ReadOptions;
use numpy::{AllowTypeChange, IntoPyArray, PyArray1, PyArray2, PyArrayLike2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A robot, or several, and the things around them, read from MJCF. Constant; all worlds of a batch share it.
///
/// Units are SI, angles rad, z is up; quaternions are w x y z; a free joint has q = position (3) and quaternion (4), and v = linear velocity in world
/// axes, then angular velocity in body axes (MuJoCo's conventions).
///
/// Args:
///     source: path of an MJCF file, or MJCF text (which begins with "<").
///     lenient: list what is not known or not done as notes instead of refusing the file.
///     heights: other heights of height fields than the file's, by name: m above the origin of the geom, shape [row, column], rows from low y to high y, columns from low x to high x.
///
/// Raises:
///     Error: the file cannot be read, or holds what this version does not do; file, line and element are named.
#[pyclass(frozen, module = "delassus")]
pub struct Model {
    pub model: delassus::Model,
    /// Path or text.
    #[pyo3(get)]
    source: String,
    /// The same wherever a process stands: an absolute path, or text.
    origin: String,
    #[pyo3(get)]
    lenient: bool,
    /// What was given, by name of the height field.
    heights: Heights,
}

/// Heights by name of the height field, shape \[row\]\[column\] and its numbers.
type Heights = BTreeMap<String, Py<PyArray2<f64>>>;

/// Corners and triangles.
type MeshArrays<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<u32>>);

fn is_text(source: &str) -> bool {
    source.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

fn names<'a>(parts: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    parts.into_iter().cloned().collect()
}

/// The index of a part by name.
fn find(kind: &str, name: &str, names: Vec<&String>) -> PyResult<usize> {
    names.iter().position(|n| *n == name).ok_or_else(|| {
        let known: Vec<String> = names.iter().filter(|n| !n.is_empty()).map(|n| format!("\"{n}\"")).collect();
        let known = if known.is_empty() { "none has a name".into() } else { format!("there are {}", known.join(", ")) };
        PyValueError::new_err(format!("the model has no {kind} called \"{name}\": {known}"))
    })
}

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (source, *, lenient = false, heights = None))]
    fn new(
        py: Python<'_>,
        source: PathBuf,
        lenient: bool,
        heights: Option<BTreeMap<String, Bound<'_, PyAny>>>,
    ) -> PyResult<Self> {
        let Some(source) = source.to_str().map(ToOwned::to_owned) else {
            return Err(PyValueError::new_err("source: a path must be valid Unicode"));
        };
        let options = ReadOptions { lenient };
        let text = is_text(&source);
        let origin =
            std::path::absolute(&source).ok().filter(|_| !text).and_then(|p| p.to_str().map(ToOwned::to_owned));
        let origin = origin.unwrap_or_else(|| source.clone());
        let read = || {
            if text {
                delassus::Model::from_mjcf_str_with(&source, &options)
            } else {
                delassus::Model::from_mjcf_file_with(&source, &options)
            }
        };
        let mut model = py.detach(read).map_err(exception)?;
        let mut given = Heights::new();
        for (name, numbers) in heights.unwrap_or_default() {
            let numbers: PyArrayLike2<'_, f64, AllowTypeChange> = numbers.extract().map_err(|_| {
                PyValueError::new_err(format!("heights: those of \"{name}\" must be numbers, shape [row, column]"))
            })?;
            if let Some(field) = model.height_field(&name)
                && numbers.shape() != [field.rows, field.columns]
            {
                let (rows, columns, found) = (field.rows, field.columns, numbers.shape());
                return Err(PyValueError::new_err(format!(
                    "heights: those of \"{name}\" have shape {found:?}, needs [{rows}, {columns}]"
                )));
            }
            let all: Vec<f64> = numbers.as_array().iter().copied().collect();
            model.set_heights(&name, &all).map_err(exception)?;
            given.insert(name, numbers.as_array().to_owned().into_pyarray(py).unbind());
        }
        Ok(Self { model, source, origin, lenient, heights: given })
    }

    /// A model is pickled as its source, its path from the root, which is read again; another model than before is refused.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, this) = (slf.py(), slf.get());
        let read = slf.get_type().getattr("_read_again")?;
        let heights = PyDict::new(py);
        for (name, numbers) in &this.heights {
            heights.set_item(name, numbers)?;
        }
        Ok((read, (&this.origin, this.lenient, this.fingerprint(), heights).into_pyobject(py)?))
    }

    #[staticmethod]
    #[pyo3(signature = (source, lenient, fingerprint, heights = None))]
    fn _read_again(
        py: Python<'_>,
        source: &str,
        lenient: bool,
        fingerprint: u64,
        heights: Option<BTreeMap<String, Bound<'_, PyAny>>>,
    ) -> PyResult<Self> {
        let model = Self::new(py, source.into(), lenient, heights)?;
        if model.fingerprint() == fingerprint {
            return Ok(model);
        }
        Err(crate::array::Error::new_err(format!(
            "{source}: the file is no longer the model that was pickled; pickle a model made from text to be independent of files"
        )))
    }

    fn __repr__(&self) -> String {
        let m = &self.model;
        let (nq, nv, nu) = (m.nq(), m.nv(), m.nu());
        format!("Model(\"{}\": {} bodies, nq {nq}, nv {nv}, nu {nu})", m.name, m.bodies.len())
    }

    /// Name.
    #[getter]
    fn name(&self) -> &str {
        &self.model.name
    }
    /// Number of position coordinates.
    #[getter]
    fn nq(&self) -> usize {
        self.model.nq()
    }
    /// Number of degrees of freedom.
    #[getter]
    fn nv(&self) -> usize {
        self.model.nv()
    }
    /// Number of actuators.
    #[getter]
    fn nu(&self) -> usize {
        self.model.nu()
    }
    /// Number of activations: states of actuators that have one.
    #[getter]
    fn na(&self) -> usize {
        self.model.na()
    }
    /// Index of the actuator of every activation, shape [na].
    #[getter]
    fn activation_actuator(&self) -> Vec<usize> {
        self.model.activations.iter().map(|a| a.actuator).collect()
    }
    /// Step that the file asks for, s.
    #[getter]
    fn timestep(&self) -> f64 {
        self.model.timestep
    }
    /// A number that two models share if the same state and inputs make them move alike.
    #[getter]
    fn fingerprint(&self) -> u64 {
        self.model.fingerprint()
    }
    /// What there is to know about the reading of the file: (sentence, whether the motion differs for it).
    #[getter]
    fn notes(&self) -> Vec<(String, bool)> {
        self.model.notes.iter().map(|n| (n.text.clone(), n.changes_motion)).collect()
    }

    /// Gravity, m/s², shape [3].
    #[getter]
    fn gravity<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.model.gravity.as_slice())
    }
    /// Position at rest, shape [nq].
    #[getter]
    fn q0<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.model.q0)
    }
    /// Mass of every body, kg, shape [body]; the first is the world.
    #[getter]
    fn body_mass<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.model.bodies.iter().map(|b| b.mass))
    }
    /// Lower and upper bound of every control, infinite where there is none, shape [nu, 2].
    #[getter]
    fn control_range<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let open = [f64::NEG_INFINITY, f64::INFINITY];
        let rows: Vec<Vec<f64>> =
            self.model.actuators.iter().map(|a| a.control_range.unwrap_or(open).to_vec()).collect();
        if rows.is_empty() {
            return Ok(PyArray2::zeros(py, [0, 2], false));
        }
        Ok(PyArray2::from_vec2(py, &rows)?)
    }
    /// Lower and upper limit of every joint, rad or m (a ball joint: 0 and the largest angle), infinite where there is none, shape [joint, 2].
    #[getter]
    fn joint_range<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let open = [f64::NEG_INFINITY, f64::INFINITY];
        let rows: Vec<Vec<f64>> = self.model.joints.iter().map(|j| j.range.unwrap_or(open).to_vec()).collect();
        if rows.is_empty() {
            return Ok(PyArray2::zeros(py, [0, 2], false));
        }
        Ok(PyArray2::from_vec2(py, &rows)?)
    }
    /// First coordinate of every joint in q, shape [joint].
    #[getter]
    fn joint_q(&self) -> Vec<usize> {
        self.model.joints.iter().map(|j| j.q_start).collect()
    }
    /// First degree of freedom of every joint in v, shape [joint].
    #[getter]
    fn joint_v(&self) -> Vec<usize> {
        self.model.joints.iter().map(|j| j.v_start).collect()
    }
    /// Shape of every geom: "plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box" or "mesh", shape [geom].
    #[getter]
    fn geom_shape(&self) -> Vec<&'static str> {
        self.model.geoms.iter().map(|g| g.shape.name()).collect()
    }
    /// Lengths of every geom as MJCF's `size`, m, shape [geom, 3]: radius and half length, half axes, or half edges; 0 for planes, height fields and meshes.
    #[getter]
    fn geom_size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows: Vec<Vec<f64>> = self.model.geoms.iter().map(|g| g.shape.size().to_vec()).collect();
        if rows.is_empty() {
            return Ok(PyArray2::zeros(py, [0, 3], false));
        }
        Ok(PyArray2::from_vec2(py, &rows)?)
    }
    /// Index of the body of every geom, shape [geom].
    #[getter]
    fn geom_body(&self) -> Vec<usize> {
        self.model.geoms.iter().map(|g| g.body).collect()
    }
    /// Convex hull of a geom of shape "mesh", or surface of one of shape "hfield": corners (m), shape [corner, 3], and triangles, counter-clockwise seen from outside, shape [triangle, 3].
    fn geom_mesh<'py>(&self, py: Python<'py>, geom: usize) -> PyResult<MeshArrays<'py>> {
        let Some((vertices, triangles)) = self.model.geoms.get(geom).and_then(|g| g.shape.triangles()) else {
            return Err(PyValueError::new_err(format!("geom: {geom} is no geom of shape \"mesh\" or \"hfield\"")));
        };
        let vertices: Vec<Vec<f64>> = vertices.iter().map(|v| v.as_slice().to_vec()).collect();
        let triangles: Vec<Vec<u32>> = triangles.iter().map(|t| t.map(|i| i as u32).to_vec()).collect();
        Ok((PyArray2::from_vec2(py, &vertices)?, PyArray2::from_vec2(py, &triangles)?))
    }
    /// Heights of a height field, m above the origin of its geom, shape [row, column]: rows from low y to high y, columns from low x to high x.
    fn heights<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let Some(field) = self.model.height_field(name) else {
            return Err(PyValueError::new_err(format!(
                "name: no geom of the model has a height field called \"{name}\""
            )));
        };
        let rows: Vec<Vec<f64>> = field.heights.chunks(field.columns).map(<[f64]>::to_vec).collect();
        Ok(PyArray2::from_vec2(py, &rows)?)
    }
    /// Names of the bodies; the first is the world, and what has no name is "".
    #[getter]
    fn body_names(&self) -> Vec<String> {
        names(self.model.bodies.iter().map(|x| &x.name))
    }
    /// Names of the mocap bodies, in the order of the parameter mocap_pose.
    #[getter]
    fn mocap_names(&self) -> Vec<String> {
        names(self.model.bodies.iter().filter(|x| x.mocap).map(|x| &x.name))
    }
    /// Names of the joints.
    #[getter]
    fn joint_names(&self) -> Vec<String> {
        names(self.model.joints.iter().map(|x| &x.name))
    }
    /// Names of the geoms.
    #[getter]
    fn geom_names(&self) -> Vec<String> {
        names(self.model.geoms.iter().map(|x| &x.name))
    }
    /// Names of the sites.
    #[getter]
    fn site_names(&self) -> Vec<String> {
        names(self.model.sites.iter().map(|x| &x.name))
    }
    /// Names of the tendons.
    #[getter]
    fn tendon_names(&self) -> Vec<String> {
        names(self.model.tendons.iter().map(|x| &x.name))
    }
    /// Names of the actuators.
    #[getter]
    fn actuator_names(&self) -> Vec<String> {
        names(self.model.actuators.iter().map(|x| &x.name))
    }
    /// Names of the sensors.
    #[getter]
    fn sensor_names(&self) -> Vec<String> {
        names(self.model.sensors.iter().map(|x| &x.name))
    }
    /// Names of the keyframes.
    #[getter]
    fn keyframe_names(&self) -> Vec<String> {
        names(self.model.keyframes.iter().map(|x| &x.name))
    }

    /// Index of the body with this name.
    fn body(&self, name: &str) -> PyResult<usize> {
        find("body", name, self.model.bodies.iter().map(|x| &x.name).collect())
    }
    /// Index of the joint with this name.
    fn joint(&self, name: &str) -> PyResult<usize> {
        find("joint", name, self.model.joints.iter().map(|x| &x.name).collect())
    }
    /// Index of the geom with this name.
    fn geom(&self, name: &str) -> PyResult<usize> {
        find("geom", name, self.model.geoms.iter().map(|x| &x.name).collect())
    }
    /// Index of the site with this name.
    fn site(&self, name: &str) -> PyResult<usize> {
        find("site", name, self.model.sites.iter().map(|x| &x.name).collect())
    }
    /// Index of the sensor with this name.
    fn sensor(&self, name: &str) -> PyResult<usize> {
        find("sensor", name, self.model.sensors.iter().map(|x| &x.name).collect())
    }
    /// Index of the tendon with this name.
    fn tendon(&self, name: &str) -> PyResult<usize> {
        find("tendon", name, self.model.tendons.iter().map(|x| &x.name).collect())
    }
    /// Index of the actuator with this name.
    fn actuator(&self, name: &str) -> PyResult<usize> {
        find("actuator", name, self.model.actuators.iter().map(|x| &x.name).collect())
    }

    /// A named state: q [nq], v [nv], control [nu], activation [na], poses of mocap bodies [mocap body * 7] and time (s).
    fn keyframe<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let index = find("keyframe", name, self.model.keyframes.iter().map(|x| &x.name).collect())?;
        let key = &self.model.keyframes[index];
        let values = PyDict::new(py);
        values.set_item("q", PyArray1::from_slice(py, &key.q))?;
        values.set_item("v", PyArray1::from_slice(py, &key.v))?;
        values.set_item("control", PyArray1::from_slice(py, &key.control))?;
        values.set_item("activation", PyArray1::from_slice(py, &key.activation))?;
        values.set_item("mocap_pose", PyArray1::from_slice(py, &key.mocap_pose))?;
        values.set_item("time", key.time)?;
        Ok(values)
    }
}
