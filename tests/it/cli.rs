//! The command line beyond the layouts: stores, history, undo, moves, settings, JSON.

use crate::support::{Home, has, json_of, lacks, tree};

fn index_store(home: &Home) {
    home.memory("MEMORY.md", "# Memory\n");
    for (name, title) in [("a", "A"), ("b", "B"), ("c", "C")] {
        let written = format!("write {name}.md --name {title} --description d --type user");
        home.ok(&format!("{written} --content 'body of {name}'"));
    }
}

#[cfg(not(feature = "grpc"))]
#[test]
fn a_build_without_the_grpc_server_says_how_to_get_one() {
    let done = Home::new().run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!((done.code, done.out.as_str()), (2, ""));
    let said = "tome: this tome was built without the gRPC server; `cargo install --path . --features grpc` builds one with it\n";
    assert_eq!(done.err, said);
}

#[test]
fn stores_shows_what_was_found_and_why() {
    let home = Home::new();
    home.finds_nothing("stores");
    index_store(&home);
    home.file("project/CLAUDE.md", "# Shop\n\n## Style\n\nShort.\n");
    home.file(".codex/memories/MEMORY.md", "# Task Group: x\n");
    home.file(".openclaw/workspace/MEMORY.md", "# M\n");
    home.file(".hermes/memories/USER.md", "Kim\n");
    let long = "- [x](x.md) - x\n".repeat(300);
    home.file(".gemini/tmp/shop/memory/MEMORY.md", &long);
    let known =
        serde_json::json!({ "projects": { home.project().to_str().expect("a path"): "shop" } });
    home.file(".gemini/projects.json", known.to_string());
    has(home.ok("list"), ["CLAUDE.md", "\n  #style\n"]);
    let out = home.ok("stores");
    for part in [
        ".memory",
        "index",
        "3",
        "~/project/.memory",
        ".memory/ of this project",
        "project-instructions",
        "codex",
        "Codex's memories",
        "MEMORY.md 200 lines, 25000 characters",
        "memory_summary.md 10 KB",
        "USER.md 1375 characters",
    ] {
        assert!(out.contains(part), "{part} in {out}");
    }
    let json = home.json("stores");
    assert_eq!(json["schema"], 1);
    assert_eq!(json["stores"][0]["memories"], 3);
    let limit = serde_json::json!({ "file": "MEMORY.md", "most": 200, "unit": "lines" });
    assert_eq!(json["stores"][0]["limits"][0], limit);
    // Those that are not the same in all versions and for all files are not shown.
    let stores = json["stores"].as_array().expect("stores").iter();
    let unlimited = stores.filter(|store| store["limits"] == serde_json::json!([]));
    let names: Vec<&str> = unlimited
        .filter_map(|store| store["name"].as_str())
        .collect();
    for name in ["openclaw", "gemini"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let cut = home.run("curate --store gemini --rule index-cut");
    assert_eq!(cut.code, 0, "{cut:?}");
}

#[test]
fn flags_stand_before_or_after_the_verb() {
    let home = Home::new();
    index_store(&home);
    let before = home.ok("--json --store .memory list");
    assert_eq!(before, home.ok("list --store .memory --json"));
    assert_eq!(
        home.run("list --store nothing").err,
        "tome: no store 'nothing'; there are .memory\n"
    );
}

#[test]
fn a_mistyped_store_moves_and_writes_nothing() {
    let home = Home::new();
    index_store(&home);
    let before = tree(&home.project());
    let said = "tome: no store 'memroy'; there are .memory";
    let hint = "; put the store before a name with a colon";
    for (args, hint) in [
        ("write memroy:x.md --content x --type user", hint),
        ("append memroy:x.md --content x", hint),
        ("rename a.md memroy:x.md", hint),
        ("--store memroy write x.md --content x", ""),
    ] {
        let run = home.run(args);
        assert_eq!(
            (run.code, run.err),
            (2, format!("{said}{hint}\n")),
            "{args:?}"
        );
    }
    assert_eq!(tree(&home.project()), before);
    // With a slash it is a directory, which may be new.
    let new = ["--store", "./notes", "write", "x.md", "--name", "X"];
    let rest = ["--description", "d", "--type", "user", "--content", "x"];
    home.ok(&[&new[..], &rest].concat());
    assert!(home.project().join("notes/x.md").is_file());
}

#[test]
fn instruction_files_are_read_and_written() {
    let home = Home::new();
    home.file("project/CLAUDE.md", "# Shop\n\nUse tabs.\n");
    home.ok("patch CLAUDE.md --old tabs --new spaces");
    assert_eq!(home.ok("read CLAUDE.md"), "# Shop\n\nUse spaces.\n");
    home.ok("undo");
    assert_eq!(home.read("project/CLAUDE.md"), "# Shop\n\nUse tabs.\n");
    home.fails("write --store project-instructions main.rs --content x");
}

#[test]
fn undo_redo_and_restore_walk_through_the_history() {
    let home = Home::new();
    index_store(&home);
    let full = tree(&home.project());
    home.ok("delete a.md b.md");
    let less = tree(&home.project());
    home.ok("undo");
    assert_eq!(tree(&home.project()), full);
    home.ok("redo");
    assert_eq!(tree(&home.project()), less);
    home.finds_nothing("redo");
    let history = home.json("history a.md");
    let changes = history["changes"].as_array().expect("a list");
    let verbs: Vec<&str> = changes
        .iter()
        .filter_map(|change| change["verb"].as_str())
        .collect();
    assert_eq!(verbs, ["redo", "undo", "delete", "write"]);
    let deleted = changes[2]["id"].as_str().expect("an id");
    home.ok(&["restore", deleted, "a.md"]);
    has(home.read_memory("a.md"), ["body of a"]);
    has(home.read_memory("MEMORY.md"), ["(a.md)"]);
    lacks(home.read_memory("MEMORY.md"), ["(b.md)"]);
}

#[test]
fn taking_back_an_undo_makes_its_change_again() {
    let home = Home::new();
    index_store(&home);
    home.ok("delete a.md");
    let less = tree(&home.project());
    home.ok("undo");
    let history = home.json("history --limit 1");
    let undo = history["changes"][0]["id"].as_str().expect("an id");
    home.ok(&["undo", undo]);
    assert_eq!(tree(&home.project()), less);
    home.ok("undo");
    assert!(home.project().join(".memory/a.md").exists());
}

#[test]
fn text_that_is_no_list_is_left_alone() {
    let home = Home::new();
    let text = "# Task Group: shop\nscope: x\n\n## Task 1\n- plain bullet\n";
    home.file(".codex/memories/MEMORY.md", text);
    home.file(".codex/memories/memory_summary.md", "v1\nsummary\n");
    home.ok("index --check");
    home.ok("patch memory_summary.md --old summary --new other");
    assert_eq!(home.read(".codex/memories/MEMORY.md"), text);
}

#[test]
fn an_older_change_is_taken_back_around_newer_ones() {
    let home = Home::new();
    index_store(&home);
    let first = home.json("history a.md");
    let id = first["changes"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    home.ok(&["undo", &id]);
    assert!(!home.project().join(".memory/a.md").exists());
    assert_eq!(
        home.read_memory("MEMORY.md"),
        "# Memory\n\n## User\n- [B](b.md) - d\n- [C](c.md) - d\n"
    );
}

#[test]
fn a_change_that_no_longer_fits_is_a_conflict() {
    let home = Home::new();
    index_store(&home);
    home.ok("patch a.md --old 'body of a' --new second");
    home.memory("a.md", "somebody else's text\n");
    has(home.fails("undo"), ["a.md has changed since it was read"]);
    assert_eq!(home.read_memory("a.md"), "somebody else's text\n");
}

#[test]
fn an_expected_revision_is_checked() {
    let home = Home::new();
    index_store(&home);
    let read = home.json("read a.md");
    let revision = read["revision"].as_str().expect("a revision").to_owned();
    let patch = |old: &str, new: &str| {
        home.run(&format!(
            "patch a.md --old {old} --new {new} --expect {revision}"
        ))
        .code
    };
    assert_eq!(patch("body", "text"), 0);
    assert_eq!(patch("text", "body"), 2);
    has(home.read_memory("a.md"), ["text of a"]);
}

#[test]
fn dry_run_prints_a_diff_and_changes_nothing() {
    let home = Home::new();
    index_store(&home);
    let before = tree(&home.path());
    let diff = home.ok("patch a.md --old body --new text --dry-run");
    has(
        &diff,
        ["--- a/a.md\n+++ b/a.md\n", "-body of a\n+text of a\n"],
    );
    let diff = home.ok("delete a.md --dry-run");
    has(&diff, ["+++ /dev/null\n", "-- [A](a.md) - d"]);
    assert_eq!(tree(&home.path()), before);
}

#[test]
fn a_memory_moves_between_stores_in_one_change() {
    let home = Home::new();
    index_store(&home);
    home.file("project/memory/MEMORY.md", "# Memory\n");
    home.file("project/data/memory/facts/user.md", "# User\n");
    let before = tree(&home.project());
    home.ok("rename .memory:a.md memory:moved.md");
    assert!(!home.project().join(".memory/a.md").exists());
    has(
        home.read("project/memory/MEMORY.md"),
        ["- [A](moved.md) - d"],
    );
    lacks(home.read_memory("MEMORY.md"), ["(a.md)"]);
    home.ok("rename .memory:b.md data-memory:facts/b.md");
    assert_eq!(
        home.read("project/data/memory/facts/b.md"),
        "# B\n\n> Summary: d\n\nbody of b\n"
    );
    home.ok("undo");
    home.ok("undo");
    assert_eq!(tree(&home.project()), before);
}

#[test]
fn a_file_in_two_stores_asks_which() {
    let home = Home::new();
    index_store(&home);
    home.file("project/memory/MEMORY.md", "# Memory\n");
    home.file("project/memory/a.md", "other\n");
    let result = home.run("read a.md");
    assert_eq!(
        result.err,
        "tome: a.md could be in more than one store; use .memory:a.md or memory:a.md\n"
    );
    assert_eq!(home.ok("read memory:a.md"), "other\n");
}

#[test]
fn settings_are_layered_and_mistakes_are_told() {
    let home = Home::new();
    index_store(&home);
    home.file(
        ".config/tome/config.toml",
        "author = \"kim\"\ncolr = \"x\"\n",
    );
    let result = home.run("patch a.md --old body --new text");
    assert_eq!(result.code, 0);
    has(
        &result.err,
        ["config.toml:2: no setting 'colr'; 'color' may be meant"],
    );
    has(home.ok("history"), ["kim · cli"]);
    let output = home.run_with([("TOME_AUTHOR", "lee")], "patch b.md --old body --new text");
    assert_eq!(output.code, 0, "{output:?}");
    has(home.ok("history"), ["lee · cli"]);
    let other = home.file("other.toml", "[discover]\nproject = false\n");
    let result = home.run(&["list", "--config", other.to_str().expect("UTF-8")]);
    assert_eq!((result.code, result.out.as_str()), (1, ""));
    home.fails("list --config missing.toml");
}

#[test]
fn text_from_files_cannot_command_the_terminal() {
    let home = Home::new();
    home.memory("MEMORY.md", "# Memory\n");
    home.memory(
        "a.md",
        "---\nname: a\ndescription: \u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}2J\ntype: user\n---\n",
    );
    for args in ["list", "view files", "list --json", "context"] {
        let out = home.ok(args);
        assert!(
            !out.contains(['\u{1b}', '\u{7}', '\u{9b}']),
            "{args:?}: {out:?}"
        );
    }
    let colored = home.ok("list --color always");
    has(&colored, ["\u{1b}[1ma.md"]);
    lacks(&colored, ["\u{1b}[31mred"]);
}

#[test]
fn completions_and_man_page_name_every_verb() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = home.ok(&["completions", shell]);
        assert!(script.contains("restore"), "{shell}");
    }
    let man = home.ok("man");
    for verb in [
        "stores", "list", "view", "read", "context", "write", "patch", "append", "delete",
        "rename", "index", "history", "undo", "redo", "restore",
    ] {
        assert!(man.contains(verb), "{verb}");
    }
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    let home = Home::new();
    index_store(&home);
    let script = format!(
        "{} list --json | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_tome")
    );
    let output = std::process::Command::new("bash")
        .args(["-c", &script])
        .current_dir(home.project())
        .env("HOME", home.path())
        .output()
        .expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n");
}

#[test]
fn a_deleted_memory_leaves_a_tombstone() {
    let home = Home::new();
    index_store(&home);
    home.ok("delete a.md");
    let journal = home.read(".local/share/tome/history/journal.jsonl");
    let last = json_of(journal.lines().last().expect("a line"));
    let stone = &last["tombstones"][0];
    assert_eq!(
        (stone["path"].as_str(), stone["name"].as_str()),
        (Some("a.md"), Some("A"))
    );
    let words = stone["words"].as_array().expect("words");
    assert!(words.contains(&"body".into()), "{stone}");
}

#[test]
fn links_inside_the_root_are_followed_and_kept() {
    let home = Home::new();
    home.file("project/AGENTS.md", "# One\n");
    std::os::unix::fs::symlink("AGENTS.md", home.project().join("CLAUDE.md")).expect("a link");
    home.ok("patch CLAUDE.md --old One --new Two");
    assert_eq!(home.read("project/AGENTS.md"), "# Two\n");
    assert!(home.project().join("CLAUDE.md").is_symlink());
}

#[test]
fn key_bindings_are_printed_for_the_shells_that_have_them() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = home.ok(&["completions", shell, "--keys"]);
        assert!(script.contains("__tome_pick"), "{shell}: {script}");
        let plain = home.ok(&["completions", shell]);
        assert!(
            !plain.contains("__tome_pick"),
            "{shell}: only where they are asked for"
        );
    }
    has(home.ok("completions tmux"), ["picked=$(tome pick"]);
    for shell in ["elvish", "powershell"] {
        assert!(home.ok(&["completions", shell]).contains("tome"), "{shell}");
        has(
            home.fails(&["completions", shell, "--keys"]),
            ["bash, zsh, fish and tmux"],
        );
    }
}

/// A text without the columns' padding, and with one word for every age in days, which depends on
/// the time of day.
fn without_ages(line: &str) -> Vec<&str> {
    let is_age = |word: &str| {
        word.strip_suffix('d')
            .is_some_and(|n| n.parse::<u32>().is_ok())
    };
    let words = line.split_whitespace();
    words
        .map(|word| if is_age(word) { "AGE" } else { word })
        .collect()
}

/// Whether a line fits a shown one, in which `…` stands for anything.
fn fits(line: &str, shown: &str) -> bool {
    match shown.split_once('…') {
        Some((start, end)) => line.starts_with(start) && line.ends_with(end),
        None => without_ages(line) == without_ages(shown),
    }
}

#[test]
fn the_examples_of_the_readme_print_what_they_show() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(readme).expect("the README");
    let home = Home::new();
    let mut examples = 0;
    for block in readme.split("```").skip(1).step_by(2) {
        for example in block.split("\n$ ").skip(1) {
            examples += 1;
            let (command, shown) = example.split_once('\n').expect("output");
            let args: Vec<&str> = command
                .split('"')
                .enumerate()
                .flat_map(|(at, part)| match at % 2 {
                    0 => part.split_whitespace().collect(),
                    _ => vec![part],
                })
                .collect();
            assert_eq!(args[0], "tome", "{command}");
            let printed = home.ok(&args[1..]);
            let (printed, shown) = (printed.trim_end(), shown.trim_end());
            assert_eq!(printed.lines().count(), shown.lines().count(), "{printed}");
            for (line, shown) in printed.lines().zip(shown.lines()) {
                assert!(fits(line, shown), "{command}: {line}\nis not {shown}");
            }
        }
    }
    assert!(examples > 0);
}
