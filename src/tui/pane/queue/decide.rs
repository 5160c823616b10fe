//! What is done about the file, hunk or line under the cursor.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::QueuePane;
use super::rows::Entry;
use crate::core::insight::review::{ItemChange, Sent};
use crate::core::memory::FileKind;
use crate::core::memory::library::Library;
use crate::core::memory::store::StoreId;
use crate::core::text::display::format_ago;
use crate::tui::action::Action;
use crate::tui::effect::{Effect, Request, ReviewJob, WriteJob};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::Focus;
use crate::tui::model::PaneContext;
use crate::tui::overlay::merge::MergeDialog;
use crate::tui::overlay::note::{NotePrompt, NotePurpose};
use crate::tui::pane::browse::tree::Key;
use crate::tui::pane::log::{LogPane, cited_log};
use crate::tui::pane::why::WhyPane;
use crate::tui::pane::{Step, Toast, edit_file, perform, plan, push, read_in_tree, reveal, say};
use crate::tui::widget::emphasis::MarkedWords;

impl QueuePane {
    /// Accepts these ids. They leave the list at once, so that the next key is about the next one.
    fn accept(&mut self, stores: Vec<(StoreId, Vec<String>)>, cx: &PaneContext<'_>) -> Vec<Step> {
        let ids: Vec<String> = stores.iter().flat_map(|(_, ids)| ids.clone()).collect();
        if ids.is_empty() {
            return Vec::new();
        }
        self.decided.clone_from(&ids);
        self.accepted.extend(ids);
        self.is_before_said = false;
        self.show(cx);
        let job = ReviewJob::Accept(stores);
        perform(Effect::Write(WriteJob::Review(job)))
    }

    /// What is decided about: the marked files, or else the file, hunk or line under the cursor.
    fn chosen(&self) -> Vec<(StoreId, Vec<String>)> {
        let marked = self.list.marked();
        if marked.is_empty() {
            let entry = self.entry();
            let chosen = entry.map(|entry| (entry.store.clone(), self.chosen_ids(entry)));
            return chosen.into_iter().collect();
        }
        let entries = self.queue.entries.iter();
        by_store(entries.filter(|entry| marked.contains(&entry.item.id)))
    }

    /// Everything of the same session, or of the same author if no session is known.
    fn session(&self) -> Vec<(StoreId, Vec<String>)> {
        let entry = self.entry().into_iter();
        by_store(entry.flat_map(|own| self.queue.beside(own)))
    }

    /// Accepts the marked files, or the file, hunk or line under the cursor. Both texts of a conflict are
    /// merged by the person; of one that a side deleted, what was deleted is looked at first.
    pub(super) fn accept_chosen(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let conflict = self.entry().filter(|entry| entry.item.is_conflict());
        let conflict = conflict.filter(|_| self.list.marked().is_empty());
        if let Some(Entry { store, item, .. }) = conflict
            && let Some(texts) = &item.conflict
        {
            let merge = MergeDialog::of_conflict(store.clone(), item.clone(), Arc::clone(texts));
            return push(merge);
        }
        if let Some(Entry { item, .. }) = conflict
            && self.warned_of != item.id
        {
            let (id, what) = (item.id.clone(), item.what());
            self.warned_of = id;
            self.focus = Focus::Preview;
            let key = |action| cx.keymap.key(KeyContext::Queue, action).unwrap_or_default();
            let (accept, revert) = (key(Action::Accept), key(Action::Revert));
            return say(format!(
                "{what}: {accept} takes what was sent, {revert} keeps yours"
            ));
        }
        if self.list.marked().is_empty() {
            self.accept(self.chosen(), cx)
        } else {
            self.accept_all(self.chosen(), cx)
        }
    }

    /// Accepts everything of the session; where nothing waits, what was here before tome.
    pub(super) fn accept_session(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        if self.queue.entries.is_empty() && self.here_before > 0 {
            self.is_before_said = true;
            let job = ReviewJob::AcceptBefore;
            return perform(Effect::Write(WriteJob::Review(job)));
        }
        self.accept_all(self.session(), cx)
    }

    /// Accepts files, but for conflicts, of which both texts are looked at.
    fn accept_all(
        &mut self,
        mut stores: Vec<(StoreId, Vec<String>)>,
        cx: &PaneContext<'_>,
    ) -> Vec<Step> {
        let entries = self.queue.entries.iter();
        let conflicts: HashSet<String> = entries
            .filter(|entry| entry.item.is_conflict())
            .flat_map(|entry| entry.item.ids())
            .collect();
        for (_, ids) in &mut stores {
            ids.retain(|id| !conflicts.contains(id));
        }
        self.accept(stores, cx)
    }

    pub(super) fn revert(&mut self) -> Vec<Step> {
        let chosen = self.chosen();
        self.decided = chosen.iter().flat_map(|(_, ids)| ids.clone()).collect();
        revert(chosen)
    }

    pub(super) fn revert_session(&self) -> Vec<Step> {
        revert(self.session())
    }

    pub(super) fn note(&self) -> Vec<Step> {
        let Some(entry) = self.entry() else {
            return Vec::new();
        };
        let path = entry.item.path.clone();
        let store = entry.store.clone();
        let ids = self.chosen_ids(entry);
        let prompt = NotePrompt::new(path, NotePurpose::Review { store, ids });
        push(prompt)
    }

    /// The first line of the file that differs in what is decided about, counted from 1.
    fn line(&self, entry: &Entry) -> Option<usize> {
        let first = || Some((0, entry.item.hunks.first()?.whole()));
        let (at, part) = self.chosen_part().or_else(first)?;
        let hunk = entry.item.hunks.get(at)?;
        let lines: Vec<&str> = hunk.text.lines().collect();
        let differs = |line: &&usize| !lines[**line].starts_with(' ');
        let before = &lines[..*part.lines.iter().find(differs)?];
        let removed = before.iter().filter(|line| line.starts_with('-'));
        Some(hunk.new.start + before.len() - removed.count() + 1)
    }

    pub(super) fn edit(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(entry) = self.entry() else {
            return Vec::new();
        };
        if entry.item.sent.is_some() {
            return vec![self.only_proposed(entry, cx)];
        }
        match FileState::of(entry, cx.library) {
            FileState::Memory(key) => vec![reveal(key, self.line(entry), Some(Action::Edit))],
            FileState::Index => edit_file(&entry.store, &entry.item.path, self.line(entry)),
            FileState::Gone => vec![self.gone(entry, cx)],
            FileState::Proposed => vec![self.only_proposed(entry, cx)],
        }
    }

    pub(super) fn delete(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(entry) = self.entry() else {
            return Vec::new();
        };
        match FileState::of(entry, cx.library) {
            FileState::Memory(_) => {
                let paths = vec![entry.item.path.clone()];
                let request = Request::Delete(vec![(entry.store.clone(), paths)]);
                plan(request)
            }
            FileState::Index => say("The index is no memory: edit it, or revert it"),
            FileState::Gone => vec![self.gone(entry, cx)],
            FileState::Proposed => vec![self.only_proposed(entry, cx)],
        }
    }

    pub(super) fn open_memory(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(entry) = self.entry() else {
            return Vec::new();
        };
        let (key, line) = match FileState::of(entry, cx.library) {
            FileState::Memory(key) => (key, self.line(entry)),
            FileState::Index => (Key::Store(entry.store.clone()), None),
            FileState::Gone => return vec![self.gone(entry, cx)],
            FileState::Proposed => return vec![self.only_proposed(entry, cx)],
        };
        read_in_tree(key, line, MarkedWords::default()).into()
    }

    /// Shows which sessions wrote the lines of the file; of what is deleted or proposed, the session
    /// that did it.
    pub(super) fn explain(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(entry) = self.entry() else {
            return Vec::new();
        };
        if entry.item.change != ItemChange::Deleted && !entry.item.is_offered() {
            let line = self.line(entry).unwrap_or(1) - 1;
            return WhyPane::open(entry.store.clone(), entry.item.path.clone(), line);
        }
        if let Some(sent) = &entry.item.sent {
            let ago = format_ago(entry.item.time, cx.now);
            let Sent {
                machine, commit, ..
            } = sent;
            return say(format!("{machine} sent it {ago}, in commit {commit}"));
        }
        let origin = entry.item.origin.as_ref();
        let citation = origin.and_then(|origin| origin.citation.as_deref());
        let log = citation.and_then(|citation| cited_log(cx.library, citation));
        match log {
            Some((log, start)) => LogPane::open(log, start),
            None if entry.item.is_offered() => say("No session is known that proposed it"),
            None => say("No session is known that deleted it"),
        }
    }

    /// Says that a file is only proposed, and how it is made.
    fn only_proposed(&self, entry: &Entry, cx: &PaneContext<'_>) -> Step {
        let key = cx.keymap.key(KeyContext::Queue, Action::Accept);
        let path = &entry.item.path;
        let (state, makes) = if entry.item.conflict.is_some() {
            ("here and sent with other words", "merges both texts")
        } else if entry.item.sent.is_some() {
            ("not written as it was sent yet", "accepts it")
        } else {
            ("only proposed", "accepts it")
        };
        let how = key.map(|key| format!("; {key} {makes}"));
        Step::Toast(Toast::done(format!(
            "{path} is {state}{}",
            how.unwrap_or_default()
        )))
    }

    /// Says that a file is deleted, and how it comes back.
    fn gone(&self, entry: &Entry, cx: &PaneContext<'_>) -> Step {
        let key = cx.keymap.key(KeyContext::Queue, Action::Revert);
        let path = &entry.item.path;
        let how = key.map(|key| format!("; {key} brings it back"));
        Step::Toast(Toast::done(format!(
            "{path} is not there any more{}",
            how.unwrap_or_default()
        )))
    }
}

/// The ids of what these files wait with, store by store.
fn by_store<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<(StoreId, Vec<String>)> {
    let mut stores: BTreeMap<StoreId, Vec<String>> = BTreeMap::new();
    for entry in entries {
        let ids = stores.entry(entry.store.clone()).or_default();
        ids.extend(entry.item.ids());
    }
    stores.into_iter().collect()
}

fn revert(chosen: Vec<(StoreId, Vec<String>)>) -> Vec<Step> {
    if chosen.is_empty() {
        return Vec::new();
    }
    plan(Request::Revert(chosen))
}

/// What is there of a file that waits.
enum FileState {
    Memory(Key),
    /// An index, which is no memory.
    Index,
    Gone,
    /// It is proposed, and is not a memory of this store yet.
    Proposed,
}

impl FileState {
    fn of(entry: &Entry, library: &Library) -> Self {
        let snapshot = library.store_by_id(&entry.store);
        let memory = snapshot.and_then(|snapshot| snapshot.memory(&entry.item.path));
        // A proposal for a file elsewhere names it by its whole path.
        let is_here = !Path::new(&entry.item.path).is_absolute();
        let is_index = is_here && entry.item.change != ItemChange::Added;
        match memory {
            Some(memory) if memory.kind == FileKind::Index => Self::Index,
            Some(memory) => Self::Memory(Key::Memory(entry.store.clone(), memory.path.clone())),
            None if entry.item.change == ItemChange::Deleted => Self::Gone,
            None if entry.item.is_offered() && !is_index => Self::Proposed,
            None => Self::Index,
        }
    }
}
