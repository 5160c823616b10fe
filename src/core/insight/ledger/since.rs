//! Since when a memory exists: the earliest time that its header, the history, git, the logs or the
//! file itself tell. A session that began before could not have it. And since when its lines do, which
//! may be younger.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Sources, Unit};
use crate::core::change::history::History;
use crate::core::insight::curate::git::Git;
use crate::core::insight::review::{LineSource, line_sources};
use crate::core::insight::timeline::record::{load, save};
use crate::core::memory::Memory;
use crate::core::memory::texts::{MemoryText, MemoryTexts};

/// When the files of some folders were committed, as it was kept for a commit.
type KeptTimes = (String, Vec<String>, HashMap<PathBuf, CommitTimes>);

/// When a file was committed, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommitTimes {
    /// By the first commit that has it.
    pub(super) added: i64,
    /// By the last commit that changed it; `None` if the file is not as committed.
    pub(super) changed: Option<i64>,
}

/// Returns when a memory was made, as its header says, or else when its file was last changed; in
/// milliseconds since 1970.
pub(super) fn written(memory: &Memory) -> i64 {
    let day = memory.created.as_deref().and_then(|text| {
        let day: jiff::civil::Date = text.trim().get(..10)?.parse().ok()?;
        let day = day.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(day.timestamp().as_millisecond())
    });
    let time = if memory.modified == 0 {
        i64::MAX
    } else {
        memory.modified
    };
    day.map_or(time, |day| day.min(time))
}

/// Returns when the history first has each file.
pub(super) fn recorded(history: &History) -> HashMap<PathBuf, i64> {
    let mut first = HashMap::new();
    // A history that cannot be read tells nothing.
    for record in history.records().unwrap_or_default() {
        for (file, _) in record.written() {
            let time = first.entry(file).or_insert(record.time);
            *time = record.time.min(*time);
        }
    }
    first
}

/// Dates the memories whose headers tell no day as git does. A git that takes long tells nothing.
pub fn date_by_git(memories: &mut MemoryTexts, git: &Git, cache: &Path) {
    const LONGEST: Duration = Duration::from_secs(2);
    let is_undated = |text: &MemoryText| text.memory.stated_time().is_none();
    if !memories.texts.iter().any(is_undated) {
        return;
    }
    let files = memories.texts.iter().map(|text| memories.file_of(text));
    let files: Vec<PathBuf> = files.collect();
    let git = git.clone().with_limit(LONGEST);
    let committed = committed(&git, &files, cache);
    for (text, file) in memories.texts.iter_mut().zip(&files) {
        let changed = committed.get(file).and_then(|times| times.changed);
        text.time = changed.filter(|_| is_undated(text)).or(text.time);
    }
}

/// Returns when those of these files that git tracks were committed. Git's log is read again when its
/// work tree is at another commit, or for other folders.
pub(super) fn committed(
    git: &Git,
    files: &[PathBuf],
    cache: &Path,
) -> HashMap<PathBuf, CommitTimes> {
    let mut trees: HashMap<&Path, Vec<PathBuf>> = HashMap::new();
    for file in files {
        let tree = file
            .ancestors()
            .skip(1)
            .find(|above| above.join(".git").exists());
        if let Some(tree) = tree {
            trees.entry(tree).or_default().push(file.clone());
        }
    }
    let mut all = HashMap::new();
    for (tree, files) in trees {
        let folders = folders_as_arguments(tree, &files);
        let work_tree = WorkTreeFiles { git, tree, folders };
        let Some(mut times) = work_tree.kept_times(cache) else {
            continue;
        };
        let edited = work_tree.output(&["ls-files", "--modified", "-z", "--"]);
        for path in edited.unwrap_or_default().split('\0') {
            if let Some(times) = times.get_mut(&tree.join(path)) {
                times.changed = None;
            }
        }
        all.extend(times);
    }
    all
}

/// The folders of files as git's arguments: without those below them, as there may be more files
/// than arguments. Empty, which is all folders, if even the folders are too many.
fn folders_as_arguments(tree: &Path, files: &[PathBuf]) -> Vec<String> {
    const MOST: usize = 500;
    let folders = files
        .iter()
        .filter_map(|file| file.strip_prefix(tree).ok()?.parent()?.to_str());
    let folders: BTreeSet<&str> = folders.collect();
    if folders.len() > MOST {
        return Vec::new();
    }
    let argument = |folder: &&str| {
        let mut argument = ":(glob)".to_owned();
        for c in folder.chars() {
            argument.extend("*?[\\".contains(c).then_some('\\'));
            argument.push(c);
        }
        argument.push_str(if folder.is_empty() { "*" } else { "/*" });
        argument
    };
    folders.iter().map(argument).collect()
}

/// Returns when each line of a unit's file was written, as the logs, the history or git tell.
pub(super) fn lines(sources: &Sources<'_>, unit: &Unit<'_>) -> Vec<Option<i64>> {
    let store = &sources.stores[unit.store];
    let path = store.rules().file_of(&unit.account.path);
    let lines: Vec<&str> = unit.text.text.lines().collect();
    let (corpus, history) = (Some(sources.corpus), sources.history);
    // A history that cannot be read tells nothing.
    let known = line_sources(corpus, history, store, &path, &lines);
    let mut known = known.unwrap_or_default().into_iter();
    let committed = line_commits(sources.git, &unit.account.file);
    let time = |line: &&str| match known.next().flatten().as_deref() {
        Some(LineSource::Call(reason)) => reason.time,
        Some(LineSource::Change(record)) => Some(record.time),
        None => committed.get(*line).copied(),
    };
    lines.iter().map(time).collect()
}

/// Returns when the lines of a file were committed. The version of the commit is asked about, not the
/// file: that would run the filters that a project names.
fn line_commits(git: &Git, file: &Path) -> HashMap<String, i64> {
    let place = file.parent().zip(file.file_name().and_then(OsStr::to_str));
    let asked = ["blame", "--no-textconv", "--line-porcelain", "HEAD", "--"];
    let told = place.and_then(|(folder, name)| git.run(folder, &[&asked[..], &[name]].concat()));
    let mut times = HashMap::new();
    let mut time = None;
    for line in told.unwrap_or_default().lines() {
        if let Some(told) = line.strip_prefix("committer-time ") {
            time = told.parse::<i64>().ok().map(|seconds| seconds * 1000);
        } else if let Some(text) = line.strip_prefix('\t') {
            times.extend(time.map(|time| (text.to_owned(), time)));
        }
    }
    times
}

/// Files of a work tree that git is asked about.
struct WorkTreeFiles<'a> {
    git: &'a Git,
    tree: &'a Path,
    /// Their folders, as git's arguments.
    folders: Vec<String>,
}

impl WorkTreeFiles<'_> {
    fn output(&self, args: &[&str]) -> Option<String> {
        let folders = self.folders.iter().map(String::as_str);
        let args: Vec<&str> = args.iter().copied().chain(folders).collect();
        self.git.run(self.tree, &args)
    }

    /// The times as committed, from the cache if it has them.
    fn kept_times(&self, cache: &Path) -> Option<HashMap<PathBuf, CommitTimes>> {
        let head = self.git.run(self.tree, &["rev-parse", "HEAD"])?;
        let name = blake3::hash(self.tree.as_os_str().as_encoded_bytes()).to_hex();
        let path = cache.join(format!("git-{}.json", &name[..24]));
        if let Some((known, of, times)) = load::<KeptTimes>(&path)
            && known == head
            && of == self.folders
        {
            return Some(times);
        }
        let kept: KeptTimes = (head, self.folders.clone(), self.times()?);
        save(&path, &kept);
        Some(kept.2)
    }

    fn times(&self) -> Option<HashMap<PathBuf, CommitTimes>> {
        let told = self.output(&["log", "--format=%x01%ct", "--name-only", "-z", "--"])?;
        let mut times: HashMap<PathBuf, CommitTimes> = HashMap::new();
        for commit in told.split('\u{1}') {
            let mut parts = commit.split(['\0', '\n']).filter(|part| !part.is_empty());
            let Some(time) = parts.next().and_then(|time| time.parse::<i64>().ok()) else {
                continue;
            };
            let time = time * 1000;
            for path in parts {
                // The newest commit comes first.
                let known = times.entry(self.tree.join(path));
                let known = known.or_insert(CommitTimes {
                    added: time,
                    changed: Some(time),
                });
                known.added = time;
            }
        }
        Some(times)
    }
}
