//! Values of options: named choices, and numbers with bounds.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use delassus::solver::{Algorithm, FrictionLaw};
use delassus::{Backend, Constraints, Impacts, Integrator, Precision};

/// Names of values of a type.
pub type Names<T> = &'static [(&'static str, T)];

/// Names of backends.
pub const BACKENDS: Names<Backend> =
    &[("auto", Backend::Auto), ("cpu", Backend::Cpu), ("hybrid", Backend::Hybrid), ("gpu", Backend::Gpu)];
/// Names of number types.
pub const PRECISIONS: Names<Precision> = &[("f32", Precision::F32), ("f64", Precision::F64)];
/// Names of schemes of free motion.
pub const INTEGRATORS: Names<Integrator> = &[("euler", Integrator::Euler), ("rk4", Integrator::Rk4)];
/// Names of iterations.
pub const ALGORITHMS: Names<Algorithm> =
    &[("auto", Algorithm::Auto), ("pgs", Algorithm::Pgs), ("jacobi", Algorithm::Jacobi)];
/// Names of how constraints give way.
pub const CONSTRAINTS: Names<Constraints> = &[("hard", Constraints::Hard), ("soft", Constraints::Soft)];
/// Names of impact laws.
pub const IMPACTS: Names<Impacts> = &[("simultaneous", Impacts::Simultaneous), ("sequential", Impacts::Sequential)];
/// Names of friction laws.
pub const FRICTIONS: Names<FrictionLaw> =
    &[("box", FrictionLaw::Box), ("cone", FrictionLaw::Cone), ("patch", FrictionLaw::Patch)];

/// A parser of named values.
pub fn choice<T: Copy + Send + Sync + 'static>(names: Names<T>) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names.iter().map(|(name, _)| *name)).try_map(move |wanted| {
        let found = names.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, value)| *value).ok_or("no such choice")
    })
}

/// The name of a value.
pub fn name_of<T: PartialEq>(names: Names<T>, value: &T) -> &'static str {
    names.iter().find(|(_, v)| v == value).map_or("?", |(name, _)| name)
}

/// A number greater than zero.
pub fn positive(text: &str) -> Result<f64, String> {
    number(text, |x| x > 0.0, "a number greater than 0")
}

/// A number of at least zero.
pub fn not_negative(text: &str) -> Result<f64, String> {
    number(text, |x| x >= 0.0, "a number of at least 0")
}

/// A number from zero to one.
pub fn share(text: &str) -> Result<f64, String> {
    number(text, |x| (0.0..=1.0).contains(&x), "a number from 0 to 1")
}

fn number(text: &str, ok: impl Fn(f64) -> bool, wanted: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && ok(x) => Ok(x),
        _ => Err(format!("must be {wanted}")),
    }
}
