//! Reading a log: words in it, resuming it, copying from it.

use std::fs;
use std::sync::Arc;

use super::{AUTH, TestApp};
use crate::core::log::read;
use crate::tui::effect::{Effect, TerminalJob, TimelineJob, TranscriptJob};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;

#[test]
fn words_are_found_in_a_log_at_every_letter_with_their_number() {
    let mut ui = TestApp::with_logs();
    ui.press("/ people<space>out<cr>");
    let here = |ui: &TestApp| ui.row("▌");
    ui.after("/ tab").shows(["find ❯ tab  1/2"]);
    assert!(here(&ui).contains("Each tab presents"), "{}", ui.text());
    ui.after("s").shows(["find ❯ tabs  1/1", "two_tabs FAILED"]);
    ui.after("x").shows(["0/0"]);
    assert!(here(&ui).contains("people out"), "back where it began");
    ui.after("<bs> <bs> <cr>").shows(["1/2 found"]);
    ui.after("n").shows(["2/2 found"]);
    ui.after("/ tabs<esc>").lacks(["found"]);
    ui.press("/ nowhere <cr>");
    ui.shows(["Not in this conversation"]);
}

#[test]
fn a_log_has_as_many_turns_as_it_shows() {
    let mut ui = TestApp::with_logs();
    let effects = ui.unanswered(|ui| ui.press("G l G l G <cr>"));
    let Some(Effect::Transcript(TranscriptJob { file, .. })) = effects.into_iter().next() else {
        panic!("a log is read");
    };
    // None is of this session: they are copies from the one that it goes on with.
    let mut transcript = read(&file).expect("reads");
    transcript.head.turns = 0;
    let result = Ok(Arc::new(transcript));
    ui.tell(Event::Opened { file, result });
    ui.shows(["claude-code · 1 turn · ", "turn 1/1"]);
}

#[test]
fn what_is_pressed_before_a_log_is_read_is_done_once_it_is() {
    let mut ui = TestApp::with_logs();
    let open = |ui: &mut TestApp, keys: &str| {
        let effects = ui.unanswered(|ui| ui.press(keys));
        let Some(Effect::Transcript(TranscriptJob { file, .. })) = effects.into_iter().next()
        else {
            panic!("a log is read");
        };
        let result = read(&file).map(Arc::new);
        ui.tell(Event::Opened { file, result })
    };
    let effects = open(&mut ui, "G l G l G <cr> j p");
    assert!(
        matches!(
            effects.as_slice(),
            [Effect::Timeline(TimelineJob::Propose(_))]
        ),
        "{effects:?}"
    );
    ui.press("<esc>");
    open(&mut ui, "<cr> / tabs <cr>");
    ui.shows(["find ❯ tabs  1/1"]);
}

#[test]
fn a_session_is_resumed_and_its_command_copied() {
    let mut ui = TestApp::with_logs();
    ui.press("/ people<space>out<cr>");
    let effects = ui.press("o");
    assert!(
        matches!(effects.as_slice(), [Effect::Terminal(TerminalJob::Resume(resume))] if resume.program == "claude"),
        "{effects:?}"
    );
    let line = "cd /shop && claude --resume s1".to_owned();
    assert_eq!(
        ui.press("O"),
        [Effect::Terminal(TerminalJob::Copy(line.clone()))]
    );
    ui.tell(Event::Copied {
        text: line,
        by: "wl-copy".to_owned(),
    });
    ui.row_has("Copied cd /shop && claude --resume s1", "· wl-copy");
    let effects = ui.tell(Event::NotCopied("x".to_owned()));
    assert_eq!(
        effects,
        [Effect::Terminal(TerminalJob::CopyByTerminal(
            "x".to_owned()
        ))]
    );
}

#[test]
fn the_text_that_was_found_gets_the_whole_screen() {
    let mut ui = TestApp::with_logs();
    ui.press("/ people<space>out");
    let both = ui.text();
    ui.press("<a-z>");
    let text = ui.text();
    ui.shows(["Each tab presents"]);
    assert!(!text.contains('◇'), "no list: {text}");
    ui.press("<a-z>");
    assert_eq!(ui.text(), both);
}

#[test]
fn a_session_is_resumed_before_its_log_is_read() {
    let mut ui = TestApp::with_logs();
    ui.press("/ people<space>out");
    // Reading is requested and not done.
    ui.unanswered(|ui| ui.press("<cr>"));
    ui.is_in(KeyContext::Log);
    let effects = ui.press("o");
    assert!(
        matches!(
            effects.as_slice(),
            [Effect::Terminal(TerminalJob::Resume(_))]
        ),
        "{effects:?}"
    );
}

#[test]
fn a_memory_leads_to_the_session_in_which_it_was_written() {
    let mut ui = TestApp::with_logs();
    let store = ui.library.store("claude").expect("a store");
    let path = store.store.root().path().join("auth.md");
    let text = fs::read_to_string(&path).expect("a memory");
    let named = |id: &str| {
        let header = format!("---\nmetadata:\n  originSessionId: {id}\n");
        fs::write(&path, text.replacen("---\n", &header, 1)).expect("written");
    };
    named("s1");
    ui.press(AUTH);
    ui.shows(["Written in the session why does refresh"]);
    ui.after("<tab>[<cr>").is_in(KeyContext::Log);
    ui.shows(["log people out?"]);
    ui.press("<esc>");
    named("s77");
    ui.after("<tab>jk").shows(["whose log is not here: s77"]);
}
