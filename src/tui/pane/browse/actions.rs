//! Actions on the row under the cursor, or on the marked ones, and which of them it offers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::BrowsePane;
use super::tree::Key;
use crate::core::change::{BrokenLinks, ChangeRequest};
use crate::core::insight::context::AgentContext;
use crate::core::memory::citation::{Citation, CitedPart};
use crate::core::memory::layout::{IndexUpdate, Layout, Operation, index};
use crate::core::memory::library::{Library, LogSummary, StoreSnapshot};
use crate::core::memory::store::{Document, StoreId};
use crate::core::memory::unsaved::Unsaved;
use crate::tui::action::Action;
use crate::tui::chrome::count;
use crate::tui::effect::{Effect, LibraryJob, Request, TerminalJob, WriteJob};
use crate::tui::event::LeftText;
use crate::tui::layout::Focus;
use crate::tui::model::PaneContext;
use crate::tui::overlay::chooser::{Chooser, ChooserOption};
use crate::tui::overlay::form::NewMemoryForm;
use crate::tui::overlay::prompt::{NamePrompt, Purpose};
use crate::tui::pane::context::ContextPane;
use crate::tui::pane::curate::CuratePane;
use crate::tui::pane::editor::EditorPane;
use crate::tui::pane::find::FindPane;
use crate::tui::pane::history::HistoryPane;
use crate::tui::pane::log::{copy_resume, copy_to_clipboard, keep, resume};
use crate::tui::pane::preview::file_at;
use crate::tui::pane::queue::QueuePane;
use crate::tui::pane::timeline::TimelinePane;
use crate::tui::pane::{Step, Toast, edit_file, perform, plan, push, say, say_trouble};

impl BrowsePane {
    /// Runs an action that is the same in the tree and the preview.
    pub(super) fn act_on_selection(
        &mut self,
        action: Action,
        cx: &PaneContext<'_>,
    ) -> Option<Vec<Step>> {
        Some(match action {
            Action::Edit | Action::EditOutside | Action::Rename | Action::Duplicate
                if self.is_reading() =>
            {
                self.waiting = Some(action);
                Vec::new()
            }
            Action::Edit => self.edit(cx),
            Action::EditOutside => match self.editable_text() {
                Ok(subject) => {
                    let left = self.unsaved_of(&subject).map(|left| left.text.clone());
                    let job = TerminalJob::EditOutside(left.unwrap_or(subject));
                    perform(Effect::Terminal(job))
                }
                Err(why) => vec![Step::Toast(why)],
            },
            Action::Find => FindPane::open(cx),
            Action::Resume | Action::CopyResume => match self.selected_log() {
                Some(log) if action == Action::CopyResume => copy_resume(log.resume()),
                Some(log) => resume(log.resume()),
                None => say("Go to a session to continue it"),
            },
            Action::Keep => match self.selected_log() {
                Some(log) => keep(&log.file),
                None => say("Go to a session to keep a copy of it"),
            },
            Action::New => self.new_memory(cx),
            Action::Rename => self.prompt(Purpose::Rename),
            Action::Duplicate => self.prompt(Purpose::Duplicate),
            Action::Merge => self.merge(),
            Action::Generalize => self.generalize(),
            Action::Move => self.choose_store(),
            Action::Rehome => perform(Effect::Library(LibraryJob::FormerHomes)),
            Action::Share => match self.selected_store() {
                Some(snapshot) => {
                    let job = WriteJob::Share(snapshot.store.id().clone());
                    perform(Effect::Write(job))
                }
                None => say("Go to a store to share it with your other machines"),
            },
            Action::Delete => self.delete(),
            // What is gone has no row: its deletion is the newest of all changes.
            Action::History => vec![
                Step::Push(Box::new(HistoryPane::new(
                    self.selected_memory().filter(|_| !self.is_beside_deleted),
                ))),
                Step::Effect(Effect::Library(LibraryJob::Records)),
            ],
            Action::Review => QueuePane::open(),
            Action::Why => self.explain(),
            Action::Curate => CuratePane::open(),
            Action::Timeline => TimelinePane::open(cx),
            Action::ToggleSource => self.toggle_mode(cx),
            Action::TogglePreview => self.toggle_preview(),
            Action::Agent => {
                let agent = self.selected_log().map(|log| log.file.agent);
                ContextPane::open(agent, cx)
            }
            Action::Copy => self.copy(),
            Action::CopyText => self.copy_text(),
            Action::GoBack => match self.trail.pop() {
                Some(key) => self.go(&key, cx).unwrap_or_default(),
                None => say("No link was followed to come here"),
            },
            Action::NextPane => {
                self.focus = match self.focus {
                    Focus::Tree => Focus::Preview,
                    Focus::Preview => Focus::Tree,
                };
                Vec::new()
            }
            Action::ListInIndex => self.list_in_index(),
            Action::Reload => vec![
                Step::Effect(Effect::Library(LibraryJob::Load)),
                Step::Toast(Toast::done("Looking for stores again…")),
            ],
            Action::Back => self.back(cx),
            _ => return None,
        })
    }

    /// Whether the text under the cursor is still being read.
    fn is_reading(&self) -> bool {
        let key = self.selected();
        let is_file = matches!(key, Some(Key::Memory(..) | Key::Entry(..)));
        is_file && key.is_some_and(|key| self.preview.document(&key).is_none())
    }

    pub(super) fn run_waiting_action(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        if self.is_reading() {
            return Vec::new();
        }
        let action = self.waiting.take();
        action
            .and_then(|action| self.act_on_selection(action, cx))
            .unwrap_or_default()
    }

    /// The store and memory under the cursor.
    pub(super) fn selected_memory(&self) -> Option<(StoreId, String)> {
        match self.selected()? {
            Key::Memory(store, path) | Key::Entry(store, path, _) => Some((store, path)),
            _ => None,
        }
    }

    pub(super) fn selected_store(&self) -> Option<&StoreSnapshot> {
        let id = match self.selected()? {
            Key::Store(store)
            | Key::Group(store, _)
            | Key::Memory(store, _)
            | Key::Entry(store, _, _) => store,
            _ => return None,
        };
        self.library.store_by_id(&id).map(|snapshot| &**snapshot)
    }

    fn editable_text(&self) -> Result<Unsaved, Toast> {
        let nothing = || Toast::done("Go to a memory to edit it");
        let key = self.selected().ok_or_else(nothing)?;
        let snapshot = self.selected_store().ok_or_else(nothing)?;
        let document = self.preview.document(&key).ok_or_else(|| match key {
            Key::Memory(..) | Key::Entry(..) => Toast::done("Still reading it…"),
            _ => nothing(),
        })?;
        editable_text(snapshot, document)
    }

    fn edit(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        // A store row shows the index, so editing it edits the index.
        if let Some(Key::Store(store)) = self.selected() {
            return self.edit_index(&store);
        }
        let key = self.selected();
        let line = match &key {
            Some(Key::Entry(store, path, slug)) => self
                .library
                .store_by_id(store)
                .and_then(|snapshot| snapshot.memory(path))
                .and_then(|memory| memory.entries.iter().find(|entry| entry.slug == *slug))
                .map_or(0, |entry| entry.line.saturating_sub(1)),
            // The line that the text was opened at, or was left at.
            Some(key) => {
                let opened = self.preview.line_of(key);
                let left = || self.edited_lines.get(&file_at(key)?).copied();
                let line = opened.map(|line| line.saturating_sub(1)).or_else(left);
                line.unwrap_or(0)
            }
            None => 0,
        };
        let scrolled = key.and_then(|key| self.preview.scrolled_to(&key));
        let line = scrolled.unwrap_or(line);
        match self.editable_text() {
            Ok(subject) => {
                let editor = match self.take_unsaved(&subject) {
                    Some(left) => EditorPane::reopen(left, line, cx),
                    None => EditorPane::open(subject, line, cx),
                };
                push(editor)
            }
            Err(why) => vec![Step::Toast(why)],
        }
    }

    fn unsaved_of(&self, subject: &Unsaved) -> Option<&LeftText> {
        let mut texts = self.unsaved_texts.iter();
        texts.find(|left| left.text.is_same_file(subject))
    }

    pub(super) fn take_unsaved(&mut self, subject: &Unsaved) -> Option<LeftText> {
        let same = |left: &LeftText| left.text.is_same_file(subject);
        let at = self.unsaved_texts.iter().position(same)?;
        Some(self.unsaved_texts.remove(at))
    }

    fn edit_index(&self, store: &StoreId) -> Vec<Step> {
        let is_index = self.library.store_by_id(store).is_some_and(|snapshot| {
            snapshot.store.layout() == Layout::Index && snapshot.index.is_some()
        });
        if !is_index {
            return say("Go to a memory to edit it");
        }
        let key = Key::Memory(store.clone(), index::INDEX.to_owned());
        let scrolled = self.preview.scrolled_to(&key).map(|line| line + 1);
        let line = scrolled.or_else(|| self.preview.line_of(&key));
        edit_file(store, index::INDEX, line)
    }

    /// Opens a new memory: the one that was begun and not saved, or a form for another.
    fn new_memory(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let mut texts = self.unsaved_texts.iter();
        if let Some(at) = texts.position(|left| left.text.base.is_none()) {
            let editor = EditorPane::reopen(self.unsaved_texts.remove(at), 0, cx);
            return push(editor);
        }
        let here = self.selected_store().map(|snapshot| snapshot.store.id());
        let kind = match self.selected() {
            Some(Key::Group(_, path)) => Some(path.to_lowercase()),
            Some(Key::Memory(store, path) | Key::Entry(store, path, _)) => self
                .library
                .store_by_id(&store)
                .and_then(|snapshot| snapshot.memory(&path))
                .and_then(|memory| {
                    let folder = path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
                    folder.or_else(|| memory.category.clone())
                }),
            _ => None,
        };
        match NewMemoryForm::new(&self.library, here, kind.as_deref()) {
            Some(form) => push(form),
            None => say_trouble("There is no store here that takes a memory"),
        }
    }

    fn prompt(&self, purpose: Purpose) -> Vec<Step> {
        let Some((store, path)) = self.selected_memory() else {
            return say("Go to a memory first");
        };
        let snapshot = self.library.store_by_id(&store);
        let memory = snapshot.and_then(|snapshot| snapshot.memory(&path));
        let title = memory.map_or_else(String::new, |memory| memory.title.clone());
        let entry = match self.selected() {
            Some(Key::Entry(_, _, slug)) => memory
                .and_then(|memory| memory.entries.iter().find(|entry| entry.slug == slug))
                .cloned(),
            _ => None,
        };
        if let (Purpose::Rename, None, Some(snapshot)) = (purpose, &entry, snapshot) {
            let (rules, root) = (snapshot.store.rules(), snapshot.store.root());
            if let Err(error) = rules.allow(Operation::Rename, &rules.file_of(&path), root) {
                return say(error.to_string());
            }
        }
        match self.editable_text() {
            Ok(subject) => {
                let prompt = match (entry, purpose) {
                    (Some(_), Purpose::Duplicate) => {
                        return say("Only a whole memory is duplicated");
                    }
                    (Some(entry), Purpose::Rename) => NamePrompt::of_entry(store, entry, subject),
                    (None, purpose) => NamePrompt::new(purpose, store, title, subject),
                };
                push(prompt)
            }
            Err(why) => vec![Step::Toast(why)],
        }
    }

    fn choose_store(&self) -> Vec<Step> {
        let memories = self.chosen();
        if memories.is_empty() {
            return say("Go to a memory first");
        }
        // In the order of the tree.
        let mut stores: Vec<_> = self.library.stores.iter().collect();
        stores.sort_by_key(|snapshot| snapshot.rank());
        let options: Vec<ChooserOption> = stores
            .into_iter()
            .filter(|snapshot| {
                memories
                    .iter()
                    .any(|(store, _)| snapshot.store.id() != store)
            })
            .filter(|snapshot| {
                !matches!(
                    snapshot.store.layout(),
                    Layout::Events | Layout::Instructions
                )
            })
            .map(|snapshot| {
                let to = snapshot.store.id();
                let moved = memories.iter().filter(|(store, _)| store != to);
                ChooserOption {
                    label: snapshot.store.name().to_owned(),
                    detail: to.layout().name().to_owned(),
                    step: Step::Plan(Box::new(Request::Move {
                        memories: moved.cloned().collect(),
                        to: to.clone(),
                        links: BrokenLinks::Follow,
                    })),
                }
            })
            .collect();
        if options.is_empty() {
            return say("There is no other store here");
        }
        let title = match memories.as_slice() {
            [(_, path)] => format!("move {path} to"),
            several => format!("move {} to", count(several.len(), "memory", "memories")),
        };
        push(Chooser::new(title, options))
    }

    fn delete(&self) -> Vec<Step> {
        let mut wanted: BTreeMap<StoreId, Vec<String>> = BTreeMap::new();
        for (store, path) in self.chosen() {
            wanted.entry(store).or_default().push(path);
        }
        if wanted.is_empty() {
            return say("Go to a memory to delete it");
        }
        let request = Request::Delete(wanted.into_iter().collect());
        plan(request)
    }

    fn copy(&self) -> Vec<Step> {
        let name = || {
            let snapshot = self.selected_store();
            snapshot.map_or(String::new(), |snapshot| snapshot.store.name().to_owned())
        };
        let citation = match self.selected() {
            Some(Key::Memory(_, path)) => (name(), path, CitedPart::Whole),
            Some(Key::Entry(_, path, slug)) => (name(), path, CitedPart::Entry(slug)),
            _ => match self.selected_log() {
                Some(log) => {
                    let agent = log.file.agent.name().to_owned();
                    (agent, log.file.id.clone(), CitedPart::Whole)
                }
                None => return say("Go to a memory to cite it"),
            },
        };
        let (store, path, part) = citation;
        let text = Citation {
            store: Some(store),
            path,
            part,
            mark: None,
        }
        .to_string();
        copy_to_clipboard(text)
    }

    fn copy_text(&self) -> Vec<Step> {
        match self.preview.content.text.as_str() {
            "" => say("Go to a memory to copy its text"),
            text => copy_to_clipboard(text.to_owned()),
        }
    }

    /// Adds the memories to the store's index that it does not name.
    pub(super) fn list_in_index(&self) -> Vec<Step> {
        let Some(snapshot) = self.selected_store() else {
            return say("Go to a store, or into one");
        };
        if snapshot.unlisted.is_empty() {
            return say("Its index leaves nothing out");
        }
        plan(Request::Change {
            store: snapshot.store.id().clone(),
            change_request: ChangeRequest::Index(IndexUpdate::Repair),
        })
    }

    pub(super) fn can_run(&self, action: Action) -> bool {
        match action {
            Action::Edit => match self.selected() {
                Some(Key::Memory(..) | Key::Entry(..)) => true,
                Some(Key::Store(_)) => self.selected_store().is_some_and(|s| s.index.is_some()),
                _ => false,
            },
            Action::Delete => !self.marked().is_empty() || self.selected_memory().is_some(),
            Action::Rename | Action::Duplicate => self.selected_memory().is_some(),
            Action::Resume | Action::Keep => self.selected_log().is_some(),
            Action::Review => !self.to_review.is_empty(),
            Action::Why => self.selected_memory().is_some() || self.selected_log().is_some(),
            Action::ListInIndex => self
                .selected_store()
                .is_some_and(|s| !s.unlisted.is_empty()),
            Action::Open | Action::NextLink if self.focus == Focus::Preview => {
                self.selected_log().is_some() || self.preview.page.links() > 0
            }
            _ => true,
        }
    }

    /// Opens the editor with the file of a piece.
    pub(super) fn edit_piece(
        &mut self,
        context: &Arc<AgentContext>,
        at: usize,
        subject: &Unsaved,
        cx: &PaneContext<'_>,
    ) -> Vec<Step> {
        let Some(piece) = context.pieces.get(at) else {
            return Vec::new();
        };
        let editor = match self.take_unsaved(subject) {
            Some(left) => EditorPane::reopen(left, 0, cx),
            None => EditorPane::open(subject.clone(), 0, cx),
        };
        let (editor, ask) = editor.with_context(context, &piece.path);
        vec![Step::Push(Box::new(editor)), ask]
    }
}

fn above_log(library: &Library, path: &Path, id: &str) -> Vec<Key> {
    let is = |log: &LogSummary| log.file.path == path && log.file.id == id;
    let mut keys = vec![Key::Sessions];
    let Some(log_group) = library
        .logs
        .iter()
        .find(|log_group| log_group.logs.iter().any(is))
    else {
        return keys;
    };
    let agent = log_group.agent.name().to_owned();
    keys.push(Key::Agent(agent.clone()));
    keys.push(Key::LogGroup(agent, log_group.project.clone()));
    let mut at = log_group.logs.iter().find(|log| is(log));
    while let Some(parent) = at.and_then(|log| log_group.logs.get(log.parent?)) {
        keys.push(Key::Log(parent.file.path.clone(), parent.file.id.clone()));
        at = Some(parent);
    }
    keys
}

/// Returns a file as an editable text, or an error if it is not UTF-8 or not editable.
pub(crate) fn editable_text(
    snapshot: &StoreSnapshot,
    document: &Document,
) -> Result<Unsaved, Toast> {
    let text = String::from_utf8(document.bytes.clone())
        .map_err(|_| Toast::trouble(format!("{} is not UTF-8 text", document.path)))?;
    if snapshot.store.layout() == Layout::Events {
        return Err(Toast::trouble("Events are never changed"));
    }
    Ok(Unsaved {
        root: snapshot.store.root().path().to_owned(),
        layout: snapshot.store.layout(),
        path: document.path.clone(),
        base: Some(text.clone()),
        text,
        time: 0,
    })
}

/// Returns the rows above one, outermost first.
pub(super) fn above(library: &Library, key: &Key) -> Vec<Key> {
    let (store, path) = match key {
        Key::Memory(store, path) | Key::Entry(store, path, _) => (store, path),
        Key::Group(store, _) => return vec![Key::Store(store.clone())],
        Key::Log(path, id) => return above_log(library, path, id),
        _ => return Vec::new(),
    };
    let mut keys = vec![Key::Store(store.clone())];
    let snapshot = library.store_by_id(store);
    if snapshot.is_some_and(|snapshot| snapshot.store.layout() == Layout::Instructions) {
        return vec![Key::Instructions];
    }
    let memory = snapshot.and_then(|snapshot| snapshot.memory(path));
    let layout = snapshot.map(|snapshot| snapshot.store.layout());
    if let (Some(memory), Some(layout)) = (memory, layout)
        && let Some((_, group)) = super::tree::group_of(layout, memory)
    {
        let groups = super::tree::folders(layout, &group).into_iter();
        keys.extend(groups.map(|group| Key::Group(store.clone(), group)));
    }
    if matches!(key, Key::Entry(..)) {
        keys.push(Key::Memory(store.clone(), path.clone()));
    }
    keys
}
