//! From a memory to the session that wrote it, and from a session to its memories.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use serde_json::json;

use super::{TestApp, has};
use crate::core::change::history::{Author, Origin};
use crate::core::insight::curate::{Evidence, Finding, Severity};
use crate::core::insight::review::{Attributions, LineSource, Reason, UserWords, WrittenLines};
use crate::core::log::touch::FileUse;
use crate::core::text::diff::Replacement;
use crate::tui::effect::{CurateJob, Effect, WhyJob};
use crate::tui::event::{CurateStep, Event, ExplainedText};
use crate::tui::keymap::KeyContext;

fn attribution(hunk: &str, line: u64) -> Attributions {
    let author = Author {
        who: "claude-code".to_owned(),
        door: "files".to_owned(),
    };
    let origin = Origin {
        session: "5e551011".to_owned(),
        citation: Some(format!("claude-code:5e551011#L{line}")),
    };
    let lines = WrittenLines {
        lines: Replacement {
            old: 0..9,
            new: 0..9,
        },
        by: Some((author, origin)),
    };
    Attributions::from([(hunk.to_owned(), vec![lines])])
}

#[test]
fn an_item_joins_the_session_that_the_logs_name_and_stays_there() {
    let mut ui = TestApp::reviewing();
    ui.after("G").shows(["another program"]);
    let hunk = ui.ids("grace.md").remove(0);
    let found = attribution(&hunk, 7);
    let writers = found.values().flatten().filter_map(|part| part.by.as_ref());
    let words = writers.filter_map(|(_, origin)| {
        let said = "the grace period\nis ten seconds".to_owned();
        Some((origin.citation.clone()?, said))
    });
    let words = words.collect();
    ui.tell(Event::Attributed { found, words });
    ui.shows(["You had said: “the grace period is ten"]);
    ui.lacks(["another program"]);
    ui.shows(["new by claude-code in “5e551011”"]);
    ui.is_at("grace.md");
    // Reading the queue again does not forget it.
    ui.load();
    ui.lacks(["another program"]);
    // So the session is accepted with all that it wrote.
    let ids = [ui.ids("auth.md"), ui.ids("grace.md")].concat();
    let effects = ui.press("A");
    let accepted = format!("{effects:?}");
    assert!(ids.iter().all(|id| accepted.contains(id)), "{accepted}");
}

#[test]
fn a_hunk_comes_with_the_words_before_its_own_message() {
    let mut ui = TestApp::reviewing();
    let hunks = ui.ids("auth.md");
    let mut found = attribution(&hunks[0], 7);
    found.extend(attribution(&hunks[1], 12));
    let said = [(7, "it is a state"), (12, "half an hour then")];
    let words = said.map(|(line, said)| {
        let citation = format!("claude-code:5e551011#L{line}");
        (citation, said.to_owned())
    });
    let words = words.into_iter().collect();
    ui.tell(Event::Attributed { found, words });
    ui.after("g J").shows(["“it is a state”"]);
    ui.after("J").shows(["“half an hour then”"]);
    ui.lacks(["it is a state"]);
    ui.after("K").shows(["“it is a state”"]);
}

#[test]
fn hunks_of_a_session_that_are_told_one_after_the_other_are_one_file() {
    let mut ui = TestApp::reviewing();
    for hunk in ui.ids("auth.md") {
        let found = attribution(&hunk, 7);
        let words = HashMap::new();
        ui.tell(Event::Attributed { found, words });
    }
    assert_eq!(ui.text().matches("~ auth.md").count(), 1, "{}", ui.text());
}

fn source(citation: u64) -> Option<Arc<LineSource>> {
    Some(Arc::new(LineSource::Call(Reason {
        agent: "claude-code",
        session: "s1".to_owned(),
        title: "Token times".to_owned(),
        line: citation,
        time: Some(0),
        tool: "Edit".to_owned(),
        usage: FileUse::Write,
        file: "/m/auth.md".into(),
        words: Some(UserWords {
            citation: "claude-code:s1#L1".to_owned(),
            text: "please make it longer".to_owned(),
        }),
    })))
}

#[test]
fn a_hunk_leads_to_its_line_and_on_to_the_words_before_it() {
    let mut ui = TestApp::reviewing();
    let effects = ui.press("g J J W");
    let job = WhyJob {
        store: ui.id("claude"),
        path: "auth.md".to_owned(),
    };
    assert_eq!(effects, [Effect::Why(job.clone())]);
    ui.is_in(KeyContext::Why).shows(["reading…"]);
    let file = ui.home.path().join("claude/auth.md");
    let text = fs::read_to_string(file).expect("text");
    let lines = text.lines().map(|line| {
        let source = line.contains("30 minutes").then(|| source(2)).flatten();
        (line.to_owned(), source)
    });
    let result = Ok(ExplainedText {
        lines: lines.collect(),
        has_logs: true,
    });
    ui.tell(Event::Explained { job, result });
    let here = ui.here();
    has(&here, "30 minutes");
    has(&here, "claude-code");
    ui.shows([
        "“Token times”",
        "You had said: please make it longer",
        "claude-code:s1#L2",
    ]);
    ui.after("<cr>").shows(["not among the logs shown here"]);
    ui.press("/ minutes <cr>");
    ui.shows(["You had said: please make it longer"]);
    ui.lacks(["## Decision"]);
    ui.press("<esc>");
    let here = ui.here();
    assert!(here.contains("30 minutes"), "{here}");
    ui.after("k").shows(["tells who wrote this line"]);
    ui.after("<esc>").is_in(KeyContext::Queue);
}

/// An app with the log of a session that changed a memory.
fn with_writing_session() -> TestApp {
    let mut ui = TestApp::with_logs();
    let memory = ui.home.path().join("claude/auth.md");
    let record = |kind: &str, id: &str, content: serde_json::Value| {
        json!({"type": kind, "uuid": id, "timestamp": "2026-01-02T04:00:00Z", "cwd": "/shop", "sessionId": "s2",
            "message": {"role": kind, "content": content}})
        .to_string()
    };
    let call = |name: &str, input: serde_json::Value| json!([{ "type": "tool_use", "id": name, "name": name, "input": input }]);
    let lines = [
        record("user", "w1", json!("longer tokens for the zebra")),
        record(
            "assistant",
            "w2",
            call("Read", json!({ "file_path": memory })),
        ),
        record(
            "assistant",
            "w3",
            call(
                "Edit",
                json!({ "file_path": memory, "old_string": "15", "new_string": "30" }),
            ),
        ),
        record(
            "assistant",
            "w4",
            call("Read", json!({ "file_path": "/shop/src/main.rs" })),
        ),
    ];
    let log = ui.home.path().join("agent/projects/-shop/s2.jsonl");
    fs::write(log, lines.join("\n") + "\n").expect("a log");
    ui.look();
    ui
}

#[test]
fn a_session_lists_the_memories_that_it_touched_and_goes_to_the_call() {
    let mut ui = with_writing_session();
    ui.after("/ zebra<cr>").is_in(KeyContext::Log);
    ui.after("W").shows(["1 memory of this session"]);
    ui.row_has("claude:auth.md", "read, written");
    ui.after("<cr>").is_in(KeyContext::Log).is_at("Edit");
}

#[test]
fn what_no_memory_says_leads_to_the_message_and_has_nothing_to_merge() {
    let mut ui = with_writing_session();
    let effects = ui.press("c");
    let [Effect::Curate(CurateJob { generation })] = *effects.as_slice() else {
        panic!("{effects:?}");
    };
    let cited = |citation: &str| Evidence {
        citation: Some(citation.to_owned()),
        ..Evidence::default()
    };
    let finding = Finding {
        id: "1".to_owned(),
        rule: "untaught",
        severity: Severity::Note,
        store: 0,
        path: "MEMORY.md".to_owned(),
        entry: None,
        line: None,
        subject: "tokens".to_owned(),
        message: "you said it".to_owned(),
        evidence: vec![cited("claude-code:s2#L1"), cited("claude-code:s1#L1")],
        fix: None,
        waived: None,
    };
    let findings = vec![(ui.id("claude"), finding)];
    for step in [
        CurateStep::Found {
            findings,
            done: 1,
            of: 1,
        },
        CurateStep::Finished(Ok(())),
    ] {
        ui.tell(Event::Curated { generation, step });
    }
    ui.shows(["you said it"]).lacks(["merge"]);
    ui.press("<cr>");
    assert_eq!(ui.place(), KeyContext::Log, "{}", ui.text());
}

#[test]
fn a_line_leads_into_the_log_that_wrote_it() {
    let mut ui = with_writing_session();
    ui.press("/ migration<cr>");
    let effects = ui.press("W");
    let [Effect::Why(job)] = effects.as_slice() else {
        panic!("{effects:?}: {}", ui.text());
    };
    let mut explained = Reason {
        session: "s2".to_owned(),
        ..match source(3).as_deref() {
            Some(LineSource::Call(reason)) => reason.clone(),
            _ => panic!("a call"),
        }
    };
    explained.title = "zebra".to_owned();
    let lines = vec![(
        "one".to_owned(),
        Some(Arc::new(LineSource::Call(explained))),
    )];
    let result = Ok(ExplainedText {
        lines,
        has_logs: true,
    });
    ui.tell(Event::Explained {
        job: job.clone(),
        result,
    });
    ui.after("<cr>").is_in(KeyContext::Log).is_at("Edit");
    ui.after("<esc>").is_in(KeyContext::Why);
}
