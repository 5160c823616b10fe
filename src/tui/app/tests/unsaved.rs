//! Texts that are edited: kept while they are typed, saved, left for later.

use super::{AUTH, Bench, moment};
use crate::core::change::{Author, commit};
use crate::core::history::History;
use crate::tui::effect::{Effect, UnsavedJob, WriteJob};
use crate::tui::event::Event;
use crate::tui::keymap::Place;

#[test]
fn an_edit_is_kept_saved_and_forgotten() {
    let mut bench = Bench::new();
    bench.press(AUTH);
    assert_eq!(bench.press("e"), []);
    assert_eq!(bench.place(), Place::Editor);
    let kept = bench.press("X");
    let [Effect::Unsaved(UnsavedJob::Keep(text))] = kept.as_slice() else {
        panic!("{kept:?}");
    };
    assert!(text.text.contains("X## Decision"), "{}", text.text);
    assert!(bench.text().contains("edit · auth.md ●"));
    let effects = bench.press("<c-s>");
    bench.planned(&effects);
    assert!(bench.text().contains("save 1 file"));
    let effects = bench.press("<cr>");
    let [Effect::Write(WriteJob::Commit { request, change })] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    let history = History::open(&bench.home.path().join("history"));
    let author = Author {
        who: "you".to_owned(),
        door: "tui".to_owned(),
    };
    let record = commit(&history, change, &author, &moment()).expect("commits");
    let effects = bench.tell(Event::Committed {
        request: request.clone(),
        result: Ok(Some(record)),
    });
    assert!(
        matches!(effects.as_slice(), [Effect::Unsaved(UnsavedJob::Forget(_))]),
        "{effects:?}"
    );
    assert_eq!(bench.place(), Place::Tree);
    assert!(bench.text().contains("Memory saved: auth.md · u undoes it"));
}

#[test]
fn leaving_the_editor_loses_nothing() {
    let mut bench = Bench::new();
    bench.press(AUTH);
    bench.press("e X <esc>");
    assert_eq!(bench.place(), Place::Tree);
    assert!(bench.text().contains("1 unsaved"));
    bench.press("e");
    assert!(bench.text().contains("X## Decision"), "{}", bench.text());
}

#[test]
fn unsaved_text_is_offered() {
    let mut bench = Bench::new();
    bench.press(AUTH);
    let kept = bench.press("e X");
    let Some(Effect::Unsaved(UnsavedJob::Keep(text))) = kept.last() else {
        panic!("{kept:?}");
    };
    let text = text.clone();
    let mut bench = Bench::new();
    bench.tell(Event::LeftBehind(vec![text.clone()]));
    assert_eq!(bench.place(), Place::Offer);
    assert_eq!(bench.press("d"), [], "it is asked once more");
    assert_eq!(
        bench.press("d"),
        [Effect::Unsaved(UnsavedJob::Forget(text.clone()))]
    );
    bench.tell(Event::LeftBehind(vec![text.clone()]));
    bench.press("<cr>");
    assert!(bench.text().contains("X## Decision"));
    // Later means later: the memory's own editor goes on with it.
    let mut bench = Bench::new();
    let root = bench
        .library
        .shelf("claude")
        .expect("a store")
        .store
        .root()
        .path()
        .to_owned();
    bench.tell(Event::LeftBehind(vec![crate::core::unsaved::Unsaved {
        root,
        ..text
    }]));
    bench.press("<esc>");
    assert!(bench.row("▌").contains("Auth Refactor"));
    assert!(bench.text().contains("1 unsaved"));
    bench.press("e");
    assert!(bench.text().contains("X## Decision"));
}
