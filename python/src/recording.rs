//! `delassus._core.Recording`: what `delassus.Recording` (`delassus/recording.py`) calls.

use crate::array::exception;
use crate::record::{Contact, Report};
use crate::worlds::Worlds;
use numpy::PyArray1;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Chosen worlds at chosen moments. Arrays are flat: `[moment][world]` and what follows.
#[pyclass(frozen, module = "delassus._core")]
pub struct Recording {
    recording: Mutex<delassus::recording::Recording>,
}

impl Recording {
    fn get(&self) -> MutexGuard<'_, delassus::recording::Recording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn numbers<'py>(
        &self,
        py: Python<'py>,
        of: impl Fn(&delassus::recording::Moment) -> &[f64],
    ) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.get().moments().iter().flat_map(of).copied().collect())
    }
}

#[pymethods]
impl Recording {
    #[new]
    #[pyo3(signature = (worlds, chosen, fps))]
    fn new(worlds: &Worlds, chosen: Vec<usize>, fps: Option<f64>) -> PyResult<Self> {
        let start = |w: &mut _| delassus::recording::Recording::start(w, &chosen, fps).map_err(exception);
        Ok(Self { recording: Mutex::new(worlds.with(start)?) })
    }
    fn see(&self, worlds: &Worlds) -> PyResult<()> {
        worlds.with(|w| self.get().see(w).map_err(exception))
    }
    fn end(&self, worlds: &Worlds) -> PyResult<()> {
        worlds.with(|w| self.get().end(w).map_err(exception))
    }

    fn times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.get().times())
    }
    fn positions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.numbers(py, |moment| &moment.q)
    }
    fn velocities<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.numbers(py, |moment| &moment.v)
    }
    /// Kinetic, of gravity, of springs.
    fn energy<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let parts = |m: &delassus::recording::Moment| [m.energy.kinetic, m.energy.gravity, m.energy.springs];
        PyArray1::from_vec(py, self.get().moments().iter().flat_map(parts).collect())
    }
    fn poses<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.get().poses())
    }
    /// The reports as bytes.
    fn reports<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        let rows: Vec<Report> = self.get().moments().iter().map(|m| Report::from(&m.report)).collect();
        PyArray1::from_slice(py, bytemuck::cast_slice(&rows))
    }
    /// All contacts as bytes, and how many every moment and world has.
    fn contacts<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<u64>>) {
        let recording = self.get();
        let rows: Vec<Contact> = recording.moments().iter().flat_map(|m| &m.contacts).map(Contact::from).collect();
        let counts = recording.moments().iter().map(|m| m.contacts.len() as u64);
        (PyArray1::from_slice(py, bytemuck::cast_slice(&rows)), PyArray1::from_iter(py, counts))
    }
    /// The HTML file.
    fn page(&self, py: Python<'_>) -> String {
        py.detach(|| self.get().page())
    }
}
