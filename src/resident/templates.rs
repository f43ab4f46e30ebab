//! What stands in the templates of `shaders/resident/` where they name a formula.
#![expect(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "texts that are made once for a model read best in one piece"
)]

use super::formulas::{Formulas, POINT_INPUTS};
use super::layout::{Layout, PointFormula, SCALAR_HEAD};
use crate::lane::Program;
use std::fmt::Write;

/// Numbers that a formula takes from an array.
pub(super) struct Taken<'a> {
    /// Expression of the component `k`.
    at: Box<dyn Fn(usize) -> String + 'a>,
    len: usize,
}

pub(super) fn from<'a>(len: usize, at: impl Fn(usize) -> String + 'a) -> Taken<'a> {
    Taken { at: Box::new(at), len }
}

/// The expressions of arrays one after another.
pub(super) fn inputs(all: &[Taken<'_>]) -> Vec<String> {
    all.iter().flat_map(|a| (0..a.len).map(|k| (a.at)(k))).collect()
}

/// What the rows of a contact take of its pair and of the motion: signs, references, subspaces, factor, roots, v*, v, v̄.
pub(super) fn moves(l: &Layout) -> Vec<String> {
    let motion = |start: usize| move |k: usize| format!("motion[{}u * header.stride + w]", start + k);
    inputs(&[
        from(l.nv, |k| format!("tables[sign + {k}u]")),
        from(3 * l.trees, motion(l.reference())),
        from(6 * l.nv, motion(l.subspace())),
        from(l.packed, motion(l.factor())),
        from(l.nv, motion(l.inverse_root())),
        from(l.nv, motion(l.free_velocity())),
        from(l.nv, |k| format!("state[{}u * header.stride + w]", l.v() + k)),
        from(l.mean_len(), motion(l.mean_velocity())),
    ])
}

/// The statements of a formula that take from `inputs` and give to `outputs`.
pub(super) fn told(
    program: &Program,
    prefix: &str,
    inputs: &[String],
    output: impl Fn(usize, &str) -> String,
) -> String {
    program.wgsl(&program.whole(), prefix, |i| inputs[i].clone(), output, |_| String::new())
}

/// A template whose lines `//{prefix…}` become the statements of that name.
pub(super) fn with_statements(text: &str, prefix: &str, statements: impl Fn(&str) -> String) -> String {
    let own = |line: &str| {
        let name = line.trim().strip_prefix("//{")?.strip_suffix('}')?.strip_prefix(prefix)?;
        Some(statements(name))
    };
    text.lines().map(|line| own(line).unwrap_or_else(|| format!("{line}\n"))).collect()
}

/// A template with its formulas: `//{name}` lines become statements.
pub(super) fn filled(text: &str, f: &Formulas, l: &Layout) -> String {
    let nv = l.nv;
    // of a contact at component `row` of `rows`, and of a scalar row at component `scalar` of `motion`
    let row = |k: usize| format!("rows[(row + {k}u) * header.stride + w]");
    let scalar = |k: usize| format!("motion[(scalar + {k}u) * header.stride + w]");
    let motion = |start: usize| move |k: usize| format!("motion[{}u * header.stride + w]", start + k);
    let state = |start: usize| move |k: usize| format!("state[{}u * header.stride + w]", start + k);
    let (z, m) = (|k: usize| format!("z{k}"), |k: usize| format!("m{k}"));
    let bias = |k: usize| format!("rows[(row + ROW_BIAS + 3u * header.problem + {k}u) * header.stride + w]");
    let impulse = |k: usize| format!("rows[(row + ROW_IMPULSE + 3u * header.problem + {k}u) * header.stride + w]");
    let scalar_impulse = || "rows[(SCALAR_IMPULSE + header.problem * SCALAR_COUNT + s) * header.stride + w]".to_owned();
    let bound = |k: usize| format!("tables[BOUND_TABLE + 2u * s + {k}u]");
    let named = |list: &'static [&'static str]| from(list.len(), move |k| list[k].to_owned());
    let mut out = String::new();
    for line in text.lines() {
        let Some(name) = line.trim().strip_prefix("//{").and_then(|rest| rest.strip_suffix('}')) else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        out.push_str(&match name {
            "private" => (0..nv).map(|k| format!("var<private> z{k}: f32;\nvar<private> m{k}: f32;\n")).collect(),
            "clear" => (0..nv).map(|k| format!("z{k} = 0.0; m{k} = 0.0;\n")).collect(),
            "keep_z" => (0..nv)
                .map(|k| format!("rows[(Z + header.problem * NV + {k}u) * header.stride + w] = z{k};\n"))
                .collect::<String>(),
            "points" => points(f),
            "choose_points" => choose_points(f),
            "contact_rows" => told(
                &f.contact_rows,
                "contact_rows_",
                &[inputs(&[from(6, |k| format!("contact[(at + {}u) * header.stride + w]", 2 + k))]), moves(l)].concat(),
                |i, x| format!("{} = {x};", row(i)),
            ),
            "contact_targets" => told(
                &f.contact_targets,
                "contact_targets_",
                &inputs(&[named(&["gap", "previous", "free", "mean", "restitution", "fastest", "kick"])]),
                |i, x| format!("{} = {x};", ["target_velocity", "position_velocity"][i]),
            ),
            "first_guess" => told(
                &f.first_guess,
                "first_guess_",
                &inputs(&[named(&["guess.x", "guess.y", "guess.z", "friction"])]),
                |i, x| format!("rows[(row + ROW_IMPULSE + {i}u) * header.stride + w] = {x};"),
            ),
            "sweep_contact" => told(
                &f.sweep_contact,
                "sweep_contact_",
                &inputs(&[
                    from(nv, z),
                    from(3 * nv, |k| row(Layout::ROW_Y + k)),
                    from(3, bias),
                    from(3, impulse),
                    from(6, |k| row(l.row_own() + k)),
                    from(1, |k| row(l.row_friction() + k)),
                ]),
                |i, x| if i < 3 { format!("{} = {x};", impulse(i)) } else { format!("z{} = {x};", i - 3) },
            ),
            "sweep_scalar" => told(
                &f.sweep_scalar,
                "sweep_scalar_",
                &inputs(&[
                    from(nv, z),
                    from(nv, |k| scalar(SCALAR_HEAD + k)),
                    from(1, |_| "bias".into()),
                    from(1, |_| scalar_impulse()),
                    from(1, |_| scalar(1)),
                    from(2, bound),
                ]),
                |i, x| if i == 0 { format!("{} = {x};", scalar_impulse()) } else { format!("z{} = {x};", i - 1) },
            ),
            "add_contact" | "add_scalar" => {
                let contact = name == "add_contact";
                let (y, of) = if contact {
                    (from(3 * nv, |k| row(Layout::ROW_Y + k)), from(3, impulse))
                } else {
                    (from(nv, |k| scalar(SCALAR_HEAD + k)), from(1, |_| scalar_impulse()))
                };
                let program = if contact { &f.add_contact } else { &f.add_scalar };
                told(program, "add_", &inputs(&[from(nv, z), from(nv, m), y, of]), |i, x| {
                    if i < nv { format!("z{i} = {x};") } else { format!("m{} = {x};", i - nv) }
                })
            }
            "check_contact" => told(
                &f.check_contact,
                "check_contact_",
                &inputs(&[
                    from(nv, z),
                    from(nv, m),
                    from(3 * nv, |k| row(Layout::ROW_Y + k)),
                    from(3, bias),
                    from(3, impulse),
                    from(3, |k| row(l.row_own() + k)),
                    from(1, |k| row(l.row_friction() + k)),
                ]),
                |i, x| format!("{} = {x};", ["error", "size"][i]),
            ),
            "check_scalar" => told(
                &f.check_scalar,
                "check_scalar_",
                &inputs(&[
                    from(nv, z),
                    from(nv, m),
                    from(nv, |k| scalar(SCALAR_HEAD + k)),
                    from(1, |_| "bias".into()),
                    from(1, |_| scalar_impulse()),
                    from(1, |_| scalar(1)),
                    from(2, bound),
                ]),
                |i, x| format!("{} = {x};", ["error", "size"][i]),
            ),
            "finish" => told(
                &f.finish,
                "finish_",
                &inputs(&[
                    from(l.nq, state(Layout::Q)),
                    from(l.packed, motion(l.factor())),
                    from(nv, motion(l.inverse_root())),
                    from(nv, motion(l.free_velocity())),
                    from(2 * nv, |k| format!("rows[{}u * header.stride + w]", l.z() + k)),
                    from(l.mean_len(), motion(l.mean_velocity())),
                    from(l.bodies, |k| format!("given[{}u * header.stride + w]", l.mass_scale() + k)),
                    from(l.free_roots.len(), |k| format!("alone{k}")),
                ]),
                |i, x| format!("let new{i} = {x};\nok = ok && finite(new{i});"),
            ),
            "alone" => (0..l.free_roots.len()).map(|k| format!("var alone{k} = select(0.0, 1.0, some);\n")).collect(),
            // what moves one of two bodies moves it against the other
            "not_alone" => (l.root_dofs.iter().enumerate())
                .map(|(k, d)| format!("if (tables[sign + {d}u] != 0.0) {{ alone{k} = 0.0; }}\n"))
                .collect(),
            "fastest" => (l.nq..l.nq + nv).map(|i| format!("speed = max(speed, abs(new{i}));\n")).collect(),
            "write_state" => (0..l.nq + nv).map(|i| format!("state[{i}u * header.stride + w] = new{i};\n")).collect(),
            // a template that names what is not there does not compile as a shader
            other => format!("unknown formula {other}\n"),
        });
    }
    out
}

/// A function for the points of every kind of pair.
fn points(f: &Formulas) -> String {
    let mut out = String::new();
    for (formula, program) in &f.points {
        let pose =
            |geom: &'static str| from(12, move |k| format!("motion[(POSE + 13u * {geom} + {k}u) * header.stride + w]"));
        let shift =
            |body: &'static str| from(6, move |k| format!("motion[(SHIFT + 6u * {body} + {k}u) * header.stride + w]"));
        let reference = |tree: &'static str| {
            from(3, move |k| format!("motion[(REFERENCE + 3u * {tree} + {k}u) * header.stride + w]"))
        };
        let table = |k: usize| format!("tables[pair + {k}u]");
        let inputs = inputs(&[
            pose("a"),
            pose("b"),
            from(6, move |k| table(14 + k)),
            from(1, |_| "threshold".into()),
            from(1, move |_| table(9)),
            from(1, move |_| table(7)),
            shift("u32(tables[pair + 2u])"),
            reference("u32(tables[pair + 4u])"),
            shift("u32(tables[pair + 3u])"),
            reference("u32(tables[pair + 5u])"),
        ]);
        debug_assert_eq!(inputs.len(), POINT_INPUTS);
        let statements = told(program, "x", &inputs, |i, x| format!("found[{i}] = {x};"));
        let _ = writeln!(
            out,
            "fn points_{}(pair: u32, a: u32, b: u32, threshold: f32, w: u32) {{\n{statements}}}",
            formula.number()
        );
    }
    out
}

fn choose_points(f: &Formulas) -> String {
    let case = |(formula, _): &(PointFormula, Program)| {
        let k = formula.number();
        format!("case {k}: {{ points_{k}(pair, a, b, threshold, w); }}\n")
    };
    f.points.iter().map(case).collect()
}
