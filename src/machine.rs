//! What this machine can do at most, measured: the limits beside which a bench puts its figures.

use crate::lane::{Compiled, F32x16, Level, Pack, Task};
#[cfg(target_arch = "x86_64")]
use crate::lane::{HAS_AVX512, Pair, Wide};
use std::hint::black_box;
use std::marker::PhantomData;
use std::time::Instant;

/// Independent sums: more than a fused multiply-add takes cycles to finish, few enough for registers.
const SUMS: usize = 12;
/// Rounds between two looks at the clock.
const ROUNDS: usize = 1 << 18;
/// Numbers of an array that no cache holds.
const LARGE: usize = 1 << 24;
/// Times that a limit is measured; the best counts.
const TRIES: usize = 5;

/// The most that one thread can do while all work, or a device (`gpu::Device::measured_limits`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Floating-point operations in f32 lanes, fused multiply-adds from registers as two, 1/s.
    pub operations: f64,
    /// Bytes copied from memory to memory, read and written, 1/s.
    pub bytes: f64,
}

/// Measures the limits of so many threads, all at once, but of no more than there are processors; takes about a second. Default: as many as
/// [`Settings::threads`](crate::Settings::threads) has by default.
pub fn limits(threads: Option<usize>) -> Limits {
    // each takes memory that no cache holds
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = threads.unwrap_or_else(rayon::current_num_threads).clamp(1, processors);
    let best = |of: fn() -> f64| {
        let together = || {
            std::thread::scope(|scope| {
                let all: Vec<_> = (0..threads).map(|_| scope.spawn(of)).collect();
                all.into_iter().map(|thread| thread.join().unwrap_or_default()).sum::<f64>() / threads as f64
            })
        };
        (0..TRIES).map(|_| together()).fold(0.0, f64::max)
    };
    Limits { operations: best(operations), bytes: best(bytes) }
}

/// Fused multiply-adds in lanes of R.
struct MultiplyAdds<R>(PhantomData<R>);

impl<R: Pack> Task for MultiplyAdds<R> {
    const COMPILED: Compiled = R::COMPILED;
    type Output = R;
    #[inline(always)]
    fn run(self) -> R {
        let (a, b) = (R::constant(black_box(0.999)), R::constant(black_box(1e-3)));
        let mut sums = [R::one(); SUMS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = sum.mul_add(a, b);
            }
        }
        let mut total = R::zero();
        for sum in sums {
            total += sum;
        }
        total
    }
}

fn rate<R: Pack>(level: Level) -> f64 {
    let start = Instant::now();
    black_box(level.run(MultiplyAdds::<R>(PhantomData)));
    (2 * SUMS * ROUNDS * R::LANES) as f64 / start.elapsed().as_secs_f64()
}

fn operations() -> f64 {
    let level = Level::detect();
    #[cfg(target_arch = "x86_64")]
    if const { HAS_AVX512 } && level == Level::Avx512 {
        return rate::<Wide>(level);
    }
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx2 {
        return rate::<Pair>(level);
    }
    if level.runs_packs() { rate::<F32x16>(level) } else { rate::<f32>(level) }
}

fn bytes() -> f64 {
    let (from, mut to) = (black_box(vec![1.0f32; LARGE]), vec![0.0f32; LARGE]);
    let start = Instant::now();
    to.copy_from_slice(&from);
    black_box(&mut to);
    (2 * size_of_val(&from[..])) as f64 / start.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_of_this_world() {
        let limits = limits(None);
        println!("{limits:?}");
        assert!(limits.operations > 1e8 && limits.operations < 1e13, "{limits:?}");
        assert!(limits.bytes > 1e7 && limits.bytes < 1e13, "{limits:?}");
    }
}
