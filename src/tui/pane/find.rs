//! The finder: one list of hits in memories and logs, updated while typing, with a preview.
//!
//! `tome pick` shows this pane alone and prints the chosen hits.

mod input;
mod view;

use std::collections::BTreeMap;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::browse::tree::Key;
use super::log::{LogPane, OpenAt, copy_to_clipboard, resume};
use super::preview::{Preview, PreviewContent, PreviewRequest as Text};
use super::{Handled, Pane, PaneContext, Step, Toast};
use crate::core::citation::CitedPart;
use crate::core::library::LogSummary;
use crate::core::search::HitSource;
use crate::core::search::fuzzy::SearchState;
use crate::tui::Exit;
use crate::tui::action::Action;
use crate::tui::effect::{Effect, Requester, SearchJob, Target, TerminalJob};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::layout::{Arrangement, Divider, Focus, Visibility, inside};
use crate::tui::widget::emphasis::MarkedWords;
use crate::tui::widget::input::InputOutcome;
use crate::tui::widget::list::{Cursor, Move};
use crate::tui::worker::search::{FindResults, HitRow};
use input::QueryInput;

/// What is printed of a chosen hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Print {
    /// The citation.
    Citation,
    /// The text.
    Text,
    /// The path of the file.
    Path,
    /// The command that continues the session.
    Resume,
}

#[derive(Debug)]
pub(crate) struct FindPane {
    query: QueryInput,
    generation: u64,
    /// The results; `None` until the first arrive.
    found: Option<FindResults>,
    cursor: Cursor,
    /// The marked rows, including those that the current query does not find.
    marks: BTreeMap<String, HitRow>,
    /// The generation of the last results.
    answered: u64,
    /// The action to run as soon as the results of the current query arrive.
    waiting: Option<Action>,
    preview: Preview,
    /// How to print the chosen hits; `None` if the finder is not used for picking.
    picks: Option<Print>,
}

impl FindPane {
    /// Opens the finder and starts its first search.
    pub(crate) fn open(cx: &PaneContext<'_>) -> Vec<Step> {
        let mut find = Self::new(None, "");
        let ask = find.ask(cx);
        vec![Step::Push(Box::new(find)), ask]
    }

    /// Creates a finder; with `picks`, a choice prints it and ends the program.
    pub(crate) fn new(picks: Option<Print>, query: &str) -> Self {
        Self {
            query: QueryInput::new(query),
            generation: 0,
            found: None,
            cursor: Cursor::default(),
            marks: BTreeMap::new(),
            answered: 0,
            waiting: None,
            preview: Preview::new(Requester::Find),
            picks,
        }
    }

    /// Requests a search for the current query.
    pub(crate) fn ask(&mut self, cx: &PaneContext<'_>) -> Step {
        // A closed finder may have used the same numbers: start from the time.
        let time = u64::try_from(cx.now).unwrap_or(0);
        self.generation = time.max(self.generation + 1);
        Step::Effect(Effect::Search(SearchJob {
            generation: self.generation,
            text: self.query.query(),
        }))
    }

    fn rows(&self) -> &[HitRow] {
        self.found.as_ref().map_or(&[], |found| &found.rows)
    }

    fn row(&self) -> Option<&HitRow> {
        self.rows().get(self.cursor.selected)
    }

    /// The number of rows that fit; each has two lines.
    fn height(cx: &PaneContext<'_>) -> usize {
        usize::from(inside(cx.areas.tree).height / 2).max(1)
    }

    fn moved(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        let before = self.cursor.selected;
        let count = self.rows().len();
        self.cursor.step(to, Self::height(cx), count);
        if before == self.cursor.selected {
            return Vec::new();
        }
        self.update_preview(cx)
    }

    /// Shows the row under the cursor in the preview.
    fn update_preview(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let words = self.query.words();
        self.preview
            .mark(MarkedWords::new(words.iter().map(String::as_str)));
        let Some(row) = self.row() else {
            self.preview.show(PreviewContent::default(), cx);
            return Vec::new();
        };
        let hit = &row.hit;
        let effect = match hit.source {
            HitSource::Detail => {
                let wanted = row.store.clone().map(|store| Text {
                    target: Target::File {
                        store,
                        path: hit.path.clone(),
                    },
                    part: CitedPart::Whole,
                    line: usize::try_from(hit.line).ok(),
                });
                wanted.map(|wanted| self.preview.request(wanted))
            }
            HitSource::Messages => match self.log(cx) {
                Some(log) => {
                    let start = self.start();
                    self.preview.request_log(log, start, cx)
                }
                None => {
                    self.preview.show(PreviewContent::default(), cx);
                    None
                }
            },
        };
        effect.map(Step::Effect).into_iter().collect()
    }

    /// The log of the row under the cursor.
    fn log<'a>(&self, cx: &PaneContext<'a>) -> Option<&'a LogSummary> {
        let (path, id) = self.row()?.hit.log.as_ref()?;
        cx.library.log(path, id)
    }

    /// Where to open the log of the row under the cursor.
    fn start(&self) -> OpenAt {
        let words = self.query.words();
        let hit = self.row().map(|row| &row.hit);
        // A hit without a role is a whole log, not a message.
        let line = hit.filter(|hit| hit.role.is_some()).map(|hit| hit.line);
        OpenAt {
            line,
            words: MarkedWords::new(words.iter().map(String::as_str)),
        }
    }

    fn key_of(row: &HitRow) -> Option<Key> {
        let store = row.store.clone()?;
        Some(Key::Memory(store, row.hit.path.clone()))
    }

    fn marked(&self) -> Vec<&HitRow> {
        self.marks.values().collect()
    }

    /// The key of a row's mark; the same for every line of a memory.
    fn mark_of(row: &HitRow) -> String {
        match &row.store {
            Some(store) => format!("{}:{}", store.root().display(), row.hit.path),
            None => row.hit.citation.to_string(),
        }
    }

    fn chosen(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        if let Some(print) = self.picks {
            return self.pick(print, cx);
        }
        let marked: Vec<Key> = self.marked().into_iter().filter_map(Self::key_of).collect();
        if let Some(first) = marked.first().cloned() {
            let message = match marked.len() {
                1 => "1 marked".to_owned(),
                number => format!("{number} marked"),
            };
            let shown = Event::Reveal {
                key: first,
                line: None,
                then: None,
            };
            return vec![
                Step::Close,
                Step::Broadcast(Box::new(Event::Marked(marked))),
                Step::Broadcast(Box::new(shown)),
                Step::Toast(Toast::done(message)),
            ];
        }
        let Some(row) = self.row() else {
            return Vec::new();
        };
        match Self::key_of(row) {
            Some(key) => {
                let line = usize::try_from(row.hit.line).ok();
                let shown = Event::Reveal {
                    key,
                    line,
                    then: None,
                };
                vec![Step::Close, Step::Broadcast(Box::new(shown))]
            }
            None => match self.log(cx) {
                Some(log) => LogPane::open(log.file.clone(), log.title.clone(), self.start()),
                None => vec![Step::Toast(Toast::trouble(
                    "This log is not there any more",
                ))],
            },
        }
    }

    /// Prints the chosen rows and ends the program.
    fn pick(&self, print: Print, cx: &PaneContext<'_>) -> Vec<Step> {
        let mut rows = self.marked();
        if rows.is_empty() {
            rows.extend(self.row());
        }
        if rows.is_empty() {
            return Vec::new();
        }
        let mut lines = Vec::new();
        for row in rows {
            match self.printed(row, print, cx) {
                Some(line) => lines.push(line),
                None => {
                    return vec![Step::Toast(Toast::trouble(
                        "That is no session that could be continued",
                    ))];
                }
            }
        }
        vec![Step::Effect(Effect::Terminal(TerminalJob::Leave(
            Exit::Picked(lines),
        )))]
    }

    fn printed(&self, row: &HitRow, print: Print, cx: &PaneContext<'_>) -> Option<String> {
        let hit = &row.hit;
        let log = || {
            let (path, id) = hit.log.as_ref()?;
            cx.library.log(path, id)
        };
        Some(match print {
            Print::Citation => hit.citation.to_string(),
            Print::Text => hit.text.clone(),
            Print::Path => match &hit.log {
                Some((path, _)) => path.display().to_string(),
                None => {
                    let snapshot = cx.library.store_by_id(row.store.as_ref()?)?;
                    let rules = snapshot.store.rules();
                    let path = snapshot.store.root().path().join(rules.file_of(&hit.path));
                    path.display().to_string()
                }
            },
            Print::Resume => log()?.resume()?.command_line(),
        })
    }

    fn copy(&self) -> Vec<Step> {
        let mut rows = self.marked();
        if rows.is_empty() {
            rows.extend(self.row());
        }
        let cited: Vec<String> = rows
            .iter()
            .map(|row| row.hit.citation.to_string())
            .collect();
        if cited.is_empty() {
            return Vec::new();
        }
        copy_to_clipboard(cited.join("\n"))
    }

    fn mark(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(row) = self.row() else {
            return Vec::new();
        };
        let (mark, row) = (Self::mark_of(row), row.clone());
        if self.marks.remove(&mark).is_none() {
            self.marks.insert(mark, row);
        }
        self.moved(Move::Down, cx)
    }

    fn edit(&self) -> Vec<Step> {
        if self.picks.is_some() {
            return vec![Step::Toast(Toast::done(
                "Enter picks it; nothing is edited here",
            ))];
        }
        let Some(key) = self.row().and_then(Self::key_of) else {
            return vec![Step::Toast(Toast::done(
                "Memories can be edited, logs cannot",
            ))];
        };
        let line = self
            .row()
            .and_then(|row| usize::try_from(row.hit.line).ok());
        let shown = Event::Reveal {
            key,
            line,
            then: Some(Action::Edit),
        };
        vec![Step::Close, Step::Broadcast(Box::new(shown))]
    }

    fn changed(&mut self, outcome: InputOutcome, cx: &PaneContext<'_>) -> Vec<Step> {
        if outcome != InputOutcome::Changed {
            return Vec::new();
        }
        self.query.extract_filters();
        self.cursor = Cursor::default();
        self.waiting = None;
        vec![self.ask(cx)]
    }

    /// Takes new results; a cursor that was moved stays on its row.
    fn take(&mut self, found: &FindResults, cx: &PaneContext<'_>) -> Vec<Step> {
        let key = |row: &HitRow| row.hit.citation.to_string();
        let before: Vec<String> = match self.cursor.selected {
            0 => Vec::new(),
            _ => self.rows().iter().map(key).collect(),
        };
        let selected = self.row().map(key);
        self.found = Some(found.clone());
        self.answered = self.generation;
        if !before.is_empty() {
            let after: Vec<String> = self.rows().iter().map(key).collect();
            self.cursor.follow(&before, &after);
        }
        self.cursor.fit(Self::height(cx), self.rows().len());
        if let Some(action) = self.waiting.take() {
            let mut steps = self.update_preview(cx);
            if let Handled::Used(done) = self.act(action, cx) {
                steps.extend(done);
            }
            return steps;
        }
        if found.progress != SearchState::Complete && selected == self.row().map(key) {
            return Vec::new();
        }
        self.update_preview(cx)
    }
}

impl Pane for FindPane {
    fn key_context(&self) -> KeyContext {
        KeyContext::Find
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Handled {
        let is_about_a_row = matches!(
            action,
            Action::Open | Action::Edit | Action::Mark | Action::Copy | Action::Resume
        );
        if is_about_a_row && self.answered != self.generation {
            // The rows still belong to the previous query.
            self.waiting = Some(action);
            return Handled::Used(Vec::new());
        }
        Handled::Used(match action {
            Action::Up => self.moved(Move::Up, cx),
            Action::Down => self.moved(Move::Down, cx),
            Action::PageUp => self.moved(Move::PageUp, cx),
            Action::PageDown => self.moved(Move::PageDown, cx),
            Action::ScrollUp => {
                self.preview.scroll_by(-3, cx);
                Vec::new()
            }
            Action::ScrollDown => {
                self.preview.scroll_by(3, cx);
                Vec::new()
            }
            Action::Open => self.chosen(cx),
            Action::Edit => self.edit(),
            Action::Mark => self.mark(cx),
            Action::Copy => self.copy(),
            Action::Resume => match self.log(cx) {
                Some(log) => resume(log.resume()),
                None => vec![Step::Toast(Toast::done("That is no session"))],
            },
            Action::Back if self.picks.is_some() => {
                vec![Step::Effect(Effect::Terminal(TerminalJob::Leave(
                    Exit::Picked(Vec::new()),
                )))]
            }
            Action::Back => vec![Step::Close],
            _ => return Handled::Unused,
        })
    }

    fn key(&mut self, key: KeyEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        if key.code == KeyCode::Right
            && let Some(completion) = self.query.completion(cx.library)
        {
            self.query.complete(&completion);
            return self.changed(InputOutcome::Changed, cx);
        }
        let outcome = self.query.key(key);
        self.changed(outcome, cx)
    }

    fn paste(&mut self, text: &str, cx: &PaneContext<'_>) -> Vec<Step> {
        let outcome = self.query.input.paste(text);
        self.changed(outcome, cx)
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        let at = Position::new(mouse.column, mouse.row);
        let over_preview = cx.areas.preview.contains(at);
        let rows = inside(cx.areas.tree);
        match mouse.kind {
            MouseEventKind::ScrollDown if over_preview => self.preview.scroll_by(3, cx),
            MouseEventKind::ScrollUp if over_preview => self.preview.scroll_by(-3, cx),
            MouseEventKind::ScrollDown => return self.moved(Move::Down, cx),
            MouseEventKind::ScrollUp => return self.moved(Move::Up, cx),
            MouseEventKind::Down(MouseButton::Left) if rows.contains(at) => {
                let line = usize::from(at.y - rows.y) / 2;
                let count = self.rows().len();
                if let Some(row) = self.cursor.row_at(line, Self::height(cx), count) {
                    let again = self.cursor.selected == row;
                    self.cursor.selected = row;
                    return if again {
                        self.chosen(cx)
                    } else {
                        self.update_preview(cx)
                    };
                }
            }
            MouseEventKind::Down(MouseButton::Left) if cx.areas.title.contains(at) => {
                let pill = self.pill_at(at.x, cx);
                if let Some(pill) = pill {
                    self.query.pills.remove(pill);
                    return vec![self.ask(cx)];
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn on_event(&mut self, event: &Event, cx: &PaneContext<'_>) -> Vec<Step> {
        match event {
            Event::Found { generation, found } if *generation == self.generation => {
                self.take(found, cx)
            }
            Event::SearchSourcesChanged => vec![self.ask(cx)],
            event => {
                self.preview.on_event(event, cx);
                Vec::new()
            }
        }
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        self.cursor.fit(Self::height(cx), self.rows().len());
        self.preview.resize(cx);
    }

    fn arrangement(&self) -> Option<Arrangement> {
        Some(Arrangement {
            preview: Visibility::Shown,
            focus: Focus::Tree,
            divider: Divider::default(),
        })
    }

    fn is_fullscreen(&self) -> bool {
        true
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        self.draw(frame, cx);
    }
}
