//! The finder: one list of hits in memories and logs, updated while typing, with a preview.
//!
//! `tome pick` shows this pane alone and prints the chosen hits.

mod answer;
mod choose;
mod input;
mod view;

use std::collections::{BTreeMap, HashSet};

use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Position;

use super::log::{OpenAt, resume};
use super::preview::{Preview, PreviewContent, PreviewRequest as Text};
use super::{Pane, Step, Toast, perform, push, say};
use crate::core::memory::citation::CitedPart;
use crate::core::memory::library::LogSummary;
use crate::core::search::HitSource;
use crate::core::search::find::SearchState;
use crate::core::search::query::Query;
use crate::tui::Exit;
use crate::tui::action::Action;
use crate::tui::effect::{Effect, Requester, SearchJob, Target, TerminalJob};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::layout::{Arrangement, Focus, inside};
use crate::tui::model::{HitRow, PaneContext};
use crate::tui::widget::emphasis::MarkedWords;
use crate::tui::widget::input::InputOutcome;
use crate::tui::widget::list::{Cursor, Move};
use answer::Answer;
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

#[derive(Debug, Default)]
pub(crate) struct FindPane {
    query: QueryInput,
    generation: u64,
    /// What is listed; `None` until the first results arrive.
    answer: Option<Answer>,
    /// How far the search of the current query is, while it has found nothing to list yet.
    searching: Option<SearchState>,
    /// The listed rows: the index of a result and, below an unfolded one, of its other lines.
    list: Vec<(usize, Option<usize>)>,
    /// The memories and sessions whose other lines are listed.
    unfolded: HashSet<String>,
    /// How many queries back the input is, and what was typed before.
    recalled: Option<(usize, String)>,
    cursor: Cursor,
    /// The marked rows, including those that the current query does not find.
    marks: BTreeMap<String, HitRow>,
    /// Whether text is left out that programs put into conversations.
    hides_injected: bool,
    /// The action to run as soon as the results of the current query arrive.
    waiting: Option<Action>,
    preview: Preview,
    /// How to print the chosen hits; `None` if the finder is not used for picking.
    picks: Option<Print>,
}

impl FindPane {
    /// Opens the finder with the last query, which the next letter replaces.
    pub(crate) fn open(cx: &PaneContext<'_>) -> Vec<Step> {
        let last = cx.queries.last().map_or("", String::as_str);
        push(Self {
            query: QueryInput::selected(last),
            ..Self::new(None, "")
        })
    }

    /// Creates a finder; with `picks`, a choice prints it and ends the program.
    pub(crate) fn new(picks: Option<Print>, query: &str) -> Self {
        Self {
            query: QueryInput::new(query),
            preview: Preview::new(Requester::Find),
            picks,
            ..Self::default()
        }
    }

    /// Requests a search for the current query.
    pub(crate) fn ask(&mut self, cx: &PaneContext<'_>) -> Step {
        // A closed finder may have used the same numbers: start from the time.
        let time = u64::try_from(cx.now).unwrap_or(0);
        self.generation = time.max(self.generation + 1);
        self.searching = None;
        Step::Effect(Effect::Search(SearchJob {
            generation: self.generation,
            text: self.query.query(),
            says_only: self.hides_injected,
            rows: Self::height(cx),
        }))
    }

    /// The key of the memory or session of a row.
    fn place_of(row: &HitRow) -> String {
        match &row.hit.log {
            Some((path, id)) => format!("{} {id}", path.display()),
            None => Self::mark_of(row),
        }
    }

    /// Unfolds the other lines of the row under the cursor, or folds them.
    fn unfold(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some((at, _)) = self.list.get(self.cursor.selected).copied() else {
            return Vec::new();
        };
        let Some(place) = self.row().map(Self::place_of) else {
            return Vec::new();
        };
        if !self.unfolded.remove(&place) {
            self.unfolded.insert(place);
        }
        self.list_rows();
        // The row itself stays under the cursor.
        let selected = self.list.iter().position(|row| *row == (at, None));
        self.cursor
            .select(selected.unwrap_or(0), Self::height(cx), self.count());
        self.update_preview(cx)
    }

    /// Whether the row under the cursor has other lines, and whether they are listed.
    fn fold_state(&self) -> Option<bool> {
        let (row, is_other) = self.row_at(self.cursor.selected)?;
        let is_open = self.unfolded.contains(&Self::place_of(row));
        (is_other || !row.others.is_empty()).then_some(is_open)
    }

    /// Puts an earlier query into the input, or a later one; before the earliest and after the
    /// latest comes what was typed.
    fn recall(&mut self, step: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        let (back, typed) = match (self.recalled.take(), step) {
            (Some((back, typed)), Move::Up) => (Some(back + 1), typed),
            (Some((back, typed)), _) => (back.checked_sub(1), typed),
            (None, _) => (Some(0), self.query.query()),
        };
        let mut earlier = cx.queries.iter().rev().filter(|query| **query != typed);
        let found = back.and_then(|back| Some((back, earlier.nth(back)?.clone())));
        let text = match found {
            Some((back, query)) => {
                self.recalled = Some((back, typed));
                query
            }
            None => typed,
        };
        if text == self.query.query() {
            return Vec::new();
        }
        self.query = QueryInput::new(&text);
        self.cursor = Cursor::default();
        vec![self.ask(cx)]
    }

    /// The step that remembers the query, for Up in a later search.
    fn remember(&self) -> Step {
        let query = self.query.query().trim().to_owned();
        Step::Broadcast(Box::new(Event::Queried(query)))
    }

    /// The number of rows that fit; each has two lines.
    fn height(cx: &PaneContext<'_>) -> usize {
        usize::from(inside(cx.areas.tree).height / 2).max(1)
    }

    fn moved(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        // Who goes on in the rows has taken the query as it is.
        self.query.is_selected = false;
        let before = self.cursor.selected;
        let count = self.count();
        self.cursor.step(to, Self::height(cx), count);
        if before == self.cursor.selected {
            return Vec::new();
        }
        self.update_preview(cx)
    }

    /// Shows the row under the cursor in the preview.
    fn update_preview(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let words = self.row().map(|row| self.marked_words(row));
        self.preview.mark(words.unwrap_or_default());
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

    fn log<'a>(&self, cx: &PaneContext<'a>) -> Option<&'a LogSummary> {
        let (path, id) = self.row()?.hit.log.as_ref()?;
        cx.library.log(path, id)
    }

    /// What a row matches, to be marked in its text.
    fn marked_words(&self, row: &HitRow) -> MarkedWords {
        let terms = self.found().into_iter().flat_map(|found| &found.terms);
        let mut terms = terms.filter(|(closeness, _)| *closeness == row.closeness);
        let terms = terms.next().map_or(&[][..], |(_, terms)| terms);
        MarkedWords::of_terms(terms)
    }

    /// Where to open the log of the row under the cursor.
    fn start(&self) -> OpenAt {
        let Some(row) = self.row() else {
            return OpenAt::default();
        };
        OpenAt {
            // A hit without a role is a whole log, not a message.
            line: row.hit.role.map(|_| row.hit.line),
            within: row.hit.within,
            words: self.marked_words(row),
        }
    }

    fn changed(&mut self, outcome: InputOutcome, cx: &PaneContext<'_>) -> Vec<Step> {
        if outcome != InputOutcome::Changed {
            return Vec::new();
        }
        if !self.query.is_selected {
            self.query.extract_filters();
        }
        self.cursor = Cursor::default();
        self.waiting = None;
        self.recalled = None;
        self.unfolded.clear();
        vec![self.ask(cx)]
    }

    /// Searches without the filter for which nothing is found, if there is one.
    fn drop_filter(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let without = self.found().and_then(|found| found.without.first());
        let Some((filter, _)) = without.cloned() else {
            return Vec::new();
        };
        let query = Query::without_each_filter(&self.query.query());
        let rest = query.into_iter().find(|(one, _)| *one == filter);
        self.query = QueryInput::new(&rest.map(|(_, rest)| rest).unwrap_or_default());
        self.changed(InputOutcome::Changed, cx)
    }

    /// Completes the filter that is typed, or moves in the input, or at its end unfolds the row.
    fn right(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        if let Some(completion) = self.query.completion(cx.library) {
            self.query.complete(&completion);
            return self.changed(InputOutcome::Changed, cx);
        }
        let is_at_end = self.query.input.cursor() == self.query.input.text().len();
        match self.fold_state() {
            Some(false) if is_at_end => self.unfold(cx),
            _ => self.type_key(KeyCode::Right, cx),
        }
    }

    fn type_key(&mut self, code: KeyCode, cx: &PaneContext<'_>) -> Vec<Step> {
        let outcome = self.query.key(KeyEvent::from(code));
        self.changed(outcome, cx)
    }
}

impl Pane for FindPane {
    fn key_context(&self) -> KeyContext {
        KeyContext::Find
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        if choose::is_about_a_row(action) && !self.is_answered() {
            // The rows still belong to the previous query.
            self.waiting = Some(action);
            return Some(Vec::new());
        }
        Some(match action {
            Action::Up if self.cursor.selected == 0 || self.query.is_selected => {
                self.recall(Move::Up, cx)
            }
            Action::Up => self.moved(Move::Up, cx),
            Action::Down if self.cursor.selected == 0 && self.recalled.is_some() => {
                self.recall(Move::Down, cx)
            }
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
            Action::Right => self.right(cx),
            Action::Left if self.fold_state() == Some(true) => self.unfold(cx),
            Action::Left => self.type_key(KeyCode::Left, cx),
            Action::Open if self.row().is_none() => self.drop_filter(cx),
            Action::Open => self.choose(cx),
            Action::Edit => self.edit(),
            Action::Mark => self.mark(cx),
            Action::Copy => self.copy(),
            Action::Promote => self.promote(),
            Action::Injected => {
                self.hides_injected = !self.hides_injected;
                let word = if self.hides_injected {
                    "hidden"
                } else {
                    "shown"
                };
                let toast = Toast::done(format!("What programs put in is {word}"));
                vec![self.ask(cx), Step::Toast(toast)]
            }
            Action::Resume => match self.log(cx) {
                Some(log) => resume(log.resume()),
                None => say("That is no session"),
            },
            Action::Back if self.picks.is_some() => perform(Effect::Terminal(TerminalJob::Leave(
                Exit::Picked(Vec::new()),
            ))),
            Action::Back => vec![self.remember(), Step::Close],
            _ => return None,
        })
    }

    fn key(&mut self, key: KeyEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        let outcome = self.query.key(key);
        self.changed(outcome, cx)
    }

    fn paste(&mut self, text: &str, cx: &PaneContext<'_>) -> Vec<Step> {
        let outcome = self.query.paste(text);
        self.changed(outcome, cx)
    }

    fn wheel(&mut self, at: Position, lines: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        if cx.areas.preview.contains(at) {
            self.preview.scroll_by(lines, cx);
            return Vec::new();
        }
        self.moved(Move::by_wheel(lines), cx)
    }

    fn click(&mut self, at: Position, cx: &PaneContext<'_>) -> Vec<Step> {
        let rows = inside(cx.areas.tree);
        if rows.contains(at) {
            // Each row has two lines; a last one for which there is no room has none.
            let line = usize::from(at.y - rows.y) / 2;
            let row = self.cursor.top + line;
            if line < Self::height(cx) && row < self.count() {
                let again = self.cursor.selected == row;
                self.cursor.selected = row;
                return if again {
                    self.choose(cx)
                } else {
                    self.update_preview(cx)
                };
            }
        } else if cx.areas.title.contains(at)
            && let Some(pill) = self.pill_at(at.x, cx)
        {
            self.query.pills.remove(pill);
            return vec![self.ask(cx)];
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

    fn identity(&self) -> Option<String> {
        let is_kept = self.picks.is_none() && !self.query.query().trim().is_empty();
        is_kept.then(|| "find".to_owned())
    }

    fn rest(&mut self) {
        self.query = QueryInput::selected(&self.query.query());
        self.recalled = None;
        self.waiting = None;
        self.marks.clear();
    }

    fn resume(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        vec![self.ask(cx)]
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        self.cursor.fit(Self::height(cx), self.count());
        self.preview.resize(cx);
    }

    fn arrangement(&self) -> Option<Arrangement> {
        Some(Arrangement::of(Focus::Tree))
    }

    fn offers(&self, action: Action) -> bool {
        let row = self.row();
        match action {
            Action::Open => {
                let found = self.found();
                row.is_some() || found.is_some_and(|found| !found.without.is_empty())
            }
            Action::Mark | Action::Copy => row.is_some(),
            Action::Edit => self.picks.is_none() && row.is_some_and(|row| row.store.is_some()),
            Action::Resume => row.is_some_and(|row| row.hit.log.is_some()),
            _ => true,
        }
    }

    fn is_fullscreen(&self) -> bool {
        true
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        self.draw(frame, cx);
    }
}
