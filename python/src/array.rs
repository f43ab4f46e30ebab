//! Arrays of numpy as slices, and errors as exceptions.

use delassus::worlds::{Numbers, NumbersMut};
use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArrayDyn};
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    delassus,
    Error,
    PyException,
    "What could not be done: a model that cannot be read, a device that is missing. A wrong argument is a ValueError."
);

/// The exception for an error of the crate.
pub fn exception(error: delassus::Error) -> PyErr {
    match error {
        delassus::Error::Argument { .. } => PyValueError::new_err(error.to_string()),
        other => Error::new_err(other.to_string()),
    }
}

/// An array of f32 or f64 to be read, in C order.
pub enum Array<'py> {
    F32(PyReadonlyArrayDyn<'py, f32>),
    F64(PyReadonlyArrayDyn<'py, f64>),
}

/// An array of f32 or f64 to be written, in C order.
pub enum ArrayMut<'py> {
    F32(PyReadwriteArrayDyn<'py, f32>),
    F64(PyReadwriteArrayDyn<'py, f64>),
}

// By the type first: an attempt that fails spells the type of the array out for an error that nobody sees, which takes as long as a small step.
impl<'py> FromPyObject<'_, 'py> for Array<'py> {
    type Error = PyErr;
    fn extract(array: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match array.cast::<PyArrayDyn<f32>>() {
            Ok(array) => Ok(Self::F32(array.try_readonly()?)),
            Err(_) => Ok(Self::F64(array.extract()?)),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for ArrayMut<'py> {
    type Error = PyErr;
    fn extract(array: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match array.cast::<PyArrayDyn<f32>>() {
            Ok(array) => Ok(Self::F32(array.try_readwrite()?)),
            Err(_) => Ok(Self::F64(array.extract()?)),
        }
    }
}

fn not_contiguous(argument: &str) -> PyErr {
    PyValueError::new_err(format!("{argument}: must be in C order without gaps; use numpy.ascontiguousarray"))
}

impl Array<'_> {
    /// Its numbers.
    pub fn numbers(&self, argument: &str) -> PyResult<Numbers<'_>> {
        Ok(match self {
            Self::F32(x) => Numbers::F32(x.as_slice().map_err(|_| not_contiguous(argument))?),
            Self::F64(x) => Numbers::F64(x.as_slice().map_err(|_| not_contiguous(argument))?),
        })
    }
}

impl ArrayMut<'_> {
    /// Room for its numbers.
    pub fn numbers(&mut self) -> PyResult<NumbersMut<'_>> {
        Ok(match self {
            Self::F32(x) => NumbersMut::F32(x.as_slice_mut().map_err(|_| not_contiguous("out"))?),
            Self::F64(x) => NumbersMut::F64(x.as_slice_mut().map_err(|_| not_contiguous("out"))?),
        })
    }
}
