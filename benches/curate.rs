//! The time of `tome curate` over 10,000 memories beside a project of 50,000 files and 20,000
//! commits: without a cache, with one when nothing has changed, and after one memory was edited.
//! Compared with what a script would run for the dead paths alone: `git log --name-status` and a
//! search of the memories for words like paths. Run: `cargo bench --bench curate`.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[path = "support/dice.rs"]
#[expect(dead_code, reason = "only some of it is needed here")]
mod dice;

#[path = "support/side_by_side.rs"]
#[expect(dead_code, reason = "only some of it is needed here")]
mod side_by_side;

use dice::Dice;
use side_by_side::{git, git_command, median, succeed};

const MEMORIES: usize = 10_000;
const FILES: usize = 50_000;
const COMMITS: usize = 20_000;
const RUNS: usize = 5;

fn main() -> std::io::Result<()> {
    let home = tempfile::tempdir()?;
    let project = home.path().join("project");
    make_project(&project)?;
    make_memories(&project.join(".memory"))?;
    // Files that were changed a moment ago are read again.
    std::thread::sleep(Duration::from_secs(3));
    let cache = home.path().join(".cache");
    let curate = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tome"));
        command.args(["curate", "--json"]).current_dir(&project);
        command
            .env("HOME", home.path())
            .env_remove("XDG_CACHE_HOME");
        let output = command
            .stderr(Stdio::inherit())
            .output()
            .expect("tome runs");
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        answer["findings"].as_array().map_or(0, Vec::len)
    };
    let mut found = 0;
    let cold = median(RUNS, |_| {
        if cache.exists() {
            fs::remove_dir_all(&cache).expect("removed");
        }
        found = curate();
    });
    let warm = median(RUNS, |_| {
        curate();
    });
    let edited = median(RUNS, |n| {
        let path = project.join(".memory/memory_00000.md");
        fs::write(path, memory(&mut Dice(n as u64), 0)).expect("written");
        curate();
    });
    let log = median(RUNS, |_| {
        let log = ["log", "--name-status", "-M", "--format=%h %cs %s"];
        git(&project, &log);
    });
    let grep = median(RUNS, |_| {
        let mut command = Command::new("grep");
        let pattern = "[A-Za-z0-9_.-]+/[A-Za-z0-9_./-]+";
        command.args(["-r", "-o", "-h", "-E", pattern, ".memory"]);
        succeed(command.current_dir(&project));
    });
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{MEMORIES} memories, {FILES} files, {COMMITS} commits, {found} findings; median of {RUNS} \
         runs, processes started anew"
    )?;
    for (what, time) in [
        ("tome curate, no cache", cold),
        ("tome curate, nothing changed", warm),
        ("tome curate, one memory changed", edited),
        ("git log --name-status -M", log),
        ("grep -r for paths in the memories", grep),
    ] {
        writeln!(out, "{what:<36} {:>8.0} ms", time.as_secs_f64() * 1000.0)?;
    }
    Ok(())
}

fn path(file: usize) -> String {
    format!(
        "pkg{:02}/mod{:02}/file_{file}.rs",
        file % 97,
        file / 97 % 53
    )
}

/// A project whose commits change, add and remove files, made by `git fast-import`.
fn make_project(project: &Path) -> std::io::Result<()> {
    fs::create_dir(project)?;
    git(project, &["init", "-q", "-b", "main"]);
    let mut import = git_command(project, &["fast-import", "--quiet"]);
    let mut import = import.stdin(Stdio::piped()).spawn()?;
    let mut to = std::io::BufWriter::new(import.stdin.take().expect("piped"));
    let mut dice = Dice(1);
    let mut text = String::new();
    for commit in 0..COMMITS {
        let subject = format!("change {commit} of the handlers");
        writeln!(to, "commit refs/heads/main")?;
        let time = 1_700_000_000 + commit * 600;
        writeln!(to, "committer kim <kim@example.com> {time} +0000")?;
        writeln!(to, "data {}\n{subject}", subject.len())?;
        let mut write = |to: &mut dyn std::io::Write, file: usize| {
            text.clear();
            for n in 0..12 {
                let version = if n == commit % 12 { commit } else { 0 };
                let line = format!(
                    "pub fn handle_{file}_{n}_v{version}(x: usize) -> usize {{ x + {n} }}\n"
                );
                text.push_str(&line);
            }
            writeln!(
                to,
                "M 100644 inline {}\ndata {}\n{text}",
                path(file),
                text.len()
            )
        };
        if commit == 0 {
            for file in 0..FILES {
                write(&mut to, file)?;
            }
            continue;
        }
        for _ in 0..=dice.below(3) {
            write(&mut to, dice.below(FILES))?;
        }
        match commit % 10 {
            0 => write(&mut to, FILES + commit)?,
            5 if commit > 10 => writeln!(to, "D {}", path(FILES + commit - 5))?,
            _ => {}
        }
    }
    to.flush()?;
    drop(to);
    assert!(import.wait()?.success(), "the project is imported");
    git(project, &["checkout", "-q", "-f", "main"]);
    Ok(())
}

const WORDS: [&str; 64] = [
    "cache", "queue", "parser", "token", "session", "index", "release", "branch", "canary",
    "worker", "schema", "column", "deploy", "staging", "cluster", "billing", "invoice", "payment",
    "retry", "timeout", "socket", "stream", "buffer", "thread", "lock", "mutex", "signal",
    "handler", "router", "request", "response", "header", "cookie", "cursor", "window", "layout",
    "widget", "render", "shader", "texture", "vector", "matrix", "sensor", "driver", "kernel",
    "module", "plugin", "symbol", "scope", "closure", "macro", "trait", "struct", "enum", "union",
    "pointer", "arena", "garbage", "collect", "compile", "linker", "loader", "binary", "archive",
];

/// A memory that names files and functions of the project, some of which are gone.
fn memory(dice: &mut Dice, number: usize) -> String {
    let mut text = format!(
        "---\nname: memory {number}\ndescription: what memory {number} is about\ntype: project\n---\n\n"
    );
    for sentence in 0..6 {
        for _ in 0..14 {
            text.push_str(WORDS[dice.below(WORDS.len())]);
            text.push(' ');
        }
        if sentence % 2 == 0 {
            let file = dice.below(FILES + 2000);
            text.push_str(&format!("in `{}` calls `handle_{file}_3_v0`. ", path(file)));
        } else {
            text.push_str(&format!("as decided in case {number}-{sentence}.\n"));
        }
    }
    text.push('\n');
    text
}

fn make_memories(store: &Path) -> std::io::Result<()> {
    fs::create_dir(store)?;
    let mut dice = Dice(2);
    let mut index = "# Mine\n\n".to_owned();
    for number in 0..MEMORIES {
        let name = format!("memory_{number:05}.md");
        fs::write(store.join(&name), memory(&mut dice, number))?;
        index.push_str(&format!("- [memory {number}]({name}) — what it is about\n"));
    }
    fs::write(store.join("MEMORY.md"), index)
}
