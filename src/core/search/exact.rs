//! Exact search: the lines that contain a literal text, ignoring case.

use regex::bytes::Regex;

use super::walker::MessagePosition;
use super::{Sources, over_blocks};
use crate::core::corpus::{Block, Corpus, CorpusMessage, Part};
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
    /// The byte offset of the match in the line or the message.
    pub(super) offset: usize,
    /// Whether the match is at word boundaries on both sides.
    pub(super) is_whole: bool,
}

/// The key that copies of a message in several logs share: identity, kind and length.
pub(super) type CopyKey = (u64, MessageKind, usize);

/// Returns the key that copies of the message share; `None` if it has no identity.
pub(super) fn copy_key(message: &CorpusMessage<'_>) -> Option<CopyKey> {
    Some((message.identity()?, message.kind, message.text.len()))
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
                        offset,
                        is_whole,
                    });
                }
            }
        }
        matches.extend(best);
    }
    (matches, lines)
}

/// Finds the messages of a part that are allowed and contain the text; passes those of a few
/// blocks at a time to `take`.
pub(super) fn in_logs(
    corpus: &Corpus,
    literal: &Regex,
    (part, allows): (Part, MessageFilter<'_>),
    take: &(dyn Fn(Vec<ExactMatch>) + Sync),
) {
    // Threads that share a regex contend for its scratch space.
    let own = || literal.clone();
    let work = |literal: &mut Regex, block: &Block<'_>, matches: &mut Vec<ExactMatch>| {
        // A damaged block is recorded by the corpus.
        let _ = in_block(block, literal, (allows, matches));
    };
    over_blocks(corpus, part, own, work, |_, found| take(found));
}

fn in_block(
    block: &Block<'_>,
    literal: &Regex,
    (allows, matches): (MessageFilter<'_>, &mut Vec<ExactMatch>),
) -> Option<()> {
    block.logs().next()?;
    let table = block.scan()?;
    let bytes = table.bytes();
    let mut from = 0;
    while let Some(found) = literal.find_at(bytes, from) {
        let number = table.at(found.start());
        from = table.range(number)?.end.max(found.start()) + 1;
        let message = table.message(number).filter(|message| allows(message));
        // A match of a phrase with a line break could extend into the next message.
        if let Some(message) = message
            && let Some((offset, is_whole)) = first(literal, message.text)
        {
            matches.push(ExactMatch {
                at: (block.number(), number),
                holder: message.log,
                line: message.line,
                copy: copy_key(&message),
                offset,
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
