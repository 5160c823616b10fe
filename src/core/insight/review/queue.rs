//! The queue: what waits for review, as differences from the accepted versions.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use super::blame::{WrittenText, writers};
use super::incoming::{ConflictTexts, Sent, incoming_items};
use super::proposal::proposed_items;
use super::state::{Note, OtherWrite, State, Waiting};
use crate::core::Result;
use crate::core::change::history::{Author, DeletedMemory, History, Origin};
use crate::core::disk::revision::Revision;
use crate::core::memory::store::Store;
use crate::core::text::diff::{self, Hunk, Replacement};
use crate::core::text::header::Entry;
use crate::core::text::header::section::entry_at;

/// What one author did to one file since its version was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its id: the one of its author and file, and a hash of what is shown. What is written into the
    /// file later has another id, so that nothing is accepted that nobody saw.
    pub id: String,
    /// The reference of the file in its store.
    pub path: String,
    /// What happened to the file.
    pub change: ItemChange,
    /// The reference of the accepted version, if the file was renamed since.
    pub renamed_from: Option<String>,
    /// When it was last written, in milliseconds since 1970.
    pub time: i64,
    /// Who wrote it.
    pub author: Author,
    /// The conversation in which it was written, if known.
    pub origin: Option<Origin>,
    /// When a memory like this new one was deleted, in milliseconds since 1970.
    pub deleted_before: Option<i64>,
    /// What the person noted about it.
    pub notes: Vec<Note>,
    /// The differences.
    pub hunks: Vec<ReviewHunk>,
    /// The file below the root.
    pub(super) file: String,
    /// Its text; empty if it is gone.
    pub(super) current: Arc<[u8]>,
    /// The patch file that proposes it; `None` if it was written.
    pub proposal: Option<String>,
    /// The machine that sent it; `None` if it is of this one.
    pub sent: Option<Sent>,
    /// Why what is proposed cannot be made, if so.
    pub misfit: Option<String>,
    /// Both texts, if both sides changed it and none deleted it.
    pub conflict: Option<Arc<ConflictTexts>>,
}

impl Item {
    /// What happened to the file, in words.
    pub fn what(&self) -> String {
        if let Some(sent) = &self.sent {
            return self.what_was_sent(sent);
        }
        match (self.change, &self.renamed_from) {
            (ItemChange::Added, _) if self.proposal.is_some() => "proposed as new".to_owned(),
            _ if self.proposal.is_some() => "proposed".to_owned(),
            (ItemChange::Renamed, Some(from)) => format!("renamed from {from}"),
            (ItemChange::Added, _) => "new".to_owned(),
            (ItemChange::Deleted, _) => "deleted".to_owned(),
            _ => "changed".to_owned(),
        }
    }

    fn what_was_sent(&self, sent: &Sent) -> String {
        let what = match (self.change, sent.is_conflict) {
            (ItemChange::Added, false) => "incoming, new",
            (ItemChange::Added, true) => "conflict: deleted here, changed",
            (ItemChange::Deleted, false) => "incoming, deleted",
            (ItemChange::Deleted, true) => "conflict: changed here, deleted",
            (_, false) => "incoming, changed",
            (_, true) => "conflict: changed here, and otherwise",
        };
        what.to_owned()
    }

    /// Whether another machine sent it, and the file was changed here, too.
    pub fn is_conflict(&self) -> bool {
        self.sent.as_ref().is_some_and(|sent| sent.is_conflict)
    }

    /// Whether it is not on the disk yet.
    pub fn is_offered(&self) -> bool {
        self.proposal.is_some() || self.sent.is_some()
    }

    /// Whether the message that wrote it is known.
    pub fn has_message(&self) -> bool {
        let origin = self.origin.as_ref();
        origin.is_some_and(|origin| origin.citation.is_some())
    }

    /// The ids of all of it as it is shown. What is written into the file later has other ones.
    pub fn ids(&self) -> Vec<String> {
        match self.hunks.as_slice() {
            [] => vec![self.id.clone()],
            hunks => hunks.iter().map(|hunk| hunk.id.clone()).collect(),
        }
    }

    /// Adds a hash of what is shown to the id.
    pub(super) fn bind(&mut self) {
        let mut shown = blake3::Hasher::new();
        shown.update(self.what().as_bytes());
        for hunk in &self.hunks {
            shown.update(&[0]);
            shown.update(hunk.id.as_bytes());
            shown.update(hunk.text.as_bytes());
        }
        if self.hunks.is_empty() {
            shown.update(&self.current);
        }
        let shown = shown.finalize().to_hex();
        self.id = format!("{}-{}", self.id, &shown[..6]);
    }

    /// Who wrote it, and for what another machine sent in which commit.
    pub fn by(&self) -> String {
        match &self.sent {
            Some(sent) => sent.origin(),
            None => self.who().to_owned(),
        }
    }

    /// Who wrote it, in words.
    pub fn who(&self) -> &str {
        match self.author.who.as_str() {
            "outside" => "another program",
            who => who,
        }
    }
}

/// What happened to a file that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemChange {
    /// It is new.
    Added,
    /// Its text changed.
    Changed,
    /// It is gone.
    Deleted,
    /// It has another name, and perhaps another text.
    Renamed,
}

/// A difference that can be accepted or reverted by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewHunk {
    /// Its id: the one of its author and file, and a hash of its lines; a part of a hunk adds its
    /// lines.
    pub id: String,
    /// The accepted lines, counted from 0, with the equal lines around the difference.
    pub old: Range<usize>,
    /// The current lines, counted from 0, with the equal lines around the difference.
    pub new: Range<usize>,
    /// The hunk of a unified diff, without its header.
    pub text: String,
    /// The fragment of the entry that it begins in, in a file of several.
    pub entry: Option<String>,
    /// The message that wrote it, if it is known for the hunk by itself.
    pub citation: Option<String>,
    /// The old and the new line at which the first difference of the whole hunk begins. The lines of
    /// its parts are counted from there.
    pub(super) begins: (usize, usize),
    pub(super) replacements: Vec<Replacement>,
}

/// What of a hunk can be accepted or reverted by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkPart {
    /// Its id: that of the hunk, or with it the ranges of its lines.
    pub id: String,
    /// Its lines, as numbers in the text of the hunk.
    pub lines: Vec<usize>,
}

impl ReviewHunk {
    /// All of it as one part.
    pub fn whole(&self) -> HunkPart {
        HunkPart {
            id: self.id.clone(),
            lines: (0..self.text.lines().count()).collect(),
        }
    }

    /// Each line that it changes as a part; a line that replaces another one goes with that.
    pub fn changed_lines(&self) -> Vec<HunkPart> {
        // A line without an end would be joined with the one that follows it.
        if self.text.lines().any(|line| line.starts_with('\\')) {
            return vec![self.whole()];
        }
        let all: Vec<(Replacement, &str)> = self.lines().collect();
        let mut changed = Vec::new();
        for block in &self.replacements {
            for number in 0..block.old.len().max(block.new.len()) {
                let nth = |side: &Range<usize>| {
                    (side.start + number).min(side.end)..(side.start + number + 1).min(side.end)
                };
                let (old, new) = (nth(&block.old), nth(&block.new));
                let part = Replacement {
                    old: old.start - self.begins.0..old.end - self.begins.0,
                    new: new.start - self.begins.1..new.end - self.begins.1,
                };
                let own = Replacement { old, new };
                let lines = (0..).zip(&all).filter(|(_, line)| is_within(line, &own));
                changed.push(HunkPart {
                    id: self.part_id(&part),
                    lines: lines.map(|(number, _)| number).collect(),
                });
            }
        }
        changed
    }

    /// The lines of its text, each with what it has of the old and of the new lines.
    pub(super) fn lines(&self) -> impl Iterator<Item = (Replacement, &str)> {
        let (mut old, mut new) = (self.old.start, self.new.start);
        self.text.split_inclusive('\n').map(move |line| {
            let (takes, puts) = match line.as_bytes().first() {
                Some(b'-') => (1, 0),
                Some(b'+') => (0, 1),
                // No line, but the mark of a missing end.
                Some(b'\\') => (0, 0),
                _ => (1, 1),
            };
            let own = Replacement {
                old: old..old + takes,
                new: new..new + puts,
            };
            (old, new) = (own.old.end, own.new.end);
            (own, line)
        })
    }

    /// The id of the part with these lines.
    fn part_id(&self, part: &Replacement) -> String {
        let hunk = self.id.split('~').next().unwrap_or_default();
        let Replacement { old, new } = part;
        format!("{hunk}~{}-{}+{}-{}", old.start, old.end, new.start, new.end)
    }

    /// The lines of the part that an id names, counted from the first difference of the whole hunk.
    pub(super) fn named_part(&self, id: &str) -> Option<Replacement> {
        let named = id.strip_prefix(&self.id)?.strip_prefix('~')?;
        let (old, new) = named.split_once('+')?;
        let range = |text: &str| -> Option<Range<usize>> {
            let (start, end) = text.split_once('-')?;
            Some(start.parse().ok()?..end.parse().ok()?)
        };
        Some(Replacement {
            old: range(old)?,
            new: range(new)?,
        })
    }

    /// What of its differences is within these old and new lines.
    pub(super) fn within(&self, part: &Replacement) -> Vec<Replacement> {
        let part = self.placed(part);
        let own = |side: &Range<usize>, part: &Range<usize>| {
            let cut = |at: usize| at.clamp(side.start, side.end);
            cut(part.start)..cut(part.end).max(cut(part.start))
        };
        let own = self.replacements.iter().map(|one| Replacement {
            old: own(&one.old, &part.old),
            new: own(&one.new, &part.new),
        });
        own.filter(|one| !one.old.is_empty() || !one.new.is_empty())
            .collect()
    }

    /// Lines of a part as lines of the texts.
    fn placed(&self, part: &Replacement) -> Replacement {
        let side = |range: &Range<usize>, begin: usize| {
            begin.saturating_add(range.start)..begin.saturating_add(range.end)
        };
        Replacement {
            old: side(&part.old, self.begins.0),
            new: side(&part.new, self.begins.1),
        }
    }

    /// The part with these old and new lines as a hunk, with the equal lines around it. An empty range
    /// says where the others stand among the lines of that side.
    pub(super) fn part(&self, lines: &Replacement) -> Self {
        let part = &self.placed(lines);
        let all: Vec<(Replacement, &str)> = self.lines().collect();
        let mut own = vec![false; all.len()];
        for at in 0..all.len() {
            let is_mark = all[at].1.starts_with('\\');
            own[at] = is_within(&all[at], part) || is_mark && at > 0 && own[at - 1];
        }
        let (mut old, mut new) = (part.old.clone(), part.new.clone());
        for (line, text) in all.iter().rev() {
            let is_before = (line.old.end, line.new.end) == (old.start, new.start);
            if is_before && is_equal(text) {
                (old.start, new.start) = (line.old.start, line.new.start);
            }
        }
        for (line, text) in &all {
            let is_after = (line.old.start, line.new.start) == (old.end, new.end);
            if is_after && is_equal(text) {
                (old.end, new.end) = (line.old.end, line.new.end);
            }
        }
        let is_around = |(line, text): &(Replacement, &str)| {
            is_equal(text) && old.contains(&line.old.start) && new.contains(&line.new.start)
        };
        let text = all.iter().zip(own);
        let text = text.filter(|(line, own)| *own || is_around(line));
        Self {
            id: self.part_id(lines),
            text: text.map(|((_, text), _)| *text).collect(),
            old,
            new,
            entry: self.entry.clone(),
            citation: self.citation.clone(),
            begins: self.begins,
            replacements: self.within(lines),
        }
    }
}

/// Whether a line of a hunk is equal on both sides.
fn is_equal(text: &str) -> bool {
    !text.starts_with(['+', '-', '\\'])
}

/// Whether a line that a hunk adds or removes is among these old and new lines.
fn is_within((line, text): &(Replacement, &str), part: &Replacement) -> bool {
    match text.as_bytes().first() {
        Some(b'-') => part.old.contains(&line.old.start),
        Some(b'+') => part.new.contains(&line.new.start),
        _ => false,
    }
}

/// What waits in a store: what agents propose, what other machines sent, then what was written,
/// newest first.
pub fn queue(history: &History, store: &Store) -> Result<Vec<Item>> {
    let mut items = proposed_items(history, store);
    items.extend(incoming_items(history, store));
    if let Some((state, _)) = State::load(history, store.id())? {
        let files = waiting_files(history, store, &state)?;
        items.extend(files.into_iter().flat_map(|file| file.items));
    }
    Ok(items)
}

/// A file that waits, with its accepted and current text.
pub(super) struct WaitingFile {
    pub(super) path: String,
    pub(super) accepted: Option<Vec<u8>>,
    pub(super) current: Option<Vec<u8>>,
    pub(super) renamed_from: Option<String>,
    pub(super) items: Vec<Item>,
}

/// The files that wait in a store, the last written first.
pub(super) fn waiting_files(
    history: &History,
    store: &Store,
    state: &State,
) -> Result<Vec<WaitingFile>> {
    if state.waiting.is_empty() {
        return Ok(Vec::new());
    }
    let mut deleted = history.deleted_memories()?;
    deleted.retain(|gone| gone.root == store.root().path());
    let mut files = Vec::new();
    for (path, waiting) in &state.waiting {
        let version = |revision: Option<Revision>| {
            revision
                .map(|revision| history.version(&revision))
                .transpose()
        };
        let mut file = WaitingFile {
            path: path.clone(),
            accepted: version(waiting.accepted)?,
            current: version(state.revision(path))?,
            renamed_from: waiting.renamed_from.clone(),
            items: Vec::new(),
        };
        file.items = items(history, store, (&file, waiting), &deleted)?;
        files.push(file);
    }
    let time = |file: &WaitingFile| file.items.iter().map(|item| item.time).max();
    files.sort_by_key(|file| std::cmp::Reverse(time(file)));
    Ok(files)
}

/// The items of a file: one for each author.
fn items(
    history: &History,
    store: &Store,
    (file, waiting): (&WaitingFile, &Waiting),
    deleted: &[DeletedMemory],
) -> Result<Vec<Item>> {
    let accepted = file.accepted.as_deref().unwrap_or_default();
    let current = file.current.as_deref().unwrap_or_default();
    let change = match (&file.accepted, &file.current) {
        _ if file.renamed_from.is_some() => ItemChange::Renamed,
        (None, _) => ItemChange::Added,
        (_, None) => ItemChange::Deleted,
        _ => ItemChange::Changed,
    };
    let replacements = diff::line_replacements(accepted, current);
    let hunks = diff::hunks(replacements, diff::lines(accepted).len());
    let owners = if change == ItemChange::Changed {
        hunk_owners(history, waiting, (accepted, current), &hunks)?
    } else {
        vec![waiting.writes.len().saturating_sub(1); hunks.len()]
    };
    let text: Arc<[u8]> = current.into();
    let mut items: Vec<Item> = Vec::new();
    let whole = (hunks.is_empty()).then(|| waiting.writes.len().saturating_sub(1));
    for number in whole.into_iter().chain(owners.iter().copied()) {
        let Some(write) = waiting.writes.get(number) else {
            continue;
        };
        let id = item_id(store, &file.path, write);
        if items.iter().any(|item| item.id == id) {
            continue;
        }
        items.push(Item {
            path: store.rules().reference_of(&file.path),
            change,
            renamed_from: file
                .renamed_from
                .as_deref()
                .map(|name| store.rules().reference_of(name)),
            time: last_time(waiting, write),
            author: write.author.clone(),
            origin: write.origin.clone(),
            deleted_before: (change == ItemChange::Added)
                .then(|| deleted_before(store, file, deleted))
                .flatten(),
            notes: waiting.notes.clone(),
            hunks: Vec::new(),
            file: file.path.clone(),
            current: Arc::clone(&text),
            proposal: None,
            sent: None,
            misfit: None,
            conflict: None,
            id,
        });
    }
    let (old, new) = (diff::lines(accepted), diff::lines(current));
    let entries = [accepted, current].map(|text| match std::str::from_utf8(text) {
        Ok(text) => store.rules().read(&file.path, text).entries,
        Err(_) => Vec::new(),
    });
    let mut equal: HashMap<String, usize> = HashMap::new();
    for (hunk, owner) in hunks.into_iter().zip(owners) {
        let id = waiting
            .writes
            .get(owner)
            .map(|write| item_id(store, &file.path, write));
        let item = items.iter_mut().find(|item| Some(&item.id) == id.as_ref());
        let Some(item) = item else { continue };
        let text = diff::hunk_text(&hunk, &old, &new);
        let entry = entry_of(&hunk, &entries, [&old, &new]);
        let mut id = format!("{}.{}", item.id, changed_hash(&hunk, &old, &new));
        // Equal differences in one file are told apart by a number.
        let count = equal.entry(id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            id = format!("{id}-{count}");
        }
        item.hunks.push(ReviewHunk {
            id,
            old: hunk.old,
            new: hunk.new,
            text,
            entry,
            citation: None,
            begins: begins(&hunk.replacements),
            replacements: hunk.replacements,
        });
    }
    for item in &mut items {
        item.bind();
    }
    items.sort_by_key(|item| std::cmp::Reverse(item.time));
    Ok(items)
}

/// The old and the new line at which the first of these differences begins.
pub(super) fn begins(differences: &[Replacement]) -> (usize, usize) {
    let first = differences.first();
    first.map_or((0, 0), |first| (first.old.start, first.new.start))
}

/// The fragment of the innermost entry in which the first difference of a hunk is. Entries and lines
/// are those of the file as accepted and as it is.
fn entry_of(hunk: &Hunk, entries: &[Vec<Entry>; 2], lines: [&[&[u8]]; 2]) -> Option<String> {
    let first = hunk.replacements.first()?;
    let (side, line) = if first.new.is_empty() {
        (0, first.old.start)
    } else {
        (1, first.new.start)
    };
    let at = lines[side][..line].iter().map(|line| line.len()).sum();
    Some(entry_at(&entries[side], at)?.slug.clone())
}

/// The write that owns each hunk.
fn hunk_owners(
    history: &History,
    waiting: &Waiting,
    texts: (&[u8], &[u8]),
    hunks: &[Hunk],
) -> Result<Vec<usize>> {
    let version = |revision: Option<Revision>| match revision {
        Some(revision) => history.version(&revision),
        None => Ok(Vec::new()),
    };
    let mut writes = Vec::new();
    for write in &waiting.writes {
        writes.push(WrittenText {
            before: version(write.before)?,
            after: version(write.after)?,
        });
    }
    let parts: Vec<Replacement> = hunks
        .iter()
        .flat_map(|hunk| hunk.replacements.clone())
        .collect();
    let mut by_part = writers(&writes, texts, &parts).into_iter();
    Ok(hunks
        .iter()
        .map(|hunk| {
            by_part
                .by_ref()
                .take(hunk.replacements.len())
                .max()
                .unwrap_or(0)
        })
        .collect())
}

/// When the author of `write` last wrote the file.
fn last_time(waiting: &Waiting, write: &OtherWrite) -> i64 {
    let same = waiting
        .writes
        .iter()
        .filter(|other| owner(other) == owner(write));
    same.map(|other| other.time).max().unwrap_or(write.time)
}

/// Writes of the same owner make one item.
fn owner(write: &OtherWrite) -> (&str, Option<&str>) {
    let session = write.origin.as_ref().map(|origin| origin.session.as_str());
    (&write.author.who, session)
}

fn item_id(store: &Store, path: &str, write: &OtherWrite) -> String {
    let (who, session) = owner(write);
    let root = store.root().path().to_string_lossy();
    let key = [&root, path, who, session.unwrap_or_default()].join("\0");
    short_hash(key.as_bytes(), 8)
}

pub(super) fn short_hash(bytes: &[u8], digits: usize) -> String {
    blake3::hash(bytes).to_hex()[..digits].to_owned()
}

/// A hash of the lines that differ in a hunk: the same wherever they are.
fn changed_hash(hunk: &Hunk, old: &[&[u8]], new: &[&[u8]]) -> String {
    let mut lines = Vec::new();
    for one in &hunk.replacements {
        lines.extend(old[one.old.clone()].concat());
        lines.push(0);
        lines.extend(new[one.new.clone()].concat());
        lines.push(0);
    }
    short_hash(&lines, 6)
}

/// When a memory of this name, text or nearly the same words was deleted by hand.
fn deleted_before(store: &Store, file: &WaitingFile, deleted: &[DeletedMemory]) -> Option<i64> {
    /// The share of characteristic words that make two texts alike.
    const ALIKE: f64 = 0.8;
    let bytes = file.current.as_deref()?;
    let reference = store.rules().reference_of(&file.path);
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let is_like = |gone: &&DeletedMemory| {
        let stone = &gone.tombstone;
        let found = stone
            .words
            .iter()
            .filter(|word| text.contains(word.as_str()))
            .count();
        stone.path == reference
            || stone.revision == Revision::of(bytes)
            || stone.words.len() >= 8 && found as f64 / stone.words.len() as f64 >= ALIKE
    };
    let like = deleted.iter().filter(is_like);
    like.map(|gone| gone.time).max()
}
