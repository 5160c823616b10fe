//! Pruning: marks, one list of all stores, reviews, moves and restores of many.

use std::path::PathBuf;
use std::sync::Arc;

use super::{AUTH, TestApp, has, requested, you};
use crate::core::change::history::{FileChange, Record};
use crate::core::change::{BrokenLinks, Change, ChangeVerb, Edit};
use crate::core::disk::revision::Revision;
use crate::core::disk::sandbox::Attributes;
use crate::core::insight::ledger::{Account, Correction, Ledger};
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::tui::effect::{Effect, Request};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;

fn deleted(effects: &[Effect]) -> Vec<String> {
    match requested(effects) {
        Request::Delete(stores) => stores.into_iter().flat_map(|(_, paths)| paths).collect(),
        other => panic!("{other:?}"),
    }
}

/// The keys to the memory "User Preferences".
const PREFERENCES: &str = "jj";

#[test]
fn a_range_is_marked_from_one_end_to_the_other() {
    for keys in ["V j j j", "<s-down> <s-down> <s-down>"] {
        let mut ui = TestApp::new();
        ui.press(PREFERENCES);
        ui.press(keys);
        ui.shows(["3 marked"]);
        let all = ["auth.md", "release.md", "user_prefs.md"];
        assert_eq!(deleted(&ui.press("d")), all, "an open range counts");
        ui.after("k").shows(["2 marked"]);
        ui.press("<space> G");
        ui.shows(["2 marked"]); // a closed range stays
    }
    let mut ui = TestApp::new();
    ui.press(PREFERENCES);
    ui.after("V j j <esc>").lacks(["marked"]);
}

#[test]
fn a_section_is_marked_at_once_folded_or_not() {
    let mut ui = TestApp::new();
    ui.after("j j j <space>").shows(["2 marked"]);
    ui.after("<space>").lacks(["marked"]);
    ui.press("h <space>");
    assert_eq!(deleted(&ui.press("d")), ["auth.md", "release.md"]);
    ui.press("g <space>");
    ui.shows(["3 marked"]); // the whole store
}

#[test]
fn marking_goes_on_to_memories_alone() {
    let mut ui = TestApp::new();
    ui.press(PREFERENCES);
    ui.after("<space>").is_at("Auth Refactor");
    ui.after("<space> <space>").is_at("Working Memory");
    ui.shows(["3 marked"]);
    ui.select("2026-02");
    ui.after("<space> <space>").lacks(["5 marked"]);
}

#[test]
fn what_is_folded_is_marked_with_its_section() {
    let mut ui = TestApp::new();
    ui.press("j j j <space>");
    assert!(!ui.row("▾ Project").contains('✓'));
    ui.press("h");
    assert!(ui.row("▸ Project").contains('✓'), "{}", ui.text());
    ui.press("U g h");
    ui.after("V <space>").shows(["3 marked"]);
    assert!(ui.row("▸ claude").contains('✓'), "{}", ui.text());
    assert_eq!(
        deleted(&ui.press("d")),
        ["auth.md", "release.md", "user_prefs.md"]
    );
    // Of a part of it nothing is said.
    ui.press("l");
    ui.select("User Preferences");
    ui.press("<space> g h");
    assert!(!ui.row("▸ claude").contains('✓'), "{}", ui.text());
}

#[test]
fn what_a_filter_found_stays_under_the_cursor_where_it_was_folded_away() {
    let mut ui = TestApp::new();
    ui.press("g h");
    ui.after("f release<cr>").is_at("Release Process");
    ui.after("<esc>").is_at("Release Process");
    ui.shows(["Auth Refactor"]);
}

#[test]
fn marks_are_inverted_in_their_store() {
    let mut ui = TestApp::at_auth();
    ui.press("<space> *");
    assert_eq!(deleted(&ui.press("d")), ["release.md", "user_prefs.md"]);
}

#[test]
fn all_stores_are_one_list_in_the_order_of_age_or_size() {
    let mut ui = TestApp::at_auth();
    ui.after("S").shows(["memory · all stores, oldest first"]);
    ui.after("s")
        .shows(["S orders the one list", "oldest first"]);
    let row = ui.row("▌");
    has(&row, "Auth Refactor ");
    has(&row, " claude  ");
    ui.lacks(["▾ claude"]);
    // Of a single store no name is needed.
    ui.after("f claude");
    assert!(!ui.row("▌").contains(" claude  "), "{}", ui.text());
    ui.after("<esc>");
    ui.after("S g").shows(["largest first"]);
    ui.is_at("Auth Refactor");
    ui.after("S S").shows(["never read first"]);
    ui.after("S S").is_at("Auth Refactor");
    ui.shows(["Project"]); // the tree again
    ui.press("S <esc>");
    ui.shows(["Project"]); // the tree again
}

#[test]
fn how_a_memory_was_used_is_told_and_orders_the_list() {
    let mut ui = TestApp::at_auth();
    let account = |ui: &TestApp, path: &str| {
        let id = ui.id("claude");
        let store = Store::open("claude", id.root(), Some(Layout::Index)).expect("a store");
        Account {
            id,
            ..Account::new(&store, path, None)
        }
    };
    let cited = || vec!["claude-code:s1#L4".to_owned()];
    let accounts = vec![
        Account {
            context: cited(),
            corrected: cited(),
            ..account(&ui, "auth.md")
        },
        Account {
            read: cited(),
            committed: Some(1),
            last_use: Some(-3 * 86_400_000),
            ..account(&ui, "release.md")
        },
        Account {
            read: cited(),
            last_use: Some(-9 * 86_400_000),
            ..account(&ui, "user_prefs.md")
        },
    ];
    let corrections = vec![Correction {
        citation: cited().remove(0),
        time: None,
        text: "no, rotate the tokens".to_owned(),
        confidence: 90,
        memory: None,
    }];
    let ledger = Ledger::new(accounts, corrections, Vec::new());
    ui.tell(Event::Counted(Arc::new(ledger)));
    ui.shows(["in context 1 · read 0 · corrected 1"]);
    ui.shows(["Corrected again: no, rotate the tokens"]);
    // Those that were never read, then those that were read longest ago.
    ui.after("S S S S G")
        .shows(["never read first, then longest ago"]);
    ui.row_has("▌", "Release");
    ui.row_has("▌", "3d");
    ui.press("k");
    ui.row_has("▌", "9d");
    ui.press("k");
    ui.row_has("▌", "never");
    ui.press("S g");
    ui.row_has("▌", "Auth Refactor");
}

#[test]
fn a_memory_is_as_old_as_its_header_or_git_says() {
    let mut ui = TestApp::new();
    let id = ui.id("claude");
    let store = Store::open("claude", id.root(), Some(Layout::Index)).expect("a store");
    let account = |path: &str| Account {
        id: ui.id("claude"),
        committed: Some(1 - 3 * 86_400_000),
        ..Account::new(&store, path, None)
    };
    let ledger = Ledger::new(
        vec![account("auth.md"), account("release.md")],
        Vec::new(),
        Vec::new(),
    );
    let before = [ui.row("Auth Refactor"), ui.row("Release")];
    ui.tell(Event::Counted(Arc::new(ledger)));
    let after = [ui.row("Auth Refactor"), ui.row("Release")];
    assert_eq!(before[0], after[0]);
    assert!(before[1].contains(" 1h "), "{before:?}");
    assert!(after[1].contains(" 3d "), "{after:?}");
}

#[test]
fn a_filter_finds_a_store_by_its_name() {
    let mut ui = TestApp::new();
    ui.after("f facts").shows(["User", "Episodes"]);
    ui.lacks(["Auth Refactor"]);
}

#[test]
fn all_marked_memories_move_and_their_links_follow_or_stay() {
    let mut ui = TestApp::at_auth();
    ui.after("<space> <space> M").shows(["move 2 memories to"]);
    let request = requested(&ui.press("<cr>"));
    let memories = ["auth.md", "release.md"].map(|path| (ui.id("claude"), path.to_owned()));
    let asked = |links| Request::Move {
        memories: memories.to_vec(),
        to: ui.id("session"),
        links,
    };
    assert_eq!(request, asked(BrokenLinks::Follow));
    let stays = asked(BrokenLinks::Leave);
    ui.tell(Event::Planned {
        generation: 1,
        request: Box::new(request),
        result: Ok(two_files("a.md", ["/one/x", "/two/y"])),
        notes: vec!["Links in b.md follow".to_owned()],
    });
    ui.shows(["Enter move", "l links"]);
    // The same name in two stores is told apart.
    ui.shows(["a.md  /one/x", "a.md  /two/y"]);
    assert_eq!(requested(&ui.press("l")), stays);
}

#[test]
fn a_planned_change_scrolls_to_its_ends_and_names_the_stores_of_two_indexes() {
    let mut ui = TestApp::at_auth();
    let effects = ui.press("d");
    let (generation, request) = super::plan_of(&effects);
    let long: String = (1..60)
        .map(|number| format!("- [m{number}](m{number}.md)\n"))
        .collect();
    let index = |store: &str, text: &str| Edit {
        root: ui.id(store).root().to_owned(),
        layout: Layout::Index,
        path: "MEMORY.md".to_owned(),
        before: Some(long.clone().into_bytes()),
        after: Some(text.as_bytes().to_vec()),
        derived: true,
        emptied: Vec::new(),
        attributes: Attributes::default(),
    };
    let change = Change {
        verb: ChangeVerb::Delete,
        message: String::new(),
        edits: vec![
            index("claude", "- [first](a.md)\n"),
            index("facts", "- [last](b.md)\n"),
        ],
        of: None,
        rejected: Vec::new(),
    };
    ui.tell(Event::Planned {
        generation,
        request,
        result: Ok(change),
        notes: Vec::new(),
    });
    ui.is_in(KeyContext::Deleting);
    ui.shows([
        "claude · MEMORY.md: 59 → 1 of",
        "facts · MEMORY.md: 59 → 1 of",
    ]);
    for (to_end, to_start) in [("G", "g"), ("<end>", "<home>")] {
        ui.after(to_end).shows(["last"]).lacks(["▾ MEMORY.md  /"]);
        ui.after(to_start).lacks(["[last]"]).shows(["[m1]"]);
    }
}

fn two_files(path: &str, roots: [&str; 2]) -> Change {
    Change {
        verb: ChangeVerb::Move,
        message: String::new(),
        edits: roots
            .map(|root| Edit {
                root: PathBuf::from(root),
                layout: Layout::Index,
                path: path.to_owned(),
                before: None,
                after: Some(b"text\n".to_vec()),
                derived: false,
                emptied: Vec::new(),
                attributes: Attributes::default(),
            })
            .to_vec(),
        of: None,
        rejected: Vec::new(),
    }
}

/// A change of these files of the store `claude`.
pub(super) fn record(ui: &TestApp, id: &str, verb: ChangeVerb, paths: &[&str]) -> Record {
    let root = ui.id("claude").root().to_owned();
    let file = |path: &&str| FileChange {
        before: Some(Revision::of(b"x")),
        after: (verb != ChangeVerb::Delete).then(|| Revision::of(b"y")),
        ..FileChange::new(&root, Layout::Index, path)
    };
    Record {
        id: id.to_owned(),
        time: 1,
        author: you(),
        verb,
        message: format!("{} memories deleted: {}", paths.len(), paths.join(", ")),
        of: None,
        files: paths.iter().map(file).collect(),
        origin: None,
        tombstones: Vec::new(),
    }
}

#[test]
fn one_of_many_is_restored() {
    let mut ui = TestApp::new();
    ui.press("H");
    let gone = record(&ui, "A", ChangeVerb::Delete, &["a.md", "b.md"]);
    let root = gone.files[0].root.clone();
    ui.tell(Event::HistoryLoaded(vec![gone]));
    ui.after("r").is_in(KeyContext::List).shows(["all 2"]);
    let request = requested(&ui.press("j j <cr>"));
    let only = Request::Restore {
        id: "A".to_owned(),
        only: Some((root, "b.md".to_owned())),
    };
    assert_eq!(request, only);
}

#[test]
fn an_index_is_not_renamed_and_the_key_says_why_at_once() {
    let mut ui = TestApp::new();
    ui.write("MEMORY.md", "# Mine\n\nOwn words.\n");
    ui.select("MEMORY");
    ui.press("r");
    ui.is_in(KeyContext::Tree);
    ui.shows(["agents look for the index by this name"]);
}

#[test]
fn the_editor_shows_the_line_of_the_index_as_it_is() {
    let mut ui = TestApp::new();
    ui.write("MEMORY.md", "# M\n\n- [Own title](auth.md) — own words\n");
    ui.select("Auth");
    ui.press("e");
    ui.is_in(KeyContext::Editor);
    ui.shows(["index  - [Own title](auth.md) — own words"]);
}

#[test]
fn the_history_is_that_of_the_selected_memory_until_all_is_asked_for() {
    let mut ui = TestApp::at_auth();
    ui.press("H");
    let records = vec![
        record(&ui, "C", ChangeVerb::Edit, &["release.md"]),
        Record {
            of: Some("A".to_owned()),
            ..record(&ui, "B", ChangeVerb::Undo, &["auth.md"])
        },
        record(&ui, "A", ChangeVerb::Edit, &["auth.md"]),
    ];
    ui.tell(Event::HistoryLoaded(records));
    ui.shows(["history · auth.md · 1 change"]);
    ui.row_has("▌", "claude");
    ui.row_has("▌", "undone");
    ui.lacks(["release.md"]);
    // What is undone is made again by the same key.
    assert_eq!(requested(&ui.press("u")), Request::Redo("A".to_owned()));
    ui.after("A").shows(["history · everything · 2 changes"]);
    ui.row_has("▌", "auth.md"); // the cursor stays
}

#[test]
fn the_message_of_a_change_keeps_the_key_that_undoes_it() {
    let mut ui = TestApp::new();
    let names: Vec<String> = (0..30)
        .map(|number| format!("memory_{number}.md"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let record = record(&ui, "A", ChangeVerb::Delete, &names);
    ui.tell(Event::Committed {
        request: Box::new(Request::Delete(Vec::new())),
        result: Ok(Some(record)),
    });
    ui.row_has("30 memories deleted", "… · u undoes it");
}

#[test]
fn one_pane_gets_the_whole_screen_and_gives_it_back() {
    let mut ui = TestApp::at_auth();
    let both = ui.text();
    ui.after("+").shows(["Release Process"]);
    ui.lacks(["access token"]);
    ui.after("<tab>").shows(["access token"]);
    ui.lacks(["▾ claude"]);
    ui.press("<tab> <a-z>");
    assert_eq!(ui.text(), both);
    ui.after("H +").shows(["what it did"]).lacks(["╭ history"]);
}

#[test]
fn a_link_to_a_file_of_another_store_is_followed() {
    let mut ui = TestApp::new();
    let path = ui.home.path().join("claude/auth.md");
    let text = std::fs::read_to_string(&path).expect("text");
    let text = text.replace("release.md", "../facts/facts/user.md");
    std::fs::write(&path, text).expect("writes");
    ui.press(AUTH);
    ui.press("<tab> ] <cr>");
    let row = ui.row("▌");
    assert!(
        row.contains("User") && !row.contains("Preferences"),
        "{row}"
    );
}
