//! Stage 6, `islands`: contacts, limits and dry friction that share a moving tree share a block.
//!
//! World by world (lane by lane), union-find over the moving trees. Static bodies do not link. The rows of a tile are numbered: contact slot s
//! has rows 3 s (normal), 3 s + 1, 3 s + 2 (tangents), or as a pyramid e s to e s + e − 1 (edges, [`IslandPlan::edges`] = e); then come four more rows of every patch, then the joint slots, one row each, then the bilateral rows. For every row and every world
//! this stage says which block the row belongs to and which row of the block it is.

use crate::contact::{Contacts, PATCH_ROWS};
use crate::equality::EqualityPlan;
use crate::lane::Pack;
use crate::limit::{JointRow, Limits};
use crate::model::{CollisionPair, Model};
use crate::slots::{first_lanes, slot_counts};

/// Marks a row that a world does not have.
pub const NO_ROW: u32 = u32::MAX;
/// Added to the entry of a scalar row: scalar k of a block is entry `SCALAR + k`.
pub const SCALAR: u32 = 1 << 30;
/// Edges of a contact of condim 3 that is a pyramid (`step/pyramids.rs`), each a scalar row; without friction it has the first alone, with torsional and rolling friction more.
pub const EDGES: usize = 4;

/// The blocks of a tile of worlds.
#[derive(Debug, Clone, Default)]
pub struct Islands {
    /// The blocks, world by world, in the order of the lanes.
    pub blocks: Vec<IslandBlock>,
    /// Index into `blocks`, or [`NO_ROW`], shape \[row\]\[lane\].
    pub row_block: Vec<u32>,
    /// Row within the block: 3 · contact + axis for contacts with friction, [`SCALAR`] + scalar for all others, shape \[row\]\[lane\].
    pub row_entry: Vec<u32>,
    /// The lanes that have each slot, one bit each, shape \[slot\]; empty where rows are dealt out to islands.
    pub present: Vec<u32>,
    /// Number of rows of the tile.
    pub row_count: usize,
    /// Pair of every contact, where rows are dealt out to islands, shape \[slot\]\[lane\].
    pub pair: Vec<u32>,
    /// Index of every joint row, where rows are dealt out to islands, shape \[slot\]\[lane\].
    pub joint_row: Vec<u32>,
    /// Union-find parents, shape \[tree\].
    parent: Vec<u32>,
    /// Block of the tree's root, shape \[tree\].
    block_of: Vec<u32>,
}

/// One island of one world.
#[derive(Debug, Clone, Copy)]
pub struct IslandBlock {
    /// The world, as lane of the tile.
    pub lane: usize,
    /// Contacts with friction.
    pub contact_count: usize,
    /// How many of them, the first ones, are patches; their further rows are the first scalar rows.
    pub patch_count: usize,
    /// Scalar rows.
    pub scalar_count: usize,
    /// Degrees of freedom of its trees.
    pub dof_count: usize,
}

fn find(parent: &mut [u32], tree: usize) -> usize {
    let mut t = tree as u32;
    while parent[t as usize] != t {
        // Path halving.
        parent[t as usize] = parent[parent[t as usize] as usize];
        t = parent[t as usize];
    }
    t as usize
}

/// Makes trees one island.
fn unite_all(parent: &mut [u32], trees: &[usize]) {
    for tree in trees {
        unite(parent, trees[0], *tree);
    }
}

/// Joins the islands of two trees. The smaller index leads, so that the order does not matter.
fn unite(parent: &mut [u32], a: usize, b: usize) {
    let (a, b) = (find(parent, a), find(parent, b));
    parent[a.max(b)] = a.min(b) as u32;
}

/// What [`islands`] needs to know of a model. Trees are indices, or `u32::MAX` for bodies that cannot move.
#[derive(Debug, Clone)]
pub struct IslandPlan {
    /// Degrees of freedom, shape \[tree\].
    tree_dofs: Vec<usize>,
    /// Trees of the two bodies, shape \[pair\].
    pair_trees: Vec<[u32; 2]>,
    /// Whether a contact has three rows: it has friction, or worlds are one island (see [`worlds`]), shape \[pair\].
    three_rows: Vec<bool>,
    /// Rows that the slot of a contact that is a pyramid has: edges, which are scalar rows, of the pair with most, at least [`EDGES`]; 0 where contacts are not pyramids.
    pub edges: usize,
    /// Edges of a contact that is a pyramid, the first ones of its slot, shape \[pair\].
    pair_edges: Vec<usize>,
    /// Trees of every joint row: one of a joint, any number of a tendon.
    joint_trees: Vec<Vec<usize>>,
    /// Trees of every bilateral row.
    equality_trees: Vec<Vec<usize>>,
}

/// Marks a body that cannot move.
const NO_TREE: u32 = u32::MAX;

impl IslandPlan {
    /// Whether contacts are pyramids.
    fn pyramids(&self) -> bool {
        self.edges > 0
    }

    /// Rows of a contact slot.
    fn contact_rows(&self) -> usize {
        if self.pyramids() { self.edges } else { 3 }
    }

    /// Whether every world is one island, whatever touches: it has one moving tree, and all its rows move that.
    pub fn one_island(&self) -> bool {
        self.tree_dofs.len() == 1
            && self.pair_trees.iter().all(|trees| *trees != [NO_TREE; 2])
            && self.equality_trees.iter().all(|trees| !trees.is_empty())
    }

    /// `rows`: see [`crate::limit::joint_rows`]; `pyramids`: whether contacts are.
    pub fn new(model: &Model, rows: &[JointRow], equalities: &EqualityPlan, pyramids: bool) -> Self {
        let tree = |g: usize| model.bodies[model.geoms[g].body].tree.map_or(NO_TREE, |t| t as u32);
        let joint_trees = |row: &JointRow| {
            let mut trees: Vec<usize> = row.jacobian(model).iter().map(|entry| model.dofs[entry.dof].tree).collect();
            trees.dedup();
            trees
        };
        let mut tree_dofs = vec![0; model.trees.len()];
        for dof in &model.dofs {
            tree_dofs[dof.tree] += 1;
        }
        // the normal alone, or two edges for every direction of friction
        let pair_edges = |p: &CollisionPair| if p.condim == 1 { 1 } else { 2 * (p.condim - 1) };
        let pair_edges: Vec<usize> = model.pairs.iter().map(pair_edges).collect();
        let most = pair_edges.iter().fold(EDGES, |most, edges| most.max(*edges));
        Self {
            tree_dofs,
            pair_trees: model.pairs.iter().map(|p| [tree(p.geom_a), tree(p.geom_b)]).collect(),
            edges: if pyramids { most } else { 0 },
            pair_edges,
            three_rows: model.pairs.iter().map(|p| p.condim > 1 || model.trees.len() == 1).collect(),
            joint_trees: rows.iter().map(joint_trees).collect(),
            equality_trees: equalities.trees.clone(),
        }
    }
}

/// The rows that blocks are made of.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// All.
    All,
    /// Of every contact slot the lanes given, one bit each, shape \[contact slot\]; no limits; equalities in the worlds of such a contact.
    Contacts(&'a [u32]),
}

impl Part<'_> {
    /// Whether the contact of `lane` in `slot` takes part.
    fn has_contact(self, slot: usize, lane: usize) -> bool {
        match self {
            Part::All => true,
            Part::Contacts(lanes) => lanes[slot] >> lane & 1 != 0,
        }
    }
    /// Whether anything of a world does.
    fn has_world(self, lane: usize) -> bool {
        match self {
            Part::All => true,
            Part::Contacts(lanes) => lanes.iter().any(|lanes| lanes >> lane & 1 != 0),
        }
    }
}

/// Finds the blocks of the first `lane_count` worlds of a tile.
pub fn islands<R: Pack>(
    plan: &IslandPlan,
    lane_count: usize,
    contacts: &Contacts<R>,
    limits: &Limits<R>,
    part: Part<'_>,
    out: &mut Islands,
) {
    let lanes = R::LANES;
    let contact_slots = contacts.gap.len();
    out.blocks.clear();
    out.present.clear();
    let patch_slots = contacts.patches.len();
    let limit_start = plan.contact_rows() * contact_slots + contacts.patch_rows();
    let equality_start = limit_start + limits.gap.len();
    out.row_count = equality_start + plan.equality_trees.len();
    for array in [&mut out.row_block, &mut out.row_entry] {
        array.clear();
        array.resize(out.row_count * lanes, NO_ROW);
    }
    contacts.slots.spread(lanes, &mut out.pair);
    limits.slots.spread(lanes, &mut out.joint_row);
    let limit_slots = if matches!(part, Part::All) { limits.gap.len() } else { 0 };
    for lane in 0..lane_count {
        let has_contact = |slot: &usize| contacts.slots.has(*slot, lane) && part.has_contact(*slot, lane);
        let has_limit = |slot: &usize| limits.slots.has(*slot, lane);
        if !part.has_world(lane) {
            continue;
        }
        out.parent.clear();
        out.parent.extend(0..plan.tree_dofs.len() as u32);
        out.block_of.clear();
        out.block_of.resize(plan.tree_dofs.len(), NO_ROW);
        for slot in (0..contact_slots).filter(has_contact) {
            let [a, b] = plan.pair_trees[out.pair[slot * lanes + lane] as usize];
            if a != b && a != NO_TREE && b != NO_TREE {
                unite(&mut out.parent, a as usize, b as usize);
            }
        }
        for slot in (0..limit_slots).filter(has_limit) {
            unite_all(&mut out.parent, &plan.joint_trees[out.joint_row[slot * lanes + lane] as usize]);
        }
        for trees in &plan.equality_trees {
            unite_all(&mut out.parent, trees);
        }
        for slot in (0..contact_slots).filter(has_contact) {
            let pair = out.pair[slot * lanes + lane] as usize;
            let [a, b] = plan.pair_trees[pair];
            let tree = if a == NO_TREE { b } else { a };
            if tree == NO_TREE {
                continue;
            }
            let with_friction = plan.three_rows[pair];
            if plan.pyramids() {
                for i in 0..plan.pair_edges[pair] {
                    add_scalar(out, tree as usize, lane, (plan.edges * slot + i) * lanes + lane);
                }
                continue;
            }
            let block = block_of(out, tree as usize, lane);
            for i in 0..if with_friction { 3 } else { 1 } {
                let entry = (3 * slot + i) * lanes + lane;
                out.row_block[entry] = block;
                let b = &out.blocks[block as usize];
                out.row_entry[entry] =
                    if with_friction { (3 * b.contact_count + i) as u32 } else { SCALAR + b.scalar_count as u32 };
            }
            let b = &mut out.blocks[block as usize];
            if with_friction {
                b.contact_count += 1;
            } else {
                b.scalar_count += 1;
            }
            if slot < patch_slots {
                for i in 0..PATCH_ROWS {
                    let entry = (3 * contact_slots + PATCH_ROWS * slot + i) * lanes + lane;
                    out.row_block[entry] = block;
                    out.row_entry[entry] = SCALAR + (PATCH_ROWS * b.patch_count + i) as u32;
                }
                b.patch_count += 1;
                b.scalar_count += PATCH_ROWS;
            }
        }
        for slot in (0..limit_slots).filter(has_limit) {
            if let Some(&tree) = plan.joint_trees[out.joint_row[slot * lanes + lane] as usize].first() {
                add_scalar(out, tree, lane, (limit_start + slot) * lanes + lane);
            }
        }
        for (i, trees) in plan.equality_trees.iter().enumerate() {
            // An equality between things that cannot move holds or not, whatever the step does.
            if let Some(&tree) = trees.first() {
                add_scalar(out, tree, lane, (equality_start + i) * lanes + lane);
            }
        }
        for (tree, dofs) in plan.tree_dofs.iter().enumerate() {
            let block = out.block_of[find(&mut out.parent, tree)];
            if block != NO_ROW {
                out.blocks[block as usize].dof_count += dofs;
            }
        }
    }
}

/// As [`islands`], where every world is one island ([`IslandPlan::one_island`]): a world that has any row is a block, and every row stays where the tile has
/// it, in the lane of its world. Contacts without friction have three rows too, in either way of finding blocks, so that both give the same ones.
#[inline(always)]
pub fn worlds<R: Pack>(
    plan: &IslandPlan,
    lane_count: usize,
    contacts: &Contacts<R>,
    limits: &Limits<R>,
    part: Part<'_>,
    out: &mut Islands,
) {
    let worlds = first_lanes(lane_count);
    let equality_count = plan.equality_trees.len();
    let patch_slots = contacts.patches.len();
    out.row_count =
        plan.contact_rows() * contacts.gap.len() + contacts.patch_rows() + limits.gap.len() + equality_count;
    out.blocks.clear();
    out.present.clear();
    match part {
        Part::All if plan.pyramids() => {
            out.present.resize(plan.edges * contacts.gap.len(), 0);
            for part in &contacts.slots.parts {
                let edges = plan.pair_edges[part.origin as usize];
                for has in &mut out.present[plan.edges * part.slot as usize..][..edges] {
                    *has |= part.lanes;
                }
            }
            out.present.extend(&limits.slots.present);
            out.present.extend(std::iter::repeat_n(worlds, equality_count));
        }
        Part::All => {
            out.present.extend(&contacts.slots.present);
            for slot in 0..patch_slots {
                out.present.extend([contacts.slots.present[slot]; PATCH_ROWS]);
            }
            out.present.extend(&limits.slots.present);
            out.present.extend(std::iter::repeat_n(worlds, equality_count));
        }
        Part::Contacts(lanes) => {
            out.present.extend(contacts.slots.present.iter().zip(lanes).map(|(has, lanes)| has & lanes));
            let any = out.present.iter().fold(0, |any, bits| any | bits);
            for slot in 0..patch_slots {
                out.present.extend([out.present[slot]; PATCH_ROWS]);
            }
            out.present.extend(std::iter::repeat_n(0, limits.gap.len()));
            out.present.extend(std::iter::repeat_n(any & worlds, equality_count));
        }
    }
    let any = out.present.iter().fold(0, |any, bits| any | bits);
    let (contacts, scalars) = out.present.split_at(if plan.pyramids() { 0 } else { contacts.gap.len() });
    let counts = [contacts, scalars, &contacts[..patch_slots]].map(slot_counts);
    for lane in (0..lane_count).filter(|lane| any >> lane & 1 != 0) {
        let [contact_count, scalar_count, patch_count] = counts.map(|counts| counts[lane] as usize);
        let dof_count = plan.tree_dofs[0];
        out.blocks.push(IslandBlock { lane, contact_count, patch_count, scalar_count, dof_count });
    }
}

/// Gives the row at `entry` to the block of `tree`, as a scalar row.
fn add_scalar(out: &mut Islands, tree: usize, lane: usize, entry: usize) {
    let block = block_of(out, tree, lane);
    out.row_block[entry] = block;
    let b = &mut out.blocks[block as usize];
    out.row_entry[entry] = SCALAR + b.scalar_count as u32;
    b.scalar_count += 1;
}

/// The block of the island that `tree` belongs to; a new one if it has none yet.
fn block_of(out: &mut Islands, tree: usize, lane: usize) -> u32 {
    let root = find(&mut out.parent, tree);
    if out.block_of[root] == NO_ROW {
        out.block_of[root] = out.blocks.len() as u32;
        out.blocks.push(IslandBlock { lane, contact_count: 0, patch_count: 0, scalar_count: 0, dof_count: 0 });
    }
    out.block_of[root]
}
