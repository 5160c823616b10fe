//! `tome review`: what agents and other programs wrote since the person last accepted it.

use std::path::Path;

use serde_json::{Value, json};

use super::args::ReviewArgs;
use super::change::{ChangeOptions, as_json, carry_out};
use super::print::{Printer, TextStyle, print_note};
use super::world::World;
use super::{CommandResult, Failure, Outcome};
use crate::core::Error;
use crate::core::insight::review::{
    Item, Selection, accept, accepted_memories, annotate, attribute, observe, observe_store,
    plan_reverts, queue,
};
use crate::core::memory::Memory;
use crate::core::memory::store::Store;
use crate::core::text::display::format_ago;

pub(super) fn run(args: &ReviewArgs, world: &World, printer: &mut Printer) -> CommandResult {
    let stores = world.stores()?;
    let mut count = 0;
    for store in &stores {
        count += observe_store(&world.history, store, &world.moment)?.waiting;
    }
    if args.count {
        return print_count(printer, count);
    }
    let mut waiting: Vec<(&Store, Vec<Item>)> = Vec::new();
    for store in &stores {
        waiting.push((store, queue(&world.history, store)?));
    }
    if count > 0 {
        world.attribute(&mut waiting);
    }
    if let [id, text] = args.note.as_slice() {
        return note(world, printer, &waiting, (id, text));
    }
    if !args.accept.is_empty() {
        let chosen = selection(&args.accept, &waiting)?;
        return accept_chosen(world, printer, &waiting, &chosen);
    }
    if !args.revert.is_empty() {
        let chosen = selection(&args.revert, &waiting)?;
        return revert_chosen(world, printer, (&waiting, &chosen), args.dry_run);
    }
    if printer.is_json() {
        let items = waiting.iter().flat_map(|(store, items)| {
            let items = items.iter();
            items.map(|item| item_json(store, item))
        });
        printer.object(json!({ "items": items.collect::<Vec<Value>>() }))?;
    } else {
        print_items(world, printer, &waiting)?;
    }
    Ok(outcome(count))
}

/// Succeeds when nothing waits.
fn outcome(count: usize) -> Outcome {
    match count {
        0 => Outcome::Done,
        _ => Outcome::Nothing,
    }
}

fn print_count(printer: &mut Printer, count: usize) -> CommandResult {
    if printer.is_json() {
        printer.object(json!({ "count": count }))?;
    } else {
        printer.line(&count.to_string())?;
    }
    Ok(outcome(count))
}

/// The selection with these ids, if each of them names something that waits.
fn selection(ids: &[String], waiting: &[(&Store, Vec<Item>)]) -> Result<Selection, Failure> {
    if ids.iter().any(|id| id == "all") {
        return Ok(Selection::All);
    }
    let items: Vec<Item> = waiting
        .iter()
        .flat_map(|(_, items)| items.clone())
        .collect();
    let mut wanted = ids.to_vec();
    // The session of an item may be known only from the logs.
    let of_session = items.iter().filter(|item| {
        let session = item.origin.as_ref().map(|origin| &origin.session);
        session.is_some_and(|session| ids.contains(session))
    });
    wanted.extend(of_session.map(|item| item.id.clone()));
    let chosen = Selection::Ids(wanted);
    match chosen.unknown(&items).first() {
        None => Ok(chosen),
        Some(id) => Err(Error::not_found(format!(
            "what waits for review with the id {id} (`tome review` lists the ids)"
        ))
        .into()),
    }
}

fn accept_chosen(
    world: &World,
    printer: &mut Printer,
    waiting: &[(&Store, Vec<Item>)],
    chosen: &Selection,
) -> CommandResult {
    let stores: Vec<&Store> = waiting.iter().map(|(store, _)| *store).collect();
    let by = (&world.author(), &world.moment);
    let records = accept(&world.history, &stores, chosen, by)?;
    if printer.is_json() {
        let accepted = accepted_memories(&records);
        let changes: Vec<Value> = records.iter().map(as_json).collect();
        printer.object(json!({ "success": true, "accepted": accepted, "changes": changes }))?;
    } else if records.is_empty() {
        print_note("nothing waits for review");
    } else {
        for record in &records {
            printer.line(&record.message)?;
        }
        print_note("tome undo takes it back");
    }
    Ok(Outcome::Done)
}

fn revert_chosen(
    world: &World,
    printer: &mut Printer,
    (waiting, chosen): (&[(&Store, Vec<Item>)], &Selection),
    dry_run: bool,
) -> CommandResult {
    let is_meant =
        |(_, items): &&(&Store, Vec<Item>)| items.iter().any(|item| chosen.touches(item));
    let stores: Vec<&Store> = waiting
        .iter()
        .filter(is_meant)
        .map(|(store, _)| *store)
        .collect();
    if stores.is_empty() {
        print_note("nothing waits for review");
        return Ok(Outcome::Done);
    }
    let roots: Vec<&Path> = stores.iter().map(|store| store.root().path()).collect();
    let options = ChangeOptions {
        dry_run,
        layout: None,
        extra: Value::Null,
    };
    carry_out(world, printer, options, &roots, || {
        plan_reverts(&world.history, &stores, chosen, &world.moment)
    })
}

fn note(
    world: &World,
    printer: &mut Printer,
    waiting: &[(&Store, Vec<Item>)],
    (id, text): (&str, &str),
) -> CommandResult {
    let chosen = selection(&[id.to_owned()], waiting)?;
    for (store, _) in waiting {
        annotate(&world.history, store, (&chosen, text), &world.moment)?;
    }
    if printer.is_json() {
        printer.object(json!({ "success": true }))?;
    } else {
        printer.line(&format!("Noted: {text}"))?;
    }
    Ok(Outcome::Done)
}

fn item_json(store: &Store, item: &Item) -> Value {
    let time = jiff::Timestamp::from_millisecond(item.time);
    let deleted = item
        .deleted_before
        .and_then(|time| jiff::Timestamp::from_millisecond(time).ok());
    let hunks: Vec<Value> = item
        .hunks
        .iter()
        .map(|hunk| {
            json!({
                "id": hunk.id,
                "old_start": first_line(&hunk.old),
                "old_lines": hunk.old.len(),
                "new_start": first_line(&hunk.new),
                "new_lines": hunk.new.len(),
                "text": hunk.text,
            })
        })
        .collect();
    let origin = item.origin.as_ref();
    json!({
        "id": item.id,
        "store": store.name(),
        "path": item.path,
        "change": item.change,
        "renamed_from": item.renamed_from,
        "time": time.map(|time| time.to_string()).unwrap_or_default(),
        "author": {
            "agent": item.author.who,
            "session": origin.map(|origin| &origin.session),
            "citation": origin.and_then(|origin| origin.citation.as_ref()),
        },
        "deleted_before": deleted.map(|time| time.to_string()),
        "proposal": item.proposal,
        "notes": item.notes.iter().map(|note| &note.text).collect::<Vec<_>>(),
        "hunks": hunks,
    })
}

/// The number of a range's first line as a unified diff has it: an empty one names the line before.
fn first_line(range: &std::ops::Range<usize>) -> usize {
    if range.is_empty() {
        range.start
    } else {
        range.start + 1
    }
}

fn print_items(
    world: &World,
    printer: &mut Printer,
    waiting: &[(&Store, Vec<Item>)],
) -> Result<(), Failure> {
    let mut items: Vec<(&Store, &Item)> = Vec::new();
    for (store, all) in waiting {
        items.extend(all.iter().map(|item| (*store, item)));
    }
    items.sort_by_key(|(_, item)| std::cmp::Reverse(item.time));
    let now = world.moment.time.as_millisecond();
    for (number, (store, item)) in items.iter().enumerate() {
        if number > 0 {
            printer.line("")?;
        }
        let name = format!("{}:{}", store.name(), item.path);
        let heading = format!(
            "{}  {}  {}",
            printer.paint(TextStyle::Quiet, &item.id),
            printer.paint(TextStyle::Strong, &name),
            printer.paint(TextStyle::Quiet, &summary(item, now)),
        );
        printer.styled_line(&heading)?;
        for note in &item.notes {
            let text = printer.paint(TextStyle::Attention, &format!("note: {}", note.text));
            printer.styled_line(&text)?;
        }
        for hunk in &item.hunks {
            printer.diff(&format!(
                "@@ -{},{} +{},{} @@ {}\n{}",
                first_line(&hunk.old),
                hunk.old.len(),
                first_line(&hunk.new),
                hunk.new.len(),
                hunk.id,
                hunk.text
            ))?;
        }
    }
    if items.is_empty() {
        print_note("nothing waits for review");
    } else {
        print_note(
            "tome review --accept ID… or all, --revert ID… (an item or a hunk), --note ID TEXT",
        );
    }
    Ok(())
}

/// What happened, who did it and when, on one line.
fn summary(item: &Item, now: i64) -> String {
    let session = item
        .origin
        .as_ref()
        .map(|origin| format!(", session {}", origin.session));
    let returned = item
        .deleted_before
        .map(|time| format!("; you deleted one like it {}", format_ago(time, now)));
    format!(
        "{} by {}{}, {}{}",
        item.what(),
        item.who(),
        session.unwrap_or_default(),
        format_ago(item.time, now),
        returned.unwrap_or_default()
    )
}

impl World {
    /// Joins items to the sessions that wrote them, as far as the logs show it.
    fn attribute(&self, waiting: &mut [(&Store, Vec<Item>)]) {
        let found = self.read_whole_corpus(|logs| {
            let mut waiting: Vec<(&Store, Vec<Item>)> = waiting.to_vec();
            for (store, items) in &mut waiting {
                attribute(&logs.corpus, store.root().path(), items);
            }
            waiting
                .into_iter()
                .map(|(_, items)| items)
                .collect::<Vec<_>>()
        });
        // Without logs, nobody is named.
        for ((_, items), found) in waiting.iter_mut().zip(found.unwrap_or_default()) {
            *items = found;
        }
    }

    /// Records what other programs wrote into a store, given a listing of it, and returns how many
    /// files wait for review. A failure concerns only the history, so the verb goes on.
    pub(super) fn observe(&self, store: &Store, memories: &[Memory]) -> usize {
        let observed = observe(&self.history, store, memories, &self.moment);
        observed.map_or(0, |observed| observed.waiting)
    }
}
