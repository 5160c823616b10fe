//! The plan for one store: what comes, what goes, what waits, and what is agreed on then.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::held::{self, Held};
use super::key::StoreKey;
use super::repo::{FileOp, Repo, Told};
use super::state::SyncState;
use super::table::{Decision, Version, Versions};
use super::tree::{
    ABOUT, DELETED, INDEX_TEXT, LINES, Refusals, STORES, SharedStore, check_name, clashing,
};
use super::{Mode, Motion, SharedHere, StoreReport};
use crate::core::change::history::History;
use crate::core::disk::parallel::on_all_cores;
use crate::core::disk::revision::Revision;
use crate::core::insight::review::{Arrival, Incoming, Sent, ThreeTexts, outcome};
use crate::core::memory::FileKind;
use crate::core::memory::config::IncomingMode;
use crate::core::memory::layout::index::hand_written::{self as by_hand, IndexPieces};
use crate::core::memory::layout::index::{INDEX, generate_index, is_generated, is_line_made};
use crate::core::memory::layout::{Layout, Operation};
use crate::core::text::time::Moment;

/// What is read of the clone for all stores.
pub(super) struct Contents<'a> {
    pub(super) repo: &'a Repo<'a>,
    /// What the blobs contain, as far as it is known.
    pub(super) revisions: HashMap<String, Revision>,
    /// The contents of the blobs that were read.
    pub(super) bytes: RefCell<HashMap<String, Vec<u8>>>,
    /// Who sent a file of the repository.
    pub(super) sender: &'a dyn Fn(&str) -> (Sent, i64),
}

impl Contents<'_> {
    /// Reads these blobs, in one call.
    fn load<'b>(&self, ids: impl Iterator<Item = &'b String>) -> Told<()> {
        let missing: BTreeSet<&str> = ids
            .map(String::as_str)
            .filter(|id| !self.bytes.borrow().contains_key(*id))
            .collect();
        let missing: Vec<&str> = missing.into_iter().collect();
        let found = self.repo.contents(&missing)?;
        self.bytes.borrow_mut().extend(found);
        Ok(())
    }

    /// The content of a blob.
    fn read(&self, id: &str) -> Told<Vec<u8>> {
        self.load(std::iter::once(&id.to_owned()))?;
        let bytes = self.bytes.borrow().get(id).cloned();
        bytes.ok_or_else(|| "a blob is too large".to_owned())
    }

    fn text(&self, id: &str) -> Told<String> {
        let bytes = self.read(id)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Changes of files of the repository.
pub(super) type Ops = BTreeMap<String, FileOp>;

/// What follows for one file.
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
pub(super) struct StorePlan<'a> {
    pub(super) here: &'a SharedHere,
    pub(super) key: &'a StoreKey,
    pub(super) report: StoreReport,
    pub(super) steps: Vec<Step>,
    /// What the person decided about since the last sync.
    pub(super) decided: Vec<Incoming>,
}

/// What is known about one store.
pub(super) struct StoreSides<'a> {
    pub(super) here: &'a SharedHere,
    pub(super) key: &'a StoreKey,
    pub(super) state: &'a SyncState,
    pub(super) history: &'a History,
    pub(super) moment: &'a Moment,
    pub(super) mode: Mode,
    pub(super) contents: &'a Contents<'a>,
    pub(super) base: SharedStore,
    pub(super) there: SharedStore,
    /// The files here.
    pub(super) files: BTreeMap<String, Revision>,
    /// What the person decided about since the last sync.
    pub(super) decided: Vec<Incoming>,
    /// What waits since an earlier sync.
    pub(super) waiting: Vec<Incoming>,
    /// What the person allows by this call.
    pub(super) allow: &'a [String],
    /// The files that the history says were deleted here, once they were looked for.
    pub(super) deleted: OnceCell<HashSet<String>>,
    pub(super) refusals: Refusals,
    /// The files that are left alone, because the remote has something of that name which is not
    /// taken in.
    pub(super) left_alone: HashSet<String>,
    /// Why contents are held back, as far as it is known.
    pub(super) checked: HashMap<Revision, Option<&'static str>>,
    pub(super) held: Vec<Held>,
}

impl<'a> StoreSides<'a> {
    fn path_in_repo(&self, path: &str) -> String {
        format!("{STORES}/{}/{path}", self.key.key)
    }

    /// Leaves out what cannot be a file of this store here, or everywhere.
    pub(super) fn narrow(&mut self) {
        let store = &self.here.store;
        let rules = store.rules();
        let is_memory = |path: &str| {
            let kind = rules.kind(path);
            matches!(
                kind,
                FileKind::Memory | FileKind::Overview | FileKind::Instructions
            )
        };
        let refusals = &mut self.refusals;
        self.files.retain(|path, _| {
            let name = check_name(path);
            if is_memory(path)
                && let Err(reason) = name
            {
                refusals.add(reason, path);
            }
            is_memory(path) && name.is_ok() && !store.root().is_link(path)
        });
        let files = &self.files;
        let names = self.there.files.keys().chain(self.there.deleted.keys());
        let clashes = clashing(names, |name| files.contains_key(name), files.keys());
        for name in &clashes {
            refusals.add("its name is another one's on some disks", name);
        }
        let contents = self.contents;
        let is_allowed = |path: &String, id: &String, refusals: &mut Refusals| {
            let is_fitting = files.contains_key(path)
                || is_memory(path) && rules.allow(Operation::Receive, path, store.root()).is_ok();
            if !is_fitting {
                refusals.add("the store can have no such file", path);
            }
            let is_small = contents.revisions.contains_key(id);
            if !is_small {
                refusals.add("larger than 1 MB", path);
            }
            is_fitting && is_small && !clashes.contains(path)
        };
        let mut left_alone = HashSet::new();
        let mut is_taken = |path: &String, id: &String| {
            let is_taken = path == INDEX_TEXT || is_allowed(path, id, refusals);
            if !is_taken {
                left_alone.insert(path.clone());
            }
            is_taken
        };
        self.there.files.retain(|path, id| is_taken(path, id));
        self.there.deleted.retain(|path, id| is_taken(path, id));
        self.left_alone = left_alone;
    }

    fn version(&self, shared: &SharedStore, path: &str) -> Version {
        let revision = |id: &String| self.contents.revisions.get(id).copied();
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
        let decided = self.decided.iter().find(|one| one.path == path);
        let base = match decided {
            Some(one) => one.remote.map_or(Version::Deleted, Version::Text),
            None => self.version(&self.base, path),
        };
        let here = match self.files.get(path) {
            Some(revision) => Version::Text(*revision),
            None if decided.is_some_and(|one| one.is_rejected) => Version::Deleted,
            None if matches!(base, Version::Text(_)) && self.was_deleted(path) => Version::Deleted,
            None => Version::Absent,
        };
        let read = self.contents.bytes.borrow();
        let stone = self.there.deleted.get(path).and_then(|id| read.get(id));
        Versions {
            base,
            here,
            there: self.version(&self.there, path),
            was: stone.and_then(|bytes| stone_revision(bytes)),
        }
    }

    /// The plan.
    pub(super) fn plan(mut self) -> Told<StorePlan<'a>> {
        self.narrow();
        self.check_ahead();
        let lists = [&self.base, &self.there].into_iter();
        let shared = lists.flat_map(|one| one.files.keys().chain(one.deleted.keys()));
        let names: BTreeSet<String> = shared.chain(self.files.keys()).cloned().collect();
        let mut steps = Vec::new();
        let is_read = |path: &String| path != INDEX_TEXT && !self.left_alone.contains(path);
        let names: Vec<String> = names.into_iter().filter(is_read).collect();
        for path in names {
            let versions = self.versions(&path);
            let step = self.step(&path, versions)?;
            steps.extend(step);
        }
        self.hold_deletes(&mut steps);
        let about = self.path_in_repo(ABOUT);
        let has_files = steps.iter().any(|step| step.motion == Some(Motion::Sent));
        if self.there.about.is_none() && has_files {
            let text = self.key.about.clone().into_bytes();
            steps.push(Step {
                path: ABOUT.to_owned(),
                motion: None,
                arrival: None,
                offer: None,
                ops: Ops::from([(about, FileOp::Write(text))]),
                base: Ops::new(),
            });
        }
        let motions = steps
            .iter()
            .filter_map(|step| Some((step.motion?, step.path.clone())));
        let motions: Vec<_> = motions.collect();
        let is_sent = |path: &&String| motions.contains(&(Motion::Sent, (**path).clone()));
        let files = self.files.keys();
        let carried = files.filter(|path| self.there.files.contains_key(*path) || is_sent(path));
        let reference = |path: &str| self.here.store.rules().reference_of(path);
        let report = StoreReport {
            name: self.here.store.name().to_owned(),
            root: self.here.store.root().path().to_owned(),
            key: self.key.key.clone(),
            modes: (self.here.incoming, self.here.outgoing),
            files: carried.count(),
            motions: motions
                .iter()
                .map(|(motion, path)| (*motion, reference(path)))
                .collect(),
            held: self.held,
            notes: self.refusals.lines(),
        };
        Ok(StorePlan {
            here: self.here,
            key: self.key,
            report,
            steps,
            decided: self.decided,
        })
    }

    /// Looks for secrets and orders in everything that may be sent or taken in, on all cores.
    fn check_ahead(&mut self) {
        let root = self.here.store.root();
        let is_new = |(path, revision): &(&String, &Revision)| {
            let id = self.base.files.get(*path);
            id.and_then(|id| self.contents.revisions.get(id)) != Some(*revision)
        };
        let own: Vec<(&String, &Revision)> = self.files.iter().filter(is_new).collect();
        let own = on_all_cores(own.len(), |at| {
            let (path, revision) = own[at];
            let bytes = root.read(path).ok()??;
            (Revision::of(&bytes) == *revision).then(|| (*revision, held::reason(&bytes)))
        });
        let read = self.contents.bytes.borrow();
        let theirs = self
            .there
            .files
            .iter()
            .filter(|(path, id)| self.base.files.get(*path) != Some(*id));
        let theirs: Vec<&Vec<u8>> = theirs.filter_map(|(_, id)| read.get(id)).collect();
        let theirs = on_all_cores(theirs.len(), |at| {
            (Revision::of(theirs[at]), held::reason(theirs[at]))
        });
        self.checked = own.into_iter().flatten().chain(theirs).collect();
    }

    /// What both sides have is agreed on: the base gets what the remote has.
    fn agreed(&self, path: &str) -> Ops {
        let mut ops = Ops::new();
        let sides = [
            ("", &self.base.files, &self.there.files),
            (DELETED, &self.base.deleted, &self.there.deleted),
        ];
        for (folder, base, there) in sides {
            let place = match folder {
                "" => self.path_in_repo(path),
                folder => self.path_in_repo(&format!("{folder}/{path}")),
            };
            match (base.get(path), there.get(path)) {
                (base, Some(id)) if base != Some(id) => ops.insert(place, FileOp::Blob(id.clone())),
                (Some(_), None) => ops.insert(place, FileOp::Remove),
                _ => None,
            };
        }
        ops
    }

    fn step(&mut self, path: &str, versions: Versions) -> Told<Option<Step>> {
        let decision = versions.decide();
        let mut step = Step {
            path: path.to_owned(),
            motion: None,
            arrival: None,
            offer: None,
            ops: Ops::new(),
            base: Ops::new(),
        };
        match decision {
            Decision::Nothing | Decision::Agreed => step.base = self.agreed(path),
            Decision::Send => {
                step.base = self.decided_base(path);
                // A file that was written to meanwhile is left for the next sync.
                if let Some(bytes) = self.own(path)
                    && !self.is_held(path, &bytes, true)
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
                let stone = self.stone(was).into_bytes();
                let place = self.path_in_repo(&format!("{DELETED}/{path}"));
                step.ops.insert(place, FileOp::Write(stone));
                step.ops.insert(self.path_in_repo(path), FileOp::Remove);
                step.base.clone_from(&step.ops);
                if self.there.lines.contains_key(path) {
                    let line = self.path_in_repo(&format!("{LINES}/{path}"));
                    step.ops.insert(line, FileOp::Remove);
                }
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
        let decided = self.decided.iter().find(|one| one.path == path);
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
            Version::Text(_) => Some(self.contents.read(blob.as_deref().unwrap_or_default())?),
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
        if let Some(theirs) = &theirs
            && self.is_held(&path, theirs, false)
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
            if !self.is_held(&path, ours, true) {
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
            step.offer = Some(Incoming {
                base: keep(&base)?,
                theirs: keep(&theirs)?,
                index: keep(&self.index_of_lines(&path)?.map(String::into_bytes))?,
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
            if self.is_held(&path, after, true) {
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
            self.agreed(&path)
        };
        step.arrival = Some(Arrival {
            before: ours.as_deref().map(Revision::of),
            index: self.index_of_lines(&path)?,
            after,
            sent,
            path,
        });
        Ok(())
    }

    /// Keeps a version in the history, unless nothing is to be written.
    fn keep(&self, bytes: &[u8]) -> Told<Revision> {
        match self.mode {
            Mode::Dry => Ok(Revision::of(bytes)),
            Mode::Real => self.history.keep(bytes).map_err(|e| e.to_string()),
        }
    }

    /// The content that was agreed on.
    fn base_bytes(&self, path: &str, revision: Revision) -> Told<Vec<u8>> {
        if let Ok(bytes) = self.history.version(&revision) {
            return Ok(bytes);
        }
        let decided = self.decided.iter().find(|one| one.path == path);
        let blob = decided
            .and_then(|one| one.blob.as_ref())
            .or_else(|| self.base.files.get(path));
        self.contents.read(blob.map_or("", String::as_str))
    }

    /// Who sent a file.
    fn sender(&self, path: &str, blob: &Option<String>, is_deleted: bool) -> (Sent, i64) {
        let known = self
            .waiting
            .iter()
            .find(|one| one.path == path && one.blob == *blob);
        if let Some(known) = known {
            return (known.sent.clone(), known.time);
        }
        let place = if is_deleted {
            format!("{DELETED}/{path}")
        } else {
            path.to_owned()
        };
        (self.contents.sender)(&self.path_in_repo(&place))
    }

    /// The content of a file here, if it is still as it was listed.
    fn own(&self, path: &str) -> Option<Vec<u8>> {
        let bytes = self.here.store.root().read(path).ok()??;
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

    fn stone(&self, was: Revision) -> String {
        let time = self.moment.time;
        format!("was {was}\nby {}\nat {time}\n", self.state.machine)
    }

    /// Whether a content may not pass.
    fn is_held(&mut self, path: &str, bytes: &[u8], is_outgoing: bool) -> bool {
        let known = self.checked.get(&Revision::of(bytes)).copied();
        let Some(why) = known.unwrap_or_else(|| held::reason(bytes)) else {
            return false;
        };
        let id = held::id(&self.key.key, path, bytes);
        self.hold(id, path, why.to_owned(), is_outgoing)
    }

    fn hold(&mut self, id: String, path: &str, why: String, is_outgoing: bool) -> bool {
        let path = self.here.store.rules().reference_of(path);
        let full = format!("{}:{path}", self.here.store.name());
        let is_allowed = |id: &String| self.state.allowed.contains(id);
        let is_named = self
            .allow
            .iter()
            .any(|name| *name == id || *name == path || *name == full);
        if is_allowed(&id) || is_named {
            return false;
        }
        self.held.push(Held {
            id,
            path,
            why,
            is_outgoing,
        });
        true
    }

    /// Deletes of most of a store are an accident until a person says otherwise.
    fn hold_deletes(&mut self, steps: &mut Vec<Step>) {
        for (motion, is_outgoing) in [(Motion::SentDelete, true), (Motion::ReceivedDelete, false)] {
            let count = steps
                .iter()
                .filter(|step| step.motion == Some(motion))
                .count();
            let whole = self.base.files.len().max(count);
            let is_many = count >= 5 && count * 2 > whole || count >= 2 && count == whole;
            if !is_many {
                continue;
            }
            let id = held::id(
                &self.key.key,
                "deletes",
                format!("{count} {is_outgoing}").as_bytes(),
            );
            let why = format!("{count} of {whole} files would be deleted");
            if self.hold(id, "deletes", why, is_outgoing) {
                steps.retain(|step| step.motion != Some(motion));
            }
        }
    }

    /// The hand-written index of the remote, for the line of a memory that is new here.
    fn index_of_lines(&self, path: &str) -> Told<Option<String>> {
        let (Some(index), Some(line)) = (&self.there.index, self.there.lines.get(path)) else {
            return Ok(None);
        };
        self.contents
            .load(self.there.lines.values().chain(&self.there.index))?;
        let line = self.contents.text(line)?;
        let text = self.contents.text(index)?;
        let mut lines: BTreeMap<&str, String> = BTreeMap::from([(path, line)]);
        // The lines around it say where it goes.
        for (name, id) in &self.there.lines {
            if self.files.contains_key(name)
                && let Ok(line) = self.contents.text(id)
            {
                lines.insert(name, line);
            }
        }
        Ok(Some(by_hand::joined(&text, |name| {
            lines.get(name).map(String::as_str)
        })))
    }

    /// The plan for the hand-written index, given which memories the remote will have.
    pub(super) fn index_step(&mut self, remote_files: &BTreeSet<String>) -> Told<Option<Step>> {
        if self.here.store.layout() != Layout::Index {
            return Ok(None);
        }
        let on_disk = self.here.store.text(INDEX).map_err(|e| e.to_string())?;
        let by_hand = on_disk.clone().filter(|text| !is_generated(text));
        if by_hand.is_none() && self.there.index.is_none() && self.base.index.is_none() {
            return Ok(None);
        }
        let files = &self.files;
        let is_shared = |name: &str| files.contains_key(name) && remote_files.contains(name);
        let theirs = self.composed(&self.there, is_shared)?;
        let agreed = self.composed(&self.base, is_shared)?;
        // Without the lines of memories that are not here it may look like a generated one.
        if theirs.as_deref().is_some_and(is_generated) {
            return Ok(None);
        }
        let pieces = by_hand
            .as_deref()
            .map(|text| restricted(text, |name| files.contains_key(name), is_shared));
        let line = |pieces: &IndexPieces| {
            by_hand::joined(&pieces.text, |name| {
                pieces.lines.get(name).map(String::as_str)
            })
        };
        let ours = pieces.as_ref().map(line);
        // Lines that tome made for memories whose lines came later are nobody's words.
        let made = self.lines_made(pieces.as_ref());
        let without_made = pieces.as_ref().map(|pieces| {
            let own = |name: &str| pieces.lines.get(name).filter(|_| !made.contains_key(name));
            by_hand::joined(&pieces.text, |name| own(name).map(String::as_str))
        });
        let agreed = if made.is_empty() || without_made != agreed {
            agreed
        } else {
            ours.clone()
        };
        let decided = self.decided.iter().find(|one| one.path == INDEX);
        let revision = |text: &String| Version::Text(Revision::of(text.as_bytes()));
        let is_gone_there = self.there.deleted.contains_key(INDEX_TEXT);
        let base = match (decided, &agreed) {
            (Some(one), _) => one.remote.map_or(Version::Deleted, Version::Text),
            (None, Some(text)) => revision(text),
            (None, None) if self.base.deleted.contains_key(INDEX_TEXT) => Version::Deleted,
            (None, None) => Version::Absent,
        };
        let here = match &ours {
            Some(text) => revision(text),
            // It was generated again on purpose.
            None if on_disk.is_some() && matches!(base, Version::Text(_)) => Version::Deleted,
            None => Version::Absent,
        };
        let there = match &theirs {
            Some(text) => revision(text),
            None if is_gone_there => Version::Deleted,
            None => Version::Absent,
        };
        let versions = Versions {
            base,
            here,
            there,
            was: None,
        };
        let mut step = Step {
            path: INDEX.to_owned(),
            motion: None,
            arrival: None,
            offer: None,
            ops: Ops::new(),
            base: Ops::new(),
        };
        match versions.decide() {
            Decision::Nothing | Decision::Agreed => step.base = self.agreed_index(),
            Decision::Send => {
                let (Some(ours), Some(pieces)) = (ours, pieces) else {
                    return Ok(None);
                };
                if !self.is_held(INDEX, ours.as_bytes(), true) {
                    step.ops = self.sending_index(&pieces)?;
                    step.base.clone_from(&step.ops);
                    step.motion = Some(Motion::Sent);
                }
            }
            Decision::SendDelete => {
                let stone = self.stone(Revision::of(b"")).into_bytes();
                let place = self.path_in_repo(&format!("{DELETED}/{INDEX_TEXT}"));
                step.ops.insert(place, FileOp::Write(stone));
                step.ops
                    .insert(self.path_in_repo(INDEX_TEXT), FileOp::Remove);
                for name in self.there.lines.keys() {
                    let line = self.path_in_repo(&format!("{LINES}/{name}"));
                    step.ops.insert(line, FileOp::Remove);
                }
                step.base.clone_from(&step.ops);
                step.motion = Some(Motion::SentDelete);
            }
            Decision::Take | Decision::TakeDelete | Decision::Both => {
                let theirs = match theirs {
                    Some(text) => text,
                    None => generate_index(&self.here.store.list().map_err(|e| e.to_string())?),
                };
                let agreed = match base {
                    Version::Text(revision) => {
                        let kept = self.history.version(&revision).ok();
                        kept.and_then(|bytes| String::from_utf8(bytes).ok())
                            .or(agreed)
                    }
                    _ => None,
                };
                let texts = IndexTexts {
                    agreed,
                    on_disk,
                    theirs,
                };
                self.take_index(&mut step, texts, (&made, remote_files))?;
            }
        }
        let is_idle = step.motion.is_none() && step.base.is_empty();
        Ok((!is_idle).then_some(step))
    }

    fn take_index(
        &mut self,
        step: &mut Step,
        IndexTexts {
            agreed,
            on_disk,
            theirs,
        }: IndexTexts,
        (made, remote_files): (&BTreeMap<String, String>, &BTreeSet<String>),
    ) -> Told<()> {
        let is_gone_there = self.there.index.is_none();
        if self.is_held(INDEX, theirs.as_bytes(), false) {
            return Ok(());
        }
        let by_hand = on_disk.clone().filter(|text| !is_generated(text));
        let made = match &by_hand {
            Some(ours) if !is_gone_there => {
                let ours = by_hand::reworded(ours, made);
                by_hand::merged(agreed.as_deref(), &ours, &theirs)
            }
            _ => Some(theirs.clone()),
        };
        if let Some(made) = made.as_ref().filter(|made| on_disk.as_ref() == Some(*made)) {
            // The index here has everything already.
            step.base = self.agreed_index();
            if let Some(ops) = self.sending_merged(made, &theirs, remote_files)? {
                step.base.extend(ops.clone());
                step.ops = ops;
                step.motion = Some(Motion::Sent);
            }
            return Ok(());
        }
        let blob = self.there.index.clone();
        let (mut sent, time) = self.sender(INDEX_TEXT, &blob, is_gone_there);
        sent.is_conflict = made.is_none();
        let keep = |text: &str| self.keep(text.as_bytes());
        match made {
            Some(made) if self.here.incoming == IncomingMode::Accept => {
                step.motion = Some(Motion::Received);
                step.arrival = Some(Arrival {
                    path: INDEX.to_owned(),
                    before: on_disk.map(|text| Revision::of(text.as_bytes())),
                    after: Some(made.clone().into_bytes()),
                    index: None,
                    sent,
                });
                step.base = self.agreed_index();
                if let Some(ops) = self.sending_merged(&made, &theirs, remote_files)? {
                    step.base.extend(ops.clone());
                    step.ops = ops;
                }
            }
            made => {
                step.motion = Some(if made.is_none() {
                    Motion::Conflict
                } else {
                    Motion::Offered
                });
                // A generated index is replaced as a whole.
                let base = by_hand
                    .as_ref()
                    .and(agreed)
                    .or(on_disk.filter(|_| by_hand.is_none()));
                step.offer = Some(Incoming {
                    path: INDEX.to_owned(),
                    base: base.as_deref().map(keep).transpose()?,
                    theirs: Some(keep(&theirs)?),
                    index: None,
                    remote: (!is_gone_there).then(|| Revision::of(theirs.as_bytes())),
                    blob: None,
                    sent,
                    time,
                    is_rejected: false,
                });
            }
        }
        Ok(())
    }

    /// What is sent of an index that was merged, if that is more than the remote has.
    fn sending_merged(
        &mut self,
        made: &str,
        theirs: &str,
        remote_files: &BTreeSet<String>,
    ) -> Told<Option<Ops>> {
        let files = &self.files;
        let is_shared = |name: &str| files.contains_key(name) && remote_files.contains(name);
        let pieces = restricted(made, |name| files.contains_key(name), is_shared);
        let text = by_hand::joined(&pieces.text, |name| {
            pieces.lines.get(name).map(String::as_str)
        });
        if text == theirs || is_generated(made) || self.is_held(INDEX, text.as_bytes(), true) {
            return Ok(None);
        }
        self.sending_index(&pieces).map(Some)
    }

    /// The lines here that tome made of the memories, and that the remote has in other words: with
    /// those words.
    fn lines_made(&self, pieces: Option<&IndexPieces>) -> BTreeMap<String, String> {
        let mut made = BTreeMap::new();
        for (name, line) in pieces.into_iter().flat_map(|pieces| &pieces.lines) {
            let Some(id) = self
                .there
                .lines
                .get(name)
                .filter(|_| !self.base.lines.contains_key(name))
            else {
                continue;
            };
            let Ok(Some(text)) = self.here.store.text(name) else {
                continue;
            };
            let memory = self.here.store.rules().read(name, &text);
            if let Ok(theirs) = self.contents.text(id)
                && theirs != *line
                && is_line_made(line, &memory)
            {
                made.insert(name.clone(), theirs);
            }
        }
        made
    }

    /// The hand-written index of one side, with the lines of these memories.
    fn composed(
        &self,
        side: &SharedStore,
        is_shared: impl Fn(&str) -> bool,
    ) -> Told<Option<String>> {
        let Some(index) = &side.index else {
            return Ok(None);
        };
        self.contents.load(side.lines.values().chain(&side.index))?;
        let text = self.contents.text(index)?;
        let mut lines = HashMap::new();
        for (name, id) in side.lines.iter().filter(|(name, _)| is_shared(name)) {
            lines.insert(name.as_str(), self.contents.text(id)?);
        }
        Ok(Some(by_hand::joined(&text, |name| {
            lines.get(name).map(String::as_str)
        })))
    }

    /// The index of the remote becomes the one that is agreed on.
    fn agreed_index(&self) -> Ops {
        let mut ops = Ops::new();
        let all = |side: &SharedStore| -> BTreeMap<String, String> {
            let lines = side
                .lines
                .iter()
                .map(|(name, id)| (format!("{LINES}/{name}"), id.clone()));
            let stone = side
                .deleted
                .get(INDEX_TEXT)
                .map(|id| (format!("{DELETED}/{INDEX_TEXT}"), id.clone()));
            let text = side
                .index
                .iter()
                .map(|id| (INDEX_TEXT.to_owned(), id.clone()));
            lines.chain(stone).chain(text).collect()
        };
        let (base, there) = (all(&self.base), all(&self.there));
        for (name, id) in &there {
            if base.get(name) != Some(id) {
                ops.insert(self.path_in_repo(name), FileOp::Blob(id.clone()));
            }
        }
        for name in base.keys().filter(|name| !there.contains_key(*name)) {
            ops.insert(self.path_in_repo(name), FileOp::Remove);
        }
        ops
    }

    /// What is sent of a hand-written index. The places of memories that are not here stay.
    fn sending_index(&self, pieces: &IndexPieces) -> Told<Ops> {
        let mut ops = Ops::new();
        let mut text = pieces.text.clone();
        if let Some(id) = &self.there.index {
            let there = self.contents.text(id)?;
            let place = |line: &str| {
                line.strip_prefix("{{")
                    .and_then(|line| line.strip_suffix("}}"))
                    .map(str::to_owned)
            };
            let is_elsewhere = |line: &str| {
                place(line).is_some_and(|name| {
                    self.there.lines.contains_key(&name) && !self.files.contains_key(&name)
                })
            };
            if there.lines().any(is_elsewhere) {
                let known: Vec<&str> = there
                    .split_inclusive('\n')
                    .filter(|line| !is_elsewhere(line.trim_end()))
                    .collect();
                let both = by_hand::merged(Some(&known.concat()), &text, &there);
                text = both.unwrap_or_else(|| {
                    let missing: Vec<&str> = there
                        .split_inclusive('\n')
                        .filter(|line| is_elsewhere(line.trim_end()))
                        .collect();
                    format!("{text}{}", missing.concat())
                });
            }
        }
        ops.insert(
            self.path_in_repo(INDEX_TEXT),
            FileOp::Write(text.into_bytes()),
        );
        for (name, line) in &pieces.lines {
            let place = self.path_in_repo(&format!("{LINES}/{name}"));
            let known = self
                .there
                .lines
                .get(name)
                .and_then(|id| self.contents.revisions.get(id));
            if known != Some(&Revision::of(line.as_bytes())) {
                ops.insert(place, FileOp::Write(line.clone().into_bytes()));
            }
        }
        let gone = self
            .there
            .lines
            .keys()
            .filter(|name| self.files.contains_key(*name) && !pieces.lines.contains_key(*name));
        for name in gone {
            ops.insert(
                self.path_in_repo(&format!("{LINES}/{name}")),
                FileOp::Remove,
            );
        }
        if self.there.deleted.contains_key(INDEX_TEXT) {
            let stone = self.path_in_repo(&format!("{DELETED}/{INDEX_TEXT}"));
            ops.insert(stone, FileOp::Remove);
        }
        Ok(ops)
    }
}

/// The versions of a hand-written index.
struct IndexTexts {
    agreed: Option<String>,
    on_disk: Option<String>,
    theirs: String,
}

/// The pieces of an index, with the lines of shared memories only.
fn restricted(
    text: &str,
    is_here: impl Fn(&str) -> bool,
    is_shared: impl Fn(&str) -> bool,
) -> IndexPieces {
    let mut pieces = by_hand::divided(text, is_here);
    let hidden: Vec<String> = pieces
        .lines
        .keys()
        .filter(|name| !is_shared(name))
        .cloned()
        .collect();
    for name in hidden {
        let place = format!("{{{{{name}}}}}");
        let lines = pieces.text.split_inclusive('\n');
        let kept: Vec<&str> = lines.filter(|line| line.trim_end() != place).collect();
        pieces.text = kept.concat();
        pieces.lines.remove(&name);
    }
    pieces
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
