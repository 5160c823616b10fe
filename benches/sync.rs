//! The time and the bytes of `tome sync` with 10,000 memories in one store, compared with plain git
//! on the same files. Run: `cargo bench --bench sync`.
//!
//! The first sync is compared with `git add`, `git commit` and `git push`, the sync of one change
//! with the same after a `git fetch`, the first sync of another machine, which writes the files and
//! records them, with `git clone`. Remotes are folders. Bytes are those that the remote has then.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[path = "support/side_by_side.rs"]
#[expect(dead_code, reason = "only some of it is needed here")]
mod side_by_side;

use side_by_side::{git, git_command, memory_text, succeed};

const MEMORIES: usize = 10_000;
const FIRSTS: usize = 3;
const CHANGES: usize = 9;

fn main() -> io::Result<()> {
    let mut first = Pair::default();
    let mut other = Pair::default();
    let mut one = Pair::default();
    for run in 0..FIRSTS {
        let dir = tempfile::tempdir()?;
        let at = |name: &str| dir.path().join(name);
        let (sent, received) = (at("sent.git"), at("one/project/.memory"));
        let (remote, plain) = (at("plain.git"), at("plain"));
        for memory in [&received, &plain] {
            make_memories(memory)?;
        }
        let [here, there] = ["one", "two"].map(|name| Machine::new(&at(name), &sent));
        git(
            dir.path(),
            &["init", "-q", "-b", "main", "--bare", "plain.git"],
        );
        git(&plain, &["init", "-q", "-b", "main"]);
        git(&plain, &["remote", "add", "origin", "../plain.git"]);
        first.theirs.time(|| commit_and_push(&plain));
        first.ours.time(|| here.sync());
        first.bytes = [&sent, &remote].map(|path| size(path));
        other
            .theirs
            .time(|| git(dir.path(), &["clone", "-q", "plain.git", "clone"]));
        other.ours.time(|| there.sync());
        assert_eq!(
            fs::read_dir(at("two/project/.memory"))?.count(),
            MEMORIES + 1
        );
        if run > 0 {
            continue;
        }
        let before = first.bytes;
        for change in 0..CHANGES {
            for memory in [&received, &plain] {
                let path = memory.join(format!("memory_{:05}.md", change * 1000));
                fs::write(path, memory_text(change, "Another sentence. "))?;
            }
            one.theirs.time(|| {
                git(&plain, &["fetch", "-q", "origin"]);
                commit_and_push(&plain);
            });
            one.ours.time(|| here.sync());
        }
        let after = [&sent, &remote].map(|path| size(path));
        one.bytes = [0, 1].map(|side| (after[side] - before[side]) / CHANGES as u64);
    }
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{MEMORIES} memories, medians, processes started anew, the remote is a folder"
    )?;
    first.row(&mut out, "first sync", "git add, commit, push")?;
    one.row(
        &mut out,
        "sync of one change",
        "git fetch, add, commit, push",
    )?;
    other.row(&mut out, "first sync of another machine", "git clone")
}

/// What tome and plain git took for the same.
#[derive(Default)]
struct Pair {
    ours: Times,
    theirs: Times,
    bytes: [u64; 2],
}

impl Pair {
    fn row(&self, out: &mut impl io::Write, name: &str, peer: &str) -> io::Result<()> {
        let (ours, theirs) = (self.ours.median(), self.theirs.median());
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        let [our_bytes, their_bytes] = self.bytes;
        write!(
            out,
            "{name:30} {ours:>9.1?}   {peer:28} {theirs:>9.1?}   ratio {ratio:.2}"
        )?;
        if their_bytes > 0 {
            let ratio = our_bytes as f64 / their_bytes as f64;
            write!(
                out,
                "   {our_bytes} and {their_bytes} bytes, ratio {ratio:.2}"
            )?;
        }
        writeln!(out)
    }
}

#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn time(&mut self, act: impl FnOnce()) {
        let start = Instant::now();
        act();
        self.0.push(start.elapsed());
    }

    fn median(&self) -> Duration {
        let mut times = self.0.clone();
        times.sort();
        times[times.len() / 2]
    }
}

/// A home with a project whose memory is shared.
struct Machine {
    home: PathBuf,
}

impl Machine {
    fn new(home: &Path, remote: &Path) -> Self {
        let machine = Self {
            home: home.to_owned(),
        };
        let project = home.join("project");
        fs::create_dir_all(project.join(".memory")).expect("folders");
        fs::create_dir_all(home.join(".config/tome")).expect("folders");
        let settings = "[[agent]]\nname = \".memory\"\nsync = true\nincoming = \"accept\"\n";
        fs::write(home.join(".config/tome/config.toml"), settings).expect("written");
        fs::write(project.join(".memory/MEMORY.md"), "# Memory\n").expect("written");
        git(&project, &["init", "-q"]);
        // The same first commit on both machines.
        let date = ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"];
        let mut commit = git_command(&project, &["commit", "-q", "--allow-empty", "-m", "first"]);
        succeed(commit.envs(date.map(|name| (name, "2026-01-01T00:00:00Z"))));
        let name = home
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name");
        let remote = remote.to_str().expect("a path");
        machine.tome(&["sync", "--init", remote, "--machine", name]);
        machine
    }

    fn tome(&self, args: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tome"));
        command.args(args).current_dir(self.home.join("project"));
        succeed(command.env("HOME", &self.home).stderr(Stdio::null()));
    }

    fn sync(&self) {
        self.tome(&["sync"]);
    }
}

fn make_memories(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for n in 0..MEMORIES {
        fs::write(dir.join(format!("memory_{n:05}.md")), memory_text(n, ""))?;
    }
    Ok(())
}

fn commit_and_push(at: &Path) {
    git(at, &["add", "-A"]);
    git(at, &["commit", "-q", "-m", "changed"]);
    git(at, &["push", "-q", "origin", "main"]);
}

/// The bytes of the files below a directory.
fn size(dir: &Path) -> u64 {
    let files = walkdir::WalkDir::new(dir).into_iter().flatten();
    let sizes = files.filter_map(|file| file.metadata().ok().filter(fs::Metadata::is_file));
    sizes.map(|about| about.len()).sum()
}
