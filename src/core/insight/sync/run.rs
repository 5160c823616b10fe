//! One sync: fetch, plan, take in, send, agree.
//!
//! A crash at any point leaves what the next sync understands: what was written here and is the same
//! at the remote is agreed on, and so is what was sent. The base moves last, in one step.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::TryLockError;
use std::path::Path;
use std::time::Duration;

use super::blobs::{Blobs, Senders};
use super::chosen::{SharedHere, is_gone};
use super::held_back::Border;
use super::key::{Keys, StoreKey};
use super::plan::{Step, StorePlan, StoreSides, is_memory};
use super::repo::{Ops, Told};
use super::send::{Commits, Outgoing, Remote, Round};
use super::state::{KnownBlobs, LastSync, SyncState};
use super::tree::{EMPTY, Refusals, SharedStore, SharedTree, check_name};
use super::{Mode, Motion, NO_REMOTE, StoreReport, Sync, SyncReport};
use crate::core::change::plan_and_commit;
use crate::core::disk::private;
use crate::core::disk::revision::Revision;
use crate::core::insight::review::{
    Arrival, Incoming, Sent, decided_incoming, forget_decided, groups, observed_files, offer,
    plan_arrivals, waiting_incoming,
};
use crate::core::memory::config::OutgoingMode;
use crate::core::memory::layout::index::{INDEX, generate_index};
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
        let remote = Remote {
            repo: &repo,
            state: &state,
            moment: self.moment,
            is_fetched: true,
        };
        let round = OneRound {
            sync: self,
            remote: &remote,
            mode: Mode::Dry,
            allow: &[],
        };
        let done = remote.commits();
        let done = done.and_then(|commits| round.run(&commits, &ready, &mut report));
        report.failure = done.err();
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
        // The folder of one may come into being with what arrives.
        let is_ready = |root: &Path| {
            let mut stores = ready.iter().map(|one| &one.here.store);
            stores.any(|store| store.root().path() == root)
        };
        let chosen = state.stores.iter().filter(|(_, one)| one.is_on);
        for (root, chosen) in chosen.filter(|(root, _)| is_gone(root) && !is_ready(root)) {
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
        let mut remote = Remote {
            repo: &repo,
            state,
            moment: self.moment,
            is_fetched: false,
        };
        repo.remove_leftovers();
        let mut commits = remote.commits()?;
        // Where all that was seen is agreed on, nothing arrives but what is new since, and a push fails
        // if there is any.
        if mode == Mode::Dry || !commits.are_agreed() {
            remote.fetch()?;
            remote.is_fetched = true;
            commits = remote.commits()?;
        }
        let unshared = std::mem::take(&mut report.stores);
        for _ in 0..TRIES {
            report.stores.clone_from(&unshared);
            report.notes.clear();
            let round = OneRound {
                sync: self,
                remote: &remote,
                mode,
                allow,
            };
            match round.run(&commits, ready, report)? {
                Round::Done(commit) => {
                    report.commit = commit;
                    repo.tidy();
                    return Ok(());
                }
                Round::Again => {
                    remote.is_fetched = true;
                    commits = remote.commits()?;
                }
            }
        }
        Err("every push was refused: other machines were first, or a killed git left a lock at the remote".to_owned())
    }
}

/// One round: what follows from what is known of the remote.
struct OneRound<'a> {
    sync: &'a Sync<'a>,
    remote: &'a Remote<'a>,
    mode: Mode,
    allow: &'a [String],
}

impl OneRound<'_> {
    fn run(&self, commits: &Commits, ready: &[Ready], report: &mut SyncReport) -> Told<Round> {
        let repo = self.remote.repo;
        self.remote.check(commits)?;
        let tree = |commit: &Option<String>| match commit {
            Some(commit) => SharedTree::parse(&repo.files(commit)?),
            None => Ok(SharedTree::default()),
        };
        let there = tree(&commits.there)?;
        let is_other = commits.base != commits.there;
        let base = is_other.then(|| tree(&commits.base)).transpose()?;
        let base = base.as_ref().unwrap_or(&there);
        report.notes = there.refusals.lines();
        let ready = ready.iter().map(|one| with_layout_of(&there, one.clone()));
        let ready: Vec<Ready> = ready.collect();
        let is_here = |key: &&String| {
            let mut known = self.remote.state.keys.iter();
            ready.iter().any(|ready| ready.key.key == **key)
                || known.any(|(root, known)| known == *key && root.is_dir())
        };
        let is_elsewhere =
            |(key, store): &(&String, &SharedStore)| !is_here(key) && store.ids().next().is_some();
        let elsewhere = || there.stores.iter().filter(is_elsewhere);
        let senders = Senders {
            repo,
            tip: commits.there.as_deref().unwrap_or_default(),
            now: self.sync.moment,
            found: OnceCell::new(),
        };
        let trees = [base, &there];
        let known = KnownBlobs::load(self.sync.dir);
        let blobs = Blobs::of(repo, &known, senders);
        if self.mode == Mode::Dry {
            blobs.load(elsewhere().filter_map(|(_, store)| store.about.as_ref()))?;
        }
        let named = elsewhere().map(|(key, store)| (key.clone(), blobs.about(store)));
        report.elsewhere = named.collect();
        let mut outgoing = Outgoing::default();
        let own = commits.own.as_deref();
        let proposed = own.map(|own| repo.proposed(own)).unwrap_or_default();
        for ready in &ready {
            if there.refused.contains(&ready.key.key) {
                report.stores.push(ready.not_shared(None));
                continue;
            }
            let planned = self.planned(ready, &proposed, trees, &blobs);
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
                self.receive(ready, plan, &mut outgoing)?;
            }
        }
        if self.mode == Mode::Dry {
            return Ok(Round::Done(None));
        }
        outgoing.proposed = proposed;
        outgoing.proposed.retain(|path, op| !there.has(path, op));
        repo.step("sync: taken in")?;
        let round = self.remote.send(commits, &outgoing, &blobs)?;
        // What is not kept is read again.
        drop(known.add(self.sync.dir, &blobs.found.borrow(), trees));
        if matches!(round, Round::Done(_)) {
            for (root, decided) in &outgoing.settled {
                forget_decided(self.sync.history, root, decided.keys());
            }
            repo.step("sync: done")?;
        }
        Ok(round)
    }

    /// The plan for a store, of which is taken in what is to be written at once; or why nothing is
    /// done about this store now.
    fn planned<'b>(
        &'b self,
        ready: &'b Ready,
        proposed: &'b Ops,
        trees: [&'b SharedTree; 2],
        blobs: &'b Blobs<'b>,
    ) -> Told<Result<StorePlan, String>> {
        let store = &ready.here.store;
        let [base, there] = trees.map(|tree| tree.stores.get(&ready.key.key).unwrap_or(&EMPTY));
        // Nothing is known yet of what was fetched.
        let ids = base.ids().chain(there.ids());
        blobs.load(ids.filter(|id| blobs.revision(id).is_none()))?;
        let files = match self.files_here(store) {
            Ok(files) => files,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let (history, root) = (self.sync.history, store.root().path());
        let state = self.remote.state;
        let mut sides = StoreSides {
            here: &ready.here,
            key: &ready.key,
            machine: &state.machine,
            history,
            moment: self.sync.moment,
            mode: self.mode,
            blobs,
            base,
            there: Cow::Borrowed(there),
            proposed,
            files,
            decided: by_path(decided_incoming(history, root)),
            waiting: by_path(waiting_incoming(history, root)),
            deleted: OnceCell::new(),
            refusals: Refusals::default(),
            border: Border {
                store,
                key: &ready.key.key,
                allowed: &state.allowed,
                named: self.allow,
                checked: HashMap::new(),
                held_back: Vec::new(),
            },
            to_keep: RefCell::default(),
        };
        let mut plan = sides.plan()?;
        let index = plan.index.take();
        let has_arrived =
            self.arrive(&mut plan.steps, store, index.as_deref(), &mut plan.report)?;
        // The index is about the memories that are here now.
        let files = has_arrived.then(|| self.files_here(store)).transpose();
        if let Ok(files) = files {
            if let Some(mut files) = files {
                files.retain(|path, _| is_memory(store, path) && check_name(path).is_ok());
                sides.files = files;
            }
            self.plan_index(&mut sides, &mut plan)?;
        }
        plan.report.held_back = sides.border.held_back;
        plan.decided = sides.decided;
        Ok(Ok(plan))
    }

    /// The memories of a store as they are now, with what lies among them.
    fn files_here(&self, store: &Store) -> Result<BTreeMap<String, Revision>> {
        if !store.root().exists() {
            return Ok(BTreeMap::new());
        }
        for _ in 0..BUSY_TRIES {
            if let Some(files) = observed_files(self.sync.history, store, self.sync.moment)? {
                return Ok(files);
            }
            std::thread::sleep(BUSY_PAUSE);
        }
        Err(Error::refused(
            "it",
            "is being changed; the next sync goes on",
        ))
    }

    /// Plans the hand-written index, and takes in what is to be written of it at once.
    fn plan_index(&self, sides: &mut StoreSides<'_>, plan: &mut StorePlan) -> Told<()> {
        let sent = plan.steps.iter().filter_map(|step| match step.motion? {
            Motion::Sent => Some((step.path.clone(), true)),
            Motion::SentDelete => Some((step.path.clone(), false)),
            _ => None,
        });
        let Some(step) = sides.index_step(&sent.collect())? else {
            return Ok(());
        };
        sides.keep_rest()?;
        let motion = step.motion.map(|motion| (motion, step.path.clone()));
        plan.report.motions.extend(motion);
        let mut steps = vec![step];
        self.arrive(&mut steps, &sides.here.store, None, &mut plan.report)?;
        plan.steps.extend(steps);
        Ok(())
    }

    /// Writes what arrives, if anything is to be written; returns whether anything arrived. A step whose
    /// file could not be written is left for the next sync.
    fn arrive(
        &self,
        steps: &mut Vec<Step>,
        store: &Store,
        index: Option<&str>,
        report: &mut StoreReport,
    ) -> Told<bool> {
        if self.mode == Mode::Dry {
            return Ok(false);
        }
        let arrivals: Vec<Arrival> = steps
            .iter_mut()
            .filter_map(|step| step.arrival.take())
            .collect();
        if arrivals.is_empty() {
            return Ok(false);
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
                Ok(()) => self.remote.repo.step("sync: arrived")?,
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
        Ok(true)
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
    fn receive(&self, ready: &Ready, plan: StorePlan, outgoing: &mut Outgoing) -> Told<()> {
        let store = &ready.here.store;
        let root = store.root().path();
        let mut offers: Vec<Incoming> = Vec::new();
        let mut decided = plan.decided;
        if ready.here.outgoing == OutgoingMode::Branch {
            outgoing.proposing.insert(ready.key.key.clone());
        }
        for step in plan.steps {
            offers.extend(step.offer);
            if step.ops.is_empty() {
                outgoing.taken.extend(step.base.clone());
            }
            match ready.here.outgoing {
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
            self.begin(store, &first.sent).map_err(|e| e.to_string())?;
        }
        outgoing.settled.push((root.to_owned(), decided));
        offer(self.sync.history, root, &offers).map_err(|e| e.to_string())?;
        self.remote.repo.step("sync: offered")
    }
}

fn by_path(all: Vec<Incoming>) -> HashMap<String, Incoming> {
    let pair = |one: Incoming| (one.path.clone(), one);
    all.into_iter().map(pair).collect()
}
