//! The place of the cursor: after every change it is on what was changed, or beside what is gone.

use std::path::Path;
use std::sync::Arc;

use super::{TestApp, kept_text, moment, you};
use crate::core::change::history::Record;
use crate::core::change::{Direction, commit, replay};
use crate::core::memory::library::Library;
use crate::tui::effect::{Effect, Request, UndoDirection, WriteJob};
use crate::tui::event::{Event, NewMemoryText};
use crate::tui::keymap::KeyContext;
use crate::tui::pane::browse::fixture;

impl TestApp {
    /// Makes the change that the last effect asks for, and reads the stores again, as the workers
    /// do; returns what that asks for, too.
    pub(super) fn made(&mut self, effects: &[Effect]) -> (Box<Request>, Record, Vec<Effect>) {
        let history = &self.history;
        let stores = self.library.stores.iter();
        let roots: Vec<&Path> = stores
            .map(|snapshot| snapshot.store.root().path())
            .collect();
        let (request, change) = match effects.last() {
            Some(Effect::Write(WriteJob::Commit { request, change })) => {
                (request.clone(), (**change).clone())
            }
            Some(Effect::Write(WriteJob::Do(request))) => {
                let (record, direction) = match **request {
                    Request::Latest(UndoDirection::Undo) => {
                        (history.undoable(&roots), Direction::Back)
                    }
                    _ => (history.redoable(&roots), Direction::Forward),
                };
                let record = record.expect("reads").expect("a change");
                let change = replay(history, &record, direction, &moment()).expect("plans");
                (request.clone(), change)
            }
            other => panic!("{other:?}"),
        };
        let record = commit(history, &change, &you(), &moment()).expect("commits");
        let paths: Vec<_> = record
            .files
            .iter()
            .map(|file| file.root.join(&file.path))
            .collect();
        let effects = self.refresh(&paths);
        (request, record, effects)
    }

    /// Makes the change that the last effect asks for, and reports it.
    pub(super) fn commit(&mut self, effects: &[Effect]) {
        let (request, record, _) = self.made(effects);
        self.tell(Event::Committed {
            request,
            result: Ok(Some(record)),
        });
    }

    /// Plans, reviews and writes the change that these keys ask for.
    fn change(&mut self, keys: &str, confirm: &str) {
        let effects = self.press(keys);
        self.planned(&effects);
        let effects = self.press(confirm);
        self.commit(&effects);
    }

    /// Types a new memory of the project and saves it.
    fn add(&mut self, name: &str) {
        let path = format!("{}.md", name.to_lowercase());
        self.tell(Event::Composed(Ok(NewMemoryText {
            store: self.id("claude"),
            path,
            text: format!("---\nname: {name}\ndescription: d\ntype: project\n---\n\n"),
            lessons: Vec::new(),
        })));
        self.change("x<c-s>", "<cr>");
    }
}

#[test]
fn a_new_memory_is_under_the_cursor() {
    let mut ui = TestApp::new();
    ui.add("Tokens");
    ui.is_at("Tokens");
    // A filter that would hide it goes, and one that shows it stays.
    ui.press("f tea<cr>");
    ui.add("Zebra");
    ui.is_at("Zebra").lacks(["filter ❯"]);
    ui.press("f auth<cr>");
    ui.add("Auth2");
    ui.is_at("Auth2").shows(["filter ❯"]);
}

#[test]
fn logs_that_are_listed_later_leave_the_cursor_where_it_is() {
    let mut ui = TestApp::new();
    let mut listed = Vec::new();
    for (time, title) in [
        (3, "the newest"),
        (2, "an older one"),
        (4, "one that goes on"),
    ] {
        let mut log = fixture::log_summary(title, title);
        log.time = time;
        listed.push(("/shop".to_owned(), log));
        let logs = Library::group_logs(listed.clone());
        ui.tell(Event::LogsListed(Arc::new(logs)));
        if listed.len() == 1 {
            ui.press("G l j l j");
        }
        ui.is_at("the newest");
        assert!(ui.row("sessions").contains(&format!(" {} ", listed.len())));
    }
    let text = ui.text();
    let (_, listed) = text.split_once("claude-code").expect("an agent");
    let titles = ["one that goes on", "the newest", "an older one"];
    assert!(titles.map(|title| listed.find(title)).is_sorted(), "{text}");
}

#[test]
fn a_new_memory_that_was_left_is_gone_on_with() {
    let mut ui = TestApp::new();
    ui.tell(Event::Composed(Ok(NewMemoryText {
        store: ui.id("claude"),
        path: "draft.md".to_owned(),
        text: "---\nname: Draft\n---\n\n".to_owned(),
        lessons: Vec::new(),
    })));
    ui.press("zebra <esc>");
    ui.shows(["draft.md is not saved; n goes on with it"]);
    ui.after("n").is_in(KeyContext::Editor).shows(["zebra"]);
}

#[test]
fn a_renamed_memory_stays_under_the_cursor() {
    let mut ui = TestApp::at_auth();
    ui.change("r<c-u>prod<space>hosts<cr>", "<cr>");
    ui.is_at("Auth Refactor").shows(["prod_hosts.md"]);
    assert!(ui.home.path().join("claude/prod_hosts.md").exists());
}

#[test]
fn after_a_deletion_the_neighbour_is_under_the_cursor_and_undo_returns() {
    let mut ui = TestApp::at_auth();
    ui.after("j").is_at("Release Process");
    ui.change("d", "y");
    ui.is_at("Auth Refactor");
    ui.press("g");
    let effects = ui.press("u");
    ui.commit(&effects);
    ui.is_at("Release Process");
    let effects = ui.press("<c-r>");
    ui.commit(&effects);
    ui.is_at("Auth Refactor");
}

#[test]
fn a_saved_draft_of_another_process_is_under_the_cursor() {
    let mut ui = TestApp::at_auth();
    let kept = ui.press("e X");
    let text = kept_text(&kept);
    let text = text.clone();
    ui.press("<c-q><c-q> g");
    ui.tell(Event::Abandoned(vec![text]));
    ui.press("<cr>");
    ui.change("<c-s>", "<cr>");
    ui.is_at("Auth Refactor");
}

#[test]
fn folding_everything_stays_in_the_store() {
    let mut ui = TestApp::new();
    ui.after("f design<cr> <esc>").is_at("Auth design");
    ui.after("Z").is_at("session");
    ui.after("z").is_at("session");
}

#[test]
fn a_fold_above_opens_for_what_was_changed_and_others_stay() {
    let mut ui = TestApp::at_auth();
    ui.change("d", "y");
    // User and Project are folded.
    ui.after("g j h j h").lacks(["User Preferences  "]);
    let effects = ui.press("u");
    ui.commit(&effects);
    ui.is_at("Auth Refactor");
    assert!(ui.row("User").contains('▸'), "{}", ui.text());
}

#[test]
fn a_deleted_range_is_not_marked_again_when_it_comes_back() {
    let mut ui = TestApp::at_auth();
    ui.after("V j").shows(["2 marked"]);
    ui.change("d", "y");
    let effects = ui.press("u");
    ui.commit(&effects);
    ui.shows(["Release Process"]).lacks(["marked"]);
}
