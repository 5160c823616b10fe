//! Grips: links from a bullet to the lines of a log that support it.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::cited_line;
use super::event::{Event, EventList, LogEvents, QUESTION_TOOL, Texts, stable_id};
use crate::core::log::{Agent, MessageKind, Role};
use crate::core::memory::citation::{Citation, CitedPart};
use crate::core::search::index::Corpus;
use crate::core::text::clip;
use crate::core::text::display::safe_line;

/// The most characters of an excerpt.
const EXCERPT: usize = 200;

/// How many events away from a grip its context is looked for.
const FARTHEST: usize = 1_000;

/// A link to an event of a log. It has its own copy of the words that it is about, for the time
/// when the log is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grip {
    /// `grip:<milliseconds>:<ULID>`.
    pub id: String,
    /// The agent or layout of the log.
    pub agent: Agent,
    /// The log's id.
    pub log: String,
    /// The session, in a log of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The lines in the log, from 1.
    pub first_line: u64,
    /// The last of the lines.
    pub last_line: u64,
    /// The line of the message's text that it is about, from 1.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub text_line: usize,
    /// The words that it is about, without secrets.
    pub excerpt: String,
    /// The first event.
    pub event_id_start: String,
    /// The last event.
    pub event_id_end: String,
    /// The time of the first event, in milliseconds since 1970 UTC.
    pub timestamp: i64,
    /// The hash of the events' text, by which a rewritten log is noticed.
    pub hash: String,
}

fn first() -> usize {
    1
}

fn is_first(line: &usize) -> bool {
    *line == 1
}

/// The state of the log of a grip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GripState {
    /// The lines are as they were.
    Current,
    /// The log has other text in these lines.
    Changed,
    /// The log cannot be found.
    Gone,
}

impl GripState {
    /// Returns the name used in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Changed => "changed",
            Self::Gone => "gone",
        }
    }
}

/// A grip with what was said around its own event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expanded {
    /// Whether the log still has these lines.
    pub state: GripState,
    /// What was said before, in order.
    pub before: Vec<Shown>,
    /// The event of the grip.
    pub excerpt: Vec<Shown>,
    /// What was said behind it.
    pub after: Vec<Shown>,
}

/// An event of a grip or around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The event.
    pub event: Event,
    /// How many tools were called between it and what was said next.
    pub calls: usize,
    /// Whether it is the last that an agent said in its turn.
    pub is_answer: bool,
}

impl Shown {
    fn new(event: Event) -> Self {
        Self {
            event,
            calls: 0,
            is_answer: false,
        }
    }
}

/// Whether somebody said it: a person, also by a choice, or an agent.
fn is_said(event: &Event) -> bool {
    let is_chosen = || event.tool.as_deref() == Some(QUESTION_TOOL);
    match event.kind {
        MessageKind::Text => true,
        MessageKind::ToolResult => is_chosen(),
        _ => false,
    }
}

/// Returns the id of an event of a log.
pub fn event_id(agent: Agent, log: &str, event: &Event) -> String {
    let name = format!(
        "{}:{log}#{}:{:?}:{}",
        agent.name(),
        event.line,
        event.kind,
        event.text
    );
    stable_id(event.time, &name).to_string()
}

/// Returns the id of a line of an event's text; that of the first is the event's.
fn line_id(event_id: &str, time: i64, line: usize) -> String {
    match line {
        1 => event_id.to_owned(),
        line => {
            // The time of a log without times is that of its file, which changes.
            let random = event_id.parse::<Ulid>().map_or(0, |id| id.random());
            stable_id(time, &format!("{random}:{line}")).to_string()
        }
    }
}

fn hash(event: &Event) -> String {
    blake3::hash(event.text.as_bytes()).to_hex()[..32].to_owned()
}

impl Grip {
    /// Returns the grip of an event, from a line of its text on. Its id is made of the event and the
    /// line, so that it is found again however the log is divided and summarized later.
    pub fn new(agent: Agent, log: &str, event: &Event, text_line: usize) -> Self {
        let event_id = event_id(agent, log, event);
        Self {
            id: format!(
                "grip:{}:{}",
                event.time,
                line_id(&event_id, event.time, text_line)
            ),
            agent,
            log: log.to_owned(),
            session: event.session.clone(),
            first_line: event.line,
            last_line: event.line,
            text_line,
            excerpt: excerpt(&event.text, text_line),
            event_id_start: event_id.clone(),
            event_id_end: event_id,
            timestamp: event.time,
            hash: hash(event),
        }
    }

    /// Returns the grip of the line that a citation of a log names.
    pub fn cited(corpus: &Corpus, citation: &str) -> Option<Self> {
        let (number, line) = cited_line(corpus, citation)?;
        let events = LogEvents::of(corpus, number);
        let at = (0..events.count()).find(|at| events.line(*at) == line)?;
        let event = events.read(at..at + 1, Texts::All).next()?;
        let log = corpus.log(number)?;
        Some(Self {
            log: log.cited_id(),
            ..Self::new(log.agent()?, log.id(), &event, 1)
        })
    }

    /// Finds the event of a grip with this id in the corpus.
    pub fn find(corpus: &Corpus, id: &str) -> Option<Self> {
        if !id.starts_with("grip:") {
            return Self::cited(corpus, id);
        }
        let (time, event) = id.strip_prefix("grip:")?.split_once(':')?;
        let (time, wanted) = (time.parse::<i64>().ok()?, event.parse::<Ulid>().ok()?);
        corpus.logs().enumerate().find_map(|(number, log)| {
            let agent = log.agent()?;
            // A log without times has that of its file, which changes.
            let is_timed = log.span().is_some();
            let span = log.span().unwrap_or((i64::MIN, i64::MAX));
            if !(span.0..=span.1).contains(&time) {
                return None;
            }
            let events = LogEvents::of(corpus, number);
            let at_time = events.times().enumerate();
            let at_time = at_time.filter(|(_, at)| *at == time || !is_timed);
            let mut found = at_time.flat_map(|(at, _)| events.read(at..at + 1, Texts::All));
            let (event, line) = found.find_map(|event| {
                let own = event_id(agent, log.id(), &event);
                let is_it = |line: &usize| {
                    let id = line_id(&own, event.time, *line).parse::<Ulid>();
                    id.is_ok_and(|id| id.random() == wanted.random())
                };
                let line = (1..=event.text.lines().count().max(1)).find(is_it)?;
                Some((event, line))
            })?;
            Some(Self {
                id: id.to_owned(),
                log: log.cited_id(),
                ..Self::new(agent, log.id(), &event, line)
            })
        })
    }

    /// Returns the first words of its line without marks of Markdown, as a viewer shows them.
    pub fn opening(&self) -> String {
        const WORDS: usize = 3;
        let is_mark = |c: char| matches!(c, '`' | '*' | '#' | '>');
        let plain = self.excerpt.replace(is_mark, "");
        let is_number = |word: &&str| word.contains(char::is_alphabetic);
        let words = plain.split_whitespace().skip_while(|word| !is_number(word));
        words.take(WORDS).collect::<Vec<_>>().join(" ")
    }

    /// Returns what a text says from its line on.
    pub fn from_line<'t>(&self, text: &'t str) -> &'t str {
        from_line(text, self.text_line)
    }

    /// Returns its text, or, of one with more characters than these, what it says from its line on, with
    /// the heading or the numbered item that the line is part of if that is not far above.
    pub fn shown<'t>(&self, text: &'t str, longest: usize) -> &'t str {
        if text.char_indices().nth(longest).is_none() {
            return text;
        }
        let own = self.from_line(text);
        let before = &text[..text.len() - own.len()];
        let mut above = before.split_inclusive('\n').rev();
        let mut room = longest / 2;
        let mut start = before.len();
        if own.lines().next().is_some_and(begins_part) {
            return own;
        }
        loop {
            let Some(line) = above.next().filter(|line| line.len() <= room) else {
                return own;
            };
            start -= line.len();
            room -= line.len();
            if begins_part(line) {
                return &text[start..];
            }
        }
    }

    /// Returns the citation of its lines.
    pub fn citation(&self) -> String {
        cite(self.agent, &self.log, self.first_line, self.last_line)
    }

    /// Finds its event among those of its log, with so much of what was said before and behind it.
    pub fn expand(
        &self,
        events: &(impl EventList + ?Sized),
        before: usize,
        after: usize,
    ) -> Expanded {
        let lines = self.first_line..=self.last_line;
        let on_line = (0..events.count()).filter(|at| lines.contains(&events.line(*at)));
        let on_line: Vec<usize> = on_line.collect();
        let is_it = |at: &&usize| {
            events
                .read(**at..**at + 1, Texts::All)
                .any(|event| hash(&event) == self.hash)
        };
        let found = on_line.iter().find(is_it);
        let (at, state) = match (found, on_line.first()) {
            (Some(at), _) => (*at, GripState::Current),
            (None, Some(at)) => (*at, GripState::Changed),
            (None, None) => return Expanded::nothing(GripState::Changed),
        };
        // A store of events has those of several sessions in turn.
        let is_own = |event: &Event| self.session.is_none() || event.session == self.session;
        let read = |at: usize| events.read(at..at + 1, Texts::ButResults).next();
        let end = events.count().min((at + 1).saturating_add(FARTHEST));
        let start = at.saturating_sub(FARTHEST);
        let Some(own) = events.read(at..at + 1, Texts::All).next() else {
            return Expanded::nothing(state);
        };
        let earlier = (start..at).rev().filter_map(read).filter(is_own);
        let later = (at + 1..end).filter_map(read).filter(is_own);
        let mut excerpt = said_behind(own, later, after);
        let after = excerpt.split_off(1);
        Expanded {
            state,
            before: said_before(earlier, before),
            excerpt,
            after,
        }
    }
}

impl Expanded {
    /// Returns what is known of a grip whose event is not there.
    pub(super) fn nothing(state: GripState) -> Self {
        Self {
            state,
            before: Vec::new(),
            excerpt: Vec::new(),
            after: Vec::new(),
        }
    }
}

/// Returns the last that was said in events, which are given backwards, in order.
fn said_before(events: impl Iterator<Item = Event>, most: usize) -> Vec<Shown> {
    let mut found = Vec::new();
    let mut calls = 0;
    for event in events {
        if found.len() >= most {
            break;
        }
        if is_said(&event) {
            let shown = Shown::new(event);
            found.push(Shown { calls, ..shown });
            calls = 0;
        } else {
            calls += usize::from(event.kind == MessageKind::ToolCall);
        }
    }
    found.reverse();
    found
}

/// Returns an event and the first that was said in those behind it.
fn said_behind(own: Event, events: impl Iterator<Item = Event>, most: usize) -> Vec<Shown> {
    let mut last = Shown::new(own);
    let mut found = Vec::new();
    for event in events {
        if is_said(&event) {
            let ends_turn = event.kind == MessageKind::Text && event.role != Role::Assistant;
            last.is_answer = ends_turn && last.event.role == Role::Assistant;
            found.push(last);
            if found.len() > most {
                return found;
            }
            last = Shown::new(event);
        } else {
            last.calls += usize::from(event.kind == MessageKind::ToolCall);
        }
    }
    last.is_answer = last.event.role == Role::Assistant;
    found.push(last);
    found
}

/// Whether a line is a heading or begins a numbered item.
fn begins_part(line: &str) -> bool {
    let plain = line.trim_start_matches(['#', '*', ' ']);
    let is_marked = line.starts_with('#') || line.starts_with("**");
    let after = plain.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = after.len() < plain.len() && after.starts_with(['.', ')']);
    is_marked || is_numbered && !line.starts_with(' ')
}

/// Returns the citation of lines of a log.
pub fn cite(agent: Agent, log: &str, first: u64, last: u64) -> String {
    let line = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
    let citation = Citation {
        store: Some(agent.name().to_owned()),
        path: log.to_owned(),
        part: CitedPart::Lines(line(first)..=line(last)),
        mark: None,
    };
    citation.to_string()
}

/// Returns a text from a line on, which is numbered from 1.
pub fn from_line(text: &str, line: usize) -> &str {
    let mut ends = text.match_indices('\n');
    let end = line.checked_sub(2).and_then(|before| ends.nth(before));
    end.map_or(text, |(end, _)| &text[end + 1..])
}

/// Returns the beginning of a text from a line on.
fn excerpt(text: &str, line: usize) -> String {
    // Only the beginning is shown: secrets in the rest need not be looked for.
    let shown = clip(from_line(text, line), 8 * EXCERPT);
    let line = safe_line(shown);
    match line.char_indices().nth(EXCERPT) {
        Some(_) => {
            let short: String = line.chars().take(EXCERPT - 1).collect();
            short + "…"
        }
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::log::Role;

    #[test]
    fn a_grip_has_its_own_words_and_the_same_id_each_time() {
        let event = Event::test(7, Role::User, "First.\n- **Keep** the `lock`.\nThen more.");
        let grip = |line| Grip::new(Agent::Codex, "abc", &event, line);
        let second = grip(2);
        assert_eq!(second, grip(2));
        assert_eq!(second.excerpt, "- **Keep** the `lock`. Then more.");
        assert_eq!(second.opening(), "Keep the lock.");
        assert_eq!(
            second.from_line(&event.text),
            "- **Keep** the `lock`.\nThen more."
        );
        assert_eq!(second.citation(), "codex:abc#L7");
        assert!(second.id.starts_with("grip:420000:"), "{}", second.id);
        assert_ne!(second.id, grip(1).id, "each line has its own");
        assert_eq!(grip(9).from_line(&event.text), &*event.text);
        let event = Event::test(7, Role::User, &"é".repeat(500));
        let grip = Grip::new(Agent::Codex, "abc", &event, 1);
        assert_eq!(grip.excerpt.chars().count(), EXCERPT);
    }

    #[test]
    fn a_grip_of_one_event_expands_to_one_event_between_others() {
        let texts = ["a", "b", "c", "d", "e"];
        let events: Vec<Event> = texts
            .iter()
            .zip(1..)
            .map(|(text, line)| Event::test(line, Role::User, text))
            .collect();
        let grip = Grip::new(Agent::Codex, "abc", &events[1], 1);
        let found = grip.expand(&events[..], 3, 2);
        let lines = |shown: &[Shown]| shown.iter().map(|e| e.event.line).collect::<Vec<_>>();
        assert_eq!(found.state, GripState::Current);
        assert_eq!(lines(&found.before), [1]);
        assert_eq!(lines(&found.excerpt), [2]);
        assert_eq!(lines(&found.after), [3, 4]);
        let rewritten = [Event::test(2, Role::User, "other")];
        assert_eq!(grip.expand(&rewritten[..], 3, 3).state, GripState::Changed);
        assert!(grip.expand(&[][..], 3, 3).excerpt.is_empty());
        assert_eq!(
            grip.expand(&events[..], usize::MAX, usize::MAX).after.len(),
            3
        );
    }
    #[test]
    fn what_was_said_around_a_grip_is_shown_and_calls_are_counted() {
        let said = [
            Event::test(1, Role::User, "please fix it"),
            Event::call(2, "Bash", "ls"),
            Event::call(3, "Bash", "cat a"),
            Event::test(4, Role::Assistant, "found it"),
            Event::call(5, "Bash", "make"),
            Event::test(6, Role::Assistant, "done: all of it"),
            Event::test(7, Role::User, "thanks"),
        ];
        let rows = |shown: &[Shown]| -> Vec<(u64, usize, bool)> {
            let rows = shown.iter();
            rows.map(|one| (one.event.line, one.calls, one.is_answer))
                .collect()
        };
        let expand = |at: usize, around: usize| {
            let grip = Grip::new(Agent::Codex, "abc", &said[at], 1);
            let found = grip.expand(&said[..], around, around);
            (
                rows(&found.before),
                rows(&found.excerpt),
                rows(&found.after),
            )
        };
        let (before, own, after) = expand(3, 1);
        assert_eq!(before, [(1, 2, false)]);
        assert_eq!((own, after), (vec![(4, 1, false)], vec![(6, 0, true)]));
        let (before, own, after) = expand(2, 9);
        assert_eq!((before, own), (vec![(1, 1, false)], vec![(3, 0, false)]));
        assert_eq!(after, [(4, 1, false), (6, 0, true), (7, 0, false)]);
        assert_eq!(expand(5, 0).1, [(6, 0, true)]);
    }

    #[test]
    fn a_long_text_is_shown_from_the_heading_of_its_line_on() {
        let cases = [
            ("## Wrapping\n\ntwice\nFix: once.", 4, "## Wrapping"),
            (
                "**2. Wrapping** (a.go)\ntwice\nFix: once.",
                3,
                "**2. Wrapping**",
            ),
            ("1. one\n2. two\nFix: it.", 3, "2. two"),
            ("1. one\n2. two", 2, "2. two"),
            ("plain\nFix: it.", 2, "Fix: it."),
        ];
        for (text, line, shown) in cases {
            let event = Event::test(1, Role::Assistant, text);
            let grip = Grip::new(Agent::Codex, "abc", &event, line);
            assert_eq!(grip.shown(text, 1_000), text);
            let long = format!("{text}\n{}", "more ".repeat(200));
            let found = grip.shown(&long, 1_000);
            assert!(found.starts_with(shown), "{text:?}: {found}");
        }
        let far = format!("# Far\n{}\nFix: it.", "more ".repeat(200));
        let grip = Grip::new(Agent::Codex, "abc", &Event::test(1, Role::User, &far), 3);
        assert_eq!(grip.shown(&far, 900), "Fix: it.");
    }
}
