//! One sync: fetch, plan, take in, send, agree.
//!
//! A crash at any point leaves what the next sync understands: what was written here and is the same
//! at the remote is agreed on, and so is what was sent. The base moves last, in one step.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::TryLockError;
use std::path::PathBuf;
use std::time::Duration;

use super::key::{Keys, StoreKey};
use super::plan::{Contents, Ops, Step, StorePlan, StoreSides};
use super::repo::{Authored, BASE, FileOp, NewCommit, Pushed, Repo, SEEN, Told, remote_ref};
use super::state::{Agreed, LastSync, SyncState};
use super::tree::{Refusals, SharedStore, SharedTree};
use super::{Mode, Motion, SharedHere, StoreReport, Sync, SyncReport};
use crate::core::change::plan_and_commit;
use crate::core::disk::private;
use crate::core::disk::revision::Revision;
use crate::core::insight::review::{
    Arrival, Incoming, Sent, decided_incoming, forget_decided, groups, observe_store, offer,
    plan_arrivals, seen_files, waiting_incoming,
};
use crate::core::memory::config::OutgoingMode;
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::index::{INDEX, is_generated};
use crate::core::memory::store::Store;
use crate::core::{Error, Result};

/// How often a push is tried when other machines are first.
const TRIES: usize = 6;

/// How often and how long something is waited for that another process holds.
const BUSY_TRIES: usize = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(50);

/// A store with its key.
struct Ready {
    here: SharedHere,
    key: StoreKey,
}

/// What one round of a sync came to.
enum Round {
    Done,
    /// Another machine pushed first.
    Again,
}

impl Sync<'_> {
    /// Syncs, or tells what a sync would do. What the person allows is no longer held back.
    pub fn run(&self, mode: Mode, allow: &[String]) -> Result<SyncReport> {
        let mut state = SyncState::load(self.dir)?;
        if state.url.is_empty() {
            return Err(self.refused("no remote is set; `tome sync --init URL` sets one"));
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
            now.last = Some(LastSync {
                time: self.moment.time.as_millisecond(),
                failure: report.failure.clone(),
                held: report.stores.iter().map(|store| store.held.len()).sum(),
            });
            let held = report.stores.iter().flat_map(|store| &store.held);
            let held: Vec<&str> = held.map(|held| held.id.as_str()).collect();
            let named = allow
                .iter()
                .filter(|id| id.len() == 10 && !held.contains(&id.as_str()));
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
                Ok(key) => match ready.iter().find(|other| other.key == key) {
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
            report.stores.push(StoreReport {
                name: here.store.name().to_owned(),
                key: String::new(),
                modes: (here.incoming, here.outgoing),
                files: 0,
                motions: Vec::new(),
                held: Vec::new(),
                notes: problem.into_iter().collect(),
                root,
            });
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
            repo.fetch(&state.url)
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
        Err("other machines were always first; the next sync goes on".to_owned())
    }
}

/// A fetch was made; this is what follows from it.
struct OneRound<'a> {
    sync: &'a Sync<'a>,
    state: &'a SyncState,
    repo: &'a Repo<'a>,
    mode: Mode,
    allow: &'a [String],
}

/// The three commits that a round starts with.
struct Commits {
    base: Option<String>,
    seen: Option<String>,
    there: Option<String>,
    /// The branch of this machine.
    own: Option<String>,
}

/// What is sent, and what is agreed on then.
#[derive(Default)]
struct Outgoing {
    push: Ops,
    branch: Ops,
    base: Ops,
    /// What was decided about and is settled then, by the roots of its stores.
    settled: Vec<(PathBuf, Vec<Incoming>)>,
}

impl OneRound<'_> {
    fn step(&self, what: &str) -> Told<()> {
        self.sync.history.step(what).map_err(|e| e.to_string())
    }

    /// The branch of this machine, for stores whose changes others merge.
    fn own_branch(&self) -> String {
        format!("tome/{}", self.state.machine)
    }

    fn commits(&self) -> Told<Commits> {
        let mut refs = self.repo.refs()?;
        let commits = Commits {
            base: refs.remove(BASE),
            seen: refs.remove(SEEN),
            there: refs.remove(&remote_ref(&self.state.branch)),
            own: refs.remove(&remote_ref(&self.own_branch())),
        };
        match (&commits.seen, &commits.there) {
            (Some(_), None) => Err(format!(
                "the remote has no branch {} any more, so nothing is done; `tome sync --init` starts anew",
                self.state.branch
            )),
            (Some(seen), Some(there)) if !self.repo.are_related(seen, there) => Err(
                "the remote has another history now, so nothing is done; `tome sync --init` starts anew"
                    .to_owned(),
            ),
            _ => Ok(commits),
        }
    }

    fn run(&self, ready: &[Ready], report: &mut SyncReport) -> Told<Round> {
        let commits = self.commits()?;
        let tree = |commit: &Option<String>| match commit {
            Some(commit) => self.repo.files(commit).map(SharedTree::of),
            None => Ok(SharedTree::default()),
        };
        let (there, base) = (tree(&commits.there)?, tree(&commits.base)?);
        report.notes = there.refusals.lines();
        let is_here = |key: &&String| ready.iter().any(|ready| ready.key.key == **key);
        report.elsewhere = there
            .stores
            .keys()
            .filter(|key| !is_here(key))
            .cloned()
            .collect();
        let senders = OnceCell::new();
        let sender = |path: &str| self.sender(&commits, &senders, path);
        let contents = self.contents(ready, (&base, &there), &commits, &sender)?;
        let mut outgoing = Outgoing::default();
        for ready in ready {
            let sides = self.sides(ready, (&base, &there), &contents);
            let sides = match sides {
                Ok(sides) => sides,
                Err(error) => {
                    report
                        .notes
                        .push(format!("{}: {error}", ready.here.store.name()));
                    continue;
                }
            };
            let plan = sides.plan()?;
            let plan = self.with_index(plan, ready, (&base, &there), &contents)?;
            report.stores.push(plan.report.clone());
            if self.mode == Mode::Real {
                let shown = report.stores.len() - 1;
                self.receive(plan, &mut outgoing, &mut report.stores[shown])?;
            }
        }
        if self.mode == Mode::Dry {
            return Ok(Round::Done);
        }
        self.step("sync: taken in")?;
        let (round, commit) = self.send(&commits, &outgoing, &contents)?;
        if matches!(round, Round::Done) {
            report.commit = commit;
            for (root, decided) in &outgoing.settled {
                forget_decided(self.sync.history, root, decided);
            }
            self.step("sync: done")?;
        }
        Ok(round)
    }

    /// Reads what is needed of the blobs of these stores: all that nothing is known of yet.
    fn contents<'b>(
        &'b self,
        ready: &[Ready],
        (base, there): (&SharedTree, &SharedTree),
        commits: &Commits,
        sender: &'b dyn Fn(&str) -> (Sent, i64),
    ) -> Told<Contents<'b>> {
        let known = commits
            .base
            .as_ref()
            .and_then(|base| Agreed::load(self.sync.dir, base));
        let mut revisions = known.unwrap_or_default().0;
        let stores = [base, there].into_iter().flat_map(|tree| {
            ready
                .iter()
                .filter_map(|ready| tree.stores.get(&ready.key.key))
        });
        let ids: BTreeSet<&str> = stores
            .flat_map(SharedStore::ids)
            .map(String::as_str)
            .filter(|id| !revisions.contains_key(*id))
            .collect();
        let ids: Vec<&str> = ids.into_iter().collect();
        let bytes = self.repo.contents(&ids)?;
        revisions.extend(
            bytes
                .iter()
                .map(|(id, bytes)| (id.clone(), Revision::of(bytes))),
        );
        Ok(Contents {
            repo: self.repo,
            revisions,
            bytes: RefCell::new(bytes),
            sender,
        })
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
        ready: &'b Ready,
        (base, there): (&SharedTree, &SharedTree),
        contents: &'b Contents<'b>,
    ) -> Result<StoreSides<'b>> {
        let store = &ready.here.store;
        let (history, root) = (self.sync.history, store.root().path());
        let files = if store.root().exists() {
            let mut tries = 0;
            while observe_store(history, store, self.sync.moment)?.is_busy {
                tries += 1;
                if tries >= BUSY_TRIES {
                    return Err(Error::refused(
                        "it",
                        "is being changed; the next sync goes on",
                    ));
                }
                std::thread::sleep(BUSY_PAUSE);
            }
            seen_files(history, store.id())?.unwrap_or_default()
        } else {
            BTreeMap::new()
        };
        let of_key =
            |tree: &SharedTree| tree.stores.get(&ready.key.key).cloned().unwrap_or_default();
        Ok(StoreSides {
            here: &ready.here,
            key: &ready.key,
            state: self.state,
            history,
            moment: self.sync.moment,
            mode: self.mode,
            contents,
            base: of_key(base),
            there: of_key(there),
            files,
            decided: decided_incoming(history, root),
            waiting: waiting_incoming(history, root),
            allow: self.allow,
            deleted: OnceCell::new(),
            refusals: Refusals::default(),
            left_alone: Default::default(),
            checked: HashMap::new(),
            held: Vec::new(),
        })
    }

    /// Takes in what is to be written here at once, and plans the hand-written index, which is about
    /// the memories that are here then.
    fn with_index<'b>(
        &'b self,
        mut plan: StorePlan<'b>,
        ready: &'b Ready,
        trees: (&SharedTree, &SharedTree),
        contents: &'b Contents<'b>,
    ) -> Told<StorePlan<'b>> {
        if self.mode == Mode::Real {
            self.arrive(&mut plan.steps, &ready.here.store, &mut plan.report)?;
        }
        if !has_index(ready, trees) {
            return Ok(plan);
        }
        let Ok(mut sides) = self.sides(ready, trees, contents) else {
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
            let mut steps = vec![step];
            let motions = steps
                .iter()
                .filter_map(|step| Some((step.motion?, step.path.clone())));
            plan.report.motions.extend(motions);
            if self.mode == Mode::Real {
                self.arrive(&mut steps, &ready.here.store, &mut plan.report)?;
            }
            plan.steps.extend(steps);
        }
        plan.report.held.extend(sides.held);
        Ok(plan)
    }

    /// Writes what arrives. A step whose file could not be written is left for the next sync.
    fn arrive(&self, steps: &mut Vec<Step>, store: &Store, report: &mut StoreReport) -> Told<()> {
        let arrivals: Vec<Arrival> = steps
            .iter_mut()
            .filter_map(|step| step.arrival.take())
            .collect();
        if arrivals.is_empty() {
            return Ok(());
        }
        let mut made: BTreeSet<String> = BTreeSet::new();
        let mut failed: Vec<String> = Vec::new();
        for some in groups(&arrivals, |arrival| &arrival.sent) {
            if self.write(store, some, &mut made).is_err() {
                // One of many may be the reason.
                for one in some.chunks(1) {
                    if let Err(error) = self.write(store, one, &mut made) {
                        let path = &one[0].path;
                        failed.push(format!("{path} was not written: {error}"));
                    }
                }
            }
            self.step("sync: arrived")?;
        }
        let all: BTreeSet<&String> = arrivals.iter().map(|arrival| &arrival.path).collect();
        let is_left = |path: &String| all.contains(path) && !made.contains(path);
        steps.retain(|step| !is_left(&step.path));
        report.motions.retain(|(_, name)| {
            !all.iter()
                .any(|path| store.rules().reference_of(path) == *name && is_left(path))
        });
        report.notes.extend(failed);
        Ok(())
    }

    fn write(&self, store: &Store, some: &[Arrival], made: &mut BTreeSet<String>) -> Result<()> {
        let Some(first) = some.first() else {
            return Ok(());
        };
        let (history, moment) = (self.sync.history, self.sync.moment);
        let roots = [store.root().path()];
        let author = first.sent.author();
        let committed = plan_and_commit::<Error>(history, &roots, &author, moment, || {
            plan_arrivals(store, some, moment)
        })?;
        let edits = committed.change.edits.iter();
        made.extend(edits.map(|edit| edit.path.clone()));
        Ok(())
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
        for step in plan.steps {
            offers.extend(step.offer);
            match plan.here.outgoing {
                OutgoingMode::Push => outgoing.push.extend(step.ops),
                OutgoingMode::Branch if !step.ops.is_empty() => {
                    // It is agreed on once somebody merged it.
                    outgoing.branch.extend(step.ops);
                    decided.retain(|one| one.path != step.path);
                    continue;
                }
                OutgoingMode::Branch => {}
            }
            outgoing.base.extend(step.base);
        }
        if !offers.is_empty() {
            // What waits for a store that has no file yet must be found.
            plan.here.store.root().create().map_err(|e| e.to_string())?;
        }
        outgoing.settled.push((root.to_owned(), decided));
        offer(self.sync.history, root, &offers).map_err(|e| e.to_string())?;
        self.step("sync: offered")?;
        report.key.clone_from(&plan.key.key);
        Ok(())
    }

    /// Sends what is to be sent, and agrees on it.
    fn send(
        &self,
        commits: &Commits,
        outgoing: &Outgoing,
        contents: &Contents<'_>,
    ) -> Told<(Round, Option<String>)> {
        let time = self.sync.moment.time.as_second();
        let commit = |parent, also, ops, message| NewCommit {
            machine: &self.state.machine,
            time,
            message,
            parent,
            also,
            ops,
        };
        let push: Vec<(String, FileOp)> = outgoing.push.clone().into_iter().collect();
        let base: Vec<(String, FileOp)> = outgoing.base.clone().into_iter().collect();
        let words = message(&outgoing.push);
        let next = commit(commits.there.as_deref(), None, &push, &words);
        let next_base = commit(commits.base.as_deref(), None, &base, "agreed");
        let (sent, agreed) = if push.is_empty() && base.is_empty() {
            (None, None)
        } else {
            let is_some = |ops: &[_]| !ops.is_empty();
            self.repo.write(
                Some(&next).filter(|_| is_some(&push)),
                Some(&next_base).filter(|_| is_some(&base)),
            )?
        };
        let sent = sent.filter(|sent| {
            let before = commits
                .there
                .as_deref()
                .and_then(|there| self.repo.tree_of(there));
            before.is_none() || self.repo.tree_of(sent) != before
        });
        if let Some(sent) = &sent {
            match self.repo.push(&self.state.url, sent, &self.state.branch)? {
                Pushed::Done => self.step("sync: pushed")?,
                Pushed::Behind => return Ok((Round::Again, None)),
            }
        }
        let tip = sent.clone().or_else(|| commits.there.clone());
        let branch = self.send_branch(commits, tip.as_deref(), outgoing)?;
        let tracked = remote_ref(&self.state.branch);
        let mut refs = Vec::new();
        if let Some(sent) = &sent {
            refs.push((tracked.as_str(), sent.as_str(), commits.there.as_deref()));
        }
        if let Some(agreed) = &agreed {
            refs.push((BASE, agreed.as_str(), commits.base.as_deref()));
        }
        if let Some(tip) = tip
            .as_deref()
            .filter(|tip| commits.seen.as_deref() != Some(tip))
        {
            refs.push((SEEN, tip, commits.seen.as_deref()));
        }
        if !refs.is_empty() {
            self.repo.set_refs(&refs)?;
        }
        if let Some(agreed) = &agreed {
            self.save_table(agreed, outgoing, contents)?;
        }
        Ok((Round::Done, sent.or(branch)))
    }

    /// Sends what others merge, into the branch of this machine.
    fn send_branch(
        &self,
        commits: &Commits,
        tip: Option<&str>,
        outgoing: &Outgoing,
    ) -> Told<Option<String>> {
        if outgoing.branch.is_empty() {
            return Ok(None);
        }
        let ops: Vec<(String, FileOp)> = outgoing.branch.clone().into_iter().collect();
        let words = message(&outgoing.branch);
        let commit = NewCommit {
            machine: &self.state.machine,
            time: self.sync.moment.time.as_second(),
            message: &words,
            parent: tip,
            also: commits.own.as_deref().filter(|own| Some(*own) != tip),
            ops: &ops,
        };
        let (Some(made), _) = self.repo.write(Some(&commit), None)? else {
            return Ok(None);
        };
        let is_new = |other: Option<&str>| {
            let before = other.and_then(|other| self.repo.tree_of(other));
            before.is_none() || self.repo.tree_of(&made) != before
        };
        if !is_new(commits.own.as_deref()) || !is_new(tip) {
            return Ok(None);
        }
        match self.repo.push(&self.state.url, &made, &self.own_branch())? {
            Pushed::Done => Ok(Some(made)),
            Pushed::Behind => Err(format!("the branch {} is another one's", self.own_branch())),
        }
    }

    /// Notes what the blobs of the new base contain.
    fn save_table(&self, base: &str, outgoing: &Outgoing, contents: &Contents<'_>) -> Told<()> {
        let mut table = Agreed::default();
        for entry in self.repo.files(base)? {
            let sent = match outgoing.base.get(&entry.path) {
                Some(FileOp::Write(bytes)) => Some(Revision::of(bytes)),
                _ => None,
            };
            let known = sent.or_else(|| contents.revisions.get(&entry.id).copied());
            table.0.extend(known.map(|revision| (entry.id, revision)));
        }
        table.save(self.sync.dir, base);
        Ok(())
    }
}

/// Whether any side has a hand-written index.
fn has_index(ready: &Ready, (base, there): (&SharedTree, &SharedTree)) -> bool {
    let store = &ready.here.store;
    let of_key = |tree: &SharedTree| {
        let shared = tree.stores.get(&ready.key.key);
        shared.is_some_and(|shared| shared.index.is_some())
    };
    let by_hand = || {
        store
            .text(INDEX)
            .is_ok_and(|text| text.is_some_and(|text| !is_generated(&text)))
    };
    store.layout() == Layout::Index && (of_key(base) || of_key(there) || by_hand())
}

/// What a commit does, in a line.
fn message(ops: &Ops) -> String {
    let removed = ops.values().filter(|op| **op == FileOp::Remove).count();
    let written = ops.len() - removed;
    let names = ops.keys().filter_map(|path| path.rsplit('/').next());
    let names: Vec<&str> = names
        .filter(|name| !name.starts_with('.'))
        .take(3)
        .collect();
    let what = match removed {
        0 => format!("{written} written"),
        _ => format!("{written} written, {removed} removed"),
    };
    format!("{what}: {}", names.join(", "))
}
