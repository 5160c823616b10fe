//! The words in which an account is told, and since when a memory exists.

use std::fs;
use std::process::Command;

use super::*;
use crate::core::insight::curate::git::Git;
use crate::core::search::fixture::{TestHome, conversation};

#[test]
fn the_numbers_are_told_in_a_few_words() {
    let home = tempfile::tempdir().expect("a directory");
    let store = Store::open("one", home.path(), Some(Layout::Index)).expect("a store");
    let mut account = Account::new(&store, "a.md", Some("style".to_owned()));
    assert_eq!(account.name(), "one:a.md#style");
    assert_eq!(account.summary(), "in context 0 · read 0");
    account.context = vec!["codex:a#L1".to_owned(), "codex:b#L1".to_owned()];
    account.corrected = vec!["codex:b#L7".to_owned()];
    assert_eq!(account.summary(), "in context 2 · read 0 · corrected 1");
}

#[test]
fn a_memory_exists_since_its_header_or_its_file_say_so() {
    const DAY: i64 = 1_767_225_600_000;
    for (created, modified, expected) in [
        (None, DAY, DAY),
        (None, 0, i64::MAX),
        (Some("2026-01-01"), DAY + 5, DAY),
        (Some("2026-01-01T12:00:00Z"), 0, DAY),
        (Some("2026-01-02"), DAY, DAY),
        (Some("soon"), DAY, DAY),
    ] {
        let memory = Memory {
            created: created.map(str::to_owned),
            modified,
            ..Memory::bare("a.md", 1)
        };
        assert_eq!(since::written(&memory), expected, "{created:?} {modified}");
    }
}

#[test]
fn git_tells_when_a_file_was_added_and_last_changed_as_it_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let tree = dir.path().canonicalize().expect("canonical");
    let git = Git::at("git");
    let run = |args: &[&str], time: &str| {
        let mut command = Command::new("git");
        command.arg("-C").arg(&tree).args(args);
        for person in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{person}_NAME"), "k");
            command.env(format!("GIT_{person}_EMAIL"), "k@example.org");
        }
        command.env("GIT_COMMITTER_DATE", time);
        assert!(command.status().expect("git runs").success());
    };
    run(&["init", "-q"], "@1000 +0000");
    let files = ["a.md", "of [b]*/b.md", "new.md"].map(|name| tree.join(name));
    fs::create_dir(tree.join("of [b]*")).expect("a folder");
    // More than one call of a program takes as arguments.
    let long = "long".repeat(30);
    let many = (0..20_000).map(|n| tree.join(format!("none/{long}{n}.md")));
    let asked: Vec<_> = files.iter().cloned().chain(many).collect();
    for (time, text) in [("@1000 +0000", "one"), ("@2000 +0000", "two")] {
        files[..2]
            .iter()
            .for_each(|file| fs::write(file, text).expect("writes"));
        run(&["add", "."], time);
        run(&["commit", "-q", "-m", text], time);
    }
    fs::write(&files[1], "three").expect("writes");
    fs::write(&files[2], "three").expect("writes");
    // The second time from what was kept.
    for _ in 0..2 {
        let times = since::committed(&git, &asked, &tree.join("cache"));
        let times = files.each_ref().map(|file| times.get(file));
        let told = times.map(|times| times.map(|times| (times.added, times.changed)));
        let added = 1_000_000;
        assert_eq!(
            told,
            [Some((added, Some(2_000_000))), Some((added, None)), None]
        );
    }
}

#[test]
fn an_index_is_as_old_as_git_says() {
    let dir = tempfile::tempdir().expect("a directory");
    let tree = dir.path().canonicalize().expect("canonical");
    fs::create_dir(tree.join("memory")).expect("a folder");
    fs::write(tree.join("memory/MEMORY.md"), "# Mine\n\nOwn words.\n").expect("writes");
    for args in [&["init", "-q"][..], &["add", "."], &["commit", "-qm", "x"]] {
        let mut command = Command::new("git");
        command.arg("-C").arg(&tree).args(args);
        for person in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{person}_NAME"), "k");
            command.env(format!("GIT_{person}_EMAIL"), "k@example.org");
        }
        command.env("GIT_COMMITTER_DATE", "@1000 +0000");
        assert!(command.status().expect("git runs").success());
    }
    let stores = [Store::open("s", &tree.join("memory"), Some(Layout::Index)).expect("a store")];
    let home = TestHome::new(&[], &[]);
    struct NoContexts;
    impl Contexts for NoContexts {
        fn pieces(&self, _agent: Agent, _cwd: &Path) -> Vec<Piece> {
            Vec::new()
        }
    }
    let ledger = Ledger::read(&Sources {
        corpus: &home.corpus(),
        cache: &tree.join("cache"),
        stores: &stores,
        contexts: &NoContexts,
        history: &History::open(&tree.join("history")),
        git: &Git::at("git"),
    })
    .expect("a ledger");
    let index = stores[0].index_memory().expect("the index");
    assert_eq!(ledger.last_change(stores[0].id(), &index), 1_000_000);
}

#[test]
fn texts_say_the_same_if_they_share_rare_words() {
    let chatter: Vec<String> = (0..60)
        .map(|number| format!("please use the parser for file {number}, and say when it is done"))
        .collect();
    let chatter: Vec<&str> = chatter.iter().map(String::as_str).collect();
    let home = TestHome::new(&[], &[conversation(&chatter)]);
    let corpus = home.corpus();
    let weights = WordWeights::of(&corpus);
    let memory = WordSet::of("Use tabs for indentation, never spaces.");
    for (said, expected) in [
        ("no, I told you: use tabs, not spaces", true),
        ("the indentation has to be tabs", true),
        ("please use the parser and say when it is done", false),
        ("why are there tabs in the browser?", false),
        ("", false),
    ] {
        let shared = weights.shared(&WordSet::of(said), &memory);
        assert_eq!(is_same(shared, SHARED_PART), expected, "{said}: {shared:?}");
    }
}
