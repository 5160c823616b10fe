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
    std::thread::scope(|scope| {
        for _ in 1..threads().min(count) {
            scope.spawn(run);
        }
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
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
}
