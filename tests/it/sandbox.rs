//! Nothing leads out of a store's root.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Home, not_run, tree};

const ESCAPES: &str = "tome: Path escapes memory directory: ";

#[test]
fn paths_that_leave_are_refused_by_every_verb_in_every_layout() {
    let home = Home::new();
    home.file("outside/secret.md", "secret\n");
    home.file("project/index/MEMORY.md", "# Memory\n");
    home.file("project/facts/facts/a.md", "# A\n");
    home.file("project/session/working-memory/overview.md", "# W\n");
    home.file("project/coder/semantic/semantic.md", "**Title:** t\n");
    let secret = home.path().join("outside/secret.md");
    for store in ["index", "facts", "session", "coder"] {
        let root = home.project().join(store);
        symlink(home.path().join("outside"), root.join("out")).expect("a link");
        symlink(&secret, root.join("link.md")).expect("a link");
        if store == "session" {
            symlink(home.path().join("outside"), root.join("working-memory/out")).expect("a link");
            symlink(&secret, root.join("working-memory/link.md")).expect("a link");
        }
    }
    let before = tree(&home.path());
    let absolute = secret.to_str().expect("UTF-8");
    for store in ["./index", "./facts", "./session", "./coder"] {
        for path in [
            absolute,
            "../secret.md",
            "../../outside/secret.md",
            "out/secret.md",
            "out/new.md",
            "link.md",
            "nowhere/../../x.md",
        ] {
            for args in [
                vec!["read", path],
                vec!["write", path, "--content", "x"],
                vec!["append", path, "--content", "x"],
                vec!["patch", path, "--old", "secret", "--new", "x"],
                vec!["delete", path],
                vec!["rename", path, "x.md"],
            ] {
                let mut all = vec!["--store", store];
                all.extend(&args);
                let output = home.run(&all);
                assert_eq!(
                    (output.code, output.err),
                    (2, format!("{ESCAPES}{path}\n")),
                    "{store} {args:?}"
                );
                assert_eq!(output.out, "");
            }
        }
    }
    let after: Vec<_> = tree(&home.path())
        .into_iter()
        .filter(|(path, _)| !path.starts_with(".local"))
        .collect();
    let before: Vec<_> = before
        .into_iter()
        .filter(|(path, _)| !path.starts_with(".local"))
        .collect();
    assert_eq!(after, before);
}

#[test]
fn odd_names_are_refused_with_a_reason() {
    let home = Home::new();
    home.memory("MEMORY.md", "# Memory\n");
    let before = tree(&home.project());
    let long = format!("{}.md", "x".repeat(300));
    for (path, expected) in [
        (
            "MEMORY.md/../x.md",
            "Path escapes memory directory: MEMORY.md/../x.md",
        ),
        (long.as_str(), "the name is too long; 255 bytes at most"),
        ("a\nb.md", "control character"),
        ("x.txt", "end the name in .md"),
        ("sub/x.md", "write sub_x.md instead"),
    ] {
        let output = home.run(&["write", path, "--type", "user", "--content", "x"]);
        assert_eq!(output.code, 2, "{path}");
        assert!(output.err.contains(expected), "{path}: {}", output.err);
    }
    assert_eq!(tree(&home.project()), before);
}

#[test]
fn nul_never_reaches_the_file_system() {
    // No argument can contain a NUL, so the core is called directly.
    let home = Home::new();
    home.memory("MEMORY.md", "# Memory\n");
    let store = tome::core::memory::store::Store::open("m", &home.project().join(".memory"), None)
        .expect("opens");
    let error = store.read("a\0b.md").expect_err("refused");
    assert_eq!(error.to_string(), "Path escapes memory directory: a\0b.md");
}

#[test]
fn a_link_swapped_in_while_a_change_is_under_way_leads_nowhere() {
    if !cfg!(debug_assertions) {
        not_run("only a debug build can be stopped at a step");
        return;
    }
    let mut swaps = 0;
    for step in 1..60 {
        let home = Home::new();
        home.file("project/data/memory/facts/a.md", "# A\n\none\n");
        fs::create_dir(home.path().join("outside")).expect("a folder");
        let folder = home.project().join("data/memory/facts");
        let change = ["patch", "facts/a.md", "--old", "one", "--new", "two"];
        let Some(paused) = home.paused_at(&change, step) else {
            break;
        };
        let (replaced, line) = (paused.is_late(), paused.at.clone());
        fs::rename(&folder, home.project().join("data/memory/aside")).expect("moved aside");
        symlink(home.path().join("outside"), &folder).expect("a link");
        let (code, stderr) = paused.go_on();
        assert_eq!(
            fs::read_dir(home.path().join("outside"))
                .expect("readable")
                .count(),
            0,
            "step {step} ({line}) wrote outside"
        );
        if !replaced {
            swaps += 1;
            assert_eq!(code, Some(2), "step {step} ({line}): {stderr}");
            assert!(
                stderr.contains("Path escapes memory directory"),
                "step {step} ({line}): {stderr}"
            );
        }
        // The store is usable again once the folder is back.
        fs::remove_file(&folder).expect("the link goes");
        fs::rename(home.project().join("data/memory/aside"), &folder).expect("moved back");
        let text = home.ok("read facts/a.md");
        assert!(
            text == "# A\n\none\n" || (replaced && text == "# A\n\ntwo\n"),
            "{text:?}"
        );
        home.ok("append facts/a.md --content 'three\n'");
    }
    assert!(
        swaps >= 4,
        "only {swaps} swaps before the file was replaced"
    );
}
