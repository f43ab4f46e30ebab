//! Saving and loading everything that the future of the worlds depends on.

use super::{Parameter, Worlds};
use crate::error::{Error, Result};

const PARAMETERS: [Parameter; 4] =
    [Parameter::Gravity, Parameter::MassScale, Parameter::Friction, Parameter::GainScale];

/// State, inputs, parameters, time and warm start of all worlds. f32 values are held as f64, without loss.
///
/// As JSON it keeps every bit too; what is not finite, which JSON has no number for, is written as "NaN", "inf" or "-inf".
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Snapshot {
    model: String,
    world_count: usize,
    #[serde(with = "any_number")]
    q: Vec<f64>,
    #[serde(with = "any_number")]
    v: Vec<f64>,
    #[serde(with = "any_number")]
    control: Vec<f64>,
    #[serde(with = "any_number")]
    external: Vec<f64>,
    time: Vec<f64>,
    parameters: Vec<Vec<f64>>,
    memory: Vec<Vec<(u64, [f64; 3])>>,
}

pub(super) fn save(worlds: &Worlds) -> Snapshot {
    let (q, v) = worlds.state();
    Snapshot {
        model: worlds.model.name.clone(),
        world_count: worlds.world_count,
        q,
        v,
        control: worlds.control.clone(),
        external: worlds.external.clone(),
        time: worlds.time.clone(),
        parameters: PARAMETERS.iter().map(|&p| worlds.parameter(p)).collect(),
        memory: (0..worlds.world_count).map(|w| worlds.engine.memory(w)).collect(),
    }
}

pub(super) fn load(worlds: &mut Worlds, s: &Snapshot) -> Result<()> {
    let sizes_match = s.model == worlds.model.name
        && s.world_count == worlds.world_count
        && s.q.len() == worlds.world_count * worlds.model.nq()
        && s.v.len() == worlds.world_count * worlds.model.nv()
        && s.control.len() == worlds.control.len()
        && s.external.len() == worlds.external.len()
        && s.time.len() == worlds.world_count
        && s.memory.len() == worlds.world_count
        && s.parameters.len() == PARAMETERS.len()
        && PARAMETERS
            .iter()
            .zip(&s.parameters)
            .all(|(&p, values)| values.len() == worlds.world_count * super::parameter_len(&worlds.model, p));
    if !sizes_match {
        return Err(Error::argument(
            "snapshot",
            format!(
                "is of {} worlds of \"{}\"; these are {} of \"{}\"",
                s.world_count, s.model, worlds.world_count, worlds.model.name
            ),
        ));
    }
    let (nq, nv) = (worlds.model.nq(), worlds.model.nv());
    for world in 0..worlds.world_count {
        worlds.engine.write(world, &s.q[world * nq..(world + 1) * nq], &s.v[world * nv..(world + 1) * nv]);
        worlds.engine.set_memory(world, &s.memory[world]);
        for (&p, values) in PARAMETERS.iter().zip(&s.parameters) {
            let k = super::parameter_len(&worlds.model, p);
            worlds.engine.set_parameter(p, world, &values[world * k..(world + 1) * k]);
        }
    }
    worlds.control.clone_from(&s.control);
    worlds.external.clone_from(&s.external);
    worlds.time.clone_from(&s.time);
    Ok(())
}

/// Numbers of which some may not be finite: those as text.
mod any_number {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Number {
        Finite(f64),
        Text(String),
    }

    pub(super) fn serialize<S: Serializer>(numbers: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        let number = |x: &f64| if x.is_finite() { Number::Finite(*x) } else { Number::Text(x.to_string()) };
        serializer.collect_seq(numbers.iter().map(number))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        let number = |n| match n {
            Number::Finite(x) => Ok(x),
            Number::Text(text) => text.parse().map_err(|_| D::Error::custom(format!("\"{text}\" is no number"))),
        };
        Vec::<Number>::deserialize(deserializer)?.into_iter().map(number).collect()
    }
}
