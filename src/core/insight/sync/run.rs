//! One sync: fetch, plan, take in, send, agree.
//!
//! A crash at any point leaves what the next sync understands: what was written here and is the same
//! at the remote is agreed on, and so is what was sent. The base moves last, in one step.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::TryLockError;
use std::path::Path;
use std::time::Duration;

use super::blobs::Blobs;
use super::chosen::{SharedHere, is_gone};
use super::key::{Keys, StoreKey};
use super::plan::{Step, StorePlan, StoreSides};
use super::repo::{Authored, BASE, Ops, Repo, SEEN, Told, remote_ref};
use super::send::Outgoing;
use super::state::{CheckedContents, KnownBlobs, LastSync, SyncState};
use super::tree::{EMPTY, Refusals, SharedStore, SharedTree};
use super::{Mode, Motion, NO_REMOTE, StoreReport, Sync, SyncReport};
use crate::core::change::plan_and_commit;
use crate::core::disk::private;
use crate::core::insight::review::{
    Arrival, Incoming, Sent, decided_incoming, forget_decided, groups, observed_files, offer,
    plan_arrivals, waiting_incoming,
};
use crate::core::memory::config::OutgoingMode;
use crate::core::memory::layout::index::{INDEX, generate_index, is_generated};
use crate::core::memory::layout::{Layout, coder, session};
use crate::core::memory::store::Store;
use crate::core::{Error, Result};

/// How often a push is tried when other machines are first.
const TRIES: usize = 6;

/// How often and how long something is waited for that another process holds.
const BUSY_TRIES: usize = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(50);

/// A store with its key.
#[derive(Clone)]
struct Ready {
    here: SharedHere,
    key: StoreKey,
}

/// The report of a store that is not shared now, and why, if nothing else tells it.
fn not_shared(name: &str, root: &Path, why: Option<String>) -> StoreReport {
    StoreReport {
        name: name.to_owned(),
        root: root.to_owned(),
        key: String::new(),
        modes: Default::default(),
        files: 0,
        motions: Vec::new(),
        held_back: Vec::new(),
        notes: why.into_iter().collect(),
    }
}

impl Ready {
    fn not_shared(&self, why: Option<String>) -> StoreReport {
        let store = &self.here.store;
        not_shared(store.name(), store.root().path(), why)
    }
}

/// A store that has no file here yet is of the layout that its files at the remote have.
fn with_layout_of(there: &SharedTree, mut ready: Ready) -> Ready {
    let shared = there.stores.get(&ready.key.key);
    let mut files = shared.into_iter().flat_map(|shared| shared.files.keys());
    let layout = files.find_map(|path| Layout::of_first_file(path));
    if let Some(layout) = layout {
        ready.here.take_layout(layout);
    }
    ready
}

/// What one round of a sync came to.
pub(super) enum Round {
    Done,
    /// Another machine pushed first.
    Again,
}

impl Sync<'_> {
    /// Syncs, or tells what a sync would do. What the person allows is no longer held back.
    pub fn run(&self, mode: Mode, allow: &[String]) -> Result<SyncReport> {
        let mut state = SyncState::load(self.dir)?;
        if state.url.is_empty() {
            return Err(self.refused(NO_REMOTE));
        }
        private::create_dir(self.dir).map_err(|e| Error::io(self.dir, e))?;
        let lock =
            private::open_write(&self.dir.join("lock")).map_err(|e| Error::io(self.dir, e))?;
        let is_busy = (0..BUSY_TRIES).all(|_| {
            let is_busy = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
            if is_busy {
                std::thread::sleep(BUSY_PAUSE);
            }
            is_busy
        });
        if is_busy {
            return Ok(SyncReport {
                failure: Some("another sync is running".to_owned()),
                ..SyncReport::default()
            });
        }
        let mut report = SyncReport::default();
        let ready = self.ready(&mut state, &mut report);
        report.failure = self
            .sync(&mut state, &ready, (mode, allow), &mut report)
            .err();
        if mode == Mode::Real {
            // A store may have been chosen meanwhile.
            let mut now = SyncState::load(self.dir)?;
            let stores = report.stores.iter();
            let held_back = stores.map(|store| (store.root.clone(), store.held_back.len()));
            let held_back = held_back.filter(|(_, count)| *count > 0).collect();
            let before = now.last.take().map(|last| last.held_back);
            now.last = Some(LastSync {
                time: self.moment.time.as_millisecond(),
                failure: report.failure.clone(),
                held_back: match report.failure {
                    None => held_back,
                    // Not every store was looked at.
                    Some(_) => before.unwrap_or_default(),
                },
            });
            let held_back = report.stores.iter().flat_map(|store| &store.held_back);
            let held_back: Vec<&str> = held_back.map(|held| held.id.as_str()).collect();
            let named = allow
                .iter()
                .filter(|id| id.len() == 10 && !held_back.contains(&id.as_str()));
            now.allowed.extend(named.cloned());
            now.keys = state.keys;
            now.save(self.dir)?;
        }
        Ok(report)
    }

    /// How the chosen stores stand, by what was fetched last; no remote is reached and nothing is
    /// written.
    pub fn status(&self) -> Result<SyncReport> {
        let mut state = SyncState::load(self.dir)?;
        let mut report = SyncReport::default();
        let ready = self.ready(&mut state, &mut report);
        let repo = self.repo();
        if !repo.exists() {
            return Ok(report);
        }
        let round = OneRound {
            sync: self,
            state: &state,
            repo: &repo,
            mode: Mode::Dry,
            allow: &[],
        };
        report.failure = round.run(&ready, &mut report).err();
        Ok(report)
    }

    /// The chosen stores that have a key; the others are told.
    fn ready(&self, state: &mut SyncState, report: &mut SyncReport) -> Vec<Ready> {
        let keys = Keys {
            git: self.git,
            environment: self.environment,
            settings: self.settings,
        };
        let mut ready: Vec<Ready> = Vec::new();
        for here in self.shared(state) {
            let root = here.store.root().path().to_owned();
            let known = state.keys.get(&root).cloned();
            let problem = match keys.of(&here.store, here.project.as_deref(), known.as_deref()) {
                Ok(key) => match ready.iter().find(|other| other.key.key == key.key) {
                    Some(other) => Some(format!(
                        "is the same project as {}, which is shared; a name of its own makes it another one: tome sync --add {} --project NAME",
                        other.here.store.root().path().display(),
                        here.store.name()
                    )),
                    None => {
                        state.keys.insert(root.clone(), key.key.clone());
                        ready.push(Ready { here, key });
                        continue;
                    }
                },
                // A memory that would come into being here is nobody's yet.
                Err(_) if !root.exists() => continue,
                Err(why) => Some(why),
            };
            report
                .stores
                .push(not_shared(here.store.name(), &root, problem));
        }
        for (root, chosen) in state
            .stores
            .iter()
            .filter(|(root, one)| one.is_on && is_gone(root))
        {
            let name = &chosen.name;
            let why = format!(
                "its folder is gone: {}; where the project is now, `tome sync --add {name}` shares it again",
                root.display()
            );
            report.stores.push(not_shared(name, root, Some(why)));
        }
        ready
    }

    fn sync(
        &self,
        state: &mut SyncState,
        ready: &[Ready],
        (mode, allow): (Mode, &[String]),
        report: &mut SyncReport,
    ) -> Told<()> {
        let repo = self.repo();
        if !repo.exists() {
            repo.create()?;
        }
        let unshared = std::mem::take(&mut report.stores);
        for _ in 0..TRIES {
            repo.fetch(&state.url, &state.branch)
                .map_err(|why| format!("the remote was not reached: {why}"))?;
            report.stores.clone_from(&unshared);
            report.notes.clear();
            let round = OneRound {
                sync: self,
                state,
                repo: &repo,
                mode,
                allow,
            };
            match round.run(ready, report)? {
                Round::Done => {
                    repo.tidy();
                    return Ok(());
                }
                Round::Again => {}
            }
        }
        Err("every push was refused: other machines were first, or a killed git left a lock at the remote".to_owned())
    }
}

/// A fetch was made; this is what follows from it.
pub(super) struct OneRound<'a> {
    pub(super) sync: &'a Sync<'a>,
    pub(super) state: &'a SyncState,
    pub(super) repo: &'a Repo<'a>,
    mode: Mode,
    allow: &'a [String],
}

/// The three commits that a round starts with.
pub(super) struct Commits {
    pub(super) base: Option<String>,
    pub(super) seen: Option<String>,
    pub(super) there: Option<String>,
    /// The branch of this machine.
    pub(super) own: Option<String>,
}

impl OneRound<'_> {
    pub(super) fn step(&self, what: &str) -> Told<()> {
        self.sync.history.step(what).map_err(|e| e.to_string())
    }

    /// The branch of this machine, for stores whose changes others merge.
    pub(super) fn own_branch(&self) -> String {
        format!("tome/{}", self.state.machine)
    }

    pub(super) fn commits(&self) -> Told<Commits> {
        let mut refs = self.repo.refs()?;
        let commits = Commits {
            base: refs.remove(BASE),
            seen: refs.remove(SEEN),
            there: refs.remove(&remote_ref(&self.state.branch)),
            own: refs.remove(&remote_ref(&self.own_branch())),
        };
        match (&commits.seen, &commits.there) {
            (Some(_), None) => Err(format!(
                "the remote has no branch {} any more, so nothing is done; `tome sync --init URL` starts anew",
                self.state.branch
            )),
            (Some(seen), Some(there)) if !self.repo.are_related(seen, there) => {
                let why = "the remote has another history now, so nothing is done; `tome sync --init URL` starts anew";
                Err(why.to_owned())
            }
            _ => Ok(commits),
        }
    }

    fn run(&self, ready: &[Ready], report: &mut SyncReport) -> Told<Round> {
        let commits = self.commits()?;
        let tree = |commit: &Option<String>| match commit {
            Some(commit) => SharedTree::parse(&self.repo.files(commit)?),
            None => Ok(SharedTree::default()),
        };
        let there = tree(&commits.there)?;
        let is_other = commits.base != commits.there;
        let base = is_other.then(|| tree(&commits.base)).transpose()?;
        let base = base.as_ref().unwrap_or(&there);
        report.notes = there.refusals.lines();
        let ready = ready.iter().map(|one| with_layout_of(&there, one.clone()));
        let ready: Vec<Ready> = ready.collect();
        let is_here = |key: &&String| ready.iter().any(|ready| ready.key.key == **key);
        let is_elsewhere =
            |(key, store): &(&String, &SharedStore)| !is_here(key) && store.ids().next().is_some();
        let elsewhere = || there.stores.iter().filter(is_elsewhere);
        let senders = OnceCell::new();
        let sender = |path: &str| self.sender(&commits, &senders, path);
        let trees = [base, &there];
        let known = KnownBlobs::load(self.sync.dir);
        let blobs = Blobs {
            repo: self.repo,
            known: &known,
            found: RefCell::default(),
            bytes: RefCell::default(),
            checked: RefCell::new(CheckedContents::load(self.sync.dir)),
            is_too_much: Cell::default(),
            sender: &sender,
        };
        if self.mode == Mode::Dry {
            blobs.load(elsewhere().filter_map(|(_, store)| store.about.as_ref()))?;
        }
        let named = elsewhere().map(|(key, store)| (key.clone(), blobs.about(store)));
        report.elsewhere = named.collect();
        let mut outgoing = Outgoing::default();
        let own = commits.own.as_deref();
        let proposed = own.map(|own| self.repo.proposed(own)).unwrap_or_default();
        for ready in &ready {
            if there.refused.contains(&ready.key.key) {
                report.stores.push(ready.not_shared(None));
                continue;
            }
            let planned = self.planned((ready, &proposed), trees, &blobs);
            // One store at a time is in memory.
            blobs.bytes.borrow_mut().clear();
            let plan = match planned {
                Ok(Ok(plan)) => plan,
                Err(why) if !blobs.is_too_much.take() => return Err(why),
                Ok(Err(why)) | Err(why) => {
                    report.stores.push(ready.not_shared(Some(why)));
                    continue;
                }
            };
            report.stores.push(plan.report.clone());
            if self.mode == Mode::Real {
                let shown = report.stores.len() - 1;
                self.receive(plan, &mut outgoing, &mut report.stores[shown])?;
            }
        }
        if self.mode == Mode::Dry {
            return Ok(Round::Done);
        }
        outgoing.proposed = proposed;
        outgoing.proposed.retain(|path, op| !there.has(path, op));
        self.step("sync: taken in")?;
        let (round, commit) = self.send(&commits, &outgoing, &blobs)?;
        // What is not kept is read again.
        drop(known.add(self.sync.dir, &blobs.found.borrow(), trees));
        drop(blobs.checked.borrow().save(self.sync.dir));
        if matches!(round, Round::Done) {
            report.commit = commit;
            for (root, decided) in &outgoing.settled {
                forget_decided(self.sync.history, root, decided.keys());
            }
            self.step("sync: done")?;
        }
        Ok(round)
    }

    /// The plan for a store, of which is taken in what is to be written at once; or why nothing is
    /// done about this store now.
    fn planned<'b>(
        &'b self,
        ready: (&'b Ready, &'b Ops),
        trees: [&'b SharedTree; 2],
        blobs: &'b Blobs<'b>,
    ) -> Told<Result<StorePlan<'b>, String>> {
        // Nothing is known yet of what was fetched.
        let stores = trees
            .iter()
            .filter_map(|tree| tree.stores.get(&ready.0.key.key));
        let ids = stores.flat_map(SharedStore::ids);
        blobs.load(ids.filter(|id| blobs.revision(id).is_none()))?;
        let sides = match self.sides(ready, trees, blobs) {
            Ok(sides) => sides,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let plan = sides.plan()?;
        self.with_index(plan, ready, trees, blobs).map(Ok)
    }

    /// Who sent a file of the repository, and when.
    fn sender(
        &self,
        commits: &Commits,
        senders: &OnceCell<[HashMap<String, Authored>; 2]>,
        path: &str,
    ) -> (Sent, i64) {
        let tip = commits.there.clone().unwrap_or_default();
        let known = senders.get_or_init(|| {
            let recent = self.repo.authors(commits.seen.as_deref(), &tip);
            let all = match commits.seen {
                Some(_) => self.repo.authors(None, &tip),
                None => HashMap::new(),
            };
            [recent, all]
        });
        let found = known.iter().find_map(|known| known.get(path));
        match found {
            Some(one) => {
                let sent = Sent {
                    machine: one.machine.clone(),
                    commit: one.commit.clone(),
                    is_conflict: false,
                };
                (sent, one.time)
            }
            None => {
                let sent = Sent {
                    machine: "another machine".to_owned(),
                    commit: tip,
                    is_conflict: false,
                };
                (sent, self.sync.moment.time.as_millisecond())
            }
        }
    }

    fn sides<'b>(
        &'b self,
        (ready, proposed): (&'b Ready, &'b Ops),
        [base, there]: [&'b SharedTree; 2],
        blobs: &'b Blobs<'b>,
    ) -> Result<StoreSides<'b>> {
        let store = &ready.here.store;
        let (history, root) = (self.sync.history, store.root().path());
        let files = if store.root().exists() {
            let mut tries = 0;
            loop {
                if let Some(files) = observed_files(history, store, self.sync.moment)? {
                    break files;
                }
                tries += 1;
                if tries >= BUSY_TRIES {
                    return Err(Error::refused(
                        "it",
                        "is being changed; the next sync goes on",
                    ));
                }
                std::thread::sleep(BUSY_PAUSE);
            }
        } else {
            BTreeMap::new()
        };
        let of_key = |tree: &'b SharedTree| tree.stores.get(&ready.key.key);
        Ok(StoreSides {
            here: &ready.here,
            key: &ready.key,
            state: self.state,
            history,
            moment: self.sync.moment,
            mode: self.mode,
            blobs,
            base: of_key(base).unwrap_or(&EMPTY),
            there: Cow::Borrowed(of_key(there).unwrap_or(&EMPTY)),
            proposed,
            files,
            decided: by_path(decided_incoming(history, root)),
            waiting: by_path(waiting_incoming(history, root)),
            allow: self.allow,
            deleted: OnceCell::new(),
            refusals: Refusals::default(),
            open: BTreeSet::new(),
            held_back: Vec::new(),
            to_keep: RefCell::default(),
        })
    }

    /// Takes in what is to be written here at once, and plans the hand-written index, which is about
    /// the memories that are here then.
    fn with_index<'b>(
        &'b self,
        mut plan: StorePlan<'b>,
        (ready, proposed): (&'b Ready, &'b Ops),
        trees: [&'b SharedTree; 2],
        blobs: &'b Blobs<'b>,
    ) -> Told<StorePlan<'b>> {
        if self.mode == Mode::Real {
            let index = plan.index.take();
            let store = &ready.here.store;
            self.arrive(&mut plan.steps, store, index.as_deref(), &mut plan.report)?;
        }
        if !has_index(ready, trees) {
            return Ok(plan);
        }
        let Ok(mut sides) = self.sides((ready, proposed), trees, blobs) else {
            return Ok(plan);
        };
        sides.narrow();
        let mut remote: BTreeSet<String> = sides.there.files.keys().cloned().collect();
        for step in &plan.steps {
            match step.motion {
                Some(Motion::Sent) => drop(remote.insert(step.path.clone())),
                Some(Motion::SentDelete) => drop(remote.remove(&step.path)),
                _ => {}
            }
        }
        if let Some(step) = sides.index_step(&remote)? {
            sides.keep_rest()?;
            let mut steps = vec![step];
            let motions = steps
                .iter()
                .filter_map(|step| Some((step.motion?, step.path.clone())));
            plan.report.motions.extend(motions);
            if self.mode == Mode::Real {
                self.arrive(&mut steps, &ready.here.store, None, &mut plan.report)?;
            }
            plan.steps.extend(steps);
        }
        plan.report.held_back.extend(sides.held_back);
        Ok(plan)
    }

    /// Writes what arrives. A step whose file could not be written is left for the next sync.
    fn arrive(
        &self,
        steps: &mut Vec<Step>,
        store: &Store,
        index: Option<&str>,
        report: &mut StoreReport,
    ) -> Told<()> {
        let arrivals: Vec<Arrival> = steps
            .iter_mut()
            .filter_map(|step| step.arrival.take())
            .collect();
        if arrivals.is_empty() {
            return Ok(());
        }
        let mut made: BTreeSet<String> = BTreeSet::new();
        let mut failed = Refusals::default();
        let mut is_full = false;
        let mut groups = groups(&arrivals, |arrival| &arrival.sent);
        groups.reverse();
        while let Some(some) = groups.pop() {
            let done = match is_full {
                true => Err(std::io::ErrorKind::StorageFull.to_string()),
                false => self.write(store, some, index, &mut made).map_err(|error| {
                    let Error::Io { source, .. } = &error else {
                        return error.to_string();
                    };
                    is_full = source.kind() == std::io::ErrorKind::StorageFull;
                    source.kind().to_string()
                }),
            };
            match done {
                Ok(()) => self.step("sync: arrived")?,
                // One of many may be the reason.
                Err(_) if some.len() > 1 && !is_full => {
                    let (first, second) = some.split_at(some.len() / 2);
                    groups.extend([second, first]);
                }
                Err(why) => {
                    let why = format!("not written: {why}");
                    some.iter()
                        .for_each(|one| failed.add(why.clone(), &one.path));
                }
            }
        }
        let paths = arrivals.into_iter().map(|arrival| arrival.path);
        let left: BTreeSet<String> = paths.filter(|path| !made.contains(path)).collect();
        steps.retain(|step| !left.contains(&step.path));
        let names = left.iter().map(|path| store.rules().reference_of(path));
        let names: BTreeSet<String> = names.collect();
        report.motions.retain(|(_, name)| !names.contains(name));
        report.notes.extend(failed.lines());
        Ok(())
    }

    fn write(
        &self,
        store: &Store,
        some: &[Arrival],
        index: Option<&str>,
        made: &mut BTreeSet<String>,
    ) -> Result<()> {
        let Some(first) = some.first() else {
            return Ok(());
        };
        let (history, moment) = (self.sync.history, self.sync.moment);
        let roots = [store.root().path()];
        let author = first.sent.author();
        let committed = plan_and_commit::<Error>(history, &roots, &author, moment, || {
            plan_arrivals(store, some, index, moment)
        })?;
        let edits = committed.change.edits.iter();
        made.extend(edits.map(|edit| edit.path.clone()));
        Ok(())
    }

    /// Makes a directory that has no file yet one that is found as a store, so that what waits for it is
    /// found, too.
    fn begin(&self, store: &Store, sent: &Sent) -> Result<()> {
        let root = store.root();
        root.create()?;
        if !Layout::detect(root).is_empty() {
            return Ok(());
        }
        let found = self.sync.discovered();
        if found.iter().any(|found| found.id() == store.id()) {
            return Ok(());
        }
        let folder = match store.layout() {
            Layout::Session => session::WORKING,
            Layout::Facts => "facts",
            Layout::Coder => coder::TYPES[0],
            Layout::Index => return self.begin_index(store, sent),
            Layout::Events | Layout::Entries | Layout::Instructions => return Ok(()),
        };
        root.make_folders(&format!("{folder}/x"))
    }

    /// Writes the index of a store without memories.
    fn begin_index(&self, store: &Store, sent: &Sent) -> Result<()> {
        let index = Arrival {
            path: INDEX.to_owned(),
            before: None,
            after: Some(generate_index(&[]).into_bytes()),
            sent: sent.clone(),
        };
        self.write(store, &[index], None, &mut BTreeSet::new())
    }

    /// Makes what waits wait, and collects what is sent.
    fn receive(
        &self,
        plan: StorePlan<'_>,
        outgoing: &mut Outgoing,
        report: &mut StoreReport,
    ) -> Told<()> {
        let root = plan.here.store.root().path();
        let mut offers: Vec<Incoming> = Vec::new();
        let mut decided = plan.decided;
        if plan.here.outgoing == OutgoingMode::Branch {
            outgoing.proposing.insert(plan.key.key.clone());
        }
        for step in plan.steps {
            offers.extend(step.offer);
            if step.ops.is_empty() {
                outgoing.taken.extend(step.base.clone());
            }
            match plan.here.outgoing {
                OutgoingMode::Push => outgoing.push.extend(step.ops),
                OutgoingMode::Branch if !step.ops.is_empty() => {
                    // It is agreed on once somebody merged it.
                    outgoing.branch.extend(step.ops);
                    decided.remove(&step.path);
                    continue;
                }
                OutgoingMode::Branch => {}
            }
            outgoing.base.extend(step.base);
        }
        if let Some(first) = offers.first() {
            self.begin(&plan.here.store, &first.sent)
                .map_err(|e| e.to_string())?;
        }
        outgoing.settled.push((root.to_owned(), decided));
        offer(self.sync.history, root, &offers).map_err(|e| e.to_string())?;
        self.step("sync: offered")?;
        report.key.clone_from(&plan.key.key);
        Ok(())
    }
}

fn by_path(all: Vec<Incoming>) -> HashMap<String, Incoming> {
    let pair = |one: Incoming| (one.path.clone(), one);
    all.into_iter().map(pair).collect()
}

/// Whether any side has a hand-written index.
fn has_index(ready: &Ready, trees: [&SharedTree; 2]) -> bool {
    let store = &ready.here.store;
    let of_key = |tree: &SharedTree| {
        let shared = tree.stores.get(&ready.key.key);
        shared.is_some_and(|shared| shared.index.is_some())
    };
    let hand_written = || {
        store
            .text(INDEX)
            .is_ok_and(|text| text.is_some_and(|text| !is_generated(&text)))
    };
    store.layout() == Layout::Index && (trees.into_iter().any(of_key) || hand_written())
}
