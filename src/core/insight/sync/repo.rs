//! The clone: a bare repository in tome's data directory, worked on with git's plumbing alone.
//!
//! There is never a work tree, so that nothing of the remote is ever checked out: its links, hooks,
//! filters, attributes and submodules are names in a list. What is read are blobs by their hashes,
//! what is written are a commit on top of what was fetched and refs of tome's own.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::core::change::history::History;
use crate::core::disk::private;
use crate::core::disk::revision::Revision;
use crate::core::insight::curate::git::{Git, GitCall, GitFailure, Room};

/// How long a call may take that reaches a remote and is not silent, and one that does not.
const REMOTE: Duration = Duration::from_secs(600);
const LOCAL: Duration = Duration::from_secs(60);

/// The most that a list of files may take: 500,000 names.
const LONGEST_LIST: usize = 64 << 20;

/// The most that is read of the contents of one store in one sync.
pub(super) const MOST_CONTENT: usize = 256 << 20;

/// The most that a call may print: contents, with the line before each of them.
const MOST_PRINTED: usize = MOST_CONTENT + LONGEST_LIST;

/// The most that a remote may have, with its history, as git packs it.
const MOST_FETCHED: u64 = 1 << 30;

/// The largest file that is taken in.
pub(super) const LARGEST_FILE: usize = 1 << 20;

/// Why something could not be done, in a line.
pub(super) type Told<T> = Result<T, String>;

/// The refs of tome's own: what this machine agreed on, the commit that was seen last, and the
/// commits that are made.
pub(super) const BASE: &str = "refs/tome/base";
pub(super) const SEEN: &str = "refs/tome/seen";
pub(super) const NEXT: &str = "refs/tome/next";
pub(super) const NEXT_BASE: &str = "refs/tome/next-base";

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TreeEntry<'a> {
    pub(super) mode: &'a str,
    pub(super) id: &'a str,
    pub(super) path: &'a str,
}

impl<'a> TreeEntry<'a> {
    /// An entry of git's list.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let (head, path) = line.split_once('\t')?;
        let mut head = head.split(' ');
        let (mode, _, id) = (head.next()?, head.next()?, head.next()?);
        Some(Self { mode, id, path })
    }
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

/// What becomes of files of the repository in a new commit.
pub(super) type Ops = BTreeMap<String, FileOp>;

/// A commit to make.
pub(super) struct NewCommit<'a> {
    /// The ref that keeps it.
    pub(super) name: &'static str,
    pub(super) machine: &'a str,
    /// Seconds since 1970.
    pub(super) time: i64,
    pub(super) message: &'a str,
    /// The first parent, whose files it starts with.
    pub(super) parent: Option<&'a str>,
    /// Another parent.
    pub(super) also: Option<&'a str>,
    pub(super) ops: &'a Ops,
    /// The commits that it is compared with.
    pub(super) beside: Vec<&'a str>,
}

/// A commit that was made.
#[derive(Debug)]
pub(super) struct MadeCommit {
    pub(super) id: String,
    pub(super) tree: String,
    /// The trees of the commits that it is compared with.
    pub(super) beside: Vec<String>,
}

impl MadeCommit {
    /// Whether it has other files than all that it is compared with.
    pub(super) fn is_new(&self) -> bool {
        !self.beside.contains(&self.tree)
    }
}

/// What was written into the clone: commits, and what the new blobs contain.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) commits: Vec<MadeCommit>,
    pub(super) blobs: Vec<(String, Revision)>,
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
        self.local(&args, b"").map(drop)
    }

    /// A call that may print so much, and reaches a remote if it has a room to fill.
    fn call(
        &self,
        args: &[&str],
        input: &[u8],
        most: usize,
        room: Option<Room>,
    ) -> Result<Vec<u8>, GitFailure> {
        let own = [
            // Nobody else may read what memories say.
            "-c",
            "core.sharedRepository=0600",
            // What is written is one pack, without a call that makes files of its objects.
            "-c",
            "fastimport.unpackLimit=1",
        ];
        let failed = |why: String| GitFailure {
            why,
            printed: Vec::new(),
        };
        let verb = args[0];
        self.step(&format!("git {verb}")).map_err(failed)?;
        let call = GitCall {
            args: &[&own, args].concat(),
            input,
            limit: if room.is_some() { REMOTE } else { LOCAL },
            most,
            room,
        };
        let answer = self.git.call(&self.dir, &call)?;
        self.step(&format!("git {verb}: done")).map_err(failed)?;
        Ok(answer)
    }

    /// Tells the history of a step.
    pub(super) fn step(&self, what: &str) -> Told<()> {
        self.history.step(what).map_err(|e| e.to_string())
    }

    /// What a call that reaches a remote may fill.
    fn room(&self) -> Room {
        Room {
            folder: self.dir.join("objects/pack"),
            most: MOST_FETCHED,
        }
    }

    fn at_remote(&self, args: &[&str]) -> Result<Vec<u8>, GitFailure> {
        self.call(args, b"", MOST_PRINTED, Some(self.room()))
    }

    fn local(&self, args: &[&str], input: &[u8]) -> Told<Vec<u8>> {
        let answer = self.call(args, input, MOST_PRINTED, None);
        answer.map_err(|failure| failure.why)
    }

    /// The branch that a remote calls its own; `None` if it has no commit.
    pub(super) fn remote_branch(&self, url: &str) -> Told<Option<String>> {
        let args = ["ls-remote", "--symref", "--", url, "HEAD"];
        let told = self.at_remote(&args).map_err(|failure| failure.why)?;
        let told = String::from_utf8_lossy(&told);
        let named = told
            .lines()
            .find_map(|line| line.strip_prefix("ref: refs/heads/"));
        let name = named.and_then(|line| line.split('\t').next());
        Ok(name.filter(|name| is_branch(name)).map(str::to_owned))
    }

    /// Whether the branch of a remote goes on from something else than what was seen of it.
    pub(super) fn has_other_history(&self, url: &str, branch: &str) -> Told<bool> {
        let Some(seen) = self.refs()?.remove(SEEN) else {
            return Ok(false);
        };
        self.fetch(url, branch)?;
        let there = self.refs()?.remove(&remote_ref(branch));
        Ok(there.is_none_or(|there| !self.are_related(&seen, &there)))
    }

    /// Whether the last commit of a branch of a remote was made or fetched here.
    pub(super) fn knows_branch(&self, url: &str, branch: &str) -> Told<bool> {
        let name = format!("refs/heads/{branch}");
        let told = self.at_remote(&["ls-remote", "--", url, &name]);
        let told = told.map_err(|failure| failure.why)?;
        let told = String::from_utf8_lossy(&told);
        let commit = told.split_whitespace().next().unwrap_or_default();
        Ok(self.local(&["cat-file", "-e", commit], b"").is_ok())
    }

    /// Fetches a branch of a remote, and nothing else of it. A branch that is not there is none here
    /// either.
    pub(super) fn fetch(&self, url: &str, branch: &str) -> Told<()> {
        let room = self.room();
        if let Some(why) = room.excess(room.size()) {
            let clone = self.dir.display();
            return Err(format!(
                "{why} in {clone}; without that directory the next sync starts anew"
            ));
        }
        let tracked = remote_ref(branch);
        let what = format!("+refs/heads/{branch}:{tracked}");
        let args = [
            "fetch",
            "--progress",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--",
            url,
            &what,
        ];
        match self.at_remote(&args) {
            Ok(_) => Ok(()),
            Err(failure) if failure.why.contains("couldn't find remote ref") => {
                self.local(&["update-ref", "-d", &tracked], b"").map(drop)
            }
            Err(failure) => {
                self.remove_leftovers();
                Err(failure.why)
            }
        }
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

    /// Whether two commits have a common one.
    pub(super) fn are_related(&self, one: &str, other: &str) -> bool {
        one == other || self.local(&["merge-base", one, other], b"").is_ok()
    }

    /// The files of a commit: entries that end with a zero.
    pub(super) fn files(&self, commit: &str) -> Told<String> {
        let args = ["ls-tree", "-r", "-z", "--full-tree", commit];
        let told = self.call(&args, b"", LONGEST_LIST, None);
        let told = told.map_err(|failure| format!("the list of its files: {}", failure.why))?;
        // What is not UTF-8 is refused by its name.
        Ok(String::from_utf8_lossy(&told).into_owned())
    }

    /// The blobs of these that are not too large, and how large all of them are.
    pub(super) fn small_ones(&self, ids: &[&str]) -> Told<(Vec<String>, usize)> {
        let sizes = self.local(
            &["cat-file", "--batch-check", "--buffer"],
            ids.join("\n").as_bytes(),
        )?;
        let sizes = String::from_utf8_lossy(&sizes);
        let small = sizes.lines().filter_map(|line| {
            let (id, size) = line.split_once(" blob ")?;
            let size: usize = size.parse().ok()?;
            (size <= LARGEST_FILE).then_some((id.to_owned(), size))
        });
        let (small, sizes): (Vec<String>, Vec<usize>) = small.unzip();
        Ok((small, sizes.into_iter().sum()))
    }

    /// The contents of blobs.
    pub(super) fn contents(&self, ids: &[String]) -> Told<HashMap<String, Vec<u8>>> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let told = self.local(
            &["cat-file", "--batch", "--buffer"],
            ids.join("\n").as_bytes(),
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

    /// The last commit up to this one that changed each file: hash, author and time in milliseconds
    /// since 1970.
    pub(super) fn authors(&self, tip: &str) -> HashMap<String, Authored> {
        let args = [
            "log",
            "-z",
            "-m",
            "--first-parent",
            "--no-renames",
            "--name-only",
            "--max-count=2000",
            "--format=%x01%H%x00%an%x00%ct",
            tip,
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

    /// What a commit changed since its first parent; nothing if it has none.
    pub(super) fn proposed(&self, commit: &str) -> Ops {
        let before = format!("{commit}^1");
        let args = ["diff-tree", "-r", "-z", "--no-renames", &before, commit];
        let told = self.local(&args, b"").unwrap_or_default();
        let told = String::from_utf8_lossy(&told);
        let mut parts = told.split('\0');
        let mut ops = Ops::new();
        // A line is `:MODE MODE HASH HASH STATUS`.
        while let (Some(line), Some(path)) = (parts.next(), parts.next()) {
            let Some(id) = line.split(' ').nth(3) else {
                break;
            };
            let is_gone = id.bytes().all(|digit| digit == b'0');
            let op = match is_gone {
                true => FileOp::Remove,
                false => FileOp::Blob(id.to_owned()),
            };
            ops.insert(path.to_owned(), op);
        }
        ops
    }

    /// Makes commits. What they write is written once.
    pub(super) fn write(&self, commits: &[NewCommit<'_>]) -> Told<Written> {
        let mut stream = Vec::new();
        let mut marks: HashMap<&[u8], usize> = HashMap::new();
        let mut revisions = Vec::new();
        for op in commits.iter().flat_map(|commit| commit.ops.values()) {
            let FileOp::Write(bytes) = op else { continue };
            if !marks.contains_key(bytes.as_slice()) {
                let mark = marks.len() + 1;
                marks.insert(bytes, mark);
                revisions.push(Revision::of(bytes));
                let size = bytes.len();
                stream.extend(format!("blob\nmark :{mark}\ndata {size}\n").into_bytes());
                stream.extend(bytes);
                stream.extend(format!("\nget-mark :{mark}\n").into_bytes());
            }
        }
        for (at, commit) in commits.iter().enumerate() {
            commit.print(&marks, marks.len() + 1 + at, &mut stream);
        }
        stream.extend(b"done\n");
        let told = self.local(&["fast-import", "--quiet", "--force", "--done"], &stream)?;
        let told = String::from_utf8_lossy(&told);
        let mut lines = told.lines();
        // A tree is told as `040000 tree HASH`.
        let mut next = || {
            let hash = lines
                .next()?
                .split(['\t', ' '])
                .find(|word| word.len() >= 40);
            hash.map(str::to_owned)
        };
        let mut written = || {
            let blobs = revisions.iter().map(|revision| Some((next()?, *revision)));
            Some(Written {
                blobs: blobs.collect::<Option<_>>()?,
                commits: commits
                    .iter()
                    .map(|commit| {
                        Some(MadeCommit {
                            id: next()?,
                            tree: next()?,
                            beside: commit
                                .beside
                                .iter()
                                .map(|_| next())
                                .collect::<Option<_>>()?,
                        })
                    })
                    .collect::<Option<_>>()?,
            })
        };
        written().ok_or_else(|| "git's answer is not understood".to_owned())
    }

    /// Pushes a commit onto the one that the branch of the remote is known to have, if it still has it.
    /// It is an ancestor, so that nothing is forced.
    pub(super) fn push(
        &self,
        url: &str,
        commit: &str,
        branch: &str,
        known: Option<&str>,
    ) -> Told<Pushed> {
        let name = format!("refs/heads/{branch}");
        let to = format!("{commit}:{name}");
        let lease = format!("--force-with-lease={name}:{}", known.unwrap_or_default());
        let args = [
            "push",
            "--porcelain",
            "--progress",
            "--no-verify",
            "--no-signed",
            &lease,
            "--",
            url,
            &to,
        ];
        match self.at_remote(&args) {
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

    /// Removes what calls of git that were killed left in the clone: half of a pack, reports, and locks,
    /// which nobody holds, since one sync runs at a time.
    pub(super) fn remove_leftovers(&self) {
        let is_left = |name: &str| {
            let starts = ["tmp_", "fast_import_crash_"];
            name.ends_with(".lock") || starts.iter().any(|start| name.starts_with(start))
        };
        for (folder, depth) in [("", 1), ("refs", 9), ("objects/pack", 1)] {
            let entries = walkdir::WalkDir::new(self.dir.join(folder)).max_depth(depth);
            for entry in entries.into_iter().flatten() {
                if is_left(&entry.file_name().to_string_lossy()) {
                    // One that stays is told by the next call of git.
                    drop(std::fs::remove_file(entry.path()));
                }
            }
        }
    }

    /// Makes one pack of many small ones; the large ones stay.
    pub(super) fn tidy(&self) {
        let packs = std::fs::read_dir(self.dir.join("objects/pack"));
        if packs.map_or(0, Iterator::count) > FILES_OF_PACKS {
            // The next sync tries again what fails.
            drop(self.local(&["repack", "-d", "--quiet", "--geometric=2"], b""));
        }
    }
}

/// How many files the packs have when they are packed.
const FILES_OF_PACKS: usize = 60;

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
    /// Prints it for `git fast-import`, and asks for the hashes of it and its tree. The paths are
    /// checked ones, which need no quotes.
    fn print(&self, marks: &HashMap<&[u8], usize>, mark: usize, out: &mut Vec<u8>) {
        let NewCommit {
            name,
            machine,
            time,
            message,
            ..
        } = self;
        let mut line = |text: String| out.extend(text.into_bytes());
        line(format!("commit {name}\nmark :{mark}\n"));
        line(format!(
            "committer {machine} <tome@{machine}> {time} +0000\n"
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
                FileOp::Remove => line(format!("D {path}\n")),
                FileOp::Blob(id) => line(format!("M 100644 {id} {path}\n")),
                FileOp::Write(bytes) => {
                    let mark = marks.get(bytes.as_slice()).copied().unwrap_or_default();
                    line(format!("M 100644 :{mark} {path}\n"));
                }
            }
        }
        line(format!("\nget-mark :{mark}\nls :{mark} \"\"\n"));
        for other in &self.beside {
            line(format!("ls {other} \"\"\n"));
        }
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
