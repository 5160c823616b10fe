//! A temporary home in which the program runs.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tome::core::change::history::History;
use tome::core::change::recover_interrupted;

/// The user `nobody`.
const NOBODY: u32 = 65_534;

fn give(path: &Path, owner: u32) {
    std::os::unix::fs::lchown(path, Some(owner), Some(owner)).expect("given away");
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).expect("readable").flatten() {
            give(&entry.path(), owner);
        }
    }
}

/// Where the program writes which of its lines ran, if coverage is measured.
pub(crate) fn coverage() -> Option<(&'static str, OsString)> {
    let name = "LLVM_PROFILE_FILE";
    Some((name, std::env::var_os(name)?))
}

/// A temporary home directory with a project.
pub(crate) struct Home {
    dir: tempfile::TempDir,
}

/// A temporary directory in memory, where the system has one. These tests kill the program and not
/// the machine, so that waiting for a disk would prove nothing and take ten times as long.
pub(crate) fn directory_in_memory() -> tempfile::TempDir {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    in_memory
        .or_else(|_| tempfile::tempdir())
        .expect("a temporary directory")
}

/// The exit code and the output of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RunOutput {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The program, paused in the middle of a change.
pub(crate) struct Paused {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// The step at which it paused, as it printed it.
    pub(crate) at: String,
}

impl Paused {
    /// Whether the files have already been replaced.
    pub(crate) fn is_late(&self) -> bool {
        let replacing = ["exchange", "place", "set aside"];
        let later = ["flush", "record", "remove displaced", "forget"];
        let step = self.at.trim_start_matches("tome: paused: ").trim_end();
        later.iter().any(|word| step.starts_with(word))
            || (step.ends_with(": done") && replacing.iter().any(|word| step.starts_with(word)))
    }

    /// Resumes the program; returns its exit code and the rest of its errors.
    pub(crate) fn go_on(mut self) -> (Option<i32>, String) {
        let mut stdin = self.child.stdin.take().expect("piped");
        stdin.write_all(b"\n").expect("goes on");
        let mut stderr = String::new();
        self.stderr.read_to_string(&mut stderr).expect("reads");
        let status = self.child.wait().expect("ends");
        (status.code(), stderr)
    }

    /// Kills the program.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
    }
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::in_directory(tempfile::tempdir().expect("a temporary directory"))
    }

    /// A home for a test that runs thousands of changes.
    pub(crate) fn in_memory() -> Self {
        Self::in_directory(directory_in_memory())
    }

    fn in_directory(dir: tempfile::TempDir) -> Self {
        fs::create_dir_all(dir.path().join("project/.git")).expect("a project");
        Self { dir }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("canonical")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    /// The command that runs the program in the project.
    pub(crate) fn command(&self, args: &(impl Words + ?Sized)) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tome"));
        command
            .args(args.words())
            .current_dir(self.project())
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TZ", "UTC")
            .envs(coverage())
            .stdin(Stdio::null());
        command
    }

    /// The command that runs the program behind commands of a shell.
    pub(crate) fn command_after(&self, shell: &str, args: &(impl Words + ?Sized)) -> Command {
        let program = self.command(args);
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{shell}; exec \"$0\" \"$@\"")]);
        command.arg(program.get_program()).args(program.get_args());
        command.current_dir(self.project()).env_clear();
        for (name, value) in program.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command
    }

    /// Runs git in the project; returns what it prints, if it succeeds.
    pub(crate) fn git(&self, args: &(impl Words + ?Sized)) -> Option<String> {
        let output = self.git_command(args).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }

    /// The command that runs git in the project, as kim.
    pub(crate) fn git_command(&self, args: &(impl Words + ?Sized)) -> Command {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=kim", "-c", "user.email=kim@example.com"]);
        command.args(args.words()).current_dir(self.project());
        command
            .env("HOME", self.path())
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    /// Runs the program up to a step of its change; `None` if it ended before. Only a debug build
    /// can be paused.
    pub(crate) fn paused_at(&self, args: &(impl Words + ?Sized), step: usize) -> Option<Paused> {
        let mut child = self
            .command(args)
            .env("TOME_PAUSE_AT", step.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut at = String::new();
        while stderr.read_line(&mut at).expect("reads") > 0 {
            if at.starts_with("tome: paused: ") {
                return Some(Paused { child, stderr, at });
            }
            at.clear();
        }
        child.wait().expect("ends");
        None
    }

    pub(crate) fn run(&self, args: &(impl Words + ?Sized)) -> RunOutput {
        RunOutput::of_command(&mut self.command(args))
    }

    /// Runs the program in another directory.
    pub(crate) fn run_in(&self, dir: &Path, args: &(impl Words + ?Sized)) -> RunOutput {
        RunOutput::of_command(self.command(args).current_dir(dir))
    }

    /// Runs the program with variables set.
    pub(crate) fn run_with<V: AsRef<OsStr>, const N: usize>(
        &self,
        set: [(&str, V); N],
        args: &(impl Words + ?Sized),
    ) -> RunOutput {
        RunOutput::of_command(self.command(args).envs(set))
    }

    /// Runs the program as a user without root's privileges, for whom file modes apply. The home
    /// belongs to that user afterwards.
    pub(crate) fn run_without_rights(&self, args: &(impl Words + ?Sized)) -> RunOutput {
        let owner = fs::metadata(self.path()).expect("there").uid();
        let copy = self.path().join("tome");
        if owner == 0 {
            // By another process: one that is started meanwhile would inherit the open file, and
            // a program that is open for writing cannot be run.
            let mut cp = Command::new("cp");
            let copied = cp.arg(env!("CARGO_BIN_EXE_tome")).arg(&copy).status();
            assert!(copied.expect("cp runs").success());
            give(&self.path(), NOBODY);
        }
        let mut command = self.command(args);
        if copy.exists() {
            let mut other = Command::new(&copy);
            other.args(args.words()).current_dir(self.project());
            other.env_clear();
            other.env("HOME", self.path()).env("TZ", "UTC");
            other.uid(NOBODY).gid(NOBODY);
            // That user cannot write where coverage goes, and nothing else may appear here.
            other.envs(coverage().map(|(name, _)| (name, "/dev/null")));
            command = other;
        }
        RunOutput::of_command(&mut command)
    }

    /// Runs the program, which must succeed; returns its output.
    pub(crate) fn ok(&self, args: &(impl Words + ?Sized)) -> String {
        let output = self.run(args);
        assert_eq!(output.code, 0, "{:?}: {output:?}", args.words());
        output.out
    }

    /// Runs the program, which must fail; returns its errors.
    pub(crate) fn fails(&self, args: &(impl Words + ?Sized)) -> String {
        let output = self.run(args);
        assert_eq!(output.code, 2, "{:?}: {output:?}", args.words());
        output.err
    }

    /// Runs the program, which must find nothing, or tell that a check failed.
    pub(crate) fn finds_nothing(&self, args: &(impl Words + ?Sized)) -> RunOutput {
        let output = self.run(args);
        assert_eq!(output.code, 1, "{:?}: {output:?}", args.words());
        output
    }

    /// Runs the program with `--json`, which must succeed; returns the object.
    pub(crate) fn json(&self, args: &(impl Words + ?Sized)) -> Value {
        let args = [args.words(), vec!["--json".to_owned()]].concat();
        json_of(&self.ok(&args))
    }

    pub(crate) fn run_with_input(
        &self,
        args: &(impl Words + ?Sized),
        input: impl AsRef<[u8]>,
    ) -> RunOutput {
        run_with_input(&mut self.command(args), input)
    }

    pub(crate) fn file(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(&path, text).expect("a file");
        path
    }

    /// Writes a file of the project's store.
    pub(crate) fn memory(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        self.file(&format!("project/.memory/{name}"), text)
    }

    /// Reads a file of the project's store.
    pub(crate) fn read_memory(&self, name: &str) -> String {
        self.read(&format!("project/.memory/{name}"))
    }

    /// Writes a program for a shell.
    pub(crate) fn script(&self, path: &str, text: &str) -> PathBuf {
        let path = self.file(path, text);
        chmod(&path, 0o755);
        path
    }

    /// The folder of the project in Claude Code's home, as a path below the home.
    pub(crate) fn claude_folder(&self) -> String {
        let project = self.project().display().to_string();
        let slug = project.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        format!(".claude/projects/{slug}")
    }

    /// A message of a session in the project, as Claude Code logs it. Its number is its minute, too.
    pub(crate) fn claude_record(
        &self,
        session: &str,
        number: usize,
        role: &str,
        content: impl Into<Value>,
    ) -> Value {
        json!({
            "type": role, "uuid": format!("{session}-{number}"), "sessionId": session,
            "timestamp": format!("2026-02-03T10:{number:02}:00Z"), "cwd": self.project(),
            "message": { "role": role, "content": content.into() },
        })
    }

    /// Writes Claude Code's log of a session in the project: who says what.
    pub(crate) fn claude_log<C>(&self, session: &str, said: &[(&str, C)]) -> PathBuf
    where
        C: Clone + Into<Value>,
    {
        let records = said.iter().enumerate().map(|(number, (role, content))| {
            let record = self.claude_record(session, number, role, content.clone());
            format!("{record}\n")
        });
        let path = format!("{}/{session}.jsonl", self.claude_folder());
        self.file(&path, records.collect::<String>())
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }
}

/// The arguments of a run: a list of words, or a command line as one types it, in which a word with
/// blanks stands in single quotes.
pub(crate) trait Words {
    fn words(&self) -> Vec<String>;
}

impl Words for str {
    fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for (at, part) in self.split('\'').enumerate() {
            match at % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        words
    }
}

impl Words for String {
    fn words(&self) -> Vec<String> {
        self.as_str().words()
    }
}

impl<T: AsRef<str>> Words for [T] {
    fn words(&self) -> Vec<String> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<T: AsRef<str>, const N: usize> Words for [T; N] {
    fn words(&self) -> Vec<String> {
        self[..].words()
    }
}

impl<T: AsRef<str>> Words for Vec<T> {
    fn words(&self) -> Vec<String> {
        self[..].words()
    }
}

impl<W: Words + ?Sized> Words for &W {
    fn words(&self) -> Vec<String> {
        (**self).words()
    }
}

/// Runs a command with this on its standard input.
pub(crate) fn run_with_input(command: &mut Command, input: impl AsRef<[u8]>) -> RunOutput {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_ref()).expect("input is read");
    drop(stdin);
    RunOutput::of(&child.wait_with_output().expect("it ends"))
}

impl RunOutput {
    /// Runs a command.
    pub(crate) fn of_command(command: &mut Command) -> Self {
        Self::of(&command.output().expect("it runs"))
    }

    pub(crate) fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Recovers interrupted changes. A process that another test starts holds a copy of our locks until
/// it is running, so this is tried until none is left.
pub(crate) fn recover_all(history: &History, roots: &[&Path]) -> tome::core::Result<()> {
    for _ in 0..500 {
        recover_interrupted(history, roots)?;
        if history.intents().is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Every file and folder below a directory; folders end in `/` and have no content.
pub(crate) fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    collect(root, root, &mut found);
    found
}

fn collect(root: &Path, at: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(at) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = path
            .strip_prefix(root)
            .expect("below")
            .display()
            .to_string();
        if path.is_dir() && !path.is_symlink() {
            found.insert(format!("{name}/"), Vec::new());
            collect(root, &path, found);
        } else {
            found.insert(name, fs::read(&path).unwrap_or_default());
        }
    }
}

/// Copies a directory with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("readable").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}

pub(crate) fn chmod(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

/// Makes a pipe, which nobody writes into.
pub(crate) fn mkfifo(at: impl AsRef<Path>) {
    let made = Command::new("mkfifo").arg(at.as_ref()).status();
    assert!(made.expect("mkfifo runs").success());
}

pub(crate) fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// An object with the fields of another one, too.
pub(crate) fn merged(mut object: Value, more: Value) -> Value {
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

/// Today's date, as the program writes it.
pub(crate) fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

/// Reports that a test cannot run here.
pub(crate) fn not_run(why: &str) {
    report(&format!("not run: {why}"));
}

/// Prints a line, bypassing the test runner's capture.
pub(crate) fn report(line: &str) {
    let line = format!("{line}\n");
    std::io::stderr()
        .write_all(line.as_bytes())
        .expect("standard error is open");
}

/// Asserts that a text has all of these parts.
#[track_caller]
pub(crate) fn has<const N: usize>(text: impl AsRef<str>, parts: [&str; N]) {
    let text = text.as_ref();
    for part in parts {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

/// Asserts that a text has none of these parts.
#[track_caller]
pub(crate) fn lacks<const N: usize>(text: impl AsRef<str>, parts: [&str; N]) {
    let text = text.as_ref();
    for part in parts {
        assert!(!text.contains(part), "{part:?} in\n{text}");
    }
}

/// Asserts that a text starts with this.
#[track_caller]
pub(crate) fn starts(text: impl AsRef<str>, start: &str) {
    let text = text.as_ref();
    assert!(text.starts_with(start), "not {start:?} but\n{text}");
}

/// Asserts that a text ends with this.
#[track_caller]
pub(crate) fn ends(text: impl AsRef<str>, end: &str) {
    let text = text.as_ref();
    assert!(text.ends_with(end), "not {end:?} at the end of\n{text}");
}
