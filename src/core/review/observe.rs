//! Records what other programs wrote into a store since tome last saw it.
//!
//! A listing of the store tells which files may differ, by size and time; only those are read. The
//! first sight of a store is its baseline: its versions are stored, and nothing waits for review.

use std::collections::BTreeMap;

use super::state::{SeenFile, State};
use crate::core::change::Moment;
use crate::core::history::{Author, ChangeVerb, FileChange, History, Origin, Record};
use crate::core::layout::Layout;
use crate::core::layout::index::INDEX;
use crate::core::memory::{FileKind, Memory, Revision};
use crate::core::store::Store;
use crate::core::{Result, diff};

/// The number of versions that a baseline stores at once.
const BATCH: usize = 256;

/// A file that was changed less than this many milliseconds ago may change again without a
/// different size or time.
const UNSETTLED: i64 = 2000;

/// The share of lines that a new file has in common with a deleted one if it is the same, renamed.
const SIMILAR: f64 = 0.6;

/// The most pairs of deleted and new files that are compared by their lines.
const MOST_COMPARED: usize = 2500;

/// Who is known to have written the differences, and in which conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writer {
    /// The author.
    pub author: Author,
    /// The conversation.
    pub origin: Option<Origin>,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            author: Author::outside(),
            origin: None,
        }
    }
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Observed {
    /// The changes that were recorded.
    pub records: Vec<Record>,
    /// How many files of the store wait for review.
    pub waiting: usize,
    /// Whether another process was changing the store, so that nothing was compared.
    pub is_busy: bool,
}

/// The size and modification time of each reviewed file, by its path below the root.
type Listing = BTreeMap<String, (u64, i64)>;

/// Compares a store with what tome last saw of it, given a listing of it, and records the
/// differences. While another process changes the store, nothing is done.
pub fn observe(
    history: &History,
    store: &Store,
    memories: &[Memory],
    moment: &Moment,
) -> Result<Observed> {
    let reviewed = memories
        .iter()
        .filter(|memory| is_reviewed(store, memory.kind));
    let listing = reviewed.map(|memory| {
        let path = store.rules().file_of(&memory.path);
        (path, (memory.size, memory.modified))
    });
    observe_listing((history, moment), store, listing.collect())
}

/// As [`observe`], for a store that was not listed: only the names, sizes and times of its files
/// are read.
pub fn observe_store(history: &History, store: &Store, moment: &Moment) -> Result<Observed> {
    let rules = store.rules();
    let found = rules.files(store.root())?.into_iter();
    let reviewed = found.filter(|file| is_reviewed(store, rules.kind(&file.path)));
    let listing = reviewed.map(|file| (file.path, (file.size, file.modified)));
    observe_listing((history, moment), store, listing.collect())
}

fn observe_listing(
    (history, moment): (&History, &Moment),
    store: &Store,
    mut listing: Listing,
) -> Result<Observed> {
    if store.layout() == Layout::Index {
        // The index is no memory, but agents write it by hand.
        let index = store.root().find_file(INDEX);
        listing.extend(index.map(|file| (file.path, (file.size, file.modified))));
    }
    let listing = &listing;
    let loaded = State::load(history, store.id())?;
    let waiting = loaded.as_ref().map_or(0, |(state, _)| state.waiting.len());
    let is_settled = match &loaded {
        None => listing.is_empty(),
        Some((state, is_behind)) => !is_behind && differing(state, listing).is_empty(),
    };
    let observed = Observed {
        records: Vec::new(),
        waiting,
        is_busy: false,
    };
    if is_settled {
        return Ok(observed);
    }
    let Some(_lock) = history.try_lock(&[store.root().path()])? else {
        return Ok(Observed {
            is_busy: true,
            ..observed
        });
    };
    let observer = Observer {
        history,
        store,
        moment,
        writer: Writer::default(),
    };
    match State::load(history, store.id())? {
        None => observer.take_baseline(listing),
        Some((state, _)) => {
            let paths = differing(&state, listing);
            observer.record_differences(state, &paths)
        }
    }
}

/// The files that must be read to know whether they differ from what was last seen.
fn differing(state: &State, listing: &Listing) -> Vec<String> {
    let may_differ = |(path, found): &(&String, &(u64, i64))| {
        let seen = state.files.get(*path).and_then(|seen| seen.stamp);
        seen != Some(**found)
    };
    let listed = listing.iter().filter(may_differ).map(|(path, _)| path);
    let gone = state
        .files
        .keys()
        .filter(|path| !listing.contains_key(*path));
    listed.chain(gone).cloned().collect()
}

/// Compares these files of a store, by their paths below the root, with what tome last saw of
/// them, and records the differences as written by `writer`. A store that was never seen is left
/// for [`observe`].
pub fn observe_files(
    history: &History,
    store: &Store,
    (paths, writer): (&[String], Writer),
    moment: &Moment,
) -> Result<Observed> {
    let Some(_lock) = history.try_lock(&[store.root().path()])? else {
        return Ok(Observed {
            is_busy: true,
            ..Observed::default()
        });
    };
    let Some((state, _)) = State::load(history, store.id())? else {
        return Ok(Observed::default());
    };
    let reviewed = |path: &&String| is_reviewed(store, store.rules().kind(path));
    let paths: Vec<String> = paths.iter().filter(reviewed).cloned().collect();
    let observer = Observer {
        history,
        store,
        moment,
        writer,
    };
    observer.record_differences(state, &paths)
}

/// Whether files of this kind are reviewed; raw conversations are not.
fn is_reviewed(store: &Store, kind: FileKind) -> bool {
    store.layout() != Layout::Events && kind != FileKind::Log
}

struct Observer<'a> {
    history: &'a History,
    store: &'a Store,
    moment: &'a Moment,
    writer: Writer,
}

/// A difference from what was last seen.
struct Difference {
    path: String,
    before: Option<Revision>,
    after: Option<(Vec<u8>, Revision)>,
    /// When the file was written, in milliseconds since 1970.
    time: i64,
}

fn revision(one: &Difference) -> Option<Revision> {
    one.after.as_ref().map(|(_, revision)| *revision)
}

impl Observer<'_> {
    fn now(&self) -> i64 {
        self.moment.time.as_millisecond()
    }

    /// Stores the versions of all files; none of them waits.
    fn take_baseline(&self, listing: &Listing) -> Result<Observed> {
        let mut state = State::empty(self.history)?;
        let paths: Vec<&String> = listing.keys().collect();
        for part in paths.chunks(BATCH) {
            let read: Vec<(&String, Vec<u8>, SeenFile)> = part
                .iter()
                .filter_map(|path| {
                    let (bytes, seen, _) = self.read(path)?;
                    Some((*path, bytes, seen))
                })
                .collect();
            let versions: Vec<(&[u8], Option<&Revision>)> = read
                .iter()
                .map(|(_, bytes, _)| (bytes.as_slice(), None))
                .collect();
            self.history.keep_all(&versions)?;
            let seen = read.into_iter().map(|(path, _, seen)| (path.clone(), seen));
            state.files.extend(seen);
        }
        state.save(self.history, self.store.id())?;
        Ok(Observed::default())
    }

    /// The content of a file and its time; `None` if there is none or it cannot be read.
    fn read(&self, path: &str) -> Option<(Vec<u8>, SeenFile, i64)> {
        let found = self.store.root().find_file(path)?;
        let bytes = self.store.root().read(path).ok()??;
        let is_settled = found.modified + UNSETTLED < self.now();
        let is_whole = found.size == bytes.len() as u64;
        let seen = SeenFile {
            revision: Revision::of(&bytes),
            stamp: (is_settled && is_whole).then_some((found.size, found.modified)),
        };
        Some((bytes, seen, found.modified))
    }

    /// Reads these files and records the differences.
    fn record_differences(&self, state: State, paths: &[String]) -> Result<Observed> {
        let mut seen_now: Vec<(String, SeenFile)> = Vec::new();
        let mut differences = Vec::new();
        for path in paths {
            let before = state.revision(path);
            match self.read(path) {
                Some((bytes, seen, modified)) => {
                    seen_now.push((path.clone(), seen));
                    if Some(seen.revision) != before {
                        differences.push(Difference {
                            path: path.clone(),
                            before,
                            after: Some((bytes, seen.revision)),
                            time: modified.min(self.now()),
                        });
                    }
                }
                // A file that exists and cannot be read is not a deleted one.
                None if before.is_some() && !self.exists(path) => differences.push(Difference {
                    path: path.clone(),
                    before,
                    after: None,
                    time: self.now(),
                }),
                None => {}
            }
        }
        let mut state = state;
        let records = self.records(differences)?;
        if !records.is_empty() {
            self.history.record_all(&records)?;
            // The state on disk is brought up to date from the journal, as after a crash here.
            if let Some((loaded, _)) = State::load(self.history, self.store.id())? {
                state = loaded;
            }
        }
        for (path, seen) in seen_now {
            if state.revision(&path) == Some(seen.revision) {
                state.files.insert(path, seen);
            }
        }
        state.save(self.history, self.store.id())?;
        Ok(Observed {
            waiting: state.waiting.len(),
            records,
            is_busy: false,
        })
    }

    /// Stores the new versions and builds a record for each difference.
    fn records(&self, differences: Vec<Difference>) -> Result<Vec<Record>> {
        let new: Vec<(&[u8], Option<&Revision>)> = differences
            .iter()
            .filter_map(|one| Some((one.after.as_ref()?.0.as_slice(), one.before.as_ref())))
            .collect();
        self.history.keep_all(&new)?;
        let (pairs, rest) = self.renamings(differences);
        let mut records = Vec::new();
        for (gone, new) in pairs {
            let message = format!(
                "Renamed by another program: {} → {}",
                self.reference_of(&gone.path),
                self.reference_of(&new.path)
            );
            let files = vec![self.file_change(&gone), self.file_change(&new)];
            records.push(self.record(ChangeVerb::Rename, message, (new.time, files)));
        }
        for one in rest {
            let (verb, word) = match (&one.before, &one.after) {
                (None, _) => (ChangeVerb::Write, "Written"),
                (_, None) => (ChangeVerb::Delete, "Deleted"),
                _ => (ChangeVerb::Edit, "Changed"),
            };
            let message = format!(
                "{word} by another program: {}",
                self.reference_of(&one.path)
            );
            records.push(self.record(verb, message, (one.time, vec![self.file_change(&one)])));
        }
        Ok(records)
    }

    /// The deleted and new files that have the same text, or nearly so, and the other differences.
    fn renamings(
        &self,
        differences: Vec<Difference>,
    ) -> (Vec<(Difference, Difference)>, Vec<Difference>) {
        let (gone, others): (Vec<_>, Vec<_>) =
            differences.into_iter().partition(|one| one.after.is_none());
        let (mut new, mut rest): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|one| one.before.is_none());
        let mut pairs = Vec::new();
        // With very many files, each would have to be compared with each.
        let is_compared = gone.len() * new.len() <= MOST_COMPARED;
        for gone in gone {
            let same = new.iter().position(|new| revision(new) == gone.before);
            let same = same.or_else(|| {
                let old = self.history.version(&gone.before?).ok()?;
                let similar = |new: &Difference| {
                    let (bytes, _) = new.after.as_ref()?;
                    Some(diff::similarity(&old, bytes)).filter(|share| *share >= SIMILAR)
                };
                let candidates = new.iter().enumerate().filter(|_| is_compared);
                let found = candidates.filter_map(|(at, new)| Some((similar(new)?, at)));
                found.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, at)| at)
            });
            match same {
                Some(at) => pairs.push((gone, new.swap_remove(at))),
                None => rest.push(gone),
            }
        }
        rest.extend(new);
        rest.sort_by(|a, b| a.time.cmp(&b.time).then_with(|| a.path.cmp(&b.path)));
        (pairs, rest)
    }

    fn record(
        &self,
        verb: ChangeVerb,
        message: String,
        (time, files): (i64, Vec<FileChange>),
    ) -> Record {
        Record {
            id: ulid::Ulid::from_datetime(self.moment.time.into()).to_string(),
            time,
            author: self.writer.author.clone(),
            origin: self.writer.origin.clone(),
            verb,
            message,
            of: None,
            files,
            tombstones: Vec::new(),
        }
    }

    fn file_change(&self, one: &Difference) -> FileChange {
        let before = one
            .before
            .and_then(|before| self.history.version(&before).ok());
        let after = one.after.as_ref().map(|(bytes, _)| bytes.as_slice());
        let (added, removed) = diff::counts(
            before.as_deref().unwrap_or_default(),
            after.unwrap_or_default(),
        );
        FileChange {
            root: self.store.root().path().to_owned(),
            layout: self.store.layout(),
            path: one.path.clone(),
            before: one.before,
            after: revision(one),
            derived: false,
            folders: Vec::new(),
            emptied: Vec::new(),
            modified: None,
            mode: None,
            added,
            removed,
        }
    }

    fn reference_of(&self, path: &str) -> String {
        self.store.rules().reference_of(path)
    }

    fn exists(&self, path: &str) -> bool {
        std::fs::symlink_metadata(self.store.root().absolute(path)).is_ok()
    }
}
