//! Tests of the timeline: the tree of what happened, the calendar, and the way to the log.

use std::sync::Arc;

use super::TestApp;
use crate::core::insight::timeline::event::Event as Said;
use crate::core::insight::timeline::grip::GripState;
use crate::core::insight::timeline::outline::Outline;
use crate::core::insight::timeline::record::{LogRecord, Source};
use crate::core::insight::timeline::summarize::Offline;
use crate::core::insight::timeline::{Node, Timeline};
use crate::core::log::{Agent, Message, MessageKind, Origin, Role, Transcript};
use crate::core::memory::library::Library;
use crate::tui::effect::{Effect, Requester, TimelineJob, TranscriptJob};
use crate::tui::event::{Event, GripMessage, GripText};
use crate::tui::keymap::KeyContext;
use crate::tui::pane::browse::fixture;
use crate::tui::theme::Background;

const MINUTE: i64 = 60_000;

/// A time in milliseconds since 1970.
fn time(text: &str) -> i64 {
    let time: jiff::Timestamp = text.parse().expect("a time");
    time.as_millisecond()
}

/// The messages of a session about one thing, from a time on.
fn said(from: &str, asked: &'static str, done: &'static str) -> Vec<Said> {
    let start = time(from);
    let message = |at: i64, role, text| Said {
        time: start + at * MINUTE,
        ..Said::test(u64::try_from(at).unwrap_or(0) + 1, role, text)
    };
    vec![
        message(0, Role::User, asked),
        message(1, Role::Assistant, done),
        message(2, Role::User, "keep a grace window of ten seconds"),
    ]
}

fn log(id: &str, events: &[Said]) -> LogRecord {
    let source = Source {
        agent: Agent::Codex,
        id,
        cwd: Some("/home/kim/shop"),
        stamp: ((1, None, None), 1, 0),
        summarizer: &Offline,
    };
    LogRecord::make(source, events, None)
}

fn records() -> Vec<LogRecord> {
    vec![
        log(
            "rotation",
            &said(
                "2026-11-04T14:02:00Z",
                "why does refresh rotation log people out on two tabs?",
                "The root cause is a race in rotate(): both tabs present the same refresh token.",
            ),
        ),
        log(
            "release",
            &said(
                "2026-11-03T09:40:00Z",
                "please release version 1.8 with a canary first",
                "Released 1.8 after the canary of thirty minutes; all error rates stayed flat.",
            ),
        ),
        log(
            "flaky",
            &said(
                "2026-09-14T10:00:00Z",
                "the checkout test is flaky since monday",
                "Fixed the flaky checkout test by waiting for the redirect instead of the clock.",
            ),
        ),
    ]
}

fn timeline() -> Timeline {
    Timeline::of_records(records())
}

impl TestApp {
    /// An app with the timeline open, on the day of the newest session.
    fn walking() -> Self {
        Self::sized_walking(100, 28, Background::Dark)
    }

    fn sized_walking(width: u16, height: u16, background: Background) -> Self {
        let mut ui = Self::sized(width, height, background);
        ui.tell(Event::Woke(time("2026-11-04T18:00:00Z")));
        list_log(&mut ui);
        let effects = ui.press("t");
        assert_eq!(effects, [Effect::Timeline(TimelineJob::Show)]);
        ui.tell_timeline(&timeline(), 0);
        ui
    }

    /// Sends the nodes, as the worker does.
    fn tell_timeline(&mut self, timeline: &Timeline, left: usize) {
        let outline = Arc::new(Outline::of(timeline));
        self.tell(Event::TimelineMade { outline, left });
    }

    /// Moves the cursor down to the row with these words.
    fn down_to(&mut self, words: &str) {
        for _ in 0..30 {
            if self.here().contains(words) {
                return;
            }
            self.press("j");
        }
        panic!("no {words} in\n{}", self.text());
    }
}

/// Lists the log of the first session in the library.
fn list_log(ui: &mut TestApp) {
    let mut log = fixture::log_summary("rotation", "why does refresh rotation");
    log.file.agent = Agent::Codex;
    (log.time, log.turns) = (1, 2);
    let logs = vec![("/home/kim/shop".to_owned(), log)];
    ui.tell(Event::LogsListed(Arc::new(Library::group_logs(logs))));
}

#[test]
fn the_timeline_opens_on_the_newest_day_with_its_bullets() {
    let ui = TestApp::walking();
    let text = ui.text();
    ui.is_in(KeyContext::Timeline);
    ui.is_at("Wednesday, 4 November");
    // What the open parts of a node say is not said above them again.
    let year = text.matches("Asked: why does refresh").count();
    assert_eq!(year, 1, "only in its segment: {text}");
    ui.titled("2026 ▸ November ▸ Week 45 ▸ Wed 4");
    ui.shows(["14:02", "race in rotate()", "codex · shop"]);
    ui.titled("1 session · 1 part");
}

#[test]
fn it_says_that_it_reads_until_there_is_something_and_that_there_is_nothing() {
    let mut ui = TestApp::new();
    ui.after("t").shows(["reading…"]);
    let outline = Arc::new(Outline::default());
    ui.tell(Event::TimelineMade {
        outline: Arc::clone(&outline),
        left: 3,
    });
    ui.shows(["summarizing 3 logs"]);
    ui.tell(Event::TimelineMade { outline, left: 0 });
    ui.shows(["Nothing has happened here yet", "A shows everything"]);
    assert_eq!(
        ui.press("<esc>"),
        [Effect::Timeline(TimelineJob::Hide)],
        "nothing is sent any more"
    );
    ui.is_in(KeyContext::Tree);
}

#[test]
fn what_arrives_later_leaves_the_cursor_where_it_is() {
    let mut ui = TestApp::walking();
    ui.down_to("race in rotate()");
    let mut records = records();
    records.push(log(
        "today",
        &said(
            "2026-11-04T17:00:00Z",
            "please write the notes of the release",
            "Wrote the notes of the release.",
        ),
    ));
    records.push(log(
        "older",
        &said(
            "2025-01-08T17:00:00Z",
            "please start the shop",
            "Started the shop with an empty cart.",
        ),
    ));
    ui.tell_timeline(&Timeline::of_records(records), 7);
    ui.is_at("race in rotate()").shows(["17:00"]);
    ui.titled("7 logs to read");
}

#[test]
fn a_bullet_shows_its_lines_and_then_its_log_and_escape_comes_back() {
    let mut ui = TestApp::walking();
    ui.down_to("race in rotate()");
    let effects = ui.press("<cr>");
    let [Effect::Timeline(TimelineJob::Expand(ids))] = &effects[..] else {
        panic!("{effects:?}");
    };
    ui.shows(["reading…"]);
    for id in ids {
        let grip = Outline::of(&timeline()).grip(id).expect("a grip");
        let message = |line: u64, role, text: &str| GripMessage {
            line,
            time: time("2026-11-04T14:03:00Z"),
            role,
            tool: None,
            text: text.to_owned(),
            calls: line as usize,
        };
        ui.tell(Event::GripExpanded(Arc::new(GripText {
            grip,
            state: GripState::Current,
            before: vec![message(1, Role::User, "why does refresh rotation log out")],
            excerpt: vec![message(
                2,
                Role::Assistant,
                "All of the answer\nin two lines",
            )],
            after: Vec::new(),
        })));
    }
    ui.shows([
        "│ agent  14:03  L2",
        "│ in two lines",
        "│ you  why does refresh",
        "│ 1 call",
        "│ 2 calls",
    ]);
    ui.is_at("race in rotate()");
    let effects = ui.press("<cr>");
    assert!(
        effects.iter().any(|effect| matches!(
            effect,
            Effect::Transcript(TranscriptJob { file, requester: Requester::Reader })
                if file.id == "rotation"
        )),
        "{effects:?}"
    );
    ui.is_in(KeyContext::Log);
    ui.after("<esc>").is_in(KeyContext::Timeline);
    ui.is_at("race in rotate()");
    ui.press("h");
    ui.lacks(["in two lines"]); // folded again
    ui.after("h").is_at("14:02");
}

#[test]
fn a_log_that_is_gone_still_has_its_words_and_says_so() {
    let mut ui = TestApp::walking();
    ui.press("w jjj<cr> [");
    ui.down_to("flaky checkout test by");
    let effects = ui.press("<cr>");
    let [Effect::Timeline(TimelineJob::Expand(ids))] = &effects[..] else {
        panic!("{effects:?}");
    };
    let grip = Outline::of(&timeline()).grip(&ids[0]).expect("a grip");
    ui.tell(Event::GripExpanded(Arc::new(GripText {
        grip,
        state: GripState::Gone,
        before: Vec::new(),
        excerpt: Vec::new(),
        after: Vec::new(),
    })));
    ui.shows(["The log is gone."]);
    ui.after("<cr>").shows(["The log is gone; its words"]);
    ui.is_in(KeyContext::Timeline);
}

#[test]
fn a_session_is_headed_by_its_node_and_titled_in_the_tree() {
    let mut ui = TestApp::new();
    list_log(&mut ui);
    ui.after("G l j l j").shows(["why does refresh rotation"]);
    let timeline = Timeline::of_records(records());
    let node: Node = timeline.session(Agent::Codex, "rotation").expect("a node");
    let effects = ui.press("<cr>");
    let asked = Effect::Timeline(TimelineJob::Session {
        agent: Agent::Codex,
        id: "rotation".to_owned(),
    });
    assert!(effects.contains(&asked), "{effects:?}");
    let file = effects.iter().find_map(|effect| match effect {
        Effect::Transcript(job) => Some(job.file.clone()),
        _ => None,
    });
    let message = Message {
        line: 1,
        role: Role::User,
        kind: MessageKind::Text,
        origin: Origin::Written,
        time: Some(1),
        text: "the first words".to_owned(),
        id: None,
        reply: None,
        tool: None,
        session: None,
        call: None,
        subagent: None,
    };
    let transcript = Transcript {
        messages: vec![message],
        ..Transcript::default()
    };
    ui.tell(Event::Opened {
        file: file.expect("a transcript was asked for"),
        result: Ok(Arc::new(transcript)),
    });
    ui.tell(Event::SessionSummarized(Arc::new(node.clone())));
    let text = ui.text();
    let title = text.find(&node.title[..12]).expect("its title");
    let first = text.find("the first words").expect("its first message");
    assert!(title < first, "{text}");
    ui.shows(["• "]);
}

#[test]
fn the_looks_of_the_timeline() {
    for (width, height, background) in [
        (80, 24, Background::Dark),
        (120, 40, Background::Light),
        (50, 16, Background::Dark),
    ] {
        let mut ui = TestApp::sized_walking(width, height, background);
        ui.down_to("Reported: ");
        insta::assert_snapshot!(
            format!("timeline_{width}x{height}_{background:?}"),
            ui.styled()
        );
    }
}

#[test]
fn the_calendar_is_walked_by_day_and_week_and_leads_to_the_day() {
    let mut ui = TestApp::walking();
    ui.after("<tab>k").titled("Tue 3");
    ui.after("<left>").titled("October ▸ Week 44 ▸ Tue 27");
    ui.after("<right><cr>").is_at("Tuesday, 3 November");
    ui.shows(["Released 1.8"]);
    // A day without sessions leads to the one before it.
    ui.after("<tab>hh<cr>").is_at("Monday, 14 September");
    ui.shows(["Nothing happened in Tuesday, October 20, 2026"]);
    // The calendar ends today, and begins with the first session.
    ui.after("<tab>G").titled("Wed 4");
    ui.after("j").titled("Wed 4");
    ui.after("g").titled("September ▸ Week 38 ▸ Mon 14");
    ui.press("<esc>");
    ui.is_in(KeyContext::Timeline); // first out of the calendar
}

#[test]
fn places_and_weeks_are_jumped_to() {
    let mut ui = TestApp::walking();
    ui.press("t");
    let text = ui.text();
    let yesterday = text.lines().find(|line| line.contains("Yesterday"));
    assert!(
        yesterday.is_some_and(|line| line.contains("1 session")),
        "{text}"
    );
    let week = text.lines().find(|line| line.contains("Last week"));
    assert!(
        week.is_some_and(|line| line.contains("Week 44 of 2026 · nothing")),
        "{text}"
    );
    ui.after("<down><cr>").is_at("Tuesday, 3 November");
    ui.after("[").is_at("Monday, 14 September");
    ui.after("]").is_at("Tuesday, 3 November");
    ui.after("t<cr>").is_at("Wednesday, 4 November");
}

#[test]
fn a_click_on_a_day_goes_there_and_a_second_click_on_a_row_opens_it() {
    let mut ui = TestApp::walking();
    // The last column of the calendar is this week; Tuesday is in the second row.
    let (_, tuesday) = ui.cell_of("Tu ");
    let text = ui.text();
    let row: Vec<char> = text
        .lines()
        .nth(usize::from(tuesday))
        .expect("a row")
        .chars()
        .collect();
    let border = row
        .iter()
        .skip(1)
        .position(|c| *c == '│')
        .expect("a border");
    let last = row[..=border].iter().rposition(|c| "·░▒▓█".contains(*c));
    let column = u16::try_from(last.expect("a day")).expect("small");
    ui.click((column, tuesday));
    ui.is_at("Tuesday, 3 November");
    assert_eq!(ui.click_on("Reported: Released"), []);
    ui.is_at("Reported: Released");
    let effects = ui.click_on("Reported: Released");
    assert!(
        matches!(effects[..], [Effect::Timeline(TimelineJob::Expand(_))]),
        "{effects:?}"
    );
}
