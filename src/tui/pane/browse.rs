//! The browse pane: the tree of stores and logs, and a preview of the row under the cursor.

mod actions;
#[cfg(test)]
pub(crate) mod fixture;
mod marks;
pub(crate) mod tree;
mod view;
mod walk;

use std::collections::HashMap;
use std::sync::Arc;

use ratatui::Frame;
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::Rect;

use super::log::OpenAt;
use super::preview::{self, Preview, PreviewContent, PreviewMode};
use super::{Pane, Step, Toast, perform, say, say_trouble};
use crate::core::change::history::FileChange;
use crate::core::memory::citation::CitedPart;
use crate::core::memory::layout::index;
use crate::core::memory::library::Library;
use crate::core::memory::store::StoreId;
use crate::core::memory::unsaved::Unsaved;
use crate::tui::action::Action;
use crate::tui::effect::{Request, Target};
use crate::tui::event::{Event, LeftText, ReviewCounts};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::{Arrangement, Divider, Focus, Visibility};
use crate::tui::model::PaneContext;
use crate::tui::widget::emphasis::MarkedWords;
use crate::tui::widget::filter::RowFilter;
use crate::tui::widget::list::{Cursor, Move};
use crate::tui::widget::marks::Marks;
pub(crate) use actions::editable_text;
use tree::{Fold, Key, Node, Order, Tree, TreeOptions, TreeRow};

/// The tree and the preview.
#[derive(Debug, Default)]
pub(crate) struct BrowsePane {
    library: Arc<Library>,
    tree: Tree,
    options: TreeOptions,
    cursor: Cursor,
    marks: Marks<Key>,
    filter: RowFilter,
    focus: Focus,
    preview_visibility: Visibility,
    preview: Preview,
    divider: Divider,
    dragging: bool,
    /// The action to run once the text under the cursor is read.
    waiting: Option<Action>,
    /// Unsaved texts of editors that were closed.
    unsaved_texts: Vec<LeftText>,
    /// The lines at which files were left in the editor.
    edited_lines: HashMap<Target, usize>,
    /// The rows from which links were followed, for going back.
    trail: Vec<Key>,
    /// The line to scroll to in the next text.
    line: Option<usize>,
    /// Whether the finder opened what the preview shows, so that leaving it goes back there.
    is_found: bool,
    /// Whether the last change was a deletion and the cursor was not moved since: it is beside what
    /// is gone.
    is_beside_deleted: bool,
    /// What the cursor was on, if that went by itself and nothing was done since: it may come back.
    lost: Option<Key>,
    /// How many files of each store wait for review.
    to_review: ReviewCounts,
    /// The stores that are shared with other machines, and how many files of each are held back.
    shared: HashMap<StoreId, usize>,
    /// Whether the library has been read.
    loaded: bool,
}

impl BrowsePane {
    fn height(cx: &PaneContext<'_>) -> usize {
        usize::from(cx.areas.tree_rows().height).max(1)
    }

    /// Shows the row under the cursor in the preview.
    fn update_preview(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(row) = self.tree.rows.get(self.cursor.selected) else {
            self.preview.show(PreviewContent::default(), cx);
            return Vec::new();
        };
        let part = |key: &Key| match key {
            Key::Entry(_, _, slug) => CitedPart::Entry(slug.clone()),
            _ => CitedPart::Whole,
        };
        let key = self.tree.key(&self.library, row);
        if let Node::Log(at, log) = row.node {
            let log = &self.library.logs[at].logs[log];
            let effect = self.preview.request_log(log, OpenAt::default(), cx);
            return effect.map(Step::Effect).into_iter().collect();
        }
        let target = match (&key, row.node) {
            (Key::Memory(store, path) | Key::Entry(store, path, _), _) => Target::File {
                store: store.clone(),
                path: path.clone(),
            },
            // A line that was found is one of the file, not of what is sent of it.
            (Key::Store(store), _) if self.line.is_some() || self.shows_found_index(store) => {
                Target::File {
                    store: store.clone(),
                    path: index::INDEX.to_owned(),
                }
            }
            (Key::Store(store), _) => Target::Context {
                store: store.clone(),
            },
            (_, node) => {
                let content = self.contents(node);
                self.preview.show(content, cx);
                return Vec::new();
            }
        };
        let wanted = preview::PreviewRequest {
            target,
            part: part(&key),
            line: self.line.take(),
        };
        let effect = self.preview.request(wanted);
        perform(effect)
    }

    /// Whether the preview shows the index of a store at a line that was found.
    fn shows_found_index(&self, store: &StoreId) -> bool {
        let key = Key::Memory(store.clone(), index::INDEX.to_owned());
        self.is_found && self.preview.line_of(&key).is_some()
    }

    fn moved(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        self.waiting = None;
        self.is_beside_deleted = false;
        let before = self.cursor.selected;
        self.cursor.step(to, Self::height(cx), self.tree.rows.len());
        if self.cursor.selected == before {
            return Vec::new();
        }
        self.arrived(cx)
    }

    fn moved_to(&mut self, row: usize, cx: &PaneContext<'_>) -> Vec<Step> {
        self.waiting = None;
        self.is_beside_deleted = false;
        let count = self.tree.rows.len();
        self.cursor.select(row, Self::height(cx), count);
        self.arrived(cx)
    }

    /// Shows the row to which the cursor was moved.
    fn arrived(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        self.is_found = false;
        self.preview.mark(MarkedWords::default());
        self.update_preview(cx)
    }

    /// The parent of the row under the cursor.
    fn parent(&self) -> Option<usize> {
        let depth = self.tree.rows.get(self.cursor.selected)?.depth;
        self.tree.rows[..self.cursor.selected]
            .iter()
            .rposition(|row| row.depth < depth)
    }

    fn act_in_tree(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        let fold = self
            .tree
            .rows
            .get(self.cursor.selected)
            .and_then(|row| row.fold);
        if let Some(to) = Move::of(action) {
            return Some(self.moved(to, cx));
        }
        Some(match action {
            Action::Right => match fold {
                Some(Fold::Closed) => self.fold(Fold::Open, cx),
                Some(Fold::Open) => self.moved(Move::Down, cx),
                None => self.enter_preview(),
            },
            Action::Left => match (fold, self.parent()) {
                (Some(Fold::Open), _) => self.fold(Fold::Closed, cx),
                (_, Some(parent)) => {
                    let count = self.tree.rows.len();
                    self.cursor.select(parent, Self::height(cx), count);
                    self.update_preview(cx)
                }
                _ => Vec::new(),
            },
            Action::Open if self.selected_log().is_some() => self.open_log(),
            Action::Open => match fold {
                Some(fold) => self.fold(fold.toggled(), cx),
                None => self.enter_preview(),
            },
            Action::FoldAll => self.fold_all(Fold::Closed, cx),
            Action::UnfoldAll => self.fold_all(Fold::Open, cx),
            Action::Filter => {
                self.end_range();
                self.filter.act(action);
                self.filtered(cx)
            }
            Action::Sort if self.options.order.is_some() => {
                let key = cx.keymap.key(KeyContext::Tree, Action::OneList);
                let key = key.unwrap_or_default();
                vec![Step::Toast(Toast::done(format!(
                    "{key} orders the one list"
                )))]
            }
            Action::Sort => {
                self.end_range();
                self.options.sort = self.options.sort.next();
                let mut steps = self.reshape(cx);
                let message = format!("Sorted by {}", self.options.sort.name());
                steps.push(Step::Toast(Toast::done(message)));
                steps
            }
            Action::OneList => {
                // A range is one of rows that stand together.
                self.end_range();
                self.options.order = Order::next(self.options.order);
                let mut steps = self.reshape(cx);
                steps.push(Step::Toast(Toast::done(match self.options.order {
                    Some(order) => format!("All stores, {}", order.name()),
                    None => "By store".to_owned(),
                })));
                steps
            }
            Action::Mark => self.mark(cx),
            Action::MarkRange => self.mark_range(),
            Action::MarkDown => self.extend_range(Move::Down, cx),
            Action::MarkUp => self.extend_range(Move::Up, cx),
            Action::MarkInvert => self.invert_marks(),
            Action::MarkNone => {
                self.marks.clear();
                Vec::new()
            }
            _ => return None,
        })
    }

    fn enter_preview(&mut self) -> Vec<Step> {
        self.focus = Focus::Preview;
        Vec::new()
    }

    fn act_in_preview(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        if self.preview.act(action, cx) {
            return Some(Vec::new());
        }
        Some(match action {
            Action::NextLink => self.link(Move::Down, cx),
            Action::PreviousLink => self.link(Move::Up, cx),
            Action::Open if self.selected_log().is_some() => self.open_log(),
            Action::Open => self.follow(cx),
            _ => return None,
        })
    }

    fn back(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        if self.focus == Focus::Preview {
            self.focus = Focus::Tree;
            if std::mem::take(&mut self.is_found) {
                return vec![Step::Return];
            }
        } else if self.marks.range().is_some() {
            self.marks.drop_range();
        } else if self.filter.is_set() {
            // What was found stays under the cursor, where it was folded away before, too.
            let found = self.selected();
            self.filter.clear();
            let steps = self.filtered(cx);
            return found
                .filter(|found| self.selected().as_ref() != Some(found))
                .and_then(|found| self.go(&found, cx))
                .unwrap_or(steps);
        } else if !self.marks.keys().is_empty() {
            self.marks.clear();
        } else if self.options.order.take().is_some() {
            let mut steps = self.reshape(cx);
            steps.extend(say("By store"));
            return steps;
        }
        Vec::new()
    }

    fn toggle_mode(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        self.preview.mode = match self.preview.mode {
            PreviewMode::Rendered => PreviewMode::Source,
            PreviewMode::Source => PreviewMode::Rendered,
        };
        self.preview.scroll = 0;
        self.preview.lay_out(cx);
        Vec::new()
    }

    fn toggle_preview(&mut self) -> Vec<Step> {
        self.preview_visibility = match self.preview_visibility {
            Visibility::Shown => Visibility::Hidden,
            Visibility::Hidden => Visibility::Shown,
        };
        if self.preview_visibility == Visibility::Hidden {
            self.focus = Focus::Tree;
        }
        Vec::new()
    }
}

impl Pane for BrowsePane {
    fn key_context(&self) -> KeyContext {
        self.filter.key_context(match self.focus {
            Focus::Tree => KeyContext::Tree,
            Focus::Preview => KeyContext::Preview,
        })
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        self.lost = None;
        if self.filter.is_typing() {
            let used = self.act_on_filter(action, cx);
            return used.or_else(|| Some(self.moved(Move::of(action)?, cx)));
        }
        let used = match self.focus {
            Focus::Tree => self.act_in_tree(action, cx),
            Focus::Preview => self.act_in_preview(action, cx),
        };
        used.or_else(|| self.act_on_selection(action, cx))
    }

    fn filter(&mut self) -> Option<&mut RowFilter> {
        Some(&mut self.filter)
    }

    /// While the filter is typed, the cursor is on one that it found.
    fn filtered(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        self.options.filter = self.filter.words();
        let steps = self.reshape(cx);
        let is_memory = |row: &TreeRow| matches!(row.node, Node::Memory(..) | Node::Log(..));
        let here = self.tree.rows.get(self.cursor.selected);
        let first = self.tree.rows.iter().position(is_memory);
        let is_found = !self.filter.is_typing() || here.is_some_and(is_memory);
        match first.filter(|_| !is_found && !self.options.filter.is_empty()) {
            Some(first) => {
                let count = self.tree.rows.len();
                self.cursor.select(first, Self::height(cx), count);
                self.update_preview(cx)
            }
            None => steps,
        }
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        self.lost = None;
        self.on_mouse(mouse, cx)
    }

    fn on_event(&mut self, event: &Event, cx: &PaneContext<'_>) -> Vec<Step> {
        match event {
            Event::Indexed(library) => {
                self.loaded = true;
                // A range whose start is gone does not come back with it.
                self.marks.retain(|key| {
                    let (Key::Memory(store, path) | Key::Entry(store, path, _)) = key else {
                        return true;
                    };
                    let snapshot = library.store_by_id(store);
                    let memory = snapshot.and_then(|snapshot| snapshot.memory(path));
                    memory.is_some_and(|memory| match key {
                        Key::Entry(.., slug) => memory.entries.iter().any(|one| one.slug == *slug),
                        _ => true,
                    })
                });
                self.lost = self.lost.take().or_else(|| self.selected());
                let steps = self.rebuild(library, cx);
                match self
                    .lost
                    .take_if(|key| self.tree.find(&self.library, key).is_some())
                {
                    Some(key) if self.selected().as_ref() != Some(&key) => {
                        self.go(&key, cx).unwrap_or_default()
                    }
                    _ => steps,
                }
            }
            Event::Read { .. } | Event::Opened { .. } => {
                self.preview.on_event(event, cx);
                self.run_waiting_action(cx)
            }
            Event::PieceRead {
                context,
                at,
                result: Ok(subject),
            } => self.edit_piece(context, *at, subject, cx),
            Event::EditorClosed { target, line } => {
                self.edited_lines.insert(target.clone(), *line);
                self.preview.forget_line(target);
                Vec::new()
            }
            Event::EditorLeft(text) => {
                self.unsaved_texts.push(text.clone());
                // Select its memory, so that the edit key opens it again.
                let key = Key::Memory(text.text.store(), text.text.path.clone());
                self.go(&key, cx).unwrap_or_default()
            }
            Event::EditedOutside {
                subject,
                written: Some(text),
                ..
            } => {
                // The editor goes on with it.
                if *text != subject.text {
                    self.take_unsaved(subject);
                }
                Vec::new()
            }
            Event::Committed {
                request,
                result: Ok(Some(record)),
            } => {
                if let Request::Merge { text, .. } = &**request {
                    let merged = Key::Memory(text.store(), text.path.clone());
                    self.marks.retain(|key| *key != merged);
                }
                let is_left = |file: &FileChange| file.after.is_some() && !file.derived;
                self.is_beside_deleted = !record.files.iter().any(is_left);
                self.go_to_changed(record, cx)
            }
            Event::Reveal { key, line, then } => {
                self.line = *line;
                let Some(mut steps) = self.go(key, cx) else {
                    self.line = None;
                    return say_trouble("That is not there any more");
                };
                if let Some(action) = then {
                    steps.extend(self.act_on_selection(*action, cx).unwrap_or_default());
                }
                steps
            }
            Event::OpenFound { key, line, words } => {
                self.line = *line;
                self.preview.mark(words.clone());
                let Some(steps) = self.go(key, cx) else {
                    self.line = None;
                    return vec![
                        Step::Return,
                        Step::Toast(Toast::trouble("That is not there any more")),
                    ];
                };
                self.focus = Focus::Preview;
                self.is_found = true;
                steps
            }
            Event::ReviewCounted(counts) => {
                self.to_review.clone_from(counts);
                Vec::new()
            }
            Event::SharedStores(shared) => {
                self.shared.clone_from(shared);
                Vec::new()
            }
            Event::Marked(keys) => {
                self.marks.extend(keys.iter().cloned());
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        self.cursor.fit(Self::height(cx), self.tree.rows.len());
        self.preview.resize(cx);
    }

    fn facts(&self) -> Option<String> {
        match self.unsaved_texts.len() {
            0 => None,
            number => Some(format!("{number} unsaved")),
        }
    }

    fn unsaved(&self) -> Vec<Unsaved> {
        let texts = self.unsaved_texts.iter();
        texts.map(|left| left.text.clone()).collect()
    }

    fn arrangement(&self) -> Option<Arrangement> {
        Some(Arrangement {
            preview: self.preview_visibility,
            focus: self.focus,
            divider: self.divider,
        })
    }

    fn offers(&self, action: Action) -> bool {
        self.can_run(action)
    }

    fn is_fullscreen(&self) -> bool {
        true
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        if self.has_nothing_to_show(cx) {
            return self.view_nothing(frame, cx);
        }
        let is_shown = |area: Rect| area.area() > 0;
        if is_shown(cx.areas.tree) {
            self.view_tree(frame, cx);
        }
        if is_shown(cx.areas.preview) {
            self.preview.view(frame, self.keys(Focus::Preview), cx);
        }
    }
}
