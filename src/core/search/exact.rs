//! Exact search: the lines that contain a literal text, ignoring case.

use std::hash::{Hash, Hasher};
use std::num::NonZeroU64;
use std::ops::Range;

use regex::bytes::Regex;

use super::limits::Limits;
use super::runs::{self, look_up, runs_of};
use super::walker::MessagePosition;
use super::{Sources, over_blocks, with_on_all_cores};
use crate::core::corpus::{
    Block, Corpus, CorpusMessage, MessageTable, Part, Slicing, TextTag, WordLists,
};
use crate::core::log::MessageKind;
use crate::core::text::NumberHasher;

/// A line or a message that contains the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExactMatch {
    /// Memory text and line from 1, or block and number.
    pub(super) at: MessagePosition,
    /// The index of the memory text or the log.
    pub(super) holder: usize,
    /// The line, from 1.
    pub(super) line: u64,
    /// The key that copies of a message share.
    pub(super) copy: Option<CopyKey>,
    /// The byte offset of the match in the line or the message; `None` if that was not read.
    pub(super) offset: Option<usize>,
    /// Whether the match is at word boundaries on both sides. If the text was not read, it may
    /// turn out that it is not.
    pub(super) is_whole: bool,
}

/// Takes matches in a part of the logs.
pub(super) type TakeMatches<'a> = &'a (dyn Fn(Part, Vec<ExactMatch>) + Sync);

/// The key that copies of a message in several logs share: a hash of identity, kind and length.
/// There can be many, so it is small.
pub(super) type CopyKey = NonZeroU64;

/// Returns the key that copies of the message share; `None` if it has no identity.
pub(super) fn copy_key(message: &CorpusMessage<'_>) -> Option<CopyKey> {
    copy_key_of(message.identity, (message.kind, message.length))
}

fn copy_key_of(identity: Option<u64>, more: (MessageKind, u64)) -> Option<CopyKey> {
    let mut hasher = NumberHasher::default();
    (identity?, more).hash(&mut hasher);
    NonZeroU64::new(hasher.finish())
}

/// Selects the messages to search.
#[derive(Clone, Copy)]
pub(super) enum MessageFilter<'a> {
    /// All messages of these logs.
    Logs(&'a [bool]),
    /// The messages that the predicate accepts.
    Messages(&'a (dyn Fn(&CorpusMessage<'_>) -> bool + Sync)),
}

impl MessageFilter<'_> {
    fn allows(self, message: &CorpusMessage<'_>) -> bool {
        match self {
            Self::Logs(logs) => logs.get(message.log) == Some(&true),
            Self::Messages(allows) => allows(message),
        }
    }

    /// Returns the log, the line and the key of a message, if it is allowed; reads as little of it
    /// as possible.
    fn mark(
        self,
        (block, table): (&Block<'_>, &MessageTable<'_>),
        message: usize,
    ) -> Option<(usize, u64, Option<CopyKey>)> {
        match self {
            Self::Logs(logs) => {
                let log = block
                    .log(message)
                    .filter(|log| logs.get(*log) == Some(&true))?;
                let mark = table.mark(message)?;
                let copy = copy_key_of(mark.identity, (mark.kind, mark.length));
                Some((log, mark.line, copy))
            }
            Self::Messages(allows) => {
                let message = table.textless(message).filter(|message| allows(message))?;
                Some((message.log, message.line, copy_key(&message)))
            }
        }
    }
}

/// Finds the memory texts that contain the text: of each the first line, if possible one in which
/// it stands alone. Also returns how many lines contain it.
pub(super) fn in_memories(
    sources: Sources<'_>,
    literal: &Regex,
    texts: &[usize],
) -> (Vec<ExactMatch>, usize) {
    let mut matches = Vec::new();
    let mut lines = 0;
    for number in texts {
        let memory_text = &sources.memories.texts[*number];
        if !literal.is_match(memory_text.text.as_bytes()) {
            continue;
        }
        let mut best: Option<ExactMatch> = None;
        for (line, span) in memory_text.lines() {
            if let Some((offset, is_whole)) = first(literal, &memory_text.text[span]) {
                lines += 1;
                if best.is_none_or(|best| is_whole && !best.is_whole) {
                    best = Some(ExactMatch {
                        at: (*number, line),
                        holder: *number,
                        line: line as u64,
                        copy: None,
                        offset: Some(offset),
                        is_whole,
                    });
                }
            }
        }
        matches.extend(best);
    }
    (matches, lines)
}

/// Finds the messages of some parts that are allowed and contain the text, which `literal`
/// searches; passes a few of one part at a time to `take`.
pub(super) fn in_logs(
    (corpus, parts): (&Corpus, &[Part]),
    (text, literal): (&str, &Regex),
    allows: MessageFilter<'_>,
    (limits, take): (&Limits, TakeMatches<'_>),
) {
    parts.iter().for_each(|part| corpus.note_search(*part));
    let may_be_indexed = text.len() >= runs::SHORTEST && is_run(text);
    let (indexed, others): (Vec<Part>, Vec<Part>) = parts
        .iter()
        .partition(|part| may_be_indexed && part.has_concordance());
    in_index((corpus, &indexed), (text, literal), allows, (limits, take));
    for part in others {
        let blocks = candidate_blocks(corpus, part, text);
        let work = |literal: &mut Regex, block: &Block<'_>, matches: &mut Vec<ExactMatch>| {
            // A damaged block is recorded by the corpus.
            let _ = in_block(block, literal, (allows, matches));
        };
        let own = || literal.clone();
        over_blocks(corpus, (part, &blocks), own, work, |_, found| {
            take(part, found);
        });
    }
}

/// Finds the messages of parts whose messages are indexed.
fn in_index(
    (corpus, parts): (&Corpus, &[Part]),
    (text, literal): (&str, &Regex),
    allows: MessageFilter<'_>,
    (limits, take): (&Limits, TakeMatches<'_>),
) {
    /// A byte is mostly a message, of which more is read; the memory of a slice is released at its
    /// end, which takes time.
    const WITH_MARKS: Slicing = Slicing {
        worth_threads: 1 << 11,
        of_thread: 4,
    };
    let runs = runs_of(text);
    let of_part = |part: &Part| (*part, corpus.words_with(*part, &runs));
    let lists: Vec<(Part, WordLists<'_, TextTag>)> = parts.iter().map(of_part).collect();
    let slices = lists.iter().flat_map(|(part, lists)| {
        let slices = lists.slices(WITH_MARKS).into_iter();
        slices.map(move |spans| (*part, lists, spans))
    });
    let slices: Vec<_> = slices.collect();
    // Threads that share a regex contend for its scratch space.
    let own = || literal.clone();
    with_on_all_cores(slices.len(), own, |literal, slice| {
        let (part, lists, spans) = &slices[slice];
        let lists = (*lists, spans.clone(), runs.len());
        in_spans((corpus, *part), lists, (&*literal, allows), (limits, take));
    });
}

/// Whether the text is inside one word of each message that contains it.
fn is_run(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Finds the messages of some spans of the index that contain the text. They are not read, except
/// those in which a word of the index may be another than the one that is written.
fn in_spans(
    (corpus, part): (&Corpus, Part),
    (lists, spans, count): (&WordLists<'_, TextTag>, Range<usize>, usize),
    (literal, allows): (&Regex, MessageFilter<'_>),
    (limits, take): (&Limits, TakeMatches<'_>),
) {
    /// How many tables are read before their memory is released, which costs time on all cores.
    const TOGETHER: usize = 256;
    let mut matches = Vec::new();
    // The tables that were read since memory was released: how many, of which blocks.
    let mut read = (0, 0..0);
    let mut open: Option<(Block<'_>, Option<MessageTable<'_>>)> = None;
    lists.messages((spans, count), &mut |found| {
        let is_open = open.is_some_and(|(block, _)| block.number() == found.block);
        if !is_open {
            if read.0 == TOGETHER {
                corpus.release(part, std::mem::take(&mut read.1));
                read.0 = 0;
            }
            open = corpus.block(part, found.block).map(|block| {
                // A damaged block is recorded by the corpus.
                let table = block.logs().next().and_then(|_| block.table());
                (block, table)
            });
            let start = if read.0 == 0 {
                found.block
            } else {
                read.1.start
            };
            read = (
                read.0 + 1,
                start.min(found.block)..read.1.end.max(found.block + 1),
            );
        }
        let Some((block, Some(table))) = &open else {
            return;
        };
        let Some((log, line, copy)) = allows.mark((block, table), found.message) else {
            return;
        };
        let (offset, is_whole) = match found.is_folded {
            // Where the text is only a part of words, it does not stand alone.
            false => (None, found.is_whole),
            true => match block.message(found.message, |message| first(literal, message.text)) {
                Some(Some((offset, is_whole))) => (Some(offset), is_whole),
                _ => return,
            },
        };
        matches.push(ExactMatch {
            at: (found.block, found.message),
            holder: log,
            line,
            copy,
            offset,
            is_whole,
        });
        if matches.len() >= limits.group.max(1) {
            limits.hold(matches.len());
            take(part, std::mem::take(&mut matches));
        }
    });
    corpus.release(part, read.1);
    take(part, matches);
}

/// Returns the blocks that may contain the text, in order.
///
/// A run of ASCII letters and digits of the text is inside one word of each message that
/// contains it, so only blocks with such words are searched.
fn candidate_blocks(corpus: &Corpus, part: Part, text: &str) -> Vec<usize> {
    let runs = runs_of(text);
    if runs.is_empty() {
        return (0..corpus.blocks(part).len()).collect();
    }
    let blocks = look_up(corpus, (part, &runs), usize::MAX, |found| found.block);
    blocks.unwrap_or_default()
}

fn in_block(
    block: &Block<'_>,
    literal: &Regex,
    (allows, matches): (MessageFilter<'_>, &mut Vec<ExactMatch>),
) -> Option<()> {
    block.logs().next()?;
    let content = block.scan()?;
    let (table, bytes) = (content.table(), content.bytes());
    let mut from = 0;
    while let Some(found) = literal.find_at(bytes, from) {
        let number = table.at(found.start());
        from = table.range(number)?.end.max(found.start()) + 1;
        let message = content
            .message(number)
            .filter(|message| allows.allows(message));
        // A match of a phrase with a line break could extend into the next message.
        if let Some(message) = message
            && let Some((offset, is_whole)) = first(literal, message.text)
        {
            matches.push(ExactMatch {
                at: (block.number(), number),
                holder: message.log,
                line: message.line,
                copy: copy_key(&message),
                offset: Some(offset),
                is_whole,
            });
        }
        if from > bytes.len() {
            break;
        }
    }
    Some(())
}

/// Returns the offset of the first match at word boundaries, or else of the first match.
pub(super) fn first(literal: &Regex, text: &str) -> Option<(usize, bool)> {
    let mut part = None;
    for found in literal.find_iter(text.as_bytes()) {
        let touches =
            |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
        let before = text[..found.start()].chars().next_back();
        let after = text[found.end()..].chars().next();
        if !touches(before) && !touches(after) {
            return Some((found.start(), true));
        }
        part = part.or(Some((found.start(), false)));
    }
    part
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::fixture::TestHome;
    use super::super::needle::literal;
    use super::*;
    use crate::core::text::fold;

    #[test]
    fn what_equals_a_letter_ignoring_case_is_folded_to_it() {
        for letter in 'a'..='z' {
            let literal = literal(&letter.to_string()).expect("short");
            let all = (0..=u32::from(char::MAX)).filter_map(char::from_u32);
            for same in all.filter(|char| literal.is_match(char.to_string().as_bytes())) {
                assert!(same.is_alphanumeric());
                assert_eq!(fold(&same.to_string()), letter.to_string(), "{same}");
            }
        }
    }

    #[test]
    fn matches_are_passed_on_a_few_at_a_time() {
        const MESSAGES: usize = 5000;
        let talk: Vec<String> = (0..MESSAGES).map(|n| format!("common {n}")).collect();
        let home = TestHome::new(&[], &[talk]);
        let corpus = home.corpus();
        let literal = literal("common").expect("short");
        let limits = Limits {
            group: 100,
            ..Limits::default()
        };
        let found = |filter: MessageFilter<'_>| {
            let batches = Mutex::new(Vec::new());
            let take = |_, found: Vec<ExactMatch>| {
                batches.lock().expect("nobody panics").push(found);
            };
            let of = (&corpus, &[Part::Words][..]);
            in_logs(of, ("common", &literal), filter, (&limits, &take));
            let batches = batches.into_inner().expect("nobody panicked");
            assert!(batches.iter().all(|batch| batch.len() <= 100));
            let mut all = batches.concat();
            all.sort_by_key(|one| one.at);
            all
        };
        let all = found(MessageFilter::Messages(&|_| true));
        assert_eq!(all.len(), MESSAGES);
        assert_eq!(found(MessageFilter::Logs(&[true])), all);
        assert_eq!(found(MessageFilter::Logs(&[false])), []);
    }

    #[test]
    fn a_place_where_it_stands_alone_is_preferred() {
        let at = |needle: &str, text: &str| first(&literal(needle).expect("short"), text);
        assert_eq!(at("auth", "authentic AUTH"), Some((10, true)));
        assert_eq!(at("auth", "authentic"), Some((0, false)));
        assert_eq!(at("auth", "my_auth"), Some((3, false)));
        assert_eq!(at("a.b", "axb"), None);
        assert_eq!(at("É", "café"), Some((3, false)));
        assert_eq!(at("数据", "数据库"), Some((0, false)));
    }
}
