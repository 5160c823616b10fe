//! Moving in the tree: its folds and its filter, links to other memories and to logs, the mouse, and
//! the place of the cursor after the rows have changed: on what was acted on, or near it.

use std::sync::Arc;

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::tree::{Fold, Key, Node, Tree, TreeRow};
use super::{BrowsePane, actions};
use crate::core::change::history::{FileChange, Record};
use crate::core::memory::FileKind;
use crate::core::memory::library::{Library, LogSummary};
use crate::core::memory::store::StoreId;
use crate::tui::layout::{Focus, inside};
use crate::tui::model::PaneContext;
use crate::tui::pane::log::{LogPane, OpenAt, cited_log, copy_to_clipboard};
use crate::tui::pane::preview::link_destination;
use crate::tui::pane::why::WhyPane;
use crate::tui::pane::{Step, say, say_trouble};
use crate::tui::widget::list::Move;

/// How many neighbours are looked for on each side of a row that is gone.
const NEAR: usize = 50;

/// How deep rows can be folded into each other: sessions, agents, projects, logs, subagents.
const DEEPEST: usize = 6;

impl BrowsePane {
    /// Builds the rows again, with the cursor on the same entry at the same screen line.
    pub(super) fn rebuild(&mut self, library: &Arc<Library>, cx: &PaneContext<'_>) -> Vec<Step> {
        let key = self.selected();
        let before = std::mem::take(&mut self.tree);
        let old = std::mem::replace(&mut self.library, Arc::clone(library));
        self.options.ledger = Arc::clone(cx.ledger);
        self.tree = Tree::of(&self.library, &self.options);
        let line = self.cursor.selected.saturating_sub(self.cursor.top);
        if let Some(key) = key {
            let found = self.tree.find(&self.library, &key).or_else(|| {
                let mut neighbours = neighbours(&before.rows, self.cursor.selected);
                neighbours.find_map(|row| {
                    let key = before.key(&old, row);
                    self.tree.find(&self.library, &key)
                })
            });
            self.cursor.selected = found.unwrap_or(0);
            self.cursor.top = self.cursor.selected.saturating_sub(line);
        }
        self.cursor.fit(Self::height(cx), self.tree.rows.len());
        self.update_preview(cx)
    }

    /// Builds the rows again from the same library.
    pub(super) fn reshape(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let library = Arc::clone(&self.library);
        self.rebuild(&library, cx)
    }

    /// Moves the cursor to an entry, unfolding the rows above it. A filter that hides it goes. An
    /// index is shown by the row of its store.
    pub(super) fn go(&mut self, key: &Key, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        self.lost = None;
        let store_key = match key {
            Key::Memory(store, path)
                if store.layout().rules().kind(path) == FileKind::Index
                    && self.tree.find(&self.library, key).is_none() =>
            {
                Some(Key::Store(store.clone()))
            }
            _ => None,
        };
        let key = store_key.as_ref().unwrap_or(key);
        if self.tree.find(&self.library, key).is_none() {
            for above in actions::above(&self.library, key) {
                self.options.folds.insert(above, super::Fold::Open);
            }
            self.tree = Tree::of(&self.library, &self.options);
        }
        if self.tree.find(&self.library, key).is_none() && self.filter.is_set() {
            self.filter.clear();
            self.options.filter.clear();
            self.tree = Tree::of(&self.library, &self.options);
        }
        let Some(at) = self.tree.find(&self.library, key) else {
            // The rows may have changed below the cursor.
            self.cursor.fit(Self::height(cx), self.tree.rows.len());
            return None;
        };
        self.cursor
            .select(at, Self::height(cx), self.tree.rows.len());
        Some(self.update_preview(cx))
    }

    /// Moves the cursor to what a change wrote; the rows were read again before. If everything
    /// that the change was about is gone, the cursor is on the nearest neighbour already.
    pub(super) fn go_to_changed(&mut self, record: &Record, cx: &PaneContext<'_>) -> Vec<Step> {
        let written = |file: &&FileChange| !file.derived && file.after.is_some();
        let mut files = record.files.iter().filter(written);
        // A renamed or moved file is a new one; the others are those whose links follow.
        let is_new = |file: &&FileChange| file.before.is_none();
        let file = files.clone().find(is_new).or_else(|| files.next());
        let Some(file) = file else {
            return Vec::new();
        };
        let store = StoreId::new(&file.root, file.layout);
        let path = file.reference();
        match self.selected() {
            Some(Key::Entry(here, there, _)) if here == store && there == path => Vec::new(),
            _ => self.go(&Key::Memory(store, path), cx).unwrap_or_default(),
        }
    }

    /// Folds or unfolds the row under the cursor.
    pub(super) fn fold(&mut self, to: Fold, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(key) = self.selected() else {
            return Vec::new();
        };
        self.options.folds.insert(key, to);
        self.reshape(cx)
    }

    pub(super) fn fold_all(&mut self, to: Fold, cx: &PaneContext<'_>) -> Vec<Step> {
        let mut tree = self.tree.clone();
        // Unfolding reveals rows that may be folded themselves.
        for _ in 0..DEEPEST {
            let keys: Vec<Key> = tree
                .rows
                .iter()
                .filter(|row| row.fold.is_some_and(|fold| fold != to))
                .map(|row| tree.key(&self.library, row))
                .collect();
            if keys.is_empty() {
                break;
            }
            for key in keys {
                self.options.folds.insert(key, to);
            }
            if to == Fold::Closed {
                break;
            }
            tree = Tree::of(&self.library, &self.options);
        }
        self.reshape(cx)
    }

    pub(super) fn selected_log(&self) -> Option<&LogSummary> {
        let row = self.tree.rows.get(self.cursor.selected)?;
        match row.node {
            Node::Log(at, log) => self.library.logs.get(at)?.logs.get(log),
            _ => None,
        }
    }

    pub(super) fn open_log(&self) -> Vec<Step> {
        match self.selected_log() {
            Some(log) => LogPane::open(log, OpenAt::default()),
            None => Vec::new(),
        }
    }

    /// Shows which sessions wrote the lines of the memory under the cursor, or which memories the
    /// session under the cursor touched.
    pub(super) fn explain(&self) -> Vec<Step> {
        if let Some(log) = self.selected_log() {
            return LogPane::open_touched(log);
        }
        match self.selected_memory() {
            Some((store, path)) => WhyPane::open(store, path, self.preview.top_line()),
            None => say("Go to a memory or a session"),
        }
    }

    /// Selects the next or previous link and scrolls to it.
    pub(super) fn link(&mut self, step: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        let links = self.preview.page.links();
        if links == 0 {
            return say("No links here");
        }
        let height = usize::from(cx.areas.preview_text().height);
        let next = match (self.preview.link, step) {
            (Some(at), Move::Up) => (at + links - 1) % links,
            (Some(at), _) => (at + 1) % links,
            (None, Move::Up) => links - 1,
            (None, _) => 0,
        };
        self.preview.link = Some(next);
        let line = self.preview.page.link_line(next);
        if line < self.preview.scroll || line >= self.preview.scroll + height {
            self.preview
                .scroll_to(line.saturating_sub(height / 3), height);
        }
        Vec::new()
    }

    pub(super) fn follow(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(link) = self.preview.link else {
            return self.link(Move::Down, cx);
        };
        let target = self.preview.page.link_target(link).to_owned();
        if target.contains("://") {
            return copy_to_clipboard(target);
        }
        let Some(here) = self.selected() else {
            return Vec::new();
        };
        if let Some((log, start)) = cited_log(&self.library, &target) {
            return LogPane::open(log, start);
        }
        let Some(key) = link_destination(&self.library, &here, &target) else {
            return say_trouble(format!("No memory {target}"));
        };
        let steps = self.go(&key, cx);
        if steps.is_some() {
            self.trail.push(here);
        }
        steps.unwrap_or_default()
    }

    pub(super) fn on_mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        let at = Position::new(mouse.column, mouse.row);
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) if cx.areas.on_divider(at) => {
                self.dragging = true;
                Vec::new()
            }
            MouseEventKind::Drag(MouseButton::Left) if self.dragging => {
                self.divider = cx.areas.dragged(self.divider, at);
                Vec::new()
            }
            MouseEventKind::Up(MouseButton::Left) => {
                self.dragging = false;
                Vec::new()
            }
            MouseEventKind::Down(MouseButton::Left) => self.click(at, cx),
            MouseEventKind::ScrollDown => self.wheel(at, 3, cx),
            MouseEventKind::ScrollUp => self.wheel(at, -3, cx),
            _ => Vec::new(),
        }
    }

    fn click(&mut self, at: Position, cx: &PaneContext<'_>) -> Vec<Step> {
        let rows = inside(cx.areas.tree);
        if let Some(row) = self.cursor.row_at(at, rows, self.tree.rows.len()) {
            self.focus = Focus::Tree;
            self.filter.accept();
            let again = self.cursor.selected == row;
            self.cursor.selected = row;
            let depth = usize::from(self.tree.rows[row].depth);
            // A click on the fold mark toggles it; a second click on a row opens it.
            let on_mark = usize::from(at.x - rows.x) < 4 + 2 * depth;
            let fold = self.tree.rows[row].fold;
            return match fold {
                Some(fold) if on_mark || again => self.fold(fold.toggled(), cx),
                None if again && self.selected_log().is_some() => self.open_log(),
                None if again => self.enter_preview(),
                _ => self.update_preview(cx),
            };
        }
        let text = cx.areas.preview_text();
        if cx.areas.preview.contains(at) {
            self.focus = Focus::Preview;
            if text.contains(at) {
                let line = usize::from(at.y - text.y) + self.preview.scroll;
                if let Some(link) = self.preview.page.link_at(line, at.x - text.x) {
                    self.preview.link = Some(link);
                    return self.follow(cx);
                }
            }
        }
        Vec::new()
    }

    fn wheel(&mut self, at: Position, rows: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        if cx.areas.preview.contains(at) {
            self.preview.scroll_by(rows, cx);
            return Vec::new();
        }
        let before = self.cursor.selected;
        self.cursor
            .scroll(rows, Self::height(cx), self.tree.rows.len());
        if before == self.cursor.selected {
            return Vec::new();
        }
        self.update_preview(cx)
    }
}

/// The rows near one that is gone, nearest first: those beside it, those around it, any other.
fn neighbours(rows: &[TreeRow], at: usize) -> impl Iterator<Item = &TreeRow> {
    let depth = rows.get(at).map_or(0, |row| row.depth);
    let (above, below) = rows.split_at(at.min(rows.len()));
    let below = below.iter().skip(1);
    let is_within = move |row: &&TreeRow| row.depth >= depth;
    let is_beside = move |row: &&TreeRow| row.depth == depth;
    let after = below.clone().take_while(is_within).filter(is_beside);
    let before = above.iter().rev().take_while(is_within).filter(is_beside);
    let mut around = depth;
    let parents = above.iter().rev().filter(move |row| {
        let is_parent = row.depth < around;
        around = around.min(row.depth);
        is_parent
    });
    let any = below.chain(above.iter().rev());
    after
        .take(NEAR)
        .chain(before.take(NEAR))
        .chain(parents)
        .chain(any.take(NEAR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beside_a_row_is_nearer_than_what_is_around_it() {
        let depths = [0, 1, 2, 2, 2, 1, 2, 0];
        let rows: Vec<TreeRow> = depths
            .iter()
            .enumerate()
            .map(|(at, depth)| TreeRow {
                node: Node::Store(at),
                depth: *depth,
                fold: None,
                count: 0,
            })
            .collect();
        let near = |at: usize| -> Vec<usize> {
            let found = neighbours(&rows, at).map(|row| match row.node {
                Node::Store(at) => at,
                _ => usize::MAX,
            });
            found.take(4).collect()
        };
        assert_eq!(near(3), [4, 2, 1, 0]);
        assert_eq!(near(4), [3, 2, 1, 0], "the last of a group");
        assert_eq!(near(6), [5, 0, 7, 5], "the only one of a group");
        assert_eq!(near(0), [7, 1, 2, 3]);
    }
}
