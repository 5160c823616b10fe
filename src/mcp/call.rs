//! One call of a tool: its arguments, its store, and committing changes.
//!
//! The store is the one that the call names; else the one that has the file; else the default of
//! the tool's layout. A memory that the client loads by itself is never a default.

use std::sync::atomic::AtomicBool;

use serde_json::{Map, Value};

use super::answer::{Failure, ToolAnswer, ToolResult};
use super::table::{FILE_ARGUMENTS, STORE, Served, Tool};
use super::{ServerSetup, StorePurpose};
use crate::core::Result;
use crate::core::change::history::SERVER;
use crate::core::change::{
    Author, Change, ChangeContext, ChangeRequest, CommittedChange, plan, plan_and_commit,
};
use crate::core::disk::revision::Revision;
use crate::core::log::Agent;
use crate::core::memory::citation::{Citation, CitedPart};
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::core::text::time::Moment;

/// One call of a tool.
pub(super) struct Call<'a> {
    pub(super) setup: &'a ServerSetup,
    pub(super) served: &'a Served,
    pub(super) tool: &'static Tool,
    pub(super) arguments: &'a Map<String, Value>,
    pub(super) client: &'a ClientIdentity,
    /// Set when the client no longer waits for the answer.
    pub(super) is_dropped: &'a AtomicBool,
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClientIdentity {
    /// The client's name, the author of changes.
    pub(super) name: String,
    /// The agent, if it is known.
    pub(super) agent: Option<Agent>,
    /// The id of its session, if known.
    pub(super) session: Option<String>,
}

impl<'a> Call<'a> {
    /// Returns the stores that exist now and that the client does not load by itself; past
    /// sessions and captured events are left out.
    pub(super) fn listed(&self) -> Vec<&'a Store> {
        let mut stores = self.usable(|purpose| purpose != StorePurpose::Session);
        stores.retain(|store| self.served.is_single || store.layout() != Layout::Events);
        stores
    }

    /// Returns the stores whose memories are searched. Captured events are in the agents' logs as
    /// well, which are searched anyway.
    pub(super) fn searched(&self) -> Vec<&'a Store> {
        let mut stores = self.setup.present();
        stores.retain(|store| self.served.is_single || store.layout() != Layout::Events);
        stores
    }

    fn usable(&self, suits: impl Fn(StorePurpose) -> bool) -> Vec<&'a Store> {
        let stores = self.setup.stores.iter().filter(|served| {
            let is_own =
                served.purpose.owner().is_some() && served.purpose.owner() == self.client.agent;
            !is_own && suits(served.purpose) && served.is_present()
        });
        stores.map(|served| &served.store).collect()
    }

    /// Returns the store that the arguments name.
    pub(super) fn named_store(&self) -> Result<Option<&'a Store>, Failure> {
        match self.optional_text(STORE)?.filter(|name| !name.is_empty()) {
            Some(name) => self.store_of_name(name).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the store if only one is served.
    pub(super) fn only_store(&self) -> Option<&'a Store> {
        match self.setup.stores.as_slice() {
            [only] if self.served.is_single => Some(&only.store),
            _ => None,
        }
    }

    fn store_of_name(&self, name: &str) -> Result<&'a Store, Failure> {
        let mut stores = self.setup.stores.iter().map(|served| &served.store);
        stores.find(|store| store.name() == name).ok_or_else(|| {
            let known = names(&self.listed());
            Failure::Message(if known.is_empty() {
                format!("No store '{name}'; there is none here yet.")
            } else {
                format!("No store '{name}'; there are {known}.")
            })
        })
    }

    /// Returns the store of a tool that is not about one file.
    pub(super) fn store(&self) -> Result<&'a Store, Failure> {
        self.store_for(None)
    }

    /// Returns the store that is named, or the default, or the one that a first memory at this
    /// path creates.
    pub(super) fn store_for(&self, path: Option<&str>) -> Result<&'a Store, Failure> {
        match self.named_store()? {
            Some(store) => Ok(store),
            None => self.default_store(path),
        }
    }

    /// Returns the store for a file that no store has, or for a tool that is not about a file: one
    /// of the layout that the path belongs to, or of the tool's layouts, or the one that a first
    /// memory creates.
    fn default_store(&self, path: Option<&str>) -> Result<&'a Store, Failure> {
        if let Some(only) = self.only_store() {
            return Ok(only);
        }
        let layouts = self.tool.layouts;
        // Captured events are for their own tool.
        let events = layouts == [Layout::Events];
        let mut shared = self
            .usable(|purpose| !matches!(purpose, StorePurpose::Aside(_) | StorePurpose::Session));
        shared.retain(|store| events || store.layout() != Layout::Events);
        let present = |layout: Layout| shared.iter().find(|store| store.layout() == layout);
        // Tools that change files of one of these layouts can change those of the other.
        let files = [Layout::Index, Layout::Facts];
        let is_for = |layout: &Layout| {
            let is_file = |layout: &Layout| files.contains(layout);
            layouts.contains(layout) || (is_file(layout) && layouts.iter().any(is_file))
        };
        let fits = path.and_then(Layout::of_first_file).filter(is_for);
        let own = layouts.iter().filter(|layout| files.contains(layout));
        let existing = fits
            .into_iter()
            .chain(own.copied())
            .chain(files.into_iter().filter(is_for))
            .chain(layouts.first().copied())
            .find_map(present);
        if let Some(store) = existing {
            return Ok(store);
        }
        let begun = fits.or(layouts.first().copied());
        let mut stores = self.setup.stores.iter();
        let first = stores.find(|served| {
            served.purpose == StorePurpose::First && Some(served.store.layout()) == begun
        });
        let other = || layouts.iter().copied().find_map(present).copied();
        first
            .map(|served| &served.store)
            .or_else(other)
            .ok_or_else(|| {
                let kinds: Vec<&str> = layouts.iter().map(|layout| layout.name()).collect();
                Failure::Message(format!(
                    "There is no {} store here; recall_memory searches what there is.",
                    kinds.join(" or ")
                ))
            })
    }

    /// Returns the store and the path in it of a file to change, which may not exist.
    pub(super) fn target(&self) -> Result<(&'a Store, String), Failure> {
        let given = self.file()?;
        let named = self.named_store()?;
        if let Some((name, path)) = given.split_once(':')
            && let Ok(store) = self.store_of_name(name)
            && named.is_none_or(|named| named.name() == name)
        {
            return Ok((store, path.to_owned()));
        }
        if let Some(store) = named {
            return Ok((store, given.to_owned()));
        }
        let default = self.default_store(Some(given));
        if let Ok(store) = &default
            && store.holds(given)
        {
            return Ok((store, given.to_owned()));
        }
        if let Some(store) = self.holder_of_entry(given)? {
            return Ok((store, given.to_owned()));
        }
        let mut holders = self.listed();
        holders.retain(|store| store.holds(given));
        match holders.as_slice() {
            [one] => Ok((one, given.to_owned())),
            _ => default.map(|store| (store, given.to_owned())),
        }
    }

    /// Returns the store and the citation that a reference to an existing file stands for.
    pub(super) fn find(&self, reference: &str) -> Result<(&'a Store, Citation), Failure> {
        let Ok(citation) = reference.parse::<Citation>();
        if let Some(store) = self.named_store()? {
            return Ok((store, citation));
        }
        if let Some(only) = self.only_store() {
            return Ok((only, citation));
        }
        if let Some(name) = &citation.store {
            let named = self.store_of_name(name);
            // A path may have a colon.
            let plain = Citation::of_path(reference);
            let mut holders = self.listed();
            holders.retain(|store| named.is_err() && store.holds(&plain.path));
            if let [one] = holders.as_slice() {
                return Ok((one, plain));
            }
            return match (named, Agent::named(name)) {
                (Err(_), Some(_)) => Err(Failure::Message(format!("{reference} not found"))),
                (named, _) => named.map(|store| (store, citation)),
            };
        }
        if let CitedPart::Entry(_) = citation.part
            && let Some(store) = self.holder_of_entry(reference)?
        {
            return Ok((store, citation));
        }
        if let Ok(store) = self.default_store(Some(&citation.path))
            && store.holds(&citation.path)
        {
            return Ok((store, citation));
        }
        let stores = self.listed();
        let holders = stores.iter().filter(|store| store.holds(&citation.path));
        let holders: Vec<&Store> = holders.copied().collect();
        match (holders.as_slice(), stores.as_slice()) {
            ([one], _) | ([], [one]) => Ok((one, citation)),
            ([], []) => Err(Failure::Message(format!(
                "{} not found: there is no memory here yet.",
                citation.path
            ))),
            ([], _) => Err(Failure::Message(format!(
                "{} not found in any store; there are {}.",
                citation.path,
                names(&stores)
            ))),
            (several, _) => Err(in_several(several, &citation.path)),
        }
    }

    /// Returns the one store that has the entry that a path names, as in `MEMORY.md#facts`.
    fn holder_of_entry(&self, path: &str) -> Result<Option<&'a Store>, Failure> {
        let mut holders = self.listed();
        holders.retain(|store| holds_entry(store, path));
        match holders.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            several => Err(in_several(several, path)),
        }
    }

    /// Returns the argument that names a file, under either of its names.
    pub(super) fn file(&self) -> Result<&'a str, Failure> {
        for name in FILE_ARGUMENTS {
            if let Some(file) = self.optional_text(name)? {
                return Ok(file);
            }
        }
        self.text(self.served.file_argument())
    }

    /// Returns a required text argument.
    pub(super) fn text(&self, name: &str) -> Result<&'a str, Failure> {
        let given = self.optional_text(name)?;
        given.ok_or_else(|| Failure::Message(required(&[name])))
    }

    /// Fails if required arguments are missing, and names all of them. Those of one layout alone are
    /// left to the tool, which knows the store.
    pub(super) fn check_required(&self) -> Result<(), Failure> {
        let is_given = |name: &&str| {
            let names: &[&str] = match *name {
                name if FILE_ARGUMENTS.contains(&name) => &FILE_ARGUMENTS,
                _ => &[*name],
            };
            let mut given = names.iter().filter_map(|name| self.arguments.get(*name));
            given.any(|value| !value.is_null())
        };
        let missing = self.served.required(self.tool);
        let missing: Vec<&str> = missing.into_iter().filter(|name| !is_given(name)).collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(Failure::Message(required(&missing)))
        }
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
    pub(super) fn change(&self, store: &Store, request: &ChangeRequest) -> ToolResult {
        self.carry_out(store, |moment| {
            let context = ChangeContext {
                moment: moment.clone(),
                expected: self.expected()?,
                history: Some(self.setup.history.clone()),
            };
            let planned = plan(store, request, &context);
            let worded = |error| Failure::Core(error, Some(store.layout()));
            let planned = planned.map_err(worded)?;
            self.check_budget(store, &planned)?;
            Ok(planned)
        })
    }

    /// Returns an error if a change would make the facts larger than the settings allow.
    fn check_budget(&self, store: &Store, change: &Change) -> Result<(), Failure> {
        let budget = self.setup.facts_budget;
        if store.layout() != Layout::Facts || budget == 0 {
            return Ok(());
        }
        let is_fact = |path: &str| path.starts_with("facts/");
        let length = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        let edits = change.edits.iter().filter(|edit| is_fact(&edit.path));
        let (old, new) = edits.fold((0, 0), |(old, new), edit| {
            (old + length(&edit.before), new + length(&edit.after))
        });
        let memories = store.list()?;
        let facts = memories.iter().filter(|memory| is_fact(&memory.path));
        let now: u64 = facts.map(|memory| memory.size).sum();
        let after = (now + new).saturating_sub(old);
        if new <= old || after <= budget {
            return Ok(());
        }
        Err(Failure::Message(format!(
            "facts/ would have {after} bytes, more than the {budget} that are allowed here; shorten what is there first."
        )))
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
        store: &Store,
        plan: impl Fn(&Moment) -> Result<Change, Failure>,
    ) -> ToolResult {
        let moment = (self.setup.clock)();
        let author = Author {
            who: self.client.name.clone(),
            door: SERVER.to_owned(),
        };
        let roots = [store.root().path()];
        let committed = plan_and_commit(&self.setup.history, &roots, &author, &moment, || {
            plan(&moment)
        })?;
        let answer = committed_answer(&committed);
        Ok(if self.served.is_single {
            answer
        } else {
            answer.with(format!("Store: {}", store.name()))
        })
    }
}

/// Whether a store has the entry that a path names, as in `MEMORY.md#facts`.
fn holds_entry(store: &Store, path: &str) -> bool {
    let Some((path, slug)) = path.rsplit_once('#') else {
        return false;
    };
    let Ok(document) = store.read(path) else {
        return false;
    };
    let file = store.rules().file_of(path);
    let memory = store.rules().read(&file, &document.lossy());
    memory.entries.iter().any(|entry| entry.slug == slug)
}

/// Says which of the stores that have a path can be named.
fn in_several(stores: &[&Store], path: &str) -> Failure {
    let ways = stores
        .iter()
        .map(|store| format!("{}:{path}", store.name()));
    let ways = ways.collect::<Vec<String>>().join(" or ");
    Failure::Message(format!("{path} is in more than one store; use {ways}."))
}

/// Says that arguments are missing.
pub(super) fn required(names: &[&str]) -> String {
    match names {
        [one] => format!("{one} parameter is required"),
        [first @ .., last] => format!("{} and {last} parameters are required", first.join(", ")),
        [] => String::new(),
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
        object: None,
        revision: after.map(Revision::of),
        change: committed.record.as_ref().map(|record| record.id.clone()),
    }
}

/// Returns the names of the stores, separated by commas.
pub(super) fn names(stores: &[&Store]) -> String {
    let names: Vec<&str> = stores.iter().map(|store| store.name()).collect();
    names.join(", ")
}
