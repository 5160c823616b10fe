//! What the screens look like, styles included, in the dark and in the light.

use std::sync::Arc;

use super::{AUTH, Bench, moment};
use crate::core::change::{Asking, Author, Wish, commit, plan, recorded_edits};
use crate::core::error::Conflict;
use crate::core::history::History;
use crate::core::unsaved::Unsaved;
use crate::tui::effect::{Effect, LibraryJob, UnsavedJob};
use crate::tui::event::Event;
use crate::tui::theme::Background;

/// Both backgrounds, and what their snapshots are called by.
const BOTH: [(&str, Background); 2] = [("dark", Background::Dark), ("light", Background::Light)];

fn check(name: &str, background: &str, bench: &Bench) {
    let home = bench.home.path().display().to_string();
    let text = bench.styled().replace(&home, "~");
    insta::assert_snapshot!(format!("{name}-{background}"), text);
}

#[test]
fn looks_of_browse() {
    for (name, background) in BOTH {
        let mut bench = Bench::sized(100, 20, background);
        bench.press(AUTH);
        bench.press("<space>");
        check("browse", name, &bench);
        bench.press("v");
        check("source", name, &bench);
    }
}

#[test]
fn looks_of_what_lies_over_it() {
    for (name, background) in BOTH {
        let mut bench = Bench::sized(80, 24, background);
        bench.press(AUTH);
        for (pane, opens) in [
            ("help", "?"),
            ("palette", ":"),
            ("new", "n"),
            ("rename", "r"),
            ("move", "M"),
            ("agent", "a"),
        ] {
            bench.press(opens);
            check(pane, name, &bench);
            bench.press("<esc>");
        }
        let effects = bench.press("d");
        bench.planned(&effects);
        check("delete", name, &bench);
    }
}

#[test]
fn looks_of_the_editor_and_of_what_it_asks() {
    for (name, background) in BOTH {
        let mut bench = Bench::sized(80, 24, background);
        bench.press(AUTH);
        bench.press("e");
        let kept = bench.press("X");
        check("editor", name, &bench);
        let effects = bench.press("<c-s>");
        bench.planned(&effects);
        check("save", name, &bench);
        bench.press("<esc>");
        let effects = bench.press("<c-s>");
        let Some(Effect::Library(LibraryJob::Plan {
            generation,
            request,
        })) = effects.last()
        else {
            panic!("{effects:?}");
        };
        let Some(Effect::Unsaved(UnsavedJob::Keep(text))) = kept.last() else {
            panic!("{kept:?}");
        };
        let base = text.base.clone().unwrap_or_default();
        let theirs = base.replace("## Decision", "## Decided");
        let conflict = Conflict {
            path: text.path.clone(),
            base: Some(base.into_bytes()),
            mine: Some(text.text.clone().into_bytes()),
            theirs: Some(theirs.into_bytes()),
        };
        bench.tell(Event::Planned {
            generation: *generation,
            request: request.clone(),
            result: Err(crate::core::Error::Conflict(Box::new(conflict))),
            notes: Vec::new(),
        });
        check("conflict", name, &bench);
        let mut bench = Bench::sized(80, 24, background);
        let root = bench.home.path().join("claude");
        bench.tell(Event::LeftBehind(vec![Unsaved {
            root,
            ..text.clone()
        }]));
        check("offer", name, &bench);
    }
}

#[test]
fn looks_of_history() {
    for (name, background) in BOTH {
        let mut bench = Bench::sized(100, 20, background);
        let history = History::open(&bench.home.path().join("history"));
        let author = Author {
            who: "you".to_owned(),
            door: "tui".to_owned(),
        };
        let asking = Asking {
            moment: moment(),
            expected: None,
        };
        let wish = Wish::Delete {
            paths: vec!["release.md".to_owned()],
        };
        let shelf = Arc::clone(bench.library.shelf("claude").expect("a store"));
        let change = plan(&shelf.store, &wish, &asking).expect("plans");
        commit(&history, &change, &author, &moment()).expect("commits");
        bench.press("H");
        let records = history.records().expect("reads");
        let mut record = records[0].clone();
        record.id = "A".to_owned();
        record.time = 1;
        let edits = recorded_edits(&history, &record).expect("reads");
        bench.tell(Event::Recorded(vec![record]));
        bench.tell(Event::Compared {
            id: "A".to_owned(),
            result: Ok(edits),
        });
        check("history", name, &bench);
    }
}
