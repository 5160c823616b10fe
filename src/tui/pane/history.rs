//! History: every change of the stores here, newest first, with what it did.

use std::collections::HashSet;

use ratatui::Frame;
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};

use super::browse::tree::Key;
use super::{Answer, Pane, Scene, Step, Toast};
use crate::core::change::{Change, Verb};
use crate::core::history::{Record, Touch};
use crate::core::shown::age;
use crate::tui::action::Action;
use crate::tui::cells::{fit, visible};
use crate::tui::chrome::{Keys, bordered, count, titled, two_ends};
use crate::tui::effect::{Effect, LibraryJob, Request};
use crate::tui::event::Event;
use crate::tui::keymap::Place;
use crate::tui::layout::inside;
use crate::tui::theme::Role;
use crate::tui::widget::diff::Diff;
use crate::tui::widget::list::{Cursor, Step as Move};

/// The journal as a list, and the difference of the selected change.
#[derive(Debug, Default)]
pub(crate) struct HistoryPane {
    records: Option<Vec<Record>>,
    /// Changes that were taken back.
    undone: HashSet<String>,
    cursor: Cursor,
    /// The change whose difference is shown.
    shown: Option<(String, Diff)>,
}

impl HistoryPane {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn areas(scene: &Scene<'_>) -> (Rect, Rect) {
        let body = scene.areas.body;
        let [list, diff] =
            Layout::vertical([Constraint::Percentage(45), Constraint::Min(3)]).areas(body);
        (list, diff)
    }

    fn records(&self) -> &[Record] {
        self.records.as_deref().unwrap_or_default()
    }

    fn record(&self) -> Option<&Record> {
        self.records().get(self.cursor.selected)
    }

    fn look(&mut self) -> Vec<Step> {
        let id = self.record().map(|record| record.id.clone());
        id.map(|id| Step::Do(Effect::Library(LibraryJob::Compare { id })))
            .into_iter()
            .collect()
    }

    fn moved(&mut self, to: Move, scene: &Scene<'_>) -> Vec<Step> {
        let height = usize::from(inside(Self::areas(scene).0).height);
        let before = self.cursor.selected;
        let count = self.records().len();
        self.cursor.step(to, height, count);
        if before == self.cursor.selected {
            return Vec::new();
        }
        self.look()
    }

    fn scroll_by(&mut self, rows: isize, scene: &Scene<'_>) -> Vec<Step> {
        let area = Self::text(scene);
        if let Some((_, diff)) = &mut self.shown {
            diff.scroll(rows, area.width, area.height);
        }
        Vec::new()
    }

    /// Where the difference is drawn: inside its border, with air at the sides.
    fn text(scene: &Scene<'_>) -> Rect {
        let text = inside(Self::areas(scene).1);
        Rect {
            x: text.x + 1.min(text.width),
            width: text.width.saturating_sub(2),
            ..text
        }
    }

    fn open(&self, scene: &Scene<'_>) -> Vec<Step> {
        let touch = self
            .record()
            .and_then(|record| record.files.iter().find(|touch| !touch.derived));
        let Some(touch) = touch else {
            return Vec::new();
        };
        let shelf = scene.library.shelves.iter().find(|shelf| {
            shelf.store.root().path() == touch.root
                && shelf.store.layout() == touch.layout
                && shelf.memory(&touch.reference()).is_some()
        });
        match shelf {
            Some(shelf) => {
                let key = Key::Memory(shelf.store.id().clone(), touch.reference());
                vec![
                    Step::Close,
                    Step::Tell(Box::new(Event::Shown {
                        key,
                        line: None,
                        then: None,
                    })),
                ]
            }
            None => vec![Step::Say(Toast::done(format!(
                "{} is not there any more; restore brings it back",
                touch.reference()
            )))],
        }
    }

    fn line(&self, at: usize, scene: &Scene<'_>, width: usize) -> Line<'static> {
        let theme = scene.theme;
        let muted = theme.style(Role::Muted);
        let record = &self.records()[at];
        let here = at == self.cursor.selected;
        let bar = if here {
            Span::styled("▌ ", theme.style(Role::Accent))
        } else {
            Span::raw("  ")
        };
        let who = format!("{} · {}", record.author.who, record.author.door);
        let (added, removed) = record
            .files
            .iter()
            .filter(|touch| !touch.derived)
            .fold((0, 0), |(a, r), touch| (a + touch.added, r + touch.removed));
        let undone = if self.undone.contains(&record.id) {
            "  undone"
        } else {
            ""
        };
        let left = vec![
            bar,
            Span::styled(fit(&age(record.time, scene.now), 5), muted),
            Span::styled(fit(&visible(&who), 16), muted),
            Span::styled(fit(record.verb.name(), 9), theme.style(Role::Strong)),
            Span::raw(visible(&what(record))),
            Span::styled(undone, muted),
        ];
        let mut right = Vec::new();
        if added > 0 {
            right.push(Span::styled(format!(" +{added}"), theme.style(Role::Added)));
        }
        if removed > 0 {
            right.push(Span::styled(
                format!(" −{removed}"),
                theme.style(Role::Removed),
            ));
        }
        right.push(Span::raw(" "));
        let role = if here { Role::Selected } else { Role::Text };
        two_ends(left, right, width, theme.style(role))
    }
}

/// What a change was about, in a few words.
fn what(record: &Record) -> String {
    let asked: Vec<&Touch> = record.files.iter().filter(|touch| !touch.derived).collect();
    match asked.as_slice() {
        [] => "index".to_owned(),
        [one] => one.reference(),
        [from, to] if record.verb == Verb::Rename => {
            format!("{} → {}", from.reference(), to.reference())
        }
        several => {
            let names: Vec<String> = several.iter().map(|touch| touch.reference()).collect();
            format!(
                "{}: {}",
                count(several.len(), "memory", "memories"),
                names.join(", ")
            )
        }
    }
}

impl Pane for HistoryPane {
    fn place(&self) -> Place {
        Place::History
    }

    fn act(&mut self, action: Action, scene: &Scene<'_>) -> Answer {
        let page = isize::try_from(Self::areas(scene).1.height.saturating_sub(3)).unwrap_or(1);
        let id = self.record().map(|record| record.id.clone());
        let plan = |request: fn(String) -> Request| {
            let request = id.map(|id| Step::Plan(Box::new(request(id))));
            request.into_iter().collect()
        };
        Answer::Used(match action {
            Action::Up => self.moved(Move::Up, scene),
            Action::Down => self.moved(Move::Down, scene),
            Action::Top => self.moved(Move::First, scene),
            Action::Bottom => self.moved(Move::Last, scene),
            Action::PageUp => self.scroll_by(-page, scene),
            Action::PageDown => self.scroll_by(page, scene),
            Action::UndoThis => plan(Request::Undo),
            Action::Restore => plan(Request::Restore),
            Action::Open => self.open(scene),
            Action::Back => vec![Step::Close],
            _ => return Answer::Unused,
        })
    }

    fn mouse(&mut self, mouse: MouseEvent, scene: &Scene<'_>) -> Vec<Step> {
        let (list, diff) = Self::areas(scene);
        let at = Position::new(mouse.column, mouse.row);
        match mouse.kind {
            MouseEventKind::ScrollDown if diff.contains(at) => self.scroll_by(3, scene),
            MouseEventKind::ScrollUp if diff.contains(at) => self.scroll_by(-3, scene),
            MouseEventKind::ScrollDown => self.moved(Move::Down, scene),
            MouseEventKind::ScrollUp => self.moved(Move::Up, scene),
            MouseEventKind::Down(MouseButton::Left) if inside(list).contains(at) => {
                let rows = inside(list);
                let line = usize::from(at.y - rows.y);
                let (height, count) = (usize::from(rows.height), self.records().len());
                match self.cursor.row_at(line, height, count) {
                    Some(row) => {
                        self.cursor.selected = row;
                        self.look()
                    }
                    None => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    fn hear(&mut self, event: &Event, scene: &Scene<'_>) -> Vec<Step> {
        match event {
            Event::Recorded(records) => {
                let before: Vec<&str> = self.records().iter().map(|r| r.id.as_str()).collect();
                let after: Vec<&str> = records.iter().map(|r| r.id.as_str()).collect();
                let mut cursor = self.cursor;
                cursor.follow(&before, &after);
                cursor.fit(
                    usize::from(inside(Self::areas(scene).0).height),
                    records.len(),
                );
                self.cursor = cursor;
                self.undone = undone(records);
                self.records = Some(records.clone());
                self.look()
            }
            Event::Compared { id, result } => match result {
                Ok(edits) => {
                    let change = Change {
                        verb: Verb::Edit,
                        message: String::new(),
                        edits: edits.clone(),
                        of: None,
                    };
                    self.shown = Some((id.clone(), Diff::new(&change)));
                    Vec::new()
                }
                Err(error) => vec![Step::Say(Toast::trouble(error.to_string()))],
            },
            Event::Committed { result: Ok(_), .. } => {
                vec![Step::Do(Effect::Library(LibraryJob::Records))]
            }
            _ => Vec::new(),
        }
    }

    fn title(&self, _scene: &Scene<'_>) -> Option<String> {
        Some(format!(
            "history · {}",
            count(self.records().len(), "change", "changes")
        ))
    }

    fn fills(&self) -> bool {
        true
    }

    fn view(&self, frame: &mut Frame<'_>, scene: &Scene<'_>) {
        let theme = scene.theme;
        let (list, diff) = Self::areas(scene);
        let block = bordered(theme, Keys::Here).title(titled(theme, "history"));
        frame.render_widget(block, list);
        let rows = inside(list);
        if self.records().is_empty() {
            let text = match self.records {
                None => "reading…",
                Some(_) => {
                    "Nothing was changed here yet. What you change will be listed, and can be undone."
                }
            };
            let line = Line::from(Span::styled(text, theme.style(Role::Muted)));
            frame.render_widget(
                line,
                Rect {
                    height: 1.min(rows.height),
                    ..rows
                },
            );
        }
        let window = self
            .cursor
            .window(usize::from(rows.height), self.records().len());
        for (at, y) in window.zip(rows.top()..rows.bottom()) {
            let line = self.line(at, scene, usize::from(rows.width));
            frame.render_widget(line, Rect::new(rows.x, y, rows.width, 1));
        }
        let block = bordered(theme, Keys::Elsewhere).title(titled(theme, "what it did"));
        frame.render_widget(block, diff);
        let record = self.record().map(|record| record.id.as_str());
        if let Some((id, shown)) = &self.shown
            && record == Some(id)
        {
            frame.render_widget(shown.view(theme), Self::text(scene));
        }
    }
}

/// The changes that stand no more; `records` are newest first.
fn undone(records: &[Record]) -> HashSet<String> {
    let mut undone = HashSet::new();
    for record in records.iter().rev() {
        match (record.verb, &record.of) {
            (Verb::Undo, Some(of)) => drop(undone.insert(of.clone())),
            (Verb::Redo, Some(of)) => drop(undone.remove(of)),
            _ => {}
        }
    }
    undone
}
