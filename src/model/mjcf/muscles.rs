//! `<muscle>`, and general actuators of which gain, bias and activation are those of a muscle.

use super::Reader;
use super::xml::Element;
use crate::model::lengths::length_range;
use crate::model::rest::{along, rest_acceleration};
use crate::model::{Model, Muscle, MuscleTimes, Transmission};

/// Numbers of a muscle that is not told otherwise, as `gainprm` has them, and what they are before anything is said.
const USUAL: [(f64, f64); 9] =
    [(0.75, 1.0), (1.05, 0.0), (-1.0, 0.0), (200.0, 0.0), (0.5, 0.0), (1.6, 0.0), (1.5, 0.0), (1.3, 0.0), (1.2, 0.0)];

/// Applies the attributes of a `<muscle>` to its numbers, as `gainprm` and `dynprm` have them.
pub(super) fn apply(e: &Element, [gain, dynamics]: [&mut [f64; 10]; 2]) -> crate::Result<()> {
    for (x, (usual, untold)) in gain.iter_mut().zip(USUAL) {
        if *x == untold {
            *x = usual;
        }
    }
    for (x, (usual, untold)) in dynamics.iter_mut().zip([(0.01, 1.0), (0.04, 0.0)]) {
        if *x == untold {
            *x = usual;
        }
    }
    let times = e.leading_numbers("timeconst", [dynamics[0], dynamics[1]])?;
    let blend = e.magnitude("tausmooth")?.unwrap_or(dynamics[2]);
    dynamics[..3].copy_from_slice(&[times[0], times[1], blend]);
    let range = e.leading_numbers("range", [gain[0], gain[1]])?;
    gain[..2].copy_from_slice(&range);
    let names = ["force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"];
    for (x, name) in gain[2..].iter_mut().zip(names) {
        // what is negative says nothing
        *x = e.number(name)?.filter(|x| *x >= 0.0).unwrap_or(*x);
    }
    Ok(())
}

impl Reader {
    /// The lengths between which a muscle acts; none: they are found when the model is whole ([`set_length_range`]).
    pub fn length_range(&self, e: &Element, transmission: Transmission) -> crate::Result<Option<[f64; 2]>> {
        let (compiler, model) = (self.compiler(e), &self.builder.model);
        // a range without length says nothing
        let given = e.numbers::<2>("lengthrange")?.filter(|[low, high]| low < high);
        if !compiler.find_lengths {
            return given
                .map(Some)
                .ok_or_else(|| e.error("needs a lengthrange: <lengthrange mode=\"none\"> finds none"));
        }
        let limits = match transmission {
            Transmission::Joint(joint) => model.joints[joint].range,
            Transmission::Tendon(tendon) => model.tendons[tendon].range,
            Transmission::Site(_) | Transmission::SiteFrom { .. } | Transmission::Body(_) => None,
        };
        Ok(given.filter(|_| compiler.keep_lengths).or(limits.filter(|_| compiler.limit_lengths)))
    }
}

/// Gives a muscle the lengths between which it can be.
pub(super) fn set_length_range(model: &mut Model, muscle: usize) -> Result<(), String> {
    let range = length_range(model, &model.actuators[model.muscles[muscle].actuator])?;
    model.muscles[muscle].length_range = range;
    Ok(())
}

/// The muscle of numbers as `gainprm` has them, or what it lacks; a peak force below zero is found later ([`set_force`]).
pub(super) fn muscle(
    length_range: [f64; 2],
    actuator: usize,
    [gain, bias]: [&[f64; 10]; 2],
) -> Result<Muscle, &'static str> {
    if gain[..9] != bias[..9] {
        return Err("gainprm and biasprm of a muscle must be the same");
    }
    Ok(Muscle {
        actuator,
        length_range,
        range: [gain[0], gain[1]],
        force: gain[2],
        reach: [gain[4], gain[5]],
        fastest: gain[6],
        passive: gain[7],
        stretched: gain[8],
    })
}

/// How fast its activation follows, of numbers as `dynprm` has them.
pub(super) fn times(dynamics: &[f64; 10]) -> MuscleTimes {
    MuscleTimes { rise: dynamics[0].max(1e-15), fall: dynamics[1].max(1e-15), blend: dynamics[2] }
}

/// Gives a muscle the peak force F = scale/|M⁻¹ J|, J its gear along what it acts on at rest (MuJoCo 4.0).
pub(super) fn set_force(model: &mut Model, muscle: usize, scale: f64) {
    let actuator = &model.actuators[model.muscles[muscle].actuator];
    let Some(along) = along(model, actuator) else { return };
    let acceleration = rest_acceleration(model, &along).norm();
    model.muscles[muscle].force = scale / acceleration.max(1e-15);
}
