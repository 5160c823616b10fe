//! Sync: several machines, one memory, on a git remote of the person's own.
//!
//! The chosen stores are kept as plain files in a repository, one directory a store (see [`tree`]),
//! under a key that says what the store is and not where it lies (see [`key`]). tome works on a clone
//! in its data directory and never checks it out (see [`repo`]). Of every file there are three
//! versions, the one that this machine last agreed on, the one here and the one of the remote, and
//! [`decision`] says what follows. What others changed waits in the review or is written at once;
//! what changed here is one commit on top of theirs (see [`send`]). Deletes travel as tombstones,
//! and what is merely absent is put back. Indexes are made again on each machine; of a hand-written
//! `MEMORY.md` the lines travel (see [`index`]). The READMEs of the coder layout do not: each folder
//! has one whose lines are titles and counts of what is in it on this machine, and change with every
//! lesson, so that two machines would conflict with every sync. Words of a person in one stay on that
//! machine; what all should have is a lesson, which travels and is found by its title and tags. Secrets and orders are held back (see [`held_back`]).

mod blobs;
mod chosen;
mod decision;
mod held_back;
mod index;
mod key;
mod plan;
mod repo;
mod run;
mod send;
mod state;
mod tree;

use std::path::{Path, PathBuf};

use crate::core::change::history::History;
use crate::core::insight::curate::git::Git;
use crate::core::memory::config::{IncomingMode, OutgoingMode, Settings};
use crate::core::memory::discover::Environment;
use crate::core::text::time::Moment;
use crate::core::{Error, Result};

pub use chosen::{choose, shared_among, toggle};
pub use held_back::HeldBack;
use key::without_credentials;
use repo::{Repo, is_branch, is_new_folder};
pub use state::LastSync;
use state::SyncState;

/// Nothing is shared without a remote.
const NO_REMOTE: &str = "no remote is set; `tome sync --init URL` sets one";

/// What sync needs to know.
#[derive(Debug, Clone, Copy)]
pub struct Sync<'a> {
    /// Its own directory.
    pub dir: &'a Path,
    /// The program.
    pub git: &'a Git,
    /// The history, which what arrives becomes part of.
    pub history: &'a History,
    /// Where stores are looked for.
    pub environment: &'a Environment,
    /// Which stores are shared, and how.
    pub settings: &'a Settings,
    /// The time.
    pub moment: &'a Moment,
}

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The plan is told, and only the clone is brought up to date.
    Dry,
    /// The plan is carried out.
    Real,
}

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// It comes here, at once.
    Received,
    /// It is deleted here, at once.
    ReceivedDelete,
    /// It waits for review.
    Offered,
    /// It waits for review, because both sides changed it.
    Conflict,
    /// It goes to the remote.
    Sent,
    /// It is deleted at the remote.
    SentDelete,
}

impl Motion {
    /// What happens, in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::ReceivedDelete => "deleted here",
            Self::Offered => "to review",
            Self::Conflict => "conflict",
            Self::Sent => "sent",
            Self::SentDelete => "deleted there",
        }
    }

    /// What the next sync makes happen, in words.
    pub fn planned(self) -> &'static str {
        match self {
            Self::Received => "to receive",
            Self::ReceivedDelete => "to delete here",
            Self::Sent => "to send",
            Self::SentDelete => "to delete there",
            Self::Offered | Self::Conflict => self.name(),
        }
    }
}

/// What a sync did, or would do, with one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreReport {
    /// The store's name here.
    pub name: String,
    /// Its root.
    pub root: PathBuf,
    /// Its key; empty if it is not shared now.
    pub key: String,
    /// What is done with what others sent, and where changes go.
    pub modes: (IncomingMode, OutgoingMode),
    /// How many files are shared.
    pub files: usize,
    /// What happens to files, by their references.
    pub motions: Vec<(Motion, String)>,
    /// What is held back.
    pub held_back: Vec<HeldBack>,
    /// Why it is not shared, or what is left alone.
    pub notes: Vec<String>,
}

/// What a sync did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyncReport {
    /// The stores that are chosen.
    pub stores: Vec<StoreReport>,
    /// What of the remote is left alone, in lines.
    pub notes: Vec<String>,
    /// The keys of stores that wait in the clone, because they are not on this machine, and what they
    /// are, if nothing was to be written.
    pub elsewhere: Vec<(String, Option<String>)>,
    /// The commit that was sent.
    pub commit: Option<String>,
    /// Why it ended early, in a line.
    pub failure: Option<String>,
}

/// How things stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The remote, without credentials.
    pub url: String,
    /// Its branch.
    pub branch: String,
    /// The name of this machine.
    pub machine: String,
    /// How the last sync ended.
    pub last: Option<LastSync>,
}

impl<'a> Sync<'a> {
    fn repo(&self) -> Repo<'a> {
        Repo::at(self.git, self.dir.join("repo.git"), self.history)
    }

    fn refused(&self, why: impl Into<String>) -> Error {
        Error::refused("sync", why)
    }

    /// Sets the remote. A folder that is missing or empty becomes a repository.
    pub fn init(&self, url: &str, machine: &str) -> Result<Standing> {
        if url.is_empty() || url.starts_with('-') || url.chars().any(char::is_control) {
            return Err(self.refused("no address of a remote"));
        }
        let as_path = Path::new(url);
        let is_folder = !url.contains("://") && (as_path.is_absolute() || !url.contains(':'));
        let url = if is_folder {
            self.environment
                .cwd
                .join(as_path)
                .to_string_lossy()
                .into_owned()
        } else {
            url.to_owned()
        };
        let repo = self.repo();
        let told = |why: String| self.refused(format!("{}: {why}", without_credentials(&url)));
        if !repo.exists() {
            repo.create().map_err(told)?;
        }
        if is_folder && is_new_folder(Path::new(&url)) {
            repo.create_remote(&url).map_err(told)?;
        }
        let branch = repo.remote_branch(&url).map_err(told)?;
        let mut state = SyncState::load(self.dir)?;
        // With another remote, or another history in its place, nothing is agreed on yet.
        if state.url != url || repo.has_other_history(&url, &state.branch).map_err(told)? {
            repo.forget().map_err(told)?;
        }
        state.url = url;
        state.branch = branch
            .filter(|name| is_branch(name))
            .unwrap_or_else(|| "main".to_owned());
        let plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        state.machine = machine.chars().filter(|c| plain(*c)).take(40).collect();
        if state.machine.is_empty() {
            "machine".clone_into(&mut state.machine);
        }
        state.last = None;
        state.save(self.dir)?;
        Ok(standing(&state))
    }

    /// Forgets the remote. The clone and the stores stay as they are.
    pub fn stop(&self) -> Result<bool> {
        let mut state = SyncState::load(self.dir)?;
        let was_on = !state.url.is_empty();
        state.url.clear();
        if was_on {
            state.save(self.dir)?;
        }
        Ok(was_on)
    }

    /// How things stand; `None` if there is no remote.
    pub fn standing(&self) -> Result<Option<Standing>> {
        standing_in(self.dir)
    }
}

/// How things stand, by the state in a directory; `None` if there is no remote.
pub fn standing_in(dir: &Path) -> Result<Option<Standing>> {
    let state = SyncState::load(dir)?;
    Ok((!state.url.is_empty()).then(|| standing(&state)))
}

fn standing(state: &SyncState) -> Standing {
    Standing {
        url: without_credentials(&state.url),
        branch: state.branch.clone(),
        machine: state.machine.clone(),
        last: state.last.clone(),
    }
}
