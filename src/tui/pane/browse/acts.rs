//! What can be done to the row under the cursor, or to the marked ones.

use std::collections::BTreeMap;
use std::path::Path;

use super::Browse;
use super::tree::{Key, Node};
use crate::core::citation::{Citation, Part};
use crate::core::layout::{Layout, index};
use crate::core::library::{Library, Listed, Shelf};
use crate::core::store::{Document, StoreId};
use crate::core::unsaved::Unsaved;
use crate::tui::action::Action;
use crate::tui::chrome::count;
use crate::tui::effect::{Effect, LibraryJob, Request, Target, TerminalJob, Which, WriteJob};
use crate::tui::layout::Focus;
use crate::tui::overlay::choose::{Choice, Choose};
use crate::tui::overlay::form::Form;
use crate::tui::overlay::prompt::{Prompt, Purpose};
use crate::tui::pane::editor::Editor;
use crate::tui::pane::find::Find;
use crate::tui::pane::history::HistoryPane;
use crate::tui::pane::log::{copied, resume};
use crate::tui::pane::preview::Sheet;
use crate::tui::pane::{Scene, Step, Toast};

impl Browse {
    /// Actions that are the same in the tree and in the preview.
    pub(super) fn act_on_it(&mut self, action: Action, scene: &Scene<'_>) -> Option<Vec<Step>> {
        Some(match action {
            Action::Edit | Action::Rename | Action::Duplicate if self.is_reading() => {
                self.waiting = Some(action);
                Vec::new()
            }
            Action::Edit => self.edit(scene),
            Action::EditOutside => match self.subject() {
                Ok(subject) => vec![Step::Do(Effect::Terminal(TerminalJob::Lend(subject)))],
                Err(why) => vec![Step::Say(why)],
            },
            Action::Find => Find::open(scene),
            Action::Resume => match self.log_here() {
                Some(log) => resume(log.resume()),
                None => vec![Step::Say(Toast::done("Go to a session to continue it"))],
            },
            Action::New => self.new_memory(),
            Action::Rename => self.prompt(Purpose::Rename),
            Action::Duplicate => self.prompt(Purpose::Duplicate),
            Action::Move => self.choose_store(),
            Action::Delete => self.delete(),
            Action::Undo => vec![Step::Do(Effect::Write(WriteJob::Do(Box::new(
                Request::Again(Which::Undo),
            ))))],
            Action::Redo => vec![Step::Do(Effect::Write(WriteJob::Do(Box::new(
                Request::Again(Which::Redo),
            ))))],
            Action::History => vec![
                Step::Push(Box::new(HistoryPane::new())),
                Step::Do(Effect::Library(LibraryJob::Records)),
            ],
            Action::ToggleSource => self.toggle_mode(scene),
            Action::TogglePreview => self.toggle_preview(),
            Action::Agent => self.agent(),
            Action::Copy => self.copy(),
            Action::GoBack => match self.trail.pop() {
                Some(key) => self.go(&key, scene).unwrap_or_default(),
                None => vec![Step::Say(Toast::done("No link was followed to come here"))],
            },
            Action::NextPane => {
                self.focus = match self.focus {
                    Focus::Tree => Focus::Preview,
                    Focus::Preview => Focus::Tree,
                };
                Vec::new()
            }
            Action::Reload => vec![
                Step::Do(Effect::Library(LibraryJob::Load)),
                Step::Say(Toast::done("Looking for stores again…")),
            ],
            Action::Back => self.back(scene),
            _ => return None,
        })
    }

    /// Whether the text under the cursor is still on its way.
    fn is_reading(&self) -> bool {
        let key = self.selected();
        let is_file = matches!(key, Some(Key::Memory(..) | Key::Entry(..)));
        is_file && key.is_some_and(|key| self.preview.document(&key).is_none())
    }

    /// Does what waited for the text, now that it is here.
    pub(super) fn catch_up(&mut self, scene: &Scene<'_>) -> Vec<Step> {
        if self.is_reading() {
            return Vec::new();
        }
        let action = self.waiting.take();
        action
            .and_then(|action| self.act_on_it(action, scene))
            .unwrap_or_default()
    }

    /// The store and memory under the cursor.
    fn memory_here(&self) -> Option<(StoreId, String)> {
        match self.selected()? {
            Key::Memory(store, path) | Key::Entry(store, path, _) => Some((store, path)),
            _ => None,
        }
    }

    fn store_here(&self) -> Option<&Shelf> {
        let id = match self.selected()? {
            Key::Store(store)
            | Key::Group(store, _)
            | Key::Memory(store, _)
            | Key::Entry(store, _, _) => store,
            _ => return None,
        };
        self.library.shelf_by_id(&id).map(|shelf| &**shelf)
    }

    pub(super) fn mark(&mut self, scene: &Scene<'_>) -> Vec<Step> {
        let Some((store, path)) = self.memory_here() else {
            return vec![Step::Say(Toast::done("Memories can be marked, one by one"))];
        };
        let key = Key::Memory(store, path);
        if !self.marks.remove(&key) {
            self.marks.insert(key);
        }
        self.moved(crate::tui::widget::list::Step::Down, scene)
    }

    /// The text under the cursor, ready to be edited.
    fn subject(&self) -> Result<Unsaved, Toast> {
        let nothing = || Toast::done("Go to a memory to edit it");
        let key = self.selected().ok_or_else(nothing)?;
        let shelf = self.store_here().ok_or_else(nothing)?;
        let document = self.preview.document(&key).ok_or_else(|| match key {
            Key::Memory(..) | Key::Entry(..) => Toast::done("Still reading it…"),
            _ => nothing(),
        })?;
        subject_of(shelf, document)
    }

    fn edit(&mut self, scene: &Scene<'_>) -> Vec<Step> {
        // The index is what a store row shows: editing there means the index itself.
        if let Some(Key::Store(store)) = self.selected() {
            return self.edit_index(&store);
        }
        let line = match self.selected() {
            Some(Key::Entry(store, path, slug)) => self
                .library
                .shelf_by_id(&store)
                .and_then(|shelf| shelf.memory(&path))
                .and_then(|memory| memory.entries.iter().find(|entry| entry.slug() == slug))
                .map_or(0, |entry| entry.line.saturating_sub(1)),
            // The line that was looked for, where the text was opened at one.
            Some(key) => self
                .preview
                .line_of(&key)
                .map_or(0, |line| line.saturating_sub(1)),
            None => 0,
        };
        match self.subject() {
            Ok(subject) => {
                let subject = self.unparked(&subject).unwrap_or(subject);
                vec![Step::Push(Box::new(Editor::open(subject, line, scene)))]
            }
            Err(why) => vec![Step::Say(why)],
        }
    }

    /// The text of the same file that was left unsaved.
    fn unparked(&mut self, subject: &Unsaved) -> Option<Unsaved> {
        let same = |text: &Unsaved| text.is_same_file(subject);
        let at = self.parked.iter().position(same)?;
        Some(self.parked.remove(at))
    }

    fn edit_index(&self, store: &StoreId) -> Vec<Step> {
        let is_index = self
            .library
            .shelf_by_id(store)
            .is_some_and(|shelf| shelf.store.layout() == Layout::Index && shelf.index.is_some());
        if !is_index {
            return vec![Step::Say(Toast::done("Go to a memory to edit it"))];
        }
        vec![Step::Do(Effect::Library(LibraryJob::Fetch(Target::File {
            store: store.clone(),
            path: index::INDEX.to_owned(),
        })))]
    }

    fn new_memory(&self) -> Vec<Step> {
        let here = self.store_here().map(|shelf| shelf.store.id());
        let kind = match self.selected() {
            Some(Key::Group(_, path)) => Some(path.to_lowercase()),
            Some(Key::Memory(store, path) | Key::Entry(store, path, _)) => self
                .library
                .shelf_by_id(&store)
                .and_then(|shelf| shelf.memory(&path))
                .and_then(|memory| {
                    let folder = path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
                    folder.or_else(|| memory.category.clone())
                }),
            _ => None,
        };
        match Form::new(&self.library, here, kind.as_deref()) {
            Some(form) => vec![Step::Push(Box::new(form))],
            None => vec![Step::Say(Toast::trouble(
                "There is no store here that takes a memory",
            ))],
        }
    }

    fn prompt(&self, purpose: Purpose) -> Vec<Step> {
        let Some((store, path)) = self.memory_here() else {
            return vec![Step::Say(Toast::done("Go to a memory first"))];
        };
        match self.subject() {
            Ok(subject) => vec![Step::Push(Box::new(Prompt::new(
                purpose, store, path, subject,
            )))],
            Err(why) => vec![Step::Say(why)],
        }
    }

    fn choose_store(&self) -> Vec<Step> {
        let Some((store, path)) = self.memory_here() else {
            return vec![Step::Say(Toast::done("Go to a memory first"))];
        };
        let others: Vec<Choice> = self
            .library
            .shelves
            .iter()
            .filter(|shelf| *shelf.store.id() != store)
            .filter(|shelf| !matches!(shelf.store.layout(), Layout::Events | Layout::Instructions))
            .map(|shelf| Choice {
                store: shelf.store.id().clone(),
                name: shelf.store.name().to_owned(),
            })
            .collect();
        if others.is_empty() {
            return vec![Step::Say(Toast::done("There is no other store here"))];
        }
        vec![Step::Push(Box::new(Choose::store(store, path, others)))]
    }

    fn delete(&self) -> Vec<Step> {
        let mut wanted: BTreeMap<StoreId, Vec<String>> = BTreeMap::new();
        for key in &self.marks {
            if let Key::Memory(store, path) = key {
                wanted.entry(store.clone()).or_default().push(path.clone());
            }
        }
        if wanted.is_empty()
            && let Some((store, path)) = self.memory_here()
        {
            wanted.insert(store, vec![path]);
        }
        if wanted.is_empty() {
            return vec![Step::Say(Toast::done("Go to a memory to delete it"))];
        }
        let request = Request::Delete(wanted.into_iter().collect());
        vec![Step::Plan(Box::new(request))]
    }

    fn agent(&mut self) -> Vec<Step> {
        let Some(shelf) = self.store_here() else {
            return vec![Step::Say(Toast::done("Go to a store, or into one"))];
        };
        let target = Target::Context {
            store: shelf.store.id().clone(),
        };
        vec![Step::Do(Effect::Library(LibraryJob::Fetch(target)))]
    }

    fn copy(&self) -> Vec<Step> {
        let name = || {
            let shelf = self.store_here();
            shelf.map_or(String::new(), |shelf| shelf.store.name().to_owned())
        };
        let citation = match self.selected() {
            Some(Key::Memory(_, path)) => (name(), path, Part::Whole),
            Some(Key::Entry(_, path, slug)) => (name(), path, Part::Entry(slug)),
            _ => match self.log_here() {
                Some(log) => {
                    let agent = log.file.agent.name().to_owned();
                    (agent, log.file.id.clone(), Part::Whole)
                }
                None => return vec![Step::Say(Toast::done("Go to a memory to cite it"))],
            },
        };
        let (store, path, part) = citation;
        let text = Citation {
            store: Some(store),
            path,
            part,
        }
        .to_string();
        copied(text)
    }

    /// What a group is called, and a word about it.
    fn naming(&self, node: Node) -> Option<(String, String)> {
        Some(match node {
            Node::Group(at, group) => {
                let group = &self.tree.groups[group];
                let store = self.library.shelves[at].store.name();
                (group.label.clone(), store.to_owned())
            }
            Node::Instructions => (
                "instructions".to_owned(),
                "what agents read at every start".to_owned(),
            ),
            Node::Sessions => ("sessions".to_owned(), "raw conversations".to_owned()),
            Node::Agent(first) => (
                self.library.logs[first].agent.name().to_owned(),
                "raw conversations".to_owned(),
            ),
            Node::Bundle(at) => (self.library.logs[at].project.clone(), String::new()),
            Node::Log(at, log) => {
                let log = &self.library.logs[at].logs[log];
                (log.title.clone(), log.file.path.display().to_string())
            }
            Node::Store(_) | Node::Memory(..) | Node::Entry(..) => return None,
        })
    }

    /// What a group holds, as a text.
    pub(super) fn contents(&self, node: Node) -> Sheet {
        let from = self.cursor.selected + 1;
        let depth = self.tree.rows[self.cursor.selected].depth;
        let Some((title, facts)) = self.naming(node) else {
            return Sheet::default();
        };
        let below = self.tree.rows[from..]
            .iter()
            .take_while(|row| row.depth > depth);
        let lines: Vec<String> = below
            .filter_map(|row| match row.node {
                Node::Memory(at, of) => Some(&self.library.shelves[at].memories[of]),
                _ => None,
            })
            .take(500)
            .map(|memory| match memory.summary.as_str() {
                "" => format!("- **{}**\n", memory.title),
                summary => format!("- **{}** — {summary}\n", memory.title),
            })
            .collect();
        let row = &self.tree.rows[self.cursor.selected];
        let category = match node {
            Node::Group(_, group) => self.tree.groups[group].category.clone(),
            _ => None,
        };
        let what = match node {
            Node::Sessions | Node::Agent(_) | Node::Bundle(_) => {
                count(row.count, "session", "sessions")
            }
            Node::Instructions => count(row.count, "file", "files"),
            Node::Log(..) => String::new(),
            _ => count(row.count, "memory", "memories"),
        };
        let text = lines.concat();
        Sheet {
            title,
            category,
            facts: [what, facts]
                .into_iter()
                .filter(|fact| !fact.is_empty())
                .collect::<Vec<_>>()
                .join(" · "),
            source: text.clone(),
            text,
            first_line: 1,
            ..Sheet::default()
        }
    }
}

/// The rows above a log.
fn above_log(library: &Library, path: &Path, id: &str) -> Vec<Key> {
    let is = |log: &Listed| log.file.path == path && log.file.id == id;
    let mut keys = vec![Key::Sessions];
    let Some(bundle) = library
        .logs
        .iter()
        .find(|bundle| bundle.logs.iter().any(is))
    else {
        return keys;
    };
    let agent = bundle.agent.name().to_owned();
    keys.push(Key::Agent(agent.clone()));
    keys.push(Key::Bundle(agent, bundle.project.clone()));
    let mut at = bundle.logs.iter().find(|log| is(log));
    while let Some(parent) = at.and_then(|log| bundle.logs.get(log.parent?)) {
        keys.push(Key::Log(parent.file.path.clone(), parent.file.id.clone()));
        at = Some(parent);
    }
    keys
}

/// A file as a text to be edited, if it is text.
pub(crate) fn subject_of(shelf: &Shelf, document: &Document) -> Result<Unsaved, Toast> {
    let text = String::from_utf8(document.bytes.clone())
        .map_err(|_| Toast::trouble(format!("{} is not UTF-8 text", document.path)))?;
    if shelf.store.layout() == Layout::Events {
        return Err(Toast::trouble("Events are never changed"));
    }
    Ok(Unsaved {
        root: shelf.store.root().path().to_owned(),
        layout: shelf.store.layout(),
        path: document.path.clone(),
        base: Some(text.clone()),
        text,
        time: 0,
    })
}

/// The rows above one, outermost first.
pub(super) fn above(library: &Library, key: &Key) -> Vec<Key> {
    let (store, path) = match key {
        Key::Memory(store, path) => (store, path),
        Key::Entry(store, path, _) => (store, path),
        Key::Group(store, _) => return vec![Key::Store(store.clone())],
        Key::Log(path, id) => return above_log(library, path, id),
        _ => return Vec::new(),
    };
    let mut keys = vec![Key::Store(store.clone())];
    let shelf = library.shelf_by_id(store);
    if shelf.is_some_and(|shelf| shelf.store.layout() == Layout::Instructions) {
        return vec![Key::Instructions];
    }
    let memory = shelf.and_then(|shelf| shelf.memory(path));
    let layout = shelf.map(|shelf| shelf.store.layout());
    if let (Some(memory), Some(layout)) = (memory, layout)
        && let Some((_, group)) = super::tree::group_of(layout, memory)
    {
        if layout == Layout::Index {
            keys.push(Key::Group(store.clone(), group));
        } else {
            let parts: Vec<&str> = group.split('/').collect();
            for end in 1..=parts.len() {
                keys.push(Key::Group(store.clone(), parts[..end].join("/")));
            }
        }
    }
    if matches!(key, Key::Entry(..)) {
        keys.push(Key::Memory(store.clone(), path.clone()));
    }
    keys
}
