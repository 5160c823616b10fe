//! The time that an agent waits for a hook, compared with a program that does nothing.
//! Run: `cargo bench --bench hook`.
//!
//! Each call is a process of its own, as agents start them. A prompt is appended and flushed to
//! an events store of 50,000 events; the start of a session reads a store of 200 memories.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

#[path = "support/side_by_side.rs"]
#[expect(dead_code, reason = "only some of it is needed here")]
mod side_by_side;

use side_by_side::median;

const RUNS: usize = 101;

fn main() -> std::io::Result<()> {
    let home = tempfile::tempdir()?;
    let project = home.path().join("project");
    fs::create_dir_all(project.join(".git"))?;
    fs::create_dir(project.join(".memory"))?;
    let mut index = "# Memory\n\n".to_owned();
    for n in 0..200 {
        index.push_str(&format!(
            "- [Memory {n}](m{n}.md) — what memory {n} is about\n"
        ));
        fs::write(
            project.join(format!(".memory/m{n}.md")),
            format!("---\nname: Memory {n}\ntype: project\n---\n\nBody.\n"),
        )?;
    }
    fs::write(project.join(".memory/MEMORY.md"), index)?;

    let payload = |event: &str, more: &str| {
        let cwd = serde_json::Value::from(project.display().to_string());
        format!("{{\"hook_event_name\":\"{event}\",\"session_id\":\"s\",\"cwd\":{cwd}{more}}}")
    };
    let prompt = payload("UserPromptSubmit", ",\"prompt\":\"find the zebra\"");
    let start = payload("SessionStart", ",\"source\":\"startup\"");
    let result = payload(
        "PostToolUse",
        &format!(
            ",\"tool_name\":\"Bash\",\"tool_input\":{{\"command\":\"x\"}},\"tool_response\":{{\"stdout\":\"{}\"}}",
            "0123456789".repeat(10_000)
        ),
    );
    hook(home.path(), &prompt);
    grow(home.path())?;

    let rows = [
        (
            "/bin/true",
            median(RUNS, |_| run(&mut Command::new("/bin/true"), "")),
        ),
        (
            "tome --version",
            median(RUNS, |_| {
                run(
                    Command::new(env!("CARGO_BIN_EXE_tome")).arg("--version"),
                    "",
                )
            }),
        ),
        (
            "hook, a prompt",
            median(RUNS, |_| hook(home.path(), &prompt)),
        ),
        (
            "hook, a tool's 100 KB",
            median(RUNS, |_| hook(home.path(), &result)),
        ),
        (
            "hook, a session's start",
            median(RUNS, |_| hook(home.path(), &start)),
        ),
    ];
    let mut out = std::io::stdout().lock();
    writeln!(out, "median of {RUNS} runs, processes started anew")?;
    let base = rows[0].1.as_secs_f64();
    for (name, time) in rows {
        let ms = time.as_secs_f64() * 1000.0;
        writeln!(
            out,
            "{name:<26} {ms:>8.2} ms {:>8.1} times /bin/true",
            time.as_secs_f64() / base
        )?;
    }
    Ok(())
}

/// Makes the events store as large as that of a busy project.
fn grow(home: &Path) -> std::io::Result<()> {
    let all = home.join(".local/share/tome/events");
    let folder = fs::read_dir(all)?
        .next()
        .expect("the first hook made a store")?;
    let file = folder.path().join("events.jsonl");
    let line = fs::read_to_string(&file)?;
    fs::write(&file, line.repeat(50_000))
}

fn hook(home: &Path, payload: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tome"));
    command
        .args(["hook", "claude-code"])
        .env_clear()
        .env("HOME", home);
    run(&mut command, payload);
}

fn run(command: &mut Command, input: &str) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("piped");
    // A program that reads no input may have ended already.
    drop(stdin.write_all(input.as_bytes()));
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
}
