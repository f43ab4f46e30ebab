//! All blocks of a step, gathered by size, in tiles whose lanes are blocks.
//!
//! A block is one island's problem w = W λ + b. Its rows: first the contacts, three rows each (normal, two tangents), then the
//! scalar rows, each with bounds lower ≤ λ ≤ upper. Blocks of like size form a [`Group`]; 16 (f32) of them share a tile, and every array is
//! stored `[tile][entry][lane]`, one contiguous piece for a core and a coalesced read for a GPU. Rows that a block does not have are zero
//! throughout, and stay zero.

use super::factor::Factor;
use super::size::BlockSize;
use crate::lane::{Pack, Real};

/// Numbers that say what a patch is: e_t, e_o (without unit), e_r (m); 1 for a disc, else 0; levers of its four normals along t and o, seen from the reference
/// point, m.
pub const PATCH_LEN: usize = 12;

/// Where a block lives in a [`Batch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockPlace {
    /// Index of the group.
    pub group: usize,
    /// Index of the block within its group; its tile is `block / LANES`, its lane `block % LANES`.
    pub block: usize,
}

/// Entries of [`Group::report`], per tile.
pub const REPORT_LEN: usize = 5;
/// Natural-map residual of the final impulse, m/s (rad/s), largest over the rows of the block.
pub const REPORT_RESIDUAL: usize = 0;
/// Rounding floor of that residual, m/s: no smaller residual can be told from zero in this precision.
pub const REPORT_FLOOR: usize = 1;
/// Sweeps done.
pub const REPORT_SWEEPS: usize = 2;
/// 1 while the residual is above what counts as solved ([`goal`]), 0 once it is not, and where no iteration can help: the residual is not finite. [`SWEPT`] in the
/// midst of the stage `sweeps`.
pub const REPORT_LIVE: usize = 3;
/// Of a block ([`REPORT_LIVE`]): sweeps go on. None of them yet, if none is counted.
pub const SWEPT: f64 = 2.0;
/// Newton steps done.
pub const REPORT_NEWTON_STEPS: usize = 4;

/// A rounding floor up to so many times the tolerance may take its place: see [`goal`].
pub const TRUSTED_FLOOR: f64 = 10.0;

/// The residual that counts as solved, m/s: the tolerance, or the rounding floor while that is at most [`TRUSTED_FLOOR`] times the tolerance.
/// A block whose floor is higher cannot be solved in this precision.
#[inline(always)]
pub fn goal<R: Real>(tolerance: R, floor: R) -> R {
    tolerance.max(floor.min(R::constant(TRUSTED_FLOOR) * tolerance))
}

/// All blocks of one size class.
#[derive(Debug, Clone)]
pub struct Group<R: Pack> {
    /// Room of every block.
    pub size: BlockSize,
    /// How many contacts of a block there is room for that are patches: they come first; see [`FrictionLaw::Patch`](super::FrictionLaw::Patch).
    pub patch_count: usize,
    /// Number of blocks.
    pub block_count: usize,
    /// Delassus matrix W = J M⁻¹ Jᵀ, both triangles, shape `[tile][row][column][lane]`. Empty if the blocks are factored.
    pub delassus: Vec<R>,
    /// Whether W of every block is kept as its factor.
    pub factored: bool,
    /// W of every block if they are factored, shape `[block]`; there may be more.
    pub factors: Vec<Factor<R::Scalar>>,
    /// Constant term b, m/s, shape `[tile][row][lane]`.
    pub bias: Vec<R>,
    /// Constant term of the position problem, m/s, shape `[tile][row][lane]`: as `bias`, with the push-out of overlaps added.
    pub position_bias: Vec<R>,
    /// Friction coefficient μ, shape `[tile][contact][lane]`.
    pub friction: Vec<R>,
    /// What the patches are: half axes e_t, e_o (without unit), e_r (m) of their friction; 1 for a disc, else 0; levers of their four normals along the two tangents, seen
    /// from the reference point, m; shape `[tile][patch][PATCH_LEN][lane]`.
    pub patches: Vec<R>,
    /// Bounds of the scalar rows, N·s, shape `[tile][scalar][lower, upper][lane]`.
    pub bounds: Vec<R>,
    /// Impulse λ, N·s, shape `[tile][row][lane]`: the first guess before, the solution after.
    pub impulse: Vec<R>,
    /// Impulse of the position problem, N·s, shape `[tile][row][lane]`.
    pub position_impulse: Vec<R>,
    /// Certificate of the velocity problem, shape `[tile][REPORT_LEN][lane]`.
    pub report: Vec<R>,
    /// Certificate of the position problem, shape `[tile][REPORT_LEN][lane]`.
    pub position_report: Vec<R>,
}

impl<R: Pack> Group<R> {
    fn new(size: BlockSize, factored: bool, patch_count: usize) -> Self {
        Self {
            size,
            patch_count,
            block_count: 0,
            factored,
            factors: Vec::new(),
            delassus: Vec::new(),
            bias: Vec::new(),
            position_bias: Vec::new(),
            friction: Vec::new(),
            patches: Vec::new(),
            bounds: Vec::new(),
            impulse: Vec::new(),
            position_impulse: Vec::new(),
            report: Vec::new(),
            position_report: Vec::new(),
        }
    }
    /// Number of tiles.
    pub fn tile_count(&self) -> usize {
        self.block_count.div_ceil(R::LANES)
    }
    /// Makes room for all blocks, every entry 0.
    fn allocate(&mut self) {
        self.delassus.clear();
        self.allocate_all_but_delassus();
    }
    /// The same, but for the entries of W, which the caller writes.
    fn allocate_all_but_delassus(&mut self) {
        let n = self.size.row_count();
        self.delassus.resize(if self.factored { 0 } else { self.tile_count() * n * n }, R::zero());
        self.allocate_vectors();
    }
    /// Makes room for all but W, every entry 0.
    fn allocate_vectors(&mut self) {
        let tiles = self.tile_count();
        let n = self.size.row_count();
        let sized = [
            (&mut self.bias, n),
            (&mut self.position_bias, n),
            (&mut self.friction, self.size.contact_count),
            (&mut self.patches, PATCH_LEN * self.patch_count),
            (&mut self.bounds, 2 * self.size.scalar_count),
            (&mut self.impulse, n),
            (&mut self.position_impulse, n),
            (&mut self.report, REPORT_LEN),
            (&mut self.position_report, REPORT_LEN),
        ];
        for (array, entries) in sized {
            array.clear();
            array.resize(tiles * entries, R::zero());
        }
    }
}

/// All blocks of a step.
#[derive(Debug, Clone)]
pub struct Batch<R: Pack> {
    /// One group a size class, in the order in which the classes first appeared.
    pub groups: Vec<Group<R>>,
    /// Blocks of so many rows and more, and no fewer rows than degrees of freedom, are factored: see [`Factor`].
    pub factored_from: usize,
}

impl<R: Pack> Default for Batch<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Pack> Batch<R> {
    /// A batch without blocks. All will be dense, unless `factored_from` is lowered.
    pub fn new() -> Self {
        Self { groups: Vec::new(), factored_from: usize::MAX }
    }
    /// Forgets all blocks, keeps the memory.
    pub fn clear(&mut self) {
        for group in &mut self.groups {
            group.block_count = 0;
        }
    }
    /// Forgets the blocks of all groups from `count` on.
    pub fn truncate(&mut self, count: usize) {
        for group in self.groups.iter_mut().skip(count).filter(|group| !group.report.is_empty()) {
            group.block_count = 0;
            group.allocate();
        }
    }
    /// Adds a dense block of `size` and returns its place. Its arrays exist after [`Batch::allocate`].
    pub fn add(&mut self, size: BlockSize) -> BlockPlace {
        self.add_in_form(size.class(), size, false, 0)
    }
    /// Adds the block of an island whose bodies have `dof_count` degrees of freedom, in the form that `factored_from` asks for.
    pub fn add_island(&mut self, size: BlockSize, dof_count: usize) -> BlockPlace {
        self.add_in_form(size.class(), size, self.factors(size, dof_count), 0)
    }
    /// Adds a dense block whose first `patch_count` contacts are patches; `size` counts their further rows as scalar rows.
    pub fn add_patched(&mut self, size: BlockSize, patch_count: usize) -> BlockPlace {
        let (class, patches) = size.class_with(patch_count);
        self.add_in_form(class, size, false, patches)
    }
    /// Whether the block of an island is factored: it is large, and has no fewer rows than degrees of freedom.
    pub fn factors(&self, size: BlockSize, dof_count: usize) -> bool {
        size.row_count() >= self.factored_from && size.row_count() >= dof_count
    }
    fn add_in_form(&mut self, class: BlockSize, size: BlockSize, factored: bool, patch_count: usize) -> BlockPlace {
        let same = |g: &Group<R>| g.size == class && g.factored == factored && g.patch_count == patch_count;
        let found = self.groups.iter().position(same);
        let group = found.unwrap_or_else(|| {
            self.groups.push(Group::new(class, factored, patch_count));
            self.groups.len() - 1
        });
        let to = &mut self.groups[group];
        let block = to.block_count;
        to.block_count += 1;
        if to.factored {
            to.factors.resize_with(to.factors.len().max(to.block_count), Factor::default);
            to.factors[block].clear(size);
        }
        BlockPlace { group, block }
    }
    /// Makes room for all blocks that were added, every entry 0.
    pub fn allocate(&mut self) {
        for group in &mut self.groups {
            group.allocate();
        }
    }
    /// The same, but for the entries of W, which the caller writes.
    pub fn allocate_all_but_delassus(&mut self) {
        for group in &mut self.groups {
            group.allocate_all_but_delassus();
        }
    }
    /// Makes group `index` one tile whose lanes are blocks of exactly `size`, dense, every entry 0 but those of W, which the caller writes.
    /// `patch_count`: how many of the contacts, the first ones, are patches.
    pub fn set_tile(&mut self, index: usize, size: BlockSize, patch_count: usize) {
        while self.groups.len() <= index {
            self.groups.push(Group::new(size, false, patch_count));
        }
        let group = &mut self.groups[index];
        (group.size, group.block_count, group.factored, group.patch_count) = (size, R::LANES, false, patch_count);
        group.factors.clear();
        group.delassus.resize(size.row_count() * size.row_count(), R::zero());
        group.allocate_vectors();
    }
    /// Number of blocks.
    pub fn block_count(&self) -> usize {
        self.groups.iter().map(|g| g.block_count).sum()
    }
}
