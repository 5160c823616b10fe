//! The verbs that change memories: write, append, patch, delete, rename.

use std::fs;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;

use serde_json::{Value, json};

use super::args::{
    AppendArgs, ChangeFlags, ContentFlags, DeleteArgs, PatchArgs, RenameArgs, WriteArgs,
};
use super::change::{ChangeOptions, carry_out};
use super::print::{Answer, Reported, Text};
use super::world::World;
use super::{Failure, Outcome};
use crate::core::Error;
use crate::core::change::{
    BrokenLinks, ChangeContext, ChangeRequest, Transfer, events, plan, plan_moves,
};
use crate::core::disk::revision::Revision;
use crate::core::memory::citation::{Citation, CitedPart};
use crate::core::memory::layout::events::{CapturedEvent, event_types, usual_role};
use crate::core::memory::layout::{Fields, Layout, Matching, Patch};
use crate::core::memory::store::Store;

impl World {
    pub(super) fn change_context(&self, expected: Option<Revision>) -> ChangeContext {
        ChangeContext {
            moment: self.moment.clone(),
            expected,
            history: Some(self.history.clone()),
        }
    }

    /// Returns the store of an existing memory, and the path of the memory in it.
    pub(super) fn memory_named(&self, reference: &str) -> Result<(Store, String), Failure> {
        let (store, citation) = self.store_holding(reference)?;
        Ok((store, changed_part(citation)?))
    }

    /// Returns the store of an existing or new memory, and the path of the memory in it.
    pub(super) fn new_memory_named(&self, reference: &str) -> Result<(Store, String), Failure> {
        let (store, citation) = self.store_for_new(reference)?;
        Ok((store, changed_part(citation)?))
    }

    /// Changes one store; `extra` are further fields of the JSON answer.
    pub(super) fn change_store(
        &self,
        store: &Store,
        request: &ChangeRequest,
        flags: &ChangeFlags,
        extra: Value,
    ) -> Reported<'static> {
        let context = self.change_context(flags.expect);
        let how = ChangeOptions {
            dry_run: flags.dry_run,
            layout: Some(store.layout()),
            extra,
            ..ChangeOptions::default()
        };
        carry_out(self, how, &[store.root().path()], || {
            plan(store, request, &context)
        })
    }
}

/// Returns the path of a file or of an entry in it, which changes apply to.
fn changed_part(citation: Citation) -> Result<String, Failure> {
    match &citation.part {
        CitedPart::Whole => Ok(citation.path),
        CitedPart::Entry(slug) => Ok(format!("{}#{slug}", citation.path)),
        CitedPart::Lines(_) => Err(Failure::Usage(format!(
            "{citation}: a change applies to a file or an entry; give {} (patch changes a part of it)",
            citation.path
        ))),
    }
}

pub(super) fn write(args: &WriteArgs, world: &World) -> Reported<'static> {
    let (store, path) = world.new_memory_named(&args.path)?;
    let request = ChangeRequest::Write {
        path,
        content: content(&args.content)?,
        fields: Fields {
            name: args.name.clone(),
            description: args.description.clone(),
            category: args.category.clone(),
            tags: args.tag.clone(),
            ..Fields::default()
        },
    };
    world.change_store(&store, &request, &args.change, Value::Null)
}

pub(super) fn append(args: &AppendArgs, world: &World) -> Reported<'static> {
    let (store, path) = world.new_memory_named(&args.path)?;
    if store.layout() == Layout::Events {
        return append_event(args, world, &store, &path);
    }
    let request = ChangeRequest::Append {
        path,
        entry: content(&args.content)?,
        fields: Fields {
            name: args.name.clone(),
            description: args.description.clone(),
            summary: args.summary.clone(),
            category: args.category.clone(),
            tags: args.tag.clone(),
        },
    };
    world.change_store(&store, &request, &args.change, Value::Null)
}

/// Appends an event; the content is an event as JSON, or its text.
fn append_event(args: &AppendArgs, world: &World, store: &Store, path: &str) -> Reported<'static> {
    let file = store.locate(path)?;
    let act = crate::core::memory::layout::Operation::Append;
    store.rules().allow(act, &file, store.root())?;
    let (event, identity) = event(args, world)?;
    let refused = |error| Error::refused(path, format!("{error}"));
    event.check_names().map_err(refused)?;
    if args.change.dry_run {
        let line = serde_json::to_string(&event).map_err(io::Error::from)?;
        let json = json!({ "diff": format!("+{line}\n") });
        return Answer::done(json, Text::Line(format!("+{line}")));
    }
    let message = match events::append(store, &world.history, &event, identity)? {
        events::AppendOutcome::New => format!("Event appended: {}", event.event_id),
        events::AppendOutcome::Known => format!("Event already recorded: {}", event.event_id),
    };
    let json = json!({ "success": true, "message": message, "event": event });
    Answer::done(json, Text::Line(message))
}

/// A JSON object with one of these fields is meant as an event, not as the text of one.
const EVENT_FIELDS: [&str; 4] = ["event_type", "event_id", "session_id", "timestamp"];

/// Returns the event of the arguments, with missing fields filled in.
fn event(args: &AppendArgs, world: &World) -> Result<(CapturedEvent, events::Identity), Failure> {
    let text = content(&args.content)?;
    let mut given = match serde_json::from_str::<Value>(&text) {
        Ok(Value::Object(object))
            if EVENT_FIELDS.iter().any(|field| object.contains_key(*field)) =>
        {
            if !object.contains_key("event_type") {
                return Err(Failure::Usage(format!(
                    "{}: the event has no event_type; give one of: {}",
                    args.path,
                    event_types().collect::<Vec<_>>().join(", ")
                )));
            }
            Value::Object(object)
        }
        _ => json!({
            "event_type": args.category.as_deref().unwrap_or("user_message"),
            "text": text.strip_suffix('\n').unwrap_or(&text),
            "agent": world.author().who,
        }),
    };
    let kind = given["event_type"].as_str().unwrap_or_default();
    let role = usual_role(kind).unwrap_or("system");
    let identity = match given.get("event_id") {
        Some(_) => events::Identity::Given,
        None => events::Identity::Fresh,
    };
    let id = ulid::Ulid::from_datetime(world.moment.time.into()).to_string();
    let defaults = [
        ("event_id", json!(id)),
        ("timestamp", json!(world.moment.time.as_millisecond())),
        ("role", json!(role)),
    ];
    for (key, value) in defaults {
        if given.get(key).is_none() {
            given[key] = value;
        }
    }
    let event: CapturedEvent = serde_json::from_value(given)
        .map_err(|e| Failure::Usage(format!("{}: not an event: {e}", args.path)))?;
    if event.text.is_empty() && event.more.is_empty() && event.metadata.is_empty() {
        return Err(Failure::usage("an event needs a text; give --content"));
    }
    Ok((event, identity))
}

pub(super) fn patch(args: &PatchArgs, world: &World) -> Reported<'static> {
    let (store, path) = world.memory_named(&args.path)?;
    let patches = match (&args.old, &args.new, &args.patches) {
        (Some(old), Some(new), _) => vec![Patch {
            old: old.clone(),
            new: new.clone(),
        }],
        (_, _, Some(file)) => read_patches(file)?,
        _ => {
            return Err(Failure::usage("give --old and --new, or --patches"));
        }
    };
    let count = patches.len();
    let request = ChangeRequest::Patch {
        path,
        patches,
        matching: Matching::Unique,
    };
    let extra = json!({ "appliedCount": count });
    world.change_store(&store, &request, &args.change, extra)
}

fn read_patches(file: &Path) -> Result<Vec<Patch>, Failure> {
    let text = if file == Path::new("-") {
        standard_input()?
    } else {
        fs::read_to_string(file).map_err(|e| Error::io(file, e))?
    };
    let parsed = serde_json::from_str::<Value>(&text).and_then(|value| match value {
        Value::Object(mut object) if object.contains_key("patches") => {
            serde_json::from_value(object.remove("patches").unwrap_or_default())
        }
        Value::Object(object) => serde_json::from_value(Value::Object(object)).map(|one| vec![one]),
        other => serde_json::from_value(other),
    });
    parsed.map_err(|e| {
        Failure::Usage(format!(
            "{}: patches are a JSON list of {{\"oldText\", \"newText\"}}: {e}",
            file.display()
        ))
    })
}

pub(super) fn delete(args: &DeleteArgs, world: &World) -> Reported<'static> {
    let mut shared_store: Option<Store> = None;
    let mut paths = Vec::new();
    for path in &args.paths {
        let (store, file) = world.memory_named(path)?;
        if let Some(first) = &shared_store
            && first.root().path() != store.root().path()
        {
            return Err(Failure::Usage(format!(
                "{path} is in a different store than {}; delete them separately",
                args.paths[0]
            )));
        }
        shared_store = Some(store);
        paths.push(file);
    }
    let Some(store) = shared_store else {
        return Answer::silent(Outcome::Nothing);
    };
    if args.change.expect.is_some() && paths.len() > 1 {
        return Err(Failure::usage(
            "--expect is the revision of one file; delete them separately",
        ));
    }
    let request = ChangeRequest::Delete { paths };
    world.change_store(&store, &request, &args.change, Value::Null)
}

pub(super) fn rename(args: &RenameArgs, world: &World) -> Reported<'static> {
    let (store, from) = world.memory_named(&args.old)?;
    let Ok(to) = args.new.parse::<Citation>();
    if let Some((file, _)) = from.rsplit_once('#') {
        let is_here = to.store.as_deref().is_none_or(|to| to == store.name());
        let place = to.as_file().path;
        let here = place.strip_prefix(file).filter(|_| is_here);
        let title = match here.and_then(|title| title.strip_prefix('#')) {
            None if matches!(to.part, CitedPart::Entry(_)) && to.path.ends_with(".md") => {
                return Err(Failure::Usage(format!(
                    "{to}: an entry keeps its title where it moves; give the file alone"
                )));
            }
            None => Some(args.new.as_str()).filter(|new| !new.ends_with(".md")),
            title => title,
        };
        if let Some(to) = title.map(str::to_owned) {
            let request = ChangeRequest::Rename { from, to };
            return world.change_store(&store, &request, &args.change, Value::Null);
        }
    }
    let target = match &to.store {
        Some(_) => Some(world.store_for_new(&args.new)?.0),
        None => None,
    };
    if let Some(target) = target.filter(|target| target.root().path() != store.root().path()) {
        let context = world.change_context(args.change.expect);
        let how = ChangeOptions {
            dry_run: args.change.dry_run,
            layout: Some(store.layout()),
            ..ChangeOptions::default()
        };
        let roots = [store.root().path(), target.root().path()];
        let transfers = [Transfer {
            source: &store,
            path: &from,
            place: to.path,
        }];
        return carry_out(world, how, &roots, || {
            plan_moves(&transfers, &target, BrokenLinks::Follow, &context)
        });
    }
    let to = to.as_file().path;
    let request = ChangeRequest::Rename { from, to };
    world.change_store(&store, &request, &args.change, Value::Null)
}

pub(super) fn content(flags: &ContentFlags) -> Result<String, Failure> {
    match &flags.content {
        Some(content) => Ok(content.clone()),
        None => match standard_input()?.as_str() {
            "" => Err(Failure::usage(
                "nothing on standard input; give --content '' for empty content",
            )),
            given => Ok(given.to_owned()),
        },
    }
}

fn standard_input() -> Result<String, Failure> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        super::print::print_note("reading the content from standard input; end it with Ctrl-D");
    }
    let mut bytes = Vec::new();
    let read = stdin.lock().read_to_end(&mut bytes);
    read.map_err(|e| Error::io("standard input", e))?;
    String::from_utf8(bytes).map_err(|e| {
        let offset = e.utf8_error().valid_up_to();
        Failure::Core(
            Error::NotText {
                path: "standard input".into(),
                offset,
            },
            None,
        )
    })
}
