//! Reproducible noise: a counter hashed, so that a world's numbers depend on seed and index only. It is what random control and the noise of
//! [`super::Start`] are drawn from; [`super::Noise`] is what Python and a shader can draw too.

/// A stream of numbers for one world.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of `world` under `seed`.
    pub fn new(seed: u64, world: u64) -> Self {
        let mut random = Self { state: seed ^ world.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
        // Neighbouring seeds and worlds part ways.
        random.state = random.next() ^ world.rotate_left(32);
        random
    }
    /// SplitMix64 (Steele, Lea, Flood 2014).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// Uniform in [−1, 1).
    pub fn symmetric(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}
