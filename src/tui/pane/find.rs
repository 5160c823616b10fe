//! Find: one list over memories and logs, as one types, with the match beside it.
//!
//! The same pane is `tome pick`, where it is the only one and prints what was chosen.

mod typed;
mod view;

use std::collections::BTreeMap;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::browse::tree::Key;
use super::log::{LogPane, Start, copied, resume};
use super::preview::{Preview, Sheet, Wanted as Text};
use super::{Answer, Pane, Scene, Step, Toast};
use crate::core::citation::Part;
use crate::core::library::Listed;
use crate::core::search::Source;
use crate::core::search::fuzzy::Progress;
use crate::tui::Left;
use crate::tui::action::Action;
use crate::tui::effect::{Asker, Effect, SearchJob, Target, TerminalJob};
use crate::tui::event::Event;
use crate::tui::keymap::Place;
use crate::tui::layout::{Divider, Focus, Shown, Wanted, inside};
use crate::tui::widget::emphasis::Words;
use crate::tui::widget::input::InputOutcome;
use crate::tui::widget::list::{Cursor, Step as Move};
use crate::tui::worker::finder::{Findings, Row};
use typed::Typed;

/// What a choice is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Print {
    /// Its citation.
    Citation,
    /// Its text.
    Text,
    /// The file.
    Path,
    /// The command that continues the session.
    Resume,
}

/// The finder.
#[derive(Debug)]
pub(crate) struct Find {
    typed: Typed,
    generation: u64,
    /// What was found; `None` until there was an answer.
    found: Option<Findings>,
    cursor: Cursor,
    /// The rows that are marked, whatever was looked for when they were.
    marks: BTreeMap<String, Row>,
    /// The question that was answered last.
    answered: u64,
    /// What to do as soon as there is an answer to what was typed.
    waiting: Option<Action>,
    preview: Preview,
    /// How to print what is chosen, where that is all.
    picks: Option<Print>,
}

impl Find {
    /// Opens the finder over what is there.
    pub(crate) fn open(scene: &Scene<'_>) -> Vec<Step> {
        let mut find = Self::new(None, "");
        let ask = find.ask(scene);
        vec![Step::Push(Box::new(find)), ask]
    }

    /// A finder; with `picks` it is alone.
    pub(crate) fn new(picks: Option<Print>, query: &str) -> Self {
        Self {
            typed: Typed::new(query),
            generation: 0,
            found: None,
            cursor: Cursor::default(),
            marks: BTreeMap::new(),
            answered: 0,
            waiting: None,
            preview: Preview::new(Asker::Find),
            picks,
        }
    }

    /// Asks for what is typed.
    pub(crate) fn ask(&mut self, scene: &Scene<'_>) -> Step {
        // A pane that was closed may have asked before: the time tells the questions apart.
        let time = u64::try_from(scene.now).unwrap_or(0);
        self.generation = time.max(self.generation + 1);
        Step::Do(Effect::Search(SearchJob {
            generation: self.generation,
            text: self.typed.query(),
        }))
    }

    fn rows(&self) -> &[Row] {
        self.found.as_ref().map_or(&[], |found| &found.rows)
    }

    fn row(&self) -> Option<&Row> {
        self.rows().get(self.cursor.selected)
    }

    /// How many rows fit: each has two lines.
    fn height(scene: &Scene<'_>) -> usize {
        usize::from(inside(scene.areas.tree).height / 2).max(1)
    }

    fn moved(&mut self, to: Move, scene: &Scene<'_>) -> Vec<Step> {
        let before = self.cursor.selected;
        let count = self.rows().len();
        self.cursor.step(to, Self::height(scene), count);
        if before == self.cursor.selected {
            return Vec::new();
        }
        self.look(scene)
    }

    /// Lets the preview follow the cursor.
    fn look(&mut self, scene: &Scene<'_>) -> Vec<Step> {
        let words = self.typed.words();
        self.preview
            .mark(Words::new(words.iter().map(String::as_str)));
        let Some(row) = self.row() else {
            self.preview.show(Sheet::default(), scene);
            return Vec::new();
        };
        let hit = &row.hit;
        let effect = match hit.source {
            Source::Detail => {
                let wanted = row.store.clone().map(|store| Text {
                    target: Target::File {
                        store,
                        path: hit.path.clone(),
                    },
                    part: Part::Whole,
                    line: usize::try_from(hit.line).ok(),
                });
                wanted.map(|wanted| self.preview.want(wanted))
            }
            Source::Messages => match self.log(scene) {
                Some(log) => {
                    let start = self.start();
                    self.preview.want_log(log, start, scene)
                }
                None => {
                    self.preview.show(Sheet::default(), scene);
                    None
                }
            },
        };
        effect.map(Step::Do).into_iter().collect()
    }

    /// The log of the row under the cursor.
    fn log<'a>(&self, scene: &Scene<'a>) -> Option<&'a Listed> {
        let (path, id) = self.row()?.hit.log.as_ref()?;
        scene.library.log(path, id)
    }

    /// Where in its log the row under the cursor is.
    fn start(&self) -> Start {
        let words = self.typed.words();
        let hit = self.row().map(|row| &row.hit);
        // A conversation that was found as a whole has no one who speaks.
        let line = hit.filter(|hit| hit.role.is_some()).map(|hit| hit.line);
        Start {
            line,
            words: Words::new(words.iter().map(String::as_str)),
        }
    }

    fn key_of(row: &Row) -> Option<Key> {
        let store = row.store.clone()?;
        Some(Key::Memory(store, row.hit.path.clone()))
    }

    fn marked(&self) -> Vec<&Row> {
        self.marks.values().collect()
    }

    /// By what a mark knows its row again: a memory is the same at whatever line it was found.
    fn mark_of(row: &Row) -> String {
        match &row.store {
            Some(store) => format!("{}:{}", store.root().display(), row.hit.path),
            None => row.hit.citation.to_string(),
        }
    }

    fn chosen(&self, scene: &Scene<'_>) -> Vec<Step> {
        if let Some(print) = self.picks {
            return self.pick(print, scene);
        }
        let marked: Vec<Key> = self.marked().into_iter().filter_map(Self::key_of).collect();
        if let Some(first) = marked.first().cloned() {
            let told = match marked.len() {
                1 => "1 marked".to_owned(),
                number => format!("{number} marked"),
            };
            let shown = Event::Shown {
                key: first,
                line: None,
                then: None,
            };
            return vec![
                Step::Close,
                Step::Tell(Box::new(Event::Marked(marked))),
                Step::Tell(Box::new(shown)),
                Step::Say(Toast::done(told)),
            ];
        }
        let Some(row) = self.row() else {
            return Vec::new();
        };
        match Self::key_of(row) {
            Some(key) => {
                let line = usize::try_from(row.hit.line).ok();
                let shown = Event::Shown {
                    key,
                    line,
                    then: None,
                };
                vec![Step::Close, Step::Tell(Box::new(shown))]
            }
            None => match self.log(scene) {
                Some(log) => LogPane::open(log.file.clone(), log.title.clone(), self.start()),
                None => vec![Step::Say(Toast::trouble("This log is not there any more"))],
            },
        }
    }

    /// The chosen rows as lines to print.
    fn pick(&self, print: Print, scene: &Scene<'_>) -> Vec<Step> {
        let mut rows = self.marked();
        if rows.is_empty() {
            rows.extend(self.row());
        }
        if rows.is_empty() {
            return Vec::new();
        }
        let mut lines = Vec::new();
        for row in rows {
            match self.printed(row, print, scene) {
                Some(line) => lines.push(line),
                None => {
                    return vec![Step::Say(Toast::trouble(
                        "That is no session that could be continued",
                    ))];
                }
            }
        }
        vec![Step::Do(Effect::Terminal(TerminalJob::Leave(
            Left::Picked(lines),
        )))]
    }

    fn printed(&self, row: &Row, print: Print, scene: &Scene<'_>) -> Option<String> {
        let hit = &row.hit;
        let log = || {
            let (path, id) = hit.log.as_ref()?;
            scene.library.log(path, id)
        };
        Some(match print {
            Print::Citation => hit.citation.to_string(),
            Print::Text => hit.text.clone(),
            Print::Path => match &hit.log {
                Some((path, _)) => path.display().to_string(),
                None => {
                    let shelf = scene.library.shelf_by_id(row.store.as_ref()?)?;
                    let rules = shelf.store.rules();
                    let path = shelf.store.root().path().join(rules.place(&hit.path));
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
        copied(cited.join("\n"))
    }

    fn mark(&mut self, scene: &Scene<'_>) -> Vec<Step> {
        let Some(row) = self.row() else {
            return Vec::new();
        };
        let (mark, row) = (Self::mark_of(row), row.clone());
        if self.marks.remove(&mark).is_none() {
            self.marks.insert(mark, row);
        }
        self.moved(Move::Down, scene)
    }

    fn edit(&self) -> Vec<Step> {
        if self.picks.is_some() {
            return vec![Step::Say(Toast::done(
                "Enter picks it; nothing is edited here",
            ))];
        }
        let Some(key) = self.row().and_then(Self::key_of) else {
            return vec![Step::Say(Toast::done(
                "Memories can be edited, logs cannot",
            ))];
        };
        let line = self
            .row()
            .and_then(|row| usize::try_from(row.hit.line).ok());
        let shown = Event::Shown {
            key,
            line,
            then: Some(Action::Edit),
        };
        vec![Step::Close, Step::Tell(Box::new(shown))]
    }

    fn changed(&mut self, outcome: InputOutcome, scene: &Scene<'_>) -> Vec<Step> {
        if outcome != InputOutcome::Changed {
            return Vec::new();
        }
        self.typed.settle();
        self.cursor = Cursor::default();
        self.waiting = None;
        vec![self.ask(scene)]
    }

    /// Takes an answer; whoever has moved stays on the same row.
    fn take(&mut self, found: &Findings, scene: &Scene<'_>) -> Vec<Step> {
        let key = |row: &Row| row.hit.citation.to_string();
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
        self.cursor.fit(Self::height(scene), self.rows().len());
        if let Some(action) = self.waiting.take() {
            let mut steps = self.look(scene);
            if let Answer::Used(done) = self.act(action, scene) {
                steps.extend(done);
            }
            return steps;
        }
        if found.progress != Progress::Complete && selected == self.row().map(key) {
            return Vec::new();
        }
        self.look(scene)
    }
}

impl Pane for Find {
    fn place(&self) -> Place {
        Place::Find
    }

    fn act(&mut self, action: Action, scene: &Scene<'_>) -> Answer {
        let is_about_a_row = matches!(
            action,
            Action::Open | Action::Edit | Action::Mark | Action::Copy | Action::Resume
        );
        if is_about_a_row && self.answered != self.generation {
            // The rows are those of what was typed before.
            self.waiting = Some(action);
            return Answer::Used(Vec::new());
        }
        Answer::Used(match action {
            Action::Up => self.moved(Move::Up, scene),
            Action::Down => self.moved(Move::Down, scene),
            Action::PageUp => self.moved(Move::PageUp, scene),
            Action::PageDown => self.moved(Move::PageDown, scene),
            Action::ScrollUp => {
                self.preview.scroll_by(-3, scene);
                Vec::new()
            }
            Action::ScrollDown => {
                self.preview.scroll_by(3, scene);
                Vec::new()
            }
            Action::Open => self.chosen(scene),
            Action::Edit => self.edit(),
            Action::Mark => self.mark(scene),
            Action::Copy => self.copy(),
            Action::Resume => match self.log(scene) {
                Some(log) => resume(log.resume()),
                None => vec![Step::Say(Toast::done("That is no session"))],
            },
            Action::Back if self.picks.is_some() => {
                vec![Step::Do(Effect::Terminal(TerminalJob::Leave(
                    Left::Picked(Vec::new()),
                )))]
            }
            Action::Back => vec![Step::Close],
            _ => return Answer::Unused,
        })
    }

    fn key(&mut self, key: KeyEvent, scene: &Scene<'_>) -> Vec<Step> {
        if key.code == KeyCode::Right
            && let Some(completion) = self.typed.completion(scene.library)
        {
            self.typed.complete(&completion);
            return self.changed(InputOutcome::Changed, scene);
        }
        let outcome = self.typed.key(key);
        self.changed(outcome, scene)
    }

    fn paste(&mut self, text: &str, scene: &Scene<'_>) -> Vec<Step> {
        let outcome = self.typed.input.paste(text);
        self.changed(outcome, scene)
    }

    fn mouse(&mut self, mouse: MouseEvent, scene: &Scene<'_>) -> Vec<Step> {
        let at = Position::new(mouse.column, mouse.row);
        let over_preview = scene.areas.preview.contains(at);
        let rows = inside(scene.areas.tree);
        match mouse.kind {
            MouseEventKind::ScrollDown if over_preview => self.preview.scroll_by(3, scene),
            MouseEventKind::ScrollUp if over_preview => self.preview.scroll_by(-3, scene),
            MouseEventKind::ScrollDown => return self.moved(Move::Down, scene),
            MouseEventKind::ScrollUp => return self.moved(Move::Up, scene),
            MouseEventKind::Down(MouseButton::Left) if rows.contains(at) => {
                let line = usize::from(at.y - rows.y) / 2;
                let count = self.rows().len();
                if let Some(row) = self.cursor.row_at(line, Self::height(scene), count) {
                    let again = self.cursor.selected == row;
                    self.cursor.selected = row;
                    return if again {
                        self.chosen(scene)
                    } else {
                        self.look(scene)
                    };
                }
            }
            MouseEventKind::Down(MouseButton::Left) if scene.areas.title.contains(at) => {
                let pill = self.pill_at(at.x, scene);
                if let Some(pill) = pill {
                    self.typed.pills.remove(pill);
                    return vec![self.ask(scene)];
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn hear(&mut self, event: &Event, scene: &Scene<'_>) -> Vec<Step> {
        match event {
            Event::Found { generation, found } if *generation == self.generation => {
                self.take(found, scene)
            }
            Event::Findable => vec![self.ask(scene)],
            event => {
                self.preview.hear(event, scene);
                Vec::new()
            }
        }
    }

    fn resize(&mut self, scene: &Scene<'_>) {
        self.cursor.fit(Self::height(scene), self.rows().len());
        self.preview.resize(scene);
    }

    fn wanted(&self) -> Option<Wanted> {
        Some(Wanted {
            preview: Shown::Yes,
            focus: Focus::Tree,
            divider: Divider::default(),
        })
    }

    fn fills(&self) -> bool {
        true
    }

    fn view(&self, frame: &mut Frame<'_>, scene: &Scene<'_>) {
        self.draw(frame, scene);
    }
}
