//! Ranking: scores every memory line and message that has words of the query.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::needle::{Haystack, NeedleMatch, Needles};
use super::score::{Passage, PassageGroup, Rarity, counted, worth};
use super::walker::{LogWalker, MessagePosition, TermOccurrence, blocks_of_logs};
use super::{MemoryText, Sources, on_all_cores, over_blocks};
use crate::core::corpus::{Block, Corpus, Part};
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

/// All matches, before scoring.
pub(super) struct Occurrences {
    texts: Vec<MemoryOccurrences>,
    /// By log; the matches of each in the order of the log.
    logs: Vec<(usize, Vec<TermOccurrence>)>,
    part: Part,
    /// The number of texts that contain each needle.
    with: Vec<usize>,
    bytes: u64,
}

impl Occurrences {
    /// Finds the needles in the memory texts and in one part of the logs.
    pub(super) fn find(
        sources: Sources<'_>,
        needles: &Needles,
        (texts, part): (&[usize], Option<Part>),
    ) -> Self {
        let mut occurrences = Self {
            texts: Vec::new(),
            logs: Vec::new(),
            part: part.unwrap_or(Part::Words),
            with: vec![0; needles.all.len()],
            bytes: 0,
        };
        occurrences.search_memories(sources, needles, texts);
        if let (Some(corpus), Some(part)) = (sources.corpus, part) {
            occurrences.search_logs(corpus, needles, part);
        }
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

    fn search_logs(&mut self, corpus: &Corpus, needles: &Needles, part: Part) {
        // Threads that share a regex contend for its scratch space.
        let own = || (Stems::default(), needles.clone());
        type Own = (Stems, Needles);
        let work = |(stems, needles): &mut Own, block: &Block<'_>, found: &mut _| {
            // A damaged block is recorded by the corpus.
            let _ = match part {
                Part::Words => look_up_block(block, needles, found),
                Part::Tools => search_block(block, needles, (stems, found)),
            };
        };
        let found = over_blocks(corpus, part, own, work);
        let mut logs: Vec<Vec<TermOccurrence>> = vec![Vec::new(); corpus.logs().len()];
        for (log, occurrence) in found {
            self.with[usize::from(occurrence.needle)] += 1;
            logs[log as usize].push(occurrence);
        }
        let logs = logs.into_iter().enumerate();
        self.logs = logs
            .filter(|(_, occurrences)| !occurrences.is_empty())
            .collect();
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
                .map(|(_, found)| found.chunk_by(|a, b| a.at() == b.at()).count())
                .sum::<usize>()
    }

    /// Scores all texts and returns those that `wants` accepts: all lines of memories, and
    /// the `most` best messages, in no particular order.
    pub(super) fn rank(
        &self,
        corpus: Option<&Corpus>,
        (most, wants): (usize, &(dyn Fn(&Ranked) -> bool + Sync)),
    ) -> Vec<Ranked> {
        let rarity = Rarity::new(&self.with, self.bytes);
        let mut all = Vec::new();
        for written in &self.texts {
            let holder = Holder::Memory(written.memory_text);
            let groups = std::slice::from_ref(&written.group);
            all.extend(scored(&rarity, groups, holder).filter(wants));
        }
        if let Some(corpus) = corpus.filter(|_| !self.logs.is_empty()) {
            let best = Best::new(most);
            self.rank_logs(corpus, &rarity, &|ranked| {
                if best.may_take(ranked.score) && wants(&ranked) {
                    best.take(ranked);
                }
            });
            all.extend(best.finish());
        }
        all
    }

    fn rank_logs(&self, corpus: &Corpus, rarity: &Rarity, take: &(dyn Fn(Ranked) + Sync)) {
        /// How many logs are scored before the memory of their blocks is released.
        const TOGETHER: usize = 16;
        let blocks = blocks_of_logs(corpus, self.part);
        // Logs in the same blocks are scored together.
        let mut logs: Vec<&(usize, Vec<TermOccurrence>)> = self.logs.iter().collect();
        logs.sort_by_key(|(log, _)| blocks[*log].first());
        let groups: Vec<&[&(usize, Vec<TermOccurrence>)]> = logs.chunks(TOGETHER).collect();
        on_all_cores(groups.len(), |group| {
            for (log, found) in groups[group] {
                let walker = LogWalker::new(corpus, self.part, (*log, &blocks[*log]));
                let holder = Holder::Log(*log, self.part);
                scored(rarity, &walker.passage_groups(found), holder).for_each(take);
            }
            let touched = groups[group].iter().flat_map(|(log, _)| &blocks[*log]);
            if let (Some(first), Some(last)) = (touched.clone().min(), touched.max()) {
                corpus.release(self.part, *first..last + 1);
            }
        });
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
        b.score.total_cmp(&a.score).then(a.at.cmp(&b.at))
    }
}

fn scored(
    rarity: &Rarity,
    groups: &[PassageGroup],
    holder: Holder,
) -> impl Iterator<Item = Ranked> + use<> {
    let mut found = Vec::new();
    rarity.score(groups, &mut found);
    found.into_iter().map(move |(score, passage)| Ranked {
        score,
        holder,
        at: passage.at,
    })
}

/// Looks the needles up in a block of words; appends log and occurrence, in order.
fn look_up_block(
    block: &Block<'_>,
    needles: &Needles,
    found: &mut Vec<(u32, TermOccurrence)>,
) -> Option<()> {
    block.logs().next()?;
    let number = u32::try_from(block.number()).ok()?;
    let mut occurrences: Vec<TermOccurrence> = Vec::new();
    for (at, needle) in needles.all.iter().enumerate() {
        block.occurrences((needle.stem, needle.exact), &mut |sighting| {
            occurrences.push(TermOccurrence {
                block: number,
                message: sighting.message as u16,
                needle: at as u8,
                is_exact: sighting.is_exact,
                times: sighting.times,
            });
        });
    }
    if occurrences.is_empty() {
        return Some(());
    }
    occurrences.sort_unstable();
    let table = block.table()?;
    for forms in occurrences.chunk_by(|a, b| (a.message, a.needle) == (b.message, b.needle)) {
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

/// Searches the needles in a block of tool text, unless its filter excludes all of them.
fn search_block(
    block: &Block<'_>,
    needles: &Needles,
    (stems, found): (&mut Stems, &mut Vec<(u32, TermOccurrence)>),
) -> Option<()> {
    let may_hold = needles.may_be_in(block);
    if may_hold == 0 {
        return Some(());
    }
    block.logs().next()?;
    let content = block.read()?;
    let mut places: Vec<NeedleMatch> = Vec::new();
    let haystack = Haystack {
        text: content.text(),
        part: Part::Tools,
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
            at: (number, line),
            time: None,
            length: span.len(),
            worth: worth(&memory_text.text[span.clone()]),
        });
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
