//! Parameters of the worlds: shared by all, until a world has values of its own.

use crate::lane::{Pack, Scalar};
use crate::parameters::{PARAMETERS, Parameter, TileParameters};

/// A parameter: one tile that all worlds share, until a world gets a value of its own.
#[derive(Debug, Clone)]
pub(super) struct Field<R> {
    /// Of worlds that have none of their own, shape \[len\].
    shared: Vec<R>,
    /// Shape `[tile][len][lane]`; empty while all worlds share.
    own: Vec<R>,
}

impl<R: Pack> Field<R> {
    pub fn new(shared: &[f64]) -> Self {
        Self { shared: shared.iter().map(|x| R::constant(*x)).collect(), own: Vec::new() }
    }
    /// Whether all worlds share it.
    pub fn is_shared(&self) -> bool {
        self.own.is_empty()
    }
    /// Makes it what all worlds share again.
    pub fn share(&mut self) {
        self.own.clear();
    }
    /// Numbers that are kept for it, in packs.
    pub fn pack_count(&self) -> usize {
        self.shared.len() + self.own.len()
    }
    pub fn tile(&self, tile: usize) -> &[R] {
        let len = self.shared.len();
        if self.is_shared() { &self.shared } else { &self.own[tile * len..(tile + 1) * len] }
    }
    /// Entry `k` of a world.
    #[cfg(feature = "gpu")]
    pub fn of(&self, k: usize, world: usize) -> R::Scalar {
        self.tile(world / R::LANES)[k].get(world % R::LANES)
    }
    /// Whether a world has other values than those that are shared.
    #[cfg(feature = "gpu")]
    pub fn differs(&self, world: usize) -> bool {
        !self.is_shared() && (0..self.shared.len()).any(|k| self.of(k, world) != self.shared[k].get(0))
    }
    pub fn set(&mut self, tile_count: usize, world: usize, values: &[f64]) {
        if self.is_shared() {
            self.own = self.shared.repeat(tile_count);
        }
        let (start, len) = (world / R::LANES * self.shared.len(), self.shared.len());
        for (entry, x) in self.own[start..start + len].iter_mut().zip(values) {
            entry.set(world % R::LANES, R::Scalar::from_f64(*x));
        }
    }
}

/// What the stages take of all fields, in the order of [`Parameter::ALL`].
pub(super) fn parameters_of<R: Pack>(fields: &[Field<R>; PARAMETERS], tile: usize) -> TileParameters<'_, R> {
    TileParameters::new(|parameter| match &fields[parameter as usize] {
        // nobody is pushed, sizes are those of the plan: there is nothing to do
        field if matches!(parameter, Parameter::Push | Parameter::GeomSize) && field.is_shared() => &[],
        field => field.tile(tile),
    })
}
