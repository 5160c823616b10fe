//! The words of a query in the blocks of the logs, before their messages are scored.

use std::collections::VecDeque;
use std::ops::Range;

use super::limits::Limits;
use super::needle::{Haystack, NeedleMatch, Needles};
use super::score::counted;
use super::walker::TermOccurrence;
use super::{over_blocks, with_on_all_cores};
use crate::core::corpus::{Block, Corpus, OccurrenceList, Part, SpanLists, WordLists};
use crate::core::text::Stems;

/// The matches in one part of one log, in the order of the log.
pub(super) struct LogOccurrences {
    pub(super) log: usize,
    pub(super) part: Part,
    found: LogFound,
}

/// Where the matches of a log are held.
enum LogFound {
    /// In a range of these matches, by their index.
    In(usize, Range<usize>),
    /// Here, because they are of several ranges.
    Here(Vec<TermOccurrence>),
}

/// A match with its log, while a block is searched.
pub(super) type Found = (u32, TermOccurrence);

/// The matches in some blocks.
pub(super) struct FoundMatches {
    found: Vec<TermOccurrence>,
    /// Matches of one log that follow each other and are in order: the log, and the index of the
    /// first.
    runs: Vec<(u32, u32)>,
    /// How many messages have a needle.
    messages: usize,
    /// How many messages have each needle.
    with: Vec<usize>,
}

/// What the threads of a search have found in one part.
pub(super) struct FoundInPart {
    /// By the blocks they are of; `None` if there are too many to hold.
    pub(super) held: Option<Vec<(usize, FoundMatches)>>,
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

impl FoundMatches {
    fn new(needles: usize) -> Self {
        Self {
            found: Vec::new(),
            runs: Vec::new(),
            messages: 0,
            with: vec![0; needles],
        }
    }

    /// Adds the next match of a log; what is found of one needle in a message is one match.
    fn push(&mut self, log: u32, one: TermOccurrence) {
        let before = match self.found.last_mut() {
            Some(last) if last.order() == one.order() => {
                last.is_exact |= one.is_exact;
                last.times += one.times;
                return;
            }
            last => last.map(|last| *last),
        };
        let is_same_log = self.runs.last().is_some_and(|(last, _)| *last == log);
        if !(is_same_log && before.is_some_and(|before| before.order() < one.order())) {
            self.runs.push((log, self.found.len() as u32));
        }
        self.messages += usize::from(before.is_none_or(|before| before.at() != one.at()));
        self.with[usize::from(one.needle)] += 1;
        self.found.push(one);
    }

    /// Returns each run of matches, with its log.
    fn runs(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let ends = self.runs.iter().skip(1).map(|(_, first)| *first as usize);
        let ends = ends.chain([self.found.len()]);
        let runs = self.runs.iter().zip(ends);
        runs.map(|((log, first), end)| (*log as usize, *first as usize..end))
    }
}

impl FoundInPart {
    /// Takes the matches in a few blocks; `at` orders them.
    pub(super) fn take(&mut self, (at, found): (usize, FoundMatches), limits: &Limits) {
        for (sum, with) in self.with.iter_mut().zip(&found.with) {
            *sum += with;
        }
        self.messages += found.messages;
        self.count += found.found.len();
        match &mut self.held {
            Some(held) if self.count <= limits.occurrences => {
                limits.hold(self.count);
                held.push((at, found));
            }
            held => *held = None,
        }
    }
}

/// Divides matches by log; appends them to `all`, which they stay in.
pub(super) fn by_log(
    part: Part,
    mut held: Vec<(usize, FoundMatches)>,
    all: &mut Vec<Vec<TermOccurrence>>,
) -> Vec<LogOccurrences> {
    held.sort_unstable_by_key(|(at, _)| *at);
    let mut runs: Vec<(usize, usize, Range<usize>)> = Vec::new();
    for (_, found) in held {
        let own = found.runs().map(|(log, range)| (log, all.len(), range));
        runs.extend(own);
        all.push(found.found);
    }
    runs.sort_by_key(|(log, ..)| *log);
    let logs = runs.chunk_by(|a, b| a.0 == b.0).map(|runs| LogOccurrences {
        log: runs[0].0,
        part,
        found: match runs {
            [(_, of, range)] => LogFound::In(*of, range.clone()),
            runs => {
                let runs = runs.iter().map(|(_, of, range)| &all[*of][range.clone()]);
                let mut found = runs.collect::<Vec<_>>().concat();
                // Segments of the index that were built at the same time have blocks in between.
                found.sort_by_key(TermOccurrence::order);
                LogFound::Here(found)
            }
        },
    });
    logs.collect()
}

impl LogOccurrences {
    /// Returns the matches; `all` are those that [`by_log`] divided.
    pub(super) fn found<'a>(&'a self, all: &'a [Vec<TermOccurrence>]) -> &'a [TermOccurrence] {
        match &self.found {
            LogFound::In(of, range) => &all[*of][range.clone()],
            LogFound::Here(found) => found,
        }
    }
}

impl LogMatches<'_> {
    /// Returns how many matches there are, if they are held.
    pub(super) fn held(&self) -> Option<usize> {
        let held = self.parts.iter().map(|(_, matches)| match matches {
            Matches::Held(found) => Some(found.len()),
            Matches::In(_) => None,
        });
        held.sum()
    }
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
    take: &(dyn Fn(usize, FoundMatches) + Sync),
) {
    corpus.note_search(part);
    match part.has_concordance() {
        true => search_messages((corpus, part), needles, take),
        false => search_results((corpus, part), needles, take),
    }
}

/// Finds the needles in a part whose messages are indexed.
fn search_messages(
    (corpus, part): (&Corpus, Part),
    needles: &Needles,
    take: &(dyn Fn(usize, FoundMatches) + Sync),
) {
    let lists = look_up(corpus, needles, (part, &mut Stems::default()));
    let slices = lists.slices();
    with_on_all_cores(slices.len(), OccurrenceList::default, |all, slice| {
        lists.each_span(slices[slice].clone(), &mut |lists| {
            let mut found = FoundMatches::new(needles.all.len());
            each_match(&lists, all, |log, one| found.push(log as u32, one));
            take(lists.number, found);
        });
    });
}

/// Finds the needles in a part whose blocks are indexed.
fn search_results(
    (corpus, part): (&Corpus, Part),
    needles: &Needles,
    take: &(dyn Fn(usize, FoundMatches) + Sync),
) {
    let mut may_hold = vec![0u32; corpus.blocks(part).len()];
    let lists = look_up(corpus, needles, (part, &mut Stems::default()));
    lists.each_span(0..corpus.spans(part), &mut |lists| {
        lists.each(&mut |(needle, _), found| may_hold[found.block] |= 1 << needle);
    });
    let blocks = (0..may_hold.len()).filter(|block| may_hold[*block] != 0);
    let blocks: Vec<usize> = blocks.collect();
    let work = |stems: &mut Stems, block: &Block<'_>, found: &mut _| {
        // A damaged block is recorded by the corpus.
        let may_hold = may_hold[block.number()];
        let _ = search_text((part, block), (needles, may_hold), (stems, found));
    };
    over_blocks(
        corpus,
        (part, &blocks),
        Stems::default,
        work,
        |at, all: Vec<Found>| {
            let mut found = FoundMatches::new(needles.all.len());
            all.into_iter().for_each(|(log, one)| found.push(log, one));
            take(at, found);
        },
    );
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

/// Passes what the index says about a span to `take`, with the log, in the order of its blocks:
/// each form of a needle apart.
fn each_match(
    lists: &SpanLists<'_, (u8, bool)>,
    all: &mut OccurrenceList,
    mut take: impl FnMut(usize, TermOccurrence),
) {
    let number = |(needle, is_exact): (u8, bool)| u16::from(needle) << 1 | u16::from(is_exact);
    lists.each_by_message(all, number, |log, number, occurrence| {
        let one = TermOccurrence {
            block: occurrence.block as u32,
            message: occurrence.message as u16,
            needle: (number >> 1) as u8,
            is_exact: number & 1 == 1,
            times: occurrence.times,
        };
        take(log, one);
    });
}

/// Returns what the index says about a span, by block.
fn by_block(lists: &SpanLists<'_, (u8, bool)>) -> Vec<TermOccurrence> {
    let mut found = Vec::new();
    each_match(lists, &mut OccurrenceList::default(), |_, one| {
        found.push(one);
    });
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
            let mut counts = counted(&places[from..from + length]);
            counts.sort_unstable();
            for (needle, times, is_exact) in counts {
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
