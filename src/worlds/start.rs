//! How worlds start, and starting them anew.

use super::{Mask, Parameter, Random, Worlds, pose_notes};
use crate::error::{Error, Result};
use crate::model::Note;

/// How worlds start.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Start {
    /// Keyframe to start from; none: the model's rest position, at rest.
    pub keyframe: Option<usize>,
    /// Every degree of freedom is displaced by up to ± this, m or rad, uniformly, from the seed and the world's index.
    pub position_noise: f64,
    /// Every velocity is changed by up to ± this, m/s or rad/s.
    pub velocity_noise: f64,
}

impl Worlds {
    /// Sets how [`Worlds::reset`] starts worlds.
    ///
    /// # Errors
    /// [`Error::Argument`] if the keyframe does not exist or a noise is negative or not finite.
    pub fn set_start(&mut self, start: Start) -> Result<()> {
        if start.keyframe.is_some_and(|k| k >= self.model.keyframes.len()) {
            return Err(Error::argument("keyframe", format!("the model has {}", self.model.keyframes.len())));
        }
        let ok = |x: f64| x >= 0.0 && x.is_finite();
        if !ok(start.position_noise) || !ok(start.velocity_noise) {
            return Err(Error::argument("noise", "must be finite and not negative"));
        }
        self.start = start;
        Ok(())
    }

    /// What is wrong with the pose that worlds start from, noise left out, see [`pose_notes`].
    pub fn start_notes(&self) -> Vec<Note> {
        let (q, pose) = match self.start.keyframe.map(|k| &self.model.keyframes[k]) {
            Some(key) => (&key.q, format!("in keyframe \"{}\"", key.name)),
            None => (&self.model.q0, "at rest".into()),
        };
        // The model and its keyframes were checked when the worlds were made.
        pose_notes(&self.model, q, &pose).unwrap_or_default()
    }

    /// Starts the worlds of `mask` anew, see [`Worlds::set_start`]; clears all that they remember: time, control, outside force, pushes and warm start.
    ///
    /// The noise of a world depends on `seed` and on the world's index only.
    ///
    /// # Errors
    /// [`Error::Argument`] if the mask has not one entry a world, or there is no such world.
    pub fn reset(&mut self, mask: Mask<'_>, seed: u64) -> Result<()> {
        mask.check(self.world_count)?;
        let (nv, nu) = (self.model.nv(), self.model.nu());
        let rest = [vec![0.0; nv], vec![0.0; nu]];
        let (q0, v0, u0, time) = match self.start.keyframe.map(|k| &self.model.keyframes[k]) {
            Some(key) => (&key.q, &key.v, &key.control, key.time),
            None => (&self.model.q0, &rest[0], &rest[1], 0.0),
        };
        let pushed = !self.engine.is_shared(Parameter::Push);
        let no_push = vec![0.0; Parameter::Push.len(&self.model)];
        let (mut q, mut v, mut displacement) = (q0.clone(), v0.clone(), vec![0.0; nv]);
        for (_, world) in mask.rows(self.world_count) {
            let mut random = Random::new(seed, world as u64);
            displacement.fill_with(|| random.symmetric() * self.start.position_noise);
            v.iter_mut().zip(v0).for_each(|(v, v0)| *v = v0 + random.symmetric() * self.start.velocity_noise);
            q.copy_from_slice(q0);
            crate::dynamics::integrate(&self.model, 1.0, &displacement, &mut q);
            self.engine.write(world, &q, &v);
            self.engine.set_memory(world, &[]);
            if pushed {
                self.engine.set_parameter(Parameter::Push, world, &no_push);
            }
            self.control[world * nu..(world + 1) * nu].copy_from_slice(u0);
            self.external[world * nv..(world + 1) * nv].fill(0.0);
            self.time[world] = time;
        }
        Ok(())
    }
}
