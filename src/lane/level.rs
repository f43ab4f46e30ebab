//! Which instruction set a body of lanes runs on.

use std::sync::OnceLock;

/// A piece of work whose body is compiled once for every [`Level`]: implement `run` as `#[inline(always)]`.
pub trait Task {
    /// The levels that the body is compiled for. Default: all.
    const COMPILED: Compiled = Compiled::Everywhere;
    /// What the work returns.
    type Output;
    /// The body.
    fn run(self) -> Self::Output;
}

/// Whether there is code for AVX-512 at all: builds for tests leave it out where it could not run (`build.rs`).
pub(crate) const HAS_AVX512: bool = !cfg!(without_avx512);

/// Whether there is code for x86-64 without AVX2 and FMA.
pub(crate) const HAS_SCALAR: bool = cfg!(any(scalar, not(target_arch = "x86_64")));
/// What a machine gets that this build has no code for.
pub(crate) const NO_SCALAR: &str = "this build has code for processors with AVX2 and FMA only, and this one lacks them: build delassus with the feature `scalar` \
     (of Python's package, in its sources: pip install . --config-settings build-args=\"--features scalar\")";

/// Which levels a [`Task`] is compiled for: large bodies leave out the copies that nobody runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compiled {
    /// Every level.
    Everywhere,
    /// The baseline only.
    Baseline,
    /// AVX2 and AVX-512.
    Packs,
    /// Nowhere: what asks for it never runs.
    Nowhere,
    /// AVX2 only.
    Avx2,
    /// AVX-512 only.
    Avx512,
}

impl Compiled {
    const fn has(self, level: Level) -> bool {
        match level {
            Level::Avx512 => HAS_AVX512 && matches!(self, Self::Everywhere | Self::Packs | Self::Avx512),
            Level::Avx2 => matches!(self, Self::Everywhere | Self::Packs | Self::Avx2),
            Level::Baseline => matches!(self, Self::Everywhere | Self::Baseline),
        }
    }
}

/// The instruction set that the lanes run on. Every level gives the same bits. The default runs everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// x86-64 with AVX-512 (F, DQ, BW, VL) and FMA.
    Avx512,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// Whatever the compiler targets (SSE2 on x86-64, NEON on aarch64). On x86-64 without FMA it is slow, but right.
    #[default]
    Baseline,
}

impl Level {
    /// The best level of this machine.
    #[inline]
    pub fn detect() -> Self {
        // asked for by every part of every stage, so it is kept at hand
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(Self::look)
    }

    /// Asks the processor.
    fn look() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl");
            return if HAS_AVX512 && avx512 { Self::Avx512 } else { Self::Avx2 };
        }
        Self::Baseline
    }

    /// Whether this machine has the features of the level.
    #[inline]
    fn is_here(self) -> bool {
        match Self::detect() {
            Self::Avx512 => true,
            Self::Avx2 => self != Self::Avx512,
            Self::Baseline => self == Self::Baseline,
        }
    }

    /// Every level that this machine can run, best first.
    pub fn available() -> Vec<Self> {
        match Self::detect() {
            Self::Avx512 => vec![Self::Avx512, Self::Avx2, Self::Baseline],
            Self::Avx2 => vec![Self::Avx2, Self::Baseline],
            Self::Baseline => vec![Self::Baseline],
        }
    }

    /// Whether packs of lanes can run here: see [`super::Real::COMPILED`].
    pub fn runs_packs(self) -> bool {
        self != Self::Baseline || !cfg!(target_arch = "x86_64")
    }

    /// Runs `task` compiled for this level, or for the nearest level that it is compiled for and this machine has.
    ///
    /// # Panics
    /// If the task is not compiled for any level of this machine, which a task that keeps the default [`Task::COMPILED`] always is. Nothing in this crate asks for that:
    /// `worlds` chooses the type of its numbers by [`Level::detect`], and what takes one from its caller refuses packs that cannot run here.
    #[inline]
    #[cfg_attr(not(test), expect(clippy::panic, reason = "a mistake in a Task, not in what it is given"))]
    #[allow(unsafe_code)]
    pub fn run<T: Task>(self, task: T) -> T::Output {
        let wanted = [self, Self::Avx2, Self::Avx512, Self::Baseline];
        #[cfg(target_arch = "x86_64")]
        for level in wanted {
            if const { T::COMPILED.has(Self::Avx512) } && level == Self::Avx512 && level.is_here() {
                // SAFETY: `is_here` says that this machine has every feature that this enables.
                return unsafe { task.on_avx512() };
            }
            if const { T::COMPILED.has(Self::Avx2) } && level == Self::Avx2 && level.is_here() {
                // SAFETY: `is_here` says that this machine has every feature that this enables.
                return unsafe { task.on_avx2() };
            }
            if const { T::COMPILED.has(Self::Baseline) } && level == Self::Baseline {
                return task.on_baseline();
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        if const { T::COMPILED.has(Self::Baseline) } && wanted.contains(&Self::Baseline) {
            return task.run();
        }
        panic!("a task compiled for {:?} on a machine of level {:?}", T::COMPILED, Self::detect())
    }
}

/// A task with the instructions of a level. Methods of the task, not functions of this module: so the compiler counts them to the module of the task, and works on
/// several modules at a time.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
trait Levelled: Task {
    /// # Safety
    /// The machine has the features of [`Level::Avx512`].
    unsafe fn on_avx512(self) -> Self::Output;
    /// # Safety
    /// The machine has the features of [`Level::Avx2`].
    unsafe fn on_avx2(self) -> Self::Output;
    /// A function of its own: within the loop that calls it, the compiler would take far longer over so large a body.
    fn on_baseline(self) -> Self::Output;
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
impl<T: Task> Levelled for T {
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
    unsafe fn on_avx512(self) -> T::Output {
        self.run()
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn on_avx2(self) -> T::Output {
        self.run()
    }

    #[inline(never)]
    fn on_baseline(self) -> T::Output {
        self.run()
    }
}
