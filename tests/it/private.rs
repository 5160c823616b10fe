//! tome's own files are accessible to their owner alone, whichever command creates them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{Home, chmod, ends, has, json_of, run_with_input};

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

const ID: &str = "11111111-2222-4333-8444-555555555555";

#[test]
fn what_tome_keeps_is_private_whichever_verb_comes_first() {
    let verbs = [
        (
            "write a.md --type user --content x",
            Some(".local/share/tome/history"),
        ),
        ("setup codex", Some(".local/share/tome/setup")),
        ("setup claude-code", Some(".local/share/tome/setup")),
        ("hook claude-code", Some(".local/share/tome/events")),
        (&format!("keep {ID}"), Some(".local/share/tome/kept")),
        ("recall zebra", Some(".cache/tome/corpus")),
        ("logs", Some(".cache/tome/corpus")),
        ("history --prune", None),
        ("doctor", None),
    ];
    for (verb, made) in verbs {
        let home = Home::new();
        home.memory("MEMORY.md", "# Memory\n");
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
        let inputs = if verb.starts_with("hook") {
            vec![prompt.to_string(), tool.to_string()]
        } else {
            vec![String::new()]
        };
        for input in inputs {
            // With a umask that makes new files readable by everyone.
            let mut open = home.command_after("umask 022", verb);
            let output = run_with_input(&mut open, input);
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
    home.memory("MEMORY.md", "# Memory\n");
    home.ok("write a.md --type user --content x");
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
        chmod(data.join(name), mode);
    }
    let output = home.finds_nothing("doctor --json");
    let report = json_of(&output.out);
    assert_eq!(report["open"].as_array().map(Vec::len), Some(4));
    let problem = &report["problems"][0];
    let told = problem["problem"].as_str().expect("words");
    has(told, ["other users have access to"]);
    ends(told, "and 1 more");
    assert_eq!(problem["remedy"], "chmod -R go= ~/.local/share/tome");
    home.ok("append a.md --content y");
    // The parent directory's mode is not changed.
    assert_eq!(open_below(&data), [(data.clone(), 0o755)]);
}
