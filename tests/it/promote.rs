//! Promoting lines of a log to a memory, and the way back to the lines.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Home, tree};

const ID: &str = "33333333-3333-4444-8555-666666666666";

fn log_path(home: &Home) -> String {
    let folder = home.project().display().to_string();
    let folder = folder.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    format!(".claude/projects/{folder}/{ID}.jsonl")
}

/// A session in which something is decided, with a secret in it.
fn session(home: &Home) -> std::path::PathBuf {
    let said = [
        (
            "user",
            "why does refresh rotation log people out on two tabs?",
        ),
        (
            "assistant",
            "The root cause is a race in rotate(): both tabs present the same refresh token.",
        ),
        (
            "user",
            "never revoke the family before a grace window of ten seconds",
        ),
        (
            "assistant",
            "The staging key is AKIAIOSFODNN7EXAMPLE1 and it works.\\n\\nKept the window.",
        ),
    ];
    let mut text = String::new();
    for (number, (role, words)) in said.iter().enumerate() {
        let record = json!({
            "type": role,
            "uuid": format!("u{number}"),
            "sessionId": ID,
            "timestamp": format!("2026-02-03T10:0{number}:00Z"),
            "cwd": home.project(),
            "message": { "role": role, "content": words },
        });
        text += &format!("{record}\n");
    }
    home.file(&log_path(home), text)
}

/// A home with a session and a store with an index.
fn shop() -> (Home, std::path::PathBuf) {
    let home = Home::new();
    let log = session(&home);
    home.file(
        "project/.memory/MEMORY.md",
        "# Memory\n\n## Project\n- [Tea](tea.md) - green\n",
    );
    home.file(
        "project/.memory/tea.md",
        "---\nname: Tea\ndescription: green\ntype: project\n---\n\nGreen.\n",
    );
    (home, log)
}

fn files(home: &Home) -> std::collections::BTreeMap<String, Vec<u8>> {
    tree(&home.project().join(".memory"))
}

fn json_of(home: &Home, args: &[&str]) -> Value {
    let all: Vec<&str> = args.iter().chain(&["--json"]).copied().collect();
    serde_json::from_str(&home.ok(&all)).expect("JSON")
}

#[test]
fn a_line_of_a_stores_own_log_is_promoted_as_recall_cites_it() {
    let home = Home::new();
    let event = |id: u32, kind: &str, role: &str, text: &str| {
        json!({ "event_id": id.to_string(), "session_id": "s1", "timestamp": 1_790_000_000_000_u64,
            "event_type": kind, "role": role, "text": text, "metadata": {} })
    };
    let told = event(1, "user_message", "user", "staging lives on quokka17 now");
    let noted = event(2, "assistant_stop", "assistant", "Noted.");
    home.file("project/.memory/events.jsonl", format!("{told}\n{noted}\n"));
    home.file("project/.claude/memory/MEMORY.md", "# Memory\n");
    let recalled = json_of(&home, &["recall", "quokka17"]);
    let cited = recalled["results"][0]["citation"].as_str();
    let cited = cited.expect("a citation");
    assert!(cited.ends_with("events.jsonl#L1"), "{recalled}");
    let said = home.ok(&["promote", cited, "--store", ".claude/memory"]);
    assert!(said.contains("quokka17"), "{said}");
    let head = &json_of(&home, &["log", "s1"])["head"];
    assert_eq!(head["first_prompt"], "staging lives on quokka17 now");
    assert_eq!((&head["turns"], &head["replies"]), (&json!(1), &json!(1)));
}

#[test]
fn promoted_lines_are_recalled_and_their_grip_outlives_the_log_and_the_cache() {
    let (home, log) = shop();
    let before = files(&home);
    let cited = format!("claude-code:{ID}#L2");
    let shown = home.ok(&["promote", &cited, "--dry-run"]);
    assert!(
        shown.contains("+> The root cause is a race in rotate()"),
        "{shown}"
    );
    assert!(shown.contains("MEMORY.md"), "{shown}");
    assert_eq!(files(&home), before, "nothing is written");
    let done = json_of(&home, &["promote", &cited, "--name", "Rotation race"]);
    let grip = done["grips"][0].as_str().expect("a grip");
    assert_eq!(done["path"], "rotation_race.md");
    let text = home.read("project/.memory/rotation_race.md");
    assert!(
        text.starts_with("---\nname: Rotation race\ndescription: "),
        "{text}"
    );
    assert!(text.contains("\ntype: project\n"), "{text}");
    assert!(text.contains(&format!("<!-- {grip} {cited} ")), "{text}");
    assert!(
        home.read("project/.memory/MEMORY.md")
            .contains("(rotation_race.md)")
    );

    let found = json_of(&home, &["recall", "race in rotate", "--scope", "detail"]);
    let hits = found["results"].as_array().expect("results");
    assert!(!hits.is_empty());
    for hit in hits {
        let words = hit["text"].as_str().expect("text");
        assert!(
            !words.contains("grip:") && !words.contains("<!--"),
            "{words}"
        );
    }
    assert_eq!(hits[0]["file_path"], "rotation_race.md");
    let by_grip = home.run(&["recall", &format!("\"{cited}\""), "--scope", "detail"]);
    assert_eq!(by_grip.code, 1, "the comment is no hit: {}", by_grip.out);

    let expanded = json_of(&home, &["grip", grip]);
    assert_eq!(expanded["state"], "current");
    assert_eq!(expanded["grip"]["citation"], cited.as_str());
    assert_eq!(expanded["excerpt"].as_array().map(Vec::len), Some(1));
    let read = home.ok(&[
        "read",
        expanded["grip"]["citation"].as_str().expect("a citation"),
    ]);
    assert!(read.contains("race in rotate()"), "{read}");

    fs::remove_file(&log).expect("the log is deleted");
    fs::remove_dir_all(home.path().join(".cache")).ok();
    let shown = home.ok(&["grip", grip]);
    assert!(shown.contains("race in rotate()"), "{shown}");
    assert!(shown.contains("The log is gone"), "{shown}");

    home.ok(&["undo"]);
    assert_eq!(files(&home), before, "one undo takes all of it back");
}

#[test]
fn a_bullet_of_the_timeline_is_promoted_by_its_grip() {
    let (home, _log) = shop();
    let found = json_of(&home, &["teleport", "race", "rotate"]);
    let grip = found["results"][0]["grips"][0].as_str().expect("a grip");
    home.ok(&["promote", grip, "--name", "From a bullet"]);
    let text = home.read("project/.memory/from_a_bullet.md");
    assert!(text.contains("race in rotate()"), "{text}");
    assert!(text.contains(&format!("<!-- {grip} ")), "{text}");
    assert_eq!(json_of(&home, &["grip", grip])["state"], "current");
}

#[test]
fn secrets_are_masked_and_a_range_is_quoted_without_what_tools_did() {
    let (home, _log) = shop();
    let cited = format!("claude-code:{ID}#L3-4");
    home.ok(&["promote", &cited, "--name", "Window"]);
    let text = home.read("project/.memory/window.md");
    assert!(!text.contains("AKIAIOSFODNN7EXAMPLE1"), "{text}");
    assert!(text.contains("> never revoke the family"), "{text}");
    assert!(
        text.contains("\ntype: feedback\n"),
        "a wish of the user: {text}"
    );
    assert_eq!(text.matches("<!-- grip:").count(), 2, "{text}");
}

#[test]
fn the_text_may_be_rewritten_and_the_grip_stays() {
    let (home, log) = shop();
    let cited = format!("claude-code:{ID}#L2");
    let args = [
        "promote",
        &cited,
        "--name",
        "Own words",
        "--content",
        "Keep two tabs apart.",
    ];
    let done = json_of(&home, &args);
    let grip = done["grips"][0].as_str().expect("a grip");
    let text = home.read("project/.memory/own_words.md");
    assert!(text.contains("\nKeep two tabs apart.\n"), "{text}");
    assert!(!text.contains("> The root cause"), "{text}");
    fs::remove_file(log).expect("the log is deleted");
    fs::remove_dir_all(home.path().join(".cache")).ok();
    assert!(home.ok(&["grip", grip]).contains("race in rotate()"));
}

#[test]
fn what_cannot_be_promoted_is_told_and_nothing_is_written() {
    let (home, _log) = shop();
    let before = files(&home);
    for (args, words) in [
        (vec!["promote", "grip:1:none"], "grip:1:none"),
        (vec!["promote", "tea.md"], "such as codex:ID#L12-14"),
        (vec!["promote", "claude-code:nobody#L1"], "nobody"),
    ] {
        let run = home.run(&args);
        assert_eq!(run.code, 2, "{args:?}");
        assert!(run.err.contains(words), "{}", run.err);
    }
    let whole = format!("claude-code:{ID}");
    assert!(
        home.run(&["promote", &whole])
            .err
            .contains("name its lines")
    );
    let beyond = format!("claude-code:{ID}#L99");
    assert_eq!(home.run(&["promote", &beyond]).code, 2);
    let cited = format!("claude-code:{ID}#L2");
    let wrong = home.run(&["promote", &cited, "--type", "episodic"]);
    assert!(
        wrong.err.contains("user, feedback, project, reference"),
        "{}",
        wrong.err
    );
    let taken = home.run(&["promote", &cited, "--name", "Tea"]);
    assert!(taken.err.contains("exists already"), "{}", taken.err);
    assert_eq!(files(&home), before);
}

#[test]
fn each_layout_takes_a_promoted_memory_in_its_own_form() {
    let cited = format!("claude-code:{ID}#L2");
    for (root, first, path, contains) in [
        ("facts", "facts/user.md", "facts/race.md", "> Summary: "),
        (
            "coder",
            "semantic/a.md",
            "semantic/race.md",
            "**Title:** Race",
        ),
        (
            "session",
            "working-memory/overview.md",
            "working-memory/detail/race.md",
            "META:",
        ),
    ] {
        let home = Home::new();
        let log = session(&home);
        home.file(&format!("{root}/{first}"), "# A\n\ntext\n");
        let store = home.path().join(root);
        let store = store.to_str().expect("UTF-8");
        let done = json_of(
            &home,
            &["promote", &cited, "--store", store, "--name", "Race"],
        );
        let text = home.read(&format!("{root}/{path}"));
        assert!(text.contains(contains), "{text}");
        assert!(text.contains("> The root cause"), "{text}");
        let grip = done["grips"][0].as_str().expect("a grip");
        fs::remove_file(log).expect("the log is deleted");
        let shown = home.ok(&["grip", grip, "--store", store]);
        assert!(shown.contains("The log is gone"), "{shown}");
    }
}
