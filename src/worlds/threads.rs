//! The threads that step worlds: a pool of their own, started when it is first needed, and again in a child after a fork.

use crate::error::{Error, Result};
use rayon::iter::IndexedParallelIterator;
use rayon::iter::plumbing::{Producer, ProducerCallback};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, PoisonError};

/// Whether this code is not optimised: each of the many numbers between two operations of a step then has a place of its own on the stack, more than the 2 MiB that
/// a thread has by default.
const UNOPTIMISED: bool = cfg!(unoptimised);

/// Bytes of the stack of a thread, for code that is not optimised.
const DEEP_STACK: usize = 64 << 20;

/// How many threads, and the pool of them.
#[derive(Debug)]
pub(super) struct Threads {
    count: usize,
    /// The process that started the pool, and the pool.
    pool: Mutex<Option<(u32, Arc<ThreadPool>)>>,
}

impl Threads {
    /// As many as are asked for; else as many as rayon would start: `RAYON_NUM_THREADS`, or one a processor.
    pub fn new(count: Option<usize>) -> Self {
        let variable = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok().filter(|n: &usize| *n > 0);
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        Self { count: count.or_else(variable).unwrap_or_else(processors), pool: Mutex::default() }
    }

    /// Number of threads.
    pub fn count(&self) -> usize {
        if within_a_pool() { rayon::current_num_threads() } else { self.count }
    }

    /// Runs `work`, whose parallel iterators use these threads; or those of the pool that it is called from.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        if within_a_pool() && !UNOPTIMISED {
            return Ok(work());
        }
        Ok(self.pool()?.install(work))
    }

    /// Does `work` on each of `chunks`; wakes no other thread where there is only one chunk.
    pub fn each<T: Send>(
        &self,
        chunks: impl IndexedParallelIterator<Item = T>,
        work: impl Fn(T) + Send + Sync,
    ) -> Result<()> {
        if UNOPTIMISED || self.count() > 1 && chunks.len() > 1 {
            self.run(|| chunks.for_each(work))
        } else {
            chunks.with_producer(InOrder(work));
            Ok(())
        }
    }

    fn pool(&self) -> Result<Arc<ThreadPool>> {
        let mut kept = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        match kept.take() {
            Some((owner, pool)) if owner == process => {
                *kept = Some((owner, pool.clone()));
                return Ok(pool);
            }
            // A fork copies no threads: the pool of the parent would never answer, and would wait for them at its end.
            Some((_, pool)) => std::mem::forget(pool),
            None => {}
        }
        let name = |i| format!("delassus-{i}");
        let pool = ThreadPoolBuilder::new().num_threads(self.count).thread_name(name);
        let pool = if UNOPTIMISED { pool.stack_size(DEEP_STACK) } else { pool };
        let pool = pool.build().map_err(|e| {
            Error::argument("threads", format!("the system does not start {} threads: {e}; use fewer", self.count))
        })?;
        let pool = Arc::new(pool);
        *kept = Some((process, pool.clone()));
        Ok(pool)
    }
}

fn within_a_pool() -> bool {
    rayon::current_thread_index().is_some()
}

/// Does its work on one part after the other, on the thread that calls.
struct InOrder<F>(F);

impl<T, F: Fn(T)> ProducerCallback<T> for InOrder<F> {
    type Output = ();
    fn callback<P: Producer<Item = T>>(self, parts: P) {
        parts.into_iter().for_each(self.0);
    }
}
