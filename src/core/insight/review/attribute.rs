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

/// Divides the lines of a hunk among those who added and removed them.
fn written_lines(
    hunk: &ReviewHunk,
    added: &[Option<KnownWriter>],
    removed: &dyn Fn(&str) -> Option<KnownWriter>,
) -> Vec<WrittenLines> {
    let mut new = hunk.new.start;
    let mut parts: Vec<WrittenLines> = Vec::new();
    // The parts that only a neighbour tells about: blank lines, and what was replaced.
    let mut is_open = false;
    let mut is_adjacent = false;
    for (number, line) in hunk.text.lines().enumerate() {
        let (by, is_weak) = match line.split_at_checked(1) {
            Some(("+", text)) => {
                let by = added.get(new).cloned().flatten();
                new += 1;
                let is_weak = by.is_none() && text.trim().is_empty();
                (by, is_weak)
            }
            Some(("-", text)) => {
                let by = removed(text);
                let is_weak = by.is_none();
                (by, is_weak)
            }
            // No line, but the mark of a missing end.
            Some(("\\", _)) => continue,
            _ => {
                new += 1;
                is_adjacent = false;
                continue;
            }
        };
        match parts.last_mut() {
            Some(last) if is_adjacent && is_weak => last.lines.end = number + 1,
            Some(last) if is_adjacent && is_open => {
                last.lines.end = number + 1;
                last.by = by;
                is_open = false;
            }
            Some(last) if session(last.by.as_ref()) == session(by.as_ref()) => {
                last.lines.end = number + 1;
                // The newest message stands for all.
                last.by = by.or(last.by.take());
                is_open &= is_weak;
            }
            _ => {
                parts.push(WrittenLines {
                    lines: number..number + 1,
                    by,
                });
                is_open = is_weak;
            }
        }
        is_adjacent = true;
    }
    parts
}

/// The items with the writers that were found. What several sessions did to a file becomes an item of
/// each.
pub fn attributed(items: Vec<Item>, found: &Attributions) -> Vec<Item> {
    let items = items.into_iter();
    items.flat_map(|item| divided(item, found)).collect()
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
        for part in parts {
            let own = match parts.as_slice() {
                [_] => hunk.clone(),
                _ => hunk.part(part.lines.clone()),
            };
            match groups
                .iter_mut()
                .find(|(by, _)| session(by.as_ref()) == session(part.by.as_ref()))
            {
                Some((_, hunks)) => hunks.push(own),
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
