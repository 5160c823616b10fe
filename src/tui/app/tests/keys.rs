//! Keys that no other test presses: each does what the keymap says of it.

use super::{AUTH, Bench};
use crate::core::change::{Author, Verb};
use crate::core::error::Conflict;
use crate::core::history::Record;
use crate::tui::effect::{Effect, LibraryJob, Request, TerminalJob, UnsavedJob};
use crate::tui::event::Event;
use crate::tui::keymap::Place;

#[test]
fn folding_sorting_and_hiding() {
    let mut bench = Bench::new();
    bench.press("Z");
    assert!(!bench.text().contains("User Preferences"));
    bench.press("z");
    assert!(bench.text().contains("User Preferences"));
    bench.press("s");
    assert!(bench.text().contains("Sorted by age"));
    bench.press("w");
    assert!(!bench.text().contains("what the agent sees"));
    bench.press("w");
    assert!(bench.text().contains("what the agent sees"));
    bench.press(AUTH);
    bench.press("<space>");
    assert!(bench.text().contains("1 marked"));
    bench.press("U");
    assert!(!bench.text().contains("marked"));
}

#[test]
fn moving_by_pages_and_to_the_ends() {
    let mut bench = Bench::new();
    let here = |bench: &Bench| bench.row("▌");
    let first = here(&bench);
    for (away, back) in [("G", "g"), ("<c-d>", "<c-u>"), ("<pagedown>", "<pageup>")] {
        bench.press(away);
        assert_ne!(here(&bench), first, "{away}");
        bench.press(back);
        assert_eq!(here(&bench), first, "{back}");
    }
    bench.press(AUTH);
    bench.press("<tab>");
    assert_eq!(bench.place(), Place::Preview);
    for pressed in [
        "j",
        "k",
        "<c-d>",
        "<c-u>",
        "<pagedown>",
        "<pageup>",
        "G",
        "g",
    ] {
        assert_eq!(bench.press(pressed), [], "{pressed}");
    }
    bench.press("] [");
    bench.press("<esc>");
    assert_eq!(bench.place(), Place::Tree);
}

#[test]
fn the_text_goes_to_another_editor_or_is_thrown_away() {
    let mut bench = Bench::new();
    bench.press(AUTH);
    let effects = bench.press("E");
    assert!(
        matches!(effects.as_slice(), [Effect::Terminal(TerminalJob::Lend(text))] if text.path == "auth.md")
    );
    bench.press("e X");
    let effects = bench.press("<c-o>");
    assert!(
        matches!(effects.as_slice(), [Effect::Terminal(TerminalJob::Lend(text))] if text.text.contains('X'))
    );
    let effects = bench.press("<c-q>");
    assert!(
        matches!(effects.as_slice(), [Effect::Unsaved(UnsavedJob::Forget(_))]),
        "{effects:?}"
    );
    assert_eq!(bench.place(), Place::Tree);
}

#[test]
fn a_change_of_the_history_is_taken_back_or_brought_back() {
    let mut bench = Bench::new();
    bench.press("H");
    let record = Record {
        id: "A".to_owned(),
        time: 1,
        author: Author {
            who: "claude".to_owned(),
            door: "mcp".to_owned(),
        },
        verb: Verb::Edit,
        message: "Memory saved: auth.md".to_owned(),
        files: Vec::new(),
        of: None,
        tombstones: Vec::new(),
    };
    let effects = bench.tell(Event::Recorded(vec![record]));
    assert_eq!(
        effects,
        [Effect::Library(LibraryJob::Compare { id: "A".to_owned() })]
    );
    for (pressed, expected) in [
        ("u", Request::Undo("A".to_owned())),
        ("R", Request::Restore("A".to_owned())),
    ] {
        let effects = bench.press(pressed);
        assert!(
            matches!(effects.as_slice(), [Effect::Library(LibraryJob::Plan { request, .. })] if **request == expected),
            "{effects:?}"
        );
    }
}

#[test]
fn each_side_of_a_conflict_can_be_taken() {
    for (pressed, expected) in [
        ("m", "X## Decision"),
        ("t", "## Decided"),
        ("b", "X## Decision\n## Decided"),
    ] {
        let mut bench = Bench::new();
        bench.press(AUTH);
        bench.press("e");
        let kept = bench.press("X");
        let Some(Effect::Unsaved(UnsavedJob::Keep(text))) = kept.last() else {
            panic!("{kept:?}");
        };
        let effects = bench.press("<c-s>");
        let [
            Effect::Library(LibraryJob::Plan {
                generation,
                request,
            }),
        ] = effects.as_slice()
        else {
            panic!("{effects:?}");
        };
        let base = text.base.clone().unwrap_or_default();
        let conflict = Conflict {
            path: text.path.clone(),
            theirs: Some(base.replace("## Decision", "## Decided").into_bytes()),
            base: Some(base.into_bytes()),
            mine: Some(text.text.clone().into_bytes()),
        };
        bench.tell(Event::Planned {
            generation: *generation,
            request: request.clone(),
            result: Err(crate::core::Error::Conflict(Box::new(conflict))),
            notes: Vec::new(),
        });
        assert_eq!(bench.place(), Place::Merge);
        bench.press(pressed);
        let effects = bench.press("<cr>");
        let saved = effects.iter().find_map(|effect| match effect {
            Effect::Library(LibraryJob::Plan { request, .. }) => match &**request {
                Request::Save(text) => Some(text.text.clone()),
                _ => None,
            },
            _ => None,
        });
        // Whoever takes all that is on the disk has nothing left to save.
        assert_eq!(saved.is_none(), pressed == "t");
        let text = saved.unwrap_or_else(|| bench.text());
        assert!(text.contains(expected), "{pressed}: {text}");
    }
}
