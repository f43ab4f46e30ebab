//! Saving and loading everything that the future of the worlds depends on.

use super::any_number;
use super::delay::Delay;
use super::{Mask, Parameter, Worlds};
use crate::error::{Error, Result};
use crate::model::{Model, ModelPart};

/// State, inputs, parameters, time and warm start of all worlds. f32 values are held as f64, without loss.
///
/// As JSON it keeps every bit too; what is not finite, which JSON has no number for, is written as "NaN", "inf" or "-inf".
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Snapshot {
    model: String,
    /// [`Model::fingerprint_of`] every part, in hexadecimal digits (readers of JSON may round numbers of 64 bits), shape \[part\].
    fingerprint: Vec<String>,
    world_count: usize,
    #[serde(with = "any_number")]
    q: Vec<f64>,
    #[serde(with = "any_number")]
    v: Vec<f64>,
    #[serde(with = "any_number")]
    control: Vec<f64>,
    /// Those before there were activations have none.
    #[serde(with = "any_number", default)]
    activation: Vec<f64>,
    #[serde(with = "any_number")]
    external: Vec<f64>,
    delay: Option<Delay>,
    time: Vec<f64>,
    /// Shape `[parameter][world][k]`, in the order of [`Parameter::ALL`]; nothing where all worlds have what model and settings say.
    parameters: Vec<Vec<f64>>,
    memory: Vec<Vec<(u64, [f64; 3])>>,
}

/// What a snapshot in bytes begins with; the number changes with the layout.
const MAGIC: &[u8; 20] = b"delassus-snapshot/2\n";

impl Snapshot {
    /// As bytes, every bit kept: a line that says what they are, then the snapshot as the JSON text that serde makes of it.
    ///
    /// # Errors
    /// [`Error::Argument`] if memory for them cannot be written, which does not happen.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = MAGIC.to_vec();
        let written = serde_json::to_writer(&mut bytes, self);
        written.map_err(|e| Error::argument("snapshot", format!("cannot be written: {e}")))?;
        Ok(bytes)
    }
    /// What [`Snapshot::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Argument`] if the bytes are none of a snapshot, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = |what: String| Error::argument("snapshot", what);
        let text =
            bytes.strip_prefix(MAGIC).ok_or_else(|| wrong("the bytes do not begin as a snapshot does".into()))?;
        serde_json::from_slice(text).map_err(|e| wrong(format!("damaged: {e}")))
    }

    /// The same state, with what the worlds of another snapshot remember: the first guess of a step may be what some step came to.
    #[must_use]
    pub fn remembering(&self, other: &Self) -> Self {
        Self { memory: other.memory.clone(), ..self.clone() }
    }
}

fn fingerprint(model: &Model) -> Vec<String> {
    ModelPart::ALL.iter().map(|&part| format!("{:016x}", model.fingerprint_of(part))).collect()
}

pub(super) fn save(worlds: &Worlds) -> Snapshot {
    let (q, v) = worlds.state();
    // What is not finite is no first guess; a world that holds such starts its next solve from nothing.
    let memory = |w: usize| {
        let mut memory = worlds.engine.memory(w);
        memory.retain(|(_, impulse)| impulse.iter().all(|x| x.is_finite()));
        memory
    };
    let own = |p: Parameter| if worlds.engine.is_shared(p) { Vec::new() } else { worlds.parameter(p) };
    Snapshot {
        model: worlds.model.name.clone(),
        fingerprint: fingerprint(&worlds.model),
        world_count: worlds.world_count,
        q,
        v,
        control: worlds.control.numbers().into_owned(),
        activation: worlds.activations(),
        external: worlds.external.clone(),
        delay: worlds.delay.clone(),
        time: worlds.time.clone(),
        parameters: Parameter::ALL.map(own).into(),
        memory: (0..worlds.world_count).map(memory).collect(),
    }
}

/// Loads all or nothing.
pub(super) fn load(worlds: &mut Worlds, s: &Snapshot) -> Result<()> {
    let wrong = differences(worlds, s).into_iter().chain(mistakes(worlds, s)).collect::<Vec<_>>();
    if !wrong.is_empty() {
        return Err(Error::argument("snapshot", wrong.join("; ")));
    }
    let (nq, nv, na) = (worlds.model.nq(), worlds.model.nv(), worlds.model.na());
    worlds.engine.write(Mask::All, &|_, world, [q, v, activation]| {
        q.copy_from_slice(&s.q[world * nq..(world + 1) * nq]);
        v.copy_from_slice(&s.v[world * nv..(world + 1) * nv]);
        activation.copy_from_slice(&s.activation[world * na..(world + 1) * na]);
    })?;
    for (world, memory) in s.memory.iter().enumerate().filter(|(_, memory)| !memory.is_empty()) {
        worlds.engine.set_memory(world, memory);
    }
    for (p, values) in Parameter::ALL.into_iter().zip(&s.parameters) {
        if values.is_empty() {
            worlds.engine.share(p);
            continue;
        }
        let k = p.len(&worlds.model);
        for (world, own) in values.chunks_exact(k).enumerate() {
            worlds.engine.set_parameter(p, world, own);
        }
    }
    worlds.control.numbers_mut().copy_from_slice(&s.control);
    worlds.external.clone_from(&s.external);
    worlds.external_is_new = true;
    worlds.delay.clone_from(&s.delay);
    worlds.time.clone_from(&s.time);
    Ok(())
}

/// In what the snapshot's worlds are others.
fn differences(worlds: &Worlds, s: &Snapshot) -> Vec<String> {
    let (model, count) = (&*worlds.model, worlds.world_count);
    let mut found = Vec::new();
    if s.model != model.name {
        found.push(format!("is of the model \"{}\", these worlds are of \"{}\"", s.model, model.name));
    }
    if s.world_count != count {
        found.push(format!("is of {} worlds, these are {count}", s.world_count));
    }
    let own = fingerprint(model);
    if s.fingerprint != own {
        let other = |(k, part): (usize, &ModelPart)| (s.fingerprint.get(k) != own.get(k)).then(|| part.name());
        let parts: Vec<&str> = ModelPart::ALL.iter().enumerate().filter_map(other).collect();
        found.push(format!("its model has other {}", parts.join(", ")));
    }
    let sizes = [
        ("q", s.q.len(), model.nq()),
        ("v", s.v.len(), model.nv()),
        ("control", s.control.len(), model.nu()),
        ("activation", s.activation.len(), model.na()),
    ];
    for (name, len, wanted) in sizes {
        let wanted = s.world_count.saturating_mul(wanted);
        if len != wanted {
            found.push(format!("{name} has {len} numbers, {} worlds of this model need {wanted}", s.world_count));
        }
    }
    found
}

/// What no snapshot of these worlds can hold; nothing is said twice, so only looked for where sizes are right.
fn mistakes(worlds: &Worlds, s: &Snapshot) -> Vec<String> {
    let (model, count) = (&*worlds.model, worlds.world_count);
    if !differences(worlds, s).is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let sizes = [
        ("external", s.external.len(), count * model.nv()),
        ("time", s.time.len(), count),
        ("memory", s.memory.len(), count),
        ("parameters", s.parameters.len(), Parameter::ALL.len()),
    ];
    for (name, len, wanted) in sizes {
        if len != wanted {
            found.push(format!("{name} has {len} entries, needs {wanted}"));
        }
    }
    for (p, values) in Parameter::ALL.into_iter().zip(&s.parameters).filter(|(_, values)| !values.is_empty()) {
        let k = p.len(model);
        if values.len() != count * k {
            found.push(format!("{p:?} has {} numbers, needs {} or none", values.len(), count * k));
            continue;
        }
        let mistake = |(world, own): (usize, &[f64])| Some((world, worlds.mistake(p, own)?));
        if let Some((world, mistake)) = values.chunks_exact(k).enumerate().find_map(mistake) {
            found.push(format!("{mistake} (world {world})"));
        }
    }
    if s.delay.as_ref().is_some_and(|delay| !delay.fits(count, model.nu())) {
        found.push("the control on its way is not of these worlds".into());
    }
    if let Some(world) = s.time.iter().position(|t| !t.is_finite()) {
        found.push(format!("the time of world {world} is {}", s.time[world]));
    }
    let finite = |memory: &Vec<(u64, [f64; 3])>| memory.iter().all(|(_, x)| x.iter().all(|x| x.is_finite()));
    if let Some(world) = s.memory.iter().position(|memory| !finite(memory)) {
        found.push(format!("the warm start of world {world} is not finite"));
    }
    found
}
