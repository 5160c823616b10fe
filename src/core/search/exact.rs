//! Exact search: the lines that contain a literal text, ignoring case.

use regex::bytes::Regex;

use super::needle::MOST;
use super::walker::MessagePosition;
use super::{Sources, on_all_cores, over_blocks, with_on_all_cores};
use crate::core::corpus::{Block, Containing, Corpus, CorpusMessage, Part};
use crate::core::log::MessageKind;

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

/// The key that copies of a message in several logs share: identity, kind and length.
pub(super) type CopyKey = (u64, MessageKind, u64);

/// Returns the key that copies of the message share; `None` if it has no identity.
pub(super) fn copy_key(message: &CorpusMessage<'_>) -> Option<CopyKey> {
    Some((message.identity?, message.kind, message.length))
}

/// The predicate that selects the messages to search.
pub(super) type MessageFilter<'a> = &'a (dyn Fn(&CorpusMessage<'_>) -> bool + Sync);

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

/// Finds the messages of a part that are allowed and contain the text, which `literal` searches;
/// passes those of a few blocks at a time to `take`.
pub(super) fn in_logs(
    corpus: &Corpus,
    (text, literal): (&str, &Regex),
    (part, allows): (Part, MessageFilter<'_>),
    take: &(dyn Fn(Vec<ExactMatch>) + Sync),
) {
    // Threads that share a regex contend for its scratch space.
    let own = || literal.clone();
    if part.has_concordance() && text.len() >= SHORTEST && is_run(text) {
        let run = text.to_ascii_lowercase();
        with_on_all_cores(corpus.segments(part), own, |literal, segment| {
            take(in_segment(corpus, (part, segment), (&run, literal, allows)));
        });
        return;
    }
    let blocks = candidate_blocks(corpus, part, text);
    let work = |literal: &mut Regex, block: &Block<'_>, matches: &mut Vec<ExactMatch>| {
        // A damaged block is recorded by the corpus.
        let _ = in_block(block, literal, (allows, matches));
    };
    over_blocks(corpus, (part, &blocks), own, work, |_, found| take(found));
}

/// Shorter texts are inside so many words that reading all text is faster.
const SHORTEST: usize = 3;

/// Whether the text is inside one word of each message that contains it.
fn is_run(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Finds the messages of a segment that contain the text by its index. They are not read, except
/// those in which a word of the index may be another than the one that is written.
fn in_segment(
    corpus: &Corpus,
    (part, segment): (Part, usize),
    (run, literal, allows): (&str, &Regex, MessageFilter<'_>),
) -> Vec<ExactMatch> {
    let mut found: Vec<(MessagePosition, Containing)> = Vec::new();
    corpus.text_occurrences((part, segment), run, &mut |containing, occurrence| {
        found.push(((occurrence.block, occurrence.message), containing));
    });
    found.sort_unstable();
    let mut matches = Vec::new();
    for same_block in found.chunk_by(|a, b| a.0.0 == b.0.0) {
        let Some(block) = corpus.block(part, same_block[0].0.0) else {
            continue;
        };
        // A damaged block is recorded by the corpus.
        let Some(table) = block.logs().next().and_then(|_| block.table()) else {
            continue;
        };
        for same in same_block.chunk_by(|a, b| a.0 == b.0) {
            let at = same[0].0;
            let Some(message) = table.textless(at.1) else {
                continue;
            };
            if !allows(&message) {
                continue;
            }
            let has = |wanted| same.iter().any(|(_, containing)| *containing == wanted);
            let (offset, is_whole) = match has(Containing::Folded) {
                // Where the text is only a part of words, it does not stand alone.
                false => (None, has(Containing::Whole)),
                true => match block.message(at.1, |message| first(literal, message.text)) {
                    Some(Some((offset, is_whole))) => (Some(offset), is_whole),
                    _ => continue,
                },
            };
            matches.push(ExactMatch {
                at,
                holder: message.log,
                line: message.line,
                copy: copy_key(&message),
                offset,
                is_whole,
            });
        }
    }
    matches
}

/// Returns the blocks that may contain the text, in order.
///
/// A run of ASCII letters and digits of the text is inside one word of each message that
/// contains it, so only blocks with such words are searched.
fn candidate_blocks(corpus: &Corpus, part: Part, text: &str) -> Vec<usize> {
    let mut may_match = vec![true; corpus.blocks(part).len()];
    let runs = text.split(|char: char| !char.is_ascii_alphanumeric());
    for run in runs.filter(|run| run.len() >= SHORTEST).take(MOST) {
        let run = run.to_ascii_lowercase();
        let found = on_all_cores(corpus.segments(part), |segment| {
            let mut blocks = Vec::new();
            corpus.text_occurrences((part, segment), &run, &mut |_, occurrence| {
                blocks.push(occurrence.block);
            });
            blocks
        });
        let mut has_run = vec![false; may_match.len()];
        for block in found.into_iter().flatten() {
            has_run[block] = true;
        }
        for (may_match, has_run) in may_match.iter_mut().zip(has_run) {
            *may_match &= has_run;
        }
    }
    let blocks = may_match.into_iter().enumerate();
    blocks
        .filter_map(|(number, may_match)| may_match.then_some(number))
        .collect()
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
        let message = content.message(number).filter(|message| allows(message));
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
