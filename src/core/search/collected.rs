//! The best candidates of an exact search: all of them, as long as they are few.

use std::collections::{HashMap, HashSet};

use super::candidate::{CandidatePlace, HitCandidate};
use super::limits::Limits;
use super::ranked::Holder;

/// The candidates of an exact search in logs. At most [`Limits::candidates`] are held, so that the
/// first ones of the order, without copies, are always among them.
pub(super) struct Collected<'a> {
    limits: &'a Limits,
    most: usize,
    held: Vec<HitCandidate>,
    /// How many there were.
    count: usize,
    /// For each log its rank by path, and the place behind which nothing is needed; known once
    /// candidates have been dropped.
    cut: Option<(Vec<usize>, CandidatePlace)>,
}

impl<'a> Collected<'a> {
    /// Makes room for at least `limit` candidates that are no copies.
    pub(super) fn new(limits: &'a Limits, limit: usize) -> Self {
        Self {
            limits,
            most: limits.candidates.max(limit.saturating_mul(4)).max(8),
            held: Vec::new(),
            count: 0,
            cut: None,
        }
    }

    /// Returns how many candidates there were.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns whether candidates were dropped.
    pub(super) fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// Takes candidates; `ranks` returns for each log its rank by path.
    pub(super) fn take(
        &mut self,
        found: impl Iterator<Item = HitCandidate>,
        ranks: &dyn Fn() -> Vec<usize>,
    ) {
        for candidate in found {
            self.count += 1;
            if let Some((ranks, last)) = &self.cut
                && place(ranks, &candidate) > *last
            {
                continue;
            }
            self.held.push(candidate);
            if self.held.len() >= self.most {
                self.limits.hold(self.held.len());
                self.drop_worse_half(ranks);
            }
        }
        self.limits.hold(self.held.len());
    }

    fn drop_worse_half(&mut self, ranks: &dyn Fn() -> Vec<usize>) {
        /// How many candidates of one line of a log are kept: if the first turns out to be a copy
        /// of a better one, the next takes its place.
        const OF_ONE_LINE: usize = 2;
        let ranks = match self.cut.take() {
            Some((ranks, _)) => ranks,
            None => ranks(),
        };
        self.held
            .sort_unstable_by_key(|candidate| place(&ranks, candidate));
        let mut copies = HashSet::new();
        let mut lines: HashMap<(usize, u64), usize> = HashMap::new();
        self.held.retain(|candidate| {
            let is_new = candidate.copy.is_none_or(|copy| copies.insert(copy));
            let of_line = lines
                .entry((log_of(candidate), candidate.line))
                .or_default();
            *of_line += usize::from(is_new);
            is_new && *of_line <= OF_ONE_LINE
        });
        self.held.truncate(self.most / 2);
        if let Some(last) = self.held.last() {
            let last = place(&ranks, last);
            self.cut = Some((ranks, last));
        }
    }

    /// Returns the candidates, in no order.
    pub(super) fn finish(self) -> Vec<HitCandidate> {
        self.held
    }
}

/// Returns the place of a candidate: whole words come first.
fn place(ranks: &[usize], candidate: &HitCandidate) -> CandidatePlace {
    let rank = ranks.get(log_of(candidate)).copied();
    candidate.place(rank.unwrap_or(usize::MAX))
}

fn log_of(candidate: &HitCandidate) -> usize {
    match candidate.holder {
        Holder::Log(log, _) | Holder::Memory(log) => log,
    }
}
