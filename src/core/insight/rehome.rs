//! The memories of a project that moved, was renamed or has another worktree or clone.
//!
//! Claude Code keeps the memories of a project in a directory that is named after the project's
//! path. After the project has moved they are still below the old name, and no session reads them.
//! [`former_homes`] finds them by git: the same first commit or remote, or commits of the project
//! in the logs that lie beside the memories. [`plan_rehome`] gathers them where they are read.

mod index;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;

use regex::Regex;

use crate::core::change::{BrokenLinks, Change, ChangeContext, Edit, Transfer, plan_moves};
use crate::core::disk::foreign::open_regular;
use crate::core::disk::sandbox::{Attributes, Root};
use crate::core::disk::trust::real_path;
use crate::core::insight::curate::git::Git;
use crate::core::memory::config::Settings;
use crate::core::memory::discover::{
    Environment, claude_memory_root, claude_slug, project_folders,
};
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::index::INDEX;
use crate::core::memory::store::Store;
use crate::core::memory::{Memory, stem};
use crate::core::text::link::{Link, LinkSyntax, relinked, resolve_target};
use crate::core::{Error, Result};
use index::{Gathering, says_something};

/// Memories of the same project below another path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerHome {
    /// The directory of the memories.
    pub root: PathBuf,
    /// The path of the project that they were written for.
    pub project: PathBuf,
    /// Whether the project is still there, too: another worktree or clone.
    pub is_there: bool,
    /// How many memories there are.
    pub memories: usize,
    /// What proves that it is the same project.
    pub proof: Proof,
}

impl FormerHome {
    /// What is there, in words.
    pub fn content(&self) -> String {
        match self.memories {
            0 => format!("text in {INDEX}"),
            1 => "1 memory".to_owned(),
            number => format!("{number} memories"),
        }
    }
}

/// Why two directories are the same project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// Their histories begin with this commit.
    FirstCommit(String),
    /// They have this remote.
    Remote(String),
    /// The logs beside the memories tell of this commit of the project.
    Commit(String),
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstCommit(hash) => write!(f, "the same first commit {}", abbreviated(hash)),
            Self::Remote(url) => write!(f, "the same remote {url}"),
            Self::Commit(hash) => write!(f, "its logs tell of commit {}", abbreviated(hash)),
        }
    }
}

fn abbreviated(hash: &str) -> &str {
    hash.get(..10).unwrap_or(hash)
}

/// What git says about a work tree.
struct Identity {
    first_commits: BTreeSet<String>,
    remotes: BTreeSet<String>,
}

impl Identity {
    fn read(git: &Git, root: &Path) -> Option<Self> {
        let first = git.run(root, &["rev-list", "--max-parents=0", "HEAD"])?;
        let remotes = git.run(root, &["config", "--get-regexp", r"^remote\..*\.url$"]);
        let remotes = remotes.unwrap_or_default();
        let urls = remotes.lines().filter_map(|line| line.split_once(' '));
        Some(Self {
            first_commits: first.lines().map(str::to_owned).collect(),
            remotes: urls.map(|(_, url)| plain_url(url)).collect(),
        })
    }

    fn shared_with(&self, other: &Self) -> Option<Proof> {
        let commit = self.first_commits.intersection(&other.first_commits).next();
        let remote = self.remotes.intersection(&other.remotes).next();
        let commit = commit.map(|hash| Proof::FirstCommit(hash.clone()));
        commit.or_else(|| remote.map(|url| Proof::Remote(url.clone())))
    }
}

/// A remote without the parts that differ between two ways to reach it.
fn plain_url(url: &str) -> String {
    let url = url.trim().trim_end_matches('/').trim_end_matches(".git");
    let url = url.split_once("://").map_or(url, |(_, rest)| rest);
    let url = url.rsplit_once('@').map_or(url, |(_, rest)| rest);
    url.replace(':', "/").to_lowercase()
}

/// Finds the memories of the project at `project` below other paths. `projects` is the directory in
/// which Claude Code keeps its projects, `current` the one of the memories that are read now, and
/// `git` the program.
pub fn former_homes(projects: &Path, project: &Path, current: &Path, git: &Git) -> Vec<FormerHome> {
    let Some(here) = Identity::read(git, project) else {
        return Vec::new();
    };
    let current = real_path(current);
    let mut commits: Option<Vec<String>> = None;
    let mut found = Vec::new();
    for folder in folders(projects) {
        let root = folder.join("memory");
        let memories = count_memories(&root);
        let has_text =
            || read_beginning(&root.join(INDEX)).is_some_and(|text| says_something(&text));
        if real_path(&root) == current || (memories == 0 && !has_text()) {
            continue;
        }
        let logs = newest_logs(&folder);
        let Some(former) = project_of_logs(&folder, &logs) else {
            continue;
        };
        if real_path(&former) == real_path(project) {
            continue;
        }
        let is_there = former.is_dir();
        let proof = if is_there {
            Identity::read(git, &former).and_then(|there| here.shared_with(&there))
        } else {
            let commits = commits.get_or_insert_with(|| all_commits(git, project));
            commit_in_logs(&logs, commits).map(Proof::Commit)
        };
        if let Some(proof) = proof {
            found.push(FormerHome {
                root,
                project: former,
                is_there,
                memories,
                proof,
            });
        }
    }
    found
}

/// The directory in which Claude Code keeps the memories of the project at this path.
pub fn claude_home_of(projects: &Path, project: &Path) -> PathBuf {
    projects.join(claude_slug(project)).join("memory")
}

fn folders(projects: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(projects).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    folders
}

fn count_memories(root: &Path) -> usize {
    let files = Root::open(root).and_then(|root| Layout::Index.rules().files(&root));
    files.map_or(0, |files| files.len())
}

/// How many logs of a project are read, and how much of each.
const LOGS: usize = 8;
const LONGEST: u64 = 4 << 20;

/// The beginnings of the newest logs of a project.
fn newest_logs(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut logs: Vec<(SystemTime, PathBuf)> = entries
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "jsonl"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    logs.sort();
    let newest = logs.iter().rev().take(LOGS);
    newest
        .filter_map(|(_, path)| read_beginning(path))
        .collect()
}

fn read_beginning(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let file = open_regular(path).ok()?;
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The path of a project, as its logs tell it: exactly the one that its directory is named after.
fn project_of_logs(folder: &Path, logs: &[String]) -> Option<PathBuf> {
    let name = folder.file_name()?.to_str()?;
    let mut records = logs.iter().flat_map(|log| log.lines());
    records.find_map(|record| {
        let record: serde_json::Value = serde_json::from_str(record).ok()?;
        let cwd = Path::new(record.get("cwd")?.as_str()?);
        // A session may have gone into a folder of the project.
        let mut above = cwd.ancestors();
        above
            .find(|path| claude_slug(path) == name)
            .map(Path::to_owned)
    })
}

/// Every commit of the project, sorted.
fn all_commits(git: &Git, project: &Path) -> Vec<String> {
    let all = git.run(project, &["rev-list", "--all"]).unwrap_or_default();
    let mut all: Vec<String> = all.lines().map(str::to_owned).collect();
    all.sort_unstable();
    all
}

/// What git prints about a new commit, `[main 4f1c2aa] …`, and about one in a log.
static COMMITS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\[[\w./-]+ (?:\(root-commit\) )?([0-9a-f]{7,40})\]|\bcommit ([0-9a-f]{40})\b").ok()
});

/// A commit of the project that the logs tell of; the commits are sorted.
fn commit_in_logs(logs: &[String], commits: &[String]) -> Option<String> {
    let pattern = COMMITS.as_ref()?;
    let told = logs.iter().flat_map(|log| pattern.captures_iter(log));
    let mut hashes = told.filter_map(|found| found.get(1).or(found.get(2)));
    hashes.find_map(|hash| {
        let at = commits.partition_point(|known| known.as_str() < hash.as_str());
        let known = commits.get(at)?;
        known.starts_with(hash.as_str()).then(|| known.clone())
    })
}

/// Returns the directory that is gone and was the project, of the sessions with these times, directories
/// and files: the newest ones tell of a commit of the project, or the directory has its name.
pub fn former_directory<'a>(
    git: &Git,
    project: &Path,
    mut sessions: Vec<(Option<i64>, &'a str, PathBuf)>,
) -> Option<&'a str> {
    /// How many sessions are read.
    const MOST: usize = 64;
    sessions.retain(|(_, directory, _)| !Path::new(directory).exists());
    sessions.sort_unstable_by(|a, b| b.cmp(a));
    let commits = all_commits(git, project);
    let tells = |log: &Path| {
        let log = read_beginning(log).filter(|_| !commits.is_empty());
        commit_in_logs(log.as_slice(), &commits).is_some()
    };
    let mut newest = sessions.iter().take(MOST);
    let proven = newest.find(|(.., log)| tells(log));
    let named = |directory: &str| Path::new(directory).file_name() == project.file_name();
    let former = proven.or_else(|| sessions.iter().find(|(_, directory, _)| named(directory)));
    former.map(|(_, directory, _)| *directory)
}

/// A plan to gather memories, and what it does that a difference does not show.
#[derive(Debug)]
pub struct Rehoming {
    /// The change.
    pub change: Change,
    /// What became of names that were taken, and what stays.
    pub notes: Vec<String>,
}

/// Finds the memories of the project of the working directory below other paths, and returns them
/// with the directory of those that are read now. `git` is the program.
pub fn homes_of_project(
    environment: &Environment,
    settings: &Settings,
    git: &Git,
) -> Option<(PathBuf, Vec<FormerHome>)> {
    let current = claude_memory_root(environment, settings)?;
    let project = project_folders(&environment.cwd).pop()?;
    let projects = environment.claude.join("projects");
    let homes = former_homes(&projects, &project, &current, git);
    Some((current, homes))
}

/// Plans to move every memory of a store into another one of the same layout, as one change. Links
/// and indexes follow. A memory that is there already, byte for byte, is not doubled; one whose
/// name is taken gets another. `None` if there is nothing to do.
pub fn plan_rehome(
    source: &Store,
    target: &Store,
    context: &ChangeContext,
) -> Result<Option<Rehoming>> {
    if source.id() == target.id() {
        return Ok(None);
    }
    if source.layout() != target.layout() {
        return Err(Error::refused(
            source.name(),
            format!(
                "its layout is {}, that of {} is {}; only stores of one layout are gathered",
                source.layout(),
                target.name(),
                target.layout()
            ),
        ));
    }
    let memories = source.list()?;
    let mut taken: HashSet<String> = memories.iter().map(|memory| memory.path.clone()).collect();
    let mut notes = Vec::new();
    let mut transfers = Vec::new();
    for memory in &memories {
        let own = source.root().read(&source.locate(&memory.path)?)?;
        let place = free_name(target, &memory.path, &own, &taken)?;
        let is_there = target.root().has(&target.locate(&place)?);
        match (is_there, place == memory.path) {
            (false, true) => {}
            (true, true) => notes.push(format!("{place} is there already, the same")),
            (true, false) => notes.push(format!("{} is there already: {place}", memory.path)),
            (false, false) => notes.push(format!("{} is taken: it becomes {place}", memory.path)),
        }
        taken.insert(place.clone());
        transfers.push(Transfer {
            source,
            path: &memory.path,
            place,
        });
    }
    let mut change = plan_moves(&transfers, target, BrokenLinks::Follow, context)?;
    let number = transfers.len();
    let things = match number {
        0 => format!("what {INDEX} says"),
        1 => "1 memory".to_owned(),
        _ => format!("{number} memories"),
    };
    let from = source.root().path().display();
    change.message = format!("{things} of {from} gathered in {}", target.name());
    if let Some(former) = source.text(INDEX)? {
        let renamed = |link: &Link<'_>| {
            let file = resolve_target(INDEX, &link.target);
            let mut moved = memories.iter().zip(&transfers);
            let (_, one) = moved.find(|(memory, one)| match link.form {
                LinkSyntax::Inline => file.as_deref() == Some(one.path),
                LinkSyntax::Wiki => stem(one.path) == link.target && memory.title != link.target,
            })?;
            (one.path != one.place).then(|| match link.form {
                LinkSyntax::Inline => one.place.clone(),
                LinkSyntax::Wiki => stem(&one.place).to_owned(),
            })
        };
        let former = relinked(&former, renamed);
        let moved = memories.iter().zip(&transfers).map(|(memory, one)| Memory {
            path: one.place.clone(),
            ..memory.clone()
        });
        let moved: Vec<Memory> = moved.collect();
        let edit = index_edit(&mut change, target)?;
        let gathering = Gathering {
            former: &former,
            before: &target.text(INDEX)?.unwrap_or_default(),
            moved: &moved,
            is_new: &|path| !target.root().has(path),
            is_out: &|path| matches!(source.root().resolve(path), Err(Error::Escapes { .. })),
        };
        let (text, says_more) = gathering.made(text_after(target, edit)?);
        if says_more {
            edit.derived = false;
            notes.push(format!("what {INDEX} of {from} says comes along"));
        }
        edit.after = Some(text.into_bytes());
    }
    index_edit(&mut change, source)?.after = None;
    change.edits.retain(|edit| edit.before != edit.after);
    let is_something = number > 0 || !notes.is_empty();
    Ok(is_something.then_some(Rehoming { change, notes }))
}

/// The edit of a store's index; one that changes nothing if there is none yet.
fn index_edit<'a>(change: &'a mut Change, store: &Store) -> Result<&'a mut Edit> {
    let root = store.root().path();
    let is_its = |edit: &Edit| edit.root == root && edit.path == INDEX;
    if !change.edits.iter().any(is_its) {
        let before = store.root().read(INDEX)?;
        change.edits.push(Edit {
            root: root.to_owned(),
            layout: store.layout(),
            path: INDEX.to_owned(),
            after: before.clone(),
            before,
            derived: true,
            emptied: Vec::new(),
            attributes: Attributes::default(),
        });
    }
    let edit = change.edits.iter_mut().find(|edit| is_its(edit));
    edit.ok_or_else(|| Error::not_found(INDEX))
}

fn text_after(store: &Store, edit: &Edit) -> Result<String> {
    store.decoded(INDEX, edit.after.clone().unwrap_or_default())
}

/// The path for a memory with these bytes: its own, or the next one that neither the store nor any of
/// the others has, unless the same is there already.
fn free_name(
    target: &Store,
    path: &str,
    own: &Option<Vec<u8>>,
    others: &HashSet<String>,
) -> Result<String> {
    let base = path.strip_suffix(".md").unwrap_or(path);
    let mut number = 1;
    loop {
        let name = match number {
            1 => path.to_owned(),
            _ => format!("{base}-{number}.md"),
        };
        let there = target.root().read(&target.locate(&name)?)?;
        if (number == 1 || !others.contains(&name)) && (there.is_none() || there == *own) {
            return Ok(name);
        }
        number += 1;
    }
}
