//! The plan for one store: what comes, what goes, what waits, and what is agreed on then.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, btree_map};
use std::iter::Peekable;

use super::blobs::Blobs;
use super::chosen::SharedHere;
use super::decision::{Decision, Version, Versions};
use super::held_back::{Border, reason};
use super::key::StoreKey;
use super::repo::{FileOp, Ops, Told};
use super::tree::{
    ABOUT, DELETED, INDEX_TEXT, LINES, Refusals, STORES, SharedStore, check_name, clashing,
};
use super::{Mode, Motion, StoreReport};
use crate::core::change::history::History;
use crate::core::disk::revision::Revision;
use crate::core::insight::review::{Arrival, Incoming, Sent, ThreeTexts, outcome};
use crate::core::memory::FileKind;
use crate::core::memory::config::IncomingMode;
use crate::core::memory::layout::index::INDEX;
use crate::core::memory::layout::{Layout, Operation};
use crate::core::memory::store::Store;
use crate::core::text::time::Moment;

/// What follows for one file.
#[derive(Default)]
pub(super) struct Step {
    /// The file below the root.
    pub(super) path: String,
    pub(super) motion: Option<Motion>,
    /// What is to be written here first.
    pub(super) arrival: Option<Arrival>,
    /// What waits for review.
    pub(super) offer: Option<Incoming>,
    /// What is sent.
    pub(super) ops: Ops,
    /// What is agreed on then.
    pub(super) base: Ops,
}

/// The plan for a store.
pub(super) struct StorePlan {
    pub(super) report: StoreReport,
    pub(super) steps: Vec<Step>,
    /// The hand-written index of the remote, which has lines of memories that arrive.
    pub(super) index: Option<String>,
    /// What the person decided about since the last sync, by the files.
    pub(super) decided: HashMap<String, Incoming>,
}

/// What is known about one store.
pub(super) struct StoreSides<'a> {
    pub(super) here: &'a SharedHere,
    pub(super) key: &'a StoreKey,
    pub(super) machine: &'a str,
    pub(super) history: &'a History,
    pub(super) moment: &'a Moment,
    pub(super) mode: Mode,
    pub(super) blobs: &'a Blobs<'a>,
    pub(super) base: &'a SharedStore,
    pub(super) there: Cow<'a, SharedStore>,
    /// What the branch of this machine proposes, by the paths in the repository.
    pub(super) proposed: &'a Ops,
    /// The files here.
    pub(super) files: BTreeMap<String, Revision>,
    /// What the person decided about since the last sync, by the files.
    pub(super) decided: HashMap<String, Incoming>,
    /// What waits since an earlier sync, by the files.
    pub(super) waiting: HashMap<String, Incoming>,
    /// The files that the history says were deleted here, once they were looked for.
    pub(super) deleted: OnceCell<HashSet<String>>,
    pub(super) refusals: Refusals,
    pub(super) border: Border<'a>,
    /// Versions that wait until there are enough of them to be kept in the history together.
    pub(super) to_keep: RefCell<Vec<Vec<u8>>>,
}

impl<'a> StoreSides<'a> {
    pub(super) fn path_in_repo(&self, path: &str) -> String {
        format!("{STORES}/{}/{path}", self.key.key)
    }

    /// Leaves out what cannot be a file of this store here, or everywhere. Returns the files of which
    /// not everybody has the same, without those of which the remote has something that is not taken
    /// in.
    fn narrow(&mut self) -> BTreeSet<String> {
        let store = &self.here.store;
        let rules = store.rules();
        let mut open = self.differing();
        let refusals = &mut self.refusals;
        self.files.retain(|path, _| {
            // What everybody has was looked at before.
            let name = if open.contains(path) {
                check_name(path)
            } else {
                Ok(())
            };
            if is_memory(store, path)
                && let Err(reason) = name
            {
                refusals.add(reason, path);
            }
            is_memory(store, path) && name.is_ok()
        });
        let (files, there) = (&self.files, &self.there);
        let is_here = |name: &str| files.contains_key(name);
        let is_there =
            |name: &&String| there.files.contains_key(*name) || there.deleted.contains_key(*name);
        let names = || open.iter().filter(is_there);
        let clashes = if names().all(|name| is_here(name)) {
            Vec::new()
        } else {
            clashing(names(), is_here, files.keys())
        };
        for name in &clashes {
            refusals.add("its name is another one's on some disks", name);
        }
        let mut left_alone: HashSet<String> = there
            .refused
            .iter()
            .map(|path| match path.split_once('/') {
                Some((DELETED, file)) => file.to_owned(),
                _ => path.clone(),
            })
            .collect();
        for path in names().filter(|path| *path != INDEX_TEXT) {
            let is_fitting = is_here(path)
                || is_memory(store, path)
                    && rules.allow(Operation::Receive, path, store.root()).is_ok();
            if !is_fitting {
                refusals.add("the store can have no such file", path);
            }
            let ids = [there.files.get(path), there.deleted.get(path)];
            let is_small = |id: &String| self.blobs.revision(id).is_some();
            let are_small = ids.into_iter().flatten().all(is_small);
            if !are_small {
                refusals.add("larger than 1 MB", path);
            }
            if !is_fitting || !are_small || clashes.contains(path) {
                left_alone.insert(path.clone());
            }
        }
        open.remove(INDEX_TEXT);
        if self.has_index() {
            // It has a step of its own.
            open.remove(INDEX);
        }
        if !left_alone.is_empty() {
            let there = self.there.to_mut();
            there.files.retain(|path, _| !left_alone.contains(path));
            there.deleted.retain(|path, _| !left_alone.contains(path));
            open.retain(|path| !left_alone.contains(path));
        }
        open
    }

    /// Whether the lines of an index lead to the memories.
    pub(super) fn has_index(&self) -> bool {
        self.here.store.layout() == Layout::Index
    }

    /// The files of which not everybody has the same, most of the time few.
    fn differing(&self) -> BTreeSet<String> {
        let mut open: BTreeSet<String> = self.decided.keys().cloned().collect();
        let mut base = self.base.files.iter().peekable();
        let mut here = self.files.iter().peekable();
        for (path, id) in &self.there.files {
            let agreed = skip_to(&mut base, path, &mut open);
            let own = skip_to(&mut here, path, &mut open);
            if agreed != Some(id) || own.is_none() || own.copied() != self.blobs.revision(id) {
                open.insert(path.clone());
            }
        }
        open.extend(base.map(|(path, _)| path.clone()));
        open.extend(here.map(|(path, _)| path.clone()));
        for (one, other) in [(self.base, &*self.there), (&*self.there, self.base)] {
            let stones = one.deleted.iter();
            let stones = stones.filter(|(path, id)| other.deleted.get(*path) != Some(*id));
            open.extend(stones.map(|(path, _)| path.clone()));
        }
        open
    }

    fn version(&self, shared: &SharedStore, path: &str) -> Version {
        let revision = |id: &String| self.blobs.revision(id);
        match (shared.files.get(path), shared.deleted.contains_key(path)) {
            (Some(id), _) => revision(id).map_or(Version::Absent, Version::Text),
            (None, true) => Version::Deleted,
            (None, false) => Version::Absent,
        }
    }

    /// Whether the history says that a file was deleted here.
    fn was_deleted(&self, path: &str) -> bool {
        let root = self.here.store.root().path();
        // A store that is not there has lost its files, and nobody deleted them.
        if !root.is_dir() {
            return false;
        }
        let deleted = self.deleted.get_or_init(|| {
            let mut gone = HashSet::new();
            let old = self.history.deleted_memories().unwrap_or_default();
            let rules = self.here.store.rules();
            let old = old.into_iter().filter(|one| one.root == root);
            gone.extend(old.map(|one| rules.file_of(&one.tombstone.path)));
            for record in self.history.records().unwrap_or_default() {
                for file in record.files.into_iter().filter(|file| file.root == root) {
                    match file.after {
                        None => gone.insert(file.path),
                        Some(_) => gone.remove(&file.path),
                    };
                }
            }
            gone
        });
        deleted.contains(path)
    }

    /// The versions of a file.
    fn versions(&self, path: &str) -> Versions {
        let decided = self.decided.get(path);
        let is_merged = || match self.proposed.get(&self.path_in_repo(path)) {
            Some(FileOp::Blob(id)) => self.there.files.get(path) == Some(id),
            _ => false,
        };
        let base = match decided {
            Some(one) => one.remote.map_or(Version::Deleted, Version::Text),
            // Others took what was proposed here.
            None if is_merged() => self.version(&self.there, path),
            None => self.version(self.base, path),
        };
        let here = match self.files.get(path) {
            Some(revision) => Version::Text(*revision),
            None if decided.is_some_and(|one| one.is_rejected) => Version::Deleted,
            None if matches!(base, Version::Text(_)) && self.was_deleted(path) => Version::Deleted,
            None => Version::Absent,
        };
        let read = self.blobs.bytes.borrow();
        let stone = self.there.deleted.get(path).and_then(|id| read.get(id));
        Versions {
            base,
            here,
            there: self.version(&self.there, path),
            was: stone.and_then(|bytes| stone_revision(bytes)),
        }
    }

    /// The plan, without the index that has a step of its own.
    pub(super) fn plan(&mut self) -> Told<StorePlan> {
        let open = self.narrow();
        let there = |path: &String| {
            self.there
                .files
                .get(path)
                .filter(|id| self.base.files.get(path) != Some(*id))
        };
        let stone = |path: &String| self.there.deleted.get(path);
        self.blobs.load(
            open.iter()
                .flat_map(|path| there(path).into_iter().chain(stone(path))),
        )?;
        self.check_ahead(&open);
        let mut steps = Vec::new();
        for path in &open {
            let versions = self.versions(path);
            let step = self.step(path, versions)?;
            steps.extend(step);
        }
        for (motion, is_outgoing) in [(Motion::SentDelete, true), (Motion::ReceivedDelete, false)] {
            let is_meant = |step: &Step| step.motion == Some(motion);
            let count = steps.iter().filter(|step| is_meant(step)).count();
            if self
                .border
                .stops_deletes(count, self.base.files.len(), is_outgoing)
            {
                for step in steps.extract_if(.., |step| is_meant(step)) {
                    // The others do not know yet what the person decided about it.
                    self.decided.remove(&step.path);
                }
            }
        }
        let is_new = |step: &&Step| step.arrival.is_some() || step.offer.is_some();
        let index = self.index_of_lines(steps.iter().filter(is_new).map(|step| &step.path))?;
        // One that is held back is told of when the index itself is planned.
        let index = index.filter(|text| reason(text.as_bytes()).is_none());
        let kept = index.as_ref().map(|text| self.keep(text.as_bytes()));
        let kept = kept.transpose()?;
        self.keep_rest()?;
        for offer in steps.iter_mut().filter_map(|step| step.offer.as_mut()) {
            offer.index = kept.filter(|_| self.there.lines.contains_key(&offer.path));
        }
        let about = self.path_in_repo(ABOUT);
        let has_files = steps.iter().any(|step| step.motion == Some(Motion::Sent));
        if self.there.about.is_none() && has_files {
            let text = self.key.about.clone().into_bytes();
            let ops = Ops::from([(about, FileOp::Write(text))]);
            steps.push(Step {
                path: ABOUT.to_owned(),
                base: ops.clone(),
                ops,
                ..Step::default()
            });
        }
        let motions = steps
            .iter()
            .filter_map(|step| Some((step.motion?, step.path.clone())));
        let motions: Vec<_> = motions.collect();
        let sent = motions.iter().filter(|(motion, _)| *motion == Motion::Sent);
        let sent: HashSet<&String> = sent.map(|(_, path)| path).collect();
        let is_alone = |path: &&String| {
            let is_shared = self.there.files.contains_key(*path) || sent.contains(*path);
            self.files.contains_key(*path) && !is_shared
        };
        let carried = self.files.len() - open.iter().filter(is_alone).count();
        let reference = |path: &str| self.here.store.rules().reference_of(path);
        let report = StoreReport {
            name: self.here.store.name().to_owned(),
            root: self.here.store.root().path().to_owned(),
            key: self.key.key.clone(),
            modes: (self.here.incoming, self.here.outgoing),
            files: carried,
            motions: motions
                .iter()
                .map(|(motion, path)| (*motion, reference(path)))
                .collect(),
            held_back: Vec::new(),
            notes: self.refusals.lines(),
        };
        Ok(StorePlan {
            report,
            steps,
            index,
            decided: HashMap::new(),
        })
    }

    /// What both sides have is agreed on: of these, the base gets what the remote has.
    pub(super) fn agreed(&self, names: impl IntoIterator<Item = String>) -> Ops {
        let mut ops = Ops::new();
        for name in names {
            match (self.base.get(&name), self.there.get(&name)) {
                (base, Some(id)) if base != Some(id) => {
                    ops.insert(self.path_in_repo(&name), FileOp::Blob(id.clone()));
                }
                (Some(_), None) => {
                    ops.insert(self.path_in_repo(&name), FileOp::Remove);
                }
                _ => {}
            }
        }
        ops
    }

    fn agreed_file(&self, path: &str) -> Ops {
        self.agreed([path.to_owned(), format!("{DELETED}/{path}")])
    }

    /// What is sent of a delete: a tombstone, without these lines of the index.
    pub(super) fn deleting<'b>(
        &self,
        path: &str,
        was: Revision,
        lines: impl Iterator<Item = &'b String>,
    ) -> Ops {
        let (time, machine) = (self.moment.time, self.machine);
        let stone = format!("was {was}\nby {machine}\nat {time}\n");
        let place = self.path_in_repo(&format!("{DELETED}/{path}"));
        let gone = lines.map(|line| self.path_in_repo(&format!("{LINES}/{line}")));
        let gone = gone.chain([self.path_in_repo(path)]);
        let gone = gone.map(|place| (place, FileOp::Remove));
        gone.chain([(place, FileOp::Write(stone.into_bytes()))])
            .collect()
    }

    /// Looks for secrets and orders in everything new that may be sent or taken in.
    fn check_ahead(&mut self, open: &BTreeSet<String>) {
        let root = self.here.store.root();
        let is_new = |path: &&String| {
            let agreed = self.base.files.get(*path);
            let agreed = agreed.and_then(|id| self.blobs.revision(id));
            self.files.contains_key(*path) && self.files.get(*path).copied() != agreed
        };
        let own: Vec<&String> = open.iter().filter(is_new).collect();
        self.border
            .check_ahead(own.len(), |at| root.read(own[at]).ok().flatten());
        let read = self.blobs.bytes.borrow();
        let is_known = |path: &String, id: &String| {
            let waits = self.waiting.get(path);
            waits.is_some_and(|one| one.blob.as_ref() == Some(id))
        };
        let theirs = open.iter().filter_map(|path| {
            let id = self.there.files.get(path)?;
            read.get(id).filter(|_| !is_known(path, id))
        });
        let theirs: Vec<&Vec<u8>> = theirs.collect();
        self.border.check_ahead(theirs.len(), |at| Some(theirs[at]));
    }

    fn step(&mut self, path: &str, versions: Versions) -> Told<Option<Step>> {
        let decision = versions.decide();
        let mut step = Step {
            path: path.to_owned(),
            ..Step::default()
        };
        match decision {
            Decision::Nothing | Decision::Agreed => step.base = self.agreed_file(path),
            Decision::Send => {
                step.base = self.decided_base(path);
                // A file that was written to meanwhile is left for the next sync.
                if let Some(bytes) = self.own(path)
                    && !self.border.stops(path, &bytes, true)
                {
                    step.ops = self.sending(path, bytes);
                    step.base.clone_from(&step.ops);
                    step.motion = Some(Motion::Sent);
                }
            }
            Decision::SendDelete => {
                let was = match versions.base {
                    Version::Text(was) => was,
                    _ => Revision::of(b""),
                };
                let line = self.there.lines.get_key_value(path);
                step.ops = self.deleting(path, was, line.into_iter().map(|(name, _)| name));
                step.base.clone_from(&step.ops);
                step.motion = Some(Motion::SentDelete);
            }
            Decision::Take | Decision::TakeDelete | Decision::Both => {
                self.take(&mut step, versions, decision)?;
            }
        }
        let is_idle = step.motion.is_none() && step.base.is_empty();
        Ok((!is_idle).then_some(step))
    }

    /// What the person decided about is agreed on, even if something newer came.
    fn decided_base(&self, path: &str) -> Ops {
        let decided = self.decided.get(path);
        let Some((one, blob)) = decided.and_then(|one| Some((one, one.blob.clone()?))) else {
            return Ops::new();
        };
        let place = match one.remote {
            Some(_) => self.path_in_repo(path),
            None => self.path_in_repo(&format!("{DELETED}/{path}")),
        };
        Ops::from([(place, FileOp::Blob(blob))])
    }

    fn take(&mut self, step: &mut Step, versions: Versions, decision: Decision) -> Told<()> {
        let path = step.path.clone();
        step.base = self.decided_base(&path);
        let blob = self
            .there
            .files
            .get(&path)
            .or_else(|| self.there.deleted.get(&path))
            .cloned();
        let theirs = match versions.there {
            Version::Text(_) => Some(self.blobs.read(blob.as_deref().unwrap_or_default())?),
            _ => None,
        };
        let ours = match versions.here {
            Version::Text(_) => match self.own(&path) {
                Some(bytes) => Some(bytes),
                // It was written to meanwhile.
                None => return Ok(()),
            },
            _ => None,
        };
        // What waits was looked at when it came.
        let known = self.waiting.get(&path).filter(|one| one.blob == blob);
        if let Some(theirs) = &theirs
            && known.is_none()
            && self.border.stops(&path, theirs, false)
        {
            return Ok(());
        }
        // Of what both deleted or nobody agreed on there is no text before.
        let base = match versions.base {
            Version::Text(revision) => Some(self.base_bytes(&path, revision)?),
            _ => None,
        };
        let (after, is_conflict) = match decision {
            Decision::Both => {
                let texts = ThreeTexts {
                    base: base.as_deref(),
                    ours: ours.as_deref(),
                    theirs: theirs.as_deref(),
                };
                outcome(&self.here.store, &path, texts)
            }
            _ => (theirs.clone(), false),
        };
        if let Some(ours) = ours
            .as_ref()
            .filter(|ours| !is_conflict && after.as_ref() == Some(*ours))
        {
            // The version here has everything already, as after a sync that did not end.
            if !self.border.stops(&path, ours, true) {
                step.ops = self.sending(&path, ours.clone());
                step.base.clone_from(&step.ops);
                step.motion = Some(Motion::Sent);
            }
            return Ok(());
        }
        let (mut sent, time) = self.sender(&path, &blob, after.is_none());
        sent.is_conflict = is_conflict;
        if is_conflict || self.here.incoming == IncomingMode::Review {
            let keep = |bytes: &Option<Vec<u8>>| {
                bytes.as_deref().map(|bytes| self.keep(bytes)).transpose()
            };
            // A file that is not here any more is new again.
            let base = if ours.is_none() && !is_conflict {
                None
            } else {
                base
            };
            step.motion = Some(if is_conflict {
                Motion::Conflict
            } else {
                Motion::Offered
            });
            // Of what waits already the person may have rejected a part.
            let rest = known.filter(|one| one.theirs != one.remote);
            let [base, theirs_left] = match rest {
                Some(rest) => [rest.base, rest.theirs],
                None => [keep(&base)?, keep(&theirs)?],
            };
            step.offer = Some(Incoming {
                base,
                theirs: theirs_left,
                index: None,
                remote: theirs.as_deref().map(Revision::of),
                blob,
                sent,
                time,
                is_rejected: false,
                path,
            });
            return Ok(());
        }
        let is_sent = after != theirs;
        if let Some(after) = after.as_ref().filter(|_| is_sent) {
            if self.border.stops(&path, after, true) {
                return Ok(());
            }
            step.ops = self.sending(&path, after.clone());
        }
        step.motion = Some(match after {
            Some(_) => Motion::Received,
            None => Motion::ReceivedDelete,
        });
        step.base = if is_sent {
            step.ops.clone()
        } else {
            self.agreed_file(&path)
        };
        step.arrival = Some(Arrival {
            before: ours.as_deref().map(Revision::of),
            after,
            sent,
            path,
        });
        Ok(())
    }

    /// Keeps a version in the history, together with others, unless nothing is to be written. The last
    /// ones are kept by [`Self::keep_rest`].
    pub(super) fn keep(&self, bytes: &[u8]) -> Told<Revision> {
        const MANY: usize = 1 << 20;
        if self.mode == Mode::Real {
            let mut new = self.to_keep.borrow_mut();
            new.push(bytes.to_vec());
            let size: usize = new.iter().map(Vec::len).sum();
            let are_many = new.len() >= 256 || size > MANY;
            drop(new);
            if are_many {
                self.keep_rest()?;
            }
        }
        Ok(Revision::of(bytes))
    }

    /// Keeps the versions that still wait for others.
    pub(super) fn keep_rest(&self) -> Told<()> {
        let new = self.to_keep.take();
        let new: Vec<&[u8]> = new.iter().map(Vec::as_slice).collect();
        self.history.keep_all(&new).map_err(|e| e.to_string())
    }

    /// The content that was agreed on.
    fn base_bytes(&self, path: &str, revision: Revision) -> Told<Vec<u8>> {
        if let Ok(bytes) = self.history.version(&revision) {
            return Ok(bytes);
        }
        let decided = self.decided.get(path);
        let blob = decided.and_then(|one| one.blob.as_ref()).or_else(|| {
            let sides = [self.base, &self.there].into_iter();
            let mut blobs = sides.filter_map(|side| side.files.get(path));
            blobs.find(|id| self.blobs.revision(id) == Some(revision))
        });
        self.blobs.read(blob.map_or("", String::as_str))
    }

    /// Who sent a file.
    pub(super) fn sender(
        &self,
        path: &str,
        blob: &Option<String>,
        is_deleted: bool,
    ) -> (Sent, i64) {
        if let Some(known) = self.waiting.get(path).filter(|one| one.blob == *blob) {
            return (known.sent.clone(), known.time);
        }
        let place = if is_deleted {
            format!("{DELETED}/{path}")
        } else {
            path.to_owned()
        };
        self.blobs.senders.of(&self.path_in_repo(&place))
    }

    /// The content of a file here, if it is still as it was listed, and no link.
    fn own(&self, path: &str) -> Option<Vec<u8>> {
        let root = self.here.store.root();
        if root.is_link(path) {
            return None;
        }
        let bytes = root.read(path).ok()??;
        (Some(&Revision::of(&bytes)) == self.files.get(path)).then_some(bytes)
    }

    fn sending(&self, path: &str, bytes: Vec<u8>) -> Ops {
        let mut ops = Ops::from([(self.path_in_repo(path), FileOp::Write(bytes))]);
        if self.there.deleted.contains_key(path) || self.base.deleted.contains_key(path) {
            let stone = self.path_in_repo(&format!("{DELETED}/{path}"));
            ops.insert(stone, FileOp::Remove);
        }
        ops
    }
}

/// Whether a file is a memory, which is shared.
pub(super) fn is_memory(store: &Store, path: &str) -> bool {
    use FileKind::{Instructions, Memory, Overview};
    matches!(store.rules().kind(path), Memory | Overview | Instructions)
}

/// Skips the entries of a sorted list before a path, and collects their paths; returns what the
/// list has at the path.
fn skip_to<'a, V>(
    list: &mut Peekable<btree_map::Iter<'a, String, V>>,
    path: &String,
    before: &mut BTreeSet<String>,
) -> Option<&'a V> {
    while let Some((passed, _)) = list.next_if(|(next, _)| *next < path) {
        before.insert(passed.clone());
    }
    list.next_if(|(next, _)| *next == path)
        .map(|(_, value)| value)
}

/// What a tombstone says the file had.
fn stone_revision(bytes: &[u8]) -> Option<Revision> {
    let text = std::str::from_utf8(bytes).ok()?;
    text.strip_prefix("was ")?
        .lines()
        .next()?
        .trim()
        .parse()
        .ok()
}
