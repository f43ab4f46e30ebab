//! What the actuators are given: numbers, or a draw that a device makes for itself.

use super::{Backend, Noise, Worlds};
use crate::error::{Error, Result};
use crate::model::{Actuator, Model};
use std::borrow::Cow;

/// Bounds of a law are at most so many units away from 0: sums of as many are exact in f32.
const MOST_UNITS: f64 = (1u32 << 22) as f64;

/// Uniform among the multiples of a power of two between two bounds. Integers and exact products only, so that f32, f64 and any shader draw the same number to the bit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Uniform {
    /// The least of them, in units; a whole number.
    least: f64,
    /// How many there are.
    count: u32,
    /// The power of two.
    unit: f64,
}

impl Uniform {
    fn between([low, high]: [f64; 2]) -> Self {
        // within the powers of two of f32
        let largest = low.abs().max(high.abs()).clamp(1e-30, 1e30);
        let mut unit = (largest / MOST_UNITS).log2().floor().exp2();
        while largest > MOST_UNITS * unit {
            unit *= 2.0;
        }
        let ([least, most], middle) =
            ([(low / unit).ceil(), (high / unit).floor()], (0.5 * (low + high) / unit).round());
        let [least, most] = if least <= most { [least, most] } else { [middle; 2] };
        let [least, most] = [least, most].map(|bound| bound.clamp(-MOST_UNITS, MOST_UNITS));
        Self { least, count: (most - least) as u32 + 1, unit }
    }

    /// The number that a word stands for.
    fn of(self, word: u32) -> f64 {
        // (least + ⌊word · count / 2³²⌋) 2ᵉ
        let k = (u64::from(word) * u64::from(self.count)) >> 32;
        (self.least + k as f64) * self.unit
    }
}

/// A draw of the control of all worlds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw<'a> {
    pub seed: u64,
    /// Shape \[nu\].
    laws: &'a [Uniform],
}

impl Draw<'_> {
    /// That of a world, shape \[nu\].
    pub fn of(&self, world: usize, out: &mut [f64]) {
        let mut noise = Noise::of_control(self.seed, world);
        for (four, laws) in out.chunks_mut(4).zip(self.laws.chunks(4)) {
            for ((x, law), word) in four.iter_mut().zip(laws).zip(noise.words()) {
                *x = law.of(word);
            }
        }
    }

    /// The laws as a shader has them, least, count and unit, exact in f32; shape `[nu][3]`.
    #[cfg(feature = "gpu")]
    pub fn laws(&self) -> Vec<f32> {
        self.laws.iter().flat_map(|law| [law.least, f64::from(law.count), law.unit]).map(|x| x as f32).collect()
    }
}

/// The control that acts in a call of `step`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Acting<'a> {
    /// Shape `[world][nu]`.
    Given(&'a [f64]),
    /// What a device draws for itself; no other engine is given it.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "only a device draws for itself"))]
    Drawn(Draw<'a>),
}

impl<'a> Acting<'a> {
    /// What was given, shape `[world][nu]`.
    pub fn given(self) -> &'a [f64] {
        match self {
            Self::Given(numbers) => numbers,
            Self::Drawn(_) => &[],
        }
    }
    /// That of a world, shape \[nu\].
    #[cfg(feature = "gpu")]
    pub fn of(self, world: usize, out: &mut [f64]) {
        match self {
            Self::Given(numbers) => out.copy_from_slice(&numbers[world * out.len()..(world + 1) * out.len()]),
            Self::Drawn(draw) => draw.of(world, out),
        }
    }
}

/// The control of all worlds.
#[derive(Debug)]
pub(super) struct Control {
    /// What was given, shape `[world][nu]`.
    numbers: Vec<f64>,
    /// The seed of what was drawn since, if nobody has asked for its numbers.
    seed: Option<u64>,
    /// What it is drawn from, shape \[nu\].
    laws: Vec<Uniform>,
    /// Whether it may have changed since the last call of `step`.
    pub is_new: bool,
}

impl Control {
    /// Zero.
    pub fn new(model: &Model, world_count: usize) -> Self {
        let law = |actuator: &Actuator| Uniform::between(actuator.control_range.unwrap_or([-1.0, 1.0]));
        Self {
            numbers: vec![0.0; world_count * model.nu()],
            seed: None,
            laws: model.actuators.iter().map(law).collect(),
            is_new: true,
        }
    }
    pub fn len(&self) -> usize {
        self.numbers.len()
    }
    pub fn acting(&self) -> Acting<'_> {
        match self.seed {
            None => Acting::Given(&self.numbers),
            Some(seed) => Acting::Drawn(Draw { seed, laws: &self.laws }),
        }
    }
    /// Shape `[world][nu]`.
    pub fn numbers(&self) -> Cow<'_, [f64]> {
        let Some(seed) = self.seed else { return Cow::Borrowed(&self.numbers) };
        let mut numbers = vec![0.0; self.numbers.len()];
        write_down(Draw { seed, laws: &self.laws }, &mut numbers);
        Cow::Owned(numbers)
    }
    /// Shape `[world][nu]`, to be changed.
    pub fn numbers_mut(&mut self) -> &mut [f64] {
        self.is_new = true;
        if let Some(seed) = self.seed.take() {
            write_down(Draw { seed, laws: &self.laws }, &mut self.numbers);
        }
        &mut self.numbers
    }
    /// What it was before a draw, where nobody needs to know better.
    pub fn last_given(&self) -> &[f64] {
        &self.numbers
    }
}

/// Writes what is drawn, shape `[world][nu]`.
fn write_down(draw: Draw<'_>, numbers: &mut [f64]) {
    let nu = draw.laws.len().max(1);
    numbers.chunks_mut(nu).enumerate().for_each(|(world, own)| draw.of(world, own));
}

impl Worlds {
    /// The control of all worlds, shape `[world][nu]`.
    pub fn control(&self) -> Cow<'_, [f64]> {
        self.control.numbers()
    }

    /// The control of all worlds, shape `[world][nu]`, to be changed; kept until then.
    pub fn control_mut(&mut self) -> &mut [f64] {
        self.control.numbers_mut()
    }

    /// Replaces the control of all worlds, shape `[world][nu]`.
    ///
    /// # Errors
    /// [`Error::Argument`] if the shape is wrong.
    pub fn set_control<'a>(&mut self, control: impl Into<super::Numbers<'a>>) -> Result<()> {
        let (control, nu) = (control.into(), self.model.nu());
        if control.len() != self.control.len() {
            let (found, wanted, worlds) = (control.len(), self.control.len(), self.world_count);
            let message = format!("has {found} numbers, needs {wanted} ({worlds} worlds × {nu} actuators)");
            return Err(Error::argument("control", message));
        }
        control.copy_to(0, self.control.numbers_mut());
        Ok(())
    }

    /// Draws the control of all worlds, uniform in the range of every actuator, or in \[−1, 1\] where it has none; kept until changed. A world's numbers depend on `seed` and on its
    /// index only: give another seed for another draw. They are multiples of 2⁻²² times the larger bound, rounded up to a power of two, and the same to the bit on every backend
    /// and in either precision. The backend `gpu` draws them on the device, and nothing of them is sent, unless control is late ([`Worlds::set_control_delay`]).
    pub fn draw_control(&mut self, seed: u64) {
        self.control.is_new = true;
        self.control.seed = Some(seed);
        if self.engine.backend() != Backend::Gpu || self.delay.is_some() {
            self.control.numbers_mut();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_is_exact_in_f32_and_takes_both_bounds() {
        for [low, high] in
            [[-1.0, 1.0], [-2.617_99, 2.617_99], [0.0, 3.0], [0.3, 0.3], [-1e-3, 250.0], [-4.0, -4.0 + 1e-9]]
        {
            let law = Uniform::between([low, high]);
            let (first, last) = (law.of(0), law.of(u32::MAX));
            let close =
                |x: f64, bound: f64| (x - bound).abs() <= law.unit && law.unit <= 4.8e-7 * low.abs().max(high.abs());
            assert!(close(first, low) && close(last, high), "{low} {high}: {first} {last}");
            assert!(high - low < law.unit || low <= first && last <= high, "{low} {high}: {first} {last}");
            for k in 0..1000u32 {
                let word = k.wrapping_mul(2_654_435_761);
                let (x, f) = (law.of(word), law.least as f32 + ((u64::from(word) * u64::from(law.count)) >> 32) as f32);
                assert!(f64::from(x as f32) == x && (f * law.unit as f32).to_bits() == (x as f32).to_bits());
            }
        }
    }

    #[test]
    fn a_draw_fills_its_range_evenly() {
        let laws = [Uniform::between([-1.0, 3.0]); 6];
        let draw = Draw { seed: 3 << 32 | 9, laws: &laws };
        let mut bins = [[0u32; 8]; 6];
        for world in 0..4000 {
            let mut own = [0.0; 6];
            draw.of(world, &mut own);
            for (bins, x) in bins.iter_mut().zip(own) {
                bins[(2.0 * (x + 1.0)).min(7.0) as usize] += 1;
            }
        }
        // 500 expected, standard deviation 21
        assert!(bins.iter().flatten().all(|count| (400..600).contains(count)), "{bins:?}");
    }
}
