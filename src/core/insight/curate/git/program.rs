//! Calls of the `git` program that run no other program, ask nobody, and end.
//!
//! Those about a project write nothing; [`Git::call`] is for a repository of tome's own.
//!
//! A project's own files can make git wait for a pipe or read a device without end. A git that is
//! silent for too long, or prints without end, is ended, the project is not asked again, and the caller
//! can say so. On Linux git is also ended when tome is.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::core::disk::process::{end_group, end_with_this_process};

/// The settings that could run programs, wait for a person, read elsewhere or write.
const SAFE: [&str; 22] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "log.showSignature=false",
    "-c",
    "log.mailmap=false",
    "-c",
    "diff.orderFile=/dev/null",
    "-c",
    "diff.ignoreSubmodules=all",
    "-c",
    "core.quotePath=false",
    "-c",
    "diff.renameLimit=1000",
    "-c",
    "core.pager=cat",
    "--no-pager",
    "--no-optional-locks",
];

/// The `git` program, and the work trees in which it did not answer.
#[derive(Clone)]
pub struct Git {
    program: PathBuf,
    limits: TimeLimits,
    late: Arc<Mutex<BTreeMap<PathBuf, Late>>>,
    /// The variables that it does not get.
    removed: Vec<OsString>,
}

/// Why git is not asked again.
#[derive(Debug, Clone, Copy)]
enum Late {
    /// It printed nothing for too long.
    Silent,
    /// It printed for too long, or too much for a short answer.
    Endless,
}

/// How long one call may take.
#[derive(Debug, Clone, Copy)]
struct TimeLimits {
    /// How long nothing is printed.
    silent: Duration,
    /// All in all.
    whole: Duration,
}

impl fmt::Debug for Git {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Git").field(&self.program).finish()
    }
}

impl Git {
    /// Returns the program at a path.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            limits: TimeLimits {
                silent: Duration::from_secs(8),
                whole: Duration::from_secs(120),
            },
            late: Arc::default(),
            removed: Vec::new(),
        }
    }

    /// Returns the same program without its own variables of these: they can lead it to another
    /// repository, to other settings and programs, or make it write.
    #[must_use]
    pub fn without_variables(mut self, names: impl Iterator<Item = OsString>) -> Self {
        let is_own = |name: &OsString| name.to_string_lossy().starts_with("GIT_");
        self.removed = names.filter(is_own).collect();
        self
    }

    /// Returns the same program, which is ended when it is silent for so long.
    #[must_use]
    pub fn with_limit(mut self, silent: Duration) -> Self {
        self.limits.silent = silent;
        self
    }

    /// Returns why a work tree was not asked to the end, if git did not answer in it.
    pub fn lateness(&self, root: &Path) -> Option<String> {
        let silent = self.limits.silent.as_secs_f32();
        let (what, cause) = match self.late().get(root)? {
            Late::Silent => (
                format!("did not answer for {silent} s"),
                "; something in .git, or a .gitattributes, may be no regular file",
            ),
            Late::Endless => ("printed without an end".to_owned(), ""),
        };
        let root = root.display();
        Some(format!(
            "{root}: git {what}, so nothing that it knows is looked at{cause}"
        ))
    }

    fn late(&self) -> std::sync::MutexGuard<'_, BTreeMap<PathBuf, Late>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a call of git.
    pub(super) fn command(&self, root: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        for name in &self.removed {
            command.env_remove(name);
        }
        command
            .arg("-C")
            .arg(root)
            .args(SAFE)
            .args(args)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Starts git; its output is read from the result. `None` if it cannot be started, or did not
    /// answer in this work tree before.
    pub(super) fn start(&self, root: &Path, args: &[&str]) -> Option<RunningGit> {
        if self.late().contains_key(root) {
            return None;
        }
        let mut command = self.command(root, args);
        end_with_this_process(&mut command);
        let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
        let output = child.stdout.take()?;
        let read = Arc::new(AtomicU64::new(0));
        let (done, is_done) = channel();
        let watch = Watch {
            pid: child.id(),
            limits: self.limits,
            read: Arc::clone(&read),
        };
        let (git, root) = (self.clone(), root.to_owned());
        std::thread::spawn(move || {
            if let Some(late) = watch.lateness(&is_done) {
                git.late().insert(root, late);
                // Its caller has not waited for it yet, so that the number is still its own.
                end_group(watch.pid);
            }
        });
        Some(RunningGit {
            child,
            output,
            read,
            _done: done,
        })
    }

    /// Returns the output of git, up to `most` bytes; `None` if it fails.
    pub(super) fn output(&self, root: &Path, args: &[&str], most: usize) -> Option<Output> {
        let mut git = self.start(root, args)?;
        let mut bytes = Vec::new();
        let read = (&mut git).take(most as u64 + 1).read_to_end(&mut bytes);
        let is_whole = bytes.len() <= most;
        let has_failed = if is_whole {
            !git.child.wait().ok()?.success()
        } else {
            false
        };
        git.end();
        if has_failed || read.is_err() {
            return None;
        }
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let mut output = Output { text, is_whole };
        output.cut_to(most);
        Some(output)
    }

    /// Returns the whole output of git; `None` if it fails, or prints nothing or too much.
    pub(crate) fn run(&self, root: &Path, args: &[&str]) -> Option<String> {
        let output = self.answer(root, args)?;
        (!output.is_empty()).then_some(output)
    }

    /// Returns the output of git if it is short, also in time.
    fn answer(&self, root: &Path, args: &[&str]) -> Option<String> {
        let limits = TimeLimits {
            whole: self.limits.silent,
            ..self.limits
        };
        let brief = Self {
            limits,
            ..self.clone()
        };
        let output = brief.output(root, args, LARGEST_ANSWER)?;
        if !output.is_whole {
            self.late().insert(root.to_owned(), Late::Endless);
        }
        output.is_whole.then_some(output.text)
    }

    /// Calls git in a bare repository of tome's own: gives it `input`, and returns what it prints.
    /// The user's own settings of git count here, because they have the credentials of remotes.
    pub(crate) fn call(&self, repository: &Path, call: &GitCall<'_>) -> Answer {
        let mut command = self.command(repository, &[]);
        // A password that ssh would ask for is none, at once.
        command
            .env_remove("GIT_CONFIG_NOSYSTEM")
            .env("SSH_ASKPASS", "false")
            .env("GIT_ALLOC_LIMIT", LARGEST_ALLOCATION)
            .env("SSH_ASKPASS_REQUIRE", "force");
        for setting in OF_OWN_REPOSITORY {
            command.args(["-c", setting]);
        }
        command
            .args(call.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        end_with_this_process(&mut command);
        let failed = |why: String| {
            Err(GitFailure {
                why,
                printed: Vec::new(),
            })
        };
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return failed(format!("git cannot be started: {error}")),
        };
        let pid = child.id();
        let (done, is_done) = channel::<()>();
        let (limit, room) = (call.limit, call.room.clone());
        // A remote may be silent for twice as long as a git of this machine.
        let silence = room.as_ref().map(|_| self.limits.silent * 2);
        let heard = Arc::new(AtomicU64::new(0));
        let sound = Arc::clone(&heard);
        let watch = std::thread::spawn(move || {
            let until = Instant::now() + limit;
            let (mut last, mut since) = ((0, 0), Instant::now());
            loop {
                let left = until.saturating_duration_since(Instant::now());
                let pause = room.as_ref().map_or(left, |_| left.min(LOOK));
                if is_done.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    return None;
                }
                let is_late = Instant::now() >= until;
                let size = room.as_ref().map_or(0, Room::size);
                let now = (sound.load(Ordering::Relaxed), size);
                if now != last {
                    (last, since) = (now, Instant::now());
                }
                let is_silent = silence.filter(|silence| since.elapsed() >= *silence);
                let why = match (room.as_ref().and_then(|room| room.excess(size)), is_silent) {
                    (Some(why), _) => why,
                    (None, Some(silence)) => {
                        format!("it sent nothing for {} s", silence.as_secs_f32())
                    }
                    _ if is_late => format!("git did not end within {} s", limit.as_secs()),
                    _ => continue,
                };
                // Its caller has not waited for it yet, so that the number is still its own.
                end_group(pid);
                return Some(why);
            }
        });
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let errors = child.stderr.take().map(|mut errors| {
            std::thread::spawn(move || {
                let (mut told, mut part) = (Vec::new(), [0; 4096]);
                while let Ok(count @ 1..) = errors.read(&mut part) {
                    heard.fetch_add(count as u64, Ordering::Relaxed);
                    told.extend(&part[..count]);
                    // The end says why.
                    let beyond = told.len().saturating_sub(LONGEST_ERROR);
                    told.drain(..beyond);
                }
                String::from_utf8_lossy(&told).into_owned()
            })
        });
        let mut printed = Vec::new();
        let is_whole = std::thread::scope(|scope| {
            scope.spawn(move || {
                if let Some(mut input) = input {
                    // A git that ends early does not read all of it, and says why.
                    drop(input.write_all(call.input));
                }
            });
            let most = call.most as u64;
            let Some(mut output) = output else {
                return false;
            };
            let read = (&mut output).take(most + 1).read_to_end(&mut printed);
            let is_whole = read.is_ok() && printed.len() <= call.most;
            if !is_whole {
                end_group(pid);
            }
            is_whole
        });
        let status = child.wait();
        drop(done);
        let ended = watch.join().unwrap_or(None);
        let told = errors.and_then(|errors| errors.join().ok());
        if let Some(why) = ended {
            return failed(why);
        }
        match status {
            Ok(_) if !is_whole => failed("git printed too much".to_owned()),
            Ok(status) if status.success() => Ok(printed),
            _ => Err(GitFailure {
                why: telling_line(&told.unwrap_or_default()),
                printed,
            }),
        }
    }

    /// Whether git ends well.
    pub(super) fn succeeds(&self, root: &Path, args: &[&str]) -> bool {
        self.answer(root, args).is_some()
    }
}

/// The settings of calls in a repository of tome's own: nothing of it is run, checked out or
/// tidied, and what is fetched is checked. What is fetched stays in one file, and large contents are
/// never in memory as a whole.
///
/// A name that would be dangerous in a work tree is none here: it is refused by itself, and does not
/// hold up all that came with it.
const OF_OWN_REPOSITORY: [&str; 36] = [
    "fetch.fsck.hasDot=ignore",
    "fetch.fsck.hasDotdot=ignore",
    "fetch.fsck.hasDotgit=ignore",
    "fetch.fsck.largePathname=ignore",
    "fetch.fsck.zeroPaddedFilemode=ignore",
    "fetch.fsck.gitmodulesBlob=ignore",
    "fetch.fsck.gitmodulesLarge=ignore",
    "fetch.fsck.gitmodulesMissing=ignore",
    "fetch.fsck.gitmodulesName=ignore",
    "fetch.fsck.gitmodulesPath=ignore",
    "fetch.fsck.gitmodulesSymlink=ignore",
    "fetch.fsck.gitmodulesUpdate=ignore",
    "fetch.fsck.gitmodulesUrl=ignore",
    "fetch.fsck.gitattributesBlob=ignore",
    "fetch.fsck.gitattributesLarge=ignore",
    "fetch.fsck.gitattributesLineLength=ignore",
    "fetch.fsck.gitattributesMissing=ignore",
    "fetch.fsck.symlinkTargetBlob=ignore",
    "protocol.ext.allow=never",
    "transfer.fsckObjects=true",
    "fetch.recurseSubmodules=false",
    "fetch.unpackLimit=1",
    "core.bigFileThreshold=1m",
    "submodule.recurse=false",
    "push.recurseSubmodules=no",
    "push.gpgSign=false",
    "push.followTags=false",
    "fetch.writeCommitGraph=false",
    "fetch.bundleURI=",
    "transfer.bundleURI=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "credential.interactive=false",
    "core.askPass=",
    "core.fsync=committed",
    "advice.fetchShowForcedUpdates=false",
];

/// The most memory that git may want at once.
const LARGEST_ALLOCATION: &str = "512m";

/// How often is looked at what a remote sends.
const LOOK: Duration = Duration::from_millis(50);

/// The longest text of an error that is read.
const LONGEST_ERROR: usize = 64 << 10;

/// A call in a repository of tome's own.
#[derive(Debug, Clone)]
pub(crate) struct GitCall<'a> {
    pub(crate) args: &'a [&'a str],
    /// What it reads.
    pub(crate) input: &'a [u8],
    /// How long it may take.
    pub(crate) limit: Duration,
    /// How much it may print.
    pub(crate) most: usize,
    /// What it may fill, if it reaches a remote, which may not be silent for long: what git tells of
    /// its progress is heard, and what fills the room.
    pub(crate) room: Option<Room>,
}

/// A folder that may have so many bytes in its files.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    pub(crate) folder: PathBuf,
    pub(crate) most: u64,
}

impl Room {
    /// How many bytes the folder has.
    pub(crate) fn size(&self) -> u64 {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let sizes = entries.flatten().filter_map(|entry| entry.metadata().ok());
        sizes.map(|about| about.len()).sum()
    }

    /// Says that this is more than it may have.
    pub(crate) fn excess(&self, size: u64) -> Option<String> {
        (size > self.most).then(|| format!("it has more than {} MB", self.most >> 20))
    }
}

/// What git printed, or why it failed.
pub(crate) type Answer = Result<Vec<u8>, GitFailure>;

/// A call that failed.
#[derive(Debug, Clone)]
pub(crate) struct GitFailure {
    /// Why, in a line.
    pub(crate) why: String,
    /// What it printed before.
    pub(crate) printed: Vec<u8>,
}

/// The line of git's errors that tells most: the first one that names an error.
fn telling_line(told: &str) -> String {
    // A line of progress ends where the next one begins.
    let lines = told.split(['\n', '\r']);
    let mut lines = lines.map(str::trim).filter(|line| !line.is_empty());
    let is_telling = |line: &&str| {
        let words = ["fatal:", "error:", "ERROR:", "remote: error", "ssh:"];
        words.iter().any(|word| line.starts_with(word))
    };
    let first = lines.clone().find(is_telling).or_else(|| lines.next());
    first.unwrap_or("git failed").to_owned()
}

/// The largest answer of git that is read whole: the hashes of 800,000 commits.
const LARGEST_ANSWER: usize = 32 << 20;

/// What git printed, or the start of it.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) text: String,
    pub(super) is_whole: bool,
}

impl Output {
    /// Leaves out what is beyond `most` bytes, and the last field if it is not complete.
    pub(super) fn cut_to(&mut self, most: usize) {
        if self.text.len() > most {
            self.is_whole = false;
            let last = memchr::memrchr(0, &self.text.as_bytes()[..most]);
            let end = last.map_or(0, |last| last + 1);
            self.text.truncate(end);
        }
    }
}

/// A git that runs. What it prints is read from here.
pub(super) struct RunningGit {
    child: Child,
    output: ChildStdout,
    /// The bytes that were read.
    read: Arc<AtomicU64>,
    /// Tells the thread that watches it to stop.
    _done: Sender<()>,
}

impl Read for RunningGit {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.output.read(into)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl RunningGit {
    /// Ends a git whose output was read, or of which enough was read.
    pub(super) fn end(mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Watches a call.
struct Watch {
    pid: u32,
    limits: TimeLimits,
    read: Arc<AtomicU64>,
}

impl Watch {
    /// Waits until the call is over, or takes too long.
    fn lateness(&self, is_done: &std::sync::mpsc::Receiver<()>) -> Option<Late> {
        let until = Instant::now() + self.limits.whole;
        let mut read = self.read.load(Ordering::Relaxed);
        loop {
            match is_done.recv_timeout(self.limits.silent) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => return None,
            }
            let now = self.read.load(Ordering::Relaxed);
            if now == read {
                return Some(Late::Silent);
            }
            if Instant::now() >= until {
                return Some(Late::Endless);
            }
            read = now;
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A git that fills a folder is ended soon, with all that it started.
    #[test]
    fn a_call_that_fills_its_room_is_ended() {
        let dir = tempfile::tempdir().expect("a directory");
        let git = Git::at("/usr/bin/git");
        let room = Room {
            folder: dir.path().to_owned(),
            most: 1 << 20,
        };
        assert_eq!(room.size(), 0);
        let call = |seconds: u64| {
            let fill = "alias.fill=!head -c 3000000 /dev/zero > tmp_pack; sleep 20";
            git.call(
                dir.path(),
                &GitCall {
                    args: &["-c", fill, "fill"],
                    input: b"",
                    limit: Duration::from_secs(seconds),
                    most: 100,
                    room: Some(room.clone()),
                },
            )
        };
        let since = Instant::now();
        let failure = call(60).expect_err("it is ended");
        assert_eq!(failure.why, "it has more than 1 MB");
        assert!(since.elapsed() < Duration::from_secs(15));
        std::fs::remove_file(dir.path().join("tmp_pack")).expect("removed");
        assert_eq!(room.size(), 0, "nothing goes on");
    }
}
