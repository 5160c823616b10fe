//! What comes of events that are nobody's own: plans, changes made, texts that came back.

use super::App;
use crate::core::change::Change;
use crate::core::diff::merge;
use crate::core::error::Conflict;
use crate::core::history::Record;
use crate::core::store::Document;
use crate::core::unsaved::Unsaved;
use crate::core::{Error, Result};
use crate::tui::action::Action;
use crate::tui::effect::{Request, Target, Which};
use crate::tui::event::{Event, Fresh};
use crate::tui::keymap::Place;
use crate::tui::overlay::merge::Merge;
use crate::tui::overlay::offer::Offer;
use crate::tui::overlay::reader::Reader;
use crate::tui::overlay::review::Review;
use crate::tui::pane::browse::subject_of;
use crate::tui::pane::editor::Editor;
use crate::tui::pane::{Step, Toast};

impl App {
    /// What follows from an event once every pane has heard it.
    pub(super) fn settle(&mut self, event: Event) -> Vec<Step> {
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
                steps.push(Step::Say(Toast::trouble(
                    "It was changed outside meanwhile; nothing was written",
                )));
                steps
            }
            Event::Composed(result) => self.composed(result),
            Event::Fetched { target, result } => self.fetched(target, result),
            Event::Lent { subject, result } => self.lent(subject, result),
            Event::LeftBehind(texts) => texts
                .into_iter()
                .map(|text| Step::Push(Box::new(Offer::new(text))))
                .collect(),
            Event::Failed(message) => vec![Step::Say(Toast::trouble(message))],
            // The same trouble is told once, however often the library is read.
            Event::Indexed(library) if library.problems != self.problems => {
                self.problems.clone_from(&library.problems);
                let told = self.problems.first().cloned().map(Toast::trouble);
                told.map(Step::Say).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn planned(
        &mut self,
        request: Box<Request>,
        result: Result<Change>,
        notes: Vec<String>,
    ) -> Vec<Step> {
        match result {
            Ok(change) if change.is_empty() => {
                vec![Step::Say(Toast::done("Nothing would be different"))]
            }
            Ok(change) => vec![Step::Push(Box::new(Review::new(request, change, notes)))],
            Err(Error::Conflict(conflict)) => match *request {
                Request::Save(text) => conflicting(text, *conflict),
                _ => vec![trouble(&Error::Conflict(conflict))],
            },
            Err(error) => vec![trouble(&error)],
        }
    }

    fn committed(&mut self, request: Box<Request>, result: Result<Option<Record>>) -> Vec<Step> {
        match result {
            Ok(None) => vec![Step::Say(Toast::done("Nothing was different"))],
            Ok(Some(record)) => vec![Step::Say(Toast::done(self.told(&request, &record)))],
            // Somebody was quicker: the same again, on what is there now.
            Err(Error::Conflict(_)) if !matches!(*request, Request::Again(_)) => {
                vec![Step::Plan(request)]
            }
            Err(error) => vec![trouble(&error)],
        }
    }

    /// What was done, and the key that takes it back.
    fn told(&self, request: &Request, record: &Record) -> String {
        let (action, word) = match request {
            Request::Again(Which::Undo) => (Action::Redo, "makes it again"),
            _ => (Action::Undo, "undoes it"),
        };
        match self.keymap.key(Place::Tree, action) {
            Some(key) => format!("{} · {key} {word}", record.message),
            None => record.message.clone(),
        }
    }

    fn composed(&mut self, result: Result<Fresh>) -> Vec<Step> {
        let fresh = match result {
            Ok(fresh) => fresh,
            Err(error) => return vec![trouble(&error)],
        };
        let Some(shelf) = self.library.shelf_by_id(&fresh.store) else {
            return Vec::new();
        };
        let text = Unsaved {
            root: shelf.store.root().path().to_owned(),
            layout: shelf.store.layout(),
            path: fresh.path,
            base: None,
            text: fresh.text,
            time: self.now,
        };
        let editor = Editor::open(text, 0, &self.scene());
        vec![Step::Push(Box::new(editor))]
    }

    fn fetched(&mut self, target: Target, result: Result<Document>) -> Vec<Step> {
        let document = match result {
            Ok(document) => document,
            Err(error) => return vec![trouble(&error)],
        };
        match target {
            Target::Context { store } => {
                let shelf = self.library.shelf_by_id(&store);
                let name = shelf.map_or("", |shelf| shelf.store.name());
                let title = format!("what the agent of {name} gets to see");
                let reader = match document.lossy().as_ref() {
                    "" => Reader::text(title, "Nothing of this store is put before it unasked."),
                    text => Reader::text(title, text),
                };
                vec![Step::Push(Box::new(reader))]
            }
            Target::File { store, .. } => {
                let Some(shelf) = self.library.shelf_by_id(&store) else {
                    return Vec::new();
                };
                match subject_of(shelf, &document) {
                    Ok(text) => {
                        let editor = Editor::open(text, 0, &self.scene());
                        vec![Step::Push(Box::new(editor))]
                    }
                    Err(why) => vec![Step::Say(why)],
                }
            }
        }
    }

    /// A text came back from another program: on to the editor, which saves it through a diff.
    fn lent(&mut self, subject: Unsaved, result: std::result::Result<String, String>) -> Vec<Step> {
        match result {
            Err(message) => vec![Step::Say(Toast::trouble(message))],
            Ok(text) if text == subject.text => {
                vec![Step::Say(Toast::done("Nothing was changed"))]
            }
            Ok(text) => {
                let open = self.panes.iter().any(|pane| pane.place() == Place::Editor);
                if open {
                    return Vec::new();
                }
                let text = Unsaved {
                    text,
                    time: self.now,
                    ..subject
                };
                let editor = Editor::open(text.clone(), 0, &self.scene());
                vec![
                    Step::Push(Box::new(editor)),
                    Step::Tell(Box::new(Event::Resolved(text))),
                ]
            }
        }
    }
}

/// A file changed while its text was edited: what fits together is merged, the rest is asked.
fn conflicting(text: Unsaved, conflict: Conflict) -> Vec<Step> {
    let theirs = conflict.theirs.unwrap_or_default();
    let base = conflict.base.unwrap_or_default();
    let Ok(their_text) = String::from_utf8(theirs.clone()) else {
        let message = format!("{} is not UTF-8 text any more", conflict.path);
        return vec![Step::Say(Toast::trouble(message))];
    };
    match merge(&base, text.text.as_bytes(), &theirs) {
        Some(merged) => {
            let merged = Unsaved {
                text: String::from_utf8_lossy(&merged).into_owned(),
                base: Some(their_text),
                ..text
            };
            vec![
                Step::Tell(Box::new(Event::Resolved(merged))),
                Step::Say(Toast::trouble(format!(
                    "{} was changed outside; both changes are in this",
                    conflict.path
                ))),
            ]
        }
        None => vec![Step::Push(Box::new(Merge::new(text, their_text)))],
    }
}

fn trouble(error: &Error) -> Step {
    Step::Say(Toast::trouble(error.to_string()))
}
