//! What is done with the rows of the finder: opening, editing, printing, copying.

use super::{FindPane, Print};
use crate::tui::Exit;
use crate::tui::action::Action;
use crate::tui::effect::{Effect, TerminalJob, TimelineJob};
use crate::tui::event::Event;
use crate::tui::model::{HitRow, PaneContext};
use crate::tui::pane::browse::tree::Key;
use crate::tui::pane::log::{LogPane, copy_to_clipboard};
use crate::tui::pane::{Step, Toast, perform, read_in_tree, reveal, say, say_trouble};
use crate::tui::widget::list::Move;

impl FindPane {
    pub(super) fn key_of(row: &HitRow) -> Option<Key> {
        let store = row.store.clone()?;
        Some(Key::Memory(store, row.hit.path.clone()))
    }

    pub(super) fn marked(&self) -> Vec<&HitRow> {
        self.marks.values().collect()
    }

    /// The marked rows, or else the one under the cursor.
    fn chosen(&self) -> Vec<&HitRow> {
        let marked = self.marked();
        if marked.is_empty() {
            return self.row().into_iter().collect();
        }
        marked
    }

    /// The key of a row's mark; the same for every line of a memory.
    pub(super) fn mark_of(row: &HitRow) -> String {
        match &row.store {
            Some(store) => format!("{}:{}", store.root().display(), row.hit.path),
            None => row.hit.citation.to_string(),
        }
    }

    /// Opens the row under the cursor, or goes to the marked memories in the tree; `tome pick` prints
    /// them instead.
    pub(super) fn choose(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        if let Some(print) = self.picks {
            return self.pick(print, cx);
        }
        let marked: Vec<Key> = self.marked().into_iter().filter_map(Self::key_of).collect();
        if let Some(first) = marked.first().cloned() {
            let message = format!("{} marked", marked.len());
            return vec![
                self.remember(),
                Step::Close,
                Step::Broadcast(Box::new(Event::Marked(marked))),
                reveal(first, None, None),
                Step::Toast(Toast::done(message)),
            ];
        }
        let Some(row) = self.row() else {
            return Vec::new();
        };
        if let Some(key) = Self::key_of(row) {
            return self.open_memory(key, row);
        }
        match self.log(cx) {
            Some(log) => {
                let opened = LogPane::open(log, self.start());
                std::iter::once(self.remember()).chain(opened).collect()
            }
            None => say_trouble("This log is not there any more"),
        }
    }

    /// Opens a memory in the tree, at the line of a row; leaving it comes back to the list.
    fn open_memory(&self, key: Key, row: &HitRow) -> Vec<Step> {
        let line = usize::try_from(row.hit.line).ok();
        let opened = read_in_tree(key, line, self.marked_words(row));
        std::iter::once(self.remember()).chain(opened).collect()
    }

    /// Proposes a memory for the marked messages, or the one under the cursor.
    pub(super) fn promote(&self) -> Vec<Step> {
        let rows = self.chosen();
        let messages = rows.iter().filter(|row| row.store.is_none());
        let lines: Vec<String> = messages.map(|row| row.hit.citation.to_string()).collect();
        if rows.is_empty() {
            Vec::new()
        } else if lines.is_empty() {
            say("That is a memory already")
        } else {
            perform(Effect::Timeline(TimelineJob::Propose(lines)))
        }
    }

    /// Prints the chosen rows and ends the program.
    fn pick(&self, print: Print, cx: &PaneContext<'_>) -> Vec<Step> {
        let rows = self.chosen();
        if rows.is_empty() {
            return Vec::new();
        }
        let mut lines = Vec::new();
        for row in rows {
            match self.printed(row, print, cx) {
                Some(line) => lines.push(line),
                None => {
                    return say_trouble("That is no session that could be continued");
                }
            }
        }
        perform(Effect::Terminal(TerminalJob::Leave(Exit::Picked(lines))))
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

    pub(super) fn copy(&self) -> Vec<Step> {
        let rows = self.chosen();
        let cited: Vec<String> = rows
            .iter()
            .map(|row| row.hit.citation.to_string())
            .collect();
        if cited.is_empty() {
            return Vec::new();
        }
        copy_to_clipboard(cited.join("\n"))
    }

    pub(super) fn mark(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(row) = self.row() else {
            return Vec::new();
        };
        let (mark, row) = (Self::mark_of(row), row.clone());
        if self.marks.remove(&mark).is_none() {
            self.marks.insert(mark, row);
        }
        self.moved(Move::Down, cx)
    }

    pub(super) fn edit(&self) -> Vec<Step> {
        if self.picks.is_some() {
            return say("Enter picks it; nothing is edited here");
        }
        let row = self.row();
        let Some((row, key)) = row.and_then(|row| Some((row, Self::key_of(row)?))) else {
            return say("Memories can be edited, logs cannot");
        };
        let scrolled = self.preview.scrolled_to(&key).map(|line| line + 1);
        let line = scrolled.or_else(|| usize::try_from(row.hit.line).ok());
        vec![self.remember(), reveal(key, line, Some(Action::Edit))]
    }
}

/// Whether an action is about the row under the cursor, or the marked ones.
pub(super) fn is_about_a_row(action: Action) -> bool {
    matches!(
        action,
        Action::Open
            | Action::Edit
            | Action::Mark
            | Action::Copy
            | Action::Promote
            | Action::Resume
    )
}
