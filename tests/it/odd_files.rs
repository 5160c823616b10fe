//! Odd files in the places that tome reads in a home directory: pipes, devices, directories and
//! endless files. Each costs a warning at most: no run hangs, dies or takes much memory or time.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;
use tome::core::disk::sandbox::MOST_FILES;

use crate::support::{Home, RunOutput, has, json_of, mkfifo};

/// The most memory that a run may take, in kilobytes.
const MEMORY: u64 = 200 << 10;

/// The most processor time that a run may take, in hundredths of a second.
const TICKS: u64 = 200;

/// How long a run may last; the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

const KINDS: [&str; 4] = ["pipe", "device", "directory", "sparse"];

const ID: &str = "11111111-2222-4333-8444-555555555555";

/// Runs the program and checks what it took.
fn run(home: &Home, args: &str, about: &str) -> RunOutput {
    let (output, (memory, ticks)) = measured(home, args, PATIENCE);
    assert!(output.code >= 0, "{about}: {args} died: {output:?}");
    assert!(!output.err.contains("panicked"), "{about}: {output:?}");
    assert!(memory < MEMORY, "{about}: {args} took {memory} KB");
    assert!(ticks <= TICKS, "{about}: {args} took {ticks} ticks");
    output
}

/// Runs the program; returns what it took, too: the most memory in KB, and ticks.
fn measured(home: &Home, args: &str, patience: Duration) -> (RunOutput, (u64, u64)) {
    let mut command = home.command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let started = Instant::now();
    let (mut memory, mut ticks) = (0, 0);
    // The output of these runs is shorter than a pipe's buffer.
    while child.try_wait().expect("waits").is_none() {
        let taken = taken(child.id());
        (memory, ticks) = (memory.max(taken.0), ticks.max(taken.1));
        if started.elapsed() > patience {
            drop(child.kill());
            drop(child.wait());
            panic!("{args} hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().expect("ended");
    (RunOutput::of(&output), (memory, ticks))
}

/// The most memory (KB) and the processor time (ticks) that a process has taken so far.
fn taken(pid: u32) -> (u64, u64) {
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let status = read("status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.split_whitespace().next()?.parse().ok());
    let stat = read("stat");
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let times = fields.split_whitespace().skip(11).take(2);
    let ticks = times.filter_map(|time| time.parse::<u64>().ok()).sum();
    (peak.unwrap_or(0), ticks)
}

/// Puts an odd file in a place.
fn plant(home: &Home, place: &str, kind: &str) {
    let path = home.path().join(place);
    fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    if path.symlink_metadata().is_ok() {
        fs::remove_file(&path).expect("removed");
    }
    match kind {
        "pipe" => {
            mkfifo(&path);
        }
        "device" => symlink("/dev/zero", &path).expect("a link"),
        "directory" => fs::create_dir(&path).expect("a folder"),
        "sparse" => {
            let file = fs::File::create(&path).expect("a file");
            file.set_len(10 << 30).expect("a size");
        }
        other => panic!("{other}"),
    }
}

fn message(text: &str) -> String {
    let line = json!({
        "type": "user", "uuid": text, "cwd": "/p", "sessionId": "s",
        "message": { "role": "user", "content": text },
    });
    format!("{line}\n")
}

/// A home with a store, a log, a history and a cache.
fn home() -> Home {
    let home = Home::new();
    home.memory("MEMORY.md", "# Memory\n\n- [A](a.md) - d\n");
    home.memory(
        "a.md",
        "---\nname: A\ndescription: d\ntype: user\n---\n\nsecret\n",
    );
    home.file(
        &format!(".claude/projects/-p/{ID}.jsonl"),
        message("the secret of the good log"),
    );
    home.ok("append a.md --content more");
    home.ok("recall secret --all");
    home
}

const LOGS: [&str; 16] = [
    ".claude/projects/-p/22222222-2222-4333-8444-555555555555.jsonl",
    ".codex/session_index.jsonl",
    ".codex/sessions/2026/02/11/rollout-2026-02-11T10-00-00-0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee.jsonl",
    ".codex/sessions/2026/02/11/rollout-2026-02-11T10-00-00-0199aaaa-bbbb-7ccc-8ddd-ffffffffffff.jsonl.zst",
    ".gemini/tmp/p/chats/session-a.json",
    ".gemini/tmp/p/chats/session-b.jsonl",
    ".gemini/projects.json",
    ".copilot/session-state/one/events.jsonl",
    ".local/share/opencode/opencode.db",
    ".local/share/opencode/storage/session/p/ses_1.json",
    ".pi/agent/sessions/--p--/2026-02-11_one.jsonl",
    ".factory/sessions/p/one.jsonl",
    ".cursor/projects/p/agent-transcripts/one/one.jsonl",
    ".ai/sessions/p/one/messages.jsonl",
    "project/.aider.chat.history.md",
    ".local/share/tome/kept/claude-code/one.json",
];

#[test]
fn odd_files_in_the_place_of_a_log_cost_only_themselves() {
    for kind in KINDS {
        let home = home();
        for place in LOGS {
            plant(&home, place, kind);
        }
        let about = format!("logs: {kind}");
        for args in ["recall secret --all", "logs --all", "stats --all"] {
            let output = run(&home, args, &about);
            assert_eq!(output.code, 0, "{about}: {args:?}: {output:?}");
            if args.starts_with("recall") {
                let is_found = output.out.contains("the secret of the good log");
                assert!(is_found, "{about}: {output:?}");
            }
            if kind == "sparse" {
                for name in ["22222222", "opencode.db", "session-b.jsonl", "aider"] {
                    let is_told = output
                        .err
                        .lines()
                        .any(|line| line.contains(name) && line.contains("too large"));
                    assert!(is_told, "{about}: {args:?}: {name}: {}", output.err);
                }
            }
        }
        assert!(home.run("mcp").code >= 0, "{about}");
    }
}

#[test]
fn odd_files_in_the_cache_are_rebuilt_or_done_without() {
    for kind in KINDS {
        let home = home();
        let cache = ".cache/tome/corpus";
        let mut places = vec![
            format!("{cache}/lock"),
            format!("{cache}/checked"),
            format!("{cache}/index/meta.json"),
        ];
        for ending in ["store", "idx", "term", "fast"] {
            let names = fs::read_dir(home.path().join(cache).join("index")).expect("an index");
            let names = names.flatten().map(|entry| entry.file_name());
            let name = names.map(|name| name.to_string_lossy().into_owned());
            let name = name.into_iter().find(|name| name.ends_with(ending));
            places.push(format!("{cache}/index/{}", name.expect("a file")));
        }
        for place in places {
            plant(&home, &place, kind);
            // A new message, so that the cache is written as well.
            let log = home.path().join(format!(".claude/projects/-p/{ID}.jsonl"));
            let text = fs::read_to_string(&log).expect("a log") + &message(&place);
            fs::write(&log, text).expect("written");
            for args in ["recall secret --all", "stats --all"] {
                let output = run(&home, args, &format!("{place}: {kind}"));
                assert_eq!(output.code, 0, "{place}: {kind}: {output:?}");
            }
            let path = home.path().join(&place);
            if path.is_dir() {
                fs::remove_dir(&path).expect("removed");
            }
        }
    }
}

#[test]
fn odd_files_in_the_history_and_beside_it_are_told() {
    for kind in KINDS {
        for place in [
            ".local/share/tome/history/journal.jsonl",
            ".local/share/tome/history/versions.bin",
            ".local/share/tome/history/pending/x.json",
            ".local/share/tome/history/locks/journal",
            ".local/share/tome/unsaved/x.json",
            ".config/tome/config.toml",
            ".config/tome/keymap.toml",
            ".config/tome/theme.toml",
        ] {
            let home = home();
            plant(&home, place, kind);
            for args in [
                "list",
                "append a.md --content 'yet more'",
                "history",
                "undo",
                "doctor",
            ] {
                let output = run(&home, args, &format!("{place}: {kind}"));
                assert!(output.code <= 2, "{place}: {kind}: {args:?}: {output:?}");
            }
        }
    }
}

#[test]
fn odd_files_in_a_store_are_left_out() {
    for kind in KINDS {
        let home = home();
        for place in [
            "project/.memory/b.md",
            "project/memory/messages.jsonl",
            "project/data/memory/events.jsonl",
            "project/CLAUDE.md",
        ] {
            plant(&home, place, kind);
        }
        for args in [
            "list",
            "read b.md",
            "find secret",
            "append a.md --content 'yet more'",
            "append b.md --content 'yet more'",
            "doctor",
            "context",
        ] {
            run(&home, args, &format!("store: {kind}"));
        }
    }
}

#[test]
fn a_log_without_a_line_break_stops_nothing() {
    let home = home();
    let bad = home.file(
        ".claude/projects/-p/22222222-2222-4333-8444-555555555555.jsonl",
        message("before the secret hole"),
    );
    let file = fs::OpenOptions::new()
        .write(true)
        .open(&bad)
        .expect("opens");
    file.set_len(300 << 20).expect("a size");
    for args in ["recall secret --all", "logs --all"] {
        let output = run(&home, args, "no line break");
        assert_eq!(output.code, 0, "{output:?}");
        if args.starts_with("recall") {
            has(
                &output.out,
                ["the secret of the good log", "before the secret hole"],
            );
            let told = "1 of its records is longer than 32 MB";
            has(&output.err, [told]);
        }
    }
    let output = run(&home, "log 22222222", "no line break");
    has(&output.out, ["before the secret hole"]);
    has(&output.err, ["longer than 32 MB"]);
}

#[test]
fn many_small_turns_take_little_memory() {
    let home = home();
    let mut text = "# aider chat started at 2026-08-01 10:00:00\n".to_owned();
    // Read at once, each of these bytes takes about twenty in memory.
    text.push_str(&"#### a\nb\n".repeat(1 << 20));
    home.file("project/.aider.chat.history.md", text);
    // With a new cache.
    fs::remove_dir_all(home.path().join(".cache")).expect("a cache");
    let (_, (peak, _)) = measured(&home, "recall secret", PATIENCE * 10);
    assert!(peak < MEMORY, "{peak} KB");
    let output = home.run("logs --json");
    assert_eq!(output.code, 0, "{output:?}");
    let listed = json_of(&output.out);
    let turns = listed["logs"].as_array().map(|logs| {
        let turns = logs.iter().filter_map(|log| log["turns"].as_u64());
        turns.max()
    });
    assert_eq!(turns.flatten(), Some(1 << 20), "{output:?}");
}

/// The files of the cache, without its locks.
fn cache_files(home: &Home) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(home.path().join(".cache/tome/corpus"));
    let entries = entries.into_iter().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file());
    let paths = files.map(walkdir::DirEntry::into_path);
    let is_lock = |path: &PathBuf| path.to_string_lossy().ends_with("lock");
    let mut files: Vec<PathBuf> = paths.filter(|path| !is_lock(path)).collect();
    // A cache that was built anew has other names, with the same endings.
    files.sort_by_cached_key(|path| path.extension().map(std::ffi::OsStr::to_owned));
    files
}

#[test]
fn damage_at_rest_in_the_cache_changes_no_answer() {
    let home = home();
    let answers = || {
        [
            "stats --json --all",
            "logs --json --all",
            "logs --json --all --role user",
            "recall secret --json --all",
        ]
        .map(|args| {
            let mut answer = home.run(args);
            // The size of the cache is no answer about the logs.
            let mut json = json_of(&answer.out);
            json["cache"].take();
            answer.out = json.to_string();
            answer
        })
    };
    let right = answers();
    let damage: [fn(&Path); 2] = [
        |path| {
            let mut bytes = fs::read(path).expect("a file");
            bytes.iter_mut().skip(16).for_each(|byte| *byte ^= 0x55);
            fs::write(path, bytes).expect("written");
        },
        |path| {
            let file = fs::OpenOptions::new().write(true).open(path);
            file.expect("opens").set_len(17).expect("cut");
        },
    ];
    for damage in damage {
        let count = cache_files(&home).len();
        assert!(count >= 8, "the files of the cache are found");
        for file in 0..count {
            let path = &cache_files(&home)[file];
            damage(path);
            assert_eq!(answers(), right, "{}", path.display());
        }
    }
}

#[test]
fn a_store_of_too_many_files_is_left_out_and_told_and_hooks_go_on() {
    let home = Home::in_memory();
    home.file("project/CLAUDE.md", "# retry\n");
    home.memory("MEMORY.md", "# Memory\n\n- [a](a.md) - d\n");
    home.memory(
        "a.md",
        "---\nname: A\ndescription: d\ntype: user\n---\n\nretry\n",
    );
    let store = home.project().join(".memory");
    for number in 0..MOST_FILES {
        fs::write(store.join(format!("m{number}.md")), "").expect("a file");
    }
    for args in [
        "list",
        "review",
        "recall retry",
        "find retry",
        "ledger",
        "curate",
        "stores",
        "doctor",
    ] {
        let output = home.run(args);
        let told = format!("{}{}", output.out, output.err);
        let words = if args == "stores" {
            "unreadable"
        } else {
            "more than 100000 files"
        };
        assert!(told.contains(words), "{args:?}: {output:?}");
        assert!(output.code < 2, "{args:?}: {output:?}");
    }
    let found = home.ok("recall retry");
    assert!(
        found.contains("CLAUDE.md"),
        "other stores are searched: {found}"
    );
    has(home.ok("read a.md"), ["retry"]);
    let event = json!({ "session_id": "s", "cwd": home.project(),
        "hook_event_name": "SessionStart", "source": "startup" });
    let output = home.run_with_input("hook claude-code", event.to_string());
    has(&output.out, ["[a](a.md)"]);
}
