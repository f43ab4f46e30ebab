//! Settings from an object with the same attributes (`delassus/settings.py`).

use crate::array::exception;
use delassus::solver::{Algorithm, FrictionLaw};
use delassus::{Backend, Constraints, DeviceChoice, Impacts, Integrator, Precision};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A device by its index or by its name.
#[derive(FromPyObject)]
enum Device {
    #[pyo3(transparent)]
    Index(usize),
    #[pyo3(transparent)]
    Name(String),
}

/// What Python says, field by field as [`delassus::Settings`].
#[derive(FromPyObject)]
pub struct Settings {
    precision: String,
    backend: String,
    device: Option<Device>,
    threads: Option<usize>,
    dt: Option<f64>,
    integrator: Option<String>,
    constraints: String,
    friction: String,
    solver: String,
    tolerance: Option<f64>,
    iterations: u32,
    check_every: u32,
    fallback: bool,
    exact_work: u64,
    speed_limit: f64,
    restitution: f64,
    impacts: String,
    restitution_threshold: f64,
    stabilization: f64,
    push_speed: f64,
    contact_speed: f64,
    compliance: f64,
    contact_capacity: Option<usize>,
}

/// The value that a word stands for.
pub fn named<T: Copy>(argument: &str, word: &str, names: &[(&str, T)]) -> PyResult<T> {
    let found = names.iter().find(|(name, _)| *name == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        PyValueError::new_err(format!("{argument}: \"{word}\" is none of {}", known.join(", ")))
    })
}

impl Settings {
    /// The settings, checked.
    pub fn checked(self) -> PyResult<delassus::Settings> {
        let integrators = [("euler", Integrator::Euler), ("rk4", Integrator::Rk4)];
        let integrator = |word: String| named("integrator", &word, &integrators);
        let backends =
            [("auto", Backend::Auto), ("cpu", Backend::Cpu), ("hybrid", Backend::Hybrid), ("gpu", Backend::Gpu)];
        let solvers = [("auto", Algorithm::Auto), ("pgs", Algorithm::Pgs), ("jacobi", Algorithm::Jacobi)];
        let constraints = [("hard", Constraints::Hard), ("soft", Constraints::Soft)];
        let impacts = [("simultaneous", Impacts::Simultaneous), ("sequential", Impacts::Sequential)];
        let settings = delassus::Settings {
            precision: named("precision", &self.precision, &[("f32", Precision::F32), ("f64", Precision::F64)])?,
            backend: named("backend", &self.backend, &backends)?,
            device: match self.device {
                None => DeviceChoice::Any,
                Some(Device::Index(index)) => DeviceChoice::Index(index),
                Some(Device::Name(name)) => DeviceChoice::Named(name),
            },
            threads: self.threads,
            dt: self.dt,
            integrator: self.integrator.map(integrator).transpose()?,
            constraints: named("constraints", &self.constraints, &constraints)?,
            friction: named(
                "friction",
                &self.friction,
                &[("cone", FrictionLaw::Cone), ("box", FrictionLaw::Box), ("patch", FrictionLaw::Patch)],
            )?,
            algorithm: named("solver", &self.solver, &solvers)?,
            tolerance: self.tolerance,
            iterations: self.iterations,
            check_every: self.check_every,
            fallback: self.fallback,
            exact_work: self.exact_work,
            speed_limit: self.speed_limit,
            restitution: self.restitution,
            impacts: named("impacts", &self.impacts, &impacts)?,
            restitution_threshold: self.restitution_threshold,
            stabilization: self.stabilization,
            push_speed: self.push_speed,
            contact_speed: self.contact_speed,
            compliance: self.compliance,
            contact_capacity: self.contact_capacity,
        };
        settings.validate().map_err(exception)?;
        Ok(settings)
    }
}
