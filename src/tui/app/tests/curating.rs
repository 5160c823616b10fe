//! Tests of ui: findings with their evidence, and what is done about them.

use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::{TestApp, moment, requested, you};
use crate::core::change::{Author, recorded_edits};
use crate::core::insight::curate::collect::{Sources, collect};
use crate::core::insight::curate::fix;
use crate::core::insight::curate::git::Git;
use crate::core::insight::curate::waiver::{self, Waiver};
use crate::core::insight::curate::{Finding, check_each};
use crate::core::memory::config::CurateSettings;
use crate::core::memory::discover::Environment;
use crate::core::memory::store::{Store, StoreId};
use crate::tui::effect::{
    CurateJob, Effect, LibraryJob, Request, UndoDirection, WaiveJob, WriteJob,
};
use crate::tui::event::{CurateStep, Event};
use crate::tui::keymap::KeyContext;
use crate::tui::theme::Background;

impl TestApp {
    /// An app in which the findings are shown: an invisible character in `notes.md`, two lines of
    /// the index that lead nowhere, and a memory without a text.
    fn curating() -> Self {
        let mut ui = Self::untidy(100, 28, Background::Dark);
        ui.open_findings();
        ui
    }

    /// The same before the pane is opened.
    fn untidy(width: u16, height: u16, background: Background) -> Self {
        let mut ui = Self::sized(width, height, background);
        let head =
            |name: &str| format!("---\nname: {name}\ndescription: d\ntype: project\n---\n\n");
        let index = ui.read_file("MEMORY.md");
        ui.write(
            "notes.md",
            &format!("{}Pay the in\u{200b}voice.\n", head("Notes")),
        );
        ui.write("hollow.md", &head("Hollow"));
        let lines = "- [Notes](notes.md) - d\n- [Hollow](hollow.md) - d\n- [Gone](gone.md) - d\n- [Lost](lost.md) - d\n";
        ui.write("MEMORY.md", &format!("{index}{lines}"));
        ui
    }

    fn open_findings(&mut self) {
        let effects = self.press("c");
        self.check(&effects);
    }

    fn read_file(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn environment(&self) -> Environment {
        let home = self.home.path();
        Environment::of_home(home, home.to_owned(), home.join("data"))
    }

    fn findings(&self) -> Vec<Vec<(StoreId, Finding)>> {
        let stores = self.library.stores.iter();
        let stores: Vec<Store> = stores.map(|snapshot| (*snapshot.store).clone()).collect();
        let sources = Sources {
            environment: &self.environment(),
            project: None,
            git: &Git::at("git"),
            history: &self.history,
            today: moment().today,
            settings: &CurateSettings::default(),
            cache: None,
        };
        let (collection, _) = collect(&stores, &sources).expect("collects");
        let waivers = waiver::read(&self.environment().data).expect("reads");
        let mut all = Vec::new();
        check_each(&collection, &[], |mut findings| {
            waiver::apply(&mut findings, &waivers);
            let located = findings.into_iter().map(|finding| {
                let store = collection.stores[finding.store].store;
                (store.id().clone(), finding)
            });
            all.push(located.collect());
            ControlFlow::Continue(())
        });
        all
    }

    /// Checks the memories, as the worker does.
    fn check(&mut self, effects: &[Effect]) {
        let generation = generation(effects);
        let all = self.findings();
        let of = all.len();
        for (number, findings) in all.into_iter().enumerate() {
            let done = number + 1;
            let step = CurateStep::Found { findings, done, of };
            self.tell(Event::Curated { generation, step });
        }
        let step = CurateStep::Finished(Ok(()));
        self.tell(Event::Curated { generation, step });
    }

    /// Plans the fixes that are asked for, as the library worker does; returns how many.
    fn plan_fixes(&mut self, effects: &[Effect]) -> usize {
        let Request::Fix(chosen) = requested(effects) else {
            self.planned(effects);
            return 0;
        };
        let find = |id: &StoreId| Arc::clone(&self.library.store_by_id(id).expect("a store").store);
        let stores: Vec<_> = chosen
            .iter()
            .map(|(id, findings)| (find(id), findings))
            .collect();
        let stores: Vec<_> = stores
            .iter()
            .map(|(store, findings)| (&**store, findings.iter().collect()))
            .collect();
        let result = fix::plan_fixes(&stores, &moment());
        self.answer_plan(effects, result);
        chosen.iter().map(|(_, findings)| findings.len()).sum()
    }

    /// Makes the change that is asked for, as the writer does: the stores are read and checked
    /// again, and its edits are counted.
    fn commit_and_check(&mut self, effects: &[Effect]) {
        let (request, record, check) = self.made(effects);
        let result = Ok(Some(record.clone()));
        let effects = self.tell(Event::Committed { request, result });
        let compare = LibraryJob::Compare {
            id: record.id.clone(),
        };
        assert_eq!(effects, [Effect::Library(compare)]);
        let result = recorded_edits(&self.history, &record);
        let id = record.id;
        self.tell(Event::Compared { id, result });
        self.check(&check);
    }

    /// Takes the last change back.
    fn undo_and_check(&mut self) {
        let effects = self.press("u");
        let latest = Box::new(Request::Latest(UndoDirection::Undo));
        assert_eq!(effects, [Effect::Write(WriteJob::Do(latest))]);
        self.commit_and_check(&effects);
    }

    /// Waives findings, as the writer does.
    fn waive(&mut self, effects: &[Effect]) {
        let [Effect::Write(WriteJob::Waive(job))] = effects else {
            panic!("{effects:?}");
        };
        let author = Author {
            who: "kim".to_owned(),
            ..you()
        };
        let data = self.environment().data;
        for finding in &job.findings {
            waiver::record(
                &data,
                finding,
                &author,
                moment().today,
                job.words.as_deref(),
            )
            .expect("records");
        }
        let mut findings = job.findings.clone();
        waiver::apply(&mut findings, &waiver::read(&data).expect("reads"));
        let waivers: Vec<Option<Waiver>> =
            findings.into_iter().map(|finding| finding.waived).collect();
        let job = WaiveJob::clone(job);
        self.tell(Event::Waived {
            job,
            result: Ok(waivers),
        });
    }
}

fn generation(effects: &[Effect]) -> u64 {
    match effects {
        [Effect::Curate(CurateJob { generation })] => *generation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_pane_opens_at_once_fills_rule_by_rule_and_starts_at_the_worst() {
    let mut ui = TestApp::untidy(100, 28, Background::Dark);
    let effects = ui.press("c");
    let generation = generation(&effects);
    ui.is_in(KeyContext::Curate);
    ui.shows(["Checking the memories…"]);
    let mut all = ui.findings();
    // What is less bad may be found first.
    all.reverse();
    let of = all.len();
    for (number, findings) in all.into_iter().enumerate() {
        let done = number + 1;
        let step = CurateStep::Found { findings, done, of };
        ui.tell(Event::Curated { generation, step });
    }
    ui.titled(&format!("{of} of {of} rules")).is_at("notes");
    let step = CurateStep::Finished(Ok(()));
    ui.tell(Event::Curated { generation, step });
    assert!(!ui.title().contains("rules"), "{}", ui.title());
    // An answer to an older check is dropped.
    let step = CurateStep::Found {
        findings: Vec::new(),
        done: 1,
        of: 2,
    };
    let generation = generation - 1;
    ui.tell(Event::Curated { generation, step });
    assert!(!ui.title().contains("rules"));
}

#[test]
fn a_check_that_was_left_is_begun_again_and_nothing_is_doubled() {
    let mut ui = TestApp::untidy(100, 28, Background::Dark);
    let effects = ui.press("c");
    let mut all = ui.findings();
    let of = all.len();
    all.retain(|findings| !findings.is_empty());
    let step = CurateStep::Found {
        findings: all.swap_remove(0),
        done: 1,
        of,
    };
    let generation = generation(&effects);
    ui.tell(Event::Curated { generation, step });
    ui.press("<esc>");
    let effects = ui.press("c");
    ui.check(&effects);
    let doubled = ui.title();
    let mut whole = TestApp::curating();
    assert_eq!(doubled, whole.title());
    whole.press("<esc>");
}

#[test]
fn findings_are_grouped_by_file_and_filtered_with_the_cursor_where_it_was() {
    let mut ui = TestApp::curating();
    ui.select("hollow");
    let rule = ui.here();
    ui.after("s").is_at("empty");
    ui.shows(["▾ hollow.md", "▾ MEMORY.md"]);
    ui.press("s");
    assert_eq!(ui.here(), rule);
    ui.after("/").is_in(KeyContext::Prompt);
    ui.after("hollow").shows(["hollow"]);
    ui.lacks(["gone.md"]);
    ui.after("<cr>").is_in(KeyContext::Curate);
    assert_eq!(ui.here(), rule);
    // What is hidden is not marked.
    ui.after("*").shows(["1 marked"]);
    ui.after("<esc>").shows(["gone.md", "1 marked"]);
}

#[test]
fn looks() {
    for (name, size, background) in [
        ("dark", (120, 20), Background::Dark),
        ("light", (80, 24), Background::Light),
    ] {
        let mut ui = TestApp::untidy(size.0, size.1, background);
        ui.open_findings();
        ui.press("j j <space>");
        insta::assert_snapshot!(format!("curate-{name}"), ui.styled());
    }
}

#[test]
fn a_fix_is_shown_first_then_made_counted_and_undone_and_the_cursor_comes_back_with_it() {
    let mut ui = TestApp::curating();
    let before = (ui.read_file("MEMORY.md"), ui.read_file("notes.md"));
    ui.select("gone.md");
    let effects = ui.press("f");
    assert_eq!(ui.plan_fixes(&effects), 1);
    ui.shows(["fix 1 finding", "- [Gone](gone.md)"]);
    assert_eq!(
        ui.read_file("MEMORY.md"),
        before.0,
        "nothing is written yet"
    );
    let effects = ui.press("<cr>");
    ui.commit_and_check(&effects);
    assert!(!ui.read_file("MEMORY.md").contains("gone.md"));
    ui.is_at("lost.md").titled("freed 1 line, ");
    ui.undo_and_check();
    assert_eq!(ui.read_file("MEMORY.md"), before.0);
    assert!(!ui.title().contains("freed"), "{}", ui.title());
    ui.is_at("gone.md"); // it is open again
    // A range of rows; Esc drops it.
    ui.after("V j").shows(["2 marked"]);
    ui.after("<esc>").lacks(["marked"]);
    ui.is_in(KeyContext::Curate);
    // Several at once are one change, over all groups.
    ui.select("index-dangling");
    ui.press("<space>");
    ui.select("notes");
    ui.after("<space>").shows(["3 marked"]);
    let effects = ui.press("f");
    assert_eq!(ui.plan_fixes(&effects), 3);
    let effects = ui.press("<cr>");
    ui.commit_and_check(&effects);
    assert!(ui.read_file("notes.md").ends_with("Pay the invoice.\n"));
    assert!(!ui.read_file("MEMORY.md").contains("lost.md"));
    ui.lacks(["marked"]);
    ui.undo_and_check();
    assert_eq!(
        (ui.read_file("MEMORY.md"), ui.read_file("notes.md")),
        before
    );
}

#[test]
fn a_fix_of_a_file_that_was_changed_meanwhile_is_refused() {
    let mut ui = TestApp::curating();
    ui.select("gone.md");
    let effects = ui.press("f");
    let index = ui.read_file("MEMORY.md");
    fs::write(ui.path("MEMORY.md"), format!("\n{index}")).expect("writes");
    ui.plan_fixes(&effects);
    ui.shows(["was changed meanwhile"]);
    ui.is_in(KeyContext::Curate);
}

#[test]
fn a_memory_is_edited_at_the_line_and_escape_comes_back_to_the_list_as_it_was() {
    let mut ui = TestApp::curating();
    ui.select("lost.md");
    let here = ui.here();
    ui.after("e").is_in(KeyContext::Editor);
    ui.shows(["edit · MEMORY.md"]);
    // Typed text goes into the line of the finding.
    ui.after("X").shows(["X- [Lost](lost.md)"]);
    ui.after("<c-z> <esc>").is_in(KeyContext::Curate);
    assert_eq!(ui.here(), here);
    ui.select("notes");
    ui.after("e").shows(["edit · notes.md"]);
    ui.after("<esc> <cr>").is_in(KeyContext::Preview);
    ui.is_at("Notes");
    ui.after("<esc>").is_in(KeyContext::Curate);
    ui.is_at("notes");
}

#[test]
fn the_memories_of_the_marked_findings_are_deleted_in_one_change() {
    let mut ui = TestApp::curating();
    ui.select("hollow");
    ui.press("<space>");
    ui.select("notes");
    ui.press("<space>");
    let effects = ui.press("d");
    let Request::Delete(stores) = requested(&effects) else {
        panic!("{effects:?}");
    };
    assert_eq!(stores[0].1, ["hollow.md", "notes.md"]);
    ui.plan_fixes(&effects);
    let effects = ui.press("y");
    ui.commit_and_check(&effects);
    ui.lacks(["▾ empty"]).titled("freed");
    ui.undo_and_check();
    ui.shows(["▾ empty"]);
    // The index itself is no memory.
    ui.select("gone.md");
    assert_eq!(ui.press("d"), []);
    ui.shows(["The index is no memory"]);
}

#[test]
fn a_finding_is_waived_with_words_shown_on_request_and_opened_again() {
    let mut ui = TestApp::curating();
    ui.select("gone.md");
    ui.after("w").is_in(KeyContext::Prompt);
    assert_eq!(ui.press("<cr>"), [], "it asks for words");
    let effects = ui.press("soon <cr>");
    ui.waive(&effects);
    ui.shows(["1 finding waived · u undoes it"]);
    ui.lacks(["gone.md"]).is_at("lost.md");
    ui.press(".");
    ui.select("gone.md");
    assert!(ui.here().ends_with("waived"), "{}", ui.here());
    ui.shows(["waived on 2026-02-12 by kim: soon"]);
    // Again opens it; undo waives it again, undo of that opens it.
    let effects = ui.press("w");
    ui.waive(&effects);
    assert!(!ui.here().contains("waived"), "{}", ui.here());
    let effects = ui.press("u");
    ui.waive(&effects);
    assert!(ui.here().ends_with("waived"), "{}", ui.here());
    let effects = ui.press("u");
    ui.waive(&effects);
    assert!(!ui.here().contains("waived"), "{}", ui.here());
    let effects = ui.press("<c-r>");
    ui.waive(&effects);
    assert!(ui.here().ends_with("waived"), "{}", ui.here());
}

#[test]
fn a_pinned_memory_has_no_open_findings() {
    let mut ui = TestApp::curating();
    ui.select("gone.md");
    let effects = ui.press("P");
    ui.waive(&effects);
    ui.lacks(["gone.md", "lost.md"]);
    let effects = ui.press("u");
    ui.waive(&effects);
    ui.shows(["lost.md"]); // one undo
}

#[test]
fn a_change_outside_is_checked_and_keeps_the_cursor_the_marks_and_the_folds() {
    let mut ui = TestApp::curating();
    ui.select("empty");
    ui.press("h");
    ui.select("lost.md");
    ui.after("<space> k").is_at("lost.md");
    let index = ui
        .read_file("MEMORY.md")
        .replace("- [Gone](gone.md) - d\n", "");
    let effects = ui.write("MEMORY.md", &index);
    // Until the check is finished.
    ui.shows(["gone.md"]);
    ui.check(&effects);
    ui.lacks(["gone.md"]).is_at("✓ lost.md");
    ui.shows(["▸ empty"]);
    // The logs changed, the stores did not.
    let library = Arc::clone(&ui.library);
    assert_eq!(ui.tell(Event::Indexed(library)), []);
}

#[test]
fn escape_takes_the_marks_away_and_then_leaves() {
    let mut ui = TestApp::curating();
    ui.after("<space> <esc>").is_in(KeyContext::Curate);
    ui.lacks(["marked"]);
    ui.after("<esc>").is_in(KeyContext::Tree);
}

#[test]
fn what_uses_an_old_name_begins_with_the_names() {
    let mut ui = TestApp::new();
    let head = |name: &str| format!("---\nname: {name}\ndescription: d\ntype: project\n---\n\n");
    let renamed = "2026-06-01: renamed APP_ENV→SHIP_ENV everywhere.\n";
    ui.write("renaming.md", &format!("{}{renamed}", head("Renaming")));
    ui.write(
        "env.md",
        &format!("{}Set APP_ENV=dev in tests.\n", head("Env")),
    );
    ui.open_findings();
    ui.shows(["APP_ENV → SHIP_ENV · env"]);
}
