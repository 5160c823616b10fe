//! Records what other programs wrote into a store since tome last saw it.
//!
//! A listing of the store tells which files may differ, by size and time; only those are read. The
//! first sight of a store is its baseline: its versions are stored, nothing waits for review, and the
//! number of files is told until it is accepted.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::incoming::incoming_count;
use super::proposal::proposal_count;
use super::saved::Missing;
use super::state::{SeenFile, State, written_count};
use crate::core::change::history::{Author, ChangeVerb, FileChange, History, Lock, Origin, Record};
use crate::core::disk::revision::Revision;
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::index::INDEX;
use crate::core::memory::store::Store;
use crate::core::memory::{FileKind, Memory};
use crate::core::text::diff;
use crate::core::text::time::Moment;
use crate::core::{Error, Result};

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
    /// How many files of the store wait for review, and changes are proposed for it.
    pub waiting: usize,
    /// Whether another process was changing the store, so that nothing was compared.
    pub is_busy: bool,
}

/// The reviewed files of a store, each with its size and time.
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
    let files = reviewed.map(|memory| {
        let path = store.rules().file_of(&memory.path);
        (path, (memory.size, memory.modified))
    });
    let (observed, _) = observe_listing(history, store, files.collect(), moment)?;
    Ok(observed)
}

/// As [`observe`], for a store that was not listed: only the names, sizes and times of its files
/// are read.
pub fn observe_store(history: &History, store: &Store, moment: &Moment) -> Result<Observed> {
    let (observed, _) = observe_listing(history, store, listing_of(store)?, moment)?;
    Ok(observed)
}

/// As [`observe_store`]; returns every file as it was seen then, or `None` while another process
/// changes the store.
pub fn observed_files(
    history: &History,
    store: &Store,
    moment: &Moment,
) -> Result<Option<BTreeMap<String, Revision>>> {
    let (observed, state) = observe_listing(history, store, listing_of(store)?, moment)?;
    if observed.is_busy {
        return Ok(None);
    }
    let files = state.into_iter().flat_map(|state| state.files);
    Ok(Some(
        files.map(|(path, seen)| (path, seen.revision)).collect(),
    ))
}

fn listing_of(store: &Store) -> Result<Listing> {
    let found = store.files()?.into_iter();
    let reviewed = found.filter(|file| is_reviewed(store, store.rules().kind(&file.path)));
    let files = reviewed.map(|file| (file.path, (file.size, file.modified)));
    Ok(files.collect())
}

/// Observes a store with these files; returns its state, too, unless another process changes it.
fn observe_listing(
    history: &History,
    store: &Store,
    mut listing: Listing,
    moment: &Moment,
) -> Result<(Observed, Option<State>)> {
    let proposed = proposal_count(history, store.root(), store.layout())
        + incoming_count(history, store.root().path());
    if store.layout() == Layout::Index {
        // The index is no memory, but agents write it by hand.
        let index = store.root().find_file(INDEX);
        listing.extend(index.map(|file| (file.path, (file.size, file.modified))));
    }
    let observer = Observer::outside(history, store, moment);
    let (mut observed, state) = observer.observe_listed(&listing)?;
    observed.waiting += proposed;
    Ok((observed, state))
}

/// The files that must be read to know whether they differ from what was last seen.
fn differing(state: &State, listing: &Listing) -> Vec<String> {
    let may_differ = |(path, found): &(&String, &(u64, i64))| {
        let seen = state.files.get(*path).and_then(|seen| seen.stamp);
        seen != Some(**found)
    };
    let listed = listing.iter().filter(may_differ);
    let gone = state.files.keys();
    let gone = gone.filter(|path| !listing.contains_key(*path));
    listed.map(|(path, _)| path).chain(gone).cloned().collect()
}

/// Compares these files of a store, by their paths below the root, with what tome last saw of
/// them, and records the differences as written by `writer`. A store that was never seen is left
/// for [`observe`].
pub fn observe_files(
    history: &History,
    store: &Store,
    paths: &[String],
    writer: Writer,
    moment: &Moment,
) -> Result<Observed> {
    let reviewed = |path: &&String| is_reviewed(store, store.rules().kind(path));
    let paths: Vec<String> = paths.iter().filter(reviewed).cloned().collect();
    let observer = Observer {
        writer,
        ..Observer::outside(history, store, moment)
    };
    observer.observe(&paths)
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

impl<'a> Observer<'a> {
    /// For what somebody wrote who is not known.
    fn outside(history: &'a History, store: &'a Store, moment: &'a Moment) -> Self {
        Self {
            history,
            store,
            moment,
            writer: Writer::default(),
        }
    }

    /// `None` while another process changes the store.
    fn try_lock(&self) -> Result<Option<Lock>> {
        self.history.try_lock(&[self.store.root().path()])
    }

    /// What is told while another process changes the store.
    fn busy(&self) -> Result<Observed> {
        Ok(Observed {
            records: Vec::new(),
            waiting: written_count(self.history, self.store.id())?.unwrap_or(0),
            is_busy: true,
        })
    }

    /// Records how a store with these files differs from what was seen.
    fn observe_listed(&self, listing: &Listing) -> Result<(Observed, Option<State>)> {
        let store = self.store.id();
        if store.root().to_str().is_none() {
            // The history could not name it, and nothing can be changed there.
            return Ok((Observed::default(), None));
        }
        match State::load(self.history, store)? {
            None if listing.is_empty() => return Ok((Observed::default(), None)),
            Some((state, false)) if differing(&state, listing).is_empty() => {
                let observed = Observed {
                    waiting: state.waiting.len(),
                    ..Observed::default()
                };
                return Ok((observed, Some(state)));
            }
            _ => {}
        }
        let Some(_lock) = self.try_lock()? else {
            return Ok((self.busy()?, None));
        };
        let loaded = match State::load(self.history, store)? {
            Some(loaded) => loaded,
            None => match State::rebuilt(self.history, store)? {
                None => {
                    let state = self.take_baseline(listing)?;
                    return Ok((Observed::default(), Some(state)));
                }
                Some(state) => (self.with_files_never_changed(state, listing)?, true),
            },
        };
        let paths = differing(&loaded.0, listing);
        let (observed, state) = self.record_differences(loaded, &paths)?;
        Ok((observed, Some(state)))
    }

    /// Records how these files differ from what was seen. A store that was never seen is left alone.
    fn observe(&self, paths: &[String]) -> Result<Observed> {
        let Some(_lock) = self.try_lock()? else {
            return self.busy();
        };
        match State::load(self.history, self.store.id())? {
            Some(loaded) => Ok(self.record_differences(loaded, paths)?.0),
            None => Ok(Observed::default()),
        }
    }

    fn step(&self, what: &str) -> Result<()> {
        let step = self.history.step(what);
        step.map_err(|e| Error::io(self.history.dir(), e))
    }

    fn now(&self) -> i64 {
        self.moment.time.as_millisecond()
    }

    /// Stores the versions of all files; none of them waits.
    fn take_baseline(&self, listing: &Listing) -> Result<State> {
        let mut state = State::empty(self.history)?;
        let paths: Vec<&String> = listing.keys().collect();
        self.add_baseline(&mut state, &paths)?;
        state.here_before = state.files.len() - self.written_by_tome(&state)?;
        self.step("observe: the baseline is kept")?;
        state.save(self.history, self.store.id())?;
        Ok(state)
    }

    /// Adds the files that the journal does not tell of to a state that was made from it. Nobody
    /// knows whether they changed since they were last seen.
    fn with_files_never_changed(&self, mut state: State, listing: &Listing) -> Result<State> {
        let told: HashSet<String> = self.told_of()?.into_keys().collect();
        let paths = listing.keys().filter(|path| !told.contains(*path));
        let paths: Vec<&String> = paths.collect();
        self.add_baseline(&mut state, &paths)?;
        state.here_before = paths.len();
        self.step("observe: the state is made again")?;
        // What is recorded next is applied to the saved state.
        state.save(self.history, self.store.id())?;
        Ok(state)
    }

    /// Stores the versions of these files, and adds them to a state as accepted.
    fn add_baseline(&self, state: &mut State, paths: &[&String]) -> Result<()> {
        for part in paths.chunks(BATCH) {
            let read: Vec<(&String, Vec<u8>, SeenFile)> = part
                .iter()
                .filter_map(|path| {
                    let (bytes, seen, _) = self.read(path)?;
                    Some((*path, bytes, seen))
                })
                .collect();
            let versions: Vec<&[u8]> = read.iter().map(|(_, bytes, _)| bytes.as_slice()).collect();
            self.history.keep_all(&versions)?;
            let seen = read.into_iter().map(|(path, _, seen)| (path.clone(), seen));
            state.files.extend(seen);
        }
        Ok(())
    }

    /// The files of the store that changes of the history are about, as the last one left them.
    fn told_of(&self) -> Result<HashMap<String, Option<Revision>>> {
        let mut left: HashMap<String, Option<Revision>> = HashMap::new();
        for record in self.history.records()? {
            let files = record.files.into_iter();
            let here = files.filter(|file| file.is_of(self.store.id()));
            left.extend(here.map(|file| (file.path, file.after)));
        }
        Ok(left)
    }

    /// How many of the files are as a change of the history left them.
    fn written_by_tome(&self, state: &State) -> Result<usize> {
        let left = self.told_of()?;
        let files = state.files.iter();
        let is_left = |(path, seen): &(&String, &SeenFile)| {
            left.get(*path).copied().flatten() == Some(seen.revision)
        };
        Ok(files.filter(is_left).count())
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

    /// Reads these files and records the differences. The state is saved if that changed it, or if
    /// it already was not as it was saved.
    fn record_differences(
        &self,
        (mut state, mut is_changed): (State, bool),
        paths: &[String],
    ) -> Result<(Observed, State)> {
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
        let records = self.records(differences)?;
        if !records.is_empty() {
            self.step("observe: the versions are kept")?;
            self.history.record_all(&records)?;
            self.step("observe: recorded")?;
            // The state is brought up to date from the journal, as after a crash here.
            let store = self.store.id();
            let missing = Missing::of(self.history, store.root(), state.position)?;
            state.follow(self.history, store, missing)?;
            is_changed = true;
        }
        for (path, seen) in seen_now {
            if state.revision(&path) == Some(seen.revision) {
                is_changed |= state.files.insert(path, seen) != Some(seen);
            }
        }
        if is_changed {
            state.save(self.history, self.store.id())?;
            self.step("observe: saved")?;
        }
        let observed = Observed {
            waiting: state.waiting.len(),
            records,
            is_busy: false,
        };
        Ok((observed, state))
    }

    /// Stores the new versions and builds a record for each difference.
    fn records(&self, differences: Vec<Difference>) -> Result<Vec<Record>> {
        let new: Vec<&[u8]> = differences
            .iter()
            .filter_map(|one| Some(one.after.as_ref()?.0.as_slice()))
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
            before: one.before,
            after: revision(one),
            added,
            removed,
            ..FileChange::new(self.store.root().path(), self.store.layout(), &one.path)
        }
    }

    fn reference_of(&self, path: &str) -> String {
        self.store.rules().reference_of(path)
    }

    fn exists(&self, path: &str) -> bool {
        std::fs::symlink_metadata(self.store.root().absolute(path)).is_ok()
    }
}
