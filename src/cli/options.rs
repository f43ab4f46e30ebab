//! Options that commands share: which model, and how it is stepped.

use super::control::Control;
use super::failure::{Failure, Outcome};
use super::parse::{
    ALGORITHMS, BACKENDS, CONSTRAINTS, FRICTIONS, IMPACTS, INTEGRATORS, PRECISIONS, choice, not_negative, positive,
    share,
};
use clap::Args;
use delassus::model::ReadOptions;
use delassus::solver::{Algorithm, FrictionLaw};
use delassus::worlds::Start;
use delassus::{Backend, Constraints, DeviceChoice, Impacts, Integrator, Model, Precision, Settings};
use std::path::PathBuf;

/// Which model, and how it is read.
#[derive(Debug, Args)]
pub struct ModelOptions {
    /// Model file (MJCF).
    pub model: PathBuf,
    /// List what is not known or not done in the model file as notes instead of refusing the file.
    #[arg(long)]
    pub lenient: bool,
}

impl ModelOptions {
    /// Reads the model.
    pub fn load(&self) -> Outcome<Model> {
        Ok(Model::from_mjcf_file_with(&self.model, &ReadOptions { lenient: self.lenient })?)
    }
}

/// How many worlds, where and in which number type.
#[derive(Debug, Clone, Args)]
pub struct BatchOptions {
    /// Number of worlds [default: 1024, verify: 16].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub worlds: Option<u64>,
    /// Where the stages run; auto takes the CPU where there is no GPU.
    #[arg(long, default_value = "auto", value_parser = choice(BACKENDS))]
    pub backend: Backend,
    /// Number type of state and stages [default: f32, verify: f64].
    #[arg(long, value_parser = choice(PRECISIONS))]
    pub precision: Option<Precision>,
}

impl BatchOptions {
    /// What was asked for, or else the command's own numbers.
    pub fn or(&self, worlds: u64, precision: Precision) -> Batch {
        Batch {
            worlds: self.worlds.unwrap_or(worlds),
            backend: self.backend,
            precision: self.precision.unwrap_or(precision),
        }
    }
}

/// How many worlds, where and in which number type.
#[derive(Debug, Clone, Copy)]
pub struct Batch {
    /// Number of worlds.
    pub worlds: u64,
    /// Where the stages run.
    pub backend: Backend,
    /// Number type.
    pub precision: Precision,
}

/// How worlds are stepped. What is not given is as [`Settings::default`] has it.
#[derive(Debug, Clone, Args)]
pub struct StepOptions {
    /// Device of the backends hybrid and gpu: its index in `delassus devices`, or part of its name [default: the best].
    #[arg(long, value_name = "INDEX|NAME")]
    pub device: Option<String>,
    /// Threads that step worlds on the CPU [default: RAYON_NUM_THREADS, or one a processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024), allow_negative_numbers = true)]
    pub threads: Option<u64>,
    /// Number of steps [default: 1000, verify: 200].
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub steps: Option<u64>,
    /// Step, s [default: the model's].
    #[arg(long, value_name = "S", value_parser = positive, allow_negative_numbers = true)]
    pub dt: Option<f64>,
    /// How free motion is followed: euler, first order; rk4, fourth order, second with damping, four times the dynamics [default: the model's].
    #[arg(long, value_parser = choice(INTEGRATORS))]
    pub integrator: Option<Integrator>,
    /// Iteration that solves the contact problems; auto: pgs while it contracts, then Newton.
    #[arg(long, default_value = "auto", value_parser = choice(ALGORITHMS))]
    pub solver: Algorithm,
    /// Whether contacts, limits, equalities and dry friction give way: hard, they do not; soft, as in MuJoCo, by the model's solref and solimp.
    #[arg(long, default_value = "hard", value_parser = choice(CONSTRAINTS))]
    pub constraints: Constraints,
    /// Friction law.
    #[arg(long, default_value = "cone", value_parser = choice(FRICTIONS))]
    pub friction: FrictionLaw,
    /// Coefficient of restitution where the model gives none, 0 to 1 [default: 0].
    #[arg(long, value_name = "E", value_parser = share, allow_negative_numbers = true)]
    pub restitution: Option<f64>,
    /// Which law holds where impacts meet in one step: all of them one problem, or one after another.
    #[arg(long, default_value = "simultaneous", value_parser = choice(IMPACTS))]
    pub impacts: Impacts,
    /// Residual at which a contact problem counts as solved, m/s [default: 1e-5 in f32, 1e-10 in f64].
    #[arg(long, value_name = "M/S", value_parser = positive, allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// Most sweeps a contact problem [default: 200].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub iterations: Option<u32>,
    /// Leave problems that missed the tolerance as they are instead of handing them to the exact solver.
    #[arg(long)]
    pub no_fallback: bool,
    /// Most multiply-adds that the exact solver may spend on a world and step [default: 30000000, some 20 ms].
    #[arg(long, value_name = "N")]
    pub exact_work: Option<u64>,
    /// Seed of start noise and random control; the same seed gives the same rollout.
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Control: "zero"; "random" (uniform in each actuator's range, or in [-1, 1], redrawn every 5 substeps, at the start of a step); or a file with one
    /// JSON array of nu numbers a step and line, held after its end [default: the keyframe's, or zero].
    #[arg(long, value_name = "zero|random|FILE")]
    pub control: Option<Control>,
    /// Keyframe to start from [default: the model's rest position].
    #[arg(long, value_name = "NAME")]
    pub keyframe: Option<String>,
    /// Start noise: every position (m, rad) and velocity (m/s, rad/s) of every world is changed by up to this.
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = not_negative, allow_negative_numbers = true)]
    pub noise: f64,
}

impl StepOptions {
    /// The settings of the step.
    pub fn settings(&self, batch: Batch) -> Settings {
        let default = Settings::default();
        Settings {
            precision: batch.precision,
            backend: batch.backend,
            device: device(self.device.as_deref()),
            threads: self.threads.map(|count| count as usize),
            dt: self.dt,
            integrator: self.integrator,
            constraints: self.constraints,
            friction: self.friction,
            algorithm: self.solver,
            tolerance: self.tolerance,
            iterations: self.iterations.unwrap_or(default.iterations),
            fallback: !self.no_fallback,
            exact_work: self.exact_work.unwrap_or(default.exact_work),
            restitution: self.restitution.unwrap_or(default.restitution),
            impacts: self.impacts,
            ..default
        }
    }

    /// How worlds start.
    pub fn start(&self, model: &Model) -> Outcome<Start> {
        let keyframe = match &self.keyframe {
            None => None,
            Some(name) => Some(model.keyframe(name).ok_or_else(|| no_keyframe(name, model))?),
        };
        Ok(Start { keyframe, position_noise: self.noise, velocity_noise: self.noise })
    }
}

/// The device that was asked for, or else the best.
pub fn device(named: Option<&str>) -> DeviceChoice {
    named.map_or(DeviceChoice::Any, DeviceChoice::from)
}

fn no_keyframe(name: &str, model: &Model) -> Failure {
    let names: Vec<String> = model.keyframes.iter().map(|k| format!("\"{}\"", k.name)).collect();
    Failure::Other(match names.as_slice() {
        [] => format!("--keyframe {name}: the model has no keyframes"),
        _ => format!("--keyframe {name}: the model has only {}", names.join(", ")),
    })
}
