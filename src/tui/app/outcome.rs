//! The app's own handling of events: plans, commits, edited texts, conflicts.

use std::collections::BTreeSet;
use std::path::Path;

use super::App;
use crate::core::change::history::Record;
use crate::core::change::{Change, ChangeRequest};
use crate::core::disk::error::Conflict;
use crate::core::insight::curate::waiver::Waiver;
use crate::core::insight::promote::Proposal;
use crate::core::insight::review::Item;
use crate::core::memory::store::{Document, StoreId};
use crate::core::memory::unsaved::Unsaved;
use crate::core::text::diff::merge;
use crate::core::text::display::format_size;
use crate::core::{Error, Result};
use crate::tui::action::Action;
use crate::tui::cells;
use crate::tui::chrome::count;
use crate::tui::effect::{
    Effect, Request, ReviewJob, SaveKind, UndoDirection, UnsavedJob, WaiveJob,
};
use crate::tui::event::{Event, NewMemoryText, ReviewCounts, WaitingFiles};
use crate::tui::keymap::KeyContext;
use crate::tui::overlay::chooser::choose_home;
use crate::tui::overlay::form::NewMemoryForm;
use crate::tui::overlay::merge::MergeDialog;
use crate::tui::overlay::recover::RecoverDialog;
use crate::tui::overlay::review::ReviewDialog;
use crate::tui::pane::browse::editable_text;
use crate::tui::pane::editor::EditorPane;
use crate::tui::pane::{Step, Toast, push, say, say_trouble};

impl App {
    /// Handles an event after every pane has handled it; returns the steps to take.
    pub(super) fn after_event(&mut self, event: Event) -> Vec<Step> {
        match event {
            Event::Planned {
                generation,
                request,
                result,
                notes,
            } if generation == self.generation => self.planned(request, result, notes),
            Event::Committed { request, result } => self.committed(request, result),
            Event::Outdated {
                request,
                change,
                notes,
            } => {
                let mut steps = self.planned(request, Ok(change), notes);
                steps.push(Step::Toast(Toast::trouble(
                    "It was changed outside meanwhile; nothing was written",
                )));
                steps
            }
            Event::Composed(result) => self.composed(result),
            Event::FormerHomes(homes) => choose_home(homes),
            Event::Gathered(Ok(task)) => push(MergeDialog::of_memories(task)),
            Event::Gathered(Err(error)) => say_trouble(error.to_string()),
            Event::Fetched {
                store,
                line,
                result,
            } => self.fetched(&store, line, result),
            Event::Proposed(result) => self.proposed(result),
            Event::EditedOutside {
                subject,
                written,
                trouble,
            } => self.edited_outside(subject, written, trouble),
            Event::Abandoned(texts) => texts
                .into_iter()
                .map(|text| Step::Push(Box::new(RecoverDialog::new(text))))
                .collect(),
            Event::Copied { text, by } => self.copied(&text, &by),
            Event::ResumeEnded { program, trouble } => vec![Step::Toast(match trouble {
                Some(trouble) => Toast::trouble(trouble),
                None => Toast::done(format!("{program} has ended")),
            })],
            Event::Queried(query) => {
                self.remember_query(query);
                Vec::new()
            }
            Event::ReviewCounted(counts) => {
                self.to_review = counts;
                Vec::new()
            }
            Event::QueueLoaded { waiting, .. } => self.queue_loaded(&waiting),
            Event::Reviewed { job, result } => {
                let undo = self.keymap.key(KeyContext::Queue, Action::Undo);
                vec![Step::Toast(reviewed(&job, result, undo))]
            }
            Event::Waived { job, result } => vec![Step::Toast(self.waived(&job, result))],
            Event::Kept(result) => vec![Step::Toast(match result {
                Ok(true) => Toast::done("Kept: its agent may delete the session, tome has a copy"),
                Ok(false) => Toast::done("This is the copy that was kept"),
                Err(error) => Toast::trouble(error.to_string()),
            })],
            Event::Shared { store, result } => vec![Step::Toast(match result {
                Ok(true) => Toast::done(format!("{store} is shared; tome sync carries it")),
                Ok(false) => Toast::done(format!("{store} is no longer shared")),
                Err(error) => Toast::trouble(error.to_string()),
            })],
            Event::EditorLeft(left) => {
                let action = if left.text.base.is_none() {
                    Action::New
                } else {
                    Action::Edit
                };
                let key = self.key_here(action);
                let how = key.map_or_else(String::new, |key| format!("; {key} goes on with it"));
                say_trouble(format!("{} is not saved{how}", left.text.path))
            }
            Event::Failed(message) => say_trouble(message),
            // The same problems are reported once, however often the library is read.
            Event::Indexed(library) if library.problems != self.problems => {
                self.problems.clone_from(&library.problems);
                let toast = self.problems.first().cloned().map(Toast::trouble);
                toast.map(Step::Toast).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn planned(
        &mut self,
        request: Box<Request>,
        result: Result<Change>,
        mut notes: Vec<String>,
    ) -> Vec<Step> {
        if let Request::Save(text) = &*request {
            let panes = self.panes.iter();
            notes.extend(panes.filter_map(|pane| pane.save_note(text)));
        }
        match result {
            Ok(change) if change.is_empty() && is_index_update(&request) => say_trouble(
                "The index has no list: write a first line such as - [name](file.md) into it",
            ),
            Ok(change) if change.is_empty() => say("Nothing would be different"),
            Ok(change) => {
                notes.extend(self.index_sizes(&change));
                notes.extend(change.index_warning());
                let dialog = ReviewDialog::new(request, change, notes);
                push(dialog)
            }
            Err(Error::Conflict(conflict)) => match *request {
                Request::Save(text) => on_conflict(text, *conflict),
                _ => say_trouble(Error::Conflict(conflict).to_string()),
            },
            Err(error) => say_trouble(error.to_string()),
        }
    }

    /// What the indexes of a change take; of several, each with the name of its store.
    fn index_sizes(&self, change: &Change) -> Vec<String> {
        let sizes = change.index_sizes();
        let several = sizes.len() > 1;
        let named = |(root, size): (&Path, String)| {
            let mut stores = self.library.stores.iter().map(|snapshot| &snapshot.store);
            let store = stores.find(|store| several && store.root().path() == root);
            store.map_or(size.clone(), |store| format!("{} · {size}", store.name()))
        };
        sizes.into_iter().map(named).collect()
    }

    fn committed(&mut self, request: Box<Request>, result: Result<Option<Record>>) -> Vec<Step> {
        match result {
            Ok(None) => say("Nothing was different"),
            Ok(Some(record)) => say(self.commit_message(&request, &record)),
            // The files changed meanwhile: plan again from the current ones.
            Err(Error::Conflict(_)) if !matches!(*request, Request::Latest(_)) => {
                vec![Step::Plan(request)]
            }
            Err(error) => say_trouble(error.to_string()),
        }
    }

    /// Counts what waits for review. Another process may have accepted some of it, which changes
    /// no store.
    fn queue_loaded(&self, waiting: &[(StoreId, Vec<Item>)]) -> Vec<Step> {
        let files = |items: &[Item]| {
            let paths: BTreeSet<String> = items.iter().map(|item| item.path.clone()).collect();
            WaitingFiles {
                count: paths.len(),
                paths,
            }
        };
        let counts: ReviewCounts = waiting
            .iter()
            .map(|(store, items)| (store.clone(), files(items)))
            .collect();
        if counts == self.to_review {
            Vec::new()
        } else {
            vec![Step::Broadcast(Box::new(Event::ReviewCounted(counts)))]
        }
    }

    /// The key of an action where the user is now.
    fn key_here(&self, action: Action) -> Option<String> {
        let ground = self.panes.iter().rev().find(|pane| pane.is_fullscreen());
        self.keymap.key(ground?.key_context(), action)
    }

    /// Describes a commit and names the key that undoes it, if there is one here.
    fn commit_message(&self, request: &Request, record: &Record) -> String {
        let (action, word) = match request {
            Request::Latest(UndoDirection::Undo) => (Action::Redo, "makes it again"),
            _ => (Action::Undo, "undoes it"),
        };
        let Some(key) = self.key_here(action) else {
            return record.message.clone();
        };
        // The message may name many files; the key must stay on the screen.
        let undo = format!(" · {key} {word}");
        let room = usize::from(self.areas.status.width).saturating_sub(cells::width(&undo) + 4);
        format!("{}{undo}", cells::cut(&record.message, room))
    }

    /// Says what was copied and through what. In the editor every cut is a copy, so it is silent.
    fn copied(&self, text: &str, by: &str) -> Vec<Step> {
        let context = self.panes.last().map(|pane| pane.key_context());
        if context == Some(KeyContext::Editor) {
            return Vec::new();
        }
        let what = if text.trim_end().contains('\n') {
            format_size(text.len() as u64)
        } else {
            text.trim_end().to_owned()
        };
        let by = format!(" · {by}");
        let room = usize::from(self.areas.status.width).saturating_sub(cells::width(&by) + 11);
        let what = cells::cut(&what, room);
        say(format!("Copied {what}{by}"))
    }

    /// Says what was waived, and which key undoes that.
    fn waived(&self, job: &WaiveJob, result: Result<Vec<Option<Waiver>>>) -> Toast {
        let things = count(job.findings.len(), "finding", "findings");
        let key = self.keymap.key(KeyContext::Curate, Action::Undo);
        let undo = key.map_or_else(String::new, |key| format!(" · {key} undoes it"));
        match (result, &job.words) {
            (Err(error), _) => Toast::trouble(error.to_string()),
            (Ok(_), Some(_)) => Toast::done(format!("{things} waived{undo}")),
            // That may be an undo itself.
            (Ok(_), None) => Toast::done(format!("{things} open again")),
        }
    }

    fn composed(&mut self, result: Result<NewMemoryText>) -> Vec<Step> {
        let fresh = match result {
            Ok(fresh) => fresh,
            Err(error) => return say_trouble(error.to_string()),
        };
        let Some(snapshot) = self.library.store_by_id(&fresh.store) else {
            return Vec::new();
        };
        let text = Unsaved {
            root: snapshot.store.root().path().to_owned(),
            layout: snapshot.store.layout(),
            path: fresh.path,
            base: None,
            text: fresh.text,
            time: self.now,
        };
        let kind = if fresh.lessons.is_empty() {
            SaveKind::Alone
        } else {
            SaveKind::Generalize(fresh.lessons)
        };
        let editor = EditorPane::open(text, 0, &self.pane_context()).saving(kind);
        push(editor)
    }

    /// Opens the form of a memory that is proposed for lines of logs.
    fn proposed(&mut self, result: Result<Box<Proposal>>) -> Vec<Step> {
        let proposal = match result {
            Ok(proposal) => proposal,
            Err(error) => return say_trouble(error.to_string()),
        };
        vec![match NewMemoryForm::promoting(&self.library, *proposal) {
            Some(form) => Step::Push(Box::new(form)),
            None => Step::Toast(Toast::trouble("No store here takes a memory")),
        }]
    }

    fn fetched(&mut self, store: &StoreId, line: usize, result: Result<Document>) -> Vec<Step> {
        let document = match result {
            Ok(document) => document,
            Err(error) => return say_trouble(error.to_string()),
        };
        let Some(snapshot) = self.library.store_by_id(store) else {
            return Vec::new();
        };
        match editable_text(snapshot, &document) {
            Ok(text) => {
                let editor = EditorPane::open(text, line, &self.pane_context());
                push(editor)
            }
            Err(why) => vec![Step::Toast(why)],
        }
    }

    /// Opens the editor on a text edited in `$EDITOR`; saving shows a diff first. What a failing
    /// editor wrote is kept as an unsaved text.
    fn edited_outside(
        &mut self,
        subject: Unsaved,
        written: Option<String>,
        trouble: Option<String>,
    ) -> Vec<Step> {
        let written = written.filter(|text| *text != subject.text);
        let toast = match (&written, trouble) {
            (Some(_), Some(trouble)) => Some(Toast::trouble(format!(
                "{trouble}; what was written is here, not saved yet"
            ))),
            (None, Some(trouble)) => Some(Toast::trouble(trouble)),
            (Some(_), None) => None,
            (None, None) => Some(Toast::done("Nothing was changed")),
        };
        let is_open = self
            .panes
            .iter()
            .any(|pane| pane.key_context() == KeyContext::Editor);
        let mut steps = Vec::new();
        if let Some(text) = written.filter(|_| !is_open) {
            let text = Unsaved {
                text,
                time: self.now,
                ..subject
            };
            let editor = EditorPane::open(text.clone(), 0, &self.pane_context());
            steps.push(Step::Push(Box::new(editor)));
            steps.push(match toast {
                Some(_) => Step::Effect(Effect::Unsaved(UnsavedJob::Keep(text))),
                None => Step::Broadcast(Box::new(Event::Resolved(text))),
            });
        }
        steps.extend(toast.map(Step::Toast));
        steps
    }
}

/// Merges a text with the file that changed while it was edited; overlapping edits open a dialog.
fn on_conflict(text: Unsaved, conflict: Conflict) -> Vec<Step> {
    let Some(theirs) = conflict.theirs else {
        let text = Unsaved { base: None, ..text };
        return vec![Step::Broadcast(Box::new(Event::Resolved(text)))];
    };
    let base = conflict.base.unwrap_or_default();
    let Ok(their_text) = String::from_utf8(theirs.clone()) else {
        let message = format!("{} is not UTF-8 text any more", conflict.path);
        return say_trouble(message);
    };
    match merge(&base, text.text.as_bytes(), &theirs) {
        Some(merged) => {
            let merged = Unsaved {
                text: String::from_utf8_lossy(&merged).into_owned(),
                base: Some(their_text),
                ..text
            };
            vec![
                Step::Broadcast(Box::new(Event::Resolved(merged))),
                Step::Toast(Toast::trouble(format!(
                    "{} was changed outside; both changes are in this",
                    conflict.path
                ))),
            ]
        }
        None => push(MergeDialog::of_versions(text, their_text)),
    }
}

/// Describes what was decided in the review.
fn reviewed(job: &ReviewJob, result: Result<usize>, undo: Option<String>) -> Toast {
    let back = undo.map(|key| format!("; {key} takes it back"));
    let back = back.unwrap_or_default();
    match (job, result) {
        (_, Err(error)) => Toast::trouble(error.to_string()),
        (ReviewJob::AcceptBefore, Ok(_)) => {
            Toast::done(format!("What was here before tome is accepted{back}"))
        }
        (ReviewJob::TakeBackBefore, Ok(_)) => {
            Toast::done("What was here before tome is not accepted any more")
        }
        (_, Ok(0)) => Toast::trouble("It was changed meanwhile; look at it again"),
        (ReviewJob::Accept(_), Ok(1)) => Toast::done(format!("Accepted{back}")),
        (ReviewJob::Accept(_), Ok(number)) => Toast::done(format!("Accepted {number} files{back}")),
        (ReviewJob::Resolve { .. }, Ok(_)) => Toast::done(format!("Merged{back}")),
        (ReviewJob::Note { .. }, Ok(_)) => Toast::done("Noted"),
    }
}

fn is_index_update(request: &Request) -> bool {
    let Request::Change { change_request, .. } = request else {
        return false;
    };
    matches!(change_request, ChangeRequest::Index(_))
}
