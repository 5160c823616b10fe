//! The git history of a project: which files it has, and which it had, with the commit in which
//! each went and the name that it has now.
//!
//! Git is read with the `git` program at a path that the caller gives, in a few calls. A project's
//! own git settings can name programs to run; every setting that these calls would follow is
//! switched off.

pub mod removed;
mod saved;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::core::discover::{Environment, claude_slug};
use crate::core::layout::Layout;
use crate::core::store::Store;
use crate::core::trust::real_path;
use removed::{LostDefinition, ProjectName};
use saved::SavedLog;

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The abbreviated hash.
    pub hash: String,
    /// The date of the commit, `YYYY-MM-DD`.
    pub date: String,
    /// The first line of its message.
    pub subject: String,
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.hash, self.date)
    }
}

/// A path that the project had and has no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GonePath {
    /// The path below the project's root.
    pub path: String,
    /// The number of the commit in which it went.
    pub commit: usize,
    /// The name that the same file has now, if it was renamed.
    pub now: Option<String>,
}

/// What git knows about a project.
#[derive(Debug)]
pub struct ProjectHistory {
    /// The root of the work tree.
    pub root: PathBuf,
    /// The program; `None` for a history that was not read from a repository.
    git: Option<PathBuf>,
    commits: Vec<Commit>,
    /// The tracked files, by their names without folders.
    live: HashMap<String, Vec<String>>,
    live_folders: HashSet<String>,
    /// The number of the commit that changed each tracked file last.
    changed: HashMap<String, usize>,
    /// The files that are gone, by their names without folders.
    gone: HashMap<String, Vec<GonePath>>,
    /// The folders of which no file is left, by their last names.
    gone_folders: HashMap<String, Vec<GonePath>>,
    /// The definitions that the newest commits removed, once they were looked for.
    lost: OnceLock<HashMap<ProjectName, LostDefinition>>,
}

/// The settings that could run programs, wait for a person or write.
const SAFE: [&str; 14] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "log.showSignature=false",
    "-c",
    "core.quotePath=false",
    "-c",
    "diff.renameLimit=1000",
    "-c",
    "core.pager=cat",
    "--no-pager",
    "--no-optional-locks",
];

/// The start of a commit in the output of the log.
const MARK: char = '\u{1}';

impl ProjectHistory {
    /// Reads the history of the work tree at `root` with the program at `git`. `None` if there is
    /// no such program, no repository or no commit. What `cache` has of it is not read again.
    pub fn read(git: &Path, root: &Path, cache: Option<&Path>) -> Option<Self> {
        let (head, _) = head_of(git, root)?;
        let files = run(git, root, &["ls-files", "-z"])?;
        let log = SavedLog::at(cache, root).updated(git, root, &head)?;
        let mut history = Self::parse(&files, &log);
        history.root = root.to_owned();
        history.git = Some(git.to_owned());
        Some(history)
    }

    /// Parses the lists of `git ls-files -z` and `git log -z --name-status`.
    pub(crate) fn parse(files: &str, log: &str) -> Self {
        let mut history = Self {
            root: PathBuf::new(),
            git: None,
            commits: Vec::new(),
            live: HashMap::new(),
            live_folders: HashSet::new(),
            changed: HashMap::new(),
            gone: HashMap::new(),
            gone_folders: HashMap::new(),
            lost: OnceLock::new(),
        };
        let tracked: HashSet<&str> = files.split('\0').filter(|path| !path.is_empty()).collect();
        for path in &tracked {
            let name = name_of(path).to_owned();
            history
                .live
                .entry(name)
                .or_default()
                .push((*path).to_owned());
            history
                .live_folders
                .extend(folders_of(path).map(str::to_owned));
        }
        let mut seen: HashSet<String> = HashSet::new();
        // Newest first: the name now of a path that was renamed later.
        let mut renamed: HashMap<String, String> = HashMap::new();
        for part in log.split(MARK).skip(1) {
            let mut fields = part.split('\0');
            let mut next = || fields.next().unwrap_or_default().trim_start_matches('\n');
            let commit = Commit {
                hash: next().to_owned(),
                date: next().to_owned(),
                subject: next().to_owned(),
            };
            let number = history.commits.len();
            history.commits.push(commit);
            loop {
                let status = next();
                match status.as_bytes().first() {
                    None => break,
                    Some(b'R') => {
                        let (from, to) = (next().to_owned(), next().to_owned());
                        history.add_changed(&tracked, &to, number);
                        let now = renamed.get(&to).cloned().unwrap_or(to);
                        if !tracked.contains(from.as_str()) && seen.insert(from.clone()) {
                            let now_there = tracked.contains(now.as_str()).then(|| now.clone());
                            history.add_gone(&from, number, now_there);
                        }
                        renamed.entry(from).or_insert(now);
                    }
                    Some(b'C') => {
                        next();
                        history.add_changed(&tracked, next(), number);
                    }
                    Some(b'D') => {
                        let path = next().to_owned();
                        if !tracked.contains(path.as_str()) && seen.insert(path.clone()) {
                            history.add_gone(&path, number, None);
                        }
                    }
                    Some(_) => history.add_changed(&tracked, next(), number),
                }
            }
        }
        history
    }

    /// Notes a change of a tracked file; the first that is seen is the newest.
    fn add_changed(&mut self, tracked: &HashSet<&str>, path: &str, commit: usize) {
        if tracked.contains(path) {
            self.changed.entry(path.to_owned()).or_insert(commit);
        }
    }

    fn add_gone(&mut self, path: &str, commit: usize, now: Option<String>) {
        let gone = GonePath {
            path: path.to_owned(),
            commit,
            now,
        };
        for folder in folders_of(path) {
            if !self.live_folders.contains(folder) {
                let all = self.gone_folders.entry(name_of(folder).to_owned());
                let all = all.or_default();
                // The first that is seen is the newest.
                if !all.iter().any(|known| known.path == folder) {
                    all.push(GonePath {
                        path: folder.to_owned(),
                        commit,
                        now: None,
                    });
                }
            }
        }
        let name = name_of(path).to_owned();
        self.gone.entry(name).or_default().push(gone);
    }

    /// The commit with this number.
    pub fn commit(&self, number: usize) -> &Commit {
        &self.commits[number]
    }

    /// The commits, newest first.
    pub fn commits(&self) -> &[Commit] {
        &self.commits
    }

    /// Whether git tracks a file with this path.
    pub fn tracks(&self, path: &str) -> bool {
        self.changed.contains_key(path)
    }

    /// The commit that changed a tracked file last.
    pub fn changed(&self, path: &str) -> Option<&Commit> {
        Some(&self.commits[*self.changed.get(path)?])
    }

    /// Whether a tracked file or folder has this path, or ends with it.
    pub fn has(&self, path: &str) -> bool {
        let named = self.live.get(name_of(path));
        named.is_some_and(|all| all.iter().any(|live| ends_with_path(live, path)))
            || self.live_folders.contains(path)
            || path.contains('/')
                && self
                    .live_folders
                    .iter()
                    .any(|folder| ends_with_path(folder, path))
    }

    /// The newest path that the project had, has no longer, and that is or ends with `path`.
    pub fn gone(&self, path: &str) -> Option<&GonePath> {
        let files = self.gone.get(name_of(path)).into_iter().flatten();
        let folders = self.gone_folders.get(name_of(path)).into_iter().flatten();
        let folders = folders.filter(|_| path.contains('/'));
        files
            .chain(folders)
            .filter(|gone| ends_with_path(&gone.path, path))
            .min_by_key(|gone| gone.commit)
    }
}

/// The folders of a project in which its memories are kept.
const IN_PROJECT: [&str; 6] = [".memory", "memory", "data", ".claude", ".codex", ".ai"];

/// The root of the project that the memories of a store are about: the one that contains the
/// store, or the current one where the store is kept elsewhere for it. `None` where the memories
/// are about no project, or about an unknown one.
pub fn project_of(
    store: &Store,
    environment: &Environment,
    here: Option<&Path>,
) -> Option<PathBuf> {
    let root = store.root().path();
    for above in root.ancestors() {
        if above == environment.home || !above.join(".git").exists() {
            continue;
        }
        let below = root.strip_prefix(above).ok()?;
        let first = below.components().next();
        let is_in_place = first.is_none_or(|first| {
            let first = first.as_os_str();
            IN_PROJECT.iter().any(|place| first == *place)
        });
        if is_in_place || Some(above) == here {
            return Some(above.to_owned());
        }
    }
    let here = here?;
    let is_below = |place: &Path| real_path(place) != here && root.starts_with(real_path(place));
    if is_below(&environment.claude.join("projects")) {
        let slugs = [claude_slug(here), claude_slug(&environment.cwd)];
        let is_here = |part: &std::ffi::OsStr| slugs.iter().any(|slug| part == slug.as_str());
        return root.iter().any(is_here).then(|| here.to_owned());
    }
    let is_general = store.layout() == Layout::Coder
        || store.layout() == Layout::Instructions
        || is_below(&environment.codex)
        || is_below(&environment.claude)
        || is_below(&environment.gemini);
    (!is_general).then(|| here.to_owned())
}

/// Whether `path` is `end`, or ends with it after a `/`.
fn ends_with_path(path: &str, end: &str) -> bool {
    path.strip_suffix(end)
        .is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The folders above a path, innermost first.
fn folders_of(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(path.rsplit_once('/'), |(folder, _)| folder.rsplit_once('/'))
        .map(|(folder, _)| folder)
}

/// A call of git that runs no other program, asks nobody and writes nothing.
fn command(git: &Path, root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(git);
    command
        .arg("-C")
        .arg(root)
        .args(SAFE)
        .args(args)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// The output of git; `None` if it fails.
pub(crate) fn run(git: &Path, root: &Path, args: &[&str]) -> Option<String> {
    let output = command(git, root, args).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// The commit of a work tree, and the file that lists what git tracks in it.
pub(super) fn head_of(git: &Path, root: &Path) -> Option<(String, PathBuf)> {
    let told = run(git, root, &["rev-parse", "HEAD", "--git-path", "index"])?;
    let mut lines = told.lines();
    let (head, index) = (lines.next()?, lines.next()?);
    Some((head.to_owned(), root.join(index)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gone_paths_have_their_newest_commit_and_their_name_now() {
        let log = "\u{1}c4\x002026-04-01\0again\0R090\0src/b.rs\0src/c.rs\0D\0lib/x.sh\0\
            \u{1}c3\x002026-03-01\0back\0\nA\0lib/x.sh\0D\0live.md\0\
            \u{1}c2\x002026-02-01\0rename\0\nR100\0a.rs\0src/b.rs\0D\0lib/x.sh\0\
            \u{1}c1\x002026-01-01\0first\0\nA\0a.rs\0A\0lib/x.sh\0";
        let history = ProjectHistory::parse("src/c.rs\0live.md\0", log);
        let told = |path: &str| {
            let gone = history.gone(path)?;
            let hash = history.commit(gone.commit).hash.clone();
            Some((hash, gone.now.clone()))
        };
        assert_eq!(told("lib/x.sh"), Some(("c4".into(), None)));
        assert_eq!(told("x.sh"), Some(("c4".into(), None)));
        assert_eq!(told("a.rs"), Some(("c2".into(), Some("src/c.rs".into()))));
        assert_eq!(told("other/x.sh"), None);
        assert_eq!(told("live.md"), None);
        assert!(history.has("live.md") && history.has("c.rs") && history.has("src"));
        assert!(!history.has("lib/x.sh"));
        assert_eq!(history.commits().len(), 4);
    }
}
