//! Existing content is preserved: hand-written pages, files changed meanwhile, links, modes.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::support::{Home, chmod, ends, has, lacks, not_run, starts, tree};

fn page(home: &Home) -> String {
    home.read_memory("MEMORY.md")
}

fn store(home: &Home, index: &str, files: &[&str]) {
    home.memory("MEMORY.md", index);
    for name in files {
        let stem = name.trim_end_matches(".md");
        let text = format!(
            "---\nname: {stem}\ndescription: d of {stem}\ntype: user\n---\n\nbody of {stem}\n"
        );
        home.memory(name, text);
    }
}

fn last_change(home: &Home) -> String {
    let history = home.json("history --limit 1");
    history["changes"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

#[test]
fn an_entry_gets_any_title() {
    let home = Home::new();
    let month = "project/data/memory/episodes/2026-02.md";
    home.file(month, "# E\n\n## One\nt\n");
    for (from, to, title) in [
        ("one", "episodes/2026-02.md#C#: one", "C#: one"),
        ("c-one", "New: title", "New: title"),
    ] {
        home.ok(&["rename", &format!("episodes/2026-02.md#{from}"), to]);
        ends(home.read(month), &format!("## {title}\nt\n"));
    }
    for (to, said) in [
        ("episodes/2026-02.md", "give a title"),
        ("facts/x.md#y", "give the file alone"),
    ] {
        let refused = home.run(&["rename", "episodes/2026-02.md#new-title", to]);
        has(&refused.err, [said]);
    }
}

#[test]
fn a_change_applies_to_a_file_or_an_entry() {
    let home = Home::new();
    home.file(
        "project/data/memory/episodes/2026-02.md",
        "# E\n\n## One\n- Summary: s\n\n## Two\nt\n",
    );
    let before = tree(&home.project());
    for args in [
        "delete episodes/2026-02.md#L3",
        "append episodes/2026-02.md#L2 --content x",
    ] {
        has(home.fails(&args), ["applies to a file or an entry"]);
    }
    assert_eq!(tree(&home.project()), before);
    let path = home.project().join("data/memory/episodes/2026-02.md");
    let file = || fs::read_to_string(&path).expect("text");
    home.ok("write episodes/2026-02.md#two --content new");
    ends(file(), "## Two\nnew\n");
    home.ok("rename episodes/2026-02.md#two Three");
    ends(file(), "## Three\nnew\n");
    home.ok("delete episodes/2026-02.md#one");
    lacks(file(), ["## One"]);
    for _ in 0..3 {
        home.ok("undo");
    }
    assert_eq!(tree(&home.project()), before);
}

#[test]
fn what_an_agent_writes_while_a_change_is_under_way_is_kept() {
    if !cfg!(debug_assertions) {
        not_run("only a debug build can be stopped at a step");
        return;
    }
    let mut met = 0;
    for step in 1..60 {
        let home = Home::new();
        store(&home, "# Memory\n", &["a.md"]);
        let change = ["patch", "a.md", "--old", "body", "--new", "text"];
        let Some(paused) = home.paused_at(&change, step) else {
            break;
        };
        let (late, line) = (paused.is_late(), paused.at.clone());
        let file = home.project().join(".memory/a.md");
        let mut opened = fs::OpenOptions::new()
            .append(true)
            .open(&file)
            .expect("opens");
        opened.write_all(b"an agent's line\n").expect("written");
        paused.go_on();
        let text = fs::read_to_string(&file).expect("text");
        assert!(text.contains("an agent's line"), "{line}: {text}");
        assert!(text.contains("text of a"), "{line}: {text}");
        met += usize::from(!late);
    }
    assert!(met >= 4, "only {met} meetings before the file was replaced");
}

#[test]
fn an_index_with_words_of_its_own_is_not_generated_anew() {
    let home = Home::new();
    let hand = "# Memory\n\n- [B first](b.md) - my own careful words\n- [A](a.md) - also mine\n";
    store(&home, hand, &["a.md", "b.md"]);
    home.ok("index");
    assert_eq!(page(&home), hand);
    let sections = "# Memory\n\n## User\n- [a](a.md) - worded by hand\n";
    store(&home, sections, &["a.md", "b.md"]);
    home.ok("index");
    assert_eq!(page(&home), format!("{sections}- [b](b.md) - d of b\n"));
}

#[test]
fn lines_that_are_not_dead_stay() {
    let home = Home::new();
    let hand = "# I\n\n```\n- [Title](file.md) — hook\n```\n\n- [AB](a%20b.md) — my hook\n- [C](c(1).md) — c\n";
    store(&home, hand, &["a b.md", "c(1).md"]);
    home.ok("index --check");
    home.ok("delete 'a b.md'");
    assert_eq!(
        page(&home),
        hand.replace("- [AB](a%20b.md) — my hook\n", "")
    );
}

#[test]
fn a_rewrite_can_be_taken_back_after_other_changes() {
    let home = Home::new();
    let hand = "# Mine\n\nPrecious words.\n\n- [a](a.md) — hook\n\nThe end.\n";
    store(&home, hand, &["a.md"]);
    home.ok("index --rewrite");
    let rewrite = last_change(&home);
    home.ok("patch a.md --old body --new text");
    home.ok(&["undo", &rewrite]);
    assert_eq!(page(&home), hand);
}

#[test]
fn a_deleted_line_comes_back_in_its_own_words() {
    let home = Home::new();
    let hand = "# Mine\n\n- [a](a.md) — my own precious words\n- [x](x.md) — x\n- [y](y.md) — y\n";
    store(&home, hand, &["a.md", "x.md", "y.md"]);
    home.ok("delete a.md");
    let delete = last_change(&home);
    home.ok("write n.md --type user --description new --content x");
    home.ok(&["undo", &delete]);
    assert_eq!(page(&home), format!("{hand}- [n](n.md) — new\n"));
}

#[test]
fn a_link_is_not_taken_for_the_file_it_leads_to() {
    let home = Home::new();
    home.file("project/AGENTS.md", "# A\n");
    symlink("AGENTS.md", home.project().join("CLAUDE.md")).expect("a link");
    has(home.fails("delete CLAUDE.md"), ["a link to AGENTS.md"]);
    assert!(home.project().join("AGENTS.md").exists());
}

#[test]
fn a_store_that_is_gone_still_has_a_history() {
    let home = Home::new();
    home.file("project/CLAUDE.md", "# A\n");
    home.ok("delete CLAUDE.md");
    home.ok("undo");
    assert_eq!(home.read("project/CLAUDE.md"), "# A\n");
    home.ok("write --store ./new a.md --type user --content x");
    home.ok("undo --store ./new");
    home.ok("redo --store ./new");
    assert!(home.project().join("new/a.md").exists());
}

#[test]
fn undo_goes_on_past_what_is_so_already() {
    let home = Home::new();
    store(&home, "# Memory\n", &["a.md"]);
    let first = home.read_memory("a.md");
    home.ok("patch a.md --old body --new second");
    let second = home.read_memory("a.md");
    home.ok("patch a.md --old second --new third");
    home.memory("a.md", second);
    has(home.ok("undo"), ["nothing was different"]);
    home.ok("undo");
    assert_eq!(home.read_memory("a.md"), first);
}

#[test]
fn the_index_does_not_list_itself() {
    let home = Home::new();
    store(
        &home,
        "# Memory\n\n## User\n- [a](a.md) - d of a XX\n",
        &["a.md"],
    );
    home.ok("patch MEMORY.md --old ' XX' --new ''");
    assert_eq!(page(&home), "# Memory\n\n## User\n- [a](a.md) - d of a\n");
}

#[test]
fn every_mention_of_a_renamed_file_follows() {
    let home = Home::new();
    let hand = "# I\n\nSee [this](a.md).\n\n- [A](a.md) — one\n- [again](./a.md#part) — two\n- [B](b.md), [A](a.md) — both\n";
    store(&home, hand, &["a.md", "b.md"]);
    home.ok("rename a.md z.md");
    assert_eq!(
        page(&home),
        hand.replace("./a.md", "z.md").replace("a.md", "z.md")
    );
    home.ok("delete b.md");
    assert!(
        page(&home).contains("\n- [A](z.md) — both\n"),
        "a line about two files loses one link"
    );
}

#[test]
fn a_move_to_another_layout_takes_all_the_text_along() {
    let home = Home::new();
    store(&home, "# Memory\n", &[]);
    home.file(
        "project/data/memory/facts/t.md",
        "# T\n\nIntro.\n\n> Summary: s\n\nbody\n",
    );
    home.ok("rename data-memory:facts/t.md .memory:t.md");
    let text = home.read_memory("t.md");
    ends(&text, "---\n\nIntro.\n\nbody\n");
    has(&text, ["name: T\ndescription: s\n"]);
}

#[test]
fn lines_of_a_readme_that_lead_somewhere_stay() {
    let home = Home::new();
    home.memory("semantic/errors/a.md", "**Title:** A\n");
    home.memory("semantic/errors/b.md", "**Title:** B\n");
    home.memory("semantic/errors/diagram.png", "png");
    let readme = "# semantic/errors\n\n- [a.md](a.md) - A\n- [b.md](b.md) - B\n- [diagram](diagram.png) - drawn\n- [Good article](https://example.org) - read it\n";
    home.memory("semantic/errors/README.md", readme);
    home.ok("delete semantic/errors/b.md");
    let path = "project/.memory/semantic/errors/README.md";
    assert_eq!(home.read(path), readme.replace("- [b.md](b.md) - B\n", ""));
    home.ok("delete semantic/errors/a.md");
    has(home.read(path), ["Good article"]);
}

#[test]
fn a_private_file_stays_private() {
    let home = Home::new();
    store(&home, "# Memory\n", &["a.md"]);
    let mode = |path: &str| {
        let meta = fs::metadata(home.path().join(path)).expect("there");
        meta.permissions().mode() & 0o777
    };
    let file = home.project().join(".memory/a.md");
    chmod(&file, 0o600);
    home.ok("rename a.md b.md");
    assert_eq!(mode("project/.memory/b.md"), 0o600);
    home.ok("delete b.md");
    home.ok(&["restore", &last_change(&home)]);
    assert_eq!(mode("project/.memory/b.md"), 0o600);
    assert_eq!(mode(".local/share/tome/history"), 0o700);
}

#[test]
fn line_endings_and_unknown_keys_survive_a_write() {
    let home = Home::new();
    store(&home, "# Memory\n", &[]);
    home.memory(
        "a.md",
        "---\r\nname: A\r\nsource: x\r\ntype: user\r\n---\r\n\r\nold\r\n",
    );
    home.ok("write a.md --content 'one\ntwo\r\n'");
    let text = home.read_memory("a.md");
    starts(&text, "---\r\nname: A\r\nsource: x\r\ntype: user\r\n");
    ends(&text, "---\r\n\r\none\r\ntwo\r\n");
    let note = "# T\n\n<!-- META:\n- created: 2026-01-01T00:00:00Z\n- source: messages.jsonl#L4\n-->\n\nold\n";
    home.file("project/s/working-memory/detail/n.md", note);
    home.ok("write --store ./s detail/n.md --content new");
    assert_eq!(
        home.read("project/s/working-memory/detail/n.md"),
        note.replace("old", "new")
    );
}

#[test]
fn events_are_known_by_their_own_id_and_keep_what_is_unknown() {
    let home = Home::new();
    home.file("project/ev/events.jsonl", "{\"event_id\": \"01J00000000000000000000001\",\"timestamp\":1,\"event_type\":\"x\"}\n{\"event_id\":\"01J00000000000000000000002\",\"timestamp\":1,\"event_type\":\"x\",\"metadata\":{\"event_id\":\"01J00000000000000000000003\"}}\n");
    let append = |event: &str| {
        home.run(&format!(
            "append --store ./ev events.jsonl --content {event}"
        ))
        .out
    };
    let event = |id: &str| {
        format!(
            "{{\"event_id\":\"{id}\",\"timestamp\":2,\"event_type\":\"user_message\",\"text\":\"t\",\"new_key\":[1]}}"
        )
    };
    has(
        append(&event("01J00000000000000000000001")),
        ["already recorded"],
    );
    has(append(&event("01J00000000000000000000003")), ["appended"]);
    has(home.read("project/ev/events.jsonl"), ["\"new_key\":[1]"]);
}

#[test]
fn hidden_names_and_empty_input_are_refused() {
    let home = Home::new();
    store(&home, "# Memory\n", &["a.md"]);
    home.fails("write .h.md --type user --content x");
    let before = tree(&home.project());
    let output = home.run_with_input(&["write", "a.md"], b"");
    has(&output.err, ["--content ''"]);
    assert_eq!(tree(&home.project()), before);
}

#[test]
fn a_line_of_a_log_of_any_size_can_be_read() {
    let home = Home::new();
    let line = format!(
        "{{\"role\":\"user\",\"content\":\"{}\"}}\n",
        "x".repeat(1 << 20)
    );
    home.file(
        "project/s/messages.jsonl",
        line.repeat(18) + "{\"role\":\"user\",\"content\":\"nineteen\"}\n",
    );
    assert_eq!(
        home.ok("read --store ./s messages.jsonl#L19"),
        "{\"role\":\"user\",\"content\":\"nineteen\"}\n"
    );
}
