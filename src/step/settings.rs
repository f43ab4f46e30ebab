//! What a user can choose about a step.

use crate::error::{Error, Result};
use crate::model::Integrator;
use crate::solver::{Algorithm, DeviceChoice, FrictionLaw, SolveSettings};

/// More threads than this are a mistake, which costs seconds and memory.
const MOST_THREADS: usize = 1024;

/// The number type of the state and of every stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// f32, 16 worlds a pack.
    #[default]
    F32,
    /// f64, 8 worlds a pack: the oracle.
    F64,
}

/// Where the stages run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// A GPU with memory of its own, where there is one, it can do what the settings ask for, and there are at least 4096 worlds for every thread of the CPU, so that it is faster; else the CPU. A software
    /// driver never counts as a GPU.
    #[default]
    Auto,
    /// Everything on the CPU: lanes × threads.
    Cpu,
    /// Kinematics to block assembly on the CPU, sweeps over the blocks on the GPU, what they leave on the CPU. f32 only.
    Hybrid,
    /// The whole step on the GPU: state, rows and impulses of all worlds stay there. f32, Euler, up to 64 degrees of freedom; what is not here is an error that
    /// says so. A world that the device cannot step, because its sweeps do not solve it, or a pair is near that has no formula there (boxes against
    /// boxes, meshes), is stepped by the CPU from where it stands, and its report says `halted`. Watched worlds are stepped by the CPU.
    Gpu,
}

/// Which law holds where impacts meet in one step, see also [`Settings::restitution`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Impacts {
    /// All impacts of a step are one problem with Newton's law for each, u⁺ = −e u. Bodies that touch when they are hit move on as one: a cradle of
    /// three goes −1/3, 2/3, 2/3.
    #[default]
    Simultaneous,
    /// One after another, in passes within the step: all that strike now are one problem, by themselves; then those that strike after it. A cradle of three goes
    /// 0, 0, 1. Costs a small problem a pass, in steps with impacts only, at most [`crate::worlds::IMPACT_PASSES`] of them. On the CPU only.
    Sequential,
}

/// How contacts, limits, equalities and dry friction give way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Constraints {
    /// They do not: what they forbid does not happen at the end of a step. The model's `solref`, `solimp`, `cone` and `impratio` are not looked at.
    #[default]
    Hard,
    /// As in MuJoCo: springs and dampers by those, that act where surfaces overlap; contacts are pyramids of four edges, six or ten with torsional and rolling friction (condim 4 and 6), or with
    /// `cone="elliptic"` round, without these, where what slides is lifted by what all contacts did in the last step. With Runge-Kutta they are solved at each of its four evaluations, without implicit damping, and contacts are told of as the first has
    /// them; with Euler before the damping that the model has implicit. For comparisons, and for policies that are to work there. Masses that the rows go by are those of the model at rest, whatever a world's own are.
    /// Without restitution, sequential impacts, compliance ([`Settings::compliance`], and a world's own) and patches; on the CPU, or with its blocks on the device (`hybrid`).
    Soft,
}

/// Everything about a step that is not the model's. A plain struct: change what you need, the rest is [`Settings::default`].
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Number type. Default f32.
    pub precision: Precision,
    /// Where the stages run. Default auto.
    pub backend: Backend,
    /// Which device the backends hybrid and gpu run on; the others look at none. Default any: the best, software where there is nothing else. Worlds of one device may be many
    /// batches, and every device may have its own.
    pub device: DeviceChoice,
    /// Threads that step the worlds; a thread is started when there is work for two. Default: `RAYON_NUM_THREADS`, or one a processor. Changes no bit of
    /// any world.
    pub threads: Option<usize>,
    /// Step Δt, s. Default: the model's. Raising it saves steps and coarsens the motion.
    pub dt: Option<f64>,
    /// How free motion is followed through a step. Default: the model's, which is Euler unless its file says otherwise. Runge-Kutta keeps energy
    /// and momentum far longer, for three more evaluations of the dynamics a step; where something touches that is hard, either is of first order.
    pub integrator: Option<Integrator>,
    /// Whether constraints give way. Default hard.
    pub constraints: Constraints,
    /// Friction law. Default cone.
    pub friction: FrictionLaw,
    /// Iteration that solves the blocks. Default auto: Gauss-Seidel while it contracts, then Newton.
    pub algorithm: Algorithm,
    /// Residual at which a block counts as solved, m/s. Default 1e-5 in f32, 1e-10 in f64. Raising it saves sweeps.
    pub tolerance: Option<f64>,
    /// Most sweeps a block and problem. Default 200. Raising it costs time in the hardest worlds only.
    pub iterations: u32,
    /// Sweeps between two looks at the residual. Default 4.
    pub check_every: u32,
    /// Whether a block that missed its tolerance is handed to the exact solver (f64, CPU). Default true.
    pub fallback: bool,
    /// Most multiply-adds that the exact solver may spend on one world in one step (in one evaluation of it, where each is solved: soft constraints with Runge-Kutta), and once more in f64 where the world is stepped again. Default 3e7, some
    /// 20 ms. What is not solved by then is reported as unsolved.
    pub exact_work: u64,
    /// Speed beyond which a world counts as exploded, m/s or rad/s, any entry of v. Default 1e4.
    pub speed_limit: f64,
    /// Newton's coefficient of restitution where the model gives none, 0 to 1. Default 0.
    pub restitution: f64,
    /// Which law holds where impacts meet. Default simultaneous.
    pub impacts: Impacts,
    /// Approach speed below which nothing bounces, m/s. Default 0.02. Lower values let resting contacts rattle.
    pub restitution_threshold: f64,
    /// Share β of an overlap that is pushed out in one step, 0 to 1. Default 0.4. The push moves positions only, never velocities.
    pub stabilization: f64,
    /// Largest push-out speed, m/s (rad/s for limits). Default 2.
    pub push_speed: f64,
    /// Speed by which impulses may close a gap, m/s (rad/s for limits), beyond the free motion and beyond what the hardest impact of the world may
    /// throw: a contact is within reach whose gap they may close within Δt. It is posed; in a model of several trees at once where its gap is a tenth of that at most, and else where an answer without it closes the gap.
    /// Default 1. Raising it looks at more contacts that stay open; lowering it lets impacts press other parts of the robot into the floor before the next step sees it.
    pub contact_speed: f64,
    /// Compliance added to the diagonal of W for normal rows, (m/s)/(N·s). Default 0: hard contact.
    pub compliance: f64,
    /// Most contacts a world, a patch being one; the deepest are kept, and the report says how many there were. Default: no limit.
    pub contact_capacity: Option<usize>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            precision: Precision::F32,
            backend: Backend::Auto,
            device: DeviceChoice::Any,
            threads: None,
            dt: None,
            integrator: None,
            constraints: Constraints::Hard,
            friction: FrictionLaw::Cone,
            algorithm: Algorithm::Auto,
            tolerance: None,
            iterations: 200,
            check_every: 4,
            fallback: true,
            exact_work: 30_000_000,
            speed_limit: 1e4,
            restitution: 0.0,
            impacts: Impacts::Simultaneous,
            restitution_threshold: 0.02,
            stabilization: 0.4,
            push_speed: 2.0,
            contact_speed: 1.0,
            compliance: 0.0,
            contact_capacity: None,
        }
    }
}

impl Settings {
    /// The tolerance in force, m/s.
    pub fn tolerance(&self) -> f64 {
        self.tolerance.unwrap_or(match self.precision {
            Precision::F32 => 1e-5,
            Precision::F64 => 1e-10,
        })
    }

    /// What of it concerns the solver.
    pub fn solve(&self) -> SolveSettings {
        SolveSettings {
            tolerance: self.tolerance(),
            iterations: self.iterations,
            check_every: self.check_every,
            algorithm: self.algorithm,
            law: self.friction,
            gives_way: self.fallback && self.friction == FrictionLaw::Cone,
        }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// [`Error::Argument`] that names the field and what it may be.
    pub fn validate(&self) -> Result<()> {
        let check = |ok: bool, argument: &'static str, wanted: &str| {
            if ok { Ok(()) } else { Err(Error::argument(argument, format!("must be {wanted}"))) }
        };
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let not_negative = |x: f64| x >= 0.0 && x.is_finite();
        let most = format!("from 1 to {MOST_THREADS}");
        check(self.threads.is_none_or(|count| (1..=MOST_THREADS).contains(&count)), "threads", &most)?;
        check(self.dt.is_none_or(positive), "dt", "a positive number of seconds")?;
        check(positive(self.tolerance()), "tolerance", "a positive speed, m/s")?;
        check(self.iterations > 0, "iterations", "at least 1")?;
        check(self.check_every > 0, "check_every", "at least 1")?;
        check(self.speed_limit > 0.0, "speed_limit", "a positive speed")?;
        check((0.0..=1.0).contains(&self.restitution), "restitution", "between 0 and 1")?;
        check(not_negative(self.restitution_threshold), "restitution_threshold", "a speed of at least 0 m/s")?;
        check((0.0..=1.0).contains(&self.stabilization), "stabilization", "between 0 and 1")?;
        check(not_negative(self.push_speed), "push_speed", "a speed of at least 0 m/s")?;
        check(not_negative(self.contact_speed), "contact_speed", "a speed of at least 0 m/s")?;
        check(not_negative(self.compliance), "compliance", "finite and not negative")?;
        check(self.contact_capacity != Some(0), "contact_capacity", "at least 1")?;
        if self.constraints == Constraints::Soft {
            let points = self.friction != FrictionLaw::Patch;
            check(points, "constraints", "hard with friction patch: soft contacts are points")?;
            let simultaneous = self.impacts == Impacts::Simultaneous;
            check(simultaneous, "constraints", "hard with sequential impacts: soft ones take longer than a step")?;
            let plain = self.restitution == 0.0 && self.compliance == 0.0;
            check(
                plain,
                "constraints",
                "hard with restitution or compliance: soft ones have those of the model's solref and solimp",
            )?;
        }
        if self.friction == FrictionLaw::Patch {
            let sweeps = self.algorithm != Algorithm::Jacobi;
            check(sweeps, "friction", "cone or box with solver jacobi: patches are solved by auto and pgs")?;
        }
        Ok(())
    }
}
