//! The words of a query in the blocks of the logs, before their messages are scored.

use std::collections::VecDeque;

use super::limits::Limits;
use super::needle::{Haystack, NeedleMatch, Needles};
use super::score::counted;
use super::walker::TermOccurrence;
use super::{on_all_cores, over_blocks};
use crate::core::corpus::{Block, Corpus, Part, SpanLists, WordLists};
use crate::core::text::Stems;

/// The matches in one part of one log, in the order of the log.
pub(super) struct LogOccurrences {
    pub(super) log: usize,
    pub(super) part: Part,
    pub(super) found: Vec<TermOccurrence>,
}

/// A match with its log, while the blocks of a part are searched.
pub(super) type Found = (u32, TermOccurrence);

/// What the threads of a search have found in one part.
pub(super) struct FoundInPart {
    /// By the blocks they are of; `None` if there are too many to hold.
    pub(super) held: Option<Vec<(usize, Vec<Found>)>>,
    /// How many there are, with those of the parts before.
    pub(super) count: usize,
    /// How many messages have a needle.
    pub(super) messages: usize,
    /// How many messages have each needle.
    pub(super) with: Vec<usize>,
}

/// The matches of one log.
pub(super) struct LogMatches<'a> {
    pub(super) log: usize,
    pub(super) parts: Vec<(Part, Matches<'a>)>,
}

/// The matches in one part of a log, in the order of the log.
#[derive(Clone, Copy)]
pub(super) enum Matches<'a> {
    Held(&'a [TermOccurrence]),
    /// The blocks to look them up in.
    In(&'a [usize]),
}

impl FoundInPart {
    /// Takes the matches in a few blocks; `at` orders them.
    pub(super) fn take(&mut self, (at, found): (usize, Vec<Found>), limits: &Limits) {
        for (_, occurrence) in &found {
            self.with[usize::from(occurrence.needle)] += 1;
        }
        self.messages += found.chunk_by(|a, b| a.1.at() == b.1.at()).count();
        self.count += found.len();
        match &mut self.held {
            Some(held) if self.count <= limits.occurrences => {
                limits.hold(self.count);
                held.push((at, found));
            }
            held => *held = None,
        }
    }
}

/// Returns matches by log, in the order of the blocks.
pub(super) fn by_log(
    corpus: &Corpus,
    part: Part,
    mut held: Vec<(usize, Vec<Found>)>,
) -> impl Iterator<Item = LogOccurrences> + use<> {
    held.sort_unstable_by_key(|(at, _)| *at);
    let mut logs: Vec<Vec<TermOccurrence>> = vec![Vec::new(); corpus.logs().len()];
    for (log, occurrence) in held.into_iter().flat_map(|(_, found)| found) {
        logs[log as usize].push(occurrence);
    }
    for found in &mut logs {
        // Segments of the index that were built at the same time have blocks in between.
        found.sort_by_key(TermOccurrence::order);
    }
    let logs = logs.into_iter().enumerate();
    logs.filter(|(_, found)| !found.is_empty())
        .map(move |(log, found)| LogOccurrences { log, part, found })
}

impl Matches<'_> {
    /// Returns the first and the last block with matches.
    pub(super) fn blocks(&self) -> Option<(usize, usize)> {
        match self {
            Self::Held(found) => {
                let block = |occurrence: &TermOccurrence| occurrence.block as usize;
                Some((block(found.first()?), block(found.last()?)))
            }
            Self::In(blocks) => Some((*blocks.first()?, *blocks.last()?)),
        }
    }
}

/// The lists of the needles, each with its needle's number and whether it is of the needle itself.
type NeedleLists<'a> = WordLists<'a, (u8, bool)>;

/// The matches of the block that was looked up last, which mostly is the next one, too, and what
/// the index says about the spans of the last blocks.
#[derive(Default)]
pub(super) struct Lookup<'a> {
    stems: Stems,
    of: Option<(Part, usize)>,
    found: Vec<Found>,
    lists: Vec<(Part, NeedleLists<'a>)>,
    spans: VecDeque<((Part, usize), Vec<TermOccurrence>)>,
}

impl<'a> Lookup<'a> {
    /// Looks up the needles in a block; returns logs and occurrences, in order.
    pub(super) fn look_up(
        &mut self,
        (corpus, needles): (&'a Corpus, &Needles),
        (part, number): (Part, usize),
    ) -> &[Found] {
        if self.of == Some((part, number)) {
            return &self.found;
        }
        self.of = Some((part, number));
        self.found.clear();
        if let Some(block) = corpus.block(part, number)
            && let Some(span) = block.span()
        {
            self.hold_span((corpus, needles), (part, span));
            let held = self.spans.iter().find(|(of, _)| *of == (part, span));
            let indexed = held.map_or(&[][..], |(_, indexed)| indexed);
            let is_before = |found: &TermOccurrence| (found.block as usize) < number;
            let mine = &indexed[indexed.partition_point(is_before)..];
            let mine = &mine[..mine.partition_point(|found| found.block as usize == number)];
            // A damaged block is recorded by the corpus.
            let to = (&mut self.stems, &mut self.found);
            let _ = search_block((part, &block), (needles, mine), to);
        }
        &self.found
    }

    /// Looks up the needles in a span, unless it is one of the last.
    fn hold_span(
        &mut self,
        (corpus, needles): (&'a Corpus, &Needles),
        (part, span): (Part, usize),
    ) {
        /// As many as there are parts, and threads that built the corpus.
        const MOST: usize = 6;
        if self.spans.iter().any(|(of, _)| *of == (part, span)) {
            return;
        }
        if !self.lists.iter().any(|(of, _)| *of == part) {
            let lists = look_up(corpus, needles, (part, &mut self.stems));
            self.lists.push((part, lists));
        }
        let mut indexed = Vec::new();
        if let Some((_, lists)) = self.lists.iter().find(|(of, _)| *of == part) {
            lists.each_span(span..span + 1, &mut |lists| indexed = by_block(&lists));
        }
        self.spans.truncate(MOST - 1);
        self.spans.push_front(((part, span), indexed));
    }
}

/// Finds the needles in a part of the logs; passes logs and occurrences in a few blocks at a time
/// to `take`, with a number that orders them.
pub(super) fn search_part(
    (corpus, part): (&Corpus, Part),
    needles: &Needles,
    take: &(dyn Fn(usize, Vec<Found>) + Sync),
) {
    match part.has_concordance() {
        true => search_messages((corpus, part), needles, take),
        false => search_results((corpus, part), needles, take),
    }
}

/// Finds the needles in a part whose messages are indexed.
fn search_messages(
    (corpus, part): (&Corpus, Part),
    needles: &Needles,
    take: &(dyn Fn(usize, Vec<Found>) + Sync),
) {
    let lists = look_up(corpus, needles, (part, &mut Stems::default()));
    let slices = lists.slices();
    on_all_cores(slices.len(), |slice| {
        lists.each_span(slices[slice].clone(), &mut |lists| {
            let indexed = by_block(&lists);
            let mut found = Vec::with_capacity(indexed.len());
            for indexed in indexed.chunk_by(|a, b| a.block == b.block) {
                if let Some(block) = corpus.block(part, indexed[0].block as usize) {
                    add_indexed(&block, indexed, &mut found);
                }
            }
            take(lists.number, found);
        });
    });
}

/// Finds the needles in a part whose blocks are indexed.
fn search_results(
    (corpus, part): (&Corpus, Part),
    needles: &Needles,
    take: &(dyn Fn(usize, Vec<Found>) + Sync),
) {
    let mut may_hold = vec![0u32; corpus.blocks(part).len()];
    let lists = look_up(corpus, needles, (part, &mut Stems::default()));
    lists.each_span(0..corpus.spans(part), &mut |lists| {
        lists.each(&mut |(needle, _), found| may_hold[found.block] |= 1 << needle);
    });
    let blocks = (0..may_hold.len()).filter(|block| may_hold[*block] != 0);
    let blocks: Vec<usize> = blocks.collect();
    // Threads that share a regex contend for its scratch space.
    let own = || (Stems::default(), needles.clone());
    type Own = (Stems, Needles);
    let work = |(stems, needles): &mut Own, block: &Block<'_>, found: &mut _| {
        // A damaged block is recorded by the corpus.
        let may_hold = may_hold[block.number()];
        let _ = search_text((part, block), (needles, may_hold), (stems, found));
    };
    over_blocks(corpus, (part, &blocks), own, work, take);
}

/// Looks the needles up in the index of a part.
fn look_up<'a>(
    corpus: &'a Corpus,
    needles: &Needles,
    (part, stems): (Part, &mut Stems),
) -> NeedleLists<'a> {
    let mut lists = WordLists::new(corpus, part);
    for (number, needle) in needles.all.iter().enumerate() {
        needle.look_up(number as u8, (part, stems), &mut lists);
    }
    lists
}

/// Returns what the index says about a span, by block.
fn by_block(lists: &SpanLists<'_, (u8, bool)>) -> Vec<TermOccurrence> {
    let mut found = Vec::new();
    lists.each(&mut |(needle, is_exact), occurrence| {
        found.push(TermOccurrence {
            block: occurrence.block as u32,
            message: occurrence.message as u16,
            needle,
            is_exact,
            times: occurrence.times,
        });
    });
    // The index has the places of each word in order, so this merges a few sorted lists.
    found.sort_by_key(TermOccurrence::order);
    found
}

/// Finds the needles in a block, about which the index says `indexed`; appends log and occurrence,
/// in order.
fn search_block(
    (part, block): (Part, &Block<'_>),
    (needles, indexed): (&Needles, &[TermOccurrence]),
    (stems, found): (&mut Stems, &mut Vec<Found>),
) -> Option<()> {
    if indexed.is_empty() {
        return Some(());
    }
    if part.has_concordance() {
        add_indexed(block, indexed, found);
        return Some(());
    }
    let may_hold = indexed.iter().fold(0, |all, found| all | 1 << found.needle);
    search_text((part, block), (needles, may_hold), (stems, found))
}

/// Adds what the index says about a block, in the order of its messages: log and occurrence.
fn add_indexed(block: &Block<'_>, indexed: &[TermOccurrence], found: &mut Vec<Found>) {
    for forms in indexed.chunk_by(|a, b| (a.message, a.needle) == (b.message, b.needle)) {
        if let Some(log) = block.log(usize::from(forms[0].message)) {
            let whole = TermOccurrence {
                is_exact: forms.iter().any(|form| form.is_exact),
                times: forms.iter().map(|form| form.times).sum(),
                ..forms[0]
            };
            found.push((log as u32, whole));
        }
    }
}

/// Searches the text of a block for the needles that may be in it; appends log and occurrence, in
/// order.
fn search_text(
    (part, block): (Part, &Block<'_>),
    (needles, may_hold): (&Needles, u32),
    (stems, found): (&mut Stems, &mut Vec<Found>),
) -> Option<()> {
    block.logs().next()?;
    let content = block.read()?;
    let mut places: Vec<NeedleMatch> = Vec::new();
    let haystack = Haystack {
        text: content.text(),
        part,
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
