//! Edited texts: kept while typing, saved, left for later.

use std::fs;

use ratatui::crossterm::event::Event as Input;

use super::{TestApp, has, is_forgotten, kept_text, moment, outside, you};
use crate::core::change::{ChangeVerb, commit};
use crate::core::disk::revision::Revision;
use crate::tui::effect::{Effect, LibraryJob, Request, UnsavedJob, WriteJob};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;

#[test]
fn an_edit_is_kept_saved_and_forgotten() {
    let mut ui = TestApp::at_auth();
    assert_eq!(ui.press("e"), []);
    ui.is_in(KeyContext::Editor);
    let kept = ui.press("X");
    let text = kept_text(&kept);
    assert!(text.text.contains("X## Decision"), "{}", text.text);
    ui.shows(["edit · auth.md ●"]);
    let effects = ui.press("<c-s>");
    ui.planned(&effects);
    ui.shows(["save 1 file"]);
    let effects = ui.press("<cr>");
    let [Effect::Write(WriteJob::Commit { request, change })] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    let record = commit(&ui.history, change, &you(), &moment()).expect("commits");
    let effects = ui.tell(Event::Committed {
        request: request.clone(),
        result: Ok(Some(record)),
    });
    is_forgotten(&effects);
    ui.is_in(KeyContext::Tree);
    ui.shows(["Memory saved: auth.md · u undoes it"]);
}

#[test]
fn unsaved_text_is_offered() {
    let mut ui = TestApp::at_auth();
    let kept = ui.press("e X");
    let text = kept_text(&kept);
    let text = text.clone();
    let mut ui = TestApp::new();
    ui.tell(Event::Abandoned(vec![text.clone()]));
    ui.is_in(KeyContext::Offer);
    assert_eq!(ui.press("d"), [], "it is asked once more");
    assert_eq!(
        ui.press("d"),
        [Effect::Unsaved(UnsavedJob::Forget(text.clone()))]
    );
    ui.tell(Event::Abandoned(vec![text.clone()]));
    ui.after("<cr>").shows(["X## Decision"]);
    // After "later", editing the memory opens the text.
    let mut ui = TestApp::new();
    let root = ui
        .library
        .store("claude")
        .expect("a store")
        .store
        .root()
        .path()
        .to_owned();
    ui.tell(Event::Abandoned(vec![
        crate::core::memory::unsaved::Unsaved { root, ..text },
    ]));
    ui.after("<esc>").is_at("Auth Refactor");
    ui.shows(["1 unsaved"]);
    ui.after("e").shows(["X## Decision"]);
}

#[test]
fn the_editor_opens_at_the_line_where_a_file_was_left() {
    let typed = |keys: &str| kept_text(&TestApp::at_auth().press(keys)).text.clone();
    let below = typed("e <down> <down> X");
    assert_ne!(below, typed("e X"));
    assert_eq!(below, typed("e <down> <down> <esc> e X"));
}

#[test]
fn leaving_the_editor_keeps_what_can_be_undone() {
    let mut ui = TestApp::at_auth();
    ui.press("e X <esc>");
    ui.is_in(KeyContext::Tree).shows(["1 unsaved"]);
    ui.after("e").shows(["X## Decision"]);
    let effects = ui.press("<c-z>");
    ui.lacks(["X## Decision"]);
    is_forgotten(&effects);
}

#[test]
fn what_is_replaced_everywhere_is_kept_and_saved() {
    let mut ui = TestApp::at_auth();
    ui.press("e <c-f>");
    let kept = ui.press("token<tab>key<a-cr>");
    let text = kept_text(&kept);
    assert!(text.text.contains("refresh key rotation"), "{}", text.text);
    ui.shows(["edit · auth.md ●"]);
    let effects = ui.press("<c-s>");
    ui.planned(&effects);
    ui.shows(["save 1 file"]);
}

#[test]
fn what_an_editor_wrote_before_it_failed_is_kept() {
    let mut ui = TestApp::at_auth();
    let effects = ui.press("E");
    let subject = outside(&effects);
    let written = subject.text.replace("JWT", "PASETO");
    let effects = ui.tell(Event::EditedOutside {
        subject: subject.clone(),
        written: Some(written.clone()),
        trouble: Some("vi: exit status: 1".to_owned()),
    });
    let text = kept_text(&effects);
    assert_eq!(text.text, written);
    ui.is_in(KeyContext::Editor);
    ui.shows(["Use PASETO", "●", "what was written is here, not saved yet"]);
    // The next outside editor goes on with it, also after the editor was left.
    ui.press("<esc>");
    let effects = ui.press("E");
    assert_eq!(outside(&effects).text, written);
}

#[test]
fn keys_that_arrive_at_once_are_kept_once_and_saved() {
    let mut ui = TestApp::at_auth();
    ui.press("e");
    let typed = crate::tui::keys::keys("abc");
    let inputs = |keys: Vec<_>| Event::Input(keys.into_iter().map(Input::Key).collect());
    let effects = ui.tell(inputs(typed.clone()));
    has(&kept_text(&effects).text, "abc## Decision");
    let saved = [typed, crate::tui::keys::keys("<c-s>")].concat();
    let effects = ui.tell(inputs(saved));
    let [
        Effect::Unsaved(UnsavedJob::Keep(kept)),
        Effect::Library(LibraryJob::Plan { request, .. }),
    ] = effects.as_slice()
    else {
        panic!("{effects:?}");
    };
    assert!(kept.text.contains("abcabc## Decision"), "{}", kept.text);
    assert!(matches!(&**request, Request::Save(text) if text == kept));
}

#[test]
fn a_text_that_is_opened_again_tells_what_was_changed_outside_meanwhile() {
    let mut ui = TestApp::at_auth();
    ui.press("e X <esc>");
    let text = fs::read_to_string(ui.path("auth.md")).expect("reads");
    ui.write("auth.md", &format!("{text}- refresh token: 30 days\n"));
    ui.after("e").is_in(KeyContext::Editor);
    ui.shows(["! changed outside, +1 −0: saving merges both"]);
}

#[test]
fn what_was_merged_is_not_marked_any_more() {
    let mut ui = TestApp::at_auth();
    let kept = ui.press("e X");
    let text = kept_text(&kept).clone();
    ui.after("<esc> <space> <space>").shows(["2 marked"]);
    let record = super::pruning::record(&ui, "A", ChangeVerb::Merge, &["auth.md"]);
    let others = vec![(ui.id("claude"), "gone.md".to_owned(), Revision::of(b"x"))];
    ui.tell(Event::Committed {
        request: Box::new(Request::Merge { text, others }),
        result: Ok(Some(record)),
    });
    ui.shows(["1 marked"]);
    assert!(!ui.row("Auth Refactor").contains('✓'), "{}", ui.text());
}
