//! What lies where on the device: every array is `[component][world]` in f32, and all that one stage writes for others shares a buffer.

use crate::contact::{Bound, Kind, LARGER, Shapes};
use crate::model::{Integrator, PairFriction, Shape};
use crate::solver::{Algorithm, FrictionLaw, PATCH_LEN, PATCH_ROWS};
use crate::step::{Plan, keeps_momentum};

/// A pair of geoms, as the contact stage reads it.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    /// The formula that it asks for, if it may touch at all.
    pub formula: Option<PointFormula>,
    /// Numbers of its table entry, [`Layout::pair_len`] of them.
    pub table: Vec<f32>,
}

/// What the device asks a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PointFormula {
    /// For its points.
    Points(Shapes),
    /// For the points or the disc of a cylinder over a plane that stay together.
    Discs,
    /// Whether convex shapes may be near each other; their points are found on the CPU only.
    Near([Bound; 2]),
}

impl PointFormula {
    /// All of them, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        let near = Bound::ALL.into_iter().flat_map(|a| Bound::ALL.map(|b| Self::Near([a, b])));
        Shapes::ALL.into_iter().map(Self::Points).chain([Self::Discs]).chain(near)
    }
    /// Its number in shaders.
    pub fn number(self) -> usize {
        let discs = Shapes::ALL.len();
        match self {
            Self::Points(shapes) => shapes as usize,
            Self::Discs => discs,
            Self::Near([a, b]) => discs + 1 + Bound::ALL.len() * a as usize + b as usize,
        }
    }
}

/// Added to the number of a formula that only tells whether the pair may touch.
pub(super) const GUARD: usize = 64;

/// For a pair whose points are found on the CPU only: a formula and lengths of shapes that hold its own, to tell whether they may touch.
fn guard(a: &Shape, b: &Shape) -> (PointFormula, [[f64; 3]; 2]) {
    match (Bound::of(a), Bound::of(b)) {
        (Some((first, p)), Some((second, q))) => (PointFormula::Near([first, second]), [p, q]),
        // a plane, whose own lengths are none, against the box about a hull
        (None, Some((_, q))) => (PointFormula::Points(Shapes::PlaneBox), [[0.0; 3], q]),
        (_, None) => (PointFormula::Points(Shapes::PlaneSphere), [[0.0; 3], [b.bounding_radius(), 0.0, 0.0]]),
    }
}

/// Numbers of a pair in the table: both geoms, their bodies and trees, the number of its formula (−1: it never touches; [`GUARD`]), margin, bounding radii, size, on a plane or not, how friction is
/// found and its fixed value, restitution, and two times three lengths.
pub(super) const PAIR_LEN: usize = 20;
/// What follows where pairs may be patches: whether it is one, whether a single vertex of it is, how e_r is found (0: uniform pressure, 1: a coefficient, 2: an ellipsoid), and the three half
/// axes, or the coefficient of torsional friction.
const PATCH_PAIR_LEN: usize = 6;
/// Numbers of a contact in the `contact` buffer: pair, feature, position, normal, gap, and the gap after the free motion.
pub(super) const CONTACT_LEN: usize = 10;
/// Where a contact says what it is, if it may be a patch: a point (0), a patch with vertices (1) or a disc (2); then come R times the cosine by which a disc leans, and the gap of the lowest point.
pub(super) const CONTACT_KIND: usize = CONTACT_LEN;
/// The gap of a vertex that is not there, beyond any reach, m.
pub(super) const FAR: f32 = 1e30;
/// What else it has then begins here: three further vertices, each with the numbers of a contact, and whether it is there in the place of the pair.
pub(super) const VERTEX: usize = CONTACT_KIND + 3;
/// Numbers of a world's step before its contacts: contacts, contacts found, deepest overlap, residual, rounding floor, sweeps, Newton steps, [`LIST`] and [`UNFINISHED_LIST`].
pub(super) const CONTACT_HEAD: usize = 9;
/// Of those the list of the worlds that sweeps left to Newton, one after another, wherever the worlds stand. The others are told of the world itself.
pub(super) const LIST: usize = 7;
/// Likewise: the worlds that the next turn of a stage goes on with.
pub(super) const UNFINISHED_LIST: usize = 8;
/// Numbers of a scalar row in the `motion` buffer before its Y: whether it acts, W, both biases.
pub(super) const SCALAR_HEAD: usize = 4;
/// Numbers that a world remembers of a contact: pair, feature, impulse in world axes. Of a patch the feature is −1, and the impulse that of its friction.
pub(super) const MEMORY_LEN: usize = 5;
/// What follows of a patch: features and impulses of its four normals, and its torsion.
const PATCH_MEMORY_LEN: usize = 9;
/// The rows of a patch in their order here: the normal of its first vertex and two tangents, as any contact; the normals of the other three; torsion. Those of the normals, and of the friction.
pub(super) const NORMALS: [usize; 4] = [0, 3, 4, 5];
pub(super) const FRICTIONS: [usize; 3] = [1, 2, 6];
/// Entries of W of its own that are kept of a patch: of normals by normals, of friction by normals, of friction by friction; of what is symmetric one half.
pub(super) const PATCH_OWN: [(usize, usize); 28] = {
    let (mut all, mut count) = ([(0, 0); 28], 0);
    let mut i = 0;
    while i < 4 {
        let mut j = 0;
        while j <= i {
            all[count] = (NORMALS[i], NORMALS[j]);
            (count, j) = (count + 1, j + 1);
        }
        i += 1;
    }
    i = 0;
    while i < 12 {
        all[count] = (FRICTIONS[i % 3], NORMALS[i / 3]);
        (count, i) = (count + 1, i + 1);
    }
    i = 0;
    while i < 3 {
        let mut j = 0;
        while j <= i {
            all[count] = (FRICTIONS[i], FRICTIONS[j]);
            (count, j) = (count + 1, j + 1);
        }
        i += 1;
    }
    all
};

/// The sizes of a model, and where its arrays begin.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub nq: usize,
    pub nv: usize,
    pub nu: usize,
    pub geoms: usize,
    pub bodies: usize,
    pub trees: usize,
    pub packed: usize,
    pub joint_rows: usize,
    pub equality_rows: usize,
    /// Every degree of freedom, one bit each.
    pub every_dof: Vec<u64>,
    pub pairs: Vec<Pair>,
    /// −1, 0 or 1 for every degree of freedom of every pair, shape \[pair\]\[nv\].
    pub signs: Vec<f32>,
    /// Lower and upper bound of every scalar row, N·s, shape \[row\]\[2\].
    pub bounds: Vec<f32>,
    /// Whether contacts may be patches.
    pub patches: bool,
    /// How many pairs may be.
    pub patch_pairs: usize,
    /// Whether Jacobi sweeps.
    pub jacobi: bool,
    /// Whether anything of the model bounces.
    pub elastic: bool,
    /// Room for contacts of a world.
    pub capacity: usize,
    /// Values that pass between pieces of the free motion.
    pub passed: usize,
    /// Whether q moves by the mean velocity of the step (Runge-Kutta).
    pub centered: bool,
    /// The free joints whose trees keep the momentum of free motion while nothing outside of them acts, see [`crate::runge_kutta::keep_momentum`].
    pub free_roots: Vec<usize>,
    /// The first degree of freedom of each of them.
    pub root_dofs: Vec<usize>,
}

impl Layout {
    pub fn new(plan: &Plan, capacity: usize) -> Self {
        let model = &*plan.model;
        let patches = plan.settings.friction == FrictionLaw::Patch;
        let restitution = |pair: &crate::model::CollisionPair| pair.restitution.unwrap_or(plan.settings.restitution);
        let mut signs = Vec::new();
        let pairs = plan.collide.pairs.iter().zip(&model.pairs).map(|(planned, pair)| {
            let mut sign = vec![0.0f32; model.nv()];
            for (geom, side) in [(pair.geom_a, -1.0), (pair.geom_b, 1.0)] {
                if let Some(last) = model.last_dof(model.geoms[geom].body) {
                    // what moves both moves neither against the other
                    model.dofs[last].ancestors.iter().for_each(|d| sign[*d] += side);
                }
            }
            signs.extend(sign);
            let (formula, number, lengths) = match planned.kind {
                Kind::Lanes(Shapes::PlaneCylinder) if planned.patch => {
                    (Some(PointFormula::Discs), PointFormula::Discs.number() as f64, planned.lengths)
                }
                Kind::Lanes(shapes) => {
                    let formula = PointFormula::Points(shapes);
                    (Some(formula), formula.number() as f64, planned.lengths)
                }
                // what lies on land does not come here (`obstacle`)
                Kind::Nothing | Kind::Land(_) => (None, -1.0, planned.lengths),
                Kind::PlaneHull(_) | Kind::Convex => {
                    let shape = |geom: usize| &model.geoms[geom].shape;
                    let (formula, lengths) = guard(shape(planned.a), shape(planned.b));
                    (Some(formula), (GUARD + formula.number()) as f64, lengths)
                }
            };
            let (mode, fixed) = match pair.friction {
                _ if pair.condim == 1 => (4.0, 0.0),
                PairFriction::Larger => (1.0, 0.0),
                PairFriction::First => (2.0, 0.0),
                PairFriction::Second => (3.0, 0.0),
                PairFriction::Fixed(mu) => (4.0, mu),
            };
            let body = |geom: usize| model.geoms[geom].body as f64;
            // what rests moves about any point
            let tree = |geom: usize| model.bodies[model.geoms[geom].body].tree.unwrap_or(0) as f64;
            let mut table = vec![
                planned.a as f64,
                planned.b as f64,
                body(planned.a),
                body(planned.b),
                tree(planned.a),
                tree(planned.b),
                number,
                planned.margin,
                planned.bounding * LARGER,
                planned.size,
                f64::from(u8::from(planned.on_plane)),
                mode,
                fixed,
                restitution(pair),
            ];
            table.extend(lengths.iter().flatten());
            debug_assert_eq!(table.len(), PAIR_LEN);
            if patches {
                let flag = |is: bool| f64::from(u8::from(is));
                let (form, [a, b, c]) = match (pair.ellipsoid, pair.torsion) {
                    (Some(half_axes), _) => (2.0, half_axes),
                    (None, Some(torsion)) => (1.0, [torsion, 0.0, 0.0]),
                    (None, None) => (0.0, [0.0; 3]),
                };
                table.extend([flag(planned.patch), flag(planned.torsion), form, a, b, c]);
            }
            let table = table.into_iter().map(|x| x as f32).collect();
            Pair { formula, table }
        });
        let pairs = pairs.collect();
        let mut bounds = Vec::new();
        for row in &plan.joint_rows {
            // |λ| ≤ τ_max Δt
            bounds.extend(match row.friction_loss(model) {
                Some(most) => [-(most * plan.dt) as f32, (most * plan.dt) as f32],
                None => [0.0, f32::INFINITY],
            });
        }
        bounds.extend(plan.equalities.rows.iter().flat_map(|_| [f32::NEG_INFINITY, f32::INFINITY]));
        let centered = plan.integrator == Integrator::Rk4;
        let free_roots = model.joints.iter().enumerate().filter(|(_, root)| centered && keeps_momentum(model, root));
        let mut every_dof = vec![0u64; model.nv().div_ceil(64).max(1)];
        (0..model.nv()).for_each(|d| every_dof[d / 64] |= 1 << (d % 64));
        Self {
            nq: model.nq(),
            nv: model.nv(),
            nu: model.nu(),
            geoms: model.geoms.len(),
            bodies: model.bodies.len(),
            trees: model.trees.len(),
            packed: model.packed_len(),
            joint_rows: plan.joint_rows.len(),
            equality_rows: plan.equalities.rows.len(),
            every_dof,
            pairs,
            signs,
            bounds,
            patches,
            jacobi: plan.settings.algorithm == Algorithm::Jacobi,
            patch_pairs: plan.collide.pairs.iter().filter(|pair| pair.patch).count(),
            elastic: model.pairs.iter().any(|pair| restitution(pair) > 0.0),
            capacity,
            passed: 0,
            centered,
            root_dofs: free_roots.clone().map(|(_, root)| root.v_start).collect(),
            free_roots: free_roots.map(|(j, _)| j).collect(),
        }
    }

    pub fn scalar_rows(&self) -> usize {
        self.joint_rows + self.equality_rows
    }

    /// How many of them act whatever the state is: those that may pull, dry friction and equalities.
    pub fn always_acting(&self) -> usize {
        self.bounds.chunks_exact(2).filter(|bound| bound[0] < 0.0).count()
    }

    /// Words with a bit for every scalar row; one where there is none, since no array is empty.
    pub fn acting_words(&self) -> usize {
        self.scalar_rows().div_ceil(32).max(1)
    }

    /// Numbers of a pair in the table, of a contact in the `contact` buffer, and of what is remembered of one.
    pub fn pair_len(&self) -> usize {
        PAIR_LEN + if self.patches { PATCH_PAIR_LEN } else { 0 }
    }
    pub fn contact_len(&self) -> usize {
        if self.patches { VERTEX + 3 * CONTACT_LEN } else { CONTACT_LEN }
    }
    pub fn memory_len(&self) -> usize {
        MEMORY_LEN + if self.patches { PATCH_MEMORY_LEN } else { 0 }
    }
    /// Most patches of a world.
    pub fn most_patches(&self) -> usize {
        if self.patches { self.capacity.min(self.patch_pairs) } else { 0 }
    }
    /// Which number of a contact is the gap of its lowest point.
    pub fn lowest(&self) -> usize {
        if self.patches { CONTACT_KIND + 2 } else { 8 }
    }

    // What the formulas take, in their order.

    /// q, v, control, outside force, gravity, mass scale, gain scale.
    pub fn input_lengths(&self) -> [usize; 7] {
        [self.nq, self.nv, self.nu, self.nv, 3, self.bodies, self.nu]
    }
    pub fn inputs(&self) -> usize {
        self.input_lengths().iter().sum()
    }
    /// Length of v̄, which Euler does not have.
    pub fn mean_len(&self) -> usize {
        if self.centered { self.nv } else { 0 }
    }
    /// Position, normal, signs, references, subspaces, factor, roots, v*, v, v̄.
    pub fn contact_row_lengths(&self) -> [usize; 10] {
        let mean = self.mean_len();
        [3, 3, self.nv, 3 * self.trees, 6 * self.nv, self.packed, self.nv, self.nv, self.nv, mean]
    }
    /// Y of the contact; presence, position and normal of the further vertices; whether it is a disc and its normal; signs, references, subspaces, factor, roots, v*, v, v̄.
    pub fn patch_row_lengths(&self) -> [usize; 11] {
        let [_, _, sign, reference, subspace, factor, root, free, v, mean] = self.contact_row_lengths();
        [3 * self.nv, 3 * 7, 4, sign, reference, subspace, factor, root, free, v, mean]
    }
    pub fn contact_row_inputs(&self) -> usize {
        self.contact_row_lengths().iter().sum()
    }
    /// q, factor, roots, v*, z, z of the position problem, v̄, mass scale, and of every one of `free_roots` whether it is left alone.
    pub fn finish_lengths(&self) -> [usize; 9] {
        let (mean, roots) = (self.mean_len(), self.free_roots.len());
        [self.nq, self.packed, self.nv, self.nv, self.nv, self.nv, mean, self.bodies, roots]
    }
    pub fn finish_inputs(&self) -> usize {
        self.finish_lengths().iter().sum()
    }

    // Buffer `given`: what the host gives.

    pub const CONTROL: usize = 0;
    pub fn external(&self) -> usize {
        self.nu
    }
    pub fn gravity(&self) -> usize {
        self.external() + self.nv
    }
    pub fn mass_scale(&self) -> usize {
        self.gravity() + 3
    }
    pub fn gain_scale(&self) -> usize {
        self.mass_scale() + self.bodies
    }
    pub fn friction(&self) -> usize {
        self.gain_scale() + self.nu
    }
    pub fn given_len(&self) -> usize {
        self.friction() + self.geoms
    }

    // Buffer `state`: what a world keeps.

    pub const Q: usize = 0;
    pub fn v(&self) -> usize {
        self.nq
    }
    /// What became of the world, [`OUTCOME_LEN`] numbers.
    pub fn outcome(&self) -> usize {
        self.v() + self.nv
    }
    /// Impulse of every scalar row, 0 where it did not act.
    pub fn scalar_memory(&self) -> usize {
        self.outcome() + OUTCOME_LEN
    }
    /// Number of contacts that are remembered, then [`Self::memory_len`] numbers each.
    pub fn memory(&self) -> usize {
        self.scalar_memory() + self.scalar_rows()
    }
    pub fn state_len(&self) -> usize {
        self.memory() + 1 + self.memory_len() * self.capacity
    }

    // Buffer `motion`: what the free motion leaves, in the order of the formula's results.

    pub const POSE: usize = 0;
    pub fn shift(&self) -> usize {
        13 * self.geoms
    }
    pub fn reference(&self) -> usize {
        self.shift() + 6 * self.bodies
    }
    pub fn subspace(&self) -> usize {
        self.reference() + 3 * self.trees
    }
    pub fn factor(&self) -> usize {
        self.subspace() + 6 * self.nv
    }
    pub fn inverse_root(&self) -> usize {
        self.factor() + self.packed
    }
    pub fn free_velocity(&self) -> usize {
        self.inverse_root() + self.nv
    }
    /// v̄, or v* where q moves by that.
    pub fn mean_velocity(&self) -> usize {
        self.free_velocity() + self.mean_len()
    }
    pub fn scalar(&self) -> usize {
        self.mean_velocity() + self.nv
    }
    pub fn scalar_len(&self) -> usize {
        SCALAR_HEAD + self.nv
    }
    pub fn passed(&self) -> usize {
        self.scalar() + self.scalar_len() * self.scalar_rows()
    }
    pub fn motion_len(&self) -> usize {
        // drawn control is on its way here
        (self.passed() + self.passed).max(self.nu)
    }

    // Buffer `contact`: [`CONTACT_HEAD`] numbers of the step at hand, then [`Layout::contact_len`] numbers a contact.

    pub fn contact_buffer_len(&self) -> usize {
        CONTACT_HEAD + self.contact_len() * self.capacity
    }

    // Buffer `rows`: of every contact, frame, Y, own block, u*, u before the step, ū, both biases, friction, impulses of both problems.

    pub const ROW_Y: usize = 9;
    pub fn row_own(&self) -> usize {
        9 + 3 * self.nv
    }
    pub fn row_free(&self) -> usize {
        self.row_own() + 6
    }
    pub fn row_previous(&self) -> usize {
        self.row_free() + 3
    }
    /// Where Runge-Kutta moves q; that of v*, where Euler does.
    pub fn row_mean(&self) -> usize {
        if self.centered { self.row_previous() + 3 } else { self.row_free() }
    }
    /// Three of the velocity problem, three of the position problem.
    pub fn row_bias(&self) -> usize {
        self.row_previous() + if self.centered { 6 } else { 3 }
    }
    pub fn row_impulse(&self) -> usize {
        self.row_bias() + 6
    }
    pub fn row_friction(&self) -> usize {
        self.row_impulse() + 6
    }
    /// Change of the impulse by Newton's step; where Jacobi sweeps, which no Newton follows, Σ_j |W_ij|.
    pub fn row_newton(&self) -> usize {
        self.row_friction() + 1
    }
    pub fn row_len(&self) -> usize {
        if self.patches { self.row_more_newton() + PATCH_ROWS } else { self.row_newton() + 3 }
    }

    // Of a patch, behind that: Y of four more rows, [`PATCH_OWN`], u*, u before the step, ū, both biases, impulses of both problems, what it is, and the change of those impulses.

    pub fn row_more_y(&self) -> usize {
        self.row_newton() + 3
    }
    pub fn row_more_own(&self) -> usize {
        self.row_more_y() + PATCH_ROWS * self.nv
    }
    pub fn row_more_free(&self) -> usize {
        self.row_more_own() + PATCH_OWN.len()
    }
    pub fn row_more_previous(&self) -> usize {
        self.row_more_free() + PATCH_ROWS
    }
    /// As [`Self::row_mean`].
    pub fn row_more_mean(&self) -> usize {
        if self.centered { self.row_more_previous() + PATCH_ROWS } else { self.row_more_free() }
    }
    /// Four of the velocity problem, four of the position problem.
    pub fn row_more_bias(&self) -> usize {
        self.row_more_previous() + if self.centered { 2 } else { 1 } * PATCH_ROWS
    }
    pub fn row_more_impulse(&self) -> usize {
        self.row_more_bias() + 2 * PATCH_ROWS
    }
    /// As [`crate::solver::Group::patches`] has it.
    pub fn row_shape(&self) -> usize {
        self.row_more_impulse() + 2 * PATCH_ROWS
    }
    /// As [`Self::row_newton`].
    pub fn row_more_newton(&self) -> usize {
        self.row_shape() + PATCH_LEN
    }
    /// Whether that number of a contact is one that Newton keeps.
    pub fn is_newtons(&self, number: usize) -> bool {
        let more = if self.patches { self.row_more_newton()..self.row_len() } else { 0..0 };
        (self.row_newton()..self.row_newton() + 3).contains(&number) || more.contains(&number)
    }
    /// Impulses of the scalar rows, shape \[problem\]\[row\].
    pub fn scalar_impulse(&self) -> usize {
        self.row_len() * self.capacity
    }
    /// z of both problems, shape \[problem\]\[nv\].
    pub fn z(&self) -> usize {
        self.scalar_impulse() + 2 * self.scalar_rows()
    }
    /// Change of the impulses of the scalar rows by Newton's step, or their Σ_j |W_ij|, see [`Self::row_newton`].
    pub fn scalar_newton(&self) -> usize {
        self.z() + 2 * self.nv
    }
    pub fn rows_buffer_len(&self) -> usize {
        self.scalar_newton() + self.scalar_rows()
    }

    /// The tables: pairs, signs, bounds.
    pub fn tables(&self) -> Vec<f32> {
        let mut all: Vec<f32> = self.pairs.iter().flat_map(|pair| pair.table.iter().copied()).collect();
        all.extend(&self.signs);
        all.extend(&self.bounds);
        // never empty, which no binding may be
        all.push(0.0);
        all
    }
    pub fn sign_table(&self) -> usize {
        self.pair_len() * self.pairs.len()
    }
    pub fn bound_table(&self) -> usize {
        self.sign_table() + self.signs.len()
    }
}

/// What became of a world in this call: [`HALT`], substeps done, then the worst of them, as [`crate::WorldReport`] has it: residual, floor, overlap, sweeps; contacts and rows of the
/// last one, contacts found at most.
pub(super) const OUTCOME_LEN: usize = 11;
/// Why a world halted, see [`NOT_SOLVED`] and those after it; negative once `look` has listed it; 0 while it goes on.
pub(super) const HALT: usize = 0;
pub(super) const DONE: usize = 1;
pub(super) const RESIDUAL: usize = 2;
pub(super) const FLOOR: usize = 3;
pub(super) const PENETRATION: usize = 4;
pub(super) const SWEEPS: usize = 5;
pub(super) const CONTACTS: usize = 6;
pub(super) const ROWS: usize = 7;
pub(super) const FOUND: usize = 8;
pub(super) const NEWTON_STEPS: usize = 9;
/// 1 where the next step starts from no impulses.
pub(super) const FORGET: usize = 10;

/// Why a world halts: its problem is left unsolved.
pub(super) const NOT_SOLVED: f32 = 1.0;
/// It has more contacts than there is room for.
pub(super) const NO_ROOM: f32 = 2.0;
/// A pair of geoms is near that has no formula here.
pub(super) const NO_FORMULA: f32 = 3.0;
/// The new state would not be finite, or faster than the speed limit.
pub(super) const NOT_FINITE: f32 = 4.0;
/// The host asked for it.
pub(super) const ASKED: f32 = 5.0;
