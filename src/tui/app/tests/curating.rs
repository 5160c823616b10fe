//! Tests of curating: findings with their evidence, and what is done about them.

use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::{TestApp, moment, plan_of, you};
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
        let mut curating = Self::sized(width, height, background);
        let head =
            |name: &str| format!("---\nname: {name}\ndescription: d\ntype: project\n---\n\n");
        let index = curating.read_file("MEMORY.md");
        curating.write(
            "notes.md",
            &format!("{}Pay the in\u{200b}voice.\n", head("Notes")),
        );
        curating.write("hollow.md", &head("Hollow"));
        let lines = "- [Notes](notes.md) - d\n- [Hollow](hollow.md) - d\n- [Gone](gone.md) - d\n- [Lost](lost.md) - d\n";
        curating.write("MEMORY.md", &format!("{index}{lines}"));
        curating
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

    /// The findings, rule by rule.
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
        let (generation, request) = plan_of(effects);
        let Request::Fix(chosen) = &*request else {
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
        let (generation, request) = (generation, request.clone());
        let count = chosen.iter().map(|(_, findings)| findings.len()).sum();
        self.tell(Event::Planned {
            generation,
            request,
            result,
            notes: Vec::new(),
        });
        count
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
    let mut curating = TestApp::untidy(100, 28, Background::Dark);
    let effects = curating.press("c");
    let generation = generation(&effects);
    assert_eq!(curating.place(), KeyContext::Curate);
    curating.shows(["Checking the memories…"]);
    let mut all = curating.findings();
    // What is less bad may be found first.
    all.reverse();
    let of = all.len();
    for (number, findings) in all.into_iter().enumerate() {
        let done = number + 1;
        let step = CurateStep::Found { findings, done, of };
        curating.tell(Event::Curated { generation, step });
    }
    curating.titled(&format!("{of} of {of} rules"));
    curating.is_at("notes");
    let step = CurateStep::Finished(Ok(()));
    curating.tell(Event::Curated { generation, step });
    assert!(!curating.title().contains("rules"), "{}", curating.title());
    // An answer to an older check is dropped.
    let step = CurateStep::Found {
        findings: Vec::new(),
        done: 1,
        of: 2,
    };
    let generation = generation - 1;
    curating.tell(Event::Curated { generation, step });
    assert!(!curating.title().contains("rules"));
}

#[test]
fn a_check_that_was_left_is_begun_again_and_nothing_is_doubled() {
    let mut curating = TestApp::untidy(100, 28, Background::Dark);
    let effects = curating.press("c");
    let mut all = curating.findings();
    let of = all.len();
    all.retain(|findings| !findings.is_empty());
    let step = CurateStep::Found {
        findings: all.swap_remove(0),
        done: 1,
        of,
    };
    let generation = generation(&effects);
    curating.tell(Event::Curated { generation, step });
    curating.press("<esc>");
    let effects = curating.press("c");
    curating.check(&effects);
    let doubled = curating.title();
    let mut whole = TestApp::curating();
    assert_eq!(doubled, whole.title());
    whole.press("<esc>");
}

#[test]
fn findings_are_grouped_by_file_and_filtered_with_the_cursor_where_it_was() {
    let mut curating = TestApp::curating();
    curating.select("hollow");
    let rule = curating.here();
    curating.press("s");
    curating.is_at("empty");
    curating.shows(["▾ hollow.md", "▾ MEMORY.md"]);
    curating.press("s");
    assert_eq!(curating.here(), rule);
    curating.press("/");
    assert_eq!(curating.place(), KeyContext::Prompt);
    curating.press("hollow");
    curating.shows(["hollow"]);
    curating.lacks(["gone.md"]);
    curating.press("<cr>");
    assert_eq!(curating.place(), KeyContext::Curate);
    assert_eq!(curating.here(), rule);
    // What is hidden is not marked.
    curating.press("*");
    curating.shows(["1 marked"]);
    curating.press("<esc>");
    curating.shows(["gone.md", "1 marked"]);
}

#[test]
fn looks() {
    for (name, size, background) in [
        ("dark", (120, 20), Background::Dark),
        ("light", (80, 24), Background::Light),
    ] {
        let mut curating = TestApp::untidy(size.0, size.1, background);
        curating.open_findings();
        curating.press("j j <space>");
        insta::assert_snapshot!(format!("curate-{name}"), curating.styled());
    }
}

#[test]
fn a_fix_is_shown_first_then_made_counted_and_undone_and_the_cursor_stays_beside_it() {
    let mut curating = TestApp::curating();
    let before = (
        curating.read_file("MEMORY.md"),
        curating.read_file("notes.md"),
    );
    curating.select("gone.md");
    let effects = curating.press("f");
    assert_eq!(curating.plan_fixes(&effects), 1);
    curating.shows(["fix 1 finding", "- [Gone](gone.md)"]);
    assert_eq!(
        curating.read_file("MEMORY.md"),
        before.0,
        "nothing is written yet"
    );
    let effects = curating.press("<cr>");
    curating.commit_and_check(&effects);
    assert!(!curating.read_file("MEMORY.md").contains("gone.md"));
    curating.is_at("lost.md");
    curating.titled("freed 1 line, ");
    curating.undo_and_check();
    assert_eq!(curating.read_file("MEMORY.md"), before.0);
    assert!(!curating.title().contains("freed"), "{}", curating.title());
    // A range of rows; Esc drops it.
    curating.press("V k");
    curating.shows(["2 marked"]);
    curating.press("<esc>");
    curating.lacks(["marked"]);
    assert_eq!(curating.place(), KeyContext::Curate);
    // Several at once are one change, over all groups.
    curating.select("index-dangling");
    curating.press("<space>");
    curating.select("notes");
    curating.press("<space>");
    curating.shows(["3 marked"]);
    let effects = curating.press("f");
    assert_eq!(curating.plan_fixes(&effects), 3);
    let effects = curating.press("<cr>");
    curating.commit_and_check(&effects);
    assert!(
        curating
            .read_file("notes.md")
            .ends_with("Pay the invoice.\n")
    );
    assert!(!curating.read_file("MEMORY.md").contains("lost.md"));
    curating.lacks(["marked"]);
    curating.undo_and_check();
    assert_eq!(
        (
            curating.read_file("MEMORY.md"),
            curating.read_file("notes.md")
        ),
        before
    );
}

#[test]
fn a_fix_of_a_file_that_was_changed_meanwhile_is_refused() {
    let mut curating = TestApp::curating();
    curating.select("gone.md");
    let effects = curating.press("f");
    let index = curating.read_file("MEMORY.md");
    fs::write(curating.path("MEMORY.md"), format!("\n{index}")).expect("writes");
    curating.plan_fixes(&effects);
    curating.shows(["was changed meanwhile"]);
    assert_eq!(curating.place(), KeyContext::Curate);
}

#[test]
fn a_memory_is_edited_at_the_line_and_escape_comes_back_to_the_list_as_it_was() {
    let mut curating = TestApp::curating();
    curating.select("lost.md");
    let here = curating.here();
    curating.press("e");
    assert_eq!(curating.place(), KeyContext::Editor);
    curating.shows(["edit · MEMORY.md"]);
    // Typed text goes into the line of the finding.
    curating.press("X");
    curating.shows(["X- [Lost](lost.md)"]);
    curating.press("<c-z> <esc>");
    assert_eq!(curating.place(), KeyContext::Curate);
    assert_eq!(curating.here(), here);
    curating.select("notes");
    curating.press("e");
    curating.shows(["edit · notes.md"]);
    curating.press("<esc> <cr>");
    assert_eq!(curating.place(), KeyContext::Preview);
    curating.is_at("Notes");
    curating.press("<esc>");
    assert_eq!(curating.place(), KeyContext::Curate);
    curating.is_at("notes");
}

#[test]
fn the_memories_of_the_marked_findings_are_deleted_in_one_change() {
    let mut curating = TestApp::curating();
    curating.select("hollow");
    curating.press("<space>");
    curating.select("notes");
    curating.press("<space>");
    let effects = curating.press("d");
    let (_, request) = plan_of(&effects);
    let Request::Delete(stores) = &*request else {
        panic!("{request:?}");
    };
    assert_eq!(stores[0].1, ["hollow.md", "notes.md"]);
    curating.plan_fixes(&effects);
    let effects = curating.press("y");
    curating.commit_and_check(&effects);
    curating.lacks(["▾ empty"]);
    curating.titled("freed");
    curating.undo_and_check();
    curating.shows(["▾ empty"]);
    // The index itself is no memory.
    curating.select("gone.md");
    assert_eq!(curating.press("d"), []);
    curating.shows(["The index is no memory"]);
}

#[test]
fn a_finding_is_waived_with_words_shown_on_request_and_opened_again() {
    let mut curating = TestApp::curating();
    curating.select("gone.md");
    curating.press("w");
    assert_eq!(curating.place(), KeyContext::Prompt);
    assert_eq!(curating.press("<cr>"), [], "it asks for words");
    let effects = curating.press("soon <cr>");
    curating.waive(&effects);
    curating.shows(["1 finding waived · u undoes it"]);
    curating.lacks(["gone.md"]);
    curating.is_at("lost.md");
    curating.press(".");
    curating.select("gone.md");
    assert!(curating.here().ends_with("waived"), "{}", curating.here());
    curating.shows(["waived on 2026-02-12 by kim: soon"]);
    // Again opens it; undo waives it again, undo of that opens it.
    let effects = curating.press("w");
    curating.waive(&effects);
    assert!(!curating.here().contains("waived"), "{}", curating.here());
    let effects = curating.press("u");
    curating.waive(&effects);
    assert!(curating.here().ends_with("waived"), "{}", curating.here());
    let effects = curating.press("u");
    curating.waive(&effects);
    assert!(!curating.here().contains("waived"), "{}", curating.here());
    let effects = curating.press("<c-r>");
    curating.waive(&effects);
    assert!(curating.here().ends_with("waived"), "{}", curating.here());
}

#[test]
fn a_pinned_memory_has_no_open_findings() {
    let mut curating = TestApp::curating();
    curating.select("gone.md");
    let effects = curating.press("P");
    curating.waive(&effects);
    curating.lacks(["gone.md", "lost.md"]);
    let effects = curating.press("u");
    curating.waive(&effects);
    assert!(curating.text().contains("lost.md"), "one undo");
}

#[test]
fn a_change_outside_is_checked_and_keeps_the_cursor_the_marks_and_the_folds() {
    let mut curating = TestApp::curating();
    curating.select("empty");
    curating.press("h");
    curating.select("lost.md");
    curating.press("<space> k");
    curating.is_at("lost.md");
    let index = curating
        .read_file("MEMORY.md")
        .replace("- [Gone](gone.md) - d\n", "");
    let effects = curating.write("MEMORY.md", &index);
    // Until the check is finished.
    curating.shows(["gone.md"]);
    curating.check(&effects);
    curating.lacks(["gone.md"]);
    curating.is_at("✓ lost.md");
    curating.shows(["▸ empty"]);
    // The logs changed, the stores did not.
    let library = Arc::clone(&curating.library);
    assert_eq!(curating.tell(Event::Indexed(library)), []);
}

#[test]
fn escape_takes_the_marks_away_and_then_leaves() {
    let mut curating = TestApp::curating();
    curating.press("<space> <esc>");
    assert_eq!(curating.place(), KeyContext::Curate);
    curating.lacks(["marked"]);
    curating.press("<esc>");
    assert_eq!(curating.place(), KeyContext::Tree);
}
