//! Keys that no other test presses: each does what the keymap documents.

use super::{AUTH, TestApp};
use crate::core::change::{Author, ChangeVerb};
use crate::core::error::Conflict;
use crate::core::history::Record;
use crate::tui::effect::{Effect, LibraryJob, Request, TerminalJob, UnsavedJob};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;

#[test]
fn folding_sorting_and_hiding() {
    let mut ui = TestApp::new();
    ui.press("Z");
    assert!(!ui.text().contains("User Preferences"));
    ui.press("z");
    assert!(ui.text().contains("User Preferences"));
    ui.press("s");
    assert!(ui.text().contains("Sorted by age"));
    ui.press("w");
    assert!(!ui.text().contains("what the agent sees"));
    ui.press("w");
    assert!(ui.text().contains("what the agent sees"));
    ui.press(AUTH);
    ui.press("<space>");
    assert!(ui.text().contains("1 marked"));
    ui.press("U");
    assert!(!ui.text().contains("marked"));
}

#[test]
fn moving_by_pages_and_to_the_ends() {
    let mut ui = TestApp::new();
    let here = |ui: &TestApp| ui.row("▌");
    let first = here(&ui);
    for (away, back) in [("G", "g"), ("<c-d>", "<c-u>"), ("<pagedown>", "<pageup>")] {
        ui.press(away);
        assert_ne!(here(&ui), first, "{away}");
        ui.press(back);
        assert_eq!(here(&ui), first, "{back}");
    }
    ui.press(AUTH);
    ui.press("<tab>");
    assert_eq!(ui.place(), KeyContext::Preview);
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
        assert_eq!(ui.press(pressed), [], "{pressed}");
    }
    ui.press("] [");
    ui.press("<esc>");
    assert_eq!(ui.place(), KeyContext::Tree);
}

#[test]
fn the_text_goes_to_another_editor_or_is_thrown_away() {
    let mut ui = TestApp::new();
    ui.press(AUTH);
    let effects = ui.press("E");
    assert!(
        matches!(effects.as_slice(), [Effect::Terminal(TerminalJob::EditOutside(text))] if text.path == "auth.md")
    );
    ui.press("e X");
    let effects = ui.press("<c-o>");
    assert!(
        matches!(effects.as_slice(), [Effect::Terminal(TerminalJob::EditOutside(text))] if text.text.contains('X'))
    );
    let effects = ui.press("<c-q>");
    assert!(
        matches!(effects.as_slice(), [Effect::Unsaved(UnsavedJob::Forget(_))]),
        "{effects:?}"
    );
    assert_eq!(ui.place(), KeyContext::Tree);
}

#[test]
fn a_change_of_the_history_is_taken_back_or_brought_back() {
    let mut ui = TestApp::new();
    ui.press("H");
    let record = Record {
        id: "A".to_owned(),
        time: 1,
        author: Author {
            who: "claude".to_owned(),
            door: "mcp".to_owned(),
        },
        verb: ChangeVerb::Edit,
        message: "Memory saved: auth.md".to_owned(),
        files: Vec::new(),
        of: None,
        origin: None,
        tombstones: Vec::new(),
    };
    let effects = ui.tell(Event::HistoryLoaded(vec![record]));
    assert_eq!(
        effects,
        [Effect::Library(LibraryJob::Compare { id: "A".to_owned() })]
    );
    for (pressed, expected) in [
        ("u", Request::Undo("A".to_owned())),
        (
            "R",
            Request::Restore {
                id: "A".to_owned(),
                only: None,
            },
        ),
    ] {
        let effects = ui.press(pressed);
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
        let mut ui = TestApp::new();
        ui.press(AUTH);
        ui.press("e");
        let kept = ui.press("X");
        let Some(Effect::Unsaved(UnsavedJob::Keep(text))) = kept.last() else {
            panic!("{kept:?}");
        };
        let effects = ui.press("<c-s>");
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
        ui.tell(Event::Planned {
            generation: *generation,
            request: request.clone(),
            result: Err(crate::core::Error::Conflict(Box::new(conflict))),
            notes: Vec::new(),
        });
        assert_eq!(ui.place(), KeyContext::Merge);
        ui.press(pressed);
        let effects = ui.press("<cr>");
        let saved = effects.iter().find_map(|effect| match effect {
            Effect::Library(LibraryJob::Plan { request, .. }) => match &**request {
                Request::Save(text) => Some(text.text.clone()),
                _ => None,
            },
            _ => None,
        });
        // Taking everything from the file leaves nothing to save.
        assert_eq!(saved.is_none(), pressed == "t");
        let text = saved.unwrap_or_else(|| ui.text());
        assert!(text.contains(expected), "{pressed}: {text}");
    }
}
