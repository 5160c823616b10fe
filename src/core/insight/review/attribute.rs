//! Which sessions wrote what waits: the logs name the session of each line of a difference, and what
//! several sessions did to one file becomes an item of each.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::line_source::changes_of;
use super::queue::{Item, ItemChange, ReviewHunk, short_hash};
use super::replay::{Replay, Step};
use super::why::{TouchingCall, calls_touching_any};
use crate::core::change::history::{Author, History, Origin};
use crate::core::log::touch::FileUse;
use crate::core::search::index::Corpus;

/// An agent, and the message by which it wrote.
pub type KnownWriter = (Author, Origin);

fn session(writer: Option<&KnownWriter>) -> Option<&str> {
    writer.map(|(_, origin)| origin.session.as_str())
}

/// Who wrote some lines of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenLines {
    /// The lines, counted in the text of the hunk.
    pub lines: Range<usize>,
    /// `None` if the logs do not tell.
    pub by: Option<KnownWriter>,
}

/// Who wrote the hunks, by the ids of the hunks. An item without hunks stands here with its own id.
pub type Attributions = HashMap<String, Vec<WrittenLines>>;

/// Finds who wrote the items of a store whose message is not known. Where the session is known, from
/// a hook, only its own calls count.
pub fn attributions(
    corpus: &Corpus,
    history: &History,
    root: &Path,
    items: &[Item],
) -> Attributions {
    let unknown = || items.iter().filter(|item| !item.has_message());
    let files: Vec<PathBuf> = unknown().map(|item| root.join(&item.file)).collect();
    let mut found = Attributions::new();
    if files.is_empty() {
        return found;
    }
    let mut by_file: HashMap<PathBuf, Vec<TouchingCall>> = HashMap::new();
    for call in calls_touching_any(corpus, &files) {
        by_file.entry(call.path.clone()).or_default().push(call);
    }
    // A history that cannot be read tells nothing.
    let records = history.records().unwrap_or_default();
    for item in unknown() {
        let Some(calls) = by_file.get(&root.join(&item.file)) else {
            continue;
        };
        let known = item.origin.as_ref().map(|origin| origin.session.as_str());
        let is_meant = |call: &&TouchingCall| {
            let log = corpus.log(call.log);
            known.is_none_or(|known| log.is_some_and(|log| log.is_session(known)))
        };
        let calls: Vec<TouchingCall> = calls.iter().filter(is_meant).cloned().collect();
        let writer = |call: &TouchingCall| -> Option<KnownWriter> {
            let log = corpus.log(call.log)?;
            let agent = log.agent()?.name();
            let origin = Origin {
                session: log.id().to_owned(),
                citation: Some(format!("{agent}:{}#L{}", log.cited_id(), call.line)),
            };
            let author = Author {
                who: agent.to_owned(),
                ..item.author.clone()
            };
            Some((author, origin))
        };
        let whole = match item.change {
            ItemChange::Deleted => Some(FileUse::Delete),
            _ if item.proposal.is_some() || item.hunks.is_empty() => Some(FileUse::Write),
            _ => None,
        };
        if let Some(usage) = whole {
            let mut newest = calls.iter().rev().filter(|call| call.usage == usage);
            let Some(by) = newest.find_map(writer) else {
                continue;
            };
            let ids = item
                .hunks
                .iter()
                .map(|hunk| (&hunk.id, hunk.text.lines().count()));
            let own = item.hunks.is_empty().then_some((&item.id, 0));
            found.extend(ids.chain(own).map(|(id, count)| {
                let lines = WrittenLines {
                    lines: 0..count,
                    by: Some(by.clone()),
                };
                (id.clone(), vec![lines])
            }));
            continue;
        }
        let changes = changes_of(history, &records, root, &item.file);
        let replay = Replay::new(&calls, changes, None);
        let text = String::from_utf8_lossy(&item.current);
        let lines: Vec<&str> = text.lines().collect();
        let writer_of = |step: Option<&Step<'_>>| match step? {
            Step::Call(call) => writer(call),
            Step::Change(..) | Step::Seen(_) => None,
        };
        let added: Vec<_> = replay.sources(&lines).into_iter().map(writer_of).collect();
        for hunk in &item.hunks {
            let removed = |line: &str| writer_of(replay.remover(line));
            let parts = written_lines(hunk, &added, &removed);
            if parts.iter().any(|part| part.by.is_some()) {
                found.insert(hunk.id.clone(), parts);
            }
        }
    }
    found
}

/// A line that a hunk adds or removes.
struct ChangedLine<'a> {
    /// Its number in the text of the hunk.
    number: usize,
    text: &'a str,
    /// Its number in the new text, if it is added.
    at: Option<usize>,
}

/// Divides the lines of a hunk among those who added and removed them. What was replaced belongs to
/// who wrote what stands there now, so that one is never taken back without the other.
fn written_lines(
    hunk: &ReviewHunk,
    added: &[Option<KnownWriter>],
    removed: &dyn Fn(&str) -> Option<KnownWriter>,
) -> Vec<WrittenLines> {
    let mut at = hunk.new.start;
    // The changed lines that follow each other.
    let mut blocks: Vec<Vec<ChangedLine<'_>>> = vec![Vec::new()];
    for (number, line) in hunk.text.lines().enumerate() {
        let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
        let new = (sign == "+").then_some(at);
        match (sign, blocks.last_mut()) {
            // No line, but the mark of a missing end.
            ("\\", _) => {}
            ("+" | "-", Some(block)) => block.push(ChangedLine {
                number,
                text,
                at: new,
            }),
            _ => blocks.push(Vec::new()),
        }
        at += usize::from(matches!(sign, "+" | " "));
    }
    let mut parts: Vec<WrittenLines> = Vec::new();
    for own in blocks
        .into_iter()
        .flat_map(|block| of_block(&block, added, removed))
    {
        match parts.last_mut() {
            Some(last) if session(last.by.as_ref()) == session(own.by.as_ref()) => {
                last.lines.end = own.lines.end;
                // The newest message stands for all.
                last.by = own.by.or(last.by.take());
            }
            _ => parts.push(own),
        }
    }
    parts
}

/// Divides changed lines that follow each other among those who added and removed them.
fn of_block(
    block: &[ChangedLine<'_>],
    added: &[Option<KnownWriter>],
    removed: &dyn Fn(&str) -> Option<KnownWriter>,
) -> Vec<WrittenLines> {
    let adder = |at: usize| added.get(at).cloned().flatten();
    let new_lines = block.iter().filter(|line| line.at.is_some());
    let adders: Vec<_> = new_lines
        .clone()
        .filter_map(|line| adder(line.at?))
        .collect();
    let has_added = |by: &KnownWriter| {
        adders
            .iter()
            .any(|one| session(Some(one)) == session(Some(by)))
    };
    // The sessions that removed some lines here and wrote others: each replaced its own.
    let removers: Vec<_> = block
        .iter()
        .filter(|line| line.at.is_none())
        .filter_map(|line| removed(line.text).filter(has_added))
        .collect();
    let has_own = |line: &&ChangedLine<'_>| {
        let by = line.at.and_then(adder);
        let mut own = removers.iter();
        by.is_some() && own.any(|one| session(Some(one)) == session(by.as_ref()))
    };
    // What the others wrote replaces the remaining removed lines, in their order.
    let mut replacing = new_lines.filter(|line| !has_own(line));
    let mut parts: Vec<WrittenLines> = Vec::new();
    // Only a neighbour tells about blank lines, and about what nobody is known to have removed.
    let mut is_open = false;
    for line in block {
        let remover = line.at.is_none().then(|| removed(line.text)).flatten();
        // Who removed it wrote some of what stands there now.
        let is_theirs = remover.as_ref().is_some_and(has_added);
        let new = match line.at {
            Some(_) => Some(line),
            None if is_theirs => None,
            None => replacing.next(),
        };
        let (by, is_told) = match new.and_then(|new| Some((new, new.at?))) {
            Some((new, at)) => (adder(at), !new.text.trim().is_empty()),
            None => (remover, is_theirs),
        };
        let is_weak = by.is_none() && !is_told;
        match parts.last_mut() {
            Some(last) if is_weak => last.lines.end = line.number + 1,
            Some(last) if is_open => {
                last.lines.end = line.number + 1;
                last.by = by;
                is_open = false;
            }
            _ => {
                parts.push(WrittenLines {
                    lines: line.number..line.number + 1,
                    by,
                });
                is_open = is_weak;
            }
        }
    }
    parts
}

/// The items with the writers that were found. What several sessions did to a file becomes an item of
/// each.
pub fn attributed(items: Vec<Item>, found: &Attributions) -> Vec<Item> {
    let items = items.into_iter();
    items.flat_map(|item| divided(item, found)).collect()
}

/// Whether the hunk adds or removes all of these lines of its text.
fn is_block(text: &str, lines: Range<usize>) -> bool {
    let mut between = text.lines().skip(lines.start).take(lines.len());
    between.all(|line| line.starts_with(['+', '-', '\\']))
}

fn divided(mut item: Item, found: &Attributions) -> Vec<Item> {
    if item.has_message() {
        return vec![item];
    }
    if let Some(
        [
            WrittenLines {
                by: Some((author, origin)),
                ..
            },
        ],
    ) = found.get(&item.id).map(Vec::as_slice)
    {
        item.author = author.clone();
        item.origin = Some(origin.clone());
    }
    if !matches!(item.change, ItemChange::Changed | ItemChange::Added) {
        let parts = item.hunks.iter().filter_map(|hunk| found.get(&hunk.id));
        if let Some((author, origin)) = parts.flatten().find_map(|part| part.by.clone()) {
            item.author = author;
            item.origin = Some(origin);
        }
        return vec![item];
    }
    let mut groups: Vec<(Option<KnownWriter>, Vec<ReviewHunk>)> = Vec::new();
    for hunk in std::mem::take(&mut item.hunks) {
        let whole = vec![WrittenLines {
            lines: 0..hunk.text.lines().count(),
            by: None,
        }];
        let parts = found.get(&hunk.id).unwrap_or(&whole);
        // The end of the last part of each session, in the text of the hunk.
        let mut ends: HashMap<Option<String>, usize> = HashMap::new();
        for part in parts {
            let mut own = match parts.as_slice() {
                [_] => hunk.clone(),
                _ => hunk.part(part.lines.clone()),
            };
            let origin = part.by.as_ref().map(|(_, origin)| origin);
            own.citation = origin.and_then(|origin| origin.citation.clone());
            let writer = session(part.by.as_ref());
            let before = ends.insert(writer.map(str::to_owned), part.lines.end);
            let is_near = before.is_some_and(|end| is_block(&hunk.text, end..part.lines.start));
            match groups
                .iter_mut()
                .find(|(by, _)| session(by.as_ref()) == writer)
            {
                Some((_, hunks)) => match hunks.last_mut() {
                    Some(gone) if is_near && let Some(both) = gone.replaced_by(&own) => {
                        *gone = both
                    }
                    _ => hunks.push(own),
                },
                None => groups.push((part.by.clone(), vec![own])),
            }
        }
    }
    if groups.is_empty() {
        return vec![item];
    }
    let is_one = groups.len() == 1;
    let items = groups.into_iter().map(|(by, hunks)| {
        let mut own = Item {
            hunks,
            ..item.clone()
        };
        if let Some((author, origin)) = by {
            if !is_one {
                own.id = short_hash([&item.id, "\0", &origin.session].concat().as_bytes(), 8);
            }
            own.author = author;
            own.origin = Some(origin);
        }
        own
    });
    items.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(session: &str) -> Option<KnownWriter> {
        let author = Author {
            who: "claude-code".to_owned(),
            door: "files".to_owned(),
        };
        let origin = Origin {
            session: session.to_owned(),
            citation: None,
        };
        (!session.is_empty()).then_some((author, origin))
    }

    /// The sessions and lines of the parts of a hunk, whose lines come with the session that added or
    /// removed them.
    fn parts(lines: &[(&str, &str)]) -> Vec<(String, Range<usize>)> {
        let text: Vec<&str> = lines.iter().map(|(line, _)| *line).collect();
        let new = lines.iter().filter(|(line, _)| !line.starts_with('-'));
        let added: Vec<_> = new.map(|(_, session)| writer(session)).collect();
        let removed = |gone: &str| {
            let own = |(line, _): &&(&str, &str)| line.strip_prefix('-') == Some(gone);
            lines
                .iter()
                .find(own)
                .and_then(|(_, session)| writer(session))
        };
        let hunk = ReviewHunk {
            id: "i.h".to_owned(),
            old: 0..0,
            new: 0..added.len(),
            text: text.join("\n"),
            entry: None,
            citation: None,
            first: 0,
            replacements: Vec::new(),
        };
        let parts = written_lines(&hunk, &added, &removed).into_iter();
        let named = parts.map(|part| {
            let name = session(part.by.as_ref()).unwrap_or_default().to_owned();
            (name, part.lines)
        });
        named.collect()
    }

    #[test]
    fn a_line_goes_with_the_one_that_stands_there_now() {
        let one = |session: &str, lines: Range<usize>| (session.to_owned(), lines);
        // Who removed it first does not matter, nor what another program did above.
        let replaced = [
            ("-a", ""),
            ("+A", ""),
            (" b", ""),
            ("-c", "s0"),
            ("+C", "s1"),
        ];
        assert_eq!(parts(&replaced), [one("", 0..2), one("s1", 3..5)]);
        let unknown = [("-a", "s0"), ("+A", "")];
        assert_eq!(parts(&unknown), [one("", 0..2)]);
        let unequal = [
            ("-a", "s1"),
            ("-b", "s1"),
            ("-c", "s2"),
            ("+A", "s1"),
            ("+C", "s2"),
            ("+D", "s2"),
        ];
        let expected = [
            one("s1", 0..2),
            one("s2", 2..3),
            one("s1", 3..4),
            one("s2", 4..6),
        ];
        assert_eq!(parts(&unequal), expected);
        let after = [
            ("-a", "s1"),
            ("-b", "s1"),
            ("-c", ""),
            ("+A", "s1"),
            ("+C", ""),
        ];
        let expected = [
            one("s1", 0..2),
            one("", 2..3),
            one("s1", 3..4),
            one("", 4..5),
        ];
        assert_eq!(parts(&after), expected);
        let two = [("-a", ""), ("-b", "s0"), ("+A", "s1"), ("+B", "s2")];
        let expected = [
            one("s1", 0..1),
            one("s2", 1..2),
            one("s1", 2..3),
            one("s2", 3..4),
        ];
        assert_eq!(parts(&two), expected);
        // One that nothing replaces is of who removed it; if that is not known, a neighbour tells.
        let removed = [("-a", "s1"), (" b", ""), ("-c", ""), ("-d", "s2")];
        assert_eq!(parts(&removed), [one("s1", 0..1), one("s2", 2..4)]);
    }
}
