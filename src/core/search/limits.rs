//! How much of what a search finds is held at one time. A log can have millions of matches; what
//! exceeds the limits is looked up again, or is no longer needed.

#[cfg(test)]
use std::sync::Arc;
#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};

/// The limits of a search.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// How many occurrences of words are held; if there are more, they are looked up again for
    /// each log.
    pub(super) occurrences: usize,
    /// How many passages of one log are held; if there are more, they are built twice.
    pub(super) passages: usize,
    /// How many passages are scored together, and how many matches of one thread are passed on
    /// together.
    pub(super) group: usize,
    /// How many candidates of an exact search are held; if there are more, the worse half is
    /// dropped.
    pub(super) candidates: usize,
    /// How many lines of a search while typing are held; if there are more, the worse ones are
    /// dropped.
    pub(super) lines: usize,
    /// How many messages with the words are remembered for the next query.
    pub(super) messages: usize,
    /// The most that was held.
    #[cfg(test)]
    pub(super) peak: Arc<AtomicUsize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            occurrences: 1 << 21,
            passages: 1 << 16,
            group: 1 << 12,
            candidates: 1 << 16,
            lines: 1 << 12,
            messages: 200_000,
            #[cfg(test)]
            peak: Arc::default(),
        }
    }
}

impl Limits {
    /// Reports that this many items are held.
    pub(super) fn hold(&self, count: usize) {
        #[cfg(test)]
        self.peak.fetch_max(count, Ordering::Relaxed);
        #[cfg(not(test))]
        let _ = count;
    }
}
