//! tome's own files are accessible to their owner alone, whichever command creates them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Home, RunOutput, ends, has};

/// Everything below a directory that others can access, with its mode.
fn open_below(top: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    let mut folders = vec![top.to_owned()];
    while let Some(path) = folders.pop() {
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        let mode = meta.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            found.push((path.clone(), mode));
        }
        if meta.is_dir() {
            let entries = fs::read_dir(&path).expect("readable").flatten();
            folders.extend(entries.map(|entry| entry.path()));
        }
    }
    found
}

/// Runs the program with a umask that makes new files readable by everyone.
fn run_open(home: &Home, args: &[&str], input: &str) -> RunOutput {
    use std::io::Write as _;
    let plain = home.command(args);
    let mut command = home.command(&[]);
    let mut shell = std::process::Command::new("/bin/sh");
    shell
        .args(["-c", "umask 022; exec \"$0\" \"$@\""])
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(home.project())
        .env_clear();
    for (name, value) in command.env("LANG", "C").get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let child = shell
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.expect("the program runs");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("input is read");
    drop(stdin);
    RunOutput::of(&child.wait_with_output().expect("the program ends"))
}

const ID: &str = "11111111-2222-4333-8444-555555555555";

#[test]
fn what_tome_keeps_is_private_whichever_verb_comes_first() {
    let write: &[&str] = &["write", "a.md", "--type", "user", "--content", "x"];
    let verbs: [(&[&str], Option<&str>); 9] = [
        (write, Some(".local/share/tome/history")),
        (&["setup", "codex"], Some(".local/share/tome/setup")),
        (&["setup", "claude-code"], Some(".local/share/tome/setup")),
        (&["hook", "claude-code"], Some(".local/share/tome/events")),
        (&["keep", ID], Some(".local/share/tome/kept")),
        (&["recall", "zebra"], Some(".cache/tome/corpus")),
        (&["logs"], Some(".cache/tome/corpus")),
        (&["history", "--prune"], None),
        (&["doctor"], None),
    ];
    for (verb, made) in verbs {
        let home = Home::new();
        home.file("project/.memory/MEMORY.md", "# Memory\n");
        home.claude_log(ID, &[("user", "find the zebra")]);
        for data in [".local", ".cache"] {
            assert!(!home.path().join(data).exists(), "it is the first verb");
        }
        let prompt = json!({
            "hook_event_name": "UserPromptSubmit", "session_id": "s1",
            "cwd": home.project(), "transcript_path": "/t", "prompt": "find the zebra",
        });
        let tool = json!({
            "hook_event_name": "PostToolUse", "session_id": "s1", "cwd": home.project(),
            "transcript_path": "/t", "tool_name": "Edit",
            "tool_input": { "file_path": "/x", "old_string": "a", "new_string": "b" },
        });
        let inputs = match verb[0] {
            "hook" => vec![prompt.to_string(), tool.to_string()],
            _ => vec![String::new()],
        };
        for input in inputs {
            let output = run_open(&home, verb, &input);
            assert_eq!(output.code, 0, "{verb:?}: {output:?}");
        }
        if let Some(made) = made {
            let made = home.path().join(made);
            assert!(made.is_dir(), "{verb:?} makes {}", made.display());
        }
        for top in [".local/share/tome", ".cache/tome"] {
            let open = open_below(&home.path().join(top));
            assert_eq!(open, [], "{verb:?}");
        }
    }
}

#[test]
fn what_is_wider_is_told_by_the_doctor_and_tightened_when_it_is_written() {
    let home = Home::new();
    home.file("project/.memory/MEMORY.md", "# Memory\n");
    home.ok(&["write", "a.md", "--type", "user", "--content", "x"]);
    let data = home.path().join(".local/share/tome");
    for name in [
        "",
        "history",
        "history/journal.jsonl",
        "history/versions.bin",
    ] {
        let mode = if data.join(name).is_dir() {
            0o755
        } else {
            0o644
        };
        fs::set_permissions(data.join(name), fs::Permissions::from_mode(mode)).expect("a mode");
    }
    let output = home.run(&["doctor", "--json"]);
    assert_eq!(output.code, 1, "{output:?}");
    let report: Value = serde_json::from_str(&output.out).expect("JSON");
    assert_eq!(report["open"].as_array().map(Vec::len), Some(4));
    let problem = &report["problems"][0];
    let told = problem["problem"].as_str().expect("words");
    has(told, ["other users have access to"]);
    ends(told, "and 1 more");
    assert_eq!(problem["remedy"], "chmod -R go= ~/.local/share/tome");
    home.ok(&["append", "a.md", "--content", "y"]);
    // The parent directory's mode is not changed.
    assert_eq!(open_below(&data), [(data.clone(), 0o755)]);
}
