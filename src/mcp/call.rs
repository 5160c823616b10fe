//! One call of a tool: its arguments, its store, and committing changes.

use std::sync::atomic::AtomicBool;

use serde_json::{Map, Value};

use super::ServerSetup;
use super::answer::{Failure, ToolAnswer, ToolResult};
use crate::core::Result;
use crate::core::change::{
    Author, Change, ChangeContext, ChangeRequest, CommittedChange, Moment, plan, plan_and_commit,
};
use crate::core::citation::Citation;
use crate::core::memory::Revision;
use crate::core::store::{Document, Store};

/// One call of a tool.
pub(super) struct Call<'a> {
    pub(super) setup: &'a ServerSetup,
    /// The index of the tool's store; `None` if it belongs to all stores.
    pub(super) at: Option<usize>,
    pub(super) arguments: &'a Map<String, Value>,
    /// The client's name, the author of changes.
    pub(super) who: &'a str,
    /// Set when the client no longer waits for the answer.
    pub(super) is_dropped: &'a AtomicBool,
}

impl<'a> Call<'a> {
    /// Returns the tool's store, or the first one if the tool belongs to all.
    pub(super) fn store(&self) -> Result<&'a Store, Failure> {
        let stores = &self.setup.stores;
        let store = self.at.and_then(|at| stores.get(at)).or(stores.first());
        store.ok_or_else(|| Failure::Message("No store is served here.".to_owned()))
    }

    /// Resolves a reference to a store and a citation, for tools that serve all stores.
    pub(super) fn resolve(&self, reference: &str) -> Result<(&'a Store, Citation), Failure> {
        let Ok(citation) = reference.parse::<Citation>();
        let stores = self.setup.present();
        if let Some(name) = &citation.store {
            let named = stores.iter().find(|store| store.name() == name);
            return match named {
                Some(store) => Ok((store, citation)),
                None => Err(Failure::Message(format!(
                    "No store '{name}'; there are {}.",
                    names(&stores)
                ))),
            };
        }
        if let [only] = stores.as_slice() {
            return Ok((only, citation));
        }
        let holds = |store: &&&Store| {
            let file = store.locate(&citation.path);
            file.is_ok_and(|file| store.root().has(&file))
        };
        let holders: Vec<&Store> = stores.iter().filter(holds).copied().collect();
        match holders.as_slice() {
            [one] => Ok((one, citation)),
            [] => Err(Failure::Message(format!(
                "{} not found in any store; there are {}.",
                citation.path,
                names(&stores)
            ))),
            several => {
                let ways: Vec<String> = several
                    .iter()
                    .map(|store| format!("{}:{}", store.name(), citation.path))
                    .collect();
                Err(Failure::Message(format!(
                    "{} is in more than one store; use {}.",
                    citation.path,
                    ways.join(" or ")
                )))
            }
        }
    }

    /// Reads a file of the tool's store.
    pub(super) fn read(&self, path: &str) -> Result<Document, Failure> {
        let store = self.store()?;
        let read = store.read(path);
        read.map_err(|error| Failure::Core(error, Some(store.layout())))
    }

    /// Returns a required text argument.
    pub(super) fn text(&self, name: &str) -> Result<&'a str, Failure> {
        let given = self.optional_text(name)?;
        given.ok_or_else(|| Failure::Message(format!("{name} parameter is required")))
    }

    /// Returns an optional text argument.
    pub(super) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, Failure> {
        match self.arguments.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Failure::Message(format!("{name} must be a string"))),
        }
    }

    /// Returns an optional integer argument.
    pub(super) fn number(&self, name: &str) -> Result<Option<i64>, Failure> {
        let wrong = || Failure::Message(format!("{name} must be a whole number"));
        match self.arguments.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                // Models write 5, 5.0 and "5".
                let float = || value.as_f64().filter(|n| n.fract() == 0.0);
                let text = || value.as_str().and_then(|text| text.trim().parse().ok());
                let number = value.as_i64().or_else(|| float().map(|n| n as i64));
                number.or_else(text).map(Some).ok_or_else(wrong)
            }
        }
    }

    /// Returns the first character, or entry, of the answer; default 0.
    pub(super) fn offset(&self) -> Result<usize, Failure> {
        let offset = self.number("offset")?.unwrap_or(0);
        usize::try_from(offset).map_err(|_| Failure::Message("offset must be 0 or more".to_owned()))
    }

    /// Returns an optional list of texts; a single text is accepted, too.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, Failure> {
        let wrong = || Failure::Message(format!("{name} must be a list of strings"));
        match self.arguments.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(one)) => Ok(vec![one.clone()]),
            Some(list) => serde_json::from_value(list.clone()).map_err(|_| wrong()),
        }
    }

    /// Commits a request and returns the message that the layout documents.
    pub(super) fn change(&self, request: &ChangeRequest) -> ToolResult {
        let store = self.store()?;
        self.carry_out(|moment| {
            let context = ChangeContext {
                moment: moment.clone(),
                expected: self.expected()?,
            };
            let planned = plan(store, request, &context);
            planned.map_err(|error| Failure::Core(error, Some(store.layout())))
        })
    }

    /// Returns the revision that the file must still have, if given.
    pub(super) fn expected(&self) -> Result<Option<Revision>, Failure> {
        let given = self.optional_text("expected_revision")?;
        let parsed = given.map(|text| text.parse::<Revision>()).transpose();
        parsed.map_err(|error| Failure::Message(error.to_string()))
    }

    /// Plans and commits a change; plans it again if another process changed the store in between.
    pub(super) fn carry_out(
        &self,
        plan: impl Fn(&Moment) -> Result<Change, Failure>,
    ) -> ToolResult {
        let moment = (self.setup.clock)();
        let author = Author {
            who: self.who.to_owned(),
            door: "mcp".to_owned(),
        };
        let roots = [self.store()?.root().path()];
        let committed = plan_and_commit(&self.setup.history, &roots, (&author, &moment), || {
            plan(&moment)
        })?;
        Ok(committed_answer(&committed))
    }
}

fn committed_answer(committed: &CommittedChange) -> ToolAnswer {
    let first = committed.change.edits.iter().find(|edit| !edit.derived);
    let after = first.and_then(|edit| edit.after.as_deref());
    let begun = committed
        .new_root()
        .map(|root| format!("This is the first memory here: created {}.", root.display()));
    ToolAnswer {
        texts: [committed.change.message.clone()]
            .into_iter()
            .chain(begun)
            .collect(),
        revision: after.map(Revision::of),
        change: committed.record.as_ref().map(|record| record.id.clone()),
    }
}

/// Returns the names of the stores, separated by commas.
pub(super) fn names(stores: &[&Store]) -> String {
    let names: Vec<&str> = stores.iter().map(|store| store.name()).collect();
    names.join(", ")
}
