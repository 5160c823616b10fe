//! The review: what agents and other programs wrote since the user accepted it, newest first,
//! with its differences. Each file, or each hunk of it, is accepted or reverted.

mod decide;
mod rows;
mod view;

use std::collections::HashMap;

use ratatui::Frame;
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::Position;

use self::rows::{Entry, Queue, Row, RowKey};
use super::list_text::{ListWithText, list_height};
use super::{Handled, Pane, Step, latest};
use crate::core::insight::review::{Item, ItemChange};
use crate::core::memory::library::Library;
use crate::core::memory::store::StoreId;
use crate::tui::action::Action;
use crate::tui::chrome::count;
use crate::tui::effect::{Effect, LibraryJob, Request, UndoDirection};
use crate::tui::event::{Attribution, Event};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::{Arrangement, Divider, Focus, Visibility};
use crate::tui::model::PaneContext;
use crate::tui::widget::list::{Cursor, Move};

/// The list of files, and the difference of the selected one.
#[derive(Debug)]
pub(crate) struct QueuePane {
    queue: Queue,
    /// Whether the queue was read.
    is_loaded: bool,
    cursor: Cursor,
    /// Whether whole files are decided about, or hunks.
    focus: Focus,
    /// The current hunk of the file under the cursor.
    hunk: usize,
    /// The first visible line of the difference.
    scroll: usize,
    /// The titles of the sessions, by their ids.
    titles: HashMap<String, String>,
    /// The authors of items that the logs name, by the ids of the items.
    attributions: HashMap<String, Attribution>,
}

impl QueuePane {
    /// Opens the review.
    pub(crate) fn open() -> Vec<Step> {
        let pane = Self {
            queue: Queue::default(),
            is_loaded: false,
            cursor: Cursor::default(),
            focus: Focus::Tree,
            hunk: 0,
            scroll: 0,
            titles: HashMap::new(),
            attributions: HashMap::new(),
        };
        vec![Step::Push(Box::new(pane)), load()]
    }

    fn row(&self) -> Option<Row> {
        self.queue.rows.get(self.cursor.selected).copied()
    }

    /// The file under the cursor.
    fn entry(&self) -> Option<&Entry> {
        match self.row()? {
            Row::Entry(at) => self.queue.entries.get(at),
            Row::Heading { .. } => None,
        }
    }

    /// The number of the hunk that is decided about; `None` if it is the whole file.
    fn chosen_hunk(&self) -> Option<usize> {
        let divisions = self.entry().map_or(0, Entry::divisions);
        (self.focus == Focus::Preview && self.hunk < divisions).then_some(self.hunk)
    }

    /// The ids of what is decided about.
    fn chosen_ids(&self, entry: &Entry) -> Vec<String> {
        let hunk = self.chosen_hunk().and_then(|at| entry.item.hunks.get(at));
        hunk.map_or_else(|| entry.ids(), |hunk| vec![hunk.id.clone()])
    }

    /// Lists what waits, with the cursor on the same file, or on the next one if that is gone.
    fn list(&mut self, waiting: &[(StoreId, Vec<Item>)], cx: &PaneContext<'_>) {
        let (before, is_first) = (self.queue.keys(), !self.is_loaded);
        self.queue = Queue::new(waiting);
        self.queue.attribute(&self.attributions);
        self.is_loaded = true;
        self.name_sessions(cx.library);
        if is_first {
            self.cursor = Cursor::default();
        }
        self.follow(&before, cx);
    }

    /// Names the sessions that the logs show.
    fn attribute(&mut self, found: &[Attribution], cx: &PaneContext<'_>) {
        let found = found.iter();
        self.attributions
            .extend(found.map(|one| (one.item.clone(), one.clone())));
        let before = self.queue.keys();
        self.queue.attribute(&self.attributions);
        self.name_sessions(cx.library);
        self.follow(&before, cx);
    }

    /// Places the cursor after the rows have changed.
    fn follow(&mut self, before: &[RowKey], cx: &PaneContext<'_>) {
        let was = before.get(self.cursor.selected).cloned();
        let after = self.queue.keys();
        self.cursor.follow(before, &after);
        self.leave_heading(Move::Down);
        self.cursor.fit(list_height(cx), self.queue.rows.len());
        if was.as_ref() != after.get(self.cursor.selected) || was.is_none() {
            self.hunk = 0;
            self.scroll = 0;
        }
        let divisions = self.entry().map_or(0, Entry::divisions);
        self.hunk = self.hunk.min(divisions.saturating_sub(1));
        self.show_hunk(cx);
    }

    /// Moves from a heading to a file: the one before it, or the first one below it.
    fn leave_heading(&mut self, way: Move) {
        if !matches!(self.row(), Some(Row::Heading { .. })) {
            return;
        }
        let is_up = matches!(way, Move::Up | Move::HalfUp | Move::PageUp);
        match self.cursor.selected {
            at if is_up && at > 0 => self.cursor.selected = at - 1,
            at => self.cursor.selected = at + 1,
        }
    }

    /// Goes to the next hunk, and from the last one to the next file.
    fn next_hunk(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let divisions = self.entry().map_or(0, Entry::divisions);
        match self.focus {
            Focus::Tree => {
                self.focus = Focus::Preview;
                self.hunk = 0;
            }
            Focus::Preview if self.hunk + 1 < divisions => self.hunk += 1,
            Focus::Preview => drop(self.moved(Move::Down, cx)),
        }
        self.show_hunk(cx);
        Vec::new()
    }

    /// Goes to the hunk before, from the first one to the whole file, and on to the file before.
    fn previous_hunk(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        match self.focus {
            Focus::Preview if self.hunk > 0 => self.hunk -= 1,
            Focus::Preview => self.focus = Focus::Tree,
            Focus::Tree => {
                let before = self.cursor.selected;
                self.moved(Move::Up, cx);
                if self.cursor.selected != before {
                    self.focus = Focus::Preview;
                    let divisions = self.entry().map_or(0, Entry::divisions);
                    self.hunk = divisions.saturating_sub(1);
                }
            }
        }
        self.show_hunk(cx);
        Vec::new()
    }

    /// Finds the titles of the sessions.
    fn name_sessions(&mut self, library: &Library) {
        self.titles.clear();
        for log in library.logs.iter().flat_map(|group| &group.logs) {
            let session = log.session.as_ref().unwrap_or(&log.file.id);
            if self.queue.sessions.contains(session) {
                let title = || log.title.clone();
                self.titles.entry(session.clone()).or_insert_with(title);
            }
        }
    }

    fn back(&mut self) -> Vec<Step> {
        if self.focus == Focus::Preview && self.entry().is_some() {
            self.focus = Focus::Tree;
            return Vec::new();
        }
        vec![Step::Close]
    }
}

/// Reads the queue.
fn load() -> Step {
    Step::Effect(Effect::Library(LibraryJob::Queue))
}

impl ListWithText for QueuePane {
    fn cursor(&self) -> Cursor {
        self.cursor
    }

    fn rows(&self) -> usize {
        self.queue.rows.len()
    }

    fn text_lines(&self, cx: &PaneContext<'_>) -> usize {
        let entry = self.entry();
        entry.map_or(0, |entry| self.detail(entry, cx).lines.len())
    }

    fn scroll(&mut self) -> &mut usize {
        &mut self.scroll
    }

    fn moved(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        let before = self.cursor.selected;
        let (height, count) = (list_height(cx), self.queue.rows.len());
        self.cursor.step(to, height, count);
        self.leave_heading(to);
        self.cursor.fit(height, count);
        if self.cursor.selected != before {
            self.hunk = 0;
            self.scroll = 0;
        }
        Vec::new()
    }

    fn row_clicked(&mut self, row: usize, _cx: &PaneContext<'_>) -> Vec<Step> {
        self.cursor.selected = row;
        self.leave_heading(Move::Down);
        (self.focus, self.hunk, self.scroll) = (Focus::Tree, 0, 0);
        Vec::new()
    }

    /// Goes to the hunk at the cell.
    fn text_clicked(&mut self, at: Position, cx: &PaneContext<'_>) -> Vec<Step> {
        if let Some(hunk) = self.hunk_at(at, cx) {
            self.focus = Focus::Preview;
            self.hunk = hunk;
        }
        Vec::new()
    }
}

impl Pane for QueuePane {
    fn key_context(&self) -> KeyContext {
        KeyContext::Queue
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Handled {
        if let Some(steps) = self.movement(action, cx) {
            return Handled::Used(steps);
        }
        Handled::Used(match action {
            Action::NextHunk => self.next_hunk(cx),
            Action::PreviousHunk => self.previous_hunk(cx),
            Action::Left => {
                self.focus = Focus::Tree;
                Vec::new()
            }
            Action::Accept => self.accept_chosen(cx),
            Action::AcceptSession => self.accept_session(cx),
            Action::Revert => self.revert(),
            Action::Note => self.note(),
            Action::Edit => self.edit(cx),
            Action::Delete => self.delete(cx),
            Action::Open => self.open_memory(cx),
            Action::Why => self.explain(cx),
            Action::Undo => latest(UndoDirection::Undo),
            Action::Redo => latest(UndoDirection::Redo),
            Action::Back => self.back(),
            _ => return Handled::Unused,
        })
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        self.list_mouse(mouse, cx)
    }

    fn on_event(&mut self, event: &Event, cx: &PaneContext<'_>) -> Vec<Step> {
        match event {
            Event::QueueLoaded(waiting) => {
                self.list(waiting, cx);
                Vec::new()
            }
            Event::Attributed(found) => {
                self.attribute(found, cx);
                Vec::new()
            }
            Event::Indexed(library) => {
                self.name_sessions(library);
                Vec::new()
            }
            Event::ReviewCounted(_) | Event::Reviewed { .. } | Event::Committed { .. } => {
                vec![load()]
            }
            // What was to be reverted is not what waits any more.
            Event::Planned {
                request,
                result: Err(_),
                ..
            } if matches!(**request, Request::Revert(_)) => vec![load()],
            _ => Vec::new(),
        }
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        self.cursor.fit(list_height(cx), self.queue.rows.len());
    }

    fn arrangement(&self) -> Option<Arrangement> {
        Some(Arrangement {
            preview: Visibility::Shown,
            focus: self.focus,
            divider: Divider::default(),
        })
    }

    fn title(&self, _cx: &PaneContext<'_>) -> Option<String> {
        Some("review".to_owned())
    }

    fn facts(&self) -> Option<String> {
        let mut facts = vec![count(self.queue.files, "file", "files")];
        if !self.queue.sessions.is_empty() {
            facts.push(count(self.queue.sessions.len(), "session", "sessions"));
        }
        Some(facts.join(" · "))
    }

    fn offers(&self, action: Action) -> bool {
        match action {
            Action::Accept
            | Action::AcceptSession
            | Action::Revert
            | Action::Note
            | Action::Why => self.entry().is_some(),
            Action::Edit | Action::Delete | Action::Open => self
                .entry()
                .is_some_and(|entry| entry.item.change != ItemChange::Deleted),
            Action::NextHunk => self.entry().is_some_and(|entry| entry.divisions() > 0),
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
