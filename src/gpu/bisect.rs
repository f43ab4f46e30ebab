//! Debugging: twins before a stage, shaders from it on, on the same data. A wrong result is so bisected to one shader.

use super::buffers::{Problem, any_live};
use super::device::Gpu;
use super::stages::{STAGES, stage};
use crate::error::{Error, Result};
use crate::lane::{Compiled, F32x16, Level, Pack, Real, Task};
use crate::solver::{Algorithm, Batch, Group, Header, REPORT_LEN, SolveSettings, jacobi, pgs, residual, warm_start};

impl Gpu {
    /// [`Gpu::solve`], with the twins of all stages before `first` in [`STAGES`] and the shaders of `first` and those after it.
    /// Slow: every stage uploads and reads back.
    ///
    /// # Errors
    /// As [`Gpu::solve`], and [`crate::Error::Argument`] where no stage is called `first`.
    pub fn solve_from(&mut self, first: &str, batch: &mut Batch<F32x16>, settings: &SolveSettings) -> Result<()> {
        settings.validate()?;
        let first = stage(first)?;
        let sweep = match settings.algorithm {
            Algorithm::Auto | Algorithm::Pgs => "pgs",
            Algorithm::Jacobi => "jacobi",
        };
        for group in &mut batch.groups {
            for problem in [Problem::Velocity, Problem::Position] {
                let mut run = |name: &str, sweep_count, group: &mut Group<F32x16>| {
                    let index = stage(name)?;
                    if index < first {
                        return twin(index, group, problem, sweep_count, settings);
                    }
                    self.run_stage(index, group, problem, sweep_count, settings)
                };
                if problem == Problem::Position {
                    group.position_impulse.clone_from(&group.impulse);
                }
                run("warm_start", 0, group)?;
                run("residual", 0, group)?;
                for sweep_count in settings.rounds() {
                    if !any_live(problem.report(group)) {
                        break;
                    }
                    run(sweep, sweep_count, group)?;
                    run("residual", 0, group)?;
                }
            }
        }
        Ok(())
    }

    /// Runs one shader once over the velocity problem of `group`, as its arrays stand, and reads λ and report back.
    ///
    /// # Errors
    /// As [`Gpu::solve_from`]; [`crate::Error::Unsupported`] where a tile is too large for the device.
    pub fn run_shader(
        &mut self,
        name: &str,
        group: &mut Group<F32x16>,
        sweep_count: u32,
        settings: &SolveSettings,
    ) -> Result<()> {
        self.run_stage(stage(name)?, group, Problem::Velocity, sweep_count, settings)
    }
}

/// Runs one twin once over the velocity problem of `group`, as its arrays stand: what [`Gpu::run_shader`] is compared with.
///
/// # Errors
/// [`Error::Argument`] where no stage has that name.
pub fn run_twin(name: &str, group: &mut Group<F32x16>, sweep_count: u32, settings: &SolveSettings) -> Result<()> {
    twin(stage(name)?, group, Problem::Velocity, sweep_count, settings)
}

fn twin(
    stage: usize,
    group: &mut Group<F32x16>,
    problem: Problem,
    sweep_count: u32,
    settings: &SolveSettings,
) -> Result<()> {
    let header = Header { sweep_count, ..Header::new(group.size, group.tile_count(), F32x16::LANES, settings) };
    Level::detect().run(Twin { name: STAGES[stage].name, group, problem, header })
}

/// One twin over all tiles of a group.
struct Twin<'a> {
    name: &'static str,
    group: &'a mut Group<F32x16>,
    problem: Problem,
    header: Header,
}

impl Task for Twin<'_> {
    // Small: the array packs by themselves will do.
    const COMPILED: Compiled = if cfg!(target_arch = "x86_64") { Compiled::Avx2 } else { Compiled::Everywhere };
    type Output = Result<()>;
    #[inline(always)]
    fn run(self) -> Result<()> {
        let Self { name, group, problem, header } = self;
        let n = group.size.row_count();
        let (contacts, scalars) = (group.size.contact_count, group.size.scalar_count);
        let (all_bias, all_impulse, all_report) = match problem {
            Problem::Velocity => (&group.bias, &mut group.impulse, &mut group.report),
            Problem::Position => (&group.position_bias, &mut group.position_impulse, &mut group.position_report),
        };
        let mut next_impulse = vec![F32x16::zero(); n];
        for (t, report) in all_report.chunks_exact_mut(REPORT_LEN).enumerate() {
            let w = &group.delassus[t * n * n..(t + 1) * n * n];
            let b = &all_bias[t * n..(t + 1) * n];
            let friction = &group.friction[t * contacts..(t + 1) * contacts];
            let bounds = &group.bounds[t * 2 * scalars..(t + 1) * 2 * scalars];
            let impulse = &mut all_impulse[t * n..(t + 1) * n];
            match name {
                "warm_start" => warm_start(&header, friction, bounds, impulse, report),
                "residual" => residual(&header, w, b, friction, bounds, impulse, report),
                "pgs" => pgs(&header, w, b, friction, bounds, impulse, report),
                "jacobi" => jacobi(&header, w, b, friction, bounds, &mut next_impulse, impulse, report),
                other => {
                    return Err(Error::argument(
                        "stage",
                        format!("nobody has said how the twin of \"{other}\" is called"),
                    ));
                }
            }
        }
        Ok(())
    }
}
