//! A number type that records: run through a formula, it writes down what would be done, once for all, to be told as a shader or done later.
//!
//! What is recorded is what the formula does, operation by operation: constants are folded and common parts shared only where no bit changes. So a
//! [`Program`] evaluated in f32 gives the bits of the formula in f32.

use super::operations::{SIN_COS, count_operations};
use super::{Compiled, Mask, Real};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// One operation; operands are indices of earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Op {
    Input(u32),
    /// By its bits.
    Constant(u32),
    Add(u32, u32),
    Sub(u32, u32),
    Mul(u32, u32),
    Div(u32, u32),
    Neg(u32),
    MulAdd(u32, u32, u32),
    Sqrt(u32),
    Abs(u32),
    Min(u32, u32),
    Max(u32, u32),
    Sin(u32),
    Cos(u32),
    Atan2(u32, u32),
    Less(u32, u32),
    Bit(bool),
    And(u32, u32),
    Or(u32, u32),
    Not(u32),
    Select(u32, u32, u32),
}

impl Op {
    fn is_mask(self) -> bool {
        matches!(self, Self::Less(..) | Self::Bit(_) | Self::And(..) | Self::Or(..) | Self::Not(_))
    }

    /// As many as [`super::operations`] counts for it.
    fn operations(self) -> u64 {
        match self {
            Self::Add(..) | Self::Sub(..) | Self::Mul(..) | Self::Div(..) | Self::Sqrt(_) => 1,
            Self::MulAdd(..) => 2,
            // both come of one function
            Self::Sin(_) | Self::Cos(_) => SIN_COS / 2,
            Self::Atan2(..) => SIN_COS,
            _ => 0,
        }
    }

    fn operands(self) -> ([u32; 3], usize) {
        match self {
            Self::Input(_) | Self::Constant(_) | Self::Bit(_) => ([0; 3], 0),
            Self::Neg(a) | Self::Sqrt(a) | Self::Abs(a) | Self::Sin(a) | Self::Cos(a) | Self::Not(a) => ([a, 0, 0], 1),
            Self::Add(a, b)
            | Self::Sub(a, b)
            | Self::Mul(a, b)
            | Self::Div(a, b)
            | Self::Min(a, b)
            | Self::Max(a, b)
            | Self::Atan2(a, b)
            | Self::Less(a, b)
            | Self::And(a, b)
            | Self::Or(a, b) => ([a, b, 0], 2),
            Self::MulAdd(a, b, c) | Self::Select(a, b, c) => ([a, b, c], 3),
        }
    }
}

#[derive(Debug, Default)]
struct Tape {
    ops: Vec<Op>,
    known: HashMap<Op, u32>,
}

thread_local! {
    static TAPE: RefCell<Tape> = RefCell::default();
}

impl Tape {
    fn constant(&self, x: u32) -> Option<f32> {
        match self.ops[x as usize] {
            Op::Constant(bits) => Some(f32::from_bits(bits)),
            _ => None,
        }
    }

    fn put(&mut self, op: Op) -> u32 {
        *self.known.entry(op).or_insert_with(|| {
            self.ops.push(op);
            self.ops.len() as u32 - 1
        })
    }

    /// Records `op`, or what it is the same as to the bit.
    fn push(&mut self, op: Op) -> u32 {
        let number = |x: f32| Op::Constant(x.to_bits());
        let c = |x| self.constant(x);
        let folded = match op {
            Op::Add(a, b) => c(a).zip(c(b)).map(|(a, b)| number(a + b)),
            Op::Sub(a, b) => c(a).zip(c(b)).map(|(a, b)| number(a - b)),
            Op::Mul(a, b) => c(a).zip(c(b)).map(|(a, b)| number(a * b)),
            Op::Div(a, b) => c(a).zip(c(b)).map(|(a, b)| number(a / b)),
            Op::Neg(a) => c(a).map(|a| number(-a)),
            Op::Sqrt(a) => c(a).map(|a| number(a.sqrt())),
            Op::Abs(a) => c(a).map(|a| number(a.abs())),
            Op::MulAdd(a, b, d) => match (c(a), c(b), c(d)) {
                (Some(a), Some(b), Some(d)) => Some(number(a.mul_add(b, d))),
                // a product that is exact leaves one rounding, that of the sum
                (Some(1.0), _, _) => return self.push(Op::Add(b, d)),
                (_, Some(1.0), _) => return self.push(Op::Add(a, d)),
                (Some(-1.0), _, _) => return self.push(Op::Sub(d, b)),
                (_, Some(-1.0), _) => return self.push(Op::Sub(d, a)),
                _ => None,
            },
            _ => None,
        };
        if let Some(folded) = folded {
            return self.put(folded);
        }
        let is = |x, value: f32| self.constant(x).is_some_and(|c| c.to_bits() == value.to_bits());
        match op {
            Op::Mul(a, b) if is(b, 1.0) => a,
            Op::Mul(a, b) if is(a, 1.0) => b,
            Op::Mul(a, b) if is(b, -1.0) => self.push(Op::Neg(a)),
            Op::Mul(a, b) if is(a, -1.0) => self.push(Op::Neg(b)),
            Op::Div(a, b) if is(b, 1.0) => a,
            Op::Sub(a, b) if is(b, 0.0) => a,
            Op::Add(a, b) if is(b, -0.0) => a,
            Op::Add(a, b) if is(a, -0.0) => b,
            Op::Neg(a) => match self.ops[a as usize] {
                Op::Neg(b) => b,
                _ => self.put(op),
            },
            Op::Select(m, a, b) => match self.ops[m as usize] {
                Op::Bit(true) => a,
                Op::Bit(false) => b,
                _ if a == b => a,
                _ => self.put(op),
            },
            _ => self.put(op),
        }
    }
}

fn push(op: Op) -> Recorded {
    Recorded(TAPE.with_borrow_mut(|tape| tape.push(op)))
}

fn push_mask(op: Op) -> RecordedMask {
    RecordedMask(TAPE.with_borrow_mut(|tape| tape.push(op)))
}

/// A number of which only is known where it comes from: the place of its operation on this thread's tape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recorded(u32);

/// A comparison that is still to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordedMask(u32);

// Nothing is inlined: a formula is thousands of operations, which run once, and would be compiled thousands of times.
impl Mask for RecordedMask {
    #[inline(never)]
    fn splat(bit: bool) -> Self {
        push_mask(Op::Bit(bit))
    }
    #[inline(never)]
    fn and(self, other: Self) -> Self {
        push_mask(Op::And(self.0, other.0))
    }
    #[inline(never)]
    fn or(self, other: Self) -> Self {
        push_mask(Op::Or(self.0, other.0))
    }
    #[inline(never)]
    fn not(self) -> Self {
        push_mask(Op::Not(self.0))
    }
}

impl Default for Recorded {
    fn default() -> Self {
        Self::constant(0.0)
    }
}
impl Add for Recorded {
    type Output = Self;
    #[inline(never)]
    fn add(self, b: Self) -> Self {
        push(Op::Add(self.0, b.0))
    }
}
impl Sub for Recorded {
    type Output = Self;
    #[inline(never)]
    fn sub(self, b: Self) -> Self {
        push(Op::Sub(self.0, b.0))
    }
}
impl Mul for Recorded {
    type Output = Self;
    #[inline(never)]
    fn mul(self, b: Self) -> Self {
        push(Op::Mul(self.0, b.0))
    }
}
impl Div for Recorded {
    type Output = Self;
    #[inline(never)]
    fn div(self, b: Self) -> Self {
        push(Op::Div(self.0, b.0))
    }
}
impl Neg for Recorded {
    type Output = Self;
    #[inline(never)]
    fn neg(self) -> Self {
        push(Op::Neg(self.0))
    }
}
assigning!(Recorded);

impl Real for Recorded {
    type Mask = RecordedMask;
    const COMPILED: Compiled = Compiled::Nowhere;
    const EPSILON: f64 = f32::EPSILON as f64;
    #[inline(never)]
    fn constant(x: f64) -> Self {
        push(Op::Constant((x as f32).to_bits()))
    }
    #[inline(never)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        push(Op::MulAdd(self.0, a.0, b.0))
    }
    #[inline(never)]
    fn sqrt(self) -> Self {
        push(Op::Sqrt(self.0))
    }
    #[inline(never)]
    fn abs(self) -> Self {
        push(Op::Abs(self.0))
    }
    #[inline(never)]
    fn min(self, other: Self) -> Self {
        push(Op::Min(self.0, other.0))
    }
    #[inline(never)]
    fn max(self, other: Self) -> Self {
        push(Op::Max(self.0, other.0))
    }
    #[inline(never)]
    fn sin_cos(self) -> (Self, Self) {
        (push(Op::Sin(self.0)), push(Op::Cos(self.0)))
    }
    #[inline(never)]
    fn atan2(self, x: Self) -> Self {
        push(Op::Atan2(self.0, x.0))
    }
    #[inline(never)]
    fn lt(self, other: Self) -> RecordedMask {
        push_mask(Op::Less(self.0, other.0))
    }
    #[inline(never)]
    fn select(mask: RecordedMask, yes: Self, no: Self) -> Self {
        push(Op::Select(mask.0, yes.0, no.0))
    }
}

/// A formula as it was recorded: straight on, without a branch.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    ops: Vec<Op>,
    /// Where its results are.
    outputs: Vec<u32>,
    /// Floating-point operations of all of it, a fused multiply-add as two.
    pub operations: u64,
}

/// Records `formula` of `inputs` numbers. What it does in vain is left out.
pub(crate) fn record(inputs: usize, formula: impl FnOnce(&[Recorded]) -> Vec<Recorded>) -> Program {
    TAPE.set(Tape::default());
    let inputs: Vec<_> = (0..inputs).map(|k| push(Op::Input(k as u32))).collect();
    let outputs: Vec<u32> = formula(&inputs).iter().map(|x| x.0).collect();
    let ops = TAPE.take().ops;
    let mut used = vec![false; ops.len()];
    for &output in &outputs {
        used[output as usize] = true;
    }
    for k in (0..ops.len()).rev() {
        if used[k] {
            let (operands, count) = ops[k].operands();
            operands[..count].iter().for_each(|x| used[*x as usize] = true);
        }
    }
    let mut place = vec![0; ops.len()];
    let mut kept = Vec::new();
    for (k, op) in ops.iter().enumerate().filter(|(k, _)| used[*k]) {
        place[k] = kept.len() as u32;
        kept.push(moved(*op, |x| place[x as usize]));
    }
    let operations = kept.iter().map(|op| op.operations()).sum();
    Program { ops: kept, outputs: outputs.iter().map(|x| place[*x as usize]).collect(), operations }
}

/// The operation with its operands elsewhere.
fn moved(op: Op, to: impl Fn(u32) -> u32) -> Op {
    match op {
        Op::Input(_) | Op::Constant(_) | Op::Bit(_) => op,
        Op::Add(a, b) => Op::Add(to(a), to(b)),
        Op::Sub(a, b) => Op::Sub(to(a), to(b)),
        Op::Mul(a, b) => Op::Mul(to(a), to(b)),
        Op::Div(a, b) => Op::Div(to(a), to(b)),
        Op::Neg(a) => Op::Neg(to(a)),
        Op::MulAdd(a, b, c) => Op::MulAdd(to(a), to(b), to(c)),
        Op::Sqrt(a) => Op::Sqrt(to(a)),
        Op::Abs(a) => Op::Abs(to(a)),
        Op::Min(a, b) => Op::Min(to(a), to(b)),
        Op::Max(a, b) => Op::Max(to(a), to(b)),
        Op::Sin(a) => Op::Sin(to(a)),
        Op::Cos(a) => Op::Cos(to(a)),
        Op::Atan2(a, b) => Op::Atan2(to(a), to(b)),
        Op::Less(a, b) => Op::Less(to(a), to(b)),
        Op::And(a, b) => Op::And(to(a), to(b)),
        Op::Or(a, b) => Op::Or(to(a), to(b)),
        Op::Not(a) => Op::Not(to(a)),
        Op::Select(m, a, b) => Op::Select(to(m), to(a), to(b)),
    }
}

/// A piece of a program, for one shader.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// Its operations.
    ops: std::ops::Range<usize>,
    /// What it needs of earlier pieces: operation and slot.
    loads: Vec<(u32, usize)>,
    /// What later pieces need of it: operation and slot.
    stores: Vec<(u32, usize)>,
}

impl Program {
    /// Number of operations.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Does it, in f32, and counts its operations.
    pub fn evaluate(&self, inputs: &[f32]) -> Vec<f32> {
        count_operations(self.operations);
        // a mask is 1 or 0
        let mut x: Vec<f32> = Vec::with_capacity(self.ops.len());
        for op in &self.ops {
            let at = |k: u32| x[k as usize];
            let bit = |b: bool| if b { 1.0 } else { 0.0 };
            x.push(match *op {
                Op::Input(k) => inputs[k as usize],
                Op::Constant(bits) => f32::from_bits(bits),
                Op::Add(a, b) => at(a) + at(b),
                Op::Sub(a, b) => at(a) - at(b),
                Op::Mul(a, b) => at(a) * at(b),
                Op::Div(a, b) => at(a) / at(b),
                Op::Neg(a) => -at(a),
                Op::MulAdd(a, b, c) => at(a).mul_add(at(b), at(c)),
                Op::Sqrt(a) => at(a).sqrt(),
                Op::Abs(a) => at(a).abs(),
                Op::Min(a, b) => Real::min(at(a), at(b)),
                Op::Max(a, b) => Real::max(at(a), at(b)),
                Op::Sin(a) => Real::sin_cos(at(a)).0,
                Op::Cos(a) => Real::sin_cos(at(a)).1,
                Op::Atan2(a, b) => Real::atan2(at(a), at(b)),
                Op::Less(a, b) => bit(at(a) < at(b)),
                Op::Bit(b) => bit(b),
                Op::And(a, b) => f32::min(at(a), at(b)),
                Op::Or(a, b) => f32::max(at(a), at(b)),
                Op::Not(a) => 1.0 - at(a),
                Op::Select(m, a, b) => {
                    if at(m) == 0.0 {
                        at(b)
                    } else {
                        at(a)
                    }
                }
            });
        }
        self.outputs.iter().map(|k| x[*k as usize]).collect()
    }

    /// Cuts into pieces of about `most` operations, where the fewest values pass from one to the next. Values that pass get slots, numbered from 0.
    pub fn pieces(&self, most: usize) -> (Vec<Piece>, usize) {
        let n = self.ops.len();
        let free = |k: u32| matches!(self.ops[k as usize], Op::Constant(_) | Op::Bit(_) | Op::Input(_));
        let mut last = (0..n).collect::<Vec<_>>();
        for (k, op) in self.ops.iter().enumerate() {
            let (operands, count) = op.operands();
            operands[..count].iter().for_each(|x| last[*x as usize] = k);
        }
        // values alive across the cut before operation k
        let mut alive = vec![0i64; n + 1];
        for k in (0..n).filter(|k| !free(*k as u32) && last[*k] > *k) {
            alive[k + 1] += 1;
            alive[last[k] + 1] -= 1;
        }
        for k in 0..n {
            alive[k + 1] += alive[k];
        }
        let mut cuts = vec![0];
        while n - cuts[cuts.len() - 1] > most + most / 2 {
            let start = cuts[cuts.len() - 1];
            let window = start + most / 2..start + most;
            cuts.push(window.min_by_key(|k| alive[*k]).unwrap_or(start + most));
        }
        cuts.push(n);
        let (mut slots, mut slot_of) = (0, HashMap::new());
        let mut pieces: Vec<Piece> = Vec::new();
        for range in cuts.windows(2).map(|w| w[0]..w[1]) {
            let mut needed = HashSet::new();
            let mut loads = Vec::new();
            for op in &self.ops[range.clone()] {
                let (operands, count) = op.operands();
                for &x in &operands[..count] {
                    if (x as usize) < range.start && !free(x) && needed.insert(x) {
                        loads.push((x, 0));
                    }
                }
            }
            for (x, slot) in &mut loads {
                *slot = *slot_of.entry(*x).or_insert_with(|| {
                    slots += 1;
                    slots - 1
                });
            }
            pieces.push(Piece { ops: range, loads, stores: Vec::new() });
        }
        for piece in &mut pieces {
            let of_piece = slot_of.iter().filter(|(x, _)| piece.ops.contains(&(**x as usize)));
            piece.stores = of_piece.map(|(x, slot)| (*x, *slot)).collect();
            piece.stores.sort_unstable();
        }
        (pieces, slots)
    }

    /// The whole as one piece.
    pub fn whole(&self) -> Piece {
        Piece { ops: 0..self.ops.len(), loads: Vec::new(), stores: Vec::new() }
    }

    /// The statements of a piece in WGSL. `input`: the expression of an input; `output`: the statement that takes a result; `slot`: the place of a value that
    /// passes between pieces. `prefix` begins the names of its values.
    pub fn wgsl(
        &self,
        piece: &Piece,
        prefix: &str,
        input: impl Fn(usize) -> String,
        output: impl Fn(usize, &str) -> String,
        slot: impl Fn(usize) -> String,
    ) -> String {
        let mut out = String::new();
        let mut told = HashSet::new();
        let mut turned = HashSet::new();
        let name = |k: u32| format!("{prefix}{k}");
        for (x, s) in &piece.loads {
            told.insert(*x);
            let test = if self.ops[*x as usize].is_mask() { " != 0.0" } else { "" };
            let _ = writeln!(out, "let {} = {}{test};", name(*x), slot(*s));
        }
        // Inputs and constants are told where they are first used.
        let tell = |k: u32, out: &mut String, told: &mut HashSet<u32>| -> String {
            match self.ops[k as usize] {
                Op::Constant(bits) => literal(f32::from_bits(bits)),
                Op::Bit(bit) => bit.to_string(),
                Op::Input(i) => {
                    if told.insert(k) {
                        let _ = writeln!(out, "let {} = {};", name(k), input(i as usize));
                    }
                    name(k)
                }
                _ => name(k),
            }
        };
        for k in piece.ops.clone() {
            let op = self.ops[k];
            if matches!(op, Op::Input(_) | Op::Constant(_) | Op::Bit(_)) {
                continue;
            }
            let (operands, count) = op.operands();
            let [a, b, c] =
                [0, 1, 2].map(|i| if i < count { tell(operands[i], &mut out, &mut told) } else { String::new() });
            if matches!(op, Op::Sin(_) | Op::Cos(_)) && turned.insert(operands[0]) {
                let _ = writeln!(out, "let turn_{prefix}{} = sin_cos({a});", operands[0]);
            }
            let x = match op {
                Op::Add(..) => format!("{a} + {b}"),
                Op::Sub(..) => format!("{a} - {b}"),
                Op::Mul(..) => format!("{a} * {b}"),
                Op::Div(..) => format!("{a} / {b}"),
                Op::Neg(_) => format!("-{a}"),
                Op::MulAdd(..) => format!("fma({a}, {b}, {c})"),
                Op::Sqrt(_) => format!("sqrt({a})"),
                Op::Abs(_) => format!("abs({a})"),
                // what is not a number on the left is dropped
                Op::Min(..) => format!("select({b}, {a}, {a} < {b})"),
                Op::Max(..) => format!("select({b}, {a}, {a} > {b})"),
                Op::Sin(x) => format!("turn_{prefix}{x}.x"),
                Op::Cos(x) => format!("turn_{prefix}{x}.y"),
                Op::Atan2(..) => format!("atan2({a}, {b})"),
                Op::Less(..) => format!("{a} < {b}"),
                Op::And(..) => format!("{a} && {b}"),
                Op::Or(..) => format!("{a} || {b}"),
                Op::Not(_) => format!("!{a}"),
                Op::Select(..) => format!("select({c}, {b}, {a})"),
                Op::Input(_) | Op::Constant(_) | Op::Bit(_) => continue,
            };
            let _ = writeln!(out, "let {} = {x};", name(k as u32));
        }
        for (x, s) in &piece.stores {
            let value = name(*x);
            // a mask passes as a number
            let value = if self.ops[*x as usize].is_mask() { format!("select(0.0, 1.0, {value})") } else { value };
            let _ = writeln!(out, "{} = {value};", slot(*s));
        }
        for (i, k) in self.outputs.iter().enumerate() {
            let free = matches!(self.ops[*k as usize], Op::Constant(_) | Op::Input(_));
            // what needs no operation belongs to the last piece
            if piece.ops.contains(&(*k as usize)) && !free || free && piece.ops.end == self.ops.len() {
                let x = tell(*k, &mut out, &mut told);
                let _ = writeln!(out, "{}", output(i, &x));
            }
        }
        out
    }
}

/// A constant in WGSL, to the bit.
fn literal(x: f32) -> String {
    if x < 0.0 || x.to_bits() == (-0.0f32).to_bits() { format!("(-{:e}f)", -x) } else { format!("{x:e}f") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A formula with every operation.
    fn formula<R: Real>(x: &[R]) -> Vec<R> {
        let (sin, cos) = (x[3] * R::constant(0.5)).sin_cos();
        let turned = [cos.mul_add(x[0], -(sin * x[1])), sin.mul_add(x[0], cos * x[1])];
        let inside = turned[0].lt(R::one()).and(x[1].lt(x[2]).not()).or(x[0].lt(R::zero()));
        let m = R::select(inside, turned[1].max(x[3]), turned[0].min(x[0]) / x[1]);
        let angle = m.abs().sqrt().atan2(turned[0]);
        vec![turned[0], turned[1], m, angle, -(x[0] * R::one()), R::constant(3.0) - R::one()]
    }

    fn samples() -> impl Iterator<Item = Vec<f32>> {
        (0..200u32).map(|k| {
            (0..4).map(|i| (k.wrapping_mul(2_654_435_761).rotate_left(7 * i) >> 8) as f32 * 1e-6 - 8.0).collect()
        })
    }

    #[test]
    fn a_program_gives_the_bits_of_its_formula() {
        let program = record(4, formula);
        for x in samples() {
            let (told, done): (Vec<u32>, Vec<u32>) = (
                program.evaluate(&x).iter().map(|x| x.to_bits()).collect(),
                formula(&x).iter().map(|x| x.to_bits()).collect(),
            );
            assert_eq!(told, done, "{x:?}");
        }
    }

    #[test]
    fn what_is_done_in_vain_is_left_out() {
        let program = record(2, |x| {
            let _ = x[0] / x[1];
            vec![x[0] + x[1] * Recorded::one()]
        });
        assert_eq!(program.len(), 3);
    }

    #[test]
    fn pieces_pass_on_what_later_ones_need() {
        let program = record(4, formula);
        let (pieces, slots) = program.pieces(12);
        assert!(pieces.len() > 2 && slots > 0);
        for (i, piece) in pieces.iter().enumerate() {
            for load in &piece.loads {
                assert!(pieces[..i].iter().any(|earlier| earlier.stores.contains(load)), "{load:?} is never stored");
            }
        }
        assert_eq!(pieces.iter().map(|p| p.ops.len()).sum::<usize>(), program.len());
    }
}
