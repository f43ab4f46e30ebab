//! Y of as many blocks as a pack has lanes, side by side, as it is used through velocities z = Yᵀ λ.
//!
//! Every block has bodies of its own under its contacts. So z stands block by block, in strips ([`Factor`]), and what a unit asks of it is turned into packs, and back
//! ([`Pack::gather`]).

use super::factor::{Factor, Strip};
use super::size::BlockSize;
use super::strip_lu::BODY;
use crate::lane::{EVERY_LANE, MOST_LANES, Pack, STRIP, Scalar};

/// No unit.
const NONE: u32 = u32::MAX;
/// Strips that most contacts touch at most: those of two bodies.
const HELD: usize = 2;

/// Y of the blocks of a tile, and z.
#[derive(Debug, Clone)]
pub(super) struct Abreast<R: Pack> {
    /// Y of every block as it was posed, shape \[lane\]; a lane without a block has none.
    pub factors: Vec<Factor<R::Scalar>>,
    /// Room of the blocks.
    pub size: BlockSize,
    /// Which unit of its block every lane has in which place, or [`NONE`]: those that touch most strips first. Shape \[unit\].
    order: Vec<[u32; MOST_LANES]>,
    /// The first strip of every unit in `at` and `entries`, and one more, shape \[unit + 1\].
    first: Vec<usize>,
    /// Where z of every strip of every unit stands in each lane, shape \[strip of a unit\].
    at: Vec<[u32; MOST_LANES]>,
    /// Y, shape \[strip of a unit\]\[row\]; a scalar row has one, and zeros.
    entries: Vec<[[R; STRIP]; 3]>,
    /// Whether no row touches more than the first [`BODY`] columns of any strip.
    pub bodies: bool,
    /// ε, shape \[unit\].
    pub compliance: Vec<R>,
    /// Strips of a lane in `velocity`: those of its block, and at least one that nothing touches.
    pub stride: usize,
    /// z = Yᵀ λ, and m = |Y|ᵀ |λ|, shape \[lane\]\[strip\].
    pub velocity: Vec<Strip<R::Scalar>>,
    magnitude: Vec<Strip<R::Scalar>>,
    /// z of the first strips of the unit that is being [changed](Abreast::change).
    held: [[R; STRIP]; HELD],
}

impl<R: Pack> Abreast<R> {
    /// No blocks yet.
    pub fn new() -> Self {
        Self {
            factors: vec![Factor::default(); R::LANES],
            size: BlockSize::default(),
            order: Vec::new(),
            first: Vec::new(),
            at: Vec::new(),
            entries: Vec::new(),
            bodies: false,
            compliance: Vec::new(),
            stride: 0,
            velocity: Vec::new(),
            magnitude: Vec::new(),
            held: [[R::zero(); STRIP]; HELD],
        }
    }

    /// Number of units.
    #[inline(always)]
    pub fn unit_count(&self) -> usize {
        self.size.contact_count + self.size.scalar_count
    }

    /// Number of rows of a unit, and the first of them.
    #[inline(always)]
    pub fn rows(&self, unit: usize) -> (usize, usize) {
        let contacts = self.size.contact_count;
        if unit < contacts { (3, 3 * unit) } else { (1, 2 * contacts + unit) }
    }

    /// The places of the units of the block in `lane`, and which unit of it each is.
    #[inline(always)]
    pub fn units_of(&self, lane: usize) -> impl Iterator<Item = (usize, usize)> {
        let places = self.order.iter().enumerate();
        places.filter(move |(_, order)| order[lane] != NONE).map(move |(unit, order)| (unit, order[lane] as usize))
    }

    /// Takes the blocks of `factors` in.
    #[inline(always)]
    pub fn load(&mut self, size: BlockSize) {
        self.size = size;
        self.find_order();
        self.find_entries();
    }

    /// The places of the units of all lanes.
    #[inline(always)]
    fn find_order(&mut self) {
        self.order.clear();
        self.order.resize(self.unit_count(), [NONE; MOST_LANES]);
        self.first.clear();
        self.first.resize(self.unit_count() + 1, 0);
        for (lane, factor) in self.factors.iter().enumerate() {
            let own = factor.size.contact_count;
            let mut most = 0;
            for unit in 0..factor.unit_count() {
                most = most.max(factor.unit(unit).0.len());
            }
            for (units, to) in [(0..own, 0), (own..factor.unit_count(), self.size.contact_count)] {
                let mut to = to;
                for count in (0..=most).rev() {
                    for unit in units.clone() {
                        if factor.unit(unit).0.len() == count {
                            self.order[to][lane] = unit as u32;
                            // for the time being: how many strips
                            self.first[to + 1] = self.first[to + 1].max(count);
                            to += 1;
                        }
                    }
                }
            }
        }
        for unit in 0..self.unit_count() {
            self.first[unit + 1] += self.first[unit];
        }
    }

    /// Y, turned.
    #[inline(always)]
    fn find_entries(&mut self) {
        let count = self.first[self.unit_count()];
        self.at.clear();
        self.at.resize(count, [0; MOST_LANES]);
        self.entries.clear();
        self.entries.resize(count, [[R::zero(); STRIP]; 3]);
        self.compliance.clear();
        self.stride = 1;
        self.bodies = true;
        for factor in &self.factors {
            self.stride = self.stride.max(factor.strip_count() + 1);
            self.bodies &= factor.widest() <= BODY;
        }
        let none = [R::Scalar::from_f64(0.0); STRIP];
        for unit in 0..self.unit_count() {
            let (rows, _) = self.rows(unit);
            let mut compliance = R::zero();
            for (lane, factor) in self.factors.iter().enumerate() {
                let own = self.order[unit][lane];
                if own != NONE {
                    compliance.set(lane, factor.compliance(own as usize));
                }
            }
            self.compliance.push(compliance);
            for k in self.first[unit]..self.first[unit + 1] {
                let mut strips = [[none; MOST_LANES]; 3];
                for (lane, factor) in self.factors.iter().enumerate() {
                    let own = self.order[unit][lane];
                    let (touched, entries) = if own == NONE { (&[][..], &[][..]) } else { factor.unit(own as usize) };
                    let place = k - self.first[unit];
                    // a strip of its own, where nothing moves, for what a lane lacks
                    let strip = touched.get(place).map_or(self.stride - 1, |strip| *strip as usize);
                    self.at[k][lane] = (lane * self.stride + strip) as u32;
                    if place < touched.len() {
                        for row in 0..rows {
                            strips[row][lane] = entries[rows * place + row];
                        }
                    }
                }
                for row in 0..rows {
                    self.entries[k][row] = R::gather(&strips[row], &EVERY_LANE);
                }
            }
        }
    }

    /// The blocks on the diagonal of W.
    #[inline(always)]
    pub fn find_own(&self, blocks: &mut Vec<[[R; 3]; 3]>) {
        blocks.clear();
        for unit in 0..self.unit_count() {
            let (rows, _) = self.rows(unit);
            let mut own = [[R::zero(); 3]; 3];
            for y in &self.entries[self.first[unit]..self.first[unit + 1]] {
                for i in 0..rows {
                    for j in 0..=i {
                        for k in 0..STRIP {
                            own[i][j] = y[i][k].mul_add(y[j][k], own[i][j]);
                        }
                    }
                }
            }
            for i in 0..3 {
                for j in 0..i {
                    own[j][i] = own[i][j];
                }
            }
            own[0][0] += self.compliance[unit];
            blocks.push(own);
        }
    }

    /// z ← z + Y_cᵀ λ_c
    #[inline(always)]
    fn push(&mut self, unit: usize, x: [R; 3]) {
        let contact = unit < self.size.contact_count;
        for k in self.first[unit]..self.first[unit + 1] {
            let mut z = R::gather(&self.velocity, &self.at[k]);
            add_impulse::<R, STRIP>(&self.entries[k], contact, x, &mut z);
            R::scatter(&z, &mut self.velocity, &self.at[k]);
        }
    }

    /// Y_c z of a unit; a scalar row has the first entry only.
    #[inline(always)]
    pub fn sum(&self, unit: usize) -> [R; 3] {
        let (contact, mut sums) = (unit < self.size.contact_count, [R::zero(); 3]);
        for k in self.first[unit]..self.first[unit + 1] {
            add_rates::<R, STRIP>(&self.entries[k], contact, &R::gather(&self.velocity, &self.at[k]), &mut sums);
        }
        sums
    }

    /// z ← z + Y_cᵀ Δλ_c with what `answer` makes of Y_c z: z is gathered once for both. `N`: columns of a strip that are looked at.
    #[inline(always)]
    pub fn change<const N: usize>(&mut self, unit: usize, answer: impl FnOnce([R; 3]) -> [R; 3]) {
        let (contact, mut sums) = (unit < self.size.contact_count, [R::zero(); 3]);
        let (start, end) = (self.first[unit], self.first[unit + 1]);
        for k in start..end {
            let z = R::gather(&self.velocity, &self.at[k]);
            add_rates::<R, N>(&self.entries[k], contact, &z, &mut sums);
            if let Some(held) = self.held.get_mut(k - start) {
                *held = z;
            }
        }
        let x = answer(sums);
        for k in start..end {
            let mut z = match self.held.get(k - start) {
                Some(held) => *held,
                None => R::gather(&self.velocity, &self.at[k]),
            };
            add_impulse::<R, N>(&self.entries[k], contact, x, &mut z);
            R::scatter(&z, &mut self.velocity, &self.at[k]);
        }
    }

    /// z = Yᵀ λ; `impulse`: λ of a row of a unit.
    #[inline(always)]
    pub fn find_velocity(&mut self, impulse: impl Fn(usize, usize) -> R) {
        self.velocity.clear();
        self.velocity.resize(self.stride * R::LANES, [R::Scalar::from_f64(0.0); STRIP]);
        for unit in 0..self.unit_count() {
            let (rows, i) = self.rows(unit);
            let mut x = [R::zero(); 3];
            for k in 0..rows {
                x[k] = impulse(unit, i + k);
            }
            self.push(unit, x);
        }
    }

    /// m = |Y|ᵀ |λ|: what the terms of z add up to.
    #[inline(always)]
    pub fn find_magnitude(&mut self, impulse: &[R]) {
        self.magnitude.clear();
        self.magnitude.resize(self.stride * R::LANES, [R::Scalar::from_f64(0.0); STRIP]);
        for unit in 0..self.unit_count() {
            let (rows, i) = self.rows(unit);
            let strips = self.first[unit]..self.first[unit + 1];
            for (at, y) in self.at[strips.clone()].iter().zip(&self.entries[strips]) {
                let mut m = R::gather(&self.magnitude, at);
                for row in 0..rows {
                    for k in 0..STRIP {
                        m[k] = y[row][k].abs().mul_add(impulse[i + row].abs(), m[k]);
                    }
                }
                R::scatter(&m, &mut self.magnitude, at);
            }
        }
    }

    /// The largest entry of |b| + |Y_c| m of a unit: what the terms of u add up to.
    #[inline(always)]
    pub fn magnitude_of(&self, unit: usize, bias: &[R]) -> R {
        let (rows, i) = self.rows(unit);
        let mut sums = [R::zero(); 3];
        let strips = self.first[unit]..self.first[unit + 1];
        for (at, y) in self.at[strips.clone()].iter().zip(&self.entries[strips]) {
            let m = R::gather(&self.magnitude, at);
            for row in 0..rows {
                for k in 0..STRIP {
                    sums[row] = y[row][k].abs().mul_add(m[k], sums[row]);
                }
            }
        }
        let mut largest = R::zero();
        for (row, sum) in sums.iter().enumerate().take(rows) {
            let sum = bias[i + row].abs() + *sum;
            // a maximum drops what is not a number; a sum does not
            largest = sum.mul_add(R::zero(), sum.max(largest));
        }
        largest
    }
}

/// z ← z + Y_cᵀ λ_c in a strip; a scalar row has the first entry only.
#[inline(always)]
fn add_impulse<R: Pack, const N: usize>(y: &[[R; STRIP]; 3], contact: bool, [x0, x1, x2]: [R; 3], z: &mut [R; STRIP]) {
    for k in 0..N {
        z[k] = y[0][k].mul_add(x0, z[k]);
    }
    if contact {
        for k in 0..N {
            z[k] = y[2][k].mul_add(x2, y[1][k].mul_add(x1, z[k]));
        }
    }
}

/// u ← u + Y_c z in a strip; a scalar row has the first entry only.
#[inline(always)]
fn add_rates<R: Pack, const N: usize>(y: &[[R; STRIP]; 3], contact: bool, z: &[R; STRIP], sums: &mut [R; 3]) {
    if contact {
        for k in 0..N {
            for row in 0..3 {
                sums[row] = y[row][k].mul_add(z[k], sums[row]);
            }
        }
    } else {
        for k in 0..N {
            sums[0] = y[0][k].mul_add(z[k], sums[0]);
        }
    }
}
