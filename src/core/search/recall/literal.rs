//! Recall of one word or phrase: exactly the memories and messages that contain it.
//!
//! The index tells which messages have a word, but not whether it stands alone there: `_` is no
//! part of a word of the index. So messages that the index found are read only until the first
//! hits are known. If there are more candidates than are held, those that are dropped are not
//! read, and a message in which the word stands alone may be among them.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use regex::bytes::Regex;

use super::super::candidate::{HitCandidate, candidate_of};
use super::super::collected::Collected;
use super::super::exact::{self, CopyKey, ExactMatch, MessageFilter, TakeMatches};
use super::super::needle::literal;
use super::super::ranked::Holder;
use super::{FEW, RecallResult, Search};
use crate::core::corpus::{Corpus, CorpusMessage, Part};

impl Search<'_> {
    /// Runs a query of one word or phrase.
    pub(super) fn exact(&self, text: &str) -> RecallResult {
        let Some(literal) = literal(text) else {
            return RecallResult::default();
        };
        let (memories, lines) = exact::in_memories(self.sources, &literal, &self.texts);
        let memories = memories
            .into_iter()
            .map(|exact_match| candidate_of(exact_match, Holder::Memory(exact_match.holder)));
        let mut candidates: Vec<HitCandidate> = memories.collect();
        let mut total = candidates.len();
        let mut is_cut = false;
        let mut parts: Vec<Part> = Vec::new();
        if let Some(corpus) = self.corpus() {
            let collected = Mutex::new(Collected::new(&self.limits, self.limit));
            let count = || {
                let collected = collected.lock();
                collected.unwrap_or_else(PoisonError::into_inner).count()
            };
            let ranks = || self.log_ranks().to_vec();
            let mut look = |of: &[Part]| {
                parts.extend(of);
                let allows = |message: &CorpusMessage<'_>| self.allows_message(message);
                let take = |part: Part, found: Vec<ExactMatch>| {
                    let found = found.into_iter().map(|exact_match| {
                        candidate_of(exact_match, Holder::Log(exact_match.holder, part))
                    });
                    let collected = collected.lock();
                    let mut collected = collected.unwrap_or_else(PoisonError::into_inner);
                    collected.take(found, &ranks);
                };
                let allowed = match self.allows_whole_logs() {
                    true => MessageFilter::Logs(&self.logs),
                    false => MessageFilter::Messages(&allows),
                };
                let take = (&self.limits, &take as TakeMatches<'_>);
                exact::in_logs((corpus, of), (text, &literal), allowed, take);
            };
            let (first, then) = self.parts();
            look(first);
            if lines + count() < FEW {
                look(then);
            }
            let collected = collected.into_inner();
            let collected = collected.unwrap_or_else(PoisonError::into_inner);
            total += collected.count();
            is_cut = collected.is_cut();
            candidates.extend(collected.finish());
        }
        let (distinct, mut best) = self.read_best(candidates, &literal);
        if let Some(corpus) = self.corpus().filter(|_| is_cut) {
            self.count_copies((corpus, (text, &literal)), &parts, &mut best);
        }
        RecallResult {
            // Copies are known only if all candidates are.
            total: if is_cut { total } else { distinct },
            hits: self.hits(&best, &|_| 0),
        }
    }

    /// Like [`Search::best`]; reads as many of the matches that are only known from the index as
    /// the first hits need.
    fn read_best(
        &self,
        mut candidates: Vec<HitCandidate>,
        literal: &Regex,
    ) -> (usize, Vec<HitCandidate>) {
        self.sort(&mut candidates);
        let mut batch = self.limit.saturating_mul(2);
        loop {
            // The first hits mostly depend on the first candidates only.
            let start = candidates.len().min(batch.saturating_mul(2));
            let (_, best) = self.first(&candidates[..start]);
            let is_read = |best: &[HitCandidate]| best.iter().all(|one| one.offset.is_some());
            if is_read(&best) && (best.len() >= self.limit || start == candidates.len()) {
                let (total, best) = self.first(&candidates);
                if is_read(&best) {
                    return (total, best);
                }
            }
            self.read_first(&mut candidates, batch, literal);
            batch = batch.saturating_mul(2);
        }
    }

    /// Reads the first of the sorted candidates that were not read; those whose place changes are
    /// moved.
    fn read_first(&self, candidates: &mut Vec<HitCandidate>, most: usize, literal: &Regex) {
        let mut left = most;
        let mut moved = Vec::new();
        candidates.retain_mut(|candidate| match candidate.holder {
            Holder::Log(_, part) if candidate.offset.is_none() && left > 0 => {
                left -= 1;
                let read = |message: &CorpusMessage<'_>| exact::first(literal, message.text);
                let found = self.message(part, candidate.at, read).flatten();
                let tier = candidate.tier;
                candidate.read(found);
                let is_moved = candidate.tier != tier;
                moved.extend(is_moved.then_some(*candidate));
                found.is_some() && !is_moved
            }
            _ => true,
        });
        if !moved.is_empty() {
            self.merge(candidates, moved);
        }
    }

    /// Counts the copies of messages in other logs.
    fn count_copies(
        &self,
        (corpus, literal): (&Corpus, (&str, &Regex)),
        parts: &[Part],
        candidates: &mut [HitCandidate],
    ) {
        let copies = candidates.iter().filter_map(|candidate| candidate.copy);
        let wanted: HashSet<CopyKey> = copies.collect();
        if wanted.is_empty() {
            return;
        }
        let is_wanted =
            |message: &CorpusMessage<'_>| exact::copy_key(message).filter(|c| wanted.contains(c));
        let allows = |message: &CorpusMessage<'_>| {
            is_wanted(message).is_some() && self.allows_message(message)
        };
        let logs: Mutex<HashMap<CopyKey, HashSet<usize>>> = Mutex::default();
        let take = |_, found: Vec<ExactMatch>| {
            let mut logs = logs.lock().unwrap_or_else(PoisonError::into_inner);
            for exact_match in found {
                if let Some(copy) = exact_match.copy {
                    logs.entry(copy).or_default().insert(exact_match.holder);
                }
            }
        };
        let allowed = MessageFilter::Messages(&allows);
        exact::in_logs((corpus, parts), literal, allowed, (&self.limits, &take));
        let logs = logs.into_inner().unwrap_or_else(PoisonError::into_inner);
        for candidate in candidates {
            if let Some(logs) = candidate.copy.and_then(|copy| logs.get(&copy)) {
                candidate.copies = logs.len().saturating_sub(1);
            }
        }
    }
}
