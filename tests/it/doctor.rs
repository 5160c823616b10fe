//! `tome doctor`, and the first start of a user who has no memories yet.

use std::fs;

use serde_json::Value;

use crate::support::{Home, Paused, ends, has, json_of, lacks, starts, tree};

fn report(home: &Home) -> (i32, Value) {
    let output = home.run("doctor --json");
    let report = json_of(&output.out);
    assert_eq!(report["schema"], 1);
    (output.code, report)
}

fn problems(report: &Value) -> Vec<String> {
    let problems = report["problems"].as_array().expect("a list");
    let details = problems.iter().map(|problem| {
        let part = |name: &str| problem[name].as_str().expect("a text").to_owned();
        assert!(!part("remedy").is_empty(), "{problem}");
        format!("{}: {}", part("place"), part("problem"))
    });
    details.collect()
}

#[test]
fn all_is_well_in_an_empty_home_and_nothing_is_written() {
    let home = Home::new();
    let before = tree(&home.path());
    let out = home.ok("doctor");
    starts(&out, "tome 0.1.0");
    ends(&out, "\nAll is well.\n");
    has(&out, ["no logs of claude-code, codex"]);
    let (code, report) = report(&home);
    assert_eq!((code, problems(&report)), (0, Vec::new()));
    assert_eq!(report["agents"].as_array().map(Vec::len), Some(27));
    assert_eq!(report["folders"]["data"]["state"], "missing");
    assert_eq!(report["cache"]["state"], "empty");
    assert_eq!(tree(&home.path()), before);
}

#[test]
fn why_a_job_of_codex_failed_is_told_without_its_secrets() {
    let home = Home::new();
    home.file(".codex/config.toml", "");
    let path = home.path().join(".codex/memories_1.sqlite");
    let key = "sk-ant-api03-Zx8Qw2Er5Ty7Ui9Op1As3Df4Gh6Jk8Lz0Xc2Vb4Nm6Qw8Er0Ty2Ui4Op6As8Df0Gh2Jk4Lz6Xc8Vb0Nm2Qw4Er6Ty8Ui0Op2A-AAAA";
    let database = rusqlite::Connection::open(&path).expect("a database");
    database
        .execute_batch(&format!(
            "CREATE TABLE jobs (kind TEXT, job_key TEXT, status TEXT, last_error TEXT);
             INSERT INTO jobs VALUES ('a', 'b', 'error', 'refused: key {key}');"
        ))
        .expect("rows");
    drop(database);
    let (_, report) = report(&home);
    let problems = problems(&report).join("\n");
    has(&problems, ["the first says: refused: key"]);
    lacks(&problems, [key]);
}

#[test]
fn the_sample_is_well_and_its_agents_and_stores_are_counted() {
    let home = Home::new();
    let output = home.run("--demo doctor --json");
    assert_eq!(output.code, 0, "{output:?}");
    let report = json_of(&output.out);
    let agent = |name: &str| {
        let agents = report["agents"].as_array().expect("a list");
        let row = agents.iter().find(|row| row["agent"] == name);
        row.expect("every agent has a row").clone()
    };
    assert_eq!(agent("claude-code")["logs"], 3);
    assert_eq!(agent("gemini")["logs"], 2);
    assert_eq!(agent("codex")["registered"], "not registered");
    assert_eq!(agent("cursor")["registered"], Value::Null);
    assert!(agent("codex")["newest"].is_string());
    let stores = report["stores"].as_array().expect("a list");
    assert!(stores.iter().any(|store| store["memories"] == 10));
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_exits_with_one() {
    let home = Home::new();
    home.file(".config/tome/config.toml", "author = \"kim\"\nshape = 1\n");
    home.file(
        ".config/tome/keymap.toml",
        "tree = [\n  { on = \"x\", run = \"dance\" },\n]\n",
    );
    home.file(
        ".config/tome/theme.toml",
        "[dark]\naccent = \"mauve-ish\"\n",
    );
    home.file(".local/share/tome", "a file where a directory should be");
    home.file(".gemini/settings.json", "{ \"hooks\": ");
    home.memory("MEMORY.md", "# Memory\n");
    home.memory("a.md", "---\nname: A\n\nNo end of the header.\n");
    let (code, report) = report(&home);
    assert_eq!(code, 1);
    let details = problems(&report);
    for expected in [
        "~/.config/tome/config.toml:2: ",
        "~/.config/tome/keymap.toml:2: no action 'dance'",
        "~/.config/tome/theme.toml:2: ",
        "~/.local/share/tome: is no directory",
        "~/.local/share/tome/history: is not there and cannot be made",
        "gemini: its settings cannot be read: ",
    ] {
        let found = details.iter().any(|line| line.starts_with(expected));
        assert!(found, "{expected} in {details:#?}");
    }
    let output = home.finds_nothing("doctor");
    has(&output.out, ["things need attention"]);
    assert_eq!(output.err, "", "each is told once");
}

#[test]
fn registered_agents_are_told_and_so_is_another_program() {
    let home = Home::new();
    home.ok("setup codex");
    let registered = |report: &Value| {
        let agents = report["agents"].as_array().expect("a list");
        let row = agents.iter().find(|row| row["agent"] == "codex");
        row.expect("a row")["registered"].clone()
    };
    let (code, details) = report(&home);
    assert_eq!((code, registered(&details)), (0, "registered".into()));
    let path = home.path().join(".codex/config.toml");
    let program = env!("CARGO_BIN_EXE_tome");
    let text = fs::read_to_string(&path).expect("text");
    fs::write(&path, text.replace(program, "/gone/tome")).expect("written");
    let (code, details) = report(&home);
    assert_eq!(
        (code, registered(&details)),
        (1, "registered otherwise".into())
    );
    starts(&problems(&details)[0], "codex: ");
}

#[test]
fn an_interrupted_change_is_told_and_left_alone() {
    let home = Home::new();
    home.memory("MEMORY.md", "# Memory\n");
    let change = "write a.md --type user --content body";
    // The first steps come before anything is written.
    let interrupted = (1..60).any(|step| {
        let paused = home.paused_at(change, step);
        let is_paused = paused.is_some();
        paused.into_iter().for_each(Paused::kill);
        let pending = home.path().join(".local/share/tome/history/pending");
        let pending = fs::read_dir(pending).map_or(0, Iterator::count);
        is_paused && pending > 0
    });
    assert!(interrupted, "a change was interrupted");
    for _ in 0..2 {
        let (code, details) = report(&home);
        assert_eq!(code, 1);
        let details = problems(&details);
        has(&details[0], ["write was interrupted"]);
    }
    home.run("list");
    assert_eq!(report(&home).0, 0);
}

#[test]
fn with_nothing_found_it_is_said_where_and_the_sample_is_named() {
    let home = Home::new();
    for verb in ["list", "stores"] {
        let output = home.run(&[verb]);
        assert_eq!((output.code, output.out.as_str()), (1, ""), "{verb}");
        for expected in [
            "~/.claude/projects",
            "~/.codex/memories",
            ".memory",
            "tome --demo",
        ] {
            assert!(output.err.contains(expected), "{verb}: {}", output.err);
        }
    }
}

#[test]
fn the_version_is_told_with_the_commit_or_without() {
    let home = Home::new();
    let out = home.ok("--version");
    let version = out.trim_end().strip_prefix("tome ").expect("a name");
    let (number, commit) = version.split_once(' ').unwrap_or((version, ""));
    assert_eq!(number, env!("CARGO_PKG_VERSION"));
    if !commit.is_empty() {
        let inside = commit.strip_prefix('(').and_then(|c| c.strip_suffix(')'));
        let (hash, day) = inside.and_then(|c| c.split_once(' ')).expect("two words");
        assert!(hash.len() >= 7 && hash.chars().all(|c| c.is_ascii_hexdigit()));
        assert_eq!(day.split('-').count(), 3);
    }
}

#[test]
fn a_file_that_is_not_text_is_to_be_converted_and_not_edited() {
    let home = Home::new();
    let head = b"---\nname: Old\ndescription: d\ntype: project\n---\n\ncaf\xe9\n";
    home.memory("old.md", head.as_slice());
    home.memory("MEMORY.md", "- [Old](old.md) - d\n");
    let (_, report) = report(&home);
    let problems = report["problems"].as_array().expect("a list");
    let about = problems.iter().find(|problem| {
        let text = problem["problem"].as_str().unwrap_or_default();
        text.contains("not UTF-8 text")
    });
    let remedy = about.and_then(|problem| problem["remedy"].as_str());
    let remedy = remedy.expect("it is told");
    has(remedy, ["iconv -f ENCODING", "FILE#ENTRY"]);
    lacks(remedy, ["`e`", "latin1"]);
}

#[test]
fn further_stores_of_claude_code_are_read_as_it_reads_them() {
    let home = Home::new();
    let index = home.file("shared/team/MEMORY.md", "# Memory\n");
    let root = index.parent().expect("a folder").to_str().expect("text");
    let doctor = |value: &str| {
        home.run_with([("CLAUDE_MEMORY_STORES", value)], "doctor")
            .out
    };
    has(
        doctor(&format!("[{{\"path\": \"{root}\"}}]")),
        ["claude@team"],
    );
    let shown = doctor(root);
    has(&shown, ["CLAUDE_MEMORY_STORES", "no JSON list of paths"]);
    lacks(&shown, ["claude@team"]);
}

#[test]
fn each_setting_is_shown_with_where_it_comes_from() {
    let home = Home::new();
    let file = home.file(
        ".config/tome/config.toml",
        "author = \"kim\"\n[recall]\nlimit = 7\n[hook]\ncapture = false\n",
    );
    let output = home.run_with([("TOME_RECALL_LIMIT", "9")], "doctor --json");
    let report = json_of(&output.out);
    let setting = |key: &str| {
        let setting = &report["settings"][key];
        let field = |name: &str| setting[name].as_str().expect(key).to_owned();
        (field("value"), field("from"))
    };
    let pair = |value: &str, from: &str| (value.to_owned(), from.to_owned());
    let file = file.display().to_string();
    assert_eq!(setting("color"), pair("auto", "default"));
    assert_eq!(setting("author"), pair("kim", &file));
    assert_eq!(setting("hook.capture"), pair("false", &file));
    assert_eq!(setting("recall.limit"), pair("9", "TOME_RECALL_LIMIT"));
    let shown = home.run("doctor").out;
    let line = shown.lines().find(|line| line.contains("recall.limit"));
    assert!(
        line.is_some_and(|line| line.contains('7') && line.contains("config.toml")),
        "{shown}"
    );
}

#[test]
fn what_a_killed_process_left_is_named_and_removed() {
    let home = Home::new();
    home.ok("setup claude-code --plugin plug");
    home.ok("setup copilot");
    home.memory("MEMORY.md", "# Memory\n");
    home.ok("write a.md --type user --content a");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(600);
    let left = [
        "project/plug/skills/recall/SKILL.md.4242-0.tome.tmp",
        ".config/tome/config.toml.4242-1.tome.tmp",
        ".copilot/hooks/tome.json.4242-2.tome.tmp",
        ".local/share/tome/history/journal.jsonl.4242-3.tome.tmp",
    ];
    for name in left {
        let path = home.file(name, "{}");
        let file = std::fs::OpenOptions::new().write(true).open(path);
        file.and_then(|file| file.set_modified(old))
            .expect("a time");
    }
    let output = home.finds_nothing("doctor");
    for name in left {
        let name = name.rsplit('/').next().unwrap_or_default();
        assert!(output.out.contains(name), "{name}: {output:?}");
    }
    home.ok("setup codex --dry-run");
    home.ok("append a.md --content b");
    for name in left {
        assert!(!home.path().join(name).exists(), "{name}");
    }
    lacks(&home.run("doctor").out, ["tome.tmp"]);
}
