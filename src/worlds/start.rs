//! How worlds start, and starting them anew.

use super::{Mask, Noise, Parameter, Worlds, pose_notes};
use crate::dynamics::integrate;
use crate::error::{Error, Result};
use crate::model::{Model, Note};

/// How worlds start.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Start {
    /// Keyframe to start from; none: the model's rest position, at rest.
    pub keyframe: Option<usize>,
    /// Every degree of freedom is displaced by up to ± this, m or rad, uniformly, by [`Noise`] of the seed and the world's index.
    pub position_noise: f64,
    /// Every velocity is changed by up to ± this, m/s or rad/s.
    pub velocity_noise: f64,
}

/// How starts differ from world to world, degree of freedom by degree of freedom; drawn from [`Noise`].
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// What the two numbers of every degree of freedom are.
    pub law: Law,
    /// Displacement of every degree of freedom, m or rad, shape \[nv\].
    pub position: Vec<[f64; 2]>,
    /// Change of every velocity, m/s or rad/s, shape \[nv\].
    pub velocity: Vec<[f64; 2]>,
}

/// How a number of a [`Spread`] is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// Uniform between a lower and an upper bound.
    Uniform,
    /// Normal, with a mean and a standard deviation.
    Gaussian,
}

impl Spread {
    /// The same symmetric range for all degrees of freedom.
    pub(super) fn symmetric(nv: usize, position: f64, velocity: f64) -> Self {
        Self { law: Law::Uniform, position: vec![[-position, position]; nv], velocity: vec![[-velocity, velocity]; nv] }
    }

    fn check(&self, model: &Model) -> Result<()> {
        for (name, pairs) in [("position", &self.position), ("velocity", &self.velocity)] {
            if pairs.len() != model.nv() {
                let message = format!("has {} pairs, the model has {} degrees of freedom", pairs.len(), model.nv());
                return Err(Error::argument(name, message));
            }
            let ok = |[a, b]: &[f64; 2]| {
                a.is_finite() && b.is_finite() && if self.law == Law::Uniform { a <= b } else { *b >= 0.0 }
            };
            if let Some(dof) = pairs.iter().position(|pair| !ok(pair)) {
                let [a, b] = pairs[dof];
                let what = match self.law {
                    Law::Uniform => "a lower and an upper bound",
                    Law::Gaussian => "a mean and a standard deviation",
                };
                return Err(Error::argument(name, format!("degree of freedom {dof}: [{a}, {b}] is not {what}")));
            }
        }
        Ok(())
    }

    /// Draws a number a degree of freedom, from pairs of shape \[nv\].
    fn draw(&self, pairs: &[[f64; 2]], noise: &mut Noise, out: &mut [f64]) {
        match self.law {
            Law::Uniform => {
                noise.unit(out);
                out.iter_mut().zip(pairs).for_each(|(x, [lower, upper])| *x = lower + (upper - lower) * *x);
            }
            Law::Gaussian => {
                noise.normal(out);
                out.iter_mut().zip(pairs).for_each(|(x, [mean, deviation])| *x = mean + deviation * *x);
            }
        }
    }
}

impl Worlds {
    /// Sets how [`Worlds::reset`] starts worlds; a [`Spread`] that was set is forgotten.
    ///
    /// # Errors
    /// [`Error::Argument`] if the keyframe does not exist or a noise is negative or not finite.
    pub fn set_start(&mut self, start: Start) -> Result<()> {
        if start.keyframe.is_some_and(|k| k >= self.model.keyframes.len()) {
            return Err(Error::argument("keyframe", format!("the model has {}", self.model.keyframes.len())));
        }
        let ok = |x: f64| (0.0..=f64::from(f32::MAX)).contains(&x);
        if !ok(start.position_noise) || !ok(start.velocity_noise) {
            return Err(Error::argument("noise", "must be not negative, and no more than f32 holds"));
        }
        self.keyframe = start.keyframe;
        self.spread = Spread::symmetric(self.model.nv(), start.position_noise, start.velocity_noise);
        Ok(())
    }

    /// Sets how far starts differ, in the place of the noise of [`Start`].
    ///
    /// # Errors
    /// [`Error::Argument`] if a shape is wrong, or a pair of numbers is none that the law knows.
    pub fn set_spread(&mut self, spread: Spread) -> Result<()> {
        spread.check(&self.model)?;
        self.spread = spread;
        Ok(())
    }

    /// What is wrong with the pose that worlds start from, noise left out, see [`pose_notes`].
    pub fn start_notes(&self) -> Vec<Note> {
        let notes = match self.keyframe.map(|k| &self.model.keyframes[k]) {
            Some(key) => pose_notes(&key.placed(&self.model), &key.q, &format!("in keyframe \"{}\"", key.name)),
            None => pose_notes(&self.model, &self.model.q0, "at rest"),
        };
        // The model and its keyframes were checked when the worlds were made.
        notes.unwrap_or_default()
    }

    /// Starts the worlds of `mask` anew, see [`Worlds::set_start`]; clears all that they remember: time, control, activation, outside force, pushes, poses of mocap bodies (they are the keyframe's) and warm start.
    ///
    /// The noise of a world depends on `seed` and on the world's index only.
    ///
    /// # Errors
    /// [`Error::Argument`] if the mask has not one entry a world, or there is no such world.
    pub fn reset(&mut self, mask: Mask<'_>, seed: u64) -> Result<()> {
        mask.check(self.world_count)?;
        let keyframe = self.keyframe;
        self.begin(mask, |_, world| (keyframe, Noise::of_world(seed, world)))
    }

    /// As [`Worlds::reset`], every world from a keyframe and with a seed of its own, shapes \[row\]; none: from the rest position. A row is a world, or an entry of
    /// [`Mask::List`]. Noise is that of [`Worlds::set_spread`], or as far as that of [`Worlds::set_start`]; it depends on the seed only, not on the index.
    ///
    /// # Errors
    /// As [`Worlds::reset`]; [`Error::Argument`] if a shape is wrong or a keyframe does not exist.
    pub fn reset_each(&mut self, mask: Mask<'_>, keyframes: &[Option<usize>], seeds: &[u64]) -> Result<()> {
        mask.check(self.world_count)?;
        let row_count = mask.row_count(self.world_count);
        for (name, found) in [("keyframes", keyframes.len()), ("seeds", seeds.len())] {
            if found != row_count {
                return Err(Error::argument(name, format!("has {found} entries for {row_count} worlds")));
            }
        }
        let known = self.model.keyframes.len();
        if let Some(keyframe) = keyframes.iter().flatten().find(|keyframe| **keyframe >= known) {
            return Err(Error::argument("keyframes", format!("{keyframe}: the model has {known}")));
        }
        self.begin(mask, |row, _| (keyframes[row], Noise::new(seeds[row])))
    }

    /// Starts the worlds of `mask` anew. `of`: the keyframe (none: the rest position) of a row and its world, and the stream that displaces it.
    fn begin(&mut self, mask: Mask<'_>, of: impl Fn(usize, usize) -> (Option<usize>, Noise) + Sync) -> Result<()> {
        let (model, spread) = (&*self.model, &self.spread);
        self.engine.write(mask, &|row, world, [q, v, activation]| {
            let (keyframe, mut noise) = of(row, world);
            let keyframe = keyframe.map(|k| &model.keyframes[k]);
            q.copy_from_slice(keyframe.map_or(&model.q0, |key| &key.q));
            match keyframe {
                Some(key) => activation.copy_from_slice(&key.activation),
                None => activation.fill(0.0),
            }
            // v holds the displacement before it holds the velocity
            spread.draw(&spread.position, &mut noise, v);
            integrate(model, 1.0, v, q);
            spread.draw(&spread.velocity, &mut noise, v);
            if let Some(key) = keyframe {
                v.iter_mut().zip(&key.v).for_each(|(v, key)| *v += key);
            }
        })?;
        for parameter in [Parameter::Push, Parameter::MocapPose] {
            let rest = parameter.shared(model, [0.0; 2]);
            for (row, world) in mask.rows(self.world_count) {
                let start = match of(row, world).0.map(|k| &model.keyframes[k]) {
                    Some(key) if parameter == Parameter::MocapPose => &key.mocap_pose,
                    _ => &rest,
                };
                if *start != rest || !self.engine.is_shared(parameter) {
                    self.engine.set_parameter(parameter, world, start);
                }
            }
        }
        let (nv, nu) = (model.nv(), model.nu());
        for (row, world) in mask.rows(self.world_count) {
            let keyframe = of(row, world).0.map(|k| &model.keyframes[k]);
            let own = &mut self.control.numbers_mut()[world * nu..(world + 1) * nu];
            match keyframe {
                Some(key) => own.copy_from_slice(&key.control),
                None => own.fill(0.0),
            }
            if let Some(delay) = &mut self.delay {
                delay.restart(world, own);
            }
            let external = &mut self.external[world * nv..(world + 1) * nv];
            self.external_is_new |= external.iter().any(|force| *force != 0.0);
            external.fill(0.0);
            self.time[world] = keyframe.map_or(0.0, |key| key.time);
        }
        Ok(())
    }
}
