//! The git history of a project: which files it has, and which it had, with the commit in which
//! each went and the name that it has now.
//!
//! Git is read with the `git` program that the caller gives, in a few calls. A project's own git
//! settings can name programs to run; every setting that these calls would follow is switched off.
//! What is read and held is bounded; the oldest commits are left out first.

mod bounds;
mod program;
mod reader;
pub mod removed;
mod saved;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::core::disk::sandbox::Root;
use crate::core::disk::trust::real_path;
use crate::core::memory::discover::{Environment, claude_slug, copilot_project, project_folders};
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::core::text::file_name;
use crate::core::text::header::slug;
pub use bounds::Cut;
pub(crate) use bounds::Limits;
use bounds::{Budget, PathEnds};
pub use program::Git;
pub(crate) use program::{GitCall, GitFailure, Room};
use reader::LogReader;
use removed::LostDefinition;
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
    git: Option<Git>,
    /// What was too much to be read.
    cut: Option<Cut>,
    commits: Vec<Commit>,
    /// The tracked files.
    live: PathEnds,
    /// The folders of the tracked files.
    live_folders: PathEnds,
    /// The number of the commit that changed each tracked file last.
    changed: HashMap<String, usize>,
    /// The files that are gone, by their names without folders.
    gone: HashMap<String, Vec<GonePath>>,
    /// The folders of which no file is left, by their last names.
    gone_folders: HashMap<String, Vec<GonePath>>,
    /// The tracked files by their names in small letters, once one was looked for; `None` where
    /// several have one.
    by_name: OnceLock<HashMap<String, Option<usize>>>,
    /// The definitions that the newest commits removed, once they were looked for.
    lost: OnceLock<HashMap<String, LostDefinition>>,
}

impl ProjectHistory {
    /// Reads the history of the work tree at `root`. `None` if there is no program, no repository or
    /// no commit; nothing is known if the program does not answer. What `cache` has of it is not read again.
    pub fn read(git: &Git, root: &Path, cache: Option<&Path>) -> Option<Self> {
        Self::read_within(git, root, cache, Limits::default())
    }

    /// Reads a history with other limits.
    fn read_within(git: &Git, root: &Path, cache: Option<&Path>, limits: Limits) -> Option<Self> {
        let read = Self::read_in_time(git, root, cache, limits);
        read.or_else(|| {
            git.lateness(root).map(|_| Self {
                root: root.to_owned(),
                ..Self::unknown(Cut::Late)
            })
        })
    }

    fn read_in_time(git: &Git, root: &Path, cache: Option<&Path>, limits: Limits) -> Option<Self> {
        let (head, _) = head_of(git, root)?;
        let files = git.output(root, &["ls-files", "-z"], limits.read)?;
        let mut history = if files.is_whole {
            let saved = SavedLog::at(cache, root, limits.read);
            let log = saved.updated(git, root, &head)?;
            let mut history = Self::parse(&files.text, &log.text, limits);
            history.cut = history.cut.or((!log.is_whole).then_some(Cut::Log));
            history
        } else {
            Self::unknown(Cut::Files)
        };
        history.root = root.to_owned();
        history.git = Some(git.clone());
        Some(history)
    }

    /// A history of which nothing is known.
    fn unknown(cut: impl Into<Option<Cut>>) -> Self {
        Self {
            root: PathBuf::new(),
            git: None,
            cut: cut.into(),
            commits: Vec::new(),
            live: PathEnds::default(),
            live_folders: PathEnds::default(),
            changed: HashMap::new(),
            gone: HashMap::new(),
            gone_folders: HashMap::new(),
            by_name: OnceLock::new(),
            lost: OnceLock::new(),
        }
    }

    /// Parses the lists of `git ls-files -z` and `git log -z --name-status` as far as the limits
    /// allow.
    pub(super) fn parse(files: &str, log: &str, limits: Limits) -> Self {
        let mut budget = Budget(limits.held);
        let mut tracked: HashSet<&str> = HashSet::new();
        let mut folders: HashSet<&str> = HashSet::new();
        for path in files.split('\0').filter(|path| !path.is_empty()) {
            let mut fits = !tracked.insert(path) || budget.hold(path.len());
            for folder in folders_of(path) {
                // The folders above a known one are known.
                if !fits || !folders.insert(folder) {
                    break;
                }
                fits = budget.hold(folder.len());
            }
            if !fits {
                return Self::unknown(Cut::Files);
            }
        }
        let mut history = Self::unknown(None);
        history.live = PathEnds::new(tracked.iter().copied());
        history.live_folders = PathEnds::new(folders.iter().copied());
        let mut reader = LogReader::new(tracked, folders, budget);
        if reader.read(log, &mut history).is_none() {
            history.cut = Some(Cut::Log);
        }
        history
    }

    /// What of the history was too much to be read.
    pub fn cut(&self) -> Option<Cut> {
        self.cut
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
        self.live.contains(path)
    }

    /// The text of a file of the project, of at most so many bytes. A link that leads out of the
    /// project is not followed, and a missing file is empty.
    pub fn text_of(&self, path: &str, most: u64) -> Option<String> {
        let bytes = Root::open(&self.root).ok()?.read(path).ok()?;
        let bytes = bytes.unwrap_or_default();
        let text = String::from_utf8(bytes).ok()?;
        (text.len() as u64 <= most).then_some(text)
    }

    /// The commit that changed a tracked file last.
    pub fn changed(&self, path: &str) -> Option<&Commit> {
        Some(&self.commits[*self.changed.get(path)?])
    }

    /// Whether a tracked file or folder has this path, or ends with it.
    pub fn has(&self, path: &str) -> bool {
        self.live.has_end(path)
            || self.live_folders.contains(path)
            || path.contains('/') && self.live_folders.has_end(path)
    }

    /// The tracked files that show by example what a file with secrets holds.
    pub fn examples(&self) -> impl Iterator<Item = &str> {
        let ends = ["example", "sample", "template", "dist"];
        self.live.iter().filter(move |path| {
            let name = file_name(path);
            name.split('.').any(|part| ends.contains(&part)) && name.contains("env")
        })
    }

    /// The names of the tracked files that are not in a folder.
    pub fn names_outside(&self, folder: &Path) -> FileNames {
        let others = self.live.iter();
        let others = others.filter(|path| !Path::new(path).starts_with(folder));
        let name = |path| slug(file_name(path).split('.').next().unwrap_or_default());
        let mut names: Vec<String> = others.map(name).collect();
        names.sort_unstable();
        FileNames(names)
    }

    /// The only tracked file with this name, in capitals or not.
    pub fn only_file_named(&self, name: &str) -> Option<&str> {
        let by_name = self.by_name.get_or_init(|| {
            let mut by_name = HashMap::new();
            for (number, path) in self.live.iter().enumerate() {
                let known = by_name.entry(file_name(path).to_ascii_lowercase());
                known.and_modify(|one| *one = None).or_insert(Some(number));
            }
            by_name
        });
        let number = by_name.get(&name.to_ascii_lowercase()).copied().flatten()?;
        self.live.iter().nth(number)
    }

    /// In how many folders the project had a file of this name that is gone.
    pub fn gone_folders_of(&self, name: &str) -> usize {
        self.gone.get(name).map_or(0, Vec::len)
    }

    /// Whether a file of this name is made from a tracked one: `extract.js` from `extract.ts`.
    pub fn is_built(&self, name: &str) -> bool {
        let Some((stem, end)) = name.rsplit_once('.') else {
            return false;
        };
        let sources: &[&str] = match end {
            "js" | "mjs" | "cjs" => &["ts", "tsx", "mts", "cts", "jsx", "coffee"],
            "css" => &["scss", "sass", "less", "styl"],
            "class" | "jar" => &["java", "kt", "scala"],
            _ => &[],
        };
        sources
            .iter()
            .any(|source| self.live.has_end(&format!("{stem}.{source}")))
    }

    /// Which of these paths git ignores.
    pub fn ignored(&self, paths: &BTreeSet<&str>) -> HashSet<String> {
        let mut found = HashSet::new();
        let Some(git) = &self.git else {
            return found;
        };
        // Git does not know that a path which is gone was a folder.
        let folders: Vec<String> = paths.iter().map(|path| format!("{path}/")).collect();
        let folders = folders.iter().map(String::as_str);
        let paths: Vec<&str> = paths.iter().copied().chain(folders).collect();
        for some in paths.chunks(PATHS_OF_A_CALL) {
            let args = [&["check-ignore", "--no-index", "--"], some].concat();
            // It fails where it finds none.
            let told = git.run(&self.root, &args).unwrap_or_default();
            found.extend(
                told.lines()
                    .map(|path| path.trim_end_matches('/').to_owned()),
            );
        }
        found
    }

    /// When these names were written into these files, as far as git knows: the numbers of commits, by
    /// the file and the number of the name.
    pub fn written_names(
        &self,
        files: &BTreeSet<String>,
        names: &[&str],
    ) -> HashMap<(String, usize), usize> {
        let Some(git) = self.git.as_ref().filter(|_| !files.is_empty()) else {
            return HashMap::new();
        };
        let numbers: HashMap<&str, usize> = self
            .commits
            .iter()
            .enumerate()
            .map(|(number, commit)| (commit.hash.as_str(), number))
            .collect();
        let written = removed::written_names(git, &self.root, files, names).into_iter();
        let known = written.filter_map(|(key, hash)| Some((key, *numbers.get(hash.as_str())?)));
        known.collect()
    }

    /// The newest path that the project had, has no longer, and that is or ends with `path`.
    pub fn gone(&self, path: &str) -> Option<&GonePath> {
        let files = self.gone.get(file_name(path)).into_iter().flatten();
        let folders = self.gone_folders.get(file_name(path)).into_iter().flatten();
        let folders = folders.filter(|_| path.contains('/'));
        files
            .chain(folders)
            .filter(|gone| ends_with_path(&gone.path, path))
            .min_by_key(|gone| gone.commit)
    }
}

/// The names of files without their endings, sorted.
#[derive(Debug)]
pub struct FileNames(Vec<String>);

impl FileNames {
    /// Whether one begins with these words, as `adr-0022-reporting.md` with `ADR-0022`.
    pub fn has_start(&self, words: &str) -> bool {
        let words = slug(words);
        let first_from = |start: &str| {
            let at = self.0.partition_point(|name| name.as_str() < start);
            self.0.get(at)
        };
        let longer = format!("{words}-");
        first_from(&words) == Some(&words)
            || first_from(&longer).is_some_and(|name| name.starts_with(&longer))
    }
}

/// How many paths are given to one call of git.
const PATHS_OF_A_CALL: usize = 256;

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
    // A folder of each project, named for it.
    let claude = std::iter::once(&environment.claude);
    let mut projects = claude
        .chain(&environment.qwen)
        .map(|home| home.join("projects"));
    if projects.any(|projects| is_below(&projects)) {
        let slugs = [claude_slug(here), claude_slug(&environment.cwd)];
        let is_here = |part: &std::ffi::OsStr| slugs.iter().any(|slug| part == slug.as_str());
        return root.iter().any(is_here).then(|| here.to_owned());
    }
    if let Some(project) = copilot_project(root) {
        let is_here = project_folders(&environment.cwd).contains(&project);
        return is_here.then(|| here.to_owned());
    }
    // What an agent keeps for all projects, or for an unknown one.
    let editors = environment.editors.iter();
    let mut of_editors = editors
        .flat_map(|user| ["globalStorage", "workspaceStorage"].map(|storage| user.join(storage)));
    let is_general = matches!(store.layout(), Layout::Coder | Layout::Instructions)
        || [&environment.codex, &environment.claude, &environment.gemini]
            .into_iter()
            .chain(&environment.qwen)
            .chain(&environment.hermes)
            .chain(&environment.letta)
            .chain(environment.claude_stores.iter().map(|store| &store.root))
            .any(|home| is_below(home))
        || environment.is_of_openclaw(root)
        || of_editors.any(|storage| is_below(&storage));
    (!is_general).then(|| here.to_owned())
}

/// Whether `path` is `end`, or ends with it after a `/`.
fn ends_with_path(path: &str, end: &str) -> bool {
    path.strip_suffix(end)
        .is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// The folders above a path, innermost first.
fn folders_of(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(path.rsplit_once('/'), |(folder, _)| folder.rsplit_once('/'))
        .map(|(folder, _)| folder)
}

/// The commit of a work tree, and the file that lists what git tracks in it.
pub(super) fn head_of(git: &Git, root: &Path) -> Option<(String, PathBuf)> {
    let told = git.run(root, &["rev-parse", "HEAD", "--git-path", "index"])?;
    let mut lines = told.lines();
    let (head, index) = (lines.next()?, lines.next()?);
    Some((head.to_owned(), root.join(index)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::reader::MOST_OF_A_NAME;
    use super::*;
    use crate::core::disk::trust::program_in;

    #[test]
    fn gone_paths_have_their_newest_commit_and_their_name_now() {
        let log = "\u{1}c4\x002026-04-01\0again\0R090\0src/b.rs\0src/c.rs\0D\0lib/x.sh\0\
            \u{1}c3\x002026-03-01\0back\0\nA\0lib/x.sh\0D\0live.md\0\
            \u{1}c2\x002026-02-01\0rename\0\nR100\0a.rs\0src/b.rs\0D\0lib/x.sh\0\
            \u{1}c1\x002026-01-01\0first\0\nA\0a.rs\0A\0lib/x.sh\0";
        let history = ProjectHistory::parse("src/c.rs\0live.md\0", log, Limits::default());
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

    proptest! {
        #[test]
        fn no_lists_of_git_cause_a_panic(
            files in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..20),
            log in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60),
        ) {
            let log = log.concat();
            let history = ProjectHistory::parse(&files.concat(), &log, Limits::default());
            for path in log.split('\0') {
                std::hint::black_box((history.gone(path), history.has(path), history.changed(path)));
            }
        }
    }

    const PIECES: [&str; 16] = [
        "\0",
        "\0",
        "\u{1}",
        "\n",
        "A\0",
        "D\0",
        "R100\0",
        "C75\0",
        "c1\0",
        "2026-01-01\0",
        "src/",
        "a.md",
        "lib/kit.sh\0",
        "/",
        "é",
        "\u{1}c2\x002026-05-01\0rename\0\nR100\0a\0b\0",
    ];

    /// The program, which the tests of a repository need.
    fn program() -> Git {
        let path = std::env::var_os("PATH").expect("a path");
        let found = program_in(std::env::split_paths(&path), "git", None);
        Git::at(found.expect("git is installed"))
    }

    /// A repository whose first commit adds `gone` paths, which the second removes, and whose third
    /// adds `live` paths.
    fn repository(git: &Git, gone: usize, live: usize) -> tempfile::TempDir {
        use std::io::Write as _;
        use std::process::Stdio;
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path();
        let init = git.command(root, &["init", "-q"]).status();
        assert!(init.expect("git runs").success());
        let mut import = git
            .command(root, &["fast-import", "--quiet"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("git runs");
        let mut text = "blob\nmark :1\ndata 0\n".to_owned();
        let mut commit = |time: usize, changes: &str| {
            text.push_str(&format!(
                "commit refs/heads/m\ncommitter k <k> {time} +0000\ndata 1\nm\n{changes}"
            ));
        };
        let add = |name: &str, count: usize| -> String {
            let paths = (0..count).map(|n| format!("M 100644 :1 {name}{n}/sub/{name}.txt\n"));
            paths.collect()
        };
        commit(1, &add("old", gone));
        commit(2, "deleteall\n");
        commit(3, &add("new", live));
        let mut input = import.stdin.take().expect("piped");
        input.write_all(text.as_bytes()).expect("read");
        drop(input);
        assert!(import.wait().expect("ends").success());
        for args in [
            &["symbolic-ref", "HEAD", "refs/heads/m"][..],
            &["read-tree", "HEAD"],
        ] {
            let done = git.command(root, args).status();
            assert!(done.expect("git runs").success());
        }
        dir
    }

    /// The bytes of all paths and commits that are held.
    fn held(history: &ProjectHistory) -> usize {
        let live = history.live.iter().chain(history.live_folders.iter());
        let gone = [&history.gone, &history.gone_folders];
        let gone = gone
            .into_iter()
            .flatten()
            .map(|(name, all)| name.len() + all.iter().map(|gone| gone.path.len()).sum::<usize>());
        let changed = history.changed.keys().map(String::len);
        let commits = history.commits.iter();
        live.map(str::len).sum::<usize>()
            + gone.chain(changed).sum::<usize>()
            + commits
                .map(|c| c.hash.len() + c.subject.len())
                .sum::<usize>()
    }

    #[test]
    fn a_history_of_any_size_is_read_and_held_up_to_the_limits() {
        let git = program();
        let limits = Limits {
            read: 100_000,
            held: 100_000,
        };
        let cache = tempfile::tempdir().expect("a temporary directory");
        let read = |dir: &tempfile::TempDir, limits| {
            let cache = Some(cache.path());
            ProjectHistory::read_within(&git, dir.path(), cache, limits).expect("a history")
        };
        let saved = || {
            let files = std::fs::read_dir(cache.path()).expect("listed").flatten();
            files
                .map(|file| file.metadata().expect("there").len())
                .max()
        };
        let small = read(&repository(&git, 100, 10), limits);
        assert_eq!(small.cut(), None);
        assert!(small.gone("old99/sub/old.txt").is_some() && small.has("new9/sub/new.txt"));
        for gone in [1000, 4000] {
            let dir = repository(&git, gone, 10);
            // The second time from the cache.
            for _ in 0..2 {
                let history = read(&dir, limits);
                assert_eq!(history.cut(), Some(Cut::Log));
                assert!(held(&history) <= limits.held, "{}", held(&history));
                assert!(saved() <= Some(limits.read as u64 + 256), "{:?}", saved());
                assert!(history.tracks("new9/sub/new.txt"));
                assert!(history.gone("old0/sub/old.txt").is_some());
                assert!(!history.gone.values().any(|all| all.len() > MOST_OF_A_NAME));
            }
            assert_eq!(read(&dir, Limits::default()).cut(), None);
        }
        // Nothing is gone for certain where the tracked files are not all known.
        for (read_most, held_most) in [(limits.read, usize::MAX), (1 << 20, limits.held)] {
            let limits = Limits {
                read: read_most,
                held: held_most,
            };
            let history = read(&repository(&git, 10, 8000), limits);
            assert_eq!((history.cut(), held(&history)), (Some(Cut::Files), 0));
        }
    }

    #[test]
    fn a_git_that_never_answers_is_ended_and_told_of() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        use std::time::Duration;
        let places = [
            ".git/HEAD",
            ".git/config",
            ".git/shallow",
            ".git/packed-refs",
            ".git/refs/heads/m",
            ".git/index",
            ".git/objects/info/alternates",
            ".git/info/grafts",
            ".gitattributes",
            ".mailmap",
        ];
        let wanted = BTreeSet::from(["gone_name".to_owned()]);
        let mut told = 0;
        for place in places {
            let git = program().with_limit(Duration::from_millis(300));
            let dir = repository(&git, 3, 3);
            let pipe = dir.path().join(place);
            if let Some(folder) = pipe.parent() {
                std::fs::create_dir_all(folder).expect("a folder");
            }
            // Some of them are there.
            drop(std::fs::remove_file(&pipe));
            mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
            let history = ProjectHistory::read(&git, dir.path(), None);
            removed::lost_definitions(&git, dir.path(), &wanted);
            let lateness = git.lateness(dir.path());
            assert!(git.lateness(Path::new("/elsewhere")).is_none());
            if let Some(why) = lateness {
                told += 1;
                assert!(why.contains("git did not answer for 0.3 s"), "{why}");
                assert!(
                    history.is_none_or(|history| history.gone("x").is_none()),
                    "{place}"
                );
                assert!(
                    git.run(dir.path(), &["rev-parse", "HEAD"]).is_none(),
                    "{place}"
                );
            }
        }
        assert!(told > 2, "{told}");
    }

    #[test]
    fn a_git_that_sleeps_or_prints_for_ever_is_told_as_what_it_is() {
        use std::os::unix::fs::PermissionsExt as _;
        use std::time::{Duration, Instant};
        for (script, told) in [
            ("exec sleep 600", "git did not answer for 0.3 s"),
            ("exec yes", "git printed without an end"),
            (
                "while :; do echo x; sleep 0.05; done",
                "git printed without an end",
            ),
        ] {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let path = dir.path().join("git");
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, executable).expect("executable");
            let git = Git::at(&path).with_limit(Duration::from_millis(300));
            let since = Instant::now();
            assert!(ProjectHistory::read(&git, dir.path(), None).is_some());
            let why = git.lateness(dir.path()).expect("it is told");
            assert!(why.contains(told), "{script}: {why}");
            assert!(since.elapsed() < Duration::from_secs(8), "{script}");
        }
    }

    #[test]
    fn settings_of_a_project_make_git_read_nothing_without_end() {
        let git = program();
        let dir = repository(&git, 3, 3);
        for setting in ["diff.orderFile=/dev/zero", "core.attributesFile=/dev/zero"] {
            let (name, value) = setting.split_once('=').expect("a value");
            let set = git.command(dir.path(), &["config", name, value]).status();
            assert!(set.expect("git runs").success());
        }
        let history = ProjectHistory::read(&git, dir.path(), None).expect("a history");
        assert!(history.gone("old0/sub/old.txt").is_some());
        assert_eq!(git.lateness(dir.path()), None);
    }
}
