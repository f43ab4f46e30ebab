//! What stands in the template of Newton, whose invocations share a world: Y and z lie in workgroup memory.
#![expect(clippy::format_collect, reason = "texts that are made once for a model read best in one piece")]

use super::formulas::Formulas;
use super::layout::Layout;
use super::loops::{most_rows, newton_turns};
use super::templates::{from, inputs, told, with_statements};
use super::tile::CONTACT_OWN;

/// The template with its formulas: `//{newton_name}` lines become statements.
pub(super) fn with_newton(text: &str, f: &Formulas, l: &Layout) -> String {
    with_statements(text, "newton_", |name| statements(name, f, l))
}

fn statements(name: &str, f: &Formulas, l: &Layout) -> String {
    let (nv, rows, quads) = (l.nv, l.contact_rows(), l.law_quads());
    let last = 4 * quads - 1;
    // of a contact at component `row` of `rows`, whose numbers begin in the workgroup at `own`, and of a scalar row, whose numbers begin there at `scalar`; both in the tile at `at`
    let number = |k: usize| numbers_of_contact(l)[k].clone();
    let [bias, impulse, own, kept] = [0, 3, 6, 13].map(|first| move |k: usize| number(first + k));
    let friction = |_: usize| number(12);
    let scalar = |k: usize| format!("scalar_own[scalar + {k}u]");
    let scalar_bias = || scalar(0);
    let scalar_impulse = || scalar(1);
    let scalar_weight = || scalar(2);
    let bound = |k: usize| scalar(3 + k);
    let shared = |array: &'static str| move |k: usize| format!("{array}[{k}u]");
    let y = |k: usize| format!("tile[at + {k}u]");
    // of the invocation that sweeps
    let z = |k: usize| if l.patches { format!("z[{k}u]") } else { format!("z{k}") };
    let three = |k: &dyn Fn(usize) -> String| format!("vec3<f32>({}, {}, {})", k(0), k(1), k(2));
    let axis = |vector: &'static str| from(3, move |k| format!("{vector}.{}", ["x", "y", "z"][k]));
    let named = |list: &'static [&'static str]| from(list.len(), move |k| list[k].to_owned());
    let law = |i: usize, x: &str| format!("law[{i}] = {x};");
    let each = |line: &dyn Fn(usize) -> String| (0..nv).map(|d| line(d) + "\n").collect::<String>();
    match name {
        "add_contact" => {
            let all = inputs(&[named(&["z_own", "m_own"]), axis("y"), from(3, impulse)]);
            told(&f.add_contact_to_one, "add_", &all, |i, x| format!("{} = {x};", ["z_own", "m_own"][i]))
        }
        "add_scalar" => {
            let all = inputs(&[named(&["z_own", "m_own", "y"]), from(1, |_| scalar_impulse())]);
            told(&f.add_scalar_to_one, "add_", &all, |i, x| format!("{} = {x};", ["z_own", "m_own"][i]))
        }
        "check_contact" => {
            let of_row = [from(3, bias), from(3, impulse), from(3, own), from(1, friction)];
            let shared = [from(nv, shared("z")), from(nv, shared("m")), from(3 * nv, y)];
            let all = [inputs(&shared), inputs(&of_row)].concat();
            told(&f.check_contact, "check_", &all, |i, x| format!("{} = {x};", ["error", "terms"][i]))
        }
        "check_scalar" => {
            let all = inputs(&[
                from(nv, shared("z")),
                from(nv, shared("m")),
                from(nv, y),
                from(1, |_| scalar_bias()),
                from(1, |_| scalar_impulse()),
                from(1, |_| scalar_weight()),
                from(2, bound),
            ]);
            told(&f.check_scalar, "check_", &all, |i, x| format!("{} = {x};", ["error", "terms"][i]))
        }
        "sweep_contact" => {
            let of_row = [from(3, bias), from(3, impulse), from(6, own), from(1, friction)];
            let all = [inputs(&[from(nv, z), from(3 * nv, y)]), inputs(&of_row)].concat();
            told(&f.project_contact, "sweep_", &all, |i, x| match i.checked_sub(3) {
                None => format!("{} = {x};", impulse(i)),
                Some(d) => format!("{} = {x};", z(d)),
            })
        }
        "sweep_scalar" => {
            let of_row = [
                from(1, |_| scalar_bias()),
                from(1, |_| scalar_impulse()),
                from(1, |_| scalar_weight()),
                from(2, bound),
            ];
            let all = [inputs(&[from(nv, z), from(nv, y)]), inputs(&of_row)].concat();
            told(&f.sweep_scalar, "sweep_", &all, |i, x| match i.checked_sub(1) {
                None => format!("{} = {x};", scalar_impulse()),
                Some(d) => format!("{} = {x};", z(d)),
            })
        }
        "contact_law" => {
            let all = inputs(&[axis("u"), axis("impulse"), from(3, own), from(1, friction), named(&["delta"])]);
            told(&f.contact_law, "law_", &all, law)
        }
        "scalar_law" => {
            let own = [named(&["u", "impulse"]), from(1, |_| scalar_weight()), from(2, bound), named(&["delta"])];
            told(&f.scalar_law, "law_", &inputs(&own), law)
        }
        // patches are swept in loops over z; what they are asked for, of which there is more, is read where it is
        "take_z" | "own" | "own_at" | "bring_own" | "keep_own" | "keep_own_at_last" if l.patches => String::new(),
        "own" => "// of every contact in the tile b, lambda, W of its own, friction, and lambda before a step\n\
                  var<workgroup> contact_own: array<f32, CONTACT_OWN * TILE_CONTACTS>;\n"
            .to_owned(),
        "own_at" => "let own = CONTACT_OWN * (c - t.contacts.x);\n".to_owned(),
        "bring_own" => {
            let (here, there) = (numbers_of_contact(l), numbers_in_rows(l));
            let brought = here.iter().zip(&there).map(|(here, there)| format!("{here} = {there};\n"));
            over_contacts(&brought.collect::<String>())
        }
        "keep_own" => format!(
            "if (*loaded < row_count(size)) {{\nlet before = tile_of(*loaded, size);\n{}}}\n",
            over_contacts(&changed(l)).replace("t.contacts", "before.contacts")
        ),
        "keep_own_at_last" => format!(
            "if (loaded < row_count(size)) {{\nlet t = tile_of(loaded, size);\n{}}}\n",
            over_contacts(&changed(l))
        ),
        "impulse" => format!("let impulse = {};\n", three(&impulse)),
        "bias" => format!("var u = {};\n", three(&bias)),
        "take_step" => {
            let moved = (0..3).map(|i| {
                let (axis, at) = (["x", "y", "z"][i], format!("laws[{quads}u * (at + {i}u)"));
                let step = format!("({at} + {}u].w - dot({at}].xyz, u_step))", quads - 1);
                format!("{} = impulse.{axis};\n{} = impulse.{axis} + {step};\n", kept(i), impulse(i))
            });
            let felt = "u_step = fma(contact_y(at, d), vec3<f32>(answer[d]), u_step);";
            let felt = format!("var u_step = vec3<f32>(0.0);\nfor (var d = 0u; d < NV; d++) {{ {felt} }}\n");
            felt + &moved.collect::<String>()
        }
        "go_back" => {
            let back = |k: usize| format!("{} = between({}, {}, length);\n", impulse(k), kept(k), impulse(k));
            (0..3).map(back).collect()
        }
        "barrier" if l.patches => "workgroupBarrier();\nstorageBarrier();\n".to_owned(),
        "barrier" => "workgroupBarrier();\n".to_owned(),
        "turns" => {
            let turns = |rows: usize| newton_turns(l, rows);
            let fewer = (1..=most_rows(l)).filter(|rows| turns(*rows) != turns(rows - 1));
            let fewer = fewer.map(|rows| format!("if (row_count(size) >= {rows}u) {{ turns = {}u; }}\n", turns(rows)));
            format!("var turns = {}u;\n{}", turns(0), fewer.collect::<String>())
        }
        // M and g of a row lie in as many vectors of four as they fill, g last; rows that a contact has not are zero
        "push_contact" => {
            let y = |row: usize| if row < rows { format!("tile[NV * (at + {row}u) + column]") } else { "0.0".into() };
            let columns = (0..quads).map(|q| {
                let last = if q + 1 == quads { "RIGHT" } else { "vec4<f32>(0.0)" };
                let four = [0, 1, 2, 3].map(|k| y(4 * q + k)).join(", ");
                format!("let y{q} = select(vec4<f32>({four}), {last}, right);\n")
            });
            let pushed = (0..rows).map(|i| {
                let products = (0..quads).map(|q| format!("dot(laws[{quads}u * (at + {i}u) + {q}u], y{q})"));
                format!("let pushed{i} = {};\n", products.collect::<Vec<_>>().join(" + "))
            });
            columns.chain(pushed).collect()
        }
        "keep_law" => {
            let number = |i: usize, j: usize| match j {
                _ if i >= 3 => None,
                0..3 => Some(format!("law[{}]", 3 * i + j)),
                _ => (j == last).then(|| format!("lack.{}", ["x", "y", "z"][i])),
            };
            (0..rows).map(|i| keep_law(quads, i, |j| number(i, j))).collect()
        }
        "keep_scalar_law" => keep_law(quads, 0, |j| match j {
            0 => Some("law[0]".to_owned()),
            _ => (j == last).then(|| "lack".to_owned()),
        }),
        // a column of the system
        "clear_system" => each(&|d| format!("column{d} = select(0.0, 1.0, lane == {d}u);")),
        "add_contact_column" => each(&|d| {
            let y = |i: usize| format!("tile[NV * at + {}u]", nv * i + d);
            let sum = (0..rows).fold(format!("column{d}"), |sum, i| format!("fma({}, pushed{i}, {sum})", y(i)));
            format!("column{d} = {sum};")
        }),
        "add_scalar_column" => each(&|d| format!("column{d} = fma(tile[NV * at + {d}u], pushed, column{d});")),
        "take_z" => each(&|k| format!("z{k} = z[{k}u];")),
        // a template that names what is not there does not compile as a shader
        other => format!("unknown formula of Newton {other}\n"),
    }
}

/// The template of the elimination for so many unknowns.
pub(super) fn with_columns(text: &str, nv: usize) -> String {
    let each = |line: &dyn Fn(usize) -> String| (0..nv).map(|d| line(d) + "\n").collect::<String>();
    let component = |k: usize| ["x", "y", "z", "w"][k % 4];
    let column = each(&|d| format!("var<private> column{d}: f32;"));
    let number = |d: usize| if d < nv { format!("column{d}") } else { "0.0".to_owned() };
    let quads = (0..nv.div_ceil(4)).map(|q| {
        let four = [0, 1, 2, 3].map(|k| number(4 * q + k)).join(", ");
        format!("pivots[first + {q}u] = vec4<f32>({four});\n")
    });
    let clear = (1..nv).map(|d| {
        let pivot = format!("pivots[first + {}u].{}", d / 4, component(d));
        format!("column{} = fma(-{pivot}, factor, column{d});\n", d - 1)
    });
    let clear = clear.collect::<String>() + &format!("column{} = factor;\n", nv - 1);
    text.replace("//{column}\n", &column)
        .replace("//{tell_column}\n", &quads.collect::<String>())
        .replace("//{clear_column}\n", &clear)
        .replace("//{tell_answer}\n", &each(&|d| format!("answer[{d}u] = column{d};")))
}

/// The numbers of a contact that Newton asks for, where they lie in `rows`: b, λ, W of its own, friction, and λ before a step.
fn numbers_in_rows(l: &Layout) -> Vec<String> {
    let of_problem =
        |first: &str, k: usize| format!("rows[(row + {first} + 3u * header.problem + {k}u) * header.stride + w]");
    let row = |k: usize| format!("rows[(row + {k}u) * header.stride + w]");
    let mut all: Vec<String> =
        ["ROW_BIAS", "ROW_IMPULSE"].iter().flat_map(|a| [0, 1, 2].map(|k| of_problem(a, k))).collect();
    all.extend((0..6).map(|k| row(l.row_own() + k)));
    all.push(row(l.row_friction()));
    all.extend((0..3).map(|k| row(l.row_newton() + k)));
    all
}

/// And where they lie while a world is solved: in the memory of the workgroup, unless contacts may be patches.
fn numbers_of_contact(l: &Layout) -> Vec<String> {
    if l.patches { numbers_in_rows(l) } else { (0..CONTACT_OWN).map(|k| format!("contact_own[own + {k}u]")).collect() }
}

/// Those that change go back to `rows`.
fn changed(l: &Layout) -> String {
    let (here, there) = (numbers_of_contact(l), numbers_in_rows(l));
    [3, 4, 5, 13, 14, 15].map(|k| format!("{} = {};\n", there[k], here[k])).concat()
}

/// The statements for every contact of a tile, each of which is an invocation's.
fn over_contacts(statements: &str) -> String {
    format!(
        "for (var c = t.contacts.x + lane; c < t.contacts.y; c += LANES) {{\nlet row = ROW_LEN * c;\n\
         let own = CONTACT_OWN * (c - t.contacts.x);\n{statements}}}\n"
    )
}

/// Statements that keep M and, last, g of row `i` of what begins at row `at` of the tile, none being zero.
pub(super) fn keep_law(quads: usize, i: usize, number: impl Fn(usize) -> Option<String>) -> String {
    let number = |j: usize| number(j).unwrap_or_else(|| "0.0".to_owned());
    let quad = |q: usize| [0, 1, 2, 3].map(|k| number(4 * q + k)).join(", ");
    (0..quads).map(|q| format!("laws[{quads}u * (at + {i}u) + {q}u] = vec4<f32>({});\n", quad(q))).collect()
}
