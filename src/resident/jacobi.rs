//! Projected Jacobi where W is never formed: its formulas, and what stands in the templates of `shaders/resident/` about it, nothing where Gauss-Seidel sweeps.
//!
//! Every row is updated from z as it was before the sweep, z' = z + Y (λ' − λ), with the steps that `jacobi` of the batched solver takes: 1/D_i with D_i = Σ_j |W_ij|, which bounds W
//! whatever touches. W_ij = y_i · y_j, so the sums cost as much as some tens of sweeps; they are the same in all sweeps of both problems, and the stage `row_sums` makes them once a step, with an
//! invocation for every row.

use super::formulas::{contact_velocity, dot, law, parts, pushed, scalar_update};
use super::layout::{Layout, SCALAR_HEAD};
use super::templates::{from, inputs, told};
use crate::lane::{Program, Real, record};
use crate::solver::LAW_CONE;
use crate::solver::formulas::{inverse, update_contact};
use crate::step::Plan;

/// The recorded formulas.
#[derive(Debug)]
pub(super) struct Jacobi {
    /// One update: z of before the sweep, z that the updates so far lead to, and a row or contact → λ and the latter.
    pub contact: Program,
    pub scalar: Program,
    /// D_i so far, Y of row i, and Y of a contact or scalar row j → D_i.
    pub contact_sum: Program,
    pub scalar_sum: Program,
}

impl Jacobi {
    pub fn new(plan: &Plan, layout: &Layout) -> Self {
        let (nv, compliance) = (layout.nv, plan.settings.compliance);
        let law = law(plan);
        Self {
            contact: record(5 * nv + 10, |x| contact(law, compliance, nv, x)),
            scalar: record(3 * nv + 5, |x| scalar(nv, x)),
            contact_sum: record(1 + 4 * nv, |x| add_sum(nv, 3, x)),
            scalar_sum: record(1 + 2 * nv, |x| add_sum(nv, 1, x)),
        }
    }
}

/// z, z', Y, b, λ, D and μ → λ and z'. As `jacobi` of the CPU has it.
fn contact<R: Real>(law: u32, compliance: f64, nv: usize, x: &[R]) -> Vec<R> {
    let [z, next, y, bias, old, sum, friction] = parts(x, [nv, nv, 3 * nv, 3, 3, 3, 1]);
    let u = contact_velocity(compliance, z, y, bias, old);
    // λ_n ← max(0, λ_n − u_n/D_n); cone: λ_t ← disc(λ_t − u_t/max(D_1, D_2), μ λ_n); box: λ_t ← clamp(λ_t − u_t/D_t, ±μ λ_n)
    let steps = if law == LAW_CONE {
        let step = inverse(sum[1].max(sum[2]));
        [inverse(sum[0]), step, step]
    } else {
        [0, 1, 2].map(|i| inverse(sum[i]))
    };
    // the rows of a contact do not see each other's changes either
    let apart = [[R::zero(); 3]; 3];
    let new = update_contact(law, u, [old[0], old[1], old[2]], &apart, steps, friction[0]);
    let mut out = new.to_vec();
    out.extend(pushed(next, y, &new, old));
    out
}

/// z, z', Y, b, λ, D and bounds → λ and z'.
fn scalar<R: Real>(nv: usize, x: &[R]) -> Vec<R> {
    let [z, next, y, rest] = parts(x, [nv, nv, nv, 5]);
    let &[bias, old, sum, lower, upper] = rest else { return Vec::new() };
    let new = scalar_update(bias + dot(y, z), old, sum, [lower, upper]);
    let mut out = vec![new];
    out.extend(pushed(next, y, &[new], &[old]));
    out
}

/// D, Y of a row, and Y of some others → D + Σ |W_ij|.
fn add_sum<R: Real>(nv: usize, rows: usize, x: &[R]) -> Vec<R> {
    let [sum, own, others] = parts(x, [1, nv, rows * nv]);
    vec![others.chunks_exact(nv).fold(sum[0], |sum, y| sum + dot(own, y).abs())]
}

/// A template with all that it has about Jacobi: `//{jacobi_name}` lines become statements, and so do the updates of its sweeps.
pub(super) fn with_jacobi(text: &str, jacobi: Option<&Jacobi>, l: &Layout) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let name = line.trim().strip_prefix("//{").and_then(|rest| rest.strip_suffix('}'));
        let own = name.and_then(|name| name.strip_prefix("jacobi_"));
        let swept = name.filter(|name| name.starts_with("sweep_"));
        match (own.or(swept), jacobi) {
            (Some(name), Some(jacobi)) => out.push_str(&statements(name, jacobi, l)),
            _ if own.is_some() => {}
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

fn statements(name: &str, f: &Jacobi, l: &Layout) -> String {
    let nv = l.nv;
    // of a contact at component `row` of `rows`, and of a scalar row at component `scalar` of `motion`
    let row = |k: usize| format!("rows[(row + {k}u) * header.stride + w]");
    let scalar = |k: usize| format!("motion[(scalar + {k}u) * header.stride + w]");
    let bias = |k: usize| format!("rows[(row + ROW_BIAS + 3u * header.problem + {k}u) * header.stride + w]");
    let impulse = |k: usize| format!("rows[(row + ROW_IMPULSE + 3u * header.problem + {k}u) * header.stride + w]");
    let scalar_impulse = || "rows[(SCALAR_IMPULSE + header.problem * SCALAR_COUNT + s) * header.stride + w]".to_owned();
    let bound = |k: usize| format!("tables[BOUND_TABLE + 2u * s + {k}u]");
    let contact_y = || from(3 * nv, |k| row(Layout::ROW_Y + k));
    let scalar_y = || from(nv, |k| scalar(SCALAR_HEAD + k));
    let (z, next, own) = (|k: usize| format!("z{k}"), |k: usize| format!("next{k}"), |k: usize| format!("own{k}"));
    let each = |line: &dyn Fn(usize) -> String| (0..nv).map(|d| line(d) + "\n").collect::<String>();
    match name {
        "private" => each(&|k| format!("var<private> next{k}: f32;")),
        "begin" => each(&|k| format!("next{k} = z{k};")),
        "end" => each(&|k| format!("z{k} = next{k};")),
        "sweep_contact" => {
            let all = inputs(&[
                from(nv, z),
                from(nv, next),
                contact_y(),
                from(3, bias),
                from(3, impulse),
                from(3, |k| row(l.row_newton() + k)),
                from(1, |k| row(l.row_friction() + k)),
            ]);
            told(&f.contact, "jacobi_", &all, |i, x| match i.checked_sub(3) {
                None => format!("{} = {x};", impulse(i)),
                Some(d) => format!("next{d} = {x};"),
            })
        }
        "sweep_scalar" => {
            let all = inputs(&[
                from(nv, z),
                from(nv, next),
                scalar_y(),
                from(1, |_| "bias".into()),
                from(1, |_| scalar_impulse()),
                from(1, |_| "rows[(SCALAR_NEWTON + s) * header.stride + w]".into()),
                from(2, bound),
            ]);
            told(&f.scalar, "jacobi_", &all, |i, x| match i.checked_sub(1) {
                None => format!("{} = {x};", scalar_impulse()),
                Some(d) => format!("next{d} = {x};"),
            })
        }
        "own" => each(&|d| format!("var own{d}: f32;")),
        "own_contact" => each(&|d| format!("own{d} = {};", row(d))),
        "own_scalar" => each(&|d| format!("own{d} = {};", scalar(SCALAR_HEAD + d))),
        "add_contact" | "add_scalar" => {
            let (program, y) =
                if name == "add_contact" { (&f.contact_sum, contact_y()) } else { (&f.scalar_sum, scalar_y()) };
            let all = inputs(&[from(1, |_| "sum".into()), from(nv, own), y]);
            told(program, "sum_", &all, |_, x| format!("sum = {x};"))
        }
        // a template that names what is not there does not compile as a shader
        other => format!("unknown formula of Jacobi {other}\n"),
    }
}
