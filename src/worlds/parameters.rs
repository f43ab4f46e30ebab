//! Parameters of the worlds, read and set.

use super::{Constraints, Mask, Numbers, Parameter, Worlds};
use crate::error::{Error, Result};
use crate::model::Waypoint;
use crate::solver::FrictionLaw;

impl Worlds {
    /// The values of a parameter, shape `[world][k]`, see [`Parameter`].
    pub fn parameter(&self, parameter: Parameter) -> Vec<f64> {
        (0..self.world_count).flat_map(|world| self.parameter_of(parameter, world)).collect()
    }
    /// Those of one world, shape \[k\].
    pub(crate) fn parameter_of(&self, parameter: Parameter, world: usize) -> Vec<f64> {
        let mut values = vec![0.0; parameter.len(&self.model)];
        self.engine.parameter(parameter, world, &mut values);
        values
    }
    /// Sets a parameter of the worlds of `mask`, shape `[row][k]`, see [`Parameter`]. A row is a world, or an entry of [`Mask::List`].
    ///
    /// On the backend `gpu` worlds whose gravity, masses, friction or gains differ stay on the device; those of which another parameter differs from
    /// what the model says are stepped by the CPU.
    ///
    /// # Errors
    /// [`Error::Argument`] if the shape is wrong, or a value is none that the parameter may have, or that the settings allow.
    pub fn set_parameter<'a>(
        &mut self,
        parameter: Parameter,
        mask: Mask<'_>,
        values: impl Into<Numbers<'a>>,
    ) -> Result<()> {
        mask.check(self.world_count)?;
        let (values, k) = (values.into(), parameter.len(&self.model));
        let row_count = mask.row_count(self.world_count);
        if values.len() != row_count * k {
            let name = parameter.name();
            let message = format!("has {} numbers, {name} needs {k} for each of {row_count} worlds", values.len());
            return Err(Error::argument("values", message));
        }
        // All are checked before any is set.
        let mut own = vec![0.0; k];
        for (row, world) in mask.rows(self.world_count) {
            values.copy_to(row * k, &mut own);
            if let Some(mistake) = self.mistake(parameter, &own) {
                return Err(Error::argument("values", format!("{mistake} (world {world})")));
            }
        }
        for (row, world) in mask.rows(self.world_count) {
            values.copy_to(row * k, &mut own);
            self.engine.set_parameter(parameter, world, &own);
        }
        Ok(())
    }

    /// What is wrong with the numbers of a parameter of one world, shape \[k\].
    pub(super) fn mistake(&self, parameter: Parameter, values: &[f64]) -> Option<String> {
        if parameter == Parameter::GeomSize && self.settings.friction == FrictionLaw::Patch {
            return Some(
                "friction patch knows faces and discs of the model's sizes only: use friction cone for GeomSize".into(),
            );
        }
        let around = |part: &Waypoint| matches!(part, Waypoint::Around { .. });
        if parameter == Parameter::GeomSize && self.model.tendons.iter().any(|t| t.path.iter().any(around)) {
            return Some("tendons go around geoms of the model's sizes only: change the model for GeomSize".into());
        }
        let hard = matches!(parameter, Parameter::Restitution | Parameter::Compliance);
        if hard && self.settings.constraints == Constraints::Soft && values.iter().any(|x| *x != 0.0) {
            return Some(format!(
                "soft constraints have no {}: they yield by the model's solref and solimp; use constraints hard",
                parameter.name()
            ));
        }
        parameter.mistake(&self.model, values)
    }
}
