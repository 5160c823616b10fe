//! Merges segments into one, so that their words stand once.
//!
//! The words of all segments are read in order, side by side, and written as they come, so that
//! a merge holds little of them. The places of a span are copied as they are stored. Small spans
//! that follow each other are joined, and blocks that were replaced are left out of these.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::builder::{FULL, FULL_PLACES};
use super::list::{ListWriter, WordList};
use super::{Segment, SegmentRow, SegmentWords, SegmentWriter, Span, is_hexadecimal, start_of};
use crate::core::Result;

/// A segment that others were merged into.
#[derive(Debug)]
pub(in super::super) struct MergedSegment {
    pub(in super::super) row: SegmentRow,
    pub(in super::super) spans: Vec<Span>,
}

/// Where the places of a span are moved to.
struct Target {
    /// The new span.
    span: u32,
    /// For each block its new first place, if it is current; `None` if the span is copied.
    firsts: Option<Vec<Option<u32>>>,
}

/// The next word of a segment, in the order in which words are written.
struct NextWord<'a> {
    is_hexadecimal: bool,
    /// The first bytes of the word.
    start: u64,
    word: &'a [u8],
    list: WordList<'a>,
    /// The index of the segment.
    segment: usize,
}

impl<'a> NextWord<'a> {
    fn new(segment: usize, (word, list): (&'a [u8], WordList<'a>)) -> Self {
        Self {
            is_hexadecimal: is_hexadecimal(word),
            start: start_of(word),
            word,
            list,
            segment,
        }
    }
}

impl Ord for NextWord<'_> {
    /// The first word is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        let order = |one: &Self| (one.is_hexadecimal, one.start);
        let by_start = order(other).cmp(&order(self));
        by_start
            .then_with(|| other.word.cmp(self.word))
            .then_with(|| other.segment.cmp(&self.segment))
    }
}

impl PartialOrd for NextWord<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for NextWord<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for NextWord<'_> {}

/// Merges segments and passes the new one to `write`, a few bytes at a time; `None` if one of them
/// is damaged. `is_current` says whether a block of the span with this index, counted over all
/// segments, is the current one of its number.
pub(in super::super) fn merge(
    segments: &[Segment<'_>],
    is_current: &dyn Fn(usize, u32) -> bool,
    write: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Option<MergedSegment>> {
    let all: Vec<&Span> = segments.iter().flat_map(Segment::spans).collect();
    let (targets, mut spans) = planned(&all, is_current);
    let mut firsts = Vec::with_capacity(segments.len());
    let mut heap = BinaryHeap::with_capacity(segments.len());
    let mut words: Vec<SegmentWords<'_>> = Vec::with_capacity(segments.len());
    let mut first = 0;
    for (number, segment) in segments.iter().enumerate() {
        firsts.push(first);
        first += segment.spans().len();
        let mut all = segment.words();
        let Some(next) = all.next() else {
            return Ok(None);
        };
        heap.extend(next.map(|next| NextWord::new(number, next)));
        words.push(all);
    }
    let has_messages = segments.first().is_some_and(|first| first.has_messages);
    let mut list = ListWriter::new(has_messages);
    let mut writer = SegmentWriter::default();
    let mut current: Option<(&[u8], bool)> = None;
    loop {
        let top = heap.peek_mut();
        let next = top.as_ref().map(|top| (top.word, top.is_hexadecimal));
        if let Some(done) = current.filter(|_| current != next) {
            let places = list.finish();
            if !places.is_empty() {
                writer.push(done, places);
            }
            list.clear();
            if !writer.out.0.is_empty() {
                write(&writer.out.0)?;
                writer.out.0.clear();
            }
        }
        current = next;
        let Some(mut top) = top else {
            break;
        };
        let number = top.segment;
        let from = firsts[number]..;
        let of = (&all[from.clone()], &targets[from]);
        let moved = move_places(top.list, of, (&mut list, &mut spans));
        let Some(next) = moved.and_then(|()| words[number].next()) else {
            return Ok(None);
        };
        match next {
            Some(next) => *top = NextWord::new(number, next),
            None => drop(PeekMut::pop(top)),
        }
    }
    let row = writer.finish(&spans);
    write(&writer.out.0)?;
    Ok(Some(MergedSegment { row, spans }))
}

/// Returns where each span is moved to, and the new spans; joined ones have no postings yet.
fn planned(all: &[&Span], is_current: &dyn Fn(usize, u32) -> bool) -> (Vec<Target>, Vec<Span>) {
    let mut targets = Vec::with_capacity(all.len());
    let mut spans: Vec<Span> = Vec::new();
    let mut from = 0;
    while from < all.len() {
        let (mut postings, mut places) = (0, 0);
        let small = all[from..].iter().take_while(|span| {
            postings += u64::from(span.postings);
            places += u64::from(span.places);
            postings <= FULL as u64 && places <= u64::from(FULL_PLACES)
        });
        let count = small.count().max(1);
        let new = spans.len() as u32;
        if count == 1 {
            spans.push(all[from].clone());
            targets.push(Target {
                span: new,
                firsts: None,
            });
            from += 1;
            continue;
        }
        let mut joined = Span::default();
        for (number, old) in (from..).zip(&all[from..from + count]) {
            let firsts = old.sizes().map(|(block, places)| {
                is_current(number, block).then(|| {
                    let first = joined.places;
                    joined.blocks.push((block, first));
                    joined.places += places;
                    first
                })
            });
            targets.push(Target {
                span: new,
                firsts: Some(firsts.collect()),
            });
        }
        spans.push(joined);
        from += count;
    }
    (targets, spans)
}

/// Adds the list of a word of a segment, with its spans and where they are moved to, to the new
/// one; `None` if it is damaged.
fn move_places(
    mut from: WordList<'_>,
    (old, targets): (&[&Span], &[Target]),
    (list, spans): (&mut ListWriter, &mut [Span]),
) -> Option<()> {
    while let Some((span, places)) = from.next()? {
        let (old, target) = (old.get(span as usize)?, targets.get(span as usize)?);
        let new = &mut spans[target.span as usize];
        let to = (target.span, new.places);
        let Some(firsts) = &target.firsts else {
            list.copy(to, places);
            continue;
        };
        let mut near = 0;
        let mut is_sound = true;
        places.each(list.has_messages, |place, times| {
            let Some((block, message)) = old.find(place, near) else {
                is_sound = false;
                return;
            };
            near = block;
            if let Some(Some(first)) = firsts.get(block) {
                list.push(to, first + message, times);
                new.postings += 1;
            }
        })?;
        if !is_sound {
            return None;
        }
    }
    Some(())
}
