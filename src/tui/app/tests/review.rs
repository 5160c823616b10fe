//! Tests of the review: what others wrote, decided about file by file and hunk by hunk.

use std::fs;
use std::sync::Arc;

use super::pruning::record;
use super::{TestApp, has, requested, you};
use crate::core::Error;
use crate::core::change::history::Origin;
use crate::core::change::{Author, Change, ChangeVerb};
use crate::core::disk::revision::Revision;
use crate::core::insight::review::{
    Incoming, Selection, Sent, Writer, accept, annotate, observe_files, observe_store, offer,
    plan_reverts, queue, resolve, set_here_before,
};
use crate::core::memory::library::{Library, LogSummary};
use crate::core::memory::store::Store;
use crate::core::text::time::Moment;
use crate::tui::effect::{Effect, LibraryJob, Request, ReviewJob, UndoDirection, WriteJob};
use crate::tui::event::{Event, ReviewCounts, WaitingFiles};
use crate::tui::keymap::KeyContext;
use crate::tui::pane::browse::fixture;
use crate::tui::theme::Background;

pub(super) fn moment(millisecond: i64) -> Moment {
    Moment {
        time: jiff::Timestamp::from_millisecond(millisecond).expect("a time"),
        today: jiff::civil::date(2026, 2, 12),
    }
}

impl TestApp {
    /// An app with a store of which two files wait: in `auth.md` two hunks of an agent's session,
    /// and `grace.md`, which is new.
    pub(super) fn reviewing() -> Self {
        Self::sized_reviewing(100, 28, Background::Dark)
    }

    pub(super) fn sized_reviewing(width: u16, height: u16, background: Background) -> Self {
        let mut ui = Self::sized(width, height, background);
        observe_store(&ui.history, &ui.store(), &moment(1)).expect("observes");
        ui.rewrite("auth.md", |text| {
            text.replace("migration status", "migration state")
                .replace("15 minutes", "30 minutes")
        });
        let writer = Writer {
            author: Author {
                who: "claude-code".to_owned(),
                door: "hook".to_owned(),
            },
            origin: Some(Origin {
                session: "5e551011".to_owned(),
                citation: None,
            }),
        };
        let paths = ["auth.md".to_owned()];
        let (history, store) = (&ui.history, ui.store());
        observe_files(history, &store, &paths, writer, &moment(2)).expect("observes");
        ui.rewrite("grace.md", |_| {
            "---\nname: Grace\ntype: project\n---\n\nTen seconds.\n".to_owned()
        });
        ui.observe();
        ui.press("R");
        ui.load();
        ui
    }

    pub(super) fn store(&self) -> Arc<Store> {
        Arc::clone(&self.library.store("claude").expect("a store").store)
    }

    /// Changes a file as another program.
    pub(super) fn rewrite(&mut self, name: &str, text: impl FnOnce(&str) -> String) {
        let old = fs::read_to_string(self.path(name)).unwrap_or_default();
        self.write(name, &text(&old));
    }

    pub(super) fn observe(&self) {
        observe_store(&self.history, &self.store(), &moment(1)).expect("observes");
    }

    /// Reads the queue, as the library worker does.
    pub(super) fn load(&mut self) {
        let items = queue(&self.history, &self.store()).expect("a queue");
        let waiting = if items.is_empty() {
            Vec::new()
        } else {
            vec![(self.id("claude"), items)]
        };
        self.tell(Event::QueueLoaded {
            waiting,
            here_before: 0,
            left_alone: Vec::new(),
        });
    }

    /// The ids of a file that waits, hunk by hunk.
    pub(super) fn ids(&self, path: &str) -> Vec<String> {
        let items = queue(&self.history, &self.store()).expect("a queue");
        let own = items.into_iter().filter(|item| item.path == path);
        own.flat_map(|item| item.hunks.into_iter().map(|hunk| hunk.id))
            .collect()
    }

    pub(super) fn accepting(&self, ids: &[String]) -> Effect {
        let chosen = vec![(self.id("claude"), ids.to_vec())];
        Effect::Write(WriteJob::Review(ReviewJob::Accept(chosen)))
    }

    /// Accepts as the writer does, and tells the app.
    pub(super) fn carry_out(&mut self, effects: &[Effect]) {
        let [Effect::Write(WriteJob::Review(job))] = effects else {
            panic!("{effects:?}");
        };
        let store = self.store();
        let result = match job {
            ReviewJob::Accept(stores) => {
                let ids = Selection::Ids(stores[0].1.clone());
                let made = accept(&self.history, &[&store], &ids, &you(), &moment(3));
                made.map(|made| made.records.iter().map(|record| record.files.len()).sum())
            }
            ReviewJob::AcceptBefore => set_here_before(&self.history, &store, 0).map(|_| 0),
            ReviewJob::TakeBackBefore => set_here_before(&self.history, &store, 3).map(|_| 0),
            ReviewJob::Resolve { resolution, .. } => {
                let author = Author::outside();
                let made = resolve(&self.history, &store, resolution, &author, &moment(3));
                made.map(|made| usize::from(made.is_some()))
            }
            ReviewJob::Note { ids, text, .. } => {
                let ids = Selection::Ids(ids.clone());
                annotate(&self.history, &store, &ids, text, &moment(3))
            }
        };
        let job = job.clone();
        let effects = self.tell(Event::Reviewed { job, result });
        assert_eq!(effects, [Effect::Library(LibraryJob::Queue)]);
        self.load();
    }

    /// Plans a revert as the library worker does; returns what was asked for and the change.
    fn plan_revert(&mut self, effects: &[Effect]) -> (Request, Change) {
        let request = requested(effects);
        let Request::Revert(chosen) = &request else {
            panic!("{request:?}");
        };
        let ids = Selection::Ids(chosen[0].1.clone());
        let change = plan_reverts(&self.history, &[&self.store()], &ids, &moment(4));
        let change = change.expect("plans");
        self.answer_plan(effects, Ok(change.clone()));
        (request, change)
    }
}

#[test]
fn the_count_is_in_the_header_and_at_its_store_and_opens_the_review() {
    let mut ui = TestApp::new();
    ui.lacks(["review"]);
    let waiting = |count, paths: &[&str]| WaitingFiles {
        count,
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
    };
    let counts = ReviewCounts::from([
        (ui.id("claude"), waiting(2, &["auth.md", "gone.md"])),
        (ui.id("instructions"), waiting(1, &["CLAUDE.md"])),
    ]);
    ui.tell(Event::ReviewCounted(counts));
    ui.row_has("Auth Refactor", "●");
    assert!(!ui.row("Release Process").contains("●"));
    let text = ui.text();
    let title = text.lines().next().unwrap_or_default().to_owned();
    assert!(title.contains("3 to review · "), "{text}");
    ui.row_has("▾ claude", "2 to review");
    ui.row_has("▸ instructions", "1 to review");
    let hints = text.lines().last().unwrap_or_default();
    assert!(hints.contains("R review"), "{text}");
    let at = title
        .split("to review")
        .next()
        .map_or(0, |before| before.chars().count());
    let at = u16::try_from(at).expect("on the screen");
    assert_eq!(ui.click((at - 4, 0)), [], "beside it");
    ui.is_in(KeyContext::Tree);
    let load = Effect::Library(LibraryJob::Queue);
    assert_eq!(ui.click((at, 0)), [load]);
    ui.is_in(KeyContext::Queue).shows(["reading…"]);
    ui.tell(Event::QueueLoaded {
        waiting: Vec::new(),
        here_before: 3,
        left_alone: vec!["gemini: skills/a/logo.png is left alone".to_owned()],
    });
    ui.shows(["3 files were here before tome", "Nothing waits for review."]);
    ui.shows(["logo.png is left alone", "1 left alone"]);
    ui.after("<esc>").is_in(KeyContext::Tree);
    ui.lacks(["to review"]);
}

#[test]
fn an_undo_takes_back_what_was_said_last() {
    let mut ui = TestApp::reviewing();
    let ids: Vec<String> = ["auth.md", "grace.md"].map(|path| ui.ids(path)).concat();
    let effects = [ui.accepting(&ids)];
    ui.carry_out(&effects);
    ui.tell(Event::QueueLoaded {
        waiting: Vec::new(),
        here_before: 3,
        left_alone: Vec::new(),
    });
    let effects = ui.press("A");
    let job = |job| [Effect::Write(WriteJob::Review(job))];
    assert_eq!(effects, job(ReviewJob::AcceptBefore));
    ui.carry_out(&effects);
    ui.shows(["u takes it back"]);
    let effects = ui.press("u");
    assert_eq!(effects, job(ReviewJob::TakeBackBefore));
    ui.carry_out(&effects);
    let latest = Box::new(Request::Latest(UndoDirection::Undo));
    let undo = [Effect::Write(WriteJob::Do(latest))];
    assert_eq!(ui.press("u"), undo, "the one before it");
}

fn log(id: &str, title: &str) -> LogSummary {
    LogSummary {
        session: Some(id.to_owned()),
        ..fixture::log_summary(id, title)
    }
}

#[test]
fn what_waits_is_listed_below_its_author_with_the_difference_beside_it() {
    let mut ui = TestApp::reviewing();
    ui.shows([
        "claude-code · 5e551011",
        "another program",
        "2 files · 1 session",
        "+ grace.md",
        "changed by claude-code in “5e551011”",
    ]);
    ui.is_at("~ auth.md");
    ui.row_has("changed · 2 hunks", "auth.md");
    ui.shows(["access token: 30 minutes"]);
    // The titles of sessions come from their logs, which may be listed later.
    let logs = Library::group_logs([("/shop".to_owned(), log("5e551011", "Token times"))]);
    ui.tell(Event::LogsListed(Arc::new(logs)));
    ui.shows(["claude-code · Token times"]);
}

#[test]
fn marked_files_ranges_and_sessions_are_decided_about_together() {
    let mut ui = TestApp::reviewing();
    let ids = |effects: &[Effect]| -> usize {
        let Request::Revert(stores) = requested(effects) else {
            panic!("{effects:?}");
        };
        stores.iter().map(|(_, ids)| ids.len()).sum()
    };
    let one = ids(&ui.press("g r"));
    assert_eq!(
        (one, ids(&ui.press("J R"))),
        (2, 2),
        "both hunks, of one session"
    );
    ui.press("<esc>");
    ui.after("<space>").shows(["1 marked"]);
    ui.is_at("grace.md");
    assert_eq!(ids(&ui.press("r")), one, "the marked one, not that here");
    ui.after("U V").shows(["Esc drops it"]);
    ui.after("k").shows(["2 marked"]);
    let both = ids(&ui.press("r"));
    assert_eq!(both, 3, "two hunks and a new file");
    ui.after("<esc>").lacks(["marked"]);
    ui.is_in(KeyContext::Queue); // Esc dropped the range
    ui.after("*").shows(["2 marked"]);
    let effects = ui.press("a");
    let [Effect::Write(WriteJob::Review(ReviewJob::Accept(stores)))] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(stores.iter().map(|(_, ids)| ids.len()).sum::<usize>(), both);
    ui.shows(["Nothing waits for review."]);
}

#[test]
fn files_and_hunks_are_gone_through_with_the_keys() {
    let mut ui = TestApp::reviewing();
    ui.after("g").is_at("auth.md");
    ui.after("j").is_at("grace.md");
    ui.press("j");
    ui.is_at("grace.md"); // the last one
    ui.after("k").is_at("auth.md");
    ui.after("J").shows(["hunk 1 of 2"]);
    ui.row_has("migration state", "▌");
    assert!(!ui.row("30 minutes").contains("▌"));
    ui.after("J").shows(["hunk 2 of 2"]);
    ui.row_has("30 minutes", "▌");
    ui.press("K K");
    // All of it.
    ui.shows(["changed · 2 hunks"]);
    ui.press("J J J");
    ui.is_at("grace.md"); // from the last hunk on
    ui.press("h K");
    ui.shows(["hunk 2 of 2"]); // and back
    ui.after("<esc>").is_in(KeyContext::Queue);
    ui.after("<esc>").is_in(KeyContext::Tree);
}

#[test]
fn a_file_a_hunk_or_a_session_is_accepted_and_the_cursor_goes_on() {
    let mut ui = TestApp::reviewing();
    let auth = ui.ids("auth.md");
    assert_eq!(auth.len(), 2);
    let effects = ui.press("g J a");
    assert_eq!(effects, [ui.accepting(&auth[..1])]);
    // The next key is about the next hunk, even before the first is accepted.
    ui.shows(["hunk 1 of 1"]);
    let more = ui.press("a");
    assert_eq!(more, [ui.accepting(&auth[1..])]);
    ui.is_at("grace.md");
    ui.carry_out(&effects);
    ui.shows(["Accepted"]);
    ui.carry_out(&more);
    ui.is_at("grace.md");
    let grace = ui.ids("grace.md");
    let effects = ui.press("a");
    assert_eq!(effects, [ui.accepting(&grace)]);
    ui.carry_out(&effects);
    ui.shows(["Nothing waits for review."]);
    assert_eq!(ui.press("a A r e d n <cr> J K"), [], "nothing is left");
    ui.after("<esc>").is_in(KeyContext::Tree);
}

#[test]
fn what_was_accepted_does_not_come_back_with_a_queue_that_was_read_before() {
    let mut ui = TestApp::reviewing();
    let auth = ui.ids("auth.md");
    let effects = ui.press("g A");
    assert_eq!(effects, [ui.accepting(&auth)]);
    ui.lacks(["auth.md"]);
    // The queue as it is before the writer accepts.
    ui.load();
    ui.lacks(["auth.md"]);
    ui.carry_out(&effects);
    ui.shows(["grace.md"]).lacks(["auth.md"]);
    // What could not be accepted is listed again.
    let effects = ui.press("a");
    let [Effect::Write(WriteJob::Review(job))] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    let result = Err(Error::not_found("grace.md"));
    let job = job.clone();
    ui.tell(Event::Reviewed { job, result });
    ui.load();
    ui.is_at("grace.md");
}

#[test]
fn what_changed_after_it_was_shown_is_not_accepted() {
    let mut ui = TestApp::reviewing();
    ui.rewrite("grace.md", |text| text.replace("Ten", "Sixty"));
    ui.observe();
    let effects = ui.press("G a");
    ui.carry_out(&effects);
    ui.shows(["It was changed meanwhile"]);
    ui.after("G").shows(["Sixty seconds."]);
}

#[test]
fn a_hunk_is_reverted_through_the_difference_that_is_shown_first() {
    let mut ui = TestApp::reviewing();
    let auth = ui.ids("auth.md");
    let effects = ui.press("g J J r");
    let (request, change) = ui.plan_revert(&effects);
    assert_eq!(
        request,
        Request::Revert(vec![(ui.id("claude"), auth[1..].to_vec())])
    );
    ui.is_in(KeyContext::Review);
    ui.shows(["revert 1 file", "Enter revert"]);
    let after = change.edits[0].after.clone().unwrap_or_default();
    let after = String::from_utf8(after).expect("text");
    has(&after, "15 minutes");
    has(&after, "migration state");
    let effects = ui.press("<cr>");
    let commit = WriteJob::Commit {
        request: Box::new(request),
        change: Box::new(change),
    };
    assert_eq!(effects, [Effect::Write(commit)]);
    // To revert a new memory is to delete it.
    ui.press("h G");
    let effects = ui.press("r");
    ui.plan_revert(&effects);
    ui.is_in(KeyContext::Deleting);
}

/// Two lines of one hunk wait, and the cursor is on the first.
fn at_the_first_of_two_lines() -> TestApp {
    let mut ui = TestApp::reviewing();
    ui.rewrite("grace.md", |_| "---\nname: Grace\n---\n\nTen.\n".to_owned());
    ui.observe();
    let store = ui.store();
    accept(&ui.history, &[&store], &Selection::All, &you(), &moment(3)).expect("accepts");
    ui.rewrite("grace.md", |_| {
        "---\nname: Grace\n---\n\nTwenty.\nThirty.\n".to_owned()
    });
    ui.rewrite("release.md", |text| format!("{text}More.\n"));
    ui.observe();
    ui.load();
    ui.select("grace.md");
    ui.after("s").shows(["line 1 of 2"]);
    ui
}

#[test]
fn the_cursor_is_on_the_line_whose_acceptance_was_undone() {
    let mut ui = at_the_first_of_two_lines();
    let items = queue(&ui.history, &ui.store()).expect("a queue");
    let waiting = vec![(ui.id("claude"), items)];
    let effects = ui.press("J a");
    ui.carry_out(&effects);
    ui.shows(["line 1 of 1"]);
    let undone = record(&ui, "A", ChangeVerb::Accept, &["grace.md"]);
    ui.tell(Event::Committed {
        request: Box::new(Request::Latest(UndoDirection::Undo)),
        result: Ok(Some(undone)),
    });
    ui.tell(Event::QueueLoaded {
        waiting,
        here_before: 0,
        left_alone: Vec::new(),
    });
    ui.shows(["line 2 of 2"]);
    ui.row_has("Thirty.", "▌");
}

#[test]
fn a_line_of_a_hunk_is_decided_about_alone() {
    let mut ui = at_the_first_of_two_lines();
    ui.row_has("Twenty.", "▌");
    assert!(!ui.row("Thirty.").contains("▌"));
    ui.after("J").shows(["line 2 of 2"]);
    let effects = ui.press("r");
    let (_, change) = ui.plan_revert(&effects);
    let after = change.edits[0].after.clone().unwrap_or_default();
    assert!(after.ends_with(b"\n\nTwenty.\n"), "{change:?}");
    let effects = ui.press("<esc> K a");
    ui.carry_out(&effects);
    ui.shows(["line 1 of 1"]);
    ui.is_at("grace.md");
    ui.row_has("Thirty.", "▌");
    ui.after("s").shows(["hunk 1 of 1"]);
}

#[test]
fn what_cannot_be_reverted_any_more_is_read_again() {
    let mut ui = TestApp::reviewing();
    let effects = ui.press("r");
    let effects = ui.answer_plan(&effects, Err(Error::not_found("what to revert")));
    assert_eq!(effects, [Effect::Library(LibraryJob::Queue)]);
    ui.shows(["what to revert"]);
}

#[test]
fn edit_delete_open_and_undo_are_those_of_the_tree() {
    let mut ui = TestApp::reviewing();
    ui.press("g J J");
    assert_eq!(ui.press("e"), []);
    ui.is_in(KeyContext::Editor).shows(["30 minutes"]);
    ui.after("<esc>").is_in(KeyContext::Queue);
    let effects = ui.press("d");
    let paths = vec!["auth.md".to_owned()];
    let expected = Request::Delete(vec![(ui.id("claude"), paths)]);
    assert_eq!(requested(&effects), expected);
    let undo = |which| Effect::Write(WriteJob::Do(Box::new(Request::Latest(which))));
    assert_eq!(ui.press("u"), [undo(UndoDirection::Undo)]);
    assert_eq!(ui.press("<c-r>"), [undo(UndoDirection::Redo)]);
    ui.after("<cr>").is_in(KeyContext::Preview);
    ui.is_at("Auth Refactor");
    ui.press("<esc>");
    ui.is_in(KeyContext::Queue); // leaving it comes back
}

#[test]
fn a_note_is_typed_and_stays_with_the_file() {
    let mut ui = TestApp::reviewing();
    ui.after("g n").is_in(KeyContext::Prompt);
    assert_eq!(ui.press("<cr>"), [], "an empty note");
    let effects = ui.press("wrong <cr>");
    ui.is_in(KeyContext::Queue);
    let note = ReviewJob::Note {
        store: ui.id("claude"),
        ids: ui.ids("auth.md"),
        text: "wrong".to_owned(),
    };
    assert_eq!(effects, [Effect::Write(WriteJob::Review(note))]);
    ui.carry_out(&effects);
    ui.shows(["note: wrong", "Noted"]);
}

#[test]
fn a_deleted_file_and_an_index_say_what_can_be_done_about_them() {
    let mut ui = TestApp::reviewing();
    let gone = ui.path("user_prefs.md");
    fs::remove_file(&gone).expect("deletes");
    ui.refresh(&[gone]);
    ui.rewrite("MEMORY.md", |text| format!("{text}\n- by hand\n"));
    ui.observe();
    ui.load();
    ui.after("G").is_at("− user_prefs.md");
    for key in ["e", "d", "<cr>"] {
        assert_eq!(ui.press(key), []);
        let text = ui.text();
        assert!(text.contains("r brings it back"), "{key}: {text}");
    }
    ui.select("MEMORY.md");
    assert_eq!(ui.press("d"), []);
    ui.shows(["The index is no memory"]);
    ui.after("e").is_in(KeyContext::Editor);
    ui.shows(["- by hand"]);
    ui.after("<esc> <cr>").is_at("▾ claude");
}

#[test]
fn what_comes_back_after_it_was_deleted_is_said_to() {
    use crate::core::change::{ChangeContext, ChangeRequest, commit, plan};
    let mut ui = TestApp::reviewing();
    let path = ui.home.path().join("claude/release.md");
    let text = fs::read_to_string(&path).expect("text");
    let context = ChangeContext {
        moment: moment(5),
        expected: None,
        history: None,
    };
    let paths = vec!["release.md".to_owned()];
    let delete = ChangeRequest::Delete { paths };
    let change = plan(&ui.store(), &delete, &context).expect("plans");
    commit(&ui.history, &change, &you(), &moment(5)).expect("deletes");
    ui.rewrite("release.md", |_| text);
    ui.observe();
    ui.load();
    ui.row_has("+ release.md", "deleted before");
    ui.select("release.md");
    ui.shows(["You deleted one like it"]);
}

#[test]
fn both_texts_of_a_conflict_are_merged_and_none_is_taken_at_once() {
    let mut ui = TestApp::reviewing();
    let texts = ["Five", "Twenty", "Ten"].map(|word| format!("# Grace\n\n{word} seconds.\n"));
    for text in &texts {
        ui.rewrite("grace.md", |_| text.clone());
        ui.observe();
    }
    let store = ui.store();
    let author = Author::outside();
    accept(&ui.history, &[&store], &Selection::All, &author, &moment(3)).expect("accepted");
    let [base, theirs, _] = texts.each_ref().map(|text| Revision::of(text.as_bytes()));
    let incoming = Incoming {
        path: "grace.md".to_owned(),
        base: Some(base),
        theirs: Some(theirs),
        index: None,
        sent: Sent {
            machine: "laptop".to_owned(),
            commit: "c0ffee".to_owned(),
            is_conflict: true,
        },
        time: 4,
        remote: Some(theirs),
        blob: None,
        is_rejected: false,
    };
    offer(&ui.history, store.root().path(), &[incoming]).expect("offered");
    ui.load();
    ui.shows(["conflict: changed here"]);
    assert_eq!(ui.press("e"), []);
    ui.shows(["a merges both texts"]);
    assert_eq!(ui.press("a"), []);
    ui.shows([
        "grace.md was changed by laptop, too · 1 to decide",
        "Ten seconds.",
        "Twenty seconds.",
    ]);
    ui.press("<cr>");
    ui.shows(["Decide every place first: m mine, t theirs, b both"]);
    ui.press("b");
    let effects = ui.press("<cr>");
    ui.carry_out(&effects);
    let made = store.root().read("grace.md").expect("reads");
    let made = String::from_utf8(made.expect("a file")).expect("text");
    assert_eq!(made, "# Grace\n\nTen seconds.\nTwenty seconds.\n");
    ui.shows(["Merged"]).lacks(["conflict"]);
}

#[test]
fn small_screens_show_the_list_or_the_difference() {
    for (width, height) in [(60, 16), (20, 5), (1, 1), (80, 24), (300, 90)] {
        let mut ui = TestApp::sized_reviewing(width, height, Background::Dark);
        for pressed in [
            "g", "J", "J", "<space>", "<pageup>", "K", "n", "<esc>", "+", "+",
        ] {
            ui.press(pressed);
            ui.text();
        }
    }
    let mut ui = TestApp::sized_reviewing(60, 16, Background::Dark);
    ui.lacks(["Ten seconds."]);
    ui.after("G l").shows(["Ten seconds."]);
}
