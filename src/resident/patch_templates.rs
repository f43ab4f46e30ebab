//! What stands in the templates of `shaders/resident/` about patches, and nothing where contacts are points.
#![expect(clippy::format_collect, reason = "texts that are made once for a model read best in one piece")]

use super::layout::{CONTACT_KIND, CONTACT_LEN, FRICTIONS, Layout, NORMALS, PATCH_OWN, VERTEX};
use super::loops::AT_A_TIME;
use super::newton_templates::keep_law;
use super::patch_formulas::{PatchFormulas, ROWS};
use super::templates::{Taken, from, inputs, moves, told};
use crate::solver::{PATCH_LEN, PATCH_ROWS};

/// What a patch does, which `sweeps` of blocks has too, and where a world has what of it.
const LAW: &str = concat!(
    include_str!("../../shaders/numbers.wgsl"),
    include_str!("../../shaders/patch/ellipsoid.wgsl"),
    include_str!("../../shaders/patch/law.wgsl"),
    include_str!("../../shaders/patch/sweeps.wgsl"),
    include_str!("../../shaders/patch/certificate.wgsl"),
    include_str!("../../shaders/resident/patches.wgsl"),
);
const CONTACTS: &str = include_str!("../../shaders/resident/patch_contacts.wgsl");
const TERMS: &str = include_str!("../../shaders/resident/patch_terms.wgsl");
const PROBLEM: &str = include_str!("../../shaders/resident/patch_problem.wgsl");
const SWEEPS: &str = include_str!("../../shaders/resident/patch_sweeps.wgsl");
const NEWTON: &str = include_str!("../../shaders/resident/patch_newton.wgsl");
const FINISH: &str = include_str!("../../shaders/resident/patch_finish.wgsl");

/// The template of a stage with all that it has about patches: `//{patch_name}` lines become statements.
pub(super) fn with_patches(stage: &str, text: &str, patches: Option<&PatchFormulas>, l: &Layout) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let name = line.trim().strip_prefix("//{patch_").and_then(|rest| rest.strip_suffix('}'));
        match (name, patches) {
            (None, _) => {
                out.push_str(line);
                out.push('\n');
            }
            (Some(_), None) => {}
            (Some("functions"), Some(formulas)) => {
                let own = match stage {
                    "contacts" => CONTACTS.to_owned(),
                    "contact_terms" => format!("{LAW}{TERMS}"),
                    "finish" => format!("{LAW}{FINISH}"),
                    "newton" => format!("{LAW}{PROBLEM}{NEWTON}"),
                    _ => format!("{LAW}{PROBLEM}{SWEEPS}"),
                };
                out.push_str(&with_patches(stage, &own, Some(formulas), l));
            }
            (Some(name), Some(formulas)) => out.push_str(&statements(name, formulas, l)),
        }
    }
    out
}

fn statements(name: &str, f: &PatchFormulas, l: &Layout) -> String {
    let nv = l.nv;
    let row = |k: usize| format!("rows[(row + {k}u) * header.stride + w]");
    let contact = |k: usize| format!("contact[(at + {k}u) * header.stride + w]");
    let vertex = |k: usize, i: usize| contact(if k == 0 { 0 } else { VERTEX + CONTACT_LEN * (k - 1) } + i);
    // of the seven rows of a patch
    let y = |k: usize| if k < 3 * nv { row(Layout::ROW_Y + k) } else { row(l.row_more_y() + k - 3 * nv) };
    let of_row = |own: usize, more: usize| move |i: usize| if i < 3 { own + i } else { more + i - 3 };
    let of_problem = |own: &'static str, more: usize, i: usize| {
        if i < 3 {
            format!("rows[(row + {own} + 3u * header.problem + {i}u) * header.stride + w]")
        } else {
            format!("rows[(row + {}u + {PATCH_ROWS}u * header.problem) * header.stride + w]", more + i - 3)
        }
    };
    let bias = |i: usize| of_problem("ROW_BIAS", l.row_more_bias(), i);
    let impulse = |i: usize| of_problem("ROW_IMPULSE", l.row_more_impulse(), i);
    let (z, m) = (|k: usize| format!("z{k}"), |k: usize| format!("m{k}"));
    let named = |list: &'static [&'static str]| from(list.len(), move |k| list[k].to_owned());
    match name {
        "take" => "if (!guards && tables[pair + 20u] != 0.0) {
            let overlap = take_patch(p, candidates, formula == i32(DISCS) && found[POINTS_LEN] != 0.0, w);
            if (overlap >= 0.0) {
                deepest = max(deepest, overlap);
                candidates++;
            }
            continue;
        }\n"
        .to_owned(),
        "none" => format!("{} = 0.0;\n{} = found[point + 6u];\n", contact(CONTACT_KIND), contact(l.lowest())),
        "settle" => {
            format!("if ({} != 0.0) {{ settle_patch(at, REACH + deepest, w); }}\n", contact(CONTACT_KIND))
        }
        "rows" => {
            let vertices = |i: usize| match (i / 7 + 1, i % 7) {
                (k, 0) => vertex(k, 0),
                (k, i) => vertex(k, i + 1),
            };
            let disc_and_normal =
                |k: usize| if k == 0 { format!("{} - 1.0", contact(CONTACT_KIND)) } else { row(k - 1) };
            let own = inputs(&[from(3 * nv, y), from(3 * 7, vertices), from(4, disc_and_normal)]);
            let all = [own, moves(l)].concat();
            told(&f.rows, "patch_rows_", &all, |i, x| format!("{} = {x};", row(l.row_more_y() + i)))
        }
        "pace" => "if (is_patch(c, w)) {
            for (var i = 0u; i < PATCH_ROWS; i++) {
                fastest = max(fastest, abs(rows[(row + ROW_MORE_FREE + i) * header.stride + w]));
                fastest = max(fastest, abs(rows[(row + ROW_MORE_PREVIOUS + i) * header.stride + w]));
            }
        }\n"
        .to_owned(),
        "ask_terms" => "if (is_patch(c, w)) {
            patch_terms(c, friction, restitution, fastest, kick, remembered, w);
            continue;
        }\n"
        .to_owned(),
        "vertex" => {
            "impulse = vertex_impulse(kept, pair_index, feature, patch_vector(row, w), impulse, w);\n".to_owned()
        }
        "terms" => {
            let velocities = |i: usize| {
                let (own, more) = [
                    (l.row_free(), l.row_more_free()),
                    (l.row_previous(), l.row_more_previous()),
                    (l.row_mean(), l.row_more_mean()),
                ][i / ROWS];
                row(of_row(own, more)(i % ROWS))
            };
            let all = inputs(&[
                from(4, |k| vertex(k, 8)),
                from(2, |k| contact(CONTACT_KIND + 1 + k)),
                from(1, |_| format!("{} - 1.0", contact(CONTACT_KIND))),
                from(3, |k| vertex(k + 1, 0)),
                from(12, |k| vertex(k / 3, 2 + k % 3)),
                from(9, row),
                from(3 * ROWS, velocities),
                named(&["friction", "restitution", "fastest", "kick"]),
                from(4, |k| format!("tables[pair + {}u]", 22 + k)),
                named(&["pressed.x", "pressed.y", "pressed.z", "pressed.w", "slid.x", "slid.y", "slid.z", "turned"]),
            ]);
            told(&f.terms, "patch_terms_", &all, |i, x| match i / ROWS {
                0 => format!("{} = {x};", row(of_row(l.row_bias(), l.row_more_bias())(i))),
                1 => format!("{} = {x};", row(of_row(l.row_bias() + 3, l.row_more_bias() + PATCH_ROWS)(i - ROWS))),
                2 => format!("let guess{} = {x};", i - 2 * ROWS),
                _ => format!("{} = {x};", row(l.row_shape() + i - 3 * ROWS)),
            })
        }
        "ask_add" => "if (is_patch(c, w)) {
            add_patch(row, w);
            continue;
        }\n"
        .to_owned(),
        "ask_check" => "if (is_patch(c, w)) {
            let part = check_patch(row, w);
            let told = part.finite && finite(part.error) && finite(part.magnitude);
            residual = max(residual, select(UNSOLVABLE, part.error, told));
            magnitude = max(magnitude, part.magnitude);
            continue;
        }\n"
        .to_owned(),
        "ask_sweep" => "if (is_patch(c, w)) {
            sweep_patch(row, w);
            continue;
        }\n"
        .to_owned(),
        "add" => {
            let all = inputs(&[from(nv, z), from(nv, m), from(ROWS * nv, y), from(ROWS, impulse)]);
            told(
                &f.add,
                "add_",
                &all,
                |i, x| if i < nv { format!("z{i} = {x};") } else { format!("m{} = {x};", i - nv) },
            )
        }
        "sums" => {
            let all = inputs(&[from(nv, z), from(nv, m), from(ROWS * nv, y), from(ROWS, bias)]);
            told(&f.sums, "sums_", &all, |i, x| {
                if i < ROWS { format!("let u{i} = {x};") } else { format!("let size{} = {x};", i - ROWS) }
            })
        }
        "velocity" => {
            let all = inputs(&[from(nv, z), from(ROWS * nv, y), from(ROWS, bias)]);
            told(&f.velocity, "velocity_", &all, |i, x| format!("let u{i} = {x};"))
        }
        "pushed" => {
            let all = inputs(&[from(nv, z), from(ROWS * nv, y), rows_of("change.normal", "change.friction")]);
            told(&f.pushed, "pushed_", &all, |i, x| format!("z{i} = {x};"))
        }
        "block" => own_block(l),
        "start" => {
            let first = l.row_more_impulse() - l.row_impulse();
            let at = |k: usize| format!("rows[(row + {k}u) * header.stride + w]");
            (first..first + PATCH_ROWS).map(|k| format!("{} = {};\n", at(k + PATCH_ROWS), at(k))).collect()
        }
        // Newton: its rows from row `at` of the tile on
        "load" => format!(
            "if (of_contact >= {}u) {{
                var y = 0.0;
                if (is_patch(c, w)) {{ y = rows[(ROW_LEN * c + {}u + of_contact - {}u) * header.stride + w]; }}
                tile[k - NV * t.first] = y;
                continue;
            }}\n",
            3 * nv,
            l.row_more_y(),
            3 * nv
        ),
        "add_one" => {
            let y = |i: usize| format!("tile[NV * (at + {i}u) + lane]");
            let sums = ["z_own", "m_own"];
            let all = inputs(&[named(&["z_own", "m_own"]), from(ROWS, y), from(ROWS, impulse)]);
            let told = told(&f.add_to_one, "add_patch_", &all, |i, x| format!("{} = {x};", sums[i]));
            format!("if (is_patch(c, w)) {{\n{told}continue;\n}}\n")
        }
        "check_in_tile" => "if (is_patch(c, w)) {
            let part = check_patch(row, contact_row(t, c), w);
            let told = part.finite && finite(part.error) && finite(part.magnitude);
            worst = max(worst, select(UNSOLVABLE, part.error, told));
            magnitude = max(magnitude, part.magnitude);
            continue;
        }\n"
        .to_owned(),
        "step_in_tile" => "if (is_patch(c, w)) {
            if (phase == 0u || several_tiles) { law_of_patch(row, at, delta, w); }
            if (phase == 1u) { step_patch(row, at, w); }
            continue;
        }\n"
        .to_owned(),
        "sweep_in_tile" => "if (is_patch(c, w)) {
            sweep_patch(row, contact_row(t, c), w);
            continue;
        }\n"
        .to_owned(),
        "go_back" => format!(
            "if (is_patch(c, w)) {{
                for (var i = 0u; i < PATCH_ROWS; i++) {{
                    let at = (row + ROW_MORE_IMPULSE + PATCH_ROWS * header.problem + i) * header.stride + w;
                    rows[at] = between(rows[(row + {}u + i) * header.stride + w], rows[at], length);
                }}
            }}\n",
            l.row_more_newton()
        ),
        "diagonal" => {
            let own = |i: usize| {
                let at = PATCH_OWN.iter().position(|own| *own == (i, i)).unwrap_or(PATCH_OWN.len());
                format!("patch_number(row + {}u, w)", l.row_more_own() + at)
            };
            let (normal, tangential) = (NORMALS.map(own).join(", "), FRICTIONS.map(own).join(", "));
            format!("let normal = vec4({normal});\nlet tangential = vec3({tangential});\n")
        }
        "felt" => by_dofs(nv, |d| {
            format!(
                "normal = fma(patch_normal_y(at, {d}), vec4(z[{d}]), normal);
                friction = fma(patch_friction_y(at, {d}), vec3(z[{d}]), friction);
                normal_terms = fma(abs(patch_normal_y(at, {d})), vec4(m[{d}]), normal_terms);
                friction_terms = fma(abs(patch_friction_y(at, {d})), vec3(m[{d}]), friction_terms);\n"
            )
        }),
        "felt_step" => by_dofs(nv, |d| {
            format!(
                "normal = fma(patch_normal_y(at, {d}), vec4(answer[{d}]), normal);
                friction = fma(patch_friction_y(at, {d}), vec3(answer[{d}]), friction);\n"
            )
        }),
        "pushed_in_tile" => by_dofs(nv, |d| {
            format!(
                "z[{d}] += dot(patch_normal_y(at, {d}), change.normal) + dot(patch_friction_y(at, {d}), change.friction);\n"
            )
        }),
        "law" => {
            let all = inputs(&[
                rows_of("felt.normal", "felt.friction"),
                from(ROWS, impulse),
                rows_of("own.normal", "own.tangential"),
                from(PATCH_LEN, |k| row(l.row_shape() + k)),
                named(&["own.slope", "held"]),
            ]);
            told(&f.law, "law_", &all, |i, x| format!("let law{i} = {x};"))
        }
        "keep_law" => {
            let number = |i: usize, j: usize| format!("law{}", (ROWS + 1) * i + j);
            (0..ROWS).map(|i| keep_law(l.law_quads(), i, |j| Some(number(i, j)))).collect()
        }
        "step" => (0..ROWS)
            .map(|i| {
                let (law, kept) =
                    (format!("laws[2u * (at + {i}u)"), row(of_row(l.row_newton(), l.row_more_newton())(i)));
                format!(
                    "let before{i} = {};\n{kept} = before{i};\n\
                     {} = before{i} - dot({law}], felt_a) - dot({law} + 1u], felt_b);\n",
                    impulse(i),
                    impulse(i)
                )
            })
            .collect(),
        "keep" => "if (is_patch(c, w)) {
            keep_patch(c, kept, w);
            row_count += PATCH_ROWS;
        }\n"
        .to_owned(),
        // a template that names what is not there does not compile as a shader
        other => format!("unknown formula of patches {other}\n"),
    }
}

/// The rows of a patch out of a vector of its normals and one of its friction.
fn rows_of(normal: &'static str, friction: &'static str) -> Taken<'static> {
    from(ROWS, move |i| match (NORMALS.iter().position(|k| *k == i), FRICTIONS.iter().position(|k| *k == i)) {
        (Some(k), _) => format!("{normal}.{}", ["x", "y", "z", "w"][k]),
        (None, k) => format!("{friction}.{}", ["x", "y", "z"][k.unwrap_or_default()]),
    })
}

/// A statement for every degree of freedom in turn, in a loop of [`AT_A_TIME`].
fn by_dofs(nv: usize, statement: impl Fn(&str) -> String) -> String {
    let whole = nv / AT_A_TIME * AT_A_TIME;
    let several: String = (0..AT_A_TIME).map(|k| statement(&format!("d + {k}u"))).collect();
    let all = format!("for (var d = 0u; d < {whole}u; d += {AT_A_TIME}u) {{\n{several}}}\n");
    let rest = (whole..nv).map(|d| statement(&format!("{d}u")));
    let all = if whole > 0 { all } else { String::new() };
    all + &rest.collect::<String>()
}

/// W of a patch's own, from the half of it that is kept.
fn own_block(l: &Layout) -> String {
    let entry = |i: usize, j: usize| {
        let at = PATCH_OWN.iter().position(|own| *own == (i, j) || *own == (j, i)).unwrap_or(PATCH_OWN.len());
        format!("own{at}")
    };
    let block = |name: &str, rows: &[usize], columns: &[usize]| {
        let entries: Vec<_> = columns.iter().flat_map(|j| rows.iter().map(|i| entry(*i, *j))).collect();
        format!("{name}({})", entries.join(", "))
    };
    let loads: String = (0..PATCH_OWN.len())
        .map(|k| format!("let own{k} = patch_number(row + {}u, w);\n", l.row_more_own() + k))
        .collect();
    let (normal, friction) = (block("mat4x4", &NORMALS, &NORMALS), block("mat3x3", &FRICTIONS, &FRICTIONS));
    let mixed = block("mat4x3", &FRICTIONS, &NORMALS);
    format!("{loads}return PatchBlock({normal}, {mixed}, {friction});\n")
}
