//! Browse: the tree of everything, and beside it the text of the row under the cursor.

mod acts;
mod filter;
#[cfg(test)]
pub(crate) mod fixture;
mod fold;
mod follow;
mod list;
mod mouse;
mod nothing;
pub(crate) mod tree;
mod view;

use std::collections::BTreeSet;
use std::sync::Arc;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;

use super::log::Start;
use super::preview::{self, Mode, Preview, Sheet};
use super::{Answer, Pane, Scene, Step, Toast};
use crate::core::citation::Part;
use crate::core::discover::Looked;
use crate::core::library::Library;
use crate::core::unsaved::Unsaved;
use crate::tui::action::Action;
use crate::tui::effect::{Asker, Target};
use crate::tui::event::Event;
use crate::tui::keymap::Place;
use crate::tui::layout::{Divider, Focus, Shown, Wanted};
use crate::tui::widget::input::{Input, InputOutcome};
use crate::tui::widget::list::{Cursor, Step as Move};
pub(crate) use acts::subject_of;
use tree::{Fold, Key, Node, Tree, Wish};

/// The tree and the preview.
#[derive(Debug)]
pub(crate) struct Browse {
    library: Arc<Library>,
    tree: Tree,
    wish: Wish,
    cursor: Cursor,
    marks: BTreeSet<Key>,
    /// What is typed into the filter, while there is one.
    filter: Option<Input>,
    /// Whether the keys go into the filter.
    typing: bool,
    focus: Focus,
    shown: Shown,
    preview: Preview,
    divider: Divider,
    /// Whether the mouse holds the line between tree and preview.
    dragging: bool,
    /// What to do once the text under the cursor is here.
    waiting: Option<Action>,
    /// Texts that were left unsaved, by file.
    parked: Vec<Unsaved>,
    /// Where links were followed from.
    trail: Vec<Key>,
    /// The line of the next text that is wanted to be seen.
    line: Option<usize>,
    /// Whether anything was read yet.
    loaded: bool,
    /// Where stores and logs were looked for.
    looked: Vec<Looked>,
}

impl Browse {
    pub(crate) fn new() -> Self {
        Self {
            library: Arc::default(),
            tree: Tree::default(),
            wish: Wish::default(),
            cursor: Cursor::default(),
            marks: BTreeSet::new(),
            filter: None,
            typing: false,
            focus: Focus::Tree,
            shown: Shown::Yes,
            preview: Preview::new(Asker::Tree),
            divider: Divider::default(),
            dragging: false,
            waiting: None,
            parked: Vec::new(),
            trail: Vec::new(),
            line: None,
            loaded: false,
            looked: Vec::new(),
        }
    }

    /// The same, knowing where stores and logs were looked for.
    pub(crate) fn having_looked(self, looked: Vec<Looked>) -> Self {
        Self { looked, ..self }
    }

    fn height(scene: &Scene<'_>) -> usize {
        usize::from(scene.areas.tree_rows().height).max(1)
    }

    /// Builds the rows anew and keeps the cursor on the same thing, at the same place of the screen.
    fn rebuild(&mut self, library: &Arc<Library>, scene: &Scene<'_>) -> Vec<Step> {
        let key = self.selected();
        let before = std::mem::take(&mut self.tree);
        let old = std::mem::replace(&mut self.library, Arc::clone(library));
        self.tree = Tree::of(&self.library, &self.wish);
        let line = self.cursor.selected.saturating_sub(self.cursor.top);
        if let Some(key) = key {
            let found = self.tree.find(&self.library, &key).or_else(|| {
                // It is gone: the nearest row that is still there.
                let at = self.cursor.selected.min(before.rows.len());
                let (above, below) = before.rows.split_at(at);
                let near = below.iter().skip(1).chain(above.iter().rev());
                near.take(50)
                    .map(|row| before.key(&old, row))
                    .find_map(|key| self.tree.find(&self.library, &key))
            });
            self.cursor.selected = found.unwrap_or(0);
            self.cursor.top = self.cursor.selected.saturating_sub(line);
        }
        self.cursor.fit(Self::height(scene), self.tree.rows.len());
        self.look(scene)
    }

    /// Builds the rows anew from the same library.
    fn reshape(&mut self, scene: &Scene<'_>) -> Vec<Step> {
        let library = Arc::clone(&self.library);
        self.rebuild(&library, scene)
    }

    /// Lets the preview follow the cursor.
    fn look(&mut self, scene: &Scene<'_>) -> Vec<Step> {
        let Some(row) = self.tree.rows.get(self.cursor.selected) else {
            self.preview.show(Sheet::default(), scene);
            return Vec::new();
        };
        let part = |key: &Key| match key {
            Key::Entry(_, _, slug) => Part::Entry(slug.clone()),
            _ => Part::Whole,
        };
        let key = self.tree.key(&self.library, row);
        if let Node::Log(at, log) = row.node {
            let log = &self.library.logs[at].logs[log];
            let effect = self.preview.want_log(log, Start::default(), scene);
            return effect.map(Step::Do).into_iter().collect();
        }
        let target = match (&key, row.node) {
            (Key::Memory(store, path) | Key::Entry(store, path, _), _) => Target::File {
                store: store.clone(),
                path: path.clone(),
            },
            (Key::Store(store), _) => Target::Context {
                store: store.clone(),
            },
            (_, node) => {
                let sheet = self.contents(node);
                self.preview.show(sheet, scene);
                return Vec::new();
            }
        };
        let wanted = preview::Wanted {
            target,
            part: part(&key),
            line: self.line.take(),
        };
        let effect = self.preview.want(wanted);
        vec![Step::Do(effect)]
    }

    fn moved(&mut self, to: Move, scene: &Scene<'_>) -> Vec<Step> {
        self.waiting = None;
        let before = self.cursor.selected;
        self.cursor
            .step(to, Self::height(scene), self.tree.rows.len());
        if self.cursor.selected == before {
            return Vec::new();
        }
        self.look(scene)
    }

    /// Goes to a row, unfolding what hides it.
    pub(super) fn go(&mut self, key: &Key, scene: &Scene<'_>) -> Option<Vec<Step>> {
        if self.tree.find(&self.library, key).is_none() {
            self.filter = None;
            self.typing = false;
            self.wish.filter.clear();
            for above in acts::above(&self.library, key) {
                self.wish.folds.insert(above, Fold::Open);
            }
            self.tree = Tree::of(&self.library, &self.wish);
        }
        let at = self.tree.find(&self.library, key)?;
        self.cursor
            .select(at, Self::height(scene), self.tree.rows.len());
        Some(self.look(scene))
    }

    /// The row that the one under the cursor is below of.
    fn parent(&self) -> Option<usize> {
        let depth = self.tree.rows.get(self.cursor.selected)?.depth;
        self.tree.rows[..self.cursor.selected]
            .iter()
            .rposition(|row| row.depth < depth)
    }

    fn act_in_tree(&mut self, action: Action, scene: &Scene<'_>) -> Option<Vec<Step>> {
        let fold = self
            .tree
            .rows
            .get(self.cursor.selected)
            .and_then(|row| row.fold);
        Some(match action {
            Action::Up => self.moved(Move::Up, scene),
            Action::Down => self.moved(Move::Down, scene),
            Action::PageUp => self.moved(Move::PageUp, scene),
            Action::PageDown => self.moved(Move::PageDown, scene),
            Action::HalfUp => self.moved(Move::HalfUp, scene),
            Action::HalfDown => self.moved(Move::HalfDown, scene),
            Action::Top => self.moved(Move::First, scene),
            Action::Bottom => self.moved(Move::Last, scene),
            Action::Right => match fold {
                Some(Fold::Closed) => self.fold(Fold::Open, scene),
                Some(Fold::Open) => self.moved(Move::Down, scene),
                None => self.enter_preview(),
            },
            Action::Left => match (fold, self.parent()) {
                (Some(Fold::Open), _) => self.fold(Fold::Closed, scene),
                (_, Some(parent)) => {
                    let count = self.tree.rows.len();
                    self.cursor.select(parent, Self::height(scene), count);
                    self.look(scene)
                }
                _ => Vec::new(),
            },
            Action::Open if self.log_here().is_some() => self.open_log(),
            Action::Open => match fold {
                Some(fold) => self.fold(fold.toggled(), scene),
                None => self.enter_preview(),
            },
            Action::FoldAll => self.fold_all(Fold::Closed, scene),
            Action::UnfoldAll => self.fold_all(Fold::Open, scene),
            Action::Filter => {
                self.typing = true;
                self.filter = Some(Input::default());
                self.wish.filter.clear();
                self.reshape(scene)
            }
            Action::Sort => {
                self.wish.sort = self.wish.sort.next();
                let mut steps = self.reshape(scene);
                let told = format!("Sorted by {}", self.wish.sort.name());
                steps.push(Step::Say(Toast::done(told)));
                steps
            }
            Action::Mark => self.mark(scene),
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

    fn act_in_preview(&mut self, action: Action, scene: &Scene<'_>) -> Option<Vec<Step>> {
        if self.preview.act(action, scene) {
            return Some(Vec::new());
        }
        Some(match action {
            Action::NextLink => self.link(Move::Down, scene),
            Action::PreviousLink => self.link(Move::Up, scene),
            Action::Open if self.log_here().is_some() => self.open_log(),
            Action::Open => self.follow(scene),
            _ => return None,
        })
    }

    fn back(&mut self, scene: &Scene<'_>) -> Vec<Step> {
        if self.focus == Focus::Preview {
            self.focus = Focus::Tree;
        } else if self.filter.is_some() {
            return self.type_filter(InputOutcome::Cancelled, scene);
        } else if !self.marks.is_empty() {
            self.marks.clear();
        }
        Vec::new()
    }
}

impl Pane for Browse {
    fn place(&self) -> Place {
        match self.focus {
            _ if self.typing => Place::Prompt,
            Focus::Tree => Place::Tree,
            Focus::Preview => Place::Preview,
        }
    }

    fn act(&mut self, action: Action, scene: &Scene<'_>) -> Answer {
        if self.typing {
            let outcome = match action {
                Action::Back => InputOutcome::Cancelled,
                Action::Open => InputOutcome::Accepted,
                Action::Down => return Answer::Used(self.moved(Move::Down, scene)),
                Action::Up => return Answer::Used(self.moved(Move::Up, scene)),
                _ => return Answer::Unused,
            };
            return Answer::Used(self.type_filter(outcome, scene));
        }
        let used = match self.focus {
            Focus::Tree => self.act_in_tree(action, scene),
            Focus::Preview => self.act_in_preview(action, scene),
        };
        used.or_else(|| self.act_on_it(action, scene))
            .map_or(Answer::Unused, Answer::Used)
    }

    fn key(&mut self, key: KeyEvent, scene: &Scene<'_>) -> Vec<Step> {
        let Some(filter) = self.filter.as_mut().filter(|_| self.typing) else {
            return Vec::new();
        };
        let outcome = filter.key(key);
        self.type_filter(outcome, scene)
    }

    fn paste(&mut self, text: &str, scene: &Scene<'_>) -> Vec<Step> {
        let Some(filter) = self.filter.as_mut().filter(|_| self.typing) else {
            return Vec::new();
        };
        let outcome = filter.paste(text);
        self.type_filter(outcome, scene)
    }

    fn mouse(&mut self, mouse: MouseEvent, scene: &Scene<'_>) -> Vec<Step> {
        self.pointed(mouse, scene)
    }

    fn hear(&mut self, event: &Event, scene: &Scene<'_>) -> Vec<Step> {
        match event {
            Event::Indexed(library) => {
                self.loaded = true;
                let there = |key: &Key| match key {
                    Key::Memory(store, path) => library
                        .shelf_by_id(store)
                        .is_some_and(|shelf| shelf.memory(path).is_some()),
                    _ => false,
                };
                self.marks.retain(there);
                self.rebuild(library, scene)
            }
            Event::Read { .. } | Event::Opened { .. } => {
                self.preview.hear(event, scene);
                self.catch_up(scene)
            }
            Event::Parked(text) => {
                self.parked.push(text.clone());
                // The key that goes on with it must find it under the cursor.
                let key = Key::Memory(text.store(), text.path.clone());
                self.go(&key, scene).unwrap_or_default()
            }
            Event::Shown { key, line, then } => {
                self.line = *line;
                let Some(mut steps) = self.go(key, scene) else {
                    self.line = None;
                    return vec![Step::Say(Toast::trouble("That is not there any more"))];
                };
                if let Some(action) = then {
                    steps.extend(self.act_on_it(*action, scene).unwrap_or_default());
                }
                steps
            }
            Event::Marked(keys) => {
                self.marks.extend(keys.iter().cloned());
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn resize(&mut self, scene: &Scene<'_>) {
        self.cursor.fit(Self::height(scene), self.tree.rows.len());
        self.preview.resize(scene);
    }

    fn facts(&self) -> Option<String> {
        match self.parked.len() {
            0 => None,
            number => Some(format!("{number} unsaved")),
        }
    }

    fn unsaved(&self) -> Vec<Unsaved> {
        self.parked.clone()
    }

    fn wanted(&self) -> Option<Wanted> {
        Some(Wanted {
            preview: self.shown,
            focus: self.focus,
            divider: self.divider,
        })
    }

    fn fills(&self) -> bool {
        true
    }

    fn view(&self, frame: &mut Frame<'_>, scene: &Scene<'_>) {
        if self.is_empty_handed(scene) {
            return self.view_nothing(frame, scene);
        }
        let is_shown = |area: Rect| area.area() > 0;
        if is_shown(scene.areas.tree) {
            self.view_tree(frame, scene);
        }
        if is_shown(scene.areas.preview) {
            self.preview.view(frame, self.keys(Focus::Preview), scene);
        }
    }
}

impl Browse {
    fn toggle_mode(&mut self, scene: &Scene<'_>) -> Vec<Step> {
        self.preview.mode = match self.preview.mode {
            Mode::Rendered => Mode::Source,
            Mode::Source => Mode::Rendered,
        };
        self.preview.scroll = 0;
        self.preview.lay_out(scene);
        Vec::new()
    }

    fn toggle_preview(&mut self) -> Vec<Step> {
        self.shown = match self.shown {
            Shown::Yes => Shown::No,
            Shown::No => Shown::Yes,
        };
        if self.shown == Shown::No {
            self.focus = Focus::Tree;
        }
        Vec::new()
    }
}
