//! The history: every change to the stores, newest first, with its diff.

use std::collections::HashSet;

use ratatui::Frame;
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};

use super::browse::tree::Key;
use super::{Handled, Pane, PaneContext, Step, Toast};
use crate::core::change::{Change, ChangeVerb};
use crate::core::display::format_age;
use crate::core::history::{FileChange, Record};
use crate::tui::action::Action;
use crate::tui::cells::{escape_line, fit};
use crate::tui::chrome::{KeyFocus, bordered, count, title_span, two_ends};
use crate::tui::effect::{Effect, LibraryJob, Request};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::layout::inside;
use crate::tui::theme::Role;
use crate::tui::widget::diff::Diff;
use crate::tui::widget::list::{Cursor, Move};

/// The list of changes, and the diff of the selected one.
#[derive(Debug, Default)]
pub(crate) struct HistoryPane {
    records: Option<Vec<Record>>,
    /// The ids of undone changes.
    undone: HashSet<String>,
    cursor: Cursor,
    /// The id of the change whose diff is displayed, and the diff.
    shown: Option<(String, Diff)>,
}

impl HistoryPane {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn areas(cx: &PaneContext<'_>) -> (Rect, Rect) {
        let body = cx.areas.body;
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

    fn load_diff(&mut self) -> Vec<Step> {
        let id = self.record().map(|record| record.id.clone());
        id.map(|id| Step::Effect(Effect::Library(LibraryJob::Compare { id })))
            .into_iter()
            .collect()
    }

    fn moved(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        let height = usize::from(inside(Self::areas(cx).0).height);
        let before = self.cursor.selected;
        let count = self.records().len();
        self.cursor.step(to, height, count);
        if before == self.cursor.selected {
            return Vec::new();
        }
        self.load_diff()
    }

    fn scroll_by(&mut self, rows: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        let area = Self::text(cx);
        if let Some((_, diff)) = &mut self.shown {
            diff.scroll(rows, area.width, area.height);
        }
        Vec::new()
    }

    /// The area of the diff, inside the border and margins.
    fn text(cx: &PaneContext<'_>) -> Rect {
        let text = inside(Self::areas(cx).1);
        Rect {
            x: text.x + 1.min(text.width),
            width: text.width.saturating_sub(2),
            ..text
        }
    }

    fn open(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let file_change = self
            .record()
            .and_then(|record| record.files.iter().find(|file_change| !file_change.derived));
        let Some(file_change) = file_change else {
            return Vec::new();
        };
        let snapshot = cx.library.stores.iter().find(|snapshot| {
            snapshot.store.root().path() == file_change.root
                && snapshot.store.layout() == file_change.layout
                && snapshot.memory(&file_change.reference()).is_some()
        });
        match snapshot {
            Some(snapshot) => {
                let key = Key::Memory(snapshot.store.id().clone(), file_change.reference());
                vec![
                    Step::Close,
                    Step::Broadcast(Box::new(Event::Reveal {
                        key,
                        line: None,
                        then: None,
                    })),
                ]
            }
            None => vec![Step::Toast(Toast::done(format!(
                "{} is not there any more; restore brings it back",
                file_change.reference()
            )))],
        }
    }

    fn line(&self, at: usize, cx: &PaneContext<'_>, width: usize) -> Line<'static> {
        let theme = cx.theme;
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
            .filter(|file_change| !file_change.derived)
            .fold((0, 0), |(a, r), file_change| {
                (a + file_change.added, r + file_change.removed)
            });
        let undone = if self.undone.contains(&record.id) {
            "  undone"
        } else {
            ""
        };
        let left = vec![
            bar,
            Span::styled(fit(&format_age(record.time, cx.now), 5), muted),
            Span::styled(fit(&escape_line(&who), 16), muted),
            Span::styled(fit(record.verb.name(), 9), theme.style(Role::Strong)),
            Span::raw(escape_line(&what(record))),
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

/// Describes the files of a change briefly.
fn what(record: &Record) -> String {
    let asked: Vec<&FileChange> = record
        .files
        .iter()
        .filter(|file_change| !file_change.derived)
        .collect();
    match asked.as_slice() {
        [] => "index".to_owned(),
        [one] => one.reference(),
        [from, to] if record.verb == ChangeVerb::Rename => {
            format!("{} → {}", from.reference(), to.reference())
        }
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|file_change| file_change.reference())
                .collect();
            format!(
                "{}: {}",
                count(several.len(), "memory", "memories"),
                names.join(", ")
            )
        }
    }
}

impl Pane for HistoryPane {
    fn key_context(&self) -> KeyContext {
        KeyContext::History
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Handled {
        let page = isize::try_from(Self::areas(cx).1.height.saturating_sub(3)).unwrap_or(1);
        let id = self.record().map(|record| record.id.clone());
        let plan = |request: fn(String) -> Request| {
            let request = id.map(|id| Step::Plan(Box::new(request(id))));
            request.into_iter().collect()
        };
        Handled::Used(match action {
            Action::Up => self.moved(Move::Up, cx),
            Action::Down => self.moved(Move::Down, cx),
            Action::Top => self.moved(Move::First, cx),
            Action::Bottom => self.moved(Move::Last, cx),
            Action::PageUp => self.scroll_by(-page, cx),
            Action::PageDown => self.scroll_by(page, cx),
            Action::UndoThis => plan(Request::Undo),
            Action::Restore => plan(Request::Restore),
            Action::Open => self.open(cx),
            Action::Back => vec![Step::Close],
            _ => return Handled::Unused,
        })
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        let (list, diff) = Self::areas(cx);
        let at = Position::new(mouse.column, mouse.row);
        match mouse.kind {
            MouseEventKind::ScrollDown if diff.contains(at) => self.scroll_by(3, cx),
            MouseEventKind::ScrollUp if diff.contains(at) => self.scroll_by(-3, cx),
            MouseEventKind::ScrollDown => self.moved(Move::Down, cx),
            MouseEventKind::ScrollUp => self.moved(Move::Up, cx),
            MouseEventKind::Down(MouseButton::Left) if inside(list).contains(at) => {
                let rows = inside(list);
                let line = usize::from(at.y - rows.y);
                let (height, count) = (usize::from(rows.height), self.records().len());
                match self.cursor.row_at(line, height, count) {
                    Some(row) => {
                        self.cursor.selected = row;
                        self.load_diff()
                    }
                    None => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    fn on_event(&mut self, event: &Event, cx: &PaneContext<'_>) -> Vec<Step> {
        match event {
            Event::HistoryLoaded(records) => {
                let before: Vec<&str> = self.records().iter().map(|r| r.id.as_str()).collect();
                let after: Vec<&str> = records.iter().map(|r| r.id.as_str()).collect();
                let mut cursor = self.cursor;
                cursor.follow(&before, &after);
                cursor.fit(usize::from(inside(Self::areas(cx).0).height), records.len());
                self.cursor = cursor;
                self.undone = undone(records);
                self.records = Some(records.clone());
                self.load_diff()
            }
            Event::Compared { id, result } => match result {
                Ok(edits) => {
                    let change = Change {
                        verb: ChangeVerb::Edit,
                        message: String::new(),
                        edits: edits.clone(),
                        of: None,
                    };
                    self.shown = Some((id.clone(), Diff::new(&change)));
                    Vec::new()
                }
                Err(error) => vec![Step::Toast(Toast::trouble(error.to_string()))],
            },
            Event::Committed { result: Ok(_), .. } => {
                vec![Step::Effect(Effect::Library(LibraryJob::Records))]
            }
            _ => Vec::new(),
        }
    }

    fn title(&self, _cx: &PaneContext<'_>) -> Option<String> {
        Some(format!(
            "history · {}",
            count(self.records().len(), "change", "changes")
        ))
    }

    fn is_fullscreen(&self) -> bool {
        true
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let (list, diff) = Self::areas(cx);
        let block = bordered(theme, KeyFocus::Here).title(title_span(theme, "history"));
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
            let line = self.line(at, cx, usize::from(rows.width));
            frame.render_widget(line, Rect::new(rows.x, y, rows.width, 1));
        }
        let block = bordered(theme, KeyFocus::Elsewhere).title(title_span(theme, "what it did"));
        frame.render_widget(block, diff);
        let record = self.record().map(|record| record.id.as_str());
        if let Some((id, shown)) = &self.shown
            && record == Some(id)
        {
            frame.render_widget(shown.view(theme), Self::text(cx));
        }
    }
}

/// Returns the ids of undone changes; `records` are newest first.
fn undone(records: &[Record]) -> HashSet<String> {
    let mut undone = HashSet::new();
    for record in records.iter().rev() {
        match (record.verb, &record.of) {
            (ChangeVerb::Undo, Some(of)) => drop(undone.insert(of.clone())),
            (ChangeVerb::Redo, Some(of)) => drop(undone.remove(of)),
            _ => {}
        }
    }
    undone
}
