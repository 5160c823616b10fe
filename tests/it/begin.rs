//! New stores: the first memory of a project, from every interface, and directories that are
//! created, deleted and created again while a server runs.

use std::fs;

use serde_json::json;

use crate::mcp::Client;
use crate::support::{Home, has, lacks, tree};

fn write(path: &str, content: &str) -> String {
    format!("write {path} --type user --name N --description D --content {content}")
}

fn files(home: &Home, folder: &str) -> Vec<String> {
    tree(&home.path().join(folder)).into_keys().collect()
}

#[test]
fn the_first_memory_makes_its_store_and_undo_takes_the_folder_away() {
    let home = Home::new();
    let before = files(&home, "project");
    let output = home.run(&(write("x.md", "text") + " --dry-run"));
    assert_eq!(output.code, 0, "{output:?}");
    has(&output.err, ["would create ~/project/.memory"]);
    has(&output.out, ["+text"]);
    assert_eq!(files(&home, "project"), before, "nothing was made");

    let output = home.run(&write("x.md", "text"));
    assert_eq!(output.code, 0, "{output:?}");
    has(&output.err, ["created ~/project/.memory"]);
    assert_eq!(files(&home, "project/.memory"), ["MEMORY.md", "x.md"]);
    has(home.ok("list"), ["x.md"]);

    home.ok("undo");
    assert_eq!(files(&home, "project"), before, "the folder is gone too");
    home.ok("redo");
    assert_eq!(files(&home, "project/.memory"), ["MEMORY.md", "x.md"]);
}

#[test]
fn a_folder_that_holds_something_else_by_now_stays() {
    let home = Home::new();
    home.ok(&write("x.md", "text"));
    home.memory("by-hand.txt", "mine");
    home.ok("undo");
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
        let index = home.read_memory("MEMORY.md");
        for name in &left[1..] {
            assert!(index.contains(name.as_str()), "{at}: {name}: {index}");
        }
    }
}

#[test]
fn the_first_memory_of_a_subfolder_is_the_projects() {
    let home = Home::new();
    fs::create_dir_all(home.project().join("src/deep")).expect("folders");
    let deep = home.project().join("src/deep");
    let output = home.run_in(&deep, &write("x.md", "text"));
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(files(&home, "project/.memory"), ["MEMORY.md", "x.md"]);
    has(home.ok("list"), ["x.md"]);
}

#[test]
fn the_first_file_says_which_kind_of_store_begins() {
    let home = Home::new();
    home.ok("write facts/user.md --content '# User\n'");
    assert_eq!(files(&home, "project/data/memory/facts"), ["user.md"]);
    home.ok("write episodic/retry.md --name Retry --description D --content 'Retry twice.'");
    let lessons = files(&home, ".sonph-code-memory");
    assert!(
        lessons.contains(&"episodic/retry.md".to_owned()),
        "{lessons:?}"
    );
    // An index store is not created beside a facts store.
    home.run("write x.md --content x");
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
        let stores = home.ok("stores");
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
    home.memory("notes.md", "# Notes\n");
    home.finds_nothing("stores");
}

#[test]
fn a_store_of_the_settings_need_not_exist_yet() {
    let home = Home::new();
    home.file(
        ".config/tome/config.toml",
        "[[store]]\nname = \"team\"\npath = \"~/new/team\"\n\n[[store]]\nname = \"facts\"\npath = \"~/new/facts\"\n",
    );
    let stores = home.ok("stores");
    has(&stores, ["team"]);
    assert!(!home.path().join("new").exists(), "looking makes nothing");
    home.ok(&write("team:x.md", "text"));
    assert_eq!(files(&home, "new/team"), ["MEMORY.md", "x.md"]);
    // If the settings do not name the layout, the first file decides.
    home.ok("write facts:facts/user.md --content '# U\n'");
    assert_eq!(files(&home, "new/facts"), ["facts/", "facts/user.md"]);
    let list = home.ok("list");
    has(&list, ["x.md", "user.md"]);
}

#[test]
fn a_read_only_server_offers_no_first_memory() {
    let home = Home::new();
    let mut client = Client::start(&home, "--read-only");
    lacks(client.names().join(" "), ["memory_write"]);
    assert_eq!(client.ok("memory_list", json!({})), "[]");
    let none = client.fails("memory_view", json!({ "target": "index" }));
    has(&none, ["There is no index store here"]);
}

#[test]
fn a_directory_that_is_replaced_while_the_server_runs_is_seen() {
    let home = Home::new();
    let typed = |text: &str| format!("---\nname: A\ndescription: d\ntype: user\n---\n\n{text}\n");
    home.memory("MEMORY.md", "# Memory\n\n(empty)\n");
    home.memory("a.md", typed("before"));
    for args in ["", "--store ./.memory"] {
        let mut client = Client::start(&home, args);
        client.ok("memory_read", json!({ "filename": "a.md" }));
        fs::remove_dir_all(home.project().join(".memory")).expect("removed");
        let gone = client.ok("memory_view", json!({ "target": "files" }));
        has(&gone, ["no memory files"]);
        home.memory("MEMORY.md", "# Memory\n\n(empty)\n");
        home.memory("a.md", typed("after"));
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
        has(home.read_memory("b.md"), ["new"]);
    }
}

#[test]
fn a_root_that_did_not_exist_gets_its_second_memory_too() {
    let home = Home::new();
    for (layout, tool, list) in [
        ("facts", "memory_append", "memory_list"),
        ("index", "memory_write", "memory_view"),
    ] {
        let args = format!("--store ./new-{layout} --layout {layout}");
        let mut client = Client::start(&home, &args);
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
    let found = home.ok("recall zebra");
    has(&found, ["zebra crossing"]);
    lacks(&found, ["elsewhere"]);
    has(home.ok("logs"), ["zebra crossing"]);
}
