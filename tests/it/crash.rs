//! The process is killed at every step of a change. Afterwards each file is wholly old or
//! wholly new, the history is readable, and undo works.
//!
//! A debug build pauses at the step in `TOME_PAUSE_AT` and reports it; there it is killed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::{Home, Paused, copy, directory_in_memory, json_of, not_run, report, tree};

type Files = BTreeMap<String, Vec<u8>>;

/// A change to be interrupted.
struct Scenario {
    name: &'static str,
    setup: fn(&Home),
    change: &'static str,
    /// The verbs that undo and redo it.
    back: [&'static str; 2],
}

/// Runs `change` and kills it at step `step`; `false` if it ended before.
fn killed_at(home: &Home, change: &str, step: usize) -> bool {
    let paused = home.paused_at(change, step);
    let is_paused = paused.is_some();
    paused.into_iter().for_each(Paused::kill);
    is_paused
}

/// All files except tome's temporary ones.
fn visible(project: &Path) -> Files {
    let mut files = tree(project);
    files.retain(|path, _| !path.contains(".tome-"));
    files
}

fn run(scenario: &Scenario) -> usize {
    let home = Home::in_memory();
    (scenario.setup)(&home);
    let template = directory_in_memory();
    copy(&home.path(), template.path());
    let old = tree(&home.project());
    home.ok(scenario.change);
    let new = tree(&home.project());
    assert_ne!(old, new, "{}: the change does something", scenario.name);
    let mut step = 1;
    let mut kills = 0;
    loop {
        reset(&home, template.path());
        if !killed_at(&home, scenario.change, step) {
            break;
        }
        let at = format!("{}, step {step}", scenario.name);
        for (path, bytes) in visible(&home.project()) {
            let whole = old.get(&path) == Some(&bytes) || new.get(&path) == Some(&bytes);
            assert!(whole, "{at}: {path} is neither old nor new");
        }
        kills += 1;
        // The recovery is killed too, at each of its steps.
        let mut recovery = 1;
        while killed_at(&home, "list", recovery) {
            kills += 1;
            recovery += 1;
        }
        check_after(&home, (&old, &new), (&at, scenario.back));
        step += 1;
    }
    assert!(step > 6, "{}: only {step} steps were seen", scenario.name);
    kills
}

fn reset(home: &Home, template: &Path) {
    for entry in std::fs::read_dir(home.path()).expect("readable").flatten() {
        let removed = if entry.path().is_dir() {
            std::fs::remove_dir_all(entry.path())
        } else {
            std::fs::remove_file(entry.path())
        };
        removed.expect("removed");
    }
    copy(template, &home.path());
}

/// Checks that opening the store commits the change or rolls it back, and that undo works.
fn check_after(home: &Home, (old, new): (&Files, &Files), (at, back): (&str, [&str; 2])) {
    home.run("list");
    let settled = tree(&home.project());
    assert!(
        settled == *old || settled == *new,
        "{at}: half a change is left: {:?}",
        settled.keys()
    );
    let history = home.run("history --json");
    let history = json_of(&history.out);
    assert!(history["changes"].is_array(), "{at}");
    if settled == *new {
        home.ok(back[0]);
        assert_eq!(tree(&home.project()), *old, "{at}: undo after the crash");
        home.ok(back[1]);
        assert_eq!(tree(&home.project()), *new, "{at}: redo after the crash");
    }
}

fn index(home: &Home) {
    home.memory("MEMORY.md", "# Memory\n");
    for name in ["a", "b", "c"] {
        let content = format!("body of {name}, see [a](a.md) and [[b]]");
        home.ok(&format!(
            "write {name}.md --type user --content '{content}'"
        ));
    }
}

fn two_stores(home: &Home) {
    index(home);
    home.file("project/memory/MEMORY.md", "# Memory\n");
}

fn facts(home: &Home) {
    home.file(
        "project/data/memory/episodes/2026-02.md",
        "# E\n\n## A\n- Summary: one\n",
    );
}

fn lessons(home: &Home) {
    home.memory("semantic/semantic.md", "**Title:** t\n\n**Tags:** #x\n");
}

fn deleted(home: &Home) {
    index(home);
    home.ok("delete a.md b.md");
}

fn undone(home: &Home) {
    deleted(home);
    home.ok("undo");
}

fn hand_written(home: &Home) {
    home.memory(
        "MEMORY.md",
        "# Mine\n\nProse.\n\n- [A](a.md) — hook\n- [[b]] — hook\n\nEnd",
    );
    home.memory("a.md", "---\nname: A\n---\nsee [b](b.md)\r\n");
    home.memory("b.md", "---\nname: B\n---\nsee [[a]]");
}

fn session(home: &Home) {
    home.memory("messages.jsonl", "{\"role\":\"user\",\"content\":\"hi\"}\n");
}

/// A change that undo takes back and redo brings again.
const fn scenario(name: &'static str, setup: fn(&Home), change: &'static str) -> Scenario {
    Scenario {
        name,
        setup,
        change,
        back: ["undo", "redo"],
    }
}

const SCENARIOS: [Scenario; 16] = [
    scenario(
        "write beside a hand-written index",
        hand_written,
        "write c.md --type user --content new",
    ),
    scenario(
        "rename in a hand-written index",
        hand_written,
        "rename b.md c.md",
    ),
    scenario(
        "rewrite of a hand-written index",
        hand_written,
        "index --rewrite",
    ),
    scenario(
        "overview",
        session,
        "write overview.md --content '# Mine\n'",
    ),
    scenario(
        "instructions",
        |home| drop(home.file("project/CLAUDE.md", "# One\n")),
        "patch CLAUDE.md --old One --new Two",
    ),
    scenario("write", index, "write d.md --type project --content new"),
    scenario("overwrite", index, "write a.md --content other"),
    scenario("patch", index, "patch a.md --old '\nbody' --new '\ntext'"),
    scenario("delete", index, "delete a.md b.md c.md"),
    scenario("rename", index, "rename a.md z.md"),
    scenario("move", two_stores, "rename .memory:a.md memory:a.md"),
    scenario(
        "append",
        facts,
        "append episodes/2026-02.md --content '\n## B\n- Summary: two\n'",
    ),
    scenario("new folder", facts, "write ideas/x.md --content '# X\n'"),
    scenario(
        "lesson",
        lessons,
        "write semantic/errors/retry.md --name R --content c",
    ),
    Scenario {
        back: ["redo", "undo"],
        ..scenario("undo", deleted, "undo")
    },
    scenario("redo", undone, "redo"),
];

#[test]
fn a_kill_at_any_step_leaves_every_file_old_or_new() {
    if !cfg!(debug_assertions) {
        not_run("only a debug build can be stopped at a step");
        return;
    }
    let runs: Vec<usize> = std::thread::scope(|scope| {
        let halves = SCENARIOS.chunks(SCENARIOS.len().div_ceil(2));
        let threads: Vec<_> = halves
            .map(|half| scope.spawn(move || half.iter().map(run).sum::<usize>()))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no scenario fails"))
            .collect()
    });
    let runs: usize = runs.iter().sum();
    report(&format!("killed at {runs} steps of changes and recoveries"));
    assert!(runs > 200, "only {runs} kills");
}

#[test]
fn an_interrupted_change_whose_versions_are_missing_holds_up_no_other() {
    let typed =
        |name: &str| format!("---\nname: {name}\ndescription: d\ntype: user\n---\n\nbody\n");
    let (mut interrupted, mut told) = (0, 0);
    for change in [
        "delete a.md",
        "append a.md --content lost",
        "rename a.md c.md",
    ] {
        for step in 1.. {
            let home = Home::in_memory();
            home.memory(
                "MEMORY.md",
                "# Memory\n\n- [A](a.md) - d\n- [B](b.md) - d\n",
            );
            home.memory("a.md", typed("A"));
            home.memory("b.md", typed("B"));
            if !killed_at(&home, change, step) {
                break;
            }
            let history = home.path().join(".local/share/tome/history");
            let pending = || fs::read_dir(history.join("pending")).map_or(0, Iterator::count);
            if pending() == 0 {
                continue;
            }
            interrupted += 1;
            for entry in fs::read_dir(&history).expect("listed").flatten() {
                let is_kept = entry.file_name() == "pending";
                if entry.path().is_dir() && !is_kept {
                    fs::remove_dir_all(entry.path()).expect("removed");
                }
                if entry.file_name() == "versions.bin" {
                    fs::remove_file(entry.path()).expect("removed");
                }
            }
            let store = home.project().join(".memory");
            for entry in fs::read_dir(&store).expect("listed").flatten() {
                if entry.file_name().to_string_lossy().starts_with('.') {
                    fs::remove_file(entry.path()).expect("removed");
                }
            }
            for later in ["one", "two", "three"] {
                home.ok(&["append", "b.md", "--content", later]);
            }
            let text = home.read_memory("b.md");
            assert!(
                text.trim_end().ends_with("one\ntwo\nthree"),
                "{change:?} {step}: {text}"
            );
            let report = home.run("doctor").out;
            let is_told = report.contains("was interrupted") && report.contains("cannot be undone");
            // What could be taken back needs no report.
            assert_eq!(is_told, pending() > 0, "{change:?} {step}: {report}");
            told += usize::from(is_told);
        }
    }
    assert!(interrupted > 0 && told > 0, "{interrupted} {told}");
}
