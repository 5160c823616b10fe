//! New stores: the first memory of a project, from every interface, and directories that are
//! created, deleted and created again while a server runs.

use std::fs;

use serde_json::json;

use crate::mcp::Client;
use crate::support::{Home, has, lacks, tree};

fn write<'a>(path: &'a str, content: &'a str) -> [&'a str; 10] {
    [
        "write",
        path,
        "--type",
        "user",
        "--name",
        "N",
        "--description",
        "D",
        "--content",
        content,
    ]
}

fn files(home: &Home, folder: &str) -> Vec<String> {
    tree(&home.path().join(folder)).into_keys().collect()
}

#[test]
fn the_first_memory_makes_its_store_and_undo_takes_the_folder_away() {
    let home = Home::new();
    let before = files(&home, "project");
    let mut dry = write("x.md", "text").to_vec();
    dry.push("--dry-run");
    let output = home.run(&dry);
    assert_eq!(output.code, 0, "{output:?}");
    has(&output.err, ["would create ~/project/.memory"]);
    has(&output.out, ["+text"]);
    assert_eq!(files(&home, "project"), before, "nothing was made");

    let output = home.run(&write("x.md", "text"));
    assert_eq!(output.code, 0, "{output:?}");
    has(&output.err, ["created ~/project/.memory"]);
    assert_eq!(files(&home, "project/.memory"), ["MEMORY.md", "x.md"]);
    has(home.ok(&["list"]), ["x.md"]);

    home.ok(&["undo"]);
    assert_eq!(files(&home, "project"), before, "the folder is gone too");
    home.ok(&["redo"]);
    assert_eq!(files(&home, "project/.memory"), ["MEMORY.md", "x.md"]);
}

#[test]
fn a_folder_that_holds_something_else_by_now_stays() {
    let home = Home::new();
    home.ok(&write("x.md", "text"));
    home.file("project/.memory/by-hand.txt", "mine");
    home.ok(&["undo"]);
    assert_eq!(files(&home, "project/.memory"), ["by-hand.txt"]);
}

#[test]
fn a_first_memory_that_is_cut_short_anywhere_does_not_stand_in_the_way_of_the_next() {
    for step in 1.. {
        let home = Home::new();
        let Some(paused) = home.paused_at(&write("x.md", "text"), step) else {
            assert!(step > 5, "it was stopped at {step} steps only");
            break;
        };
        let at = paused.at.clone();
        paused.kill();
        home.ok(&write("y.md", "text"));
        let left = files(&home, "project/.memory");
        let is_known = |name: &String| ["MEMORY.md", "x.md", "y.md"].contains(&name.as_str());
        assert!(left.iter().all(is_known), "{at}: {left:?}");
        let index = home.read("project/.memory/MEMORY.md");
        for name in &left[1..] {
            assert!(index.contains(name.as_str()), "{at}: {name}: {index}");
        }
    }
}

#[test]
fn the_first_memory_of_a_subfolder_is_the_projects() {
    let home = Home::new();
    fs::create_dir_all(home.project().join("src/deep")).expect("folders");
    let mut command = home.command(&write("x.md", "text"));
    let output = command
        .current_dir(home.project().join("src/deep"))
        .output();
    assert!(output.expect("runs").status.success());
    assert_eq!(files(&home, "project/.memory"), ["MEMORY.md", "x.md"]);
    has(home.ok(&["list"]), ["x.md"]);
}

#[test]
fn the_first_file_says_which_kind_of_store_begins() {
    let home = Home::new();
    home.ok(&["write", "facts/user.md", "--content", "# User\n"]);
    assert_eq!(files(&home, "project/data/memory/facts"), ["user.md"]);
    let lesson = [
        "write",
        "episodic/retry.md",
        "--name",
        "Retry",
        "--description",
        "D",
        "--content",
        "Retry twice.",
    ];
    home.ok(&lesson);
    assert!(
        files(&home, ".sonph-code-memory").contains(&"episodic/retry.md".to_owned()),
        "{:?}",
        files(&home, ".sonph-code-memory")
    );
    // An index store is not created beside a facts store.
    home.run(&["write", "x.md", "--content", "x"]);
    assert!(!home.project().join(".memory").exists());
}

#[test]
fn a_memory_is_not_put_where_codex_keeps_its_own() {
    let home = Home::new();
    home.file(".codex/memories/MEMORY.md", "# Task Group: x\n");
    home.ok(&write("x.md", "text"));
    assert_eq!(files(&home, "project/.memory"), ["MEMORY.md", "x.md"]);
    assert_eq!(files(&home, ".codex/memories"), ["MEMORY.md"]);
}

#[test]
fn typed_files_without_an_index_are_a_store() {
    let typed = "---\nname: A\ndescription: about a\ntype: project\n---\n\nbody\n";
    for (folder, name) in [(".memory", ".memory"), (".claude/memory", "claude-memory")] {
        let home = Home::new();
        home.file(&format!("project/{folder}/a.md"), typed);
        let stores = home.ok(&["stores"]);
        assert!(
            stores.contains(name) && stores.contains("index"),
            "{folder}: {stores}"
        );
        home.ok(&write("b.md", "text"));
        assert_eq!(
            files(&home, &format!("project/{folder}")),
            ["MEMORY.md", "a.md", "b.md"]
        );
    }
    let home = Home::new();
    home.file("project/.memory/notes.md", "# Notes\n");
    assert_eq!(home.run(&["stores"]).code, 1, "untyped files are no store");
}

#[test]
fn a_store_of_the_settings_need_not_exist_yet() {
    let home = Home::new();
    home.file(
        ".config/tome/config.toml",
        "[[store]]\nname = \"team\"\npath = \"~/new/team\"\n\n[[store]]\nname = \"facts\"\npath = \"~/new/facts\"\n",
    );
    let stores = home.ok(&["stores"]);
    has(&stores, ["team"]);
    assert!(!home.path().join("new").exists(), "looking makes nothing");
    home.ok(&write("team:x.md", "text"));
    assert_eq!(files(&home, "new/team"), ["MEMORY.md", "x.md"]);
    // If the settings do not name the layout, the first file decides.
    home.ok(&["write", "facts:facts/user.md", "--content", "# U\n"]);
    assert_eq!(files(&home, "new/facts"), ["facts/", "facts/user.md"]);
    let list = home.ok(&["list"]);
    has(&list, ["x.md", "user.md"]);
}

#[test]
fn a_server_where_nothing_is_stores_the_first_memory_and_the_first_lesson() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    let names = client.names();
    for tool in [
        "recall_memory",
        "memory_view",
        "memory_write",
        "coder_memory_store",
        "coder_memory_recall",
    ] {
        assert!(names.contains(&tool.to_owned()), "{tool}: {names:?}");
    }
    assert!(!home.project().join(".memory").exists());
    let memory = |file: &str| {
        json!({
            "filename": file, "name": "N", "description": "D", "memory_type": "user",
            "content": "prefers tabs",
        })
    };
    let answer = client.ask(
        "tools/call",
        json!({ "name": "memory_write", "arguments": memory("a.md") }),
    );
    let content = &answer["result"]["content"];
    assert_eq!(content[0]["text"], "Memory saved: a.md\n", "{answer}");
    let told = content[1]["text"].as_str().unwrap_or_default();
    let root = home.project().join(".memory").display().to_string();
    assert!(told.contains(&root), "{answer}");
    let second = client.ask(
        "tools/call",
        json!({ "name": "memory_write", "arguments": memory("b.md") }),
    );
    let content = second["result"]["content"].to_string();
    assert!(
        !content.contains(&root),
        "only the first makes it: {second}"
    );
    let listed = client.ok("memory_view", json!({ "target": "files" }));
    has(&listed, ["a.md", "b.md"]);
    let recalled = client.ok("recall_memory", json!({ "query": "tabs" }));
    has(&recalled, ["a.md"]);

    for (title, content) in [
        (
            "Retry network calls",
            "Retry twice with a pause. Then give up. Say so.",
        ),
        (
            "Pin compiler versions",
            "Builds drift. Pin them. Review monthly.",
        ),
    ] {
        let stored = client.ok(
            "coder_memory_store",
            json!({
                "type": "semantic", "title": title, "description": title, "content": content,
                "tags": ["success"], "decision": "create",
            }),
        );
        lacks(&stored, ["Nothing is stored"]);
    }
    for (query, found) in [("retry network", "Retry"), ("pin compiler", "Pin")] {
        let recalled = client.ok("coder_memory_recall", json!({ "query": query }));
        has(&recalled, [found]);
    }
    client.end();
    assert!(home.path().join(".sonph-code-memory/semantic").is_dir());
}

#[test]
fn a_read_only_server_offers_no_first_memory() {
    let home = Home::new();
    let mut client = Client::start(&home, &["--read-only"]);
    lacks(client.names().join(" "), ["memory_write"]);
    assert_eq!(client.ok("memory_list", json!({})), "[]");
    let none = client.fails("memory_view", json!({ "target": "index" }));
    has(&none, ["There is no index store here"]);
    client.end();
}

#[test]
fn names_of_tools_do_not_depend_on_a_store_that_is_not_there_yet() {
    let home = Home::new();
    home.file("project/.memory/MEMORY.md", "# Memory\n\n(empty)\n");
    let mut client = Client::start(&home, &[]);
    let names = client.names().join(" ");
    has(names, ["memory_write", "coder_memory_store"]);
    client.end();
}

#[test]
fn a_directory_that_is_replaced_while_the_server_runs_is_seen() {
    let home = Home::new();
    let typed = |text: &str| format!("---\nname: A\ndescription: d\ntype: user\n---\n\n{text}\n");
    home.file("project/.memory/MEMORY.md", "# Memory\n\n(empty)\n");
    home.file("project/.memory/a.md", typed("before"));
    for args in [&[][..], &["--store", "./.memory"]] {
        let mut client = Client::start(&home, args);
        client.ok("memory_read", json!({ "filename": "a.md" }));
        fs::remove_dir_all(home.project().join(".memory")).expect("removed");
        let gone = client.ok("memory_view", json!({ "target": "files" }));
        has(&gone, ["no memory files"]);
        home.file("project/.memory/MEMORY.md", "# Memory\n\n(empty)\n");
        home.file("project/.memory/a.md", typed("after"));
        let view = client.ok("memory_view", json!({ "target": "files" }));
        has(&view, ["a.md"]);
        let read = client.ok("memory_read", json!({ "filename": "a.md" }));
        has(&read, ["after"]);
        client.ok(
            "memory_write",
            json!({
                "filename": "b.md", "name": "B", "description": "d", "memory_type": "user",
                "content": "new",
            }),
        );
        has(home.read("project/.memory/b.md"), ["new"]);
        client.end();
    }
}

#[test]
fn a_root_that_did_not_exist_gets_its_second_memory_too() {
    let home = Home::new();
    for (layout, tool, list) in [
        ("facts", "memory_append", "memory_list"),
        ("index", "memory_write", "memory_view"),
    ] {
        let store = format!("./new-{layout}");
        let mut client = Client::start(&home, &["--store", &store, "--layout", layout]);
        for name in ["one", "two"] {
            let arguments = match layout {
                "facts" => json!({ "path": format!("facts/{name}.md"), "entry": "- a: b\n" }),
                _ => json!({
                    "filename": format!("{name}.md"), "name": name, "description": "d",
                    "memory_type": "user", "content": "c",
                }),
            };
            client.ok(tool, arguments);
        }
        let listed = client.ok(list, json!({ "target": "files" }));
        has(&listed, ["one.md", "two.md"]);
        client.end();
    }
}

#[test]
fn a_session_log_without_a_header_belongs_to_the_project_of_its_folder() {
    let home = Home::new();
    let slug = |path: &str| format!("--{}--", path.trim_start_matches('/').replace('/', "-"));
    let ours = slug(&home.project().display().to_string());
    let theirs = slug(&home.path().join("elsewhere").display().to_string());
    let line = |text: &str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
    home.file(
        &format!(".ai/sessions/{ours}/one/messages.jsonl"),
        line("the zebra crossing"),
    );
    home.file(
        &format!(".ai/sessions/{theirs}/two/messages.jsonl"),
        line("the zebra elsewhere"),
    );
    let found = home.ok(&["recall", "zebra"]);
    has(&found, ["zebra crossing"]);
    lacks(&found, ["elsewhere"]);
    has(home.ok(&["logs"]), ["zebra crossing"]);
}

#[test]
fn no_word_about_a_missing_store_where_logs_were_found() {
    let home = Home::new();
    home.claude_log("s", &[("user", "the zebra crossing")]);
    for verb in ["recall", "find"] {
        let output = home.run(&[verb, "zebra"]);
        assert_eq!(output.code, 0, "{output:?}");
        lacks(&output.err, ["no store here"]);
        let output = home.run(&[verb, "giraffe"]);
        assert_eq!(output.code, 1, "{output:?}");
    }
}
