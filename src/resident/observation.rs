//! What a call of `step` brings back in the place of q and v: quantities, by shaders that run once after the last substep. Their formulas are recorded from the functions that the CPU evaluates them with.

use super::formulas::parts;
use super::layout::Layout;
use super::shaders::{MOST_OPERATIONS, Shader, common, entry, motion_input};
use super::{DRAW, MOTION, Resident, stride};
use crate::error::{Error, Result};
use crate::gpu::Kernel;
use crate::lane::{Program, Real, record};
use crate::parameters::{SharedParameters, TileParameters};
use crate::quantity::{Evaluation, Now, Quantity, evaluate};
use crate::step::Plan;
use std::ops::Range;

/// The shaders of some quantities. Their numbers lie at the beginning of `motion`, which every step makes anew; what passes between shaders lies behind.
#[derive(Debug)]
pub(super) struct Observation {
    pub kernels: Range<usize>,
    /// How many numbers there are.
    pub len: usize,
    /// How many pass between shaders.
    passed: usize,
}

impl Observation {
    /// Components of `motion` that it takes.
    pub fn room(&self) -> usize {
        self.len + self.passed
    }
}

/// State and inputs, as [`Layout::input_lengths`] has them → quantities.
pub(super) fn observation<R: Real>(plan: &Plan, layout: &Layout, quantities: &[Quantity], x: &[R]) -> Vec<R> {
    let (model, dt) = (&*plan.model, plan.dt);
    let [q, v, control, _, gravity, mass_scale, gain_scale] = parts(x, layout.input_lengths());
    // worlds with others of their own are stepped by the CPU
    let shared = SharedParameters::new(model);
    let parameters = TileParameters { gravity, mass_scale, gain_scale, ..shared.tile() };
    let now = Now { model, q, v, parameters, drive: control, dt };
    let mut evaluation = Evaluation::new(model);
    evaluation.begin(&now);
    for quantity in quantities {
        evaluate(*quantity, &now, &mut evaluation);
    }
    evaluation.row
}

/// The formula of quantities.
pub(super) fn recorded(plan: &Plan, layout: &Layout, quantities: &[Quantity]) -> Program {
    record(layout.inputs(), |x| observation(plan, layout, quantities, x))
}

/// The shaders of quantities of `len` numbers, and how many values pass between them.
pub(super) fn observers(plan: &Plan, layout: &Layout, program: &Program, len: usize) -> (Vec<Shader>, usize) {
    let (pieces, passed) = program.pieces(MOST_OPERATIONS);
    let common = common(plan, layout);
    let shader = |(k, piece)| {
        let motion = |i: usize| format!("motion[{i}u * header.stride + w]");
        let input = |i| motion_input(layout, i);
        let statements =
            program.wgsl(piece, "x", input, |i, x| format!("{} = {x};", motion(i)), |slot| motion(len + slot));
        let name = format!("observe_{k}");
        let source = format!("{common}\n{}\n{statements}}}\n", entry(&name));
        Shader { name, source }
    };
    (pieces.iter().enumerate().map(shader).collect(), passed)
}

impl Resident {
    /// Lets calls bring back quantities, each of which the state tells, in the place of q and v; none: q and v again. Nothing that worlds keep changes.
    ///
    /// # Errors
    /// [`Error::Device`] where the device refuses, or has not got the memory; q and v are brought back then.
    pub fn bring_back(&mut self, plan: &Plan, quantities: Option<&[Quantity]>) -> Result<()> {
        self.observation = None;
        let first = self.gather + DRAW + 1;
        let Some(quantities) = quantities else { return self.chain.replace_kernels(first, &[]) };
        let len = quantities.iter().map(|quantity| quantity.len(&plan.model)).sum();
        let (mut all, mut passed) = (Vec::new(), 0);
        if len > 0 {
            let program = recorded(plan, &self.layout, quantities);
            (all, passed) = observers(plan, &self.layout, &program, len);
        }
        let kernels: Vec<_> = all.iter().map(|Shader { name, source }| Kernel { name, source }).collect();
        self.chain.replace_kernels(first, &kernels)?;
        self.observation = Some(Observation { kernels: first..first + kernels.len(), len, passed });
        let [motion, back] = [self.components()[MOTION - 1], self.components_back()];
        for set in 0..self.sets.len() {
            let [motion, back] = [motion, back].map(|components| (4 * components * stride(&self.sets[set])) as u64);
            let fits = motion <= self.chain.device().limits.binding_bytes;
            if !fits || !self.chain.widen(set, MOTION, motion, back)? {
                self.observation = None;
                let (name, count) = (self.device_name(), self.sets[set].len());
                return Err(Error::Device(format!(
                    "{name} has no room for {len} numbers of each of {count} worlds to bring back; bring back less, or the state"
                )));
            }
        }
        Ok(())
    }
}
