//! The shaders of a model: the loops of `shaders/resident/`, and between them the recorded formulas.

use super::formulas::{DISC_LEN, Formulas, POINT_LEN, POINTS_LEN};
use super::jacobi::{Jacobi, with_jacobi};
use super::layout::{
    self, CONTACT_HEAD, CONTACT_KIND, CONTACT_LEN, FAR, GUARD, LIST, Layout, PointFormula, SCALAR_HEAD,
    UNFINISHED_LIST, VERTEX,
};
use super::loops::{MOST_FAILED, STEP_SWEEPS, rounds_of_sweeps};
use super::newton_templates::{with_columns, with_newton};
use super::patch_formulas::PatchFormulas;
use super::patch_templates::with_patches;
use super::small::{self, Small, rounds_of_small_sweeps, with_small};
use super::templates::filled;
use super::tile::{CONTACT_OWN, NEWTON_SUMS, SCALAR_OWN, newton_lanes};
use super::{DRAWN, LISTS, MOVED, UNFINISHED};
use crate::solver::{PATCH_DELTA, TRUSTED_FLOOR};
use crate::step::Plan;
use std::fmt::Write;

/// One shader.
#[derive(Debug)]
pub(super) struct Shader {
    /// Of its entry point.
    pub name: String,
    /// WGSL.
    pub source: String,
}

/// One run of a shader in a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stage {
    /// Of the shader, and of the problem if it is one of two.
    pub name: String,
    /// Index of the shader.
    pub shader: usize,
    /// 0 for the velocity problem, 1 for the position problem.
    pub problem: usize,
    /// 1 for the worlds that the same stage has listed before.
    pub turn: usize,
    pub spread: Spread,
}

/// What a stage has its invocations for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// One for every world.
    Worlds,
    /// One for every contact of a world.
    Contacts,
    /// One for every row of a world.
    Rows,
    /// A workgroup for a world that is listed, and then for the next.
    Listed,
}

/// The stages of a step, in flow order: every shader once, those that solve once a problem, one problem after the other.
pub(super) fn stages(shaders: &[&str]) -> Vec<Stage> {
    let stage = |shader: usize, problem: usize, turn: usize, prefix: &str| {
        let name = format!("{prefix}{}{}", if turn == 1 { "more_" } else { "" }, shaders[shader]);
        let spread = match shaders[shader] {
            "contact_rows" | "patch_rows" => Spread::Contacts,
            "row_sums" => Spread::Rows,
            "newton" => Spread::Listed,
            _ => Spread::Worlds,
        };
        Stage { name, shader, problem, turn, spread }
    };
    let turns = |k: usize| if shaders[k] == "small_sweeps" { 0..2 } else { 0..1 };
    let solves = |k: &usize| matches!(shaders[*k], "small_sweeps" | "sweeps" | "newton");
    let last = shaders.len() - 1;
    let mut all: Vec<_> = (0..last).filter(|k| !solves(k)).map(|k| stage(k, 0, 0, "")).collect();
    for (problem, prefix) in ["velocity ", "position "].into_iter().enumerate() {
        let solvers = (0..last).filter(solves).flat_map(|k| turns(k).map(move |turn| (k, turn)));
        all.extend(solvers.map(|(k, turn)| stage(k, problem, turn, prefix)));
    }
    all.push(stage(last, 0, 0, ""));
    all
}

macro_rules! template {
    ($name:ident, $file:literal) => {
        pub(super) const $name: &str = include_str!(concat!("../../shaders/resident/", $file, ".wgsl"));
    };
}
template!(COMMON, "common");
template!(CONTACTS, "contacts");
template!(CONTACT_ROWS, "contact_rows");
template!(PATCH_ROWS, "patch_rows");
template!(ROW_SUMS, "row_sums");
template!(CONTACT_TERMS, "contact_terms");
template!(PROBLEM, "problem");
template!(START, "start");
template!(SMALL, "small");
template!(SMALL_SWEEPS, "small_sweeps");
template!(SWEEPS, "sweeps");
template!(ELIMINATION, "elimination");
template!(NEWTON, "newton");
template!(FINISH, "finish");
template!(COLUMNS, "columns");
template!(DRAW, "draw");

/// Sweeps go on while a round of them leaves less than this share of the residual, where Newton follows.
pub(super) const CONTRACTS: f64 = 0.1;
/// Newton's first proximal term δ, in units of the mean diagonal: with less, impulses that W does not feel jump, and modes with them. Where modes are right, down to the least; after steps that failed, up to the
/// largest, and at first to [`SOFT_START`].
pub(super) const FIRST_DELTA: f64 = 1e-4;
pub(super) const LEAST_DELTA: f64 = 1e-5;
pub(super) const SOFTEST: f64 = 1.0;
pub(super) const SOFT_START: f64 = 1e-2;
/// A step of Newton has brought the residual down if it is below this share of what it was.
pub(super) const BROUGHT: f64 = 0.9;
/// A step that failed begins again behind this share of the way that it and its sweeps went.
pub(super) const SHORTER: f64 = 0.2;
/// Of a world of few rows a step of the first so many turns counts that leaves less than so many times the tolerance: what many sweeps have brought far down, and no further, has other modes than the answer.
pub(super) const WILD_TURNS: usize = 24;
pub(super) const WILD: f64 = 1e3;
/// Beyond any residual, m/s.
pub(super) const UNSOLVABLE: f32 = 1e30;
/// Operations of a recorded formula in one shader: compilers take long over more. NVIDIA's takes 1.8 s over the longest piece of the humanoid's, and 6.3 s over one of 4000, which is 3 % faster.
pub(super) const MOST_OPERATIONS: usize = 2600;

/// The shaders of a step, in flow order. Sets the room that [`Layout`] has for what passes between those of the free motion.
pub(super) fn shaders(plan: &Plan, formulas: &Formulas, layout: &mut Layout) -> Vec<Shader> {
    let (pieces, passed) = formulas.motion.pieces(MOST_OPERATIONS);
    layout.passed = passed;
    let common = common(plan, layout);
    let mut all = Vec::new();
    for (k, piece) in pieces.iter().enumerate() {
        let statements = formulas.motion.wgsl(
            piece,
            "x",
            |i| motion_input(layout, i),
            |i, x| format!("motion[{i}u * header.stride + w] = {x};"),
            |slot| format!("motion[{}u * header.stride + w]", layout.passed() + slot),
        );
        let name = format!("free_motion_{k}");
        let source = format!("{common}\n{}\n{statements}}}\n", entry(&name));
        all.push(Shader { name, source });
    }
    let newton = plan.settings.solve().uses_newton() && layout.newton_tile_rows() > 0;
    let small = Small::new(plan, layout, newton);
    let own = own_constants(plan, newton, small.as_ref());
    let patches = layout.patches.then(|| PatchFormulas::new(plan, layout));
    let jacobi = layout.jacobi.then(|| Jacobi::new(plan, layout));
    let mut template = |name: &str, text: &str| {
        let text = with_patches(name, &with_jacobi(text, jacobi.as_ref(), layout), patches.as_ref(), layout);
        let text = filled(&text, formulas, layout);
        all.push(Shader { name: name.into(), source: format!("{common}\n{own}{text}") });
    };
    template("contacts", CONTACTS);
    template("contact_rows", CONTACT_ROWS);
    if patches.is_some() {
        template("patch_rows", PATCH_ROWS);
    }
    if jacobi.is_some() {
        template("row_sums", ROW_SUMS);
    }
    template("contact_terms", CONTACT_TERMS);
    if let Some(small) = &small {
        template("small_sweeps", &with_small(&format!("{START}{SMALL}{SMALL_SWEEPS}"), small));
    }
    template("sweeps", &format!("{PROBLEM}{START}{SMALL}{SWEEPS}"));
    if newton {
        let elimination = with_columns(ELIMINATION, layout.nv);
        template("newton", &with_newton(&format!("{PROBLEM}{SMALL}{elimination}{NEWTON}"), formulas, layout));
    }
    template("finish", FINISH);
    all
}

/// Constants of the stages that solve: whether Newton follows, and of which worlds W is formed before.
fn own_constants(plan: &Plan, newton: bool, small: Option<&Small>) -> String {
    let [first, more] = rounds_of_small_sweeps(plan);
    let [contacts, scalars] = small.map_or([0; 2], |small| [small.contacts, small.scalars]);
    format!(
        "const NEWTON = {newton};\nconst SMALL = {};\nconst SMALL_CONTACTS = {contacts}u;\nconst SMALL_SCALARS = {scalars}u;\nconst SMALL_ROUNDS = vec2<u32>({first}u, {more}u);\n",
        small.is_some()
    )
}

/// What moves the state of some worlds, [`MOVED`] at a time, and finds those that halted: three entry points of one source, `gather`, `scatter` and `look`.
pub(super) fn movers(plan: &Plan, layout: &Layout) -> [Shader; 3] {
    let source = format!("{}\nconst MOVED = {MOVED}u;\n{COLUMNS}", common(plan, layout));
    ["gather", "scatter", "look"].map(|name| Shader { name: name.into(), source: source.clone() })
}

/// What draws the control of all worlds.
pub(super) fn draw(plan: &Plan, layout: &Layout) -> Shader {
    let constants = format!("const NU = {}u;\nconst DRAWN = {DRAWN}u;\n", layout.nu);
    Shader { name: "draw".into(), source: format!("{}\n{constants}{DRAW}", common(plan, layout)) }
}

/// The head of an entry point whose invocations are worlds.
pub(super) fn entry(name: &str) -> String {
    format!(
        "@compute @workgroup_size(64)\nfn {name}(@builtin(global_invocation_id) id: vec3<u32>) {{\n    let w = id.x;\n    \
         if (!runs(w)) {{ return; }}\n"
    )
}

/// What all shaders begin with: constants, bindings, functions.
pub(super) fn common(plan: &Plan, l: &Layout) -> String {
    let mut out = String::new();
    let settings = &plan.settings;
    for (name, value) in [
        ("NV", l.nv),
        ("PAIR_COUNT", l.pairs.len()),
        ("PAIR_LEN", l.pair_len()),
        ("CAPACITY", l.capacity),
        ("CONTACT_HEAD", CONTACT_HEAD),
        ("CONTACT_LEN", l.contact_len()),
        ("MEMORY", l.memory()),
        ("MEMORY_LEN", l.memory_len()),
        ("SCALAR_MEMORY", l.scalar_memory()),
        ("SCALAR_COUNT", l.scalar_rows()),
        ("SCALAR", l.scalar()),
        ("SCALAR_LEN", l.scalar_len()),
        ("SCALAR_HEAD", SCALAR_HEAD),
        ("SCALAR_IMPULSE", l.scalar_impulse()),
        ("ROW_LEN", l.row_len()),
        ("ROW_Y", Layout::ROW_Y),
        ("ROW_FREE", l.row_free()),
        ("ROW_PREVIOUS", l.row_previous()),
        ("ROW_MEAN", l.row_mean()),
        ("ROW_BIAS", l.row_bias()),
        ("ROW_IMPULSE", l.row_impulse()),
        ("ROW_FRICTION", l.row_friction()),
        ("ROW_NEWTON", l.row_newton()),
        ("Z", l.z()),
        ("SCALAR_NEWTON", l.scalar_newton()),
        ("STEP_SWEEPS", STEP_SWEEPS),
        ("WILD_TURNS", WILD_TURNS),
        ("MOST_FAILED", MOST_FAILED),
        ("LIST", LIST),
        ("LISTS", LISTS),
        ("UNFINISHED_LIST", UNFINISHED_LIST),
        ("UNFINISHED", UNFINISHED),
        ("LANES", newton_lanes(l.nv)),
        ("TILE_ROWS", l.newton_tile_rows()),
        ("TILE_CONTACTS", l.newton_tile_contacts()),
        ("CONTACT_ROWS", l.contact_rows()),
        ("CONTACT_OWN", CONTACT_OWN),
        ("ACTING_WORDS", l.acting_words()),
        ("SCALAR_ROOM", l.newton_scalar_room()),
        ("SCALAR_OWN", SCALAR_OWN),
        ("LAW_QUADS", l.law_quads()),
        ("SUMS", NEWTON_SUMS),
        ("Q", Layout::Q),
        ("OUTCOME", l.outcome()),
        ("POSE", Layout::POSE),
        ("SHIFT", l.shift()),
        ("REFERENCE", l.reference()),
        ("FRICTION", l.friction()),
        ("SIGN_TABLE", l.sign_table()),
        ("BOUND_TABLE", l.bound_table()),
        ("POINT_LEN", POINT_LEN),
        ("FOUND_LEN", POINTS_LEN + if l.patches { DISC_LEN } else { 0 }),
        ("LOWEST", l.lowest()),
        ("GUARD", GUARD),
        ("HALT", layout::HALT),
        ("DONE", layout::DONE),
        ("RESIDUAL", layout::RESIDUAL),
        ("FLOOR", layout::FLOOR),
        ("PENETRATION", layout::PENETRATION),
        ("SWEEPS", layout::SWEEPS),
        ("CONTACTS", layout::CONTACTS),
        ("ROWS", layout::ROWS),
        ("FOUND", layout::FOUND),
        ("NEWTON_STEPS", layout::NEWTON_STEPS),
        ("FORGET", layout::FORGET),
        ("CONTACT_LIMIT", settings.contact_capacity.unwrap_or(1 << 24).min(1 << 24)),
        ("ROUNDS", rounds_of_sweeps(plan, l)),
        ("CHECK_EVERY", settings.check_every.max(1) as usize),
    ] {
        let _ = writeln!(out, "const {name} = {value}u;");
    }
    if l.patches {
        for (name, value) in [
            ("CONTACT_KIND", CONTACT_KIND),
            ("VERTEX", VERTEX),
            ("VERTEX_LEN", CONTACT_LEN),
            ("POINTS_LEN", POINTS_LEN),
            ("DISCS", PointFormula::Discs.number()),
            ("ROW_MORE_FREE", l.row_more_free()),
            ("ROW_MORE_PREVIOUS", l.row_more_previous()),
            ("ROW_MORE_BIAS", l.row_more_bias()),
            ("ROW_MORE_IMPULSE", l.row_more_impulse()),
            ("ROW_SHAPE", l.row_shape()),
        ] {
            let _ = writeln!(out, "const {name} = {value}u;");
        }
        let _ = writeln!(out, "const FAR = {FAR:e}f;\nconst PATCH_DELTA = {:e}f;", PATCH_DELTA as f32);
    }
    if l.patches || l.jacobi {
        let _ = writeln!(out, "const COMPLIANCE = {:e}f;", settings.compliance as f32);
    }
    for (name, value) in [
        ("ASKED", layout::ASKED.into()),
        ("NOT_SOLVED", layout::NOT_SOLVED.into()),
        ("NO_ROOM", layout::NO_ROOM.into()),
        ("NO_FORMULA", layout::NO_FORMULA.into()),
        ("NOT_FINITE", layout::NOT_FINITE.into()),
        // b of the position problem is as many times a row's velocity
        ("POSITION_SCALE", if l.centered { 2.0 } else { 1.0 }),
        ("TOLERANCE", settings.tolerance()),
        ("TRUSTED_FLOOR", TRUSTED_FLOOR * settings.tolerance()),
        ("CONTRACTS", CONTRACTS),
        ("SMALL_ENOUGH", small::ENOUGH * settings.tolerance()),
        ("FIRST_DELTA", FIRST_DELTA),
        ("LEAST_DELTA", LEAST_DELTA),
        ("SOFTEST", SOFTEST),
        ("SOFT_START", SOFT_START),
        ("BROUGHT", BROUGHT),
        ("SHORTER", SHORTER),
        ("WILD", WILD * settings.tolerance()),
        ("EPSILON", f64::from(f32::EPSILON)),
        ("REACH", plan.dt * settings.contact_speed),
        ("SPEED_LIMIT", settings.speed_limit.min(1e30)),
    ] {
        let _ = writeln!(out, "const {name} = {:e}f;", value as f32);
    }
    let _ = writeln!(out, "const UNSOLVABLE = {UNSOLVABLE:e}f;");
    let _ = writeln!(out, "const ELASTIC = {};", l.elastic);
    out.push_str(COMMON);
    out
}

/// The expression of an input of the free motion.
pub(super) fn motion_input(l: &Layout, i: usize) -> String {
    let (state, given) = (l.nq + l.nv, i.wrapping_sub(l.nq + l.nv));
    if i < state { format!("state[{i}u * header.stride + w]") } else { format!("given[{given}u * header.stride + w]") }
}
