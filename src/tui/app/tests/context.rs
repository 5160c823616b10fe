//! Tests of the context: what an agent loads, and how editing it changes that.

use std::fs;
use std::path::Path;

use super::TestApp;
use crate::core::insight::context::{AgentContext, Draft, KnownAgent, Start, pieces};
use crate::core::log::Agent;
use crate::core::memory::config::Settings;
use crate::core::memory::discover::Environment;
use crate::tui::effect::{Effect, LibraryJob, Request, UndoDirection, WriteJob};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::theme::Background;

/// The agents of the tests: two that are installed, and one that is not.
pub(super) fn agents() -> Vec<KnownAgent> {
    [
        (Agent::ClaudeCode, true),
        (Agent::Codex, true),
        (Agent::Gemini, false),
    ]
    .into_iter()
    .map(|(agent, is_installed)| KnownAgent {
        agent,
        is_installed,
    })
    .collect()
}

/// Reads what an agent loads in the folder `instructions` of a home.
pub(super) fn read(home: &Path, agent: Agent, draft: Option<&Draft>) -> AgentContext {
    let home = home.canonicalize().expect("canonical");
    let environment = Environment {
        claude_project: Some("shop".to_owned()),
        ..Environment::of_home(&home, home.join("instructions"), home.join("data"))
    };
    let start = Start {
        environment: &environment,
        settings: &Settings::default(),
        managed: &home.join("managed"),
        copilot: &home.join(".copilot"),
        variables: &[],
        draft,
    };
    AgentContext {
        agent,
        pieces: pieces(agent, &start).expect("a known agent"),
        cwd: environment.cwd,
        home,
    }
}

/// An app with instructions of every kind, and an index of 203 lines; the context is open.
pub(super) fn opened(width: u16, height: u16, background: Background) -> TestApp {
    let mut ui = TestApp::sized(width, height, background);
    let home = ui.home.path().canonicalize().expect("canonical");
    let index: String = (1..=203).map(|line| format!("line {line}\n")).collect();
    for (path, text) in [
        (".claude/CLAUDE.md", "Answer in short sentences.\n"),
        (
            "instructions/CLAUDE.md",
            "# Shop\n\nBe kind. @docs/tests.md\n",
        ),
        ("instructions/docs/tests.md", "Run the tests.\n"),
        (
            "instructions/.claude/rules/rust.md",
            "---\npaths: src/**\n---\nNo panics.\n",
        ),
        ("instructions/AGENTS.md", "For Codex.\n"),
        (".claude/projects/shop/memory/MEMORY.md", &index),
    ] {
        let path = home.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("written");
    }
    assert_eq!(ui.press("i"), []);
    ui
}

fn usual() -> TestApp {
    opened(120, 28, Background::Dark)
}

#[test]
fn every_piece_is_listed_in_order_with_its_size_and_what_is_cut() {
    let ui = usual();
    ui.is_in(KeyContext::Context);
    let text = ui.text();
    let order = [
        "user      ~/.claude/CLAUDE.md",
        "project   CLAUDE.md",
        "import  docs/tests.md",
        "rule      .claude/rules/rust.md",
        "– loaded when a file is rea",
        "memory    ",
        "102 % ▰▰▰▰▰▰▰▰ 203 of 200 lines",
        "✂ the last 3 lines of 203",
    ];
    let mut at = 0;
    for expected in order {
        let found = text[at..].find(expected);
        at += found.unwrap_or_else(|| panic!("no {expected} in\n{text}"));
    }
    assert!(
        ui.row("context · claude-code in ~/instructions")
            .contains("1 cut"),
        "{text}"
    );
    ui.shows(["tokens at 4 characters each"]);
    // The first piece is selected, and its text is shown.
    ui.shows(["Answer in short sentences."]);
}

#[test]
fn a_filter_shows_the_pieces_with_its_words() {
    let mut ui = usual();
    ui.press("/ panics");
    ui.shows([".claude/rules/rust.md", "No panics."]);
    ui.lacks(["docs/tests.md"]);
    ui.after("x").shows(["Nothing here has these words"]);
    ui.after("<esc>").shows(["docs/tests.md"]);
    ui.is_in(KeyContext::Context);
}

#[test]
fn the_cut_is_marked_where_the_text_is_cut() {
    let mut ui = usual();
    ui.press("G l G");
    let text = ui.text();
    let at = |words: &str| {
        text.find(words)
            .unwrap_or_else(|| panic!("no {words} in\n{text}"))
    };
    assert!(at("line 200") < at("✂ not loaded: the last 3 lines of 203"));
    // What the agent says of the cut names the line as well.
    let first = text.rfind("line 201").expect("shown");
    assert!(at("✂ not loaded") < first && first < at("line 203"));
    // Of a rule that waits for its files, all is behind the line.
    ui.after("<esc> k").shows(["No panics."]);
}

#[test]
fn tab_goes_from_agent_to_agent_and_round() {
    let mut ui = usual();
    ui.press("<tab>");
    ui.shows(["context · codex in", "For Codex."]);
    ui.press("<tab>");
    ui.shows(["gemini loads nothing by itself", "may not be installed"]);
    ui.after("<tab>").shows(["context · claude-code in"]);
    ui.after("<s-tab>").shows(["context · gemini in"]);
    ui.after("<esc>").is_in(KeyContext::Tree);
}

#[test]
fn a_piece_is_edited_and_the_meter_shows_what_it_will_be_before_it_is_saved() {
    let mut ui = usual();
    let before = read(ui.home.path(), Agent::ClaudeCode, None).tokens();
    ui.after("j <cr>").is_in(KeyContext::Editor);
    let status = format!("claude-code {before} tokens");
    ui.shows([&status]);
    // With the line break before them, eight letters are two tokens more.
    ui.press("<c-end><cr>abcdefgh");
    let after = format!("claude-code {before} → {} tokens", before + 2);
    ui.shows([&after]);
    let effects = ui.press("<c-s>");
    ui.planned(&effects);
    // The review of the change says it, too.
    ui.is_in(KeyContext::Review).shows([&after]);
    let effects = ui.press("<cr>");
    let [Effect::Write(WriteJob::Commit { request, .. })] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    let Request::Save(saved) = &**request else {
        panic!("{request:?}");
    };
    // It is written; the pane then shows the new size.
    fs::write(saved.root.join(&saved.path), &saved.text).expect("writes");
    ui.tell(Event::Committed {
        request: request.clone(),
        result: Ok(None),
    });
    ui.is_in(KeyContext::Context);
    ui.shows([&format!("{} tokens", before + 2)]);
    ui.row_has("▌", "CLAUDE.md"); // the cursor stays
}

#[test]
fn an_index_that_grows_over_its_limit_is_told_while_it_is_typed() {
    let mut ui = usual();
    ui.after("G <cr>").is_in(KeyContext::Editor);
    ui.shows(["✂ the last 3 lines of 203"]);
    ui.press("<c-end><cr>x<cr>y");
    ui.shows(["203 → 205 of 200 lines", "✂ the last 5 lines of 205"]);
}

#[test]
fn what_is_left_unsaved_is_gone_on_with() {
    let mut ui = usual();
    ui.press("j <cr> <c-end>kept <esc>");
    ui.is_in(KeyContext::Context);
    ui.after("<cr>").is_in(KeyContext::Editor).shows(["kept"]);
    // The meter is of this text.
    ui.shows([" → "]);
}

#[test]
fn what_tome_does_not_edit_is_shown_and_the_reason_said() {
    let mut ui = usual();
    ui.after("jj <cr>").is_in(KeyContext::Reader);
    ui.shows([
        "Read only: tome edits memories and instruction files",
        "Run the tests.",
    ]);
    ui.after("<esc>").is_in(KeyContext::Context);
    // A rule is an instruction file.
    ui.after("j e").is_in(KeyContext::Editor);
}

#[test]
fn undo_and_reload_work_from_here() {
    let mut ui = usual();
    let undo = WriteJob::Do(Box::new(Request::Latest(UndoDirection::Undo)));
    assert_eq!(ui.press("u"), [Effect::Write(undo)]);
    fs::write(ui.home.path().join("instructions/CLAUDE.md"), "Shorter.\n").expect("writes");
    ui.after("<f5> j").shows(["Shorter."]);
}

#[test]
fn small_screens_show_the_list_and_then_the_text() {
    let mut ui = opened(60, 16, Background::Dark);
    ui.shows(["CLAUDE.md"]).lacks(["Answer in short"]);
    ui.after("l").shows(["Answer in short"]);
    for (width, height) in [(20, 5), (1, 1), (300, 90)] {
        let mut ui = opened(width, height, Background::Light);
        for pressed in ["G", "l", "<esc>", "<tab>", "<tab>", "<cr>"] {
            ui.press(pressed);
            ui.text();
        }
    }
}

#[test]
fn an_answer_for_another_agent_changes_nothing() {
    let mut ui = usual();
    let late = read(ui.home.path(), Agent::Codex, None);
    ui.tell(Event::ContextRead {
        draft: None,
        result: Ok(std::sync::Arc::new(late)),
    });
    ui.shows(["Answer in short sentences."]);
    let job = LibraryJob::Context {
        agent: Agent::ClaudeCode,
        draft: None,
    };
    // What is read again is for the agent that is shown.
    let library = std::sync::Arc::clone(&ui.library);
    let effects = ui.app.update(Event::Indexed(library));
    assert!(effects.contains(&Effect::Library(job)), "{effects:?}");
}
