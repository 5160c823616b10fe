//! Events of the workers: waiting, panics, missed changes, renamed stores.

use std::path::PathBuf;
use std::sync::Arc;

use super::{AUTH, TestApp, requested};
use crate::core::memory::discover::{Discovered, FoundStore};
use crate::core::memory::library::Library;
use crate::core::memory::store::Store;
use crate::tui::effect::{Effect, LibraryJob, LogsJob, Request, UnsavedJob, WriteJob};
use crate::tui::event::{Changes, Event};
use crate::tui::keymap::KeyContext;
use crate::tui::panics::PanicReport;
use crate::tui::worker::UNSAVED_THREAD;

#[test]
fn waiting_for_a_store_is_said_for_as_long_as_it_lasts() {
    let mut ui = TestApp::new();
    let holder = "tome write (pid 7)".to_owned();
    ui.tell(Event::Waiting { holder, seconds: 3 });
    ui.tell(Event::Failed("something else".to_owned()));
    ui.shows([
        "waiting for tome write (pid 7) to finish, 3 s",
        "something else",
    ]);
    ui.tell(Event::ToastExpired);
    ui.shows(["to finish, 3 s"]);
    ui.tell(Event::WaitingOver);
    ui.lacks(["waiting for"]);
}

#[test]
fn missed_changes_make_everything_be_read_again() {
    let mut ui = TestApp::new();
    let load = Effect::Library(LibraryJob::Load);
    assert_eq!(ui.tell(Event::Changed(Changes::Anywhere)), [load]);
    let again = Effect::Logs(LogsJob::Refresh);
    assert_eq!(ui.tell(Event::LogsChanged(Changes::Anywhere)), [again]);
    let paths = vec![PathBuf::from("/x.md")];
    let refresh = Effect::Library(LibraryJob::Refresh(paths.clone()));
    assert_eq!(ui.tell(Event::Changed(Changes::At(paths))), [refresh]);
}

#[test]
fn after_a_panic_text_is_said_to_be_kept_only_once_it_is() {
    let mut ui = TestApp::new();
    let report = PanicReport::example("writer");
    assert_eq!(ui.tell(Event::Panicked(report.clone())), []);
    let text = ui.row("internal error: it broke (src/x.rs:1:2");
    assert!(!text.contains("kept") && !text.contains("lost"), "{text}");
    ui.press(AUTH);
    ui.press("e X");
    let effects = ui.tell(Event::Panicked(report));
    let [Effect::Unsaved(UnsavedJob::Secure { texts, report })] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert!(texts[0].text.contains("X## Decision"));
    assert!(report.contains("it broke"), "{report}");
    // The unsaved worker is not asked to repeat the job that panicked.
    let effects = ui.tell(Event::Panicked(PanicReport::example(UNSAVED_THREAD)));
    assert_eq!(effects, []);
    ui.shows(["may not be kept"]);
}

/// The same stores with two names swapped.
fn named_anew(ui: &TestApp) -> Arc<Library> {
    let other = |name: &str| match name {
        "claude" => "session".to_owned(),
        "session" => "claude".to_owned(),
        name => name.to_owned(),
    };
    let stores = ui.library.stores.iter().map(|snapshot| {
        let store = &snapshot.store;
        let name = other(store.name());
        FoundStore {
            store: Store::open(&name, store.root().path(), Some(store.layout())).expect("opens"),
            why: "a test".to_owned(),
        }
    });
    Arc::new(Library::load(Discovered {
        stores: stores.collect(),
        ..Discovered::default()
    }))
}

#[test]
fn stores_that_are_named_anew_keep_their_marks_and_texts() {
    let mut ui = TestApp::new();
    let claude = ui.id("claude");
    ui.press(AUTH);
    ui.press("e X <esc> <space>");
    let library = named_anew(&ui);
    assert_eq!(*library.store("session").expect("there").store.id(), claude);
    ui.library = Arc::clone(&library);
    ui.tell(Event::Indexed(library));
    ui.shows(["1 marked"]);
    let expected = Request::Delete(vec![(claude, vec!["auth.md".to_owned()])]);
    assert_eq!(requested(&ui.press("d")), expected);
    ui.after("k e").shows(["X## Decision"]);
}

#[test]
fn a_reviewed_change_that_would_be_another_by_now_is_shown_again() {
    let mut ui = TestApp::at_auth();
    let effects = ui.press("d");
    ui.planned(&effects);
    let effects = ui.press("y");
    let [Effect::Write(WriteJob::Commit { request, change })] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    ui.is_in(KeyContext::Tree);
    let mut change = (**change).clone();
    change.edits[0].before = Some(b"theirs\n".to_vec());
    ui.tell(Event::Outdated {
        request: request.clone(),
        change: change.clone(),
        notes: Vec::new(),
    });
    ui.is_in(KeyContext::Deleting);
    ui.shows(["theirs", "changed outside meanwhile"]);
    let effects = ui.press("y");
    let again = WriteJob::Commit {
        request: request.clone(),
        change: Box::new(change),
    };
    assert_eq!(effects, [Effect::Write(again)]);
}
