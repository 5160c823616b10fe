//! Sessions of one id: rewritten between two copies, in two projects, or cut after they were kept.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Home, has, json_of, lacks, tree};

/// The session.
const ID: &str = "33333333-4444-5555-6666-777777777777";

/// Writes the session with one prompt, in a folder of Claude Code's projects.
fn session(home: &Home, folder: &str, cwd: &str, text: &str) {
    let line = json!({
        "type": "user", "uuid": text, "cwd": cwd, "sessionId": ID,
        "timestamp": "2026-08-01T10:00:00Z",
        "message": { "role": "user", "content": text },
    });
    let path = format!(".claude/projects/{folder}/{ID}.jsonl");
    home.file(&path, format!("{line}\n"));
}

#[test]
fn a_session_that_was_rewritten_between_two_copies_is_listed_once_and_both_are_read() {
    let home = Home::new();
    for text in ["zebra at first", "zebra anew"] {
        session(&home, "-p", "/p", text);
        home.ok(&["keep", ID, "--all"]);
    }
    fs::remove_dir_all(home.path().join(".claude/projects/-p")).expect("deleted");
    let listed = |every: &[&str]| -> Vec<Value> {
        let args = [&["logs", "--all", "--json"], every].concat();
        let logs = json_of(&home.ok(&args));
        logs["logs"].as_array().expect("a list").clone()
    };
    let ids = |logs: &[Value]| -> Vec<String> {
        let ids = logs.iter().filter_map(|log| log["id"].as_str());
        ids.map(str::to_owned).collect()
    };
    assert_eq!(ids(&listed(&[])), [ID]);
    let every = ids(&listed(&["--every"]));
    let earlier = every.iter().find(|id| *id != ID).expect("an earlier copy");
    has(home.ok(&["log", ID, "--all"]), ["zebra anew"]);
    has(home.ok(&["log", &ID[..8], "--all"]), ["zebra anew"]);
    has(home.ok(&["log", earlier, "--all"]), ["zebra at first"]);
    let cited = format!("claude-code:{earlier}#L1");
    has(home.ok(&["read", &cited, "--all"]), ["zebra at first"]);
    let gone = home.run(&["resume", ID, "--all"]);
    has(gone.out, [ID]);
    has(gone.err, ["claude-code no longer has this session"]);
    session(&home, "-p", "/p", "zebra once more");
    assert_eq!(home.run(&["resume", ID, "--all"]).err, "");
    let other = home.run(&["resume", earlier, "--all"]);
    has(other.err, ["as it is now, not with this copy"]);
}

#[test]
fn a_citation_of_an_id_in_two_projects_names_both_or_the_current_one() {
    let home = Home::new();
    let here = home.path().join("project");
    session(&home, "-a", "/a", "said in a");
    session(&home, "-b", "/b", "said in b");
    let cited = format!("claude-code:{ID}#L1");
    let refused = home.run(&["read", &cited, "--all"]);
    assert_ne!(refused.code, 0);
    has(&refused.err, ["several logs have this id", "(/a)", "(/b)"]);
    let marks = refused.err.split_whitespace();
    let mark = marks.into_iter().find(|word| word.contains('@'));
    let marked = format!("claude-code:{}#L1", mark.expect("a mark"));
    has(home.ok(&["read", &marked, "--all"]), ["said in a"]);
    session(&home, "-c", &here.display().to_string(), "said here");
    has(home.ok(&["read", &cited, "--all"]), ["said here"]);
    // Every door takes the same one: here this project's, elsewhere the one with the mark.
    let id = mark.expect("a mark");
    let begun = format!("{}@{}", &ID[..6], &id[ID.len() + 1..]);
    let text = |args: &[&str]| home.run(args);
    has(text(&["log", &ID[..6], "--all"]).out, ["said here"]);
    has(text(&["log", &begun, "--all"]).out, ["said in a"]);
    has(text(&["toc", "--log", &ID[..6], "--all"]).out, ["aid here"]);
    has(text(&["toc", "--log", &begun, "--all"]).out, ["aid in a"]);
    has(text(&["grip", &cited, "--all"]).out, ["said here"]);
    has(text(&["grip", &marked, "--all"]).out, ["said in a"]);
    has(text(&["promote", &cited, "--dry-run"]).out, ["said here"]);
    fs::remove_dir_all(home.path().join(".claude/projects/-c")).expect("deleted");
    for args in [
        &["log", &ID[..6], "--all"][..],
        &["toc", "--log", ID, "--all"],
        &["toc", "--log", &ID[..6], "--all"],
        &["grip", &cited],
        &["promote", &cited, "--dry-run"],
    ] {
        let refused = home.run(args);
        assert_ne!(refused.code, 0, "{args:?}");
        has(&refused.err, ["several logs have this id", id, "(/b)"]);
    }
    // The copy of a session has the mark of the session.
    home.ok(&["keep", id, "--all"]);
    fs::remove_dir_all(home.path().join(".claude/projects/-a")).expect("deleted");
    has(home.ok(&["read", &marked, "--all"]), ["said in a"]);
}

#[test]
fn a_citation_leads_to_its_message_or_says_that_it_is_gone() {
    let home = Home::new();
    let here = home.path().join("project").display().to_string();
    session(
        &home,
        "-a",
        "/a",
        "the walrus in a, beside the northern gate",
    );
    let found = home.json("recall walrus --all");
    let cited = found["results"][0]["citation"]
        .as_str()
        .expect("a citation");
    let read = || home.run(&["read", cited]);
    // From another project, and also when a copy with other words comes into that one.
    has(read().out, ["the walrus in a, beside the northern gate"]);
    session(&home, "-c", &here, "said here");
    has(read().out, ["the walrus in a, beside the northern gate"]);
    has(
        home.ok(&["grip", cited]),
        ["the walrus in a, beside the northern gate"],
    );
    has(
        home.ok(&["promote", cited, "--dry-run"]),
        ["the walrus in a, beside the northern gate"],
    );
    // Where other lines came before it.
    let log = home.path().join(format!(".claude/projects/-a/{ID}.jsonl"));
    let line = fs::read_to_string(&log).expect("a log");
    session(&home, "-a", "/a", "of other things");
    let other = fs::read_to_string(&log).expect("a log");
    fs::write(&log, other + &line).expect("rewritten");
    has(
        read().out,
        ["[L2 user]\nthe walrus in a, beside the northern gate"],
    );
    // Of two of these words neither is known to be the one.
    let text = fs::read_to_string(&log).expect("a log");
    fs::write(&log, text + &line).expect("written twice");
    assert_ne!(read().code, 0);
    session(&home, "-a", "/a", "of other things");
    for verb in ["read", "grip", "promote"] {
        let refused = home.run(&[verb, cited]);
        assert_ne!(refused.code, 0, "{verb}");
        has(&refused.err, [cited, "does not have this message"]);
        lacks(&refused.out, ["of other things", "said here"]);
    }
    let unknown = home.run("read claude-code:no-such-id#L1");
    has(&unknown.err, ["log no-such-id not found"]);
}

#[test]
fn a_kept_copy_that_was_cut_and_what_a_killed_keep_left_are_reported() {
    let home = Home::new();
    session(&home, "-p", "/p", "zebra");
    home.ok(&["keep", ID, "--all"]);
    lacks(&home.run("doctor").out, ["kept copy", "unfinished copy"]);
    let kept = ".local/share/tome/kept/claude-code";
    let copies = tree(&home.path().join(kept)).into_keys();
    for copy in copies.filter(|copy| copy.ends_with(".jsonl")) {
        fs::write(home.path().join(kept).join(copy), "").expect("emptied");
    }
    let dead = home.file(&format!("{kept}/.unfinished-4242-0/half"), "x");
    let dead = dead.parent().expect("a folder").to_owned();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(600);
    let folder = fs::File::open(&dead).expect("a folder");
    folder.set_modified(old).expect("a time");
    drop(folder);
    let remedy = format!("tome keep {ID}");
    has(
        &home.run("doctor").out,
        ["this kept copy", "0 are left", &remedy, "unfinished copy"],
    );
    home.ok(&["keep", ID, "--all"]);
    assert!(!dead.exists());
    lacks(&home.run("doctor").out, ["kept copy", "unfinished copy"]);
}
