//! What stands in the templates of `shaders/resident/` where they name a formula.
#![expect(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "texts that are made once for a model read best in one piece"
)]

use super::formulas::{Formulas, LENGTHS, POINT_INPUTS};
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
    let contact_y = |i: usize, d: usize| row(Layout::ROW_Y + nv * i + d);
    let scalar_y = |_: usize, d: usize| scalar(SCALAR_HEAD + d);
    let scalar_bias = |_: usize| "bias".to_owned();
    let of_contact = NewtonRows {
        rows: 3,
        nv,
        y: &contact_y,
        column: &|i| format!("rows[(row + {}u + NV * {i}u + d) * header.stride + w]", Layout::ROW_Y),
        bias: &bias,
        impulse: &impulse,
    };
    let of_scalar = NewtonRows {
        rows: 1,
        nv,
        y: &scalar_y,
        column: &|_| format!("motion[(scalar + {SCALAR_HEAD}u + d) * header.stride + w]"),
        bias: &scalar_bias,
        impulse: &|_| scalar_impulse(),
    };
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
            "clear_system_row" => (0..nv).map(|j| format!("rows[system(i, {j}u, w)] = 0.0;\n")).collect::<String>(),
            "pivot_row" => (0..nv).map(|j| format!("let pivot{j} = rows[system(k, {j}u, w)];\n")).collect(),
            "eliminate_row" => {
                let entry = |j: usize| format!("rows[system(i, {j}u, w)]");
                (0..nv).map(|j| format!("{} = fma(factor, pivot{j}, {});\n", entry(j), entry(j))).collect()
            }
            "contact_law" => {
                of_contact.velocity()
                    + &told(
                        &f.contact_law,
                        "law_",
                        &inputs(&[
                            from(3, |k| format!("u{k}")),
                            from(3, impulse),
                            from(3, |k| row(l.row_own() + k)),
                            from(1, |k| row(l.row_friction() + k)),
                            named(&["delta"]),
                        ]),
                        |i, x| format!("law[{i}] = {x};"),
                    )
            }
            "add_contact_law" => of_contact.add_law(),
            "contact_step" => {
                let mut text = of_contact.step();
                for i in 0..3 {
                    let _ = writeln!(text, "{} = step{i};", row(l.row_newton() + i));
                }
                text
            }
            "contact_merits" => told(
                &f.contact_merits,
                "merits_",
                &inputs(&[
                    from(3, |k| format!("u{k}")),
                    from(3, impulse),
                    from(3, |k| format!("u_step{k}")),
                    from(3, |k| format!("step{k}")),
                    from(3, |k| row(l.row_own() + k)),
                    from(1, |k| row(l.row_friction() + k)),
                ]),
                |i, x| format!("merits[{i}] += {x};"),
            ),
            "scalar_law" => {
                of_scalar.velocity()
                    + &told(
                        &f.scalar_law,
                        "law_",
                        &inputs(&[
                            named(&["u0"]),
                            from(1, |_| scalar_impulse()),
                            from(1, |_| scalar(1)),
                            from(2, bound),
                            named(&["delta"]),
                        ]),
                        |i, x| format!("law[{i}] = {x};"),
                    )
            }
            "add_scalar_law" => of_scalar.add_law(),
            "scalar_step" => of_scalar.step(),
            "scalar_merits" => told(
                &f.scalar_merits,
                "merits_",
                &inputs(&[
                    named(&["u0"]),
                    from(1, |_| scalar_impulse()),
                    named(&["u_step0", "step0"]),
                    from(1, |_| scalar(1)),
                    from(2, bound),
                ]),
                |i, x| format!("merits[{i}] += {x};"),
            ),
            "length" => {
                let lengths = LENGTHS.iter().enumerate();
                lengths.map(|(k, a)| format!("if (best == {k}u) {{ length = {a:e}f; }}\n")).collect()
            }
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

/// The rows of a contact, or one scalar row, as Newton takes them: its law is in `law`, M row by row and then h.
struct NewtonRows<'a> {
    rows: usize,
    nv: usize,
    /// Expression of Y_id, and of b_i.
    y: &'a dyn Fn(usize, usize) -> String,
    bias: &'a dyn Fn(usize) -> String,
    /// Expression of Y_id for a variable d.
    column: &'a dyn Fn(usize) -> String,
    /// Expression of λ_i.
    impulse: &'a dyn Fn(usize) -> String,
}

impl NewtonRows<'_> {
    /// u = b + Yᵀ z
    fn velocity(&self) -> String {
        let mut out = String::new();
        for i in 0..self.rows {
            let sum = (0..self.nv).fold((self.bias)(i), |sum, d| format!("fma({}, z{d}, {sum})", (self.y)(i, d)));
            let _ = writeln!(out, "let u{i} = {sum};");
        }
        out
    }

    /// g = h − M u − λ, what the law lacks at u.
    fn lack(&self) -> String {
        let n = self.rows;
        let mut out = String::new();
        for i in 0..n {
            let lack = format!("law[{}] - {}", n * n + i, (self.impulse)(i));
            let lack = (0..n).fold(lack, |sum, j| format!("fma(-law[{}], u{j}, {sum})", n * i + j));
            let _ = writeln!(out, "let g{i} = {lack};");
        }
        out
    }

    /// right ← right + Y g,  system ← system + Y M Yᵀ
    fn add_law(&self) -> String {
        let (n, nv) = (self.rows, self.nv);
        let mut out = self.lack();
        for i in 0..n {
            for d in 0..nv {
                let _ = writeln!(out, "let y{i}_{d} = {};", (self.y)(i, d));
            }
        }
        // row d of the system: t_j = Σ_i Y_id M_ij
        let _ = writeln!(out, "for (var d = 0u; d < NV; d++) {{");
        for i in 0..n {
            let _ = writeln!(out, "let own{i} = {};", (self.column)(i));
        }
        let right = (0..n).fold("right[d]".to_owned(), |sum, i| format!("fma(own{i}, g{i}, {sum})"));
        let _ = writeln!(out, "right[d] = {right};");
        for j in 0..n {
            let terms: Vec<_> = (0..n).map(|i| format!("own{i} * law[{}]", n * i + j)).collect();
            let _ = writeln!(out, "let t{j} = {};", terms.join(" + "));
        }
        for e in 0..nv {
            let at = format!("rows[system(d, {e}u, w)]");
            let sum = (0..n).fold(at.clone(), |sum, j| format!("fma(t{j}, y{j}_{e}, {sum})"));
            let _ = writeln!(out, "{at} = {sum};");
        }
        out.push_str("}\n");
        out
    }

    /// The changes of velocity Yᵀ Δz and of impulse Δλ = g − M Yᵀ Δz that the system's answer gives.
    fn step(&self) -> String {
        let n = self.rows;
        let mut out = self.lack();
        for i in 0..n {
            let sum =
                (0..self.nv).fold("0.0".to_owned(), |sum, d| format!("fma({}, right[{d}], {sum})", (self.y)(i, d)));
            let _ = writeln!(out, "let u_step{i} = {sum};");
        }
        for i in 0..n {
            let step = (0..n).fold(format!("g{i}"), |sum, j| format!("fma(-law[{}], u_step{j}, {sum})", n * i + j));
            let _ = writeln!(out, "let step{i} = {step};");
        }
        out
    }
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
