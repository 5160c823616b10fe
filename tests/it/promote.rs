//! Promoting lines of a log to a memory, and the way back to the lines.

use std::fs;

use serde_json::json;

use crate::support::{Home, has, lacks, starts, tree};

const ID: &str = "33333333-3333-4444-8555-666666666666";

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
    home.claude_log(ID, &said)
}

/// A home with a session and a store with an index.
fn shop() -> (Home, std::path::PathBuf) {
    let home = Home::new();
    let log = session(&home);
    home.memory(
        "MEMORY.md",
        "# Memory\n\n## Project\n- [Tea](tea.md) - green\n",
    );
    home.memory(
        "tea.md",
        "---\nname: Tea\ndescription: green\ntype: project\n---\n\nGreen.\n",
    );
    (home, log)
}

fn files(home: &Home) -> std::collections::BTreeMap<String, Vec<u8>> {
    tree(&home.project().join(".memory"))
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
    home.memory("events.jsonl", format!("{told}\n{noted}\n"));
    home.file("project/.claude/memory/MEMORY.md", "# Memory\n");
    let other = event(3, "user_message", "user", "another store");
    home.file("project/data/memory/events.jsonl", format!("{other}\n"));
    let recalled = home.json(&["recall", "quokka17"]);
    let cited = recalled["results"][0]["citation"].as_str();
    let cited = cited.expect("a citation");
    assert!(cited.ends_with("events.jsonl#L1"), "{recalled}");
    let said = home.ok(&["promote", cited, "--store", ".claude/memory"]);
    assert!(said.contains("quokka17"), "{said}");
    let head = &home.json(&["log", "s1"])["head"];
    assert_eq!(head["first_prompt"], "staging lives on quokka17 now");
    assert_eq!((&head["turns"], &head["replies"]), (&json!(1), &json!(1)));
}

#[test]
fn promoted_lines_are_recalled_and_their_grip_outlives_the_log_and_the_cache() {
    let (home, log) = shop();
    let before = files(&home);
    let cited = format!("claude-code:{ID}#L2");
    let shown = home.ok(&["promote", &cited, "--dry-run"]);
    has(
        &shown,
        ["+> The root cause is a race in rotate()", "MEMORY.md"],
    );
    assert_eq!(files(&home), before, "nothing is written");
    let done = home.json(&["promote", &cited, "--name", "Rotation race"]);
    let grip = done["grips"][0].as_str().expect("a grip");
    assert_eq!(done["path"], "rotation_race.md");
    let text = home.read_memory("rotation_race.md");
    starts(&text, "---\nname: Rotation race\ndescription: ");
    has(
        &text,
        ["\ntype: project\n", &format!("<!-- {grip} {cited} ")],
    );
    has(home.read_memory("MEMORY.md"), ["(rotation_race.md)"]);

    let found = home.json(&["recall", "race in rotate", "--scope", "detail"]);
    let hits = found["results"].as_array().expect("results");
    assert!(!hits.is_empty());
    for hit in hits {
        let words = hit["text"].as_str().expect("text");
        lacks(words, ["grip:", "<!--"]);
    }
    assert_eq!(hits[0]["file_path"], "rotation_race.md");
    let by_grip = home.run(&["recall", &format!("\"{cited}\""), "--scope", "detail"]);
    assert_eq!(by_grip.code, 1, "the comment is no hit: {}", by_grip.out);

    let expanded = home.json(&["grip", grip]);
    assert_eq!(expanded["state"], "current");
    assert_eq!(expanded["grip"]["citation"], cited.as_str());
    assert_eq!(expanded["excerpt"].as_array().map(Vec::len), Some(1));
    let read = home.ok(&[
        "read",
        expanded["grip"]["citation"].as_str().expect("a citation"),
    ]);
    has(&read, ["race in rotate()"]);

    fs::remove_file(&log).expect("the log is deleted");
    fs::remove_dir_all(home.path().join(".cache")).ok();
    let shown = home.ok(&["grip", grip]);
    has(&shown, ["race in rotate()", "The log is gone"]);

    home.ok("undo");
    assert_eq!(files(&home), before, "one undo takes all of it back");
}

#[test]
fn a_bullet_of_the_timeline_is_promoted_by_its_grip() {
    let (home, _log) = shop();
    let found = home.json(&["teleport", "race", "rotate"]);
    let grip = found["results"][0]["grips"][0].as_str().expect("a grip");
    home.ok(&["promote", grip, "--name", "From a bullet"]);
    let text = home.read_memory("from_a_bullet.md");
    has(&text, ["race in rotate()", &format!("<!-- {grip} ")]);
    assert_eq!(home.json(&["grip", grip])["state"], "current");
}

#[test]
fn secrets_are_masked_and_a_range_is_quoted_without_what_tools_did() {
    let (home, _log) = shop();
    let cited = format!("claude-code:{ID}#L3-4");
    home.ok(&["promote", &cited, "--name", "Window"]);
    let text = home.read_memory("window.md");
    lacks(&text, ["AKIAIOSFODNN7EXAMPLE1"]);
    has(&text, ["> never revoke the family"]);
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
    let done = home.json(&args);
    let grip = done["grips"][0].as_str().expect("a grip");
    let text = home.read_memory("own_words.md");
    has(&text, ["\nKeep two tabs apart.\n"]);
    lacks(&text, ["> The root cause"]);
    fs::remove_file(log).expect("the log is deleted");
    fs::remove_dir_all(home.path().join(".cache")).ok();
    has(home.ok(&["grip", grip]), ["race in rotate()"]);
}

#[test]
fn what_cannot_be_promoted_is_told_and_nothing_is_written() {
    let (home, _log) = shop();
    let before = files(&home);
    for (args, words) in [
        ("promote grip:1:none", "grip:1:none"),
        ("promote tea.md", "such as codex:ID#L12-14"),
        ("promote claude-code:nobody#L1", "nobody"),
    ] {
        let run = home.run(&args);
        assert_eq!(run.code, 2, "{args:?}");
        has(&run.err, [words]);
    }
    let whole = format!("claude-code:{ID}");
    has(&home.run(&["promote", &whole]).err, ["name its lines"]);
    let beyond = format!("claude-code:{ID}#L99");
    home.fails(&["promote", &beyond]);
    let cited = format!("claude-code:{ID}#L2");
    let wrong = home.run(&["promote", &cited, "--type", "episodic"]);
    has(&wrong.err, ["user, feedback, project, reference"]);
    let taken = home.run(&["promote", &cited, "--name", "Tea"]);
    has(&taken.err, ["exists already"]);
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
        let done = home.json(&["promote", &cited, "--store", store, "--name", "Race"]);
        let text = home.read(&format!("{root}/{path}"));
        has(&text, [contains, "> The root cause"]);
        let grip = done["grips"][0].as_str().expect("a grip");
        fs::remove_file(log).expect("the log is deleted");
        let shown = home.ok(&["grip", grip, "--store", store]);
        has(&shown, ["The log is gone"]);
    }
}
