//! The memories of a project that moved, was renamed or has another worktree or clone.
//!
//! Claude Code keeps the memories of a project in a directory that is named after the project's
//! path. After the project has moved they are still below the old name, and no session reads them.
//! [`former_homes`] finds them by git: the same first commit or remote, or commits of the project
//! in the logs that lie beside the memories. [`plan_rehome`] gathers them where they are read.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;

use regex::Regex;

use crate::core::change::{
    BrokenLinks, Change, ChangeContext, Edit, Transfer, plan_moves, relinked,
};
use crate::core::disk::foreign::open_regular;
use crate::core::disk::sandbox::{Attributes, Root};
use crate::core::disk::trust::real_path;
use crate::core::insight::curate::git::Git;
use crate::core::memory::config::Settings;
use crate::core::memory::discover::{
    Environment, claude_memory_root, claude_slug, project_folders,
};
use crate::core::memory::layout::index::{INDEX, with_former_line};
use crate::core::memory::layout::listing::EMPTY_INDEX;
use crate::core::memory::layout::{Layout, append_section};
use crate::core::memory::stem;
use crate::core::memory::store::Store;
use crate::core::text::header::section::heading;
use crate::core::text::header::{fitted, lines, newline, prose, splice};
use crate::core::text::link::{LinkSyntax, resolve_target};
use crate::core::{Error, Result};

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
        let file = target.locate(&memory.path)?;
        let there = target.root().read(&file)?;
        let own = source.root().read(&source.locate(&memory.path)?)?;
        let place = match there {
            None => memory.path.clone(),
            Some(_) if there == own => {
                notes.push(format!("{} is there already, the same", memory.path));
                memory.path.clone()
            }
            Some(_) => {
                let place = free_name(target, &memory.path, &taken)?;
                notes.push(format!("{} is taken: it becomes {place}", memory.path));
                place
            }
        };
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
        let left = text_after(source, index_edit(&mut change, source)?)?;
        let edit = index_edit(&mut change, target)?;
        let moved = memories.iter().zip(&transfers);
        let mut text = text_after(target, edit)?;
        for (memory, transfer) in moved {
            text = with_former_line(&text, &former, memory, &transfer.place);
        }
        if says_something(&left) {
            let left = relinked(&left, |link| {
                let file = resolve_target(INDEX, &link.target)?;
                let mut renamed = transfers.iter().filter(|one| one.path != one.place);
                let one = renamed.find(|one| one.path == file)?;
                (link.form == LinkSyntax::Inline).then(|| one.place.clone())
            });
            text = with_own_text(&text, &left);
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

/// An index with what another one says: each of its parts at the end of the part of that heading, or
/// of the index.
fn with_own_text(text: &str, other: &str) -> String {
    if text.trim().is_empty() || text == EMPTY_INDEX {
        return other.to_owned();
    }
    let mut made = text.to_owned();
    for (title, span) in parts(other) {
        let part = other[span].trim();
        let first = lines(part, 0).next();
        let first = first.filter(|line| matches!(heading(line.text), Some((1 | 2, _))));
        let body = part[first.map_or(0, |line| line.end)..].trim_start_matches(['\r', '\n']);
        if !says_something(body) {
            continue;
        }
        let there = parts(&made).into_iter().find(|(known, _)| *known == title);
        let Some((_, span)) = there else {
            made = append_section(&made, part);
            continue;
        };
        let as_lines = |text: &str| format!("\n{}\n", text.trim_end().replace("\r\n", "\n"));
        if as_lines(&made[span.clone()]).contains(&as_lines(body)) {
            continue;
        }
        let end = span.start + made[span].trim_end().len();
        let nl = newline(&made);
        let added = format!("{nl}{nl}{}", fitted(&made, body));
        let close = if made[end..].is_empty() { nl } else { "" };
        made = splice(&made, end..end, &format!("{added}{close}"));
    }
    made
}

/// The parts of an index that begin with a heading of the first two levels, and their headings; the
/// first part, with the title of the index, has none.
fn parts(text: &str) -> Vec<(Option<&str>, Range<usize>)> {
    let mut found: Vec<(Option<&str>, Range<usize>)> = vec![(None, 0..text.len())];
    for (_, line) in prose(text) {
        let is_title = |level| level == 1 && text[..line.span.start].trim().is_empty();
        let level = heading(line.text).map(|(level, _)| level);
        if level.is_some_and(|level| level < 3 && !is_title(level)) {
            if let Some((_, last)) = found.last_mut() {
                last.end = line.span.start;
            }
            found.push((Some(line.text.trim()), line.span.start..text.len()));
        }
    }
    found
}

/// A path that neither the store nor any of these has.
fn free_name(target: &Store, path: &str, taken: &HashSet<String>) -> Result<String> {
    let base = path.strip_suffix(".md").unwrap_or(path);
    let mut number = 2;
    loop {
        let name = format!("{base}-{number}.md");
        if !taken.contains(&name) && !target.root().has(&target.locate(&name)?) {
            debug_assert_ne!(stem(&name), stem(path));
            return Ok(name);
        }
        number += 1;
    }
}

/// Whether an index says more than headings.
fn says_something(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    lines.any(|line| !line.is_empty() && !line.starts_with('#') && line != "(empty)")
}
