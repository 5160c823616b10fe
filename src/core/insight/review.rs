//! Review: what others wrote since the person last accepted it.
//!
//! [`observe()`] compares a store with what tome last saw of it and records every difference as a
//! change of its own, so that the history also has what agents and other programs wrote. What a
//! person writes with tome counts as accepted; everything else waits in the [`queue()`], which
//! shows it as the difference from the accepted version, until it is accepted or reverted. What an
//! agent only proposes, in patch files, is in the same queue (see [`proposal`]), and what another
//! machine sent (see [`incoming`]). An acceptance is a change in the history, too, and is undone like
//! any other.
//!
//! [`calls_touching()`] and its neighbours find the sessions and messages that wrote a file,
//! [`line_sources()`] those that brought in each of its lines.
//!
//! The state of a store is a file in the history's directory: see [`state`] and [`saved`].

mod attribute;
mod blame;
mod decide;
mod incoming;
mod line_source;
mod observe;
mod patch;
mod proposal;
mod queue;
mod replay;
mod saved;
mod state;
mod why;

pub use attribute::{Attributions, KnownWriter, WrittenLines, attributed, attributions};
pub use decide::{
    Acceptance, Selection, accept, accepted_memories, annotate, plan_revert, plan_reverts,
    set_here_before,
};
pub(crate) use incoming::groups;
pub use incoming::{
    Arrival, ConflictTexts, Incoming, Resolution, Sent, ThreeTexts, decided_incoming,
    forget_decided, incoming_folder, offer, outcome, plan_arrivals, resolve, waiting_incoming,
};
pub use line_source::{LineSource, Reason, line_sources};
pub use observe::{Observed, Writer, observe, observe_files, observe_store, observed_files};
pub use proposal::{add_draft, left_alone};
pub use queue::{HunkPart, Item, ItemChange, ReviewHunk, queue};
pub use state::{Note, count, here_before, is_far_behind, waiting_paths};
pub use why::{
    KnownFiles, TouchingCall, UserWords, calls_of_log, calls_touching, memory_meant,
    words_before_message,
};

#[cfg(test)]
mod tests;
