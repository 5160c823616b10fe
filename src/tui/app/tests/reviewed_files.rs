//! Tests of the review: editing, deleting, opening and noting the files that wait.

use std::fs;

use super::review::{Reviewing, moment};
use crate::core::change::Author;
use crate::tui::effect::{Effect, LibraryJob, Request, ReviewJob, UndoDirection, WriteJob};
use crate::tui::keymap::KeyContext;
use crate::tui::theme::Background;

#[test]
fn edit_delete_open_and_undo_are_those_of_the_tree() {
    let mut reviewing = Reviewing::new();
    reviewing.press("g J J");
    assert_eq!(reviewing.press("e"), []);
    assert_eq!(reviewing.ui.place(), KeyContext::Editor);
    assert!(reviewing.ui.text().contains("30 minutes"));
    reviewing.press("<esc>");
    assert_eq!(reviewing.ui.place(), KeyContext::Queue);
    let effects = reviewing.press("d");
    let paths = vec!["auth.md".to_owned()];
    let expected = Request::Delete(vec![(reviewing.ui.id("claude"), paths)]);
    assert!(
        matches!(effects.as_slice(), [Effect::Library(LibraryJob::Plan { request, .. })] if **request == expected),
        "{effects:?}"
    );
    let undo = |which| Effect::Write(WriteJob::Do(Box::new(Request::Latest(which))));
    assert_eq!(reviewing.press("u"), [undo(UndoDirection::Undo)]);
    assert_eq!(reviewing.press("<c-r>"), [undo(UndoDirection::Redo)]);
    reviewing.press("<cr>");
    assert_eq!(reviewing.ui.place(), KeyContext::Tree);
    assert!(reviewing.ui.row("▌").contains("Auth Refactor"));
}

#[test]
fn a_note_is_typed_and_stays_with_the_file() {
    let mut reviewing = Reviewing::new();
    reviewing.press("g n");
    assert_eq!(reviewing.ui.place(), KeyContext::Prompt);
    assert_eq!(reviewing.press("<cr>"), [], "an empty note");
    let effects = reviewing.press("wrong <cr>");
    assert_eq!(reviewing.ui.place(), KeyContext::Queue);
    let note = ReviewJob::Note {
        store: reviewing.ui.id("claude"),
        ids: reviewing.ids("auth.md"),
        text: "wrong".to_owned(),
    };
    assert_eq!(effects, [Effect::Write(WriteJob::Review(note))]);
    reviewing.carry_out(&effects);
    let text = reviewing.ui.text();
    assert!(
        text.contains("note: wrong") && text.contains("Noted"),
        "{text}"
    );
}

#[test]
fn a_deleted_file_and_an_index_say_what_can_be_done_about_them() {
    let mut reviewing = Reviewing::new();
    let root = reviewing.ui.home.path().join("claude");
    fs::remove_file(root.join("user_prefs.md")).expect("deletes");
    reviewing.refresh("user_prefs.md");
    reviewing.write("MEMORY.md", |text| format!("{text}\n- by hand\n"));
    reviewing.observe();
    reviewing.load();
    reviewing.press("G");
    assert!(
        reviewing.here().contains("− user_prefs.md"),
        "{}",
        reviewing.ui.text()
    );
    for key in ["e", "d", "<cr>"] {
        assert_eq!(reviewing.press(key), []);
        let text = reviewing.ui.text();
        assert!(text.contains("r brings it back"), "{key}: {text}");
    }
    reviewing.select("MEMORY.md");
    assert_eq!(reviewing.press("d"), []);
    assert!(reviewing.ui.text().contains("The index is no memory"));
    reviewing.press("e");
    assert_eq!(reviewing.ui.place(), KeyContext::Editor);
    assert!(reviewing.ui.text().contains("- by hand"));
    reviewing.press("<esc> <cr>");
    let text = reviewing.ui.text();
    assert!(reviewing.here().contains("▾ claude"), "{text}");
}

#[test]
fn what_comes_back_after_it_was_deleted_is_said_to() {
    use crate::core::change::{ChangeContext, ChangeRequest, commit, plan};
    let mut reviewing = Reviewing::new();
    let path = reviewing.ui.home.path().join("claude/release.md");
    let text = fs::read_to_string(&path).expect("text");
    let context = ChangeContext {
        moment: moment(5),
        expected: None,
    };
    let paths = vec!["release.md".to_owned()];
    let delete = ChangeRequest::Delete { paths };
    let change = plan(&reviewing.store(), &delete, &context).expect("plans");
    let author = Author {
        who: "you".to_owned(),
        door: "tui".to_owned(),
    };
    commit(&reviewing.history, &change, &author, &moment(5)).expect("deletes");
    reviewing.write("release.md", |_| text);
    reviewing.observe();
    reviewing.load();
    let text = reviewing.ui.text();
    assert!(
        reviewing.ui.row("+ release.md").contains("deleted before"),
        "{text}"
    );
    reviewing.select("release.md");
    assert!(reviewing.ui.text().contains("You deleted one like it"));
}

#[test]
fn small_screens_show_the_list_or_the_difference() {
    for (width, height) in [(60, 16), (20, 5), (1, 1), (80, 24), (300, 90)] {
        let mut reviewing = Reviewing::sized(width, height, Background::Dark);
        for pressed in [
            "g", "J", "J", "<space>", "<pageup>", "K", "n", "<esc>", "+", "+",
        ] {
            reviewing.press(pressed);
            reviewing.ui.text();
        }
    }
    let mut reviewing = Reviewing::sized(60, 16, Background::Dark);
    assert!(!reviewing.ui.text().contains("Ten seconds."));
    reviewing.press("G l");
    assert!(reviewing.ui.text().contains("Ten seconds."));
}
