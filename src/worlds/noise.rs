//! Random numbers by counting, in 32-bit integers only, so that Python and a shader make the same ones.

/// A stream of random numbers: every four of them are a hash of its key and a counter, pcg4d of Jarzynski and Olano, Hash Functions for GPU Rendering, 2020.
/// `delassus.gym.Noise` draws the same numbers in Python.
#[derive(Debug, Clone)]
pub struct Noise {
    key: [u32; 3],
    /// How often it has hashed.
    drawn: u32,
}

/// Keeps these streams apart from what else may be hashed.
const OWN: u32 = 0x6465_6c61;
/// Keeps those of control apart from them; the shader `draw` has it too.
const CONTROL: u32 = 0x6374_726c;

impl Noise {
    /// The stream of a seed; that of seed + 2³² start is `Noise(seed, start)` in Python.
    pub fn new(seed: u64) -> Self {
        Self { key: [seed as u32, (seed >> 32) as u32, OWN], drawn: 0 }
    }
    /// The stream of a world under a seed.
    pub fn of_world(seed: u64, world: usize) -> Self {
        Self { key: [world as u32, seed as u32, OWN ^ (seed >> 32) as u32], drawn: 0 }
    }

    /// The stream that the control of a world is drawn from. Its twin is the shader `draw`.
    pub(super) fn of_control(seed: u64, world: usize) -> Self {
        Self { key: [world as u32, seed as u32, CONTROL ^ (seed >> 32) as u32], drawn: 0 }
    }

    /// The next four words.
    pub(super) fn words(&mut self) -> [u32; 4] {
        let [x, y, w] = self.key;
        let words = pcg4d([x, y, self.drawn, w]);
        self.drawn = self.drawn.wrapping_add(1);
        words
    }

    /// Uniform in [0, 1), multiples of 2⁻³². What is left of the last four is not used again.
    pub fn unit(&mut self, out: &mut [f64]) {
        self.each(out.len(), |i, x| out[i] = x);
    }

    /// Uniform in [low, high).
    pub fn uniform(&mut self, low: f64, high: f64, out: &mut [f64]) {
        self.each(out.len(), |i, x| out[i] = low + (high - low) * x);
    }

    /// Standard normal, by Box and Muller.
    pub fn normal(&mut self, out: &mut [f64]) {
        let len = out.len();
        // √(−2 ln(1 − r)) cos 2πa, all r before all a
        self.each(2 * len, |i, x| {
            if i < len {
                out[i] = (-2.0 * (-x).ln_1p()).sqrt();
            } else {
                out[i - len] *= (std::f64::consts::TAU * x).cos();
            }
        });
    }

    /// Draws `count` numbers, uniform in [0, 1), and hands out each with its place.
    fn each(&mut self, count: usize, mut take: impl FnMut(usize, f64)) {
        for start in (0..count).step_by(4) {
            for (i, word) in (start..count).zip(self.words()) {
                take(i, f64::from(word) / 4_294_967_296.0);
            }
        }
    }
}

fn pcg4d(key: [u32; 4]) -> [u32; 4] {
    let v = mix(key.map(|x| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)));
    mix(v.map(|x| x ^ (x >> 16)))
}

fn mix([mut x, mut y, mut z, mut w]: [u32; 4]) -> [u32; 4] {
    x = x.wrapping_add(y.wrapping_mul(w));
    y = y.wrapping_add(z.wrapping_mul(x));
    z = z.wrapping_add(x.wrapping_mul(y));
    w = w.wrapping_add(y.wrapping_mul(z));
    [x, y, z, w]
}
