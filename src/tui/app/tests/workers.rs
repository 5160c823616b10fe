//! What the workers tell: waiting, panics, missed changes, stores that are named anew.

use std::path::PathBuf;
use std::sync::Arc;

use super::{AUTH, Bench};
use crate::core::discover::{Discovered, Found};
use crate::core::library::Library;
use crate::core::store::Store;
use crate::tui::effect::{Effect, LibraryJob, LogsJob, Request, UnsavedJob, WriteJob};
use crate::tui::event::{Changes, Event};
use crate::tui::keymap::Place;
use crate::tui::panics::PanicReport;
use crate::tui::worker::UNSAVED_THREAD;

#[test]
fn waiting_for_a_store_is_said_for_as_long_as_it_lasts() {
    let mut bench = Bench::new();
    let holder = "tome write (pid 7)".to_owned();
    bench.tell(Event::Waiting { holder, seconds: 3 });
    bench.tell(Event::Failed("something else".to_owned()));
    let text = bench.text();
    assert!(
        text.contains("waiting for tome write (pid 7) to finish, 3 s"),
        "{text}"
    );
    assert!(text.contains("something else"), "{text}");
    bench.tell(Event::Elapsed);
    assert!(bench.text().contains("to finish, 3 s"));
    bench.tell(Event::WaitingOver);
    assert!(!bench.text().contains("waiting for"));
}

#[test]
fn missed_changes_make_everything_be_read_again() {
    let mut bench = Bench::new();
    let load = Effect::Library(LibraryJob::Load);
    assert_eq!(bench.tell(Event::Changed(Changes::Anywhere)), [load]);
    let again = Effect::Logs(LogsJob::Again);
    assert_eq!(bench.tell(Event::Spoken(Changes::Anywhere)), [again]);
    let paths = vec![PathBuf::from("/x.md")];
    let refresh = Effect::Library(LibraryJob::Refresh(paths.clone()));
    assert_eq!(bench.tell(Event::Changed(Changes::At(paths))), [refresh]);
}

#[test]
fn after_a_panic_text_is_said_to_be_kept_only_once_it_is() {
    let mut bench = Bench::new();
    let report = PanicReport::example("writer");
    assert_eq!(bench.tell(Event::Panicked(report.clone())), []);
    let text = bench.row("internal error: it broke (src/x.rs:1:2");
    assert!(!text.contains("kept") && !text.contains("lost"), "{text}");
    bench.press(AUTH);
    bench.press("e X");
    let effects = bench.tell(Event::Panicked(report));
    let [Effect::Unsaved(UnsavedJob::Secure { texts, report })] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert!(texts[0].text.contains("X## Decision"));
    assert!(report.contains("it broke"), "{report}");
    // The one that keeps texts is not asked to do again what it panicked at.
    let effects = bench.tell(Event::Panicked(PanicReport::example(UNSAVED_THREAD)));
    assert_eq!(effects, []);
    assert!(bench.text().contains("may not be kept"));
}

/// The same stores, each called by the other's name.
fn named_anew(bench: &Bench) -> Arc<Library> {
    let other = |name: &str| match name {
        "claude" => "session".to_owned(),
        "session" => "claude".to_owned(),
        name => name.to_owned(),
    };
    let stores = bench.library.shelves.iter().map(|shelf| {
        let store = &shelf.store;
        let name = other(store.name());
        Found {
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
    let mut bench = Bench::new();
    let claude = bench.id("claude");
    bench.press(AUTH);
    bench.press("e X <esc>");
    bench.press("<space>");
    let library = named_anew(&bench);
    assert_eq!(*library.shelf("session").expect("there").store.id(), claude);
    bench.library = Arc::clone(&library);
    bench.tell(Event::Indexed(library));
    assert!(bench.text().contains("1 marked"), "{}", bench.text());
    let effects = bench.press("d");
    let [Effect::Library(LibraryJob::Plan { request, .. })] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    let expected = Request::Delete(vec![(claude, vec!["auth.md".to_owned()])]);
    assert_eq!(**request, expected);
    bench.press("k e");
    assert!(bench.text().contains("X## Decision"), "{}", bench.text());
}

#[test]
fn a_reviewed_change_that_would_be_another_by_now_is_shown_again() {
    let mut bench = Bench::new();
    bench.press(AUTH);
    let effects = bench.press("d");
    bench.planned(&effects);
    let effects = bench.press("<cr>");
    let [Effect::Write(WriteJob::Commit { request, change })] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(bench.place(), Place::Tree);
    let mut change = (**change).clone();
    change.edits[0].before = Some(b"theirs\n".to_vec());
    bench.tell(Event::Outdated {
        request: request.clone(),
        change: change.clone(),
        notes: Vec::new(),
    });
    assert_eq!(bench.place(), Place::Review);
    let text = bench.text();
    assert!(
        text.contains("theirs") && text.contains("changed outside meanwhile"),
        "{text}"
    );
    let effects = bench.press("<cr>");
    let again = WriteJob::Commit {
        request: request.clone(),
        change: Box::new(change),
    };
    assert_eq!(effects, [Effect::Write(again)]);
}
