//! The remote: what is known of it, and sending: commits of what changed here, and of what is agreed
//! on then.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::blobs::Blobs;
use super::key::without_credentials;
use super::repo::{
    BASE, FileOp, MadeCommit, NEXT, NEXT_BASE, NewCommit, Ops, Pushed, Repo, SEEN, Told, Written,
    remote_ref,
};
use super::state::SyncState;
use crate::core::insight::review::Incoming;
use crate::core::text::time::Moment;

/// The commits that a round starts with.
#[derive(PartialEq, Eq)]
pub(super) struct Commits {
    /// What this machine agreed on.
    pub(super) base: Option<String>,
    /// What the last sync saw of the remote.
    pub(super) seen: Option<String>,
    /// What was fetched of it.
    pub(super) there: Option<String>,
    /// The branch of this machine.
    pub(super) own: Option<String>,
}

impl Commits {
    /// Whether everything that was fetched is agreed on.
    pub(super) fn are_agreed(&self) -> bool {
        self.there.is_some() && self.base == self.there && self.seen == self.there
    }
}

/// What a round of a sync came to.
pub(super) enum Round {
    /// It is over; the commit that was sent.
    Done(Option<String>),
    /// The remote has more, which was fetched.
    Again,
}

/// What is sent, and what is agreed on then.
#[derive(Default)]
pub(super) struct Outgoing {
    pub(super) push: Ops,
    pub(super) branch: Ops,
    /// What the branch of this machine proposes already and is not merged.
    pub(super) proposed: Ops,
    /// The keys of the stores of which everything is known that they propose.
    pub(super) proposing: HashSet<String>,
    pub(super) base: Ops,
    /// Of this, what was taken in without sending anything.
    pub(super) taken: Ops,
    /// What was decided about and is settled then, by the roots of its stores.
    pub(super) settled: Vec<(PathBuf, HashMap<String, Incoming>)>,
}

/// The remote, in one round.
pub(super) struct Remote<'a> {
    pub(super) repo: &'a Repo<'a>,
    pub(super) state: &'a SyncState,
    pub(super) moment: &'a Moment,
    /// Whether this sync asked for what is new there.
    pub(super) is_fetched: bool,
}

impl Remote<'_> {
    /// The branch of this machine, for stores whose changes others merge.
    fn own_branch(&self) -> String {
        format!("tome/{}", self.state.machine)
    }

    /// What is known of the remote.
    pub(super) fn commits(&self) -> Told<Commits> {
        let mut refs = self.repo.refs()?;
        Ok(Commits {
            base: refs.remove(BASE),
            seen: refs.remove(SEEN),
            there: refs.remove(&remote_ref(&self.state.branch)),
            own: refs.remove(&remote_ref(&self.own_branch())),
        })
    }

    /// Fetches what is new.
    pub(super) fn fetch(&self) -> Told<()> {
        let fetched = self.repo.fetch(&self.state.url, &self.state.branch);
        fetched.map_err(|why| format!("the remote was not reached: {why}"))
    }

    /// Checks that the remote goes on from what was seen of it.
    pub(super) fn check(&self, commits: &Commits) -> Told<()> {
        let why = match (&commits.seen, &commits.there) {
            (Some(_), None) => format!("no branch {} any more", self.state.branch),
            (Some(seen), Some(there)) if !self.repo.are_related(seen, there) => {
                "another history now".to_owned()
            }
            _ => return Ok(()),
        };
        Err(format!(
            "the remote has {why}, so nothing is done; `tome sync --init URL` starts anew"
        ))
    }

    fn new_commit<'b>(
        &'b self,
        name: &'static str,
        parent: Option<&'b str>,
        ops: &'b Ops,
        message: &'b str,
    ) -> NewCommit<'b> {
        NewCommit {
            name,
            machine: &self.state.machine,
            time: self.moment.time.as_second(),
            message,
            parent,
            also: None,
            ops,
            beside: Vec::new(),
        }
    }

    /// Sends what is to be sent, and agrees on it.
    pub(super) fn send(
        &self,
        commits: &Commits,
        outgoing: &Outgoing,
        blobs: &Blobs<'_>,
    ) -> Told<Round> {
        let there = commits.there.as_deref();
        let words = message(&outgoing.push);
        // Where both have the same files, what is sent is what is agreed on.
        let is_same = commits.base == commits.there && outgoing.base == outgoing.push;
        let mut next = Vec::new();
        if !outgoing.push.is_empty() {
            next.push(self.new_commit(NEXT, there, &outgoing.push, &words));
        }
        if !outgoing.base.is_empty() && !is_same {
            let base = commits.base.as_deref();
            next.push(self.new_commit(NEXT_BASE, base, &outgoing.base, "agreed"));
        }
        for commit in &mut next {
            commit.beside.extend(there);
        }
        let written = if next.is_empty() {
            Written::default()
        } else {
            self.repo.write(&next)?
        };
        blobs.found.borrow_mut().extend(written.blobs);
        let named = next.iter().map(|commit| commit.name);
        let (mut sent, mut agreed) = (None, None);
        for (name, made) in named.zip(written.commits) {
            match name {
                NEXT => sent = Some(made).filter(MadeCommit::is_new),
                _ => agreed = Some(made),
            }
        }
        if let Some(sent) = &sent {
            let (url, branch) = (&self.state.url, &self.state.branch);
            match self.repo.push(url, &sent.id, branch, there) {
                Ok(Pushed::Done) => self.repo.step("sync: pushed")?,
                Err(why) if self.is_fetched => return Err(why),
                // A remote that takes nothing may give something.
                Ok(Pushed::Behind) | Err(_) => {
                    self.agree_on_taken(commits, outgoing)?;
                    self.fetch()?;
                    return Ok(Round::Again);
                }
            }
        } else if !self.is_fetched {
            self.fetch()?;
            if self.commits()? != *commits {
                self.agree_on_taken(commits, outgoing)?;
                return Ok(Round::Again);
            }
        }
        let tip = sent.as_ref().map(|sent| sent.id.as_str()).or(there);
        let agreed = match &agreed {
            // The files are the remote's: so is the commit.
            Some(made)
                if sent
                    .as_ref()
                    .map_or(!made.is_new(), |s| s.tree == made.tree) =>
            {
                tip
            }
            Some(made) => Some(made.id.as_str()),
            None if is_same => tip,
            None => commits.base.as_deref(),
        };
        let tracked = remote_ref(&self.state.branch);
        self.move_refs(&[
            (tracked.as_str(), tip, &commits.there),
            (BASE, agreed, &commits.base),
            (SEEN, tip, &commits.seen),
        ])?;
        let Round::Done(branch) = self.send_branch(commits, tip, outgoing)? else {
            return Ok(Round::Again);
        };
        let own = remote_ref(&self.own_branch());
        self.move_refs(&[(own.as_str(), branch.as_deref(), &commits.own)])?;
        Ok(Round::Done(sent.map(|sent| sent.id).or(branch)))
    }

    /// Moves refs from old commits to new ones, where they differ.
    fn move_refs(&self, refs: &[(&str, Option<&str>, &Option<String>)]) -> Told<()> {
        let refs = refs.iter().filter_map(|(name, new, old)| {
            let is_new = *new != old.as_deref();
            Some((*name, new.filter(|_| is_new)?, old.as_deref()))
        });
        let refs: Vec<(&str, &str, Option<&str>)> = refs.collect();
        if refs.is_empty() {
            return Ok(());
        }
        self.repo.set_refs(&refs)
    }

    /// Agrees on what was taken in though the push was refused: otherwise the next round would take
    /// it for a change that was made here.
    fn agree_on_taken(&self, commits: &Commits, outgoing: &Outgoing) -> Told<()> {
        if outgoing.taken.is_empty() {
            return Ok(());
        }
        let base = commits.base.as_deref();
        let mut commit = self.new_commit(NEXT_BASE, base, &outgoing.taken, "agreed");
        commit.beside.extend(commits.there.as_deref());
        match self.repo.write(&[commit])?.commits.pop() {
            Some(made) => self.repo.set_refs(&[(BASE, &made.id, base)]),
            None => Ok(()),
        }
    }

    /// Sends what others merge, into the branch of this machine. It must be fetched first if it has
    /// something that is not known here.
    fn send_branch(
        &self,
        commits: &Commits,
        tip: Option<&str>,
        outgoing: &Outgoing,
    ) -> Told<Round> {
        let (url, branch) = (&self.state.url, self.own_branch());
        // Stores that are not here go on proposing what they did.
        let mut ops = outgoing.proposed.clone();
        ops.retain(|path, _| {
            let key = path.split('/').nth(1).unwrap_or_default();
            !outgoing.proposing.contains(key)
        });
        ops.extend(outgoing.branch.clone());
        let mut proposed = outgoing.proposed.keys();
        let is_withdrawn = proposed.any(|path| !ops.contains_key(path));
        if is_withdrawn {
            // Who keeps the remote may have removed the branch.
            self.repo.fetch(url, &branch)?;
            if self.commits()?.own != commits.own {
                return Ok(Round::Again);
            }
        } else if outgoing.branch.is_empty() {
            return Ok(Round::Done(None));
        }
        let own = commits.own.as_deref().filter(|own| Some(*own) != tip);
        let words = message(&ops);
        let mut commit = self.new_commit(NEXT, tip, &ops, &words);
        commit.also = own;
        // A proposal that is withdrawn leaves what everybody has.
        let tip = tip.filter(|_| !is_withdrawn);
        commit.beside = tip.into_iter().chain(own).collect();
        let made = self.repo.write(&[commit])?.commits.pop();
        let Some(made) = made.filter(MadeCommit::is_new) else {
            return Ok(Round::Done(None));
        };
        let known = commits.own.as_deref();
        match self.repo.push(url, &made.id, &branch, known)? {
            Pushed::Done => Ok(Round::Done(Some(made.id))),
            Pushed::Behind if own.is_none() && !self.repo.knows_branch(url, &branch)? => {
                Err(format!(
                    "the remote has a branch {branch}, which seems to be another machine's; name this machine: tome sync --init {} --machine NAME",
                    without_credentials(url)
                ))
            }
            Pushed::Behind => {
                self.repo.fetch(url, &branch)?;
                Ok(Round::Again)
            }
        }
    }
}

/// What a commit does, in a line. Tombstones and lines of indexes follow from it.
fn message(ops: &Ops) -> String {
    if ops.is_empty() {
        return "nothing is proposed any more".to_owned();
    }
    let is_memory = |path: &&String| !path.split('/').any(|part| part.starts_with('.'));
    let memories: Vec<&String> = ops.keys().filter(is_memory).collect();
    if memories.is_empty() {
        return "lines of an index".to_owned();
    }
    let is_removed = |path: &&&String| ops.get(**path) == Some(&FileOp::Remove);
    let removed = memories.iter().filter(is_removed).count();
    let what = match (memories.len() - removed, removed) {
        (written, 0) => format!("{written} written"),
        (0, removed) => format!("{removed} removed"),
        (written, removed) => format!("{written} written, {removed} removed"),
    };
    let names = memories.iter().filter_map(|path| path.rsplit('/').next());
    let names: Vec<&str> = names.take(3).collect();
    format!("{what}: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_tells_of_memories() {
        let op = |(path, is_removed): (&str, bool)| {
            let op = if is_removed {
                FileOp::Remove
            } else {
                FileOp::Write(Vec::new())
            };
            (format!("stores/claude/{path}"), op)
        };
        let told = |ops: &[(&str, bool)]| message(&ops.iter().copied().map(op).collect());
        for (ops, expected) in [
            (&[][..], "nothing is proposed any more"),
            (&[(".lines/a.md", false)], "lines of an index"),
            (
                &[("a.md", true), (".deleted/a.md", false)],
                "1 removed: a.md",
            ),
            (
                &[("a.md", false), (".about", false), ("b.md", true)],
                "1 written, 1 removed: a.md, b.md",
            ),
        ] {
            assert_eq!(told(ops), expected);
        }
    }
}
