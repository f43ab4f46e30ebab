//! Arrays that users hand over, in either number type.

use crate::error::{Error, Result};

/// Numbers to be read, f32 or f64.
#[derive(Debug, Clone, Copy)]
pub enum Numbers<'a> {
    /// In single precision.
    F32(&'a [f32]),
    /// In double precision.
    F64(&'a [f64]),
}

/// Room for numbers, f32 or f64. Numbers are rounded to the nearest of the type.
#[derive(Debug)]
pub enum NumbersMut<'a> {
    /// In single precision.
    F32(&'a mut [f32]),
    /// In double precision.
    F64(&'a mut [f64]),
}

impl Numbers<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(x) => x.len(),
            Self::F64(x) => x.len(),
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Number `i`.
    pub fn get(&self, i: usize) -> f64 {
        match self {
            Self::F32(x) => f64::from(x[i]),
            Self::F64(x) => x[i],
        }
    }
    /// Copies the numbers from `start` on.
    pub(super) fn copy_to(&self, start: usize, out: &mut [f64]) {
        match self {
            Self::F32(x) => out.iter_mut().zip(&x[start..]).for_each(|(to, from)| *to = f64::from(*from)),
            Self::F64(x) => out.copy_from_slice(&x[start..start + out.len()]),
        }
    }
    /// Whether there are `wanted` of them.
    pub(super) fn check(&self, argument: &'static str, wanted: usize) -> Result<()> {
        check_len(argument, self.len(), wanted)
    }
}

impl NumbersMut<'_> {
    /// How many there is room for.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(x) => x.len(),
            Self::F64(x) => x.len(),
        }
    }
    /// Whether there is no room.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Whether there is room for `wanted`.
    pub(super) fn check(&self, wanted: usize) -> Result<()> {
        check_len("out", self.len(), wanted)
    }
}

fn check_len(argument: &'static str, found: usize, wanted: usize) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    Err(Error::argument(argument, format!("has {found} numbers, needs {wanted}")))
}

macro_rules! from_arrays {
    ($number:ty, $variant:ident) => {
        impl<'a> From<&'a [$number]> for Numbers<'a> {
            fn from(x: &'a [$number]) -> Self {
                Self::$variant(x)
            }
        }
        impl<'a> From<&'a Vec<$number>> for Numbers<'a> {
            fn from(x: &'a Vec<$number>) -> Self {
                Self::$variant(x)
            }
        }
        impl<'a> From<&'a mut [$number]> for NumbersMut<'a> {
            fn from(x: &'a mut [$number]) -> Self {
                Self::$variant(x)
            }
        }
        impl<'a> From<&'a mut Vec<$number>> for NumbersMut<'a> {
            fn from(x: &'a mut Vec<$number>) -> Self {
                Self::$variant(x)
            }
        }
    };
}
from_arrays!(f32, F32);
from_arrays!(f64, F64);

// In one type only, so that a literal has it.
impl<'a, const N: usize> From<&'a [f64; N]> for Numbers<'a> {
    fn from(x: &'a [f64; N]) -> Self {
        Self::F64(x)
    }
}
