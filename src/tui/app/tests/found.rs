//! What the finder shows of what it found, and where it is opened.

use std::fs;
use std::sync::Arc;

use super::TestApp;
use ratatui::layout::Size;

use crate::core::log::Agent;
use crate::core::search::find::SearchState;
use crate::core::search::index::BuildProgress;
use crate::tui::effect::{Effect, SearchJob};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::model::FindResults;
use crate::tui::theme::Background;

/// Writes another log of the project.
fn write_log(ui: &mut TestApp, name: &str, lines: &[(&str, &str)]) {
    let line = |(number, (role, text)): (usize, &(&str, &str))| {
        let content = serde_json::json!([{ "type": "text", "text": text }]);
        let record = serde_json::json!({
            "type": role, "uuid": format!("{name}{number}"), "cwd": "/work/till",
            "timestamp": format!("2026-01-03T03:04:{number:02}Z"), "sessionId": name,
            "message": { "role": role, "content": content },
        });
        format!("{record}\n")
    };
    let text: String = lines.iter().enumerate().map(line).collect();
    let folder = ui.home.path().join("agent/projects/-work-till");
    fs::create_dir_all(&folder).expect("folders");
    fs::write(folder.join(format!("{name}.jsonl")), text).expect("a log");
    ui.look();
}

fn last_search(effects: Vec<Effect>) -> SearchJob {
    let jobs = effects.into_iter().filter_map(|effect| match effect {
        Effect::Search(job) => Some(job),
        _ => None,
    });
    jobs.last().expect("a search")
}

#[test]
fn a_phrase_is_on_the_screen_where_it_is_opened_and_n_goes_on_to_the_next() {
    let mut ui = TestApp::sized_with_logs(100, 24, Background::Dark);
    let long = "This is a line that says little.\n\n".repeat(40);
    let first = format!("{long}The key change is that tokens rotate.\n\n{long}");
    let second = format!("{long}Again the key change is that they expire.\n\n{long}");
    write_log(
        &mut ui,
        "s9",
        &[
            ("user", "hello"),
            ("assistant", &first),
            ("user", "on"),
            ("assistant", &second),
        ],
    );
    ui.press("/ \"key<space>change<space>is<space>that\"");
    let text = ui.text();
    ui.shows(["2 found", "◇ claude · hello"]);
    // Whose it is stands at the start of the row, so the project alone is at its end.
    let first = text.lines().nth(2).unwrap_or_default();
    assert!(first.contains("▸+1 till  "), "{first}");
    let preview = |line: &str| line.chars().skip(41).collect::<String>();
    let mut rows = text.lines().skip(2).map(preview);
    assert!(rows.any(|row| row.contains("key change is that")), "{text}");
    ui.after("<cr>").is_in(KeyContext::Log);
    let here = ui.text();
    ui.press("n");
    let there = ui.text();
    let has = |text: &str, words: &str| text.contains(words);
    assert!(has(&here, "key change is that"), "{here}");
    assert!(has(&there, "key change is that"), "{there}");
    assert_ne!(has(&here, "Again the key"), has(&there, "Again the key"));
}

#[test]
fn what_was_found_stays_in_sight_at_any_size_until_one_scrolls_away() {
    let mut ui = TestApp::sized_with_logs(100, 14, Background::Dark);
    let long =
        "This is a line that says little, over and over, until it is wrapped.\n\n".repeat(20);
    let text = format!("{long}The needle lies here.\n\n{long}");
    write_log(&mut ui, "s9", &[("user", "hello"), ("assistant", &text)]);
    let hay = ui.path("hay.md");
    fs::write(&hay, format!("# Hay\n\n{text}")).expect("a memory");
    ui.refresh(&[hay]);
    for query in ["in:logs<space>needle", "in:memories<space>needle"] {
        let has_needle = |ui: &mut TestApp, width| {
            ui.app.resize(Size::new(width, 14));
            let text = ui.text();
            let preview = text.lines().map(|line| line.chars().skip(41));
            let mut rows = preview.map(String::from_iter);
            rows.any(|row: String| row.contains("The needle lies"))
        };
        ui.press("/ <c-u>");
        ui.press(query);
        assert!(has_needle(&mut ui, 120), "{}", ui.text());
        assert!(has_needle(&mut ui, 100), "{}", ui.text());
        ui.press(&"<a-down>".repeat(16));
        assert!(!has_needle(&mut ui, 100), "{}", ui.text());
        assert!(!has_needle(&mut ui, 120), "{}", ui.text());
        ui.press("<esc> <esc>");
    }
}

#[test]
fn a_log_that_find_opened_counts_the_lines_that_find_counted() {
    let mut ui = TestApp::sized_with_logs(100, 24, Background::Dark);
    let said = [
        ("user", "is the needle there?"),
        ("assistant", "a needle is."),
    ];
    write_log(&mut ui, "s9", &said);
    let folder = ui.home.path().join("agent/projects/-work-till");
    let call = serde_json::json!({
        "type": "assistant", "uuid": "a9", "cwd": "/work/till", "sessionId": "s9",
        "timestamp": "2026-01-03T03:05:00Z",
        "message": { "role": "assistant", "content": [
            { "type": "tool_use", "id": "t9", "name": "Bash", "input": { "command": "grep needle" } },
        ] },
    });
    let mut log = fs::read_to_string(folder.join("s9.jsonl")).expect("there");
    log.push_str(&format!("{call}\n"));
    fs::write(folder.join("s9.jsonl"), log).expect("written");
    ui.look();
    ui.after("/ needle").shows(["2 found in 1 place", "▸+1"]);
    ui.after("<cr>").shows(["1/2 found"]);
    ui.after("n n").shows(["1/2 found"]);
    // Looked for here, it is found in calls, too.
    ui.after("/ needle <cr>").shows(["/3 found"]);
}

#[test]
fn a_log_found_by_letters_has_a_next_match() {
    let mut ui = TestApp::with_logs();
    ui.after("/ rfrsh<space>rttn<space>").shows(["∴"]);
    ui.after("in:logs<space><cr>n").is_in(KeyContext::Log);
    ui.lacks(["Not in this conversation"]);
}

#[test]
fn a_slip_of_the_keyboard_finds_the_word_and_letters_are_not_listed() {
    let mut ui = TestApp::with_logs();
    ui.press("/ refersh<space>rotatoin");
    ui.shows(["≈ Use JWT with refresh token", "not as typed"]);
    ui.lacks(["∴"]);
    ui.after("<c-u>refresh").lacks(["≈", "∴"]);
}

#[test]
fn the_lines_of_a_session_are_one_row_and_copies_are_counted() {
    let mut ui = TestApp::with_logs();
    let said = [
        ("user", "the **needle** is lost"),
        ("assistant", "a needle again"),
    ];
    write_log(&mut ui, "s5", &said);
    write_log(&mut ui, "s6", &said);
    ui.press("/ needle");
    let rows = |ui: &TestApp| ui.text().lines().filter(|l| l.contains('◇')).count();
    assert_eq!(rows(&ui), 1, "{}", ui.text());
    let row = ui.row("▌◇");
    assert!(row.contains("▸+1") && row.contains("×2"), "{row}");
    assert!(!row.contains("**"), "{row}");
    ui.press("<right>");
    let text = ui.text();
    let list: Vec<String> = text.lines().map(|l| l.chars().take(40).collect()).collect();
    assert!(!list.join("\n").contains("**"), "{text}");
    ui.shows(["the needle is lost", "a needle again"]);
    ui.row_has("▌◇", "▾+1");
    ui.press("<left>");
    ui.row_has("▌◇", "▸+1");
}

#[test]
fn everything_unfolds_the_folders_of_projects_too() {
    let mut ui = TestApp::sized_with_logs(100, 60, Background::Dark);
    write_log(&mut ui, "s5", &[("user", "where is the till?")]);
    ui.lacks(["where is the till?"]);
    ui.press("z");
    ui.shows(["where is the till?", "work/till", "/shop"]);
    ui.lacks(["//shop"]);
}

#[test]
fn subagents_are_counted_nowhere() {
    let mut ui = TestApp::with_logs();
    let folder = ui.home.path().join("agent/projects/-shop/s1/subagents");
    fs::create_dir_all(&folder).expect("folders");
    let said = r#"{"type":"user","isSidechain":true,"agentId":"a1","uuid":"x","timestamp":"2026-01-02T03:04:05Z","cwd":"/shop","sessionId":"s1","message":{"role":"user","content":"look for tabs"}}"#;
    fs::write(folder.join("agent-a1.jsonl"), format!("{said}\n")).expect("a log");
    ui.look();
    ui.shows(["· 1 session"]);
    ui.press("G");
    ui.row_has("▌", "sessions");
    ui.row_has("▌", " 1 ");
    ui.press("z G");
    ui.row_has("▌", "look for tabs"); // it is listed
}

#[test]
fn a_found_memory_is_read_on_a_small_screen_too() {
    let mut ui = TestApp::sized_with_logs(60, 20, Background::Dark);
    ui.after("/ jwt<cr>").shows(["Use JWT.", "Auth design"]);
    ui.after("<esc>").is_in(KeyContext::Find);
}

#[test]
fn rows_stay_until_there_are_others_and_what_is_looked_for_is_said() {
    let mut ui = TestApp::with_logs();
    ui.press("/refresh");
    let before = ui.text();
    assert!(before.contains("Auth Refactor"), "{before}");
    // The next letter, whose search is not finished.
    let generation = last_search(ui.unanswered(|ui| ui.press("q"))).generation;
    let unfinished = |progress| Event::Found {
        generation,
        found: Arc::new(FindResults {
            progress,
            ..FindResults::default()
        }),
    };
    // The number before is not said to be of the new query.
    let text = ui.text();
    assert!(before.contains("3 found") && text.contains(" 3…"), "{text}");
    ui.tell(unfinished(SearchState::Looking));
    ui.shows(["Auth Refactor", "searching…"]);
    ui.tell(unfinished(SearchState::Widening));
    ui.shows(["Auth Refactor", "looking for similar words…"]);
    ui.tell(unfinished(SearchState::Complete));
    ui.shows(["nothing found"]);
    ui.tell(unfinished(SearchState::Widening));
    ui.shows(["looking for similar words…"]);
}

#[test]
fn what_is_new_is_not_said_to_be_found_for_a_query() {
    let mut ui = TestApp::with_logs();
    ui.press("/");
    let list_title = |ui: &TestApp| ui.text().lines().nth(1).unwrap_or_default().to_owned();
    assert!(list_title(&ui).contains("newest first"), "{}", ui.text());
    ui.lacks(["found"]);
    // The worker has not answered yet.
    ui.unanswered(|ui| ui.press("refresh"));
    let text = ui.text();
    ui.shows(["searching…"]).lacks(["found"]);
    assert!(list_title(&ui).contains("newest first"), "{text}");
    // Without words the filters decide, and all that they allow are counted.
    ui.press("<c-u>in:logs<space>");
    let text = ui.text();
    assert!(
        list_title(&ui).contains("newest first") && text.contains("1 found"),
        "{text}"
    );
}

#[test]
fn rows_stay_while_the_sources_change_more_than_once() {
    let mut ui = TestApp::with_logs();
    ui.press("/refresh");
    let before = ui.text();
    let effects = ui.unanswered(|ui| {
        ui.tell(Event::SearchSourcesChanged);
        ui.tell(Event::SearchSourcesChanged)
    });
    let job = last_search(effects);
    let generation = job.generation;
    let Some(Event::Found { found: whole, .. }) = ui.search(job).pop() else {
        panic!("nothing was found");
    };
    let mut partial = FindResults::clone(&whole);
    partial.rows.truncate(1);
    partial.total = 1;
    partial.progress = SearchState::Looking;
    let found = Arc::new(partial);
    ui.tell(Event::Found { generation, found });
    assert_eq!(ui.text(), before);
    let found = whole;
    ui.tell(Event::Found { generation, found });
    assert_eq!(ui.text(), before);
}

#[test]
fn the_visible_rows_come_first_and_stay_when_the_others_arrive() {
    let mut ui = TestApp::sized_with_logs(100, 20, Background::Dark);
    for number in 0..12 {
        let said = format!("the needle number {number}");
        write_log(&mut ui, &format!("n{number}"), &[("user", &said)]);
    }
    ui.press("/");
    let job = last_search(ui.unanswered(|ui| ui.press("needle")));
    let visible = job.rows;
    assert!((4..12).contains(&visible), "{visible}");
    let events = ui.search(job);
    let sent: Vec<(usize, SearchState)> = events
        .iter()
        .filter_map(|event| match event {
            Event::Found { found, .. } => Some((found.rows.len(), found.progress)),
            _ => None,
        })
        .collect();
    assert_eq!(
        sent,
        [
            (visible, SearchState::Widening),
            (12, SearchState::Complete)
        ]
    );
    let mut shown = Vec::new();
    for (event, status) in events.into_iter().zip(["12…", "12 found"]) {
        ui.tell(event);
        let text = ui.text();
        ui.shows([status]);
        let list = text.lines().skip(2).map(|line| line.chars().take(40));
        shown.push(list.map(String::from_iter).collect::<Vec<String>>());
    }
    assert!(shown[0].iter().any(|line| line.contains("needle number")));
    assert_eq!(shown[0], shown[1]);
}

#[test]
fn what_is_wrong_with_a_query_is_said_in_full_beside_all_that_was_typed() {
    let mut ui = TestApp::sized_with_logs(80, 24, Background::Dark);
    ui.press("/agent:nobody<space>gradient");
    let text = ui.text();
    ui.shows([
        "agent:nobody",
        "gradient",
        "not understood",
        "agent: is one of",
    ]);
    for agent in Agent::all() {
        assert!(text.contains(agent.name()), "{agent:?}: {text}");
    }
}

#[test]
fn nothing_is_final_only_when_the_logs_are_read() {
    let mut ui = TestApp::sized_with_logs(80, 24, Background::Dark);
    ui.tell(Event::Reading(Some(BuildProgress {
        bytes: 100,
        bytes_done: 40,
        ..BuildProgress::default()
    })));
    ui.press("/\"no<space>such<space>words\"");
    ui.shows([
        "Nothing yet: logs are being read.",
        "nothing yet · reading logs 40 %",
    ]);
    ui.tell(Event::Reading(None));
    ui.shows(["Nothing was found."]).lacks(["nothing yet"]);
}

#[test]
fn a_small_screen_names_all_that_a_query_can_have() {
    let mut ui = TestApp::sized_with_logs(80, 24, Background::Dark);
    ui.press("/\"no<space>such<space>words\"");
    ui.shows(["Nothing was found."]);
    for words in [
        "both, in any order",
        "since:30d",
        "or before:, a day, an age",
    ] {
        ui.shows([words]);
    }
}

#[test]
fn a_type_is_shown_whole_or_not_at_all() {
    let row = |width| {
        let mut ui = TestApp::sized_with_logs(width, 24, Background::Dark);
        ui.press("/auth");
        let text = ui.text();
        let row = text.lines().find(|line| line.contains("◆ Auth Refactor"));
        row.unwrap_or_else(|| panic!("{text}"))
            .chars()
            .take(usize::from(width) * 2 / 5)
            .collect::<String>()
    };
    assert!(row(120).contains("Auth Refactor  project "), "{}", row(120));
    assert!(
        !row(100).contains("pro") && !row(100).contains('…'),
        "{}",
        row(100)
    );
}

#[test]
fn the_cursor_stays_on_its_row_when_the_logs_grow() {
    let mut ui = TestApp::with_logs();
    let lines = [
        ("user", "hello"),
        ("assistant", "a token\n\nthe other token"),
    ];
    write_log(&mut ui, "s9", &lines);
    ui.press("/token<space>project:till<space><right><down>");
    let row = |ui: &TestApp| {
        let text = ui.text();
        let row = text.lines().filter(|line| line.contains("▌")).nth(1);
        row.map(str::to_owned).unwrap_or(text)
    };
    let before = row(&ui);
    assert!(before.contains("other token"), "{before}");
    write_log(&mut ui, "s8", &[("user", "something else")]);
    assert_eq!(row(&ui), before);
}
