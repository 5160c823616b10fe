//! Snapshots of the screens with their roles, which are the same on every background.

use std::sync::Arc;

use super::{AUTH, TestApp, kept_text, moment, you};
use crate::core::Error;
use crate::core::change::{ChangeContext, ChangeRequest, commit, plan, recorded_edits};
use crate::core::disk::error::Conflict;
use crate::core::memory::unsaved::Unsaved;
use crate::tui::event::Event;
use crate::tui::theme::Background;

fn check(name: &str, ui: &TestApp) {
    let home = ui.home.path().display().to_string();
    let text = ui.styled().replace(&home, "~");
    insta::assert_snapshot!(name, text);
}

#[test]
fn looks_of_browse() {
    let mut ui = TestApp::sized(100, 20, Background::Dark);
    ui.press(AUTH);
    ui.press("<space>");
    check("browse", &ui);
    ui.press("v");
    check("source", &ui);
}

#[test]
fn looks_of_what_lies_over_it() {
    let mut ui = TestApp::sized(80, 24, Background::Dark);
    ui.press(AUTH);
    for (pane, opens) in [
        ("help", "?"),
        ("palette", ":"),
        ("new", "n"),
        ("rename", "r"),
        ("move", "M"),
    ] {
        ui.press(opens);
        check(pane, &ui);
        ui.press("<esc>");
    }
    let effects = ui.press("d");
    ui.planned(&effects);
    check("delete", &ui);
}

#[test]
fn looks_of_the_editor_and_of_what_it_asks() {
    let mut ui = TestApp::sized(80, 24, Background::Dark);
    ui.press(AUTH);
    ui.press("e");
    let kept = ui.press("X");
    check("editor", &ui);
    let effects = ui.press("<c-s>");
    ui.planned(&effects);
    check("save", &ui);
    ui.press("<esc>");
    let effects = ui.press("<c-s>");
    let text = kept_text(&kept);
    let base = text.base.clone().unwrap_or_default();
    let theirs = base.replace("## Decision", "## Decided");
    let conflict = Conflict {
        path: text.path.clone(),
        base: Some(base.into_bytes()),
        mine: Some(text.text.clone().into_bytes()),
        theirs: Some(theirs.into_bytes()),
    };
    ui.answer_plan(&effects, Err(Error::Conflict(Box::new(conflict))));
    check("conflict", &ui);
    let mut ui = TestApp::sized(80, 24, Background::Dark);
    let root = ui.home.path().join("claude");
    ui.tell(Event::Abandoned(vec![Unsaved {
        root,
        ..text.clone()
    }]));
    check("offer", &ui);
}

#[test]
fn looks_of_the_context() {
    let mut ui = super::context::opened(100, 24, Background::Dark);
    check("context", &ui);
    ui.press("G l G");
    check("cut", &ui);
    ui.press("<esc> <cr> <c-end><cr>more");
    check("meter", &ui);
}

#[test]
fn looks_of_history() {
    let mut ui = TestApp::sized(100, 20, Background::Dark);
    let context = ChangeContext {
        moment: moment(),
        expected: None,
        history: None,
    };
    let change_request = ChangeRequest::Delete {
        paths: vec!["release.md".to_owned()],
    };
    let snapshot = Arc::clone(ui.library.store("claude").expect("a store"));
    let change = plan(&snapshot.store, &change_request, &context).expect("plans");
    commit(&ui.history, &change, &you(), &moment()).expect("commits");
    ui.press("H");
    let records = ui.history.records().expect("reads");
    let mut record = records[0].clone();
    record.id = "A".to_owned();
    record.time = 1;
    let edits = recorded_edits(&ui.history, &record).expect("reads");
    ui.tell(Event::HistoryLoaded(vec![record]));
    ui.tell(Event::Compared {
        id: "A".to_owned(),
        result: Ok(edits),
    });
    check("history", &ui);
}

#[test]
fn looks_of_the_review() {
    let mut ui = TestApp::sized_reviewing(100, 20, Background::Dark);
    check("review", &ui);
    ui.press("J J");
    check("hunk", &ui);
}
