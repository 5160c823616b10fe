//! Ranking: scores every memory line and message that has words of the query.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::needle::{Haystack, NeedleMatch, Needles};
use super::score::{Passage, PassageGroup, Rarity, SESSION, counted, worth};
use super::walker::{LogWalker, MessagePosition, TermOccurrence, blocks_of_logs};
use super::{MemoryText, Sources, on_all_cores, over_blocks, with_on_all_cores};
use crate::core::corpus::{Block, Corpus, Occurrence, Part};
use crate::core::text::Stems;

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

/// The matches in one part of one log, in the order of the log.
struct LogOccurrences {
    log: usize,
    part: Part,
    found: Vec<TermOccurrence>,
}

/// All matches, before scoring.
pub(super) struct Occurrences {
    texts: Vec<MemoryOccurrences>,
    logs: Vec<LogOccurrences>,
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
    /// The best messages of each log that has any, best first.
    pub(super) sessions: Vec<Vec<Ranked>>,
    /// The rarity of the needles.
    pub(super) rarity: Rarity,
}

impl Occurrences {
    /// Finds the needles in the memory texts.
    pub(super) fn in_memories(sources: Sources<'_>, needles: &Needles, texts: &[usize]) -> Self {
        let mut occurrences = Self {
            texts: Vec::new(),
            logs: Vec::new(),
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

    /// Adds the needles in one part of the logs.
    pub(super) fn search_logs(&mut self, corpus: &Corpus, needles: &Needles, part: Part) {
        let found = match part.has_concordance() {
            true => in_messages(corpus, needles, part),
            false => in_results(corpus, needles),
        };
        let mut logs: Vec<Vec<TermOccurrence>> = vec![Vec::new(); corpus.logs().len()];
        for (log, occurrence) in found {
            self.with[usize::from(occurrence.needle)] += 1;
            logs[log as usize].push(occurrence);
        }
        for found in &mut logs {
            found.sort_by_key(TermOccurrence::order);
        }
        let logs = logs.into_iter().enumerate();
        self.logs.extend(
            logs.filter(|(_, found)| !found.is_empty())
                .map(|(log, found)| LogOccurrences { log, part, found }),
        );
        self.bytes += corpus.logs().map(|log| log.text_bytes(part)).sum::<u64>();
    }

    /// Returns the number of texts that contain a word of the query.
    pub(super) fn count(&self) -> usize {
        let texts = self.texts.iter().map(|written| {
            let mut passages: Vec<usize> = written.group.counts.iter().map(|c| c.passage).collect();
            passages.dedup();
            passages.len()
        });
        texts.sum::<usize>()
            + self
                .logs
                .iter()
                .map(|log| log.found.chunk_by(|a, b| a.at() == b.at()).count())
                .sum::<usize>()
    }

    /// Scores all texts and returns those that `wants` accepts: all lines of memories, the
    /// `most` best messages, and the best of each log.
    pub(super) fn rank(
        mut self,
        corpus: Option<&Corpus>,
        (most, wants): (usize, &(dyn Fn(&Ranked) -> bool + Sync)),
    ) -> Ranking {
        let rarity = Rarity::new(&self.with, self.bytes);
        let mut lines = Vec::new();
        for written in &self.texts {
            let groups = std::slice::from_ref(&written.group);
            let holder = |_| Holder::Memory(written.memory_text);
            lines.extend(scored(&rarity, groups, holder).filter(wants));
        }
        let best = Best::new(most);
        let sessions = match corpus.filter(|_| !self.logs.is_empty()) {
            Some(corpus) => self.rank_logs(corpus, &rarity, (&best, wants)),
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

    /// Scores the messages of all logs; returns the best of each log.
    fn rank_logs(
        &mut self,
        corpus: &Corpus,
        rarity: &Rarity,
        (best, wants): (&Best, &(dyn Fn(&Ranked) -> bool + Sync)),
    ) -> Vec<Vec<Ranked>> {
        /// How many logs are scored before the memory of their blocks is released.
        const TOGETHER: usize = 16;
        /// How many messages of each log are returned.
        const OF_EACH: usize = SESSION.len();
        let blocks = blocks_of_logs(corpus, Part::Words);
        // Logs in the same blocks are scored together.
        self.logs
            .sort_by_key(|found| (blocks[found.log].first(), found.log, found.part));
        let logs: Vec<&[LogOccurrences]> = self.logs.chunk_by(|a, b| a.log == b.log).collect();
        let groups: Vec<&[&[LogOccurrences]]> = logs.chunks(TOGETHER).collect();
        let sessions = on_all_cores(groups.len(), |group| {
            let mut sessions = Vec::new();
            for parts in groups[group] {
                let log = parts[0].log;
                let mut passages = Vec::new();
                for LogOccurrences { part, found, .. } in *parts {
                    let walker = LogWalker::new(corpus, *part, (log, &blocks[log]));
                    passages.extend(match part {
                        Part::Words => walker.passage_groups(found),
                        Part::Calls | Part::Results => walker.single_passages(found),
                    });
                }
                let mut first: Vec<Ranked> = Vec::with_capacity(OF_EACH + 1);
                for ranked in scored(rarity, &passages, |part| Holder::Log(log, part)) {
                    let place = first
                        .iter()
                        .position(|known| Ranked::compare(&ranked, known).is_lt())
                        .unwrap_or(first.len());
                    let is_first = place < OF_EACH;
                    let may_be_best = best.may_take(ranked.score);
                    if !(is_first || may_be_best) || !wants(&ranked) {
                        continue;
                    }
                    if is_first {
                        first.insert(place, ranked);
                        first.truncate(OF_EACH);
                    }
                    if may_be_best {
                        best.take(ranked);
                    }
                }
                sessions.extend((!first.is_empty()).then_some(first));
            }
            for part in Part::ALL {
                let mine = groups[group].iter().copied().flatten();
                let touched = mine
                    .filter(|found| found.part == part)
                    .flat_map(|found| &found.found)
                    .map(|occurrence| occurrence.block as usize);
                if let (Some(first), Some(last)) = (touched.clone().min(), touched.max()) {
                    corpus.release(part, first..last + 1);
                }
            }
            sessions
        });
        sessions.into_iter().flatten().collect()
    }
}

/// The best messages of all threads. A message that cannot be among them is rejected by its
/// score alone.
struct Best {
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

    fn may_take(&self, score: f32) -> bool {
        score.to_bits() >= self.lowest.load(Ordering::Relaxed)
    }

    fn take(&self, ranked: Ranked) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.push(ranked);
        if self.most > 0 && taken.len() >= self.most.saturating_mul(2) {
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

/// Scores the passages of one log or file; `holder` returns the holder of those of a part.
fn scored<H: Fn(Part) -> Holder>(
    rarity: &Rarity,
    groups: &[PassageGroup],
    holder: H,
) -> impl Iterator<Item = Ranked> + use<H> {
    let mut found = Vec::new();
    rarity.score(groups, &mut found);
    found.into_iter().map(move |(score, passage)| Ranked {
        score,
        holder: holder(passage.part),
        at: passage.at,
    })
}

/// Finds the needles in a part whose messages are indexed; returns logs and occurrences.
fn in_messages(corpus: &Corpus, needles: &Needles, part: Part) -> Vec<(u32, TermOccurrence)> {
    let segments = corpus.segments(part);
    let found = with_on_all_cores(segments, Stems::default, |stems, segment| {
        /// How many blocks are read before their memory is released.
        const TOGETHER: usize = 64;
        let indexed = look_up(corpus, needles, (part, segment, stems));
        let blocks: Vec<&[TermOccurrence]> = indexed.chunk_by(|a, b| a.block == b.block).collect();
        let mut found = Vec::with_capacity(indexed.len());
        for blocks in blocks.chunks(TOGETHER) {
            let number = |indexed: &[TermOccurrence]| indexed[0].block as usize;
            for indexed in blocks {
                // A damaged block is recorded by the corpus.
                if let Some(block) = corpus.block(part, number(indexed)) {
                    let _ = add_block(&block, indexed, &mut found);
                }
            }
            if let (Some(first), Some(last)) = (blocks.first(), blocks.last()) {
                corpus.release(part, number(first)..number(last) + 1);
            }
        }
        found
    });
    found.into_iter().flatten().collect()
}

/// Finds the needles in the results, whose blocks are indexed; returns logs and occurrences.
fn in_results(corpus: &Corpus, needles: &Needles) -> Vec<(u32, TermOccurrence)> {
    let part = Part::Results;
    let mut may_hold = vec![0u32; corpus.blocks(part).len()];
    for segment in 0..corpus.segments(part) {
        for found in look_up(corpus, needles, (part, segment, &mut Stems::default())) {
            may_hold[found.block as usize] |= 1 << found.needle;
        }
    }
    let blocks = (0..may_hold.len()).filter(|block| may_hold[*block] != 0);
    let blocks: Vec<usize> = blocks.collect();
    // Threads that share a regex contend for its scratch space.
    let own = || (Stems::default(), needles.clone());
    over_blocks(corpus, (part, &blocks), own, |own, block, found| {
        // A damaged block is recorded by the corpus.
        let may_hold = may_hold[block.number()];
        let _ = search_block(block, (&own.1, may_hold), (&mut own.0, found));
    })
}

/// Looks the needles up in a segment of the index; returns what it says, by block.
fn look_up(
    corpus: &Corpus,
    needles: &Needles,
    (part, segment, stems): (Part, usize, &mut Stems),
) -> Vec<TermOccurrence> {
    let mut found = Vec::new();
    for (number, needle) in needles.all.iter().enumerate() {
        let take = &mut |is_exact, occurrence: Occurrence| {
            found.push(TermOccurrence {
                block: occurrence.block as u32,
                message: occurrence.message as u16,
                needle: number as u8,
                is_exact,
                times: occurrence.times,
            });
        };
        needle.look_up(corpus, (part, segment), (stems, take));
    }
    // The index has the places of each word in order, so this merges a few sorted lists.
    found.sort_by_key(TermOccurrence::order);
    found
}

/// Adds what the index says about a block, in the order of its messages: log and occurrence.
fn add_block(
    block: &Block<'_>,
    indexed: &[TermOccurrence],
    found: &mut Vec<(u32, TermOccurrence)>,
) -> Option<()> {
    block.logs().next()?;
    let table = block.table()?;
    for forms in indexed.chunk_by(|a, b| (a.message, a.needle) == (b.message, b.needle)) {
        if let Some(log) = table.log(usize::from(forms[0].message)) {
            let whole = TermOccurrence {
                is_exact: forms.iter().any(|form| form.is_exact),
                times: forms.iter().map(|form| form.times).sum(),
                ..forms[0]
            };
            found.push((log as u32, whole));
        }
    }
    Some(())
}

/// Searches a block of results for the needles that are in it.
fn search_block(
    block: &Block<'_>,
    (needles, may_hold): (&Needles, u32),
    (stems, found): (&mut Stems, &mut Vec<(u32, TermOccurrence)>),
) -> Option<()> {
    block.logs().next()?;
    let content = block.read()?;
    let mut places: Vec<NeedleMatch> = Vec::new();
    let haystack = Haystack {
        text: content.text(),
        part: Part::Results,
        may_hold,
    };
    needles.find(haystack, stems, &mut places);
    places.sort_unstable();
    let mut from = 0;
    while from < places.len() {
        let number = content.at(places[from].at);
        let end = content.range(number)?.end;
        let length = places[from..]
            .partition_point(|place| place.at < end)
            .max(1);
        if let Some(message) = content.message(number) {
            for (needle, times, is_exact) in counted(&places[from..from + length]) {
                let occurrence = TermOccurrence {
                    block: u32::try_from(block.number()).ok()?,
                    message: number as u16,
                    needle: needle as u8,
                    is_exact,
                    times,
                };
                found.push((message.log as u32, occurrence));
            }
        }
        from += length;
    }
    Some(())
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

    use super::*;

    proptest! {
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
            for ranked in all.clone().filter(|ranked| best.may_take(ranked.score)) {
                best.take(ranked);
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
