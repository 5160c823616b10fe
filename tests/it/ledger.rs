//! What memories are worth: how often they were in context, read, cited and corrected again.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{Home, has, json_of, lacks, tree};

/// A project with instructions and memories that exist since 2026-02-01.
fn project() -> Home {
    let home = Home::new();
    let memory = memory_folder(&home);
    for (path, text) in [
        (
            "project/CLAUDE.md".to_owned(),
            "# Rules\n\n## Style\n\nUse tabs for indentation, never spaces.\n\n## Deploy\n\nDeploy with ship.sh from the release branch.\n",
        ),
        (
            format!("{memory}/MEMORY.md"),
            "- [Commits](commits.md) — how commit messages begin\n- [Staging](staging.md) — where staging runs\n",
        ),
        (
            format!("{memory}/commits.md"),
            "---\nname: Commits\ndescription: how commit messages begin\ntype: feedback\n---\n\nBegin with the ticket.\n",
        ),
        (
            format!("{memory}/staging.md"),
            "---\nname: Staging\ndescription: where staging runs\ntype: project\n---\n\nOn the small machine.\n",
        ),
    ] {
        let file = home.file(&path, text);
        let file = fs::File::options().write(true).open(file).expect("a file");
        let since = SystemTime::UNIX_EPOCH + Duration::from_secs(1_769_904_000);
        file.set_modified(since).expect("a time");
    }
    home
}

fn memory_folder(home: &Home) -> String {
    format!("{}/memory", home.claude_folder())
}

/// Adds a session of Claude Code on a day: what the person and the agent say, and calls that read
/// (`!FILE`) or add a last line (`+FILE LINE`).
fn session(home: &Home, number: u8, day: &str, turns: &[&str]) {
    let id = format!("{number:08}-2222-4333-8444-555555555555");
    let mut log = String::new();
    for (minute, turn) in turns.iter().enumerate() {
        let (kind, content) = match turn.split_at(1) {
            ("!", file) => {
                let input = json!({ "file_path": file });
                let call = json!([{ "type": "tool_use", "id": format!("t{minute}"), "name": "Read", "input": input }]);
                ("assistant", call)
            }
            ("+", call) => {
                let (file, line) = call.split_once(' ').expect("a line");
                let (old, new) = ("branch.", format!("branch.\n{line}"));
                let input = json!({ "file_path": file, "old_string": old, "new_string": new });
                let call = json!([{ "type": "tool_use", "id": format!("t{minute}"), "name": "Edit", "input": input }]);
                ("assistant", call)
            }
            (">", said) => ("user", json!(said)),
            (_, said) => ("assistant", json!([{ "type": "text", "text": said }])),
        };
        let mut record = home.claude_record(&id, minute, kind, content);
        record["timestamp"] = json!(format!("{day}T10:{minute:02}:00.000Z"));
        log.push_str(&format!("{record}\n"));
    }
    home.file(&format!("{}/{id}.jsonl", home.claude_folder()), log);
}

/// The sessions: one before the memories, one that reads and is corrected, one that is not.
fn sessions(home: &Home) {
    let read = format!(
        "!{}",
        home.path()
            .join(memory_folder(home))
            .join("commits.md")
            .display()
    );
    let said = [">add a parser for the price list", ".The parser is there."];
    session(home, 1, "2026-01-05", &said);
    let corrected = [
        ">write the importer of the warehouse",
        &read,
        ".The importer is written, with four spaces.",
        ">no, I told you: use tabs for indentation, never spaces",
        ".You're right, sorry.",
    ];
    session(home, 2, "2026-02-11", &corrected);
    session(
        home,
        3,
        "2026-02-12",
        &[">is the release out?", ".Yes, since noon."],
    );
}

fn ledger(home: &Home) -> BTreeMap<String, Value> {
    let told = home.json("ledger");
    let memories = told["memories"].as_array().expect("memories").clone();
    let name = |one: &Value| {
        let entry = one["entry"].as_str().map(|entry| format!("#{entry}"));
        format!(
            "{}{}",
            one["path"].as_str().expect("a path"),
            entry.unwrap_or_default()
        )
    };
    memories.into_iter().map(|one| (name(&one), one)).collect()
}

/// The lengths of the lists of an account.
fn counts(account: &Value) -> [usize; 4] {
    ["context", "read", "cited", "corrected"]
        .map(|list| account[list].as_array().map_or(0, Vec::len))
}

#[test]
fn contexts_reads_and_corrections_are_counted_and_grow_with_a_log() {
    let home = project();
    sessions(&home);
    let told = ledger(&home);
    for (name, expected) in [
        ("CLAUDE.md", [2, 0, 0, 1]),
        ("CLAUDE.md#style", [2, 0, 0, 1]),
        ("CLAUDE.md#deploy", [2, 0, 0, 0]),
        ("commits.md", [2, 1, 0, 0]),
        ("staging.md", [2, 0, 0, 0]),
    ] {
        let account = told
            .get(name)
            .unwrap_or_else(|| panic!("{name} in {told:?}"));
        assert_eq!(counts(account), expected, "{name}: {account}");
    }
    let id = "claude-code:00000002-2222-4333-8444-555555555555";
    assert_eq!(told["CLAUDE.md"]["corrected"][0], format!("{id}#L4"));
    assert_eq!(told["commits.md"]["read"][0], format!("{id}#L2"));
    let day = |name: &str| {
        told[name]["last_use"]
            .as_i64()
            .map(|time| time / 86_400_000)
    };
    // The eleventh of February.
    assert_eq!((day("commits.md"), day("staging.md")), (Some(20495), None));
    let shown = home.ok("ledger CLAUDE.md");
    has(&shown, ["no, I told you: use tabs"]);
    let listed = home.ok("ledger --corrections");
    has(
        &listed,
        [
            &format!("{id}#L4"),
            "never spaces",
            "project-instructions:CLAUDE.md",
        ],
    );

    // What was kept of each log stays as it is when nothing has changed, or another one is new.
    let kept = || -> BTreeMap<String, SystemTime> {
        let folder = home.path().join(".cache/tome/ledger");
        let files = fs::read_dir(folder).expect("kept").flatten();
        let files = files.map(|file| {
            let time = file.metadata().and_then(|known| known.modified());
            (
                file.file_name().to_string_lossy().into_owned(),
                time.expect("a time"),
            )
        });
        files.collect()
    };
    let before = kept();
    assert_eq!(before.len(), 3);
    assert_eq!(ledger(&home), told);
    assert_eq!(kept(), before);
    session(
        &home,
        4,
        "2026-02-13",
        &[">what is next?", ".The importer."],
    );
    let grown = ledger(&home);
    assert_eq!(counts(&grown["commits.md"]), [3, 1, 0, 0]);
    let after = kept();
    assert_eq!(after.len(), 4);
    assert!(
        before
            .iter()
            .all(|(name, time)| after.get(name) == Some(time))
    );
}

#[test]
fn a_memory_that_was_said_again_is_a_finding() {
    let home = project();
    sessions(&home);
    let found = home.run("curate --rule ignored --json");
    let found = json_of(&found.out);
    let findings = found["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0]["path"], "CLAUDE.md");
    let evidence = findings[0]["evidence"][0]["text"].as_str();
    assert_eq!(
        evidence,
        Some("no, I told you: use tabs for indentation, never spaces")
    );
}

#[test]
fn the_message_that_taught_a_line_does_not_count_against_it() {
    let line = "Name feature flags after their ticket.";
    let said = ">no, name feature flags after their ticket";
    let turns = [
        ">add the flag",
        ".Added as beta.",
        said,
        ".Sorry, I note it.",
    ];
    for (by_log, later, expected) in [(true, false, 0), (true, true, 1), (false, false, 0)] {
        let home = project();
        let file = home.project().join("CLAUDE.md");
        let note = format!("+{} {line}", file.display());
        let mut first = turns.to_vec();
        if by_log {
            first.push(&note);
        }
        session(&home, 8, "2026-02-11", &first);
        if later {
            session(&home, 9, "2026-02-20", &turns);
        }
        let text = fs::read_to_string(&file).expect("reads");
        for (day, line) in [("2026-02-01", ""), ("2026-02-12", line)] {
            fs::write(&file, format!("{text}{line}\n")).expect("writes");
            commit(&home, day);
        }
        let told = ledger(&home);
        assert_eq!(counts(&told["CLAUDE.md"])[3], expected, "{by_log} {later}");
    }
}

/// Commits the project on a day.
fn commit(home: &Home, day: &str) {
    home.git("init -q").expect("a repository");
    home.git("add .").expect("added");
    let mut commit = home.git_command(&["commit", "-qm", day]);
    commit.env("GIT_COMMITTER_DATE", format!("{day}T00:00:00Z"));
    assert!(commit.status().expect("git runs").success());
}

#[test]
fn find_goes_by_the_day_of_the_commit_where_a_header_tells_none() {
    let home = project();
    let file = home.project().join("CLAUDE.md");
    let early = "find 'indentation before:2026-02-03'";
    fs::write(&file, "Use tabs for indentation.\n").expect("writes");
    lacks(&home.run(early).out, ["CLAUDE.md"]);
    commit(&home, "2026-02-01");
    has(home.ok(early), ["CLAUDE.md"]);
    fs::write(&file, "Use tabs for indentation, always.\n").expect("writes");
    lacks(&home.run(early).out, ["CLAUDE.md"]);
}

#[test]
fn what_was_said_twice_and_no_memory_says_is_drafted_and_never_written_by_itself() {
    let home = project();
    for (number, wish) in [
        (5, ">no, please install packages with pnpm instead of npm"),
        (6, ">don't install packages with npm, I want pnpm"),
    ] {
        let turns = [
            ">install the packages of the shop",
            ".Installed with npm.",
            wish,
            ".Right, done.",
        ];
        session(&home, number, &format!("2026-02-1{number}"), &turns);
    }
    let weather: String = (0..200)
        .map(|hour| format!("At {hour} it rained again. "))
        .collect();
    session(
        &home,
        7,
        "2026-02-19",
        &[">is the weather good?", &format!(".{weather}")],
    );
    let before = tree(&home.path().join(memory_folder(&home)));
    let found = home.run("curate --rule untaught").out;
    has(&found, ["you said it in 2 sessions", "pnpm"]);
    assert_eq!(tree(&home.path().join(memory_folder(&home))), before);
    let waits = json_of(&home.run("review --json").out);
    let text = waits.to_string();
    has(&text, ["pnpm", "grip:"]);
    // Rejected, it does not come again; undone, it waits again; accepted, it is a memory.
    home.ok("review --revert all");
    let found = home.run("curate --rule untaught").out;
    lacks(&found, ["pnpm"]);
    lacks(&home.run("review --json").out, ["pnpm"]);
    home.ok("undo");
    has(&home.run("review --json").out, ["pnpm"]);
    home.ok("review --accept all");
    let after = tree(&home.path().join(memory_folder(&home)));
    assert_eq!(after.len(), before.len() + 1, "{:?}", after.keys());
    let index = String::from_utf8_lossy(&after["MEMORY.md"]).into_owned();
    has(&index, ["pnpm"]);
}

#[test]
fn what_an_agent_makes_its_memories_of_has_a_life_too() {
    let home = Home::new();
    let rollout = home.file(
        ".codex/memories/rollout_summaries/a.md",
        "# A\n\nTicket first.\n",
    );
    home.file(".codex/memories/MEMORY.md", "# Task Group: shop\n");
    session(
        &home,
        1,
        "2026-02-10",
        &[">go on", &format!("!{}", rollout.display())],
    );
    let told = home.json("ledger rollout_summaries/a.md");
    let reads = told["memories"][0]["read"].as_array();
    assert_eq!(reads.map(Vec::len), Some(1), "{told}");
}
