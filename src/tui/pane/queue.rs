//! The review: what agents and other programs wrote since the user accepted it, newest first,
//! with its differences. Each file, each hunk of it or each line is accepted or reverted.

mod decide;
mod rows;
mod view;

use std::collections::{HashMap, HashSet};

use ratatui::Frame;
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::Position;

use self::rows::{Entry, Queue, QueueRow};
use super::list_text::{ListWithText, Parts};
use super::{Pane, Step, perform, push, say_range, say_trouble};
use crate::core::change::history::FileChange;
use crate::core::insight::review::{Attributions, HunkPart, Item, ItemChange};
use crate::core::memory::library::Library;
use crate::core::memory::store::StoreId;
use crate::tui::action::Action;
use crate::tui::chrome::count;
use crate::tui::effect::{Effect, LibraryJob, Request, ReviewJob, WriteJob};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::layout::{Arrangement, Focus};
use crate::tui::model::PaneContext;
use crate::tui::widget::filter::RowFilter;
use crate::tui::widget::list::{List, Move};

/// The list of files, and the difference of the selected one.
#[derive(Debug, Default)]
pub(crate) struct QueuePane {
    /// What waits, as it was read.
    waiting: Vec<(StoreId, Vec<Item>)>,
    queue: Queue,
    /// Whether the queue was read.
    is_loaded: bool,
    /// The ids that were accepted here; a queue that was read before that may still have them.
    accepted: Vec<String>,
    list: List<QueueRow>,
    filter: RowFilter,
    /// Whether whole files are decided about, or parts of them.
    focus: Focus,
    /// Whether these parts are lines, and not hunks.
    is_by_line: bool,
    /// The current part of the file under the cursor.
    part: usize,
    /// The first visible line of the difference.
    scroll: usize,
    titles: HashMap<String, String>,
    /// The writers that the logs name.
    attributions: Attributions,
    /// The user's words before messages, by the citations of these.
    words: HashMap<String, String>,
    /// How many memories were there before tome.
    here_before: usize,
    /// What is proposed and left alone, in lines.
    left_alone: Vec<String>,
    /// Whether the last decision was that the person knows them.
    is_before_said: bool,
    /// The id of the conflict that the person was told of: it is accepted if that is asked for again.
    warned_of: String,
    /// The files of the last change, to which the cursor goes if they wait again.
    changed: Vec<(StoreId, String)>,
    /// The ids of what was decided last, to which it goes in its file if that waits again.
    decided: Vec<String>,
}

impl QueuePane {
    pub(crate) fn open() -> Vec<Step> {
        push(Self::default())
    }

    /// The file under the cursor.
    fn entry(&self) -> Option<&Entry> {
        match self.list.selected()? {
            QueueRow::Entry { at, .. } => self.queue.entries.get(*at),
            QueueRow::Heading { .. } => None,
        }
    }

    /// The parts of the file under the cursor, each with the number of its hunk.
    fn divisions(&self) -> Vec<(usize, HunkPart)> {
        let entry = self.entry();
        entry.map_or_else(Vec::new, |entry| entry.divisions(self.is_by_line))
    }

    /// The part that is decided about, with the number of its hunk; `None` if it is the whole file.
    fn chosen_part(&self) -> Option<(usize, HunkPart)> {
        let is_part = self.focus == Focus::Preview;
        let divisions = is_part.then(|| self.divisions())?;
        divisions.into_iter().nth(self.part)
    }

    /// The ids of what is decided about.
    fn chosen_ids(&self, entry: &Entry) -> Vec<String> {
        let part = self.chosen_part();
        part.map_or_else(|| entry.item.ids(), |(_, part)| vec![part.id])
    }

    fn take(&mut self, waiting: &[(StoreId, Vec<Item>)], cx: &PaneContext<'_>) {
        self.waiting = waiting.to_vec();
        let all = Queue::new(waiting, &self.attributions, &[]).entries;
        let ids: HashSet<String> = all.iter().flat_map(|entry| entry.item.ids()).collect();
        self.accepted.retain(|id| ids.contains(id));
        self.is_loaded = true;
        self.show(cx);
        self.go_to_changed(cx);
    }

    /// Goes to the first file of the last change that waits.
    fn go_to_changed(&mut self, cx: &PaneContext<'_>) {
        let changed = std::mem::take(&mut self.changed);
        let is_changed = |row: &QueueRow| match row {
            QueueRow::Entry { at, .. } => self.queue.entries.get(*at).is_some_and(|entry| {
                changed
                    .iter()
                    .any(|(store, path)| *store == entry.store && *path == entry.item.path)
            }),
            QueueRow::Heading { .. } => false,
        };
        let here = self.list.selected().is_some_and(is_changed);
        let found = self.list.rows().iter().position(is_changed);
        if let Some(at) = found.filter(|_| !here) {
            self.list.select(at, Move::Down);
            (self.part, self.scroll) = (0, 0);
            self.list.fit(Parts::of(cx).height());
        }
        let is_decided = |(_, part): &(usize, HunkPart)| self.decided.contains(&part.id);
        let part = self.divisions().iter().position(is_decided);
        if let Some(part) = part.filter(|_| found.is_some()) {
            self.part = part;
            self.show_part(cx);
        }
    }

    /// Names the sessions that the logs show.
    fn attribute(&mut self, found: &Attributions, cx: &PaneContext<'_>) {
        self.attributions.extend(found.clone());
        self.show(cx);
    }

    fn show(&mut self, cx: &PaneContext<'_>) {
        self.queue = Queue::new(&self.waiting, &self.attributions, &self.accepted);
        self.name_sessions(cx.library);
        self.lay_out(cx);
    }

    /// Makes the rows again, with the cursor on the same file, or on the next one if that is gone.
    fn lay_out(&mut self, cx: &PaneContext<'_>) {
        let is_shown = |entry: &Entry| {
            let session = self.session_name(entry).unwrap_or_default();
            let text = format!("{} {} {session}", entry.item.path, entry.item.who());
            self.filter.shows(&text)
        };
        let rows = self.queue.rows(is_shown);
        let ids: HashSet<&String> = self.queue.entries.iter().map(|one| &one.item.id).collect();
        self.list.marks.retain(|id| ids.contains(id));
        if self.list.replace(rows, Parts::of(cx).height()) {
            self.part = 0;
            self.scroll = 0;
        }
        self.part = self.part.min(self.divisions().len().saturating_sub(1));
        self.show_part(cx);
    }

    /// Goes to the next part, and from the last one to the next file.
    fn next_part(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        match self.focus {
            Focus::Tree => {
                self.focus = Focus::Preview;
                self.part = 0;
            }
            Focus::Preview if self.part + 1 < self.divisions().len() => self.part += 1,
            Focus::Preview => drop(self.moved(Move::Down, cx)),
        }
        self.show_part(cx);
        Vec::new()
    }

    /// Divides the file into lines, or into hunks again, and goes to the same place in it.
    fn divide(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let here = self.chosen_part().map_or(0, |(hunk, _)| hunk);
        self.is_by_line = !self.is_by_line;
        self.focus = Focus::Preview;
        let mut divisions = self.divisions().into_iter();
        self.part = divisions.position(|(hunk, _)| hunk == here).unwrap_or(0);
        self.show_part(cx);
        Vec::new()
    }

    /// Goes to the part before, from the first one to the whole file, and on to the file before.
    fn previous_part(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        match self.focus {
            Focus::Preview if self.part > 0 => self.part -= 1,
            Focus::Preview => self.focus = Focus::Tree,
            Focus::Tree => {
                let before = self.list.position();
                self.moved(Move::Up, cx);
                if self.list.position() != before {
                    self.focus = Focus::Preview;
                    self.part = self.divisions().len().saturating_sub(1);
                }
            }
        }
        self.show_part(cx);
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

fn load() -> Step {
    Step::Effect(Effect::Library(LibraryJob::Queue))
}

impl ListWithText for QueuePane {
    type Row = QueueRow;

    fn list(&mut self) -> &mut List<QueueRow> {
        &mut self.list
    }

    fn selected_other(&mut self, _cx: &PaneContext<'_>) -> Vec<Step> {
        (self.part, self.scroll) = (0, 0);
        Vec::new()
    }

    fn row_clicked(&mut self, row: usize, cx: &PaneContext<'_>) -> Vec<Step> {
        self.list.select(row, Move::Down);
        self.focus = Focus::Tree;
        self.selected_other(cx)
    }

    /// Goes to the part at the cell.
    fn text_clicked(&mut self, at: Position, cx: &PaneContext<'_>) -> Vec<Step> {
        if let Some(part) = self.part_at(at, cx) {
            self.focus = Focus::Preview;
            self.part = part;
        }
        Vec::new()
    }
}

impl Pane for QueuePane {
    fn key_context(&self) -> KeyContext {
        self.filter.key_context(KeyContext::Queue)
    }

    fn scroll_by(&mut self, lines: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        let entry = self.entry();
        let count = entry.map_or(0, |entry| self.detail(entry, cx).lines.len());
        Parts::of(cx).scroll(&mut self.scroll, lines, count);
        Vec::new()
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        if let Some(steps) = self.act_on_list(action, cx) {
            return Some(steps);
        }
        let leaves_hunks = action == Action::Back && self.focus == Focus::Preview;
        if !leaves_hunks
            && let Some(is_range) = self.list.act_on_marks(action, Parts::of(cx).height())
        {
            (self.part, self.scroll) = (0, 0);
            return Some(if is_range { say_range() } else { Vec::new() });
        }
        Some(match action {
            Action::NextHunk => self.next_part(cx),
            Action::PreviousHunk => self.previous_part(cx),
            Action::Sort => self.divide(cx),
            Action::Left => {
                self.focus = Focus::Tree;
                Vec::new()
            }
            Action::Accept => self.accept_chosen(cx),
            Action::AcceptSession => self.accept_session(cx),
            Action::Undo if std::mem::take(&mut self.is_before_said) => {
                perform(Effect::Write(WriteJob::Review(ReviewJob::TakeBackBefore)))
            }
            Action::Revert => self.revert(),
            Action::RevertSession => self.revert_session(),
            Action::Note => self.note(),
            Action::Edit => self.edit(cx),
            Action::Delete => self.delete(cx),
            Action::Open => self.open_memory(cx),
            Action::Why => self.explain(cx),
            Action::Back => self.back(),
            _ => return None,
        })
    }

    fn filter(&mut self) -> Option<&mut RowFilter> {
        Some(&mut self.filter)
    }

    fn filtered(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        self.lay_out(cx);
        Vec::new()
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        self.list_mouse(mouse, cx)
    }

    fn on_event(&mut self, event: &Event, cx: &PaneContext<'_>) -> Vec<Step> {
        match event {
            Event::QueueLoaded {
                waiting,
                here_before,
                left_alone,
            } => {
                self.here_before = *here_before;
                self.take(waiting, cx);
                // The first is told beside a list; where nothing waits, all are shown.
                let is_new =
                    std::mem::replace(&mut self.left_alone, left_alone.clone()) != *left_alone;
                match left_alone.first() {
                    Some(first) if is_new && !waiting.is_empty() => say_trouble(first),
                    _ => Vec::new(),
                }
            }
            Event::Attributed { found, words } => {
                self.words.extend(words.clone());
                self.attribute(found, cx);
                Vec::new()
            }
            Event::Indexed(library) => {
                self.name_sessions(library);
                Vec::new()
            }
            // An undo may have brought back what was accepted, and what failed still waits.
            Event::Committed { .. } | Event::Reviewed { result: Err(_), .. } => {
                if let Event::Committed {
                    result: Ok(Some(record)),
                    ..
                } = event
                {
                    let files = record.files.iter().filter(|file| !file.derived);
                    let place = |file: &FileChange| {
                        (StoreId::new(&file.root, file.layout), file.reference())
                    };
                    self.changed = files.map(place).collect();
                }
                self.is_before_said = false;
                self.accepted.clear();
                vec![load()]
            }
            Event::ReviewCounted(_) | Event::Reviewed { .. } => vec![load()],
            // What was to be reverted is not what waits any more.
            Event::Planned {
                request,
                result: Err(_),
                ..
            } if matches!(**request, Request::Revert(_)) => vec![load()],
            _ => Vec::new(),
        }
    }

    fn identity(&self) -> Option<String> {
        Some("review".to_owned())
    }

    fn resume(&mut self, _cx: &PaneContext<'_>) -> Vec<Step> {
        vec![load()]
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        self.list.fit(Parts::of(cx).height());
        self.scroll_by(0, cx);
    }

    fn arrangement(&self) -> Option<Arrangement> {
        Some(Arrangement::of(self.focus))
    }

    fn title(&self, _cx: &PaneContext<'_>) -> Option<String> {
        Some("review".to_owned())
    }

    fn facts(&self) -> Option<String> {
        let (items, files) = (self.queue.entries.len(), self.queue.files);
        let mut facts = vec![count(files, "file", "files")];
        if items != files {
            facts.insert(0, format!("{items} to review"));
        }
        if !self.queue.sessions.is_empty() {
            facts.push(count(self.queue.sessions.len(), "session", "sessions"));
        }
        if self.here_before > 0 {
            facts.push(format!("{} here before tome", self.here_before));
        }
        if !self.left_alone.is_empty() {
            facts.push(format!("{} left alone", self.left_alone.len()));
        }
        Some(facts.join(" · "))
    }

    fn offers(&self, action: Action) -> bool {
        match action {
            Action::AcceptSession => self.entry().is_some() || self.here_before > 0,
            Action::Accept
            | Action::Mark
            | Action::Revert
            | Action::RevertSession
            | Action::Note
            | Action::Why => self.entry().is_some(),
            Action::Edit | Action::Delete | Action::Open => self.entry().is_some_and(|entry| {
                let is_sent = action == Action::Edit && entry.item.sent.is_some();
                let is_there = entry.item.change != ItemChange::Added || !entry.item.is_offered();
                is_there && !is_sent && entry.item.change != ItemChange::Deleted
            }),
            Action::NextHunk | Action::Sort => !self.divisions().is_empty(),
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
