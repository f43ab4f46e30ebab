//! Worlds of few rows, whose W fits the registers of an invocation: its formulas, and what stands in the template of `shaders/resident/small_sweeps.wgsl`.
//!
//! A sweep through z = Y λ reads Y of every row. W = Y Yᵀ of few rows is formed once, which is as much work as some sweeps, and a sweep then reads nothing: there may be many more before Newton has to
//! follow.

#![expect(clippy::format_collect, reason = "texts that are made once for a model read best in one piece")]

use super::formulas::{contact_constants, contact_update, dot, law, scalar_update};
use super::layout::{Layout, SCALAR_HEAD};
use super::templates::{from, inputs, told, with_statements};
use crate::lane::{Program, Real, Recorded, record};
use crate::solver::LAW_CONE;
use crate::solver::formulas::{contact_residual, row_residual};
use crate::step::Plan;
use std::fmt::Write;
use std::iter;

/// Most contacts and scalar rows of such a world: 171 numbers of W, and some 80 beside them, where an invocation has 255 registers.
const CONTACTS: usize = 4;
const SCALARS: usize = 6;
/// Rounds of sweeps at most, with a look at the residual behind each: of all such worlds, and of those that are not solved then.
const ROUNDS: [usize; 2] = [3, 5];
/// Pairs of geoms of a model whose worlds are mostly so small: with more, all wait for few.
const PAIRS: usize = 16;
/// The residual that is enough, as a share of the tolerance: W is rounded otherwise than Y.
pub(super) const ENOUGH: f64 = 0.9;

/// Those rounds, as far as the settings allow so many sweeps.
pub(super) fn rounds_of_small_sweeps(plan: &Plan) -> [usize; 2] {
    let settings = &plan.settings;
    let mut left = settings.iterations.div_ceil(settings.check_every.max(1)) as usize;
    ROUNDS.map(|rounds| {
        let rounds = rounds.min(left);
        left -= rounds;
        rounds
    })
}

/// The recorded formulas, one for every row or contact, which takes what [`Rows`] has.
#[derive(Debug)]
pub(super) struct Small {
    /// Contacts and scalar rows that there is room for.
    pub contacts: usize,
    pub scalars: usize,
    /// Of every contact: W → what its updates take of it, and how many numbers that is.
    pub constants: Vec<Program>,
    constant_count: usize,
    /// Own: μ and those → λ of the contact.
    pub sweep_contact: Vec<Program>,
    /// Own: bounds → λ of the row.
    pub sweep_scalar: Vec<Program>,
    /// Own: μ, or bounds → the residual.
    pub check_contact: Vec<Program>,
    pub check_scalar: Vec<Program>,
    /// On the diagonal of W where a contact is normal.
    pub compliance: f32,
}

/// W, its upper triangle row by row, b and λ of all rows, those of contacts first; and what is a row's own.
struct Rows<'a, R> {
    n: usize,
    w: &'a [R],
    bias: &'a [R],
    impulse: &'a [R],
    own: &'a [R],
}

/// Numbers of the upper triangle of n rows.
pub(super) fn packed(n: usize) -> usize {
    n * (n + 1) / 2
}

/// Where W_ij stands in it.
pub(super) fn place(n: usize, i: usize, j: usize) -> usize {
    let (i, j) = (i.min(j), i.max(j));
    i * n - packed(i) + j
}

/// The block of W of a contact.
fn own_block<R: Real>(n: usize, c: usize, w: &[R]) -> [[R; 3]; 3] {
    [0, 1, 2].map(|i| [0, 1, 2].map(|j| w[place(n, 3 * c + i, 3 * c + j)]))
}

impl<'a, R: Real> Rows<'a, R> {
    fn of(n: usize, x: &'a [R]) -> Self {
        let (w, rest) = x.split_at(packed(n));
        let (bias, rest) = rest.split_at(n);
        let (impulse, own) = rest.split_at(n);
        Self { n, w, bias, impulse, own }
    }

    fn w(&self, i: usize, j: usize) -> R {
        self.w[place(self.n, i, j)]
    }

    /// u = b + W λ
    fn velocity(&self, i: usize) -> R {
        let row: Vec<R> = (0..self.n).map(|j| self.w(i, j)).collect();
        self.bias[i] + dot(&row, self.impulse)
    }

    /// Velocity, impulse and own block of a contact.
    fn contact(&self, c: usize) -> ([R; 3], [R; 3], [[R; 3]; 3]) {
        let rows = [3 * c, 3 * c + 1, 3 * c + 2];
        let impulse = rows.map(|i| self.impulse[i]);
        (rows.map(|i| self.velocity(i)), impulse, own_block(self.n, c, self.w))
    }

    fn sweep_contact(&self, law: u32, c: usize) -> Vec<R> {
        let (u, old, own) = self.contact(c);
        contact_update(law, &own, &self.own[1..], self.own[0], u, old).to_vec()
    }

    fn check_contact(&self, law: u32, c: usize) -> Vec<R> {
        let (u, impulse, own) = self.contact(c);
        vec![contact_residual(law, u, impulse, [own[0][0], own[1][1], own[2][2]], self.own[0])]
    }

    fn sweep_scalar(&self, i: usize) -> Vec<R> {
        vec![scalar_update(self.velocity(i), self.impulse[i], self.w(i, i), [self.own[0], self.own[1]])]
    }

    fn check_scalar(&self, i: usize) -> Vec<R> {
        vec![row_residual(self.velocity(i), self.impulse[i], self.w(i, i), self.own[0], self.own[1])]
    }
}

impl Small {
    /// Of a model of which a world may have so few rows, and whose sweeps Newton follows; its contacts are points.
    pub fn new(plan: &Plan, layout: &Layout, newton: bool) -> Option<Self> {
        let fits = layout.pairs.len() <= PAIRS && layout.always_acting() <= SCALARS;
        let something = !layout.pairs.is_empty() || layout.scalar_rows() > 0;
        if !newton || !fits || !something || layout.patches || layout.jacobi {
            return None;
        }
        let (contacts, scalars) = (CONTACTS.min(layout.capacity), SCALARS.min(layout.scalar_rows()));
        let (law, n) = (law(plan), 3 * contacts + scalars);
        let each = |count: usize, own: usize, formula: &dyn Fn(&Rows<'_, Recorded>, usize) -> Vec<Recorded>| {
            let one = |k| record(packed(n) + 2 * n + own, |x| formula(&Rows::of(n, x), k));
            (0..count).map(one).collect()
        };
        let mut constant_count = 0;
        let constants = |c: usize| {
            record(packed(n), |w| {
                let constants = contact_constants(law, law == LAW_CONE, &own_block(n, c, w));
                constant_count = constants.len();
                constants
            })
        };
        let constants = (0..contacts).map(constants).collect();
        Some(Self {
            contacts,
            scalars,
            constants,
            constant_count,
            sweep_contact: each(contacts, 1 + constant_count, &|rows, c| rows.sweep_contact(law, c)),
            sweep_scalar: each(scalars, 2, &|rows, s| rows.sweep_scalar(3 * contacts + s)),
            check_contact: each(contacts, 1, &|rows, c| rows.check_contact(law, c)),
            check_scalar: each(scalars, 2, &|rows, s| rows.check_scalar(3 * contacts + s)),
            compliance: plan.settings.compliance as f32,
        })
    }

    pub fn rows(&self) -> usize {
        3 * self.contacts + self.scalars
    }
}

/// The template of the shader with its formulas: `//{small_name}` lines become statements. Rows of contacts and scalar rows that a world does not have are passed over.
pub(super) fn with_small(text: &str, small: &Small) -> String {
    with_statements(text, "small_", |name| statements(name, small))
}

fn statements(name: &str, small: &Small) -> String {
    let (n, scalars) = (small.rows(), small.scalars);
    // of contact c, and of the scalar row in place s
    let row = |c: usize, k: &str| format!("rows[(ROW_LEN * {c}u + {k}) * header.stride + w]");
    let scalar = |s: usize, k: &str| format!("motion[(SCALAR + SCALAR_LEN * row{s} + {k}) * header.stride + w]");
    let scalar_impulse =
        |s: usize| format!("rows[(SCALAR_IMPULSE + header.problem * SCALAR_COUNT + row{s}) * header.stride + w]");
    let impulse = |c: usize, i: usize| row(c, &format!("ROW_IMPULSE + 3u * header.problem + {i}u"));
    let each_row = |line: &dyn Fn(usize) -> String| (0..n).map(|i| line(i) + "\n").collect::<String>();
    // statements of every contact, and of every scalar row, where the world has it
    let present = |contact: &dyn Fn(usize) -> String, of_scalar: &dyn Fn(usize) -> String| {
        let mut out = String::new();
        for c in 0..small.contacts {
            let _ = writeln!(out, "if (count > {c}u) {{\n{}}}", contact(c));
        }
        for s in 0..scalars {
            let _ = writeln!(out, "if (scalars > {s}u) {{\n{}}}", of_scalar(s));
        }
        out
    };
    let three = |line: &dyn Fn(usize) -> String| (0..3).map(|i| line(i) + "\n").collect::<String>();
    let taken = |own: &[String]| {
        let names = |name: &'static str, len: usize| from(len, move |k| format!("{name}{k}"));
        let own = own.to_vec();
        inputs(&[names("w", packed(n)), names("b", n), names("l", n), from(own.len(), move |k| own[k].clone())])
    };
    let of_contact = |c: usize| taken(&[format!("friction{c}")]);
    let swept_contact = |c: usize| {
        let constants = (0..small.constant_count).map(|k| format!("k{c}_{k}"));
        taken(&iter::once(format!("friction{c}")).chain(constants).collect::<Vec<_>>())
    };
    let of_scalar = |s: usize| taken(&[format!("lower{s}"), format!("upper{s}")]);
    let (first, fold) = (3 * small.contacts, |_: usize, x: &str| format!("error = {x};"));
    let checked = "largest = max(largest, select(UNSOLVABLE, error, finite(error)));\n";
    match name {
        "scalars" => (0..scalars).map(|s| format!("var row{s} = 0u;\n")).collect(),
        "take_scalar" => (0..scalars).map(|k| format!("row{k} = select(row{k}, s, scalars == {k}u);\n")).collect(),
        "clear" => {
            let normal = |k: usize| (0..small.contacts).any(|c| place(n, 3 * c, 3 * c) == k);
            let start = |k: usize| if normal(k) { small.compliance } else { 0.0 };
            (0..packed(n)).map(|k| format!("var w{k} = {:e}f;\n", start(k))).collect()
        }
        "bring_y" => {
            each_row(&|i| format!("var y{i} = 0.0;"))
                + &present(
                    &|c| three(&|i| format!("y{} = {};", 3 * c + i, row(c, &format!("ROW_Y + NV * {i}u + d")))),
                    &|s| format!("y{} = {};\n", first + s, scalar(s, &format!("{SCALAR_HEAD}u + d"))),
                )
        }
        "add" => (0..n)
            .flat_map(|i| (i..n).map(move |j| (place(n, i, j), i, j)))
            .map(|(k, i, j)| format!("w{k} = fma(y{i}, y{j}, w{k});\n"))
            .collect(),
        "bring" => {
            let own = (0..small.contacts)
                .map(|c| format!("var friction{c} = 0.0;\n"))
                .chain((0..scalars).map(|s| format!("var lower{s} = 0.0;\nvar upper{s} = 0.0;\n")));
            each_row(&|i| format!("var b{i} = 0.0;\nvar l{i} = 0.0;"))
                + &own.collect::<String>()
                + &present(
                    &|c| {
                        let bias = |i: usize| row(c, &format!("ROW_BIAS + 3u * header.problem + {i}u"));
                        three(&|i| format!("b{k} = {};\nl{k} = {};", bias(i), impulse(c, i), k = 3 * c + i))
                            + &format!("friction{c} = {};\n", row(c, "ROW_FRICTION"))
                    },
                    &|s| {
                        let bound = |k: usize| format!("tables[BOUND_TABLE + 2u * row{s} + {k}u]");
                        let (bias, k) = (scalar(s, "2u + header.problem"), first + s);
                        format!(
                            "b{k} = {bias};\nl{k} = {};\nlower{s} = {};\nupper{s} = {};\n",
                            scalar_impulse(s),
                            bound(0),
                            bound(1)
                        )
                    },
                )
        }
        "constants" => {
            let w = inputs(&[from(packed(n), |k| format!("w{k}"))]);
            let one =
                |c: usize| told(&small.constants[c], &format!("m{c}_"), &w, |k, x| format!("let k{c}_{k} = {x};"));
            (0..small.contacts).map(one).collect()
        }
        "sweep" => present(
            &|c| {
                let inputs = swept_contact(c);
                told(&small.sweep_contact[c], &format!("c{c}_"), &inputs, |i, x| format!("l{} = {x};", 3 * c + i))
            },
            &|s| {
                let inputs = of_scalar(s);
                told(&small.sweep_scalar[s], &format!("s{s}_"), &inputs, |_, x| format!("l{} = {x};", first + s))
            },
        ),
        "check" => {
            present(&|c| told(&small.check_contact[c], &format!("c{c}_"), &of_contact(c), fold) + checked, &|s| {
                told(&small.check_scalar[s], &format!("s{s}_"), &of_scalar(s), fold) + checked
            })
        }
        "keep" => present(&|c| three(&|i| format!("{} = l{};", impulse(c, i), 3 * c + i)), &|s| {
            format!("{} = l{};\n", scalar_impulse(s), first + s)
        }),
        // a template that names what is not there does not compile as a shader
        other => format!("unknown formula of small worlds {other}\n"),
    }
}
