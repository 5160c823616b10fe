//! What tome last saw of a store, and what waits for review in it.
//!
//! A state is a summary of the journal up to a position, and is brought up to date by applying the
//! changes since. So nothing has to be written to it when tome changes a store or a person accepts
//! something, and after a crash the journal completes it. Pruning the history keeps the versions
//! that a state names.

mod acceptance;

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::incoming::incoming_count;
use super::proposal::{is_proposal, proposal_count};
use super::saved::{self, Missing};
use crate::core::Result;
use crate::core::change::history::{
    Author, ChangeVerb, FileChange, FilePosition, History, Origin, Record,
};
use crate::core::disk::revision::Revision;
use crate::core::disk::sandbox::Root;
use crate::core::memory::store::StoreId;
use crate::core::text::diff;

/// The state of one store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// How much of the journal is part of it.
    pub(super) position: FilePosition,
    /// How many files were there when tome first saw the store, until the person accepts them.
    pub(super) here_before: usize,
    /// Every file as it was last seen.
    pub(super) files: BTreeMap<String, SeenFile>,
    /// The files that differ from their accepted versions.
    pub(super) waiting: BTreeMap<String, Waiting>,
    /// What waited until a change by the person, which may be undone; the latest last.
    pub(super) ended: Vec<EndedWait>,
}

/// What waited for a file until the person changed or accepted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EndedWait {
    /// The id of the person's change.
    by: String,
    path: String,
    waiting: Waiting,
}

/// Of how many changes by the person it is remembered what waited before.
const REMEMBERED: usize = 100;

/// A file as it was last seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SeenFile {
    /// The content.
    pub(super) revision: Revision,
    /// The size and the modification time in milliseconds at which the content need not be read
    /// again; `None` if it must be.
    pub(super) stamp: Option<(u64, i64)>,
}

/// A file that differs from its accepted version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Waiting {
    /// The accepted version; `None` if the file did not exist.
    pub(super) accepted: Option<Revision>,
    /// The name of the accepted version, if the file was renamed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) renamed_from: Option<String>,
    /// What others wrote since, oldest first.
    pub(super) writes: Vec<OtherWrite>,
    /// What the person noted about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<Note>,
}

impl Waiting {
    /// Nothing was written yet since this version was accepted.
    fn since(accepted: Option<Revision>) -> Self {
        Self {
            accepted,
            renamed_from: None,
            writes: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// One write to a file by somebody else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OtherWrite {
    /// The change in the history.
    pub(super) id: String,
    /// When, in milliseconds since 1970.
    pub(super) time: i64,
    #[serde(flatten)]
    pub(super) author: Author,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<Origin>,
    pub(super) before: Option<Revision>,
    pub(super) after: Option<Revision>,
}

/// What the person noted about a file that waits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Note {
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// The words.
    pub text: String,
}

impl State {
    /// A store without files, as of now in the journal.
    pub(super) fn empty(history: &History) -> Result<Self> {
        let (_, position) = history.records_since(FilePosition::default())?;
        Ok(Self {
            position,
            here_before: 0,
            files: BTreeMap::new(),
            waiting: BTreeMap::new(),
            ended: Vec::new(),
        })
    }

    /// The state of a store, with the journal's changes since it was saved; `None` if the store
    /// was never seen. The flag tells whether it should be saved again because of such changes.
    pub(super) fn load(history: &History, store: &StoreId) -> Result<Option<(Self, bool)>> {
        let Some(mut state) = saved::read(history, store)? else {
            return Ok(None);
        };
        let missing = Missing::of(history, store.root(), state.position)?;
        let is_behind = missing.is_behind;
        state.follow(history, store, missing)?;
        Ok(Some((state, is_behind)))
    }

    /// Applies what the journal has since.
    pub(super) fn follow(
        &mut self,
        history: &History,
        store: &StoreId,
        missing: Missing,
    ) -> Result<()> {
        for record in &missing.records {
            self.apply(history, store, record)?;
        }
        self.position = missing.position;
        self.forget_old();
        Ok(())
    }

    /// The state of a store whose file is lost or damaged, from the whole journal; `None` if the
    /// journal has no change of it. A file is accepted as it was before its first change. Notes are
    /// in the lost file alone.
    pub(super) fn rebuilt(history: &History, store: &StoreId) -> Result<Option<Self>> {
        let (mut records, _) = history.records_since(FilePosition::default())?;
        records.retain(|record| record.files.iter().any(|file| file.is_of(store)));
        if records.is_empty() {
            return Ok(None);
        }
        let mut state = Self::empty(history)?;
        let mut known: HashSet<String> = HashSet::new();
        for record in &records {
            let files = record.files.iter().filter(|file| file.is_of(store));
            for file in files.filter(|_| record.verb != ChangeVerb::Accept) {
                if known.insert(file.path.clone()) && state.revision(&file.path).is_none() {
                    state.set(&file.path, file.before);
                }
            }
            state.apply(history, store, record)?;
        }
        state.forget_old();
        Ok(Some(state))
    }

    /// Writes the state of a store, whose lock the caller holds.
    pub(super) fn save(&self, history: &History, store: &StoreId) -> Result<()> {
        saved::save(self, history, store)
    }

    /// Applies a change of the journal.
    pub(super) fn apply(
        &mut self,
        history: &History,
        store: &StoreId,
        record: &Record,
    ) -> Result<()> {
        if self.apply_acceptance(history, store, record)? {
            return Ok(());
        }
        let pair = renamed(record, store).filter(|(_, to)| !self.waiting.contains_key(&to.path));
        if let Some((from, to)) = pair {
            self.rename(history, record, (from, to))?;
        }
        let is_applied = |file: &FileChange| {
            pair.is_some_and(|(from, to)| file.path == from.path || file.path == to.path)
        };
        let files = record.files.iter().filter(|file| file.is_of(store));
        // A patch that proposes something is no memory.
        let files = files.filter(|file| !is_proposal(&file.root, &file.path));
        for file in files.filter(|file| !is_applied(file)) {
            self.close_gap(record, file);
            let ended = self.take_end(record, &file.path);
            let waited = self.waiting.get(&file.path).cloned();
            if file.derived || record.author.is_person() {
                self.write_by_person(history, file)?;
            } else {
                self.write_by_other(&file.path, other_write(record, file));
            }
            self.set(&file.path, file.after);
            self.settle(&file.path);
            // An undo leaves what is remembered of the changes before the one that it undoes.
            if ended.is_none() {
                self.note_end(record, &file.path, waited);
            }
            self.wait_again(&file.path, ended);
        }
        Ok(())
    }

    /// Remembers what waited before a change by the person, in case the change is undone. A change
    /// that left some of it may have taken back the rest.
    fn note_end(&mut self, record: &Record, path: &str, waited: Option<Waiting>) {
        let Some(waiting) = waited.filter(|_| record.author.is_person()) else {
            return;
        };
        // What is made again is undone by the id of the original.
        let original = record.of.as_ref();
        let original = original.filter(|_| record.verb == ChangeVerb::Redo);
        self.remember(original.unwrap_or(&record.id), path, waiting);
    }

    /// Remembers what waited for a file before the change with this id.
    fn remember(&mut self, by: &str, path: &str, waiting: Waiting) {
        self.ended.push(EndedWait {
            by: by.to_owned(),
            path: path.to_owned(),
            waiting,
        });
    }

    /// Forgets what waited before changes that were made long ago.
    fn forget_old(&mut self) {
        let changes = self.ended.chunk_by(|a, b| a.by == b.by).rev();
        let kept: usize = changes.take(REMEMBERED).map(<[EndedWait]>::len).sum();
        self.ended.drain(..self.ended.len() - kept);
    }

    /// What waited before the change that this one undoes.
    fn take_end(&mut self, record: &Record, path: &str) -> Option<Waiting> {
        let undone = record.of.as_deref();
        let undone = undone.filter(|_| record.verb == ChangeVerb::Undo)?;
        self.recall(undone, path)
    }

    /// What waited for a file before the change with this id, if that was the last one of the file.
    fn recall(&mut self, by: &str, path: &str) -> Option<Waiting> {
        let at = self.ended.iter().rposition(|ended| ended.path == path)?;
        (self.ended[at].by == by).then(|| self.ended.remove(at).waiting)
    }

    /// The file waits again for what it waited for before, with the notes since.
    fn wait_again(&mut self, path: &str, ended: Option<Waiting>) {
        let Some(mut waiting) = ended else { return };
        if let Some(now) = self.waiting.get(path) {
            waiting.notes.clone_from(&now.notes);
        }
        self.waiting.insert(path.to_owned(), waiting);
        self.settle(path);
    }

    /// If the file was not as it was last seen when the change was made, another program wrote in
    /// between.
    fn close_gap(&mut self, record: &Record, file: &FileChange) {
        let known = self.revision(&file.path);
        if known != file.before {
            let write = OtherWrite {
                author: Author::outside(),
                origin: None,
                before: known,
                after: file.before,
                ..other_write(record, file)
            };
            self.write_by_other(&file.path, write);
            self.set(&file.path, file.before);
        }
    }

    /// The content of a file as it was last seen.
    pub(super) fn revision(&self, path: &str) -> Option<Revision> {
        self.files.get(path).map(|seen| seen.revision)
    }

    fn set(&mut self, path: &str, revision: Option<Revision>) {
        match revision {
            Some(revision) => {
                let stamp = None;
                self.files
                    .insert(path.to_owned(), SeenFile { revision, stamp });
            }
            None => drop(self.files.remove(path)),
        }
    }

    /// What waits for the old name of a renamed file waits for the new one. A rename by somebody
    /// else waits itself.
    fn rename(
        &mut self,
        history: &History,
        record: &Record,
        (from, to): (&FileChange, &FileChange),
    ) -> Result<()> {
        self.close_gap(record, from);
        let ended = self.take_end(record, &to.path);
        let moved = FileChange {
            before: from.before,
            ..to.clone()
        };
        let mut waiting = self.waiting.remove(&from.path);
        let waited = waiting.clone();
        if !record.author.is_person() {
            let waiting = waiting.get_or_insert_with(|| Waiting::since(from.before));
            waiting.writes.push(other_write(record, &moved));
            if waiting.accepted.is_some() {
                waiting
                    .renamed_from
                    .get_or_insert_with(|| from.path.clone());
            }
        }
        if let Some(mut waiting) = waiting {
            waiting.renamed_from = waiting.renamed_from.filter(|name| *name != to.path);
            self.waiting.insert(to.path.clone(), waiting);
        }
        if record.author.is_person() {
            self.write_by_person(history, &moved)?;
        }
        self.files.remove(&from.path);
        self.set(&to.path, to.after);
        self.settle(&to.path);
        if ended.is_none() {
            self.note_end(record, &from.path, waited);
        }
        self.wait_again(&to.path, ended);
        Ok(())
    }

    fn write_by_other(&mut self, path: &str, write: OtherWrite) {
        if write.before == write.after {
            return;
        }
        let waiting = self.waiting.entry(path.to_owned());
        let waiting = waiting.or_insert_with(|| Waiting::since(write.before));
        waiting.writes.push(write);
    }

    /// The person's own edit of a file that waits is accepted, and the rest of it still waits.
    fn write_by_person(&mut self, history: &History, file: &FileChange) -> Result<()> {
        let Some(waiting) = self.waiting.get_mut(&file.path) else {
            return Ok(());
        };
        if file.before == file.after {
            return Ok(());
        }
        waiting.accepted = match (waiting.accepted, file.before, file.after) {
            (Some(accepted), Some(before), Some(after)) => {
                let version = |revision: &Revision| history.version(revision);
                let [base, mine, theirs] =
                    [version(&before)?, version(&accepted)?, version(&after)?];
                let apart = |one: &[u8], other: &[u8]| {
                    let (added, removed) = diff::counts(one, other);
                    added + removed
                };
                let is_between =
                    apart(&mine, &theirs) + apart(&theirs, &base) == apart(&mine, &base);
                if is_between {
                    // A part of what waited is taken back, and nothing is new.
                    Some(accepted)
                } else {
                    let merged = diff::merge_preferring_theirs(&base, &mine, &theirs);
                    Some(history.keep(&merged)?)
                }
            }
            // A new file that nobody accepted yet stays new.
            (None, Some(_), Some(_)) => None,
            (_, _, after) => after,
        };
        Ok(())
    }

    /// Forgets what waited for a file that is as accepted again.
    pub(super) fn settle(&mut self, path: &str) {
        let current = self.revision(path);
        let is_settled = |waiting: &Waiting| {
            waiting.accepted == current && waiting.renamed_from.is_none()
                || waiting.accepted.is_none() && current.is_none()
        };
        if self.waiting.get(path).is_some_and(is_settled) {
            self.waiting.remove(path);
        }
    }
}

/// How many files of a store wait for review, and changes are proposed for it; `None` if the store
/// was never seen. Of what was written, only what tome has seen is counted.
pub fn count(history: &History, store: &StoreId) -> Result<Option<usize>> {
    let proposed = proposal_count(history, &Root::open(store.root())?, store.layout())
        + incoming_count(history, store.root());
    let written = written_count(history, store)?;
    Ok(written.map(|written| written + proposed))
}

/// Whether the journal has so much since a store was last seen that it takes seconds to follow it.
pub fn is_far_behind(history: &History, store: &StoreId) -> Result<bool> {
    const FAR: u64 = 4 << 20;
    let saved = saved::read(history, store)?;
    let position = saved.map_or_else(FilePosition::default, |state| state.position);
    Ok(history.bytes_since(position)? > FAR)
}

/// The files of a store that wait for review, those included that are gone.
pub fn waiting_paths(history: &History, store: &StoreId) -> Result<Vec<String>> {
    let loaded = State::load(history, store)?;
    Ok(loaded.map_or_else(Vec::new, |(state, _)| state.waiting.into_keys().collect()))
}

/// How many files of a store were there when tome first saw it, and nobody accepted since.
pub fn here_before(history: &History, store: &StoreId) -> Result<usize> {
    let saved = saved::read(history, store)?;
    Ok(saved.map_or(0, |state| state.here_before))
}

pub(super) fn written_count(history: &History, store: &StoreId) -> Result<Option<usize>> {
    let loaded = State::load(history, store)?;
    Ok(loaded.map(|(state, _)| state.waiting.len()))
}

/// The old and the new file of a change that renamed one, or took a renaming back.
fn renamed<'a>(record: &'a Record, store: &StoreId) -> Option<(&'a FileChange, &'a FileChange)> {
    let mut files = record.files.iter();
    let of_this = |file: &&FileChange| file.is_of(store) && !file.derived;
    let (mut gone, mut new) = (None, None);
    for file in files.by_ref().filter(of_this) {
        match (file.before, file.after) {
            (Some(_), None) if gone.is_none() => gone = Some(file),
            (None, Some(_)) if new.is_none() => new = Some(file),
            (Some(_), Some(_)) => {}
            _ => return None,
        }
    }
    let (gone, new) = (gone?, new?);
    let is_renaming = record.verb == ChangeVerb::Rename || gone.before == new.after;
    is_renaming.then_some((gone, new))
}

/// What a change by somebody else did to a file.
fn other_write(record: &Record, file: &FileChange) -> OtherWrite {
    OtherWrite {
        id: record.id.clone(),
        time: record.time,
        author: record.author.clone(),
        origin: record.origin.clone(),
        before: file.before,
        after: file.after,
    }
}
