//! What stays: queries, places, what was searched for, and what is said where it is true.

use std::fs;
use std::sync::Arc;

use ratatui::Frame;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::Event as Input;

use super::pruning::record;
use super::{AUTH, TestApp, has, kept_text};
use crate::core::change::ChangeVerb;
use crate::tui::action::Action;
use crate::tui::effect::{Effect, Request, UndoDirection};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::model::PaneContext;
use crate::tui::pane::{Pane, Step};
use crate::tui::theme::Background;

/// A log in which every question has a number, and every answer many lines.
fn long_log() -> String {
    let message = |number: usize, role: &str, text: String| {
        let record = serde_json::json!({
            "type": role, "uuid": format!("{role}{number}"), "cwd": "/shop", "sessionId": "s1",
            "timestamp": format!("2026-01-02T03:{number:02}:05Z"),
            "message": { "role": role, "content": text },
        });
        format!("{record}\n")
    };
    (0..50)
        .map(|number| {
            let lines: Vec<String> = (0..6)
                .map(|line| format!("answer {number}.{line}"))
                .collect();
            let question = message(number, "user", format!("question {number}?"));
            question + &message(number, "assistant", lines.join("\n\n"))
        })
        .collect()
}

fn with_long_log() -> TestApp {
    let mut ui = TestApp::with_logs();
    let log = ui.home.path().join("agent/projects/-shop/s1.jsonl");
    fs::write(log, long_log()).expect("a log");
    ui.look();
    ui
}

#[test]
fn find_stays_with_its_query_below_the_editor() {
    let mut ui = TestApp::with_logs();
    ui.press("/ jwt<space>refresh <c-e>");
    ui.is_in(KeyContext::Editor);
    ui.after("<esc>").is_in(KeyContext::Find);
    ui.shows(["❯ jwt refresh"]);
    ui.press("<c-e> X <esc>");
    ui.shows(["is not saved; Ctrl-E goes on with it"]);
}

#[test]
fn a_plan_to_save_that_comes_after_its_editor_was_left_opens_nothing() {
    for leave in ["<esc>", "<c-q> <c-q>"] {
        let mut ui = TestApp::with_logs();
        ui.press("/ jwt<space>refresh <c-e> X");
        let effects = ui.press("<c-s>");
        ui.after(leave).is_in(KeyContext::Find);
        ui.planned(&effects);
        ui.is_in(KeyContext::Find);
    }
}

#[test]
fn a_memory_that_comes_back_has_the_cursor_again_unless_that_was_moved() {
    for (is_moved, expected) in [(false, "Auth Refactor"), (true, "claude")] {
        let mut ui = TestApp::new();
        ui.select("Auth Refactor");
        let text = fs::read_to_string(ui.path("auth.md")).expect("a memory");
        let path = ui.path("auth.md");
        fs::remove_file(&path).expect("removed");
        ui.refresh(&[path]);
        ui.is_at("Release Process");
        if is_moved {
            ui.press("g");
        }
        ui.write("auth.md", &text);
        ui.is_at(expected);
    }
}

#[test]
fn a_message_offers_only_a_key_that_works_where_it_is_shown() {
    let mut ui = TestApp::with_logs();
    let change = |ui: &TestApp| Event::Committed {
        request: Box::new(Request::Latest(UndoDirection::Redo)),
        result: Ok(Some(record(ui, "A", ChangeVerb::Edit, &["auth.md"]))),
    };
    let event = change(&ui);
    ui.tell(event);
    ui.shows(["· u undoes it"]);
    ui.after("/").lacks(["· u undoes it"]);
    ui.press("<esc>");
    let event = change(&ui);
    ui.tell(event);
    ui.after("i").is_in(KeyContext::Context);
    ui.lacks(["· u undoes it"]);
    ui.press("<esc>/");
    let event = change(&ui);
    ui.tell(event);
    ui.shows(["· Alt-u undoes it"]);
    assert_eq!(ui.press("<a-u>").len(), 1, "it undoes");
}

#[test]
fn the_last_query_is_selected_and_earlier_ones_are_walked_through() {
    let mut ui = TestApp::with_logs();
    for query in ["tea", "jwt"] {
        ui.press("/");
        ui.press(query);
        ui.press("<esc>");
    }
    ui.after("/").shows(["❯ jwt"]);
    ui.shows(["Auth Refactor"]); // its results are there
    let first = ui.row("▌");
    ui.press("<c-n> <c-n>");
    let row = ui.row("▌");
    assert_ne!(first, row);
    ui.after("<esc> /").shows(["❯ jwt"]);
    assert_eq!(ui.row("▌"), row, "the row stays");
    ui.after("<up>").shows(["❯ tea"]);
    ui.after("<down>").shows(["❯ jwt"]);
    ui.after("<up> <up>").shows(["❯ jwt"]); // before the earliest comes what was there
    for query in ["release", "user"] {
        ui.press("<esc> / ");
        ui.press(query);
    }
    ui.after("<esc> / <up> <up> <up>").shows(["❯ tea"]);
    ui.after("<down>").shows(["❯ jwt"]);
    ui.after("<down>").shows(["❯ release"]);
    ui.after("<down>").shows(["❯ user"]); // what was there, and then the rows
    ui.press("<esc> / release");
    // It is replaced.
    ui.shows(["❯ release "]);
}

#[test]
fn nothing_found_offers_to_leave_the_filter_out_that_is_the_cause() {
    let mut ui = TestApp::with_logs();
    ui.press("/ in:logs<space>type:project<space>rotation<space>jwt");
    ui.shows(["Nothing was found.", "without in:logs"]);
    ui.lacks(["without type:project"]);
    ui.after("<cr>").shows(["Auth Refactor"]).lacks(["in:logs"]);
    ui.shows(["type:project ×"]);
    // A log that only has its letters is not in the way of the word.
    ui.after("<c-u>in:logs<space>tea")
        .shows(["without in:logs"])
        .lacks(["∴"]);
    ui.after("<cr>").shows(["Likes tea."]);
}

#[test]
fn escape_first_takes_a_search_away_and_then_leaves_the_log() {
    let mut ui = with_long_log();
    ui.after("G l G l G <cr>").is_in(KeyContext::Log);
    ui.after("/ answer<space>7.3<cr>").shows(["1/1 found"]);
    ui.after("<esc>").is_in(KeyContext::Log).lacks(["found"]);
    ui.shows(["answer 7.3"]); // it stays where it is
    ui.after("<esc>").is_in(KeyContext::Tree);
}

#[test]
fn a_log_is_opened_again_where_it_was_left() {
    // The cursor is first, last and between on its screen; a log may be shorter than the screen.
    for (mut ui, keys) in [
        (with_long_log(), "<pagedown> <pagedown> <pagedown>"),
        (with_long_log(), "<pagedown> j j j j"),
        (with_long_log(), "G k k k"),
        (with_long_log(), "G"),
        (TestApp::with_logs(), "G"),
        (TestApp::with_logs(), "j j"),
        (TestApp::with_logs(), "j j <cr> k"),
        (TestApp::with_logs(), "T j"),
    ] {
        // With the turn in the border, and without what is said below.
        let shown = |ui: &TestApp| -> Vec<String> {
            let text = ui.text();
            let lines = text.lines().filter(|line| line.starts_with(['│', '╰']));
            lines.map(str::to_owned).collect()
        };
        ui.press("G l G l G <cr>");
        let opened = shown(&ui);
        ui.press(keys);
        let left = shown(&ui);
        assert_ne!(left, opened, "{keys}");
        ui.after("<esc>").is_in(KeyContext::Tree);
        ui.press("<cr>");
        assert_eq!(shown(&ui), left, "{keys}");
    }
}

#[test]
fn the_line_of_a_row_is_the_line_of_the_preview_and_where_enter_leads() {
    let mut ui = with_long_log();
    ui.press("/ answer<space>31.4");
    ui.row_has("  answer 31.4", "answer 31.4");
    // In the query, in the row, and in the preview, which a smaller screen keeps there.
    assert_eq!(ui.text().matches("answer 31.4").count(), 3);
    ui.tell(Event::Input(vec![Input::Resize(80, 24)]));
    assert_eq!(ui.text().matches("answer 31.4").count(), 3);
    ui.after("<cr>").shows(["answer 31.4", "1/1 found"]);
}

#[test]
fn a_memory_is_shown_again_where_it_was_left() {
    let mut ui = TestApp::sized(100, 10, Background::Dark);
    ui.press(AUTH);
    ui.press("<tab> G");
    let preview = |ui: &TestApp| -> Vec<String> {
        let text = ui.text();
        let lines = text.lines().filter_map(|line| line.split_once("││"));
        lines.map(|(_, preview)| preview.to_owned()).collect()
    };
    let left = preview(&ui);
    assert!(!left[0].contains("Backend"), "{left:?}");
    ui.press("<esc> j k");
    assert_eq!(preview(&ui), left);
}

#[test]
fn the_editor_opens_where_the_preview_stands_and_then_where_it_was_left() {
    let mut ui = TestApp::at_auth();
    let lines: String = (0..60).map(|line| format!("- line {line}\n")).collect();
    ui.write(
        "auth.md",
        &format!("---\nname: Auth Refactor\ntype: project\n---\n\n{lines}"),
    );
    ui.press("<tab> <pagedown>");
    let text = ui.text();
    let first = text.lines().find_map(|line| line.split_once("• line "));
    let (first, _) = first.expect("a line").1.split_once(' ').expect("a number");
    let edited = |kept: &[Effect], line: &str| {
        has(&kept_text(kept).text, &format!("\nX- line {line}\n"));
    };
    let kept = ui.press("e X");
    edited(&kept, first);
    ui.press("<c-z> <down> <esc>");
    let next = first.parse::<usize>().expect("a number") + 1;
    let kept = ui.press("e X");
    edited(&kept, &next.to_string());
}

#[test]
fn the_history_after_a_deletion_begins_with_it() {
    let mut ui = TestApp::at_auth();
    let gone = record(&ui, "A", ChangeVerb::Delete, &["gone.md"]);
    ui.tell(Event::Committed {
        request: Box::new(Request::Latest(UndoDirection::Redo)),
        result: Ok(Some(gone)),
    });
    ui.after("H").shows(["history · everything"]);
    ui.after("<esc> j k H").shows(["history · auth.md"]);
}

#[test]
fn a_deletion_tells_what_the_index_takes_before_and_after() {
    let mut ui = TestApp::sized(120, 30, Background::Dark);
    ui.press(AUTH);
    let effects = ui.press("d");
    ui.planned(&effects);
    ui.shows(["MEMORY.md: 8 → 7 of 200 lines, 4 % of"]);
}

#[test]
fn the_editor_tells_that_its_file_was_changed_outside() {
    let mut ui = TestApp::at_auth();
    ui.press("e");
    let file = ui.home.path().join("claude/auth.md");
    let text = fs::read_to_string(&file).expect("reads");
    fs::write(&file, format!("{text}- refresh token: 30 days\n")).expect("writes");
    let library = Arc::clone(&ui.library);
    ui.tell(Event::Indexed(library));
    ui.shows(["! changed outside, +1 −0: saving merges both"]);
    fs::write(&file, text).expect("writes");
    let library = Arc::clone(&ui.library);
    ui.tell(Event::Indexed(library));
    ui.lacks(["! changed outside"]);
}

#[test]
fn the_editor_tells_that_its_file_is_gone() {
    let mut ui = TestApp::at_auth();
    ui.press("e X");
    let folder = ui.home.path().join("claude");
    let (file, away) = (folder.join("auth.md"), folder.join("auth.away"));
    fs::rename(&file, &away).expect("moves");
    let library = Arc::clone(&ui.library);
    ui.tell(Event::Indexed(Arc::clone(&library)));
    ui.shows(["! the file is gone: saving creates it again"]);
    fs::rename(&away, &file).expect("moves");
    ui.tell(Event::Indexed(library));
    ui.lacks(["! the file is gone"]);
}

#[test]
fn changes_are_filtered_by_words() {
    let mut ui = TestApp::new();
    ui.press("H");
    let records = vec![
        record(&ui, "B", ChangeVerb::Edit, &["release.md"]),
        record(&ui, "A", ChangeVerb::Edit, &["auth.md"]),
    ];
    ui.tell(Event::HistoryLoaded(records));
    ui.after("/ auth").shows(["auth.md"]).lacks(["release.md"]);
    ui.after("zz").shows(["Nothing here has these words"]);
    ui.after("<cr> <esc>").shows(["release.md"]);
    ui.is_in(KeyContext::History);
    ui.after("<esc>").is_in(KeyContext::Tree);
}

#[test]
fn a_found_line_of_an_index_is_shown_and_leads_to_its_file() {
    let mut ui = TestApp::with_logs();
    let index = "# Memory\n\n## Project\n- [Auth Refactor](auth.md) - Backend auth migration status\n- [Release Process](release.md) - staging is quokka17\n";
    ui.write("MEMORY.md", index);
    ui.after("/ quokka17 <cr>").is_in(KeyContext::Preview);
    ui.shows(["staging is quokka17"]);
    ui.after("<cr>").is_at("Release Process");
    // The editor opens at the line, too.
    ui.after("/ quokka17 <c-e>").is_in(KeyContext::Editor);
    let kept = ui.press("X");
    let text = kept_text(&kept);
    has(&text.text, "\nX- [Release Process]");
}

#[test]
fn a_memory_found_above_another_pane_is_read_in_the_tree() {
    let mut ui = TestApp::with_logs();
    ui.after("t").is_in(KeyContext::Timeline);
    ui.press("/ jwt<space>refresh <cr>");
    ui.is_in(KeyContext::Preview).is_at("Auth Refactor");
    ui.after("<esc>").is_in(KeyContext::Find);
    ui.after("<esc>").is_in(KeyContext::Timeline);
}

/// A pane that cannot be drawn.
#[derive(Debug)]
struct Broken;

impl Pane for Broken {
    fn key_context(&self) -> KeyContext {
        KeyContext::Why
    }

    fn act(&mut self, _action: Action, _cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        None
    }

    fn is_fullscreen(&self) -> bool {
        true
    }

    fn view(&self, _frame: &mut Frame<'_>, _cx: &PaneContext<'_>) {
        panic!("it cannot be drawn, which this test expects");
    }
}

#[test]
fn a_panic_while_drawing_costs_the_frame_and_not_the_program() {
    let mut ui = TestApp::new();
    ui.app.panes.push(Box::new(Broken));
    let mut terminal = Terminal::new(TestBackend::new(100, 28)).expect("a terminal");
    let mut draw = |ui: &mut TestApp| {
        terminal.draw(|frame| ui.app.draw(frame)).expect("draws");
        crate::tui::dump::text(terminal.backend().buffer())
    };
    let text = draw(&mut ui);
    has(&text, "This could not be drawn; Esc leads back");
    ui.app.panes.pop();
    let text = draw(&mut ui);
    assert!(
        text.contains("Auth Refactor") && !text.contains("could not"),
        "{text}"
    );
}
