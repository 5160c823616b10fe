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
use crate::core::text::diff::{self, Replacement};

/// An agent, and the message by which it wrote.
pub type KnownWriter = (Author, Origin);

fn session(writer: Option<&KnownWriter>) -> Option<&str> {
    writer.map(|(_, origin)| origin.session.as_str())
}

/// Who wrote some lines of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenLines {
    /// The old and the new lines, counted from the first difference of the hunk.
    pub lines: Replacement,
    /// `None` if the logs do not tell.
    pub by: Option<KnownWriter>,
}

impl WrittenLines {
    /// Adds the lines that follow.
    fn extend(&mut self, next: &Self) {
        self.lines.old.end = next.lines.old.end;
        self.lines.new.end = next.lines.new.end;
    }
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
            let ids = item.hunks.iter().map(|hunk| &hunk.id);
            let own = item.hunks.is_empty().then_some(&item.id);
            found.extend(ids.chain(own).map(|id| {
                let all = WrittenLines {
                    lines: Replacement {
                        old: 0..usize::MAX,
                        new: 0..usize::MAX,
                    },
                    by: Some(by.clone()),
                };
                (id.clone(), vec![all])
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

/// Divides a hunk among those who added and removed its lines. What was replaced belongs to who wrote
/// what stands there now, so that one is never taken back without the other.
fn written_lines(
    hunk: &ReviewHunk,
    added: &[Option<KnownWriter>],
    removed: &dyn Fn(&str) -> Option<KnownWriter>,
) -> Vec<WrittenLines> {
    let mut parts: Vec<WrittenLines> = Vec::new();
    for block in &hunk.replacements {
        let own = hunk
            .lines()
            .map(|(line, text)| (line, text.split_at_checked(1)));
        let own: Vec<_> = own.filter_map(|(line, text)| Some((line, text?))).collect();
        let of_sign = |wanted: &'static str, lines: &Range<usize>| {
            let lines = lines.clone();
            own.iter().filter_map(move |(line, (sign, text))| {
                let number = if wanted == "-" {
                    line.old.start
                } else {
                    line.new.start
                };
                (*sign == wanted && lines.contains(&number))
                    .then_some((number, text.trim_end_matches('\n')))
            })
        };
        let (old, new) = (of_sign("-", &block.old), of_sign("+", &block.new));
        // Where a blank line came from or went is told by its neighbours, unless all are blank.
        let is_blank = |text: &str| text.trim().is_empty();
        let is_all_blank = old
            .clone()
            .chain(new.clone())
            .all(|(_, text)| is_blank(text));
        let tells = |text: &str| is_all_blank || !is_blank(text);
        let removers: Vec<_> = old
            .map(|(_, text)| removed(text).filter(|_| tells(text)))
            .collect();
        let (adders, is_blank): (Vec<_>, Vec<bool>) = new
            .map(|(number, text)| {
                let by = added.get(number).cloned().flatten();
                (by.filter(|_| tells(text)), is_blank(text))
            })
            .unzip();
        let begin = (
            block.old.start - hunk.begins.0,
            block.new.start - hunk.begins.1,
        );
        for own in of_block(&removers, &adders, &is_blank, begin) {
            match parts.last_mut() {
                Some(last) if session(last.by.as_ref()) == session(own.by.as_ref()) => {
                    last.extend(&own);
                    // The newest message stands for all.
                    last.by = own.by.or(last.by.take());
                }
                _ => parts.push(own),
            }
        }
    }
    parts
}

/// Divides lines that follow each other among those who removed and added them. They are counted from
/// `begin`.
fn of_block(
    removers: &[Option<KnownWriter>],
    adders: &[Option<KnownWriter>],
    is_blank: &[bool],
    begin: (usize, usize),
) -> Vec<WrittenLines> {
    let mut parts: Vec<WrittenLines> = Vec::new();
    let mut at = (0, 0);
    // Only a neighbour tells about what nobody is known to have removed, and about blank lines of
    // nobody.
    let mut is_open = false;
    for end in side_by_side(removers, adders) {
        let (old, new) = (at.0..end.0, at.1..end.1);
        let writers = if new.is_empty() {
            &removers[old.clone()]
        } else {
            &adders[new.clone()]
        };
        let mut own = WrittenLines {
            lines: Replacement {
                old: begin.0 + old.start..begin.0 + old.end,
                new: begin.1 + new.start..begin.1 + new.end,
            },
            by: writers.iter().rev().flatten().next().cloned(),
        };
        let is_weak = own.by.is_none() && is_blank[new].iter().all(|is_blank| *is_blank);
        match parts.last_mut() {
            Some(last) if is_weak => last.extend(&own),
            Some(last) if is_open => {
                last.extend(&own);
                last.by = own.by.take();
                is_open = false;
            }
            _ => {
                parts.push(own);
                is_open = is_weak;
            }
        }
        at = end;
    }
    parts
}

/// Puts the removed and the added lines of a block side by side: those that one session removed and
/// added in their order, and what others wrote beside the rest. Returns the ends of each piece.
fn side_by_side(
    removers: &[Option<KnownWriter>],
    adders: &[Option<KnownWriter>],
) -> Vec<(usize, usize)> {
    let names = |writers: &[Option<KnownWriter>]| -> Vec<Option<String>> {
        let names = writers.iter().map(|by| session(by.as_ref()));
        names.map(|name| name.map(str::to_owned)).collect()
    };
    let (removers, adders) = (names(removers), names(adders));
    // The names and the ends of neighbours of the same name.
    let runs = |names: &[Option<String>]| {
        let mut end = 0;
        let runs = names.chunk_by(|a, b| a == b).map(|run| {
            end += run.len();
            (run[0].clone(), end)
        });
        runs.unzip::<_, _, Vec<_>, Vec<_>>()
    };
    let ((old, old_ends), (new, new_ends)) = (runs(&removers), runs(&adders));
    let (mut ends, mut at) = (Vec::new(), (0, 0));
    let rest = Replacement {
        old: old.len()..old.len(),
        new: new.len()..new.len(),
    };
    let unequal = diff::replacements(&old, &new);
    let mut run = (0, 0);
    for one in unequal.into_iter().chain([rest]) {
        let equal = old_ends[run.0..one.old.start]
            .iter()
            .zip(&new_ends[run.1..]);
        ends.extend(equal.map(|(old, new)| (*old, *new)));
        at = ends.last().copied().unwrap_or(at);
        run = (one.old.end, one.new.end);
        let last = |ends: &[usize], run: usize| run.checked_sub(1).map_or(0, |run| ends[run]);
        let end = (last(&old_ends, run.0), last(&new_ends, run.1));
        while at != end {
            // Who removed lines here and wrote others replaced its own.
            let mut old = removers[at.0..end.0].iter().take(1).flatten();
            let mut new = adders[at.1..end.1].iter().take(1).flatten();
            let is_replaced = |own: &String| adders.iter().flatten().any(|name| name == own);
            let replaces = |own: &String| removers.iter().flatten().any(|name| name == own);
            at = if old.any(is_replaced) {
                (at.0 + 1, at.1)
            } else if new.any(replaces) {
                (at.0, at.1 + 1)
            } else {
                ((at.0 + 1).min(end.0), (at.1 + 1).min(end.1))
            };
            ends.push(at);
        }
    }
    ends
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
        let parts = found.get(&hunk.id).map_or(&[][..], Vec::as_slice);
        let own = match parts {
            [] => vec![(None, hunk)],
            [one] => vec![(one.by.clone(), hunk)],
            several => several
                .iter()
                .map(|part| (part.by.clone(), hunk.part(&part.lines)))
                .collect(),
        };
        for (by, mut own) in own {
            let origin = by.as_ref().map(|(_, origin)| origin);
            own.citation = origin.and_then(|origin| origin.citation.clone());
            let writer = session(by.as_ref());
            match groups
                .iter_mut()
                .find(|(known, _)| session(known.as_ref()) == writer)
            {
                Some((_, hunks)) => hunks.push(own),
                None => groups.push((by, vec![own])),
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
    use super::super::queue::begins;
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

    /// The sessions of the parts of a hunk, each with its removed and added lines. The lines come with
    /// the session that added or removed them.
    fn parts(lines: &[(&str, &str)]) -> Vec<String> {
        let text = |sign: char| -> String {
            let own = lines.iter().filter(|(line, _)| !line.starts_with(sign));
            own.map(|(line, _)| format!("{}\n", &line[1..])).collect()
        };
        let (old, new) = (text('+'), text('-'));
        let differences = diff::line_replacements(old.as_bytes(), new.as_bytes());
        let [old, new] = [&old, &new].map(|text| diff::lines(text.as_bytes()));
        let [whole] = <[_; 1]>::try_from(diff::hunks(differences, old.len())).expect("one hunk");
        let added = lines.iter().filter(|(line, _)| !line.starts_with('-'));
        let added: Vec<_> = added.map(|(_, session)| writer(session)).collect();
        let removed = |gone: &str| {
            let own = |(line, _): &&(&str, &str)| line.strip_prefix('-') == Some(gone);
            lines
                .iter()
                .find(own)
                .and_then(|(_, session)| writer(session))
        };
        let hunk = ReviewHunk {
            id: "i.h".to_owned(),
            text: diff::hunk_text(&whole, &old, &new),
            old: whole.old,
            new: whole.new,
            entry: None,
            citation: None,
            begins: begins(&whole.replacements),
            replacements: whole.replacements,
        };
        let parts = written_lines(&hunk, &added, &removed).into_iter();
        let named = parts.map(|part| {
            let name = session(part.by.as_ref()).unwrap_or("nobody").to_owned();
            let own = hunk.part(&part.lines);
            let own = own.text.lines().filter(|line| !line.starts_with(' '));
            format!("{name}: {}", own.collect::<Vec<_>>().join(" "))
        });
        named.collect()
    }

    #[test]
    fn a_line_goes_with_the_one_that_stands_there_now() {
        // Who removed it first does not matter, nor what another program did above.
        let replaced = [
            ("-a", ""),
            ("+A", ""),
            (" b", ""),
            ("-c", "s0"),
            ("+C", "s1"),
        ];
        assert_eq!(parts(&replaced), ["nobody: -a +A", "s1: -c +C"]);
        let unknown = [("-a", "s0"), ("+A", "")];
        assert_eq!(parts(&unknown), ["nobody: -a +A"]);
        let unequal = [
            ("-a", "s1"),
            ("-b", "s1"),
            ("-c", "s2"),
            ("+A", "s1"),
            ("+C", "s2"),
            ("+D", "s2"),
        ];
        assert_eq!(parts(&unequal), ["s1: -a -b +A", "s2: -c +C +D"]);
        let after = [
            ("-a", "s1"),
            ("-b", "s1"),
            ("-c", ""),
            ("+A", "s1"),
            ("+C", ""),
        ];
        assert_eq!(parts(&after), ["s1: -a -b +A", "nobody: -c +C"]);
        let two = [("-a", ""), ("-b", "s0"), ("+A", "s1"), ("+B", "s2")];
        assert_eq!(parts(&two), ["s1: -a +A", "s2: -b +B"]);
        // One that nothing replaces is of who removed it; if that is not known, a neighbour tells.
        let removed = [("-a", "s1"), (" b", ""), ("-c", ""), ("-d", "s2")];
        assert_eq!(parts(&removed), ["s1: -a", "s2: -c -d"]);
    }

    #[test]
    fn what_one_removes_or_adds_stands_above_or_below_what_another_replaces() {
        let below = [("-a", "s1"), ("-b", "s2"), ("+A", "s1")];
        assert_eq!(parts(&below), ["s1: -a +A", "s2: -b"]);
        let above = [("-a", "s1"), ("-b", "s2"), ("+B", "s2")];
        assert_eq!(parts(&above), ["s1: -a", "s2: -b +B"]);
        let added = [("-a", "s1"), ("+X", "s2"), ("+A", "s1"), ("+Y", "s3")];
        assert_eq!(parts(&added), ["s2: +X", "s1: -a +A", "s3: +Y"]);
    }

    #[test]
    fn blank_lines_are_of_who_wrote_them_and_else_of_a_neighbour() {
        assert_eq!(parts(&[(" a", ""), ("+", "s1"), (" b", "")]), ["s1: +"]);
        assert_eq!(parts(&[(" a", ""), ("-", "s1"), (" b", "")]), ["s1: -"]);
        let beside = [("+A", "s1"), ("+", ""), ("+B", "s2")];
        assert_eq!(parts(&beside), ["s1: +A +", "s2: +B"]);
        let removed = [("-a", "s1"), ("-", "s2"), ("-b", "s1")];
        assert_eq!(parts(&removed), ["s1: -a - -b"]);
    }
}
