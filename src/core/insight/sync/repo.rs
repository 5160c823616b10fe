//! The clone: a bare repository in tome's data directory, worked on with git's plumbing alone.
//!
//! There is never a work tree, so that nothing of the remote is ever checked out: its links, hooks,
//! filters, attributes and submodules are names in a list. What is read are blobs by their hashes,
//! what is written are a commit on top of what was fetched and refs of tome's own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::core::change::history::History;
use crate::core::disk::private;
use crate::core::insight::curate::git::{Git, GitCall, GitFailure};

/// How long a call may take that reaches a remote, and one that does not.
const REMOTE: Duration = Duration::from_secs(120);
const LOCAL: Duration = Duration::from_secs(60);

/// The most that a list of files may take: 500,000 names.
const LONGEST_LIST: usize = 64 << 20;

/// The most that the contents of files may take in one sync.
const MOST_CONTENT: usize = 512 << 20;

/// The largest file that is taken in.
pub(super) const LARGEST_FILE: usize = 1 << 20;

/// Why something could not be done, in a line.
pub(super) type Told<T> = Result<T, String>;

/// The refs of tome's own: what this machine agreed on, the commit that was seen last, and the
/// commits that are made.
pub(super) const BASE: &str = "refs/tome/base";
pub(super) const SEEN: &str = "refs/tome/seen";
const NEXT: &str = "refs/tome/next";
const NEXT_BASE: &str = "refs/tome/next-base";

/// What a push came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    Done,
    /// Another machine was first.
    Behind,
}

/// The clone.
#[derive(Debug)]
pub(super) struct Repo<'a> {
    git: &'a Git,
    dir: PathBuf,
    /// Is told of every step.
    history: &'a History,
}

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub(super) mode: String,
    pub(super) id: String,
    pub(super) path: String,
}

/// What becomes of a file in a new commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileOp {
    /// It has this content.
    Write(Vec<u8>),
    /// It has the content of this blob.
    Blob(String),
    Remove,
}

/// A commit to make.
pub(super) struct NewCommit<'a> {
    pub(super) machine: &'a str,
    /// Seconds since 1970.
    pub(super) time: i64,
    pub(super) message: &'a str,
    /// The first parent, whose files it starts with.
    pub(super) parent: Option<&'a str>,
    /// Another parent.
    pub(super) also: Option<&'a str>,
    pub(super) ops: &'a [(String, FileOp)],
}

impl<'a> Repo<'a> {
    pub(super) fn at(git: &'a Git, dir: PathBuf, history: &'a History) -> Self {
        Self { git, dir, history }
    }

    pub(super) fn exists(&self) -> bool {
        self.dir.join("HEAD").is_file()
    }

    /// Makes the clone, without anything in it.
    pub(super) fn create(&self) -> Told<()> {
        let above = self.dir.parent().unwrap_or(&self.dir);
        private::create_dir(above).map_err(|e| e.to_string())?;
        private::create_dir(&self.dir).map_err(|e| e.to_string())?;
        self.local(&["init", "--quiet", "--bare", "--template=", "."], b"")?;
        Ok(())
    }

    /// Makes an empty bare repository at a path, for others to push to.
    pub(super) fn create_remote(&self, path: &str) -> Told<()> {
        let args = [
            "init",
            "--quiet",
            "--bare",
            "--template=",
            "--initial-branch=main",
            path,
        ];
        let call = GitCall {
            args: &args,
            input: b"",
            limit: LOCAL,
            most: LONGEST_LIST,
        };
        self.git
            .call(&self.dir, &call)
            .map(drop)
            .map_err(|failure| failure.why)
    }

    fn call(&self, args: &[&str], input: &[u8], limit: Duration) -> Result<Vec<u8>, GitFailure> {
        // Nobody else may read what memories say.
        let args = &[&["-c", "core.sharedRepository=0600"], args].concat();
        let most = MOST_CONTENT;
        self.step(args[2], "")?;
        let answer = self.git.call(
            &self.dir,
            &GitCall {
                args,
                input,
                limit,
                most,
            },
        )?;
        self.step(args[2], ": done")?;
        Ok(answer)
    }

    fn step(&self, verb: &str, done: &str) -> Result<(), GitFailure> {
        let step = self.history.step(&format!("git {verb}{done}"));
        step.map_err(|error| GitFailure {
            why: error.to_string(),
            printed: Vec::new(),
        })
    }

    fn local(&self, args: &[&str], input: &[u8]) -> Told<Vec<u8>> {
        self.call(args, input, LOCAL).map_err(|failure| failure.why)
    }

    /// The branch that a remote calls its own; `None` if it has no commit.
    pub(super) fn remote_branch(&self, url: &str) -> Told<Option<String>> {
        let told = self.call(&["ls-remote", "--symref", "--", url, "HEAD"], b"", REMOTE);
        let told = told.map_err(|failure| failure.why)?;
        let told = String::from_utf8_lossy(&told);
        let named = told
            .lines()
            .find_map(|line| line.strip_prefix("ref: refs/heads/"));
        let name = named.and_then(|line| line.split('\t').next());
        Ok(name.filter(|name| is_branch(name)).map(str::to_owned))
    }

    /// Fetches the branches of a remote.
    pub(super) fn fetch(&self, url: &str) -> Told<()> {
        let args = [
            "fetch",
            "--quiet",
            "--prune",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--",
            url,
            "+refs/heads/*:refs/remotes/tome/*",
        ];
        self.call(&args, b"", REMOTE)
            .map(drop)
            .map_err(|failure| failure.why)
    }

    /// The commits of the refs of tome's own and of the remote's branches.
    pub(super) fn refs(&self) -> Told<HashMap<String, String>> {
        let args = [
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            "refs/tome",
            "refs/remotes/tome",
        ];
        let told = self.local(&args, b"")?;
        let told = String::from_utf8_lossy(&told);
        let lines = told.lines().filter_map(|line| line.split_once(' '));
        Ok(lines
            .map(|(name, id)| (name.to_owned(), id.to_owned()))
            .collect())
    }

    /// The commit of a ref.
    fn commit(&self, name: &str) -> Option<String> {
        let name = format!("{name}^{{commit}}");
        let told = self
            .local(&["rev-parse", "--verify", "--quiet", &name], b"")
            .ok()?;
        let id = String::from_utf8(told).ok()?.trim().to_owned();
        (!id.is_empty()).then_some(id)
    }

    pub(super) fn tree_of(&self, commit: &str) -> Option<String> {
        let told = self.local(
            &[
                "rev-parse",
                "--verify",
                "--quiet",
                &format!("{commit}^{{tree}}"),
            ],
            b"",
        );
        Some(String::from_utf8(told.ok()?).ok()?.trim().to_owned())
    }

    /// Whether two commits have a common one.
    pub(super) fn are_related(&self, one: &str, other: &str) -> bool {
        one == other || self.local(&["merge-base", one, other], b"").is_ok()
    }

    /// The files of a commit.
    pub(super) fn files(&self, commit: &str) -> Told<Vec<TreeEntry>> {
        let args = ["ls-tree", "-r", "-z", "--full-tree", commit];
        let call = GitCall {
            args: &args,
            input: b"",
            limit: LOCAL,
            most: LONGEST_LIST,
        };
        let told = self.git.call(&self.dir, &call);
        let told = told.map_err(|failure| format!("the list of its files: {}", failure.why))?;
        let entry = |line: &[u8]| {
            // Not UTF-8: it is refused by its name.
            let line = String::from_utf8_lossy(line);
            let (head, path) = line.split_once('\t')?;
            let mut head = head.split(' ');
            let (mode, _, id) = (head.next()?, head.next()?, head.next()?);
            Some(TreeEntry {
                mode: mode.to_owned(),
                id: id.to_owned(),
                path: path.to_owned(),
            })
        };
        let lines = told
            .split(|byte| *byte == 0)
            .filter(|line| !line.is_empty());
        lines
            .map(entry)
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| "git's list is not understood".to_owned())
    }

    /// The contents of blobs; those that are too large are left out.
    pub(super) fn contents(&self, ids: &[&str]) -> Told<HashMap<String, Vec<u8>>> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let sizes = self.local(
            &["cat-file", "--batch-check", "--buffer"],
            ids.join("\n").as_bytes(),
        )?;
        let sizes = String::from_utf8_lossy(&sizes);
        let is_small = |line: &&str| {
            let mut words = line.split(' ').skip(1);
            let size = words
                .next()
                .filter(|kind| *kind == "blob")
                .and(words.next());
            size.and_then(|size| size.parse().ok())
                .is_some_and(|size: usize| size <= LARGEST_FILE)
        };
        let small: Vec<&str> = sizes
            .lines()
            .filter(is_small)
            .filter_map(|line| line.split(' ').next())
            .collect();
        let told = self.local(
            &["cat-file", "--batch", "--buffer"],
            small.join("\n").as_bytes(),
        )?;
        let mut found = HashMap::new();
        let mut rest = told.as_slice();
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            let mut words = head.split(' ');
            let (id, size) = (words.next().unwrap_or_default(), words.nth(1));
            let Some(size) = size.and_then(|size| size.parse::<usize>().ok()) else {
                return Err(format!("{id} is missing in the clone"));
            };
            let Some(bytes) = rest.get(end + 1..end + 1 + size) else {
                return Err("git's answer was cut".to_owned());
            };
            found.insert(id.to_owned(), bytes.to_vec());
            rest = rest.get(end + 2 + size..).unwrap_or_default();
        }
        Ok(found)
    }

    /// The last commit that changed each file between two commits: hash, author and time in
    /// milliseconds since 1970.
    pub(super) fn authors(&self, from: Option<&str>, to: &str) -> HashMap<String, Authored> {
        let range = from.map_or_else(|| to.to_owned(), |from| format!("{from}..{to}"));
        let args = [
            "log",
            "-z",
            "-m",
            "--first-parent",
            "--no-renames",
            "--name-only",
            "--max-count=2000",
            "--format=%x01%H%x00%an%x00%ct",
            &range,
            "--",
        ];
        let Ok(told) = self.local(&args, b"") else {
            return HashMap::new();
        };
        let told = String::from_utf8_lossy(&told);
        let mut found: HashMap<String, Authored> = HashMap::new();
        for commit in told.split('\u{1}').filter(|part| !part.is_empty()) {
            let mut parts = commit.split('\0');
            let (Some(id), Some(who), Some(time)) = (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            let mut time = time.splitn(2, '\n');
            let seconds = time
                .next()
                .and_then(|time| time.trim().parse().ok())
                .unwrap_or(0_i64);
            let authored = Authored {
                commit: id.to_owned(),
                machine: who.chars().filter(|c| !c.is_control()).take(60).collect(),
                time: seconds.saturating_mul(1000),
            };
            let first = time.next();
            for path in first.into_iter().chain(parts) {
                let path = path.trim_start_matches('\n');
                found
                    .entry(path.to_owned())
                    .or_insert_with(|| authored.clone());
            }
        }
        found
    }

    /// Makes a commit, and one of what is agreed on then. Returns both.
    pub(super) fn write(
        &self,
        commit: Option<&NewCommit<'_>>,
        base: Option<&NewCommit<'_>>,
    ) -> Told<(Option<String>, Option<String>)> {
        let mut stream = Vec::new();
        let whole = [(NEXT, commit), (NEXT_BASE, base)];
        for (name, commit) in whole {
            if let Some(commit) = commit {
                commit.print(name, &mut stream);
            }
        }
        stream.extend(b"done\n");
        self.local(&["fast-import", "--quiet", "--force", "--done"], &stream)?;
        let made = |name: &str, is_made: bool| is_made.then(|| self.commit(name)).flatten();
        Ok((
            made(NEXT, commit.is_some()),
            made(NEXT_BASE, base.is_some()),
        ))
    }

    /// Pushes a commit, if the branch of the remote is one of its ancestors.
    pub(super) fn push(&self, url: &str, commit: &str, branch: &str) -> Told<Pushed> {
        let to = format!("{commit}:refs/heads/{branch}");
        let args = [
            "push",
            "--porcelain",
            "--no-verify",
            "--no-signed",
            "--",
            url,
            &to,
        ];
        match self.call(&args, b"", REMOTE) {
            Ok(_) => Ok(Pushed::Done),
            Err(failure) => {
                let told = String::from_utf8_lossy(&failure.printed).into_owned();
                let refusal = told.lines().find(|line| line.starts_with('!'));
                let races = [
                    "[rejected]",
                    "failed to update ref",
                    "cannot lock ref",
                    "fetch first",
                ];
                match refusal {
                    Some(line) if races.iter().any(|race| line.contains(race)) => {
                        Ok(Pushed::Behind)
                    }
                    Some(line) => Err(line.split('\t').next_back().unwrap_or(line).to_owned()),
                    None => Err(failure.why),
                }
            }
        }
    }

    /// Sets refs of tome's own, all or none; each must still have its old value.
    pub(super) fn set_refs(&self, refs: &[(&str, &str, Option<&str>)]) -> Told<()> {
        let mut input = String::from("start\n");
        for (name, new, old) in refs {
            let old = old.map_or_else(|| "0".repeat(new.len()), str::to_owned);
            input.push_str(&format!("update {name} {new} {old}\n"));
        }
        input.push_str("prepare\ncommit\n");
        self.local(&["update-ref", "--stdin"], input.as_bytes())
            .map(drop)
    }

    /// Forgets everything that was agreed on and seen.
    pub(super) fn forget(&self) -> Told<()> {
        let refs = self.refs()?;
        let lines: String = refs.keys().map(|name| format!("delete {name}\n")).collect();
        self.local(&["update-ref", "--stdin"], lines.as_bytes())
            .map(drop)
    }

    /// Packs what many syncs left, if that is much.
    pub(super) fn tidy(&self) {
        let loose = self.dir.join("objects/17");
        let count = std::fs::read_dir(loose).map_or(0, Iterator::count);
        if count > LOOSE_OF_A_FOLDER {
            // The next sync tries again.
            drop(self.local(&["gc", "--quiet", "--prune=2.weeks.ago"], b""));
        }
    }
}

/// How many loose objects one of their 256 folders has when they are packed.
const LOOSE_OF_A_FOLDER: usize = 40;

/// Who changed a file last.
#[derive(Debug, Clone)]
pub(super) struct Authored {
    pub(super) commit: String,
    pub(super) machine: String,
    pub(super) time: i64,
}

/// The ref that has the branch of the remote.
pub(super) fn remote_ref(branch: &str) -> String {
    format!("refs/remotes/tome/{branch}")
}

/// Whether a name of a branch is plain enough to be used.
pub(super) fn is_branch(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    !name.is_empty()
        && name.len() < 100
        && name.chars().all(is_plain)
        && !name.starts_with(['-', '.', '/'])
        && !name.contains("..")
        && !name.contains("//")
        && !name.ends_with(['/', '.'])
}

impl NewCommit<'_> {
    /// Prints it for `git fast-import`. The paths are checked ones, which need no quotes.
    fn print(&self, name: &str, out: &mut Vec<u8>) {
        let mut line = |text: String| out.extend(text.into_bytes());
        let NewCommit {
            machine,
            time,
            message,
            ..
        } = self;
        line(format!(
            "commit {name}\ncommitter {machine} <tome@{machine}> {time} +0000\n"
        ));
        line(format!("data {}\n{message}\n", message.len()));
        if let Some(parent) = self.parent {
            line(format!("from {parent}\n"));
        }
        if let Some(also) = self.also {
            line(format!("merge {also}\n"));
        }
        for (path, op) in self.ops {
            match op {
                FileOp::Remove => out.extend(format!("D {path}\n").into_bytes()),
                FileOp::Blob(id) => out.extend(format!("M 100644 {id} {path}\n").into_bytes()),
                FileOp::Write(bytes) => {
                    out.extend(
                        format!("M 100644 inline {path}\ndata {}\n", bytes.len()).into_bytes(),
                    );
                    out.extend(bytes);
                    out.push(b'\n');
                }
            }
        }
        out.push(b'\n');
    }
}

/// Whether the remote is a folder of this machine that is missing or empty, so that a repository is
/// made there.
pub(super) fn is_new_folder(path: &Path) -> bool {
    match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(e) => e.kind() == std::io::ErrorKind::NotFound,
    }
}
