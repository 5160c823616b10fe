//! What tome last saw of a store, and what waits for review in it.
//!
//! A state is one file, `review/HASH.json` in the history's directory: a first line with what
//! waits, then a line for each file of the store. It is a summary of the journal up to a position
//! and is brought up to date by applying the changes since. So nothing has to be written to it when
//! tome changes a store, and after a crash the journal completes it. Pruning the history keeps the
//! versions that a state names.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::core::diff;
use crate::core::foreign;
use crate::core::history::{
    Author, ChangeVerb, FileChange, History, JournalPosition, Origin, Record,
};
use crate::core::memory::Revision;
use crate::core::store::StoreId;
use crate::core::{Error, Result, private};

/// The schema of the file.
const SCHEMA: u32 = 1;

/// The largest state that is read.
const LARGEST: u64 = 1 << 28;

/// The state of one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    /// How much of the journal is part of it.
    position: JournalPosition,
    /// Every file as it was last seen.
    pub(super) files: BTreeMap<String, SeenFile>,
    /// The files that differ from their accepted versions.
    pub(super) waiting: BTreeMap<String, Waiting>,
    /// What waited until a change by the person, which may be undone.
    ended: BTreeMap<String, EndedWait>,
}

/// What waited for a file until the person changed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct EndedWait {
    /// The id of the person's change.
    by: String,
    waiting: Waiting,
}

/// A file as it was last seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// The words.
    pub text: String,
}

/// The first line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    schema: u32,
    root: PathBuf,
    position: JournalPosition,
    waiting: BTreeMap<String, Waiting>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    ended: BTreeMap<String, EndedWait>,
}

/// A line for a file: its path, revision, and size and time if they are known.
#[derive(Debug, Serialize, Deserialize)]
struct FileLine(String, Revision, Option<(u64, i64)>);

impl State {
    /// A store without files, as of now in the journal.
    pub(super) fn empty(history: &History) -> Result<Self> {
        let (_, position) = history.records_since(JournalPosition::default())?;
        Ok(Self {
            position,
            files: BTreeMap::new(),
            waiting: BTreeMap::new(),
            ended: BTreeMap::new(),
        })
    }

    /// The state of a store, with the journal's changes since it was saved; `None` if the store
    /// was never seen. The flag tells whether such changes were applied.
    pub(super) fn load(history: &History, store: &StoreId) -> Result<Option<(Self, bool)>> {
        let path = file_of(history, store);
        let Some(text) = foreign::read_text(&path, LARGEST)? else {
            return Ok(None);
        };
        // A damaged state is as good as none: the store gets a new baseline.
        let Some(mut state) = parse(&text, store.root()) else {
            return Ok(None);
        };
        let (records, position) = history.records_since(state.position)?;
        let mut touching = records
            .iter()
            .filter(|record| record.touches(&[store.root()]))
            .peekable();
        let is_behind = touching.peek().is_some();
        for record in touching {
            state.apply(history, store.root(), record)?;
        }
        state.position = position;
        Ok(Some((state, is_behind)))
    }

    /// Writes the state of a store, whose lock the caller holds.
    pub(super) fn save(&self, history: &History, store: &StoreId) -> Result<()> {
        let path = file_of(history, store);
        history.folder("review")?;
        let head = Head {
            schema: SCHEMA,
            root: store.root().to_owned(),
            position: self.position,
            waiting: self.waiting.clone(),
            ended: self.ended.clone(),
        };
        let written = private::replace(&path, |file| {
            let mut out = BufWriter::new(file);
            serde_json::to_writer(&mut out, &head)?;
            for (path, seen) in &self.files {
                out.write_all(b"\n")?;
                let line = FileLine(path.clone(), seen.revision, seen.stamp);
                serde_json::to_writer(&mut out, &line)?;
            }
            out.flush()
        });
        written.map_err(|e| Error::io(&path, e))
    }

    /// Applies a change of the journal.
    pub(super) fn apply(&mut self, history: &History, root: &Path, record: &Record) -> Result<()> {
        let pair = renamed(record, root).filter(|(_, to)| !self.waiting.contains_key(&to.path));
        if let Some((from, to)) = pair {
            self.rename(history, record, (from, to))?;
        }
        let is_applied = |file: &FileChange| {
            pair.is_some_and(|(from, to)| file.path == from.path || file.path == to.path)
        };
        let files = record.files.iter().filter(|file| file.root == root);
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
            self.note_end(record, &file.path, waited);
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
        let by = original.unwrap_or(&record.id).clone();
        self.ended
            .insert(path.to_owned(), EndedWait { by, waiting });
    }

    /// What waited before the change that this one undoes.
    fn take_end(&mut self, record: &Record, path: &str) -> Option<Waiting> {
        let ended = self.ended.get(path)?;
        let is_undone = record.verb == ChangeVerb::Undo && record.of.as_ref() == Some(&ended.by);
        let ended = is_undone.then(|| self.ended.remove(path))?;
        ended.map(|ended| ended.waiting)
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
        self.note_end(record, &from.path, waited);
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
        waiting.accepted = match (waiting.accepted, file.before, file.after) {
            (Some(accepted), Some(before), Some(after)) => {
                let version = |revision: &Revision| history.version(revision);
                let [base, mine, theirs] =
                    [version(&before)?, version(&accepted)?, version(&after)?];
                let merged = diff::merge_preferring_theirs(&base, &mine, &theirs);
                Some(history.keep_after(&merged, Some(&accepted))?)
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

/// How many files of a store wait for review; `None` if the store was never seen. Only what tome
/// has seen of the store is counted: nothing of it is read.
pub fn count(history: &History, store: &StoreId) -> Result<Option<usize>> {
    let loaded = State::load(history, store)?;
    Ok(loaded.map(|(state, _)| state.waiting.len()))
}

/// The file of a store's state.
fn file_of(history: &History, store: &StoreId) -> PathBuf {
    let name = blake3::hash(store.root().as_os_str().as_encoded_bytes());
    let name = format!("{}.json", &name.to_hex()[..32]);
    history.dir().join("review").join(name)
}

fn parse(text: &str, root: &Path) -> Option<State> {
    let mut lines = text.lines();
    let head: Head = serde_json::from_str(lines.next()?).ok()?;
    if head.schema != SCHEMA || head.root != root {
        return None;
    }
    let mut files = BTreeMap::new();
    for line in lines {
        let FileLine(path, revision, stamp) = serde_json::from_str(line).ok()?;
        files.insert(path, SeenFile { revision, stamp });
    }
    Some(State {
        position: head.position,
        files,
        waiting: head.waiting,
        ended: head.ended,
    })
}

/// The old and the new file of a change that renamed one, or took a renaming back.
fn renamed<'a>(record: &'a Record, root: &Path) -> Option<(&'a FileChange, &'a FileChange)> {
    let mut files = record.files.iter();
    let of_this = |file: &&FileChange| file.root == root && !file.derived;
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
