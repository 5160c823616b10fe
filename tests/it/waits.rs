//! What others never release, answer or write: every wait for it ends, and says so.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Home, RunOutput, has, mkfifo, not_run};

/// How long an answer may take, on a busy machine with a slow build. No wait itself takes ten seconds.
const LIMIT: Duration = Duration::from_secs(25);

/// A run of the program with its output in files, so that nobody has to read it meanwhile.
struct Run {
    child: Child,
    output: std::path::PathBuf,
}

impl Run {
    fn start(home: &Home, args: &str) -> Self {
        let output = home
            .path()
            .join(format!("output-{}", args.replace(' ', "-")));
        let create = |ending: &str| File::create(output.with_extension(ending)).expect("a file");
        let mut command = home.command(args);
        command.stdout(create("out")).stderr(create("err"));
        let child = command.process_group(0).spawn().expect("the program runs");
        Self { child, output }
    }

    /// Returns the output; `None` if the run does not end in time, and then it is killed with what it
    /// started.
    fn end(mut self) -> Option<RunOutput> {
        let until = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().expect("waits") {
                let read = |ending| fs::read_to_string(self.output.with_extension(ending));
                return Some(RunOutput {
                    code: status.code().unwrap_or(-1),
                    out: read("out").expect("text"),
                    err: read("err").expect("text"),
                });
            }
            if Instant::now() > until {
                signal("KILL", &format!("-{}", self.child.id()));
                self.child.wait().expect("it ends");
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn signal(name: &str, process: &str) {
    let sent = Command::new("kill")
        .args(["-s", name, "--", process])
        .status();
    assert!(sent.expect("kill runs").success());
}

fn pipe(at: &Path) {
    drop(fs::remove_dir_all(at));
    drop(fs::remove_file(at));
    fs::create_dir_all(at.parent().expect("a folder")).expect("a folder");
    mkfifo(at);
}

fn home() -> Home {
    let home = Home::new();
    home.memory("MEMORY.md", "# Memory\n\n- [a](a.md) - d\n");
    home.memory(
        "a.md",
        "---\nname: A\ndescription: d\ntype: user\n---\n\nRun `lib/kit.sh`, then `feed_walrus()`, walrus.\n",
    );
    let record = json!({ "type": "user", "uuid": "u1", "sessionId": "s1", "cwd": home.project(),
        "timestamp": "2026-01-02T10:00:00Z",
        "message": { "role": "user", "content": "please feed the walrus" } });
    home.file(".claude/projects/-p/s1.jsonl", format!("{record}\n"));
    home
}

#[test]
fn a_process_that_keeps_the_lock_of_the_logs_holds_no_search_up() {
    let home = home();
    let lock = home.file(".cache/tome/corpus/lock", "");
    let lock = File::options().write(true).open(lock).expect("a lock");
    lock.lock().expect("held");
    let all = [
        ("recall walrus --all", "feed the walrus"),
        ("find walrus --all", "feed the walrus"),
        ("logs --all", "s1"),
        ("toc --all", "walrus"),
        ("stats --all", "1"),
    ];
    let runs = all.map(|(args, said)| (args, said, Run::start(&home, args)));
    for (args, said, run) in runs {
        let output = run.end().unwrap_or_else(|| panic!("{args:?} waits"));
        assert_eq!(output.code, 0, "{args:?}: {output:?}");
        assert!(output.out.contains(said), "{args:?}: {output:?}");
        assert!(output.err.contains("another tome"), "{args:?}: {output:?}");
    }
}

#[test]
fn who_uses_an_older_index_because_another_keeps_the_lock_is_told() {
    let home = home();
    home.ok("recall walrus --all");
    let lock = home.path().join(".cache/tome/corpus/lock");
    let lock = File::options().write(true).open(lock).expect("a lock");
    lock.lock().expect("held");
    let said = json!({ "type": "user", "uuid": "u2", "sessionId": "s2", "cwd": home.project(),
        "timestamp": "2026-01-02T11:00:00Z",
        "message": { "role": "user", "content": "and the zebra" } });
    home.file(".claude/projects/-p/s2.jsonl", format!("{said}\n"));
    for args in ["recall walrus --all", "find walrus --all", "logs --all"] {
        let output = Run::start(&home, args).end();
        let output = output.unwrap_or_else(|| panic!("{args:?} waits"));
        assert_eq!(output.code, 0, "{args:?}: {output:?}");
        let lines = output.err.lines();
        let told = lines.filter(|line| line.contains("searched as they were read last"));
        assert_eq!(told.count(), 1, "{args:?}: {output:?}");
    }
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "recall_memory", "arguments": { "query": "walrus" } } });
    let begin = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } });
    let asked = format!("{begin}\n{call}\n");
    let output = home.run_with_input("mcp", asked);
    has(&output.out, ["searched as they were read last"]);
}

/// A repository in which git is asked about `lib/kit.sh`, or `None` without git.
fn repository() -> Option<Home> {
    let home = home();
    fs::remove_dir_all(home.project().join(".git")).expect("removed");
    home.file("project/lib/kit.sh", "x\n");
    for args in [
        "init -q -b main",
        "add .",
        "commit -qm first",
        "rm -q lib/kit.sh",
        "commit -qm second",
    ] {
        if home.git(args).is_none() {
            not_run("there is no git");
            return None;
        }
    }
    Some(home)
}

#[test]
fn a_pipe_in_any_place_of_a_repository_holds_nobody_up() {
    let places = [
        ".git/shallow",
        ".git/HEAD",
        ".git/config",
        ".git/refs/heads/main",
        ".git/packed-refs",
        ".git/objects/info/alternates",
        ".git/index",
        ".gitattributes",
        ".mailmap",
        "an order of files without an end",
    ];
    let mut runs = Vec::new();
    for place in places {
        let Some(home) = repository() else { return };
        if place.starts_with('.') {
            pipe(&home.project().join(place));
        } else {
            let config = home.read("project/.git/config");
            home.file(
                "project/.git/config",
                config + "[diff]\n\torderFile = /dev/zero\n",
            );
        }
        let started = ["curate", "doctor", "rehome"].map(|verb| Run::start(&home, verb));
        runs.push((place, home, started));
    }
    for (place, _home, started) in runs {
        for run in started {
            let about = run.output.clone();
            let output = run.end();
            let output = output.unwrap_or_else(|| panic!("{place}: {} waits", about.display()));
            assert!((0..=1).contains(&output.code), "{place}: {output:?}");
            let is_read = !["an order of files without an end", ".mailmap"].contains(&place);
            if about.ends_with("output-curate") && is_read {
                let told = output.err.contains("git did not answer");
                assert!(told, "{place}: {output:?}");
            }
        }
    }
}

#[test]
fn the_git_of_a_killed_tome_ends() {
    if !Path::new("/proc/self/cmdline").exists() {
        return not_run("there is no /proc");
    }
    let Some(home) = repository() else { return };
    pipe(&home.project().join(".git/HEAD"));
    let mut run = Run::start(&home, "curate");
    let gits = || -> Vec<String> {
        let about = home.path().display().to_string();
        let is_git = |id: &String| {
            let of = |name: &str| Path::new("/proc").join(id).join(name);
            let cwd = fs::read_link(of("cwd")).unwrap_or_default();
            let words = fs::read(of("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).into_owned();
            let program = words.split('\0').next().unwrap_or_default();
            program.ends_with("git") && (cwd.starts_with(&about) || words.contains(&about))
        };
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
        ids.filter(is_git).collect()
    };
    let until = Instant::now() + LIMIT;
    let waits = || {
        let first = gits();
        std::thread::sleep(Duration::from_millis(200));
        let second = gits();
        first.iter().any(|id| second.contains(id))
    };
    while !waits() {
        assert!(Instant::now() < until, "git does not wait");
    }
    run.child.kill().expect("killed");
    run.child.wait().expect("ended");
    let until = Instant::now() + Duration::from_secs(5);
    while !gits().is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let left = gits();
    for id in &left {
        signal("KILL", id);
    }
    assert!(left.is_empty(), "{left:?} live on");
}

#[test]
fn a_stopped_change_holds_others_up_for_less_than_ten_seconds() {
    let home = home();
    let paused = (1..).find_map(|step| {
        let paused = home.paused_at("append a.md --content x", step)?;
        if paused.at.contains("stage") {
            return Some(paused);
        }
        paused.kill();
        None
    });
    let paused = paused.expect("a change with steps");
    let runs = [
        ("append a.md --content y", 2),
        ("review --accept all", 2),
        ("list", 0),
        ("recall walrus", 0),
    ];
    let runs = runs.map(|(args, code)| (args, code, Run::start(&home, args)));
    for (args, code, run) in runs {
        let output = run.end().unwrap_or_else(|| panic!("{args:?} waits"));
        assert_eq!(output.code, code, "{args:?}: {output:?}");
        let told = output.err.contains("waited 8 s");
        assert!(code == 0 || told, "{args:?}: {output:?}");
    }
    paused.kill();
    home.ok("append a.md --content z");
}
