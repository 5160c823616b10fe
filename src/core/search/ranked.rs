//! Ranking: scores every memory line and message that has words of the query.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::held_scoring::HeldScoring;
use super::limits::Limits;
use super::log_scoring::LogScoring;
use super::matches::{FoundInParts, HeldMatches, LogMatches, Matches};
use super::needle::{Haystack, Needles};
use super::occurrence::{self, Lookup};
use super::score::{Conversations, Passage, PassageGroup, Rarity, counted, session_score, worth};
use super::walker::{BlocksOfLogs, MessagePosition};
use super::{MemoryText, Sources, on_all_cores, with_on_all_cores};
use crate::core::corpus::{Corpus, Part};
use crate::core::parallel::cores;
use crate::core::text::Stems;

/// Decides whether a text may be a hit.
pub(super) type Wanted<'a> = &'a (dyn Fn(&Ranked) -> bool + Sync);

/// A line of a memory or a message, with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ranked {
    pub(super) score: f32,
    pub(super) holder: Holder,
    pub(super) at: MessagePosition,
}

/// The source of a ranked text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// The memory text with this index; `at` is that index, and the line from 1.
    Memory(usize),
    /// The log with this index; `at` is the block and the message in it.
    Log(usize, Part),
}

/// The matches in one memory text, with its lines as passages.
struct MemoryOccurrences {
    memory_text: usize,
    group: PassageGroup,
}

/// All matches, before scoring.
pub(super) struct Occurrences<'a> {
    needles: &'a Needles,
    limits: &'a Limits,
    texts: Vec<MemoryOccurrences>,
    /// `None` if there are too many to hold.
    logs: Option<HeldMatches>,
    /// The parts of the logs that were searched.
    parts: Vec<Part>,
    /// The number of messages that contain a needle.
    messages: usize,
    /// The number of texts that contain each needle.
    with: Vec<usize>,
    bytes: u64,
}

/// The texts with the best scores.
pub(super) struct Ranking {
    /// All lines of memories.
    pub(super) lines: Vec<Ranked>,
    /// The best messages, best first.
    pub(super) messages: Vec<Ranked>,
    /// The best messages of each log that may be one of the best sessions, best first.
    pub(super) sessions: Vec<Vec<Ranked>>,
    /// The rarity of the needles.
    pub(super) rarity: Rarity,
}

impl<'a> Occurrences<'a> {
    /// Finds the needles in the memory texts.
    pub(super) fn in_memories(
        sources: Sources<'_>,
        (needles, limits): (&'a Needles, &'a Limits),
        texts: &[usize],
    ) -> Self {
        let mut occurrences = Self {
            needles,
            limits,
            texts: Vec::new(),
            logs: Some(HeldMatches::default()),
            parts: Vec::new(),
            messages: 0,
            with: vec![0; needles.all.len()],
            bytes: 0,
        };
        occurrences.search_memories(sources, needles, texts);
        occurrences
    }

    fn search_memories(&mut self, sources: Sources<'_>, needles: &Needles, texts: &[usize]) {
        const TOGETHER: usize = 64;
        let chunks: Vec<&[usize]> = texts.chunks(TOGETHER).collect();
        let found = on_all_cores(chunks.len(), |at| {
            let mut stems = Stems::default();
            let written = chunks[at].iter().filter_map(|number| {
                let group = memory_passages(
                    (*number, &sources.memories.texts[*number]),
                    needles,
                    &mut stems,
                );
                (!group.counts.is_empty()).then_some(MemoryOccurrences {
                    memory_text: *number,
                    group,
                })
            });
            written.collect::<Vec<MemoryOccurrences>>()
        });
        for written in found.into_iter().flatten() {
            for count in &written.group.counts {
                self.with[count.needle] += 1;
            }
            self.texts.push(written);
        }
        let sizes = texts
            .iter()
            .map(|number| sources.memories.texts[*number].text.len() as u64);
        self.bytes += sizes.sum::<u64>();
    }

    /// Adds the needles in these parts of the logs.
    pub(super) fn search_logs(&mut self, corpus: &Corpus, parts: &[Part]) {
        let all = Mutex::new(FoundInParts {
            held: self.logs.is_some().then(Vec::new),
            count: self.logs.as_ref().map_or(0, HeldMatches::count),
            messages: 0,
            with: vec![0; self.with.len()],
        });
        occurrence::search_parts((corpus, parts), self.needles, &|at, found| {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.take((at, found), self.limits);
        });
        let found = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.parts.extend(parts);
        self.messages += found.messages;
        for (sum, with) in self.with.iter_mut().zip(&found.with) {
            *sum += with;
        }
        for part in parts {
            self.bytes += corpus.logs().map(|log| log.text_bytes(*part)).sum::<u64>();
        }
        match (&mut self.logs, found.held) {
            (Some(logs), Some(held)) => logs.take(held),
            (logs, _) => *logs = None,
        }
    }

    /// Returns the number of texts that contain a word of the query.
    pub(super) fn count(&self) -> usize {
        let texts = self.texts.iter().map(|written| {
            let mut passages: Vec<usize> = written.group.counts.iter().map(|c| c.passage).collect();
            passages.dedup();
            passages.len()
        });
        texts.sum::<usize>() + self.messages
    }

    /// Scores all texts and returns those that `wants` accepts: all lines of memories, the
    /// `most` best messages, and the best of at least this many of the best sessions.
    pub(super) fn rank(
        mut self,
        corpus: Option<&Corpus>,
        (most, sessions): (usize, usize),
        wants: Wanted<'_>,
    ) -> Ranking {
        let rarity = Rarity::new(&self.with, self.bytes);
        let mut lines = Vec::new();
        let mut found = Vec::new();
        for MemoryOccurrences { memory_text, group } in &self.texts {
            let mut talks = Conversations::new(rarity.count());
            rarity.add(group, &mut talks);
            rarity.score(group, &talks, &mut found);
            let ranked = found.drain(..).map(|(score, passage)| Ranked {
                score,
                holder: Holder::Memory(*memory_text),
                at: passage.at,
            });
            lines.extend(ranked.filter(wants));
        }
        let (best, best_sessions) = (Best::new(most), Best::new(sessions));
        let sessions = match corpus.filter(|_| self.messages > 0) {
            Some(corpus) => self.rank_logs(corpus, &rarity, (&best, &best_sessions, wants)),
            None => Vec::new(),
        };
        let mut messages = best.finish();
        messages.sort_unstable_by(Ranked::compare);
        Ranking {
            lines,
            messages,
            sessions,
            rarity,
        }
    }

    /// Scores the messages of all logs that may have some of the best or be one of the best
    /// sessions; returns the best of each of these.
    fn rank_logs(
        &mut self,
        corpus: &Corpus,
        rarity: &Rarity,
        (best, best_sessions, wants): (&Best, &Best, Wanted<'_>),
    ) -> Vec<Vec<Ranked>> {
        /// How many logs are scored before the memory of their outlines is released: as few as this,
        /// or as keep each thread busy this often.
        const FEW: usize = 64;
        const OFTEN: usize = 16;
        let blocks: Vec<(Part, BlocksOfLogs)> = Part::ALL
            .into_iter()
            .filter(|part| *part == Part::Words || self.logs.is_none())
            .map(|part| (part, BlocksOfLogs::new(corpus, part)))
            .collect();
        let words = &blocks[0].1;
        // Logs in the same blocks are scored together.
        if let Some(logs) = &mut self.logs {
            logs.sort_logs(words.in_order());
        }
        let logs = self.matches(&blocks);
        let scoring = LogScoring {
            corpus,
            needles: self.needles,
            limits: self.limits,
            rarity,
            best,
            wants,
        };
        let make = || (Lookup::default(), HeldScoring::new(corpus, rarity.count()));
        let together = FEW.max(logs.len() / (OFTEN * cores()));
        let groups: Vec<&[LogMatches<'_>]> = logs.chunks(together).collect();
        let sessions = with_on_all_cores(groups.len(), make, |(lookup, held), group| {
            let mut sessions = Vec::new();
            for found in groups[group] {
                let of = (found, words.of(found.log));
                let is_held = found
                    .held()
                    .is_some_and(|count| count <= self.limits.passages);
                let first = match is_held {
                    true => held.rank(of, &scoring, best_sessions),
                    false => scoring.rank(of, lookup),
                };
                if let Some(ranked) = first.first() {
                    best_sessions.take(Ranked {
                        score: session_score(first.iter().map(|ranked| ranked.score)),
                        ..*ranked
                    });
                    sessions.push(first);
                }
            }
            release(corpus, groups[group]);
            sessions
        });
        sessions.into_iter().flatten().collect()
    }

    /// Returns the matches of each log, by what is held, or by the blocks of each part; the words are
    /// the first of these.
    fn matches<'b>(&'b self, blocks: &'b [(Part, BlocksOfLogs)]) -> Vec<LogMatches<'b>> {
        if let Some(logs) = &self.logs {
            return logs.by_log().collect();
        }
        let logs = blocks
            .first()
            .map_or(&[][..], |(_, words)| words.in_order());
        let matches = logs.iter().map(|log| {
            let parts = blocks.iter();
            let parts = parts.filter(|(part, _)| self.parts.contains(part));
            LogMatches::new(
                *log,
                parts.map(|(part, blocks)| (*part, Matches::In(blocks.of(*log)))),
            )
        });
        matches.collect()
    }
}

/// Releases the memory of the outlines of logs that were scored.
fn release(corpus: &Corpus, logs: &[LogMatches<'_>]) {
    for part in Part::ALL {
        let mine = logs.iter().filter_map(|found| found.part(part));
        let spans = mine.filter_map(|matches| matches.span());
        let first = spans.clone().map(|(first, _)| first).min();
        if let (Some(first), Some(last)) = (first, spans.map(|(_, last)| last).max()) {
            corpus.release_outlines(part, first..last + 1);
        }
    }
}

/// The best messages of all threads. A message that cannot be among them is rejected by its
/// score alone.
pub(super) struct Best {
    most: usize,
    /// The bits of the lowest score that is still accepted. Scores are not negative, so
    /// their bits have the same order.
    lowest: AtomicU32,
    taken: Mutex<Vec<Ranked>>,
}

impl Best {
    fn new(most: usize) -> Self {
        Self {
            most,
            lowest: AtomicU32::new(0),
            taken: Mutex::default(),
        }
    }

    #[inline]
    pub(super) fn may_take(&self, score: f32) -> bool {
        score.to_bits() >= self.lowest.load(Ordering::Relaxed)
    }

    pub(super) fn take(&self, ranked: Ranked) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.push(ranked);
        if taken.len() >= self.most.saturating_mul(2) {
            self.drop_others(&mut taken);
        }
    }

    fn drop_others(&self, taken: &mut Vec<Ranked>) {
        if self.most > 0 {
            let (_, last, _) = taken.select_nth_unstable_by(self.most - 1, Ranked::compare);
            self.lowest.store(last.score.to_bits(), Ordering::Relaxed);
            taken.truncate(self.most);
        }
    }

    fn finish(self) -> Vec<Ranked> {
        let taken = self.taken.into_inner();
        let mut taken = taken.unwrap_or_else(PoisonError::into_inner);
        if taken.len() > self.most {
            taken.select_nth_unstable_by(self.most, Ranked::compare);
            taken.truncate(self.most);
        }
        taken
    }
}

impl Ranked {
    /// Orders by descending score, then by position.
    pub(super) fn compare(a: &Self, b: &Self) -> std::cmp::Ordering {
        b.score
            .total_cmp(&a.score)
            .then_with(|| a.holder.order().cmp(&b.holder.order()))
            .then(a.at.cmp(&b.at))
    }
}

impl Holder {
    fn order(self) -> (usize, Part) {
        match self {
            Self::Memory(number) => (number, Part::Words),
            Self::Log(log, part) => (log, part),
        }
    }
}

/// Returns the group of a memory text's lines, with their matches.
fn memory_passages(
    (number, memory_text): (usize, &MemoryText),
    needles: &Needles,
    stems: &mut Stems,
) -> PassageGroup {
    let mut group = PassageGroup::default();
    let mut places = Vec::new();
    needles.find(Haystack::of_words(&memory_text.text), stems, &mut places);
    if places.is_empty() {
        return group;
    }
    places.sort_unstable();
    let mut from = 0;
    for (line, span) in memory_text.lines() {
        group.passages.push(Passage {
            part: Part::Words,
            at: (number, line),
            time: None,
            length: span.len(),
            worth: worth(&memory_text.text[span.clone()]),
        });
        // Lines of structure are no passages.
        from += places[from..].partition_point(|place| place.at < span.start);
        let length = places[from..].partition_point(|place| place.at < span.end);
        let counts = counted(&places[from..from + length]);
        group.count(group.passages.len() - 1, &counts);
        from += length;
    }
    group
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::MemoryTexts;
    use super::super::fixture::TestHome;
    use super::*;
    use crate::core::query::{Query, noon};

    /// Ranks the messages of the logs for these words.
    fn ranked(corpus: &Corpus, words: &str, most: (usize, usize)) -> Ranking {
        let query = Query::parse(words, &noon()).expect("it is a query");
        let (needles, limits) = (Needles::of(&query), Limits::default());
        let memories = MemoryTexts::default();
        let sources = Sources {
            memories: &memories,
            corpus: Some(corpus),
        };
        let mut found = Occurrences::in_memories(sources, (&needles, &limits), &[]);
        found.search_logs(corpus, &[Part::Words]);
        found.rank(Some(corpus), most, &|_| true)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn a_log_that_is_not_scored_has_none_of_the_best_messages_and_is_none_of_the_best_sessions(
            logs in proptest::collection::vec(
                proptest::collection::vec("((fox|owl|hen) ){0,3}(with a few more words|[xyz]{1,9} ?)", 1..12),
                12..40,
            ),
            sessions in 1usize..4,
            most in 1usize..12,
        ) {
            let home = TestHome::new(&[], &logs);
            let corpus = home.corpus();
            let all = ranked(&corpus, "fox owl hen", (10_000, 10_000));
            let few = ranked(&corpus, "fox owl hen", (most, sessions));
            prop_assert_eq!(&few.messages, &all.messages[..most.min(all.messages.len())]);
            let best = |ranking: &Ranking| {
                let score = |first: &Vec<Ranked>| session_score(first.iter().map(|one| one.score));
                let mut best = ranking.sessions.clone();
                best.sort_by(|a, b| score(b).total_cmp(&score(a)).then(Ranked::compare(&a[0], &b[0])));
                best.truncate(sessions);
                best
            };
            prop_assert_eq!(best(&few), best(&all));
        }

        #[test]
        fn the_best_are_those_of_a_sorted_list(
            scores in proptest::collection::vec(0u8..40, 0..300),
            most in 1usize..40,
        ) {
            let all = scores.iter().enumerate().map(|(at, score)| Ranked {
                score: f32::from(*score) / 7.0,
                holder: Holder::Log(0, Part::Words),
                at: (at / 9, at % 9),
            });
            let best = Best::new(most);
            for ranked in all.clone() {
                if best.may_take(ranked.score) {
                    best.take(ranked);
                }
            }
            let mut found = best.finish();
            found.sort_by(Ranked::compare);
            let mut expected: Vec<Ranked> = all.collect();
            expected.sort_by(Ranked::compare);
            expected.truncate(most);
            prop_assert_eq!(found, expected);
        }
    }
}
