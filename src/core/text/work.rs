//! Counts the work of functions that read text of unknown origin.
//!
//! Loops and searches report how many bytes they examine. Tests compare the counts for texts of
//! different sizes; other builds contain no counter.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static EXAMINED: Cell<usize> = const { Cell::new(0) };
}

/// Reports that `bytes` bytes, or as many items, are examined. What is examined twice counts twice.
#[inline]
pub(crate) fn count(bytes: usize) {
    #[cfg(test)]
    EXAMINED.with(|examined| examined.set(examined.get() + bytes));
    #[cfg(not(test))]
    let _ = bytes;
}

/// Searches `text` like `str::find`, and counts the bytes up to the result.
pub(crate) fn find(text: &str, pattern: &str) -> Option<usize> {
    let found = text.find(pattern);
    count(found.unwrap_or(text.len()));
    found
}

/// Runs a function and returns how many bytes it reported.
#[cfg(test)]
pub(crate) fn counted(run: impl FnOnce()) -> usize {
    let before = EXAMINED.with(Cell::get);
    run();
    EXAMINED.with(Cell::get) - before
}
