//! Tests of drawing a conversation and of moving in it.

use proptest::prelude::*;
use ratatui::style::Style;

use super::*;
use crate::core::log::{MessageKind, Origin, Role as Who};
use crate::tui::highlight::Syntaxes;
use crate::tui::theme::Theme;

fn message(line: u64, role: Who, kind: MessageKind, text: &str) -> Message {
    let day = 86_400_000;
    Message {
        line,
        role,
        kind,
        origin: Origin::Written,
        time: Some(1_700_000_000_000 + day * (line as i64 / 6)),
        text: text.to_owned(),
        id: None,
        reply: None,
        tool: (role == Who::Tool || kind == MessageKind::ToolCall).then(|| "Bash".to_owned()),
        session: None,
        call: None,
        subagent: None,
    }
}

fn transcript() -> Arc<Transcript> {
    use MessageKind::{Text, Thinking, ToolCall, ToolResult};
    Arc::new(Transcript {
        messages: vec![
            message(1, Who::User, Text, "why do tabs log out?"),
            message(2, Who::Assistant, Thinking, "a race, perhaps"),
            message(2, Who::Assistant, Text, "The **token** is shared."),
            message(3, Who::Assistant, ToolCall, "command: cargo test"),
            message(4, Who::Tool, ToolResult, "running 14 tests\nFAILED\n"),
            message(5, Who::Assistant, Text, "It fails."),
            message(6, Who::User, Text, "keep a window of 10 s"),
        ],
        ..Transcript::default()
    })
}

struct TestConversation {
    theme: Theme,
    syntaxes: Arc<Syntaxes>,
}

impl TestConversation {
    fn new() -> Self {
        Self {
            theme: Theme::default(),
            syntaxes: Syntaxes::load(),
        }
    }

    fn viewport(&self, width: usize, height: usize) -> Viewport<'_> {
        Viewport {
            options: RenderOptions {
                theme: &self.theme,
                syntaxes: &self.syntaxes,
                width,
            },
            height,
        }
    }
}

fn info() -> ConversationInfo {
    ConversationInfo {
        agent: Agent::ClaudeCode,
        zone: TimeZone::UTC,
    }
}

fn laid_out(transcript: Arc<Transcript>, viewport: Viewport<'_>) -> Conversation {
    let mut talk = Conversation::new(info(), transcript);
    talk.lay_out(viewport);
    talk
}

fn drawn(conversation: &Conversation, width: u16, height: u16) -> Vec<String> {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    conversation.view(area, &mut buffer, Some(Style::new()));
    let text = crate::tui::dump::text(&buffer);
    text.lines().map(str::to_owned).collect()
}

#[test]
fn turns_have_names_and_times_and_tools_are_a_line() {
    let stage = TestConversation::new();
    let talk = laid_out(transcript(), stage.viewport(80, 20));
    let lines = drawn(&talk, 80, 13);
    assert_eq!(
        lines,
        [
            "                   Tuesday, 14 November 2023",
            "",
            "▌ you       22:13  why do tabs log out?",
            "",
            "  claude    22:13  The token is shared.",
            "                   ▸ Bash   cargo test                                  2 lines",
            "                   It fails.",
            "",
            "                   Wednesday, 15 November 2023",
            "",
            "  you       22:13  keep a window of 10 s",
            "",
            "",
        ]
    );
    assert_eq!(talk.turn(), (1, 2));
}

#[test]
fn a_narrow_pane_puts_the_name_above() {
    let stage = TestConversation::new();
    let talk = laid_out(transcript(), stage.viewport(40, 20));
    let lines = drawn(&talk, 40, 4);
    assert_eq!(lines[2..], ["▌ you  22:13", "▌  why do tabs log out?"]);
}

#[test]
fn enter_unfolds_a_call_and_layers_show_what_is_hidden() {
    let stage = TestConversation::new();
    let viewport = stage.viewport(80, 30);
    let mut talk = laid_out(transcript(), viewport);
    assert!(!talk.fold(viewport), "words have nothing to unfold");
    talk.step(Move::Down, viewport);
    talk.step(Move::Down, viewport);
    assert!(talk.fold(viewport));
    let text = drawn(&talk, 80, 30).join("\n");
    assert!(
        text.contains("▾ Bash") && text.contains("│ FAILED"),
        "{text}"
    );
    assert_eq!(
        talk.selected_text().as_deref(),
        Some("command: cargo test\n\nrunning 14 tests\nFAILED\n")
    );
    talk.toggle(Layer::Thinking, viewport);
    assert!(drawn(&talk, 80, 30).join("\n").contains("a race, perhaps"));
    talk.toggle(Layer::Thinking, viewport);
    assert!(!drawn(&talk, 80, 30).join("\n").contains("a race, perhaps"));
}

#[test]
fn a_line_of_the_log_is_found_even_in_what_is_folded_or_hidden() {
    let stage = TestConversation::new();
    let viewport = stage.viewport(80, 30);
    let mut talk = Conversation::new(info(), transcript());
    talk.go_to(4, None, MarkedWords::new(["failed"]), viewport);
    assert_eq!(talk.message().map(|message| message.line), Some(3));
    assert!(drawn(&talk, 80, 30).join("\n").contains("│ FAILED"));
    talk.go_to(2, None, MarkedWords::new(["race"]), viewport);
    assert!(drawn(&talk, 80, 30).join("\n").contains("a race, perhaps"));
    talk.go_to(999, None, MarkedWords::default(), viewport);
}

#[test]
fn words_are_found_one_after_the_other_and_around() {
    let stage = TestConversation::new();
    let viewport = stage.viewport(80, 30);
    let mut talk = laid_out(transcript(), viewport);
    assert!(
        !talk.next_match(Move::Down, viewport),
        "nothing is looked for"
    );
    talk.mark(MarkedWords::new(["FAIL"]), viewport);
    assert_eq!(talk.match_count(), Some((0, 2)));
    let mut lines = Vec::new();
    for _ in 0..3 {
        assert!(talk.next_match(Move::Down, viewport));
        lines.extend(talk.message().map(|message| message.line));
    }
    assert_eq!(lines, [3, 5, 3]);
    assert!(talk.next_match(Move::Up, viewport));
    assert_eq!(talk.message().map(|message| message.line), Some(5));
}

#[test]
fn every_line_with_the_words_is_a_match_of_its_own() {
    let stage = TestConversation::new();
    let viewport = stage.viewport(80, 12);
    let mut long: Vec<String> = (0..90).map(|number| format!("line {number}")).collect();
    long[52] = "the wrapping of an error".to_owned();
    long[82] = "error wrapping again".to_owned();
    let answer = long.join("\n\n");
    let transcript = Transcript {
        messages: vec![
            message(1, Who::User, MessageKind::Text, &long.join("\n")),
            message(2, Who::Assistant, MessageKind::Text, &answer),
        ],
        ..Transcript::default()
    };
    let mut talk = Conversation::new(info(), Arc::new(transcript));
    let words = || MarkedWords::new(["error", "wrapping"]);
    // The line of the hit is shown, not the first of its message.
    talk.go_to(1, Some(82), words(), viewport);
    let shown = |talk: &Conversation| drawn(talk, 80, 12).join("\n");
    assert!(
        shown(&talk).contains("error wrapping again"),
        "{}",
        shown(&talk)
    );
    assert_eq!(talk.match_count(), Some((2, 4)));
    let mut seen = Vec::new();
    for _ in 0..4 {
        assert!(talk.next_match(Move::Down, viewport));
        seen.push((
            talk.match_count(),
            shown(&talk).contains("error wrapping again"),
        ));
    }
    let expected = [(3, false), (4, true), (1, false), (2, true)];
    assert_eq!(
        seen,
        expected.map(|(number, is_second)| (Some((number, 4)), is_second))
    );
    assert!(talk.next_match(Move::Up, viewport));
    assert!(shown(&talk).contains("the wrapping of an error"));
}

#[test]
fn a_line_that_find_showed_is_a_match_although_another_has_as_many_of_the_words() {
    let stage = TestConversation::new();
    let viewport = stage.viewport(80, 12);
    let text = "the wrapping of it\n\nan error\n\nmore wrapping of it";
    let transcript = Transcript {
        messages: vec![message(1, Who::Assistant, MessageKind::Text, text)],
        ..Transcript::default()
    };
    let mut talk = Conversation::new(info(), Arc::new(transcript));
    let words = MarkedWords::new(["error", "wrapping"]);
    talk.go_to(1, Some(4), words, viewport);
    let landing = talk.current;
    assert_eq!(talk.match_count(), Some((1, 1)));
    for step in [Move::Down, Move::Up] {
        assert!(talk.next_match(step, viewport));
        assert_eq!((talk.current, talk.match_count()), (landing, Some((1, 1))));
    }
}

#[test]
fn a_hit_at_the_end_stays_in_sight_when_the_same_is_read_again() {
    let stage = TestConversation::new();
    let viewport = stage.viewport(80, 8);
    let long: Vec<String> = (0..40).map(|number| format!("line {number}")).collect();
    let text = format!("the needle\n\n{}", long.join("\n\n"));
    let transcript = Arc::new(Transcript {
        messages: vec![message(1, Who::Assistant, MessageKind::Text, &text)],
        ..Transcript::default()
    });
    let mut talk = Conversation::new(info(), Arc::clone(&transcript));
    talk.go_to(1, None, MarkedWords::new(["needle"]), viewport);
    talk.refresh(transcript, viewport);
    let shown = drawn(&talk, 80, 8).join("\n");
    assert!(shown.contains("the needle"), "{shown}");
}

#[test]
fn what_is_said_meanwhile_is_followed_at_the_end_only() {
    let stage = TestConversation::new();
    let viewport = stage.viewport(80, 5);
    let mut talk = Conversation::new(info(), transcript());
    let mut grown = Transcript::clone(&transcript());
    grown
        .messages
        .push(message(7, Who::Assistant, MessageKind::Text, "Done."));
    let grown = Arc::new(grown);
    talk.step(Move::Last, viewport);
    talk.refresh(Arc::clone(&grown), viewport);
    assert!(drawn(&talk, 80, 5).join("\n").contains("Done."));
    let mut talk = laid_out(transcript(), viewport);
    talk.refresh(grown, viewport);
    assert_eq!(talk.turn(), (1, 2));
    assert!(!drawn(&talk, 80, 5).join("\n").contains("Done."));
}

#[test]
fn secrets_and_escapes_are_not_shown() {
    let stage = TestConversation::new();
    let viewport = stage.viewport(100, 10);
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
    let text = format!("use {secret} \u{1b}[31mred");
    let transcript = Transcript {
        messages: vec![message(1, Who::User, MessageKind::Text, &text)],
        ..Transcript::default()
    };
    let talk = laid_out(Arc::new(transcript), viewport);
    let shown = drawn(&talk, 100, 10).join("\n");
    assert!(
        !shown.contains("abcdefghijklmnop") && !shown.contains('\u{1b}'),
        "{shown}"
    );
    assert!(
        !talk
            .selected_text()
            .unwrap_or_default()
            .contains("abcdefghijklmnop")
    );
}

#[test]
fn of_a_message_longer_than_a_book_the_beginning_is_laid_out() {
    let stage = TestConversation::new();
    let viewport = stage.viewport(80, 10);
    let text = format!("{}needle", "word ".repeat(1_000_000));
    let transcript = Transcript {
        messages: vec![message(1, Who::Assistant, MessageKind::Text, &text)],
        ..Transcript::default()
    };
    let mut talk = laid_out(Arc::new(transcript), viewport);
    let lines: usize = talk.laid.values().map(|laid| laid.lines.len()).sum();
    assert!((100..3_000).contains(&lines), "{lines}");
    talk.step(Move::Last, viewport);
    assert!(drawn(&talk, 80, 10).join("\n").contains("4.9 MB more"));
    talk.mark(MarkedWords::new(["needle"]), viewport);
    assert!(
        talk.next_match(Move::Down, viewport),
        "all of it is searched"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_cursor_is_always_on_the_screen(
        texts in prop::collection::vec(("[a-z \n]{0,80}", 0..4usize), 0..30),
        moves in prop::collection::vec((0..12usize, -9isize..9), 1..30),
        width in 10..110usize,
        height in 1..20usize,
    ) {
        let stage = TestConversation::new();
        let kinds = [
            (Who::User, MessageKind::Text),
            (Who::Assistant, MessageKind::Text),
            (Who::Assistant, MessageKind::ToolCall),
            (Who::Tool, MessageKind::ToolResult),
        ];
        let messages = texts.iter().enumerate().map(|(at, (text, kind))| {
            let (role, kind) = kinds[*kind];
            message(at as u64 + 1, role, kind, text)
        });
        let transcript = Transcript { messages: messages.collect(), ..Transcript::default() };
        let viewport = stage.viewport(width, height);
        let mut talk = Conversation::new(info(), Arc::new(transcript));
        talk.lay_out(viewport);
        let steps = [Move::Up, Move::Down, Move::HalfUp, Move::HalfDown, Move::PageUp,
            Move::PageDown, Move::First, Move::Last];
        for (kind, rows) in moves {
            match kind {
                8 => talk.scroll(rows, viewport),
                9 => drop(talk.fold(viewport)),
                10 => talk.step_turn(Move::Down, viewport),
                11 => talk.toggle(Layer::Tools, viewport),
                at => talk.step(steps[at], viewport),
            }
            let (w, h) = (width as u16, height as u16);
            let lines = drawn(&talk, w, h);
            if !talk.is_empty() {
                let (first, last) = talk.window(viewport);
                prop_assert!((first..=last).contains(&talk.selected), "{lines:?}");
            }
        }
    }
}
