//! Work on several cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Runs `work` for every number below `count` on all cores, at most [`threads`] of them, and returns
/// the results in order.
pub(crate) fn on_all_cores<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    with_on_all_cores(count, || (), |(), number| work(number))
}

/// Returns the number of cores. The system is queried once, because it reads several files for the
/// answer: a tenth of the time of a quick search.
pub(crate) fn all_cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Returns the number of threads that are worth starting for a search, at most eight.
fn threads() -> usize {
    const MOST: usize = 8;
    all_cores().min(MOST)
}

/// Like [`on_all_cores`], with a value that each thread makes once and reuses.
pub(crate) fn with_on_all_cores<S, T: Send>(
    count: usize,
    make: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> T + Sync,
) -> Vec<T> {
    if count < 2 || threads() == 1 {
        let mut own = make();
        return (0..count).map(|number| work(&mut own, number)).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(count));
    let run = || {
        let mut own = make();
        let mut mine = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            mine.push((number, work(&mut own, number)));
        }
        done.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(mine);
    };
    let processor = processor::current();
    std::thread::scope(|scope| {
        for _ in 1..threads().min(count) {
            scope.spawn(|| {
                processor::leave(processor);
                run();
            });
        }
        // Gives a thread that was put on this processor the time to leave it.
        std::thread::yield_now();
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The processor that a thread runs on. Linux often puts a new thread on that of its starter, and
/// moves it some milliseconds later only: a quick search would end on one core before that.
#[cfg(target_os = "linux")]
mod processor {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

    pub(in crate::core) fn current() -> usize {
        sched_getcpu()
    }

    /// Moves this thread to another processor if it is on this one. It may come back later.
    pub(in crate::core) fn leave(processor: usize) {
        let Ok(all) = sched_getaffinity(None) else {
            return;
        };
        if without(all, processor).is_some_and(|others| sched_setaffinity(None, &others).is_ok()) {
            // It was permitted before, so it is permitted now.
            let _ = sched_setaffinity(None, &all);
        }
    }

    /// Returns the other processors of a set; `None` if there are none, or no such processor.
    pub(in crate::core) fn without(mut set: CpuSet, processor: usize) -> Option<CpuSet> {
        if processor >= CpuSet::MAX_CPU {
            return None;
        }
        set.unset(processor);
        (set.count() > 0).then_some(set)
    }
}

/// On other systems this is left to the system.
#[cfg(not(target_os = "linux"))]
mod processor {
    pub(in crate::core) fn current() {}

    pub(in crate::core) fn leave((): ()) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_their_numbers() {
        for count in [0, 1, 2, 500] {
            let expected: Vec<usize> = (0..count).map(|number| number * 3).collect();
            assert_eq!(on_all_cores(count, |number| number * 3), expected);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_leaves_a_processor_for_another_and_may_come_back() {
        use rustix::thread::{CpuSet, sched_getaffinity};
        let mut two = CpuSet::new();
        two.set(0);
        two.set(3);
        let other = processor::without(two, 0).expect("there is another");
        assert!(other.is_set(3) && other.count() == 1);
        assert!(processor::without(other, 3).is_none());
        assert!(processor::without(two, 100_000).is_none());
        let allowed = || sched_getaffinity(None).expect("readable");
        let before = allowed();
        for processor in [processor::current(), 100_000] {
            processor::leave(processor);
            assert!(allowed() == before);
        }
    }
}
