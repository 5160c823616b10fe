//! The words of a query in the blocks of the logs, before their messages are scored.

use std::collections::VecDeque;

use super::matches::{FoundMatches, PartPlace};
use super::needle::{Haystack, NeedleMatch, Needles};
use super::score::counted;
use super::term_occurrence::TermOccurrence;
use super::{over_blocks, with_on_all_cores};
use crate::core::corpus::{
    Block, Corpus, LISTS_ONLY, MessageRun, OccurrenceList, Part, SpanLists, WordLists,
};
use crate::core::text::Stems;

/// A match with its log and its block, while blocks are searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) log: u32,
    block: u32,
    pub(super) occurrence: TermOccurrence,
}

/// What the index says about a block, and the number of that.
type IndexedOccurrence = (u32, TermOccurrence);

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
    spans: VecDeque<((Part, usize), Vec<IndexedOccurrence>)>,
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
            let is_before = |(block, _): &IndexedOccurrence| (*block as usize) < number;
            let mine = &indexed[indexed.partition_point(is_before)..];
            let mine = &mine[..mine.partition_point(|(block, _)| *block as usize == number)];
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

/// Finds the needles in these parts of the logs; passes logs and occurrences in a few blocks at a
/// time to `take`.
pub(super) fn search_parts(
    (corpus, parts): (&Corpus, &[Part]),
    needles: &Needles,
    take: &(dyn Fn(PartPlace, FoundMatches) + Sync),
) {
    parts.iter().for_each(|part| corpus.note_search(*part));
    let (indexed, others): (Vec<Part>, Vec<Part>) =
        parts.iter().partition(|part| part.has_concordance());
    search_messages((corpus, &indexed), needles, take);
    for part in others {
        search_results((corpus, part), needles, take);
    }
}

/// Finds the needles in parts whose messages are indexed.
fn search_messages(
    (corpus, parts): (&Corpus, &[Part]),
    needles: &Needles,
    take: &(dyn Fn(PartPlace, FoundMatches) + Sync),
) {
    let mut stems = Stems::default();
    let mut look_up = |part: &Part| (*part, look_up(corpus, needles, (*part, &mut stems)));
    let lists: Vec<(Part, NeedleLists<'_>)> = parts.iter().map(&mut look_up).collect();
    let slices = lists.iter().flat_map(|(part, lists)| {
        let slices = lists.slices(LISTS_ONLY).into_iter();
        slices.map(move |spans| (*part, lists, spans))
    });
    let slices: Vec<_> = slices.collect();
    with_on_all_cores(slices.len(), OccurrenceList::default, |all, slice| {
        let (part, lists, spans) = &slices[slice];
        lists.each_span(spans.clone(), &mut |lists| {
            let mut found = FoundMatches::new(needles.all.len(), read(&lists, all));
            lists.each_run(all, |run| {
                found.extend((run.log as u32, run.block as u32), matches(run));
            });
            take((*part, lists.number), found);
        });
    });
}

/// Finds the needles in a part whose blocks are indexed.
fn search_results(
    (corpus, part): (&Corpus, Part),
    needles: &Needles,
    take: &(dyn Fn(PartPlace, FoundMatches) + Sync),
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
            let mut found = FoundMatches::new(needles.all.len(), all.len());
            for one in all.chunk_by(|a, b| (a.log, a.block) == (b.log, b.block)) {
                let of = (one[0].log, one[0].block);
                found.extend(of, one.iter().map(|found| found.occurrence));
            }
            take((part, at), found);
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
        let counted = (word.times(), is_exact);
        TermOccurrence::new(run.message(*word), needle.into(), counted)
    })
}

/// Returns what the index says about a span, by block.
fn by_block(lists: &SpanLists<'_, (u8, bool)>) -> Vec<IndexedOccurrence> {
    let mut all = OccurrenceList::default();
    let mut found = Vec::with_capacity(read(lists, &mut all));
    lists.each_run(&all, |run| {
        found.extend(matches(run).map(|one| (run.block as u32, one)));
    });
    found.sort_by_key(|(block, one)| (*block, one.order()));
    found
}

/// Finds the needles in a block, about which the index says `indexed`; appends log and occurrence,
/// in order.
fn search_block(
    (part, block): (Part, &Block<'_>),
    (needles, indexed): (&Needles, &[IndexedOccurrence]),
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
        .fold(0, |all, (_, found)| all | 1 << found.needle());
    search_text((part, block), (needles, may_hold), (stems, found))
}

/// Adds what the index says about a block, in the order of its messages: log and occurrence.
fn add_indexed(block: &Block<'_>, indexed: &[IndexedOccurrence], found: &mut Vec<Found>) {
    for forms in indexed.chunk_by(|(_, a), (_, b)| a.order() == b.order()) {
        let (number, first) = forms[0];
        if let Some(log) = block.log(first.message()) {
            let others = forms[1..].iter();
            found.push(Found {
                log: log as u32,
                block: number,
                occurrence: others.fold(first, |whole, (_, form)| whole.with(*form)),
            });
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
                found.push(Found {
                    log: message.log as u32,
                    block: block.number() as u32,
                    occurrence: TermOccurrence::new(number, needle, (times, is_exact)),
                });
            }
        }
        from += length;
    }
    Some(())
}
