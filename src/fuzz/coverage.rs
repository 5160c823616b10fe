//! What code an input reaches, in a build that counts it.
//!
//! With `--cfg tome_coverage` and the flags that CONTRIBUTING names, the compiler adds a counter to
//! every branch, and inputs that reach something new become starts of others. In other builds
//! nothing is new. The counters are the program's, so that one target may run at a time.

/// What all inputs so far have reached.
#[derive(Default)]
pub(super) struct Reached {
    /// For each counter, a bit for each order of magnitude that it has had.
    #[cfg(tome_coverage)]
    seen: Vec<u8>,
}

#[cfg(not(tome_coverage))]
impl Reached {
    /// Whether the last input reached something new.
    #[allow(clippy::unused_self)]
    pub(super) fn is_more(&mut self) -> bool {
        false
    }
}

#[cfg(tome_coverage)]
mod counters {
    use std::sync::{Mutex, PoisonError};

    use super::Reached;

    /// How many counters are read at once; most are zero.
    const TOGETHER: usize = 64;

    /// The counters of one unit of the program.
    struct Counters(*mut u8, usize);

    // SAFETY: They live as long as the program and are used under a lock.
    #[allow(unsafe_code)]
    unsafe impl Send for Counters {}

    static ALL: Mutex<Vec<Counters>> = Mutex::new(Vec::new());

    /// Is called at the start for each unit of the program.
    #[allow(unsafe_code)]
    #[unsafe(no_mangle)]
    extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
        let length = stop.addr() - start.addr();
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        if length > 0 && all.iter().all(|known| known.0 != start) {
            all.push(Counters(start, length));
        }
    }

    impl Reached {
        /// Whether the last input reached something new. Counting begins again.
        pub(in super::super) fn is_more(&mut self) -> bool {
            let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
            self.seen.resize(all.iter().map(|some| some.1).sum(), 0);
            let mut seen = self.seen.as_mut_slice();
            let mut is_more = false;
            for Counters(start, length) in all.iter() {
                // SAFETY: The compiler gave this range, and the target that counts has returned.
                #[allow(unsafe_code)]
                let counters = unsafe { std::slice::from_raw_parts_mut(*start, *length) };
                let (mine, rest) = seen.split_at_mut(*length);
                seen = rest;
                for (counters, seen) in counters.chunks_mut(TOGETHER).zip(mine.chunks_mut(TOGETHER))
                {
                    if counters.iter().fold(0, |any, counter| any | counter) == 0 {
                        continue;
                    }
                    for (counter, seen) in counters
                        .iter()
                        .zip(seen)
                        .filter(|(counter, _)| **counter > 0)
                    {
                        let magnitude = 1 << counter.ilog2();
                        is_more |= *seen & magnitude == 0;
                        *seen |= magnitude;
                    }
                    counters.fill(0);
                }
            }
            is_more
        }
    }
}
