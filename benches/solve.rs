//! Solves per second of the batched solver alone, by block size, on one thread, beside the residual at which they were reached.
//!
//! `cargo bench --bench solve`. Problems: the sets of `../shared/data/lcp` where they are, else made-up cone problems of the same sizes with the
//! rank that stacks have. f32, cold and warm, tolerance 1e-5 relative to the largest entry of b; the residuals printed are recomputed in f64.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use delassus::lane::{F32x16, Level, Real};
use delassus::lcp::file::read_file;
use delassus::lcp::{Law, Problem, natural_map_residual};
use delassus::solver::{Algorithm, ProblemBatch, SolveSettings, solve_cpu};
use nalgebra::{DMatrix, DVector};
use std::hint::black_box;

/// Problems of a batch: more than one chunk of worlds has.
const COUNT: usize = 1024;

fn made_up(contacts: usize, rank: usize, index: usize) -> Problem {
    let n = 3 * contacts;
    let entry =
        |i: usize, j: usize| ((12.9898 * i as f64 + 78.233 * j as f64 + 3.7 * index as f64).sin() * 43758.5).fract();
    let g = DMatrix::from_fn(n, rank, entry);
    let bias = &g * DVector::from_fn(rank, |j, _| entry(j, n));
    let laws = vec![Law::Cone { friction: 0.7, dimension: 3 }; contacts];
    Problem { name: format!("made up {index}"), delassus: &g * g.transpose(), bias, laws }
}

/// The problem with b about one percent another, still in the range of W.
fn nudged(problem: &Problem) -> Problem {
    let size = 0.01 * problem.bias.amax() / problem.delassus.diagonal().amax();
    let push = DVector::from_fn(problem.bias.len(), |i, _| size * (12.9898 * i as f64 + 1.0).sin());
    Problem { bias: &problem.bias + &problem.delassus * push, ..problem.clone() }
}

/// The problems of a set, or made-up ones; and where they come from.
fn problems(set: &str, contacts: usize, rank: usize) -> (Vec<Problem>, &'static str) {
    let path = format!("{}/../shared/data/lcp/set_{set}.jsonl", env!("CARGO_MANIFEST_DIR"));
    match read_file(path) {
        Ok(records) => (records.into_iter().map(|record| record.problem).collect(), "shared data"),
        Err(_) => ((0..96).map(|k| made_up(contacts, rank, k)).collect(), "made up"),
    }
}

fn solve(c: &mut Criterion) {
    let mut group = c.benchmark_group("solve");
    group.sample_size(10);
    for (set, contacts, rank) in
        [("quad4", 4, 12), ("box4", 4, 6), ("box8", 8, 12), ("box16", 16, 22), ("rand16", 16, 48)]
    {
        let (problems, origin) = problems(set, contacts, rank);
        let many: Vec<&Problem> = problems.iter().cycle().take(COUNT).collect();
        for (name, algorithm) in [("pgs", Algorithm::Pgs), ("auto", Algorithm::Auto)] {
            let settings = SolveSettings { algorithm, iterations: 200, check_every: 4, ..SolveSettings::default() };
            let mut batch = ProblemBatch::<F32x16>::new(many.iter().copied(), settings.law).expect("a batch");
            group.throughput(Throughput::Elements(COUNT as u64));
            // cold: from no impulse; warm: from the answer of a problem whose b is 1 % another
            for start in ["cold", "warm"] {
                let guesses: Vec<Vec<F32x16>> = if start == "warm" {
                    let near: Vec<Problem> = many.iter().map(|problem| nudged(problem)).collect();
                    let mut near = ProblemBatch::<F32x16>::new(near.iter(), settings.law).expect("a batch");
                    solve_cpu(&mut near.batch, Level::detect(), &settings).expect("packs that run here");
                    near.batch.groups.into_iter().map(|g| g.impulse).collect()
                } else {
                    batch.batch.groups.iter().map(|g| vec![F32x16::zero(); g.impulse.len()]).collect()
                };
                group.bench_function(BenchmarkId::new(set, format!("{name}, {start}")), |b| {
                    b.iter(|| {
                        for (g, guess) in batch.batch.groups.iter_mut().zip(&guesses) {
                            g.impulse.copy_from_slice(guess);
                        }
                        solve_cpu(black_box(&mut batch.batch), Level::detect(), &settings)
                            .expect("packs that run here");
                    });
                });
            }
            let mut residuals: Vec<f64> = (batch.impulses().iter().zip(&many))
                .map(|((z, _), problem)| natural_map_residual(problem, z) / problem.bias.amax())
                .collect();
            residuals.sort_by(f64::total_cmp);
            let solved = residuals.iter().filter(|r| **r <= 2e-5).count() as f64 / COUNT as f64;
            let at = |p: f64| residuals[((COUNT - 1) as f64 * p) as usize];
            println!(
                "{set} ({origin}), {name}: residual median {:.1e}, p99 {:.1e}, worst {:.1e}; {:.1} % to 2e-5",
                at(0.5),
                at(0.99),
                at(1.0),
                100.0 * solved
            );
        }
    }
    group.finish();
}

criterion_group!(benches, solve);
criterion_main!(benches);
