//! What drives the actuators during a rollout.

use super::failure::{Failure, Outcome, json_reason};
use delassus::{Model, Worlds};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Steps of physics for which a random control is held: substeps, so that worlds move alike however many of them a step has.
const HOLD: u64 = 5;

/// The choice of the user.
#[derive(Debug, Clone)]
pub enum Control {
    /// Zero throughout.
    Zero,
    /// Random within the actuators' ranges.
    Random,
    /// From a file.
    File(PathBuf),
}

impl FromStr for Control {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "zero" => Self::Zero,
            "random" => Self::Random,
            file => Self::File(file.into()),
        })
    }
}

/// The choice made ready for a model.
#[derive(Debug)]
pub enum Driver {
    /// As the worlds start.
    Held,
    /// Drawn from this seed.
    Random(u64),
    /// One row of nu numbers a step, for all worlds.
    Rows(Vec<Vec<f64>>),
}

impl Driver {
    /// Reads and checks what is needed, and sets the control of the start.
    pub fn new(control: Option<&Control>, seed: u64, worlds: &mut Worlds) -> Outcome<Self> {
        match control {
            None => Ok(Self::Held),
            Some(Control::Zero) => {
                worlds.control_mut().fill(0.0);
                Ok(Self::Held)
            }
            Some(Control::Random) => Ok(Self::Random(seed)),
            Some(Control::File(path)) => Ok(Self::Rows(read(path, worlds.model())?)),
        }
    }

    /// Whether all worlds get the same control.
    pub fn is_shared(&self) -> bool {
        !matches!(self, Self::Random(_))
    }

    /// Sets the control before step `step`, counted from 0, of `substeps` substeps each.
    pub fn drive(&self, step: u64, substeps: u32, worlds: &mut Worlds) {
        let nu = worlds.model().nu();
        if nu == 0 {
            return;
        }
        match self {
            Self::Held => {}
            Self::Random(seed) => {
                if let Some(draw) = new_draw(step, u64::from(substeps)) {
                    // seeds below 2³² share no draw
                    worlds.draw_control(seed.wrapping_add(draw << 32));
                }
            }
            Self::Rows(rows) => {
                let row = usize::try_from(step).ok().and_then(|s| rows.get(s));
                if let Some(row) = row {
                    worlds.control_mut().chunks_mut(nu).for_each(|control| control.copy_from_slice(row));
                }
            }
        }
    }
}

/// Which draw begins with a step, draw k being that of substeps k [`HOLD`] to (k + 1) [`HOLD`]; none where that of the step before still holds.
fn new_draw(step: u64, substeps: u64) -> Option<u64> {
    let draw = |step: u64| step * substeps / HOLD;
    (step == 0 || draw(step) != draw(step - 1)).then(|| draw(step))
}

/// Reads rows of nu numbers.
fn read(path: &Path, model: &Model) -> Outcome<Vec<Vec<f64>>> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::file("read control file", path, &e))?;
    let mut rows = Vec::new();
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |message: String| Failure::Other(format!("{}:{}: {message}", path.display(), i + 1));
        let row: Vec<f64> = serde_json::from_str(line)
            .map_err(|e| wrong(format!("a line of control must be a JSON array of numbers: {}", json_reason(&e))))?;
        if row.len() != model.nu() {
            return Err(wrong(format!("control has {} numbers, the model has {} actuators", row.len(), model.nu())));
        }
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(Failure::Other(format!("{}: the control file has no line", path.display())));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The draw that every substep has is one and the same, however many of them a step has, where steps begin with it.
    #[test]
    fn a_draw_is_held_for_five_substeps() {
        let draws = |substeps: u64| -> Vec<u64> {
            let mut now = None;
            let steps = (0..20).flat_map(|step| {
                now = new_draw(step, substeps).or(now);
                std::iter::repeat_n(now.unwrap_or(u64::MAX), substeps as usize)
            });
            steps.take(20).collect()
        };
        let wanted: Vec<u64> = (0..20).map(|substep| substep / 5).collect();
        assert_eq!(draws(1), wanted);
        assert_eq!(draws(5), wanted);
        // what begins within a step begins with the next one
        assert_eq!(draws(2), [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3]);
        assert_eq!(draws(10)[..20], [vec![0; 10], vec![2; 10]].concat());
    }
}
