//! The words of a query in the blocks of the logs, before their messages are scored.

use std::collections::VecDeque;
use std::ops::Range;

use super::limits::Limits;
use super::needle::{Haystack, NeedleMatch, Needles};
use super::score::counted;
use super::term_occurrence::TermOccurrence;
use super::{over_blocks, with_on_all_cores};
use crate::core::corpus::{Block, Corpus, MessageRun, OccurrenceList, Part, SpanLists, WordLists};
use crate::core::text::Stems;

/// All matches in logs that are held.
#[derive(Default)]
pub(super) struct HeldMatches {
    /// By the blocks that were searched together.
    found: Vec<Vec<TermOccurrence>>,
    /// Sorted by log, once all parts have been taken.
    runs: Vec<MatchRun>,
}

/// Matches in one part of one log that follow each other.
struct MatchRun {
    log: u32,
    part: Part,
    /// Which of those that were searched together, and the range in them.
    of: u32,
    range: Range<u32>,
}

/// The matches in one part of one log, in the order of the log.
#[derive(Clone, Copy)]
pub(super) struct PartMatches<'a> {
    runs: &'a [MatchRun],
    all: &'a HeldMatches,
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
    Held(PartMatches<'a>),
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

    /// Adds the next matches of a log, in order; what is found of one needle in a message is one
    /// match.
    fn extend(&mut self, log: u32, matches: impl Iterator<Item = TermOccurrence>) {
        let mut matches = matches.peekable();
        let Some(first) = matches.peek() else {
            return;
        };
        let is_next = self.runs.last().is_some_and(|(last, _)| *last == log)
            && (self.found.last()).is_some_and(|last| last.order() <= first.order());
        if !is_next {
            self.runs.push((log, self.found.len() as u32));
        }
        for one in matches {
            let last = self.found.last_mut();
            let mut is_new_message = true;
            if let Some(last) = last {
                if last.order() == one.order() {
                    *last = last.with(one);
                    continue;
                }
                is_new_message = !last.is_in_message_of(one);
            }
            self.messages += usize::from(is_new_message);
            self.with[one.needle()] += 1;
            self.found.push(one);
        }
    }

    /// Returns each run of matches, with its log.
    fn runs(&self) -> impl Iterator<Item = (u32, Range<u32>)> {
        let ends = self.runs.iter().skip(1).map(|(_, first)| *first);
        let ends = ends.chain([self.found.len() as u32]);
        let runs = self.runs.iter().zip(ends);
        runs.map(|((log, first), end)| (*log, *first..end))
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

impl HeldMatches {
    /// Takes the matches in a part.
    pub(super) fn take(&mut self, part: Part, mut held: Vec<(usize, FoundMatches)>) {
        held.sort_unstable_by_key(|(at, _)| *at);
        for (_, found) in held {
            let of = self.found.len() as u32;
            let runs = found.runs().map(|(log, range)| MatchRun {
                log,
                part,
                of,
                range,
            });
            self.runs.extend(runs);
            self.found.push(found.found);
        }
    }

    /// Returns how many there are.
    pub(super) fn count(&self) -> usize {
        self.found.iter().map(Vec::len).sum()
    }

    /// Brings the matches of each log together; `place` orders the logs.
    pub(super) fn sort_logs<T: Ord>(&mut self, place: impl Fn(usize) -> T) {
        self.runs
            .sort_by_key(|run| (place(run.log as usize), run.log, run.part));
        let mut from = 0;
        while let Some(first) = self.runs.get(from) {
            let is_same = |run: &&MatchRun| (run.log, run.part) == (first.log, first.part);
            let end = from + self.runs[from..].iter().take_while(is_same).count();
            self.sort_runs(from..end);
            from = end;
        }
    }

    /// Merges these runs, which are of one part of one log, unless they are in order.
    fn sort_runs(&mut self, range: Range<usize>) {
        let runs = &self.runs[range.clone()];
        let matches = PartMatches { runs, all: self };
        let mut last = None;
        let are_sorted = matches.slices().all(|slice| {
            let first = slice.first().map(|one| one.order());
            last < first && {
                last = slice.last().map(|one| one.order());
                true
            }
        });
        if are_sorted {
            return;
        }
        // Segments of the index that were built at the same time have blocks in between.
        let mut merged = matches.slices().collect::<Vec<_>>().concat();
        merged.sort_by_key(|one| one.order());
        for run in &mut self.runs[range.clone()] {
            run.range = 0..0;
        }
        let first = &mut self.runs[range.start];
        first.of = self.found.len() as u32;
        first.range = 0..merged.len() as u32;
        self.found.push(merged);
    }

    /// Returns the matches of each log, once they are sorted.
    pub(super) fn by_log(&self) -> impl Iterator<Item = LogMatches<'_>> {
        let logs = self.runs.chunk_by(|a, b| a.log == b.log);
        logs.map(|runs| {
            let parts = runs.chunk_by(|a, b| a.part == b.part);
            let parts = parts.map(|runs| {
                let matches = PartMatches { runs, all: self };
                (runs[0].part, Matches::Held(matches))
            });
            LogMatches {
                log: runs[0].log as usize,
                parts: parts.collect(),
            }
        })
    }
}

impl<'a> PartMatches<'a> {
    /// Returns the matches, in order.
    pub(super) fn slices(self) -> impl Iterator<Item = &'a [TermOccurrence]> {
        let slice = |run: &'a MatchRun| {
            let range = run.range.start as usize..run.range.end as usize;
            &self.all.found[run.of as usize][range]
        };
        let slices = self.runs.iter().map(slice);
        slices.filter(|slice| !slice.is_empty())
    }

    /// Returns the matches of one block after another, in order.
    pub(super) fn blocks(self) -> impl Iterator<Item = &'a [TermOccurrence]> {
        let slices = self.slices();
        slices.flat_map(|slice| slice.chunk_by(|a, b| a.block() == b.block()))
    }
}

impl LogMatches<'_> {
    /// Returns how many matches there are, if they are held.
    pub(super) fn held(&self) -> Option<usize> {
        let held = self.parts.iter().map(|(_, matches)| match matches {
            Matches::Held(found) => Some(found.slices().map(<[_]>::len).sum::<usize>()),
            Matches::In(_) => None,
        });
        held.sum()
    }
}

impl Matches<'_> {
    /// Returns the first and the last block with matches.
    pub(super) fn span(&self) -> Option<(usize, usize)> {
        match self {
            Self::Held(found) => {
                let first = found.slices().next()?.first()?;
                let last = found.slices().last()?.last()?;
                Some((first.block(), last.block()))
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
            let is_before = |found: &TermOccurrence| found.block() < number;
            let mine = &indexed[indexed.partition_point(is_before)..];
            let mine = &mine[..mine.partition_point(|found| found.block() == number)];
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
            found.found.reserve_exact(read(&lists, all));
            lists.each_run(all, |run| found.extend(run.log as u32, matches(run)));
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
            for one in all.chunk_by(|a, b| a.0 == b.0) {
                found.extend(one[0].0, one.iter().map(|(_, one)| *one));
            }
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

/// Reads what the index says about a span; returns how much it is.
fn read(lists: &SpanLists<'_, (u8, bool)>, all: &mut OccurrenceList) -> usize {
    lists.read(all, |(needle, is_exact)| {
        u16::from(needle) << 1 | u16::from(is_exact)
    })
}

/// Returns what the index says about some messages, in order: each form of a needle apart.
fn matches(run: MessageRun<'_>) -> impl Iterator<Item = TermOccurrence> {
    run.words.iter().map(move |word| {
        let (needle, is_exact) = (word.number() >> 1, word.number() & 1 == 1);
        let at = (run.block, run.message(*word));
        TermOccurrence::new(at, needle.into(), (word.times(), is_exact))
    })
}

/// Returns what the index says about a span, by block.
fn by_block(lists: &SpanLists<'_, (u8, bool)>) -> Vec<TermOccurrence> {
    let mut all = OccurrenceList::default();
    let mut found = Vec::with_capacity(read(lists, &mut all));
    lists.each_run(&all, |run| found.extend(matches(run)));
    found.sort_by_key(|one| one.order());
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
    let may_hold = indexed
        .iter()
        .fold(0, |all, found| all | 1 << found.needle());
    search_text((part, block), (needles, may_hold), (stems, found))
}

/// Adds what the index says about a block, in the order of its messages: log and occurrence.
fn add_indexed(block: &Block<'_>, indexed: &[TermOccurrence], found: &mut Vec<Found>) {
    for forms in indexed.chunk_by(|a, b| a.order() == b.order()) {
        if let Some(log) = block.log(forms[0].message()) {
            let others = forms[1..].iter();
            let whole = others.fold(forms[0], |whole, form| whole.with(*form));
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
                let at = (block.number(), number);
                let occurrence = TermOccurrence::new(at, needle, (times, is_exact));
                found.push((message.log as u32, occurrence));
            }
        }
        from += length;
    }
    Some(())
}
